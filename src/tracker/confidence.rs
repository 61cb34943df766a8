//! How much a response map is to be believed: its highest peak, and how far that stands out.

/// The highest value of a response and two measures of how far it stands out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peak {
    /// Row of the peak, in the map's own wrapped order.
    pub row: usize,
    /// Column of the peak.
    pub col: usize,
    /// Its value: 1 when the window looks exactly as the model.
    pub value: f32,
    /// Peak-to-sidelobe ratio, `(peak - mean) / standard deviation` over all cells farther than the exclusion radius from
    /// the peak in rows or columns, wrapped around (Bolme et al., CVPR 2010, section 3.5); 0 for a flat map or one without sidelobe.
    pub psr: f32,
    /// Average peak-to-correlation energy, `(max - min)² / mean((f - min)²)` (Wang et al., CVPR 2017, equation 3);
    /// 0 for a flat map.
    pub apce: f32,
}

impl Peak {
    /// Of no response at all.
    pub const NONE: Self = Self { row: 0, col: 0, value: f32::NAN, psr: 0.0, apce: 0.0 };

    /// Finds the peak of `response`, `rows` x `cols`, the first maximum in *column-major* order as the published code
    /// does; `radius` cells around it do not count as sidelobe. NaN never wins; a map of nothing else has a NaN peak.
    pub fn find(response: &[f32], rows: usize, cols: usize, radius: usize) -> Self {
        let (mut row, mut col, mut value) = (0, 0, f32::NEG_INFINITY);
        let mut min = f32::INFINITY;
        for (r, line) in response.chunks_exact(cols).enumerate() {
            for (c, &v) in line.iter().enumerate() {
                if v > value || (v == value && c < col) {
                    (row, col, value) = (r, c, v);
                }
                min = min.min(v);
            }
        }
        if value == f32::NEG_INFINITY {
            return Self::NONE;
        }
        let near = |a: usize, b: usize, n: usize| a.abs_diff(b).min(n - a.abs_diff(b)) <= radius;
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
        Self {
            row,
            col,
            value,
            psr: ratio(height - mean, deviation),
            apce: ratio(height * height, energy / response.len() as f64),
        }
    }
}

/// Signed displacement of a peak at index `i` of `n`, as the published code wraps it: the second half is negative, and
/// at an odd length so is the middle.
pub fn displacement(i: usize, n: usize) -> i64 {
    if 2 * (i + 1) > n && n > 1 { i as i64 - n as i64 } else { i as i64 }
}

/// Where a parabola through three neighbouring values has its top, from the one in the middle, which is the highest: -0.5 to 0.5; 0 where there is no top.
pub(super) fn vertex(before: f64, peak: f64, after: f64) -> f64 {
    let curvature = before - 2.0 * peak + after;
    let offset = 0.5 * (before - after) / curvature;
    if curvature < 0.0 && offset.is_finite() { offset.clamp(-0.5, 0.5) } else { 0.0 }
}

/// How far the maximum of a parabola through the peak at `(row, col)` and its neighbours, in rows and in columns, lies beside
/// the peak: -0.5 to 0.5 cells each.
pub fn sub_cell(response: &[f32], (rows, cols): (usize, usize), (row, col): (usize, usize)) -> (f64, f64) {
    let at = |r: usize, c: usize| f64::from(response[r % rows * cols + c % cols]);
    let peak = at(row, col);
    (vertex(at(row + rows - 1, col), peak, at(row + 1, col)), vertex(at(row, col + cols - 1), peak, at(row, col + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vertex_of_a_parabola_is_found_between_cells() {
        // A parabola with its top at (0.25, -0.4), wrapped.
        let (rows, cols) = (7, 6);
        let value = |r: usize, c: usize| {
            let wrap = |i: usize, n: usize| if 2 * i > n { i as f64 - n as f64 } else { i as f64 };
            (1.0 - (wrap(r, rows) - 0.25).powi(2) - 0.5 * (wrap(c, cols) + 0.4).powi(2)) as f32
        };
        let map: Vec<f32> = (0..rows * cols).map(|i| value(i / cols, i % cols)).collect();
        let (r, c) = sub_cell(&map, (rows, cols), (0, 0));
        assert!((r - 0.25).abs() < 1e-5 && (c + 0.4).abs() < 1e-5, "{r}, {c}");
        // Nothing to be found on a plain, in a single cell, or beside NaN.
        assert_eq!(sub_cell(&[0.5; 9], (3, 3), (1, 1)), (0.0, 0.0));
        assert_eq!(sub_cell(&[0.5], (1, 1), (0, 0)), (0.0, 0.0));
        assert_eq!(sub_cell(&[f32::NAN; 9], (3, 3), (0, 0)), (0.0, 0.0));
    }

    #[test]
    fn the_first_maximum_in_column_order_wins() {
        let mut map = vec![0.0; 12];
        map[1] = 2.0; // row 0, column 1
        map[4] = 2.0; // row 1, column 0
        let peak = Peak::find(&map, 3, 4, 0);
        assert_eq!((peak.row, peak.col, peak.value), (1, 0, 2.0));
    }

    #[test]
    fn displacements_wrap_as_published() {
        let wrapped = |n: usize| (0..n).map(|i| displacement(i, n)).collect::<Vec<_>>();
        assert_eq!(wrapped(6), [0, 1, 2, -3, -2, -1]);
        assert_eq!(wrapped(5), [0, 1, -3, -2, -1]);
        assert_eq!(wrapped(1), [0]);
    }

    #[test]
    fn psr_and_apce_by_hand() {
        // Sidelobe outside a radius of 1 around (0, 0) of a 4x4 map, wrapped: row 2 and column 2, seven cells.
        let mut map = vec![1.0f32; 16];
        map[0] = 5.0;
        map[2 * 4 + 2] = 3.0;
        let peak = Peak::find(&map, 4, 4, 1);
        let mean = (6.0 + 3.0) / 7.0;
        let variance = (6.0 + 9.0) / 7.0 - mean * mean;
        assert!((f64::from(peak.psr) - (5.0 - mean) / f64::sqrt(variance)).abs() < 1e-5);
        assert!((f64::from(peak.apce) - 16.0 / ((16.0 + 4.0) / 16.0)).abs() < 1e-5);
    }

    #[test]
    fn flat_and_broken_maps_give_no_confidence() {
        let flat = Peak::find(&[0.5; 9], 3, 3, 1);
        assert_eq!((flat.value, flat.psr, flat.apce), (0.5, 0.0, 0.0));
        assert!(Peak::find(&[f32::NAN; 9], 3, 3, 1).value.is_nan());
    }
}
