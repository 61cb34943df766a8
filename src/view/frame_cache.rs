//! Frames by position, and pictures that are made ahead.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::state::{MAX_SIDE, Picture};
use crate::cancel::{CancelToken, lock, spawn};
use crate::error::{Error, Result};
use crate::frame::Channels;
use crate::media::{Demand, Info, Item, Prefetch, Source, Span, Wait};

/// Maximum bytes of pixels in the cache.
pub const MAX_CACHE_BYTES: usize = 224 << 20;

/// Maximum frames in the cache, however small they are.
const MAX_KEPT: usize = 2000;

/// Frames to read before the wanted one after a seek, so that steps back are quick.
const LEAD_IN: usize = 12;

/// Maximum frames to skip by reading; larger gaps are sought.
pub const MAX_SKIP: usize = 48;

/// Frames before the shown one whose pictures are made ahead.
const BEHIND: usize = 48;

/// Frames after the wanted one whose pictures are made with those before it, until its stream has come.
const AHEAD: usize = 48;

/// How far the priority of the thread that makes them is lowered.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;

/// A source whose frames can be read in any order.
#[derive(Debug)]
pub struct FrameCache {
    pub source: Arc<dyn Source>,
    /// The positions of the view.
    pub span: Span,
    demand: Demand,
    stream: Option<Prefetch>,
    /// The next position of the stream.
    next: usize,
    /// The first position of the stream.
    begun: usize,
    /// A position at and beyond which there are no frames.
    beyond: usize,
    /// The last position that was read so far; 0 before the first.
    pub newest: usize,
    /// The latest frames, the oldest first.
    kept: VecDeque<Arc<Item>>,
    most: usize,
    /// The last position, if it is known.
    pub last: Option<usize>,
    /// Why the source ended with the last frame, if it cannot be read; an image that cannot be read is not its end.
    pub broken: Option<String>,
    /// Pictures by position, without their frames.
    pictures: Arc<Mutex<BTreeMap<usize, Arc<Picture>>>>,
    /// The positions whose pictures another thread makes.
    behind: Option<(Range<usize>, CancelToken, JoinHandle<()>)>,
    /// The position whose pictures were last sought; 0 for none.
    sought: usize,
}

impl FrameCache {
    /// The frames of `source` in `span`. Keeps at most `most` bytes of pixels.
    pub fn new(source: Arc<dyn Source>, span: Span, demand: Demand, most: usize) -> Self {
        Self {
            source,
            span,
            demand,
            stream: None,
            next: span.first,
            begun: span.first,
            beyond: usize::MAX,
            newest: 0,
            kept: VecDeque::new(),
            most,
            last: span.last,
            broken: None,
            pictures: Arc::default(),
            behind: None,
            sought: 0,
        }
    }

    /// Facts about the source.
    pub fn info(&self) -> &Info {
        self.source.info()
    }

    /// The first position that can still be read.
    pub fn oldest(&self) -> usize {
        match self.info().live {
            false => self.span.first,
            true => self.kept.front().map_or(self.next, |item| item.position),
        }
    }

    /// The frame at `position`. Waits at most for `timeout`.
    ///
    /// # Errors
    /// When the source cannot be opened again, or a live source no longer has the frame.
    pub fn read(&mut self, position: usize, timeout: Duration) -> Result<Wait<Arc<Item>>> {
        if let Some(item) = self.kept(position) {
            return Ok(Wait::Item(Arc::clone(item)));
        }
        if self.last.is_some_and(|last| position > last) {
            return Ok(Wait::End);
        }
        self.reach(position)?;
        let begun = Instant::now();
        while let Some(stream) = &mut self.stream {
            match stream.next_within(timeout) {
                Wait::NotYet => return Ok(Wait::NotYet),
                Wait::End if self.next == self.begun && self.next > self.behind_newest() => {
                    // The source ends before this stream begins. A stream from the newest frame on finds the end.
                    self.beyond = self.next;
                    self.begin(self.behind_newest())?;
                }
                Wait::End => {
                    let error = self.kept(self.next.saturating_sub(1)).and_then(|item| item.frame.as_ref().err());
                    if let Some(error) = error.filter(|_| self.info().images.is_empty()) {
                        self.broken = Some(error.to_string());
                    }
                    self.last = Some(self.next.saturating_sub(1));
                    self.stream = None;
                }
                Wait::Item(item) => {
                    let item = Arc::new(item);
                    self.next = item.position + 1;
                    self.newest = self.newest.max(item.position);
                    self.keep(&item);
                    if item.position == position {
                        return Ok(Wait::Item(item));
                    }
                    if begun.elapsed() > timeout && item.position < position {
                        return Ok(Wait::NotYet);
                    }
                    if item.position > position {
                        return Err(Error::sequence(&self.info().name, format!("it has no frame {position}")));
                    }
                }
            }
        }
        Ok(Wait::End)
    }

