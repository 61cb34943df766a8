//! The records of a run: of its source, its targets, each frame, and their counts at the end; and the journal that hands
//! them to all outputs. Files keep the order of the fields.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Exporter, FrameResult};
use crate::bbox::BBox;
use crate::error::{Error, Result};
use crate::eval::score_labelled;
use crate::media::{Info, Item, Span};
use crate::run::{Follower, Outcome, Step};
use crate::tracker::State;

/// Name and version of the JSON format.
pub(super) const SCHEMA: &str = "kcf-track/3";

/// The start of the JSON document.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Run {
    /// The format of the document.
    pub schema: &'static str,
    /// The version of kcf-track that wrote it.
    pub version: &'static str,
    /// The source of the frames.
    pub source: SourceRecord,
    /// All settings of the tracker.
    #[cfg_attr(test, schemars(with = "serde_json::Map<String, serde_json::Value>"))]
    pub parameters: serde_json::Value,
    /// The targets, which commands change while the run goes on.
    #[serde(skip)]
    pub targets: Vec<TargetRecord>,
    /// Whether the frames tell targets apart by their ids.
    #[serde(skip)]
    pub named: bool,
}

impl Run {
    /// A run of these targets. `parameters` is a JSON object.
    pub fn new(source: SourceRecord, parameters: serde_json::Value, targets: Vec<TargetRecord>, named: bool) -> Self {
        Self { schema: SCHEMA, version: env!("CARGO_PKG_VERSION"), source, parameters, targets, named }
    }

    /// The target of a record.
    fn target(&self, id: Option<u32>) -> Option<&TargetRecord> {
        self.targets.iter().find(|target| id.is_none_or(|id| target.id == id))
    }

    /// The name of a record's target.
    pub(super) fn name(&self, id: Option<u32>) -> Option<&str> {
        self.target(id)?.name.as_deref()
    }

    /// The class of a record's target.
    pub(super) fn class(&self, id: Option<u32>) -> &str {
        self.target(id).map_or(CLASS, TargetRecord::class)
    }

    /// The classes of all targets; [`CLASS`] stands for none.
    pub(super) fn classes(&self) -> Vec<&str> {
        let mut classes = Vec::new();
        for class in self.targets.iter().map(TargetRecord::class) {
            if !classes.contains(&class) {
                classes.push(class);
            }
        }
        if classes.is_empty() { vec![CLASS] } else { classes }
    }

    /// The place of a record's class among [`Run::classes`].
    pub(super) fn class_place(&self, id: Option<u32>) -> usize {
        let class = self.class(id);
        self.classes().iter().position(|known| *known == class).unwrap_or(0)
    }

    /// The targets, if frames tell them apart.
    pub fn named_targets(&self) -> &[TargetRecord] {
        if self.named { &self.targets } else { &[] }
    }
}

/// A target, and what a person said about it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TargetRecord {
    /// Its id in every output.
    pub id: u32,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is, as in `car`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// What was given, in the order of the frames. The first one begins the target, each later one corrects it.
    pub given: Vec<Given>,
}

/// A box that a person gave.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Given {
    /// 1-based position of the frame.
    pub frame: usize,
    /// The box `[x, y, w, h]` in pixels, the corner 0-based; null if the target is gone from this frame on.
    #[cfg_attr(test, schemars(with = "Option<[f64; 4]>"))]
    pub bbox: Option<BBox>,
}

/// The class of a target without one.
pub(super) const CLASS: &str = "target";

impl TargetRecord {
    /// What it is.
    pub(super) fn class(&self) -> &str {
        self.class.as_deref().unwrap_or(CLASS)
    }

    /// A target that begins in this box.
    pub fn new(id: u32, frame: usize, bbox: BBox) -> Self {
        Self { id, given: vec![Given { frame, bbox: Some(bbox) }], ..Self::default() }
    }

    /// Adds what is given of the same target in other frames.
    ///
    /// # Errors
    /// When something is given twice in a frame.
    pub fn join(&mut self, other: Self) -> std::result::Result<(), String> {
        for given in other.given {
            match self.given.binary_search_by_key(&given.frame, |known| known.frame) {
                Ok(_) => return Err(format!("two boxes of target {} in frame {}", self.id, given.frame)),
                Err(place) => self.given.insert(place, given),
            }
        }
        self.name = self.name.take().or(other.name);
        self.class = self.class.take().or(other.class);
        Ok(())
    }

