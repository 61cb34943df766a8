//! From boxes to numbers: errors per frame, curves per sequence, and the scores that papers print.
//!
//! * **Success** at a threshold `t` is the share of frames whose overlap with the label is above `t`, for
//!   `t = 0, 0.05, …, 1`. **AUC** is the mean of these 21 numbers. No overlap is above 1, so a perfect tracker scores
//!   20/21 = 0.952 (Wu, Lim & Yang, TPAMI 2015).
//! * **Precision** at `d` is the share of frames whose centre lies within `d` pixels of the label's, for `d = 0, …, 50`.
//!   **P@20** is the one at 20 px.
//! * **Normalised precision** divides the centre error, per axis, by the label's width and height; thresholds are
//!   `0, 0.01, …, 0.5` and the score is the value at 0.2 (LaSOT, Fan et al., CVPR 2019).
//!
//! | toolkit | a label counts | a frame without such a label | invalid prediction |
//! | --- | --- | --- | --- |
//! | `otb` | x, y, w, h > 0 (1-based) | success: miss, precision: **hit** | repeats the previous box |
//! | `got10k` | always | | is scored as it is |
//!
//! Both replace the first box by the label. Sources: `calcSeqErrRobust.m` and `genPerfMat.m` of the OTB toolkit;
//! `experiments/otb.py` of got10k.
//!
//! Overlaps may lie exactly on a threshold, so they are computed from 1-based numbers and in the toolkit's own order of
//! operations.

use serde::{Deserialize, Serialize};

use crate::bbox::BBox;
use crate::error::{Error, Result};

/// Number of overlap thresholds: 0, 0.05, …, 1.
pub(super) const SUCCESS_THRESHOLDS: usize = 21;
/// Number of centre error thresholds: 0, 1, …, 50 px; and of the normalised ones, 0, 0.01, …, 0.5.
pub(super) const PRECISION_THRESHOLDS: usize = 51;

/// A box that is missing.
pub(super) const NO_BOX: BBox = BBox { x: f64::NAN, y: f64::NAN, w: f64::NAN, h: f64::NAN };

/// The toolkit whose rules a score follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Toolkit {
    /// The OTB toolkit's rules per frame, and the plain mean over sequences.
    #[default]
    Otb,
    /// `ExperimentOTB` of the got10k package.
    Got10k,
}

named! { Toolkit, "toolkit" }

/// Whether a label counts by the rules of OTB: all four numbers of its 1-based file are above zero.
pub(super) fn counts_for_otb(label: &BBox) -> bool {
    label.x + 1.0 > 0.0 && label.y + 1.0 > 0.0 && label.w > 0.0 && label.h > 0.0
}

/// The errors of a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FrameError {
    /// Overlap (intersection over union) with the label; −1 where no label counts.
    pub overlap: f64,
    /// Distance of the centres in pixels; −1 where no label counts.
    pub center: f64,
    /// Distance of the centres, each axis divided by the label's size.
    pub normalized: f64,
    /// Whether the frame has a label that counts.
    pub labelled: bool,
    /// The box that was scored, after replacements.
    pub bbox: BBox,
}

