//! From boxes to numbers: errors per frame, curves per sequence, and the scores that papers print.
//!
//! * **Success** at a threshold `t` is the share of frames whose overlap with the label is above `t`, for
//!   `t = 0, 0.05, …, 1`. **AUC** is the mean of these 21 numbers. As no overlap is above 1, a perfect tracker scores
//!   20/21 = 0.952 (Wu, Lim & Yang, TPAMI 2015).
//! * **Precision** at `d` is the share of frames whose centre lies within `d` pixels of the label's, for `d = 0, 1, …,
//! 50`.
//!   **P@20** is the one at 20 px.
//! * **Normalised precision** divides the centre error, per axis, by the label's width and height; thresholds are
//!   `0, 0.01, …, 0.5` and the score is the value at 0.2 (LaSOT, Fan et al., CVPR 2019).
//!
//! The shift between 0-based and 1-based boxes cancels in overlaps and in distances, as does the pixel convention (a
//! box from `x` to `x + w - 1` against one from `x` to `x + w`), but for rounding. As an overlap may lie exactly on a
//! threshold, they are computed here from the 1-based numbers of the files and in the order of operations of the
//! toolkit that is followed.

use serde::{Deserialize, Serialize};

use super::rules::{Rules, Toolkit};
use crate::annotation::Base;
use crate::error::{Error, Result};
use crate::geometry::BBox;

/// Number of overlap thresholds: 0, 0.05, …, 1.
pub const SUCCESS_THRESHOLDS: usize = 21;
/// Number of centre error thresholds: 0, 1, …, 50 px; and of the normalised ones, 0, 0.01, …, 0.5.
pub const PRECISION_THRESHOLDS: usize = 51;

/// The overlap threshold with number `i`, 0 to 20.
pub fn success_threshold(i: usize) -> f64 {
    // A quotient, not a multiple of 0.05, so that each one is the nearest number to its decimal.
    i as f64 / 20.0
}

/// The errors of each frame of one run, as a toolkit's rules see them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrameErrors {
    /// Overlap (intersection over union) with the label; −1 in a frame without a usable label.
    pub overlap: Vec<f64>,
    /// Distance of the centres in pixels; −1 or infinite in a frame without a usable label, by the rules.
    pub center: Vec<f64>,
    /// The same, each axis divided by the label's size; −1 in a frame without a usable label.
    pub normalized: Vec<f64>,
    /// Whether the frame has a usable label.
    pub valid: Vec<bool>,
    /// The boxes that were scored: what was predicted, after the rules have replaced what they replace.
    pub boxes: Vec<BBox>,
}

impl FrameErrors {
    /// Number of frames.
    pub fn len(&self) -> usize {
        self.overlap.len()
    }

    /// Whether there is no frame.
    pub fn is_empty(&self) -> bool {
        self.overlap.is_empty()
    }

    /// Appends the frames of another run: how the runs of TRE and SRE are pooled.
    pub fn extend(&mut self, other: &Self) {
        self.overlap.extend_from_slice(&other.overlap);
        self.center.extend_from_slice(&other.center);
        self.normalized.extend_from_slice(&other.normalized);
        self.valid.extend_from_slice(&other.valid);
        self.boxes.extend_from_slice(&other.boxes);
    }
}

/// Scores `boxes` frame by frame against `truth` (`None` where there is no label) from a file of the given base, both
/// for the same frames.
///
/// # Errors
/// [`Error::Evaluation`] when the lengths differ, when there is no frame, or when the first frame has no label.
pub fn frame_errors(truth: &[Option<BBox>], base: Base, boxes: &[BBox], rules: &Rules) -> Result<FrameErrors> {
    let wrong = |reason: String| Err(Error::Evaluation { what: "scoring".into(), reason });
    if truth.len() != boxes.len() {
        return wrong(format!("there are {} labels and {} boxes", truth.len(), boxes.len()));
    }
    let Some(first) = truth.first() else { return wrong("there is no frame".into()) };
    if first.is_none() {
        return wrong("the first frame has no label".into());
    }

    let mut errors = FrameErrors::default();
    let mut kept: Option<BBox> = None;
    for (i, (label, predicted)) in truth.iter().zip(boxes).enumerate() {
        // The replacement goes by the boxes as they were predicted; only afterwards is the first one set to the label.
        let repaired = match kept {
            Some(before) if label.is_some() && rules.invalid_prediction.replaces(predicted) => before,
            _ => *predicted,
        };
        kept = Some(repaired);
        let box_ = if i == 0 && rules.first_is_label { label.unwrap_or(repaired) } else { repaired };

        let scored = label.unwrap_or(BBox::new(f64::NAN, f64::NAN, f64::NAN, f64::NAN));
        let overlap_counts = rules.overlap_needs.holds(label.as_ref(), base);
        let center_counts = rules.center_needs.holds(label.as_ref(), base);
        let unscored = (rules.invalid_truth.center(), rules.invalid_truth.normalized());
        let (center, normalized) = if center_counts { center_errors(&box_, &scored) } else { unscored };
        errors.overlap.push(if overlap_counts { overlap(&box_, &scored, rules.counts_end_pixels) } else { -1.0 });
        errors.center.push(if rules.rounds_center_error { (center * 1e4).round() / 1e4 } else { center });
        errors.normalized.push(normalized);
        errors.valid.push(overlap_counts && label.is_some());
        errors.boxes.push(box_);
    }
    Ok(errors)
}

