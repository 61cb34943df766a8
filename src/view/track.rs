//! One target over all frames: its given boxes, and the boxes that follow from them.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};
use std::ops::Range;
use std::sync::Arc;

use crate::export::{FrameRecord, Given, TargetRecord};
use crate::run::Reach;
use crate::tracker::State;

/// A given box or an end.
#[derive(Clone, Debug)]
struct Mark {
    given: Given,
    /// The position behind the last frame of the path that begins here. Records from there to the next piece are of an
    /// earlier path and stay until this path replaces them.
    followed: usize,
    /// The record that a box of this frame only has replaced.
    before: Option<Arc<FrameRecord>>,
}

impl Mark {
    /// Whether the mark holds in its own frame only; the others begin pieces.
    fn is_pin(&self) -> bool {
        self.given.reach == Reach::ThisFrame
    }
}

/// One target over all frames.
///
/// Marks cut it into pieces, each from a given box to the next one or to an end. A tracker that is given a box starts
/// afresh, so the pieces are independent. A box of one frame only is a pin on the path of its piece.
#[derive(Clone, Debug, Default)]
pub struct Track {
    /// The target without what was given, which stands in the marks.
    pub about: TargetRecord,
    marks: BTreeMap<usize, Mark>,
    found: BTreeMap<usize, Arc<FrameRecord>>,
}

/// The missing part of a piece.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Missing {
    pub target: u32,
    /// The first position without a record of the piece.
    pub at: usize,
    /// The box that begins it.
    pub from: Given,
    /// The box at its end, where the frames between both are to be filled.
    pub to: Option<Given>,
}

impl Track {
    /// A target without a box.
    pub fn new(id: u32) -> Self {
        Self { about: TargetRecord { id, ..TargetRecord::default() }, ..Self::default() }
    }

    /// A target of a session.
    pub fn restored(mut about: TargetRecord, records: impl Iterator<Item = FrameRecord>) -> Self {
        let found = records.map(|record| (record.index, Arc::new(record))).collect();
        let mark = |given: Given| (given.frame, Mark { given, followed: given.frame, before: None });
        let marks = std::mem::take(&mut about.given).into_iter().map(mark).collect();
        let mut track = Self { about, found, marks };
        if let Some(mut first) = track.marks.first_entry().filter(|first| first.get().is_pin()) {
            first.get_mut().given.reach = Reach::FromHere;
        }
        let starts: Vec<usize> = track.marks.keys().copied().collect();
        for start in starts {
            let last = track.found.range(start..track.next_piece(start)).next_back().map(|(&last, _)| last);
            if let (Some(mark), Some(last)) = (track.marks.get_mut(&start), last) {
                mark.followed = mark.given.until.map_or(last, |until| until.clamp(start, last)).saturating_add(1);
            }
        }
        track
    }

    /// A copy with the records of some positions only.
    pub fn part(&self, range: &Range<usize>) -> Self {
        let found = self.found.range(range.clone()).map(|(&at, record)| (at, Arc::clone(record))).collect();
        Self { found, ..self.clone() }
    }

    /// Replaces all but the records outside of `range` by those of `part`.
    pub fn put_back(&mut self, part: Self, range: &Range<usize>) {
        let others = std::mem::take(&mut self.found).into_iter().filter(|(at, _)| !range.contains(at));
        *self = Self { found: others.chain(part.found).collect(), ..part };
    }

    /// The target as documents have it.
    pub fn target(&self) -> TargetRecord {
        TargetRecord { given: self.given().collect(), ..self.about.clone() }
    }

    /// All given boxes and ends.
    pub fn given(&self) -> impl Iterator<Item = Given> {
        self.marks.values().map(|mark| {
            let others = !mark.is_pin() && mark.given.bbox.is_some() && {
                let end = self.next_piece(mark.given.frame).max(mark.followed);
                self.found.range(mark.followed..end).next().is_some()
            };
            Given { until: others.then(|| mark.followed - 1), ..mark.given }
        })
    }

    /// The record of a frame.
    pub fn at(&self, position: usize) -> Option<&FrameRecord> {
        self.found.get(&position).map(|record| &**record)
    }

    /// The records in order.
    pub fn records(&self) -> impl Iterator<Item = &FrameRecord> {
        self.found.values().map(|record| &**record)
    }

