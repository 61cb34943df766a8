//! Fewer channels: the projection of a feature map's cells onto their first principal axes.

use nalgebra::{DMatrix, SymmetricEigen};

use crate::fft::CHANNELS;
use crate::simd::leveled;

/// Orthonormal axes in the space of a cell's channels.
#[derive(Clone, Debug)]
pub struct Projection {
    /// `[channel][axis]`, 16 axes a channel.
    axes: Vec<[f32; 16]>,
    kept: usize,
}

leveled! {
    fn project(cells: &[[f32; CHANNELS]], axes: &[[f32; 16]], out: &mut [[f32; 16]]) {
        for (cell, out) in cells.iter().zip(out) {
            let mut sums = [0.0f32; 16];
            for (value, axis) in cell.iter().zip(axes) {
                for l in 0..16 {
                    sums[l] += value * axis[l];
                }
            }
            *out = sums;
        }
    }
}

impl Projection {
    /// The `kept` (at most 16) axes of the largest mean square of the cells of `map`, `[cell][32]` of `channels`
    /// channels. They are not centred, so that distances between windows stay distances.
    pub fn new(map: &[f32], channels: usize, kept: usize) -> Self {
        let mut moments = DMatrix::<f64>::zeros(channels, channels);
        for cell in map.as_chunks::<CHANNELS>().0 {
            for i in 0..channels {
                for j in 0..=i {
                    moments[(i, j)] += f64::from(cell[i]) * f64::from(cell[j]);
                }
            }
        }
        moments.fill_upper_triangle_with_lower_triangle();
        let eigen = SymmetricEigen::new(moments);
        let mut order: Vec<usize> = (0..channels).collect();
        order.sort_by(|&a, &b| eigen.eigenvalues[b].total_cmp(&eigen.eigenvalues[a]));
        let mut axes = vec![[0.0; 16]; CHANNELS];
        for (to, &from) in order.iter().take(kept.min(16)).enumerate() {
            for (axis, value) in axes.iter_mut().zip(eigen.eigenvectors.column(from).iter()) {
                axis[to] = *value as f32;
            }
        }
        Self { axes, kept: kept.min(16) }
    }

    /// How many axes there are.
    pub fn kept(&self) -> usize {
        self.kept
    }

    /// Projects the cells of `map` (32 floats each) to `out` (16 floats each, those beyond the axes zero).
    pub fn apply(&self, map: &[f32], out: &mut [f32]) {
        project(map.as_chunks().0, &self.axes, out.as_chunks_mut().0);
    }
}
