//! The size of a target by both ways, around a search whose answers depend on the size alone.

use std::sync::{Arc, Mutex};

use ndarray::ArrayView2;

use super::*;
use crate::tracker::ResponseLayout;
use crate::tracker::scale::testing::{WIDTH, texture};

/// A target in the middle of pictures of [`WIDTH`] x [`WIDTH`].
const BOX: BBox = BBox::new(60.0, 60.0, 40.0, 40.0);
/// It can be a quarter less than the pictures, and five pixels.
const LIMITS: (f64, f64) = (0.125, 4.0);

/// Finds the target where and as large as it is expected, times `grown`.
#[derive(Clone, Debug)]
struct Answers {
    /// The peak at each scale, or the decision of a machine.
    peak: fn(f64) -> f32,
    decides: bool,
    grown: f64,
    /// The scales that were looked at.
    scales: Arc<Mutex<Vec<f64>>>,
}

impl Search for Answers {
    fn pose(&self) -> Pose {
        Pose::of(BOX)
    }

    fn detect(&mut self, frame: &Frame<'_>, at: Pose, watch: &mut Stopwatch) -> Detection {
        self.scales.lock().unwrap().push(at.scale);
        self.evaluate_at(frame, Pose { scale: self.grown * at.scale, ..at }, watch)
    }

    fn evaluate_at(&mut self, _: &Frame<'_>, at: Pose, _: &mut Stopwatch) -> Detection {
        let peak = (self.peak)(at.scale);
        let evidence = Evidence { peak, decision: self.decides.then_some(peak), ..Evidence::default() };
        Detection { pose: at, evidence, seen: true }
    }

    fn learn(&mut self, _: &Frame<'_>, _: Pose, _: Option<f64>, _: &mut Stopwatch) -> Learned {
        Learned::Done
    }

    fn state(&self, _: &Evidence) -> State {
        State::Tracking
    }

    fn response(&self) -> ResponseMap<'_> {
        let values = ArrayView2::from_shape((1, 1), &[0.0]).unwrap();
        ResponseMap { values, layout: ResponseLayout::Centered, center: BOX.center(), step: (1.0, 1.0), angle: 0.0 }
    }

    fn boxed_clone(&self) -> Box<dyn Search> {
        Box::new(self.clone())
    }
}

fn answers(peak: fn(f64) -> f32) -> Answers {
    Answers { peak, decides: false, grown: 1.0, scales: Arc::default() }
}

/// The target seen `zoom` times as large as at first.
fn picture(zoom: f64) -> Vec<u8> {
    texture(BOX.center(), 0.0, zoom)
}

fn frame(pixels: &[u8]) -> Frame<'_> {
    Frame::gray(pixels, WIDTH, WIDTH).unwrap()
}

/// A search with this way to follow the size, which has learned the first picture.
fn with(search: &Answers, scale: ScaleParams) -> Box<dyn Search> {
    let (first, mut watch) = (picture(1.0), Stopwatch::default());
    let (first, search) = (frame(&first), search.boxed_clone());
    ScaleSearch::around(search, scale, &first, BOX, &mut watch)
}

fn pyramid(step: f64, margin: f64, every: usize) -> ScaleParams {
    ScaleParams::Pyramid(PyramidParams { step, margin, interval: every })
}

/// The scales of the looks that follow each other.
fn followed(search: &mut dyn Search, looks: usize) -> Vec<f64> {
    let pixels = picture(1.0);
    let mut at = search.pose();
    let mut look = || {
        at = search.detect(&frame(&pixels), at, &mut Stopwatch::default()).pose;
        at.scale
    };
    (0..looks).map(|_| look()).collect()
}

