//! A response map as a picture for people.

use image::{Rgb, RgbImage};
use ndarray::ArrayView2;

use super::colormap::viridis;
use super::drawing::{Letters, fill, outline};
use crate::bbox::BBox;
use crate::tracker::ResponseMap;

/// About as long, in pixels, as the longer side of a map becomes.
const LONG_SIDE: usize = 480;
/// No element becomes a larger square than this.
const MAX_ENLARGEMENT: usize = 48;
/// The legend's words need this many pixels.
const MIN_WIDTH: usize = 250;

const MARGIN: usize = 12;
const LETTER_SIZE: f32 = 14.0;
const LINE: usize = 18;
const BAR: usize = 10;

const PAPER: Rgb<u8> = Rgb([22, 22, 26]);
const WORDS: Rgb<u8> = Rgb([230, 230, 230]);
const NO_NUMBER: Rgb<u8> = Rgb([110, 110, 110]);
const MARK: Rgb<u8> = Rgb([255, 70, 70]);
const BLACK: Rgb<u8> = Rgb([0, 0, 0]);

/// Row, column and value of the highest element; none when there is no finite one.
pub(super) fn peak(map: ArrayView2<'_, f32>) -> Option<((usize, usize), f32)> {
    let finite = map.indexed_iter().filter(|(_, value)| value.is_finite());
    let highest = finite.reduce(|best, next| if next.1 > best.1 { next } else { best });
    highest.map(|(place, value)| (place, *value))
}

/// Draws a response, given also as its centred map: every element a square, its value a colour of viridis from the
/// lowest to the highest (gray: not a number), the peak framed in red, the element of no motion between ticks at the
/// edges; a legend below says the range and how far the peak lies from the element of no motion, in pixels of the
/// image.
pub(super) fn heat_map(map: ArrayView2<'_, f32>, response: &ResponseMap<'_>, letters: &Letters) -> RgbImage {
    let (rows, columns) = map.dim();
    let enlargement = (LONG_SIDE / rows.max(columns).max(1)).clamp(1, MAX_ENLARGEMENT);
    let (map_width, map_height) = (columns * enlargement, rows * enlargement);
    let width = map_width.max(MIN_WIDTH) + 2 * MARGIN;
    let height = map_height + 3 * MARGIN + BAR + 2 * LINE;
    let mut picture = RgbImage::from_pixel(width as u32, height as u32, PAPER);

    let (low, high) = range(map);
    let color = |value| color(value, low, high);
    let (left, top) = ((width - map_width) / 2, MARGIN);
    for ((row, column), value) in map.indexed_iter() {
        fill(&mut picture, square(left + column * enlargement, top + row * enlargement, enlargement), color(*value));
    }
    ticks(&mut picture, (left, top), (map_width, map_height), response.middle(), enlargement);

    let legend = top + map_height + MARGIN;
    let Some(((row, column), value)) = peak(map) else {
        letters.write(&mut picture, "no finite value", (MARGIN as i32, legend as i32), LETTER_SIZE, WORDS);
        return picture;
    };
    mark(&mut picture, (left + column * enlargement, top + row * enlargement), enlargement);
    let words = told(value, response.motion((row, column)));
    letters.write(&mut picture, &words, (MARGIN as i32, legend as i32), LETTER_SIZE, WORDS);
    bar(&mut picture, legend + LINE, width, [low, high], letters);
    picture
}

/// The legend's first line.
fn told(peak: f32, motion: (f64, f64)) -> String {
    // Rounded first, and zero added: no "-0.0".
    let [dx, dy] = [motion.0, motion.1].map(|pixels| (pixels * 10.0).round() / 10.0 + 0.0);
    format!("peak {peak:.3}, moved by {dx:+.1}, {dy:+.1} px")
}

/// The lowest and the highest of the finite values.
pub(super) fn range(map: ArrayView2<'_, f32>) -> (f32, f32) {
    let finite = map.iter().filter(|value| value.is_finite());
    finite.fold((f32::INFINITY, f32::NEG_INFINITY), |(lo, hi), &v| (lo.min(v), hi.max(v)))
}

