//! Spectra of the single channels of a map, for what is solved frequency by frequency over the channels: filters in the
//! primal, and correlations with many supports.
//!
//! A [`LanePlan`] transforms 32 real channels as 16 complex ones, and sums over all channels need no more than that. A
//! channel of its own comes out of such a spectrum by symmetry: with `Z` the transform of `a + ib`, `a` and `b` real,
//! `A(f) = (Z(f) + conj Z(-f)) / 2` and `B(f) = (Z(f) - conj Z(-f)) / 2i`. Half of the frequencies hold all there is.

use rustfft::num_complex::Complex32;

use super::lanes::{CHANNELS, LanePlan};
use super::radix::{Cell, LANES, take_apart};
use crate::simd::leveled;

/// Floats of a block of 32 channels at one frequency: 32 real parts, then 32 imaginary parts.
pub const BIN: usize = 2 * CHANNELS;

/// The channels of one block at one frequency.
pub(super) type Bin = [f32; BIN];

/// A planned transform of maps of any number of channels, to and from the half-spectra of each channel.
///
/// A map is `f32`, in blocks of 32 channels one after the other, each `[row][column][32]`; lanes beyond the channels
/// are zero. Its spectra are `f32`, `[frequency][block][64]`: the real parts of the block's 32 channels, then the
/// imaginary parts. Frequencies are those of [`PlanePlan`](super::PlanePlan), row by row, so that the spectra of a map
/// and the half-spectrum of a plane fit each other place by place. Neither direction is normalised: forward and inverse
/// give `rows * cols` times the map. Keep both in an [`AlignedBuf`](super::AlignedBuf): elsewhere the transform is
/// right as well, but slower.
///
/// ```
/// use kcf_track::fft::ChannelPlan;
///
/// // 40 channels in two blocks.
/// let plan = ChannelPlan::new(4, 6, 40);
/// let map: Vec<f32> = (0..plan.map_len()).map(|i| (i * 7 % 13) as f32).collect();
/// let mut spectra = vec![0.0; plan.spectra_len()];
/// let (mut back, mut scratch) = (map.clone(), vec![0.0; plan.scratch_len()]);
/// plan.forward(&mut back, &mut spectra, &mut scratch);
/// plan.inverse(&spectra, &mut back, &mut scratch);
/// assert!(map.iter().zip(&back).all(|(m, b)| (24.0 * m - b).abs() < 1e-3));
/// ```
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
                let (re, im) = take_apart(&cells[u * cols + v], &cells[opposite]);
                let (to_re, to_im) = out[block].split_at_mut(CHANNELS);
                to_re.copy_from_slice(&re);
                to_im.copy_from_slice(&im);
            }
        }
    }
}

leveled! {
    /// The opposite of `to_channels`, ready for the inverse transform: real and imaginary parts are swapped.
    fn from_channels(spectra: &[Bin], rows: usize, cols: usize, block: usize, blocks: usize, cells: &mut [Cell]) {
        let half = cols / 2 + 1;
        for (u, spectra) in spectra.chunks_exact(half * blocks).enumerate() {
            for (v, spectra) in spectra.chunks_exact(blocks).enumerate() {
                let (parts, _) = spectra[block].as_chunks::<LANES>();
                put_together(cells, (rows, cols), (u, v), [(&parts[0], &parts[2]), (&parts[1], &parts[3])]);
            }
        }
    }
}

