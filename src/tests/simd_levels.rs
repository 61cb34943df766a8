//! Boxes, scores and responses are the same bits with the widest vector instructions of this CPU and with those that
//! every CPU has.

use std::sync::{Mutex, PoisonError};

use crate::machines::MachineKind;
use crate::simd::{SimdLevel, set_ceiling};
use crate::synth::{Preset, SceneParams};
use crate::tracker::{GuardParams, WindowParams};
use crate::{BBox, Estimate, Evidence, Frame, Params, Tracker};

use super::scene::Clip;

/// FNV-1a over the bits of all that an estimate and the response say.
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

/// The ceiling is the whole process's: the tests of this file take turns. No other one sees a difference.
static CEILING: Mutex<()> = Mutex::new(());

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

fn compare<'f, I: IntoIterator<Item = Frame<'f>>>(what: &str, params: &Params, frames: impl Fn() -> I, initial: BBox) {
    let _turn = CEILING.lock().unwrap_or_else(PoisonError::into_inner);
    let track_at = |level| {
        set_ceiling(level);
        track(params, frames(), initial)
    };
    let narrow = track_at(SimdLevel::Baseline);
    assert!(narrow.len() > 1 && narrow.windows(2).any(|pair| pair[0] != pair[1]), "{what}: nothing was tracked");
    for level in [SimdLevel::Avx2, SimdLevel::Best] {
        let wide = track_at(level);
        let first = narrow.iter().zip(&wide).position(|(a, b)| a != b);
        assert_eq!(first, None, "{what}: at {level} the first estimate that differs from the baseline's");
        assert_eq!(narrow.len(), wide.len());
    }
}

#[test]
fn rendered_scenes_on_every_level() {
    let clip = Clip::render(SceneParams { frames: 40, ..Preset::Medium.params() });
    let large = BBox::new(60.0, 40.0, 121.0, 103.0);
    for (name, _) in Params::PRESETS {
        let params = Params::preset(name).unwrap();
        for initial in [clip.initial(), large] {
            let frames = || (0..clip.gray.len()).map(|i| clip.gray(i));
            compare(&format!("{name}, {initial}"), &params, frames, initial);
        }
    }
}

#[test]
fn machines_over_real_windows_on_every_level() {
    let clip = Clip::render(SceneParams { frames: 14, ..Preset::Medium.params() });
    let frames = || (0..clip.gray.len()).map(|i| clip.gray(i));
    for &kind in MachineKind::ALL {
        for channels in [8, 31] {
            let params = Params::from(WindowParams { channels, ..WindowParams::of(kind) });
            compare(&format!("{kind}, {channels} channels"), &params, frames, clip.initial());
        }
    }
    for kind in MachineKind::all_guards() {
        // It doubts whatever it sees, so that it searches the whole frame as well.
        let doubtful = GuardParams { uncertain_below: 2.0, ..GuardParams::of(kind) };
        for guard in [GuardParams::of(kind), doubtful] {
            let params = Params::paper().guarded(guard);
            compare(&format!("guard {kind}"), &params, frames, clip.initial());
        }
    }
}
