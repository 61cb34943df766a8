//! A source of frames, and its frames read ahead: other threads decode the next ones while the current one is tracked.

use std::any::Any;
use std::num::NonZero;
#[cfg(feature = "cli")]
use std::path::Path;
use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::annotation::Base;
use super::images::{Images, decode};
use crate::bbox::BBox;
use crate::cancel::{CancelToken, spawn};
use crate::error::{Error, Result, panic_message};
use crate::frame::{Channels, Frame, FrameBuf};

/// Maximum decoded frames that are ready, in all.
const DEPTH: usize = 4;

/// Pixels of a frame of which only one is held ready: 4K has 25 MB in colour.
const LARGE: usize = 4 << 20;

/// Maximum decoding threads. More would outrun any tracker.
const MAX_THREADS: usize = 4;

/// How often a wait checks for cancellation.
const POLL: Duration = Duration::from_millis(50);

/// Time for the threads to end: much longer than a frame takes. A thread that reads a pipe may wait for ever.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);
const LIVE_GRACE: Duration = Duration::from_millis(200);

/// Frames in order. A frame that cannot be read is an item with an error.
pub type Stream = Box<dyn Iterator<Item = Item> + Send>;

/// A source of frames. Positions count from 1.
pub trait Source: Send + Sync {
    /// Facts that are known before frames are read.
    fn info(&self) -> &Info;

    /// The frames of `span`, in order, up to the last that exists. The wait for a frame ends when `cancel` is cancelled.
    ///
    /// # Errors
    /// When the source cannot be opened.
    fn stream(&self, span: Span, demand: Demand, cancel: &CancelToken) -> Result<Stream>;

    /// The times of the frames in seconds from the first one, at least up to the first at or after `until`, or of all; `None`
    /// where only decoding tells them.
    fn times(&self, _until: f64, _cancel: &CancelToken) -> Option<Vec<f64>> {
        None
    }
}

impl std::fmt::Debug for dyn Source + '_ {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.info().fmt(f)
    }
}

/// Facts of a source that are known before its frames are read.
#[derive(Clone, Debug, Default)]
pub struct Info {
    /// Name of the folder, file or stream.
    pub name: String,
    /// Number of frames; `None` when only reading tells.
    pub length: Option<usize>,
    /// About the number of frames of a video, for progress only.
    pub expected_length: Option<usize>,
    /// The number of frames that a video file announces.
    pub announced_length: Option<usize>,
    /// Frames per second, on average.
    pub rate: Option<f64>,
    /// All frames come exactly at the rate.
    pub constant_rate: bool,
    /// Width and height of the frames.
    pub size: Option<(usize, usize)>,
    /// Width to height of a pixel as shown, unless it is square.
    pub pixel_aspect: Option<(u32, u32)>,
    /// Primaries, transfer and matrix of a video's colours, as ffmpeg names them, if all are known.
    pub colors: Option<[String; 3]>,
    /// The lowest rate that has a time for each frame, if it is known and above the average.
    pub base_rate: Option<f64>,
    /// The video file, which may have sound, and the seconds from its start to the first frame; `None` of other sources.
    pub sound: Option<(PathBuf, f64)>,
    /// Frames come once and at their own pace: a camera, a network stream, a pipe.
    pub live: bool,
    /// The frames that a benchmark evaluates, or those from the first with a true box on.
    pub default_span: Span,
    /// True box of each frame, 0-based; empty without a truth.
    pub truth: Vec<Option<BBox>>,
    /// File of the truth.
    pub truth_path: Option<PathBuf>,
    /// Base of the numbers in the truth, which the name of its file implies.
    pub truth_base: Option<Base>,
    /// Why the rows of the truth are not used.
    pub unused_truth: Option<String>,
    /// File of each frame of a folder of images; where there are any, [`Prefetch`] decodes these.
    pub images: Vec<PathBuf>,
    /// Black and white of samples with more than 8 bits, which are stretched between them: the range of the first frame, or
    /// [`OpenOptions::levels`](super::OpenOptions::levels).
    pub levels: Option<(u16, u16)>,
    /// Frames that were decoded on the way to the first of a span, for progress only.
    pub skipped: Arc<AtomicUsize>,
    /// Other files and folders that are read, now or when the source is opened again.
    pub inputs: Vec<PathBuf>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

impl Info {
    /// Number of frames, exact or expected.
    pub(crate) fn likely_length(&self) -> Option<usize> {
        self.length.or(self.expected_length)
    }

