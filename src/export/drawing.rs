//! Lines, letters, colours and response maps on a picture, clipped to it.

use ab_glyph::FontRef;
use image::{Rgb, RgbImage};
use imageproc::drawing::draw_filled_rect_mut;
use imageproc::rect::Rect;
use ndarray::ArrayView2;

use crate::bbox::BBox;

/// The built-in font, DejaVu Sans Mono: half as many bytes as DejaVu Sans.
pub(super) fn font() -> FontRef<'static> {
    FontRef::try_from_slice(dejavu::sans_mono::regular()).expect("the built-in font is a font")
}

/// The thickness of lines, which grows with the picture.
pub(super) fn stroke(picture: &RgbImage) -> i32 {
    (picture.width().min(picture.height()) / 200 + 1).min(24) as i32
}

/// Draws a line, `thick` pixels thick.
pub(super) fn line(picture: &mut RgbImage, from: (f32, f32), to: (f32, f32), thick: i32, ink: Rgb<u8>) {
    let steps = (to.0 - from.0).abs().max((to.1 - from.1).abs()).ceil().max(1.0) as i32;
    for step in 0..=steps {
        let share = step as f32 / steps as f32;
        let at = |from: f32, to: f32| (from + (to - from) * share).round() as i32 - thick / 2;
        let (left, top) = (at(from.0, to.0), at(from.1, to.1));
        fill(picture, [left, top, left.saturating_add(thick), top.saturating_add(thick)], ink);
    }
}

/// Fills the pixels from `left, top` to `right, bottom`, the latter exclusive.
pub(super) fn fill(picture: &mut RgbImage, [left, top, right, bottom]: [i32; 4], ink: Rgb<u8>) {
    let [width, height] = [picture.width(), picture.height()].map(|size| i32::try_from(size).unwrap_or(i32::MAX));
    let (left, right) = (left.clamp(0, width), right.clamp(0, width));
    let (top, bottom) = (top.clamp(0, height), bottom.clamp(0, height));
    if right > left && bottom > top {
        draw_filled_rect_mut(picture, Rect::at(left, top).of_size(left.abs_diff(right), top.abs_diff(bottom)), ink);
    }
}

/// Darkens the background of text, `right, bottom` exclusive.
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

/// Fills the frame between two rectangles: the box grown by `inner` and the box grown by `outer` pixels on every side.
pub(super) fn outline(picture: &mut RgbImage, bbox: &BBox, inner: i32, outer: i32, ink: Rgb<u8>) {
    // Clamping avoids overflow; NaN becomes 0.
    let pixel = |edge: f64| edge.round().clamp(-1e8, 1e8) as i32;
    let (left, top) = (pixel(bbox.x), pixel(bbox.y));
    // A box has at least one pixel.
    let (right, bottom) = (pixel(bbox.x + bbox.w).max(left + 1), pixel(bbox.y + bbox.h).max(top + 1));
    let (far_left, far_top, far_right, far_bottom) = (left - outer, top - outer, right + outer, bottom + outer);
    fill(picture, [far_left, far_top, far_right, top - inner], ink);
    fill(picture, [far_left, bottom + inner, far_right, far_bottom], ink);
    fill(picture, [far_left, top - inner, left - inner, bottom + inner], ink);
    fill(picture, [right + inner, top - inner, far_right, bottom + inner], ink);
}

/// Makes dashes of an outline that is `thick` pixels wide, by gaps in `ink`.
pub(super) fn dashes(picture: &mut RgbImage, bbox: &BBox, thick: i32, ink: Rgb<u8>) {
    let [left, top, right, bottom] =
        [bbox.x, bbox.y, bbox.x + bbox.w, bbox.y + bbox.h].map(|edge| edge.round().clamp(-1e8, 1e8) as i32);
    let gap = 3 * thick;
    let (width, height) = (picture.width().min(i32::MAX as u32) as i32, picture.height().min(i32::MAX as u32) as i32);
    // Only gaps within the picture are drawn.
    let gaps = |from: i32, to: i32, side: i32| {
        let first = from + gap + (-from - 2 * gap).max(0) / (2 * gap) * 2 * gap;
        (first..to.min(side)).step_by(2 * gap as usize).map(move |at| (at, (at + gap).min(to)))
    };
    for (from, to) in gaps(left, right, width) {
        fill(picture, [from, top - thick, to, top], ink);
        fill(picture, [from, bottom, to, bottom + thick], ink);
    }
    for (from, to) in gaps(top, bottom, height) {
        fill(picture, [left - thick, from, left, to], ink);
        fill(picture, [right, from, right + thick, to], ink);
    }
}

