//! Runs of the program, for `python -m kcf_track`.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use kcf_track::export::Destination;
use kcf_track::job::{
    self, BoxFormat, Failure, Form, Frames, Given, Opening, Outputs, Plan, Position, Targets, Watcher,
};
use kcf_track::media::{Demand, Prefetch, VideoOptions};
use kcf_track::tracker::settings::{Changes, Wording};
use kcf_track::{Evidence, Params, Tracker};
use pyo3::prelude::*;

/// How often Python is asked whether somebody wants the run to end, and told how far it is.
const ASK_EVERY: Duration = Duration::from_millis(100);

/// What the command line says, as words.
#[derive(FromPyObject)]
pub struct Asked {
    source: PathBuf,
    init: Vec<String>,
    init_format: Option<String>,
    init_file: Option<PathBuf>,
    start: Option<String>,
    end: Option<String>,
    truth: Option<PathBuf>,
    target: Option<u32>,
    skip_bad_frames: bool,
    timeout: f64,
    jobs: Option<usize>,
    stagger: bool,
    profile: bool,
    preset: String,
    /// Flags of settings, without dashes, and their values.
    flags: Vec<(String, String)>,
    set: Vec<String>,
    machine: Vec<String>,
    /// Flags of outputs, without dashes, and their places.
    outputs: Vec<(String, PathBuf)>,
    out: Vec<PathBuf>,
    inset: bool,
}

/// Follows what `asked` (with an attribute for each flag of the program) says, and tells `watcher`: `begin(first words,
/// warnings, frames)`, `frame(frames done)`, `warn(text)`, `profile(table)`.
///
/// Given back is the exit code, and what there is to be said in the end: the summary, or what is wrong. An exception of
/// a signal's handler ends the run; its files are complete then.
#[pyfunction]
pub fn follow(py: Python<'_>, asked: Asked, watcher: Py<PyAny>) -> PyResult<(u8, String)> {
    let watching = Watching { watcher, raised: Mutex::new(None), looked: Mutex::new(Instant::now()) };
    let ended = py.detach(|| run(&asked, &watching));
    if let Some(raised) = watching.raised.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(raised);
    }
    Ok(match ended {
        Ok(said) => (0, said),
        Err(Failure::ReaderGone) => (0, String::new()),
        Err(Failure::Usage(said)) => (2, said),
        Err(failure) => (1, failure.reason().to_owned()),
    })
}

/// Words of the command line, where numbers that follow an `--init` or `-i` each on its own become one.
#[pyfunction]
pub fn joined(words: Vec<std::ffi::OsString>) -> Vec<std::ffi::OsString> {
    job::joined(words)
}

fn run(asked: &Asked, watching: &Watching) -> Result<String, Failure> {
    let params = settings(asked)?;
    let tracker = Tracker::new(params.clone())?;
    asked.jobs.map_or(Ok(()), job::start_threads)?;
    let init = asked.init.iter().map(|text| read::<Given>("init <X,Y,W,H>", text)).collect::<Result<Vec<_>, _>>()?;
    let format = asked.init_format.as_deref().map(str::parse::<BoxFormat>).transpose().map_err(Failure::Usage)?;
    let wanted = Targets::read(&init, format, asked.init_file.as_deref())?;
    let opening = Opening {
        path: asked.source.clone(),
        flag: "",
        truth: asked.truth.clone(),
        target: asked.target,
        video: VideoOptions {
            lenient: asked.skip_bad_frames,
            patience: job::seconds(asked.timeout)?,
            ..VideoOptions::default()
        },
        by_truth: wanted.is_empty(),
        hint: |_: &Path| None,
    };
    let (source, mut warnings) = opening.open_unless(|| watching.asks())?;
    let source = source.as_ref();
    let position =
        |flag: &str, text: &Option<String>| text.as_ref().map(|text| read::<Position>(flag, text)).transpose();
    let (start, end) = (position("start <N|TIME>", &asked.start)?, position("end <N|TIME>", &asked.end)?);
    let span = job::span(source, start, end, wanted.first())?;
    let targets = wanted.within(span, source)?;
    warnings.extend(job::oddities(source, &targets));
    warnings.extend(job::left_out(source, span, &wanted, (start, end)));
    let outputs = outputs(asked, wanted.named)?;
    warnings.extend(outputs.odd_ids(&targets));
    outputs.spare("--init-file", asked.init_file.as_deref())?;
    let exports = outputs.open(source, asked.inset)?;
    let total = job::expected(source, span);
    watching.tell("begin", (job::first_words(&asked.preset, &params), warnings, total));
    let started = Instant::now();
    let demand = Demand { channels: params.channels(), color: exports.draw() };
    let frames = Prefetch::open(source, outputs.to_be_read(source, span), demand)?;
    let plan = Plan {
        source,
        path: asked.source.to_string_lossy().into(),
        span,
        started: start.is_some(),
        targets,
        named: wanted.named,
        given: !wanted.is_empty(),
        tracker: &tracker,
        parameters: params.document(&asked.preset),
        skip_bad_frames: asked.skip_bad_frames,
        parallel: asked.jobs.is_none_or(|jobs| jobs > 1),
        stagger: asked.stagger,
        profile: asked.profile,
    };
    let frames = Frames { first: None, frames, source, asked: || watching.asks() };
    let done = plan.run(exports, frames, &mut Watched { watching, done: 0 });
    let profile = done.profile;
    let summary = done.summary()?;
    if asked.profile {
        watching.tell("profile", (profile.table(summary.frames as u64),));
    }
    let has_start = !wanted.named && source.true_box(span.first).is_some();
    let mut said = job::last_words(source.name(), &summary, started.elapsed(), has_start);
    if outputs.is_empty() {
        said += job::NEXT;
    }
    Ok(said)
}

