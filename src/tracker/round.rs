//! The frame as a grid of search areas, which are gone through one after another, frame after frame.

use super::pose::Pose;
use crate::error::Result;
use crate::tape::{Recorded, Tape};

/// Where the round through the frame stands.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Round {
    /// The area that was searched last.
    last: usize,
}

/// Columns and rows of areas whose centres lie at most `step` (x, y) pixels apart in a frame of `size` (width, height).
fn grid(size: (usize, usize), step: (f64, f64)) -> (usize, usize) {
    let count = |length: usize, step: f64| ((length as f64 / step).ceil() as usize).max(1);
    (count(size.0, step.0), count(size.1, step.1))
}

impl Round {
    /// How many areas there are, whose centres lie at most `step` (x, y) pixels apart in a frame of `size` (width,
    /// height).
    pub fn areas(size: (usize, usize), step: (f64, f64)) -> usize {
        let (columns, rows) = grid(size, step);
        columns * rows
    }

    /// `pose` at the centre of the next area, row by row; after the last comes the first.
    pub fn next(&mut self, size: (usize, usize), step: (f64, f64), pose: Pose) -> Pose {
        let (columns, rows) = grid(size, step);
        self.last = (self.last + 1) % (columns * rows);
        let middle = |area: usize, count: usize, length: usize| (area as f64 + 0.5) * length as f64 / count as f64;
        pose.at((middle(self.last % columns, columns, size.0), middle(self.last / columns, rows, size.1)))
    }
}

impl Recorded for Round {
    fn record(&mut self, tape: &mut Tape<'_>) -> Result<()> {
        tape.count(&mut self.last, u32::MAX as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bbox::BBox;

    #[test]
    fn a_round_visits_every_area_once_and_begins_anew() {
        let (size, step) = ((100, 60), (34.0, 30.0));
        let pose = Pose::of(BBox::new(0.0, 0.0, 10.0, 10.0));
        let mut round = Round::default();
        assert_eq!(Round::areas(size, step), 6);
        let visited: Vec<_> = (0..7).map(|_| round.next(size, step, pose).center).collect();
        let third = 100.0 / 3.0;
        let wanted = [(1.5, 15.0), (2.5, 15.0), (0.5, 45.0), (1.5, 45.0), (2.5, 45.0), (0.5, 15.0), (1.5, 15.0)];
        for (center, (column, y)) in visited.into_iter().zip(wanted) {
            assert!((center.0 - column * third).abs() < 1e-9 && center.1 == y, "{center:?} for {column}, {y}");
        }
        assert_eq!(Round::areas(size, (1e9, 1e9)), 1);
    }
}
