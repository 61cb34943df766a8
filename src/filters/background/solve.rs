//! The solver of the background-aware filter: the alternating direction method of multipliers, frequency by frequency.
//!
//! The filter is split in two, `g` that fits the labels and `h` that keeps to the mask, held together by `γ/2 ‖g - h +
//! l‖²` with the scaled multiplier `l`. In turns, with all three starting from nothing:
//!
//! - `g`: at each frequency a system of as many unknowns as there are channels, whose matrix is the sample's outer
//!   product plus a constant `c = γ + μ`: with `b = x conj(y)/T + γ(h - l) + μ f'`, Sherman and Morrison's formula
//!   gives `g = (b - x (x^H b) / (T c + x^H x)) / c`;
//! - `h`: in each cell `γ / (w² + γ) (g + l)`;
//! - `l ← (γ/γ') (l + g - h)`, where `γ'` is the penalty of the next step.
//!
//! Spectra are halves, `[frequency][32 real, 32 imaginary parts]`. Packed, two real channels make a complex one.
//! The way back is a forward transform of spectra whose real and imaginary parts are swapped; the lanes then come out
//! exchanged, 0..16 with 16..32.

use std::ops::Range;

use rustfft::num_complex::Complex32;

use crate::fft::{CHANNELS, Cell, LANES, split_real};
use crate::simd::{leveled, tree_sums};

/// Numbers at one frequency: real parts, then imaginary parts.
const PARTS: usize = 2 * CHANNELS;

/// What a step needs to know.
#[derive(Clone, Copy)]
pub(super) struct Terms {
    /// Rows and columns.
    pub size: (usize, usize),
    /// `T`.
    pub cells: f32,
    /// `γ`.
    pub penalty: f32,
    /// `μ`.
    pub temporal: f32,
    /// `γ / γ'` of the step before; `None` in the first step, when `h` and `l` are nothing.
    pub ratio: Option<f32>,
}

/// The place of a frequency and that of its opposite in a map of full spectra.
#[inline(always)]
fn opposite((rows, cols): (usize, usize), u: usize, v: usize) -> (usize, usize) {
    let negative = |i: usize, n: usize| if i == 0 { 0 } else { n - i };
    (u * cols + v, negative(u, rows) * cols + negative(v, cols))
}

/// Row and column of the frequency after (u, v) in a half of `half` columns.
#[inline(always)]
fn next((u, v): (usize, usize), half: usize) -> (usize, usize) {
    if v + 1 < half { (u, v + 1) } else { (u + 1, 0) }
}

/// Swaps the two halves of a cell, which the inverse transform exchanges.
#[inline(always)]
fn exchanged(cell: &Cell) -> Cell {
    let mut out = [0.0; CHANNELS];
    out[..LANES].copy_from_slice(&cell[LANES..]);
    out[LANES..].copy_from_slice(&cell[..LANES]);
    out
}

/// Real and imaginary parts at one frequency.
#[inline(always)]
fn parts(spectrum: &[f32]) -> (&Cell, &Cell) {
    let both = spectrum[..PARTS].as_chunks::<CHANNELS>().0;
    (&both[0], &both[1])
}

#[inline(always)]
fn parts_mut(spectrum: &mut [f32]) -> (&mut Cell, &mut Cell) {
    let (re, im) = spectrum[..PARTS].split_at_mut(CHANNELS);
    (&mut re.as_chunks_mut().0[0], &mut im.as_chunks_mut().0[0])
}

leveled! {
    /// Splits packed spectra on their way back into halves.
    pub(super) fn split_spectra(map: &[Cell], size: (usize, usize), out: &mut [f32]) {
        let (rows, cols) = size;
        let mut at = (0, 0);
        for out in out.chunks_exact_mut(PARTS) {
            let (here, there) = opposite((rows, cols), at.0, at.1);
            at = next(at, cols / 2 + 1);
            let (re, im) = split_real(&map[here], &map[there]);
            let (out_re, out_im) = parts_mut(out);
            (*out_re, *out_im) = (exchanged(&re), exchanged(&im));
        }
    }
}

leveled! {
    /// `Σ_d z_d conj(f_d)` of the spectra of a packed map and two filters.
    pub(super) fn answers(
        map: &[Cell],
        size: (usize, usize),
        filters: (&[f32], &[f32]),
        out: &mut [Complex32],
        slow_out: &mut [Complex32],
    ) {
        let (rows, cols) = size;
        let filters = filters.0.chunks_exact(PARTS).zip(filters.1.chunks_exact(PARTS));
        let outs = out.iter_mut().zip(slow_out);
        let mut at = (0, 0);
        for ((filter, slow), (out, slow_out)) in filters.zip(outs) {
            let (here, there) = opposite((rows, cols), at.0, at.1);
            at = next(at, cols / 2 + 1);
            let mut sums = [[0.0f32; CHANNELS]; 4];
            let (re, im) = split_real(&map[here], &map[there]);
            for (at, filter) in [filter, slow].into_iter().enumerate() {
                let (fr, fi) = parts(filter);
                for l in 0..CHANNELS {
                    sums[2 * at][l] += re[l] * fr[l] + im[l] * fi[l];
                    sums[2 * at + 1][l] += im[l] * fr[l] - re[l] * fi[l];
                }
            }
            let [re, im, slow_re, slow_im] = tree_sums(&sums);
            (*out, *slow_out) = (Complex32::new(re, im), Complex32::new(slow_re, slow_im));
        }
    }
}

