//! The support vector machine with squared hinge loss on all cyclic shifts (Zuo et al., TPAMI 2019).
//!
//! `min ½ ‖h‖² + 1/(2λ) Σ max(0, 1 - yᵢ fᵢ)²` over `f = h + b`. A sample with `yᵢ fᵢ > 1` costs
//! nothing, as if its label were `fᵢ`: for the right excess `eᵢ = max(0, yᵢ fᵢ - 1)` the minimiser is that of
//! ridge regression on the labels `y + y e`. The two are found in turn; each step is one division of spectra.

use super::plane;
use crate::fft::{MapPlan, Scratch};
use rustfft::num_complex::Complex32;

/// Steps for each patch. The excess of the last patch is the start for the next.
const STEPS: usize = 10;

#[derive(Clone, Debug)]
pub(super) struct Hinge {
    lambda: f32,
    pub(super) steps: usize,
    classes: Vec<f32>,
    excess: Vec<f32>,
    values: Vec<f32>,
    spectrum: Vec<Complex32>,
}

impl Hinge {
    pub(super) fn new(plan: &MapPlan, lambda: f32, classes: Vec<f32>) -> Self {
        let (excess, values) = (vec![0.0; classes.len()], vec![0.0; classes.len()]);
        Self { lambda, steps: STEPS, classes, excess, values, spectrum: vec![Complex32::default(); plan.half_len()] }
    }

    /// What the next patch starts from.
    pub(super) fn excess_mut(&mut self) -> &mut [f32] {
        &mut self.excess
    }

    /// `α̂` in the place of `k̂^xx`, and the bias.
    pub(super) fn solve(&mut self, plan: &MapPlan, kernel: &mut [Complex32], scratch: &mut Scratch) -> f32 {
        let mut bias = 0.0;
        for step in 0..self.steps {
            // With the bias that is the mean of these labels the coefficients have the sum zero, as its optimality asks
            // for.
            let mut sum = 0.0;
            for ((value, y), e) in self.values.iter_mut().zip(&self.classes).zip(&self.excess) {
                *value = y + y * e;
                sum += f64::from(*value);
            }
            bias = (sum / self.classes.len() as f64) as f32;
            self.values.iter_mut().for_each(|v| *v -= bias);
            plan.forward(&self.values, &mut self.spectrum, scratch);
            if step + 1 == self.steps {
                break;
            }
            for (q, k) in self.spectrum.iter_mut().zip(kernel.iter()) {
                *q = *q / (k + self.lambda) * k;
            }
            plane(plan, &self.spectrum, &mut self.values, scratch);
            for ((e, f), y) in self.excess.iter_mut().zip(&self.values).zip(&self.classes) {
                *e = (y * (f + bias) - 1.0).max(0.0);
            }
        }
        for (k, q) in kernel.iter_mut().zip(&self.spectrum) {
            *k = q / (*k + self.lambda);
        }
        bias
    }
}
