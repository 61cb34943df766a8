//! Kernel principal component analysis (Schölkopf, Smola & Müller 1998): projections, novelty, and a detector made of novelties.
//!
//! With weights `p` of sum one and the centred Gram matrix `K̃`: `diag(√p) K̃ diag(√p) = U diag(l) Uᵀ`, directions of unit length
//! `A = diag(√p) U diag(l)^-½`, projections `Aᵀκ̃`, whose variances are `l`.

use nalgebra::{DMatrix, DVector};
use ndarray::{Array1, Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use super::head::{Affine, Subspace};
use super::{Build, Embedding, Head, Machine, Samples, in_range};
use crate::error::{Error, Result};
use crate::kernel::factor::symmetric_eigen;
use crate::kernel::gram::{Centring, check_gram, from_matrix};

/// Variances below this share of the largest belong to directions made of rounding.
const LEAST_VARIANCE: f64 = 1e-6;

/// Parameters of [`Kpca`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The largest number of components, at least 1.
    pub rank: usize,
    /// Whether the novelty to the background counts too, not that to the target alone.
    pub two_class: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self { rank: 8, two_class: true }
    }
}

/// The detector: a sample's squared distance to the subspace of the target's looks (its novelty, Hoffmann 2007), taken from that to
/// the background's subspace.
///
/// With samples of both classes, their means have the decisions +1 and -1, or the decision is zero everywhere where they cannot be
/// told apart. With samples of the target alone the decision is minus the novelty.
#[derive(Clone, Copy, Debug)]
pub struct Kpca(Params);

impl Build for Kpca {
    type Params = Params;
    const NAME: &'static str = "kpca";

    fn new(params: Params) -> Result<Self> {
        in_range("kpca-rank", params.rank as f64, 1.0..=1e6)?;
        Ok(Self(params))
    }
}

impl Machine for Kpca {
    fn solve(&self, samples: &Samples) -> Result<Head> {
        let (target, background) = (samples.of_label(1.0), samples.of_label(-1.0));
        if target.is_empty() {
            samples.two_classes()?;
        }
        let mut classes = vec![(&target, -1.0)];
        if self.0.two_class && !background.is_empty() {
            classes.push((&background, 1.0));
        }
        let n = samples.len();
        let (mut own, mut linear, mut bias) = (0.0, DVector::zeros(n), 0.0);
        let (mut directions, mut offsets, mut factors) = (Vec::new(), Vec::new(), Vec::new());
        for (class, sign) in classes {
            let weights = samples.weights.select_rows(class);
            let part = Components::new(&samples.gram.select_rows(class).select_columns(class), &weights, self.0.rank)?;
            own += sign;
            bias += sign * part.centring.norm;
            for (at, &i) in class.iter().enumerate() {
                linear[i] -= 2.0 * sign * part.centring.weights[at];
            }
            let (folded, constant) = part.centring.fold(&part.coefficients);
            for (column, offset) in folded.column_iter().zip(constant.iter()) {
                let mut direction = DVector::zeros(n);
                class.iter().zip(column.iter()).for_each(|(&i, &v)| direction[i] = v);
                directions.push(direction);
                offsets.push(*offset);
                factors.push(-sign);
            }
        }
        let directions = match directions.is_empty() {
            true => Array2::zeros((n, 0)),
            false => from_matrix(&DMatrix::from_columns(&directions)),
        };
        let affine = Affine { alpha: linear.iter().copied().collect(), bias };
        let subspace = Subspace { own, affine, directions, offsets: offsets.into(), factors: factors.into() };
        match background.is_empty() {
            true => Ok(Head::Subspace(subspace)),
            false => Head::Subspace(subspace).calibrated(samples),
        }
    }
}

impl Kpca {
    /// The principal components of all samples of a Gram matrix, labels aside. [`Embedding::values`] are the variances of the
    /// coordinates: the eigenvalues of `K̃ / n`.
    ///
    /// # Errors
    /// [`Error::Gram`] for a matrix that is none (see [`Samples::new`]).
    pub fn embed(&self, gram: ArrayView2<f64>) -> Result<Novelty> {
        let gram = check_gram(gram)?;
        let weights = DVector::from_element(gram.nrows(), 1.0);
        let part = Components::new(&gram, &weights, self.0.rank)?;
        let embedding = Embedding::centred(&part.centring, &part.coefficients, &part.variances)?;
        Ok(Novelty { embedding, centring: part.centring })
    }
}

struct Components {
    centring: Centring,
    coefficients: DMatrix<f64>,
    variances: Vec<f64>,
}

impl Components {
    fn new(gram: &DMatrix<f64>, weights: &DVector<f64>, rank: usize) -> Result<Self> {
        let centring = Centring::new(gram, weights);
        let roots = centring.weights.map(f64::sqrt);
        let mut scaled = centring.train(gram);
        scaled.column_iter_mut().zip(roots.iter()).for_each(|(mut column, root)| {
            column.component_mul_assign(&roots);
            column *= *root;
        });
        let (values, vectors) = symmetric_eigen(scaled)?;
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
    /// The novelties of m samples, `‖φ(z) - mean‖² - ‖projections‖²`, from their kernel values with the training samples (m x n)
    /// and with themselves (m).
    ///
    /// # Errors
    /// [`Error::Samples`] when a size does not fit or a kernel value is not finite.
    pub fn novelty(&self, cross: ArrayView2<f64>, own: &[f64]) -> Result<Array1<f64>> {
        if own.len() != cross.nrows() || own.iter().any(|v| !v.is_finite()) {
            let reason = format!("{} kernel values of samples with themselves for {}", own.len(), cross.nrows());
            return Err(Error::Samples { reason });
        }
        let projections = self.embedding.transform(cross)?;
        let weights = Array1::from_iter(self.centring.weights.iter().copied());
        let to_mean = cross.dot(&weights) * -2.0 + self.centring.norm;
        Ok(Array1::from_iter(own.iter().zip(&to_mean).zip(projections.outer_iter()).map(|((own, to_mean), row)| {
            // Below zero only by rounding.
            (own + to_mean - row.dot(&row)).max(0.0)
        })))
    }
}
