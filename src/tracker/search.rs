//! The trait of all searches for a target: by a correlation filter, by a machine over real windows, by a network. A search
//! moves the [`Pose`] of the target.

use serde::Serialize;

use super::{ResponseMap, State};
use crate::bbox::BBox;
use crate::error::{Error, Result};
use crate::frame::Frame;

/// A bounded search area can hold so many pixels of the frame at most.
const MAX_AREA: f64 = (1 << 28) as f64;

/// Feature values below this are rounding and nothing else.
const BLANK: f32 = 1e-6;

/// A target's place on the frame, and its size and angle relative to the initial ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    /// The centre `(x, y)` in pixels of the frame, 0-based as [`BBox::center`].
    pub center: (f64, f64),
    /// The target's size now over that of the initial box, as roots of the areas.
    pub scale: f64,
    /// How far the target has turned in the picture since the initial box, in radians, positive from x to y: clockwise
    /// on a screen.
    pub angle: f64,
    /// The root of the ratio of width to height now, over that of the initial box: width grows by it, height shrinks.
    pub aspect: f64,
}

impl Pose {
    /// The pose of the initial box itself.
    pub fn of(bbox: BBox) -> Self {
        Self { center: bbox.center(), scale: 1.0, angle: 0.0, aspect: 1.0 }
    }

    /// The same size and angle at another place.
    #[must_use]
    pub fn at(self, center: (f64, f64)) -> Self {
        Self { center, ..self }
    }

    /// Width and height, before it has turned, of a target whose initial ones were `first`.
    pub fn size(&self, first: (f64, f64)) -> (f64, f64) {
        (first.0 * self.scale * self.aspect, first.1 * self.scale / self.aspect)
    }

    /// The box of a target whose initial width and height were `size`; of one that has turned the upright box around
    /// the ellipse in its turned box.
    pub fn bbox(&self, size: (f64, f64)) -> BBox {
        let (mut w, mut h) = self.size(size);
        if self.angle != 0.0 {
            let (sin, cos) = libm::sincos(self.angle);
            (w, h) = (libm::hypot(w * cos, h * sin), libm::hypot(w * sin, h * cos));
        }
        BBox::new(self.center.0 - w / 2.0, self.center.1 - h / 2.0, w, h)
    }

    /// The corners `x1, y1, …, x4, y4` of the turned box of a target whose initial width and height were `size`, in the
    /// order of an upright box from its upper left one clockwise; `None` where it has not turned.
    pub fn polygon(&self, size: (f64, f64)) -> Option<[f64; 8]> {
        let (w, h) = self.size(size);
        let (w, h) = (w / 2.0, h / 2.0);
        let (sin, cos) = libm::sincos(self.angle);
        let corner = |x: f64, y: f64| (self.center.0 + cos * x - sin * y, self.center.1 + sin * x + cos * y);
        let [a, b, c, d] = [corner(-w, -h), corner(w, -h), corner(w, h), corner(-w, h)];
        (self.angle != 0.0).then_some([a.0, a.1, b.0, b.1, c.0, c.1, d.0, d.1])
    }
}

