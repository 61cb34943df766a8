//! Redetection of a lost target: tiles of the whole frame at several sizes, and a candidate over several frames.

use serde::{Deserialize, Serialize};

use super::lifecycle::Rules;
use super::localizer::{Extent, Localizer, Located, Pose};
use super::params::{BackgroundParams, ConfidenceParams, ExpertParams, IdentityParams, SearchParams};
use super::scene_cut::SceneCut;
use crate::archive::Archive;
use crate::frame::Frame;

/// Scales of the search for a lost target, over its last one: it may come back nearer or farther away.
const SCALES: [f64; 3] = [1.0, MAX_SCALE, 0.8];
/// The largest scale.
pub(super) const MAX_SCALE: f64 = 1.25;

/// Frames in a row in which a target must be found in another scene, and least peak-to-sidelobe ratio.
const FRAMES_IN_ANOTHER_SCENE: usize = 5;
const PSR_IN_ANOTHER_SCENE: f32 = 18.0;

/// Criteria that a place far from the last one must meet.
#[derive(Clone, Copy, Debug)]
pub(super) struct RedetectionCriteria {
    /// Least calibrated probability.
    pub probability: f64,
    /// Least appearance score, where there is one.
    pub appearance: f64,
    /// Frames in a row.
    pub frames: usize,
    /// Search areas a frame.
    pub tiles: usize,
}

impl RedetectionCriteria {
    /// The criteria of a localizer with these settings; `None` if it never searches for a lost target.
    pub fn of(search: &SearchParams) -> Option<Self> {
        let ConfidenceParams { redetected_from, tiles, .. } = Rules::of(search).confidence()?;
        let (appearance, frames) = match search {
            SearchParams::Background(BackgroundParams { identity: IdentityParams::Krr(machine), .. })
            | SearchParams::Expert(ExpertParams {
                filter: BackgroundParams { identity: IdentityParams::Krr(machine), .. },
                ..
            }) => (machine.find_from, machine.find_frames),
            SearchParams::Siamese(_) => (f64::NEG_INFINITY, 1),
            _ => (f64::NEG_INFINITY, 2),
        };
        Some(Self { probability: redetected_from, appearance, frames, tiles })
    }
}

/// State of the search for a lost target.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// The pose of the box.
    pub pose: Pose,
    /// Least response of the long-term model.
    pub min_long_term: f64,
    /// Whether the frame shows another scene than the one of the target.
    pub another_scene: bool,
}

/// The search for one lost target.
#[derive(Clone, Debug)]
pub(super) struct Redetection {
    pub scene: SceneCut,
    criteria: RedetectionCriteria,
    scan: TileScan,
    /// The last accepted place, and the number of frames in a row that accepted it.
    candidate: Option<(Pose, usize)>,
}

impl Redetection {
    /// The search for a target that was given in this frame.
    pub fn new(criteria: RedetectionCriteria, frame: &Frame<'_>) -> Self {
        Self { scene: SceneCut::new(frame), criteria, scan: TileScan::default(), candidate: None }
    }

    /// Writes or reads how far the search has come.
    pub fn transfer(&mut self, archive: &mut Archive<'_>) {
        self.scene.transfer(archive);
        archive.value(&mut self.scan);
        archive.value(&mut self.candidate);
    }

    /// A place of an earlier loss says nothing in the next one.
    pub fn forget(&mut self) {
        self.candidate = None;
    }

    /// The target, once it was accepted in enough frames in a row.
    pub fn search(&mut self, localizer: &mut dyn Localizer, frame: &Frame<'_>, wanted: Wanted) -> Option<Located> {
        let least = if wanted.another_scene { FRAMES_IN_ANOTHER_SCENE } else { 1 };
        let needed = self.criteria.frames.max(least);
        // The search looks at the candidate or scans tiles, so that the time of a frame is bounded.
        let (found, frames) = match self.candidate.take() {
            Some((pose, frames)) => (self.accepted(localizer.locate(frame, pose, Extent::Pose), wanted), frames + 1),
            None => (self.scan_tiles(localizer, frame, wanted), 1),
        };
        self.candidate = found.filter(|_| frames < needed).map(|found| (found.pose, frames));
        found.filter(|_| frames >= needed)
    }

    /// The best accepted place in the next tiles of the frame.
    fn scan_tiles(&mut self, localizer: &mut dyn Localizer, frame: &Frame<'_>, wanted: Wanted) -> Option<Located> {
        let area = localizer.response();
        let reach = (area.values.ncols() as f64 * area.step.0 / 2.0, area.values.nrows() as f64 * area.step.1 / 2.0);
        let size = frame.size();
        // The search takes one size per pass, so that each place is searched at all of them.
        let takes_turns = self.criteria.frames > 1 || wanted.another_scene;
        let scale = if takes_turns { SCALES[self.scan.passes % SCALES.len()] } else { 1.0 };
        let last = Pose { scale: wanted.pose.scale * scale, ..wanted.pose };
        let mut best: Option<Located> = None;
        // The areas overlap by half: the window hides what lies at the border of one.
        for _ in 0..self.criteria.tiles.min(TileScan::tiles(size, reach)) {
            let there = self.scan.next(size, reach, last);
            let found = self.accepted(localizer.locate(frame, there, Extent::Place), wanted);
            best = found.into_iter().chain(best).reduce(|a, b| if b.probability > a.probability { b } else { a });
        }
        best
    }

    /// A place far from the last one, if it meets the criteria.
    fn accepted(&self, there: Located, wanted: Wanted) -> Option<Located> {
        let evidence = &there.evidence;
        let meets_all = there.seen
            && there.probability.is_some_and(|probability| probability >= self.criteria.probability)
            && (!wanted.another_scene || evidence.psr >= PSR_IN_ANOTHER_SCENE)
            && !evidence.long_term.is_some_and(|response| f64::from(response) < wanted.min_long_term)
            && evidence.identity.is_none_or(|score| f64::from(score) >= self.criteria.appearance);
        meets_all.then_some(there)
    }
}

/// A scan through the tiles of the frame.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct TileScan {
    /// The tile that was visited last.
    last: usize,
    /// Number of complete passes over all tiles.
    passes: usize,
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
