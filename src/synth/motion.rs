//! Where everything is at a moment: paths, events, the target's outline and the truth of a frame.

use std::f64::consts::TAU;

use serde::{Deserialize, Serialize};

use super::paint::smooth_step;
use super::paint::{bits, fraction, stream, uniform};
use super::params::SceneParams;
use crate::bbox::BBox;

/// Sums of sines of rates without a common period.
const RATES: [[f64; 2]; 2] = [[1.0, 2.3], [1.37, 2.9]];
const STRENGTHS: [f64; 2] = [0.72, 0.28];
/// Frames from one beam, and from one departure, to the next.
const PERIOD: f64 = 110.0;
/// Frames in which the target leaves, and for which it stays away.
const LEAVE: f64 = 18.0;
const AWAY: f64 = 10.0;
/// Frames between two jumps.
const JUMP_EVERY: f64 = 24.0;

/// A smooth path within -1 to 1 in both directions (Lissajous, with a second harmonic that never closes it).
#[derive(Clone, Debug)]
struct Path {
    pace: f64,
    phases: [[f64; 2]; 2],
}

impl Path {
    /// A path that, stretched by `reach` pixels to each side, has the root mean square `speed` in pixels per frame.
    fn new(seed: u64, tag: &str, index: u64, speed: f64, reach: (f64, f64)) -> Self {
        let mut rng = stream(seed, tag, index);
        let phases = RATES.map(|rates| rates.map(|_| uniform(&mut rng, 0.0, TAU)));
        let energy = |reach: f64, rates: [f64; 2]| {
            let term = |i: usize| reach * STRENGTHS[i] * rates[i];
            (term(0) * term(0) + term(1) * term(1)) / 2.0
        };
        let natural = (energy(reach.0, RATES[0]) + energy(reach.1, RATES[1])).sqrt();
        Self { pace: if natural > 1e-9 { speed / natural } else { 0.0 }, phases }
    }

    fn at(&self, t: f64) -> (f64, f64) {
        let axis = |axis: usize| {
            let wave = |i: usize| STRENGTHS[i] * libm::sin(self.pace * RATES[axis][i] * t + self.phases[axis][i]);
            wave(0) + wave(1)
        };
        (axis(0), axis(1))
    }
}

/// A slow swing from -1 to 1 that is 0 in frame 0.
#[derive(Clone, Debug)]
pub(super) struct Swing {
    rate: f64,
    sign: f64,
}

impl Swing {
    /// With a period of `lo` to `hi` frames.
    pub(super) fn new(seed: u64, tag: &str, lo: f64, hi: f64) -> Self {
        let mut rng = stream(seed, tag, 0);
        let rate = TAU / uniform(&mut rng, lo, hi);
        Self { rate, sign: if uniform(&mut rng, -1.0, 1.0) < 0.0 { -1.0 } else { 1.0 } }
    }

    pub(super) fn at(&self, t: f64) -> f64 {
        self.sign * libm::sin(self.rate * t)
    }
}

/// A straight beam across the image, moving along its normal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beam {
    /// A point of its middle line.
    pub(super) x: f64,
    pub(super) y: f64,
    /// Its normal, of length 1.
    pub(super) normal: (f64, f64),
    /// Half its width.
    pub(super) half: f64,
}

impl Beam {
    /// Signed distance of a point from the middle line.
    pub(super) fn distance(&self, x: f64, y: f64) -> f64 {
        (x - self.x) * self.normal.0 + (y - self.y) * self.normal.1
    }

    /// Position of a point along the beam.
    pub(super) fn along(&self, x: f64, y: f64) -> f64 {
        (y - self.y) * self.normal.0 - (x - self.x) * self.normal.1
    }
}

/// All movements of a scene.
#[derive(Clone, Debug)]
pub(super) struct Motion {
    params: SceneParams,
    outline: Outline,
    image: (f64, f64),
    /// How far the target's centre may go from the image's.
    reach: (f64, f64),
    /// Half the largest box of the target.
    largest: (f64, f64),
    path: Path,
    scale: Swing,
    angle: Swing,
    camera: Path,
    camera_reach: f64,
    others: Vec<(Path, Swing, f64)>,
    first_beam: f64,
    first_departure: f64,
}

