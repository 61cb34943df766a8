//! Frames by their position: forward as they come, and back as far as they can be read again or are kept.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::media::{Demand, Item, PREFETCH_DEPTH, Prefetch, Source, Span, Wait};

/// Most bytes of pixels of frames that are kept.
pub const KEPT_BYTES: usize = 256 << 20;

/// Most frames that are kept, however small they are.
const MOST_KEPT: usize = 2000;

/// Frames that are read before the one that is wanted when reading begins anew, so that steps back are quick.
const RUN_UP: usize = 12;

/// Frames that are rather read and passed over than reading begun anew.
const PASSED_OVER: usize = 48;

/// A source whose frames can be asked for in any order.
#[derive(Debug)]
pub struct Reel {
    source: Arc<dyn Source>,
    span: Span,
    demand: Demand,
    stream: Option<Prefetch>,
    /// The position that the stream hands out next.
    next: usize,
    /// The position that the stream began with.
    begun: usize,
    /// A position that there is no frame at, nor beyond.
    beyond: usize,
    /// The last position that was handed out so far.
    newest: usize,
    /// Frames that came last, the oldest first.
    kept: VecDeque<Arc<Item>>,
    bytes: usize,
    most: usize,
    /// The last position, once it is known.
    last: Option<usize>,
}

/// What asking for a frame came to.
#[derive(Debug)]
pub enum Reading {
    /// The frame, read or not.
    Frame(Arc<Item>),
    /// It has not come yet: to be asked again.
    NotYet,
    /// There is no such frame any more: the source has ended before.
    End,
}

impl Reel {
    /// The frames of `source` in `span`, of which at most `most` bytes of pixels are kept.
    pub fn new(source: Arc<dyn Source>, span: Span, demand: Demand, most: usize) -> Self {
        let (kept, last) = (VecDeque::new(), span.last);
        let (next, begun, beyond) = (span.first, span.first, usize::MAX);
        Self { source, next, begun, beyond, span, demand, stream: None, newest: 0, kept, bytes: 0, most, last }
    }

    /// The positions that were asked for.
    pub fn span(&self) -> Span {
        self.span
    }

    /// The first position.
    pub fn first(&self) -> usize {
        self.span.first
    }

    /// The last position, where it is known.
    pub fn last(&self) -> Option<usize> {
        self.last
    }

    /// The last position that has been read; 0 before the first.
    pub fn newest(&self) -> usize {
        self.newest
    }

    /// The source.
    pub fn source(&self) -> &dyn Source {
        self.source.as_ref()
    }

    /// The first position that can still be asked for.
    pub fn oldest(&self) -> usize {
        match self.source.is_live() {
            false => self.span.first,
            true => self.kept.front().map_or(self.next, |item| item.position),
        }
    }

    /// The frame at `position`, waited for at most `patience`.
    ///
    /// # Errors
    /// When the source cannot be opened again, or the frame is one that it hands out no more.
    pub fn read(&mut self, position: usize, patience: Duration) -> Result<Reading> {
        if let Some(item) = self.kept.iter().rev().find(|item| item.position == position) {
            return Ok(Reading::Frame(Arc::clone(item)));
        }
        if self.last.is_some_and(|last| position > last) {
            return Ok(Reading::End);
        }
        self.turn_to(position)?;
        let begun = Instant::now();
        while let Some(stream) = &mut self.stream {
            match stream.next_within(patience) {
                Wait::NotYet => return Ok(Reading::NotYet),
                Wait::End if self.next == self.begun && self.next > self.behind_newest() => {
                    // It has ended before the frame that it was to begin with: where, those in between say.
                    self.beyond = self.next;
                    self.begin(self.behind_newest())?;
                }
                Wait::End => {
                    self.last = Some(self.next.saturating_sub(1));
                    self.stream = None;
                }
                Wait::Item(item) => {
                    let item = Arc::new(item);
                    self.next = item.position + 1;
                    self.newest = self.newest.max(item.position);
                    self.keep(&item);
                    if item.position == position {
                        return Ok(Reading::Frame(item));
                    }
                    if begun.elapsed() > patience && item.position < position {
                        return Ok(Reading::NotYet);
                    }
                    if item.position > position {
                        let reason = format!("it hands out no frame {position}");
                        return Err(Error::Sequence { path: self.source.name().into(), reason });
                    }
                }
            }
        }
        Ok(Reading::End)
    }

    /// Sees to it that the stream comes by `position`.
    fn turn_to(&mut self, position: usize) -> Result<()> {
        let again = !self.source.is_live();
        let ahead = position >= self.next;
        let run_up = position.saturating_sub(RUN_UP).max(self.span.first);
        let direct = again && run_up < self.beyond && self.source.begins_at(run_up);
        if self.stream.is_some() && ahead && (!direct || position - self.next < PASSED_OVER) {
            return Ok(());
        }
        let begun = self.stream.is_some() || self.next > self.span.first;
        if !again && begun {
            let reason = format!("frame {position} is gone: {} hands out each frame once", self.source.name());
            return Err(Error::Sequence { path: self.source.name().into(), reason });
        }
        let near_start = position < self.span.first + PASSED_OVER;
        let first = match again && (begun || !near_start) {
            true => run_up,
            false => self.span.first,
        };
        self.begin(first)
    }