/// How far the box of a frame stands out from everything else that was considered. It is of the returned box, not of
/// another maximum of the response. One exception: where states are made of the confidence and the box stays, because the
/// target is lost or hidden, the evidence is of the best place around it. By default there is no evidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Evidence {
    /// The filter's answer there, or a machine's decision: near 1 for a KCF that sees what it has learned, up to about
    /// 2 for a background-aware filter, whose response map is this merged with colour. There, PSR and APCE are of the
    /// filter alone too.
    pub peak: f32,
    /// Peak-to-sidelobe ratio, `(peak - mean) / standard deviation` of the cells around it (Bolme et al., CVPR 2010);
    /// 0 for a flat map.
    pub psr: f32,
    /// Average peak-to-correlation energy, `(max - min)² / mean((f - min)²)` (Wang et al., CVPR 2017); 0 for a flat
    /// map.
    pub apce: f32,
    /// What a kernel machine, the detector or the guard, says of the box. Its classes lie about +1 and -1: their means
    /// do, those of `krr` are lower, and `svm` has its margins there. `None` without a machine, or where there was no
    /// texture to judge.
    pub decision: Option<f32>,
    /// The answer there of a filter that follows far more slowly: small where the target does not look as it has for long.
    /// `None` of a search without one.
    pub long_term: Option<f32>,
    /// The mean likelihood of the colours in the box, 0 to 1. `None` of a search without colour, and in gray frames.
    pub color: Option<f32>,
    /// How much the box looks like what was given: about 1 for the target as it was, -1 for its surroundings. `None` of a
    /// search that does not compare.
    pub identity: Option<f32>,
    /// The score of a network at its own box, 0 to 1, when it was asked last. `None` without a network.
    pub network: Option<f32>,
    /// The overlap of the network's box with that of the filter then.
    pub agreement: Option<f32>,
    /// How like the features are that the network makes of the box and of the given one: their cosine.
    pub similarity: Option<f32>,
    /// The probability that the box overlaps the target by more than half: a calibration, fitted to sequences with
    /// truth. Where states are made of it, the frames before count half. `None` of a search that has none, and of the box
    /// that was given.
    pub confidence: Option<f32>,
    /// Whether the machine could not be fitted to this frame, so that its earlier decision function stays.
    pub refit_kept: bool,
}

/// What a search says of one frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Detection {
    /// Where the target is most likely; where it was looked for if there was nothing to see.
    pub pose: Pose,
    pub evidence: Evidence,
    /// Whether there was any texture in the search area, and a response of finite numbers.
    pub seen: bool,
    /// Where the box goes although the target is lost, with what speaks for it; the box stays where there is none.
    pub guess: Option<(Pose, Evidence)>,
}

/// Scales of the search for a lost target, over its last one: it may come back nearer or farther away.
pub(super) const SCAN_SCALES: [f64; 3] = [1.0, MAX_SCAN_SCALE, 0.8];
/// The largest of them.
pub(super) const MAX_SCAN_SCALE: f64 = 1.25;

/// When a lost target is found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Finds {
    /// Least answer of the identity, where there is one.
    pub identity: f64,
    /// Frames in a row.
    pub frames: usize,
}

impl Default for Finds {
    /// In one frame, whatever an identity says.
    fn default() -> Self {
        Self { identity: f64::NEG_INFINITY, frames: 1 }
    }
}

/// What became of an offer to learn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Learned {
    /// The model follows the frame, or it was not this frame's turn.
    Done,
    /// The fit failed: the earlier model stays.
    KeptModel,
}

