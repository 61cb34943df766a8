//! What every way of searching for a target answers to, whatever finds it: a correlation filter or a machine over real
//! windows.

use serde::Serialize;

use super::pose::Pose;
use super::{ResponseMap, State};
use crate::bbox::BBox;
use crate::error::{Error, Result};
use crate::frame::{Frame, PixelFormat};

/// A bounded search area can hold so many pixels of the frame at most.
const MAX_AREA: f64 = (1 << 28) as f64;

/// Feature values below this are rounding and nothing else.
const BLANK: f32 = 1e-6;

/// How far the box of a frame stands out from everything else that was considered. All of it is of that box, not of
/// another maximum of the response; but where states are made of the confidence, and the target is lost, the box stays
/// where it was, and the evidence is of the best place around it. By default nothing speaks for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
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
    #[cfg(feature = "neural")]
    pub network: Option<f32>,
    /// The overlap of the network's box with that of the filter then.
    #[cfg(feature = "neural")]
    pub agreement: Option<f32>,
    /// How like the features are that the network makes of the box and of the given one: their cosine.
    #[cfg(feature = "neural")]
    pub similarity: Option<f32>,
    /// The probability that the box overlaps the target by more than half: a calibration, fitted to sequences with
    /// truth. `None` of a search that has none, and of the box that was given.
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
    /// Where the target was last, in the search's own rounding: at first, the initial box.
    fn pose(&self) -> Pose;

    /// Scores all translations around `at` and finds the best. The model stays as it is.
    fn detect(&mut self, frame: &Frame<'_>, at: Pose) -> Detection;

    /// As [`Search::detect`], but scores only `at`. The pose stays `at`.
    fn evaluate_at(&mut self, frame: &Frame<'_>, at: Pose) -> Detection;

    /// Offers the frame of a detection with this evidence, the target at `at`. With a `rate` it is learned by that share,
    /// without, by the search's own rate, gate, schedule and frames.
    fn learn(&mut self, frame: &Frame<'_>, at: Pose, evidence: &Evidence, rate: Option<f64>) -> Learned;

    /// The state of a frame with this evidence.
    fn state(&self, evidence: &Evidence) -> State;

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

/// What the frames of a run have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameKind {
    /// Width and height in pixels.
    pub size: (usize, usize),
    /// Whether the first of them has colours.
    pub color: bool,
}

impl FrameKind {
    /// Of a run that begins with `frame`.
    pub fn of(frame: &Frame<'_>) -> Self {
        Self { size: frame.size(), color: frame.format() != PixelFormat::Gray8 }
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
