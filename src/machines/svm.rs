//! The soft-margin support vector machine.
//!
//! Solves the dual `min ½ αᵀKα - yᵀα, 1ᵀα = 0`, with `yᵢαᵢ` between 0 and `Cᵢ`, by sequential minimal optimisation
//! (Platt 1998) with the second-order choice of the working pair and shrinking (Fan, Chen & Lin, JMLR 2005).

use nalgebra::DVector;

use super::{Head, Machine, Samples};
use crate::cancel;
use crate::error::{Error, Result};
use crate::settings::settings;

/// Curvature that a pair of equal samples counts with.
const MIN_CURVATURE: f64 = 1e-12;

/// Steps between two searches for coefficients that stay at their bounds.
const SHRINK_INTERVAL: usize = 1000;

/// The part of a bound that rounding may leave of it.
const ROUNDING: f64 = 1e-12;

settings! {
    /// Settings of [`Svm`].
    #[derive(Copy)]
    pub struct Params {
        /// Price C of a violated margin
        c: f64 = 1.0, Within(1e-9, 1e9);
        /// Give both classes the same share of C: `Cᵢ = C wᵢ n / (2 Σ w of its class)` instead of `C wᵢ`
        balance: bool = true;
        /// Violation of the optimality conditions at which the iteration stops
        tolerance: f64 = 1e-3, Within(1e-12, 1.0);
        /// Largest number of steps; more are an error
        max_steps: usize = 100_000, Within(1.0, 1e12);
    }
}

/// The support vector machine. Its decisions are ±1 on the margins; coefficients are `yᵢ aᵢ`, zero but for the
/// support vectors.
///
/// Started from the coefficients of an earlier fit ([`Samples::with_start`]), it needs a handful of steps.
/// Inseparable samples get the decision of the midpoint.
#[derive(Clone, Copy, Debug)]
pub struct Svm(pub(super) Params);

impl Svm {
    /// The largest coefficient of each sample.
    fn bounds(&self, samples: &Samples) -> Result<DVector<f64>> {
        let (target, background) = samples.two_classes()?;
        let mut bounds = &samples.weights * self.0.c;
        if self.0.balance {
            for class in [&target, &background] {
                let total: f64 = class.iter().map(|&i| samples.weights[i]).sum();
                class.iter().for_each(|&i| bounds[i] *= samples.mass / (2.0 * total));
            }
        }
        Ok(bounds)
    }

    /// Feasible coefficients near the earlier ones: clipped to their bounds, the heavier class scaled down until they
    /// sum to zero.
    fn start(samples: &Samples, bounds: &DVector<f64>) -> DVector<f64> {
        let Some(earlier) = &samples.start else { return DVector::zeros(samples.len()) };
        let y = &samples.labels;
        let mut a = DVector::from_fn(samples.len(), |i, _| y[i] * (earlier[i] * y[i]).clamp(0.0, bounds[i]));
        let [positive, negative] = [1.0, -1.0].map(|label| samples.of_label(label).iter().map(|&i| a[i]).sum::<f64>());
        let common = positive.min(-negative);
        for (i, label) in y.iter().enumerate() {
            let mass = if *label > 0.0 { positive } else { -negative };
            a[i] *= if mass > 0.0 { common / mass } else { 0.0 };
        }
        a
    }
}

