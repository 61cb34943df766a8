//! Eigenvectors of symmetric matrices.
//!
//! A few leading eigenvectors of a large matrix are sought in a Krylov space. For many, Householder reflections reduce
//! the matrix to tridiagonal form, and take its eigenvectors back. nalgebra solves small matrices, and matrices for
//! which this fails.

use nalgebra::{DMatrix, DVector, SymmetricEigen};

use super::factor::{BLOCK, cholesky, inverse_lower};
use crate::cancel;
use crate::error::{Error, Result};
use crate::simd::leveled;

/// Rows of the largest matrix that nalgebra's solver does.
const SMALL: usize = 256;

/// Steps of the QR iteration for one eigenproblem before it is given up.
const MAX_STEPS: usize = 100_000;

/// Columns of a block of a Krylov space, and eigenvectors that are iterated together.
const TOGETHER: usize = 16;

/// Residual of an eigenvector, relative to the largest eigenvalue in magnitude.
const RESIDUAL: f64 = 1e-12;

/// Reflections that change the rest of the matrix in one product.
const PANEL: usize = 24;

/// An entry that is zero beside the largest, 1, and whose square does not underflow.
const NOTHING: f64 = 1e-150;

/// Eigenvectors whose values are this far apart, relative to `T`, are orthogonal to about 1e-10 by themselves.
const GAP: f64 = 1e-5;

/// Eigenvalues of a symmetric matrix, largest first, with their unit eigenvectors as columns in the same order. Of a
/// large matrix, the lower triangle is read.
///
/// # Errors
/// [`Error::Gram`] if an entry is not finite or the iteration does not converge, [`Error::Cancelled`].
pub fn symmetric_eigen(matrix: DMatrix<f64>) -> Result<(DVector<f64>, DMatrix<f64>)> {
    let all = matrix.nrows();
    largest(matrix, all, f64::NEG_INFINITY)
}

fn largest(matrix: DMatrix<f64>, count: usize, least: f64) -> Result<(DVector<f64>, DMatrix<f64>)> {
    if matrix.iter().any(|v| !v.is_finite()) {
        return Err(Error::Gram { reason: "has entries too large to be multiplied".into() });
    }
    let n = matrix.nrows();
    let count = count.min(n);
    if n == 0 {
        return Ok((DVector::zeros(0), matrix));
    }
    if n > SMALL
        && let Some(found) = by_tridiagonal(&matrix, count, least)?
    {
        return Ok(found);
    }
    let symmetric = (&matrix + matrix.transpose()) * 0.5;
    let eigen = SymmetricEigen::try_new(symmetric, f64::EPSILON, MAX_STEPS.max(100 * n))
        .ok_or_else(|| Error::Gram { reason: "has eigenvalues that cannot be computed".into() })?;
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| eigen.eigenvalues[j].total_cmp(&eigen.eigenvalues[i]));
    let values = DVector::from_iterator(count, order[..count].iter().map(|&i| eigen.eigenvalues[i]));
    Ok((values, eigen.eigenvectors.select_columns(&order[..count])))
}

/// The `count` largest eigenvalues at most, as [`symmetric_eigen`] returns them. All but the first may be missing if
/// they are below `least` times the norm.
///
/// A block Krylov space that is kept orthogonal (Golub & Underwood 1977) grows until the residuals vanish.
pub fn leading_eigen(matrix: DMatrix<f64>, count: usize, least: f64) -> Result<(DVector<f64>, DMatrix<f64>)> {
    let n = matrix.nrows();
    let few = count + 4 * TOGETHER <= n / 16 && matrix.iter().all(|v| v.is_finite());
    let most = if few { n / 8 } else { 0 };
    let mut block = random(n, TOGETHER.min(n));
    let (mut basis, mut images) = (DMatrix::zeros(n, most), DMatrix::zeros(n, most));
    let (mut size, mut next_check) = (0, count + 2 * TOGETHER);
    while size + block.ncols() < most {
        cancel::check()?;
        let known = basis.columns(0, size);
        // The second pass removes what rounding has left.
        for _ in 0..2 {
            block -= known * (known.transpose() * &block);
            block = block.qr().q();
        }
        basis.columns_mut(size, block.ncols()).copy_from(&block);
        block = &matrix * block;
        images.columns_mut(size, block.ncols()).copy_from(&block);
        size += block.ncols();
        if size >= next_check {
            let (basis, images) = (basis.columns(0, size), images.columns(0, size));
            let (values, vectors) = symmetric_eigen(basis.transpose() * images)?;
            let (leading, vectors) = (values.rows(0, count).into_owned(), vectors.columns(0, count));
            let found = basis * vectors;
            let residual = images * vectors - &found * DMatrix::from_diagonal(&leading);
            if residual.amax() <= RESIDUAL * values.amax() {
                return Ok((leading, found));
            }
            next_check = size + size / 4;
        }
    }
    largest(matrix, count, least)
}

