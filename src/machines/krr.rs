//! Kernel ridge regression: the representer theorem at its plainest.
//!
//! Minimises `Σ wᵢ (f(xᵢ) - yᵢ)² + λ ‖h‖²` over `f = h + b`. The minimiser is an expansion over the
//! samples with `(K + λ W⁻¹) α = y - b 1` and, where there is a constant, `1ᵀα = 0`. With equal weights and no constant
//! this is equation 16 of Henriques et al. (TPAMI 2015); KCF is the same regression on all cyclic shifts of one patch.

use nalgebra::DVector;

use super::{Head, Machine, Samples};
use crate::error::Result;
use crate::kernels::factor::cholesky;
use crate::settings::settings;

settings! {
    /// Settings of [`Krr`].
    #[derive(Copy)]
    pub struct Params {
        /// Ridge λ of the regression
        lambda: f64 = 1e-2, Within(1e-12, 1e12);
        /// Add a constant, which is not penalised
        bias: bool = true;
    }
}

/// Weighted kernel ridge regression on the soft labels of the samples. The decisions are in units of the labels.
///
/// Samples of one class only, or that all look alike, give the constant that fits them best.
#[derive(Clone, Copy, Debug)]
pub struct Krr(pub(super) Params);

impl Machine for Krr {
    fn solve(&self, samples: &Samples) -> Result<Head> {
        let mut ridged = samples.gram.clone();
        for (i, weight) in samples.weights.iter().enumerate() {
            ridged[(i, i)] += self.0.lambda / weight;
        }
        let factored = cholesky(ridged)?;
        let mut alpha = factored.solve(&samples.soft_labels);
        let mut bias = 0.0;
        if self.0.bias {
            let ones = factored.solve(&DVector::from_element(samples.len(), 1.0));
            bias = alpha.sum() / ones.sum();
            alpha.axpy(-bias, &ones, 1.0);
        }
        Ok(Head::affine(&alpha, bias))
    }
}
