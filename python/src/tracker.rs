//! One target: `kcf_track.Tracker`.

use std::ffi::CString;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kcf_track::{BBox, Frame, State};
use numpy::{IntoPyArray, PyArray2};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::error::{Raise, exception, try_lock, wrong_type};
use crate::estimate::{Box4, Estimate, is_seen};
use crate::pixels::{Order, Pixels};
use crate::saved;
use crate::settings::{self, Resolved};

/// Follows one target: takes a box in the first frame, gives a box and its reliability in every later one.
///
/// Frames are arrays of uint8: gray (height, width), or colour (height, width, channels) with three or four channels,
/// blue first as in OpenCV, or red first with ``order="rgb"``. Row strides are free; other layouts are copied. Boxes are
/// left, top (0-based), width, height in pixels.
///
/// ``preset`` is one of ``kcf_track.presets()``. Keywords change it: ``detector``, ``guard``, ``feature``, ``kernel``,
/// ``scale`` and other settings of the detector, such as ``padding``; ``settings={path: value}`` sets any path of
/// ``tracker.settings``, ``machine={name: value}`` the machine of the guard or detector.
///
/// ``integer=True`` gives boxes of whole numbers, as OpenCV's trackers do; what is followed stays exact.
///
/// A tracker belongs to one thread at a time: a second one gets a StateError. Other Python threads run meanwhile.
/// ``pickle`` and ``to_bytes`` keep what it has learned.
///
/// Examples:
///     >>> import kcf_track, numpy
///     >>> frame = numpy.random.default_rng(0).integers(0, 255, (48, 64), numpy.uint8)
///     >>> tracker = kcf_track.Tracker("paper", kernel="linear", padding=2)
///     >>> tracker.init(frame, (20, 10, 16, 16))
///     >>> ok, box = tracker.update(numpy.roll(frame, 4, axis=1))
///     >>> ok, [round(number) for number in box]
///     (True, [24, 10, 16, 16])
#[pyclass(frozen, module = "kcf_track")]
pub struct Tracker {
    resolved: Resolved,
    order: Order,
    /// Whether boxes are whole numbers.
    integer: bool,
    inner: Mutex<kcf_track::Tracker>,
    /// The last estimate, readable during an update.
    last: Mutex<Option<kcf_track::Estimate>>,
}

impl Tracker {
    fn shown(&self, estimate: kcf_track::Estimate) -> Shown {
        let BBox { x, y, w, h } = estimate.bbox;
        match self.integer {
            true => Shown::Whole((x.round() as i64, y.round() as i64, w.round() as i64, h.round() as i64)),
            false => Shown::Exact((x, y, w, h)),
        }
    }

