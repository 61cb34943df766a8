//! What pages see: the controller writes it, any number of connections read it.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound::{Excluded, Unbounded};
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use image::imageops::thumbnail;
use image::{ImageBuffer, Pixel};
use serde::Serialize;

use crate::bbox::BBox;
use crate::export::FrameRecord;
use crate::frame::{Frame, FrameBuf, PixelFormat};
use crate::jpeg;
use crate::media::Item;
use crate::tracker::ResponseMap;

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
pub struct ViewState {
    /// How playing goes.
    pub status: Status,
    /// The frame that is shown.
    pub picture: Option<Arc<Picture>>,
    /// Width and height of the last frame that was shown and could be read.
    pub size: Option<(usize, usize)>,
    /// The first box, once it was drawn.
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
const MAX_CHANGES: usize = 4000;

impl ViewState {
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

    /// Shows a message on the page.
    pub fn say(&mut self, said: impl Into<String>) {
        self.status.said = (self.status.said.0 + 1, said.into());
    }

    fn news(&self, wants: &Wants) -> News {
        // A page that knows more changes than there are is one of another run: it begins anew.
        let known = if wants.changes > self.changes.len() { 0 } else { wants.changes };
        let until = self.changes.len().min(known + MAX_CHANGES);
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
    let given = |mark: &Mark| matches!(mark, Mark::Given(_));
    let marks: Vec<(usize, bool)> = track.marks().iter().map(|(position, mark)| (*position, given(mark))).collect();
    serde_json::json!({ "id": id, "marks": marks })
}

/// The state, and a bell that rings when it changes.
#[derive(Debug, Default)]
pub struct SharedState {
    state: Mutex<ViewState>,
    bell: Condvar,
}

impl SharedState {
    /// Looks at the state; for a moment only.
    pub fn look<T>(&self, look: impl FnOnce(&ViewState) -> T) -> T {
        look(&self.lock())
    }

    /// Changes the state without a sound: what pages see next will ring the bell for this, too.
    pub fn prepare<T>(&self, change: impl FnOnce(&mut ViewState) -> T) -> T {
        change(&mut self.lock())
    }

    /// Changes the state and rings the bell.
    pub fn change<T>(&self, change: impl FnOnce(&mut ViewState) -> T) -> T {
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

    fn lock(&self) -> MutexGuard<'_, ViewState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a person said of a target in a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mark {
    /// It is in this box: a tracker learns it here, and forgets whatever it knew.
    Given(BBox),
    /// It is not followed from here on.
    End,
}

/// One target over all frames.
///
/// Marks cut it into pieces: from a given box to the next mark. A tracker that is given a box forgets all that came
/// before, so no piece depends on another, and a change to one leaves all others as they are.
#[derive(Debug)]
pub struct Track {
    marks: BTreeMap<usize, Mark>,
    found: BTreeMap<usize, FrameRecord>,
    /// The first position whose record is missing; beyond the last frame where none is.
    gap: usize,
}

impl Track {
    /// A target that begins with `record`, found in the `given` box.
    pub fn new(given: BBox, record: FrameRecord) -> Self {
        let position = record.index;
        let marks = BTreeMap::from([(position, Mark::Given(given))]);
        let mut track = Self { marks, found: BTreeMap::from([(position, record)]), gap: position };
        track.advance_gap();
        track
    }

    /// A target that is to begin in the `given` box of a frame that has not come yet.
    pub fn to_come(given: BBox, position: usize) -> Self {
        Self { marks: BTreeMap::from([(position, Mark::Given(given))]), found: BTreeMap::new(), gap: position }
    }

    /// All marks, by position.
    pub fn marks(&self) -> &BTreeMap<usize, Mark> {
        &self.marks
    }

    /// What was found in a frame.
    pub fn at(&self, position: usize) -> Option<&FrameRecord> {
        self.found.get(&position)
    }

    /// All that was found, in order.
    pub fn records(&self) -> impl Iterator<Item = &FrameRecord> {
        self.found.values()
    }

    /// Position of the first box.
    pub fn start(&self) -> usize {
        self.marks.keys().next().copied().unwrap_or(usize::MAX)
    }

