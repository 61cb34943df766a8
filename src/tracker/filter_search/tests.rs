//! The states of the filter by its response, and the places where it searches and learns.

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
    FilterSearch::new(&params, &picture(START).frame(), target_at(START)).unwrap()
}

#[test]
fn a_peak_to_sidelobe_ratio_is_worth_a_state() {
    let search = search(|p| p.states = PsrParams { uncertain_below: 8.0, lost_below: 5.0 });
    let judged = |psr: f32| search.state(&Evidence { peak: 1.0, psr, apce: 100.0, ..Evidence::default() });
    assert_eq!([0.0, 4.9].map(judged), [State::Lost; 2]);
    assert_eq!([5.0, 7.9].map(judged), [State::Uncertain; 2]);
    assert_eq!([8.0, 30.0].map(judged), [State::Tracking; 2]);
}

/// The ratio is that of the current peak: a limit just above it makes the frame lost, one just below not.
#[test]
fn a_frame_whose_ratio_is_below_the_limit_is_lost() {
    let gone = Picture::ground(180, 150).with_likeness(START, 0.0);
    let state = |beside: f64| {
        let look = |search: &mut FilterSearch| {
            let at = search.pose();
            search.detect(&gone.frame(), at).evidence
        };
        let psr = f64::from(look(&mut search(|_| {})).psr);
        let mut search = search(|p| p.states = PsrParams { uncertain_below: 100.0, lost_below: psr + beside });
        let evidence = look(&mut search);
        search.state(&evidence)
    };
    assert_eq!([0.01, -0.01].map(state), [State::Lost, State::Uncertain]);
}

/// Whether learning cuts the area anew: only then are there other features than those of the detection.
fn cut_anew(search: &mut FilterSearch, frame: &Picture, at: Pose) -> bool {
    let before = search.filter.input().to_vec();
    search.learn(&frame.frame(), at, &Evidence::default(), None);
    search.filter.input() != before
}

/// Four pixels are a cell.
#[test]
fn an_area_is_cut_anew_for_a_target_that_has_moved_or_changed_its_size() {
    for (by, scale, anew) in
        [((0.0, 0.0), 1.0, false), ((4.0, 0.0), 1.0, true), ((0.0, -8.0), 1.0, true), ((0.0, 0.0), 1.1, true)]
    {
        let next = picture((START.0 + by.0, START.1 + by.1));
        let mut search = search(|p| p.scale = ScaleParams::Filter(ScaleFilterParams::default()));
        let at = search.pose();
        let found = search.detect(&next.frame(), at).pose;
        let moved = (found.center.0 - search.searched.center.0, found.center.1 - search.searched.center.1);
        assert_eq!(moved, by, "found where it is");
        assert_eq!(cut_anew(&mut search, &next, Pose { scale, ..found }), anew, "{by:?}, {scale}");
    }
}

/// The peak reaches as far as the labels do, three standard deviations: none of it counts as sidelobe.
#[test]
fn a_ratio_leaves_out_three_standard_deviations_around_the_peak() {
    for (feature, radius) in [(FeatureParams::default(), 2), (FeatureParams::Gray, 8)] {
        let mut search = search(|p| *p = FilterParams::paper(feature, Kernel::Gaussian { sigma: 1.0 }));
        let at = search.pose();
        let found = search.detect(&picture(NEAR).frame(), at).evidence;
        let of = |radius: usize| Peak::find(search.filter.response(), search.filter.size(), radius, WRAPPED).psr;
        assert_eq!(found.psr, of(radius), "{feature:?}");
        assert_ne!(found.psr, of(radius - 1), "{feature:?}");
    }
}
