//! Targets that are followed through one stream of frames.

#[cfg(feature = "files")]
mod stream;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

#[cfg(feature = "files")]
use rayon::iter::{IntoParallelRefMutIterator, ParallelIterator};

use super::{Cause, Follower};
use crate::bbox::BBox;
use crate::error::{Error, Result};
use crate::frame::Frame;
use crate::tracker::Estimate;
#[cfg(feature = "files")]
pub use stream::{End, Step, Watch};

/// Any number of targets, each followed from its own first frame on. Every frame is decoded once for all of them.
///
/// [`Session::feed`] takes single frames; with the feature `files`, `Session::run` takes a stream to its end. Targets can
/// be added, dropped and given a new box at any time. A clone continues independently. All frames have the size of the
/// first one, until the last target is dropped.
#[derive(Clone, Debug)]
pub struct Session<F> {
    targets: Vec<Target<F>>,
    outcomes: Vec<Outcome>,
    /// Width and height of the first frame, while there are targets.
    size: Option<(usize, usize)>,
    skip_bad_frames: bool,
    parallel: bool,
}

/// The result for one target in one frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Number of the target in the session.
    pub target: usize,
    /// Its box, or the last known one; in its first frame the given box.
    pub bbox: BBox,
    /// The estimate of its follower; `None` for a frame that could not be read.
    pub estimate: Option<Estimate>,
    /// How long the follower took.
    pub took: Duration,
}

impl<F> Default for Session<F> {
    fn default() -> Self {
        Self { targets: Vec::new(), outcomes: Vec::new(), size: None, skip_bad_frames: false, parallel: false }
    }
}

impl<F: Follower> Session<F> {
    /// A session of one target that begins with `bbox` at the frame of position `start`.
    pub fn of(follower: F, start: usize, bbox: BBox) -> Self {
        let mut session = Self::default();
        session.add(follower, start, bbox);
        session
    }

    /// Continues after a frame that cannot be read or has another size: its outcomes have the last boxes and no
    /// estimate. The first frame of a target must be readable.
    pub fn skip_bad_frames(&mut self, on: bool) {
        self.skip_bad_frames = on;
    }

    /// Adds a target that begins with `bbox` (0-based) at the frame of position `start`; returns its number.
    pub fn add(&mut self, follower: F, start: usize, bbox: BBox) -> usize {
        self.targets.push(Target::new(follower, start, bbox));
        self.targets.len() - 1
    }

    /// Gives a target a box at a frame that it has not seen, where its follower learns it again; `None` ends it there.
    pub fn give(&mut self, target: usize, position: usize, bbox: Option<BBox>) {
        if let Some(target) = self.targets.get_mut(target) {
            target.planned.insert(position, bbox);
        }
    }

    /// Ends a target and frees its memory. The others keep their numbers. Returns whether the target existed.
    pub fn drop_target(&mut self, target: usize) -> bool {
        self.outcomes.retain(|outcome| outcome.target != target);
        let ended = self.targets.get_mut(target).is_some_and(Target::end);
        if self.is_empty() {
            self.size = None;
        }
        ended
    }

    /// Switches whether targets are followed in parallel (with the feature `files`). The boxes do not depend on it.
    pub fn parallel(&mut self, on: bool) {
        self.parallel = on;
    }

    /// The follower of a target that has not been dropped.
    pub fn follower(&self, target: usize) -> Option<&F> {
        self.targets.get(target).and_then(Target::follower)
    }

    /// The outcomes of the last frame.
    pub fn outcomes(&self) -> &[Outcome] {
        &self.outcomes
    }

    /// Targets that have not begun, and the position that each waits for. A target that could not begin waits for the
    /// next box that it is given.
    pub fn waiting(&self) -> impl Iterator<Item = (usize, usize)> {
        let waiting = |(number, target): (usize, &Target<F>)| target.waits().map(|position| (number, position));
        self.targets.iter().enumerate().filter_map(waiting)
    }

