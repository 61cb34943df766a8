//! A row for each rule: observations in, decisions out.

use super::*;
use crate::bbox::BBox;
use crate::tracker::Evidence;
use crate::tracker::localizer::Pose;
use State::{Lost, Occluded, Recovered, Tracking, Uncertain};

fn params() -> ConfidenceParams {
    ConfidenceParams {
        tracking_from: 0.8,
        found_from: 0.5,
        redetected_from: 0.8,
        lost_below: 0.2,
        lost_after: 3,
        long_term_drop: 0.2,
        long_term_frames: 3,
        hidden_share: 0.7,
        ..ConfidenceParams::default()
    }
}

fn lifecycle(params: ConfidenceParams) -> Lifecycle {
    Lifecycle::new(Rules::Confidence(params), 3)
}

/// Signals of a localizer for one frame.
#[derive(Clone, Copy, Debug)]
struct Signals {
    seen: bool,
    probability: f64,
    psr: f32,
    long_term: Option<f32>,
    decision: Option<f32>,
    likeness: Likeness,
    another_scene: bool,
}

/// A frame with this probability, and a peak-to-sidelobe ratio of 20.
fn frame(probability: f64) -> Signals {
    Signals {
        seen: true,
        probability,
        psr: 20.0,
        long_term: Some(1.0),
        decision: None,
        likeness: Likeness::Plausible,
        another_scene: false,
    }
}

fn blank() -> Signals {
    Signals { seen: false, psr: 0.0, long_term: None, ..frame(0.0) }
}

fn covered(likeness: Likeness) -> Signals {
    Signals { psr: 3.0, likeness, ..frame(0.9) }
}

fn step(life: &mut Lifecycle, signals: Signals) -> Decision {
    let Signals { seen, probability, psr, long_term, decision, likeness, another_scene } = signals;
    let evidence = Evidence { psr, long_term, decision, ..Evidence::default() };
    let pose = Pose::of(BBox::new(0.0, 0.0, 1.0, 1.0));
    let located = Located { likeness, ..Located::new(pose, evidence, Some(probability), seen) };
    life.step(&Observation::Located { located: &located, another_scene })
}

/// The states of frames of these probabilities.
fn states<const N: usize>(life: &mut Lifecycle, probabilities: [f64; N]) -> [State; N] {
    probabilities.map(|probability| step(life, frame(probability)).state)
}

/// A target that was followed for a while, so that its usual signals are known.
fn followed() -> Lifecycle {
    let mut life = lifecycle(params());
    assert_eq!(states(&mut life, [0.9; 9]), [Tracking; 9]);
    life
}

/// A target that was lost by too many improbable frames.
fn lost() -> Lifecycle {
    let mut life = followed();
    assert_eq!(states(&mut life, [0.1; 3]), [Uncertain, Uncertain, Lost]);
    life
}

const FOLLOW: (Place, Option<Update>) = (Place::Follow, Some(Update::Usual));
const STAY: (Place, Option<Update>) = (Place::Stay, None);

#[test]
fn json_and_display_agree() {
    for state in State::ALL {
        assert_eq!(serde_json::to_value(state).unwrap(), state.to_string());
    }
    assert_eq!(format!("{:>10}|", State::Lost), "      lost|");
}

#[test]
fn a_frame_decides_what_the_box_does() {
    let cut = Signals { another_scene: true, ..frame(0.9) };
    let denied = covered(Likeness::Denied);
    let unjudged = covered(Likeness::Unknown);
    let held = (Place::Follow, Some(Update::Held(OCCLUDED_HOLD)));
    // Of a followed and of a lost target: state, place and update, restore, whether it is lost then.
    let rows = [
        ("sure", frame(0.9), (Tracking, FOLLOW, false, false), (Recovered, FOLLOW, false, false)),
        ("weak", frame(0.4), (Uncertain, FOLLOW, false, false), (Lost, (Place::Guess, None), false, true)),
        ("blank", blank(), (Lost, STAY, false, false), (Lost, (Place::Guess, None), false, true)),
        ("covered, denied", denied, (Occluded, STAY, false, false), (Recovered, FOLLOW, false, false)),
        (
            "covered, plausible",
            covered(Likeness::Plausible),
            (Occluded, FOLLOW, false, false),
            (Recovered, FOLLOW, false, false),
        ),
        ("covered, not judged", unjudged, (Occluded, held, false, false), (Recovered, FOLLOW, false, false)),
        ("cut", cut, (Lost, (Place::Restart, None), false, true), (Lost, (Place::Restart, None), false, true)),
    ];
    for (name, signals, of_followed, of_lost) in rows {
        for (mut life, expected) in [(followed(), of_followed), (lost(), of_lost)] {
            let Decision { state, place, update, restore } = step(&mut life, signals);
            assert_eq!((state, (place, update), restore, life.is_lost()), expected, "{name}");
        }
    }
}

