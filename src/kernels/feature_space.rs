//! Feature spaces in explicit coordinates: a metric ([`Mahalanobis`]), and the map of the polynomial kernel
//! ([`PolynomialMap`]).

use nalgebra::{DMatrix, DVector};
use ndarray::{Array2, ArrayView2};

use super::eigen::symmetric_eigen;
use super::function::Kernel;
use super::gram::{check_finite, check_gram, cross_gram, from_matrix, gram};
use crate::error::{Error, Result};

/// The maximum number of values of a map; use the kernel beyond it.
const MAX_VALUES: usize = 1 << 20;

/// `φ` with `φ(a)·φ(b) = (a·b / D + c)^p`.
#[derive(Clone, Debug)]
pub struct PolynomialMap {
    dims: usize,
    degree: usize,
    /// `√c`.
    constant: f64,
    /// The factors of each value of the map, `degree` of them; 0 is the constant.
    factors: Vec<usize>,
    /// The square root of the number of their orders.
    scales: Vec<f64>,
}

impl PolynomialMap {
    /// The map of [`Kernel::Polynomial`] with the constant `a` and the degree `b`, for samples of `dims` values.
    ///
    /// # Errors
    /// [`Error::Setting`] as [`Kernel::checked`]; [`Error::Samples`] for no values at all, or so many that the map
    /// would have more than 1,048,576.
    pub fn new(dims: usize, a: f64, b: u32) -> Result<Self> {
        Kernel::Polynomial { a, b }.checked()?;
        let degree = b as usize;
        // Without a constant only products of full degree are left.
        let first = usize::from(a == 0.0);
        let variables = dims.saturating_add(1 - first);
        let count = (0..degree).try_fold(1usize, |count, i| {
            count.checked_mul(variables + i).map(|product| product / (i + 1)).filter(|&count| count <= MAX_VALUES)
        });
        let Some(count) = count.filter(|_| dims > 0) else {
            let reason =
                format!("{dims} feature values to the power of {degree}: the map must have 1 to {MAX_VALUES} values");
            return Err(Error::samples(reason));
        };
        let mut map = Self { dims, degree, constant: a.sqrt(), factors: Vec::new(), scales: Vec::with_capacity(count) };
        let mut chosen = vec![first; degree];
        loop {
            map.scales.push(orders(&chosen).sqrt());
            map.factors.extend(&chosen);
            // The next selection in lexical order.
            let Some(at) = chosen.iter().rposition(|&v| v < dims) else { break };
            let next = chosen[at] + 1;
            chosen[at..].fill(next);
        }
        Ok(map)
    }

    /// The number of values of the map.
    pub fn dims(&self) -> usize {
        self.scales.len()
    }

    /// The map of each row of `samples` (m x D): m x [`PolynomialMap::dims`].
    ///
    /// # Errors
    /// [`Error::Samples`] if the rows have another length, a value is not finite, or a product is not for their size.
    pub fn transform(&self, samples: ArrayView2<f64>) -> Result<Array2<f64>> {
        if samples.ncols() != self.dims || samples.iter().any(|v| !v.is_finite()) {
            let reason = format!("samples of {} finite values are needed, as the map was made for", self.dims);
            return Err(Error::samples(reason));
        }
        let shrink = 1.0 / (self.dims as f64).sqrt();
        let mut mapped = Array2::zeros((samples.nrows(), self.dims()));
        for (row, mut out) in samples.outer_iter().zip(mapped.outer_iter_mut()) {
            let value = |i: &usize| if *i == 0 { self.constant } else { row[i - 1] * shrink };
            for ((out, scale), factors) in out.iter_mut().zip(&self.scales).zip(self.factors.chunks_exact(self.degree))
            {
                *out = factors.iter().map(value).product::<f64>() * scale;
            }
        }
        check_finite(&mapped, "the feature values are too large for their products")?;
        Ok(mapped)
    }
}

