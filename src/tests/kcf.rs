//! The filter against kernel ridge regression on all cyclic shifts, solved as the full linear system, and whole detection
//! and learning steps against the published algorithm in double precision.

use crate::features::gaussian_labels;
use crate::filters::kcf::Kcf;
use crate::kernels::Kernel;
use crate::synth::SceneParams;
use crate::{BBox, Params, Tracker};
use nalgebra::{DMatrix, DVector};

use super::reference::{Picture, ReferenceKcf, ReferenceTracker, Size, kernel};
use super::scene::{Clip, paper_presets};
use super::{KERNELS, assert_close, random, real_looking, write};

const LAMBDA: f64 = 1e-4;

fn filter(size: Size, kind: Kernel, lambda: f64, target: &[f64]) -> Kcf {
    Kcf::new(size.rows, size.cols, size.channels, kind, lambda, &target.iter().map(|&v| v as f32).collect::<Vec<_>>())
}

fn learn(filter: &mut Kcf, size: Size, x: &[f64], rate: f64) {
    write(size, x, filter.input());
    filter.learn(rate);
}

fn respond(filter: &mut Kcf, size: Size, z: &[f64]) -> Vec<f32> {
    write(size, z, filter.input());
    filter.respond().to_vec()
}

/// The published target, and a target without any symmetry, which reveals a conjugated or mirrored spectrum.
fn targets(size: Size) -> [Vec<f64>; 2] {
    let gauss = gaussian_labels(size.rows, size.cols, 0.8).into_iter().map(f64::from).collect();
    [gauss, random(Size { channels: 1, ..size }, 99)]
}

/// Solves `(K + lambda I) alpha = y` for the matrix `K` of all shifts of `x`.
fn solve(size: Size, kind: Kernel, lambda: f64, x: &[f64], y: &[f64]) -> DVector<f64> {
    let n = size.cells();
    let shifts: Vec<_> = (0..n).map(|i| size.shift(x, i)).collect();
    let mut gram = DMatrix::from_fn(n, n, |i, j| kernel(kind, &shifts[i], &shifts[j]));
    (0..n).for_each(|i| gram[(i, i)] += lambda);
    gram.lu().solve(&DVector::from_column_slice(y)).unwrap()
}

/// `f(z_i) = sum_j alpha_j κ(z_i, x_j)` for all shifts of both.
fn expand(size: Size, kind: Kernel, alpha: &DVector<f64>, x: &[f64], z: &[f64]) -> Vec<f64> {
    let shifts: Vec<_> = (0..size.cells()).map(|j| size.shift(x, j)).collect();
    (0..size.cells())
        .map(|i| {
            let z = size.shift(z, i);
            shifts.iter().zip(alpha.iter()).map(|(x, alpha)| alpha * kernel(kind, &z, x)).sum()
        })
        .collect()
}

#[test]
fn one_sample_is_the_full_linear_system() {
    for (rows, cols) in [(5, 6), (7, 4), (6, 6), (5, 7), (3, 8)] {
        for channels in [1, 31] {
            let size = Size { rows, cols, channels };
            let maps = [(random(size, 1), random(size, 2)), (real_looking(size, 3), real_looking(size, 5))];
            for (kind, (x, z), y) in KERNELS.into_iter().flat_map(|kind| {
                let maps = maps.clone();
                maps.into_iter().flat_map(move |maps| targets(size).map(|y| (kind, maps.clone(), y)))
            }) {
                // The regularisation of the paper, and one that weighs as much as the kernel.
                for lambda in [LAMBDA, 0.1] {
                    let alpha = solve(size, kind, lambda, &x, &y);
                    let mut filter = filter(size, kind, lambda, &y);
                    learn(&mut filter, size, &x, 0.3);
                    let what = format!("{kind:?} {size:?} lambda {lambda}");
                    let expected = expand(size, kind, &alpha, &x, &z);
                    // Single precision leaves errors of the kernel values near 1e-7 of the largest, which division by
                    // a small regularisation magnifies. A wrong formula is wrong by its whole size.
                    let tolerance = if lambda < 0.01 { 0.05 } else { 1e-3 };
                    assert_close(&respond(&mut filter, size, &z), &expected, tolerance, &what);
                }
            }
        }
    }
}

#[test]
fn alpha_and_appearance_are_interpolated_separately() {
    for (rows, cols) in [(5, 6), (7, 5)] {
        for channels in [1, 31] {
            let size = Size { rows, cols, channels };
            for (kind, y) in KERNELS.into_iter().flat_map(|kind| targets(size).map(|y| (kind, y))) {
                let mut reference = ReferenceKcf::new(size, kind, 0.01, y.clone());
                let mut filter = filter(size, kind, 0.01, &y);
                for (step, rate) in [0.02, 0.075, 0.3, 0.0, 1.0, 0.02].into_iter().enumerate() {
                    let x = random(size, step as u64);
                    reference.learn(&x, rate);
                    learn(&mut filter, size, &x, rate);
                    let z = random(size, 100 + step as u64);
                    let what = format!("{kind:?} {size:?} step {step}");
                    assert_close(&respond(&mut filter, size, &z), &reference.respond(&z), 5e-4, &what);
                }
            }
        }
    }
}

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
