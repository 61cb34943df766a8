//! Results: files to download, and the session that is saved while frames are tracked.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use super::state::SharedState;
use super::track::Track;
use crate::bbox::BBox;
use crate::cancel::CancelToken;
use crate::error::{Error, Result};
use crate::export::{
    Destination, Exporter, Form, FrameRecord, FrameResult, Frames, Json, Layout, Run, SourceRecord, Summary, Tally,
    write_all,
};
use crate::frame::Channels;
use crate::media::{Source, Span};

/// The run's data besides its records.
pub struct Results {
    /// The source.
    pub source: SourceRecord,
    /// Its frames.
    pub frames: Arc<dyn Source>,
    /// Ends an export.
    pub stop: CancelToken,
    /// All settings.
    pub parameters: Value,
    /// Whether the user gave ids.
    pub named: bool,
}

impl Results {
    /// The labels that a page asks for: a file, or a zip of several.
    ///
    /// # Errors
    /// When there is no record, no place for a temporary file, or no way to read the pictures again.
    pub fn export(&self, shared: &SharedState, wanted: &Wanted) -> Result<Vec<u8>> {
        let found = match (wanted.form, wanted.target) {
            (Form::Otb, Some(target)) => self.otb(shared, target)?,
            _ => self.some_found(shared)?,
        };
        let io = |source| Error::io("a temporary folder", source);
        let folder = tempfile::tempdir().map_err(io)?;
        let file = folder.path().join(wanted.file);
        // COCO names a picture of each frame, whether it is written or not: its readers ask for one.
        let with_frames = wanted.form == Form::Coco;
        let Wanted { tolerance, turned, .. } = *wanted;
        let layout = Layout { tolerance, turned, with_frames, ..Layout::of(&self.source) };
        let is_folder = wanted.form == Form::Yolo;
        let path = if is_folder { folder.path() } else { &file };
        let exporter = wanted.form.boxes(&path.into(), &layout).ok_or_else(no_record)??;
        write_all(exporter, &found.run, &found.records, &found.summary)?;
        if wanted.pictures {
            self.pictures(&folder.path().join("images"), &found)?;
        }
        if is_folder || wanted.pictures { zipped(folder.path()) } else { std::fs::read(&file).map_err(io) }
    }

    /// Writes the frames that have a record as pictures.
    fn pictures(&self, folder: &Path, found: &Found) -> Result<()> {
        let path = || self.source.path.clone().into();
        let refused = |reason: &str| Err(Error::Output { path: path(), reason: reason.into() });
        if self.frames.info().live {
            return refused("its frames come once: save the labels without pictures");
        }
        let shown: BTreeSet<usize> = found.records.iter().map(|record| record.index).collect();
        let (Some(&first), last) = (shown.first(), shown.last().copied()) else { return Err(no_record()) };
        let mut pictures = Frames::create(&folder.into())?;
        let mut bytes = 0;
        for item in self.frames.stream(Span { first, last }, Channels::Color.into(), &self.stop)? {
            self.stop.check()?;
            let Some(frame) = item.picture().filter(|_| shown.contains(&item.position)) else { continue };
            bytes += frame.width() * frame.height() / 4;
            if bytes > MAX_PICTURES {
                return refused("its pictures are too many for a page: kcf-track SRC --init-file SESSION --frames DIR");
            }
            let (path, pixels) = (item.path.as_deref(), Some(frame));
            let none = FrameResult::new(&found.run, &[]);
            pictures.write(&FrameResult { index: item.position, file: &item.name, path, pixels, ..none })?;
        }
        Ok(())
    }

    /// Replaces the session at `path` by what is there now, with or without targets.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Output`] with the path; the old session stays.
    pub fn save(&self, shared: &SharedState, path: &Path) -> Result<()> {
        let Found { run, records, summary } = self.found(shared);
        let position = shared.look(|state| Some(state.status.position).filter(|position| *position > 0));
        let run = Run { position, ..run };
        write_all(Box::new(Json::create(&Destination::replaced(path))?), &run, &records, &summary)
    }

