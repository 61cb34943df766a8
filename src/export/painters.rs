//! Threads that draw on pictures and hand them on.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use image::{ExtendedColorType, RgbImage};

use super::drawing::Letters;
use super::folder::put;
use super::overlay_video::Turn;
use super::overlays::is_jpeg;
use super::painting::Painting;
use crate::error::{Error, Result};
use crate::frame::Frame;
use crate::jpeg::encode;
use crate::png;

/// Most threads that draw; with each a picture waits and another is drawn on.
const MOST_THREADS: usize = 4;

/// Quality of the JPEG files, 1 to 100.
const QUALITY: u8 = 90;

/// Where a picture goes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Place {
    /// To a file.
    File(PathBuf),
    /// Behind all pictures of a lower number, from 0.
    Turn(Turn),
}

/// Hands a picture on, from any thread and in any order.
pub(super) type Deliver = dyn Fn(RgbImage, Place) -> Result<()> + Send + Sync;

/// Threads that draw and write pictures, in any order.
#[derive(Debug)]
pub(super) struct Painters {
    /// `None` once there is nothing more to come.
    jobs: Option<SyncSender<(Painting, Place)>>,
    threads: Vec<JoinHandle<()>>,
    failure: Arc<Mutex<Option<Error>>>,
}

impl Painters {
    /// Starts them; `path` is what they are needed for.
    pub fn start(path: &Path, deliver: Box<Deliver>) -> Result<Self> {
        let count = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
        let (jobs, waiting) = sync_channel(count);
        let (waiting, deliver) = (Arc::new(Mutex::new(waiting)), Arc::from(deliver));
        let mut painters = Self { jobs: Some(jobs), threads: Vec::new(), failure: Arc::default() };
        for _ in 0..count {
            let (letters, waiting) = (Letters::load(path)?, Arc::clone(&waiting));
            let (failure, deliver): (_, Arc<Deliver>) = (Arc::clone(&painters.failure), Arc::clone(&deliver));
            let work = move || {
                while let Some((mut painting, place)) = next(&waiting) {
                    painting.paint(&letters);
                    if let Err(error) = deliver(painting.picture, place) {
                        failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                    }
                }
            };
            let thread = std::thread::Builder::new().name("overlay".into()).spawn(work);
            painters.threads.push(thread.map_err(|source| Error::io("a thread to draw on", source))?);
        }
        Ok(painters)
    }

    /// Has a picture drawn and handed on, once a thread is free.
    pub fn paint(&self, painting: Painting, place: Place) -> Result<()> {
        self.failure()?;
        let Some(jobs) = &self.jobs else { return Ok(()) };
        // The threads end before the channel only by a panic, which has said why.
        jobs.send((painting, place)).map_err(|_| Error::io("a thread to draw on", std::io::Error::other("it ended")))
    }

    /// What went wrong on a thread since this was asked last.
    pub fn failure(&self) -> Result<()> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }

    /// Waits until all pictures are handed on.
    pub fn join(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Drop for Painters {
    fn drop(&mut self) {
        self.join();
    }
}

/// The next job, once there is one; `None` when there will be no more.
fn next(waiting: &Mutex<Receiver<(Painting, Place)>>) -> Option<(Painting, Place)> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

/// Writes a picture to its file, as the ending of its name says.
pub(super) fn write_picture(picture: RgbImage, place: Place) -> Result<()> {
    let Place::File(path) = place else { return Ok(()) };
    let jpeg = path.extension().and_then(|extension| extension.to_str()).is_some_and(is_jpeg);
    // No picture of a larger side fits into a JPEG.
    let jpeg = Frame::try_from(&picture).ok().filter(|_| jpeg).and_then(|frame| encode(&frame, QUALITY, false));
    put(&path, |file| {
        let png = || png::encode(&picture, picture.dimensions(), ExtendedColorType::Rgb8);
        Ok(file.write_all(&jpeg.map_or_else(png, Ok)?)?)
    })
}
