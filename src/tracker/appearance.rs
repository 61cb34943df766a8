//! Appearance: compares the followed target with the given one: kernel ridge regression over windows of the aligned view.
//!
//! A filter that has learned the background answers it as well as it answered the target, so none of its signals can
//! deny the place. The samples here are anchored to the first frames. A later frame is added only where the machine
//! already agrees, so it follows slow changes and no jump.
//!
//! A window is described by the gradients of its cells and by a histogram of its colours, each of squared length ½;
//! without colour by the gradients alone, of unit length. The labels are 1 for the target and -1 for windows around it;
//! both classes weigh the same:
//!
//! `f(z) = Σ_j α_j κ(z, s_j)`, `(K + λ W⁻¹) α = y`, `κ(a, b) = exp(-‖a - b‖² / s) + 1`
//!
//! where the constant in the kernel stands for an offset, penalised as the weights are; λ is .1.

use std::ops::Range;

use nalgebra::{Cholesky, DMatrix, DVector};

use super::background_localizer::CELL;
use super::localizer::Learned;
use super::params::IdentityMachineParams;
use super::verifier::{Sample, Verifier, ViewFeatures};
use crate::archive::Archive;
use crate::features::color::is_color;
use crate::features::hog::LANES;
use crate::frame::PixelFormat;
use crate::simd::leveled;

/// Levels of each colour in the histogram, and its bins.
const LEVELS: usize = 8;
const BINS: usize = LEVELS * LEVELS * LEVELS;
/// `λ` and `s` of the machine.
const RIDGE: f64 = 0.1;
const WIDTH: f64 = 0.5;
/// Of the first `ANCHOR_FRAMES` frames that the filter learns, one in `ANCHOR_INTERVAL` is a sample. Of later ones one in
/// `INTERVAL` is offered.
const ANCHOR_FRAMES: usize = 30;
const ANCHOR_INTERVAL: usize = 5;
const INTERVAL: usize = 10;
/// Samples of the target, and of its surroundings.
const TARGETS: usize = 40;
const OTHERS: usize = 100;
const SAMPLES: usize = TARGETS + OTHERS;
/// Places around the target, in its widths and heights, that show it in part or not at all.
const AROUND: [(f64, f64); 14] = [
    (-1.0, 0.0),
    (1.0, 0.0),
    (0.0, -1.0),
    (0.0, 1.0),
    (-0.8, -0.8),
    (0.8, -0.8),
    (-0.8, 0.8),
    (0.8, 0.8),
    (-0.6, 0.0),
    (0.6, 0.0),
    (0.0, -0.6),
    (0.0, 0.6),
    (-1.5, 0.5),
    (1.5, -0.5),
];
/// Distance from the target, in its sizes, from which a window counts as another.
const MIN_DISTANCE: f64 = 0.5;

/// The samples of one class: a range of slots.
#[derive(Clone, Debug)]
struct Class {
    first: usize,
    capacity: usize,
    count: usize,
    /// Slots from the first on that are never replaced.
    anchored: usize,
}

impl Class {
    /// The slots in use.
    fn slots(&self) -> Range<usize> {
        self.first..self.first + self.count
    }

    /// The slot for the next sample: a free one, else one that is not anchored, drawn from `random`.
    fn next(&mut self, random: &mut u64) -> Option<usize> {
        if self.count < self.capacity {
            self.count += 1;
            return Some(self.first + self.count - 1);
        }
        *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let free = self.capacity - self.anchored;
        (free > 0).then(|| self.first + self.anchored + (*random >> 33) as usize % free)
    }
}

/// The machine of one target, and the memory that a frame needs.
#[derive(Clone, Debug)]
pub(super) struct Appearance {
    pub params: IdentityMachineParams,
    /// Cells of a side of the view.
    cells: usize,
    /// Rows and columns of cells of the target.
    window: (usize, usize),
    color: bool,
    descriptor: Vec<f32>,
    /// `[slot][value]`.
    samples: Vec<f32>,
    classes: [Class; 2],
    random: u64,
    /// Kernel values between the samples.
    gram: DMatrix<f64>,
    /// Memory for its factor; always there between calls.
    factor: Option<DMatrix<f64>>,
    alpha: DVector<f64>,
    frames: usize,
    last_learned: usize,
}

