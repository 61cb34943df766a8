//! Results: files to download, and the session that is saved while frames are tracked.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::state::{SharedState, Track, ViewState};
use crate::bbox::BBox;
use crate::cancel::CancelToken;
use crate::error::{Error, Result};
use crate::export::{Form, FrameRecord, Json, Layout, Run, SourceRecord, Summary, Tally, Yolo, write_all};

/// The run's data besides its records.
pub struct Results {
    /// The source.
    pub source: SourceRecord,
    /// All settings.
    pub parameters: Value,
    /// Whether the user gave ids.
    pub named: bool,
}

impl Results {
    /// All targets in a format of one file.
    ///
    /// # Errors
    /// When there is no record, or no place for a temporary file.
    pub fn all(&self, shared: &SharedState, form: Form) -> Result<Vec<u8>> {
        self.bytes(form, &self.some_found(shared)?)
    }

    fn bytes(&self, form: Form, found: &Found) -> Result<Vec<u8>> {
        let io = |source| Error::io("a temporary folder", source);
        let folder = tempfile::tempdir().map_err(io)?;
        let path = folder.path().join("result");
        let exporter = form.boxes(&path.as_path().into(), &Layout::of(&self.source)).ok_or_else(no_record)??;
        write_all(exporter, &found.run, &found.records, &found.summary)?;
        std::fs::read(&path).map_err(io)
    }

    /// A YOLO dataset without its pictures, as a zip file.
    ///
    /// # Errors
    /// As [`Results::all`].
    pub fn yolo(&self, shared: &SharedState) -> Result<Vec<u8>> {
        let found = self.some_found(shared)?;
        let io = |source| Error::io("a temporary folder", source);
        let zipped = |error| io(std::io::Error::other(error));
        let folder = tempfile::tempdir().map_err(io)?;
        write_all(Box::new(Yolo::create(folder.path())?), &found.run, &found.records, &found.summary)?;
        let mut zip = Vec::new();
        let mut archive = rawzip::ZipArchiveWriter::new(&mut zip);
        for part in ["", "labels"] {
            for entry in std::fs::read_dir(folder.path().join(part)).map_err(io)?.flatten() {
                let (path, name) = (entry.path(), entry.file_name());
                let Some(name) = name.to_str().filter(|name| !name.starts_with('.') && path.is_file()) else {
                    continue;
                };
                let place = if part.is_empty() { name.to_owned() } else { format!("{part}/{name}") };
                let (mut entry, config) = archive.new_file(&place).start().map_err(zipped)?;
                let mut writer = config.wrap(&mut entry);
                writer.write_all(&std::fs::read(&path).map_err(io)?).map_err(io)?;
                let (_, descriptor) = writer.finish().map_err(zipped)?;
                entry.finish(descriptor).map_err(zipped)?;
            }
        }
        archive.finish().map_err(zipped)?;
        Ok(zip)
    }

    /// Replaces the session at `path` by what is there now, with or without targets.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Output`] with the path; the old session stays.
    pub fn save(&self, shared: &SharedState, path: &Path) -> Result<()> {
        let Found { run, records, summary } = self.found(shared);
        write_all(Box::new(Json::create(&path.into())?), &run, &records, &summary)
    }

    /// OTB text of one target: a row for each frame from its first box on. It ends before the first frame that is still
    /// to be tracked, since a row of `NaN` means that the target had ended.
    ///
    /// # Errors
    /// As [`Results::all`], and when there is no such target.
    pub fn otb(&self, shared: &SharedState, target: u32) -> Result<Vec<u8>> {
        let none = || Error::parameter("target", target, "there is no such target");
        let until = |track: &Track| track.missing(usize::MAX).map_or(usize::MAX, |(missing, _)| missing);
        let before_gap =
            |track: &Track| track.records().take_while(|record| record.index < until(track)).cloned().collect();
        let known = |state: &ViewState| state.tracks.get(&target).map(before_gap);
        let records: Vec<FrameRecord> = shared.look(known).ok_or_else(none)?;
        if records.is_empty() {
            return Err(no_record());
        }
        let mut rows: Vec<FrameRecord> = Vec::new();
        for record in records {
            // A frame without the target has a row too: readers count rows.
            while let Some(before) = rows.last().filter(|before| before.index + 1 < record.index) {
                let index = before.index + 1;
                rows.push(FrameRecord { index, bbox: BBox::new(f64::NAN, 0.0, 0.0, 0.0), ..record.clone() });
            }
            rows.push(record);
        }
        self.bytes(Form::Otb, &Found { records: rows, ..self.found(shared) })
    }

    /// What was found, unless it is nothing.
    fn some_found(&self, shared: &SharedState) -> Result<Found> {
        let found = self.found(shared);
        match found.records.is_empty() {
            false => Ok(found),
            true if found.run.targets.is_empty() => {
                Err(Error::Samples { reason: "there is no target yet: draw a box".into() })
            }
            true => Err(no_record()),
        }
    }

