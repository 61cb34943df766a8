//! What pages see: written by the controller, read by any number of connections.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::maps::{Map, Maps};
use super::picture::Picture;
use super::track::Track;
use crate::bbox::BBox;
use crate::export::FrameRecord;

/// How playing goes, and what it goes over.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Status {
    /// Another text for every run of the program: a page of an earlier one begins anew.
    pub run: String,
    /// What people call the source.
    pub source: String,
    /// What the targets are followed by.
    pub preset: String,
    /// Whether the page is only asked for a first box.
    pub pick: bool,
    /// The first position.
    pub first: usize,
    /// The last position, where it is known.
    pub last: Option<usize>,
    /// About the last position, where that is all that is known.
    pub expected_last: Option<usize>,
    /// Whether frames come once: of a camera or a pipe.
    pub live: bool,
    /// The first position that can still be gone back to.
    pub oldest: usize,
    /// The last position that has been read.
    pub newest: usize,
    /// Frames per second of the source, where it says so.
    pub rate: Option<f64>,
    /// The position that is shown; 0 before the first frame.
    pub position: usize,
    /// Whether it goes on by itself.
    pub playing: bool,
    /// How fast, as a multiple of the rate; null for as fast as it goes.
    pub speed: Option<f64>,
    /// The position that is being tracked, while that lies before the one to be shown.
    pub catching_up: Option<usize>,
    /// The position that was asked for, until it is shown.
    pub going_to: Option<usize>,
    /// Frames shown in the last second.
    pub fps: f64,
    /// Milliseconds that all trackers took for the frame that was tracked last.
    pub track_ms: f64,
    /// What was said last, and how often something was said.
    pub said: (u64, String),
}

/// A change that a page has to be told of.
#[derive(Clone, Debug, PartialEq)]
enum Change {
    /// There is a record.
    Found(u32, usize),
    /// There are no records any more.
    Gone(u32, Range<usize>),
}

/// All that pages see.
#[derive(Debug, Default)]
pub struct State {
    /// How playing goes.
    pub status: Status,
    /// The frame that is shown.
    pub picture: Option<Arc<Picture>>,
    /// Width and height of the last frame that was shown and could be read.
    pub size: Option<(usize, usize)>,
    /// The first box, once somebody who was asked for it has given it.
    pub picked: Option<BBox>,
    tracks: BTreeMap<u32, Track>,
    maps: Maps,
    serial: u64,
    changes: Vec<Change>,
    /// How many of the changes the bell was rung for.
    rung: usize,
}

/// What a page has already, and what it wants besides the news.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wants {
    /// The serial of the message before.
    pub after: u64,
    /// How many changes it was told.
    pub changes: usize,
    /// The picture that it shows.
    pub picture: u64,
    /// The target whose response map it shows.
    pub map: Option<u32>,
}

/// News for one page.
#[derive(Debug)]
pub struct News {
    /// JSON for the page.
    pub text: serde_json::Value,
    /// The picture, unless the page has it.
    pub picture: Option<Arc<Picture>>,
    /// The levels of the map that the page wants.
    pub levels: Vec<u8>,
}

/// Most changes in one message: a page of a long run gets them in several.
const MOST_CHANGES: usize = 4000;

impl State {
    /// The targets and what is known of them, by their numbers.
    pub fn tracks(&self) -> &BTreeMap<u32, Track> {
        &self.tracks
    }

    /// A new target.
    pub fn add(&mut self, target: u32, track: Track) {
        self.changes.extend(track.records().map(|record| Change::Found(target, record.index)));
        self.tracks.insert(target, track);
    }

    /// Forgets a target; whether there was one.
    pub fn remove(&mut self, target: u32) -> bool {
        let known = self.tracks.remove(&target).is_some();
        if known {
            // A page that hears of nothing before another target has the number would keep what it knows.
            self.changes.push(Change::Gone(target, 0..usize::MAX));
        }
        known
    }

    /// Takes what was found of a target, unless it is known; whether it was not.
    pub fn found(&mut self, target: u32, record: FrameRecord) -> bool {
        let Some(track) = self.tracks.get_mut(&target).filter(|track| track.at(record.index).is_none()) else {
            return false;
        };
        self.changes.push(Change::Found(target, record.index));
        track.take(record);
        true
    }

    /// Gives a target a box; the positions whose records are gone.
    pub fn give(&mut self, target: u32, given: BBox, record: FrameRecord) -> Option<Range<usize>> {
        let position = record.index;
        let gone = self.tracks.get_mut(&target)?.give(given, record);
        self.changes.push(Change::Gone(target, gone.clone()));
        self.changes.push(Change::Found(target, position));
        Some(gone)
    }

