//! Evaluations of presets, of trackers in Python and of published boxes.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kcf_track::cancel::CancelToken;
use kcf_track::eval::{About, Dataset, Evaluation, Event, Preset, ResultFiles, Runner, write_report};
use kcf_track::run::Follower;
use kcf_track::{BBox, Channels, Error, Estimate, Evidence, Frame, PixelFormat, State};
use numpy::{IntoPyArray, PyArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};
use serde_json::{Value, json};

use crate::error::{Raise, interruptible};
use crate::estimate::box4;
use crate::settings::{self, UInt};
use crate::tracker::read_box;

/// Runs trackers over the sequences in ``data`` and gives the report and the timings as JSON.
///
/// ``presets`` are pairs of a preset and its settings, ``others`` pairs of a name and a factory of objects with ``init``
/// and ``update``. ``folder`` keeps the runs; ``progress`` is called with the numbers of frames done and in all.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "called by name, by one function of Python")]
#[pyo3(signature = (data, folder, *, presets, others, results, sequences, protocol, toolkit, jobs, baseline, allow_short, command, progress))]
pub fn evaluate(
    py: Python<'_>,
    data: PathBuf,
    folder: PathBuf,
    presets: Vec<(String, Bound<'_, PyDict>)>,
    others: Vec<(String, Py<PyAny>)>,
    results: Vec<(String, PathBuf)>,
    sequences: Vec<String>,
    protocol: &str,
    toolkit: &str,
    jobs: UInt,
    baseline: Option<String>,
    allow_short: bool,
    command: String,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let jobs = jobs.threads(py, "jobs")?;
    let cancel = CancelToken::default();
    let mut runners: Vec<Box<dyn Runner>> = Vec::new();
    for (preset, keywords) in &presets {
        let resolved = settings::resolve(py, preset, Some(keywords))?;
        runners.push(Box::new(Preset::changed(&resolved.preset, resolved.params).or_raise(py)?));
    }
    for (name, factory) in others {
        runners.push(Box::new(PyRunner { name, factory }));
    }
    let read = |(name, place): &(String, PathBuf)| {
        ResultFiles::open(name, place).map(|files| files.allowing_short(allow_short))
    };
    let evaluation = Evaluation {
        dataset: py.detach(|| Dataset::open(&data, &sequences, None)).or_raise(py)?,
        runners,
        results: results.iter().map(read).collect::<kcf_track::Result<_>>().or_raise(py)?,
        baseline,
        protocol: protocol.parse().or_raise(py)?,
        toolkit: toolkit.parse().or_raise(py)?,
    };
    let counts = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
    let counted = Arc::clone(&counts);
    let watch = move |event: Event<'_>| match event {
        Event::Planned { frames, done } => {
            counted[0].store(done, Ordering::Relaxed);
            counted[1].store(frames, Ordering::Relaxed);
        }
        Event::Frame => {
            counted[0].fetch_add(1, Ordering::Relaxed);
        }
        _ => {}
    };
    let show = |py: Python<'_>| -> PyResult<()> {
        let [done, all] = [0, 1].map(|i| counts[i].load(Ordering::Relaxed));
        progress.iter().try_for_each(|progress| progress.call1(py, (done, all)).map(drop))
    };
    let poll = |py: Python<'_>| py.check_signals().and_then(|()| show(py));
    let token = cancel.clone();
    let work = move || {
        let evaluated = evaluation.run(&folder, jobs, &token, &watch)?;
        write_report(&evaluation, &evaluated, &About::now(command, &data), &folder)?;
        Ok(evaluated)
    };
    let evaluated = interruptible(py, &cancel, Duration::from_secs(5), poll, work)?.or_raise(py)?;
    show(py)?;
    Ok(json!({ "report": evaluated.report, "timings": evaluated.timings }).to_string())
}

/// A factory of Python objects with `init(frame, box)` and `update(frame)`. The latter gives a box, or `ok, box` as in
/// OpenCV. Frames are blue, green, red.
struct PyRunner {
    name: String,
    factory: Py<PyAny>,
}

impl Runner for PyRunner {
    fn name(&self) -> &str {
        &self.name
    }

