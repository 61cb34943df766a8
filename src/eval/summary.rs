//! From scores per sequence to a report: means per attribute and overall, intervals, and differences between trackers.
//!
//! The mean is over sequences, not over frames: a long sequence counts as much as a short one (OTB). Everything here is
//! computed in a fixed order from the boxes alone, so that two evaluations of the same boxes give the same report to
//! the byte.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::bootstrap::{Interval, mean_interval};
use super::metrics::{FrameErrors, PRECISION_THRESHOLDS, SUCCESS_THRESHOLDS, Score, Toolkit, frame_errors};
use super::protocol::Protocol;
use super::runner::Trace;
use crate::bbox::BBox;
use crate::error::Result;

/// The eleven attributes of OTB and what they stand for, in the benchmark's order.
pub const ATTRIBUTES: [(&str, &str); 11] = [
    ("IV", "illumination variation"),
    ("SV", "scale variation"),
    ("OCC", "occlusion"),
    ("DEF", "deformation"),
    ("MB", "motion blur"),
    ("FM", "fast motion"),
    ("IPR", "in-plane rotation"),
    ("OPR", "out-of-plane rotation"),
    ("OV", "out of view"),
    ("BC", "background clutter"),
    ("LR", "low resolution"),
];

/// The document `report.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// `kcf-track-eval/1`.
    pub schema: String,
    /// Version of the program.
    pub version: String,
    /// The protocol.
    pub protocol: Protocol,
    /// Whose rules the scores follow.
    pub toolkit: Toolkit,
    /// The sequences that were evaluated, by name.
    pub sequences: Vec<SequenceFacts>,
    /// The trackers, best AUC first.
    pub trackers: Vec<TrackerReport>,
    /// Every pair of trackers, on the sequences that both have.
    pub differences: Vec<Difference>,
    /// What was left out, and why.
    pub left_out: Vec<LeftOut>,
    /// What was scored although something about it was odd.
    pub warnings: Vec<String>,
}

impl Report {
    /// The identifier of this document's form.
    pub const SCHEMA: &'static str = "kcf-track-eval/1";
}

/// A sequence of the report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SequenceFacts {
    /// Its name.
    pub name: String,
    /// Number of frames.
    pub frames: usize,
    /// What the numbers of its truth count the first pixel as: 0 or 1.
    pub base: u8,
    /// Its attributes, abbreviated.
    pub attributes: Vec<String>,
}

/// Where a tracker's boxes come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// This program ran it.
    Run,
    /// Its boxes were read from files.
    Results,
}

/// All scores of one tracker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrackerReport {
    /// Its name.
    pub name: String,
    /// Where its boxes come from.
    pub origin: Origin,
    /// Its parameters; null for results of others.
    pub parameters: serde_json::Value,
    /// The means over all its sequences.
    pub overall: Aggregate,
    /// The means over the sequences with an attribute.
    pub attributes: BTreeMap<String, Aggregate>,
    /// The score of each sequence.
    pub sequences: BTreeMap<String, Score>,
}

/// Means over sequences.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Aggregate {
    /// Number of sequences.
    pub sequences: usize,
    /// Number of frames in them.
    pub frames: usize,
    /// Mean AUC.
    pub auc: f64,
    /// Its 95 % interval over sequences.
    pub auc_interval: Option<Interval>,
    /// Mean precision at 20 px.
    pub precision_20: f64,
    /// Its 95 % interval over sequences.
    pub precision_20_interval: Option<Interval>,
    /// Mean normalised precision at 0.2.
    pub normalized_precision: f64,
    /// Mean share of frames with an overlap above 0.5.
    pub overlap_rate_50: f64,
    /// Mean of the sequences' mean overlaps.
    pub mean_overlap: f64,
    /// Mean of the sequences' mean centre errors, in pixels; `None` where one of them has none.
    pub mean_center_error: Option<f64>,
    /// Losses of the target in all sequences together.
    pub failures: usize,
    /// Mean success curve.
    pub success: Vec<f64>,
    /// Mean precision curve.
    pub precision: Vec<f64>,
    /// Mean normalised precision curve.
    pub normalized: Vec<f64>,
}

/// How much better one tracker is than another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The one with the higher AUC overall.
    pub better: String,
    /// The other one.
    pub worse: String,
    /// Sequences that both have.
    pub sequences: usize,
    /// Mean difference of AUC.
    pub auc: f64,
    /// Its paired 95 % interval.
    pub auc_interval: Option<Interval>,
    /// Mean difference of precision at 20 px.
    pub precision_20: f64,
    /// Its paired 95 % interval.
    pub precision_20_interval: Option<Interval>,
}