impl Motion {
    /// For checked parameters.
    pub(super) fn new(params: &SceneParams) -> Self {
        let seed = params.seed;
        let image = (f64::from(params.width), f64::from(params.height));
        let (w, h) = params.largest_target();
        let largest = (w / 2.0, h / 2.0);
        let room = |side: f64, half: f64| (side / 2.0 - half - 1.0).max(0.0);
        let reach = (room(image.0, largest.0), room(image.1, largest.1));
        let camera_reach = if params.camera > 0.0 { 16.0 + 10.0 * params.camera } else { 0.0 };
        let others = (0..params.clutter as u64)
            .map(|i| {
                let reach = (image.0 / 2.0, image.1 / 2.0);
                let path = Path::new(seed, "clutter", i, 0.8 * params.motion, reach);
                let turn = uniform(&mut stream(seed, "clutter turn", i), -35.0, 35.0);
                (path, Swing::new(seed, &format!("clutter angle {i}"), 60.0, 140.0), turn)
            })
            .collect();
        Self {
            outline: Outline::new(f64::from(params.target_width) / 2.0, f64::from(params.target_height) / 2.0),
            image,
            reach,
            largest,
            path: Path::new(seed, "target", 0, params.motion, reach),
            scale: Swing::new(seed, "scale", 90.0, 150.0),
            angle: Swing::new(seed, "angle", 70.0, 120.0),
            camera: Path::new(seed, "camera", 0, params.camera, (camera_reach, camera_reach)),
            camera_reach,
            others,
            first_beam: uniform(&mut stream(seed, "beam", 0), 34.0, 46.0).round(),
            first_departure: uniform(&mut stream(seed, "departure", 0), 74.0, 92.0).round(),
            params: params.clone(),
        }
    }

    /// Pixels that the background needs on each side beyond the image.
    pub(super) fn margin(&self) -> usize {
        if self.camera_reach > 0.0 { self.camera_reach.ceil() as usize + 3 } else { 0 }
    }

    /// How far the background has moved, in pixels; always within the margin.
    pub(super) fn camera(&self, t: f64) -> (f64, f64) {
        let (x, y) = self.camera.at(t);
        (x * self.camera_reach, y * self.camera_reach)
    }

    /// The target.
    pub(super) fn target(&self, t: f64) -> Pose {
        let scale = if self.params.scale > 0.0 {
            libm::exp(libm::log(1.0 + self.params.scale) * self.scale.at(t))
        } else {
            1.0
        };
        let degrees = if self.params.rotation > 0.0 { self.params.rotation * self.angle.at(t) } else { 0.0 };
        let (x, y) = self.on_path(t);
        let (x, y) = (self.image.0 / 2.0 + x, self.image.1 / 2.0 + y);
        Pose { x: self.departed(t, x), y, scale, degrees }
    }

    /// The centre, relative to the image's, on the path with its jumps.
    fn on_path(&self, t: f64) -> (f64, f64) {
        let (x, y) = self.path.at(t);
        let (mut x, mut y) = (x * self.reach.0, y * self.reach.1);
        if self.params.jump > 0.0 {
            // Half a frame early, so that no exposure sees two places.
            let jumps = ((t + 0.5) / JUMP_EVERY).floor();
            if jumps.rem_euclid(2.0) >= 1.0 {
                let turn = 90.0 * fraction(bits(self.params.seed, "jump", jumps as u64), 0);
                let (sin, cos) = sin_cos(turn);
                // Towards the middle as seen from where it begins, so that it rarely meets the border.
                let (from_x, from_y) = self.path.at(jumps * JUMP_EVERY - 0.5);
                x = folded(x - self.params.jump * cos.copysign(from_x), self.reach.0);
                y = folded(y - self.params.jump * sin.copysign(from_y), self.reach.1);
            }
        }
        (x, y)
    }

