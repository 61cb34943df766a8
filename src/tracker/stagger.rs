//! In which frames each of several targets does what costs most.
//!
//! A target that is alone looks for its size and its angle, and learns, in nearly every frame. Of several, each can do
//! so in frames of its own: no frame costs much more than another, and all together far less than so many targets.

/// Looks for size and angle are at most so many times rarer than of a target that is alone.
const RAREST_LOOKS: usize = 4;
/// A target that learns in every frame does so in one of so many at most; for others their own schedule is rare enough.
const RAREST_LESSONS: usize = 3;

/// In which frames a target looks for its size and its angle, and learns.
///
/// A target that is [alone](Stagger::ALONE) does so as its settings say. One of `n` is followed in every frame too, but
/// looks for its size and angle `⌈n / 2⌉` times more rarely, four times at most (at other sizes of the search area in
/// wider steps). One that would learn in every frame learns in so many, three at most, once, and so much more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stagger {
    /// How many times more rarely than a target that is alone.
    rarer: usize,
    /// One more with each frame, and with each target in the same frame.
    clock: usize,
}

impl Stagger {
    /// Of a target that is alone, or is followed as if it were.
    pub const ALONE: Self = Self { rarer: 1, clock: 0 };

    /// Of target `number`, from 0, of `count` in a frame with `before` others before it.
    pub fn of(number: usize, count: usize, before: usize) -> Self {
        Self { rarer: count.div_ceil(2).max(1), clock: before.wrapping_add(number) }
    }

    /// Whether it looks at other sizes, for which its settings say one of `every` looks, in its own look `looks`.
    pub(super) fn compares(self, looks: usize, every: usize) -> bool {
        self.is_due(looks, every)
    }

    /// The step from one size to the next, `step` for a target that is alone: sizes wander by the root of the time.
    pub(super) fn step(self, step: f64) -> f64 {
        match self.rarer.min(RAREST_LOOKS) {
            1 => step,
            rarer => libm::pow(step, (rarer as f64).sqrt()),
        }
    }

    /// Whether filters for the size and the angle look, which do in every frame of a target that is alone.
    pub(super) fn measures(self) -> bool {
        self.is_due(0, 1)
    }

    /// Whether it learns, for which its settings say one of `every` frames, in the frame `frames` of its own.
    pub(super) fn learns(self, frames: usize, every: usize) -> bool {
        match self.rarer {
            1 => frames.is_multiple_of(every),
            _ => self.clock.is_multiple_of(every.saturating_mul(self.lessons(every))),
        }
    }

    /// How many lessons one stands for, where its settings say one of `every` frames.
    pub(super) fn lessons(self, every: usize) -> usize {
        (self.rarer.min(RAREST_LESSONS) / every.max(1)).max(1)
    }

    /// The rate of a lesson that moves as far as those that it stands for, one a frame, do by `rate`.
    pub(super) fn rate(self, rate: f64) -> f64 {
        (1..self.lessons(1)).fold(rate, |sum, _| sum + (1.0 - sum) * rate)
    }

    fn is_due(self, own: usize, every: usize) -> bool {
        match self.rarer.min(RAREST_LOOKS) {
            1 => own.is_multiple_of(every),
            rarer => self.clock.is_multiple_of(every.saturating_mul(rarer)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In which of the frames `0..frames` each of `count` targets has something to do.
    fn due(count: usize, frames: usize, has: impl Fn(Stagger) -> bool) -> Vec<Vec<usize>> {
        let of = |number: usize| (0..frames).filter(|&frame| has(Stagger::of(number, count, frame))).collect();
        (0..count).map(of).collect()
    }

    /// What `all` of some targets have to do comes to each every `period` frames, and to no frame much more of it.
    fn assert_even(all: &[Vec<usize>], frames: usize, period: usize, said: &str) {
        assert!(all.iter().all(|frames| frames[1] - frames[0] == period), "{said}: {all:?}");
        assert!(all.iter().all(|due| due.len() == frames / period), "{said}: {all:?}");
        let at_once = (0..frames).map(|frame| all.iter().filter(|frames| frames.contains(&frame)).count());
        let (least, most) = at_once.fold((usize::MAX, 0), |(a, b), n| (a.min(n), b.max(n)));
        assert!(most - least <= 1, "{said}: {least} to {most} in a frame");
    }

    #[test]
    fn one_target_and_two_do_as_their_settings_say() {
        for count in 0..=2 {
            for (own, clock) in [(0, 1), (1, 0), (4, 3), (6, 7)] {
                let stagger = Stagger::of(count, count, clock);
                for every in 1..4 {
                    assert_eq!(stagger.compares(own, every), own % every == 0);
                    assert_eq!(stagger.learns(own, every), own % every == 0);
                }
                assert!(stagger.measures());
                assert_eq!((stagger.step(1.04), stagger.lessons(1), stagger.rate(0.3)), (1.04, 1, 0.3));
            }
        }
        assert!(Stagger::ALONE.measures() && Stagger::ALONE.compares(4, 2) && !Stagger::ALONE.learns(3, 2));
    }

    /// Whatever they have seen on their own.
    #[test]
    fn each_of_several_has_its_frames_and_no_frame_many_more_than_another() {
        for (count, rarer) in [(3, 2), (4, 2), (6, 3), (8, 4), (24, 4)] {
            for every in [1, 2, 3] {
                let said = format!("{count} targets, every {every}");
                let looks = due(count, 72, |stagger| stagger.compares(7, every));
                assert_even(&looks, 72, rarer * every, &said);
                let lessons = due(count, 72, |stagger| stagger.learns(7, every));
                // Of those that learn in every frame alone; others do so as ever.
                let period = every.max(if every == 1 { rarer.min(3) } else { 1 });
                assert_even(&lessons, 72, period, &said);
            }
            assert_even(&due(count, 72, Stagger::measures), 72, rarer, &format!("{count} targets"));
        }
    }

    /// Eight look at other sizes one after the other.
    #[test]
    fn eight_targets_compare_one_after_the_other() {
        let all = due(8, 8, |stagger| stagger.compares(0, 2));
        let frames: Vec<usize> = all.into_iter().flatten().collect();
        assert_eq!(frames, [0, 7, 6, 5, 4, 3, 2, 1]);
    }

    #[test]
    fn what_is_done_less_often_counts_for_more() {
        let [four, eight, many] = [4, 8, 100].map(|count| Stagger::of(0, count, 0));
        assert_eq!([four, eight, many].map(|stagger| stagger.lessons(1)), [2, 3, 3]);
        assert_eq!([2, 3, 10].map(|every| eight.lessons(every)), [1; 3]);
        assert_eq!(four.rate(0.5), 0.75);
        assert!((eight.rate(0.1) - 0.271).abs() < 1e-15 && eight.rate(1.0) == 1.0 && eight.rate(0.0) == 0.0);
        assert!((four.step(1.04).ln() / 1.04f64.ln() - 2f64.sqrt()).abs() < 1e-12);
        assert!((eight.step(1.04) - 1.0816).abs() < 1e-12 && many.step(1.04) == eight.step(1.04));
    }

    #[test]
    fn a_clock_that_has_run_for_ever_is_no_panic() {
        let stagger = Stagger::of(usize::MAX, usize::MAX, usize::MAX);
        assert!(!stagger.compares(0, usize::MAX) && !stagger.learns(0, usize::MAX) && stagger.rate(0.1) < 1.0);
    }
}
