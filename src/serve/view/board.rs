//! What pages see: written by the controller, read by any number of connections.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::maps::{Map, Maps};
use super::picture::Picture;
use super::track::Track;
use crate::export::FrameRecord;
use crate::geometry::BBox;

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
                "target": wants.map, "size": map.size, "origin": map.origin, "step": map.step, "range": map.range,
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
mod tests {
    use super::super::fixtures::{item_of, numbered_item, record_at};
    use super::*;
    use crate::error::Error;

    fn bbox(x: f64) -> BBox {
        BBox::new(x, 0.0, 2.0, 1.0)
    }

    #[test]
    fn a_page_is_told_what_it_does_not_know() {
        let board = Board::default();
        board.change(|state| state.add(1, Track::new(bbox(1.0), record_at(1, bbox(1.0)))));
        for position in 2..=3 {
            assert!(board.change(|state| state.found(1, record_at(position, bbox(position as f64)))));
        }
        assert!(!board.change(|state| state.found(1, record_at(3, bbox(9.0)))));
        assert!(!board.change(|state| state.found(2, record_at(3, bbox(9.0)))));
        let all = board.news(&Wants::default(), Duration::ZERO).text;
        assert_eq!(all["changes"].as_array().unwrap().len(), 3);
        assert_eq!(all["changes"][2], serde_json::json!([1, 3, [3.0, 0.0, 2.0, 1.0], "missing", null, null]));
        let wants = Wants { after: all["serial"].as_u64().unwrap(), changes: 3, ..Wants::default() };
        board.change(|state| state.give(1, bbox(2.5), record_at(2, bbox(2.5))));
        let news = board.news(&wants, Duration::ZERO).text;
        assert_eq!(news["changes"][0], serde_json::json!([1, 2, null]));
        assert_eq!(news["changes"][1][2], serde_json::json!([2.5, 0.0, 2.0, 1.0]));
        assert_eq!(news["targets"][0]["marks"], serde_json::json!([[1, true], [2, true]]));
        // One that missed all of it is told the last word of each.
        let all = board.news(&Wants::default(), Duration::ZERO).text;
        assert_eq!(all["changes"].as_array().unwrap().len(), 4);
        assert!(board.change(|state| state.remove(1)));
        let all = board.news(&Wants::default(), Duration::ZERO).text;
        assert_eq!((all["targets"].as_array().unwrap().len(), all["changes"].as_array().unwrap().len()), (0, 2));
        // A page of another run.
        let lost = Wants { changes: 1000, ..Wants::default() };
        assert_eq!(board.news(&lost, Duration::ZERO).text["changes_until"], 6);
    }

    #[test]
    fn a_page_forgets_what_it_knows_of_a_target_whose_number_another_one_has() {
        let board = Board::default();
        board.change(|state| state.add(1, Track::new(bbox(1.0), record_at(1, bbox(1.0)))));
        assert!(board.change(|state| state.found(1, record_at(2, bbox(2.0)))));
        let wants = Wants { changes: 2, ..Wants::default() };
        // Both between two messages of a page.
        assert!(board.change(|state| state.remove(1)) && !board.change(|state| state.remove(1)));
        board.change(|state| state.add(1, Track::new(bbox(7.0), record_at(9, bbox(7.0)))));
        let changes = board.news(&wants, Duration::ZERO).text["changes"].clone();
        assert_eq!(changes.as_array().unwrap().len(), 2);
        assert_eq!((&changes[0], &changes[1][1]), (&serde_json::json!([1, 0, null]), &serde_json::json!(9)));
    }

    #[test]
    fn a_response_of_what_is_no_longer_true_is_not_shown() {
        let (size, origin, step, range) = ((1, 1), (0.0, 0.0), (1.0, 1.0), (0.0, 1.0));
        let map = |level| Some(Map { size, origin, step, range, levels: vec![level] });
        let board = Board::default();
        board.change(|state| {
            state.status.position = 2;
            state.add(1, Track::new(bbox(1.0), record_at(1, bbox(1.0))));
            assert!(state.found(1, record_at(2, bbox(2.0))));
            state.put_map(2, 1, map(7));
        });
        let wants = Wants { map: Some(1), ..Wants::default() };
        let levels = || board.news(&wants, Duration::ZERO).levels;
        assert_eq!(levels(), [7]);
        // Nothing is known of the frame after a correction of the one before, until it is followed anew.
        board.change(|state| state.give(1, bbox(1.5), record_at(1, bbox(1.5))));
        assert!(levels().is_empty());
        // Followed anew it has no response, as a frame that cannot be read.
        board.change(|state| {
            assert!(state.found(1, record_at(2, bbox(2.5))));
            state.put_map(2, 1, None);
        });
        assert!(levels().is_empty());
    }

    #[test]
    fn a_frame_that_cannot_be_read_leaves_the_size_as_it_was() {
        let picture = |id, item| Arc::new(Picture::new(id, Arc::new(item)));
        let board = Board::default();
        board.change(|state| state.show(picture(1, numbered_item(1))));
        let broken = item_of(2, Err(Error::NotInitialized));
        board.change(|state| state.show(picture(2, broken)));
        let news = board.news(&Wants::default(), Duration::ZERO);
        assert_eq!((&news.text["size"], news.text["picture"].as_u64()), (&serde_json::json!([64, 48]), Some(2)));
        assert_eq!(board.look(|state| state.size), Some((64, 48)));
    }

    #[test]
    fn a_long_run_is_told_in_several_messages() {
        let board = Board::default();
        board.change(|state| state.add(1, Track::new(bbox(1.0), record_at(1, bbox(1.0)))));
        board.change(|state| (2..=9000).for_each(|position| assert!(state.found(1, record_at(position, bbox(1.0))))));
        let (mut wants, mut told, mut messages) = (Wants::default(), 0, 0);
        loop {
            let text = board.news(&wants, Duration::ZERO).text;
            told += text["changes"].as_array().unwrap().len();
            wants.changes = text["changes_until"].as_u64().unwrap() as usize;
            messages += 1;
            if text["more"] == false {
                break;
            }
        }
        assert_eq!((told, messages), (9000, 3));
    }

    #[test]
    fn news_are_waited_for() {
        let board = Arc::new(Board::default());
        let wants = Wants::default();
        let begun = Instant::now();
        assert_eq!(board.news(&wants, Duration::from_millis(30)).text["serial"], 0);
        assert!(begun.elapsed() >= Duration::from_millis(30));
        let writer = Arc::clone(&board);
        let thread = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            // One message a frame: what was tracked comes with the frame.
            writer.prepare(|state| state.add(1, Track::new(bbox(1.0), record_at(1, bbox(1.0)))));
            std::thread::sleep(Duration::from_millis(20));
            writer.change(|state| state.say("here"));
        });
        let news = board.news(&wants, Duration::from_secs(20)).text;
        assert_eq!((&news["serial"], &news["status"]["said"]), (&1.into(), &serde_json::json!([1, "here"])));
        assert_eq!(news["changes"].as_array().unwrap().len(), 1);
        thread.join().unwrap();
    }
}
