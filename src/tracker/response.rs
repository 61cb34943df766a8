//! The response map of one frame, and where its elements lie on the image.

use ndarray::{Array2, ArrayView2, Axis, Slice};

/// Where the element of no motion stands in a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseLayout {
    /// At `[0, 0]`, negative shifts wrapped around to the far end: what an inverse FFT gives.
    Wrapped,
    /// At [`ResponseMap::middle`]: what a person wants to see.
    Centered,
}

/// A detector's score for every translation of its search window: rows are vertical shifts, columns horizontal ones.
#[derive(Clone, Copy, Debug)]
pub struct ResponseMap<'a> {
    /// The scores, `[row, column]`.
    pub values: ArrayView2<'a, f32>,
    /// Where the element of no motion stands.
    pub layout: ResponseLayout,
    /// The target's centre `(x, y)` on the image that the element of no motion stands for, in 0-based pixels as
    /// [`BBox::center`](crate::BBox::center) gives it.
    pub center: (f64, f64),
    /// Pixels of the image from one column to the next and from one row to the next, `(x, y)`.
    pub step: (f64, f64),
    /// By how much the map is turned on the image, in radians, clockwise as one sees it: that of the search window of
    /// a target whose angle is followed, else 0.
    pub angle: f64,
}

impl ResponseMap<'_> {
    /// Row and column of the element of no motion in the centred map. Of a map that wraps around, as many elements
    /// stand before it as `peak::displacement` reads as negative; a map that does not has as many before it as after,
    /// or one more.
    pub fn middle(&self) -> (usize, usize) {
        let negative = |n: usize| match self.layout {
            ResponseLayout::Wrapped if n > 1 => n.div_ceil(2),
            ResponseLayout::Wrapped => 0,
            ResponseLayout::Centered => n / 2,
        };
        (negative(self.values.nrows()), negative(self.values.ncols()))
    }

    /// How far element `[row, column]` of the centred map lies from the one of no motion, in pixels of the image
    /// `(x, y)`.
    pub fn motion(&self, (row, column): (usize, usize)) -> (f64, f64) {
        let (middle_row, middle_column) = self.middle();
        let right = (column as f64 - middle_column as f64) * self.step.0;
        let down = (row as f64 - middle_row as f64) * self.step.1;
        let (sin, cos) = libm::sincos(self.angle);
        (cos * right - sin * down, sin * right + cos * down)
    }

    /// The target's centre `(x, y)` on the image for element `[0, 0]` of the centred map. Element `[r, c]` then stands
    /// for the centre `origin + (cos a * c * step.0 - sin a * r * step.1, sin a * c * step.0 + cos a * r * step.1)`,
    /// `a` being the [angle](Self::angle): where that is 0, `(origin.0 + c * step.0, origin.1 + r * step.1)`.
    pub fn origin(&self) -> (f64, f64) {
        let (x, y) = self.motion((0, 0));
        (self.center.0 + x, self.center.1 + y)
    }

    /// A copy with the element of no motion in the middle (`fftshift` for a wrapped map).
    pub fn centered(&self) -> Array2<f32> {
        let mut shifted = Array2::zeros(self.values.raw_dim());
        let (row, column) = match self.layout {
            ResponseLayout::Wrapped => self.middle(),
            ResponseLayout::Centered => (0, 0),
        };
        for (to_rows, from_rows) in halves(self.values.nrows(), row) {
            for (to_columns, from_columns) in halves(self.values.ncols(), column) {
                let from = self.values.slice_axis(Axis(0), from_rows);
                let mut to = shifted.slice_axis_mut(Axis(0), to_rows);
                to.slice_axis_mut(Axis(1), to_columns).assign(&from.slice_axis(Axis(1), from_columns));
            }
        }
        shifted
    }
}

/// The two pieces, each as (to, from), in which `length` elements move forward by `shift` with wrap-around.
fn halves(length: usize, shift: usize) -> [(Slice, Slice); 2] {
    [
        (Slice::from(shift..length), Slice::from(0..length - shift)),
        (Slice::from(0..shift), Slice::from(length - shift..length)),
    ]
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    fn map(values: &Array2<f32>, layout: ResponseLayout) -> ResponseMap<'_> {
        ResponseMap { values: values.view(), layout, center: (100.0, 50.0), step: (4.0, 8.0), angle: 0.0 }
    }

    #[test]
    fn no_motion_moves_to_the_middle() {
        let odd = array![[0.0, 1.0, -1.0], [10.0, 11.0, 9.0], [-10.0, -9.0, -11.0]];
        assert_eq!(
            map(&odd, ResponseLayout::Wrapped).centered(),
            array![[11.0, 9.0, 10.0], [-9.0, -11.0, -10.0], [1.0, -1.0, 0.0]]
        );
        let even = array![[0.0, 1.0, -2.0, -1.0]];
        assert_eq!(map(&even, ResponseLayout::Wrapped).centered(), array![[-2.0, -1.0, 0.0, 1.0]]);
        assert_eq!(map(&even, ResponseLayout::Centered).centered(), even);
        let empty = Array2::zeros((0, 3));
        assert_eq!(map(&empty, ResponseLayout::Wrapped).centered(), empty);
    }

    #[test]
    fn the_middle_lies_at_the_centre() {
        for (rows, columns) in [(5, 8), (4, 7), (1, 1)] {
            let values = Array2::zeros((rows, columns));
            for layout in [ResponseLayout::Wrapped, ResponseLayout::Centered] {
                let map = map(&values, layout);
                let ((row, column), (x, y)) = (map.middle(), map.origin());
                assert_eq!((x + column as f64 * 4.0, y + row as f64 * 8.0), (100.0, 50.0));
            }
            assert_eq!(map(&values, ResponseLayout::Centered).middle(), (rows / 2, columns / 2));
        }
    }

    #[test]
    fn a_map_that_is_turned_by_a_right_angle_has_its_columns_below_each_other() {
        let values = Array2::zeros((5, 7));
        let angle = std::f64::consts::FRAC_PI_2;
        let map = ResponseMap { step: (4.0, 4.0), angle, ..map(&values, ResponseLayout::Centered) };
        let near = |a: (f64, f64), b: (f64, f64)| (a.0 - b.0).hypot(a.1 - b.1) < 1e-9;
        assert_eq!(map.motion(map.middle()), (0.0, 0.0));
        // One column on: clockwise on a screen, to the right becomes down.
        assert!(near(map.motion((2, 4)), (0.0, 4.0)), "{:?}", map.motion((2, 4)));
        assert!(near(map.motion((3, 3)), (-4.0, 0.0)), "{:?}", map.motion((3, 3)));
        // The first element, two rows and three columns before the middle.
        assert!(near(map.origin(), (100.0 + 2.0 * 4.0, 50.0 - 3.0 * 4.0)), "{:?}", map.origin());
    }
}
