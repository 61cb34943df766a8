//! Patches of a frame at a coarser scale, by area averaging: a pixel of the patch is the mean of the part of the frame that it
//! covers, fractions of pixels counted as such. That is the box filter, whose width is the new pixel distance, so
//! that fine texture does not alias.
//!
//! Columns are averaged first, then rows, rounded after each. Weights are whole 256ths, so that sums fit 16 bits and are the same
//! on every machine.

use super::Frame;
use super::patch::{self, PatchRect};

/// The sum of the weights of a pixel.
const ONE: f64 = 256.0;

/// Cuts patches of one size at one scale; owns the memory for it.
#[derive(Clone, Debug)]
pub struct ScaledSampler {
    columns: Weights,
    rows: Weights,
    scale: f64,
    source: Vec<u8>,
    averaged: Vec<u8>,
}

/// Which source pixels make up the pixels of a line, and by how much.
#[derive(Clone, Debug)]
struct Weights {
    /// Source pixels of the whole line.
    span: usize,
    /// Source pixels of one pixel at most.
    taps: usize,
    /// For each pixel, its first source pixel.
    first: Vec<usize>,
    /// `taps` weights for each pixel, in 1/256.
    weights: Vec<u16>,
}

impl Weights {
    fn new(len: usize, scale: f64) -> Self {
        let span = (len as f64 * scale).ceil() as usize;
        let ends = |i: usize| (i as f64 * scale, ((i + 1) as f64 * scale).min(span as f64));
        let range = |i: usize| {
            let (start, end) = ends(i);
            (start.floor() as usize, (end.ceil() as usize).min(span))
        };
        let taps = (0..len).map(range).map(|(first, end)| end - first).max().unwrap_or(1);
        let mut all = Self { span, taps, first: Vec::with_capacity(len), weights: Vec::with_capacity(len * taps) };
        for i in 0..len {
            let (start, end) = ends(i);
            let (first, _) = range(i);
            // Every pixel has all taps, so that no loop has a length of its own; the last ones end at the line's end.
            let first = first.min(span - taps);
            all.first.push(first);
            // The cumulative share is rounded, so that the weights of a pixel sum up to exactly one.
            let share = |x: usize| (ONE * ((x as f64).clamp(start, end) - start) / (end - start)).round() as u16;
            all.weights.extend((first..first + taps).map(|x| share(x + 1) - share(x)));
        }
        all
    }

    fn of(&self, i: usize) -> (usize, &[u16]) {
        (self.first[i], &self.weights[i * self.taps..][..self.taps])
    }
}

impl ScaledSampler {
    /// For patches of `width` x `height` pixels, each of `scale` (at least 1) pixels of the frame in both directions.
    ///
    /// # Panics
    /// When the patch is empty or the scale is below 1 or not finite.
    pub fn new(width: usize, height: usize, scale: f64) -> Self {
        assert!(width > 0 && height > 0, "a patch has pixels");
        assert!(scale >= 1.0 && scale.is_finite(), "a coarser scale is at least 1");
        let (columns, rows) = (Weights::new(width, scale), Weights::new(height, scale));
        let (source, averaged) = (vec![0; columns.span * rows.span], vec![0; columns.span * height]);
        Self { columns, rows, scale, source, averaged }
    }

    /// Width and height of the part of the frame that a patch is made of, in pixels of the frame.
    pub fn source_size(&self) -> (usize, usize) {
        (self.columns.span, self.rows.span)
    }

    /// Width and height of the area that a patch shows, in pixels of the frame: no whole numbers in general.
    pub fn covered(&self) -> (f64, f64) {
        (self.columns.first.len() as f64 * self.scale, self.rows.first.len() as f64 * self.scale)
    }

    /// Cuts the gray patch whose first source pixel is column `left`, row `top` of the frame into `out` (row-major); pixels outside
    /// the frame repeat its border.
    ///
    /// # Panics
    /// When `out` has another length than the patch.
    pub fn sample(&mut self, frame: &Frame<'_>, left: i64, top: i64, out: &mut [u8]) {
        let (width, height) = self.source_size();
        assert_eq!(
            out.len(),
            self.columns.first.len() * self.rows.first.len(),
            "the patch buffer has the patch's size"
        );
        patch::sample(frame, PatchRect { left, top, width, height }, &mut self.source);
        average_columns(&self.rows, width, &self.source, &mut self.averaged);
        average_rows(&self.columns, &self.averaged, out);
    }
}

/// Every row of `out` from the rows of `source` that it covers.
fn average_columns(rows: &Weights, width: usize, source: &[u8], out: &mut [u8]) {
    for (i, out) in out.chunks_exact_mut(width).enumerate() {
        let (first, weights) = rows.of(i);
        let lines = &source[first * width..][..weights.len() * width];
        match *weights {
            [a, b] => average_lines([a, b], lines, out),
            [a, b, c] => average_lines([a, b, c], lines, out),
            [a, b, c, d] => average_lines([a, b, c, d], lines, out),
            _ => {
                for (x, out) in out.iter_mut().enumerate() {
                    let terms = lines[x..].iter().step_by(width).zip(weights);
                    *out = rounded(terms.map(|(&v, &weight)| u16::from(v) * weight).sum());
                }
            }
        }
    }
}

