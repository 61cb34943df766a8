//! The life of a target from frame to frame: numbers in, a [`Decision`] out. No other place makes a [`State`].
//!
//! A frame is told in up to four observations, in this order: what the localizer says of the place around the last box,
//! what redetection found in the rest of the frame, what a guard thinks of the box, and how much of the box the frame
//! shows. `docs/states.md` has each rule as a row of a table.

use serde::{Deserialize, Serialize};

use super::calibration::{distinctness, log_odds, logistic};
use super::localizer::{Likeness, Located, Update};
use super::params::{ConfidenceParams, PsrParams, SearchParams};

/// What the tracker knows about the target in one frame. In files: the name in lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum State {
    /// The first frame: the box was given, nothing was searched for.
    Initial,
    /// The target was found.
    Tracking,
    /// The target was found again after it had been lost or occluded; the next frame is tracking or not.
    Recovered,
    /// The best match is weak, or more than half of the box has left the frame: the box is a guess.
    Uncertain,
    /// Something covers the target. The box follows on, or waits where the target was covered.
    Occluded,
    /// Nothing like the target is there: a search area without any texture is enough, or a box that has left the frame.
    /// Do not use the box.
    Lost,
    /// The frame could not be read and was skipped; the box is the one before it.
    Missing,
}

impl State {
    /// All states, most reliable first.
    pub const ALL: [Self; 7] =
        [Self::Initial, Self::Tracking, Self::Recovered, Self::Uncertain, Self::Occluded, Self::Lost, Self::Missing];

    /// The name as files have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Initial => "initial",
            Self::Tracking => "tracking",
            Self::Recovered => "recovered",
            Self::Uncertain => "uncertain",
            Self::Occluded => "occluded",
            Self::Lost => "lost",
            Self::Missing => "missing",
        }
    }
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// Visible share of a box below which its state is at most uncertain: a box whose target leaves stays at the border,
/// and its localizer learns the border, which the evidence does not show.
const MIN_VISIBLE: f64 = 0.5;
/// Most frames for which the box waits at the place where the target was covered, or for which a covered target is
/// followed that no verifier compares.
pub(super) const MAX_OCCLUDED: usize = 60;
/// How much more strongly a filter is held near the one before while it follows a covered target that no verifier
/// compares.
const OCCLUDED_HOLD: f64 = 40.0;
/// A covered target is seen again where the logarithm of the peak-to-sidelobe ratio exceeds `hidden_share` plus this
/// share of its usual value.
const SEEN_AGAIN: f64 = 0.16;
/// Highest confidence of an occluded or lost target: 37 and 3 % of such frames overlap the target by more than half.
const MAX_AWAY: f64 = 0.5;
/// How fast the running mean of the log-odds follows, per frame.
const ODDS_RATE: f64 = 0.1;
/// How fast the usual long-term response follows, per sure frame.
const LONG_TERM_RATE: f64 = 0.02;
/// How fast the usual peak-to-sidelobe ratio follows, per frame.
const PSR_RATE: f64 = 0.05;

/// Why a target was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Cause {
    /// Too many frames in a row were improbable, or answered less than the long-term model is used to.
    Unseen,
    /// The frames show another scene.
    Cut,
    /// Something covered the target for too long, and nothing tells what is followed.
    Occlusion,
}

/// The phase of a target's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Phase {
    /// The box follows the target.
    Following,
    /// Something covers the target. `frames` counts those in a row whose box a verifier denies or cannot judge.
    Occluded { frames: usize },
    /// The target is searched for.
    Lost { cause: Cause },
}

/// Input of one stage of a frame.
#[derive(Clone, Copy, Debug)]
pub(super) enum Observation<'a> {
    /// The localizer looked around the last box, in a frame that shows another scene than the one in which the target was
    /// followed, or not.
    Located { located: &'a Located, another_scene: bool },
    /// Redetection accepted a place elsewhere in the frame.
    Redetected,
    /// A guard judged the box: frames in a row that it doubts, and whether it put the box elsewhere.
    Guarded { doubts: usize, moved: bool },
    /// The share of the box that lies in the frame.
    Framed { visible: f64 },
}

