//! From scores per sequence to a report: means overall and by attribute, bootstrap intervals, and differences.
//!
//! Means are over sequences, not over frames: a long sequence counts as much as a short one (OTB). All sums run in a
//! fixed order, so the same boxes give the same report to the byte.
//!
//! Intervals are percentile bootstrap intervals over sequences (Efron 1979): a benchmark's sequences are a sample, and
//! resampling shows how much the mean depends on it. Two trackers are compared on the same resamples, because a hard
//! sequence is hard for both; the interval of a paired difference is far narrower than those of the two means.

use std::collections::BTreeMap;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::dataset::LabelledSequence;
use super::metrics::{PRECISION_THRESHOLDS, SUCCESS_THRESHOLDS, Score, Toolkit};
use super::protocols::Protocol;

/// The eleven attributes of OTB and their meanings, in the benchmark's order.
pub(super) const ATTRIBUTES: [(&str, &str); 11] = [
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
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// `kcf-track-eval/1`.
    pub schema: String,
    /// Version of the program.
    pub version: String,
    /// The protocol.
    pub protocol: Protocol,
    /// The rules of the scores.
    pub toolkit: Toolkit,
    /// The evaluated sequences, by name.
    pub sequences: Vec<SequenceFacts>,
    /// The trackers, best AUC first.
    pub trackers: Vec<TrackerReport>,
    /// Every pair of trackers, on the sequences that both have.
    pub differences: Vec<Difference>,
    /// Sequences and results that are left out.
    pub left_out: Vec<LeftOut>,
    /// Remarks on what is scored.
    pub warnings: Vec<String>,
}

impl Report {
    /// Says whether the truth files are 0- or 1-based.
    #[cfg(feature = "cli")]
    pub(super) fn bases(&self) -> String {
        let one = self.sequences.iter().filter(|s| s.base == 1).count();
        match (one, self.sequences.len() - one) {
            (0, _) => "labels are 0-based".into(),
            (_, 0) => "labels are 1-based".into(),
            (one, zero) => format!("labels are 1-based in {one} sequences and 0-based in {zero}"),
        }
    }
}

/// A sequence of the report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SequenceFacts {
    /// Its name.
    pub name: String,
    /// Number of frames.
    pub frames: usize,
    /// The number of the first pixel in its truth file, 0 or 1.
    pub base: u8,
    /// Its attributes, abbreviated.
    pub attributes: Vec<String>,
}

/// Where a tracker's boxes come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// The evaluation ran it.
    Run,
    /// They are read from files.
    Results,
}

/// All scores of one tracker.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrackerReport {
    /// Its name.
    pub name: String,
    /// Where its boxes come from.
    pub origin: Origin,
    /// Its parameters; null for result files.
    pub parameters: Value,
    /// The means over all its sequences.
    pub overall: Aggregate,
    /// The means over the sequences with an attribute.
    pub attributes: BTreeMap<String, Aggregate>,
    /// The score of each sequence.
    pub sequences: BTreeMap<String, Score>,
}

/// Means over sequences.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Aggregate {
    /// Number of sequences.
    pub sequences: usize,
    /// The means of their scores; frames and failures are sums. The centre error is `None` when a sequence has none.
    #[serde(flatten)]
    pub mean: Score,
    /// 95 % interval of the AUC over sequences.
    pub auc_interval: Option<Interval>,
    /// 95 % interval of the precision at 20 px over sequences.
    pub precision_20_interval: Option<Interval>,
}

/// How much better one tracker is than another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The tracker with the higher AUC overall.
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

/// A sequence, or a tracker on a sequence, that is left out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct LeftOut {
    /// The sequence.
    pub sequence: String,
    /// The tracker; null when the sequence is left out for all.
    pub tracker: Option<String>,
    /// Why.
    pub reason: String,
}

/// The document `timings.json`, which differs from run to run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Timings {
    /// `kcf-track-timings/1`.
    pub schema: String,
    /// Speed by tracker; trackers without times are missing.
    pub trackers: BTreeMap<String, TrackerTiming>,
}