/// Scores `boxes` against `truth` frame by frame.
///
/// # Errors
/// [`Error::Evaluation`] when the lengths differ, when there is no frame, or when the first frame has no label.
pub(super) fn frame_errors(truth: &[Option<BBox>], boxes: &[BBox], toolkit: Toolkit) -> Result<Vec<FrameError>> {
    let wrong = |reason: String| Err(Error::evaluation("scoring", reason));
    if truth.len() != boxes.len() {
        return wrong(format!("there are {} labels and {} boxes", truth.len(), boxes.len()));
    }
    let first = match truth.first() {
        None => return wrong("there is no frame".into()),
        Some(None) => return wrong("the first frame has no label".into()),
        Some(Some(first)) => *first,
    };
    let otb = toolkit == Toolkit::Otb;
    let mut errors = Vec::new();
    let mut previous: Option<BBox> = None;
    for (i, (label, predicted)) in truth.iter().zip(boxes).enumerate() {
        // A repeated first box is the predicted one, not the label that replaces it.
        let repaired = match previous {
            Some(before) if otb && label.is_some() && !predicted.is_valid() => before,
            _ => *predicted,
        };
        previous = Some(repaired);
        let scored = if i == 0 { first } else { repaired };
        let target = label.unwrap_or(NO_BOX);
        let counts = !otb || counts_for_otb(&target);
        let (center, normalized) = if counts { center_errors(&scored, &target) } else { (-1.0, -1.0) };
        let overlap = if counts { overlap(&scored, &target, otb) } else { -1.0 };
        errors.push(FrameError { overlap, center, normalized, labelled: counts && label.is_some(), bbox: scored });
    }
    Ok(errors)
}

/// Intersection over union; NaN when a box is not finite. With `counts_end_pixels` a box ends at `x + w - 1`, and its
/// length is `end - start + 1`. This differs from `x + w` only in rounding, but rounding decides an overlap that lies
/// exactly on a threshold.
fn overlap(predicted: &BBox, label: &BBox, counts_end_pixels: bool) -> f64 {
    // `min` and `max` ignore NaN.
    if !predicted.is_finite() || !label.is_finite() {
        return f64::NAN;
    }
    let last = if counts_end_pixels { 1.0 } else { 0.0 };
    let length = |a: f64, a_size: f64, b: f64, b_size: f64| {
        let (a, b) = (a + 1.0, b + 1.0);
        ((a + a_size - last).min(b + b_size - last) - a.max(b) + last).max(0.0)
    };
    let common =
        length(predicted.x, predicted.w, label.x, label.w) * length(predicted.y, predicted.h, label.y, label.h);
    let union = predicted.w * predicted.h + label.w * label.h - common;
    // Rounding may lift the overlap of equal boxes above 1; two empty boxes give NaN.
    let overlap = common / union;
    if overlap > 1.0 { 1.0 } else { overlap }
}

/// The distance of the centres in pixels, and with each axis divided by the label's size.
fn center_errors(predicted: &BBox, label: &BBox) -> (f64, f64) {
    let center = |b: &BBox| (b.x + 1.0 + (b.w - 1.0) / 2.0, b.y + 1.0 + (b.h - 1.0) / 2.0);
    let ((px, py), (lx, ly)) = (center(predicted), center(label));
    let (dx, dy) = (px - lx, py - ly);
    // Not `hypot`: the toolkits take the square root of a sum of squares, and an error of exactly 20 px must be equal.
    let length = |x: f64, y: f64| (x * x + y * y).sqrt();
    (length(dx, dy), length(dx / label.w, dy / label.h))
}

/// The score of a tracker on one sequence, over one run or several pooled runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Scored frames.
    pub frames: usize,
    /// Frames among them with a label that counts.
    pub labelled: usize,
    /// Area under the success curve: the mean of [`Score::success`], at most 20/21.
    pub auc: f64,
    /// Precision at 20 px.
    pub precision_20: f64,
    /// Normalised precision at 0.2.
    pub normalized_precision: f64,
    /// Share of frames with an overlap above 0.5.
    pub overlap_rate_50: f64,
    /// Mean overlap over the labelled frames.
    pub mean_overlap: f64,
    /// Mean centre error over the labelled frames, in pixels; `None` when one of them has no finite error.
    pub mean_center_error: Option<f64>,
    /// Losses of the target: runs of labelled frames without any overlap.
    pub failures: usize,
    /// Success at the overlap thresholds 0, 0.05, …, 1.
    pub success: Vec<f64>,
    /// Precision at 0, 1, …, 50 px.
    pub precision: Vec<f64>,
    /// Normalised precision at 0, 0.01, …, 0.5.
    pub normalized: Vec<f64>,
}

