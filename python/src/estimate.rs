//! The estimate of one frame: `kcf_track.Estimate`.

use kcf_track::State;
use numpy::PyArray2;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Left, top, width, height.
pub type Box4 = (f64, f64, f64, f64);

/// The state of a target in one frame.
///
/// Examples:
///     >>> import kcf_track, numpy
///     >>> frame = numpy.random.default_rng(0).integers(0, 255, (48, 64), numpy.uint8)
///     >>> tracker = kcf_track.Tracker("paper")
///     >>> tracker.init(frame, (20, 10, 16, 16))
///     >>> tracker.estimate
///     Estimate(box=(20.0, 10.0, 16.0, 16.0), state='initial', confidence=None)
#[pyclass(frozen, module = "kcf_track")]
#[derive(Clone, Copy, Debug)]
pub struct Estimate(pub kcf_track::Estimate);

/// Whether a state says that the target is in its box.
pub fn is_seen(state: State) -> bool {
    !matches!(state, State::Occluded | State::Lost)
}

#[pymethods]
impl Estimate {
    /// False exactly when the state is `occluded` or `lost`.
    #[getter]
    fn ok(&self) -> bool {
        is_seen(self.0.state)
    }

    /// The box of the target, or the last guess: left, top (0-based), width, height in pixels.
    #[getter]
    #[pyo3(name = "box")]
    fn bbox(&self) -> Box4 {
        box4(self.0.bbox)
    }

    /// The corners of a rotated target, an array (4, 2) of x and y, clockwise from the original upper left one; None
    /// for an upright target.
    #[getter]
    fn polygon<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        let rows = self.0.polygon.map(|corners| corners.chunks(2).map(<[f64]>::to_vec).collect::<Vec<_>>());
        Ok(rows.map(|rows| PyArray2::from_vec2(py, &rows)).transpose()?)
    }

    /// How reliable the box is: `initial`, `tracking`, `recovered`, `uncertain`, `occluded` or `lost`.
    #[getter]
    fn state(&self) -> &'static str {
        self.0.state.name()
    }

    /// The probability that the box overlaps the target by more than half; None without a calibration, and in
    /// the first frame.
    #[getter]
    fn confidence(&self) -> Option<f32> {
        self.0.evidence.confidence
    }

    /// The signals behind the box: `peak`, `psr`, `apce`, `decision`, `long_term`, `identity`, `color`, `confidence`
    /// and `refit_kept`.
    #[getter]
    pub fn evidence<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let evidence = &self.0.evidence;
        let all = PyDict::new(py);
        for (name, value) in [("peak", evidence.peak), ("psr", evidence.psr), ("apce", evidence.apce)] {
            all.set_item(name, value)?;
        }
        for (name, value) in [
            ("decision", evidence.decision),
            ("long_term", evidence.long_term),
            ("identity", evidence.identity),
            ("color", evidence.color),
            ("confidence", evidence.confidence),
        ] {
            all.set_item(name, value)?;
        }
        all.set_item("refit_kept", evidence.refit_kept)?;
        Ok(all)
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    fn __repr__(&self) -> String {
        let (x, y, w, h) = self.bbox();
        let confidence = self.confidence().map_or("None".into(), |confidence| format!("{confidence:.3}"));
        format!("Estimate(box=({x:?}, {y:?}, {w:?}, {h:?}), state='{}', confidence={confidence})", self.state())
    }
}

/// A box as a tuple.
pub fn box4(bbox: kcf_track::BBox) -> Box4 {
    (bbox.x, bbox.y, bbox.w, bbox.h)
}
