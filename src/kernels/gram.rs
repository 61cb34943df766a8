//! Gram matrices of rows of numbers, and centring them in feature space.

use nalgebra::{DMatrix, DVector};
use ndarray::linalg::general_mat_mul;
use ndarray::{Array1, Array2, ArrayView2, ArrayViewMut2, Axis, s};

use super::function::Kernel;
use crate::cancel;
use crate::error::{Error, Result};

/// Products of a few larger entries would overflow.
const MAX_ENTRY: f64 = 1e60;

/// The largest error of a Gaussian kernel value from inner products. Beyond it, the value is computed from differences.
const GAUSSIAN_ERROR: f64 = 1e-9;

/// Rows of a matrix that are computed together.
const BLOCK: usize = 128;

/// Rows and columns that are mirrored together: so few that a processor keeps the addresses of their memory pages.
const TILE: usize = 32;

/// The tolerance for symmetry, relative to the largest entry.
const SYMMETRY_TOLERANCE: f64 = 1e-8;

/// The Gram matrix of the rows of `samples` (n x D): n x n, symmetric to the last bit.
///
/// # Errors
/// [`Error::Setting`] from [`Kernel::checked`]; [`Error::Samples`] if there are no samples,
/// values that are not finite, or features so large that a kernel value is not.
pub fn gram(kernel: Kernel, samples: ArrayView2<f64>) -> Result<Array2<f64>> {
    finite_values(raw_gram(kernel, samples)?)
}

/// Computes [`gram`], also with infinite values.
fn raw_gram(kernel: Kernel, samples: ArrayView2<f64>) -> Result<Array2<f64>> {
    let (kernel, n) = (checked(kernel, samples, samples)?, samples.nrows());
    let mut values = Array2::zeros((n, n));
    // The lower triangle by blocks of rows, and its mirror image.
    for start in (0..n).step_by(BLOCK) {
        cancel::check()?;
        let rows = start..n.min(start + BLOCK);
        let (above, mut block) = values.view_mut().split_at(Axis(0), start);
        let mut block = block.slice_mut(s![..rows.len(), ..rows.end]);
        raw_values(kernel, samples.slice(s![rows.clone(), ..]), samples.slice(s![..rows.end, ..]), block.view_mut());
        let mut mirror = above.slice_move(s![.., rows]);
        for (mut to, from) in mirror.axis_chunks_iter_mut(Axis(1), TILE).zip(block.axis_chunks_iter(Axis(0), TILE)) {
            let tiles = to.axis_chunks_iter_mut(Axis(0), TILE).zip(from.axis_chunks_iter(Axis(1), TILE));
            tiles.for_each(|(mut to, from)| to.assign(&from.t()));
        }
    }
    Ok(values)
}

/// The kernel value of each row of `samples` (n x D) with itself: n. A value that overflows is infinite, as not every
/// machine uses it.
///
/// # Errors
/// As [`gram`], without a check for infinite values.
pub fn own_values(kernel: Kernel, samples: ArrayView2<f64>) -> Result<Array1<f64>> {
    let own = |row: ArrayView2<f64>| {
        let mut value = Array2::zeros((1, 1));
        raw_values(checked(kernel, row, row)?, row, row, value.view_mut());
        Ok(value[[0, 0]])
    };
    samples.outer_iter().map(|row| own(row.insert_axis(Axis(0)))).collect()
}

/// The kernel values of each row of `test` (m x D) with each row of `train` (n x D): m x n.
///
/// # Errors
/// As [`gram`], and [`Error::Samples`] if the rows differ in length.
pub fn cross_gram(kernel: Kernel, test: ArrayView2<f64>, train: ArrayView2<f64>) -> Result<Array2<f64>> {
    let mut values = Array2::zeros((test.nrows(), train.nrows()));
    raw_values(checked(kernel, test, train)?, test, train, values.view_mut());
    finite_values(values)
}

fn finite_values(values: Array2<f64>) -> Result<Array2<f64>> {
    if values.iter().fold(true, |finite, value| finite & value.is_finite()) {
        return Ok(values);
    }
    let found = values.indexed_iter().find(|(_, value)| !value.is_finite());
    let ((i, j), value) = found.unwrap_or(((0, 0), &f64::NAN));
    let reason = format!("the kernel value of sample {i} with sample {j} is {value}: the features are too large");
    Err(Error::samples(reason))
}

