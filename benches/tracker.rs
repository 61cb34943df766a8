//! The tracker and its stages.
//!
//!     cargo bench --bench tracker              # divan's table
//!     cargo bench --bench tracker -- update    # one part of it
//!     cargo bench --bench tracker -- stages    # where the time of an update goes
//!     cargo bench --bench tracker -- growth    # time and memory against window area and against the position in a
//!                                              # sequence, as a table and as target/growth/growth.png

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use divan::Bencher;
use kcf_track::features::hog::{self, Hog};
use kcf_track::features::{labels, taper};
use kcf_track::fft::MapPlan;
use kcf_track::filters::kcf::Kcf;
use kcf_track::frame::Channels;
use kcf_track::frame::half::HalfSampler;
use kcf_track::frame::patch::{self, PatchRect};
use kcf_track::frame::resample::{Region, Resampler};
use kcf_track::kernels::Kernel;
use kcf_track::kernels::correlation::KernelCorrelator;
use kcf_track::media::{Prefetch, Sequence, SequenceOptions};
use kcf_track::profile::Stopwatch;
use kcf_track::run::Session;
use kcf_track::synth::{Preset, Scene};
use kcf_track::tracker::ResponseLayout;
use kcf_track::tracker::confidence::Peak;
use kcf_track::{BBox, Frame, FrameBuf, Params, PixelFormat, Tracker};
use rustfft::num_complex::Complex32;

mod growth;
#[path = "../tests/reference/fhog.rs"]
mod reference;

/// Rows x columns of cells: windows of real sequences, two of them with large primes.
const CELLS: [(usize, usize); 6] = [(31, 10), (50, 21), (40, 60), (59, 40), (64, 64), (72, 20)];
/// Sides of targets in pixels.
const TARGETS: [(usize, usize); 4] = [(24, 32), (40, 60), (95, 65), (160, 120)];
const PRESETS: [&str; 6] = ["paper", "robust", "paper-dcf", "paper-gray", "paper-polynomial", "fast"];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [growth::CHILD, preset, side] => growth::child(preset, side),
        _ if words.contains(&"growth") => growth::run(),
        _ if words.contains(&"stages") => stages(),
        _ => divan::main(),
    }
}

fn named(sizes: &[(usize, usize)]) -> Vec<String> {
    sizes.iter().map(|(a, b)| format!("{a}x{b}")).collect()
}

fn numbers(name: &str) -> (usize, usize) {
    let (a, b) = name.split_once('x').unwrap();
    (a.parse().unwrap(), b.parse().unwrap())
}

/// A frame of a rendered scene as gray values, repeated until it is large enough.
fn picture(width: usize, height: usize) -> Vec<u8> {
    let scene = Scene::new(Preset::Demo.params()).unwrap();
    let frame = FrameBuf::try_from(image::DynamicImage::from(scene.render(3).0)).unwrap();
    let frame = frame.as_frame();
    (0..width * height).map(|i| frame.gray_at(i % width % frame.width(), i / width % frame.height())).collect()
}

mod crop {
    use super::*;

