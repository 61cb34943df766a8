//! Real transforms of a single plane: a response map, regression labels, a kernel correlation.
//!
//! A plane is transformed over lanes too. Along the rows a lane is a pair of rows (one the real, the other the
//! imaginary part, taken apart afterwards by symmetry), along the columns a lane is a column of the half-spectrum. The
//! general transforms of rustfft are as exact, but not the same to the last bit on every CPU.

use rustfft::num_complex::Complex32;

use super::aligned::{SLACK, aligned};
use super::lanes::CHANNELS;
use super::line::LinePlan;
use super::mixed::Lines;
use super::radix::{Cell, LANES, take_apart};
use crate::simd::leveled;

/// A planned transform of real planes of one size, to and from their half-spectra.
///
/// A plane is `f32`, `[row][column]`. Its half-spectrum is `rows x (cols/2 + 1)` complex values row by row, those with
/// `v = 0..=cols/2` of `F[u][v] = Σ_rc x[r][c] exp(-2πi (ur/rows + vc/cols))`; the others are
/// `F[-u][-v] = conj F[u][v]`. Neither direction is normalised: forward and inverse give `rows * cols` times the plane.
///
/// ```
/// use kcf_track::fft::PlanePlan;
///
/// let plan = PlanePlan::new(4, 6);
/// let plane: Vec<f32> = (0..24).map(|v| v as f32).collect();
/// let mut half = vec![Default::default(); plan.half_len()];
/// let mut back = vec![0.0; 24];
/// let mut scratch = vec![0.0; plan.scratch_len()];
/// plan.forward(&plane, &mut half, &mut scratch);
/// plan.inverse(&half, &mut back, &mut scratch);
/// assert!(plane.iter().zip(&back).all(|(p, b)| (24.0 * p - b).abs() < 1e-3));
/// ```
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
    /// The transformed pairs of rows taken apart, and turned so that the columns `v` become lanes: `columns` is
    /// `[v / 16][row]`, `rows` rows long, the first of the line at `first`.
    fn rows_to_columns(line: &[Cell], columns: &mut [Cell], rows: usize, first: usize) {
        let cols = line.len();
        let here = CHANNELS.min(rows - first);
        for v in 0..=cols / 2 {
            let (re, im) = take_apart(&line[v], &line[(cols - v) % cols]);
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
    fn put_together(columns: &[Cell], rows: usize, first: usize, line: &mut [Cell]) {
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
                // What stands here is real in the spectrum of a real row; what else is left of rounding is dropped.
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

    /// The line of cells, the columns of cells, and what the transforms of lines need.
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

    /// The half-spectrum of `plane`. Allocates nothing; what `scratch` holds before does not matter.
    ///
    /// # Panics
    /// When a length is not what the plan asks for.
    pub fn forward(&self, plane: &[f32], half: &mut [Complex32], scratch: &mut [f32]) {
        self.check(plane.len(), half.len(), scratch.len());
        if plane.is_empty() {
            return;
        }
        let (line, columns, inner) = self.split(scratch);
        // Lanes without a column or a row of their own are transformed along: they must hold numbers.
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

    /// The plane whose half-spectrum is `half`, times `rows * cols`. Allocates nothing. Where the half-spectrum holds
    /// what that of a real plane cannot, that part is left out.
    ///
    /// # Panics
    /// When a length is not what the plan asks for.
    pub fn inverse(&self, half: &[Complex32], plane: &mut [f32], scratch: &mut [f32]) {
        self.check(plane.len(), half.len(), scratch.len());
        if plane.is_empty() {
            return;
        }
        let (line, columns, inner) = self.split(scratch);
        columns.fill([0.0; CHANNELS]);
        for (u, row) in half.chunks_exact(self.half_cols()).enumerate() {
            for (group, values) in row.chunks(LANES).enumerate() {
                // Swapped, as in `put_together`.
                let (im, re) = columns[group * self.rows + u].split_at_mut(LANES);
                for ((value, re), im) in values.iter().zip(re).zip(im) {
                    *re = value.re;
                    *im = value.im;
                }
            }
        }
        self.run_columns(columns, inner);
        for (group, rows) in plane.chunks_mut(CHANNELS * self.cols).enumerate() {
            put_together(columns, self.rows, group * CHANNELS, line);
            self.along_rows.run(line, ONE, inner);
            lanes_to_rows(line, rows, self.cols);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rustfft::algorithm::Dft;
    use rustfft::num_complex::Complex64;
    use rustfft::{Fft, FftDirection};

    use super::*;
    use crate::simd::assert_same_on_all_levels;

    fn noise(len: usize, seed: u64) -> Vec<f32> {
        let mut rng = rand_pcg::Pcg32::seed_from_u64(seed);
        (0..len).map(|_| rng.random_range(-1.0..1.0)).collect()
    }

    fn forward(plan: &PlanePlan, plane: &[f32]) -> Vec<Complex32> {
        let mut half = vec![Complex32::default(); plan.half_len()];
        plan.forward(plane, &mut half, &mut vec![f32::NAN; plan.scratch_len()]);
        half
    }

    fn inverse(plan: &PlanePlan, half: &[Complex32]) -> Vec<f32> {
        let mut plane = vec![0.0; plan.plane_len()];
        plan.inverse(half, &mut plane, &mut vec![f32::NAN; plan.scratch_len()]);
        plane
    }

    /// The half-spectrum in double precision, by its definition. (A planner of rustfft would be compiled with all that
    /// it may choose from, which takes longer than all of this crate's transforms.)
    pub fn by_definition(rows: usize, cols: usize, plane: &[f32]) -> Vec<Complex64> {
        let forward = |n: usize| Dft::new(n, FftDirection::Forward);
        let mut full: Vec<Complex64> = plane.iter().map(|&v| Complex64::new(v.into(), 0.0)).collect();
        forward(cols).process(&mut full);
        let mut turned: Vec<_> = (0..full.len()).map(|i| full[i % rows * cols + i / rows]).collect();
        forward(rows).process(&mut turned);
        let width = cols / 2 + 1;
        (0..rows * width).map(|i| turned[i % width * rows + i / width]).collect()
    }

    fn check(rows: usize, cols: usize) {
        let plan = PlanePlan::new(rows, cols);
        let plane = noise(rows * cols, (rows * 1000 + cols) as u64);
        let half = forward(&plan, &plane);
        let scale = ((rows * cols) as f64).sqrt();
        for (got, expected) in half.iter().zip(by_definition(rows, cols, &plane)) {
            let error = (Complex64::new(got.re.into(), got.im.into()) - expected).norm() / scale;
            assert!(error < 4e-6, "{rows}x{cols}: forward, {error:e}");
        }
        for (got, expected) in inverse(&plan, &half).iter().zip(&plane) {
            let error = (got / (rows * cols) as f32 - expected).abs();
            assert!(error < 4e-6, "{rows}x{cols}: inverse, {error:e}");
        }
    }

    #[test]
    fn forward_is_the_transform_and_inverse_undoes_it() {
        for n in 1..=70 {
            for (rows, cols) in [(n, 1), (1, n), (n, n), (n, 21), (20, n), (2, n)] {
                check(rows, cols);
            }
        }
        for (rows, cols) in [(131, 3), (3, 131), (99, 26), (50, 62), (64, 128), (127, 101)] {
            check(rows, cols);
        }
    }

    #[test]
    fn every_level_gives_the_same_bits() {
        for (rows, cols) in [(50, 21), (64, 64), (59, 40), (33, 17), (1, 1), (131, 2)] {
            let plane = noise(rows * cols, 9);
            assert_same_on_all_levels(&format!("{rows}x{cols}"), || {
                let plan = PlanePlan::new(rows, cols);
                let half = forward(&plan, &plane);
                let back = inverse(&plan, &half);
                let half: Vec<_> = half.iter().map(|v| (v.re.to_bits(), v.im.to_bits())).collect();
                (half, back.iter().map(|v| v.to_bits()).collect::<Vec<_>>())
            });
        }
    }

    #[test]
    fn an_empty_plane_is_transformed_to_nothing() {
        for (rows, cols) in [(0, 0), (0, 7)] {
            let plan = PlanePlan::new(rows, cols);
            assert!(forward(&plan, &[]).is_empty());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn product_of_spectra_is_the_cyclic_convolution(rows in 1usize..24, cols in 1usize..24, seed: u64) {
            let plan = PlanePlan::new(rows, cols);
            let (x, y) = (noise(rows * cols, seed), noise(rows * cols, !seed));
            let product: Vec<_> = forward(&plan, &x).iter().zip(forward(&plan, &y)).map(|(a, b)| a * b).collect();
            for (i, got) in inverse(&plan, &product).iter().enumerate() {
                let mut expected = 0.0;
                for (j, x) in x.iter().enumerate() {
                    let r = (i / cols + rows - j / cols) % rows;
                    let c = (i % cols + cols - j % cols) % cols;
                    expected += f64::from(*x) * f64::from(y[r * cols + c]);
                }
                prop_assert!((f64::from(*got) / (rows * cols) as f64 - expected).abs() < 1e-4);
            }
        }
    }
}
