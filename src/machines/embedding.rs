//! Maps from kernel values to a few coordinates.

use nalgebra::{DMatrix, DVector};
use ndarray::{Array1, Array2, ArrayView2};

use super::head::check_cross;
use crate::error::{Error, Result};
use crate::kernels::gram::{Centring, check_finite, from_matrix};

/// `y(z) = Aᵀκ(z) + t`: the coordinates of a sample in a learnt subspace of feature space. Any centring is folded
/// in.
#[derive(Clone, Debug)]
pub struct Embedding {
    /// `A`, n x d: one column per coordinate, over the training samples.
    pub coefficients: Array2<f64>,
    /// `t`, d.
    pub constant: Array1<f64>,
    /// What each coordinate was chosen for, largest first: a variance, or a generalised eigenvalue.
    pub values: Array1<f64>,
}

impl Embedding {
    /// From coefficients of centred kernel values, n x d.
    pub(crate) fn centred(centring: &Centring, coefficients: &DMatrix<f64>, values: &[f64]) -> Result<Self> {
        let (folded, constant) = centring.fold(coefficients);
        Self::raw(&folded, &constant, values)
    }

    /// From coefficients of kernel values as they are.
    pub(crate) fn raw(coefficients: &DMatrix<f64>, constant: &DVector<f64>, values: &[f64]) -> Result<Self> {
        if coefficients.iter().chain(constant.iter()).chain(values).any(|v| !v.is_finite()) {
            return Err(Error::Gram { reason: "has entries of a size that nothing can be learnt from".into() });
        }
        Ok(Self {
            coefficients: from_matrix(coefficients),
            constant: constant.iter().copied().collect(),
            values: values.iter().copied().collect(),
        })
    }

    /// How many coordinates there are. Zero when the samples do not differ at all.
    pub fn dims(&self) -> usize {
        self.constant.len()
    }

    /// The coordinates (m x d) of m samples from their kernel values with the training samples (m x n).
    ///
    /// # Errors
    /// [`Error::Samples`] when the number of kernel values does not fit, one is not finite, or a coordinate is not for
    /// their size.
    pub fn transform(&self, cross: ArrayView2<f64>) -> Result<Array2<f64>> {
        check_cross(&cross, self.coefficients.nrows())?;
        let coordinates = cross.dot(&self.coefficients) + &self.constant;
        check_finite(&coordinates, "the kernel values are too large for a coordinate")?;
        Ok(coordinates)
    }

    /// The embedding with each coordinate multiplied by what `factor` makes of its [value](Embedding::values).
    /// Distances between samples depend on it.
    ///
    /// The coordinates of reconstruction weights have unit variance; `|l| 1.0 / (1.0 - l).sqrt()` gives them a unit of
    /// reconstruction residual instead, which brings samples of a class together.
    ///
    /// # Errors
    /// [`Error::Samples`] when a factor is not finite, or the embedding is not for its size.
    pub fn scaled(&self, factor: impl Fn(f64) -> f64) -> Result<Self> {
        let factors = self.values.mapv(factor);
        if factors.iter().any(|v| !v.is_finite()) {
            return Err(Error::Samples {
                reason: "a coordinate would be scaled by what is not a finite number".into(),
            });
        }
        let (coefficients, constant) = (&self.coefficients * &factors, &self.constant * &factors);
        check_finite(coefficients.iter().chain(&constant), "a coordinate would be scaled beyond what numbers hold")?;
        Ok(Self { coefficients, constant, values: self.values.clone() })
    }

    /// The same map as one of feature values, for an embedding fitted to the Gram matrix of
    /// [`Kernel::Linear`](crate::kernels::Kernel::Linear) of the rows of `train` (n x D).
    ///
    /// # Errors
    /// [`Error::Samples`] when `train` has another number of rows, or values that are not finite or too large.
    pub fn linear(&self, train: ArrayView2<f64>) -> Result<LinearEmbedding> {
        if train.nrows() != self.coefficients.nrows() || train.ncols() == 0 {
            let reason = format!("{} rows for an embedding of {} samples", train.nrows(), self.coefficients.nrows());
            return Err(Error::Samples { reason });
        }
        let projection = train.t().dot(&self.coefficients) / train.ncols() as f64;
        check_finite(&projection, "the features of the training samples are too large, or no numbers")?;
        Ok(LinearEmbedding { projection, constant: self.constant.clone() })
    }
}

/// `y(x) = Wᵀx + t`: a linear map of feature values.
#[derive(Clone, Debug)]
pub struct LinearEmbedding {
    /// `W`, D x d.
    pub projection: Array2<f64>,
    /// `t`, d.
    pub constant: Array1<f64>,
}

impl LinearEmbedding {
    /// The coordinates (m x d) of the rows of `samples` (m x D).
    ///
    /// # Errors
    /// [`Error::Samples`] when the rows have another length, a value is not finite, or a coordinate is not for their
    /// size.
    pub fn transform(&self, samples: ArrayView2<f64>) -> Result<Array2<f64>> {
        check_cross(&samples, self.projection.nrows())?;
        let coordinates = samples.dot(&self.projection) + &self.constant;
        check_finite(&coordinates, "the feature values are too large for a coordinate")?;
        Ok(coordinates)
    }
}
