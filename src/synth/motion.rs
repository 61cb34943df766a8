//! Poses at a moment: paths, events, the target's outline and the truth of a frame.

use std::f64::consts::TAU;

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

use super::Scene;
use super::paint::smooth_step;
use crate::bbox::BBox;

/// Frames from one beam, and from one departure, to the next.
const PERIOD: f64 = 110.0;
/// Frames in which the target leaves, and for which it stays away.
const LEAVE: f64 = 18.0;
const AWAY: f64 = 10.0;
/// Frames between two jumps.
const JUMP_EVERY: f64 = 24.0;

/// The place of the target in one frame, and its visible share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Truth {
    /// 0-based number of the frame.
    pub index: usize,
    /// The smallest axis-aligned box around the whole target as it is scaled and turned, also where it is hidden or
    /// outside of the image. 0-based, in pixels.
    pub bbox: BBox,
    /// The centre of the target and of its box: x and y in pixels, 0-based.
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

impl Scene {
    /// The truth of frame `index`, without painting it. Frames beyond the last one exist too: the scene goes on.
    pub fn truth(&self, index: usize) -> Truth {
        let t = index as f64;
        let (pose, (width, height)) = (self.target_pose(t), self.image_size());
        let beam = self.beam(t).map(|beam| (beam.pose.to_object(), beam.half));
        let (to_image, bbox) = (pose.to_image(), pose.bbox(self.target.outline));
        let (mut all, mut seen) = (0_u32, 0_u32);
        for (u, v) in self.target.outline.points(128) {
            let (x, y) = to_image(u, v);
            let is_inside = (0.0..width).contains(&x) && (0.0..height).contains(&y);
            all += 1;
            seen += u32::from(is_inside && beam.as_ref().is_none_or(|(to_beam, half)| to_beam(x, y).0.abs() > *half));
        }
        Truth {
            index,
            bbox,
            center: [pose.x, pose.y],
            scale: pose.scale,
            angle: pose.degrees,
            visible: f64::from(seen) / f64::from(all),
            in_view: bbox.visible_share(self.params.width as usize, self.params.height as usize) > 0.0,
        }
    }

    /// Width and height of the image.
    pub(super) fn image_size(&self) -> (f64, f64) {
        (self.params.width.into(), self.params.height.into())
    }

    /// How far the background has moved, in pixels: at most `camera_reach` along each axis.
    pub(super) fn camera(&self, t: f64) -> (f64, f64) {
        let reach = self.params.camera_reach();
        let (x, y) = path(self.params.seed, "camera", 0, self.params.camera, (reach, reach), t);
        (x * reach, y * reach)
    }

    /// The pose of the target, which may be leaving the image, away, or coming back.
    pub(super) fn target_pose(&self, t: f64) -> Pose {
        let params = &self.params;
        let scale = libm::exp(libm::log(1.0 + params.scale) * swing(self.params.seed, "scale", 90.0, 150.0, t));
        // Adding zero turns -0 into 0.
        let degrees = params.rotation * swing(self.params.seed, "angle", 70.0, 120.0, t) + 0.0;
        let ((width, _), (mut x, y)) = (self.image_size(), self.on_path(t));
        if params.out_of_view {
            let away = (AWAY + params.hold) / 2.0;
            let middle = nearest(uniform(&mut stream(self.params.seed, "departure", 0), 74.0, 92.0).round(), t);
            let gone = smooth_step(away + LEAVE, away, (t - middle).abs());
            let beyond = self.largest.0 / 2.0 + 6.0;
            let outside = if self.on_path(middle).0 < width / 2.0 { -beyond } else { width + beyond };
            x += (outside - x) * gone;
        }
        Pose { x, y, scale, degrees }
    }

