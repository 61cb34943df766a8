//! The one thread that reads frames and tracks: it obeys orders, goes on by itself while it plays, and never waits for
//! a page.

mod obey;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use rayon::iter::{IntoParallelRefMutIterator, ParallelIterator};

use super::board::{Board, State};
use super::heads::{Head, Heads, Seen};
use super::log::Log;
use super::order::{Order, Refusal};
use super::picture::Picture;
use super::reel::{Reading, Reel};
use super::track::Track;
use crate::bbox::BBox;
use crate::cancel::CancelToken;
use crate::error::{Error, Result};
use crate::media::Item;
use crate::tracker::Params;

/// How long a frame is waited for before orders are looked at again.
const PATIENCE: Duration = Duration::from_millis(20);

/// Frames per second of a source that does not say.
const RATE: f64 = 30.0;

/// Longest time that one frame is shown at the source's own pace, in seconds: a gap in the timestamps is no reason to
/// wait for a minute.
const LONGEST_SHOWN: f64 = 2.0;

/// What became of an order: a sentence where it is done but something is odd about it.
pub type Obeyed = Result<Option<String>, Refusal>;

/// What comes to the controller.
pub enum Call {
    /// An order, and where to say what became of it.
    Order(Order, SyncSender<Obeyed>),
    /// To end.
    Stop,
}

/// Frames, trackers and orders.
pub struct Controller {
    board: Arc<Board>,
    calls: Receiver<Call>,
    reel: Reel,
    /// Ends what an order waits for.
    stop: CancelToken,
    params: Params,
    log: Log,
    heads: BTreeMap<u32, Heads>,
    /// Where it is going.
    goal: Option<Goal>,
    /// When the next frame is due.
    due: Instant,
    /// The frame that is shown.
    shown: Option<Arc<Item>>,
    /// When the last frames were shown.
    times: VecDeque<Instant>,
    /// The highest number of a target so far.
    last_id: u32,
    pictures: u64,
    /// Why tracking ends after the order at hand.
    failed: Option<Error>,
}

/// A frame to be shown next.
#[derive(Clone, Copy, Debug)]
struct Goal {
    position: usize,
    /// Whether all targets are followed up to it.
    track: bool,
}

/// One target to be followed in the frame at hand.
struct Job {
    target: u32,
    start: usize,
    bbox: BBox,
    head: Option<Head>,
    seen: Option<Result<Seen>>,
}

impl Controller {
    /// Of these frames; its first is shown as soon as it has come.
    pub fn new(
        board: Arc<Board>,
        calls: Receiver<Call>,
        reel: Reel,
        stop: CancelToken,
        params: Params,
        log: Log,
    ) -> Self {
        let goal = Some(Goal { position: reel.first(), track: false });
        let (heads, shown, times) = (BTreeMap::new(), None, VecDeque::new());
        Self {
            board,
            calls,
            reel,
            stop,
            params,
            log,
            heads,
            goal,
            due: Instant::now(),
            shown,
            times,
            last_id: 0,
            pictures: 0,
            failed: None,
        }
    }

    /// Obeys until it is told to stop; then all outputs are complete.
    ///
    /// # Errors
    /// When an output cannot be written.
    pub fn run(mut self) -> Result<()> {
        let ended = self.obey_and_play();
        let finished = self.board.look(|state| self.log.finish(state.tracks()));
        // Whoever waits for the next frame of a camera need not wait any more.
        self.reel.source().cancel();
        ended.and(finished)
    }