impl Appearance {
    /// Creates the machine for a target of `size` (rows, columns) cells in a view of `cells` cells a side.
    pub fn new(cells: usize, size: (f64, f64), color: bool, params: IdentityMachineParams) -> Self {
        let side = |length: f64| (length.round() as usize).clamp(3, cells / 2);
        let window = (side(size.0), side(size.1));
        let length = window.0 * window.1 * LANES + if color { BINS } else { 0 };
        let class = |first: usize, capacity: usize| Class { first, capacity, count: 0, anchored: 0 };
        Self {
            params,
            cells,
            window,
            color,
            descriptor: vec![0.0; length],
            samples: vec![0.0; SAMPLES * length],
            classes: [class(0, TARGETS), class(TARGETS, OTHERS)],
            random: 1,
            gram: DMatrix::zeros(SAMPLES, SAMPLES),
            factor: Some(DMatrix::zeros(SAMPLES, SAMPLES)),
            alpha: DVector::zeros(SAMPLES),
            frames: 0,
            last_learned: 0,
        }
    }

    /// The view of a sample; `None` of a gray frame, which cannot be compared with a target that was given in colour.
    fn comparable<'a>(&self, sample: &Sample<'a>) -> Option<ViewFeatures<'a>> {
        sample.view.filter(|_| !self.color || sample.frame.format() != PixelFormat::Gray8)
    }

    /// Adds the target at the view's shift to its samples, and windows around the target to those of its surroundings.
    fn add_view(&mut self, view: ViewFeatures<'_>) {
        let anchor = self.frames <= ANCHOR_FRAMES;
        self.add(0, view, view.shift);
        if anchor {
            self.classes[0].anchored = self.classes[0].count;
        }
        let (rows, cols) = (self.window.0 as f64, self.window.1 as f64);
        let cells = self.cells as f64;
        // Windows end two cells before the view does.
        let inside = |shift: f64, length: f64| {
            let limit = (cells - length) / 2.0 - 2.0;
            shift.clamp(-limit.max(0.0), limit.max(0.0))
        };
        for (x, y) in AROUND {
            let there = (inside(view.shift.0 + y * rows, rows), inside(view.shift.1 + x * cols, cols));
            let distance = ((there.0 - view.shift.0) / rows).abs().max(((there.1 - view.shift.1) / cols).abs());
            if distance >= MIN_DISTANCE {
                self.add(1, view, there);
            }
        }
        if self.frames == 1 {
            self.classes[1].anchored = self.classes[1].count;
        }
    }

    /// The kernel between the descriptor and a sample.
    fn kernel(&self, slot: usize) -> f64 {
        let length = self.descriptor.len();
        let product = f64::from(dot(&self.samples[slot * length..][..length], &self.descriptor));
        // Both have unit length.
        libm::exp((2.0 * product - 2.0) / WIDTH) + 1.0
    }

    /// Adds the window at `shift` to a class, with its row of the Gram matrix.
    fn add(&mut self, class: usize, view: ViewFeatures<'_>, shift: (f64, f64)) {
        let Some(slot) = self.classes[class].next(&mut self.random) else { return };
        self.describe(view, shift);
        let length = self.descriptor.len();
        self.samples[slot * length..][..length].copy_from_slice(&self.descriptor);
        let used = self.classes.each_ref().map(Class::slots);
        for other in used.into_iter().flatten() {
            let value = self.kernel(other);
            (self.gram[(slot, other)], self.gram[(other, slot)]) = (value, value);
        }
    }

    /// Writes or reads what was learned.
    pub fn transfer(&mut self, archive: &mut Archive<'_>) {
        archive.floats(&mut self.samples);
        for class in &mut self.classes {
            archive.value(&mut class.count);
            archive.value(&mut class.anchored);
            if class.count > class.capacity || class.anchored > class.count {
                archive.refuse("its counts of samples are too large");
                (class.count, class.anchored) = (0, 0);
            }
        }
        archive.value(&mut self.random);
        archive.doubles(self.gram.as_mut_slice());
        archive.doubles(self.alpha.as_mut_slice());
        archive.value(&mut self.frames);
        archive.value(&mut self.last_learned);
    }

    /// Solves for `α`. Unused slots have zeros in the Gram matrix and get a coefficient of zero.
    fn fit(&mut self) {
        let Some(mut matrix) = self.factor.take() else { return };
        matrix.copy_from(&self.gram);
        let total: usize = self.classes.iter().map(|class| class.count).sum();
        self.alpha.fill(0.0);
        for (class, label) in self.classes.iter().zip([1.0, -1.0]) {
            for slot in class.first..class.first + class.capacity {
                let used = class.slots().contains(&slot);
                // `1 / W` of the class: its share of the samples, so that both weigh the same.
                let ridge = RIDGE * 2.0 * class.count as f64 / total as f64;
                matrix[(slot, slot)] += if used { ridge } else { 1.0 };
                self.alpha[slot] = if used { label } else { 0.0 };
            }
        }
        self.factor = Some(match Cholesky::new(matrix) {
            Some(factor) => {
                factor.solve_mut(&mut self.alpha);
                factor.unpack_dirty()
            }
            // A positive ridge on a Gram matrix: only values that are not finite lead here. Nothing is denied then.
            None => {
                self.alpha.fill(0.0);
                DMatrix::zeros(SAMPLES, SAMPLES)
            }
        });
    }

    /// Writes the descriptor of the window at `shift`: its cells, linear between those of the view, and its histogram.
    fn describe(&mut self, view: ViewFeatures<'_>, shift: (f64, f64)) {
        let (n, (rows, cols)) = (self.cells, self.window);
        let start = |shift: f64, length: usize| {
            let start = (n as f64 - length as f64) / 2.0 + shift;
            start.clamp(0.0, (n - length - 1) as f64)
        };
        let (top, left) = (start(shift.0, rows), start(shift.1, cols));
        let (row, col) = (top as usize, left as usize);
        let (down, right) = ((top - row as f64) as f32, (left - col as f64) as f32);
        let shares = [(1.0 - down) * (1.0 - right), (1.0 - down) * right, down * (1.0 - right), down * right];
        let (cells, histogram) = self.descriptor.split_at_mut(rows * cols * LANES);
        let map = view.map.as_chunks::<LANES>().0;
        let mut energy = 0.0;
        for (i, cell) in cells.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            let first = (row + i / cols) * n + col + i % cols;
            let corners = [first, first + 1, first + n, first + n + 1].map(|at| &map[at]);
            *cell = mix(corners, shares);
            energy += cell.iter().map(|v| v * v).sum::<f32>();
        }
        // The kernel sees the mean of both similarities.
        let part = if self.color { 0.5 } else { 1.0 };
        let gain = if energy > 1e-12 { (part / energy).sqrt() } else { 0.0 };
        cells.iter_mut().for_each(|v| *v *= gain);
        if !self.color {
            return;
        }
        histogram.fill(0.0);
        let side = n * CELL;
        let (y0, x0) = ((top * CELL as f64) as usize, (left * CELL as f64) as usize);
        let every_second = |length: usize| (0..length * CELL).step_by(2);
        for y in every_second(rows) {
            for x in every_second(cols) {
                // The bin takes the upper three of five bits of each colour.
                let bin = usize::from(view.bins[(y0 + y) * side + x0 + x]);
                histogram[(bin >> 12 & 7) * LEVELS * LEVELS + (bin >> 7 & 7) * LEVELS + (bin >> 2 & 7)] += 1.0;
            }
        }
        // Roots of shares: the Bhattacharyya coefficient is their product.
        let gain = part / (every_second(rows).count() * every_second(cols).count()) as f32;
        histogram.iter_mut().for_each(|v| *v = (*v * gain).sqrt());
    }
}