    /// Ends a target, or takes a mark back, as [`Track`] has it; the positions whose records are gone.
    pub fn change(
        &mut self,
        target: u32,
        change: impl FnOnce(&mut Track) -> Option<Range<usize>>,
    ) -> Option<Range<usize>> {
        let gone = change(self.tracks.get_mut(&target)?)?;
        self.changes.push(Change::Gone(target, gone.clone()));
        Some(gone)
    }

    /// Keeps the response map of a target in a frame, in the place of an earlier one; where there is none now, the
    /// earlier one is of what is no longer true.
    pub fn put_map(&mut self, position: usize, target: u32, map: Option<Map>) {
        match map {
            Some(map) => self.maps.put(position, target, map),
            None => self.maps.forget(position, target),
        }
    }

    /// The response map of a target in the frame that is shown. What a correction or an end has taken the record of has
    /// none.
    fn map(&self, target: u32) -> Option<&Map> {
        let position = self.status.position;
        self.tracks.get(&target)?.at(position)?;
        self.maps.get(position, target)
    }

    /// Shows a picture. One that could not be read leaves the size as it was.
    pub fn show(&mut self, picture: Arc<Picture>) {
        self.size = picture.size().or(self.size);
        self.picture = Some(picture);
    }

    /// Says something to whoever watches.
    pub fn say(&mut self, said: impl Into<String>) {
        self.status.said = (self.status.said.0 + 1, said.into());
    }

    fn news(&self, wants: &Wants) -> News {
        // A page that knows more changes than there are is one of another run: it begins anew.
        let known = if wants.changes > self.changes.len() { 0 } else { wants.changes };
        let until = self.changes.len().min(known + MOST_CHANGES);
        let changes: Vec<_> = self.changes[known..until].iter().filter_map(|change| self.told(change)).collect();
        let picture = self.picture.clone().filter(|picture| picture.id != wants.picture);
        let map = wants.map.and_then(|target| self.map(target));
        let targets: Vec<_> = self.tracks.iter().map(|(id, track)| told_target(*id, track)).collect();
        let text = serde_json::json!({
            "serial": self.serial,
            "changes_until": until,
            "more": until < self.changes.len(),
            "status": self.status,
            "picture": self.picture.as_ref().map(|picture| picture.id),
            "size": self.size,
            "targets": targets,
            "changes": changes,
            "map": map.map(|map| serde_json::json!({
                "target": wants.map, "size": map.size, "origin": map.origin, "step": map.step,
                "angle": map.angle, "range": map.range,
            })),
        });
        News { text, picture, levels: map.map(|map| map.levels.clone()).unwrap_or_default() }
    }

    /// A change as a page gets it: `[target, position, [box], state, confidence, polygon]` or
    /// `[target, from, until or null]`; what has changed again since is told then.
    fn told(&self, change: &Change) -> Option<serde_json::Value> {
        match change {
            Change::Gone(target, range) => {
                let end = Some(range.end).filter(|end| *end != usize::MAX);
                Some(serde_json::json!([target, range.start, end]))
            }
            Change::Found(target, position) => {
                let record = self.tracks.get(target)?.at(*position)?;
                let bbox = record.finite_box();
                let told = (target, position, bbox, record.state, record.confidence, record.polygon);
                serde_json::to_value(told).ok()
            }
        }
    }
}

/// A target as a page gets it: its number, and its marks as pairs of a position and whether a box was given there.
fn told_target(id: u32, track: &Track) -> serde_json::Value {
    let given = |mark: &super::track::Mark| matches!(mark, super::track::Mark::Given(_));
    let marks: Vec<(usize, bool)> = track.marks().iter().map(|(position, mark)| (*position, given(mark))).collect();
    serde_json::json!({ "id": id, "marks": marks })
}

/// The state, and a bell that rings when it changes.
#[derive(Debug, Default)]
pub struct Board {
    state: Mutex<State>,
    bell: Condvar,
}

impl Board {
    /// Looks at the state; for a moment only.
    pub fn look<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.lock())
    }

    /// Changes the state without a sound: what pages see next will ring the bell for this, too.
    pub fn prepare<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.lock())
    }

    /// Changes the state and rings the bell.
    pub fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.lock();
        let result = change(&mut state);
        state.serial += 1;
        state.rung = state.changes.len();
        drop(state);
        self.bell.notify_all();
        result
    }

    /// What a page does not know yet; waits for that, at most so long.
    pub fn news(&self, wants: &Wants, at_most: Duration) -> News {
        let until = Instant::now() + at_most;
        let mut state = self.lock();
        while state.serial == wants.after && state.rung <= wants.changes {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.bell.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.news(wants)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
