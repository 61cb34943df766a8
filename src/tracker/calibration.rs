//! Signals to probability: how likely the box of a frame overlaps the target by more than half. All fitted numbers of
//! confidence stand here.
//!
//! The probability is a logistic model of absolute signals. It was fitted to sequences with truth for every preset and
//! every machine; `scripts/calibration.py` fits it again, and says how good it is on sequences that it was not fitted to.
//! With other settings the signals are the same, but not the probabilities.

use super::Evidence;
use super::params::{FeatureParams, FilterParams};
use crate::kernels::Kernel;
use crate::machines::MachineKind;

/// The logistic function.
pub(super) fn logistic(odds: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-odds))
}

/// The log-odds of a probability that is not nearer than `least` to 0 or 1.
pub(super) fn log_odds(p: f64, least: f64) -> f64 {
    let p = p.clamp(least, 1.0 - least);
    libm::log(p / (1.0 - p))
}

/// The logarithm of a peak-to-sidelobe ratio; 0 below 1.
pub(super) fn distinctness(psr: f32) -> f64 {
    libm::log(f64::from(psr).max(1.0))
}

/// Weights of the signals of a response.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Calibration {
    /// Weight of the long-term response.
    long_term: f64,
    /// Weight of the logarithm of the peak-to-sidelobe ratio.
    psr: f64,
    constant: f64,
}

impl Calibration {
    /// Takes the weights of the long-term response and of the logarithm of the ratio, and the constant.
    pub const fn new(long_term: f64, psr: f64, constant: f64) -> Self {
        Self { long_term, psr, constant }
    }

    /// The calibration of a filter; `None` if none was fitted.
    pub fn of_filter(params: &FilterParams) -> Option<Self> {
        use {FeatureParams::*, Kernel::*};
        Some(match (params.feature, params.kernel) {
            (Hog(_), Gaussian { .. }) => Self::new(0.0, 1.89, -5.73),
            (Hog(_), Linear) => Self::new(0.0, 1.98, -5.96),
            (Hog(_), Polynomial { .. }) => Self::new(0.0, 1.91, -5.78),
            (Gray, Gaussian { .. }) => Self::new(0.0, 1.12, -3.96),
            (Gray, Linear) => Self::new(0.0, 1.31, -3.29),
            _ => return None,
        })
    }

    /// The calibration of a machine.
    pub const fn of_machine(kind: MachineKind) -> Self {
        let (psr, constant) = match kind {
            MachineKind::Krr => (3.38, -6.41),
            MachineKind::Svm => (1.36, -2.58),
            MachineKind::Klda => (1.76, -3.18),
            MachineKind::Kpca => (1.80, -2.59),
            MachineKind::Slem => (1.35, -2.33),
            MachineKind::Kdspe => (3.98, -6.24),
        };
        Self::new(0.0, psr, constant)
    }

    /// The probability that the box of this evidence overlaps the target by more than half.
    pub fn probability(self, evidence: &Evidence) -> f64 {
        let long_term = f64::from(evidence.long_term.unwrap_or(0.0));
        logistic(self.long_term * long_term + self.psr * distinctness(evidence.psr) + self.constant)
    }
}

/// A filter and a comparison with what was given, each calibrated by itself. The product of their probabilities is
/// calibrated once more, so a comparison that denies the target is enough, whatever the filter says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ProductCalibration {
    pub response: Calibration,
    /// Weight of the appearance score, and the constant.
    pub appearance: (f64, f64),
    /// Weight of the log-odds of the product, and the constant.
    pub product: (f64, f64),
}

/// Calibration of the background-aware filter (long-term response, logarithm of the peak-to-sidelobe ratio, constant), of
/// the appearance score, and of their product, which `scripts/calibration.py` fits to four groups of sequences. The product
/// adds .7 to the log-odds, because both signals doubt the same frames.
pub(super) const BACKGROUND: ProductCalibration =
    ProductCalibration { response: Calibration::new(7.65, 1.23, -5.90), appearance: (3.86, 1.23), product: (1.0, 0.7) };

