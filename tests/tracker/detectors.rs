//! Kernel machines over real windows, as detectors and as guards of a correlation filter.

use kcf_track::kernels::Kernel;
use kcf_track::machines::{MachineKind, MachineParams, krr};
use kcf_track::synth::{Preset, SceneParams};
use kcf_track::tracker::{GuardParams, SearchParams, WindowParams};
use kcf_track::{BBox, Error, Estimate, Evidence, Frame, FrameBuf, Params, PixelFormat, State, Tracker};

use crate::scene::{Clip, track};

pub fn detector(kind: MachineKind) -> Params {
    WindowParams::of(kind).into()
}

pub fn guarded(kind: MachineKind) -> Params {
    Params::paper().guarded(GuardParams::of(kind))
}

/// The settings of the only machine over real windows that there is.
pub fn windows(params: &mut Params) -> &mut WindowParams {
    match (&mut params.search, &mut params.guard) {
        (SearchParams::Machine(search), _) => &mut search.windows,
        (_, Some(guard)) => &mut guard.windows,
        _ => panic!("there is none"),
    }
}

/// Every machine as a detector, and as a guard where it is one.
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
        // It did move.
        assert!(clip.truth[0].center_error(&clip.truth[49]) > 10.0);
    }
}

/// Targets of more than the template's size are looked at more coarsely.
#[test]
fn large_targets_are_followed_as_well() {
    let easy = Preset::Easy.params();
    let clip = Clip::render(SceneParams { frames: 20, target_width: 120, target_height: 100, ..easy });
    for (name, params) in [("svm", detector(MachineKind::Svm)), ("guard", guarded(MachineKind::Klda))] {
        let boxes = track(&params, frames(&clip), clip.initial());
        let overlap = boxes.iter().zip(&clip.truth).map(|(b, truth)| b.overlap(truth)).sum::<f64>() / 20.0;
        assert!(overlap > 0.8, "{name}: mean overlap {overlap}");
    }
}

#[test]
fn all_kernels_and_all_numbers_of_channels_follow_a_target() {
    let clip = small(15);
    let kernels = [Kernel::Gaussian { sigma: 0.4 }, Kernel::Polynomial { a: 1.0, b: 3 }, Kernel::Linear];
    for kernel in kernels {
        for channels in [6, 15, 31] {
            let params = Params::from(WindowParams { kernel, channels, ..WindowParams::of(MachineKind::Klda) });
            let boxes = track(&params, frames(&clip), clip.initial());
            let overlap = boxes.last().unwrap().overlap(&clip.truth[14]);
            assert!(overlap > 0.6, "{kernel:?}, {channels} channels: {overlap}");
        }
    }
}

#[test]
fn colour_and_gray_frames_give_the_same_boxes() {
    let clip = small(12);
    for (name, params) in trackers() {
        let gray = track(&params, frames(&clip), clip.initial());
        let colour = track(&params, clip.colour.iter().map(|frame| Frame::try_from(frame).unwrap()), clip.initial());
        assert_eq!(gray, colour, "{name}");
    }
}

#[test]
fn a_frame_of_another_size_is_refused_and_changes_nothing() {
    let clip = small(6);
    for (name, params) in trackers() {
        let expected = track(&params, frames(&clip), clip.initial());
        let mut tracker = Tracker::new(params).unwrap();
        tracker.init(clip.gray(0), clip.initial()).unwrap();
        for (i, expected) in expected.iter().enumerate().skip(1) {
            let other = vec![90; 100 * 120];
            match tracker.update(Frame::gray(&other, 100, 120).unwrap()) {
                Err(Error::FrameSize { expected, got }) => assert_eq!((expected, got), ((200, 150), (100, 120))),
                unexpected => panic!("{name}: {unexpected:?}"),
            }
            assert_eq!(tracker.update(clip.gray(i)).unwrap().bbox, *expected, "{name}, frame {i}");
        }
    }
}

