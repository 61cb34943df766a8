//! Properties that hold for any input.

use crate::kernels::Kernel;
use crate::synth::{Preset, SceneParams};
use crate::tracker::FeatureParams;
use crate::{BBox, Frame, Params, Tracker};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::sync::OnceLock;

use super::scene::{self, Clip, paper_presets};

/// One clip for all tests, because rendering takes most of the time.
fn clip() -> &'static Clip {
    static CLIP: OnceLock<Clip> = OnceLock::new();
    CLIP.get_or_init(|| Clip::render(SceneParams { frames: 30, motion: 3.0, ..Preset::Demo.params() }))
}

proptest! {
    // Pictures are measured here, with bounds: the same ones each time.
    #![proptest_config(ProptestConfig { cases: 64, rng_seed: RngSeed::Fixed(20150301), ..ProptestConfig::default() })]

    /// A picture that moves as a whole takes the box with it, by cells at most half a cell off.
    #[test]
    fn a_translated_scene_moves_the_box(dx in -12i64..=12, dy in -12i64..=12, frame in 0usize..20) {
        let clip = clip();
        let (w, h) = (clip.width as i64, clip.height as i64);
        let moved: Vec<u8> = (0..w * h)
            .map(|i| {
                let (x, y) = ((i % w - dx).clamp(0, w - 1), (i / w - dy).clamp(0, h - 1));
                clip.gray[frame][(y * w + x) as usize]
            })
            .collect();
        let moved = Frame::gray(&moved, clip.width, clip.height).unwrap();
        // Whole pixels and an even size leave a box no half pixel to lose.
        let initial = BBox::new(130.0, 90.0, 40.0, 48.0);
        for (name, params) in paper_presets() {
            let mut tracker = Tracker::new(params.clone()).unwrap();
            tracker.init(clip.gray(frame), initial).unwrap();
            let still = tracker.update(clip.gray(frame)).unwrap().bbox;
            prop_assert_eq!(still, initial);
            let found = tracker.update(moved).unwrap().bbox;
            let filter = scene::filter_of(&params);
            let cell = filter.feature.cell_size() as f64;
            let linear_gray = filter.feature == FeatureParams::Gray && filter.kernel == Kernel::Linear;
            for (found, expected) in [(found.x - initial.x, dx as f64), (found.y - initial.y, dy as f64)] {
                prop_assert_eq!(found % cell, 0.0);
                // Gray pixels: exactly, but for the broad peak of a linear filter, which the picture that comes in at
                // the window's edge can tilt. Between two cells either may win; with the next frame nothing is left to
                // gain.
                let allowed = if cell > 1.0 { 0.75 * cell } else { f64::from(u8::from(linear_gray)) };
                prop_assert!((found - expected).abs() <= allowed, "{}: moved {} instead of {}", name, found, expected);
            }
            // By whole cells it is exact.
            if !linear_gray && dx % cell as i64 == 0 && dy % cell as i64 == 0 {
                prop_assert_eq!(found, initial.translated(dx as f64, dy as f64), "{}", name);
            }
        }
    }
}

/// Boxes of the demo scene whose gray values went through `change`.
fn with_gray_values(params: &Params, change: impl Fn(u8) -> u8) -> Vec<BBox> {
    let clip = clip();
    let frames: Vec<Vec<u8>> = clip.gray.iter().map(|frame| frame.iter().map(|&v| change(v)).collect()).collect();
    let frames = frames.iter().map(|frame| Frame::gray(frame, clip.width, clip.height).unwrap());
    scene::track(params, frames, clip.initial())
}

/// Contrast and brightness mean nothing to HOG: its orientations are the same, and its blocks are normalised.
#[test]
fn gain_and_offset_change_nothing_for_hog() {
    for (name, params) in paper_presets().filter(|(name, _)| !name.contains("gray")) {
        // Even values, so that nothing is rounded when they are halved.
        let plain = with_gray_values(&params, |v| v & !1);
        assert_eq!(with_gray_values(&params, |v| v / 2), plain, "{name}, halved");
        assert_eq!(with_gray_values(&params, |v| v / 2 + 100), plain, "{name}, halved and brighter");

        // Rounding to whole gray levels turns weak gradients, so that now and then another cell wins by a hair.
        let plain = with_gray_values(&params, |v| v);
        for (gain, offset) in [(0.5, 0.0), (0.5, 90.0), (0.8, 20.0)] {
            let boxes = with_gray_values(&params, |v| (f64::from(v) * gain + offset).round() as u8);
            let same = boxes.iter().zip(&plain).filter(|(a, b)| a == b).count();
            let farthest = boxes.iter().zip(&plain).map(|(a, b)| a.center_error(b)).fold(0.0, f64::max);
            let cell = scene::filter_of(&params).feature.cell_size() as f64;
            assert!(same * 10 >= plain.len() * 8, "{name}, {gain} v + {offset}: {same} of {} boxes", plain.len());
            assert!(farthest <= cell * std::f64::consts::SQRT_2, "{name}, {gain} v + {offset}: {farthest} px");
        }
    }
}
