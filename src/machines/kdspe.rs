//! Kernel discriminative sparsity preserving embedding.
//!
//! Weights that reconstruct each sample from others are found first, then the few coordinates in which the same weights
//! reconstruct best.
//!
//! In problems of few dimensions the first coordinates follow the shape of the classes before they tell them apart:
//! give it a dozen.

use nalgebra::{DMatrix, DVector};
use ndarray::ArrayView2;

use super::{Embedding, Head, Machine, Samples, classes_of};
use crate::cancel;
use crate::error::Result;
use crate::kernels::eigen::generalised_eigen;
use crate::kernels::factor::{PivotedCholesky, cholesky, inverse, lift_diagonal, scale_rows};
use crate::kernels::gram::{Centring, check_gram};
use crate::settings::settings;

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

/// The detector: a regularised Fisher discriminant in the embedding, scaled so that the class means have the decisions
/// +1 and -1.
///
/// Samples that are alone in their class are left out of the embedding, but not of the discriminant; where neither class
/// has one, there is no embedding, and the decision is zero everywhere. Samples that cannot be told apart give the
/// decision zero everywhere.
#[derive(Clone, Copy, Debug)]
pub struct Kdspe(pub(super) Params);

impl Machine for Kdspe {
    fn solve(&self, samples: &Samples) -> Result<Head> {
        let (target, background) = samples.two_classes()?;
        let shares = [samples.shares(&target), samples.shares(&background)];
        let (a, _, _) = self.directions(&samples.gram, &[target, background], &samples.weights)?;
        // Fisher's rule for y = Aᵀκ, with equal weight of both classes.
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
    /// On the Gram matrix of [`Kernel::Linear`](crate::kernels::Kernel::Linear) it is linear DSPE. Fewer coordinates than
    /// asked for come from samples that span fewer dimensions.
    ///
    /// # Errors
    /// [`Error::Gram`](crate::Error::Gram) for an invalid Gram matrix, [`Error::Samples`](crate::Error::Samples) for
    /// another number of classes than samples.
    pub fn embed(&self, gram: ArrayView2<f64>, classes: &[usize]) -> Result<Embedding> {
        let gram = check_gram(gram)?;
        let members = classes_of(classes, gram.nrows())?;
        let weights = DVector::from_element(gram.nrows(), 1.0);
        let (a, constant, values) = self.directions(&gram, &members, &weights)?;
        Embedding::raw(&a, &constant, values.as_slice())
    }

    /// Coefficients of raw kernel values, constants and eigenvalues of the embedding.
    fn directions(
        &self,
        gram: &DMatrix<f64>,
        classes: &[Vec<usize>],
        weights: &DVector<f64>,
    ) -> Result<(DMatrix<f64>, DVector<f64>, DVector<f64>)> {
        let Params { dims, eps, .. } = self.0;
        let d = discriminative(gram, classes, &self.0)?;
        // Samples without weights do not count.
        let mut kept: Vec<usize> = classes.iter().filter(|class| class.len() > 1).flatten().copied().collect();
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

/// The weights of discriminative sparsity preserving embedding, n x n, for the classes with the given members. Samples
/// of a class of one take no part: their rows and columns stay zero.
pub(crate) fn discriminative(gram: &DMatrix<f64>, classes: &[Vec<usize>], params: &Params) -> Result<DMatrix<f64>> {
    let n = gram.nrows();
    let mut weights = DMatrix::zeros(n, n);
    for class in classes.iter().filter(|class| class.len() > 1) {
        let within = within_class(&gram.select_rows(class).select_columns(class), params.ridge)?;
        for (a, &i) in class.iter().enumerate() {
            for (b, &j) in class.iter().enumerate() {
                weights[(i, j)] = within[(a, b)];
            }
        }
        let others = classes.iter().filter(|c| *c != class && c.len() > 1);
        let mut others: Vec<usize> = others.flatten().copied().collect();
        others.sort_unstable();
        if others.len() < 2 || params.iterations == 0 {
            continue;
        }
        // The residual of the own class, in terms of the others: g_j = K_Oj - K_OI t_j.
        let across = gram.select_rows(&others).select_columns(class);
        let unexplained = &across - &across * within;
        let rest = lasso(&gram.select_rows(&others).select_columns(&others), unexplained, params)?;
        for (a, &i) in others.iter().enumerate() {
            for (b, &j) in class.iter().enumerate() {
                weights[(i, j)] = rest[(a, b)];
            }
        }
    }
    Ok(weights)
}

/// Weights that reconstruct each sample from all others of its class: `min ‖φ_j - Φt‖² + ρ‖t‖², 1ᵀt = 1, t_j = 0`.
pub(super) fn within_class(gram: &DMatrix<f64>, ridge: f64) -> Result<DMatrix<f64>> {
    let n = gram.nrows();
    let mut lifted = gram.clone();
    lift_diagonal(&mut lifted, ridge);
    // One inverse Q serves all: without row and column j it is Q - q_j q_jᵀ / Q_jj.
    let inverse = inverse(cholesky(lifted)?);
    let ones = inverse.column_sum();
    let mut weights = DMatrix::zeros(n, n);
    for j in 0..n {
        let q = inverse.column(j);
        // Q_{-j} k_j = -q_j / Q_jj, but for the ridge that k_j lacks; it is in row j, which does not count.
        let mut t = q * (-1.0 / q[j]);
        let mut o = &ones - q * (ones[j] / q[j]);
        t[j] = 0.0;
        o[j] = 0.0;
        let missing = (1.0 - t.sum()) / o.sum();
        t.axpy(missing, &o, 1.0);
        weights.set_column(j, &t);
    }
    Ok(weights)
}

/// `min ½ sᵀHs - gᵀs + τ‖s‖₁, 1ᵀs = 0` for each column `g`, by ADMM.
fn lasso(h: &DMatrix<f64>, g: DMatrix<f64>, params: &Params) -> Result<DMatrix<f64>> {
    let (n, m) = (h.nrows(), g.ncols());
    let rho = (h.trace() / n as f64).max(f64::MIN_POSITIVE);
    let mut lifted = h.clone();
    lift_diagonal(&mut lifted, rho);
    let inverse = inverse(cholesky(lifted)?);
    let ones = inverse.column_sum();
    let mut z = DMatrix::zeros(n, m);
    let mut u = DMatrix::<f64>::zeros(n, m);
    for _ in 0..params.iterations {
        cancel::check()?;
        let mut x = &inverse * (&g + (&z - &u) * rho);
        for mut column in x.column_iter_mut() {
            column.axpy(-column.sum() / ones.sum(), &ones, 1.0);
        }
        u += &x;
        let mut moved = 0.0f64;
        for (new, old) in u.iter().zip(z.iter_mut()) {
            let shrunk = new.signum() * (new.abs() - params.tau / rho).max(0.0);
            moved = moved.max((shrunk - *old).abs());
            *old = shrunk;
        }
        u -= &z;
        if moved < 1e-12 && (&x - &z).amax() < 1e-12 {
            break;
        }
    }
    // An iteration cut short leaves a sum that is not quite right, and with it a centre of gravity that moves.
    for mut column in z.column_iter_mut() {
        let used = column.iter().filter(|v| **v != 0.0).count();
        let add = -column.sum() / if used > 0 { used as f64 } else { n as f64 };
        column.iter_mut().filter(|v| used == 0 || **v != 0.0).for_each(|v| *v += add);
    }
    Ok(z)
}

/// The relative tolerance of the factor of a centred Gram matrix, above the rounding of centring.
const FULL_RANK: f64 = 1e-10;

/// Coefficients of raw kernel values (n x d), constants and eigenvalues of the at most `dims` coordinates that the
/// weights `d` (n x n, a column per sample) reconstruct best, samples counting with `weights`. None where the samples
/// do not differ.
pub(crate) fn preserve(
    gram: &DMatrix<f64>,
    d: &DMatrix<f64>,
    weights: &DVector<f64>,
    eps: f64,
    dims: usize,
) -> Result<(DMatrix<f64>, DVector<f64>, DVector<f64>)> {
    let n = gram.nrows();
    let centring = Centring::new(gram, weights);
    let centred = centring.train(gram);
    if centred.trace() <= 1e-12 * gram.trace() {
        return Ok((DMatrix::zeros(n, 0), DVector::zeros(0), DVector::zeros(0)));
    }
    // In coordinates of the samples' own span, K̃ = F Fᵀ and w = Fᵀa, the right side is S = Fᵀ W F + ε I, regular
    // whatever the rank, and the left one S - R with R of what the weights leave unexplained.
    let factored = PivotedCholesky::new(&centred, FULL_RANK)?;
    let features = factored.factor();
    let residual = features - d.transpose() * features;
    let mut scatter = features.transpose() * scale_rows(features, weights);
    let mut unexplained = residual.transpose() * scale_rows(&residual, weights);
    lift_diagonal(&mut scatter, eps);
    lift_diagonal(&mut unexplained, eps);
    // `(S - R) v = l S v` is `S v = R v / (1 - l)`, whose leading values lie far apart.
    let (gains, mut vectors) = generalised_eigen(&scatter, unexplained, dims)?;
    vectors.column_iter_mut().zip(gains.iter()).for_each(|(mut column, gain)| column /= gain.sqrt());
    let values = gains.map(|gain| 1.0 - 1.0 / gain);
    let (folded, constant) = centring.fold(&factored.expand(&vectors));
    Ok((folded, constant, values))
}
