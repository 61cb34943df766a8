//! Trackers that are Python objects, for evaluations.

use kcf_track::eval::runner::Runner;
use kcf_track::Channels;
use kcf_track::run::Follower;
use kcf_track::tracker::{Estimate, Evidence, State};
use kcf_track::{BBox, Error, Frame, PixelFormat};
use numpy::{IntoPyArray, PyArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBool;
use serde_json::Value;

use crate::estimate::box4;
use crate::tracker::read_box;

/// A factory of Python objects with `init(frame, box)` and `update(frame)`, which gives a box, or `ok, box` as OpenCV
/// does. Frames are blue, green, red. Boxes are of floats, or of ints for an `init` that refuses these, as OpenCV's do.
pub struct Guest {
    name: String,
    factory: Py<PyAny>,
}

impl Guest {
    /// A tracker by its name and what makes one.
    pub fn new(name: String, factory: Py<PyAny>) -> Self {
        Self { name, factory }
    }

    fn failed(&self, error: &PyErr) -> Error {
        Error::Evaluation { what: self.name.clone(), reason: error.to_string() }
    }
}

impl Runner for Guest {
    fn name(&self) -> &str {
        &self.name
    }

    fn parameters(&self) -> Value {
        Value::Null
    }

    fn is_described(&self) -> bool {
        false
    }

    fn begin(&self) -> kcf_track::Result<Box<dyn Follower>> {
        let made = Python::attach(|py| self.factory.call0(py)).map_err(|error| self.failed(&error))?;
        Ok(Box::new(Following { name: self.name.clone(), tracker: made, last: BBox::default() }))
    }

    fn channels(&self) -> Channels {
        Channels::Color
    }
}

struct Following {
    name: String,
    tracker: Py<PyAny>,
    last: BBox,
}

impl Following {
    /// Lets Python do something; what it raises ends the run of this sequence.
    fn ask(&self, work: impl FnOnce(Python<'_>) -> PyResult<BBox>) -> kcf_track::Result<BBox> {
        Python::attach(work).map_err(|error| Error::Evaluation { what: self.name.clone(), reason: error.to_string() })
    }

    fn say(&mut self, bbox: BBox, state: State) -> Estimate {
        self.last = bbox;
        Estimate { bbox, polygon: None, state, evidence: Evidence::default() }
    }
}

impl Follower for Following {
    fn init(&mut self, frame: &Frame<'_>, bbox: BBox) -> kcf_track::Result<Estimate> {
        self.ask(|py| {
            let (tracker, image) = (self.tracker.bind(py), bgr(py, frame)?);
            let said = match tracker.call_method1("init", (&image, box4(bbox))) {
                // What is said of whole pixels counts: of floats OpenCV says nothing but that they are none.
                Err(error) if is_of_types(py, &error) => tracker.call_method1("init", (&image, whole(bbox)))?,
                said => said?,
            };
            // OpenCV's older trackers (`cv2.legacy`) raise nothing.
            match said.cast::<PyBool>() {
                Ok(began) if !began.is_true() => Err(PyValueError::new_err("`init` gave False")),
                _ => Ok(bbox),
            }
        })?;
        Ok(self.say(bbox, State::Initial))
    }

    fn update(&mut self, frame: &Frame<'_>) -> kcf_track::Result<Estimate> {
        let bbox = self.ask(|py| {
            let said = self.tracker.call_method1(py, "update", (bgr(py, frame)?,))?.into_bound(py);
            match said.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>() {
                Ok((ok, bbox)) if ok.is_truthy()? => read_box(&bbox),
                // OpenCV's box of a lost target is all zero: the last one stands for it.
                Ok(_) => Ok(self.last),
                Err(_) => read_box(&said),
            }
        })?;
        Ok(self.say(bbox, State::Tracking))
    }
}

/// Whether arguments were refused for their types: a `TypeError`, or OpenCV's one kind of error.
fn is_of_types(py: Python<'_>, error: &PyErr) -> bool {
    let of_opencv = || error.get_type(py).getattr("__module__").is_ok_and(|name| name.eq("cv2").unwrap_or(false));
    error.is_instance_of::<PyTypeError>(py) || of_opencv()
}

/// The nearest box of whole pixels.
fn whole(bbox: BBox) -> (i64, i64, i64, i64) {
    let near = |number: f64| number.round() as i64;
    (near(bbox.x), near(bbox.y), near(bbox.w).max(1), near(bbox.h).max(1))
}

/// The frame as OpenCV has it.
fn bgr<'py>(py: Python<'py>, frame: &Frame<'_>) -> PyResult<Bound<'py, PyAny>> {
    let mut bytes = Vec::with_capacity(frame.width() * frame.height() * 3);
    for y in 0..frame.height() {
        let row = frame.row(y);
        match frame.format() {
            PixelFormat::Gray8 => bytes.extend(row.iter().flat_map(|&v| [v; 3])),
            PixelFormat::Rgb8 | PixelFormat::Rgba8 => {
                bytes.extend(row.chunks_exact(frame.format().bytes()).flat_map(|p| [p[2], p[1], p[0]]));
            }
            PixelFormat::Bgr8 | PixelFormat::Bgra8 => {
                bytes.extend(row.chunks_exact(frame.format().bytes()).flat_map(|p| [p[0], p[1], p[2]]));
            }
        }
    }
    Ok(bytes.into_pyarray(py).reshape([frame.height(), frame.width(), 3])?.into_any())
}
