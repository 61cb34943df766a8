//! The soft-margin support vector machine.
//!
//! Solves the dual `min ½ aᵀQa - 1ᵀa, 0 ≤ aᵢ ≤ Cᵢ, yᵀa = 0` with `Q = yyᵀ ∘ K` by sequential minimal
//! optimisation (Platt 1998) with the second-order choice of the working pair (Fan, Chen & Lin, JMLR 2005).

use nalgebra::DVector;

use super::{Build, Head, Machine, Samples};
use crate::error::{Error, Result};
use crate::settings::{Setting, settings};

/// Curvature that a pair of equal samples counts with.
const LEAST_CURVATURE: f64 = 1e-12;

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
pub struct Svm(Params);

impl Build for Svm {
    type Params = Params;

    fn new(params: Params) -> Result<Self> {
        params.check_ranges("svm")?;
        Ok(Self(params))
    }
}

impl Svm {
    /// The largest coefficient of each sample.
    fn bounds(&self, samples: &Samples) -> Result<DVector<f64>> {
        let (target, background) = samples.two_classes()?;
        let mut bounds = &samples.weights * self.0.c;
        if self.0.balance {
            for class in [&target, &background] {
                let total: f64 = class.iter().map(|&i| samples.weights[i]).sum();
                class.iter().for_each(|&i| bounds[i] *= samples.len() as f64 / (2.0 * total));
            }
        }
        Ok(bounds)
    }

    /// A feasible `a` near the earlier one: clipped to the box, the heavier class scaled down until `yᵀa = 0`.
    fn start(samples: &Samples, bounds: &DVector<f64>) -> DVector<f64> {
        let Some(earlier) = &samples.start else { return DVector::zeros(samples.len()) };
        let mut a = DVector::from_fn(samples.len(), |i, _| (earlier[i] * samples.labels[i]).clamp(0.0, bounds[i]));
        let [positive, negative] = [1.0, -1.0].map(|label| samples.of_label(label).iter().map(|&i| a[i]).sum::<f64>());
        let common = positive.min(negative);
        for (i, label) in samples.labels.iter().enumerate() {
            let mass = if *label > 0.0 { positive } else { negative };
            a[i] *= if mass > 0.0 { common / mass } else { 0.0 };
        }
        a
    }
}

impl Machine for Svm {
    fn solve(&self, samples: &Samples) -> Result<Head> {
        let (k, y) = (&samples.gram, &samples.labels);
        let bounds = self.bounds(samples)?;
        let diagonal = k.diagonal();
        let mut a = Self::start(samples, &bounds);
        // v = -y ∘ gradient: what a pair must agree in at the optimum.
        let mut v = y - k * a.component_mul(y);
        let rises = |a: &DVector<f64>, t: usize| if y[t] > 0.0 { a[t] < bounds[t] } else { a[t] > 0.0 };
        let falls = |a: &DVector<f64>, t: usize| if y[t] > 0.0 { a[t] > 0.0 } else { a[t] < bounds[t] };
        for _ in 0..self.0.max_steps {
            let (mut i, mut highest, mut lowest) = (0, f64::NEG_INFINITY, f64::INFINITY);
            for t in 0..v.len() {
                if rises(&a, t) && v[t] > highest {
                    (i, highest) = (t, v[t]);
                }
                if falls(&a, t) && v[t] < lowest {
                    lowest = v[t];
                }
            }
            if highest - lowest < self.0.tolerance {
                let free: Vec<f64> = (0..v.len()).filter(|&t| a[t] > 0.0 && a[t] < bounds[t]).map(|t| v[t]).collect();
                let bias = match free.len() {
                    0 => 0.5 * (highest + lowest),
                    count => free.iter().sum::<f64>() / count as f64,
                };
                return Ok(Head::affine(&a.component_mul(y), bias));
            }
            let column = k.column(i);
            let curvature = |t: usize| (diagonal[i] + diagonal[t] - 2.0 * column[t]).max(LEAST_CURVATURE);
            let (mut j, mut best) = (i, 0.0);
            for t in (0..v.len()).filter(|&t| falls(&a, t) && v[t] < highest) {
                let gain = (highest - v[t]) * (highest - v[t]) / curvature(t);
                if gain > best {
                    (j, best) = (t, gain);
                }
            }
            let room_i = if y[i] > 0.0 { bounds[i] - a[i] } else { a[i] };
            let room_j = if y[j] > 0.0 { a[j] } else { bounds[j] - a[j] };
            let step = ((highest - v[j]) / curvature(j)).min(room_i).min(room_j);
            move_within(&mut a[i], y[i] * step, step == room_i, bounds[i]);
            move_within(&mut a[j], -y[j] * step, step == room_j, bounds[j]);
            v.axpy(-step, &column, 1.0);
            v.axpy(step, &k.column(j), 1.0);
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

/// Moves a coefficient by `by`, exactly onto the bound if it reaches it.
///
/// So does one that rounding alone keeps off it: where all samples are at their bounds the bias is the midpoint of an
/// interval, and a coefficient that seemed free would put it on one of its ends.
fn move_within(a: &mut f64, by: f64, to_the_bound: bool, bound: f64) {
    let moved = *a + by;
    *a = match to_the_bound {
        true if by > 0.0 => bound,
        true => 0.0,
        false if moved > bound * (1.0 - ROUNDING) => bound,
        false if moved < bound * ROUNDING => 0.0,
        false => moved,
    };
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;

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
