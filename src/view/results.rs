//! Results: files to download, and the session that is saved while frames are tracked.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::state::SharedState;
use super::track::Track;
use crate::atomic_file::{free_beside, written};
use crate::cancel::{CancelToken, spawn};
use crate::error::{Error, Result};
use crate::export::{Destination, Document, Exporter, Form, FrameResult, Frames, Json, Layout};
use crate::frame::Channels;
use crate::media::annotation::files_in;
use crate::media::{Source, Span, file_name};

/// What is tracked, as documents.
pub struct Results {
    pub shared: Arc<SharedState>,
    /// The run without its targets.
    pub blank: Document,
    /// Its frames.
    pub frames: Arc<dyn Source>,
    /// Ends an export.
    pub stop: CancelToken,
}

impl Results {
    /// The labels that a page asks for: a file, or a zip of several. `pictures` says whether the frames are written too,
    /// `target` is that of a format of one target.
    ///
    /// # Errors
    /// When there is no record, no place for a temporary file, or no way to read the pictures again.
    pub fn export(&self, form: Form, layout: &Layout, pictures: bool, target: Option<u32>) -> Result<Vec<u8>> {
        let mut document = self.document();
        if let (Form::Otb, Some(target)) = (form, target) {
            let missing = self.shared.look(|state| Some(state.tracks.get(&target)?.missing(usize::MAX).next()));
            let missing = missing.ok_or_else(|| Error::parameter("target", target, "there is no such target"))?;
            // Rows end before the first frame that is still to be tracked: one of `NaN` says that the target had ended.
            let until = missing.map_or(usize::MAX, |missing| missing.at);
            document.frames.retain(|record| record.id.is_none_or(|id| id == target) && record.index < until);
        }
        if document.frames.is_empty() {
            let reason = match document.targets.is_empty() {
                true => "there is no target yet: draw a box",
                false => "the first frame of the target has not come yet: play up to it",
            };
            return Err(Error::samples(reason));
        }
        let io = |source| Error::io("a temporary folder", source);
        let folder = tempfile::tempdir().map_err(io)?;
        let path = folder.path().join(match form {
            Form::Yolo => "",
            Form::Otb | Form::Mot => "labels.txt",
            Form::Cvat => "labels.xml",
            Form::Csv => "labels.csv",
            Form::JsonLines => "labels.jsonl",
            _ => "labels.json",
        });
        document.write(form.boxes(&path.as_path().into(), layout).ok_or(Error::NotInitialized)??)?;
        if pictures {
            self.pictures(&folder.path().join("images"), &document)?;
        }
        if form == Form::Yolo || pictures { zipped(folder.path()) } else { std::fs::read(&path).map_err(io) }
    }

    /// Writes the frames that have a record as pictures.
    fn pictures(&self, folder: &Path, document: &Document) -> Result<()> {
        let refused = |reason: &str| Err(Error::output(&document.source.path, reason));
        if self.frames.info().live {
            return refused("its frames come once: save the labels without pictures");
        }
        let place = |position: usize| document.frames.binary_search_by_key(&position, |record| record.index);
        let [first, last] = [document.frames.first(), document.frames.last()].map(|end| end.map(|record| record.index));
        let span = Span { first: first.unwrap_or(1), last };
        let (run, mut bytes) = (document.run(), 0);
        let mut pictures = Frames::create(&folder.into())?;
        for item in self.frames.stream(span, Channels::Color.into(), &self.stop)? {
            self.stop.check()?;
            let Some(frame) = item.picture().filter(|_| place(item.position).is_ok()) else { continue };
            bytes += frame.width() * frame.height() / 4;
            if bytes > MAX_PICTURES {
                return refused("its pictures are too many for a page: kcf-track SRC --init-file SESSION --frames DIR");
            }
            let (path, pixels) = (item.path.as_deref(), Some(frame));
            let none = FrameResult::new(&run, &[]);
            pictures.write(&FrameResult { head: (&item).into(), path, pixels, ..none })?;
        }
        Ok(())
    }

    /// Replaces the session at `path` by what is there now, with or without targets.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::Output`] with the path; the old session stays.
    pub fn save(&self, path: &Path) -> Result<()> {
        let position = self.shared.look(|state| Some(state.status.position).filter(|position| *position > 0));
        let document = Document { position, ..self.document() };
        document.write(Box::new(Json::create(&Destination::replaced(path))?))
    }

    /// A copy of all records, so that pages and trackers do not wait for the file.
    pub fn document(&self) -> Document {
        let mut document = self.blank.clone();
        self.shared.look(|state| {
            let tracks = &state.tracks;
            document.targets = tracks.values().map(Track::target).collect();
            document.frames = tracks.values().flat_map(Track::records).cloned().collect();
            // A run is complete only if the end of the source is known.
            let is_done =
                |last| tracks.values().all(|track| track.start() <= last && track.missing(last).next().is_none());
            document.completed = state.broken.is_none() && state.status.last.is_some_and(is_done);
            document.error.clone_from(&state.broken);
            let source = &mut document.source;
            (source.width, source.height) = state.size.unwrap_or((source.width, source.height));
        });
        // A stable sort keeps the order of targets within a frame.
        document.frames.sort_by_key(|record| record.index);
        // As in the command line, a single target without a given id has none in outputs.
        document.named |= !document.targets.iter().map(|target| target.id).eq([1]);
        if !document.named {
            document.frames.iter_mut().for_each(|record| record.id = None);
        }
        document
    }
}

