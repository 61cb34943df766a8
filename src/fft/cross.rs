//! Products of the spectra of two maps, summed over the channels.

use rustfft::num_complex::Complex32;

use super::lanes::CHANNELS;
use super::radix::{Cell, LANES};
use crate::simd::leveled;

/// Cells whose sums over the lanes are formed together.
const BLOCK: usize = 64;

/// Sums of neighbours.
#[inline(always)]
fn pair_up<const FROM: usize, const TO: usize>(terms: &[f32; FROM], sums: &mut [f32; TO]) {
    for i in 0..TO {
        sums[i] = terms[2 * i] + terms[2 * i + 1];
    }
}

/// The sums of 16 numbers each of 64 cells, as a tree of neighbours. The order is part of the result, and this one is
/// quick with registers of any width.
#[inline(always)]
fn sum_lanes(terms: &[f32; LANES * BLOCK], sums: &mut [f32; BLOCK]) {
    let (mut eights, mut fours, mut twos) = ([0.0; 8 * BLOCK], [0.0; 4 * BLOCK], [0.0; 2 * BLOCK]);
    pair_up(terms, &mut eights);
    pair_up(&eights, &mut fours);
    pair_up(&fours, &mut twos);
    pair_up(&twos, sums);
}

/// The products of one cell, lane by lane, and its energy added to `energy`.
#[inline(always)]
fn products(x: &Cell, y: &Cell, re: &mut [f32; LANES], im: &mut [f32; LANES], energy: &mut [f32; LANES]) {
    for l in 0..LANES {
        let (xr, xi, yr, yi) = (x[l], x[LANES + l], y[l], y[LANES + l]);
        re[l] = xr * yr + xi * yi;
        im[l] = xi * yr - xr * yi;
        energy[l] += xr * xr + xi * xi;
    }
}

/// `Σ_k X_k conj Y_k` of at most 64 cells, to `out` or added to what is there, and `Σ |X|²` of all of them.
#[inline(always)]
fn block<const ADD: bool>(x: &[Cell], y: &[Cell], out: &mut [Complex32]) -> f32 {
    let (mut re, mut im, mut energy) = ([0.0; LANES * BLOCK], [0.0; LANES * BLOCK], [0.0; LANES]);
    let parts = re.as_chunks_mut().0.iter_mut().zip(im.as_chunks_mut().0);
    for ((x, y), (re, im)) in x.iter().zip(y).zip(parts) {
        products(x, y, re, im, &mut energy);
    }
    let mut sums = [[0.0; BLOCK]; 2];
    sum_lanes(&re, &mut sums[0]);
    sum_lanes(&im, &mut sums[1]);
    for (out, (&re, &im)) in out.iter_mut().zip(sums[0].iter().zip(&sums[1])) {
        let sum = Complex32 { re, im };
        *out = if ADD { *out + sum } else { sum };
    }
    let (mut eight, mut four) = ([0.0; 8], [0.0; 4]);
    pair_up(&energy, &mut eight);
    pair_up(&eight, &mut four);
    (four[0] + four[1]) + (four[2] + four[3])
}

/// Products of all cells, to `out` or added to what is there; the energy of `x`.
#[inline(always)]
fn all_cells<const ADD: bool>(x: &[Cell], y: &[Cell], out: &mut [Complex32]) -> f64 {
    let mut energy = 0.0;
    for ((x, y), out) in x.chunks(BLOCK).zip(y.chunks(BLOCK)).zip(out.chunks_mut(BLOCK)) {
        energy += f64::from(block::<ADD>(x, y, out));
    }
    energy
}

leveled! {
    fn cross_cells(x: &[Cell], y: &[Cell], out: &mut [Complex32]) -> f64 {
        all_cells::<false>(x, y, out)
    }
}

leveled! {
    fn add_cross_cells(x: &[Cell], y: &[Cell], out: &mut [Complex32]) -> f64 {
        all_cells::<true>(x, y, out)
    }
}

/// The cross-power spectrum summed over the lanes, `S = Σ_k X_k conj Y_k`, cell by cell: `x`, `y` are
/// [`LanePlan`](super::LanePlan) spectra of `rows * cols * 32` floats, `out` has `rows * cols` values.
///
/// The real part of the inverse transform of `S` is the cyclic cross-correlation of the maps, summed over all 32 real
/// channels; [`fold`] gives the half-spectrum of that real part.
///
/// Returns the energy `Σ |X|²` of `x` from the same pass. By Parseval it is `rows * cols` times the sum of the
/// squares of the map before the transform.
///
/// # Panics
/// When the lengths do not fit each other.
pub fn cross_power(x: &[f32], y: &[f32], out: &mut [Complex32]) -> f64 {
    assert_eq!(x.len(), y.len(), "the spectra must have one size");
    assert_eq!(x.len(), out.len() * CHANNELS, "the plane must have a value for each cell");
    cross_cells(x.as_chunks().0, y.as_chunks().0, out)
}

/// As [`cross_power`], added to what `out` holds: of maps of more than 32 channels, one block of lanes after the other.
///
/// # Panics
/// As [`cross_power`].
pub fn add_cross_power(x: &[f32], y: &[f32], out: &mut [Complex32]) -> f64 {
    assert_eq!(x.len(), y.len(), "the spectra must have one size");
    assert_eq!(x.len(), out.len() * CHANNELS, "the plane must have a value for each cell");
    add_cross_cells(x.as_chunks().0, y.as_chunks().0, out)
}

