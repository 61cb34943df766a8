//! The trackers of one target, each as far as it has come.

use super::maps::Map;
use crate::bbox::BBox;
use crate::error::{Error, Result};
use crate::export::FrameRecord;
use crate::media::Item;
use crate::run::{Cause, Outcome, Session};
use crate::tracker::{Params, Tracker};
use std::ops::Range;
use std::time::Duration;

/// Most trackers that a target has: each has the memory of its model.
const MOST: usize = 3;

/// A tracker that has seen all frames of a piece up to one of them.
pub struct Head {
    target: u32,
    /// Where its piece begins.
    start: usize,
    /// The frame that it has seen last.
    position: usize,
    /// What it said of that.
    bbox: BBox,
    session: Session<Tracker>,
}

/// What became of a target in one frame.
pub struct Seen {
    /// The record.
    pub record: FrameRecord,
    /// The response map, where there is one.
    pub map: Option<Map>,
}

impl Head {
    /// A tracker that learns `target` in `bbox` of the frame `item`.
    ///
    /// # Errors
    /// When the frame could not be read, or the box cannot be learned.
    pub fn begin(params: &Params, target: u32, item: &Item, bbox: BBox) -> Result<(Self, Seen)> {
        let frame = item.frame.as_ref().map_err(|error| Error::Box { bbox, reason: error.to_string() })?;
        let mut session = Session::of(Tracker::new(params.clone())?, item.position, bbox);
        let outcomes = session.feed(item.position, frame).map_err(Cause::into_error)?;
        let outcome = *outcomes.first().ok_or(Error::NotInitialized)?;
        let head = Self { target, start: item.position, position: item.position, bbox, session };
        let seen = head.seen(item, &outcome);
        Ok((head, seen))
    }

    /// Follows the target in the next frame. One that cannot be read, or has another size, leaves the box as it is.
    ///
    /// # Errors
    /// What a tracker cannot go on after.
    pub fn follow(&mut self, item: &Item) -> Result<Seen> {
        let missing = Outcome { target: 0, bbox: self.bbox, estimate: None, took: Duration::ZERO };
        let outcome = match item.frame.as_ref().map(|frame| self.session.feed(item.position, frame)) {
            Err(_) | Ok(Err(Cause::Frame(_))) => missing,
            Ok(Err(cause)) => return Err(cause.into_error()),
            Ok(Ok(outcomes)) => *outcomes.first().ok_or(Error::NotInitialized)?,
        };
        (self.position, self.bbox) = (item.position, outcome.bbox);
        Ok(self.seen(item, &outcome))
    }

    fn seen(&self, item: &Item, outcome: &Outcome) -> Seen {
        let response = outcome.estimate.and_then(|_| self.session.follower(outcome.target)?.response());
        let record = FrameRecord::new(item, outcome, Some(self.target));
        Seen { record, map: response.as_ref().map(Map::of) }
    }
}

/// The trackers of one target, of its last pieces: a correction of an early frame leaves the tracker of a later piece
/// where it is.
#[derive(Default)]
pub struct Heads(Vec<Head>);

impl Heads {
    /// The frame that must be seen next so that the record at `missing`, of the piece from `start` on, can be made.
    pub fn next(&self, start: usize, missing: usize) -> usize {
        self.usable(start, missing).map_or(start, |place| self.0[place].position + 1)
    }

    /// Takes out the tracker that [`Heads::next`] counts on; `None` where the piece is to be begun.
    pub fn take(&mut self, start: usize, missing: usize) -> Option<Head> {
        self.usable(start, missing).map(|place| self.0.remove(place))
    }

    /// Puts a tracker back, or a new one in; the one that was used longest ago makes room.
    pub fn put(&mut self, head: Head) {
        self.0.retain(|known| known.start != head.start);
        self.0.push(head);
        if self.0.len() > MOST {
            self.0.remove(0);
        }
    }

    /// Forgets trackers that have seen frames whose records are gone.
    pub fn forget(&mut self, gone: &Range<usize>) {
        self.0.retain(|head| !gone.contains(&head.position));
    }

    fn usable(&self, start: usize, missing: usize) -> Option<usize> {
        self.0.iter().position(|head| head.start == start && head.position < missing)
    }
}