    /// Position of the first box.
    pub fn start(&self) -> usize {
        self.marks.keys().next().copied().unwrap_or(usize::MAX)
    }

    /// The missing parts up to `last`, piece by piece.
    pub fn missing(&self, last: usize) -> impl Iterator<Item = Missing> {
        self.marks.values().filter(|mark| !mark.is_pin() && mark.given.bbox.is_some()).filter_map(move |mark| {
            let (from, at) = (mark.given, mark.followed);
            let end = self.next_piece(from.frame);
            let to = self.marks.get(&end).map(|end| end.given).filter(|to| to.bbox.is_some());
            let to = to.filter(|_| matches!(from.reach, Reach::BothSides | Reach::Interpolated));
            (at < end && at <= last).then_some(Missing { target: self.about.id, at, from, to })
        })
    }

    /// The missing part to track from one frame to the next.
    pub fn to_track(&self, last: usize) -> Option<Missing> {
        self.missing(last).find(|missing| missing.to.is_none())
    }

    /// Adds the next record of a piece; returns whether it was wanted.
    pub fn take(&mut self, record: FrameRecord) -> bool {
        let is_next = |mark: &&mut Mark| mark.given.bbox.is_some() && mark.followed == record.index;
        let Some(mark) = self.piece_mut(record.index).filter(is_next) else { return false };
        mark.followed += 1;
        self.put(record);
        true
    }

    /// Fills the frames between two given boxes, if they are still missing; returns whether they were.
    pub fn fill(&mut self, missing: &Missing, records: Vec<FrameRecord>) -> bool {
        let is_missing = self.missing(usize::MAX).any(|known| known == *missing);
        if let Some(to) = missing.to.filter(|_| is_missing) {
            records.into_iter().for_each(|record| self.put(record));
            self.piece_mut(missing.from.frame).into_iter().for_each(|mark| mark.followed = to.frame);
        }
        is_missing
    }

    /// Puts in a record, unless a person gave another box there. A person's mark of the target goes before its state.
    fn put(&mut self, mut record: FrameRecord) {
        let said = self.marks.range(..=record.index).next_back().map(|(&at, mark)| (at, mark.given));
        let is_given = said.is_some_and(|(at, given)| at == record.index && given.bbox.is_some());
        if is_given && self.found.contains_key(&record.index) {
            return;
        }
        match said.and_then(|(_, given)| given.occluded) {
            Some(true) if record.state != State::Missing => record.state = State::Occluded,
            Some(false) if record.state == State::Occluded => record.state = State::Tracking,
            _ => {}
        }
        self.found.insert(record.index, Arc::new(record));
    }

    /// Gives the target a box; returns the positions that this changes.
    pub fn give(&mut self, mut given: Given, record: FrameRecord) -> Range<usize> {
        let at = given.frame;
        let end = self.next_piece(at);
        let is_box =
            |mark: Option<(&usize, &Mark)>| mark.filter(|(_, mark)| mark.given.bbox.is_some()).map(|(at, _)| *at);
        let (before, after) = (is_box(self.marks.range(..at).next_back()), is_box(self.marks.range(at + 1..).next()));
        let mut range = at..end;
        let known = self.marks.get(&at).filter(|mark| mark.given.bbox.is_some());
        given.occluded = known.and_then(|known| known.given.occluded);
        let mut mark = Mark { given, followed: at + 1, before: None };
        match given.reach {
            Reach::ThisFrame => {
                range.end = at + 1;
                if let Some(known) = known {
                    given.reach = known.given.reach;
                    mark = Mark { given, ..known.clone() };
                } else if before.is_some() && !self.marks.contains_key(&at) {
                    mark.before = self.found.get(&at).cloned();
                } else {
                    mark.given.reach = Reach::FromHere;
                    range.end = end;
                }
            }
            Reach::FromHere => {}
            reach => {
                mark.given.reach = if after.is_some() { reach } else { Reach::FromHere };
                let followed = self.piece(at).map_or(0, |mark| mark.followed);
                for (place, reach, followed) in [(before, reach, 0), (after, Reach::FromHere, followed)] {
                    let Some(place) = place else { continue };
                    let other = self.marks.get_mut(&place);
                    let Some(other) = other.filter(|other| other.is_pin() || place < at) else { continue };
                    (other.given.reach, other.followed) = (reach, followed.max(place + 1));
                    range = range.start.min(place)..range.end;
                    self.follow_to(place);
                }
            }
        }
        if !mark.is_pin() {
            self.follow_to(at);
        }
        self.marks.insert(at, mark);
        self.found.insert(at, Arc::new(record));
        range
    }

