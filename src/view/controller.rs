//! The thread that reads frames and tracks. It handles commands, goes on by itself while it plays, and never waits for
//! a page.

use std::cmp::Ordering;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::Setup;
use super::frame_cache::{FrameCache, MAX_SKIP};
use super::pieces::{Checkpoint, Checkpoints, Fill};
use super::state::{Picture, SharedState, ViewState};
use super::track::{Missing, Track};
use crate::cancel::{CancelToken, Scopes};
use crate::error::{Error, Result};
use crate::export::{Given, TargetRecord};
use crate::media::{Item, Wait};
use crate::run::{Attributes, Command, MAX_TARGETS, Reach, word};
use crate::tracker::Tracker;

/// How long a wait for a frame keeps commands waiting.
pub const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Frames per second of a source without a rate.
const RATE: f64 = 30.0;

/// Maximum time that one frame is shown, in seconds; bounds gaps in the timestamps.
const MAX_FRAME_SECONDS: f64 = 2.0;

/// How long a picture is shown before its frame is read too, for a box that may be drawn in it.
const REST: Duration = Duration::from_millis(300);

/// How long a command waits for its frame before it must be retried.
const FRAME_TIMEOUT: Duration = Duration::from_secs(10);

/// Multiples of the source's rate.
const SPEEDS: RangeInclusive<f64> = 0.01..=64.0;

/// The result of a command: a warning if something looks wrong, or the reason why it is refused.
pub type Handled = Result<Option<String>, String>;

/// The name and the class of a target.
type Words = [Option<String>; 2];

/// A message to the controller.
pub enum Message {
    /// A command and the channel for its result.
    Command(Command, SyncSender<Handled>),
    /// End.
    Stop,
}

/// Owns the frames and the trackers, and handles commands.
pub struct Controller {
    shared: Arc<SharedState>,
    messages: Receiver<Message>,
    cache: FrameCache,
    /// Ends commands that wait for a frame.
    stop: CancelToken,
    /// A copy follows each new piece.
    tracker: Tracker,
    checkpoints: Checkpoints,
    /// The frame to go to.
    goal: Option<Goal>,
    /// When the next frame is due.
    due: Instant,
    /// The frame that is shown; `None` if only its picture was made.
    shown: Option<Arc<Item>>,
    /// Whether the shown frame is to be read once no command comes.
    unread: bool,
    /// When the last frames were shown.
    times: Vec<Instant>,
    /// The highest id of a target so far.
    last_id: u32,
    /// What is tracked from both sides.
    fill: Option<Fill>,
}

/// A frame to be shown next.
#[derive(Clone, Copy, Debug)]
pub struct Goal {
    pub position: usize,
    /// Whether all targets are tracked up to it.
    pub track: bool,
}

impl Controller {
    /// A controller that goes to the frame which was `left`, or to the first one.
    pub fn new(shared: Arc<SharedState>, messages: Receiver<Message>, tracker: Tracker, setup: Setup) -> Self {
        let Setup { cache, stop, .. } = setup;
        let (first, last) = (cache.span.first, cache.last);
        let (left, last_id) = shared.look(|state| (state.left, state.tracks.keys().next_back().copied()));
        let is_known = !cache.info().live && left >= first && last.is_none_or(|last| left <= last);
        let position = if is_known { left } else { first };
        Self {
            last_id: last_id.unwrap_or(0),
            shared,
            messages,
            cache,
            stop,
            tracker,
            checkpoints: Checkpoints::default(),
            goal: Some(Goal { position, track: position == first }),
            due: Instant::now(),
            shown: None,
            unread: false,
            times: Vec::new(),
            fill: None,
        }
    }

    /// Handles commands until it is stopped, or another clip is asked for.
    pub fn run(mut self) {
        self.settle();
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
        self.fill.iter().for_each(|fill| fill.cancel.cancel());
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
        self.shared.look(|state| {
            let missing = state.tracks.values().filter_map(|track| track.to_track(last));
            // A piece that cannot be continued does not stop the other targets.
            missing.map(|missing| self.checkpoints.next(&missing)).filter(|next| !self.is_gone(*next)).min()
        })
    }