/// What stands behind a flag, in the words that clap has for what it is not.
fn read<T: std::str::FromStr<Err = String>>(flag: &str, text: &str) -> Result<T, Failure> {
    text.parse().map_err(|said| Failure::Usage(format!("invalid value '{text}' for '--{flag}': {said}")))
}

fn settings(asked: &Asked) -> Result<Params, Failure> {
    let mut params = Params::named(&asked.preset)?;
    let mut changes = Changes::new(Wording::Flags);
    for (flag, text) in &asked.flags {
        changes.flag(flag, text);
    }
    asked.set.iter().try_for_each(|pair| changes.path_pair(pair)).map_err(Failure::Usage)?;
    asked.machine.iter().try_for_each(|pair| changes.machine_pair(pair)).map_err(Failure::Usage)?;
    changes.apply(&mut params).map_err(Failure::Usage)?;
    params.check()?;
    Ok(params)
}

fn outputs(asked: &Asked, several: bool) -> Result<Outputs, Failure> {
    let named = asked.outputs.iter().filter_map(|(flag, path)| {
        let form = Form::ALL.into_iter().find(|form| form.flag() == flag)?;
        Some((form, Destination::from(path.as_path())))
    });
    // Nothing here draws: the package bears no fonts.
    Outputs::new(named, &asked.out, several, None)
}

/// Python, which looks on.
struct Watching {
    watcher: Py<PyAny>,
    /// What ends the run.
    raised: Mutex<Option<PyErr>>,
    looked: Mutex<Instant>,
}

impl Watching {
    /// Calls a method of whoever looks on.
    fn tell<A: for<'py> pyo3::call::PyCallArgs<'py>>(&self, method: &str, said: A) {
        Python::attach(|py| {
            let told = self.watcher.call_method1(py, method, said);
            told.map_or_else(|error| self.keep(error), drop);
        });
    }

    fn keep(&self, error: PyErr) {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// Whether it is time to ask Python something.
    fn is_time(&self) -> bool {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        let is_time = looked.elapsed() >= ASK_EVERY;
        if is_time {
            *looked = Instant::now();
        }
        is_time
    }

    /// Whether a signal has come; its handler runs here.
    fn asks(&self) -> bool {
        Python::attach(|py| py.check_signals()).unwrap_or_else(|error| self.keep(error));
        self.ended()
    }

    fn ended(&self) -> bool {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

/// The same, counting frames.
struct Watched<'a> {
    watching: &'a Watching,
    done: usize,
}

impl Watcher for Watched<'_> {
    fn asked(&mut self) -> bool {
        self.watching.ended()
    }

    fn frame(&mut self, _: Option<&Evidence>) {
        self.done += 1;
        if self.watching.is_time() && !self.watching.asks() {
            self.watching.tell("frame", (self.done,));
        }
    }

    fn warn(&mut self, warning: &str) {
        self.watching.tell("warn", (warning.to_owned(),));
    }
}