    /// The target's centre on its path with its jumps.
    fn on_path(&self, t: f64) -> (f64, f64) {
        let ((width, height), jump) = (self.image_size(), self.params.jump);
        let room = |side: f64, largest: f64| (side / 2.0 - largest / 2.0 - 1.0).max(0.0);
        let reach = (room(width, self.largest.0), room(height, self.largest.1));
        let path = |t| path(self.params.seed, "target", 0, self.params.motion, reach, t);
        let (x, y) = path(t);
        let (mut x, mut y) = (x * reach.0, y * reach.1);
        let jumps = ((t + 0.5) / JUMP_EVERY).floor();
        if jump > 0.0 && jumps % 2.0 == 1.0 {
            let (sin, cos) = sin_cos(90.0 * fraction(bits(self.params.seed, "jump", jumps as u64), 0));
            // The jump goes towards the middle of the image, so it rarely meets the border.
            let (from_x, from_y) = path(jumps * JUMP_EVERY - 0.5);
            x = mirrored(x - jump * cos.copysign(from_x), reach.0);
            y = mirrored(y - jump * sin.copysign(from_y), reach.1);
        }
        (width / 2.0 + x, height / 2.0 + y)
    }

    /// The look-alikes, which the camera moves with the ground.
    pub(super) fn clutter_poses(&self, t: f64) -> impl Iterator<Item = Pose> + '_ {
        let ((dx, dy), (width, height)) = (self.camera(t), self.image_size());
        let reach = (width / 2.0, height / 2.0);
        (0..self.params.clutter as u64).map(move |i| {
            let (x, y) = path(self.params.seed, "clutter", i, 0.8 * self.params.motion, reach, t);
            let turn = uniform(&mut stream(self.params.seed, "clutter turn", i), -35.0, 35.0);
            let degrees = turn + 12.0 * swing(self.params.seed, &format!("clutter angle {i}"), 60.0, 140.0, t);
            Pose { x: reach.0 * (1.0 + x) + dx, y: reach.1 * (1.0 + y) + dy, scale: 1.0, degrees }
        })
    }

    /// The beam of the nearest event, which may be outside of the image.
    ///
    /// It covers the target's centre in the event's frame and follows the target for `hold` frames. Before and after
    /// that it moves in the opposite direction.
    pub(super) fn beam(&self, t: f64) -> Option<Beam> {
        if self.params.occlusion == 0.0 {
            return None;
        }
        let stay = self.params.hold / 2.0;
        // The target is clear in frame 0, however long the beam stays.
        let first = uniform(&mut stream(self.params.seed, "beam", 0), 34.0, 46.0).round().max(stay + 20.0);
        let event = nearest(first, t);
        let near = t.clamp(event - stay, event + stay);
        let bits = bits(self.params.seed, "beam", 1 + ((event - first) / PERIOD) as u64);
        let turn = -40.0 + 80.0 * fraction(bits, 0) + if fraction(bits, 1) < 0.4 { 90.0 } else { 0.0 };
        let target = self.target_pose(near);
        let mut pose = Pose { scale: 1.0, degrees: turn, ..target };
        // The beam hides the points closer to its middle line than its half width: a quantile of their distances.
        let (to_image, to_beam) = (target.to_image(), pose.to_object());
        let points = self.target.outline.points(48).map(|(u, v)| to_image(u, v));
        let mut distances: Vec<f64> = points.map(|(x, y)| to_beam(x, y).0.abs()).collect();
        distances.sort_unstable_by(f64::total_cmp);
        let place = (self.params.occlusion * distances.len() as f64) as usize;
        let half = distances.get(place).copied().unwrap_or_else(|| distances[distances.len() - 1] + 2.0);
        // The beam passes the target in some 16 frames, and leaves the image before the next one comes.
        let (width, height) = self.image_size();
        let outside = (width * width + height * height).sqrt() + self.largest.0 + half + 16.0;
        let (half_extent, _) = self.target.outline.half_extent(target.scale, target.degrees - turn);
        let speed = ((half_extent + half) / 8.0).max(outside / (0.5 * PERIOD - stay));
        let (before, after) = (self.target_pose(near - 1.0), self.target_pose(near + 1.0));
        let (sin, cos) = sin_cos(turn);
        let approach = (after.x - before.x) * cos + (after.y - before.y) * sin;
        let way = (t - near) * if approach > 0.0 { -speed } else { speed };
        pose.x += way * cos;
        pose.y += way * sin;
        Some(Beam { pose, half })
    }
}

