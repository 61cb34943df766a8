//! A target that is lost: where it is searched, and what is accepted to be it.

use super::*;

/// More than half of a target must be in the picture before it is said to be found again.
#[test]
fn what_is_found_at_the_border_is_found_when_most_of_it_is_seen() {
    let search = Scripted::sure((-13.0, 50.0), 0.9);
    let mut engine = with_states(&Scripted { confidence: Some(0.1), ..search.clone() }, impatient(0), None);
    let frame = picture(START);
    assert_eq!(engine.update(&frame.frame()).state, State::Lost);
    engine.search = search.boxed_clone();
    assert_eq!(engine.update(&frame.frame()).state, State::Uncertain);
    engine.search = Scripted::sure((-11.0, 50.0), 0.9).boxed_clone();
    let states = [(); 2].map(|()| engine.update(&frame.frame()).state);
    assert_eq!(states, [State::Recovered, State::Tracking]);
}

#[test]
fn the_box_of_a_lost_target_goes_where_it_may_be() {
    let guess = Some((Pose::of(target_at(NEARBY)), Evidence { confidence: Some(0.4), ..evidence(0.5) }));
    let mut engine = with_states(&Scripted { guess, ..Scripted::sure(START, 0.1) }, impatient(0), None);
    let estimate = engine.update(&picture(START).frame());
    assert_eq!((estimate.bbox, estimate.state), (target_at(NEARBY), State::Lost));
    assert_eq!((estimate.evidence.peak, estimate.evidence.confidence), (0.5, Some(0.4)));
}

/// The best accepted place is taken, in any order of the scan.
#[test]
fn the_surest_place_elsewhere_is_the_target() {
    let (away, other) = ((180.0, 120.0), (120.0, 30.0));
    for looks in [[(NEARBY, 0.85), (away, 0.95), (other, 0.9)], [(away, 0.95), (NEARBY, 0.85), (other, 0.3)]] {
        let search = Scripted { looks: [(START, 0.1)].into_iter().chain(looks).collect(), ..Scripted::at(START) };
        let estimate = with_states(&search, impatient(3), None).update(&picture(away).frame());
        assert_eq!((estimate.bbox, estimate.state), (target_at(away), State::Recovered));
        assert_eq!(estimate.evidence.confidence, Some(0.95));
    }
}

/// Nearby a lost target is accepted from the lower of two confidences on, elsewhere from the higher one.
#[test]
fn what_is_far_away_must_be_surer_than_what_is_near() {
    for (near, far, state) in [
        (0.49, 0.79, State::Lost),
        (0.51, 0.1, State::Recovered),
        (0.1, 0.79, State::Lost),
        (0.1, 0.81, State::Recovered),
    ] {
        let mut engine = with_states(&Scripted::sure(START, 0.1), impatient(1), None);
        assert_eq!(engine.update(&picture(START).frame()).state, State::Lost);
        let looks = [(START, near), (NEARBY, far)].into();
        engine.search = Scripted { looks, ..Scripted::at(START) }.boxed_clone();
        assert_eq!(engine.update(&picture(START).frame()).state, state, "{near}, {far}");
    }
}

/// However sure the search is: the model may have learned what it is sure of.
#[test]
fn what_the_long_term_model_does_not_know_is_not_found_elsewhere() {
    let mut search = Scripted { long_term: Some(1.0), ..Scripted::sure(START, 0.9) };
    let mut engine = with_states(&search, impatient(2), None);
    let mut said = |confidence: f64, long_term: f32| {
        (search.confidence, search.long_term) = (Some(confidence), Some(long_term));
        engine.search = search.boxed_clone();
        engine.update(&picture(START).frame()).state
    };
    let states = [(0.9, 1.0), (0.1, 1.0), (0.95, 0.1), (0.95, 0.2)].map(|(p, answer)| said(p, answer));
    assert_eq!(states, [State::Tracking, State::Lost, State::Lost, State::Recovered]);
}

/// No area is searched twice in one frame, and they overlap by half in both directions.
#[test]
fn a_round_elsewhere_sees_each_area_once() {
    let cell = (SIZE.0 as f64, SIZE.1 as f64);
    let search = Scripted { cell, ..Scripted::sure(START, 0.1) };
    with_states(&search, impatient(9), None).update(&picture(START).frame());
    let (left, right, top, bottom) = (65.0, 195.0, 50.0, 150.0);
    let here = Pose::of(target_at(START));
    let areas = [(right, top), (left, bottom), (right, bottom), (left, top)].map(|center| Call::Look(here.at(center)));
    assert_eq!(calls(&search), [&[Call::Look(here), Call::Restore], &areas[..]].concat());
}

/// It looks at a place in the second frame, and is told so; and where it is sent back or stays.
#[test]
fn a_search_is_told_where_it_is_moved() {
    let [here, there] = [START, NEARBY].map(|corner| Pose::of(target_at(corner)));
    for (second, moves) in [(0.95, [there, there]), (0.3, [there, here])] {
        let finds = Finds { identity: f64::NEG_INFINITY, frames: 2 };
        let looks = [(START, 0.1), (NEARBY, 0.95), (START, 0.1), (NEARBY, second)].into();
        let search = Scripted { finds, looks, ..Scripted::at(START) };
        let mut engine = with_states(&search, impatient(1), None);
        (0..2).for_each(|_| _ = engine.update(&picture(START).frame()));
        let moved = calls(&search).into_iter().filter(|call| matches!(call, Call::Moved(_)));
        assert!(moved.eq(moves.map(Call::Moved)), "{second}");
    }
}

