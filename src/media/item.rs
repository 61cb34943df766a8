//! A frame of a source, and which frames are asked for.

use std::path::PathBuf;

use crate::error::Result;
use crate::frame::{Channels, Frame, FrameBuf};

/// One frame of a source, decoded or not.
#[derive(Debug)]
pub struct Item {
    /// Position in the source, from 1.
    pub position: usize,
    /// The name of its file, or its number.
    pub name: String,
    /// The image file, where the frame is one.
    pub path: Option<PathBuf>,
    /// Seconds from the first frame, where the source knows them.
    pub timestamp: Option<f64>,
    /// The frame to track, or why it cannot be read.
    pub frame: Result<FrameBuf>,
    /// The same picture in colour if `frame` is gray and [`Demand::color`] asks for it.
    pub color: Option<FrameBuf>,
    /// Milliseconds of reading and decoding.
    pub decode_ms: f64,
}

impl Item {
    /// A frame without a name: it is named by its position in six digits.
    pub(super) fn numbered(
        position: usize,
        timestamp: Option<f64>,
        decoded: Result<(FrameBuf, Option<FrameBuf>)>,
        decode_ms: f64,
    ) -> Self {
        let (frame, color) = match decoded {
            Ok((frame, color)) => (Ok(frame), color),
            Err(error) => (Err(error), None),
        };
        Self { position, name: format!("{position:06}"), path: None, timestamp, frame, color, decode_ms }
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
    /// Also decode the colours, to be shown. This does not change the frame to track.
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
        assert_eq!(count(1, Some(usize::MAX)), Some(usize::MAX));
        assert_eq!(count(0, Some(usize::MAX)), Some(usize::MAX));
        assert_eq!(
            (count(3, Some(3)), count(4, Some(3)), count(5, Some(3)), count(1, None)),
            (Some(1), Some(0), Some(0), None)
        );
    }
}
