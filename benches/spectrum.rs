//! The transform of all channels over SIMD lanes against one real transform per channel.
//!
//!     cargo bench --bench spectrum              # divan's table
//!     cargo bench --bench spectrum -- ratios    # medians of interleaved runs and their ratios
//!     cargo bench --bench spectrum -- lengths   # nanoseconds a cell of lines by length, and the estimate of `cost`

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kcf_track::fft::{AlignedBuf, CHANNELS, LanePlan, PlanePlan, cost, cross_power, fold};
use kcf_track::simd::{SimdLevel, set_ceiling};
use realfft::{RealFftPlanner, RealToComplex};
use rustfft::Fft;
use rustfft::num_complex::Complex32;

/// Rows x columns of cells: windows of the paper's tracker on real sequences, and two of small factors only.
const SIZES: [(usize, usize); 8] = [(50, 21), (40, 60), (64, 64), (72, 20), (59, 40), (31, 10), (99, 26), (50, 62)];
/// Channels of a HOG map without its zero channel.
const REAL_CHANNELS: usize = 31;

/// One channel at a time, as well as it can be done with the crates: rows by realfft, columns by rustfft in one
/// batch on the transposed half-spectrum, which stays transposed. The planes are ready and need no deinterleaving.
struct ChannelByChannel {
    rows: usize,
    cols: usize,
    row: Arc<dyn RealToComplex<f32>>,
    col: Arc<dyn Fft<f32>>,
    planes: Vec<f32>,
    half: Vec<Complex32>,
    spectra: Vec<Complex32>,
    scratch: Vec<Complex32>,
}

impl ChannelByChannel {
    fn new(rows: usize, cols: usize, channels: usize) -> Self {
        let mut planner = RealFftPlanner::new();
        let row = planner.plan_fft_forward(cols);
        let col = rustfft::FftPlanner::new().plan_fft_forward(rows);
        let half = rows * (cols / 2 + 1);
        let scratch = row.get_scratch_len().max(col.get_inplace_scratch_len());
        Self {
            rows,
            cols,
            planes: noise(rows * cols * channels),
            half: vec![Complex32::default(); half],
            spectra: vec![Complex32::default(); half * channels],
            scratch: vec![Complex32::default(); scratch],
            row,
            col,
        }
    }

    fn run(&mut self) {
        let width = self.cols / 2 + 1;
        let planes = self.planes.chunks_exact_mut(self.rows * self.cols);
        for (plane, spectrum) in planes.zip(self.spectra.chunks_exact_mut(self.rows * width)) {
            for (line, half) in plane.chunks_exact_mut(self.cols).zip(self.half.chunks_exact_mut(width)) {
                self.row.process_with_scratch(line, half, &mut self.scratch).unwrap();
            }
            for (v, column) in spectrum.chunks_exact_mut(self.rows).enumerate() {
                for (to, line) in column.iter_mut().zip(self.half.chunks_exact(width)) {
                    *to = line[v];
                }
            }
            self.col.process_with_scratch(spectrum, &mut self.scratch);
        }
        black_box(&self.spectra);
    }
}

/// All channels at once. In place, so each run transforms a fresh copy of the map; the copy is part of the time.
struct AllAtOnce {
    plan: LanePlan,
    fresh: AlignedBuf,
    map: AlignedBuf,
    scratch: AlignedBuf,
}

impl AllAtOnce {
    fn new(rows: usize, cols: usize) -> Self {
        let plan = LanePlan::new(rows, cols);
        Self {
            fresh: AlignedBuf::from(&noise(plan.map_len())[..]),
            map: AlignedBuf::zeroed(plan.map_len()),
            scratch: AlignedBuf::zeroed(plan.scratch_len()),
            plan,
        }
    }

    fn run(&mut self) {
        self.map.copy_from_slice(&self.fresh);
        self.plan.forward(&mut self.map, &mut self.scratch);
        black_box(&self.map);
    }
}

fn noise(len: usize) -> Vec<f32> {
    (0..len).map(|i| ((i * 7919) % 1013) as f32 / 1013.0 - 0.5).collect()
}

#[divan::bench(args = SIZES.map(|(r, c)| format!("{r}x{c}")))]
fn realfft_channel_by_channel(bencher: divan::Bencher<'_, '_>, size: &str) {
    let (rows, cols) = parse(size);
    let mut reference = ChannelByChannel::new(rows, cols, REAL_CHANNELS);
    bencher.bench_local(|| reference.run());
}

#[divan::bench(args = SIZES.map(|(r, c)| format!("{r}x{c}")))]
fn lanes_all_at_once(bencher: divan::Bencher<'_, '_>, size: &str) {
    let (rows, cols) = parse(size);
    let mut lanes = AllAtOnce::new(rows, cols);
    bencher.bench_local(|| lanes.run());
}

