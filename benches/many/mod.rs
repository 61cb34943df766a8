//! What several targets cost beside one: the time in which a session follows them, on one thread and on two, each for
//! itself and staggered.

use std::time::Instant;

use kcf_track::run::Session;
use kcf_track::synth::{Scene, SceneParams};
use kcf_track::{BBox, FrameBuf, Params, Tracker};
use rayon::ThreadPoolBuilder;

const COUNTS: [usize; 4] = [2, 4, 8, 16];
const ROUNDS: usize = 7;
const FRAMES: usize = 60;

/// Frames of 1920x1080, and boxes of 120x90: the target's own, and pieces of the ground, which moves too.
fn scene() -> (Vec<FrameBuf>, Vec<BBox>) {
    let (width, height, target_width, target_height) = (1920, 1080, 120, 90);
    let params = SceneParams { frames: FRAMES, width, height, target_width, target_height, ..SceneParams::default() };
    let scene = Scene::new(SceneParams { noise: 3.0, ..params }).unwrap();
    let (frames, truth): (Vec<_>, Vec<_>) = scene.iter().unzip();
    let gray = |picture| FrameBuf::try_from(image::DynamicImage::from(image::DynamicImage::from(picture).to_luma8()));
    let ground = (0..15).map(|i| BBox::new(f64::from(200 + i % 5 * 330), f64::from(150 + i / 5 * 330), 120.0, 90.0));
    let boxes = std::iter::once(truth[0].bbox).chain(ground).collect();
    (frames.into_iter().map(|frame| gray(frame).unwrap()).collect(), boxes)
}

/// Seconds in which targets are followed there and back.
fn seconds(params: &Params, frames: &[FrameBuf], boxes: &[BBox], threads: usize, stagger: bool) -> f64 {
    let mut session = Session::default();
    session.parallel(threads > 1);
    session.stagger(stagger);
    for &bbox in boxes {
        session.add(Tracker::new(params.clone()).unwrap(), 1, bbox);
    }
    session.feed(1, &frames[0]).unwrap();
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let following = || {
        let begun = Instant::now();
        for (position, frame) in (2..).zip(frames[1..].iter().chain(frames.iter().rev())) {
            session.feed(position, frame).unwrap();
        }
        begun.elapsed().as_secs_f64()
    };
    pool.install(following)
}

pub fn run() {
    let (frames, boxes) = scene();
    println!("times that of one target on one thread, in frames of 1920x1080: the median of {ROUNDS} rounds");
    println!("{:>8} {:>8} {:>8} {:>10} {:>10}", "preset", "targets", "threads", "each alone", "staggered");
    for preset in ["fast", "robust"] {
        let params = Params::preset(preset).unwrap();
        for count in COUNTS {
            for threads in [1, 2] {
                let mut ratios = [Vec::new(), Vec::new()];
                for _ in 0..ROUNDS {
                    let one = seconds(&params, &frames, &boxes[..1], 1, false);
                    for (ratios, stagger) in ratios.iter_mut().zip([false, true]) {
                        ratios.push(seconds(&params, &frames, &boxes[..count], threads, stagger) / one);
                    }
                }
                ratios.iter_mut().for_each(|ratios| ratios.sort_by(f64::total_cmp));
                let [alone, staggered] = ratios.map(|ratios| ratios[ROUNDS / 2]);
                println!("{preset:>8} {count:>8} {threads:>8} {alone:>10.2} {staggered:>10.2}");
            }
        }
    }
}
