//! Spectra of many supports of one size, 16 of them to a vector register.
//!
//! A spectrum is `[frequency][16 supports][channel]`: the sum over the channels needs no sum across lanes, and one
//! complex transform of 16 lanes inverts the correlations with 32 supports.
//!
//! The maps are correlated channel by channel. A [`LanePlan`] transforms 32 real channels as 16 complex ones. A single
//! channel comes out of that spectrum by symmetry: with `Z` the transform of `a + ib`, `A(f) = (Z(f) + conj Z(-f)) / 2`
//! and `B(f) = (Z(f) - conj Z(-f)) / 2i`.

use super::line::{Cell, LANES, split_real};
use super::map::{AlignedBuf, CHANNELS, LanePlan};
use crate::simd::leveled;

/// Floats of 32 channels at one frequency: 32 real parts, then 32 imaginary parts.
const BIN: usize = 2 * CHANNELS;

/// The channels at one frequency.
type Bin = [f32; BIN];

/// A planned transform of maps of up to 32 channels to the half-spectra of each channel.
///
/// A map is `f32`, `[row][column][32]`; unused lanes are zero. Its spectra are `f32`, `[frequency][64]`: the real parts of
/// the 32 channels, then the imaginary parts. The frequencies are those of [`PlanePlan`](super::PlanePlan), row by row.
/// The transform is not normalised.
#[derive(Clone, Debug)]
pub struct ChannelPlan {
    lanes: LanePlan,
}

