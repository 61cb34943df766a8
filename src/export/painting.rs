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
        for target in targets.iter() {
            trail(picture, &target.trail, ink(target.record.state));
        }
        match &targets[..] {
            [one] if one.record.id.is_none() => draw(picture, &one.record, truth.as_ref(), letters),
            several => {
                several.iter().for_each(|target| label(picture, &target.record, letters));
                caption_of_many(picture, several.iter().map(|target| &target.record), letters);
            }
        }
        if let Some(map) = map {
            inset(picture, map.view());
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
    fn a_way_is_drawn_in_the_colour_of_the_state() {
        let mut picture = RgbImage::new(20, 20);
        trail(&mut picture, &[(2.0, 5.0), (12.0, 5.0), (1e30, 5.0)], Rgb([9, 9, 9]));
        assert_eq!(picture.get_pixel(7, 5).0, [9, 9, 9]);
        assert_eq!(picture.get_pixel(15, 5).0, [0, 0, 0]);
    }
}