/// The kernel, if it is defined for the rows of `test` and `train`.
fn checked(kernel: Kernel, test: ArrayView2<f64>, train: ArrayView2<f64>) -> Result<Kernel> {
    let kernel = kernel.checked()?;
    let wrong = |reason: String| Err(Error::samples(reason));
    let (rows, other) = (test.ncols(), train.ncols());
    if rows != other {
        return wrong(format!("the samples have {rows} and {other} feature values, a kernel needs equally many"));
    }
    if rows == 0 || test.nrows() == 0 || train.nrows() == 0 {
        return wrong("there are no samples".into());
    }
    if test.iter().chain(train.iter()).any(|v| !v.is_finite()) {
        return wrong("a feature value is not a finite number".into());
    }
    Ok(kernel)
}

/// Kernel values as in [`cross_gram`], also infinite, to `values`.
fn raw_values(kernel: Kernel, test: ArrayView2<f64>, train: ArrayView2<f64>, mut values: ArrayViewMut2<f64>) {
    let (test, train) = (test.as_standard_layout(), train.as_standard_layout());
    let inv_d = 1.0 / test.ncols() as f64;
    let (aa, bb) = (squared_norms(test.view()), squared_norms(train.view()));
    let largest = bb.iter().copied().fold(0.0, f64::max);
    general_mat_mul(1.0, &test, &train.t(), 0.0, &mut values);
    for (i, mut row) in values.outer_iter_mut().enumerate() {
        // Norms that overflow count as too large too.
        if kernel.cancellation(aa[i], largest) <= GAUSSIAN_ERROR
            && let Some(row) = row.as_slice_mut()
        {
            kernel.apply64(row, aa[i], &bb, inv_d);
            continue;
        }
        for (j, (value, &bb)) in row.iter_mut().zip(&bb).enumerate() {
            *value = if kernel.cancellation(aa[i], bb) <= GAUSSIAN_ERROR {
                kernel.eval64(*value, aa[i], bb, inv_d)
            } else {
                let apart = test.row(i).iter().zip(train.row(j)).map(|(a, b)| (a - b) * (a - b)).sum();
                kernel.of_distance(apart, inv_d)
            };
        }
    }
}

/// [`Error::Samples`] with `reason` if a result is not finite.
pub(crate) fn check_finite<'a>(values: impl IntoIterator<Item = &'a f64>, reason: &str) -> Result<()> {
    match values.into_iter().all(|v| v.is_finite()) {
        true => Ok(()),
        false => Err(Error::samples(reason)),
    }
}

/// `‖a‖²` of each row.
fn squared_norms(samples: ArrayView2<f64>) -> Vec<f64> {
    samples.outer_iter().map(|row| row.dot(&row)).collect()
}

/// A Gram matrix that came from outside, checked and made symmetric to the last bit, for the linear algebra inside.
///
/// # Errors
/// [`Error::Gram`] for a matrix that is empty, not square, not symmetric to 1e-8 of its largest entry, has an entry
/// that is not finite or beyond 1e60, or a negative one on the diagonal.
pub(crate) fn check_gram(gram: ArrayView2<f64>) -> Result<DMatrix<f64>> {
    let wrong = |reason: String| Err(Error::Gram { reason });
    let (n, columns) = gram.dim();
    if n != columns {
        return wrong(format!("is {n} x {columns}, not square"));
    }
    if n == 0 {
        return wrong("is empty".into());
    }
    check_entries(gram)?;
    let mut tolerance = None;
    let mut matrix = match gram.as_slice() {
        Some(values) => DMatrix::from_vec(n, n, values.to_vec()),
        None => to_matrix(gram.t()),
    };
    let tiles = (0..n).step_by(TILE).flat_map(|row| (0..=row).step_by(TILE).map(move |column| (row, column)));
    for (row, column) in tiles {
        for i in row..n.min(row + TILE) {
            for j in column..i.min(column + TILE) {
                let (below, above) = (matrix[(j, i)], matrix[(i, j)]);
                if below == above {
                    continue;
                }
                let largest = || gram.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
                if (below - above).abs() > *tolerance.get_or_insert_with(|| SYMMETRY_TOLERANCE * largest()) {
                    let reason = format!("row {i}, column {j} is {below}, the other way round {above}");
                    return wrong(format!("is not symmetric: {reason}"));
                }
                let mean = 0.5 * (below + above);
                (matrix[(i, j)], matrix[(j, i)]) = (mean, mean);
            }
        }
    }
    Ok(matrix)
}