    /// Number of frames, exact or as the file announces it.
    pub(crate) fn certain_length(&self) -> Option<usize> {
        self.length.or(self.announced_length)
    }

    /// The true box of the frame at `position`.
    pub fn true_box(&self, position: usize) -> Option<BBox> {
        self.truth.get(position.checked_sub(1)?).copied().flatten()
    }

    /// A frame that is not read: its name, and its time at the rate of a video.
    pub(crate) fn unread(&self, position: usize) -> Item {
        let image = position.checked_sub(1).and_then(|place| self.images.get(place));
        let rate = self.rate.filter(|_| self.images.is_empty());
        let time = rate.map(|rate| position.saturating_sub(1) as f64 / rate);
        let item = Item::numbered(position, time, Err(Error::NotInitialized), 0.0);
        Item { name: image.map_or(item.name, |image| super::images::file_name(image)), ..item }
    }

    /// The true box of the frame at `position`, to start tracking from.
    ///
    /// # Errors
    /// [`Error::Sequence`] when there is none.
    pub fn initial_box(&self, position: usize) -> Result<BBox> {
        self.true_box(position).ok_or_else(|| {
            let reason = match (&self.unused_truth, &self.truth_path) {
                (Some(reason), _) => reason.clone(),
                (None, None) => format!("there is no true box for frame {position}"),
                (None, Some(path)) => format!("{} has no box for frame {position}", path.display()),
            };
            Error::sequence(&self.name, reason)
        })
    }

    /// Width and height of the frames; of a folder, those of its first image, which is decoded.
    pub fn frame_size(&self) -> Option<(usize, usize)> {
        self.size.or_else(|| Some(decode(self.images.first()?, Channels::Luma).ok()?.as_frame().size()))
    }

    /// The frames from `start` to `end`, both included; by default those of [`Info::default_span`].
    ///
    /// # Errors
    /// [`Error::Parameter`], naming `start` or `end`, for 0, a position beyond the last frame, or an end before the
    /// start.
    pub fn span(&self, start: Option<usize>, end: Option<usize>) -> Result<Span> {
        for (name, position) in [("start", start), ("end", end)] {
            let Some(value) = position else { continue };
            if value == 0 || self.length.is_some_and(|length| value > length) {
                let expected = match self.length {
                    Some(length) => format!("there are {length} frames, counted from 1"),
                    None => "frames are counted from 1".into(),
                };
                return Err(Error::parameter(name, value, expected));
            }
        }
        let first = start.unwrap_or(self.default_span.first);
        let last = end.or(self.default_span.last.filter(|&last| first <= last)).or(self.length);
        match last {
            Some(last) if last < first => {
                let from = if start.is_some() { "" } else { ", the first frame with a true box" };
                Err(Error::parameter("end", last, format!("it lies before start {first}{from}")))
            }
            last => Ok(Span { first, last }),
        }
    }

    /// The image files of a span with their positions.
    pub(super) fn image_files(&self, span: Span) -> Vec<(usize, PathBuf)> {
        (1..).zip(self.images.iter().cloned()).filter(|(position, _)| span.contains(*position)).collect()
    }

