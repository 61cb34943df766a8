//! States with a memory, made of a confidence that is a probability.

use super::{BeliefParams, State};
use crate::error::Result;
use crate::tape::{Recorded, Tape};

/// What is believed of a target, from frame to frame.
///
/// One bad frame does not make a target lost, and one good one does not make a doubtful target sure: each state is left
/// at another confidence than the one at which it is entered.
#[derive(Clone, Debug)]
pub(super) struct Judge {
    params: BeliefParams,
    sure: bool,
    lost: bool,
    /// Frames in a row in which the target was hardly there.
    doubts: usize,
    /// What the long-term model usually answers to the target; none before it was asked.
    usual: Option<f64>,
    /// Frames in a row in which it answered far less.
    faints: usize,
    /// Whether the target was called lost, for whatever reason, and not found since.
    told_lost: bool,
}

/// How fast the usual long-term answer follows, a frame in which the target is tracked for sure.
const USUAL_RATE: f64 = 0.02;

impl Judge {
    /// Of a target that was just marked.
    pub fn new(params: BeliefParams) -> Self {
        Self { params, sure: true, lost: false, doubts: 0, usual: None, faints: 0, told_lost: false }
    }

    /// Whether the last state was lost.
    pub fn is_lost(&self) -> bool {
        self.lost
    }

    /// The confidence that a place far from the last one must have to be taken for the target's.
    pub fn far(&self) -> f64 {
        self.params.tracking_from
    }

    /// Whether the target is there beyond doubt.
    pub fn is_sure(&self, confidence: f64) -> bool {
        self.sure && !self.lost && self.faints == 0 && confidence >= self.params.tracking_from
    }

    /// Areas of the frame that are searched in each frame while the target is lost.
    pub fn tiles(&self) -> usize {
        self.params.tiles
    }

    /// Whether a long-term answer is far below the usual one.
    pub fn is_faint(&self, long_term: Option<f32>) -> bool {
        let share = self.params.faint_below;
        let far_below = |(answer, usual)| f64::from(answer) < share * usual;
        // Without a share an answer below zero is not faint either.
        share > 0.0 && long_term.zip(self.usual).is_some_and(far_below)
    }

    /// The state of a frame whose box overlaps the target by more than half with probability `confidence`, and in which
    /// the long-term model answers `long_term` at it. [`State::Recovered`] is a proposal: the target stays lost until
    /// [`Judge::find`] takes it up.
    pub fn judge(&mut self, confidence: f64, long_term: Option<f32>) -> State {
        let faint = self.is_faint(long_term);
        if self.lost {
            let seems_found = confidence >= self.params.tracking_until && !faint;
            return if seems_found { State::Recovered } else { State::Lost };
        }
        if let Some(answer) = long_term.map(f64::from).filter(|answer| answer.is_finite()) {
            let usual = *self.usual.get_or_insert(answer);
            if confidence >= self.params.tracking_from && !faint {
                self.usual = Some(usual + USUAL_RATE * (answer - usual));
            }
        }
        self.doubts = if confidence < self.params.lost_below { self.doubts + 1 } else { 0 };
        self.faints = if faint { self.faints + 1 } else { 0 };
        if self.doubts >= self.params.lost_after || self.faints >= self.params.faint_after {
            self.lost = true;
            return State::Lost;
        }
        let least = if self.sure { self.params.tracking_until } else { self.params.tracking_from };
        self.sure = confidence >= least;
        if self.sure { State::Tracking } else { State::Uncertain }
    }

    /// The state of a frame that shows nothing where the target is expected. It is no news of what the long-term model
    /// usually answers.
    pub fn judge_nothing(&mut self) -> State {
        let usual = self.usual;
        self.judge(0.0, usual.and(Some(0.0)));
        self.usual = usual;
        State::Lost
    }

    /// What is said of a frame of this state: a target that was called lost, be it for one picture without texture, is
    /// found again before it is tracked.
    pub fn tell(&mut self, state: State) -> State {
        let told = if self.told_lost && state == State::Tracking { State::Recovered } else { state };
        match told {
            State::Lost => self.told_lost = true,
            State::Tracking | State::Recovered => self.told_lost = false,
            _ => {}
        }
        told
    }

    /// The target was found again.
    pub fn find(&mut self) -> State {
        (self.sure, self.lost, self.doubts, self.faints) = (true, false, 0, 0);
        State::Recovered
    }

