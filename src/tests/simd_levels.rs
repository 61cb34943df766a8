//! Boxes, scores and responses have the same bits at every SIMD width.

use crate::machines::MachineKind;
use crate::simd::tests::assert_same_on_all_levels;
use crate::synth::{Preset, SceneParams};
use crate::tracker::{GuardParams, WindowParams};
use crate::{BBox, Estimate, Evidence, Frame, Params, Tracker};

use super::scene::Clip;

/// FNV-1a over the bits of an estimate and its response.
fn add(sum: &mut u64, estimate: &Estimate, tracker: &Tracker) {
    let numbers = <[f64; 4]>::from(estimate.bbox).map(f64::to_bits);
    let Evidence { peak, psr, apce, decision, .. } = estimate.evidence;
    let scores = [peak, psr, apce, decision.unwrap_or(f32::NAN)].map(|v| u64::from(v.to_bits()));
    let response = tracker.response().unwrap();
    let response = response.values.iter().map(|v| u64::from(v.to_bits()));
    for word in numbers.into_iter().chain(scores).chain(response).chain([estimate.state as u64]) {
        *sum = (*sum ^ word).wrapping_mul(0x0000_0100_0000_01b3);
    }
}

/// A checksum after each frame.
fn track<'f>(params: &Params, frames: impl IntoIterator<Item = Frame<'f>>, initial: BBox) -> Vec<u64> {
    let mut tracker = Tracker::new(params.clone()).unwrap();
    let mut frames = frames.into_iter();
    let mut sum = 0xcbf2_9ce4_8422_2325;
    add(&mut sum, &tracker.init(frames.next().unwrap(), initial).unwrap(), &tracker);
    let sums = frames.map(|frame| {
        add(&mut sum, &tracker.update(frame).unwrap(), &tracker);
        sum
    });
    sums.collect()
}

fn compare(what: &str, params: &Params, clip: &Clip, initial: BBox) {
    assert_same_on_all_levels(what, || {
        let sums = track(params, (0..clip.gray.len()).map(|i| clip.gray(i)), initial);
        assert!(sums.windows(2).any(|pair| pair[0] != pair[1]), "{what}: nothing changes");
        sums
    });
}

#[test]
fn rendered_scenes_on_every_level() {
    let clip = Clip::render(SceneParams { frames: 10, ..Preset::Medium.params() });
    let large = BBox::new(60.0, 40.0, 121.0, 103.0);
    for (name, _) in Params::PRESETS {
        let params = Params::preset(name).unwrap();
        for initial in [clip.initial(), large] {
            compare(&format!("{name}, {initial}"), &params, &clip, initial);
        }
    }
}

#[test]
fn machines_over_real_windows_on_every_level() {
    let clip = Clip::render(SceneParams { frames: 10, ..Preset::Medium.params() });
    for &kind in MachineKind::ALL {
        for channels in [8, 31] {
            let params = Params::from(WindowParams { channels, ..WindowParams::of(kind) });
            compare(&format!("{kind}, {channels} channels"), &params, &clip, clip.initial());
        }
    }
    for kind in MachineKind::all_guards() {
        // This guard is always in doubt, so it searches the whole frame too.
        let doubtful = GuardParams { uncertain_below: 2.0, ..GuardParams::of(kind) };
        for guard in [GuardParams::of(kind), doubtful] {
            let params = Params::paper().guarded(guard);
            compare(&format!("guard {kind}"), &params, &clip, clip.initial());
        }
    }
}
