//! Kernel discriminative sparsity preserving embedding, its linear form, and the projections that it grew from.
//!
//! [Weights](Preserved) that reconstruct each sample from others are found first, then the few coordinates in which the
//! same weights reconstruct best.
//!
//! In problems of few dimensions the first coordinates follow the shape of the classes before they tell them apart:
//! give it a dozen.

use nalgebra::{DMatrix, DVector};
use ndarray::ArrayView2;

use super::preserving::preserve;
use super::weights::{self, Sparse};
use super::{Build, Embedding, Head, Machine, Samples, classes_of};
use crate::error::{Error, Result};
use crate::kernels::factor::{cholesky, lift_diagonal, scale_rows};
use crate::kernels::gram::check_gram;
use crate::settings::{Setting, settings};

settings! {
    /// Settings of [`Kdspe`].
    #[derive(Copy)]
    pub struct Params {
        /// Coordinates of the embedding
        dims: usize = 4, Within(1.0, 1e6);
        /// Ridge ρ of the reconstruction from the own class
        ridge: f64 = 1e-2, Within(1e-12, 1e12);
        /// Price τ of the weights of other classes, relative to kernel values
        tau: f64 = 0.04, Within(0.0, 1e12);
        /// Iterations of the l1 step; 0 leaves other classes out
        iterations: usize = 8, Within(0.0, 1e6);
        /// Regularisation ε of the embedding
        eps: f64 = 1e-2, Within(1e-12, 1e12);
        /// Ridge of the linear rule, relative to the mean scatter within the classes
        rule: f64 = 1e-2, Within(1e-12, 1e12);
    }
}

/// Whose reconstruction weights an embedding preserves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preserved {
    /// The own class first, few others after it (DSPE).
    Classes,
    /// Few samples of any class (SPP): no labels are used.
    Neighbours,
}

/// The detector: a regularised Fisher discriminant in the embedding, scaled so that the class means have the decisions
/// +1 and -1.
///
/// Samples whose class has no second member take no part in the embedding, but in the discriminant; where neither class
/// has one, there is no embedding, and the decision is zero everywhere. Samples that cannot be told apart give the
/// decision zero everywhere.
#[derive(Clone, Copy, Debug)]
pub struct Kdspe(Params);

impl Build for Kdspe {
    type Params = Params;

    fn new(params: Params) -> Result<Self> {
        params.check_ranges("kdspe")?;
        Ok(Self(params))
    }
}

impl Machine for Kdspe {
    fn solve(&self, samples: &Samples) -> Result<Head> {
        let (target, background) = samples.two_classes()?;
        let shares = [samples.shares(&target), samples.shares(&background)];
        let (a, _, _) = self.directions(&samples.gram, &[target, background], &samples.weights, Preserved::Classes)?;
        // Fisher's rule for y = Aᵀκ, both classes with the same say.
        let y = &samples.gram * &a;
        let means = shares.each_ref().map(|share| y.tr_mul(share));
        let mut scatter = DMatrix::zeros(a.ncols(), a.ncols());
        for (share, mean) in shares.iter().zip(&means) {
            scatter += y.tr_mul(&scale_rows(&y, share)) - mean * mean.transpose();
        }
        let difference = &means[0] - &means[1];
        let size = scatter.trace().max(difference.norm_squared()) / a.ncols().max(1) as f64;
        lift_diagonal(&mut scatter, self.0.rule * size);
        let rule = if size > 0.0 { cholesky(scatter)?.solve(&difference) } else { difference };
        Head::affine(&(a * rule), 0.0).calibrated(samples)
    }
}

impl Kdspe {
    /// The embedding of samples of any number of `classes` (any numbers, one per sample). [`Embedding::values`] are the
    /// generalised eigenvalues, 1 at most: the share of a coordinate that the weights reconstruct.
    ///
    /// On the Gram matrix of [`Kernel::Linear`](crate::kernels::Kernel::Linear) it is linear DSPE (or SPP):
    /// [`Embedding::linear`] gives its projection. Fewer coordinates than asked for come from samples that span fewer
    /// dimensions.
    ///
    /// # Errors
    /// [`Error::Gram`] for a matrix that is none, [`Error::Samples`] for another number of classes than samples,
    /// [`Error::Parameter`] for [`Preserved::Neighbours`] without an iteration: its weights all come from the l1 step.
    pub fn embed(&self, gram: ArrayView2<f64>, classes: &[usize], preserved: Preserved) -> Result<Embedding> {
        if preserved == Preserved::Neighbours && self.0.iterations == 0 {
            let expected = "must be above 0 for weights of any class: without the l1 step there are none".into();
            return Err(Error::Parameter { name: "kdspe.iterations", value: "0".into(), expected });
        }
        let gram = check_gram(gram)?;
        let members = classes_of(classes, gram.nrows())?;
        let weights = DVector::from_element(gram.nrows(), 1.0);
        let (a, constant, values) = self.directions(&gram, &members, &weights, preserved)?;
        Embedding::raw(&a, &constant, values.as_slice())
    }

    /// Coefficients of raw kernel values, constants and eigenvalues of the embedding.
    fn directions(
        &self,
        gram: &DMatrix<f64>,
        classes: &[Vec<usize>],
        weights: &DVector<f64>,
        preserved: Preserved,
    ) -> Result<(DMatrix<f64>, DVector<f64>, DVector<f64>)> {
        let Params { dims, ridge, tau, iterations, eps, .. } = self.0;
        let sparse = Sparse { tau, iterations };
        let d = match preserved {
            Preserved::Classes => weights::discriminative(gram, classes, ridge, sparse)?,
            Preserved::Neighbours => weights::unsupervised(gram, sparse)?,
        };
        // A sample without weights is no witness of how samples reconstruct each other.
        let mut kept: Vec<usize> = match preserved {
            Preserved::Classes => classes.iter().filter(|class| class.len() > 1).flatten().copied().collect(),
            Preserved::Neighbours if gram.nrows() > 1 => (0..gram.nrows()).collect(),
            Preserved::Neighbours => Vec::new(),
        };
        kept.sort_unstable();
        if kept.is_empty() {
            return Ok((DMatrix::zeros(gram.nrows(), 0), DVector::zeros(0), DVector::zeros(0)));
        }
        let part = gram.select_rows(&kept).select_columns(&kept);
        let w = weights.select_rows(&kept);
        let w = &w * (kept.len() as f64 / w.sum());
        let d = d.select_rows(&kept).select_columns(&kept);
        let (folded, constant, values) = preserve(&part, &d, &w, eps, dims)?;
        let mut coefficients = DMatrix::zeros(gram.nrows(), values.len());
        for (row, &i) in kept.iter().enumerate() {
            coefficients.set_row(i, &folded.row(row));
        }
        Ok((coefficients, constant, values))
    }
}
