//! Cosine windows, which fade features towards the border of a patch, and the regression labels of cyclic shifts.

/// The symmetric Hann window of `n` values, `0.5 (1 - cos(2 pi i / (n - 1)))`: zero at both ends, MATLAB's `hann(n)`.
/// One value is 1.
pub fn hann(n: usize) -> Vec<f32> {
    if n == 1 {
        return vec![1.0];
    }
    let step = std::f64::consts::TAU / (n as f64 - 1.0);
    (0..n).map(|i| (0.5 * (1.0 - (step * i as f64).cos())) as f32).collect()
}

/// The Hann window of `n` values that reaches zero half a value beyond its ends, `0.5 (1 - cos(2 pi (i + 0.5) / n))`.
pub fn half_sample_hann(n: usize) -> Vec<f32> {
    let step = std::f64::consts::TAU / n as f64;
    (0..n).map(|i| (0.5 * (1.0 - (step * (i as f64 + 0.5)).cos())) as f32).collect()
}

/// A 2-D window: the weight of a cell is the product of its row weight and its column weight.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// A weight for each row of cells.
    pub rows: Vec<f32>,
    /// A weight for each column of cells.
    pub cols: Vec<f32>,
}

impl Window {
    /// The [`hann`] window of `rows` x `cols` cells.
    pub fn hann(rows: usize, cols: usize) -> Self {
        Self { rows: hann(rows), cols: hann(cols) }
    }
}

/// The regression labels of a filter of `rows` x `cols` cells, row-major: a Gaussian of `sigma` cells whose peak 1 is at
/// element (0, 0), wrapped around (Henriques et al., TPAMI 2015, section 2 and their `gaussian_shaped_labels`). As in
/// their code, the far cell of an odd length is at `+n/2`, not at `-n/2`.
pub fn gaussian_labels(rows: usize, cols: usize, sigma: f64) -> Vec<f32> {
    let offset = |i: usize, n: usize| {
        let i = i as f64;
        // From 1 - floor(n/2) to ceil(n/2).
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
