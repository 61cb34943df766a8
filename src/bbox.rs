//! Boxes and how two of them compare.
//!
//! In memory and in JSON a box is `x, y, w, h` in pixels; `x, y` is the top-left corner, **0-based**. The first pixel of
//! an image covers the area from (0, 0) to (1, 1).

use serde::{Deserialize, Serialize};

/// An axis-aligned box: top-left corner `x, y` (0-based) and size `w, h`, all in pixels.
///
/// It is written to JSON as the array `[x, y, w, h]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "[f64; 4]", into = "[f64; 4]")]
pub struct BBox {
    /// Left edge, 0-based.
    pub x: f64,
    /// Top edge, 0-based.
    pub y: f64,
    /// Width.
    pub w: f64,
    /// Height.
    pub h: f64,
}

impl BBox {
    /// A box from its top-left corner (0-based) and its size, in pixels.
    pub const fn new(x: f64, y: f64, w: f64, h: f64) -> Self {
        Self { x, y, w, h }
    }

    /// The smallest axis-aligned box around a polygon `x1, y1, x2, y2, …`; `None` for fewer than three corners, an odd
    /// count or a number that is not finite.
    pub fn around_polygon(corners: &[f64]) -> Option<Self> {
        if corners.len() < 6 || !corners.len().is_multiple_of(2) || corners.iter().any(|v| !v.is_finite()) {
            return None;
        }
        let span = |first: usize| {
            let axis = corners.iter().skip(first).step_by(2);
            axis.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), &v| (lo.min(v), hi.max(v)))
        };
        let (left, right) = span(0);
        let (top, bottom) = span(1);
        Some(Self::new(left, top, right - left, bottom - top))
    }

    /// Whether all four numbers are finite and the size is positive.
    pub fn is_valid(&self) -> bool {
        self.is_finite() && self.w > 0.0 && self.h > 0.0
    }

    /// Whether all four numbers are finite.
    pub(crate) fn is_finite(&self) -> bool {
        [self.x, self.y, self.w, self.h].iter().all(|v| v.is_finite())
    }

    /// The centre `(x, y)`.
    pub fn center(&self) -> (f64, f64) {
        (self.x + self.w / 2.0, self.y + self.h / 2.0)
    }

    /// Width times height; 0 for a box of no size.
    pub fn area(&self) -> f64 {
        self.w.max(0.0) * self.h.max(0.0)
    }

    /// The common area of two boxes, in square pixels.
    pub fn intersection(&self, other: &Self) -> f64 {
        let w = (self.x + self.w).min(other.x + other.w) - self.x.max(other.x);
        let h = (self.y + self.h).min(other.y + other.h) - self.y.max(other.y);
        if w > 0.0 && h > 0.0 { w * h } else { 0.0 }
    }

    /// Intersection over union, 0 to 1. Boxes of no size overlap nothing.
    pub fn overlap(&self, other: &Self) -> f64 {
        let common = self.intersection(other);
        let union = self.area() + other.area() - common;
        if common > 0.0 && union > 0.0 { common / union } else { 0.0 }
    }

    /// Euclidean distance of the two centres, in pixels.
    pub fn center_error(&self, other: &Self) -> f64 {
        let (ax, ay) = self.center();
        let (bx, by) = other.center();
        (ax - bx).hypot(ay - by)
    }

    /// The box moved by `dx, dy` pixels.
    pub fn translated(&self, dx: f64, dy: f64) -> Self {
        Self::new(self.x + dx, self.y + dy, self.w, self.h)
    }

    /// The share of the box that lies on an image of `width` x `height` pixels, 0 to 1.
    pub fn visible_share(&self, width: usize, height: usize) -> f64 {
        let image = Self::new(0.0, 0.0, width as f64, height as f64);
        let area = self.area();
        if area > 0.0 { self.intersection(&image) / area } else { 0.0 }
    }
}

impl From<[f64; 4]> for BBox {
    fn from([x, y, w, h]: [f64; 4]) -> Self {
        Self::new(x, y, w, h)
    }
}

impl From<BBox> for [f64; 4] {
    fn from(b: BBox) -> Self {
        [b.x, b.y, b.w, b.h]
    }
}

/// A rectangle that is turned about its centre.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Turned {
    pub center: (f64, f64),
    /// Width and height.
    pub size: (f64, f64),
    /// In radians, clockwise.
    pub angle: f64,
}

