//! A second look at a target that the search says it has found again: by a kernel machine over real windows that has
//! seen the target only while it was tracked for sure.
//!
//! A search learns whatever it is on, for as long as its confidence takes to fall; the machine remembers up to so many
//! windows of all the time before, and of what stood beside the target then.

use super::pose::Pose;
use super::search::FrameKind;
use super::window_search::WindowSearch;
use super::{VerifyParams, WindowParams};
use crate::bbox::BBox;
use crate::error::Result;
use crate::frame::Frame;
use crate::machines::MachineKind;
use crate::profile::Stopwatch;
use crate::tape::{Recorded, Tape};

/// What a verification remembers of its target.
#[derive(Clone, Debug)]
pub(super) struct Verifier {
    params: VerifyParams,
    eye: WindowSearch,
    /// Sure frames since one was learned from.
    sure: usize,
}

impl Verifier {
    /// With the windows that `eye` makes for the machine; `None` where nothing is to be verified.
    fn with(params: VerifyParams, eye: impl FnOnce(&WindowParams) -> Result<WindowSearch>) -> Result<Option<Self>> {
        let machine = match params {
            VerifyParams::None => return Ok(None),
            VerifyParams::Decision(settings) => settings.machine,
            VerifyParams::Matching(_) => MachineKind::Slem,
        };
        Ok(Some(Self { params, eye: eye(&WindowParams::of(machine))?, sure: 0 }))
    }

    /// Learns the target at `bbox` in `frame`; `None` where nothing is to be verified.
    ///
    /// # Errors
    /// As [`WindowSearch::new`].
    pub fn new(params: VerifyParams, frame: &Frame<'_>, bbox: BBox, watch: &mut Stopwatch) -> Result<Option<Self>> {
        Self::with(params, |windows| WindowSearch::new(windows, f64::NEG_INFINITY, frame, bbox, watch))
    }

    /// One that knows nothing yet.
    ///
    /// # Errors
    /// As [`WindowSearch::untaught`].
    pub fn untaught(params: VerifyParams, frames: FrameKind, bbox: BBox) -> Result<Option<Self>> {
        Self::with(params, |windows| WindowSearch::untaught(windows, f64::NEG_INFINITY, frames, bbox))
    }

    /// A frame in which the target is at `pose` for sure: one of so many is learned, with what looks like it elsewhere.
    pub fn remember(&mut self, frame: &Frame<'_>, pose: Pose, watch: &mut Stopwatch) {
        let every = match self.params {
            VerifyParams::None => return,
            VerifyParams::Decision(settings) => settings.every,
            VerifyParams::Matching(settings) => settings.every,
        };
        self.sure += 1;
        if self.sure >= every {
            self.sure = 0;
            if self.eye.scan(frame, pose, watch) {
                // A fit that fails leaves the decision that there was.
                let _ = self.eye.learn_at(frame, pose, watch);
            }
        }
    }

    /// Whether the target may be at `pose`.
    pub fn knows(&mut self, frame: &Frame<'_>, pose: Pose, watch: &mut Stopwatch) -> bool {
        if !self.eye.scan(frame, pose, watch) {
            return false;
        }
        match self.params {
            VerifyParams::None => true,
            VerifyParams::Decision(settings) => self.eye.score_at_middle() >= settings.least,
            VerifyParams::Matching(settings) => {
                self.eye.matching_score_at_middle().is_ok_and(|score| score >= settings.least)
            }
        }
    }
}

impl Recorded for Verifier {
    fn record(&mut self, tape: &mut Tape<'_>) -> Result<()> {
        self.eye.record(tape)?;
        tape.count(&mut self.sure, u32::MAX as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracker::scenes::{Picture, target_at};
    use crate::tracker::{DecisionSettings, MatchingSettings};

    /// Even one that would take any window for the target.
    #[test]
    fn where_there_is_nothing_to_see_nothing_is_known() {
        let (corner, mut watch) = ((50.0, 50.0), Stopwatch::default());
        let first = Picture::ground(160, 140).with_target(corner);
        let plain = vec![90; 160 * 140];
        let plain = Frame::gray(&plain, 160, 140).unwrap();
        for params in [
            VerifyParams::Decision(DecisionSettings { least: -100.0, ..Default::default() }),
            VerifyParams::Matching(MatchingSettings { least: -100.0, ..Default::default() }),
        ] {
            let verifier = Verifier::new(params, &first.frame(), target_at(corner), &mut watch).unwrap();
            let (mut verifier, pose) = (verifier.unwrap(), Pose::of(target_at(corner)));
            assert!(verifier.knows(&first.frame(), pose, &mut watch), "{params:?}");
            assert!(!verifier.knows(&plain, pose, &mut watch), "{params:?}");
        }
    }
}
