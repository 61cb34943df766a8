//! The kernel Fisher discriminant, for two classes as a machine and for many as an embedding.
//!
//! With `p_c` the weights of class c divided by their sum, `μ_c = K p_c`, the mass `W_c` (1, or that sum without
//! `balance`) and the within-class scatter `N = K (Σ W_c (diag(p_c) - p_c p_cᵀ)) K = K G K`. `N` is singular always and
//! must be regularised: by `ε I` (Mika et al. 1999), or by `ε K`, which is linear discriminant analysis with `S_w + ε I`
//! in feature space. For the latter a factor `K = B Bᵀ` gives the features themselves, in as many dimensions as the
//! samples span: singular Gram matrices need no special case.

use nalgebra::{DMatrix, DVector};
use ndarray::ArrayView2;

use super::samples::{scatter_times, shares};
use super::{Embedding, Head, Machine, Samples, classes_of};
use crate::error::{Error, Result};
use crate::kernels::eigen::generalised_eigen;
use crate::kernels::factor::{PivotedCholesky, cholesky, lift_diagonal};
use crate::kernels::gram::check_gram;
use crate::settings::{choice, settings};

/// The relative tolerance of the factor of a Gram matrix.
const FULL_RANK: f64 = 1e-13;

choice! {
    /// The regularisation of the within-class scatter.
    #[derive(Copy, Eq)]
    pub enum Ridge {
        /// `N + ε K`: small weight vectors in feature space.
        Gram,
        /// `N + ε I`: small coefficients.
        Identity,
    }
}

settings! {
    /// Settings of [`Klda`].
    #[derive(Copy)]
    pub struct Params {
        /// Regularisation ε of the within-class scatter
        eps: f64 = 1e-2, Within(1e-12, 1e12);
        /// The matrix that ε multiplies
        ridge: Ridge = Ridge::Gram;
        /// Give both classes the same weight in the scatter
        balance: bool = true;
    }
}

/// The kernel Fisher discriminant, scaled so that the class means have the decisions +1 and -1.
///
/// The decision of inseparable samples is zero everywhere.
#[derive(Clone, Copy, Debug)]
pub struct Klda(pub(super) Params);

impl Machine for Klda {
    fn solve(&self, samples: &Samples) -> Result<Head> {
        let (target, background) = samples.two_classes()?;
        let classes = [target, background];
        let shares = classes.each_ref().map(|class| samples.shares(class));
        let masses = classes.each_ref().map(|class| match self.0.balance {
            true => 1.0,
            false => class.iter().map(|&i| samples.weights[i]).sum(),
        });
        let difference = &shares[0] - &shares[1];
        let alpha = self.solve_scatter(&samples.gram, &shares, &masses, DMatrix::from_columns(&[difference]))?;
        Head::affine(&alpha.column(0).into_owned(), 0.0).calibrated(samples)
    }
}

impl Klda {
    /// `(N + ε R)⁻¹ K` times the columns of `right`.
    fn solve_scatter(
        &self,
        gram: &DMatrix<f64>,
        shares: &[DVector<f64>],
        masses: &[f64],
        right: DMatrix<f64>,
    ) -> Result<DMatrix<f64>> {
        let ridged = |mut scatter: DMatrix<f64>| {
            lift_diagonal(&mut scatter, self.0.eps);
            cholesky(scatter)
        };
        match self.0.ridge {
            Ridge::Gram => {
                let factored = PivotedCholesky::new(gram, FULL_RANK)?;
                let features = factored.factor();
                let scatter = features.transpose() * scatter_times(features, shares, masses);
                Ok(factored.expand(&ridged(scatter)?.solve(&features.tr_mul(&right))))
            }
            Ridge::Identity => Ok(ridged(gram * scatter_times(gram, shares, masses))?.solve(&(gram * right))),
        }
    }

