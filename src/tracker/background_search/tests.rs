//! The search on rendered frames, and on input that nobody would give it.

mod learning;
mod settling;

use super::*;
use crate::frame::luma;
use crate::tracker::params::{IdentityMachineParams, RotationFilterParams};

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

/// A search in its loop.
struct Run {
    search: BackgroundSearch,
    pose: Pose,
}

impl Run {
    fn new(params: &BackgroundParams, frame: &Frame<'_>, bbox: BBox) -> Self {
        let search = BackgroundSearch::new(params, frame, bbox).unwrap();
        Self { pose: search.pose(), search }
    }

    fn step(&mut self, frame: &Frame<'_>) -> Detection {
        let detection = self.search.detect(frame, self.pose);
        self.pose = detection.pose;
        if detection.seen {
            self.search.learn(frame, self.pose, &detection.evidence, None);
        }
        detection
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
            assert_eq!(run.search.state(&found.evidence), State::Tracking);
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
    let found = run.search.detect(&view(&moved), run.pose);
    let response = run.search.response();
    let ((row, col), step) = (response.middle(), response.step);
    let at = |center: (f64, f64)| {
        let (c, r) = ((center.0 - response.center.0) / step.0, (center.1 - response.center.1) / step.1);
        response.values[[(row as f64 + r).round() as usize, (col as f64 + c).round() as usize]]
    };
    let highest = response.values.iter().fold(f32::MIN, |m, v| m.max(*v));
    assert_eq!(at(found.pose.center), highest);
    // The target has left its old place; the pose stays the one that was asked for.
    let there = run.search.evaluate_at(&view(&moved), found.pose);
    let here = run.search.evaluate_at(&view(&moved), Pose::of(BOX));
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
    assert!(BackgroundSearch::new(&params, &view(&plain), BOX).is_err());
    let rgb = frame((80.0, 70.0), 1.0, 0.0);
    let mut run = Run::new(&params, &view(&rgb), BOX);
    let found = run.step(&view(&plain));
    assert!(!found.seen && found.pose == Pose::of(BOX));
    // It has learned nothing of that.
    assert!(run.step(&view(&rgb)).seen && run.bbox().overlap(&BOX) > 0.9);
}