/// The number of orders of a sorted selection: `p! / Π nᵢ!`.
fn orders(sorted: &[usize]) -> f64 {
    let (mut orders, mut placed) = (1.0, 0.0);
    for run in sorted.chunk_by(|a, b| a == b) {
        for i in 1..=run.len() {
            placed += 1.0;
            orders *= placed / i as f64;
        }
    }
    orders
}

/// Eigenvalues below zero by no more than this share of the largest are rounding.
const ROUNDING: f64 = 1e-10;

/// A metric on samples of D feature values, as the symmetric root `Q` of its matrix.
#[derive(Clone, Debug)]
pub struct Mahalanobis {
    root: Array2<f64>,
}

impl Mahalanobis {
    /// The metric of the matrix `Λ` (D x D), symmetric and positive semi-definite: a direction that it maps to zero
    /// does not count.
    ///
    /// # Errors
    /// [`Error::Gram`] for a matrix that is not square, not symmetric, not finite, or has a negative eigenvalue.
    pub fn new(precision: ArrayView2<f64>) -> Result<Self> {
        let (values, axes) = symmetric_eigen(check_gram(precision)?)?;
        let largest = values.amax();
        if values.iter().any(|&v| v < -ROUNDING * largest) {
            return Err(Error::Gram { reason: "of a metric is not positive semi-definite".into() });
        }
        Ok(Self::scaled(&axes, &values.map(|v| v.max(0.0).sqrt())))
    }

    /// The metric in which the rows of `samples` (n x D) spread equally in all directions: `Λ = (Σ + ρ tr(Σ)/D I)⁻¹`
    /// with their covariance `Σ` (divided by n). The `ridge` ρ, above zero, limits the weight of
    /// directions without spread; a larger one is closer to the plain distance.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a ridge that is not 1e-12 to 1e12; [`Error::Samples`] if there are none, a value is
    /// not finite, or all of them are equal.
    pub fn of_samples(samples: ArrayView2<f64>, ridge: f64) -> Result<Self> {
        if !(1e-12..=1e12).contains(&ridge) {
            let expected = "the ridge of a metric must lie between 1e-12 and 1e12";
            return Err(Error::parameter("ridge", ridge, expected));
        }
        let (n, dims) = samples.dim();
        let wrong = |reason: &str| Err(Error::samples(reason));
        if n == 0 || dims == 0 {
            return wrong("there are no samples");
        }
        if samples.iter().any(|v| !v.is_finite()) {
            return wrong("a feature value is not a finite number");
        }
        let mut away = DMatrix::from_fn(n, dims, |i, j| samples[[i, j]]);
        let mean = away.row_mean();
        away.row_iter_mut().for_each(|mut row| row -= &mean);
        let (values, axes) = symmetric_eigen(away.tr_mul(&away) / n as f64)?;
        let spread = values.sum() / dims as f64;
        if spread.is_nan() || spread <= f64::MIN_POSITIVE {
            return wrong("the samples are all equal: they have no metric");
        }
        Ok(Self::scaled(&axes, &values.map(|v| 1.0 / (v.max(0.0) + ridge * spread).sqrt())))
    }

    /// `V diag(scales) Vᵀ`.
    fn scaled(axes: &DMatrix<f64>, scales: &DVector<f64>) -> Self {
        Self { root: from_matrix(&(axes * DMatrix::from_diagonal(scales) * axes.transpose())) }
    }

    /// The number D of feature values.
    pub fn dims(&self) -> usize {
        self.root.nrows()
    }

    /// `Q` times each row of `samples` (m x D): m x D coordinates whose plain distances are those of the metric.
    ///
    /// # Errors
    /// [`Error::Samples`] if the rows have another length, or a value is not finite or so large that a coordinate is
    /// not.
    pub fn transform(&self, samples: ArrayView2<f64>) -> Result<Array2<f64>> {
        if samples.ncols() != self.dims() || samples.iter().any(|v| !v.is_finite()) {
            let reason = format!("samples of {} finite values are needed, as the metric has", self.dims());
            return Err(Error::samples(reason));
        }
        let coordinates = samples.dot(&self.root);
        check_finite(&coordinates, "the feature values are too large for the metric")?;
        Ok(coordinates)
    }

