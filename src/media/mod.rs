//! Where frames come from.
//!
//! A [`Source`] knows what can be known ahead (its name, its length, the truth) and hands out frames in order as
//! [`Item`]s; [`Prefetch`] reads any of them ahead on other threads. [`open()`] opens whatever a person names: a
//! [`Sequence`] is a folder of images and the ground truth beside it, a [`Video`] a file, a camera or an address that
//! `ffmpeg` reads, [`Y4m`] a pipe of raw frames. A [`Scene`](crate::synth::Scene) renders frames
//! whose truth is known exactly; [`decode()`] turns one image into a frame.

pub mod annotation;
pub mod decode;
mod folder;
mod images;
mod item;
pub mod layout;
mod open;
pub mod otb;
mod prefetch;
mod sequence;
mod truth;
mod video;
mod y4m;
mod yuv;

use std::path::Path;

use crate::bbox::BBox;
use crate::error::{Error, Result};
pub use decode::{decode, decode_bytes};
pub use images::Images;
pub use item::{Demand, Item, Span};
pub use open::{OpenOptions, open};
pub use prefetch::{PREFETCH_DEPTH, Prefetch, Wait};
pub use sequence::Sequence;
pub use truth::{SequenceOptions, Truth};
#[cfg(feature = "cli")]
pub(crate) use video::local;
pub use video::{Video, VideoOptions};
pub use y4m::Y4m;

/// Frames one after the other. A frame that cannot be read is an item that says so.
pub type Stream = Box<dyn Iterator<Item = Item> + Send>;

/// Something that frames come from: what is known of it ahead, and the frames. Positions count from 1.
pub trait Source: Send + Sync {
    /// What people call it.
    fn name(&self) -> &str;

    /// How many frames it has; `None` for one that goes on until it ends.
    fn length(&self) -> Option<usize>;

    /// Frames per second, where they come at a rate that is known.
    fn rate(&self) -> Option<f64> {
        None
    }

    /// About how many frames it has, to tell how far a run is.
    fn expected_length(&self) -> Option<usize> {
        self.length()
    }

    /// Width and height of its frames, where they are known before one is decoded.
    fn size(&self) -> Option<(usize, usize)> {
        None
    }

    /// Width to height of a pixel as it is shown, where it is known not to be square.
    fn pixel_aspect(&self) -> Option<(u32, u32)> {
        None
    }

    /// The true box of the frame at `position`, 0-based.
    fn true_box(&self, position: usize) -> Option<BBox> {
        let _ = position;
        None
    }

    /// The box of the frame at `position`, from which tracking can start.
    ///
    /// # Errors
    /// [`Error::Sequence`] when it has none.
    fn initial_box(&self, position: usize) -> Result<BBox> {
        self.true_box(position).ok_or_else(|| Error::Sequence {
            path: self.name().into(),
            reason: format!("there is no true box for frame {position}"),
        })
    }

    /// The base of the truth file and how it was chosen, for a person.
    fn truth_note(&self) -> Option<&str> {
        None
    }

    /// The positions from `start` to `end`, both included; without them what the source itself takes for its beginning
    /// and its end.
    ///
    /// # Errors
    /// [`Error::Parameter`], naming `start` or `end`, for 0, a position beyond the last frame, or an end before the
    /// start.
    fn span(&self, start: Option<usize>, end: Option<usize>) -> Result<Span> {
        check_positions(self.length(), start, end)?;
        let first = start.unwrap_or(1);
        let last = end.or(self.length());
        match last {
            Some(last) if last < first => Err(end_before(first, last)),
            last => Ok(Span { first, last }),
        }
    }

    /// Whether it goes on by itself while it is read, so that nobody can go back in it.
    fn is_live(&self) -> bool {
        false
    }

    /// Whether a stream can begin at `position` without what is before it being read.
    fn begins_at(&self, position: usize) -> bool {
        self.length().is_some_and(|length| position <= length)
    }

    /// How many frames come before `seconds` from the first one.
    ///
    /// # Errors
    /// [`Error::Sequence`] where the frames have no times that are known ahead.
    fn frames_before(&self, seconds: f64) -> Result<usize> {
        let reason = "its frames have no times: count frames".into();
        let rate = self.rate().ok_or_else(|| Error::Sequence { path: self.name().into(), reason })?;
        Ok((seconds * rate).ceil().max(0.0) as usize)
    }

    /// The last frame that comes before `seconds` from the first one, 0 where none does; `None` where all do, as the
    /// source ends or breaks before that.
    ///
    /// # Errors
    /// As [`Source::frames_before`].
    fn last_before(&self, seconds: f64) -> Result<Option<usize>> {
        self.frames_before(seconds).map(Some)
    }

    /// Ends what reads frames at the moment, on whatever thread it waits for the next one.
    fn cancel(&self) {}

    /// What a person should know before it is read.
    fn warnings(&self) -> &[String] {
        &[]
    }

    /// What a person should know after its frames have ended.
    fn warning_after(&self) -> Option<String> {
        None
    }

    /// What of this source lies at the existing `path`, as the end of a sentence; `None` where nothing does, so that it
    /// may be written over.
    fn occupies(&self, path: &Path) -> Option<&'static str> {
        let _ = path;
        None
    }

    /// The frames of `span`, in order. Positions beyond the last frame are left out.
    ///
    /// # Errors
    /// When the source cannot be opened.
    fn stream(&self, span: Span, demand: Demand) -> Result<Stream>;

    /// The same, where each frame is an image file that can be decoded without those before it; `None` otherwise.
    fn image_files(&self, span: Span, demand: Demand) -> Option<Images> {
        let _ = (span, demand);
        None
    }
}

impl std::fmt::Debug for dyn Source + '_ {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("name", &self.name()).finish_non_exhaustive()
    }
}

/// Whether both paths lead to one file, which is there.
fn is_same_file(a: &Path, b: &Path) -> bool {
    a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

/// Refuses positions outside of `length` frames.
fn check_positions(length: Option<usize>, start: Option<usize>, end: Option<usize>) -> Result<()> {
    for (name, position) in [("start", start), ("end", end)] {
        let Some(value) = position else { continue };
        if value == 0 || length.is_some_and(|length| value > length) {
            let expected = match length {
                Some(length) => format!("there are {length} images, counted from 1"),
                None => "frames are counted from 1".into(),
            };
            return Err(Error::Parameter { name, value: value.to_string(), expected });
        }
    }
    Ok(())
}

/// The error for an end before its start.
fn end_before(first: usize, last: usize) -> Error {
    let expected = format!("it lies before start {first}");
    Error::Parameter { name: "end", value: last.to_string(), expected }
}