/// Polynomial coefficients of red, green and blue, in rising powers.
///
/// Matt Zucker's fit of matplotlib's viridis (<https://www.shadertoy.com/view/WlfXRN>, public domain); viridis is by
/// Stéfan van der Walt and Nathaniel Smith, 2015.
const VIRIDIS: [[f32; 3]; 7] = [
    [0.277_727_33, 0.005_407_344_7, 0.334_099_8],
    [0.105_093_04, 1.404_613_5, 1.384_590_1],
    [-0.330_861_83, 0.214_847_56, 0.095_095_165],
    [-4.634_230_6, -5.799_101, -19.332_441],
    [6.228_27, 14.179_933, 56.690_55],
    [4.776_385, -13.745_145, -65.353_03],
    [-5.435_456, 4.645_852_6, 26.312_435],
];

/// Viridis, from dark blue at 0 over green to yellow at 1: perceptually uniform, also for colour-blind people.
pub(super) fn viridis(share: f32) -> Rgb<u8> {
    let share = share.clamp(0.0, 1.0);
    Rgb([0, 1, 2].map(|channel| {
        let value = VIRIDIS.iter().rev().fold(0.0, |sum, powers| sum * share + powers[channel]);
        (value.clamp(0.0, 1.0) * 255.0).round() as u8
    }))
}

/// Approximate length of the longer side of a heat map, in pixels.
const LONG_SIDE: usize = 480;
/// Largest square of an element.
const MAX_ENLARGEMENT: usize = 48;

const NO_NUMBER: Rgb<u8> = Rgb([110, 110, 110]);
const MARK: Rgb<u8> = Rgb([255, 70, 70]);
const BLACK: Rgb<u8> = Rgb([0, 0, 0]);

/// Row, column and value of the highest finite element.
pub(super) fn peak(map: ArrayView2<'_, f32>) -> Option<((usize, usize), f32)> {
    let finite = map.indexed_iter().filter(|(_, value)| value.is_finite());
    let highest = finite.reduce(|best, next| if next.1 > best.1 { next } else { best });
    highest.map(|(place, value)| (place, *value))
}

/// Draws a centred response map: a square per element in viridis from the lowest value to the highest (gray: not a
/// number), the peak framed in red.
pub(super) fn heat_map(map: ArrayView2<'_, f32>) -> RgbImage {
    let (rows, columns) = map.dim();
    let side = (LONG_SIDE / rows.max(columns).max(1)).clamp(1, MAX_ENLARGEMENT);
    let mut picture = RgbImage::new((columns * side).max(1) as u32, (rows * side).max(1) as u32);
    let (low, high) = range(map);
    for ((row, column), value) in map.indexed_iter() {
        fill(&mut picture, square(column * side, row * side, side), color(*value, low, high));
    }
    if let Some(((row, column), _)) = peak(map) {
        let peak = BBox::new((column * side) as f64, (row * side) as f64, side as f64, side as f64);
        outline(&mut picture, &peak, 0, 2, MARK);
        outline(&mut picture, &peak, 2, 3, BLACK);
    }
    picture
}

/// The lowest and the highest finite value.
pub fn range(map: ArrayView2<'_, f32>) -> (f32, f32) {
    let finite = map.iter().filter(|value| value.is_finite());
    finite.fold((f32::INFINITY, f32::NEG_INFINITY), |(lo, hi), &v| (lo.min(v), hi.max(v)))
}

/// The colour of a value between `low` and `high`.
pub(super) fn color(value: f32, low: f32, high: f32) -> Rgb<u8> {
    if value.is_finite() { viridis(share(value, low, high)) } else { NO_NUMBER }
}

/// The position of `value` between `low` and `high`, 0 to 1; the middle if they are equal.
fn share(value: f32, low: f32, high: f32) -> f32 {
    // The range of an f32 map can exceed f32.
    let (value, low, high) = (f64::from(value), f64::from(low), f64::from(high));
    if high > low { ((value - low) / (high - low)) as f32 } else { 0.5 }
}

pub(super) fn square(left: usize, top: usize, size: usize) -> [i32; 4] {
    [left, top, left + size, top + size].map(|edge| i32::try_from(edge).unwrap_or(i32::MAX))
}

/// The shorter side of a picture, as a multiple of the longer side of its inset.
const SIDES_PER_INSET: usize = 3;

/// Minimum pixels of an inset's longer side. Smaller insets are left out.
const MIN_INSET: usize = 16;

/// Pixels between inset and border.
const INSET_MARGIN: usize = 2;

const FRAME: Rgb<u8> = Rgb([230, 230, 230]);

