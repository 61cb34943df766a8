//! A response map in a corner of the picture.

use image::{Rgb, RgbImage};
use ndarray::ArrayView2;

use super::drawing::{fill, outline};
use super::heat_map::{color, range, square};
use crate::bbox::BBox;

/// The share of a picture's shorter side that an inset takes.
const SHARE: usize = 3;

/// Below so many pixels it shows nothing, and is left out.
const SMALLEST: usize = 16;

/// Pixels between it and the border.
const MARGIN: usize = 2;

const FRAME: Rgb<u8> = Rgb([230, 230, 230]);

/// Where it stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Corner {
    #[default]
    UpperRight,
    UpperLeft,
    LowerRight,
    /// Where words stand that count targets.
    LowerLeft,
}

impl Corner {
    /// In the order in which they are taken.
    const ALL: [Self; 4] = [Self::UpperRight, Self::UpperLeft, Self::LowerRight, Self::LowerLeft];

    /// This one while no box lies there, else the first in which none does; where there is no such corner, this one.
    pub fn free_of(self, boxes: &[BBox], picture: (u32, u32), map: (usize, usize)) -> Self {
        let free = |corner: &Self| {
            let place = corner.place(picture, map);
            place.is_none_or(|place| boxes.iter().all(|bbox| bbox.intersection(&place) <= 0.0))
        };
        [self].into_iter().chain(Self::ALL).find(free).unwrap_or(self)
    }

    /// The pixels of a map of so many rows and columns in a picture of this width and height; `None` where it would be
    /// too small.
    pub fn place(self, (width, height): (u32, u32), (rows, columns): (usize, usize)) -> Option<BBox> {
        let room = width.min(height) as usize / SHARE;
        let longer = rows.max(columns);
        if longer == 0 || room < SMALLEST {
            return None;
        }
        // As many pixels for a map of many elements as for one of few.
        let [wide, high] = [columns, rows].map(|count| (room * count / longer).max(1));
        let far = |side: u32, length: usize| (side as usize).saturating_sub(length + MARGIN);
        let (right, low) = (far(width, wide), far(height, high));
        let (left, top) = match self {
            Self::UpperRight => (right, MARGIN),
            Self::UpperLeft => (MARGIN, MARGIN),
            Self::LowerRight => (right, low),
            Self::LowerLeft => (MARGIN, low),
        };
        Some(BBox::new(left as f64, top as f64, wide as f64, high as f64))
    }
}

/// Draws a centred map into a corner, framed, without words; where it stands.
pub(super) fn inset(picture: &mut RgbImage, map: ArrayView2<'_, f32>, corner: Corner) -> Option<BBox> {
    let (rows, columns) = map.dim();
    let place = corner.place(picture.dimensions(), (rows, columns))?;
    let (low, high) = range(map);
    let [left, top, wide, tall] = [place.x, place.y, place.w, place.h].map(|length| length as usize);
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
    use super::*;

    #[test]
    fn an_inset_goes_where_no_box_is_and_stays_there() {
        let (picture, map) = ((300, 200), (30, 40));
        let free = |corner: Corner, boxes: &[BBox]| corner.free_of(boxes, picture, map);
        let upper_right = BBox::new(250.0, 10.0, 30.0, 30.0);
        let upper_left = BBox::new(-5.0, -5.0, 30.0, 30.0);
        assert_eq!(free(Corner::default(), &[]), Corner::UpperRight);
        let moved = free(Corner::default(), &[upper_right]);
        assert_eq!(moved, Corner::UpperLeft);
        // It does not go back before it must.
        assert_eq!(free(moved, &[]), Corner::UpperLeft);
        assert_eq!(free(moved, &[upper_left]), Corner::UpperRight);
        assert_eq!(free(moved, &[upper_left, upper_right]), Corner::LowerRight);
        assert_eq!(free(moved, &[BBox::new(0.0, 0.0, 300.0, 200.0)]), moved);
        for corner in Corner::ALL {
            let place = corner.place(picture, map).unwrap();
            assert_eq!((place.w, place.h), (66.0, 49.0));
            assert!(place.visible_share(300, 200) == 1.0, "{corner:?}: {place:?}");
        }
        assert_eq!(Corner::default().place((40, 40), map), None);
    }
}
