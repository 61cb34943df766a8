//! Corrections of a target's place and size by boxes from outside. They do not change the model.
//!
//! A filter finds the target where it has learned it: a box that is moved for one frame comes back in the next. A
//! correction is therefore a shift and a growth that stay, relative to the box that the model finds, and their variance
//! is that of a Kalman filter with a constant state.

use serde::{Deserialize, Serialize};

use super::{Estimate, State};
use crate::bbox::BBox;

/// Standard deviations as shares of the size: of a given box, and of what a frame adds at a confidence of 1 and of 0.
const GIVEN: f64 = 0.05;
const SURE: f64 = 0.01;
const UNSURE: f64 = 0.1;

/// The confidence of an estimate that has none.
const USUAL_CONFIDENCE: f32 = 0.7;

/// The shift and the growth of the box of the last estimate.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Correction {
    /// The box of the model.
    last: Option<Estimate>,
    /// Offset of the centre, in shares of width and height.
    shift: [f64; 2],
    /// Logarithms of the ratios of width and height.
    growth: [f64; 2],
    /// The variance of both, in squared shares of the size.
    variance: f64,
}

impl Correction {
    /// The empty correction of a target that begins.
    pub fn of(first: Estimate) -> Self {
        Self { last: Some(first), variance: GIVEN * GIVEN, ..Self::default() }
    }

    /// Corrects the estimate of the next frame.
    pub fn follow(&mut self, found: Estimate) -> Estimate {
        self.last = Some(found);
        let doubt = match found.state {
            State::Lost => 1.0,
            _ => 1.0 - f64::from(found.evidence.confidence.unwrap_or(USUAL_CONFIDENCE)),
        };
        self.variance = (self.variance + (SURE * SURE).max((UNSURE * doubt).powi(2))).min(1.0);
        self.estimate_of(found)
    }

    /// The estimate of the last frame.
    pub fn estimate(&self) -> Option<Estimate> {
        self.last.map(|found| self.estimate_of(found))
    }

    fn estimate_of(&self, found: Estimate) -> Estimate {
        let BBox { w, h, .. } = found.bbox;
        // Without a correction the box is the model's, bit by bit.
        if self.shift == [0.0; 2] && self.growth == [0.0; 2] {
            return found;
        }
        let old: [f64; 2] = found.bbox.center().into();
        let center = [old[0] + self.shift[0] * w, old[1] + self.shift[1] * h];
        let ratio = self.growth.map(f64::exp);
        let (w, h) = (w * ratio[0], h * ratio[1]);
        let turned =
            |corners: [f64; 8]| std::array::from_fn(|i| center[i % 2] + (corners[i] - old[i % 2]) * ratio[i % 2]);
        let bbox = BBox::new(center[0] - w / 2.0, center[1] - h / 2.0, w, h);
        Estimate { bbox, polygon: found.polygon.map(turned), ..found }
    }

    /// True if the target is lost, or does not touch this box.
    pub fn is_elsewhere(&self, bbox: BBox) -> bool {
        self.estimate().is_none_or(|found| found.state == State::Lost || found.bbox.overlap(&bbox) <= 0.0)
    }

    /// Begins anew at this box, where the model will look for the target in the size that it knows.
    pub fn restart(&mut self, bbox: BBox) {
        let Some(found) = self.last.as_mut() else { return };
        let (dx, dy) = (bbox.center().0 - found.bbox.center().0, bbox.center().1 - found.bbox.center().1);
        found.bbox = found.bbox.translated(dx, dy);
        found.polygon = found.polygon.map(|corners| std::array::from_fn(|i| corners[i] + [dx, dy][i % 2]));
        self.growth = [(bbox.w / found.bbox.w).ln(), (bbox.h / found.bbox.h).ln()];
        (self.shift, self.variance) = ([0.0; 2], GIVEN * GIVEN);
    }

    /// Takes in a box with noise in pixels.
    pub fn adjust(&mut self, bbox: BBox, noise: f64) {
        let (Some(model), Some(shown)) = (self.last, self.estimate()) else { return };
        let size = shown.bbox.area().sqrt();
        let gain = self.variance / (self.variance + (noise / size).powi(2)).max(f64::MIN_POSITIVE);
        let (here, there) = (shown.bbox.center(), bbox.center());
        self.shift[0] += gain * (there.0 - here.0) / model.bbox.w;
        self.shift[1] += gain * (there.1 - here.1) / model.bbox.h;
        self.growth[0] += gain * (bbox.w / shown.bbox.w).ln();
        self.growth[1] += gain * (bbox.h / shown.bbox.h).ln();
        self.variance *= 1.0 - gain;
    }

    /// The largest part of the correction.
    pub fn drift(&self) -> f64 {
        [self.shift, self.growth].as_flattened().iter().fold(0.0, |most, part| part.abs().max(most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracker::Evidence;

    fn found(x: f64, confidence: f32, state: State) -> Estimate {
        let evidence = Evidence { confidence: Some(confidence), ..Evidence::default() };
        Estimate { bbox: BBox::new(x, 20.0, 40.0, 40.0), polygon: None, state, evidence }
    }

    #[test]
    fn noisy_boxes_of_a_drifted_target_average_to_its_place_and_size() {
        let mut correction = Correction::of(found(10.0, 1.0, State::Initial));
        let mut shown = BBox::default();
        for at in 1..200 {
            shown = correction.follow(found(10.0 + f64::from(at), 0.95, State::Tracking)).bbox;
            // The target is 6 pixels right of what the model follows, and larger by a tenth.
            let noise = f64::from(at * 7919 % 101) / 101.0 * 8.0 - 4.0;
            if at % 6 == 0 {
                correction.adjust(BBox::new(14.0 + f64::from(at) + noise, 18.0, 44.0, 44.0), 2.3);
            }
        }
        assert!((shown.x - (14.0 + 199.0)).abs() < 1.5 && (shown.w - 44.0).abs() < 0.3, "{shown}");
        assert!((correction.drift() - 0.15).abs() < 0.04, "{}", correction.drift());
    }

    #[test]
    fn a_box_counts_more_where_it_has_less_noise_and_where_the_tracker_is_unsure() {
        let moved = |confidence, noise| {
            let mut correction = Correction::of(found(10.0, 1.0, State::Initial));
            (0..6).for_each(|_| _ = correction.follow(found(10.0, confidence, State::Uncertain)));
            correction.adjust(BBox::new(20.0, 20.0, 40.0, 40.0), noise);
            correction.estimate().unwrap().bbox.x - 10.0
        };
        assert!(moved(0.95, 4.0) < 0.6 * moved(0.3, 4.0), "{} {}", moved(0.95, 4.0), moved(0.3, 4.0));
        assert!(moved(0.95, 4.0) < 0.5 * moved(0.95, 0.5));
        assert!((moved(0.95, 0.0) - 10.0).abs() < 1e-9);
    }

    #[test]
    fn a_lost_target_is_put_where_the_box_is() {
        let mut correction = Correction::of(found(10.0, 1.0, State::Initial));
        correction.follow(found(10.0, 0.1, State::Lost));
        let bbox = BBox::new(30.0, 50.0, 20.0, 60.0);
        assert!(correction.is_elsewhere(bbox));
        correction.restart(bbox);
        let put = correction.estimate().unwrap().bbox;
        assert!(put.overlap(&bbox) > 1.0 - 1e-9, "{put}");
    }
}
