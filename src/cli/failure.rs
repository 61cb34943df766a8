//! How a run that did not succeed ends: what is printed, and the exit code.

use std::io::Write;
use std::process::ExitCode;

use crate::{Error, job};

/// The exit code after Ctrl-C.
const INTERRUPTED: u8 = 130;

/// Why a subcommand did not succeed.
#[derive(Debug)]
pub enum Failure {
    /// The arguments make no sense together: exit code 2.
    Usage(anyhow::Error),
    /// Something went wrong on the way: exit code 1.
    Failed(anyhow::Error),
    /// Whoever asked has been told already: nothing is printed.
    Told {
        /// The exit code.
        code: u8,
    },
    /// The reader of the output has gone, as `head` does: exit code 0, no message.
    ReaderGone,
    /// The user or the system asked to stop.
    Interrupted {
        /// 128 and the signal, as shells have it: 130 for Ctrl-C.
        code: u8,
        /// Whether files hold what was computed until then.
        kept: bool,
    },
}

impl Failure {
    /// A usage error with this message.
    pub fn usage(message: impl std::fmt::Display) -> Self {
        Self::Usage(anyhow::anyhow!("{message}"))
    }

    /// Prints the message and gives the exit code.
    pub fn report(self) -> ExitCode {
        let (message, code) = match self {
            Self::ReaderGone => return ExitCode::SUCCESS,
            Self::Told { code } => return ExitCode::from(code),
            Self::Usage(error) => (message(&error), 2),
            Self::Failed(error) => (message(&error), 1),
            Self::Interrupted { code, kept: true } => ("interrupted; what was computed until now is kept".into(), code),
            Self::Interrupted { code, kept: false } => ("interrupted".into(), code),
        };
        tell(&message);
        ExitCode::from(code)
    }
}

/// Prints an error. The standard error may be closed; there is nobody left to tell then.
pub fn tell(message: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr(), "error: {message}");
}

/// An error and its causes in one line. The library's errors name their cause themselves: it is not said twice.
pub fn message(error: &anyhow::Error) -> String {
    error
        .chain()
        .map(ToString::to_string)
        .reduce(|said, cause| match said.ends_with(&cause) {
            true => said,
            false => format!("{said}: {cause}"),
        })
        .unwrap_or_default()
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        job::Failure::from(error).into()
    }
}

/// One whose signal is known is made by whoever listens to signals.
impl From<job::Failure> for Failure {
    fn from(failure: job::Failure) -> Self {
        match failure {
            job::Failure::Usage(said) => Self::usage(said),
            job::Failure::Failed(said) => Self::Failed(anyhow::anyhow!(said)),
            job::Failure::ReaderGone => Self::ReaderGone,
            job::Failure::Interrupted => Self::Interrupted { code: INTERRUPTED, kept: false },
        }
    }
}

/// From writing to the standard output: all else has a path and is an [`Error`].
impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::ReaderGone,
            _ => Self::Failed(anyhow::anyhow!("cannot write to the standard output: {error}")),
        }
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        match error.downcast::<Error>().map_err(|error| error.downcast::<std::io::Error>()) {
            Ok(error) => error.into(),
            Err(Ok(error)) => error.into(),
            Err(Err(error)) => Self::Failed(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_said_once() {
        let missing = || std::io::Error::from(std::io::ErrorKind::NotFound);
        let said = message(&Error::io("frames", missing()).into());
        assert_eq!(said, format!("frames: {}", missing()));
        let outer = anyhow::Error::from(missing()).context("the sequence was not written");
        assert_eq!(message(&outer), format!("the sequence was not written: {}", missing()));
    }
}
