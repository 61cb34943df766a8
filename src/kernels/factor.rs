//! Factorisations of Gram matrices: Cholesky with jitter, pivoted Cholesky.
//!
//! Gram matrices of neighbouring windows have condition numbers of a million and more and are often singular, so
//! everything here is in double precision and handles missing ranks.

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};

use crate::cancel;
use crate::error::{Error, Result};

/// Rows and columns of a block: products of blocks do almost all of the arithmetic of larger matrices.
pub const BLOCK: usize = 128;

/// The Cholesky factor of a symmetric matrix that is positive definite up to rounding.
///
/// If the plain factorisation fails, adds 1e-10 of the mean diagonal to the diagonal, then ten times as much, up to
/// 1e-4.
///
/// # Errors
/// [`Error::Gram`] if this does not help: the matrix has a negative eigenvalue or is zero.
pub fn cholesky(matrix: DMatrix<f64>) -> Result<Cholesky<f64, Dyn>> {
    let mean_diagonal = matrix.trace() / matrix.nrows().max(1) as f64;
    let mut jitter = 1e-10 * mean_diagonal;
    let mut attempt = blocked_cholesky(matrix.clone())?;
    while attempt.is_none() && jitter > 0.0 && jitter <= 1.01e-4 * mean_diagonal {
        let mut lifted = matrix.clone();
        lift_diagonal(&mut lifted, jitter);
        attempt = blocked_cholesky(lifted)?;
        jitter *= 10.0;
    }
    attempt.ok_or_else(|| Error::Gram { reason: "is not positive semi-definite".into() })
}

/// `None` if the matrix is not positive definite.
fn blocked_cholesky(mut matrix: DMatrix<f64>) -> Result<Option<Cholesky<f64, Dyn>>> {
    let n = matrix.nrows();
    for k in (0..n).step_by(BLOCK) {
        let width = BLOCK.min(n - k);
        cancel::check()?;
        let Some(corner) = Cholesky::new(matrix.view((k, k), (width, width)).into_owned()) else { return Ok(None) };
        let corner = corner.unpack();
        let panel = matrix.view_range(k + width.., k..k + width) * inverse_lower(&corner).transpose();
        for j in (k + width..n).step_by(BLOCK) {
            let below = panel.rows_range(j - k - width..);
            let right = below.rows(0, BLOCK.min(n - j)).transpose();
            matrix.view_mut((j, j), (n - j, right.ncols())).gemm(-1.0, &below, &right, 1.0);
        }
        matrix.view_mut((k, k), (width, width)).copy_from(&corner);
        matrix.view_range_mut(k + width.., k..k + width).copy_from(&panel);
    }
    Ok(Some(Cholesky::pack_dirty(matrix)))
}

/// The inverse of a lower triangular matrix with a positive diagonal.
pub fn inverse_lower(lower: &DMatrix<f64>) -> DMatrix<f64> {
    let n = lower.nrows();
    let mut inverse = DMatrix::identity(n, n);
    for k in (0..n).step_by(BLOCK) {
        let width = BLOCK.min(n - k);
        let mut rows = inverse.rows_range_mut(k..k + width);
        lower.view((k, k), (width, width)).solve_lower_triangular_mut(&mut rows.columns_mut(k, width));
        let corner = inverse.view((k, k), (width, width)).into_owned();
        let before = lower.view((k, 0), (width, k)) * inverse.view((0, 0), (k, k));
        inverse.view_mut((k, 0), (width, k)).gemm(-1.0, &corner, &before, 0.0);
    }
    inverse
}

/// The inverse of the matrix with this factor.
pub fn inverse(factored: Cholesky<f64, Dyn>) -> DMatrix<f64> {
    let half = inverse_lower(&factored.unpack());
    half.transpose() * half
}

/// Adds `by` to the diagonal of a square matrix.
pub fn lift_diagonal(matrix: &mut DMatrix<f64>, by: f64) {
    let next = matrix.nrows() + 1;
    matrix.iter_mut().step_by(next).for_each(|d| *d += by);
}

/// `diag(scales) M`.
pub fn scale_rows(matrix: &DMatrix<f64>, scales: &DVector<f64>) -> DMatrix<f64> {
    let mut scaled = matrix.clone();
    scaled.column_iter_mut().for_each(|mut column| column.component_mul_assign(scales));
    scaled
}

/// The low-rank factor of a Gram matrix, `K ≈ B Bᵀ`, with the samples that it was built from.
///
/// Also known as incomplete Cholesky, and as the Nyström approximation on greedily chosen landmarks.
#[derive(Clone, Debug)]
pub struct PivotedCholesky {
    factor: DMatrix<f64>,
    /// The samples chosen, in order.
    pub(crate) pivots: Vec<usize>,
    landmarks: DMatrix<f64>,
}