/// One row from `N` rows that stand one after the other.
#[inline(always)]
fn average_lines<const N: usize>(weights: [u16; N], lines: &[u8], out: &mut [u8]) {
    let width = out.len();
    let lines: [&[u8]; N] = std::array::from_fn(|k| &lines[k * width..][..width]);
    for (x, out) in out.iter_mut().enumerate() {
        let mut sum = 0u16;
        for k in 0..N {
            sum += u16::from(lines[k][x]) * weights[k];
        }
        *out = rounded(sum);
    }
}

/// Every row of `out` from the same row of `source`, pixel by pixel from the ones that it covers.
fn average_rows(columns: &Weights, source: &[u8], out: &mut [u8]) {
    let rows = source.chunks_exact(columns.span).zip(out.chunks_exact_mut(columns.first.len()));
    for (source, out) in rows {
        match columns.taps {
            2 => average_pixels::<2>(columns, source, out),
            3 => average_pixels::<3>(columns, source, out),
            4 => average_pixels::<4>(columns, source, out),
            taps => {
                let pixels = columns.first.iter().zip(columns.weights.chunks_exact(taps));
                for (out, (&first, weights)) in out.iter_mut().zip(pixels) {
                    let terms = source[first..].iter().zip(weights);
                    *out = rounded(terms.map(|(&v, &weight)| u16::from(v) * weight).sum());
                }
            }
        }
    }
}

#[inline(always)]
fn average_pixels<const N: usize>(columns: &Weights, source: &[u8], out: &mut [u8]) {
    let weights = columns.weights.as_chunks::<N>().0;
    for ((out, &first), weights) in out.iter_mut().zip(&columns.first).zip(weights) {
        let source = &source[first..][..N];
        let mut sum = 0u16;
        for k in 0..N {
            sum += u16::from(source[k]) * weights[k];
        }
        *out = rounded(sum);
    }
}

/// Weights sum up to 256 and gray values end at 255, so that nothing overflows.
#[inline(always)]
fn rounded(sum: u16) -> u8 {
    ((sum + 128) >> 8) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn whole_scales_are_means_of_squares() {
        let pixels: Vec<u8> = (0..12 * 8).map(|i| (i * 37 % 251) as u8).collect();
        let frame = Frame::gray(&pixels, 12, 8).unwrap();
        let mut out = [0; 6];
        ScaledSampler::new(3, 2, 4.0).sample(&frame, 0, 0, &mut out);
        for (i, &got) in out.iter().enumerate() {
            let (x, y) = (i % 3 * 4, i / 3 * 4);
            let sum: u32 = (0..16).map(|k| u32::from(pixels[(y + k / 4) * 12 + x + k % 4])).sum();
            // Rounded twice.
            assert!((f64::from(got) - f64::from(sum) / 16.0).abs() <= 1.0, "{got}");
        }
    }

    #[test]
    fn at_scale_one_the_patch_is_the_frame() {
        let pixels: Vec<u8> = (0..30).map(|i| i * 8).collect();
        let mut out = [0; 30];
        ScaledSampler::new(6, 5, 1.0).sample(&Frame::gray(&pixels, 6, 5).unwrap(), 0, 0, &mut out);
        assert_eq!(out[..], pixels[..]);
    }

    proptest! {
        #[test]
        fn patches_are_means_over_the_area(
            scale in 1.0f64..7.0, (w, h) in (1usize..12, 1usize..12), left in -9i64..30, top in -9i64..30,
        ) {
            let pixels: Vec<u8> = (0..40 * 30).map(|i| (i * i * 31 % 253) as u8).collect();
            let frame = Frame::gray(&pixels, 40, 30).unwrap();
            let mut out = vec![0; w * h];
            ScaledSampler::new(w, h, scale).sample(&frame, left, top, &mut out);
            let at = |x: i64, y: i64| f64::from(frame.gray_at(x.clamp(0, 39) as usize, y.clamp(0, 29) as usize));
            let share = |i: usize, k: usize| {
                let (start, end) = (i as f64 * scale, (i + 1) as f64 * scale);
                ((k as f64 + 1.0).min(end) - (k as f64).max(start)).max(0.0) / scale
            };
            for (i, &got) in out.iter().enumerate() {
                let mut mean = 0.0;
                for y in 0..(scale * h as f64).ceil() as usize {
                    for x in 0..(scale * w as f64).ceil() as usize {
                        let weight = share(i % w, x) * share(i / w, y);
                        mean += weight * at(left + x as i64, top + y as i64);
                    }
                }
                // Two roundings, and weights of a 256th in two directions.
                prop_assert!((f64::from(got) - mean).abs() < 1.0 + 4.0 * 255.0 / 256.0, "{got} for {mean}");
            }
        }
    }
}
