//! Commands: what a page can ask for, and how the controller does it.

use std::fmt;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::controller::{Controller, Goal, Handled, POLL_INTERVAL};
use super::frame_cache::Reading;
use super::frame_cache::{Checkpoint, Seen};
use super::state::Track;
use crate::bbox::BBox;
use crate::error::Error;
use crate::media::Item;
use crate::tracker::too_small;

/// A command, as JSON: `{"do": "give", "target": 1, "position": 20, "bbox": [10, 20, 30, 40]}`.
///
/// A box belongs to the frame on which it was drawn, which may not be the current one.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Command {
    /// A new target, in this box of this frame. Where frames come once, one that has not come yet may be meant: the
    /// target begins when it comes.
    Add {
        /// Its number, where it is not to be the next one.
        #[serde(default)]
        id: Option<u32>,
        /// The frame.
        position: usize,
        /// The box, 0-based.
        bbox: BBox,
    },
    /// A new box for a target.
    Give {
        /// The target.
        target: u32,
        /// The frame.
        position: usize,
        /// The box, 0-based.
        bbox: BBox,
    },
    /// The target is gone from this frame on.
    End {
        /// The target.
        target: u32,
        /// The frame.
        position: usize,
    },
    /// The box that was given in this frame, or the end that was put there, is taken back.
    TakeBack {
        /// The target.
        target: u32,
        /// The frame.
        position: usize,
    },
    /// The target and all that was found of it is forgotten.
    Remove {
        /// The target.
        target: u32,
    },
    /// Track on from the current frame.
    Play,
    /// No further.
    Pause,
    /// So many frames on, tracking, or back.
    Step {
        /// How many; back below zero.
        by: i64,
    },
    /// To a frame, without tracking.
    Seek {
        /// The frame.
        position: usize,
    },
    /// How fast to play.
    Speed {
        /// As a multiple of the source's rate; null for as fast as it goes.
        times: Option<f64>,
    },
    /// The first box, for which the page was opened.
    Pick {
        /// The box, 0-based.
        bbox: BBox,
    },
}

/// Why a command was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It cannot be done, with the reason.
    No(String),
    /// Its frame has not been read yet; a retry continues.
    NotYet {
        /// The frame.
        position: usize,
    },
    /// Tracking has ended: why, [`View::close`](super::View::close) says.
    Ended,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::No(said) => f.write_str(said),
            Self::NotYet { position } => write!(f, "frame {position} has not come yet: try again"),
            Self::Ended => f.write_str("tracking has ended: start the program again"),
        }
    }
}

impl<S: Into<String>> From<S> for Refusal {
    fn from(said: S) -> Self {
        Self::No(said.into())
    }
}

/// How long a command waits for its frame before it must be retried.
const FRAME_TIMEOUT: Duration = Duration::from_secs(2);

/// Maximum targets at a time.
const MAX_TARGETS: usize = 100;

/// The slowest and the fastest multiple of the source's rate.
const SPEEDS: RangeInclusive<f64> = 0.01..=64.0;

