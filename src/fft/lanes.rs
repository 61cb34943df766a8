//! The 2-D transform of all channels of a feature map at once, over SIMD lanes.

use std::ops::Range;

use super::aligned::{SLACK, aligned};
use super::line::LinePlan;
use super::mixed::Lines;
use super::radix::{Cell, LANES};

/// Floats per cell of a map that [`LanePlan`] transforms: 32 real channels.
pub const CHANNELS: usize = 2 * LANES;

/// Columns that are transformed side by side: more of them share the work around each small transform, as long as
/// two copies of them stay in the first-level cache.
fn column_block(rows: usize) -> usize {
    (192 / rows.max(1)).clamp(1, 4)
}

/// A planned forward transform of maps of one size.
///
/// A map is `f32`, `[row][column][32]`, channel fastest. It is read **in place as 16 complex channels**: floats
/// 0..16 of a cell are real parts, floats 16..32 imaginary parts, `z_k = channel_k + i channel_{k+16}`.
/// One 2-D complex transform of 16 lanes so carries 32 real channels, without packing or unpacking:
/// what correlation filters need, `F⁻¹ Σ_c X̂_c conj Ŷ_c` over the real channels, is the real part of
/// `F⁻¹ Σ_k Ẑ_k conj Ẑ'_k` over the complex ones, see [`cross_power`](super::cross_power).
///
/// The transform is `Z[u][v] = Σ_rc z[r][c] exp(-2πi (ur/rows + vc/cols))`, unnormalised, in natural order.
/// Lengths are split into radices 8, 5, 4, 3, 2 and 7 and dense transforms of larger primes; a prime
/// above 127 goes by Bluestein's way. Every length works. Keep maps in an [`AlignedBuf`](super::AlignedBuf):
/// elsewhere the transform is right as well, but slower.
///
/// ```
/// use kcf_track::fft::{CHANNELS, LanePlan};
///
/// let plan = LanePlan::new(3, 5);
/// let mut map = vec![1.0; 3 * 5 * CHANNELS];
/// let mut scratch = vec![0.0; plan.scratch_len()];
/// plan.forward(&mut map, &mut scratch);
/// assert_eq!(map[0], 15.0);
/// assert!(map[CHANNELS..].iter().all(|v| v.abs() < 1e-5));
/// ```
#[derive(Clone, Debug)]
pub struct LanePlan {
    rows: usize,
    cols: usize,
    along_rows: LinePlan,
    along_cols: LinePlan,
}

impl LanePlan {
    /// A plan for maps of `rows` x `cols` cells.
    pub fn new(rows: usize, cols: usize) -> Self {
        Self { rows, cols, along_rows: LinePlan::new(cols), along_cols: LinePlan::new(rows) }
    }

    /// Rows of cells.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns of cells.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Floats of a map: `rows * cols * 32`.
    pub fn map_len(&self) -> usize {
        self.rows * self.cols * CHANNELS
    }

    /// Floats of scratch that [`forward`](Self::forward) needs.
    pub fn scratch_len(&self) -> usize {
        self.along_rows.scratch_cells(1).max(self.along_cols.scratch_cells(column_block(self.rows))) * CHANNELS + SLACK
    }

    /// Transforms `map` in place. Allocates nothing; what `scratch` holds before does not matter.
    ///
    /// # Panics
    /// When `map` is not [`map_len`](Self::map_len) long, or `scratch` shorter than [`scratch_len`](Self::scratch_len).
    pub fn forward(&self, map: &mut [f32], scratch: &mut [f32]) {
        self.forward_from_top(map, self.rows, scratch);
    }

    /// As [`forward`](Self::forward), of a map whose cells are zero but for the first `filled` rows: the rest of them
    /// is not looked at before the columns are transformed.
    ///
    /// # Panics
    /// As [`forward`](Self::forward).
    pub fn forward_from_top(&self, map: &mut [f32], filled: usize, scratch: &mut [f32]) {
        self.forward_from_rows(map, 0..filled.min(self.rows), scratch);
    }

    /// As [`forward`](Self::forward), of a map whose cells are zero but for the rows `filled`: the rest of them is not
    /// looked at before the columns are transformed.
    ///
    /// # Panics
    /// As [`forward`](Self::forward), and when the rows are not those of a map.
    pub fn forward_from_rows(&self, map: &mut [f32], filled: Range<usize>, scratch: &mut [f32]) {
        let (cells, scratch) = self.cells(map, scratch);
        self.transform_rows(&mut cells[filled.start * self.cols..], filled.len(), scratch);
        self.transform_cols(cells, scratch);
    }

    /// As [`forward`](Self::forward), where only the first `wanted` rows of the result are needed: what the others hold
    /// afterwards is undefined.
    ///
    /// # Panics
    /// As [`forward`](Self::forward).
    pub fn forward_to_top(&self, map: &mut [f32], wanted: usize, scratch: &mut [f32]) {
        self.forward_to_rows(map, 0..wanted.min(self.rows), scratch);
    }

