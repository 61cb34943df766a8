//! Targets that are followed through one stream of frames.

use std::collections::BTreeMap;
#[cfg(feature = "files")]
use std::path::{Path, PathBuf};
#[cfg(feature = "parallel")]
use std::sync::Arc;
use std::time::{Duration, Instant};

#[cfg(feature = "parallel")]
use rayon::iter::{IntoParallelRefMutIterator, ParallelIterator};

use serde::{Deserialize, Serialize};

use super::detections::{Detector, Life};
use crate::archive::{opened, refused, sealed};
use crate::bbox::BBox;
#[cfg(feature = "parallel")]
use crate::cancel::Scopes;
use crate::error::{Error, Result};
use crate::frame::Frame;
#[cfg(feature = "files")]
use crate::media::Item;
use crate::tracker::{Estimate, ResponseMap, Tracker};

/// Follows one target from frame to frame.
pub trait Follower: Send {
    /// Learns the target in `bbox` (0-based).
    ///
    /// # Errors
    /// When the box cannot be tracked.
    fn init(&mut self, frame: &Frame<'_>, bbox: BBox) -> Result<Estimate>;

    /// Finds the target in the next frame.
    ///
    /// # Errors
    /// When the frame cannot be used; [`Error::FrameSize`] for a frame of another size.
    fn update(&mut self, frame: &Frame<'_>) -> Result<Estimate>;

    /// The response map of the last estimate, if there is one.
    fn response(&self) -> Option<ResponseMap<'_>> {
        None
    }

    /// The place of the target among others: see [`Tracker::take_turn`].
    fn take_turn(&mut self, _turn: usize) {}
}

impl Follower for Tracker {
    fn init(&mut self, frame: &Frame<'_>, bbox: BBox) -> Result<Estimate> {
        Self::init(self, frame, bbox)
    }

    fn update(&mut self, frame: &Frame<'_>) -> Result<Estimate> {
        Self::update(self, frame)
    }

    fn response(&self) -> Option<ResponseMap<'_>> {
        Self::response(self)
    }

    fn take_turn(&mut self, turn: usize) {
        Self::take_turn(self, turn);
    }
}

impl<F: Follower + ?Sized> Follower for Box<F> {
    fn init(&mut self, frame: &Frame<'_>, bbox: BBox) -> Result<Estimate> {
        (**self).init(frame, bbox)
    }

    fn update(&mut self, frame: &Frame<'_>) -> Result<Estimate> {
        (**self).update(frame)
    }

    fn response(&self) -> Option<ResponseMap<'_>> {
        (**self).response()
    }

    fn take_turn(&mut self, turn: usize) {
        (**self).take_turn(turn);
    }
}

/// Any number of targets, each followed from its own first frame on. Every frame is decoded once for all of them.
///
/// [`Session::feed`] takes single frames; with the feature `files`, `Session::run` takes a stream to its end. Targets have
/// ids from 1, which never return. They can be added, dropped and given a new box at any time; with
/// [`Session::detect`] a detector begins, corrects and ends them. A clone continues independently. All frames have the
/// size of the first one, until the last target is dropped.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Session<F> {
    /// Targets that have not ended, by id.
    pub(super) targets: BTreeMap<usize, Target<F>>,
    /// The lowest id that no target has had.
    pub(super) next: usize,
    #[serde(skip)]
    pub(super) outcomes: Vec<Outcome>,
    /// Width and height of the first frame, while there are targets.
    pub(super) size: Option<(usize, usize)>,
    pub(super) skip_bad_frames: bool,
    pub(super) parallel: bool,
    pub(super) detector: Option<Box<Detector<F>>>,
    #[cfg(feature = "parallel")]
    #[serde(skip)]
    pool: Option<Arc<rayon::ThreadPool>>,
}