/// The colour of a value on a map that goes from `low` to `high`.
pub(super) fn color(value: f32, low: f32, high: f32) -> Rgb<u8> {
    if value.is_finite() { viridis(share(value, low, high)) } else { NO_NUMBER }
}

/// Where `value` lies between `low` and `high`, 0 to 1; the middle when they are one.
fn share(value: f32, low: f32, high: f32) -> f32 {
    // In f64, as the range of an f32 map may be larger than an f32.
    let (value, low, high) = (f64::from(value), f64::from(low), f64::from(high));
    if high > low { ((value - low) / (high - low)) as f32 } else { 0.5 }
}

pub(super) fn square(left: usize, top: usize, size: usize) -> [i32; 4] {
    [left, top, left + size, top + size].map(|edge| i32::try_from(edge).unwrap_or(i32::MAX))
}

/// Short lines outside of the map that point at the element of no motion.
fn ticks(
    picture: &mut RgbImage,
    (left, top): (usize, usize),
    (width, height): (usize, usize),
    (row, column): (usize, usize),
    enlargement: usize,
) {
    let x = (left + column * enlargement + enlargement / 2) as i32;
    let y = (top + row * enlargement + enlargement / 2) as i32;
    let (left, top, right, bottom) = (left as i32, top as i32, (left + width) as i32, (top + height) as i32);
    fill(picture, [x, top - 8, x + 1, top - 2], WORDS);
    fill(picture, [x, bottom + 2, x + 1, bottom + 8], WORDS);
    fill(picture, [left - 8, y, left - 2, y + 1], WORDS);
    fill(picture, [right + 2, y, right + 8, y + 1], WORDS);
}

/// A frame around the peak's square.
fn mark(picture: &mut RgbImage, (left, top): (usize, usize), enlargement: usize) {
    let peak = BBox::new(left as f64, top as f64, enlargement as f64, enlargement as f64);
    // Small squares are framed at a distance, so that they stay in sight.
    let gap = if enlargement < 8 { 4 } else { 0 };
    outline(picture, &peak, gap, gap + 1, BLACK);
    outline(picture, &peak, gap + 1, gap + 3, MARK);
    outline(picture, &peak, gap + 3, gap + 4, BLACK);
}

