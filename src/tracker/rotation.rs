//! How far the target has turned in the picture: a filter along one dimension, the angle.
//!
//! The target's box, somewhat enlarged, is cut out at angles all around the circle; each feature value is a cyclic
//! signal along the angles, and a [`Correlation1d`] answers with a peak at the right one. Most targets do not turn, and
//! many whose look changes seem to: a prior favours small turns.

use crate::features::hog::CHANNELS;
use crate::features::{GROUP, Group, HogBatch, Lanes, PATCHES};
use crate::filters::correlation_1d::Correlation1d;
use crate::simd::{leveled, whole};
use crate::tracker::params::RotationFilterParams;
use crate::tracker::scale::{GrayPatch, small_size, to_eighths};

/// Angles around the circle: as many as there is room for, but an even number.
const ANGLES: usize = 22;
/// Degrees from one angle to the next.
const STEP: f64 = 360.0 / ANGLES as f64;
/// Width of the labels in steps.
const SIGMA: f64 = 0.7;

/// A filter for the angle of a box; owns the memory for it.
#[derive(Clone, Debug)]
pub struct RotationFilter {
    settings: RotationFilterParams,
    /// Width and height of what is cut out, in pixels of the patch.
    size: (f64, f64),
    /// Columns and rows of a small patch.
    small: (usize, usize),
    /// Sine and cosine of each angle.
    turns: [(f64, f64); ANGLES],
    hog: HogBatch,
    patches: Vec<Group>,
    features: Vec<Lanes>,
    filter: Correlation1d,
    /// An upright square around the target, as coarse as the small patches, and its side.
    coarse: Vec<f32>,
    side: usize,
    /// For each two points of a column of that square, the pixels of the patch on both sides, and how far.
    columns: Vec<(usize, usize, f32)>,
    /// A row of the patch between two rows of pixels.
    row: Vec<f32>,
}