/// The result for one target in one frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Id of the target.
    pub target: usize,
    /// Its box, or the last known one; in its first frame the given box.
    pub bbox: BBox,
    /// The estimate of its follower; `None` for a frame that could not be read.
    pub estimate: Option<Estimate>,
    /// How long the follower took.
    pub took: Duration,
}

impl Outcome {
    /// The outcome of a target that no follower was timed for.
    pub(super) fn untimed(target: usize, estimate: Estimate) -> Self {
        Self { target, bbox: estimate.bbox, estimate: Some(estimate), took: Duration::ZERO }
    }
}

impl<F> Default for Session<F> {
    fn default() -> Self {
        Self {
            targets: BTreeMap::new(),
            next: 1,
            outcomes: Vec::new(),
            size: None,
            skip_bad_frames: false,
            parallel: false,
            detector: None,
            #[cfg(feature = "parallel")]
            pool: None,
        }
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

    /// Adds a target that begins with `bbox` (0-based) at the frame of position `start`; returns its id. If that frame
    /// never comes, it keeps [waiting](Self::waiting) until it is [given](Self::give) a box for one that does.
    pub fn add(&mut self, follower: F, start: usize, bbox: BBox) -> usize {
        self.insert(self.next, follower, start, bbox)
    }

    /// Adds a target like [`Session::add`], with an id of the caller; a target with that id is replaced.
    pub fn insert(&mut self, id: usize, mut follower: F, start: usize, bbox: BBox) -> usize {
        follower.take_turn(id);
        self.targets.insert(id, Target::new(follower, BTreeMap::from([(start, Some(bbox))])));
        self.use_up(id);
        id
    }

    /// Learns a target at once, in the frame at `position`, which the session may have seen or may see next. The target
    /// is new, or is followed already and then keeps its later boxes.
    ///
    /// # Errors
    /// A frame of another size, and the follower's own; nothing is changed then.
    pub fn learn<'f>(
        &mut self,
        id: usize,
        mut follower: F,
        position: usize,
        frame: impl Into<Frame<'f>>,
        bbox: BBox,
    ) -> Result<Estimate> {
        let frame = frame.into();
        check_size(self.size, &frame).map_err(Cause::into_error)?;
        let begun = Instant::now();
        follower.take_turn(id);
        let estimate = follower.init(&frame, bbox)?;
        let known = self.targets.remove(&id);
        let mut target = Target::new(follower, known.map(|target| target.planned).unwrap_or_default());
        target.last = Some(estimate);
        target.learned = Some((position, begun.elapsed()));
        self.targets.insert(id, target);
        self.size = Some(frame.size());
        self.use_up(id);
        Ok(estimate)
    }

    /// Reserves an id, so that no later target gets it. Above the highest id there is none.
    fn use_up(&mut self, id: usize) {
        self.next = id.checked_add(1).map_or(self.next, |after| self.next.max(after));
    }

    /// Adds a target that a detection has begun.
    pub(super) fn put(&mut self, id: usize, follower: F, estimate: Estimate, life: Life) {
        let target = Target { last: Some(estimate), life: Some(life), ..Target::new(follower, BTreeMap::new()) };
        self.targets.insert(id, target);
        self.use_up(id);
    }

    /// Gives a target a box at a frame that it has not seen, where its follower learns it again; `None` ends it there. If
    /// that frame never comes, the box is not used; an end takes effect at the next frame.
    pub fn give(&mut self, target: usize, position: usize, bbox: Option<BBox>) {
        if let Some(target) = self.targets.get_mut(&target) {
            target.planned.insert(position, bbox);
        }
    }

    /// Ends a target and frees its memory. Returns whether it existed.
    pub fn drop_target(&mut self, target: usize) -> bool {
        self.outcomes.retain(|outcome| outcome.target != target);
        let ended = self.targets.remove(&target).is_some();
        if self.targets.is_empty() {
            self.size = None;
        }
        ended
    }

