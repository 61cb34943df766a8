//! The kernelized correlation filter: kernel ridge regression on all cyclic shifts of a patch
//! (Henriques, Caseiro, Martins & Batista, "High-Speed Tracking with Kernelized Correlation Filters", TPAMI 2015), and the
//! other kernel machines in its place.

use super::circulant::{Form, Rule};
use crate::kernel::Kernel;
use crate::kernel::correlation::KernelCorrelator;
use crate::simd::SimdLevel;
use crate::spectrum::{FeatureMap, MapPlan, Scratch};
use rustfft::num_complex::Complex32;

/// A filter for feature maps of one size.
#[derive(Clone, Debug)]
pub struct Kcf {
    plan: MapPlan,
    correlator: KernelCorrelator,
    /// The model: what its machine learnt, and the appearance x̂ that it belongs to.
    rule: Rule,
    model: FeatureMap,
    model_energy: f32,
    trained: bool,
    /// The map at hand: features go in, its spectrum stays.
    input: FeatureMap,
    correlation: Vec<Complex32>,
    response: Vec<f32>,
    scratch: Scratch,
}

impl Kcf {
    /// A filter for maps of `rows` x `cols` cells of `channels` channels (1, or up to 32 in 32 floats a cell).
    ///
    /// `target` is the regression target `[row][column]` with its peak at (0, 0), `lambda` the regularisation.
    pub fn new(rows: usize, cols: usize, channels: usize, kernel: Kernel, lambda: f64, target: &[f32]) -> Self {
        Self::with_form(rows, cols, channels, kernel, lambda, target, Form::Ridge)
    }

    /// A filter whose coefficients are those of another machine, see [`circulant`](super::circulant). All but the first learn binary
    /// labels, or weights, made of `target`.
    pub fn with_form(
        rows: usize,
        cols: usize,
        channels: usize,
        kernel: Kernel,
        lambda: f64,
        target: &[f32],
        form: Form,
    ) -> Self {
        let plan = MapPlan::new(rows, cols, channels, SimdLevel::Best);
        let mut scratch = plan.scratch();
        Self {
            correlator: KernelCorrelator::new(kernel, &plan, channels),
            rule: Rule::new(form, &plan, lambda, target, &mut scratch),
            model: plan.map(),
            model_energy: 0.0,
            trained: false,
            input: plan.map(),
            correlation: vec![Complex32::default(); plan.half_len()],
            response: vec![0.0; rows * cols],
            scratch,
            plan,
        }
    }

    /// Rows and columns of the maps.
    pub fn size(&self) -> (usize, usize) {
        self.plan.size()
    }

    /// The memory to write the next feature map to, before [`Kcf::respond`] or [`Kcf::learn`] uses it up.
    pub fn input(&mut self) -> &mut [f32] {
        self.input.values_mut()
    }

    /// The response to every cyclic shift of the input map, `f = F^-1(k̂^xz ⊙ α̂) + b` (equation 22; KCF has no `b`): element (r, c)
    /// is the score of the target displaced by r rows and c columns, wrapped around.
    pub fn respond(&mut self) -> &[f32] {
        let Self { plan, scratch, correlation, response, .. } = self;
        plan.transform(&mut self.input, scratch);
        let energy =
            self.correlator.correlate(plan, &self.input, &self.model, Some(self.model_energy), correlation, scratch);
        match &mut self.rule {
            Rule::Affine(affine) => affine.respond(plan, correlation, response, scratch),
            Rule::Components(components) => {
                let own = self.correlator.own(energy);
                components.respond(plan, correlation, own, response, scratch);
            }
        }
        response
    }

    /// Learns the input map as the target at zero shift: solves the machine, `α̂ = ŷ ⊘ (k̂^xx + lambda)` (equation 17) for KCF, and moves
    /// the model by `rate` towards it; the first map is taken as it is.
    pub fn learn(&mut self, rate: f64) {
        let Self { plan, scratch, correlation, input, model, .. } = self;
        plan.transform(input, scratch);
        let rate = if self.trained { rate as f32 } else { 1.0 };
        match &mut self.rule {
            Rule::Affine(affine) => {
                self.correlator.correlate(plan, input, input, None, correlation, scratch);
                affine.learn(plan, correlation, rate, scratch);
                self.model_energy = plan.interpolate(model, input, rate);
            }
            // Coefficients can be averaged, directions of a subspace cannot: those are of the averaged appearance.
            Rule::Components(components) => {
                self.model_energy = plan.interpolate(model, input, rate);
                self.correlator.correlate(plan, model, model, None, correlation, scratch);
                components.learn(plan, correlation, scratch);
            }
        }
        self.trained = true;
    }

    /// The last response, `[row][column]`.
    pub fn response(&self) -> &[f32] {
        &self.response
    }

    /// Lets the support vector machine take this many steps for each patch.
    #[cfg(test)]
    pub(super) fn hinge_steps(&mut self, steps: usize) {
        if let Rule::Affine(affine) = &mut self.rule {
            affine.hinge_steps(steps);
        }
    }
}
