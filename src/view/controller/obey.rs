//! Orders, done one by one.

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::heads::{Head, Seen};
use super::super::order::{Order, Refusal};
use super::super::reel::Reading;
use super::super::track::Track;
use super::{Controller, Goal, Obeyed, PATIENCE};
use crate::bbox::BBox;
use crate::error::Error;
use crate::media::Item;
use crate::tracker::too_small;

/// How long an order waits for the frame that it is about before it is to be given again.
const ORDER_PATIENCE: Duration = Duration::from_secs(2);

/// Most targets at a time.
const MOST_TARGETS: usize = 100;

/// The slowest and the fastest multiple of the source's rate.
const SPEEDS: RangeInclusive<f64> = 0.01..=64.0;

impl Controller {
    /// Does what is asked, or says why not.
    pub(super) fn obey(&mut self, order: Order) -> Obeyed {
        let picks = self.board.look(|state| state.status.pick);
        match order {
            Order::Pick { bbox } if picks => {
                let item = self.frame(self.position())?;
                Head::begin(&self.params, 1, &item, bbox).map_err(|error| error.to_string())?;
                self.board.change(|state| state.picked = Some(bbox));
            }
            Order::Pick { .. } => return Err("nobody asks for a first box here: add a target".into()),
            _ if picks => return Err("this page only asks for the first box".into()),
            Order::Add { id, position, bbox } => self.add(id, position, bbox)?,
            Order::Give { target, position, bbox } => self.give(target, position, bbox)?,
            Order::End { target, position } => {
                let first = "this is its first box: remove the target instead";
                self.unmark(target, first, |track| track.end(position))?;
            }
            Order::TakeBack { target, position } => {
                let none = "only a box that was given after the first one, or an end, can be taken back";
                self.can_go_on(target, position)?;
                self.unmark(target, none, |track| track.take_back(position))?;
            }
            Order::Remove { target } => {
                if !self.board.change(|state| state.remove(target)) {
                    return Err(no_target(target).into());
                }
                self.heads.remove(&target);
                self.log.outdated();
            }
            Order::Play => {
                // What was corrected and left behind is followed up to the last frame from there, too.
                let all = |last| self.position() >= last && self.wanted(last).is_none();
                if self.reel.last().is_some_and(all) {
                    return Err("this is the last frame: go back to play again".into());
                }
                self.due = Instant::now();
                self.board.change(|state| state.status.playing = true);
            }
            Order::Pause => self.pause(),
            Order::Step { by } => {
                // Steps that come faster than frames add up.
                let under_way = self.goal.filter(|_| !self.board.look(|state| state.status.playing));
                let from = under_way.map_or(self.position(), |goal| goal.position);
                let frames = usize::try_from(by.unsigned_abs()).unwrap_or(usize::MAX);
                let to = if by < 0 { from.saturating_sub(frames) } else { from.saturating_add(frames) };
                let to = to.max(self.reel.first()).min(self.reel.last().unwrap_or(usize::MAX));
                self.go(to, by > 0)?;
            }
            Order::Seek { position } => self.go(position, false)?,
            Order::Speed { times } => {
                if !times.is_none_or(|times| SPEEDS.contains(&times)) {
                    let (from, to) = (SPEEDS.start(), SPEEDS.end());
                    return Err(format!("the speed must be from {from} to {to}, or null").into());
                }
                self.due = Instant::now();
                self.board.change(|state| state.status.speed = times);
            }
        }
        Ok(match order {
            Order::Add { bbox, .. } | Order::Give { bbox, .. } | Order::Pick { bbox } => {
                too_small(&bbox).map(|said| format!("the box {said}"))
            }
            _ => None,
        })
    }

    fn pause(&mut self) {
        self.goal = None;
        self.board.change(|state| {
            let status = &mut state.status;
            (status.playing, status.catching_up, status.going_to) = (false, None, None);
        });
    }

    /// Goes to a frame and stands still there.
    fn go(&mut self, position: usize, track: bool) -> Result<(), String> {
        let (oldest, last) = (self.reel.oldest(), self.reel.last());
        let live = self.reel.source().is_live();
        if position < oldest && live && position >= self.reel.first() {
            return Err(format!("frame {position} is gone: only frames from {oldest} on are kept of such a source"));
        }
        if position < self.reel.first() || last.is_some_and(|last| position > last) {
            let last = last.map_or("the end".to_owned(), |last| last.to_string());
            return Err(format!("there is no frame {position}: they go from {} to {last}", self.reel.first()));
        }
        if live && !track && position > self.reel.newest() {
            return Err(format!("frame {position} has not come yet: play up to it"));
        }
        self.head_for(Goal { position, track });
        Ok(())
    }

