//! The kernelized correlation filter: kernel ridge regression on all cyclic shifts of a patch
//! (Henriques, Caseiro, Martins & Batista, "High-Speed Tracking with Kernelized Correlation Filters", TPAMI 2015).

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
    lambda: f32,
    /// The regression target's half-spectrum, ŷ.
    target: Vec<Complex32>,
    /// The model: dual coefficients α̂ and the appearance x̂ that they belong to.
    alpha: Vec<Complex32>,
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
        let plan = MapPlan::new(rows, cols, channels, SimdLevel::Best);
        let mut scratch = plan.scratch();
        let empty = vec![Complex32::default(); plan.half_len()];
        let mut spectrum = empty.clone();
        plan.forward(target, &mut spectrum, &mut scratch);
        Self {
            correlator: KernelCorrelator::new(kernel, &plan, channels),
            lambda: lambda as f32,
            target: spectrum,
            alpha: empty.clone(),
            model: plan.map(),
            model_energy: 0.0,
            trained: false,
            input: plan.map(),
            correlation: empty,
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

    /// The response to every cyclic shift of the input map, `f = F^-1(k̂^xz ⊙ α̂)` (equation 22): element (r, c) is the
    /// score of the target displaced by r rows and c columns, wrapped around.
    pub fn respond(&mut self) -> &[f32] {
        self.plan.transform(&mut self.input, &mut self.scratch);
        self.correlator.correlate(
            &self.plan,
            &self.input,
            &self.model,
            Some(self.model_energy),
            &mut self.correlation,
            &mut self.scratch,
        );
        // The inverse transform leaves a factor of the number of cells.
        let per_cell = 1.0 / self.response.len() as f32;
        self.correlation.iter_mut().zip(&self.alpha).for_each(|(k, a)| *k *= a * per_cell);
        self.plan.inverse(&self.correlation, &mut self.response, &mut self.scratch);
        &self.response
    }

    /// Learns the input map as the target at zero shift: `α̂ = ŷ ⊘ (k̂^xx + lambda)` (equation 17), and moves the model
    /// by `rate` towards it; the first map is taken as it is.
    pub fn learn(&mut self, rate: f64) {
        self.plan.transform(&mut self.input, &mut self.scratch);
        let x = &self.input;
        self.correlator.correlate(&self.plan, x, x, None, &mut self.correlation, &mut self.scratch);
        let rate = if self.trained { rate as f32 } else { 1.0 };
        for ((alpha, k), y) in self.alpha.iter_mut().zip(&self.correlation).zip(&self.target) {
            *alpha = *alpha * (1.0 - rate) + y / (k + self.lambda) * rate;
        }
        self.model_energy = self.plan.interpolate(&mut self.model, &self.input, rate);
        self.trained = true;
    }

    /// The last response, `[row][column]`.
    pub fn response(&self) -> &[f32] {
        &self.response
    }
}