impl ProductCalibration {
    /// The probability by the response alone, and that by both: the same where there is no comparison.
    pub fn probabilities(self, evidence: &Evidence) -> (f64, f64) {
        let by_response = self.response.probability(evidence);
        let Some(answer) = evidence.identity else { return (by_response, by_response) };
        let calibrated = |(weight, constant): (f64, f64), value: f64| logistic(weight * value + constant);
        let both = by_response * calibrated(self.appearance, f64::from(answer));
        (by_response, calibrated(self.product, log_odds(both, 1e-9)))
    }
}

/// Similarity of a box outside the network's search area, where the network cannot tell it.
#[cfg(feature = "neural")]
const OUTSIDE: f64 = 0.6;

/// The probability by the score of a network alone, which is far too sure. Fitted to NanoTrack v3 on four groups of
/// sequences.
#[cfg(feature = "neural")]
pub(super) fn by_network(score: f64) -> f64 {
    logistic(0.57 * log_odds(score, 1e-4) - 2.13)
}

/// The probability of the box of a filter and a network together: by that of the filter, the score of the network, their
/// agreement and the similarity. Fitted to sequences of four groups.
#[cfg(feature = "neural")]
pub(super) fn by_filter_and_network(filter: f64, score: f32, agreement: f32, similarity: Option<f32>) -> f64 {
    let sum = 0.20 * log_odds(filter, 1e-9)
        + 0.25 * log_odds(f64::from(score), 1e-4)
        + 2.34 * f64::from(agreement)
        + 9.26 * similarity.map_or(OUTSIDE, f64::from)
        - 8.27;
    logistic(sum)
}

/// The probability of the network's box where a lost target follows the network alone.
#[cfg(feature = "neural")]
pub(super) fn by_lone_network(score: f64, similarity: Option<f32>) -> f64 {
    logistic(0.73 * log_odds(score, 1e-4) + 8.06 * similarity.map_or(OUTSIDE, f64::from) - 9.40)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracker::Params;
    use crate::tracker::params::SearchParams;

    #[test]
    fn every_preset_and_every_machine_has_a_confidence_that_grows_with_the_evidence() {
        let mut all = Vec::new();
        for (name, _) in Params::PRESETS {
            if let SearchParams::Filter(filter) = Params::preset(name).unwrap().search {
                all.push((name, Calibration::of_filter(&filter)));
            }
        }
        for kind in MachineKind::ALL {
            all.push((kind.name(), Some(Calibration::of_machine(*kind))));
        }
        for (name, calibration) in all {
            let of = |long_term: f32, psr: f32| {
                let evidence = Evidence { long_term: Some(long_term), psr, ..Evidence::default() };
                calibration.unwrap_or_else(|| panic!("{name}")).probability(&evidence)
            };
            assert!(of(0.2, 2.0) < 0.3 && of(0.95, 40.0) > 0.5, "{name}: {} {}", of(0.2, 2.0), of(0.95, 40.0));
            for (long_term, psr) in [(-9.0, 0.0), (0.0, 1e30), (9.0, 0.0), (f32::MAX, f32::MAX)] {
                assert!((0.0..=1.0).contains(&of(long_term, psr)), "{name}");
            }
        }
    }

    #[test]
    fn a_comparison_that_denies_the_target_is_enough() {
        let filter = Calibration::new(0.0, 2.0, -4.0);
        let both = ProductCalibration { response: filter, appearance: (4.0, 1.0), product: (1.0, 0.5) };
        let of =
            |psr: f32, identity: Option<f32>| both.probabilities(&Evidence { psr, identity, ..Evidence::default() }).1;
        assert!(of(60.0, Some(1.0)) > 0.9);
        assert!(of(60.0, Some(-1.0)) < 0.2 && of(2.0, Some(1.0)) < 0.2);
        assert_eq!(of(60.0, None), filter.probability(&Evidence { psr: 60.0, ..Evidence::default() }));
    }
}
