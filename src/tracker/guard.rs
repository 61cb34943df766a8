//! A second opinion on any search: a kernel machine over real windows says whether what is followed is still the
//! target, and finds it again.
//!
//! A search adapts to whatever it is on, the guard learns only above its gate. When it no longer recognises the
//! target where the search is, but does elsewhere, the search is put there.

use super::State;
use super::params::GuardParams;
use super::search::{Learned, Pose, TileScan};
use super::window_search::WindowSearch;
use crate::bbox::BBox;
use crate::error::Result;
use crate::frame::Frame;

#[derive(Clone, Debug)]
pub(super) struct Guard {
    params: GuardParams,
    detector: WindowSearch,
    /// Doubtful frames in a row.
    doubts: usize,
    /// The target's size when it was recognised last: a search that has lost it follows the size of something else.
    scale: f64,
    scan: TileScan,
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
    pub fn new(params: &GuardParams, frame: &Frame<'_>, bbox: BBox) -> Result<Self> {
        // Its own state is not used.
        let detector = WindowSearch::new(&params.windows, f64::NEG_INFINITY, frame, bbox)?;
        Ok(Self { params: params.clone(), detector, doubts: 0, scale: 1.0, scan: TileScan::default() })
    }

    /// Judges the target's place `here`. In doubt it looks around; after `lost-after` doubtful frames,
    /// everywhere.
    pub fn watch(&mut self, frame: &Frame<'_>, here: Pose) -> Verdict {
        let seen = self.detector.scan(frame, here);
        let score = if seen { self.detector.score_at_middle() } else { f64::NEG_INFINITY };
        let decision = seen.then_some(score as f32);
        if score >= self.params.uncertain_below {
            (self.doubts, self.scale) = (0, here.scale);
            let learned = self.detector.learn_above_gate(frame, here, score);
            return Verdict { decision, found: None, learned };
        }
        self.doubts += 1;
        let elsewhere = score + self.params.margin;
        let near = self.detector.best(true);
        let there = Pose { scale: self.scale, ..here };
        let found = if seen && near.score > self.params.accept_above.max(elsewhere) {
            Some((near.score, near.center))
        } else if self.doubts >= self.params.lost_after {
            self.search_tiles(frame, there, (self.params.accept_above + self.params.far_margin).max(elsewhere))
        } else {
            None
        };
        if found.is_some() {
            self.doubts = 0;
        }
        Verdict {
            decision: found.map_or(decision, |(score, _)| Some(score as f32)),
            found: found.map(|(_, center)| there.at(center)),
            learned: Learned::Done,
        }
    }

    /// The decision at `here`, of a scan that teaches nothing.
    pub fn first_decision(&mut self, frame: &Frame<'_>, here: Pose) -> Option<f32> {
        self.detector.scan(frame, here).then(|| self.detector.score_at_middle() as f32)
    }

    /// The state after the last verdict.
    pub fn state(&self, state: State) -> State {
        match state {
            State::Tracking | State::Recovered | State::Uncertain if self.doubts >= self.params.lost_after => {
                State::Lost
            }
            State::Tracking | State::Recovered if self.doubts > 0 => State::Uncertain,
            other => other,
        }
    }

    /// Weight of the new sample when the search is put to another place.
    pub fn relearn_rate(&self) -> f64 {
        self.params.relearn_rate
    }

    /// Score and centre of the best window of the next search areas, if it is accepted.
    fn search_tiles(&mut self, frame: &Frame<'_>, here: Pose, accept_above: f64) -> Option<(f64, (f64, f64))> {
        let reach = self.detector.reach();
        let size = frame.size();
        let mut best: Option<(f64, (f64, f64))> = None;
        // Areas whose windows meet: every place of the frame is the centre of one.
        let step = (2.0 * reach.0, 2.0 * reach.1);
        for _ in 0..self.params.tiles.min(TileScan::tiles(size, step)) {
            let there = self.scan.next(size, step, here);
            if !self.detector.scan(frame, there) {
                continue;
            }
            let found = self.detector.best(false);
            if found.score > accept_above && best.is_none_or(|(score, _)| found.score > score) {
                best = Some((found.score, found.center));
            }
        }
        best
    }
}

#[cfg(test)]
mod tests;