    /// True if `path` is an input, or would be read as one when the source is opened again.
    #[cfg(feature = "cli")]
    pub(crate) fn reads(&self, path: &Path) -> bool {
        use crate::atomic_file::real;
        let Some(path) = real(path) else { return false };
        let is_image = super::images::is_image(&path);
        let may_be_frame = || self.images.iter().any(|image| image.parent().and_then(real).as_deref() == path.parent());
        self.inputs.iter().any(|input| real(input).as_ref() == Some(&path)) || is_image && may_be_frame()
    }
}

/// One frame of a source.
#[derive(Debug)]
pub struct Item {
    /// Position in the source, from 1.
    pub position: usize,
    /// Name of its file, or its number.
    pub name: String,
    /// The image file, if the frame is one.
    pub path: Option<PathBuf>,
    /// Seconds from the first frame, if known.
    pub timestamp: Option<f64>,
    /// The frame to track, or why it cannot be read.
    pub frame: Result<FrameBuf>,
    /// The same picture in colour, if `frame` is gray and [`Demand::color`] asks for it.
    pub color: Option<FrameBuf>,
    /// Milliseconds of reading and decoding.
    pub decode_ms: f64,
    /// When a frame of a live source was decoded, in seconds since 1970.
    pub captured: Option<f64>,
}

impl Item {
    /// A frame named by its position in six digits, as those of a video.
    pub(crate) fn numbered(
        position: usize,
        timestamp: Option<f64>,
        decoded: Result<(FrameBuf, Option<FrameBuf>)>,
        decode_ms: f64,
    ) -> Self {
        let (frame, color) = match decoded {
            Ok((frame, color)) => (Ok(frame), color),
            Err(error) => (Err(error), None),
        };
        Self {
            position,
            name: format!("{position:06}"),
            path: None,
            timestamp,
            frame,
            color,
            decode_ms,
            captured: None,
        }
    }

    /// The frame to show; `None` if it could not be read.
    pub fn picture(&self) -> Option<Frame<'_>> {
        self.color.as_ref().or(self.frame.as_ref().ok()).map(FrameBuf::as_frame)
    }
}

/// The contents of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Channels of the frame to track.
    pub channels: Channels,
    /// Also decode the colours, to show them. The frame to track stays the same.
    pub color: bool,
    /// The longest side of frames to look at: a video makes larger ones smaller, and gives them in colour.
    pub side: Option<usize>,
}

impl From<Channels> for Demand {
    fn from(channels: Channels) -> Self {
        Self { channels, color: false, side: None }
    }
}

/// Positions of a source, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first position.
    pub first: usize,
    /// The last position, included; `None` for the end of the source.
    pub last: Option<usize>,
}

impl Default for Span {
    /// All positions.
    fn default() -> Self {
        Self { first: 1, last: None }
    }
}

impl Span {
    /// Number of positions, if known (saturating).
    pub fn count(&self) -> Option<usize> {
        self.last.map(|last| last.checked_sub(self.first).map_or(0, |more| more.saturating_add(1)))
    }

    /// True if `position` is in the span.
    pub fn contains(&self, position: usize) -> bool {
        position >= self.first && self.last.is_none_or(|last| position <= last)
    }
}

impl From<std::ops::RangeInclusive<usize>> for Span {
    fn from(range: std::ops::RangeInclusive<usize>) -> Self {
        Self { first: *range.start(), last: Some(*range.end()) }
    }
}

/// The result of a bounded wait.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "one is returned at a time")]
pub enum Wait<T = Item> {
    /// The next frame.
    Item(T),
    /// The stream has ended.
    End,
    /// The timeout has passed.
    NotYet,
}

/// Decodes the frames of a source on other threads and holds a few of them ready, in order.
///
/// The iterator ends when it is cancelled. Dropping it cancels the stream; a thread that waits for a pipe is left
/// behind. A panic of the stream is the error of its last item, after the frames before it.
#[derive(Debug)]
pub struct Prefetch {
    /// Frame `n` comes from thread `n % threads`.
    frames: Vec<Receiver<Item>>,
    next: usize,
    /// Position of the last frame.
    position: usize,
    threads: Vec<JoinHandle<()>>,
    cancel: CancelToken,
    /// How long to wait for the threads.
    grace: Duration,
}

