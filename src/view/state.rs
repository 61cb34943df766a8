//! The state of the view: the controller writes it, any number of connections read it.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound::{Excluded, Unbounded};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::bbox::BBox;
use crate::cancel::lock;
use crate::encode::page_jpeg;
use crate::export::{FrameRecord, Given, TargetRecord};
use crate::media::Item;
use crate::tracker::ResponseMap;

/// The source and the playback.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Status {
    /// Unique for each run of the program; a page of an earlier run reloads.
    pub run: String,
    /// The name of the source.
    pub source: String,
    /// The preset of the trackers.
    pub preset: String,
    /// The place of the source among several clips, from 1, and their number.
    pub clip: Option<(usize, usize)>,
    /// Whether the page only asks for a first box.
    pub pick: bool,
    /// The first position.
    pub first: usize,
    /// The last position, if it is known.
    pub last: Option<usize>,
    /// An estimate of the last position.
    pub expected_last: Option<usize>,
    /// Whether each frame comes once, as from a camera or a pipe.
    pub live: bool,
    /// The first position that can still be shown.
    pub oldest: usize,
    /// The last position that has been read.
    pub newest: usize,
    /// Frames per second of the source, if it has a rate.
    pub rate: Option<f64>,
    /// The position that is shown; 0 before the first frame.
    pub position: usize,
    /// Whether it plays.
    pub playing: bool,
    /// The speed as a multiple of the rate; null for as fast as possible.
    pub speed: Option<f64>,
    /// The position that is tracked on the way to the one to be shown.
    pub catching_up: Option<usize>,
    /// The position of a seek or step, until it is shown.
    pub going_to: Option<usize>,
    /// Frames shown in the last second.
    pub fps: f64,
    /// Milliseconds of all trackers for the last tracked frame.
    pub track_ms: f64,
    /// The count of messages and the last one.
    pub said: (u64, String),
    /// How many changes can be undone.
    pub undo: usize,
    /// How many changes that were undone can be made again.
    pub redo: usize,
    /// Whether a session is saved, and where.
    pub session: Option<String>,
    /// Why its last changes are not saved.
    pub unsaved: Option<String>,
}

/// A change of records.
#[derive(Clone, Debug, PartialEq)]
enum Change {
    /// A new record of a target at a position.
    Found(u32, usize),
    /// The records of a target in a range are gone.
    Gone(u32, Range<usize>),
}

/// Everything that pages show.
#[derive(Debug, Default)]
pub struct ViewState {
    /// The source and the playback.
    pub status: Status,
    /// The frame that is shown.
    pub picture: Option<Arc<Picture>>,
    /// Width and height of the last frame that was shown and could be read.
    pub size: Option<(usize, usize)>,
    /// The clip to go to, from 1; this one ends.
    pub next_clip: Option<usize>,
    /// The first box, once it is drawn.
    pub picked: Option<BBox>,
    /// The targets by their ids.
    pub tracks: BTreeMap<u32, Track>,
    pub maps: Maps,
    serial: u64,
    changes: Vec<Change>,
    /// Why the source ends before its end.
    pub broken: Option<String>,
    /// Counts what changes targets.
    pub revision: u64,
    /// What can be undone, the last at the end.
    edits: Vec<Edit>,
    /// What was undone since the last change, the next to be made again at the end.
    undone: Vec<Edit>,
}

/// What a change has replaced, or an undone one has made.
#[derive(Debug)]
struct Edit {
    target: u32,
    /// The track without its records; `None` where there is no such target.
    track: Option<Track>,
    /// The positions whose records differ.
    changed: Range<usize>,
    /// Its records at these positions.
    records: BTreeMap<usize, FrameRecord>,
}

/// Maximum changes that can be undone.
const MAX_EDITS: usize = 100;

/// What a page has already, and the map that it shows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wants {
    /// The serial of the message before.
    pub after: u64,
    /// The number of changes that it has.
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

/// Maximum changes in one message; a page of a long run gets several messages.
const MAX_CHANGES: usize = 4000;

impl ViewState {
    /// Puts in a target of a session with its records.
    pub fn restore(&mut self, target: TargetRecord, records: impl Iterator<Item = FrameRecord>) {
        let marks = target.given.iter().map(|given| (given.frame, given.bbox)).collect();
        let found: BTreeMap<_, _> = records.map(|record| (record.index, record)).collect();
        self.changes.extend(found.keys().map(|position| Change::Found(target.id, *position)));
        self.tracks.insert(target.id, Track { marks, found, name: target.name, class: target.class });
    }

