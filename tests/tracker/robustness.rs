//! No input makes the tracker panic or return an invalid box.

use image::RgbImage;
use kcf_track::synth::{Scene, SceneParams};
use kcf_track::{BBox, Error, Estimate, Frame, FrameBuf, Params, PixelFormat, State, Tracker};
use proptest::prelude::*;

use crate::detectors::sound;

fn scene(params: SceneParams) -> Scene {
    Scene::new(params).unwrap()
}

fn small() -> Scene {
    let easy = SceneParams::default();
    scene(SceneParams { width: 160, height: 120, target_width: 24, target_height: 32, ..easy })
}

/// One of each kind of search.
const KINDS: [&str; 3] = ["paper", "fast", "robust"];

fn of_preset(name: &str) -> Tracker {
    Tracker::new(Params::preset(name).unwrap()).unwrap()
}

fn view(picture: &RgbImage) -> Frame<'_> {
    Frame::try_from(picture).unwrap()
}

fn gray(width: usize, height: usize, level: impl Fn(usize, usize) -> u8) -> FrameBuf {
    let data = (0..width * height).map(|i| level(i % width, i / width)).collect();
    FrameBuf::new(data, width, height, PixelFormat::Gray8).unwrap()
}

/// Texture of all scales without a period.
fn noise(x: usize, y: usize) -> u8 {
    let hash = (x as u64 * 0x9E37_79B9 + y as u64 * 0x85EB_CA6B).wrapping_mul(0x2545_F491_4F6C_DD1D);
    (hash >> 56) as u8
}

/// Width and height of the box before rotation.
pub fn sides(now: &Estimate) -> (f64, f64) {
    let side = |c: [f64; 8], a: usize, b: usize| (c[b] - c[a]).hypot(c[b + 1] - c[a + 1]);
    now.polygon.map_or((now.bbox.w, now.bbox.h), |corners| (side(corners, 0, 2), side(corners, 2, 4)))
}

/// Whether the box keeps its size, or with scale its aspect ratio, within five pixels and the size of the frame.
pub fn size_is_bounded(params: &Params, frame: (usize, usize), first: &BBox, now: &Estimate) -> bool {
    let (w, h) = sides(now);
    if crate::scene::keeps_size(params) {
        return (w, h) == (first.w, first.h);
    }
    let scale = w / first.w;
    let most = (frame.0 as f64 / first.w).min(frame.1 as f64 / first.h).max(1.0);
    let least = (5.0 / first.w.min(first.h)).min(1.0);
    (h / first.h / scale - 1.0).abs() < 1e-9 && scale > least * (1.0 - 1e-9) && scale < most * (1.0 + 1e-9)
}

#[test]
fn invalid_boxes_are_refused_and_the_others_tracked() {
    let frame = gray(120, 90, noise);
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    for [x, y, w, h] in [
        [10.0, 10.0, 0.0, 20.0],
        [10.0, 10.0, 20.0, 0.0],
        [10.0, 10.0, -20.0, 20.0],
        [nan, 10.0, 20.0, 20.0],
        [10.0, nan, 20.0, 20.0],
        [10.0, 10.0, nan, 20.0],
        [10.0, 10.0, 20.0, inf],
        [-inf, 10.0, 20.0, 20.0],
        [120.0, 10.0, 20.0, 20.0],
        [-20.0, 10.0, 20.0, 20.0],
        [10.0, 90.0, 20.0, 20.0],
        [1e300, 1e300, 1e300, 1e300],
        [-1e300, -1e300, 2e300, 2e300],
        [0.0, 0.0, 1e12, 1e12],
        [0.0, 0.0, 1e300, 1e-300],
        [10.0, 10.0, 1e-3, 1e-3],
        [10.0, 10.0, f64::MIN_POSITIVE, f64::MIN_POSITIVE],
    ] {
        let bbox = BBox::new(x, y, w, h);
        for name in KINDS {
            let mut tracker = of_preset(name);
            match tracker.init(&frame, bbox) {
                Err(Error::Box { reason, .. }) => assert!(reason.len() > 10),
                other => panic!("{name} {bbox}: {other:?}"),
            }
            assert_eq!(tracker.bbox(), None, "{name} {bbox}");
        }
    }
    for [x, y, w, h] in [
        [-10.0, 10.0, 20.0, 20.0],
        [110.0, 80.0, 20.0, 20.0],
        [-50.0, -50.0, 400.0, 400.0],
        [50.0, 50.0, 1.0, 1.0],
        [50.0, 50.0, 2.0, 2.0],
        [50.0, 50.0, 1.9, 700.0],
        [-100.0, 40.0, 500.0, 10.0],
        [50.0, -100.0, 10.0, 500.0],
        [50.0, -800.0, 1.0, 1_900.0],
        [20.3, 30.7, 24.6, 18.2],
        [119.9, 89.9, 10.0, 10.0],
    ] {
        let bbox = BBox::new(x, y, w, h);
        for (name, _) in Params::PRESETS {
            let params = Params::preset(name).unwrap();
            let mut tracker = Tracker::new(params.clone()).unwrap();
            let first = tracker.init(&frame, bbox).unwrap();
            assert!(sound(&first, &tracker) && first.bbox == bbox && first.state == State::Initial, "{name} {bbox}");
            let distinct = first.evidence.psr > 20.0;
            let next = tracker.update(&frame).unwrap();
            assert!(sound(&next, &tracker), "{name} {bbox}: {next:?}");
            assert!(size_is_bounded(&params, (120, 90), &bbox, &next), "{name} {bbox}: {}", next.bbox);
            // The picture is the same; the published code moves boxes of odd size by half a pixel.
            if w >= 10.0 && h >= 10.0 && distinct {
                assert!(next.bbox.center_error(&bbox) <= 3.0, "{name} {bbox}: {}", next.bbox);
            }
        }
    }
}