impl Prefetch {
    /// Starts to decode the frames of `source` at `span`: image files on as many threads as the machine has cores, up
    /// to four, other sources on one.
    ///
    /// # Errors
    /// As [`Source::stream`]; [`Error::Io`](crate::Error::Io) when no thread can be started.
    pub fn open(
        source: &dyn Source,
        span: impl Into<Span>,
        demand: impl Into<Demand>,
        cancel: &CancelToken,
    ) -> Result<Self> {
        let (span, demand, cancel) = (span.into(), demand.into(), cancel.child());
        let images = source.info().image_files(span);
        let is_large = source.info().size.is_some_and(|(width, height)| width * height > LARGE);
        let depth = if is_large { 1 } else { DEPTH };
        if images.is_empty() {
            let stream = timed(source, source.stream(span, demand, &cancel)?);
            let mut one = Self::start(vec![stream], depth, cancel)?;
            one.grace = if source.info().live { LIVE_GRACE } else { SHUTDOWN_GRACE };
            return Ok(one);
        }
        let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS);
        let part = |thread| images.iter().skip(thread).step_by(threads).cloned().collect();
        let streams =
            (0..threads).map(|thread| Box::new(Images::new(part(thread), demand, source.info().levels)) as Stream);
        Self::start(streams.collect(), depth, cancel)
    }

    /// Starts a thread for each of `streams`, which take turns.
    fn start(streams: Vec<Stream>, depth: usize, cancel: CancelToken) -> Result<Self> {
        let depth = (depth / streams.len()).max(1);
        let mut prefetch =
            Self { frames: Vec::new(), next: 0, position: 0, threads: Vec::new(), cancel, grace: SHUTDOWN_GRACE };
        for stream in streams {
            let (sender, frames) = sync_channel(depth);
            prefetch.frames.push(frames);
            let cancel = prefetch.cancel.clone();
            let decode = move || {
                for item in stream {
                    if cancel.is_cancelled() || sender.send(item).is_err() {
                        return;
                    }
                }
            };
            prefetch.threads.push(spawn("decode", decode)?);
        }
        Ok(prefetch)
    }

    /// Waits up to `timeout` for the next frame.
    pub fn next_within(&mut self, timeout: Duration) -> Wait {
        let Some(frames) = self.frames.get(self.next % self.frames.len().max(1)) else { return Wait::End };
        match frames.recv_timeout(timeout) {
            Ok(item) => {
                (self.next, self.position) = (self.next + 1, item.position);
                Wait::Item(item)
            }
            Err(RecvTimeoutError::Timeout) => Wait::NotYet,
            Err(RecvTimeoutError::Disconnected) => {
                self.end_threads().map_or_else(|panic| Wait::Item(panicked(self.position + 1, &*panic)), |()| Wait::End)
            }
        }
    }

    /// Ends all threads; returns the first panic.
    fn end_threads(&mut self) -> std::thread::Result<()> {
        self.cancel.cancel();
        self.frames.clear();
        let latest = Instant::now() + self.grace;
        self.threads.drain(..).try_for_each(|thread| if has_ended(&thread, latest) { thread.join() } else { Ok(()) })
    }
}

/// The item in place of one whose decoder panicked. None follows.
fn panicked(position: usize, panic: &(dyn Any + Send)) -> Item {
    let reason = format!("it panicked: {}", panic_message(panic));
    Item::numbered(position, None, Err(Error::sequence("decoder", reason)), 0.0)
}

/// Waits for a thread until `latest`; returns whether it has ended.
fn has_ended(thread: &JoinHandle<()>, latest: Instant) -> bool {
    while !thread.is_finished() && Instant::now() < latest {
        std::thread::sleep(Duration::from_millis(1));
    }
    thread.is_finished()
}

/// The frames of a source, with the time at which each was decoded if the source is live.
fn timed(source: &dyn Source, stream: Stream) -> Stream {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|time| time.as_secs_f64());
    match source.info().live {
        true => Box::new(stream.map(move |item| Item { captured: now(), ..item })),
        false => stream,
    }
}