/// The Gram matrix of the rows of `samples`, for the linear algebra inside.
///
/// # Errors
/// As [`gram`] and [`check_gram`].
pub(crate) fn gram_matrix(kernel: Kernel, samples: ArrayView2<f64>) -> Result<DMatrix<f64>> {
    let values = raw_gram(kernel, samples)?;
    if let Err(error) = check_entries(values.view()) {
        // An infinite value is the fault of the features.
        finite_values(values)?;
        return Err(error);
    }
    Ok(DMatrix::from_vec(values.nrows(), values.ncols(), values.into_raw_vec_and_offset().0))
}

fn check_entries(gram: ArrayView2<f64>) -> Result<()> {
    let wrong = |reason: String| Err(Error::Gram { reason });
    let valid = |value: &f64| value.abs() <= MAX_ENTRY;
    if !gram.iter().fold(true, |all, value| all & valid(value))
        && let Some(((i, j), value)) = gram.indexed_iter().find(|(_, value)| !valid(value))
    {
        return wrong(format!("has the entry {value} in row {i}, column {j}"));
    }
    match gram.diag().iter().enumerate().find(|(_, value)| **value < 0.0) {
        Some((i, value)) => wrong(format!("has the negative entry {value} on its diagonal, row {i}")),
        None => Ok(()),
    }
}

/// A matrix from `ndarray` for `nalgebra`.
pub(crate) fn to_matrix(from: ArrayView2<f64>) -> DMatrix<f64> {
    DMatrix::from_fn(from.nrows(), from.ncols(), |i, j| from[[i, j]])
}

/// A matrix from `nalgebra` for `ndarray`.
pub(crate) fn from_matrix(from: &DMatrix<f64>) -> Array2<f64> {
    Array2::from_shape_fn((from.nrows(), from.ncols()), |(i, j)| from[(i, j)])
}

/// The weighted mean of the training samples in feature space, and how to subtract it from kernel values.
///
/// With weights `p` of sum one, `μ = K p` and `c = pᵀ K p`: in training `K̃ = K - μ 1ᵀ - 1 μᵀ + c`, of a new
/// sample `κ̃ = κ - μ - (pᵀκ) 1 + c 1`, both with the `μ` and `c` of training.
#[derive(Clone, Debug)]
pub(crate) struct Centring {
    /// The weights, of sum one.
    pub weights: DVector<f64>,
    /// `K p`: kernel values of the mean with each sample.
    pub mean: DVector<f64>,
    /// `pᵀ K p`: squared norm of the mean.
    pub norm: f64,
}

impl Centring {
    /// The mean of samples with the Gram matrix `gram` under `weights`, which are divided by their sum.
    pub fn new(gram: &DMatrix<f64>, weights: &DVector<f64>) -> Self {
        let weights = weights / weights.sum();
        let mean = gram * &weights;
        let norm = weights.dot(&mean);
        Self { weights, mean, norm }
    }

    /// The Gram matrix of the samples minus their mean.
    pub fn train(&self, gram: &DMatrix<f64>) -> DMatrix<f64> {
        DMatrix::from_fn(gram.nrows(), gram.ncols(), |i, j| gram[(i, j)] - (self.mean[i] + self.mean[j]) + self.norm)
    }

