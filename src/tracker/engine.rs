//! The one loop of tracking: look, learn, ask the guard, judge.

use super::background_search::BackgroundSearch;
use super::filter_search::FilterSearch;
use super::guard::Guard;
use super::pose::Pose;
use super::search::{Learned, Search};
use super::window_search::WindowSearch;
use super::{Estimate, Params, ResponseMap, SearchParams, State};
use crate::error::Result;
use crate::frame::Frame;
use crate::geometry::BBox;
use crate::profile::{Profile, Stopwatch};

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
    watch: Stopwatch,
}

impl Engine {
    /// Learns the target at `bbox`, and says how distinct it is in this very frame.
    ///
    /// # Errors
    /// [`Error::Box`](crate::Error::Box) for a box that cannot be tracked; what a machine says of its first fit.
    pub fn new(params: &Params, frame: &Frame<'_>, bbox: BBox, profiling: bool) -> Result<(Self, Estimate)> {
        let mut watch = Stopwatch::default();
        watch.switch(profiling);
        let mut search: Box<dyn Search> = match &params.search {
            SearchParams::Filter(filter) => Box::new(FilterSearch::new(filter, frame, bbox, &mut watch)?),
            SearchParams::Background(background) => {
                Box::new(BackgroundSearch::new(background, frame, bbox, &mut watch)?)
            }
            SearchParams::Windows(windows) => Box::new(WindowSearch::new(windows, frame, bbox, &mut watch)?),
        };
        let guard = params.guard.as_ref().map(|guard| Guard::new(guard, frame, bbox, &mut watch)).transpose()?;
        let pose = search.pose();
        let mut evidence = search.look_at(frame, pose, &mut watch).evidence;
        let mut engine = Self { size: (bbox.w, bbox.h), pose, search, guard, watch };
        if let Some(guard) = &mut engine.guard {
            evidence.decision = guard.first_decision(frame, pose, &mut engine.watch);
        }
        Ok((engine, Estimate { bbox, state: State::Initial, evidence }))
    }

    /// Finds the target in the next frame, of the first one's size, and learns how it looks there.
    pub fn update(&mut self, frame: &Frame<'_>) -> Estimate {
        let Self { search, guard, watch, .. } = self;
        let mut sighting = search.look(frame, self.pose, watch);
        let (mut state, mut learned) = (State::Lost, Learned::Settled);
        if sighting.seen {
            self.pose = sighting.pose;
            learned = search.learn(frame, self.pose, None, watch);
            state = search.judge(&sighting.evidence);
        }
        if let Some(guard) = guard {
            let verdict = guard.watch(frame, self.pose, watch);
            if let Some(found) = verdict.found {
                // What the search's own evidence says there is of a model that has drifted: the guard vouches for the
                // box.
                sighting = search.look_at(frame, found, watch);
                self.pose = sighting.pose;
                if sighting.seen {
                    learned = search.learn(frame, self.pose, Some(guard.relearn()), watch);
                    state = State::Tracking;
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
            State::Tracking if visible < MIN_VISIBLE => State::Uncertain,
            state => state,
        };
        Estimate { bbox, state, evidence: sighting.evidence }
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

#[cfg(test)]
mod tests;
