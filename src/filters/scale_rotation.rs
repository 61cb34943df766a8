//! The size and the angle of the target, each by a 1-D correlation filter (Danelljan, Häger, Khan & Felsberg,
//! "Discriminative Scale Space Tracking", TPAMI 2017).
//!
//! A filter cuts the target's box at a row of scales around the present one, or at angles all around the circle, each
//! resampled to the same small size. Each feature value is a signal along the scales or, cyclic, along the angles. Most
//! targets do not turn, and many whose look changes seem to: a prior favours small turns.

use super::correlation_1d::{Correlation1d, MAX_STEPS};
use crate::archive::Archive;
use crate::features::hog::{BATCH_CELL, CHANNELS, GROUP, Group, HogBatch, Lanes, PATCHES};
use crate::settings::settings;
use crate::simd::{leveled, whole};

/// Angles around the circle: as many as there is room for, but an even number.
const ANGLES: usize = 22;
/// Degrees from one angle to the next.
const STEP: f64 = 360.0 / ANGLES as f64;
/// Width of the labels in steps.
const SIGMA: f64 = 0.7;

settings! {
    /// A 1-D filter over scales.
    #[derive(Copy)]
    pub struct ScaleFilterParams {
        /// Scales that are compared
        count: usize = 21, Odd(3.0, 23.0);
        /// Ratio of one scale to the next
        step: f64 = 1.03, Within(1.001, 1.2);
        /// How fast the filter follows, per learned frame
        rate: f64 = 0.025, Within(0.0, 1.0);
        /// Regularisation of the filter
        lambda: f64 = 0.01, Above(0.0, 1e6);
        /// Largest number of pixels of a patch
        area: f64 = 576.0, Within(64.0, 16384.0);
    }
}

settings! {
    /// A 1-D filter over angles.
    #[derive(Copy)]
    pub struct RotationFilterParams {
        /// Standard deviation of the expected turns, in degrees per frame
        prior: f64 = 30.0, Within(0.1, 1e6);
        /// How fast the filter follows, per learned frame
        rate: f64 = 0.02, Within(0.0, 1.0);
        /// Regularisation of the filter
        lambda: f64 = 0.01, Above(0.0, 1e6);
        /// Side of a patch over that of the target
        patch_scale: f64 = 1.1, Within(0.5, 3.0);
        /// Largest number of pixels of a patch
        area: f64 = 576.0, Within(64.0, 16384.0);
        /// Smallest turn in degrees
        min_turn: f64 = 4.0, Within(0.0, 180.0);
        /// Share by which the response at another angle is lowered before it is compared
        margin: f64 = 0.05, Within(0.0, 1.0);
    }
}

/// A gray patch that boxes are cut from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GrayPatch<'a> {
    /// Gray values, row by row.
    pub pixels: &'a [u8],
    /// Pixels of a row.
    pub width: usize,
}

/// Columns and rows of a small patch of at most about `area` pixels in the shape of a box of `size` (width, height):
/// whole cells, and a side has at least two.
fn small_size(size: (f64, f64), area: f64) -> (usize, usize) {
    let shrink = (area / (size.0 * size.1)).sqrt().min(1.0);
    let pixels = |length: f64, other: f64| {
        let least = (2 * BATCH_CELL) as f64;
        let most = (area / (other * shrink).max(least)).max(least);
        ((length * shrink).clamp(least, most) / BATCH_CELL as f64).round() as usize * BATCH_CELL
    };
    (pixels(size.0, size.1), pixels(size.1, size.0))
}

/// A gray value to eighths: rounding errors in a plain area make no gradient.
#[inline(always)]
fn to_eighths(value: f32) -> f32 {
    whole(value * 8.0 + 0.5) as f32 * 0.125
}

