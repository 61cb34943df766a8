//! What is known of one target: the boxes that were given, where it was ended, and what was found in between.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Bound::{Excluded, Unbounded};
use std::ops::Range;

use crate::bbox::BBox;
use crate::export::FrameRecord;

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
        track.settle();
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
        self.settle();
    }

    /// Gives the target a box at the record's position; the positions whose records are thereby gone.
    pub fn give(&mut self, given: BBox, record: FrameRecord) -> Range<usize> {
        let position = record.index;
        let gone = self.mark(position, Mark::Given(given));
        self.found.insert(position, record);
        self.settle();
        gone
    }

    /// Ends the target at `position`, where it is no longer; the positions whose records are gone. `None` at its first
    /// box or before: nothing would be left.
    pub fn end(&mut self, position: usize) -> Option<Range<usize>> {
        if position <= self.start() {
            return None;
        }
        let gone = self.mark(position, Mark::End);
        self.settle();
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
                self.settle();
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
    fn settle(&mut self) {
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

#[cfg(test)]
mod tests {
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