/// Maximum bytes of pictures that are made for a page, with about a quarter of a byte for a pixel.
const MAX_PICTURES: usize = 1 << 30;

/// The files of a folder and of the folders in it as a zip file, in the order of their names, with the time of now.
fn zipped(folder: &Path) -> Result<Vec<u8>> {
    let io = |source| Error::io("a temporary folder", source);
    let wrong = |error| io(std::io::Error::other(error));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let now = rawzip::time::UtcDateTime::from_unix(i64::try_from(now).unwrap_or_default());
    let mut zip = Vec::new();
    let mut archive = rawzip::ZipArchiveWriter::new(&mut zip);
    for place in files_in(folder, 1, &|path| !file_name(path).starts_with('.')).map_err(io)? {
        let name = place.strip_prefix(folder).unwrap_or(&place).to_string_lossy().replace('\\', "/");
        let (mut entry, config) = archive.new_file(&name).last_modified(now).start().map_err(wrong)?;
        let mut writer = config.wrap(&mut entry);
        writer.write_all(&std::fs::read(&place).map_err(io)?).map_err(io)?;
        let (_, descriptor) = writer.finish().map_err(wrong)?;
        entry.finish(descriptor).map_err(wrong)?;
    }
    archive.finish().map_err(wrong)?;
    Ok(zip)
}

/// The thread that saves a session, until the sender is dropped.
pub struct Saver(Sender<()>, JoinHandle<Result<()>>);

impl Saver {
    /// Saves at `path` from now on.
    ///
    /// # Errors
    /// A place that cannot be written to. What stands there was read as a session.
    pub fn start(path: PathBuf, results: Arc<Results>) -> Result<Self> {
        drop(Json::create(&Destination::replaced(&path))?);
        let (end, ended) = channel();
        let opened = results.shared.look(|state| state.revision());
        Ok(Self(end, spawn("session", move || autosave(&results, &path, opened, &ended))?))
    }

    /// Saves for the last time.
    pub fn finish(self) -> Result<()> {
        drop(self.0);
        self.1.join().unwrap_or_else(|_| Err(Error::io("the session", std::io::ErrorKind::Other.into())))
    }
}

/// Saves the session whenever targets have changed, and once more in the end. What stands in the file at
/// `path`, or no target if there is none, has the revision `opened`; so a view in which nothing is done writes nothing.
///
/// # Errors
/// When the last attempt fails; earlier ones are shown on the page, and repeated. A file that another program has written
/// meanwhile is kept; the session is then written beside it.
fn autosave(results: &Results, path: &Path, opened: usize, ended: &Receiver<()>) -> Result<()> {
    let shared = &results.shared;
    let (mut saved, mut due, mut ours) = (None, Instant::now(), written(path));
    // A session is saved where it was left.
    let mut left = shared.look(|state| state.left);
    loop {
        let stopping = ended.recv_timeout(SAVE_POLL) != Err(RecvTimeoutError::Timeout);
        // The run is complete only once its last frame is known.
        let (revision, last, position) =
            shared.look(|state| (state.revision(), state.status.last, state.status.position));
        let is_left = stopping && revision > 0 && position != left;
        let is_changed = revision != opened && saved != Some((revision, last)) && (stopping || Instant::now() >= due);
        if is_changed || is_left {
            let begun = Instant::now();
            let result = match written(path).is_none_or(|time| Some(time) == ours) {
                true => results.save(path).map_err(|error| error.to_string()),
                false => Err(format!("another program has written {} meanwhile", path.display())),
            };
            // A long session takes a tenth of the time at most.
            due = Instant::now() + SAVE_INTERVAL.max(begun.elapsed() * 10);
            match result {
                Ok(()) => {
                    (saved, ours, left) = (Some((revision, last)), written(path), position);
                    shared.change(|state| state.status.unsaved = None);
                }
                Err(reason) if stopping => return Err(elsewhere(results, path, &reason)),
                Err(reason) => shared.change(|state| state.status.unsaved = Some(reason)),
            }
        }
        if stopping {
            return Ok(());
        }
    }
}

/// Writes a session that cannot be saved at `path` beside it, or else into the folder for temporary files. Returns the
/// error that says so.
fn elsewhere(results: &Results, path: &Path, reason: &str) -> Error {
    let temporary = std::env::temp_dir().join(path.file_name().unwrap_or_default());
    let mut places = [path, &temporary].map(|path| free_beside(path, "unsaved")).into_iter();
    let said = match places.find(|place| results.save(place).is_ok()) {
        Some(place) => format!("the session is saved as {}", place.display()),
        None => "the session is lost".into(),
    };
    Error::evaluation(reason, said)
}

/// Minimum time between two saves.
const SAVE_INTERVAL: Duration = Duration::from_secs(2);

/// How often the session is compared with what was saved.
const SAVE_POLL: Duration = Duration::from_millis(100);
