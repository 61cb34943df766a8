//! The localizer on rendered frames, and on input that nobody would give it.

use super::*;
use crate::frame::luma;
use crate::tracker::Params;
use crate::tracker::params::{IdentityMachineParams, RotationFilterParams, SearchParams};

const WIDTH: usize = 220;
const HEIGHT: usize = 180;

/// A frame with a target of 30 x 24 pixels times `scale` around `center`, turned by `angle`, in front of a quiet
/// texture.
fn frame(center: (f64, f64), scale: f64, angle: f64) -> Vec<u8> {
    let (sin, cos) = angle.sin_cos();
    let mut pixels = Vec::with_capacity(3 * WIDTH * HEIGHT);
    for i in 0..WIDTH * HEIGHT {
        let (x, y) = ((i % WIDTH) as f64 + 0.5, (i / WIDTH) as f64 + 0.5);
        let (dx, dy) = (x - center.0, y - center.1);
        let (u, v) = ((cos * dx + sin * dy) / scale, (cos * dy - sin * dx) / scale);
        if u.abs() <= 15.0 && v.abs() <= 12.0 {
            // Nowhere the same twice.
            let stripe =
                40.0 * (0.55 * u + 0.2 * v).sin() * (0.4 * v - 0.1 * u).cos() + 35.0 * (0.06 * u * v + v / 5.0).sin();
            pixels.extend([180.0 + stripe, 90.0 + 0.7 * stripe, 60.0 - 0.5 * stripe].map(|v| v as u8));
        } else {
            let wave = 30.0 * (0.13 * x + 0.05 * y).sin() + 25.0 * (0.21 * y - 0.03 * x).cos();
            pixels.extend([90.0 + wave, 120.0 + wave, 140.0 - wave].map(|v| v as u8));
        }
    }
    pixels
}

fn gray_of(rgb: &[u8]) -> Vec<u8> {
    rgb.as_chunks::<3>().0.iter().map(|p| luma(p[0], p[1], p[2])).collect()
}

fn view(rgb: &[u8]) -> Frame<'_> {
    Frame::rgb(rgb, WIDTH, HEIGHT).unwrap()
}

/// A localizer in its loop.
struct Run {
    search: BackgroundLocalizer,
    pose: Pose,
}

impl Run {
    fn new(params: &BackgroundParams, frame: &Frame<'_>, bbox: BBox) -> Self {
        let search = BackgroundLocalizer::new(params, frame, bbox, 0).unwrap();
        Self { pose: Pose::of(bbox), search }
    }

    fn step(&mut self, frame: &Frame<'_>) -> Located {
        let located = self.look(frame);
        self.pose = located.pose;
        if located.seen {
            self.learn(frame, &located, Update::Usual);
        }
        located
    }

    fn look(&mut self, frame: &Frame<'_>) -> Located {
        self.search.locate(frame, self.pose, Extent::Pose)
    }

    fn learn(&mut self, frame: &Frame<'_>, located: &Located, update: Update) {
        if located.likeness == Likeness::Certain {
            self.search.snapshot(located.pose);
        }
        self.search.learn(frame, located, update);
    }

    fn bbox(&self) -> BBox {
        self.pose.bbox(self.search.size)
    }
}

const BOX: BBox = BBox::new(65.0, 58.0, 30.0, 24.0);

fn turning() -> BackgroundParams {
    BackgroundParams { rotation: RotationParams::Filter(RotationFilterParams::default()), ..Default::default() }
}

/// A target of one size and angle.
fn plain() -> BackgroundParams {
    BackgroundParams { scale: ScaleParams::None, rotation: RotationParams::None, ..Default::default() }
}

/// Place, scale and angle of the target in frame `i`.
fn path(i: usize, turns: bool) -> ((f64, f64), f64, f64) {
    let t = i as f64;
    ((80.0 + 1.6 * t, 70.0 + 12.0 * (0.12 * t).sin()), 1.012f64.powf(t), if turns { 0.03 * t } else { 0.0 })
}

