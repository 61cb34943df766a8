//! Read-ahead: the next frames are decoded on other threads while the current one is tracked.

use std::any::Any;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::Source;
use super::images::{Files, Images};
use super::item::{Demand, Item, Span};
use crate::error::{Error, Result};

/// Default number of decoded frames that wait.
pub const PREFETCH_DEPTH: usize = 4;

/// More decoding threads would outrun any tracker.
const MAX_DECODERS: usize = 4;

/// Time for the threads to end: much longer than a frame takes.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);

/// The payload of a panic.
type Panic = Box<dyn Any + Send>;

/// Receives a frame that may still be decoded.
type Slot = Receiver<Item>;

/// Image files to be decoded.
#[derive(Debug)]
struct Queue {
    demand: Demand,
    /// The remaining files, and the channel of slots until all are taken.
    files: Mutex<(Files, Option<SyncSender<Slot>>)>,
}

impl Queue {
    /// Decodes the next file if there is one and a free slot, which is waited for if `waits`; returns whether it did.
    fn decode_one(&self, waits: bool, bytes: &mut Vec<u8>) -> bool {
        let (done, slot) = sync_channel(1);
        // The file and its slot are taken under one lock, so slots are in the order of files.
        let file = {
            let taking = match waits {
                true => Some(self.files.lock().unwrap_or_else(PoisonError::into_inner)),
                false => self.files.try_lock().ok(),
            };
            let Some(mut taking) = taking else { return false };
            let (files, sender) = &mut *taking;
            if files.len() == 0 {
                *sender = None;
            }
            let Some(sender) = sender else { return false };
            let placed = if waits { sender.send(slot).is_ok() } else { sender.try_send(slot).is_ok() };
            if placed { files.next() } else { None }
        };
        let Some(file) = file else { return false };
        done.send(Images::decode(file, self.demand, bytes)).is_ok()
    }
}

/// Produces the items of a stream on other threads and holds a bounded number of them ready, in order.
///
/// Dropping the iterator ends each thread after its current item; a thread that waits for a pipe is left behind.
///
/// A panic of the stream is resumed in the consumer after the items that were produced before it.
#[derive(Debug)]
pub struct Prefetch {
    // `None` during shutdown: the closed channel wakes the threads.
    slots: Option<Receiver<Slot>>,
    /// The next slot, if a wait for it timed out.
    next: Option<Slot>,
    /// Files to decode instead of waiting, and a buffer.
    queue: Option<(Arc<Queue>, Vec<u8>)>,
    threads: Vec<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
    left: (usize, Option<usize>),
}

impl Prefetch {
    /// Starts to take items from `stream`, on one thread. At most `depth` of them (at least one) wait, and one more is
    /// being made.
    ///
    /// # Errors
    /// [`Error::Io`] when no thread can be started.
    pub fn new(stream: impl Iterator<Item = Item> + Send + 'static, depth: usize) -> Result<Self> {
        Self::of_stream(Box::new(stream), depth)
    }

    fn of_stream(stream: Box<dyn Iterator<Item = Item> + Send>, depth: usize) -> Result<Self> {
        let (sender, mut prefetch) = Self::idle(stream.size_hint(), depth);
        let stop = Arc::clone(&prefetch.stop);
        prefetch.spawn(move || {
            for item in stream {
                let (done, slot) = sync_channel(1);
                let _ = done.send(item);
                if stop.load(Ordering::Relaxed) || sender.send(slot).is_err() {
                    return;
                }
            }
        })?;
        Ok(prefetch)
    }

    /// Starts to decode `images`, on `threads` threads (at least one) and on that which waits for a frame. At most
    /// `depth` of them (at least one) wait or are being decoded, and one more.
    ///
    /// # Errors
    /// [`Error::Io`] when no thread can be started.
    pub fn of_images(images: Images, depth: usize, threads: usize) -> Result<Self> {
        let (sender, mut prefetch) = Self::idle(images.size_hint(), depth);
        let demand = images.demand();
        let queue = Arc::new(Queue { demand, files: Mutex::new((images.into_files(), Some(sender))) });
        for _ in 0..threads.max(1) {
            let (queue, stop) = (Arc::clone(&queue), Arc::clone(&prefetch.stop));
            prefetch.spawn(move || {
                let mut bytes = Vec::new();
                while !stop.load(Ordering::Relaxed) && queue.decode_one(true, &mut bytes) {}
            })?;
        }
        prefetch.queue = Some((queue, Vec::new()));
        Ok(prefetch)
    }

    /// The frames of `source` at `span`, at most [`PREFETCH_DEPTH`] ahead. Image files are decoded on as many threads
    /// as the machine has cores, up to four: one of them is that which waits for a frame.
    ///
    /// # Errors
    /// As [`Source::stream`] and [`Prefetch::new`].
    pub fn open(source: &dyn Source, span: impl Into<Span>, demand: impl Into<Demand>) -> Result<Self> {
        Self::of_source(source, span.into(), demand.into())
    }

