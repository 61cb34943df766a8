//! Several features side by side in one map.
//!
//! Each feature takes the first block of lanes that has room for it, so that one of a few channels fills up the block
//! of one before: HOG leaves the last of 32 lanes free, which gray takes. One feature of one channel is a plane,
//! without lanes.

use super::{Extractor, Lanes, Taper};
use crate::fft::{CHANNELS, Layout};
use crate::frame::{Channels, luma};
use crate::profile::Stopwatch;
use crate::simd::leveled;

/// Extractors whose features make up one map; see [`Stack::layout`] for how it lies in memory.
#[derive(Clone, Debug)]
pub struct Stack {
    parts: Vec<Part>,
    cells: (usize, usize),
    layout: Layout,
    needs: Channels,
    /// Whether each feature is scaled so that the mean of its squares is 1 before it is tapered.
    balanced: bool,
    /// The patch as gray values, where some features need them and others colours.
    gray: Vec<u8>,
    flat: Taper,
    /// `[block]`: what the lanes are multiplied by; zero where there is no channel.
    gains: Vec<[f32; CHANNELS]>,
}

#[derive(Clone, Debug)]
struct Part {
    extractor: Box<dyn Extractor>,
    block: usize,
    lane: usize,
}

impl Stack {
    /// Of these features, all of the same patches. `balanced` scales each feature so that the mean of its squares over
    /// the map is 1 before it is tapered: none of them outweighs another by its unit.
    ///
    /// # Panics
    /// When there is none, when their cells differ, or when one has more than 32 channels.
    pub fn new(extractors: Vec<Box<dyn Extractor>>, balanced: bool) -> Self {
        let cells = extractors.first().expect("a stack has features").cells();
        assert!(extractors.iter().all(|e| e.cells() == cells), "features of a stack have the same cells");
        assert!(
            extractors.iter().all(|e| (1..=CHANNELS).contains(&e.channels())),
            "a feature has 1 to {CHANNELS} channels"
        );
        let channels = extractors.iter().map(|e| e.channels()).sum();
        let mut used: Vec<usize> = Vec::new();
        let mut parts = Vec::with_capacity(extractors.len());
        for extractor in extractors {
            let most = if extractor.fills_block() { 0 } else { CHANNELS - extractor.channels() };
            let block = used.iter().position(|&used| used <= most).unwrap_or_else(|| {
                used.push(0);
                used.len() - 1
            });
            parts.push(Part { block, lane: used[block], extractor });
            used[block] += parts[parts.len() - 1].extractor.channels();
        }
        let layout = if channels == 1 { Layout::from(1) } else { Layout::in_blocks(channels, used.len()) };
        let colors = parts.iter().any(|part| part.extractor.needs() == Channels::Color);
        Self {
            cells,
            layout,
            needs: if colors { Channels::Color } else { Channels::Luma },
            balanced,
            gray: Vec::new(),
            flat: Taper::flat(cells),
            gains: vec![[0.0; CHANNELS]; layout.blocks()],
            parts,
        }
    }

    /// Channels of all features and the blocks that they stand in.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Rows and columns of cells.
    pub fn cells(&self) -> (usize, usize) {
        self.cells
    }

    /// What the patch holds: colours as soon as one feature needs them.
    pub fn needs(&self) -> Channels {
        self.needs
    }