impl RotationFilter {
    /// For a box of `size` (width, height) pixels of a patch.
    pub fn new(size: (f64, f64), settings: RotationFilterParams) -> Self {
        let size = (size.0.max(1.0) * settings.patch_scale, size.1.max(1.0) * settings.patch_scale);
        let small = small_size(size, settings.area);
        let hog = HogBatch::new(small.0, small.1);
        let values = hog.rows() * hog.cols() * CHANNELS;
        let side = (small.0 as f64).hypot(small.1 as f64).ceil() as usize + 4;
        let turn = |k: usize| libm::sincos((k as f64 - (ANGLES / 2) as f64) * STEP.to_radians());
        Self {
            settings,
            size,
            small,
            turns: std::array::from_fn(turn),
            hog,
            patches: vec![[0.0; GROUP]; ANGLES.div_ceil(GROUP) * small.0 * small.1],
            features: vec![[0.0; PATCHES]; values],
            filter: Correlation1d::new(values, ANGLES, SIGMA, settings.lambda, true),
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
        self.take(patch, center, 0.0);
        let width = self.settings.prior / STEP;
        STEP * self.filter.find(&mut self.features, |step| libm::exp(-0.5 * (step / width) * (step / width)))
    }

    /// Learns the target around `center` (x, y) of `patch` where it is
    /// turned by `degrees`; at `times` the rate.
    pub fn learn(&mut self, patch: GrayPatch<'_>, center: (f64, f64), degrees: f64, times: f64) {
        self.take(patch, center, degrees);
        self.filter.learn(&mut self.features, self.settings.rate * times);
    }

    /// Learns the target as [`find`](Self::find) has seen it last, at `times` the rate.
    pub fn learn_found(&mut self, times: f64) {
        self.filter.learn_used(&self.features, self.settings.rate * times);
    }

    /// The features of all angles around `center`.
    fn take(&mut self, patch: GrayPatch<'_>, center: (f64, f64), degrees: f64) {
        let size = self.size;
        let step = (size.0 / self.small.0 as f64, size.1 / self.small.1 as f64);
        let scale = (step.0 * step.1).sqrt();
        shrink(self, patch, center, scale);
        let (sin, cos) = libm::sincos(degrees.to_radians());
        let stretch = ((step.0 / scale) as f32, (step.1 / scale) as f32);
        let patches = self.patches.chunks_exact_mut(self.small.0 * self.small.1);
        for (patches, angles) in patches.zip(self.turns.chunks(GROUP)) {
            let mut turns = [[0.0; GROUP]; 2];
            for (k, &(s, c)) in angles.iter().enumerate() {
                (turns[0][k], turns[1][k]) = ((s * cos + c * sin) as f32, (c * cos - s * sin) as f32);
            }
            turned(&self.coarse, self.side, self.small.0, stretch, &turns, patches);
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
mod tests {
    use super::*;
    use crate::tracker::scale::testing::{WIDTH, patch, texture};

    #[test]
    fn finds_by_how_much_the_target_has_turned() {
        for size in [(40.0, 40.0), (25.0, 60.0), (60.0, 24.0)] {
            let center = (80.3, 79.6);
            // As good as no prior.
            let settings = RotationFilterParams { prior: 1e3, ..RotationFilterParams::default() };
            let mut filter = RotationFilter::new(size, settings);
            let first = texture(center, 0.0, 1.0);
            assert_eq!(filter.find(patch(&first), center), 0.0);
            filter.learn(patch(&first), center, 0.0, 1.0);
            for degrees in [-26.0, -16.0, -9.0, 0.0, 5.0, 16.0, 25.0] {
                let found = filter.find(patch(&texture(center, degrees, 1.0)), center);
                // Between two of the angles that were cut out, the answer leans towards the nearer one.
                assert!((found - degrees).abs() < STEP / 2.0, "{size:?}: {found} for {degrees}");
                // When the patch is cut at that angle, the rest is found to a quarter step.
                let rest = filter.find(patch(&texture(center, degrees - found, 1.0)), center);
                assert!((found + rest - degrees).abs() <= STEP / 4.0, "{size:?}: {found} and {rest} for {degrees}");
            }
            // A target that was learned turned is found there.
            let mut turned = RotationFilter::new(size, RotationFilterParams::default());
            turned.learn(patch(&texture(center, 25.0, 1.0)), center, 25.0, 1.0);
            let found = turned.find(patch(&first), center);
            assert!(found.abs() < 5.0, "{size:?}: {found}");
        }
    }

    /// Twice the prior's width is thought hardly likely, four times not at all.
    #[test]
    fn large_turns_are_held_back_by_the_prior() {
        let (center, size) = ((80.0, 80.0), (40.0, 40.0));
        let (first, turned) = (texture(center, 0.0, 1.0), texture(center, 32.0, 1.0));
        let found = |prior: f64| {
            let mut filter = RotationFilter::new(size, RotationFilterParams { prior, ..Default::default() });
            filter.learn(patch(&first), center, 0.0, 1.0);
            filter.find(patch(&turned), center)
        };
        let (free, held) = (found(1e3), found(8.0));
        assert!((free - 32.0).abs() < STEP / 2.0 && held.abs() < 16.0, "{free}, held {held}");
    }

    #[test]
    fn odd_boxes_and_places_are_no_panic() {
        let pixels = vec![90; WIDTH * 100];
        let patch = patch(&pixels);
        for size in [(0.0, 1.0), (2.0, 150.0), (900.0, 45.0)] {
            let mut filter = RotationFilter::new(size, RotationFilterParams::default());
            for center in [(80.0, 50.0), (-40.0, 0.0), (500.0, 99.5)] {
                filter.learn(patch, center, 10.0, 2.0);
                assert_eq!(filter.find(patch, center), 0.0, "{size:?}, {center:?}");
            }
        }
    }

    #[test]
    fn nothing_is_allocated_in_a_frame() {
        let pixels = texture((80.0, 80.0), 0.0, 1.0);
        let patch = patch(&pixels);
        let mut filter = RotationFilter::new((40.0, 30.0), RotationFilterParams::default());
        let used = allocation_counter::measure(|| {
            filter.learn(patch, (80.0, 80.0), 0.0, 1.0);
            assert!(filter.find(patch, (81.0, 80.0)).is_finite());
        });
        assert_eq!(used.count_total, 0);
    }
}
