//! A linear filter along one dimension, such as scales or angles: many signals of a few values, one answer
//! (Danelljan, Häger, Khan & Felsberg, "Discriminative Scale Space Tracking", TPAMI 2017).
//!
//! The signals are the features of one patch for each step of the dimension; the labels are a Gaussian around the
//! middle step:
//!
//! `A_d = Y conj(X_d)`, `B = Σ_d |X_d|²`, answer `F^-1( Σ_d A_d Z_d / (B + λ) )`, with running means of `A` and `B`.

use std::f64::consts::TAU;

use rustfft::num_complex::Complex64;

use crate::archive::Archive;
use crate::features::hog::{Lanes, PATCHES};
use crate::simd::leveled;

/// Maximum number of frequencies.
const HALF: usize = PATCHES / 2;
/// The most steps of a dimension.
pub const MAX_STEPS: usize = PATCHES - 1;
/// Parts of a step that the answer is looked at.
const FINE: usize = 4;

/// A filter for signals of one length.
#[derive(Clone, Debug)]
pub struct Correlation1d {
    count: usize,
    lambda: f64,
    /// Lanes that are used.
    lanes: usize,
    /// Row `k`: the taper at step `k` times its share in each frequency, real parts in the first half of the used lanes,
    /// imaginary parts in the second.
    transform: Vec<Lanes>,
    labels: Lanes,
    numerator: Vec<Lanes>,
    denominator: [f64; HALF],
    trained: bool,
    answer: Answer,
}

/// The answer between the steps: its spectrum, transformed back at `FINE` times the length.
#[derive(Clone, Debug)]
struct Answer {
    /// For each frequency, its cosine and its sine at each point.
    turns: Vec<[Vec<f64>; 2]>,
    values: Vec<f64>,
}

impl Answer {
    /// Creates the answer of `count` steps.
    fn new(count: usize) -> Self {
        let turn = |j: usize, i: usize| (TAU / (FINE * count) as f64 * (i * j % (FINE * count)) as f64).sin_cos();
        let turns = |j: usize| {
            let (sin, cos) = (0..=(count - 1) * FINE).map(|i| turn(j, i)).unzip();
            [cos, sin]
        };
        Self { turns: (0..=count / 2).map(turns).collect(), values: vec![0.0; (count - 1) * FINE + 1] }
    }

    /// The answers, from the first step on, of a spectrum whose other half is its mirror image.
    fn of(&mut self, half: impl Iterator<Item = Complex64>) -> &[f64] {
        self.values.fill(0.0);
        for ([cos, sin], value) in self.turns.iter().zip(half) {
            for ((sum, cos), sin) in self.values.iter_mut().zip(cos).zip(sin) {
                *sum += cos * value.re - sin * value.im;
            }
        }
        &self.values
    }
}

impl Correlation1d {
    /// Creates a filter for `signals` of `count` steps (2 to [`MAX_STEPS`]), their labels `sigma` steps wide; tapered
    /// to both ends, or cyclic and not.
    ///
    /// # Panics
    /// When there is no room for that many steps.
    pub fn new(signals: usize, count: usize, sigma: f64, lambda: f64, cyclic: bool) -> Self {
        assert!((2..=MAX_STEPS).contains(&count), "2 to {MAX_STEPS} steps");
        let lanes = [8, 16].into_iter().find(|&lanes| lanes >= count && lanes > 2 * (count / 2)).unwrap_or(PATCHES);
        let middle = (count / 2) as f64;
        let taper =
            |k: usize| if cyclic { 1.0 } else { 0.5 * (1.0 - (TAU * (k + 1) as f64 / (count + 1) as f64).cos()) };
        let distance = |k: usize| {
            let d = (k as f64 - middle).abs();
            if cyclic { d.min(count as f64 - d) } else { d }
        };
        let label = |k: usize| (-0.5 * (distance(k) / sigma).powi(2)).exp();
        let (mut transform, mut labels) = (vec![[0.0; PATCHES]; count], [0.0; PATCHES]);
        for (k, row) in transform.iter_mut().enumerate() {
            for j in 0..=count / 2 {
                let (sin, cos) = libm::sincos(TAU * (j * k % count) as f64 / count as f64);
                row[j] = (taper(k) * cos) as f32;
                row[lanes / 2 + j] = -(taper(k) * sin) as f32;
                labels[j] += (label(k) * cos) as f32;
                labels[lanes / 2 + j] -= (label(k) * sin) as f32;
            }
        }
        Self {
            count,
            lambda,
            lanes,
            transform,
            labels,
            numerator: vec![[0.0; PATCHES]; signals],
            denominator: [0.0; HALF],
            trained: false,
            answer: Answer::new(count),
        }
    }