    /// The coordinates of `samples`; for a kernel of distances, from the first of `train`, as far from the origin
    /// rounding would hide their differences.
    fn coordinates(&self, kernel: Kernel, samples: ArrayView2<f64>, train: ArrayView2<f64>) -> Result<Array2<f64>> {
        match (kernel, train.outer_iter().next()) {
            (Kernel::Gaussian { .. }, Some(origin)) if origin.len() == samples.ncols() => {
                self.transform((&samples - &origin).view())
            }
            _ => self.transform(samples),
        }
    }

    /// The Gram matrix of [`gram()`], in the metric.
    ///
    /// # Errors
    /// As [`Mahalanobis::transform`] and [`gram()`].
    pub fn gram(&self, kernel: Kernel, samples: ArrayView2<f64>) -> Result<Array2<f64>> {
        gram(kernel, self.coordinates(kernel, samples, samples)?.view())
    }

    /// The kernel values of [`cross_gram`], in the metric.
    ///
    /// # Errors
    /// As [`Mahalanobis::transform`] and [`cross_gram`].
    pub fn cross_gram(&self, kernel: Kernel, test: ArrayView2<f64>, train: ArrayView2<f64>) -> Result<Array2<f64>> {
        let (test, train) = (self.coordinates(kernel, test, train)?, self.coordinates(kernel, train, train)?);
        cross_gram(kernel, test.view(), train.view())
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::kernels::{Kernel, cross_gram, gram};
    use crate::machines::tests::vectors::{close, load, matrix, vector};

    #[test]
    fn inner_products_of_maps_are_kernel_values() {
        let x = Array2::from_shape_fn((6, 4), |(i, j)| ((i * 4 + j) as f64 * 1.3).sin());
        let z = Array2::from_shape_fn((3, 4), |(i, j)| ((i * 4 + j) as f64 * 0.7).cos());
        for (a, b) in [(1.0, 1), (1.0, 2), (0.5, 3), (0.0, 1), (0.0, 3), (2.0, 5)] {
            let map = PolynomialMap::new(4, a, b).unwrap();
            let products = map.transform(z.view()).unwrap().dot(&map.transform(x.view()).unwrap().t());
            let values = cross_gram(Kernel::Polynomial { a, b }, z.view(), x.view()).unwrap();
            let apart = (&products - &values).mapv(f64::abs).fold(0.0, |a: f64, &b| a.max(b));
            assert!(apart < 1e-12 * (1.0 + values.mapv(f64::abs).sum()), "a = {a}, b = {b}: {apart}");
        }
    }

    #[test]
    fn the_values_of_a_small_map_by_hand() {
        // (a·b / 2 + 1)² = 1 + a₁b₁ + a₂b₂ + a₁²b₁²/4 + a₁a₂b₁b₂/2 + a₂²b₂²/4.
        let map = PolynomialMap::new(2, 1.0, 2).unwrap();
        let found = map.transform(array![[3.0, 5.0]].view()).unwrap();
        let expected = [1.0, 3.0, 5.0, 4.5, 15.0 / 2.0f64.sqrt(), 12.5];
        assert_eq!(found.ncols(), 6);
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found}");
        assert_eq!(PolynomialMap::new(4, 0.0, 3).unwrap().dims(), 20);
        assert_eq!(PolynomialMap::new(4, 0.1, 3).unwrap().dims(), 35);
    }

    /// The monomials are scikit-learn's; in which order does not matter.
    #[test]
    fn the_values_are_those_of_scaled_monomials() {
        let f = load("polynomial_map");
        let t = matrix(&load("kernels")["T"]);
        let map = PolynomialMap::new(t.ncols(), f["a"].as_f64().unwrap(), f["b"].as_u64().unwrap() as u32).unwrap();
        let mut found = map.transform(t.view()).unwrap();
        for mut row in found.outer_iter_mut() {
            let mut values = row.to_vec();
            values.sort_by(f64::total_cmp);
            row.assign(&ndarray::Array1::from(values));
        }
        close(&found, &vector(&f["sorted_test"]), 1e-12);
    }

