//! The discrete Fourier transform by its definition.

use std::f64::consts::TAU;

pub use rustfft::num_complex::Complex64 as Complex;

/// `Z[u][v] = Σ_rc z[r][c] exp(-2πi (ur/rows + vc/cols))`, unnormalised; the inverse with the other sign, divided by
/// the number of cells.
pub fn dft(values: &[Complex], rows: usize, cols: usize, inverse: bool) -> Vec<Complex> {
    let sign = if inverse { 1.0 } else { -1.0 };
    let root = |k: usize, n: usize| Complex::from_polar(1.0, sign * TAU * (k % n) as f64 / n as f64);
    let mut out = Vec::with_capacity(values.len());
    for u in 0..rows {
        for v in 0..cols {
            let mut sum = Complex::default();
            for r in 0..rows {
                for c in 0..cols {
                    sum += values[r * cols + c] * root(u * r, rows) * root(v * c, cols);
                }
            }
            out.push(if inverse { sum / (rows * cols) as f64 } else { sum });
        }
    }
    out
}
