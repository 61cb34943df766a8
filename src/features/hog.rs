//! The 31-channel histogram of oriented gradients of Felzenszwalb et al. (TPAMI 2010, section 6.2), as in the code of
//! the KCF's authors: 18 signed and 9 unsigned orientations and 4 texture energies for each cell.
//!
//! Details that decide boxes:
//! - gradients are central differences, one-sided (so twice as strong) at the border of the patch;
//! - an orientation goes to the *nearest* of 18 bins; a tie (a vertical gradient in 8-bit images) goes to the higher
//!   bin, 5 or 14;
//! - magnitudes are shared bilinearly between the four nearest cells; a border cell lacks the part outside the patch,
//!   so its sums are multiplied by 8/7;
//! - a cell is normalised by each of its four 2x2 blocks; a block over the border has the norm of its inner neighbour;
//! - values are clipped at 0.2 and averaged in pairs: sum of four times 0.5; the texture is the sum over the signed
//!   orientations of one block's values times 0.2357.
//!
//! [`Hog`] takes one patch; [`HogBatch`] takes many small ones at once, a lane each, and gives the same values.

use std::ops::Range;

use crate::simd::{block_starts, leveled, sums_of_four};

/// Channels of a cell: 18 signed orientations, 9 unsigned ones, 4 texture energies.
pub const CHANNELS: usize = 31;
/// Floats per cell in memory: the channels and a zero, to fill whole SIMD registers.
pub const LANES: usize = 32;

/// Orientations over the full circle.
pub(super) const SIGNED: usize = 18;
/// Orientations over half of the circle: a gradient and its opposite.
pub(super) const UNSIGNED: usize = 9;
/// Normalised orientations are clipped here.
pub(super) const CLIP: f32 = 0.2;
pub(super) const TEXTURE_GAIN: f32 = 0.2357;
/// A border cell gets only 7/8 of an inner cell's gradients in each direction.
const BORDER_GAIN: f32 = 8.0 / 7.0;

/// Sums of one gap: for each orientation, the parts of the four cells around the gap (top left, top right, bottom left,
/// bottom right).
///
/// A gap is the square between the centres of four neighbouring cells. The same four cells share all its pixels, so a
/// pixel costs one addition of four floats. The length is a power of two for cheap indexing.
type Gap = [[f32; 4]; 32];

/// Neighbouring gaps whose pixels are interleaved: as many as there are, then half as many.
const GAPS: usize = 8;

/// Extracts HOG from patches of one size.
#[derive(Clone, Debug)]
pub struct Hog {
    width: usize,
    height: usize,
    cell: usize,
    rows: usize,
    cols: usize,
    /// `[phase of y][phase of x]`: the shares of the four cells of a pixel, by its position in the gap.
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
    /// True if unsigned orientations are written.
    has_unsigned: bool,
}

