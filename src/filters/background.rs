//! A background-aware correlation filter: linear, solved in the primal, one filter for each channel.
//!
//! A filter that learns all cyclic shifts of a search area is as large as the area, and fits the background as well as
//! the target. This one is allowed values on the target only, so that every shift of the area is a true negative
//! (Galoogahi, Fagg & Lucey, "Learning Background-Aware Correlation Filters for Visual Tracking", ICCV 2017), and is
//! held near the filter of the frame before (Li, Tian, Zuo, Zhang & Yang, "Learning Spatial-Temporal Regularized
//! Correlation Filters for Visual Tracking", CVPR 2018):
//!
//! `min_f  1/2T ‖Σ_d x_d ⋆ f_d - y‖² + 1/2 Σ_d ‖w ∘ f_d‖² + μ/2 Σ_d ‖f_d - f'_d‖²`
//!
//! over `T` cells, where `⋆` correlates (the answer to a shift is `Σ_d Σ_p x_d(p + shift) f_d(p)`), `y` are the labels,
//! `w` weighs the filter's values by their place and `f'` is the filter before. What is reachable:
//!
//! - STRCF with a hard mask: `w` next to nothing on the target and infinite elsewhere, the newest sample alone;
//! - BACF: the same mask, `μ = 0`, samples averaged at a rate;
//! - SRDCF's way (Danelljan et al., ICCV 2015): `w` grows softly with the distance from the target;
//! - a filter of the KCF family: `w² = c λ` everywhere for `c` channels and `μ = 0` is kernel ridge regression with the
//!   linear kernel, the same filter as [`Kcf`](super::kcf::Kcf) finds in the dual.
//!
//! The filter that answers, and that is carried on as `f'`, is the one that keeps to the mask (Li et al. carry on the
//! other one, which does so in the limit only).
//!
//! The solver is the alternating direction method of multipliers, frequency by frequency. The filter is split in two, `g`
//! that fits the labels and `h` that keeps to the mask, held together by `γ/2 ‖g - h + l‖²` with the scaled multiplier
//! `l`. In turns, with all three starting from nothing:
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

use crate::archive::Archive;
use crate::fft::{AlignedBuf, CHANNELS, Cell, LANES, LanePlan, PlanePlan, phase_shift, split_real};
use crate::simd::{leveled, tree_sums};

/// Numbers at one frequency: real parts, then imaginary parts.
const PARTS: usize = 2 * CHANNELS;

/// How a [`BackgroundAware`] filter learns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BackgroundSettings {
    /// `μ`: how strongly the filter is held near the one before; unused in the first frame.
    pub temporal: f64,
    /// How far the sample that is learned moves towards each new one: 1 learns the newest alone.
    pub sample_rate: f64,
    /// Steps of the solver in each frame.
    pub steps: usize,
    /// The solver's penalty `γ` in the first step.
    pub penalty: f64,
    /// Factor of the penalty per step.
    pub penalty_growth: f64,
    /// Maximum penalty from the second step on.
    pub penalty_limit: f64,
    /// How far the slow filter moves towards the filter in each frame.
    pub slow_rate: f64,
}

/// Two steps, the second with a smaller penalty: the published setting of STRCF.
impl Default for BackgroundSettings {
    fn default() -> Self {
        Self {
            temporal: 15.0,
            sample_rate: 1.0,
            steps: 2,
            penalty: 1.0,
            penalty_growth: 10.0,
            penalty_limit: 0.1,
            slow_rate: 0.02,
        }
    }
}