/// The target's box at several scales, each resampled to one small size; the owner of the memory for it.
#[derive(Clone, Debug)]
struct ScaleSamples {
    /// Width and height of the box in pixels of the patch.
    size: (f64, f64),
    /// Columns and rows of a small patch.
    small: (usize, usize),
    /// The scales, in growing order.
    factors: Vec<f64>,
    hog: HogBatch,
    /// `[group of scales][row][column][scale]`.
    patches: Vec<Group>,
    /// `[cell][channel][scale]`.
    features: Vec<Lanes>,
    integral: Vec<f32>,
    line: Vec<f32>,
    /// Sums up to the edges above and below a row of a small patch, and the row.
    edges: [Vec<f32>; 3],
    /// The pixel of each edge between columns, and the offset of the edge in it.
    columns: Vec<(usize, f32)>,
}

/// Pixels that an integral image of a line of `length` pixels is made of.
fn span(length: f64) -> usize {
    length.ceil() as usize + 3
}

impl ScaleSamples {
    /// Creates samples of a box of `size` (width, height) pixels of a patch. Small patches have at most about `area`
    /// pixels. The target may be larger than the box by the largest of the factors.
    fn new(size: (f64, f64), factors: Vec<f64>, area: f64) -> Self {
        let small = small_size(size, area);
        let hog = HogBatch::new(small.0, small.1);
        let values = hog.rows() * hog.cols() * CHANNELS;
        let largest = largest(&factors);
        let (width, rows) = (span(size.0 * largest * largest) + 1, span(size.1 * largest * largest) + 1);
        Self {
            size,
            small,
            patches: vec![[0.0; GROUP]; factors.len().div_ceil(GROUP) * small.0 * small.1],
            features: vec![[0.0; PATCHES]; values],
            integral: vec![0.0; width * rows],
            line: vec![0.0; width],
            edges: [(); 3].map(|()| vec![0.0; small.0 + 1]),
            columns: vec![(0, 0.0); small.0 + 1],
            factors,
            hog,
        }
    }

    /// The features `[cell][channel][scale]` around `center` (x, y) of `patch`, in which the target is `zoom` times as
    /// large as the box.
    fn take(&mut self, patch: GrayPatch<'_>, center: (f64, f64), zoom: f64) -> &mut [Lanes] {
        cut(self, patch, center, zoom);
        self.hog.extract(&self.patches, &mut self.features);
        &mut self.features
    }

    /// Adds up the integral image from (left, top) of a patch on, of `width` x `rows` values; beyond the patch its border
    /// is repeated.
    #[inline(always)]
    fn integrate(&mut self, patch: GrayPatch<'_>, (left, top): (i64, i64), (width, rows): (usize, usize)) {
        let height = patch.pixels.len() / patch.width;
        self.integral[..width].fill(0.0);
        for r in 1..rows {
            let y = (top + r as i64 - 1).clamp(0, height as i64 - 1) as usize;
            let pixels = &patch.pixels[y * patch.width..][..patch.width];
            let (above, here) = self.integral[(r - 1) * width..][..2 * width].split_at_mut(width);
            let mut sum = 0u32;
            here[0] = 0.0;
            for c in 1..width {
                let x = (left + c as i64 - 1).clamp(0, patch.width as i64 - 1) as usize;
                sum += u32::from(pixels[x]);
                here[c] = above[c] + sum as f32;
            }
        }
    }
}