    /// A copy of all records, so that pages and trackers do not wait for the file.
    fn found(&self, shared: &SharedState) -> Found {
        let (size, targets, mut records, completed, broken) = shared.look(|state| {
            let tracks = &state.tracks;
            let targets: Vec<_> = tracks.iter().map(|(id, track)| track.target(*id)).collect();
            // A run is complete only if the end of the source is known.
            let completed = |last| tracks.values().all(|track| track.start() <= last && track.missing(last).is_none());
            let mut records: Vec<_> = tracks.values().flat_map(Track::records).cloned().collect();
            // A stable sort keeps the order of targets within a frame.
            records.sort_by_key(|record| record.index);
            let completed = state.broken.is_none() && state.status.last.is_some_and(completed);
            (state.size, targets, records, completed, state.broken.clone())
        });
        let (width, height) = size.unwrap_or((self.source.width, self.source.height));
        let source = SourceRecord { width, height, ..self.source.clone() };
        // As in the command line, a single target without a given id has none in outputs.
        let alone = !self.named && targets.iter().map(|target| target.id).eq([1]);
        if alone {
            records.iter_mut().for_each(|record| record.id = None);
        }
        let run = Run::new(source, self.parameters.clone(), targets, !alone);
        let summary =
            Summary { completed, ..Tally::of(&records).summary(run.named_targets(), None, broken.as_deref()) };
        Found { run, records, summary }
    }
}

/// The error for targets without a record.
fn no_record() -> Error {
    Error::Samples { reason: "the first frame of the target has not come yet: play up to it".into() }
}

/// A run to be exported.
struct Found {
    run: Run,
    records: Vec<FrameRecord>,
    summary: Summary,
}

/// Saves the session whenever targets have changed, and once more when `stop` is cancelled. What stands in the file at
/// `path`, or no target if there is none, has the revision `opened`; so a view in which nothing is done writes nothing.
///
/// # Errors
/// When the last attempt fails; earlier ones are shown on the page, and repeated. A file that another program has written
/// meanwhile is kept; the session is then written beside it.
pub fn autosave(results: &Results, shared: &SharedState, path: &Path, opened: u64, stop: &CancelToken) -> Result<()> {
    let written = || std::fs::metadata(path).and_then(|file| file.modified()).ok();
    let (mut saved, mut due, mut ours) = (None, Instant::now(), written());
    loop {
        let stopping = stop.is_cancelled();
        // The run is complete only once its last frame is known.
        let now = shared.look(|state| (state.revision, state.status.last));
        if now.0 != opened && saved != Some(now) && (stopping || Instant::now() >= due) {
            let begun = Instant::now();
            let result = match written().is_none_or(|time| Some(time) == ours) {
                true => results.save(shared, path).map_err(|error| error.to_string()),
                false => Err(format!("another program has written {} meanwhile", path.display())),
            };
            // A long session takes a tenth of the time at most.
            due = Instant::now() + SAVE_INTERVAL.max(begun.elapsed() * 10);
            match result {
                Ok(()) => {
                    (saved, ours) = (Some(now), written());
                    if shared.look(|state| state.status.unsaved.is_some()) {
                        shared.change(|state| state.status.unsaved = None);
                    }
                }
                Err(reason) if stopping => return Err(elsewhere(results, shared, path, &reason)),
                Err(reason) => shared.change(|state| state.status.unsaved = Some(reason)),
            }
        }
        if stopping {
            return Ok(());
        }
        std::thread::sleep(SAVE_POLL);
    }
}

/// Writes a session that cannot be saved at `path` beside it, or else into the folder for temporary files. Returns the
/// error that says so.
fn elsewhere(results: &Results, shared: &SharedState, path: &Path, reason: &str) -> Error {
    let temporary = std::env::temp_dir().join(path.file_name().unwrap_or_default());
    let mut places = [path, &temporary].map(|path| free_beside(path, "unsaved")).into_iter();
    let said = match places.find(|place| results.save(shared, place).is_ok()) {
        Some(place) => format!("the session is saved as {}", place.display()),
        None => "the session is lost".into(),
    };
    Error::Evaluation { what: reason.into(), reason: said }
}

/// A name beside `path` that no file has: with `.why-1` or a higher number.
pub fn free_beside(path: &Path, why: &str) -> PathBuf {
    let name = |n: usize| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{why}-{n}"));
        PathBuf::from(name)
    };
    (1..).map(name).find(|name| !name.exists()).unwrap_or_default()
}

/// Minimum time between two saves.
const SAVE_INTERVAL: Duration = Duration::from_secs(2);

/// How often the session is compared with what was saved.
const SAVE_POLL: Duration = Duration::from_millis(100);
