//! How well colour tells the target from everything else in the search area.

use crate::tracker::SeparationSettings;

/// The probability that a box in the target's colours answers more than one elsewhere in the area, equal ones counting
/// half: the area under the ROC curve, 1 where no other place looks like the target and 0.5 where colour knows nothing.
///
/// `answers` are those of each shift of whole cells (`[row][column]` of `cells` x `cells`, no shift in the middle), the
/// target is `shift` (rows, columns) off the middle and has `size` (rows, columns) in cells. Elsewhere is where boxes
/// do not overlap the target's; in an area without such places nothing speaks against colour.
pub(super) fn separation(answers: &[f32], cells: usize, shift: (f64, f64), size: (f64, f64)) -> f64 {
    let place = |shift: f64| ((cells / 2) as f64 + shift).round().clamp(0.0, (cells - 1) as f64) as usize;
    let (row, col) = (place(shift.0), place(shift.1));
    let here = answers[row * cells + col];
    let (mut lower, mut all) = (0.0, 0usize);
    for (r, line) in answers.chunks_exact(cells).enumerate() {
        let beside = r.abs_diff(row) as f64 >= size.0;
        for (c, &answer) in line.iter().enumerate() {
            if beside || c.abs_diff(col) as f64 >= size.1 {
                all += 1;
                lower += if answer < here { 1.0 } else { 0.5 * f64::from(u8::from(answer == here)) };
            }
        }
    }
    if all == 0 { 1.0 } else { lower / all as f64 }
}

impl SeparationSettings {
    /// The share of colour's weight at this `separation`.
    pub(super) fn trust(&self, separation: f64) -> f64 {
        match separation {
            s if s >= self.to => 1.0,
            s if s <= self.from => 0.0,
            s => (s - self.from) / (self.to - self.from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CELLS: usize = 10;

    /// The target is found at row 4, column 6, one up and one right of the middle.
    const SHIFT: (f64, f64) = (-1.2, 0.9);
    const HERE: usize = 4 * CELLS + 6;

    #[test]
    fn it_is_the_share_of_other_places_that_answer_less() {
        let size = (2.0, 3.0);
        let elsewhere = |i: usize| (i / CELLS).abs_diff(4) >= 2 || (i % CELLS).abs_diff(6) >= 3;
        let places: Vec<usize> = (0..CELLS * CELLS).filter(|&i| elsewhere(i)).collect();
        // Beside the target boxes overlap: that they answer more says nothing.
        let mut answers = vec![0.9; CELLS * CELLS];
        answers[HERE] = 0.6;
        places.iter().for_each(|&i| answers[i] = 0.1);
        let of = |answers: &[f32]| separation(answers, CELLS, SHIFT, size);
        assert_eq!(of(&answers), 1.0);
        let all = places.len() as f64;
        places[..7].iter().for_each(|&i| answers[i] = 0.7);
        assert!((of(&answers) - (1.0 - 7.0 / all)).abs() < 1e-12);
        // What answers the same counts half.
        places[..7].iter().for_each(|&i| answers[i] = 0.6);
        assert!((of(&answers) - (1.0 - 3.5 / all)).abs() < 1e-12);
        assert_eq!(separation(&[0.3; CELLS * CELLS], CELLS, SHIFT, size), 0.5);
    }

    #[test]
    fn a_target_outside_or_as_large_as_the_area_is_no_panic() {
        assert_eq!(separation(&[0.3; CELLS * CELLS], CELLS, SHIFT, (40.0, 40.0)), 1.0);
        for shift in [(-99.0, 99.0), (f64::NAN, f64::INFINITY)] {
            assert_eq!(separation(&[0.3; CELLS * CELLS], CELLS, shift, (2.0, 2.0)), 0.5);
        }
    }

    #[test]
    fn trust_grows_between_the_limits() {
        let settings = SeparationSettings { from: 0.6, to: 0.8, rate: 0.1 };
        for (separation, trust) in [(0.0, 0.0), (0.6, 0.0), (0.65, 0.25), (0.75, 0.75), (0.8, 1.0), (1.0, 1.0)] {
            assert!((settings.trust(separation) - trust).abs() < 1e-9, "{separation}");
        }
        let step = SeparationSettings { from: 0.7, to: 0.7, rate: 0.1 };
        assert_eq!([0.69, 0.7].map(|separation| step.trust(separation)), [0.0, 1.0]);
    }
}
