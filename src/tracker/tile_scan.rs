//! The frame as a grid of search areas, visited one after another, frame after frame.

use super::pose::Pose;

/// A scan through the tiles of the frame.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TileScan {
    /// The tile that was visited last.
    last: usize,
    /// How often all tiles were visited.
    pub passes: usize,
}

/// Columns and rows of tiles whose centres lie at most `step` (x, y) pixels apart in a frame of `size` (width, height).
fn grid(size: (usize, usize), step: (f64, f64)) -> (usize, usize) {
    let count = |length: usize, step: f64| ((length as f64 / step).ceil() as usize).max(1);
    (count(size.0, step.0), count(size.1, step.1))
}

impl TileScan {
    /// The number of tiles whose centres lie at most `step` (x, y) pixels apart in a frame of `size` (width, height).
    pub fn tiles(size: (usize, usize), step: (f64, f64)) -> usize {
        let (columns, rows) = grid(size, step);
        columns * rows
    }

    /// `pose` at the centre of the next tile, row by row; after the last one comes the first.
    pub fn next(&mut self, size: (usize, usize), step: (f64, f64), pose: Pose) -> Pose {
        let (columns, rows) = grid(size, step);
        self.last = (self.last + 1) % (columns * rows);
        self.passes += usize::from(self.last == 0);
        let middle = |tile: usize, count: usize, length: usize| (tile as f64 + 0.5) * length as f64 / count as f64;
        pose.at((middle(self.last % columns, columns, size.0), middle(self.last / columns, rows, size.1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bbox::BBox;

    #[test]
    fn a_scan_visits_every_tile_once_and_begins_again() {
        let (size, step) = ((100, 60), (34.0, 30.0));
        let pose = Pose::of(BBox::new(0.0, 0.0, 10.0, 10.0));
        let mut scan = TileScan::default();
        assert_eq!(TileScan::tiles(size, step), 6);
        let third = 100.0 / 3.0;
        for (column, y) in [(1.5, 15.0), (2.5, 15.0), (0.5, 45.0), (1.5, 45.0), (2.5, 45.0), (0.5, 15.0), (1.5, 15.0)] {
            let center = scan.next(size, step, pose).center;
            assert!((center.0 - column * third).abs() < 1e-9 && center.1 == y, "{center:?} for {column}, {y}");
        }
        assert_eq!(scan.passes, 1);
        assert_eq!(TileScan::tiles(size, (1e9, 1e9)), 1);
    }
}