    /// Sets the name and the class of a target.
    pub fn rename(&mut self, target: u32, name: Option<String>, class: Option<String>) {
        if let Some(before) = self.tracks.get(&target).map(Track::bare) {
            self.label(target, name, class);
            self.remember(target, Some(before), 0..0, BTreeMap::new());
        }
    }

    /// Names a target that was just added, which is undone with it.
    pub fn label(&mut self, target: u32, name: Option<String>, class: Option<String>) {
        if let Some(track) = self.tracks.get_mut(&target) {
            (track.name, track.class) = (name, class);
        }
    }

    fn remember(
        &mut self,
        target: u32,
        track: Option<Track>,
        changed: Range<usize>,
        records: BTreeMap<usize, FrameRecord>,
    ) {
        let changed = if track.is_some() { changed } else { 0..usize::MAX };
        self.edits.push(Edit { target, track, changed, records });
        if self.edits.len() > MAX_EDITS {
            self.edits.remove(0);
        }
        self.undone.clear();
        self.count_edits();
    }

    fn count_edits(&mut self) {
        (self.status.undo, self.status.redo) = (self.edits.len(), self.undone.len());
        self.revision += 1;
    }

    /// Undoes the last change; returns the target, and the positions whose records have changed.
    pub fn undo(&mut self) -> Option<(u32, Range<usize>)> {
        let edit = self.edits.pop()?;
        Some(self.exchange(edit, |state| &mut state.undone))
    }

    /// Makes the last undone change again; returns as [`Self::undo`].
    pub fn redo(&mut self) -> Option<(u32, Range<usize>)> {
        let edit = self.undone.pop()?;
        Some(self.exchange(edit, |state| &mut state.edits))
    }

    /// Puts in the track and records of an edit and keeps those that were there in `inverses`; returns what has changed.
    fn exchange(&mut self, edit: Edit, inverses: impl FnOnce(&mut Self) -> &mut Vec<Edit>) -> (u32, Range<usize>) {
        let Edit { target, track, changed, records } = edit;
        let before = self.tracks.remove(&target);
        let bare = before.as_ref().map(Track::bare);
        let (gone, mut found): (BTreeMap<_, _>, BTreeMap<_, _>) =
            before.map(|before| before.found).unwrap_or_default().into_iter().partition(|(at, _)| changed.contains(at));
        self.maps.0.retain(|((position, of), _)| *of != target || !changed.contains(position));
        self.changes.push(Change::Gone(target, changed.clone()));
        if let Some(track) = track {
            self.changes.extend(records.keys().map(|position| Change::Found(target, *position)));
            found.extend(records);
            self.tracks.insert(target, Track { found, ..track });
        }
        inverses(self).push(Edit { target, track: bare, changed: changed.clone(), records: gone });
        self.count_edits();
        (target, changed)
    }

    fn drop_track(&mut self, target: u32) -> Option<Track> {
        let track = self.tracks.remove(&target)?;
        // A page must drop its records even if a new target has the id before its next message.
        self.changes.push(Change::Gone(target, 0..usize::MAX));
        Some(track)
    }

    /// Removes a target.
    pub fn remove(&mut self, target: u32) {
        if let Some(mut track) = self.drop_track(target) {
            let removed = std::mem::take(&mut track.found);
            self.remember(target, Some(track), 0..usize::MAX, removed);
        }
    }

    /// Adds a record; returns whether the target exists and had none at this position.
    pub fn found(&mut self, target: u32, record: FrameRecord) -> bool {
        let Some(track) = self.tracks.get_mut(&target).filter(|track| track.at(record.index).is_none()) else {
            return false;
        };
        self.changes.push(Change::Found(target, record.index));
        self.revision += 1;
        track.take(record);
        true
    }

    /// Gives a target, which may be new, a box; returns the positions whose records are gone.
    pub fn give(&mut self, target: u32, given: BBox, record: FrameRecord) -> Range<usize> {
        let position = record.index;
        let before = self.tracks.get(&target).map(Track::bare);
        let is_known = before.is_some();
        let (gone, removed) = self.tracks.entry(target).or_default().give(given, record);
        self.remember(target, before, gone.clone(), removed);
        self.changes.extend(is_known.then(|| Change::Gone(target, gone.clone())));
        self.changes.push(Change::Found(target, position));
        gone
    }

