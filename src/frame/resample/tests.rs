//! The resampler against sums in `f64` over every pixel of the frame, and against itself where two ways must agree.

use super::*;
use crate::frame::{Channels, Frame, PixelFormat, luma};
use proptest::prelude::*;

const FORMATS: [PixelFormat; 5] =
    [PixelFormat::Gray8, PixelFormat::Rgb8, PixelFormat::Bgr8, PixelFormat::Rgba8, PixelFormat::Bgra8];

/// A frame's bytes: every pixel differs from its neighbours, rows end with bytes that belong to no pixel.
struct Picture {
    bytes: Vec<u8>,
    size: (usize, usize),
    format: PixelFormat,
}

impl Picture {
    const GAP: usize = 5;

    fn new(w: usize, h: usize, format: PixelFormat, seed: usize) -> Self {
        let row = w * format.bytes() + Self::GAP;
        let bytes = (0..row * h).map(|i| ((i + seed) * (i % 977 + 31 * seed + 7) % 256) as u8).collect();
        Self { bytes, size: (w, h), format }
    }

    fn frame(&self) -> Frame<'_> {
        let stride = self.size.0 * self.format.bytes() + Self::GAP;
        Frame::new(&self.bytes, self.size.0, self.size.1, stride, self.format).unwrap()
    }

    /// Value `c` of pixel (x, y) of the frame, with a replicated border.
    fn value(&self, x: i64, y: i64, c: usize, channels: Channels) -> f64 {
        let x = x.clamp(0, self.size.0 as i64 - 1) as usize;
        let y = y.clamp(0, self.size.1 as i64 - 1) as usize;
        let stride = self.size.0 * self.format.bytes() + Self::GAP;
        let p = &self.bytes[y * stride + x * self.format.bytes()..];
        let rgb = match self.format {
            PixelFormat::Gray8 => [p[0], p[0], p[0], 0],
            PixelFormat::Rgb8 | PixelFormat::Rgba8 => [p[0], p[1], p[2], 0],
            PixelFormat::Bgr8 | PixelFormat::Bgra8 => [p[2], p[1], p[0], 0],
        };
        f64::from(if channels == Channels::Luma { luma(rgb[0], rgb[1], rgb[2]) } else { rgb[c] })
    }
}

/// Pixels of the frame and their exact weights in one direction: the mean over `scale` pixels from `start` on, or over
/// one pixel around the middle of a smaller pixel.
fn weights(start: f64, scale: f64) -> Vec<(i64, f64)> {
    let width = scale.max(1.0);
    let start = start + 0.5 * (scale - width);
    let end = start + width;
    let shares = (start.floor() as i64..=end.floor() as i64)
        .map(|x| (x, (end.min(x as f64 + 1.0) - start.max(x as f64)).max(0.0) / width));
    shares.collect()
}

fn exact(picture: &Picture, region: Region, (w, h): (usize, usize), channels: Channels) -> Vec<f64> {
    let corner = |center: f64, len: usize, scale: f64| center - 0.5 * len as f64 * scale;
    let (left, top) = (corner(region.center.0, w, region.scale.0), corner(region.center.1, h, region.scale.1));
    let mut out = Vec::new();
    for j in 0..h {
        let rows = weights(top + j as f64 * region.scale.1, region.scale.1);
        for i in 0..w {
            let columns = weights(left + i as f64 * region.scale.0, region.scale.0);
            for c in 0..channels.bytes() {
                let row = |y: i64| columns.iter().map(|&(x, v)| v * picture.value(x, y, c, channels)).sum::<f64>();
                out.push(rows.iter().map(|&(y, v)| v * row(y)).sum());
            }
        }
    }
    out
}

/// The error of two roundings of values and one of each weight to 1/256.
fn tolerance(scale: f64) -> f64 {
    // A share is wrong by half a 256th at most, at each of the borders between the pixels of a sum.
    let borders = scale.max(1.0).ceil() + 1.0;
    1.0 + 2.0 * borders * 0.5 * 255.0 / 256.0
}

