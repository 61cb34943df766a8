//! What a session's targets did, to all exports and into the summary.

use serde_json::Value;

use super::record::{FrameRecord, Run, SourceRecord, TargetRecord};
use super::summary::{Summary, Tally, TruthSummary};
use super::{Exports, FrameView};
use crate::bbox::BBox;
use crate::error::Result;
use crate::eval::metrics;
use crate::media::{Item, Source, Span};
use crate::profile::{Profile, Stage, Stopwatch};
use crate::run::{Follower, Step};
use crate::tracker::State;

/// Writes the steps of a session to [`Exports`] and counts them. Its memory grows by the frames that have a label, and
/// by no others.
#[derive(Debug)]
pub struct Journal<'a> {
    source: &'a dyn Source,
    exports: Exports,
    /// The head of the run; `None` once it is written.
    head: Option<Head>,
    tally: Tally,
    /// Of several targets, in the order in which the session has them.
    each: Vec<(TargetRecord, Tally)>,
    /// The label and the box of every frame that has a label, the first frame's included.
    labelled: Vec<(BBox, BBox)>,
    /// Whether one of them is not the box that was given.
    found: bool,
    /// Position of the last frame that was there, followed or not.
    seen: Option<usize>,
    clock: Stopwatch,
}

#[derive(Debug)]
struct Head {
    path: String,
    span: Span,
    parameters: Value,
}

impl<'a> Journal<'a> {
    /// Of the frames of `source` in `span`. `path` is what the source was called by, `parameters` an object of all
    /// settings.
    pub fn new(exports: Exports, source: &'a dyn Source, path: String, span: Span, parameters: Value) -> Self {
        let head = Some(Head { path, span, parameters });
        let (tally, clock) = (Tally::default(), Stopwatch::default());
        let (each, labelled) = (Vec::new(), Vec::new());
        Self { source, exports, head, tally, each, labelled, found: false, seen: None, clock }
    }

    /// Names the targets of the session, in its order: what is written then says which of them each row is of, and none
    /// is compared with the truth of the source.
    pub fn name_targets(&mut self, targets: impl IntoIterator<Item = TargetRecord>) {
        self.each = targets.into_iter().map(|target| (target, Tally::default())).collect();
    }

    /// Measures from now on how long writing takes, or no longer does.
    pub fn switch_profile(&mut self, on: bool) {
        self.clock.switch(on);
    }

    /// The time spent on writing, while that was measured.
    pub fn profile(&self) -> &Profile {
        self.clock.profile()
    }

    /// Frames written.
    pub fn frames(&self) -> usize {
        self.tally.frames()
    }

    /// Writes a step. Nothing is written, and no file touched, before a target has begun.
    ///
    /// # Errors
    /// What an export says; but an output whose reader has gone is none while others are left.
    pub fn add<F: Follower>(&mut self, step: &Step<'_, F>) -> Result<()> {
        for place in 0..step.outcomes.len() {
            self.add_target(step, place)?;
        }
        Ok(())
    }

    /// Writes the outcome at this place of a step.
    fn add_target<F: Follower>(&mut self, step: &Step<'_, F>, place: usize) -> Result<()> {
        let (item, outcome) = (step.item, &step.outcomes[place]);
        self.begin(item)?;
        let named = self.each.get_mut(outcome.target);
        let record = FrameRecord::new(item, outcome, named.as_ref().map(|(target, _)| target.id));
        let truth = match named {
            Some((_, tally)) => {
                tally.add(&record);
                None
            }
            None => self.source.true_box(item.position),
        };
        if let Some(label) = truth.filter(BBox::is_valid) {
            self.labelled.push((label, outcome.bbox));
            self.found |= record.state != State::Initial;
        }
        if place == 0 {
            self.tally.add(&record);
        } else {
            self.tally.add_further(&record);
        }
        let (path, further) = (item.path.as_deref(), step.outcomes.len() - 1 - place);
        let view = FrameView { path, pixels: item.picture(), truth, response: step.response(outcome), further };
        self.clock.start();
        let written = self.exports.frame(&record, &view);
        self.clock.lap(Stage::Export);
        self.survive(written)
    }

    /// Notes that there is a frame at `position`, whether it will be followed or not.
    pub fn saw(&mut self, position: usize) {
        self.seen = self.seen.max(Some(position));
    }

    /// Completes all outputs. `failure` is what ended the run before its last frame. When nothing was ever begun old
    /// files stay.
    ///
    /// # Errors
    /// What an export says.
    pub fn finish(&mut self, failure: Option<&str>) -> (Summary, Result<()>) {
        let truth = self.truth_summary();
        let mut summary = match failure {
            None => self.tally.completed(truth),
            Some(failure) => self.tally.failed(truth, failure),
        };
        summary.seen = self.seen;
        summary.targets = self.each.iter().map(|(target, tally)| tally.of_target(target.id)).collect();
        let exports = std::mem::take(&mut self.exports);
        self.clock.start();
        let finished = if self.frames() == 0 { Ok(()) } else { exports.finish(&summary) };
        self.clock.lap(Stage::Export);
        (summary, finished)
    }

    /// Writes the head of the run, with the size of its first frame.
    fn begin(&mut self, item: &Item) -> Result<()> {
        let Some(Head { path, span, parameters }) = self.head.take() else { return Ok(()) };
        let (width, height) = item.picture().map_or((0, 0), |frame| (frame.width(), frame.height()));
        let source = SourceRecord { path, start: span.first, end: span.last, width, height };
        let targets: Vec<_> = self.each.iter().map(|(target, _)| *target).collect();
        let run = match targets.is_empty() {
            true => Run::new(source, parameters),
            false => Run::of_many(source, parameters, targets),
        };
        let begun = self.exports.begin(&run);
        self.survive(begun)
    }

    fn survive(&self, result: Result<()>) -> Result<()> {
        match result {
            Err(error) if error.is_broken_pipe() && !self.exports.is_empty() => Ok(()),
            result => result,
        }
    }

    /// The scores over the frames that have a label; none where that is the start alone, whose box was given.
    fn truth_summary(&self) -> Option<TruthSummary> {
        if !self.found {
            return None;
        }
        let score = metrics::score_labelled(&self.labelled);
        Some(TruthSummary {
            frames: score.frames,
            precision_20: score.precision_20,
            auc: score.auc,
            mean_overlap: score.mean_overlap,
            mean_center_error: score.mean_center_error.unwrap_or(f64::NAN),
        })
    }
}
