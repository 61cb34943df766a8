//! The soft-margin support vector machine.
//!
//! Solves the dual `min ½ αᵀKα - yᵀα, 1ᵀα = 0`, with `yᵢαᵢ` between 0 and `Cᵢ`, by sequential minimal optimisation
//! (Platt 1998) with the second-order choice of the working pair (Fan, Chen & Lin, JMLR 2005).

use nalgebra::{DMatrix, DVector};

use super::{Head, Machine, Samples};
use crate::cancel;
use crate::error::{Error, Result};
use crate::settings::settings;
use crate::simd::leveled;

/// Curvature that is assumed for a pair of equal samples.
const MIN_CURVATURE: f64 = 1e-12;

/// Steps from one check for a request to cancel to the next.
const CHECK_INTERVAL: usize = 1000;

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

/// The support vector machine. The decisions are ±1 on the margins; coefficients are `yᵢ aᵢ`, zero but for the support
/// vectors.
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
        let column = |i: usize| &k.as_slice()[i * y.len()..][..y.len()];
        let bounds = self.bounds(samples)?.component_mul(y);
        let diagonal = k.diagonal();
        let mut a = Self::start(samples, &bounds.abs());
        // The gradient, equal within a pair at the optimum.
        let mut v = y - product(k, &a);
        // The gradient where a coefficient may rise, its negative where one may fall, and minus infinity elsewhere.
        let rising = |v: f64, a: f64, bound: f64| if a < bound.max(0.0) { v } else { f64::NEG_INFINITY };
        let falling = |v: f64, a: f64, bound: f64| if a > bound.min(0.0) { -v } else { f64::NEG_INFINITY };
        let (mut up, mut down) = (v.zip_zip_map(&a, &bounds, rising), v.zip_zip_map(&a, &bounds, falling));
        let mut gains = vec![0.0; v.len()];
        for step in 1..=self.0.max_steps {
            if step.is_multiple_of(CHECK_INTERVAL) {
                cancel::check()?;
            }
            let (highest, lowest) = (largest(up.as_slice()), largest(down.as_slice()));
            if highest + lowest < self.0.tolerance {
                let free = |t: usize| up[t].is_finite() && down[t].is_finite();
                let free: Vec<f64> = (0..v.len()).filter(|&t| free(t)).map(|t| v[t]).collect();
                let bias = match free.len() {
                    0 => 0.5 * (highest - lowest),
                    count => free.iter().sum::<f64>() / count as f64,
                };
                return Ok(Head::affine(&a, bias));
            }
            let i = place_of(highest, up.as_slice());
            set_gains(&mut gains, highest, diagonal[i], down.as_slice(), diagonal.as_slice(), column(i));
            let j = place_of(largest(&gains), &gains);
            let curvature = (diagonal[i] + diagonal[j] - 2.0 * k[(j, i)]).max(MIN_CURVATURE);
            let room_i = bounds[i].max(0.0) - a[i];
            let room_j = a[j] - bounds[j].min(0.0);
            let step = ((highest - v[j]) / curvature).min(room_i).min(room_j);
            a[i] = moved(a[i], step, step == room_i, bounds[i]);
            a[j] = moved(a[j], -step, step == room_j, bounds[j]);
            for (values, step) in [(&mut v, step), (&mut up, step), (&mut down, -step)] {
                descend(values.as_mut_slice(), step, column(i), column(j));
            }
            for t in [i, j] {
                (up[t], down[t]) = (rising(v[t], a[t], bounds[t]), falling(v[t], a[t], bounds[t]));
            }
        }
        Err(Error::samples(format!(
            "the support vector machine did not converge in {} steps: scale the features, lower its c, or allow \
                 more (max-steps)",
            self.0.max_steps
        )))
    }
}

/// The first place of `value`.
fn place_of(value: f64, values: &[f64]) -> usize {
    values.iter().position(|&other| other == value).unwrap_or(0)
}

/// `k a` where most of `a` is zero.
fn product(k: &DMatrix<f64>, a: &DVector<f64>) -> DVector<f64> {
    let mut sum = DVector::zeros(a.len());
    a.iter().enumerate().filter(|(_, a)| **a != 0.0).for_each(|(i, a)| sum.axpy(*a, &k.column(i), 1.0));
    sum
}

leveled! {
    /// The largest value.
    fn largest(values: &[f64]) -> f64 {
        let larger = |a: f64, b: f64| if b > a { b } else { a };
        let (lines, rest) = values.as_chunks::<16>();
        let mut most = [f64::NEG_INFINITY; 16];
        lines.iter().for_each(|line| most = std::array::from_fn(|lane| larger(most[lane], line[lane])));
        most.iter().chain(rest).fold(f64::NEG_INFINITY, |most, &value| larger(most, value))
    }
}

leveled! {
    /// How much the objective gains, twice, from a step of the steepest rising coefficient with each falling one.
    fn set_gains(gains: &mut [f64], highest: f64, own: f64, down: &[f64], diagonal: &[f64], column: &[f64]) {
        for (((gain, down), other), value) in gains.iter_mut().zip(down).zip(diagonal).zip(column) {
            let (apart, curvature) = (highest + down, (own + other - 2.0 * value).max(MIN_CURVATURE));
            *gain = if apart > 0.0 { apart * apart / curvature } else { 0.0 };
        }
    }
}

leveled! {
    /// Moves gradients by a step along the difference of two columns.
    fn descend(values: &mut [f64], step: f64, rising: &[f64], falling: &[f64]) {
        for ((value, rising), falling) in values.iter_mut().zip(rising).zip(falling) {
            *value = *value - step * rising + step * falling;
        }
    }
}

/// A coefficient between zero and `bound` after a move by `by`, exactly onto the end of its range if it reaches it.
///
/// A coefficient that rounding alone keeps off the end lands there too: where all samples are at their bounds the bias
/// is the midpoint of an interval, and a coefficient that seemed free would put it on one of its ends.
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
        // Without balance each sample has the price, and the smaller class, of weight 3, the limit of both.
        let plain = Svm::new(Params { c, balance: false, ..Params::default() }).unwrap().fit(&samples).unwrap();
        let alpha = &plain.linear().alpha;
        assert!((alpha[0] - 1.0).abs() < 1e-12 && (alpha[3] - 0.5).abs() < 1e-12, "{alpha}");
        assert!(alpha.sum().abs() < 1e-12);
    }
}
