//! The 31-channel histogram of oriented gradients of Felzenszwalb et al. (TPAMI 2010, section 6.2), as the KCF's
//! authors computed it: 18 signed and 9 unsigned orientations and 4 texture energies for each cell.
//!
//! What decides boxes and is easily missed:
//! - gradients are central differences, one-sided at the border of the patch, so twice as strong there;
//! - an orientation goes to the *nearest* of 18 bins, whole; one exactly between two (a vertical gradient, everywhere
//!   in 8-bit pictures) goes to the higher one, 5 or 14;
//! - magnitudes are shared bilinearly between the four nearest cells; a border cell misses what lies outside the patch,
//!   so its sums are taken times 8/7;
//! - a cell is normalised by each of the four 2x2 blocks that it belongs to; blocks that reach over the border borrow
//!   the norm of their inner neighbour;
//! - values are clipped at 0.2 and averaged in pairs: sum of four times 0.5; the texture is the sum over the signed
//!   orientations of one block's values times 0.2357.

pub mod batch;
mod cell;
pub mod colors;
mod gradient;

use std::ops::Range;

use super::{Extractor, Lanes, Taper};
use crate::frame::Channels;
use crate::profile::{Stage, Stopwatch};
use crate::simd::leveled;
pub use cell::{CHANNELS, LANES};
use cell::{SIGNED, UNSIGNED, normalise_cell, sum_parts};
use gradient::gradient_row;

const TEXTURE_GAIN: f32 = 0.2357;
/// Weights of a border cell, which gets only 7/8 of an inner cell's gradients in each direction.
const BORDER_GAIN: f32 = 8.0 / 7.0;

/// Sums of one gap: for each orientation, what the four cells around the gap get of it (top left, top right, bottom
/// left, bottom right).
///
/// A gap is the square between the centres of four neighbouring cells. All its pixels are shared by the same four
/// cells, so that a pixel costs one addition of four floats; which is why it is padded to a power of two, too.
type Gap = [[f32; 4]; 32];

/// Neighbouring gaps whose pixels are added in turns.
const GAPS: usize = 4;

/// Computes the feature maps of patches of one size; owns the memory for it.
#[derive(Clone, Debug)]
pub struct Hog {
    width: usize,
    height: usize,
    cell: usize,
    rows: usize,
    cols: usize,
    /// `[phase of y][phase of x]`: how a pixel is shared by the four cells around its gap, from its place in the gap.
    shares: Vec<[f32; 4]>,
    /// Magnitudes and orientation bins of the pixel rows of one row of gaps.
    magnitude: Vec<f32>,
    bin: Vec<u32>,
    /// The rows of gaps above and below a row of cells.
    gaps: [Vec<Gap>; 2],
    /// `[row][column]`: 18 signed and 9 unsigned orientation sums.
    histogram: Vec<[f32; LANES]>,
    /// `[row][column]`: energy of the unsigned orientations.
    energy: Vec<f32>,
    /// `[row + 1][column + 1]`: reciprocal norms of the 2x2 blocks whose last cell is (row, column).
    norm: Vec<f32>,
    /// `[column]`: partial sums of the texture energies of one row of cells.
    parts: Vec<[[f32; 16]; 4]>,
    /// Weights of 1, for features that are not tapered.
    flat: Vec<f32>,
}

impl Hog {
    /// For patches of `width` x `height` pixels and cells of `cell` x `cell` pixels; what is left over at the right and
    /// bottom only serves the gradients beside it.
    ///
    /// # Panics
    /// When the patch does not hold a single cell.
    pub fn new(width: usize, height: usize, cell: usize) -> Self {
        assert!(cell > 0 && width >= cell && height >= cell, "a patch holds at least one cell");
        let (rows, cols) = (height / cell, width / cell);
        // Gray values are 0 to 1 in the published code, gradients half the difference, and a cell's sum is a mean.
        let gain = 1.0 / (2.0 * 255.0 * (cell * cell) as f64);
        // The first pixel of a gap lies half a pixel behind the cells' centres, or on them where cells are odd.
        let share = |phase: usize| (phase as f64 + if cell.is_multiple_of(2) { 0.5 } else { 0.0 }) / cell as f64;
        let mut shares = Vec::with_capacity(cell * cell);
        for y in (0..cell).map(share) {
            for x in (0..cell).map(share) {
                let all = [(1.0 - y) * (1.0 - x), (1.0 - y) * x, y * (1.0 - x), y * x];
                shares.push(all.map(|share| (gain * share) as f32));
            }
        }
        let gap_row = vec![[[0.0; 4]; 32]; cols + 1];
        Self {
            width,
            height,
            cell,
            rows,
            cols,
            shares,
            magnitude: vec![0.0; cell * cols * cell],
            bin: vec![0; cell * cols * cell],
            gaps: [gap_row.clone(), gap_row],
            histogram: vec![[0.0; LANES]; rows * cols],
            energy: vec![0.0; rows * cols],
            norm: vec![0.0; (rows + 1) * (cols + 1)],
            parts: vec![[[0.0; 16]; 4]; cols],
            flat: vec![1.0; rows.max(cols)],
        }
    }

