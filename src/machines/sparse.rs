//! Classification by sparse representation (Wright, Yang, Ganesh, Sastry & Ma, TPAMI 2009), in any feature space.
//!
//! A sample is written by few training samples of any class, `min ½‖φ(z) - Σ sᵢ φ(xᵢ)‖² + τ‖s‖₁`, the Lagrangian form
//! of their problem. It belongs to the class whose part of the code `s` has the least residual (their algorithm 1). It
//! needs inner products only, so any kernel works (Gao, Tsang & Chia, ECCV 2010).
//!
//! Samples are to have about the same length, else long ones are preferred: a Gaussian kernel sees to that, feature
//! values for a linear one are normalised first.

use nalgebra::{DMatrix, DVector};
use ndarray::{Array2, ArrayView2};

use super::classes_of;
use super::head::{check_cross, check_own};
use crate::error::{Error, Result};
use crate::kernels::gram::{check_finite, check_gram};
use crate::settings::{Setting, settings};

settings! {
    /// Parameters of [`SparseClassifier`].
    #[derive(Copy)]
    pub struct Params {
        /// The price τ of a unit of weight, relative to kernel values. From the largest kernel value of a sample on its
        /// code is empty
        tau: f64 = 1e-2, Within(1e-12, 1e12);
        /// A sweep over all weights that changes the representation by less than this share of the largest kernel value
        /// ends the iteration
        tolerance: f64 = 1e-9, Within(1e-15, 1.0);
        /// Maximum number of sweeps
        max_sweeps: usize = 100_000, Within(1.0, 1e12);
    }
}

/// Training samples of some classes, by which others are written.
#[derive(Clone, Debug)]
pub struct SparseClassifier {
    params: Params,
    gram: DMatrix<f64>,
    /// The number of each class, ascending, and its members.
    classes: Vec<(usize, Vec<usize>)>,
}

impl SparseClassifier {
    /// Creates a classifier from training samples with the Gram matrix `gram` (n x n) and n `classes`, any numbers.
    ///
    /// # Errors
    /// [`Error::Setting`] for a parameter out of its range; [`Error::Gram`] for an invalid Gram matrix (see
    /// [`Samples::new`](super::Samples::new)); [`Error::Samples`] for another number of classes.
    pub fn new(params: Params, gram: ArrayView2<f64>, classes: &[usize]) -> Result<Self> {
        params.check_ranges("sparse")?;
        let gram = check_gram(gram)?;
        let members = classes_of(classes, gram.nrows())?;
        let classes = members.into_iter().map(|members| (classes[members[0]], members)).collect();
        Ok(Self { params, gram, classes })
    }

    /// The numbers of the classes, ascending: the columns of [`SparseClassifier::residuals`].
    pub fn classes(&self) -> impl Iterator<Item = usize> {
        self.classes.iter().map(|(class, _)| *class)
    }

    /// The codes (m x n) of m samples from their kernel values with the training samples (m x n).
    ///
    /// # Errors
    /// [`Error::Samples`] if the number of kernel values does not fit, one is not finite, a weight is not for their
    /// size, or the iteration does not converge.
    pub fn codes(&self, cross: ArrayView2<f64>) -> Result<Array2<f64>> {
        check_cross(&cross, self.gram.nrows())?;
        let mut codes = Array2::zeros(cross.dim());
        for (values, mut code) in cross.outer_iter().zip(codes.outer_iter_mut()) {
            let found = self.code(&DVector::from_iterator(values.len(), values.iter().copied()))?;
            code.iter_mut().zip(found.iter()).for_each(|(to, from)| *to = *from);
        }
        Ok(codes)
    }

    /// One weight after the other is put to its best (coordinate descent), `s_j ← S(k_j - Σ_{i≠j} K_ji s_i, τ) / K_jj`
    /// with `S` drawing nearer to zero by τ.
    fn code(&self, values: &DVector<f64>) -> Result<DVector<f64>> {
        let Params { tau, tolerance, max_sweeps } = self.params;
        let n = values.len();
        let mut code = DVector::zeros(n);
        // The unexplained part of the kernel values: k - K s.
        let mut rest = values.clone();
        let enough = tolerance * self.gram.diagonal().amax().max(values.amax());
        for _ in 0..max_sweeps {
            let mut moved = 0.0f64;
            for j in 0..n {
                let own = self.gram[(j, j)];
                if own <= 0.0 {
                    continue;
                }
                let wanted: f64 = rest[j] + own * code[j];
                let weight = wanted.signum() * (wanted.abs() - tau).max(0.0) / own;
                let step: f64 = weight - code[j];
                if step != 0.0 {
                    rest.axpy(-step, &self.gram.column(j), 1.0);
                    code[j] = weight;
                    moved = moved.max(step.abs() * own);
                }
            }
            if moved <= enough {
                check_finite(&code, "the kernel values are too large for a sparse code")?;
                return Ok(code);
            }
        }
        let reason = format!("a sparse code did not converge in {max_sweeps} sweeps: a larger tau or tolerance helps");
        Err(Error::samples(reason))
    }