    /// The patch that `cells` of 4 pixels are made of, out of a picture `scale` times as large and a bit.
    fn crop(
        bencher: Bencher<'_, '_>,
        cells: &str,
        scale: usize,
        mut cut: impl FnMut(&Frame<'_>, PatchRect, &mut [u8]),
    ) {
        let (rows, cols) = numbers(cells);
        let (width, height) = (4 * cols, 4 * rows);
        let side = (scale * width + 8, scale * height + 8);
        let pixels = picture(side.0, side.1);
        let frame = Frame::gray(&pixels, side.0, side.1).unwrap();
        let mut out = vec![0; width * height];
        bencher.bench_local(|| {
            cut(&frame, PatchRect { left: 3, top: 2, width, height }, &mut out);
            black_box(out[0])
        });
    }

    #[divan::bench(args = named(&CELLS))]
    fn whole(bencher: Bencher<'_, '_>, cells: &str) {
        crop(bencher, cells, 1, patch::sample);
    }

    #[divan::bench(args = named(&CELLS))]
    fn half(bencher: Bencher<'_, '_>, cells: &str) {
        let (rows, cols) = numbers(cells);
        let mut sampler = HalfSampler::new(4 * cols, 4 * rows);
        crop(bencher, cells, 2, |frame, rect, out| sampler.sample(frame, rect, out));
    }

    #[divan::bench(args = named(&CELLS))]
    fn at_scale_1_7(bencher: Bencher<'_, '_>, cells: &str) {
        let (rows, cols) = numbers(cells);
        let mut sampler = Resampler::new(4 * cols, 4 * rows, Channels::Luma);
        crop(bencher, cells, 2, |frame, rect, out| {
            sampler.cut_from(frame, (rect.left as f64, rect.top as f64), 1.7, out);
        });
    }

    /// A patch of 200 x 200 pixels out of a larger or smaller area, in colour or gray, upright or turned.
    fn region(bencher: Bencher<'_, '_>, side: f64, frame: PixelFormat, patch: Channels, angle: f64) {
        let pixels = picture(640 * frame.bytes(), 480);
        let frame = Frame::new(&pixels, 640, 480, 640 * frame.bytes(), frame).unwrap();
        let mut resampler = Resampler::new(200, 200, patch);
        let mut out = vec![0; resampler.bytes()];
        let region = Region::new((320.3, 240.7), side / 200.0).turned(angle);
        bencher.bench_local(|| {
            resampler.cut(&frame, black_box(region), &mut out);
            black_box(out[0])
        });
    }

    const SIDES: [f64; 4] = [120.0, 200.0, 300.0, 450.0];

    #[divan::bench(args = SIDES)]
    fn region_gray(bencher: Bencher<'_, '_>, side: f64) {
        region(bencher, side, PixelFormat::Gray8, Channels::Luma, 0.0);
    }

    #[divan::bench(args = SIDES)]
    fn region_gray_of_rgb(bencher: Bencher<'_, '_>, side: f64) {
        region(bencher, side, PixelFormat::Rgb8, Channels::Luma, 0.0);
    }

    #[divan::bench(args = SIDES)]
    fn region_rgb(bencher: Bencher<'_, '_>, side: f64) {
        region(bencher, side, PixelFormat::Rgb8, Channels::Color, 0.0);
    }

    #[divan::bench(args = SIDES)]
    fn region_gray_turned(bencher: Bencher<'_, '_>, side: f64) {
        region(bencher, side, PixelFormat::Gray8, Channels::Luma, 0.3);
    }

    #[divan::bench(args = SIDES)]
    fn region_rgb_turned(bencher: Bencher<'_, '_>, side: f64) {
        region(bencher, side, PixelFormat::Rgb8, Channels::Color, 0.3);
    }

    /// The 21 patches of 24 x 24 pixels that a search of the scale is made of.
    #[divan::bench]
    fn region_of_21_scales(bencher: Bencher<'_, '_>) {
        let pixels = picture(200, 200);
        let frame = Frame::gray(&pixels, 200, 200).unwrap();
        let mut resampler = Resampler::new(24, 24, Channels::Luma);
        let mut out = vec![0; 21 * resampler.bytes()];
        bencher.bench_local(|| {
            for (i, out) in (-10..).zip(out.chunks_exact_mut(resampler.bytes())) {
                let side = 40.0 * 1.03f64.powi(i);
                resampler.cut(&frame, Region::of_area((100.2, 99.8), (side, side), (24, 24)), out);
            }
            black_box(out[0])
        });
    }
}

mod filter {
    use super::*;

    fn trained(cells: &str) -> Kcf {
        let (rows, cols) = numbers(cells);
        let labels = labels::gaussian(rows, cols, 2.0);
        let mut filter = Kcf::new(rows, cols, hog::CHANNELS, Kernel::Gaussian { sigma: 0.5 }, 1e-4, &labels);
        filter.input().iter_mut().enumerate().for_each(|(i, v)| *v = (i * 7919 % 1013) as f32 / 1013.0);
        filter.learn(1.0, &mut Stopwatch::default());
        filter
    }

    /// Kernel correlation, dual coefficients and interpolation of a map whose spectrum is at hand.
    #[divan::bench(args = named(&CELLS))]
    fn learn_again(bencher: Bencher<'_, '_>, cells: &str) {
        let mut filter = trained(cells);
        bencher.bench_local(|| filter.learn_again(0.02, (0.0, 0.0), &mut Stopwatch::default()));
    }