impl Verifier for Appearance {
    /// The decision of the window at the view's shift: about 1 for the target as it was given, -1 for its surroundings.
    fn score(&mut self, sample: &Sample<'_>) -> Option<f32> {
        let view = self.comparable(sample)?;
        self.describe(view, view.shift);
        let terms = self.classes.iter().flat_map(Class::slots).map(|slot| self.alpha[slot] * self.kernel(slot));
        Some(terms.sum::<f64>() as f32)
    }

    /// Learns the target if this is one of the first frames, or `certain` and this frame's turn.
    fn learn(&mut self, sample: &Sample<'_>, certain: bool) -> Learned {
        let Some(view) = self.comparable(sample) else { return Learned::Done };
        self.frames += 1;
        let anchor = self.frames <= ANCHOR_FRAMES;
        let interval = if anchor { ANCHOR_INTERVAL } else { INTERVAL };
        if self.frames == 1 || self.frames >= self.last_learned + interval && (certain || anchor) {
            self.last_learned = self.frames;
            self.add_view(view);
            self.fit();
        }
        Learned::Done
    }
}

/// Gradients of four cells, mixed; colour names are left out.
#[inline(always)]
fn mix(corners: [&[f32; LANES]; 4], shares: [f32; 4]) -> [f32; LANES] {
    let mut cell = [0.0; LANES];
    for (l, v) in cell.iter_mut().enumerate().filter(|&(l, _)| !is_color(l)) {
        *v = (0..4).map(|corner| shares[corner] * corners[corner][l]).sum();
    }
    cell
}

