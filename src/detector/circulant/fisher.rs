//! The kernel Fisher discriminant on all cyclic shifts.
//!
//! With two classes it is ridge regression on binary labels in the centred feature space (Mika et al. 1999; Xu, Zhang & Li, "Kernel
//! MSE algorithm", 2001). Centring takes the mean from the labels and from the kernel values, and both are the coefficient
//! of the constant Fourier mode: it is left out.

use super::{calibration, plane};
use crate::spectrum::{MapPlan, Scratch};
use rustfft::num_complex::Complex32;

#[derive(Clone, Debug)]
pub(super) struct Fisher {
    lambda: f32,
    labels: Vec<f32>,
    /// The labels' half-spectrum without the constant mode.
    target: Vec<Complex32>,
    spectrum: Vec<Complex32>,
    values: Vec<f32>,
}

impl Fisher {
    pub(super) fn new(plan: &MapPlan, lambda: f32, labels: Vec<f32>, scratch: &mut Scratch) -> Self {
        let mut target = vec![Complex32::default(); plan.half_len()];
        plan.forward(&labels, &mut target, scratch);
        target[0] = Complex32::default();
        let (spectrum, values) = (target.clone(), vec![0.0; labels.len()]);
        Self { lambda, labels, target, spectrum, values }
    }

    /// `α̂` in the place of `k̂^xx`, and the bias, such that the class means are +1 and -1.
    pub(super) fn solve(&mut self, plan: &MapPlan, kernel: &mut [Complex32], scratch: &mut Scratch) -> f32 {
        for ((k, y), f) in kernel.iter_mut().zip(&self.target).zip(&mut self.spectrum) {
            let alpha = y / (*k + self.lambda);
            *f = alpha * *k;
            *k = alpha;
        }
        plane(plan, &self.spectrum, &mut self.values, scratch);
        let (gain, bias) = calibration(&self.values, &self.labels);
        kernel.iter_mut().for_each(|k| *k *= gain);
        bias
    }
}
