//! Snapshots: a tracker that was written and read back goes on as if nothing had been, and other bytes are refused.

use kcf_track::machines::MachineKind;
use kcf_track::synth::SceneParams;
use kcf_track::tracker::{GuardParams, Params, WindowParams};
use kcf_track::{Error, Estimate, Frame, Tracker};

use crate::scene::{Clip, presets};

/// Frames before the snapshot, and after it.
const HALF: usize = 5;

fn clip() -> Clip {
    Clip::render(SceneParams { frames: 2 * HALF + 1, width: 160, height: 120, ..SceneParams::default() })
}

fn frame(clip: &Clip, color: bool, index: usize) -> Frame<'_> {
    if color { Frame::try_from(&clip.colour[index]).unwrap() } else { clip.gray(index) }
}

/// Everything that a tracker says, by its bits.
fn said(tracker: &Tracker, estimate: &Estimate) -> (String, Vec<u32>) {
    let map = tracker.response().unwrap();
    let values = map.values.iter().map(|value| value.to_bits()).collect();
    (format!("{estimate:?} {:?} {:?} {:?}", map.center, map.step, tracker.bbox()), values)
}

/// A tracker of these settings after half of the frames.
fn halfway(params: &Params, clip: &Clip, color: bool) -> Tracker {
    let mut tracker = Tracker::new(params.clone()).unwrap();
    tracker.init(frame(clip, color, 0), clip.initial()).unwrap();
    for index in 1..=HALF {
        tracker.update(frame(clip, color, index)).unwrap();
    }
    tracker
}