/// Something that was left out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LeftOut {
    /// The sequence.
    pub sequence: String,
    /// The tracker; null when the sequence was left out for all.
    pub tracker: Option<String>,
    /// Why.
    pub reason: String,
}

/// Scores the pooled runs of one tracker on one sequence: the errors of all runs are put one after the other, as OTB
/// does.
///
/// # Errors
/// As [`frame_errors`].
pub fn score_traces(truth: &[Option<BBox>], traces: &[Trace], toolkit: Toolkit) -> Result<Score> {
    let mut errors = FrameErrors::default();
    for trace in traces {
        let labels = truth.get(trace.start.frame..).unwrap_or_default();
        errors.extend(&frame_errors(labels, &trace.boxes, toolkit)?);
    }
    Ok(Score::of(&errors))
}

/// The means over some sequences.
pub fn aggregate<'a>(scores: impl IntoIterator<Item = &'a Score>) -> Aggregate {
    let scores: Vec<&Score> = scores.into_iter().collect();
    let success = mean_curve(scores.iter().map(|s| &s.success), SUCCESS_THRESHOLDS);
    let precision = mean_curve(scores.iter().map(|s| &s.precision), PRECISION_THRESHOLDS);
    let normalized = mean_curve(scores.iter().map(|s| &s.normalized), PRECISION_THRESHOLDS);
    // A mean over the others would be of fewer sequences than those of other trackers.
    let center_errors: Option<Vec<f64>> = scores.iter().map(|s| s.mean_center_error).collect();
    let interval = |value: fn(&Score) -> f64| mean_interval(&scores.iter().map(|s| value(s)).collect::<Vec<_>>());
    Aggregate {
        sequences: scores.len(),
        frames: scores.iter().map(|s| s.frames).sum(),
        auc: mean(&success),
        auc_interval: interval(|s| s.auc),
        precision_20: precision[20],
        precision_20_interval: interval(|s| s.precision_20),
        normalized_precision: normalized[20],
        overlap_rate_50: success[10],
        mean_overlap: mean(&scores.iter().map(|s| s.mean_overlap).collect::<Vec<_>>()),
        mean_center_error: center_errors.filter(|all| !all.is_empty()).map(|all| mean(&all)),
        failures: scores.iter().map(|s| s.failures).sum(),
        success,
        precision,
        normalized,
    }
}

fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

fn mean_curve<'a>(curves: impl Iterator<Item = &'a Vec<f64>>, points: usize) -> Vec<f64> {
    let curves: Vec<&Vec<f64>> = curves.collect();
    (0..points).map(|i| mean(&curves.iter().map(|c| c[i]).collect::<Vec<_>>())).collect()
}

/// What a tracker scored on each sequence, before it is summed up.
#[derive(Debug)]
pub struct Scored {
    /// The tracker's name.
    pub name: String,
    /// Where its boxes come from.
    pub origin: Origin,
    /// Its parameters.
    pub parameters: serde_json::Value,
    /// Score by sequence.
    pub scores: BTreeMap<String, Score>,
}

/// Sums up the scores of trackers.
pub fn summarize(
    protocol: Protocol,
    toolkit: Toolkit,
    mut sequences: Vec<SequenceFacts>,
    scored: Vec<Scored>,
    mut left_out: Vec<LeftOut>,
    mut warnings: Vec<String>,
) -> Report {
    sequences.sort_by(|a, b| a.name.cmp(&b.name));
    let with_attribute = |attribute: &str, name: &str| {
        sequences.iter().any(|s| s.name == name && s.attributes.iter().any(|a| a == attribute))
    };
    let mut trackers: Vec<TrackerReport> = scored
        .into_iter()
        .map(|s| {
            let attributes = ATTRIBUTES
                .iter()
                .filter_map(|&(attribute, _)| {
                    let some: Vec<&Score> =
                        s.scores.iter().filter(|(name, _)| with_attribute(attribute, name)).map(|(_, s)| s).collect();
                    (!some.is_empty()).then(|| (attribute.to_owned(), aggregate(some)))
                })
                .collect();
            TrackerReport {
                overall: aggregate(s.scores.values()),
                attributes,
                name: s.name,
                origin: s.origin,
                parameters: s.parameters,
                sequences: s.scores,
            }
        })
        .collect();
    trackers.sort_by(|a, b| b.overall.auc.total_cmp(&a.overall.auc).then_with(|| a.name.cmp(&b.name)));

    let mut differences = Vec::new();
    for (i, better) in trackers.iter().enumerate() {
        differences.extend(trackers[i + 1..].iter().map(|worse| difference(better, worse)));
    }
    left_out.sort();
    left_out.dedup();
    warnings.sort();
    warnings.dedup();
    Report {
        schema: Report::SCHEMA.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        protocol,
        toolkit,
        sequences,
        trackers,
        differences,
        left_out,
        warnings,
    }
}

