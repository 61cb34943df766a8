//! States and confidences of a tracker, judged by the labels.
//!
//! Frames are pooled: a sequence without misses has no share of its misses. The given box and frames without a label do
//! not count. A frame is a hit when the overlap is above 0.5.

use std::collections::BTreeMap;

use serde::Serialize;

use super::metrics::FrameError;
use super::runner::Trace;
use crate::bbox::BBox;
use crate::tracker::State;

/// Number of equal bins of the confidence (Guo et al., ICML 2017, use 15 on far more samples).
const BINS: usize = 10;

/// The states that are scored; a frame that cannot be read has no score, and a given box needs none.
pub(super) const STATES: [State; 5] =
    [State::Tracking, State::Recovered, State::Uncertain, State::Occluded, State::Lost];

/// One frame: whether it is a hit, and the tracker's state and confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Judgement {
    pub hit: bool,
    pub state: State,
    pub confidence: Option<f32>,
}

/// The judgements of a run; none of a tracker without states.
pub(super) fn judgements(truth: &[Option<BBox>], run: &Trace, errors: &[FrameError]) -> Vec<Judgement> {
    let said = run.states.iter().zip(&run.confidence).zip(errors.iter().zip(truth)).skip(1);
    let counts = said.filter(|(_, (error, label))| error.labelled && label.is_some_and(|label| label.is_valid()));
    let judge = |((&state, &confidence), (error, _)): (_, (&FrameError, _))| Judgement {
        hit: error.overlap > 0.5,
        state,
        confidence,
    };
    counts.map(judge).collect()
}

/// How far a tracker's states and confidence can be trusted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reliability {
    /// The frames with an overlap above 0.5.
    pub hits: StateShares,
    /// All other frames with a label.
    pub misses: StateShares,
    /// The probability that a hit has a higher confidence than a miss; ties count half. `None` without a confidence,
    /// without hits, and without misses.
    pub auroc: Option<f64>,
    /// Expected calibration error: the mean distance of confidence and share of hits in [`Reliability::bins`], weighted
    /// by frames. `None` without a confidence.
    pub calibration_error: Option<f64>,
    /// The ten equal bins of the confidence that have frames.
    pub bins: Vec<Bin>,
}

/// The shares of the states in a group of frames.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StateShares {
    /// Number of frames.
    pub frames: usize,
    /// Share of each state by its name; empty without frames.
    pub shares: BTreeMap<&'static str, f64>,
}

/// Frames of similar confidence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bin {
    /// Number of frames.
    pub frames: usize,
    /// Their mean confidence.
    pub confidence: f64,
    /// The share of hits among them.
    pub hits: f64,
}

impl Reliability {
    /// `None` without frames.
    pub(super) fn of(frames: &[Judgement]) -> Option<Self> {
        let shares = |hit: bool| {
            let states: Vec<State> = frames.iter().filter(|frame| frame.hit == hit).map(|frame| frame.state).collect();
            let share = |state: State| {
                let n = states.iter().filter(|&&other| other == state).count();
                (state.name(), n as f64 / states.len() as f64)
            };
            let all = STATES.into_iter().filter(|_| !states.is_empty());
            StateShares { frames: states.len(), shares: all.map(share).collect() }
        };
        let sure: Vec<(f32, bool)> = frames.iter().filter_map(|frame| Some((frame.confidence?, frame.hit))).collect();
        let bins = bins(&sure);
        let error: f64 = bins.iter().map(|bin| bin.frames as f64 * (bin.confidence - bin.hits).abs()).sum();
        (!frames.is_empty()).then(|| Self {
            hits: shares(true),
            misses: shares(false),
            auroc: auroc(sure.clone()),
            calibration_error: (!sure.is_empty()).then(|| error / sure.len() as f64),
            bins,
        })
    }

    /// The columns of tables: shares of [`STATES`] on hits and on misses, AUROC, calibration error.
    #[cfg(feature = "cli")]
    pub(super) fn columns(this: Option<&Self>) -> Vec<Option<f64>> {
        let groups = [this.map(|r| &r.hits), this.map(|r| &r.misses)];
        let shares = groups
            .into_iter()
            .flat_map(|group| STATES.map(|state| group.and_then(|group| group.shares.get(state.name()).copied())));
        shares.chain([this.and_then(|r| r.auroc), this.and_then(|r| r.calibration_error)]).collect()
    }
}

/// The statistic of Mann and Whitney as a share of all pairs of a hit and a miss.
fn auroc(mut frames: Vec<(f32, bool)>) -> Option<f64> {
    frames.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut won, mut misses, mut hits) = (0.0, 0.0, 0.0);
    for tied in frames.chunk_by(|a, b| a.0 == b.0) {
        let good = tied.iter().filter(|frame| frame.1).count() as f64;
        let bad = tied.len() as f64 - good;
        won += good * (misses + bad / 2.0);
        (hits, misses) = (hits + good, misses + bad);
    }
    (hits * misses > 0.0).then(|| won / (hits * misses))
}

