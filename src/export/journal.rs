//! The end of a run in a few numbers, and the journal that writes a run to its exports.

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::record::{FrameRecord, Run, SourceRecord, TargetRecord, rounded, to_microseconds};
use super::{Export, FrameView};
use crate::bbox::BBox;
use crate::error::{Error, Result};
use crate::eval::score_labelled;
use crate::media::{Item, Source, Span};
use crate::profile::{Profile, Stage, Stopwatch};
use crate::run::{Follower, Step};
use crate::tracker::State;

/// What a run came to: the foot of the JSON document.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Summary {
    /// Frames written.
    pub frames: usize,
    /// How many of them are in which state.
    pub states: StateCounts,
    /// Frames per second of the tracker alone: frames by the sum of `track_ms`; null when nothing was timed.
    #[serde(serialize_with = "three_digits")]
    #[cfg_attr(test, schemars(with = "Option<f64>"))]
    pub fps: Option<f64>,
    /// Frames per second of decoding alone: frames by the sum of `decode_ms`.
    #[serde(serialize_with = "three_digits")]
    #[cfg_attr(test, schemars(with = "Option<f64>"))]
    pub decode_fps: Option<f64>,
    /// Mean peak-to-sidelobe ratio of the frames that have one.
    #[serde(serialize_with = "three_digits")]
    #[cfg_attr(test, schemars(with = "Option<f64>"))]
    pub mean_psr: Option<f64>,
    /// Mean decision of the frames that have one.
    #[serde(serialize_with = "three_digits")]
    #[cfg_attr(test, schemars(with = "Option<f64>"))]
    pub mean_decision: Option<f64>,
    /// Mean confidence of the frames that have one.
    #[serde(serialize_with = "three_digits")]
    #[cfg_attr(test, schemars(with = "Option<f64>"))]
    pub mean_confidence: Option<f64>,
    /// Frames in which a refit of the machine could not settle.
    pub refits_kept: usize,
    /// How the boxes compare with the true ones; null without a ground truth beyond the first frame's.
    pub truth: Option<TruthSummary>,
    /// What each of several targets came to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<TargetSummary>,
    /// Whether the run reached its last frame.
    pub completed: bool,
    /// What ended it before that.
    pub error: Option<String>,
    /// Position of the last frame that was there, which may lie behind the last one that was followed; no document has
    /// it.
    #[serde(skip)]
    pub seen: Option<usize>,
}

/// What one of several targets came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TargetSummary {
    /// What it is called.
    pub id: u32,
    /// Frames since it began.
    pub frames: usize,
    /// How many of them are in which state.
    pub states: StateCounts,
    /// Mean confidence of the frames that have one.
    #[serde(serialize_with = "three_digits")]
    #[cfg_attr(test, schemars(with = "Option<f64>"))]
    pub mean_confidence: Option<f64>,
}

/// How many frames are in which state; of several targets each counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StateCounts {
    /// Frames whose box was given.
    pub initial: usize,
    /// Frames in which the target was found.
    pub tracking: usize,
    /// Frames in which it was found again.
    pub recovered: usize,
    /// Frames with a weak match.
    pub uncertain: usize,
    /// Frames without the target.
    pub lost: usize,
    /// Frames that could not be read.
    pub missing: usize,
}

/// How the boxes of a run compare with the true ones, over the frames that have a true box.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TruthSummary {
    /// Frames that were compared.
    pub frames: usize,
    /// Share of them whose centre error is at most 20 pixels.
    #[serde(serialize_with = "finite")]
    #[cfg_attr(test, schemars(with = "Option<f64>"))]
    pub precision_20: f64,
    /// Area under the success curve.
    #[serde(serialize_with = "finite")]
    #[cfg_attr(test, schemars(with = "Option<f64>"))]
    pub auc: f64,
    /// Mean intersection over union.
    #[serde(serialize_with = "finite")]
    #[cfg_attr(test, schemars(with = "Option<f64>"))]
    pub mean_overlap: f64,
    /// Mean distance of the centres, in pixels.
    #[serde(serialize_with = "finite")]
    #[cfg_attr(test, schemars(with = "Option<f64>"))]
    pub mean_center_error: f64,
}

fn finite<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    Some(rounded(*value, 4)).filter(|v| v.is_finite()).serialize(serializer)
}

fn three_digits<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    value.map(to_microseconds).filter(|v| v.is_finite()).serialize(serializer)
}

