//! Results: files to download, in the format of the exports, and JSON lines that are written while tracking.

use std::collections::BTreeMap;
use std::io::Write;

use serde_json::Value;

use super::state::{Mark, Track};
use super::state::{SharedState, ViewState};
use crate::atomic_file::replace;
use crate::bbox::BBox;
use crate::error::{Error, Result};
use crate::export::{
    Destination, Exporter, FrameRecord, FrameResult, Json, Rows, Run, SourceRecord, Summary, Tally, TargetRecord,
};
use crate::media::Span;

/// The run's data besides its records.
pub struct Results {
    /// What the source was called by.
    pub path: String,
    /// The positions of it.
    pub span: Span,
    /// All settings.
    pub parameters: Value,
    /// Whether targets have ids that a person gave them.
    pub named: bool,
}

impl Results {
    /// The JSON document.
    ///
    /// # Errors
    /// When there is no target, or no place for a temporary file.
    pub fn json(&self, shared: &SharedState) -> Result<Vec<u8>> {
        let found = self.found(shared)?;
        written(|to| Ok(Box::new(Json::create(to)?)), &found)
    }

    /// MOT-challenge text.
    ///
    /// # Errors
    /// As [`Results::json`].
    pub fn mot(&self, shared: &SharedState) -> Result<Vec<u8>> {
        let found = self.found(shared)?;
        written(|to| Ok(Box::new(Rows::mot(to)?)), &found)
    }

    /// OTB text of one target: a row for each frame from its first box to the last frame that it was followed in. It
    /// ends before a frame that is still to be followed, after a correction for instance: a row that says nothing would
    /// mean that the target is gone there.
    ///
    /// # Errors
    /// As [`Results::json`], and when there is no such target.
    pub fn otb(&self, shared: &SharedState, target: u32) -> Result<Vec<u8>> {
        let none = || Error::Parameter {
            name: "target",
            value: target.to_string(),
            expected: "there is no such target".into(),
        };
        let until = |track: &Track| track.missing(usize::MAX).map_or(usize::MAX, |(missing, _)| missing);
        let before_gap =
            |track: &Track| track.records().take_while(|record| record.index < until(track)).cloned().collect();
        let known = |state: &ViewState| state.tracks().get(&target).map(before_gap);
        let records: Vec<FrameRecord> = shared.look(known).ok_or_else(none)?;
        if records.is_empty() {
            return Err(to_come());
        }
        let mut rows: Vec<FrameRecord> = Vec::new();
        for record in records {
            // Frames in which it was gone have a row too: the text counts rows, not positions.
            while let Some(before) = rows.last().filter(|before| before.index + 1 < record.index) {
                let index = before.index + 1;
                rows.push(FrameRecord { index, bbox: BBox::new(f64::NAN, 0.0, 0.0, 0.0), ..record.clone() });
            }
            rows.push(record);
        }
        let found = Found { records: rows, ..self.found(shared)? };
        written(|to| Ok(Box::new(Rows::otb(to)?)), &found)
    }

    /// A copy of all that is known, so that pages and the tracker do not wait for the file.
    fn found(&self, shared: &SharedState) -> Result<Found> {
        let (size, targets, mut records, completed) = shared.look(|state| {
            let tracks = state.tracks();
            let targets: Vec<_> = tracks.iter().filter_map(target).collect();
            // The run is complete only if the source's end is known.
            let completed = |last| tracks.values().all(|track| track.start() <= last && track.missing(last).is_none());
            let records = in_order(tracks).into_iter().cloned().collect::<Vec<_>>();
            (state.size, targets, records, state.status.last.is_some_and(completed))
        });
        if records.is_empty() {
            return Err(match targets.is_empty() {
                true => Error::Samples { reason: "there is no target yet: draw a box".into() },
                false => to_come(),
            });
        }
        let (width, height) = size.unwrap_or_default();
        let Span { first, last } = self.span;
        let source = SourceRecord { path: self.path.clone(), start: first, end: last, width, height };
        let mut tally = Tally::default();
        let mut each: Vec<_> = targets.iter().map(|target| (target.id, Tally::default())).collect();
        let mut before = None;
        for record in &records {
            if before.replace(record.index) == Some(record.index) {
                tally.add_further(record);
            } else {
                tally.add(record);
            }
            let own = each.iter_mut().find(|(id, _)| Some(*id) == record.id);
            own.into_iter().for_each(|(_, tally)| tally.add(record));
        }
        let mut summary = Summary { completed, ..tally.completed(None) };
        // As the command line has it, which numbers an only box of `--init` 1 and does not write that.
        let alone = !self.named && targets.iter().map(|target| target.id).eq([1]);
        let run = if alone {
            records.iter_mut().for_each(|record| record.id = None);
            Run::new(source, self.parameters.clone())
        } else {
            summary.targets = each.iter().map(|(id, tally)| tally.of_target(*id)).collect();
            Run::of_many(source, self.parameters.clone(), targets)
        };
        Ok(Found { run, records, summary })
    }
}

/// Why there is nothing to be saved of a target.
fn to_come() -> Error {
    Error::Samples { reason: "the first frame of the target has not come yet: play up to it".into() }
}

/// A target as it was given first.
fn target((id, track): (&u32, &Track)) -> Option<TargetRecord> {
    track.marks().iter().find_map(|(start, mark)| match mark {
        Mark::Given(bbox) => Some(TargetRecord { id: *id, start: *start, bbox: *bbox }),
        Mark::End => None,
    })
}

/// All that an export writes.
struct Found {
    run: Run,
    records: Vec<FrameRecord>,
    summary: Summary,
}

/// What an export writes.
fn written(open: impl FnOnce(&Destination) -> Result<Box<dyn Exporter>>, found: &Found) -> Result<Vec<u8>> {
    let io = |source| Error::io("a temporary folder", source);
    let folder = tempfile::tempdir().map_err(io)?;
    let path = folder.path().join("result");
    let mut export = open(&path.as_path().into())?;
    for records in found.records.chunk_by(|a, b| a.index == b.index) {
        export.write(&FrameResult::new(&found.run, records))?;
    }
    export.finish(&found.run, &found.summary)?;
    std::fs::read(&path).map_err(io)
}

/// JSON lines of all targets, or nothing.
///
/// A line is written as soon as its frame is tracked; of a frame that is tracked anew after a correction there is one
/// more, and the last one counts. A file is put in order at the end: one line a frame and target, and none of what was
/// taken back.
#[derive(Default)]
pub struct Log {
    lines: Option<(Destination, Rows)>,
    /// Whether the file has outdated or unsorted lines.
    outdated: bool,
    /// The frame and the target of the last line.
    last: (usize, Option<u32>),
}

impl Log {
    /// Checks that `destination` can be written to.
    ///
    /// # Errors
    /// As [`Rows::json_lines`].
    pub fn create(destination: Option<Destination>) -> Result<Self> {
        let lines = destination.map(|to| Ok((to.clone(), Rows::json_lines(&to)?))).transpose()?;
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
        // The lines of a target that is added late follow later frames of the others.
        let before = std::mem::replace(&mut self.last, (record.index, record.id));
        self.outdated |= self.last < before;
        match &mut self.lines {
            Some((_, lines)) => lines.record(record),
            None => Ok(()),
        }
    }

    /// Notes that written lines are outdated.
    pub fn outdated(&mut self) {
        self.outdated = true;
    }

    /// Sorts the file if needed.
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
    // Stable: targets stay in their command within a frame.
    records.sort_by_key(|record| record.index);
    records
}