    /// # Errors
    /// `StateError` while another thread has it.
    fn lock(&self) -> PyResult<MutexGuard<'_, kcf_track::Tracker>> {
        try_lock(&self.inner, "tracker")
    }

    fn keep(&self, estimate: kcf_track::Estimate) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(estimate);
    }

    fn last(&self) -> Option<kcf_track::Estimate> {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A box in exact or in whole numbers, as the tracker was asked for.
#[derive(IntoPyObject)]
enum Shown {
    #[pyo3(transparent)]
    Exact(Box4),
    #[pyo3(transparent)]
    Whole((i64, i64, i64, i64)),
}

/// Name of a saved tracker, and the values that the library does not save.
const SAVED: &str = "Python tracker";
type Saved = (String, String, bool, Vec<u8>, Option<kcf_track::Estimate>);

#[pymethods]
impl Tracker {
    #[new]
    #[pyo3(signature = (preset = "robust", *, order = "bgr", integer = false, **settings))]
    fn new(
        py: Python<'_>,
        preset: &str,
        order: &str,
        integer: bool,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let resolved = settings::resolve(py, preset, settings)?;
        let inner = Mutex::new(kcf_track::Tracker::new(resolved.params.clone()).or_raise(py)?);
        Ok(Self { resolved, order: order_of(py, order)?, integer, inner, last: Mutex::new(None) })
    }

    /// The tracker with all that it has learned, as bytes for ``from_bytes``.
    ///
    /// Raises FormatError for detectors with a network or a machine over windows, and for a guard.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.lock()?.to_bytes().or_raise(py)?;
        let (preset, order) = (self.resolved.preset.clone(), self.order.name().to_owned());
        let saved: Saved = (preset, order, self.integer, bytes, self.last());
        saved::write(py, SAVED, &saved)
    }

    /// The tracker of ``to_bytes``, which continues with equal results.
    ///
    /// Raises FormatError for bytes of something else or
    /// of another version, and for those that were cut or changed.
    ///
    /// Examples:
    ///     >>> import kcf_track, numpy
    ///     >>> frame = numpy.random.default_rng(0).integers(0, 255, (48, 64), numpy.uint8)
    ///     >>> tracker = kcf_track.Tracker("paper")
    ///     >>> tracker.init(frame, (20, 10, 16, 16))
    ///     >>> kcf_track.Tracker.from_bytes(tracker.to_bytes()).update(frame) == tracker.update(frame)
    ///     True
    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        let (preset, order, integer, bytes, last): Saved = saved::read(py, SAVED, data)?;
        let inner = py.detach(|| kcf_track::Tracker::from_bytes(&bytes)).or_raise(py)?;
        let resolved = Resolved { preset, params: inner.params().clone() };
        let (order, inner) = (order_of(py, &order)?, Mutex::new(inner));
        Ok(Self { resolved, order, integer, inner, last: Mutex::new(last) })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((slf.getattr("from_bytes")?, (slf.get().to_bytes(slf.py())?,)))
    }

    /// OpenCV's name for ``confidence``: 1 for the box that was given, NaN where there is none.
    #[pyo3(name = "getTrackingScore")]
    fn tracking_score(&self, py: Python<'_>) -> PyResult<f32> {
        let last = self.last().ok_or(kcf_track::Error::NotInitialized).or_raise(py)?;
        let given = (last.state == State::Initial).then_some(1.0);
        Ok(last.evidence.confidence.or(given).unwrap_or(f32::NAN))
    }

    /// Learns the target in ``box`` (left, top, width, height, or two corners with ``format="xyxy"``; it may reach over
    /// the border), in place of an earlier one.
    ///
    /// Raises BoxError for a box that cannot be tracked, FrameError for a wrong shape, TypeError for another dtype than
    /// uint8. An error keeps the earlier target.
    ///
    /// Examples:
    ///     >>> import kcf_track, numpy
    ///     >>> frame = numpy.random.default_rng(0).integers(0, 255, (48, 64, 3), numpy.uint8)
    ///     >>> tracker = kcf_track.Tracker()
    ///     >>> tracker.init(frame, (20, 10, 16, 16))
    ///     >>> tracker.box
    ///     (20.0, 10.0, 16.0, 16.0)
    #[pyo3(signature = (frame, r#box, *, format = "xywh"))]
    fn init(&self, py: Python<'_>, frame: &Bound<'_, PyAny>, r#box: &Bound<'_, PyAny>, format: &str) -> PyResult<()> {
        let pixels = Pixels::of(frame, self.order)?;
        let (frame, bbox) = (pixels.frame()?, read_box_as(r#box, format)?);
        warn_of_small(py, &frame, bbox)?;
        let mut held = self.lock()?;
        let inner = &mut *held;
        let estimate = py.detach(|| inner.init(frame, bbox)).or_raise(py)?;
        self.keep(estimate);
        Ok(())
    }

    /// Finds the target in the next frame and updates the model: ``ok, (left, top, width, height)``.
    ///
    /// ``ok`` is False exactly when the state is ``occluded`` or ``lost``; the box is then the last guess.
    ///
    /// Raises NotInitializedError before ``init``, FrameError for a frame of another size than the first one. Neither
    /// changes the tracker.
    ///
    /// Examples:
    ///     >>> import kcf_track, numpy
    ///     >>> frame = numpy.random.default_rng(0).integers(0, 255, (48, 64), numpy.uint8)
    ///     >>> tracker = kcf_track.Tracker("fast")
    ///     >>> tracker.init(frame, (20, 10, 16, 16))
    ///     >>> ok, box = tracker.update(frame)
    ///     >>> ok, tracker.state
    ///     (True, 'tracking')
    fn update(&self, py: Python<'_>, frame: &Bound<'_, PyAny>) -> PyResult<(bool, Shown)> {
        let pixels = Pixels::of(frame, self.order)?;
        let frame = pixels.frame()?;
        let mut held = self.lock()?;
        let inner = &mut *held;
        let estimate = py.detach(|| inner.update(frame)).or_raise(py)?;
        self.keep(estimate);
        Ok((is_seen(estimate.state), self.shown(estimate)))
    }

    /// Corrects the place and the size in the last frame by a box from elsewhere, as a detector's, without learning anew, and
    /// gives the new box. ``noise`` is the standard deviation of its sides in pixels. The box counts the more, the less noise
    /// it has, the less sure the tracker is, and the longer ago the last correction is.
    ///
    /// Raises NotInitializedError before ``init``, BoxError for a box where no target can be.
    #[pyo3(signature = (r#box, noise, *, format = "xywh"))]
    fn adjust(&self, py: Python<'_>, r#box: &Bound<'_, PyAny>, noise: f64, format: &str) -> PyResult<Shown> {
        let bbox = read_box_as(r#box, format)?;
        let estimate = self.lock()?.adjust(bbox, noise).or_raise(py)?;
        self.keep(estimate);
        Ok(self.shown(estimate))
    }

    /// The estimate of the last frame; None before ``init``.
    #[getter]
    fn estimate(&self) -> Option<Estimate> {
        self.last().map(Estimate)
    }

    /// The box of the target, or the last guess: left, top, width, height; None before ``init``.
    #[getter]
    #[pyo3(name = "box")]
    fn bbox(&self) -> Option<Shown> {
        self.last().map(|estimate| self.shown(estimate))
    }

    /// ``initial``, ``tracking``, ``recovered``, ``uncertain``, ``occluded`` or ``lost``; None before ``init``.
    #[getter]
    fn state(&self) -> Option<&'static str> {
        self.last().map(|estimate| estimate.state.name())
    }

    /// The probability that the box overlaps the target by more than half; None without a calibration, and in
    /// the first frame.
    #[getter]
    fn confidence(&self) -> Option<f32> {
        self.last()?.evidence.confidence
    }

    /// The signals behind the box, a dict; None before ``init``.
    #[getter]
    fn evidence<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.last().map(|estimate| Estimate(estimate).evidence(py)).transpose()
    }

    /// The score of every translation in the last search area: a new array (rows, columns) of float32, no motion in the
    /// middle; None before ``init``.
    ///
    /// Element ``[r, c]`` is the score of the target's centre at ``x0 + c * dx``, ``y0 + r * dy``, where
    /// ``(x0, y0), (dx, dy)`` is ``response_grid``. With a ``response_angle`` ``a`` the map is rotated around its first
    /// element: ``x0 + cos(a) * c * dx - sin(a) * r * dy``, ``y0 + sin(a) * c * dx + cos(a) * r * dy``.
    #[getter]
    fn response<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f32>>>> {
        let inner = self.lock()?;
        Ok(inner.response().map(|map| map.centered().into_pyarray(py)))
    }

    /// The grid of ``response`` on the image: the centre of element ``[0, 0]``, and the steps between columns and rows;
    /// None before ``init``.
    #[getter]
    #[expect(clippy::type_complexity, reason = "two points, which Python unpacks")]
    fn response_grid(&self) -> PyResult<Option<((f64, f64), (f64, f64))>> {
        let inner = self.lock()?;
        Ok(inner.response().map(|map| (map.origin(), map.step)))
    }

    /// The rotation of ``response`` on the image in radians, clockwise; None before ``init``.
    #[getter]
    fn response_angle(&self) -> PyResult<Option<f64>> {
        let inner = self.lock()?;
        Ok(inner.response().map(|map| map.angle))
    }

    /// The preset that the settings come from.
    #[getter]
    fn preset(&self) -> &str {
        &self.resolved.preset
    }

    /// The order of the colours: ``bgr`` or ``rgb``.
    #[getter]
    fn order(&self) -> &'static str {
        self.order.name()
    }

    /// Whether the tracker uses colours; otherwise it uses gray values alone.
    #[getter]
    fn uses_color(&self) -> bool {
        self.resolved.params.channels() == kcf_track::Channels::Color
    }

    /// All settings by path.
    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        settings::as_dict(py, &self.resolved.params)
    }

    /// An independent tracker with the same model.
    ///
    /// Examples:
    ///     >>> import kcf_track, numpy
    ///     >>> frame = numpy.random.default_rng(0).integers(0, 255, (48, 64), numpy.uint8)
    ///     >>> tracker = kcf_track.Tracker("paper")
    ///     >>> tracker.init(frame, (20, 10, 16, 16))
    ///     >>> tracker.copy().update(frame) == tracker.update(frame)
    ///     True
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        let held = self.lock()?;
        let inner = &*held;
        let copied = py.detach(|| inner.clone());
        let last = Mutex::new(self.last());
        let resolved = self.resolved.clone();
        Ok(Self { resolved, order: self.order, integer: self.integer, inner: Mutex::new(copied), last })
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Self> {
        self.copy(py)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.copy(py)
    }

    fn __repr__(&self) -> String {
        let state = self.last().map_or("no target yet".into(), |estimate| {
            let BBox { x, y, w, h } = estimate.bbox;
            format!("{} at ({x:.1}, {y:.1}, {w:.1}, {h:.1})", estimate.state)
        });
        format!("<kcf_track.Tracker {}: {state}>", self.resolved.preset)
    }
}

