//! Spectra of many supports of one size, so laid out that 16 of them share a vector register.
//!
//! A spectrum is `[frequency][16 supports][channel]`: the sum over the channels needs no sum across lanes, and one
//! complex transform of 16 lanes brings the correlations with 32 supports back.

use super::AlignedBuf;
use super::channels::{Bin, ChannelPlan, put_together};
use super::lanes::CHANNELS;
use super::radix::{Cell, LANES, take_apart};
use crate::simd::leveled;

/// Spectra of supports in numbered places, to be correlated with maps.
///
/// A support is a map of the size of the plan, zero but for its own first rows and columns. Its correlation with a map
/// `z` at the offset `p` is `Σ_c Σ_q z_c(p + q) s_c(q)`, wrapped around.
#[derive(Clone, Debug)]
pub struct SupportSpectra {
    plan: ChannelPlan,
    channels: usize,
    /// Groups of 16 supports.
    groups: usize,
    /// `[frequency][group][channel]`, cells of 16 real and 16 imaginary parts.
    cells: AlignedBuf,
}

/// Where the channels of a transformed block belong.
#[derive(Clone, Copy)]
struct Places {
    /// Places of the supports in the first 16 lanes and in the others; with more than 16 channels the one support has
    /// all.
    slots: [Option<usize>; 2],
    /// The support's channel in the block's first lane.
    first_channel: usize,
    channels: usize,
    groups: usize,
}

leveled! {
    /// Half of the frequencies of a transformed block, channel by channel, to the lanes of its supports.
    avx2 fn scatter(map: &[Cell], rows: usize, cols: usize, places: Places, supports: &mut [Cell]) {
        let Places { slots, first_channel, channels, groups } = places;
        let half = cols / 2 + 1;
        for u in 0..rows {
            for v in 0..half {
                let opposite = (rows - u) % rows * cols + (cols - v) % cols;
                let (re, im) = take_apart(&map[u * cols + v], &map[opposite]);
                let base = (u * half + v) * groups;
                for (at, slot) in slots.iter().enumerate() {
                    let Some(slot) = *slot else { continue };
                    let lane = slot % LANES;
                    let to = &mut supports[(base + slot / LANES) * channels..][first_channel..channels];
                    let signals = re[at * LANES..].iter().zip(&im[at * LANES..]);
                    for (to, (&re, &im)) in to.iter_mut().zip(signals) {
                        to[lane] = re;
                        to[LANES + lane] = im;
                    }
                }
            }
        }
    }
}

/// `Σ_c Z_c conj S_jc` of 16 supports at one frequency: real parts, imaginary parts.
#[inline(always)]
fn channel_sum(z: &[Bin], supports: &[Cell]) -> ([f32; LANES], [f32; LANES]) {
    let (mut re, mut im) = ([0.0f32; LANES], [0.0f32; LANES]);
    for (z, supports) in z.iter().zip(supports.chunks(CHANNELS)) {
        let (z_re, z_im) = z.split_at(CHANNELS);
        for ((z_re, z_im), s) in z_re.iter().zip(z_im).zip(supports) {
            for l in 0..LANES {
                re[l] += z_re * s[l] + z_im * s[LANES + l];
                im[l] += z_im * s[l] - z_re * s[LANES + l];
            }
        }
    }
    (re, im)
}

leveled! {
    /// `C_j = Σ_c Z_c conj S_jc` for the 32 supports of a `pair` of groups, put together for the inverse transform.
    #[allow(clippy::too_many_arguments)]
    fn correlate(
        z: &[Bin],
        blocks: usize,
        supports: &[Cell],
        size: (usize, usize),
        channels: usize,
        pair: usize,
        groups: usize,
        out: &mut [Cell],
    ) {
        let (rows, cols) = size;
        let half = cols / 2 + 1;
        for u in 0..rows {
            for v in 0..half {
                let f = u * half + v;
                let z = &z[f * blocks..][..blocks];
                let from = &supports[(f * groups + 2 * pair) * channels..][..2 * channels];
                let (first, second) = from.split_at(channels);
                let (a, b) = (channel_sum(z, first), channel_sum(z, second));
                put_together(out, size, (u, v), [(&a.0, &a.1), (&b.0, &b.1)]);
            }
        }
    }
}

impl SupportSpectra {
    /// `slots` places, rounded up to whole maps of 32, for supports of `channels` channels. `plan` is that of the maps.
    pub fn new(plan: &ChannelPlan, channels: usize, slots: usize) -> Self {
        let groups = slots.next_multiple_of(CHANNELS) / LANES;
        let cells = AlignedBuf::zeroed(plan.frequencies() * groups * channels * CHANNELS);
        Self { plan: plan.clone(), channels, groups, cells }
    }

    /// Places for supports.
    pub fn slots(&self) -> usize {
        self.groups * LANES
    }

    /// Whether two supports fit into the lanes of one map.
    pub fn in_pairs(&self) -> bool {
        self.channels <= LANES
    }