    /// The column of the centre when the target is on its way out, away, or on its way back.
    fn departed(&self, t: f64, x: f64) -> f64 {
        if !self.params.out_of_view {
            return x;
        }
        let number = ((t - self.first_departure) / PERIOD).round().max(0.0);
        let middle = self.first_departure + number * PERIOD;
        let gone = smooth_step(AWAY / 2.0 + LEAVE, AWAY / 2.0, (t - middle).abs());
        let (at_middle, _) = self.on_path(middle);
        let beyond = self.largest.0 + 6.0;
        let outside = if at_middle < 0.0 { -beyond } else { self.image.0 + beyond };
        x + (outside - x) * gone
    }

    /// The look-alikes; they stand on the ground, so the camera moves them too.
    pub(super) fn others(&self, t: f64) -> impl Iterator<Item = Pose> + '_ {
        let (dx, dy) = self.camera(t);
        self.others.iter().map(move |(path, swing, turn)| {
            let (x, y) = path.at(t);
            Pose {
                x: self.image.0 / 2.0 * (1.0 + x) + dx,
                y: self.image.1 / 2.0 * (1.0 + y) + dy,
                scale: 1.0,
                degrees: turn + 12.0 * swing.at(t),
            }
        })
    }

    /// The beam of the nearest event, which may be outside of the image.
    ///
    /// It is over the target's centre in the event's frame, stays there as long as it should, and moves against the
    /// target before and after.
    pub(super) fn beam(&self, t: f64) -> Option<Beam> {
        if self.params.occlusion <= 0.0 {
            return None;
        }
        let number = ((t - self.first_beam) / PERIOD).round().max(0.0);
        let event = self.first_beam + number * PERIOD;
        // While it stays, it goes along with the target.
        let stay = self.params.hold / 2.0;
        let near = t.clamp(event - stay, event + stay);
        let bits = bits(self.params.seed, "beam", 1 + number as u64);
        let (sin, cos) = sin_cos(-40.0 + 80.0 * fraction(bits, 0) + if fraction(bits, 1) < 0.4 { 90.0 } else { 0.0 });
        let pose = self.target(near);
        let mut beam = Beam { x: pose.x, y: pose.y, normal: (cos, sin), half: 0.0 };
        // Wide enough for its share of the target: that quantile of the distances of the target's points.
        let to_image = pose.to_image();
        let mut distances: Vec<f64> = self
            .outline
            .points(48)
            .map(|(u, v)| {
                let (x, y) = to_image(u, v);
                beam.distance(x, y).abs()
            })
            .collect();
        let place = (self.params.occlusion * distances.len() as f64) as usize;
        beam.half = if place < distances.len() {
            *distances.select_nth_unstable_by(place, f64::total_cmp).1
        } else {
            distances.iter().fold(0.0, |most: f64, d| most.max(*d)) + 2.0
        };
        // Past the target in some 16 frames, and out of the image before the next one comes.
        let (w, h) = self.image;
        let outside = (w * w + h * h).sqrt() + 2.0 * self.largest.0 + beam.half + 16.0;
        let speed =
            ((self.outline.half_extent_along(&pose, cos, sin) + beam.half) / 8.0).max(outside / (0.5 * PERIOD - stay));
        let (before, after) = (self.target(near - 1.0), self.target(near + 1.0));
        let approach = (after.x - before.x) * cos + (after.y - before.y) * sin;
        let way = (t - near) * if approach > 0.0 { -speed } else { speed };
        beam.x += way * cos;
        beam.y += way * sin;
        Some(beam)
    }

    /// The way of the ground while the shutter is open around frame `t`, in pixels.
    pub(super) fn camera_travel(&self, t: f64, shutter: f64) -> f64 {
        let ((ax, ay), (bx, by)) = (self.camera(t - shutter / 2.0), self.camera(t + shutter / 2.0));
        ((ax - bx) * (ax - bx) + (ay - by) * (ay - by)).sqrt()
    }

    /// The longest way that anything goes while the shutter is open around frame `t`, in pixels, about.
    pub(super) fn travel(&self, t: f64, shutter: f64) -> f64 {
        let (from, to) = (t - shutter / 2.0, t + shutter / 2.0);
        let length =
            |(ax, ay): (f64, f64), (bx, by): (f64, f64)| ((ax - bx) * (ax - bx) + (ay - by) * (ay - by)).sqrt();
        let (a, b) = (self.target(from), self.target(to));
        let turned = (a.degrees - b.degrees).abs().to_radians() * self.largest.0.max(self.largest.1);
        let target = length((a.x, a.y), (b.x, b.y)) + turned;
        let others = self.others(from).zip(self.others(to)).map(|(a, b)| length((a.x, a.y), (b.x, b.y)));
        let beam = self.beam(from).zip(self.beam(to)).map(|(a, b)| length((a.x, a.y), (b.x, b.y)));
        others.chain(beam).fold(target.max(self.camera_travel(t, shutter)), f64::max)
    }
}

