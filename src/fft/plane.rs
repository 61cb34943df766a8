//! Real transforms of a single plane: a response map, regression labels, a kernel correlation.
//!
//! A plane is transformed over lanes too. Along the rows a lane is a pair of rows (one the real, the other the
//! imaginary part, split afterwards by symmetry), along the columns a lane is a column of the half-spectrum.

use rustfft::num_complex::Complex32;

use super::lanes::{CHANNELS, SLACK, aligned};
use super::line::{Cell, LANES, LinePlan, Lines, split_real};
use crate::simd::leveled;

/// A planned transform of real planes of one size, to and from their half-spectra.
///
/// A plane is `f32`, `[row][column]`. Its half-spectrum is `rows x (cols/2 + 1)` complex values row by row, those with
/// `v = 0..=cols/2` of `F[u][v] = Σ_rc x[r][c] exp(-2πi (ur/rows + vc/cols))`; the others are
/// `F[-u][-v] = conj F[u][v]`. Neither direction is normalised: forward and inverse give `rows * cols` times the plane.
#[derive(Clone, Debug)]
pub struct PlanePlan {
    rows: usize,
    cols: usize,
    along_rows: LinePlan,
    along_cols: LinePlan,
}

/// One line of cells.
const ONE: Lines = Lines { count: 1, next: 0, stride: 1, block: 1 };

leveled! {
    /// Up to 32 rows of a plane as one line of cells: row `k` the real, row `16 + k` the imaginary part of lane `k`.
    fn rows_to_lanes(rows: &[f32], cols: usize, line: &mut [Cell]) {
        for (lane, row) in rows.chunks_exact(cols).enumerate().take(CHANNELS) {
            for (cell, value) in line.iter_mut().zip(row) {
                cell[lane] = *value;
            }
        }
    }
}

leveled! {
    /// Splits the transformed pairs of rows and transposes them, so the columns `v` become lanes: `columns` is
    /// `[v / 16][row]`, `rows` rows long, the first of the line at `first`.
    fn rows_to_columns(line: &[Cell], columns: &mut [Cell], rows: usize, first: usize) {
        let cols = line.len();
        let here = CHANNELS.min(rows - first);
        for v in 0..=cols / 2 {
            let (re, im) = split_real(&line[v], &line[(cols - v) % cols]);
            let group = &mut columns[v / LANES * rows + first..][..here];
            let (re, im) = (&re[..here], &im[..here]);
            let lane = v % LANES;
            for (i, cell) in group.iter_mut().enumerate() {
                cell[lane] = re[i];
                cell[LANES + lane] = im[i];
            }
        }
    }
}

leveled! {
    /// The opposite of [`rows_to_columns`]: `Z(v) = A(v) + iB(v)` for all `v`, from half-spectra of pairs of rows. Real
    /// and imaginary parts are swapped on both sides, which makes a forward transform an inverse one.
    fn columns_to_rows(columns: &[Cell], rows: usize, first: usize, line: &mut [Cell]) {
        let cols = line.len();
        let here = CHANNELS.min(rows - first);
        for v in 0..=cols / 2 {
            let mut re = [0.0; CHANNELS];
            let mut im = [0.0; CHANNELS];
            let group = &columns[v / LANES * rows + first..][..here];
            for ((cell, re), im) in group.iter().zip(&mut re).zip(&mut im) {
                *im = cell[v % LANES];
                *re = cell[LANES + v % LANES];
            }
            let mirror = (cols - v) % cols;
            if mirror == v {
                // This value is real in the spectrum of a real row; the rest is rounding.
                im = [0.0; CHANNELS];
            } else {
                let cell = &mut line[mirror];
                for l in 0..LANES {
                    cell[l] = re[LANES + l] - im[l];
                    cell[LANES + l] = re[l] + im[LANES + l];
                }
            }
            let cell = &mut line[v];
            for l in 0..LANES {
                cell[l] = im[l] + re[LANES + l];
                cell[LANES + l] = re[l] - im[LANES + l];
            }
        }
    }
}

leveled! {
    /// One line of cells as up to 32 rows of a plane, real and imaginary parts swapped.
    fn lanes_to_rows(line: &[Cell], rows: &mut [f32], cols: usize) {
        for (k, row) in rows.chunks_exact_mut(cols).enumerate() {
            let lane = (k + LANES) % CHANNELS;
            for (value, cell) in row.iter_mut().zip(line) {
                *value = cell[lane];
            }
        }
    }
}