impl Turned {
    /// The upright box around the ellipse in it.
    pub fn bbox(&self) -> BBox {
        let ((x, y), (mut w, mut h)) = (self.center, self.size);
        if self.angle != 0.0 {
            let (sin, cos) = libm::sincos(self.angle);
            (w, h) = (libm::hypot(w * cos, h * sin), libm::hypot(w * sin, h * cos));
        }
        BBox::new(x - w / 2.0, y - h / 2.0, w, h)
    }

    /// Its corners `x1, y1, …, x4, y4`, in the order of an upright box from its upper left one clockwise; `None` where it
    /// has not turned.
    pub fn corners(&self) -> Option<[f64; 8]> {
        let (w, h) = (self.size.0 / 2.0, self.size.1 / 2.0);
        let (sin, cos) = libm::sincos(self.angle);
        let corner = |x: f64, y: f64| (self.center.0 + cos * x - sin * y, self.center.1 + sin * x + cos * y);
        let [a, b, c, d] = [corner(-w, -h), corner(w, -h), corner(w, h), corner(-w, h)];
        (self.angle != 0.0).then_some([a.0, a.1, b.0, b.1, c.0, c.1, d.0, d.1])
    }
}

/// From its corners.
impl From<[f64; 8]> for Turned {
    fn from([ax, ay, bx, by, cx, cy, dx, dy]: [f64; 8]) -> Self {
        let size = ((bx - ax).hypot(by - ay), (dx - ax).hypot(dy - ay));
        Self { center: ((ax + bx + cx + dx) / 4.0, (ay + by + cy + dy) / 4.0), size, angle: (by - ay).atan2(bx - ax) }
    }
}

impl From<BBox> for Turned {
    fn from(bbox: BBox) -> Self {
        Self { center: bbox.center(), size: (bbox.w, bbox.h), angle: 0.0 }
    }
}

impl std::fmt::Display for BBox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (separator, value) in [("", self.x), (",", self.y), (",", self.w), (",", self.h)] {
            // An exponent keeps huge and tiny numbers short; f64 can have three hundred digits.
            match value.abs() {
                size if size.is_finite() && (size >= 1e15 || (size > 0.0 && size < 1e-9)) => {
                    write!(f, "{separator}{value:e}")?;
                }
                _ => write!(f, "{separator}{value}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlap_of_half_shifted_boxes_is_a_third() {
        let a = BBox::new(0.0, 0.0, 10.0, 10.0);
        assert!((a.overlap(&a.translated(5.0, 0.0)) - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(a.overlap(&a.translated(10.0, 0.0)), 0.0);
        assert_eq!(a.overlap(&a), 1.0);
        assert_eq!(a.overlap(&BBox::new(1.0, 1.0, 0.0, 0.0)), 0.0);
    }

    #[test]
    fn center_error_is_euclidean() {
        let a = BBox::new(0.0, 0.0, 10.0, 20.0);
        assert_eq!(a.center_error(&a.translated(3.0, 4.0)), 5.0);
    }

    #[test]
    fn a_polygon_becomes_its_bounding_box() {
        let b = BBox::around_polygon(&[5.0, 1.0, 9.0, 4.0, 6.0, 8.0, 2.0, 5.0]).unwrap();
        assert_eq!(b, BBox::new(2.0, 1.0, 7.0, 7.0));
        assert!(BBox::around_polygon(&[1.0, 2.0, 3.0, 4.0]).is_none());
        assert!(BBox::around_polygon(&[1.0, 2.0, 3.0, 4.0, f64::NAN, 6.0]).is_none());
    }

    #[test]
    fn json_is_an_array() {
        let b = BBox::new(1.0, 2.5, 3.0, 4.0);
        assert_eq!(serde_json::to_string(&b).unwrap(), "[1.0,2.5,3.0,4.0]");
        assert_eq!(serde_json::from_str::<BBox>("[1,2.5,3,4]").unwrap(), b);
    }

    #[test]
    fn visible_share_counts_what_lies_on_the_image() {
        assert_eq!(BBox::new(-5.0, 0.0, 10.0, 10.0).visible_share(100, 100), 0.5);
        assert_eq!(BBox::new(200.0, 0.0, 10.0, 10.0).visible_share(100, 100), 0.0);
    }
}
