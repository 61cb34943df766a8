//! Half-spectra of the single channels of a map, for correlations with many supports.
//!
//! A [`LanePlan`] transforms 32 real channels as 16 complex ones. A single channel comes out of that spectrum by
//! symmetry: with `Z` the transform of `a + ib`, `A(f) = (Z(f) + conj Z(-f)) / 2` and
//! `B(f) = (Z(f) - conj Z(-f)) / 2i`.

use super::lanes::{CHANNELS, LanePlan};
use super::line::{Cell, LANES, split_real};
use crate::simd::leveled;

/// Floats of 32 channels at one frequency: 32 real parts, then 32 imaginary parts.
const BIN: usize = 2 * CHANNELS;

/// The channels at one frequency.
pub(super) type Bin = [f32; BIN];

/// A planned transform of maps of up to 32 channels to the half-spectra of each channel.
///
/// A map is `f32`, `[row][column][32]`; unused lanes are zero. Its spectra are `f32`, `[frequency][64]`: the real parts of
/// the 32 channels, then the imaginary parts. The frequencies are those of [`PlanePlan`](super::PlanePlan), row by row.
/// The transform is not normalised.
#[derive(Clone, Debug)]
pub struct ChannelPlan {
    pub(super) lanes: LanePlan,
}

leveled! {
    /// The half-spectra of the channels of transformed cells.
    fn to_channels(cells: &[Cell], rows: usize, cols: usize, out: &mut [Bin]) {
        for (u, out) in out.chunks_exact_mut(cols / 2 + 1).enumerate() {
            for (v, out) in out.iter_mut().enumerate() {
                let opposite = (rows - u) % rows * cols + (cols - v) % cols;
                let (re, im) = split_real(&cells[u * cols + v], &cells[opposite]);
                let (to_re, to_im) = out.split_at_mut(CHANNELS);
                to_re.copy_from_slice(&re);
                to_im.copy_from_slice(&im);
            }
        }
    }
}

/// Writes `A + iB` to the frequency `(u, v)` and its mirror image to the opposite one. `A` and `B` are the real and
/// imaginary parts of 16 real signals each. Real and imaginary parts are swapped, so a forward transform acts as the
/// inverse one: the signals of `A` go to the first 16 lanes and those of `B` to the others.
#[inline(always)]
pub(super) fn merge_real(
    cells: &mut [Cell],
    (rows, cols): (usize, usize),
    (u, v): (usize, usize),
    [(a_re, a_im), (b_re, b_im)]: [(&[f32; LANES], &[f32; LANES]); 2],
) {
    let cell = &mut cells[u * cols + v];
    for l in 0..LANES {
        cell[l] = a_re[l] + b_im[l];
        cell[LANES + l] = b_re[l] - a_im[l];
    }
    if v > 0 && 2 * v < cols {
        let cell = &mut cells[(rows - u) % rows * cols + cols - v];
        for l in 0..LANES {
            cell[l] = a_re[l] - b_im[l];
            cell[LANES + l] = b_re[l] + a_im[l];
        }
    }
}

impl ChannelPlan {
    /// For maps of `rows` x `cols` cells.
    pub fn new(rows: usize, cols: usize) -> Self {
        Self { lanes: LanePlan::new(rows, cols) }
    }

    /// Rows and columns of cells.
    pub fn size(&self) -> (usize, usize) {
        (self.lanes.rows, self.lanes.cols)
    }

    /// Frequencies of a half-spectrum: `rows * (cols / 2 + 1)`.
    pub fn frequencies(&self) -> usize {
        let (rows, cols) = self.size();
        rows * (cols / 2 + 1)
    }

    /// Floats of a map: `rows * cols * 32`.
    pub fn map_len(&self) -> usize {
        self.lanes.map_len()
    }

    /// Floats of a map's spectra: `frequencies * 64`.
    pub fn spectra_len(&self) -> usize {
        self.frequencies() * BIN
    }

    /// Floats of scratch that the transform needs.
    pub fn scratch_len(&self) -> usize {
        self.lanes.scratch_len()
    }

    /// The spectra of the channels of `map`, whose values are overwritten.
    pub fn forward(&self, map: &mut [f32], spectra: &mut [f32], scratch: &mut [f32]) {
        assert_eq!(spectra.len(), self.spectra_len(), "the spectra must have frequencies * {BIN} floats");
        self.lanes.forward(map, scratch);
        let (rows, cols) = self.size();
        to_channels(map.as_chunks().0, rows, cols, spectra.as_chunks_mut().0);
    }
}
