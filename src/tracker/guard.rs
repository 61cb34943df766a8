//! A correlation filter that is watched: it follows the target as always, and a kernel machine over real windows says whether what it
//! follows is still the target, and finds it again.
//!
//! The filter adapts to whatever it is on, the machine learns only what it believes in. When the machine no longer recognises
//! the target where the filter is, but does elsewhere, the filter is put there.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::params::in_range;
use super::scan::Scanner;
use super::target::Target;
use super::{DetectorKind, Estimate, Params, State};
use crate::error::Result;
use crate::frame::Frame;
use crate::geometry::BBox;
use crate::machine::Machine;
use crate::profile::Profile;
use crate::simd::SimdLevel;

/// When a guard doubts the filter, and when it believes a window elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct GuardParams {
    /// Decisions at the filter's place below this are a doubt.
    pub doubt: f64,
    /// A window elsewhere is believed above this; `None` for the machine's own.
    pub belief: Option<f64>,
    /// And by this much above the one at the filter's place.
    pub margin: f64,
    /// Added to `belief` for windows that may be anywhere in the frame.
    pub far: f64,
    /// Doubtful frames in a row after which the whole frame is searched.
    pub patience: usize,
    /// Search areas per frame while it is.
    pub tiles: usize,
    /// Weight of the new look when the filter is put to another place: 1 forgets the old model.
    pub relearn: f64,
}

impl Default for GuardParams {
    fn default() -> Self {
        Self { doubt: 0.0, belief: None, margin: 0.3, far: 0.1, patience: 3, tiles: 2, relearn: 0.2 }
    }
}

impl GuardParams {
    /// Whether every value lies in its range.
    ///
    /// # Errors
    /// [`Error::Parameter`](crate::Error::Parameter) with the name of the first that does not.
    pub fn check(&self) -> Result<()> {
        let numbers = [
            ("guard-doubt", self.doubt, -100.0..=100.0),
            ("guard-belief", self.belief.unwrap_or_default(), -100.0..=100.0),
            ("guard-margin", self.margin, 0.0..=100.0),
            ("guard-far", self.far, 0.0..=100.0),
            ("guard-patience", self.patience as f64, 1.0..=1e6),
            ("guard-tiles", self.tiles as f64, 0.0..=1e3),
            ("guard-relearn", self.relearn, 0.0..=1.0),
        ];
        for (name, value, range) in numbers {
            in_range(name, value, range)?;
        }
        Ok(())
    }
}

#[derive(Clone, Debug)]
pub(super) struct GuardedTarget {
    belief: f64,
    target: Target,
    scanner: Scanner,
    doubts: usize,
    tile: usize,
}

impl GuardedTarget {
    pub(super) fn new(
        params: &Params,
        kind: DetectorKind,
        machine: Arc<dyn Machine>,
        level: SimdLevel,
        frame: &Frame<'_>,
        bbox: BBox,
    ) -> Result<Self> {
        let target = Target::new(params, level, frame, bbox)?;
        let scanner = Scanner::new(&params.bank, kind, machine, level, frame, bbox)?;
        let belief = params.guarding.belief.unwrap_or(kind.belief());
        Ok(Self { belief, target, scanner, doubts: 0, tile: 0 })
    }

    /// What the filter answers to the frame that it was taught.
    pub(super) fn first_estimate(&mut self) -> Estimate<'_> {
        self.target.first_estimate()
    }

    pub(super) fn bbox(&self) -> BBox {
        self.target.bbox()
    }

    pub(super) fn switch_watch(&mut self, on: bool) {
        self.target.switch_watch(on);
        self.scanner.switch_watch(on);
    }

    pub(super) fn profile(&self) -> Profile {
        self.target.profile().plus(&self.scanner.profile())
    }

    pub(super) fn update(&mut self, params: &Params, frame: &Frame<'_>) -> Result<Estimate<'_>> {
        self.target.step(params, frame);
        let guard = &params.guarding;
        let here = self.target.bbox().center();
        let seen = self.scanner.scan(frame, here);
        let score = if seen { self.scanner.score_at_middle() } else { f64::NEG_INFINITY };
        if score >= guard.doubt {
            self.doubts = 0;
            self.scanner.learn_if_believed(frame, here, score)?;
        } else {
            self.doubts += 1;
            let near = self.scanner.best(true);
            let found = if seen && near.score > self.belief.max(score + guard.margin) {
                Some(near.center)
            } else if self.doubts >= guard.patience {
                self.search_tiles(guard.tiles, frame, (self.belief + guard.far).max(score + guard.margin))
            } else {
                None
            };
            if let Some(center) = found {
                self.doubts = 0;
                self.target.move_to(frame, center, guard.relearn);
            }
        }
        let estimate = self.target.last_estimate(params);
        let state = match estimate.state {
            State::Tracking | State::Uncertain if self.doubts >= guard.patience => State::Lost,
            State::Tracking if self.doubts > 0 => State::Uncertain,
            other => other,
        };
        Ok(Estimate { state, ..estimate })
    }

    /// The best window of the next search areas, if it is believed.
    fn search_tiles(&mut self, tiles: usize, frame: &Frame<'_>, belief: f64) -> Option<(f64, f64)> {
        let reach = self.scanner.reach();
        // Areas whose windows meet: every place of the frame is the centre of one.
        let count = |length: usize, reach: f64| ((length as f64 / (2.0 * reach)).ceil() as usize).max(1);
        let (columns, rows) = (count(frame.width(), reach.0), count(frame.height(), reach.1));
        let mut best: Option<(f64, (f64, f64))> = None;
        for _ in 0..tiles {
            self.tile = (self.tile + 1) % (columns * rows);
            let middle = |tile: usize, count: usize, length: usize| (tile as f64 + 0.5) * length as f64 / count as f64;
            let (column, row) = (self.tile % columns, self.tile / columns);
            let center = (middle(column, columns, frame.width()), middle(row, rows, frame.height()));
            if !self.scanner.scan(frame, center) {
                continue;
            }
            let found = self.scanner.best(false);
            if found.score > belief && best.is_none_or(|(score, _)| found.score > score) {
                best = Some((found.score, found.center));
            }
        }
        best.map(|(_, center)| center)
    }
}