/// Where the box goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// To the place that was located.
    Follow,
    /// Nowhere.
    Stay,
    /// Nowhere, and the localizer starts anew there in the next frame.
    Restart,
    /// To the localizer's guess, if there is one.
    Guess,
}

/// Decision after an observation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Decision {
    pub state: State,
    pub place: Place,
    /// How the frame is learned; `None` for not at all.
    pub update: Option<Update>,
    /// True if the models and the place of the last certain frame are restored.
    pub restore: bool,
}

impl Decision {
    /// The box stays, and nothing is learned.
    const fn of(state: State) -> Self {
        Self { state, place: Place::Stay, update: None, restore: false }
    }

    /// The box follows, and the frame is learned.
    const fn follow(state: State, update: Update) -> Self {
        Self { place: Place::Follow, update: Some(update), ..Self::of(state) }
    }
}

/// Rules that make the states of a tracker.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum Rules {
    /// The calibrated probability, with the frames before.
    Confidence(ConfidenceParams),
    /// The peak-to-sidelobe ratio of the frame.
    Psr(PsrParams),
    /// The decision of a machine: below `lost_below`, or up to `gate`.
    Decision { lost_below: f64, gate: f64 },
}

impl Rules {
    /// The rules for a localizer with these settings.
    pub fn of(search: &SearchParams) -> Self {
        match search {
            SearchParams::Filter(filter) => Self::Psr(filter.states),
            SearchParams::Background(background) => Self::Confidence(background.confidence),
            SearchParams::Siamese(siamese) => Self::Confidence(siamese.confidence),
            SearchParams::Expert(expert) => Self::Confidence(expert.filter.confidence),
            SearchParams::Machine(machine) => {
                let gate = machine.windows.gate;
                Self::Decision { lost_below: machine.lost_below.min(gate), gate }
            }
        }
    }

    /// The settings of states by the confidence; `None` for other states.
    pub fn confidence(self) -> Option<ConfidenceParams> {
        if let Self::Confidence(params) = self { Some(params) } else { None }
    }
}

/// The decision of a frame by itself: a localizer without a long memory follows and learns whatever is seen.
fn by_threshold(seen: bool, lost: bool, uncertain: bool) -> Decision {
    match (seen, lost, uncertain) {
        (false, ..) => Decision::of(State::Lost),
        (_, true, _) => Decision::follow(State::Lost, Update::Usual),
        (_, _, true) => Decision::follow(State::Uncertain, Update::Usual),
        _ => Decision::follow(State::Tracking, Update::Usual),
    }
}

/// Running means of the signals of a target.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Usual {
    /// Running mean of the log-odds of the frames' own probabilities; `None` before the first.
    odds: Option<f64>,
    /// Running mean of the long-term response in sure frames; `None` before the first response.
    long_term: Option<f64>,
    /// Running mean of the logarithm of the peak-to-sidelobe ratio in frames in which nothing covers the target, and
    /// their number.
    psr: (f64, usize),
}

/// The life of one target.
///
/// One bad frame does not make a target lost, and one good one does not make an uncertain target sure: the frames before
/// count half.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Lifecycle {
    rules: Rules,
    /// Doubts of a guard in a row from which the target is lost.
    max_doubts: usize,
    phase: Phase,
    usual: Usual,
    /// Smoothed probability of the last frame; `None` where no state is made of it.
    confidence: Option<f64>,
    /// Improbable frames in a row.
    missed: usize,
    /// Frames in a row in which the long-term response has dropped.
    drops: usize,
    /// Whether `lost` or `occluded` was reported and no tracked frame since.
    was_away: bool,
    /// The state of this frame so far.
    state: State,
}

impl Lifecycle {
    /// Lifecycle of a new target. A guard loses it after `max_doubts` doubtful frames in a row.
    pub fn new(rules: Rules, max_doubts: usize) -> Self {
        Self {
            rules,
            max_doubts,
            phase: Phase::Following,
            usual: Usual::default(),
            confidence: None,
            missed: 0,
            drops: 0,
            was_away: false,
            state: State::Initial,
        }
    }

