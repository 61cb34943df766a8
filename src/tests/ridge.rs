//! The filter against kernel ridge regression on all cyclic shifts, solved as the full linear system.

use crate::features::gaussian_labels;
use crate::filters::kcf::Kcf;
use crate::kernels::Kernel;
use nalgebra::{DMatrix, DVector};

use super::reference::{ReferenceKcf, Size, kernel};
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

/// The published target, and one without any symmetry: that finds a spectrum that is conjugated or mirrored.
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
