//! Trackers over the sequences of a dataset, several at a time. Every finished run is stored at once, so an interrupted
//! evaluation resumes.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use rayon::iter::{ParallelBridge, ParallelIterator};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::dataset::{Dataset, LabelledSequence, file_name};
use super::metrics::Toolkit;
use super::protocols::{Protocol, Start};
use super::results::ResultFiles;
use crate::atomic_file;
use crate::bbox::BBox;
use crate::error::{Error, Result};
use crate::frame::Channels;
use crate::media::{Images, Item, decode};
use crate::run::{Cause, Follower, Halt, Outcome, Session, Step};
use crate::settings::text_of;
use crate::tracker::{Params, Tracker};

/// A kind of tracker that an evaluation runs.
pub trait Runner: Send + Sync {
    /// The name in reports and of the folder of its runs.
    fn name(&self) -> &str;

    /// All parameters, for the report. Stored runs with other parameters are computed again.
    fn parameters(&self) -> serde_json::Value;

    /// Whether the boxes depend on nothing but [`Runner::parameters`]. If not, stored runs are never used again.
    fn is_described(&self) -> bool {
        true
    }

    /// A new tracker without a target.
    ///
    /// # Errors
    /// When the parameters are invalid.
    fn begin(&self) -> Result<Box<dyn Follower>>;

    /// The channels that it needs of a frame.
    fn channels(&self) -> Channels {
        Channels::Luma
    }
}

impl std::fmt::Debug for dyn Runner + '_ {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runner").field("name", &self.name()).finish_non_exhaustive()
    }
}

/// Our own [`Tracker`] with a name and settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Preset {
    name: String,
    preset: String,
    params: Params,
}

impl Preset {
    /// The tracker of a preset.
    ///
    /// # Errors
    /// [`Error::Parameter`] for an unknown name.
    pub fn named(name: &str) -> Result<Self> {
        Self::changed(name, Params::preset(name)?)
    }

    /// A tracker with changed settings of `preset`. The name lists the changes: `paper+svm`, `fast+padding=2`.
    ///
    /// # Errors
    /// [`Error::Parameter`] for settings out of range.
    pub fn changed(preset: &str, params: Params) -> Result<Self> {
        params.check()?;
        let base = Params::preset(preset).unwrap_or_default();
        let mut name = preset.to_owned();
        if params.search.detector() != base.search.detector() {
            name += &format!("+{}", params.search.detector());
        }
        match &params.guard {
            Some(guard) if base.guard.is_none() => name += &format!("+guard-{}", guard.windows.machine.kind()),
            _ => {}
        }
        // The detector and the guard are named above, with what they bring.
        let detector = params.search.detector() != base.search.detector();
        let is_named =
            |path: &str| detector && path.starts_with("search") || base.guard.is_none() && path.starts_with("guard");
        let known = base.values();
        for (path, value) in params.changes(&base).into_iter().filter(|(path, _)| !is_named(path)) {
            let part = changed_part(&path, &text_of(&value), &known);
            if !name.contains(&part) {
                name += &part;
            }
        }
        Ok(Self { name, preset: preset.to_owned(), params })
    }
}

/// A change as part of a name: `+padding=2.0`, or `+kernel=linear` where `known` has another branch of `kernel`.
fn changed_part(path: &str, value: &str, known: &[(String, Value)]) -> String {
    let is_known = |path: &str| {
        known.iter().any(|(known, _)| known.strip_prefix(path).is_some_and(|r| r.is_empty() || r.starts_with('.')))
    };
    let (mut path, mut value) = (path, value);
    while let Some((parent, branch)) = path.rsplit_once('.').filter(|_| !is_known(path)) {
        (path, value) = (parent, branch);
    }
    format!("+{}={value}", path.rsplit('.').next().unwrap_or(path))
}

impl Runner for Preset {
    fn name(&self) -> &str {
        &self.name
    }

    fn parameters(&self) -> serde_json::Value {
        self.params.document(&self.preset)
    }

