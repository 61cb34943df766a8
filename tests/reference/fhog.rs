//! The 31-channel HOG of Felzenszwalb et al. (TPAMI 2010, section 6.2), one pixel, cell and value after the other, in
//! double precision. Written from the description, to be obviously right; what the paper leaves open is as in the
//! published tracker: see the comments.

use std::f64::consts::PI;

/// Channels of a cell: 18 signed orientations, 9 unsigned ones, 4 texture energies.
pub const CHANNELS: usize = 31;

/// The features of a gray patch (0 to 255, row-major), `[row][column][31]` on the grid of whole cells.
pub fn fhog(patch: &[u8], width: usize, height: usize, cell: usize) -> Vec<f64> {
    let (rows, cols) = (height / cell, width / cell);
    let gray = |x: usize, y: usize| f64::from(patch[y * width + x]) / 255.0;
    let mut histogram = vec![[0.0; 18]; rows * cols];
    // Pixels beyond the last whole cell are seen by the gradients beside them and have no histogram.
    for y in 0..rows * cell {
        for x in 0..cols * cell {
            let gx = derivative(width, x, |x| gray(x, y));
            let gy = derivative(height, y, |y| gray(x, y));
            let magnitude = (gx * gx + gy * gy).sqrt();
            let bin = nearest_orientation(gx, gy);
            // The centre of cell k lies at pixel coordinate k * cell + (cell - 1) / 2; shares fall off linearly over
            // one cell.
            for r in around(y, cell, rows) {
                for c in around(x, cell, cols) {
                    let share = tent(y, r, cell) * tent(x, c, cell);
                    histogram[r * cols + c][bin] += magnitude * share / (cell * cell) as f64;
                }
            }
        }
    }
    for r in 0..rows {
        for c in 0..cols {
            // A border cell lacks the shares of the pixels outside, one eighth on each side.
            let sides = [r == 0, r + 1 == rows, c == 0, c + 1 == cols].into_iter().filter(|&side| side).count();
            let gain = (8.0f64 / 7.0).powi(sides as i32);
            histogram[r * cols + c].iter_mut().for_each(|v| *v *= gain);
        }
    }
    let unsigned = |r: usize, c: usize, o: usize| histogram[r * cols + c][o] + histogram[r * cols + c][o + 9];
    let energy = |r: usize, c: usize| (0..9).map(|o| unsigned(r, c, o).powi(2)).sum::<f64>();
    // The norm of the 2x2 block whose upper left cell is (r, c). Blocks that stick out over the border do not exist:
    // their inner neighbour stands in. In a grid of one row or column, that one counts twice.
    let norm = |r: i64, c: i64| {
        let inner = |i: i64, n: usize| i.clamp(0, (n as i64 - 2).max(0)) as usize;
        let (r, c) = (inner(r, rows), inner(c, cols));
        let (below, right) = ((r + 1).min(rows - 1), (c + 1).min(cols - 1));
        let sum = energy(r, c) + energy(r, right) + energy(below, c) + energy(below, right);
        (sum + 1e-4 / 4.0 / (cell as f64).powi(4)).sqrt()
    };
    let mut features = Vec::with_capacity(rows * cols * CHANNELS);
    for r in 0..rows {
        for c in 0..cols {
            let (i, j) = (r as i64, c as i64);
            // The four blocks that the cell belongs to.
            let norms = [norm(i, j), norm(i, j - 1), norm(i - 1, j), norm(i - 1, j - 1)];
            let clipped = |value: f64| norms.map(|norm| (value / norm).min(0.2));
            let signed = histogram[r * cols + c];
            features.extend(signed.map(|v| clipped(v).iter().sum::<f64>() / 2.0));
            features.extend((0..9).map(|o| clipped(unsigned(r, c, o)).iter().sum::<f64>() / 2.0));
            features.extend((0..4).map(|block| 0.2357 * signed.iter().map(|&v| clipped(v)[block]).sum::<f64>()));
        }
    }
    features
}

/// The central difference; at the ends of a line, the difference to the one neighbour.
fn derivative(len: usize, i: usize, value: impl Fn(usize) -> f64) -> f64 {
    match i {
        _ if len == 1 => 0.0,
        0 => value(1) - value(0),
        i if i == len - 1 => value(i) - value(i - 1),
        i => (value(i + 1) - value(i - 1)) / 2.0,
    }
}

/// The cells that can have a share of a pixel.
fn around(pixel: usize, side: usize, cells: usize) -> std::ops::Range<usize> {
    (pixel / side).saturating_sub(1)..(pixel / side + 2).min(cells)
}

/// The share of a pixel that a cell gets.
fn tent(pixel: usize, cell: usize, side: usize) -> f64 {
    let center = cell as f64 * side as f64 + (side as f64 - 1.0) / 2.0;
    (1.0 - (pixel as f64 - center).abs() / side as f64).max(0.0)
}

/// The nearest of 18 orientations; exactly between two (90 and 270 degrees in integer pictures) the higher one.
fn nearest_orientation(gx: f64, gy: f64) -> usize {
    let turn = gy.atan2(gx).rem_euclid(2.0 * PI) / (PI / 9.0);
    // The nudge is far below the distance of any other direction of 8-bit differences from a border.
    (turn + 0.5 + 1e-9).floor() as usize % 18
}