    /// Ridge regression has the same answer by the kernel and by the map.
    #[test]
    fn a_linear_machine_on_the_map_is_the_kernel_machine() {
        let x = Array2::from_shape_fn((15, 2), |(i, j)| ((i * 2 + j) as f64 * 2.1).sin());
        let y = nalgebra::DVector::from_fn(15, |i, _| if x[[i, 0]] * x[[i, 1]] > 0.0 { 1.0 } else { -1.0 });
        let phi = PolynomialMap::new(2, 1.0, 2).unwrap().transform(x.view()).unwrap();
        let phi = nalgebra::DMatrix::from_fn(15, 6, |i, j| phi[[i, j]]);
        let k = gram(Kernel::Polynomial { a: 1.0, b: 2 }, x.view()).unwrap();
        let k = nalgebra::DMatrix::from_fn(15, 15, |i, j| k[[i, j]]);
        let lambda = 0.1;
        let primal = phi.tr_mul(&phi) + nalgebra::DMatrix::identity(6, 6) * lambda;
        let by_map = &phi * primal.lu().solve(&phi.tr_mul(&y)).unwrap();
        let dual = &k + nalgebra::DMatrix::identity(15, 15) * lambda;
        let by_kernel = &k * dual.lu().solve(&y).unwrap();
        assert!((by_map - by_kernel).amax() < 1e-10);
    }

    #[test]
    fn impossible_maps_are_errors() {
        for (dims, a, b) in [(0, 1.0, 2), (100_000, 1.0, 2), (1000, 1.0, 32), (usize::MAX, 1.0, 3)] {
            let error = PolynomialMap::new(dims, a, b).unwrap_err();
            assert!(matches!(error, Error::Samples { .. }), "{error}");
        }
        assert!(matches!(PolynomialMap::new(2, -1.0, 2), Err(Error::Setting { .. })));
        assert!(matches!(PolynomialMap::new(2, 1.0, 0), Err(Error::Setting { .. })));
        let map = PolynomialMap::new(2, 1.0, 2).unwrap();
        assert!(map.transform(array![[1.0]].view()).is_err() && map.transform(array![[1.0, f64::NAN]].view()).is_err());
        assert_eq!(map.transform(Array2::zeros((0, 2)).view()).unwrap().dim(), (0, 6));
        let error = map.transform(array![[1.0, 1.0], [1e200, 1.0]].view()).unwrap_err();
        assert!(matches!(&error, Error::Samples { .. }) && error.to_string().contains("too large"), "{error}");
    }

    #[test]
    fn a_metric_counts_a_direction_by_its_weight() {
        // One direction counts four times, the other not at all.
        let metric = Mahalanobis::new(array![[4.0, 0.0], [0.0, 0.0]].view()).unwrap();
        let x = array![[1.0, 5.0], [0.0, -3.0]];
        let sigma = 0.8;
        let k = metric.gram(Kernel::Gaussian { sigma }, x.view()).unwrap();
        assert!((k[[0, 1]] - (-4.0 / (2.0 * sigma * sigma)).exp()).abs() < 1e-14, "{k}");
        let linear = metric.gram(Kernel::Linear, x.view()).unwrap();
        assert!((linear[[0, 0]] - 2.0).abs() < 1e-14 && linear[[0, 1]].abs() < 1e-14, "{linear}");
    }

    /// Stretched and turned samples are as far from each other as before, but for the ridge.
    #[test]
    fn the_metric_of_samples_undoes_a_linear_map() {
        let x = Array2::from_shape_fn((20, 3), |(i, j)| ((i * 3 + j) as f64 * 1.7).sin() + (j as f64) * 0.2);
        let turned = x.dot(&array![[3.0, 0.2, 0.0], [-1.0, 0.5, 0.3], [0.1, 0.0, 2.0]]) + array![1.0, -2.0, 3.0];
        let k = |x: &Array2<f64>| {
            let metric = Mahalanobis::of_samples(x.view(), 1e-10).unwrap();
            assert_eq!(metric.dims(), 3);
            metric.gram(Kernel::Gaussian { sigma: 1.0 }, x.view()).unwrap()
        };
        let apart = (k(&x) - k(&turned)).mapv(f64::abs).fold(0.0, |a: f64, &b| a.max(b));
        assert!(apart < 1e-6, "{apart}");
        // With all of the ridge the distance is the plain one again, in units of the spread.
        let plain = Mahalanobis::of_samples(x.view(), 1e12).unwrap().transform(x.view()).unwrap();
        let scale = plain[[1, 1]] / x[[1, 1]];
        assert!(plain.iter().zip(&x).all(|(plain, x)| (plain / scale - x).abs() < 1e-6), "{plain}");
    }

