//! The response map of one frame: where its elements lie on the image, its peak, and how far the peak stands out.

use ndarray::{Array2, ArrayView2};

use super::Evidence;

/// The place of the element of no motion in a map.
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
    /// The place of the element of no motion.
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

impl<'a> ResponseMap<'a> {
    /// An upright map of `size` (rows, columns) elements, which lie `step` pixels of the image apart.
    pub(super) fn new(
        values: &'a [f32],
        size: (usize, usize),
        layout: ResponseLayout,
        center: (f64, f64),
        step: f64,
    ) -> Self {
        let values = ArrayView2::from_shape(size, values).expect("a value for each element");
        Self { values, layout, center, step: (step, step), angle: 0.0 }
    }

    /// Row and column of the element of no motion in the centred map. Of a map that wraps around, as many elements
    /// stand before it as `displacement` reads as negative; a map that does not has as many before it as after,
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
        let (rows, cols) = self.values.dim();
        let (row, col) = match self.layout {
            ResponseLayout::Wrapped => self.middle(),
            ResponseLayout::Centered => (0, 0),
        };
        Array2::from_shape_fn((rows, cols), |(r, c)| self.values[[(r + rows - row) % rows, (c + cols - col) % cols]])
    }
}

/// The place (row, column) of the peak of `response`, of `size` (rows, columns): the first maximum in *column-major* order
/// as the published code has it. NaN never wins.
pub fn highest(response: &[f32], (_, cols): (usize, usize)) -> (usize, usize) {
    let (mut place, mut value) = ((0, 0), f32::NEG_INFINITY);
    for (r, line) in response.chunks_exact(cols).enumerate() {
        for (c, &v) in line.iter().enumerate() {
            if v > value || (v == value && c < place.1) {
                (place, value) = ((r, c), v);
            }
        }
    }
    place
}

/// The value of `response`, of `size` (rows, columns), at `place` and how far the value stands out, whether it is the
/// highest or not; `radius` cells around it do not count as sidelobe. Distances go round the borders only where the map
/// does.
pub fn evidence_at(
    response: &[f32],
    (rows, cols): (usize, usize),
    (row, col): (usize, usize),
    radius: usize,
    layout: ResponseLayout,
) -> Evidence {
    let value = response[row * cols + col];
    let min = response.iter().copied().fold(f32::INFINITY, f32::min);
    let near = |a: usize, b: usize, n: usize| {
        let straight = a.abs_diff(b);
        match layout {
            ResponseLayout::Wrapped => straight.min(n - straight) <= radius,
            ResponseLayout::Centered => straight <= radius,
        }
    };
    let (mut side, mut side_squares, mut count, mut energy) = (0.0f64, 0.0f64, 0usize, 0.0f64);
    for (r, line) in response.chunks_exact(cols).enumerate() {
        let near_row = near(r, row, rows);
        for (c, &v) in line.iter().enumerate() {
            let above = f64::from(v) - f64::from(min);
            energy += above * above;
            if !(near_row && near(c, col, cols)) {
                side += above;
                side_squares += above * above;
                count += 1;
            }
        }
    }
    let height = f64::from(value) - f64::from(min);
    let mean = side / count.max(1) as f64;
    let deviation = (side_squares / count.max(1) as f64 - mean * mean).max(0.0).sqrt();
    let ratio = |a: f64, b: f64| if b > 0.0 && a.is_finite() { (a / b) as f32 } else { 0.0 };
    let (psr, apce) = (ratio(height - mean, deviation), ratio(height * height, energy / response.len() as f64));
    Evidence { peak: value, psr, apce, ..Evidence::default() }
}

/// Signed displacement of a peak at index `i` of `n`, as the published code wraps it: the second half is negative, and
/// at an odd length so is the middle.
pub fn displacement(i: usize, n: usize) -> i64 {
    if 2 * (i + 1) > n && n > 1 { i as i64 - n as i64 } else { i as i64 }
}