/// One target's model and the search for it in the next frame.
pub(super) trait Search: std::fmt::Debug + Send + Sync {
    /// Scores all translations around `at` and finds the best. The model stays as it is.
    fn detect(&mut self, frame: &Frame<'_>, at: Pose) -> Detection;

    /// As [`Search::detect`], but scores only `at`. The pose stays `at`.
    fn evaluate_at(&mut self, frame: &Frame<'_>, at: Pose) -> Detection;

    /// Offers the frame of a detection with this evidence, the target at `at`. With a `rate` it is learned by that share,
    /// without, by the search's own rate, gate, schedule and frames.
    fn learn(&mut self, frame: &Frame<'_>, at: Pose, evidence: &Evidence, rate: Option<f64>) -> Learned;

    /// The state of a frame with this evidence, of a search whose states are not made of its confidence.
    fn state(&self, evidence: &Evidence) -> State {
        let _ = evidence;
        State::Tracking
    }

    /// The probability that the box of this evidence overlaps the target by more than half; `None` of a search that is
    /// not calibrated.
    fn confidence(&self, evidence: &Evidence) -> Option<f64> {
        let _ = evidence;
        None
    }

    /// As [`Search::detect`], without following size and angle: cheaper, for places where the target may be.
    fn probe(&mut self, frame: &Frame<'_>, at: Pose) -> Detection {
        self.detect(frame, at)
    }

    /// The target is at `to`, or is looked for there next, by another's word than [`Search::detect`]'s: a scan's or a
    /// guard's.
    fn moved(&mut self, to: Pose) {
        let _ = to;
    }

    /// Undoes what was learned since the target was last certain, and returns its pose then; `None` of a search that
    /// keeps no earlier model.
    fn restore(&mut self) -> Option<Pose> {
        None
    }

    /// Whether the place of this evidence does not look like what was given; never of a search without an identity.
    fn denies(&self, evidence: &Evidence) -> bool {
        let _ = evidence;
        false
    }

    /// What a place far from the last one must show: an answer of the identity, and frames in a row.
    fn finds(&self) -> Finds {
        Finds::default()
    }

    /// The response of the last detection.
    fn response(&self) -> ResponseMap<'_>;

    /// A copy, as `Clone` cannot be asked for behind a pointer.
    fn boxed_clone(&self) -> Box<dyn Search>;
}

impl Clone for Box<dyn Search> {
    fn clone(&self) -> Self {
        self.boxed_clone()
    }
}

/// Whether a target can be at `bbox` in such frames at all.
///
/// # Errors
/// [`Error::Box`] with the reason why not.
pub(super) fn check_box((width, height): (usize, usize), bbox: BBox) -> Result<()> {
    let refuse = |reason: String| Err(Error::Box { bbox, reason });
    if !bbox.is_valid() {
        return refuse("width and height must be above zero and all four numbers finite".into());
    }
    if bbox.w < 1.0 || bbox.h < 1.0 {
        return refuse("it is smaller than a pixel".into());
    }
    if bbox.area() > MAX_AREA {
        return refuse(format!("it is far larger than the frame of {width}x{height} pixels"));
    }
    if bbox.visible_share(width, height) <= 0.0 {
        return refuse(format!("it lies outside the frame of {width}x{height} pixels"));
    }
    Ok(())
}

/// Whether features hold nothing at all: a uniform picture.
pub(super) fn is_blank(features: &[f32]) -> bool {
    features.iter().all(|v| v.abs() < BLANK)
}

/// The error for a box around nothing.
pub(super) fn uniform(bbox: BBox) -> Error {
    let reason = "the picture is uniform there, so that there is nothing to follow; start at another frame".into();
    Error::Box { bbox, reason }
}

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
    fn a_pose_gives_its_box_back() {
        let bbox = BBox::new(10.5, -3.0, 31.0, 20.0);
        assert_eq!(Pose::of(bbox).bbox((31.0, 20.0)), bbox);
        let grown = Pose { scale: 2.0, ..Pose::of(bbox) }.at((40.0, 50.0)).bbox((31.0, 20.0));
        assert_eq!(grown, BBox::new(9.0, 30.0, 62.0, 40.0));
        // Turned by a right angle, width and height change places.
        let turned = Pose { angle: std::f64::consts::FRAC_PI_2, ..Pose::of(bbox) }.bbox((31.0, 20.0));
        assert!((turned.w - 20.0).abs() < 1e-9 && (turned.h - 31.0).abs() < 1e-9);
        assert!(turned.center_error(&bbox) < 1e-9);
    }

    #[test]
    fn a_turned_box_is_a_polygon() {
        let pose = Pose::of(BBox::new(10.0, 20.0, 30.0, 10.0));
        assert_eq!(pose.polygon((30.0, 10.0)), None);
        // By a right angle, clockwise on a screen: the upper left corner comes to the upper right.
        let turned = Pose { angle: std::f64::consts::FRAC_PI_2, ..pose }.polygon((30.0, 10.0)).unwrap();
        let expected = [30.0, 10.0, 30.0, 40.0, 20.0, 40.0, 20.0, 10.0];
        assert!(turned.iter().zip(expected).all(|(found, corner)| (found - corner).abs() < 1e-9), "{turned:?}");
        let doubled = Pose { angle: 0.3, scale: 2.0, ..pose }.polygon((30.0, 10.0)).unwrap();
        let side = (doubled[2] - doubled[0]).hypot(doubled[3] - doubled[1]);
        assert!((side - 60.0).abs() < 1e-9 && doubled[3] > doubled[1], "{doubled:?}");
    }

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
