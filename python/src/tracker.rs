//! One target: `kcf_track.Tracker`.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use kcf_track::BBox;
use numpy::{IntoPyArray, PyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::error::{Raise, exception, in_use, wrong_type};
use crate::estimate::{Box4, Estimate, box4};
use crate::pixels::{Order, Pixels};
use crate::settings::{self, Chosen};

/// Follows one target: a box in the first frame, a box and how far to trust it in every later one.
///
/// Frames are arrays of uint8: gray (height, width), or colour (height, width, channels) with three or four channels,
/// blue first as OpenCV has it, or red first with ``order="rgb"``. Rows may have gaps; nothing is copied unless pixels
/// lie in another order. Boxes are left, top (0-based), width, height in pixels.
///
/// ``preset`` is one of ``kcf_track.presets()``. Keywords change it: they have the names of the program's flags
/// (``kcf_track.settings()`` lists them), ``settings={path: value}`` sets any by its path, ``machine={name: value}``
/// those of the machine of ``detector`` or ``guard``.
///
/// A tracker is for one thread at a time: a second one gets a StateError. Other threads go on while it works.
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
    chosen: Chosen,
    order: Order,
    inner: Mutex<kcf_track::Tracker>,
    /// What was last said, which can be read while the next frame is tracked.
    last: Mutex<Option<kcf_track::Estimate>>,
}

impl Tracker {
    /// A tracker without a target.
    pub fn of(py: Python<'_>, chosen: Chosen, order: Order) -> PyResult<Self> {
        let inner = Mutex::new(kcf_track::Tracker::new(chosen.params.clone()).or_raise(py)?);
        Ok(Self { chosen, order, inner, last: Mutex::new(None) })
    }

    /// The tracker itself, for as long as the guard lives.
    ///
    /// # Errors
    /// `StateError` while another thread has it.
    pub fn lock(&self) -> PyResult<MutexGuard<'_, kcf_track::Tracker>> {
        match self.inner.try_lock() {
            Ok(inner) => Ok(inner),
            Err(TryLockError::Poisoned(inner)) => Ok(inner.into_inner()),
            Err(TryLockError::WouldBlock) => Err(in_use("tracker")),
        }
    }

    /// Keeps what was said of a frame.
    pub fn keep(&self, estimate: kcf_track::Estimate) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(estimate);
    }

    fn last(&self) -> Option<kcf_track::Estimate> {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was said of the last frame.
    pub fn last_estimate(&self) -> Option<Estimate> {
        self.last().map(Estimate)
    }
}

#[pymethods]
impl Tracker {
    #[new]
    #[pyo3(signature = (preset = "robust", *, order = "bgr", **settings))]
    fn new(py: Python<'_>, preset: &str, order: &str, settings: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let chosen = settings::resolve(py, preset, settings)?;
        Self::of(py, chosen, order_of(py, order)?)
    }

    /// Learns the target in ``box`` (left, top, width, height; it may reach over the border), and forgets any earlier
    /// one.
    ///
    /// Raises BoxError for a box that cannot be tracked, FrameError for an array of a wrong shape, TypeError for one
    /// that is not of uint8; the earlier target, if any, is then kept.
    ///
    /// Examples:
    ///     >>> import kcf_track, numpy
    ///     >>> frame = numpy.random.default_rng(0).integers(0, 255, (48, 64, 3), numpy.uint8)
    ///     >>> tracker = kcf_track.Tracker()
    ///     >>> tracker.init(frame, (20, 10, 16, 16))
    ///     >>> tracker.box
    ///     (20.0, 10.0, 16.0, 16.0)
    #[pyo3(signature = (frame, r#box))]
    fn init(&self, py: Python<'_>, frame: &Bound<'_, PyAny>, r#box: &Bound<'_, PyAny>) -> PyResult<()> {
        let pixels = Pixels::of(frame, self.order)?;
        let (frame, bbox) = (pixels.frame()?, read_box(r#box)?);
        let mut held = self.lock()?;
        let inner = &mut *held;
        let estimate = py.detach(|| inner.init(frame, bbox)).or_raise(py)?;
        self.keep(estimate);
        Ok(())
    }

    /// Finds the target in the next frame, and learns how it looks there: ``ok, (left, top, width, height)``.
    ///
    /// ``ok`` is False exactly when the state is ``lost``; the box is then the last guess.
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
    fn update(&self, py: Python<'_>, frame: &Bound<'_, PyAny>) -> PyResult<(bool, Box4)> {
        let pixels = Pixels::of(frame, self.order)?;
        let frame = pixels.frame()?;
        let mut held = self.lock()?;
        let inner = &mut *held;
        let estimate = py.detach(|| inner.update(frame)).or_raise(py)?;
        self.keep(estimate);
        Ok((estimate.state != kcf_track::State::Lost, box4(estimate.bbox)))
    }

    /// What was said of the last frame; None before ``init``.
    #[getter]
    fn estimate(&self) -> Option<Estimate> {
        self.last_estimate()
    }

    /// Where the target is, or was last seen: left, top, width, height; None before ``init``.
    #[getter]
    #[pyo3(name = "box")]
    fn bbox(&self) -> Option<Box4> {
        self.last().map(|estimate| box4(estimate.bbox))
    }

    /// ``initial``, ``tracking``, ``recovered``, ``uncertain`` or ``lost``; None before ``init``.
    #[getter]
    fn state(&self) -> Option<&'static str> {
        self.last().map(|estimate| estimate.state.name())
    }

    /// The probability that the box overlaps the target by more than half; None of a tracker without a calibration, and
    /// in the first frame.
    #[getter]
    fn confidence(&self) -> Option<f32> {
        self.last()?.evidence.confidence
    }

    /// All that speaks for the box, a dict; None before ``init``.
    #[getter]
    fn evidence<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.last_estimate().map(|estimate| estimate.evidence(py)).transpose()
    }

