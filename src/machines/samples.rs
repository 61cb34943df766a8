//! The validated input of a machine.

use nalgebra::{DMatrix, DVector};
use ndarray::ArrayView2;

use super::{Head, Machine};
use crate::error::{Error, Result};
use crate::kernels::Kernel;
use crate::kernels::factor::scale_rows;
use crate::kernels::gram::{check_gram, gram_matrix};

/// A Gram matrix, the label and the weight of each sample, and, where there are any, soft labels and the
/// coefficients to start from.
#[derive(Clone, Debug)]
pub struct Samples {
    pub(crate) gram: DMatrix<f64>,
    pub(crate) labels: DVector<f64>,
    pub(crate) weights: DVector<f64>,
    pub(crate) soft_labels: DVector<f64>,
    pub(crate) start: Option<DVector<f64>>,
    /// Number of samples that each counts as where classes are balanced.
    pub(crate) mass: f64,
}

impl Samples {
    /// Samples with the Gram matrix `gram` (n x n) and n `labels`, +1 for the target and -1 for the background, each of
    /// weight one. Whether the matrix is positive semi-definite is not checked here: `krr` refuses one that is not, the
    /// decisions of other machines mean nothing then.
    ///
    /// # Errors
    /// [`Error::Gram`] for a matrix that is empty, not square, not symmetric to 1e-8 of its largest entry, has an entry
    /// that is not finite or beyond 1e60, or a negative one on its diagonal; [`Error::Samples`] for another number of
    /// labels or a label that is not +1 or -1.
    pub fn new(gram: ArrayView2<f64>, labels: &[f64]) -> Result<Self> {
        Self::of_matrix(check_gram(gram)?, labels)
    }

    /// Creates samples like [`Samples::new`], with the Gram matrix of the rows of `samples`.
    ///
    /// # Errors
    /// As [`Samples::new`] and [`gram`](crate::kernels::gram()).
    pub fn of_rows(kernel: Kernel, samples: ArrayView2<f64>, labels: &[f64]) -> Result<Self> {
        Self::of_matrix(gram_matrix(kernel, samples)?, labels)
    }

    fn of_matrix(gram: DMatrix<f64>, labels: &[f64]) -> Result<Self> {
        let labels = sized(gram.nrows(), "labels", labels)?;
        if let Some(label) = labels.iter().find(|label| label.abs() != 1.0) {
            return Err(Error::samples(format!("the label {label} is neither +1 nor -1")));
        }
        let weights = DVector::from_element(gram.nrows(), 1.0);
        let mass = gram.nrows() as f64;
        Ok(Self { gram, soft_labels: labels.clone(), labels, weights, start: None, mass })
    }

    /// The same samples with a weight for each, above zero.
    ///
    /// # Errors
    /// [`Error::Samples`] for another number of weights, or one that is not a number between 1e-12 and 1e12.
    pub fn with_weights(mut self, weights: &[f64]) -> Result<Self> {
        self.weights = sized(self.len(), "weights", weights)?;
        match self.weights.iter().find(|weight| !(1e-12..=1e12).contains(*weight)) {
            Some(weight) => Err(Error::samples(format!("the weight {weight} is not between 1e-12 and 1e12"))),
            None => Ok(self),
        }
    }

    /// The same samples with regression targets in place of the labels.
    ///
    /// # Errors
    /// [`Error::Samples`] for another number of soft labels, or one that is not finite.
    pub fn with_soft_labels(mut self, soft_labels: &[f64]) -> Result<Self> {
        self.soft_labels = sized(self.len(), "soft labels", soft_labels)?;
        Ok(self)
    }

    /// The same samples with the coefficients of an earlier fit (zero for new samples), which an iteration may start
    /// from.
    ///
    /// # Errors
    /// [`Error::Samples`] for another number of coefficients, or one that is not finite.
    pub fn with_start(mut self, coefficients: &[f64]) -> Result<Self> {
        self.start = Some(sized(self.len(), "coefficients", coefficients)?);
        Ok(self)
    }

    /// Number of samples, at least one.
    #[expect(clippy::len_without_is_empty, reason = "a Gram matrix is never empty")]
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// The indices of the samples with that label.
    pub fn of_label(&self, label: f64) -> Vec<usize> {
        (0..self.len()).filter(|&i| self.labels[i] == label).collect()
    }

    /// The indices of the target's and of the background's samples.
    ///
    /// # Errors
    /// [`Error::Samples`] if either class is empty.
    pub fn two_classes(&self) -> Result<(Vec<usize>, Vec<usize>)> {
        let (target, background) = (self.of_label(1.0), self.of_label(-1.0));
        for (class, name) in [(&target, "target (+1)"), (&background, "background (-1)")] {
            if class.is_empty() {
                return Err(Error::samples(format!(
                    "there is no sample of the {name}: two classes are needed to tell them apart"
                )));
            }
        }
        Ok((target, background))
    }