leveled! {
    /// The half-spectra of the channels of transformed cells.
    fn to_channels(cells: &[Cell], rows: usize, cols: usize, out: &mut [Bin]) {
        for (u, out) in out.chunks_exact_mut(cols / 2 + 1).enumerate() {
            for (v, out) in out.iter_mut().enumerate() {
                let opposite = (rows - u) % rows * cols + (cols - v) % cols;
                let (re, im) = split_real(&cells[u * cols + v], &cells[opposite]);
                let (to_re, to_im) = out.split_at_mut(CHANNELS);
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
fn merge_real(
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
    /// Creates a plan for maps of `rows` x `cols` cells.
    pub fn new(rows: usize, cols: usize) -> Self {
        Self { lanes: LanePlan::new(rows, cols) }
    }

    /// Rows and columns of cells.
    pub fn size(&self) -> (usize, usize) {
        (self.lanes.rows, self.lanes.cols)
    }

    /// Frequencies of a half-spectrum: `rows * (cols / 2 + 1)`.
    pub fn frequencies(&self) -> usize {
        let (rows, cols) = self.size();
        rows * (cols / 2 + 1)
    }

    /// Floats of a map: `rows * cols * 32`.
    pub fn map_len(&self) -> usize {
        self.lanes.map_len()
    }

    /// Floats of a map's spectra: `frequencies * 64`.
    pub fn spectra_len(&self) -> usize {
        self.frequencies() * BIN
    }

    /// Floats of scratch that the transform needs.
    pub fn scratch_len(&self) -> usize {
        self.lanes.scratch_len()
    }

    /// The spectra of the channels of `map`, whose values are overwritten.
    pub fn forward(&self, map: &mut [f32], spectra: &mut [f32], scratch: &mut [f32]) {
        assert_eq!(spectra.len(), self.spectra_len(), "the spectra must have frequencies * {BIN} floats");
        self.lanes.forward(map, scratch);
        let (rows, cols) = self.size();
        to_channels(map.as_chunks().0, rows, cols, spectra.as_chunks_mut().0);
    }
}

/// Spectra of supports in numbered slots, for correlation with maps.
///
/// A support is a map of the size of the plan, zero outside its own first rows and columns. Its correlation with a map
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

/// The destination of the channels of a transformed map.
#[derive(Clone, Copy)]
struct Places {
    /// Slots of the supports in the first 16 lanes and in the others; a support of more than 16 channels has all lanes.
    slots: [Option<usize>; 2],
    channels: usize,
    groups: usize,
}

leveled! {
    /// Writes half of the frequencies of a transformed map, channel by channel, to the lanes of its supports.
    avx2 fn scatter(map: &[Cell], rows: usize, cols: usize, places: Places, supports: &mut [Cell]) {
        let Places { slots, channels, groups } = places;
        let half = cols / 2 + 1;
        for u in 0..rows {
            for v in 0..half {
                let opposite = (rows - u) % rows * cols + (cols - v) % cols;
                let (re, im) = split_real(&map[u * cols + v], &map[opposite]);
                let base = (u * half + v) * groups;
                for (at, slot) in slots.iter().enumerate() {
                    let Some(slot) = *slot else { continue };
                    let lane = slot % LANES;
                    let to = &mut supports[(base + slot / LANES) * channels..][..channels];
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
fn channel_sum(z: &Bin, supports: &[Cell]) -> ([f32; LANES], [f32; LANES]) {
    let (mut re, mut im) = ([0.0f32; LANES], [0.0f32; LANES]);
    let (z_re, z_im) = z.split_at(CHANNELS);
    for ((z_re, z_im), s) in z_re.iter().zip(z_im).zip(supports) {
        for l in 0..LANES {
            re[l] += z_re * s[l] + z_im * s[LANES + l];
            im[l] += z_im * s[l] - z_re * s[LANES + l];
        }
    }
    (re, im)
}

leveled! {
    /// `C_j = Σ_c Z_c conj S_jc` for the 32 supports of a `pair` of groups, put together for the inverse transform.
    #[allow(clippy::too_many_arguments)]
    fn correlate(
        z: &[Bin],
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
                let from = &supports[(f * groups + 2 * pair) * channels..][..2 * channels];
                let (first, second) = from.split_at(channels);
                let (a, b) = (channel_sum(&z[f], first), channel_sum(&z[f], second));
                merge_real(out, size, (u, v), [(&a.0, &a.1), (&b.0, &b.1)]);
            }
        }
    }
}

impl SupportSpectra {
    /// Creates at least `slots` slots for supports of `channels` channels, for maps of `plan`.
    pub fn new(plan: &ChannelPlan, channels: usize, slots: usize) -> Self {
        let groups = slots.next_multiple_of(CHANNELS) / LANES;
        let cells = AlignedBuf::zeroed(plan.frequencies() * groups * channels * CHANNELS);
        Self { plan: plan.clone(), channels, groups, cells }
    }

    /// The number of slots.
    pub fn slots(&self) -> usize {
        self.groups * LANES
    }

    /// Whether two supports fit into the lanes of one map.
    pub fn in_pairs(&self) -> bool {
        self.channels <= LANES
    }

    /// Stores the support in `map` to the first of `slots`. Overwrites the map, whose rows are zero from `filled` on.
    /// A second small support ([`SupportSpectra::in_pairs`]) in the lanes from 16 on goes to the second slot.
    pub fn put(&mut self, slots: [Option<usize>; 2], map: &mut [f32], filled: usize, scratch: &mut [f32]) {
        assert!(slots[1].is_none() || self.in_pairs(), "two supports have at most {LANES} channels each");
        assert!(slots.iter().flatten().all(|&slot| slot < self.slots()), "there are {} slots", self.slots());
        self.plan.lanes.forward_from_rows(map, 0..filled, scratch);
        let (rows, cols) = self.plan.size();
        let places = Places { slots, channels: self.channels, groups: self.groups };
        scatter(map.as_chunks().0, rows, cols, places, self.cells.as_chunks_mut().0);
    }

    /// The correlations of the 32 supports from slot `32 * pair` on with the map of these `spectra`, times
    /// `rows * cols`, to the first `wanted` rows of `out`, `[row][column][32]`; the other rows are undefined.
    pub fn correlate(&self, spectra: &[f32], pair: usize, out: &mut [f32], wanted: usize, scratch: &mut [f32]) {
        assert_eq!(spectra.len(), self.plan.spectra_len(), "the spectra must be of the plan");
        let (bins, cells) = (spectra.as_chunks().0, self.cells.as_chunks().0);
        let size = self.plan.size();
        correlate(bins, cells, size, self.channels, pair, self.groups, out.as_chunks_mut().0);
        self.plan.lanes.forward_to_rows(out, 0..wanted, scratch);
    }
}
