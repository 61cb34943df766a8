//! Boxes as files and pictures, by the exporters of the program.

use std::path::PathBuf;

use kcf_track::{Document, Error, LabelOptions};
use pyo3::prelude::*;

use crate::error::{Raise, exception, raise};
use crate::pixels::{Order, Pixels, array};
use crate::source::Source;
use crate::tracker::order_of;

/// The JSON document of a run, or of labels in any format; those of a ``source``, of frames with this width and height.
/// ``clip`` names the labels that count, ``base`` is the number of the first frame. Also what was left out or decided.
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
    text.map_err(|reason| exception(py, "FormatError", format!("{}: {reason}", path.display())))
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

fn parse(py: Python<'_>, text: &str) -> PyResult<Document> {
    Document::from_json(text).map_err(|reason| exception(py, "FormatError", reason))
}
