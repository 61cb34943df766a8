//! The small gray patches that the filters of scale and rotation cut out of the search area.

/// Pixels of a cell of a small patch.
pub(super) const CELL: usize = 4;

/// A gray patch that boxes are cut from.
#[derive(Clone, Copy, Debug)]
pub struct GrayPatch<'a> {
    /// Gray values, row by row.
    pub pixels: &'a [u8],
    /// Pixels of a row.
    pub width: usize,
}

/// Columns and rows of a small patch of at most about `area` pixels in the shape of a box of `size` (width, height):
/// whole cells, and a side has at least two.
pub(super) fn small_size(size: (f64, f64), area: f64) -> (usize, usize) {
    let shrink = (area / (size.0 * size.1)).sqrt().min(1.0);
    let pixels = |length: f64, other: f64| {
        let least = (2 * CELL) as f64;
        let most = (area / (other * shrink).max(least)).max(least);
        ((length * shrink).clamp(least, most) / CELL as f64).round() as usize * CELL
    };
    (pixels(size.0, size.1), pixels(size.1, size.0))
}

/// A gray value to eighths: what is left of rounding in a plain area is no gradient.
#[inline(always)]
pub(super) fn to_eighths(value: f32) -> f32 {
    (value * 8.0 + 0.5) as i32 as f32 * 0.125
}

#[cfg(test)]
pub(super) mod testing {
    use super::GrayPatch;

    pub const WIDTH: usize = 160;

    pub fn patch(pixels: &[u8]) -> GrayPatch<'_> {
        GrayPatch { pixels, width: WIDTH }
    }

    /// A smooth texture around `center`, turned by `degrees` and seen `zoom` times as large.
    pub fn texture(center: (f64, f64), degrees: f64, zoom: f64) -> Vec<u8> {
        let (sin, cos) = degrees.to_radians().sin_cos();
        let value = |x: f64, y: f64| {
            let (x, y) = ((x - center.0) / zoom, (y - center.1) / zoom);
            let (x, y) = (cos * x + sin * y, cos * y - sin * x);
            127.0 + 50.0 * (0.35 * x + 0.1 * y).sin() * (0.27 * y).cos() + 40.0 * (0.11 * x * y / 10.0 + 0.2 * y).sin()
        };
        (0..WIDTH * WIDTH).map(|i| value((i % WIDTH) as f64 + 0.5, (i / WIDTH) as f64 + 0.5) as u8).collect()
    }
}
