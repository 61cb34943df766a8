//! How far the box of a frame can be trusted: the probability that it is right, and the states that are made of it.
//!
//! The probability is a logistic model of absolute signals. It was fitted to sequences with truth for every preset and
//! every machine; `scripts/calibration.py` fits it again, and says how good it is on sequences that it was not fitted to.
//! With other settings the signals are the same, but not the probabilities.

use serde::{Deserialize, Serialize};

use super::Evidence;
use super::params::{ConfidenceParams, FeatureParams, FilterParams};
use crate::kernels::Kernel;
use crate::machines::MachineKind;

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

/// The logistic function.
pub(super) fn logistic(odds: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-odds))
}

/// The log-odds of a probability that is not nearer than `least` to 0 or 1.
pub(super) fn log_odds(p: f64, least: f64) -> f64 {
    let p = p.clamp(least, 1.0 - least);
    libm::log(p / (1.0 - p))
}

/// The logarithm of a peak-to-sidelobe ratio; 0 below 1.
fn distinctness(psr: f32) -> f64 {
    libm::log(f64::from(psr).max(1.0))
}

/// Weights of the signals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Calibration {
    /// Weight of the long-term response.
    long_term: f64,
    /// Weight of the logarithm of the peak-to-sidelobe ratio.
    psr: f64,
    constant: f64,
}

impl Calibration {
    /// Takes the weights of the long-term response and of the logarithm of the ratio, and the constant.
    pub const fn new(long_term: f64, psr: f64, constant: f64) -> Self {
        Self { long_term, psr, constant }
    }

    /// The calibration of a filter; `None` if none was fitted.
    pub fn of_filter(params: &FilterParams) -> Option<Self> {
        use {FeatureParams::*, Kernel::*};
        Some(match (params.feature, params.kernel) {
            (Hog(_), Gaussian { .. }) => Self::new(0.0, 1.89, -5.73),
            (Hog(_), Linear) => Self::new(0.0, 1.98, -5.96),
            (Hog(_), Polynomial { .. }) => Self::new(0.0, 1.91, -5.78),
            (Gray, Gaussian { .. }) => Self::new(0.0, 1.12, -3.96),
            (Gray, Linear) => Self::new(0.0, 1.31, -3.29),
            _ => return None,
        })
    }

    /// The calibration of a machine.
    pub const fn of_machine(kind: MachineKind) -> Self {
        let (psr, constant) = match kind {
            MachineKind::Krr => (3.38, -6.41),
            MachineKind::Svm => (1.36, -2.58),
            MachineKind::Klda => (1.76, -3.18),
            MachineKind::Kpca => (1.80, -2.59),
            MachineKind::Slem => (1.35, -2.33),
            MachineKind::Kdspe => (3.98, -6.24),
        };
        Self::new(0.0, psr, constant)
    }

    /// The probability that the box of this evidence overlaps the target by more than half.
    pub fn probability(self, evidence: &Evidence) -> f64 {
        let long_term = f64::from(evidence.long_term.unwrap_or(0.0));
        logistic(self.long_term * long_term + self.psr * distinctness(evidence.psr) + self.constant)
    }
}

/// Two experts, each calibrated by itself: the filter, and the identity. The product of their probabilities is
/// calibrated once more, so one expert that denies the target is enough, whatever the other says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Experts {
    pub filter: Calibration,
    /// Weight of the identity's answer, and the constant.
    pub identity: (f64, f64),
    /// Weight of the log-odds of the product, and the constant.
    pub product: (f64, f64),
}

impl Experts {
    /// The probability that the box of this evidence overlaps the target by more than half: that of the filter where
    /// there is no comparison.
    pub fn probability(self, evidence: &Evidence) -> f64 {
        let by_filter = self.filter.probability(evidence);
        let Some(answer) = evidence.identity else { return by_filter };
        let calibrated = |(weight, constant): (f64, f64), value: f64| logistic(weight * value + constant);
        let both = by_filter * calibrated(self.identity, f64::from(answer));
        calibrated(self.product, log_odds(both, 1e-9))
    }
}

