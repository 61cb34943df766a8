//! The files of a run: the library's exports, fed from Python.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kcf_track::eval::metrics;
use kcf_track::export::{
    Coco, Csv, Cvat, Destination, Exports, FrameRecord, FrameView, Json, JsonLines, LabelStudio, Mot, Otb, Run,
    SourceRecord, Summary, Tally, TruthSummary, check_distinct,
};
use kcf_track::run::Outcome;
use kcf_track::source::Item;
use kcf_track::{BBox, Error};
use pyo3::prelude::*;

use crate::error::Raise;
use crate::estimate::{Box4, Estimate};
use crate::source::Source;
use crate::tracker::Tracker;

/// Writes the frames of a run of one target to any of the program's files, in the program's forms.
#[pyclass(frozen, module = "kcf_track._native")]
pub struct Writer(Mutex<Inner>);

struct Inner {
    exports: Exports,
    tally: Tally,
    /// The label and the box of every frame that has a label.
    labelled: Vec<(BBox, BBox)>,
    /// Whether one of them is not the box that was given.
    found: bool,
    run: Option<Run>,
}

#[pymethods]
impl Writer {
    /// Opens the outputs: pairs of a form (the name of its flag) and a path, ``-`` being the
    /// standard output. Nothing is written before the first frame.
    #[new]
    fn new(py: Python<'_>, outputs: Vec<(String, PathBuf)>, source: Option<Py<Source>>) -> PyResult<Self> {
        let opened = open(&outputs, source.as_ref().map(Py::get));
        let exports = opened.or_raise(py)?;
        let (tally, labelled) = (Tally::default(), Vec::new());
        Ok(Self(Mutex::new(Inner { exports, tally, labelled, found: false, run: None })))
    }

    /// Says what is run: the name of the source, its first and last position, the size of its frames.
    fn begin(
        &self,
        py: Python<'_>,
        tracker: &Bound<'_, Tracker>,
        path: String,
        start: usize,
        end: Option<usize>,
        size: (usize, usize),
    ) -> PyResult<()> {
        let source = SourceRecord { path, start, end, width: size.0, height: size.1 };
        let run = Run::new(source, tracker.get().document());
        let inner = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let begun = inner.exports.begin(&run);
        inner.run = Some(run);
        survive(begun, &inner.exports).or_raise(py)
    }

    /// Writes a frame; ``estimate`` is None of one that could not be read.
    #[expect(clippy::too_many_arguments, reason = "a row has as many fields")]
    fn add(
        &self,
        py: Python<'_>,
        position: usize,
        name: String,
        last: Box4,
        estimate: Option<Py<Estimate>>,
        truth: Option<Box4>,
        time: Option<f64>,
        decode_ms: f64,
        track_ms: f64,
    ) -> PyResult<()> {
        let bbox = BBox::new(last.0, last.1, last.2, last.3);
        // What a record takes of an item; the pixels are no part of it.
        let frame = Err(Error::NotInitialized);
        let item = Item { position, name, path: None, timestamp: time, frame, color: None, decode_ms };
        let took = Duration::try_from_secs_f64(track_ms / 1e3).unwrap_or_default();
        let outcome = Outcome { target: 0, bbox, estimate: estimate.map(|estimate| estimate.get().0), took };
        let record = FrameRecord::new(&item, &outcome, None);
        let inner = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(label) = truth.map(|(x, y, w, h)| BBox::new(x, y, w, h)).filter(BBox::is_valid) {
            inner.labelled.push((label, bbox));
            inner.found |= record.state != kcf_track::State::Initial;
        }
        inner.tally.add(&record);
        let written = py.detach(|| inner.exports.frame(&record, &FrameView::default()));
        survive(written, &inner.exports).or_raise(py)
    }

    /// Completes the files, and gives the summary as JSON; ``failure`` is what ended the run before its last frame.
    #[pyo3(signature = (failure = None))]
    fn finish(&self, py: Python<'_>, failure: Option<&str>) -> PyResult<String> {
        let inner = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let summary = inner.summary(failure);
        let exports = std::mem::take(&mut inner.exports);
        if inner.run.is_some() {
            py.detach(|| exports.finish(&summary)).or_raise(py)?;
        }
        Ok(serde_json::to_string(&summary).unwrap_or_default())
    }
}

impl Inner {
    fn summary(&self, failure: Option<&str>) -> Summary {
        let truth = self.found.then(|| {
            let score = metrics::score_labelled(&self.labelled);
            TruthSummary {
                frames: score.frames,
                precision_20: score.precision_20,
                auc: score.auc,
                mean_overlap: score.mean_overlap,
                mean_center_error: score.mean_center_error.unwrap_or(f64::NAN),
            }
        });
        match failure {
            None => self.tally.completed(truth),
            Some(failure) => self.tally.failed(truth, failure),
        }
    }
}

fn open(outputs: &[(String, PathBuf)], source: Option<&Source>) -> kcf_track::Result<Exports> {
    let places: Vec<(&'static str, Destination)> =
        outputs.iter().map(|(form, path)| (name_of(form), Destination::from(path.as_path()))).collect();
    check_distinct(&places.iter().map(|(form, place)| (*form, place)).collect::<Vec<_>>())?;
    let mut exports = Exports::default();
    for (form, place) in &places {
        if let (Destination::File(path), Some(what)) =
            (place, source.and_then(|source| source.source().occupies(place.path())))
        {
            let reason = format!("this {what}; name another place");
            return Err(Error::Output { path: path.clone(), reason });
        }
        match *form {
            "json" => exports.push(Json::create(place)?),
            "jsonl" => exports.push(JsonLines::create(place)?),
            "otb" => exports.push(Otb::create(place)?),
            "mot" => exports.push(Mot::create(place)?),
            "coco" => exports.push(Coco::create(place)?),
            "cvat" => exports.push(Cvat::create(place)?),
            "label-studio" => exports.push(LabelStudio::create(place)?),
            _ => exports.push(Csv::create(place)?),
        }
    }
    Ok(exports)
}

/// What can be written, but for the table that stands for all else.
const FORMS: [&str; 7] = ["json", "jsonl", "otb", "mot", "coco", "cvat", "label-studio"];

fn name_of(form: &str) -> &'static str {
    FORMS.into_iter().find(|name| *name == form).unwrap_or("csv")
}

/// An output whose reader has gone is no failure while others are left.
fn survive(result: kcf_track::Result<()>, exports: &Exports) -> kcf_track::Result<()> {
    match result {
        Err(error) if error.is_broken_pipe() && !exports.is_empty() => Ok(()),
        result => result,
    }
}