    /// Switches whether targets are followed in parallel (with the feature `parallel`). The boxes do not depend on it.
    pub fn parallel(&mut self, on: bool) {
        self.parallel = on;
    }

    /// Follows targets on these threads in place of those of the whole process.
    #[cfg(feature = "cli")]
    pub(crate) fn use_pool(&mut self, pool: Arc<rayon::ThreadPool>) {
        self.pool = Some(pool);
    }

    /// The follower of a target that has not ended.
    pub fn follower(&self, target: usize) -> Option<&F> {
        self.targets.get(&target).map(|target| &target.follower)
    }

    /// The ids of the targets that have not ended, ascending. Those that a detector's box has begun are among them once
    /// they are confirmed.
    pub fn ids(&self) -> impl Iterator<Item = usize> {
        self.targets.iter().filter(|(_, target)| target.is_shown()).map(|(&id, _)| id)
    }

    /// The lowest id that no target has had.
    pub fn next_id(&self) -> usize {
        self.next
    }

    /// The last estimate of a target that has begun and not ended.
    pub fn last(&self, target: usize) -> Option<Estimate> {
        self.targets.get(&target)?.last
    }

    /// The outcomes of the last frame.
    pub fn outcomes(&self) -> &[Outcome] {
        &self.outcomes
    }

    /// Targets that have not begun, and the position that each waits for. A target that could not begin waits for the
    /// next box that it is given.
    pub fn waiting(&self) -> impl Iterator<Item = (usize, usize)> {
        self.targets.iter().filter_map(|(&id, target)| target.waits().map(|position| (id, position)))
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
        if !self.targets.is_empty() {
            self.size = Some(frame.size());
        }
        let several = self.parallel && self.targets.values().filter(|target| target.follows(position)).count() > 1;
        let feed = |(&id, target): (&usize, &mut Target<F>)| (id, target.feed(position, &frame));
        let answers: Vec<_> = match several {
            #[cfg(feature = "parallel")]
            true => {
                let scopes = Scopes::here();
                let each = |target: (&usize, &mut Target<F>)| scopes.enter(|| feed(target));
                let mut all = || self.targets.par_iter_mut().map(each).collect();
                match &self.pool {
                    Some(pool) => pool.install(all),
                    None => all(),
                }
            }
            _ => self.targets.iter_mut().map(feed).collect(),
        };
        let mut failed = None;
        for (target, answer) in answers {
            match answer {
                Some((Ok(estimate), took)) if self.targets[&target].is_shown() => {
                    self.outcomes.push(Outcome { target, bbox: estimate.bbox, estimate: Some(estimate), took });
                }
                Some((Err(error), _)) if failed.is_none() => failed = Some((target, error)),
                _ => {}
            }
        }
        self.targets.retain(|_, target| !target.ended || !target.planned.is_empty());
        self.watch_detected(position, &frame);
        match failed {
            None => Ok(&self.outcomes),
            Some((_, error @ Error::FrameSize { .. })) => Err(Cause::Frame(error)),
            Some((target, error)) => Err(Cause::Target { target, error }),
        }
    }
}

/// The name of a saved session.
const SAVED: &str = "session";

impl Session<Tracker> {
    /// The session as bytes for [`Session::from_bytes`]: all targets, the ids that are used up, and the frames that are
    /// kept for late detections. Outcomes of the last frame are not among them.
    ///
    /// # Errors
    /// Those of [`Tracker::to_bytes`].
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let saved = self.with(Tracker::to_bytes)?;
        let content = postcard::to_stdvec(&saved).map_err(|error| refused(SAVED, &error.to_string()))?;
        Ok(sealed(SAVED, &content))
    }

    /// The session of [`Session::to_bytes`], which continues with equal results.
    ///
    /// # Errors
    /// [`Error::Saved`] for bytes of something else, of another version, or that were cut or changed.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let saved: Result<Session<Vec<u8>>, _> = postcard::from_bytes(opened(SAVED, bytes)?);
        let session =
            saved.map_err(|error| refused(SAVED, &error.to_string()))?.with(|bytes| Tracker::from_bytes(bytes))?;
        session.detector.iter().try_for_each(|detector| detector.params.check())?;
        Ok(session)
    }
}