/// The event nearest to `t` of those that happen every [`PERIOD`] from `first` on.
fn nearest(first: f64, t: f64) -> f64 {
    first + ((t - first) / PERIOD).round().max(0.0) * PERIOD
}

/// A smooth path within -1 to 1 in both directions (Lissajous, with a second harmonic that never closes it). Stretched
/// by `reach` pixels to each side, it has the root mean square `speed` in pixels per frame.
fn path(seed: u32, tag: &str, index: u64, speed: f64, reach: (f64, f64), t: f64) -> (f64, f64) {
    // Sums of sines of rates without a common period.
    const RATES: [[f64; 2]; 2] = [[1.0, 2.3], [1.37, 2.9]];
    const STRENGTHS: [f64; 2] = [0.72, 0.28];
    let energy = |reach: f64, rates: [f64; 2]| {
        let term = |i: usize| reach * STRENGTHS[i] * rates[i];
        (term(0) * term(0) + term(1) * term(1)) / 2.0
    };
    let natural = (energy(reach.0, RATES[0]) + energy(reach.1, RATES[1])).sqrt();
    let pace = if natural > 1e-9 { speed / natural } else { 0.0 };
    let mut rng = stream(seed, tag, index);
    let mut wave = |strength: f64, rate: f64| strength * libm::sin(pace * rate * t + uniform(&mut rng, 0.0, TAU));
    RATES.map(|rates| wave(STRENGTHS[0], rates[0]) + wave(STRENGTHS[1], rates[1])).into()
}

/// A slow swing from -1 to 1 that is 0 in frame 0, with a period of `lo` to `hi` frames.
pub(super) fn swing(seed: u32, tag: &str, lo: f64, hi: f64, t: f64) -> f64 {
    let mut rng = stream(seed, tag, 0);
    let rate = TAU / uniform(&mut rng, lo, hi);
    let sign = if uniform(&mut rng, -1.0, 1.0) < 0.0 { -1.0 } else { 1.0 };
    sign * libm::sin(rate * t)
}

/// `value` mirrored at `-reach` and `reach` until it lies between them.
fn mirrored(value: f64, reach: f64) -> f64 {
    if reach <= 0.0 {
        return 0.0;
    }
    let along = (value + reach).rem_euclid(4.0 * reach);
    if along <= 2.0 * reach { along - reach } else { 3.0 * reach - along }
}

/// A straight beam across the image.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beam {
    /// The point of its middle line that crosses the target. In its own coordinates `x` is the distance from the middle
    /// line, and `y` the place along it.
    pub(super) pose: Pose,
    /// Half its width.
    pub(super) half: f64,
}

/// The superellipse `(x / a)^4 + (y / b)^4 = 1`: a rectangle with generously rounded corners.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outline {
    pub(super) a: f64,
    pub(super) b: f64,
}

impl Outline {
    /// The outline of a target of `width` x `height` pixels.
    pub(super) fn new(width: u32, height: u32) -> Self {
        Self { a: f64::from(width) / 2.0, b: f64::from(height) / 2.0 }
    }

    /// Half the width and height of the axis-aligned box around the outline, scaled and turned by `degrees`.
    ///
    /// The support function of a superellipse of exponent p in the direction (u, v) is
    /// `(|a u|^q + |b v|^q)^(1/q)` with `1/p + 1/q = 1`; here p = 4 and q = 4/3.
    pub(super) fn half_extent(self, scale: f64, degrees: f64) -> (f64, f64) {
        let (sin, cos) = sin_cos(degrees);
        let support = |u: f64, v: f64| {
            let (u, v) = ((self.a * u).abs(), (self.b * v).abs());
            let sum = || libm::pow(u, 4.0 / 3.0) + libm::pow(v, 4.0 / 3.0);
            // At right angles the power would only round what is exact.
            if u == 0.0 || v == 0.0 { u + v } else { libm::pow(sum(), 0.75) }
        };
        (scale * support(cos, sin), scale * support(sin, cos))
    }