#[test]
fn a_target_that_moves_and_grows_is_followed_in_colour_and_in_gray() {
    for gray in [false, true] {
        let params = BackgroundParams::default();
        let first = frame(path(0, false).0, 1.0, 0.0);
        let plain = gray_of(&first);
        let first = if gray { Frame::gray(&plain, WIDTH, HEIGHT).unwrap() } else { view(&first) };
        let mut run = Run::new(&params, &first, BOX);
        for i in 1..50 {
            let (center, scale, _) = path(i, false);
            let rgb = frame(center, scale, 0.0);
            let plain = gray_of(&rgb);
            let now = if gray { Frame::gray(&plain, WIDTH, HEIGHT).unwrap() } else { view(&rgb) };
            let found = run.step(&now);
            let (w, h) = (30.0 * scale, 24.0 * scale);
            let truth = BBox::new(center.0 - w / 2.0, center.1 - h / 2.0, w, h);
            let overlap = run.bbox().overlap(&truth);
            assert!(overlap > 0.7, "gray: {gray}, frame {i}: {overlap}");
            assert!(found.seen && found.evidence.peak > 0.2 && found.evidence.psr > 5.0, "{found:?}");
            assert!(found.probability > Some(params.confidence.found_from));
        }
    }
}

/// Gray frames use no colours, neither to find the target nor to learn.
#[test]
fn colours_have_no_say_in_gray_frames() {
    let first = grown(1.0);
    let without_color: Vec<_> = gray_of(&first).into_iter().flat_map(|gray| [gray; 3]).collect();
    let of_target = |run: &Run| {
        [&first, &without_color].map(|rgb| run.search.clone().score_at(&view(rgb), Pose::of(BOX)).evidence.color)
    };
    let [mut with, mut without] = [BackgroundParams::default().color_weight, 0.0]
        .map(|color_weight| run(&BackgroundParams { color_weight, ..plain() }));
    let before = of_target(&with);
    assert!(before[0] > Some(0.5) && of_target(&without) == [None; 2], "{before:?}");
    for i in 1..8 {
        let gray = gray_of(&frame(path(i, false).0, 1.0, 0.0));
        let gray = Frame::gray(&gray, WIDTH, HEIGHT).unwrap();
        assert_eq!((with.step(&gray).evidence, with.pose), (without.step(&gray).evidence, without.pose), "{i}");
    }
    assert_eq!(of_target(&with), before);
}

#[test]
fn a_target_that_turns_is_followed_in_its_angle() {
    let first = frame(path(0, true).0, 1.0, 0.0);
    let mut run = Run::new(&turning(), &view(&first), BOX);
    for i in 1..50 {
        let (center, scale, angle) = path(i, true);
        run.step(&view(&frame(center, scale, angle)));
        let Pose { center: (x, y), .. } = run.pose;
        assert!((x - center.0).hypot(y - center.1) < 5.0, "frame {i}: {:?}", run.pose);
    }
    let angle = path(49, true).2;
    assert!((run.pose.angle - angle).abs() < 0.3, "{} for {angle}", run.pose.angle);

    // The highest element of the turned map lies at the target, here 10 pixels to the right.
    let ((x, y), scale, angle) = path(49, true);
    run.step(&view(&frame((x + 10.0, y), scale, angle)));
    let map = run.search.response();
    let (place, _) = map.values.indexed_iter().max_by(|a, b| a.1.total_cmp(b.1)).unwrap();
    let motion = map.motion(place);
    let at = (map.center.0 + motion.0, map.center.1 + motion.1);
    assert!(motion.0 > 5.0 && motion.0 > 2.0 * motion.1.abs(), "{motion:?}, turned by {}", map.angle);
    assert!((at.0 - x - 10.0).hypot(at.1 - y) < 6.0, "{at:?} for {x}, {y}");
}

