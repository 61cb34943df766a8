//! From scores per sequence to a report: means overall and by attribute, bootstrap intervals, and differences.
//!
//! Means are over sequences, not over frames: a long sequence counts as much as a short one (OTB). All sums run in a
//! fixed order, so the same boxes give the same report to the byte.
//!
//! Intervals are percentile bootstrap intervals over sequences (Efron 1979): a benchmark's sequences are a sample, and
//! resampling shows how much the mean depends on it. Two trackers are compared on the same resamples, because a hard
//! sequence is hard for both; the interval of a paired difference is far narrower than those of the two means.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::dataset::LabelledSequence;
use super::metrics::{PRECISION_THRESHOLDS, SUCCESS_THRESHOLDS, Score, Toolkit};
use super::protocols::Protocol;
use super::reliability::{Judgement, Reliability};

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
    /// `kcf-track-eval/2`.
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
    /// The tracker of [`Report::comparisons`].
    pub baseline: String,
    /// Every other tracker against the baseline, on the sequences that both have.
    pub comparisons: Vec<Comparison>,
    /// The sequences that all trackers have, by name.
    pub common: Vec<String>,
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

/// Origin of a tracker's boxes.
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
    /// Origin of its boxes.
    pub origin: Origin,
    /// Its parameters; null for result files.
    pub parameters: Value,
    /// The means over all its sequences.
    pub overall: Aggregate,
    /// The means over the sequences with an attribute.
    pub attributes: BTreeMap<String, Aggregate>,
    /// The score of each sequence.
    pub sequences: BTreeMap<String, Score>,
    /// The means over [`Report::common`]; `None` without such sequences.
    pub common: Option<Aggregate>,
    /// The mean rank by AUC over [`Report::common`], 1 for the best; ties share their mean.
    pub mean_rank: Option<f64>,
    /// Reliability of its states and confidence over the frames of all its sequences; `None` for a tracker without
    /// states.
    pub reliability: Option<Reliability>,
    /// Reliability by sequence.
    pub reliability_by_sequence: BTreeMap<String, Reliability>,
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
    /// The tracker with the lower AUC overall.
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

/// A tracker against the baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The tracker.
    pub tracker: String,
    /// Sequences that both have.
    pub sequences: usize,
    /// Mean of its AUC less the baseline's.
    pub auc: f64,
    /// Its paired 95 % interval.
    pub auc_interval: Option<Interval>,
    /// Two-sided probability of a difference at least as far from zero, from the paired bootstrap.
    pub p: Option<f64>,
    /// `p` after Holm's correction for all comparisons of the report (Holm 1979).
    pub p_holm: Option<f64>,
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
    /// How many runs took place at the same time.
    pub jobs: usize,
    /// Speed by tracker. Trackers without times, or with runs beside others, are missing.
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
        Self {
            name,
            origin,
            parameters,
            overall,
            attributes: BTreeMap::new(),
            sequences,
            common: None,
            mean_rank: None,
            reliability: None,
            reliability_by_sequence: BTreeMap::new(),
        }
    }

    /// Adds the reliability of states and confidence over its sequences.
    pub(super) fn judged(mut self, frames: &BTreeMap<String, Vec<Judgement>>) -> Self {
        let of = |(name, frames): (&String, &Vec<_>)| Some((name.clone(), Reliability::of(frames)?));
        self.reliability_by_sequence = frames.iter().filter_map(of).collect();
        self.reliability = Reliability::of(&frames.values().flatten().copied().collect::<Vec<_>>());
        self
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

/// Notes of an evaluation on its sequences and trackers.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes {
    pub left_out: Vec<LeftOut>,
    pub warnings: Vec<String>,
}

impl Notes {
    /// Notes that a sequence is left out, for one tracker or for all.
    pub fn leave_out(&mut self, sequence: &LabelledSequence, tracker: Option<&str>, reason: String) {
        self.left_out.push(LeftOut { sequence: sequence.name.clone(), tracker: tracker.map(String::from), reason });
    }

    /// Each note once, in order.
    fn sorted(mut self) -> Self {
        self.left_out.sort();
        self.left_out.dedup();
        self.warnings.sort();
        self.warnings.dedup();
        self
    }
}

