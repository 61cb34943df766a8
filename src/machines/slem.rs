//! The square-loss exemplar machine (Rezende et al., CVPR 2017), in closed form on a low-rank factor of the negatives.
//!
//! One exemplar `x₀` against all `n` negatives, in closed form ([`Encoder`]): the `w` and offset of `f` that minimise
//! `θ (f(x₀) - 1)² + 1/n Σ (f(x_i) + 1)² + λ ‖w‖²`. The machine of a tracker is the sum over several
//! exemplars.

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};
use ndarray::ArrayView2;

use super::{Head, Machine, Samples};
use crate::error::{Error, Result};
use crate::kernels::factor::{PivotedCholesky, cholesky, lift_diagonal, scale_rows};
use crate::kernels::gram::{check_finite, check_gram};
use crate::settings::settings;

/// The sum of the exemplar machines of all the target's samples, by their weights, scaled so that the class means have
/// the decisions +1 and -1. The decision of inseparable samples is zero everywhere.
#[derive(Clone, Copy, Debug)]
pub struct Slem(pub(super) Params);

impl Machine for Slem {
    fn solve(&self, samples: &Samples) -> Result<Head> {
        let (target, background) = samples.two_classes()?;
        let negatives = samples.gram.select_rows(&background).select_columns(&background);
        let encoder = Encoder::new(self.0, &negatives, &samples.weights.select_rows(&background))?;
        let mut alpha = DVector::zeros(samples.len());
        let mut over_negatives = DMatrix::zeros(encoder.rank(), 1);
        for (&i, share) in target.iter().zip(samples.shares(&target).select_rows(&target).iter()) {
            let values = samples.gram.column(i).select_rows(&background);
            let encoding = encoder.encode_vector(&values, samples.gram[(i, i)]);
            alpha[i] = share * encoding.alpha0();
            over_negatives += encoding.negative_part() * *share;
        }
        for (&i, value) in background.iter().zip(encoder.negatives.expand(&over_negatives).iter()) {
            alpha[i] = *value;
        }
        Head::affine(&alpha, 0.0).calibrated(samples)
    }
}

impl Slem {
    /// Factors the negatives of the Gram matrix `gram` (n x n), all of the same weight.
    ///
    /// # Errors
    /// [`Error::Gram`] for an invalid Gram matrix (see [`Samples::new`]).
    pub fn encoder(&self, gram: ArrayView2<f64>) -> Result<Encoder> {
        let gram = check_gram(gram)?;
        Encoder::new(self.0, &gram, &DVector::from_element(gram.nrows(), 1.0))
    }
}

/// An exemplar counts as inside the span of the negatives below this share of its norm outside it.
const IN_SPAN: f64 = 1e-8;

settings! {
    /// Settings of an exemplar machine.
    #[derive(Copy)]
    pub struct Params {
        /// Weight θ of the exemplar against all negatives together
        theta: f64 = 1.0, Within(1e-9, 1e9);
        /// Ridge λ of an exemplar machine
        lambda: f64 = 0.2, Within(1e-12, 1e9);
        /// Tolerance of the factorisation of the negatives, relative to their largest squared norm
        tolerance: f64 = 1e-10, Within(1e-14, 1.0);
    }
}

/// A set of negatives, factored once, that encodes any exemplar.
#[derive(Clone, Debug)]
pub struct Encoder {
    params: Params,
    negatives: PivotedCholesky,
    mean: DVector<f64>,
    scatter: Cholesky<f64, Dyn>,
}

/// An exemplar's machine: its coordinates against the negatives, and the weight vector in the same coordinates.
#[derive(Clone, Debug)]
pub struct Encoding {
    u: f64,
    v: DVector<f64>,
    beta0: f64,
    beta: DVector<f64>,
    nu: f64,
}

impl Encoder {
    pub(crate) fn new(params: Params, gram: &DMatrix<f64>, weights: &DVector<f64>) -> Result<Self> {
        let negatives = PivotedCholesky::new(gram, params.tolerance)?;
        let shares = weights / weights.sum();
        let factor = negatives.factor();
        let mean = factor.tr_mul(&shares);
        let mut scatter = factor.transpose() * scale_rows(factor, &shares);
        scatter.ger(-1.0, &mean, &mean, 1.0);
        lift_diagonal(&mut scatter, params.lambda);
        Ok(Self { params, negatives, mean, scatter: cholesky(scatter)? })
    }

    /// The rank of the negatives: the length of a code.
    pub fn rank(&self) -> usize {
        self.negatives.rank()
    }

    /// The machine of the exemplar with the kernel values `values` with the negatives (n) and `own` with itself.
    ///
    /// # Errors
    /// [`Error::Samples`] if the number of values does not fit, a value is not finite, or `own` is negative, or their
    /// size leaves the exemplar without a machine.
    pub fn encode(&self, values: &[f64], own: f64) -> Result<Encoding> {
        let n = self.negatives.factor().nrows();
        if values.len() != n || values.iter().any(|v| !v.is_finite()) || !own.is_finite() || own < 0.0 {
            let reason = format!("{} kernel values of an exemplar with itself {own} for {n} negatives", values.len());
            return Err(Error::samples(reason));
        }
        let found = self.encode_vector(&DVector::from_column_slice(values), own);
        // Infinite squares would say that the exemplar lies in the span of the negatives.
        let numbers = [found.u, found.beta0, found.nu, found.v.norm_squared()];
        check_finite(numbers.iter().chain(&found.beta), "the kernel values are too large for an exemplar")?;
        Ok(found)
    }

    pub(crate) fn encode_vector(&self, values: &DVector<f64>, own: f64) -> Encoding {
        let Params { theta, lambda, .. } = self.params;
        let v = self.negatives.encode(values);
        let outside = own - v.norm_squared();
        let u = if outside > IN_SPAN * own { outside.sqrt() } else { 0.0 };
        let away = &v - &self.mean;
        let white = self.scatter.solve(&away);
        let scale = 2.0 * theta / (1.0 + theta + theta * (u * u / lambda + away.dot(&white)));
        let (beta0, beta) = (scale * u / lambda, white * scale);
        let at_exemplar = theta * (beta0 * u + beta.dot(&v));
        let nu = (theta - 1.0) / (theta + 1.0) - (at_exemplar + beta.dot(&self.mean)) / (1.0 + theta);
        Encoding { u, v, beta0, beta, nu }
    }

    /// The coefficients of an encoding: of the exemplar, and of the n negatives.
    pub fn coefficients(&self, encoding: &Encoding) -> (f64, Vec<f64>) {
        let alpha = self.negatives.expand(&encoding.negative_part());
        (encoding.alpha0(), alpha.as_slice().to_vec())
    }
}

impl Encoding {
    /// The distance `u` of the exemplar from the span of the negatives; zero up to rounding inside it.
    pub fn outside(&self) -> f64 {
        self.u
    }

    /// The constant ν of the exemplar's machine.
    pub fn constant(&self) -> f64 {
        self.nu
    }

    /// `α₀ = β₀ / u`, zero for an exemplar in the span of the negatives.
    pub(crate) fn alpha0(&self) -> f64 {
        if self.u > 0.0 { self.beta0 / self.u } else { 0.0 }
    }

    /// The part of the weight vector in the span of the negatives, in their coordinates: `β̂ - v β₀ / u`.
    pub(crate) fn negative_part(&self) -> DMatrix<f64> {
        DMatrix::from_columns(&[&self.beta - &self.v * self.alpha0()])
    }
}
