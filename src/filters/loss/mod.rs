//! Losses of a correlation filter: who computes its coefficients, from all cyclic shifts of one patch.
//!
//! The Gram matrix of all shifts is circulant. Its eigenvectors are Fourier modes, its eigenvalues the spectrum
//! `k̂^xx` of the kernel correlation of the patch with itself, and what a machine solves by factoring a matrix becomes
//! arithmetic on spectra. Every loss gives a function `f(z) = Σ αᵢ k(z, Pⁱx) + b`, whose values at all shifts of
//! `z` are `F^-1(k̂^zx ⊙ α̂) + b`; they differ in `α̂` and `b` alone:
//!
//! | loss | solves | coefficients |
//! | --- | --- | --- |
//! | [`Loss::Ridge`] | least squares on the regression labels: KCF itself | `ŷ ⊘ (k̂ + λ)` |
//! | [`Loss::Hinge`] | squared hinge on two classes | a fixed point of ridge regressions |
//! | [`Loss::Fisher`] | the Fisher discriminant of two classes | `ŷ ⊘ (k̂ + λ)` of classes without their mean |
//!
//! `λ` is what is added to the diagonal of the Gram matrix in all of them. The last two learn from the few shifts next
//! to none and from negatives that wrap around the patch, which no picture shows: windows of the real background are
//! the better teachers.

mod fisher;
mod hinge;
mod ridge;
#[cfg(test)]
mod tests;

use fisher::Fisher;
use hinge::Hinge;
use ridge::Ridge;

use crate::error::Result;
use crate::fft::{MapPlan, Scratch};
use crate::tape::{Recorded, Tape};
use rustfft::num_complex::Complex32;
use serde::{Deserialize, Serialize};

/// What a correlation filter minimises on the cyclic shifts of its patch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Loss {
    /// Kernel ridge regression on the regression labels (Henriques et al., TPAMI 2015, equation 17).
    #[default]
    Ridge,
    /// The squared hinge loss of a support vector machine (Zuo et al., "Learning Support Correlation Filters for Visual
    /// Tracking", TPAMI 2019).
    Hinge,
    /// The kernel Fisher discriminant.
    Fisher,
}

impl Loss {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Ridge, Self::Hinge, Self::Fisher];

    /// Their names, in the same order, each with what it is.
    pub const NAMES: [(&str, &str); 3] = [
        ("ridge", "least squares on smooth labels: KCF"),
        ("hinge", "squared hinge on binary labels: a support vector machine"),
        ("fisher", "least squares on centred binary labels: the Fisher discriminant"),
    ];

    /// The name as flags and files have it.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize].0
    }
}

impl std::fmt::Display for Loss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// The coefficients of a filter in the dual: an affine function of the kernel values with all shifts.
#[derive(Clone, Debug)]
pub(super) struct Dual {
    solver: Solver,
    /// `α̂`, a half-spectrum.
    alpha: Vec<Complex32>,
    bias: f32,
}

#[derive(Clone, Debug)]
enum Solver {
    Ridge(Ridge),
    Hinge(Hinge),
    Fisher(Fisher),
}

impl Dual {
    /// `labels` are the regression labels, their peak at no shift; all losses but ridge regression make two classes of
    /// them.
    pub(super) fn new(loss: Loss, plan: &MapPlan, lambda: f64, labels: &[f32], scratch: &mut Scratch) -> Self {
        let lambda = lambda as f32;
        let solver = match loss {
            Loss::Ridge => Solver::Ridge(Ridge::new(plan, lambda, labels, scratch)),
            Loss::Hinge => Solver::Hinge(Hinge::new(plan, lambda, classes(labels))),
            Loss::Fisher => Solver::Fisher(Fisher::new(plan, lambda, classes(labels), scratch)),
        };
        Self { solver, alpha: vec![Complex32::default(); plan.half_len()], bias: 0.0 }
    }

    /// Solves for the patch whose kernel correlation with itself is `kernel`, which is used up, and moves the
    /// coefficients by `rate` towards the solution.
    pub(super) fn learn(&mut self, plan: &MapPlan, kernel: &mut [Complex32], rate: f32, scratch: &mut Scratch) {
        let bias = match &mut self.solver {
            Solver::Ridge(ridge) => ridge.solve(kernel),
            Solver::Hinge(hinge) => hinge.solve(plan, kernel, scratch),
            Solver::Fisher(fisher) => fisher.solve(plan, kernel, scratch),
        };
        for (alpha, solved) in self.alpha.iter_mut().zip(kernel) {
            *alpha = *alpha * (1.0 - rate) + *solved * rate;
        }
        self.bias = self.bias * (1.0 - rate) + bias * rate;
    }

    /// The values at all shifts, from the kernel correlation `kernel` with the model, which is used up.
    pub(super) fn respond(
        &self,
        plan: &MapPlan,
        kernel: &mut [Complex32],
        response: &mut [f32],
        scratch: &mut Scratch,
    ) {
        // The inverse transform leaves a factor of the number of cells.
        let per_cell = 1.0 / response.len() as f32;
        kernel.iter_mut().zip(&self.alpha).for_each(|(k, a)| *k *= a * per_cell);
        plan.inverse(kernel, response, scratch);
        if self.bias != 0.0 {
            response.iter_mut().for_each(|v| *v += self.bias);
        }
    }
}

impl Recorded for Dual {
    fn record(&mut self, tape: &mut Tape<'_>) -> Result<()> {
        if let Solver::Hinge(hinge) = &mut self.solver {
            tape.f32s(hinge.excess_mut())?;
        }
        tape.complex(&mut self.alpha)?;
        tape.f32(&mut self.bias)
    }
}

#[cfg(test)]
impl Dual {
    pub(super) fn hinge_steps(&mut self, steps: usize) {
        if let Solver::Hinge(hinge) = &mut self.solver {
            hinge.steps = steps;
        }
    }
}

/// A shift whose regression label is above this is a positive sample.
const POSITIVE: f32 = 0.5;

/// +1 where the regression labels are near their peak, -1 elsewhere.
fn classes(labels: &[f32]) -> Vec<f32> {
    labels.iter().map(|&y| if y > POSITIVE { 1.0 } else { -1.0 }).collect()
}

/// The plane of a half-spectrum, normalised: the opposite of the forward transform.
fn plane(plan: &MapPlan, spectrum: &[Complex32], out: &mut [f32], scratch: &mut Scratch) {
    plan.inverse(spectrum, out, scratch);
    let per_cell = 1.0 / out.len() as f32;
    out.iter_mut().for_each(|v| *v *= per_cell);
}