/// The range of values and its colours.
fn bar(picture: &mut RgbImage, top: usize, width: usize, [low, high]: [f32; 2], letters: &Letters) {
    let (left, right) = (MARGIN, width - MARGIN);
    for x in left..right {
        let value = (x - left) as f32 / (right - left).max(2).saturating_sub(1) as f32;
        let ink = viridis(if high > low { value } else { 0.5 });
        fill(picture, [x as i32, top as i32, x as i32 + 1, (top + BAR) as i32], ink);
    }
    let (low, high) = (format!("{low:.3}"), format!("{high:.3}"));
    let words = (top + BAR + 2) as i32;
    let indent = letters.extent(&high, LETTER_SIZE).0 as i32;
    letters.write(picture, &low, (left as i32, words), LETTER_SIZE, WORDS);
    letters.write(picture, &high, (right as i32 - indent, words), LETTER_SIZE, WORDS);
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ndarray::{Array2, array};

    use super::*;
    use crate::tracker::ResponseLayout;

    fn response(values: &Array2<f32>, layout: ResponseLayout) -> ResponseMap<'_> {
        ResponseMap { values: values.view(), layout, center: (50.0, 50.0), step: (4.0, 4.0), angle: 0.0 }
    }

    fn drawn(map: &Array2<f32>) -> RgbImage {
        let response = response(map, ResponseLayout::Centered);
        heat_map(map.view(), &response, &Letters::load(Path::new("test")).unwrap())
    }

    #[test]
    fn a_still_frame_has_not_moved() {
        for (rows, columns) in [(5, 7), (4, 6), (5, 6), (1, 1), (1, 9)] {
            // The highest score is that of no motion, as in a frame that shows the same as the one before.
            let mut wrapped = Array2::zeros((rows, columns));
            wrapped[[0, 0]] = 1.0;
            let mut centered = Array2::zeros((rows, columns));
            centered[[rows / 2, columns / 2]] = 1.0;
            for (values, layout) in [(wrapped, ResponseLayout::Wrapped), (centered, ResponseLayout::Centered)] {
                let response = response(&values, layout);
                let map = response.centered();
                let (place, _) = peak(map.view()).unwrap();
                assert_eq!(response.motion(place), (0.0, 0.0), "{rows}x{columns}, {layout:?}");
                // The ticks stand in the row and the column of the peak.
                let picture = heat_map(map.view(), &response, &Letters::load(Path::new("test")).unwrap());
                let size = (LONG_SIDE / rows.max(columns)).min(MAX_ENLARGEMENT);
                let left = (picture.width() as usize - columns * size) / 2;
                let x = (0..picture.width()).find(|&x| *picture.get_pixel(x, MARGIN as u32 - 6) == WORDS).unwrap();
                assert_eq!((x as usize - left) / size, place.1, "{rows}x{columns}, {layout:?}");
                let tick = (0..MARGIN + rows * size).find(|&y| *picture.get_pixel(left as u32 - 6, y as u32) == WORDS);
                assert_eq!((tick.unwrap() - MARGIN) / size, place.0, "{rows}x{columns}, {layout:?}");
            }
        }
    }

    #[test]
    fn a_peak_that_is_turned_moves_as_the_image_does() {
        let mut values = Array2::zeros((5, 5));
        values[[2, 4]] = 1.0;
        let angle = std::f64::consts::FRAC_PI_2;
        let response = ResponseMap { angle, ..response(&values, ResponseLayout::Centered) };
        let (place, value) = peak(values.view()).unwrap();
        assert_eq!(told(value, response.motion(place)), "peak 1.000, moved by +0.0, +8.0 px");
        assert_eq!(told(value, (-0.04, -0.06)), "peak 1.000, moved by +0.0, -0.1 px");
    }

    /// The colour in the middle of an element.
    fn at(picture: &RgbImage, map: &Array2<f32>, row: usize, column: usize) -> Rgb<u8> {
        let size = (LONG_SIDE / map.nrows().max(map.ncols())).min(MAX_ENLARGEMENT);
        let left = (picture.width() as usize - map.ncols() * size) / 2;
        let (x, y) = (left + column * size + size / 2, MARGIN + row * size + size / 2);
        *picture.get_pixel(x as u32, y as u32)
    }

    #[test]
    fn low_is_dark_high_is_bright_and_no_number_is_gray() {
        let map = array![[0.0, 0.5, 1.0], [f32::NAN, f32::INFINITY, -0.0]];
        let picture = drawn(&map);
        assert_eq!(at(&picture, &map, 0, 0), viridis(0.0));
        assert_eq!(at(&picture, &map, 0, 1), viridis(0.5));
        assert_eq!(at(&picture, &map, 0, 2), viridis(1.0));
        assert_eq!(at(&picture, &map, 1, 0), NO_NUMBER);
        assert_eq!(at(&picture, &map, 1, 1), NO_NUMBER);
        assert_eq!(peak(map.view()), Some(((0, 2), 1.0)));
        assert!(picture.pixels().any(|pixel| *pixel == MARK));
    }

    #[test]
    fn odd_maps_are_drawn_too() {
        let nothing = array![[f32::NAN]];
        assert_eq!(peak(nothing.view()), None);
        assert_eq!(at(&drawn(&nothing), &nothing, 0, 0), NO_NUMBER);
        let one = array![[3.0]];
        assert_eq!(at(&drawn(&one), &one, 0, 0), viridis(0.5));
        let constant = Array2::from_elem((5, 9), -1.0);
        assert_eq!(at(&drawn(&constant), &constant, 4, 8), viridis(0.5));
        let huge = array![[f32::MIN, f32::MAX]];
        assert_eq!(at(&drawn(&huge), &huge, 0, 1), viridis(1.0));
        drawn(&Array2::zeros((0, 4)));
        // Larger than the picture would be: one pixel an element.
        assert!(drawn(&Array2::zeros((3, 2000))).width() >= 2000);
    }
}
