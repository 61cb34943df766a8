//! Several targets: a [`Session`] gives each frame to the followers of all of them. With the feature `files` it takes the
//! frames from a source itself and reports each to a `Watch`.
//!
//! ```
//! use kcf_track::cancel::CancelToken;
//! use kcf_track::run::{Session, Step};
//! use kcf_track::synth::{Scene, SceneParams};
//! use kcf_track::media::{Prefetch, Source};
//! use kcf_track::{Params, Tracker};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let scene = Scene::new(SceneParams { frames: 5, ..SceneParams::default() })?;
//! let params = Params::default();
//! let span = scene.info().span(None, None)?;
//! let frames = Prefetch::open(&scene, span, params.channels(), &CancelToken::default())?;
//! let mut session = Session::default();
//! session.add(Tracker::new(params)?, span.first, scene.info().initial_box(span.first)?);
//! let mut boxes = Vec::new();
//! session.run(frames, &mut |step: &Step<'_, Tracker>| {
//!     boxes.push(step.outcomes[0].bbox);
//!     Ok(())
//! })?;
//! assert_eq!(boxes.len(), 5);
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "cli")]
mod command;
#[cfg(feature = "cli")]
mod offline;
mod session;

use std::fmt;
#[cfg(feature = "files")]
use std::path::{Path, PathBuf};

use crate::bbox::BBox;
use crate::error::{Error, Result};
use crate::frame::Frame;
use crate::tracker::{Estimate, ResponseMap, Tracker};

#[cfg(feature = "cli")]
pub(crate) use command::{Command, MAX_TARGETS};
#[cfg(feature = "cli")]
pub(crate) use offline::{OneSided, Passes, Pilot};
#[cfg(feature = "files")]
pub use session::{End, Step, Watch};
pub use session::{Outcome, Session};

/// Follows one target from frame to frame.
pub trait Follower: Send {
    /// Learns the target in `bbox` (0-based).
    ///
    /// # Errors
    /// When the box cannot be tracked.
    fn init(&mut self, frame: &Frame<'_>, bbox: BBox) -> Result<Estimate>;

    /// Finds the target in the next frame.
    ///
    /// # Errors
    /// When the frame cannot be used; [`Error::FrameSize`] for a frame of another size.
    fn update(&mut self, frame: &Frame<'_>) -> Result<Estimate>;

    /// The response map of the last estimate, if there is one.
    fn response(&self) -> Option<ResponseMap<'_>> {
        None
    }
}

impl Follower for Tracker {
    fn init(&mut self, frame: &Frame<'_>, bbox: BBox) -> Result<Estimate> {
        Self::init(self, frame, bbox)
    }

    fn update(&mut self, frame: &Frame<'_>) -> Result<Estimate> {
        Self::update(self, frame)
    }

    fn response(&self) -> Option<ResponseMap<'_>> {
        Self::response(self)
    }
}

impl<F: Follower + ?Sized> Follower for Box<F> {
    fn init(&mut self, frame: &Frame<'_>, bbox: BBox) -> Result<Estimate> {
        (**self).init(frame, bbox)
    }

    fn update(&mut self, frame: &Frame<'_>) -> Result<Estimate> {
        (**self).update(frame)
    }

    fn response(&self) -> Option<ResponseMap<'_>> {
        (**self).response()
    }
}

/// An error that ended a session, and the frame at which it did.
#[cfg(feature = "files")]
#[derive(Debug)]
pub struct Halt {
    /// Position of the frame, from 1.
    pub position: usize,
    /// The frame's file, if it has one.
    pub path: Option<PathBuf>,
    /// The error.
    pub cause: Cause,
}

/// The error of a frame.
#[derive(Debug)]
pub enum Cause {
    /// The frame could not be read, or its size has changed.
    Frame(Error),
    /// A target could not be learned or followed.
    Target {
        /// Number of the target in the session.
        target: usize,
        /// The error.
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

    /// The error itself, by value.
    pub fn into_error(self) -> Error {
        match self {
            Self::Frame(error) | Self::Target { error, .. } | Self::Watch(error) => error,
        }
    }
}

#[cfg(feature = "files")]
impl fmt::Display for Halt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            Cause::Watch(error) => error.fmt(f),
            cause => f.write_str(&at_frame(self.position, self.path.as_deref(), cause.error())),
        }
    }
}

#[cfg(feature = "files")]
impl std::error::Error for Halt {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(self.cause.error())
    }
}

#[cfg(feature = "files")]
/// An error with its frame, and the path unless the error names it.
fn at_frame(position: usize, path: Option<&Path>, error: &Error) -> String {
    let message = error.to_string();
    let path = path.map(|path| path.display().to_string()).filter(|path| !message.contains(path));
    let file = path.map_or(String::new(), |path| format!(" ({path})"));
    format!("frame {position}{file}: {message}")
}