impl<F> Session<F> {
    /// The session with another form of its followers.
    fn with<G>(&self, form: impl Fn(&F) -> Result<G>) -> Result<Session<G>> {
        let target = |(&id, target): (&usize, &Target<F>)| {
            let Target { follower, planned, last, ended, learned, life } = target;
            let (planned, life) = (planned.clone(), life.clone());
            Ok((id, Target { follower: form(follower)?, planned, last: *last, ended: *ended, learned: *learned, life }))
        };
        let detector = |detector: &Detector<F>| {
            let Detector { params, tracker, frames, doubles, ended, has_begun } = detector;
            let (params, frames, doubles) = (params.clone(), frames.clone(), doubles.clone());
            let (tracker, ended, has_begun) = (form(tracker)?, ended.clone(), *has_begun);
            Ok(Box::new(Detector { params, tracker, frames, doubles, ended, has_begun }))
        };
        Ok(Session {
            targets: self.targets.iter().map(target).collect::<Result<_>>()?,
            next: self.next,
            size: self.size,
            skip_bad_frames: self.skip_bad_frames,
            parallel: self.parallel,
            detector: self.detector.as_deref().map(detector).transpose()?,
            ..Session::default()
        })
    }
}

/// The estimate of a follower, and how long it took.
type Answer = (Result<Estimate>, Duration);

/// A target from its first frame to its last.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Target<F> {
    pub follower: F,
    /// The boxes that it will be given, by position; `None` ends it.
    pub planned: BTreeMap<usize, Option<BBox>>,
    /// The last estimate, unless it has not begun or has ended.
    pub last: Option<Estimate>,
    pub ended: bool,
    /// The position of the frame that it has learned ahead of [`Session::feed`], and how long that took.
    pub learned: Option<(usize, Duration)>,
    /// The evidence of detections for the target.
    pub life: Option<Life>,
}

impl<F> Target<F> {
    fn new(follower: F, planned: BTreeMap<usize, Option<BBox>>) -> Self {
        Self { follower, planned, last: None, ended: false, learned: None, life: None }
    }

    /// Whether the target has outcomes: a target that a detection began has them once it is confirmed.
    pub fn is_shown(&self) -> bool {
        self.life.as_ref().is_none_or(|life| life.confirmed)
    }

    /// The position where it will begin, if it has not begun.
    fn waits(&self) -> Option<usize> {
        let waits = self.last.is_none();
        self.planned.iter().find(|(_, bbox)| waits && bbox.is_some()).map(|(&position, _)| position)
    }

    /// Whether the target is given a box at this position.
    fn starts_at(&self, position: usize) -> bool {
        matches!(self.planned.get(&position), Some(Some(_)))
    }

    /// Takes out what is planned for this position. An end takes effect even if its frame was left out.
    fn due(&mut self, position: usize) -> Option<Option<BBox>> {
        let mut due = self.planned.remove(&position);
        let mut left_out = self.planned.range(..position);
        while let Some((&at, _)) = left_out.find(|(_, bbox)| bbox.is_none()) {
            self.planned.remove(&at);
            due = due.or(Some(None));
            left_out = self.planned.range(..position);
        }
        due
    }

    /// Whether the target uses the frame at this position.
    fn follows(&self, position: usize) -> bool {
        self.last.is_some() || self.starts_at(position)
    }
}