/// Maps of 16 columns and every number of rows: the time of the columns is what is left once that of the rows is taken
/// away, which is half of that of 16 x 16.
fn lengths() {
    let forward = |rows: usize| {
        let mut all = AllAtOnce::new(rows, 16);
        let mut times: Vec<f64> = (0..400)
            .map(|_| {
                all.map.copy_from_slice(&all.fresh);
                let begun = Instant::now();
                all.plan.forward(&mut all.map, &mut all.scratch);
                begun.elapsed().as_secs_f64() * 1e9 / (rows * 16) as f64
            })
            .collect();
        times.sort_by(f64::total_cmp);
        times[40]
    };
    let rows_of_16 = forward(16) / 2.0;
    println!("{:>6} {:>10} {:>10}", "length", "ns a cell", "estimate");
    for length in (2..=64).chain([71, 72, 75, 79, 80, 81, 89, 90, 96, 97, 100, 101, 125, 127, 128]) {
        println!("{length:>6} {:>10.1} {:>10.1}", forward(length) - rows_of_16, cost::line(length));
    }
}

fn parse(size: &str) -> (usize, usize) {
    let (rows, cols) = size.split_once('x').unwrap();
    (rows.parse().unwrap(), cols.parse().unwrap())
}

/// Median time of each, the runs taken in turn so that a noisy machine disturbs all alike.
fn interleaved(runs: &mut [&mut dyn FnMut()]) -> Vec<Duration> {
    const ROUNDS: usize = 301;
    let mut times = vec![Vec::with_capacity(ROUNDS); runs.len()];
    for _ in 0..ROUNDS {
        for (run, times) in runs.iter_mut().zip(&mut times) {
            let start = Instant::now();
            run();
            times.push(start.elapsed());
        }
    }
    times
        .iter_mut()
        .map(|times| {
            times.sort_unstable();
            times[ROUNDS / 2]
        })
        .collect()
}

fn ratios() {
    let micros = |d: Duration| d.as_secs_f64() * 1e6;
    println!("31 channels, forward, medians in microseconds of interleaved runs");
    println!("{:>8} {:>10} {:>10} {:>10} {:>10} {:>8}", "cells", "realfft", "best", "avx2", "baseline", "ratio");
    for (rows, cols) in SIZES {
        let mut reference = ChannelByChannel::new(rows, cols, REAL_CHANNELS);
        let mut best = AllAtOnce::new(rows, cols);
        let (mut avx2, mut baseline) = (AllAtOnce::new(rows, cols), AllAtOnce::new(rows, cols));
        let at = |level, all: &mut AllAtOnce| {
            set_ceiling(level);
            all.run();
        };
        let times = interleaved(&mut [
            &mut || reference.run(),
            &mut || at(SimdLevel::Best, &mut best),
            &mut || at(SimdLevel::Avx2, &mut avx2),
            &mut || at(SimdLevel::Baseline, &mut baseline),
        ]);
        set_ceiling(SimdLevel::Best);
        println!(
            "{:>8} {:>10.1} {:>10.1} {:>10.1} {:>10.1} {:>7.2}x",
            format!("{rows}x{cols}"),
            micros(times[0]),
            micros(times[1]),
            micros(times[2]),
            micros(times[3]),
            times[0].as_secs_f64() / times[1].as_secs_f64()
        );
    }
}

/// The other steps of a kernel correlation, beside one real transform of a plane by realfft and rustfft.
fn steps() {
    println!("\none plane, and the sum over the channels; medians in microseconds of interleaved runs");
    println!(
        "{:>8} {:>10} {:>10} {:>10} {:>10} {:>10} {:>8}",
        "cells", "realfft", "forward", "inverse", "power", "fold", "ratio"
    );
    for (rows, cols) in SIZES {
        let mut reference = ChannelByChannel::new(rows, cols, 1);
        let plan = PlanePlan::new(rows, cols);
        let plane = noise(rows * cols);
        let mut back = noise(rows * cols);
        let mut half = vec![Complex32::default(); plan.half_len()];
        let mut folded = half.clone();
        let (mut scratch, mut more) = (AlignedBuf::zeroed(plan.scratch_len()), AlignedBuf::zeroed(plan.scratch_len()));
        plan.forward(&plane, &mut half, &mut scratch);
        let spectrum = half.clone();
        let maps = [1, 2].map(|_| AlignedBuf::from(&noise(rows * cols * CHANNELS)[..]));
        let mut full = vec![Complex32::default(); rows * cols];
        let other = full.clone();
        let times = interleaved(&mut [
            &mut || reference.run(),
            &mut || {
                plan.forward(&plane, &mut half, &mut scratch);
                black_box(&half);
            },
            &mut || {
                plan.inverse(&spectrum, &mut back, &mut more);
                black_box(&back);
            },
            &mut || {
                black_box(cross_power(&maps[0], &maps[1], &mut full));
            },
            &mut || {
                fold(rows, cols, black_box(&other), &mut folded);
                black_box(&folded);
            },
        ]);
        let micros: Vec<f64> = times.iter().map(|t| t.as_secs_f64() * 1e6).collect();
        print!("{:>8}", format!("{rows}x{cols}"));
        micros.iter().for_each(|m| print!(" {m:>10.2}"));
        println!(" {:>7.2}x", micros[0] / micros[1]);
    }
}

fn main() {
    if std::env::args().any(|arg| arg == "ratios") {
        ratios();
        steps();
    } else if std::env::args().any(|arg| arg == "lengths") {
        lengths();
    } else {
        divan::main();
    }
}
