//! The commands of a page, and how the controller handles them.

use std::cmp::Ordering;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::controller::{Controller, Goal, Handled, POLL_INTERVAL};
use super::frame_cache::{Checkpoint, Seen};
use super::state::ViewState;
use super::track::Track;
use crate::export::Given;
use crate::media::{Item, Wait};
use crate::run::{Attributes, Command, MAX_TARGETS, Reach, word};
use crate::tracker::too_small;

/// How long a command waits for its frame before it must be retried.
const FRAME_TIMEOUT: Duration = Duration::from_secs(10);

/// Speeds of playing, as multiples of the source's rate.
const SPEEDS: RangeInclusive<f64> = 0.01..=64.0;

impl Controller {
    /// Handles a command.
    pub fn handle(&mut self, command: Command) -> Handled {
        let picks = self.shared.look(|state| state.status.pick);
        let (drawn, shown) = (command.bbox(), self.position());
        match command {
            Command::Pick { bbox } if picks => {
                let item = self.frame(self.position())?;
                Checkpoint::begin(&self.params, 1, &item, &Given::new(1, Some(bbox)))
                    .map_err(|error| error.to_string())?;
                self.shared.change(|state| state.picked = Some(bbox));
            }
            Command::Pick { .. } => return Err("this page asks for no first box: add a target".into()),
            _ if picks => return Err("this page only asks for the first box".into()),
            Command::Add { id, position, bbox, name, class } => {
                let target = self.add(id, Given::new(position.unwrap_or(shown), Some(bbox)))?;
                // The words of a new target are undone with it.
                let words = |track: &mut Track| (track.name, track.class) = (word(name), word(class));
                self.shared.change(|state| state.tracks.get_mut(&target).map(words));
            }
            Command::Give { target, position, bbox, polygon, reach } => {
                self.check_target(target)?;
                if polygon.is_some_and(|corners| corners.iter().any(|at| !at.is_finite())) {
                    return Err("the corners of a box must be finite numbers".into());
                }
                if reach == Reach::BothSides && self.cache.info().live {
                    return Err("a source that gives each frame once is tracked forward only".into());
                }
                let frame = position.unwrap_or(shown);
                self.give(target, Given { polygon, reach, ..Given::new(frame, Some(bbox)) })?;
            }
            Command::Occluded { target, position, on } => {
                let reason = "the target has no box in this frame";
                self.edit_marks(target, reason, |track| track.occlude(position, on))?;
            }
            Command::End { target, position } => {
                let at = position.unwrap_or(shown);
                if self.cache.last.is_some_and(|last| at > last) {
                    return Err(format!("there is no frame {at} to end a target in"));
                }
                let start = self.shared.look(|state| state.tracks.get(&target).map_or(0, Track::start));
                let reason = match at.cmp(&start) {
                    Ordering::Less => format!("target {target} begins in frame {start}"),
                    Ordering::Equal => "this is its first box: remove the target instead".into(),
                    Ordering::Greater => format!("target {target} has ended already"),
                };
                self.edit_marks(target, &reason, |track| track.end(at))?;
            }
            Command::TakeBack { target, position } => {
                let none = "only a later box or an end can be taken back";
                self.can_go_on(target, position)?;
                self.edit_marks(target, none, |track| track.take_back(position))?;
            }
            Command::Remove { target } => {
                self.check_target(target)?;
                self.shared.change(|state| state.remove(target));
                self.checkpoints.remove(&target);
            }
            Command::Name { target, name, class, attributes } => {
                self.check_target(target)?;
                let attributes = attributes.map(checked).transpose()?;
                let words = |track: &mut Track| {
                    (track.name, track.class) = (word(name), word(class));
                    track.attributes = attributes.unwrap_or(std::mem::take(&mut track.attributes));
                    Some(0..0)
                };
                self.shared.change(|state| state.change(target, words));
            }
            Command::Clip { by } => {
                let clip = self.shared.look(|state| state.status.clip);
                let (place, count) = clip.ok_or("there is one clip only")?;
                let next = place.checked_add_signed(by).filter(|next| (1..=count).contains(next));
                let next = next.ok_or_else(|| format!("this is clip {place} of {count}"))?;
                self.shared.change(|state| state.next_clip = Some(next));
            }
            Command::Undo | Command::Redo => {
                let (word, done, changed) = match command {
                    Command::Undo => ("undo", "Undone", self.shared.change(ViewState::undo)),
                    _ => ("redo", "Redone", self.shared.change(ViewState::redo)),
                };
                let (target, gone) = changed.ok_or_else(|| format!("there is nothing to {word}"))?;
                self.checkpoints.entry(target).or_default().forget(&gone);
                self.pause();
                self.settle(target);
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
                return Ok(Some(format!("{done}: {what}")));
            }
            Command::Quit => return Err("a page does not end the program".into()),
            Command::Adjust { .. } | Command::Detect { .. } => {
                return Err("this is a command of a run, not of the page".into());
            }
            Command::Play => {
                // At the last frame, playing still tracks what a correction left open.
                let all = |last| self.position() >= last && self.wanted(last).is_none();
                if self.cache.last.is_some_and(all) {
                    return Err("this is the last frame: go back to play again".into());
                }
                self.due = Instant::now();
                self.shared.change(|state| state.status.playing = true);
            }
            Command::Pause => self.pause(),
            Command::Step { by } => {
                // Steps that come faster than frames add up.
                let under_way = self.goal.filter(|_| !self.shared.look(|state| state.status.playing));
                let from = under_way.map_or(self.position(), |goal| goal.position);
                let to = from.saturating_add_signed(by).max(self.cache.span.first);
                let to = to.min(self.cache.last.unwrap_or(usize::MAX));
                // Playing tracks what a seek has skipped.
                let is_tracked = self.wanted(self.position()).is_none_or(|wanted| wanted >= self.position());
                self.go(to, by > 0 && is_tracked)?;
            }
            Command::Seek { position, track } => self.go(position, track && position > shown)?,
            Command::Speed { times } => {
                if !times.is_none_or(|times| SPEEDS.contains(&times)) {
                    let (from, to) = (SPEEDS.start(), SPEEDS.end());
                    return Err(format!("the speed must be from {from} to {to}, or null"));
                }
                self.due = Instant::now();
                self.shared.change(|state| state.status.speed = times);
            }
        }
        Ok(drawn.and_then(|bbox| too_small(&bbox)).map(|said| format!("the box {said}")))
    }

