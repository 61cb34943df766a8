//! The end of a run in a few numbers.

use serde::{Serialize, Serializer};

use super::record::{FrameRecord, rounded, to_microseconds};
use crate::tracker::State;

/// Counts and means of a run: the end of the JSON document.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Summary {
    /// Frames written.
    pub frames: usize,
    /// Frames per state.
    pub states: StateCounts,
    /// Frames per second of the tracker alone: frames by the sum of `track_ms`; null if nothing was timed.
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
    /// Frames in which a refit of the machine did not converge.
    pub refits_kept: usize,
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

/// Counts and means of one of several targets.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TargetSummary {
    /// Its id.
    pub id: u32,
    /// Frames since it began.
    pub frames: usize,
    /// Frames per state.
    pub states: StateCounts,
    /// Mean confidence of the frames that have one.
    #[serde(serialize_with = "three_digits")]
    #[cfg_attr(test, schemars(with = "Option<f64>"))]
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

/// Comparison with the ground truth, over the frames that have a true box.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TruthSummary {
    /// Frames compared.
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

/// Counts the frames of a run for its [`Summary`]. Its size does not grow with the run.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// All frames, and the unreadable ones.
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

/// The mean of the finite values.
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
        // A missing frame was neither decoded nor tracked and must not raise the rates.
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
        // The response to the training frame says nothing about tracking.
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

#[cfg(test)]
mod tests {
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