    #[divan::bench(args = named(&CELLS))]
    fn learn_again_shifted(bencher: Bencher<'_, '_>, cells: &str) {
        let mut filter = trained(cells);
        bencher.bench_local(|| filter.learn_again(0.02, (0.5, -0.25), &mut Stopwatch::default()));
    }

    #[divan::bench(args = named(&CELLS))]
    fn peak(bencher: Bencher<'_, '_>, cells: &str) {
        let (rows, cols) = numbers(cells);
        let mut filter = trained(cells);
        let response = filter.respond(&mut Stopwatch::default()).to_vec();
        bencher.bench_local(|| Peak::find(black_box(&response), (rows, cols), 6, ResponseLayout::Wrapped));
    }
}

mod features {
    use super::*;

    #[divan::bench(args = named(&CELLS))]
    fn hog(bencher: Bencher<'_, '_>, cells: &str) {
        let (rows, cols) = numbers(cells);
        let (patch, mut hog) = (picture(4 * cols, 4 * rows), Hog::new(4 * cols, 4 * rows, 4));
        let (row_window, col_window) = (taper::hann(rows), taper::hann(cols));
        let mut out = vec![0.0; rows * cols * hog::LANES];
        bencher.bench_local(|| {
            hog.extract(&patch, &row_window, &col_window, &mut out, &mut Stopwatch::default());
            black_box(out[40])
        });
    }

    /// The plain version of the tests.
    #[divan::bench(args = named(&CELLS))]
    fn scalar_reference(bencher: Bencher<'_, '_>, cells: &str) {
        let (rows, cols) = numbers(cells);
        let patch = picture(4 * cols, 4 * rows);
        bencher.bench_local(|| reference::fhog(&patch, 4 * cols, 4 * rows, 4));
    }
}

mod spectra {
    use super::*;

    #[divan::bench(args = named(&CELLS))]
    fn forward_31_channels(bencher: Bencher<'_, '_>, cells: &str) {
        let (rows, cols) = numbers(cells);
        let plan = MapPlan::new(rows, cols, hog::CHANNELS);
        let (mut map, mut scratch) = (plan.map(), plan.scratch());
        let fresh: Vec<f32> = (0..rows * cols * hog::LANES).map(|i| (i * 7919 % 1013) as f32 / 1013.0).collect();
        bencher.bench_local(|| {
            map.values_mut().copy_from_slice(&fresh);
            plan.transform(&mut map, &mut scratch);
            black_box(&map);
        });
    }

    #[divan::bench(args = named(&CELLS))]
    fn plane_there_and_back(bencher: Bencher<'_, '_>, cells: &str) {
        let (rows, cols) = numbers(cells);
        let plan = MapPlan::new(rows, cols, 1);
        let mut scratch = plan.scratch();
        let (mut plane, mut half) = (vec![0.5; rows * cols], vec![Complex32::default(); plan.half_len()]);
        bencher.bench_local(|| {
            plan.forward(&plane, &mut half, &mut scratch);
            plan.inverse(&half, &mut plane, &mut scratch);
            black_box(plane[0])
        });
    }
}

mod correlation {
    use super::*;

    fn correlate(bencher: Bencher<'_, '_>, cells: &str, kernel: Kernel) {
        let (rows, cols) = numbers(cells);
        let plan = MapPlan::new(rows, cols, hog::CHANNELS);
        let (mut map, mut scratch) = (plan.map(), plan.scratch());
        map.values_mut().iter_mut().enumerate().for_each(|(i, v)| *v = (i * 7919 % 1013) as f32 / 1013.0);
        plan.transform(&mut map, &mut scratch);
        let mut correlator = KernelCorrelator::new(kernel, &plan, hog::CHANNELS);
        let mut out = vec![Complex32::default(); plan.half_len()];
        bencher.bench_local(|| {
            correlator.correlate(&plan, &map, &map, None, &mut out, &mut scratch, &mut Stopwatch::default());
            black_box(out[0])
        });
    }

