//! A tracker over one sequence, and the file that keeps its runs, so that an interrupted evaluation resumes.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::dataset::{LabelledSequence, safe_file_name};
use super::protocols::{Protocol, Start};
use crate::atomic_file;
use crate::bbox::BBox;
use crate::error::{Error, Result};
use crate::frame::Channels;
use crate::media::Item;
use crate::run::{Cause, Follower, Halt, Outcome, Session, Step};
use crate::settings::text_of;
use crate::tracker::{Params, State, Tracker};

/// A kind of tracker that an evaluation runs.
pub trait Runner: Send + Sync {
    /// The name in reports and of the folder of its runs.
    fn name(&self) -> &str;

    /// All parameters, for the report. Stored runs with other parameters are computed again. Null if parameters do not
    /// determine the boxes; stored runs are then never used.
    fn parameters(&self) -> Value;

    /// A new tracker without a target.
    ///
    /// # Errors
    /// When the parameters are invalid.
    fn begin(&self) -> Result<Box<dyn Follower>>;

    /// Whether its estimates have states that are scored.
    fn has_states(&self) -> bool {
        true
    }

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
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Preset {
    name: String,
    preset: String,
    params: Params,
}

impl Preset {
    /// The tracker of a preset.
    ///
    /// # Errors
    /// [`Error::Setting`] for an unknown name.
    pub fn named(name: &str) -> Result<Self> {
        Self::changed(name, Params::preset(name)?)
    }

    /// A tracker with changed settings of `preset`. The name lists the changes: `paper+svm`, `fast+padding=2`.
    ///
    /// # Errors
    /// [`Error::Setting`] for an unknown preset and for settings out of range.
    pub fn changed(preset: &str, params: Params) -> Result<Self> {
        params.check()?;
        let base = Params::preset(preset)?;
        // The parts of a new detector or guard: their settings are not listed again.
        let (detector, mut name) = (params.search.detector(), preset.to_owned());
        let is_other = detector != base.search.detector();
        if is_other {
            name += &format!("+{detector}");
        }
        if let (Some(guard), None) = (&params.guard, &base.guard) {
            name += &format!("+guard-{}", guard.windows.machine.kind());
        }
        // The name leaves out the network's folder.
        let is_named = |path: &str| {
            is_other && path.starts_with("search")
                || base.guard.is_none() && path.starts_with("guard")
                || path.ends_with(".model")
        };
        let known = base.values();
        let changes = params.changes(&base).into_iter().filter(|(path, _)| !is_named(path));
        let mut parts: Vec<_> = changes.map(|(path, value)| changed_part(&path, &text_of(&value), &known)).collect();
        // A new branch may have several values.
        parts.dedup();
        Ok(Self { name: name + &parts.concat(), preset: preset.to_owned(), params })
    }

    /// Renames the tracker.
    pub fn renamed(self, name: &str) -> Self {
        Self { name: name.into(), ..self }
    }
}

/// A change as part of a name: `+padding=2.0`, or `+kernel=linear` where `known` has another branch of `kernel`; with
/// the whole path where `known` has several of this name.
fn changed_part(path: &str, value: &str, known: &[(String, Value)]) -> String {
    let is_known = |path: &str| {
        known.iter().any(|(known, _)| known.strip_prefix(path).is_some_and(|r| r.is_empty() || r.starts_with('.')))
    };
    let (mut path, mut value) = (path, value);
    while let Some((parent, branch)) = path.rsplit_once('.').filter(|_| !is_known(path)) {
        (path, value) = (parent, branch);
    }
    let last = path.rsplit('.').next().unwrap_or(path);
    let is_one = known.iter().filter(|(known, _)| known.rsplit('.').next() == Some(last)).count() < 2;
    format!("+{}={value}", if is_one { last } else { path })
}

impl Runner for Preset {
    fn name(&self) -> &str {
        &self.name
    }

