//! Kernel correlation: a kernel between one signal and all cyclic shifts of another, by FFT
//! (Henriques et al., TPAMI 2015, section 5 and appendix A).

use super::Kernel;
use crate::fft::{FeatureMap, MapPlan, Scratch};
use crate::profile::{Stage, Stopwatch};
use rustfft::num_complex::Complex32;

/// Correlates feature maps of one size under one kernel.
#[derive(Clone, Debug)]
pub struct KernelCorrelator {
    kernel: Kernel,
    /// 1 / (rows * columns * channels): kernels take means over the features, so bandwidths fit any size.
    per_feature: f32,
    plane: Vec<f32>,
}

impl KernelCorrelator {
    /// For maps of `plan`'s size with `channels` channels.
    pub fn new(kernel: Kernel, plan: &MapPlan, channels: usize) -> Self {
        let (rows, cols) = plan.size();
        let plane = if kernel == Kernel::Linear { 0 } else { rows * cols };
        let per_feature = 1.0 / (rows * cols * channels) as f32;
        Self { kernel, per_feature, plane: vec![0.0; plane] }
    }

    /// The half-spectrum of the kernel correlation `k^zx` to `out`; its element at a shift belongs to `z` displaced
    /// against `x` by that shift. `z`, `x` are transformed maps; `xx` is the energy of `x`, or `None` when `x` is `z`.
    ///
    /// - linear: `k̂ = sum_c ẑ_c ⊙ conj(x̂_c) / D`;
    /// - polynomial: `k = (F^-1(sum_c ẑ_c ⊙ conj(x̂_c)) / D + a)^b`;
    /// - Gaussian: `k = exp(-max(0, ‖z‖² + ‖x‖² - 2 F^-1(sum_c ẑ_c ⊙ conj(x̂_c))) / (D sigma²))`,
    ///
    /// where `D` is the number of feature values.
    #[allow(clippy::too_many_arguments)]
    pub fn correlate(
        &mut self,
        plan: &MapPlan,
        z: &FeatureMap,
        x: &FeatureMap,
        xx: Option<f32>,
        out: &mut [Complex32],
        scratch: &mut Scratch,
        watch: &mut Stopwatch,
    ) {
        watch.start();
        let zz = plan.cross_power(z, x, out, scratch);
        watch.lap(Stage::CrossPower);
        let d = self.per_feature;
        if self.kernel == Kernel::Linear {
            out.iter_mut().for_each(|v| *v *= d);
            watch.lap(Stage::KernelMap);
            return;
        }
        plan.inverse(out, &mut self.plane, scratch);
        watch.lap(Stage::KernelInverse);
        let (rows, cols) = plan.size();
        let normalise = 1.0 / (rows * cols) as f32;
        self.plane.iter_mut().for_each(|v| *v *= normalise);
        self.kernel.apply(&mut self.plane, zz, xx.unwrap_or(zz), d);
        watch.lap(Stage::KernelMap);
        plan.forward(&self.plane, out, scratch);
        watch.lap(Stage::KernelForward);
    }
}