/// A picture that is linear in x and y, so that every mean over an area is the value at its middle.
fn ramp(size: (usize, usize), slope: (f64, f64)) -> (Vec<u8>, impl Fn(f64, f64) -> f64) {
    let value = move |x: f64, y: f64| 128.0 + slope.0 * (x - 0.5 * size.0 as f64) + slope.1 * (y - 0.5 * size.1 as f64);
    let pixel = |i: usize| value((i % size.0) as f64 + 0.5, (i / size.0) as f64 + 0.5).round().clamp(0.0, 255.0) as u8;
    ((0..size.0 * size.1).map(pixel).collect(), value)
}

/// The point of the frame that the middle of pixel (i, j) of a patch shows.
fn point(region: Region, size: (usize, usize), i: usize, j: usize) -> (f64, f64) {
    let u = (i as f64 + 0.5 - 0.5 * size.0 as f64) * region.scale.0;
    let v = (j as f64 + 0.5 - 0.5 * size.1 as f64) * region.scale.1;
    let (sin, cos) = region.angle.sin_cos();
    (region.center.0 + u * cos - v * sin, region.center.1 + u * sin + v * cos)
}

fn cut(picture: &Picture, region: Region, size: (usize, usize), channels: Channels) -> Vec<u8> {
    let mut resampler = Resampler::new(size.0, size.1, channels);
    let mut out = vec![0; size.0 * size.1 * channels.bytes()];
    resampler.cut(&picture.frame(), region, &mut out);
    out
}