    /// The first position up to `last` that has no record and should have one, with the given box that its piece
    /// begins with.
    pub fn missing(&self, last: usize) -> Option<(usize, (usize, BBox))> {
        if self.gap > last {
            return None;
        }
        match self.piece(self.gap)? {
            (start, Mark::Given(bbox)) => Some((self.gap, (start, bbox))),
            (_, Mark::End) => None,
        }
    }

    /// Takes a record into the piece that it belongs to.
    pub fn take(&mut self, record: FrameRecord) {
        self.found.insert(record.index, record);
        self.advance_gap();
    }

    /// Gives the target a box at the record's position; the positions whose records are thereby gone.
    pub fn give(&mut self, given: BBox, record: FrameRecord) -> Range<usize> {
        let position = record.index;
        let gone = self.mark(position, Mark::Given(given));
        self.found.insert(position, record);
        self.advance_gap();
        gone
    }

    /// Ends the target at `position`, where it is no longer; the positions whose records are gone. `None` at its first
    /// box or before: nothing would be left.
    pub fn end(&mut self, position: usize) -> Option<Range<usize>> {
        if position <= self.start() {
            return None;
        }
        let gone = self.mark(position, Mark::End);
        self.advance_gap();
        Some(gone)
    }

    /// Takes the mark at `position` back: the piece before it goes on to the next mark. The positions whose records are
    /// gone; `None` where there is no mark, or only the first box, without which there is no target.
    pub fn take_back(&mut self, position: usize) -> Option<Range<usize>> {
        if position == self.start() {
            return None;
        }
        match self.marks.entry(position) {
            Entry::Vacant(_) => None,
            Entry::Occupied(mark) => {
                mark.remove();
                let gone = self.clear(position);
                self.advance_gap();
                Some(gone)
            }
        }
    }

    /// The first position without a record, and the beginning, of the piece that a mark at `position` cuts off; `None`
    /// where the target has ended before.
    pub fn resumes(&self, position: usize) -> Option<(usize, usize)> {
        match self.piece(position.checked_sub(1)?)? {
            (_, Mark::End) => None,
            (start, Mark::Given(_)) => {
                let last = self.found.range(start..position).next_back();
                Some((last.map_or(start, |(last, _)| last + 1), start))
            }
        }
    }

    fn mark(&mut self, position: usize, mark: Mark) -> Range<usize> {
        self.marks.insert(position, mark);
        self.clear(position)
    }

    /// The mark that holds at `position`, and its own position.
    fn piece(&self, position: usize) -> Option<(usize, Mark)> {
        self.marks.range(..=position).next_back().map(|(at, mark)| (*at, *mark))
    }

    /// Position of the first mark behind `position`.
    fn next_mark(&self, position: usize) -> Option<usize> {
        self.marks.range((Excluded(position), Unbounded)).next().map(|(at, _)| *at)
    }

    /// Forgets the records from `position` to the next mark.
    fn clear(&mut self, position: usize) -> Range<usize> {
        let next = self.next_mark(position).unwrap_or(usize::MAX);
        let mut later = self.found.split_off(&position);
        let mut kept = later.split_off(&next);
        self.found.append(&mut kept);
        self.gap = self.gap.min(position);
        position..next
    }

