//! The shape of the target: a filter along one dimension, the aspect, which is width over height at the same area.
//!
//! As for the [scale](super::scale), the target's box is cut out in a row of shapes around the present one, all brought
//! to the same small size, and a [`LineFilter`] answers with a peak at the right one. What such a filter takes for
//! another shape is often another look: a prior favours small changes, and the shape is drawn back to the first one.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::tape::{Recorded, Tape};
use crate::tracker::box_row::BoxRow;
use crate::tracker::line_filter::{LineFilter, MOST};
use crate::tracker::small_patch::GrayPatch;

/// How an `AspectFilter` looks for the shape.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct AspectSettings {
    /// Shapes that are compared, an odd number up to 23. Over a range that is small, patches differ so little that the
    /// filter's taper holds its answer to the middle.
    pub count: usize,
    /// From the aspect of one shape to that of the next.
    pub step: f64,
    /// Standard deviation of the changes that are thought possible, of the logarithm of the aspect, a frame.
    pub prior: f64,
    /// By what share of its logarithm the aspect is drawn back to the first one, a frame.
    pub pull: f64,
    /// The aspect is at most so many times the first one, and at least the reciprocal of it.
    pub most: f64,
    /// How far the filter moves towards each new frame.
    pub rate: f64,
    /// Regularisation `λ`.
    pub lambda: f64,
    /// Largest number of pixels of a small patch.
    pub area: f64,
}

impl Default for AspectSettings {
    fn default() -> Self {
        Self { count: 17, step: 1.04, prior: 0.1, pull: 0.02, most: 2.0, rate: 0.025, lambda: 0.01, area: 576.0 }
    }
}

/// A filter for the aspect of a box; owns the memory for it.
#[derive(Clone, Debug)]
pub struct AspectFilter {
    settings: AspectSettings,
    boxes: BoxRow,
    filter: LineFilter,
}

impl AspectFilter {
    /// For a box of `size` (width, height) pixels of a patch, whose sides another filter may make longer by `room`.
    pub fn new(size: (f64, f64), settings: AspectSettings, room: f64) -> Self {
        let count = (settings.count.clamp(3, MOST) - 1) / 2 * 2 + 1;
        let middle = (count / 2) as f64;
        let wider = |k: usize| libm::pow(settings.step, (k as f64 - middle) / 2.0);
        let factors = (0..count).map(|k| (wider(k), 1.0 / wider(k))).collect();
        let boxes = BoxRow::new(size, factors, settings.area, room * settings.most.sqrt());
        let filter = LineFilter::new(boxes.values(), count, 0.25 * (count as f64).sqrt(), settings.lambda, false);
        Self { settings, boxes, filter }
    }

    /// The aspect of a target around `center` (x, y) of `patch` that was taken for `aspect`, and there is by `zoom`
    /// wider and higher than the box; it stays before anything was learned.
    pub fn find(&mut self, patch: GrayPatch<'_>, center: (f64, f64), zoom: (f64, f64), aspect: f64) -> f64 {
        if !self.filter.is_trained() {
            return aspect;
        }
        let AspectSettings { step, prior, pull, most, .. } = self.settings;
        let width = prior / libm::log(step);
        let prior = |step: f64| libm::exp(-0.5 * (step / width) * (step / width));
        let found = self.filter.find(self.boxes.take(patch, center, zoom), prior);
        let log = (libm::log(aspect) + found * libm::log(step)) * (1.0 - pull);
        libm::exp(log).clamp(1.0 / most, most)
    }

    /// Learns the target around `center` (x, y) of `patch`, where it is by `zoom` wider and higher than the box; at
    /// `times` the rate.
    pub fn learn(&mut self, patch: GrayPatch<'_>, center: (f64, f64), zoom: (f64, f64), times: f64) {
        self.filter.learn(self.boxes.take(patch, center, zoom), self.settings.rate * times);
    }
}

