//! Targets that are followed through one stream of frames.

use std::time::{Duration, Instant};

use super::follower::Follower;
use super::halt::{Cause, Halt, at_frame};
use crate::error::Error;
use crate::frame::Frame;
use crate::geometry::BBox;
use crate::profile::{Profile, Stage, Stopwatch};
use crate::source::Item;
use crate::tracker::{Estimate, ResponseMap};

/// Any number of targets, each followed from a frame of its own on; every frame is decoded once for all of them.
///
/// [`Session::run`] takes a stream of frames to its end. Whoever has the frames already, or wants to go back and forth,
/// gives them one by one by [`Session::feed`]; targets are added at any time.
#[derive(Debug)]
pub struct Session<F> {
    targets: Vec<Target<F>>,
    outcomes: Vec<Outcome>,
    skip_bad_frames: bool,
    clock: Stopwatch,
}

#[derive(Debug)]
struct Target<F> {
    follower: F,
    /// Where it begins, and with which box.
    start: (usize, BBox),
    /// The last box, once it has begun.
    last: Option<BBox>,
}

/// What became of one target in one frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// The target, by its number in the session.
    pub target: usize,
    /// Where it is, or was last known to be; in its first frame the box that was given.
    pub bbox: BBox,
    /// What its follower says; `None` for a frame that could not be read.
    pub estimate: Option<Estimate>,
    /// How long the follower took.
    pub took: Duration,
}

/// One frame of a session, and what became of each target that has begun.
#[derive(Debug)]
pub struct Step<'a, F> {
    /// The frame.
    pub item: &'a Item,
    /// In the order in which the targets were added.
    pub outcomes: &'a [Outcome],
    targets: &'a [Target<F>],
}

impl<F: Follower> Step<'_, F> {
    /// The scores behind an outcome of this step; `None` where nothing was searched for.
    pub fn response(&self, outcome: &Outcome) -> Option<ResponseMap<'_>> {
        outcome.estimate.and_then(|_| self.targets.get(outcome.target)?.follower.response())
    }
}

/// How a session came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// There are no more frames.
    Complete,
    /// Whoever watches wanted it to end.
    Stopped,
}

/// Whoever watches a session and tells it when to stop. A closure that takes steps is one.
pub trait Watch<F> {
    /// Whether to stop now, asked when a frame has come and none of it is tracked yet; not before the first one.
    fn wants_to_stop(&mut self) -> bool {
        false
    }

    /// A frame is done.
    ///
    /// # Errors
    /// Any that shall end the session.
    fn step(&mut self, step: &Step<'_, F>) -> Result<(), Error>;

    /// A frame could not be used and is left out, for the reason in `message`; its step follows.
    fn skipped(&mut self, message: &str) {
        let _ = message;
    }
}

impl<F, W: FnMut(&Step<'_, F>) -> Result<(), Error>> Watch<F> for W {
    fn step(&mut self, step: &Step<'_, F>) -> Result<(), Error> {
        self(step)
    }
}

impl<F> Default for Session<F> {
    fn default() -> Self {
        Self { targets: Vec::new(), outcomes: Vec::new(), skip_bad_frames: false, clock: Stopwatch::default() }
    }
}

impl<F: Follower> Session<F> {
    /// A session of one target, `follower` being given `bbox` at the frame of position `start`.
    pub fn of(follower: F, start: usize, bbox: BBox) -> Self {
        let mut session = Self::default();
        session.add(follower, start, bbox);
        session
    }

    /// Goes on after a frame that cannot be read, or is of another size than those before: its outcomes have the last
    /// boxes and no estimate. The frame that a target starts from must be readable all the same.
    pub fn skip_bad_frames(&mut self, on: bool) {
        self.skip_bad_frames = on;
    }

    /// Measures from now on how long frames are waited for, or no longer does.
    pub fn switch_profile(&mut self, on: bool) {
        self.clock.switch(on);
    }

    /// The time spent on waiting for frames, while that was measured.
    pub fn profile(&self) -> &Profile {
        self.clock.profile()
    }

