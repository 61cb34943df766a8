//! Guards: a kernel machine that watches another search and moves it to the target.

use std::sync::LazyLock;

use kcf_track::machines::MachineKind;
use kcf_track::tracker::GuardParams;
use kcf_track::{BBox, Estimate, Frame, FrameBuf, Params, PixelFormat, State, Tracker};

use crate::detectors::{detector, guarded, sound};
use crate::scene::{self, half_from, track};

/// Smooth noise without a period.
fn texture(x: f64, y: f64, phase: f64) -> f64 {
    let wave = |fx: f64, fy: f64, p: f64| (fx * x + fy * y + p + phase).sin();
    128.0 + 40.0 * wave(0.31, 0.17, 0.0) + 30.0 * wave(-0.11, 0.43, 1.7) + 25.0 * wave(0.73, -0.59, 0.4)
}

const WIDTH: usize = 400;
const HEIGHT: usize = 300;

/// Textured ground, in lines of `WIDTH`.
static GROUND: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let value = |i: usize| texture((i % WIDTH) as f64 / 2.0, (i / WIDTH) as f64 / 2.0, 3.0).clamp(0.0, 255.0) as u8;
    (0..WIDTH * HEIGHT).map(value).collect()
});

/// A textured patch with its corner at `(left, top)` on textured ground.
fn picture(left: f64, top: f64) -> FrameBuf {
    let within = |from: f64, length: f64, whole: usize| {
        let end = |edge: f64| edge.ceil().clamp(0.0, whole as f64) as usize;
        end(from)..end(from + length)
    };
    let mut data = GROUND.clone();
    for y in within(top, 28.0, HEIGHT) {
        for x in within(left, 32.0, WIDTH) {
            let value = texture(2.0 * (x as f64 - left), 2.0 * (y as f64 - top), 9.0);
            data[y * WIDTH + x] = value.clamp(0.0, 255.0) as u8;
        }
    }
    FrameBuf::new(data, WIDTH, HEIGHT, PixelFormat::Gray8).unwrap()
}

/// The frame in which the target jumps out of the search area.
const JUMP: usize = 20;

fn jumping(frames: usize, speed: f64) -> (Vec<FrameBuf>, Vec<BBox>) {
    let corner = |t: usize| {
        let (now, t) = (t, speed * t as f64);
        if now < JUMP { (40.0 + t, 50.0 + (t / 2.0).round()) } else { (300.0 - t, 190.0 + (t / 3.0).round()) }
    };
    let corners = (0..frames).map(corner);
    corners.map(|(x, y)| (picture(x, y), BBox::new(x, y, 32.0, 28.0))).unzip()
}

#[test]
fn a_guard_finds_a_target_that_jumped_away_and_the_filter_alone_does_not() {
    let (frames, truth) = jumping(60, 1.0);
    let alone = track(&Params::paper(), frames.iter().map(Frame::from), truth[0]);
    assert!(alone[JUMP - 1].overlap(&truth[JUMP - 1]) > 0.8);
    assert!(alone[JUMP..].iter().zip(&truth[JUMP..]).all(|(b, truth)| b.overlap(truth) < 0.1));
    for kind in MachineKind::all_guards() {
        let mut tracker = Tracker::new(guarded(kind)).unwrap();
        tracker.init(&frames[0], truth[0]).unwrap();
        let mut states = vec![State::Initial];
        let mut found = None;
        for t in 1..60 {
            let estimate = tracker.update(&frames[t]).unwrap();
            assert!(sound(&estimate, &tracker));
            states.push(estimate.state);
            let here = estimate.bbox.overlap(&truth[t]) > 0.5;
            if t < JUMP {
                assert!(here && estimate.state == State::Tracking, "{kind}, frame {t}: {}", estimate.state);
            } else if here {
                found.get_or_insert(t);
            } else {
                assert_eq!(found, None, "{kind}: lost again in frame {t}");
                assert_ne!(estimate.state, State::Tracking, "{kind}, frame {t}");
            }
        }
        let found = found.unwrap_or_else(|| panic!("{kind}: never found again: {states:?}"));
        assert!(found > JUMP + 2 && states[JUMP + 2..found].contains(&State::Lost), "{kind}: {states:?}");
        assert_eq!(states[59], State::Tracking, "{kind}");
    }
}

/// A machine alone does not reach beyond its search area.
#[test]
fn a_guard_watches_any_search() {
    let (frames, truth) = jumping(60, 1.0);
    let alone = detector(MachineKind::Svm);
    let boxes = track(&alone, frames.iter().map(Frame::from), truth[0]);
    assert!(boxes[59].overlap(&truth[59]) < 0.1);
    let mut tracker = Tracker::new(alone.guarded(GuardParams::of(MachineKind::Krr))).unwrap();
    tracker.init(&frames[0], truth[0]).unwrap();
    let estimates: Vec<Estimate> = frames[1..].iter().map(|frame| tracker.update(frame).unwrap()).collect();
    assert!(estimates[58].bbox.overlap(&truth[59]) > 0.5 && estimates[58].state == State::Tracking);
    // The decision is that of the guard, the peak that of the detector.
    assert!(estimates.iter().any(|estimate| estimate.evidence.decision != Some(estimate.evidence.peak)));
}

#[test]
fn a_guard_moves_any_filter_to_the_target() {
    for (name, params) in scene::presets() {
        // At half size a cell is a quarter of the target, too coarse to see a motion of one pixel.
        for (half_size_from, speed) in [(100.0, 1.0), (20.0, 0.0)] {
            let (frames, truth) = jumping(50, speed);
            let params = half_from(&params, half_size_from).guarded(GuardParams::of(MachineKind::Klda));
            let boxes = track(&params, frames.iter().map(Frame::from), truth[0]);
            let overlaps = boxes[45..].iter().zip(&truth[45..]).map(|(b, truth)| b.overlap(truth));
            let least = overlaps.fold(1.0, f64::min);
            // Its search area has 24 cells a side, so that each is coarse.
            let enough = if name == "crowd" { 0.5 } else { 0.6 };
            assert!(least > enough, "{name}, half size from {half_size_from}: {least}");
        }
    }
}

#[test]
fn without_tiles_a_guard_searches_nearby_only() {
    let (frames, truth) = jumping(50, 1.0);
    let params = Params::paper().guarded(GuardParams { tiles: 0, ..GuardParams::of(MachineKind::Klda) });
    let boxes = track(&params, frames.iter().map(Frame::from), truth[0]);
    assert!(boxes[JUMP..].iter().zip(&truth[JUMP..]).all(|(b, truth)| b.overlap(truth) < 0.1));
}