/// The speed of one tracker, without decoding.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrackerTiming {
    /// Mean frames per second over sequences.
    pub fps: f64,
    /// Frames per second of each sequence.
    pub sequences: BTreeMap<String, f64>,
}

impl TrackerReport {
    /// The report of these scores; [`summarize`] adds the attributes.
    pub(super) fn new(name: String, origin: Origin, parameters: Value, sequences: BTreeMap<String, Score>) -> Self {
        let overall = aggregate(sequences.values());
        Self { name, origin, parameters, overall, attributes: BTreeMap::new(), sequences }
    }
}

fn aggregate<'a>(scores: impl IntoIterator<Item = &'a Score>) -> Aggregate {
    let scores: Vec<&Score> = scores.into_iter().collect();
    let values = |value: fn(&Score) -> f64| scores.iter().map(|s| value(s)).collect::<Vec<_>>();
    let curve = |points: usize, curve: fn(&Score) -> &Vec<f64>| -> Vec<f64> {
        (0..points).map(|i| mean(&scores.iter().map(|s| curve(s)[i]).collect::<Vec<_>>())).collect()
    };
    let success = curve(SUCCESS_THRESHOLDS, |s| &s.success);
    let precision = curve(PRECISION_THRESHOLDS, |s| &s.precision);
    let normalized = curve(PRECISION_THRESHOLDS, |s| &s.normalized);
    // A mean without some sequences would not compare with those of other trackers.
    let center_errors: Option<Vec<f64>> = scores.iter().map(|s| s.mean_center_error).collect();
    let sum = |count: fn(&Score) -> usize| scores.iter().map(|s| count(s)).sum();
    Aggregate {
        sequences: scores.len(),
        mean: Score {
            frames: sum(|s| s.frames),
            labelled: sum(|s| s.labelled),
            auc: mean(&success),
            precision_20: precision[20],
            normalized_precision: normalized[20],
            overlap_rate_50: success[10],
            mean_overlap: mean(&values(|s| s.mean_overlap)),
            mean_center_error: center_errors.map(|all| mean(&all)),
            failures: sum(|s| s.failures),
            success,
            precision,
            normalized,
        },
        auc_interval: mean_interval(&values(|s| s.auc)),
        precision_20_interval: mean_interval(&values(|s| s.precision_20)),
    }
}

pub(super) fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

