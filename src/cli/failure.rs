//! Messages and exit codes of runs that fail.

use std::io::Write;

use super::signals;
use crate::Error;

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
                let _ = writeln!(std::io::stderr(), "interrupted; outputs hold the frames until now");
                return signals::exit_code();
            }
            Self::Usage(message) | Self::Failed(message) => print_error(message),
        }
        if matches!(self, Self::Usage(_)) { 2 } else { 1 }
    }
}

/// Prints an error; a closed standard error is ignored.
pub fn print_error(message: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr(), "error: {message}");
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            error if error.is_broken_pipe() => Self::ReaderGone,
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
            _ => Self::Failed(format!("cannot write to the standard output: {error}")),
        }
    }
}
