//! One target followed by a kernel machine over a bank of real windows: a motion prior, and a gate before learning.

use ndarray::ArrayView2;

use super::confidence::Peak;
use super::scan::{Found, Scanner};
use super::target::{MIN_VISIBLE, check_box};
use super::{Estimate, Evidence, ResponseLayout, ResponseMap, State, WindowParams};
use crate::error::Result;
use crate::frame::Frame;
use crate::geometry::BBox;
use crate::profile::Stopwatch;

/// Cells around a peak that are no sidelobe.
const PEAK_RADIUS: usize = 3;

#[derive(Clone, Debug)]
pub(super) struct BankTarget {
    bbox: BBox,
    scanner: Scanner,
    lost: f64,
}

impl BankTarget {
    pub(super) fn new(params: &WindowParams, frame: &Frame<'_>, bbox: BBox) -> Result<Self> {
        check_box(frame, bbox)?;
        let mut scanner = Scanner::new(params, frame, bbox)?;
        scanner.scan(frame, bbox.center(), &mut Stopwatch::default());
        Ok(Self { bbox, scanner, lost: params.lost })
    }

    /// What the machine answers to the frame that it was taught.
    pub(super) fn first_estimate(&mut self) -> Estimate {
        estimate(&self.scanner, self.bbox, self.scanner.score_at_middle(), State::Initial)
    }

    pub(super) fn update(&mut self, frame: &Frame<'_>, watch: &mut Stopwatch) -> Result<Estimate> {
        if !self.scanner.scan(frame, self.bbox.center(), watch) {
            return Ok(estimate(&self.scanner, self.bbox, self.scanner.score_at_middle(), State::Lost));
        }
        let Found { score, center } = self.scanner.best(true);
        let from = self.bbox.center();
        self.bbox = self.bbox.translated(center.0 - from.0, center.1 - from.1);
        self.scanner.learn_if_believed(frame, center, score, watch)?;
        let visible = self.bbox.visible_share(frame.width(), frame.height());
        let gate = self.scanner.gate();
        let state = if score < self.lost.min(gate) || visible <= 0.0 {
            State::Lost
        } else if score <= gate || visible < MIN_VISIBLE {
            State::Uncertain
        } else {
            State::Tracking
        };
        Ok(estimate(&self.scanner, self.bbox, score, state))
    }

    pub(super) fn response(&self) -> ResponseMap<'_> {
        let (response, (height, width)) = self.scanner.response();
        ResponseMap {
            values: ArrayView2::from_shape((height, width), response).expect("a response has the detector's size"),
            layout: ResponseLayout::Centered,
            center: self.scanner.middle(),
            step: (self.scanner.step(), self.scanner.step()),
        }
    }

    pub(super) fn bbox(&self) -> BBox {
        self.bbox
    }
}

/// What is said of the last scan.
fn estimate(scanner: &Scanner, bbox: BBox, score: f64, state: State) -> Estimate {
    let (response, (height, width)) = scanner.response();
    let peak = Peak::find(response, height, width, PEAK_RADIUS);
    let decision = score as f32;
    let evidence =
        Evidence { peak: decision, psr: peak.psr, apce: peak.apce, decision: Some(decision), refit_kept: false };
    Estimate { bbox, state, evidence }
}