    /// The heads of `machine` between each two of `classes`, above zero for the later one, over all samples.
    pub(crate) fn fit_pairs(mut self, machine: &dyn Machine, classes: &[Vec<usize>]) -> Result<Vec<Head>> {
        // Rows are sorted by class: a column of a pair's Gram matrix is two pieces of one of this matrix.
        let (order, n) = (classes.concat(), self.len());
        let mut column = vec![0.0; n];
        for values in self.gram.as_mut_slice().chunks_exact_mut(n) {
            column.iter_mut().zip(&order).for_each(|(to, &i)| *to = values[i]);
            values.copy_from_slice(&column);
        }
        let end = |class: usize| classes[..=class].iter().map(Vec::len).sum::<usize>();
        let place = |class: usize| end(class) - classes[class].len()..end(class);
        let fit = |first: usize, second: usize| {
            let (pair, places) = ([&*classes[first], &classes[second]].concat(), [place(first), place(second)]);
            let mut gram = Vec::with_capacity(pair.len() * pair.len());
            for &column in &pair {
                let values = &self.gram.as_slice()[column * n..][..n];
                places.iter().for_each(|rows| gram.extend_from_slice(&values[rows.clone()]));
            }
            let gram = DMatrix::from_vec(pair.len(), pair.len(), gram);
            let labels = DVector::from_fn(pair.len(), |i, _| if i < classes[first].len() { -1.0 } else { 1.0 });
            let weights = self.weights.select_rows(&pair);
            let mass = weights.sum();
            let part = Self { gram, soft_labels: labels.clone(), labels, weights, start: None, mass };
            Ok(machine.fit(&part)?.spread(&pair, n))
        };
        (0..classes.len()).flat_map(|i| (i + 1..classes.len()).map(move |j| (i, j))).map(|(i, j)| fit(i, j)).collect()
    }

    /// The weights of the samples `of`, divided by their sum, at their places among all samples; zero elsewhere.
    pub(crate) fn shares(&self, of: &[usize]) -> DVector<f64> {
        shares(&self.weights, of)
    }
}

/// The shares of [`Samples::shares`], for any weights.
pub(crate) fn shares(weights: &DVector<f64>, of: &[usize]) -> DVector<f64> {
    let total: f64 = of.iter().map(|&i| weights[i]).sum();
    let mut shares = DVector::zeros(weights.len());
    of.iter().for_each(|&i| shares[i] = weights[i] / total);
    shares
}

/// `G M`, where `Mᵀ G M` is the scatter of the rows of `M` within classes of the `shares` p and the `masses` W:
/// `G = diag(Σ W_c p_c) - Σ W_c p_c p_cᵀ`.
pub(crate) fn scatter_times(matrix: &DMatrix<f64>, shares: &[DVector<f64>], masses: &[f64]) -> DMatrix<f64> {
    let mut weights = DVector::zeros(matrix.nrows());
    shares.iter().zip(masses).for_each(|(share, mass)| weights.axpy(*mass, share, 1.0));
    let mut product = scale_rows(matrix, &weights);
    for (share, mass) in shares.iter().zip(masses) {
        product.ger(-mass, share, &matrix.tr_mul(share), 1.0);
    }
    product
}

fn sized(n: usize, what: &str, values: &[f64]) -> Result<DVector<f64>> {
    if values.len() != n {
        return Err(Error::samples(format!("there are {} {what} for {n} samples", values.len())));
    }
    if let Some(value) = values.iter().find(|value| !value.is_finite()) {
        return Err(Error::samples(format!("{value} is among the {what}")));
    }
    Ok(DVector::from_column_slice(values))
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;

    #[test]
    fn what_does_not_fit_is_named() {
        let gram = Array2::eye(3);
        let says = |result: Result<Samples>, what: &str| {
            let message = result.unwrap_err().to_string();
            assert!(message.contains(what), "{message}");
        };
        says(Samples::new(gram.view(), &[1.0, -1.0]), "2 labels for 3 samples");
        says(Samples::new(gram.view(), &[1.0, -1.0, 0.5]), "0.5");
        says(Samples::new(gram.view(), &[1.0, -1.0, f64::NAN]), "NaN");
        let good = Samples::new(gram.view(), &[1.0, -1.0, 1.0]).unwrap();
        says(good.clone().with_weights(&[1.0, 0.0, 1.0]), "weight 0");
        says(good.clone().with_weights(&[1.0, -1.0, 1.0]), "weight -1");
        says(good.clone().with_soft_labels(&[1.0]), "1 soft labels");
        says(good.clone().with_start(&[f64::INFINITY, 0.0, 0.0]), "inf");
        assert!(good.two_classes().is_ok());
        let lonely = Samples::new(gram.view(), &[1.0, 1.0, 1.0]).unwrap();
        assert!(lonely.two_classes().unwrap_err().to_string().contains("background"));
    }
}
