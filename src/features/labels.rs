//! Regression labels: what a filter shall answer to each cyclic shift of the patch that it learns from.

/// The regression labels of a filter of `rows` x `cols` cells, row-major: a Gaussian of `sigma` cells whose peak 1 lies
/// at element (0, 0), wrapped around (Henriques et al., TPAMI 2015, section 2 and their `gaussian_shaped_labels`).
///
/// The published code is for lengths from 2 on. At an odd one it puts the far cell at `+n/2`, not at `-n/2`; this
/// function does the same.
pub fn gaussian(rows: usize, cols: usize, sigma: f64) -> Vec<f32> {
    let offset = |i: usize, n: usize| {
        let i = i as f64;
        // Offsets run from 1 - floor(n/2) to ceil(n/2).
        if i > (n - n / 2) as f64 { i - n as f64 } else { i }
    };
    let mut labels = Vec::with_capacity(rows * cols);
    for r in 0..rows {
        for c in 0..cols {
            let (dr, dc) = (offset(r, rows), offset(c, cols));
            labels.push((-0.5 / (sigma * sigma) * (dr * dr + dc * dc)).exp() as f32);
        }
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `[rs, cs] = ndgrid((1:h) - floor(h/2), (1:w) - floor(w/2)); circshift(exp(...), -floor([h w]/2) + 1)`,
    /// literally.
    fn published(rows: usize, cols: usize, sigma: f64) -> Vec<f32> {
        let mut out = vec![0.0; rows * cols];
        for r in 1..=rows {
            for c in 1..=cols {
                let dr = r as f64 - (rows / 2) as f64;
                let dc = c as f64 - (cols / 2) as f64;
                let shifted = |i: usize, n: usize| ((i - 1) as i64 - (n / 2) as i64 + 1).rem_euclid(n as i64) as usize;
                out[shifted(r, rows) * cols + shifted(c, cols)] =
                    (-0.5 / (sigma * sigma) * (dr * dr + dc * dc)).exp() as f32;
            }
        }
        out
    }

    #[test]
    fn labels_are_the_published_ones_for_odd_and_even_sizes() {
        for (rows, cols) in [(6, 6), (7, 5), (8, 3), (21, 50), (3, 4)] {
            assert_eq!(gaussian(rows, cols, 1.3), published(rows, cols, 1.3), "{rows}x{cols}");
        }
        assert_eq!(gaussian(7, 5, 1.3)[0], 1.0);
    }
}
