//! The ways of following one target.

use super::bank::BankTarget;
use super::guard::GuardedTarget;
use super::target::Target;
use super::{Estimate, Params, ResponseMap, SearchParams};
use crate::error::Result;
use crate::frame::Frame;
use crate::geometry::BBox;
use crate::profile::Stopwatch;

/// One target and what finds it.
#[derive(Clone, Debug)]
pub(super) enum Follower {
    /// A correlation filter.
    Filter(Box<Target>),
    /// A kernel machine over real windows.
    Bank(Box<BankTarget>),
    /// The former, watched by the latter.
    Guarded(Box<GuardedTarget>),
}

impl Follower {
    /// Learns the target at `bbox`, in the way that `params` ask for.
    pub fn new(params: &Params, frame: &Frame<'_>, bbox: BBox) -> Result<Self> {
        Ok(match (&params.search, &params.guard) {
            (SearchParams::Filter(filter), None) => Self::Filter(Box::new(Target::new(filter, frame, bbox)?)),
            (SearchParams::Filter(filter), Some(guard)) => {
                Self::Guarded(Box::new(GuardedTarget::new(filter, guard, frame, bbox)?))
            }
            // A guard over it is refused by `Params::check`.
            (SearchParams::Windows(windows), _) => Self::Bank(Box::new(BankTarget::new(windows, frame, bbox)?)),
        })
    }

    /// What is said of the frame that it was taught.
    pub fn first_estimate(&mut self, watch: &mut Stopwatch) -> Estimate {
        match self {
            Self::Filter(target) => target.first_estimate(watch),
            Self::Bank(target) => target.first_estimate(),
            Self::Guarded(target) => target.first_estimate(watch),
        }
    }

    /// Finds the target in the next frame, of the first one's size, and learns how it looks there.
    pub fn update(&mut self, frame: &Frame<'_>, watch: &mut Stopwatch) -> Result<Estimate> {
        match self {
            Self::Filter(target) => {
                target.step(frame, watch);
                Ok(target.last_estimate())
            }
            Self::Bank(target) => target.update(frame, watch),
            Self::Guarded(target) => target.update(frame, watch),
        }
    }

    /// The last response.
    pub fn response(&self) -> ResponseMap<'_> {
        match self {
            Self::Filter(target) => target.response(),
            Self::Bank(target) => target.response(),
            Self::Guarded(target) => target.response(),
        }
    }

    /// Where the target was last.
    pub fn bbox(&self) -> BBox {
        match self {
            Self::Filter(target) => target.bbox(),
            Self::Bank(target) => target.bbox(),
            Self::Guarded(target) => target.bbox(),
        }
    }
}