    /// The search was put where something else knows the target: what was doubtful was the place before.
    pub fn begin_elsewhere(&mut self) -> State {
        let was_lost = self.lost;
        let found = self.find();
        if was_lost { found } else { State::Tracking }
    }
}

impl Recorded for Judge {
    fn record(&mut self, tape: &mut Tape<'_>) -> Result<()> {
        tape.flag(&mut self.sure)?;
        tape.flag(&mut self.lost)?;
        tape.count(&mut self.doubts, u32::MAX as usize)?;
        let (mut asked, mut usual) = (self.usual.is_some(), self.usual.unwrap_or_default());
        tape.flag(&mut asked)?;
        tape.place(&mut usual)?;
        self.usual = asked.then_some(usual);
        tape.count(&mut self.faints, u32::MAX as usize)?;
        tape.flag(&mut self.told_lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_left_at_another_confidence_than_they_are_entered_at() {
        let params = BeliefParams { lost_below: 0.2, lost_after: 3, ..BeliefParams::default() };
        let mut judge = Judge::new(params);
        let states = [
            (0.6, State::Tracking),
            (0.4, State::Uncertain),
            (0.7, State::Uncertain),
            (0.8, State::Tracking),
            (0.1, State::Uncertain),
            (0.1, State::Uncertain),
            (0.3, State::Uncertain),
            (0.1, State::Uncertain),
            (0.1, State::Uncertain),
            (0.1, State::Lost),
            (0.4, State::Lost),
            (0.5, State::Recovered),
            (0.5, State::Tracking),
            (0.0, State::Uncertain),
        ];
        for (i, (confidence, state)) in states.into_iter().enumerate() {
            assert_eq!(judge.judge(confidence, None), state, "{i}");
            if state == State::Recovered {
                // Nobody has taken it up yet.
                assert!(judge.is_lost());
                judge.find();
            }
            assert_eq!(judge.is_lost(), state == State::Lost);
        }
    }

    #[test]
    fn a_model_that_is_sure_of_something_else_is_not_believed() {
        let params = BeliefParams { faint_below: 0.2, faint_after: 3, ..BeliefParams::default() };
        let mut judge = Judge::new(params);
        let states = [
            (0.9, 1.0, State::Tracking),
            (0.9, 0.9, State::Tracking),
            // Two faint frames in a row, and again two: the target only changes.
            (0.9, 0.1, State::Tracking),
            (0.9, 0.1, State::Tracking),
            (0.9, 0.3, State::Tracking),
            (0.9, 0.1, State::Tracking),
            (0.4, 0.1, State::Uncertain),
            (0.9, 0.1, State::Lost),
            // Nor is it found again by what made it so.
            (0.9, 0.1, State::Lost),
            (0.6, 0.5, State::Recovered),
            (0.9, 0.1, State::Tracking),
            (0.9, 0.1, State::Tracking),
            (0.9, 0.1, State::Lost),
        ];
        for (i, (confidence, answer, state)) in states.into_iter().enumerate() {
            assert_eq!(judge.judge(confidence, Some(answer)), state, "{i}");
            if state == State::Recovered {
                judge.find();
            }
        }
        // Faint frames do not become the usual ones.
        assert!(judge.usual.unwrap() > 0.9);
        let mut never = Judge::new(BeliefParams { faint_below: 0.0, ..params });
        assert!((0..9).all(|_| never.judge(0.9, Some(1e-9)) == State::Tracking));
    }

    /// Neither a frame that is only likely nor a faint one says what is usual.
    #[test]
    fn the_usual_answer_follows_slowly_and_in_sure_frames_alone() {
        let params = BeliefParams { faint_below: 0.2, faint_after: 9, ..BeliefParams::default() };
        let mut judge = Judge::new(params);
        for (confidence, answer, usual) in
            [(0.6, 1.0, 1.0), (0.8, 0.5, 0.99), (0.79, 0.5, 0.99), (0.9, 0.1, 0.99), (0.9, 1.49, 1.0), (0.1, 0.5, 1.0)]
        {
            judge.judge(confidence, Some(answer));
            assert!((judge.usual.unwrap() - usual).abs() < 1e-6, "{confidence}, {answer}: {:?}", judge.usual);
        }
    }

    #[test]
    fn a_frame_is_sure_that_is_tracked_and_neither_faint_nor_only_likely() {
        let mut judge = Judge::new(BeliefParams { faint_below: 0.2, ..BeliefParams::default() });
        for (confidence, answer, sure) in
            [(0.9, 1.0, true), (0.8, 1.0, true), (0.79, 1.0, false), (0.9, 0.1, false), (0.9, 1.0, true)]
        {
            assert_eq!(judge.judge(confidence, Some(answer)), State::Tracking);
            assert_eq!(judge.is_sure(confidence), sure, "{confidence}, {answer}");
        }
        // Also where a target is tracked from a lower confidence on than it is tracked until: settings that say so are
        // refused, but these rules do not lean on that.
        let mut judge = Judge::new(BeliefParams { tracking_from: 0.3, tracking_until: 0.5, ..BeliefParams::default() });
        assert_eq!((judge.judge(0.4, None), judge.is_sure(0.4)), (State::Uncertain, false));
    }

    /// Two doubtful and two faint frames, each one less than makes a target lost, count no more after it was found, or
    /// after the search was put elsewhere.
    #[test]
    fn a_new_beginning_has_all_the_patience() {
        let params = BeliefParams { lost_after: 3, faint_below: 0.2, faint_after: 3, ..BeliefParams::default() };
        for begin in [Judge::find, Judge::begin_elsewhere] {
            for (bad, answer) in [(0.1, 1.0), (0.9, 0.1)] {
                let mut judge = Judge::new(params);
                judge.judge(0.9, Some(1.0));
                (0..2).for_each(|_| _ = judge.judge(bad, Some(answer)));
                begin(&mut judge);
                assert!(judge.is_sure(0.9));
                let lost = [(); 3].map(|()| judge.judge(bad, Some(answer)) == State::Lost);
                assert_eq!(lost, [false, false, true]);
            }
        }
    }

    #[test]
    fn only_what_was_lost_is_found_again_elsewhere() {
        let mut judge = Judge::new(BeliefParams { lost_after: 1, ..BeliefParams::default() });
        assert_eq!(judge.begin_elsewhere(), State::Tracking);
        assert_eq!((judge.judge(0.1, None), judge.is_lost()), (State::Lost, true));
        assert_eq!((judge.begin_elsewhere(), judge.is_lost()), (State::Recovered, false));
        assert_eq!(judge.begin_elsewhere(), State::Tracking);
    }

    #[test]
    fn without_a_share_no_answer_is_faint() {
        let mut judge = Judge::new(BeliefParams { faint_below: 0.0, faint_after: 1, ..BeliefParams::default() });
        assert!([0.3, -0.1, -0.1].map(|answer| judge.judge(0.9, Some(answer))) == [State::Tracking; 3]);
        assert!(!judge.is_faint(Some(-0.1)));
    }

    #[test]
    fn a_frame_that_shows_nothing_does_not_become_the_usual_one() {
        let params = BeliefParams { faint_below: 0.2, faint_after: 2, lost_after: 3, ..BeliefParams::default() };
        let mut judge = Judge::new(params);
        assert_eq!((judge.judge_nothing(), judge.is_lost()), (State::Lost, false));
        assert_eq!(judge.judge(0.4, Some(1.0)), State::Uncertain);
        assert!(judge.is_faint(Some(0.1)), "the first answer to something is the usual one");
        // Later it is a faint one, and a doubtful one.
        assert_eq!((judge.judge_nothing(), judge.is_lost()), (State::Lost, false));
        assert_eq!((judge.judge_nothing(), judge.is_lost()), (State::Lost, true));
        let mut judge = Judge::new(BeliefParams { faint_after: 9, ..params });
        let lost = [(); 3].map(|()| (judge.judge_nothing(), judge.is_lost()));
        assert_eq!(lost, [(State::Lost, false), (State::Lost, false), (State::Lost, true)]);
    }

    #[test]
    fn what_was_called_lost_is_found_before_it_is_tracked() {
        let mut judge = Judge::new(BeliefParams::default());
        let (lost, unsure, there, found) = (State::Lost, State::Uncertain, State::Tracking, State::Recovered);
        let states = [
            (there, there),
            (lost, lost),
            (unsure, unsure),
            (there, found),
            (there, there),
            (unsure, unsure),
            (there, there),
            (lost, lost),
            (found, found),
            (there, there),
        ];
        for (i, (state, told)) in states.into_iter().enumerate() {
            assert_eq!(judge.tell(state), told, "{i}");
        }
    }
}
