//! Assigns detections to targets in rounds of least cost, by overlap within gates.

use super::detections::{Detection, DetectionParams};
use crate::bbox::BBox;
use crate::tracker::State;

/// A target as it was in the frame of the detections.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub id: usize,
    pub bbox: BBox,
    pub state: State,
    pub confirmed: bool,
    pub class: Option<String>,
    /// How many margins of [`DetectionParams::reach`] are around its box in the last round.
    pub times: usize,
}

/// The target of each detection, as its place among `targets`.
///
/// As in ByteTrack (Zhang et al., ECCV 2022), detections with a high score choose among the targets first, those with a low
/// one among the targets that are left. Boxes of targets that are lost or were missed may lie farther away: both are enlarged
/// (Yang et al., WACV 2023). Targets that are not confirmed come last.
pub(super) fn associate(
    targets: &[Candidate],
    detections: &[Detection],
    params: &DetectionParams,
) -> Vec<Option<usize>> {
    let mut found = vec![None; detections.len()];
    let mut round =
        |is_detection: &dyn Fn(&Detection) -> bool, is_target: &dyn Fn(&Candidate) -> bool, least: f64, reach: f64| {
            let taken: Vec<usize> = found.iter().flatten().copied().collect();
            let rows: Vec<usize> =
                (0..targets.len()).filter(|at| !taken.contains(at) && is_target(&targets[*at])).collect();
            let columns: Vec<usize> =
                (0..detections.len()).filter(|at| found[*at].is_none() && is_detection(&detections[*at])).collect();
            let gain = |row: usize, column: usize| {
                let (target, detection) = (&targets[rows[row]], &detections[columns[column]]);
                let alike = target.class.as_ref().zip(detection.class.as_ref()).is_none_or(|(a, b)| a == b);
                let margin = reach * target.times as f64;
                let overlap = enlarged(target.bbox, margin).overlap(&enlarged(detection.bbox, margin));
                if alike && overlap >= least { overlap } else { 0.0 }
            };
            for (row, column) in assign(rows.len(), columns.len(), gain) {
                found[columns[column]] = Some(rows[row]);
            }
        };
    let is_high = |detection: &Detection| detection.score >= params.high;
    let is_low = |detection: &Detection| (params.low..params.high).contains(&detection.score);
    let is_followed = |target: &Candidate| target.confirmed && target.state != State::Lost;
    round(&is_high, &is_followed, params.overlap, 0.0);
    round(&is_low, &is_followed, params.overlap_low, 0.0);
    round(&is_high, &|target| target.confirmed, params.overlap, params.reach);
    round(&is_high, &|_| true, params.overlap_new, 0.0);
    found
}

/// A box with a margin of this share of its sides.
pub(super) fn enlarged(bbox: BBox, share: f64) -> BBox {
    let (dx, dy) = (bbox.w * share, bbox.h * share);
    BBox::new(bbox.x - dx, bbox.y - dy, bbox.w + 2.0 * dx, bbox.h + 2.0 * dy)
}

/// Pairs of a row and a column with the largest sum of gains; those without a gain are left out.
fn assign(rows: usize, columns: usize, gain: impl Fn(usize, usize) -> f64) -> Vec<(usize, usize)> {
    let gains = (0..rows * columns).map(|at| gain(at / columns, at % columns)).collect();
    let (found_rows, found_columns) = lsap::solve(rows, columns, &gains, true).unwrap_or_default();
    let pairs = found_rows.into_iter().zip(found_columns);
    pairs.filter(|&(row, column)| gains[row * columns + column] > 0.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(x: f64, state: State, confirmed: bool) -> Candidate {
        let times = usize::from(state == State::Lost);
        Candidate { id: 0, bbox: BBox::new(x, 0.0, 20.0, 20.0), state, confirmed, class: None, times }
    }

    fn detection(x: f64, score: f64) -> Detection {
        Detection { bbox: BBox::new(x, 0.0, 20.0, 20.0), score, class: None }
    }

    fn found(targets: &[Candidate], detections: &[Detection]) -> Vec<Option<usize>> {
        associate(targets, detections, &DetectionParams::default())
    }

    #[test]
    fn the_sum_of_overlaps_is_largest_rather_than_the_first_one() {
        // The nearest detection of both targets is the same one.
        let targets = [target(0.0, State::Tracking, true), target(6.0, State::Tracking, true)];
        assert_eq!(found(&targets, &[detection(5.0, 0.9), detection(-6.0, 0.9)]), [Some(1), Some(0)]);
        let detections = [detection(4.0, 0.9), detection(14.0, 0.9), detection(99.0, 0.9)];
        assert_eq!(found(&targets, &detections), [Some(0), Some(1), None]);
    }

    #[test]
    fn scores_and_classes_and_states_have_their_rounds() {
        let tracked = [target(0.0, State::Tracking, true)];
        // A high score wins against a low one that lies better.
        assert_eq!(found(&tracked, &[detection(0.0, 0.3), detection(5.0, 0.9)]), [None, Some(0)]);
        assert_eq!(found(&tracked, &[detection(0.0, 0.3)]), [Some(0)]);
        assert_eq!(found(&tracked, &[detection(0.0, 0.01)]), [None], "below all rounds");
        assert_eq!(found(&tracked, &[detection(12.0, 0.3)]), [None], "a low score needs more overlap");
        // A target that is lost, or not confirmed, comes after those that are followed.
        for (state, confirmed) in [(State::Lost, true), (State::Tracking, false)] {
            let both = [target(0.0, state, confirmed), target(3.0, State::Tracking, true)];
            assert_eq!(found(&both, &[detection(0.0, 0.9)]), [Some(1)]);
            assert_eq!(
                found(&both[..1], &[detection(21.0, 0.9)])[0].is_some(),
                confirmed,
                "a lost one may be farther away"
            );
            assert_eq!(found(&both[..1], &[detection(8.0, 0.9)]), [Some(0)]);
            assert_eq!(found(&both[..1], &[detection(0.0, 0.3)]), [None], "but not by a low score");
        }
        // The same holds for a target that detections have missed: its box may be on what covered it.
        let missed = [Candidate { times: 1, ..target(0.0, State::Tracking, true) }];
        assert_eq!(
            (found(&missed, &[detection(21.0, 0.9)]), found(&tracked, &[detection(21.0, 0.9)])),
            (vec![Some(0)], vec![None])
        );
        let class = |name: &str| Some(name.to_owned());
        let car = [Candidate { class: class("car"), ..target(0.0, State::Tracking, true) }];
        assert_eq!(found(&car, &[Detection { class: class("dog"), ..detection(0.0, 0.9) }]), [None]);
        assert_eq!(found(&car, &[detection(0.0, 0.9)]), [Some(0)]);
    }
}