/// A filter for feature maps of one size, of up to 32 channels.
#[derive(Clone, Debug)]
pub struct BackgroundAware {
    settings: BackgroundSettings,
    rows: usize,
    cols: usize,
    lanes: LanePlan,
    plane: PlanePlan,
    /// Spectrum of the labels divided by `T`, half of the frequencies.
    labels: Vec<Complex32>,
    /// `w²` of each cell.
    weights: Vec<f32>,
    /// `w²` where it is the same in all cells: the filter then has a closed form.
    uniform: Option<f32>,
    /// The first and the last row of cells in which the filter may have values.
    support: Range<usize>,
    /// `[row][column][32]`: features go in, their packed spectrum stays.
    input: AlignedBuf,
    /// Running mean of the training spectra, `[frequency][32 real, 32 imaginary parts]`, half of the frequencies. All
    /// spectra below have this layout.
    sample: AlignedBuf,
    filter: AlignedBuf,
    slow: AlignedBuf,
    /// The solver's sum of filter and multiplier.
    sum: AlignedBuf,
    /// Factors of the mask, `γ / (w² + γ) / T`.
    mask: Vec<f32>,
    work: AlignedBuf,
    answer: Vec<Complex32>,
    slow_answer: Vec<Complex32>,
    response: Vec<f32>,
    phase_shifts: [Vec<Complex32>; 2],
    /// Cosine and sine of each row's frequency.
    turns: Vec<(f64, f64)>,
    scratch: AlignedBuf,
    trained: bool,
    /// Factor of `temporal` in the next learning step.
    past: f32,
}

impl BackgroundAware {
    /// A filter for maps of `size` (rows, columns).
    ///
    /// `labels` are the wanted answers to the shifts of the area, `[row][column]`, their peak at (0, 0). `weights` are
    /// `w` of each cell of the map, `[row][column]`; infinite where the filter may have no values. An odd setting is a
    /// bad filter, but never a panic.
    ///
    /// # Panics
    /// When a length is not `rows * cols`, or the map is empty.
    pub fn new(size: (usize, usize), labels: &[f32], weights: &[f32], settings: BackgroundSettings) -> Self {
        let (rows, cols) = size;
        let cells = rows * cols;
        assert!(cells > 0, "a filter has cells");
        assert!(labels.len() == cells && weights.len() == cells, "labels and weights have a value for each cell");
        let (lanes, plane) = (LanePlan::new(rows, cols), PlanePlan::new(rows, cols));
        let mut scratch = AlignedBuf::zeroed(lanes.scratch_len().max(plane.scratch_len()));
        let mut spectrum = vec![Complex32::default(); plane.half_len()];
        plane.forward(labels, &mut spectrum, &mut scratch[..plane.scratch_len()]);
        spectrum.iter_mut().for_each(|v| *v /= cells as f32);
        let weights: Vec<f32> = weights.iter().map(|w| w * w).collect();
        let allowed = |row: usize| weights[row * cols..][..cols].iter().any(|w| w.is_finite());
        let first = (0..rows).find(|&r| allowed(r)).unwrap_or(0);
        let end = (first..rows).rev().find(|&r| allowed(r)).map_or(first, |r| r + 1);
        let half = plane.half_len();
        let spectra = AlignedBuf::zeroed(half * 2 * CHANNELS);
        let map = AlignedBuf::zeroed(cells * CHANNELS);
        let planes = vec![Complex32::default(); half];
        Self {
            settings,
            rows,
            cols,
            lanes,
            plane,
            labels: spectrum,
            uniform: weights.iter().all(|&w| w == weights[0] && w.is_finite()).then_some(weights[0]),
            weights,
            support: first..end,
            input: map.clone(),
            sample: spectra.clone(),
            filter: spectra.clone(),
            slow: spectra.clone(),
            sum: spectra,
            mask: vec![0.0; cells],
            work: map,
            answer: planes.clone(),
            slow_answer: planes,
            response: vec![0.0; cells],
            phase_shifts: [vec![Complex32::default(); rows], vec![Complex32::default(); cols / 2 + 1]],
            turns: vec![(0.0, 0.0); rows],
            scratch,
            trained: false,
            past: 1.0,
        }
    }

    /// The memory to write the next feature map to, `[row][column][32]`, before [`respond`](Self::respond) or
    /// [`learn`](Self::learn) uses it up. Lanes that no channel has stay zero.
    pub fn input(&mut self) -> &mut [f32] {
        &mut self.input
    }