/// Writes `A + iB` to the frequency `at` and, where only half of the frequencies are at hand, to its opposite. `A` and
/// `B` are 16 real signals each, real parts and imaginary parts. Swapped, so that a forward transform is the inverse
/// one, and has the signals of `A` in its first 16 lanes and those of `B` in the others.
#[inline(always)]
pub(super) fn put_together(
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
        (self.lanes.rows(), self.lanes.cols())
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

    /// Floats of scratch that either direction needs.
    pub fn scratch_len(&self) -> usize {
        self.lanes.scratch_len()
    }

    fn check(&self, map: usize, spectra: usize) {
        assert_eq!(map, self.map_len(), "the map must have blocks * rows * cols * {CHANNELS} floats");
        assert_eq!(spectra, self.spectra_len(), "the spectra must have frequencies * blocks * {BIN} floats");
    }

    /// The spectra of the channels of `map`, which is used up. Allocates nothing; what `scratch` holds before does not
    /// matter.
    ///
    /// # Panics
    /// When a length is not what the plan asks for.
    pub fn forward(&self, map: &mut [f32], spectra: &mut [f32], scratch: &mut [f32]) {
        self.check(map.len(), spectra.len());
        self.transform_from_top(map, self.lanes.rows(), scratch);
        let (rows, cols) = self.size();
        for (block, map) in self.blocks_of(map) {
            to_channels(map.as_chunks().0, rows, cols, block, self.blocks, spectra.as_chunks_mut().0);
        }
    }

    /// The map whose channels have these `spectra`, times `rows * cols`. Allocates nothing. The spectra must be those
    /// of real channels, products and sums of such ones included.
    ///
    /// # Panics
    /// When a length is not what the plan asks for.
    pub fn inverse(&self, spectra: &[f32], map: &mut [f32], scratch: &mut [f32]) {
        self.check(map.len(), spectra.len());
        let (rows, cols) = self.size();
        for (block, map) in self.blocks_of(map) {
            from_channels(spectra.as_chunks().0, rows, cols, block, self.blocks, map.as_chunks_mut().0);
            self.lanes.forward(map, scratch);
        }
    }

    /// `Σ_c X_c conj Y_c` over all channels, frequency by frequency, to `out`: the half-spectrum of the sum of the
    /// cross-correlations of two maps. With `y` as `x` it is the sum of the power spectra.
    ///
    /// # Panics
    /// When a length is not what the plan asks for.
    pub fn sum_of_products(&self, x: &[f32], y: &[f32], out: &mut [Complex32]) {
        assert_eq!((x.len(), y.len()), (self.spectra_len(), self.spectra_len()), "both spectra must be of this plan");
        assert_eq!(out.len(), self.frequencies(), "the half-spectrum must have a value for each frequency");
        sum_of_products(x.as_chunks().0, y.as_chunks().0, self.blocks, out);
    }

    /// Multiplies all channels by one `plane`, a half-spectrum, frequency by frequency.
    ///
    /// # Panics
    /// When a length is not what the plan asks for.
    pub fn multiply(&self, spectra: &mut [f32], plane: &[Complex32]) {
        assert_eq!(spectra.len(), self.spectra_len(), "the spectra must be of this plan");
        assert_eq!(plane.len(), self.frequencies(), "the half-spectrum must have a value for each frequency");
        multiply(spectra.as_chunks_mut().0, plane, self.blocks);
    }

    /// Transforms every block of `map`, whose rows are zero from `filled` on, as complex lanes.
    pub(super) fn transform_from_top(&self, map: &mut [f32], filled: usize, scratch: &mut [f32]) {
        for (_, map) in self.blocks_of(map) {
            self.lanes.forward_from_top(map, filled, scratch);
        }
    }

    /// The first `wanted` rows of the inverse transform of one block that `put_together` has filled.
    pub(super) fn back_to_top(&self, block: &mut [f32], wanted: usize, scratch: &mut [f32]) {
        self.lanes.forward_to_top(block, wanted, scratch);
    }

    /// The blocks of a map. A map without cells has none.
    pub(super) fn blocks_of<'m>(&self, map: &'m mut [f32]) -> impl Iterator<Item = (usize, &'m mut [f32])> {
        map.chunks_exact_mut(self.lanes.map_len().max(1)).enumerate()
    }
}

leveled! {
    fn sum_of_products(x: &[Bin], y: &[Bin], blocks: usize, out: &mut [Complex32]) {
        for ((x, y), out) in x.chunks_exact(blocks).zip(y.chunks_exact(blocks)).zip(out) {
            let (mut re, mut im) = ([0.0f32; CHANNELS], [0.0f32; CHANNELS]);
            for (x, y) in x.iter().zip(y) {
                for l in 0..CHANNELS {
                    let (xr, xi, yr, yi) = (x[l], x[CHANNELS + l], y[l], y[CHANNELS + l]);
                    re[l] += xr * yr + xi * yi;
                    im[l] += xi * yr - xr * yi;
                }
            }
            *out = Complex32 { re: sum(re), im: sum(im) };
        }
    }
}

/// The sum of 32 numbers, as a tree of fixed order.
#[inline(always)]
fn sum(mut terms: [f32; CHANNELS]) -> f32 {
    let mut width = LANES;
    while width > 0 {
        for l in 0..width {
            terms[l] += terms[l + width];
        }
        width /= 2;
    }
    terms[0]
}