    /// The score of every translation that was considered in the last frame: an array (rows, columns) of float32 of its
    /// own, no motion in the middle; None before ``init``.
    ///
    /// Element ``[r, c]`` is the score of the target's centre at ``x0 + c * dx``, ``y0 + r * dy``, where
    /// ``(x0, y0), (dx, dy)`` is ``response_grid``. Where ``response_angle``, here ``a``, is not 0, the map is turned by
    /// it around its first element: ``x0 + cos(a) * c * dx - sin(a) * r * dy``,
    /// ``y0 + sin(a) * c * dx + cos(a) * r * dy``.
    #[getter]
    fn response<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f32>>>> {
        let inner = self.lock()?;
        Ok(inner.response().map(|map| map.centered().into_pyarray(py)))
    }

    /// Where the elements of ``response`` lie on the image: the centre of element ``[0, 0]``, and the step from one
    /// column and row to the next; None before ``init``.
    #[getter]
    #[expect(clippy::type_complexity, reason = "two points, which Python takes apart")]
    fn response_grid(&self) -> PyResult<Option<((f64, f64), (f64, f64))>> {
        let inner = self.lock()?;
        Ok(inner.response().map(|map| (map.origin(), map.step)))
    }

    /// By how much ``response`` is turned on the image, in radians, clockwise: the angle of a target that ``robust``
    /// follows, else 0; None before ``init``.
    #[getter]
    fn response_angle(&self) -> PyResult<Option<f64>> {
        let inner = self.lock()?;
        Ok(inner.response().map(|map| map.angle))
    }

    /// The preset that the settings started from.
    #[getter]
    fn preset(&self) -> &str {
        &self.chosen.preset
    }

    /// The order of the colours: ``bgr`` or ``rgb``.
    #[getter]
    fn order(&self) -> &'static str {
        self.order.name()
    }

    /// Whether colours are looked at: without that, only the gray values of a frame are.
    #[getter]
    fn uses_color(&self) -> bool {
        self.chosen.params.channels() == kcf_track::Channels::Color
    }

    /// All settings, a dict by path.
    #[getter]
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        settings::as_dict(py, &self.chosen.params)
    }

    /// A copy that follows the target on its own.
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
        Ok(Self { chosen: self.chosen.clone(), order: self.order, inner: Mutex::new(copied), last })
    }

    /// The tracker as bytes, with all that it has learned.
    ///
    /// ``Tracker.restore`` makes a tracker of them that goes on to the same boxes, bit for bit, on any computer with
    /// this version of the package and the same mathematics of the C library. Pickle uses them, too.
    ///
    /// Examples:
    ///     >>> import kcf_track, numpy
    ///     >>> frame = numpy.random.default_rng(0).integers(0, 255, (48, 64), numpy.uint8)
    ///     >>> tracker = kcf_track.Tracker("paper")
    ///     >>> tracker.init(frame, (20, 10, 16, 16))
    ///     >>> again = kcf_track.Tracker.restore(tracker.snapshot(), preset="paper")
    ///     >>> again.update(frame) == tracker.update(frame)
    ///     True
    fn snapshot<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let held = self.lock()?;
        let inner = &*held;
        Ok(PyBytes::new(py, &py.detach(|| inner.snapshot())))
    }

    /// The tracker of a ``snapshot``, which knows the settings and the target alone: frames are in ``order``, as they
    /// were before, ``preset`` is the name that it has from then on, and ``estimate`` what was said of the last frame,
    /// where that is known. (A pickle keeps all of it.)
    ///
    /// Raises SnapshotError for other bytes.
    #[staticmethod]
    #[pyo3(signature = (snapshot, *, preset = "robust", order = "bgr", estimate = None))]
    fn restore(
        py: Python<'_>,
        snapshot: &[u8],
        preset: &str,
        order: &str,
        estimate: Option<Py<Estimate>>,
    ) -> PyResult<Self> {
        let tracker = py.detach(|| kcf_track::Tracker::restore(snapshot)).or_raise(py)?;
        let chosen = Chosen { preset: preset.to_owned(), params: tracker.params().clone() };
        let last = Mutex::new(estimate.map(|estimate| estimate.get().0));
        Ok(Self { chosen, order: order_of(py, order)?, inner: Mutex::new(tracker), last })
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyDict>,))> {
        let (py, tracker) = (this.py(), this.get());
        let parts = PyDict::new(py);
        parts.set_item("snapshot", tracker.snapshot(py)?)?;
        parts.set_item("preset", tracker.preset())?;
        parts.set_item("order", tracker.order())?;
        parts.set_item("estimate", tracker.estimate())?;
        Ok((py.import("kcf_track._pickle")?.getattr("tracker")?, (parts,)))
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
        format!("<kcf_track.Tracker {}: {state}>", self.chosen.preset)
    }
}

/// The order of that name.
///
/// # Errors
/// `SettingError` for another name.
pub fn order_of(py: Python<'_>, name: &str) -> PyResult<Order> {
    name.parse().map_err(|said| exception(py, "SettingError", said))
}

/// Four numbers as a box.
///
/// # Errors
/// `TypeError` for what is no sequence of numbers, `BoxError` for another count.
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