/// `value` mirrored at `-reach` and `reach` until it lies between them.
fn folded(value: f64, reach: f64) -> f64 {
    if reach <= 0.0 {
        return 0.0;
    }
    let along = (value + reach).rem_euclid(4.0 * reach);
    if along <= 2.0 * reach { along - reach } else { 3.0 * reach - along }
}

/// Width of the band in which the target fades out, in pixels at scale 1, half of it on each side of the outline.
const SOFT: f64 = 1.2;

/// The superellipse `(x / a)^4 + (y / b)^4 = 1`: a rectangle with generously rounded corners.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outline {
    a: f64,
    b: f64,
    /// The largest length of the gradient of `((x / a)^4 + (y / b)^4)^(1/4)`, rounded up.
    steepest: f64,
}

impl Outline {
    /// From half the width and half the height, both positive, in pixels.
    pub(super) fn new(a: f64, b: f64) -> Self {
        Self { a, b, steepest: 1.001 * (1.0 / (a * a) + 1.0 / (b * b)).sqrt() }
    }

    /// Half the width and height of the axis-aligned box around the outline, scaled and turned by `degrees`.
    ///
    /// The support function of a superellipse of exponent p in the direction (u, v) is
    /// `(|a u|^q + |b v|^q)^(1/q)` with `1/p + 1/q = 1`; here p = 4 and q = 4/3.
    pub(super) fn half_extent(self, scale: f64, degrees: f64) -> (f64, f64) {
        let (sin, cos) = sin_cos(degrees);
        let support = |u: f64, v: f64| {
            // At right angles the power would only round what is exact.
            if u == 0.0 || v == 0.0 {
                return (self.a * u).abs() + (self.b * v).abs();
            }
            let sum = libm::pow((self.a * u).abs(), 4.0 / 3.0) + libm::pow((self.b * v).abs(), 4.0 / 3.0);
            libm::pow(sum, 0.75)
        };
        (scale * support(cos, sin), scale * support(sin, cos))
    }

    /// Half the extent along the direction `(nx, ny)` of length 1.
    pub(super) fn half_extent_along(self, pose: &Pose, nx: f64, ny: f64) -> f64 {
        let turn = libm::atan2(ny, nx).to_degrees();
        self.half_extent(pose.scale, pose.degrees - turn).0
    }

    /// 0 outside, 1 inside, and a linear step across the outline for a point in the target's own coordinates.
    pub(super) fn coverage(self, x: f64, y: f64, soft: f64) -> f64 {
        let (u, v) = (x / self.a, y / self.b);
        let (u3, v3) = (u * u * u, v * v * v);
        let fourth = u3 * u + v3 * v;
        // Most points lie so far from the outline that no root is needed to tell on which side.
        let (within, beyond) = self.band(soft);
        if fourth < within {
            return 1.0;
        }
        if fourth > beyond {
            return 0.0;
        }
        let radius = fourth.sqrt().sqrt();
        if radius < 1e-6 {
            return 1.0;
        }
        // To first order the distance to the outline is (radius - 1) over the length of radius' gradient.
        let cube = radius * radius * radius;
        let (gx, gy) = (u3 / (cube * self.a), v3 / (cube * self.b));
        let distance = (radius - 1.0) / (gx * gx + gy * gy).sqrt();
        (0.5 - distance / (SOFT * soft)).clamp(0.0, 1.0)
    }

