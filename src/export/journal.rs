//! The journal of a run, which hands its records to all outputs and counts them for the summary at the end. Files keep the
//! order of the summary's fields.

use std::collections::BTreeMap;

use serde::Serialize;

use super::record::{FrameRecord, Run, TargetRecord, rounded};
use super::{Exporter, FrameHead, FrameResult};
use crate::bbox::BBox;
use crate::error::{Error, Result};
use crate::eval::score_labelled;
use crate::media::Info;
use crate::run::{Follower, Outcome, Step};
use crate::tracker::State;

/// Writes the steps of a session to [`Exports`] and counts them.
pub struct Journal<'a> {
    info: &'a Info,
    exports: Exports,
    /// The run; its frame size is that of the first frame written.
    pub run: Run,
    is_sized: bool,
    tally: Tally,
    /// The true and the tracked box of every frame that has both.
    labelled: Vec<(BBox, BBox)>,
    /// Whether one of the labelled boxes was tracked rather than given.
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
        Self {
            info,
            exports,
            run,
            is_sized: false,
            tally,
            labelled,
            is_scored: false,
            last,
            dropped: 0,
            repeats: false,
        }
    }

    /// Forgets ended targets beyond the first [`LISTED_TARGETS`], unless an output lists them: a run without end does not grow.
    fn forget_ended(&mut self) {
        if self.run.targets.len() <= LISTED_TARGETS || self.exports.0.iter().any(|exporter| exporter.lists_ended()) {
            return;
        }
        let Self { run, tally, last, .. } = self;
        let recent = run.targets.split_off(LISTED_TARGETS);
        let has_ended =
            |target: &TargetRecord| target.given.last().is_some_and(|end| end.bbox.is_none() && end.frame <= *last);
        for target in recent {
            if has_ended(&target) {
                tally.targets.remove(&target.id);
                run.forgotten = run.forgotten.max(target.id);
                tally.forgotten += 1;
            } else {
                run.targets.push(target);
            }
        }
    }

    /// Frames with targets.
    pub fn frames(&self) -> usize {
        self.tally.counts.frames
    }

    /// Writes a step. Nothing is written while no target is known.
    ///
    /// # Errors
    /// The failure of an output; a closed pipe is one only if no output is left.
    pub fn add<F: Follower>(&mut self, step: &Step<'_, F>) -> Result<()> {
        self.forget_ended();
        self.dropped += step.item.position.saturating_sub(self.last + 1);
        self.last = step.item.position;
        // An unreadable frame is drawn in the size of those before it.
        let is_sized = self.is_sized || step.item.frame.is_ok();
        let pixels = step.item.picture();
        if let Some(frame) = pixels.as_ref().filter(|_| !self.is_sized) {
            (self.run.source.width, self.run.source.height, self.is_sized) = (frame.width(), frame.height(), true);
        }
        if step.outcomes.is_empty() && (self.run.targets.is_empty() || !is_sized) {
            return if self.run.answers { self.note(&FrameHead::from(&**step.item)) } else { Ok(()) };
        }
        let truth = if self.run.named { None } else { self.info.true_box(step.item.position) };
        let id = |outcome: &Outcome| self.run.named.then_some(u32::try_from(outcome.target).unwrap_or(u32::MAX));
        if let Some(label) = truth.filter(BBox::is_valid) {
            for outcome in step.outcomes {
                self.labelled.push((label, outcome.bbox));
                self.is_scored |= outcome.estimate.is_none_or(|estimate| estimate.state != State::Initial);
            }
        }
        let exact = step.outcomes.iter().map(|outcome| FrameRecord::exact(step.item, outcome, id(outcome)));
        let exact: Vec<_> = exact.collect();
        if !exact.is_empty() {
            self.tally.add(&exact);
        }
        if self.exports.0.is_empty() {
            return Ok(());
        }
        let records: Vec<_> = exact.into_iter().map(FrameRecord::rounded).collect();
        let responses: Vec<_> = step.outcomes.iter().map(|outcome| step.response(outcome)).collect();
        let frame = FrameResult {
            run: &self.run,
            head: (&**step.item).into(),
            records: &records,
            path: step.item.path.as_deref(),
            pixels,
            truth,
            responses: &responses,
        };
        self.exports.each(|exporter| exporter.write(&frame))
    }

    /// Writes a row beside those of targets, where there are rows.
    ///
    /// # Errors
    /// As [`Journal::add`].
    pub fn note(&mut self, note: &impl Serialize) -> Result<()> {
        let note = serde_json::to_value(note).unwrap_or_default();
        self.exports.each(|exporter| exporter.note(&self.run, &note))
    }

    /// Completes all outputs. `failure` is what ended the run early. Without a frame with targets the old
    /// files stay, but for pictures.
    pub fn finish(&mut self, failure: Option<&str>) -> (Summary, Result<()>) {
        let summary = self.tally.summary(self.run.named_targets(), self.truth_summary(), failure);
        // The time of repeated boxes says nothing.
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
    /// Gives something to all outputs.
    ///
    /// # Errors
    /// The first failure, after all others have it; a closed pipe is one only if no output is left.
    pub fn each(&mut self, give: impl Fn(&mut dyn Exporter) -> Result<()>) -> Result<()> {
        let mut failure = None;
        self.0.retain_mut(|exporter| keep_first(&mut failure, give(exporter.as_mut())));
        failure.filter(|error| !error.is_broken_pipe() || self.0.is_empty()).map_or(Ok(()), Err)
    }

    /// Completes all outputs.
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
    /// Targets that have ended and that no output lists.
    #[serde(skip)]
    pub more_targets: usize,
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
    /// Seconds from the first frame of the source to `found`; null for frames without times.
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
    /// Frames in which something covers the target.
    pub occluded: usize,
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
            State::Occluded => &mut self.occluded,
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

/// Targets that are always listed, in the order in which they began.
pub const LISTED_TARGETS: usize = 20;

/// Spans that are listed.
const MAX_SPANS: usize = 1000;

/// Counts the frames of a run for its [`Summary`]. Its size is limited.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Counts of all targets.
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
    /// Targets that have ended and are not listed.
    forgotten: usize,
}