/// Intersection over union; not a number when a box is not.
fn overlap(predicted: &BBox, label: &BBox, counts_end_pixels: bool) -> f64 {
    // `min` and `max` would pass over a number that is none.
    if [predicted, label].iter().any(|b| ![b.x, b.y, b.w, b.h].iter().all(|v| v.is_finite())) {
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
    // Rounding may lift the overlap of equal boxes above 1, where no toolkit wants a hit. Two boxes of no size have
    // none.
    let overlap = common / union;
    if overlap > 1.0 { 1.0 } else { overlap }
}

/// The distance of the centres in pixels, and with each axis divided by the label's size.
fn center_errors(predicted: &BBox, label: &BBox) -> (f64, f64) {
    let center = |b: &BBox| (b.x + 1.0 + (b.w - 1.0) / 2.0, b.y + 1.0 + (b.h - 1.0) / 2.0);
    let ((px, py), (lx, ly)) = (center(predicted), center(label));
    let (dx, dy) = (px - lx, py - ly);
    // Not `hypot`: an error of exactly 20 px has to come out as one, and a square root of a sum of squares is what is
    // compared with.
    let length = |x: f64, y: f64| (x * x + y * y).sqrt();
    // A label of no size gives an error that is not a number or infinite: a miss.
    (length(dx, dy), length(dx / label.w, dy / label.h))
}

/// What one run, or several pooled runs, of a tracker on one sequence scored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Frames that were counted.
    pub frames: usize,
    /// Frames among them that have a usable label.
    pub labelled: usize,
    /// Area under the success curve: the mean of [`Score::success`]. At most 20/21.
    pub auc: f64,
    /// Precision at 20 px.
    pub precision_20: f64,
    /// Normalised precision at 0.2.
    pub normalized_precision: f64,
    /// Share of frames with an overlap above 0.5.
    pub overlap_rate_50: f64,
    /// Mean overlap over the labelled frames.
    pub mean_overlap: f64,
    /// Mean centre error over the labelled frames, in pixels; `None` when one of them has a box that is no number, or
    /// none of them is scored by its centre.
    pub mean_center_error: Option<f64>,
    /// How often the target was lost: runs of labelled frames without any overlap.
    pub failures: usize,
    /// Success at the overlap thresholds 0, 0.05, …, 1.
    pub success: Vec<f64>,
    /// Precision at 0, 1, …, 50 px.
    pub precision: Vec<f64>,
    /// Normalised precision at 0, 0.01, …, 0.5.
    pub normalized: Vec<f64>,
}

