//! Feature maps of patches, windows and regression labels.
//!
//! A feature map is `[row][column][channel]` in `f32`, channel fastest: a plane for one channel, 32 lanes otherwise. The
//! filters of the paper take [`Features`]; `robust` takes [`HogColors`]; windows, scale and rotation take HOG.

pub(crate) mod color;
pub(crate) mod hog;
#[cfg(test)]
mod tests;

pub(crate) use hog::Hog;

/// The features of a filter of the paper, for gray patches of one size. A feature is a variant here.
#[derive(Clone, Debug)]
pub(crate) enum Features {
    Hog(Box<Hog>),
    /// Gray values less the mean of the patch (Henriques et al., TPAMI 2015, section 8.1); a cell is a pixel.
    Gray,
}

impl Features {
    pub fn channels(&self) -> usize {
        match self {
            Self::Hog(_) => hog::CHANNELS,
            Self::Gray => 1,
        }
    }

    /// Writes the features of `patch` (row-major), times `window`, to `out`.
    pub fn extract(&mut self, patch: &[u8], window: &Window, out: &mut [f32]) {
        match self {
            Self::Hog(hog) => hog.extract(patch, &window.rows, &window.cols, out),
            Self::Gray => {
                gray(patch, window, out);
            }
        }
    }
}

/// Gray values as shares of 255, less their mean, times the window.
fn gray(patch: &[u8], window: &Window, out: &mut [f32]) {
    assert_eq!((patch.len(), out.len()), (window.rows.len() * window.cols.len(), patch.len()));
    let sum: u64 = patch.iter().map(|&v| u64::from(v)).sum();
    let mean = (sum as f64 / patch.len() as f64 / 255.0) as f32;
    let cols = &window.cols;
    for ((row, out), &wr) in patch.chunks_exact(cols.len()).zip(out.chunks_exact_mut(cols.len())).zip(&window.rows) {
        for ((&v, &wc), out) in row.iter().zip(cols).zip(out) {
            *out = (f32::from(v) / 255.0 - mean) * (wr * wc);
        }
    }
}

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
