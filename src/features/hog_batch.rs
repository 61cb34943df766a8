//! HOG of many small patches at once: a lane is a patch.
//!
//! The values are those of [`Hog`](super::hog::Hog). A register holds the same pixel of all patches, and each orientation
//! takes its part by a mask.

use super::hog::{CHANNELS, CLIP, SIGNED, TEXTURE_GAIN, UNSIGNED, border_gain, orientation_bin};
use crate::simd::leveled;

/// Patches per batch.
pub const PATCHES: usize = 24;

/// One value of each patch.
pub type Lanes = [f32; PATCHES];

/// Extracts HOG from batches of patches of one size.
#[derive(Clone, Debug)]
pub struct HogBatch {
    width: usize,
    height: usize,
    cell: usize,
    rows: usize,
    cols: usize,
    /// Sums of one row of pixels for each cell, with a border cell on either side.
    line: Vec<[Lanes; SIGNED]>,
    /// `[row + 1][column]`, with a border row on either side.
    signed: Vec<[Lanes; SIGNED]>,
    /// `[row][column]`: energy of the unsigned orientations.
    energy: Vec<Lanes>,
    /// `[row + 1][column + 1]`: reciprocal norms of the 2x2 blocks whose last cell is (row, column).
    norm: Vec<Lanes>,
}