    /// The fourth powers of the radii below which all is covered, and above which nothing is.
    fn band(self, soft: f64) -> (f64, f64) {
        let half = 0.5 * SOFT * soft * self.steepest;
        let fourth = |radius: f64| (radius * radius) * (radius * radius);
        (fourth((1.0 - half).max(0.0)), fourth(1.0 + half))
    }

    /// The points within the outline of a regular grid of `count` x `count` over its box, in the target's own
    /// coordinates.
    pub(super) fn points(self, count: u32) -> impl Iterator<Item = (f64, f64)> {
        let place = move |i: u32, half: f64| ((f64::from(i) + 0.5) / f64::from(count) * 2.0 - 1.0) * half;
        (0..count * count)
            .map(move |i| (place(i % count, self.a), place(i / count, self.b)))
            .filter(move |(x, y)| self.contains(*x, *y))
    }

    /// Whether a point in the target's own coordinates lies within the outline.
    fn contains(self, x: f64, y: f64) -> bool {
        let (u, v) = (x / self.a, y / self.b);
        u * u * u * u + v * v * v * v < 1.0
    }
}

/// Where an object lies in the image: scaled, then turned about its centre (clockwise on the screen), then moved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pose {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) scale: f64,
    pub(super) degrees: f64,
}

impl Pose {
    /// The axis-aligned box of an outline in this pose.
    pub(super) fn bbox(&self, outline: Outline) -> BBox {
        let (w, h) = outline.half_extent(self.scale, self.degrees);
        BBox::new(self.x - w, self.y - h, 2.0 * w, 2.0 * h)
    }

    /// From image coordinates to the object's own, whose origin is its centre.
    pub(super) fn to_object(self) -> impl Fn(f64, f64) -> (f64, f64) {
        let (sin, cos) = sin_cos(self.degrees);
        let (sin, cos) = (sin / self.scale, cos / self.scale);
        move |x, y| {
            let (dx, dy) = (x - self.x, y - self.y);
            (cos * dx + sin * dy, cos * dy - sin * dx)
        }
    }

    /// From the object's own coordinates to the image's.
    pub(super) fn to_image(self) -> impl Fn(f64, f64) -> (f64, f64) {
        let (sin, cos) = sin_cos(self.degrees);
        let (sin, cos) = (sin * self.scale, cos * self.scale);
        move |x, y| (self.x + cos * x - sin * y, self.y + sin * x + cos * y)
    }
}

/// Sine and cosine of an angle in degrees; exact at multiples of 90.
pub(super) fn sin_cos(degrees: f64) -> (f64, f64) {
    let turns = (degrees / 90.0).round();
    let (sin, cos) = libm::sincos((degrees - turns * 90.0).to_radians());
    match turns.rem_euclid(4.0) as u8 {
        0 => (sin, cos),
        1 => (cos, -sin),
        2 => (-sin, -cos),
        _ => (-cos, sin),
    }
}

/// Where the target is in one frame, as far as numbers go, and how much of it is seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Truth {
    /// 0-based number of the frame.
    pub index: usize,
    /// The smallest axis-aligned box around the whole target as it is scaled and turned, also where it is hidden or
    /// outside of the image. 0-based, in pixels; with an open shutter, in the middle of the exposure.
    pub bbox: BBox,
    /// The target's centre, which is the box's too: x and y in pixels, 0-based.
    pub center: [f64; 2],
    /// Size relative to the undistorted target.
    pub scale: f64,
    /// In-plane rotation in degrees, clockwise as seen on the screen.
    pub angle: f64,
    /// The share of the target's area that lies in the image and behind nothing, 0 to 1.
    pub visible: f64,
    /// Whether the box has an area in common with the image.
    pub in_view: bool,
}

