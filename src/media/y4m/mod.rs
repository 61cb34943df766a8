//! YUV4MPEG2 (Y4M): raw frames through a pipe, which any program can write.

mod header;
mod reader;

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::yuv::Levels;
use super::{Demand, Item, Source, Span, Stream, is_same_file};
use crate::error::{Error, Result};
pub(super) use reader::Reader;

/// A pipe of Y4M frames of 8 bits: 4:2:0, 4:2:2, 4:4:4 or gray. It can be read once, from its first frame on.
///
/// Frames that are tracked in gray are the luma plane (stretched where black is 16); colours are by BT.601.
#[derive(Debug)]
pub struct Y4m {
    name: String,
    size: (usize, usize),
    rate: Option<f64>,
    /// The file that it comes from, where that is known.
    place: Option<Place>,
    /// `None` once the frames are being read.
    reader: Mutex<Option<Reader<Input>>>,
}

type Input = Box<dyn BufRead + Send>;

impl Y4m {
    /// Waits for the header at the beginning of `reader`; `name` is used in messages.
    ///
    /// # Errors
    /// [`Error::Sequence`] for a stream that is empty, no Y4M, or of a form that cannot be read.
    pub fn open(name: impl Into<String>, reader: impl Read + Send + 'static) -> Result<Self> {
        let name = name.into();
        let input: Input = Box::new(BufReader::with_capacity(1 << 16, reader));
        // Gray that says nothing is that of a picture, not of a television.
        let reader = Reader::open(input, Levels::Full);
        let reader = reader.map_err(|reason| Error::Sequence { path: PathBuf::from(&name), reason })?;
        let planes = reader.planes();
        let (size, rate) = ((planes.width, planes.height), reader.rate());
        Ok(Self { name, size, rate, place: None, reader: Mutex::new(Some(reader)) })
    }

    /// The same of a file or a named pipe.
    ///
    /// # Errors
    /// As [`Y4m::open`]; [`Error::Io`] when it cannot be opened.
    pub fn open_file(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|source| Error::io(path, source))?;
        let place = Some(Place::Path(path.into()));
        Ok(Self { place, ..Self::open(path.to_string_lossy(), file)? })
    }

    /// The same of the standard input, which may be a file.
    ///
    /// # Errors
    /// As [`Y4m::open`].
    pub fn open_standard_input() -> Result<Self> {
        let place = Some(Place::StandardInput);
        Ok(Self { place, ..Self::open("standard input", std::io::stdin())? })
    }
}

/// Where a stream comes from.
#[derive(Debug)]
enum Place {
    Path(PathBuf),
    StandardInput,
}

impl Place {
    /// Whether it is the existing file at `path`.
    fn is(&self, path: &Path) -> bool {
        match self {
            Self::Path(ours) => is_same_file(path, ours),
            #[cfg(unix)]
            Self::StandardInput => {
                use std::os::fd::AsFd;
                use std::os::unix::fs::MetadataExt;
                let input = std::io::stdin().as_fd().try_clone_to_owned();
                let ours = input.and_then(|input| File::from(input).metadata()).ok();
                let same = |ours: std::fs::Metadata| {
                    let there = path.metadata().ok().filter(|_| ours.is_file())?;
                    Some((there.dev(), there.ino()) == (ours.dev(), ours.ino()))
                };
                ours.and_then(same) == Some(true)
            }
            // What the standard input is cannot be asked for elsewhere.
            #[cfg(not(unix))]
            Self::StandardInput => false,
        }
    }
}

impl Source for Y4m {
    fn name(&self) -> &str {
        &self.name
    }

    fn length(&self) -> Option<usize> {
        None
    }

    fn is_live(&self) -> bool {
        true
    }

    fn size(&self) -> Option<(usize, usize)> {
        Some(self.size)
    }

    fn rate(&self) -> Option<f64> {
        self.rate
    }

    fn occupies(&self, path: &Path) -> Option<&'static str> {
        self.place.as_ref().is_some_and(|place| place.is(path)).then_some("is the video that is read")
    }

    fn stream(&self, span: Span, demand: Demand) -> Result<Stream> {
        let taken = self.reader.lock().unwrap_or_else(PoisonError::into_inner).take();
        let reader = taken.ok_or_else(|| Error::Sequence {
            path: PathBuf::from(&self.name),
            reason: "a pipe can be read only once".into(),
        })?;
        Ok(Box::new(Frames { name: self.name.clone(), reader: Some(reader), span, demand }))
    }
}

/// The frames of a pipe, until its end or the first that is broken.
struct Frames {
    name: String,
    /// `None` after the last frame.
    reader: Option<Reader<Input>>,
    span: Span,
    demand: Demand,
}

impl Iterator for Frames {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        loop {
            let reader = self.reader.as_mut()?;
            let position = reader.frames() + 1;
            if self.span.last.is_some_and(|last| position > last) {
                self.reader = None;
                return None;
            }
            let read = match reader.read().transpose() {
                None if position == 1 => Err("it ends after its header, before the first frame".into()),
                read => read?,
            };
            // Whoever writes the stream was waited for: that is no decoding.
            let begun = Instant::now();
            if read.is_ok() && !self.span.contains(position) {
                continue;
            }
            let decoded = read.and_then(|()| reader.decode(self.demand).map_err(|error| error.to_string()));
            let timestamp = reader.rate().map(|rate| (position - 1) as f64 / rate);
            if decoded.is_err() {
                self.reader = None;
            }
            let decoded = decoded.map_err(|reason| Error::Sequence { path: PathBuf::from(&self.name), reason });
            let decode_ms = begun.elapsed().as_secs_f64() * 1e3;
            return Some(Item::numbered(position, timestamp, decoded, decode_ms));
        }
    }
}