/// The published code and the paper presets move them by half a pixel.
#[test]
fn fast_does_not_move_a_still_target_of_odd_size() {
    let frame = gray(160, 120, noise);
    for (w, h) in [(30.0, 40.0), (31.0, 40.0), (30.0, 41.0), (31.0, 41.0), (30.5, 41.5)] {
        let bbox = BBox::new(50.0, 40.0, w, h);
        let moved = |preset: &str| {
            let mut tracker = Tracker::new(Params::preset(preset).unwrap()).unwrap();
            tracker.init(&frame, bbox).unwrap();
            tracker.update(&frame).unwrap().bbox.center_error(&bbox)
        };
        assert!(moved("fast") < 0.5, "{w}x{h}: {}", moved("fast"));
        let half = f64::hypot((w / 2.0).fract(), (h / 2.0).fract());
        assert!((moved("paper") - half).abs() < 1e-9, "{w}x{h}: {}", moved("paper"));
    }
}

#[test]
fn calls_in_the_wrong_order_or_of_another_size_change_nothing() {
    KINDS.map(of_preset).into_iter().for_each(calls_in_the_wrong_order);
}

fn calls_in_the_wrong_order(mut tracker: Tracker) {
    let scene = small();
    let (first, truth) = scene.render(0);
    assert!(matches!(tracker.update(view(&first)), Err(Error::NotInitialized)));
    tracker.init(view(&first), truth.bbox).unwrap();
    let before = tracker.update(view(&first)).unwrap().bbox;
    let other = gray(100, 120, noise);
    match tracker.update(&other) {
        Err(Error::FrameSize { expected, got }) => assert_eq!((expected, got), ((160, 120), (100, 120))),
        unexpected => panic!("{unexpected:?}"),
    }
    // A refused box keeps the target.
    assert!(tracker.init(view(&first), BBox::new(500.0, 0.0, 9.0, 9.0)).is_err());
    assert_eq!(tracker.bbox(), Some(before));
    assert!(sound(&tracker.update(view(&first)).unwrap(), &tracker));
    // A new target in frames of another size.
    let bbox = BBox::new(20.0, 20.0, 51.0, 17.0);
    assert_eq!(tracker.init(&other, bbox).unwrap().bbox, bbox);
    assert!(sound(&tracker.update(&other).unwrap(), &tracker));
    tracker.init(view(&first), truth.bbox).unwrap();
    let again = tracker.update(view(&first)).unwrap();
    assert_eq!((again.bbox, again.state), (before, State::Tracking));
}

