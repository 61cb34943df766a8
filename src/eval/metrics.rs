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
//!
//! The rules of two toolkits are known: those of the OTB toolkit (`calcSeqErrRobust.m`), with the plain mean over
//! sequences, and those of `ExperimentOTB` in the got10k package.
//!
//! | rules | a label counts when | a frame without such a label | first box | a box without area |
//! | --- | --- | --- | --- | --- |
//! | `otb` | x, y, w, h > 0 (1-based) | success: miss, precision: **hit** | the label | repeats the one before |
//! | `got10k` | always | is scored as it is | the label | is scored as it is |

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::bbox::BBox;
use crate::error::{Error, Result};

/// Which toolkit's rules a score follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Toolkit {
    /// The OTB rules per frame, and the plain mean over sequences.
    #[default]
    Otb,
    /// `ExperimentOTB` of the got10k package.
    Got10k,
}

impl Toolkit {
    /// Both, in the order of the table above.
    pub const ALL: [Self; 2] = [Self::Otb, Self::Got10k];

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Otb => "otb",
            Self::Got10k => "got10k",
        }
    }

    /// Whether `label` (0-based, `None` for a row without numbers) counts. OTB's files are 1-based, so a target whose
    /// left edge lies on or beyond the border of the image has no label that counts, although it may be visible.
    pub(super) fn counts(self, label: Option<&BBox>) -> bool {
        match self {
            Self::Otb => label.is_some_and(|b| b.x + 1.0 > 0.0 && b.y + 1.0 > 0.0 && b.w > 0.0 && b.h > 0.0),
            Self::Got10k => true,
        }
    }
}

impl fmt::Display for Toolkit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Toolkit {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|t| t.name() == name).ok_or_else(|| Error::Parameter {
            name: "toolkit",
            value: name.to_owned(),
            expected: "must be otb or got10k".into(),
        })
    }
}

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
    /// Distance of the centres in pixels; −1 in a frame without a usable label.
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

/// Scores `boxes` frame by frame against `truth` (`None` where there is no label), both for the same frames.
///
/// # Errors
/// [`Error::Evaluation`] when the lengths differ, when there is no frame, or when the first frame has no label.
pub fn frame_errors(truth: &[Option<BBox>], boxes: &[BBox], toolkit: Toolkit) -> Result<FrameErrors> {
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
        let replaced = toolkit == Toolkit::Otb && label.is_some() && !predicted.is_valid();
        let repaired = kept.filter(|_| replaced).unwrap_or(*predicted);
        kept = Some(repaired);
        let box_ = if i == 0 { label.unwrap_or(repaired) } else { repaired };

        let scored = label.unwrap_or(BBox::new(f64::NAN, f64::NAN, f64::NAN, f64::NAN));
        let counts = toolkit.counts(label.as_ref());
        // Below every threshold of precision, above none of success: OTB counts such a frame as a hit there.
        let (center, normalized) = if counts { center_errors(&box_, &scored) } else { (-1.0, -1.0) };
        errors.overlap.push(if counts { overlap(&box_, &scored, toolkit == Toolkit::Otb) } else { -1.0 });
        errors.center.push(center);
        errors.normalized.push(normalized);
        errors.valid.push(counts && label.is_some());
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

/// Scores `boxes` against `truth`, both for the same frames, by the rules of `toolkit`.
///
/// # Errors
/// As [`frame_errors`].
pub fn score(truth: &[Option<BBox>], boxes: &[BBox], toolkit: Toolkit) -> Result<Score> {
    frame_errors(truth, boxes, toolkit).map(|errors| Score::of(&errors))
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
mod tests;