impl Score {
    pub(super) fn of(errors: &[FrameError]) -> Self {
        let frames = errors.len();
        let share = |count: usize| if frames == 0 { 0.0 } else { count as f64 / frames as f64 };
        let curve = |points: usize, passes: fn(&FrameError, f64) -> bool| -> Vec<f64> {
            (0..points).map(|i| share(errors.iter().filter(|error| passes(error, i as f64)).count())).collect()
        };
        // A quotient, not a multiple of 0.05: each threshold is the nearest number to its decimal.
        let success = curve(SUCCESS_THRESHOLDS, |error, i| error.overlap > i / 20.0);
        let precision = curve(PRECISION_THRESHOLDS, |error, i| error.center <= i);
        let normalized = curve(PRECISION_THRESHOLDS, |error, i| error.normalized <= i / 100.0);

        let labelled = || errors.iter().filter(|error| error.labelled);
        let mean = |values: &mut dyn Iterator<Item = f64>| {
            let (sum, n) = values.fold((0.0, 0usize), |(sum, n), v| (sum + v, n + 1));
            (n > 0).then(|| sum / n as f64)
        };
        // A frame without a finite box counts as no overlap: ignoring it would flatter the tracker.
        let overlap_of = |error: &FrameError| if error.overlap.is_finite() { error.overlap.max(0.0) } else { 0.0 };
        let centers = || labelled().map(|error| error.center);
        let mut lost = false;
        let failures = labelled()
            .filter(|error| {
                let was_lost = std::mem::replace(&mut lost, overlap_of(error) <= 0.0);
                lost && !was_lost
            })
            .count();
        Self {
            frames,
            labelled: labelled().count(),
            auc: success.iter().sum::<f64>() / SUCCESS_THRESHOLDS as f64,
            precision_20: precision[20],
            normalized_precision: normalized[20],
            overlap_rate_50: success[10],
            mean_overlap: mean(&mut labelled().map(overlap_of)).unwrap_or(0.0),
            mean_center_error: if centers().all(f64::is_finite) { mean(&mut centers()) } else { None },
            failures,
            success,
            precision,
            normalized,
        }
    }
}

/// Scores `boxes` against `truth` (`None` for a frame without a label), both for the same frames.
///
/// # Errors
/// [`Error::Evaluation`] when the lengths differ, when there is no frame, or when the first frame has no label.
pub fn score(truth: &[Option<BBox>], boxes: &[BBox], toolkit: Toolkit) -> Result<Score> {
    frame_errors(truth, boxes, toolkit).map(|errors| Score::of(&errors))
}

