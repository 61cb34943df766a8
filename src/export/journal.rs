//! Writes a session's steps to all outputs.

use serde_json::Value;

use super::record::{FrameRecord, Run, SourceRecord, TargetRecord};
use super::summary::{Summary, Tally, TruthSummary};
use super::{Exports, FrameResult};
use crate::bbox::BBox;
use crate::error::Result;
use crate::eval::score_labelled;
use crate::media::{Info, Span};
use crate::profile::{Profile, Stage, Stopwatch};
use crate::run::{Follower, Step};
use crate::tracker::State;

/// Writes the steps of a session to [`Exports`] and counts them.
#[derive(Debug)]
pub struct Journal<'a> {
    info: &'a Info,
    exports: Exports,
    /// The size of the frames is that of the first one written.
    run: Run,
    tally: Tally,
    /// The tally of each target, if there are several.
    each: Vec<Tally>,
    /// The true and the tracked box of every frame that has both.
    labelled: Vec<(BBox, BBox)>,
    /// Whether one of them was tracked rather than given.
    is_scored: bool,
    clock: Stopwatch,
}

impl<'a> Journal<'a> {
    /// Creates a journal for the frames of a source in `span`. `path` is the source as the user named it, `parameters`
    /// a JSON object of all settings.
    pub fn new(exports: Exports, info: &'a Info, path: String, span: Span, parameters: Value) -> Self {
        let record = SourceRecord { path, start: span.first, end: span.last, width: 0, height: 0 };
        Self {
            info,
            exports,
            run: Run::new(record, parameters),
            tally: Tally::default(),
            each: Vec::new(),
            labelled: Vec::new(),
            is_scored: false,
            clock: Stopwatch::default(),
        }
    }

    /// Writes the targets by their ids, in the order of the session. They are not compared with the ground truth.
    pub fn name_targets(&mut self, targets: impl IntoIterator<Item = TargetRecord>) {
        let Run { source, parameters, .. } = self.run.clone();
        self.run = Run::of_many(source, parameters, targets.into_iter().collect());
        self.each = vec![Tally::default(); self.run.targets.len()];
    }

    /// Switches the measurement of the time spent on writing.
    pub fn switch_profile(&mut self, on: bool) {
        self.clock.switch(on);
    }

    /// The time spent on writing.
    pub fn profile(&self) -> &Profile {
        self.clock.profile()
    }

    /// Frames written.
    pub fn frames(&self) -> usize {
        self.tally.frames()
    }

    /// Writes a step. A step without targets writes nothing.
    ///
    /// # Errors
    /// The failure of an output; a closed pipe is one only if no output is left.
    pub fn add<F: Follower>(&mut self, step: &Step<'_, F>) -> Result<()> {
        if step.outcomes.is_empty() {
            return Ok(());
        }
        let pixels = step.item.picture();
        if let Some(frame) = pixels.as_ref().filter(|_| self.frames() == 0) {
            (self.run.source.width, self.run.source.height) = (frame.width(), frame.height());
        }
        let is_named = !self.each.is_empty();
        let truth = if is_named { None } else { self.info.true_box(step.item.position) };
        let mut records = Vec::with_capacity(step.outcomes.len());
        for (i, outcome) in step.outcomes.iter().enumerate() {
            let id = self.run.targets.get(outcome.target).map(|target| target.id);
            let record = FrameRecord::new(step.item, outcome, id);
            if let Some(label) = truth.filter(BBox::is_valid) {
                self.labelled.push((label, outcome.bbox));
                self.is_scored |= record.state != State::Initial;
            }
            match i {
                0 => self.tally.add(&record),
                _ => self.tally.add_further(&record),
            }
            if let Some(tally) = self.each.get_mut(outcome.target) {
                tally.add(&record);
            }
            records.push(record);
        }
        let responses: Vec<_> = step.outcomes.iter().map(|outcome| step.response(outcome)).collect();
        let path = step.item.path.as_deref();
        let frame = FrameResult { run: &self.run, records: &records, path, pixels, truth, responses: &responses };
        self.clock.start();
        let written = self.exports.write(&frame);
        self.clock.lap(Stage::Export);
        match written {
            Err(error) if error.is_broken_pipe() && !self.exports.is_empty() => Ok(()),
            written => written,
        }
    }

    /// Completes all outputs. `failure` is what ended the run early. Without a frame the old files stay.
    pub fn finish(&mut self, failure: Option<&str>) -> (Summary, Result<()>) {
        let truth = self.truth_summary();
        let mut summary = match failure {
            None => self.tally.completed(truth),
            Some(failure) => self.tally.failed(truth, failure),
        };
        let targets = self.run.targets.iter().zip(&self.each);
        summary.targets = targets.map(|(target, tally)| tally.of_target(target.id)).collect();
        let exports = std::mem::take(&mut self.exports);
        self.clock.start();
        let finished = if self.frames() == 0 { Ok(()) } else { exports.finish(&self.run, &summary) };
        self.clock.lap(Stage::Export);
        (summary, finished)
    }

    /// The scores; `None` if only the given box has a label.
    fn truth_summary(&self) -> Option<TruthSummary> {
        let score = self.is_scored.then(|| score_labelled(&self.labelled))?;
        Some(TruthSummary {
            frames: score.frames,
            precision_20: score.precision_20,
            auc: score.auc,
            mean_overlap: score.mean_overlap,
            mean_center_error: score.mean_center_error.unwrap_or(f64::NAN),
        })
    }
}