#[test]
fn every_layout_of_the_same_pixels_gives_the_same_boxes() {
    let scene = small();
    let truth = scene.truth(0).bbox;
    let pictures: Vec<_> = (0..4).map(|index| scene.render(index).0).collect();
    // Bytes, stride and format.
    type Layout<'a> = &'a dyn Fn(&RgbImage) -> (Vec<u8>, usize, PixelFormat);
    let boxes_by = |name: &str, layout: Layout<'_>| -> Vec<BBox> {
        let mut tracker = of_preset(name);
        let frames: Vec<_> = pictures.iter().map(layout).collect();
        let view = |i: usize| Frame::new(&frames[i].0, 160, 120, frames[i].1, frames[i].2).unwrap();
        tracker.init(view(0), truth).unwrap();
        (1..4).map(|i| tracker.update(view(i)).unwrap().bbox).collect()
    };
    let boxes_of = |layout: Layout<'_>| KINDS.map(|name| boxes_by(name, layout));
    let rgb = boxes_of(&|picture| (picture.as_raw().clone(), 480, PixelFormat::Rgb8));
    let padded = boxes_of(&|picture| {
        let rows = picture.as_raw().chunks_exact(480);
        (rows.flat_map(|row| row.iter().copied().chain([99; 32])).collect(), 512, PixelFormat::Rgb8)
    });
    let bgra = boxes_of(&|picture| {
        (picture.pixels().flat_map(|p| [p[2], p[1], p[0], 255]).collect(), 640, PixelFormat::Bgra8)
    });
    let gray = boxes_of(&|picture| {
        let frame = view(picture);
        let values = (0..120).flat_map(|y| (0..160).map(move |x| frame.gray_at(x, y)));
        (values.collect(), 160, PixelFormat::Gray8)
    });
    assert_eq!(rgb, padded);
    assert_eq!(rgb, bgra);
    // `fast` and `robust` use colours.
    assert_eq!(rgb[0], gray[0]);
}

#[test]
fn uniform_pictures_are_refused_by_init_and_lost_in_update() {
    let scene = small();
    let (first, truth) = scene.render(0);
    for (name, _) in Params::PRESETS {
        let mut tracker = Tracker::new(Params::preset(name).unwrap()).unwrap();
        for level in [0, 1, 128, 255] {
            let flat = gray(160, 120, |_, _| level);
            assert!(matches!(tracker.init(&flat, truth.bbox), Err(Error::Box { .. })), "{name} {level}");
        }
        tracker.init(view(&first), truth.bbox).unwrap();
        let mut last = truth.bbox;
        for index in 1..4 {
            last = tracker.update(view(&scene.render(index).0)).unwrap().bbox;
        }
        for level in [0, 0, 255, 77] {
            let estimate = tracker.update(&gray(160, 120, |_, _| level)).unwrap();
            assert_eq!((estimate.state, estimate.bbox), (State::Lost, last), "{name} {level}");
            assert!(sound(&estimate, &tracker), "{name} {level}");
        }
        let (picture, truth) = scene.render(4);
        let estimate = tracker.update(view(&picture)).unwrap();
        assert!(estimate.bbox.overlap(&truth.bbox) > 0.5, "{name}: {} {}", estimate.bbox, truth.bbox);
        let there = matches!(estimate.state, State::Tracking | State::Recovered);
        assert!(there, "{name}: {} {}", estimate.state, estimate.evidence.psr);
    }
}

fn any_number() -> impl Strategy<Value = f64> {
    prop_oneof![
        8 => -60.0..120.0f64,
        2 => (-20i32..100).prop_map(f64::from),
        1 => prop::num::f64::ANY,
        1 => prop::sample::select(vec![0.0, -0.0, 1e300, -1e300, 1e-300, f64::NAN, f64::INFINITY, 1e18, 2e9, 1e6]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, ..ProptestConfig::default() })]

    #[test]
    fn any_frame_and_any_box_give_a_sound_estimate_or_an_error(
        (width, height) in (1usize..90, 1usize..90),
        seed in any::<u64>(), kind in 0..4, preset in 0..Params::PRESETS.len(), half_from in 0.0..100.0f64,
        x in any_number(), y in any_number(), w in any_number(), h in any_number(),
    ) {
        let picture = |time: usize| gray(width, height, |x, y| {
            let random = noise(x + time + seed as usize % 1000, y + (seed >> 32) as usize % 1000);
            match kind {
                0 => random,
                1 => ((x + y + time) * 3) as u8,
                2 => if random > 250 { 255 } else { 0 },
                _ => if x + time < width / 2 { 30 } else { 31 },
            }
        });
        let params = crate::scene::half_from(&Params::preset(Params::PRESETS[preset].0).unwrap(), half_from);
        let mut tracker = Tracker::new(params.clone()).unwrap();
        let bbox = BBox::new(x, y, w, h);
        match tracker.init(&picture(0), bbox) {
            Err(Error::Box { .. }) => {}
            Err(other) => prop_assert!(false, "{bbox}: {other}"),
            Ok(first) => {
                prop_assert!(sound(&first, &tracker), "{} {:?}", bbox, first);
                for time in 1..4 {
                    let estimate = tracker.update(&picture(time)).unwrap();
                    prop_assert!(sound(&estimate, &tracker), "{} {:?}", bbox, estimate);
                    let bounded = size_is_bounded(&params, (width, height), &bbox, &estimate);
                    prop_assert!(bounded, "{} {:?}", bbox, estimate);
                }
            }
        }
    }

}