    /// Writes the features of `patch`, tapered, to `out`: the values of a [`FeatureMap`](crate::fft::FeatureMap)
    /// of this layout. The first call makes room for a gray copy of a colour patch where one is needed, later ones
    /// allocate nothing.
    ///
    /// # Panics
    /// When `out` is not of this stack's cells and layout, the patch or the taper not of the size that the features
    /// were made for.
    pub fn extract(&mut self, patch: &[u8], taper: Option<&Taper>, out: &mut [f32], watch: &mut Stopwatch) {
        let cells = self.cells.0 * self.cells.1;
        assert_eq!(out.len(), cells * self.layout.floats(), "the map is of the stack's size");
        let gray = if self.needs == Channels::Color && self.parts.iter().any(|p| p.extractor.needs() == Channels::Luma)
        {
            self.gray.clear();
            self.gray.extend(patch.as_chunks::<3>().0.iter().map(|p| luma(p[0], p[1], p[2])));
            &self.gray
        } else {
            patch
        };
        // The finish tapers what it scales.
        let early = if self.balanced { None } else { taper };
        for Part { extractor, block, lane } in &mut self.parts {
            let patch = if extractor.needs() == Channels::Luma { gray } else { patch };
            let lanes = if self.layout.blocks() == 0 {
                Lanes::plane(out)
            } else {
                Lanes::of_block(&mut out[*block * cells * CHANNELS..][..cells * CHANNELS], *lane)
            };
            extractor.extract(patch, early, lanes, watch);
        }
        if self.balanced && self.layout.blocks() > 0 {
            self.balance(out);
        }
        let taper = taper.unwrap_or(&self.flat);
        if self.layout.blocks() == 0 {
            if self.balanced {
                let gain = gain(out.iter().map(|v| f64::from(v * v)).sum(), cells);
                let weights = taper.rows.iter().flat_map(|r| taper.cols.iter().map(move |c| r * c));
                out.iter_mut().zip(weights).for_each(|(v, weight)| *v *= gain * weight);
            }
        } else if self.balanced {
            for (map, gains) in out.chunks_exact_mut(cells * CHANNELS).zip(&self.gains) {
                finish(map.as_chunks_mut().0, gains, &taper.rows, &taper.cols);
            }
        } else {
            self.clear_unused(out);
        }
    }

    /// The gain of each feature, in its lanes.
    fn balance(&mut self, out: &[f32]) {
        let cells = self.cells.0 * self.cells.1;
        let mut energies = [0.0; CHANNELS];
        let mut at = usize::MAX;
        self.gains.iter_mut().for_each(|gains| gains.fill(0.0));
        for Part { extractor, block, lane } in &self.parts {
            if at != *block {
                at = *block;
                energies = lane_energies(out[at * cells * CHANNELS..][..cells * CHANNELS].as_chunks().0);
            }
            let lanes = *lane..*lane + extractor.channels();
            let gain = gain(energies[lanes.clone()].iter().sum(), cells * lanes.len());
            self.gains[at][lanes].fill(gain);
        }
    }

    /// Zeros where no feature writes: the last spectrum is still there. A feature that fills its block has done so.
    fn clear_unused(&self, out: &mut [f32]) {
        let cells = self.cells.0 * self.cells.1;
        for (block, map) in out.chunks_exact_mut(cells * CHANNELS).enumerate() {
            let mut parts = self.parts.iter().filter(|part| part.block == block);
            if parts.clone().any(|part| part.extractor.fills_block()) {
                continue;
            }
            let used = parts.by_ref().map(|part| part.lane + part.extractor.channels()).max().unwrap_or(0);
            map.as_chunks_mut::<CHANNELS>().0.iter_mut().for_each(|cell| cell[used..].fill(0.0));
        }
    }
}

/// What makes the mean of `count` squares of the sum `energy` 1; nothing where there is nothing.
fn gain(energy: f64, count: usize) -> f32 {
    let mean = energy / count as f64;
    if mean > 1e-12 { mean.sqrt().recip() as f32 } else { 0.0 }
}

leveled! {
    /// The sum of the squares of each lane.
    fn lane_energies(map: &[[f32; CHANNELS]]) -> [f64; CHANNELS] {
        let mut energies = [0.0f64; CHANNELS];
        // Sums of a few squares stay exact enough in single precision, all of them together in double.
        for run in map.chunks(64) {
            let mut sums = [0.0f32; CHANNELS];
            for cell in run {
                for k in 0..CHANNELS {
                    sums[k] += cell[k] * cell[k];
                }
            }
            for k in 0..CHANNELS {
                energies[k] += f64::from(sums[k]);
            }
        }
        energies
    }
}

