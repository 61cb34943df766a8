//! What a response of the filter is worth, and where the filter looks and learns.

use super::*;
use crate::tracker::KernelKind;
use crate::tracker::params::FeatureKind;
use crate::tracker::scenes::{Picture, target_at};

const START: (f64, f64) = (70.0, 60.0);

fn picture(corner: (f64, f64)) -> Picture {
    Picture::ground(180, 150).with_target(corner)
}

fn search(change: impl FnOnce(&mut FilterParams)) -> FilterSearch {
    let mut params = FilterParams::paper(FeatureKind::Hog, KernelKind::Gaussian);
    change(&mut params);
    FilterSearch::new(&params, &picture(START).frame(), target_at(START), &mut Stopwatch::default()).unwrap()
}

#[test]
fn a_peak_to_sidelobe_ratio_is_worth_a_state() {
    let search = search(|p| p.states = StateParams::Psr { uncertain: 8.0, lost: 5.0 });
    let judged = |psr: f32| search.judge(&Evidence { peak: 1.0, psr, apce: 100.0, ..Evidence::default() });
    assert_eq!([0.0, 4.9].map(judged), [State::Lost; 2]);
    assert_eq!([5.0, 7.9].map(judged), [State::Uncertain; 2]);
    assert_eq!([8.0, 30.0].map(judged), [State::Tracking; 2]);
}

/// The ratio of the peak is that of the look at hand: a limit just above it makes the frame lost, one just below not.
#[test]
fn a_look_whose_ratio_is_below_the_limit_is_lost() {
    let gone = Picture::ground(180, 150).with_likeness(START, 0.0);
    let state = |beside: f64| {
        let look = |search: &mut FilterSearch| {
            let at = search.pose();
            search.look(&gone.frame(), at, &mut Stopwatch::default()).evidence
        };
        let psr = f64::from(look(&mut search(|_| {})).psr);
        let mut search = search(|p| p.states = StateParams::Psr { uncertain: 100.0, lost: psr + beside });
        let evidence = look(&mut search);
        search.judge(&evidence)
    };
    assert_eq!([0.01, -0.01].map(state), [State::Lost, State::Uncertain]);
}
