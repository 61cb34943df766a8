//! Small sources and records for the tests of this room.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::bbox::BBox;
use crate::cancel::CancelToken;
use crate::error::{Error, Result};
use crate::export::FrameRecord;
use crate::frame::{FrameBuf, PixelFormat};
use crate::media::{Demand, Info, Item, Source, Span, Stream};
use crate::run::Outcome;

/// A frame of a source.
pub fn item_of(position: usize, frame: Result<FrameBuf>) -> Item {
    Item { position, name: format!("{position:04}"), path: None, timestamp: None, frame, color: None, decode_ms: 0.0 }
}

/// A frame that shows its position as its gray level.
pub fn numbered_item(position: usize) -> Item {
    item_of(position, FrameBuf::new(vec![position as u8; 64 * 48], 64, 48, PixelFormat::Gray8))
}

/// What is found of a target in a frame that could not be read: its box and no more.
pub fn record_at(position: usize, bbox: BBox) -> FrameRecord {
    let outcome = Outcome { target: 0, bbox, estimate: None, took: Duration::ZERO };
    FrameRecord::new(&numbered_item(position), &outcome, None)
}

/// Frames that show their position as their gray level.
pub struct Numbered {
    info: Info,
    count: usize,
    /// Whether the stream blocks after the last frame, as that of a camera that is covered up.
    stalls: bool,
    opened: Mutex<bool>,
}

impl Numbered {
    fn new(count: usize, length: Option<usize>, live: bool, stalls: bool) -> Self {
        let info = Info { name: "numbered".into(), length, live, ..Info::default() };
        Self { info, count, stalls, opened: Mutex::default() }
    }

    pub fn folder(count: usize) -> Self {
        Self::new(count, Some(count), false, false)
    }

    pub fn pipe(count: usize) -> Self {
        Self::new(count, None, true, false)
    }

    /// Read again from any frame on, but of unknown length.
    pub fn video(count: usize) -> Self {
        Self::new(count, None, false, false)
    }

    pub fn stalled(count: usize) -> Self {
        Self::new(count, None, true, true)
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
        let frames = (span.first..=span.last.unwrap_or(usize::MAX).min(self.count)).map(numbered_item);
        let stalls = self.stalls;
        // Longer than any test waits; the thread that waits for it is joined when the stream is dropped.
        let end = std::iter::from_fn(move || stalls.then(|| std::thread::sleep(Duration::from_millis(300))).and(None));
        Ok(Box::new(frames.chain(end)))
    }
}

/// A video that is decoded from its first frame on for each stream: one that begins further on hands nothing out until
/// it is cancelled.
pub struct Sought {
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
    pub fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }
}

impl Source for Sought {
    fn info(&self) -> &Info {
        &self.info
    }

    fn stream(&self, span: Span, _: Demand, cancel: &CancelToken) -> Result<Stream> {
        let (running, cancel) = (Arc::clone(&self.running), cancel.clone());
        let mut next = span.first;
        Ok(Box::new(std::iter::from_fn(move || {
            running.fetch_add(1, Ordering::Relaxed);
            while span.first > 1 && !cancel.is_cancelled() {
                std::thread::sleep(Duration::from_millis(1));
            }
            running.fetch_sub(1, Ordering::Relaxed);
            next += 1;
            (next <= 200).then(|| numbered_item(next - 1))
        })))
    }
}
