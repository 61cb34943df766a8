//! What a response of the filter is worth, and where the filter looks and learns.

use super::*;
use crate::kernels::Kernel;
use crate::tracker::params::{FeatureParams, ScaleFilterParams, ScaleParams};
use crate::tracker::scenes::{Picture, target_at};

const START: (f64, f64) = (70.0, 60.0);
/// Two cells further.
const NEAR: (f64, f64) = (78.0, 60.0);
const WRAPPED: ResponseLayout = ResponseLayout::Wrapped;

fn picture(corner: (f64, f64)) -> Picture {
    Picture::ground(180, 150).with_target(corner)
}

fn search(change: impl FnOnce(&mut FilterParams)) -> FilterSearch {
    let mut params = FilterParams::default();
    change(&mut params);
    FilterSearch::new(&params, &picture(START).frame(), target_at(START), &mut Stopwatch::default()).unwrap()
}

#[test]
fn a_peak_to_sidelobe_ratio_is_worth_a_state() {
    let search = search(|p| p.states = StateParams::Psr(PsrParams { uncertain_below: 8.0, lost_below: 5.0 }));
    let judged = |psr: f32| search.state(&Evidence { peak: 1.0, psr, apce: 100.0, ..Evidence::default() });
    assert_eq!([0.0, 4.9].map(judged), [State::Lost; 2]);
    assert_eq!([5.0, 7.9].map(judged), [State::Uncertain; 2]);
    assert_eq!([8.0, 30.0].map(judged), [State::Tracking; 2]);
}

/// The ratio is that of the current peak: a limit just above it makes the frame lost, one just below not.
#[test]
fn a_look_whose_ratio_is_below_the_limit_is_lost() {
    let gone = Picture::ground(180, 150).with_likeness(START, 0.0);
    let state = |beside: f64| {
        let look = |search: &mut FilterSearch| {
            let at = search.pose();
            search.detect(&gone.frame(), at, &mut Stopwatch::default()).evidence
        };
        let psr = f64::from(look(&mut search(|_| {})).psr);
        let mut search =
            search(|p| p.states = StateParams::Psr(PsrParams { uncertain_below: 100.0, lost_below: psr + beside }));
        let evidence = look(&mut search);
        search.state(&evidence)
    };
    assert_eq!([0.01, -0.01].map(state), [State::Lost, State::Uncertain]);
}

/// Whether a lesson cuts its area anew: only then are there other features than those of the look before.
fn cut_anew(search: &mut FilterSearch, frame: &Picture, at: Pose) -> bool {
    let before = search.filter.input().to_vec();
    search.learn(&frame.frame(), at, None, &mut Stopwatch::default());
    search.filter.input() != before
}

/// A look at the target that has moved by `(x, y)` pixels, with areas reused up to a motion of `reuse_shift` cells.
fn moved((x, y): (f64, f64), reuse_shift: f64) -> (FilterSearch, Picture, Pose) {
    let next = picture((START.0 + x, START.1 + y));
    let mut search = search(|p| p.reuse_shift = reuse_shift);
    let at = search.pose();
    let found = search.detect(&next.frame(), at, &mut Stopwatch::default()).pose;
    (search, next, found)
}

/// Four pixels are a cell.
#[test]
fn an_area_is_reused_up_to_that_motion_in_either_direction() {
    for (by, reuse_shift, anew) in [
        ((0.0, 0.0), 0.0, false),
        ((4.0, 0.0), 0.0, true),
        ((0.0, 4.0), 0.0, true),
        ((4.0, 4.0), 1.0, false),
        ((8.0, 0.0), 1.0, true),
        ((0.0, -8.0), 1.0, true),
        ((-8.0, 0.0), 2.0, false),
    ] {
        let (mut search, next, found) = moved(by, reuse_shift);
        let (x, y) = (found.center.0 - search.searched.center.0, found.center.1 - search.searched.center.1);
        assert_eq!((x, y), by, "found where it is");
        assert_eq!(cut_anew(&mut search, &next, found), anew, "{by:?}, {reuse_shift}");
    }
}

/// An area of another size shows the target otherwise; where areas are reused, that is taken for near enough.
#[test]
fn a_target_of_another_size_has_an_area_of_its_own() {
    for (reuse_shift, scale, anew) in [(0.0, 1.0, false), (0.0, 1.1, true), (1.0, 1.1, false)] {
        let next = picture(START);
        let mut search = search(|p| {
            p.reuse_shift = reuse_shift;
            p.scale = ScaleParams::Filter(ScaleFilterParams::default());
        });
        let at = search.pose();
        let found = search.detect(&next.frame(), at, &mut Stopwatch::default()).pose;
        assert_eq!(found, at);
        assert_eq!(cut_anew(&mut search, &next, Pose { scale, ..found }), anew, "{reuse_shift}, {scale}");
    }
}

/// What the filter was taught to answer with is the peak, and no sidelobe: three standard deviations of the labels.
#[test]
fn a_ratio_leaves_out_three_standard_deviations_around_the_peak() {
    for (feature, radius) in [(FeatureParams::default(), 2), (FeatureParams::Gray, 8)] {
        let mut search = search(|p| *p = FilterParams::paper(feature, Kernel::Gaussian { sigma: 1.0 }));
        let at = search.pose();
        let found = search.detect(&picture(NEAR).frame(), at, &mut Stopwatch::default()).evidence;
        let of = |radius: usize| Peak::find(search.filter.response(), search.filter.size(), radius, WRAPPED).psr;
        assert_eq!(found.psr, of(radius), "{feature:?}");
        assert_ne!(found.psr, of(radius - 1), "{feature:?}");
    }
}

/// One whose states are made of a confidence, which needs a memory.
fn remembering() -> FilterSearch {
    search(|p| p.states = StateParams::Confidence(ConfidenceParams::default()))
}

/// The likeness to the memory is that of the place where the target was found, two cells to the right and one up.
#[test]
fn a_target_that_has_moved_is_compared_where_it_is() {
    let mut search = remembering();
    let (at, next) = (search.pose(), picture((START.0 + 8.0, START.1 - 4.0)));
    let found = search.detect(&next.frame(), at, &mut Stopwatch::default()).evidence.long_term;
    let [there, here] = [(-1.0, 2.0), (0.0, 0.0)].map(|shift| search.filter.likeness(shift) as f32);
    assert!(found == Some(there) && there > here + 0.05, "{found:?}, {there}, {here} where it was");
}

/// After thirty frames of something else the filter answers to that; the memory has hardly moved.
#[test]
fn a_memory_outlasts_what_the_filter_learns() {
    let mut search = remembering();
    let other = Picture::ground(180, 150).with_likeness(START, 0.0);
    let (at, mut watch) = (search.pose(), Stopwatch::default());
    let before = search.evaluate_at(&other.frame(), at, &mut watch).evidence;
    for _ in 0..30 {
        search.evaluate_at(&other.frame(), at, &mut watch);
        search.learn(&other.frame(), at, None, &mut watch);
    }
    let after = search.evaluate_at(&other.frame(), at, &mut watch).evidence;
    let own = search.evaluate_at(&picture(START).frame(), at, &mut watch).evidence.long_term.unwrap();
    let (before_term, after_term) = (before.long_term.unwrap(), after.long_term.unwrap());
    assert!(after.peak > before.peak + 0.2, "it is learned: {} {}", before.peak, after.peak);
    assert!(after_term > before_term && after_term < before_term + 0.03, "{before_term} {after_term}");
    assert!(own > 0.99, "{own}");
}
