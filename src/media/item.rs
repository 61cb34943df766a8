//! What a source hands out: frames one after the other, which of them, and made of what.

use std::path::PathBuf;

use crate::error::Result;
use crate::frame::{Channels, Frame, FrameBuf};

/// One frame of a source, decoded or not.
#[derive(Debug)]
pub struct Item {
    /// Position in the source, from 1.
    pub position: usize,
    /// What people call it: the name of its file where it has one.
    pub name: String,
    /// The image file, where the frame is one.
    pub path: Option<PathBuf>,
    /// Seconds from the first frame, where the source knows them.
    pub timestamp: Option<f64>,
    /// What is tracked, or why there is none.
    pub frame: Result<FrameBuf>,
    /// The same picture in colour, of the same decoding, where that was asked for and `frame` is gray; see
    /// [`Demand::color`].
    pub color: Option<FrameBuf>,
    /// Milliseconds that reading and decoding took.
    pub decode_ms: f64,
}

impl Item {
    /// A frame of a source whose frames have no names: the position in six digits is one.
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

    /// The frame as a person wants to see it; `None` where it could not be read.
    pub fn picture(&self) -> Option<Frame<'_>> {
        self.color.as_ref().or(self.frame.as_ref().ok()).map(FrameBuf::as_frame)
    }
}

/// What the frames of a source shall hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// What is tracked.
    pub channels: Channels,
    /// Whether the picture is wanted in colour besides, to be shown. That changes no pixel of what is tracked.
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
    /// The last, included; `None` for wherever the source ends.
    pub last: Option<usize>,
}

impl Span {
    /// How many positions there are, where that is known; no more than the largest number.
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
    fn a_span_counts_to_the_largest_number() {
        let count = |first, last| Span { first, last }.count();
        assert_eq!(count(1, Some(usize::MAX)), Some(usize::MAX));
        assert_eq!(count(0, Some(usize::MAX)), Some(usize::MAX));
        assert_eq!(
            (count(3, Some(3)), count(4, Some(3)), count(5, Some(3)), count(1, None)),
            (Some(1), Some(0), Some(0), None)
        );
    }
}
