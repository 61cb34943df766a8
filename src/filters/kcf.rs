//! The kernelized correlation filter: kernel ridge regression on all cyclic shifts of a patch (Henriques, Caseiro,
//! Martins & Batista, "High-Speed Tracking with Kernelized Correlation Filters", TPAMI 2015).

use crate::archive::Archive;
use crate::fft::{FeatureMap, MapPlan, Scratch};
use crate::kernels::Kernel;
use crate::kernels::KernelCorrelator;
use rustfft::num_complex::Complex32;

/// A filter for feature maps of one size.
#[derive(Clone, Debug)]
pub struct Kcf {
    plan: MapPlan,
    correlator: KernelCorrelator,
    lambda: f32,
    /// The half-spectrum of the regression labels, ŷ.
    labels: Vec<Complex32>,
    /// The model: coefficients α̂, and the appearance x̂ that they belong to.
    alpha: Vec<Complex32>,
    model: FeatureMap,
    model_energy: f32,
    trained: bool,
    /// The current map: features go in, its spectrum stays.
    input: FeatureMap,
    correlation: Vec<Complex32>,
    response: Vec<f32>,
    scratch: Scratch,
}

impl Kcf {
    /// A filter for maps of `rows` x `cols` cells of up to 32 channels.
    ///
    /// `labels` are the regression labels `[row][column]` with their peak at (0, 0), `lambda` is the regularisation.
    pub fn new(rows: usize, cols: usize, channels: usize, kernel: Kernel, lambda: f64, labels: &[f32]) -> Self {
        let plan = MapPlan::new(rows, cols, channels);
        let mut scratch = plan.scratch();
        let mut spectrum = vec![Complex32::default(); plan.half_len()];
        plan.forward(labels, &mut spectrum, &mut scratch);
        Self {
            correlator: KernelCorrelator::new(kernel, &plan, channels),
            lambda: lambda as f32,
            labels: spectrum,
            alpha: vec![Complex32::default(); plan.half_len()],
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

    /// The response to every cyclic shift of the input map, `f = F^-1(k̂^xz ⊙ α̂)` (equation 22): element (r, c) is
    /// the score of the target displaced by r rows and c columns, wrapped around.
    pub fn respond(&mut self) -> &[f32] {
        let Self { plan, scratch, correlation, response, .. } = self;
        plan.transform(&mut self.input, scratch);
        let energy = Some(self.model_energy);
        self.correlator.correlate(plan, &self.input, &self.model, energy, correlation, scratch);
        // The inverse transform leaves a factor of the number of cells.
        let per_cell = 1.0 / response.len() as f32;
        correlation.iter_mut().zip(&self.alpha).for_each(|(k, a)| *k *= a * per_cell);
        plan.inverse(correlation, response, scratch);
        response
    }

    /// Learns the input map as the target at zero shift: solves for the coefficients, `α̂ = ŷ ⊘ (k̂^xx + lambda)`
    /// (equation 17), and moves the model by `rate` towards them; the first map is taken as it is.
    pub fn learn(&mut self, rate: f64) {
        self.plan.transform(&mut self.input, &mut self.scratch);
        self.learn_again(rate);
    }

    /// Learns like [`Kcf::learn`] from the last map, whose spectrum is still there.
    pub fn learn_again(&mut self, rate: f64) {
        let rate = if self.trained { rate as f32 } else { 1.0 };
        let Self { plan, scratch, correlation, input, model, correlator, .. } = self;
        self.model_energy = plan.interpolate(model, input, rate);
        correlator.correlate(plan, input, input, None, correlation, scratch);
        for ((alpha, k), y) in self.alpha.iter_mut().zip(correlation).zip(&self.labels) {
            *alpha = *alpha * (1.0 - rate) + y / (*k + self.lambda) * rate;
        }
        self.trained = true;
    }

    /// Writes or reads what was learned, and the last response.
    pub(crate) fn transfer(&mut self, archive: &mut Archive<'_>) {
        archive.complex(&mut self.alpha);
        self.model.transfer(archive);
        archive.floats(&mut self.response);
        archive.value(&mut self.model_energy);
    }

    /// The last response, `[row][column]`.
    pub fn response(&self) -> &[f32] {
        &self.response
    }

    /// The planes behind the last response, `[row][column]`: the kernel correlation of the input with the model, the
    /// coefficients α, and the power `Σ_c |x̂_c|²` of the model's spectrum.
    #[cfg(feature = "cli")]
    pub(crate) fn planes(&mut self) -> [Vec<f32>; 3] {
        let Self { plan, scratch, correlation, input, model, correlator, .. } = self;
        let per_cell = 1.0 / self.response.len() as f32;
        let plane = |spectrum: &[Complex32], scratch: &mut Scratch| {
            let mut plane = vec![0.0; self.response.len()];
            plan.inverse(spectrum, &mut plane, scratch);
            plane.iter_mut().for_each(|value| *value *= per_cell);
            plane
        };
        let energy = Some(self.model_energy);
        correlator.correlate(plan, input, model, energy, correlation, scratch);
        let kernel = plane(correlation, scratch);
        let alpha = plane(&self.alpha, scratch);
        plan.cross_power(model, model, correlation, scratch);
        // Half of the frequencies are there; the others are their mirror image.
        let (rows, cols) = plan.size();
        let half = cols / 2 + 1;
        let power = |(u, v): (usize, usize)| match v < half {
            true => correlation[u * half + v].re,
            false => correlation[(rows - u) % rows * half + cols - v].re,
        };
        [kernel, alpha, (0..rows * cols).map(|i| power((i / cols, i % cols))).collect()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::gaussian_labels as gaussian;

    fn value(i: usize, seed: usize) -> f32 {
        ((i * 7919 + seed * 104_729) % 1013) as f32 / 1013.0
    }

    fn filter((rows, cols): (usize, usize), channels: usize) -> Kcf {
        let labels = gaussian(rows, cols, 0.8);
        let mut filter = Kcf::new(rows, cols, channels, Kernel::Gaussian { sigma: 0.5 }, 1e-4, &labels);
        write(&mut filter, 1, (0, 0));
        filter.learn(1.0);
        filter
    }

    /// A map of noise; its cell (r, c) is that of another one at (r, c) less `shift`.
    fn write(filter: &mut Kcf, seed: usize, shift: (usize, usize)) {
        let (rows, cols) = filter.size();
        let lanes = filter.input().len() / (rows * cols);
        for (i, v) in filter.input().iter_mut().enumerate() {
            let (r, c) = (i / lanes / cols, i / lanes % cols);
            let from = (r + rows - shift.0) % rows * cols + (c + cols - shift.1) % cols;
            *v = value(from * lanes + i % lanes, seed);
        }
    }

    /// The answer to a map of its own, to the last bit.
    fn answer(filter: &mut Kcf) -> Vec<u32> {
        write(filter, 3, (1, 2));
        filter.respond().iter().map(|v| v.to_bits()).collect()
    }

    #[test]
    fn a_spectrum_at_hand_is_learned_as_its_map_would_be() {
        for (size, channels) in [((5, 6), 31), ((7, 4), 31), ((9, 8), 1)] {
            let (mut anew, mut again) = (filter(size, channels), filter(size, channels));
            write(&mut anew, 2, (0, 0));
            anew.learn(0.3);
            write(&mut again, 2, (0, 0));
            again.respond();
            again.learn_again(0.3);
            assert_eq!(answer(&mut anew), answer(&mut again), "{size:?}, {channels}");
        }
    }
}