fn goes_on(name: &str, params: &Params, clip: &Clip, color: bool) {
    let mut tracker = halfway(params, clip, color);
    let bytes = tracker.snapshot();
    let mut restored = Tracker::restore(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(restored.params(), tracker.params(), "{name}");
    assert!(restored.snapshot() == bytes, "{name}: what was read is what was written");
    // The response is that of the last frame, before there is another one.
    let before = [&tracker, &restored].map(|tracker| tracker.response().unwrap().values.to_owned());
    assert_eq!(before[0], before[1], "{name}");
    for index in HALF + 1..=2 * HALF {
        let frame = frame(clip, color, index);
        let (a, b) = (tracker.update(frame).unwrap(), restored.update(frame).unwrap());
        assert!(said(&tracker, &a) == said(&restored, &b), "{name}, frame {index}: {a:?} is not {b:?}");
    }
    assert!(tracker.snapshot() == restored.snapshot(), "{name}: what was learned since");
}

#[test]
fn every_preset_goes_on_to_the_same_bits() {
    let clip = clip();
    for (name, params) in presets() {
        for color in [false, true] {
            goes_on(name, &params, &clip, color);
        }
    }
}

#[test]
fn every_detector_and_guard_goes_on_to_the_same_bits() {
    let clip = clip();
    for &kind in MachineKind::ALL {
        goes_on(kind.name(), &WindowParams::of(kind).into(), &clip, false);
    }
    for kind in MachineKind::all_guards() {
        let name = format!("guard {kind}");
        goes_on(&name, &Params::paper().guarded(GuardParams::of(kind)), &clip, false);
    }
}

#[test]
fn other_searches_and_losses_go_on_to_the_same_bits() {
    let clip = clip();
    for (preset, path, value) in [
        ("paper", "search.filter.loss", "hinge"),
        ("paper", "search.filter.loss", "fisher"),
        ("paper", "search.filter.scale", "filter"),
        ("robust", "search.background.scale", "pyramid"),
        ("robust", "search.background.rotation", "filter"),
        ("robust", "search.background.mask", "false"),
        ("robust", "search.background.aspect", "filter"),
        ("robust", "search.background.color-weighting", "separation"),
    ] {
        let mut params = Params::preset(preset).unwrap();
        params.set(path, value).unwrap();
        goes_on(&format!("{preset}, {path} = {value}"), &params, &clip, true);
    }
}

/// A target that is lost, and looked for part by part.
#[test]
fn a_search_for_a_lost_target_goes_on_where_it_was() {
    let clip = clip();
    let gone = vec![90; clip.width * clip.height];
    for name in ["robust", "fast"] {
        let mut tracker = halfway(&Params::preset(name).unwrap(), &clip, false);
        let mut noise = clip.gray[0].clone();
        noise.iter_mut().enumerate().for_each(|(i, v)| *v = (i * i % 251) as u8);
        let [noise, gone] = [&noise, &gone].map(|pixels| Frame::gray(pixels, clip.width, clip.height).unwrap());
        for _ in 0..7 {
            tracker.update(noise).unwrap();
        }
        let mut restored = Tracker::restore(&tracker.snapshot()).unwrap();
        for frame in [noise, noise, gone, clip.gray(HALF), clip.gray(HALF), clip.gray(HALF + 1)] {
            let (a, b) = (tracker.update(frame).unwrap(), restored.update(frame).unwrap());
            assert_eq!(said(&tracker, &a), said(&restored, &b), "{name}");
        }
    }
}

#[test]
fn a_tracker_without_a_target_is_one_again() {
    let tracker = Tracker::new(Params::preset("fast").unwrap()).unwrap();
    let mut restored = Tracker::restore(&tracker.snapshot()).unwrap();
    assert_eq!(restored.params(), tracker.params());
    assert!(matches!(restored.update(clip().gray(0)), Err(Error::NotInitialized)));
}

fn refused(bytes: &[u8]) -> String {
    match Tracker::restore(bytes) {
        Err(Error::Snapshot { reason }) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn other_bytes_are_refused() {
    let clip = clip();
    let bytes = halfway(&Params::preset("fast").unwrap(), &clip, false).snapshot();
    for length in (0..bytes.len()).step_by(bytes.len() / 97) {
        refused(&bytes[..length]);
    }
    for at in (0..bytes.len()).step_by(bytes.len() / 101) {
        let mut wrong = bytes.clone();
        wrong[at] ^= 0x40;
        refused(&wrong);
    }
    refused(&[&bytes[..], &[0]].concat());
    refused(b"KCFTRACK");
    refused(b"no snapshot");
}

/// The same bytes with another head or state, and the checksum that belongs to them.
fn forged(bytes: &[u8], head: impl Fn(&str) -> String, state: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    let length = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    let head = head(std::str::from_utf8(&bytes[16..16 + length]).unwrap());
    let mut rest = bytes[16 + length..].to_vec();
    state(&mut rest);
    let body = [&(head.len() as u32).to_le_bytes()[..], head.as_bytes(), &rest].concat();
    [b"KCFTRACK", &crc32fast::hash(&body).to_le_bytes()[..], &body].concat()
}

#[test]
fn what_was_forged_with_care_is_an_error_or_a_tracker_and_never_a_panic() {
    let clip = clip();
    for params in [Params::preset("fast").unwrap(), Params::default(), WindowParams::of(MachineKind::Kpca).into()] {
        let bytes = halfway(&params, &clip, true).snapshot();
        let same = |head: &str| head.to_owned();
        assert!(Tracker::restore(&forged(&bytes, same, |_| ())).is_ok());
        assert!(refused(&forged(&bytes, |head| head.replace("0.1.0/3", "0.0.9/2"), |_| ())).contains("0.0.9"));
        assert!(refused(&forged(&bytes, |head| head.replace("params", "parms"), |_| ())).contains("params"));
        refused(&forged(&bytes, same, |state| state.truncate(state.len() - 1)));
        refused(&forged(&bytes, same, |state| state.push(0)));
        refused(&forged(&bytes, same, |state| state[..8].copy_from_slice(&f64::NAN.to_le_bytes())));
        // A frame and boxes that no tracker has.
        for given in ["[1e300,0.0,1e300,9.0]", "[0.0,0.0,0.0,0.0]", "[-9999.0,0.0,5.0,5.0]"] {
            let moved = |head: &str| {
                let at = head.find("\"given\":").unwrap() + 8;
                let end = at + head[at..].find(']').unwrap() + 1;
                format!("{}{given}{}", &head[..at], &head[end..])
            };
            let error = Tracker::restore(&forged(&bytes, moved, |_| ())).unwrap_err();
            assert!(matches!(error, Error::Box { .. } | Error::Snapshot { .. }), "{error}");
        }
        let length = bytes.len() - 16;
        for seed in 0..60 {
            let spoiled = forged(&bytes, same, |state| {
                for k in 0..8 {
                    let at = (seed * 7919 + k * 104_729) * 31 % length.min(state.len());
                    state[at] = [0, 255, 127, 128][(seed + k) % 4];
                }
            });
            let Ok(mut tracker) = Tracker::restore(&spoiled) else { continue };
            for index in 0..3 {
                let estimate = tracker.update(frame(&clip, true, index)).unwrap();
                assert!(estimate.bbox.x.is_finite(), "{estimate:?}");
            }
        }
    }
}