#[test]
fn evidence_and_answers_are_of_the_place_that_is_said() {
    let mut run = Run::new(&BackgroundParams::default(), &view(&frame((80.0, 70.0), 1.0, 0.0)), BOX);
    let moved = frame((90.0, 65.0), 1.0, 0.0);
    let found = run.search.locate(&view(&moved), run.pose, Extent::Pose);
    let response = run.search.response();
    let ((row, col), step) = (response.middle(), response.step);
    let at = |center: (f64, f64)| {
        let (c, r) = ((center.0 - response.center.0) / step.0, (center.1 - response.center.1) / step.1);
        response.values[[(row as f64 + r).round() as usize, (col as f64 + c).round() as usize]]
    };
    let highest = response.values.iter().fold(f32::MIN, |m, v| m.max(*v));
    assert_eq!(at(found.pose.center), highest);
    // The target has left its old place; the pose stays the one that was asked for.
    let there = run.search.score_at(&view(&moved), found.pose);
    let here = run.search.score_at(&view(&moved), Pose::of(BOX));
    assert_eq!(here.pose, Pose::of(BOX));
    assert!(there.evidence.peak > 2.0 * here.evidence.peak && there.evidence.psr > here.evidence.psr);
    assert!(there.evidence.long_term > here.evidence.long_term && there.evidence.color > here.evidence.color);
}

#[test]
fn odd_boxes_and_frames_are_no_panic() {
    let rgb = frame((80.0, 70.0), 1.0, 0.0);
    let (gray, plain) = (gray_of(&rgb), vec![77; 3 * WIDTH * HEIGHT]);
    let boxes = [
        BBox::new(60.0, 60.0, 4.0, 4.0),
        BBox::new(0.0, 0.0, WIDTH as f64, HEIGHT as f64),
        BBox::new(-10.0, -8.0, 30.0, 24.0),
        BBox::new(100.0, 20.0, 5.0, 100.0),
        BBox::new(20.0, 100.0, 100.0, 5.0),
        BBox::new(200.0, 170.0, 60.0, 40.0),
    ];
    for params in [BackgroundParams::default(), turning()] {
        for bbox in boxes {
            let mut run = Run::new(&params, &view(&rgb), bbox);
            // In colour, then gray, then of one colour, and in colour again.
            for i in 0..8 {
                run.step(&match i % 4 {
                    1 => Frame::gray(&gray, WIDTH, HEIGHT).unwrap(),
                    2 => view(&plain),
                    _ => view(&rgb),
                });
                let found = run.bbox();
                assert!(found.is_valid() && found.w < 4.0 * WIDTH as f64, "{bbox}: {found}");
            }
        }
    }
}

#[test]
fn there_is_nothing_to_search_in_a_plain_picture() {
    let plain = vec![77; 3 * WIDTH * HEIGHT];
    let params = BackgroundParams::default();
    assert!(BackgroundLocalizer::new(&params, &view(&plain), BOX, 0).is_err());
    let rgb = frame((80.0, 70.0), 1.0, 0.0);
    let mut run = Run::new(&params, &view(&rgb), BOX);
    let found = run.step(&view(&plain));
    assert!(!found.seen && found.pose == Pose::of(BOX));
    // The localizer has learned nothing of those frames.
    assert!(run.step(&view(&rgb)).seen && run.bbox().overlap(&BOX) > 0.9);
}

// When a frame is learned, from which area, at which size and how much.

/// A target around `(80, 70)`, seen `scale` times as large as at first.
fn grown(scale: f64) -> Vec<u8> {
    frame((80.0, 70.0), scale, 0.0)
}

/// A search that has learned its first frame.
fn run(params: &BackgroundParams) -> Run {
    Run::new(params, &view(&grown(1.0)), BOX)
}