leveled! {
    /// Cuts all boxes: each pixel is the mean of its part of the patch, from differences of the integral image between
    /// pixels.
    avx2 fn cut(samples: &mut ScaleSamples, patch: GrayPatch<'_>, center: (f64, f64), zoom: f64) {
        let largest = largest(&samples.factors);
        let zoom = zoom.clamp(1.0 / largest, largest);
        let size = (samples.size.0 * zoom, samples.size.1 * zoom);
        let first = |middle: f64, length: f64| (middle - length / 2.0).floor() as i64 - 1;
        let (left, top) = (first(center.0, size.0 * largest), first(center.1, size.1 * largest));
        let (width, rows) = (span(size.0 * largest) + 1, span(size.1 * largest) + 1);
        samples.integrate(patch, (left, top), (width, rows));
        let (columns, lines) = samples.small;
        for (k, &factor) in samples.factors.iter().enumerate() {
            let (w, h) = (size.0 * factor, size.1 * factor);
            let step = (w / columns as f64, h / lines as f64);
            let start = (center.0 - w / 2.0 - left as f64, center.1 - h / 2.0 - top as f64);
            let gain = (1.0 / (step.0 * step.1)) as f32;
            let split = |x: f64| (x as usize, (x - (x as usize) as f64) as f32);
            for (j, column) in samples.columns.iter_mut().enumerate() {
                *column = split(start.0 + j as f64 * step.0);
            }
            for i in 0..=lines {
                let (r, share) = split(start.1 + i as f64 * step.1);
                mix_rows(&samples.integral[r * width..][..2 * width], share, &mut samples.line[..width]);
                let [above, below, row] = &mut samples.edges;
                std::mem::swap(above, below);
                for (edge, &(c, share)) in below.iter_mut().zip(&samples.columns) {
                    *edge = samples.line[c] + (samples.line[c + 1] - samples.line[c]) * share;
                }
                if i > 0 {
                    let (above, below, row) = (&above[..=columns], &below[..=columns], &mut row[..columns]);
                    for j in 0..columns {
                        row[j] = to_eighths(((below[j + 1] - below[j]) - (above[j + 1] - above[j])) * gain);
                    }
                    let to = &mut samples.patches[(k / GROUP * lines + i - 1) * columns..][..columns];
                    to.iter_mut().zip(row).for_each(|(to, value)| to[k % GROUP] = *value);
                }
            }
        }
    }
}

/// The largest factor.
fn largest(factors: &[f64]) -> f64 {
    factors.iter().fold(1.0, |largest: f64, &factor| largest.max(factor))
}

/// The first of two rows mixed with a share of the second.
#[inline(always)]
fn mix_rows(rows: &[f32], share: f32, out: &mut [f32]) {
    let (first, second) = rows.split_at(out.len());
    for ((out, a), b) in out.iter_mut().zip(first).zip(second) {
        *out = a + (b - a) * share;
    }
}

/// A 1-D correlation filter over the scales of a box.
#[derive(Clone, Debug)]
pub(crate) struct ScaleFilter {
    params: ScaleFilterParams,
    samples: ScaleSamples,
    filter: Correlation1d,
}

impl ScaleFilter {
    /// Creates a filter for a box of `size` (width, height) pixels of a patch.
    pub fn new(size: (f64, f64), params: ScaleFilterParams) -> Self {
        let count = (params.count.clamp(3, MAX_STEPS) - 1) / 2 * 2 + 1;
        let middle = (count / 2) as f64;
        let factors = (0..count).map(|k| libm::pow(params.step, k as f64 - middle)).collect();
        let samples = ScaleSamples::new(size, factors, params.area);
        let sigma = 0.25 * (count as f64).sqrt();
        let filter = Correlation1d::new(samples.features.len(), count, sigma, params.lambda, false);
        Self { params, samples, filter }
    }

    /// The factor by which the target around `center` (x, y) of `patch` is larger than the box; 1 before anything was
    /// learned.
    pub fn find(&mut self, patch: GrayPatch<'_>, center: (f64, f64)) -> f64 {
        if !self.filter.is_trained() {
            return 1.0;
        }
        libm::pow(self.params.step, self.filter.find(self.samples.take(patch, center, 1.0), |_| 1.0))
    }

    /// Learns the target around `center` (x, y) of `patch`, where it is `zoom` times as large as the box, at `times`
    /// the rate.
    pub fn learn(&mut self, patch: GrayPatch<'_>, center: (f64, f64), zoom: f64, times: f64) {
        self.filter.learn(self.samples.take(patch, center, zoom), self.params.rate * times);
    }

    /// Writes or reads what was learned.
    pub fn transfer(&mut self, archive: &mut Archive<'_>) {
        self.filter.transfer(archive);
    }

    /// Learns the box as [`find`](Self::find) has seen it last.
    pub fn learn_found(&mut self, times: f64) {
        self.filter.learn_used(&self.samples.features, self.params.rate * times);
    }
}