/// A mean of the values that are there and finite.
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
        for (place, record) in records.iter().enumerate() {
            // A missing frame was neither decoded nor tracked and must not raise the rates.
            if place == 0 && record.state != State::Missing {
                self.readable += 1;
                self.decode_ms += record.decode_ms;
            }
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
            more_targets: self.forgotten,
            completed: error.is_none(),
            error: error.map(String::from),
            ..self.counts.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::export::tests::{Probe, run};
    use crate::media::Item;
    use crate::tracker::Tracker;

    #[test]
    fn rates_leave_missing_frames_out() {
        let (_, mut records) = run();
        let mut tally = Tally::default();
        assert_eq!(tally.summary(&[], None, None).fps, None);
        (records[0].psr, records[0].decision) = (Some(99.0), Some(9.0));
        records.iter().for_each(|record| tally.add(std::slice::from_ref(record)));
        let (psr, decision) = (None, None);
        records[0] = FrameRecord { state: State::Missing, track_ms: 0.0, psr, decision, ..records[0].clone() };
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
        // Each target has its own spans.
        let mut tally = Tally::default();
        for (index, states) in
            (1..).zip([[State::Lost, State::Tracking], [State::Lost; 2], [State::Recovered, State::Lost]])
        {
            let of = |(id, state)| FrameRecord { index, state, id: Some(id), ..records[1].clone() };
            tally.add(&[(1, states[0]), (2, states[1])].map(of));
        }
        let lost = tally.summary(&[], None, None).lost;
        let places: Vec<_> = lost.iter().map(|span| (span.id, span.lost, span.found)).collect();
        assert_eq!(places, [(Some(1), 1, Some(3)), (Some(2), 2, None)]);
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

    #[test]
    fn ended_targets_are_forgotten_but_by_outputs_that_list_them() {
        let (info, (head, records)) = (Info::default(), run());
        for lists in [false, true] {
            let mut exports = Exports::default();
            if lists {
                exports.0.push(Box::new(Probe("list", Arc::default(), None)));
            }
            let mut journal = Journal::new(exports, &info, Run { named: true, targets: Vec::new(), ..head.clone() });
            for id in 1..=LISTED_TARGETS as u32 + 9 {
                let mut target = TargetRecord::new(id, 1, records[0].bbox);
                if id % 3 != 0 {
                    target.end(2);
                }
                journal.run.targets.push(target);
            }
            for position in 1..4 {
                let item = Arc::new(Item::numbered(position, None, Err(Error::Cancelled), 0.0));
                journal.add(&Step::<Tracker>::again(&item, &[])).unwrap();
                let forgotten = if lists || position < 3 { 0 } else { 6 };
                assert_eq!(journal.run.targets.len(), LISTED_TARGETS + 9 - forgotten, "frame {position}, {lists}");
            }
            assert!(journal.run.is_used(29) && !journal.run.is_used(30), "no id returns");
            let summary = journal.finish(None).0;
            assert_eq!((summary.targets.len(), summary.more_targets), if lists { (29, 0) } else { (23, 6) });
        }
    }
}