/// Points per axis at which visibility is counted.
const GRID: u32 = 128;

/// The truth at frame `index` of an image of `size` pixels.
pub(super) fn truth(motion: &Motion, outline: Outline, size: (u32, u32), index: usize) -> Truth {
    let t = index as f64;
    let pose = motion.target(t);
    let bbox = pose.bbox(outline);
    let beam = motion.beam(t);
    let to_image = pose.to_image();
    let (width, height) = (f64::from(size.0), f64::from(size.1));
    let (mut all, mut seen) = (0_u32, 0_u32);
    for (u, v) in outline.points(GRID) {
        all += 1;
        let (x, y) = to_image(u, v);
        let inside = (0.0..width).contains(&x) && (0.0..height).contains(&y);
        seen += u32::from(inside && beam.is_none_or(|beam| beam.distance(x, y).abs() > beam.half));
    }
    Truth {
        index,
        bbox,
        center: [pose.x, pose.y],
        scale: pose.scale,
        angle: pose.degrees,
        visible: f64::from(seen) / f64::from(all.max(1)),
        in_view: bbox.visible_share(size.0 as usize, size.1 as usize) > 0.0,
    }
}

#[cfg(test)]
mod motion_tests {
    use super::super::params::Preset;
    use super::*;

    #[test]
    fn speed_is_what_was_asked_for() {
        for speed in [0.5, 3.0, 12.0] {
            let motion = Motion::new(&SceneParams { motion: speed, ..SceneParams::default() });
            let frames = 20_000;
            let squares: f64 = (0..frames)
                .map(|i| {
                    let (a, b) = (motion.target(f64::from(i)), motion.target(f64::from(i) + 1e-3));
                    ((a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y)) / 1e-6
                })
                .sum();
            let measured = (squares / f64::from(frames)).sqrt();
            assert!((measured / speed - 1.0).abs() < 0.05, "{speed}: {measured}");
        }
    }

    #[test]
    fn jumps_have_their_length_and_stay_in_the_image() {
        let params = SceneParams { jump: 40.0, motion: 0.0, width: 800, height: 800, ..SceneParams::default() };
        let motion = Motion::new(&SceneParams { ..params.clone() });
        let steps: Vec<f64> = (1..200)
            .map(|i| {
                let (a, b) = (motion.target(f64::from(i - 1)), motion.target(f64::from(i)));
                ((a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y)).sqrt()
            })
            .collect();
        assert_eq!(steps.iter().filter(|s| **s > 1e-9).count(), 8);
        assert!(steps.iter().all(|s| *s < 1e-9 || (*s - 40.0).abs() < 1e-9));
        assert!((-300..300).all(|i| folded(f64::from(i), 7.5).abs() <= 7.5));
    }

    #[test]
    fn the_camera_stays_within_its_margin() {
        let motion = Motion::new(&SceneParams { camera: 20.0, ..Preset::Hard.params() });
        for i in 0..2000 {
            let (x, y) = motion.camera(f64::from(i));
            assert!(x.abs().max(y.abs()) <= motion.margin() as f64);
        }
    }

    #[test]
    fn beams_come_and_go_outside_of_the_image() {
        let motion =
            Motion::new(&SceneParams { occlusion: 0.5, motion: 3.0, out_of_view: true, ..SceneParams::default() });
        let outside = |beam: &Beam| {
            let corners = [(0.0, 0.0), (320.0, 0.0), (0.0, 240.0), (320.0, 240.0)].map(|(x, y)| beam.distance(x, y));
            corners.iter().all(|d| *d > beam.half) || corners.iter().all(|d| *d < -beam.half)
        };
        let mut seen = 0;
        for i in 0..600 {
            let (now, next) = (motion.beam(f64::from(i)).unwrap(), motion.beam(f64::from(i) + 1.0).unwrap());
            seen += usize::from(!outside(&now));
            assert!(now.normal == next.normal || (outside(&now) && outside(&next)), "frame {i}");
        }
        assert!(seen > 100);
    }
}

