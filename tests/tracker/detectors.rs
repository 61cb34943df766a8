//! Kernel machines over real windows, as detectors and as guards of a correlation filter.

use kcf_track::kernel::Kernel;
use kcf_track::machine::{MachineKind, MachineParams, krr, svm};
use kcf_track::source::synth::{Preset, SceneParams};
use kcf_track::tracker::{GuardParams, SearchParams, WindowParams};
use kcf_track::{BBox, Error, Estimate, Evidence, Frame, FrameBuf, Params, PixelFormat, State, Tracker};

use crate::scene::{self, Clip, half_from, track};

fn detector(kind: MachineKind) -> Params {
    WindowParams::of(kind).into()
}

fn guarded(kind: MachineKind) -> Params {
    Params::default().guarded(GuardParams::of(kind))
}

/// The settings of the only machine over real windows that there is.
fn windows(params: &mut Params) -> &mut WindowParams {
    match (&mut params.search, &mut params.guard) {
        (SearchParams::Windows(windows), _) => windows,
        (_, Some(guard)) => &mut guard.windows,
        _ => panic!("there is none"),
    }
}

/// Every machine as a detector, and as a guard where it is one.
fn trackers() -> impl Iterator<Item = (String, Params)> {
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

fn sound(estimate: &Estimate, tracker: &Tracker) -> bool {
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

/// Smooth noise without a period.
fn texture(x: f64, y: f64, phase: f64) -> f64 {
    let wave = |fx: f64, fy: f64, p: f64| (fx * x + fy * y + p + phase).sin();
    128.0 + 40.0 * wave(0.31, 0.17, 0.0) + 30.0 * wave(-0.11, 0.43, 1.7) + 25.0 * wave(0.73, -0.59, 0.4)
}

const WIDTH: usize = 400;
const HEIGHT: usize = 300;

/// A textured patch with its corner at `(left, top)` on textured ground.
fn picture(left: f64, top: f64) -> FrameBuf {
    let value = |x: usize, y: usize| {
        let (x, y) = (x as f64, y as f64);
        let inside = (left..left + 32.0).contains(&x) && (top..top + 28.0).contains(&y);
        let v = if inside { texture(2.0 * (x - left), 2.0 * (y - top), 9.0) } else { texture(x / 2.0, y / 2.0, 3.0) };
        v.clamp(0.0, 255.0) as u8
    };
    let data = (0..WIDTH * HEIGHT).map(|i| value(i % WIDTH, i / WIDTH)).collect();
    FrameBuf::new(data, WIDTH, HEIGHT, PixelFormat::Gray8).unwrap()
}

/// A target that moves along, and in the frame `JUMP` is far away, beyond any search area.
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
    let alone = track(&Params::default(), frames.iter().map(Frame::from), truth[0]);
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
                // In the wrong place nothing is claimed.
                assert_ne!(estimate.state, State::Tracking, "{kind}, frame {t}");
            }
        }
        let found = found.unwrap_or_else(|| panic!("{kind}: never found again: {states:?}"));
        assert!(found > JUMP + 2 && states[JUMP + 2..found].contains(&State::Lost), "{kind}: {states:?}");
        assert_eq!(states[59], State::Tracking, "{kind}");
    }
}

/// A machine over real windows adapts to nothing that it does not recognise, and reaches no farther than its search
/// area: a guard does.
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
    // The decision is the guard's, the peak the detector's own.
    assert!(estimates.iter().any(|estimate| estimate.evidence.decision != Some(estimate.evidence.peak)));
}

/// Whatever the filter is: gray or HOG, of whole or of part cells, of one size or another.
#[test]
fn a_guard_puts_any_filter_where_the_target_is() {
    for (name, params) in scene::presets() {
        // At half size a cell is a quarter of this target: the filter then does not see it move by a pixel.
        for (half_size_from, speed) in [(100.0, 1.0), (20.0, 0.0)] {
            let (frames, truth) = jumping(50, speed);
            let params = half_from(&params, half_size_from).guarded(GuardParams::of(MachineKind::Klda));
            let boxes = track(&params, frames.iter().map(Frame::from), truth[0]);
            let overlaps = boxes[45..].iter().zip(&truth[45..]).map(|(b, truth)| b.overlap(truth));
            let least = overlaps.fold(1.0, f64::min);
            assert!(least > 0.6, "{name}, half size from {half_size_from}: {least}");
        }
    }
}