    fn of_source(source: &dyn Source, span: Span, demand: Demand) -> Result<Self> {
        match source.image_files(span, demand) {
            Some(images) => {
                let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
                Self::of_images(images, PREFETCH_DEPTH, cores.min(MAX_DECODERS) - 1)
            }
            None => Self::of_stream(source.stream(span, demand)?, PREFETCH_DEPTH),
        }
    }

    /// A prefetch without threads, and the sender of slots.
    fn idle(left: (usize, Option<usize>), depth: usize) -> (SyncSender<Slot>, Self) {
        let (sender, slots) = sync_channel(depth.max(1));
        let stop = Arc::new(AtomicBool::new(false));
        (sender, Self { slots: Some(slots), next: None, queue: None, threads: Vec::new(), stop, left })
    }

    fn spawn(&mut self, work: impl FnOnce() + Send + 'static) -> Result<()> {
        let thread = std::thread::Builder::new().name("decode".into()).spawn(work);
        self.threads.push(thread.map_err(|source| Error::io("a thread to decode on", source))?);
        Ok(())
    }
}

/// The result of a bounded wait.
#[derive(Debug)]
pub enum Wait {
    /// The next frame.
    Item(Item),
    /// The stream has ended.
    End,
    /// The timeout has passed.
    NotYet,
}

impl Prefetch {
    /// Waits up to `timeout` for the next frame, and decodes others meanwhile.
    ///
    /// # Panics
    /// Resumes a panic of the stream or of a decoding thread.
    pub fn next_within(&mut self, timeout: Duration) -> Wait {
        let mut taken = self.take(Duration::ZERO);
        while matches!(taken, Err(RecvTimeoutError::Timeout)) {
            let helped = self.queue.as_mut().is_some_and(|(queue, bytes)| queue.decode_one(false, bytes));
            taken = self.take(if helped { Duration::ZERO } else { timeout });
            if !helped {
                break;
            }
        }
        match taken {
            Ok(item) => {
                self.count(true);
                Wait::Item(item)
            }
            Err(RecvTimeoutError::Timeout) => Wait::NotYet,
            Err(RecvTimeoutError::Disconnected) => {
                self.count(false);
                match self.end_threads() {
                    None => Wait::End,
                    Some(panic) => resume_unwind(panic),
                }
            }
        }
    }

    fn take(&mut self, timeout: Duration) -> Result<Item, RecvTimeoutError> {
        let begun = Instant::now();
        let slot = match (self.next.take(), &self.slots) {
            (Some(slot), _) => slot,
            (None, Some(slots)) => slots.recv_timeout(timeout)?,
            (None, None) => return Err(RecvTimeoutError::Disconnected),
        };
        let item = slot.recv_timeout(timeout.saturating_sub(begun.elapsed()));
        if let Err(RecvTimeoutError::Timeout) = item {
            self.next = Some(slot);
        }
        item
    }

    /// Updates the size hint after a frame or the end.
    fn count(&mut self, taken: bool) {
        let (least, most) = self.left;
        self.left = match taken {
            true => (least.saturating_sub(1), most.map(|most| most.saturating_sub(1))),
            false => (0, Some(0)),
        };
    }
}

impl Iterator for Prefetch {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        match self.next_within(Duration::MAX) {
            Wait::Item(item) => Some(item),
            Wait::End | Wait::NotYet => None,
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left
    }
}

impl Prefetch {
    /// Ends all threads; returns the first panic.
    fn end_threads(&mut self) -> Option<Panic> {
        self.stop.store(true, Ordering::Relaxed);
        (self.slots, self.queue) = (None, None);
        let begun = Instant::now();
        let mut said = None;
        for thread in self.threads.drain(..) {
            while !thread.is_finished() {
                // A thread that waits for a silent pipe cannot be woken and is left behind.
                if begun.elapsed() > SHUTDOWN_GRACE {
                    return said;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            said = said.or(thread.join().err());
        }
        said
    }
}

impl Drop for Prefetch {
    fn drop(&mut self) {
        // Without a consumer there is no place to resume a panic.
        drop(self.end_threads());
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn resumes_the_panic_of_a_decoding_thread() {
        let (sender, mut prefetch) = Prefetch::idle((0, None), 2);
        let decoder = move || {
            let (_done, slot) = sync_channel(1);
            sender.send(slot).unwrap();
            panic!("at its frame");
        };
        prefetch.spawn(decoder).unwrap();
        let panic = catch_unwind(AssertUnwindSafe(|| prefetch.next_within(Duration::MAX))).unwrap_err();
        assert_eq!(*panic.downcast_ref::<&str>().unwrap(), "at its frame");
        assert!(matches!(prefetch.next_within(Duration::ZERO), Wait::End));
    }
}
