//! Reading ahead: the next frames are made on another thread while the current one is tracked.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::Source;
use super::item::{Demand, Item, Span};
use crate::error::{Error, Result};

/// How many decoded frames wait at most, by default.
pub const PREFETCH_DEPTH: usize = 4;

/// How long the end of the thread is waited for: much longer than a frame takes.
const LONGEST_END: Duration = Duration::from_secs(2);

/// Makes the items of any stream on a thread of its own and holds a bounded number of them ready, in order.
///
/// Dropping the iterator ends the thread after the item that it is at; one that waits for a pipe is left behind.
#[derive(Debug)]
pub struct Prefetch {
    // `None` while the thread is being ended: a closed channel is what wakes it.
    items: Option<Receiver<Item>>,
    thread: Option<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
    left: (usize, Option<usize>),
}

impl Prefetch {
    /// Starts to take items from `stream`. At most `depth` of them (at least one) wait, and one more is being made.
    ///
    /// # Errors
    /// [`Error::Io`] when no thread can be started.
    pub fn new(stream: impl Iterator<Item = Item> + Send + 'static, depth: usize) -> Result<Self> {
        let (sender, items) = sync_channel(depth.max(1));
        let stop = Arc::new(AtomicBool::new(false));
        let left = stream.size_hint();
        let stopped = Arc::clone(&stop);
        let work = move || {
            for item in stream {
                if stopped.load(Ordering::Relaxed) || sender.send(item).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("decode".into()).spawn(work);
        let thread = thread.map_err(|source| Error::io("a thread to decode on", source))?;
        Ok(Self { items: Some(items), thread: Some(thread), stop, left })
    }

    /// The frames of `source` at `span`, at most [`PREFETCH_DEPTH`] ahead.
    ///
    /// # Errors
    /// As [`Source::stream`] and [`Prefetch::new`].
    pub fn open(source: &dyn Source, span: impl Into<Span>, demand: impl Into<Demand>) -> Result<Self> {
        Self::new(source.stream(span.into(), demand.into())?, PREFETCH_DEPTH)
    }
}

/// What a limited wait came to.
#[derive(Debug)]
pub enum Wait {
    /// The next frame.
    Item(Item),
    /// There is none any more.
    End,
    /// It has not come yet.
    NotYet,
}

impl Prefetch {
    /// The next frame, if it comes within `patience`.
    pub fn next_within(&mut self, patience: Duration) -> Wait {
        let Some(items) = &self.items else { return Wait::End };
        match items.recv_timeout(patience) {
            Ok(item) => {
                self.count(true);
                Wait::Item(item)
            }
            Err(RecvTimeoutError::Timeout) => Wait::NotYet,
            Err(RecvTimeoutError::Disconnected) => {
                self.count(false);
                Wait::End
            }
        }
    }

    /// Notes that a frame was taken, or that there is none any more.
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
        let next = self.items.as_ref()?.recv().ok();
        self.count(next.is_some());
        next
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left
    }
}

impl Drop for Prefetch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.items = None;
        let Some(thread) = self.thread.take() else { return };
        let begun = Instant::now();
        while !thread.is_finished() {
            // Who waits for a pipe that nothing comes through cannot be woken, and is left to that.
            if begun.elapsed() > LONGEST_END {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        // A decoder's panic is an error of its item; whatever else panics has said so already.
        let _ = thread.join();
    }
}