#[test]
fn another_size_must_be_better_by_the_margin() {
    for (peak, margin, scale) in [
        ((|scale| if scale > 1.0 { 1.04 } else { 1.0 }) as fn(f64) -> f32, 0.05, 1.0),
        (|scale| if scale > 1.0 { 1.06 } else { 1.0 }, 0.05, 1.25),
        (|scale| if scale < 1.0 { 1.06 } else { 1.0 }, 0.05, 0.8),
        (|scale| if scale > 1.0 { 1.04 } else { 1.0 }, 0.0, 1.25),
    ] {
        assert_eq!(followed(&mut *with(&answers(peak), pyramid(1.25, margin, 1)), 1), [scale]);
    }
}

/// The background's mean is at -1 for a machine: a decision below 0 can be the better one, and the margin is a share of
/// what lies above the background.
#[test]
fn decisions_are_compared_from_the_background_on() {
    for (peak, scale) in [
        ((|scale| if scale > 1.0 { -0.3 } else { -0.5 }) as fn(f64) -> f32, 1.25),
        (|scale| if scale > 1.0 { 0.23 } else { 0.2 }, 1.0),
        (|scale| if scale > 1.0 { 0.29 } else { 0.2 }, 1.25),
        (|scale| if scale > 1.0 { -1.5 } else { -2.0 }, 1.0),
    ] {
        let search = Answers { decides: true, ..answers(peak) };
        assert_eq!(followed(&mut *with(&search, pyramid(1.25, 0.05, 1)), 1), [scale]);
    }
    // A filter's answers are compared as they are.
    let below = answers(|scale| if scale > 1.0 { -0.3 } else { -0.5 });
    assert_eq!(followed(&mut *with(&below, pyramid(1.25, 0.05, 1)), 1), [1.0]);
}

#[test]
fn other_sizes_are_looked_at_in_one_of_so_many_frames() {
    for every in [1, 2, 3] {
        let search = answers(|_| 1.0);
        let mut sized = with(&search, pyramid(1.25, 0.05, every));
        for look in 1..7 {
            followed(&mut *sized, 1);
            let scales = std::mem::take(&mut *search.scales.lock().unwrap());
            let all: &[f64] = if look % every == 0 { &[0.8, 1.25, 1.0] } else { &[1.0] };
            assert_eq!(scales, all, "look {look}, every {every}");
        }
    }
}

/// Even if the search, or the filter for the scale, would go on.
#[test]
fn a_target_becomes_no_smaller_and_no_larger_than_its_limits() {
    for (better, end) in [((|scale| 1.0 / scale as f32) as fn(f64) -> f32, LIMITS.0), (|scale| scale as f32, LIMITS.1)]
    {
        let scales = followed(&mut *with(&answers(better), pyramid(1.5, 0.0, 1)), 8);
        assert!(scales.iter().all(|scale| (LIMITS.0..=LIMITS.1).contains(scale)), "{scales:?}");
        assert_eq!(scales[7], end);
    }
    for (grown, end) in [(0.01, LIMITS.0), (100.0, LIMITS.1)] {
        let search = Answers { grown, ..answers(|_| 1.0) };
        let by_filter = ScaleParams::Filter(ScaleFilterParams::default());
        assert_eq!(followed(&mut *with(&search, by_filter), 1), [end]);
    }
}

/// What is learned is the target as large as it was found to be, in the patch that was cut before that was known.
#[test]
fn a_target_that_has_grown_is_learned_at_its_new_size() {
    // Nothing of the first picture is left after one more.
    let settings = ScaleFilterParams { rate: 1.0, ..ScaleFilterParams::default() };
    for zoom in [1.12, 0.9] {
        let mut search = with(&answers(|_| 1.0), ScaleParams::Filter(settings));
        let (pixels, mut watch) = (picture(zoom), Stopwatch::default());
        let mut at = search.pose();
        for look in 0..3 {
            at = search.detect(&frame(&pixels), at, &mut watch).pose;
            assert!((at.scale / zoom).ln().abs() < 0.025, "look {look}: {} for {zoom}", at.scale);
            search.learn(&frame(&pixels), at, None, &mut watch);
        }
    }
}