leveled! {
    /// Lanes times their gain and the cell's weight; what is not used becomes zero, whatever it was.
    fn finish(map: &mut [[f32; CHANNELS]], gains: &[f32; CHANNELS], rows: &[f32], cols: &[f32]) {
        for (line, row) in map.chunks_exact_mut(cols.len()).zip(rows) {
            for (cell, col) in line.iter_mut().zip(cols) {
                let weight = row * col;
                for k in 0..CHANNELS {
                    cell[k] = if gains[k] == 0.0 { 0.0 } else { cell[k] * (gains[k] * weight) };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::gray::Gray;
    use crate::features::hog::Hog;
    use crate::features::taper::{Taper, half_sample_hann, hann};

    /// As many channels as asked for: the mean of a colour over the cell, a bit less in each channel.
    #[derive(Clone, Debug)]
    struct Colors(usize);

    const SIDE: usize = 24;
    const CELLS: usize = 36;

    impl Extractor for Colors {
        fn channels(&self) -> usize {
            self.0
        }

        fn cells(&self) -> (usize, usize) {
            (SIDE / 4, SIDE / 4)
        }

        fn needs(&self) -> Channels {
            Channels::Color
        }

        fn extract(&mut self, patch: &[u8], taper: Option<&Taper>, out: Lanes<'_>, _: &mut Stopwatch) {
            assert_eq!(patch.len(), SIDE * SIDE * 3);
            for (i, cell) in out.cells(self.0).enumerate() {
                let weight = taper.map_or(1.0, |taper| taper.rows[i / 6] * taper.cols[i % 6]);
                let value = f32::from(patch[(i / 6 * 4 * SIDE + i % 6 * 4) * 3 + 1]);
                cell.iter_mut().zip(1..).for_each(|(v, k)| *v = value / k as f32 * weight);
            }
        }

        fn boxed(&self) -> Box<dyn Extractor> {
            Box::new(self.clone())
        }
    }

    fn rgb() -> Vec<u8> {
        (0..SIDE * SIDE * 3).map(|i| (i * i % 247) as u8).collect()
    }

    fn gray() -> Vec<u8> {
        rgb().chunks(3).map(|p| luma(p[0], p[1], p[2])).collect()
    }

    fn hog() -> Box<dyn Extractor> {
        Box::new(Hog::new(SIDE, SIDE, 4))
    }

    fn mean_gray() -> Box<dyn Extractor> {
        Box::new(Gray::new(SIDE, SIDE, 4))
    }

    /// A map that holds something else before.
    fn extracted(stack: &mut Stack, patch: &[u8], taper: Option<&Taper>) -> Vec<f32> {
        let mut map = vec![f32::INFINITY; CELLS * stack.layout().floats()];
        stack.extract(patch, taper, &mut map, &mut Stopwatch::default());
        map
    }

    fn alone(mut extractor: Box<dyn Extractor>, patch: &[u8], taper: Option<&Taper>) -> Vec<f32> {
        let mut map = vec![0.0; CELLS * CHANNELS];
        extractor.extract(patch, taper, Lanes::of_block(&mut map, 0), &mut Stopwatch::default());
        map
    }

    #[test]
    fn a_single_feature_is_the_feature() {
        let taper = Taper::new((6, 6), hann);
        let mut stack = Stack::new(vec![hog()], false);
        assert_eq!((stack.layout().channels(), stack.layout().blocks(), stack.needs()), (31, 1, Channels::Luma));
        assert_eq!(extracted(&mut stack, &gray(), Some(&taper)), alone(hog(), &gray(), Some(&taper)));
        let mut plane = Stack::new(vec![mean_gray()], false);
        assert_eq!((plane.layout().channels(), plane.layout().blocks()), (1, 0));
        let expected: Vec<f32> = alone(mean_gray(), &gray(), Some(&taper)).iter().step_by(CHANNELS).copied().collect();
        assert_eq!(extracted(&mut plane, &gray(), Some(&taper)), expected);
    }

    /// Where the features of (block, lane) stand: in each of these stacks another feature fills up a block.
    #[test]
    fn features_share_blocks_and_leave_zeros() {
        let colors = || -> Box<dyn Extractor> { Box::new(Colors(11)) };
        let taper = Taper::new((6, 6), half_sample_hann);
        for (stack, places) in [
            (vec![hog(), mean_gray(), colors()], [(0, 0), (0, 31), (1, 0)]),
            (vec![mean_gray(), hog(), colors()], [(0, 0), (1, 0), (0, 1)]),
            (vec![colors(), hog(), mean_gray()], [(0, 0), (1, 0), (0, 11)]),
        ] {
            let parts: Vec<_> = stack.clone();
            let mut stack = Stack::new(stack, false);
            assert_eq!((stack.layout().channels(), stack.layout().blocks(), stack.needs()), (43, 2, Channels::Color));
            let map = extracted(&mut stack, &rgb(), Some(&taper));
            let mut expected = vec![0.0; map.len()];
            for (part, (block, lane)) in parts.into_iter().zip(places) {
                let channels = part.channels();
                let patch = if part.needs() == Channels::Luma { gray() } else { rgb() };
                let own = alone(part, &patch, Some(&taper));
                for (i, k) in (0..CELLS).flat_map(|i| (0..channels).map(move |k| (i, k))) {
                    expected[(block * CELLS + i) * CHANNELS + lane + k] = own[i * CHANNELS + k];
                }
            }
            assert_eq!(map, expected);
        }
        // Three times twenty channels need three blocks.
        let sparse = Stack::new((0..3).map(|_| Box::new(Colors(20)) as Box<dyn Extractor>).collect(), false);
        assert_eq!((sparse.layout().channels(), sparse.layout().blocks()), (60, 3));
    }

    #[test]
    fn balanced_features_have_a_mean_square_of_one_and_are_tapered_after() {
        let taper = Taper::new((6, 6), half_sample_hann);
        let stack = || Stack::new(vec![hog(), mean_gray(), Box::new(Colors(11))], true);
        let flat = extracted(&mut stack(), &rgb(), None);
        for (block, lanes) in [(0, 0..31), (0, 31..32), (1, 0..11)] {
            let values = (0..CELLS).flat_map(|i| lanes.clone().map(move |k| (block * CELLS + i) * CHANNELS + k));
            let squares: f64 = values.map(|at| f64::from(flat[at]).powi(2)).sum();
            assert!((squares / (CELLS * lanes.len()) as f64 - 1.0).abs() < 1e-4, "{block}, {lanes:?}: {squares}");
        }
        assert!((0..CELLS).all(|i| flat[(CELLS + i) * CHANNELS + 11..][..21].iter().all(|&v| v == 0.0)));
        let tapered = extracted(&mut stack(), &rgb(), Some(&taper));
        for (at, (a, b)) in flat.iter().zip(&tapered).enumerate() {
            let cell = at / CHANNELS % CELLS;
            assert!((a * taper.rows[cell / 6] * taper.cols[cell % 6] - b).abs() < 1e-5);
        }
        let mut plane = Stack::new(vec![mean_gray()], true);
        let squares: f32 = extracted(&mut plane, &gray(), None).iter().map(|v| v * v).sum();
        assert!((squares / CELLS as f32 - 1.0).abs() < 1e-4);
        // Nothing stays nothing.
        assert!(extracted(&mut plane, &[128; SIDE * SIDE], None).iter().all(|v| v.is_finite()));
        assert!(extracted(&mut Stack::new(vec![hog()], true), &[9; SIDE * SIDE], None).iter().all(|&v| v == 0.0));
    }
}
