//! The square-loss exemplar machine (Rezende et al., CVPR 2017) on all cyclic shifts: the patch itself against all others.
//!
//! `min θ/2 (1 - f₀)² + 1/(2n) Σ (1 + fᵢ)² + λ/(2n) ‖h‖²` over `f = h + ν`, with n the number of the other shifts. Its equations
//! are those of ridge regression but for the exemplar's own diagonal entry,
//!
//! `(K + λI + δ e₀e₀ᵀ) α = y - ν1`, `1ᵀα = 0`, `δ = λ/(nθ) - λ`,
//!
//! so that two divisions of spectra and the formula of Sherman and Morrison solve them.

use super::{calibration, plane};
use crate::spectrum::{MapPlan, Scratch};
use rustfft::num_complex::Complex32;

/// The weight θ of the exemplar against all other shifts together.
const THETA: f64 = 1.0;

#[derive(Clone, Debug)]
pub(super) struct Exemplar {
    lambda: f32,
    pub(super) theta: f64,
    labels: Vec<f32>,
    spectrum: Vec<Complex32>,
    values: Vec<f32>,
}

impl Exemplar {
    pub(super) fn new(plan: &MapPlan, lambda: f32) -> Self {
        let (rows, cols) = plan.size();
        let mut labels = vec![-1.0; rows * cols];
        labels.iter_mut().take(1).for_each(|y| *y = 1.0);
        let values = vec![0.0; labels.len()];
        Self { lambda, theta: THETA, labels, spectrum: vec![Complex32::default(); plan.half_len()], values }
    }

    /// `α̂` in the place of `k̂^xx`, and the bias, such that the exemplar has the value +1 and the mean of the others is -1.
    pub(super) fn solve(&mut self, plan: &MapPlan, kernel: &mut [Complex32], scratch: &mut Scratch) -> f32 {
        self.spectrum.copy_from_slice(kernel);
        self.coefficients(plan, kernel, scratch);
        for (f, alpha) in self.spectrum.iter_mut().zip(kernel.iter()) {
            *f *= alpha;
        }
        plane(plan, &self.spectrum, &mut self.values, scratch);
        let (gain, bias) = calibration(&self.values, &self.labels);
        kernel.iter_mut().for_each(|k| *k *= gain);
        bias
    }

    /// `α̂` of the machine as it stands above in the place of `k̂^xx`, and its constant `ν`.
    ///
    /// The right side is `2e₀ - (1 + ν)1`. With `A = K + λI` circulant, `u = A⁻¹e₀` and `A⁻¹1 = 1/a` for the eigenvalue `a` of the
    /// constant mode; the correction only ever adds a multiple of `u`. So `α = c u - (1 + ν)/a 1`, where `c` and `ν` come
    /// from the first equation and the sum.
    pub(super) fn coefficients(&mut self, plan: &MapPlan, kernel: &mut [Complex32], scratch: &mut Scratch) -> f64 {
        let n = self.labels.len() as f64;
        let lambda = f64::from(self.lambda);
        for k in kernel.iter_mut() {
            *k = (*k + self.lambda).inv();
        }
        plane(plan, kernel, &mut self.values, scratch);
        let (u0, per_mean) = (f64::from(self.values[0]), f64::from(kernel[0].re));
        let delta = if n > 1.0 { lambda / ((n - 1.0) * self.theta) - lambda } else { 0.0 };
        // A α = c e₀ - (1 + ν) 1 against the right side: c + δ α₀ = 2, with α₀ = c u₀ - (1 + ν)/a, and the sum
        // c/a - n (1 + ν)/a = 0.
        let c = 2.0 / (1.0 + delta * (u0 - per_mean / n));
        for k in kernel.iter_mut() {
            *k *= c as f32;
        }
        kernel[0] = Complex32::default();
        c / n - 1.0
    }
}
