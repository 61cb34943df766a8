//! Localizers find a target around its last pose: a correlation filter, a background-aware filter, a machine over real windows,
//! a network, or two of them together.

use serde::{Deserialize, Serialize};

use super::ResponseMap;
use crate::archive::Archive;
use crate::bbox::{BBox, Turned};
use crate::error::{Error, Result};
use crate::frame::Frame;

/// A bounded search area can hold so many pixels of the frame at most.
const MAX_AREA: f64 = (1 << 28) as f64;

/// A side of a box has this multiple of the frame's longer side at most.
const MAX_SIDES: f64 = 16.0;

/// Feature values below this are rounding and nothing else.
const BLANK: f32 = 1e-6;

/// A target's place on the frame, and its size and angle relative to the initial ones.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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

    /// The pose without a change of aspect, which filters do not follow.
    #[cfg(feature = "neural")]
    #[must_use]
    pub fn plain(self) -> Self {
        Self { aspect: 1.0, ..self }
    }

    /// Width and height, before it has turned, of a target whose initial ones were `first`.
    pub fn size(&self, first: (f64, f64)) -> (f64, f64) {
        (first.0 * self.scale * self.aspect, first.1 * self.scale / self.aspect)
    }

    /// The box of a target whose initial width and height were `size`; of one that has turned the upright box around
    /// the ellipse in its turned box.
    pub fn bbox(&self, size: (f64, f64)) -> BBox {
        self.turned(size).bbox()
    }

    /// The corners `x1, y1, …, x4, y4` of the turned box of a target whose initial width and height were `size`, in the
    /// order of an upright box from its upper left one clockwise; `None` where it has not turned.
    pub fn polygon(&self, size: (f64, f64)) -> Option<[f64; 8]> {
        self.turned(size).corners()
    }

    fn turned(&self, size: (f64, f64)) -> Turned {
        Turned { center: self.center, size: self.size(size), angle: self.angle }
    }
}

/// How far the box of a frame stands out from everything else that was considered. It is of the returned box, not of
/// another maximum of the response. One exception: where states are made of the confidence and the box stays, because the
/// target is lost or occluded, the evidence is of the best place around it. By default there is no evidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Evidence {
    /// The filter's answer at the box, or a machine's decision: near 1 for a KCF that sees what it has learned, up to
    /// about 2 for a background-aware filter, whose response map is this merged with colour. There, PSR and APCE are of
    /// the filter alone too.
    pub peak: f32,
    /// Peak-to-sidelobe ratio, `(peak - mean) / standard deviation` of the cells around it (Bolme et al., CVPR 2010);
    /// 0 for a flat map.
    pub psr: f32,
    /// Average peak-to-correlation energy, `(max - min)² / mean((f - min)²)` (Wang et al., CVPR 2017); 0 for a flat
    /// map.
    pub apce: f32,
    /// Decision of a kernel machine, the detector or the guard, about the box. Its classes lie about +1 and -1: their
    /// means do, those of `krr` are lower, and `svm` has its margins there. `None` without a machine, or where there
    /// was no texture to judge.
    pub decision: Option<f32>,
    /// The answer at the box of a filter that follows far more slowly: small where the target does not look as it did
    /// for long. `None` without such a filter.
    pub long_term: Option<f32>,
    /// The mean likelihood of the colours in the box, 0 to 1. `None` for a search without colour, and in gray frames.
    pub color: Option<f32>,
    /// Appearance score of the box: about 1 for the target as it was, -1 for its surroundings. `None` for a search that
    /// does not compare.
    pub identity: Option<f32>,
    /// The score of a network at its own box, 0 to 1, when it was asked last. `None` without a network.
    pub network: Option<f32>,
    /// The overlap of the network's box with that of the filter then.
    pub agreement: Option<f32>,
    /// How like the features are that the network makes of the box and of the given one: their cosine.
    pub similarity: Option<f32>,
    /// The probability that the box overlaps the target by more than half: a calibration, fitted to sequences with
    /// truth. Where states are made of it, the frames before count half. `None` for a search without a calibration, and
    /// for the given box.
    pub confidence: Option<f32>,
    /// Whether the machine could not be fitted to this frame, so that its earlier decision function stays.
    pub refit_kept: bool,
}

/// Answer of a verifier about a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Likeness {
    /// There is no verifier, or it cannot judge this frame.
    Unknown,
    /// The place does not look like what was given.
    Denied,
    /// The place may show the target.
    Plausible,
    /// The place certainly shows the target.
    Certain,
}