    /// The picture at `position`, if it was made ahead; if it is on its way and its frame is not kept, `NotYet` after a
    /// while.
    pub fn picture(&self, position: usize, wait: Duration) -> Wait<Arc<Picture>> {
        let running = self.behind.as_ref().filter(|(_, _, thread)| !thread.is_finished());
        let comes = running.is_some_and(|(range, ..)| range.contains(&position)) && self.kept(position).is_none();
        let known = lock(&self.pictures).get(&position).cloned();
        if known.is_none() && comes {
            std::thread::sleep(wait);
            return Wait::NotYet;
        }
        known.map_or(Wait::End, Wait::Item)
    }

    /// Makes the pictures around `position`, if its frame is to be sought in a video so large that the steps after the
    /// seek would wait until it is decoded a second time.
    pub fn seek(&mut self, position: usize) {
        let exists = self.length().is_some_and(|length| position <= length);
        let comes = self.stream.is_some() && (self.next..self.next + MAX_SKIP).contains(&position);
        let is_large = self.info().size.is_some_and(|(width, height)| width.max(height) > MAX_SIDE);
        // The seek happens once, since a source can have fewer frames than it announces.
        if exists && !comes && is_large && self.kept(position).is_none() && self.sought != position {
            self.sought = position;
            self.make_pictures(position + 1, AHEAD);
        }
    }

    /// Starts a thread that makes the pictures of the frames before `position`. Without them each step back decodes from the
    /// keyframe before it.
    pub fn look_behind(&mut self, position: usize) {
        self.make_pictures(position, 0);
    }

    /// Keeps the picture that was shown before `position`, so that the way back does not decode its frame again.
    pub fn remember(&self, before: Arc<Picture>, position: usize) {
        let mut known = lock(&self.pictures);
        if self.is_video() && before.is_encoded() {
            known.entry(before.position).or_insert(before);
        }
        keep_near(&mut known, position);
    }

    /// Whether earlier frames can be read again, but only from a keyframe on.
    fn is_video(&self) -> bool {
        !self.info().live && self.info().images.is_empty()
    }

    /// Ends a stream that has given no frame yet, because only a picture was wanted.
    pub fn rest(&mut self) {
        self.sought = 0;
        if self.next == self.begun && !self.info().live {
            self.stream = None;
        }
    }

