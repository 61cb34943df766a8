//! Evaluations: trackers of ours, of Python and published boxes over a benchmark's sequences.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use kcf_track::Error;
use kcf_track::eval::dataset::Dataset;
use kcf_track::eval::evaluation::{Evaluation, Event, RunOptions};
use kcf_track::eval::preset::Preset;
use kcf_track::eval::results::ResultFiles;
use kcf_track::eval::runner::Runner;
use kcf_track::eval::store::Store;
use kcf_track::Channels;
use kcf_track::run::Follower;
use kcf_track::tracker::{Estimate, ResponseMap};
use kcf_track::{BBox, Frame};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};

use crate::error::{Raise, exception};
use crate::guest::Guest;
use crate::settings;
use crate::whole::Whole;

/// How often Python is asked whether somebody pressed Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(100);

/// A tracker that can be told to stop, at its next frame.
struct Stoppable {
    inner: Box<dyn Runner>,
    stop: Arc<AtomicBool>,
}

struct Stopping {
    inner: Box<dyn Follower>,
    stop: Arc<AtomicBool>,
}

impl Runner for Stoppable {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn parameters(&self) -> Value {
        self.inner.parameters()
    }

    fn is_described(&self) -> bool {
        self.inner.is_described()
    }

    fn begin(&self) -> kcf_track::Result<Box<dyn Follower>> {
        Ok(Box::new(Stopping { inner: self.inner.begin()?, stop: self.stop.clone() }))
    }

    fn channels(&self) -> Channels {
        self.inner.channels()
    }
}

impl Stopping {
    fn check(&self) -> kcf_track::Result<()> {
        match self.stop.load(Ordering::Relaxed) {
            false => Ok(()),
            true => Err(Error::Evaluation { what: "run".into(), reason: "interrupted".into() }),
        }
    }
}

impl Follower for Stopping {
    fn init(&mut self, frame: &Frame<'_>, bbox: BBox) -> kcf_track::Result<Estimate> {
        self.check()?;
        self.inner.init(frame, bbox)
    }

    fn update(&mut self, frame: &Frame<'_>) -> kcf_track::Result<Estimate> {
        self.check()?;
        self.inner.update(frame)
    }

    fn response(&self) -> Option<ResponseMap<'_>> {
        self.inner.response()
    }
}

/// Runs trackers over the sequences in ``data`` and gives the report and the timings as JSON.
///
/// ``trackers`` are pairs of a name (None for one made of the preset and what was changed) and a preset with its
/// settings, or a factory of objects with ``init`` and ``update``. ``folder`` keeps the runs; ``progress`` is called
/// with the frames done and in all.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "called by name, by one function of Python")]
#[pyo3(signature = (data, folder, *, presets, guests, results, sequences, protocol, toolkit, jobs, progress))]
pub fn evaluate(
    py: Python<'_>,
    data: PathBuf,
    folder: PathBuf,
    presets: Vec<(String, Bound<'_, PyDict>)>,
    guests: Vec<(String, Py<PyAny>)>,
    results: Vec<(String, PathBuf)>,
    sequences: Vec<String>,
    protocol: &str,
    toolkit: &str,
    jobs: Whole,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let jobs = settings::threads(py, "jobs", jobs)?;
    let stop = Arc::new(AtomicBool::new(false));
    let mut runners: Vec<Box<dyn Runner>> = Vec::new();
    for (preset, keywords) in &presets {
        let chosen = settings::resolve(py, preset, Some(keywords))?;
        runners.push(Box::new(Preset::changed(&chosen.preset, chosen.params).or_raise(py)?));
    }
    for (name, factory) in guests {
        runners.push(Box::new(Guest::new(name, factory)));
    }
    let mut names: Vec<&str> = runners.iter().map(|runner| runner.name()).collect();
    names.extend(results.iter().map(|(name, _)| name.as_str()));
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(exception(py, "EvaluationError", format!("two trackers are called {}", pair[0])));
    }
    let stoppable = |inner| Box::new(Stoppable { inner, stop: stop.clone() }) as Box<dyn Runner>;
    let read = |(name, place): &(String, PathBuf)| ResultFiles::open(name, place);
    let evaluation = Evaluation {
        dataset: py.detach(|| Dataset::open(&data, &sequences)).or_raise(py)?,
        runners: runners.into_iter().map(stoppable).collect(),
        results: results.iter().map(read).collect::<kcf_track::Result<_>>().or_raise(py)?,
        protocol: protocol.parse().or_raise(py)?,
        toolkit: toolkit.parse().or_raise(py)?,
    };
    let store = Store::in_folder(&folder);
    py.detach(|| run(&evaluation, &store, jobs, &stop, progress.as_ref()))?;
    let evaluated = py.detach(|| evaluation.report(&store)).or_raise(py)?;
    Ok(json!({ "report": evaluated.report, "timings": evaluated.timings }).to_string())
}

/// Runs all trackers on threads of their own while this one waits, shows how far they are, and hears Ctrl-C.
fn run(
    evaluation: &Evaluation,
    store: &Store,
    jobs: usize,
    stop: &AtomicBool,
    progress: Option<&Py<PyAny>>,
) -> PyResult<()> {
    let (done, all) = (AtomicU64::new(0), AtomicU64::new(0));
    let watch = |event: Event<'_>| match event {
        Event::Planned { frames, done: before } => {
            all.store(frames, Ordering::Relaxed);
            done.store(before, Ordering::Relaxed);
        }
        Event::Frame => {
            done.fetch_add(1, Ordering::Relaxed);
        }
        _ => {}
    };
    let said = |py: Python<'_>| -> PyResult<()> {
        py.check_signals()?;
        if let Some(progress) = progress {
            progress.call1(py, (done.load(Ordering::Relaxed), all.load(Ordering::Relaxed)))?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let (ended, end) = mpsc::channel();
        let watch = &watch;
        scope.spawn(move || {
            // A receiver that is gone has heard enough.
            let _ = ended.send(evaluation.run(store, &RunOptions { jobs, shard: None }, watch));
        });
        let mut interrupted = None;
        loop {
            match end.recv_timeout(PATIENCE) {
                Ok(result) => {
                    let said = interrupted.map_or_else(|| Python::attach(said), Err);
                    return said.and_then(|()| Python::attach(|py| result.or_raise(py)));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Python::attach(|py| exception(py, "StateError", "the evaluation broke off".into())));
                }
                Err(RecvTimeoutError::Timeout) if interrupted.is_some() => {}
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(error) = Python::attach(said) {
                        stop.store(true, Ordering::Relaxed);
                        interrupted = Some(error);
                    }
                }
            }
        }
    })
}
