//! Ctrl-C, and the signals by which a system ends a program: the run stops after the frame at hand and is finished.

use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::cancel::CancelToken;
use crate::job;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use super::Failure;

#[cfg(unix)]
const SIGNALS: [c_int; 3] = [SIGINT, SIGTERM, signal_hook::consts::SIGHUP];
#[cfg(not(unix))]
const SIGNALS: [c_int; 2] = [SIGINT, SIGTERM];

/// Whether somebody wants the run to end.
#[derive(Clone, Debug)]
pub struct Interrupt {
    /// The signal that came last; 0 before any.
    signal: Arc<AtomicUsize>,
    stop: CancelToken,
}

impl Interrupt {
    /// Listens from now on. A second signal ends the program at once.
    pub fn watch() -> Self {
        let (signal, asked) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        for number in SIGNALS {
            // What is ignored already (`nohup`, a job in the background) stays so. A signal that cannot be listened to
            // ends the program as it always does.
            if is_ignored(number) {
                continue;
            }
            // In this order: the first signal finds that nobody has asked yet.
            let _ = flag::register_conditional_shutdown(number, c_int::from(exit_code(number)), Arc::clone(&asked));
            let _ = flag::register(number, Arc::clone(&asked));
            let _ = flag::register_usize(number, Arc::clone(&signal), usize::try_from(number).unwrap_or_default());
        }
        // A file that has reached the limit of its size fails then as one on a full disk does, and the others are
        // ended.
        #[cfg(unix)]
        let _ = flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
        Self { signal, stop: asked.into() }
    }

    /// What is set by the signal.
    pub fn stop(&self) -> CancelToken {
        self.stop.clone()
    }

    /// Whether a signal has come.
    pub fn asked(&self) -> bool {
        self.signal.load(Ordering::Relaxed) != 0
    }

    /// The failure with which a run ends that has computed nothing: of one that was told to end, that and nothing else.
    pub fn or(&self, failure: job::Failure) -> Failure {
        match failure {
            _ if self.asked() => Failure::Interrupted { code: self.code(), kept: false },
            failure => failure.into(),
        }
    }

    /// The exit code that tells which one.
    pub fn code(&self) -> u8 {
        exit_code(c_int::try_from(self.signal.load(Ordering::Relaxed)).unwrap_or_default())
    }
}

/// As shells have it.
fn exit_code(signal: c_int) -> u8 {
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}

#[cfg(unix)]
fn is_ignored(signal: c_int) -> bool {
    // SAFETY: a `sigaction` of zeros is one, and without a new action the call only writes the old one to it.
    unsafe {
        let mut old: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut old) == 0 && old.sa_sigaction == libc::SIG_IGN
    }
}

#[cfg(not(unix))]
fn is_ignored(_: c_int) -> bool {
    false
}
