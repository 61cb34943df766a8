//! Several targets in the same frames: `kcf_track.MultiTracker`.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use kcf_track::Frame;
use kcf_track::run::{Cause, Detection, DetectionParams, Session};
use pyo3::exceptions::{PyKeyError, PyOverflowError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyIterator, PyList};
use rayon::ThreadPool;

use crate::error::{Raise, exception, try_lock};
use crate::estimate::{Box4, Estimate, box4, is_seen};
use crate::pixels::{Order, Pixels};
use crate::saved;
use crate::settings::{self, MAX_THREADS, Resolved, UInt};
use crate::tracker::{order_of, read_box_as, warn_of_small};

/// Follows several targets through the same frames, on several threads (one per processor by default).
///
/// Settings are those of ``Tracker``; a target may have its own. Results do not depend on the number of threads.
///
/// Examples:
///     >>> import kcf_track, numpy
///     >>> frame = numpy.random.default_rng(0).integers(0, 255, (48, 64), numpy.uint8)
///     >>> targets = kcf_track.MultiTracker("paper")
///     >>> targets.add(frame, (20, 10, 16, 16)), targets.add(frame, (30, 20, 12, 12), id=7)
///     (1, 7)
///     >>> {id: ok for id, (ok, box) in targets.update(frame).items()}
///     {1: True, 7: True}
///
///     A detector now and then begins, corrects and ends targets:
///
///     >>> targets = kcf_track.MultiTracker("paper", detections={"confirm": 1})
///     >>> list(targets.update(frame, [(20, 10, 16, 16, 0.9)])), list(targets.update(frame))
///     ([1], [1])
#[pyclass(frozen, module = "kcf_track")]
pub struct MultiTracker {
    resolved: Resolved,
    order: Order,
    threads: usize,
    detections: DetectionParams,
    inner: Mutex<Inner>,
}

/// Name of saved targets, and the values that the library does not save.
const SAVED: &str = "Python targets";
type Saved = ((String, String, String, usize), DetectionParams, Vec<u8>, usize, bool);

struct Inner {
    session: Session<kcf_track::Tracker>,
    /// The number of the last frame.
    position: usize,
    /// Whether detections may come.
    detects: bool,
    /// The target of each of the last detections, and why some are refused.
    detected: Vec<Option<usize>>,
    refused: BTreeMap<usize, String>,
    /// The threads and their process: a forked child has none of them.
    pool: Option<(u32, ThreadPool)>,
}

impl MultiTracker {
    fn lock(&self) -> PyResult<MutexGuard<'_, Inner>> {
        try_lock(&self.inner, "tracker")
    }
}

impl Inner {
    fn new(session: Session<kcf_track::Tracker>, position: usize, detects: bool) -> Self {
        Self { session, position, detects, detected: Vec::new(), refused: BTreeMap::new(), pool: None }
    }

    /// Takes detections from now on.
    fn expect(&mut self, resolved: &Resolved, params: &DetectionParams) -> kcf_track::Result<()> {
        if !self.detects {
            let tracker = kcf_track::Tracker::new(resolved.params.clone())?;
            self.session.expect_detections(tracker, params.clone())?;
            self.detects = true;
        }
        Ok(())
    }

    /// Updates all targets. A frame of another size changes none of them.
    fn update(&mut self, frame: Frame<'_>) -> kcf_track::Result<()> {
        let Self { session, position, pool, .. } = self;
        let mut feed = || session.feed(*position + 1, frame).map(drop).map_err(Cause::into_error);
        match pool {
            Some((_, pool)) => pool.install(feed),
            None => feed(),
        }?;
        self.position += 1;
        Ok(())
    }

    fn detect(&mut self, at: Option<usize>, detections: &[Detection]) -> kcf_track::Result<()> {
        let found = self.session.detect(at.unwrap_or(self.position), detections)?;
        (self.detected, self.refused) = (found.ids, found.refused.into_iter().collect());
        Ok(())
    }

    /// Starts the threads unless this process has them.
    fn start(&mut self, py: Python<'_>, threads: usize) -> PyResult<()> {
        let here = std::process::id();
        if threads <= 1 || self.pool.as_ref().is_some_and(|(process, _)| *process == here) {
            return Ok(());
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|error| exception(py, "StateError", format!("{threads} threads: {error}")))?;
        if let Some((process, old)) = self.pool.replace((here, pool))
            && process != here
        {
            // Joining threads of the parent would block forever.
            std::mem::forget(old);
        }
        Ok(())
    }
}

