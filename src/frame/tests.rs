mod resample;

use proptest::prelude::*;

use super::patch::{TAPS, filtered, half_size};
use super::*;
use crate::simd::tests::assert_same_on_all_levels;

#[test]
fn layout_is_checked_once() {
    assert!(Frame::gray(&[], 0, 4).is_err());
    assert!(Frame::gray(&[0; 11], 3, 4).is_err());
    assert!(Frame::gray(&[0; 12], 3, 4).is_ok());
    assert!(Frame::new(&[0; 100], 4, 2, 3, PixelFormat::Gray8).is_err());
    assert!(Frame::new(&[0; 100], usize::MAX, 2, 3, PixelFormat::Rgb8).is_err());
    // The last row need not be padded to the stride.
    assert!(Frame::new(&[0; 13], 3, 2, 10, PixelFormat::Gray8).is_ok());
}

#[test]
fn gray_is_rgb2gray_in_every_byte_order() {
    assert_eq!(luma(255, 255, 255), 255);
    assert_eq!(luma(0, 0, 0), 0);
    // 0.298936*200 + 0.587043*100 + 0.114021*50 = 124.19
    assert_eq!(luma(200, 100, 50), 124);
    let bgra = [50, 100, 200, 7];
    let frame = Frame::new(&bgra, 1, 1, 4, PixelFormat::Bgra8).unwrap();
    assert_eq!(frame.gray_at(0, 0), 124);
}

proptest! {
    #[test]
    fn every_patch_equals_clamped_indexing(
        (w, h) in (1usize..9, 1usize..9), left in -20i64..20, top in -20i64..20, pw in 1usize..24, ph in 1usize..24,
    ) {
        let rgb: Vec<u8> = (0..w * h * 3).map(|i| (i * 37 % 251) as u8).collect();
        let gray: Vec<u8> = (0..w * h).map(|i| (i * 53 % 251) as u8).collect();
        for frame in [Frame::rgb(&rgb, w, h).unwrap(), Frame::gray(&gray, w, h).unwrap()] {
            let rect = PatchRect { left, top, width: pw, height: ph };
            let mut out = vec![0; pw * ph];
            sample(&frame, rect, &mut out);
            for y in 0..ph {
                for x in 0..pw {
                    let sx = (left + x as i64).clamp(0, w as i64 - 1) as usize;
                    let sy = (top + y as i64).clamp(0, h as i64 - 1) as usize;
                    prop_assert_eq!(out[y * pw + x], frame.gray_at(sx, sy));
                }
            }
        }
    }
}

#[test]
fn far_away_patches_do_not_overflow() {
    let frame = Frame::gray(&[7, 9], 2, 1).unwrap();
    let mut out = [0; 6];
    sample(&frame, PatchRect { left: i64::MAX - 1, top: i64::MIN, width: 3, height: 2 }, &mut out);
    assert_eq!(out, [9; 6]);
    sample(&frame, PatchRect { left: i64::MIN, top: i64::MAX, width: 3, height: 2 }, &mut out);
    assert_eq!(out, [7; 6]);
}

/// `imresize(picture, 0.5)` as MATLAB documents it: general weights, one dimension after the other.
fn imresize_half(picture: &[u8], w: usize, h: usize) -> (Vec<u8>, usize, usize) {
    let cubic = |x: f64| {
        let x = x.abs();
        if x <= 1.0 {
            1.5 * x.powi(3) - 2.5 * x * x + 1.0
        } else if x <= 2.0 {
            -0.5 * x.powi(3) + 2.5 * x * x - 4.0 * x + 2.0
        } else {
            0.0
        }
    };
    let shrink = |line: Vec<u8>| -> Vec<u8> {
        let n = line.len() as i64;
        (1..=(n + 1) / 2)
            .map(|x| {
                let u = x as f64 / 0.5 + 0.5 * (1.0 - 1.0 / 0.5);
                let left = (u - 4.0).floor() as i64;
                let (mut sum, mut total) = (0.0, 0.0);
                for i in left..left + 10 {
                    let weight = 0.5 * cubic(0.5 * (u - i as f64));
                    let k = (i - 1).rem_euclid(2 * n);
                    sum += weight * f64::from(line[(if k < n { k } else { 2 * n - 1 - k }) as usize]);
                    total += weight;
                }
                (sum / total + 0.5).floor().clamp(0.0, 255.0) as u8
            })
            .collect()
    };
    let (hw, hh) = (w.div_ceil(2), h.div_ceil(2));
    let columns: Vec<Vec<u8>> = (0..w).map(|x| shrink((0..h).map(|y| picture[y * w + x]).collect())).collect();
    let mut out = Vec::new();
    for y in 0..hh {
        out.extend(shrink(columns.iter().map(|c| c[y]).collect()));
    }
    (out, hw, hh)
}

#[test]
fn sums_beyond_an_8_bit_picture_are_cut_off_there() {
    for outer in [[0; 4], [0, 0, 255, 255], [255, 255, 0, 0], [255; 4], [17, 200, 3, 90], [128, 127, 255, 0]] {
        let [a, b, c, d] = outer;
        for (e, f) in (0..=255).flat_map(|e| [(e, e), (e, 255 - e), (e, 255), (0, e)]) {
            let values = [a, b, c, e, f, c, d, a];
            let sum: i32 = values.iter().zip(TAPS).map(|(&value, tap)| i32::from(value) * i32::from(tap)).sum();
            assert_eq!(i32::from(filtered(values)), ((sum + 128) >> 8).clamp(0, 255), "{values:?}");
        }
    }
}

#[test]
fn patches_are_the_same_on_all_levels() {
    let picture: Vec<u8> = (0..150 * 90).map(|i| (i * (i + 13) % 256) as u8).collect();
    let frame = Frame::gray(&picture, 150, 90).unwrap();
    for (width, height) in [(7, 3), (32, 5), (33, 5), (60, 40), (90, 50)] {
        let rect = PatchRect { left: -4, top: -3, width, height };
        assert_same_on_all_levels(&format!("{width}x{height}"), || {
            let mut patch = vec![0; width * height];
            HalfSampler::new(width, height).sample(&frame, rect, &mut patch);
            patch
        });
    }
}

proptest! {
    #[test]
    fn patches_equal_those_of_the_shrunk_picture(
        (w, h) in (1usize..30, 1usize..30), seed in 0usize..1000,
        left in -12i64..20, top in -12i64..20, pw in 1usize..80, ph in 1usize..24,
    ) {
        let picture: Vec<u8> = (0..w * h).map(|i| ((i + seed) * (i + 7 * seed + 13) % 256) as u8).collect();
        let frame = Frame::gray(&picture, w, h).unwrap();
        let (small, sw, sh) = imresize_half(&picture, w, h);
        prop_assert_eq!(half_size(&frame), (sw, sh));
        let rect = PatchRect { left, top, width: pw, height: ph };
        let (mut expected, mut got) = (vec![0; pw * ph], vec![0; pw * ph]);
        sample(&Frame::gray(&small, sw, sh).unwrap(), rect, &mut expected);
        HalfSampler::new(pw, ph).sample(&frame, rect, &mut got);
        prop_assert_eq!(got, expected);
    }
}
