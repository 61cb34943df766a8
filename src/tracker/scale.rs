//! The size of the target: a filter along one dimension, the scale (Danelljan, Häger, Khan & Felsberg, "Discriminative
//! Scale Space Tracking", TPAMI 2017).
//!
//! The target's box is cut out at a row of scales around the present one, each brought to the same small size. Each
//! feature value is a signal along the scales; a [`LineFilter`] is learned on them that answers with a peak at the
//! right scale.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::feature::hog::CHANNELS;
use crate::feature::hog::batch::{HogBatch, Lanes, PATCHES};
use crate::simd::leveled;
use crate::tape::{Recorded, Tape};
use crate::tracker::line_filter::{LineFilter, MOST};
use crate::tracker::small_patch::{CELL, GrayPatch, small_size, to_eighths};

/// How a `ScaleFilter` looks for the size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ScaleSettings {
    /// Scales, an odd number up to 23.
    pub count: usize,
    /// From one scale to the next.
    pub step: f64,
    /// How far the filter moves towards each new frame.
    pub rate: f64,
    /// Regularisation `λ`.
    pub lambda: f64,
    /// Largest number of pixels of a small patch.
    pub area: f64,
}

impl Default for ScaleSettings {
    fn default() -> Self {
        Self { count: 21, step: 1.03, rate: 0.025, lambda: 0.01, area: 576.0 }
    }
}

/// A filter for the scale of a box; owns the memory for it.
#[derive(Clone, Debug)]
pub struct ScaleFilter {
    settings: ScaleSettings,
    /// Width and height of the box at no change of scale, in pixels of the patch.
    size: (f64, f64),
    /// Columns and rows of a small patch.
    small: (usize, usize),
    factors: Vec<f64>,
    hog: HogBatch,
    /// `[row][column][scale]`.
    patches: Vec<Lanes>,
    /// `[cell][channel][scale]`.
    features: Vec<Lanes>,
    filter: LineFilter,
    integral: Vec<f32>,
    line: Vec<f32>,
    edges: [Vec<f32>; 2],
    /// For each edge between columns, the pixel that it lies in and how far.
    columns: Vec<(usize, f32)>,
}

/// No side of a box becomes smaller than this many pixels by scaling.
const SMALLEST: f64 = 5.0;

/// The smallest and the largest scale of a target whose first box has `size`, in a frame of `frame` (both width,
/// height): it has some pixels, and fits the frame.
pub(super) fn limits(size: (f64, f64), frame: (usize, usize)) -> (f64, f64) {
    let most = (frame.0 as f64 / size.0).min(frame.1 as f64 / size.1);
    ((SMALLEST / size.0.min(size.1)).min(1.0), most.max(1.0))
}

/// Pixels that an integral image of a line of `length` pixels is made of.
fn span(length: f64) -> usize {
    length.ceil() as usize + 3
}

impl ScaleFilter {
    /// For a box of `size` (width, height) pixels of a patch.
    pub fn new(size: (f64, f64), settings: ScaleSettings) -> Self {
        let count = (settings.count.clamp(3, MOST) - 1) / 2 * 2 + 1;
        let settings = ScaleSettings { count, ..settings };
        let middle = (count / 2) as f64;
        let factors: Vec<f64> = (0..count).map(|k| libm::pow(settings.step, k as f64 - middle)).collect();
        let small = small_size(size, settings.area);
        let hog = HogBatch::new(small.0, small.1, CELL);
        let values = hog.rows() * hog.cols() * CHANNELS;
        let largest = factors.last().copied().unwrap_or(1.0);
        let span = |length: f64| span(length * largest * largest);
        Self {
            size,
            small,
            factors,
            patches: vec![[0.0; PATCHES]; small.0 * small.1],
            features: vec![[0.0; PATCHES]; values],
            filter: LineFilter::new(values, count, 0.25 * (count as f64).sqrt(), settings.lambda, false),
            integral: vec![0.0; (span(size.0) + 1) * (span(size.1) + 1)],
            line: vec![0.0; span(size.0) + 1],
            edges: [vec![0.0; small.0 + 1], vec![0.0; small.0 + 1]],
            columns: vec![(0, 0.0); small.0 + 1],
            hog,
            settings,
        }
    }

    /// By what the scale has changed, for a target around `center` (x, y) of `patch`; 1 before anything was learned.
    pub fn find(&mut self, patch: GrayPatch<'_>, center: (f64, f64)) -> f64 {
        if !self.filter.is_trained() {
            return 1.0;
        }
        self.take(patch, center, 1.0);
        libm::pow(self.settings.step, self.filter.find(&mut self.features, |_| 1.0))
    }

    /// Learns the target around `center` (x, y) of `patch`, where it is `zoom` times as large as the box; at `times`
    /// the rate.
    pub fn learn(&mut self, patch: GrayPatch<'_>, center: (f64, f64), zoom: f64, times: f64) {
        self.take(patch, center, zoom);
        self.filter.learn(&mut self.features, self.settings.rate * times);
    }

    /// The features of all scales around `center`.
    fn take(&mut self, patch: GrayPatch<'_>, center: (f64, f64), zoom: f64) {
        self.cut(patch, center, zoom);
        self.hog.extract(&self.patches, &mut self.features);
    }