    /// Fills the frames between given boxes that are to be filled: at once by interpolation, on a thread from both sides.
    pub fn settle(&mut self) {
        let gaps: Vec<_> = self.shared.look(|state| state.gaps(Reach::Interpolated).collect());
        gaps.iter().for_each(|missing| self.interpolate(missing));
        self.fill_on();
    }

    fn interpolate(&self, missing: &Missing) {
        let filled = missing.interpolated(self.cache.info());
        self.shared.change(|state| state.fill(missing, filled));
    }

    /// Takes the result of tracking from both sides, and begins with the next such frames.
    fn fill_on(&mut self) {
        let next = || self.shared.look(|state| state.gaps(Reach::BothSides).next());
        // Its boxes may have changed meanwhile.
        if let Some(stale) = self.fill.take_if(|fill| next() != Some(fill.missing)) {
            stale.cancel.cancel();
        }
        if let Some(Fill { missing, thread, .. }) = self.fill.take_if(|fill| fill.thread.is_finished()) {
            match thread.join().unwrap_or(Err(Error::NotInitialized)) {
                Ok(found) => self.shared.change(|state| state.fill(&missing, found)),
                Err(error) => {
                    // Otherwise it would begin again.
                    self.interpolate(&missing);
                    let said = format!("target {} cannot be tracked from both sides: {error}", missing.target);
                    self.shared.change(|state| state.say(said + "; its boxes there are interpolated"));
                }
            }
        }
        if self.fill.is_none() {
            self.fill = next().and_then(|missing| Fill::start(&self.cache.source, &self.tracker, missing));
        }
        let filling = self.fill.as_ref().and_then(|Fill { missing, .. }| Some([missing.from.frame, missing.to?.frame]));
        if self.shared.look(|state| state.status.filling != filling) {
            self.shared.change(|state| state.status.filling = filling);
        }
    }

    /// Whether a frame of a live source has left the cache.
    pub fn is_gone(&self, position: usize) -> bool {
        self.cache.info().live && position < self.cache.oldest()
    }

