//! A tracker as bytes: its settings, where it began, and what frames have taught it.
//!
//! | bytes | what |
//! | --- | --- |
//! | 8 | `KCFTRACK` |
//! | 4 | checksum (CRC-32) of all that follows |
//! | 4 | length of the head |
//! | | the head, JSON: the version, the settings, and, of a tracker with a target, the frames and the first box |
//! | | of a tracker with a target: its state, numbers in the order of the [walk](crate::tape) over its models |
//!
//! Numbers are little endian.

use serde::{Deserialize, Serialize};

use super::engine::Engine;
use super::search::FrameKind;
use super::{Params, Target, Tracker};
use crate::bbox::BBox;
use crate::error::Result;
use crate::tape::{Recorded, Tape, unusable};

const MAGIC: &[u8; 8] = b"KCFTRACK";

/// What a state's numbers mean differs from version to version.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "/3");

#[derive(Serialize, Deserialize)]
struct Head {
    version: String,
    params: Params,
    start: Option<Start>,
}

#[derive(Serialize, Deserialize)]
struct Start {
    size: (usize, usize),
    color: bool,
    given: BBox,
}

impl Tracker {
    /// The tracker as bytes, from which [`Tracker::restore`] makes one that goes on to the same boxes, bit for bit.
    /// The profile is no part of it.
    ///
    /// ```
    /// use kcf_track::{BBox, Frame, Tracker};
    ///
    /// let pixels: Vec<u8> = (0..64 * 48).map(|i| (i * i / 7 % 251) as u8).collect();
    /// let frame = Frame::gray(&pixels, 64, 48)?;
    /// let mut tracker = Tracker::new(Default::default())?;
    /// tracker.init(frame, BBox::new(20.0, 10.0, 24.0, 24.0))?;
    /// let mut again = Tracker::restore(&tracker.snapshot())?;
    /// assert_eq!(again.update(frame)?, tracker.update(frame)?);
    /// # Ok::<(), kcf_track::Error>(())
    /// ```
    pub fn snapshot(&self) -> Vec<u8> {
        let start = self.target.as_ref().map(|target| {
            let FrameKind { size, color } = target.frames;
            Start { size, color, given: target.given }
        });
        let head = Head { version: VERSION.into(), params: self.params.clone(), start };
        // Plain numbers, names and options are never refused.
        let head = serde_json::to_vec(&head).unwrap_or_default();
        let mut tape = Tape::empty();
        if let Some(target) = &self.target {
            // What is written is always taken.
            let _ = target.engine.clone().record(&mut tape);
        }
        let length = (head.len() as u32).to_le_bytes();
        let rest = [&length[..], &head, &tape.written()].concat();
        [&MAGIC[..], &crc32fast::hash(&rest).to_le_bytes(), &rest].concat()
    }

    /// The tracker of a [`Tracker::snapshot`] of this version of the library, on any computer.
    ///
    /// It goes on to the same bits where the C library's `exp`, `sin` and `cos` are the same: vector instructions give
    /// the same bits at every level, but some kernels, tapers and labels ask the system for those. (Seen equal with
    /// glibc's variants for CPUs with and without FMA.)
    ///
    /// # Errors
    /// [`Error::Snapshot`](crate::Error::Snapshot) for other bytes: cut off, changed, of another version, or none of a
    /// snapshot at all; [`Error::Parameter`](crate::Error::Parameter) and [`Error::Box`](crate::Error::Box) for
    /// settings and a box that no tracker has.
    pub fn restore(bytes: &[u8]) -> Result<Self> {
        let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| unusable("it begins otherwise"))?;
        let (sum, rest) = rest.split_first_chunk().ok_or_else(|| unusable("it is cut off"))?;
        if crc32fast::hash(rest) != u32::from_le_bytes(*sum) {
            return Err(unusable("its checksum differs: bytes were lost or changed"));
        }
        let (length, rest) = rest.split_first_chunk().ok_or_else(|| unusable("it is cut off"))?;
        let length = u32::from_le_bytes(*length) as usize;
        let (head, state) = rest.split_at_checked(length).ok_or_else(|| unusable("it is cut off"))?;
        let head: serde_json::Value = serde_json::from_slice(head).map_err(|error| unusable(error.to_string()))?;
        let version = head["version"].as_str().unwrap_or("none");
        if version != VERSION {
            return Err(unusable(format!("it is of version {version}, this is {VERSION}")));
        }
        let Head { params, start, .. } = serde_json::from_value(head).map_err(|error| unusable(error.to_string()))?;
        let mut tracker = Self::new(params)?;
        let mut tape = Tape::of(state);
        if let Some(Start { size, color, given }) = start {
            let frames = FrameKind { size, color };
            let mut engine = Engine::untaught(&tracker.params, frames, given)?;
            engine.record(&mut tape)?;
            tracker.target = Some(Target { frames, given, engine });
        }
        tape.end()?;
        Ok(tracker)
    }
}
