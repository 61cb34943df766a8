//! The embedding that reconstruction weights survive.
//!
//! From reconstruction weights `D` the embedding that reconstructs best by the same weights,
//! `min Σ wⱼ ‖y_j - Y d_j‖²`, is the generalised eigenproblem `K̃MK̃ a = l (K̃WK̃ + ε K̃) a` with
//! `M = W - (I - D) W (I - D)ᵀ` (for equal weights `D + Dᵀ - DDᵀ`). Two things make it work that the papers leave
//! out: `K̃` is centred, for else the first direction is a constant; and `ε` holds it back, for else it does not
//! depend on an invertible Gram matrix at all.

use nalgebra::{DMatrix, DVector};

use crate::error::Result;
use crate::kernels::factor::{PivotedCholesky, generalised_eigen, lift_diagonal, scale_rows};
use crate::kernels::gram::Centring;

/// Where the factor of a centred Gram matrix ends, relative to its diagonal: above the rounding that centring leaves.
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
    // In coordinates of the samples' own span, K̃ = F Fᵀ and w = Fᵀa, the right side is Fᵀ W F + ε I: regular
    // whatever the rank.
    let factored = PivotedCholesky::new(&centred, FULL_RANK);
    let features = factored.factor();
    let residual = DMatrix::identity(n, n) - d;
    let m = DMatrix::from_diagonal(weights) - &residual * scale_rows(&residual.transpose(), weights);
    let mut right = features.tr_mul(&scale_rows(features, weights));
    lift_diagonal(&mut right, eps);
    let (values, vectors) = generalised_eigen(&(features.tr_mul(&m) * features), right)?;
    let dims = dims.min(factored.rank());
    let (folded, constant) = centring.fold(&factored.expand(&vectors.columns(0, dims).into_owned()));
    Ok((folded, constant, values.rows(0, dims).into_owned()))
}