    /// Gives it a box, in place of what was given in this frame.
    pub fn give(&mut self, frame: usize, bbox: BBox) {
        self.given.retain(|given| given.frame != frame);
        self.given.push(Given { frame, bbox: Some(bbox) });
        self.given.sort_by_key(|given| given.frame);
    }

    /// Ends it for good, at least one frame after its beginning.
    pub fn end(&mut self, frame: usize) {
        let frame = frame.max(self.start().saturating_add(1));
        self.given.retain(|given| given.frame < frame);
        self.given.push(Given { frame, bbox: None });
    }

    /// Multiplies its boxes, which are shares of the frame's size. Rounding restores the boxes that we wrote.
    pub fn scale(&mut self, width: f64, height: f64) {
        for bbox in self.given.iter_mut().filter_map(|given| given.bbox.as_mut()) {
            let sides = [bbox.x * width, bbox.y * height, bbox.w * width, bbox.h * height];
            *bbox = sides.map(|pixels| rounded(pixels, BOX_DIGITS)).into();
        }
    }

    /// Position of its first frame.
    pub fn start(&self) -> usize {
        self.given.first().map_or(usize::MAX, |given| given.frame)
    }

    /// All boxes with their frames.
    pub fn boxes(&self) -> impl Iterator<Item = (usize, BBox)> {
        self.given.iter().filter_map(|given| Some((given.frame, given.bbox?)))
    }
}

/// The source of the frames.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SourceRecord {
    /// The source as the user named it.
    pub path: String,
    /// 1-based position of the first frame.
    pub start: usize,
    /// 1-based position of the last frame; null if it is unknown when the run begins.
    pub end: Option<usize>,
    /// Frames of the whole source, exact or expected; null if it is unknown.
    pub frames: Option<usize>,
    /// Frames per second; null if the source states none.
    pub rate: Option<f64>,
    /// Width of the frames, in pixels.
    pub width: usize,
    /// Height of the frames, in pixels.
    pub height: usize,
}

/// One target in one frame: its box, the evidence for it, and the time it took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FrameRecord {
    /// 1-based position of the frame.
    pub index: usize,
    /// Name of the image file; for a video, the position in six digits.
    pub file: String,
    /// Seconds since the first frame of the source; absent for frames without times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<f64>,
    /// The target; absent if there is only one and nobody gave it an id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u32>,
    /// The box `[x, y, w, h]` in pixels, the corner 0-based; null if it is unknown.
    #[serde(serialize_with = "finite_box", deserialize_with = "any_box")]
    #[cfg_attr(test, schemars(with = "Option<[f64; 4]>"))]
    pub bbox: BBox,
    /// The corners `[x1, y1, …, x4, y4]` of a rotated target, clockwise from its original top-left corner; absent for an
    /// upright one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub polygon: Option<[f64; 8]>,
    /// The response at the box, or a machine's decision: near 1 for a KCF that sees what it has learned, up to about 2
    /// for `robust`, whose response merges in colour. Null if nothing was searched for.
    pub peak: Option<f32>,
    /// Peak-to-sidelobe ratio of the response.
    pub psr: Option<f32>,
    /// Average peak-to-correlation energy of the response.
    pub apce: Option<f32>,
    /// The kernel machine's decision about the window at the box; null without one.
    pub decision: Option<f32>,
    /// Whether a refit of the machine did not converge in this frame, so the earlier model was kept.
    #[serde(default)]
    pub refit_kept: bool,
    /// The state of the target.
    pub state: State,
    /// The probability that the box overlaps the target by more than half; null for trackers without calibration and
    /// for `initial` and `missing` frames.
    pub confidence: Option<f32>,
    /// The response of a slowly learning filter at the box; null for trackers without one.
    pub long_term: Option<f32>,
    /// How much the box looks like what was given: about 1 for the target as it was, -1 for its surroundings; null for
    /// trackers that do not compare.
    pub identity: Option<f32>,
    /// Milliseconds of reading and decoding, to the microsecond.
    pub decode_ms: f64,
    /// Milliseconds of tracking, to the microsecond.
    pub track_ms: f64,
    /// When the frame was decoded, in seconds since 1970; absent for frames that do not come live.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub captured: Option<f64>,
}

