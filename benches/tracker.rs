//! The tracker.
//!
//!     cargo bench --bench tracker              # divan's table
//!     cargo bench --bench tracker -- update    # one part of it

use std::hint::black_box;
use std::path::Path;

use divan::Bencher;
use kcf_track::cancel::CancelToken;
use kcf_track::media::{OpenOptions, Prefetch, Sequence, Source};
use kcf_track::run::Session;
use kcf_track::synth::{Preset, Scene};
use kcf_track::{BBox, Frame, FrameBuf, Params, Tracker};

/// Sides of targets in pixels.
const TARGETS: [(usize, usize); 4] = [(24, 32), (40, 60), (95, 65), (160, 120)];
const PRESETS: [&str; 5] = ["paper", "robust", "paper-dcf", "paper-gray", "fast"];

fn main() {
    divan::main();
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
        let sequence = Sequence::open(folder, &OpenOptions::default()).unwrap();
        let span = sequence.info().span(None, None).unwrap();
        let initial = sequence.info().initial_box(span.first).unwrap();
        let params = Params::preset(preset).unwrap();
        let frames = Prefetch::open(&sequence, span, params.channels(), &CancelToken::default()).unwrap();
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
        let side = (3 * width, 3 * height);
        let gray = picture(side.0, side.1);
        let mut tracker = Tracker::new(Params::preset(preset).unwrap()).unwrap();
        let target = BBox::new(width as f64, height as f64, width as f64, height as f64);
        tracker.init(Frame::gray(&gray, side.0, side.1).unwrap(), target).unwrap();
        Self { tracker, gray, side }
    }

    fn update(&mut self) {
        let frame = Frame::gray(&self.gray, self.side.0, self.side.1).unwrap();
        black_box(self.tracker.update(frame).unwrap().bbox);
    }
}