/// Also where a round takes as many frames as there are sizes.
#[test]
fn each_place_is_searched_at_each_size() {
    let cell = (SIZE.0 as f64 * 2.0 / 3.0, SIZE.1 as f64);
    let finds = Finds { identity: 0.0, frames: 2 };
    let search = Scripted { cell, finds, ..Scripted::sure(START, 0.1) };
    let mut engine = with_states(&search, impatient(2), None);
    (0..9).for_each(|_| _ = engine.update(&picture(START).frame()));
    let looks = calls(&search).into_iter().filter_map(|call| match call {
        Call::Look(pose) if pose.center != target_at(START).center() => Some((pose.center, pose.scale)),
        _ => None,
    });
    let mut looks: Vec<_> = looks.collect();
    looks.sort_by(|a, b| a.partial_cmp(b).unwrap());
    looks.dedup();
    assert_eq!(looks.len(), 6 * SCAN_SCALES.len(), "{looks:?}");
}

/// One frame may look like the target by chance.
#[test]
fn a_place_elsewhere_must_be_found_in_several_frames_in_a_row() {
    let search = Scripted { finds: Finds { identity: 0.0, frames: 3 }, ..Scripted::sure(START, 0.1) };
    let mut engine = with_states(&search, impatient(1), None);
    assert_eq!(engine.update(&picture(START).frame()).state, State::Lost);
    let mut look = |elsewhere: f64| {
        let looks = [(START, 0.1), (NEARBY, elsewhere)].into();
        engine.search = Scripted { looks, ..search.clone() }.boxed_clone();
        engine.update(&picture(START).frame())
    };
    // Found twice, missed, and found three times.
    let states = [0.9, 0.9, 0.1, 0.9, 0.9, 0.9].map(|confidence| look(confidence).state);
    assert_eq!(states[..5], [State::Lost; 5]);
    assert_eq!(states[5], State::Recovered);
    assert_eq!(engine.bbox(), target_at(NEARBY));
}

#[test]
fn what_the_identity_denies_is_not_found_elsewhere() {
    let finds = Finds { identity: 0.2, frames: 1 };
    for (identity, state) in [(0.1, State::Lost), (0.3, State::Recovered)] {
        let looks = [(START, 0.1), (NEARBY, 0.9)].into();
        let search = Scripted { finds, identity: Some(identity), looks, ..Scripted::at(START) };
        assert_eq!(with_states(&search, impatient(1), None).update(&picture(START).frame()).state, state);
    }
}

/// The loss undoes later learning once. The size is that of this frame, the place that of the last sure one: from there on
/// the box may have followed what covers the target.
#[test]
fn a_loss_restores_the_models_of_the_last_certain_frame() {
    let small = Pose { scale: 0.5, ..Pose::of(target_at((10.0, 10.0))) };
    let looks = [(START, 0.9), (NEARBY, 0.1)].into();
    let search = Scripted { saved: Some(small), looks, ..Scripted::sure(NEARBY, 0.1) };
    let mut engine = with_states(&search, ConfidenceParams { lost_after: 2, ..impatient(0) }, None);
    let estimates = [(); 4].map(|()| engine.update(&picture(START).frame()));
    assert_eq!(calls(&search).iter().filter(|call| **call == Call::Restore).count(), 1);
    let center = target_at(START).center();
    assert_eq!(estimates[1].bbox, target_at(NEARBY));
    assert_eq!(estimates[3].bbox, small.at(center).bbox((SIDE, SIDE)));
}

/// A cut moves no box and undoes no learning. Elsewhere the target must be found in more frames and stand out.
#[test]
fn a_cut_loses_the_target_at_once_until_the_scene_is_back() {
    let gray = |first: u8| (0..SIZE.0 * SIZE.1).map(|i| first + (i % SIZE.0 / 9 % 5 * 6) as u8).collect::<Vec<_>>();
    // The colours of the second are those of the scene.
    let (scene, other, similar) = (picture(START), gray(200), gray(90));
    let [other, similar] = [&other, &similar].map(|pixels| Frame::gray(pixels, SIZE.0, SIZE.1).unwrap());
    let guess = Some((Pose::of(target_at(NEARBY)), evidence(0.5)));
    for (tiles, psr, found) in [(0, 20.0, false), (1, MIN_PSR_ELSEWHERE - 0.1, false), (1, 20.0, true)] {
        let search = Scripted { psr, guess, ..Scripted::sure(NEARBY, 0.9) };
        let mut engine = with_states(&search, impatient(tiles), None);
        assert_eq!(engine.update(&other).state, State::Lost);
        assert_eq!((engine.bbox(), calls(&search).contains(&Call::Restore)), (target_at(START), false));
        let states = [(); MIN_FRAMES_ELSEWHERE - 1].map(|()| engine.update(&other).state);
        let (last, before) = states.split_last().unwrap();
        assert!(before.iter().all(|state| *state == State::Lost));
        assert_eq!(*last, if found { State::Recovered } else { State::Lost });
        // From there on it is the scene.
        let frames = if found { [other, other, other] } else { [similar, scene.frame(), scene.frame()] };
        let expected = if found { [State::Tracking; 3] } else { [State::Lost, State::Recovered, State::Tracking] };
        assert_eq!(frames.map(|frame| engine.update(&frame).state), expected, "{tiles}, {psr}");
    }
}
