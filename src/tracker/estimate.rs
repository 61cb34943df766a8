//! What a tracker says of one frame.

use serde::Serialize;

use super::State;
use crate::geometry::BBox;

/// Where the target is in one frame, and how far that can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Where the target is, or was last seen.
    pub bbox: BBox,
    /// Whether to believe the box.
    pub state: State,
    /// What speaks for the box.
    pub evidence: Evidence,
}

/// The measures of one box.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Evidence {
    /// Height of the response's peak: 1 where the search area looks exactly as the model.
    pub peak: f32,
    /// Peak-to-sidelobe ratio, see [`Peak::psr`](super::confidence::Peak::psr).
    pub psr: f32,
    /// Average peak-to-correlation energy, see [`Peak::apce`](super::confidence::Peak::apce).
    pub apce: f32,
    /// What the kernel machine decides of the window at the box; `None` where no machine looked at one.
    pub decision: Option<f32>,
    /// Whether a refit of the machine could not settle in this frame, so that its earlier decision was kept.
    pub refit_kept: bool,
}
