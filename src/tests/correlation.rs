//! Kernel correlation against the kernel evaluated on every cyclic shift.

use crate::fft::MapPlan;
use crate::kernels::Kernel;
use crate::kernels::correlation::KernelCorrelator;
use crate::profile::Stopwatch;
use rustfft::num_complex::Complex32;

use super::reference::{Size, kernel_correlation};
use super::{KERNELS, assert_close, random, real_looking, write};

/// `k^zx` by the library, back in space.
fn by_library(kind: Kernel, size: Size, z: &[f64], x: &[f64]) -> Vec<f32> {
    let plan = MapPlan::new(size.rows, size.cols, size.channels);
    let mut scratch = plan.scratch();
    let [z, x] = [z, x].map(|values| {
        let mut map = plan.map();
        write(size, values, map.values_mut());
        plan.transform(&mut map, &mut scratch);
        map
    });
    let mut spectrum = vec![Complex32::default(); plan.half_len()];
    let mut correlator = KernelCorrelator::new(kind, &plan, size.channels);
    // The energy of the model is known beforehand: that of its own correlation pass.
    let xx = plan.cross_power(&x, &x, &mut spectrum, &mut scratch);
    correlator.correlate(&plan, &z, &x, Some(xx), &mut spectrum, &mut scratch, &mut Stopwatch::default());
    let mut out = vec![0.0; size.cells()];
    plan.inverse(&spectrum, &mut out, &mut scratch);
    out.iter().map(|v| v / size.cells() as f32).collect()
}

fn sizes() -> impl Iterator<Item = Size> {
    let cells = [(5, 6), (7, 4), (8, 8), (9, 5), (3, 11), (10, 3), (13, 7)];
    cells.into_iter().flat_map(|(rows, cols)| [1, 3, 31].map(|channels| Size { rows, cols, channels }))
}

#[test]
fn random_maps() {
    for (size, seed) in sizes().zip(1..) {
        let (z, x) = (random(size, seed), random(size, 1000 + seed));
        for kind in KERNELS {
            let what = format!("{kind:?} {size:?}");
            // A high power of the product magnifies its rounding.
            assert_close(&by_library(kind, size, &z, &x), &kernel_correlation(kind, size, &z, &x), 1e-5, &what);
            assert_close(&by_library(kind, size, &x, &x), &kernel_correlation(kind, size, &x, &x), 1e-5, &what);
        }
    }
}

#[test]
fn features_of_pictures() {
    for (rows, cols) in [(12, 9), (7, 15), (11, 11)] {
        for channels in [1, 31] {
            let size = Size { rows, cols, channels };
            let (z, x) = (real_looking(size, 3), real_looking(size, 4));
            for kind in KERNELS {
                let what = format!("{kind:?} {size:?}");
                assert_close(&by_library(kind, size, &z, &x), &kernel_correlation(kind, size, &z, &x), 1e-5, &what);
            }
        }
    }
}

/// A sample is at no distance from itself, and the correlation of a shifted copy is the shifted correlation.
#[test]
fn a_shift_moves_the_correlation() {
    let size = Size { rows: 7, cols: 6, channels: 31 };
    let x = random(size, 5);
    // `x` moved down by 2 and right by 5.
    let z = size.shifted(&x, 7 - 2, 6 - 5);
    let k = by_library(Kernel::Gaussian { sigma: 0.5 }, size, &z, &x);
    assert!((k[2 * 6 + 5] - 1.0).abs() < 1e-5);
    let others = k.iter().enumerate().filter(|&(i, _)| i != 2 * 6 + 5);
    assert!(others.map(|(_, v)| *v).fold(0.0, f32::max) < 0.9);
}