leveled! {
    /// Moves `sample` by `rate` towards the spectra of a packed map, times the phase shifts of their row and column.
    pub(super) fn update_sample(
        map: &[Cell],
        size: (usize, usize),
        rate: f32,
        row_shifts: &[Complex32],
        col_shifts: &[Complex32],
        sample: &mut [f32],
    ) {
        let (rows, cols) = size;
        let keep = 1.0 - rate;
        let mut at = (0, 0);
        for sample in sample.chunks_exact_mut(PARTS) {
            let (here, there) = opposite((rows, cols), at.0, at.1);
            let turn = row_shifts[at.0] * col_shifts[at.1] * rate;
            at = next(at, col_shifts.len());
            let (re, im) = split_real(&map[here], &map[there]);
            let (to_re, to_im) = parts_mut(sample);
            for l in 0..CHANNELS {
                to_re[l] = keep * to_re[l] + (turn.re * re[l] - turn.im * im[l]);
                to_im[l] = keep * to_im[l] + (turn.re * im[l] + turn.im * re[l]);
            }
        }
    }
}

leveled! {
    /// Moves `slow` by `rate` towards `filter`.
    avx2 pub(super) fn follow(filter: &[f32], rate: f32, slow: &mut [f32]) {
        let keep = 1.0 - rate;
        for (slow, filter) in slow.as_chunks_mut::<CHANNELS>().0.iter_mut().zip(filter.as_chunks::<CHANNELS>().0) {
            for l in 0..CHANNELS {
                slow[l] = keep * slow[l] + rate * filter[l];
            }
        }
    }
}

leveled! {
    /// The `g` step at all frequencies. `work` holds `h` on its way back, packed (not looked at in the first step), and
    /// then `g + l`, packed and swapped for the way back; `sum` holds the `g + l` of the step before, then that of this
    /// one.
    avx2 pub(super) fn step(
        sample: &[f32],
        labels: &[Complex32],
        before: &[f32],
        terms: Terms,
        sum: &mut [f32],
        work: &mut [Cell],
    ) {
        let (rows, cols) = terms.size;
        let half = cols / 2 + 1;
        for u in 0..rows {
            for v in 0..half {
                // In the columns that are their own opposites a frequency and its opposite both lie in this half: one
                // of them is done.
                let f = u * half + v;
                if (v == 0 || 2 * v == cols) && 2 * u > rows {
                    let (re, im) = parts(&sum[((rows - u) * half + v) * PARTS..]);
                    let (re, im) = (*re, im.map(|v| -v));
                    let (to_re, to_im) = parts_mut(&mut sum[f * PARTS..]);
                    (*to_re, *to_im) = (re, im);
                    continue;
                }
                let (here, there) = opposite((rows, cols), u, v);
                let label = labels[f].conj();
                let (xr, xi) = parts(&sample[f * PARTS..]);
                let (pr, pi) = parts(&before[f * PARTS..]);
                let (mut br, mut bi) = ([0.0f32; CHANNELS], [0.0f32; CHANNELS]);
                for l in 0..CHANNELS {
                    br[l] = xr[l] * label.re - xi[l] * label.im + terms.temporal * pr[l];
                    bi[l] = xr[l] * label.im + xi[l] * label.re + terms.temporal * pi[l];
                }
                let (mut lr, mut li) = ([0.0f32; CHANNELS], [0.0f32; CHANNELS]);
                let (sr, si) = parts_mut(&mut sum[f * PARTS..]);
                if let Some(ratio) = terms.ratio {
                    let (hr, hi) = split_real(&work[here], &work[there]);
                    let (hr, hi) = (exchanged(&hr), exchanged(&hi));
                    for l in 0..CHANNELS {
                        lr[l] = ratio * (sr[l] - hr[l]);
                        li[l] = ratio * (si[l] - hi[l]);
                        br[l] += terms.penalty * (hr[l] - lr[l]);
                        bi[l] += terms.penalty * (hi[l] - li[l]);
                    }
                }
                let mut sums = [[0.0f32; CHANNELS]; 4];
                for l in 0..CHANNELS {
                    sums[0][l] += xr[l] * br[l] + xi[l] * bi[l];
                    sums[1][l] += xr[l] * bi[l] - xi[l] * br[l];
                    sums[2][l] += xr[l] * xr[l] + xi[l] * xi[l];
                }
                let c = terms.penalty + terms.temporal;
                let inverse = 1.0 / c;
                let [re, im, energy, _] = tree_sums(&sums);
                let share = 1.0 / (terms.cells * c + energy);
                let (ar, ai) = (re * share, im * share);
                for l in 0..CHANNELS {
                    sr[l] = (br[l] - (xr[l] * ar - xi[l] * ai)) * inverse + lr[l];
                    si[l] = (bi[l] - (xr[l] * ai + xi[l] * ar)) * inverse + li[l];
                }
                // The opposite first: a frequency that is its own opposite keeps what is written last, and both are
                // the same.
                let cell = &mut work[there];
                for l in 0..LANES {
                    cell[LANES + l] = sr[l] + si[LANES + l];
                    cell[l] = sr[LANES + l] - si[l];
                }
                let cell = &mut work[here];
                for l in 0..LANES {
                    cell[LANES + l] = sr[l] - si[LANES + l];
                    cell[l] = sr[LANES + l] + si[l];
                }
            }
        }
    }
}

leveled! {
    /// The rows `support` of the map times the mask of their cells, and nothing in the others.
    avx2 pub(super) fn apply_mask(map: &mut [Cell], mask: &[f32], cols: usize, support: Range<usize>) {
        map[..support.start * cols].fill([0.0; CHANNELS]);
        map[support.end * cols..].fill([0.0; CHANNELS]);
        let places = support.start * cols..support.end * cols;
        for (cell, &factor) in map[places.clone()].iter_mut().zip(&mask[places]) {
            for value in cell {
                *value *= factor;
            }
        }
    }
}
