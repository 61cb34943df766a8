//! States with a memory, made of a confidence that is a probability.

use super::{BeliefParams, State};

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
}

impl Judge {
    /// Of a target that was just marked.
    pub fn new(params: BeliefParams) -> Self {
        Self { params, sure: true, lost: false, doubts: 0 }
    }

    /// Whether the last state was lost.
    pub fn is_lost(&self) -> bool {
        self.lost
    }

    /// The confidence that a place far from the last one must have to be taken for the target's.
    pub fn far(&self) -> f64 {
        self.params.tracking_from
    }

    /// Areas of the frame that are searched in each frame while the target is lost.
    pub fn tiles(&self) -> usize {
        self.params.tiles
    }

    /// The state of a frame whose box overlaps the target by more than half with probability `confidence`.
    pub fn judge(&mut self, confidence: f64) -> State {
        if self.lost {
            return if confidence >= self.params.tracking_until { self.find() } else { State::Lost };
        }
        self.doubts = if confidence < self.params.lost_below { self.doubts + 1 } else { 0 };
        if self.doubts >= self.params.lost_after {
            self.lost = true;
            return State::Lost;
        }
        let least = if self.sure { self.params.tracking_until } else { self.params.tracking_from };
        self.sure = confidence >= least;
        if self.sure { State::Tracking } else { State::Uncertain }
    }

    /// The target was found again.
    pub fn find(&mut self) -> State {
        (self.sure, self.lost, self.doubts) = (true, false, 0);
        State::Recovered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_left_at_another_confidence_than_they_are_entered_at() {
        let params = BeliefParams { tracking_from: 0.8, tracking_until: 0.5, lost_below: 0.2, lost_after: 3, tiles: 1 };
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
            assert_eq!(judge.judge(confidence), state, "{i}");
            assert_eq!(judge.is_lost(), state == State::Lost);
        }
    }
}