/// The half-spectrum of the real part of the signal whose full spectrum is `full`:
/// `H(u, v) = (S(u, v) + conj S(-u, -v)) / 2` for `v = 0..=cols/2`. `full` has `rows x cols` values, `half`
/// `rows x (cols/2 + 1)`, both row by row.
///
/// # Panics
/// When a length is not what `rows` and `cols` ask for.
pub fn fold(rows: usize, cols: usize, full: &[Complex32], half: &mut [Complex32]) {
    assert_eq!(full.len(), rows * cols, "the full spectrum must have rows * cols values");
    if full.is_empty() {
        return;
    }
    let width = cols / 2 + 1;
    assert_eq!(half.len(), rows * width, "the half-spectrum must have rows * (cols/2 + 1) values");
    for (u, to) in half.chunks_exact_mut(width).enumerate() {
        let row = &full[u * cols..][..cols];
        let mirror = &full[(rows - u) % rows * cols..][..cols];
        to[0] = (row[0] + mirror[0].conj()) * 0.5;
        for ((to, s), m) in to[1..].iter_mut().zip(&row[1..]).zip(mirror.iter().rev()) {
            *to = (*s + m.conj()) * 0.5;
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rustfft::num_complex::Complex64;

    use super::*;
    use crate::fft::plane::tests::by_definition;
    use crate::fft::{LanePlan, PlanePlan};
    use crate::simd::assert_same_on_all_levels;

    fn noise(len: usize, seed: u64) -> Vec<f32> {
        let mut rng = rand_pcg::Pcg32::seed_from_u64(seed);
        (0..len).map(|_| rng.random_range(-1.0..1.0)).collect()
    }

    #[test]
    fn cross_power_agrees_with_direct_sums() {
        for cells in [1, 5, 16, 17, 48, 1050] {
            let (x, y) = (noise(cells * CHANNELS, 1), noise(cells * CHANNELS, 2));
            let mut out = vec![Complex32::default(); cells];
            let energy = cross_power(&x, &y, &mut out);
            for (c, got) in out.iter().enumerate() {
                let value = |v: &[f32], l: usize| {
                    Complex64::new(v[c * CHANNELS + l].into(), v[c * CHANNELS + LANES + l].into())
                };
                let expected: Complex64 = (0..LANES).map(|l| value(&x, l) * value(&y, l).conj()).sum();
                assert!((Complex64::new(got.re.into(), got.im.into()) - expected).norm() < 1e-5);
            }
            let expected: f64 = x.iter().map(|&v| f64::from(v).powi(2)).sum();
            assert!((energy / expected - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn every_level_gives_the_same_bits() {
        for cells in [3, 16, 77, 1050] {
            let (x, y) = (noise(cells * CHANNELS, 3), noise(cells * CHANNELS, 4));
            assert_same_on_all_levels(&format!("{cells} cells"), || {
                let mut out = vec![Complex32::default(); cells];
                let energy = cross_power(&x, &y, &mut out);
                (energy.to_bits(), out.iter().map(|v| (v.re.to_bits(), v.im.to_bits())).collect::<Vec<_>>())
            });
        }
    }

    /// From two maps to their correlation by spectra, against `Σ_c Σ_p x_c(p + d) y_c(p)` by its definition.
    #[test]
    fn folded_cross_power_is_the_correlation_of_all_real_channels() {
        for (rows, cols) in [(1, 1), (2, 2), (5, 6), (7, 4), (6, 1), (1, 9), (12, 11)] {
            let plan = LanePlan::new(rows, cols);
            let plane = PlanePlan::new(rows, cols);
            let (x, y) = (noise(plan.map_len(), 5), noise(plan.map_len(), 6));
            let mut scratch = vec![0.0; plan.scratch_len().max(plane.scratch_len())];
            let (mut zx, mut zy) = (x.clone(), y.clone());
            plan.forward(&mut zx, &mut scratch);
            plan.forward(&mut zy, &mut scratch);
            let mut full = vec![Complex32::default(); rows * cols];
            cross_power(&zx, &zy, &mut full);
            let mut half = vec![Complex32::default(); plane.half_len()];
            fold(rows, cols, &full, &mut half);
            let mut correlation = vec![0.0; rows * cols];
            plane.inverse(&half, &mut correlation, &mut scratch);

            let mut direct = vec![0.0f32; rows * cols];
            for (d, sum) in direct.iter_mut().enumerate() {
                let mut total = 0.0;
                for p in 0..rows * cols {
                    let (r, c) = ((p / cols + d / cols) % rows, (p % cols + d % cols) % cols);
                    let (x, y) = (&x[(r * cols + c) * CHANNELS..], &y[p * CHANNELS..]);
                    total += (0..CHANNELS).map(|l| f64::from(x[l]) * f64::from(y[l])).sum::<f64>();
                }
                *sum = total as f32;
            }
            for (got, expected) in correlation.iter().zip(&direct) {
                let got = got / (rows * cols) as f32;
                assert!((got - expected).abs() < 2e-4, "{rows}x{cols}: {got} for {expected}");
            }

            // And the half-spectrum is that of the true correlation.
            for (got, expected) in half.iter().zip(by_definition(rows, cols, &direct)) {
                let got = Complex64::new(got.re.into(), got.im.into());
                assert!((got - expected).norm() < 2e-3, "{rows}x{cols}: {got} for {expected}");
            }
        }
    }
}