    fn obey_and_play(&mut self) -> Result<()> {
        loop {
            let playing = self.board.look(|state| state.status.playing);
            let idle = match (self.goal.is_some(), playing) {
                (true, _) => Duration::ZERO,
                (false, true) => self.due.saturating_duration_since(Instant::now()),
                (false, false) => Duration::from_secs(3600),
            };
            match self.calls.recv_timeout(idle) {
                Ok(Call::Order(order, reply)) => {
                    // Nobody may be there any more to hear of it.
                    let _ = reply.send(self.obey(order));
                    match self.failed.take() {
                        Some(error) => return Err(error),
                        None => continue,
                    }
                }
                Ok(Call::Stop) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if playing && self.goal.is_none() {
                self.goal = Some(Goal { position: self.position() + 1, track: true });
            }
            self.work()?;
        }
    }

    /// The position that is shown, or will be the first.
    fn position(&self) -> usize {
        self.shown.as_ref().map_or(self.reel.first(), |item| item.position)
    }

    /// One step towards the goal: a frame at most.
    fn work(&mut self) -> Result<()> {
        let Some(goal) = self.goal else { return Ok(()) };
        let wanted = if goal.track { self.wanted(goal.position) } else { None };
        let mut position = wanted.unwrap_or(goal.position);
        if self.reel.source().is_live() {
            // Frame by frame, and a look at orders after each.
            position = position.min((self.reel.newest() + 1).max(self.reel.first()));
        }
        match self.reel.read(position, PATIENCE) {
            Ok(Reading::NotYet) => {}
            Ok(Reading::End) => self.end_of_frames(goal),
            Err(error) => self.halt(&error.to_string()),
            Ok(Reading::Frame(item)) => {
                if wanted.is_some()
                    && let Err(said) = self.track(&item)?
                {
                    self.halt(&said);
                    self.show(&item);
                } else if position == goal.position && self.wanted(goal.position).filter(|_| goal.track).is_none() {
                    self.goal = None;
                    self.show(&item);
                } else {
                    let (oldest, newest) = (self.reel.oldest(), self.reel.newest());
                    self.board.change(|state| {
                        let status = &mut state.status;
                        (status.catching_up, status.oldest, status.newest) = (Some(position), oldest, newest);
                    });
                }
            }
        }
        Ok(())
    }

    /// Stops behind the last frame, and shows that one: whoever went further sees how far it goes.
    fn end_of_frames(&mut self, goal: Goal) {
        let last = self.reel.last().filter(|_| self.reel.newest() >= self.reel.first());
        self.halt(&last.map_or("there is no frame".into(), |last| format!("frame {last} is the last one")));
        if let Some(last) = last.filter(|last| (self.reel.first()..goal.position).contains(last))
            && self.position() != last
        {
            self.head_for(Goal { position: last, ..goal });
        }
    }

    /// Goes to a frame from now on, and no further.
    fn head_for(&mut self, goal: Goal) {
        self.goal = Some(goal);
        self.board.change(|state| {
            let status = &mut state.status;
            (status.playing, status.catching_up, status.going_to) = (false, None, Some(goal.position));
        });
    }

    /// The first frame that a tracker must see so that all records up to `last` can be made.
    fn wanted(&self, last: usize) -> Option<usize> {
        let next = |(target, track): (&u32, &Track)| {
            let (missing, (start, _)) = track.missing(last)?;
            let next = self.heads.get(target).map_or(start, |heads| heads.next(start, missing));
            // A piece that cannot be followed any more is no reason for the other targets to stop.
            (!self.is_gone(next)).then_some(next)
        };
        self.board.look(|state| state.tracks().iter().filter_map(next).min())
    }

    /// Whether a frame came once, and is kept no more.
    fn is_gone(&self, position: usize) -> bool {
        self.reel.source().is_live() && position < self.reel.oldest()
    }

    /// Shows a frame to all trackers that want it. A sentence where one of them cannot go on.
    fn track(&mut self, item: &Item) -> Result<Result<(), String>> {
        let mut jobs = self.jobs(item.position);
        let params = &self.params;
        let work = |job: &mut Job| {
            job.seen = Some(match &mut job.head {
                Some(head) => head.follow(item),
                None => Head::begin(params, job.target, item, job.bbox).map(|(head, seen)| {
                    job.head = Some(head);
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
            let heads = self.heads.entry(job.target).or_default();
            job.head.into_iter().for_each(|head| heads.put(head));
            match job.seen {
                Some(Ok(seen)) => {
                    took += seen.record.track_ms;
                    found.push((job.target, seen));
                }
                Some(Err(error)) => {
                    let said = format!("target {}, frame {}: {error}", job.target, item.position);
                    // One that was to begin here would be tried again each time.
                    let begins = job.start == item.position;
                    refused = Err(said + if begins { ": remove it, or give it another box here" } else { "" });
                }
                None => {}
            }
        }
        let new = self.board.prepare(|state| {
            state.status.track_ms = took;
            found.into_iter().filter_map(|(target, seen)| take(state, target, seen)).collect::<Vec<_>>()
        });
        if self.log.is_open() {
            new.into_iter().try_for_each(|(target, position)| self.write(target, position))?;
        }
        Ok(refused)
    }

    /// The targets that want the frame at `position`, each with its tracker.
    fn jobs(&mut self, position: usize) -> Vec<Job> {
        let heads = &mut self.heads;
        self.board.look(|state| {
            let job = |(target, track): (&u32, &Track)| {
                let (missing, (start, bbox)) = track.missing(usize::MAX)?;
                let heads = heads.entry(*target).or_default();
                let wants = heads.next(start, missing) == position;
                wants.then(|| Job { target: *target, start, bbox, head: heads.take(start, missing), seen: None })
            };
            state.tracks().iter().filter_map(job).filter(|job| job.head.is_some() || job.start == position).collect()
        })
    }

    /// Writes a record to the log.
    fn write(&mut self, target: u32, position: usize) -> Result<()> {
        let record = self.board.look(|state| state.tracks().get(&target).and_then(|track| track.at(position)).cloned());
        record.map_or(Ok(()), |record| self.log.write(&record))
    }

    /// Shows a frame, and says when the next one is due.
    fn show(&mut self, item: &Arc<Item>) {
        let now = Instant::now();
        self.times.push_back(now);
        while self.times.front().is_some_and(|time| now.duration_since(*time) > Duration::from_secs(1)) {
            self.times.pop_front();
        }
        let before = self.shown.replace(Arc::clone(item));
        let speed = self.board.look(|state| state.status.speed);
        let lasts = speed.and_then(|speed| Duration::try_from_secs_f64(self.pace(before, item) / speed).ok());
        let lasts = lasts.unwrap_or_default();
        // A frame that came late does not make the next ones hurry for longer than one of them lasts.
        self.due = (self.due + lasts).max(now.checked_sub(lasts).unwrap_or(now));
        self.pictures += 1;
        let picture = Arc::new(Picture::new(self.pictures, Arc::clone(item)));
        let (oldest, newest, last) = (self.reel.oldest(), self.reel.newest(), self.reel.last());
        let fps = self.times.len() as f64;
        self.board.change(|state| {
            let status = &mut state.status;
            (status.position, status.oldest, status.newest, status.last) = (item.position, oldest, newest, last);
            (status.fps, status.catching_up, status.going_to) = (fps, None, None);
            state.show(picture);
            if let Err(error) = &item.frame {
                state.say(format!("frame {} could not be read: {error}", item.position));
            }
        });
    }

    /// Seconds from one frame to the next.
    fn pace(&self, before: Option<Arc<Item>>, item: &Item) -> f64 {
        let before = before.filter(|before| before.position + 1 == item.position);
        let timed = before.and_then(|before| Some(item.timestamp? - before.timestamp?)).filter(|time| *time > 0.0);
        let rate = self.reel.source().rate().filter(|rate| rate.is_finite() && *rate > 0.0).unwrap_or(RATE);
        timed.unwrap_or(1.0 / rate).min(LONGEST_SHOWN)
    }

    /// Stops where it is, and says why.
    fn halt(&mut self, said: &str) {
        self.goal = None;
        let (oldest, newest, last) = (self.reel.oldest(), self.reel.newest(), self.reel.last());
        self.board.change(|state| {
            let status = &mut state.status;
            (status.playing, status.catching_up, status.going_to) = (false, None, None);
            (status.oldest, status.newest, status.last) = (oldest, newest, last);
            state.say(said);
        });
    }
}

/// Takes what a tracker saw; its target and position where that is new.
fn take(state: &mut State, target: u32, seen: Seen) -> Option<(u32, usize)> {
    let position = seen.record.index;
    state.put_map(position, target, seen.map);
    state.found(target, seen.record).then_some((target, position))
}