fn bins(frames: &[(f32, bool)]) -> Vec<Bin> {
    let mut sums = [(0, 0.0, 0.0); BINS];
    for &(confidence, hit) in frames {
        let (n, sum, hits) = &mut sums[((confidence * BINS as f32) as usize).min(BINS - 1)];
        (*n, *sum, *hits) = (*n + 1, *sum + f64::from(confidence), *hits + f64::from(u8::from(hit)));
    }
    let used = sums.into_iter().filter(|bin| bin.0 > 0);
    used.map(|(n, sum, hits)| Bin { frames: n, confidence: sum / n as f64, hits: hits / n as f64 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::metrics::{NO_BOX, Toolkit, frame_errors};
    use crate::eval::protocols::Start;

    fn frame(hit: bool, state: State, confidence: f32) -> Judgement {
        Judgement { hit, state, confidence: Some(confidence) }
    }

    #[test]
    fn auroc_counts_ties_half_and_needs_both_classes() {
        // Pairs of the hits .9, .5, .5 and the misses .5, .1: 2 + 1.5 + 1.5 of 6.
        let frames = vec![(0.9, true), (0.5, false), (0.5, true), (0.1, false), (0.5, true)];
        assert_eq!(auroc(frames), Some(5.0 / 6.0));
        assert_eq!(auroc(vec![(0.3, false), (0.2, true)]), Some(0.0));
        assert_eq!(auroc(vec![(0.7, true), (0.7, false)]), Some(0.5));
        assert_eq!((auroc(vec![(0.7, true)]), auroc(vec![(0.7, false)]), auroc(vec![])), (None, None, None));
    }

    #[test]
    fn the_calibration_error_weights_bins_by_frames() {
        // Bin .2 to .3: mean .25, no hit. Last bin: 1 and .9375, one hit of two. Error: (2 * .25 + 2 * .46875) / 4.
        let frames = [(false, 0.25), (false, 0.25), (true, 1.0), (false, 0.9375)];
        let frames = frames.map(|(hit, confidence)| frame(hit, State::Tracking, confidence));
        let found = Reliability::of(&frames).unwrap();
        assert_eq!(found.calibration_error, Some(0.359375));
        let bins: Vec<_> = found.bins.iter().map(|bin| (bin.frames, bin.confidence, bin.hits)).collect();
        assert_eq!(bins, [(2, 0.25, 0.0), (2, 0.96875, 0.5)]);
    }

    #[test]
    fn shares_are_of_hits_and_of_misses() {
        let hits = [State::Tracking, State::Tracking, State::Uncertain, State::Recovered];
        let misses = [State::Lost, State::Occluded];
        let frames: Vec<_> = hits
            .map(|state| frame(true, state, 0.5))
            .into_iter()
            .chain(misses.map(|state| frame(false, state, 0.5)))
            .collect();
        let found = Reliability::of(&frames).unwrap();
        assert_eq!((found.hits.frames, found.misses.frames), (4, 2));
        let columns: Vec<f64> = Reliability::columns(Some(&found)).into_iter().map(Option::unwrap).collect();
        assert_eq!(columns[..5], [0.5, 0.25, 0.25, 0.0, 0.0]);
        assert_eq!(columns[5..11], [0.0, 0.0, 0.0, 0.5, 0.5, 0.5]);
        assert!((columns[11] - 1.0 / 6.0).abs() < 1e-12);

        let silent = frames[..4].iter().map(|frame| Judgement { confidence: None, ..*frame }).collect::<Vec<_>>();
        let found = Reliability::of(&silent).unwrap();
        assert_eq!((found.auroc, found.calibration_error, found.bins.len()), (None, None, 0));
        assert_eq!((found.misses.frames, found.misses.shares.len()), (0, 0));
        assert_eq!(Reliability::of(&[]), None);
        assert_eq!(Reliability::columns(None), vec![None; 12]);
    }

    #[test]
    fn the_given_box_and_frames_without_a_label_do_not_count() {
        let label = BBox::new(10.0, 10.0, 20.0, 20.0);
        let empty = BBox::new(10.0, 10.0, 0.0, 0.0);
        let truth = [Some(label), Some(label), None, Some(empty), Some(label), Some(label)];
        let far = label.translated(200.0, 0.0);
        let boxes = vec![label, label, label, label, far, NO_BOX];
        let states = vec![State::Tracking; 6];
        let confidence = vec![Some(0.5); 6];
        let start = Start { frame: 0, init: label };
        let run = Trace { start, boxes, micros: vec![], states, confidence };
        let errors = frame_errors(&truth, &run.boxes, Toolkit::Got10k).unwrap();
        let hits: Vec<bool> = judgements(&truth, &run, &errors).iter().map(|frame| frame.hit).collect();
        assert_eq!(hits, [true, false, false]);
        let silent = Trace { states: vec![], confidence: vec![], ..run };
        assert!(judgements(&truth, &silent, &errors).is_empty());
    }
}
