//! Patches: rectangles of gray values cut from a frame, the border replicated where they leave it.

use super::{Frame, PixelFormat, luma};

/// Where a patch lies on a frame: `left`, `top` may be negative, the right and bottom end may lie beyond the frame.
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
    /// The frame's columns (first, count) that the patch touches once its columns are clamped to a frame of `width`,
    /// and how often the first one is repeated before the patch reaches the frame.
    pub(super) fn columns(&self, width: usize) -> Span {
        Span::clamped(self.left, self.width, width)
    }

    /// As [`PatchRect::columns`], for the rows of a frame of `height`.
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

    /// Fills `out` by repeating the ends of the `count` values that stand at `out[before..]`.
    fn replicate_ends(&self, out: &mut [u8]) {
        let (first, last) = (out[self.before], out[self.before + self.count - 1]);
        out[..self.before].fill(first);
        out[self.before + self.count..].fill(last);
    }
}

/// Cuts the gray patch at `rect` from `frame` into `out` (row-major, `rect.height` rows of `rect.width`); pixels
/// outside the frame repeat its border (Henriques et al., TPAMI 2015, section 6).
///
/// # Panics
/// When `out` does not hold exactly `rect.width * rect.height` values.
pub fn sample(frame: &Frame<'_>, rect: PatchRect, out: &mut [u8]) {
    assert_eq!(out.len(), rect.width * rect.height, "the patch buffer has the patch's size");
    let (columns, rows) = (rect.columns(frame.width()), rect.rows(frame.height()));
    for (i, row) in out.chunks_exact_mut(rect.width).enumerate() {
        // The rows before and after the frame repeat its first and last one, as cheap as a copy.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
}