/// The top of a parabola through three neighbouring values, from the one in the middle, which is the highest: -0.5 to
/// 0.5; 0 where there is no top.
fn vertex(before: f64, peak: f64, after: f64) -> f64 {
    let curvature = before - 2.0 * peak + after;
    let offset = 0.5 * (before - after) / curvature;
    if curvature < 0.0 && offset.is_finite() { offset.clamp(-0.5, 0.5) } else { 0.0 }
}

/// How far the maximum of a parabola through the value at `place` (row, column) and its neighbours, in rows and in
/// columns, lies beside it: -0.5 to 0.5 cells each; 0 at a border that is one.
pub fn between_cells(
    value: impl Fn(usize, usize) -> f64,
    (rows, cols): (usize, usize),
    (row, col): (usize, usize),
    layout: ResponseLayout,
) -> (f64, f64) {
    let neighbours = |i: usize, n: usize| match layout {
        ResponseLayout::Wrapped => Some(((i + n - 1) % n, (i + 1) % n)),
        ResponseLayout::Centered => (i > 0 && i + 1 < n).then(|| (i - 1, i + 1)),
    };
    let peak = value(row, col);
    let along_rows = neighbours(row, rows).map_or(0.0, |(up, down)| vertex(value(up, col), peak, value(down, col)));
    let along_cols =
        neighbours(col, cols).map_or(0.0, |(left, right)| vertex(value(row, left), peak, value(row, right)));
    (along_rows, along_cols)
}

/// The place (row, column) of the highest value in a map with no motion in the middle, and how far a parabola's maximum lies
/// beside it. In a map of equal values the target has not moved.
pub fn highest_from_middle(
    value: impl Fn(usize) -> f32,
    (rows, cols): (usize, usize),
    layout: ResponseLayout,
) -> ((usize, usize), (f64, f64)) {
    let middle = rows / 2 * cols + cols / 2;
    let (mut best, mut highest) = (middle, Some(value(middle)).filter(|v| !v.is_nan()).unwrap_or(f32::NEG_INFINITY));
    for i in 0..rows * cols {
        let value = value(i);
        if value > highest {
            (best, highest) = (i, value);
        }
    }
    let place = (best / cols, best % cols);
    (place, between_cells(|r, c| f64::from(value(r * cols + c)), (rows, cols), place, layout))
}

