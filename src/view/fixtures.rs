//! Small sources and records for the tests of this room.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::bbox::BBox;
use crate::error::{Error, Result};
use crate::export::FrameRecord;
use crate::frame::{FrameBuf, PixelFormat};
use crate::media::{Demand, Item, Source, Span, Stream};
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
    count: usize,
    live: bool,
    /// Whether the number of frames is known ahead.
    counted: bool,
    /// Whether the stream blocks after the last frame, as that of a camera that is covered up.
    stalls: bool,
    opened: Mutex<bool>,
}

impl Numbered {
    pub fn folder(count: usize) -> Self {
        Self { count, live: false, counted: true, stalls: false, opened: Mutex::default() }
    }

    pub fn pipe(count: usize) -> Self {
        Self { live: true, ..Self::video(count) }
    }

    /// Read again from any frame on, but of unknown length.
    pub fn video(count: usize) -> Self {
        Self { counted: false, ..Self::folder(count) }
    }

    pub fn stalled(count: usize) -> Self {
        Self { stalls: true, ..Self::pipe(count) }
    }
}

impl Source for Numbered {
    fn name(&self) -> &str {
        "numbered"
    }

    fn length(&self) -> Option<usize> {
        self.counted.then_some(self.count)
    }

    fn is_live(&self) -> bool {
        self.live
    }

    fn stream(&self, span: Span, _: Demand) -> Result<Stream> {
        let mut opened = self.opened.lock().unwrap();
        if *opened && self.live {
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
#[derive(Default)]
pub struct Sought {
    running: Arc<AtomicUsize>,
    /// Of the stream that was begun last.
    cancelled: Mutex<Arc<AtomicBool>>,
}

impl Sought {
    /// How many streams decode.
    pub fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }
}

impl Source for Sought {
    fn name(&self) -> &str {
        "sought"
    }

    fn length(&self) -> Option<usize> {
        Some(200)
    }

    fn cancel(&self) {
        self.cancelled.lock().unwrap().store(true, Ordering::Relaxed);
    }

    fn stream(&self, span: Span, _: Demand) -> Result<Stream> {
        let cancelled = Arc::new(AtomicBool::new(false));
        *self.cancelled.lock().unwrap() = Arc::clone(&cancelled);
        let running = Arc::clone(&self.running);
        let mut next = span.first;
        Ok(Box::new(std::iter::from_fn(move || {
            running.fetch_add(1, Ordering::Relaxed);
            while span.first > 1 && !cancelled.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
            }
            running.fetch_sub(1, Ordering::Relaxed);
            next += 1;
            (next <= 200).then(|| numbered_item(next - 1))
        })))
    }
}
