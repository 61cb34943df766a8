//! Boxes of several targets, each with its name, state and confidence beside it.

use image::RgbImage;

use super::FrameRecord;
use super::drawing::{Letters, darken, outline, stroke};
use super::overlay::{BLACK, ink};
use crate::bbox::BBox;

/// Pixels around the words.
const MARGIN: i32 = 3;

/// Left, top, right and bottom, the last two without.
type Area = [i32; 4];

/// Draws all boxes, and then a label at each that hides no other label, where there is a place for it.
pub(super) fn boxes_with_labels<'a>(
    picture: &mut RgbImage,
    records: impl Iterator<Item = &'a FrameRecord>,
    letters: &Letters,
) {
    let line = stroke(picture);
    let known: Vec<_> = records.filter_map(|record| Some((record, record.finite_box()?))).collect();
    for (record, bbox) in &known {
        outline(picture, bbox, line, line + 1, BLACK);
        outline(picture, bbox, 0, line, ink(record.state));
    }
    let size = (picture.width().min(picture.height()) as f32 / 28.0).clamp(11.0, 90.0);
    let mut taken = Vec::new();
    for (record, bbox) in &known {
        let words = words(record);
        let (width, height) = letters.extent(&words, size);
        let extent = [width, height].map(|side| i32::try_from(side).unwrap_or(i32::MAX / 4) + 2 * MARGIN);
        let area = place(bbox, extent, picture.dimensions(), line, &taken);
        darken(picture, area);
        letters.write(picture, &words, (area[0] + MARGIN, area[1] + MARGIN), size, ink(record.state));
        taken.push(area);
    }
}

fn words(record: &FrameRecord) -> String {
    let sure = record.confidence.filter(|_| record.state != crate::tracker::State::Initial);
    let sure = sure.map_or(String::new(), |confidence| format!(" {confidence:.2}"));
    format!("{} {}{sure}", record.id.unwrap_or(1), record.state)
}

/// Where a label of this width and height stands: above the box, below it or in it, whatever of these hides no label
/// that is there already. Where each would, it stands above the box, or in it where there is no room above.
fn place(bbox: &BBox, [width, height]: [i32; 2], picture: (u32, u32), line: i32, taken: &[Area]) -> Area {
    let pixel = |edge: f64| edge.clamp(-1e8, 1e8) as i32;
    let (left, right) = (pixel(bbox.x), pixel(bbox.x + bbox.w) - width);
    let (above, within) = (pixel(bbox.y) - line - 1 - height, pixel(bbox.y) + line + 1);
    let below = pixel(bbox.y + bbox.h) + line + 1;
    // All of the words are seen where they fit, beside what of the box lies outside.
    let most = |side: u32, length: i32| i32::try_from(side).unwrap_or(i32::MAX).saturating_sub(length).max(0);
    let (most_left, most_top) = (most(picture.0, width), most(picture.1, height));
    let area = |left: i32, top: i32| {
        let (left, top) = (left.clamp(0, most_left), top.clamp(0, most_top));
        [left, top, left + width, top + height]
    };
    let all = if above >= 0 { [above, below, within] } else { [within, below, above] };
    let tops = all.into_iter().filter(|top| (0..=most_top).contains(top));
    let mut areas = tops.flat_map(|top| [area(left, top), area(right, top)]);
    let free = |area: &Area| !taken.iter().any(|other| overlap(area, other));
    areas.find(free).unwrap_or_else(|| area(left, all[0]))
}

fn overlap([left, top, right, bottom]: &Area, [left2, top2, right2, bottom2]: &Area) -> bool {
    left < right2 && left2 < right && top < bottom2 && top2 < bottom
}

#[cfg(test)]
mod tests {
    use super::*;

    const PICTURE: (u32, u32) = (200, 100);

    #[test]
    fn labels_of_targets_side_by_side_do_not_hide_each_other() {
        let mut taken: Vec<Area> = Vec::new();
        for x in [60.0, 75.0, 90.0, 62.0] {
            let area = place(&BBox::new(x, 40.0, 14.0, 20.0), [50, 12], PICTURE, 2, &taken);
            assert!(taken.iter().all(|other| !overlap(&area, other)), "{area:?} over {taken:?}");
            taken.push(area);
        }
        assert_eq!(taken[0], [60, 25, 110, 37]);
        // Where there is no place left, above its box as if it were alone.
        let everywhere = [0, 0, 200, 100];
        assert_eq!(place(&BBox::new(60.0, 40.0, 14.0, 20.0), [50, 12], PICTURE, 2, &[everywhere]), taken[0]);
    }

    #[test]
    fn a_label_lies_within_the_picture_wherever_its_box_is() {
        for (x, y, expected) in [
            (0.0, 0.0, [0, 3, 50, 15]),
            (190.0, 50.0, [150, 35, 200, 47]),
            (-1e300, 1e300, [0, 88, 50, 100]),
            (1e300, -1e300, [150, 0, 200, 12]),
        ] {
            assert_eq!(place(&BBox::new(x, y, 10.0, 10.0), [50, 12], PICTURE, 2, &[]), expected, "{x}, {y}");
        }
        // Words that are wider than the picture.
        assert_eq!(place(&BBox::new(5.0, 50.0, 9.0, 9.0), [900, 12], PICTURE, 2, &[]), [0, 35, 900, 47]);
    }
}