/// Result of a localizer for one frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Located {
    /// Where the target is most likely; where it was looked for if there was nothing to see.
    pub pose: Pose,
    pub evidence: Evidence,
    /// The calibrated probability that the box overlaps the target by more than half; `None` without a calibration.
    pub probability: Option<f64>,
    pub likeness: Likeness,
    /// Whether there was any texture in the search area, and a response of finite numbers.
    pub seen: bool,
    /// Where the box of a lost target is shown, with the evidence for that place; at the place of the loss where there is
    /// none.
    pub guess: Option<(Pose, Evidence)>,
}

impl Located {
    /// A place that nothing was compared with.
    pub fn new(pose: Pose, evidence: Evidence, probability: Option<f64>, seen: bool) -> Self {
        Self { pose, evidence, probability, likeness: Likeness::Unknown, seen, guess: None }
    }

    /// The probability; 0 where there was nothing to see, or without a calibration.
    pub fn certainty(&self) -> f64 {
        self.probability.filter(|_| self.seen).unwrap_or(0.0)
    }
}

/// Parts of a pose that a localizer estimates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// Place, size and angle, as from one frame to the next.
    Pose,
    /// As `Pose`, of a lost target: `at` is the place of the loss in every frame.
    Lost,
    /// The place alone, for areas where a lost target may be: cheaper, and no step in the target's motion.
    Place,
}

/// How a frame is learned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Update {
    /// Learns by the localizer's own rate, gate, schedule and frames.
    Usual,
    /// Learns with this share of the model: the target was put there.
    Blend(f64),
    /// Learns whatever the schedule, with the model held near the one before by this factor of the usual weight.
    Held(f64),
}

/// Result of `learn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Learned {
    /// The model follows the frame, or it was not this frame's turn.
    Done,
    /// The fit failed: the earlier model stays.
    KeptModel,
}

/// One target's model, and what it answers to the next frame.
pub(super) trait Localizer: BoxedClone + std::fmt::Debug + Send + Sync {
    /// Scores all translations around `at` and finds the best. The model does not change.
    fn locate(&mut self, frame: &Frame<'_>, at: Pose, extent: Extent) -> Located;

    /// Scores `at` only, like [`Localizer::locate`]; the pose stays `at`.
    fn score_at(&mut self, frame: &Frame<'_>, at: Pose) -> Located;

    /// Offers a located frame, the target at its pose.
    fn learn(&mut self, frame: &Frame<'_>, located: &Located, update: Update) -> Learned;

    /// Copies the models, with the target at `at`, if it is time for a copy.
    fn snapshot(&mut self, at: Pose);

    /// Puts the models of the last snapshot back, and returns the pose of the target then; `None` of a localizer that
    /// keeps none.
    fn restore(&mut self) -> Option<Pose>;

    /// Restarts the search: the next look is around `at`, and continues nothing.
    fn restart(&mut self, at: Pose);

    /// The response of the last look.
    fn response(&self) -> ResponseMap<'_>;

    /// Writes or reads what has changed since the target was given.
    fn transfer(&mut self, archive: &mut Archive<'_>);
}

/// A copy, as `Clone` cannot be asked for behind a pointer.
pub(super) trait BoxedClone {
    fn boxed_clone(&self) -> Box<dyn Localizer>;
}

impl<L: Localizer + Clone + 'static> BoxedClone for L {
    fn boxed_clone(&self) -> Box<dyn Localizer> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Localizer> {
    fn clone(&self) -> Self {
        (**self).boxed_clone()
    }
}

/// Checks that a target can begin at `bbox` in a frame of this width and height, as [`Tracker::init`](super::Tracker::init)
/// asks it.
///
/// # Errors
/// [`Error::Box`] with the reason why not.
pub fn check_start((width, height): (usize, usize), bbox: BBox) -> Result<()> {
    let refuse = |reason: String| Err(Error::Box { bbox, reason });
    if !bbox.is_valid() {
        return refuse("width and height must be above zero and all four numbers finite".into());
    }
    if bbox.w < 1.0 || bbox.h < 1.0 {
        return refuse("it is smaller than a pixel".into());
    }
    let longest = MAX_SIDES * width.max(height) as f64;
    if bbox.area() > MAX_AREA || bbox.w.max(bbox.h) > longest {
        return refuse(format!("it is far larger than the frame of {width}x{height} pixels"));
    }
    if bbox.visible_share(width, height) <= 0.0 {
        return refuse(format!("it lies outside the frame of {width}x{height} pixels"));
    }
    Ok(())
}

/// Whether features are blank, as those of a uniform picture.
pub(super) fn is_blank(features: &[f32]) -> bool {
    features.iter().all(|v| v.abs() < BLANK)
}

/// The error for a box around nothing.
pub(super) fn uniform(bbox: BBox) -> Error {
    let reason = "the picture is uniform there, so that there is nothing to follow; start at another frame".into();
    Error::Box { bbox, reason }
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
}
