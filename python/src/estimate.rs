//! What a tracker says of one frame, as Python sees it.

use kcf_track::tracker::{Evidence, State};
use numpy::PyArray2;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::exception;
use crate::tracker::read_box;

/// A box as Python has it: left, top, width, height.
pub type Box4 = (f64, f64, f64, f64);

/// What a tracker says of one frame.
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

#[pymethods]
impl Estimate {
    #[new]
    #[pyo3(signature = (r#box, state, evidence, polygon = None))]
    fn new(
        py: Python<'_>,
        r#box: &Bound<'_, PyAny>,
        state: &Bound<'_, PyAny>,
        evidence: &Bound<'_, PyDict>,
        polygon: Option<Vec<Vec<f64>>>,
    ) -> PyResult<Self> {
        let name: String = state.extract()?;
        let state = State::ALL.into_iter().find(|state| state.name() == name);
        let refused = |said: String| exception(py, "SettingError", said);
        let state = state.ok_or_else(|| {
            let names = State::ALL.map(|state| state.name()).join(", ");
            refused(format!("state {name:?}: must be one of {names}"))
        })?;
        let corners = |corners: Vec<Vec<f64>>| {
            let pairs = corners.iter().all(|corner| corner.len() == 2);
            corners.concat().try_into().ok().filter(|_| pairs)
        };
        let polygon = polygon.map(|given| corners(given).ok_or_else(|| refused("a polygon has four corners".into())));
        let polygon = polygon.transpose()?;
        let of = |name: &str| -> PyResult<Option<f32>> {
            evidence.get_item(name)?.map_or(Ok(None), |value| value.extract::<Option<f32>>())
        };
        let evidence = Evidence {
            peak: of("peak")?.unwrap_or_default(),
            psr: of("psr")?.unwrap_or_default(),
            apce: of("apce")?.unwrap_or_default(),
            decision: of("decision")?,
            long_term: of("long_term")?,
            color: of("color")?,
            confidence: of("confidence")?,
            refit_kept: evidence.get_item("refit_kept")?.is_some_and(|kept| kept.is_truthy().unwrap_or(false)),
        };
        Ok(Self(kcf_track::Estimate { bbox: read_box(r#box)?, polygon, state, evidence }))
    }

    /// Whether the target is there: false exactly when the state is `lost`.
    #[getter]
    fn ok(&self) -> bool {
        self.0.state != State::Lost
    }

    /// Where the target is, or was last seen: left, top (0-based), width, height in pixels.
    #[getter]
    #[pyo3(name = "box")]
    fn bbox(&self) -> Box4 {
        box4(self.0.bbox)
    }

    /// The corners of a target that has turned, an array (4, 2) of x and y, clockwise from what was the upper left
    /// one; None of one that stands as it did.
    #[getter]
    fn polygon<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        let rows = self.0.polygon.map(|corners| corners.chunks(2).map(<[f64]>::to_vec).collect::<Vec<_>>());
        Ok(rows.map(|rows| PyArray2::from_vec2(py, &rows)).transpose()?)
    }

    /// Whether to believe the box: `initial`, `tracking`, `recovered`, `uncertain` or `lost`.
    #[getter]
    fn state(&self) -> &'static str {
        self.0.state.name()
    }

    /// The probability that the box overlaps the target by more than half; None of a tracker without a calibration, and
    /// in the first frame.
    #[getter]
    fn confidence(&self) -> Option<f32> {
        self.0.evidence.confidence
    }

    /// All that speaks for the box: `peak`, `psr`, `apce`, `decision`, `long_term`, `color`, `confidence` and
    /// `refit_kept`.
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

    #[expect(clippy::type_complexity, reason = "a tuple of Python's, for pickle")]
    fn __reduce__<'py>(
        this: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, (Box4, &'static str, Bound<'py, PyDict>, Option<Vec<Vec<f64>>>))> {
        let said = this.get();
        let corners = said.0.polygon.map(|corners| corners.chunks(2).map(<[f64]>::to_vec).collect());
        let parts = (said.bbox(), said.state(), said.evidence(this.py())?, corners);
        Ok((this.get_type().into_any(), parts))
    }

    fn __repr__(&self) -> String {
        let (x, y, w, h) = self.bbox();
        let confidence = self.confidence().map_or("None".into(), |confidence| format!("{confidence:.3}"));
        format!("Estimate(box=({x:?}, {y:?}, {w:?}, {h:?}), state='{}', confidence={confidence})", self.state())
    }
}

/// A box of the library as Python has it.
pub fn box4(bbox: kcf_track::BBox) -> Box4 {
    (bbox.x, bbox.y, bbox.w, bbox.h)
}