#[test]
fn every_frame_is_learned_at_first_and_then_one_of_so_many() {
    let still = grown(1.0);
    for (warmup_frames, interval, learned) in [(2, 4, &[1, 2, 4, 8][..]), (0, 3, &[3, 6]), (3, 100, &[1, 2, 3])] {
        let mut run = run(&BackgroundParams { warmup_frames, interval, ..plain() });
        let changes = |_: &usize| {
            let before = run.search.filter.spectrum();
            run.step(&view(&still));
            before != run.search.filter.spectrum()
        };
        assert_eq!((1..9).filter(changes).collect::<Vec<_>>(), learned, "{warmup_frames}, {interval}");
    }
}

#[test]
fn an_area_is_reused_where_the_target_has_hardly_moved_and_not_turned() {
    let still = grown(1.0);
    for (shift, angle, reused) in [
        ((0.0, 0.0), 0.0, true),
        ((0.9, -0.9), 0.0, true),
        ((1.1, 0.0), 0.0, false),
        ((0.0, -1.1), 0.0, false),
        ((0.0, 0.0), 0.1, false),
    ] {
        let mut run = run(&turning());
        let found = run.search.locate(&view(&still), run.pose, Extent::Pose).pose;
        let at = Pose { angle, ..found.at(run.search.view.in_frame(shift)) };
        run.search.learn(&view(&still), &Located::new(at, Evidence::default(), None, true), Update::Usual);
        assert_eq!(run.search.view.pose, if reused { run.pose } else { at }, "{shift:?}, {angle}");
    }
}

#[test]
fn a_lost_challenge_changes_nothing() {
    let never = RotationParams::Filter(RotationFilterParams { min_turn: 0.0, margin: 0.99, ..Default::default() });
    let next = frame((82.0, 71.0), 1.0, 0.0);
    let learned = |rotation: RotationParams| {
        let mut run = run(&BackgroundParams { rotation, ..plain() });
        let found = run.look(&view(&next));
        // Both then cut the target's area anew.
        run.search.view_is_current &= run.search.params.rotation != RotationParams::None;
        run.learn(&view(&next), &found, Update::Usual);
        (found.pose, found.evidence.identity, run.search.filter.spectrum())
    };
    assert!(learned(never) == learned(RotationParams::None));
}

/// A denied place may be the background, or a target that has turned.
#[test]
fn a_denied_place_is_learned_slowly() {
    let (rgb, empty) = (grown(1.0), frame((-200.0, -200.0), 1.0, 0.0));
    let moved = |deny_below: f64| {
        let identity = IdentityParams::Krr(IdentityMachineParams { deny_below, ..Default::default() });
        let mut run = run(&BackgroundParams { identity, ..plain() });
        (0..12).for_each(|_| _ = run.step(&view(&rgb)));
        let before = run.search.filter.spectrum();
        let answer = run.step(&view(&empty)).evidence.identity;
        assert!(answer.is_some_and(|answer| answer < -0.3), "{answer:?}");
        before.iter().zip(run.search.filter.spectrum()).map(|(a, b)| (b - a).powi(2)).sum::<f32>().sqrt()
    };
    let (denied, taken) = (moved(-0.3), moved(-10.0));
    assert!(denied > 0.0 && denied < 0.7 * taken, "{denied}, {taken}");
}

/// The restored filter and colours are of at most ten frames before the last certain one; a frame without a strong
/// response is not certain.
#[test]
fn a_loss_restores_the_models_of_a_certain_frame() {
    let (still, other) = (grown(1.0), frame((-200.0, -200.0), 1.0, 0.0));
    let models = |run: &Run| {
        let color = run.search.clone().score_at(&view(&still), Pose::of(BOX)).evidence.color;
        (run.search.filter.spectrum(), color)
    };
    for certain in [true, false] {
        let mut run = run(&plain());
        let mut before = models(&run);
        for i in 1..=15 {
            if i == 10 && certain {
                before = models(&run);
            }
            let mut located = Located { pose: run.pose, ..run.look(&view(&still)) };
            assert_eq!(located.likeness, Likeness::Certain);
            if !certain {
                located.likeness = Likeness::Plausible;
            }
            run.learn(&view(&still), &located, Update::Usual);
        }
        for _ in 0..5 {
            let located = Located::new(run.pose, run.look(&view(&other)).evidence, None, true);
            run.learn(&view(&other), &located, Update::Blend(0.2));
        }
        let covered = models(&run);
        assert!(covered.0 != before.0 && covered.1 != before.1, "{:?}, {:?}", covered.1, before.1);
        run.search.restore();
        assert!(models(&run) == before, "{certain}");
    }
}