/// Counts the frames of a run as they come and gives its [`Summary`]. Its size does not grow with the run.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Frames, and those of them that could not be read.
    frames: usize,
    missing: usize,
    states: StateCounts,
    decode_ms: f64,
    track_ms: f64,
    psr: Mean,
    decision: Mean,
    confidence: Mean,
    refits_kept: usize,
}

/// The mean of the numbers that there are.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: f64,
    count: usize,
}

impl Mean {
    fn add(&mut self, value: Option<f32>) {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            self.sum += f64::from(value);
            self.count += 1;
        }
    }

    fn value(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

impl Tally {
    /// Counts a frame, with its only target or its first one.
    pub fn add(&mut self, record: &FrameRecord) {
        self.frames += 1;
        self.missing += usize::from(record.state == State::Missing);
        // A missing frame was neither decoded nor tracked: it must not make either look fast.
        if record.state != State::Missing {
            self.decode_ms += record.decode_ms;
        }
        self.add_further(record);
    }

    /// Counts one more target of the same frame.
    pub fn add_further(&mut self, record: &FrameRecord) {
        let count = match record.state {
            State::Initial => &mut self.states.initial,
            State::Tracking => &mut self.states.tracking,
            State::Recovered => &mut self.states.recovered,
            State::Uncertain => &mut self.states.uncertain,
            State::Lost => &mut self.states.lost,
            State::Missing => &mut self.states.missing,
        };
        *count += 1;
        if record.state != State::Missing {
            self.track_ms += record.track_ms;
        }
        // What a filter answers to the frame that it was taught says nothing of how well it follows.
        if record.state != State::Initial {
            self.psr.add(record.psr);
            self.decision.add(record.decision);
            self.confidence.add(record.confidence);
        }
        self.refits_kept += usize::from(record.refit_kept);
    }

    /// Frames counted so far.
    pub fn frames(&self) -> usize {
        self.frames
    }

    /// The summary of one of several targets.
    pub fn of_target(&self, id: u32) -> TargetSummary {
        TargetSummary { id, frames: self.frames, states: self.states, mean_confidence: self.confidence.value() }
    }

    /// Frames per second of the tracker alone, so far.
    pub fn fps(&self) -> Option<f64> {
        self.rate(self.track_ms)
    }

    /// The summary of a run that reached its last frame.
    pub fn completed(&self, truth: Option<TruthSummary>) -> Summary {
        Summary {
            frames: self.frames(),
            states: self.states,
            fps: self.fps(),
            decode_fps: self.rate(self.decode_ms),
            mean_psr: self.psr.value(),
            mean_decision: self.decision.value(),
            mean_confidence: self.confidence.value(),
            refits_kept: self.refits_kept,
            truth,
            targets: Vec::new(),
            completed: true,
            error: None,
            seen: None,
        }
    }

    /// The summary of a run that `error` ended.
    pub fn failed(&self, truth: Option<TruthSummary>, error: impl std::fmt::Display) -> Summary {
        Summary { completed: false, error: Some(error.to_string()), ..self.completed(truth) }
    }

    fn rate(&self, milliseconds: f64) -> Option<f64> {
        let rate = (self.frames - self.missing) as f64 * 1000.0 / milliseconds;
        (milliseconds > 0.0 && rate.is_finite()).then_some(rate)
    }
}

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
        let score = score_labelled(&self.labelled);
        Some(TruthSummary {
            frames: score.frames,
            precision_20: score.precision_20,
            auc: score.auc,
            mean_overlap: score.mean_overlap,
            mean_center_error: score.mean_center_error.unwrap_or(f64::NAN),
        })
    }
}

/// The exports of a run, each given every frame.
///
/// One that fails is given up and its error is returned, but only after all others have had the frame: end the run then
/// and `finish` the others, so that nothing that was computed is lost. After a
/// [broken pipe](Error::is_broken_pipe) the run may as well go on while exports remain.
#[derive(Debug, Default)]
pub struct Exports {
    open: Vec<Box<dyn Export>>,
}

impl Exports {
    /// Adds an export.
    pub fn push(&mut self, export: impl Export + 'static) {
        self.add(Box::new(export));
    }

    /// As [`Exports::push`], of one whose kind is not known.
    pub fn add(&mut self, export: Box<dyn Export>) {
        self.open.push(export);
    }

    /// Whether nothing is written any more.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Whether one of them draws on the frames.
    pub fn draw(&self) -> bool {
        self.open.iter().any(|export| export.draws())
    }