impl PlanePlan {
    /// A plan for planes of `rows` x `cols`.
    pub fn new(rows: usize, cols: usize) -> Self {
        Self { rows, cols, along_rows: LinePlan::new(cols), along_cols: LinePlan::new(rows) }
    }

    /// Values of a plane: `rows * cols`.
    pub fn plane_len(&self) -> usize {
        self.rows * self.cols
    }

    /// Columns of a half-spectrum: `cols/2 + 1`.
    pub fn half_cols(&self) -> usize {
        self.cols / 2 + 1
    }

    /// Values of a half-spectrum: `rows * (cols/2 + 1)`.
    pub fn half_len(&self) -> usize {
        self.rows * self.half_cols()
    }

    /// Floats of scratch that either direction needs.
    pub fn scratch_len(&self) -> usize {
        let inner = self.along_rows.scratch_cells(1).max(self.along_cols.scratch_cells(1));
        (self.cols + self.columns_cells() + inner) * CHANNELS + SLACK
    }

    fn columns_cells(&self) -> usize {
        self.half_cols().div_ceil(LANES) * self.rows
    }

    fn check(&self, plane: usize, half: usize, scratch: usize) {
        assert_eq!(plane, self.plane_len(), "the plane must have rows * cols values");
        assert_eq!(half, self.half_len(), "the half-spectrum must have rows * (cols/2 + 1) values");
        assert!(scratch >= self.scratch_len(), "the scratch must have {} floats", self.scratch_len());
    }

    /// The line of cells, the columns of cells, and the scratch of the line transforms.
    fn split<'a>(&self, scratch: &'a mut [f32]) -> (&'a mut [Cell], &'a mut [Cell], &'a mut [Cell]) {
        let (cells, _) = aligned(scratch).as_chunks_mut();
        let (line, cells) = cells.split_at_mut(self.cols);
        let (columns, inner) = cells.split_at_mut(self.columns_cells());
        (line, columns, inner)
    }

    fn run_columns(&self, columns: &mut [Cell], inner: &mut [Cell]) {
        let lines = Lines { count: self.half_cols().div_ceil(LANES), next: self.rows, stride: 1, block: 1 };
        self.along_cols.run(columns, lines, inner);
    }

    /// The half-spectrum of `plane`.
    pub fn forward(&self, plane: &[f32], half: &mut [Complex32], scratch: &mut [f32]) {
        self.check(plane.len(), half.len(), scratch.len());
        if plane.is_empty() {
            return;
        }
        let (line, columns, inner) = self.split(scratch);
        // Unused lanes are transformed too and must hold numbers.
        columns.fill([0.0; CHANNELS]);
        line.fill([0.0; CHANNELS]);
        for (group, rows) in plane.chunks(CHANNELS * self.cols).enumerate() {
            rows_to_lanes(rows, self.cols, line);
            self.along_rows.run(line, ONE, inner);
            rows_to_columns(line, columns, self.rows, group * CHANNELS);
        }
        self.run_columns(columns, inner);
        for (u, row) in half.chunks_exact_mut(self.half_cols()).enumerate() {
            for (group, values) in row.chunks_mut(LANES).enumerate() {
                let (re, im) = columns[group * self.rows + u].split_at(LANES);
                for ((value, &re), &im) in values.iter_mut().zip(re).zip(im) {
                    *value = Complex32 { re, im };
                }
            }
        }
    }

    /// The plane whose half-spectrum is `half`, times `rows * cols`. The
    /// part of a half-spectrum that no real plane has is dropped.
    pub fn inverse(&self, half: &[Complex32], plane: &mut [f32], scratch: &mut [f32]) {
        self.check(plane.len(), half.len(), scratch.len());
        if plane.is_empty() {
            return;
        }
        let (line, columns, inner) = self.split(scratch);
        columns.fill([0.0; CHANNELS]);
        for (u, row) in half.chunks_exact(self.half_cols()).enumerate() {
            for (group, values) in row.chunks(LANES).enumerate() {
                // Swapped, as in `columns_to_rows`.
                let (im, re) = columns[group * self.rows + u].split_at_mut(LANES);
                for ((value, re), im) in values.iter().zip(re).zip(im) {
                    *re = value.re;
                    *im = value.im;
                }
            }
        }
        self.run_columns(columns, inner);
        for (group, rows) in plane.chunks_mut(CHANNELS * self.cols).enumerate() {
            columns_to_rows(columns, self.rows, group * CHANNELS, line);
            self.along_rows.run(line, ONE, inner);
            lanes_to_rows(line, rows, self.cols);
        }
    }
}