/// The estimate of a target that has not ended. Raises KeyError for an unknown id.
fn last(inner: &Inner, id: usize) -> PyResult<kcf_track::Estimate> {
    let shown = inner.session.ids().any(|known| known == id);
    inner.session.last(id).filter(|_| shown).ok_or_else(|| PyKeyError::new_err(id))
}

/// The ids of new targets.
#[derive(IntoPyObject)]
enum Added {
    #[pyo3(transparent)]
    One(usize),
    #[pyo3(transparent)]
    All(Vec<usize>),
}

#[pymethods]
impl MultiTracker {
    #[new]
    #[pyo3(signature = (preset = "robust", *, order = "bgr", threads = None, detections = None, **settings))]
    fn new(
        py: Python<'_>,
        preset: &str,
        order: &str,
        threads: Option<UInt>,
        detections: Option<&Bound<'_, PyDict>>,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let resolved = settings::resolve(py, preset, settings)?;
        let threads = match threads {
            Some(threads) => threads.threads(py, "threads")?,
            None => std::thread::available_parallelism().map_or(1, |threads| usize::from(threads).min(MAX_THREADS)),
        };
        let mut params = DetectionParams::default();
        for (name, value) in detections.into_iter().flatten() {
            params.change(&name.extract::<String>()?, &value.str()?.to_string()).or_raise(py)?;
        }
        let mut session = Session::default();
        session.parallel(threads > 1);
        let mut inner = Inner::new(session, 0, false);
        if detections.is_some() {
            inner.expect(&resolved, &params).or_raise(py)?;
        }
        Ok(Self { resolved, order: order_of(py, order)?, threads, detections: params, inner: Mutex::new(inner) })
    }

