//! The filter against a dense solution of the same objective in double precision, and against the dual filter.

use nalgebra::{DMatrix, DVector};

use super::*;
use crate::features::gaussian_labels as gaussian;
use crate::filters::kcf::Kcf;
use crate::kernels::Kernel;

impl BackgroundAware {
    /// The filter's spectrum, to see whether it has learned.
    pub(crate) fn spectrum(&self) -> Vec<f32> {
        self.filter.to_vec()
    }

    /// The filter itself, `[row][column][32]`, in double precision.
    fn taps(&self) -> Vec<f64> {
        let (rows, cols) = (self.rows, self.cols);
        let half = cols / 2 + 1;
        let mut taps = vec![0.0; rows * cols * CHANNELS];
        for (i, tap) in taps.iter_mut().enumerate() {
            let (lane, cell) = (i % CHANNELS, i / CHANNELS);
            for u in 0..rows {
                for v in 0..half {
                    let at = (u * half + v) * 2 * CHANNELS + lane;
                    let turn = (u * (cell / cols)) as f64 / rows as f64 + (v * (cell % cols)) as f64 / cols as f64;
                    let (sin, cos) = (std::f64::consts::TAU * turn).sin_cos();
                    let mirrored = if v == 0 || 2 * v == cols { 1.0 } else { 2.0 };
                    let (re, im) = (f64::from(self.filter[at]), f64::from(self.filter[at + CHANNELS]));
                    *tap += mirrored * (re * cos - im * sin) / (rows * cols) as f64;
                }
            }
        }
        taps
    }
}

fn noise(i: usize, seed: usize) -> f32 {
    ((i * 7919 + seed * 104_729) % 1013) as f32 / 1013.0 - 0.5
}

/// A map of noise in `channels` channels of cells of 32 lanes.
fn write(input: &mut [f32], channels: usize, seed: usize) {
    for (i, v) in input.iter_mut().enumerate() {
        let (channel, cell) = (i % CHANNELS, i / CHANNELS);
        *v = if channel < channels { noise(cell * channels + channel, seed) } else { 0.0 };
    }
}

/// The answers `Σ_d Σ_p x_d(p + s) f_d(p)` as a matrix of shifts by taps `(d, p)`.
fn shifts((rows, cols): (usize, usize), channels: usize, seed: usize) -> DMatrix<f64> {
    let cells = rows * cols;
    DMatrix::from_fn(cells, channels * cells, |s, tap| {
        let (d, p) = (tap / cells, tap % cells);
        let at = (p / cols + s / cols) % rows * cols + (p % cols + s % cols) % cols;
        f64::from(noise(at * channels + d, seed))
    })
}

struct Problem {
    size: (usize, usize),
    channels: usize,
    labels: Vec<f32>,
    weights: Vec<f32>,
}

impl Problem {
    /// The minimiser of the objective: taps `(d, p)`, those of infinite weight left out of the system.
    fn solve(&self, samples: &DMatrix<f64>, temporal: f64, before: &DVector<f64>) -> DVector<f64> {
        let cells = self.size.0 * self.size.1;
        let kept: Vec<usize> = (0..self.channels * cells).filter(|i| self.weights[i % cells].is_finite()).collect();
        let a = samples.select_columns(&kept);
        let y = DVector::from_iterator(cells, self.labels.iter().map(|&v| f64::from(v)));
        let mut matrix = a.transpose() * &a / cells as f64;
        let mut right = a.transpose() * y / cells as f64;
        for (i, &tap) in kept.iter().enumerate() {
            matrix[(i, i)] += f64::from(self.weights[tap % cells]).powi(2) + temporal;
            right[i] += temporal * before[tap];
        }
        let solution = matrix.cholesky().expect("a positive matrix").solve(&right);
        let mut taps = DVector::zeros(self.channels * cells);
        kept.iter().enumerate().for_each(|(i, &tap)| taps[tap] = solution[i]);
        taps
    }

    fn filter(&self, settings: BackgroundSettings) -> BackgroundAware {
        BackgroundAware::new(self.size, &self.labels, &self.weights, settings)
    }

    fn write(&self, filter: &mut BackgroundAware, seed: usize) {
        write(filter.input(), self.channels, seed);
    }

