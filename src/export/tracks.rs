//! The targets of a run over time, and the keyframes that are enough for annotation tools.

use super::record::{BOX_DIGITS, rounded};
use super::{FrameRecord, Run};
use crate::bbox::{BBox, Turned};
use crate::tracker::State;

/// One target in one frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shape {
    /// 1-based position of the frame.
    pub index: usize,
    /// Seconds from the first frame of the source.
    pub time: Option<f64>,
    /// The upright box; for a rotated target, before its rotation about the centre.
    pub bbox: BBox,
    /// Rotation in degrees, clockwise, from 0 to 360.
    pub turn: f64,
    /// Whether the box was given.
    pub given: bool,
    /// Whether the target is there, seen or occluded.
    pub visible: bool,
    /// Whether something covers the target.
    pub occluded: bool,
}

impl Shape {
    /// The next frame, in which the target is not there.
    pub fn gone(&self) -> Self {
        Self { index: self.index + 1, visible: false, occluded: false, given: false, ..*self }
    }
}

/// The upright box of a box that is rotated by `turn` degrees about its centre.
pub(super) fn upright(bbox: BBox, turn: f64) -> BBox {
    match turn {
        0.0 => bbox,
        _ => Turned { angle: turn.to_radians(), ..bbox.into() }.bbox(),
    }
}

/// The corners of a box, clockwise from the original top-left one.
pub(super) type Corners = [(f64, f64); 4];

/// The corners of a box that is rotated by `turn` degrees about a point.
pub(super) fn corners(&BBox { x, y, w, h }: &BBox, about: (f64, f64), turn: f64) -> Corners {
    let (sin, cos) = turn.to_radians().sin_cos();
    [(x, y), (x + w, y), (x + w, y + h), (x, y + h)].map(|(x, y)| {
        let (x, y) = (x - about.0, y - about.1);
        (about.0 + cos * x - sin * y, about.1 + sin * x + cos * y)
    })
}

/// The upright box and the rotation of a rectangle given by its corners.
fn turned_back(corners: [f64; 8]) -> (BBox, f64) {
    let Turned { center: (x, y), size: (w, h), angle } = corners.into();
    let bbox = [x - w / 2.0, y - h / 2.0, w, h].map(|number| rounded(number, BOX_DIGITS));
    let turn = rounded(angle.to_degrees(), TURN_DIGITS);
    // Rounding can reach 360.
    (bbox.into(), rounded(turn.rem_euclid(360.0), TURN_DIGITS) % 360.0)
}

/// Decimals of an angle: a hundredth of a pixel at a radius of a thousand.
const TURN_DIGITS: i32 = 4;

/// One target over time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Track {
    pub id: u32,
    pub shapes: Vec<Shape>,
}

/// The tracks of a run, in the order in which they begin.
#[derive(Clone, Debug, Default)]
pub(super) struct Tracks {
    pub all: Vec<Track>,
    /// Whether a rotated target has its rotated box, in place of the upright one.
    turned: bool,
}

impl Tracks {
    pub fn new(turned: bool) -> Self {
        Self { all: Vec::new(), turned }
    }

    /// Adds a record. A record without a finite box repeats the last box.
    pub fn add(&mut self, record: &FrameRecord) {
        let id = record.id.unwrap_or(1);
        let known = self.all.iter().position(|track| track.id == id);
        let place = known.unwrap_or(self.all.len());
        if known.is_none() {
            self.all.push(Track { id, shapes: Vec::new() });
        }
        let track = &mut self.all[place];
        let turned = record.finite_polygon().filter(|_| self.turned).map(turned_back);
        let here = record.finite_box().map(|bbox| turned.unwrap_or((bbox, 0.0)));
        let Some((bbox, turn)) = here.or(track.shapes.last().map(|shape| (shape.bbox, shape.turn))) else { return };
        let (given, occluded) = (record.state == State::Initial, record.state == State::Occluded);
        let visible = record.is_there();
        // A target that was ended is not there until it is given a box again.
        if let Some(last) = track.shapes.last().filter(|last| last.visible && last.index + 1 < record.index) {
            track.shapes.push(last.gone());
        }
        track.shapes.push(Shape { index: record.index, time: record.time, bbox, turn, given, visible, occluded });
    }

