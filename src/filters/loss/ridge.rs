//! Ridge regression on all cyclic shifts: the kernelized correlation filter
//! (Henriques et al., TPAMI 2015, equation 17).

use crate::fft::{MapPlan, Scratch};
use rustfft::num_complex::Complex32;

#[derive(Clone, Debug)]
pub(super) struct Ridge {
    lambda: f32,
    /// The half-spectrum of the regression labels, ŷ.
    labels: Vec<Complex32>,
}

impl Ridge {
    pub(super) fn new(plan: &MapPlan, lambda: f32, labels: &[f32], scratch: &mut Scratch) -> Self {
        let mut spectrum = vec![Complex32::default(); plan.half_len()];
        plan.forward(labels, &mut spectrum, scratch);
        Self { lambda, labels: spectrum }
    }

    /// `α̂ = ŷ ⊘ (k̂^xx + λ)` in the place of `k̂^xx`, and the bias, which is none.
    pub(super) fn solve(&self, kernel: &mut [Complex32]) -> f32 {
        for (k, y) in kernel.iter_mut().zip(&self.labels) {
            *k = y / (*k + self.lambda);
        }
        0.0
    }
}