    /// Largest difference of the filter's taps from `expected`, over the largest of those.
    fn error(&self, filter: &BackgroundAware, expected: &DVector<f64>) -> f64 {
        let cells = self.size.0 * self.size.1;
        let taps = filter.taps();
        let differences = (0..self.channels * cells).map(|i| {
            let (d, p) = (i / cells, i % cells);
            (taps[p * CHANNELS + d] - expected[i]).abs()
        });
        differences.fold(0.0, f64::max) / expected.amax()
    }
}

/// A box in the middle, `inside` on it, `outside` around it.
fn boxed((rows, cols): (usize, usize), inside: f32, outside: f32) -> Vec<f32> {
    let within = |i: usize, n: usize| (n / 3..n - n / 3).contains(&i);
    (0..rows * cols).map(|i| if within(i / cols, rows) && within(i % cols, cols) { inside } else { outside }).collect()
}

fn converged(temporal: f64, sample_rate: f64) -> BackgroundSettings {
    BackgroundSettings {
        temporal,
        sample_rate,
        steps: 400,
        penalty: 0.05,
        penalty_growth: 1.0,
        penalty_limit: 0.05,
        ..BackgroundSettings::default()
    }
}

#[test]
fn many_steps_find_the_dense_solution_over_frames() {
    let cases =
        [((6, 7), 3, f32::INFINITY), ((5, 8), 2, 0.8), ((4, 4), 1, f32::INFINITY), ((3, 5), 32, 1.5), ((1, 6), 2, 2.0)];
    for (size, channels, outside) in cases {
        let problem =
            Problem { size, channels, labels: gaussian(size.0, size.1, 0.9), weights: boxed(size, 0.1, outside) };
        for (temporal, rate) in [(0.3, 1.0), (0.0, 0.25), (0.2, 0.5)] {
            let mut filter = problem.filter(converged(temporal, rate));
            let mut samples = shifts(size, channels, 1);
            let mut expected = problem.solve(&samples, 0.0, &DVector::zeros(samples.ncols()));
            problem.write(&mut filter, 1);
            filter.learn();
            let first = problem.error(&filter, &expected);
            assert!(first < 2e-3, "{size:?}, {channels} channels: {first}");
            for seed in [2, 3] {
                samples = samples * (1.0 - rate) + shifts(size, channels, seed) * rate;
                expected = problem.solve(&samples, temporal, &expected);
                problem.write(&mut filter, seed);
                filter.learn();
                let error = problem.error(&filter, &expected);
                assert!(error < 2e-3, "{size:?}, {channels} channels, {temporal}, {rate}: {error}");
            }
            // The answers to a new map are also those of the taps.
            problem.write(&mut filter, 9);
            let answers = shifts(size, channels, 9) * &expected;
            let scale = answers.amax();
            for (got, expected) in filter.respond().iter().zip(answers.iter()) {
                assert!((f64::from(*got) - expected).abs() < 5e-3 * scale, "{size:?}, {channels} channels");
            }
        }
    }
}

#[test]
fn no_value_stands_where_none_may() {
    let size = (7, 9);
    let weights = boxed(size, 1e-3, f32::INFINITY);
    let problem = Problem { size, channels: 5, labels: gaussian(7, 9, 1.0), weights };
    let mut filter = problem.filter(BackgroundSettings::default());
    for seed in 1..5 {
        problem.write(&mut filter, seed);
        filter.learn();
    }
    let taps = filter.taps();
    let largest = taps.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    let worst = taps.iter().enumerate().filter(|(i, _)| problem.weights[i / CHANNELS % 63].is_infinite());
    assert!(largest > 1e-3 && worst.fold(0.0, |m: f64, (_, v)| m.max(v.abs())) < 1e-6 * largest);
}

#[test]
fn without_mask_and_past_it_is_the_dual_linear_filter() {
    for (size, channels) in [((6, 8), 31), ((7, 5), 31), ((12, 9), 17)] {
        let lambda = 1e-2;
        let labels = gaussian(size.0, size.1, 1.1);
        let mut dual = Kcf::new(size.0, size.1, channels, Kernel::Linear, lambda, &labels);
        let weights = vec![(lambda * channels as f64).sqrt() as f32; size.0 * size.1];
        let problem = Problem { size, channels, labels, weights };
        let settings = BackgroundSettings { temporal: 0.0, ..BackgroundSettings::default() };
        let mut primal = problem.filter(settings);
        problem.write(&mut primal, 4);
        let map = primal.input().to_vec();
        primal.learn();
        dual.input().copy_from_slice(&map);
        dual.learn(1.0);
        problem.write(&mut primal, 5);
        let map = primal.input().to_vec();
        dual.input().copy_from_slice(&map);
        let (expected, got) = (dual.respond().to_vec(), primal.respond());
        let scale = expected.iter().fold(0.0, |m: f32, v| m.max(v.abs()));
        assert!(scale > 1e-3);
        for (expected, got) in expected.iter().zip(got) {
            assert!((expected - got).abs() < 1e-4 * scale, "{size:?}: {got} for {expected}");
        }
    }
}

