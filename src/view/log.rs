//! What was found, written as it is found.

use std::collections::BTreeMap;
use std::io::Write;

use super::track::Track;
use crate::atomic_file::replace;
use crate::error::{Error, Result};
use crate::export::{Destination, Export, FrameRecord, FrameView, JsonLines};

/// JSON lines of all targets, or nothing.
///
/// A line is written as soon as its frame is tracked; of a frame that is tracked anew after a correction there is one
/// more, and the last one counts. A file is put in order at the end: one line a frame and target, and none of what was
/// taken back.
#[derive(Default)]
pub struct Log {
    lines: Option<(Destination, JsonLines)>,
    /// Whether a line was written that counts no more, or one behind a line that comes after it in order.
    outdated: bool,
    /// The frame and the target of the last line.
    last: (usize, Option<u32>),
}

impl Log {
    /// Checks that `destination` can be written to.
    ///
    /// # Errors
    /// As [`JsonLines::create`].
    pub fn create(destination: Option<Destination>) -> Result<Self> {
        let lines = destination.map(|to| Ok((to.clone(), JsonLines::create(&to)?))).transpose()?;
        Ok(Self { lines, ..Self::default() })
    }

    /// Whether anything is written.
    pub fn is_open(&self) -> bool {
        self.lines.is_some()
    }

    /// Writes what was found of a target.
    ///
    /// # Errors
    /// [`Error::Io`] with the path.
    pub fn write(&mut self, record: &FrameRecord) -> Result<()> {
        // A target that is added late is caught up with: its lines come behind later frames of the others.
        let before = std::mem::replace(&mut self.last, (record.index, record.id));
        self.outdated |= self.last < before;
        match &mut self.lines {
            Some((_, lines)) => lines.frame(record, &FrameView::default()),
            None => Ok(()),
        }
    }

    /// Notes that lines were written that count no more.
    pub fn outdated(&mut self) {
        self.outdated = true;
    }

    /// Puts a file in order, if need be.
    ///
    /// # Errors
    /// [`Error::Io`] with the path; the lines that were written before are kept.
    pub fn finish(&self, tracks: &BTreeMap<u32, Track>) -> Result<()> {
        let Some((Destination::File(path), _)) = self.lines.as_ref().filter(|_| self.outdated) else { return Ok(()) };
        if !path.is_file() {
            return Ok(());
        }
        let io = |source| Error::io(path, source);
        let path = path.canonicalize().map_err(io)?;
        let write = |file: &mut dyn Write| {
            for record in in_order(tracks) {
                serde_json::to_writer(&mut *file, record)?;
                file.write_all(b"\n")?;
            }
            Ok(())
        };
        replace(&path, |file| write(file)).map_err(|source| Error::io(&path, source))
    }
}

/// All records, by frame and in it by target.
pub fn in_order(tracks: &BTreeMap<u32, Track>) -> Vec<&FrameRecord> {
    let mut records: Vec<_> = tracks.values().flat_map(Track::records).collect();
    // Stable: targets stay in their order within a frame.
    records.sort_by_key(|record| record.index);
    records
}
