//! Boxes as files and pictures, by the exporters of the program.

use std::path::PathBuf;
use std::time::Duration;

use kcf_track::media::Item;
use kcf_track::run::Outcome;
use kcf_track::{Document, Error, LabelOptions};
use pyo3::prelude::*;

use crate::error::{Raise, exception, raise};
use crate::estimate::{Box4, Estimate};
use crate::pixels::{Order, Pixels, array};
use crate::source::Source;
use crate::tracker::order_of;

/// Reads the JSON document of a run, or labels in any format, of a ``source``, or of frames with this width and height.
/// ``clip`` names the labels that count, ``base`` is the number of the first frame. Returns the document as text, and
/// notes on what was left out or decided.
#[pyfunction]
pub fn read_document(
    py: Python<'_>,
    path: PathBuf,
    source: Option<&Source>,
    size: Option<(usize, usize)>,
    clip: Option<String>,
    base: Option<usize>,
) -> PyResult<(String, Vec<String>)> {
    if !path.is_dir() {
        std::fs::File::open(&path).map_err(|source| raise(py, &Error::io(&path, source)))?;
    }
    if base.is_some_and(|base| base > 1) {
        return Err(exception(py, "SettingError", "base must be 0 or 1, the number of the first frame".into()));
    }
    let options = LabelOptions { clip, base, ..LabelOptions::default() };
    let info = source.map(Source::info);
    let read = || Document::open(&path, info, size, &options);
    let text = py.detach(|| read().and_then(|(document, notes)| Ok((document.to_json()?, notes))));
    text.map_err(|reason| {
        // The arguments have other names on the command line.
        let reason = reason.replace("--labels-clip ", "clip=").replace("--labels-base ", "base=");
        exception(py, "FormatError", format!("{}: {reason}", path.display()))
    })
}

/// Writes the document ``text`` to ``path`` in a format, by default that of the ending.
#[pyfunction]
pub fn save_document(py: Python<'_>, text: &str, path: PathBuf, format: Option<&str>) -> PyResult<()> {
    let document = parse(py, text)?;
    py.detach(|| document.save(&path, format)).or_raise(py)
}

/// Draws the boxes of the document ``text`` on a copy of ``frame`` with colours in ``order``.
#[pyfunction]
pub fn draw_document<'py>(
    py: Python<'py>,
    text: &str,
    frame: &Bound<'py, PyAny>,
    order: &str,
    style: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let (document, order): (_, Order) = (parse(py, text)?, order_of(py, order)?);
    let pixels = Pixels::of(frame, order)?;
    let frame = pixels.frame()?;
    array(py, py.detach(|| document.draw(&frame, style)).or_raise(py)?, order)
}

/// The record of a target in a frame, as JSON text: an element of ``frames`` in a document. Without an estimate the frame
/// could not be read.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "what a record holds")]
pub fn frame_record(
    py: Python<'_>,
    position: usize,
    name: String,
    time: Option<f64>,
    id: Option<u32>,
    r#box: Box4,
    estimate: Option<&Estimate>,
    decode_ms: f64,
    track_ms: f64,
) -> PyResult<String> {
    let (x, y, w, h) = r#box;
    let (name, frame) = (if name.is_empty() { format!("{position:06}") } else { name }, Err(Error::NotInitialized));
    let (path, color, captured) = (None, None, None);
    let item = Item { position, name, path, timestamp: time, frame, color, decode_ms, captured };
    let took = Duration::try_from_secs_f64(track_ms / 1e3).unwrap_or_default();
    let estimate = estimate.map(|estimate| estimate.0);
    let outcome = Outcome { target: 0, bbox: kcf_track::BBox::new(x, y, w, h), estimate, took };
    Document::record(&item, &outcome, id).map_err(|reason| exception(py, "FormatError", reason))
}

fn parse(py: Python<'_>, text: &str) -> PyResult<Document> {
    Document::from_json(text).map_err(|reason| exception(py, "FormatError", reason))
}
