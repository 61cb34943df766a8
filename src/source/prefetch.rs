//! Decoding ahead: the next frames are made on another thread while the current one is tracked.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;
use std::time::Instant;

use crate::error::{Error, Result};
use crate::frame::FrameBuf;

use super::decode::decode_with;
use crate::frame::Channels;

/// How many decoded frames wait at most, by default.
pub const PREFETCH_DEPTH: usize = 4;

/// One image of a sequence, decoded or not.
#[derive(Debug)]
pub struct Decoded {
    /// Position in the sorted folder, from 1.
    pub position: usize,
    /// The image file.
    pub path: PathBuf,
    /// The frame, or why there is none.
    pub frame: Result<FrameBuf>,
    /// Milliseconds that reading and decoding took.
    pub decode_ms: f64,
}

/// Decodes images in order on a thread of its own and holds a bounded number of them ready.
///
/// An image that cannot be decoded is an item with an error; those after it follow. Dropping the iterator ends the
/// thread after the image that it is at.
#[derive(Debug)]
pub struct Prefetch {
    // `None` while the thread is being ended: a closed channel is what wakes it.
    frames: Option<Receiver<Decoded>>,
    thread: Option<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
    left: usize,
}

impl Prefetch {
    /// Starts to decode `images`, pairs of position and path. At most `depth` frames (at least one) wait to be taken,
    /// and one more is being made.
    ///
    /// # Errors
    /// [`Error::Io`] when no thread can be started.
    pub fn new(images: Vec<(usize, PathBuf)>, channels: Channels, depth: usize) -> Result<Self> {
        let (sender, frames) = sync_channel(depth.max(1));
        let stop = Arc::new(AtomicBool::new(false));
        let left = images.len();
        let first = images.first().map(|(_, path)| path.clone()).unwrap_or_default();
        let stopped = Arc::clone(&stop);
        let work = move || {
            let mut bytes = Vec::new();
            for (position, path) in VecDeque::from(images) {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                let begin = Instant::now();
                let frame = decode_with(&path, channels, &mut bytes);
                let decode_ms = begin.elapsed().as_secs_f64() * 1e3;
                if sender.send(Decoded { position, path, frame, decode_ms }).is_err() {
                    return;
                }
            }
        };
        let thread =
            std::thread::Builder::new().name("decode".into()).spawn(work).map_err(|source| Error::io(first, source))?;
        Ok(Self { frames: Some(frames), thread: Some(thread), stop, left })
    }
}

impl Iterator for Prefetch {
    type Item = Decoded;

    fn next(&mut self) -> Option<Decoded> {
        let next = self.frames.as_ref()?.recv().ok();
        self.left = if next.is_some() { self.left.saturating_sub(1) } else { 0 };
        next
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Prefetch {}

impl Drop for Prefetch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.frames = None;
        if let Some(thread) = self.thread.take() {
            // It cannot have panicked: decoders are guarded.
            let _ = thread.join();
        }
    }
}