#[test]
fn black_frames_are_lost_and_teach_nothing() {
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

/// Texture of every size that does not repeat.
fn noise(x: usize, y: usize) -> u8 {
    let hash = (x as u64 * 0x9E37_79B9 + y as u64 * 0x85EB_CA6B).wrapping_mul(0x2545_F491_4F6C_DD1D);
    (hash >> 56) as u8
}

#[test]
fn boxes_at_the_edge_of_sense_are_followed_or_refused() {
    let data = (0..120 * 90).map(|i| noise(i % 120, i / 120)).collect();
    let frame = FrameBuf::new(data, 120, 90, PixelFormat::Gray8).unwrap();
    let nan = f64::NAN;
    for (name, params) in trackers() {
        for [x, y, w, h] in [
            [10.0, 10.0, 0.0, 20.0],
            [nan, 10.0, 20.0, 20.0],
            [120.0, 10.0, 20.0, 20.0],
            [10.0, -20.0, 20.0, 20.0],
            [-1e300, -1e300, 2e300, 2e300],
            [0.0, 0.0, 1e12, 1e12],
            [10.0, 10.0, 1e-3, 1e-3],
        ] {
            let mut tracker = Tracker::new(params.clone()).unwrap();
            match tracker.init(&frame, BBox::new(x, y, w, h)) {
                Err(Error::Box { reason, .. }) => assert!(reason.len() > 10),
                other => panic!("{name}: {other:?}"),
            }
            assert_eq!(tracker.bbox(), None);
        }
        for [x, y, w, h] in [
            [50.0, 50.0, 1.0, 1.0],
            [50.0, -100.0, 2.0, 300.0],
            [-90.0, 40.0, 300.0, 2.0],
            [0.0, 0.0, 120.0, 90.0],
            [-50.0, -50.0, 400.0, 400.0],
            [-10.0, 10.0, 20.0, 20.0],
            [119.0, 89.0, 20.0, 20.0],
            [20.3, 30.7, 24.6, 18.2],
        ] {
            let bbox = BBox::new(x, y, w, h);
            let mut tracker = Tracker::new(params.clone()).unwrap();
            let first = tracker.init(&frame, bbox).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(sound(&first, &tracker) && first.bbox == bbox && first.state == State::Initial, "{name} {bbox}");
            for _ in 0..3 {
                let next = tracker.update(&frame).unwrap();
                assert!(sound(&next, &tracker), "{name} {bbox}: {next:?}");
                assert_eq!((next.bbox.w, next.bbox.h), (w, h));
            }
        }
        // A search area that no memory holds.
        let mut tracker = Tracker::new(params).unwrap();
        match tracker.init(&frame, BBox::new(50.0, -8000.0, 1.0, 16_000.0)) {
            Err(Error::Box { .. }) | Ok(_) => {}
            Err(other) => panic!("{name}: {other}"),
        }
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

/// Nothing but the target and what is close to it: no window that could be background.
#[test]
fn a_search_area_without_background_is_said_to_be_one() {
    let clip = Clip::render(SceneParams { frames: 1, target_width: 120, target_height: 100, ..Preset::Easy.params() });
    for mut params in [detector(MachineKind::Svm), guarded(MachineKind::Klda)] {
        (windows(&mut params).reach, windows(&mut params).template_size) = (0.0, 100.0);
        let mut tracker = Tracker::new(params).unwrap();
        let said = tracker.init(clip.gray(0), clip.initial()).unwrap_err();
        assert!(matches!(said, Error::Box { .. }) && said.to_string().contains("larger reach"), "{said}");
    }
}

#[test]
fn learning_waits_for_the_gate_and_for_its_turn() {
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
    // The machine of the first frame sees three more; the third of them is learned from.
    assert_eq!(third[..3], never[..3]);
    assert!(third[3] != never[3] && third[3] != always[3] && always[1] != never[1], "{never:?} {always:?} {third:?}");
}

#[test]
fn settings_of_a_machine_are_used() {
    let clip = small(5);
    let peaks = |machine: krr::Params| -> Vec<f32> {
        let machine = MachineParams::Krr(machine);
        let mut tracker = Tracker::new(WindowParams { machine, ..WindowParams::of(MachineKind::Krr) }.into()).unwrap();
        tracker.init(clip.gray(0), clip.initial()).unwrap();
        (1..5).map(|i| tracker.update(clip.gray(i)).unwrap().evidence.peak).collect()
    };
    let (plain, smooth) = (peaks(krr::Params::default()), peaks(krr::Params { lambda: 10.0, bias: true }));
    assert!(plain.iter().zip(&smooth).all(|(plain, smooth)| plain > smooth), "{plain:?} {smooth:?}");
}
