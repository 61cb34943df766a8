//! Each equation of the tracker against a dense, slow version in double precision ([`reference`]), and properties of
//! whole trackers.

mod fhog;
mod kcf;
mod properties;
mod reference;
#[path = "../../tests/support/scene.rs"]
mod scene;
mod simd_levels;

use crate::kernels::Kernel;
use crate::synth::{Preset, Scene};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg32;

use self::reference::Size;
use self::reference::hann;
use self::scene::gray_of;

/// The kernels of the paper with its own parameters for HOG and for gray values.
const KERNELS: [Kernel; 5] = [
    Kernel::Linear,
    Kernel::Gaussian { sigma: 0.5 },
    Kernel::Gaussian { sigma: 0.2 },
    Kernel::Polynomial { a: 1.0, b: 9 },
    Kernel::Polynomial { a: 1.0, b: 7 },
];

/// Floats per cell in the library: one, or 32.
fn stride(size: Size) -> usize {
    if size.channels == 1 { 1 } else { 32 }
}

/// Writes a map to the library's memory, which pads cells of many channels to 32 floats.
fn write(size: Size, map: &[f64], out: &mut [f32]) {
    let stride = stride(size);
    assert_eq!(out.len(), size.cells() * stride);
    out.fill(0.0);
    for (cell, out) in map.chunks_exact(size.channels).zip(out.chunks_exact_mut(stride)) {
        cell.iter().zip(out).for_each(|(v, out)| *out = *v as f32);
    }
}

fn random(size: Size, seed: u64) -> Vec<f64> {
    let mut rng = Pcg32::seed_from_u64(seed);
    // Exact in single precision, so both sides have the same input.
    (0..size.len()).map(|_| f64::from(rng.random_range(-0.5..0.5f32))).collect()
}

/// Windowed features of a picture: HOG for 31 channels, gray for one.
fn real_looking(size: Size, seed: u64) -> Vec<f64> {
    let cell = if size.channels == 1 { 1 } else { 4 };
    let (width, height) = (size.cols * cell, size.rows * cell);
    let patch = picture(width, height, seed);
    let features = if size.channels == 1 {
        let mean = patch.iter().map(|&v| f64::from(v)).sum::<f64>() / patch.len() as f64;
        patch.iter().map(|&v| (f64::from(v) - mean) / 255.0).collect()
    } else {
        reference::fhog(&patch, width, height, cell)
    };
    let tapered = features.iter().enumerate().map(|(i, v)| {
        let at = i / size.channels;
        f64::from((v * hann(at / size.cols, size.rows) * hann(at % size.cols, size.cols)) as f32)
    });
    tapered.collect()
}

/// A patch of a rendered scene, at another place for each seed.
fn picture(width: usize, height: usize, seed: u64) -> Vec<u8> {
    let frame = Scene::new(Preset::Medium.params()).unwrap().render(seed as usize % 9).0;
    let gray = gray_of(&frame);
    let (w, h) = (frame.width() as usize, frame.height() as usize);
    let (left, top) = ((seed as usize * 37) % (w - width + 1), (seed as usize * 23) % (h - height + 1));
    (0..height).flat_map(|y| gray[(top + y) * w + left..][..width].to_vec()).collect()
}

/// Fails when any value differs by more than `tolerance` times the largest expected magnitude.
#[track_caller]
fn assert_close(found: &[f32], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let scale = expected.iter().fold(0.0, |scale, v| f64::max(scale, v.abs())).max(1e-6);
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        let error = (f64::from(*found) - expected).abs() / scale;
        assert!(error <= tolerance, "{what}, value {i}: {found} instead of {expected}, {error:e} of {scale}");
    }
}