    /// Whether anything was learned.
    pub fn is_trained(&self) -> bool {
        self.trained
    }

    /// The step with the best answer to the signals `[signal][step]`, counted from the middle one, in quarters; answers
    /// are first multiplied by `prior` of the step. The signals are used up. Of equal answers the one nearest the
    /// middle wins.
    pub fn find(&mut self, signals: &mut [Lanes], prior: impl Fn(f64) -> f64) -> f64 {
        transform(signals, &self.transform, self.lanes);
        let (re, im) = correlate(&self.numerator, signals, self.lanes);
        let spectrum = (0..=self.count / 2).map(|j| {
            // At the highest frequency of an even length there is no mirror image.
            let twice = if j == 0 || 2 * j == self.count { 1.0 } else { 2.0 };
            Complex64::new(f64::from(re[j]), f64::from(im[j])) * (twice / (self.denominator[j] + self.lambda))
        });
        let middle = (self.count / 2) as f64;
        let (mut best, mut at) = (f64::NEG_INFINITY, 0.0);
        for (i, value) in self.answer.of(spectrum).iter().enumerate() {
            let step = i as f64 / FINE as f64 - middle;
            let value = value * prior(step);
            if value > best || (value == best && step.abs() < f64::abs(at)) {
                (best, at) = (value, step);
            }
        }
        at
    }

    /// Moves by `rate` towards the signals `[signal][step]`, whose right answer is the middle step; the first signals
    /// are taken as they are. The signals are used up.
    pub fn learn(&mut self, signals: &mut [Lanes], rate: f64) {
        transform(signals, &self.transform, self.lanes);
        self.learn_used(signals, rate);
    }

    /// Learns like [`learn`](Self::learn) from signals that [`find`](Self::find) has used up.
    pub fn learn_used(&mut self, signals: &[Lanes], rate: f64) {
        let rate = if self.trained { rate.clamp(0.0, 1.0) } else { 1.0 };
        let energy = move_towards(signals, &self.labels, rate as f32, &mut self.numerator, self.lanes);
        for (mean, energy) in self.denominator.iter_mut().zip(energy) {
            *mean += rate * (f64::from(energy) - *mean);
        }
        self.trained = true;
    }

    /// Writes or reads what was learned.
    pub fn transfer(&mut self, archive: &mut Archive<'_>) {
        archive.floats(self.numerator.as_flattened_mut());
        archive.doubles(&mut self.denominator);
        archive.value(&mut self.trained);
    }
}

leveled! {
    /// Signals to their spectra, in place.
    fn transform(signals: &mut [Lanes], rows: &[Lanes], lanes: usize) {
        match lanes {
            8 => transform_lanes::<8>(signals, rows),
            16 => transform_lanes::<16>(signals, rows),
            _ => transform_lanes::<PATCHES>(signals, rows),
        }
    }
}

#[inline(always)]
fn transform_lanes<const N: usize>(signals: &mut [Lanes], rows: &[Lanes]) {
    for signal in signals {
        let mut sum = [0.0f32; N];
        for (value, row) in signal.iter().zip(rows) {
            for l in 0..N {
                sum[l] += value * row[l];
            }
        }
        signal[..N].copy_from_slice(&sum);
    }
}

leveled! {
    /// `Σ_d A_d Z_d`.
    fn correlate(numerator: &[Lanes], signals: &[Lanes], lanes: usize) -> ([f32; HALF], [f32; HALF]) {
        match lanes {
            8 => correlate_lanes::<4>(numerator, signals),
            16 => correlate_lanes::<8>(numerator, signals),
            _ => correlate_lanes::<HALF>(numerator, signals),
        }
    }
}

#[inline(always)]
fn correlate_lanes<const N: usize>(numerator: &[Lanes], signals: &[Lanes]) -> ([f32; HALF], [f32; HALF]) {
    let (mut re, mut im) = ([0.0f32; HALF], [0.0f32; HALF]);
    for (a, z) in numerator.iter().zip(signals) {
        for l in 0..N {
            re[l] += a[l] * z[l] - a[N + l] * z[N + l];
            im[l] += a[l] * z[N + l] + a[N + l] * z[l];
        }
    }
    (re, im)
}

leveled! {
    /// Moves `A` towards `Y conj(X)` and gives `Σ_d |X_d|²`.
    fn move_towards(
        signals: &[Lanes],
        labels: &Lanes,
        rate: f32,
        numerator: &mut [Lanes],
        lanes: usize,
    ) -> [f32; HALF] {
        match lanes {
            8 => move_lanes::<4>(signals, labels, rate, numerator),
            16 => move_lanes::<8>(signals, labels, rate, numerator),
            _ => move_lanes::<HALF>(signals, labels, rate, numerator),
        }
    }
}