pub(super) fn summarize<'a>(
    protocol: Protocol,
    toolkit: Toolkit,
    sequences: impl Iterator<Item = &'a LabelledSequence>,
    mut trackers: Vec<TrackerReport>,
    baseline: Option<&str>,
    mut notes: Notes,
) -> Report {
    let facts = |s: &LabelledSequence| SequenceFacts {
        name: s.name.clone(),
        frames: s.frames.len(),
        base: s.base.offset() as u8,
        attributes: s.attributes.clone(),
    };
    let sequences: Vec<SequenceFacts> = sequences.map(facts).collect();
    trackers.iter_mut().for_each(|tracker| tracker.attributes = by_attribute(&tracker.sequences, &sequences));
    trackers.sort_by(|a, b| b.overall.mean.auc.total_cmp(&a.overall.mean.auc).then_with(|| a.name.cmp(&b.name)));
    let pairs = trackers.iter().enumerate().flat_map(|(i, a)| trackers[i + 1..].iter().map(move |b| (a, b)));
    let differences = pairs.map(|(better, worse)| difference(better, worse)).collect();
    let scored: BTreeSet<&String> = trackers.iter().flat_map(|tracker| tracker.sequences.keys()).collect();
    for TrackerReport { name, sequences, .. } in &trackers {
        let (n, all) = (sequences.len(), scored.len());
        if n < all {
            let what = format!("{name} has scores of {n} of {all} sequences: means of other sequences do not compare");
            notes.warnings.push(what);
        }
    }
    let in_all = |name: &&&String| trackers.iter().all(|tracker| tracker.sequences.contains_key(**name));
    let common: Vec<String> = scored.iter().filter(in_all).map(|name| (*name).clone()).collect();
    rank(&mut trackers, &common);
    let ours = trackers.iter().find(|tracker| tracker.origin == Origin::Run);
    // A tracker without any score is no baseline.
    let named = trackers.iter().find(|tracker| baseline == Some(tracker.name.as_str()));
    let baseline = named.or(ours).or(trackers.first());
    let comparisons = baseline.map_or(Vec::new(), |baseline| compare(&trackers, baseline));
    let baseline = baseline.map_or(String::new(), |tracker| tracker.name.clone());
    let Notes { left_out, warnings } = notes.sorted();
    Report {
        schema: "kcf-track-eval/2".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        protocol,
        toolkit,
        sequences,
        trackers,
        differences,
        baseline,
        comparisons,
        common,
        left_out,
        warnings,
    }
}

/// The means over the sequences with each attribute that any of them has.
fn by_attribute(scores: &BTreeMap<String, Score>, sequences: &[SequenceFacts]) -> BTreeMap<String, Aggregate> {
    let with = |attribute: &str| {
        let has = |facts: &&SequenceFacts| facts.attributes.iter().any(|own| own == attribute);
        let names: BTreeSet<&String> = sequences.iter().filter(has).map(|facts| &facts.name).collect();
        let some: Vec<&Score> = scores.iter().filter(|(name, _)| names.contains(name)).map(|(_, s)| s).collect();
        (!some.is_empty()).then(|| (attribute.to_owned(), aggregate(some)))
    };
    ATTRIBUTES.iter().filter_map(|(attribute, _)| with(attribute)).collect()
}

/// Adds the means and the mean ranks over the sequences that all `trackers` have.
fn rank(trackers: &mut [TrackerReport], common: &[String]) {
    if common.is_empty() {
        return;
    }
    let auc: Vec<Vec<f64>> =
        trackers.iter().map(|tracker| common.iter().map(|name| tracker.sequences[name].auc).collect()).collect();
    for (tracker, own) in trackers.iter_mut().zip(&auc) {
        let rank = |(i, own): (usize, &f64)| {
            let better = auc.iter().filter(|other| other[i] > *own).count() as f64;
            // The tracker ties with itself.
            let tied = auc.iter().filter(|other| other[i] == *own).count() as f64;
            better + (tied + 1.0) / 2.0
        };
        tracker.mean_rank = Some(mean(&own.iter().enumerate().map(rank).collect::<Vec<_>>()));
        tracker.common = Some(aggregate(common.iter().map(|name| &tracker.sequences[name])));
    }
}

fn compare(trackers: &[TrackerReport], baseline: &TrackerReport) -> Vec<Comparison> {
    let mut found: Vec<Comparison> = trackers
        .iter()
        .filter(|tracker| tracker.name != baseline.name)
        .map(|tracker| {
            let paired = |(name, own): (_, &Score)| Some(own.auc - baseline.sequences.get(name)?.auc);
            let values: Vec<f64> = tracker.sequences.iter().filter_map(paired).collect();
            Comparison {
                tracker: tracker.name.clone(),
                sequences: values.len(),
                auc: mean(&values),
                auc_interval: mean_interval(&values),
                p: p_value(&values),
                p_holm: None,
            }
        })
        .collect();
    let mut order: Vec<usize> = (0..found.len()).filter(|&i| found[i].p.is_some()).collect();
    order.sort_by(|&a, &b| found[a].p.partial_cmp(&found[b].p).unwrap_or(Ordering::Equal));
    let mut least = 0.0f64;
    for (tested, &i) in order.iter().enumerate() {
        least = least.max((order.len() - tested) as f64 * found[i].p.unwrap_or(1.0)).min(1.0);
        found[i].p_holm = Some(least);
    }
    found
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
    let means = resampled_means(values)?;
    // Linear interpolation between order statistics, numpy's default.
    let quantile = |q: f64| {
        let at = q * (means.len() - 1) as f64;
        let (below, share) = (at.floor() as usize, at.fract());
        means[below] + share * (means[(below + 1).min(means.len() - 1)] - means[below])
    };
    Some(Interval { low: quantile(0.025), high: quantile(0.975) })
}