    /// Changes the marks of a target; returns the positions whose records are gone.
    pub fn change(&mut self, target: u32, change: impl FnOnce(&mut Track) -> Option<Gone>) -> Option<Range<usize>> {
        let track = self.tracks.get_mut(&target)?;
        let before = track.bare();
        let (gone, removed) = change(track)?;
        self.remember(target, Some(before), gone.clone(), removed);
        self.changes.push(Change::Gone(target, gone.clone()));
        Some(gone)
    }

    /// The response map of a target in the frame that is shown, if its record is still there.
    fn map(&self, target: u32) -> Option<&Map> {
        let position = self.status.position;
        self.tracks.get(&target)?.at(position)?;
        self.maps.get(position, target)
    }

    /// Shows a picture; an unreadable one does not change the size.
    pub fn show(&mut self, picture: Arc<Picture>) {
        self.size = picture.size().or(self.size);
        self.picture = Some(picture);
    }

    /// Shows a message on the page.
    pub fn say(&mut self, said: impl Into<String>) {
        self.status.said = (self.status.said.0 + 1, said.into());
    }

    fn news(&self, wants: &Wants) -> News {
        // A page with more changes than there are belongs to another run.
        let known = if wants.changes > self.changes.len() { 0 } else { wants.changes };
        let until = self.changes.len().min(known + MAX_CHANGES);
        let changes: Vec<_> = self.changes[known..until].iter().filter_map(|change| self.change_json(change)).collect();
        let picture = self.picture.clone().filter(|picture| picture.id != wants.picture);
        let map = wants.map.and_then(|target| self.map(target));
        let targets: Vec<_> = self.tracks.iter().map(|(id, track)| target_json(*id, track)).collect();
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

    /// A change for a page: `[target, position, [box], state, confidence, polygon]` or `[target, from, until or null]`;
    /// `None` for a record that a later change removes.
    fn change_json(&self, change: &Change) -> Option<serde_json::Value> {
        match change {
            Change::Gone(target, range) => {
                let end = Some(range.end).filter(|end| *end != usize::MAX);
                Some(serde_json::json!([target, range.start, end]))
            }
            Change::Found(target, position) => {
                let record = self.tracks.get(target)?.at(*position)?;
                let bbox = record.finite_box();
                let change = (target, position, bbox, record.state, record.confidence, record.polygon);
                serde_json::to_value(change).ok()
            }
        }
    }
}

/// A target for a page: its id, and its marks as pairs of a position and whether a box was given there.
fn target_json(id: u32, track: &Track) -> serde_json::Value {
    let marks: Vec<(usize, bool)> = track.marks().iter().map(|(at, given)| (*at, given.is_some())).collect();
    let mut target = serde_json::json!({ "id": id, "marks": marks });
    for (field, word) in [("name", &track.name), ("class", &track.class)] {
        if let Some(word) = word {
            target[field] = word.as_str().into();
        }
    }
    target
}

/// The state, and a condition variable that wakes waiting pages.
#[derive(Debug, Default)]
pub struct SharedState {
    state: Mutex<ViewState>,
    changed: Condvar,
}

impl SharedState {
    /// The state of a view without targets.
    pub fn new(status: Status) -> Self {
        Self { state: Mutex::new(ViewState { status, ..ViewState::default() }), changed: Condvar::new() }
    }

    /// Reads the state. It is locked meanwhile.
    pub fn look<T>(&self, look: impl FnOnce(&ViewState) -> T) -> T {
        look(&lock(&self.state))
    }

    /// Changes the state without waking pages; they get it with the next change.
    pub fn prepare<T>(&self, change: impl FnOnce(&mut ViewState) -> T) -> T {
        change(&mut lock(&self.state))
    }

    /// Changes the state and wakes pages.
    pub fn change<T>(&self, change: impl FnOnce(&mut ViewState) -> T) -> T {
        let mut state = lock(&self.state);
        let result = change(&mut state);
        state.serial += 1;
        drop(state);
        self.changed.notify_all();
        result
    }

