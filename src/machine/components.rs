//! Principal components in feature space, and the distance to the subspace that they span.

use nalgebra::{DMatrix, DVector};
use ndarray::{Array1, ArrayView2};

use super::Embedding;
use super::head::check_own;
use crate::error::Result;
use crate::kernel::factor::{scale_rows, symmetric_eigen};
use crate::kernel::gram::Centring;

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
    /// [`Error::Samples`](crate::Error::Samples) when a size does not fit or a kernel value is not finite.
    pub fn novelty(&self, cross: ArrayView2<f64>, own: &[f64]) -> Result<Array1<f64>> {
        check_own(own.iter(), cross.nrows())?;
        let projections = self.embedding.transform(cross)?;
        let weights = Array1::from_iter(self.centring.weights.iter().copied());
        let to_mean = cross.dot(&weights) * -2.0 + self.centring.norm;
        Ok(Array1::from_iter(own.iter().zip(&to_mean).zip(projections.outer_iter()).map(|((own, to_mean), row)| {
            // Below zero only by rounding.
            (own + to_mean - row.dot(&row)).max(0.0)
        })))
    }
}