/// A filter for the angle of a box; owns the memory for it.
#[derive(Clone, Debug)]
pub(crate) struct RotationFilter {
    pub params: RotationFilterParams,
    /// Width and height of what is cut out, in pixels of the patch.
    size: (f64, f64),
    /// Columns and rows of a small patch.
    small: (usize, usize),
    /// Sines, then cosines, of each group of angles.
    turns: [[[f32; GROUP]; 2]; ANGLES.div_ceil(GROUP)],
    hog: HogBatch,
    patches: Vec<Group>,
    features: Vec<Lanes>,
    filter: Correlation1d,
    /// An upright square around the target, as coarse as the small patches, and its side.
    coarse: Vec<f32>,
    side: usize,
    /// The pixels on both sides of each two points of a column of that square, and the offset of the point.
    columns: Vec<(usize, usize, f32)>,
    /// A row of the patch between two rows of pixels.
    row: Vec<f32>,
}

impl RotationFilter {
    /// Creates a filter for a box of `size` (width, height) pixels of a patch.
    pub fn new(size: (f64, f64), params: RotationFilterParams) -> Self {
        let size = (size.0.max(1.0) * params.patch_scale, size.1.max(1.0) * params.patch_scale);
        let small = small_size(size, params.area);
        let hog = HogBatch::new(small.0, small.1);
        let values = hog.rows() * hog.cols() * CHANNELS;
        let side = (small.0 as f64).hypot(small.1 as f64).ceil() as usize + 4;
        let mut turns = [[[0.0; GROUP]; 2]; ANGLES.div_ceil(GROUP)];
        for k in 0..ANGLES {
            let (sin, cos) = libm::sincos((k as f64 - (ANGLES / 2) as f64) * STEP.to_radians());
            let [sines, cosines] = &mut turns[k / GROUP];
            (sines[k % GROUP], cosines[k % GROUP]) = (sin as f32, cos as f32);
        }
        Self {
            params,
            size,
            small,
            turns,
            hog,
            patches: vec![[0.0; GROUP]; ANGLES.div_ceil(GROUP) * small.0 * small.1],
            features: vec![[0.0; PATCHES]; values],
            filter: Correlation1d::new(values, ANGLES, SIGMA, params.lambda, true),
            coarse: vec![0.0; side * side],
            side,
            columns: vec![(0, 0, 0.0); 2 * side],
            row: vec![0.0; (side as f64 * (size.0 * size.1 / (small.0 * small.1) as f64).sqrt()).ceil() as usize + 3],
        }
    }

    /// By how many degrees a target around `center` (x, y) of `patch` has
    /// turned, positive from x to y; 0 before anything was learned.
    pub fn find(&mut self, patch: GrayPatch<'_>, center: (f64, f64)) -> f64 {
        if !self.filter.is_trained() {
            return 0.0;
        }
        self.take(patch, center);
        let width = self.params.prior / STEP;
        STEP * self.filter.find(&mut self.features, |step| libm::exp(-0.5 * (step / width) * (step / width)))
    }

    /// Learns the target around `center` (x, y) of `patch` as not turned; at `times` the rate.
    pub fn learn(&mut self, patch: GrayPatch<'_>, center: (f64, f64), times: f64) {
        self.take(patch, center);
        self.filter.learn(&mut self.features, self.params.rate * times);
    }

    /// Learns the target as [`find`](Self::find) has seen it last, at `times` the rate.
    pub fn learn_found(&mut self, times: f64) {
        self.filter.learn_used(&self.features, self.params.rate * times);
    }

    /// Writes or reads what was learned.
    pub fn transfer(&mut self, archive: &mut Archive<'_>) {
        self.filter.transfer(archive);
    }

    /// The features of all angles around `center`.
    fn take(&mut self, patch: GrayPatch<'_>, center: (f64, f64)) {
        let size = self.size;
        let step = (size.0 / self.small.0 as f64, size.1 / self.small.1 as f64);
        let scale = (step.0 * step.1).sqrt();
        shrink(self, patch, center, scale);
        let stretch = ((step.0 / scale) as f32, (step.1 / scale) as f32);
        let patches = self.patches.chunks_exact_mut(self.small.0 * self.small.1);
        for (patches, turns) in patches.zip(&self.turns) {
            turned(&self.coarse, self.side, self.small.0, stretch, turns, patches);
        }
        self.hog.extract(&self.patches, &mut self.features);
    }
}

