//! How a run that did not succeed ends: what is printed, and the exit code.

use std::io::Write;
use std::process::ExitCode;

use kcf_track::Error;

/// Why a subcommand did not succeed.
#[derive(Debug)]
pub enum Failure {
    /// The arguments make no sense together: exit code 2.
    Usage(anyhow::Error),
    /// Something went wrong on the way: exit code 1.
    Failed(anyhow::Error),
    /// The reader of the output has gone, as `head` does: exit code 0, no message.
    ReaderGone,
}

impl Failure {
    /// A usage error with this message.
    pub fn usage(message: impl std::fmt::Display) -> Self {
        Self::Usage(anyhow::anyhow!("{message}"))
    }

    /// Prints the message and gives the exit code.
    pub fn report(self) -> ExitCode {
        let (error, code) = match self {
            Self::ReaderGone => return ExitCode::SUCCESS,
            Self::Usage(error) => (error, 2),
            Self::Failed(error) => (error, 1),
        };
        // Standard error may be closed; there is nobody left to tell then.
        let _ = writeln!(std::io::stderr(), "error: {error:#}");
        ExitCode::from(code)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            error if error.is_broken_pipe() => Self::ReaderGone,
            error @ Error::Parameter { .. } => Self::Usage(error.into()),
            error => Self::Failed(error.into()),
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::ReaderGone,
            _ => Self::Failed(error.into()),
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
