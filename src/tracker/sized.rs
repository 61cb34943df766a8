//! A search that follows the target's size: around any search that cuts its area at the size of a pose.
//!
//! Either a [filter along the scales](ScaleFilter) looks, at the place that the search has found, at a small patch of
//! its own, or the search itself is asked in areas of three sizes, and the best of its answers counts.

use super::pose::Pose;
use super::scale::{self, ScaleFilter};
use super::search::{Evidence, FrameKind, Learned, Search, Sighting};
use super::small_patch::GrayPatch;
use super::{PyramidSettings, ResponseMap, ScaleParams, ScaleSettings, Stagger, State};
use crate::bbox::BBox;
use crate::error::Result;
use crate::frame::resample::{Region, Resampler};
use crate::frame::{Channels, Frame};
use crate::profile::{Stage, Stopwatch};
use crate::tape::{Recorded, Tape};

/// Sides of the target in the patch, over those of the small patches that are made of it.
const FINER: f64 = 1.5;

/// A search and what follows the size of its target.
#[derive(Clone, Debug)]
pub(super) struct SizedSearch {
    search: Box<dyn Search>,
    /// The smallest and the largest scale.
    limits: (f64, f64),
    way: Way,
    /// Areas that were searched.
    looks: usize,
    stagger: Stagger,
}

#[derive(Clone, Debug)]
enum Way {
    Filter(Box<Measure>),
    Pyramid(PyramidSettings),
}

/// A filter for the scale, and the patch around the target that it measures.
#[derive(Clone, Debug)]
struct Measure {
    filter: ScaleFilter,
    resampler: Resampler,
    patch: Vec<u8>,
    /// Pixels of the frame per pixel of the patch, at the first size.
    step: f64,
    /// The pose that the patch was cut at, if it is of the frame at hand.
    at_hand: Option<Pose>,
}