    /// Rows of cells.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns of cells.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Writes the feature map of `patch` (gray, row-major), tapered by `row_taper` x `col_taper`, to
    /// `out`: `[row][column][LANES]`, the last lane zero.
    ///
    /// # Panics
    /// When a slice has another length than the sizes given at construction ask for.
    pub fn extract(
        &mut self,
        patch: &[u8],
        row_taper: &[f32],
        col_taper: &[f32],
        out: &mut [f32],
        watch: &mut Stopwatch,
    ) {
        assert_eq!(patch.len(), self.width * self.height);
        assert_eq!((row_taper.len(), col_taper.len()), (self.rows, self.cols));
        assert_eq!(out.len(), self.rows * self.cols * LANES);
        extract(self, patch, row_taper, col_taper, out.as_chunks_mut().0, watch);
    }

    /// The pixels (of rows or columns) that belong to gap `gap` of `cells` cells, and the phase of the first.
    #[inline(always)]
    fn gap_pixels(&self, gap: usize, cells: usize) -> (Range<usize>, usize) {
        let before = self.cell - self.cell / 2;
        let start = (gap * self.cell).saturating_sub(before);
        let end = ((gap + 1) * self.cell - before).min(cells * self.cell);
        (start..end, (start + before) % self.cell)
    }

    /// Sums of row `row` of gaps, to one of the two rows in memory.
    #[inline(always)]
    fn sum_gaps(&mut self, patch: &[u8], row: usize, watch: &mut Stopwatch) {
        let (pixel_rows, phase) = self.gap_pixels(row, self.rows);
        let stride = self.cols * self.cell;
        for (i, y) in pixel_rows.clone().enumerate() {
            let (magnitude, bin) = (&mut self.magnitude[i * stride..][..stride], &mut self.bin[i * stride..][..stride]);
            gradient_row(patch, self.width, self.height, y, magnitude, bin);
        }
        watch.lap(Stage::Gradient);
        let mut gaps = std::mem::take(&mut self.gaps[row % 2]);
        for gap in &mut gaps {
            gap[..SIGNED].fill([0.0; 4]);
        }
        // Whole gaps of the usual cell of four pixels, which has 16 shares, run in blocks. The first of them, gap 1,
        // begins half a cell into the row.
        let mut next = 0;
        if let Ok(shares) = <&[[f32; 4]; 16]>::try_from(&*self.shares)
            && pixel_rows.len() == 4
        {
            self.share_gap(&mut gaps[0], 0, &pixel_rows, phase);
            for (i, gaps) in gaps[1..self.cols].as_chunks_mut().0.iter_mut().enumerate() {
                let start = 2 + i * 4 * GAPS;
                for y in 0..4 {
                    let magnitude = self.magnitude[y * stride + start..].first_chunk().expect("gaps within the row");
                    let bin = self.bin[y * stride + start..].first_chunk().expect("gaps within the row");
                    share_block(gaps, shares[4 * y..].first_chunk().expect("four rows"), magnitude, bin);
                }
            }
            next = 1 + (self.cols - 1) / GAPS * GAPS;
        }
        for (column, gap) in gaps.iter_mut().enumerate().skip(next) {
            self.share_gap(gap, column, &pixel_rows, phase);
        }
        self.gaps[row % 2] = gaps;
        watch.lap(Stage::Cells);
    }

