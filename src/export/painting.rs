//! One picture with everything that is drawn on it.

use std::collections::VecDeque;

use image::{Rgb, RgbImage};
use imageproc::drawing::draw_line_segment_mut;
use ndarray::Array2;

use super::FrameRecord;
use super::drawing::Letters;
use super::heat_map::inset;
use super::overlay::{caption_of_many, draw, ink, label};
use crate::geometry::BBox;

/// How many frames back the way of a target is shown.
const TRAIL: usize = 30;

/// A target in a frame, and the way that it came.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Drawn {
    pub record: FrameRecord,
    /// Centres of its boxes, the oldest first.
    pub trail: Vec<(f32, f32)>,
}

/// A picture and what is drawn on it.
#[derive(Clone, Debug, Default)]
pub(super) struct Painting {
    pub picture: RgbImage,
    pub targets: Vec<Drawn>,
    pub truth: Option<BBox>,
    /// A response map, the element of no motion in the middle.
    pub inset: Option<Array2<f32>>,
}

impl Painting {
    /// Draws it all.
    pub fn paint(&mut self, letters: &Letters) {
        let Self { picture, targets, truth, inset: map } = self;
        // Beneath all else: a target may be there.
        let taken = map.as_ref().map_or(0, |map| inset(picture, map.view()));
        for target in targets.iter() {
            trail(picture, &target.trail, ink(target.record.state));
        }
        match &targets[..] {
            [one] if one.record.id.is_none() => draw(picture, &one.record, truth.as_ref(), taken, letters),
            several => {
                several.iter().for_each(|target| label(picture, &target.record, letters));
                caption_of_many(picture, several.iter().map(|target| &target.record), letters);
            }
        }
    }
}

/// Lines from centre to centre.
fn trail(picture: &mut RgbImage, centers: &[(f32, f32)], ink: Rgb<u8>) {
    // A line is drawn pixel by pixel: one that leads far out of the picture is left out.
    let far = 4.0 * picture.width().max(picture.height()) as f32;
    let near = |(x, y): (f32, f32)| x.abs() < far && y.abs() < far;
    for pair in centers.windows(2).filter(|pair| near(pair[0]) && near(pair[1])) {
        draw_line_segment_mut(picture, pair[0], pair[1], ink);
    }
}

/// The ways of all targets.
#[derive(Clone, Debug, Default)]
pub(super) struct Trails(Vec<(Option<u32>, Trail)>);

/// Centres, the oldest first.
type Trail = VecDeque<(f32, f32)>;

impl Trails {
    /// Notes where a target is; the way that it came.
    pub fn follow(&mut self, record: &FrameRecord) -> Vec<(f32, f32)> {
        let place = match self.0.iter().position(|(id, _)| *id == record.id) {
            Some(place) => place,
            None => {
                self.0.push((record.id, VecDeque::with_capacity(TRAIL + 1)));
                self.0.len() - 1
            }
        };
        let way = &mut self.0[place].1;
        if let Some(bbox) = record.finite_box() {
            let (x, y) = bbox.center();
            way.push_back((x as f32, y as f32));
        }
        if way.len() > TRAIL {
            way.pop_front();
        }
        way.iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::record::tests::run;

    #[test]
    fn each_target_has_a_way_of_its_own_and_it_is_short() {
        let record = run().1[1].clone();
        let mut trails = Trails::default();
        for step in 0..100 {
            for id in [1, 2] {
                let bbox = BBox::new(f64::from(step * id), 0.0, 2.0, 2.0);
                let way = trails.follow(&FrameRecord { id: Some(id as u32), bbox, ..record.clone() });
                assert_eq!(way.len(), TRAIL.min(step as usize + 1));
                assert_eq!(way.last().copied(), Some(((step * id) as f32 + 1.0, 1.0)));
            }
        }
    }

    #[test]
    fn an_inset_covers_neither_words_nor_a_box() {
        let letters = Letters::load(std::path::Path::new("a.png")).unwrap();
        let record = |bbox| FrameRecord { id: None, bbox, ..run().1[1].clone() };
        let painted = |bbox: BBox, map: Option<Array2<f32>>| {
            let target = Drawn { record: record(bbox), trail: Vec::new() };
            let picture = RgbImage::from_pixel(320, 240, Rgb([40, 40, 40]));
            let mut painting = Painting { picture, targets: vec![target], truth: None, inset: map };
            painting.paint(&letters);
            painting.picture
        };
        let map = || Some(Array2::from_shape_fn((9, 9), |(row, column)| (row * column) as f32));
        // Words are the pixels that are whiter than any other: all of them are there, or a shorter line is.
        let words = |picture: &RgbImage, rows: std::ops::Range<u32>| {
            let white = |&(_, y, pixel): &(u32, u32, &Rgb<u8>)| rows.contains(&y) && pixel.0.iter().all(|&v| v > 240);
            picture.enumerate_pixels().filter(white).map(|(x, ..)| x).max()
        };
        let middle = BBox::new(100.0, 100.0, 40.0, 40.0);
        let plain = words(&painted(middle, None), 0..40);
        assert!(plain > Some(240), "{plain:?}");
        assert_eq!(words(&painted(middle, map()), 200..240), plain);
        // With the target below, what fits beside it is said above.
        let low = painted(BBox::new(100.0, 190.0, 40.0, 40.0), map());
        assert!(words(&low, 0..40).is_some_and(|end| end < 230) && words(&low, 200..240).is_none());
        // A target in that corner is seen.
        let corner = BBox::new(270.0, 30.0, 20.0, 20.0);
        assert_eq!(painted(corner, map()).get_pixel(269, 40).0, ink(record(corner).state).0);
    }

    #[test]
    fn a_way_is_drawn_in_the_colour_of_the_state() {
        let mut picture = RgbImage::new(20, 20);
        trail(&mut picture, &[(2.0, 5.0), (12.0, 5.0), (1e30, 5.0)], Rgb([9, 9, 9]));
        assert_eq!(picture.get_pixel(7, 5).0, [9, 9, 9]);
        assert_eq!(picture.get_pixel(15, 5).0, [0, 0, 0]);
    }
}
