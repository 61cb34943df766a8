//! HOG of many small patches at once: a lane is a patch.
//!
//! The values are those of [`Hog`](super::hog::Hog). Patches go in groups of eight: a register of AVX2 holds the same
//! pixel of a group, and each orientation takes its part by a mask.

use super::hog::{CHANNELS, CLIP, SIGNED, TEXTURE_GAIN, UNSIGNED, border_gain, orientation_bin};
use crate::simd::leveled;

/// Room for patches in a batch.
pub const PATCHES: usize = 24;
/// Side of a cell in pixels.
pub const CELL: usize = 4;

/// One value of each patch.
pub type Lanes = [f32; PATCHES];

/// Patches that are worked on together.
pub const GROUP: usize = 8;
/// One value of each patch of a group.
pub type Group = [f32; GROUP];

/// Shares of the four pixels between the centres of two cells: of the first cell, and of the second.
const SHARES: [[f32; CELL]; 2] = [[0.875, 0.625, 0.375, 0.125], [0.125, 0.375, 0.625, 0.875]];

/// Extracts HOG from batches of patches of one size.
#[derive(Clone, Debug)]
pub struct HogBatch {
    rows: usize,
    cols: usize,
    /// `[pixel][patch]` of one row of pixels, with half a cell of zeros on either side: orientations of the gradients.
    bin: Vec<u32>,
    /// As `bin`: shares of the cells before and after a pixel.
    shares: [Vec<f32>; 2],
    /// As `bin`: magnitudes of the gradients times those shares.
    parts: [Vec<f32>; 2],
    /// Sums of one row of pixels for each cell, with a border cell on either side.
    line: Vec<[Group; SIGNED]>,
    /// `[row + 1][column]`, with a border row on either side.
    signed: Vec<[Group; SIGNED]>,
    /// `[row][column]`: energy of the unsigned orientations.
    energy: Vec<Group>,
    /// `[row + 1][column + 1]`: reciprocal norms of the 2x2 blocks whose last cell is (row, column).
    norm: Vec<Group>,
}

impl HogBatch {
    /// For patches of `width` x `height` pixels.
    ///
    /// # Panics
    /// If that is not a whole number of cells, at least one.
    pub fn new(width: usize, height: usize) -> Self {
        let (rows, cols) = (height / CELL, width / CELL);
        assert!(rows * cols > 0 && (cols * CELL, rows * CELL) == (width, height), "whole cells");
        let none = [[0.0; GROUP]; SIGNED];
        Self {
            rows,
            cols,
            bin: vec![0; (cols + 1) * CELL * GROUP],
            shares: SHARES.map(|shares| {
                let pixels = (0..(cols + 1) * CELL).map(|x| [shares[x % CELL]; GROUP]);
                pixels.collect::<Vec<_>>().into_flattened()
            }),
            parts: [(); 2].map(|()| vec![0.0; (cols + 1) * CELL * GROUP]),
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
        for (group, patches) in patches.chunks_exact(self.rows * self.cols * CELL * CELL).enumerate() {
            extract(self, patches, group, out);
        }
    }

    /// Adds the gradients of pixel row `y` of a group of patches.
    #[inline(always)]
    fn add_row(&mut self, patches: &[Group], y: usize) {
        let (width, height) = (self.cols * CELL, self.rows * CELL);
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
            let pixels = column * CELL..(column + 1) * CELL;
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
        let gain = 1.0 / (2.0 * 255.0 * (CELL * CELL) as f32);
        let (first, phase) = ((y + CELL / 2) / CELL, (y + CELL / 2) % CELL);
        for (row, shares) in [first, first + 1].into_iter().zip(SHARES) {
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
        let (start, n) = ((CELL / 2 + x) * GROUP, left.len().min(right.len()).min(up.len()));
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
        let epsilon = 1e-4 / 4.0 / (CELL as f32).powi(4);
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
                    let values = products(sums, norm).map(clipped);
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
                    add(&mut sum, &products(&both, norm).map(clipped));
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

#[inline(always)]
fn clipped(v: f32) -> f32 {
    if v < CLIP { v } else { CLIP }
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
    avx2 fn extract(hog: &mut HogBatch, patches: &[Group], group: usize, out: &mut [Lanes]) {
        hog.signed.fill([[0.0; GROUP]; SIGNED]);
        for y in 0..hog.rows * CELL {
            hog.add_row(patches, y);
        }
        hog.finish_sums();
        hog.normalise(group, out);
    }
}
