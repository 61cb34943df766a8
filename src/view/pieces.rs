//! The pieces of targets: trackers that follow one from a given box on, and the frames between two given boxes, which are
//! tracked from both or interpolated.

use std::ops::Range;
use std::sync::Arc;
use std::thread::JoinHandle;

use super::state::Map;
use super::track::Missing;
use crate::bbox::{BBox, Turned};
use crate::cancel::{CancelToken, spawn};
use crate::error::{Error, Result};
use crate::export::{FrameRecord, Given};
use crate::media::{Demand, Info, Item, Source};
use crate::run::{Cause, Passes, Session};
use crate::tracker::{State, Tracker};

/// A tracker that has seen all frames of a piece up to one of them.
pub struct Checkpoint {
    pub target: u32,
    /// The box that begins its piece.
    pub given: Given,
    /// The frame that it is to see next.
    next: usize,
    session: Session<Tracker>,
}

impl Checkpoint {
    /// A tracker that is to learn `target` in a given box; `None` without one.
    pub fn new(tracker: &Tracker, target: u32, given: Given) -> Option<Self> {
        let session = Session::of(tracker.clone(), given.frame, given.bbox?);
        Some(Self { target, given, next: given.frame, session })
    }

    /// Learns the target in its first frame, and tracks it in the next ones. Of these, an unreadable one or one of another
    /// size keeps the box. Returns the record, and the response map where there is one.
    ///
    /// # Errors
    /// When the first frame could not be read, or the box cannot be learned; a failure of the tracker itself.
    pub fn follow(mut self, item: &Item) -> Result<(Self, FrameRecord, Option<Map>)> {
        let first = self.given.bbox.ok_or(Error::NotInitialized)?;
        let begins = self.session.last(1).is_none();
        if let (true, Err(error)) = (begins, &item.frame) {
            return Err(Error::Box { bbox: first, reason: error.to_string() });
        }
        self.session.feed_item(item, !begins).map_err(Cause::into_error)?;
        let mut outcome = *self.session.outcomes().first().ok_or(Error::NotInitialized)?;
        self.next = item.position + 1;
        let response = outcome.estimate.and_then(|_| self.session.follower(1)?.response());
        let map = response.as_ref().map(|response| Map::of(self.target, response));
        if let (Some(corners), Some(estimate)) = (self.given.polygon, &mut outcome.estimate) {
            let now = turned_of(estimate.bbox, estimate.polygon);
            let carried = Turned::from(corners).carried(&first, &now);
            estimate.polygon = if begins { self.given.polygon } else { carried.corners() };
            estimate.bbox = if begins { first } else { carried.bbox() };
            outcome.bbox = estimate.bbox;
        }
        let record = FrameRecord::new(item, &outcome, Some(self.target));
        Ok((self, record, map))
    }
}

/// The trackers of the latest pieces of each target, so that a correction of an early frame keeps that of a later piece.
#[derive(Default)]
pub struct Checkpoints(Vec<Checkpoint>);

/// Maximum trackers per target; each holds its own model.
const MAX_CHECKPOINTS: usize = 3;

impl Checkpoints {
    /// The next frame to track for what is missing.
    pub fn next(&self, missing: &Missing) -> usize {
        self.usable(missing).map_or(missing.from.frame, |place| self.0[place].next)
    }

    /// Takes out the tracker that continues the piece; `None` if the piece must begin.
    pub fn take(&mut self, missing: &Missing) -> Option<Checkpoint> {
        self.usable(missing).map(|place| self.0.remove(place))
    }

    /// Adds a tracker; the least recently used one of its target makes room.
    pub fn put(&mut self, checkpoint: Checkpoint) {
        let (target, start) = (checkpoint.target, checkpoint.given.frame);
        self.forget(target, &(start..start + 1));
        self.0.push(checkpoint);
        let mut of_target = (0..self.0.len()).rev().filter(|&place| self.0[place].target == target);
        if let Some(oldest) = of_target.nth(MAX_CHECKPOINTS) {
            self.0.remove(oldest);
        }
    }

    /// Removes the trackers of boxes of a target that were changed.
    pub fn forget(&mut self, target: u32, changed: &Range<usize>) {
        self.0.retain(|known| known.target != target || !changed.contains(&known.given.frame));
    }

    fn usable(&self, missing: &Missing) -> Option<usize> {
        let is_same = |known: &Checkpoint| (known.target, known.given.frame) == (missing.target, missing.from.frame);
        self.0.iter().position(|known| is_same(known) && known.next <= missing.at)
    }
}

/// A box, or the turned one that a person drew in its place.
fn turned_of(bbox: BBox, polygon: Option<[f64; 8]>) -> Turned {
    polygon.map_or(bbox.into(), Turned::from)
}

impl Turned {
    /// This rectangle moved, resized and turned as a box that a tracker learned went from `first` to `now`.
    fn carried(&self, first: &BBox, now: &Self) -> Self {
        let scale = ((now.size.0 * now.size.1) / first.area()).sqrt();
        let (from, (sin, cos)) = (first.center(), now.angle.sin_cos());
        let (x, y) = (scale * (self.center.0 - from.0), scale * (self.center.1 - from.1));
        let center = (now.center.0 + cos * x - sin * y, now.center.1 + sin * x + cos * y);
        Self { center, size: (scale * self.size.0, scale * self.size.1), angle: self.angle + now.angle }
    }