    /// Makes the pictures of the frames before `position`, and of `more` after those.
    fn make_pictures(&mut self, position: usize, more: usize) {
        if !self.is_video() {
            return;
        }
        let first = position.saturating_sub(BEHIND).max(self.span.first);
        if let Some((range, cancel, thread)) = &self.behind
            && !thread.is_finished()
        {
            if range.start <= position && first < range.end {
                return;
            }
            cancel.cancel();
        }
        let pictures = Arc::clone(&self.pictures);
        let missing = {
            let mut known = lock(&pictures);
            keep_near(&mut known, position);
            (first..position).rev().find(|at| !known.contains_key(at) && self.kept(*at).is_none())
        };
        let Some(last) = missing else { return };
        let range = (last + 1).saturating_sub(BEHIND).max(self.span.first)..last + 1 + more;
        let range = range.start..self.span.last.map_or(range.end, |last| range.end.min(last + 1));
        let (source, span, cancel) =
            (Arc::clone(&self.source), (range.start..=range.end - 1).into(), CancelToken::default());
        let (quit, demand) = (cancel.clone(), Demand { side: Some(MAX_SIDE), ..Channels::Color.into() });
        let make = move || {
            // The priority is that of this thread and of the ffmpeg that it starts.
            #[cfg(target_os = "linux")]
            let _ = (more == 0).then(|| rustix::process::nice(NICE));
            // An error is that of the frame itself once it is read.
            let Ok(stream) = source.stream(span, demand, &quit) else { return };
            let size = source.info().size;
            for item in stream.take_while(|_| !quit.is_cancelled()) {
                let mut picture = Picture::new(Arc::new(item));
                if picture.jpeg().is_empty() {
                    break;
                }
                // The item may be a smaller picture of the frame.
                picture.size = size.or(picture.size);
                lock(&pictures).insert(picture.position, Arc::new(picture));
            }
        };
        self.behind = spawn("pictures", make).ok().map(|thread| (range, cancel, thread));
    }

    /// The frame at `position`, if it is in the cache.
    pub fn kept(&self, position: usize) -> Option<&Arc<Item>> {
        self.kept.iter().rev().find(|item| item.position == position)
    }

    /// Makes sure that the stream will reach `position`.
    fn reach(&mut self, position: usize) -> Result<()> {
        let again = !self.info().live;
        let ahead = position >= self.next;
        // The lead-in has no more frames than will be kept.
        let size = self.kept.back().map_or(1, |item| bytes(item));
        let lead_in = (self.most / size).saturating_sub(1).min(LEAD_IN);
        let run_up = position.saturating_sub(lead_in).max(self.span.first);
        let direct = again && run_up < self.beyond && self.length().is_some_and(|length| run_up <= length);
        if self.stream.is_some() && ahead && (!direct || position - self.next < MAX_SKIP) {
            return Ok(());
        }
        let begun = self.stream.is_some() || self.next > self.span.first;
        if !again && begun {
            let reason = format!("frame {position} is gone: {} gives each frame once", self.info().name);
            return Err(Error::sequence(&self.info().name, reason));
        }
        self.begin(if again { run_up } else { self.span.first })
    }

    /// The number of frames, or an estimate that a stream which begins beyond the end corrects.
    fn length(&self) -> Option<usize> {
        self.info().likely_length().max(Some(self.newest))
    }

    /// The first position that was never read.
    fn behind_newest(&self) -> usize {
        (self.newest + 1).max(self.span.first)
    }

    /// Starts a stream at `first`.
    fn begin(&mut self, first: usize) -> Result<()> {
        // Ends the old stream, which may still be skipping frames on its way to a position that is no longer needed.
        self.stream = None;
        let span = Span { first, last: self.span.last };
        self.stream = Some(Prefetch::open(self.source.as_ref(), span, self.demand, &CancelToken::default())?);
        (self.next, self.begun) = (first, first);
        Ok(())
    }

    /// Adds a frame that was read.
    pub fn keep(&mut self, item: &Arc<Item>) {
        self.kept.retain(|known| known.position != item.position);
        self.kept.push_back(Arc::clone(item));
        // Keep the newest frame, however large it is.
        while self.kept.len() > 1 && (self.kept.len() > MAX_KEPT || self.bytes() > self.most) {
            self.kept.pop_front();
        }
    }

    fn bytes(&self) -> usize {
        self.kept.iter().map(|item| bytes(item)).sum()
    }
}

/// Removes pictures that are far from `position`.
fn keep_near(pictures: &mut BTreeMap<usize, Arc<Picture>>, position: usize) {
    pictures.retain(|&at, _| at + 2 * BEHIND > position && at <= position + AHEAD);
}

