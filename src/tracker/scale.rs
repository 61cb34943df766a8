//! The size of the target: a filter along one dimension, the scale (Danelljan, Häger, Khan & Felsberg, "Discriminative
//! Scale Space Tracking", TPAMI 2017).
//!
//! The target's box is cut out at a row of scales around the present one, each brought to the same small size. Each
//! feature value is a signal along the scales; a [`LineFilter`] is learned on them that answers with a peak at the
//! right scale.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::tape::{Recorded, Tape};
use crate::tracker::box_row::BoxRow;
use crate::tracker::line_filter::{LineFilter, MOST};
use crate::tracker::small_patch::GrayPatch;

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
    boxes: BoxRow,
    filter: LineFilter,
}

/// No side of a box becomes smaller than this many pixels by scaling.
const SMALLEST: f64 = 5.0;

/// The smallest and the largest scale of a target whose first box has `size`, in a frame of `frame` (both width,
/// height): it has some pixels, and fits the frame.
pub(super) fn limits(size: (f64, f64), frame: (usize, usize)) -> (f64, f64) {
    let most = (frame.0 as f64 / size.0).min(frame.1 as f64 / size.1);
    ((SMALLEST / size.0.min(size.1)).min(1.0), most.max(1.0))
}

impl ScaleFilter {
    /// For a box of `size` (width, height) pixels of a patch, whose sides another filter may make longer by `room`.
    pub fn new(size: (f64, f64), settings: ScaleSettings, room: f64) -> Self {
        let count = (settings.count.clamp(3, MOST) - 1) / 2 * 2 + 1;
        let middle = (count / 2) as f64;
        let factor = |k: usize| libm::pow(settings.step, k as f64 - middle);
        let boxes = BoxRow::new(size, (0..count).map(|k| (factor(k), factor(k))).collect(), settings.area, room);
        let filter = LineFilter::new(boxes.values(), count, 0.25 * (count as f64).sqrt(), settings.lambda, false);
        Self { settings, boxes, filter }
    }

    /// By what the scale has changed, for a target around `center` (x, y) of `patch` that is by `stretch` wider and
    /// higher than the box at the scale before; 1 before anything was learned.
    pub fn find(&mut self, patch: GrayPatch<'_>, center: (f64, f64), stretch: (f64, f64)) -> f64 {
        if !self.filter.is_trained() {
            return 1.0;
        }
        libm::pow(self.settings.step, self.filter.find(self.boxes.take(patch, center, stretch), |_| 1.0))
    }

    /// Learns the target around `center` (x, y) of `patch`, where it is by `zoom` wider and higher than the box; at
    /// `times` the rate.
    pub fn learn(&mut self, patch: GrayPatch<'_>, center: (f64, f64), zoom: (f64, f64), times: f64) {
        self.filter.learn(self.boxes.take(patch, center, zoom), self.settings.rate * times);
    }
}

impl Recorded for ScaleFilter {
    fn record(&mut self, tape: &mut Tape<'_>) -> Result<()> {
        self.filter.record(tape)
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
            let mut filter = ScaleFilter::new(size, ScaleSettings::default(), 1.0);
            let first = texture(center, 0.0, 1.0);
            assert_eq!(filter.find(patch(&first), center, (1.0, 1.0)), 1.0);
            filter.learn(patch(&first), center, (1.0, 1.0), 1.0);
            for zoom in [0.85, 0.93, 1.0, 1.06, 1.15] {
                let found = filter.find(patch(&texture(center, 0.0, zoom)), center, (1.0, 1.0));
                assert!((found / zoom).ln().abs() < 0.025, "{size:?}: {found} for {zoom}");
            }
        }
    }

    /// Four times a rate is that rate times four, to the bit.
    #[test]
    fn a_lesson_counts_as_often_as_it_is_told() {
        let (center, one, rate) = ((80.0, 80.0), (1.0, 1.0), 0.025);
        let (first, next) = (texture(center, 0.0, 1.0), texture(center, 90.0, 1.0));
        let learned = |rate: f64, times: f64| {
            let mut filter = ScaleFilter::new((40.0, 30.0), ScaleSettings { rate, ..Default::default() }, 1.0);
            filter.learn(patch(&first), center, one, 1.0);
            filter.learn(patch(&next), center, one, times);
            let mut tape = Tape::empty();
            filter.record(&mut tape).unwrap();
            tape.written()
        };
        assert!(learned(rate, 4.0) == learned(4.0 * rate, 1.0) && learned(rate, 4.0) != learned(rate, 1.0));
    }

    #[test]
    fn odd_boxes_and_places_are_no_panic() {
        let pixels = vec![90; WIDTH * 100];
        let patch = patch(&pixels);
        for size in [(1.0, 1.0), (2.0, 150.0), (900.0, 45.0), (3000.0, 2.0)] {
            let mut filter = ScaleFilter::new(size, ScaleSettings::default(), 1.0);
            for center in [(80.0, 50.0), (-40.0, 0.0), (500.0, 99.5)] {
                filter.learn(patch, center, (1.02, 1.02), 2.0);
                // A patch of one colour says nothing: the size stays.
                assert_eq!(filter.find(patch, center, (1.0, 1.0)), 1.0, "{size:?}, {center:?}");
            }
        }
    }

    #[test]
    fn nothing_is_allocated_in_a_frame() {
        let pixels = texture((80.0, 80.0), 0.0, 1.0);
        let patch = patch(&pixels);
        let mut filter = ScaleFilter::new((40.0, 30.0), ScaleSettings::default(), 1.0);
        let used = allocation_counter::measure(|| {
            filter.learn(patch, (80.0, 80.0), (1.0, 1.0), 1.0);
            assert!(filter.find(patch, (81.0, 80.0), (1.0, 1.0)).is_finite());
        });
        assert_eq!(used.count_total, 0);
    }
}
