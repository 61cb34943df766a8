//! The probability that a box overlaps the target by more than half, from what speaks for it: of the searches by a
//! correlation filter and by a kernel machine.
//!
//! A logistic model of absolute signals. It was fitted to sequences with truth for every preset and every machine;
//! `scripts/calibration.py` fits it again, and says how good it is on sequences that it was not fitted to. With other
//! settings the signals are the same, but not the probabilities.

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

/// Weights of the signals.
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
        let (psr, offset) = kind.log_odds();
        Self::new(0.0, psr, -offset)
    }

    /// The probability that the box of this evidence overlaps the target by more than half.
    pub fn probability(self, evidence: &Evidence) -> f64 {
        let long_term = f64::from(evidence.long_term.unwrap_or(0.0));
        let distinct = libm::log(f64::from(evidence.psr).max(1.0));
        logistic(self.long_term * long_term + self.psr * distinct + self.constant)
    }
}

/// Two experts, each calibrated by itself: the filter, and the identity. The product of their probabilities is
/// calibrated once more, so one expert that denies the target is enough, whatever the other says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Experts {
    pub filter: Calibration,
    /// Weight of the identity's answer, and the constant.
    pub identity: (f64, f64),
    /// Weight of the log-odds of the product, and the constant.
    pub product: (f64, f64),
}

impl Experts {
    /// The probability that the box of this evidence overlaps the target by more than half: that of the filter where
    /// there is no comparison.
    pub fn probability(self, evidence: &Evidence) -> f64 {
        let by_filter = self.filter.probability(evidence);
        let Some(answer) = evidence.identity else { return by_filter };
        let calibrated = |(weight, constant): (f64, f64), value: f64| logistic(weight * value + constant);
        let both = by_filter * calibrated(self.identity, f64::from(answer));
        calibrated(self.product, log_odds(both, 1e-9))
    }
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
    fn one_expert_that_denies_the_target_is_enough() {
        let filter = Calibration::new(0.0, 2.0, -4.0);
        let experts = Experts { filter, identity: (4.0, 1.0), product: (1.0, 0.5) };
        let of =
            |psr: f32, identity: Option<f32>| experts.probability(&Evidence { psr, identity, ..Evidence::default() });
        assert!(of(60.0, Some(1.0)) > 0.9);
        assert!(of(60.0, Some(-1.0)) < 0.2 && of(2.0, Some(1.0)) < 0.2);
        assert_eq!(of(60.0, None), filter.probability(&Evidence { psr: 60.0, ..Evidence::default() }));
    }
}
