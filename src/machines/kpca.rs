//! Kernel principal component analysis (Schölkopf, Smola & Müller 1998): projections, novelty, and a detector made of
//! novelties.
//!
//! With weights `p` of sum one and the centred Gram matrix `K̃`: `diag(√p) K̃ diag(√p) = U diag(l) Uᵀ`,
//! directions of unit length `A = diag(√p) U diag(l)^-½`, projections `Aᵀκ̃`, whose variances are `l`.

use nalgebra::{DMatrix, DVector};
use ndarray::{Array1, Array2, ArrayView2};

use super::head::{Affine, Subspace, check_own};
use super::{Embedding, Head, Machine, Samples};
use crate::error::Result;
use crate::kernels::eigen::leading_eigen;
use crate::kernels::gram::{Centring, check_finite, check_gram, from_matrix};
use crate::settings::settings;

settings! {
    /// Settings of [`Kpca`].
    #[derive(Copy)]
    pub struct Params {
        /// Largest number of components
        rank: usize = 8, Within(1.0, 1e6);
        /// Subtract the novelty to the target from that to the background
        two_class: bool = true;
    }
}

/// The detector: a sample's squared distance to the subspace of the target's samples (its novelty, Hoffmann 2007),
/// taken from that to the background's subspace.
///
/// With samples of both classes, their means have the decisions +1 and -1, or the decision is zero everywhere where
/// they cannot be told apart. With samples of the target alone the decision is minus the novelty.
#[derive(Clone, Copy, Debug)]
pub struct Kpca(pub(super) Params);

impl Machine for Kpca {
    fn solve(&self, samples: &Samples) -> Result<Head> {
        let (target, background) = (samples.of_label(1.0), samples.of_label(-1.0));
        if target.is_empty() {
            samples.two_classes()?;
        }
        let mut classes = vec![(&target, -1.0)];
        if self.0.two_class && !background.is_empty() {
            classes.push((&background, 1.0));
        }
        let n = samples.len();
        let (mut own, mut linear, mut bias) = (0.0, DVector::zeros(n), 0.0);
        let (mut directions, mut offsets, mut factors) = (Vec::new(), Vec::new(), Vec::new());
        for (class, sign) in classes {
            let weights = samples.weights.select_rows(class);
            let part = Components::new(&samples.gram.select_rows(class).select_columns(class), &weights, self.0.rank)?;
            own += sign;
            bias += sign * part.centring.norm;
            for (at, &i) in class.iter().enumerate() {
                linear[i] -= 2.0 * sign * part.centring.weights[at];
            }
            let (folded, constant) = part.centring.fold(&part.coefficients);
            for (column, offset) in folded.column_iter().zip(constant.iter()) {
                let mut direction = DVector::zeros(n);
                class.iter().zip(column.iter()).for_each(|(&i, &v)| direction[i] = v);
                directions.push(direction);
                offsets.push(*offset);
                factors.push(-sign);
            }
        }
        let directions = match directions.is_empty() {
            true => Array2::zeros((n, 0)),
            false => from_matrix(&DMatrix::from_columns(&directions)),
        };
        let affine = Affine { alpha: linear.iter().copied().collect(), bias };
        let subspace = Subspace { own, affine, directions, offsets: offsets.into(), factors: factors.into() };
        match background.is_empty() {
            true => Ok(Head::Subspace(subspace)),
            false => Head::Subspace(subspace).calibrated(samples),
        }
    }
}

impl Kpca {
    /// The principal components of all samples of a Gram matrix, labels aside. [`Embedding::values`] are the variances
    /// of the coordinates: the eigenvalues of `K̃ / n`.
    ///
    /// # Errors
    /// [`Error::Gram`](crate::Error::Gram) for an invalid Gram matrix (see [`Samples::new`]).
    pub fn embed(&self, gram: ArrayView2<f64>) -> Result<Novelty> {
        let gram = check_gram(gram)?;
        let weights = DVector::from_element(gram.nrows(), 1.0);
        let part = Components::new(&gram, &weights, self.0.rank)?;
        let (folded, constant) = part.centring.fold(&part.coefficients);
        let embedding = Embedding::raw(&folded, &constant, &part.variances)?;
        Ok(Novelty { embedding, norm: part.centring.norm })
    }
}

/// Variances below this share of the largest are rounding, or are not found to enough digits.
const MIN_VARIANCE: f64 = 1e-10;

