//! Sources of frames: `kcf_track.Source`.

use std::path::PathBuf;
use std::sync::{Mutex, TryLockError};
use std::time::Duration;

use kcf_track::cancel::CancelToken;
use kcf_track::media::{Demand, Item, OpenOptions, Prefetch, Source as FrameSource, Span, Truth, Wait, decode, open};
use kcf_track::{Channels, FrameBuf, PixelFormat};
use numpy::{IntoPyArray, PyArrayMethods};
use pyo3::prelude::*;

use crate::error::{Raise, exception, in_use, interruptible, raise};
use crate::estimate::{Box4, box4};
use crate::settings::UInt;

/// How often a wait for a frame checks for Ctrl-C.
const POLL: Duration = Duration::from_millis(100);

const FROM_ONE: &str = "must be a position from 1";

/// A folder of images in natural order and the truth beside it (OTB, VOT, GOT-10k, MOT, or any folder), or a video, an
/// animated picture, a camera (``/dev/video0``), an address (``rtsp://…``), or ``-``, the standard input.
///
/// ffmpeg, which has to be installed, reads videos; Y4M and folders need nothing. ``target`` chooses among several
/// truths, ``truth`` names another file. ``lenient`` skips damaged parts of a video. Positions count from 1.
///
/// Examples:
///     >>> import kcf_track
///     >>> demo = kcf_track.Source("assets/demo")
///     >>> demo.name, demo.length, demo.box(1)
///     ('demo', 120, (12.8215, 44.41, 38.0, 60.0))
#[pyclass(frozen, module = "kcf_track")]
pub struct Source {
    inner: Box<dyn FrameSource>,
}

#[pymethods]
impl Source {
    #[new]
    #[pyo3(signature = (path, *, target = None, truth = None, lenient = false))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        target: Option<UInt>,
        truth: Option<PathBuf>,
        lenient: bool,
    ) -> PyResult<Self> {
        let target = target.map(|target| target.named(py, "target", "must be a non-negative integer")).transpose()?;
        let truth = truth.map_or(Truth::Beside, Truth::File);
        let options = OpenOptions { target, truth, lenient, ..OpenOptions::default() };
        let cancel = CancelToken::default();
        let token = cancel.clone();
        let work = move || open(&path, &options, &token);
        Ok(Self {
            inner: interruptible(py, &cancel, Duration::from_secs(5), |py| py.check_signals(), work)?.or_raise(py)?,
        })
    }

    /// The name of the folder or file.
    #[getter]
    fn name(&self) -> &str {
        &self.inner.info().name
    }

    /// The number of frames; None where it is unknown.
    #[getter]
    fn length(&self) -> Option<usize> {
        self.inner.info().length
    }

    /// Frames per second; None where the rate is unknown.
    #[getter]
    fn rate(&self) -> Option<f64> {
        self.inner.info().rate
    }

    /// The image files of a folder, in order; empty for other sources.
    #[getter]
    fn files(&self) -> Vec<PathBuf> {
        self.inner.info().images.clone()
    }

    /// Warnings, such as rows of the truth that do not match the images.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.inner.info().warnings.clone()
    }

    /// The true box of the frame at ``position``; None where there is none.
    fn true_box(&self, py: Python<'_>, position: UInt) -> PyResult<Option<Box4>> {
        Ok(self.inner.info().true_box(position.named(py, "position", FROM_ONE)?).map(box4))
    }

    /// The true box of the frame at ``position``. Raises FormatError where there is none.
    #[pyo3(name = "box")]
    fn initial_box(&self, py: Python<'_>, position: UInt) -> PyResult<Box4> {
        self.inner.info().initial_box(position.named(py, "position", FROM_ONE)?).map(box4).or_raise(py)
    }

    /// The first and the last position from ``start`` to ``end``, by default those of the source. The last is None where
    /// it is unknown.
    #[pyo3(signature = (start = None, end = None))]
    fn span(&self, py: Python<'_>, start: Option<UInt>, end: Option<UInt>) -> PyResult<(usize, Option<usize>)> {
        let span = self.between(py, start, end)?;
        Ok((span.first, span.last))
    }

    /// The frames of a span, decoded ahead on another thread: ``(position, name, array, seconds from the first frame,
    /// milliseconds of decoding)``. Arrays are gray, or red, green, blue. A frame that cannot be read has its exception
    /// in place of the array.
    ///
    /// ``color=False`` reads the luma of a JPEG as it is stored, which takes half the time. ``track`` and ``evaluate``
    /// do so for presets that use gray values; gray values computed from colours differ a little.
    #[pyo3(signature = (start = None, end = None, *, color = true))]
    fn frames(&self, py: Python<'_>, start: Option<UInt>, end: Option<UInt>, color: bool) -> PyResult<Frames> {
        let span = self.between(py, start, end)?;
        let channels = if color { Channels::Color } else { Channels::Luma };
        let opened =
            py.detach(|| Prefetch::open(self.inner.as_ref(), span, Demand::from(channels), &CancelToken::default()));
        Ok(Frames { frames: Mutex::new(opened.or_raise(py)?), process: std::process::id() })
    }

    fn __repr__(&self) -> String {
        let length = self.length().map_or(String::new(), |length| format!(": {length} frames"));
        format!("<kcf_track.Source {}{length}>", self.name())
    }
}

