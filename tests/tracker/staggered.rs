//! Targets that do what costs most in frames of their own: a tracker leaves it out in the others, and only there.

use allocation_counter::measure;
use kcf_track::synth::SceneParams;
use kcf_track::tracker::Stagger;
use kcf_track::{Params, Tracker};

use crate::scene::{Clip, presets};

const FRAMES: usize = 17;

/// A target that moves and grows.
fn clip() -> Clip {
    Clip::render(SceneParams { frames: FRAMES, width: 160, height: 120, scale: 0.3, ..SceneParams::default() })
}

/// A tracker of these settings behind the first frame.
fn begun(params: &Params, clip: &Clip) -> Tracker {
    let mut tracker = Tracker::new(params.clone()).unwrap();
    tracker.init(clip.gray(0), clip.initial()).unwrap();
    tracker
}

/// All that it has learned after the clip, staggered in each frame as `stagger` says.
fn learned(params: &Params, clip: &Clip, stagger: impl Fn(usize) -> Option<Stagger>) -> Vec<u8> {
    let mut tracker = begun(params, clip);
    for index in 1..FRAMES {
        let frame = clip.gray(index);
        match stagger(index) {
            Some(stagger) => tracker.update_staggered(frame, stagger).unwrap(),
            None => tracker.update(frame).unwrap(),
        };
    }
    tracker.snapshot()
}

#[test]
fn a_stagger_ends_with_its_frame() {
    let clip = clip();
    for (name, params) in presets() {
        let once = |index| (index == 1).then_some(Stagger::of(1, 8, index));
        let then_alone = |index| once(index).or(Some(Stagger::ALONE));
        assert!(learned(&params, &clip, once) == learned(&params, &clip, then_alone), "{name}");
        let alone = learned(&params, &clip, |_| None);
        for count in [1, 2] {
            assert!(learned(&params, &clip, |index| Some(Stagger::of(1, count, index))) == alone, "{name}, {count}");
        }
        assert!(learned(&params, &clip, |index| Some(Stagger::of(1, 8, index))) != alone, "{name}");
    }
}

#[test]
fn a_snapshot_between_two_frames_changes_nothing() {
    let clip = clip();
    for preset in ["fast", "robust"] {
        let params = Params::preset(preset).unwrap();
        let mut tracker = begun(&params, &clip);
        for index in 1..FRAMES {
            tracker.update_staggered(clip.gray(index), Stagger::of(3, 8, index)).unwrap();
            tracker = Tracker::restore(&tracker.snapshot()).unwrap();
        }
        assert!(tracker.snapshot() == learned(&params, &clip, |index| Some(Stagger::of(3, 8, index))), "{preset}");
    }
}

#[test]
fn a_staggered_update_allocates_nothing() {
    let clip = clip();
    for preset in ["fast", "robust"] {
        let mut tracker = begun(&Params::preset(preset).unwrap(), &clip);
        for index in 1..FRAMES {
            let frame = clip.gray(index);
            let used = measure(|| {
                tracker.update_staggered(frame, Stagger::of(3, 8, index)).unwrap();
            });
            assert_eq!(used.count_total, 0, "{preset}, frame {index}: {used:?}");
        }
    }
}
