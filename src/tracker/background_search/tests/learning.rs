//! When a frame is learned, from which area, at which size and how much.

use super::*;
use crate::tape::{Recorded, Tape};

/// What frames have changed of a model.
fn written(model: &mut impl Recorded) -> Vec<u8> {
    let mut tape = Tape::empty();
    model.record(&mut tape).unwrap();
    tape.written()
}

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
    for (settle, every, learned) in [(2, 4, &[1, 2, 4, 8][..]), (0, 3, &[3, 6]), (3, 100, &[1, 2, 3])] {
        let mut run = run(&BackgroundParams { settle, every, ..plain() });
        let changes = |_: &usize| {
            let mut before = run.search.filter.clone();
            run.step(&view(&still));
            written(&mut before) != written(&mut run.search.filter)
        };
        assert_eq!((1..9).filter(changes).collect::<Vec<_>>(), learned, "{settle}, {every}");
    }
}

/// Also where it is learned as large as it was found to be only now, in the area at hand.
#[test]
fn what_is_learned_less_often_counts_for_more() {
    let larger = grown(1.1);
    let params = BackgroundParams { rotation: turning().rotation, ..shaped() };
    for (settle, times) in [(3, 4.0), (4, 1.0), (40, 1.0)] {
        let mut run = run(&BackgroundParams { settle, every: 4, ..params.clone() });
        // The next one is the fourth.
        run.search.frames = 3;
        let off = &mut Stopwatch::default();
        let pose = run.search.look(&view(&larger), run.pose, off).pose;
        assert!(pose.scale > 1.05, "{pose:?}");
        let BackgroundSearch { view: area, scale, aspect, rotation, .. } = run.search.clone();
        let (mut scale, mut aspect, mut rotation) = (scale.unwrap(), aspect.unwrap(), rotation.unwrap());
        let (center, stretch) = (area.point(area.shift_of(pose.center)), pose.stretch());
        let zoom = (pose.scale * stretch.0, pose.scale * stretch.1);
        scale.learn(area.gray_patch(), center, zoom, times);
        aspect.learn(area.gray_patch(), center, zoom, times);
        rotation.learn(area.gray_patch(), center, stretch, 0.0, times);
        run.search.learn(&view(&larger), pose, None, off);
        assert_eq!(run.search.view.pose, area.pose, "from the area at hand");
        let learned = &mut run.search;
        assert!(written(&mut scale) == written(learned.scale.as_mut().unwrap()), "scale, settled after {settle}");
        assert!(written(&mut aspect) == written(learned.aspect.as_mut().unwrap()), "aspect, settled after {settle}");
        assert!(written(&mut rotation) == written(learned.rotation.as_mut().unwrap()), "angle, settled after {settle}");
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
        let off = &mut Stopwatch::default();
        let found = run.search.look(&view(&still), run.pose, off).pose;
        let at = Pose { angle, ..found.at(run.search.view.in_frame(shift)) };
        run.search.learn(&view(&still), at, None, off);
        assert_eq!(run.search.view.pose, if reused { run.pose } else { at }, "{shift:?}, {angle}");
    }
}

/// A filter's last input is then that of an area in which the target was not found.
#[test]
fn a_lost_challenge_teaches_nothing() {
    let never = ScaleParams::Pyramid(PyramidSettings { margin: 0.99, every: 1, ..PyramidSettings::default() });
    let next = frame((82.0, 71.0), 1.0, 0.0);
    let learned = |scale: ScaleParams| {
        let mut run = run(&BackgroundParams { scale, ..plain() });
        let off = &mut Stopwatch::default();
        let found = run.search.look(&view(&next), run.pose, off).pose;
        // So that both cut the target's area anew.
        run.search.at_hand &= run.search.params.scale != ScaleParams::None;
        run.search.learn(&view(&next), found, None, off);
        (found, written(&mut run.search.filter))
    };
    let (challenged, alone) = (learned(never), learned(ScaleParams::None));
    assert!(challenged.0 == alone.0 && challenged.1 == alone.1);
}

/// The filters for scale and angle have room for the whole of a target that is as long as it may become.
#[test]
fn the_longest_shape_is_learned_whole() {
    let picture = grown(1.0);
    let aspect = AspectParams::Filter(AspectSettings { most: 4.0, ..AspectSettings::default() });
    let params = BackgroundParams { aspect, ..turning() };
    let (ScaleParams::Filter(scaling), RotationParams::Filter(turning)) = (&params.scale, &params.rotation) else {
        panic!("it follows scale and angle");
    };
    for aspect in [4.0, 0.25] {
        let at = Pose { aspect, ..Pose::of(BOX) };
        let mut search = BackgroundSearch::untaught(&params, FrameKind::of(&view(&picture)), BOX).unwrap();
        search.learn(&view(&picture), at, Some(1.0), &mut Stopwatch::default());
        // As filters with that room learn it.
        let (area, step) = (&search.view, search.view.cell_step() / CELL as f64);
        let (in_view, middle, stretch) = ((BOX.w / step, BOX.h / step), area.point((0.0, 0.0)), at.stretch());
        let mut scale = ScaleFilter::new(in_view, *scaling, 2.0);
        let mut rotation = RotationFilter::new(in_view, *turning, 2.0);
        scale.learn(area.gray_patch(), middle, stretch, 1.0);
        rotation.learn(area.gray_patch(), middle, stretch, 0.0, 1.0);
        assert!(written(&mut scale) == written(search.scale.as_mut().unwrap()), "scale, {aspect}");
        assert!(written(&mut rotation) == written(search.rotation.as_mut().unwrap()), "angle, {aspect}");
    }
}