impl Hog {
    /// Creates an extractor for patches of `width` x `height` pixels and cells of `cell` x `cell` pixels. Pixels beyond
    /// the last whole cell only affect the gradients beside them.
    ///
    /// # Panics
    /// If the patch is smaller than a cell.
    pub fn new(width: usize, height: usize, cell: usize) -> Self {
        assert!(cell > 0 && width >= cell && height >= cell, "a patch holds at least one cell");
        let (rows, cols) = (height / cell, width / cell);
        // In the published code gray values are 0 to 1, a gradient is half the difference, a cell's sum is a mean.
        let gain = 1.0 / (2.0 * 255.0 * (cell * cell) as f64);
        // The first pixel of a gap lies half a pixel after the cells' centres, or on them if cells are odd.
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
            has_unsigned: true,
        }
    }

    /// Leaves the lanes of the unsigned orientations to others.
    pub(super) fn without_unsigned(self) -> Self {
        Self { has_unsigned: false, ..self }
    }

    /// Rows of cells.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns of cells.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Writes the features of `patch` (gray, row-major), times the window `row_taper` x `col_taper`, to `out`:
    /// `[row][column][LANES]`, the last lane zero.
    ///
    /// # Panics
    /// If a slice does not have the length for the size of the patch.
    pub fn extract(&mut self, patch: &[u8], row_taper: &[f32], col_taper: &[f32], out: &mut [f32]) {
        assert_eq!(patch.len(), self.width * self.height);
        assert_eq!((row_taper.len(), col_taper.len()), (self.rows, self.cols));
        assert_eq!(out.len(), self.rows * self.cols * LANES);
        extract(self, patch, row_taper, col_taper, out.as_chunks_mut().0);
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
    fn sum_gaps(&mut self, patch: &[u8], row: usize) {
        let (pixel_rows, phase) = self.gap_pixels(row, self.rows);
        let stride = self.cols * self.cell;
        for (i, y) in pixel_rows.clone().enumerate() {
            let (magnitude, bin) = (&mut self.magnitude[i * stride..][..stride], &mut self.bin[i * stride..][..stride]);
            gradient_row(patch, self.width, self.height, y, magnitude, bin);
        }
        let mut gaps = std::mem::take(&mut self.gaps[row % 2]);
        for gap in &mut gaps {
            gap[..SIGNED].as_flattened_mut().fill(0.0);
        }
        // Inner gaps of cells of four pixels, the default, are added in blocks. Gap 1 begins half a cell into the row.
        let mut next = 0;
        if let Ok(shares) = <&[[f32; 4]; 16]>::try_from(&*self.shares)
            && pixel_rows.len() == 4
        {
            self.share_gap(&mut gaps[0], 0, &pixel_rows, phase);
            next = 1;
            while let Some(gaps) = gaps[next..self.cols].first_chunk_mut() {
                self.share_block::<GAPS>(gaps, next, shares);
                next += GAPS;
            }
            if let Some(gaps) = gaps[next..self.cols].first_chunk_mut() {
                self.share_block::<{ GAPS / 2 }>(gaps, next, shares);
                next += GAPS / 2;
            }
        }
        for (column, gap) in gaps.iter_mut().enumerate().skip(next) {
            self.share_gap(gap, column, &pixel_rows, phase);
        }
        self.gaps[row % 2] = gaps;
    }

    /// Adds four rows of pixels to the sums of neighbouring gaps from `column` on, four pixels a row to each, interleaved:
    /// neighbours in a gap often go to the same sum, and the second would wait for the first.
    #[inline(always)]
    fn share_block<const N: usize>(&self, gaps: &mut [Gap; N], column: usize, shares: &[[f32; 4]; 16]) {
        for (y, shares) in shares.as_chunks::<4>().0.iter().enumerate() {
            let start = y * self.cols * self.cell + 4 * column - 2;
            let magnitude = self.magnitude[start..][..4 * N].as_chunks::<4>().0;
            let bin = self.bin[start..][..4 * N].as_chunks::<4>().0;
            for x in 0..4 {
                for g in 0..N {
                    add_share(&mut gaps[g], &shares[x], magnitude[g][x], bin[g][x]);
                }
            }
        }
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

    /// Row `row` of the histogram from the gaps above and below it, with the border gain, the unsigned orientations and
    /// the cells' energies.
    #[inline(always)]
    fn sum_cells(&mut self, row: usize) {
        let (above, below) = (&self.gaps[row % 2], &self.gaps[(row + 1) % 2]);
        let cells = &mut self.histogram[row * self.cols..][..self.cols];
        let energies = &mut self.energy[row * self.cols..][..self.cols];
        let row_gain = border_gain(row, self.rows);
        for (column, cell) in cells.iter_mut().enumerate() {
            let gain = row_gain * border_gain(column, self.cols);
            let (top, bottom) = (&above[column..][..2], &below[column..][..2]);
            let [top, right, left, bottom] = [&top[0], &top[1], &bottom[0], &bottom[1]].map(|gap| gap.as_flattened());
            let sum = |o: usize| (top[4 * o + 3] + right[4 * o + 2] + left[4 * o + 1] + bottom[4 * o]) * gain;
            // Sixteen sums in an array of their own are vectorised, because nothing overlaps it.
            let mut sums = [0.0; 16];
            sums.iter_mut().enumerate().for_each(|(o, to)| *to = sum(o));
            cell[..16].copy_from_slice(&sums);
            (cell[16], cell[17]) = (sum(16), sum(17));
        }
        // A separate loop: wide loads right after the scalar stores above would stall.
        for (cell, energy) in cells.iter_mut().zip(energies) {
            let mut squares = [0.0; UNSIGNED];
            for o in 0..UNSIGNED {
                let both = cell[o] + cell[o + UNSIGNED];
                cell[SIGNED + o] = both;
                squares[o] = both * both;
            }
            *energy = squares.iter().sum();
        }
    }

    /// Reciprocal norms of all 2x2 blocks; a block over the border has the norm of its inner neighbour.
    #[inline(always)]
    fn block_norms(&mut self) {
        let (rows, cols) = (self.rows, self.cols);
        // The published epsilon, 1e-4 / 4 / cell^4.
        let epsilon = 1e-4 / 4.0 / (self.cell as f32).powi(4);
        // Inner blocks begin at cells 0 to n - 2. A single row or column counts twice.
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
    fn normalise<const REST: usize>(&mut self, row_taper: &[f32], col_taper: &[f32], out: &mut [[f32; LANES]]) {
        let stride = self.cols + 1;
        for (r, (cells, out)) in self.histogram.chunks(self.cols).zip(out.chunks_mut(self.cols)).enumerate() {
            let (above, below) = (&self.norm[r * stride..][..stride], &self.norm[(r + 1) * stride..][..stride]);
            for (c, ((cell, out), parts)) in cells.iter().zip(&mut *out).zip(&mut self.parts).enumerate() {
                // From the block that begins at this cell to the one that ends there.
                let norms = [below[c + 1], below[c], above[c + 1], above[c]];
                normalise_cell::<REST>(cell, norms, row_taper[r] * col_taper[c], out, parts);
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

leveled! {
    avx2 fn extract(
        hog: &mut Hog,
        patch: &[u8],
        row_taper: &[f32],
        col_taper: &[f32],
        out: &mut [[f32; LANES]]
    ) {
        hog.sum_gaps(patch, 0);
        for row in 0..hog.rows {
            hog.sum_gaps(patch, row + 1);
            hog.sum_cells(row);
        }
        hog.block_norms();
        match hog.has_unsigned {
            true => hog.normalise::<16>(row_taper, col_taper, out),
            false => hog.normalise::<4>(row_taper, col_taper, out),
        }
    }
}

/// Adds pixels of one row to the sums of their gap.
#[inline(always)]
fn share_pixels(gap: &mut Gap, shares: &[[f32; 4]], magnitude: &[f32], bin: &[u32]) {
    for ((share, &magnitude), &bin) in shares.iter().zip(magnitude).zip(bin) {
        add_share(gap, share, magnitude, bin);
    }
}

#[inline(always)]
fn add_share(gap: &mut Gap, share: &[f32; 4], magnitude: f32, bin: u32) {
    let sums = &mut gap[bin as usize % 32];
    for k in 0..4 {
        sums[k] += share[k] * magnitude;
    }
}

/// The border gain of cell `i` of `n` in a direction.
#[inline(always)]
pub(super) fn border_gain(i: usize, n: usize) -> f32 {
    let first = if i == 0 { BORDER_GAIN } else { 1.0 };
    if i == n - 1 { first * BORDER_GAIN } else { first }
}

/// The orientations of a cell, clipped by each of four norms and averaged; and for each norm, 16 partial sums of the
/// clipped signed orientations for the texture. After the first 16 orientations come the `REST`.
#[inline(always)]
fn normalise_cell<const REST: usize>(
    cell: &[f32; LANES],
    norms: [f32; 4],
    taper: f32,
    out: &mut [f32; LANES],
    parts: &mut [[f32; 16]; 4],
) {
    // Weights of the rest in the partial sums: only the first two of them are signed.
    let mut join = [0.0; REST];
    join[..2].fill(1.0);
    let (first, last) = cell.split_at(16);
    let (mut sums, mut rest) = ([0.0f32; 16], [0.0f32; REST]);
    for (norm, parts) in norms.into_iter().zip(parts) {
        // Separate loops over whole registers: the compiler may split the registers in a joint loop.
        let (mut v, mut w) = ([0.0f32; 16], [0.0f32; REST]);
        for o in 0..16 {
            v[o] = clip(first[o] * norm);
        }
        for o in 0..REST {
            w[o] = clip(last[o] * norm);
        }
        for o in 0..16 {
            sums[o] += v[o];
        }
        for o in 0..REST {
            rest[o] += w[o];
        }
        for o in 0..REST {
            parts[o] = v[o] + join[o] * w[o];
        }
        parts[REST..].copy_from_slice(&v[REST..]);
    }
    let half = 0.5 * taper;
    for o in 0..16 {
        out[o] = sums[o] * half;
    }
    for o in 0..REST {
        out[o + 16] = rest[o] * half;
    }
}

/// Compiles to one instruction; `f32::min` also handles NaN.
#[inline(always)]
fn clip(value: f32) -> f32 {
    if value < CLIP { value } else { CLIP }
}

/// For each norm the sum of its parts, in an order for registers of four.
#[inline(always)]
fn sum_parts(parts: &[[f32; 16]; 4]) -> [f32; 4] {
    let mut four = [[0.0f32; 4]; 4];
    for (v, four) in parts.iter().zip(&mut four) {
        for i in 0..4 {
            four[i] = (v[i] + v[i + 4]) + (v[i + 8] + v[i + 12]);
        }
    }
    sums_of_four(four)
}

/// Pixels per block.
const BLOCK: usize = 16;

/// Magnitudes (in 1/510 of the gray range) and orientation bins of the first pixels of row `y` of a patch.
#[inline(always)]
fn gradient_row(patch: &[u8], width: usize, height: usize, y: usize, magnitude: &mut [f32], bin: &mut [u32]) {
    let row = |y: usize| &patch[y * width..][..width];
    let (above, here, below) = (row(y.saturating_sub(1)), row(y), row((y + 1).min(height - 1)));
    // A one-sided difference spans one pixel, not two.
    let one_sided = |i: usize, n: usize| if n > 1 && (i == 0 || i == n - 1) { 2.0 } else { 1.0 };
    let dy_gain = one_sided(y, height);
    let n = magnitude.len();
    let one =
        |left: u8, right: u8, x: usize, dx_gain: f32| gradient((left, right), (above[x], below[x]), (dx_gain, dy_gain));
    let inner = n.min(width.saturating_sub(1)).saturating_sub(1);
    if inner >= BLOCK {
        for x in block_starts(inner, BLOCK).map(|before| 1 + before) {
            let sides = (part(here, x - 1), part(here, x + 1));
            let out = (part_mut(magnitude, x), part_mut(bin, x));
            gradient_block(sides, (part(above, x), part(below, x)), dy_gain, out);
        }
    } else {
        for x in 1..=inner {
            (magnitude[x], bin[x]) = one(here[x - 1], here[x + 1], x, 1.0);
        }
    }
    for x in [0, width - 1].into_iter().filter(|&x| x < n) {
        let (left, right) = (here[x.saturating_sub(1)], here[(x + 1).min(width - 1)]);
        (magnitude[x], bin[x]) = one(left, right, x, one_sided(x, width));
    }
}

/// Magnitudes and orientation bins of inner pixels of a row, from their four neighbours.
#[inline(always)]
fn gradient_block(
    (left, right): (&[u8; BLOCK], &[u8; BLOCK]),
    (above, below): (&[u8; BLOCK], &[u8; BLOCK]),
    dy_gain: f32,
    (magnitude, bin): (&mut [f32; BLOCK], &mut [u32; BLOCK]),
) {
    for i in 0..BLOCK {
        (magnitude[i], bin[i]) = gradient((left[i], right[i]), (above[i], below[i]), (1.0, dy_gain));
    }
}

/// The gradient of a pixel from its neighbours, times the gains: its magnitude and its orientation bin.
#[inline(always)]
fn gradient((left, right): (u8, u8), (above, below): (u8, u8), (dx_gain, dy_gain): (f32, f32)) -> (f32, u32) {
    let gx = dx_gain * (f32::from(right) - f32::from(left));
    let gy = dy_gain * (f32::from(below) - f32::from(above));
    ((gx * gx + gy * gy).sqrt(), orientation_bin(gx, gy))
}

/// The block of a row that begins at `x`.
#[inline(always)]
fn part<T>(row: &[T], x: usize) -> &[T; BLOCK] {
    row[x..].first_chunk().expect("the row holds the block")
}

#[inline(always)]
fn part_mut<T>(row: &mut [T], x: usize) -> &mut [T; BLOCK] {
    row[x..].first_chunk_mut().expect("the row holds the block")
}

/// The nearest of 18 orientations, 20 degrees apart from 0 on; a tie goes to the higher one.
#[inline(always)]
pub(super) fn orientation_bin(gx: f32, gy: f32) -> u32 {
    /// Tangents of 10, 30, 50 and 70 degrees: the borders between bins in the first quadrant.
    const BORDERS: [f32; 4] = [0.176_326_98, 0.577_350_27, 1.191_753_6, 2.747_477_4];
    let (ax, ay) = (gx.abs(), gy.abs());
    let mut q = 0;
    for border in BORDERS {
        q += u32::from(ay > border * ax);
    }
    // 90 degrees lies between bins 4 and 5, 270 between 13 and 14. Branchless, for SIMD.
    let up = gy >= 0.0;
    let left = (gx < 0.0) | ((gx == 0.0) & (gy > 0.0));
    let upper = if left { 9 - q } else { q };
    let lower = if gx < 0.0 { 9 + q } else { 18 - q };
    let bin = if up { upper } else { lower };
    if bin == 18 { 0 } else { bin }
}

/// Room for patches in a batch.
pub const PATCHES: usize = 24;
/// Side of a cell in pixels.
pub const BATCH_CELL: usize = 4;

/// One value of each patch.
pub type Lanes = [f32; PATCHES];

/// Patches that are worked on together.
pub const GROUP: usize = 8;
/// One value of each patch of a group.
pub type Group = [f32; GROUP];

/// Shares of the four pixels between the centres of two cells: of the first cell, and of the second.
const BATCH_SHARES: [[f32; BATCH_CELL]; 2] = [[0.875, 0.625, 0.375, 0.125], [0.125, 0.375, 0.625, 0.875]];

/// Extracts HOG from batches of patches of one size.
#[derive(Clone, Debug)]
pub struct HogBatch {
    rows: usize,
    cols: usize,
    /// `[pixel][patch]` of one row of pixels, with half a cell of zeros on either side: orientations of the gradients.
    bin: Vec<u32>,
    /// Shares of the cells before and after a pixel, laid out as `bin`.
    shares: [Vec<f32>; 2],
    /// Magnitudes of the gradients times those shares, laid out as `bin`.
    parts: [Vec<f32>; 2],
    /// Sums of one row of pixels for each cell, with a border cell on either side.
    line: Vec<[Group; SIGNED]>,
    /// `[row + 1][column]`: orientation sums, with a border row on either side.
    signed: Vec<[Group; SIGNED]>,
    /// `[row][column]`: energy of the unsigned orientations.
    energy: Vec<Group>,
    /// `[row + 1][column + 1]`: reciprocal norms of the 2x2 blocks whose last cell is (row, column).
    norm: Vec<Group>,
}

impl HogBatch {
    /// Creates an extractor for patches of `width` x `height` pixels.
    ///
    /// # Panics
    /// If that is not a whole number of cells, at least one.
    pub fn new(width: usize, height: usize) -> Self {
        let (rows, cols) = (height / BATCH_CELL, width / BATCH_CELL);
        assert!(rows * cols > 0 && (cols * BATCH_CELL, rows * BATCH_CELL) == (width, height), "whole cells");
        let none = [[0.0; GROUP]; SIGNED];
        Self {
            rows,
            cols,
            bin: vec![0; (cols + 1) * BATCH_CELL * GROUP],
            shares: BATCH_SHARES.map(|shares| {
                let pixels = (0..(cols + 1) * BATCH_CELL).map(|x| [shares[x % BATCH_CELL]; GROUP]);
                pixels.collect::<Vec<_>>().into_flattened()
            }),
            parts: [(); 2].map(|()| vec![0.0; (cols + 1) * BATCH_CELL * GROUP]),
            line: vec![none; cols + 2],
            signed: vec![none; (rows + 2) * cols],
            energy: vec![[0.0; GROUP]; rows * cols],
            norm: vec![[0.0; GROUP]; (rows + 1) * (cols + 1)],
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

    /// Writes the feature maps of `patches` (gray values, `[group][row][column][patch]`) to `out`:
    /// `[row][column][31][patch]`.
    pub fn extract(&mut self, patches: &[Group], out: &mut [Lanes]) {
        assert_eq!(out.len(), self.rows * self.cols * CHANNELS);
        for (group, patches) in patches.chunks_exact(self.rows * self.cols * BATCH_CELL * BATCH_CELL).enumerate() {
            extract_batch(self, patches, group, out);
        }
    }

    /// Adds the gradients of pixel row `y` of a group of patches.
    #[inline(always)]
    fn add_row(&mut self, patches: &[Group], y: usize) {
        let (width, height) = (self.cols * BATCH_CELL, self.rows * BATCH_CELL);
        let row = |y: usize| patches[y * width..][..width].as_flattened();
        let (above, here, below) = (row(y.saturating_sub(1)), row(y), row((y + 1).min(height - 1)));
        let gain = if y == 0 || y == height - 1 { 2.0 } else { 1.0 };
        // The first and the last column have differences to one side, which are twice as large.
        let last = (width - 1) * GROUP;
        self.write_gradients(0, [&here[..GROUP], &here[GROUP..], above, below], (2.0, gain));
        self.write_gradients(1, [here, &here[2 * GROUP..], &above[GROUP..], &below[GROUP..]], (1.0, gain));
        self.write_gradients(
            width - 1,
            [&here[last - GROUP..], &here[last..], &above[last..], &below[last..]],
            (2.0, gain),
        );
        self.line[0] = [[0.0; GROUP]; SIGNED];
        let [first, second] = self.parts.each_ref().map(|part| part.as_chunks::<GROUP>().0);
        let bin = self.bin.as_chunks::<GROUP>().0;
        for column in 0..=self.cols {
            let pixels = column * BATCH_CELL..(column + 1) * BATCH_CELL;
            let (bin, first, second) = (&bin[pixels.clone()], &first[pixels.clone()], &second[pixels]);
            for o in 0..SIGNED {
                let (mut one, mut other) = (self.line[column][o], [0.0; GROUP]);
                for ((bin, first), second) in bin.iter().zip(first).zip(second) {
                    add_where(&mut one, bin, o as u32, first);
                    add_where(&mut other, bin, o as u32, second);
                }
                (self.line[column][o], self.line[column + 1][o]) = (one, other);
            }
        }
        let gain = 1.0 / (2.0 * 255.0 * (BATCH_CELL * BATCH_CELL) as f32);
        let (first, phase) = ((y + BATCH_CELL / 2) / BATCH_CELL, (y + BATCH_CELL / 2) % BATCH_CELL);
        for (row, shares) in [first, first + 1].into_iter().zip(BATCH_SHARES) {
            let sums = &mut self.signed[row * self.cols..][..self.cols];
            for (sums, line) in sums.iter_mut().zip(&self.line[1..]) {
                for o in 0..SIGNED {
                    add(&mut sums[o], &times(&line[o], gain * shares[phase]));
                }
            }
        }
    }

    /// Writes the orientations and parts of pixels from `x` on: as many as there are of each of the four neighbours
    /// (left, right, up, down).
    #[inline(always)]
    fn write_gradients(&mut self, x: usize, [left, right, up, down]: [&[f32]; 4], gain: (f32, f32)) {
        let (start, n) = ((BATCH_CELL / 2 + x) * GROUP, left.len().min(right.len()).min(up.len()));
        let (left, right, up, down) = (&left[..n], &right[..n], &up[..n], &down[..n]);
        let [first, second] = self.parts.each_mut().map(|part| &mut part[start..start + n]);
        let [one, other] = self.shares.each_ref().map(|shares| &shares[start..start + n]);
        let bin = &mut self.bin[start..start + n];
        for i in 0..n {
            let (gx, gy) = (gain.0 * (right[i] - left[i]), gain.1 * (down[i] - up[i]));
            let magnitude = (gx * gx + gy * gy).sqrt();
            bin[i] = orientation_bin(gx, gy);
            first[i] = magnitude * one[i];
            second[i] = magnitude * other[i];
        }
    }

    /// Applies the border gain and sums the energies.
    #[inline(always)]
    fn finish_sums(&mut self) {
        let cells = self.signed[self.cols..].iter_mut().zip(&mut self.energy);
        for (i, (sums, energy)) in cells.enumerate() {
            let gain = border_gain(i / self.cols, self.rows) * border_gain(i % self.cols, self.cols);
            *energy = [0.0; GROUP];
            for sums in sums.iter_mut() {
                for sum in sums {
                    *sum *= gain;
                }
            }
            for o in 0..UNSIGNED {
                let mut both = sums[o];
                add(&mut both, &sums[o + UNSIGNED]);
                add(energy, &products(&both, &both));
            }
        }
        let (rows, cols) = (self.rows, self.cols);
        let epsilon = 1e-4 / 4.0 / (BATCH_CELL as f32).powi(4);
        let inner = |i: usize, n: usize| i.clamp(1, (n - 1).max(1)) - 1;
        for (i, norm) in self.norm.iter_mut().enumerate() {
            let (r0, c0) = (inner(i / (cols + 1), rows), inner(i % (cols + 1), cols));
            let (r1, c1) = ((r0 + 1).min(rows - 1), (c0 + 1).min(cols - 1));
            let energy = |r: usize, c: usize| &self.energy[r * cols + c];
            let four = [energy(r0, c0), energy(r1, c0), energy(r0, c1), energy(r1, c1)];
            for l in 0..GROUP {
                norm[l] = 1.0 / (four[0][l] + four[1][l] + four[2][l] + four[3][l] + epsilon).sqrt();
            }
        }
    }

    #[inline(always)]
    fn normalise(&self, group: usize, out: &mut [Lanes]) {
        let stride = self.cols + 1;
        let cells = self.signed[self.cols..].iter().zip(out.chunks_exact_mut(CHANNELS));
        for (i, (sums, out)) in cells.enumerate() {
            let (r, c) = (i / self.cols, i % self.cols);
            let norm = |r: usize, c: usize| &self.norm[r * stride + c];
            let mut write = |channel: usize, values: Group| out[channel].as_chunks_mut().0[group] = values;
            let norms = [norm(r + 1, c + 1), norm(r + 1, c), norm(r, c + 1), norm(r, c)];
            let mut texture = [[0.0f32; GROUP]; 4];
            for (o, sums) in sums.iter().enumerate() {
                let mut sum = [0.0f32; GROUP];
                for (norm, texture) in norms.iter().zip(&mut texture) {
                    let values = products(sums, norm).map(clip);
                    add(&mut sum, &values);
                    add(texture, &values);
                }
                write(o, times(&sum, 0.5));
            }
            for o in 0..UNSIGNED {
                let mut sum = [0.0f32; GROUP];
                let mut both = sums[o];
                add(&mut both, &sums[o + UNSIGNED]);
                for norm in norms {
                    add(&mut sum, &products(&both, norm).map(clip));
                }
                write(SIGNED + o, times(&sum, 0.5));
            }
            for (k, texture) in texture.iter().enumerate() {
                write(SIGNED + UNSIGNED + k, times(texture, TEXTURE_GAIN));
            }
        }
    }
}

// One operation over a group of patches a function: loops of several are not vectorised on every architecture.

#[inline(always)]
fn add(sums: &mut Group, values: &Group) {
    for l in 0..GROUP {
        sums[l] += values[l];
    }
}

#[inline(always)]
fn products(a: &Group, b: &Group) -> Group {
    let mut out = [0.0; GROUP];
    for l in 0..GROUP {
        out[l] = a[l] * b[l];
    }
    out
}

/// All values times `gain`; a closure over an array would not be vectorised.
#[inline(always)]
fn times(values: &Group, gain: f32) -> Group {
    let mut out = [0.0; GROUP];
    for l in 0..GROUP {
        out[l] = values[l] * gain;
    }
    out
}

/// Adds the values of the patches whose orientation is `o`.
#[inline(always)]
fn add_where(sums: &mut Group, bin: &[u32; GROUP], o: u32, values: &Group) {
    let mut taken = [0; GROUP];
    for l in 0..GROUP {
        taken[l] = values[l].to_bits() & u32::from(bin[l] == o).wrapping_neg();
    }
    add(sums, &taken.map(f32::from_bits));
}

leveled! {
    avx2 fn extract_batch(hog: &mut HogBatch, patches: &[Group], group: usize, out: &mut [Lanes]) {
        hog.signed.fill([[0.0; GROUP]; SIGNED]);
        for y in 0..hog.rows * BATCH_CELL {
            hog.add_row(patches, y);
        }
        hog.finish_sums();
        hog.normalise(group, out);
    }
}
