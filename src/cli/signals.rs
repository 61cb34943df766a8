//! Ctrl-C and termination signals: the run ends after the current frame.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::cancel::CancelToken;

#[cfg(unix)]
const SIGNALS: [c_int; 3] = [SIGINT, SIGTERM, signal_hook::consts::SIGHUP];
#[cfg(not(unix))]
const SIGNALS: [c_int; 2] = [SIGINT, SIGTERM];

/// The signal that came last; 0 before any.
static SIGNAL: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

/// A token that the first signal cancels. A second signal ends the program at once.
pub fn watch() -> CancelToken {
    let cancelled = Arc::new(AtomicBool::new(false));
    for number in SIGNALS {
        // An ignored signal (`nohup`) stays ignored. If no handler can be set, the signal ends the program as usual.
        if is_ignored(number) {
            continue;
        }
        let code = c_int::from(u8::try_from(128 + number).unwrap_or(u8::MAX));
        // In this order: the first signal finds the flag unset.
        let _ = flag::register_conditional_shutdown(number, code, Arc::clone(&cancelled));
        let _ = flag::register(number, Arc::clone(&cancelled));
        let _ = flag::register_usize(number, Arc::clone(&SIGNAL), usize::try_from(number).unwrap_or_default());
    }
    cancelled.into()
}

/// The exit code for the last signal, as shells have it: 130 for Ctrl-C.
pub fn exit_code() -> u8 {
    let signal = SIGNAL.load(Ordering::Relaxed);
    u8::try_from(128 + signal.max(SIGINT as usize * usize::from(signal == 0))).unwrap_or(u8::MAX)
}

#[cfg(unix)]
fn is_ignored(signal: c_int) -> bool {
    // SAFETY: a `sigaction` of zeros is valid, and without a new action the call only writes the old one to it.
    unsafe {
        let mut old: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut old) == 0 && old.sa_sigaction == libc::SIG_IGN
    }
}

#[cfg(not(unix))]
fn is_ignored(_: c_int) -> bool {
    false
}
