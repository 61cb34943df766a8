//! The one loop of tracking: look, learn, ask the guard, judge.

use super::background_search::BackgroundSearch;
use super::filter_search::FilterSearch;
use super::guard::Guard;
use super::judge::Judge;
use super::pose::Pose;
use super::round::Round;
use super::search::{FrameKind, Learned, Search, Sighting};
use super::sized::sized;
use super::verifier::Verifier;
use super::window_search::WindowSearch;
use super::{Estimate, Params, ResponseMap, SearchParams, Stagger, State};
use crate::bbox::BBox;
use crate::error::Result;
use crate::frame::Frame;
use crate::profile::{Profile, Stopwatch};
use crate::tape::{Recorded, Tape};

/// A box of which less lies on the picture stays at the border when its target leaves: the search then learns the
/// border, which the evidence does not show.
const MIN_VISIBLE: f64 = 0.5;

/// One target: where it is, what finds it and what watches over that.
#[derive(Clone, Debug)]
pub(super) struct Engine {
    /// Width and height of the initial box.
    size: (f64, f64),
    pose: Pose,
    search: Box<dyn Search>,
    guard: Option<Guard>,
    /// Of a search that is calibrated.
    judge: Option<Judge>,
    /// What must know a target that is found again.
    verifier: Option<Verifier>,
    /// Through the frame, for a target that is lost.
    round: Round,
    watch: Stopwatch,
}

impl Engine {
    /// Learns the target at `bbox`, and says how distinct it is in this very frame.
    ///
    /// # Errors
    /// [`Error::Box`](crate::Error::Box) for a box that cannot be tracked; what a machine says of its first fit.
    pub fn new(params: &Params, frame: &Frame<'_>, bbox: BBox, profiling: bool) -> Result<(Self, Estimate)> {
        let frames = FrameKind::of(frame);
        let mut watch = Stopwatch::default();
        watch.switch(profiling);
        let mut search: Box<dyn Search> = match &params.search {
            SearchParams::Filter(filter) => {
                let search = Box::new(FilterSearch::new(filter, frame, bbox, &mut watch)?);
                sized(search, &filter.scale, frames, bbox, Some((frame, &mut watch)))
            }
            // It follows the size itself, in the area at hand.
            SearchParams::Background(background) => {
                Box::new(BackgroundSearch::new(background, frame, bbox, &mut watch)?)
            }
            SearchParams::Windows(params) => {
                let search = Box::new(WindowSearch::new(&params.windows, params.lost, frame, bbox, &mut watch)?);
                sized(search, &params.scale, frames, bbox, Some((frame, &mut watch)))
            }
        };
        let guard = params.guard.as_ref().map(|guard| Guard::new(guard, frame, bbox, &mut watch)).transpose()?;
        let pose = search.pose();
        let mut evidence = search.look_at(frame, pose, &mut watch).evidence;
        let judge = params.search.belief().map(Judge::new);
        let verifier = Verifier::new(params.search.verify(), frame, bbox, &mut watch)?;
        let (size, round) = ((bbox.w, bbox.h), Round::default());
        let mut engine = Self { size, pose, search, guard, judge, verifier, round, watch };
        if let Some(guard) = &mut engine.guard {
            evidence.decision = guard.first_decision(frame, pose, &mut engine.watch);
        }
        Ok((engine, Estimate { bbox, polygon: None, state: State::Initial, evidence }))
    }

    /// One that knows nothing yet, to be read from a tape.
    ///
    /// # Errors
    /// [`Error::Box`](crate::Error::Box) for a box that cannot be tracked.
    pub fn untaught(params: &Params, frames: FrameKind, bbox: BBox) -> Result<Self> {
        let search: Box<dyn Search> = match &params.search {
            SearchParams::Filter(filter) => {
                sized(Box::new(FilterSearch::untaught(filter, frames, bbox)?), &filter.scale, frames, bbox, None)
            }
            SearchParams::Background(background) => Box::new(BackgroundSearch::untaught(background, frames, bbox)?),
            SearchParams::Windows(params) => {
                let search = WindowSearch::untaught(&params.windows, params.lost, frames, bbox)?;
                sized(Box::new(search), &params.scale, frames, bbox, None)
            }
        };
        let guard = params.guard.as_ref().map(|guard| Guard::untaught(guard, frames, bbox)).transpose()?;
        let judge = params.search.belief().map(Judge::new);
        let verifier = Verifier::untaught(params.search.verify(), frames, bbox)?;
        let (size, pose) = ((bbox.w, bbox.h), search.pose());
        let (round, watch) = (Round::default(), Stopwatch::default());
        Ok(Self { size, pose, search, guard, judge, verifier, round, watch })
    }

    /// In which of the frames that follow it looks for size and angle, and learns.
    pub fn stagger(&mut self, stagger: Stagger) {
        self.search.stagger(stagger);
    }