    /// Adds the pixels of some rows, the first of which has `phase`, to the sums of their gap in `column`.
    #[inline(always)]
    fn share_gap(&self, gap: &mut Gap, column: usize, rows: &Range<usize>, phase: usize) {
        let stride = self.cols * self.cell;
        let (pixels, phase_x) = self.gap_pixels(column, self.cols);
        for i in 0..rows.len() {
            let shares = &self.shares[(phase + i) * self.cell + phase_x..][..pixels.len()];
            let magnitude = &self.magnitude[i * stride..][pixels.clone()];
            let bin = &self.bin[i * stride..][pixels.clone()];
            share_pixels(gap, shares, magnitude, bin);
        }
    }

    /// Row `row` of the histogram from the gaps above and below it: makes up for the border, adds the unsigned
    /// orientations and the cells' energies.
    #[inline(always)]
    fn sum_cells(&mut self, row: usize, watch: &mut Stopwatch) {
        let (above, below) = (&self.gaps[row % 2], &self.gaps[(row + 1) % 2]);
        let cells = &mut self.histogram[row * self.cols..][..self.cols];
        let energies = &mut self.energy[row * self.cols..][..self.cols];
        let row_gain = border_gain(row, self.rows);
        for (column, cell) in cells.iter_mut().enumerate() {
            let gain = row_gain * border_gain(column, self.cols);
            let (top, bottom) = (&above[column..][..2], &below[column..][..2]);
            for o in 0..SIGNED {
                cell[o] = (top[0][o][3] + top[1][o][2] + bottom[0][o][1] + bottom[1][o][0]) * gain;
            }
        }
        // A loop of its own: a cell was written value by value just above, and whole registers that read it back at
        // once would wait for all these stores.
        for (cell, energy) in cells.iter_mut().zip(energies) {
            let mut squares = [0.0; UNSIGNED];
            for o in 0..UNSIGNED {
                let both = cell[o] + cell[o + UNSIGNED];
                cell[SIGNED + o] = both;
                squares[o] = both * both;
            }
            *energy = squares.iter().sum();
        }
        watch.lap(Stage::Cells);
    }

    /// Reciprocal norms of all 2x2 blocks; a block over the border takes its inner neighbour's.
    #[inline(always)]
    fn block_norms(&mut self) {
        let (rows, cols) = (self.rows, self.cols);
        // The published epsilon, 1e-4 / 4 / cell^4.
        let epsilon = 1e-4 / 4.0 / (self.cell as f32).powi(4);
        // Inner blocks begin at cells 0 to n - 2; with a single row or column there is none and the cell counts twice.
        let inner = |i: usize, n: usize| i.clamp(1, (n - 1).max(1)) - 1;
        for (r, norms) in self.norm.chunks_exact_mut(cols + 1).enumerate() {
            let r0 = inner(r, rows);
            let first = &self.energy[r0 * cols..][..cols];
            let second = &self.energy[(r0 + 1).min(rows - 1) * cols..][..cols];
            for (c, norm) in norms.iter_mut().enumerate() {
                let c0 = inner(c, cols);
                let c1 = (c0 + 1).min(cols - 1);
                *norm = 1.0 / (first[c0] + second[c0] + first[c1] + second[c1] + epsilon).sqrt();
            }
        }
    }

    #[inline(always)]
    fn normalise(&mut self, row_taper: &[f32], col_taper: &[f32], out: &mut [[f32; LANES]]) {
        let stride = self.cols + 1;
        for (r, (cells, out)) in self.histogram.chunks(self.cols).zip(out.chunks_mut(self.cols)).enumerate() {
            let (above, below) = (&self.norm[r * stride..][..stride], &self.norm[(r + 1) * stride..][..stride]);
            for (c, ((cell, out), parts)) in cells.iter().zip(&mut *out).zip(&mut self.parts).enumerate() {
                // From the block that begins at this cell to the one that ends there.
                let norms = [below[c + 1], below[c], above[c + 1], above[c]];
                normalise_cell(cell, norms, row_taper[r] * col_taper[c], out, parts);
            }
            for ((out, parts), col_taper) in out.iter_mut().zip(&self.parts).zip(col_taper) {
                let gain = TEXTURE_GAIN * (row_taper[r] * col_taper);
                let texture = sum_parts(parts);
                for k in 0..4 {
                    out[SIGNED + UNSIGNED + k] = texture[k] * gain;
                }
            }
        }
    }
}

