//! The frames between two given boxes: tracked from both, or interpolated; and boxes that are turned.

use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::bbox::BBox;
use crate::cancel::{CancelToken, spawn};
use crate::error::{Error, Result};
use crate::export::{FrameRecord, Given};
use crate::media::{Demand, Item, Source, Span};
use crate::run::{Outcome, Passes, Session};
use crate::tracker::{Estimate, Evidence, Params, State, Tracker};

/// A rectangle that is turned about its centre.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Turned {
    center: [f64; 2],
    size: [f64; 2],
    /// The angle in radians, clockwise.
    angle: f64,
}

impl Turned {
    /// Creates the rectangle from its corners, or else from an upright box.
    pub fn of(bbox: &BBox, polygon: Option<[f64; 8]>) -> Self {
        let Some([ax, ay, bx, by, cx, cy, dx, dy]) = polygon else {
            return Self { center: bbox.center().into(), size: [bbox.w, bbox.h], angle: 0.0 };
        };
        Self {
            center: [(ax + bx + cx + dx) / 4.0, (ay + by + cy + dy) / 4.0],
            size: [(bx - ax).hypot(by - ay), (dx - ax).hypot(dy - ay)],
            angle: (by - ay).atan2(bx - ax),
        }
    }

    /// The upright box around the ellipse in it, and the corners if it is turned.
    pub fn parts(&self) -> (BBox, Option<[f64; 8]>) {
        let ([x, y], [w, h]) = (self.center, self.size.map(|side| side / 2.0));
        let (sin, cos) = self.angle.sin_cos();
        let corner = |(w, h): (f64, f64)| [x + cos * w - sin * h, y + sin * w + cos * h];
        let [p, q, r, s] = [(-w, -h), (w, -h), (w, h), (-w, h)].map(corner);
        let polygon = (self.angle != 0.0).then_some([p[0], p[1], q[0], q[1], r[0], r[1], s[0], s[1]]);
        (BBox::around_ellipse(self.center.into(), self.size.into(), self.angle), polygon)
    }

    /// This rectangle moved, resized and turned as a box that a tracker learned went from `first` to `now`.
    pub fn carried(&self, first: &BBox, now: &Self) -> Self {
        let scale = ((now.size[0] * now.size[1]) / first.area()).sqrt();
        let (from, (sin, cos)) = (<[f64; 2]>::from(first.center()), now.angle.sin_cos());
        let [x, y] = [0, 1].map(|axis| scale * (self.center[axis] - from[axis]));
        let center = [now.center[0] + cos * x - sin * y, now.center[1] + sin * x + cos * y];
        Self { center, size: self.size.map(|side| scale * side), angle: self.angle + now.angle }
    }

    /// The rectangle at a share of the way to another one, by the shorter turn.
    fn toward(&self, to: &Self, share: f64) -> Self {
        let between = |a: [f64; 2], b: [f64; 2]| [0, 1].map(|axis| a[axis] + share * (b[axis] - a[axis]));
        let turn = (to.angle - self.angle + std::f64::consts::PI).rem_euclid(std::f64::consts::TAU);
        let angle = self.angle + share * (turn - std::f64::consts::PI);
        Self { center: between(self.center, to.center), size: between(self.size, to.size), angle }
    }
}

/// The record of a box that no tracker has found.
pub fn record(item: &Item, target: u32, (bbox, polygon): (BBox, Option<[f64; 8]>), state: State) -> FrameRecord {
    let estimate = Some(Estimate { bbox, polygon, state, evidence: Evidence::default() });
    let outcome = Outcome { target: 0, bbox, estimate, took: Duration::ZERO };
    FrameRecord::new(item, &outcome, Some(target))
}

/// The frames between two given boxes, interpolated linearly; `item` has the name and the time of a frame.
pub fn interpolated(target: u32, from: &Given, to: &Given, item: impl Fn(usize) -> Item) -> Vec<FrameRecord> {
    let (Some(a), Some(b)) = (from.bbox, to.bbox) else { return Vec::new() };
    let ends = [Turned::of(&a, from.polygon), Turned::of(&b, to.polygon)];
    let between = |at: usize| {
        let share = (at - from.frame) as f64 / (to.frame - from.frame) as f64;
        record(&item(at), target, ends[0].toward(&ends[1], share).parts(), State::Tracking)
    };
    (from.frame + 1..to.frame).map(between).collect()
}

