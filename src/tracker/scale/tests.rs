//! The size of a target, around a search that finds it wherever it is expected.

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
    grown: f64,
}

impl Search for Answers {
    fn pose(&self) -> Pose {
        Pose::of(BOX)
    }

    fn detect(&mut self, frame: &Frame<'_>, at: Pose) -> Detection {
        self.evaluate_at(frame, Pose { scale: self.grown * at.scale, ..at })
    }

    fn evaluate_at(&mut self, _: &Frame<'_>, at: Pose) -> Detection {
        Detection { pose: at, evidence: Evidence::default(), seen: true, guess: None }
    }

    fn learn(&mut self, _: &Frame<'_>, _: Pose, _: &Evidence, _: Option<f64>) -> Learned {
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

/// The target seen `zoom` times as large as at first.
fn picture(zoom: f64) -> Vec<u8> {
    texture(BOX.center(), 0.0, zoom)
}

fn frame(pixels: &[u8]) -> Frame<'_> {
    Frame::gray(pixels, WIDTH, WIDTH).unwrap()
}

/// A search that follows the size, and has learned the first picture.
fn following(grown: f64, params: ScaleFilterParams) -> Box<dyn Search> {
    let (first, search) = (picture(1.0), Box::new(Answers { grown }));
    ScaleSearch::around(search, ScaleParams::Filter(params), &frame(&first), BOX)
}

/// Even if the search, or the filter for the scale, would go on.
#[test]
fn a_target_becomes_no_smaller_and_no_larger_than_its_limits() {
    for (grown, end) in [(0.01, LIMITS.0), (100.0, LIMITS.1)] {
        let (mut search, pixels) = (following(grown, ScaleFilterParams::default()), picture(1.0));
        let at = search.pose();
        assert_eq!(search.detect(&frame(&pixels), at).pose.scale, end);
    }
}

/// What is learned is the target as large as it was found to be, in the patch that was cut before that was known.
#[test]
fn a_target_that_has_grown_is_learned_at_its_new_size() {
    // Nothing of the first picture is left after one more.
    let settings = ScaleFilterParams { rate: 1.0, ..ScaleFilterParams::default() };
    for zoom in [1.12, 0.9] {
        let mut search = following(1.0, settings);
        let pixels = picture(zoom);
        let mut at = search.pose();
        for look in 0..3 {
            at = search.detect(&frame(&pixels), at).pose;
            assert!((at.scale / zoom).ln().abs() < 0.025, "look {look}: {} for {zoom}", at.scale);
            search.learn(&frame(&pixels), at, &Evidence::default(), None);
        }
    }
}