#[cfg(test)]
mod tests {
    use super::ResponseLayout::{Centered, Wrapped};
    use super::*;
    use ndarray::array;

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
        // The map is turned by a right angle clockwise: one column to the right is a motion down.
        assert!(near(map.motion((2, 4)), (0.0, 4.0)), "{:?}", map.motion((2, 4)));
        assert!(near(map.motion((3, 3)), (-4.0, 0.0)), "{:?}", map.motion((3, 3)));
        // The first element, two rows and three columns before the middle.
        assert!(near(map.origin(), (100.0 + 2.0 * 4.0, 50.0 - 3.0 * 4.0)), "{:?}", map.origin());
    }

    fn between(map: &[f32], size: (usize, usize), place: (usize, usize), layout: ResponseLayout) -> (f64, f64) {
        between_cells(|r, c| f64::from(map[r * size.1 + c]), size, place, layout)
    }

    #[test]
    fn the_vertex_of_a_parabola_is_found_between_cells() {
        // A parabola with its top at (0.25, -0.4), wrapped.
        let (rows, cols) = (7, 6);
        let value = |r: usize, c: usize| {
            let wrap = |i: usize, n: usize| if 2 * i > n { i as f64 - n as f64 } else { i as f64 };
            (1.0 - (wrap(r, rows) - 0.25).powi(2) - 0.5 * (wrap(c, cols) + 0.4).powi(2)) as f32
        };
        let map: Vec<f32> = (0..rows * cols).map(|i| value(i / cols, i % cols)).collect();
        let (r, c) = between(&map, (rows, cols), (0, 0), Wrapped);
        assert!((r - 0.25).abs() < 1e-5 && (c + 0.4).abs() < 1e-5, "{r}, {c}");
        // The shift is 0 at a border, on a plain, in a single cell, and beside NaN.
        assert_eq!(between(&map, (rows, cols), (0, 0), Centered), (0.0, 0.0));
        assert_eq!(between(&[0.5; 9], (3, 3), (1, 1), Wrapped), (0.0, 0.0));
        assert_eq!(between(&[0.5], (1, 1), (0, 0), Wrapped), (0.0, 0.0));
        assert_eq!(between(&[f32::NAN; 9], (3, 3), (0, 0), Wrapped), (0.0, 0.0));
    }

    #[test]
    fn the_first_maximum_in_column_order_wins() {
        let mut map = vec![0.0; 12];
        map[1] = 2.0; // row 0, column 1
        map[4] = 2.0; // row 1, column 0
        assert_eq!(highest(&map, (3, 4)), (1, 0));
    }

    #[test]
    fn displacements_wrap_as_published() {
        let wrapped = |n: usize| (0..n).map(|i| displacement(i, n)).collect::<Vec<_>>();
        assert_eq!(wrapped(6), [0, 1, 2, -3, -2, -1]);
        assert_eq!(wrapped(5), [0, 1, -3, -2, -1]);
        assert_eq!(wrapped(1), [0]);
    }

    fn of_highest(map: &[f32], size: (usize, usize), radius: usize, layout: ResponseLayout) -> Evidence {
        evidence_at(map, size, highest(map, size), radius, layout)
    }

    #[test]
    fn psr_and_apce_by_hand() {
        // Sidelobe outside a radius of 1 around (0, 0) of a 4x4 map, wrapped: row 2 and column 2, seven cells.
        let mut map = vec![1.0f32; 16];
        map[0] = 5.0;
        map[2 * 4 + 2] = 3.0;
        let peak = of_highest(&map, (4, 4), 1, Wrapped);
        let mean = (6.0 + 3.0) / 7.0;
        let variance = (6.0 + 9.0) / 7.0 - mean * mean;
        assert!((f64::from(peak.psr) - (5.0 - mean) / f64::sqrt(variance)).abs() < 1e-5);
        assert!((f64::from(peak.apce) - 16.0 / ((16.0 + 4.0) / 16.0)).abs() < 1e-5);
    }

    #[test]
    fn where_a_map_ends_its_far_border_is_sidelobe() {
        let mut map = vec![0.0f32; 25];
        (map[0], map[4], map[20]) = (1.0, 0.5, 0.5);
        let (wrapped, ending) = (of_highest(&map, (5, 5), 1, Wrapped), of_highest(&map, (5, 5), 1, Centered));
        // The two lesser ones stand beside the peak where the borders meet, and are as far as can be where they do not.
        assert_eq!(wrapped.psr, 0.0);
        let (mean, n) = (1.0 / 21.0, 21.0);
        let deviation = f64::sqrt(0.5 / n - mean * mean);
        assert!((f64::from(ending.psr) - (1.0 - mean) / deviation).abs() < 1e-5, "{}", ending.psr);
    }

    #[test]
    fn evidence_is_of_the_place_that_is_asked_for() {
        let mut map = vec![0.0f32; 49];
        (map[8], map[40]) = (4.0, 2.0);
        let other = evidence_at(&map, (7, 7), (5, 5), 1, Centered);
        assert_eq!(other.peak, 2.0);
        assert!(other.psr < of_highest(&map, (7, 7), 1, Centered).psr);
        assert!((f64::from(other.apce) - 4.0 / (20.0 / 49.0)).abs() < 1e-4);
    }

    #[test]
    fn flat_and_broken_maps_give_no_confidence() {
        let flat = of_highest(&[0.5; 9], (3, 3), 1, Wrapped);
        assert_eq!((flat.peak, flat.psr, flat.apce), (0.5, 0.0, 0.0));
        assert!(of_highest(&[f32::NAN; 9], (3, 3), 1, Wrapped).peak.is_nan());
    }
}