impl SourceRecord {
    /// The frames of a source in `span`, before the first of them is read. `path` is the source as the user named it.
    pub fn new(path: String, info: &Info, span: Span) -> Self {
        let (frames, (width, height)) = (info.length.or(info.expected_length), info.size.unwrap_or_default());
        let rate = info.rate.filter(|rate| rate.is_finite());
        Self { path, start: span.first, end: span.last, frames, rate, width, height }
    }
}

impl FrameRecord {
    /// The outcome of a target in a frame, rounded to significant digits.
    pub fn new(item: &Item, outcome: &Outcome, id: Option<u32>) -> Self {
        let evidence = outcome.estimate.map(|estimate| estimate.evidence);
        let raw = Self {
            index: item.position,
            file: item.name.clone(),
            time: item.timestamp,
            id,
            bbox: outcome.bbox,
            polygon: outcome.estimate.and_then(|estimate| estimate.polygon),
            peak: evidence.map(|evidence| evidence.peak),
            psr: evidence.map(|evidence| evidence.psr),
            apce: evidence.map(|evidence| evidence.apce),
            decision: evidence.and_then(|evidence| evidence.decision),
            refit_kept: evidence.is_some_and(|evidence| evidence.refit_kept),
            state: outcome.estimate.map_or(State::Missing, |estimate| estimate.state),
            confidence: evidence.and_then(|evidence| evidence.confidence),
            long_term: evidence.and_then(|evidence| evidence.long_term),
            identity: evidence.and_then(|evidence| evidence.identity),
            decode_ms: item.decode_ms,
            track_ms: outcome.took.as_secs_f64() * 1e3,
            captured: item.captured,
        };
        raw.rounded()
    }

    /// The record, rounded to significant digits.
    pub(super) fn rounded(self) -> Self {
        let single = |value: Option<f32>, digits| {
            value.map(|value| rounded(f64::from(value), digits) as f32).filter(|value| value.is_finite())
        };
        Self {
            time: self.time.map(|seconds| rounded(seconds, 6)),
            bbox: <[f64; 4]>::from(self.bbox).map(|number| rounded(number, BOX_DIGITS)).into(),
            polygon: self.polygon.map(|corners| corners.map(|number| rounded(number, BOX_DIGITS))),
            peak: single(self.peak, 4),
            psr: single(self.psr, 3),
            apce: single(self.apce, 3),
            decision: single(self.decision, 4),
            confidence: single(self.confidence, CONFIDENCE_DIGITS),
            long_term: single(self.long_term, 4),
            identity: single(self.identity, 4),
            decode_ms: rounded(self.decode_ms, 3),
            track_ms: rounded(self.track_ms, 3),
            captured: self.captured.map(|seconds| rounded(seconds, 4)),
            ..self
        }
    }

    /// Whether the target is there: neither lost nor in an unreadable frame.
    pub(super) fn is_visible(&self) -> bool {
        !matches!(self.state, State::Lost | State::Missing)
    }

    /// The box, unless one of its numbers is not finite.
    pub fn finite_box(&self) -> Option<BBox> {
        Some(self.bbox).filter(BBox::is_finite)
    }
}

/// The box, or null if one of its numbers is not finite.
fn finite_box<S: Serializer>(bbox: &BBox, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    Some(bbox).filter(|bbox| bbox.is_finite()).serialize(serializer)
}

/// The box; null is one without a finite number.
fn any_box<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<BBox, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or([f64::NAN; 4].into()))
}

/// Decimals of a pixel.
pub(super) const BOX_DIGITS: i32 = 4;

/// Decimals of a confidence.
pub(super) const CONFIDENCE_DIGITS: i32 = 4;

/// Rounds to `digits` decimals; NaN and huge numbers stay as they are.
pub(super) fn rounded(value: f64, digits: i32) -> f64 {
    let unit = 10f64.powi(digits);
    let scaled = value * unit;
    // Adding zero turns -0 into 0.
    if scaled.is_finite() { scaled.round() / unit + 0.0 } else { value }
}