    /// [`Export::begin`] of each.
    ///
    /// # Errors
    /// The first failure.
    pub fn begin(&mut self, run: &Run) -> Result<()> {
        self.each(|export| export.begin(run))
    }

    /// [`Export::frame`] of each.
    ///
    /// # Errors
    /// The first failure.
    pub fn frame(&mut self, record: &FrameRecord, view: &FrameView<'_>) -> Result<()> {
        self.each(|export| export.frame(record, view))
    }

    /// [`Export::finish`] of each that is left.
    ///
    /// # Errors
    /// The first failure.
    pub fn finish(self, summary: &Summary) -> Result<()> {
        let mut failure = None;
        for export in self.open {
            note(&mut failure, export.finish(summary));
        }
        failure.map_or(Ok(()), Err)
    }

    fn each(&mut self, mut step: impl FnMut(&mut dyn Export) -> Result<()>) -> Result<()> {
        let mut failure = None;
        self.open.retain_mut(|export| note(&mut failure, step(export.as_mut())));
        failure.map_or(Ok(()), Err)
    }
}

/// Keeps the first failure, or the first worse than a broken pipe; says whether there was none now.
fn note(failure: &mut Option<Error>, result: Result<()>) -> bool {
    let Err(error) = result else { return true };
    if failure.as_ref().is_none_or(|first| first.is_broken_pipe() && !error.is_broken_pipe()) {
        *failure = Some(error);
    }
    false
}

#[cfg(test)]
mod summary_tests {
    use super::*;
    use crate::export::record::tests::run;

    #[test]
    fn rates_leave_missing_frames_out() {
        let (_, mut records) = run();
        let mut tally = Tally::default();
        assert_eq!(tally.completed(None).fps, None);
        records.iter().for_each(|record| tally.add(record));
        assert_eq!(tally.fps(), Some(1000.0));
        records[0].state = State::Missing;
        tally.add(&records[0]);
        let summary = tally.failed(None, "cable pulled");
        assert_eq!((summary.frames, summary.states.missing, summary.states.tracking), (3, 1, 1));
        assert_eq!(summary.fps, Some(1000.0));
        assert_eq!(summary.mean_psr.map(|psr| psr as f32), Some(9.1));
        assert_eq!((summary.mean_decision, summary.refits_kept), (Some(0.25), 1));
        assert_eq!((summary.completed, summary.error.as_deref()), (false, Some("cable pulled")));
    }

    #[test]
    fn a_truth_without_frames_has_no_numbers() {
        let nothing = TruthSummary {
            frames: 0,
            precision_20: f64::NAN,
            auc: 0.5,
            mean_overlap: 0.25,
            mean_center_error: f64::NAN,
        };
        assert_eq!(
            serde_json::to_string(&nothing).unwrap(),
            r#"{"frames":0,"precision_20":null,"auc":0.5,"mean_overlap":0.25,"mean_center_error":null}"#
        );
    }
}

#[cfg(test)]
mod exports_tests {
    use std::io::ErrorKind;
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::export::Tally;
    use crate::export::record::tests::run;

    type Log = Arc<Mutex<Vec<String>>>;

    struct Probe(&'static str, Log, Option<ErrorKind>);

    impl Export for Probe {
        fn frame(&mut self, record: &FrameRecord, _: &FrameView<'_>) -> Result<()> {
            self.1.lock().unwrap().push(format!("{} {}", self.0, record.index));
            self.2.map_or(Ok(()), |kind| Err(Error::io(self.0, kind.into())))
        }

        fn finish(self: Box<Self>, _: &Summary) -> Result<()> {
            self.1.lock().unwrap().push(format!("{} end", self.0));
            Ok(())
        }
    }

    #[test]
    fn one_that_fails_takes_no_other_with_it() {
        let (_, records) = run();
        let log = Log::default();
        let mut exports = Exports::default();
        exports.push(Probe("pipe", log.clone(), Some(ErrorKind::BrokenPipe)));
        exports.push(Probe("full", log.clone(), Some(ErrorKind::StorageFull)));
        exports.push(Probe("good", log.clone(), None));
        let error = exports.frame(&records[0], &FrameView::default()).unwrap_err();
        assert!(!error.is_broken_pipe() && error.to_string().starts_with("full"), "{error}");
        exports.frame(&records[1], &FrameView::default()).unwrap();
        exports.finish(&Tally::default().failed(None, error)).unwrap();
        assert_eq!(*log.lock().unwrap(), ["pipe 1", "full 1", "good 1", "good 2", "good end"]);
    }
}