/// Scores pairs of label and predicted box as they are: nothing is replaced, and empty labels do not count.
#[cfg(feature = "cli")]
pub(crate) fn score_labelled(pairs: &[(BBox, BBox)]) -> Score {
    let error = |(label, predicted): &(BBox, BBox)| {
        let (center, normalized) = center_errors(predicted, label);
        FrameError { overlap: overlap(predicted, label, true), center, normalized, labelled: true, bbox: *predicted }
    };
    Score::of(&pairs.iter().filter(|(label, _)| label.is_valid()).map(error).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(n: usize) -> Vec<Option<BBox>> {
        (0..n).map(|i| Some(BBox::new(10.0 + i as f64, 20.0, 40.0, 30.0))).collect()
    }

    fn exact(truth: &[Option<BBox>]) -> Vec<BBox> {
        truth.iter().map(|b| b.unwrap_or_default()).collect()
    }

    #[test]
    fn scores_labelled_pairs_as_they_are() {
        let label = BBox::new(10.0, 20.0, 40.0, 30.0);
        let far = label.translated(300.0, 0.0);
        let empty = BBox::new(0.0, 0.0, 0.0, 0.0);
        let score = score_labelled(&[(label, far), (label, label), (empty, far), (label, label)]);
        assert_eq!((score.frames, score.labelled, score.mean_center_error), (3, 3, Some(100.0)));
        assert_eq!((score.precision_20, score.mean_overlap, score.success[10]), (2.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0));
    }

    #[test]
    fn a_perfect_tracker_scores_twenty_of_twenty_one() {
        // Rounding would lift the overlap of the last one with itself above 1.
        let truth = [labels(10), vec![Some(BBox::new(10.1, 20.3, 40.1, 30.1))]].concat();
        for toolkit in [Toolkit::Otb, Toolkit::Got10k] {
            let s = score(&truth, &exact(&truth), toolkit).unwrap();
            assert!((s.auc - 20.0 / 21.0).abs() < 1e-15, "{toolkit}: {}", s.auc);
            assert_eq!(s.success[20], 0.0);
            assert_eq!((s.precision_20, s.normalized_precision, s.mean_overlap), (1.0, 1.0, 1.0));
            assert_eq!((s.mean_center_error, s.failures, s.precision[0]), (Some(0.0), 0, 1.0));
        }
    }

    #[test]
    fn a_label_that_does_not_count_is_a_miss_for_success_and_a_hit_for_precision() {
        let mut truth = labels(4);
        let boxes = vec![BBox::new(500.0, 500.0, 10.0, 10.0); 4];
        truth[2] = Some(BBox::new(-1.0, 5.0, 40.0, 30.0)); // `0,6,40,30` in the file
        truth[3] = None;
        let otb = score(&truth, &boxes, Toolkit::Otb).unwrap();
        assert_eq!((otb.success[0], otb.precision[0], otb.labelled), (0.25, 0.75, 2));
        let got10k = score(&truth, &boxes, Toolkit::Got10k).unwrap();
        assert_eq!((got10k.success[0], got10k.precision[50]), (0.25, 0.25));
        // Row `1,6,40,30` counts.
        assert!(counts_for_otb(&BBox::new(0.0, 5.0, 40.0, 30.0)) && !counts_for_otb(&NO_BOX));
    }

    #[test]
    fn the_label_replaces_the_first_box() {
        let far = BBox::new(900.0, 900.0, 5.0, 5.0);
        for toolkit in [Toolkit::Otb, Toolkit::Got10k] {
            let s = score(&labels(2), &[far, far], toolkit).unwrap();
            assert_eq!((s.success[0], s.precision_20, s.normalized[50]), (0.5, 0.5, 0.5), "{toolkit}");
        }
    }

    #[test]
    fn otb_repeats_the_previous_box_for_an_invalid_one() {
        let truth = vec![Some(BBox::new(10.0, 10.0, 20.0, 20.0)); 4];
        let good = BBox::new(10.0, 10.0, 20.0, 20.0);
        let boxes = [good, good, NO_BOX, BBox::new(-1.0, -1.0, 0.0, 0.0)];
        assert_eq!(score(&truth, &boxes, Toolkit::Otb).unwrap().success[0], 1.0);
        let got10k = score(&truth, &boxes, Toolkit::Got10k).unwrap();
        assert_eq!((got10k.success[0], got10k.precision[0]), (0.5, 0.5));
        // The second frame repeats the first box as it was predicted, not the label that replaced it.
        let far = BBox::new(300.0, 300.0, 20.0, 20.0);
        let errors = frame_errors(&truth[..2], &[far, NO_BOX], Toolkit::Otb).unwrap();
        assert_eq!((Score::of(&errors).success[0], [errors[0].bbox, errors[1].bbox]), (0.5, [good, far]));
    }

    #[test]
    fn thresholds_are_strict_for_overlap_and_inclusive_for_distance() {
        // Half overlap: 20x20 against 20x10 inside it.
        let truth = vec![Some(BBox::new(10.0, 10.0, 20.0, 20.0)); 2];
        let half = BBox::new(10.0, 10.0, 20.0, 10.0);
        let s = score(&truth, &[half, half], Toolkit::Otb).unwrap();
        assert_eq!((s.success[9], s.success[10], s.overlap_rate_50), (1.0, 0.5, 0.5));
        let away = BBox::new(10.0 + 12.0, 10.0 + 16.0, 20.0, 20.0);
        let s = score(&truth, &[away, away], Toolkit::Otb).unwrap();
        assert_eq!((s.precision[19], s.precision_20), (0.5, 1.0));
    }

    #[test]
    fn pixel_conventions_differ_only_in_rounding() {
        let (a, b) = (BBox::new(10.0, 10.0, 21.0, 33.0), BBox::new(14.0, 3.0, 25.0, 31.0));
        assert_eq!((a.overlap(&b), a.overlap(&b)), (overlap(&a, &b, true), overlap(&a, &b, false)));
        assert_eq!(a.center_error(&b), center_errors(&a, &b).0);
        // 33x41 in 41x55 is 3/5 exactly. From x = 223.725 (1-based) rounding lifts it when boxes end at x + w.
        let label = BBox::new(216.0, 68.0, 41.0, 55.0);
        let inside = BBox::new(222.725, 71.8776, 33.0, 41.0);
        assert!(overlap(&inside, &label, false) > 0.6);
        assert!((overlap(&inside, &label, false) - 0.6).abs() < 1e-14);
        assert!(overlap(&BBox::new(f64::NAN, 0.0, 1.0, 1.0), &label, true).is_nan());
    }

    #[test]
    fn normalised_precision_divides_by_the_label_size() {
        let truth = vec![Some(BBox::new(0.0, 0.0, 100.0, 50.0)); 2];
        for (right, before, share) in [(10.0, 9, 1.0), (19.0, 18, 1.0), (21.0, 20, 0.5)] {
            let moved = truth[0].unwrap().translated(right, 0.0);
            let s = score(&truth, &[moved, moved], Toolkit::Otb).unwrap();
            assert_eq!((s.normalized[before], s.normalized[before + 1]), (0.5, 1.0));
            assert_eq!(s.normalized_precision, share, "at 0.2: {right}");
        }
    }

    #[test]
    fn a_frame_without_a_box_leaves_no_mean_center_error() {
        let truth = vec![Some(BBox::new(10.0, 10.0, 20.0, 20.0)); 3];
        let label = truth[0].unwrap();
        for toolkit in [Toolkit::Otb, Toolkit::Got10k] {
            let of = |boxes: &[BBox]| score(&truth, boxes, toolkit).unwrap().mean_center_error;
            assert_eq!(of(&[label, label, NO_BOX]), (toolkit == Toolkit::Otb).then_some(0.0), "{toolkit}");
            assert_eq!(of(&[label, label, label.translated(3.0, 0.0)]), Some(1.0), "{toolkit}");
        }
        let truth = [Some(label), None, Some(label)];
        assert_eq!(score(&truth, &[label, NO_BOX, label], Toolkit::Got10k).unwrap().mean_center_error, Some(0.0));
    }

    #[test]
    fn counts_each_loss_once() {
        let truth = labels(7);
        let mut boxes = exact(&truth);
        for lost in [2, 3, 5] {
            boxes[lost] = BBox::new(800.0, 800.0, 9.0, 9.0);
        }
        // A box that barely overlaps the label ends a failure.
        boxes[4] = boxes[4].translated(38.0, 0.0);
        assert_eq!(score(&truth, &boxes, Toolkit::Otb).unwrap().failures, 2);
    }

    #[test]
    fn refuses_what_cannot_be_scored() {
        let truth = labels(3);
        let message = score(&truth, &exact(&truth)[..2], Toolkit::Otb).unwrap_err().to_string();
        assert!(message.contains("3 labels and 2 boxes"), "{message}");
        assert!(score(&[], &[], Toolkit::Otb).is_err());
        assert!(score(&[None], &[BBox::default()], Toolkit::Otb).is_err());
    }
}