/// The newest frame of a source: another thread reads all frames, and one that is not taken gives way to the next. The
/// first is kept, since targets begin in it.
#[derive(Debug)]
pub(crate) struct Latest {
    shared: Arc<(Mutex<Slot>, Condvar)>,
    thread: Option<JoinHandle<()>>,
    cancel: CancelToken,
}

#[derive(Debug, Default)]
struct Slot {
    first: Option<Item>,
    newest: Option<Item>,
    /// True if there was a first frame.
    begun: bool,
    /// Position of the newest frame so far.
    position: usize,
    ended: bool,
}

impl Latest {
    /// Starts to read.
    ///
    /// # Errors
    /// As [`Prefetch::open`].
    pub(crate) fn open(source: &dyn Source, span: Span, demand: Demand, cancel: &CancelToken) -> Result<Self> {
        let cancel = cancel.child();
        Self::start(timed(source, source.stream(span, demand, &cancel)?), cancel)
    }

    fn start(stream: Stream, cancel: CancelToken) -> Result<Self> {
        let shared = Arc::<(Mutex<Slot>, Condvar)>::default();
        let (writer, stop) = (Arc::clone(&shared), cancel.clone());
        let put = move |change: &mut dyn FnMut(&mut Slot)| {
            change(&mut crate::cancel::lock(&writer.0));
            writer.1.notify_one();
        };
        let read = move || {
            let all = std::panic::AssertUnwindSafe(|| {
                for item in stream.take_while(|_| !stop.is_cancelled()) {
                    let position = item.position;
                    let mut item = Some(item);
                    put(&mut |slot| {
                        let place = if slot.begun { &mut slot.newest } else { &mut slot.first };
                        (*place, slot.begun, slot.position) = (item.take(), true, position);
                    });
                }
            });
            let read = std::panic::catch_unwind(all);
            put(&mut |slot| slot.ended = true);
            read.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        };
        Ok(Self { shared, thread: Some(spawn("decode", read)?), cancel })
    }
}

impl Iterator for Latest {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        let mut slot = crate::cancel::lock(&self.shared.0);
        loop {
            let first = slot.first.take();
            match first.or_else(|| slot.newest.take()) {
                _ if self.cancel.is_cancelled() => return None,
                Some(item) => return Some(item),
                None if slot.ended => {
                    let position = slot.position + 1;
                    drop(slot);
                    let ended = self.thread.take().map_or(Ok(()), JoinHandle::join);
                    return ended.err().map(|panic| panicked(position, &*panic));
                }
                None => slot = self.shared.1.wait_timeout(slot, POLL).unwrap_or_else(PoisonError::into_inner).0,
            }
        }
    }
}

impl Drop for Latest {
    fn drop(&mut self) {
        self.cancel.cancel();
        // A thread that waits for a pipe is left behind.
        let _ = self.thread.take().is_some_and(|thread| has_ended(&thread, Instant::now() + LIVE_GRACE));
    }
}

impl Iterator for Prefetch {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        loop {
            let wait = self.next_within(POLL);
            match wait {
                // A stream that has ended by itself, with a panic, has cancelled the rest.
                _ if self.cancel.is_cancelled() && !self.frames.is_empty() => return None,
                Wait::Item(item) => return Some(item),
                Wait::End => return None,
                Wait::NotYet => {}
            }
        }
    }
}

