//! Targets that are followed through one stream of frames.

use std::time::Duration;

use rayon::iter::{IntoParallelRefMutIterator, ParallelIterator};

use super::follower::Follower;
use super::halt::{Cause, Halt, at_frame};
use super::target::Target;
use crate::bbox::BBox;
use crate::error::Error;
use crate::frame::Frame;
use crate::media::Item;
use crate::profile::{Profile, Stage, Stopwatch};
use crate::tracker::{Estimate, ResponseMap};

/// Any number of targets, each followed from a frame of its own on; every frame is decoded once for all of them.
///
/// [`Session::run`] takes a stream of frames to its end. A caller that has the frames already, or goes back and forth,
/// gives them one by one to [`Session::feed`]; targets are added, dropped and given a new box at any time. A clone goes
/// on by itself from the same place. All frames have the size of the first one, until the last target is dropped.
#[derive(Clone, Debug)]
pub struct Session<F> {
    targets: Vec<Target<F>>,
    outcomes: Vec<Outcome>,
    /// Width and height of the first frame, while there are targets.
    size: Option<(usize, usize)>,
    skip_bad_frames: bool,
    parallel: bool,
    clock: Stopwatch,
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
        outcome.estimate.and_then(|_| self.targets.get(outcome.target)?.follower()?.response())
    }
}

/// How a session came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// There are no more frames.
    Complete,
    /// The watcher stopped it.
    Stopped,
}

