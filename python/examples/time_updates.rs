//! The time of updates in Rust, beside which `scripts/python_overhead.py` puts that in Python.
//!
//! `time_updates FILE WIDTH HEIGHT PRESET X,Y,W,H` tracks the gray frames in FILE, one after the other, and prints the
//! nanoseconds of each update.

use std::time::Instant;

use kcf_track::{BBox, Frame, Params, Tracker};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [file, width, height, preset, bbox] = &words[..] else { return Err("five arguments are needed".into()) };
    let (width, height): (usize, usize) = (width.parse()?, height.parse()?);
    let bytes = std::fs::read(file)?;
    let frames = bytes.chunks_exact(width * height).map(|frame| Frame::gray(frame, width, height));
    let numbers = bbox.split(',').map(str::parse).collect::<Result<Vec<f64>, _>>()?;
    let numbers: [f64; 4] = numbers.try_into().map_err(|_| "a box has four numbers")?;
    let mut tracker = Tracker::new(Params::preset(preset).ok_or("no such preset")?)?;
    for (i, frame) in frames.enumerate() {
        let frame = frame?;
        if i == 0 {
            tracker.init(frame, BBox::from(numbers))?;
            continue;
        }
        let begun = Instant::now();
        let estimate = tracker.update(frame)?;
        let took = begun.elapsed();
        std::hint::black_box(estimate);
        println!("{}", took.as_nanos());
    }
    Ok(())
}
