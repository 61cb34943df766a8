//! Sessions over streams of frames.

use std::time::Duration;

use super::super::{Halt, at_frame};
use super::*;
use crate::media::Item;
use crate::tracker::ResponseMap;

/// One frame of a session, and the outcome of each target that has begun.
#[derive(Debug)]
pub struct Step<'a, F> {
    /// The frame.
    pub item: &'a Item,
    /// In the order in which the targets were added.
    pub outcomes: &'a [Outcome],
    pub(super) targets: &'a [Target<F>],
}

impl<F: Follower> Step<'_, F> {
    /// The response map of an outcome, if there is one.
    pub fn response(&self, outcome: &Outcome) -> Option<ResponseMap<'_>> {
        outcome.estimate.and_then(|_| self.targets.get(outcome.target)?.follower()?.response())
    }
}

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// After the last frame.
    Complete,
    /// By its watcher.
    Stopped,
}

/// Watches a session and tells it when to stop. A closure that takes steps is one.
pub trait Watch<F> {
    /// Whether to stop before the next frame is taken, so that a caller who resumes misses no frame. The session calls
    /// it between frames only: not before the first, and not while it waits.
    fn wants_to_stop(&mut self) -> bool {
        false
    }

    /// A frame is done.
    ///
    /// # Errors
    /// Any error that ends the session.
    fn step(&mut self, step: &Step<'_, F>) -> Result<()>;

    /// A frame has come; targets may be added, dropped and given new boxes before they see it.
    fn before(&mut self, session: &mut Session<F>, item: &Item) {
        let _ = (session, item);
    }

    /// A frame is left out for the reason in `message`; its step follows.
    fn skipped(&mut self, message: &str) {
        let _ = message;
    }
}

impl<F, W: FnMut(&Step<'_, F>) -> Result<()>> Watch<F> for W {
    fn step(&mut self, step: &Step<'_, F>) -> Result<()> {
        self(step)
    }
}

impl<F: Follower> Session<F> {
    /// Takes the frames of a stream until it ends or the watcher stops it. To continue after a stop, pass the same
    /// stream by reference.
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
            let Some(item) = frames.next() else { return Ok(End::Complete) };
            begun = true;
            watch.before(self, &item);
            self.take(item, watch)?;
        }
    }

    /// Gives an item to all targets, and their outcomes to the watcher.
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
                self.add_missing();
                None
            }
        };
        match refused {
            Some(Cause::Frame(error)) if skips => {
                watch.skipped(&at_frame(item.position, item.path.as_deref(), &error));
                self.add_missing();
            }
            Some(cause) => return Err(Halt { position: item.position, path: item.path, cause }),
            None => {}
        }
        let step = Step { item: &item, outcomes: &self.outcomes, targets: &self.targets };
        let watched = watch.step(&step);
        watched.map_err(|error| Halt { position: item.position, path: item.path, cause: Cause::Watch(error) })
    }

    /// Adds an outcome without an estimate for each target that has none, after an unusable frame.
    fn add_missing(&mut self) {
        for (target, last) in self.targets.iter().map(Target::last).enumerate() {
            let known = self.outcomes.iter().any(|outcome| outcome.target == target);
            let missed = last.filter(|_| !known);
            let took = Duration::ZERO;
            self.outcomes.extend(missed.map(|bbox| Outcome { target, bbox, estimate: None, took }));
        }
        self.outcomes.sort_by_key(|outcome| outcome.target);
    }

    fn starts_at(&self, position: usize) -> bool {
        self.targets.iter().any(|target| target.starts_at(position))
    }
}