/// Watches a session and tells it when to stop. A closure that takes steps is one.
pub trait Watch<F> {
    /// Whether to stop now, asked before the next frame is taken, so that none is lost to who goes on later; not before
    /// the first one. It is not asked while a frame is waited for: frames that may be long in coming end themselves.
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
        let (targets, outcomes) = (Vec::new(), Vec::new());
        let clock = Stopwatch::default();
        Self { targets, outcomes, size: None, skip_bad_frames: false, parallel: false, clock }
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
        self.targets.push(Target::new(follower, start, bbox));
        self.targets.len() - 1
    }

    /// Ends a target: no later step has an outcome of it, and its memory is given back. The others keep their numbers.
    /// Whether there was one of this number.
    pub fn drop_target(&mut self, target: usize) -> bool {
        self.outcomes.retain(|outcome| outcome.target != target);
        let ended = self.targets.get_mut(target).is_some_and(Target::end);
        if self.is_empty() {
            self.size = None;
        }
        ended
    }

    /// Gives a target a new box in the current frame: its follower learns it anew, and what became of it there is that
    /// the box was given. One that is still to begin begins here.
    ///
    /// # Errors
    /// [`Cause::Target`] when the box cannot be learned, or when there is no such target; [`Cause::Frame`] for a frame
    /// of another size than the first. Either changes nothing.
    pub fn reinit<'f>(&mut self, target: usize, frame: impl Into<Frame<'f>>, bbox: BBox) -> Result<Outcome, Cause> {
        let frame = frame.into();
        let Some(found) = self.targets.get_mut(target).filter(|found| found.follower().is_some()) else {
            let expected = "there is no such target in this session".into();
            let error = Error::Parameter { name: "target", value: target.to_string(), expected };
            return Err(Cause::Target { target, error });
        };
        check_size(self.size, &frame)?;
        let (estimate, took) = found.init(&frame, bbox).map_err(|error| Cause::Target { target, error })?;
        self.size = Some((frame.width(), frame.height()));
        let outcome = Outcome { target, bbox, estimate: Some(estimate), took };
        match self.outcomes.iter_mut().find(|outcome| outcome.target == target) {
            Some(before) => *before = outcome,
            None => self.outcomes.push(outcome),
        }
        self.outcomes.sort_by_key(|outcome| outcome.target);
        Ok(outcome)
    }

    /// Follows targets on as many threads as rayon has, or no longer does. That changes no box.
    pub fn parallel(&mut self, on: bool) {
        self.parallel = on;
    }

    /// The follower of a target that has not been dropped.
    pub fn follower(&self, target: usize) -> Option<&F> {
        self.targets.get(target).and_then(Target::follower)
    }

    /// What became of each target in the last frame.
    pub fn outcomes(&self) -> &[Outcome] {
        &self.outcomes
    }

    /// Targets that have not begun yet, and the position that each waits for. One that could not begin there waits no
    /// longer; only [`Session::reinit`] begins it.
    pub fn waiting(&self) -> impl Iterator<Item = (usize, usize)> {
        let waiting = |(number, target): (usize, &Target<F>)| target.waits().map(|position| (number, position));
        self.targets.iter().enumerate().filter_map(waiting)
    }

    /// Takes all frames of a stream, one after the other, until it ends or the watcher stops it. To go on after a stop,
    /// pass the same stream again, by reference.
    ///
    /// # Errors
    /// The first error of a frame (unless [`Session::skip_bad_frames`]), of a target, or of the watcher.
    pub fn run(&mut self, frames: impl IntoIterator<Item = Item>, watch: &mut impl Watch<F>) -> Result<End, Halt> {
        let mut frames = frames.into_iter();
        let mut begun = false;
        loop {
            if begun && watch.wants_to_stop() {
                return Ok(End::Stopped);
            }
            self.clock.start();
            let Some(item) = frames.next() else { return Ok(End::Complete) };
            self.clock.lap(Stage::Wait);
            begun = true;
            self.take(item, watch)?;
        }
    }

    /// One item: to all targets, and their outcomes to the watcher.
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
                self.outcomes.clear();
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
    /// [`Cause::Frame`] for one of another size than the first, which no target sees: those that begin at `position`
    /// still do with the next frame of that position. [`Cause::Target`] with the first target that cannot be learned or
    /// followed; the others have gone on, and what became of them is in [`Session::outcomes`].
    pub fn feed<'f>(&mut self, position: usize, frame: impl Into<Frame<'f>>) -> Result<&[Outcome], Cause> {
        let frame = frame.into();
        self.outcomes.clear();
        check_size(self.size, &frame)?;
        if !self.is_empty() {
            self.size = Some((frame.width(), frame.height()));
        }
        if self.parallel && self.targets.iter().filter(|target| target.follows(position)).count() > 1 {
            self.targets.par_iter_mut().for_each(|target| target.feed(position, &frame));
        } else {
            self.targets.iter_mut().for_each(|target| target.feed(position, &frame));
        }
        let mut failed = None;
        for (number, target) in self.targets.iter_mut().enumerate() {
            let Some((result, took)) = target.take() else { continue };
            match result {
                Ok(estimate) => {
                    let bbox = target.last().unwrap_or(estimate.bbox);
                    self.outcomes.push(Outcome { target: number, bbox, estimate: Some(estimate), took });
                }
                Err(error) if failed.is_none() => failed = Some((number, error)),
                Err(_) => {}
            }
        }
        match failed {
            None => Ok(&self.outcomes),
            Some((_, error @ Error::FrameSize { .. })) => Err(Cause::Frame(error)),
            Some((target, error)) => Err(Cause::Target { target, error }),
        }
    }

    /// Of a frame that could not be used, the outcomes of targets that have none.
    fn miss(&mut self) {
        for (target, last) in self.targets.iter().map(Target::last).enumerate() {
            let known = self.outcomes.iter().any(|outcome| outcome.target == target);
            let missed = last.filter(|_| !known);
            let took = Duration::ZERO;
            self.outcomes.extend(missed.map(|bbox| Outcome { target, bbox, estimate: None, took }));
        }
        self.outcomes.sort_by_key(|outcome| outcome.target);
    }

    /// Whether no target is left.
    fn is_empty(&self) -> bool {
        self.targets.iter().all(|target| target.follower().is_none())
    }

    fn starts_at(&self, position: usize) -> bool {
        self.targets.iter().any(|target| target.waits() == Some(position))
    }
}

/// Whether a frame has the size of the first one.
fn check_size(first: Option<(usize, usize)>, frame: &Frame<'_>) -> Result<(), Cause> {
    let got = (frame.width(), frame.height());
    match first {
        Some(expected) if expected != got => Err(Cause::Frame(Error::FrameSize { expected, got })),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
