//! The decision function of a fitted machine, and embeddings, over kernel values.

use nalgebra::{DMatrix, DVector};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2};

use super::samples::Samples;
use crate::error::{Error, Result};
use crate::kernels::gram::{check_finite, from_matrix};

/// The decision function of a fitted machine over the kernel values `κ(z)` of a sample `z` with the n training
/// samples.
#[derive(Clone, Debug)]
pub enum Head {
    /// `f(z) = αᵀκ + b`.
    Affine(Affine),
    /// `f(z) = o k(z, z) + αᵀκ + b + Σᵣ sᵣ (dᵣᵀκ + tᵣ)²`: distances to subspaces of feature space.
    Subspace(Subspace),
}

/// An affine form in kernel values.
#[derive(Clone, Debug)]
pub struct Affine {
    /// One coefficient per training sample.
    pub alpha: Array1<f64>,
    /// The constant.
    pub bias: f64,
}

/// A form in kernel values with squares of affine forms.
#[derive(Clone, Debug)]
pub struct Subspace {
    /// The factor of `k(z, z)`; zero where the distances to two subspaces are compared.
    pub own: f64,
    /// The affine part.
    pub affine: Affine,
    /// The directions `dᵣ`, n x r.
    pub directions: Array2<f64>,
    /// The constant `tᵣ` of each direction.
    pub offsets: Array1<f64>,
    /// The factor `sᵣ` of each square.
    pub factors: Array1<f64>,
}

impl Head {
    /// An affine head.
    pub(crate) fn affine(alpha: &DVector<f64>, bias: f64) -> Self {
        Self::Affine(Affine { alpha: alpha.iter().copied().collect(), bias })
    }

    /// The number of training samples: the length of `κ`.
    pub fn len(&self) -> usize {
        self.linear().alpha.len()
    }

    /// True if the head has no training samples.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The affine form, or the affine part of a subspace form.
    pub fn linear(&self) -> &Affine {
        match self {
            Self::Affine(affine) => affine,
            Self::Subspace(subspace) => &subspace.affine,
        }
    }

    /// The decision values of m samples: `cross` holds their kernel values with the training samples (m x n), `own`
    /// those with themselves (m), which only a [`Head::Subspace`] with a non-zero [`own`](Subspace::own) uses;
    /// for any other head they may be infinite.
    ///
    /// # Errors
    /// [`Error::Samples`] if a size does not fit, a kernel value that counts is not finite, or a result is beyond the
    /// largest number.
    pub fn decision(&self, cross: ArrayView2<f64>, own: ArrayView1<f64>) -> Result<Array1<f64>> {
        check_cross(&cross, self.len())?;
        check_count(own.len(), cross.nrows())?;
        let affine = self.linear();
        let mut values = cross.dot(&affine.alpha) + affine.bias;
        if let Self::Subspace(subspace) = self {
            let projections = cross.dot(&subspace.directions) + &subspace.offsets;
            values += &projections.mapv(|v| v * v).dot(&subspace.factors);
            if subspace.own != 0.0 {
                check_own(own.iter(), cross.nrows())?;
                values += &(&own * subspace.own);
            }
        }
        check_finite(&values, "the kernel values are too large for a decision")?;
        Ok(values)
    }

    /// The training samples that the decision depends on: only their kernel values are needed.
    pub fn support(&self) -> Vec<usize> {
        let uses = |i: &usize| match self {
            Self::Affine(affine) => affine.alpha[*i] != 0.0,
            Self::Subspace(subspace) => {
                subspace.affine.alpha[*i] != 0.0 || subspace.directions.row(*i).iter().any(|&v| v != 0.0)
            }
        };
        (0..self.len()).filter(uses).collect()
    }

    /// The head itself if all its numbers are finite.
    ///
    /// # Errors
    /// [`Error::Gram`] otherwise: the entries of the Gram matrix are too large or too small.
    pub fn checked(self) -> Result<Self> {
        let affine = self.linear();
        let mut finite = affine.bias.is_finite() && affine.alpha.iter().all(|v| v.is_finite());
        if let Self::Subspace(s) = &self {
            finite &=
                s.own.is_finite() && s.directions.iter().chain(&s.offsets).chain(&s.factors).all(|v| v.is_finite());
        }
        let reason = "has entries of a size that no machine can be fitted to".into();
        if finite { Ok(self) } else { Err(Error::Gram { reason }) }
    }

    /// The head over n samples, of which `places` are those that it was fitted to.
    pub(crate) fn spread(mut self, places: &[usize], n: usize) -> Self {
        let affine = match &mut self {
            Self::Affine(affine) => affine,
            Self::Subspace(subspace) => {
                let mut all = Array2::zeros((n, subspace.directions.ncols()));
                places.iter().zip(subspace.directions.outer_iter()).for_each(|(&i, row)| all.row_mut(i).assign(&row));
                subspace.directions = all;
                &mut subspace.affine
            }
        };
        let mut all = Array1::zeros(n);
        places.iter().zip(&affine.alpha).for_each(|(&i, alpha)| all[i] = *alpha);
        affine.alpha = all;
        self
    }