/// Draws a centred map into the upper right corner, framed; returns its area, `None` if it would be too small.
pub(super) fn inset(picture: &mut RgbImage, map: ArrayView2<'_, f32>) -> Option<BBox> {
    let ((rows, columns), (width, height)) = (map.dim(), picture.dimensions());
    let (room, longer) = (width.min(height) as usize / SIDES_PER_INSET, rows.max(columns));
    if longer == 0 || room < MIN_INSET {
        return None;
    }
    // The size of the inset does not depend on the number of elements.
    let [wide, tall] = [columns, rows].map(|count| (room * count / longer).max(1));
    let (left, top) = ((width as usize).saturating_sub(wide + INSET_MARGIN), INSET_MARGIN);
    let place = BBox::new(left as f64, top as f64, wide as f64, tall as f64);
    let (low, high) = range(map);
    outline(picture, &place, 0, 1, FRAME);
    for y in 0..tall {
        for x in 0..wide {
            let value = map[[y * rows / tall, x * columns / wide]];
            fill(picture, square(left + x, top + y, 1), color(value, low, high));
        }
    }
    Some(place)
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};

    use super::*;

    const INK: Rgb<u8> = Rgb([255, 0, 0]);

    fn drawn(bbox: BBox, inner: i32, outer: i32) -> Vec<(u32, u32)> {
        let mut picture = RgbImage::new(8, 6);
        outline(&mut picture, &bbox, inner, outer, INK);
        picture.enumerate_pixels().filter(|(.., pixel)| **pixel == INK).map(|(x, y, _)| (x, y)).collect()
    }

    #[test]
    fn an_outline_surrounds_its_box_and_is_clipped() {
        let around = drawn(BBox::new(2.0, 2.0, 2.0, 1.0), 0, 1);
        assert_eq!(around, [(1, 1), (2, 1), (3, 1), (4, 1), (1, 2), (4, 2), (1, 3), (2, 3), (3, 3), (4, 3)]);
        assert_eq!(drawn(BBox::new(2.0, 2.0, 3.0, 3.0), -1, 0).len(), 8);
        assert_eq!(drawn(BBox::new(2.2, 1.9, 0.0, 0.0), -1, 0), [(2, 2)]);
        assert_eq!(drawn(BBox::new(-5.0, -5.0, 7.0, 7.0), 0, 1), [(2, 0), (2, 1), (0, 2), (1, 2), (2, 2)]);
        for far in [-1e300, -1e9, -20.0, 20.0, 3e9, 1e300, f64::MAX] {
            assert_eq!(drawn(BBox::new(far, 1.0, 4.0, 4.0), 0, 2), []);
        }
    }

    #[test]
    fn a_line_has_its_thickness_and_no_gaps() {
        let mut picture = RgbImage::new(40, 30);
        line(&mut picture, (5.0, 5.0), (30.0, 15.0), 3, INK);
        for x in 5..30 {
            let inked = (0..30).filter(|&y| *picture.get_pixel(x, y) == INK).count();
            assert!((3..=4).contains(&inked), "{x}: {inked}");
        }
        assert_eq!([(360, 240), (3840, 2160)].map(|(w, h)| stroke(&RgbImage::new(w, h))), [2, 11]);
    }

    #[test]
    fn the_colours_are_those_of_matplotlib() {
        // matplotlib.colormaps["viridis"] at 0, 1/4, 1/2, 3/4 and 1.
        let table = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
        for (step, expected) in table.into_iter().enumerate() {
            let Rgb(got) = viridis(step as f32 / 4.0);
            let distance = got.iter().zip(expected).map(|(&a, b): (_, u8)| a.abs_diff(b)).max();
            assert!(distance <= Some(6), "step {step}: {got:?}, not {expected:?}");
        }
    }

    /// The colour in the middle of an element.
    fn at(map: &Array2<f32>, row: usize, column: usize) -> Rgb<u8> {
        let size = (LONG_SIDE / map.nrows().max(map.ncols())).min(MAX_ENLARGEMENT);
        let [x, y] = [column, row].map(|place| (place * size + size / 2) as u32);
        *heat_map(map.view()).get_pixel(x, y)
    }

    #[test]
    fn heat_maps_go_from_the_lowest_to_the_highest_value() {
        let map = array![[0.0, 0.5, 1.0], [f32::NAN, f32::INFINITY, -0.0]];
        assert_eq!([0, 1, 2].map(|column| at(&map, 0, column)), [0.0, 0.5, 1.0].map(viridis));
        assert_eq!([0, 1].map(|column| at(&map, 1, column)), [NO_NUMBER; 2]);
        assert_eq!(peak(map.view()), Some(((0, 2), 1.0)));
        assert!(heat_map(map.view()).pixels().any(|pixel| *pixel == MARK));

        let empty = array![[f32::NAN]];
        assert_eq!((peak(empty.view()), at(&empty, 0, 0)), (None, NO_NUMBER));
        assert_eq!(at(&Array2::from_elem((5, 9), -1.0), 4, 8), viridis(0.5));
        assert_eq!(at(&array![[f32::MIN, f32::MAX]], 0, 1), viridis(1.0));
        heat_map(Array2::zeros((0, 4)).view());
        assert!(heat_map(Array2::zeros((3, 2000)).view()).width() >= 2000);
    }
}