    /// Position of the last frame that is known of a run of these targets: the last of a track, or the next if a target
    /// was ended there; 0 without any. An end that lies farther ahead may be one that the run never came to.
    pub fn last(&self, run: &Run) -> usize {
        let shown = self.all.iter().filter_map(|track| track.shapes.last()).map(|shape| shape.index).max().unwrap_or(0);
        let mut ends = run.targets.iter().flat_map(|target| &target.given).filter(|given| given.bbox.is_none());
        shown + usize::from(ends.any(|given| given.frame == shown + 1))
    }
}

/// Pixels by which frames may differ that are left to interpolation, by default.
pub const TOLERANCE: f64 = 1.0;

/// Which shapes are needed so that linear interpolation of their `values` restores all others: no corner is farther off
/// than `tolerance`. Given boxes stay, and the frames where a target comes, goes, is covered or uncovered; of frames
/// without it the first stays. Values are x, y, w, h and the degrees of a turn about the corner (`about` 0) or the centre
/// (.5).
pub(super) fn keyframes(shapes: &[Shape], values: &[[f64; 5]], about: f64, tolerance: f64) -> Vec<bool> {
    let corners = |[x, y, w, h, turn]: [f64; 5]| corners(&BBox::new(x, y, w, h), (x + about * w, y + about * h), turn);
    let mut keep = vec![false; shapes.len()];
    let is_shown = |at: Option<usize>| at.and_then(|at| shapes.get(at)).is_some_and(|shape| shape.visible);
    let is_fixed = |at: usize| {
        let (before, here, after) = (is_shown(at.checked_sub(1)), is_shown(Some(at)), is_shown(Some(at + 1)));
        let changes = at.checked_sub(1).is_some_and(|before| shapes[before].occluded != shapes[at].occluded);
        if here { shapes[at].given || !before || !after || changes } else { before || at == 0 }
    };
    let fixed: Vec<usize> = (0..shapes.len()).filter(|&at| is_fixed(at)).collect();
    fixed.iter().for_each(|&at| keep[at] = true);
    // A span is split at its worst frame until all are close enough (Ramer 1972).
    let mut spans: Vec<_> = fixed.windows(2).map(|ends| (ends[0], ends[1])).collect();
    while let Some((from, to)) = spans.pop() {
        let (start, steps) = (shapes[from].index as f64, (shapes[to].index - shapes[from].index) as f64);
        let error = |at: usize| {
            let share = (shapes[at].index as f64 - start) / steps;
            let between = std::array::from_fn(|i| values[from][i] + share * (values[to][i] - values[from][i]));
            let pairs = corners(between).into_iter().zip(corners(values[at]));
            pairs.map(|(a, b)| (a.0 - b.0).hypot(a.1 - b.1)).fold(0.0, f64::max)
        };
        let between = (from + 1..to).filter(|&at| shapes[at].visible);
        let worst = between.map(|at| (error(at), at)).max_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((_, at)) = worst.filter(|(error, _)| *error > tolerance) {
            keep[at] = true;
            spans.extend([(from, at), (at, to)]);
        }
    }
    keep
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::tests::run;

    #[test]
    fn interpolated_keyframes_restore_all_shapes() {
        let (_, records) = run();
        let mut tracks = Tracks::new(true);
        for index in (1..=200).filter(|index| !(120..140).contains(index)) {
            let at = index as f64;
            let state = match index {
                1 | 77 => State::Initial,
                30..=40 => State::Lost,
                50..=60 => State::Occluded,
                _ => State::Tracking,
            };
            let jump = if index >= 77 { 40.0 } else { 0.0 };
            let bbox = BBox::new(jump + 30.0 * (at / 9.0).sin(), at * 1.5, 20.0 + (at / 30.0).cos(), 10.0);
            tracks.add(&FrameRecord { index, state, bbox, ..records[1].clone() });
        }
        let shapes = &tracks.all[0].shapes;
        let value = |&Shape { bbox: BBox { x, y, w, h }, .. }: &Shape| [x, y, w, h, 0.0];
        let values: Vec<_> = shapes.iter().map(value).collect();
        for tolerance in [0.0, 0.5, 3.0] {
            let keep = keyframes(shapes, &values, 0.5, tolerance);
            let keys: Vec<_> = (0..shapes.len()).filter(|&at| keep[at]).collect();
            assert!(keys.iter().filter(|&&at| shapes[at].given).count() == 2 && keep[shapes.len() - 1]);
            assert!(keys.len() < [181, 80, 40][(tolerance * 0.5).ceil() as usize], "{tolerance}: {}", keys.len());
            for pair in keys.windows(2).filter(|pair| shapes[pair[0]].visible) {
                for at in pair[0]..pair[1] {
                    assert!(shapes[at].visible);
                    assert_eq!(shapes[at].occluded, shapes[pair[0]].occluded, "{at}");
                    let [from, to] = [pair[0], pair[1]].map(|at| shapes[at].index as f64);
                    let share = (shapes[at].index as f64 - from) / (to - from);
                    let between = |i: usize| {
                        let (a, b) = (values[pair[0]][i], values[pair[1]][i]);
                        a + share * (b - a) - values[at][i]
                    };
                    // How far the top-left and the bottom-right corner are off.
                    for (x, y) in [(between(0), between(1)), (between(0) + between(2), between(1) + between(3))] {
                        let error = x.hypot(y);
                        assert!(at == pair[0] || error <= tolerance + 1e-9, "{tolerance}, {at}: {error}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_target_is_gone_between_its_end_and_its_next_box() {
        let mut tracks = Tracks::new(false);
        let records = run().1;
        for index in [1, 2, 5, 6] {
            tracks.add(&FrameRecord { index, ..records[1].clone() });
        }
        let shown: Vec<_> = tracks.all[0].shapes.iter().map(|shape| (shape.index, shape.visible)).collect();
        assert_eq!(shown, [(1, true), (2, true), (3, false), (5, true), (6, true)]);
    }

    #[test]
    fn a_rotated_box_has_its_upright_box_and_angle() {
        let (_, records) = run();
        for degrees in [0.5_f64, 30.0, 90.0, 179.0, 200.0, 359.9] {
            let (sin, cos) = degrees.to_radians().sin_cos();
            let corner = |(x, y): (f64, f64)| [40.0 + cos * x - sin * y, 30.0 + sin * x + cos * y];
            let corners = [(-10.0, -5.0), (10.0, -5.0), (10.0, 5.0), (-10.0, 5.0)].map(corner);
            let polygon: [f64; 8] = corners.concat().try_into().unwrap();
            let mut tracks = Tracks::new(true);
            tracks.add(&FrameRecord { polygon: Some(polygon), ..records[1].clone() });
            let shape = tracks.all[0].shapes[0];
            assert!((shape.turn - degrees).abs() < 1e-3, "{degrees}: {shape:?}");
            assert_eq!((shape.bbox.w, shape.bbox.h, shape.bbox.center()), (20.0, 10.0, (40.0, 30.0)));
            let found = super::corners(&shape.bbox, shape.bbox.center(), shape.turn).map(|(x, y)| [x, y]).concat();
            assert!(found.iter().zip(polygon).all(|(found, at)| (found - at).abs() < 0.001), "{found:?} {polygon:?}");
        }
        // An upright box stays bit-identical.
        let mut tracks = Tracks::new(true);
        tracks.add(&records[1]);
        assert_eq!((tracks.all[0].shapes[0].bbox, tracks.all[0].shapes[0].turn), (records[1].bbox, 0.0));
    }
}
