//! How sure a mean over sequences is: percentile bootstrap intervals (Efron 1979), paired for differences.
//!
//! The sequences of a benchmark are a sample; another sample would have given another mean. Resampling them with
//! replacement shows by how much. Two trackers are compared on the *same* resamples, so that a hard
//! sequence is hard for both, which makes the interval of their difference far narrower than those of the two means
//! suggest.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};

/// Resamples that are drawn.
pub const RESAMPLES: usize = 10_000;
/// The seed: an evaluation run twice has to give the same intervals.
const SEED: u64 = 0x6b63_665f_7472_6163;

/// The ends of a 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The 2.5 % quantile of the resampled means.
    pub low: f64,
    /// The 97.5 % quantile.
    pub high: f64,
}

impl Interval {
    /// Whether the interval leaves zero out: for a difference, whether it is significant at 5 %.
    pub fn excludes_zero(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

/// The 95 % interval of the mean of `values`, one per sequence; `None` for fewer than two.
///
/// Values of the same number of sequences are resampled alike: the interval of a difference is that of the values'
/// differences.
pub fn mean_interval(values: &[f64]) -> Option<Interval> {
    let n = values.len();
    if n < 2 || values.iter().any(|v| !v.is_finite()) {
        return None;
    }
    let mut random = Pcg64Mcg::seed_from_u64(SEED ^ n as u64);
    let mut means: Vec<f64> =
        (0..RESAMPLES).map(|_| (0..n).map(|_| values[random.random_range(0..n)]).sum::<f64>() / n as f64).collect();
    means.sort_by(f64::total_cmp);
    // Linear interpolation between order statistics, as numpy's default quantile.
    let quantile = |q: f64| {
        let at = q * (means.len() - 1) as f64;
        let (below, share) = (at.floor() as usize, at.fract());
        means[below] + share * (means[(below + 1).min(means.len() - 1)] - means[below])
    };
    Some(Interval { low: quantile(0.025), high: quantile(0.975) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_the_normal_limit() {
        // Mean 0.5, standard deviation 0.5 over 400 values: standard error 0.025, so ±1.96 of it.
        let values: Vec<f64> = (0..400).map(|i| f64::from(i % 2)).collect();
        let ci = mean_interval(&values).unwrap();
        assert!((ci.low - (0.5 - 0.049)).abs() < 0.004, "{ci:?}");
        assert!((ci.high - (0.5 + 0.049)).abs() < 0.004, "{ci:?}");
    }

    #[test]
    fn it_is_the_same_every_time() {
        let values = [0.1, 0.7, 0.3, 0.9, 0.2];
        assert_eq!(mean_interval(&values), mean_interval(&values));
    }

    #[test]
    fn a_constant_difference_is_certain() {
        let a = [0.1, 0.7, 0.3, 0.9];
        let differences: Vec<f64> = a.iter().map(|v| (v + 0.25) - v).collect();
        let ci = mean_interval(&differences).unwrap();
        assert!((ci.low - 0.25).abs() < 1e-12 && (ci.high - 0.25).abs() < 1e-12);
        assert!(ci.excludes_zero());
    }

    #[test]
    fn one_sequence_has_no_interval() {
        assert_eq!(mean_interval(&[0.5]), None);
        assert_eq!(mean_interval(&[0.5, f64::NAN]), None);
    }
}