impl Drop for Prefetch {
    fn drop(&mut self) {
        // No consumer is left to resume a panic in.
        let _ = self.end_threads();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{FrameBuf, PixelFormat};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn span_count_saturates() {
        let count = |first, last| Span { first, last }.count();
        assert_eq!(count(0, Some(usize::MAX)), Some(usize::MAX));
        assert_eq!((count(3, Some(3)), count(4, Some(3)), count(1, None)), (Some(1), Some(0), None));
    }

    fn black(position: usize) -> Item {
        let frame = FrameBuf::new(vec![0], 1, 1, PixelFormat::Gray8);
        Item::numbered(position, None, frame.map(|frame| (frame, None)), 0.0)
    }

    /// The positions `first`, `first + step`, … up to `last`, each after a pause.
    fn stream(first: usize, step: usize, last: usize, pause: u64) -> Stream {
        Box::new((first..=last).step_by(step).map(move |position| {
            std::thread::sleep(Duration::from_millis(pause));
            black(position)
        }))
    }

    fn start(streams: Vec<Stream>) -> Prefetch {
        Prefetch::start(streams, DEPTH, CancelToken::default()).unwrap()
    }

    #[test]
    fn keeps_the_order_whichever_thread_is_slow() {
        for pauses in [[0, 0, 3], [3, 0, 0], [1, 2, 0]] {
            let mut frames = start((0..3).map(|at| stream(at + 1, 3, 20, pauses[at])).collect());
            let positions: Vec<_> = frames.by_ref().map(|item| item.position).collect();
            assert_eq!(positions, (1..=20).collect::<Vec<_>>());
            assert!(frames.next().is_none());
        }
    }

    #[test]
    fn decodes_no_further_than_its_depth() {
        let made = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&made);
        let counted = stream(1, 1, 50, 0).inspect(move |_| _ = count.fetch_add(1, Ordering::Relaxed));
        let _frames = start(vec![Box::new(counted)]);
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!(made.load(Ordering::Relaxed), DEPTH + 1);
    }

    #[test]
    fn ends_when_it_is_cancelled_or_dropped() {
        let cancel = CancelToken::default();
        let endless = || Box::new(std::iter::from_fn(|| Some(black(1)))) as Stream;
        let mut frames = Prefetch::start(vec![endless(), endless()], DEPTH, cancel.child()).unwrap();
        assert!(frames.next().is_some());
        cancel.cancel();
        assert!(frames.next().is_none());
        let begun = Instant::now();
        drop(start(vec![endless()]));
        assert!(begun.elapsed() < SHUTDOWN_GRACE);
    }

    #[test]
    #[cfg(feature = "cli")]
    fn the_newest_frame_replaces_those_that_were_not_taken() {
        let slow = |item: Item| {
            std::thread::sleep(Duration::from_millis(40));
            item.position
        };
        let latest = Latest::start(stream(1, 1, 30, 5), CancelToken::default()).unwrap();
        std::thread::sleep(Duration::from_millis(50));
        let positions: Vec<_> = latest.map(slow).collect();
        let ends = (positions.first(), positions.last());
        assert!(positions.is_sorted() && positions.len() < 20 && ends == (Some(&1), Some(&30)), "{positions:?}");
        let panics = (1..=5).map(|position| if position < 3 { black(position) } else { panic!("the driver") });
        let mut latest = Latest::start(Box::new(panics), CancelToken::default()).unwrap();
        let last = latest.by_ref().last().unwrap();
        assert!(last.frame.unwrap_err().to_string().contains("the driver"));
        // Frames that come at once before a pause.
        let cancel = CancelToken::default();
        let waits = cancel.clone();
        let paused = std::iter::from_fn(move || {
            while !waits.is_cancelled() {
                std::thread::sleep(Duration::from_millis(1));
            }
            None
        });
        let mut latest = Latest::start(Box::new((1..=3).map(black).chain(paused)), cancel.child()).unwrap();
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!([latest.next(), latest.next()].map(|item| item.unwrap().position), [1, 3]);
        cancel.cancel();
        let endless = Box::new(std::iter::from_fn(|| Some(black(1))));
        let cancel = CancelToken::default();
        let mut latest = Latest::start(endless, cancel.child()).unwrap();
        assert!(latest.next().is_some());
        cancel.cancel();
        assert!(latest.next().is_none());
    }

    #[test]
    fn a_panic_is_an_error_after_the_frames_before_it() {
        let stream = (1..=5).map(|position| {
            assert!(position < 3, "the camera's driver");
            black(position)
        });
        let mut frames = start(vec![Box::new(stream)]);
        assert_eq!(frames.by_ref().take(2).count(), 2);
        let last = frames.next().unwrap();
        assert_eq!(last.position, 3);
        assert!(last.frame.unwrap_err().to_string().contains("the camera's driver"));
        assert!(frames.next().is_none());
    }
}
