//! Pixels while they are being painted: float colours, layers laid over them, and textures to paint with.

use image::{Rgb, RgbImage};

use crate::bbox::BBox;

/// Red, green, blue, each nominally 0 to 255.
pub(super) type Colour = [f32; 3];

/// A colour from each of its channels in turn. The arrays' own `map` does the same, but is a call for every pixel where
/// the tests are built.
#[inline(always)]
pub(super) fn each(mut channel: impl FnMut(usize) -> f32) -> Colour {
    [channel(0), channel(1), channel(2)]
}

/// Rounds to bytes; the cast saturates.
#[inline(always)]
fn bytes(colour: Colour) -> [u8; 3] {
    [(colour[0] + 0.5) as u8, (colour[1] + 0.5) as u8, (colour[2] + 0.5) as u8]
}

/// `a` for `t = 0`, `b` for `t = 1`; `t` is clipped.
pub(super) fn blend(a: Colour, b: Colour, t: f64) -> Colour {
    let t = t.clamp(0.0, 1.0) as f32;
    each(|c| a[c] + (b[c] - a[c]) * t)
}

/// A colour made lighter or darker.
pub(super) fn shade(colour: Colour, gain: f64) -> Colour {
    each(|c| colour[c] * gain as f32)
}

/// 0 below `lo`, 1 above `hi`, a smooth step between.
pub(super) fn smooth_step(lo: f64, hi: f64, value: f64) -> f64 {
    let t = ((value - lo) / (hi - lo)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// A frame before it is rounded to bytes, row by row.
#[derive(Clone, Debug)]
pub(super) struct Canvas {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) pixels: Vec<Colour>,
    /// Samples per pixel and axis with which a layer's coverage is counted.
    pub(super) fineness: u32,
}

impl Canvas {
    pub(super) fn new(width: usize, height: usize) -> Self {
        Self { width, height, pixels: vec![[0.0; 3]; width * height], fineness: 4 }
    }

    /// Lays something over the pixels within `area`: `ink` tells its opacity (0 to 1) and colour at a point of the
    /// image.
    ///
    /// The opacity of a pixel is the mean of `fineness` x `fineness` samples. `near` may tell early that a pixel, given
    /// by its centre, has none of it.
    pub(super) fn lay(&mut self, area: BBox, near: impl Fn(f64, f64) -> bool, ink: impl Fn(f64, f64) -> (f64, Colour)) {
        // Casts from float saturate, so that whatever lies outside gives an empty range.
        let (left, top) = (area.x.floor().max(0.0) as usize, area.y.floor().max(0.0) as usize);
        let right = ((area.x + area.w).ceil().max(0.0) as usize).min(self.width);
        let bottom = ((area.y + area.h).ceil().max(0.0) as usize).min(self.height);
        let fineness = self.fineness;
        let part = 1.0 / f64::from(fineness);
        for row in top..bottom {
            for column in left..right {
                let (x, y) = (column as f64, row as f64);
                if !near(x + 0.5, y + 0.5) {
                    continue;
                }
                let (mut cover, mut sum) = (0.0_f64, [0.0_f32; 3]);
                for sub in 0..fineness * fineness {
                    let dx = (f64::from(sub % fineness) + 0.5) * part;
                    let dy = (f64::from(sub / fineness) + 0.5) * part;
                    let (alpha, colour) = ink(x + dx, y + dy);
                    if alpha > 0.0 {
                        cover += alpha;
                        sum = each(|c| sum[c] + colour[c] * alpha as f32);
                    }
                }
                if cover > 0.0 {
                    let weight = (part * part) as f32;
                    let rest = 1.0 - cover as f32 * weight;
                    let pixel = &mut self.pixels[row * self.width + column];
                    *pixel = each(|c| pixel[c] * rest + sum[c] * weight);
                }
            }
        }
    }

    /// Adds another canvas of the same size, times `weight`.
    pub(super) fn add(&mut self, other: &Self, weight: f32) {
        for (mine, theirs) in self.pixels.iter_mut().zip(&other.pixels) {
            *mine = each(|c| mine[c] + theirs[c] * weight);
        }
    }

    /// Rounds to bytes.
    pub(super) fn to_image(&self) -> RgbImage {
        RgbImage::from_fn(self.width as u32, self.height as u32, |x, y| {
            Rgb(bytes(self.pixels[y as usize * self.width + x as usize]))
        })
    }
}

/// A picture to paint with, in bytes, read at fractional positions. Outside, its border is repeated.
#[derive(Clone, Debug)]
pub(super) struct Texture {
    width: usize,
    height: usize,
    pixels: Vec<[u8; 3]>,
}

impl Texture {
    /// Paints `width` x `height` pixels (both at least 1), rows in parallel; `paint` gets the coordinates of a pixel's
    /// centre.
    pub(super) fn paint(width: usize, height: usize, paint: impl Fn(f64, f64) -> Colour + Sync) -> Self {
        use rayon::prelude::*;
        let (width, height) = (width.max(1), height.max(1));
        let mut pixels = vec![[0; 3]; width * height];
        pixels.par_chunks_mut(width).enumerate().for_each(|(row, line)| {
            for (column, pixel) in line.iter_mut().enumerate() {
                *pixel = bytes(paint(column as f64 + 0.5, row as f64 + 0.5));
            }
        });
        Self { width, height, pixels }
    }

    fn at(&self, column: i64, row: i64) -> Colour {
        let column = column.clamp(0, self.width as i64 - 1) as usize;
        let row = row.clamp(0, self.height as i64 - 1) as usize;
        let pixel = &self.pixels[row * self.width + column];
        each(|c| f32::from(pixel[c]))
    }

    /// Bilinear interpolation; pixel centres lie at halves.
    pub(super) fn linear(&self, x: f64, y: f64) -> Colour {
        let (x, y) = (x - 0.5, y - 0.5);
        let (x0, y0) = (x.floor(), y.floor());
        let (ix, iy) = (x0 as i64, y0 as i64);
        let (right, below) = (ix.saturating_add(1), iy.saturating_add(1));
        let top = blend(self.at(ix, iy), self.at(right, iy), x - x0);
        let bottom = blend(self.at(ix, below), self.at(right, below), x - x0);
        blend(top, bottom, y - y0)
    }

    /// `width` x `height` pixels of the texture; the first one's corner lies at `left, top`, which may be fractional.
    ///
    /// Cubic interpolation (Catmull-Rom), which hardly changes sharpness with the fraction; whole shifts are exact.
    pub(super) fn cut(&self, left: f64, top: f64, width: usize, height: usize) -> Canvas {
        let (x0, y0) = (left.floor(), top.floor());
        let (across, down) = (catmull_rom((left - x0) as f32), catmull_rom((top - y0) as f32));
        let (ix, iy) = (x0 as i64, y0 as i64);
        // The shift is the same for all pixels, so rows can go first.
        let mut rows = Canvas::new(width, height + 3);
        for (row, line) in (iy - 1..).zip(rows.pixels.chunks_mut(width)) {
            for (column, pixel) in (ix..).zip(line) {
                *pixel = weighted(|k| self.at(column - 1 + k as i64, row), &across);
            }
        }
        let mut cut = Canvas::new(width, height);
        for (row, line) in cut.pixels.chunks_mut(width).enumerate() {
            for (column, pixel) in line.iter_mut().enumerate() {
                let sum = weighted(|k| rows.pixels[(row + k) * width + column], &down);
                *pixel = each(|c| sum[c].clamp(0.0, 255.0));
            }
        }
        cut
    }
}

/// The sum of four colours times their weights.
#[inline(always)]
fn weighted(tap: impl Fn(usize) -> Colour, weights: &[f32; 4]) -> Colour {
    let taps = [tap(0), tap(1), tap(2), tap(3)];
    each(|c| taps[0][c] * weights[0] + taps[1][c] * weights[1] + taps[2][c] * weights[2] + taps[3][c] * weights[3])
}

/// The weights of the four neighbours of a point at the fraction `t` between the middle two.
fn catmull_rom(t: f32) -> [f32; 4] {
    let (t2, t3) = (t * t, t * t * t);
    [0.5 * (-t3 + 2.0 * t2 - t), 0.5 * (3.0 * t3 - 5.0 * t2 + 2.0), 0.5 * (-3.0 * t3 + 4.0 * t2 + t), 0.5 * (t3 - t2)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_pixel_of_white_is_half_as_bright() {
        let mut canvas = Canvas::new(4, 1);
        canvas.lay(BBox::new(0.0, 0.0, 4.0, 1.0), |_, _| true, |x, _| (f64::from(u8::from(x < 1.5)), [200.0; 3]));
        assert_eq!(canvas.pixels.iter().map(|p| p[0]).collect::<Vec<_>>(), [200.0, 100.0, 0.0, 0.0]);
    }

    #[test]
    fn layers_outside_the_image_change_nothing() {
        let mut canvas = Canvas::new(3, 3);
        for area in
            [BBox::new(-9.0, -9.0, 5.0, 5.0), BBox::new(1e300, 0.0, 5.0, 5.0), BBox::new(f64::NAN, 0.0, 1.0, 1.0)]
        {
            canvas.lay(area, |_, _| true, |x, _| (f64::from(u8::from(!(0.0..3.0).contains(&x))), [9.0; 3]));
        }
        assert!(canvas.pixels.iter().all(|p| *p == [0.0; 3]));
    }

    #[test]
    fn both_interpolations_reproduce_a_ramp_and_its_pixels() {
        let value = |x: f64, y: f64| (x * 4.0 + y * 2.0 - 3.0) as f32;
        let ramp = Texture::paint(20, 20, |x, y| [value(x, y); 3]);
        assert!((ramp.linear(6.25, 9.5)[0] - value(6.25, 9.5)).abs() < 1e-3);
        for (left, top) in [(5.0, 7.0), (5.25, 7.0), (6.5, 7.9)] {
            let cut = ramp.cut(left, top, 6, 5);
            let last = cut.pixels[4 * 6 + 5][0];
            assert!((last - value(left + 5.5, top + 4.5)).abs() < 1e-3, "{last}");
        }
        assert_eq!(ramp.cut(5.0, 7.0, 1, 1).pixels[0], [value(5.5, 7.5); 3]);
        assert_eq!(ramp.cut(-50.0, -50.0, 1, 1).pixels[0], [value(0.5, 0.5); 3]);
    }
}