    /// As [`forward`](Self::forward), where only the rows `wanted` of the result are needed: what the others hold
    /// afterwards is undefined.
    ///
    /// # Panics
    /// As [`forward`](Self::forward), and when the rows are not those of a map.
    pub fn forward_to_rows(&self, map: &mut [f32], wanted: Range<usize>, scratch: &mut [f32]) {
        let (cells, scratch) = self.cells(map, scratch);
        self.transform_cols(cells, scratch);
        self.transform_rows(&mut cells[wanted.start * self.cols..], wanted.len(), scratch);
    }

    fn cells<'m, 's>(&self, map: &'m mut [f32], scratch: &'s mut [f32]) -> (&'m mut [Cell], &'s mut [Cell]) {
        assert_eq!(map.len(), self.map_len(), "the map must have rows * cols * {CHANNELS} floats");
        assert!(scratch.len() >= self.scratch_len(), "the scratch must have {} floats", self.scratch_len());
        (map.as_chunks_mut().0, aligned(scratch).as_chunks_mut().0)
    }

    fn transform_rows(&self, cells: &mut [Cell], count: usize, scratch: &mut [Cell]) {
        if !cells.is_empty() && count > 0 {
            let rows = Lines { count, next: self.cols, stride: 1, block: 1 };
            self.along_rows.run(cells, rows, scratch);
        }
    }

