//! Phase ramps: what shifts a map, as factors of its spectrum.

use rustfft::num_complex::Complex32;

/// Writes the factors `exp(2πi k shift / n)` of the frequencies `k` nearest zero, of a direction of `n` cells, that
/// bring what lies at `shift` to no shift; at the highest one of an even length the real part, so that maps stay real.
/// `out` has all of them, or the first half.
pub(crate) fn ramp(shift: f64, n: usize, out: &mut [Complex32]) {
    for (k, factor) in out.iter_mut().enumerate() {
        let frequency = if 2 * k > n { k as f64 - n as f64 } else { k as f64 };
        // The library's own sine: that of the system differs from one to the next.
        let (sin, cos) = libm::sincos(std::f64::consts::TAU * frequency * shift / n as f64);
        *factor = Complex32::new(cos as f32, if 2 * k == n { 0.0 } else { sin as f32 });
    }
}