impl<F: Follower> Target<F> {
    /// Follows the target in the frame at this position, or begins; `None` without a target.
    fn feed(&mut self, position: usize, frame: &Frame<'_>) -> Option<Answer> {
        let begun = Instant::now();
        let learned = self.learned.take().filter(|(at, _)| *at == position);
        let answer = match self.due(position) {
            Some(Some(given)) => {
                let learned = self.follower.init(frame, given);
                (self.last, self.ended) = (learned.as_ref().ok().copied(), false);
                learned
            }
            Some(None) => {
                (self.last, self.ended) = (None, true);
                return None;
            }
            None => match (self.last?, learned) {
                (estimate, Some((_, took))) => return Some((Ok(estimate), took)),
                _ => self.follower.update(frame).inspect(|estimate| self.last = Some(*estimate)),
            },
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

/// One frame of a session, and the outcome of each target that has begun.
#[cfg(feature = "files")]
#[derive(Debug)]
pub struct Step<'a, F> {
    /// The frame, which a watcher may keep.
    pub item: &'a Arc<Item>,
    /// Outcomes in the order in which the targets were added.
    pub outcomes: &'a [Outcome],
    /// `None` for a step that is repeated, which has no response map.
    targets: Option<&'a BTreeMap<usize, Target<F>>>,
}

#[cfg(feature = "cli")]
impl<'a, F> Step<'a, F> {
    /// A step that is repeated with these outcomes.
    pub(crate) fn again(item: &'a Arc<Item>, outcomes: &'a [Outcome]) -> Self {
        Self { item, outcomes, targets: None }
    }

    /// This step with other outcomes.
    pub(crate) fn with<'b>(&'b self, outcomes: &'b [Outcome]) -> Step<'b, F> {
        Step { item: self.item, outcomes, targets: self.targets }
    }
}

#[cfg(feature = "files")]
impl<F: Follower> Step<'_, F> {
    /// The response map of an outcome, if there is one.
    pub fn response(&self, outcome: &Outcome) -> Option<ResponseMap<'_>> {
        outcome.estimate.and_then(|_| self.targets?.get(&outcome.target)?.follower.response())
    }
}

/// Watches a session. A closure that takes steps is one.
#[cfg(feature = "files")]
pub trait Watch<F> {
    /// Called after each frame.
    ///
    /// # Errors
    /// Any error that ends the session.
    fn step(&mut self, step: &Step<'_, F>) -> Result<()>;

    /// Called before the targets see a frame; targets may be added, dropped and given new boxes.
    fn before(&mut self, _session: &mut Session<F>, _item: &Item) {}

    /// Called after the targets have seen a frame; detections may change its outcomes.
    fn after(&mut self, _session: &mut Session<F>, _item: &Item) {}

    /// Called for a frame that is left out for the reason in `message`; its step follows.
    fn skipped(&mut self, _message: &str) {}
}

#[cfg(feature = "files")]
impl<F, W: FnMut(&Step<'_, F>) -> Result<()>> Watch<F> for W {
    fn step(&mut self, step: &Step<'_, F>) -> Result<()> {
        self(step)
    }
}

#[cfg(feature = "files")]
impl<F: Follower> Session<F> {
    /// Takes the frames of a stream until it ends.
    ///
    /// # Errors
    /// The first error of a frame (unless [`Session::skip_bad_frames`]), of a target, or of the watcher.
    pub fn run(&mut self, frames: impl IntoIterator<Item = Item>, watch: &mut impl Watch<F>) -> Result<(), Halt> {
        for item in frames {
            watch.before(self, &item);
            self.take(item, watch)?;
        }
        Ok(())
    }

    /// Gives an item to all targets, and their outcomes to the watcher.
    fn take(&mut self, item: Item, watch: &mut impl Watch<F>) -> Result<(), Halt> {
        // No frame follows these errors.
        let ends = matches!(item.frame, Err(Error::Ended { .. } | Error::Cancelled));
        let skips = self.skip_bad_frames && !ends && !self.starts_at(item.position);
        let item = match item {
            Item { position, path, frame: Err(error), .. } if !skips => {
                return Err(Halt { position, path, cause: Cause::Frame(error) });
            }
            item => item,
        };
        match self.feed_item(&item, skips) {
            Ok(None) => {}
            Ok(Some(message)) => watch.skipped(&message),
            Err(cause) => return Err(Halt { position: item.position, path: item.path, cause }),
        }
        watch.after(self, &item);
        let item = Arc::new(item);
        let step = Step { item: &item, outcomes: &self.outcomes, targets: Some(&self.targets) };
        let watched = watch.step(&step);
        watched.map_err(|error| Halt { position: item.position, path: item.path.clone(), cause: Cause::Watch(error) })
    }