    /// The head scaled and shifted so that the weighted class means have the decisions +1 and -1, which makes
    /// thresholds comparable between machines.
    ///
    /// The head is zero everywhere if the means differ by rounding only.
    pub(crate) fn calibrated(mut self, samples: &Samples) -> Result<Self> {
        let (target, background) = samples.two_classes()?;
        let values = self.on_training(samples);
        let means = [target, background].map(|class| samples.shares(&class).dot(&values));
        let spread = means[0] - means[1];
        let separable = spread > 1e-9 * self.rounding_scale(samples) && spread.is_normal();
        let gain = if separable { 2.0 / spread } else { 0.0 };
        let shift = if separable { -gain * 0.5 * (means[0] + means[1]) } else { 0.0 };
        let affine = match &mut self {
            Self::Affine(affine) => affine,
            Self::Subspace(subspace) => {
                subspace.own *= gain;
                subspace.factors *= gain;
                if !separable {
                    subspace.directions.fill(0.0);
                }
                &mut subspace.affine
            }
        };
        affine.alpha *= gain;
        affine.bias = affine.bias * gain + shift;
        Ok(self)
    }

    /// The largest sum of magnitudes that a decision on the training samples is the difference of.
    fn rounding_scale(&self, samples: &Samples) -> f64 {
        let affine = self.linear();
        let alpha = affine.alpha.mapv(f64::abs);
        let largest =
            samples.gram.column_iter().map(|column| column.iter().zip(&alpha).map(|(k, a)| k.abs() * a).sum::<f64>());
        largest.fold(affine.bias.abs(), f64::max)
    }

    fn on_training(&self, samples: &Samples) -> DVector<f64> {
        let vector = |v: &Array1<f64>| DVector::from_iterator(v.len(), v.iter().copied());
        let affine = self.linear();
        let mut values = (&samples.gram * vector(&affine.alpha)).add_scalar(affine.bias);
        if let Self::Subspace(subspace) = self {
            values.axpy(subspace.own, &samples.gram.diagonal(), 1.0);
            for (r, direction) in subspace.directions.columns().into_iter().enumerate() {
                let projection = &samples.gram * vector(&direction.to_owned());
                let (offset, factor) = (subspace.offsets[r], subspace.factors[r]);
                values.zip_apply(&projection, |v, p| *v += factor * (p + offset) * (p + offset));
            }
        }
        values
    }
}

/// Checks that `cross` is a finite matrix of kernel values with `n` training samples.
pub(crate) fn check_cross(cross: &ArrayView2<f64>, n: usize) -> Result<()> {
    if cross.ncols() != n {
        let reason = format!("there are {} kernel values per sample, the machine was fitted to {n}", cross.ncols());
        return Err(Error::samples(reason));
    }
    if cross.iter().any(|v| !v.is_finite()) {
        return Err(Error::samples("a kernel value is not a finite number"));
    }
    Ok(())
}

/// Checks that there are as many kernel values of samples with themselves as samples.
fn check_count(own: usize, count: usize) -> Result<()> {
    if own == count {
        return Ok(());
    }
    let reason = format!("there are {own} kernel values of samples with themselves for {count} samples");
    Err(Error::samples(reason))
}

/// Checks that `own` are finite kernel values of `count` samples with themselves.
pub(crate) fn check_own<'a>(own: impl ExactSizeIterator<Item = &'a f64>, count: usize) -> Result<()> {
    check_count(own.len(), count)?;
    match own.enumerate().find(|(_, value)| !value.is_finite()) {
        None => Ok(()),
        Some((row, value)) => {
            let reason = format!("the kernel value of sample {row} with itself is {value}: its features are too large");
            Err(Error::samples(reason))
        }
    }
}

/// `y(z) = Aᵀκ(z) + t`: the coordinates of a sample in a learnt subspace of feature space. Any centring is folded
/// in.
#[derive(Clone, Debug)]
pub struct Embedding {
    /// `A`, n x d: one column per coordinate, over the training samples.
    pub coefficients: Array2<f64>,
    /// `t`, d.
    pub constant: Array1<f64>,
    /// The variance or generalised eigenvalue of each coordinate, largest first.
    pub values: Array1<f64>,
}

impl Embedding {
    /// Creates an embedding from coefficients of raw kernel values.
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

    /// Number of coordinates; zero when the samples do not differ at all.
    pub fn dims(&self) -> usize {
        self.constant.len()
    }

    /// The coordinates (m x d) of m samples from their kernel values with the training samples (m x n).
    ///
    /// # Errors
    /// [`Error::Samples`] if the number of kernel values does not fit, one is not finite, or a coordinate is not for
    /// their size.
    pub fn transform(&self, cross: ArrayView2<f64>) -> Result<Array2<f64>> {
        check_cross(&cross, self.coefficients.nrows())?;
        let coordinates = cross.dot(&self.coefficients) + &self.constant;
        check_finite(&coordinates, "the kernel values are too large for a coordinate")?;
        Ok(coordinates)
    }

    /// The embedding with each coordinate multiplied by `factor` of its [value](Embedding::values).
    /// Distances between samples depend on it.
    ///
    /// The coordinates of reconstruction weights have unit variance; `|l| 1.0 / (1.0 - l).sqrt()` gives them a unit of
    /// reconstruction residual instead, which brings samples of a class together.
    ///
    /// # Errors
    /// [`Error::Samples`] if a factor is not finite, or the embedding is not for its size.
    pub fn scaled(&self, factor: impl Fn(f64) -> f64) -> Result<Self> {
        let factors = self.values.mapv(factor);
        if factors.iter().any(|v| !v.is_finite()) {
            return Err(Error::samples("a coordinate would be scaled by a factor that is not a finite number"));
        }
        let (coefficients, constant) = (&self.coefficients * &factors, &self.constant * &factors);
        check_finite(coefficients.iter().chain(&constant), "a coordinate would be scaled beyond the largest number")?;
        Ok(Self { coefficients, constant, values: self.values.clone() })
    }
}