/// Twice the share of resampled means on the other side of zero, with the sample itself as one of the resamples.
fn p_value(values: &[f64]) -> Option<f64> {
    let means = resampled_means(values)?;
    let [below, above] = [means.iter().filter(|&&m| m <= 0.0).count(), means.iter().filter(|&&m| m >= 0.0).count()];
    Some((2.0 * (below.min(above) + 1) as f64 / (RESAMPLES + 1) as f64).min(1.0))
}

/// Resampled means in ascending order.
fn resampled_means(values: &[f64]) -> Option<Vec<f64>> {
    let n = values.len();
    if n < 2 || values.iter().any(|v| !v.is_finite()) {
        return None;
    }
    let mut random = Pcg64Mcg::seed_from_u64(SEED ^ n as u64);
    let mut means: Vec<f64> =
        (0..RESAMPLES).map(|_| (0..n).map(|_| values[random.random_range(0..n)]).sum::<f64>() / n as f64).collect();
    means.sort_by(f64::total_cmp);
    Some(means)
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
        let notes = Notes { left_out, warnings: vec!["odd & even".into()] };
        summarize(Protocol::Ope, Toolkit::Otb, all.iter(), trackers.into(), None, notes)
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

    fn summary_of(trackers: Vec<TrackerReport>, baseline: Option<&str>) -> Report {
        let all = ["A", "B", "C"].map(|name| results::tests::sequence(name, 20, Base::Zero));
        summarize(Protocol::Ope, Toolkit::Otb, all.iter(), trackers, baseline, Notes::default())
    }

    #[test]
    fn only_incomplete_trackers_are_named_and_common_sequences_have_their_own_means() {
        let mut trackers = report().trackers;
        trackers[1].sequences.remove("A");
        let short = trackers[1].name.clone();
        let report = summary_of(trackers, None);
        assert_eq!(report.warnings.len(), 1, "{:?}", report.warnings);
        assert!(report.warnings[0].starts_with(&format!("{short} has scores of 2 of 3")), "{:?}", report.warnings);
        assert_eq!(report.common, ["B", "C"]);
        let good = report.trackers.iter().find(|tracker| tracker.name == "good").unwrap();
        let common = good.common.as_ref().unwrap();
        assert_eq!(common.mean.auc, mean(&[good.sequences["B"].auc, good.sequences["C"].auc]));
        assert_eq!((common.sequences, good.overall.sequences), (2, 3));
        assert!(!report.warnings[0].contains("good"));
    }

    #[test]
    fn mean_ranks_share_ties() {
        let mut trackers = report().trackers;
        let best = trackers[0].sequences["B"].clone();
        trackers[1].sequences.insert("B".into(), best);
        let (tied, worst) = (trackers[1].name.clone(), trackers[2].name.clone());
        let report = summary_of(trackers, None);
        let rank = |name: &str| report.trackers.iter().find(|t| t.name == name).unwrap().mean_rank.unwrap();
        // In A, B, C: 1, 1.5, 1 and 2, 1.5, 2 and 3, 3, 3.
        assert_eq!([rank("good"), rank(&tied), rank(&worst)], [3.5 / 3.0, 5.5 / 3.0, 3.0]);
    }

    #[test]
    fn comparisons_are_with_the_baseline_and_corrected() {
        let trackers = report().trackers;
        let (second, third) = (trackers[1].name.clone(), trackers[2].name.clone());
        let report = summary_of(trackers, Some(&second));
        assert_eq!(report.baseline, second);
        let of = |name: &str| report.comparisons.iter().find(|c| c.tracker == name).unwrap();
        assert!(of("good").auc > 0.0 && of(&third).auc < 0.0 && report.comparisons.len() == 2);
        // All three differences have one sign: no resample lies beyond zero.
        let least = 2.0 / 10_001.0;
        assert_eq!((of("good").p, of("good").p_holm), (Some(least), Some(2.0 * least)));
        assert_eq!(p_value(&[0.0, 0.0, 0.0]), Some(1.0));
        // One of two values is below zero: a quarter of the resamples, and twice that, less than or equal to zero.
        let p = p_value(&[-1.0, 2.0]).unwrap();
        assert!((p - 0.5).abs() < 0.02, "{p}");
        assert_eq!(p_value(&[0.5]), None);
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
