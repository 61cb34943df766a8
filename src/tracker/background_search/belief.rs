//! The probability that a box overlaps the target by more than half, from what speaks for it.
//!
//! A logistic model of absolute signals: what the slow filter answers, and how far the peak stands out. Signals
//! relative to a history that goes on adapting know nothing of a model that has drifted. Fitted to the preset `robust`
//! on sequences with truth, each from three starts; `scripts/calibration.py` fits it again, and says how good it is on
//! sequences that it was not fitted to. With other settings the signals are the same, but not the probabilities.

use crate::tracker::Evidence;
use crate::tracker::calibration::Calibration;

/// Weights of the slow filter's answer and of the logarithm of the peak-to-sidelobe ratio, and the constant.
const CALIBRATION: Calibration = Calibration::new(6.13, 2.22, -7.98);

/// The probability that the box of this evidence overlaps the target by more than half.
pub(super) fn probability(evidence: &Evidence) -> f64 {
    CALIBRATION.probability(evidence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_evidence_is_more_probable_and_all_of_it_is_a_probability() {
        let of = |long_term: f32, psr: f32| {
            probability(&Evidence { long_term: Some(long_term), psr, ..Evidence::default() })
        };
        assert!(of(0.05, 6.0) < 0.1 && of(0.6, 20.0) > 0.9);
        assert!(of(0.3, 10.0) < of(0.4, 10.0) && of(0.3, 10.0) < of(0.3, 20.0));
        for (long_term, psr) in [(-9.0, 0.0), (0.0, 1e30), (9.0, 0.0), (f32::MAX, f32::MAX)] {
            assert!((0.0..=1.0).contains(&of(long_term, psr)));
        }
    }
}