    fn parameters(&self) -> Value {
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
pub(crate) struct Trace {
    /// The start of the run.
    pub start: Start,
    /// One box per frame, 0-based; the first is the initial one.
    pub boxes: Vec<BBox>,
    /// Time of each frame without decoding, in microseconds; empty when other runs took place beside this.
    pub micros: Vec<u32>,
    /// State of each frame; empty for a tracker without states.
    pub states: Vec<State>,
    /// Confidence of each frame; as long as `states`.
    pub confidence: Vec<Option<f32>>,
}

impl Trace {
    /// A run of boxes alone.
    pub fn of_boxes(start: Start, boxes: Vec<BBox>) -> Self {
        Self { start, boxes, micros: Vec::new(), states: Vec::new(), confidence: Vec::new() }
    }
}

/// Runs `runner` from each of `starts` to the end of `frames` in one pass, so twenty starts cost one decoding.
pub(super) fn run_sequence(
    runner: &dyn Runner,
    name: &str,
    starts: &[Start],
    frames: impl Iterator<Item = Item>,
    tick: &dyn Fn() -> Result<()>,
) -> Result<Vec<Trace>> {
    let mut session = Session::default();
    let failed = |target: usize, position: usize, error: &Error| {
        Error::evaluation(
            format!(
                "{name}, {}, run from frame {}, at frame {position}",
                runner.name(),
                starts.get(target - 1).map_or(0, |start| start.frame + 1)
            ),
            error.to_string(),
        )
    };
    for (target, start) in (1..).zip(starts) {
        let follower = runner.begin().map_err(|error| failed(target, start.frame + 1, &error))?;
        session.add(follower, start.frame + 1, start.init);
    }
    let mut traces: Vec<Trace> = starts.iter().map(|&start| Trace::of_boxes(start, Vec::new())).collect();
    let ended = session.run(frames, &mut |step: &Step<'_, _>| {
        for outcome in step.outcomes {
            let Outcome { target, bbox, took, estimate } = *outcome;
            if !bbox.is_finite() {
                let error = Error::Box { bbox, reason: "the tracker's box is not finite".into() };
                return Err(failed(target, step.item.position, &error));
            }
            traces[target - 1].boxes.push(bbox);
            traces[target - 1].micros.push(u32::try_from(took.as_micros()).unwrap_or(u32::MAX));
            if let Some(estimate) = estimate.filter(|_| runner.has_states()) {
                traces[target - 1].states.push(estimate.state);
                traces[target - 1].confidence.push(estimate.evidence.confidence);
            }
        }
        tick()
    });
    match ended {
        Ok(_) => Ok(traces),
        Err(Halt { position, cause: Cause::Target { target, error }, .. }) => Err(failed(target, position, &error)),
        Err(Halt { cause: Cause::Frame(error) | Cause::Watch(error), .. }) => Err(error),
    }
}

/// All that determines the runs of a tracker on a sequence. Stored runs are used only if their key is the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RunKey {
    version: String,
    tracker: String,
    parameters: Value,
    sequence: String,
    frames: usize,
    checksum: u32,
    protocol: Protocol,
    /// The starts stand for the labels.
    pub starts: Vec<Start>,
}

/// The file of the runs of a tracker on a sequence.
#[derive(Serialize, Deserialize)]
struct RunFile {
    schema: String,
    key: RunKey,
    runs: Vec<Trace>,
}

const SCHEMA: &str = "kcf-track-runs/5";

impl RunKey {
    pub fn new(runner: &dyn Runner, sequence: &LabelledSequence, protocol: Protocol, starts: &[Start]) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").into(),
            tracker: runner.name().into(),
            parameters: runner.parameters(),
            sequence: sequence.name.clone(),
            frames: sequence.frames.len(),
            checksum: checksum(&sequence.frames),
            protocol,
            starts: starts.to_vec(),
        }
    }

    fn path(&self, folder: &Path) -> PathBuf {
        let tracker = folder.join("runs").join(self.protocol.to_string()).join(safe_file_name(&self.tracker));
        tracker.join(format!("{}.json", safe_file_name(&self.sequence)))
    }

    /// The runs stored in the folder of an evaluation, if there are any, or why they cannot be used.
    pub fn load(&self, folder: &Path) -> Result<Option<Vec<Trace>>, String> {
        let path = self.path(folder);
        if self.parameters.is_null() || !path.exists() {
            return Ok(None);
        }
        let unusable = |reason: &str| format!("{}: {reason}", path.display());
        let bytes = crate::pipe::read(&path).map_err(|error| unusable(&error.to_string()))?;
        match serde_json::from_slice::<RunFile>(&bytes) {
            Err(error) => Err(unusable(&error.to_string())),
            Ok(file) if file.schema != SCHEMA => Err(unusable("written by another version")),
            Ok(file) if file.key != *self => {
                Err(unusable("made from other frames, labels, parameters or another version"))
            }
            Ok(file) => Ok(Some(file.runs)),
        }
    }

    pub fn save(&self, folder: &Path, runs: &[Trace]) -> Result<()> {
        let file = RunFile { schema: SCHEMA.into(), key: self.clone(), runs: runs.to_vec() };
        let path = self.path(folder);
        let text = serde_json::to_vec(&file).map_err(|e| Error::io(&path, e.into()))?;
        atomic_file::write(&path, &text)
    }
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
