//! The one error of the library: what went wrong, and the path, frame, line or parameter where.

use std::path::{Path, PathBuf};

use crate::bbox::BBox;

/// Shorthand for a result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong, each with the place where it did.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A file is not an image that can be read (truncated, renamed, of an unknown format).
    #[error("{}: cannot decode the image: {reason}", path.display())]
    Decode {
        /// The image file.
        path: PathBuf,
        /// The decoder's message.
        reason: String,
    },
    /// A source cannot be opened or read: a folder without images, a video, a pipe, a program that is missing.
    #[error("{}: {reason}", path.display())]
    Sequence {
        /// The folder, file, address or program.
        path: PathBuf,
        /// The missing or wrong part.
        reason: String,
    },
    /// A video or a pipe ends with an error: no frame follows.
    #[error("{}: {reason}", path.display())]
    Ended {
        /// The file, address or pipe.
        path: PathBuf,
        /// The reason of the end.
        reason: String,
    },
    /// Bytes of a saved tracker cannot be read, or a tracker cannot be saved.
    #[error("saved {what}: {reason}")]
    Saved {
        /// Name of the saved thing.
        what: String,
        /// The reason why the bytes or the tracker are refused.
        reason: String,
    },
    /// A network cannot be used.
    #[error("{}: {reason}", path.display())]
    Network {
        /// The model's file or folder.
        path: PathBuf,
        /// The defect of the model.
        reason: String,
    },
    /// A line of a ground-truth or result file cannot be read.
    #[error("{}, line {line}: {reason}", path.display())]
    Annotation {
        /// The text file.
        path: PathBuf,
        /// 1-based line.
        line: usize,
        /// The defect of the line.
        reason: String,
    },
    /// A parameter is outside its range.
    #[error("{name} {value}: {expected}")]
    Parameter {
        /// The name of the parameter.
        name: &'static str,
        /// The value that was given.
        value: String,
        /// The right values.
        expected: String,
    },
    /// A setting of a tracker is unknown or has a value that it does not accept.
    #[error("{path}{}{value}: {expected}", if value.is_empty() { "" } else { " = " })]
    Setting {
        /// The path of the setting.
        path: String,
        /// The value that was given.
        value: String,
        /// The accepted values.
        expected: String,
    },
    /// The initial box cannot be tracked.
    #[error("box {bbox} (x,y,w,h): {reason}")]
    Box {
        /// The box that was given.
        bbox: BBox,
        /// The defect of the box.
        reason: String,
    },
    /// The memory of a frame does not fit the stated size.
    #[error("frame of {width}x{height} pixels: {reason}")]
    FrameLayout {
        /// The stated width, in pixels.
        width: usize,
        /// The stated height, in pixels.
        height: usize,
        /// The part that does not fit.
        reason: String,
    },
    /// A frame has another size than the first one.
    #[error(
        "the frame is {}x{} pixels, the first one was {}x{}: a sequence must keep one size",
        got.0, got.1, expected.0, expected.1
    )]
    FrameSize {
        /// Width and height of the first frame.
        expected: (usize, usize),
        /// Width and height of this frame.
        got: (usize, usize),
    },
    /// `update` was called before `init`.
    #[error("the tracker has no target yet: call `init` with a frame and a box before `update`")]
    NotInitialized,
    /// An output cannot be written to its destination.
    #[error("{}: cannot write there: {reason}", path.display())]
    Output {
        /// The file or folder; `-` is the standard output.
        path: PathBuf,
        /// Why not, and what to do.
        reason: String,
    },
    /// Boxes cannot be scored, or an evaluation cannot go on.
    #[error("{what}: {reason}")]
    Evaluation {
        /// The sequence, tracker or step.
        what: String,
        /// The defect, and the right form.
        reason: String,
    },
    /// A machine cannot learn from this matrix.
    #[error("the Gram matrix {reason}")]
    Gram {
        /// The defect of the matrix, as the rest of a sentence.
        reason: String,
    },
    /// A wait or a fit was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// Samples, labels or weights are unusable, or there is no result yet.
    #[error("{reason}")]
    Samples {
        /// The defect of the samples.
        reason: String,
    },
}

/// The message of a panic.
#[cfg(any(feature = "capi", feature = "files"))]
pub(crate) fn panic_message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

impl Error {
    /// An [`Error::Io`] at `path`.
    pub fn io(path: impl AsRef<Path>, source: std::io::Error) -> Self {
        Self::Io { path: path.as_ref().to_path_buf(), source }
    }

    /// An [`Error::Sequence`] of the source at `path`.
    #[cfg(feature = "files")]
    pub(crate) fn sequence(path: impl AsRef<Path>, reason: impl Into<String>) -> Self {
        Self::Sequence { path: path.as_ref().to_path_buf(), reason: reason.into() }
    }

    /// An [`Error::Output`] to `path`.
    #[cfg(feature = "cli")]
    pub(crate) fn output(path: impl AsRef<Path>, reason: impl Into<String>) -> Self {
        Self::Output { path: path.as_ref().to_path_buf(), reason: reason.into() }
    }

    /// An [`Error::Evaluation`] of a sequence, tracker or step.
    #[cfg(feature = "files")]
    pub(crate) fn evaluation(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Evaluation { what: what.into(), reason: reason.into() }
    }

    /// An [`Error::Samples`] for this reason.
    pub(crate) fn samples(reason: impl Into<String>) -> Self {
        Self::Samples { reason: reason.into() }
    }

    /// An [`Error::Parameter`] that `value` is not what is `expected`.
    pub(crate) fn parameter(name: &'static str, value: impl ToString, expected: impl Into<String>) -> Self {
        Self::Parameter { name, value: value.to_string(), expected: expected.into() }
    }

    /// An [`Error::Setting`] that the value at `path` is not what is `expected`.
    pub(crate) fn setting(path: &str, value: impl ToString, expected: impl Into<String>) -> Self {
        Self::Setting { path: path.into(), value: value.to_string(), expected: expected.into() }
    }

    /// Whether the reader of a pipe has gone away, as `head` does: a reason to end, not a failure.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == std::io::ErrorKind::BrokenPipe)
    }
}