/// Solves `A v = l B v` for symmetric `A` and positive definite `B`: the `count` largest values at most, largest first,
/// vectors with `vᵀ B v = 1`.
///
/// # Errors
/// [`Error::Gram`] if `B` is not positive definite or the iteration does not converge, [`Error::Cancelled`].
pub fn generalised_eigen(a: &DMatrix<f64>, b: DMatrix<f64>, count: usize) -> Result<(DVector<f64>, DMatrix<f64>)> {
    let half = inverse_lower(&cholesky((&b + b.transpose()) * 0.5)?.unpack());
    let (values, vectors) = leading_eigen(&half * a * half.transpose(), count, f64::NEG_INFINITY)?;
    Ok((values, half.transpose() * vectors))
}

/// Numbers from -.5 to .5, the same at each call.
fn random(rows: usize, columns: usize) -> DMatrix<f64> {
    let mut seed = 1u64;
    DMatrix::from_fn(rows, columns, |_, _| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    })
}

/// Solves as [`leading_eigen`], by a tridiagonal matrix; `None` if the eigenvectors are not found to enough digits.
fn by_tridiagonal(matrix: &DMatrix<f64>, count: usize, least: f64) -> Result<Option<(DVector<f64>, DMatrix<f64>)>> {
    let scale = matrix.amax();
    if scale == 0.0 {
        return Ok(None);
    }
    let reduced = Tridiagonal::new(matrix / scale)?;
    let Some(values) = reduced.values()? else { return Ok(None) };
    let above = values.partition_point(|&v| v >= least * reduced.norm);
    let values = &values[..count.min(above.max(1))];
    let Some(vectors) = reduced.vectors(values)? else { return Ok(None) };
    Ok(Some((DVector::from_column_slice(values) * scale, reduced.back_transform(vectors)?)))
}

/// A symmetric matrix `Q T Qᵀ`, `T` tridiagonal (Dongarra, Sorensen & Hammarling, "Block Reduction of Matrices to
/// Condensed Forms", 1989).
struct Tridiagonal {
    diagonal: Vec<f64>,
    /// The entries beside the diagonal, then a zero.
    off_diagonal: Vec<f64>,
    /// The largest entry of `T` in magnitude.
    norm: f64,
    /// `Q` as products `I - V S Vᵀ`: the first row of `V`, `V` and `S`.
    panels: Vec<(usize, DMatrix<f64>, DMatrix<f64>)>,
}