#[inline(always)]
fn move_lanes<const N: usize>(signals: &[Lanes], labels: &Lanes, rate: f32, numerator: &mut [Lanes]) -> [f32; HALF] {
    let keep = 1.0 - rate;
    let mut energy = [0.0f32; HALF];
    for (a, x) in numerator.iter_mut().zip(signals) {
        for l in 0..N {
            let (xr, xi, yr, yi) = (x[l], x[N + l], labels[l], labels[N + l]);
            a[l] = keep * a[l] + rate * (yr * xr + yi * xi);
            a[N + l] = keep * a[N + l] + rate * (yi * xr - yr * xi);
            energy[l] += xr * xr + xi * xi;
        }
    }
    energy
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(signal: usize, step: usize) -> f32 {
        ((signal * 7919 + step * 104_729) % 1013) as f32 / 1013.0 - 0.5
    }

    fn signals(count: usize, by: usize) -> Vec<Lanes> {
        let lane = |d: usize, k: usize| if k < count { value(d, (k + count - by) % count) } else { 9.0 };
        (0..40).map(|d| std::array::from_fn(|k| lane(d, k))).collect()
    }

    #[test]
    fn cyclic_signals_are_found_where_they_have_moved_to() {
        for count in [5, 22, 23] {
            let mut filter = Correlation1d::new(40, count, 0.7, 0.01, true);
            filter.learn(&mut signals(count, 0), 0.1);
            for by in 0..count {
                let steps = if by > (count - 1) / 2 { by as f64 - count as f64 } else { by as f64 };
                let found = filter.find(&mut signals(count, by), |_| 1.0);
                assert!((found - steps).abs() < 0.3, "{count}: {found} for {steps}");
            }
            // Turned by one, but nothing but the middle is thought possible.
            assert_eq!(filter.find(&mut signals(count, 1), |step| f64::from(u8::from(step == 0.0))), 0.0);
        }
    }

    #[test]
    fn the_filter_agrees_with_its_definition() {
        let (count, lambda, sigma) = (9usize, 0.01, 0.8);
        let mut filter = Correlation1d::new(40, count, sigma, lambda, false);
        filter.learn(&mut signals(count, 0), 1.0);
        filter.learn(&mut signals(count, 2), 0.25);
        // The definition, with complex numbers in double precision.
        let taper = |k: usize| 0.5 * (1.0 - (TAU * (k + 1) as f64 / 10.0).cos());
        let dft = |signal: &dyn Fn(usize) -> f64, j: usize| {
            let term = |k: usize| {
                let (sin, cos) = (TAU * (j * k) as f64 / count as f64).sin_cos();
                (signal(k) * cos, -signal(k) * sin)
            };
            (0..count).map(term).fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1))
        };
        let x = |by: usize, d: usize, j: usize| dft(&|k| taper(k) * f64::from(value(d, (k + count - by) % count)), j);
        let z = signals(count, 1);
        let mut answer = vec![0.0; count];
        for j in 0..count {
            let y = dft(&|k| (-0.5 * ((k as f64 - 4.0) / sigma).powi(2)).exp(), j);
            let (mut sum, mut below) = ((0.0, 0.0), lambda);
            for (d, z) in z.iter().enumerate() {
                let (a, b) = (x(0, d, j), x(2, d, j));
                let mean = (0.75 * a.0 + 0.25 * b.0, 0.75 * a.1 + 0.25 * b.1);
                below += 0.75 * (a.0 * a.0 + a.1 * a.1) + 0.25 * (b.0 * b.0 + b.1 * b.1);
                let n = (y.0 * mean.0 + y.1 * mean.1, y.1 * mean.0 - y.0 * mean.1);
                let z = dft(&|k| taper(k) * f64::from(z[k]), j);
                sum = (sum.0 + n.0 * z.0 - n.1 * z.1, sum.1 + n.0 * z.1 + n.1 * z.0);
            }
            for (k, to) in answer.iter_mut().enumerate() {
                let (sin, cos) = (TAU * (j * k) as f64 / count as f64).sin_cos();
                *to += (sum.0 * cos - sum.1 * sin) / below;
            }
        }
        let best = (0..count).max_by(|&a, &b| answer[a].total_cmp(&answer[b])).unwrap();
        let found = filter.find(&mut z.clone(), |step| f64::from(u8::from(step.fract() == 0.0)));
        assert_eq!(found + 4.0, best as f64);
    }
}
