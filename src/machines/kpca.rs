//! Kernel principal component analysis (Schölkopf, Smola & Müller 1998): projections, novelty, and a detector made of
//! novelties.
//!
//! With weights `p` of sum one and the centred Gram matrix `K̃`: `diag(√p) K̃ diag(√p) = U diag(l) Uᵀ`,
//! directions of unit length `A = diag(√p) U diag(l)^-½`, projections `Aᵀκ̃`, whose variances are `l`.

use nalgebra::{DMatrix, DVector};
use ndarray::{Array2, ArrayView2};

use super::components::{Components, Novelty};
use super::head::{Affine, Subspace};
use super::{Build, Embedding, Head, Machine, Samples};
use crate::error::Result;
use crate::kernels::gram::{check_gram, from_matrix};
use crate::settings::{Setting, settings};

settings! {
    /// Settings of [`Kpca`].
    #[derive(Copy)]
    pub struct Params {
        /// Largest number of components
        rank: usize = 8, Within(1.0, 1e6);
        /// Subtract the novelty to the target from that to the background
        two_class: bool = true;
    }
}

/// The detector: a sample's squared distance to the subspace of the target's samples (its novelty, Hoffmann 2007),
/// taken from that to the background's subspace.
///
/// With samples of both classes, their means have the decisions +1 and -1, or the decision is zero everywhere where
/// they cannot be told apart. With samples of the target alone the decision is minus the novelty.
#[derive(Clone, Copy, Debug)]
pub struct Kpca(Params);

impl Build for Kpca {
    type Params = Params;

    fn new(params: Params) -> Result<Self> {
        params.check_ranges("kpca")?;
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
    /// The principal components of all samples of a Gram matrix, labels aside. [`Embedding::values`] are the variances
    /// of the coordinates: the eigenvalues of `K̃ / n`.
    ///
    /// # Errors
    /// [`Error::Gram`](crate::Error::Gram) for a matrix that is none (see [`Samples::new`]).
    pub fn embed(&self, gram: ArrayView2<f64>) -> Result<Novelty> {
        let gram = check_gram(gram)?;
        let weights = DVector::from_element(gram.nrows(), 1.0);
        let part = Components::new(&gram, &weights, self.0.rank)?;
        let embedding = Embedding::centred(&part.centring, &part.coefficients, &part.variances)?;
        Ok(Novelty { embedding, centring: part.centring })
    }
}