    /// Says from `position` on, up to the next given box, whether something covers the target; returns the positions that
    /// this changes, or `None` where it has no box.
    pub fn occlude(&mut self, position: usize, on: bool) -> Option<Range<usize>> {
        let record = self.found.get(&position)?;
        let (bbox, polygon) = (record.finite_box()?, record.polygon);
        let before = Some(Arc::clone(record));
        let given = Given { polygon, reach: Reach::ThisFrame, ..Given::new(position, Some(bbox)) };
        let pin = || Mark { given, followed: position + 1, before };
        self.marks.entry(position).or_insert_with(pin).given.occluded = Some(on);
        if let Some(record) = self.found.get_mut(&position) {
            Arc::make_mut(record).state = State::Initial;
        }
        let end = self.marks.range((Excluded(position), Unbounded)).next().map_or(usize::MAX, |(&at, _)| at);
        let later: Vec<_> =
            self.found.range(position.saturating_add(1)..end).map(|(_, record)| (**record).clone()).collect();
        later.into_iter().for_each(|record| self.put(record));
        Some(position..end)
    }

    /// Ends the target at `position`; returns the positions that this changes, or `None` at the first box, before it, and
    /// where the target has ended.
    pub fn end(&mut self, position: usize) -> Option<Range<usize>> {
        if position <= self.start() || self.piece(position).is_none_or(|mark| mark.given.bbox.is_none()) {
            return None;
        }
        let end = self.next_piece(position);
        // The end after it is that of the same piece.
        if self.marks.get(&end).is_some_and(|mark| mark.given.bbox.is_none()) {
            self.marks.remove(&end);
        }
        self.clear(position..end);
        let given = Given::new(position, None);
        self.marks.insert(position, Mark { given, followed: position, before: None });
        self.follow_to(position);
        Some(position..end)
    }

    /// Removes what was given at `position`, so that the piece before it reaches to the next one. Returns the positions
    /// that this changes, or `None` if only the first box is there.
    pub fn take_back(&mut self, position: usize) -> Option<Range<usize>> {
        if position == self.start() {
            return None;
        }
        let mark = self.marks.remove(&position)?;
        if mark.is_pin() {
            match mark.before {
                Some(before) => self.put((*before).clone()),
                None => self.follow_to(position),
            }
            return Some(position..position + 1);
        }
        let end = self.next_piece(position);
        if self.piece(position).is_none_or(|mark| mark.given.bbox.is_none()) {
            self.clear(position..end);
        }
        Some(position..end)
    }

    /// What the piece before the mark at `position` misses without it; `None` if the target had ended.
    pub fn resumes(&self, position: usize) -> Option<Missing> {
        self.marks.get(&position)?;
        let Mark { given, followed, .. } = *self.piece(position.checked_sub(1)?)?;
        given.bbox.map(|_| Missing { target: self.about.id, at: followed, from: given, to: None })
    }

    /// The mark that begins the piece at a position.
    fn piece(&self, position: usize) -> Option<&Mark> {
        self.marks.range(..=position).map(|(_, mark)| mark).rfind(|mark| !mark.is_pin())
    }

    fn piece_mut(&mut self, position: usize) -> Option<&mut Mark> {
        self.marks.range_mut(..=position).map(|(_, mark)| mark).rfind(|mark| !mark.is_pin())
    }

    /// The start of the piece after `position`; `usize::MAX` without one.
    fn next_piece(&self, position: usize) -> usize {
        let mut later = self.marks.range((Excluded(position), Unbounded));
        later.find(|(_, mark)| !mark.is_pin()).map_or(usize::MAX, |(&start, _)| start)
    }

    /// Ends the piece before `position` there.
    fn follow_to(&mut self, position: usize) {
        if let Some(mark) = position.checked_sub(1).and_then(|before| self.piece_mut(before)) {
            mark.followed = mark.followed.min(position);
        }
    }

    /// Removes the records and the pins of some positions.
    fn clear(&mut self, range: Range<usize>) {
        self.found.retain(|at, _| !range.contains(at));
        self.marks.retain(|at, _| !range.contains(at));
    }
}
