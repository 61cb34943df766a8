//! What an evaluation asks of a tracker, and how the runs of a protocol go over the frames of one sequence.
//!
//! All runs of a protocol see the frames in one pass: twenty trackers that started at different frames cost one decoding, not
//! twenty, and only one frame is in memory.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::protocol::Start;
use crate::error::{Error, Result};
use crate::frame::{Frame, FrameBuf};
use crate::geometry::BBox;

/// A tracker with its parameters, of which any number of runs can be begun.
pub trait Runner: Send + Sync {
    /// The name in reports and of the folder of its runs.
    fn name(&self) -> &str;

    /// All parameters, as they stand in the report. Runs that were made with other ones are not taken up again.
    fn parameters(&self) -> serde_json::Value;

    /// A tracker without a target.
    ///
    /// # Errors
    /// When the parameters are wrong.
    fn begin(&self) -> Result<Box<dyn Run>>;
}

/// One tracker under way.
pub trait Run: Send {
    /// Learns the target in `bbox` (0-based).
    ///
    /// # Errors
    /// When the box cannot be tracked.
    fn init(&mut self, frame: &Frame, bbox: BBox) -> Result<()>;

    /// The target's box in the next frame.
    ///
    /// # Errors
    /// When the frame cannot be used.
    fn update(&mut self, frame: &Frame) -> Result<BBox>;
}

/// What one run gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// Where the run began.
    pub start: Start,
    /// One box a frame, 0-based; the first is the initial one.
    pub boxes: Vec<BBox>,
    /// Time that the tracker took for each frame, without decoding, in microseconds.
    pub micros: Vec<u32>,
}

/// Runs `runner` from every one of `starts` to the end of `frames`, which are decoded one after the other. `tick` is called
/// after each frame.
///
/// # Errors
/// The first error of a frame or of the tracker, with the sequence's `name` and the run.
pub fn run_sequence(
    runner: &dyn Runner,
    name: &str,
    starts: &[Start],
    frames: impl Iterator<Item = Result<FrameBuf>>,
    tick: &dyn Fn(),
) -> Result<Vec<Trace>> {
    let mut traces: Vec<Trace> =
        starts.iter().map(|&start| Trace { start, boxes: Vec::new(), micros: Vec::new() }).collect();
    let mut runs: Vec<Option<Box<dyn Run>>> = starts.iter().map(|_| None).collect();
    for (index, frame) in frames.enumerate() {
        let frame = frame?;
        let view = frame.as_frame();
        for (run, trace) in runs.iter_mut().zip(&mut traces) {
            let failed = |error: Error| Error::Evaluation {
                what: format!(
                    "{name}, {}, run from frame {}, at frame {}",
                    runner.name(),
                    trace.start.frame + 1,
                    index + 1
                ),
                reason: error.to_string(),
            };
            let began = Instant::now();
            let bbox = match run {
                Some(run) => run.update(&view).map_err(failed)?,
                None if trace.start.frame == index => {
                    let mut fresh = runner.begin().map_err(failed)?;
                    fresh.init(&view, trace.start.init).map_err(failed)?;
                    *run = Some(fresh);
                    trace.start.init
                }
                None => continue,
            };
            if ![bbox.x, bbox.y, bbox.w, bbox.h].iter().all(|v| v.is_finite()) {
                return Err(failed(Error::Box { bbox, reason: "the tracker gave a box that is not finite".into() }));
            }
            trace.boxes.push(bbox);
            trace.micros.push(u32::try_from(began.elapsed().as_micros()).unwrap_or(u32::MAX));
        }
        tick();
    }
    Ok(traces)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::frame::PixelFormat;

    /// A tracker that says the initial box, moved right by `speed` pixels a frame.
    pub(crate) struct Drift {
        pub name: String,
        pub speed: f64,
    }

    struct Drifting {
        speed: f64,
        bbox: BBox,
    }

    impl Runner for Drift {
        fn name(&self) -> &str {
            &self.name
        }

        fn parameters(&self) -> serde_json::Value {
            serde_json::json!({ "speed": self.speed })
        }

        fn begin(&self) -> Result<Box<dyn Run>> {
            Ok(Box::new(Drifting { speed: self.speed, bbox: BBox::default() }))
        }
    }

    impl Run for Drifting {
        fn init(&mut self, _: &Frame, bbox: BBox) -> Result<()> {
            self.bbox = bbox;
            Ok(())
        }

        fn update(&mut self, _: &Frame) -> Result<BBox> {
            self.bbox = self.bbox.translated(self.speed, 0.0);
            Ok(self.bbox)
        }
    }

    fn frames(n: usize) -> impl Iterator<Item = Result<FrameBuf>> {
        (0..n).map(|_| FrameBuf::new(vec![0; 12], 4, 3, PixelFormat::Gray8))
    }

    #[test]
    fn every_run_begins_at_its_frame_and_lasts_to_the_end() {
        let runner = Drift { name: "drift".into(), speed: 2.0 };
        let init = BBox::new(0.0, 0.0, 2.0, 2.0);
        let starts = [Start { frame: 0, init }, Start { frame: 3, init: init.translated(1.0, 0.0) }];
        let ticks = std::cell::Cell::new(0);
        let traces = run_sequence(&runner, "s", &starts, frames(5), &|| ticks.set(ticks.get() + 1)).unwrap();
        assert_eq!(traces[0].boxes.len(), 5);
        assert_eq!(traces[0].boxes[4].x, 8.0);
        assert_eq!(traces[1].boxes.iter().map(|b| b.x).collect::<Vec<_>>(), [1.0, 3.0]);
        assert_eq!((ticks.get(), traces[1].micros.len()), (5, 2));
    }

    #[test]
    fn errors_name_the_frame() {
        let runner = Drift { name: "drift".into(), speed: f64::INFINITY };
        let starts = [Start { frame: 0, init: BBox::new(0.0, 0.0, 2.0, 2.0) }];
        let error = run_sequence(&runner, "Deer", &starts, frames(3), &|| ()).unwrap_err().to_string();
        assert!(error.contains("Deer, drift, run from frame 1, at frame 2"), "{error}");
        let broken = frames(1).chain([Err(Error::Decode { path: "0002.jpg".into(), reason: "truncated".into() })]);
        let error = run_sequence(&runner, "Deer", &starts, broken, &|| ()).unwrap_err().to_string();
        assert!(error.contains("0002.jpg"), "{error}");
    }
}
