//! The sparse step of discriminative sparsity preserving embedding as a constrained problem on feature values.

use nalgebra::{DMatrix, DVector};
use ndarray::{Array1, ArrayView1, ArrayView2};

use crate::error::{Error, Result};
use crate::kernels::factor::{cholesky, lift_diagonal};

/// Iterations after which there is taken to be no solution.
const ITERATIONS: usize = 200_000;
/// Changes and violations below this, relative to the residual, are none.
const TOLERANCE: f64 = 1e-11;

/// The weights `s` of the smallest `‖s‖₁` with `1ᵀs = 0` that leave at most `limit` of a residual:
/// `‖r - Xᵀs‖₁ <= limit`.
///
/// `others` are the samples of the other classes, n x D, `residual` is what the own class leaves unexplained of a
/// sample (D). This is the linear programme of Ma, Tan & Yang (2014). [`Kdspe`](super::kdspe::Kdspe) solves the same
/// trade in its Lagrangian form with squared distances, which needs inner products only; a sum of magnitudes of feature
/// values is not made of those, so that this form exists for explicit features alone. Solved by the alternating
/// direction method of multipliers.
///
/// # Errors
/// [`Error::Samples`] when the sizes do not fit, a value is not finite, or the limit is not above zero; and when no
/// weights leave as little as `limit`.
pub fn constrained_weights(others: ArrayView2<f64>, residual: ArrayView1<f64>, limit: f64) -> Result<Array1<f64>> {
    let (n, dims) = others.dim();
    let wrong = |reason: String| Err(Error::Samples { reason });
    if residual.len() != dims || n == 0 {
        return wrong(format!("a residual of {} values for {n} samples of {dims}", residual.len()));
    }
    if others.iter().chain(residual).any(|v| !v.is_finite()) || !limit.is_finite() || limit <= 0.0 {
        return wrong(format!("feature values must be finite numbers, and the limit {limit} one above zero"));
    }
    let x = DMatrix::from_fn(n, dims, |i, j| others[[i, j]]);
    let r = DVector::from_iterator(dims, residual.iter().copied());
    let size = r.amax().max(f64::MIN_POSITIVE);
    let mut lifted = &x * x.transpose();
    lift_diagonal(&mut lifted, 1.0);
    let factored = cholesky(lifted)?;
    let ones = factored.solve(&DVector::from_element(n, 1.0));
    // The price of a unit of weight: weights are shrunk by about as much as a first step makes them large.
    let price = 0.1 * factored.solve(&(&x * &r)).amax().max(f64::MIN_POSITIVE);
    let (mut z, mut u) = (DVector::zeros(n), DVector::<f64>::zeros(n));
    let (mut e, mut w) = (into_ball(r.clone(), limit), DVector::<f64>::zeros(dims));
    for _ in 0..ITERATIONS {
        let mut s = factored.solve(&(&z - &u + &x * (&r - &e + &w)));
        s.axpy(-s.sum() / ones.sum(), &ones, 1.0);
        u += &s;
        let shrunk = u.map(|v| v.signum() * (v.abs() - price).max(0.0));
        w += &r - x.tr_mul(&s);
        let left = into_ball(w.clone(), limit);
        u -= &shrunk;
        w -= &left;
        let moved = (&shrunk - &z).amax().max((&left - &e).amax());
        let apart = (&s - &shrunk).amax().max((&r - x.tr_mul(&s) - &left).amax());
        (z, e) = (shrunk, left);
        if moved.max(apart) <= TOLERANCE * size {
            return Ok(z.iter().copied().collect());
        }
    }
    wrong(format!("no weights of sum zero were found that leave at most {limit} of the residual"))
}

/// The nearest vector with a sum of magnitudes of at most `radius` (Duchi et al. 2008).
fn into_ball(v: DVector<f64>, radius: f64) -> DVector<f64> {
    if v.lp_norm(1) <= radius {
        return v;
    }
    let mut sizes: Vec<f64> = v.iter().map(|v| v.abs()).collect();
    sizes.sort_unstable_by(|a, b| b.total_cmp(a));
    let (mut sum, mut threshold) = (0.0, 0.0);
    for (i, size) in sizes.into_iter().enumerate() {
        sum += size;
        let candidate = (sum - radius) / (i + 1) as f64;
        if size <= candidate {
            break;
        }
        threshold = candidate;
    }
    v.map(|v| v.signum() * (v.abs() - threshold).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn two_samples_share_what_they_can() {
        // Only the difference of the two samples can be used: 2 of the residual's first value.
        let others = array![[1.0, 0.0], [-1.0, 0.0]];
        let s = constrained_weights(others.view(), array![4.0, 0.0].view(), 1.0).unwrap();
        assert!((&s - &array![1.5, -1.5]).mapv(f64::abs).sum() < 1e-8, "{s}");
        let none = constrained_weights(others.view(), array![0.5, 0.0].view(), 1.0).unwrap();
        assert_eq!(none, array![0.0, 0.0]);
        // Nothing can be said of the second value.
        let error = constrained_weights(others.view(), array![0.0, 4.0].view(), 1.0).unwrap_err();
        assert!(error.to_string().contains("at most 1"), "{error}");
        for (r, limit) in [(array![1.0], 1.0), (array![f64::NAN, 0.0], 1.0), (array![1.0, 0.0], 0.0)] {
            assert!(matches!(constrained_weights(others.view(), r.view(), limit), Err(Error::Samples { .. })));
        }
    }
}
