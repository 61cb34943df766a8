//! Whole detection and learning steps against the published algorithm in double precision.

use crate::synth::SceneParams;
use crate::{BBox, Params, Tracker};

use super::reference::{Picture, ReferenceTracker};
use super::scene::{Clip, paper_presets};

/// Tracks a clip both ways and compares boxes, and responses at their peaks.
fn compare(name: &str, params: &Params, clip: &Clip, initial: BBox) {
    let picture = |i: usize| Picture { pixels: clip.gray[i].clone(), width: clip.width, height: clip.height };
    let mut tracker = Tracker::new(params.clone()).unwrap();
    tracker.init(clip.gray(0), initial).unwrap();
    let mut reference = ReferenceTracker::new(params, &picture(0), initial);
    for i in 1..clip.gray.len() {
        let expected = reference.update(&picture(i));
        let found = tracker.update(clip.gray(i)).unwrap();
        assert_eq!(found.bbox, expected, "{name}, {initial}, frame {i}");
        let values: Vec<_> = tracker.response().unwrap().values.iter().copied().collect();
        let worst = values.iter().zip(&reference.response).map(|(a, b)| (f64::from(*a) - b).abs()).fold(0.0, f64::max);
        // The model of single precision drifts from that of double precision by this much of a peak of about 1.
        assert!(worst < 0.02, "{name}, {initial}, frame {i}: the responses differ by {worst}");
    }
}

fn clip(width: u32, height: u32, frames: usize) -> Clip {
    Clip::render(SceneParams {
        frames,
        width: 150,
        height: 110,
        target_width: width,
        target_height: height,
        motion: 5.0,
        rotation: 10.0,
        illumination: 0.3,
        noise: 2.0,
        ..SceneParams::default()
    })
}

/// Targets whose windows have odd and even numbers of cells, and odd and even sides.
#[test]
fn hog_at_all_parities_of_the_window() {
    for (width, height) in [(24, 32), (25, 33), (27, 30), (30, 23)] {
        let clip = clip(width, height, 12);
        for (name, params) in paper_presets().filter(|(name, _)| !name.contains("gray")) {
            compare(name, &params, &clip, clip.initial());
        }
    }
}

#[test]
fn gray_at_all_parities_of_the_window() {
    for (width, height) in [(10, 12), (11, 9)] {
        let clip = clip(width, height, 6);
        for (name, params) in paper_presets().filter(|(name, _)| name.contains("gray")) {
            compare(name, &params, &clip, clip.initial());
        }
    }
}

#[test]
fn half_size_frames() {
    for (width, height) in [(50, 44), (47, 51)] {
        let clip = clip(width, height, 8);
        let params = super::scene::half_from(&Params::paper(), 40.0);
        compare("half size", &params, &clip, clip.initial());
    }
}

#[test]
fn a_window_over_the_border() {
    let clip = clip(26, 34, 8);
    for corner in [(-9.0, -12.0), (136.0, 95.0), (-5.0, 90.0)] {
        compare("border", &Params::paper(), &clip, BBox::new(corner.0, corner.1, 26.0, 34.0));
    }
}

/// Jumps almost as far as the window reaches, so that peaks lie on both sides of where they wrap.
#[test]
fn far_jumps_wrap() {
    let scene = clip(24, 24, 1);
    let (w, h) = (scene.width as i64, scene.height as i64);
    let initial = scene.initial();
    for size in [(24.0, 24.0), (27.0, 30.0)] {
        for (dx, dy) in [(12, 0), (-12, 0), (0, 12), (0, -12), (16, -16), (-28, 20), (28, 28), (31, 5)] {
            let moved: Vec<u8> = (0..h * w)
                .map(|i| {
                    let (x, y) = ((i % w - dx).rem_euclid(w), (i / w - dy).rem_euclid(h));
                    scene.gray[0][(y * w + x) as usize]
                })
                .collect();
            let gray = vec![scene.gray[0].clone(), moved, scene.gray[0].clone()];
            let clip = Clip { colour: Vec::new(), gray, truth: Vec::new(), width: scene.width, height: scene.height };
            compare("jump", &Params::paper(), &clip, BBox::new(initial.x, initial.y, size.0, size.1));
        }
    }
}
