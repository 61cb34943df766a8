//! What an evaluation asks of a tracker, and how the runs of a protocol go over the frames of one sequence.
//!
//! All runs of a protocol see the frames in one pass: twenty trackers that started at different frames cost one
//! decoding, not twenty, and only one frame is in memory.

use serde::{Deserialize, Serialize};

use super::protocol::Start;
use crate::bbox::BBox;
use crate::error::{Error, Result};
use crate::frame::Channels;
use crate::media::Item;
use crate::run::{Cause, Follower, Halt, Outcome, Session, Step};

/// A tracker with its parameters, of which any number of runs can be begun.
pub trait Runner: Send + Sync {
    /// The name in reports and of the folder of its runs.
    fn name(&self) -> &str;

    /// All parameters, as they stand in the report. Runs that were made with other ones are not taken up again.
    fn parameters(&self) -> serde_json::Value;

    /// Whether [`Runner::parameters`] say all that its boxes depend on. Runs of one that is not described are never
    /// taken up again: it may have changed.
    fn is_described(&self) -> bool {
        true
    }

    /// A tracker without a target.
    ///
    /// # Errors
    /// When the parameters are wrong.
    fn begin(&self) -> Result<Box<dyn Follower>>;

    /// What it needs of a frame.
    fn channels(&self) -> Channels {
        Channels::Luma
    }
}

impl std::fmt::Debug for dyn Runner + '_ {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runner").field("name", &self.name()).finish_non_exhaustive()
    }
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

/// Runs `runner` from every one of `starts` to the end of `frames`, whose positions count from 1. `tick` is called
/// after each frame.
///
/// # Errors
/// The first error of a frame or of the tracker, with the sequence's `name` and the run.
pub fn run_sequence(
    runner: &dyn Runner,
    name: &str,
    starts: &[Start],
    frames: impl Iterator<Item = Item>,
    tick: &dyn Fn(),
) -> Result<Vec<Trace>> {
    let mut session = Session::default();
    let failed = |target: usize, position: usize, error: &Error| Error::Evaluation {
        what: format!(
            "{name}, {}, run from frame {}, at frame {position}",
            runner.name(),
            starts.get(target).map_or(0, |start| start.frame + 1)
        ),
        reason: error.to_string(),
    };
    for (target, start) in starts.iter().enumerate() {
        let follower = runner.begin().map_err(|error| failed(target, start.frame + 1, &error))?;
        session.add(follower, start.frame + 1, start.init);
    }
    let mut traces: Vec<Trace> =
        starts.iter().map(|&start| Trace { start, boxes: Vec::new(), micros: Vec::new() }).collect();
    let ended = session.run(frames, &mut |step: &Step<'_, _>| {
        for outcome in step.outcomes {
            let Outcome { target, bbox, took, .. } = *outcome;
            if ![bbox.x, bbox.y, bbox.w, bbox.h].iter().all(|v| v.is_finite()) {
                let error = Error::Box { bbox, reason: "the tracker gave a box that is not finite".into() };
                return Err(failed(target, step.item.position, &error));
            }
            traces[target].boxes.push(bbox);
            traces[target].micros.push(u32::try_from(took.as_micros()).unwrap_or(u32::MAX));
        }
        tick();
        Ok(())
    });
    match ended {
        Ok(_) => Ok(traces),
        Err(Halt { position, cause: Cause::Target { target, error }, .. }) => Err(failed(target, position, &error)),
        Err(Halt { cause: Cause::Frame(error) | Cause::Watch(error), .. }) => Err(error),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::frame::{Frame, FrameBuf, PixelFormat};
    use crate::tracker::{Estimate, Evidence, State};

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

        fn begin(&self) -> Result<Box<dyn Follower>> {
            Ok(Box::new(Drifting { speed: self.speed, bbox: BBox::default() }))
        }
    }

    impl Drifting {
        fn say(&self) -> Result<Estimate> {
            let evidence = Evidence { peak: 1.0, psr: 0.0, apce: 0.0, ..Evidence::default() };
            Ok(Estimate { bbox: self.bbox, polygon: None, state: State::Tracking, evidence })
        }
    }

    impl Follower for Drifting {
        fn init(&mut self, _: &Frame<'_>, bbox: BBox) -> Result<Estimate> {
            self.bbox = bbox;
            self.say()
        }

        fn update(&mut self, _: &Frame<'_>) -> Result<Estimate> {
            self.bbox = self.bbox.translated(self.speed, 0.0);
            self.say()
        }
    }

    fn item(position: usize, frame: Result<FrameBuf>) -> Item {
        Item { position, name: String::new(), path: None, timestamp: None, frame, color: None, decode_ms: 0.0 }
    }

    fn frames(n: usize) -> impl Iterator<Item = Item> {
        (1..=n).map(|position| item(position, FrameBuf::new(vec![0; 12], 4, 3, PixelFormat::Gray8)))
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
        let broken =
            frames(1).chain([item(2, Err(Error::Decode { path: "0002.jpg".into(), reason: "truncated".into() }))]);
        let error = run_sequence(&runner, "Deer", &starts, broken, &|| ()).unwrap_err().to_string();
        assert!(error.contains("0002.jpg"), "{error}");
    }
}
