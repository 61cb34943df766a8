//! Factorisations of Gram matrices: Cholesky with jitter, pivoted Cholesky, eigenvectors.
//!
//! Gram matrices of neighbouring windows have condition numbers of a million and more and are often singular, so
//! everything here is in double precision and handles missing ranks.

use nalgebra::{Cholesky, DMatrix, DVector, Dyn, SymmetricEigen};

use crate::error::{Error, Result};

/// Steps of the implicit QR iteration for one eigenproblem before it is given up.
const MAX_EIGEN_STEPS: usize = 100_000;

/// The Cholesky factor of a symmetric matrix that is positive definite up to rounding.
///
/// If the plain factorisation fails, adds 1e-10 of the mean diagonal to the diagonal, then ten times as much, up to
/// 1e-4.
///
/// # Errors
/// [`Error::Gram`] if that does not help: the matrix has a negative eigenvalue or is zero.
pub fn cholesky(matrix: DMatrix<f64>) -> Result<Cholesky<f64, Dyn>> {
    let mean_diagonal = matrix.trace() / matrix.nrows().max(1) as f64;
    let mut jitter = 1e-10 * mean_diagonal;
    let mut attempt = Cholesky::new(matrix.clone());
    while attempt.is_none() && jitter > 0.0 && jitter <= 1.01e-4 * mean_diagonal {
        let mut lifted = matrix.clone();
        lift_diagonal(&mut lifted, jitter);
        attempt = Cholesky::new(lifted);
        jitter *= 10.0;
    }
    attempt.ok_or_else(|| Error::Gram { reason: "is not positive semi-definite".into() })
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
    pivots: Vec<usize>,
    landmarks: DMatrix<f64>,
}

impl PivotedCholesky {
    /// Factors `gram`, n x n, until no diagonal entry of the residual exceeds `tolerance` times the largest of `gram`.
    pub fn new(gram: &DMatrix<f64>, tolerance: f64) -> Self {
        let n = gram.nrows();
        let mut residual = gram.diagonal();
        let stop = (tolerance * residual.max()).max(f64::MIN_POSITIVE);
        let mut columns: Vec<DVector<f64>> = Vec::new();
        let mut pivots: Vec<usize> = Vec::new();
        while pivots.len() < n {
            let pivot = residual.imax();
            let left = residual[pivot];
            if left.is_nan() || left <= stop {
                break;
            }
            let mut column = gram.column(pivot).into_owned();
            for earlier in &columns {
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
        Self { factor, pivots, landmarks }
    }

    /// `B`, n x r.
    pub fn factor(&self) -> &DMatrix<f64> {
        &self.factor
    }

    /// The samples chosen, in order.
    #[cfg(test)]
    pub fn pivots(&self) -> &[usize] {
        &self.pivots
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

/// Eigenvalues of a symmetric matrix, largest first, with their unit eigenvectors as columns in the same order.
///
/// # Errors
/// [`Error::Gram`] if an entry is not finite or the iteration does not converge.
pub fn symmetric_eigen(matrix: DMatrix<f64>) -> Result<(DVector<f64>, DMatrix<f64>)> {
    if matrix.iter().any(|v| !v.is_finite()) {
        return Err(Error::Gram { reason: "has entries too large to be multiplied".into() });
    }
    let n = matrix.nrows();
    if n == 0 {
        return Ok((DVector::zeros(0), matrix));
    }
    let symmetric = (&matrix + matrix.transpose()) * 0.5;
    let eigen = SymmetricEigen::try_new(symmetric, f64::EPSILON, MAX_EIGEN_STEPS.max(100 * n))
        .ok_or_else(|| Error::Gram { reason: "has eigenvalues that cannot be computed".into() })?;
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| eigen.eigenvalues[j].total_cmp(&eigen.eigenvalues[i]));
    let values = DVector::from_iterator(n, order.iter().map(|&i| eigen.eigenvalues[i]));
    Ok((values, eigen.eigenvectors.select_columns(&order)))
}

/// Solves `A v = l B v` for symmetric `A` and positive definite `B`: values largest first, vectors with `vᵀ B v = 1`.
///
/// # Errors
/// [`Error::Gram`] if `B` is not positive definite or the iteration does not converge.
pub fn generalised_eigen(a: &DMatrix<f64>, b: DMatrix<f64>) -> Result<(DVector<f64>, DMatrix<f64>)> {
    let lower = cholesky((&b + b.transpose()) * 0.5)?.unpack();
    let singular = || Error::Gram { reason: "is singular beyond repair".into() };
    let half = lower.solve_lower_triangular(a).ok_or_else(singular)?;
    let reduced = lower.solve_lower_triangular(&half.transpose()).ok_or_else(singular)?;
    let (values, vectors) = symmetric_eigen(reduced)?;
    let vectors = lower.tr_solve_lower_triangular(&vectors).ok_or_else(singular)?;
    Ok((values, vectors))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(n: usize, m: usize, seed: u64) -> DMatrix<f64> {
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
        let factored = PivotedCholesky::new(&gram, 1e-10);
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
        assert_eq!(PivotedCholesky::new(&DMatrix::zeros(3, 3), 1e-10).rank(), 0);
        assert_eq!(PivotedCholesky::new(&DMatrix::from_element(5, 5, 1.0), 1e-10).rank(), 1);
    }

    #[test]
    fn generalised_eigenvectors_solve_their_equation() {
        let (a, b) = (random(7, 7, 3), random(7, 7, 4));
        let a = &a + a.transpose();
        let b = &b * b.transpose() + DMatrix::identity(7, 7) * 0.1;
        let (values, vectors) = generalised_eigen(&a, b.clone()).unwrap();
        for i in 0..7 {
            let v = vectors.column(i);
            assert!((&a * v - &b * v * values[i]).amax() < 1e-9);
            assert!((v.dot(&(&b * v)) - 1.0).abs() < 1e-9);
            assert!(i == 0 || values[i - 1] >= values[i]);
        }
        assert!(symmetric_eigen(DMatrix::from_element(2, 2, f64::NAN)).is_err());
        assert!(symmetric_eigen(DMatrix::zeros(0, 0)).unwrap().0.is_empty());
    }
}