leveled! {
    /// The coarse square around `center`, `scale` pixels of the patch a pixel: means of 2 x 2 points each, linear
    /// between pixels.
    fn shrink(filter: &mut RotationFilter, patch: GrayPatch<'_>, center: (f64, f64), scale: f64) {
        let height = patch.pixels.len() / patch.width;
        let side = filter.side;
        let start = side as f64 / 2.0;
        // Two points a pixel: the pixels on both sides, and how far.
        let point = |middle: f64, i: usize, n: usize| {
            let x = middle + ((i as f64 + 0.5) / 2.0 - start) * scale - 0.5;
            let x = x.clamp(0.0, (n - 1) as f64);
            let whole = x as usize;
            (whole, (whole + 1).min(n - 1), (x - whole as f64) as f32)
        };
        for (i, column) in filter.columns.iter_mut().enumerate() {
            *column = point(center.0, i, patch.width);
        }
        let (first, last) = (filter.columns[0].0, filter.columns[2 * side - 1].1);
        let row = &mut filter.row[..=last - first];
        filter.coarse.fill(0.0);
        for i in 0..2 * side {
            let (r, next, share) = point(center.1, i, height);
            let [above, below] = [r, next].map(|r| &patch.pixels[r * patch.width..][first..=last]);
            for ((to, &above), &below) in row.iter_mut().zip(above).zip(below) {
                *to = f32::from(above) + (f32::from(below) - f32::from(above)) * share;
            }
            let to = &mut filter.coarse[i / 2 * side..][..side];
            for (to, points) in to.iter_mut().zip(filter.columns.as_chunks::<2>().0) {
                for &(c, next, share) in points {
                    let (left, right) = (row[c - first], row[next - first]);
                    *to += 0.25 * (left + (right - left) * share);
                }
            }
        }
    }
}

leveled! {
    /// Small patches with rows of `columns` pixels out of the middle of a square, turned by the (sines, cosines) of a
    /// group of angles, linear between pixels.
    avx2 fn turned(
        coarse: &[f32],
        side: usize,
        columns: usize,
        stretch: (f32, f32),
        turns: &[[f32; GROUP]; 2],
        out: &mut [Group],
    ) {
        let (middle, last) = (side as f32 / 2.0 - 0.5, (side - 2) as f32);
        let rows = out.len() / columns;
        for (r, out) in out.chunks_exact_mut(columns).enumerate() {
            let y = (r as f32 + 0.5 - rows as f32 / 2.0) * stretch.1;
            for (column, out) in out.iter_mut().enumerate() {
                let x = (column as f32 + 0.5 - columns as f32 / 2.0) * stretch.0;
                let (mut at, mut fx, mut fy) = ([0; GROUP], [0.0; GROUP], [0.0; GROUP]);
                for k in 0..GROUP {
                    let (sin, cos) = (turns[0][k], turns[1][k]);
                    let (u, v) = (middle + cos * x - sin * y, middle + sin * x + cos * y);
                    let (u, v) = (u.clamp(0.0, last), v.clamp(0.0, last));
                    let (c, r) = (whole(u), whole(v));
                    (at[k], fx[k], fy[k]) = ((r * side as i32 + c) as u32, u - c as f32, v - r as f32);
                }
                let mut four = [[0.0; GROUP]; 4];
                for (k, at) in at.into_iter().enumerate() {
                    let around = &coarse[at as usize..][..side + 2];
                    (four[0][k], four[1][k], four[2][k], four[3][k]) =
                        (around[0], around[1], around[side], around[side + 1]);
                }
                for k in 0..GROUP {
                    let above = four[0][k] + (four[1][k] - four[0][k]) * fx[k];
                    let below = four[2][k] + (four[3][k] - four[2][k]) * fx[k];
                    out[k] = to_eighths(above + (below - above) * fy[k]);
                }
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