impl Recorded for AspectFilter {
    fn record(&mut self, tape: &mut Tape<'_>) -> Result<()> {
        self.filter.record(tape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracker::small_patch::testing::{WIDTH, patch, texture};

    /// A texture that is seen wider, and less high, by the root of `aspect`.
    fn wide(center: (f64, f64), aspect: f64) -> Vec<u8> {
        let (first, stretch) = (texture(center, 0.0, 1.0), aspect.sqrt());
        let value = |x: f64, y: f64| {
            let at = |v: f64| v.clamp(0.0, (WIDTH - 2) as f64);
            let (x, y) = (at(center.0 + (x - center.0) / stretch - 0.5), at(center.1 + (y - center.1) * stretch - 0.5));
            let pixel = |c: usize, r: usize| f64::from(first[(y as usize + r) * WIDTH + x as usize + c]);
            let row = |r: usize| pixel(0, r) + (pixel(1, r) - pixel(0, r)) * x.fract();
            row(0) + (row(1) - row(0)) * y.fract()
        };
        (0..WIDTH * WIDTH).map(|i| value((i % WIDTH) as f64 + 0.5, (i / WIDTH) as f64 + 0.5).round() as u8).collect()
    }

    /// As good as without prior and pull.
    fn free() -> AspectSettings {
        AspectSettings { prior: 10.0, pull: 0.0, ..AspectSettings::default() }
    }

    const ONE: (f64, f64) = (1.0, 1.0);

    #[test]
    fn finds_by_how_much_the_target_has_become_wider() {
        for size in [(40.0, 40.0), (25.0, 60.0), (70.0, 24.0)] {
            let center = (80.3, 79.6);
            let mut filter = AspectFilter::new(size, free(), 1.0);
            let first = texture(center, 0.0, 1.0);
            assert_eq!(filter.find(patch(&first), center, ONE, 1.25), 1.25);
            filter.learn(patch(&first), center, ONE, 1.0);
            for aspect in [0.85, 0.94, 0.97, 1.0, 1.03, 1.06, 1.17] {
                let seen = wide(center, aspect);
                let found = filter.find(patch(&seen), center, ONE, 1.0);
                assert!((found / aspect).ln().abs() < 0.025, "{size:?}: {found} for {aspect}");
                // Cut in the right shape, there is nothing left to find.
                let stretch = (aspect.sqrt(), 1.0 / aspect.sqrt());
                let found = filter.find(patch(&seen), center, stretch, aspect);
                assert!((found / aspect).ln().abs() < 0.011, "{size:?}: {found} for {aspect}");
            }
        }
    }

    #[test]
    fn an_aspect_is_held_by_its_prior_its_pull_and_its_bound() {
        let center = (80.0, 80.0);
        let (first, seen) = (texture(center, 0.0, 1.0), wide(center, 1.06));
        let of = |settings: AspectSettings, pixels: &[u8], aspect: f64| {
            let mut filter = AspectFilter::new((40.0, 30.0), settings, 1.0);
            filter.learn(patch(&first), center, ONE, 1.0);
            filter.find(patch(pixels), center, ONE, aspect)
        };
        // Found again and again, it would not end anywhere.
        for aspect in [1.3, 1.0 / 1.3] {
            let bounded = AspectSettings { most: 1.3, ..free() };
            assert!((0..9).all(|_| of(bounded, &seen, aspect) <= 1.3 && of(bounded, &first, aspect) >= 1.0 / 1.3));
        }
        assert_eq!(of(AspectSettings { most: 1.3, ..free() }, &seen, 1.3), 1.3);
        assert!((of(AspectSettings { pull: 0.5, ..free() }, &first, 1.44) - 1.2).abs() < 1e-9);
        assert_eq!(of(AspectSettings { prior: 1e-3, ..free() }, &seen, 1.0), 1.0);
    }

    #[test]
    fn odd_boxes_and_places_are_no_panic() {
        let pixels = vec![90; WIDTH * 100];
        let patch = patch(&pixels);
        for size in [(1.0, 1.0), (2.0, 150.0), (900.0, 45.0), (3000.0, 2.0)] {
            let mut filter = AspectFilter::new(size, AspectSettings::default(), 1.4);
            for center in [(80.0, 50.0), (-40.0, 0.0), (500.0, 99.5)] {
                for zoom in [ONE, (1e9, 1e-9), (0.0, 2.0)] {
                    filter.learn(patch, center, zoom, 2.0);
                    // A patch of one colour says nothing: the shape stays.
                    assert_eq!(filter.find(patch, center, zoom, 1.0), 1.0, "{size:?}, {center:?}, {zoom:?}");
                }
            }
        }
    }

    #[test]
    fn nothing_is_allocated_in_a_frame() {
        let pixels = texture((80.0, 80.0), 0.0, 1.0);
        let mut filter = AspectFilter::new((40.0, 30.0), AspectSettings::default(), 1.0);
        let used = allocation_counter::measure(|| {
            filter.learn(patch(&pixels), (80.0, 80.0), ONE, 1.0);
            assert!(filter.find(patch(&pixels), (81.0, 80.0), ONE, 1.0).is_finite());
        });
        assert_eq!(used.count_total, 0);
    }
}