    /// Finds the target in the next frame, of the first one's size, and learns how it looks there.
    pub fn update(&mut self, frame: &Frame<'_>) -> Estimate {
        let mut sighting = self.search.look(frame, self.pose, &mut self.watch);
        let (mut state, mut learned) = (State::Lost, Learned::Settled);
        if let Some(judged) = self.judge(&mut sighting) {
            state = judged;
            if state == State::Recovered {
                state = self.take_up(frame, sighting.pose);
            }
            // Also while there is nothing to see where it was last: it may be back elsewhere.
            if self.judge.as_ref().is_some_and(Judge::is_lost)
                && let Some(found) = self.search_elsewhere(frame)
            {
                state = self.take_up(frame, found.pose);
                if state == State::Recovered {
                    sighting = found;
                }
            }
        }
        let lost = self.judge.as_ref().is_some_and(Judge::is_lost);
        let Self { search, guard, judge, verifier, watch, .. } = self;
        if sighting.seen && !lost {
            let confidence = sighting.evidence.confidence.map_or(0.0, f64::from);
            if let Some(verifier) = verifier.as_mut().filter(|_| judge.as_ref().is_some_and(|j| j.is_sure(confidence)))
            {
                verifier.remember(frame, sighting.pose, watch);
            }
            self.pose = sighting.pose;
            learned = search.learn(frame, self.pose, None, watch);
            if judge.is_none() {
                state = search.judge(&sighting.evidence);
            }
        }
        if let Some(guard) = guard {
            let verdict = guard.watch(frame, self.pose, watch);
            if let Some(found) = verdict.found {
                // What the search's own evidence says there is of a model that has drifted: the guard vouches for the
                // box.
                sighting = search.look_at(frame, found, watch);
                sighting.evidence.confidence = search.confidence(&sighting.evidence).map(|p| p as f32);
                self.pose = sighting.pose;
                if sighting.seen {
                    learned = search.learn(frame, self.pose, Some(guard.relearn()), watch);
                    state = judge.as_mut().map_or(State::Tracking, Judge::begin_elsewhere);
                }
            }
            state = guard.judge(state);
            sighting.evidence.decision = verdict.decision;
            sighting.evidence.refit_kept = verdict.learned == Learned::Kept;
        }
        sighting.evidence.refit_kept |= learned == Learned::Kept;
        let bbox = self.bbox();
        let visible = bbox.visible_share(frame.width(), frame.height());
        state = match state {
            _ if visible <= 0.0 => State::Lost,
            State::Tracking | State::Recovered if visible < MIN_VISIBLE => State::Uncertain,
            state => state,
        };
        if let Some(judge) = &mut self.judge {
            state = judge.tell(state);
        }
        Estimate { bbox, polygon: self.pose.polygon(self.size), state, evidence: sighting.evidence }
    }

    /// The state by the confidence of a sighting, which is written to it; `None` of a search whose states are made of
    /// something else.
    fn judge(&mut self, sighting: &mut Sighting) -> Option<State> {
        let confidence = self.search.confidence(&sighting.evidence)?;
        let confidence = if sighting.seen { confidence } else { 0.0 };
        sighting.evidence.confidence = Some(confidence as f32);
        let judge = self.judge.as_mut()?;
        Some(if sighting.seen { judge.judge(confidence, sighting.evidence.long_term) } else { judge.judge_nothing() })
    }

    /// Takes up a target that seems to be found again at `pose`, if it is known there.
    fn take_up(&mut self, frame: &Frame<'_>, pose: Pose) -> State {
        let known = self.verifier.as_mut().is_none_or(|verifier| verifier.knows(frame, pose, &mut self.watch));
        self.judge.as_mut().filter(|_| known).map_or(State::Lost, Judge::find)
    }

    /// The next parts of the frame are searched for a target that is lost: the best sighting that can be believed.
    fn search_elsewhere(&mut self, frame: &Frame<'_>) -> Option<Sighting> {
        let judge = self.judge.as_ref()?;
        let area = self.search.response();
        let reach = (area.values.ncols() as f64 * area.step.0 / 2.0, area.values.nrows() as f64 * area.step.1 / 2.0);
        let size = (frame.width(), frame.height());
        let mut best: Option<(f64, Sighting)> = None;
        // Areas that overlap by half: the taper hides what lies at the border of one.
        for _ in 0..judge.tiles().min(Round::areas(size, reach)) {
            let there = self.round.next(size, reach, self.pose);
            let mut sighting = self.search.look(frame, there, &mut self.watch);
            let confidence = self.search.confidence(&sighting.evidence).filter(|_| sighting.seen).unwrap_or(0.0);
            sighting.evidence.confidence = Some(confidence as f32);
            let faint = judge.is_faint(sighting.evidence.long_term);
            if confidence >= judge.far() && !faint && best.is_none_or(|(highest, _)| confidence > highest) {
                best = Some((confidence, sighting));
            }
        }
        best.map(|(_, sighting)| sighting)
    }

    /// Where the target was last.
    pub fn bbox(&self) -> BBox {
        self.pose.bbox(self.size)
    }

    /// The scores of the last look.
    pub fn response(&self) -> ResponseMap<'_> {
        self.search.response()
    }

    /// Switches the measuring of stages on or off.
    pub fn switch_watch(&mut self, on: bool) {
        self.watch.switch(on);
    }

    /// The time of the stages while that was on.
    pub fn profile(&self) -> Profile {
        *self.watch.profile()
    }
}

impl Recorded for Engine {
    fn record(&mut self, tape: &mut Tape<'_>) -> Result<()> {
        self.pose.record(tape)?;
        self.search.record(tape)?;
        tape.part(&mut self.guard)?;
        tape.part(&mut self.judge)?;
        tape.part(&mut self.verifier)?;
        self.round.record(tape)
    }
}

#[cfg(test)]
mod tests;
