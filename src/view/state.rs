//! The state of the view: the controller writes it, any number of connections read it.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use serde::Serialize;

use super::track::{Missing, Track};
use crate::cancel::lock;
use crate::encode::page_jpeg;
use crate::export::{Document, FrameRecord, range};
use crate::media::Item;
use crate::run::Reach;
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
    /// The position that is shown; 0 before the first frame.
    pub position: usize,
    /// Whether the view plays.
    pub playing: bool,
    /// The speed as a multiple of the rate; null for as fast as possible.
    pub speed: Option<f64>,
    /// The position that is tracked on the way to the one to be shown.
    pub catching_up: Option<usize>,
    /// The position of a seek or step, until it is shown.
    pub going_to: Option<usize>,
    /// The frames that are tracked from both sides: the given boxes at their ends.
    pub filling: Option<[usize; 2]>,
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
    /// The targets by their ids.
    pub tracks: BTreeMap<u32, Track>,
    pub maps: Maps,
    serial: u64,
    changes: Vec<Change>,
    /// Why the source ends before its end.
    pub broken: Option<String>,
    /// The position that the session was opened at; 0 for none.
    pub left: usize,
    /// The last changes: those that can be undone, and those that were undone since and can be made again.
    edits: Vec<Edit>,
}

/// A target, and the positions whose records have changed.
pub type Changed = (u32, Range<usize>);

/// What a change has replaced, or what it had made if it is undone.
#[derive(Debug)]
struct Edit {
    target: u32,
    /// The track with its records at the positions that differ; `None` where there is no such target.
    track: Option<Track>,
    changed: Range<usize>,
}

/// What is kept of a view while another clip is shown.
#[derive(Debug)]
pub struct Work {
    tracks: BTreeMap<u32, Track>,
    edits: Vec<Edit>,
    status: Status,
}

/// Maximum changes that can be undone.
const MAX_EDITS: usize = 100;

