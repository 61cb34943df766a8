//! The outline of the target: a superellipse, whose box under any rotation is known in closed form.

use crate::bbox::BBox;

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

#[cfg(test)]
mod tests {
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