    #[divan::bench(args = named(&CELLS))]
    fn gaussian(bencher: Bencher<'_, '_>, cells: &str) {
        correlate(bencher, cells, Kernel::Gaussian { sigma: 0.5 });
    }

    #[divan::bench(args = named(&CELLS))]
    fn linear(bencher: Bencher<'_, '_>, cells: &str) {
        correlate(bencher, cells, Kernel::Linear);
    }
}

mod tracking {
    use super::*;

    /// One update, of a target that stands still.
    #[divan::bench(args = TARGETS.iter().flat_map(|(w, h)| PRESETS.map(|preset| format!("{w}x{h} {preset}"))))]
    fn update(bencher: Bencher<'_, '_>, case: &str) {
        let (size, preset) = case.split_once(' ').unwrap();
        let (w, h) = numbers(size);
        let mut still = Still::new(preset, w, h);
        bencher.bench_local(|| still.update());
    }

    /// All of `assets/demo`, decoded before; divide 119 by the time for frames per second.
    #[divan::bench(args = PRESETS, sample_count = 5, sample_size = 1)]
    fn demo(bencher: Bencher<'_, '_>, preset: &str) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo");
        let sequence = Sequence::open(folder, &SequenceOptions::default()).unwrap();
        let range = sequence.range(None, None).unwrap();
        let initial = sequence.initial_box(*range.start()).unwrap();
        let params = Params::preset(preset).unwrap();
        let frames = Prefetch::open(&sequence, range, params.channels()).unwrap();
        let frames: Vec<FrameBuf> = frames.map(|item| item.frame.unwrap()).collect();
        bencher.bench_local(|| {
            let mut session = Session::of(Tracker::new(params.clone()).unwrap(), 1, initial);
            for (position, frame) in (1..).zip(&frames) {
                black_box(session.feed(position, frame).unwrap()[0].bbox);
            }
        });
    }
}

/// A tracker on a frame that does not change.
struct Still {
    tracker: Tracker,
    gray: Vec<u8>,
    side: (usize, usize),
}

impl Still {
    fn new(preset: &str, width: usize, height: usize) -> Self {
        Self::with(Params::preset(preset).unwrap(), width, height)
    }

    fn with(params: Params, width: usize, height: usize) -> Self {
        let side = (3 * width, 3 * height);
        let gray = picture(side.0, side.1);
        let mut tracker = Tracker::new(params).unwrap();
        let target = BBox::new(width as f64, height as f64, width as f64, height as f64);
        tracker.init(Frame::gray(&gray, side.0, side.1).unwrap(), target).unwrap();
        Self { tracker, gray, side }
    }

    /// The frame with everything moved to the left.
    fn moved(&self, by: usize) -> Vec<u8> {
        let (width, _) = self.side;
        (0..self.gray.len()).map(|i| self.gray[i / width * width + (i % width + by) % width]).collect()
    }

    fn update(&mut self) {
        let frame = Frame::gray(&self.gray, self.side.0, self.side.1).unwrap();
        black_box(self.tracker.update(frame).unwrap().bbox);
    }

    /// Microseconds of `count` updates: the fastest, which a busy machine disturbs least, and the median.
    fn times(&mut self, count: usize) -> (f64, f64) {
        let mut times: Vec<f64> = (0..count)
            .map(|_| {
                let begun = Instant::now();
                self.update();
                begun.elapsed().as_secs_f64() * 1e6
            })
            .collect();
        times.sort_by(f64::total_cmp);
        (times[0], times[count / 2])
    }
}

/// Where the time of an update goes, by the tracker's own stopwatches: one frame in two the target has moved.
fn stages() {
    for preset in ["paper", "paper-dcf", "paper-gray", "fast"] {
        for (w, h) in TARGETS {
            let mut still = Still::new(preset, w, h);
            (0..20).for_each(|_| still.update());
            still.tracker.switch_profile(true);
            let other = still.moved(5);
            const PAIRS: u64 = 150;
            for _ in 0..PAIRS {
                still.update();
                still.tracker.update(Frame::gray(&other, still.side.0, still.side.1).unwrap()).unwrap();
            }
            println!("{preset}, target {w}x{h}");
            println!("{}", still.tracker.profile().table(2 * PAIRS));
        }
    }
}
