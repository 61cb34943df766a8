//! Properties that hold for any input.

use crate::features::hog::{self, Hog};
use crate::features::{Features, Window, gaussian_labels};
use crate::filters::kcf::Kcf;
use crate::kernels::Kernel;
use crate::synth::{Preset, SceneParams};
use crate::tracker::FeatureParams;
use crate::{BBox, Frame, Params, Tracker};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg32;
use std::sync::OnceLock;

use super::scene::{self, Clip, paper_presets};

/// One clip for all tests: rendering is the dearest part.
fn clip() -> &'static Clip {
    static CLIP: OnceLock<Clip> = OnceLock::new();
    CLIP.get_or_init(|| Clip::render(SceneParams { frames: 30, motion: 3.0, ..Preset::Demo.params() }))
}

fn kernels() -> impl Strategy<Value = Kernel> {
    prop_oneof![
        Just(Kernel::Gaussian { sigma: 0.5 }),
        Just(Kernel::Gaussian { sigma: 0.2 }),
        Just(Kernel::Polynomial { a: 1.0, b: 9 }),
        Just(Kernel::Linear),
    ]
}

/// Row and column of the highest value.
fn highest(response: &[f32], cols: usize) -> (usize, usize) {
    let best = (0..response.len()).max_by(|&a, &b| response[a].total_cmp(&response[b])).unwrap();
    (best / cols, best % cols)
}

/// A plane of cells moved down and right, wrapped around; `unit` values a cell.
fn rolled<T: Copy>(map: &[T], (rows, cols): (usize, usize), unit: usize, (down, right): (usize, usize)) -> Vec<T> {
    let mut out = map.to_vec();
    for r in 0..rows {
        for c in 0..cols {
            let to = ((r + down) % rows * cols + (c + right) % cols) * unit;
            out[to..to + unit].copy_from_slice(&map[(r * cols + c) * unit..][..unit]);
        }
    }
    out
}

fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut rng = Pcg32::seed_from_u64(seed);
    (0..len).map(|_| rng.random()).collect()
}

fn filter(rows: usize, cols: usize, channels: usize, kernel: Kernel) -> Kcf {
    Kcf::new(rows, cols, channels, kernel, 1e-4, &gaussian_labels(rows, cols, 0.8))
}

proptest! {
    // Pictures are measured here, with bounds: the same ones each time.
    #![proptest_config(ProptestConfig { cases: 64, rng_seed: RngSeed::Fixed(20150301), ..ProptestConfig::default() })]

    /// Features that are cyclically shifted by whole cells move the peak by that shift, and the whole response with it.
    #[test]
    fn a_shift_of_hog_cells_moves_the_response(
        rows in 4usize..16, cols in 4usize..16, shift in (0usize..16, 0usize..16), kernel in kernels(), seed: u64,
    ) {
        let shift = (shift.0 % rows, shift.1 % cols);
        let patch = noise(16 * rows * cols, seed);
        let mut hog = Hog::new(4 * cols, 4 * rows, 4);
        let mut map = vec![0.0; rows * cols * hog::LANES];
        hog.extract(&patch, &vec![1.0; rows], &vec![1.0; cols], &mut map);
        let mut filter = filter(rows, cols, hog::CHANNELS, kernel);
        filter.input().copy_from_slice(&map);
        filter.learn(1.0);
        filter.input().copy_from_slice(&map);
        let still = filter.respond().to_vec();
        prop_assert_eq!(highest(&still, cols), (0, 0));
        filter.input().copy_from_slice(&rolled(&map, (rows, cols), hog::LANES, shift));
        let moved = filter.respond();
        prop_assert_eq!(highest(moved, cols), shift);
        for (a, b) in rolled(&still, (rows, cols), 1, shift).iter().zip(moved) {
            prop_assert!((a - b).abs() < 2e-2, "{} {}", a, b);
        }
    }

    /// A gray patch that is cyclically shifted by pixels does the same.
    #[test]
    fn a_shift_of_gray_pixels_moves_the_peak(
        rows in 5usize..40, cols in 5usize..40, shift in (0usize..40, 0usize..40), kernel in kernels(), seed: u64,
    ) {
        let shift = (shift.0 % rows, shift.1 % cols);
        let patch = noise(rows * cols, seed);
        let flat = Window { rows: vec![1.0; rows], cols: vec![1.0; cols] };
        let mut filter = filter(rows, cols, 1, kernel);
        Features::Gray.extract(&patch, &flat, filter.input());
        filter.learn(1.0);
        let moved = rolled(&patch, (rows, cols), 1, shift);
        Features::Gray.extract(&moved, &flat, filter.input());
        prop_assert_eq!(highest(filter.respond(), cols), shift);
    }

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
        // On whole pixels and of even size, so that a box has no half pixel to lose.
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