/// The state of a target from frame to frame.
///
/// One bad frame does not make a target lost, and one good one does not make an uncertain target sure: each state is
/// left at another confidence than the one at which it is entered.
#[derive(Clone, Debug, Default)]
pub(super) struct StateMachine {
    params: ConfidenceParams,
    /// Running mean of the log-odds of the frames' own confidences; `None` before the first.
    odds: Option<f64>,
    /// Of the last frame, with those before.
    confidence: f64,
    sure: bool,
    lost: bool,
    /// Frames in a row without the target.
    missed: usize,
    /// Running mean of the long-term response in sure frames; `None` before the first response.
    baseline: Option<f64>,
    /// Running mean of the logarithm of the peak-to-sidelobe ratio in frames in which nothing hides the target, and their
    /// number.
    usual_psr: (f64, usize),
    /// Frames in a row in which the long-term response has dropped.
    drops: usize,
    /// Whether something hides the target.
    hidden: bool,
    /// Whether `lost` was reported, for whatever reason, and no tracked frame since.
    reported_lost: bool,
}

/// How fast the running mean of the log-odds follows.
const ODDS_RATE: f64 = 0.1;

/// How fast the baseline follows, per sure frame.
const BASELINE_RATE: f64 = 0.02;

/// How fast the usual peak-to-sidelobe ratio follows, per frame.
const PSR_RATE: f64 = 0.05;

/// How much more of its usual logarithm the ratio must have until a hidden target is seen again.
const SEEN_AGAIN: f64 = 0.16;

impl StateMachine {
    /// For a target that was just given.
    pub fn new(params: ConfidenceParams) -> Self {
        Self { params, sure: true, ..Self::default() }
    }

    /// Whether the target is lost.
    pub fn is_lost(&self) -> bool {
        self.lost
    }

    /// Whether something hides a target that is still followed.
    pub fn is_hidden(&self) -> bool {
        self.hidden && !self.lost
    }

    /// The probability that the box of the last frame is right: the mean log-odds of its own confidence and of the running
    /// mean. A target that was followed for long is still followed more often than one frame tells.
    pub fn confidence(&self) -> f64 {
        self.confidence
    }

    /// The confidence from which a place far from the last one is accepted.
    pub fn accepts_from(&self) -> f64 {
        self.params.tracking_from
    }

    /// Search areas per frame while the target is lost.
    pub fn tiles(&self) -> usize {
        self.params.tiles
    }

    /// Whether a long-term response lies far below its baseline.
    pub fn has_dropped(&self, long_term: Option<f32>) -> bool {
        let share = self.params.long_term_drop;
        let below = |(response, baseline)| f64::from(response) < share * baseline;
        // A share of 0 means never, also for responses below 0.
        share > 0.0 && long_term.zip(self.baseline).is_some_and(below)
    }

    /// Whether something hides the target: the logarithm of the peak-to-sidelobe ratio is far below what it usually is.
    fn hides(&mut self, psr: f32) -> bool {
        let log = distinctness(psr);
        let (usual, frames) = &mut self.usual_psr;
        let share = self.params.hidden_share + if self.hidden { SEEN_AGAIN } else { 0.0 };
        let hidden = log < share * *usual;
        if !hidden {
            *frames += 1;
            *usual += PSR_RATE.max(1.0 / *frames as f64) * (log - *usual);
        }
        hidden
    }