/// The contents of a page, and the map that it shows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wants {
    /// The serial of the message before.
    pub after: u64,
    /// The number of changes that the page has.
    pub changes: usize,
    /// The picture that the page shows.
    pub picture: u64,
    /// The target whose response map the page shows.
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
    /// Takes the targets of a session with their records, and the frame that was shown.
    pub fn restore(&mut self, session: &mut Document) {
        self.left = session.position.take().unwrap_or_default();
        let records = std::mem::take(&mut session.frames);
        for target in std::mem::take(&mut session.targets) {
            let id = target.id;
            let own = records.iter().filter(|record| record.id.unwrap_or(1) == id);
            let own = own.map(|record| FrameRecord { id: Some(id), ..record.clone() });
            self.tracks.insert(id, Track::restored(target, own));
            self.announce(id, 0..usize::MAX);
        }
    }

    /// Takes out the work for another view of the same source.
    pub fn take_work(&mut self) -> Work {
        let (tracks, edits) = (std::mem::take(&mut self.tracks), std::mem::take(&mut self.edits));
        Work { tracks, edits, status: self.status.clone() }
    }

    /// Goes on with what another view has left.
    pub fn resume(&mut self, left: Work) {
        (self.tracks, self.edits, self.left) = (left.tracks, left.edits, left.status.position);
        let Status { undo, redo, speed, .. } = left.status;
        self.status = Status { undo, redo, speed, ..std::mem::take(&mut self.status) };
        let ids: Vec<u32> = self.tracks.keys().copied().collect();
        ids.into_iter().for_each(|id| self.announce(id, 0..usize::MAX));
    }

    /// Sends pages the records of a target at some positions anew.
    fn announce(&mut self, target: u32, range: Range<usize>) {
        self.changes.push(Change::Gone(target, range.clone()));
        self.maps.0.retain(|((position, of), _)| *of != target || !range.contains(position));
        let track = self.tracks.get(&target);
        let found = track.into_iter().flat_map(Track::records).map(|record| record.index);
        self.changes.extend(found.filter(|at| range.contains(at)).map(|at| Change::Found(target, at)));
    }

    /// Undoes the last change, or makes the last undone one `again`; returns the target, and the positions whose records
    /// have changed.
    pub fn undo(&mut self, again: bool) -> Option<Changed> {
        let Status { undo, redo, .. } = &mut self.status;
        let (from, to) = if again { (redo, undo) } else { (undo, redo) };
        (*from, *to) = (from.checked_sub(1)?, *to + 1);
        // The edit keeps the track that was there in place of its own.
        let edit = self.edits.get_mut(self.status.undo - usize::from(again))?;
        let (target, changed) = (edit.target, edit.changed.clone());
        let now = self.tracks.get(&target).map(|track| track.part(&changed));
        match std::mem::replace(&mut edit.track, now) {
            Some(track) => self.tracks.entry(target).or_default().put_back(track, &changed),
            None => _ = self.tracks.remove(&target),
        }
        self.announce(target, changed.clone());
        Some((target, changed))
    }

    /// Changes a target, which may be new, so that it can be undone; returns the positions that this changes, or `None`
    /// if `change` does nothing.
    pub fn change(
        &mut self,
        target: u32,
        change: impl FnOnce(&mut Track) -> Option<Range<usize>>,
    ) -> Option<Range<usize>> {
        let before = self.tracks.get(&target).cloned();
        let changed = change(self.tracks.entry(target).or_insert_with(|| Track::new(target)))?;
        // A target that was not there is undone with all that is found of it.
        let whole = if before.is_some() { changed.clone() } else { 0..usize::MAX };
        self.remember(target, before, whole);
        self.announce(target, changed.clone());
        Some(changed)
    }

    fn remember(&mut self, target: u32, before: Option<Track>, changed: Range<usize>) {
        self.edits.truncate(self.status.undo);
        self.edits.push(Edit { target, track: before.map(|track| track.part(&changed)), changed });
        if self.edits.len() > MAX_EDITS {
            self.edits.remove(0);
        }
        (self.status.undo, self.status.redo) = (self.edits.len(), 0);
    }

    /// Removes a target.
    pub fn remove(&mut self, target: u32) {
        if let Some(track) = self.tracks.remove(&target) {
            self.remember(target, Some(track), 0..usize::MAX);
            self.announce(target, 0..usize::MAX);
        }
    }

    /// Counts what has changed targets.
    pub fn revision(&self) -> usize {
        self.changes.len()
    }

    /// Adds the next record of a piece; returns whether it was wanted.
    pub fn found(&mut self, target: u32, record: FrameRecord) -> bool {
        let position = record.index;
        let is_wanted = self.tracks.get_mut(&target).is_some_and(|track| track.take(record));
        if is_wanted {
            self.changes.push(Change::Found(target, position));
        }
        is_wanted
    }

    /// The frames between given boxes that are still to be filled in this way.
    pub fn gaps(&self, reach: Reach) -> impl Iterator<Item = Missing> {
        let missing = self.tracks.values().flat_map(|track| track.missing(usize::MAX));
        missing.filter(move |missing| missing.to.is_some() && missing.from.reach == reach)
    }

    /// Fills the frames between two given boxes, if they are still there. That belongs to the change that asked for it.
    pub fn fill(&mut self, missing: &Missing, records: Vec<FrameRecord>) {
        let Missing { target, from, to: Some(to), .. } = *missing else { return };
        if self.tracks.get_mut(&target).is_some_and(|track| track.fill(missing, records)) {
            self.announce(target, from.frame + 1..to.frame);
        }
    }

    /// Shows a picture; an unreadable one does not change the size.
    pub fn show(&mut self, picture: Arc<Picture>) {
        self.size = picture.size.or(self.size);
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
        let map = wants.map.and_then(|target| self.maps.get(self.status.position, target));
        let targets: Vec<_> = self.tracks.values().map(Track::target).collect();
        let text = serde_json::json!({
            "serial": self.serial,
            "changes_until": until,
            "more": until < self.changes.len(),
            "status": self.status,
            "picture": self.picture.as_ref().map(|picture| picture.id),
            "size": self.size,
            "targets": targets,
            "changes": changes,
            "map": map,
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

/// The state, and a condition variable that wakes waiting pages.
#[derive(Debug, Default)]
pub struct SharedState {
    state: Mutex<ViewState>,
    changed: Condvar,
}

impl SharedState {
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
        let state = lock(&self.state);
        let waited = self.changed.wait_timeout_while(state, timeout, |state| state.serial == wants.after);
        waited.unwrap_or_else(PoisonError::into_inner).0.news(wants)
    }
}

/// Maximum bytes of maps in memory.
const MAX_MAP_BYTES: usize = 32 << 20;

/// A response map with 256 levels.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Map {
    pub target: u32,
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
    #[serde(skip)]
    pub levels: Vec<u8>,
}

impl Map {
    /// The levels of a response.
    pub fn of(target: u32, response: &ResponseMap<'_>) -> Self {
        let map = response.centered();
        let (low, high) = range(map.view());
        // In f64, as the range of an f32 map may be larger than an f32. NaN becomes level 0.
        let unit = 255.0 / (f64::from(high) - f64::from(low));
        let levels = map.iter().map(|value| ((f64::from(*value) - f64::from(low)) * unit).round() as u8).collect();
        let &ResponseMap { step, angle, .. } = response;
        Self { target, size: map.dim(), origin: response.origin(), step, angle, range: (low, high), levels }
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
    /// Width and height of the frame itself; `None` of one that could not be read.
    pub size: Option<(usize, usize)>,
    /// `None` once it is encoded.
    item: Mutex<Option<Arc<Item>>>,
    jpeg: OnceLock<Vec<u8>>,
}

impl Picture {
    /// The picture of a frame.
    pub fn new(item: Arc<Item>) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let (id, size) = (COUNT.fetch_add(1, Ordering::Relaxed) + 1, item.picture().map(|frame| frame.size()));
        Self { id, position: item.position, size, item: Mutex::new(Some(item)), jpeg: OnceLock::new() }
    }

    /// Whether a page has asked for the picture and the frame could be read.
    pub fn is_encoded(&self) -> bool {
        self.jpeg.get().is_some_and(|jpeg| !jpeg.is_empty())
    }

    /// The frame as JPEG, at most [`MAX_SIDE`] wide and high; empty of one that could not be read.
    pub fn jpeg(&self) -> &[u8] {
        let made = || page_jpeg(&lock(&self.item).take()?.picture()?, (MAX_SIDE, MAX_SIDE), QUALITY, true);
        self.jpeg.get_or_init(|| made().unwrap_or_default())
    }
}

#[cfg(test)]
pub(super) mod tests;