    fn begin(&self) -> Result<Box<dyn Follower>> {
        Ok(Box::new(Tracker::new(self.params.clone())?))
    }

    fn channels(&self) -> Channels {
        self.params.channels()
    }
}

/// The boxes of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// Where the run starts.
    pub start: Start,
    /// One box per frame, 0-based; the first is the initial one.
    pub boxes: Vec<BBox>,
    /// Time of each frame without decoding, in microseconds.
    pub micros: Vec<u32>,
}

/// Runs `runner` from each of `starts` to the end of `frames` in one pass, so twenty starts cost one decoding.
fn run_sequence(
    runner: &dyn Runner,
    name: &str,
    starts: &[Start],
    frames: impl Iterator<Item = Item>,
    tick: &dyn Fn(),
) -> Result<Vec<Trace>> {
    let mut session = Session::default();
    let failed = |target: usize, position: usize, error: &Error| Error::Evaluation {
        what: format!(
            "{name}, {}, run from frame {}, at frame {position}",
            runner.name(),
            starts.get(target).map_or(0, |start| start.frame + 1)
        ),
        reason: error.to_string(),
    };
    for (target, start) in starts.iter().enumerate() {
        let follower = runner.begin().map_err(|error| failed(target, start.frame + 1, &error))?;
        session.add(follower, start.frame + 1, start.init);
    }
    let mut traces: Vec<Trace> =
        starts.iter().map(|&start| Trace { start, boxes: Vec::new(), micros: Vec::new() }).collect();
    let ended = session.run(frames, &mut |step: &Step<'_, _>| {
        for outcome in step.outcomes {
            let Outcome { target, bbox, took, .. } = *outcome;
            if ![bbox.x, bbox.y, bbox.w, bbox.h].iter().all(|v| v.is_finite()) {
                let error = Error::Box { bbox, reason: "the tracker's box is not finite".into() };
                return Err(failed(target, step.item.position, &error));
            }
            traces[target].boxes.push(bbox);
            traces[target].micros.push(u32::try_from(took.as_micros()).unwrap_or(u32::MAX));
        }
        tick();
        Ok(())
    });
    match ended {
        Ok(_) => Ok(traces),
        Err(Halt { position, cause: Cause::Target { target, error }, .. }) => Err(failed(target, position, &error)),
        Err(Halt { cause: Cause::Frame(error) | Cause::Watch(error), .. }) => Err(error),
    }
}

/// Trackers and published results over a dataset.
#[derive(Debug)]
pub struct Evaluation {
    /// The labelled sequences.
    pub dataset: Dataset,
    /// Trackers to run.
    pub runners: Vec<Box<dyn Runner>>,
    /// Trackers whose boxes are read from files.
    pub results: Vec<ResultFiles>,
    /// Where runs start.
    pub protocol: Protocol,
    /// Whose rules the scores follow.
    pub toolkit: Toolkit,
}

/// The progress of [`Evaluation::run`].
#[derive(Debug)]
pub enum Event<'a> {
    /// Sent once, before the first frame.
    Planned {
        /// Frames of all runs.
        frames: u64,
        /// Frames of runs that are already stored.
        done: u64,
    },
    /// A frame is tracked.
    Frame,
    /// A tracker has finished a sequence.
    Finished {
        /// The tracker.
        tracker: &'a str,
        /// The sequence.
        sequence: &'a str,
    },
    /// A tracker has failed on a sequence.
    Failed {
        /// The tracker.
        tracker: &'a str,
        /// The sequence.
        sequence: &'a str,
        /// The error.
        reason: &'a str,
    },
    /// A stored run cannot be used, with the reason, and is computed again.
    Again(&'a str),
}

impl Evaluation {
    /// Checks that the settings fit together.
    ///
    /// # Errors
    /// [`Error::Parameter`] for results with another protocol than one-pass: their files hold one run.
    pub fn check(&self) -> Result<()> {
        match self.results.first() {
            Some(files) if self.protocol != Protocol::Ope => Err(Error::Parameter {
                name: "results",
                value: files.name.clone(),
                expected: format!("--protocol ope, not {}: result files hold one run per sequence", self.protocol),
            }),
            _ => Ok(()),
        }
    }

