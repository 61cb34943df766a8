//! The search on rendered frames, and on input that nobody would give it.

mod colors;
mod learning;
mod settling;
mod staggered;

use super::*;
use crate::frame::luma;
use crate::tracker::rotation::RotationSettings;
use crate::tracker::{ColorWeighting, PyramidSettings, SeparationSettings};

const WIDTH: usize = 220;
const HEIGHT: usize = 180;

/// A frame with a target of 30 x 24 pixels times `scale` around `center`, turned by `angle`, in front of a quiet
/// texture.
fn frame(center: (f64, f64), scale: f64, angle: f64) -> Vec<u8> {
    stretched(center, (scale, scale), angle)
}

/// As [`frame`], the target by `stretch` wider and higher.
fn stretched(center: (f64, f64), stretch: (f64, f64), angle: f64) -> Vec<u8> {
    let (sin, cos) = angle.sin_cos();
    let mut pixels = Vec::with_capacity(3 * WIDTH * HEIGHT);
    for i in 0..WIDTH * HEIGHT {
        let (x, y) = ((i % WIDTH) as f64 + 0.5, (i / WIDTH) as f64 + 0.5);
        let (dx, dy) = (x - center.0, y - center.1);
        let (u, v) = ((cos * dx + sin * dy) / stretch.0, (cos * dy - sin * dx) / stretch.1);
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

/// A search in its loop.
struct Run {
    search: BackgroundSearch,
    pose: Pose,
}

impl Run {
    fn new(params: &BackgroundParams, frame: &Frame<'_>, bbox: BBox) -> Self {
        let search = BackgroundSearch::new(params, frame, bbox, &mut Stopwatch::default()).unwrap();
        Self { pose: search.pose(), search }
    }

    fn step(&mut self, frame: &Frame<'_>) -> Sighting {
        let off = &mut Stopwatch::default();
        let sighting = self.search.look(frame, self.pose, off);
        self.pose = sighting.pose;
        if sighting.seen {
            self.search.learn(frame, self.pose, None, off);
        }
        sighting
    }

    fn bbox(&self) -> BBox {
        self.pose.bbox(self.search.size)
    }
}

const BOX: BBox = BBox::new(65.0, 58.0, 30.0, 24.0);

fn turning() -> BackgroundParams {
    BackgroundParams { rotation: RotationParams::Filter(RotationSettings::default()), ..Default::default() }
}

fn pyramid() -> BackgroundParams {
    BackgroundParams { scale: ScaleParams::Pyramid(PyramidSettings::default()), ..Default::default() }
}

fn shaped() -> BackgroundParams {
    BackgroundParams { aspect: AspectParams::Filter(AspectSettings::default()), ..Default::default() }
}

fn separated() -> BackgroundParams {
    let color_weighting = ColorWeighting::Separation(SeparationSettings::default());
    BackgroundParams { color_weighting, ..Default::default() }
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
    for (gray, params) in
        [(false, BackgroundParams::default()), (true, BackgroundParams::default()), (false, pyramid())]
    {
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
            assert_eq!(run.search.judge(&found.evidence), State::Tracking);
        }
    }
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

    // Where the highest element of the turned map lies on the image, the target is: here 10 pixels to the right.
    let ((x, y), scale, angle) = path(49, true);
    run.step(&view(&frame((x + 10.0, y), scale, angle)));
    let map = run.search.response();
    let (place, _) = map.values.indexed_iter().max_by(|a, b| a.1.total_cmp(b.1)).unwrap();
    let motion = map.motion(place);
    let at = (map.center.0 + motion.0, map.center.1 + motion.1);
    assert!(motion.0 > 5.0 && motion.0 > 2.0 * motion.1.abs(), "{motion:?}, turned by {}", map.angle);
    assert!((at.0 - x - 10.0).hypot(at.1 - y) < 6.0, "{at:?} for {x}, {y}");
}

/// The shape at the end, and the mean overlap with a target that grows wider and less high from frame to frame, and
/// turns.
fn widening(params: &BackgroundParams, growth: f64, turn: f64) -> (Pose, f64) {
    const FRAMES: i32 = 60;
    let first = frame((80.0, 70.0), 1.0, 0.0);
    let mut run = Run::new(params, &view(&first), BOX);
    let mut overlaps = 0.0;
    for i in 1..=FRAMES {
        let ((center, ..), angle) = (path(i as usize, false), turn * f64::from(i));
        let stretch = growth.powi(i).sqrt();
        run.step(&view(&stretched(center, (stretch, 1.0 / stretch), angle)));
        let truth = Pose { center, scale: 1.0, aspect: growth.powi(i), angle };
        overlaps += run.bbox().overlap(&truth.bbox((BOX.w, BOX.h))) / f64::from(FRAMES);
    }
    (run.pose, overlaps)
}

#[test]
fn a_target_that_widens_is_followed_in_its_shape() {
    // Wider, less wide, and wider while it turns.
    for (growth, turn) in [(1.006f64, 0.0), (1.0 / 1.006, 0.0), (1.006, 0.01)] {
        let (pose, followed) = widening(&shaped(), growth, turn);
        let (kept, frozen) = widening(&BackgroundParams::default(), growth, turn);
        let share = pose.aspect.ln() / (60.0 * growth.ln());
        assert!((0.4..1.1).contains(&share), "{growth}, {turn}: {share} of it, {pose:?}");
        assert!(followed > frozen + 0.03 && kept.aspect == 1.0, "{growth}, {turn}: {followed}, frozen {frozen}");
        assert!((pose.scale - 1.0).abs() < 0.06, "{pose:?}");
    }
}

#[test]
fn colours_are_those_of_the_box_in_its_shape() {
    let run = Run::new(&shaped(), &view(&frame((80.0, 70.0), 1.0, 0.0)), BOX);
    let wide = stretched((80.0, 70.0), (1.4, 1.0 / 1.4), 0.0);
    let color = |aspect: f64| {
        let at = Pose { aspect, ..Pose::of(BOX) };
        run.search.clone().look_at(&view(&wide), at, &mut Stopwatch::default()).evidence.color.unwrap()
    };
    // A box of the first shape has ground above and below the target in it.
    assert!(color(1.96) > color(1.0) + 0.1, "{} {}", color(1.96), color(1.0));
}

#[test]
fn a_shape_is_bounded_and_its_box_fits_the_frame() {
    let mut params = shaped();
    params.aspect = AspectParams::Filter(AspectSettings { most: 1.1, pull: 0.0, ..AspectSettings::default() });
    let first = frame((80.0, 70.0), 1.0, 0.0);
    let mut run = Run::new(&params, &view(&first), BOX);
    for i in 1..50 {
        let stretch = 1.004f64.powi(i);
        run.step(&view(&stretched((80.0, 70.0), (stretch, 1.0 / stretch), 0.0)));
        assert!(run.pose.aspect <= 1.1, "{:?}", run.pose);
    }
    assert!(run.pose.aspect > 1.099, "{:?}", run.pose);
    // The largest scale is that of the shape at hand: a box of 30 x 24, twice as wide as it is high for its area, is
    // as wide as the frame sooner.
    let limits = run.search.limits(&view(&first), 2.0);
    let root = 2.0f64.sqrt();
    assert!((limits.1 - WIDTH as f64 / (30.0 * root)).abs() < 1e-9 && (limits.0 - 5.0 * root / 24.0).abs() < 1e-9);
}

#[test]
fn a_still_target_keeps_its_size() {
    let still = frame((80.0, 70.0), 1.0, 0.0);
    for params in [BackgroundParams::default(), shaped()] {
        let mut run = Run::new(&params, &view(&still), BOX);
        for _ in 0..400 {
            run.step(&view(&still));
        }
        assert!((run.pose.scale - 1.0).abs() < 0.01 && (run.pose.aspect - 1.0).abs() < 0.01, "{:?}", run.pose);
        assert!(run.bbox().overlap(&BOX) > 0.95);
    }
}

/// Where its colours are in the whole area, and not only in the ring around it, they say nothing of the target's place.
#[test]
fn colours_that_are_everywhere_lose_their_weight() {
    let own = frame((80.0, 70.0), 1.0, 0.0);
    // The target's colours, beside a ring around it of the quiet texture.
    let spread = |x: usize, y: usize| {
        let near = (x as f64 - 80.0).abs() < 30.0 && (y as f64 - 70.0).abs() < 26.0;
        if near { (x, y) } else { (65 + (x + 3 * y) % 30, 58 + (y + 2 * x) % 24) }
    };
    let everywhere: Vec<u8> = (0..WIDTH * HEIGHT)
        .map(|i| spread(i % WIDTH, i / WIDTH))
        .flat_map(|(x, y)| [0, 1, 2].map(|channel| own[3 * (y * WIDTH + x) + channel]))
        .collect();
    let trust = |params: &BackgroundParams, first: &[u8], next: &[u8], frames: usize| {
        let mut run = Run::new(params, &view(first), BOX);
        let before = run.search.color.as_ref().unwrap().trust();
        for _ in 0..frames {
            run.step(&view(next));
            assert!(run.bbox().overlap(&BOX) > 0.8, "{:?}", run.pose);
        }
        (before, run.search.color.as_ref().unwrap().trust())
    };
    let fixed = BackgroundParams { color_weighting: ColorWeighting::Fixed, ..Default::default() };
    assert_eq!(trust(&separated(), &own, &own, 12), (1.0, 1.0));
    let (before, after) = trust(&separated(), &everywhere, &everywhere, 12);
    assert!(before < 0.3 && after < 0.3, "{before} {after}");
    // It follows step by step.
    let (before, after) = trust(&separated(), &own, &everywhere, 3);
    assert!(before == 1.0 && (0.05..0.95).contains(&after), "{before} {after}");
    assert_eq!(trust(&fixed, &everywhere, &everywhere, 12), (1.0, 1.0));
}

#[test]
fn evidence_and_answers_are_of_the_place_that_is_said() {
    let mut run = Run::new(&BackgroundParams::default(), &view(&frame((80.0, 70.0), 1.0, 0.0)), BOX);
    let moved = frame((90.0, 65.0), 1.0, 0.0);
    let found = run.search.look(&view(&moved), run.pose, &mut Stopwatch::default());
    let response = run.search.response();
    let ((row, col), step) = (response.middle(), response.step);
    let at = |center: (f64, f64)| {
        let (c, r) = ((center.0 - response.center.0) / step.0, (center.1 - response.center.1) / step.1);
        response.values[[(row as f64 + r).round() as usize, (col as f64 + c).round() as usize]]
    };
    let highest = response.values.iter().fold(f32::MIN, |m, v| m.max(*v));
    assert_eq!(at(found.pose.center), highest);
    // Where the target was there is nothing any more; the pose stays where it is asked for.
    let there = run.search.look_at(&view(&moved), found.pose, &mut Stopwatch::default());
    let here = run.search.look_at(&view(&moved), Pose::of(BOX), &mut Stopwatch::default());
    assert_eq!(here.pose, Pose::of(BOX));
    assert!(there.evidence.peak > 2.0 * here.evidence.peak && there.evidence.psr > here.evidence.psr);
    assert!(there.evidence.long_term > here.evidence.long_term && there.evidence.color > here.evidence.color);
}

#[test]
fn what_is_put_elsewhere_learns_as_much_as_it_is_told() {
    let first = frame((80.0, 70.0), 1.0, 0.0);
    let other = frame((150.0, 100.0), 1.0, 1.2);
    let run = Run::new(&BackgroundParams::default(), &view(&first), BOX);
    let there = run.pose.at((150.0, 100.0));
    let peak = |rate: f64| {
        let off = &mut Stopwatch::default();
        let mut search = run.search.clone();
        search.look_at(&view(&other), there, off);
        search.learn(&view(&other), there, Some(rate), off);
        search.look_at(&view(&other), there, off).evidence.peak
    };
    let mut untaught = run.search.clone();
    let none = untaught.look_at(&view(&other), there, &mut Stopwatch::default()).evidence.peak;
    assert_eq!(peak(0.0), none);
    let (some, all) = (peak(0.2), peak(1.0));
    assert!(none < some && some < all, "{none} {some} {all}");
}

#[test]
fn nothing_is_allocated_in_a_frame() {
    for params in [BackgroundParams::default(), turning(), pyramid(), shaped(), separated()] {
        let frames: Vec<Vec<u8>> = (0..6).map(|i| frame(path(3 * i, true).0, 1.0, path(9 * i, true).2)).collect();
        let mut run = Run::new(&params, &view(&frames[0]), BOX);
        let used = allocation_counter::measure(|| {
            for frame in &frames[1..] {
                run.step(&view(frame));
            }
        });
        assert_eq!(used.count_total, 0);
    }
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
    for params in [BackgroundParams::default(), turning(), pyramid(), shaped(), separated()] {
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
    assert!(BackgroundSearch::new(&params, &view(&plain), BOX, &mut Stopwatch::default()).is_err());
    let rgb = frame((80.0, 70.0), 1.0, 0.0);
    let mut run = Run::new(&params, &view(&rgb), BOX);
    let found = run.step(&view(&plain));
    assert!(!found.seen && found.pose == Pose::of(BOX));
    // It has learned nothing of that.
    assert!(run.step(&view(&rgb)).seen && run.bbox().overlap(&BOX) > 0.9);
}