impl Tridiagonal {
    /// Reduces a matrix, of which the lower triangle is read.
    fn new(mut a: DMatrix<f64>) -> Result<Self> {
        let n = a.nrows();
        let (mut diagonal, mut off_diagonal, mut panels) = (vec![0.0; n], vec![0.0; n], Vec::new());
        for start in (0..n).step_by(PANEL) {
            cancel::check()?;
            let (width, rows) = (PANEL.min(n - start), n - start);
            // Columns v, w, v, w, … The panel subtracts v wᵀ + w vᵀ of each pair from the rest of the matrix; from its own
            // columns that of the pairs before.
            let mut pairs = DMatrix::zeros(rows, 2 * width);
            let mut s = DMatrix::zeros(width, width);
            for j in 0..width {
                let at = start + j;
                let mut column = a.view_range(at.., at).into_owned();
                let here = pairs.view_range(j..=j, 0..2 * j).transpose();
                subtract_columns(&pairs.as_slice()[j..], rows, swapped(here).as_slice(), column.as_mut_slice());
                diagonal[at] = column[0];
                let mut x = column.rows_range(1..).into_owned();
                if x.is_empty() || x.rows_range(1..).amax() < NOTHING {
                    off_diagonal[at] = x.get(0).copied().unwrap_or(0.0);
                    continue;
                }
                // The reflection I - tau x xᵀ that leaves the first entry alone.
                let entry = -x.norm().copysign(x[0]);
                let tau = (entry - x[0]) / entry;
                x /= x[0] - entry;
                x[0] = 1.0;
                off_diagonal[at] = entry;
                let mut product = DVector::zeros(x.len());
                symmetric_product(a.as_slice(), at + 1, x.as_slice(), product.as_mut_slice());
                let below = &pairs.as_slice()[j + 1..];
                let mut on = DMatrix::zeros(2 * j, 1);
                inner_products(below, rows, x.as_slice(), on.as_mut_slice());
                let on_v = DVector::from_iterator(j, on.iter().step_by(2).copied());
                subtract_columns(below, rows, swapped(on).as_slice(), product.as_mut_slice());
                product *= tau;
                product.axpy(-0.5 * tau * product.dot(&x), &x, 1.0);
                let above = s.view_range(0..j, 0..j) * on_v * -tau;
                s.view_range_mut(0..j, j).copy_from(&above);
                s[(j, j)] = tau;
                pairs.view_range_mut(j + 1.., 2 * j).copy_from(&x);
                pairs.view_range_mut(j + 1.., 2 * j + 1).copy_from(&product);
            }
            let left = pairs.rows_range(width..);
            let right = swapped(left.transpose());
            for j in (0..right.ncols()).step_by(BLOCK) {
                let columns = right.columns(j, BLOCK.min(right.ncols() - j));
                let at = start + width + j;
                a.view_range_mut(at.., at..at + columns.ncols()).gemm(-1.0, &left.rows_range(j..), &columns, 1.0);
            }
            panels.push((start, pairs.columns_with_step(0, width, 1).into_owned(), s));
        }
        let norm = diagonal.iter().chain(&off_diagonal).fold(0.0, |norm: f64, v| norm.max(v.abs()));
        // Entries of a missing rank are rounding errors.
        off_diagonal.iter_mut().filter(|v| v.abs() <= f64::EPSILON * norm).for_each(|v| *v = 0.0);
        Ok(Self { diagonal, off_diagonal, norm, panels })
    }

    /// All eigenvalues, largest first, by implicit QL steps; `None` if they do not converge.
    fn values(&self) -> Result<Option<Vec<f64>>> {
        let n = self.diagonal.len();
        let (mut d, mut e) = (self.diagonal.clone(), self.off_diagonal.clone());
        let mut steps = MAX_STEPS.max(100 * n);
        for first in 0..n {
            cancel::check()?;
            loop {
                let none = |&i: &usize| e[i].abs() <= f64::EPSILON * self.norm;
                let last = (first..n - 1).find(none).unwrap_or(n - 1);
                if last == first {
                    break;
                }
                if steps == 0 {
                    return Ok(None);
                }
                steps -= 1;
                // Wilkinson's shift.
                let half = (d[first + 1] - d[first]) / (2.0 * e[first]);
                let mut g = d[last] - d[first] + e[first] / (half + half.hypot(1.0).copysign(half));
                let (mut sine, mut cosine, mut carried) = (1.0, 1.0, 0.0);
                let mut stopped = false;
                for i in (first..last).rev() {
                    let (f, b) = (sine * e[i], cosine * e[i]);
                    let r = (f * f + g * g).sqrt();
                    e[i + 1] = r;
                    if r == 0.0 {
                        d[i + 1] -= carried;
                        stopped = true;
                        break;
                    }
                    (sine, cosine) = (f / r, g / r);
                    g = d[i + 1] - carried;
                    let t = (d[i] - g) * sine + 2.0 * cosine * b;
                    carried = sine * t;
                    d[i + 1] = g + carried;
                    g = cosine * t - b;
                }
                if !stopped {
                    d[first] -= carried;
                    e[first] = g;
                }
                e[last] = 0.0;
            }
        }
        d.sort_by(|a, b| b.total_cmp(a));
        Ok(Some(d))
    }