    /// Adds a target that begins with `bbox` (0-based) at the frame of position `start`; its number.
    pub fn add(&mut self, follower: F, start: usize, bbox: BBox) -> usize {
        self.targets.push(Target { follower, start: (start, bbox), last: None });
        self.targets.len() - 1
    }

    /// The follower of a target.
    pub fn follower(&self, target: usize) -> Option<&F> {
        self.targets.get(target).map(|target| &target.follower)
    }

    /// Takes all frames of a stream, one after the other, until it ends or somebody wants to stop.
    ///
    /// # Errors
    /// The first error of a frame (unless [`Session::skip_bad_frames`]), of a target, or of whoever watches.
    pub fn run(&mut self, frames: impl IntoIterator<Item = Item>, watch: &mut impl Watch<F>) -> Result<End, Halt> {
        let mut frames = frames.into_iter();
        let mut begun = false;
        loop {
            self.clock.start();
            let Some(item) = frames.next() else { return Ok(End::Complete) };
            self.clock.lap(Stage::Wait);
            if begun && watch.wants_to_stop() {
                return Ok(End::Stopped);
            }
            begun = true;
            self.take(item, watch)?;
        }
    }

    /// One item: to all targets, and what became of them to whoever watches.
    fn take(&mut self, item: Item, watch: &mut impl Watch<F>) -> Result<(), Halt> {
        let skips = self.skip_bad_frames && !self.starts_at(item.position);
        let item = match item {
            Item { position, path, frame: Err(error), .. } if !skips => {
                return Err(Halt { position, path, cause: Cause::Frame(error) });
            }
            item => item,
        };
        let refused = match &item.frame {
            Ok(frame) => self.feed(item.position, frame).err(),
            Err(error) => {
                watch.skipped(&at_frame(item.position, item.path.as_deref(), error));
                self.miss();
                None
            }
        };
        match refused {
            Some(Cause::Frame(error)) if skips => {
                watch.skipped(&at_frame(item.position, item.path.as_deref(), &error));
                self.miss();
            }
            Some(cause) => return Err(Halt { position: item.position, path: item.path, cause }),
            None => {}
        }
        let step = Step { item: &item, outcomes: &self.outcomes, targets: &self.targets };
        let watched = watch.step(&step);
        watched.map_err(|error| Halt { position: item.position, path: item.path, cause: Cause::Watch(error) })
    }

    /// Gives a frame to all targets that have begun or begin at `position`.
    ///
    /// # Errors
    /// [`Cause::Frame`] for one of another size than the first, [`Cause::Target`] with the first target that cannot be
    /// learned or followed.
    pub fn feed<'f>(&mut self, position: usize, frame: impl Into<Frame<'f>>) -> Result<&[Outcome], Cause> {
        let frame = frame.into();
        self.outcomes.clear();
        for (number, target) in self.targets.iter_mut().enumerate() {
            let (start, given) = target.start;
            let begun = Instant::now();
            let estimate = match target.last {
                Some(_) => target.follower.update(&frame),
                None if start == position => target.follower.init(&frame, given),
                None => continue,
            };
            let took = begun.elapsed();
            let estimate = estimate.map_err(|error| match error {
                Error::FrameSize { .. } => Cause::Frame(error),
                error => Cause::Target { target: number, error },
            })?;
            let bbox = if target.last.is_none() { given } else { estimate.bbox };
            target.last = Some(bbox);
            self.outcomes.push(Outcome { target: number, bbox, estimate: Some(estimate), took });
        }
        Ok(&self.outcomes)
    }

    /// The outcomes of a frame that could not be used.
    fn miss(&mut self) {
        self.outcomes.clear();
        for (target, last) in self.targets.iter().map(|target| target.last).enumerate() {
            let took = Duration::ZERO;
            self.outcomes.extend(last.map(|bbox| Outcome { target, bbox, estimate: None, took }));
        }
    }

