//! The time of updates in Rust, for the comparison in `scripts/python_overhead.py`.
//!
//! `time_updates FILE WIDTH HEIGHT PRESET X,Y,W,H` tracks the gray frames in FILE and prints the nanoseconds of each
//! update. With `THREADS ROUNDS` each of so many threads does so ROUNDS times, and the total updates per second are
//! printed.

use std::sync::Barrier;
use std::time::Instant;

use kcf_track::{BBox, Frame, Params, Tracker};

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let ([file, width, height, preset, bbox], more) = words.split_first_chunk().ok_or("five arguments are needed")?;
    let (width, height): (usize, usize) = (width.parse()?, height.parse()?);
    let bytes = std::fs::read(file)?;
    let frames = bytes.chunks_exact(width * height).map(|frame| Frame::gray(frame, width, height));
    let frames = frames.collect::<Result<Vec<_>, _>>()?;
    let numbers = bbox.split(',').map(str::parse).collect::<Result<Vec<f64>, _>>()?;
    let numbers: [f64; 4] = numbers.try_into().map_err(|_| "a box has four numbers")?;
    let params = Params::preset(preset)?;
    let begin = || -> Result<Tracker, Failure> {
        let mut tracker = Tracker::new(params.clone())?;
        tracker.init(frames[0], BBox::from(numbers))?;
        Ok(tracker)
    };
    if let [threads, rounds] = more {
        let (threads, rounds): (usize, usize) = (threads.parse()?, rounds.parse()?);
        // The time to make a tracker does not count.
        let trackers = (0..threads).map(|_| begin()).collect::<Result<Vec<_>, _>>()?;
        let start = Barrier::new(threads + 1);
        let work = |mut tracker: Tracker| -> Result<(), Failure> {
            start.wait();
            for _ in 0..rounds {
                for frame in &frames[1..] {
                    std::hint::black_box(tracker.update(*frame)?);
                }
            }
            Ok(())
        };
        let begun = std::thread::scope(|scope| {
            let running: Vec<_> = trackers.into_iter().map(|tracker| scope.spawn(|| work(tracker))).collect();
            start.wait();
            let begun = Instant::now();
            let joined =
                running.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread has panicked")?);
            joined.map(|()| begun)
        })?;
        println!("{}", (threads * rounds * (frames.len() - 1)) as f64 / begun.elapsed().as_secs_f64());
        return Ok(());
    }
    let mut tracker = begin()?;
    for frame in &frames[1..] {
        let begun = Instant::now();
        let estimate = tracker.update(*frame)?;
        let took = begun.elapsed();
        std::hint::black_box(estimate);
        println!("{}", took.as_nanos());
    }
    Ok(())
}
