//! Whole-pixel gray patches of a frame; the border is replicated outside it.

use super::{Frame, PixelFormat, luma};

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
    pub(super) fn columns(&self, width: usize) -> Span {
        Span::clamped(self.left, self.width, width)
    }

    /// The rows of a frame of `height` that the patch covers.
    pub(super) fn rows(&self, height: usize) -> Span {
        Span::clamped(self.top, self.height, height)
    }
}

/// A run of indices clamped to `0..len`: `before` times the first index, then each of `first..first + count`, the last
/// of them again until the run is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub before: usize,
    pub first: usize,
    pub count: usize,
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
/// outside the frame repeat its border (Henriques et al., TPAMI 2015, section 6).
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
pub(super) fn replicate(inner: &[u8], columns: Span, rows: Span, rect: PatchRect, out: &mut [u8]) {
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
