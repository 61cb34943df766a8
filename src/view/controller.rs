//! The thread that reads frames and tracks. It handles commands, goes on by itself while it plays, and never waits for
//! a page.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use rayon::iter::{IntoParallelRefMutIterator, ParallelIterator};

use super::fill::{Fill, interpolated};
use super::frame_cache::{Checkpoint, Checkpoints, FrameCache, MAX_SKIP, Seen};
use super::state::{Picture, SharedState, ViewState};
use super::track::{Missing, Track};
use crate::cancel::CancelToken;
use crate::error::{Error, Result};
use crate::export::Given;
use crate::media::{Item, Wait};
use crate::run::{Command, Reach};
use crate::tracker::Params;

/// How long a wait for a frame keeps commands waiting.
pub const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Frames per second of a source without a rate.
const RATE: f64 = 30.0;

/// Maximum time that one frame is shown, in seconds; bounds gaps in the timestamps.
const MAX_FRAME_SECONDS: f64 = 2.0;

/// How long a picture is shown before its frame is read too, for a box that may be drawn in it.
const REST: Duration = Duration::from_millis(300);

/// The result of a command: a warning if something looks wrong, or the reason why it is refused.
pub type Handled = Result<Option<String>, String>;

/// A message to the controller.
pub enum Message {
    /// A command and the channel for its result.
    Command(Command, SyncSender<Handled>),
    /// End.
    Stop,
}

/// Owns the frames and the trackers, and handles commands.
pub struct Controller {
    pub shared: Arc<SharedState>,
    pub messages: Receiver<Message>,
    pub cache: FrameCache,
    /// Ends commands that wait for a frame.
    pub stop: CancelToken,
    pub params: Params,
    pub checkpoints: BTreeMap<u32, Checkpoints>,
    /// The frame to go to.
    pub goal: Option<Goal>,
    /// When the next frame is due.
    pub due: Instant,
    /// The frame that is shown; `None` if only its picture was made.
    pub shown: Option<Arc<Item>>,
    /// Whether the shown frame is to be read once no command comes.
    pub unread: bool,
    /// When the last frames were shown.
    pub times: VecDeque<Instant>,
    /// The highest id of a target so far.
    pub last_id: u32,
    /// The frames that are tracked from both sides.
    pub fill: Option<Fill>,
}

/// A frame to be shown next.
#[derive(Clone, Copy, Debug)]
pub struct Goal {
    pub position: usize,
    /// Whether all targets are tracked up to it.
    pub track: bool,
}

/// One target to track in the current frame.
struct Job {
    target: u32,
    given: Given,
    checkpoint: Option<Checkpoint>,
    seen: Option<Result<Seen>>,
}

impl Controller {
    /// A controller that shows the first frame of the cache once it has come.
    pub fn new(
        shared: Arc<SharedState>,
        messages: Receiver<Message>,
        cache: FrameCache,
        stop: CancelToken,
        params: Params,
    ) -> Self {
        Self {
            goal: Some(Goal { position: cache.span.first, track: true }),
            checkpoints: BTreeMap::new(),
            due: Instant::now(),
            shown: None,
            unread: false,
            times: VecDeque::new(),
            last_id: 0,
            fill: None,
            shared,
            messages,
            cache,
            stop,
            params,
        }
    }