/// Writes the steps of a session to [`Exports`] and counts them.
pub struct Journal<'a> {
    info: &'a Info,
    exports: Exports,
    /// The size of the frames is that of the first one written.
    run: Run,
    tally: Tally,
    /// The true and the tracked box of every frame that has both.
    labelled: Vec<(BBox, BBox)>,
    /// Whether one of them was tracked rather than given.
    is_scored: bool,
    /// Position of the latest frame, and how many before it were left out.
    last: usize,
    dropped: usize,
    /// Whether the boxes were found in an earlier pass.
    pub repeats: bool,
}

impl<'a> Journal<'a> {
    /// Creates a journal for a run of a source. Targets that are [named](Run::named) are not compared with the ground
    /// truth.
    pub fn new(exports: Exports, info: &'a Info, run: Run) -> Self {
        let (tally, labelled, last) = (Tally::default(), Vec::new(), run.source.start.saturating_sub(1));
        Self { info, exports, run, tally, labelled, is_scored: false, last, dropped: 0, repeats: false }
    }

    /// The targets, in the order of the session. They may grow and change while it runs.
    pub fn targets(&mut self) -> &mut Vec<TargetRecord> {
        &mut self.run.targets
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
        self.dropped += step.item.position.saturating_sub(self.last + 1);
        self.last = step.item.position;
        if step.outcomes.is_empty() {
            return Ok(());
        }
        let pixels = step.item.picture();
        if let Some(frame) = pixels.as_ref().filter(|_| self.frames() == 0) {
            (self.run.source.width, self.run.source.height) = frame.size();
        }
        let truth = if self.run.named { None } else { self.info.true_box(step.item.position) };
        let mut records = Vec::with_capacity(step.outcomes.len());
        for outcome in step.outcomes {
            let id = self.run.named_targets().get(outcome.target).map(|target| target.id);
            let record = FrameRecord::new(step.item, outcome, id);
            if let Some(label) = truth.filter(BBox::is_valid) {
                self.labelled.push((label, outcome.bbox));
                self.is_scored |= record.state != State::Initial;
            }
            records.push(record);
        }
        self.tally.add(&records);
        let responses: Vec<_> = step.outcomes.iter().map(|outcome| step.response(outcome)).collect();
        let path = step.item.path.as_deref();
        let frame = FrameResult { run: &self.run, records: &records, path, pixels, truth, responses: &responses };
        let written = self.exports.write(&frame);
        match written {
            Err(error) if error.is_broken_pipe() && !self.exports.0.is_empty() => Ok(()),
            written => written,
        }
    }

    /// Completes all outputs. `failure` is what ended the run early. Without a frame the old files stay.
    pub fn finish(&mut self, failure: Option<&str>) -> (Summary, Result<()>) {
        let summary = self.tally.summary(self.run.named_targets(), self.truth_summary(), failure);
        // Of boxes that are repeated, the time says nothing.
        let fps = summary.fps.filter(|_| !self.repeats);
        let summary = Summary { dropped: self.dropped, fps, ..summary };
        let exports = std::mem::take(&mut self.exports);
        let finished = if self.frames() == 0 { Ok(()) } else { exports.finish(&self.run, &summary) };
        (summary, finished)
    }

    /// The scores; `None` if only the given box has a label.
    fn truth_summary(&self) -> Option<TruthSummary> {
        let score = self.is_scored.then(|| score_labelled(&self.labelled))?;
        Some(TruthSummary {
            frames: score.frames,
            precision_20: rounded(score.precision_20, 4),
            auc: rounded(score.auc, 4),
            mean_overlap: rounded(score.mean_overlap, 4),
            mean_center_error: rounded(score.mean_center_error.unwrap_or(f64::NAN), 4),
        })
    }
}

/// All outputs of a run. One that fails is dropped; the others go on.
#[derive(Default)]
pub struct Exports(pub Vec<Box<dyn Exporter>>);

impl Exports {
    /// Whether an exporter draws on the frames.
    pub fn draws(&self) -> bool {
        self.0.iter().any(|exporter| exporter.draws())
    }

    /// Writes one frame to all.
    ///
    /// # Errors
    /// The first failure, after all others have the frame.
    pub fn write(&mut self, frame: &FrameResult<'_>) -> Result<()> {
        let mut failure = None;
        self.0.retain_mut(|exporter| keep_first(&mut failure, exporter.write(frame)));
        failure.map_or(Ok(()), Err)
    }

