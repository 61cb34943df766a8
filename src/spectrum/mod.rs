//! Planned transforms of feature maps and response planes, and the algebra of their spectra.

mod bluestein;
mod butterfly;
mod dense;
mod lanes;
mod line;
mod map;
pub mod plane;
mod radix;
pub(crate) mod simd;

pub use lanes::{CHANNELS, LanePlan};
pub use map::{FeatureMap, MapPlan, Scratch};
pub use simd::SimdLevel;