    fn pause(&mut self) {
        self.goal = None;
        self.update(|state| state.status.playing = false);
        self.cache.look_behind(self.position());
    }

    /// Goes to a frame and pauses there.
    fn go(&mut self, position: usize, track: bool) -> Result<(), String> {
        let (oldest, last) = (self.cache.oldest(), self.cache.last);
        let live = self.cache.info().live;
        if position < oldest && live && position >= self.cache.span.first {
            return Err(format!("frame {position} is gone: only frames from {oldest} on are kept of such a source"));
        }
        if position < self.cache.span.first || last.is_some_and(|last| position > last) {
            let last = last.map_or("the end".to_owned(), |last| last.to_string());
            return Err(format!("there is no frame {position}: they go from {} to {last}", self.cache.span.first));
        }
        if live && !track && position > self.cache.newest {
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

    /// Pauses at a frame in which the user changed something.
    fn pause_at(&mut self, item: &Arc<Item>) {
        self.pause();
        if self.position() != item.position || self.shown.is_none() {
            self.show(item);
        }
    }

    fn begin(&mut self, target: u32, given: &Given) -> Result<(Arc<Item>, Checkpoint, Seen), String> {
        let position = given.frame;
        let (first, newest, live) = (self.cache.span.first, self.cache.newest, self.cache.info().live);
        if position < first || live && position > newest.max(first) {
            return Err(format!("there is no frame {position} to give a box in"));
        }
        if self.is_gone(position.saturating_add(1)) {
            // The frame may be on the screen, but the next one is gone too, so no tracker could go on.
            let oldest = self.cache.oldest();
            return Err(format!("frame {position} is gone: give the box in frame {oldest} or a later one"));
        }
        let item = self.frame(position)?;
        let (checkpoint, seen) =
            Checkpoint::begin(&self.params, target, &item, given).map_err(|error| error.to_string())?;
        Ok((item, checkpoint, seen))
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
        let (item, checkpoint, seen) = self.begin(target, &given)?;
        self.last_id = self.last_id.max(target);
        let at = given.frame;
        self.shared.change(|state| {
            state.change(target, |track| Some(track.give(given, seen.record)));
            state.maps.put(at, target, seen.map);
        });
        let checkpoints = self.checkpoints.entry(target).or_default();
        checkpoints.forget(&(at..at + 1));
        checkpoints.put(checkpoint);
        self.settle(target);
        self.pause_at(&item);
        Ok(())
    }

    /// Refuses to undo a correction if the frames before it are no longer cached, so that tracking cannot go on there.
    fn can_go_on(&self, target: u32, position: usize) -> Result<(), String> {
        let from = self.shared.look(|state| {
            let track = state.tracks.get(&target)?;
            track.given_at(position)?;
            let (missing, start) = track.resumes(position)?;
            Some(self.checkpoints.get(&target).map_or(start, |checkpoints| checkpoints.next(start, missing)))
        });
        match from.filter(|from| self.is_gone(*from)) {
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
        self.check_target(target)?;
        let changed = self.shared.change(|state| state.change(target, change)).ok_or(reason)?;
        self.checkpoints.entry(target).or_default().forget(&(changed.start..changed.start.saturating_add(1)));
        self.settle(target);
        self.pause();
        Ok(())
    }

    fn check_target(&self, target: u32) -> Result<(), String> {
        let exists = self.shared.look(|state| state.tracks.contains_key(&target));
        exists.then_some(()).ok_or_else(|| format!("there is no target {target}"))
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