    /// The state of a frame with this confidence of its own, long-term response and peak-to-sidelobe ratio.
    /// [`State::Recovered`] is a proposal: the target stays lost until [`StateMachine::recover`]. A hidden target is
    /// [`State::Occluded`] and is still followed: the target may have changed its look.
    pub fn update(&mut self, confidence: f64, long_term: Option<f32>, psr: Option<f32>) -> State {
        let odds = log_odds(confidence, 1e-4);
        let mean = self.odds.get_or_insert(odds);
        *mean += ODDS_RATE * (odds - *mean);
        self.confidence = logistic((odds + *mean) / 2.0);
        let dropped = self.has_dropped(long_term);
        if self.lost {
            let found = confidence >= self.params.tracking_until && !dropped;
            return if found { State::Recovered } else { State::Lost };
        }
        self.hidden = psr.is_some_and(|psr| self.hides(psr));
        if let Some(response) = long_term.map(f64::from).filter(|response| response.is_finite()) {
            let before = *self.baseline.get_or_insert(response);
            if confidence >= self.params.tracking_from && !dropped && !self.hidden {
                self.baseline = Some(before + BASELINE_RATE * (response - before));
            }
        }
        self.missed = if confidence < self.params.lost_below { self.missed + 1 } else { 0 };
        self.drops = if dropped { self.drops + 1 } else { 0 };
        if self.missed >= self.params.lost_after || self.drops >= self.params.long_term_frames {
            self.lost = true;
            return State::Lost;
        }
        let threshold = if self.sure { self.params.tracking_until } else { self.params.tracking_from };
        // The frames before must not make a weak frame sure: something may begin to cover the target.
        self.sure = confidence.min(self.confidence) >= threshold;
        if self.hidden {
            return State::Occluded;
        }
        if self.sure { State::Tracking } else { State::Uncertain }
    }

    /// The state of a frame with nothing to see where the target is expected. It says nothing of the frames after it.
    pub fn update_unseen(&mut self) -> State {
        let (baseline, odds) = (self.baseline, self.odds);
        self.update(0.0, baseline.and(Some(0.0)), None);
        (self.baseline, self.odds, self.confidence) = (baseline, odds, 0.0);
        State::Lost
    }

    /// The scene has changed, so nothing of what was followed is there.
    pub fn lose(&mut self) -> State {
        self.lost = true;
        State::Lost
    }

    /// The state to report: a target that was reported lost, even for one blank frame, is recovered before it is
    /// tracked.
    pub fn report(&mut self, state: State) -> State {
        let reported = if self.reported_lost && state == State::Tracking { State::Recovered } else { state };
        match reported {
            State::Lost | State::Occluded => self.reported_lost = true,
            State::Tracking | State::Recovered => self.reported_lost = false,
            _ => {}
        }
        reported
    }

    /// The target was found again.
    pub fn recover(&mut self) -> State {
        (self.sure, self.lost, self.missed, self.drops, self.hidden) = (true, false, 0, 0, false);
        self.odds = None;
        State::Recovered
    }