    /// Handles commands until it is stopped, or another clip is asked for.
    pub fn run(mut self) {
        let targets: Vec<u32> = self.shared.look(|state| state.tracks.keys().copied().collect());
        targets.into_iter().for_each(|target| self.settle(target));
        loop {
            let playing = self.shared.look(|state| state.status.playing);
            let idle = match (self.goal.is_some(), playing) {
                (true, _) => Duration::ZERO,
                (false, true) => self.due.saturating_duration_since(Instant::now()),
                (false, false) if self.fill.is_some() => POLL_INTERVAL,
                (false, false) if self.unread => REST,
                (false, false) => Duration::from_secs(3600),
            };
            match self.messages.recv_timeout(idle) {
                Ok(Message::Command(command, reply)) => {
                    // The receiver may be gone.
                    let _ = reply.send(self.handle(command));
                    if self.shared.look(|state| state.next_clip.is_some()) {
                        break;
                    }
                    continue;
                }
                Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.fill_on();
            if playing && self.goal.is_none() {
                self.goal = Some(Goal { position: self.position() + 1, track: true });
            } else if self.goal.is_none() && std::mem::take(&mut self.unread) {
                self.goal = Some(Goal { position: self.position(), track: false });
            }
            self.work(playing);
        }
        self.fill.iter().for_each(Fill::cancel);
    }

    /// The position that is shown, or the first one before that.
    pub fn position(&self) -> usize {
        self.shared.look(|state| state.status.position).max(self.cache.span.first)
    }

    /// Reads one frame on the way to the goal.
    fn work(&mut self, playing: bool) {
        let Some(goal) = self.goal else { return };
        let wanted = if goal.track { self.wanted(goal.position) } else { None };
        if wanted.is_none() && !playing && goal.position != self.position() {
            let shown = self.position();
            let is_ahead = (shown..shown + MAX_SKIP).contains(&goal.position);
            if !is_ahead {
                self.cache.seek(goal.position);
            }
            match self.cache.picture(goal.position, POLL_INTERVAL) {
                Wait::NotYet => return,
                Wait::End => {}
                Wait::Item(picture) => {
                    // Steps on will need the stream. What it says is heard once it is waited for.
                    match is_ahead {
                        true => _ = self.cache.read(goal.position, POLL_INTERVAL),
                        false => self.cache.rest(),
                    }
                    (self.goal, self.shown) = (None, self.cache.kept(goal.position).cloned());
                    self.unread = self.shown.is_none();
                    return self.show_picture(picture);
                }
            }
        }
        let mut position = wanted.unwrap_or(goal.position);
        if self.cache.info().live {
            // Frame by frame, so that commands are handled in between.
            position = position.min((self.cache.newest + 1).max(self.cache.span.first));
        }
        match self.cache.read(position, POLL_INTERVAL) {
            Ok(Wait::NotYet) => {}
            Ok(Wait::End) => self.end_of_frames(goal),
            Err(error) => self.stop_with(&error.to_string()),
            Ok(Wait::Item(item)) => {
                if wanted.is_some()
                    && let Err(said) = self.track(&item)
                {
                    self.stop_with(&said);
                    self.show(&item);
                } else if position == goal.position && self.wanted(goal.position).filter(|_| goal.track).is_none() {
                    self.goal = None;
                    self.show(&item);
                } else {
                    self.update(|state| state.status.catching_up = Some(position));
                }
            }
        }
    }

    /// Stops behind the last frame and shows it.
    fn end_of_frames(&mut self, goal: Goal) {
        let last = self.cache.last.filter(|_| self.cache.newest >= self.cache.span.first);
        let broken = self.cache.broken.as_ref().map_or(String::new(), |error| {
            format!(": it cannot be read ({error}); --skip-bad-frames goes on if more follow")
        });
        self.stop_with(
            &last.map_or("there is no frame".into(), |last| format!("frame {last} is the last one{broken}")),
        );
        if let Some(last) = last.filter(|last| (self.cache.span.first..goal.position).contains(last))
            && self.position() != last
        {
            self.head_for(Goal { position: last, ..goal });
        }
    }

    /// Sets the goal and stops playing.
    pub fn head_for(&mut self, goal: Goal) {
        self.goal = Some(goal);
        self.update(|state| state.status.playing = false);
    }

    /// Changes what pages see. The status follows the cache and the goal.
    pub fn update(&self, change: impl FnOnce(&mut ViewState)) {
        self.shared.change(|state| {
            state.status.catching_up = None;
            change(state);
            let (status, cache) = (&mut state.status, &self.cache);
            (status.oldest, status.newest, status.last) = (cache.oldest(), cache.newest, cache.last);
            state.broken.clone_from(&cache.broken);
            status.going_to =
                self.goal.filter(|_| !status.playing).map(|goal| goal.position).filter(|at| *at != status.position);
        });
    }

    /// The first frame that a tracker must see so that all records up to `last` can be made.
    pub fn wanted(&self, last: usize) -> Option<usize> {
        let next = |(target, track): (&u32, &Track)| {
            let Missing { at, from, .. } = track.to_track(last)?;
            let start = from.frame;
            let next = self.checkpoints.get(target).map_or(start, |checkpoints| checkpoints.next(start, at));
            // A piece that cannot be continued does not stop the other targets.
            (!self.is_gone(next)).then_some(next)
        };
        self.shared.look(|state| state.tracks.iter().filter_map(next).min())
    }

    /// Fills the frames between given boxes of a target that are to be filled: at once by interpolation, on a thread from
    /// both sides.
    pub fn settle(&mut self, target: u32) {
        let gaps: Vec<Missing> = self.shared.look(|state| {
            let missing = state.tracks.get(&target).into_iter().flat_map(|track| track.missing(usize::MAX));
            missing.filter(|missing| missing.to.is_some()).collect()
        });
        for Missing { from, to, .. } in gaps {
            let Some(to) = to.filter(|_| from.reach == Reach::Interpolated) else { continue };
            let filled = interpolated(target, &from, &to, |position| self.blank(position));
            self.shared.change(|state| state.fill(target, &from, &to, filled));
        }
        self.fill_on();
    }

    /// Takes the result of tracking from both sides, and begins with the next such frames.
    fn fill_on(&mut self) {
        if let Some(fill) = self.fill.take_if(|fill| fill.is_finished()) {
            let Fill { target, from, to, .. } = fill;
            match fill.result() {
                None => {}
                Some(Ok(found)) => self.shared.change(|state| state.fill(target, &from, &to, found)),
                Some(Err(error)) => {
                    // Interpolated, so that it does not begin again.
                    let filled = interpolated(target, &from, &to, |position| self.blank(position));
                    let said = format!("target {target} cannot be tracked from both sides: {error}");
                    self.shared.change(|state| {
                        state.fill(target, &from, &to, filled);
                        state.say(said + "; its boxes there are interpolated");
                    });
                }
            }
        }
        let next = self.shared.look(|state| {
            let gap = |(id, track): (&u32, &Track)| {
                let mut gaps = track.missing(usize::MAX).filter(|missing| missing.from.reach == Reach::BothSides);
                gaps.find_map(|gap| Some((*id, gap.from, gap.to?)))
            };
            state.tracks.iter().find_map(gap)
        });
        if let Some(fill) = &self.fill {
            // Its boxes may have changed meanwhile.
            if !next.is_some_and(|(target, from, to)| (fill.target, fill.from, fill.to) == (target, from, to)) {
                fill.cancel();
            }
        } else if let Some((target, from, to)) = next {
            self.fill = Fill::start(&self.cache.source, &self.params, target, from, to);
        }
        let filling = self.fill.as_ref().map(|fill| [fill.from.frame, fill.to.frame]);
        if self.shared.look(|state| state.status.filling != filling) {
            self.shared.change(|state| state.status.filling = filling);
        }
    }

    /// A frame without pixels: its name and its time.
    fn blank(&self, position: usize) -> Item {
        let info = self.cache.info();
        let time = info.rate.map(|rate| (position.saturating_sub(1)) as f64 / rate);
        let item = Item::numbered(position, time, Err(Error::NotInitialized), 0.0);
        let image = position.checked_sub(1).and_then(|place| info.images.get(place)?.file_name());
        match image {
            Some(name) => Item { name: name.to_string_lossy().into(), timestamp: None, ..item },
            None => item,
        }
    }

    /// Whether a frame of a live source has left the cache.
    pub fn is_gone(&self, position: usize) -> bool {
        self.cache.info().live && position < self.cache.oldest()
    }

    /// Runs all trackers that need this frame. The error says which one cannot go on.
    fn track(&mut self, item: &Item) -> Result<(), String> {
        let mut jobs = self.jobs(item.position);
        let params = &self.params;
        let work = |job: &mut Job| {
            job.seen = Some(match &mut job.checkpoint {
                Some(checkpoint) => checkpoint.follow(item),
                None => Checkpoint::begin(params, job.target, item, &job.given).map(|(checkpoint, seen)| {
                    job.checkpoint = Some(checkpoint);
                    seen
                }),
            });
        };
        match &mut jobs[..] {
            [job] => work(job),
            jobs => jobs.par_iter_mut().for_each(work),
        }
        let mut refused = Ok(());
        let (mut found, mut took) = (Vec::new(), 0.0);
        for job in jobs {
            let checkpoints = self.checkpoints.entry(job.target).or_default();
            job.checkpoint.into_iter().for_each(|checkpoint| checkpoints.put(checkpoint));
            match job.seen {
                Some(Ok(seen)) => {
                    took += seen.record.track_ms;
                    found.push((job.target, seen));
                }
                Some(Err(error)) => {
                    let said = format!("target {}, frame {}: {error}", job.target, item.position);
                    // A target that begins here would fail again each time.
                    let begins = job.given.frame == item.position;
                    refused = Err(said + if begins { ": remove it, or give it another box here" } else { "" });
                }
                None => {}
            }
        }
        self.shared.prepare(|state| {
            state.status.track_ms = took;
            for (target, seen) in found {
                state.maps.put(seen.record.index, target, seen.map);
                state.found(target, seen.record);
            }
        });
        refused
    }

    /// The targets that need the frame at `position`, each with its tracker.
    fn jobs(&mut self, position: usize) -> Vec<Job> {
        let checkpoints = &mut self.checkpoints;
        self.shared.look(|state| {
            let job = |(target, track): (&u32, &Track)| {
                let Missing { at, from: given, .. } = track.to_track(usize::MAX)?;
                let checkpoints = checkpoints.entry(*target).or_default();
                let wants = checkpoints.next(given.frame, at) == position;
                wants.then(|| Job { target: *target, given, checkpoint: checkpoints.take(given.frame, at), seen: None })
            };
            state
                .tracks
                .iter()
                .filter_map(job)
                .filter(|job| job.checkpoint.is_some() || job.given.frame == position)
                .collect()
        })
    }

    /// Shows a frame and computes when the next one is due.
    pub fn show(&mut self, item: &Arc<Item>) {
        let now = Instant::now();
        let before = self.shown.replace(Arc::clone(item));
        let speed = self.shared.look(|state| state.status.speed);
        let lasts = speed.and_then(|speed| Duration::try_from_secs_f64(self.pace(before, item) / speed).ok());
        let lasts = lasts.unwrap_or_default();
        // After a late frame, the next ones catch up by at most one frame's time.
        self.due = (self.due + lasts).max(now.checked_sub(lasts).unwrap_or(now));
        if let Err(error) = &item.frame {
            let said = format!("frame {} could not be read: {error}", item.position);
            self.shared.prepare(|state| state.say(said));
        }
        self.unread = false;
        self.show_picture(Arc::new(Picture::new(Arc::clone(item))));
    }

    fn show_picture(&mut self, picture: Arc<Picture>) {
        let (now, position) = (Instant::now(), picture.position);
        self.times.push_back(now);
        while self.times.front().is_some_and(|time| now.duration_since(*time) > Duration::from_secs(1)) {
            self.times.pop_front();
        }
        if let Some(before) = self.shared.look(|state| state.picture.clone()) {
            self.cache.remember(&before, position);
        }
        self.update(|state| {
            (state.status.position, state.status.fps) = (position, self.times.len() as f64);
            state.show(picture);
        });
        if !self.shared.look(|state| state.status.playing) {
            self.cache.look_behind(position);
        }
    }

    /// Seconds from one frame to the next.
    fn pace(&self, before: Option<Arc<Item>>, item: &Item) -> f64 {
        let before = before.filter(|before| before.position + 1 == item.position);
        let timed = before.and_then(|before| Some(item.timestamp? - before.timestamp?)).filter(|time| *time > 0.0);
        let rate = self.cache.info().rate.filter(|rate| rate.is_finite() && *rate > 0.0).unwrap_or(RATE);
        timed.unwrap_or(1.0 / rate).min(MAX_FRAME_SECONDS)
    }

    /// Stops and says why.
    fn stop_with(&mut self, said: &str) {
        self.goal = None;
        self.update(|state| {
            state.status.playing = false;
            state.say(said);
        });
    }
}
