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
#[derive(Debug, thiserror::Error)]
#[error("{}", told(*.position, .path.as_deref(), .cause))]
pub struct Halt {
    /// Position of the frame, from 1.
    pub position: usize,
    /// The frame's file, if it has one.
    pub path: Option<PathBuf>,
    /// The error.
    #[source]
    pub cause: Cause,
}

/// The error of a frame.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    /// The frame could not be read, or its size has changed.
    #[error("{0}")]
    Frame(#[source] Error),
    /// A target could not be learned or followed.
    #[error("{error}")]
    Target {
        /// Number of the target in the session.
        target: usize,
        /// The error.
        #[source]
        error: Error,
    },
    /// The watcher of the session failed.
    #[error("{0}")]
    Watch(#[source] Error),
}

impl Cause {
    /// The error itself, by value.
    pub fn into_error(self) -> Error {
        match self {
            Self::Frame(error) | Self::Target { error, .. } | Self::Watch(error) => error,
        }
    }
}

#[cfg(feature = "files")]
/// What ended a session; a watcher's error stands for itself.
fn told(position: usize, path: Option<&Path>, cause: &Cause) -> String {
    match cause {
        Cause::Watch(error) => error.to_string(),
        Cause::Frame(error) | Cause::Target { error, .. } => at_frame(position, path, error),
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
