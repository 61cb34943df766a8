//! The kernel Fisher discriminant on all cyclic shifts.
//!
//! With two classes it is ridge regression on binary labels in the centred feature space (Mika et al. 1999; Xu, Zhang &
//! Li, "Kernel MSE algorithm", 2001). Centring takes the mean from the labels and from the kernel values, and both are
//! the coefficient of the constant Fourier mode: it is left out.

use super::plane;
use crate::fft::{MapPlan, Scratch};
use rustfft::num_complex::Complex32;

#[derive(Clone, Debug)]
pub(super) struct Fisher {
    lambda: f32,
    classes: Vec<f32>,
    /// The half-spectrum of the classes without the constant mode.
    centred: Vec<Complex32>,
    spectrum: Vec<Complex32>,
    values: Vec<f32>,
}

impl Fisher {
    pub(super) fn new(plan: &MapPlan, lambda: f32, classes: Vec<f32>, scratch: &mut Scratch) -> Self {
        let mut centred = vec![Complex32::default(); plan.half_len()];
        plan.forward(&classes, &mut centred, scratch);
        centred[0] = Complex32::default();
        let (spectrum, values) = (centred.clone(), vec![0.0; classes.len()]);
        Self { lambda, classes, centred, spectrum, values }
    }

    /// `α̂` in the place of `k̂^xx`, and the bias, such that the class means are +1 and -1.
    pub(super) fn solve(&mut self, plan: &MapPlan, kernel: &mut [Complex32], scratch: &mut Scratch) -> f32 {
        for ((k, y), f) in kernel.iter_mut().zip(&self.centred).zip(&mut self.spectrum) {
            let alpha = y / (*k + self.lambda);
            *f = alpha * *k;
            *k = alpha;
        }
        plane(plan, &self.spectrum, &mut self.values, scratch);
        let (gain, bias) = calibration(&self.values, &self.classes);
        kernel.iter_mut().for_each(|k| *k *= gain);
        bias
    }
}

/// The gain and the bias that move the means of the two classes to +1 and -1. Classes whose means do not differ get no
/// gain.
fn calibration(values: &[f32], classes: &[f32]) -> (f32, f32) {
    let mean = |class: f32| {
        let of = || values.iter().zip(classes).filter(|(_, y)| **y == class).map(|(v, _)| f64::from(*v));
        of().sum::<f64>() / of().count().max(1) as f64
    };
    let (target, background) = (mean(1.0), mean(-1.0));
    let gain = 2.0 / (target - background);
    if !gain.is_normal() || target <= background {
        return (0.0, 0.0);
    }
    (gain as f32, (-gain * 0.5 * (target + background)) as f32)
}
