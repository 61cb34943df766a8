//! One target of a session: what follows it, and how far it is.

use std::time::{Duration, Instant};

use super::follower::Follower;
use crate::bbox::BBox;
use crate::error::{Error, Result};
use crate::frame::Frame;
use crate::tracker::Estimate;

/// What a follower said of a frame, and how long that took.
type Answer = (Result<Estimate>, Duration);

/// A target from its first frame to its last.
#[derive(Clone, Debug)]
pub(super) struct Target<F> {
    /// `None` once the target is dropped.
    follower: Option<F>,
    /// Where it begins, and with which box.
    start: (usize, BBox),
    /// The last box, once it has begun.
    last: Option<BBox>,
    /// Whether it could not begin there.
    failed: bool,
    /// The answer to the current frame, until it is taken.
    answer: Said,
}

/// An answer, which a clone of its target does not have.
#[derive(Debug, Default)]
struct Said(Option<Answer>);

impl Clone for Said {
    fn clone(&self) -> Self {
        Self(None)
    }
}

impl<F> Target<F> {
    /// One that begins with `bbox` at the frame of position `start`.
    pub fn new(follower: F, start: usize, bbox: BBox) -> Self {
        let answer = Said::default();
        Self { follower: Some(follower), start: (start, bbox), last: None, failed: false, answer }
    }

    /// What follows it; `None` of one that is dropped.
    pub fn follower(&self) -> Option<&F> {
        self.follower.as_ref()
    }

    /// Its last box, once it has begun and while it is not dropped.
    pub fn last(&self) -> Option<BBox> {
        self.last.filter(|_| self.follower.is_some())
    }

    /// The position that it waits for, if it does.
    pub fn waits(&self) -> Option<usize> {
        (self.follower.is_some() && self.last.is_none() && !self.failed).then_some(self.start.0)
    }

    /// Whether a frame of this position is anything to it.
    pub fn follows(&self, position: usize) -> bool {
        self.last().is_some() || self.waits() == Some(position)
    }

    /// Ends it. Whether it had not ended before.
    pub fn end(&mut self) -> bool {
        self.follower.take().is_some()
    }

    /// The answer to the frame that was fed last, once.
    pub fn take(&mut self) -> Option<Answer> {
        self.answer.0.take().filter(|_| self.follower.is_some())
    }
}

impl<F: Follower> Target<F> {
    /// Learns it anew, in `bbox`.
    ///
    /// # Errors
    /// When it cannot be learned, or was dropped.
    pub fn init(&mut self, frame: &Frame<'_>, bbox: BBox) -> Result<(Estimate, Duration)> {
        let begun = Instant::now();
        let estimate = self.follower.as_mut().ok_or(Error::NotInitialized)?.init(frame, bbox)?;
        self.last = Some(bbox);
        Ok((estimate, begun.elapsed()))
    }

    /// Follows it in the frame of this position, or begins. An answer that nobody took is gone.
    pub fn feed(&mut self, position: usize, frame: &Frame<'_>) {
        self.answer = Said(None);
        let begun = Instant::now();
        let begins = self.waits() == Some(position);
        let answer = match (&mut self.follower, self.last) {
            (Some(follower), Some(_)) => follower.update(frame).inspect(|estimate| self.last = Some(estimate.bbox)),
            (Some(follower), None) if begins => {
                let given = self.start.1;
                let learned = follower.init(frame, given);
                (self.last, self.failed) = (learned.is_ok().then_some(given), learned.is_err());
                learned
            }
            _ => return,
        };
        self.answer = Said(Some((answer, begun.elapsed())));
    }
}