    /// Puts the support in `map` to the first of `slots`; the map is used up, and zero from the row `filled` on. Of
    /// small supports ([`SupportSpectra::in_pairs`]) the one in the lanes from 16 on goes to the second, at no further
    /// price.
    ///
    /// # Panics
    /// When there is no such place, a length is not what the plan asks for, or a second support does not fit.
    pub fn put(&mut self, slots: [Option<usize>; 2], map: &mut [f32], filled: usize, scratch: &mut [f32]) {
        assert!(slots[1].is_none() || self.in_pairs(), "a second support fits beside up to {LANES} channels");
        assert!(slots.iter().flatten().all(|&slot| slot < self.slots()), "there are {} places", self.slots());
        assert_eq!(map.len(), self.plan.map_len(), "the map must be of the plan");
        self.plan.transform_from_top(map, filled, scratch);
        let (rows, cols) = self.plan.size();
        for (block, map) in self.plan.blocks_of(map) {
            let (channels, groups) = (self.channels, self.groups);
            let places = Places { slots, first_channel: block * CHANNELS, channels, groups };
            scatter(map.as_chunks().0, rows, cols, places, self.cells.as_chunks_mut().0);
        }
    }

    /// The correlations of the 32 supports from the place `32 * pair` on with the map of these `spectra`, times
    /// `rows * cols`, to the first `wanted` rows of `out`, `[row][column][32]`: what the others hold afterwards is
    /// undefined.
    ///
    /// # Panics
    /// When there are no such places, or a length is not what the plan asks for.
    pub fn correlate(&self, spectra: &[f32], pair: usize, out: &mut [f32], wanted: usize, scratch: &mut [f32]) {
        assert_eq!(spectra.len(), self.plan.spectra_len(), "the spectra must be of the plan");
        let (bins, cells) = (spectra.as_chunks().0, self.cells.as_chunks().0);
        let size = self.plan.size();
        correlate(bins, self.plan.blocks(), cells, size, self.channels, pair, self.groups, out.as_chunks_mut().0);
        self.plan.back_to_top(out, wanted, scratch);
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};

    use super::*;

    fn noise(len: usize, seed: u64) -> Vec<f32> {
        let mut rng = rand_pcg::Pcg32::seed_from_u64(seed);
        (0..len).map(|_| rng.random_range(-1.0..1.0)).collect()
    }

    /// `[block][row][column][32]` with values in the first `channels`, from the lane `first` on, of the top-left `rows`
    /// x `cols`.
    fn map(
        plan: &ChannelPlan,
        first: usize,
        channels: usize,
        (rows, cols): (usize, usize),
        values: &[f32],
    ) -> Vec<f32> {
        let size = plan.size();
        let mut map = vec![0.0; plan.map_len()];
        for (i, value) in values.iter().enumerate().take(rows * cols * channels) {
            let (cell, channel) = (i / channels, first + i % channels);
            let cell = cell / cols * size.1 + cell % cols;
            map[(channel / CHANNELS * size.0 * size.1 + cell) * CHANNELS + channel % CHANNELS] = *value;
        }
        map
    }

    /// Places in pairs and alone, one block and more: each correlation by its definition.
    #[test]
    fn correlations_are_those_of_the_definition() {
        let (size, of_support, wanted) = ((9, 8), (3, 4), 7);
        for channels in [1, 16, 20, 32, 45] {
            let plan = ChannelPlan::new(size.0, size.1, channels);
            let mut scratch = vec![f32::NAN; plan.scratch_len()];
            let z = noise(size.0 * size.1 * channels, 1);
            let mut spectra = vec![0.0; plan.spectra_len()];
            plan.forward(&mut map(&plan, 0, channels, size, &z), &mut spectra, &mut scratch);
            let mut supports = SupportSpectra::new(&plan, channels, 40);
            assert_eq!((supports.slots(), supports.in_pairs()), (64, channels <= 16));
            let values = |slot: usize| noise(of_support.0 * of_support.1 * channels, 10 + slot as u64);
            let slots = [3, 17, 35, 63];
            for pair in slots.chunks(2) {
                let mut first = map(&plan, 0, channels, of_support, &values(pair[0]));
                if supports.in_pairs() {
                    let second = map(&plan, 16, channels, of_support, &values(pair[1]));
                    first.iter_mut().zip(second).for_each(|(a, b)| *a += b);
                    supports.put([Some(pair[0]), Some(pair[1])], &mut first, of_support.0, &mut scratch);
                } else {
                    supports.put([Some(pair[0]), None], &mut first, of_support.0, &mut scratch);
                    let mut second = map(&plan, 0, channels, of_support, &values(pair[1]));
                    supports.put([Some(pair[1]), None], &mut second, of_support.0, &mut scratch);
                }
            }
            let cells = size.0 * size.1;
            for slot in slots {
                let mut out = vec![f32::NAN; cells * CHANNELS];
                supports.correlate(&spectra, slot / CHANNELS, &mut out, wanted, &mut scratch);
                let support = values(slot);
                for p in 0..wanted * size.1 {
                    let mut expected = 0.0;
                    for (i, s) in support.iter().enumerate() {
                        let (cell, c) = (i / channels, i % channels);
                        let row = (p / size.1 + cell / of_support.1) % size.0;
                        let col = (p % size.1 + cell % of_support.1) % size.1;
                        expected += z[(row * size.1 + col) * channels + c] * s;
                    }
                    let got = out[p * CHANNELS + slot % CHANNELS] / cells as f32;
                    assert!((got - expected).abs() < 1e-4, "{channels} channels, place {slot}: {got} for {expected}");
                }
            }
        }
    }
}