/// `search`, following the size of its target at `bbox` of such frames as `params` say, taught by the `first` of them.
pub(super) fn sized(
    search: Box<dyn Search>,
    params: &ScaleParams,
    frames: FrameKind,
    bbox: BBox,
    first: Option<(&Frame<'_>, &mut Stopwatch)>,
) -> Box<dyn Search> {
    let size = (bbox.w, bbox.h);
    let limits = scale::limits(size, frames.size);
    let way = match *params {
        ScaleParams::None => return search,
        ScaleParams::Filter(settings) => Way::Filter(Box::new(Measure::new(settings, size, limits.1))),
        ScaleParams::Pyramid(pyramid) => Way::Pyramid(pyramid),
    };
    let mut sized = SizedSearch { search, limits, way, looks: 0, stagger: Stagger::ALONE };
    if let Some((frame, watch)) = first {
        sized.learn_size(frame, Pose::of(bbox), 1, watch);
    }
    Box::new(sized)
}

impl Measure {
    /// For a target whose first box has `size`, and that may become `largest` times as large.
    fn new(settings: ScaleSettings, size: (f64, f64), largest: f64) -> Self {
        // As fine as the small patches need it, and no finer than the frame.
        let step = ((size.0 * size.1 / settings.area).sqrt() / FINER).max(1.0);
        let seen = (size.0 / step, size.1 / step);
        // The largest that is compared, and a step more: beyond the patch its border is repeated.
        let reach = libm::pow(settings.step, (settings.count / 2) as f64 + 1.0);
        let side = |length: f64| (length * reach).ceil() as usize + 2;
        let (width, height) = (side(seen.0), side(seen.1));
        let mut resampler = Resampler::new(width, height, Channels::Luma);
        resampler.reserve(step * largest);
        let filter = ScaleFilter::new(seen, settings, 1.0);
        Self { filter, resampler, patch: vec![0; width * height], step, at_hand: None }
    }

    /// Cuts the patch around `pose`.
    fn cut(&mut self, frame: &Frame<'_>, pose: Pose) {
        self.resampler.cut(frame, Region::new(pose.center, self.step * pose.scale), &mut self.patch);
        self.at_hand = Some(pose);
    }

    /// The filter, the patch and its middle.
    fn parts(&mut self) -> (&mut ScaleFilter, GrayPatch<'_>, (f64, f64)) {
        let (width, height) = self.resampler.size();
        let middle = (width as f64 / 2.0, height as f64 / 2.0);
        (&mut self.filter, GrayPatch { pixels: &self.patch, width }, middle)
    }

    /// By what the target at `pose` is larger than that.
    fn find(&mut self, frame: &Frame<'_>, pose: Pose) -> f64 {
        self.cut(frame, pose);
        let (filter, patch, middle) = self.parts();
        filter.find(patch, middle, (1.0, 1.0))
    }

    /// Learns the target at `pose`, at `times` the rate, from the patch at hand if it is of that place.
    fn learn(&mut self, frame: &Frame<'_>, pose: Pose, times: f64) {
        let at_hand = self.at_hand.filter(|at_hand| at_hand.center == pose.center);
        if at_hand.is_none() {
            self.cut(frame, pose);
        }
        let zoom = at_hand.map_or(1.0, |at_hand| pose.scale / at_hand.scale);
        let (filter, patch, middle) = self.parts();
        filter.learn(patch, middle, (zoom, zoom), times);
        self.at_hand = None;
    }
}

impl SizedSearch {
    fn learn_size(&mut self, frame: &Frame<'_>, at: Pose, times: usize, watch: &mut Stopwatch) {
        if let Way::Filter(measure) = &mut self.way {
            watch.start();
            measure.learn(frame, at, times as f64);
            watch.lap(Stage::Scale);
        }
    }

    /// The best sighting in areas of three sizes. The one of the present size is looked at last: mostly it is the best,
    /// and then at hand.
    fn look_in_sizes(
        &mut self,
        frame: &Frame<'_>,
        at: Pose,
        pyramid: PyramidSettings,
        watch: &mut Stopwatch,
    ) -> Sighting {
        let (step, margin) = (self.stagger.step(pyramid.step), pyramid.margin);
        let (least, most) = self.limits;
        let mut best: Option<(f64, Pose)> = None;
        for factor in [1.0 / step, step] {
            let pose = Pose { scale: (at.scale * factor).clamp(least, most), ..at };
            let sighting = self.search.look(frame, pose, watch);
            let answer = answer(&sighting.evidence) * (1.0 - margin);
            if sighting.seen && best.is_none_or(|(highest, _)| answer > highest) {
                best = Some((answer, pose));
            }
        }
        let sighting = self.search.look(frame, at, watch);
        match best {
            Some((highest, pose)) if sighting.seen && highest > answer(&sighting.evidence) => {
                self.search.look(frame, pose, watch)
            }
            _ => sighting,
        }
    }
}

/// What a search answers, as a number that is 0 where nothing speaks for the target: the mean of the background is at
/// -1 for a machine, and at 0 for a filter.
fn answer(evidence: &Evidence) -> f64 {
    evidence.decision.map_or(f64::from(evidence.peak), |decision| f64::from(decision) + 1.0).max(0.0)
}

impl Recorded for SizedSearch {
    fn record(&mut self, tape: &mut Tape<'_>) -> Result<()> {
        self.search.record(tape)?;
        tape.count(&mut self.looks, u32::MAX as usize)?;
        match &mut self.way {
            Way::Filter(measure) => measure.filter.record(tape),
            Way::Pyramid(_) => Ok(()),
        }
    }
}

impl Search for SizedSearch {
    fn pose(&self) -> Pose {
        self.search.pose()
    }

    fn stagger(&mut self, stagger: Stagger) {
        self.stagger = stagger;
        self.search.stagger(stagger);
    }

    fn look(&mut self, frame: &Frame<'_>, at: Pose, watch: &mut Stopwatch) -> Sighting {
        let measure = match &mut self.way {
            Way::Pyramid(pyramid) => {
                let pyramid = *pyramid;
                self.looks += 1;
                return match self.stagger.compares(self.looks, pyramid.every) {
                    true => self.look_in_sizes(frame, at, pyramid, watch),
                    false => self.search.look(frame, at, watch),
                };
            }
            Way::Filter(measure) => measure,
        };
        measure.at_hand = None;
        let mut sighting = self.search.look(frame, at, watch);
        if sighting.seen && self.stagger.measures() {
            watch.start();
            let scale = sighting.pose.scale * measure.find(frame, sighting.pose);
            sighting.pose.scale = scale.clamp(self.limits.0, self.limits.1);
            watch.lap(Stage::Scale);
        }
        sighting
    }

    fn look_at(&mut self, frame: &Frame<'_>, at: Pose, watch: &mut Stopwatch) -> Sighting {
        if let Way::Filter(measure) = &mut self.way {
            measure.at_hand = None;
        }
        self.search.look_at(frame, at, watch)
    }

    fn learn(&mut self, frame: &Frame<'_>, at: Pose, rate: Option<f64>, watch: &mut Stopwatch) -> Learned {
        let learned = self.search.learn(frame, at, rate, watch);
        match rate {
            None if self.stagger.learns(0, 1) => self.learn_size(frame, at, self.stagger.lessons(1), watch),
            None => {}
            Some(_) => self.learn_size(frame, at, 1, watch),
        }
        learned
    }

    fn judge(&self, evidence: &Evidence) -> State {
        self.search.judge(evidence)
    }

    fn confidence(&self, evidence: &Evidence) -> Option<f64> {
        self.search.confidence(evidence)
    }

    fn response(&self) -> ResponseMap<'_> {
        self.search.response()
    }

    fn boxed_clone(&self) -> Box<dyn Search> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests;
