//! A search whose states have a memory, put elsewhere by its guard.

use super::*;

/// A guard that finds the target at [`NEARBY`], and its engine.
fn guarded(search: &Scripted, confidence: ConfidenceParams) -> Engine {
    with_states(search, confidence, Some(GuardParams { tiles: 0, ..GuardParams::of(MachineKind::Klda) }))
}

/// The search goes on from there, as one that was never lost.
#[test]
fn a_lost_target_that_its_guard_finds_is_followed_again() {
    let search = Scripted::sure(START, 0.1);
    let mut engine = guarded(&search, impatient(0));
    let next = picture(NEARBY);
    let found = engine.update(&next.frame());
    assert!(found.state == State::Recovered && found.bbox.overlap(&target_at(NEARBY)) > 0.8, "{found:?}");
    calls(&search);
    let sure = Scripted { confidence: Some(0.9), ..search.clone() };
    engine.search = Scripted { found: Pose::of(target_at(NEARBY)), ..sure }.boxed_clone();
    assert_eq!(engine.update(&next.frame()).state, State::Tracking);
    assert!(matches!(calls(&search)[..], [Call::Look(_), Call::Learn(_, None)]), "it is learned again");
}

/// The confidence is that of the place where the guard has put the search, not of the one where it was.
#[test]
fn a_confidence_is_of_the_place_that_the_guard_has_found() {
    let search = Scripted { looks: [(START, 0.9)].into(), ..Scripted::sure(START, 0.3) };
    let estimate = guarded(&search, ConfidenceParams::default()).update(&picture(NEARBY).frame());
    assert!(estimate.bbox.overlap(&target_at(NEARBY)) > 0.8, "{estimate:?}");
    assert_eq!((estimate.evidence.confidence, estimate.state), (Some(0.3), State::Tracking));
}

/// The guard has moved the search away from the doubtful place.
#[test]
fn a_search_that_is_put_elsewhere_counts_its_doubts_anew_there() {
    let confidence = ConfidenceParams { lost_after: 3, tiles: 0, ..ConfidenceParams::default() };
    let search = Scripted::sure(START, 0.1);
    let mut engine = guarded(&search, confidence);
    assert_eq!(engine.update(&picture(START).frame()).state, State::Uncertain);
    let next = picture(NEARBY);
    assert_eq!(engine.update(&next.frame()).state, State::Tracking);
    assert!(engine.bbox().overlap(&target_at(NEARBY)) > 0.8);
    engine.search = Scripted { found: Pose::of(target_at(NEARBY)), ..search }.boxed_clone();
    let states = [(); 3].map(|()| engine.update(&next.frame()).state);
    assert_eq!(states, [State::Uncertain, State::Uncertain, State::Lost]);
}