impl Score {
    /// The score of frames that were looked at already; no frames score zero everywhere.
    pub fn of(errors: &FrameErrors) -> Self {
        let frames = errors.len();
        let share = |count: usize| if frames == 0 { 0.0 } else { count as f64 / frames as f64 };
        let curve = |points: usize, passes: &dyn Fn(usize) -> usize| (0..points).map(|i| share(passes(i))).collect();
        let success: Vec<f64> =
            curve(SUCCESS_THRESHOLDS, &|i| errors.overlap.iter().filter(|&&o| o > success_threshold(i)).count());
        let precision: Vec<f64> =
            curve(PRECISION_THRESHOLDS, &|i| errors.center.iter().filter(|&&e| e <= i as f64).count());
        let normalized: Vec<f64> =
            curve(PRECISION_THRESHOLDS, &|i| errors.normalized.iter().filter(|&&e| e <= i as f64 / 100.0).count());

        let labelled = || errors.valid.iter().enumerate().filter(|&(_, &valid)| valid).map(|(i, _)| i);
        let mean = |values: &mut dyn Iterator<Item = f64>| {
            let (sum, n) = values.fold((0.0, 0usize), |(sum, n), v| (sum + v, n + 1));
            (n > 0).then(|| sum / n as f64)
        };
        // A frame whose box is no number overlaps nothing, and is at no distance; leaving it out of the means would
        // flatter the tracker. Below zero are those that are not scored by their centres.
        let overlap_of = |i: usize| if errors.overlap[i].is_finite() { errors.overlap[i].max(0.0) } else { 0.0 };
        let centers = || labelled().map(|i| errors.center[i]).filter(|e| e.is_nan() || *e >= 0.0);
        let mut lost = false;
        let failures = labelled()
            .filter(|&i| {
                let was_lost = std::mem::replace(&mut lost, overlap_of(i) <= 0.0);
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

/// Scores `boxes` against `truth` from a 1-based file, as OTB's are, frame by frame for the same frames, by the rules
/// of `toolkit`. [`frame_errors`] does so for files of either base.
///
/// # Errors
/// As [`frame_errors`].
pub fn score(truth: &[Option<BBox>], boxes: &[BBox], toolkit: Toolkit) -> Result<Score> {
    frame_errors(truth, Base::One, boxes, &toolkit.rules()).map(|errors| Score::of(&errors))
}

/// Scores boxes, each with its label and as it is: none is repaired, and the first is not taken to be the label. A
/// label of no size counts as none.
pub fn score_labelled(pairs: &[(BBox, BBox)]) -> Score {
    let mut errors = FrameErrors::default();
    for (label, predicted) in pairs.iter().filter(|(label, _)| label.is_valid()) {
        let (center, normalized) = center_errors(predicted, label);
        errors.overlap.push(overlap(predicted, label, true));
        errors.center.push(center);
        errors.normalized.push(normalized);
        errors.valid.push(true);
        errors.boxes.push(*predicted);
    }
    Score::of(&errors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_are_scored_where_they_have_a_label_and_as_they_are() {
        let label = BBox::new(10.0, 20.0, 40.0, 30.0);
        let far = label.translated(300.0, 0.0);
        let none = BBox::new(0.0, 0.0, 0.0, 0.0);
        let score = score_labelled(&[(label, far), (label, label), (none, far), (label, label)]);
        assert_eq!((score.frames, score.labelled, score.mean_center_error), (3, 3, Some(100.0)));
        assert_eq!((score.precision_20, score.mean_overlap, score.success[10]), (2.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0));
    }

    fn labels(n: usize) -> Vec<Option<BBox>> {
        (0..n).map(|i| Some(BBox::new(10.0 + i as f64, 20.0, 40.0, 30.0))).collect()
    }

    fn exact(truth: &[Option<BBox>]) -> Vec<BBox> {
        truth.iter().map(|b| b.unwrap_or_default()).collect()
    }

    #[test]
    fn a_perfect_tracker_scores_twenty_of_twenty_one() {
        let truth = labels(10);
        for toolkit in Toolkit::ALL {
            let s = score(&truth, &exact(&truth), toolkit).unwrap();
            assert!((s.auc - 20.0 / 21.0).abs() < 1e-15, "{toolkit}: {}", s.auc);
            assert_eq!(s.success[20], 0.0);
            assert_eq!((s.precision_20, s.normalized_precision, s.mean_overlap), (1.0, 1.0, 1.0));
            assert_eq!((s.mean_center_error, s.failures, s.precision[0]), (Some(0.0), 0, 1.0));
        }
    }

    #[test]
    fn an_unusable_label_is_a_miss_for_success_and_a_hit_for_precision() {
        let mut truth = labels(4);
        let boxes = vec![BBox::new(500.0, 500.0, 10.0, 10.0); 4];
        truth[2] = Some(BBox::new(-1.0, 5.0, 40.0, 30.0)); // `0,6,40,30` in the file
        truth[3] = None;
        let otb = score(&truth, &boxes, Toolkit::Otb).unwrap();
        assert_eq!((otb.success[0], otb.precision[0], otb.labelled), (0.25, 0.75, 2));
        // pytracking counts the first one as labelled, and a missing label as a miss for both, but a hit for P_norm.
        let pytracking = score(&truth, &boxes, Toolkit::Pytracking).unwrap();
        assert_eq!((pytracking.success[0], pytracking.precision[50], pytracking.labelled), (0.25, 0.25, 3));
        assert_eq!(pytracking.normalized[0], 0.5);
        // got10k has no such rule: what is not a number passes nothing.
        let got10k = score(&truth, &boxes, Toolkit::Got10k).unwrap();
        assert_eq!((got10k.success[0], got10k.precision[50]), (0.25, 0.25));
        // pysot asks for the size when it looks at overlaps, for the centre when it looks at distances.
        let pysot = score(&truth, &boxes, Toolkit::Pysot).unwrap();
        assert_eq!((pysot.success[0], pysot.precision[50]), (0.0, 0.25), "nor is its first box set to the label");
    }

    #[test]
    fn the_first_box_is_taken_to_be_the_label_but_by_pysot() {
        let truth = labels(2);
        let far = BBox::new(900.0, 900.0, 5.0, 5.0);
        for toolkit in Toolkit::ALL {
            let s = score(&truth, &[far, far], toolkit).unwrap();
            let expected = if toolkit == Toolkit::Pysot { 0.0 } else { 0.5 };
            assert_eq!((s.success[0], s.precision_20, s.normalized[50]), (expected, expected, expected), "{toolkit}");
        }
    }

    #[test]
    fn rows_of_zeros_are_hits_where_the_toolkit_counts_them_as_such() {
        // Five labels and five rows `0,0,0,0`, followed exactly.
        let label = [40.0, 50.0, 20.0, 30.0];
        for base in [Base::Zero, Base::One] {
            let rows = [[label; 5], [[0.0; 4]; 5]].concat();
            let truth: Vec<_> = rows.iter().map(|&row| Some(base.to_bbox(row))).collect();
            let boxes = vec![base.to_bbox(label); 10];
            let shares = |toolkit: Toolkit| {
                let s = Score::of(&frame_errors(&truth, base, &boxes, &toolkit.rules()).unwrap());
                (s.success[0], s.precision_20, s.normalized_precision)
            };
            assert_eq!(shares(Toolkit::Otb), (0.5, 1.0, 1.0), "{base:?}");
            assert_eq!(shares(Toolkit::Pysot), (0.5, 1.0, 1.0), "{base:?}");
            assert_eq!(shares(Toolkit::Pytracking), (0.5, 0.5, 1.0), "{base:?}");
        }
    }

    #[test]
    fn a_box_that_is_none_repeats_the_one_before() {
        let truth = vec![Some(BBox::new(10.0, 10.0, 20.0, 20.0)); 4];
        let good = BBox::new(10.0, 10.0, 20.0, 20.0);
        let nan = BBox::new(f64::NAN, f64::NAN, f64::NAN, f64::NAN);
        let empty = BBox::new(-1.0, -1.0, 0.0, 0.0);
        let boxes = [good, good, nan, empty];
        assert_eq!(score(&truth, &boxes, Toolkit::Otb).unwrap().success[0], 1.0);
        assert_eq!(score(&truth, &boxes, Toolkit::Matlab).unwrap().precision[0], 1.0);
        // Others take it as it is: a miss for both.
        let got10k = score(&truth, &boxes, Toolkit::Got10k).unwrap();
        assert_eq!((got10k.success[0], got10k.precision[0]), (0.5, 0.5));
        // What is repeated in frame two is the first box as it was predicted, not the label it is replaced with.
        let far = BBox::new(300.0, 300.0, 20.0, 20.0);
        assert_eq!(score(&truth[..2], &[far, nan], Toolkit::Otb).unwrap().success[0], 0.5);
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
    fn pixel_conventions_cancel() {
        // The same boxes 0-based and 1-based, and from x to x+w-1 against from x to x+w.
        let (a, b) = (BBox::new(10.0, 10.0, 21.0, 33.0), BBox::new(14.0, 3.0, 25.0, 31.0));
        let shifted = a.translated(1.0, 1.0).overlap(&b.translated(1.0, 1.0));
        assert_eq!(a.overlap(&b), shifted);
        assert_eq!(a.overlap(&b), overlap(&a, &b, true));
        assert_eq!(a.overlap(&b), overlap(&a, &b, false));
        assert_eq!(a.center_error(&b), center_errors(&a, &b).0);
    }

    #[test]
    fn a_box_inside_its_label_may_lie_on_a_threshold() {
        // 33x41 in 41x55 is 3/5 exactly. From x = 223.725 (1-based) rounding makes it a little more for who ends boxes
        // at x + w.
        let label = BBox::new(216.0, 68.0, 41.0, 55.0);
        let inside = BBox::new(222.725, 71.8776, 33.0, 41.0);
        assert!(overlap(&inside, &label, false) > 0.6);
        assert!((overlap(&inside, &label, false) - 0.6).abs() < 1e-14);
        assert!(overlap(&BBox::new(f64::NAN, 0.0, 1.0, 1.0), &label, true).is_nan());
    }

    #[test]
    fn the_python_toolkit_rounds_distances() {
        let truth = vec![Some(BBox::new(10.0, 10.0, 20.0, 20.0)); 2];
        let just_over = truth[0].unwrap().translated(20.000_04, 0.0);
        let boxes = [just_over, just_over];
        assert_eq!(score(&truth, &boxes, Toolkit::Otb).unwrap().precision_20, 0.5);
        assert_eq!(score(&truth, &boxes, Toolkit::Python).unwrap().precision_20, 1.0);
    }

    #[test]
    fn normalised_precision_divides_by_the_label_size() {
        let truth = vec![Some(BBox::new(0.0, 0.0, 100.0, 50.0)); 2];
        let moved = truth[0].unwrap().translated(10.0, 0.0);
        let s = score(&truth, &[moved, moved], Toolkit::Otb).unwrap();
        assert_eq!((s.normalized[9], s.normalized[10]), (0.5, 1.0));
    }

    #[test]
    fn a_frame_without_a_box_leaves_no_mean_centre_error() {
        let truth = vec![Some(BBox::new(10.0, 10.0, 20.0, 20.0)); 3];
        let (label, nan) = (truth[0].unwrap(), BBox::new(f64::NAN, f64::NAN, f64::NAN, f64::NAN));
        for toolkit in Toolkit::ALL {
            let of = |boxes: &[BBox]| score(&truth, boxes, toolkit).unwrap().mean_center_error;
            let repeats = matches!(toolkit, Toolkit::Otb | Toolkit::Matlab);
            assert_eq!(of(&[label, label, nan]), repeats.then_some(0.0), "{toolkit}");
            assert_eq!(of(&[label, label, label.translated(3.0, 0.0)]), Some(1.0), "{toolkit}");
        }
        // Frames that are not scored have no distance that could be missed.
        let truth = [Some(label), None, Some(label)];
        assert_eq!(score(&truth, &[label, nan, label], Toolkit::Got10k).unwrap().mean_center_error, Some(0.0));
    }

    #[test]
    fn the_boxes_that_were_scored_are_handed_out() {
        let truth = labels(3);
        let (far, nan) = (BBox::new(300.0, 300.0, 20.0, 20.0), BBox::new(f64::NAN, 0.0, 1.0, 1.0));
        let boxes =
            |toolkit: Toolkit| frame_errors(&truth, Base::One, &[far, nan, far], &toolkit.rules()).unwrap().boxes;
        assert_eq!(boxes(Toolkit::Otb), [truth[0].unwrap(), far, far]);
        let pysot = boxes(Toolkit::Pysot);
        assert!(pysot[0] == far && pysot[1].x.is_nan());
    }

    #[test]
    fn failures_are_counted_once_per_loss() {
        let truth = labels(7);
        let mut boxes = exact(&truth);
        for lost in [2, 3, 5] {
            boxes[lost] = BBox::new(800.0, 800.0, 9.0, 9.0);
        }
        assert_eq!(score(&truth, &boxes, Toolkit::Otb).unwrap().failures, 2);
    }

    #[test]
    fn what_cannot_be_scored_is_said() {
        let truth = labels(3);
        let message = score(&truth, &exact(&truth)[..2], Toolkit::Otb).unwrap_err().to_string();
        assert!(message.contains("3 labels and 2 boxes"), "{message}");
        assert!(score(&[], &[], Toolkit::Otb).is_err());
        assert!(score(&[None], &[BBox::default()], Toolkit::Otb).is_err());
    }
}
