//! Read-ahead: other threads decode the next frames while the current one is tracked.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
#[cfg(feature = "cli")]
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::{Demand, Images, Item, Source, Span, Stream};
use crate::cancel::{CancelToken, spawn};
use crate::error::Result;

/// Maximum decoded frames that are ready, in all.
const DEPTH: usize = 4;

/// Pixels of a frame of which only one is held ready: 4K has 25 MB in colour.
const LARGE: usize = 4 << 20;

/// Maximum decoding threads. More would outrun any tracker.
const MAX_THREADS: usize = 4;

/// How often a wait checks for cancellation.
const POLL: Duration = Duration::from_millis(50);

/// Time for the threads to end: much longer than a frame takes.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);

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
/// behind. A panic of the stream is resumed in the consumer, after the frames before it.
#[derive(Debug)]
pub struct Prefetch {
    /// Frame `n` comes from thread `n % threads`.
    frames: Vec<Receiver<Item>>,
    next: usize,
    threads: Vec<JoinHandle<()>>,
    cancel: CancelToken,
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
            return Self::start(vec![timed(source, source.stream(span, demand, &cancel)?)], depth, cancel);
        }
        let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS);
        let part = |thread| images.iter().skip(thread).step_by(threads).cloned().collect();
        let streams = (0..threads).map(|thread| Box::new(Images::new(part(thread), demand)) as Stream);
        Self::start(streams.collect(), depth, cancel)
    }

    /// Starts a thread for each of `streams`, which take turns.
    fn start(streams: Vec<Stream>, depth: usize, cancel: CancelToken) -> Result<Self> {
        let depth = (depth / streams.len()).max(1);
        let mut prefetch = Self { frames: Vec::new(), next: 0, threads: Vec::new(), cancel };
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
    ///
    /// # Panics
    /// Resumes a panic of the stream.
    pub fn next_within(&mut self, timeout: Duration) -> Wait {
        let Some(frames) = self.frames.get(self.next % self.frames.len().max(1)) else { return Wait::End };
        match frames.recv_timeout(timeout) {
            Ok(item) => {
                self.next += 1;
                Wait::Item(item)
            }
            Err(RecvTimeoutError::Timeout) => Wait::NotYet,
            Err(RecvTimeoutError::Disconnected) => {
                self.end_threads().unwrap_or_else(|panic| resume_unwind(panic));
                Wait::End
            }
        }
    }

    /// Ends all threads; returns the first panic.
    fn end_threads(&mut self) -> std::thread::Result<()> {
        self.cancel.cancel();
        self.frames.clear();
        let begun = Instant::now();
        self.threads.drain(..).try_for_each(|thread| if has_ended(&thread, begun) { thread.join() } else { Ok(()) })
    }
}

/// Waits for a thread until [`SHUTDOWN_GRACE`] has passed since `begun`; returns whether it has ended.
fn has_ended(thread: &JoinHandle<()>, begun: Instant) -> bool {
    while !thread.is_finished() && begun.elapsed() < SHUTDOWN_GRACE {
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
#[cfg(feature = "cli")]
#[derive(Debug)]
pub(crate) struct Latest {
    shared: Arc<(Mutex<Slot>, Condvar)>,
    thread: Option<JoinHandle<()>>,
    cancel: CancelToken,
}

#[cfg(feature = "cli")]
#[derive(Debug, Default)]
struct Slot {
    item: Option<Item>,
    /// Whether a frame was taken.
    begun: bool,
    ended: bool,
}

#[cfg(feature = "cli")]
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
            change(&mut writer.0.lock().unwrap_or_else(PoisonError::into_inner));
            writer.1.notify_one();
        };
        let read = move || {
            let all = std::panic::AssertUnwindSafe(|| {
                for item in stream.take_while(|_| !stop.is_cancelled()) {
                    let mut item = Some(item);
                    put(&mut |slot| {
                        if slot.begun || slot.item.is_none() {
                            slot.item = item.take();
                        }
                    });
                }
            });
            let read = std::panic::catch_unwind(all);
            put(&mut |slot| slot.ended = true);
            read.unwrap_or_else(|panic| resume_unwind(panic));
        };
        Ok(Self { shared, thread: Some(spawn("decode", read)?), cancel })
    }
}

#[cfg(feature = "cli")]
impl Iterator for Latest {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        let mut slot = self.shared.0.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match slot.item.take() {
                _ if self.cancel.is_cancelled() => return None,
                Some(item) => {
                    slot.begun = true;
                    return Some(item);
                }
                None if slot.ended => {
                    drop(slot);
                    let ended = self.thread.take().map_or(Ok(()), JoinHandle::join);
                    ended.unwrap_or_else(|panic| resume_unwind(panic));
                    return None;
                }
                None => slot = self.shared.1.wait_timeout(slot, POLL).unwrap_or_else(PoisonError::into_inner).0,
            }
        }
    }
}

#[cfg(feature = "cli")]
impl Drop for Latest {
    fn drop(&mut self) {
        self.cancel.cancel();
        // A thread that waits for a pipe is left behind.
        let _ = self.thread.take().is_some_and(|thread| has_ended(&thread, Instant::now()));
    }
}

impl Iterator for Prefetch {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        loop {
            let wait = self.next_within(POLL);
            match wait {
                _ if self.cancel.is_cancelled() => return None,
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
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::frame::{FrameBuf, PixelFormat};

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
    fn waits_no_longer_than_asked() {
        let mut frames = start(vec![stream(1, 1, 1, 300)]);
        assert!(matches!(frames.next_within(Duration::from_millis(1)), Wait::NotYet));
        assert!(matches!(frames.next_within(Duration::from_secs(9)), Wait::Item(_)));
        assert!(matches!(frames.next_within(Duration::from_secs(9)), Wait::End));
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
        assert!(catch_unwind(AssertUnwindSafe(|| latest.by_ref().count())).is_err());
        let endless = Box::new(std::iter::from_fn(|| Some(black(1))));
        let cancel = CancelToken::default();
        let mut latest = Latest::start(endless, cancel.child()).unwrap();
        assert!(latest.next().is_some());
        cancel.cancel();
        assert!(latest.next().is_none());
    }

    #[test]
    fn resumes_a_panic_after_the_frames_before_it() {
        let stream = (1..=5).map(|position| {
            assert!(position < 3, "the camera's driver");
            black(position)
        });
        let mut frames = start(vec![Box::new(stream)]);
        assert_eq!(frames.by_ref().take(2).count(), 2);
        let panic = catch_unwind(AssertUnwindSafe(|| frames.next())).unwrap_err();
        assert_eq!(*panic.downcast_ref::<&str>().unwrap(), "the camera's driver");
        assert!(frames.next().is_none());
    }
}