#[test]
fn one_frame_makes_no_state() {
    let rows = [
        (0.75, Tracking),
        (0.4, Uncertain),
        (0.9, Tracking),
        (0.1, Uncertain),
        (0.1, Uncertain),
        (0.3, Uncertain),
        (0.1, Uncertain),
        // A frame is as sure as before, but many frames were weak.
        (0.75, Uncertain),
        (0.1, Uncertain),
        (0.1, Uncertain),
        (0.1, Lost),
        (0.49, Lost),
        (0.5, Recovered),
        (0.9, Tracking),
    ];
    let mut life = followed();
    for (i, (probability, state)) in rows.into_iter().enumerate() {
        assert_eq!(step(&mut life, frame(probability)).state, state, "frame {i}");
        assert_eq!(life.is_lost(), state == Lost, "frame {i}");
    }
}

#[test]
fn no_doubtful_state_has_a_high_confidence() {
    let rows = [
        (frame(0.95), 1.0, Tracking, 0.9),
        (frame(0.95), 0.3, Uncertain, 0.8),
        (covered(Likeness::Plausible), 1.0, Occluded, 0.5),
        (frame(0.95), 0.0, Lost, 0.5),
        (frame(0.3), 1.0, Uncertain, 0.3),
    ];
    for (signals, visible, state, confidence) in rows {
        let mut life = followed();
        step(&mut life, signals);
        assert_eq!(life.step(&Observation::Framed { visible }).state, state);
        let raw = if state == Uncertain && visible == 1.0 { 0.3 } else { 0.9 };
        assert_eq!(life.bounded(raw), confidence, "{state}");
    }
}

#[test]
fn a_loss_restores_once_and_searches_until_the_target_is_found() {
    let mut life = followed();
    let decisions = [0.1, 0.1, 0.1, 0.1].map(|probability| (step(&mut life, frame(probability)), life.is_lost()));
    assert_eq!(decisions.map(|(decision, _)| decision.restore), [false, false, true, false]);
    assert_eq!(decisions.map(|(_, is_lost)| is_lost), [false, false, true, true]);
    assert_eq!(life.phase(), Phase::Lost { cause: Cause::Unseen });
    let found = life.step(&Observation::Redetected);
    assert_eq!((found.state, found.place, found.update), (Recovered, Place::Follow, Some(Update::Usual)));
    assert_eq!(life.phase(), Phase::Following);
}

#[test]
fn blank_frames_count_as_missed_and_say_nothing_of_the_next_one() {
    let mut life = lifecycle(params());
    let lost = [(); 3].map(|()| (step(&mut life, blank()).state, life.is_lost()));
    assert_eq!(lost, [(Lost, false), (Lost, false), (Lost, true)]);
    let mut life = lifecycle(params());
    step(&mut life, frame(0.9));
    step(&mut life, blank());
    assert_eq!(life.confidence(), Some(0.0));
    step(&mut life, frame(0.9));
    assert!((life.confidence().unwrap() - 0.9).abs() < 1e-9);
}

#[test]
fn the_frames_before_count_until_a_target_is_found_again() {
    let mut life = lifecycle(params());
    let confidence = |life: &mut Lifecycle, probability: f64| {
        step(life, frame(probability));
        life.confidence().unwrap()
    };
    assert!((confidence(&mut life, 0.9) - 0.9).abs() < 1e-9);
    let weak = confidence(&mut life, 0.3);
    assert!(weak > 0.5 && weak < 0.8, "{weak}");
    assert!(((0..50).map(|_| confidence(&mut life, 0.3)).last().unwrap() - 0.3).abs() < 0.01);
    life.step(&Observation::Redetected);
    assert!((confidence(&mut life, 0.9) - 0.9).abs() < 1e-9);
}

