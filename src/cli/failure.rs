//! Signals, messages and exit codes of runs that end early: after Ctrl-C the current frame is finished.

use std::ffi::c_int;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::Error;
use crate::cancel::CancelToken;
use crate::pipe;
use crate::text::shown;

/// Why a subcommand did not succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The arguments make no sense: exit code 2.
    Usage(String),
    /// Something went wrong on the way: exit code 1.
    Failed(String),
    /// The reader of the output has closed it, as `head` does: exit code 0, no message.
    ReaderGone,
    /// A signal ended the run: exit code 128 plus its number.
    Interrupted,
}

impl Failure {
    /// Wrong usage with this message.
    pub fn usage(message: impl std::fmt::Display) -> Self {
        Self::Usage(message.to_string())
    }

    /// Wrong usage of a file that a flag names.
    pub fn of_file(flag: &str, file: &Path, reason: impl std::fmt::Display) -> Self {
        Self::usage(format!("{flag} {}: {reason}", file.display()))
    }

    /// A failure with this message.
    pub fn failed(message: impl std::fmt::Display) -> Self {
        Self::Failed(message.to_string())
    }

    /// Why the run ended early, as its summary has it.
    pub fn reason(&self) -> &str {
        match self {
            Self::Usage(message) | Self::Failed(message) => message,
            Self::ReaderGone => "the reader of the output has closed it",
            Self::Interrupted => "interrupted",
        }
    }

    /// Prints the message and gives the exit code.
    pub fn report(self) -> u8 {
        match &self {
            Self::ReaderGone => return 0,
            Self::Interrupted => {
                let _ = writeln!(std::io::stderr(), "interrupted");
                return exit_code();
            }
            Self::Usage(message) | Self::Failed(message) => print_error(message),
        }
        if matches!(self, Self::Usage(_)) { 2 } else { 1 }
    }
}

/// Prints an error; a closed standard error is ignored.
pub fn print_error(message: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr(), "error: {}", shown(&message.to_string()));
}

/// Prints warnings; a closed standard error is ignored.
pub fn print_warnings<'a>(warnings: impl IntoIterator<Item = &'a String>) {
    for warning in warnings {
        let _ = writeln!(std::io::stderr(), "warning: {}", shown(warning));
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            error if error.is_broken_pipe() => Self::ReaderGone,
            Error::Cancelled => Self::Interrupted,
            Error::Io { source, .. } if pipe::is_cancelled(&source) => Self::Interrupted,
            Error::Parameter { name, value, expected } => Self::Usage(format!("--{name} {value}: {expected}")),
            Error::Setting { .. } => Self::Usage(error.to_string()),
            error => Self::Failed(error.to_string()),
        }
    }
}

/// An error of the standard output; errors of files are an [`Error`] with a path.
impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::ReaderGone,
            _ if pipe::is_cancelled(&error) => Self::Interrupted,
            _ => Self::Failed(format!("cannot write to the standard output: {error}")),
        }
    }
}

#[cfg(unix)]
const SIGNALS: [c_int; 3] = [SIGINT, SIGTERM, signal_hook::consts::SIGHUP];
#[cfg(not(unix))]
const SIGNALS: [c_int; 2] = [SIGINT, SIGTERM];

/// The signal that came last; 0 before any.
static SIGNAL: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

/// A token that the first signal cancels. A second signal ends the program at once.
pub fn watch_signals() -> CancelToken {
    let cancelled = Arc::new(AtomicBool::new(false));
    // A file beyond the limit of its size is then an error of writing.
    #[cfg(unix)]
    let _ = flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
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

/// Runs `work` in the scope of `cancel`. A wait that was cut short is an interruption, whatever its message.
pub fn scoped<T>(cancel: &CancelToken, work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    cancel.scope(work).map_err(|failure| if cancel.is_cancelled() { Failure::Interrupted } else { failure })
}

/// The exit code for the last signal, as shells have it: 130 for Ctrl-C.
fn exit_code() -> u8 {
    let signal = match SIGNAL.load(Ordering::Relaxed) {
        0 => SIGINT as usize,
        signal => signal,
    };
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
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
