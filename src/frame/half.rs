//! Patches of a frame at half size, as if the whole frame had been shrunk by MATLAB's `imresize(frame, 0.5)` first.
//!
//! `imresize` convolves with Keys' cubic (a = -0.5) widened to the new pixel distance against aliasing: at half size
//! that is one fixed filter of eight taps, whose weights are whole 256ths. Columns are filtered first, then rows; an
//! 8-bit picture is rounded after each of the two, and the picture continues mirrored beyond its border. Only the part
//! of the frame that the patch needs is filtered.

use super::Frame;
use super::patch::{self, PatchRect, Span};
use crate::simd::{block_starts, leveled};

/// Keys' cubic at distances 3.5, 2.5, 1.5, 0.5, 0.5, … source pixels from the centre, in 1/256.
const TAPS: [i16; 8] = [-3, -9, 29, 111, 111, 29, -9, -3];

/// Cuts patches from frames at half size; owns the memory that the filtering needs.
#[derive(Clone, Debug, Default)]
pub struct HalfSampler {
    source: Vec<u8>,
    filtered: Vec<u8>,
    halved: Vec<u8>,
}

/// The size of `frame` at half size: `ceil(length / 2)` in each direction.
pub fn half_size(frame: &Frame<'_>) -> (usize, usize) {
    (frame.width().div_ceil(2), frame.height().div_ceil(2))
}

impl HalfSampler {
    /// Memory for patches of up to `width` x `height` half-size pixels; sampling those allocates nothing.
    pub fn new(width: usize, height: usize) -> Self {
        let (w, h) = (2 * width + 6, 2 * height + 6);
        Self { source: vec![0; w * h], filtered: vec![0; w * height], halved: vec![0; width * height] }
    }

    /// Cuts the gray patch at `rect`, given in pixels of the half-size frame, into `out` (row-major).
    ///
    /// # Panics
    /// When `out` does not hold exactly `rect.width * rect.height` values or `rect` is larger than the sampler was made
    /// for.
    pub fn sample(&mut self, frame: &Frame<'_>, rect: PatchRect, out: &mut [u8]) {
        assert_eq!(out.len(), rect.width * rect.height, "the patch buffer has the patch's size");
        let (half_width, half_height) = half_size(frame);
        let (columns, rows) = (rect.columns(half_width), rect.rows(half_height));
        let (source_w, source_h) = (2 * columns.count + 6, 2 * rows.count + 6);
        let source = &mut self.source[..source_w * source_h];
        gather(frame, columns, rows, source_w, source);
        let filtered = &mut self.filtered[..source_w * rows.count];
        for (y, row) in filtered.chunks_exact_mut(source_w).enumerate() {
            filter_columns(&source[2 * y * source_w..][..8 * source_w], row);
        }
        let halved = &mut self.halved[..columns.count * rows.count];
        for (row, filtered) in halved.chunks_exact_mut(columns.count).zip(filtered.chunks_exact(source_w)) {
            filter_row(filtered, row);
        }
        patch::replicate(halved, columns, rows, rect, out);
    }
}

/// Collects the source pixels that the half-size `columns` and `rows` are made of, mirrored beyond the frame.
fn gather(frame: &Frame<'_>, columns: Span, rows: Span, width: usize, source: &mut [u8]) {
    // Half-size pixel X reaches from source pixel 2X - 3 to 2X + 4.
    let (left, top) = (2 * columns.first as i64 - 3, 2 * rows.first as i64 - 3);
    let inner = (-left).max(0) as usize;
    let inner_end = width.min((frame.width() as i64 - left).max(0) as usize).max(inner);
    for (i, row) in source.chunks_exact_mut(width).enumerate() {
        let y = mirrored(top + i as i64, frame.height());
        patch::gray_run(frame, y, (left + inner as i64) as usize, &mut row[inner..inner_end]);
        for x in (0..inner).chain(inner_end..width) {
            row[x] = frame.gray_at(mirrored(left + x as i64, frame.width()), y);
        }
    }
}

/// Index `i` of a signal of `len` values that continues mirrored, its end values doubled: `… 1 0 0 1 2 … n-1 n-1 n-2
/// …`.
fn mirrored(i: i64, len: usize) -> usize {
    let len = len as i64;
    let i = i.rem_euclid(2 * len);
    (if i < len { i } else { 2 * len - 1 - i }) as usize
}

/// What the filter makes of eight values. It is symmetric: four products of sums. All numbers have 16 bits, so that a
/// register holds as many of them as can be: they are counted from the middle gray, and what the last sum does not hold
/// is what an 8-bit picture does not.
#[inline(always)]
fn filtered(values: [u8; 8]) -> u8 {
    let pair = |i: usize| TAPS[i] * (i16::from(values[i]) + i16::from(values[7 - i]) - 256);
    let sum = pair(3).saturating_add(pair(0) + pair(1) + pair(2) + 128);
    ((sum >> 8) + 128) as u8
}

/// Values that are filtered at once.
const BLOCK: usize = 32;
/// Pairs of pixels that a block at half width is made of.
const PAIRS: usize = BLOCK + 3;

leveled! {
    /// One output row from the eight source rows that stand in `rows` one after the other.
    fn filter_columns(rows: &[u8], out: &mut [u8]) {
        let width = out.len();
        let rows: [&[u8]; 8] = std::array::from_fn(|i| &rows[i * width..][..width]);
        if width < BLOCK {
            for (x, out) in out.iter_mut().enumerate() {
                *out = filtered(rows.map(|row| row[x]));
            }
            return;
        }
        for x in block_starts(width, BLOCK) {
            let rows: [&[u8; BLOCK]; 8] = rows.map(|row| row[x..].first_chunk().expect("a block"));
            let out: &mut [u8; BLOCK] = out[x..].first_chunk_mut().expect("a block");
            for i in 0..BLOCK {
                out[i] = filtered(rows.map(|row| row[i]));
            }
        }
    }
}

leveled! {
    /// One row at half width from `2 * out.len() + 6` source pixels.
    fn filter_row(source: &[u8], out: &mut [u8]) {
        let source = &source[..2 * out.len() + 6];
        if out.len() < BLOCK {
            for (x, out) in out.iter_mut().enumerate() {
                *out = filtered(*source[2 * x..].first_chunk().expect("eight pixels"));
            }
            return;
        }
        for x in block_starts(out.len(), BLOCK) {
            let pixels: &[u8; 2 * PAIRS] = source[2 * x..].first_chunk().expect("a block");
            // Pixels of even and of odd places apart, so that neighbours in the result have neighbours to be read.
            let (mut even, mut odd) = ([0u8; PAIRS], [0u8; PAIRS]);
            for i in 0..PAIRS {
                (even[i], odd[i]) = (pixels[2 * i], pixels[2 * i + 1]);
            }
            let out: &mut [u8; BLOCK] = out[x..].first_chunk_mut().expect("a block");
            for i in 0..BLOCK {
                let pair = |k: usize| [even[i + k], odd[i + k]];
                let [[a, b], [c, d], [e, f], [g, h]] = [pair(0), pair(1), pair(2), pair(3)];
                out[i] = filtered([a, b, c, d, e, f, g, h]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::assert_same_on_all_levels;
    use proptest::prelude::*;

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
            patch::sample(&Frame::gray(&small, sw, sh).unwrap(), rect, &mut expected);
            HalfSampler::new(pw, ph).sample(&frame, rect, &mut got);
            prop_assert_eq!(got, expected);
        }
    }
}
