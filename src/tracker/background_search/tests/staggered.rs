//! What one of many targets does in frames of its own.

use super::*;
use crate::tape::{Recorded, Tape};

/// What is written of a search, without what comes of a look: the last response and the count of frames.
fn models(search: &mut BackgroundSearch) -> Vec<u8> {
    let mut tape = Tape::empty();
    search.filter.record(&mut tape).unwrap();
    tape.part(&mut search.color).unwrap();
    tape.part(&mut search.scale).unwrap();
    tape.part(&mut search.aspect).unwrap();
    tape.part(&mut search.rotation).unwrap();
    tape.written()
}

/// Of eight targets: size, shape and angle are found in one of four frames, and other sizes of the area are looked at
/// in one of four of those of a target that is alone.
#[test]
fn of_many_targets_each_looks_for_its_size_and_angle_in_frames_of_its_own() {
    let both = BackgroundParams { aspect: AspectParams::Filter(AspectSettings::default()), ..turning() };
    let sizes = BackgroundParams { rotation: RotationParams::None, ..pyramid() };
    for (params, every, turned) in [(both, 4, 0.3), (sizes, 8, 0.0)] {
        let larger = frame((80.0, 70.0), 1.12, turned);
        let taught = Run::new(&params, &view(&frame((80.0, 70.0), 1.0, 0.0)), BOX).search;
        let found = |stagger: Stagger| {
            // One that is alone looks at other sizes in its second frame.
            let mut search = BackgroundSearch { frames: 1, ..taught.clone() };
            search.stagger(stagger);
            search.look(&view(&larger), search.pose(), &mut Stopwatch::default()).pose
        };
        let (alone, start) = (found(Stagger::ALONE), taught.pose());
        assert!(alone.scale > 1.03, "{alone:?}");
        for clock in 0..2 * every {
            let pose = found(Stagger::of(0, 8, clock));
            let changed = (pose.scale != 1.0, pose.angle != 0.0, pose.aspect != start.aspect);
            let looked = clock % every == 0;
            let wide = (alone.angle != 0.0, alone.aspect != start.aspect);
            assert_eq!(changed, (looked, looked && wide.0, looked && wide.1), "{every}, {clock}: {pose:?}");
            if let (ScaleParams::Pyramid(settings), true) = (&params.scale, looked) {
                assert_eq!((alone.scale, pose.scale), (settings.step, Stagger::of(0, 8, clock).step(settings.step)));
            }
        }
    }
}

/// And learns, once it has settled: if it did in every frame, of four in every second one, twice as much.
#[test]
fn of_many_targets_each_learns_in_frames_of_its_own() {
    let (first, next) = (frame((80.0, 70.0), 1.0, 0.0), frame((84.0, 69.0), 1.05, 0.1));
    let both = BackgroundParams { aspect: AspectParams::Filter(AspectSettings::default()), settle: 10, ..turning() };
    let taught = Run::new(&both, &view(&first), BOX).search;
    let learned = |stagger: Stagger, frames: usize, every: usize, told: Option<f64>| {
        let mut search = BackgroundSearch { frames, ..taught.clone() };
        search.params.every = every;
        let off = &mut Stopwatch::default();
        let there = search.look_at(&view(&next), search.pose(), off).pose;
        search.stagger(stagger);
        search.learn(&view(&next), there, told, off);
        models(&mut search)
    };
    let none = models(&mut taught.clone());
    let settling = learned(Stagger::ALONE, 9, 3, None);
    let [single, twice, thrice] = [1, 2, 3].map(|every| learned(Stagger::ALONE, 12, every, None));
    assert!(none != settling && settling == single && single != twice && twice != thrice);
    for clock in 0..6 {
        let stagger = Stagger::of(0, 4, clock);
        for (every, period, lesson) in [(1, 2, &twice), (2, 2, &twice), (3, 3, &thrice)] {
            assert!(learned(stagger, 9, every, None) == settling, "{every}, {clock}");
            let expected = if clock % period == 0 { lesson } else { &none };
            assert!(learned(stagger, 13, every, None) == *expected, "{every}, {clock}");
            assert!(learned(stagger, 13, every, Some(0.1)) != none, "{every}, {clock}");
        }
    }
}