    /// The residual of the part of each class for m samples, `‖φ(z) - Σ_{i in class} sᵢ φ(xᵢ)‖²` (m x classes), from their
    /// kernel values with the training samples (m x n) and with themselves (m).
    ///
    /// # Errors
    /// As [`SparseClassifier::codes`], and [`Error::Samples`] for another number of values of samples with themselves,
    /// one that is not finite, or a residual that is not.
    pub fn residuals(&self, cross: ArrayView2<f64>, own: &[f64]) -> Result<Array2<f64>> {
        check_own(own.iter(), cross.nrows())?;
        let codes = self.codes(cross)?;
        let residuals = Array2::from_shape_fn((cross.nrows(), self.classes.len()), |(row, class)| {
            let members = &self.classes[class].1;
            let explained: f64 = members.iter().map(|&i| codes[[row, i]] * cross[[row, i]]).sum();
            let within: f64 = members
                .iter()
                .flat_map(|&i| members.iter().map(move |&j| (i, j)))
                .map(|(i, j)| codes[[row, i]] * codes[[row, j]] * self.gram[(i, j)])
                .sum();
            own[row] - 2.0 * explained + within
        });
        check_finite(&residuals, "the kernel values are too large for a residual")?;
        // Rounding alone puts a residual below zero.
        Ok(residuals.mapv_into(|value| value.max(0.0)))
    }

    /// The class of each of m samples: that with the least residual, the lowest number of equal ones.
    ///
    /// # Errors
    /// As [`SparseClassifier::residuals`].
    pub fn classify(&self, cross: ArrayView2<f64>, own: &[f64]) -> Result<Vec<usize>> {
        let residuals = self.residuals(cross, own)?;
        let least = |row: ndarray::ArrayView1<f64>| {
            row.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(at, _)| self.classes[at].0)
        };
        Ok(residuals.outer_iter().map(least).collect())
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::kernels::{Kernel, cross_gram, gram};
    use crate::machines::tests::vectors::{close, load, matrix, vector};

    /// Three classes along three directions, of unit length.
    fn directions() -> (Array2<f64>, Vec<usize>) {
        let x = Array2::from_shape_fn((12, 4), |(i, j)| {
            f64::from(u8::from(i % 3 == j)) + 0.3 * ((i * 4 + j) as f64 * 1.9).sin()
        });
        let lengths = x.map_axis(ndarray::Axis(1), |row| row.dot(&row).sqrt());
        (x / lengths.insert_axis(ndarray::Axis(1)), (0..12).map(|i| 10 * (i % 3)).collect())
    }

    /// Codes of scikit-learn's lasso, and residuals written out.
    #[test]
    fn codes_are_those_of_a_lasso() {
        let f = load("sparse");
        let (x, t) = (matrix(&f["X"]), matrix(&f["T"]));
        let classes: Vec<usize> = vector(&f["classes"]).iter().map(|&v| v as usize).collect();
        let params = Params { tau: f["tau"].as_f64().unwrap(), tolerance: 1e-13, ..Params::default() };
        let gauss = Kernel::Gaussian { sigma: f["sigma"].as_f64().unwrap() };
        for (name, kernel) in [("linear", Kernel::Linear), ("gauss", gauss)] {
            let expected = &f["cases"][name];
            let machine = SparseClassifier::new(params, gram(kernel, x.view()).unwrap().view(), &classes).unwrap();
            let cross = cross_gram(kernel, t.view(), x.view()).unwrap();
            let own = gram(kernel, t.view()).unwrap().diag().to_vec();
            assert_eq!(machine.classes().collect::<Vec<_>>(), [1, 4, 7]);
            let codes = machine.codes(cross.view()).unwrap();
            close(&codes, &vector(&expected["codes"]), 1e-6);
            close(&machine.residuals(cross.view(), &own).unwrap(), &vector(&expected["residuals"]), 1e-6);
            let found: Vec<f64> = machine.classify(cross.view(), &own).unwrap().iter().map(|&c| c as f64).collect();
            assert_eq!(found, vector(&expected["classes"]), "{name}");
        }
    }

