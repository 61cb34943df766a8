//! Why a session stopped before its last frame.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// An error that ended a session, and the frame at which it did.
#[derive(Debug)]
pub struct Halt {
    /// Position of the frame, from 1.
    pub position: usize,
    /// The frame's file, where it has one.
    pub path: Option<PathBuf>,
    /// What went wrong.
    pub cause: Cause,
}

/// What went wrong with a frame.
#[derive(Debug)]
pub enum Cause {
    /// It could not be read, or has another size than those before.
    Frame(Error),
    /// A target could not be learned or followed in it.
    Target {
        /// The target, by its number in the session.
        target: usize,
        /// Why not.
        error: Error,
    },
    /// The watcher of the session failed.
    Watch(Error),
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error().fmt(f)
    }
}

impl std::error::Error for Cause {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(self.error())
    }
}

impl Cause {
    /// The error itself.
    pub fn error(&self) -> &Error {
        match self {
            Self::Frame(error) | Self::Target { error, .. } | Self::Watch(error) => error,
        }
    }

    /// The error itself, taken out.
    pub fn into_error(self) -> Error {
        match self {
            Self::Frame(error) | Self::Target { error, .. } | Self::Watch(error) => error,
        }
    }
}

impl fmt::Display for Halt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            Cause::Watch(error) => error.fmt(f),
            cause => f.write_str(&at_frame(self.position, self.path.as_deref(), cause.error())),
        }
    }
}

impl std::error::Error for Halt {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(self.cause.error())
    }
}

/// An error with the frame that it happened at; the path only where the error does not name it.
pub(super) fn at_frame(position: usize, path: Option<&Path>, error: &Error) -> String {
    let message = error.to_string();
    let path = path.map(|path| path.display().to_string()).filter(|path| !message.contains(path));
    let file = path.map_or(String::new(), |path| format!(" ({path})"));
    format!("frame {position}{file}: {message}")
}