pub(super) fn summarize<'a>(
    protocol: Protocol,
    toolkit: Toolkit,
    sequences: impl Iterator<Item = &'a LabelledSequence>,
    mut trackers: Vec<TrackerReport>,
    mut left_out: Vec<LeftOut>,
    mut warnings: Vec<String>,
) -> Report {
    let facts = |s: &LabelledSequence| SequenceFacts {
        name: s.name.clone(),
        frames: s.frames.len(),
        base: s.base.offset() as u8,
        attributes: s.attributes.clone(),
    };
    let sequences: Vec<SequenceFacts> = sequences.map(facts).collect();
    let with_attribute = |attribute: &str, name: &str| {
        sequences.iter().any(|s| s.name == name && s.attributes.iter().any(|a| a == attribute))
    };
    let by_attribute = |scores: &BTreeMap<String, Score>, attribute: &str| {
        let some: Vec<&Score> =
            scores.iter().filter(|(name, _)| with_attribute(attribute, name)).map(|(_, s)| s).collect();
        (!some.is_empty()).then(|| (attribute.to_owned(), aggregate(some)))
    };
    for tracker in &mut trackers {
        let attributes = ATTRIBUTES.iter().filter_map(|&(attribute, _)| by_attribute(&tracker.sequences, attribute));
        tracker.attributes = attributes.collect();
    }
    trackers.sort_by(|a, b| b.overall.mean.auc.total_cmp(&a.overall.mean.auc).then_with(|| a.name.cmp(&b.name)));
    let mut differences = Vec::new();
    for (i, better) in trackers.iter().enumerate() {
        differences.extend(trackers[i + 1..].iter().map(|worse| difference(better, worse)));
    }
    for tracker in &trackers {
        if trackers.iter().any(|other| other.sequences.keys().ne(tracker.sequences.keys())) {
            let (name, n, all) = (&tracker.name, tracker.sequences.len(), sequences.len());
            warnings
                .push(format!("{name} has scores of {n} of {all} sequences: means of other sequences do not compare"));
        }
    }
    left_out.sort();
    left_out.dedup();
    warnings.sort();
    warnings.dedup();
    Report {
        schema: "kcf-track-eval/1".into(),
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

/// The ends of a 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The 2.5 % quantile of the resampled means.
    pub low: f64,
    /// The 97.5 % quantile.
    pub high: f64,
}

impl Interval {
    /// Whether a difference with this interval is significant at 5 %.
    pub fn excludes_zero(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

const RESAMPLES: usize = 10_000;
/// A fixed seed: two evaluations give the same intervals.
const SEED: u64 = 0x6b63_665f_7472_6163;

/// The 95 % interval of the mean of `values`, one per sequence; `None` for fewer than two. Equally many values are
/// resampled alike, which pairs differences.
fn mean_interval(values: &[f64]) -> Option<Interval> {
    let n = values.len();
    if n < 2 || values.iter().any(|v| !v.is_finite()) {
        return None;
    }
    let mut random = Pcg64Mcg::seed_from_u64(SEED ^ n as u64);
    let mut means: Vec<f64> =
        (0..RESAMPLES).map(|_| (0..n).map(|_| values[random.random_range(0..n)]).sum::<f64>() / n as f64).collect();
    means.sort_by(f64::total_cmp);
    // Linear interpolation between order statistics, numpy's default.
    let quantile = |q: f64| {
        let at = q * (means.len() - 1) as f64;
        let (below, share) = (at.floor() as usize, at.fract());
        means[below] + share * (means[(below + 1).min(means.len() - 1)] - means[below])
    };
    Some(Interval { low: quantile(0.025), high: quantile(0.975) })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::bbox::BBox;
    use crate::eval::metrics::score;
    use crate::eval::results;
    use crate::media::annotation::Base;

    /// Three trackers on three sequences; some names need escapes.
    pub(in crate::eval) fn report() -> Report {
        let truth = vec![Some(BBox::new(10.0, 10.0, 40.0, 40.0)); 20];
        let sequences = ["A", "B", "C"];
        let trackers = [("good", 1.0), ("a|b_<1>", 6.0), ("<script>alert(1)</script>", 15.0)].map(|(name, speed)| {
            let score = |(i, sequence): (usize, &str)| {
                let x = |t: usize| 10.0 + speed * (t * i) as f64 / 2.0;
                let boxes: Vec<BBox> = (0..20).map(|t| BBox::new(x(t), 10.0, 40.0, 40.0)).collect();
                (sequence.to_owned(), score(&truth, &boxes, Toolkit::Otb).unwrap())
            };
            let origin = if name == "good" { Origin::Run } else { Origin::Results };
            let parameters = serde_json::json!({"sigma": 0.5});
            TrackerReport::new(name.into(), origin, parameters, (1..).zip(sequences).map(score).collect())
        });
        let attributes = ["IV", "SV", "OCC"].map(String::from).to_vec();
        let all = sequences.map(|name| LabelledSequence {
            attributes: attributes.clone(),
            ..results::tests::sequence(name, 20, if name == "A" { Base::One } else { Base::Zero })
        });
        let left_out = vec![LeftOut { sequence: "D".into(), tracker: None, reason: "<b>broken</b>".into() }];
        let warnings = vec!["odd & even".into()];
        summarize(Protocol::Ope, Toolkit::Otb, all.iter(), trackers.into(), left_out, warnings)
    }

    #[test]
    fn means_are_over_sequences_not_frames() {
        let (good, far) = (BBox::new(0.0, 0.0, 20.0, 20.0), BBox::new(500.0, 0.0, 20.0, 20.0));
        let of = |boxes: &[BBox]| score(&vec![Some(good); boxes.len()], boxes, Toolkit::Otb).unwrap();
        assert_eq!(aggregate(&[of(&[good; 100]), of(&[good, far])]).mean.precision_20, 0.75);
        // Each number is the mean, or the sum, of the same numbers.
        let near = good.translated(3.5, 0.0);
        let scores = [of(&[good, far, good, near]), of(&[good, near, far, near, far])];
        let Aggregate { sequences, mean, auc_interval, precision_20_interval } = aggregate(&scores);
        assert_eq!((sequences, mean.frames, mean.labelled, mean.failures), (2, 9, 9, 3));
        let numbers: [fn(&Score) -> f64; 6] = [
            |s| s.auc,
            |s| s.precision_20,
            |s| s.normalized_precision,
            |s| s.overlap_rate_50,
            |s| s.mean_overlap,
            |s| s.mean_center_error.unwrap(),
        ];
        for (i, number) in numbers.iter().enumerate() {
            let expected = (number(&scores[0]) + number(&scores[1])) / 2.0;
            assert!((number(&mean) - expected).abs() < 1e-12, "{i}: {} is not {expected}", number(&mean));
        }
        let interval = |number: fn(&Score) -> f64| mean_interval(&scores.each_ref().map(number));
        assert_eq!((auc_interval, precision_20_interval), (interval(numbers[0]), interval(numbers[1])));
    }

    #[test]
    fn differences_are_paired_on_common_sequences() {
        let mut report = report();
        assert_eq!(report.trackers.iter().map(|t| t.name.as_str()).next(), Some("good"));
        assert_eq!(report.trackers[0].attributes.keys().collect::<Vec<_>>(), ["IV", "OCC", "SV"]);
        report.trackers[1].sequences.remove("A");
        let d = difference(&report.trackers[0], &report.trackers[1]);
        let differences = |of: fn(&Score) -> f64| {
            ["B", "C"].map(|name| of(&report.trackers[0].sequences[name]) - of(&report.trackers[1].sequences[name]))
        };
        let (auc, precision) = (differences(|s| s.auc), differences(|s| s.precision_20));
        assert!(d.sequences == 2 && (d.auc - mean(&auc)).abs() < 1e-12, "{d:?}");
        assert!(d.auc_interval.unwrap().excludes_zero() && d.auc_interval == mean_interval(&auc));
        assert_eq!((d.precision_20, d.precision_20_interval), (mean(&precision), mean_interval(&precision)));
    }

    #[test]
    fn intervals_follow_the_normal_limit_and_repeat() {
        // Mean 0.5, standard deviation 0.5 over 400 values: standard error 0.025, so ±1.96 of it.
        let values: Vec<f64> = (0..400).map(|i| f64::from(i % 2)).collect();
        let ci = mean_interval(&values).unwrap();
        assert!((ci.low - (0.5 - 0.049)).abs() < 0.004 && (ci.high - (0.5 + 0.049)).abs() < 0.004, "{ci:?}");
        assert_eq!(mean_interval(&values), Some(ci));
        let ci = mean_interval(&[0.25; 4]).unwrap();
        assert!((ci.low - 0.25).abs() < 1e-12 && (ci.high - 0.25).abs() < 1e-12 && ci.excludes_zero());
        assert_eq!((mean_interval(&[0.5]), mean_interval(&[0.5, f64::NAN])), (None, None));
    }

    #[test]
    fn tells_the_bases_of_the_truth_files() {
        let mut report = report();
        assert_eq!(report.bases(), "labels are 1-based in 1 sequences and 0-based in 2");
        report.sequences.truncate(1);
        assert_eq!(report.bases(), "labels are 1-based");
    }
}