    /// Runs every tracker on every sequence, `jobs` at a time, and stores each run. Stored runs are kept, failed ones
    /// are tried again. A failure does not stop the others.
    ///
    /// # Errors
    /// As [`Evaluation::check`], and when runs cannot be stored or threads cannot be started.
    pub fn run(&self, store: &Store, jobs: usize, watch: &(dyn Fn(Event<'_>) + Sync)) -> Result<()> {
        self.check()?;
        let (mut frames, mut done) = (0, 0);
        let mut todo = Vec::new();
        for sequence in &self.dataset.sequences {
            // The report names a sequence without a start.
            let Ok(starts) = self.starts(sequence) else { continue };
            for runner in &self.runners {
                let key = self.key(runner.as_ref(), sequence, &starts);
                frames += sequence.frames.len() as u64;
                match store.load(&key) {
                    Stored::Runs(_) if runner.is_described() => {
                        done += sequence.frames.len() as u64;
                        continue;
                    }
                    Stored::Runs(_) | Stored::Absent | Stored::Failed(_) => {}
                    Stored::Unusable(reason) => watch(Event::Again(&reason)),
                }
                todo.push((runner.as_ref(), sequence, key));
            }
        }
        watch(Event::Planned { frames, done });
        // The longest first, so that no thread starts a long one when the others have finished.
        todo.sort_by_key(|(_, sequence, key)| std::cmp::Reverse(sequence.frames.len() * key.starts.len()));
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(jobs.max(1))
            .build()
            .map_err(|e| Error::Evaluation { what: format!("{jobs} jobs"), reason: e.to_string() })?;
        // A bridge keeps this order; a parallel slice does not.
        pool.install(|| {
            todo.iter().par_bridge().try_for_each(|(runner, sequence, key)| {
                let (tracker, name) = (runner.name(), sequence.name.as_str());
                let frames = Images::new((1..).zip(sequence.frames.iter().cloned()).collect(), runner.channels());
                match run_sequence(*runner, name, &key.starts, frames, &|| watch(Event::Frame)) {
                    Ok(traces) => {
                        store.save(key, &traces)?;
                        watch(Event::Finished { tracker, sequence: name });
                    }
                    Err(error) => {
                        let reason = error.to_string();
                        store.save_failure(key, &reason)?;
                        watch(Event::Failed { tracker, sequence: name, reason: &reason });
                    }
                }
                Ok(())
            })
        })
    }

    /// The stored runs of `runner` on `sequence`.
    pub fn traces(&self, store: &Store, runner: &dyn Runner, sequence: &LabelledSequence) -> Option<Vec<Trace>> {
        let starts = self.starts(sequence).ok()?;
        match store.load(&self.key(runner, sequence, &starts)) {
            Stored::Runs(traces) => Some(traces),
            _ => None,
        }
    }

    pub(super) fn starts(&self, sequence: &LabelledSequence) -> Result<Vec<Start>> {
        let (width, height) = match (self.protocol, sequence.frames.first()) {
            // Only SRE clips boxes to the image.
            (Protocol::Sre, Some(path)) => {
                let frame = decode(path, Channels::Luma)?;
                (frame.as_frame().width(), frame.as_frame().height())
            }
            _ => (0, 0),
        };
        self.protocol.starts(&sequence.truth, width, height)
    }

    pub(super) fn key(&self, runner: &dyn Runner, sequence: &LabelledSequence, starts: &[Start]) -> RunKey {
        RunKey {
            version: env!("CARGO_PKG_VERSION").into(),
            tracker: runner.name().into(),
            parameters: runner.parameters(),
            sequence: sequence.name.clone(),
            frames: sequence.frames.len(),
            checksum: checksum(&sequence.frames),
            protocol: self.protocol,
            starts: starts.to_vec(),
        }
    }
}

/// What determines some runs. Stored runs are used only if all of it is the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RunKey {
    version: String,
    tracker: String,
    parameters: serde_json::Value,
    sequence: String,
    frames: usize,
    checksum: u32,
    protocol: Protocol,
    /// The starts stand for the labels.
    starts: Vec<Start>,
}

/// A checksum of paths, sizes and times of image files, and of the bytes of the first and the last.
fn checksum(files: &[PathBuf]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    for file in files {
        let absolute = std::path::absolute(file).unwrap_or_else(|_| file.clone());
        hasher.update(absolute.as_os_str().as_encoded_bytes());
        hasher.update(&[0]);
        let metadata = fs::metadata(file).ok();
        hasher.update(&metadata.as_ref().map_or(0, fs::Metadata::len).to_le_bytes());
        let changed = metadata.and_then(|file| file.modified().ok()?.duration_since(UNIX_EPOCH).ok());
        hasher.update(&changed.map_or(0, |since| since.as_nanos()).to_le_bytes());
    }
    for file in files.first().into_iter().chain(files.last()) {
        hasher.update(&fs::read(file).unwrap_or_default());
    }
    hasher.finalize()
}

#[derive(Serialize, Deserialize)]
struct RunFile {
    schema: String,
    key: RunKey,
    runs: Vec<Trace>,
    /// The error, when the runs failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failed: Option<String>,
}

const SCHEMA: &str = "kcf-track-runs/3";

/// The folder `runs/` of an evaluation: one file per tracker and sequence.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
}