    /// Completes all.
    ///
    /// # Errors
    /// The first failure, after all others are complete.
    pub fn finish(self, run: &Run, summary: &Summary) -> Result<()> {
        let mut failure = None;
        for exporter in self.0 {
            keep_first(&mut failure, exporter.finish(run, summary));
        }
        failure.map_or(Ok(()), Err)
    }
}

/// Keeps the first failure; a broken pipe gives way to any other. Returns whether `result` is `Ok`.
fn keep_first(failure: &mut Option<Error>, result: Result<()>) -> bool {
    let Err(error) = result else { return true };
    if failure.as_ref().is_none_or(|first| first.is_broken_pipe() && !error.is_broken_pipe()) {
        *failure = Some(error);
    }
    false
}

/// Counts and means of a run: the end of the JSON document.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Summary {
    /// Frames written.
    pub frames: usize,
    /// Frames per state.
    pub states: StateCounts,
    /// Frames per second of the tracker alone: frames by the sum of `track_ms`; null if nothing was timed.
    pub fps: Option<f64>,
    /// Frames per second of decoding alone: frames by the sum of `decode_ms`.
    pub decode_fps: Option<f64>,
    /// Mean peak-to-sidelobe ratio of the frames that have one.
    pub mean_psr: Option<f64>,
    /// Mean decision of the frames that have one.
    pub mean_decision: Option<f64>,
    /// Mean confidence of the frames that have one.
    pub mean_confidence: Option<f64>,
    /// Frames in which a refit of the machine did not converge.
    pub refits_kept: usize,
    /// Frames between the first and the last that were left out because newer ones had come.
    pub dropped: usize,
    /// When targets were lost, in the order in which they were; at most 1,000.
    pub lost: Vec<LostSpan>,
    /// Comparison with the ground truth; null without a true box beyond the first frame's.
    pub truth: Option<TruthSummary>,
    /// Counts of each target, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<TargetSummary>,
    /// Whether the run reached its last frame.
    pub completed: bool,
    /// The error that ended it earlier.
    pub error: Option<String>,
}

/// The frames from the one in which a target was lost to the one in which it was found again.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LostSpan {
    /// The target, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u32>,
    /// 1-based position of the first frame in which it was lost.
    pub lost: usize,
    /// 1-based position of the frame in which it was found again, or was given a box; null if it never was.
    pub found: Option<usize>,
    /// Seconds from the first frame of the source to `lost`; null for frames without times.
    pub lost_time: Option<f64>,
    /// The same for `found`.
    pub found_time: Option<f64>,
}

/// Counts and means of one of several targets.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TargetSummary {
    /// Its id.
    pub id: u32,
    /// Frames since it began.
    pub frames: usize,
    /// Frames per state.
    pub states: StateCounts,
    /// Mean confidence of the frames that have one.
    pub mean_confidence: Option<f64>,
}

/// Frames per state; each target counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StateCounts {
    /// Frames with a given box.
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

impl StateCounts {
    fn of(&mut self, state: State) -> &mut usize {
        match state {
            State::Initial => &mut self.initial,
            State::Tracking => &mut self.tracking,
            State::Recovered => &mut self.recovered,
            State::Uncertain => &mut self.uncertain,
            State::Lost => &mut self.lost,
            State::Missing => &mut self.missing,
        }
    }
}

/// Comparison with the ground truth, over the frames that have a true box.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TruthSummary {
    /// Frames compared.
    pub frames: usize,
    /// Share of them whose centre error is at most 20 pixels.
    pub precision_20: f64,
    /// Area under the success curve.
    pub auc: f64,
    /// Mean intersection over union.
    pub mean_overlap: f64,
    /// Mean distance of the centres, in pixels; null if one of them is not finite.
    #[cfg_attr(test, schemars(with = "Option<f64>"))]
    pub mean_center_error: f64,
}

/// Spans that are listed.
const MAX_SPANS: usize = 1000;

/// Counts the frames of a run for its [`Summary`]. Its size is limited.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// What is counted of all targets.
    counts: Summary,
    /// Frames that could be read.
    readable: usize,
    decode_ms: f64,
    track_ms: f64,
    psr: Mean,
    decision: Mean,
    confidence: Mean,
    /// The targets with an id, and the means of their confidence.
    targets: BTreeMap<u32, (TargetSummary, Mean)>,
}