/// The rule holds also among the first frames, which the appearance keeps for good.
#[test]
fn an_appearance_does_not_learn_what_it_denies() {
    let mut run = run(&plain());
    (0..5).for_each(|_| _ = run.step(&view(&grown(1.0))));
    let empty = frame((-200.0, -200.0), 1.0, 0.0);
    let answers: Vec<_> = (0..30).filter_map(|_| run.step(&view(&empty)).evidence.identity).collect();
    assert!(answers.len() == 30 && answers.iter().all(|&answer| answer < -0.3), "{answers:?}");
}

// From the best place to a pose: what of a turn, a size and a place is accepted.

#[test]
fn a_turn_is_believed_if_it_is_large_enough_and_the_answer_better_by_the_margin() {
    let turn = 20f64.to_radians();
    let turned = frame((80.0, 70.0), 1.0, turn);
    let angle = |min_turn: f64, margin: f64| {
        let rotation =
            RotationParams::Filter(RotationFilterParams { min_turn, margin, ..RotationFilterParams::default() });
        let mut run = Run::new(&BackgroundParams { rotation, ..plain() }, &view(&frame((80.0, 70.0), 1.0, 0.0)), BOX);
        run.search.locate(&view(&turned), run.pose, Extent::Pose).pose.angle
    };
    let accepted = angle(4.0, 0.05);
    assert!((accepted - turn).abs() < 0.15, "{accepted}");
    let found = accepted.to_degrees();
    assert_eq!([(found + 0.1, 0.05), (4.0, 0.99)].map(|(min_turn, margin)| angle(min_turn, margin)), [0.0; 2]);
    assert_eq!(angle(found - 0.1, 0.05), accepted);
}

/// The limits hold wherever a search begins, as in an area that a guard has chosen.
#[test]
fn a_size_stays_within_its_limits() {
    let still = frame((80.0, 70.0), 1.0, 0.0);
    let params = BackgroundParams { rotation: RotationParams::None, ..Default::default() };
    for (scale, limit) in [(0.1, 5.0 / 24.0), (12.0, WIDTH as f64 / 30.0)] {
        let mut run = Run::new(&params, &view(&still), BOX);
        let found = run.search.locate(&view(&still), Pose { scale, ..run.pose }, Extent::Pose);
        assert!(found.seen);
        assert_eq!(found.pose.scale, limit);
    }
}

/// The box may leave the frame: what is left of the target can still be seen.
#[test]
fn the_middle_of_a_target_leaves_no_frame() {
    let (w, h) = (WIDTH as f64, HEIGHT as f64);
    // The middle moves from just within the frame to just outside it; from outside it goes no farther, but comes back.
    for (from, to, said) in [
        ((4.0, 70.0), (-4.0, 70.0), (0.0, 70.0)),
        ((w - 4.0, 70.0), (w + 4.0, 70.0), (w, 70.0)),
        ((80.0, 4.0), (80.0, -4.0), (80.0, 0.0)),
        ((80.0, h - 4.0), (80.0, h + 4.0), (80.0, h)),
        ((-3.0, 70.0), (-9.0, 70.0), (-3.0, 70.0)),
        ((-3.0, 70.0), (4.0, 70.0), (4.0, 70.0)),
    ] {
        let bbox = BBox::new(from.0 - 15.0, from.1 - 12.0, 30.0, 24.0);
        let mut run = Run::new(&plain(), &view(&frame(from, 1.0, 0.0)), bbox);
        let found = run.search.locate(&view(&frame(to, 1.0, 0.0)), run.pose, Extent::Pose).pose.center;
        let (dx, dy) = (found.0 - said.0, found.1 - said.1);
        assert!(dx.abs().max(dy.abs()) < 1.5, "{found:?} from {from:?} to {to:?}");
        // The middle moves to the very border.
        let beyond = to.0 != said.0 && dx != 0.0 || to.1 != said.1 && dy != 0.0;
        assert!(!beyond, "{found:?} from {from:?} to {to:?}");
    }
}

