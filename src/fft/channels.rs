//! Half-spectra of the single channels of a map, for correlations with many supports.
//!
//! A [`LanePlan`] transforms 32 real channels as 16 complex ones. A single channel comes out of that spectrum by
//! symmetry: with `Z` the transform of `a + ib`, `A(f) = (Z(f) + conj Z(-f)) / 2` and
//! `B(f) = (Z(f) - conj Z(-f)) / 2i`.

use super::lanes::{CHANNELS, LanePlan};
use super::line::{Cell, LANES, split_real};
use crate::simd::leveled;

/// Floats of a block of 32 channels at one frequency: 32 real parts, then 32 imaginary parts.
const BIN: usize = 2 * CHANNELS;

/// The channels of one block at one frequency.
pub(super) type Bin = [f32; BIN];

/// A planned transform of maps of any number of channels to the half-spectra of each channel.
///
/// A map is `f32`, in blocks of 32 channels one after the other, each `[row][column][32]`; unused lanes are zero. Its
/// spectra are `f32`, `[frequency][block][64]`: the real parts of the block's 32 channels, then the imaginary parts.
/// The frequencies are those of [`PlanePlan`](super::PlanePlan), row by row. The transform is not normalised.
#[derive(Clone, Debug)]
pub struct ChannelPlan {
    lanes: LanePlan,
    blocks: usize,
}

leveled! {
    /// The half-spectra of one block's channels from its transformed cells, to the places `block` of `blocks`.
    fn to_channels(cells: &[Cell], rows: usize, cols: usize, block: usize, blocks: usize, out: &mut [Bin]) {
        let half = cols / 2 + 1;
        for (u, out) in out.chunks_exact_mut(half * blocks).enumerate() {
            for (v, out) in out.chunks_exact_mut(blocks).enumerate() {
                let opposite = (rows - u) % rows * cols + (cols - v) % cols;
                let (re, im) = split_real(&cells[u * cols + v], &cells[opposite]);
                let (to_re, to_im) = out[block].split_at_mut(CHANNELS);
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
    /// For maps of `rows` x `cols` cells of `channels` channels.
    pub fn new(rows: usize, cols: usize, channels: usize) -> Self {
        Self { lanes: LanePlan::new(rows, cols), blocks: channels.div_ceil(CHANNELS).max(1) }
    }

    /// Rows and columns of cells.
    pub fn size(&self) -> (usize, usize) {
        (self.lanes.rows, self.lanes.cols)
    }

    /// Blocks of 32 channels.
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// Frequencies of a half-spectrum: `rows * (cols / 2 + 1)`.
    pub fn frequencies(&self) -> usize {
        let (rows, cols) = self.size();
        rows * (cols / 2 + 1)
    }

    /// Floats of a map: `blocks * rows * cols * 32`.
    pub fn map_len(&self) -> usize {
        self.blocks * self.lanes.map_len()
    }

    /// Floats of a map's spectra: `frequencies * blocks * 64`.
    pub fn spectra_len(&self) -> usize {
        self.frequencies() * self.blocks * BIN
    }

    /// Floats of scratch that the transform needs.
    pub fn scratch_len(&self) -> usize {
        self.lanes.scratch_len()
    }

    fn check(&self, map: usize, spectra: usize) {
        assert_eq!(map, self.map_len(), "the map must have blocks * rows * cols * {CHANNELS} floats");
        assert_eq!(spectra, self.spectra_len(), "the spectra must have frequencies * blocks * {BIN} floats");
    }

    /// The spectra of the channels of `map`, whose values are overwritten.
    pub fn forward(&self, map: &mut [f32], spectra: &mut [f32], scratch: &mut [f32]) {
        self.check(map.len(), spectra.len());
        self.transform_from_top(map, self.lanes.rows, scratch);
        let (rows, cols) = self.size();
        for (block, map) in self.blocks_of(map) {
            to_channels(map.as_chunks().0, rows, cols, block, self.blocks, spectra.as_chunks_mut().0);
        }
    }

    /// Transforms every block of `map` as complex lanes; its rows are zero from `filled` on.
    pub(super) fn transform_from_top(&self, map: &mut [f32], filled: usize, scratch: &mut [f32]) {
        for (_, map) in self.blocks_of(map) {
            self.lanes.forward_from_rows(map, 0..filled, scratch);
        }
    }

    /// The first `wanted` rows of the inverse transform of a block filled by `merge_real`.
    pub(super) fn back_to_top(&self, block: &mut [f32], wanted: usize, scratch: &mut [f32]) {
        self.lanes.forward_to_rows(block, 0..wanted, scratch);
    }

    /// The blocks of a map.
    pub(super) fn blocks_of<'m>(&self, map: &'m mut [f32]) -> impl Iterator<Item = (usize, &'m mut [f32])> {
        map.chunks_exact_mut(self.lanes.map_len().max(1)).enumerate()
    }
}
