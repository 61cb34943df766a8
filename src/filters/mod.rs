//! Detectors: from feature maps to a response for every translation.
//!
//! The filter, [`kcf`], learns all cyclic shifts of one patch. Its sibling [`background`], solved in the
//! primal, keeps to the target and takes every shift of the search area for background. A
//! [`WindowDetector`](windows::WindowDetector) learns real windows: a [`bank`] remembers them, a machine is fitted to
//! it, the [`dense`] engine scores all windows of a search map.
//! `scale_rotation` finds size and angle by 1-D filters.

pub mod background;
pub mod bank;
pub(crate) mod correlation_1d;
pub mod dense;
pub mod kcf;
pub(crate) mod scale_rotation;
pub mod windows;

#[cfg(test)]
mod test_maps {
    //! Random maps, and inner products of double precision.

    use rand::{RngExt, SeedableRng};

    /// Random numbers from 0 to 0.4, as the values of HOG are.
    pub fn noise(len: usize, seed: u64) -> Vec<f32> {
        let mut rng = rand_pcg::Pcg32::seed_from_u64(seed);
        (0..len).map(|_| rng.random_range(0.0..0.4)).collect()
    }

    /// Cells of `stride` floats, of which the first `channels` are random and the rest zero.
    pub fn cells(count: usize, channels: usize, stride: usize, seed: u64) -> Vec<f32> {
        let mut values = noise(count * stride, seed);
        values.chunks_exact_mut(stride).for_each(|cell| cell[channels..].fill(0.0));
        values
    }

    /// `Σ m² a b`; `weights` are the squared mask, one a cell.
    pub fn masked_dot(a: &[f32], b: &[f32], weights: &[f32]) -> f64 {
        let stride = a.len() / weights.len();
        let of_cell = |i: usize| -> f64 {
            (i * stride..(i + 1) * stride).map(|at| f64::from(a[at]) * f64::from(b[at])).sum::<f64>()
        };
        weights.iter().enumerate().map(|(i, &w)| f64::from(w) * of_cell(i)).sum()
    }
}