fn difference(better: &TrackerReport, worse: &TrackerReport) -> Difference {
    let both: Vec<(&Score, &Score)> =
        better.sequences.iter().filter_map(|(name, a)| Some((a, worse.sequences.get(name)?))).collect();
    let of = |value: fn(&Score) -> f64| both.iter().map(|(a, b)| value(a) - value(b)).collect::<Vec<_>>();
    let (auc, precision) = (of(|s| s.auc), of(|s| s.precision_20));
    Difference {
        better: better.name.clone(),
        worse: worse.name.clone(),
        sequences: both.len(),
        auc: mean(&auc),
        auc_interval: mean_interval(&auc),
        precision_20: mean(&precision),
        precision_20_interval: mean_interval(&precision),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::protocol::Start;

    fn of_overlaps(boxes: &[BBox], toolkit: Toolkit) -> Score {
        let truth = vec![Some(BBox::new(0.0, 0.0, 20.0, 20.0)); boxes.len()];
        super::super::metrics::score(&truth, boxes, toolkit).unwrap()
    }

    fn good() -> Score {
        of_overlaps(&[BBox::new(0.0, 0.0, 20.0, 20.0); 4], Toolkit::Otb)
    }

    fn zero() -> Score {
        // Where the first box is the label, only a sequence without any usable label is zero everywhere.
        Score { auc: 0.0, success: vec![0.0; 21], ..good() }
    }

    #[test]
    fn matlab_leaves_zero_curves_out_of_the_mean() {
        let scores = [good(), zero()];
        assert!((aggregate(&scores).auc - 10.0 / 21.0).abs() < 1e-12);
    }

    #[test]
    fn the_mean_is_over_sequences_not_frames() {
        let long = of_overlaps(&[BBox::new(0.0, 0.0, 20.0, 20.0); 100], Toolkit::Otb);
        let mut lost = vec![BBox::new(500.0, 0.0, 20.0, 20.0); 2];
        lost[0] = BBox::new(0.0, 0.0, 20.0, 20.0);
        let short = of_overlaps(&lost, Toolkit::Otb);
        assert_eq!(aggregate(&[long, short]).precision_20, 0.75);
    }

    #[test]
    fn runs_are_pooled_by_frame() {
        let b = BBox::new(0.0, 0.0, 20.0, 20.0);
        let truth = vec![Some(b); 4];
        let trace = |frame: usize, boxes: Vec<BBox>| Trace { start: Start { frame, init: b }, micros: vec![], boxes };
        let far = b.translated(400.0, 0.0);
        let traces = [trace(0, vec![b, far, far, far]), trace(2, vec![b, b])];
        let score = score_traces(&truth, &traces, Toolkit::Otb).unwrap();
        assert_eq!((score.frames, score.precision_20), (6, 0.5));
    }

    #[test]
    fn differences_are_paired_on_common_sequences() {
        let scored = |name: &str, scores: &[(&str, f64)]| Scored {
            name: name.into(),
            origin: Origin::Results,
            parameters: serde_json::Value::Null,
            scores: scores
                .iter()
                .map(|&(n, auc)| (n.into(), Score { auc, success: vec![auc; 21], ..good() }))
                .collect(),
        };
        let facts = ["a", "b", "c"]
            .map(|n| SequenceFacts { name: n.into(), frames: 4, base: 1, attributes: vec!["IV".into(), "??".into()] })
            .to_vec();
        let report = summarize(
            Protocol::Ope,
            Toolkit::Otb,
            facts,
            vec![scored("low", &[("a", 0.1), ("b", 0.5)]), scored("high", &[("a", 0.2), ("b", 0.6), ("c", 0.9)])],
            vec![],
            vec![],
        );
        assert_eq!(report.trackers[0].name, "high");
        assert_eq!(report.trackers[0].attributes.keys().collect::<Vec<_>>(), ["IV"]);
        let d = &report.differences[0];
        assert_eq!((d.better.as_str(), d.worse.as_str(), d.sequences), ("high", "low", 2));
        assert!((d.auc - 0.1).abs() < 1e-12 && d.auc_interval.unwrap().excludes_zero());
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
    }
}
