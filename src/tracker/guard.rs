//! A correlation filter that is watched: it follows the target as always, and a kernel machine over real windows says whether what it
//! follows is still the target, and finds it again.
//!
//! The filter adapts to whatever it is on, the machine learns only what it believes in. When the machine no longer recognises
//! the target where the filter is, but does elsewhere, the filter is put there.

use super::scan::{Found, Scanner};
use super::target::Target;
use super::{Estimate, Evidence, FilterParams, GuardParams, ResponseMap, State};
use crate::error::Result;
use crate::frame::Frame;
use crate::geometry::BBox;
use crate::profile::Stopwatch;

#[derive(Clone, Debug)]
pub(super) struct GuardedTarget {
    params: GuardParams,
    target: Target,
    scanner: Scanner,
    doubts: usize,
    tile: usize,
}

impl GuardedTarget {
    pub(super) fn new(filter: &FilterParams, params: &GuardParams, frame: &Frame<'_>, bbox: BBox) -> Result<Self> {
        let target = Target::new(filter, frame, bbox)?;
        let scanner = Scanner::new(&params.windows, frame, bbox)?;
        Ok(Self { params: params.clone(), target, scanner, doubts: 0, tile: 0 })
    }

    /// What the filter answers to the frame that it was taught.
    pub(super) fn first_estimate(&mut self, watch: &mut Stopwatch) -> Estimate {
        self.target.first_estimate(watch)
    }

    pub(super) fn response(&self) -> ResponseMap<'_> {
        self.target.response()
    }

    pub(super) fn bbox(&self) -> BBox {
        self.target.bbox()
    }

    pub(super) fn update(&mut self, frame: &Frame<'_>, watch: &mut Stopwatch) -> Result<Estimate> {
        self.target.step(frame, watch);
        let guard = self.params.clone();
        let here = self.target.bbox().center();
        let seen = self.scanner.scan(frame, here, watch);
        let score = if seen { self.scanner.score_at_middle() } else { f64::NEG_INFINITY };
        let mut decision = seen.then_some(score as f32);
        if score >= guard.doubt {
            self.doubts = 0;
            self.scanner.learn_if_believed(frame, here, score, watch)?;
        } else {
            self.doubts += 1;
            let near = self.scanner.best(true);
            let found = if seen && near.score > guard.belief.max(score + guard.margin) {
                Some(near)
            } else if self.doubts >= guard.patience {
                self.search_tiles(guard.tiles, frame, (guard.belief + guard.far).max(score + guard.margin), watch)
            } else {
                None
            };
            if let Some(Found { score, center }) = found {
                decision = Some(score as f32);
                self.doubts = 0;
                self.target.move_to(frame, center, guard.relearn, watch);
            }
        }
        let estimate = self.target.last_estimate();
        let state = match estimate.state {
            State::Tracking | State::Uncertain if self.doubts >= guard.patience => State::Lost,
            State::Tracking if self.doubts > 0 => State::Uncertain,
            other => other,
        };
        Ok(Estimate { state, evidence: Evidence { decision, ..estimate.evidence }, ..estimate })
    }

    /// The best window of the next search areas, if it is believed.
    fn search_tiles(&mut self, tiles: usize, frame: &Frame<'_>, belief: f64, watch: &mut Stopwatch) -> Option<Found> {
        let reach = self.scanner.reach();
        // Areas whose windows meet: every place of the frame is the centre of one.
        let count = |length: usize, reach: f64| ((length as f64 / (2.0 * reach)).ceil() as usize).max(1);
        let (columns, rows) = (count(frame.width(), reach.0), count(frame.height(), reach.1));
        let mut best: Option<Found> = None;
        for _ in 0..tiles {
            self.tile = (self.tile + 1) % (columns * rows);
            let middle = |tile: usize, count: usize, length: usize| (tile as f64 + 0.5) * length as f64 / count as f64;
            let (column, row) = (self.tile % columns, self.tile / columns);
            let center = (middle(column, columns, frame.width()), middle(row, rows, frame.height()));
            if !self.scanner.scan(frame, center, watch) {
                continue;
            }
            let found = self.scanner.best(false);
            if found.score > belief && best.is_none_or(|best| found.score > best.score) {
                best = Some(found);
            }
        }
        best
    }
}
