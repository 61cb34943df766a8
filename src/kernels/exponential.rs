//! The exponential function over whole arrays.

/// `exp(x)` for `x <= 0` to 2 units in the last place, 0 below -87, in plain arithmetic: a loop over it becomes vector
/// instructions, and the result is the same bits on every CPU (no library call, no fused multiply-add). NaN gives NaN.
///
/// `x = n ln 2 + r` with `|r| <= ln(2) / 2`, and the polynomial of degree 6 of the Cephes library (`expf`, Moshier
/// 1989) for `exp(r)`.
#[inline(always)]
pub fn exp_negative(x: f32) -> f32 {
    /// 1.5 * 2^23: adding it rounds to a whole number, which then stands in the lowest bits.
    const ROUND: f32 = 12_582_912.0;
    let clamped = if x < -87.0 { -87.0 } else { x };
    let shifted = clamped * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    // ln 2 in two parts, the first with few bits, so that n times it is exact.
    let r = (clamped - n * 0.693_359_4) - n * -2.121_944_4e-4;
    let p = 1.987_569_1e-4;
    let p = p * r + 1.398_199_9e-3;
    let p = p * r + 8.333_452e-3;
    let p = p * r + 4.166_579_6e-2;
    let p = p * r + 1.666_666_5e-1;
    let p = p * r + 0.5;
    let e = (p * r) * r + r + 1.0;
    let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(127 << 23));
    if x < -87.0 { 0.0 } else { e * power }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_exact_to_two_units() {
        for i in 0..2_000_000 {
            let x = -87.0 * i as f32 / 2_000_000.0;
            let (got, exact) = (exp_negative(x), f64::from(x).exp());
            assert!(
                (f64::from(got) - exact).abs() <= 2.0 * f64::from(f32::EPSILON) * exact,
                "exp({x}) = {got}, not {exact}"
            );
        }
        assert_eq!(exp_negative(0.0), 1.0);
        assert_eq!((exp_negative(-88.0), exp_negative(f32::NEG_INFINITY)), (0.0, 0.0));
        assert!(exp_negative(f32::NAN).is_nan());
    }
}