leveled! {
    fn dot(a: &[f32], b: &[f32]) -> f32 {
        let mut sums = [0.0f32; 16];
        for (a, b) in a.as_chunks::<16>().0.iter().zip(b.as_chunks::<16>().0) {
            for k in 0..16 {
                sums[k] += a[k] * b[k];
            }
        }
        sums.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Frame;
    use crate::tracker::localizer::Pose;

    const CELLS: usize = 24;
    const POSE: Pose = Pose { center: (0.0, 0.0), scale: 1.0, angle: 0.0, aspect: 1.0 };

    /// Features of a view with a pattern in its middle and another one around it, and its colour bins.
    fn view(target: u32, around: u32, colors: (u16, u16)) -> (Vec<f32>, Vec<u16>) {
        let pattern = |seed: u32, i: usize| {
            let hash = (i as u32 + 1).wrapping_mul(2_654_435_761).wrapping_add(seed.wrapping_mul(40_503)) ^ seed;
            (hash.wrapping_mul(2_246_822_519) >> 16) as f32 / 65_536.0
        };
        let inside = |r: usize, c: usize, n: usize| r.abs_diff(n / 2) <= n / 6 && c.abs_diff(n / 2) <= n / 6;
        let features = (0..CELLS * CELLS * LANES).map(|i| {
            let (r, c) = (i / LANES / CELLS, i / LANES % CELLS);
            pattern(if inside(r, c, CELLS) { target } else { around }, i)
        });
        let side = CELLS * CELL;
        let bins = (0..side * side).map(|i| if inside(i / side, i % side, side) { colors.0 } else { colors.1 });
        (features.collect(), bins.collect())
    }

    fn features((features, bins): &(Vec<f32>, Vec<u16>)) -> ViewFeatures<'_> {
        ViewFeatures { map: features, bins, shift: (0.0, 0.0) }
    }

    fn score(appearance: &mut Appearance, view: ViewFeatures<'_>) -> f32 {
        appearance.score(&Sample { frame: &Frame::rgb(&[0; 3], 1, 1).unwrap(), pose: POSE, view: Some(view) }).unwrap()
    }

    fn learn(appearance: &mut Appearance, view: ViewFeatures<'_>, certain: bool) {
        let frame = Frame::rgb(&[0; 3], 1, 1).unwrap();
        appearance.learn(&Sample { frame: &frame, pose: POSE, view: Some(view) }, certain);
    }

    fn machine(color: bool) -> Appearance {
        Appearance::new(CELLS, (8.0, 8.0), color, IdentityMachineParams::default())
    }

    #[test]
    fn the_target_is_told_from_its_surroundings_and_from_another() {
        for color in [false, true] {
            let mut appearance = machine(color);
            let seen = view(1, 2, (0x7fff, 0));
            let seen = features(&seen);
            learn(&mut appearance, seen, true);
            let given = score(&mut appearance, seen);
            assert!(given > 0.8, "{given}");
            for shift in [(8.0, 0.0), (0.0, -8.0), (6.0, 6.0)] {
                let decision = score(&mut appearance, ViewFeatures { shift, ..seen });
                assert!(decision < -0.4, "{shift:?}: {decision}");
            }
            let seen = view(3, 2, (0x001f, 0));
            let seen = features(&seen);
            assert!(score(&mut appearance, seen) < given - 0.5);
        }
    }

    /// The coefficients solve `(K + λ W⁻¹) α = y`.
    #[test]
    fn the_coefficients_are_those_of_ridge_regression() {
        let mut appearance = machine(true);
        for seed in 0..12 {
            let seen = view(1 + seed / 4, 50 + seed, (0x7fff, seed as u16 * 900));
            let seen = features(&seen);
            (0..ANCHOR_INTERVAL)
                .for_each(|_| learn(&mut appearance, ViewFeatures { shift: (0.3, -0.2), ..seen }, true));
        }
        let used: Vec<usize> = appearance.classes.iter().flat_map(Class::slots).collect();
        let targets = used.iter().filter(|&&i| i < TARGETS).count();
        assert!(targets > 3 && used.len() > 40, "{targets} of {}", used.len());
        let length = appearance.descriptor.len();
        let sample = |i: usize| &appearance.samples[i * length..][..length];
        for &i in &used {
            let kernel = |j: usize| {
                let distance: f64 = sample(i).iter().zip(sample(j)).map(|(a, b)| f64::from(a - b).powi(2)).sum();
                (-distance / WIDTH).exp() + 1.0
            };
            let answer: f64 = used.iter().map(|&j| appearance.alpha[j] * kernel(j)).sum();
            let (label, count) = if i < TARGETS { (1.0, targets) } else { (-1.0, used.len() - targets) };
            let ridge = RIDGE * 2.0 * count as f64 / used.len() as f64;
            assert!((answer + ridge * appearance.alpha[i] - label).abs() < 1e-3, "{i}: {answer}");
        }
    }

    /// The given samples stay, however long a sequence is.
    #[test]
    fn the_first_frames_are_never_replaced() {
        let mut appearance = machine(false);
        let seen = view(1, 2, (0, 0));
        let seen = features(&seen);
        learn(&mut appearance, seen, true);
        let first = appearance.samples[..appearance.descriptor.len()].to_vec();
        for i in 0..3 * SAMPLES as u32 {
            let seen = view(1, i, (0, 0));
            let seen = features(&seen);
            (0..INTERVAL).for_each(|_| learn(&mut appearance, seen, true));
        }
        assert_eq!(appearance.samples[..first.len()], first);
        assert_eq!(appearance.classes.iter().map(|class| class.count).sum::<usize>(), SAMPLES);
    }

    #[test]
    fn later_frames_are_learned_only_where_they_agree() {
        let mut appearance = machine(false);
        let seen = view(1, 2, (0, 0));
        let seen = features(&seen);
        (0..ANCHOR_FRAMES).for_each(|_| learn(&mut appearance, seen, false));
        let count = appearance.classes[0].count;
        (0..5 * INTERVAL).for_each(|_| learn(&mut appearance, seen, false));
        assert_eq!(appearance.classes[0].count, count);
        (0..INTERVAL).for_each(|_| learn(&mut appearance, seen, true));
        assert!(appearance.classes[0].count > count);
    }
}