#[cfg(test)]
mod outline_tests {
    use super::*;

    #[test]
    fn extent_agrees_with_a_walk_along_the_outline() {
        let outline = Outline::new(19.0, 33.0);
        for degrees in [-170.0, -90.0, -33.3, 0.0, 7.0, 45.0, 88.0, 90.0, 180.0, 300.0] {
            let pose = Pose { x: 0.0, y: 0.0, scale: 1.3, degrees };
            let (mut w, mut h) = (0.0_f64, 0.0_f64);
            for step in 0..20_000 {
                let (sin, cos) = sin_cos(f64::from(step) * 360.0 / 20_000.0);
                let point = |value: f64, half: f64| half * value.signum() * value.abs().sqrt();
                let (x, y) = pose.to_image()(point(cos, 19.0), point(sin, 33.0));
                w = w.max(x.abs());
                h = h.max(y.abs());
            }
            let (exact_w, exact_h) = outline.half_extent(1.3, degrees);
            assert!((w - exact_w).abs() < 2e-4 && (h - exact_h).abs() < 2e-4, "{degrees}: {w} {exact_w} {h} {exact_h}");
        }
    }

    #[test]
    fn upright_boxes_are_exact() {
        let pose = Pose { x: 50.25, y: 40.0, scale: 1.0, degrees: 90.0 };
        assert_eq!(pose.bbox(Outline::new(10.0, 20.0)), BBox::new(30.25, 30.0, 40.0, 20.0));
    }

    #[test]
    fn the_outline_is_where_half_is_covered() {
        let outline = Outline::new(20.0, 30.0);
        assert!((outline.coverage(20.0, 0.0, 1.0) - 0.5).abs() < 1e-9);
        assert!((outline.coverage(0.0, -30.0, 1.0) - 0.5).abs() < 1e-9);
        assert_eq!(outline.coverage(0.0, 0.0, 1.0), 1.0);
        assert_eq!(outline.coverage(25.0, 0.0, 1.0), 0.0);
    }

    #[test]
    fn what_is_told_without_a_root_is_what_the_distance_says() {
        for (a, b) in [(20.0, 30.0), (3.0, 40.0), (0.7, 0.9), (120.0, 5.0)] {
            let outline = Outline::new(a, b);
            for soft in [0.5, 1.0, 4.0] {
                let (within, beyond) = outline.band(soft);
                let (mut told, mut all) = (0, 0);
                for step in 0..10_000 {
                    let (x, y) = (f64::from(step % 100) / 40.0 * a, f64::from(step / 100) / 40.0 * b);
                    let fourth = (x / a).powi(4) + (y / b).powi(4);
                    let radius = fourth.sqrt().sqrt();
                    let slope = ((x / a).powi(3) / a).hypot((y / b).powi(3) / b) / radius.powi(3);
                    let expected = match radius < 1e-6 {
                        true => 1.0,
                        false => (0.5 - (radius - 1.0) / slope / (SOFT * soft)).clamp(0.0, 1.0),
                    };
                    assert!((outline.coverage(x, y, soft) - expected).abs() < 1e-9, "{a} {b} {soft}: {x} {y}");
                    told += usize::from(fourth < within || fourth > beyond);
                    all += 1;
                }
                assert!(a.min(b) < 5.0 || 10 * told > 7 * all, "{a} {b} {soft}: {told} of {all}");
            }
        }
    }

    #[test]
    fn image_and_object_coordinates_invert_each_other() {
        let pose = Pose { x: 12.0, y: -3.5, scale: 0.7, degrees: 123.0 };
        let (x, y) = pose.to_image()(4.0, -9.0);
        let (u, v) = pose.to_object()(x, y);
        assert!((u - 4.0).abs() < 1e-12 && (v + 9.0).abs() < 1e-12);
    }
}