    /// A guard moved the search to another place.
    pub fn restart_elsewhere(&mut self) -> State {
        let was_lost = self.lost;
        let recovered = self.recover();
        if was_lost { recovered } else { State::Tracking }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracker::Params;
    use crate::tracker::params::SearchParams;
    use State::{Lost, Recovered, Tracking, Uncertain};

    #[test]
    fn json_and_display_agree() {
        for state in State::ALL {
            assert_eq!(serde_json::to_value(state).unwrap(), state.to_string());
        }
        assert_eq!(format!("{:>10}|", State::Lost), "      lost|");
    }

    #[test]
    fn every_preset_and_every_machine_has_a_confidence_that_grows_with_the_evidence() {
        let mut all = Vec::new();
        for (name, _) in Params::PRESETS {
            if let SearchParams::Filter(filter) = Params::preset(name).unwrap().search {
                all.push((name, Calibration::of_filter(&filter)));
            }
        }
        for kind in MachineKind::ALL {
            all.push((kind.name(), Some(Calibration::of_machine(*kind))));
        }
        for (name, calibration) in all {
            let of = |long_term: f32, psr: f32| {
                let evidence = Evidence { long_term: Some(long_term), psr, ..Evidence::default() };
                calibration.unwrap_or_else(|| panic!("{name}")).probability(&evidence)
            };
            assert!(of(0.2, 2.0) < 0.3 && of(0.95, 40.0) > 0.5, "{name}: {} {}", of(0.2, 2.0), of(0.95, 40.0));
            for (long_term, psr) in [(-9.0, 0.0), (0.0, 1e30), (9.0, 0.0), (f32::MAX, f32::MAX)] {
                assert!((0.0..=1.0).contains(&of(long_term, psr)), "{name}");
            }
        }
    }

    #[test]
    fn one_expert_that_denies_the_target_is_enough() {
        let filter = Calibration::new(0.0, 2.0, -4.0);
        let experts = Experts { filter, identity: (4.0, 1.0), product: (1.0, 0.5) };
        let of =
            |psr: f32, identity: Option<f32>| experts.probability(&Evidence { psr, identity, ..Evidence::default() });
        assert!(of(60.0, Some(1.0)) > 0.9);
        assert!(of(60.0, Some(-1.0)) < 0.2 && of(2.0, Some(1.0)) < 0.2);
        assert_eq!(of(60.0, None), filter.probability(&Evidence { psr: 60.0, ..Evidence::default() }));
    }

    fn params() -> ConfidenceParams {
        ConfidenceParams { long_term_drop: 0.2, long_term_frames: 3, ..ConfidenceParams::default() }
    }

    /// Feeds frames of (confidence, long-term response, state) and recovers where that is proposed.
    fn run(machine: &mut StateMachine, frames: &[(f64, f32, State)]) {
        for (i, &(confidence, response, state)) in frames.iter().enumerate() {
            assert_eq!(machine.update(confidence, Some(response), None), state, "frame {i}");
            if state == Recovered {
                assert!(machine.is_lost());
                machine.recover();
            }
            assert_eq!(machine.is_lost(), state == Lost);
        }
    }

    #[test]
    fn states_are_left_at_another_confidence_than_they_are_entered_at() {
        let frames = [
            (0.6, 1.0, Tracking),
            (0.3, 1.0, Uncertain),
            (0.7, 1.0, Uncertain),
            (0.95, 1.0, Tracking),
            (0.1, 1.0, Uncertain),
            (0.1, 1.0, Uncertain),
            (0.3, 1.0, Uncertain),
            (0.1, 1.0, Uncertain),
            (0.1, 1.0, Uncertain),
            (0.1, 1.0, Lost),
            (0.4, 1.0, Lost),
            (0.5, 1.0, Recovered),
            (0.5, 1.0, Tracking),
            (0.0, 1.0, Uncertain),
        ];
        run(&mut StateMachine::new(params()), &frames);
    }

    #[test]
    fn the_frames_before_count_until_a_target_is_found_again() {
        let mut machine = StateMachine::new(params());
        let confidence = |machine: &mut StateMachine, own: f64| {
            machine.update(own, None, None);
            machine.confidence()
        };
        assert!((confidence(&mut machine, 0.9) - 0.9).abs() < 1e-9);
        let weak = confidence(&mut machine, 0.3);
        assert!(weak > 0.5 && weak < 0.8, "{weak}");
        (0..50).for_each(|_| _ = confidence(&mut machine, 0.3));
        assert!((machine.confidence() - 0.3).abs() < 0.01);
        machine.recover();
        assert!((confidence(&mut machine, 0.9) - 0.9).abs() < 1e-9);
        machine.update_unseen();
        assert_eq!(machine.confidence(), 0.0);
        assert!((confidence(&mut machine, 0.9) - 0.9).abs() < 1e-9, "a blank frame says nothing of the next one");
    }

    #[test]
    fn a_long_term_drop_makes_a_sure_target_lost() {
        let mut machine = StateMachine::new(params());
        let frames = [
            (0.9, 1.0, Tracking),
            (0.9, 0.1, Tracking),
            (0.9, 0.1, Tracking),
            (0.9, 0.3, Tracking),
            (0.9, 0.1, Tracking),
            (0.1, 0.1, Uncertain),
            (0.9, 0.1, Lost),
            // It is not recovered by what made it lost.
            (0.9, 0.1, Lost),
            (0.6, 0.5, Recovered),
            (0.9, 0.1, Tracking),
            (0.9, 0.1, Tracking),
            (0.9, 0.1, Lost),
        ];
        run(&mut machine, &frames);
        let mut never = StateMachine::new(ConfidenceParams { long_term_drop: 0.0, ..params() });
        assert!((0..9).all(|_| never.update(0.9, Some(-0.1), None) == Tracking));
    }

    #[test]
    fn a_hidden_target_is_reported_occluded_and_followed() {
        let mut machine = StateMachine::new(ConfidenceParams { hidden_share: 0.7, ..params() });
        let mut state = |psr: f32| machine.update(0.9, None, Some(psr));
        // The usual logarithm is that of 10.
        assert_eq!([(); 9].map(|()| state(10.0)), [Tracking; 9]);
        assert_eq!(state(5.5), Tracking, "10^.74");
        assert_eq!(
            (0..200).map(|_| state(4.0)).filter(|&state| state == State::Occluded).count(),
            200,
            "10^.6, for as long as it lasts"
        );
        assert_eq!([6.5, 4.0].map(&mut state), [State::Occluded; 2], "10^.81 does not end it");
        assert_eq!([8.0, 5.5].map(&mut state), [Tracking, Tracking], "10^.9 does");
        assert!(!machine.is_lost());
        // Who is found again is not hidden, so that the lower limit counts.
        assert_eq!(machine.update(0.9, None, Some(4.0)), State::Occluded);
        machine.lose();
        machine.recover();
        assert_eq!(machine.update(0.9, None, Some(5.5)), Tracking);
        let mut never = StateMachine::new(params());
        assert!([50.0, 1.0, 0.0, 50.0].iter().all(|&psr| never.update(0.9, None, Some(psr)) == Tracking));
    }

    #[test]
    fn the_baseline_follows_slowly_and_in_sure_frames_only() {
        let mut machine = StateMachine::new(ConfidenceParams { long_term_frames: 9, hidden_share: 0.7, ..params() });
        let frames = [
            (0.6, 1.0, 10.0, 1.0),
            (0.8, 0.5, 10.0, 0.99),
            (0.79, 0.5, 10.0, 0.99),
            (0.9, 0.1, 10.0, 0.99),
            // Hidden.
            (0.9, 0.5, 4.0, 0.99),
            (0.9, 1.49, 10.0, 1.0),
        ];
        for (confidence, response, psr, baseline) in frames {
            machine.update(confidence, Some(response), Some(psr));
            assert!((machine.baseline.unwrap() - baseline).abs() < 1e-6, "{confidence}, {response}");
        }
        machine.update_unseen();
        assert!((machine.baseline.unwrap() - 1.0).abs() < 1e-6);
    }

    #[test]
    fn recovery_resets_both_counts() {
        for restart in [StateMachine::recover, StateMachine::restart_elsewhere] {
            for (confidence, response) in [(0.1, 1.0), (0.9, 0.1)] {
                let mut machine = StateMachine::new(params());
                machine.update(0.9, Some(1.0), None);
                (0..2).for_each(|_| _ = machine.update(confidence, Some(response), None));
                restart(&mut machine);
                let lost = [(); 3].map(|()| machine.update(confidence, Some(response), None) == Lost);
                assert_eq!(lost, [false, false, true]);
            }
        }
    }

    #[test]
    fn a_move_recovers_only_a_lost_target() {
        let mut machine = StateMachine::new(ConfidenceParams { lost_after: 1, ..ConfidenceParams::default() });
        assert_eq!(machine.restart_elsewhere(), Tracking);
        assert_eq!(machine.update(0.1, None, None), Lost);
        assert_eq!(machine.restart_elsewhere(), Recovered);
    }

    #[test]
    fn blank_frames_count_as_missed() {
        let mut machine = StateMachine::new(params());
        let lost = [(); 3].map(|()| (machine.update_unseen(), machine.is_lost()));
        assert_eq!(lost, [(Lost, false), (Lost, false), (Lost, true)]);
    }

    #[test]
    fn a_reported_loss_is_recovered_before_it_is_tracked() {
        let mut machine = StateMachine::new(params());
        let states = [
            (Tracking, Tracking),
            (Lost, Lost),
            (Uncertain, Uncertain),
            (Tracking, Recovered),
            (Tracking, Tracking),
            (Lost, Lost),
            (Recovered, Recovered),
            (Tracking, Tracking),
        ];
        for (i, (state, reported)) in states.into_iter().enumerate() {
            assert_eq!(machine.report(state), reported, "{i}");
        }
    }
}
