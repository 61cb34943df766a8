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
    /// Weight of the logarithm of the peak-to-sidelobe ratio.
    psr: f64,
    constant: f64,
}

impl Calibration {
    /// The calibration of a filter; `None` if none was fitted.
    pub fn of_filter(params: &FilterParams) -> Option<Self> {
        use {FeatureParams::*, Kernel::*};
        let (psr, constant) = match (params.feature, params.kernel) {
            (Hog(_), Gaussian { .. }) => (1.89, -5.73),
            (Hog(_), Linear) => (1.98, -5.96),
            (Hog(_), Polynomial { .. }) => (1.91, -5.78),
            (Gray, Gaussian { .. }) => (1.12, -3.96),
            (Gray, Linear) => (1.31, -3.29),
            _ => return None,
        };
        Some(Self { psr, constant })
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
        Self { psr, constant }
    }

    /// The probability that the box of this evidence overlaps the target by more than half.
    pub fn probability(self, evidence: &Evidence) -> f64 {
        logistic(self.psr * distinctness(evidence.psr) + self.constant)
    }
}

/// The probabilities of the box of the background-aware filter: by the response alone, and by the response and the
/// appearance score, which are the same where there is no comparison.
///
/// `scripts/calibration.py` fits both signals by themselves and their product once more to four groups of sequences, so a
/// comparison that denies the target is enough, whatever the filter says. The product adds .7 to the log-odds, because both
/// signals doubt the same frames.
pub(super) fn by_filter_and_appearance(evidence: &Evidence) -> (f64, f64) {
    let long_term = f64::from(evidence.long_term.unwrap_or(0.0));
    let by_response = logistic(7.65 * long_term + 1.23 * distinctness(evidence.psr) - 5.90);
    let Some(score) = evidence.identity else { return (by_response, by_response) };
    let product = by_response * logistic(3.86 * f64::from(score) + 1.23);
    (by_response, logistic(log_odds(product, 1e-9) + 0.7))
}

/// What counts as the similarity, and as the likeness, of a box outside the network's search area.
#[cfg(feature = "neural")]
const OUTSIDE: (f64, f64) = (0.6, 0.67);

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
        + 9.26 * similarity.map_or(OUTSIDE.0, f64::from)
        - 8.27;
    logistic(sum)
}

/// The probability of the network's box where a lost target follows the network alone.
#[cfg(feature = "neural")]
pub(super) fn by_lone_network(score: f64, likeness: Option<f64>) -> f64 {
    logistic(0.73 * log_odds(score, 1e-4) + 4.84 * likeness.unwrap_or(OUTSIDE.1) - 7.79)
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
            let of = |psr: f32| {
                let evidence = Evidence { psr, ..Evidence::default() };
                calibration.unwrap_or_else(|| panic!("{name}")).probability(&evidence)
            };
            assert!(of(2.0) < 0.3 && of(40.0) > 0.5, "{name}: {} {}", of(2.0), of(40.0));
            assert!([0.0, 1e30, f32::MAX].iter().all(|&psr| (0.0..=1.0).contains(&of(psr))), "{name}");
        }
    }

    fn by_appearance(long_term: f32, psr: f32, identity: Option<f32>) -> f64 {
        let evidence = Evidence { long_term: Some(long_term), psr, identity, ..Evidence::default() };
        let (by_response, by_both) = by_filter_and_appearance(&evidence);
        assert!((0.0..=1.0).contains(&by_response) && (0.0..=1.0).contains(&by_both), "{evidence:?}");
        assert!(identity.is_some() || by_response == by_both);
        by_both
    }

    #[test]
    fn a_comparison_that_denies_the_target_is_enough() {
        assert!(by_appearance(0.95, 40.0, Some(1.0)) > 0.9);
        assert!(by_appearance(0.95, 40.0, Some(-1.0)) < 0.2 && by_appearance(0.2, 2.0, Some(1.0)) < 0.2);
        assert!(by_appearance(0.95, 40.0, None) > 0.5 && by_appearance(0.2, 2.0, None) < 0.3);
        for (long_term, psr) in [(-9.0, 0.0), (0.0, 1e30), (9.0, 0.0), (f32::MAX, f32::MAX)] {
            by_appearance(long_term, psr, Some(0.0));
        }
    }
}
