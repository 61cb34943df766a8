//! Where a target is, how large and how far turned: what every search moves, and what a box is made of.

use crate::bbox::BBox;

/// A target's place on the frame, and its size and angle relative to the initial ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    /// The centre `(x, y)` in pixels of the frame, 0-based as [`BBox::center`].
    pub center: (f64, f64),
    /// The target's size now over that of the initial box, as roots of the areas.
    pub scale: f64,
    /// How far the target has turned in the picture since the initial box, in radians, positive from x to y: clockwise
    /// on a screen.
    pub angle: f64,
    /// The root of the ratio of width to height now, over that of the initial box: width grows by it, height shrinks.
    pub aspect: f64,
}

impl Pose {
    /// The pose of the initial box itself.
    pub fn of(bbox: BBox) -> Self {
        Self { center: bbox.center(), scale: 1.0, angle: 0.0, aspect: 1.0 }
    }

    /// The same size and angle at another place.
    #[must_use]
    pub fn at(self, center: (f64, f64)) -> Self {
        Self { center, ..self }
    }

    /// Width and height, before it has turned, of a target whose initial ones were `first`.
    pub fn size(&self, first: (f64, f64)) -> (f64, f64) {
        (first.0 * self.scale * self.aspect, first.1 * self.scale / self.aspect)
    }

    /// The box of a target whose initial width and height were `size`; of one that has turned the upright box around
    /// the ellipse in its turned box.
    pub fn bbox(&self, size: (f64, f64)) -> BBox {
        let (mut w, mut h) = self.size(size);
        if self.angle != 0.0 {
            let (sin, cos) = libm::sincos(self.angle);
            (w, h) = (libm::hypot(w * cos, h * sin), libm::hypot(w * sin, h * cos));
        }
        BBox::new(self.center.0 - w / 2.0, self.center.1 - h / 2.0, w, h)
    }

    /// The corners `x1, y1, …, x4, y4` of the turned box of a target whose initial width and height were `size`, in the
    /// order of an upright box from its upper left one clockwise; `None` where it has not turned.
    pub fn polygon(&self, size: (f64, f64)) -> Option<[f64; 8]> {
        let (w, h) = self.size(size);
        let (w, h) = (w / 2.0, h / 2.0);
        let (sin, cos) = libm::sincos(self.angle);
        let corner = |x: f64, y: f64| (self.center.0 + cos * x - sin * y, self.center.1 + sin * x + cos * y);
        let [a, b, c, d] = [corner(-w, -h), corner(w, -h), corner(w, h), corner(-w, h)];
        (self.angle != 0.0).then_some([a.0, a.1, b.0, b.1, c.0, c.1, d.0, d.1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pose_gives_its_box_back() {
        let bbox = BBox::new(10.5, -3.0, 31.0, 20.0);
        assert_eq!(Pose::of(bbox).bbox((31.0, 20.0)), bbox);
        let grown = Pose { scale: 2.0, ..Pose::of(bbox) }.at((40.0, 50.0)).bbox((31.0, 20.0));
        assert_eq!(grown, BBox::new(9.0, 30.0, 62.0, 40.0));
        // Turned by a right angle, width and height change places.
        let turned = Pose { angle: std::f64::consts::FRAC_PI_2, ..Pose::of(bbox) }.bbox((31.0, 20.0));
        assert!((turned.w - 20.0).abs() < 1e-9 && (turned.h - 31.0).abs() < 1e-9);
        assert!(turned.center_error(&bbox) < 1e-9);
    }

    #[test]
    fn a_turned_box_is_a_polygon() {
        let pose = Pose::of(BBox::new(10.0, 20.0, 30.0, 10.0));
        assert_eq!(pose.polygon((30.0, 10.0)), None);
        // By a right angle, clockwise on a screen: the upper left corner comes to the upper right.
        let turned = Pose { angle: std::f64::consts::FRAC_PI_2, ..pose }.polygon((30.0, 10.0)).unwrap();
        let expected = [30.0, 10.0, 30.0, 40.0, 20.0, 40.0, 20.0, 10.0];
        assert!(turned.iter().zip(expected).all(|(found, corner)| (found - corner).abs() < 1e-9), "{turned:?}");
        let doubled = Pose { angle: 0.3, scale: 2.0, ..pose }.polygon((30.0, 10.0)).unwrap();
        let side = (doubled[2] - doubled[0]).hypot(doubled[3] - doubled[1]);
        assert!((side - 60.0).abs() < 1e-9 && doubled[3] > doubled[1], "{doubled:?}");
    }
}