    /// Gives a frame to all targets that have begun or begin at `position`.
    ///
    /// # Errors
    /// [`Cause::Frame`] for a frame of another size, which no target sees: targets that begin at `position` wait for
    /// another frame of that position. [`Cause::Target`] with the first target that cannot be learned or followed; the
    /// others are followed, and [`Session::outcomes`] has their outcomes.
    pub fn feed<'f>(&mut self, position: usize, frame: impl Into<Frame<'f>>) -> Result<&[Outcome], Cause> {
        let frame = frame.into();
        self.outcomes.clear();
        check_size(self.size, &frame)?;
        if !self.is_empty() {
            self.size = Some(frame.size());
        }
        let several = self.parallel && self.targets.iter().filter(|target| target.follows(position)).count() > 1;
        let feed = |target: &mut Target<F>| target.feed(position, &frame);
        let answers: Vec<_> = match several {
            #[cfg(feature = "files")]
            true => self.targets.par_iter_mut().map(feed).collect(),
            _ => self.targets.iter_mut().map(feed).collect(),
        };
        let mut failed = None;
        for (target, answer) in answers.into_iter().enumerate() {
            match answer {
                Some((Ok(estimate), took)) => {
                    let bbox = self.targets[target].last().unwrap_or(estimate.bbox);
                    self.outcomes.push(Outcome { target, bbox, estimate: Some(estimate), took });
                }
                Some((Err(error), _)) if failed.is_none() => failed = Some((target, error)),
                _ => {}
            }
        }
        match failed {
            None => Ok(&self.outcomes),
            Some((_, error @ Error::FrameSize { .. })) => Err(Cause::Frame(error)),
            Some((target, error)) => Err(Cause::Target { target, error }),
        }
    }

    /// Whether no target is left.
    fn is_empty(&self) -> bool {
        self.targets.iter().all(|target| target.follower().is_none())
    }
}

/// The estimate of a follower, and how long it took.
type Answer = (Result<Estimate>, Duration);

/// A target from its first frame to its last.
#[derive(Clone, Debug)]
struct Target<F> {
    /// `None` once the target is dropped.
    follower: Option<F>,
    /// The boxes that it will be given, by position; `None` ends it.
    planned: BTreeMap<usize, Option<BBox>>,
    /// The last box, once it has begun.
    last: Option<BBox>,
}

impl<F> Target<F> {
    fn new(follower: F, start: usize, bbox: BBox) -> Self {
        Self { follower: Some(follower), planned: BTreeMap::from([(start, Some(bbox))]), last: None }
    }

    /// Its follower; `None` once it is dropped.
    fn follower(&self) -> Option<&F> {
        self.follower.as_ref()
    }

    /// Its last box, if it has begun and is not dropped.
    fn last(&self) -> Option<BBox> {
        self.last.filter(|_| self.follower.is_some())
    }

    /// The position where it will begin, if it has not begun.
    fn waits(&self) -> Option<usize> {
        let waits = self.follower.is_some() && self.last.is_none();
        self.planned.iter().find(|(_, bbox)| waits && bbox.is_some()).map(|(&position, _)| position)
    }

    /// Whether it is given a box at this position.
    fn starts_at(&self, position: usize) -> bool {
        self.follower.is_some() && matches!(self.planned.get(&position), Some(Some(_)))
    }

    /// Takes out what is planned for this position. An end takes effect even if its frame was left out.
    fn due(&mut self, position: usize) -> Option<Option<BBox>> {
        let (&at, &bbox) = self.planned.range(..=position).next_back()?;
        let due = at == position || bbox.is_none();
        due.then(|| {
            self.planned.remove(&at);
            bbox
        })
    }

    /// Whether it uses the frame at this position.
    fn follows(&self, position: usize) -> bool {
        self.last().is_some() || self.starts_at(position)
    }

    /// Ends it; returns whether it was alive.
    fn end(&mut self) -> bool {
        self.follower.take().is_some()
    }
}

impl<F: Follower> Target<F> {
    /// Follows the target in the frame at this position, or begins; `None` without a target.
    fn feed(&mut self, position: usize, frame: &Frame<'_>) -> Option<Answer> {
        let begun = Instant::now();
        let due = self.due(position);
        let follower = self.follower.as_mut()?;
        let answer = match due {
            Some(Some(given)) => {
                let learned = follower.init(frame, given);
                self.last = learned.is_ok().then_some(given);
                learned
            }
            Some(None) => {
                self.last = None;
                return None;
            }
            None => {
                self.last?;
                follower.update(frame).inspect(|estimate| self.last = Some(estimate.bbox))
            }
        };
        Some((answer, begun.elapsed()))
    }
}

/// Whether a frame has the size of the first one.
fn check_size(first: Option<(usize, usize)>, frame: &Frame<'_>) -> Result<(), Cause> {
    let got = frame.size();
    match first {
        Some(expected) if expected != got => Err(Cause::Frame(Error::FrameSize { expected, got })),
        _ => Ok(()),
    }
}

#[cfg(all(test, feature = "files"))]
mod tests;