impl PivotedCholesky {
    /// Factors `gram`, n x n, until no diagonal entry of the residual exceeds `tolerance` times the largest of `gram`.
    ///
    /// # Errors
    /// [`Error::Cancelled`].
    pub fn new(gram: &DMatrix<f64>, tolerance: f64) -> Result<Self> {
        let n = gram.nrows();
        let mut residual = gram.diagonal();
        let stop = (tolerance * residual.max()).max(f64::MIN_POSITIVE);
        let mut rest = std::borrow::Cow::Borrowed(gram);
        let mut columns: Vec<DVector<f64>> = Vec::new();
        let mut pivots: Vec<usize> = Vec::new();
        // The columns up to here are subtracted from `rest`.
        let mut subtracted = 0;
        while pivots.len() < n {
            if pivots.len() == subtracted + BLOCK {
                cancel::check()?;
                let block = DMatrix::from_columns(&columns[subtracted..]);
                rest.to_mut().gemm(-1.0, &block, &block.transpose(), 1.0);
                subtracted = pivots.len();
            }
            let pivot = residual.imax();
            let left = residual[pivot];
            if left.is_nan() || left <= stop {
                break;
            }
            let mut column = rest.column(pivot).into_owned();
            for earlier in &columns[subtracted..] {
                column.axpy(-earlier[pivot], earlier, 1.0);
            }
            column /= left.sqrt();
            // Clears rounding in the explained rows, which must form a triangle.
            for &done in &pivots {
                column[done] = 0.0;
            }
            residual.zip_apply(&column, |r, c| *r -= c * c);
            pivots.push(pivot);
            for &done in &pivots {
                residual[done] = 0.0;
            }
            columns.push(column);
        }
        let factor = if columns.is_empty() { DMatrix::zeros(n, 0) } else { DMatrix::from_columns(&columns) };
        let landmarks = factor.select_rows(&pivots);
        Ok(Self { factor, pivots, landmarks })
    }

    /// `B`, n x r.
    pub fn factor(&self) -> &DMatrix<f64> {
        &self.factor
    }

    /// The rank r that the tolerance left.
    pub fn rank(&self) -> usize {
        self.pivots.len()
    }

    /// The coordinates `v` of a sample from its n kernel values `k₀`: `B v = k₀` by forward substitution in the
    /// rows of the pivots. Exact where `k₀` lies in the range of `K`.
    pub fn encode(&self, values: &DVector<f64>) -> DVector<f64> {
        let at_pivots = values.select_rows(&self.pivots);
        // The diagonal is positive by construction, so the substitution cannot fail.
        self.landmarks.solve_lower_triangular(&at_pivots).unwrap_or(at_pivots)
    }

    /// The coefficients over the n samples whose expansion has the coordinates `v` (one column each), non-zero on the
    /// pivots only: `α = B_piv⁻ᵀ v`.
    pub fn expand(&self, coordinates: &DMatrix<f64>) -> DMatrix<f64> {
        let at_pivots = self.landmarks.tr_solve_lower_triangular(coordinates).unwrap_or_else(|| coordinates.clone());
        let mut alpha = DMatrix::zeros(self.factor.nrows(), coordinates.ncols());
        for (row, &pivot) in self.pivots.iter().enumerate() {
            alpha.set_row(pivot, &at_pivots.row(row));
        }
        alpha
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn random(n: usize, m: usize, seed: u64) -> DMatrix<f64> {
        use rand::{RngExt, SeedableRng};
        let mut rng = rand_pcg::Pcg64Mcg::seed_from_u64(seed);
        DMatrix::from_fn(n, m, |_, _| rng.random_range(-1.0..1.0))
    }

    #[test]
    fn jitter_helps_singular_but_not_indefinite_matrices() {
        let thin = random(8, 3, 1);
        assert!(cholesky(&thin * thin.transpose()).is_ok());
        let mut indefinite = DMatrix::identity(4, 4);
        indefinite[(2, 2)] = -0.5;
        assert!(matches!(cholesky(indefinite), Err(Error::Gram { .. })));
        assert!(cholesky(DMatrix::zeros(3, 3)).is_err());
    }

    #[test]
    fn pivoted_cholesky_finds_the_rank_and_encodes_the_range() {
        let thin = random(9, 4, 2);
        let gram = &thin * thin.transpose();
        let factored = PivotedCholesky::new(&gram, 1e-10).unwrap();
        assert_eq!(factored.rank(), 4);
        assert!((factored.factor() * factored.factor().transpose() - &gram).amax() < 1e-12);
        let inside = &gram * DVector::from_fn(9, |i, _| i as f64 - 3.0);
        let coordinates = factored.encode(&inside);
        assert!((factored.factor() * &coordinates - &inside).amax() < 1e-9);
        // The expansion has the same coordinates: Bᵀ α = v.
        assert!(
            (factored.factor().transpose()
                * factored.expand(&DMatrix::from_columns(std::slice::from_ref(&coordinates)))
                - coordinates)
                .amax()
                < 1e-9
        );
        assert_eq!(PivotedCholesky::new(&DMatrix::zeros(3, 3), 1e-10).unwrap().rank(), 0);
        assert_eq!(PivotedCholesky::new(&DMatrix::from_element(5, 5, 1.0), 1e-10).unwrap().rank(), 1);
    }

    /// Matrices of more than one block, of full rank or not.
    #[test]
    fn large_matrices_are_factored_as_small_ones_are() {
        let n = 2 * BLOCK + 70;
        let (full, thin) = (random(n, n, 5), random(n, BLOCK + 9, 6));
        let (full, thin) = (&full * full.transpose() + DMatrix::identity(n, n), &thin * thin.transpose());
        let factored = cholesky(full.clone()).unwrap();
        assert!((factored.l() * factored.l().transpose() - &full).amax() < 1e-10);
        assert!((inverse(factored) * &full - DMatrix::identity(n, n)).amax() < 1e-8);
        for gram in [full, thin] {
            let factored = PivotedCholesky::new(&gram, 1e-12).unwrap();
            assert!((factored.factor() * factored.factor().transpose() - &gram).amax() < 1e-8);
        }
    }

    #[test]
    fn cancelled_work_ends_with_an_error() {
        let token = crate::cancel::CancelToken::default();
        token.cancel();
        let found = token.scope(|| cholesky(DMatrix::identity(3, 3)));
        assert!(matches!(found, Err(Error::Cancelled)));
        assert!(cholesky(DMatrix::identity(3, 3)).is_ok());
    }
}
