//! Kernel machines as detectors, and as guards of a correlation filter.

use kcf_track::kernels::Kernel;
use kcf_track::machines::MachineKind;
use kcf_track::synth::{Preset, SceneParams};
use kcf_track::tracker::{GuardParams, SearchParams, WindowParams};
use kcf_track::{Error, Estimate, Evidence, Frame, Params, State, Tracker};

use crate::scene::{Clip, track};

pub fn detector(kind: MachineKind) -> Params {
    WindowParams::of(kind).into()
}

pub fn guarded(kind: MachineKind) -> Params {
    Params::paper().guarded(GuardParams::of(kind))
}

/// The settings of the machine.
pub fn windows(params: &mut Params) -> &mut WindowParams {
    match (&mut params.search, &mut params.guard) {
        (SearchParams::Machine(search), _) => &mut search.windows,
        (_, Some(guard)) => &mut guard.windows,
        _ => panic!("no machine"),
    }
}

/// Every machine as a detector, and as a guard if it can be one.
pub fn trackers() -> impl Iterator<Item = (String, Params)> {
    let detectors = MachineKind::ALL.iter().map(|&kind| (kind.to_string(), detector(kind)));
    detectors.chain(MachineKind::all_guards().map(|kind| (format!("guard {kind}"), guarded(kind))))
}

fn small(frames: usize) -> Clip {
    let easy = Preset::Easy.params();
    Clip::render(SceneParams { frames, width: 200, height: 150, target_width: 30, target_height: 40, ..easy })
}

fn frames(clip: &Clip) -> impl Iterator<Item = Frame<'_>> {
    (0..clip.gray.len()).map(|i| clip.gray(i))
}

pub fn sound(estimate: &Estimate, tracker: &Tracker) -> bool {
    let Evidence { peak, psr, apce, .. } = estimate.evidence;
    estimate.bbox.is_valid()
        && [peak, psr, apce].iter().all(|v| v.is_finite())
        && tracker.response().is_some_and(|response| response.values.iter().all(|v| v.is_finite()))
}

#[test]
fn every_machine_follows_a_target() {
    let clip = small(50);
    for (name, params) in trackers() {
        let boxes = track(&params, frames(&clip), clip.initial());
        let overlap = boxes.iter().zip(&clip.truth).map(|(b, truth)| b.overlap(truth)).sum::<f64>() / 50.0;
        assert!(overlap > 0.7, "{name}: mean overlap {overlap}");
        // The target moves.
        assert!(clip.truth[0].center_error(&clip.truth[49]) > 10.0);
    }
}

#[test]
fn black_frames_are_lost_and_not_learned() {
    let clip = small(12);
    let black = vec![0; clip.gray[0].len()];
    for (name, params) in trackers() {
        let (mut seeing, mut blinking) = (Tracker::new(params.clone()).unwrap(), Tracker::new(params).unwrap());
        seeing.init(clip.gray(0), clip.initial()).unwrap();
        blinking.init(clip.gray(0), clip.initial()).unwrap();
        for i in 1..12 {
            if i == 6 {
                let before = blinking.bbox().unwrap();
                for _ in 0..7 {
                    let estimate = blinking.update(Frame::gray(&black, clip.width, clip.height).unwrap()).unwrap();
                    assert_eq!((estimate.state, estimate.bbox), (State::Lost, before), "{name}");
                    assert!(sound(&estimate, &blinking), "{name}");
                }
            }
            let expected = seeing.update(clip.gray(i)).unwrap();
            let found = blinking.update(clip.gray(i)).unwrap();
            assert_eq!((found.bbox, found.evidence.peak), (expected.bbox, expected.evidence.peak), "{name}, frame {i}");
            assert_eq!(found.state, expected.state, "{name}, frame {i}");
            assert_eq!(found.state, State::Tracking, "{name}, frame {i}");
        }
        let uniform = Frame::gray(&black, clip.width, clip.height).unwrap();
        assert!(matches!(blinking.init(uniform, clip.initial()), Err(Error::Box { .. })), "{name}");
    }
}

#[test]
fn parameters_at_their_limits_give_numbers() {
    let clip = small(8);
    type Change = fn(&mut WindowParams);
    let limits: [(&str, Change); 14] = [
        ("context 0", |p| p.context = 0.0),
        ("context 5", |p| p.context = 5.0),
        ("reach 0", |p| p.reach = 0.0),
        ("reach 8", |p| p.reach = 8.0),
        ("prior 0", |p| p.prior = 0.0),
        ("prior 1", |p| p.prior = 1.0),
        ("share 0", |p| p.sample_share = 0.0),
        ("share 0.999", |p| p.sample_share = 0.999),
        ("one of each", |p| (p.positives, p.negatives) = (1, 1)),
        ("many", |p| (p.positives, p.negatives) = (30, 60)),
        ("no hard negatives", |p| p.hard_negatives = 0),
        ("one channel", |p| p.channels = 1),
        ("narrow", |p| p.kernel = Kernel::Gaussian { sigma: 1e-6 }),
        ("wide", |p| p.kernel = Kernel::Gaussian { sigma: 1e6 }),
    ];
    for (name, params) in trackers() {
        for (limit, change) in limits {
            let mut params = params.clone();
            change(windows(&mut params));
            windows(&mut params).gate = -100.0;
            let mut tracker = Tracker::new(params).unwrap();
            let first = tracker.init(clip.gray(0), clip.initial()).unwrap_or_else(|e| panic!("{name}, {limit}: {e}"));
            assert!(sound(&first, &tracker), "{name}, {limit}");
            for i in 1..8 {
                let next = tracker.update(clip.gray(i)).unwrap_or_else(|e| panic!("{name}, {limit}, frame {i}: {e}"));
                assert!(sound(&next, &tracker), "{name}, {limit}, frame {i}");
            }
        }
    }
}

/// No window is far enough from the target to be background.
#[test]
fn a_search_area_without_background_is_refused() {
    let clip = Clip::render(SceneParams { frames: 1, target_width: 120, target_height: 100, ..Preset::Easy.params() });
    for mut params in [detector(MachineKind::Svm), guarded(MachineKind::Klda)] {
        (windows(&mut params).reach, windows(&mut params).template_size) = (0.0, 100.0);
        let mut tracker = Tracker::new(params).unwrap();
        let said = tracker.init(clip.gray(0), clip.initial()).unwrap_err();
        assert!(matches!(said, Error::Box { .. }) && said.to_string().contains("larger reach"), "{said}");
    }
}

#[test]
fn learns_only_above_the_gate_and_at_the_interval() {
    let clip = small(12);
    let decisions = |gate: f64, every: usize| -> Vec<f32> {
        let windows = WindowParams { gate, interval: every, ..WindowParams::of(MachineKind::Klda) };
        let mut tracker = Tracker::new(windows.into()).unwrap();
        tracker.init(clip.gray(0), clip.initial()).unwrap();
        (1..12).map(|i| tracker.update(clip.gray(i)).unwrap().evidence.peak).collect()
    };
    let (never, always) = (decisions(100.0, 1), decisions(0.2, 1));
    assert_eq!(decisions(0.2, 1000), never);
    let third = decisions(0.2, 3);
    // Only the third frame is learned.
    assert_eq!(third[..3], never[..3]);
    assert!(third[3] != never[3] && third[3] != always[3] && always[1] != never[1], "{never:?} {always:?} {third:?}");
}