impl Extractor for Hog {
    fn channels(&self) -> usize {
        CHANNELS
    }

    fn cells(&self) -> (usize, usize) {
        (self.rows, self.cols)
    }

    fn needs(&self) -> Channels {
        Channels::Luma
    }

    fn fills_block(&self) -> bool {
        true
    }

    fn extract(&mut self, patch: &[u8], taper: Option<&Taper>, out: Lanes<'_>, watch: &mut Stopwatch) {
        let out = out.whole().as_flattened_mut();
        match taper {
            Some(taper) => Hog::extract(self, patch, &taper.rows, &taper.cols, out, watch),
            None => {
                let flat = std::mem::take(&mut self.flat);
                Hog::extract(self, patch, &flat[..self.rows], &flat[..self.cols], out, watch);
                self.flat = flat;
            }
        }
    }

    fn boxed(&self) -> Box<dyn Extractor> {
        Box::new(self.clone())
    }
}

leveled! {
    avx2 fn extract(
        hog: &mut Hog,
        patch: &[u8],
        row_taper: &[f32],
        col_taper: &[f32],
        out: &mut [[f32; LANES]],
        watch: &mut Stopwatch,
    ) {
        watch.start();
        hog.sum_gaps(patch, 0, watch);
        for row in 0..hog.rows {
            hog.sum_gaps(patch, row + 1, watch);
            hog.sum_cells(row, watch);
        }
        hog.block_norms();
        hog.normalise(row_taper, col_taper, out);
        watch.lap(Stage::Normalise);
    }
}

/// Adds pixels of one row to the sums of their gap.
#[inline(always)]
fn share_pixels(gap: &mut Gap, shares: &[[f32; 4]], magnitude: &[f32], bin: &[u32]) {
    for ((share, &magnitude), &bin) in shares.iter().zip(magnitude).zip(bin) {
        add_share(gap, share, magnitude, bin);
    }
}

/// Adds one row of pixels to the sums of neighbouring gaps, four pixels to each, in turns: neighbours in a gap often go
/// to the same sum, and the one would wait for the other.
#[inline(always)]
fn share_block(gaps: &mut [Gap; GAPS], shares: &[[f32; 4]; 4], magnitude: &[f32; 4 * GAPS], bin: &[u32; 4 * GAPS]) {
    for x in 0..4 {
        for g in 0..GAPS {
            add_share(&mut gaps[g], &shares[x], magnitude[4 * g + x], bin[4 * g + x]);
        }
    }
}

#[inline(always)]
fn add_share(gap: &mut Gap, share: &[f32; 4], magnitude: f32, bin: u32) {
    let sums = &mut gap[bin as usize % 32];
    for k in 0..4 {
        sums[k] += share[k] * magnitude;
    }
}

/// What cell `i` of `n` in a direction has to make up for.
#[inline(always)]
fn border_gain(i: usize, n: usize) -> f32 {
    let first = if i == 0 { BORDER_GAIN } else { 1.0 };
    if i == n - 1 { first * BORDER_GAIN } else { first }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::assert_same_on_all_levels;

    #[test]
    fn all_levels_give_the_same_bits() {
        for (width, height, cell) in [(50, 37, 4), (12, 12, 4), (33, 21, 3), (9, 40, 8), (5, 5, 1), (4, 4, 4)] {
            let patch: Vec<u8> = (0..width * height).map(|i| (i * i * 31 % 253) as u8).collect();
            assert_same_on_all_levels(&format!("{width}x{height}, cells of {cell}"), || {
                let mut hog = Hog::new(width, height, cell);
                let tapers = (vec![1.0; hog.rows()], vec![0.5; hog.cols()]);
                let mut out = vec![f32::NAN; hog.rows() * hog.cols() * LANES];
                hog.extract(&patch, &tapers.0, &tapers.1, &mut out, &mut Stopwatch::default());
                assert!(out.iter().all(|v| v.is_finite()));
                out.iter().map(|v| v.to_bits()).collect::<Vec<_>>()
            });
        }
    }
}