    /// Decides what to do after this observation.
    pub fn step(&mut self, observation: &Observation<'_>) -> Decision {
        let decision = match (observation, self.rules) {
            (Observation::Located { located, another_scene }, Rules::Confidence(params)) => {
                self.by_confidence(located, *another_scene, &params)
            }
            (Observation::Located { located, .. }, Rules::Psr(params)) => {
                let psr = f64::from(located.evidence.psr);
                by_threshold(located.seen, psr < params.lost_below, psr < params.uncertain_below)
            }
            (Observation::Located { located, .. }, Rules::Decision { lost_below, gate }) => {
                let decision = f64::from(located.evidence.decision.unwrap_or(f32::NEG_INFINITY));
                by_threshold(located.seen, decision < lost_below, decision <= gate)
            }
            (Observation::Redetected, _) => self.recover(),
            (&Observation::Guarded { doubts, moved }, _) => Decision::of(self.guarded(doubts, moved)),
            (&Observation::Framed { visible }, _) => Decision::of(self.framed(visible)),
        };
        self.state = decision.state;
        decision
    }

    /// Whether the target is searched for.
    pub fn is_lost(&self) -> bool {
        matches!(self.phase, Phase::Lost { .. })
    }

    /// The phase of the target's life.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// The probability that the box of the last frame is right: the mean of its own log-odds and of their running mean,
    /// because earlier frames predict it, too.
    pub fn confidence(&self) -> Option<f64> {
        self.confidence
    }

    /// The confidence that belongs to the state of the frame, so that no doubtful state has a high one: at most an even
    /// chance for an occluded or lost target, which is followed or not.
    pub fn bounded(&self, confidence: f64) -> f64 {
        match (self.state, self.rules) {
            (State::Occluded | State::Lost, _) => confidence.min(MAX_AWAY),
            (State::Uncertain, Rules::Confidence(params)) => confidence.min(params.tracking_from),
            _ => confidence,
        }
    }

    /// The long-term response below which a place does not show the target.
    pub fn min_long_term(&self) -> f64 {
        match (self.rules, self.usual.long_term) {
            // A share of 0 means never, also for responses below 0.
            (Rules::Confidence(params), Some(usual)) if params.long_term_drop > 0.0 => params.long_term_drop * usual,
            _ => f64::NEG_INFINITY,
        }
    }

    /// States by the probability, with the frames before.
    fn by_confidence(&mut self, located: &Located, another_scene: bool, params: &ConfidenceParams) -> Decision {
        let dropped = self.has_dropped(located);
        self.smooth(located);
        if self.is_lost() {
            let found = located.seen && located.certainty() >= params.found_from && !dropped;
            return if found && !another_scene { self.recover() } else { self.stay_lost(another_scene) };
        }
        let occluded = located.seen && self.is_covered(located.evidence.psr, params);
        self.missed = if located.certainty() < params.lost_below { self.missed + 1 } else { 0 };
        self.drops = if dropped { self.drops + 1 } else { 0 };
        self.learn_usual(located, params, !dropped && !occluded);
        let waited = if let Phase::Occluded { frames } = self.phase { frames } else { 0 };
        let cause = if another_scene {
            Some(Cause::Cut)
        } else if self.missed >= params.lost_after || self.drops >= params.long_term_frames {
            Some(Cause::Unseen)
        } else if occluded && located.likeness == Likeness::Unknown && waited >= MAX_OCCLUDED {
            Some(Cause::Occlusion)
        } else {
            None
        };
        if let Some(cause) = cause {
            self.phase = Phase::Lost { cause };
            return Decision { restore: cause != Cause::Cut, ..self.stay_lost(another_scene) };
        }
        if occluded {
            return self.occluded(located.likeness, waited);
        }
        self.phase = Phase::Following;
        match located.seen {
            // A blank frame is lost by itself, and the phase stays.
            false => Decision::of(State::Lost),
            true if self.confidence >= Some(params.tracking_from) => Decision::follow(State::Tracking, Update::Usual),
            true => Decision::follow(State::Uncertain, Update::Usual),
        }
    }

