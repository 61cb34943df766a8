//! The records of a run by target, for documents in that order.

use super::FrameRecord;
use super::record::{BOX_DIGITS, rounded};
use crate::bbox::BBox;
use crate::tracker::State;

/// One target in one frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shape {
    /// 1-based position of the frame.
    pub index: usize,
    /// Seconds from the first frame of the source.
    pub time: Option<f64>,
    /// The upright box; for a rotated target, before its rotation about the centre.
    pub bbox: BBox,
    /// Rotation in degrees, clockwise, from 0 to 360.
    pub turn: f64,
    /// Whether the box was given.
    pub given: bool,
    /// Whether the target is visible.
    pub visible: bool,
}

impl Shape {
    /// The rotated corners, clockwise from the original top-left one.
    pub fn corners(&self) -> [(f64, f64); 4] {
        let BBox { w, h, .. } = self.bbox;
        let (x, y) = self.bbox.center();
        let (sin, cos) = self.turn.to_radians().sin_cos();
        let corner = |(w, h): (f64, f64)| (x + cos * w - sin * h, y + sin * w + cos * h);
        let (w, h) = (w / 2.0, h / 2.0);
        [(-w, -h), (w, -h), (w, h), (-w, h)].map(corner)
    }
}

/// The upright box and the rotation of a rectangle given by its corners.
fn turned_back([ax, ay, bx, by, cx, cy, dx, dy]: [f64; 8]) -> (BBox, f64) {
    let (w, h) = ((bx - ax).hypot(by - ay), (dx - ax).hypot(dy - ay));
    let (x, y) = ((ax + bx + cx + dx) / 4.0, (ay + by + cy + dy) / 4.0);
    let bbox = [x - w / 2.0, y - h / 2.0, w, h].map(|number| rounded(number, BOX_DIGITS));
    let turn = rounded((by - ay).atan2(bx - ax).to_degrees(), TURN_DIGITS);
    // Rounding can reach 360.
    (bbox.into(), rounded(turn.rem_euclid(360.0), TURN_DIGITS) % 360.0)
}

/// Decimals of an angle: a hundredth of a pixel at a radius of a thousand.
const TURN_DIGITS: i32 = 4;

/// One target over time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Track {
    pub id: u32,
    pub shapes: Vec<Shape>,
}

/// The tracks of a run, in the order in which they begin.
#[derive(Clone, Debug, Default)]
pub(super) struct Tracks(pub Vec<Track>);

impl Tracks {
    /// Adds a record. A record without a finite box repeats the last box.
    pub fn add(&mut self, record: &FrameRecord) {
        let id = record.id.unwrap_or(1);
        let track = match self.0.iter().position(|track| track.id == id) {
            Some(place) => &mut self.0[place],
            None => {
                self.0.push(Track { id, shapes: Vec::new() });
                let last = self.0.len() - 1;
                &mut self.0[last]
            }
        };
        let turned = record.polygon.filter(|corners| corners.iter().all(|number| number.is_finite())).map(turned_back);
        let here = record.finite_box().map(|bbox| turned.unwrap_or((bbox, 0.0)));
        let Some((bbox, turn)) = here.or(track.shapes.last().map(|shape| (shape.bbox, shape.turn))) else { return };
        let (given, visible) = (record.state == State::Initial, record.is_visible());
        track.shapes.push(Shape { index: record.index, time: record.time, bbox, turn, given, visible });
    }

    /// Position of the last frame, 0 without any.
    pub fn last(&self) -> usize {
        self.0.iter().filter_map(|track| track.shapes.last()).map(|shape| shape.index).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::record::tests::run;

    #[test]
    fn a_rotated_box_has_its_upright_box_and_angle() {
        let (_, records) = run();
        for degrees in [0.5_f64, 30.0, 90.0, 179.0, 200.0, 359.9] {
            let (sin, cos) = degrees.to_radians().sin_cos();
            let corner = |(x, y): (f64, f64)| [40.0 + cos * x - sin * y, 30.0 + sin * x + cos * y];
            let corners = [(-10.0, -5.0), (10.0, -5.0), (10.0, 5.0), (-10.0, 5.0)].map(corner);
            let polygon: [f64; 8] = corners.concat().try_into().unwrap();
            let mut tracks = Tracks::default();
            tracks.add(&FrameRecord { polygon: Some(polygon), ..records[1].clone() });
            let shape = tracks.0[0].shapes[0];
            assert!((shape.turn - degrees).abs() < 1e-3, "{degrees}: {shape:?}");
            assert_eq!((shape.bbox.w, shape.bbox.h, shape.bbox.center()), (20.0, 10.0, (40.0, 30.0)));
            let found = shape.corners().map(|(x, y)| [x, y]).concat();
            assert!(found.iter().zip(polygon).all(|(found, at)| (found - at).abs() < 0.001), "{found:?} {polygon:?}");
        }
        // An upright box stays bit-identical.
        let mut tracks = Tracks::default();
        tracks.add(&records[1]);
        assert_eq!((tracks.0[0].shapes[0].bbox, tracks.0[0].shapes[0].turn), (records[1].bbox, 0.0));
    }
}
