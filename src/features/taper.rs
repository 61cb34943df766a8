//! The taper: the cosine window by which features fade towards the border of a patch, where cyclic shifts have their
//! seam.

/// The symmetric Hann window of `n` values, `0.5 (1 - cos(2 pi i / (n - 1)))`: zero at both ends, MATLAB's `hann(n)`.
/// One value is 1.
pub fn hann(n: usize) -> Vec<f32> {
    if n == 1 {
        return vec![1.0];
    }
    let step = std::f64::consts::TAU / (n as f64 - 1.0);
    (0..n).map(|i| (0.5 * (1.0 - (step * i as f64).cos())) as f32).collect()
}

/// The Hann window of `n` values that reaches zero half a value beyond its ends, `0.5 (1 - cos(2 pi (i + 0.5) / n))`:
/// no value is lost.
pub fn half_sample_hann(n: usize) -> Vec<f32> {
    let step = std::f64::consts::TAU / n as f64;
    (0..n).map(|i| (0.5 * (1.0 - (step * (i as f64 + 0.5)).cos())) as f32).collect()
}

/// A window in two directions: the weight of a cell is the product of its row's and its column's.
#[derive(Clone, Debug, PartialEq)]
pub struct Taper {
    /// A weight for each row of cells.
    pub rows: Vec<f32>,
    /// A weight for each column of cells.
    pub cols: Vec<f32>,
}

impl Taper {
    /// Of `cells` (rows, columns) by a window of one direction: [`hann`] or [`half_sample_hann`].
    pub fn new(cells: (usize, usize), window: fn(usize) -> Vec<f32>) -> Self {
        Self { rows: window(cells.0), cols: window(cells.1) }
    }

    /// Weights of 1: nothing is tapered.
    pub fn flat(cells: (usize, usize)) -> Self {
        Self { rows: vec![1.0; cells.0], cols: vec![1.0; cells.1] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hann_is_matlabs() {
        let expected = [0.0, 0.5, 1.0, 0.5, 0.0];
        assert!(hann(5).iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-7));
        assert_eq!(hann(1), [1.0]);
        assert_eq!(hann(3)[1], 1.0);
    }

    #[test]
    fn half_samples_are_symmetric_and_above_zero() {
        let window = half_sample_hann(6);
        assert!(window.iter().zip(window.iter().rev()).all(|(a, b)| (a - b).abs() < 1e-7 && *a > 0.0));
        // 0.5 (1 - cos 30 degrees).
        assert!((window[0] - 0.066_987_3).abs() < 1e-6 && (window[2] - 0.933_012_7).abs() < 1e-6);
        assert_eq!(half_sample_hann(1), [1.0]);
    }
}