    #[test]
    fn distances_are_those_of_scipy() {
        let (points, f) = (load("kernels"), load("mahalanobis"));
        let (x, t) = (matrix(&points["X"]), matrix(&points["T"]));
        let sigma = points["sigma"].as_f64().unwrap();
        for name in ["plain", "ridged"] {
            let expected = &f[name];
            let by_samples = Mahalanobis::of_samples(x.view(), expected["ridge"].as_f64().unwrap()).unwrap();
            let by_matrix = Mahalanobis::new(matrix(&expected["precision"]).view()).unwrap();
            for metric in [by_samples, by_matrix] {
                let linear = metric.cross_gram(Kernel::Linear, t.view(), x.view()).unwrap();
                close(&linear, &vector(&expected["linear_test"]), 1e-9);
                let gauss = metric.cross_gram(Kernel::Gaussian { sigma }, t.view(), x.view()).unwrap();
                close(&gauss, &vector(&expected["gauss_test"]), 1e-9);
            }
        }
    }

    #[test]
    fn invalid_metrics_are_errors() {
        let says = |result: Result<Mahalanobis>| result.unwrap_err().to_string();
        assert!(says(Mahalanobis::new(array![[1.0, 0.0], [0.0, -0.5]].view())).contains("negative"));
        assert!(says(Mahalanobis::new(array![[1.0, 2.0], [2.0, 1.0]].view())).contains("semi-definite"));
        assert!(says(Mahalanobis::new(array![[1.0, 0.5]].view())).contains("1 x 2"));
        let x = array![[1.0, 2.0], [1.0, 2.0]];
        assert!(says(Mahalanobis::of_samples(x.view(), 0.1)).contains("all equal"));
        assert!(says(Mahalanobis::of_samples(x.view(), 0.0)).contains("ridge"));
        assert!(says(Mahalanobis::of_samples(Array2::zeros((0, 2)).view(), 0.1)).contains("no samples"));
        assert!(says(Mahalanobis::of_samples(array![[f64::NAN]].view(), 0.1)).contains("finite"));
        let metric = Mahalanobis::new(Array2::eye(2).view()).unwrap();
        assert!(metric.transform(array![[1.0]].view()).is_err());
        assert!(metric.transform(array![[1.0, f64::INFINITY]].view()).is_err());
    }

    #[test]
    fn distances_are_the_same_however_far_from_the_origin() {
        let x = Array2::from_shape_fn((6, 3), |(i, j)| f64::from(((i * 3 + j) as f64 * 1.7).sin() as f32));
        let kernel = Kernel::Gaussian { sigma: 0.5 };
        let metric = Mahalanobis::of_samples(x.view(), 1e-6).unwrap();
        let (near, far) = (metric.gram(kernel, x.view()).unwrap(), metric.gram(kernel, (&x + 1e7).view()).unwrap());
        let apart = (near - &far).mapv(f64::abs).fold(0.0, |a: f64, &b| a.max(b));
        assert!(apart < 1e-7, "{apart}");
        assert!(far.diag().iter().all(|&own| own == 1.0));
    }

    #[test]
    fn overflowing_coordinates_are_errors() {
        let metric = Mahalanobis::new(array![[1e40, 0.0], [0.0, 1.0]].view()).unwrap();
        let error = metric.transform(array![[1e300, 0.0]].view()).unwrap_err();
        assert!(error.to_string().contains("too large"), "{error}");
    }
}