#[test]
fn without_tiles_a_guard_searches_nearby_only() {
    let (frames, truth) = jumping(50, 1.0);
    let params = Params::default().guarded(GuardParams { tiles: 0, ..GuardParams::of(MachineKind::Klda) });
    let boxes = track(&params, frames.iter().map(Frame::from), truth[0]);
    assert!(boxes[JUMP..].iter().zip(&truth[JUMP..]).all(|(b, truth)| b.overlap(truth) < 0.1));
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
fn settings_are_written_and_read_back() {
    for (_, mut params) in trackers() {
        *windows(&mut params) = WindowParams {
            kernel: Kernel::Polynomial { a: 0.5, b: 3 },
            gate: 0.4,
            positives: 7,
            channels: 31,
            prior: 0.25,
            lost: -0.5,
            ..WindowParams::of(MachineKind::Svm)
        };
        windows(&mut params).machine = MachineParams::Svm(svm::Params { c: 3.5, ..svm::Params::default() });
        if let Some(guard) = &mut params.guard {
            (guard.belief, guard.tiles) = (0.2, 5);
        }
        let text = serde_json::to_string(&params).unwrap();
        assert_eq!(serde_json::from_str::<Params>(&text).unwrap(), params, "{text}");
    }
    let mut unknown = serde_json::to_value(WindowParams::of(MachineKind::Svm)).unwrap();
    unknown["positive"] = 3.into();
    assert!(serde_json::from_value::<WindowParams>(unknown).unwrap_err().to_string().contains("positive"));
}

fn refused(params: Params) -> (&'static str, String) {
    match Tracker::new(params) {
        Err(error @ Error::Parameter { name, .. }) => (name, error.to_string()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_bad_value_is_named() {
    let bad = |change: fn(&mut WindowParams)| {
        let mut params = detector(MachineKind::Svm);
        change(windows(&mut params));
        refused(params).0
    };
    assert_eq!(bad(|p| p.kernel = Kernel::Gaussian { sigma: 0.0 }), "search.windows.kernel.gaussian.sigma");
    assert_eq!(bad(|p| p.kernel = Kernel::Polynomial { a: -1.0, b: 2 }), "search.windows.kernel.polynomial.a");
    assert_eq!(bad(|p| p.template_size = 7.9), "search.windows.template-size");
    assert_eq!(bad(|p| p.context = -0.1), "search.windows.context");
    assert_eq!(bad(|p| p.reach = f64::NAN), "search.windows.reach");
    assert_eq!(bad(|p| p.prior = 1.1), "search.windows.prior");
    assert_eq!(bad(|p| p.sample_share = 1.0), "search.windows.sample-share");
    assert_eq!(bad(|p| p.gate = f64::INFINITY), "search.windows.gate");
    assert_eq!(bad(|p| p.every = 0), "search.windows.every");
    assert_eq!(bad(|p| p.positives = 0), "search.windows.positives");
    assert_eq!(bad(|p| p.negatives = 257), "search.windows.negatives");
    assert_eq!(bad(|p| p.hard_negatives = 33), "search.windows.hard-negatives");
    assert_eq!(bad(|p| p.lost = f64::NAN), "search.windows.lost");
    for channels in [0, 16, 30, 32] {
        let windows = WindowParams { channels, ..WindowParams::of(MachineKind::Svm) };
        assert_eq!(refused(windows.into()).0, "search.windows.channels");
    }
    let guard = |change: fn(&mut GuardParams)| {
        let mut guard = GuardParams::of(MachineKind::Krr);
        change(&mut guard);
        refused(Params::default().guarded(guard)).0
    };
    assert_eq!(guard(|p| p.doubt = f64::NAN), "guard.doubt");
    assert_eq!(guard(|p| p.belief = 101.0), "guard.belief");
    assert_eq!(guard(|p| p.margin = -0.1), "guard.margin");
    assert_eq!(guard(|p| p.far = f64::NAN), "guard.far");
    assert_eq!(guard(|p| p.patience = 0), "guard.patience");
    assert_eq!(guard(|p| p.tiles = 1001), "guard.tiles");
    assert_eq!(guard(|p| p.relearn = 1.5), "guard.relearn");

    for kind in [MachineKind::Kpca, MachineKind::Kdspe] {
        assert_eq!(refused(guarded(kind)).0, "guard");
    }
}

#[test]
fn settings_of_a_machine_are_named() {
    let mut params = detector(MachineKind::Svm);
    windows(&mut params).machine = MachineParams::Svm(svm::Params { c: -1.0, ..svm::Params::default() });
    let (name, text) = refused(params);
    assert!(name == "search.windows.machine.svm.c" && text.contains("from 1e-9"), "{text}");
}

#[test]
fn learning_waits_for_the_gate_and_for_its_turn() {
    let clip = small(12);
    let decisions = |gate: f64, every: usize| -> Vec<f32> {
        let windows = WindowParams { gate, every, ..WindowParams::of(MachineKind::Klda) };
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
