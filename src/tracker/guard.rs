//! A second opinion on any search: a kernel machine over real windows says whether what is followed is still the
//! target, and finds it again.
//!
//! A search adapts to whatever it is on, the guard learns only what it believes in. When it no longer recognises the
//! target where the search is, but does elsewhere, the search is put there.

use super::pose::Pose;
use super::round::Round;
use super::search::{FrameKind, Learned};
use super::window_search::WindowSearch;
use super::{GuardParams, State};
use crate::bbox::BBox;
use crate::error::Result;
use crate::frame::Frame;
use crate::profile::Stopwatch;
use crate::tape::{Recorded, Tape};

#[derive(Clone, Debug)]
pub(super) struct Guard {
    params: GuardParams,
    eye: WindowSearch,
    /// Doubtful frames in a row.
    doubts: usize,
    /// The target's size when it was recognised last: a search that has lost it follows the size of something else.
    scale: f64,
    round: Round,
}

/// What a guard says of one frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Verdict {
    /// The decision: at the place that was asked for, or at the one that was found instead. `None` where there was
    /// nothing to see.
    pub decision: Option<f32>,
    /// Where the target is instead.
    pub found: Option<Pose>,
    pub learned: Learned,
}

impl Guard {
    /// Learns the target at `bbox` in `frame`.
    ///
    /// # Errors
    /// As [`WindowSearch::new`].
    pub fn new(params: &GuardParams, frame: &Frame<'_>, bbox: BBox, watch: &mut Stopwatch) -> Result<Self> {
        // Nobody asks it for a state.
        let eye = WindowSearch::new(&params.windows, f64::NEG_INFINITY, frame, bbox, watch)?;
        Ok(Self::with(params, eye))
    }

    /// One that knows nothing yet.
    ///
    /// # Errors
    /// As [`WindowSearch::untaught`].
    pub fn untaught(params: &GuardParams, frames: FrameKind, bbox: BBox) -> Result<Self> {
        Ok(Self::with(params, WindowSearch::untaught(&params.windows, f64::NEG_INFINITY, frames, bbox)?))
    }

    fn with(params: &GuardParams, eye: WindowSearch) -> Self {
        Self { params: params.clone(), eye, doubts: 0, scale: 1.0, round: Round::default() }
    }

    /// Judges the target's place `here`. In doubt it looks around; after as many doubtful frames as it has patience,
    /// everywhere.
    pub fn watch(&mut self, frame: &Frame<'_>, here: Pose, watch: &mut Stopwatch) -> Verdict {
        let seen = self.eye.scan(frame, here, watch);
        let score = if seen { self.eye.score_at_middle() } else { f64::NEG_INFINITY };
        let decision = seen.then_some(score as f32);
        if score >= self.params.doubt {
            (self.doubts, self.scale) = (0, here.scale);
            let learned = self.eye.learn_if_believed(frame, here, score, watch);
            return Verdict { decision, found: None, learned };
        }
        self.doubts += 1;
        let elsewhere = score + self.params.margin;
        let near = self.eye.best(true);
        let there = Pose { scale: self.scale, ..here };
        let found = if seen && near.score > self.params.belief.max(elsewhere) {
            Some((near.score, near.center))
        } else if self.doubts >= self.params.patience {
            self.search_tiles(frame, there, (self.params.belief + self.params.far).max(elsewhere), watch)
        } else {
            None
        };
        if found.is_some() {
            self.doubts = 0;
        }
        Verdict {
            decision: found.map_or(decision, |(score, _)| Some(score as f32)),
            found: found.map(|(_, center)| there.at(center)),
            learned: Learned::Settled,
        }
    }

    /// The decision at `here`, of a scan that teaches nothing.
    pub fn first_decision(&mut self, frame: &Frame<'_>, here: Pose, watch: &mut Stopwatch) -> Option<f32> {
        self.eye.scan(frame, here, watch).then(|| self.eye.score_at_middle() as f32)
    }

    /// What a state is worth after the last verdict.
    pub fn judge(&self, state: State) -> State {
        match state {
            State::Tracking | State::Recovered | State::Uncertain if self.doubts >= self.params.patience => State::Lost,
            State::Tracking | State::Recovered if self.doubts > 0 => State::Uncertain,
            other => other,
        }
    }

    /// Weight of the new sample when the search is put to another place.
    pub fn relearn(&self) -> f64 {
        self.params.relearn
    }

    /// Score and centre of the best window of the next search areas, if it is believed.
    fn search_tiles(
        &mut self,
        frame: &Frame<'_>,
        here: Pose,
        belief: f64,
        watch: &mut Stopwatch,
    ) -> Option<(f64, (f64, f64))> {
        let reach = self.eye.reach();
        let size = (frame.width(), frame.height());
        let mut best: Option<(f64, (f64, f64))> = None;
        // Areas whose windows meet: every place of the frame is the centre of one.
        let step = (2.0 * reach.0, 2.0 * reach.1);
        for _ in 0..self.params.tiles.min(Round::areas(size, step)) {
            let there = self.round.next(size, step, here);
            if !self.eye.scan(frame, there, watch) {
                continue;
            }
            let found = self.eye.best(false);
            if found.score > belief && best.is_none_or(|(score, _)| found.score > score) {
                best = Some((found.score, found.center));
            }
        }
        best
    }
}

impl Recorded for Guard {
    fn record(&mut self, tape: &mut Tape<'_>) -> Result<()> {
        self.eye.record(tape)?;
        tape.count(&mut self.doubts, u32::MAX as usize)?;
        tape.place(&mut self.scale)?;
        self.round.record(tape)
    }
}

#[cfg(test)]
mod tests;