    /// The answer to every cyclic shift of the input map, `F^-1(Σ_d ẑ_d conj(f̂_d))`: element (r, c) is the score of
    /// the target displaced by r rows and c columns, wrapped around.
    pub fn respond(&mut self) -> &[f32] {
        self.transform_input();
        let size = (self.rows, self.cols);
        let model = (&*self.filter, &*self.slow);
        answers(cells(&self.input), size, model, &mut self.answer, &mut self.slow_answer);
        self.plane.inverse(&self.answer, &mut self.response, &mut self.scratch[..self.plane.scratch_len()]);
        let per_cell = 1.0 / (self.rows * self.cols) as f32;
        self.response.iter_mut().for_each(|v| *v *= per_cell);
        &self.response
    }

    /// The last response, `[row][column]`.
    pub fn response(&self) -> &[f32] {
        &self.response
    }

    /// The answer of the slow filter, which follows by [`slow_rate`](BackgroundSettings::slow_rate), at a `shift` of
    /// (rows, columns) cells of the last input of [`respond`](Self::respond), between cells by its Fourier series:
    /// small where the target does not look as it has for long.
    pub fn slow_score_at(&mut self, shift: (f64, f64)) -> f64 {
        series(&self.slow_answer, self.cols, shift, &mut self.turns)
    }

    /// Holds the filter near the one before by this multiple of `temporal` in the next learning; at 0 the earlier
    /// filter is forgotten.
    pub fn hold(&mut self, factor: f64) {
        self.past = factor.max(0.0) as f32;
    }

    /// Learns the input map as the target at no shift.
    pub fn learn(&mut self) {
        self.transform_input();
        self.learn_again((0.0, 0.0));
    }

    /// Learns like [`learn`](Self::learn) from the last input, with its target at `shift` (rows, columns; in cells,
    /// fractions welcome). The map is taken as cyclic: the taper stands beside the target, which does no harm for
    /// shifts of about a cell.
    pub fn learn_again(&mut self, shift: (f64, f64)) {
        let rate = if self.trained { self.settings.sample_rate as f32 } else { 1.0 };
        let [row_shifts, col_shifts] = &mut self.phase_shifts;
        phase_shift(shift.0, self.rows, row_shifts);
        phase_shift(shift.1, self.cols, col_shifts);
        let size = (self.rows, self.cols);
        update_sample(cells(&self.input), size, rate, row_shifts, col_shifts, &mut self.sample);
        let temporal = if self.trained { self.settings.temporal as f32 * self.past } else { 0.0 };
        self.past = 1.0;
        match self.uniform {
            Some(weight) => self.solve_closed(weight, temporal),
            None => self.solve_by_steps(temporal),
        }
        let slow_rate = if self.trained { self.settings.slow_rate as f32 } else { 1.0 };
        follow(&self.filter, slow_rate, &mut self.slow);
        self.trained = true;
    }

    /// Takes over what another filter of the same shape has learned.
    ///
    /// # Panics
    /// When their sizes differ.
    pub fn copy_model(&mut self, other: &Self) {
        for (to, from) in
            [(&mut self.sample, &other.sample), (&mut self.filter, &other.filter), (&mut self.slow, &other.slow)]
        {
            to.copy_from_slice(from);
        }
    }

    /// Writes or reads what was learned.
    pub(crate) fn transfer(&mut self, archive: &mut Archive<'_>) {
        for learned in [&mut self.sample, &mut self.filter, &mut self.slow] {
            archive.floats(learned.iter_mut());
        }
    }

    fn transform_input(&mut self) {
        let scratch = &mut self.scratch[..self.lanes.scratch_len()];
        self.lanes.forward(&mut self.input, scratch);
    }