    /// The unit eigenvectors of the sorted `values`, by inverse iteration; `None` if a residual stays.
    fn vectors(&self, values: &[f64]) -> Result<Option<DMatrix<f64>>> {
        let n = self.diagonal.len();
        let mut found = random(n, values.len());
        let mut rows = vec![[0.0; 3]; n];
        for first in (0..values.len()).step_by(TOGETHER) {
            let width = TOGETHER.min(values.len() - first);
            let near = values[..first].partition_point(|&v| v > values[first] + GAP * self.norm);
            let (before, mut rest) = found.columns_range_pair_mut(..first, first..);
            let near = before.columns_range(near..);
            let mut block = rest.columns(0, width).into_owned();
            // Two steps separate distinct values, a third reduces rounding.
            let mut done = false;
            for step in 0..10 {
                cancel::check()?;
                for (mut column, &value) in block.column_iter_mut().zip(&values[first..]) {
                    self.solve_shifted(value, column.as_mut_slice(), &mut rows);
                    let most = column.amax();
                    column /= most;
                }
                if step == 0 {
                    continue;
                }
                let mut orthogonal = false;
                for _ in 0..5 {
                    block = block.qr().q();
                    let on = block.transpose() * near;
                    orthogonal = on.iter().all(|v| v.abs() < 1e-14);
                    if orthogonal {
                        break;
                    }
                    block.gemm(-1.0, &near, &on.transpose(), 1.0);
                }
                done = orthogonal && self.residual(&block, &values[first..]) <= RESIDUAL * self.norm;
                if done && step > 1 {
                    break;
                }
            }
            if !done {
                return Ok(None);
            }
            rest.columns_mut(0, width).copy_from(&block);
        }
        Ok(Some(found))
    }

    /// `(T - value)⁻¹ x`, by elimination with partial pivoting. `rows` is room for the upper triangle: the inverse of
    /// each pivot, and two entries right of it.
    fn solve_shifted(&self, value: f64, x: &mut [f64], rows: &mut [[f64; 3]]) {
        let (d, e, n) = (&self.diagonal, &self.off_diagonal, self.diagonal.len());
        let least = f64::EPSILON * self.norm;
        let inverse = |pivot: f64| 1.0 / if pivot.abs() < least { least.copysign(pivot) } else { pivot };
        let (mut pivot, mut right) = (d[0] - value, e[0]);
        for i in 0..n - 1 {
            let next = d[i + 1] - value;
            if e[i].abs() > pivot.abs() {
                rows[i] = [1.0 / e[i], next, e[i + 1]];
                let share = pivot * rows[i][0];
                (x[i], x[i + 1]) = (x[i + 1], x[i] - share * x[i + 1]);
                (pivot, right) = (right - share * next, -share * e[i + 1]);
            } else {
                rows[i] = [inverse(pivot), right, 0.0];
                let share = e[i] * rows[i][0];
                x[i + 1] -= share * x[i];
                (pivot, right) = (next - share * right, e[i + 1]);
            }
        }
        rows[n - 1] = [inverse(pivot), 0.0, 0.0];
        let (mut after, mut second) = (0.0, 0.0);
        for (x, [inverse, a, b]) in x.iter_mut().zip(rows).rev() {
            *x = (*x - *a * after - *b * second) * *inverse;
            (after, second) = (*x, after);
        }
    }

    /// The largest entry of `T V - V diag(values)`.
    fn residual(&self, vectors: &DMatrix<f64>, values: &[f64]) -> f64 {
        let (d, e, n) = (&self.diagonal, &self.off_diagonal, self.diagonal.len());
        let mut most = 0.0;
        for (v, value) in vectors.column_iter().zip(values) {
            for i in 0..n {
                let above = if i > 0 { e[i - 1] * v[i - 1] } else { 0.0 };
                let below = if i + 1 < n { e[i] * v[i + 1] } else { 0.0 };
                let residual = ((d[i] - value) * v[i] + above + below).abs();
                if residual > most || residual.is_nan() {
                    most = residual;
                }
            }
        }
        most
    }

    /// `Q Z`.
    fn back_transform(&self, mut z: DMatrix<f64>) -> Result<DMatrix<f64>> {
        let count = z.ncols();
        for first in (0..count).step_by(BLOCK) {
            cancel::check()?;
            let mut block = z.columns_mut(first, BLOCK.min(count - first));
            for (start, v, s) in self.panels.iter().rev() {
                let mut below = block.rows_range_mut(*start..);
                let on = s * (v.transpose() * &below);
                below.gemm(-1.0, v, &on, 1.0);
            }
        }
        Ok(z)
    }
}

/// Rows 0 and 1 exchanged, 2 and 3, and so on.
fn swapped(mut pairs: DMatrix<f64>) -> DMatrix<f64> {
    (0..pairs.nrows()).step_by(2).for_each(|row| pairs.swap_rows(row, row + 1));
    pairs
}

