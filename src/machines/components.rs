//! Principal components in feature space, and the distance to the subspace that they span.

use nalgebra::{DMatrix, DVector};
use ndarray::{Array1, ArrayView2};

use super::Embedding;
use super::head::check_own;
use crate::error::Result;
use crate::kernels::factor::{scale_rows, symmetric_eigen};
use crate::kernels::gram::{Centring, check_finite};

/// Variances below this share of the largest belong to directions made of rounding.
const LEAST_VARIANCE: f64 = 1e-6;

/// The directions of largest variance: coefficients of centred kernel values, a column each.
pub(crate) struct Components {
    pub centring: Centring,
    pub coefficients: DMatrix<f64>,
    pub variances: Vec<f64>,
}

impl Components {
    pub fn new(gram: &DMatrix<f64>, weights: &DVector<f64>, rank: usize) -> Result<Self> {
        let centring = Centring::new(gram, weights);
        let roots = centring.weights.map(f64::sqrt);
        let half = scale_rows(&centring.train(gram), &roots);
        let (values, vectors) = symmetric_eigen(scale_rows(&half.transpose(), &roots))?;
        // Samples that are all equal have no direction; what is left of them after centring is rounding.
        let least = (LEAST_VARIANCE * values[0]).max(1e-14 * gram.diagonal().max()).max(f64::MIN_POSITIVE);
        let kept = values.iter().take(rank).take_while(|&&v| v > least).count();
        let mut coefficients = vectors.columns(0, kept).into_owned();
        for (mut column, value) in coefficients.column_iter_mut().zip(values.iter()) {
            column.component_mul_assign(&roots);
            column /= value.sqrt();
        }
        Ok(Self { centring, coefficients, variances: values.iter().take(kept).copied().collect() })
    }
}

/// The principal components of a set of samples, and the distance of other samples to the subspace that they span.
#[derive(Clone, Debug)]
pub struct Novelty {
    /// The projections.
    pub embedding: Embedding,
    pub(crate) centring: Centring,
}

impl Novelty {
    /// The novelties of m samples, `‖φ(z) - mean‖² - ‖projections‖²`, from their kernel values with the
    /// training samples (m x n) and with themselves (m).
    ///
    /// # Errors
    /// [`Error::Samples`](crate::Error::Samples) when a size does not fit, a kernel value is not finite, or a novelty
    /// is not for their size.
    pub fn novelty(&self, cross: ArrayView2<f64>, own: &[f64]) -> Result<Array1<f64>> {
        check_own(own.iter(), cross.nrows())?;
        let projections = self.embedding.transform(cross)?;
        let weights = Array1::from_iter(self.centring.weights.iter().copied());
        let to_mean = cross.dot(&weights) * -2.0 + self.centring.norm;
        let away = own.iter().zip(&to_mean).zip(projections.outer_iter());
        let values: Array1<f64> = away.map(|((own, to_mean), row)| own + to_mean - row.dot(&row)).collect();
        check_finite(&values, "the kernel values are too large for a novelty")?;
        // Below zero only by rounding.
        Ok(values.mapv_into(|value| value.max(0.0)))
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::error::Error;
    use crate::kernels::{Kernel, gram};
    use crate::machines::{Build, kpca};

    fn corners() -> Novelty {
        let x = array![[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]];
        let k = gram(Kernel::Linear, x.view()).unwrap();
        kpca::Kpca::new(kpca::Params { rank: 2, two_class: false }).unwrap().embed(k.view()).unwrap()
    }

    #[test]
    fn a_novelty_that_no_number_holds_is_refused() {
        let huge = array![[1e200, 3e200, 1e200, 1e200]];
        // The squares of its projections are infinite, and with them the difference.
        assert!(corners().embedding.transform(huge.view()).is_ok());
        let error = corners().novelty(huge.view(), &[1e300]).unwrap_err();
        assert!(matches!(error, Error::Samples { .. }) && error.to_string().contains("too large"), "{error}");
        // One that rounding puts below zero is still none.
        assert_eq!(corners().novelty(array![[0.0, 0.5, 0.0, 0.5]].view(), &[0.5 - 1e-16]).unwrap()[0].max(1e-9), 1e-9);
    }

    #[test]
    fn coordinates_that_no_number_holds_are_refused() {
        let error = corners().embedding.transform(array![[1e308, -1e308, 1e308, -1e308]].view()).unwrap_err();
        assert!(matches!(error, Error::Samples { .. }) && error.to_string().contains("too large"), "{error}");
        let x = array![[0.0, 1e5], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]];
        let linear = corners().embedding.linear(x.view()).unwrap();
        assert!(linear.transform(array![[1e308, -1e308]].view()).is_err());
        assert!(corners().embedding.linear((&x * f64::NAN).view()).is_err());
        assert!(corners().embedding.scaled(|_| 1e308).and_then(|e| e.scaled(|_| 1e308)).is_err());
    }
}
