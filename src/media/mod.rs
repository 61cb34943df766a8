//! Where frames come from.
//!
//! [`open()`] opens what a user names: a folder of images ([`Sequence`]), a video, a camera or an address that `ffmpeg`
//! reads, or a pipe of raw frames ([`Y4m`]). Each is a [`Source`]: its [`Info`], and its frames in order as [`Item`]s.
//! [`Prefetch`] reads any source ahead on other threads. [`decode()`] turns one image into a frame.

pub mod annotation;
mod decode;
mod images;
mod open;
pub mod otb;
mod prefetch;
mod sequence;
mod video;
mod y4m;
mod yuv;

#[cfg(feature = "cli")]
use std::path::Path;
use std::path::PathBuf;

use crate::bbox::BBox;
use crate::cancel::CancelToken;
use crate::error::{Error, Result};
use crate::frame::{Channels, Frame, FrameBuf};
pub use decode::{decode, decode_bytes};
pub use images::Images;
pub(crate) use images::{INDEX, TRUTH_FILES, file_name, list, numbered_truths, plain_truths};
#[cfg(feature = "cli")]
pub(crate) use open::local;
pub use open::{OpenOptions, Truth, open};
#[cfg(feature = "cli")]
pub(crate) use prefetch::Latest;
pub use prefetch::{Prefetch, Wait};
pub(crate) use sequence::IMAGE_FOLDERS;
pub use sequence::Sequence;
pub use y4m::Y4m;

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
    /// The file with the sound of the frames, if it has any.
    pub sound: Option<PathBuf>,
    /// Frames come once and at their own pace: a camera, a network stream, a pipe.
    pub live: bool,
    /// The frames that a benchmark evaluates, or those from the first with a true box on.
    pub default_span: Span,
    /// True box of each frame, 0-based; empty without a truth.
    pub truth: Vec<Option<BBox>>,
    /// File of the truth.
    pub truth_path: Option<PathBuf>,
    /// File of each frame of a folder of images.
    pub images: Vec<PathBuf>,
    /// Other files and folders that are read, now or when the source is opened again.
    pub inputs: Vec<PathBuf>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

impl Info {
    /// The true box of the frame at `position`.
    pub fn true_box(&self, position: usize) -> Option<BBox> {
        self.truth.get(position.checked_sub(1)?).copied().flatten()
    }

    /// The true box of the frame at `position`, to start tracking from.
    ///
    /// # Errors
    /// [`Error::Sequence`] when there is none.
    pub fn initial_box(&self, position: usize) -> Result<BBox> {
        self.true_box(position).ok_or_else(|| {
            let reason = match &self.truth_path {
                None => format!("there is no true box for frame {position}"),
                Some(path) => format!("{} has no box for frame {position}", path.display()),
            };
            Error::Sequence { path: self.name.clone().into(), reason }
        })
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
                let expected = format!("it lies before start {first}{from}");
                Err(Error::parameter("end", last, expected))
            }
            last => Ok(Span { first, last }),
        }
    }

    /// The image files of a span with their positions.
    fn image_files(&self, span: Span) -> Vec<(usize, PathBuf)> {
        (1..).zip(self.images.iter().cloned()).filter(|(position, _)| span.contains(*position)).collect()
    }

    /// Whether `path` is an input, or would be read as one when the source is opened again.
    #[cfg(feature = "cli")]
    pub(crate) fn reads(&self, path: &Path) -> bool {
        use crate::atomic_file::real;
        let Some(path) = real(path) else { return false };
        let is_image = images::is_image(&path);
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

/// What the frames of a source contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Channels of the frame to track.
    pub channels: Channels,
    /// Also decode the colours, to show them. The frame to track stays the same.
    pub color: bool,
}

impl From<Channels> for Demand {
    fn from(channels: Channels) -> Self {
        Self { channels, color: false }
    }
}

/// Positions of a source, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first.
    pub first: usize,
    /// The last, included; `None` for the end of the source.
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

    /// Whether `position` is one of them.
    pub fn contains(&self, position: usize) -> bool {
        position >= self.first && self.last.is_none_or(|last| position <= last)
    }
}

impl From<std::ops::RangeInclusive<usize>> for Span {
    fn from(range: std::ops::RangeInclusive<usize>) -> Self {
        Self { first: *range.start(), last: Some(*range.end()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn span_count_saturates() {
        let count = |first, last| Span { first, last }.count();
        assert_eq!(count(0, Some(usize::MAX)), Some(usize::MAX));
        assert_eq!((count(3, Some(3)), count(4, Some(3)), count(1, None)), (Some(1), Some(0), None));
    }
}