    /// Moves the gap over all that is there.
    fn advance_gap(&mut self) {
        self.gap = self.gap.max(self.start());
        loop {
            match self.piece(self.gap) {
                Some((_, Mark::End)) => match self.next_mark(self.gap) {
                    Some(next) => self.gap = next,
                    None => return self.gap = usize::MAX,
                },
                _ if self.found.contains_key(&self.gap) => self.gap += 1,
                _ => return,
            }
        }
    }
}

/// Most bytes of maps that are kept.
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
    /// By how much it is turned on the image, in radians, clockwise.
    pub angle: f64,
    /// The lowest and the highest value.
    pub range: (f32, f32),
    /// Row by row: 0 for the lowest value and for what is no number, 255 for the highest.
    pub levels: Vec<u8>,
}

impl Map {
    /// The levels of a response.
    pub fn of(response: &ResponseMap<'_>) -> Self {
        let map = response.centered();
        let finite = map.iter().filter(|value| value.is_finite());
        let (low, high) = finite.fold((f32::INFINITY, f32::NEG_INFINITY), |(lo, hi), &v| (lo.min(v), hi.max(v)));
        // In f64, as the range of an f32 map may be larger than an f32. A value that is no number becomes level 0.
        let unit = 255.0 / (f64::from(high) - f64::from(low));
        let level = |value: &f32| ((f64::from(*value) - f64::from(low)) * unit).round() as u8;
        let levels = map.iter().map(level).collect();
        let &ResponseMap { step, angle, .. } = response;
        Self { size: map.dim(), origin: response.origin(), step, angle, range: (low, high), levels }
    }
}

/// Maps by position and target; the oldest make room for the newest.
#[derive(Debug, Default)]
pub struct Maps {
    maps: BTreeMap<(usize, u32), Map>,
    order: VecDeque<(usize, u32)>,
    bytes: usize,
}

impl Maps {
    /// Keeps the map of a target in a frame, in the place of an earlier one.
    pub fn put(&mut self, position: usize, target: u32, map: Map) {
        let key = (position, target);
        self.bytes += map.levels.len();
        if let Some(before) = self.maps.insert(key, map) {
            self.bytes -= before.levels.len();
            self.order.retain(|known| *known != key);
        }
        self.order.push_back(key);
        while self.bytes > MAX_MAP_BYTES {
            let Some(oldest) = self.order.pop_front() else { return };
            self.bytes -= self.maps.remove(&oldest).map_or(0, |map| map.levels.len());
        }
    }

    /// Forgets the map of a target in a frame.
    pub fn forget(&mut self, position: usize, target: u32) {
        let key = (position, target);
        if let Some(map) = self.maps.remove(&key) {
            self.bytes -= map.levels.len();
            self.order.retain(|known| *known != key);
        }
    }

    /// The map of a target in a frame, while it is kept.
    pub fn get(&self, position: usize, target: u32) -> Option<&Map> {
        self.maps.get(&(position, target))
    }
}

/// Longest side in pixels of what is sent.
pub const MAX_SIDE: usize = 1920;

/// Quality of the JPEG, 1 to 100.
const QUALITY: u8 = 80;

/// A frame that is shown; encoded when the first page asks for it, on that page's thread.
#[derive(Debug)]
pub struct Picture {
    /// Another number for every picture.
    pub id: u64,
    item: Arc<Item>,
    jpeg: OnceLock<Vec<u8>>,
}

impl Picture {
    /// The picture of a frame.
    pub fn new(id: u64, item: Arc<Item>) -> Self {
        Self { id, item, jpeg: OnceLock::new() }
    }

    /// Width and height of the frame itself; `None` of one that could not be read.
    pub fn size(&self) -> Option<(usize, usize)> {
        self.item.picture().map(|frame| (frame.width(), frame.height()))
    }