/// A mean of the values that are there.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: f64,
    count: usize,
}

impl Mean {
    fn add(&mut self, value: Option<f32>) {
        if let Some(value) = value {
            self.sum += f64::from(value);
            self.count += 1;
        }
    }

    fn value(self) -> Option<f64> {
        (self.count > 0).then(|| rounded(self.sum / self.count as f64, 3))
    }
}

impl Tally {
    /// The counts of records in the order of their frames.
    pub fn of(records: &[FrameRecord]) -> Self {
        let mut tally = Self::default();
        records.chunk_by(|a, b| a.index == b.index).for_each(|records| tally.add(records));
        tally
    }

    /// Counts a frame. It has one record per target, at least one.
    pub fn add(&mut self, records: &[FrameRecord]) {
        self.counts.frames += 1;
        // A missing frame was neither decoded nor tracked and must not raise the rates.
        if let Some(first) = records.first().filter(|first| first.state != State::Missing) {
            self.readable += 1;
            self.decode_ms += first.decode_ms;
        }
        for record in records {
            self.track_ms += record.track_ms;
            self.counts.refits_kept += usize::from(record.refit_kept);
            // The response to the training frame says nothing about tracking.
            if record.state != State::Initial {
                self.psr.add(record.psr);
                self.decision.add(record.decision);
            }
            *self.counts.states.of(record.state) += 1;
            self.confidence.add(record.confidence);
            self.follow_loss(record);
            if let Some(id) = record.id {
                let (target, confidence) = self.targets.entry(id).or_default();
                target.frames += 1;
                *target.states.of(record.state) += 1;
                confidence.add(record.confidence);
            }
        }
    }

    /// Begins or ends a span in which a target is lost; an unreadable frame does neither.
    fn follow_loss(&mut self, record: &FrameRecord) {
        let lost = &mut self.counts.lost;
        let is_full = lost.len() >= MAX_SPANS;
        let open = lost.iter_mut().rev().find(|span| span.id == record.id).filter(|span| span.found.is_none());
        let (index, time) = (record.index, record.time);
        match (record.state, open) {
            (State::Lost, None) if !is_full => {
                let (found, found_time) = (None, None);
                lost.push(LostSpan { id: record.id, lost: index, found, lost_time: time, found_time });
            }
            (State::Lost | State::Missing, _) | (_, None) => {}
            (_, Some(span)) => (span.found, span.found_time) = (Some(index), time),
        }
    }

    /// Frames counted so far.
    pub fn frames(&self) -> usize {
        self.counts.frames
    }