leveled! {
    /// Subtracts columns times their weights; a column begins `stride` numbers after the one before.
    avx2 fn subtract_columns(columns: &[f64], stride: usize, weights: &[f64], out: &mut [f64]) {
        for (k, weights) in weights.chunks_exact(2).enumerate() {
            let [a, b] = [0, 1].map(|l| &columns[(2 * k + l) * stride..][..out.len()]);
            for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
                *out -= a * weights[0] + b * weights[1];
            }
        }
    }
}

leveled! {
    /// The inner product of each column with `x`.
    avx2 fn inner_products(columns: &[f64], stride: usize, x: &[f64], out: &mut [f64]) {
        for (k, out) in out.iter_mut().enumerate() {
            let (columns, rest) = columns[k * stride..][..x.len()].as_chunks::<16>();
            let (xs, x_rest) = x.as_chunks::<16>();
            let mut sums = [0.0; 16];
            for (a, x) in columns.iter().zip(xs) {
                for l in 0..16 {
                    sums[l] += a[l] * x[l];
                }
            }
            *out = sums.iter().sum::<f64>() + rest.iter().zip(x_rest).map(|(a, x)| a * x).sum::<f64>();
        }
    }
}

leveled! {
    /// `A v` for the symmetric `A` whose lower triangle is that of the square matrix `a` from row and column `first` on.
    avx2 fn symmetric_product(a: &[f64], first: usize, v: &[f64], out: &mut [f64]) {
        const LANES: usize = 4;
        const COLUMNS: usize = 8;
        let size = v.len();
        let n = first + size;
        let column = |j: usize| &a[(first + j) * n + first..][..size];
        let whole = size / COLUMNS * COLUMNS;
        out.fill(0.0);
        for j in (0..whole).step_by(COLUMNS) {
            let c: [&[f64]; COLUMNS] = std::array::from_fn(|k| column(j + k));
            let from: [f64; COLUMNS] = std::array::from_fn(|k| v[j + k]);
            for k in 0..COLUMNS {
                out[j + k] += c[k][j + k] * from[k];
                for i in k + 1..COLUMNS {
                    out[j + i] += c[k][j + i] * from[k];
                    out[j + k] += c[k][j + i] * from[i];
                }
            }
            let below = j + COLUMNS;
            let end = below + (size - below) / LANES * LANES;
            let v_chunks = v[below..end].as_chunks::<LANES>().0;
            let out_chunks = out[below..end].as_chunks_mut::<LANES>().0;
            let chunks = c.map(|c| &c[below..end].as_chunks::<LANES>().0[..v_chunks.len()]);
            let mut sums = [[0.0; LANES]; COLUMNS];
            for (i, (v, out)) in v_chunks.iter().zip(out_chunks).enumerate() {
                let mut add = [0.0; LANES];
                for k in 0..COLUMNS {
                    for l in 0..LANES {
                        add[l] += chunks[k][i][l] * from[k];
                        sums[k][l] += chunks[k][i][l] * v[l];
                    }
                }
                for l in 0..LANES {
                    out[l] += add[l];
                }
            }
            for k in 0..COLUMNS {
                out[j + k] += sums[k].iter().sum::<f64>();
                for i in end..size {
                    out[i] += c[k][i] * from[k];
                    out[j + k] += c[k][i] * v[i];
                }
            }
        }
        for j in whole..size {
            let c = column(j);
            out[j] += c[j] * v[j];
            for i in j + 1..size {
                out[i] += c[i] * v[j];
                out[j] += c[i] * v[i];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::factor::tests::random;
    use crate::simd::tests::assert_same_on_all_levels;

    #[test]
    fn leading_eigenvectors_are_the_first_of_all() {
        // Large enough for the Krylov space.
        let n = 1200;
        let u = random(n, 1, 7).column(0).normalize();
        // Two equal values, a cluster, and many that are zero or negative.
        let first = [5.0, 5.0, 3.0, 2.9, 2.8999, 1.0, 0.5];
        let value = |i: usize| first.get(i).copied().unwrap_or(0.2 - 0.0005 * i as f64);
        let mut matrix = DMatrix::from_diagonal(&DVector::from_fn(n, |i, _| value(i)));
        // Reflected from both sides.
        for _ in 0..2 {
            let on = matrix.tr_mul(&u);
            matrix.ger(-2.0, &u, &on, 1.0);
            matrix = matrix.transpose();
        }
        let (values, vectors) = leading_eigen(matrix.clone(), 7, 0.0).unwrap();
        assert!((0..7).all(|i| (values[i] - value(i)).abs() < 1e-10), "{values}");
        assert!((matrix * &vectors - &vectors * DMatrix::from_diagonal(&values)).amax() < 1e-10);
        assert!((vectors.tr_mul(&vectors) - DMatrix::identity(7, 7)).amax() < 1e-10);
        // No more than there are.
        assert_eq!(leading_eigen(random(5, 5, 8), 9, 0.0).unwrap().0.len(), 5);
        let thin = random(n, 3, 9);
        let (values, _) = leading_eigen(&thin * thin.transpose(), 5, 0.0).unwrap();
        assert!(values[2] > 1.0 && values[3].abs() < 1e-10, "{values}");
    }

    /// Matrices beyond the size of nalgebra's solver: spread, repeated and almost equal values, all zero, separate
    /// blocks.
    #[test]
    fn all_eigenvectors_of_large_matrices_solve_their_equation() {
        let n = SMALL + 45;
        let basis = random(n, n, 10).qr().q();
        let of = |value: fn(f64) -> f64| {
            let values = DVector::from_fn(n, |i, _| value(i as f64));
            &basis * DMatrix::from_diagonal(&values) * basis.transpose()
        };
        let ones = DMatrix::from_element(n, n, 1.0);
        let mut apart = DMatrix::zeros(n, n);
        apart.view_mut((0, 0), (90, 90)).copy_from(&(random(90, 90, 11) + random(90, 90, 11).transpose()));
        apart.view_mut((90, 90), (90, 90)).copy_from(&DMatrix::from_element(90, 90, -1e5));
        let cases = [
            of(|i| 10.0 - i * 0.1),
            of(|i| (i / 50.0).floor() * 1e-9),
            of(|i| 1.0 + 1e-13 * i),
            of(|i| 1e200 * 0.8f64.powf(i)),
            ones,
            apart,
            DMatrix::zeros(n, n),
            DMatrix::identity(n, n) * 1e-250,
            DMatrix::from_diagonal(&DVector::from_fn(n, |i, _| i as f64)),
        ];
        for (case, matrix) in cases.into_iter().enumerate() {
            // This matrix is solved without nalgebra's solver.
            assert!(
                by_tridiagonal(&matrix, n, f64::NEG_INFINITY).unwrap().is_some() || matrix.amax() == 0.0,
                "case {case}"
            );
            for count in [n, 40] {
                let (values, vectors) = leading_eigen(matrix.clone(), count, f64::NEG_INFINITY).unwrap();
                let scale = matrix.amax().max(f64::MIN_POSITIVE);
                let left = (&matrix / scale) * &vectors - &vectors * DMatrix::from_diagonal(&(&values / scale));
                assert!(left.amax() < 1e-11, "case {case}, {count}: {:e} is left", left.amax());
                assert!(values.as_slice().is_sorted_by(|a, b| a >= b), "case {case}");
                let off = (vectors.tr_mul(&vectors) - DMatrix::identity(count, count)).amax();
                assert!(off < 1e-10, "case {case}, {count}: {off:e} from orthogonal");
            }
        }
    }

    #[test]
    fn products_have_the_same_bits_on_every_cpu() {
        let (n, first) = (61, 3);
        let (a, v) = (random(n, n, 12), random(n - first, 1, 13));
        let product = || {
            let mut out = vec![0.0; n - first];
            symmetric_product(a.as_slice(), first, v.as_slice(), &mut out);
            out
        };
        let rest = a.view_range(first.., first..).lower_triangle();
        let whole = &rest + rest.transpose() - DMatrix::from_diagonal(&rest.diagonal());
        assert!((DVector::from_vec(product()) - whole * &v).amax() < 1e-12);
        assert_same_on_all_levels("a product", || product().iter().map(|v| v.to_bits()).collect::<Vec<_>>());
    }

    #[test]
    fn generalised_eigenvectors_solve_their_equation() {
        let (a, b) = (random(7, 7, 3), random(7, 7, 4));
        let a = &a + a.transpose();
        let b = &b * b.transpose() + DMatrix::identity(7, 7) * 0.1;
        let (values, vectors) = generalised_eigen(&a, b.clone(), 7).unwrap();
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