    /// Runs all trackers that need this frame. The error says which one cannot go on.
    fn track(&mut self, item: &Item) -> Result<(), String> {
        let (tracker, checkpoints) = (&self.tracker, &mut self.checkpoints);
        let job = |track: &Track| {
            let missing = track.to_track(usize::MAX).filter(|missing| checkpoints.next(missing) == item.position)?;
            checkpoints.take(&missing).or_else(|| Checkpoint::new(tracker, missing.target, missing.from))
        };
        let jobs: Vec<_> = self.shared.look(|state| state.tracks.values().filter_map(job).collect());
        let scopes = Scopes::here();
        let follow = |checkpoint: Checkpoint| {
            let Checkpoint { target, given, .. } = checkpoint;
            // A target that begins here would fail again each time.
            let hint = if given.frame == item.position { ": remove it, or give it another box here" } else { "" };
            let followed = scopes.enter(|| checkpoint.follow(item));
            followed.map_err(|error| format!("target {target}, frame {}: {error}{hint}", item.position))
        };
        let followed: Vec<_> = jobs.into_par_iter().map(follow).collect();
        let mut refused = Ok(());
        self.shared.prepare(|state| {
            state.status.track_ms = 0.0;
            for followed in followed {
                match followed {
                    Ok((checkpoint, record, map)) => {
                        state.status.track_ms += record.track_ms;
                        state.maps.put(item.position, checkpoint.target, map);
                        state.found(checkpoint.target, record);
                        self.checkpoints.put(checkpoint);
                    }
                    Err(said) => refused = Err(said),
                }
            }
        });
        refused
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
        self.times.push(now);
        self.times.retain(|time| now.duration_since(*time) <= Duration::from_secs(1));
        if let Some(before) = self.shared.look(|state| state.picture.clone()) {
            self.cache.remember(before, position);
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

/// The commands of pages.
impl Controller {
    /// Handles a command.
    pub fn handle(&mut self, command: Command) -> Handled {
        if self.shared.look(|state| state.status.pick) && !matches!(command, Command::Add { .. }) {
            return Err("this page only asks for the first box".into());
        }
        let (doubt, shown) = (command.doubt(), self.position());
        match command {
            Command::Add { id, position, bbox, name, class } => {
                let target = self.add(id, Given::new(position.unwrap_or(shown), Some(bbox)))?;
                // The words of a new target are undone with it.
                let words = |track: &mut Track| (track.about.name, track.about.class) = (word(name), word(class));
                self.shared.change(|state| state.tracks.get_mut(&target).map(words));
            }
            Command::Give { target, position, bbox, polygon, reach } => {
                self.check_known(target)?;
                self.give(target, Given { polygon, reach, ..Given::new(position.unwrap_or(shown), Some(bbox)) })?;
            }
            Command::Occluded { target, position, on } => {
                self.edit_marks(target, "the target has no box in this frame", |track| track.occlude(position, on))?;
            }
            Command::End { target, position } => self.end(target, position.unwrap_or(shown))?,
            Command::TakeBack { target, position } => {
                let none = "only a later box or an end can be taken back";
                self.can_go_on(target, position)?;
                self.edit_marks(target, none, |track| track.take_back(position))?;
            }
            Command::Remove { target } => {
                self.check_known(target)?;
                self.shared.change(|state| state.remove(target));
                self.checkpoints.forget(target, &(0..usize::MAX));
            }
            Command::Name { target, name, class, attributes } => self.name(target, [name, class], attributes)?,
            Command::Clip { by } => self.leave(by)?,
            Command::Undo => return self.undo("undo", "Undone", false),
            Command::Redo => return self.undo("redo", "Redone", true),
            Command::Play => self.play()?,
            Command::Pause => self.pause(),
            Command::Step { by } => self.step(by)?,
            Command::Seek { position, track } => self.go(position, track && position > shown)?,
            Command::Speed { times } => self.set_speed(times)?,
            Command::Quit => return Err("a page does not end the program".into()),
            Command::Adjust { .. } | Command::Detect { .. } => {
                return Err("this is a command of a run, not of the page".into());
            }
        }
        Ok(doubt)
    }

    fn check_known(&self, target: u32) -> Result<(), String> {
        let is_known = self.shared.look(|state| state.tracks.contains_key(&target));
        is_known.then_some(()).ok_or_else(|| format!("there is no target {target}"))
    }

    fn end(&mut self, target: u32, position: usize) -> Result<(), String> {
        if self.cache.last.is_some_and(|last| position > last) {
            return Err(format!("there is no frame {position} to end a target in"));
        }
        let start = self.shared.look(|state| state.tracks.get(&target).map_or(0, Track::start));
        let reason = match position.cmp(&start) {
            Ordering::Less => format!("target {target} begins in frame {start}"),
            Ordering::Equal => "this is its first box: remove the target instead".into(),
            Ordering::Greater => format!("target {target} has ended already"),
        };
        self.edit_marks(target, &reason, |track| track.end(position))
    }

    fn name(&mut self, target: u32, [name, class]: Words, attributes: Option<Attributes>) -> Result<(), String> {
        self.check_known(target)?;
        let attributes = attributes.map(checked).transpose()?;
        let words = |track: &mut Track| {
            let attributes = attributes.unwrap_or_else(|| track.about.attributes.clone());
            track.about =
                TargetRecord { id: target, name: word(name), class: word(class), attributes, given: Vec::new() };
            Some(0..0)
        };
        self.shared.change(|state| state.change(target, words));
        Ok(())
    }

    /// Goes on with another clip.
    fn leave(&mut self, by: isize) -> Result<(), String> {
        let (place, count) = self.shared.look(|state| state.status.clip).ok_or("there is one clip only")?;
        let next = place.checked_add_signed(by).filter(|next| (1..=count).contains(next));
        let next = next.ok_or_else(|| format!("this is clip {place} of {count}"))?;
        self.shared.change(|state| state.next_clip = Some(next));
        Ok(())
    }

    /// Undoes a change, or makes it `again`; `done` says so.
    fn undo(&mut self, word: &str, done: &str, again: bool) -> Handled {
        let changed = self.shared.change(|state| state.undo(again));
        let (target, gone) = changed.ok_or_else(|| format!("there is nothing to {word}"))?;
        self.checkpoints.forget(target, &gone);
        self.pause();
        self.settle();
        let begins = self.shared.look(|state| state.tracks.get(&target).map(Track::start));
        let what = match (begins, gone) {
            (None, _) => format!("target {target} is gone again"),
            (_, Range { start: 0, end: 0 }) => format!("the name or class of target {target}"),
            (Some(begins), Range { start, .. }) => {
                let from = start.max(begins);
                let lost = if self.is_gone(from) { ", which is gone: draw a new box to go on" } else { "" };
                format!("target {target} from frame {from} on{lost}")
            }
        };
        Ok(Some(format!("{done}: {what}")))
    }

    fn play(&mut self) -> Result<(), String> {
        // At the last frame, playing still tracks what a correction left open.
        let all = |last| self.position() >= last && self.wanted(last).is_none();
        if self.cache.last.is_some_and(all) {
            return Err("this is the last frame: go back to play again".into());
        }
        self.due = Instant::now();
        self.shared.change(|state| state.status.playing = true);
        Ok(())
    }

    fn step(&mut self, by: isize) -> Result<(), String> {
        // Steps that come faster than frames add up.
        let under_way = self.goal.filter(|_| !self.shared.look(|state| state.status.playing));
        let from = under_way.map_or(self.position(), |goal| goal.position);
        let to = from.saturating_add_signed(by).max(self.cache.span.first);
        // Playing tracks what a seek has skipped.
        let is_tracked = self.wanted(self.position()).is_none_or(|wanted| wanted >= self.position());
        self.go(to.min(self.cache.last.unwrap_or(usize::MAX)), by > 0 && is_tracked)
    }

    fn set_speed(&mut self, times: Option<f64>) -> Result<(), String> {
        if !times.is_none_or(|times| SPEEDS.contains(&times)) {
            return Err(format!("the speed must be from {} to {}, or null", SPEEDS.start(), SPEEDS.end()));
        }
        self.due = Instant::now();
        self.shared.change(|state| state.status.speed = times);
        Ok(())
    }

    fn pause(&mut self) {
        self.goal = None;
        self.update(|state| state.status.playing = false);
        self.cache.look_behind(self.position());
    }

    /// Goes to a frame and pauses there.
    fn go(&mut self, position: usize, track: bool) -> Result<(), String> {
        let (first, last) = (self.cache.span.first, self.cache.last);
        if position < first || last.is_some_and(|last| position > last) {
            let last = last.map_or("the end".to_owned(), |last| last.to_string());
            return Err(format!("there is no frame {position}: they go from {first} to {last}"));
        }
        if self.is_gone(position) {
            let oldest = self.cache.oldest();
            return Err(format!("frame {position} is gone: only frames from {oldest} on are kept of such a source"));
        }
        if self.cache.info().live && !track && position > self.cache.newest {
            return Err(format!("frame {position} has not come yet: play up to it"));
        }
        self.head_for(Goal { position, track });
        Ok(())
    }

    /// The frame at `position`. The frame on the screen is always available, even if the source has lost it.
    fn frame(&mut self, position: usize) -> Result<Arc<Item>, String> {
        if let Some(item) = self.shown.as_ref().filter(|item| item.position == position) {
            return Ok(Arc::clone(item));
        }
        let until = Instant::now() + FRAME_TIMEOUT;
        while Instant::now() < until && !self.stop.is_cancelled() {
            match self.cache.read(position, POLL_INTERVAL).map_err(|error| error.to_string())? {
                Wait::Item(item) => return Ok(item),
                Wait::End => return Err(format!("there is no frame {position}")),
                Wait::NotYet => {}
            }
        }
        // Nothing else is read until the retry: each read elsewhere would restart the seek.
        self.pause();
        Err(format!("frame {position} has not come yet: try again"))
    }

    fn add(&mut self, id: Option<u32>, given: Given) -> Result<u32, String> {
        let (count, taken) = self.shared.look(|state| {
            let tracks = &state.tracks;
            (tracks.len(), id.is_some_and(|id| tracks.contains_key(&id)))
        });
        if count >= MAX_TARGETS {
            return Err(format!("there are {MAX_TARGETS} targets already: remove one first"));
        }
        let target = match id {
            Some(id) if taken => return Err(format!("there is a target {id} already")),
            Some(id) => id,
            None => self.last_id.checked_add(1).ok_or("there is no higher id: give one")?,
        };
        self.give(target, given).map(|()| target)
    }

    /// Gives a target, which may be new, a box.
    fn give(&mut self, target: u32, given: Given) -> Result<(), String> {
        let at = given.frame;
        let (first, newest, live) = (self.cache.span.first, self.cache.newest, self.cache.info().live);
        if given.polygon.is_some_and(|corners| corners.iter().any(|at| !at.is_finite())) {
            return Err("the corners of a box must be finite numbers".into());
        }
        if given.reach == Reach::BothSides && live {
            return Err("a source that gives each frame once is tracked forward only".into());
        }
        if at < first || live && at > newest.max(first) {
            return Err(format!("there is no frame {at} to give a box in"));
        }
        if self.is_gone(at.saturating_add(1)) {
            // The frame may be on the screen, but the next one is gone too, so no tracker could go on.
            let oldest = self.cache.oldest();
            return Err(format!("frame {at} is gone: give the box in frame {oldest} or a later one"));
        }
        let item = self.frame(at)?;
        let begun = Checkpoint::new(&self.tracker, target, given).ok_or("a box is missing")?;
        let (checkpoint, record, map) = begun.follow(&item).map_err(|error| error.to_string())?;
        self.last_id = self.last_id.max(target);
        self.shared.change(|state| {
            state.change(target, |track| Some(track.give(given, record)));
            state.maps.put(at, target, map);
        });
        self.checkpoints.put(checkpoint);
        self.settle();
        // Pauses at the frame in which the user changed something.
        self.pause();
        if self.position() != at || self.shown.is_none() {
            self.show(&item);
        }
        Ok(())
    }

    /// Refuses to undo a correction if the frames before it are no longer cached, so that tracking cannot go on there.
    fn can_go_on(&self, target: u32, position: usize) -> Result<(), String> {
        let missing = self.shared.look(|state| state.tracks.get(&target)?.resumes(position));
        match missing.map(|missing| self.checkpoints.next(&missing)).filter(|from| self.is_gone(*from)) {
            Some(from) => Err(format!(
                "this cannot be taken back: target {target} would be followed from frame {from} on, and its beginning \
                 is gone: draw a new box"
            )),
            None => Ok(()),
        }
    }

    /// Changes the marks of a target; `reason` if that is impossible.
    fn edit_marks(
        &mut self,
        target: u32,
        reason: &str,
        change: impl FnOnce(&mut Track) -> Option<Range<usize>>,
    ) -> Result<(), String> {
        self.check_known(target)?;
        let changed = self.shared.change(|state| state.change(target, change)).ok_or(reason)?;
        self.checkpoints.forget(target, &(changed.start..changed.start.saturating_add(1)));
        self.settle();
        self.pause();
        Ok(())
    }
}

/// Attributes as they are kept.
///
/// # Errors
/// Too many, or one without a name.
fn checked(attributes: Attributes) -> Result<Attributes, String> {
    let cut = |(name, value): (String, String)| Some((word(Some(name))?, word(Some(value)).unwrap_or_default()));
    let count = attributes.len();
    let kept: Attributes = attributes.into_iter().filter_map(cut).collect();
    match count {
        ..=MAX_ATTRIBUTES if kept.len() == count => Ok(kept),
        ..=MAX_ATTRIBUTES => Err("each attribute needs a name of its own: name=value".into()),
        _ => Err(format!("a target can have {MAX_ATTRIBUTES} attributes, and these are {count}")),
    }
}

/// Maximum attributes of a target.
const MAX_ATTRIBUTES: usize = 50;