proptest! {
    #[test]
    fn upright_patches_are_means_or_interpolated(
        (w, h) in (1usize..40, 1usize..30), format in 0usize..5, seed in 0usize..100, color: bool,
        center in (-20.0f64..60.0, -20.0f64..50.0), scale in (0.2f64..6.0, 0.2f64..6.0), even: bool,
        size in (1usize..14, 1usize..12),
    ) {
        let picture = Picture::new(w, h, FORMATS[format], seed);
        let channels = if color { Channels::Color } else { Channels::Luma };
        let scale = if even { (scale.0, scale.0) } else { scale };
        let region = Region { center, scale, angle: 0.0 };
        let got = cut(&picture, region, size, channels);
        let expected = exact(&picture, region, size, channels);
        let got_len = got.len() as f64;
        let (mut bias, bound) = (0.0f64, tolerance(scale.0).max(tolerance(scale.1)));
        for (&got, &expected) in got.iter().zip(&expected) {
            prop_assert!((f64::from(got) - expected).abs() <= bound, "{got} for {expected}");
            bias += (f64::from(got) - expected) / got_len;
        }
        prop_assert!(got.len() == expected.len() && bias.abs() < bound / 2.0);
    }

    /// At a whole corner, to the last bit: shares in whole 256ths, rounded as sums from the left, each direction
    /// rounded to bytes.
    #[test]
    fn weights_are_whole_256ths(
        scale in 1.0f64..24.0, (w, h) in (1usize..12, 1usize..12), left in -40i64..60, top in -40i64..60,
        format in 0usize..5, (fw, fh) in (1usize..130, 1usize..40), color: bool,
    ) {
        // Every pixel of a line and its weight, borders repeated.
        let weights = |i: usize| -> Vec<(i64, u32)> {
            let (start, end) = (i as f64 * scale, (i + 1) as f64 * scale);
            let share = |x: i64| (256.0 * ((x as f64).clamp(start, end) - start) / (end - start)).round() as u32;
            (start.floor() as i64..end.ceil() as i64).map(|x| (x, share(x + 1) - share(x))).collect()
        };
        let mean = |values: &mut dyn Iterator<Item = (f64, u32)>| {
            (values.map(|(v, weight)| v as u32 * weight).sum::<u32>() + 128) >> 8
        };
        let channels = if color { Channels::Color } else { Channels::Luma };
        let mut resampler = Resampler::new(w, h, channels);
        let mut out = vec![0; w * h * channels.bytes()];
        // A second frame is independent of the first.
        for seed in [3, 4] {
            let picture = Picture::new(fw, fh, FORMATS[format], seed);
            resampler.cut_from(&picture.frame(), (left as f64, top as f64), scale, &mut out);
            for (i, &got) in out.iter().enumerate() {
                let (n, c) = (i / channels.bytes(), i % channels.bytes());
                let rows = weights(n / w);
                let column = |x: i64| {
                    let value = |y: i64| picture.value(left + x, top + y, c, channels);
                    f64::from(mean(&mut rows.iter().map(|&(y, weight)| (value(y), weight))))
                };
                let expected = mean(&mut weights(n % w).iter().map(|&(x, weight)| (column(x), weight)));
                prop_assert_eq!(u32::from(got), expected);
            }
        }
    }

    /// At scales up to 1 a turned patch interpolates between the four nearest pixels.
    #[test]
    fn turned_patches_interpolate(
        (w, h) in (1usize..40, 1usize..30), format in 0usize..5, color: bool, angle in -7.0f64..7.0,
        center in (-9.0f64..50.0, -9.0f64..40.0), scale in (0.2f64..1.0, 0.2f64..1.0), size in (1usize..14, 1usize..12),
    ) {
        let picture = Picture::new(w, h, FORMATS[format], 5);
        let channels = if color { Channels::Color } else { Channels::Luma };
        let region = Region { center, scale, angle };
        let got = cut(&picture, region, size, channels);
        for (n, &got) in got.iter().enumerate() {
            let (pixel, c) = (n / channels.bytes(), n % channels.bytes());
            let (x, y) = point(region, size, pixel % size.0, pixel / size.0);
            let (x, y) = (x - 0.5, y - 0.5);
            let at = |dx: i64, dy: i64| picture.value(x.floor() as i64 + dx, y.floor() as i64 + dy, c, channels);
            let (fx, fy) = (x - x.floor(), y - y.floor());
            let upper = (1.0 - fx) * at(0, 0) + fx * at(1, 0);
            let expected = (1.0 - fy) * upper + fy * ((1.0 - fx) * at(0, 1) + fx * at(1, 1));
            // Fractions are cut to 256ths, in both directions.
            prop_assert!((f64::from(got) - expected).abs() <= 0.5 + 2.0, "{got} for {expected}");
        }
    }

    /// At every scale and angle the patch shows the place that it should.
    #[test]
    fn geometry_is_that_of_the_region(
        angle in -4.0f64..4.0, upright: bool, center in (90.0f64..110.0, 70.0f64..90.0),
        scale in (0.1f64..4.0, 0.1f64..4.0), slope in (-0.6f64..0.6, -0.6f64..0.6), size in (1usize..16, 1usize..16),
    ) {
        let (pixels, value) = ramp((200, 160), slope);
        let region = Region { center, scale, angle: if upright { 0.0 } else { angle } };
        let mut out = vec![0; size.0 * size.1];
        Resampler::new(size.0, size.1, Channels::Luma).cut(&Frame::gray(&pixels, 200, 160).unwrap(), region, &mut out);
        for (n, &got) in out.iter().enumerate() {
            let (x, y) = point(region, size, n % size.0, n / size.0);
            // The ramp is rounded to whole values, as are two or three passes.
            prop_assert!((f64::from(got) - value(x, y)).abs() < 1.7, "{got} for {} at {x}, {y}", value(x, y));
        }
    }
}

#[test]
fn fine_texture_does_not_alias_at_any_angle() {
    let pixels: Vec<u8> = (0..200 * 200).map(|i| if (i % 200 + i / 200) % 2 == 0 { 255 } else { 0 }).collect();
    let frame = Frame::gray(&pixels, 200, 200).unwrap();
    let mut resampler = Resampler::new(20, 20, Channels::Luma);
    for angle in [0.0, 0.1, 0.7, 1.6, 3.0] {
        let mut out = vec![0; 400];
        resampler.cut(&frame, Region::new((100.3, 99.1), 6.3).turned(angle), &mut out);
        assert!(out.iter().all(|&v| v.abs_diff(127) < 12), "{angle}: {out:?}");
    }
}