/// Bytes of pixels of a frame.
fn bytes(item: &Item) -> usize {
    let frames = item.frame.iter().chain(&item.color).map(|frame| frame.as_frame());
    frames.map(|frame| frame.width() * frame.height() * frame.format().bytes()).sum::<usize>() + size_of::<Item>()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::super::state::tests::numbered_item;
    use super::*;
    use crate::frame::Channels;
    use crate::media::{Stream, decode_bytes};

    /// Frames that show their position as their gray level.
    struct Numbered {
        info: Info,
        count: usize,
        opened: Mutex<bool>,
    }

    impl Numbered {
        fn new(count: usize, live: bool) -> Self {
            let info = Info { name: "numbered".into(), live, ..Info::default() };
            Self { info, count, opened: Mutex::default() }
        }

        fn pipe(count: usize) -> Self {
            Self::new(count, true)
        }

        /// Read again from any frame on, but of unknown length.
        fn video(count: usize) -> Self {
            Self::new(count, false)
        }
    }

    impl Source for Numbered {
        fn info(&self) -> &Info {
            &self.info
        }

        fn stream(&self, span: Span, _: Demand, _: &CancelToken) -> Result<Stream> {
            let mut opened = self.opened.lock().unwrap();
            if *opened && self.info.live {
                return Err(Error::Sequence { path: "numbered".into(), reason: "a pipe can be read only once".into() });
            }
            *opened = true;
            Ok(Box::new((span.first..=span.last.unwrap_or(usize::MAX).min(self.count)).map(numbered_item)))
        }
    }

    /// A video whose streams decode from the first frame on; one that begins later gives no frame for a long
    /// time, unless it is cancelled.
    struct Sought {
        info: Info,
        running: Arc<AtomicUsize>,
    }

    impl Default for Sought {
        fn default() -> Self {
            let info = Info { name: "sought".into(), length: Some(200), ..Info::default() };
            Self { info, running: Arc::default() }
        }
    }

    impl Sought {
        /// How many streams decode.
        fn running(&self) -> usize {
            self.running.load(Ordering::Relaxed)
        }
    }

    impl Source for Sought {
        fn info(&self) -> &Info {
            &self.info
        }

        fn stream(&self, span: Span, _: Demand, cancel: &CancelToken) -> Result<Stream> {
            let (running, cancel) = (Arc::clone(&self.running), cancel.clone());
            let (mut next, begun) = (span.first, Instant::now());
            Ok(Box::new(std::iter::from_fn(move || {
                running.fetch_add(1, Ordering::Relaxed);
                while span.first > 1 && !cancel.is_cancelled() && begun.elapsed() < SOON {
                    std::thread::sleep(Duration::from_millis(1));
                }
                running.fetch_sub(1, Ordering::Relaxed);
                next += 1;
                (next <= 200).then(|| numbered_item(next - 1))
            })))
        }
    }

    const SOON: Duration = Duration::from_secs(5);

    fn cache(source: Numbered, most: usize) -> FrameCache {
        let span = source.info().span(None, None).unwrap();
        FrameCache::new(Arc::new(source), span, Channels::Luma.into(), most)
    }

    fn level(reading: Wait<Arc<Item>>) -> u8 {
        match reading {
            Wait::Item(item) => item.frame.as_ref().unwrap().as_frame().gray_at(0, 0),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn pictures_before_a_frame_are_made_ahead() {
        let mut cache = cache(Numbered::video(250), 0);
        for (from, first) in [(150, 102), (140, 54), (20, 1)] {
            cache.look_behind(from);
            for position in (first..from).rev() {
                let picture = loop {
                    if let Wait::Item(picture) = cache.picture(position, Duration::from_millis(1)) {
                        break picture;
                    }
                };
                let frame = decode_bytes(picture.jpeg(), "made", Channels::Luma).unwrap();
                assert!(frame.as_frame().gray_at(9, 9).abs_diff(position as u8) < 3, "{position}");
            }
        }
        // Pictures far away make room.
        assert!(matches!(cache.picture(149, SOON), Wait::End));
    }

    #[test]
    fn a_seek_among_large_frames_makes_the_pictures_before_it_too() {
        for (width, made) in [(3840, true), (1920, false)] {
            let mut source = Numbered::video(250);
            (source.info.length, source.info.size) = (Some(300), Some((width, 1080)));
            let mut cache = cache(source, 0);
            assert_eq!(level(cache.read(1, SOON).unwrap()), 1);
            cache.seek(150);
            assert_eq!(cache.behind.is_some(), made);
            if let Some((.., thread)) = cache.behind.take() {
                thread.join().unwrap();
                assert!((103..=198).all(|position| matches!(cache.picture(position, SOON), Wait::Item(_))));
            }
            // A frame that is announced, but not there, is looked for once.
            cache.seek(300);
            assert_eq!(cache.behind.take().is_some(), made);
            cache.seek(300);
            assert!(cache.behind.is_none());
        }
    }

    #[test]
    fn pictures_that_were_shown_are_not_made_again() {
        let mut cache = cache(Numbered::video(250), 0);
        assert_eq!(level(cache.read(20, SOON).unwrap()), 20);
        for position in 1..20 {
            let picture = Arc::new(Picture::new(numbered_item(position).into()));
            cache.remember(Arc::clone(&picture), position + 1);
            assert!(matches!(cache.picture(position, SOON), Wait::End), "no page has asked for it");
            picture.jpeg();
            cache.remember(picture, position + 1);
            assert!(matches!(cache.picture(position, SOON), Wait::Item(_)));
        }
        cache.look_behind(20);
        assert!(cache.behind.is_none());
        // Pictures far away make room.
        let last = Picture::new(numbered_item(149).into());
        last.jpeg();
        cache.remember(Arc::new(last), 150);
        assert!(matches!(cache.picture(1, SOON), Wait::End));
    }

    #[test]
    fn a_pipe_keeps_its_last_frames_within_a_bound() {
        let one = bytes(&numbered_item(1));
        let mut cache = cache(Numbered::pipe(50), 8 * one);
        for position in 1..=20 {
            assert_eq!(level(cache.read(position, SOON).unwrap()), position as u8);
            assert!(cache.bytes() <= 8 * one && cache.kept.len() <= 8);
        }
        assert_eq!(cache.oldest(), 13);
        assert_eq!(level(cache.read(13, SOON).unwrap()), 13);
        let gone = cache.read(12, SOON).unwrap_err().to_string();
        assert!(gone.contains("frame 12 is gone"), "{gone}");
        assert_eq!(level(cache.read(21, SOON).unwrap()), 21);
        assert_eq!(cache.last, None);
        assert_eq!(level(cache.read(50, SOON).unwrap()), 50);
        assert!(matches!(cache.read(51, SOON), Ok(Wait::End)));
        assert_eq!(cache.last, Some(50));
        assert!(matches!(cache.read(51, SOON), Ok(Wait::End)));
        assert_eq!(level(cache.read(44, SOON).unwrap()), 44);
    }

    #[test]
    fn finds_the_last_frame_of_a_source_of_unknown_length() {
        for first in [1, 30] {
            let source = Numbered::video(100);
            let span = Span { first, last: None };
            let mut cache = FrameCache::new(Arc::new(source), span, Channels::Luma.into(), 0);
            // A stream that begins far behind the end has no frame.
            assert!(matches!(cache.read(9000, SOON), Ok(Wait::End)));
            assert_eq!((cache.last, cache.newest), (Some(100), 100));
            assert_eq!(level(cache.read(100, SOON).unwrap()), 100);
        }
    }

    #[test]
    fn ends_a_stream_before_it_begins_another() {
        let source = Arc::new(Sought::default());
        let span = source.info().span(None, None).unwrap();
        let mut cache = FrameCache::new(Arc::clone(&source) as _, span, Channels::Luma.into(), 0);
        assert_eq!(level(cache.read(1, SOON).unwrap()), 1);
        let begun = Instant::now();
        // Each of these streams would pass over frames for long before its first.
        for position in [200, 180, 160] {
            assert!(matches!(cache.read(position, Duration::from_millis(10)), Ok(Wait::NotYet)));
            assert!(source.running() <= 1);
        }
        assert_eq!(level(cache.read(1, SOON).unwrap()), 1);
        assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    }
}
