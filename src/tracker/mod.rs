//! Tracking: a box in the first frame; a box, a state and a confidence in every later one.
//!
//! A `Search` finds the target around its last pose and learns its appearance there: a correlation filter
//! (`filter_search`), a background-aware filter with colour, size and angle (`background_search`), or a kernel machine
//! over windows (`window_search`); `scale` follows the size around the first and the last. A `Guard`, a kernel machine
//! too, may watch any of them. The `Engine` is the loop over all that; a `StateMachine` makes states of the confidence.

mod area;
mod background_search;
mod calibration;
mod engine;
#[cfg(feature = "neural")]
mod expert_search;
mod filter_search;
mod grid;
mod guard;
mod identity;
#[cfg(feature = "neural")]
mod network;
mod params;
mod peak;
mod pose;
mod response;
mod rotation;
mod scale;
#[cfg(test)]
mod scenes;
mod search;
#[cfg(feature = "neural")]
mod siamese_search;
mod state;
mod state_machine;
mod tile_scan;
mod window_search;

#[cfg(feature = "cli")]
pub(crate) use filter_search::{FilterSearch, FilterSnapshot};
pub use params::{
    BackgroundParams, ConfidenceParams, FeatureParams, FilterParams, GuardParams, HogParams, IdentityMachineParams,
    IdentityParams, MachineSearchParams, Params, PsrParams, RotationFilterParams, RotationParams, ScaleFilterParams,
    ScaleParams, SearchParams, WindowParams,
};
pub use response::{ResponseLayout, ResponseMap};
pub use search::Evidence;
pub use state::State;

use serde::Serialize;

use crate::bbox::BBox;
use crate::error::{Error, Result};
use crate::frame::Frame;
use engine::Engine;
use search::FrameKind;

/// Pixels of the shorter side of a box below which its features say nothing.
#[cfg(feature = "files")]
const MIN_SIDE: f64 = 6.0;

/// Whether a target of this box is too small to be seen.
#[cfg(feature = "files")]
pub(crate) fn is_too_small(bbox: &BBox) -> bool {
    bbox.w.min(bbox.h) < MIN_SIDE
}

/// What to say of a box of such a target, behind the words for the box.
#[cfg(feature = "cli")]
pub fn too_small(bbox: &BBox) -> Option<String> {
    let BBox { w, h, .. } = bbox;
    is_too_small(bbox)
        .then(|| format!("is {w}x{h} pixels: below about {MIN_SIDE} too little of a target is seen to follow it"))
}

/// Whether a target can begin at `bbox` in a frame of this width and height, as [`Tracker::init`] asks it.
///
/// # Errors
/// [`Error::Box`] with the reason why not.
#[cfg(feature = "cli")]
pub fn check_start(size: (usize, usize), bbox: BBox) -> Result<()> {
    search::check_box(size, bbox)
}

/// What a tracker says of one frame.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Where the target is, or was last seen.
    pub bbox: BBox,
    /// The corners `x1, y1, …, x4, y4` of a target that has turned, clockwise from what was the upper left one: the
    /// box is then the upright one around the ellipse in them. `None` of one that stands as it did, and of searches
    /// that follow no turns.
    pub polygon: Option<[f64; 8]>,
    /// The state of the target in this frame.
    pub state: State,
    /// What speaks for the box.
    pub evidence: Evidence,
}

/// Follows one target: by a correlation filter or by a kernel machine over real windows, alone or with another
/// machine as guard.
///
/// [`Tracker::init`] allocates all memory; with a correlation filter [`Tracker::update`] allocates nothing. A machine over
/// windows is refitted in every frame that it learns: the matrices of a fit are allocated and freed within that update.
#[derive(Clone, Debug)]
pub struct Tracker {
    params: Params,
    /// Kept, so that each target finds them loaded.
    #[cfg(feature = "neural")]
    _networks: Option<std::sync::Arc<network::Networks>>,
    target: Option<Target>,
}

/// What is followed, and where that began.
#[derive(Clone, Debug)]
struct Target {
    /// Size and channels of the first frame, and so of all.
    frames: FrameKind,
    engine: Engine,
}

impl Tracker {
    /// A tracker with these settings and no target yet.
    ///
    /// # Errors
    /// [`Error::Setting`] with the path of a value outside its range; of searches with a network [`Error::Io`] and
    /// [`Error::Network`] for one that cannot be used.
    pub fn new(params: Params) -> Result<Self> {
        params.check()?;
        #[cfg(feature = "neural")]
        let _networks = params.search.model().map(|model| network::Networks::load(model.as_ref())).transpose()?;
        Ok(Self {
            params,
            #[cfg(feature = "neural")]
            _networks,
            target: None,
        })
    }

    /// The settings.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Learns the target at `bbox` in `frame`, and forgets any earlier one. The box may reach over the frame's border.
    /// The evidence is what the new model answers to this very frame: a measure of how distinct the target is.
    ///
    /// # Errors
    /// [`Error::Box`] for a box that is not finite, smaller than a pixel, wholly outside the frame, too large to track
    /// or around nothing but uniform pixels; [`Error::Samples`] and [`Error::Gram`] when a machine cannot be fitted at
    /// all, as with settings far off the default. The earlier target, if any, is then kept.
    pub fn init<'f>(&mut self, frame: impl Into<Frame<'f>>, bbox: BBox) -> Result<Estimate> {
        let frame = frame.into();
        let (engine, estimate) = Engine::new(&self.params, &frame, bbox)?;
        self.target = Some(Target { frames: FrameKind::of(&frame), engine });
        Ok(estimate)
    }

    /// Finds the target in the next frame and learns how it looks there.
    ///
    /// Frames may turn from colour to gray and back: nothing is refused. In gray frames colour histograms have no say,
    /// and a tracker that began with a gray frame has none.
    ///
    /// A machine over real windows that cannot be fitted to what it has seen by now keeps its earlier decision
    /// function, and [`Evidence::refit_kept`] says so.
    ///
    /// # Errors
    /// [`Error::NotInitialized`] before [`Tracker::init`]; [`Error::FrameSize`] for a frame of another size than the
    /// first one. Neither changes the tracker.
    pub fn update<'f>(&mut self, frame: impl Into<Frame<'f>>) -> Result<Estimate> {
        let Target { frames, engine, .. } = self.target.as_mut().ok_or(Error::NotInitialized)?;
        let frame = frame.into();
        let got = frame.size();
        if got != frames.size {
            return Err(Error::FrameSize { expected: frames.size, got });
        }
        Ok(engine.update(&frame))
    }

    /// The score of every translation in the last area that was looked at; `None` before [`Tracker::init`]. While a
    /// target is lost, that area may be anywhere in the frame.
    pub fn response(&self) -> Option<ResponseMap<'_>> {
        self.target.as_ref().map(|target| target.engine.response())
    }

    /// Where the target was last; `None` before [`Tracker::init`].
    pub fn bbox(&self) -> Option<BBox> {
        self.target.as_ref().map(|target| target.engine.bbox())
    }
}
