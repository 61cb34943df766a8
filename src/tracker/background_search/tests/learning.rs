//! When a frame is learned, from which area, at which size and how much.

use super::*;

/// A target around `(80, 70)`, seen `scale` times as large as at first.
fn grown(scale: f64) -> Vec<u8> {
    frame((80.0, 70.0), scale, 0.0)
}

/// A search that has learned its first frame.
fn run(params: &BackgroundParams) -> Run {
    Run::new(params, &view(&grown(1.0)), BOX)
}

#[test]
fn every_frame_is_learned_at_first_and_then_one_of_so_many() {
    let still = grown(1.0);
    for (warmup_frames, interval, learned) in [(2, 4, &[1, 2, 4, 8][..]), (0, 3, &[3, 6]), (3, 100, &[1, 2, 3])] {
        let mut run = run(&BackgroundParams { warmup_frames, interval, ..plain() });
        let changes = |_: &usize| {
            let before = run.search.filter.spectrum();
            run.step(&view(&still));
            before != run.search.filter.spectrum()
        };
        assert_eq!((1..9).filter(changes).collect::<Vec<_>>(), learned, "{warmup_frames}, {interval}");
    }
}

#[test]
fn an_area_is_reused_where_the_target_has_hardly_moved_and_not_turned() {
    let still = grown(1.0);
    for (shift, angle, reused) in [
        ((0.0, 0.0), 0.0, true),
        ((0.9, -0.9), 0.0, true),
        ((1.1, 0.0), 0.0, false),
        ((0.0, -1.1), 0.0, false),
        ((0.0, 0.0), 0.1, false),
    ] {
        let mut run = run(&turning());
        let found = run.search.detect(&view(&still), run.pose).pose;
        let at = Pose { angle, ..found.at(run.search.view.in_frame(shift)) };
        run.search.learn(&view(&still), at, &Evidence::default(), None);
        assert_eq!(run.search.view.pose, if reused { run.pose } else { at }, "{shift:?}, {angle}");
    }
}

#[test]
fn a_lost_challenge_changes_nothing() {
    let never = RotationParams::Filter(RotationFilterParams { min_turn: 0.0, margin: 0.99, ..Default::default() });
    let next = frame((82.0, 71.0), 1.0, 0.0);
    let learned = |rotation: RotationParams| {
        let mut run = run(&BackgroundParams { rotation, ..plain() });
        let Detection { pose: found, evidence, .. } = run.search.detect(&view(&next), run.pose);
        // So that both cut the target's area anew.
        run.search.view_is_current &= run.search.params.rotation != RotationParams::None;
        run.search.learn(&view(&next), found, &evidence, None);
        (found, evidence.identity, run.search.filter.spectrum())
    };
    assert!(learned(never) == learned(RotationParams::None));
}

/// It may be the background, or a target that has turned.
#[test]
fn a_place_that_the_identity_denies_is_learned_slowly() {
    let (rgb, empty) = (grown(1.0), frame((-200.0, -200.0), 1.0, 0.0));
    let moved = |deny_below: f64| {
        let identity = IdentityParams::Krr(IdentityMachineParams { deny_below, ..Default::default() });
        let mut run = run(&BackgroundParams { identity, ..plain() });
        (0..12).for_each(|_| _ = run.step(&view(&rgb)));
        let before = run.search.filter.spectrum();
        let answer = run.step(&view(&empty)).evidence.identity;
        assert!(answer.is_some_and(|answer| answer < -0.3), "{answer:?}");
        before.iter().zip(run.search.filter.spectrum()).map(|(a, b)| (b - a).powi(2)).sum::<f32>().sqrt()
    };
    let (denied, taken) = (moved(-0.3), moved(-10.0));
    assert!(denied > 0.0 && denied < 0.7 * taken, "{denied}, {taken}");
}