impl Source {
    fn between(&self, py: Python<'_>, start: Option<UInt>, end: Option<UInt>) -> PyResult<Span> {
        let read = |name: &str, position: Option<UInt>| position.map(|p| p.named(py, name, FROM_ONE)).transpose();
        self.inner.info().span(read("start", start)?, read("end", end)?).or_raise(py)
    }
}

/// An iterator over the frames of a source.
#[pyclass(frozen, module = "kcf_track._native")]
pub struct Frames {
    frames: Mutex<Prefetch>,
    /// The process whose thread decodes: a forked child has none.
    process: u32,
}

/// Position, name, array or exception, time, milliseconds of decoding.
type Frame<'py> = (usize, String, Bound<'py, PyAny>, Option<f64>, f64);

#[pymethods]
impl Frames {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Frame<'py>>> {
        if self.process != std::process::id() {
            let message = "this iterator is from before a fork: call `frames` in this process";
            return Err(exception(py, "StateError", message.into()));
        }
        let mut held = match self.frames.try_lock() {
            Ok(held) => held,
            Err(TryLockError::Poisoned(held)) => held.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(in_use("iterator")),
        };
        let frames = &mut *held;
        loop {
            match py.detach(|| frames.next_within(POLL)) {
                Wait::Item(Item { position, name, timestamp, frame, decode_ms, .. }) => {
                    let frame = match frame {
                        Ok(frame) => array(py, frame)?,
                        Err(error) => raise(py, &error).into_value(py).into_bound(py).into_any(),
                    };
                    return Ok(Some((position, name, frame, timestamp, decode_ms)));
                }
                Wait::End => return Ok(None),
                Wait::NotYet => py.check_signals()?,
            }
        }
    }
}

/// The image in a file as an array: gray, or red, green, blue.
#[pyfunction]
pub fn read_image(py: Python<'_>, path: PathBuf, color: bool) -> PyResult<Bound<'_, PyAny>> {
    let channels = if color { Channels::Color } else { Channels::Luma };
    array(py, py.detach(|| decode(&path, channels)).or_raise(py)?)
}

/// The pixels as an array, (height, width) or (height, width, channels).
fn array(py: Python<'_>, frame: FrameBuf) -> PyResult<Bound<'_, PyAny>> {
    let view = frame.as_frame();
    let (width, height, format) = (view.width(), view.height(), view.format());
    let bytes = frame.into_bytes().into_pyarray(py);
    Ok(match format {
        PixelFormat::Gray8 => bytes.reshape([height, width])?.into_any(),
        format => bytes.reshape([height, width, format.bytes()])?.into_any(),
    })
}