    /// The rectangle at a share of the way to another one, by the shorter turn.
    fn toward(&self, to: &Self, share: f64) -> Self {
        let between = |a: (f64, f64), b: (f64, f64)| (a.0 + share * (b.0 - a.0), a.1 + share * (b.1 - a.1));
        let turn = (to.angle - self.angle + std::f64::consts::PI).rem_euclid(std::f64::consts::TAU);
        let angle = self.angle + share * (turn - std::f64::consts::PI);
        Self { center: between(self.center, to.center), size: between(self.size, to.size), angle }
    }
}

/// The frames between two given boxes.
impl Missing {
    /// The boxes at both ends, with their frames.
    fn ends(&self) -> Option<[(usize, BBox); 2]> {
        Some([(self.from.frame, self.from.bbox?), (self.to?.frame, self.to?.bbox?)])
    }

    /// The frames, interpolated linearly.
    pub fn interpolated(&self, info: &Info) -> Vec<FrameRecord> {
        let Some([(first, a), (last, b)]) = self.ends() else { return Vec::new() };
        let ends = [turned_of(a, self.from.polygon), turned_of(b, self.to.and_then(|to| to.polygon))];
        let between = |at: usize| {
            let turned = ends[0].toward(&ends[1], (at - first) as f64 / (last - first) as f64);
            FrameRecord::said(&info.unread(at), self.target, (turned.bbox(), turned.corners()), State::Tracking)
        };
        (first + 1..last).map(between).collect()
    }

    /// The frames as the command line tracks them with `--both-sides`.
    fn both_sides(&self, source: &dyn Source, tracker: &Tracker, cancel: &CancelToken) -> Result<Vec<FrameRecord>> {
        let Some(pair @ [(first, begin), (last, end)]) = self.ends() else { return Ok(Vec::new()) };
        let channels = tracker.params().channels();
        let mut items = Vec::new();
        let frames = source.stream((first..=last).into(), Demand::from(channels), cancel)?.inspect(|item| {
            let Item { position, timestamp, decode_ms, .. } = *item;
            let bare = Item::numbered(position, timestamp, Err(Error::NotInitialized), decode_ms);
            let is_between = item.frame.is_ok() && (first + 1..last).contains(&position);
            items.extend(is_between.then(|| Item { name: item.name.clone(), ..bare }));
        });
        let mut session = Session::of(tracker.clone(), first, begin);
        session.skip_bad_frames(true);
        session.give(1, last, Some(end));
        let passes = Passes { source, channels, cancel, smooth: false };
        let (found, halt) = passes.run(&mut session, frames, &[(1, vec![pair])], Some(tracker), &mut |_| ());
        halt.map_or(Ok(()), |halt| Err(halt.cause.into_error()))?;
        let record = |item: &Item| Some(FrameRecord::new(item, found.get(&item.position)?.first()?, Some(self.target)));
        Ok(items.iter().filter_map(record).collect())
    }
}

/// A thread that tracks a target from two given boxes at once.
pub struct Fill {
    pub missing: Missing,
    pub cancel: CancelToken,
    pub thread: JoinHandle<Result<Vec<FrameRecord>>>,
}

impl Fill {
    /// Starts it; `None` if there can be no thread.
    pub fn start(source: &Arc<dyn Source>, tracker: &Tracker, missing: Missing) -> Option<Self> {
        let (source, tracker, cancel) = (Arc::clone(source), tracker.clone(), CancelToken::default());
        let quit = cancel.clone();
        let work = move || quit.scope(|| missing.both_sides(source.as_ref(), &tracker, &quit));
        spawn("both sides", work).ok().map(|thread| Self { missing, cancel, thread })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turned_box_goes_with_the_box_that_is_tracked() {
        let first = BBox::new(10.0, 20.0, 40.0, 30.0);
        let turned = Turned { center: (30.0, 35.0), size: (36.0, 12.0), angle: 0.4 };
        let again = turned_of(turned.bbox(), turned.corners());
        assert!((again.angle - 0.4).abs() < 1e-12 && (again.size.1 - 12.0).abs() < 1e-9);
        let now = Turned { center: (60.0, 75.0), size: (80.0, 60.0), angle: 0.1 };
        let carried = turned.carried(&first, &now);
        assert!((carried.angle - 0.5).abs() < 1e-12 && (carried.size.0 - 72.0).abs() < 1e-9);
        assert!((carried.center.0 - 60.0).abs() < 1e-9 && (carried.center.1 - 75.0).abs() < 1e-9);
    }

    #[test]
    fn interpolation_takes_the_shorter_turn() {
        let at = |angle: f64, x: f64| Turned { center: (x, 5.0), size: (10.0, 4.0), angle };
        let middle = at(3.0, 0.0).toward(&at(-3.0, 8.0), 0.5);
        assert!((middle.angle.abs() - std::f64::consts::PI).abs() < 1e-9, "{middle:?}");
        assert!((middle.center.0 - 4.0).abs() < 1e-12);
    }
}
