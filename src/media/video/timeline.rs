//! What is remembered of the frames of a video, so that it can be read again from its middle.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A time as a file counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticks {
    pub count: i64,
    /// Seconds of one, as a fraction.
    pub tick: (u32, u32),
}

impl Ticks {
    /// Seconds from `earlier` to this one; `None` where they are not counted alike.
    pub fn since(self, earlier: Self) -> Option<f64> {
        (self.tick == earlier.tick).then(|| self.count.saturating_sub(earlier.count) as f64 * self.seconds())
    }

    fn seconds(self) -> f64 {
        f64::from(self.tick.0) / f64::from(self.tick.1)
    }
}

/// A frame that has been decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub time: Ticks,
    /// A checksum of its picture, as ffmpeg wrote it.
    pub digest: u32,
}

/// Fewest ticks between frames for which ffmpeg can be told a time between them.
const FEWEST_TICKS: i64 = 4;

/// Shortest tick, in seconds, whose number ffmpeg gets right out of microseconds.
const SHORTEST_TICK: f64 = 1e-5;

/// Where reading can begin, other than at the first frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Entry {
    /// The frame that comes first, counted from 1.
    pub position: usize,
    /// What ffmpeg is told: seconds, after the frame before and not after this one.
    pub seconds: f64,
    /// Ticks from there to this frame.
    ahead: i64,
    /// By how many ticks that may be rounded.
    off: u64,
    /// When the frame comes.
    time: Ticks,
    /// When the first frame of all comes.
    pub first: Ticks,
}

impl Entry {
    /// What the times of ffmpeg lack, which counts them from where it was told to begin, when it gives its first frame
    /// at `given`; `None` where that is another frame.
    pub fn lacking(&self, given: Ticks) -> Option<i64> {
        let met = given.tick == self.time.tick && given.count.abs_diff(self.ahead) <= self.off;
        met.then(|| self.time.count - given.count)
    }
}

/// The frames of a video as they were decoded, from the first on, until one cannot be told from others.
///
/// Cloned, it is the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Timeline(Arc<Mutex<Marks>>);

#[derive(Debug, Default)]
struct Marks {
    /// ffmpeg's name of the form of the pixels.
    pixels: String,
    marks: Vec<Mark>,
}

impl Timeline {
    fn lock(&self) -> MutexGuard<'_, Marks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Frames are decoded in the form `pixels` from here on: what was learned of another form is of no use.
    pub fn begin(&self, pixels: &str) {
        let mut marks = self.lock();
        if marks.pixels != pixels {
            marks.pixels = pixels.into();
            marks.marks.clear();
        }
    }

    /// Notes the frame at `position`, where it is the next one and comes no earlier than the one before.
    pub fn note(&self, position: usize, mark: Mark) {
        let marks = &mut self.lock().marks;
        let later = |last: &Mark| mark.time.since(last.time).is_some_and(|seconds| seconds >= 0.0);
        if position == marks.len() + 1 && marks.last().is_none_or(later) {
            marks.push(mark);
        }
    }

    /// Whether the frame at `position` is the one that was there; `None` where nothing is known of it.
    pub fn agrees(&self, position: usize, mark: Option<Mark>) -> Option<bool> {
        self.lock().marks.get(position.checked_sub(1)?).map(|&known| mark == Some(known))
    }

    /// How reading can begin at `position`; `None` where it must begin at the first frame.
    pub fn entry(&self, position: usize) -> Option<Entry> {
        let marks = &self.lock().marks;
        let [before, mark, after] = marks.get(position.checked_sub(2)?..=position)? else { return None };
        let (gap, next) = (mark.time.count - before.time.count, after.time.count - mark.time.count);
        let (ahead, off) = match gap.min(next) {
            FEWEST_TICKS.. => (gap / 2, 1),
            1.. if mark.time.seconds() >= SHORTEST_TICK => (0, 0),
            _ => return None,
        };
        let seconds = (mark.time.count - ahead) as f64 * mark.time.seconds();
        let (time, first) = (mark.time, marks[0].time);
        (seconds > 0.0).then_some(Entry { position, seconds, ahead, off, time, first })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(count: i64) -> Mark {
        Mark { time: Ticks { count, tick: (1, 1000) }, digest: count as u32 }
    }

    /// Ten frames, 40 ticks from one to the next.
    fn timeline() -> Timeline {
        let timeline = Timeline::default();
        timeline.begin("gray");
        (1..=10).for_each(|position| timeline.note(position, mark(40 * position as i64)));
        timeline
    }

    #[test]
    fn reading_begins_between_two_frames_that_are_known() {
        let entry = timeline().entry(5).unwrap();
        assert_eq!((entry.position, entry.seconds, entry.first), (5, 0.18, mark(40).time));
        // The first frame after the beginning is half a frame away from it.
        let lacking = |count: i64| entry.lacking(mark(count).time);
        assert_eq!([19, 20, 21].map(lacking), [Some(181), Some(180), Some(179)]);
        assert_eq!([18, 22, 60].map(lacking), [None; 3], "another frame");
        assert_eq!(entry.lacking(Ticks { count: 20, tick: (1, 90000) }), None, "counted otherwise");
    }

    #[test]
    fn a_frame_agrees_in_time_and_picture() {
        let timeline = timeline();
        assert_eq!(timeline.agrees(5, Some(mark(200))), Some(true));
        assert_eq!(timeline.agrees(5, Some(mark(240))), Some(false));
        assert_eq!(timeline.agrees(5, Some(Mark { digest: 1, ..mark(200) })), Some(false));
        assert_eq!((timeline.agrees(10, None), timeline.agrees(11, None)), (Some(false), None));
    }

    #[test]
    fn reading_begins_at_no_frame_whose_neighbours_are_unknown() {
        let timeline = timeline();
        let known: Vec<usize> = (0..12).filter(|&position| timeline.entry(position).is_some()).collect();
        assert_eq!(known, (2..10).collect::<Vec<_>>());
    }

    #[test]
    fn only_the_next_frame_is_noted_and_only_if_it_is_later() {
        let timeline = timeline();
        timeline.note(12, mark(480));
        timeline.note(11, mark(399));
        timeline.note(11, Mark { time: Ticks { count: 500, tick: (1, 90000) }, digest: 0 });
        timeline.note(10, mark(1));
        assert_eq!((timeline.entry(10), timeline.entry(9).map(|entry| entry.time)), (None, Some(mark(360).time)));
        timeline.note(11, mark(403));
        timeline.note(12, mark(403));
        timeline.note(13, mark(450));
        let entry = timeline.entry(10).unwrap();
        assert_eq!((entry.seconds, entry.lacking(mark(0).time)), (0.4, Some(400)), "no time between them");
        assert_eq!(entry.lacking(mark(1).time), None, "a tick is much where frames are three apart");
        assert_eq!((timeline.entry(11), timeline.entry(12)), (None, None), "two frames at one time");
        timeline.begin("gray");
        assert!(timeline.entry(5).is_some());
        timeline.begin("rgb24");
        assert_eq!(timeline.entry(5), None);
    }

    #[test]
    fn a_tick_that_is_too_short_to_be_told_is_no_beginning() {
        for (tick, begins) in [((1, 25), true), ((1, 90_000), true), ((1, 1_000_000), false)] {
            let timeline = Timeline::default();
            (1..=3)
                .for_each(|count| timeline.note(count, Mark { time: Ticks { count: count as i64, tick }, digest: 0 }));
            assert_eq!(timeline.entry(2).is_some(), begins, "{tick:?}");
        }
    }
}