/// The directions of largest variance: coefficients of centred kernel values, a column each.
pub(crate) struct Components {
    pub centring: Centring,
    pub coefficients: DMatrix<f64>,
    pub variances: Vec<f64>,
}

impl Components {
    pub fn new(gram: &DMatrix<f64>, weights: &DVector<f64>, rank: usize) -> Result<Self> {
        let centring = Centring::new(gram, weights);
        let roots = centring.weights.map(f64::sqrt);
        let mut scaled = centring.train(gram);
        for (mut column, &root) in scaled.column_iter_mut().zip(&roots) {
            column *= root;
            column.component_mul_assign(&roots);
        }
        let (values, vectors) = leading_eigen(scaled, rank, MIN_VARIANCE)?;
        // Samples that are all equal have no direction; what is left of them after centring is rounding.
        let rounding = 1e-14f64.max(f64::EPSILON * gram.nrows() as f64);
        let least = (MIN_VARIANCE * values[0]).max(rounding * gram.diagonal().max()).max(f64::MIN_POSITIVE);
        let kept = values.iter().take_while(|&&v| v > least).count();
        let mut coefficients = vectors.columns(0, kept).into_owned();
        for (mut column, value) in coefficients.column_iter_mut().zip(values.iter()) {
            column.component_mul_assign(&roots);
            column /= value.sqrt();
        }
        Ok(Self { centring, coefficients, variances: values.iter().take(kept).copied().collect() })
    }
}

/// The principal components of a set of samples, and the distance of other samples to the subspace that they span.
#[derive(Clone, Debug)]
pub struct Novelty {
    /// The projections.
    pub embedding: Embedding,
    /// The squared norm of the samples' mean.
    pub norm: f64,
}

impl Novelty {
    /// The novelties of m samples, `‖φ(z) - mean‖² - ‖projections‖²`, from their kernel values with the
    /// training samples (m x n) and with themselves (m).
    ///
    /// # Errors
    /// [`Error::Samples`](crate::Error::Samples) if a size does not fit, a kernel value is not finite, or a novelty
    /// is not for their size.
    pub fn novelty(&self, cross: ArrayView2<f64>, own: &[f64]) -> Result<Array1<f64>> {
        check_own(own.iter(), cross.nrows())?;
        let projections = self.embedding.transform(cross)?;
        let weights = Array1::from_elem(cross.ncols(), 1.0 / cross.ncols() as f64);
        let to_mean = cross.dot(&weights) * -2.0 + self.norm;
        let away = own.iter().zip(&to_mean).zip(projections.outer_iter());
        let values: Array1<f64> = away.map(|((own, to_mean), row)| own + to_mean - row.dot(&row)).collect();
        check_finite(&values, "the kernel values are too large for a novelty")?;
        // Rounding alone puts a novelty below zero.
        Ok(values.mapv_into(|value| value.max(0.0)))
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;
    use crate::error::Error;
    use crate::kernels::{Kernel, gram};
    use crate::machines::kpca;

    fn corners() -> Novelty {
        let x = array![[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]];
        let k = gram(Kernel::Linear, x.view()).unwrap();
        kpca::Kpca::new(kpca::Params { rank: 2, two_class: false }).unwrap().embed(k.view()).unwrap()
    }

    #[test]
    fn a_novelty_that_no_number_holds_is_refused() {
        let huge = array![[1e200, 3e200, 1e200, 1e200]];
        // The squares of its projections are infinite, and with them the difference.
        assert!(corners().embedding.transform(huge.view()).is_ok());
        let error = corners().novelty(huge.view(), &[1e300]).unwrap_err();
        assert!(matches!(error, Error::Samples { .. }) && error.to_string().contains("too large"), "{error}");
        // A novelty that rounding puts below zero is 0.
        assert_eq!(corners().novelty(array![[0.0, 0.5, 0.0, 0.5]].view(), &[0.5 - 1e-16]).unwrap()[0].max(1e-9), 1e-9);
    }

    #[test]
    fn overflowing_coordinates_are_errors() {
        let error = corners().embedding.transform(array![[1e308, -1e308, 1e308, -1e308]].view()).unwrap_err();
        assert!(matches!(error, Error::Samples { .. }) && error.to_string().contains("too large"), "{error}");
        assert!(corners().embedding.scaled(|_| 1e308).and_then(|e| e.scaled(|_| 1e308)).is_err());
    }
}