    fn transform_cols(&self, cells: &mut [Cell], scratch: &mut [Cell]) {
        if !cells.is_empty() {
            let cols = Lines { count: self.cols, next: 1, stride: self.cols, block: column_block(self.rows) };
            self.along_cols.run(cells, cols, scratch);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::simd::assert_same_on_all_levels;

    fn noise(len: usize, seed: u64) -> Vec<f32> {
        let mut rng = rand_pcg::Pcg32::seed_from_u64(seed);
        (0..len).map(|_| rng.random_range(-1.0..1.0)).collect()
    }

    fn transform(plan: &LanePlan, map: &[f32]) -> Vec<f32> {
        let mut map = map.to_vec();
        // Whatever was in the scratch must not matter.
        let mut scratch = vec![f32::NAN; plan.scratch_len()];
        plan.forward(&mut map, &mut scratch);
        map
    }

    /// The definition, in double precision: along the rows, then along the columns.
    fn by_definition(rows: usize, cols: usize, map: &[f32]) -> Vec<f64> {
        let mut now: Vec<f64> = map.iter().map(|&v| f64::from(v)).collect();
        for (len, stride, starts) in
            [(cols, 1, (0..rows).map(|r| r * cols).collect::<Vec<_>>()), (rows, cols, (0..cols).collect::<Vec<_>>())]
        {
            let mut next = now.clone();
            for start in starts {
                for k in 0..len {
                    let to = (start + k * stride) * CHANNELS;
                    next[to..to + CHANNELS].fill(0.0);
                    for j in 0..len {
                        let (sin, cos) = (std::f64::consts::TAU * ((j * k) % len) as f64 / len as f64).sin_cos();
                        let from = (start + j * stride) * CHANNELS;
                        for l in 0..LANES {
                            let (re, im) = (now[from + l], now[from + LANES + l]);
                            next[to + l] += re * cos + im * sin;
                            next[to + LANES + l] += im * cos - re * sin;
                        }
                    }
                }
            }
            now = next;
        }
        now
    }

    /// Largest error over the root mean square of the spectrum.
    fn relative_error(got: &[f32], expected: &[f64]) -> f64 {
        let rms = (expected.iter().map(|v| v * v).sum::<f64>() / expected.len() as f64).sqrt();
        let worst = got.iter().zip(expected).map(|(g, e)| (f64::from(*g) - e).abs()).fold(0.0, |worst, e| {
            assert!(e.is_finite());
            f64::max(worst, e)
        });
        worst / rms
    }

    fn check(rows: usize, cols: usize) {
        let plan = LanePlan::new(rows, cols);
        let map = noise(plan.map_len(), (rows * 1000 + cols) as u64);
        let error = relative_error(&transform(&plan, &map), &by_definition(rows, cols, &map));
        assert!(error < 4e-6, "{rows}x{cols}: relative error {error:e}");
    }

    #[test]
    fn agrees_with_the_definition_on_all_small_sizes() {
        for n in 1..=40 {
            for (rows, cols) in [(n, 1), (1, n), (n, 4), (3, n), (n, 7)] {
                check(rows, cols);
            }
            check(n, n);
        }
    }

    #[test]
    fn agrees_with_the_definition_on_primes_and_their_products() {
        for prime in [41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109, 113, 127, 131, 139, 251] {
            check(prime, 2);
            check(2, prime);
        }
        for n in [62, 77, 91, 99, 118, 121, 143, 169, 187, 221, 2 * 127, 2 * 131, 3 * 137] {
            check(n, 2);
            check(1, n);
        }
    }

    #[test]
    fn agrees_with_the_definition_on_sizes_of_trackers() {
        for (rows, cols) in [(50, 21), (40, 60), (64, 64), (72, 20), (59, 40), (31, 10), (99, 26), (50, 62)] {
            check(rows, cols);
        }
    }

    #[test]
    fn every_level_gives_the_same_bits() {
        for (rows, cols) in [(50, 21), (64, 64), (59, 40), (31, 62), (99, 26), (128, 3), (7, 49), (131, 5), (11, 13)] {
            let map = noise(rows * cols * CHANNELS, 7);
            assert_same_on_all_levels(&format!("{rows}x{cols}"), || -> Vec<u32> {
                transform(&LanePlan::new(rows, cols), &map).iter().map(|v| v.to_bits()).collect()
            });
        }
    }

    #[test]
    fn an_empty_map_is_transformed_to_an_empty_map() {
        for (rows, cols) in [(0, 0), (0, 5), (5, 0)] {
            let plan = LanePlan::new(rows, cols);
            plan.forward(&mut [], &mut vec![0.0; plan.scratch_len()]);
        }
    }

    #[test]
    #[should_panic(expected = "the scratch must have")]
    fn short_scratch_is_refused() {
        LanePlan::new(4, 4).forward(&mut [0.0; 16 * CHANNELS], &mut [0.0; 3]);
    }

    /// The rest of the rows holds zeros, and is not looked at before the columns are.
    #[test]
    fn a_map_filled_from_the_top_is_transformed_as_any_other() {
        for (rows, cols, filled) in
            [(20, 27, 9), (16, 31, 1), (7, 8, 7), (13, 5, 12), (131, 3, 40), (24, 1, 5), (9, 9, 0)]
        {
            let plan = LanePlan::new(rows, cols);
            let mut map = noise(plan.map_len(), 11);
            map[filled * cols * CHANNELS..].fill(0.0);
            let expected = transform(&plan, &map);
            plan.forward_from_top(&mut map, filled, &mut vec![f32::NAN; plan.scratch_len()]);
            // Equal, and not only nearly: zeros are transformed to zeros.
            assert!(map == expected, "{filled} rows of {rows}x{cols}");
        }
    }

    #[test]
    fn the_top_of_a_transform_is_that_of_the_whole() {
        for (rows, cols, wanted) in [(20, 27, 12), (16, 31, 1), (7, 8, 7), (13, 5, 99), (131, 3, 40), (24, 1, 5)] {
            let plan = LanePlan::new(rows, cols);
            let mut map = noise(plan.map_len(), 12);
            let expected: Vec<f64> = transform(&plan, &map).iter().map(|&v| f64::from(v)).collect();
            plan.forward_to_top(&mut map, wanted, &mut vec![f32::NAN; plan.scratch_len()]);
            let top = wanted.min(rows) * cols * CHANNELS;
            let error = relative_error(&map[..top], &expected[..top]);
            assert!(error < 8e-6, "{wanted} rows of {rows}x{cols}: {error:e}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn parseval_linearity_and_shift(rows in 1usize..90, cols in 1usize..90, seed: u64, shift in 0usize..8000) {
            let plan = LanePlan::new(rows, cols);
            let (x, y) = (noise(plan.map_len(), seed), noise(plan.map_len(), !seed));
            let (zx, zy) = (transform(&plan, &x), transform(&plan, &y));
            let energy = |v: &[f32]| v.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>();
            let cells = (rows * cols) as f64;
            prop_assert!((energy(&zx) / cells / energy(&x) - 1.0).abs() < 1e-5);

            let mixed: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 2.0 * x - 0.5 * y).collect();
            let expected: Vec<f64> =
                zx.iter().zip(&zy).map(|(x, y)| 2.0 * f64::from(*x) - 0.5 * f64::from(*y)).collect();
            prop_assert!(relative_error(&transform(&plan, &mixed), &expected) < 8e-6);

            // A cyclic shift by (dr, dc) turns Z[u][v] by exp(-2πi (u dr/rows + v dc/cols)).
            let (dr, dc) = (shift / 90 % rows, shift % cols);
            let mut shifted = x.clone();
            for r in 0..rows {
                for c in 0..cols {
                    let to = ((r + dr) % rows * cols + (c + dc) % cols) * CHANNELS;
                    shifted[to..to + CHANNELS].copy_from_slice(&x[(r * cols + c) * CHANNELS..][..CHANNELS]);
                }
            }
            let mut expected = vec![0.0; plan.map_len()];
            for u in 0..rows {
                for v in 0..cols {
                    let turn = (u * dr % rows) as f64 / rows as f64 + (v * dc % cols) as f64 / cols as f64;
                    let (sin, cos) = (std::f64::consts::TAU * turn).sin_cos();
                    let at = (u * cols + v) * CHANNELS;
                    for l in 0..LANES {
                        let (re, im) = (f64::from(zx[at + l]), f64::from(zx[at + LANES + l]));
                        expected[at + l] = re * cos + im * sin;
                        expected[at + LANES + l] = im * cos - re * sin;
                    }
                }
            }
            prop_assert!(relative_error(&transform(&plan, &shifted), &expected) < 8e-6);
        }
    }
}