    /// The summary of a run of these targets, if they have ids. `error` ended the run.
    pub fn summary(&self, targets: &[TargetRecord], truth: Option<TruthSummary>, error: Option<&str>) -> Summary {
        let rate = |milliseconds: f64| {
            let rate = rounded(self.readable as f64 * 1000.0 / milliseconds, 3);
            (milliseconds > 0.0 && rate.is_finite()).then_some(rate)
        };
        let of_target = |target: &TargetRecord| {
            let (counts, confidence) = self.targets.get(&target.id).cloned().unwrap_or_default();
            TargetSummary { id: target.id, mean_confidence: confidence.value(), ..counts }
        };
        Summary {
            fps: rate(self.track_ms),
            decode_fps: rate(self.decode_ms),
            mean_psr: self.psr.value(),
            mean_decision: self.decision.value(),
            mean_confidence: self.confidence.value(),
            truth,
            targets: targets.iter().map(of_target).collect(),
            completed: error.is_none(),
            error: error.map(String::from),
            ..self.counts.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::tests::run;
    use crate::tracker::{Estimate, Evidence};

    #[test]
    fn numbers_are_rounded_to_significant_digits() {
        let item = Item {
            name: "0002.jpg".into(),
            captured: Some(1.0 / 3.0),
            ..Item::numbered(2, None, Err(crate::error::Error::NotInitialized), 1.0 / 3.0)
        };
        let bbox = BBox::new(13.799999999999997, -0.00001, 1.0 / 3.0, 1e300);
        let evidence = Evidence {
            peak: 2.0 / 3.0,
            psr: 30.123456,
            apce: f32::NAN,
            decision: Some(-0.123456),
            long_term: Some(0.654321),
            identity: Some(-0.5),
            confidence: Some(0.99999),
            ..Evidence::default()
        };
        let polygon = Some([1.0 / 3.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, -8.00001]);
        let estimate = Some(Estimate { bbox, polygon, state: State::Tracking, evidence });
        let outcome = Outcome { target: 0, bbox, estimate, took: std::time::Duration::from_nanos(1_234_567) };
        let text = serde_json::to_string(&FrameRecord::new(&item, &outcome, None)).unwrap();
        let expected = concat!(
            r#"{"index":2,"file":"0002.jpg","bbox":[13.8,0.0,0.3333,1e+300],"#,
            r#""polygon":[0.3333,2.0,3.0,4.0,5.0,6.0,7.0,-8.0],"peak":0.6667,"psr":30.123,"apce":null,"#,
            r#""decision":-0.1235,"refit_kept":false,"state":"tracking","confidence":1.0,"#,
            r#""long_term":0.6543,"identity":-0.5,"decode_ms":0.333,"track_ms":1.235,"captured":0.3333}"#
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn nonfinite_numbers_become_null() {
        let (_, mut records) = run();
        records[1].bbox.w = f64::NAN;
        records[1].peak = Some(f32::NAN);
        let text = serde_json::to_string(&records[1]).unwrap();
        assert!(text.contains(r#""bbox":null,"peak":null,"psr":9.1,"#), "{text}");
        assert_eq!(records[1].finite_box(), None);
    }

    #[test]
    fn rates_leave_missing_frames_out() {
        let (_, mut records) = run();
        let mut tally = Tally::default();
        assert_eq!(tally.summary(&[], None, None).fps, None);
        records.iter().for_each(|record| tally.add(std::slice::from_ref(record)));
        records[0] = FrameRecord { state: State::Missing, track_ms: 0.0, ..records[0].clone() };
        tally.add(&records[..1]);
        let summary = tally.summary(&[], None, Some("cable pulled"));
        assert_eq!((summary.frames, summary.states.missing, summary.states.tracking), (3, 1, 1));
        assert_eq!((summary.fps, summary.decode_fps), (Some(1000.0), Some(500.0)));
        assert_eq!((summary.mean_psr, summary.mean_decision, summary.refits_kept), (Some(9.1), Some(0.25), 1));
        assert_eq!((summary.completed, summary.error.as_deref()), (false, Some("cable pulled")));
    }

    #[test]
    fn a_loss_lasts_until_the_target_is_found() {
        let (_, records) = run();
        let mut tally = Tally::default();
        for (index, state) in (1..).zip([State::Tracking, State::Lost, State::Missing, State::Lost, State::Recovered]) {
            let time = Some(index as f64);
            tally.add(&[FrameRecord { index, state, time, ..records[1].clone() }]);
        }
        tally.add(&[FrameRecord { index: 6, state: State::Lost, ..records[1].clone() }]);
        let lost = tally.summary(&[], None, None).lost;
        let places: Vec<_> = lost.iter().map(|span| (span.lost, span.found, span.lost_time, span.found_time)).collect();
        assert_eq!(places, [(2, Some(5), Some(2.0), Some(5.0)), (6, None, None, None)]);
    }

    #[test]
    fn each_target_has_its_own_counts() {
        let (_, records) = run();
        let named = |record: &FrameRecord, id| FrameRecord { id: Some(id), ..record.clone() };
        let mut tally = Tally::default();
        tally.add(&[named(&records[0], 3)]);
        tally.add(&[named(&records[1], 3), named(&records[0], 8)]);
        let targets = [3, 8, 9].map(|id| TargetRecord::new(id, 1, records[0].bbox));
        let summary = tally.summary(&targets, None, None);
        assert_eq!((summary.frames, summary.states.initial, summary.states.tracking), (2, 2, 1));
        let counts =
            |target: &TargetSummary| (target.id, target.frames, target.states.tracking, target.mean_confidence);
        let counts: Vec<_> = summary.targets.iter().map(counts).collect();
        assert_eq!(counts, [(3, 2, 1, Some(0.75)), (8, 1, 0, None), (9, 0, 0, None)]);
    }
}
