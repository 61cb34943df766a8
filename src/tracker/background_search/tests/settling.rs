//! From the best place to a pose: what of a turn, a size and a place is accepted.

use super::*;

#[test]
fn a_turn_is_believed_if_it_is_large_enough_and_the_answer_better_by_the_margin() {
    let turn = 20f64.to_radians();
    let turned = frame((80.0, 70.0), 1.0, turn);
    let angle = |min_turn: f64, margin: f64| {
        let rotation =
            RotationParams::Filter(RotationFilterParams { min_turn, margin, ..RotationFilterParams::default() });
        let mut run = Run::new(&BackgroundParams { rotation, ..plain() }, &view(&frame((80.0, 70.0), 1.0, 0.0)), BOX);
        run.search.detect(&view(&turned), run.pose).pose.angle
    };
    let accepted = angle(4.0, 0.05);
    assert!((accepted - turn).abs() < 0.15, "{accepted}");
    let found = accepted.to_degrees();
    assert_eq!([(found + 0.1, 0.05), (4.0, 0.99)].map(|(min_turn, margin)| angle(min_turn, margin)), [0.0; 2]);
    assert_eq!(angle(found - 0.1, 0.05), accepted);
}

/// Wherever a search begins, as in an area that a guard has chosen.
#[test]
fn a_size_stays_within_its_limits() {
    let still = frame((80.0, 70.0), 1.0, 0.0);
    let params = BackgroundParams { rotation: RotationParams::None, ..Default::default() };
    for (scale, limit) in [(0.1, 5.0 / 24.0), (12.0, WIDTH as f64 / 30.0)] {
        let mut run = Run::new(&params, &view(&still), BOX);
        let found = run.search.detect(&view(&still), Pose { scale, ..run.pose });
        assert!(found.seen);
        assert_eq!(found.pose.scale, limit);
    }
}

/// Its box may: what is left of the target can still be seen.
#[test]
fn the_middle_of_a_target_leaves_no_frame() {
    let (w, h) = (WIDTH as f64, HEIGHT as f64);
    // From just within the frame to just outside it; from outside it goes no farther, but comes back.
    for (from, to, said) in [
        ((4.0, 70.0), (-4.0, 70.0), (0.0, 70.0)),
        ((w - 4.0, 70.0), (w + 4.0, 70.0), (w, 70.0)),
        ((80.0, 4.0), (80.0, -4.0), (80.0, 0.0)),
        ((80.0, h - 4.0), (80.0, h + 4.0), (80.0, h)),
        ((-3.0, 70.0), (-9.0, 70.0), (-3.0, 70.0)),
        ((-3.0, 70.0), (4.0, 70.0), (4.0, 70.0)),
    ] {
        let bbox = BBox::new(from.0 - 15.0, from.1 - 12.0, 30.0, 24.0);
        let mut run = Run::new(&plain(), &view(&frame(from, 1.0, 0.0)), bbox);
        let found = run.search.detect(&view(&frame(to, 1.0, 0.0)), run.pose).pose.center;
        let (dx, dy) = (found.0 - said.0, found.1 - said.1);
        assert!(dx.abs().max(dy.abs()) < 1.5, "{found:?} from {from:?} to {to:?}");
        // To the very border.
        let beyond = to.0 != said.0 && dx != 0.0 || to.1 != said.1 && dy != 0.0;
        assert!(!beyond, "{found:?} from {from:?} to {to:?}");
    }
}
