//! Kernel machines on all cyclic shifts of one patch: who computes the coefficients of a correlation filter.
//!
//! The Gram matrix of all shifts is circulant. Its eigenvectors are Fourier modes, its eigenvalues the spectrum `k̂^xx` of the kernel
//! correlation of the patch with itself, and what a machine solves by factoring a matrix becomes arithmetic on spectra. All
//! but the [components](Form::Components) give a function `f(z) = Σ αᵢ k(z, Pⁱx) + b`, whose values at all shifts of `z` are
//! `F^-1(k̂^zx ⊙ α̂) + b`; they differ in `α̂` and `b` alone:
//!
//! | machine | solves | coefficients |
//! | --- | --- | --- |
//! | [`Form::Ridge`] | least squares on the regression target: KCF itself | `ŷ ⊘ (k̂ + λ)` |
//! | [`Form::Hinge`] | squared hinge on binary labels | a fixed point of ridge regressions |
//! | [`Form::Fisher`] | the Fisher discriminant of binary labels | `ŷ ⊘ (k̂ + λ)` of labels without their mean |
//! | [`Form::Exemplar`] | the square loss of one shift against all others | two ridge regressions, a rank-one correction |
//! | [`Form::Components`] | the principal components of the shifts near zero | novelty |
//!
//! `λ` is what is added to the diagonal of the Gram matrix in all of them. The discriminative ones learn from a single positive (or the few
//! shifts next to it) and from negatives that wrap around the patch, which no picture shows: windows of the real
//! background are the better teachers.

mod components;
mod exemplar;
mod fisher;
mod hinge;
mod ridge;
#[cfg(test)]
mod tests;

pub(super) use components::Components;
use exemplar::Exemplar;
use fisher::Fisher;
use hinge::Hinge;
use ridge::Ridge;

use crate::spectrum::{MapPlan, Scratch};
use rustfft::num_complex::Complex32;

/// Which machine learns the cyclic shifts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Kernel ridge regression on the regression target (Henriques et al., TPAMI 2015, equation 17).
    #[default]
    Ridge,
    /// The support vector machine with squared hinge loss (Zuo et al., "Learning Support Correlation Filters for Visual
    /// Tracking", TPAMI 2019).
    Hinge,
    /// The kernel Fisher discriminant.
    Fisher,
    /// The square-loss exemplar machine.
    Exemplar,
    /// Kernel principal components: novelty.
    Components,
}

/// The part of a filter that is its machine's own.
#[derive(Clone, Debug)]
pub(super) enum Rule {
    Affine(Affine),
    Components(Box<Components>),
}

impl Rule {
    /// `target` is the regression target, its peak at no shift; binary labels are made of it.
    pub(super) fn new(form: Form, plan: &MapPlan, lambda: f64, target: &[f32], scratch: &mut Scratch) -> Self {
        let lambda = lambda as f32;
        let solver = match form {
            Form::Ridge => Solver::Ridge(Ridge::new(plan, lambda, target, scratch)),
            Form::Hinge => Solver::Hinge(Hinge::new(plan, lambda, labels(target))),
            Form::Fisher => Solver::Fisher(Fisher::new(plan, lambda, labels(target), scratch)),
            Form::Exemplar => Solver::Exemplar(Exemplar::new(plan, lambda)),
            Form::Components => return Self::Components(Box::new(Components::new(plan, target, scratch))),
        };
        Self::Affine(Affine { solver, alpha: vec![Complex32::default(); plan.half_len()], bias: 0.0 })
    }
}

/// An affine function of the kernel values with all shifts.
#[derive(Clone, Debug)]
pub(super) struct Affine {
    solver: Solver,
    alpha: Vec<Complex32>,
    bias: f32,
}

#[derive(Clone, Debug)]
enum Solver {
    Ridge(Ridge),
    Hinge(Hinge),
    Fisher(Fisher),
    Exemplar(Exemplar),
}

impl Affine {
    /// Solves the machine for the patch whose kernel correlation with itself is `kernel`, which is used up, and moves the coefficients by
    /// `rate` towards the solution.
    pub(super) fn learn(&mut self, plan: &MapPlan, kernel: &mut [Complex32], rate: f32, scratch: &mut Scratch) {
        let bias = match &mut self.solver {
            Solver::Ridge(ridge) => ridge.solve(kernel),
            Solver::Hinge(hinge) => hinge.solve(plan, kernel, scratch),
            Solver::Fisher(fisher) => fisher.solve(plan, kernel, scratch),
            Solver::Exemplar(exemplar) => exemplar.solve(plan, kernel, scratch),
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

#[cfg(test)]
impl Affine {
    pub(super) fn hinge_steps(&mut self, steps: usize) {
        if let Solver::Hinge(hinge) = &mut self.solver {
            hinge.steps = steps;
        }
    }
}

/// A regression target above this is a positive sample.
const POSITIVE: f32 = 0.5;

/// +1 where the regression target is near its peak, -1 elsewhere.
fn labels(target: &[f32]) -> Vec<f32> {
    target.iter().map(|&y| if y > POSITIVE { 1.0 } else { -1.0 }).collect()
}

/// The plane of a half-spectrum, normalised: the opposite of the forward transform.
fn plane(plan: &MapPlan, spectrum: &[Complex32], out: &mut [f32], scratch: &mut Scratch) {
    plan.inverse(spectrum, out, scratch);
    let per_cell = 1.0 / out.len() as f32;
    out.iter_mut().for_each(|v| *v *= per_cell);
}

/// The gain and the bias that move the means of the two classes to +1 and -1. Classes whose means do not differ get no gain.
fn calibration(values: &[f32], labels: &[f32]) -> (f32, f32) {
    let mean = |label: f32| {
        let of = || values.iter().zip(labels).filter(|(_, y)| **y == label).map(|(v, _)| f64::from(*v));
        of().sum::<f64>() / of().count().max(1) as f64
    };
    let (target, background) = (mean(1.0), mean(-1.0));
    let gain = 2.0 / (target - background);
    if !gain.is_normal() || target <= background {
        return (0.0, 0.0);
    }
    (gain as f32, (-gain * 0.5 * (target + background)) as f32)
}
