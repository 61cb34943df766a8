//! Planned transforms of feature maps and response planes, and the algebra of their spectra.

mod aligned;
mod bluestein;
mod butterfly;
mod channels;
pub mod cost;
mod cross;
mod dense;
mod lanes;
mod layout;
mod line;
mod map;
mod mixed;
mod plane;
mod radix;
mod ramp;
mod supports;

pub(crate) use radix::{Cell, LANES, take_apart};
pub(crate) use ramp::ramp;

pub use aligned::AlignedBuf;
pub use channels::{BIN, ChannelPlan};
pub use cross::{add_cross_power, cross_power, fold};
pub use lanes::{CHANNELS, LanePlan};
pub use layout::Layout;
pub use map::{FeatureMap, MapPlan, Scratch};
pub use plane::PlanePlan;
pub use supports::SupportSpectra;