    /// Solves in closed form: without a mask no splitting is needed.
    fn solve_closed(&mut self, weight: f32, temporal: f32) {
        let terms = Terms {
            size: (self.rows, self.cols),
            cells: (self.rows * self.cols) as f32,
            penalty: weight,
            temporal,
            ratio: None,
        };
        let work = cells_mut(&mut self.work);
        step(&self.sample, &self.labels, &self.filter, terms, &mut self.sum, work);
        std::mem::swap(&mut self.filter, &mut self.sum);
    }

    fn solve_by_steps(&mut self, temporal: f32) {
        let settings = &self.settings;
        let mut penalty = settings.penalty as f32;
        let mut ratio = None;
        let size = (self.rows, self.cols);
        for _ in 0..settings.steps.max(1) {
            let cells = (self.rows * self.cols) as f32;
            let terms = Terms { size, cells, penalty, temporal, ratio };
            let work = cells_mut(&mut self.work);
            step(&self.sample, &self.labels, &self.filter, terms, &mut self.sum, work);
            for (mask, &weight) in self.mask.iter_mut().zip(&self.weights) {
                *mask = penalty / (weight + penalty) / cells;
            }
            let scratch = &mut self.scratch[..self.lanes.scratch_len()];
            // The filter goes back to the cells where it may be, is masked, and goes forth again.
            self.lanes.forward_to_rows(&mut self.work, self.support.clone(), scratch);
            apply_mask(cells_mut(&mut self.work), &self.mask, self.cols, self.support.clone());
            self.lanes.forward_from_rows(&mut self.work, self.support.clone(), scratch);
            let next = (penalty * settings.penalty_growth as f32).min(settings.penalty_limit as f32);
            ratio = Some(penalty / next);
            penalty = next;
        }
        split_spectra(cells(&self.work), size, &mut self.filter);
    }
}

/// The value of a real plane of `cols` columns between its cells; `turns` have room for each of its rows.
fn series(spectrum: &[Complex32], cols: usize, shift: (f64, f64), turns: &mut [(f64, f64)]) -> f64 {
    let (rows, half) = (turns.len(), cols / 2 + 1);
    let turn = |k: usize, n: usize, by: f64| {
        let frequency = if 2 * k > n { k as f64 - n as f64 } else { k as f64 };
        let (sin, cos) = libm::sincos(std::f64::consts::TAU * frequency * by / n as f64);
        (cos, if 2 * k == n { 0.0 } else { sin })
    };
    turns.iter_mut().enumerate().for_each(|(u, to)| *to = turn(u, rows, shift.0));
    let mut sum = 0.0;
    for v in 0..half {
        let (cos, sin) = turn(v, cols, shift.1);
        let (mut re, mut im) = (0.0, 0.0);
        for (&(row_cos, row_sin), s) in turns.iter().zip(spectrum[v..].iter().step_by(half)) {
            re += f64::from(s.re) * row_cos - f64::from(s.im) * row_sin;
            im += f64::from(s.re) * row_sin + f64::from(s.im) * row_cos;
        }
        sum += (re * cos - im * sin) * if v == 0 || 2 * v == cols { 1.0 } else { 2.0 };
    }
    sum / (rows * cols) as f64
}

fn cells(map: &[f32]) -> &[[f32; CHANNELS]] {
    map.as_chunks().0
}

fn cells_mut(map: &mut [f32]) -> &mut [[f32; CHANNELS]] {
    map.as_chunks_mut().0
}

/// Numbers of one solver step.
#[derive(Clone, Copy)]
struct Terms {
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
    fn split_spectra(map: &[Cell], size: (usize, usize), out: &mut [f32]) {
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
    fn answers(
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
    fn update_sample(
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
    avx2 fn follow(filter: &[f32], rate: f32, slow: &mut [f32]) {
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
    avx2 fn step(
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
                // of them is computed.
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
                // The opposite is written first: a frequency that is its own opposite keeps what is written last, and
                // both are the same.
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
    avx2 fn apply_mask(map: &mut [Cell], mask: &[f32], cols: usize, support: Range<usize>) {
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

#[cfg(test)]
mod tests;