    /// At the minimum every weight that is used explains all but the price, and none of the others more.
    #[test]
    fn a_code_meets_the_conditions_of_its_minimum() {
        let (x, classes) = directions();
        let k = gram(Kernel::Gaussian { sigma: 0.6 }, x.view()).unwrap();
        let z = array![[0.3, 0.4, -0.1, 0.2], [0.0, 0.9, 0.5, 0.0]];
        let cross = cross_gram(Kernel::Gaussian { sigma: 0.6 }, z.view(), x.view()).unwrap();
        let params = Params { tau: 0.05, ..Params::default() };
        let codes = SparseClassifier::new(params, k.view(), &classes).unwrap().codes(cross.view()).unwrap();
        for (code, values) in codes.outer_iter().zip(cross.outer_iter()) {
            let rest = &values - &k.dot(&code);
            assert!((1..12).contains(&code.iter().filter(|v| **v != 0.0).count()), "{code}");
            for (weight, rest) in code.iter().zip(&rest) {
                match *weight {
                    0.0 => assert!(rest.abs() <= 0.05 + 1e-7, "{rest}"),
                    weight => assert!((rest - 0.05 * weight.signum()).abs() < 1e-7, "{rest}"),
                }
            }
        }
        // No weight is worth a price above the largest kernel value.
        let dear = SparseClassifier::new(Params { tau: 2.0, ..params }, k.view(), &classes).unwrap();
        assert!(dear.codes(cross.view()).unwrap().iter().all(|&v| v == 0.0));
    }

    #[test]
    fn what_no_number_holds_is_refused() {
        let machine = SparseClassifier::new(Params::default(), Array2::eye(3).view(), &[0, 1, 1]).unwrap();
        // A code of this size is one, but not its square.
        assert!(machine.codes(array![[1e200, 0.0, -1e200]].view()).is_ok());
        let cross = array![[1e200, 0.0, -1e200]];
        let error = machine.residuals(cross.view(), &[1.0]).unwrap_err();
        assert!(matches!(error, Error::Samples { .. }) && error.to_string().contains("too large"), "{error}");
        assert!(machine.classify(cross.view(), &[1.0]).is_err());
        // Weights of 1e308 for samples of such a length grow beyond it.
        let tiny =
            SparseClassifier::new(Params { tau: 1e-12, ..Params::default() }, (Array2::eye(2) * 1e-9).view(), &[0, 1]);
        assert!(tiny.unwrap().codes(array![[1e308, 1.0]].view()).is_err());
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let k = Array2::eye(3);
        let with = |params: Params| SparseClassifier::new(params, k.view(), &[0, 1, 1]);
        for params in [
            Params { tau: 0.0, ..Params::default() },
            Params { tau: f64::NAN, ..Params::default() },
            Params { tolerance: 0.0, ..Params::default() },
            Params { max_sweeps: 0, ..Params::default() },
        ] {
            assert!(matches!(with(params), Err(Error::Setting { .. })), "{params:?}");
        }
        assert!(SparseClassifier::new(Params::default(), k.view(), &[0, 1]).is_err());
        assert!(matches!(
            SparseClassifier::new(Params::default(), array![[1.0, 0.5], [0.1, 1.0]].view(), &[0, 1]),
            Err(Error::Gram { .. })
        ));
        let machine = with(Params::default()).unwrap();
        assert!(machine.codes(Array2::zeros((1, 2)).view()).is_err());
        assert!(machine.codes(array![[1.0, f64::NAN, 0.0]].view()).is_err());
        assert!(machine.residuals(Array2::zeros((2, 3)).view(), &[1.0]).is_err());
        assert!(machine.classify(Array2::zeros((1, 3)).view(), &[f64::INFINITY]).is_err());
        assert!(machine.classify(Array2::zeros((0, 3)).view(), &[]).unwrap().is_empty());
        // Nearly equal samples make the iteration slow: one sweep is not enough.
        let alike = array![[1.0, 0.999], [0.999, 1.0]];
        let hasty =
            SparseClassifier::new(Params { max_sweeps: 1, ..Params::default() }, alike.view(), &[0, 1]).unwrap();
        let error = hasty.codes(array![[0.9, 0.95]].view()).unwrap_err();
        assert!(error.to_string().contains("1 sweeps"), "{error}");
    }
}
