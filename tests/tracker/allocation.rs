//! `Tracker::update` allocates nothing, so memory cannot grow with the length of a sequence.
//!
//! The counting allocator counts what the calling thread does; a tracker works on that one only.

use allocation_counter::measure;
use kcf_track::machines::MachineKind;
use kcf_track::synth::{Preset, SceneParams};
use kcf_track::tracker::{GuardParams, ScaleFilterParams, ScaleParams, WindowParams};
use kcf_track::{BBox, Frame, Params, Tracker};

use crate::scene::{Clip, half_from, presets};

/// Targets and how they are tracked: full size, half size (from 100 px on by default), over the border.
fn cases(clip: &Clip) -> [(&'static str, BBox, f64); 4] {
    let target = clip.initial();
    [
        ("whole size", target, 100.0),
        ("half size", target, 30.0),
        ("half size by default", BBox::new(60.0, 40.0, 121.0, 103.0), 100.0),
        ("over the border", BBox::new(-12.0, 200.0, 38.0, 60.0), 100.0),
    ]
}

fn clip() -> Clip {
    Clip::render(SceneParams { frames: 12, ..Preset::Medium.params() })
}

#[test]
fn no_update_allocates() {
    let clip = clip();
    for (name, params) in presets() {
        for (case, initial, half_size_from) in cases(&clip) {
            let params = half_from(&params, half_size_from);
            for colour in [false, true] {
                let frame = |i: usize| if colour { Frame::try_from(&clip.colour[i]).unwrap() } else { clip.gray(i) };
                let mut tracker = Tracker::new(params.clone()).unwrap();
                let first = measure(|| {
                    tracker.init(frame(0), initial).unwrap();
                });
                // The counter counts.
                assert!(first.count_total > 0 && first.bytes_current > 0);
                for i in 1..clip.gray.len() {
                    let frame = frame(i);
                    let info = measure(|| {
                        tracker.update(frame).unwrap();
                    });
                    let what = format!("{name}, {case}, colour {colour}, frame {i}: {info:?}");
                    assert_eq!((info.count_total, info.bytes_total), (0, 0), "{what}");
                }
            }
        }
    }
}

#[test]
fn errors_aside_nothing_is_freed_or_kept_in_a_thousand_updates() {
    const UPDATES: usize = 1000;
    let clip = clip();
    for (name, colour) in [("paper", false), ("paper", true), ("paper-dcf", true), ("fast", false)] {
        let mut tracker = Tracker::new(Params::preset(name).unwrap()).unwrap();
        tracker.init(clip.gray(0), clip.initial()).unwrap();
        let info = measure(|| {
            for update in 0..UPDATES {
                // There and back, so that the target does not jump.
                let at = update % (2 * clip.gray.len() - 2);
                let at = at.min(2 * clip.gray.len() - 2 - at);
                let frame = if colour { Frame::try_from(&clip.colour[at]).unwrap() } else { clip.gray(at) };
                tracker.update(frame).unwrap();
            }
        });
        assert_eq!((info.count_total, info.count_current, info.bytes_current), (0, 0, 0), "{name}: {info:?}");
    }
}

/// A fit takes matrices and gives them back.
#[test]
fn machines_over_real_windows_give_back_what_a_fit_takes() {
    const UPDATES: usize = 60;
    let clip = clip();
    let detectors = MachineKind::ALL.iter().map(|&kind| (kind.to_string(), Params::from(WindowParams::of(kind))));
    let guards =
        MachineKind::all_guards().map(|kind| (format!("guard {kind}"), Params::paper().guarded(GuardParams::of(kind))));
    for (name, params) in detectors.chain(guards) {
        let mut tracker = Tracker::new(params).unwrap();
        tracker.init(clip.gray(0), clip.initial()).unwrap();
        let mut run = |updates: usize| {
            measure(|| {
                for update in 0..updates {
                    let at = update % (2 * clip.gray.len() - 2);
                    tracker.update(clip.gray(at.min(2 * clip.gray.len() - 2 - at))).unwrap();
                }
            })
        };
        // Until the bank is full.
        run(60);
        let info = run(UPDATES);
        assert!(info.bytes_total > 1_000_000, "{name} was never fitted: {info:?}");
        // A head is kept, and how many directions it has may differ from fit to fit.
        assert!(info.bytes_current.abs() < 50_000 && info.count_current.abs() < 50, "{name}: {info:?}");
        // What is taken at a time does not grow either.
        let again = run(UPDATES);
        assert!(again.bytes_max < info.bytes_max + info.bytes_max / 4, "{name}: {info:?} {again:?}");
    }
}

/// As a textured target of 24 pixels at (100, 90) that is seen `zoom` times as large.
fn grown(zoom: f64) -> Vec<u8> {
    let value = |x: f64, y: f64| {
        let (u, v) = ((x - 112.0) / zoom, (y - 102.0) / zoom);
        match u.abs().max(v.abs()) < 12.0 {
            true => 128.0 + 60.0 * (0.7 * u + 0.3 * v).sin() + 50.0 * (0.9 * v - 0.4 * u).cos(),
            false => 100.0 + 20.0 * (0.2 * x).sin() * (0.31 * y).cos(),
        }
    };
    (0..260 * 220).map(|i| value((i % 260) as f64, (i / 260) as f64) as u8).collect()
}

/// Memory for areas of the largest target that there may be is taken at first, by searches, guards and verifiers.
#[test]
fn a_machine_whose_target_grows_allocates_nothing_but_while_it_learns() {
    let frames: Vec<_> = (0..40).map(|t| grown(1.02f64.powi(t))).collect();
    let frame = |t: usize| Frame::gray(&frames[t], 260, 220).unwrap();
    // It looks, and learns nothing.
    let gate = 50.0;
    let mut search = Params::from(WindowParams { gate, ..WindowParams::of(MachineKind::Krr) });
    *search.search.scale_mut() = ScaleParams::Filter(ScaleFilterParams::default());
    let mut guard = GuardParams::of(MachineKind::Krr);
    guard.windows.gate = gate;
    let mut guarded = Params::paper().guarded(guard);
    *guarded.search.scale_mut() = ScaleParams::Filter(ScaleFilterParams::default());
    for (name, params) in [("krr", search), ("paper --guard krr", guarded)] {
        let mut tracker = Tracker::new(params).unwrap();
        tracker.init(frame(0), BBox::new(100.0, 90.0, 24.0, 24.0)).unwrap();
        let mut width = 0.0;
        let info = measure(|| (1..40).for_each(|t| width = tracker.update(frame(t)).unwrap().bbox.w));
        assert_eq!(info.count_total, 0, "{name}: {info:?}");
        assert!(width > 40.0, "{name}: the target is followed to {width} pixels");
    }
}

/// A target that is lost, on uniform frames and outside them, takes no other way.
#[test]
fn a_lost_target_allocates_nothing() {
    let clip = clip();
    let black = vec![0; clip.gray[0].len()];
    for (name, params) in presets() {
        let mut tracker = Tracker::new(params).unwrap();
        tracker.init(clip.gray(0), clip.initial()).unwrap();
        let info = measure(|| {
            for i in 0..20 {
                let frame =
                    if i % 2 == 0 { Frame::gray(&black, clip.width, clip.height).unwrap() } else { clip.gray(i / 2) };
                tracker.update(frame).unwrap();
            }
        });
        assert_eq!(info.count_total, 0, "{name}: {info:?}");
    }
}

/// A clone has the memory that its original was given, not only what is in use of it.
#[test]
fn no_update_of_a_clone_allocates() {
    let clip = clip();
    for (name, params) in presets() {
        for first in [false, true] {
            let frame = |i: usize, colour: bool| {
                if colour { Frame::try_from(&clip.colour[i]).unwrap() } else { clip.gray(i) }
            };
            let mut original = Tracker::new(params.clone()).unwrap();
            original.init(frame(0, first), clip.initial()).unwrap();
            for cloned_at in [1, 6] {
                let mut clone = original.clone();
                for i in cloned_at..clip.gray.len() {
                    // Frames of one kind for a while, then of the other one.
                    let frame = frame(i, first == (i < 4));
                    let info = measure(|| {
                        clone.update(frame).unwrap();
                    });
                    let what = format!("{name}, first {first}, cloned at {cloned_at}, frame {i}: {info:?}");
                    assert_eq!((info.count_total, info.bytes_total), (0, 0), "{what}");
                }
                for i in cloned_at..6 {
                    original.update(frame(i, first)).unwrap();
                }
            }
        }
    }
}

#[test]
fn a_clone_of_a_lost_target_allocates_nothing() {
    let clip = clip();
    let black = vec![0; clip.gray[0].len()];
    let black = || Frame::gray(&black, clip.width, clip.height).unwrap();
    for (name, params) in presets() {
        for colour in [false, true] {
            let frame = |i: usize| if colour { Frame::try_from(&clip.colour[i]).unwrap() } else { clip.gray(i) };
            let mut original = Tracker::new(params.clone()).unwrap();
            original.init(frame(0), clip.initial()).unwrap();
            for cloned_after in [0, 3, 8] {
                let mut clone = original.clone();
                let info = measure(|| {
                    for i in 0..20 {
                        clone.update(if i % 2 == 0 { black() } else { frame(i / 2) }).unwrap();
                    }
                });
                assert_eq!(info.count_total, 0, "{name}, colour {colour}, cloned after {cloned_after}: {info:?}");
                for _ in 0..5 {
                    original.update(black()).unwrap();
                }
            }
        }
    }
}