    /// Learns a target in ``box`` of ``frame`` and gives its id: ``id``, or the next number that no target has had. It
    /// replaces a target with that id. Keywords and ``preset`` are settings of this target alone. ``format`` says whether
    /// the numbers are left, top, width, height (``xywh``), or left, top, right, bottom (``xyxy``).
    ///
    /// A list of boxes adds a target for each and gives a list of ids; an error adds none of them.
    ///
    /// Raises what ``Tracker.init`` raises, and FrameError for a frame of another size than that of the other targets.
    #[pyo3(signature = (frame, r#box, *, id = None, format = "xywh", preset = None, **settings))]
    #[expect(clippy::too_many_arguments, reason = "keywords")]
    fn add(
        &self,
        py: Python<'_>,
        frame: &Bound<'_, PyAny>,
        r#box: &Bound<'_, PyAny>,
        id: Option<UInt>,
        format: &str,
        preset: Option<&str>,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Added> {
        let id = id.map(|id| id.named(py, "id", "must be a 64-bit non-negative integer")).transpose()?;
        let params = match preset {
            None => settings::change(py, self.resolved.params.clone(), settings)?,
            Some(preset) => settings::resolve(py, preset, settings)?.params,
        };
        let tracker = kcf_track::Tracker::new(params).or_raise(py)?;
        let is_list = r#box.get_item(0).is_ok_and(|first| first.hasattr("__len__").unwrap_or(false));
        let boxes = match is_list {
            true => r#box.try_iter()?.map(|one| read_box_as(&one?, format)).collect::<PyResult<_>>()?,
            false => vec![read_box_as(r#box, format)?],
        };
        if is_list && id.is_some() {
            return Err(exception(
                py,
                "SettingError",
                "id: several boxes get the next ids; add them one by one".into(),
            ));
        }
        let pixels = Pixels::of(frame, self.order)?;
        let frame = pixels.frame()?;
        boxes.iter().try_for_each(|&bbox| warn_of_small(py, &frame, bbox))?;
        let mut held = self.lock()?;
        let inner = &mut *held;
        let before = is_list.then(|| inner.session.clone());
        let mut ids = Vec::new();
        for bbox in boxes {
            let id = id.unwrap_or(inner.session.next_id());
            let follower = tracker.clone();
            let learned = py.detach(|| inner.session.learn(id, follower, inner.position, frame, bbox));
            if let (Err(_), Some(before)) = (&learned, &before) {
                inner.session = before.clone();
            }
            learned.or_raise(py)?;
            ids.push(id);
        }
        Ok(if is_list { Added::All(ids) } else { Added::One(ids[0]) })
    }

    /// Finds all targets in the next frame: a dict of ``ok, (left, top, width, height)`` by id.
    ///
    /// ``detections`` are the boxes of a detector, which begin, correct and end targets: an array or a list of rows of four
    /// numbers in ``format``, a score and a class, ``supervision.Detections``, or what ultralytics returns. An empty list
    /// says that nothing was found; None, that the detector did not look. ``at`` is the ``position`` of their frame, if
    /// that is not this one; ``MultiTracker(detections={})`` keeps the frames for such that come late. ``detected`` and
    /// ``refused`` say what became of them.
    ///
    /// Raises NotInitializedError without a target, unless there are detections, FrameError for a frame of another size
    /// than the first one, which changes nothing, and SettingError for detections of a frame that has not come or is no
    /// longer kept; the targets have seen the frame then.
    #[pyo3(signature = (frame, detections = None, at = None, *, format = "xywh"))]
    fn update(
        &self,
        py: Python<'_>,
        frame: &Bound<'_, PyAny>,
        detections: Option<&Bound<'_, PyAny>>,
        at: Option<UInt>,
        format: &str,
    ) -> PyResult<BTreeMap<usize, (bool, Box4)>> {
        let at = at.map(|at| at.named(py, "at", "must be the position of a frame, from 1")).transpose()?;
        let detections = detections.map(|given| detections_of(given, format)).transpose()?;
        let pixels = Pixels::of(frame, self.order)?;
        let frame = pixels.frame()?;
        let mut held = self.lock()?;
        let inner = &mut *held;
        if detections.is_some() {
            inner.expect(&self.resolved, &self.detections).or_raise(py)?;
        }
        if inner.session.ids().next().is_none() && !inner.detects {
            let message = "there are no targets yet: call `add` with a frame and a box before `update`";
            return Err(exception(py, "NotInitializedError", message.into()));
        }
        inner.start(py, self.threads)?;
        (inner.detected, inner.refused) = Default::default();
        py.detach(|| {
            inner.update(frame)?;
            detections.map_or(Ok(()), |detections| inner.detect(at, &detections))
        })
        .or_raise(py)?;
        let result = |id| Some((id, inner.session.last(id)?));
        let result = inner.session.ids().filter_map(result);
        Ok(result.map(|(id, last)| (id, (is_seen(last.state), box4(last.bbox)))).collect())
    }

    /// Corrects the place and the size of a target by a box of the last frame, or of the one ``at`` a ``position``, without
    /// learning anew. ``noise`` is the standard deviation of its sides in pixels. The box counts the more, the less noise it
    /// has and the less sure the tracker is.
    ///
    /// Raises SettingError for an unknown target and a frame that is not kept, BoxError for a box where none can be.
    #[pyo3(signature = (id, r#box, *, noise = None, at = None, format = "xywh"))]
    fn adjust(
        &self,
        py: Python<'_>,
        id: usize,
        r#box: &Bound<'_, PyAny>,
        noise: Option<f64>,
        at: Option<usize>,
        format: &str,
    ) -> PyResult<Box4> {
        let bbox = read_box_as(r#box, format)?;
        Ok(box4(self.lock()?.session.adjust(id, at, bbox, noise).or_raise(py)?.bbox))
    }

    /// Removes a target. Raises KeyError for an unknown id.
    fn remove(&self, id: &Bound<'_, PyAny>) -> PyResult<()> {
        let key = key(id)?;
        let mut held = self.lock()?;
        last(&held, key)?;
        held.session.drop_target(key);
        Ok(())
    }

    /// The targets in the last frame, with ``ids``, ``xyxy``, ``states``, ``confidence``, ``classes`` and
    /// ``to_supervision()``.
    #[getter]
    fn tracks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let held = self.lock()?;
        let all = held.session.ids().filter_map(|id| Some((id, Estimate(held.session.last(id)?))));
        let all: Vec<_> = all.map(|(id, estimate)| (id, estimate, held.session.class(id))).collect();
        py.import("kcf_track._tracks")?.getattr("Tracks")?.call_method1("of", (all,))
    }

    /// The number of the last frame, from 1; 0 before the first.
    #[getter]
    fn position(&self) -> PyResult<usize> {
        Ok(self.lock()?.position)
    }

    /// The target of each of the last detections; None for one that is not used. It may not be confirmed yet.
    #[getter]
    fn detected(&self) -> PyResult<Vec<Option<usize>>> {
        Ok(self.lock()?.detected.clone())
    }

    /// Why some of the last detections are not understood, by their places.
    #[getter]
    fn refused(&self) -> PyResult<BTreeMap<usize, String>> {
        Ok(self.lock()?.refused.clone())
    }

    /// All targets with what they have learned, and the frames that are kept for late detections, as bytes for
    /// ``from_bytes``.
    ///
    /// Raises FormatError where ``Tracker.to_bytes`` does.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let held = self.lock()?;
        let inner = &*held;
        let session = py.detach(|| inner.session.to_bytes()).or_raise(py)?;
        let Resolved { preset, params } = self.resolved.clone();
        let order = self.order.name().to_owned();
        let settings = (preset, params.document(&self.resolved.preset).to_string(), order, self.threads);
        let saved: Saved = (settings, self.detections.clone(), session, inner.position, inner.detects);
        saved::write(py, SAVED, &saved)
    }

    /// The targets of ``to_bytes``, which continue with equal results.
    ///
    /// Raises FormatError for bytes of something else or of
    /// another version, and for those that were cut or changed.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        let ((preset, document, order, threads), detections, session, position, detects): Saved =
            saved::read(py, SAVED, data)?;
        let document = document.parse().unwrap_or_default();
        let params = kcf_track::Params::from_document(&document).or_raise(py)?;
        let session = py.detach(|| Session::from_bytes(&session)).or_raise(py)?;
        let inner = Mutex::new(Inner::new(session, position, detects));
        let (resolved, order) = (Resolved { preset, params }, order_of(py, &order)?);
        Ok(Self { resolved, order, threads: threads.min(MAX_THREADS), detections, inner })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((slf.getattr("from_bytes")?, (slf.get().to_bytes(slf.py())?,)))
    }

    /// An independent copy with the same models.
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        let held = self.lock()?;
        let inner = &*held;
        let session = py.detach(|| inner.session.clone());
        let inner = Mutex::new(Inner::new(session, inner.position, inner.detects));
        let (resolved, detections) = (self.resolved.clone(), self.detections.clone());
        Ok(Self { resolved, order: self.order, threads: self.threads, detections, inner })
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Self> {
        self.copy(py)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.copy(py)
    }

    /// Whether targets without settings of their own use colours; otherwise they use gray values alone.
    #[getter]
    fn uses_color(&self) -> bool {
        self.resolved.params.channels() == kcf_track::Channels::Color
    }

    /// All settings of targets without settings of their own, as a JSON document has them.
    #[getter]
    fn _parameters(&self) -> String {
        self.resolved.params.document(&self.resolved.preset).to_string()
    }

    /// The ids of the targets, ascending.
    #[getter]
    fn ids(&self) -> PyResult<Vec<usize>> {
        Ok(self.lock()?.session.ids().collect())
    }

    /// The ids and the last estimates, by ascending id.
    fn items(&self) -> PyResult<Vec<(usize, Estimate)>> {
        let held = self.lock()?;
        Ok(held.session.ids().filter_map(|id| Some((id, Estimate(held.session.last(id)?)))).collect())
    }

    /// The last estimate of a target. Raises KeyError for an unknown id.
    fn __getitem__(&self, id: &Bound<'_, PyAny>) -> PyResult<Estimate> {
        let (key, held) = (key(id)?, self.lock()?);
        last(&held, key).map(Estimate)
    }

    /// Whether a target has that id.
    fn __contains__(&self, id: &Bound<'_, PyAny>) -> PyResult<bool> {
        let held = self.lock()?;
        Ok(id.extract::<usize>().is_ok_and(|id| last(&held, id).is_ok()))
    }

    /// The ids, ascending.
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyList::new(py, self.ids()?)?.try_iter()
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(self.lock()?.session.ids().count())
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(format!("<kcf_track.MultiTracker {}: {} targets>", self.resolved.preset, self.__len__()?))
    }
}

/// Detections as rows of left, top, width, height, score and class.
fn detections_of(given: &Bound<'_, PyAny>, format: &str) -> PyResult<Vec<Detection>> {
    let rows = given.py().import("kcf_track._tracks")?.getattr("rows_of")?.call1((given, format))?;
    let rows: Vec<([f64; 4], f64, Option<String>)> = rows.extract()?;
    Ok(rows.into_iter().map(|(bbox, score, class)| Detection { bbox: bbox.into(), score, class }).collect())
}

/// An id; a `KeyError` for an integer that no target can have.
fn key(id: &Bound<'_, PyAny>) -> PyResult<usize> {
    let none = |error: PyErr| match error.is_instance_of::<PyOverflowError>(id.py()) {
        true => PyKeyError::new_err(id.clone().unbind()),
        false => error,
    };
    id.extract::<usize>().map_err(none)
}