    /// The news for a page. Waits for a change, at most for `timeout`.
    pub fn news(&self, wants: &Wants, timeout: Duration) -> News {
        let until = Instant::now() + timeout;
        let mut state = lock(&self.state);
        while state.serial == wants.after {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.news(wants)
    }
}

/// One target over all frames.
///
/// Marks cut it into pieces, each from a given box to the next mark. A tracker that is given a box starts afresh, so
/// the pieces are independent.
#[derive(Debug, Default)]
pub struct Track {
    /// What a user said: the target is in this box, or is not tracked from here on.
    marks: BTreeMap<usize, Option<BBox>>,
    found: BTreeMap<usize, FrameRecord>,
    name: Option<String>,
    class: Option<String>,
}

/// Positions without records now, and the records that were there.
pub type Gone = (Range<usize>, BTreeMap<usize, FrameRecord>);

impl Track {
    /// The same without records.
    fn bare(&self) -> Self {
        let (marks, name, class) = (self.marks.clone(), self.name.clone(), self.class.clone());
        Self { marks, name, class, found: BTreeMap::new() }
    }

    /// The target as documents have it.
    pub fn target(&self, id: u32) -> TargetRecord {
        let given = |(&frame, &bbox): (&usize, &Option<BBox>)| Given { frame, bbox };
        let (name, class) = (self.name.clone(), self.class.clone());
        TargetRecord { id, name, class, given: self.marks.iter().map(given).collect() }
    }

    /// The marks by position.
    pub fn marks(&self) -> &BTreeMap<usize, Option<BBox>> {
        &self.marks
    }

    /// The record of a frame.
    pub fn at(&self, position: usize) -> Option<&FrameRecord> {
        self.found.get(&position)
    }

    /// The records in order.
    pub fn records(&self) -> impl Iterator<Item = &FrameRecord> {
        self.found.values()
    }

    /// Position of the first box.
    pub fn start(&self) -> usize {
        self.marks.keys().next().copied().unwrap_or(usize::MAX)
    }

    /// The first position up to `last` that has no record and should have one, with the start and the box of its piece.
    pub fn missing(&self, last: usize) -> Option<(usize, (usize, BBox))> {
        self.marks.iter().find_map(|(&start, bbox)| {
            let end = self.next_mark(start);
            let missing = self.behind_records(start, end);
            bbox.filter(|_| missing < end && missing <= last).map(|bbox| (missing, (start, bbox)))
        })
    }

    /// Adds the next record of a piece.
    pub fn take(&mut self, record: FrameRecord) {
        self.found.insert(record.index, record);
    }

    /// Gives the target a box at the record's position; returns the positions whose records are gone.
    pub fn give(&mut self, given: BBox, record: FrameRecord) -> Gone {
        let position = record.index;
        self.marks.insert(position, Some(given));
        let gone = self.clear(position);
        self.take(record);
        gone
    }

    /// Ends the target at `position`; returns the positions whose records are gone, or `None` at the first box, before
    /// it, and where the target has ended.
    pub fn end(&mut self, position: usize) -> Option<Gone> {
        let has_ended = self.marks.range(..=position).next_back().is_none_or(|(_, mark)| mark.is_none());
        if position <= self.start() || has_ended {
            return None;
        }
        // The end after it is that of the same piece.
        if let Some((&next, None)) = self.marks.range(position..).find(|(at, _)| **at > position) {
            self.marks.remove(&next);
        }
        self.marks.insert(position, None);
        Some(self.clear(position))
    }

    /// Removes the mark at `position`, so that the piece before it reaches to the next mark. Returns the positions
    /// whose records are gone, or `None` if the only mark there is the first box.
    pub fn take_back(&mut self, position: usize) -> Option<Gone> {
        if position == self.start() {
            return None;
        }
        self.marks.remove(&position)?;
        Some(self.clear(position))
    }

    /// The first position without a record and the start of the piece before the mark at `position`; `None` if the
    /// target had ended.
    pub fn resumes(&self, position: usize) -> Option<(usize, usize)> {
        let (&start, mark) = self.marks.range(..position).next_back()?;
        mark.map(|_| (self.behind_records(start, position), start))
    }

    /// The position behind the records of a piece, which have no gaps.
    fn behind_records(&self, start: usize, end: usize) -> usize {
        self.found.range(start..end).next_back().map_or(start, |(last, _)| last + 1)
    }

    /// Position of the mark after `position`; `usize::MAX` without one.
    fn next_mark(&self, position: usize) -> usize {
        self.marks.range((Excluded(position), Unbounded)).next().map_or(usize::MAX, |(at, _)| *at)
    }

