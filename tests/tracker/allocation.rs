//! `Tracker::update` allocates nothing, so memory does not grow with the length of a sequence.

use allocation_counter::measure;
use kcf_track::machines::MachineKind;
use kcf_track::synth::{Preset, SceneParams};
use kcf_track::tracker::{GuardParams, WindowParams};
use kcf_track::{BBox, Frame, Params, Tracker};

use crate::scene::{Clip, half_from, presets, with_scale};

/// Initial boxes, each with the size from which it is tracked at half resolution.
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
                // The counter works.
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
fn machines_free_what_a_fit_allocates() {
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
        // Fill the bank.
        run(60);
        let info = run(UPDATES);
        assert!(info.bytes_total > 1_000_000, "{name} was never fitted: {info:?}");
        // The number of kept directions differs from fit to fit.
        assert!(info.bytes_current.abs() < 50_000 && info.count_current.abs() < 50, "{name}: {info:?}");
        // The peak does not grow either.
        let again = run(UPDATES);
        assert!(again.bytes_max < info.bytes_max + info.bytes_max / 4, "{name}: {info:?} {again:?}");
    }
}

/// A textured target of 24 pixels at (100, 90), `zoom` times as large.
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

/// `init` allocates for the largest target.
#[test]
fn a_machine_whose_target_grows_allocates_only_while_it_learns() {
    let frames: Vec<_> = (0..40).map(|t| grown(1.02f64.powi(t))).collect();
    let frame = |t: usize| Frame::gray(&frames[t], 260, 220).unwrap();
    // Above all scores: the machine detects and never learns.
    let gate = 50.0;
    let search = with_scale(WindowParams { gate, ..WindowParams::of(MachineKind::Krr) }.into(), "filter");
    let mut guard = GuardParams::of(MachineKind::Krr);
    guard.windows.gate = gate;
    let guarded = with_scale(Params::paper(), "filter").guarded(guard);
    for (name, params) in [("krr", search), ("paper --guard krr", guarded)] {
        let mut tracker = Tracker::new(params).unwrap();
        tracker.init(frame(0), BBox::new(100.0, 90.0, 24.0, 24.0)).unwrap();
        let mut width = 0.0;
        let info = measure(|| (1..40).for_each(|t| width = tracker.update(frame(t)).unwrap().bbox.w));
        assert_eq!(info.count_total, 0, "{name}: {info:?}");
        assert!(width > 40.0, "{name}: the target is followed to {width} pixels");
    }
}

#[test]
fn clones_and_lost_targets_allocate_nothing() {
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

/// It is searched for at a larger size than it may have.
#[test]
fn a_lost_target_as_large_as_the_frame_allocates_nothing() {
    let clip = clip();
    let other: Vec<u8> = (0..clip.width * clip.height).map(|i| (i * i / 7 % 251) as u8).collect();
    let other = Frame::gray(&other, clip.width, clip.height).unwrap();
    for (name, params) in presets() {
        let mut tracker = Tracker::new(params.clone()).unwrap();
        tracker.init(clip.gray(0), BBox::new(0.0, 0.0, clip.width as f64, clip.height as f64)).unwrap();
        for i in 1..60 {
            let frame = if i < 5 { clip.gray(i) } else { other };
            let info = measure(|| _ = tracker.update(frame).unwrap());
            assert_eq!(info.count_total, 0, "{name}, frame {i}: {info:?}");
        }
    }
}
