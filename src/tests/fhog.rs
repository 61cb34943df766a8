//! HOG against the scalar reference.

use crate::features::hog::{CHANNELS, Hog, LANES};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg32;

use super::picture;
use super::reference::fhog;
use super::reference::hann;

/// Largest difference of two feature values; they are at most 0.4, the texture 0.85.
const TOLERANCE: f64 = 2e-5;

#[track_caller]
fn check(patch: &[u8], width: usize, height: usize, cell: usize, what: &str) {
    let (rows, cols) = (height / cell, width / cell);
    let expected = fhog(patch, width, height, cell);
    let mut hog = Hog::new(width, height, cell);
    assert_eq!((hog.rows(), hog.cols()), (rows, cols));
    for windowed in [false, true] {
        let window = |n: usize| -> Vec<f32> {
            (0..n).map(|i| if windowed && n > 1 { hann(i, n) as f32 } else { 1.0 }).collect()
        };
        let (row_window, col_window) = (window(rows), window(cols));
        let mut found = vec![f32::NAN; rows * cols * LANES];
        hog.extract(patch, &row_window, &col_window, &mut found);
        for (i, (found, expected)) in found.chunks_exact(LANES).zip(expected.chunks_exact(CHANNELS)).enumerate() {
            let (r, c) = (i / cols, i % cols);
            assert!(found[CHANNELS..].iter().all(|&v| v == 0.0), "{what}: the last lane is not zero");
            for k in 0..CHANNELS {
                let expected = expected[k] * f64::from(row_window[r]) * f64::from(col_window[c]);
                let found = f64::from(found[k]);
                assert!(
                    (found - expected).abs() <= TOLERANCE,
                    "{what}, {width}x{height} cell {cell}, row {r} column {c} channel {k}: {found} instead of \
                     {expected}"
                );
            }
        }
    }
}

fn noise(width: usize, height: usize, levels: u8, seed: u64) -> Vec<u8> {
    let mut rng = Pcg32::seed_from_u64(seed);
    (0..width * height).map(|_| rng.random_range(0..=levels)).collect()
}

/// Whole cells and leftovers, cells of 2, 4, 8 and odd ones.
const SHAPES: [(usize, usize, usize); 14] = [
    (40, 32, 4),
    (41, 32, 4),
    (42, 33, 4),
    (43, 35, 4),
    (40, 34, 4),
    (24, 18, 2),
    (25, 17, 2),
    (64, 48, 8),
    (71, 55, 8),
    (65, 50, 8),
    (20, 15, 5),
    (33, 31, 3),
    (12, 12, 1),
    (37, 29, 6),
];

/// Every width around the block sizes of pixels, gaps and cells.
#[test]
fn every_width() {
    for cell in 1..=5 {
        for width in cell..=40 {
            let height = 2 * cell + 1;
            check(&noise(width, height, 255, width as u64), width, height, cell, "noise");
        }
    }
}

#[test]
fn random_patches() {
    for ((width, height, cell), seed) in SHAPES.into_iter().zip(0..) {
        // Few levels make many exact ties of orientation and many zero gradients.
        for levels in [1, 3, 20, 255] {
            check(&noise(width, height, levels, seed), width, height, cell, &format!("noise of {levels}"));
        }
    }
}

#[test]
fn patches_of_pictures() {
    for ((width, height, cell), seed) in SHAPES.into_iter().zip(0..) {
        check(&picture(width, height, seed), width, height, cell, "picture");
    }
}

#[test]
fn constant_patches_have_no_features() {
    for (width, height, cell) in SHAPES {
        for level in [0, 128, 255] {
            check(&vec![level; width * height], width, height, cell, "constant");
        }
    }
    let mut found = vec![1.0; 9 * LANES];
    Hog::new(12, 12, 4).extract(&[77; 144], &[1.0; 3], &[1.0; 3], &mut found);
    assert!(found.iter().all(|&v| v == 0.0));
}

#[test]
fn edges_and_ramps() {
    let (width, height) = (30, 26);
    let draw = |level: &dyn Fn(f64, f64) -> f64| -> Vec<u8> {
        let at = |i: usize| level((i % width) as f64, (i / width) as f64).clamp(0.0, 255.0) as u8;
        (0..width * height).map(at).collect()
    };
    for step in 0..36 {
        let (sin, cos) = (f64::from(step) * 10.0).to_radians().sin_cos();
        let along = |x: f64, y: f64| (x - 14.5) * cos + (y - 12.5) * sin;
        let edge = draw(&|x, y| if along(x, y) > 0.0 { 200.0 } else { 30.0 });
        let ramp = draw(&|x, y| 128.0 + 6.0 * along(x, y));
        for cell in [2, 4, 8] {
            check(&edge, width, height, cell, &format!("edge at {} degrees", step * 10));
            check(&ramp, width, height, cell, &format!("ramp at {} degrees", step * 10));
        }
    }
    // Single bright lines and points, at the border as well.
    for place in [0, 1, 13, 28, 29] {
        check(&draw(&|x, _| if x as usize == place { 255.0 } else { 0.0 }), width, height, 4, "column");
        check(&draw(&|_, y| if y as usize == place { 255.0 } else { 0.0 }), width, height, 4, "row");
        check(&draw(&|x, y| if (x + y) as usize == place { 255.0 } else { 0.0 }), width, height, 4, "diagonal");
    }
}

#[test]
fn grids_of_one_row_or_column() {
    for cell in [2, 4, 8] {
        for long in [cell, 2 * cell, 7 * cell + 1] {
            for levels in [3, 255] {
                check(&noise(long, cell, levels, 1), long, cell, cell, "one row");
                check(&noise(cell, long, levels, 2), cell, long, cell, "one column");
                check(&noise(cell + 1, long, levels, 3), cell + 1, long, cell, "one column and a leftover");
            }
        }
    }
    // A cell of one pixel has no gradient at all.
    check(&[9], 1, 1, 1, "one pixel");
    check(&[9, 200, 3], 3, 1, 1, "three pixels");
}

/// A reused extractor agrees with a new one.
#[test]
fn a_reused_extractor_agrees_with_a_new_one() {
    let (width, height) = (37, 26);
    let ones = ([1.0; 6], [1.0; 9]);
    let mut hog = Hog::new(width, height, 4);
    let extract = |hog: &mut Hog, patch: &[u8]| {
        let mut out = vec![f32::NAN; 6 * 9 * LANES];
        hog.extract(patch, &ones.0, &ones.1, &mut out);
        out
    };
    let patches: Vec<_> = (0..4).map(|seed| noise(width, height, 255, seed)).chain([vec![5; width * height]]).collect();
    for patch in patches.iter().chain(patches.iter().rev()) {
        assert_eq!(extract(&mut hog, patch), extract(&mut Hog::new(width, height, 4), patch));
    }
}