    /// The frame at `position`. That on the screen is at hand, whatever has become of it in the source.
    fn frame(&mut self, position: usize) -> Result<Arc<Item>, Refusal> {
        if let Some(item) = self.shown.as_ref().filter(|item| item.position == position) {
            return Ok(Arc::clone(item));
        }
        let until = Instant::now() + ORDER_PATIENCE;
        while Instant::now() < until && !self.stop.is_cancelled() {
            match self.reel.read(position, PATIENCE).map_err(|error| error.to_string())? {
                Reading::Frame(item) => return Ok(item),
                Reading::End => return Err(format!("there is no frame {position}").into()),
                Reading::NotYet => {}
            }
        }
        // Nothing else is read until it is asked for again: what is far ahead would be sought from the start each time.
        self.pause();
        Err(Refusal::NotYet { position })
    }

    /// Stands still at a frame that a person said something of.
    fn stand(&mut self, item: &Arc<Item>) {
        self.pause();
        if self.position() != item.position || self.shown.is_none() {
            self.show(item);
        }
    }

    /// Whether a frame may come that has not come yet. The first is on its way.
    fn is_to_come(&self, position: usize) -> bool {
        let open = self.reel.last().is_none_or(|last| position <= last);
        self.reel.source().is_live() && position > self.reel.newest().max(self.reel.first()) && open
    }

    fn begin(&mut self, target: u32, position: usize, bbox: BBox) -> Result<(Arc<Item>, Head, Seen), Refusal> {
        let (first, newest, live) = (self.reel.first(), self.reel.newest(), self.reel.source().is_live());
        if position < first || live && position > newest.max(first) {
            return Err(format!("there is no frame {position} to give a box in").into());
        }
        if self.is_gone(position.saturating_add(1)) {
            // Even on the screen: no tracker could go on from it.
            let oldest = self.reel.oldest();
            return Err(format!("frame {position} is gone: give the box in frame {oldest} or a later one").into());
        }
        let item = self.frame(position)?;
        let (head, seen) = Head::begin(&self.params, target, &item, bbox).map_err(|error| error.to_string())?;
        Ok((item, head, seen))
    }

    fn add(&mut self, id: Option<u32>, position: usize, bbox: BBox) -> Result<(), Refusal> {
        let (count, taken) = self.board.look(|state| {
            let tracks = state.tracks();
            (tracks.len(), id.is_some_and(|id| tracks.contains_key(&id)))
        });
        if count >= MOST_TARGETS {
            return Err(format!("there are {MOST_TARGETS} targets already: remove one first").into());
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
            self.board.change(|state| state.add(target, Track::to_come(bbox, position)));
            return Ok(());
        }
        let (item, head, seen) = self.begin(target, position, bbox)?;
        self.last_id = self.last_id.max(target);
        self.heads.entry(target).or_default().put(head);
        self.board.change(|state| {
            state.add(target, Track::new(bbox, seen.record));
            state.put_map(position, target, seen.map);
        });
        self.stand(&item);
        self.write_ordered(target, position)
    }

    /// The number of a new target: one above the highest that there ever was, else the lowest that no target has.
    fn next_id(&self) -> u32 {
        let unused = || self.board.look(|state| (1..).find(|id| !state.tracks().contains_key(id)));
        self.last_id.checked_add(1).or_else(unused).unwrap_or(u32::MAX)
    }

    fn give(&mut self, target: u32, position: usize, bbox: BBox) -> Result<(), Refusal> {
        if !self.board.look(|state| state.tracks().contains_key(&target)) {
            return Err(no_target(target).into());
        }
        let (item, head, seen) = self.begin(target, position, bbox)?;
        let gone = self.board.change(|state| {
            state.put_map(position, target, seen.map);
            state.give(target, bbox, seen.record)
        });
        let heads = self.heads.entry(target).or_default();
        gone.iter().for_each(|gone| heads.forget(gone));
        heads.put(head);
        self.log.outdated();
        self.stand(&item);
        self.write_ordered(target, position)
    }

    /// Writes what an order has found. A log that cannot be written is no fault of the order: it ends tracking.
    fn write_ordered(&mut self, target: u32, position: usize) -> Result<(), Refusal> {
        self.write(target, position).map_err(|error| {
            self.failed = Some(error);
            Refusal::Ended
        })
    }

    /// Refuses to take back what was said of a target at `position` where the piece before that cannot be followed on:
    /// the frames that its tracker must see are gone.
    fn can_go_on(&self, target: u32, position: usize) -> Result<(), String> {
        let from = self.board.look(|state| {
            let track = state.tracks().get(&target)?;
            track.marks().get(&position)?;
            let (missing, start) = track.resumes(position)?;
            Some(self.heads.get(&target).map_or(start, |heads| heads.next(start, missing)))
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
    fn unmark(
        &mut self,
        target: u32,
        else_said: &str,
        change: impl FnOnce(&mut Track) -> Option<Range<usize>>,
    ) -> Result<(), String> {
        if !self.board.look(|state| state.tracks().contains_key(&target)) {
            return Err(no_target(target));
        }
        let gone = self.board.change(|state| state.change(target, change)).ok_or(else_said)?;
        self.heads.entry(target).or_default().forget(&gone);
        self.log.outdated();
        self.pause();
        Ok(())
    }
}

fn no_target(target: u32) -> String {
    format!("there is no target {target}")
}
