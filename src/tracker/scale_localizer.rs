//! The target's size, followed around a localizer that does not follow it.

use super::ResponseMap;
use super::localizer::{Extent, Learned, Localizer, Located, Pose, Update};
use super::params::ScaleParams;
use crate::archive::Archive;
use crate::bbox::BBox;
use crate::filters::scale_rotation::{GrayPatch, ScaleFilter};
use crate::frame::{Channels, Frame, Region, Resampler};

/// Shortest side of the smallest box in pixels.
const MIN_SIDE: f64 = 5.0;
/// Sides of the target in the patch, over those of the filter's small patches.
const FINER: f64 = 1.5;

/// The smallest and the largest scale of a target whose first box has `size`, in frames of `frame` pixels.
pub(super) fn limits(size: (f64, f64), frame: (usize, usize)) -> (f64, f64) {
    let largest = (frame.0 as f64 / size.0).min(frame.1 as f64 / size.1);
    ((MIN_SIDE / size.0.min(size.1)).min(1.0), largest.max(1.0))
}

/// Follows the target's size, around any localizer that cuts its area at the scale of a pose.
#[derive(Clone, Debug)]
pub(super) struct ScaleLocalizer {
    inner: Box<dyn Localizer>,
    /// The smallest and the largest scale.
    limits: (f64, f64),
    filter: ScaleFilter,
    resampler: Resampler,
    /// The patch around the target that the filter looks at.
    patch: Vec<u8>,
    /// Pixels of the frame per pixel of the patch, at scale 1.
    step: f64,
    /// The pose that the patch was cut at, if it is from the present frame.
    cut_at: Option<Pose>,
}

impl ScaleLocalizer {
    /// `inner`, following the size of its target at `bbox` of `frame` as `params` say.
    pub fn around(inner: Box<dyn Localizer>, params: ScaleParams, frame: &Frame<'_>, bbox: BBox) -> Box<dyn Localizer> {
        let size = (bbox.w, bbox.h);
        let limits = limits(size, frame.size());
        let ScaleParams::Filter(params) = params else { return inner };
        // The patch is as fine as the small patches need it, and no finer than the frame.
        let step = ((size.0 * size.1 / params.area).sqrt() / FINER).max(1.0);
        let seen = (size.0 / step, size.1 / step);
        // The largest scale and one step more; beyond the patch its border is repeated.
        let reach = libm::pow(params.step, (params.count / 2) as f64 + 1.0);
        let side = |length: f64| (length * reach).ceil() as usize + 2;
        let (width, height) = (side(seen.0), side(seen.1));
        let mut resampler = Resampler::new(width, height, Channels::Luma);
        resampler.reserve(step * limits.1);
        let (filter, patch) = (ScaleFilter::new(seen, params), vec![0; width * height]);
        let mut localizer = Self { inner, limits, filter, resampler, patch, step, cut_at: None };
        localizer.learn_scale(frame, Pose::of(bbox));
        Box::new(localizer)
    }

    fn cut(&mut self, frame: &Frame<'_>, pose: Pose) {
        self.resampler.cut(frame, Region::new(pose.center, self.step * pose.scale), &mut self.patch);
        self.cut_at = Some(pose);
    }

    /// The filter, the patch and its middle.
    fn parts(&mut self) -> (&mut ScaleFilter, GrayPatch<'_>, (f64, f64)) {
        let (width, height) = self.resampler.size();
        let middle = (width as f64 / 2.0, height as f64 / 2.0);
        (&mut self.filter, GrayPatch { pixels: &self.patch, width }, middle)
    }

    /// Learns the size of the target at `pose`, from the last patch if it was cut around the same place.
    fn learn_scale(&mut self, frame: &Frame<'_>, pose: Pose) {
        let cut_at = self.cut_at.filter(|cut_at| cut_at.center == pose.center);
        if cut_at.is_none() {
            self.cut(frame, pose);
        }
        let zoom = cut_at.map_or(1.0, |cut_at| pose.scale / cut_at.scale);
        let (filter, patch, middle) = self.parts();
        filter.learn(patch, middle, zoom, 1.0);
        self.cut_at = None;
    }
}

impl Localizer for ScaleLocalizer {
    fn locate(&mut self, frame: &Frame<'_>, at: Pose, extent: Extent) -> Located {
        self.cut_at = None;
        let mut located = self.inner.locate(frame, at, extent);
        if located.seen && extent == Extent::Pose {
            self.cut(frame, located.pose);
            let (filter, patch, middle) = self.parts();
            let scale = located.pose.scale * filter.find(patch, middle);
            located.pose.scale = scale.clamp(self.limits.0, self.limits.1);
        }
        located
    }

    fn score_at(&mut self, frame: &Frame<'_>, at: Pose) -> Located {
        self.cut_at = None;
        self.inner.score_at(frame, at)
    }

    fn learn(&mut self, frame: &Frame<'_>, located: &Located, update: Update) -> Learned {
        let learned = self.inner.learn(frame, located, update);
        self.learn_scale(frame, located.pose);
        learned
    }

    fn snapshot(&mut self, at: Pose) {
        self.inner.snapshot(at);
    }

    fn restore(&mut self) -> Option<Pose> {
        self.inner.restore()
    }

    fn restart(&mut self, at: Pose) {
        self.inner.restart(at);
    }

    fn response(&self) -> ResponseMap<'_> {
        self.inner.response()
    }

    fn transfer(&mut self, archive: &mut Archive<'_>) {
        self.filter.transfer(archive);
        self.inner.transfer(archive);
    }
}

#[cfg(test)]
mod tests;