leveled! {
    fn multiply(spectra: &mut [Bin], plane: &[Complex32], blocks: usize) {
        for (bins, factor) in spectra.chunks_exact_mut(blocks).zip(plane) {
            for bin in bins {
                let (re, im) = bin.split_at_mut(CHANNELS);
                for (re, im) in re.iter_mut().zip(im) {
                    (*re, *im) = (*re * factor.re - *im * factor.im, *re * factor.im + *im * factor.re);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::fft::PlanePlan;
    use crate::simd::assert_same_on_all_levels;

    const SIZES: [(usize, usize); 8] = [(1, 1), (2, 2), (5, 6), (7, 4), (6, 1), (1, 9), (12, 11), (131, 2)];

    fn noise(len: usize, seed: u64) -> Vec<f32> {
        let mut rng = rand_pcg::Pcg32::seed_from_u64(seed);
        (0..len).map(|_| rng.random_range(-1.0..1.0)).collect()
    }

    fn spectra(plan: &ChannelPlan, map: &[f32]) -> Vec<f32> {
        let mut out = vec![f32::NAN; plan.spectra_len()];
        plan.forward(&mut map.to_vec(), &mut out, &mut vec![f32::NAN; plan.scratch_len()]);
        out
    }

    /// One channel as a plane, and its half-spectrum.
    fn channel(plan: &ChannelPlan, map: &[f32], channel: usize) -> (Vec<f32>, Vec<Complex32>) {
        let (rows, cols) = plan.size();
        let first = channel / CHANNELS * rows * cols * CHANNELS + channel % CHANNELS;
        let plane: Vec<f32> = (0..rows * cols).map(|cell| map[first + cell * CHANNELS]).collect();
        let of_plane = PlanePlan::new(rows, cols);
        let mut half = vec![Complex32::default(); of_plane.half_len()];
        of_plane.forward(&plane, &mut half, &mut vec![0.0; of_plane.scratch_len()]);
        (plane, half)
    }

    #[test]
    fn each_channel_has_the_half_spectrum_of_its_plane() {
        for (rows, cols) in SIZES {
            for channels in [1, 32, 70] {
                let plan = ChannelPlan::new(rows, cols, channels);
                let map = noise(plan.map_len(), 1);
                let spectra = spectra(&plan, &map);
                for c in 0..plan.blocks() * CHANNELS {
                    let (_, expected) = channel(&plan, &map, c);
                    let bins = spectra.chunks(BIN).skip(c / CHANNELS).step_by(plan.blocks());
                    assert_eq!(bins.len(), expected.len());
                    for (bin, expected) in bins.zip(expected) {
                        let got = Complex32::new(bin[c % CHANNELS], bin[CHANNELS + c % CHANNELS]);
                        assert!((got - expected).norm() < 1e-4, "{rows}x{cols}, {c}: {got} for {expected}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_inverse_undoes_the_forward_transform() {
        for (rows, cols) in SIZES {
            let plan = ChannelPlan::new(rows, cols, 40);
            let map = noise(plan.map_len(), 2);
            let mut back = vec![f32::NAN; plan.map_len()];
            plan.inverse(&spectra(&plan, &map), &mut back, &mut vec![f32::NAN; plan.scratch_len()]);
            for (back, value) in back.iter().zip(&map) {
                assert!((back / (rows * cols) as f32 - value).abs() < 4e-6, "{rows}x{cols}");
            }
        }
    }

    /// `(X_c · P) · conj Y_c`, summed, is the spectrum of sums over channels of convolutions.
    #[test]
    fn products_and_sums_are_those_of_the_channels() {
        for (rows, cols) in SIZES {
            let plan = ChannelPlan::new(rows, cols, 40);
            let (x, y) = (noise(plan.map_len(), 3), noise(plan.map_len(), 4));
            let (_, plane) = channel(&plan, &noise(plan.map_len(), 5), 0);
            let mut product = spectra(&plan, &x);
            plan.multiply(&mut product, &plane);
            let mut sums = vec![Complex32::default(); plan.frequencies()];
            plan.sum_of_products(&product, &spectra(&plan, &y), &mut sums);
            let halves = |map: &[f32]| (0..64).map(|c| channel(&plan, map, c).1).collect::<Vec<_>>();
            let (x, y) = (halves(&x), halves(&y));
            for (f, got) in sums.iter().enumerate() {
                let expected: Complex32 = x.iter().zip(&y).map(|(x, y)| x[f] * plane[f] * y[f].conj()).sum();
                let scale = ((rows * cols) as f32).powf(1.5) * 8.0;
                assert!((got - expected).norm() < 1e-5 * scale, "{rows}x{cols}: {got} for {expected}");
            }
        }
    }

    #[test]
    fn every_level_gives_the_same_bits() {
        let plan = ChannelPlan::new(9, 14, 40);
        let (x, y) = (noise(plan.map_len(), 6), noise(plan.map_len(), 7));
        let (_, plane) = channel(&plan, &x, 3);
        assert_same_on_all_levels("channels", || {
            let (mut x, y) = (spectra(&plan, &x), spectra(&plan, &y));
            plan.multiply(&mut x, &plane);
            let mut sums = vec![Complex32::default(); plan.frequencies()];
            plan.sum_of_products(&x, &y, &mut sums);
            let mut back = vec![0.0; plan.map_len()];
            plan.inverse(&x, &mut back, &mut vec![0.0; plan.scratch_len()]);
            let bits = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            (bits(&x), bits(&back), sums.iter().map(|v| (v.re.to_bits(), v.im.to_bits())).collect::<Vec<_>>())
        });
    }

    #[test]
    fn an_empty_map_has_no_spectra() {
        for (rows, cols) in [(0, 0), (0, 5), (5, 0)] {
            let plan = ChannelPlan::new(rows, cols, 33);
            let mut spectra = vec![0.0; plan.spectra_len()];
            plan.forward(&mut [], &mut spectra, &mut vec![0.0; plan.scratch_len()]);
            plan.inverse(&spectra, &mut [], &mut vec![0.0; plan.scratch_len()]);
        }
    }
}
