//! What each target did, for documents that are ordered by target and not by frame.

use super::FrameRecord;
use super::mot::is_believed;
use crate::geometry::BBox;
use crate::tracker::State;

/// One target in one frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shape {
    /// 1-based position of the frame.
    pub index: usize,
    /// Seconds from the first frame of the source.
    pub time: Option<f64>,
    pub bbox: BBox,
    /// Whether a person drew the box.
    pub given: bool,
    /// Whether the target is there at all.
    pub seen: bool,
}

/// One target, and where it was.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Track {
    pub id: u32,
    pub shapes: Vec<Shape>,
}

/// The tracks of a run, in the order in which they begin.
#[derive(Clone, Debug, Default)]
pub(super) struct Tracks(pub Vec<Track>);

impl Tracks {
    /// Notes a record. A box that is no number, or that lasts while nothing is believed, stays the last one.
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
        let Some(bbox) = record.finite_box().or(track.shapes.last().map(|shape| shape.bbox)) else { return };
        let (given, seen) = (record.state == State::Initial, is_believed(record));
        track.shapes.push(Shape { index: record.index, time: record.time, bbox, given, seen });
    }

    /// Position of the last frame.
    pub fn last(&self) -> usize {
        self.0.iter().filter_map(|track| track.shapes.last()).map(|shape| shape.index).max().unwrap_or(0)
    }
}