/// The order of that name.
///
/// # Errors
/// `SettingError` for another name.
pub fn order_of(py: Python<'_>, name: &str) -> PyResult<Order> {
    name.parse().map_err(|message| exception(py, "SettingError", message))
}

/// Four numbers as a box.
///
/// # Errors
/// `TypeError` for something else than a sequence of numbers, `BoxError` for another count.
pub fn read_box(given: &Bound<'_, PyAny>) -> PyResult<BBox> {
    let Ok(numbers) = given.extract::<Vec<f64>>() else {
        let kind = given.get_type().name()?;
        return Err(wrong_type(format!("a box must be four numbers (left, top, width, height), not {kind}")));
    };
    match numbers[..] {
        [x, y, w, h] => Ok(BBox::new(x, y, w, h)),
        _ => {
            let message = format!("a box is four numbers (left, top, width, height), not {}", numbers.len());
            Err(exception(given.py(), "BoxError", message))
        }
    }
}

/// Four numbers as a box: left, top, width, height (`xywh`), or left, top, right, bottom (`xyxy`).
///
/// # Errors
/// Those of [`read_box`], and `SettingError` for another format.
pub fn read_box_as(given: &Bound<'_, PyAny>, format: &str) -> PyResult<BBox> {
    let bbox = read_box(given)?;
    match format {
        "xywh" => Ok(bbox),
        "xyxy" => Ok(BBox::new(bbox.x, bbox.y, bbox.w - bbox.x, bbox.h - bbox.y)),
        other => Err(exception(given.py(), "SettingError", format!("format {other}: must be xywh or xyxy"))),
    }
}

/// Warns of a box with too little of a target to follow, at the line outside of this package. A box that is refused causes
/// no warning.
pub fn warn_of_small(py: Python<'_>, frame: &Frame<'_>, bbox: BBox) -> PyResult<()> {
    let known = kcf_track::tracker::check_start((frame.width(), frame.height()), bbox).ok();
    let Some(text) = known.and_then(|()| kcf_track::tracker::too_small(&bbox)) else { return Ok(()) };
    let text = CString::new(format!("the box {text}; enlarge the images"))?;
    let frame_at = py.import("sys")?.getattr("_getframe")?;
    let is_ours = |level: i32| -> PyResult<bool> {
        let names = frame_at.call1((level,))?.getattr("f_globals")?;
        Ok(names.get_item("__name__")?.extract::<String>()?.starts_with("kcf_track."))
    };
    let mut level = 0;
    while is_ours(level).unwrap_or(false) {
        level += 1;
    }
    PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, level + 1)
}