#[test]
fn a_shifted_target_is_learned_where_it_lies() {
    let (size, channels) = ((8, 7), 6);
    let cells = size.0 * size.1;
    let weights = boxed(size, 1e-3, f32::INFINITY);
    let problem = Problem { size, channels, labels: gaussian(8, 7, 1.0), weights };
    let (mut anew, mut again) = (problem.filter(Default::default()), problem.filter(Default::default()));
    problem.write(&mut anew, 1);
    let map = anew.input().to_vec();
    anew.learn();
    // The map is the same, with its cell (r, c) at (r + 2, c + 1).
    for (i, v) in again.input().iter_mut().enumerate() {
        let (lane, cell) = (i % CHANNELS, i / CHANNELS);
        let from = (cell / 7 + 8 - 2) % 8 * 7 + (cell % 7 + 7 - 1) % 7;
        *v = map[(i / CHANNELS / cells * cells + from) * CHANNELS + lane];
    }
    again.respond();
    again.learn_again((2.0, 1.0));
    for filter in [&mut anew, &mut again] {
        problem.write(filter, 2);
        filter.respond();
    }
    let scale = anew.response().iter().fold(0.0, |m: f32, v| m.max(v.abs()));
    for (a, b) in anew.response().iter().zip(again.response()) {
        assert!((a - b).abs() < 1e-4 * scale);
    }
    // The score between cells is that of the plane on cells.
    for (r, c) in [(0, 0), (3, 5), (7, 2)] {
        let got = series(&anew.answer, 7, (r as f64, c as f64), &mut anew.turns);
        assert!((got - f64::from(anew.response()[r * 7 + c])).abs() < 1e-5 * f64::from(scale));
    }
    // After one frame the slow filter is the filter.
    assert!((anew.slow_score_at((1.5, 2.5)) - series(&anew.answer, 7, (1.5, 2.5), &mut anew.turns)).abs() < 1e-6);
}

/// A small problem with a mask.
fn masked() -> Problem {
    let size = (7, 9);
    Problem { size, channels: 5, labels: gaussian(7, 9, 1.0), weights: boxed(size, 1e-3, f32::INFINITY) }
}

#[test]
fn the_slow_filter_follows_by_its_rate() {
    let problem = masked();
    for slow_rate in [0.02, 0.25] {
        let mut filter = problem.filter(BackgroundSettings { slow_rate, ..Default::default() });
        // The answers of filter and slow filter to their own map, after so many frames.
        let mut answers = |seed: usize| {
            problem.write(&mut filter, seed);
            filter.learn();
            problem.write(&mut filter, 9);
            filter.respond();
            (series(&filter.answer, 9, (1.0, 2.0), &mut filter.turns), filter.slow_score_at((1.0, 2.0)))
        };
        let (first, mut slow) = answers(1);
        assert!((first - slow).abs() < 1e-6, "the first one is taken as it is");
        for seed in 2..5 {
            let (now, followed) = answers(seed);
            slow += slow_rate * (now - slow);
            assert!((followed - slow).abs() < 1e-5 && (now - slow).abs() > 1e-3, "{now}, {followed}, {slow}");
        }
    }
    assert_eq!(BackgroundSettings::default().slow_rate, 0.02);
}

/// The filter before counts less or more in the next frame, and as usual again in the one after it.
#[test]
fn a_filter_is_held_for_one_frame() {
    let problem = masked();
    // How strongly it is held before each of three frames.
    let taps = |factors: [Option<f64>; 3]| {
        let mut filter = problem.filter(Default::default());
        for (seed, factor) in (1..).zip(factors) {
            factor.into_iter().for_each(|factor| filter.hold(factor));
            problem.write(&mut filter, seed);
            filter.learn();
        }
        filter.taps()
    };
    for factor in [0.0, 0.5, 4.0] {
        let once = taps([None, Some(factor), None]);
        assert!(once == taps([None, Some(factor), Some(1.0)]), "{factor}");
        assert!(once != taps([None, Some(factor), Some(factor)]) && once != taps([None; 3]), "{factor}");
    }
}