    /// Gives an item to all targets. One that cannot be read, or one of another size if it `skips` those, leaves them as
    /// they are; the message says why.
    ///
    /// # Errors
    /// As [`Session::feed`].
    pub(crate) fn feed_item(&mut self, item: &Item, skips: bool) -> Result<Option<String>, Cause> {
        let skipped = |error: &Error| Some(at_frame(item.position, item.path.as_deref(), error));
        let message = match item.frame.as_ref().map(|frame| self.feed(item.position, frame)) {
            Ok(Ok(_)) => return Ok(None),
            Ok(Err(Cause::Frame(error))) if skips => skipped(&error),
            Ok(Err(cause)) => return Err(cause),
            Err(error) => {
                self.outcomes.clear();
                skipped(error)
            }
        };
        self.add_missing();
        Ok(message)
    }

    /// Adds an outcome without an estimate for each target that has none, after an unusable frame.
    fn add_missing(&mut self) {
        for (&target, of) in &self.targets {
            let known = self.outcomes.iter().any(|outcome| outcome.target == target);
            let missed = of.last.filter(|_| !known && of.is_shown());
            let missing = |last: Estimate| Outcome { target, bbox: last.bbox, estimate: None, took: Duration::ZERO };
            self.outcomes.extend(missed.map(missing));
        }
        self.outcomes.sort_by_key(|outcome| outcome.target);
    }

    fn starts_at(&self, position: usize) -> bool {
        self.targets.values().any(|target| target.starts_at(position))
    }
}

/// An error that ended a session, and the frame at which it did.
#[cfg(feature = "files")]
#[derive(Debug, thiserror::Error)]
#[error("{}", told(*.position, .path.as_deref(), .cause))]
pub struct Halt {
    /// Position of the frame, from 1.
    pub position: usize,
    /// The frame's file, if it has one.
    pub path: Option<PathBuf>,
    /// The error.
    #[source]
    pub cause: Cause,
}

/// The error of a frame.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    /// The frame could not be read, or its size has changed.
    #[error("{0}")]
    Frame(#[source] Error),
    /// A target could not be learned or followed.
    #[error("{error}")]
    Target {
        /// Id of the target.
        target: usize,
        /// The error.
        #[source]
        error: Error,
    },
    /// The watcher of the session failed.
    #[error("{0}")]
    Watch(#[source] Error),
}

impl Cause {
    /// The error itself, by value.
    pub fn into_error(self) -> Error {
        match self {
            Self::Frame(error) | Self::Target { error, .. } | Self::Watch(error) => error,
        }
    }
}

/// The message of the error that ended a session. A watcher's error names no frame.
#[cfg(feature = "files")]
fn told(position: usize, path: Option<&Path>, cause: &Cause) -> String {
    match cause {
        Cause::Watch(error) => error.to_string(),
        Cause::Frame(error) | Cause::Target { error, .. } => at_frame(position, path, error),
    }
}

/// An error with its frame, and the path unless the error names it.
#[cfg(feature = "files")]
fn at_frame(position: usize, path: Option<&Path>, error: &Error) -> String {
    let message = error.to_string();
    let path = path.map(|path| path.display().to_string()).filter(|path| !message.contains(path));
    let file = path.map_or(String::new(), |path| format!(" ({path})"));
    format!("frame {position}{file}: {message}")
}

#[cfg(all(test, feature = "files"))]
mod tests;