    /// The first position that was never handed out.
    fn behind_newest(&self) -> usize {
        (self.newest + 1).max(self.span.first)
    }

    /// Begins to read at `first`.
    fn begin(&mut self, first: usize) -> Result<()> {
        // What passes over frames on its way to one that nobody wants any more would be waited for.
        if self.stream.is_some() {
            self.source.cancel();
        }
        self.stream = None;
        let span = Span { first, last: self.span.last };
        self.stream = Some(Prefetch::new(self.source.stream(span, self.demand)?, PREFETCH_DEPTH)?);
        (self.next, self.begun) = (first, first);
        Ok(())
    }

    fn keep(&mut self, item: &Arc<Item>) {
        if let Some(place) = self.kept.iter().position(|known| known.position == item.position) {
            self.bytes -= self.kept.remove(place).map_or(0, |item| bytes(&item));
        }
        self.bytes += bytes(item);
        self.kept.push_back(Arc::clone(item));
        // The one at hand is kept, however large it is.
        while (self.bytes > self.most || self.kept.len() > MOST_KEPT) && self.kept.len() > 1 {
            self.bytes -= self.kept.pop_front().map_or(0, |item| bytes(&item));
        }
    }
}

/// Bytes of pixels of a frame.
fn bytes(item: &Item) -> usize {
    let frames = item.frame.iter().chain(&item.color).map(|frame| frame.as_frame());
    frames.map(|frame| frame.width() * frame.height() * frame.format().bytes()).sum::<usize>() + size_of::<Item>()
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{Numbered, Sought};
    use super::*;
    use crate::frame::Channels;

    const SOON: Duration = Duration::from_secs(5);

    fn reel(source: Numbered, most: usize) -> Reel {
        let span = source.span(None, None).unwrap();
        Reel::new(Arc::new(source), span, Channels::Luma.into(), most)
    }

    fn level(reading: Reading) -> u8 {
        match reading {
            Reading::Frame(item) => item.frame.as_ref().unwrap().as_frame().gray_at(0, 0),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn any_frame_of_a_folder_is_read_again() {
        let mut reel = reel(Numbered::folder(200), 0);
        for position in [1, 2, 3, 1, 200, 100, 99, 150, 198, 7] {
            assert_eq!(level(reel.read(position, SOON).unwrap()), position as u8);
        }
        assert!(matches!(reel.read(201, SOON), Ok(Reading::End)));
        assert_eq!(reel.oldest(), 1);
    }

    #[test]
    fn of_a_pipe_the_last_frames_are_kept_within_a_bound() {
        let one = bytes(&super::super::fixtures::numbered_item(1));
        let mut reel = reel(Numbered::pipe(50), 8 * one);
        for position in 1..=20 {
            assert_eq!(level(reel.read(position, SOON).unwrap()), position as u8);
            assert!(reel.bytes <= 8 * one && reel.kept.len() <= 8);
        }
        assert_eq!(reel.oldest(), 13);
        assert_eq!(level(reel.read(13, SOON).unwrap()), 13);
        let gone = reel.read(12, SOON).unwrap_err().to_string();
        assert!(gone.contains("frame 12 is gone"), "{gone}");
        assert_eq!(level(reel.read(21, SOON).unwrap()), 21);
        assert_eq!(reel.last(), None);
        assert_eq!(level(reel.read(50, SOON).unwrap()), 50);
        assert!(matches!(reel.read(51, SOON), Ok(Reading::End)));
        assert_eq!(reel.last(), Some(50));
        assert!(matches!(reel.read(51, SOON), Ok(Reading::End)));
        assert_eq!(level(reel.read(44, SOON).unwrap()), 44);
    }

    #[test]
    fn the_last_frame_is_found_where_nobody_knows_it() {
        for first in [1, 30] {
            let source = Numbered::video(100);
            let span = Span { first, last: None };
            let mut reel = Reel::new(Arc::new(source), span, Channels::Luma.into(), 0);
            // The stream is to begin far behind the end, and hands out nothing.
            assert!(matches!(reel.read(9000, SOON), Ok(Reading::End)));
            assert_eq!((reel.last(), reel.newest()), (Some(100), 100));
            assert_eq!(level(reel.read(100, SOON).unwrap()), 100);
        }
    }

    #[test]
    fn what_reads_a_stream_is_ended_before_another_one_is_begun() {
        let source = Arc::new(Sought::default());
        let span = source.span(None, None).unwrap();
        let mut reel = Reel::new(Arc::clone(&source) as _, span, Channels::Luma.into(), 0);
        assert_eq!(level(reel.read(1, SOON).unwrap()), 1);
        let begun = Instant::now();
        // Each of these streams would pass over frames for ever before its first.
        for position in [200, 180, 160] {
            assert!(matches!(reel.read(position, Duration::from_millis(10)), Ok(Reading::NotYet)));
            assert!(source.running() <= 1);
        }
        assert_eq!(level(reel.read(1, SOON).unwrap()), 1);
        assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    }

    #[test]
    fn a_frame_that_does_not_come_is_not_waited_for() {
        let mut reel = reel(Numbered::stalled(3), KEPT_BYTES);
        assert_eq!(level(reel.read(3, SOON).unwrap()), 3);
        assert!(matches!(reel.read(4, Duration::from_millis(10)), Ok(Reading::NotYet)));
        assert_eq!(level(reel.read(2, SOON).unwrap()), 2);
    }
}
