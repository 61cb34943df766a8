//! Gray patches of a frame in whole pixels, at full and at half size; the border is replicated outside it.
//!
//! The pixels of half size equal those of MATLAB's `imresize(frame, 0.5)`; only the part under the patch is filtered.
//! `imresize` convolves with Keys' cubic (a = -0.5) widened to the new pixel distance: at half size a fixed filter of
//! eight taps with weights in 1/256. It filters columns, then rows, rounds after each, and mirrors the image at its
//! border.

use super::{Frame, PixelFormat, luma};
use crate::simd::{block_starts, leveled};

/// The position of a patch in a frame; it may reach beyond the frame on all sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PatchRect {
    /// Column of the first pixel, 0-based.
    pub left: i64,
    /// Row of the first pixel, 0-based.
    pub top: i64,
    /// Width in pixels, at least 1.
    pub width: usize,
    /// Height in pixels, at least 1.
    pub height: usize,
}

impl PatchRect {
    /// The columns of a frame of `width` that the patch covers.
    fn columns(&self, width: usize) -> Span {
        Span::clamped(self.left, self.width, width)
    }

    /// The rows of a frame of `height` that the patch covers.
    fn rows(&self, height: usize) -> Span {
        Span::clamped(self.top, self.height, height)
    }
}

/// A run of indices clamped to `0..len`: `before` times the first index, then each of `first..first + count`, the last
/// of them again until the run is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    before: usize,
    first: usize,
    count: usize,
}

impl Span {
    fn clamped(start: i64, run: usize, len: usize) -> Self {
        let last = len as i64 - 1;
        let end = start.saturating_add(run as i64 - 1);
        let (first, stop) = (start.clamp(0, last), end.clamp(0, last));
        let before = (first.saturating_sub(start).max(0) as usize).min(run - 1);
        Self { before, first: first as usize, count: ((stop - first) as usize + 1).min(run - before) }
    }

    /// Fills `out` by repeating the ends of the `count` values at `out[before..]`.
    fn replicate_ends(&self, out: &mut [u8]) {
        let (first, last) = (out[self.before], out[self.before + self.count - 1]);
        out[..self.before].fill(first);
        out[self.before + self.count..].fill(last);
    }
}

/// Cuts the gray patch at `rect` from `frame` into `out` (row-major, `rect.height` rows of `rect.width`); pixels
/// outside the frame repeat its border (as `get_subwindow` of Henriques et al., TPAMI 2015).
pub fn sample(frame: &Frame<'_>, rect: PatchRect, out: &mut [u8]) {
    assert_eq!(out.len(), rect.width * rect.height, "the patch buffer has the patch's size");
    let (columns, rows) = (rect.columns(frame.width()), rect.rows(frame.height()));
    for (i, row) in out.chunks_exact_mut(rect.width).enumerate() {
        let y = rows.first + i.saturating_sub(rows.before).min(rows.count - 1);
        gray_run(frame, y, columns.first, &mut row[columns.before..][..columns.count]);
        columns.replicate_ends(row);
    }
}

/// Repeats the border of the `columns.count` x `rows.count` values of `inner` around them until `out` is full.
fn replicate(inner: &[u8], columns: Span, rows: Span, rect: PatchRect, out: &mut [u8]) {
    for (i, row) in out.chunks_exact_mut(rect.width).enumerate() {
        let y = i.saturating_sub(rows.before).min(rows.count - 1);
        row[columns.before..][..columns.count].copy_from_slice(&inner[y * columns.count..][..columns.count]);
        columns.replicate_ends(row);
    }
}

/// Gray values of `out.len()` pixels of row `y` from column `x` on, all inside the frame.
pub(super) fn gray_run(frame: &Frame<'_>, y: usize, x: usize, out: &mut [u8]) {
    let bytes = frame.format().bytes();
    let pixels = &frame.row(y)[x * bytes..][..out.len() * bytes];
    match frame.format() {
        PixelFormat::Gray8 => out.copy_from_slice(pixels),
        PixelFormat::Rgb8 => convert::<3>(pixels, out, |p| luma(p[0], p[1], p[2])),
        PixelFormat::Bgr8 => convert::<3>(pixels, out, |p| luma(p[2], p[1], p[0])),
        PixelFormat::Rgba8 => convert::<4>(pixels, out, |p| luma(p[0], p[1], p[2])),
        PixelFormat::Bgra8 => convert::<4>(pixels, out, |p| luma(p[2], p[1], p[0])),
    }
}

