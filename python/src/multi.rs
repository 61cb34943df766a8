//! Several targets in the same frames: `kcf_track.MultiTracker`.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use kcf_track::{BBox, Frame};
use pyo3::exceptions::{PyKeyError, PyOverflowError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList};
use rayon::ThreadPool;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::error::{Raise, exception, try_lock};
use crate::estimate::{Box4, Estimate, box4, is_seen};
use crate::pixels::{Order, Pixels};
use crate::settings::{self, MAX_THREADS, Resolved, UInt};
use crate::tracker::{order_of, read_box, warn_of_small};

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
#[pyclass(frozen, module = "kcf_track")]
pub struct MultiTracker {
    resolved: Resolved,
    order: Order,
    threads: usize,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    targets: BTreeMap<u64, Target>,
    next: u64,
    /// The threads and their process: a forked child has none of them.
    pool: Option<(u32, ThreadPool)>,
}

struct Target {
    tracker: kcf_track::Tracker,
    size: (usize, usize),
    last: kcf_track::Estimate,
}

impl MultiTracker {
    fn lock(&self) -> PyResult<MutexGuard<'_, Inner>> {
        try_lock(&self.inner, "tracker")
    }
}

impl Inner {
    /// One more than the largest number so far, else the smallest free one.
    fn free(&self) -> u64 {
        let all = std::iter::once(self.next).chain(1..);
        all.into_iter().find(|id| !self.targets.contains_key(id)).unwrap_or(self.next)
    }

    fn add(&mut self, mut tracker: kcf_track::Tracker, id: u64, frame: Frame<'_>, bbox: BBox) -> kcf_track::Result<()> {
        let size = (frame.width(), frame.height());
        if let Some(other) = self.targets.values().find(|other| other.size != size) {
            return Err(kcf_track::Error::FrameSize { expected: other.size, got: size });
        }
        let last = tracker.init(frame, bbox)?;
        self.targets.insert(id, Target { tracker, size, last });
        self.next = self.next.max(id.saturating_add(1));
        Ok(())
    }

    /// Updates all targets. A frame of another size changes none of them.
    fn update(&mut self, frame: Frame<'_>) -> kcf_track::Result<()> {
        let size = (frame.width(), frame.height());
        if let Some(other) = self.targets.values().find(|other| other.size != size) {
            return Err(kcf_track::Error::FrameSize { expected: other.size, got: size });
        }
        let follow = |target: &mut Target| -> kcf_track::Result<()> {
            target.last = target.tracker.update(frame)?;
            Ok(())
        };
        match &self.pool {
            Some((_, pool)) if self.targets.len() > 1 => {
                let targets: Vec<&mut Target> = self.targets.values_mut().collect();
                pool.install(|| targets.into_par_iter().try_for_each(follow))
            }
            _ => self.targets.values_mut().try_for_each(follow),
        }
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

#[pymethods]
impl MultiTracker {
    #[new]
    #[pyo3(signature = (preset = "robust", *, order = "bgr", threads = None, **settings))]
    fn new(
        py: Python<'_>,
        preset: &str,
        order: &str,
        threads: Option<UInt>,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let resolved = settings::resolve(py, preset, settings)?;
        let threads = match threads {
            Some(threads) => threads.threads(py, "threads")?,
            None => std::thread::available_parallelism().map_or(1, |threads| usize::from(threads).min(MAX_THREADS)),
        };
        let inner = Mutex::new(Inner { next: 1, ..Inner::default() });
        Ok(Self { resolved, order: order_of(py, order)?, threads, inner })
    }

    /// Learns a target in ``box`` of ``frame`` and gives its id: ``id``, or the next free number. It replaces a target
    /// with that id. Keywords and ``preset`` are settings of this target alone.
    ///
    /// Raises what ``Tracker.init`` raises, and FrameError for a frame of another size than that of the other targets.
    #[pyo3(signature = (frame, r#box, *, id = None, preset = None, **settings))]
    fn add(
        &self,
        py: Python<'_>,
        frame: &Bound<'_, PyAny>,
        r#box: &Bound<'_, PyAny>,
        id: Option<UInt>,
        preset: Option<&str>,
        settings: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<u64> {
        let id = id.map(|id| id.named(py, "id", "must be a 64-bit non-negative integer")).transpose()?;
        let params = match preset {
            None => settings::change(py, self.resolved.params.clone(), settings)?,
            Some(preset) => settings::resolve(py, preset, settings)?.params,
        };
        let tracker = kcf_track::Tracker::new(params).or_raise(py)?;
        let pixels = Pixels::of(frame, self.order)?;
        let (frame, bbox) = (pixels.frame()?, read_box(r#box)?);
        warn_of_small(py, &frame, bbox)?;
        let mut held = self.lock()?;
        let inner = &mut *held;
        let id = id.unwrap_or_else(|| inner.free());
        py.detach(|| inner.add(tracker, id, frame, bbox)).or_raise(py)?;
        Ok(id)
    }

    /// Finds all targets in the next frame: a dict of ``ok, (left, top, width, height)`` by id.
    ///
    /// Raises NotInitializedError without a target, FrameError for a frame of another size than the first one, which
    /// changes nothing.
    fn update(&self, py: Python<'_>, frame: &Bound<'_, PyAny>) -> PyResult<BTreeMap<u64, (bool, Box4)>> {
        let pixels = Pixels::of(frame, self.order)?;
        let frame = pixels.frame()?;
        let mut held = self.lock()?;
        let inner = &mut *held;
        if inner.targets.is_empty() {
            let message = "there are no targets yet: call `add` with a frame and a box before `update`";
            return Err(exception(py, "NotInitializedError", message.into()));
        }
        inner.start(py, self.threads)?;
        py.detach(|| inner.update(frame)).or_raise(py)?;
        let result = |target: &Target| (is_seen(target.last.state), box4(target.last.bbox));
        Ok(inner.targets.iter().map(|(id, target)| (*id, result(target))).collect())
    }

    /// Removes a target. Raises KeyError for an unknown id.
    fn remove(&self, id: &Bound<'_, PyAny>) -> PyResult<()> {
        let key = key(id)?;
        self.lock()?.targets.remove(&key).map(drop).ok_or_else(|| PyKeyError::new_err(key))
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
    fn ids(&self) -> PyResult<Vec<u64>> {
        Ok(self.lock()?.targets.keys().copied().collect())
    }

    /// The last estimate of a target. Raises KeyError for an unknown id.
    fn __getitem__(&self, id: &Bound<'_, PyAny>) -> PyResult<Estimate> {
        let (key, held) = (key(id)?, self.lock()?);
        held.targets.get(&key).map(|target| Estimate(target.last)).ok_or_else(|| PyKeyError::new_err(key))
    }

    /// Whether a target has that id.
    fn __contains__(&self, id: &Bound<'_, PyAny>) -> PyResult<bool> {
        let held = self.lock()?;
        Ok(id.extract::<u64>().is_ok_and(|id| held.targets.contains_key(&id)))
    }

    /// The ids, ascending.
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyList::new(py, self.ids()?)?.try_iter()
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(self.lock()?.targets.len())
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(format!("<kcf_track.MultiTracker {}: {} targets>", self.resolved.preset, self.lock()?.targets.len()))
    }
}

/// An id; a `KeyError` for an integer that no target can have.
fn key(id: &Bound<'_, PyAny>) -> PyResult<u64> {
    let none = |error: PyErr| match error.is_instance_of::<PyOverflowError>(id.py()) {
        true => PyKeyError::new_err(id.clone().unbind()),
        false => error,
    };
    id.extract::<u64>().map_err(none)
}
