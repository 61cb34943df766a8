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
mod detections;
#[cfg(feature = "cli")]
mod offline;
mod session;

#[cfg(feature = "cli")]
pub(crate) use command::{Attributes, Command, MAX_TARGETS, Reach, Request, word};
pub use detections::{Detected, Detection, DetectionParams, MAX_DETECTIONS};
#[cfg(feature = "cli")]
pub(crate) use offline::{Passes, Record, Smoothing, at_once};
pub use session::{Cause, Follower, Outcome, Session};
#[cfg(feature = "files")]
pub use session::{Halt, Step, Watch};