#[test]
fn a_target_at_rest_stays_where_it_is_and_a_slow_one_is_followed() {
    for speed in [0.0, 0.03] {
        let at = |i: usize| frame((80.0 + speed * i as f64, 70.0), 1.0, 0.0);
        let mut run = Run::new(&BackgroundParams::default(), &view(&at(0)), BOX);
        let mut settled = run.pose.center;
        for i in 1..400 {
            run.step(&view(&at(i)));
            if i == 100 {
                settled = run.pose.center;
            }
        }
        match speed {
            0.0 => assert_eq!(run.pose.center, settled),
            _ => assert!((run.pose.center.0 - 80.0 - 399.0 * speed).abs() < 1.0, "{:?}", run.pose.center),
        }
    }
}

#[test]
fn a_target_at_rest_is_learned_in_every_tenth_frame() {
    let still = grown(1.0);
    let mut run = run(&BackgroundParams { interval: 1, ..plain() });
    (1..100).for_each(|_| _ = run.step(&view(&still)));
    let changes = |_: &usize| {
        let before = run.search.filter.spectrum();
        run.step(&view(&still));
        before != run.search.filter.spectrum()
    };
    assert_eq!((100..120).filter(changes).collect::<Vec<_>>(), [100, 110]);
}

/// The bytes of the filter and of the scale filter.
fn learned(search: &BackgroundLocalizer) -> [Vec<u8>; 2] {
    let mut copy = search.clone();
    let (mut filter, mut scale) = (Archive::writer(), Archive::writer());
    copy.filter.transfer(&mut filter);
    copy.scale.as_mut().unwrap().transfer(&mut scale);
    [filter, scale].map(|archive| archive.finish().unwrap())
}

#[test]
fn targets_of_a_crowd_learn_and_compare_sizes_in_turn() {
    let SearchParams::Background(params) = Params::preset("crowd").unwrap().search else { unreachable!() };
    let at = |i: usize| (80.0 + 2.0 * i as f64, 90.0);
    let bbox = BBox::new(65.0, 78.0, 30.0, 24.0);
    for (in_turn, turn) in [(true, 0), (true, 1), (true, 6), (false, 1)] {
        let params = BackgroundParams { in_turn, ..params.clone() };
        let first = frame(at(0), 1.0, 0.0);
        let search = BackgroundLocalizer::new(&params, &view(&first), bbox, turn).unwrap();
        assert_eq!(search.cells, 24);
        let mut run = Run { search, pose: Pose::of(bbox) };
        for i in 1..=24 {
            let (before, scale) = (learned(&run.search), run.pose.scale);
            // The target grows, so every comparison changes the size.
            run.step(&view(&frame(at(i), 1.0 + 0.02 * i as f64, 0.0)));
            let is_due = i <= params.warmup_frames || (i + if in_turn { turn } else { 0 }).is_multiple_of(4);
            let changed: Vec<bool> = before.iter().zip(&learned(&run.search)).map(|(a, b)| a != b).collect();
            assert_eq!(changed, [is_due; 2], "{in_turn}, {turn}, {i}");
            assert!(is_due || run.pose.scale == scale, "{in_turn}, {turn}, {i}");
        }
        assert!(run.bbox().overlap(&BBox::new(105.8, 72.2, 44.4, 35.5)) > 0.6, "{}", run.bbox());
    }
}