    /// One target for OTB: a row for each frame from its first box on. It ends before the first frame that is still to be
    /// tracked, since a row of `NaN` means that the target had ended.
    fn otb(&self, shared: &SharedState, target: u32) -> Result<Found> {
        let found = self.found(shared);
        let until = shared.look(|state| {
            let track = state.tracks.get(&target)?;
            Some(track.missing(usize::MAX).next().map_or(usize::MAX, |missing| missing.at))
        });
        let until = until.ok_or_else(|| Error::parameter("target", target, "there is no such target"))?;
        let mut rows: Vec<FrameRecord> = Vec::new();
        for record in found.records.iter().filter(|record| record.id.is_none_or(|id| id == target)) {
            // A frame without the target has a row too: readers count rows.
            while let Some(before) = rows.last().filter(|before| before.index + 1 < record.index.min(until)) {
                let index = before.index + 1;
                rows.push(FrameRecord { index, bbox: BBox::new(f64::NAN, 0.0, 0.0, 0.0), ..record.clone() });
            }
            rows.extend((record.index < until).then(|| record.clone()));
        }
        if rows.is_empty() { Err(no_record()) } else { Ok(Found { records: rows, ..found }) }
    }

    /// The records of all targets; an error if there are none.
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
            let completed =
                |last| tracks.values().all(|track| track.start() <= last && track.missing(last).next().is_none());
            let mut records: Vec<_> = tracks.values().flat_map(Track::records).cloned().collect();
            // A stable sort keeps the order of targets within a frame.
            records.sort_by_key(|record| record.index);
            let completed = state.broken.is_none() && state.status.last.is_some_and(completed);
            (state.size, targets, records, completed, state.broken.clone())
        });
        let (width, height) = size.unwrap_or((self.source.width, self.source.height));
        let source = SourceRecord { width, height, ..self.source.clone() };
        // A single target without a given id has none in outputs, as in the command line.
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

/// The labels that a page asks for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    pub form: Form,
    /// The name of the file.
    pub file: &'static str,
    /// Pixels by which interpolated frames may differ.
    pub tolerance: f64,
    /// Whether CVAT and Label Studio get turned boxes.
    pub turned: bool,
    /// Whether the frames are written too.
    pub pictures: bool,
    /// The target of a format of one target.
    pub target: Option<u32>,
}

/// Maximum bytes of pictures that are made for a page, with about a quarter of a byte for a pixel.
const MAX_PICTURES: usize = 1 << 30;

/// The files of a folder and of the folders in it as a zip file, in the order of their names, with the time of now.
fn zipped(folder: &Path) -> Result<Vec<u8>> {
    let io = |source| Error::io("a temporary folder", source);
    let wrong = |error| io(std::io::Error::other(error));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let now = rawzip::time::UtcDateTime::from_unix(i64::try_from(now).unwrap_or_default());
    let (mut files, mut folders) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(inner) = folders.pop() {
        for entry in std::fs::read_dir(folder.join(&inner)).map_err(io)?.flatten() {
            let place = inner.join(entry.file_name());
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            if entry.path().is_dir() { folders.push(place) } else { files.extend((!is_hidden).then_some(place)) }
        }
    }
    files.sort();
    let mut zip = Vec::new();
    let mut archive = rawzip::ZipArchiveWriter::new(&mut zip);
    for place in files {
        let name = place.to_string_lossy().replace('\\', "/");
        let (mut entry, config) = archive.new_file(&name).last_modified(now).start().map_err(wrong)?;
        let mut writer = config.wrap(&mut entry);
        writer.write_all(&std::fs::read(folder.join(&place)).map_err(io)?).map_err(io)?;
        let (_, descriptor) = writer.finish().map_err(wrong)?;
        entry.finish(descriptor).map_err(wrong)?;
    }
    archive.finish().map_err(wrong)?;
    Ok(zip)
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
    // A session is saved where it was left.
    let mut left = shared.look(|state| state.left);
    loop {
        let stopping = stop.is_cancelled();
        // The run is complete only once its last frame is known.
        let now = shared.look(|state| (state.revision, state.status.last));
        let position = shared.look(|state| state.status.position);
        let is_left = stopping && now.0 > 0 && position != left;
        let is_changed = now.0 != opened && saved != Some(now) && (stopping || Instant::now() >= due);
        if is_changed || is_left {
            let begun = Instant::now();
            let result = match written().is_none_or(|time| Some(time) == ours) {
                true => results.save(shared, path).map_err(|error| error.to_string()),
                false => Err(format!("another program has written {} meanwhile", path.display())),
            };
            // A long session takes a tenth of the time at most.
            due = Instant::now() + SAVE_INTERVAL.max(begun.elapsed() * 10);
            match result {
                Ok(()) => {
                    (saved, ours, left) = (Some(now), written(), position);
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
