//! Why a run did not succeed, for whoever ends a program by it.

use crate::error::Error;

/// Why a run did not succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// What was asked for makes no sense.
    Usage(String),
    /// Something went wrong on the way.
    Failed(String),
    /// The reader of the output has gone, as `head` does.
    ReaderGone,
    /// Somebody asked to stop.
    Interrupted,
}

impl Failure {
    /// Wrong usage, in these words.
    pub fn usage(said: impl Into<String>) -> Self {
        Self::Usage(said.into())
    }

    /// Why the run ended early, as its summary has it.
    pub fn reason(&self) -> &str {
        match self {
            Self::Usage(said) | Self::Failed(said) => said,
            Self::ReaderGone => "the reader of the output has gone",
            Self::Interrupted => "interrupted",
        }
    }
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
