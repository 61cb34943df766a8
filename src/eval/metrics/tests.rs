use super::*;
use crate::media::annotation::Base;

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
    // got10k has no such rule: what is not a number passes nothing.
    let got10k = score(&truth, &boxes, Toolkit::Got10k).unwrap();
    assert_eq!((got10k.success[0], got10k.precision[50]), (0.25, 0.25));
}

#[test]
fn the_first_box_is_taken_to_be_the_label() {
    let truth = labels(2);
    let far = BBox::new(900.0, 900.0, 5.0, 5.0);
    for toolkit in Toolkit::ALL {
        let s = score(&truth, &[far, far], toolkit).unwrap();
        assert_eq!((s.success[0], s.precision_20, s.normalized[50]), (0.5, 0.5, 0.5), "{toolkit}");
    }
}

#[test]
fn rows_of_zeros_are_hits_where_the_toolkit_counts_them_as_such() {
    // Five labels and five rows `0,0,0,0`, followed exactly.
    let label = [40.0, 50.0, 20.0, 30.0];
    let rows = [[label; 5], [[0.0; 4]; 5]].concat();
    let truth: Vec<_> = rows.iter().map(|&row| Some(Base::One.to_bbox(row))).collect();
    let s = score(&truth, &[Base::One.to_bbox(label); 10], Toolkit::Otb).unwrap();
    assert_eq!((s.success[0], s.precision_20, s.normalized_precision), (0.5, 1.0, 1.0));
}

#[test]
fn a_box_that_is_none_repeats_the_one_before() {
    let truth = vec![Some(BBox::new(10.0, 10.0, 20.0, 20.0)); 4];
    let good = BBox::new(10.0, 10.0, 20.0, 20.0);
    let nan = BBox::new(f64::NAN, f64::NAN, f64::NAN, f64::NAN);
    let empty = BBox::new(-1.0, -1.0, 0.0, 0.0);
    let boxes = [good, good, nan, empty];
    assert_eq!(score(&truth, &boxes, Toolkit::Otb).unwrap().success[0], 1.0);
    assert_eq!(score(&truth, &boxes, Toolkit::Otb).unwrap().precision[0], 1.0);
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
        let repeats = toolkit == Toolkit::Otb;
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
    let boxes = |toolkit: Toolkit| frame_errors(&truth, &[far, nan, far], toolkit).unwrap().boxes;
    assert_eq!(boxes(Toolkit::Otb), [truth[0].unwrap(), far, far]);
    let got10k = boxes(Toolkit::Got10k);
    assert!(got10k[0] == truth[0].unwrap() && got10k[1].x.is_nan());
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