    fn parameters(&self) -> Value {
        Value::Null
    }

    fn begin(&self) -> kcf_track::Result<Box<dyn Follower>> {
        let tracker = Python::attach(|py| self.factory.call0(py)).map_err(|error| failed(&self.name, &error))?;
        Ok(Box::new(PyTracker { name: self.name.clone(), tracker, last: BBox::default() }))
    }

    fn has_states(&self) -> bool {
        false
    }

    fn channels(&self) -> Channels {
        Channels::Color
    }
}

struct PyTracker {
    name: String,
    tracker: Py<PyAny>,
    last: BBox,
}

impl PyTracker {
    fn estimate(&mut self, bbox: BBox, state: State) -> Estimate {
        self.last = bbox;
        Estimate { bbox, polygon: None, state, evidence: Evidence::default() }
    }
}

impl Follower for PyTracker {
    fn init(&mut self, frame: &Frame<'_>, bbox: BBox) -> kcf_track::Result<Estimate> {
        let call = |py: Python<'_>| {
            let (tracker, image) = (self.tracker.bind(py), bgr(py, frame)?);
            let result = match tracker.call_method1("init", (&image, box4(bbox))) {
                // OpenCV's trackers refuse floats.
                Err(error) if is_type_error(py, &error) => tracker.call_method1("init", (&image, rounded(bbox)))?,
                result => result?,
            };
            // OpenCV's older trackers (`cv2.legacy`) return False instead of raising.
            match result.cast::<PyBool>() {
                Ok(ok) if !ok.is_true() => Err(PyValueError::new_err("`init` returned False")),
                _ => Ok(()),
            }
        };
        Python::attach(call).map_err(|error| failed(&self.name, &error))?;
        Ok(self.estimate(bbox, State::Initial))
    }

    fn update(&mut self, frame: &Frame<'_>) -> kcf_track::Result<Estimate> {
        let call = |py: Python<'_>| {
            let result = self.tracker.call_method1(py, "update", (bgr(py, frame)?,))?.into_bound(py);
            match result.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>() {
                Ok((ok, bbox)) if ok.is_truthy()? => read_box(&bbox),
                // OpenCV's box of a lost target is all zero.
                Ok(_) => Ok(self.last),
                Err(_) => read_box(&result),
            }
        };
        let bbox = Python::attach(call).map_err(|error| failed(&self.name, &error))?;
        Ok(self.estimate(bbox, State::Tracking))
    }
}

fn failed(name: &str, error: &PyErr) -> Error {
    Error::Evaluation { what: name.into(), reason: error.to_string() }
}

/// Whether arguments have wrong types: a `TypeError`, or OpenCV's one kind of error.
fn is_type_error(py: Python<'_>, error: &PyErr) -> bool {
    let is_opencv = || error.get_type(py).getattr("__module__").is_ok_and(|name| name.eq("cv2").unwrap_or(false));
    error.is_instance_of::<PyTypeError>(py) || is_opencv()
}

/// The nearest box of integers.
fn rounded(bbox: BBox) -> (i64, i64, i64, i64) {
    let round = |number: f64| number.round() as i64;
    (round(bbox.x), round(bbox.y), round(bbox.w).max(1), round(bbox.h).max(1))
}

/// The frame as an array of OpenCV.
fn bgr<'py>(py: Python<'py>, frame: &Frame<'_>) -> PyResult<Bound<'py, PyAny>> {
    let mut bytes = Vec::with_capacity(frame.width() * frame.height() * 3);
    for y in 0..frame.height() {
        let pixels = frame.row(y).chunks_exact(frame.format().bytes());
        match frame.format() {
            PixelFormat::Gray8 => bytes.extend(pixels.flat_map(|p| [p[0]; 3])),
            PixelFormat::Rgb8 | PixelFormat::Rgba8 => bytes.extend(pixels.flat_map(|p| [p[2], p[1], p[0]])),
            PixelFormat::Bgr8 | PixelFormat::Bgra8 => bytes.extend(pixels.flat_map(|p| [p[0], p[1], p[2]])),
        }
    }
    Ok(bytes.into_pyarray(py).reshape([frame.height(), frame.width(), 3])?.into_any())
}
