//! Randomness that is the same everywhere: streams of numbers, lattice hashes, gradient noise.
//!
//! All of it is integer arithmetic, additions and products, so that a seed gives the same bits on every machine and
//! with every version of this crate. Each effect of a scene draws from a [`stream`] of its own: switching one on or off
//! leaves the others as they were.

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// A generator for one purpose (`tag`) and one item of it (`index`, a frame or an object).
pub(super) fn stream(seed: u64, tag: &str, index: u64) -> Pcg64Mcg {
    let mixed = tag.bytes().fold(mix(seed), |hash, byte| mix(hash ^ u64::from(byte)));
    Pcg64Mcg::seed_from_u64(mix(mixed ^ index))
}

/// A number in `lo..hi` with 53 random bits.
pub(super) fn uniform(rng: &mut Pcg64Mcg, lo: f64, hi: f64) -> f64 {
    lo + (hi - lo) * ((rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64)
}

/// A nearly normal number of mean 0 and variance 1: four 16-bit uniforms of one draw, summed.
///
/// Integers only; the tails end at 3.46.
pub(super) fn normal(rng: &mut Pcg64Mcg) -> f32 {
    let bits = rng.next_u64();
    let sum = (0..4).map(|lane| (bits >> (16 * lane)) as u16).map(i32::from).sum::<i32>();
    // Four uniforms over 0..65535 have the mean 131070 and the variance 4 * 65536^2 / 12.
    (sum - 131_070) as f32 / 37_837.2
}

/// SplitMix64's finaliser: every bit of the input turns about half of the output's bits.
fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A number of 64 random bits for one purpose, to seed a [`lattice`] with.
pub(super) fn bits(seed: u64, tag: &str, index: u64) -> u64 {
    stream(seed, tag, index).next_u64()
}

/// 64 bits that belong to the lattice point `x, y`.
pub(super) fn lattice(seed: u64, x: i64, y: i64) -> u64 {
    mix(mix(seed ^ x as u64) ^ y as u64)
}

/// The `slot`-th (0 to 3) number in 0..1 out of the 64 bits of a lattice point.
pub(super) fn fraction(bits: u64, slot: u32) -> f64 {
    f64::from((bits >> (16 * (slot % 4))) as u16) / 65_536.0
}

/// Gradient noise (Perlin 2002) in about -1 to 1; its lattice has the spacing 1.
pub(super) fn gradient(seed: u64, x: f64, y: f64) -> f64 {
    let (x0, y0) = (x.floor(), y.floor());
    let (fx, fy) = (x - x0, y - y0);
    let (ix, iy) = (x0 as i64, y0 as i64);
    let corner = |dx: i64, dy: i64| {
        const DIAGONAL: f64 = std::f64::consts::FRAC_1_SQRT_2;
        let (gx, gy) = match lattice(seed, ix.wrapping_add(dx), iy.wrapping_add(dy)) >> 61 {
            0 => (1.0, 0.0),
            1 => (-1.0, 0.0),
            2 => (0.0, 1.0),
            3 => (0.0, -1.0),
            4 => (DIAGONAL, DIAGONAL),
            5 => (-DIAGONAL, DIAGONAL),
            6 => (DIAGONAL, -DIAGONAL),
            _ => (-DIAGONAL, -DIAGONAL),
        };
        gx * (fx - dx as f64) + gy * (fy - dy as f64)
    };
    let fade = |t: f64| t * t * t * (t * (t * 6.0 - 15.0) + 10.0);
    let (u, v) = (fade(fx), fade(fy));
    let top = corner(0, 0) + u * (corner(1, 0) - corner(0, 0));
    let bottom = corner(0, 1) + u * (corner(1, 1) - corner(0, 1));
    (top + v * (bottom - top)) * std::f64::consts::SQRT_2
}

/// `octaves` layers of gradient noise, each of twice the frequency and half the strength of the one before; about -1 to
/// 1.
pub(super) fn fractal(seed: u64, x: f64, y: f64, octaves: u32) -> f64 {
    let (mut sum, mut strength, mut total, mut frequency) = (0.0, 1.0, 0.0, 1.0);
    for octave in 0..octaves {
        sum += strength * gradient(seed ^ mix(u64::from(octave)), x * frequency, y * frequency);
        total += strength;
        strength *= 0.5;
        frequency *= 2.0;
    }
    if total > 0.0 { sum / total } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_told_apart_and_repeat() {
        let first = |seed, tag, index| stream(seed, tag, index).next_u64();
        assert_eq!(first(1, "a", 0), first(1, "a", 0));
        let all = [first(1, "a", 0), first(2, "a", 0), first(1, "b", 0), first(1, "a", 1)];
        assert!((1..4).all(|i| !all[..i].contains(&all[i])), "{all:?}");
    }

    #[test]
    fn normal_has_its_moments() {
        let mut rng = stream(7, "normal", 0);
        let draws: Vec<f64> = (0..40_000).map(|_| f64::from(normal(&mut rng))).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance = draws.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / draws.len() as f64;
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
    }

    #[test]
    fn gradient_noise_is_smooth_bounded_and_zero_on_the_lattice() {
        assert_eq!(gradient(3, 5.0, -2.0), 0.0);
        let mut spread = (f64::INFINITY, f64::NEG_INFINITY);
        for step in 0..5000 {
            let (x, y) = (f64::from(step) * 0.013 - 20.0, f64::from(step) * 0.007);
            let here = gradient(3, x, y);
            assert!((here - gradient(3, x + 1e-4, y)).abs() < 1e-3);
            spread = (spread.0.min(here), spread.1.max(here));
        }
        assert!(spread.0 > -1.1 && spread.0 < -0.4 && spread.1 < 1.1 && spread.1 > 0.4, "{spread:?}");
    }
}