#[test]
fn a_whole_turn_changes_nothing_and_a_quarter_turns_the_patch() {
    let picture = Picture::new(40, 30, PixelFormat::Rgb8, 9);
    let (w, h) = (9, 5);
    let region = Region::new((20.5, 14.5), 1.0);
    let upright = cut(&picture, region, (w, h), Channels::Color);
    let quarter = cut(&picture, region.turned(std::f64::consts::FRAC_PI_2), (h, w), Channels::Color);
    for (x, y, c) in (0..w).flat_map(|x| (0..h).flat_map(move |y| (0..4).map(move |c| (x, y, c)))) {
        // The patch's x axis shows the frame's y axis: the frame's (x, y) stands in column y, the rows running
        // backwards.
        let got = quarter[((w - 1 - x) * h + y) * 4 + c];
        assert!(got.abs_diff(upright[(y * w + x) * 4 + c]) <= 2, "{x}, {y}, {c}");
    }
    let whole = cut(&picture, region.turned(std::f64::consts::TAU), (w, h), Channels::Color);
    assert!(whole.iter().zip(&upright).all(|(a, b)| a.abs_diff(*b) <= 2));
}

#[test]
fn at_scale_1_a_whole_corner_copies_the_frame() {
    let picture = Picture::new(30, 20, PixelFormat::Bgra8, 2);
    for (channels, corner) in [(Channels::Luma, (4.0, 3.0)), (Channels::Color, (-5.0, 12.0))] {
        let mut resampler = Resampler::new(11, 13, channels);
        let mut out = vec![0; 11 * 13 * channels.bytes()];
        resampler.cut_from(&picture.frame(), corner, 1.0, &mut out);
        for (n, &got) in out.iter().enumerate() {
            let (pixel, c) = (n / channels.bytes(), n % channels.bytes());
            let (x, y) = (corner.0 as i64 + (pixel % 11) as i64, corner.1 as i64 + (pixel / 11) as i64);
            assert_eq!(f64::from(got), picture.value(x, y, c, channels));
        }
    }
}

/// Extreme frames and coordinates, NaN included.
#[test]
fn no_region_panics() {
    let picture = Picture::new(300, 3, PixelFormat::Rgb8, 2);
    let single = Picture::new(1, 1, PixelFormat::Gray8, 2);
    let values = [0.0, -0.0, -3.0, 1e-300, 1e-3, 7.7, 1e7, 1e300, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    for channels in [Channels::Luma, Channels::Color] {
        let mut resampler = Resampler::new(5, 4, channels);
        let mut out = vec![0; 5 * 4 * channels.bytes()];
        for (i, picture) in (0..values.len().pow(3)).flat_map(|i| [(i, &picture), (i, &single)]) {
            let n = values.len();
            let (place, scale, angle) = (values[i % n], values[i / n % n], values[i / n / n]);
            let region = Region { center: (place, -place), scale: (scale, 1.0), angle };
            resampler.cut(&picture.frame(), region, &mut out);
            resampler.cut_from(&picture.frame(), (place, angle), scale, &mut out);
        }
    }
}

/// A pixel of the patch over thousands of pixels of the frame is their mean, as far as 256 shares go.
#[test]
fn huge_scales_average() {
    let (pixels, value) = ramp((3000, 4), (0.05, 0.0));
    let mut out = [0; 3];
    Resampler::new(3, 1, Channels::Luma).cut(
        &Frame::gray(&pixels, 3000, 4).unwrap(),
        Region::new((1500.0, 2.0), 900.0),
        &mut out,
    );
    for (i, &got) in out.iter().enumerate() {
        assert!((f64::from(got) - value(600.0 + 900.0 * i as f64, 2.0)).abs() < 1.0, "{out:?}");
    }
}