    /// The frame as JPEG, at most [`MAX_SIDE`] wide and high; empty of one that could not be read.
    pub fn jpeg(&self) -> &[u8] {
        self.jpeg.get_or_init(|| self.item.picture().and_then(|frame| encode(&frame)).unwrap_or_default())
    }
}

fn encode(frame: &Frame<'_>) -> Option<Vec<u8>> {
    let (width, height, longest) = (frame.width(), frame.height(), frame.width().max(frame.height()));
    if longest <= MAX_SIDE {
        return jpeg::encode(frame, QUALITY, true);
    }
    let fits = |side: usize| (side * MAX_SIDE / longest).max(1);
    let (from, to) = ((width, height), (fits(width), fits(height)));
    let rows: Vec<u8> = (0..height).flat_map(|y| frame.row(y)).copied().collect();
    let bytes = match frame.format() {
        PixelFormat::Gray8 => scaled::<image::Luma<u8>>(rows, from, to)?,
        PixelFormat::Rgb8 | PixelFormat::Bgr8 => scaled::<image::Rgb<u8>>(rows, from, to)?,
        PixelFormat::Rgba8 | PixelFormat::Bgra8 => scaled::<image::Rgba<u8>>(rows, from, to)?,
    };
    jpeg::encode(&FrameBuf::new(bytes, to.0, to.1, frame.format()).ok()?.as_frame(), QUALITY, true)
}

/// The pixels of a picture of size `from` at size `to`, neither empty.
fn scaled<P: Pixel<Subpixel = u8> + 'static>(
    bytes: Vec<u8>,
    from: (usize, usize),
    to: (usize, usize),
) -> Option<Vec<u8>> {
    let [width, height, to_width, to_height] = [from.0, from.1, to.0, to.1].map(|side| u32::try_from(side).ok());
    let picture: ImageBuffer<P, Vec<u8>> = ImageBuffer::from_raw(width?, height?, bytes)?;
    Some(thumbnail(&picture, to_width?, to_height?).into_raw())
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod track_tests {
    use super::super::fixtures::record_at;
    use super::*;

    fn record(index: usize, x: f64) -> FrameRecord {
        record_at(index, bbox(x))
    }

    fn bbox(x: f64) -> BBox {
        BBox::new(x, 0.0, 2.0, 1.0)
    }

    /// One from 3 to 9, given at 3.
    fn track() -> Track {
        let mut track = Track::new(bbox(3.0), record(3, 3.0));
        (4..10).for_each(|index| track.take(record(index, index as f64)));
        track
    }

    fn positions(track: &Track) -> Vec<usize> {
        track.records().map(|record| record.index).collect()
    }

    #[test]
    fn what_is_missing_is_the_next_frame() {
        let track = track();
        assert_eq!(track.missing(9), None);
        assert_eq!(track.missing(10), Some((10, (3, bbox(3.0)))));
        assert_eq!(track.start(), 3);
    }

    #[test]
    fn a_correction_keeps_what_was_before_it_and_what_was_given_after_it() {
        let mut track = track();
        assert_eq!(track.give(bbox(7.5), record(7, 7.5)), 7..usize::MAX);
        assert_eq!(positions(&track), [3, 4, 5, 6, 7]);
        track.take(record(8, 8.5));
        // An earlier one: the piece from 7 on depends on nothing before it.
        assert_eq!(track.give(bbox(5.5), record(5, 5.5)), 5..7);
        assert_eq!(positions(&track), [3, 4, 5, 7, 8]);
        assert_eq!(track.missing(20), Some((6, (5, bbox(5.5)))));
        track.take(record(6, 6.5));
        assert_eq!(track.missing(20), Some((9, (7, bbox(7.5)))));
    }

    #[test]
    fn an_end_leaves_nothing_until_the_next_box() {
        let mut track = track();
        assert_eq!(track.end(6), Some(6..usize::MAX));
        assert_eq!(positions(&track), [3, 4, 5]);
        assert_eq!(track.missing(100), None);
        assert_eq!(track.give(bbox(9.0), record(9, 9.0)), 9..usize::MAX);
        assert_eq!(track.missing(100), Some((10, (9, bbox(9.0)))));
        assert_eq!(track.end(3), None);
        assert_eq!(track.end(1), None);
    }

    #[test]
    fn a_mark_is_taken_back() {
        let mut track = track();
        track.give(bbox(7.5), record(7, 7.5));
        track.take(record(8, 8.5));
        assert_eq!(track.take_back(7), Some(7..usize::MAX));
        assert_eq!(track.missing(100), Some((7, (3, bbox(3.0)))));
        track.end(5);
        assert_eq!(track.take_back(5), Some(5..usize::MAX));
        assert_eq!(track.missing(100), Some((5, (3, bbox(3.0)))));
        assert_eq!(track.take_back(3), None);
        assert_eq!(track.take_back(4), None);
    }

    #[test]
    fn what_a_mark_cuts_off_goes_on_behind_its_last_record() {
        let mut track = track();
        track.give(bbox(7.5), record(7, 7.5));
        assert_eq!(track.resumes(7), Some((7, 3)));
        track.end(12);
        assert_eq!(track.resumes(12), Some((8, 7)));
        assert_eq!(track.resumes(14), None);
        assert_eq!((track.resumes(3), track.resumes(0)), (None, None));
    }

    #[test]
    fn a_box_before_the_first_one_begins_earlier() {
        let mut track = track();
        assert_eq!(track.give(bbox(1.0), record(1, 1.0)), 1..3);
        assert_eq!(track.missing(100), Some((2, (1, bbox(1.0)))));
        track.take(record(2, 2.0));
        assert_eq!(track.missing(100), Some((10, (3, bbox(3.0)))));
    }
}

#[cfg(test)]
mod maps_tests {
    use ndarray::array;

    use super::*;
    use crate::tracker::ResponseLayout;

    #[test]
    fn the_lowest_value_is_0_and_the_highest_255() {
        let of = |values: ndarray::Array2<f32>| {
            let (center, step) = ((100.0, 50.0), (4.0, 8.0));
            Map::of(&ResponseMap { values: values.view(), layout: ResponseLayout::Centered, center, step, angle: 0.0 })
        };
        let map = of(array![[-1.0, 0.0, 1.0], [f32::NAN, 0.5, 1.0]]);
        assert_eq!((map.size, map.range), ((2, 3), (-1.0, 1.0)));
        assert_eq!(map.levels, [0, 128, 255, 0, 191, 255]);
        assert_eq!(map.origin, (96.0, 42.0));
        assert_eq!(of(array![[2.0, 2.0]]).levels, [0, 0]);
        assert_eq!(of(array![[f32::NAN]]).levels, [0]);
    }

    #[test]
    fn maps_have_a_bound() {
        let map = |level| Map {
            size: (1024, 1024),
            origin: (0.0, 0.0),
            step: (1.0, 1.0),
            angle: 0.0,
            range: (0.0, 1.0),
            levels: vec![level; 1 << 20],
        };
        let mut maps = Maps::default();
        for position in 1..=40 {
            maps.put(position, 1, map(0));
            maps.put(position, 1, map(1));
        }
        assert!(maps.bytes <= MAX_MAP_BYTES && maps.maps.len() == 32 && maps.order.len() == 32);
        assert!(maps.get(8, 1).is_none() && maps.get(9, 1).is_some_and(|map| map.levels[0] == 1));
        assert!(maps.get(40, 2).is_none());
        let bytes = maps.bytes;
        maps.forget(40, 1);
        maps.forget(40, 1);
        assert!(maps.get(40, 1).is_none() && maps.bytes == bytes - (1 << 20) && maps.order.len() == 31);
    }
}

#[cfg(test)]
mod picture_tests {
    use super::super::fixtures::item_of;
    use super::*;
    use crate::frame::Channels;
    use crate::media::decode_bytes;

    fn decoded(width: usize, height: usize, format: PixelFormat) -> FrameBuf {
        let frame = FrameBuf::new(vec![90; width * height * format.bytes()], width, height, format).unwrap();
        let picture = Picture::new(1, Arc::new(item_of(1, Ok(frame))));
        assert_eq!(picture.size(), Some((width, height)));
        decode_bytes(picture.jpeg(), "sent", Channels::Luma).unwrap()
    }

    #[test]
    fn a_frame_is_sent_at_its_own_size_unless_it_is_large() {
        for format in [PixelFormat::Gray8, PixelFormat::Rgb8] {
            for ((width, height), sent) in [((65, 33), (65, 33)), ((3840, 21), (1920, 10)), ((1, 4000), (1, 1920))] {
                let picture = decoded(width, height, format);
                let frame = picture.as_frame();
                assert_eq!((frame.width(), frame.height()), sent);
                assert!((0..sent.1).all(|y| frame.row(y).iter().all(|level| level.abs_diff(90) < 4)));
            }
        }
    }

    #[test]
    fn of_a_frame_that_could_not_be_read_there_is_none() {
        let picture = Picture::new(1, Arc::new(item_of(1, Err(crate::Error::NotInitialized))));
        assert!(picture.jpeg().is_empty() && picture.size().is_none());
    }
}