    /// Cuts the boxes of all scales: each pixel is the mean of its part of the patch, from differences of the integral
    /// image between pixels; beyond the patch its border is repeated.
    fn cut(&mut self, patch: GrayPatch<'_>, center: (f64, f64), zoom: f64) {
        let height = patch.pixels.len() / patch.width;
        let largest = self.factors.last().copied().unwrap_or(1.0);
        let size = (self.size.0 * zoom.clamp(1.0 / largest, largest), self.size.1 * zoom.clamp(1.0 / largest, largest));
        let first = |middle: f64, length: f64| (middle - length * largest / 2.0).floor() as i64 - 1;
        let (left, top) = (first(center.0, size.0), first(center.1, size.1));
        let (width, rows) = (span(size.0 * largest) + 1, span(size.1 * largest) + 1);
        self.integral[..width].fill(0.0);
        for r in 1..rows {
            let y = (top + r as i64 - 1).clamp(0, height as i64 - 1) as usize;
            let pixels = &patch.pixels[y * patch.width..][..patch.width];
            let (above, here) = self.integral[(r - 1) * width..][..2 * width].split_at_mut(width);
            let mut sum = 0.0;
            here[0] = 0.0;
            for c in 1..width {
                let x = (left + c as i64 - 1).clamp(0, patch.width as i64 - 1) as usize;
                sum += f32::from(pixels[x]);
                here[c] = above[c] + sum;
            }
        }
        let (columns, lines) = self.small;
        for (k, &factor) in self.factors.iter().enumerate() {
            let step = (size.0 * factor / columns as f64, size.1 * factor / lines as f64);
            let start = (center.0 - size.0 * factor / 2.0 - left as f64, center.1 - size.1 * factor / 2.0 - top as f64);
            let gain = (1.0 / (step.0 * step.1)) as f32;
            let split = |x: f64| (x as usize, (x - (x as usize) as f64) as f32);
            for (j, column) in self.columns.iter_mut().enumerate() {
                *column = split(start.0 + j as f64 * step.0);
            }
            for i in 0..=lines {
                let (r, share) = split(start.1 + i as f64 * step.1);
                mix_rows(&self.integral[r * width..][..2 * width], share, &mut self.line[..width]);
                let [above, below] = &mut self.edges;
                std::mem::swap(above, below);
                for (edge, &(c, share)) in below.iter_mut().zip(&self.columns) {
                    *edge = self.line[c] + (self.line[c + 1] - self.line[c]) * share;
                }
                if i > 0 {
                    let to = &mut self.patches[(i - 1) * columns..][..columns];
                    let differences = below.windows(2).zip(above.windows(2));
                    for (to, (below, above)) in to.iter_mut().zip(differences) {
                        to[k] = to_eighths(((below[1] - below[0]) - (above[1] - above[0])) * gain);
                    }
                }
            }
        }
    }
}

impl Recorded for ScaleFilter {
    fn record(&mut self, tape: &mut Tape<'_>) -> Result<()> {
        self.filter.record(tape)
    }
}

leveled! {
    /// The first of two rows mixed with a share of the second.
    fn mix_rows(rows: &[f32], share: f32, out: &mut [f32]) {
        let (first, second) = rows.split_at(out.len());
        for ((out, a), b) in out.iter_mut().zip(first).zip(second) {
            *out = a + (b - a) * share;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracker::small_patch::testing::{WIDTH, patch, texture};

    #[test]
    fn finds_by_how_much_the_target_has_grown() {
        for size in [(40.0, 40.0), (25.0, 60.0), (70.0, 24.0)] {
            let center = (80.3, 79.6);
            let mut filter = ScaleFilter::new(size, ScaleSettings::default());
            let first = texture(center, 0.0, 1.0);
            assert_eq!(filter.find(patch(&first), center), 1.0);
            filter.learn(patch(&first), center, 1.0, 1.0);
            for zoom in [0.85, 0.93, 1.0, 1.06, 1.15] {
                let found = filter.find(patch(&texture(center, 0.0, zoom)), center);
                assert!((found / zoom).ln().abs() < 0.025, "{size:?}: {found} for {zoom}");
            }
        }
    }

    #[test]
    fn odd_boxes_and_places_are_no_panic() {
        let pixels = vec![90; WIDTH * 100];
        let patch = patch(&pixels);
        for size in [(1.0, 1.0), (2.0, 150.0), (900.0, 45.0), (3000.0, 2.0)] {
            let mut filter = ScaleFilter::new(size, ScaleSettings::default());
            for center in [(80.0, 50.0), (-40.0, 0.0), (500.0, 99.5)] {
                filter.learn(patch, center, 1.02, 2.0);
                // A patch of one colour says nothing: the size stays.
                assert_eq!(filter.find(patch, center), 1.0, "{size:?}, {center:?}");
            }
        }
    }

    #[test]
    fn nothing_is_allocated_in_a_frame() {
        let pixels = texture((80.0, 80.0), 0.0, 1.0);
        let patch = patch(&pixels);
        let mut filter = ScaleFilter::new((40.0, 30.0), ScaleSettings::default());
        let used = allocation_counter::measure(|| {
            filter.learn(patch, (80.0, 80.0), 1.0, 1.0);
            assert!(filter.find(patch, (81.0, 80.0)).is_finite());
        });
        assert_eq!(used.count_total, 0);
    }
}
