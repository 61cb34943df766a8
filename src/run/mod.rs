//! The one loop over frames: a [`Session`] takes them from a source, gives them to the followers of all
//! targets, and tells its watcher. The command line, evaluations, tests, examples and benchmarks all use it.
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

mod follower;
mod halt;
mod session;
mod target;

pub use follower::Follower;
pub use halt::{Cause, Halt};
pub use session::{End, Outcome, Session, Step, Watch};