    /// The discriminant coordinates of c `classes` (any numbers, one per sample): at most c - 1, in which the
    /// regularised scatter within the classes is the identity. [`Embedding::values`] are the ratios of the scatter
    /// between and within.
    ///
    /// # Errors
    /// [`Error::Gram`] for an invalid Gram matrix (see [`Samples::new`]); [`Error::Samples`] for another number of
    /// samples or fewer than two classes.
    pub fn embed(&self, gram: ArrayView2<f64>, classes: &[usize]) -> Result<Embedding> {
        let gram = check_gram(gram)?;
        let members = classes_of(classes, gram.nrows())?;
        if members.len() < 2 {
            return Err(Error::samples("a discriminant needs samples of at least two classes"));
        }
        let ones = DVector::from_element(gram.nrows(), 1.0);
        let shares: Vec<DVector<f64>> = members.iter().map(|class| shares(&ones, class)).collect();
        let masses: Vec<f64> =
            members.iter().map(|class| if self.0.balance { 1.0 } else { class.len() as f64 }).collect();
        let total: f64 = masses.iter().sum();
        let mean = shares.iter().zip(&masses).fold(DVector::zeros(gram.nrows()), |sum, (p, m)| sum + p * (m / total));
        // The discriminant directions lie in the span of the solutions for the differences of the means.
        let away: Vec<DVector<f64>> = shares[1..].iter().map(|p| p - &shares[0]).collect();
        let basis = self.solve_scatter(&gram, &shares, &masses, DMatrix::from_columns(&away))?;
        let kernel_basis = &gram * &basis;
        let mut between = DMatrix::zeros(basis.ncols(), basis.ncols());
        for (share, mass) in shares.iter().zip(&masses) {
            let offset = kernel_basis.tr_mul(&(share - &mean));
            between.ger(*mass, &offset, &offset, 1.0);
        }
        let ridge = match self.0.ridge {
            Ridge::Gram => basis.tr_mul(&kernel_basis),
            Ridge::Identity => basis.tr_mul(&basis),
        };
        let within = kernel_basis.tr_mul(&scatter_times(&kernel_basis, &shares, &masses)) + ridge * self.0.eps;
        if within.amax() <= f64::MIN_POSITIVE {
            return Embedding::raw(&DMatrix::zeros(gram.nrows(), 0), &DVector::zeros(0), &[]);
        }
        let (values, vectors) = generalised_eigen(&between, within, basis.ncols())?;
        let coefficients = basis * vectors;
        let constant = -(&gram * &coefficients).tr_mul(&mean);
        Embedding::raw(&coefficients, &constant, values.as_slice())
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::kernels::gram::to_matrix;
    use crate::kernels::{Kernel, gram};

    /// `(N + ε R)⁻¹ (μ₁ - μ₂)` with `N = Σ W_c K (diag(p_c) - p_c p_cᵀ) K` written out, for means of +1 and -1.
    fn by_definition(k: &DMatrix<f64>, labels: &[f64], params: Params) -> DVector<f64> {
        let n = labels.len();
        let class = |label: f64| {
            let members = labels.iter().filter(|&&l| l == label).count() as f64;
            let share = DVector::from_fn(n, |i, _| if labels[i] == label { 1.0 / members } else { 0.0 });
            (share, if params.balance { 1.0 } else { members })
        };
        let classes = [class(1.0), class(-1.0)];
        let mut scatter = DMatrix::zeros(n, n);
        for (share, mass) in &classes {
            let spread = DMatrix::from_diagonal(share) - share * share.transpose();
            scatter += k * spread * k * *mass;
        }
        scatter += match params.ridge {
            Ridge::Gram => k * params.eps,
            Ridge::Identity => DMatrix::identity(n, n) * params.eps,
        };
        let difference = k * (&classes[0].0 - &classes[1].0);
        let alpha = scatter.lu().solve(&difference).unwrap();
        let apart = alpha.dot(&difference);
        alpha * (2.0 / apart)
    }

    #[test]
    fn the_scatter_counts_both_classes_alike_by_default() {
        let x = Array2::from_shape_fn((9, 3), |(i, j)| ((i * 3 + j) as f64 * 1.9).sin() + f64::from(i < 3));
        let labels = [1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0];
        let k = gram(Kernel::Gaussian { sigma: 0.9 }, x.view()).unwrap();
        let dense = to_matrix(k.view());
        let samples = Samples::new(k.view(), &labels).unwrap();
        assert!(Params::default().balance);
        for ridge in [Ridge::Gram, Ridge::Identity] {
            for balance in [true, false] {
                let params = Params { eps: 0.5, ridge, balance };
                let alpha = Klda::new(params).unwrap().fit(&samples).unwrap().linear().alpha.to_vec();
                let expected = by_definition(&dense, &labels, params);
                let worst = alpha.iter().zip(expected.iter()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(worst < 1e-9 * expected.amax(), "{params:?}: {worst}");
            }
        }
    }

    /// In the coordinates of an embedding the scatter within the classes, each of mass one or of its number, and the
    /// ridge are one.
    #[test]
    fn the_scatter_of_an_embedding_is_the_identity() {
        let x = Array2::from_shape_fn((12, 3), |(i, j)| ((i * 3 + j) as f64 * 1.9).sin() + (i / 5) as f64);
        let classes: Vec<usize> = (0..12).map(|i| i / 5).collect();
        let k = gram(Kernel::Gaussian { sigma: 0.9 }, x.view()).unwrap();
        for balance in [true, false] {
            let params = Params { eps: 0.5, ridge: Ridge::Identity, balance };
            let found = Klda::new(params).unwrap().embed(k.view(), &classes).unwrap();
            let y = found.transform(k.view()).unwrap();
            let mut within = found.coefficients.t().dot(&found.coefficients) * params.eps;
            for class in 0..3 {
                let members: Vec<usize> = (0..12).filter(|&i| classes[i] == class).collect();
                let rows = y.select(ndarray::Axis(0), &members);
                let away = &rows - &rows.mean_axis(ndarray::Axis(0)).unwrap();
                let mass = if balance { 1.0 } else { members.len() as f64 };
                within += &(away.t().dot(&away) * (mass / members.len() as f64));
            }
            assert_eq!(found.dims(), 2);
            // The origin of the coordinates is the mean, of the classes or of all samples.
            let weight = |i: usize| {
                let class = classes.iter().filter(|&&class| class == classes[i]).count() as f64;
                if balance { 1.0 / class } else { 1.0 }
            };
            let mean = ndarray::Array1::from_iter((0..12).map(weight)).dot(&y);
            assert!(mean.iter().all(|v| v.abs() < 1e-9), "balance {balance}: {mean}");
            assert!((within - Array2::<f64>::eye(2)).mapv(f64::abs).sum() < 1e-8, "balance {balance}");
        }
    }
}