#[inline(always)]
fn convert<const N: usize>(pixels: &[u8], out: &mut [u8], gray: impl Fn(&[u8; N]) -> u8) {
    for (pixel, out) in pixels.as_chunks::<N>().0.iter().zip(out) {
        *out = gray(pixel);
    }
}

/// Keys' cubic at distances 3.5, 2.5, 1.5, 0.5, 0.5, … source pixels from the centre, in 1/256.
pub(super) const TAPS: [i16; 8] = [-3, -9, 29, 111, 111, 29, -9, -3];

/// Cuts patches from frames at half size.
#[derive(Clone, Debug, Default)]
pub struct HalfSampler {
    source: Vec<u8>,
    filtered: Vec<u8>,
    halved: Vec<u8>,
}

/// The size of `frame` at half size: `ceil(length / 2)` in each direction.
pub(super) fn half_size(frame: &Frame<'_>) -> (usize, usize) {
    (frame.width().div_ceil(2), frame.height().div_ceil(2))
}

impl HalfSampler {
    /// Creates a sampler for patches of up to `width` x `height` half-size pixels.
    pub fn new(width: usize, height: usize) -> Self {
        let (w, h) = (2 * width + 6, 2 * height + 6);
        Self { source: vec![0; w * h], filtered: vec![0; w * height], halved: vec![0; width * height] }
    }

    /// Cuts the gray patch at `rect`, in pixels of the half-size frame, into `out` (row-major).
    ///
    /// # Panics
    /// If `rect` is larger than the sampler.
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
        replicate(halved, columns, rows, rect, out);
    }
}

/// Collects the source pixels of the half-size `columns` and `rows`, mirrored beyond the frame.
fn gather(frame: &Frame<'_>, columns: Span, rows: Span, width: usize, source: &mut [u8]) {
    // Half-size pixel X reaches from source pixel 2X - 3 to 2X + 4.
    let (left, top) = (2 * columns.first as i64 - 3, 2 * rows.first as i64 - 3);
    let inner = (-left).max(0) as usize;
    let inner_end = width.min((frame.width() as i64 - left).max(0) as usize).max(inner);
    for (i, row) in source.chunks_exact_mut(width).enumerate() {
        let y = mirrored(top + i as i64, frame.height());
        gray_run(frame, y, (left + inner as i64) as usize, &mut row[inner..inner_end]);
        for x in (0..inner).chain(inner_end..width) {
            row[x] = frame.gray_at(mirrored(left + x as i64, frame.width()), y);
        }
    }
}

/// Index `i` of a mirrored signal of `len` values: `… 1 0 0 1 2 … n-1 n-1 n-2 …`.
fn mirrored(i: i64, len: usize) -> usize {
    let len = len as i64;
    let i = i.rem_euclid(2 * len);
    (if i < len { i } else { 2 * len - 1 - i }) as usize
}

/// The filter applied to eight values. It is symmetric: four products of sums. All numbers have 16 bits, relative to
/// middle gray, so that a register holds many; the last sum saturates only where an 8-bit pixel does.
#[inline(always)]
pub(super) fn filtered(values: [u8; 8]) -> u8 {
    let pair = |i: usize| TAPS[i] * (i16::from(values[i]) + i16::from(values[7 - i]) - 256);
    let sum = pair(3).saturating_add(pair(0) + pair(1) + pair(2) + 128);
    ((sum >> 8) + 128) as u8
}

/// Values per block.
const BLOCK: usize = 32;
/// Pairs of source pixels per block at half width.
const PAIRS: usize = BLOCK + 3;

leveled! {
    /// One output row from the eight consecutive source rows in `rows`.
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
            // Even and odd pixels apart, so that the reads of a block are contiguous.
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