/// A thread that tracks a target from two given boxes at once.
pub struct Fill {
    pub target: u32,
    pub from: Given,
    pub to: Given,
    cancel: CancelToken,
    thread: JoinHandle<Result<Vec<FrameRecord>>>,
}

impl Fill {
    /// Starts the thread; `None` if the system has no more threads.
    pub fn start(source: &Arc<dyn Source>, params: &Params, target: u32, from: Given, to: Given) -> Option<Self> {
        let (source, params, cancel) = (Arc::clone(source), params.clone(), CancelToken::default());
        let quit = cancel.clone();
        let work = move || quit.clone().scope(|| both_sides(source.as_ref(), &params, target, &from, &to, &quit));
        spawn("both sides", work).ok().map(|thread| Self { target, from, to, cancel, thread })
    }

    pub fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    /// The records of the thread; `None` if it was cancelled.
    pub fn result(self) -> Option<Result<Vec<FrameRecord>>> {
        (!self.cancel.is_cancelled()).then(|| self.thread.join().unwrap_or(Err(Error::NotInitialized)))
    }

    pub fn cancel(&self) {
        self.cancel.cancel();
    }
}

/// The frames between two given boxes, as the command line tracks them with `--both-sides`.
fn both_sides(
    source: &dyn Source,
    params: &Params,
    target: u32,
    from: &Given,
    to: &Given,
    cancel: &CancelToken,
) -> Result<Vec<FrameRecord>> {
    let (Some(first), Some(last)) = (from.bbox, to.bbox) else { return Ok(Vec::new()) };
    let channels = params.channels();
    let tracker = Tracker::new(params.clone())?;
    let span = Span { first: from.frame, last: Some(to.frame) };
    let items = Mutex::new(Vec::new());
    let frames = source.stream(span, Demand::from(channels), cancel)?.inspect(|item| {
        let Item { position, timestamp, .. } = *item;
        let name = item.name.clone();
        let bare = Item { name, ..Item::numbered(position, timestamp, Err(Error::NotInitialized), item.decode_ms) };
        crate::cancel::lock(&items).extend(item.frame.is_ok().then_some(bare));
    });
    let mut session = Session::default();
    let id = session.insert(1, tracker.clone(), from.frame, first);
    session.skip_bad_frames(true);
    session.give(id, to.frame, Some(last));
    let passes = Passes { source, channels, cancel, smooth: false };
    let pairs = [(id, vec![[(from.frame, first), (to.frame, last)]])];
    let (found, halt) = passes.run(&mut session, frames, &pairs, Some(&tracker), &mut |_| ());
    if let Some(halt) = halt {
        return Err(halt.cause.into_error());
    }
    let items = items.into_inner().unwrap_or_default();
    let made =
        items.iter().filter_map(|item| Some(FrameRecord::new(item, found.get(&item.position)?.first()?, Some(target))));
    Ok(made.filter(|record| record.index > from.frame && record.index < to.frame).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turned_box_goes_with_the_box_that_is_tracked() {
        let first = BBox::new(10.0, 20.0, 40.0, 30.0);
        let turned = Turned { center: [30.0, 35.0], size: [36.0, 12.0], angle: 0.4 };
        let (around, polygon) = turned.parts();
        let again = Turned::of(&around, polygon);
        assert!((again.angle - 0.4).abs() < 1e-12 && (again.size[1] - 12.0).abs() < 1e-9);
        let now = Turned { center: [60.0, 75.0], size: [80.0, 60.0], angle: 0.1 };
        let carried = turned.carried(&first, &now);
        assert!((carried.angle - 0.5).abs() < 1e-12 && (carried.size[0] - 72.0).abs() < 1e-9);
        assert!((carried.center[0] - 60.0).abs() < 1e-9 && (carried.center[1] - 75.0).abs() < 1e-9);
    }

    #[test]
    fn interpolation_takes_the_shorter_turn() {
        let at = |angle: f64, x: f64| Turned { center: [x, 5.0], size: [10.0, 4.0], angle };
        let middle = at(3.0, 0.0).toward(&at(-3.0, 8.0), 0.5);
        assert!((middle.angle.abs() - std::f64::consts::PI).abs() < 1e-9, "{middle:?}");
        assert!((middle.center[0] - 4.0).abs() < 1e-12);
    }
}