    /// The decision for a covered target, which was denied or not judged for `waited` frames in a row.
    fn occluded(&mut self, likeness: Likeness, waited: usize) -> Decision {
        let frames = if matches!(likeness, Likeness::Denied | Likeness::Unknown) { waited + 1 } else { 0 };
        self.phase = Phase::Occluded { frames };
        match likeness {
            // The box would go with what covers the target.
            Likeness::Denied if frames <= MAX_OCCLUDED => Decision::of(State::Occluded),
            // The box follows, and the hold keeps the filter from learning what covers the target.
            Likeness::Unknown => Decision::follow(State::Occluded, Update::Held(OCCLUDED_HOLD)),
            _ => Decision::follow(State::Occluded, Update::Usual),
        }
    }

    /// The decision for a target that stays lost. In another scene there is nothing to go to.
    fn stay_lost(&self, another_scene: bool) -> Decision {
        let place = if another_scene { Place::Restart } else { Place::Guess };
        Decision { place, ..Decision::of(State::Lost) }
    }

    /// The decision for a target that was found again.
    fn recover(&mut self) -> Decision {
        (self.missed, self.drops, self.phase) = (0, 0, Phase::Following);
        self.usual.odds = None;
        Decision::follow(State::Recovered, Update::Usual)
    }

    /// The state after a guard doubts the box, or has put the box elsewhere.
    fn guarded(&mut self, doubts: usize, moved: bool) -> State {
        let mut state = self.state;
        if moved {
            let was_lost = self.is_lost();
            self.recover();
            state = if was_lost { State::Recovered } else { State::Tracking };
        }
        match state {
            State::Tracking | State::Recovered | State::Uncertain if doubts >= self.max_doubts => State::Lost,
            State::Tracking | State::Recovered if doubts > 0 => State::Uncertain,
            state => state,
        }
    }

    /// The state after the box's share in the frame is known. A box outside the frame shows nothing. A target that was
    /// reported lost or occluded, even for one blank frame, is recovered before it is tracked.
    fn framed(&mut self, visible: f64) -> State {
        let state = match self.state {
            _ if visible <= 0.0 => State::Lost,
            State::Tracking | State::Recovered if visible < MIN_VISIBLE => State::Uncertain,
            state => state,
        };
        if !matches!(self.rules, Rules::Confidence(_)) {
            return state;
        }
        let state = if self.was_away && state == State::Tracking { State::Recovered } else { state };
        match state {
            State::Lost | State::Occluded => self.was_away = true,
            State::Tracking | State::Recovered => self.was_away = false,
            _ => {}
        }
        state
    }

    /// Whether the long-term response lies far below what it usually is. A frame with nothing to see answers 0.
    fn has_dropped(&self, located: &Located) -> bool {
        let response = if located.seen { located.evidence.long_term } else { Some(0.0) };
        response.is_some_and(|response| f64::from(response) < self.min_long_term())
    }

    /// Whether something covers the target: the logarithm of the peak-to-sidelobe ratio is far below what it usually is.
    fn is_covered(&mut self, psr: f32, params: &ConfidenceParams) -> bool {
        let log = distinctness(psr);
        let (usual, frames) = &mut self.usual.psr;
        let seen_again = if matches!(self.phase, Phase::Occluded { .. }) { SEEN_AGAIN } else { 0.0 };
        let covered = log < (params.hidden_share + seen_again) * *usual;
        if !covered {
            *frames += 1;
            *usual += PSR_RATE.max(1.0 / *frames as f64) * (log - *usual);
        }
        covered
    }

    /// Smooths the confidence with that of the frame. A frame with nothing to see says nothing of the next one.
    fn smooth(&mut self, located: &Located) {
        if !located.seen {
            self.confidence = Some(0.0);
            return;
        }
        let odds = log_odds(located.certainty(), 1e-4);
        let mean = self.usual.odds.get_or_insert(odds);
        *mean += ODDS_RATE * (odds - *mean);
        self.confidence = Some(logistic((odds + *mean) / 2.0));
    }

    /// Follows the usual long-term response, in sure frames.
    fn learn_usual(&mut self, located: &Located, params: &ConfidenceParams, clear: bool) {
        let response =
            located.evidence.long_term.filter(|response| located.seen && response.is_finite()).map(f64::from);
        let Some(response) = response else { return };
        let before = *self.usual.long_term.get_or_insert(response);
        if located.certainty() >= params.redetected_from && clear {
            self.usual.long_term = Some(before + LONG_TERM_RATE * (response - before));
        }
    }
}

#[cfg(test)]
mod tests;
