//! Boxes and words on a picture. Whatever lies outside of the picture is cut off.

use std::path::Path;

use ab_glyph::FontRef;
use image::{Rgb, RgbImage};
use imageproc::drawing::{draw_filled_rect_mut, draw_text_mut, text_size};
use imageproc::rect::Rect;

use crate::bbox::BBox;
use crate::error::{Error, Result};

/// The letters, DejaVu Sans.
#[derive(Debug)]
pub(super) struct Letters(FontRef<'static>);

impl Letters {
    /// Loads them; `path` is what they are needed for.
    pub(super) fn load(path: &Path) -> Result<Self> {
        let font = FontRef::try_from_slice(dejavu::sans::regular());
        let wrong = |error| Error::Output { path: path.into(), reason: format!("the built-in font: {error}") };
        font.map(Self).map_err(wrong)
    }

    /// Width and height of a text, in pixels, in letters of `size` pixels.
    pub(super) fn extent(&self, text: &str, size: f32) -> (u32, u32) {
        text_size(size, &self.0, text)
    }

    /// Writes a text with its top-left corner at `x, y`.
    pub(super) fn write(&self, picture: &mut RgbImage, text: &str, (x, y): (i32, i32), size: f32, ink: Rgb<u8>) {
        draw_text_mut(picture, ink, x, y, size, &self.0, text);
    }
}

/// How thick lines are: they grow with the picture.
pub(super) fn stroke(picture: &RgbImage) -> i32 {
    (picture.width().min(picture.height()) / 200 + 1).min(24) as i32
}

/// Draws a line from a point to another, `thick` pixels thick.
pub(super) fn line(picture: &mut RgbImage, from: (f32, f32), to: (f32, f32), thick: i32, ink: Rgb<u8>) {
    let steps = (to.0 - from.0).abs().max((to.1 - from.1).abs()).ceil().max(1.0) as i32;
    for step in 0..=steps {
        let share = step as f32 / steps as f32;
        let at = |from: f32, to: f32| (from + (to - from) * share).round() as i32 - thick / 2;
        let (left, top) = (at(from.0, to.0), at(from.1, to.1));
        fill(picture, [left, top, left.saturating_add(thick), top.saturating_add(thick)], ink);
    }
}

/// Fills the pixels from `left, top` up to, but without, `right, bottom`.
pub(super) fn fill(picture: &mut RgbImage, [left, top, right, bottom]: [i32; 4], ink: Rgb<u8>) {
    let [width, height] = [picture.width(), picture.height()].map(|size| i32::try_from(size).unwrap_or(i32::MAX));
    let (left, right) = (left.clamp(0, width), right.clamp(0, width));
    let (top, bottom) = (top.clamp(0, height), bottom.clamp(0, height));
    if right > left && bottom > top {
        draw_filled_rect_mut(picture, Rect::at(left, top).of_size(left.abs_diff(right), top.abs_diff(bottom)), ink);
    }
}

/// Makes the pixels from `left, top` up to, but without, `right, bottom` as dark as a backdrop for words must be.
pub(super) fn darken(picture: &mut RgbImage, [left, top, right, bottom]: [i32; 4]) {
    let inside = |value: i32, size: u32| u32::try_from(value).unwrap_or(0).min(size);
    for y in inside(top, picture.height())..inside(bottom, picture.height()) {
        for x in inside(left, picture.width())..inside(right, picture.width()) {
            for value in &mut picture.get_pixel_mut(x, y).0 {
                *value /= 4;
            }
        }
    }
}

/// Draws the frame between the box grown by `inner` pixels and the box grown by `outer` pixels on every side.
pub(super) fn outline(picture: &mut RgbImage, bbox: &BBox, inner: i32, outer: i32, ink: Rgb<u8>) {
    // Far outside is as good as anywhere outside, and safe to calculate with. NaN becomes 0.
    let pixel = |edge: f64| edge.round().clamp(-1e8, 1e8) as i32;
    let (left, top) = (pixel(bbox.x), pixel(bbox.y));
    // However thin, a box holds a pixel.
    let (right, bottom) = (pixel(bbox.x + bbox.w).max(left + 1), pixel(bbox.y + bbox.h).max(top + 1));
    let (far_left, far_top, far_right, far_bottom) = (left - outer, top - outer, right + outer, bottom + outer);
    fill(picture, [far_left, far_top, far_right, top - inner], ink);
    fill(picture, [far_left, bottom + inner, far_right, far_bottom], ink);
    fill(picture, [far_left, top - inner, left - inner, bottom + inner], ink);
    fill(picture, [right + inner, top - inner, far_right, bottom + inner], ink);
}

#[cfg(test)]
mod tests {
    use super::*;

    const INK: Rgb<u8> = Rgb([255, 0, 0]);

    fn drawn(bbox: BBox, inner: i32, outer: i32) -> Vec<(u32, u32)> {
        let mut picture = RgbImage::new(8, 6);
        outline(&mut picture, &bbox, inner, outer, INK);
        picture.enumerate_pixels().filter(|(.., pixel)| **pixel == INK).map(|(x, y, _)| (x, y)).collect()
    }

    #[test]
    fn an_outline_surrounds_its_box() {
        let around = drawn(BBox::new(2.0, 2.0, 2.0, 1.0), 0, 1);
        let expected = [(1, 1), (2, 1), (3, 1), (4, 1), (1, 2), (4, 2), (1, 3), (2, 3), (3, 3), (4, 3)];
        assert_eq!(around, expected);
        // Within the box for a negative growth.
        assert_eq!(drawn(BBox::new(2.0, 2.0, 3.0, 3.0), -1, 0).len(), 8);
        assert_eq!(drawn(BBox::new(2.2, 1.9, 0.0, 0.0), -1, 0), [(2, 2)]);
    }

    #[test]
    fn a_line_is_as_thick_as_it_is_told_and_without_gaps() {
        let mut picture = RgbImage::new(40, 30);
        line(&mut picture, (5.0, 5.0), (30.0, 15.0), 3, INK);
        for x in 5..30 {
            let inked = (0..30).filter(|&y| *picture.get_pixel(x, y) == INK).count();
            assert!((3..=4).contains(&inked), "{x}: {inked}");
        }
        assert_eq!(stroke(&RgbImage::new(360, 240)), 2);
        assert_eq!(stroke(&RgbImage::new(3840, 2160)), 11);
    }

    #[test]
    fn a_box_outside_is_cut_off() {
        assert_eq!(drawn(BBox::new(-5.0, -5.0, 7.0, 7.0), 0, 1), [(2, 0), (2, 1), (0, 2), (1, 2), (2, 2)]);
        for far in [-1e300, -1e9, -20.0, 20.0, 3e9, 1e300, f64::MAX] {
            assert_eq!(drawn(BBox::new(far, 1.0, 4.0, 4.0), 0, 2), []);
            assert_eq!(drawn(BBox::new(1.0, far, 4.0, 4.0), 0, 2), []);
        }
        assert_eq!(drawn(BBox::new(-1e300, -1e300, f64::MAX, f64::MAX), 0, 2), []);
        // Not a number: drawn somewhere or not, but without a panic.
        drawn(BBox::new(f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::NAN), 0, 2);
    }
}
