//! The size around a localizer that finds its target wherever it is expected.

use std::sync::{Arc, Mutex};

use ndarray::ArrayView2;

use super::*;
use crate::filters::scale_rotation::tests::{WIDTH, texture};
use crate::tracker::{Evidence, ResponseLayout, ScaleFilterParams};

/// A target in the middle of pictures of [`WIDTH`] x [`WIDTH`].
const BOX: BBox = BBox::new(60.0, 60.0, 40.0, 40.0);
/// The target can shrink to five pixels and grow to a quarter less than the pictures.
const LIMITS: (f64, f64) = (0.125, 4.0);

/// Finds the target where and as large as it is expected, times `grown`.
#[derive(Clone, Debug)]
struct Answers {
    grown: f64,
    calls: Arc<Mutex<Vec<(&'static str, Pose)>>>,
}

const RESTORED: Pose = Pose { center: (3.0, 4.0), scale: 0.5, angle: 0.0, aspect: 1.0 };

impl Localizer for Answers {
    fn locate(&mut self, frame: &Frame<'_>, at: Pose, _: Extent) -> Located {
        self.score_at(frame, Pose { scale: self.grown * at.scale, ..at })
    }

    fn score_at(&mut self, _: &Frame<'_>, at: Pose) -> Located {
        Located::new(at, Evidence::default(), None, true)
    }

    fn learn(&mut self, _: &Frame<'_>, _: &Located, _: Update) -> Learned {
        Learned::KeptModel
    }

    fn snapshot(&mut self, at: Pose) {
        self.calls.lock().unwrap().push(("snapshot", at));
    }

    fn restore(&mut self) -> Option<Pose> {
        Some(RESTORED)
    }

    fn restart(&mut self, at: Pose) {
        self.calls.lock().unwrap().push(("restart", at));
    }

    fn response(&self) -> ResponseMap<'_> {
        let values = ArrayView2::from_shape((1, 1), &[0.0]).unwrap();
        ResponseMap { values, layout: ResponseLayout::Centered, center: BOX.center(), step: (1.0, 1.0), angle: 0.0 }
    }

    fn transfer(&mut self, archive: &mut crate::archive::Archive<'_>) {
        archive.refuse("a stub");
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
fn following(grown: f64, params: ScaleFilterParams) -> Box<dyn Localizer> {
    let (first, search) = (picture(1.0), Box::new(Answers { grown, calls: Arc::default() }));
    ScaleLocalizer::around(search, ScaleParams::Filter(params), &frame(&first), BOX)
}

/// The limits hold even if the search, or the filter for the scale, would go on.
#[test]
fn a_target_becomes_no_smaller_and_no_larger_than_its_limits() {
    for (grown, end) in [(0.01, LIMITS.0), (100.0, LIMITS.1)] {
        let (mut search, pixels) = (following(grown, ScaleFilterParams::default()), picture(1.0));
        let at = Pose::of(BOX);
        assert_eq!(search.locate(&frame(&pixels), at, Extent::Pose).pose.scale, end);
    }
}

/// The patch is cut before the new size is known; the target is learned from it at the new size.
#[test]
fn a_target_that_has_grown_is_learned_at_its_new_size() {
    // At this rate nothing of the first picture is left after one more.
    let settings = ScaleFilterParams { rate: 1.0, ..ScaleFilterParams::default() };
    for zoom in [1.12, 0.9] {
        let mut search = following(1.0, settings);
        let pixels = picture(zoom);
        let mut at = Pose::of(BOX);
        for look in 0..3 {
            at = search.locate(&frame(&pixels), at, Extent::Pose).pose;
            assert!((at.scale / zoom).ln().abs() < 0.025, "look {look}: {} for {zoom}", at.scale);
            search.learn(&frame(&pixels), &Located::new(at, Evidence::default(), None, true), Update::Usual);
        }
    }
}

/// All calls and answers of the wrapped localizer go through.
#[test]
fn a_wrapped_localizer_is_told_everything() {
    let (first, inner) = (picture(1.0), Answers { grown: 1.0, calls: Arc::default() });
    let scale = ScaleParams::Filter(ScaleFilterParams::default());
    let mut outer = ScaleLocalizer::around(Box::new(inner.clone()), scale, &frame(&first), BOX);
    let (here, there) = (Pose::of(BOX), Pose::of(BOX).at((9.0, 9.0)));
    outer.snapshot(here);
    outer.restart(there);
    assert_eq!(*inner.calls.lock().unwrap(), [("snapshot", here), ("restart", there)]);
    assert_eq!(outer.restore(), Some(RESTORED));
    let located = outer.score_at(&frame(&first), here);
    assert_eq!(outer.learn(&frame(&first), &located, Update::Usual), Learned::KeptModel);
    // A place alone keeps its size.
    assert_eq!(outer.locate(&frame(&picture(1.2)), here, Extent::Place).pose.scale, 1.0);
}