    fn starts_at(&self, position: usize) -> bool {
        self.targets.iter().any(|target| target.last.is_none() && target.start.0 == position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Result;
    use crate::frame::{FrameBuf, PixelFormat};
    use crate::tracker::{Evidence, State};

    /// Moves right by a pixel a frame, and refuses frames that are not 4 pixels wide.
    #[derive(Default)]
    struct Drift(BBox);

    impl Drift {
        fn say(&self) -> Result<Estimate> {
            let evidence = Evidence { peak: 1.0, psr: 2.0, apce: 3.0, ..Evidence::default() };
            Ok(Estimate { bbox: self.0, polygon: None, state: State::Tracking, evidence })
        }
    }

    impl Follower for Drift {
        fn init(&mut self, _: &Frame<'_>, bbox: BBox) -> Result<Estimate> {
            self.0 = bbox;
            self.say()
        }

        fn update(&mut self, frame: &Frame<'_>) -> Result<Estimate> {
            if frame.width() != 4 {
                return Err(Error::FrameSize { expected: (4, 1), got: (frame.width(), frame.height()) });
            }
            self.0 = self.0.translated(1.0, 0.0);
            self.say()
        }
    }

    /// Frames of these widths; 0 for one that cannot be read.
    fn items(widths: &[usize]) -> Vec<Item> {
        let item = |(position, &width): (usize, &usize)| {
            let frame = FrameBuf::new(vec![0; width], width, 1, PixelFormat::Gray8);
            Item { position, name: String::new(), path: None, timestamp: None, frame, color: None, decode_ms: 0.0 }
        };
        (1..).zip(widths).map(item).collect()
    }

    /// The places and states of one target, begun at the frame `start`, and how that ended.
    fn follow(widths: &[usize], start: usize, skip: bool) -> (Vec<(f64, bool)>, Result<End, Halt>) {
        let mut session = Session::of(Drift::default(), start, BBox::new(10.0, 0.0, 2.0, 1.0));
        session.skip_bad_frames(skip);
        let mut seen = Vec::new();
        let ended = session.run(items(widths), &mut |step: &Step<'_, Drift>| {
            seen.extend(step.outcomes.iter().map(|outcome| (outcome.bbox.x, outcome.estimate.is_some())));
            Ok(())
        });
        (seen, ended)
    }

    #[test]
    fn a_target_begins_at_its_frame() {
        let (seen, ended) = follow(&[4, 4, 4, 4], 2, false);
        assert_eq!(seen, [(10.0, true), (11.0, true), (12.0, true)]);
        assert_eq!(ended.unwrap(), End::Complete);
    }

    #[test]
    fn a_bad_frame_ends_it_unless_such_are_skipped() {
        for bad in [0, 5] {
            let (seen, ended) = follow(&[4, 4, bad, 4], 1, false);
            assert_eq!(seen.len(), 2);
            let halt = ended.unwrap_err();
            assert!(halt.position == 3 && matches!(halt.cause, Cause::Frame(_)), "{halt}");
            let (seen, ended) = follow(&[4, 4, bad, 4], 1, true);
            assert_eq!(seen, [(10.0, true), (11.0, true), (11.0, false), (12.0, true)]);
            assert_eq!(ended.unwrap(), End::Complete);
        }
        // The frame that a target starts from is needed.
        let (seen, ended) = follow(&[4, 0, 4], 2, true);
        assert!(seen.is_empty() && ended.unwrap_err().position == 2);
    }

    #[test]
    fn whoever_watches_ends_it() {
        struct Once(usize);
        impl Watch<Drift> for Once {
            fn wants_to_stop(&mut self) -> bool {
                true
            }

            fn step(&mut self, _: &Step<'_, Drift>) -> Result<()> {
                self.0 += 1;
                Ok(())
            }
        }
        let mut session = Session::of(Drift::default(), 1, BBox::new(0.0, 0.0, 1.0, 1.0));
        let mut watch = Once(0);
        assert_eq!(session.run(items(&[4, 4]), &mut watch).unwrap(), End::Stopped);
        assert_eq!(watch.0, 1);
        let refuse = |_: &Step<'_, Drift>| Err(Error::NotInitialized);
        let mut session = Session::of(Drift::default(), 1, BBox::new(0.0, 0.0, 1.0, 1.0));
        let halt = session.run(items(&[4]), &mut { refuse }).unwrap_err();
        assert!(matches!(halt.cause, Cause::Watch(Error::NotInitialized)));
    }
}