/// The state of some runs in a [`Store`].
#[derive(Debug, PartialEq)]
pub(super) enum Stored {
    Runs(Vec<Trace>),
    Failed(String),
    Absent,
    Unusable(String),
}

impl Store {
    /// The store in the folder of an evaluation.
    pub fn in_folder(out: &Path) -> Self {
        Self { root: out.join("runs") }
    }

    fn path(&self, key: &RunKey) -> PathBuf {
        let tracker = self.root.join(key.protocol.name()).join(file_name(&key.tracker));
        tracker.join(format!("{}.json", file_name(&key.sequence)))
    }

    pub(super) fn load(&self, key: &RunKey) -> Stored {
        let path = self.path(key);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Stored::Absent,
            Err(error) => return Stored::Unusable(format!("{}: {error}", path.display())),
        };
        let complete = |runs: &[Trace]| {
            runs.len() == key.starts.len()
                && runs.iter().zip(&key.starts).all(|(run, start)| {
                    run.start == *start
                        && run.boxes.len() == key.frames.saturating_sub(start.frame)
                        && run.micros.len() == run.boxes.len()
                })
        };
        let unusable = |reason: &str| Stored::Unusable(format!("{}: {reason}", path.display()));
        match serde_json::from_slice::<RunFile>(&bytes) {
            Err(error) => unusable(&error.to_string()),
            Ok(file) if file.schema != SCHEMA => unusable("written by another version"),
            Ok(file) if file.key != *key => unusable("made from other frames, labels, parameters or another version"),
            Ok(RunFile { failed: Some(reason), .. }) => Stored::Failed(reason),
            Ok(file) if !complete(&file.runs) => unusable("incomplete"),
            Ok(file) => Stored::Runs(file.runs),
        }
    }

    fn save(&self, key: &RunKey, runs: &[Trace]) -> Result<()> {
        self.write(RunFile { schema: SCHEMA.into(), key: key.clone(), runs: runs.to_vec(), failed: None })
    }

    fn save_failure(&self, key: &RunKey, reason: &str) -> Result<()> {
        self.write(RunFile { schema: SCHEMA.into(), key: key.clone(), runs: Vec::new(), failed: Some(reason.into()) })
    }

    fn write(&self, file: RunFile) -> Result<()> {
        let path = self.path(&file.key);
        let text = serde_json::to_vec(&file).map_err(|e| Error::io(&path, e.into()))?;
        atomic_file::write(&path, &text)
    }
}

#[cfg(test)]
mod tests;