impl HogBatch {
    /// For patches of `width` x `height` pixels and cells of `cell` x `cell` pixels.
    ///
    /// # Panics
    /// If the patch is smaller than a cell.
    pub fn new(width: usize, height: usize, cell: usize) -> Self {
        assert!(cell > 0 && width >= cell && height >= cell, "a patch holds at least one cell");
        let (rows, cols) = (height / cell, width / cell);
        let none = [[0.0; PATCHES]; SIGNED];
        Self {
            width,
            height,
            cell,
            rows,
            cols,
            line: vec![none; cols + 2],
            signed: vec![none; (rows + 2) * cols],
            energy: vec![[0.0; PATCHES]; rows * cols],
            norm: vec![[0.0; PATCHES]; (rows + 1) * (cols + 1)],
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

    /// Writes the feature maps of `patches` (gray values, `[row][column][patch]`) to `out`: `[row][column][31][patch]`.
    pub fn extract(&mut self, patches: &[Lanes], out: &mut [Lanes]) {
        assert_eq!(patches.len(), self.width * self.height);
        assert_eq!(out.len(), self.rows * self.cols * CHANNELS);
        extract(self, patches, out);
    }

    /// Adds the gradients of pixel row `y`.
    #[inline(always)]
    fn add_row(&mut self, patches: &[Lanes], y: usize) {
        let (width, height, cell) = (self.width, self.height, self.cell);
        let row = |y: usize| &patches[y * width..][..width];
        let (above, here, below) = (row(y.saturating_sub(1)), row(y), row((y + 1).min(height - 1)));
        let one_sided = |i: usize, n: usize| if n > 1 && (i == 0 || i == n - 1) { 2.0f32 } else { 1.0 };
        let dy_gain = one_sided(y, height);
        self.line.fill([[0.0; PATCHES]; SIGNED]);
        for x in 0..self.cols * cell {
            let dx_gain = one_sided(x, width);
            let (left, right) = (&here[x.saturating_sub(1)], &here[(x + 1).min(width - 1)]);
            let (up, down) = (&above[x], &below[x]);
            let (mut magnitude, mut bin) = ([0.0f32; PATCHES], [0u32; PATCHES]);
            for l in 0..PATCHES {
                let (gx, gy) = (dx_gain * (right[l] - left[l]), dy_gain * (down[l] - up[l]));
                magnitude[l] = (gx * gx + gy * gy).sqrt();
                bin[l] = orientation_bin(gx, gy);
            }
            let (first, share) = share(x, cell);
            let (one, other) = self.line.split_at_mut(first + 1);
            let (one, other) = (&mut one[first], &mut other[0]);
            for o in 0..SIGNED {
                for l in 0..PATCHES {
                    let value = if bin[l] == o as u32 { magnitude[l] } else { 0.0 };
                    one[o][l] += value * (1.0 - share);
                    other[o][l] += value * share;
                }
            }
        }
        let gain = 1.0 / (2.0 * 255.0 * (cell * cell) as f32);
        let (first, share) = share(y, cell);
        for (row, share) in [(first, 1.0 - share), (first + 1, share)] {
            let sums = &mut self.signed[row * self.cols..][..self.cols];
            for (sums, line) in sums.iter_mut().zip(&self.line[1..]) {
                for o in 0..SIGNED {
                    add(&mut sums[o], &times(&line[o], gain * share));
                }
            }
        }
    }

    /// Applies the border gain and sums the energies.
    #[inline(always)]
    fn finish_sums(&mut self) {
        let cells = self.signed[self.cols..].iter_mut().zip(&mut self.energy);
        for (i, (sums, energy)) in cells.enumerate() {
            let gain = border_gain(i / self.cols, self.rows) * border_gain(i % self.cols, self.cols);
            *energy = [0.0; PATCHES];
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
        let epsilon = 1e-4 / 4.0 / (self.cell as f32).powi(4);
        let inner = |i: usize, n: usize| i.clamp(1, (n - 1).max(1)) - 1;
        for (i, norm) in self.norm.iter_mut().enumerate() {
            let (r0, c0) = (inner(i / (cols + 1), rows), inner(i % (cols + 1), cols));
            let (r1, c1) = ((r0 + 1).min(rows - 1), (c0 + 1).min(cols - 1));
            let energy = |r: usize, c: usize| &self.energy[r * cols + c];
            let four = [energy(r0, c0), energy(r1, c0), energy(r0, c1), energy(r1, c1)];
            for l in 0..PATCHES {
                norm[l] = 1.0 / (four[0][l] + four[1][l] + four[2][l] + four[3][l] + epsilon).sqrt();
            }
        }
    }

    #[inline(always)]
    fn normalise(&self, out: &mut [Lanes]) {
        let stride = self.cols + 1;
        let cells = self.signed[self.cols..].iter().zip(out.chunks_exact_mut(CHANNELS));
        for (i, (sums, out)) in cells.enumerate() {
            let (r, c) = (i / self.cols, i % self.cols);
            let norm = |r: usize, c: usize| &self.norm[r * stride + c];
            let norms = [norm(r + 1, c + 1), norm(r + 1, c), norm(r, c + 1), norm(r, c)];
            let mut texture = [[0.0f32; PATCHES]; 4];
            for o in 0..SIGNED {
                let mut sum = [0.0f32; PATCHES];
                for (norm, texture) in norms.iter().zip(&mut texture) {
                    let values = products(&sums[o], norm).map(clipped);
                    add(&mut sum, &values);
                    add(texture, &values);
                }
                out[o] = times(&sum, 0.5);
            }
            for o in 0..UNSIGNED {
                let mut sum = [0.0f32; PATCHES];
                let mut both = sums[o];
                add(&mut both, &sums[o + UNSIGNED]);
                for norm in norms {
                    add(&mut sum, &products(&both, norm).map(clipped));
                }
                out[SIGNED + o] = times(&sum, 0.5);
            }
            for k in 0..4 {
                out[SIGNED + UNSIGNED + k] = times(&texture[k], TEXTURE_GAIN);
            }
        }
    }
}

// One operation over all patches a function: loops of several are not vectorised on every architecture.

#[inline(always)]
fn add(sums: &mut Lanes, values: &Lanes) {
    for l in 0..PATCHES {
        sums[l] += values[l];
    }
}

#[inline(always)]
fn products(a: &Lanes, b: &Lanes) -> Lanes {
    let mut out = [0.0; PATCHES];
    for l in 0..PATCHES {
        out[l] = a[l] * b[l];
    }
    out
}

/// All values times `gain`; a closure over an array would not be vectorised.
#[inline(always)]
fn times(values: &Lanes, gain: f32) -> Lanes {
    let mut out = [0.0; PATCHES];
    for l in 0..PATCHES {
        out[l] = values[l] * gain;
    }
    out
}

#[inline(always)]
fn clipped(v: f32) -> f32 {
    if v < CLIP { v } else { CLIP }
}

/// The first of the two cells that share pixel `i` (counted from 1; 0 is outside the map), and the share of the second.
#[inline(always)]
fn share(i: usize, cell: usize) -> (usize, f32) {
    // The first pixel after the middle of a cell lies half a pixel after it, or on it if cells are odd.
    let behind = i + cell - cell / 2;
    let phase = (behind % cell) as f32 + if cell.is_multiple_of(2) { 0.5 } else { 0.0 };
    (behind / cell, phase / cell as f32)
}

leveled! {
    avx2 fn extract(hog: &mut HogBatch, patches: &[Lanes], out: &mut [Lanes]) {
        hog.signed.fill([[0.0; PATCHES]; SIGNED]);
        for y in 0..hog.rows * hog.cell {
            hog.add_row(patches, y);
        }
        hog.finish_sums();
        hog.normalise(out);
    }
}
