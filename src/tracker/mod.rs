//! Tracking: a box in the first frame; a box, a state and a confidence in every later one.
//!
//! The `engine` is the loop over a frame: locate, verify, calibrate, step, act. A `Localizer` finds the target around its
//! last pose and learns its appearance there: a correlation filter (`filter_localizer`), a background-aware filter with
//! colour, size and angle (`background_localizer`), a kernel machine over windows (`window_localizer`), a network
//! (`siamese_localizer`), or a filter and a network together (`fused_localizer`); `scale_localizer` follows the size around
//! the first and the third. A `Verifier` says whether a place looks like what was given. `calibration` makes a probability
//! of the signals, `lifecycle` alone makes a state, `redetection` searches for a lost target.

mod appearance;
mod background_localizer;
mod calibration;
mod correction;
mod engine;
mod filter_localizer;
#[cfg(feature = "neural")]
mod fused_localizer;
mod lifecycle;
mod localizer;
mod params;
mod presets;
mod redetection;
mod response;
mod saved;
mod scale_localizer;
mod scene_cut;
#[cfg(feature = "neural")]
mod siamese_localizer;
mod verifier;
mod window_localizer;

#[doc(hidden)]
pub use crate::archive::{opened, sealed};
pub use engine::{Estimate, Tracker};
#[cfg(feature = "cli")]
pub(crate) use filter_localizer::{FilterLocalizer, FilterSnapshot};
pub use lifecycle::State;
pub use localizer::{Evidence, check_start};
pub use params::{
    BackgroundParams, ConfidenceParams, ExpertParams, FeatureParams, FilterParams, GuardParams, HogParams,
    IdentityMachineParams, IdentityParams, MachineSearchParams, Params, PsrParams, RotationFilterParams,
    RotationParams, ScaleFilterParams, ScaleParams, SearchParams, SiameseParams, WindowParams,
};
pub use response::{ResponseLayout, ResponseMap};

#[cfg(feature = "files")]
use crate::bbox::BBox;
use correction::Correction;

/// Pixels of the shorter side of a box below which its features say nothing.
#[cfg(feature = "files")]
const MIN_SIDE: f64 = 6.0;

/// True if a target in this box is too small to follow.
#[cfg(feature = "files")]
pub(crate) fn is_too_small(bbox: &BBox) -> bool {
    bbox.w.min(bbox.h) < MIN_SIDE
}

/// Warning about a box that is too small, to follow the words for the box.
#[cfg(feature = "cli")]
pub fn too_small(bbox: &BBox) -> Option<String> {
    let BBox { w, h, .. } = bbox;
    is_too_small(bbox)
        .then(|| format!("is {w}x{h} pixels: below about {MIN_SIDE} too little of a target is seen to follow it"))
}

#[cfg(test)]
mod scenes {
    //! Small pictures for the tests of this room: a textured target, as often as wanted, on textured ground.

    use crate::bbox::BBox;
    use crate::frame::Frame;

    /// Side of the target in pixels.
    pub const SIDE: f64 = 24.0;

    /// A gray picture of its own pixels.
    pub struct Picture {
        data: Vec<u8>,
        width: usize,
        height: usize,
    }

    /// Smooth texture without a period, around 128.
    fn texture(x: f64, y: f64, phase: f64) -> f64 {
        let wave = |fx: f64, fy: f64, p: f64| (fx * x + fy * y + p + phase).sin();
        128.0 + 45.0 * wave(0.61, 0.29, 0.0) + 35.0 * wave(-0.23, 0.83, 1.7) + 25.0 * wave(1.13, -0.91, 0.4)
    }

    impl Picture {
        /// Ground alone, fainter and coarser than the target.
        pub fn ground(width: usize, height: usize) -> Self {
            let value = |x: usize, y: usize| 100.0 + 0.3 * texture(0.4 * x as f64, 0.4 * y as f64, 3.0);
            let data = (0..width * height).map(|i| value(i % width, i / width) as u8).collect();
            Self { data, width, height }
        }

        /// Adds the target, its corner at `corner`, which may lie between pixels.
        pub fn with_target(self, corner: (f64, f64)) -> Self {
            self.with_likeness(corner, 1.0)
        }

        /// Adds a thing that looks like the target by that share, and else like something of its own.
        pub fn with_likeness(mut self, (left, top): (f64, f64), share: f64) -> Self {
            for (i, value) in self.data.iter_mut().enumerate() {
                let (x, y) = ((i % self.width) as f64 - left, (i / self.width) as f64 - top);
                // How much of the pixel lies in the target, whose border may lie between pixels.
                let part = |at: f64| (at + 1.0).min(SIDE - at).clamp(0.0, 1.0);
                let covered = part(x) * part(y);
                let drawn = share * texture(x, y, 9.0) + (1.0 - share) * texture(y, 1.3 * x, 5.0);
                *value = (covered * drawn + (1.0 - covered) * f64::from(*value)).round().clamp(0.0, 255.0) as u8;
            }
            self
        }

        pub fn frame(&self) -> Frame<'_> {
            Frame::gray(&self.data, self.width, self.height).expect("as many pixels as it says")
        }
    }

    /// The target's box with its corner at `(x, y)`.
    pub fn target_at((x, y): (f64, f64)) -> BBox {
        BBox::new(x, y, SIDE, SIDE)
    }
}
