//! The feature map of the polynomial kernel, written out.
//!
//! `(a·b / D + c)^p` is the inner product of all products of `p` of the D + 1 values `√c, a₁/√D, …, a_D/√D`, each times
//! the square root of how many orders it can be written in (the multinomial theorem). There are `C(D + p, p)` of them:
//! worth writing out while that is less than the number of samples, as a linear machine on the map then costs less than
//! the kernel one.

use ndarray::{Array2, ArrayView2};

use super::function::Kernel;
use super::gram::check_finite;
use crate::error::{Error, Result};

/// Values of a map at most: beyond, the kernel itself is what to use.
const MAX_VALUES: usize = 1 << 20;

/// `φ` with `φ(a)·φ(b) = (a·b / D + c)^p`.
#[derive(Clone, Debug)]
pub struct PolynomialMap {
    dims: usize,
    degree: usize,
    /// `√c`.
    constant: f64,
    /// Which of the D + 1 values are multiplied, `degree` for each value of the map; 0 is the constant.
    factors: Vec<usize>,
    /// The square root of how many orders they have.
    scales: Vec<f64>,
}

impl PolynomialMap {
    /// The map of [`Kernel::Polynomial`] with the constant `a` and the degree `b`, for samples of `dims` values.
    ///
    /// # Errors
    /// [`Error::Parameter`] as [`Kernel::checked`]; [`Error::Samples`] for no values at all, or so many that the map
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
                format!("{dims} feature values to the power of {degree} are no map of 1 to {MAX_VALUES} values");
            return Err(Error::Samples { reason });
        };
        let mut map = Self { dims, degree, constant: a.sqrt(), factors: Vec::new(), scales: Vec::with_capacity(count) };
        let mut chosen = vec![first; degree];
        loop {
            map.scales.push(orders(&chosen).sqrt());
            map.factors.extend(&chosen);
            // The next selection in lexical order: the last factor that can grow does, and those behind it follow.
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
    /// [`Error::Samples`] when the rows have another length, a value is not finite, or a product is not for their size.
    pub fn transform(&self, samples: ArrayView2<f64>) -> Result<Array2<f64>> {
        if samples.ncols() != self.dims || samples.iter().any(|v| !v.is_finite()) {
            let reason = format!("samples of {} finite values are needed, as the map was made for", self.dims);
            return Err(Error::Samples { reason });
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

/// In how many orders a sorted selection can be written: `p! / Π nᵢ!`.
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

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::kernels::{cross_gram, gram};
    use crate::machines::vectors::{close, load, matrix, vector};

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
    fn maps_that_cannot_be_written_out_are_refused() {
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
}