#[test]
fn a_long_term_drop_makes_a_sure_target_lost() {
    let mut life = lifecycle(params());
    let rows = [
        (0.9, 1.0, Tracking),
        (0.9, 0.1, Tracking),
        (0.9, 0.1, Tracking),
        (0.9, 0.3, Tracking),
        (0.9, 0.1, Tracking),
        (0.1, 0.1, Uncertain),
        (0.9, 0.1, Lost),
        // The target is not recovered by the response that made it lost.
        (0.9, 0.1, Lost),
        (0.6, 0.5, Recovered),
        (0.9, 0.1, Tracking),
        (0.9, 0.1, Tracking),
        (0.9, 0.1, Lost),
    ];
    for (i, (probability, response, state)) in rows.into_iter().enumerate() {
        let signals = Signals { long_term: Some(response), ..frame(probability) };
        assert_eq!(step(&mut life, signals).state, state, "frame {i}");
    }
    let mut never = lifecycle(ConfidenceParams { long_term_drop: 0.0, ..params() });
    let below = Signals { long_term: Some(-0.1), ..frame(0.9) };
    assert!((0..9).all(|_| step(&mut never, below).state == Tracking));
}

#[test]
fn a_covered_target_is_seen_again_at_a_higher_ratio_than_it_is_covered_at() {
    let mut life = lifecycle(params());
    let mut state = |psr: f32| step(&mut life, Signals { psr, ..frame(0.9) }).state;
    // The usual logarithm is that of 10.
    assert_eq!([(); 9].map(|()| state(10.0)), [Tracking; 9]);
    assert_eq!(state(5.5), Tracking, "10^.74");
    assert!((0..200).all(|_| state(4.0) == Occluded), "10^.6, for as long as it lasts");
    assert_eq!([6.5, 4.0].map(&mut state), [Occluded; 2], "10^.81 does not end it");
    assert_eq!([8.0, 5.5].map(&mut state), [Tracking, Tracking], "10^.9 does");
    let mut never = lifecycle(ConfidenceParams { hidden_share: 0.0, ..params() });
    assert!([50.0, 1.0, 0.0].iter().all(|&psr| step(&mut never, Signals { psr, ..frame(0.9) }).state == Tracking));
}

#[test]
fn a_denied_box_waits_and_then_goes_with_what_covers_the_target() {
    let mut life = followed();
    for frames in 1..=MAX_OCCLUDED {
        let decision = step(&mut life, covered(Likeness::Denied));
        assert_eq!((decision.place, decision.update), STAY, "{frames}");
        assert_eq!(life.phase(), Phase::Occluded { frames });
    }
    assert_eq!(step(&mut life, covered(Likeness::Denied)).place, Place::Follow);
    // A frame that is not denied begins the count anew.
    step(&mut life, covered(Likeness::Certain));
    assert_eq!(life.phase(), Phase::Occluded { frames: 0 });
    assert_eq!(step(&mut life, covered(Likeness::Denied)).place, Place::Stay);
}

#[test]
fn a_covered_target_that_nothing_judges_is_lost_after_a_while() {
    let mut life = followed();
    for _ in 0..MAX_OCCLUDED {
        assert_eq!(step(&mut life, covered(Likeness::Unknown)).state, Occluded);
    }
    let decision = step(&mut life, covered(Likeness::Unknown));
    assert_eq!((decision.state, decision.restore), (Lost, true));
    assert_eq!(life.phase(), Phase::Lost { cause: Cause::Occlusion });
}

#[test]
fn a_cut_is_named_whatever_else_the_frame_says() {
    let mut life = followed();
    states(&mut life, [0.1, 0.1]);
    step(&mut life, Signals { another_scene: true, ..frame(0.1) });
    assert_eq!(life.phase(), Phase::Lost { cause: Cause::Cut });
    // A sure place in the other scene is not the target.
    assert_eq!(step(&mut life, Signals { another_scene: true, ..frame(0.99) }).state, Lost);
    assert_eq!(step(&mut life, frame(0.6)).state, Recovered);
}

#[test]
fn the_usual_long_term_response_follows_slowly_and_in_sure_frames_only() {
    let mut life = lifecycle(ConfidenceParams { long_term_frames: 9, ..params() });
    let rows = [
        (0.6, 1.0, 10.0, 1.0),
        (0.8, 0.5, 10.0, 0.99),
        (0.79, 0.5, 10.0, 0.99),
        (0.9, 0.1, 10.0, 0.99),
        // Covered.
        (0.9, 0.5, 4.0, 0.99),
        (0.9, 1.49, 10.0, 1.0),
    ];
    for (probability, response, psr, usual) in rows {
        step(&mut life, Signals { long_term: Some(response), psr, ..frame(probability) });
        assert!((life.min_long_term() - 0.2 * usual).abs() < 1e-6, "{probability}, {response}");
    }
    step(&mut life, blank());
    assert!((life.min_long_term() - 0.2).abs() < 1e-6);
}