impl Controller {
    /// Handles a command.
    pub(super) fn handle(&mut self, command: Command) -> Handled {
        let picks = self.shared.look(|state| state.status.pick);
        match command {
            Command::Pick { bbox } if picks => {
                let item = self.frame(self.position())?;
                Checkpoint::begin(&self.params, 1, &item, bbox).map_err(|error| error.to_string())?;
                self.shared.change(|state| state.picked = Some(bbox));
            }
            Command::Pick { .. } => return Err("nobody asks for a first box here: add a target".into()),
            _ if picks => return Err("this page only asks for the first box".into()),
            Command::Add { id, position, bbox } => self.add(id, position, bbox)?,
            Command::Give { target, position, bbox } => self.give(target, position, bbox)?,
            Command::End { target, position } => {
                let first = "this is its first box: remove the target instead";
                self.edit_marks(target, first, |track| track.end(position))?;
            }
            Command::TakeBack { target, position } => {
                let none = "only a box that was given after the first one, or an end, can be taken back";
                self.can_go_on(target, position)?;
                self.edit_marks(target, none, |track| track.take_back(position))?;
            }
            Command::Remove { target } => {
                if !self.shared.change(|state| state.remove(target)) {
                    return Err(no_target(target).into());
                }
                self.checkpoints.remove(&target);
                self.log.outdated();
            }
            Command::Play => {
                // What was corrected and left behind is followed up to the last frame from there, too.
                let all = |last| self.position() >= last && self.wanted(last).is_none();
                if self.cache.last().is_some_and(all) {
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
                let frames = usize::try_from(by.unsigned_abs()).unwrap_or(usize::MAX);
                let to = if by < 0 { from.saturating_sub(frames) } else { from.saturating_add(frames) };
                let to = to.max(self.cache.first()).min(self.cache.last().unwrap_or(usize::MAX));
                self.go(to, by > 0)?;
            }
            Command::Seek { position } => self.go(position, false)?,
            Command::Speed { times } => {
                if !times.is_none_or(|times| SPEEDS.contains(&times)) {
                    let (from, to) = (SPEEDS.start(), SPEEDS.end());
                    return Err(format!("the speed must be from {from} to {to}, or null").into());
                }
                self.due = Instant::now();
                self.shared.change(|state| state.status.speed = times);
            }
        }
        Ok(match command {
            Command::Add { bbox, .. } | Command::Give { bbox, .. } | Command::Pick { bbox } => {
                too_small(&bbox).map(|said| format!("the box {said}"))
            }
            _ => None,
        })
    }

    fn pause(&mut self) {
        self.goal = None;
        self.shared.change(|state| {
            let status = &mut state.status;
            (status.playing, status.catching_up, status.going_to) = (false, None, None);
        });
    }

    /// Goes to a frame and stands still there.
    fn go(&mut self, position: usize, track: bool) -> Result<(), String> {
        let (oldest, last) = (self.cache.oldest(), self.cache.last());
        let live = self.cache.info().live;
        if position < oldest && live && position >= self.cache.first() {
            return Err(format!("frame {position} is gone: only frames from {oldest} on are kept of such a source"));
        }
        if position < self.cache.first() || last.is_some_and(|last| position > last) {
            let last = last.map_or("the end".to_owned(), |last| last.to_string());
            return Err(format!("there is no frame {position}: they go from {} to {last}", self.cache.first()));
        }
        if live && !track && position > self.cache.newest() {
            return Err(format!("frame {position} has not come yet: play up to it"));
        }
        self.head_for(Goal { position, track });
        Ok(())
    }

    /// The frame at `position`. The frame on the screen is always available, even if the source has lost it.
    fn frame(&mut self, position: usize) -> Result<Arc<Item>, Refusal> {
        if let Some(item) = self.shown.as_ref().filter(|item| item.position == position) {
            return Ok(Arc::clone(item));
        }
        let until = Instant::now() + FRAME_TIMEOUT;
        while Instant::now() < until && !self.stop.is_cancelled() {
            match self.cache.read(position, POLL_INTERVAL).map_err(|error| error.to_string())? {
                Reading::Frame(item) => return Ok(item),
                Reading::End => return Err(format!("there is no frame {position}").into()),
                Reading::NotYet => {}
            }
        }
        // Nothing else is read until it is asked for again: what is far ahead would be sought from the start each time.
        self.pause();
        Err(Refusal::NotYet { position })
    }

    /// Pauses at a frame in which the user changed something.
    fn stand(&mut self, item: &Arc<Item>) {
        self.pause();
        if self.position() != item.position || self.shown.is_none() {
            self.show(item);
        }
    }

    /// Whether a frame may come that has not come yet. The first is on its way.
    fn is_to_come(&self, position: usize) -> bool {
        let open = self.cache.last().is_none_or(|last| position <= last);
        self.cache.info().live && position > self.cache.newest().max(self.cache.first()) && open
    }

    fn begin(&mut self, target: u32, position: usize, bbox: BBox) -> Result<(Arc<Item>, Checkpoint, Seen), Refusal> {
        let (first, newest, live) = (self.cache.first(), self.cache.newest(), self.cache.info().live);
        if position < first || live && position > newest.max(first) {
            return Err(format!("there is no frame {position} to give a box in").into());
        }
        if self.is_gone(position.saturating_add(1)) {
            // Even on the screen: no tracker could go on from it.
            let oldest = self.cache.oldest();
            return Err(format!("frame {position} is gone: give the box in frame {oldest} or a later one").into());
        }
        let item = self.frame(position)?;
        let (checkpoint, seen) =
            Checkpoint::begin(&self.params, target, &item, bbox).map_err(|error| error.to_string())?;
        Ok((item, checkpoint, seen))
    }

    fn add(&mut self, id: Option<u32>, position: usize, bbox: BBox) -> Result<(), Refusal> {
        let (count, taken) = self.shared.look(|state| {
            let tracks = state.tracks();
            (tracks.len(), id.is_some_and(|id| tracks.contains_key(&id)))
        });
        if count >= MAX_TARGETS {
            return Err(format!("there are {MAX_TARGETS} targets already: remove one first").into());
        }
        let target = match id {
            Some(id) if taken => return Err(format!("there is a target {id} already").into()),
            Some(id) => id,
            None => self.next_id(),
        };
        if self.is_to_come(position) {
            if !bbox.is_valid() {
                let reason = "width and height must be above zero and all four numbers finite".into();
                return Err(Error::Box { bbox, reason }.to_string().into());
            }
            self.last_id = self.last_id.max(target);
            self.shared.change(|state| state.add(target, Track::to_come(bbox, position)));
            return Ok(());
        }
        let (item, checkpoint, seen) = self.begin(target, position, bbox)?;
        self.last_id = self.last_id.max(target);
        self.checkpoints.entry(target).or_default().put(checkpoint);
        self.shared.change(|state| {
            state.add(target, Track::new(bbox, seen.record));
            state.put_map(position, target, seen.map);
        });
        self.stand(&item);
        self.write_handled(target, position)
    }

    /// The number of a new target: one above the highest that there ever was, else the lowest that no target has.
    fn next_id(&self) -> u32 {
        let unused = || self.shared.look(|state| (1..).find(|id| !state.tracks().contains_key(id)));
        self.last_id.checked_add(1).or_else(unused).unwrap_or(u32::MAX)
    }

    fn give(&mut self, target: u32, position: usize, bbox: BBox) -> Result<(), Refusal> {
        if !self.shared.look(|state| state.tracks().contains_key(&target)) {
            return Err(no_target(target).into());
        }
        let (item, checkpoint, seen) = self.begin(target, position, bbox)?;
        let gone = self.shared.change(|state| {
            state.put_map(position, target, seen.map);
            state.give(target, bbox, seen.record)
        });
        let checkpoints = self.checkpoints.entry(target).or_default();
        gone.iter().for_each(|gone| checkpoints.forget(gone));
        checkpoints.put(checkpoint);
        self.log.outdated();
        self.stand(&item);
        self.write_handled(target, position)
    }

    /// Writes the record of a command. A write error ends tracking.
    fn write_handled(&mut self, target: u32, position: usize) -> Result<(), Refusal> {
        self.write(target, position).map_err(|error| {
            self.failed = Some(error);
            Refusal::Ended
        })
    }

    /// Refuses to take back what was said of a target at `position` where the piece before that cannot be followed on:
    /// the frames that its tracker must see are gone.
    fn can_go_on(&self, target: u32, position: usize) -> Result<(), String> {
        let from = self.shared.look(|state| {
            let track = state.tracks().get(&target)?;
            track.marks().get(&position)?;
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

    /// Changes the marks of a target other than by a box; `else_said` where that is not possible.
    fn edit_marks(
        &mut self,
        target: u32,
        else_said: &str,
        change: impl FnOnce(&mut Track) -> Option<Range<usize>>,
    ) -> Result<(), String> {
        if !self.shared.look(|state| state.tracks().contains_key(&target)) {
            return Err(no_target(target));
        }
        let gone = self.shared.change(|state| state.change(target, change)).ok_or(else_said)?;
        self.checkpoints.entry(target).or_default().forget(&gone);
        self.log.outdated();
        self.pause();
        Ok(())
    }
}

fn no_target(target: u32) -> String {
    format!("there is no target {target}")
}

#[cfg(test)]
mod order_tests {
    use super::*;

    #[test]
    fn orders_are_read_and_nonsense_is_not() {
        let read = |text: &str| serde_json::from_str::<Command>(text);
        let bbox = BBox::new(1.0, 2.0, 3.0, 4.0);
        assert_eq!(
            read(r#"{"do":"give","target":2,"position":7,"bbox":[1,2,3,4]}"#).unwrap(),
            Command::Give { target: 2, position: 7, bbox }
        );
        assert_eq!(read(r#"{"do":"speed","times":null}"#).unwrap(), Command::Speed { times: None });
        assert_eq!(
            read(r#"{"do":"take-back","target":1,"position":3}"#).unwrap(),
            Command::TakeBack { target: 1, position: 3 }
        );
        for wrong in [
            "",
            "[]",
            "{}",
            r#"{"do":"dance"}"#,
            r#"{"do":"seek"}"#,
            r#"{"do":"seek","position":-1}"#,
            r#"{"do":"seek","position":1,"more":2}"#,
            r#"{"do":"add","position":1,"bbox":[1,2,3]}"#,
            r#"{"do":"add","position":1,"bbox":[1,2,3,1e999]}"#,
            r#"{"do":"add","position":1,"bbox":[1,2,3,null]}"#,
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