    /// Coefficients of centred kernel values turned into those of raw ones:
    /// `Aᵀκ̃ = (returned matrix)ᵀκ + (returned vector)`.
    pub fn fold(&self, coefficients: &DMatrix<f64>) -> (DMatrix<f64>, DVector<f64>) {
        let sums = coefficients.row_sum();
        let folded = coefficients - &self.weights * &sums;
        let constant = sums.transpose() * self.norm - coefficients.tr_mul(&self.mean);
        (folded, constant)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{array, s};

    use super::*;
    use crate::kernels::Kernel;

    impl Centring {
        /// Kernel values of new samples (rows) with the training samples (columns), both minus the mean of training.
        pub(crate) fn test(&self, cross: &DMatrix<f64>) -> DMatrix<f64> {
            let with_mean = cross * &self.weights;
            let value = |i, j| cross[(i, j)] - self.mean[j] - with_mean[i] + self.norm;
            DMatrix::from_fn(cross.nrows(), cross.ncols(), value)
        }
    }

    #[test]
    fn folding_is_centring_done_once() {
        let x = Array2::from_shape_fn((7, 3), |(i, j)| ((i * 3 + j) as f64 * 1.7).sin());
        let k = to_matrix(gram(Kernel::Gaussian { sigma: 0.8 }, x.view()).unwrap().view());
        let t = to_matrix(cross_gram(Kernel::Gaussian { sigma: 0.8 }, x.slice(s![..2, ..]), x.view()).unwrap().view());
        let centring = Centring::new(&k, &DVector::from_fn(7, |i, _| 1.0 + i as f64));
        let a = DMatrix::from_fn(7, 2, |i, j| (i as f64 - 2.0) * (j as f64 + 0.5));
        let (folded, constant) = centring.fold(&a);
        let slow = centring.test(&t) * &a;
        let mut fast = &t * folded;
        fast.row_iter_mut().for_each(|mut row| row += constant.transpose());
        assert!((slow - fast).amax() < 1e-12);
        // The centred samples have the mean zero.
        assert!((centring.train(&k) * &centring.weights).amax() < 1e-14);
        // A training sample is centred alike in training and test.
        assert!((centring.test(&t) - centring.train(&k).rows(0, 2)).amax() < 1e-14);
    }

    #[test]
    fn bad_matrices_are_told_apart() {
        let message = |k: Array2<f64>| check_gram(k.view()).unwrap_err().to_string();
        assert!(message(Array2::zeros((2, 3))).contains("2 x 3"));
        assert!(message(Array2::zeros((0, 0))).contains("empty"));
        assert!(message(array![[1.0, 0.5], [0.4, 1.0]]).contains("not symmetric"));
        assert!(message(array![[1.0, f64::NAN], [0.4, 1.0]]).contains("NaN"));
        assert!(message(array![[1.0, f64::INFINITY], [f64::INFINITY, 1.0]]).contains("inf"));
        assert!(message(array![[1e61]]).contains("row 0"));
        assert!(message(array![[-1.0]]).contains("negative"));
        assert!(check_gram(array![[1.0, 0.5], [0.5 + 1e-12, 1.0]].view()).is_ok());
    }

    #[test]
    fn invalid_samples_have_distinct_errors() {
        let x = array![[1.0, -2.0], [0.5, 1.0]];
        let bad = |kernel: Kernel, x: &Array2<f64>| gram(kernel, x.view()).unwrap_err().to_string();
        assert!(bad(Kernel::Linear, &array![[f64::NAN]]).contains("finite"));
        assert!(bad(Kernel::Linear, &Array2::zeros((0, 2))).contains("no samples"));
        assert!(bad(Kernel::Gaussian { sigma: 0.0 }, &x).contains("kernel.gaussian.sigma"));
        assert!(cross_gram(Kernel::Linear, x.view(), array![[1.0]].view()).is_err());
    }

    #[test]
    fn a_gaussian_kernel_is_right_however_far_from_the_origin() {
        for offset in [0.0, 1e3, 1e6, 1.7e9, 1e12] {
            let x = array![[offset], [offset + 1.0], [offset + 0.5]];
            let k = gram(Kernel::Gaussian { sigma: 1.0 }, x.view()).unwrap();
            let expected = |i: usize, j: usize| (-(x[[i, 0]] - x[[j, 0]]).powi(2)).exp();
            for ((i, j), value) in k.indexed_iter() {
                assert!((value - expected(i, j)).abs() < GAUSSIAN_ERROR, "{offset}, {i}, {j}: {value}");
            }
        }
        // The samples have as many features as a window, and the bandwidth is small.
        let x = Array2::from_shape_fn((4, 64), |(i, j)| 1e6 + ((i * 64 + j) as f64 * 1.7).sin());
        assert!(gram(Kernel::Gaussian { sigma: 0.01 }, x.view()).unwrap().diag().iter().all(|&own| own == 1.0));
    }

    #[test]
    fn a_gaussian_kernel_of_squares_beyond_the_largest_number_is_zero_or_one() {
        let x = array![[1e200], [2e200], [-1e200], [1e308], [-1e308]];
        assert_eq!(gram(Kernel::Gaussian { sigma: 1.0 }, x.view()).unwrap(), Array2::<f64>::eye(5));
    }

    #[test]
    fn overflowing_kernel_values_are_errors() {
        let x = array![[1e200, -1e200], [1e200, 1e200]];
        for kernel in [Kernel::Linear, Kernel::Polynomial { a: 1.0, b: 2 }] {
            let error = gram(kernel, x.view()).unwrap_err();
            assert!(matches!(error, Error::Samples { .. }), "{error}");
            assert!(error.to_string().contains("sample 0 with sample 0 is inf"), "{error}");
        }
    }
}