#[test]
fn recovery_begins_all_counts_anew() {
    let restarts = [Observation::Redetected, Observation::Guarded { doubts: 0, moved: true }];
    for restart in restarts {
        for (probability, response) in [(0.1, 1.0), (0.9, 0.1)] {
            let mut life = lifecycle(params());
            step(&mut life, frame(0.9));
            let bad = Signals { long_term: Some(response), ..frame(probability) };
            (0..2).for_each(|_| _ = step(&mut life, bad));
            life.step(&restart);
            assert_eq!([(); 3].map(|()| step(&mut life, bad).state == Lost), [false, false, true]);
        }
    }
}

#[test]
fn a_guard_lowers_states_and_recovers_only_lost_targets() {
    // The state before, doubts of three that lose the target, whether the guard has moved the box; the state after.
    let rows = [
        (followed(), 0.9, 0, false, Tracking),
        (followed(), 0.9, 1, false, Uncertain),
        (followed(), 0.4, 2, false, Uncertain),
        (followed(), 0.9, 3, false, Lost),
        (lost(), 0.1, 0, false, Lost),
        (followed(), 0.4, 0, true, Tracking),
        (lost(), 0.1, 0, true, Recovered),
    ];
    for (i, (mut life, probability, doubts, moved, state)) in rows.into_iter().enumerate() {
        step(&mut life, frame(probability));
        assert_eq!(life.step(&Observation::Guarded { doubts, moved }).state, state, "row {i}");
    }
}

#[test]
fn a_box_that_leaves_the_frame_is_uncertain_and_then_lost() {
    for (probability, visible, state) in [
        (0.9, 1.0, Tracking),
        (0.9, 0.5, Tracking),
        (0.9, 0.49, Uncertain),
        (0.9, 0.0, Lost),
        (0.4, 0.49, Uncertain),
        (0.4, 0.0, Lost),
    ] {
        let mut life = followed();
        step(&mut life, frame(probability));
        assert_eq!(life.step(&Observation::Framed { visible }).state, state, "{probability}, {visible}");
    }
}

#[test]
fn what_was_reported_away_is_recovered_before_it_is_tracked() {
    let mut life = followed();
    let rows = [
        (frame(0.9), Tracking),
        (blank(), Lost),
        (frame(0.4), Uncertain),
        (frame(0.95), Recovered),
        (frame(0.95), Tracking),
        (covered(Likeness::Plausible), Occluded),
        (frame(0.95), Recovered),
        (frame(0.95), Tracking),
    ];
    for (i, (signals, state)) in rows.into_iter().enumerate() {
        step(&mut life, signals);
        assert_eq!(life.step(&Observation::Framed { visible: 1.0 }).state, state, "frame {i}");
    }
}

#[test]
fn a_frame_by_itself_has_a_state_by_a_threshold() {
    let psr = Rules::Psr(PsrParams { uncertain_below: 8.0, lost_below: 5.0 });
    let machine = Rules::Decision { lost_below: -0.3, gate: 0.1 };
    let rows = [
        (psr, 4.9, Lost),
        (psr, 5.0, Uncertain),
        (psr, 7.9, Uncertain),
        (psr, 8.0, Tracking),
        (machine, -0.4, Lost),
        (machine, -0.2, Uncertain),
        (machine, 0.09, Uncertain),
        (machine, 0.2, Tracking),
    ];
    for (rules, value, state) in rows {
        let mut life = Lifecycle::new(rules, 3);
        let signals = Signals { psr: value, decision: Some(value), ..frame(0.0) };
        let decision = step(&mut life, signals);
        assert_eq!((decision.state, (decision.place, decision.update)), (state, FOLLOW), "{rules:?}, {value}");
        let unseen = step(&mut life, Signals { seen: false, ..signals });
        assert_eq!((unseen.state, (unseen.place, unseen.update)), (Lost, STAY), "{rules:?}");
        assert_eq!(life.confidence(), None);
    }
}
