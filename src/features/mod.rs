//! Feature maps of patches, windows and regression labels.
//!
//! A feature map is `[row][column][channel]` in `f32`, channel fastest: a plane for one channel, 32 lanes otherwise. The
//! filters of the paper take [`Features`]; `robust` takes [`HogColors`]; windows, scale and rotation take HOG.

pub(crate) mod color_histogram;
pub(crate) mod hog;
mod hog_batch;
mod hog_colors;
#[cfg(test)]
mod tests;
pub(crate) mod window;

pub(crate) use hog::Hog;
pub(crate) use hog_batch::{CELL as BATCH_CELL, GROUP, Group, HogBatch, Lanes, PATCHES};
pub(crate) use hog_colors::{HogColors, gray_and_bins, is_color};
pub(crate) use window::{Window, gaussian_labels};

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