    /// Removes the records from `position` to the next mark.
    fn clear(&mut self, position: usize) -> Gone {
        let gone = position..self.next_mark(position);
        let mut removed = self.found.split_off(&gone.start);
        self.found.append(&mut removed.split_off(&gone.end));
        (gone, removed)
    }
}

/// Maximum bytes of maps in memory.
const MAX_MAP_BYTES: usize = 32 << 20;

/// A response map with 256 levels.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// Rows and columns.
    pub size: (usize, usize),
    /// The target's centre `(x, y)` on the image that the first element stands for.
    pub origin: (f64, f64),
    /// Pixels of the image from one column to the next and from one row to the next.
    pub step: (f64, f64),
    /// Rotation on the image, in radians, clockwise.
    pub angle: f64,
    /// The lowest and the highest value.
    pub range: (f32, f32),
    /// Row by row: 0 for the lowest value and for NaN, 255 for the highest.
    pub levels: Vec<u8>,
}

impl Map {
    /// The levels of a response.
    pub fn of(response: &ResponseMap<'_>) -> Self {
        let map = response.centered();
        let (low, high) = crate::export::range(map.view());
        // In f64, as the range of an f32 map may be larger than an f32. NaN becomes level 0.
        let unit = 255.0 / (f64::from(high) - f64::from(low));
        let level = |value: &f32| ((f64::from(*value) - f64::from(low)) * unit).round() as u8;
        let levels = map.iter().map(level).collect();
        let &ResponseMap { step, angle, .. } = response;
        Self { size: map.dim(), origin: response.origin(), step, angle, range: (low, high), levels }
    }
}

/// Maps with their position and target, the oldest first.
#[derive(Debug, Default)]
pub struct Maps(VecDeque<((usize, u32), Map)>);

impl Maps {
    /// Replaces the map of a target in a frame; `None` removes it, since the old one is out of date.
    pub fn put(&mut self, position: usize, target: u32, map: Option<Map>) {
        self.0.retain(|(key, _)| *key != (position, target));
        self.0.extend(map.map(|map| ((position, target), map)));
        while self.0.iter().map(|(_, map)| map.levels.len()).sum::<usize>() > MAX_MAP_BYTES {
            self.0.pop_front();
        }
    }

    fn get(&self, position: usize, target: u32) -> Option<&Map> {
        self.0.iter().rev().find(|(key, _)| *key == (position, target)).map(|(_, map)| map)
    }
}

/// Longest side in pixels of a sent picture.
pub const MAX_SIDE: usize = 1920;

/// Quality of the JPEG, 1 to 100.
const QUALITY: u8 = 80;

/// A frame that is shown; encoded when the first page asks for it, on that page's thread.
#[derive(Debug)]
pub struct Picture {
    /// Unique for each picture.
    pub id: u64,
    pub position: usize,
    size: Option<(usize, usize)>,
    /// `None` once it is encoded ahead.
    item: Option<Arc<Item>>,
    jpeg: OnceLock<Vec<u8>>,
}

impl Picture {
    /// The picture of a frame.
    pub fn new(item: Arc<Item>) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let (id, size) = (COUNT.fetch_add(1, Ordering::Relaxed) + 1, item.picture().map(|frame| frame.size()));
        Self { id, position: item.position, size, item: Some(item), jpeg: OnceLock::new() }
    }

    /// The picture without its frame, which may be a smaller one than that of `size`; `None` if it could not be read.
    pub fn alone(item: Item, size: Option<(usize, usize)>) -> Option<Self> {
        let picture = Self::new(Arc::new(item));
        picture.jpeg();
        Some(Self { item: None, size: Some(size.unwrap_or(picture.size?)), ..picture })
    }

    /// The picture without its frame, if a page has asked for it and the frame could be read.
    pub fn encoded(&self) -> Option<Self> {
        let jpeg = self.jpeg.get().filter(|jpeg| !jpeg.is_empty())?.clone();
        Some(Self { item: None, jpeg: jpeg.into(), ..*self })
    }

    /// Width and height of the frame itself; `None` of one that could not be read.
    pub fn size(&self) -> Option<(usize, usize)> {
        self.size
    }

    /// The frame as JPEG, at most [`MAX_SIDE`] wide and high; empty of one that could not be read.
    pub fn jpeg(&self) -> &[u8] {
        let made = || page_jpeg(&self.item.as_ref()?.picture()?, (MAX_SIDE, MAX_SIDE), QUALITY, true);
        self.jpeg.get_or_init(|| made().unwrap_or_default())
    }
}

#[cfg(test)]
pub(super) mod tests;