impl Machine for Svm {
    fn solve(&self, samples: &Samples) -> Result<Head> {
        let (k, y) = (&samples.gram, &samples.labels);
        let bounds = self.bounds(samples)?.component_mul(y);
        let diagonal = k.diagonal();
        let mut a = Self::start(samples, &bounds.abs());
        // The gradient, equal within a pair at the optimum.
        let mut v = y - k * &a;
        let rises = |a: &DVector<f64>, t: usize| a[t] < bounds[t].max(0.0);
        let falls = |a: &DVector<f64>, t: usize| a[t] > bounds[t].min(0.0);
        let all: Vec<usize> = (0..v.len()).collect();
        let mut active = all.clone();
        for step in 1..=self.0.max_steps {
            let (mut i, mut highest, mut lowest) = (0, f64::NEG_INFINITY, f64::INFINITY);
            for &t in &active {
                if v[t] > highest && rises(&a, t) {
                    (i, highest) = (t, v[t]);
                }
                if v[t] < lowest && falls(&a, t) {
                    lowest = v[t];
                }
            }
            if highest - lowest < self.0.tolerance && active.len() < all.len() {
                v = y - k * &a;
                active.clone_from(&all);
                continue;
            }
            if highest - lowest < self.0.tolerance {
                let free: Vec<f64> = all.iter().filter(|&&t| rises(&a, t) && falls(&a, t)).map(|&t| v[t]).collect();
                let bias = match free.len() {
                    0 => 0.5 * (highest + lowest),
                    count => free.iter().sum::<f64>() / count as f64,
                };
                return Ok(Head::affine(&a, bias));
            }
            if step.is_multiple_of(SHRINK_INTERVAL) {
                cancel::check()?;
                // At a bound, and beyond all that could move it from there.
                active.retain(|&t| (v[t] >= lowest || falls(&a, t)) && (v[t] <= highest || rises(&a, t)));
            }
            let column = k.column(i);
            let curvature = |t: usize| (diagonal[i] + diagonal[t] - 2.0 * column[t]).max(MIN_CURVATURE);
            let (mut j, mut best) = (i, 0.0);
            for &t in &active {
                if v[t] < highest && falls(&a, t) {
                    let gain = (highest - v[t]) * (highest - v[t]) / curvature(t);
                    if gain > best {
                        (j, best) = (t, gain);
                    }
                }
            }
            let room_i = bounds[i].max(0.0) - a[i];
            let room_j = a[j] - bounds[j].min(0.0);
            let step = ((highest - v[j]) / curvature(j)).min(room_i).min(room_j);
            a[i] = moved(a[i], step, step == room_i, bounds[i]);
            a[j] = moved(a[j], -step, step == room_j, bounds[j]);
            let other = k.column(j);
            for &t in &active {
                v[t] = v[t] - step * column[t] + step * other[t];
            }
        }
        Err(Error::Samples {
            reason: format!(
                "the support vector machine did not converge in {} steps: the kernel values are too large for its c: \
                 lower it, scale them, or allow more (max-steps)",
                self.0.max_steps
            ),
        })
    }
}

/// A coefficient between zero and `bound` after a move by `by`, exactly onto the end of its range if it reaches it.
///
/// So does one that rounding alone keeps off it: where all samples are at their bounds the bias is the midpoint of an
/// interval, and a coefficient that seemed free would put it on one of its ends.
fn moved(a: f64, by: f64, to_the_end: bool, bound: f64) -> f64 {
    let share = (a + by) / bound;
    match to_the_end {
        true if by * bound > 0.0 => bound,
        true => 0.0,
        false if share > 1.0 - ROUNDING => bound,
        false if share < ROUNDING => 0.0,
        false => a + by,
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::machines::Build;

    /// Samples that are all alike put every coefficient on its bound, and the two classes sum to the same.
    #[test]
    fn by_default_each_class_gets_half_of_the_price() {
        let labels = [1.0, -1.0, -1.0, 1.0, -1.0, -1.0, -1.0, -1.0];
        let weights = [2.0, 1.0, 3.0, 1.0, 1.0, 1.0, 1.0, 2.0];
        let alike = Array2::ones((8, 8));
        let samples = Samples::new(alike.view(), &labels).unwrap().with_weights(&weights).unwrap();
        let c = 0.5;
        let head = Svm::new(Params { c, ..Params::default() }).unwrap().fit(&samples).unwrap();
        for (i, &alpha) in head.linear().alpha.iter().enumerate() {
            let total: f64 = (0..8).filter(|&j| labels[j] == labels[i]).map(|j| weights[j]).sum();
            let bound = c * weights[i] * 8.0 / (2.0 * total);
            assert!((alpha - labels[i] * bound).abs() < 1e-12, "{i}: {alpha}, not {bound}");
        }
        // Without balance the price is that of each sample, and the smaller class, of weight 3, the limit of both.
        let plain = Svm::new(Params { c, balance: false, ..Params::default() }).unwrap().fit(&samples).unwrap();
        let alpha = &plain.linear().alpha;
        assert!((alpha[0] - 1.0).abs() < 1e-12 && (alpha[3] - 0.5).abs() < 1e-12, "{alpha}");
        assert!(alpha.sum().abs() < 1e-12);
    }
}
