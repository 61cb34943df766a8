//! Tracking: a box in the first frame; a box, a state and a confidence in every later one.
//!
//! A `Search` finds the target around its last pose and learns its appearance there: a correlation filter
//! (`filter_search`), a background-aware filter with colour, size and angle (`background_search`), or a kernel machine
//! over windows (`window_search`); `scale_rotation` follows the size around the first and the last. A `Guard`, a kernel
//! machine too, may watch any of them. The `engine` is the loop over all that; `confidence` makes states of its doubts.

mod background_search;
mod confidence;
mod engine;
#[cfg(feature = "neural")]
mod expert_search;
mod filter_search;
mod guard;
mod identity;
#[cfg(feature = "neural")]
mod network;
mod params;
mod presets;
mod response;
mod scale_rotation;
#[cfg(test)]
mod scenes;
mod search;
#[cfg(feature = "neural")]
mod siamese_search;
mod window_search;

pub use confidence::State;
pub use engine::{Estimate, Tracker};
#[cfg(feature = "cli")]
pub(crate) use filter_search::{FilterSearch, FilterSnapshot};
pub use params::{
    BackgroundParams, ConfidenceParams, FeatureParams, FilterParams, GuardParams, HogParams, IdentityMachineParams,
    IdentityParams, MachineSearchParams, Params, PsrParams, RotationFilterParams, RotationParams, ScaleFilterParams,
    ScaleParams, SearchParams, WindowParams,
};
pub use response::{ResponseLayout, ResponseMap};
pub use search::Evidence;

#[cfg(feature = "files")]
use crate::bbox::BBox;
#[cfg(feature = "cli")]
use crate::error::Result;

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
/// [`Error::Box`](crate::Error::Box) with the reason why not.
#[cfg(feature = "cli")]
pub fn check_start(size: (usize, usize), bbox: BBox) -> Result<()> {
    search::check_box(size, bbox)
}
