//! One picture with everything that is drawn on it.

use std::collections::VecDeque;

use image::{Rgb, RgbImage};
use ndarray::Array2;

use super::FrameRecord;
use super::drawing::{Letters, line, stroke};
use super::inset::{Corner, inset};
use super::overlay::{caption_of_many, draw, ink};
use super::overlay_labels::boxes_with_labels;
use crate::bbox::BBox;

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
    /// Where that is drawn.
    pub corner: Corner,
}

impl Painting {
    /// Draws it all. What is said of targets hides the response, never the other way.
    pub fn paint(&mut self, letters: &Letters) {
        let Self { picture, targets, truth, inset: map, corner } = self;
        let inset = map.as_ref().and_then(|map| inset(picture, map.view(), *corner));
        for target in targets.iter() {
            trail(picture, &target.trail, ink(target.record.state));
        }
        match &targets[..] {
            [one] if one.record.id.is_none() => draw(picture, &one.record, (truth.as_ref(), inset.as_ref()), letters),
            several => {
                boxes_with_labels(picture, several.iter().map(|target| &target.record), letters);
                caption_of_many(picture, several.iter().map(|target| &target.record), letters);
            }
        }
    }
}

/// Lines from centre to centre, half as thick as those of boxes.
fn trail(picture: &mut RgbImage, centers: &[(f32, f32)], ink: Rgb<u8>) {
    // A line is drawn pixel by pixel: one that leads far out of the picture is left out.
    let far = 4.0 * picture.width().max(picture.height()) as f32;
    let near = |(x, y): (f32, f32)| x.abs() < far && y.abs() < far;
    let thick = (stroke(picture) + 1) / 2;
    for pair in centers.windows(2).filter(|pair| near(pair[0]) && near(pair[1])) {
        line(picture, pair[0], pair[1], thick, ink);
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
    fn a_response_hides_neither_a_target_nor_words() {
        let bbox = BBox::new(250.0, 30.0, 30.0, 20.0);
        let record = FrameRecord { bbox, ..run().1[1].clone() };
        let letters = Letters::load(std::path::Path::new("seen.mp4")).unwrap();
        let painted = |inset: Option<Array2<f32>>, id| {
            let record = FrameRecord { id, ..record.clone() };
            let targets = vec![Drawn { record, trail: Vec::new() }];
            let picture = RgbImage::from_pixel(300, 200, Rgb([40; 3]));
            let mut painting = Painting { picture, targets, inset, ..Painting::default() };
            painting.paint(&letters);
            painting.picture
        };
        let map = || Some(Array2::zeros((9, 9)));
        for id in [None, Some(7)] {
            let (with, without) = (painted(map(), id), painted(None, id));
            let color = ink(record.state);
            let (left, inside) = ((249, 40), (265, 40));
            assert_eq!((with.get_pixel(left.0, left.1), without.get_pixel(left.0, left.1)), (&color, &color));
            assert_ne!(with.get_pixel(inside.0, inside.1), without.get_pixel(inside.0, inside.1));
        }
        // A line of words that does not fit beside it stands at the bottom.
        let words = |picture: &RgbImage, rows: std::ops::Range<u32>| {
            rows.flat_map(|y| (0..200).map(move |x| (x, y)))
                .any(|(x, y)| picture.get_pixel(x, y).0.iter().all(|&level| level > 150))
        };
        let (with, without) = (painted(map(), None), painted(None, None));
        assert_eq!([words(&with, 0..20), words(&with, 180..200)], [false, true]);
        assert_eq!([words(&without, 0..20), words(&without, 180..200)], [true, false]);
    }

    #[test]
    fn a_way_is_drawn_in_the_colour_of_the_state() {
        let mut picture = RgbImage::new(20, 20);
        trail(&mut picture, &[(2.0, 5.0), (12.0, 5.0), (1e30, 5.0)], Rgb([9, 9, 9]));
        assert_eq!(picture.get_pixel(7, 5).0, [9, 9, 9]);
        assert_eq!(picture.get_pixel(15, 5).0, [0, 0, 0]);
    }
}
