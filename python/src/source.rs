//! Sources of frames: `kcf_track.Source`.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use kcf_track::Channels;
use kcf_track::cancel::CancelToken;
use kcf_track::media::{
    Demand, Images, Info, Item, OpenOptions, Prefetch, Source as FrameSource, Span, Stream, Truth, Wait, decode,
    first_levels, open,
};
use pyo3::prelude::*;

use crate::error::{Raise, exception, interruptible, raise, try_lock};
use crate::estimate::{Box4, box4};
use crate::pixels::{Order, array};
use crate::settings::UInt;
use crate::tracker::order_of;

/// How often a wait for a frame checks for Ctrl-C.
const POLL: Duration = Duration::from_millis(100);

const FROM_ONE: &str = "must be a position from 1";

/// A folder of images in natural order and the truth beside it (OTB, VOT, GOT-10k, MOT, or any folder), or a video, an
/// animated picture, a camera (``/dev/video0``, or its number), an address (``rtsp://…``), ``-`` for the standard input,
/// image files by a pattern (``frames/%04d.jpg``), or a list of image files.
///
/// ffmpeg, which has to be installed, reads videos; Y4M and folders need nothing. ``target`` chooses among several
/// truths, ``truth`` names another file. ``lenient`` skips damaged parts of a video, ``stream`` chooses among several
/// videos of a file, from 1. ``levels`` are black and white of 16-bit pictures, by default the range of the first frame.
/// Positions count from 1.
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
    #[pyo3(signature = (path, *, target = None, truth = None, lenient = false, stream = None, levels = None))]
    fn new(
        py: Python<'_>,
        path: &Bound<'_, PyAny>,
        target: Option<UInt>,
        truth: Option<PathBuf>,
        lenient: bool,
        stream: Option<UInt>,
        levels: Option<(u16, u16)>,
    ) -> PyResult<Self> {
        let stream = stream.map(|stream| stream.named(py, "stream", FROM_ONE)).transpose()?;
        let target = target.map(|target| target.named(py, "target", "must be a non-negative integer")).transpose()?;
        let has_truth = target.is_some() || truth.is_some();
        let listed = |files| {
            if has_truth {
                let message = "target and truth are for folders and videos: image files by name have no truth";
                return Err(exception(py, "SettingError", message.into()));
            }
            Ok(Self { inner: Box::new(Files::of(files)) })
        };
        if let Ok(files) = path.extract::<Vec<PathBuf>>() {
            return listed(files);
        }
        let path = match path.extract::<usize>() {
            Ok(number) => format!("/dev/video{number}").into(),
            Err(_) => path.extract::<PathBuf>()?,
        };
        let files = if path.exists() { Vec::new() } else { py.detach(|| Files::matching(&path)) };
        if !files.is_empty() {
            return listed(files);
        }
        let truth = truth.map_or(Truth::Beside, Truth::File);
        let options = OpenOptions { target, truth, lenient, stream, levels, ..OpenOptions::default() };
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

    /// Width and height of the frames; None where only decoding tells.
    #[getter]
    fn size(&self) -> Option<(usize, usize)> {
        self.inner.info().size
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
    /// milliseconds of decoding)``. Arrays are gray, or colours in ``order``, blue first as in OpenCV or ``"rgb"``. A frame
    /// that cannot be read has its exception in place of the array.
    ///
    /// ``color=False`` reads the luma of a JPEG as it is stored, which takes half the time. ``track`` and ``evaluate``
    /// do so for presets that use gray values; gray values computed from colours differ a little.
    #[pyo3(signature = (start = None, end = None, *, color = true, order = "bgr"))]
    fn frames(
        &self,
        py: Python<'_>,
        start: Option<UInt>,
        end: Option<UInt>,
        color: bool,
        order: &str,
    ) -> PyResult<Frames> {
        let order = order_of(py, order)?;
        let span = self.between(py, start, end)?;
        let channels = if color { Channels::Color } else { Channels::Luma };
        let opened =
            py.detach(|| Prefetch::open(self.inner.as_ref(), span, Demand::from(channels), &CancelToken::default()));
        Ok(Frames { frames: Mutex::new(opened.or_raise(py)?), order, process: std::process::id() })
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
    order: Order,
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
        let mut held = try_lock(&self.frames, "iterator")?;
        let frames = &mut *held;
        loop {
            match py.detach(|| frames.next_within(POLL)) {
                Wait::Item(Item { position, name, timestamp, frame, decode_ms, .. }) => {
                    let frame = match frame {
                        Ok(frame) => array(py, frame, self.order)?,
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

/// The image in a file as an array: gray, or colours in ``order``.
#[pyfunction]
pub fn read_image<'py>(py: Python<'py>, path: PathBuf, color: bool, order: &str) -> PyResult<Bound<'py, PyAny>> {
    let channels = if color { Channels::Color } else { Channels::Luma };
    array(py, py.detach(|| decode(&path, channels)).or_raise(py)?, order_of(py, order)?)
}

/// Image files that were named one by one.
#[derive(Debug)]
struct Files(Info);

impl Source {
    pub fn info(&self) -> &Info {
        self.inner.info()
    }
}

impl FrameSource for Files {
    fn info(&self) -> &Info {
        &self.0
    }

    fn stream(&self, span: Span, demand: Demand, _: &CancelToken) -> kcf_track::Result<Stream> {
        let files = (1..).zip(self.0.images.iter().cloned()).filter(|(position, _)| span.contains(*position));
        Ok(Box::new(Images::new(files.collect(), demand, self.0.levels)))
    }
}

impl Files {
    fn of(images: Vec<PathBuf>) -> Self {
        let name = images.first().map(|first| first.to_string_lossy().into_owned()).unwrap_or_default();
        let levels = first_levels(&images);
        Self(Info { name, length: Some(images.len()), images, levels, ..Info::default() })
    }

    /// The files of a pattern such as `frames/%04d.jpg`, by their numbers; empty for a path without a pattern.
    fn matching(pattern: &Path) -> Vec<PathBuf> {
        let name = pattern.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let Some((before, rest)) = name.split_once('%') else { return Vec::new() };
        let Some((width, after)) = rest.split_once('d') else { return Vec::new() };
        let Ok(width) = format!("0{width}").parse::<usize>() else { return Vec::new() };
        let number = |path: &Path| {
            let digits = path.file_name()?.to_str()?.strip_prefix(before)?.strip_suffix(after)?;
            let is_number = digits.len() >= width && digits.bytes().all(|digit| digit.is_ascii_digit());
            digits.parse::<u64>().ok().filter(|_| is_number)
        };
        let folder = pattern.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let paths = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut found: Vec<_> = paths.filter_map(|path| Some((number(&path)?, path))).collect();
        found.sort();
        found.into_iter().map(|(_, path)| path).collect()
    }
}