    /// 1 inside, 0 outside, and a linear step of about `width` pixels across the outline, for a point in the target's
    /// own coordinates.
    pub(super) fn coverage(self, x: f64, y: f64, width: f64) -> f64 {
        let (u, v) = (x / self.a, y / self.b);
        let (u3, v3) = (u * u * u, v * v * v);
        let (fourth, margin) = (u3 * u + v3 * v, 0.7072 * width / self.a.min(self.b));
        // Most points are so far from the outline that their side follows without a root.
        if fourth < (1.0 - margin).powi(4) || fourth > (1.0 + margin).powi(4) {
            return f64::from(u8::from(fourth < 1.0));
        }
        let radius = fourth.sqrt().sqrt();
        // To first order the distance to the outline is (radius - 1) over the length of radius' gradient.
        let cube = radius * radius * radius;
        let (gx, gy) = (u3 / (cube * self.a), v3 / (cube * self.b));
        let distance = (radius - 1.0) / (gx * gx + gy * gy).sqrt();
        (0.5 - distance / width).clamp(0.0, 1.0)
    }

    /// The points within the outline of a regular grid of `count` x `count` over its box, in the target's own
    /// coordinates.
    pub(super) fn points(self, count: u32) -> impl Iterator<Item = (f64, f64)> {
        let place = move |i: u32| (f64::from(i) + 0.5) / f64::from(count) * 2.0 - 1.0;
        (0..count * count).map(move |i| (place(i % count) * self.a, place(i / count) * self.b)).filter(move |(x, y)| {
            let (u, v) = (x / self.a, y / self.b);
            u * u * u * u + v * v * v * v < 1.0
        })
    }
}

/// The pose of an object in the image: scaled, then turned about its centre (clockwise on the screen), then moved.
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

    /// Maps image coordinates to the object's own, whose origin is its centre.
    pub(super) fn to_object(self) -> impl Fn(f64, f64) -> (f64, f64) {
        let (sin, cos) = sin_cos(self.degrees);
        let (sin, cos) = (sin / self.scale, cos / self.scale);
        move |x, y| {
            let (dx, dy) = (x - self.x, y - self.y);
            (cos * dx + sin * dy, cos * dy - sin * dx)
        }
    }

    /// Maps the object's own coordinates to the image's.
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
    [(sin, cos), (cos, -sin), (-sin, -cos), (-cos, sin)][turns.rem_euclid(4.0) as usize % 4]
}

/// A generator for one purpose (`tag`) and one item of it (`index`, a frame or an object).
pub(super) fn stream(seed: u32, tag: &str, index: u64) -> Pcg64Mcg {
    let mixed = tag.bytes().fold(mix(seed.into()), |hash, byte| mix(hash ^ u64::from(byte)));
    Pcg64Mcg::seed_from_u64(mix(mixed ^ index))
}

/// 64 random bits for one purpose.
pub(super) fn bits(seed: u32, tag: &str, index: u64) -> u64 {
    stream(seed, tag, index).next_u64()
}

/// A number in `lo..hi` with 53 random bits.
pub(super) fn uniform(rng: &mut Pcg64Mcg, lo: f64, hi: f64) -> f64 {
    lo + (hi - lo) * ((rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64)
}

/// SplitMix64's finaliser: every bit of the input turns about half of the output's bits.
pub(super) fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The `slot`-th (0 to 3) number in 0..1 out of 64 bits.
pub(super) fn fraction(bits: u64, slot: u32) -> f64 {
    f64::from((bits >> (16 * slot)) as u16) / 65_536.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extent_agrees_with_a_walk_along_the_outline() {
        let outline = Outline::new(38, 66);
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
    fn mirrored_values_stay_within_reach() {
        assert!((-300..300).all(|i| mirrored(f64::from(i), 7.5).abs() <= 7.5));
        assert_eq!([mirrored(8.0, 7.5), mirrored(-7.0, 7.5), mirrored(3.0, 0.0)], [7.0, -7.0, 0.0]);
    }
}
