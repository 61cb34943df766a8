//! The search by a background-aware filter and colour, which follows the target's size, shape and angle.
//!
//! In each frame a square area around the target is cut out at its size and angle, and answered by three models:
//!
//! 1. the [filter](BackgroundAware) on gradients and colour names, at every shift;
//! 2. [colour histograms](color): the mean likelihood of the colours in the box, at every shift; merged with the first
//!    (Staple's way; not in gray frames);
//! 3. at the place found: a filter for the [angle](RotationFilter), whose turn is believed only if the search in the
//!    turned area is the better for it by a margin, a filter for the [scale](ScaleFilter), and, where it is asked for,
//!    one for the [aspect](AspectFilter).
//!
//! All learn there; the filter from the spectrum at hand where the target has hardly moved.

mod belief;
mod color;
mod recorded;
mod separation;
mod settle;
#[cfg(test)]
mod tests;
mod view;
mod weights;

use ndarray::ArrayView2;

use self::color::ColorModel;
use self::view::{CELL, View};
use self::weights::weights;
use super::aspect::{AspectFilter, AspectSettings};
use super::confidence::{Peak, between_cells};
use super::pose::Pose;
use super::rotation::RotationFilter;
use super::scale::{self, ScaleFilter};
use super::search::{Evidence, FrameKind, Learned, Search, Sighting, check_box, uniform};
use super::{AspectParams, BackgroundParams, ResponseLayout, ResponseMap, RotationParams, ScaleParams, Stagger, State};
use crate::bbox::BBox;
use crate::error::Result;
use crate::features::hog::colors::HogColors;
use crate::features::labels;
use crate::features::taper::half_sample_hann;
use crate::filters::background::BackgroundAware;
use crate::frame::resample::Resampler;
use crate::frame::{Channels, Frame, PixelFormat};
use crate::profile::{Stage, Stopwatch};

/// Cells on a side of the search area: lengths whose transforms are quick.
const SIDES: [usize; 9] = [36, 40, 48, 50, 54, 60, 64, 72, 80];
/// Cells around a peak that are not its sidelobe.
const LOBE: usize = 5;

/// The rate of learning that stands for the filter's own pace; at 1 the filter before is forgotten.
const USUAL_RATE: f64 = 0.02;

/// Searches one target; owns the memory for it.
#[derive(Clone, Debug)]
pub(super) struct BackgroundSearch {
    params: BackgroundParams,
    /// Width and height of the first box.
    size: (f64, f64),
    first: Pose,
    cells: usize,
    resampler: Resampler,
    view: View,
    /// The area at another angle or size, to compare.
    other: View,
    feature: HogColors,
    taper: Vec<f32>,
    filter: BackgroundAware,
    /// Whether the filter's last input was the view.
    at_hand: bool,
    color: Option<ColorModel>,
    /// Answers of filter and colour, `[row][column]`, no shift in the middle, of the area at `answered`, with the
    /// pixels of the frame from one to the next.
    merged: Vec<f32>,
    answered: (Pose, f64),
    scale: Option<ScaleFilter>,
    aspect: Option<AspectFilter>,
    rotation: Option<RotationFilter>,
    /// Frames that were searched.
    frames: usize,
    stagger: Stagger,
}

/// A place in a view, and what speaks for it.
#[derive(Clone, Copy, Debug)]
struct Answer {
    /// Rows and columns of cells from the middle.
    shift: (f64, f64),
    merged: f64,
    evidence: Evidence,
}

/// What of a view is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Where {
    Anywhere,
    InTheMiddle,
}

impl BackgroundSearch {
    /// Learns the target at `bbox` in `frame`.
    ///
    /// # Errors
    /// [`Error::Box`](crate::Error::Box) for a box that cannot be tracked.
    pub fn new(params: &BackgroundParams, frame: &Frame<'_>, bbox: BBox, watch: &mut Stopwatch) -> Result<Self> {
        let mut search = Self::untaught(params, FrameKind::of(frame), bbox)?;
        match search.learn_at(frame, search.first, 1.0, watch) {
            true => Ok(search),
            false => Err(uniform(bbox)),
        }
    }

    /// One that knows nothing yet.
    ///
    /// # Errors
    /// [`Error::Box`](crate::Error::Box) for a box that cannot be tracked.
    pub fn untaught(params: &BackgroundParams, frames: FrameKind, bbox: BBox) -> Result<Self> {
        check_box(frames, bbox)?;
        let size = (bbox.w, bbox.h);
        let mean = (size.0 * size.1).sqrt();
        let side = (1.0 + params.padding) * mean;
        let wanted = side / CELL as f64;
        let distance = |n: usize| (n as f64 - wanted).abs();
        let allowed = SIDES.into_iter().filter(|&n| (n * n) as f64 <= params.max_cells);
        let cells = allowed.min_by(|&a, &b| distance(a).total_cmp(&distance(b))).unwrap_or(SIDES[0]);
        let pixels = cells * CELL;
        let step = side / pixels as f64;
        let in_view = (size.0 / step, size.1 / step);
        let in_cells = (in_view.1 / CELL as f64, in_view.0 / CELL as f64);
        let sigma = (params.output_sigma * (in_cells.0 * in_cells.1).sqrt()).max(1e-3);
        let labels = labels::gaussian(cells, cells, sigma);
        let weights = weights(params, cells, in_cells);
        let first = Pose::of(bbox);
        // By what the sides of the target may be longer than its scale says, and than the view shows them.
        let stretch = match params.aspect {
            AspectParams::Filter(AspectSettings { most, .. }) => most.sqrt(),
            AspectParams::None => 1.0,
        };
        let (scale, zoom) = match params.scale {
            ScaleParams::Filter(settings) => {
                let zoom = libm::pow(settings.step, (settings.count / 2) as f64);
                (Some(ScaleFilter::new(in_view, settings, stretch)), zoom)
            }
            ScaleParams::None | ScaleParams::Pyramid(_) => (None, 1.0),
        };
        let aspect = match params.aspect {
            AspectParams::Filter(settings) => Some(AspectFilter::new(in_view, settings, zoom)),
            AspectParams::None => None,
        };
        let rotation = match params.rotation {
            RotationParams::Filter(settings) => Some(RotationFilter::new(in_view, settings, stretch)),
            RotationParams::None => None,
        };
        let view = View::new(cells, step, first);
        let mut search = Self {
            size,
            first,
            cells,
            resampler: Resampler::new(pixels, pixels, Channels::Color),
            other: view.clone(),
            view,
            feature: HogColors::new(pixels, pixels, CELL),
            taper: half_sample_hann(cells),
            filter: BackgroundAware::new((cells, cells), 1, &labels, &weights, params.filter()),
            at_hand: false,
            color: (frames.color && params.color > 0.0)
                .then(|| ColorModel::new(cells, in_view, params.color_rate, params.color_weighting)),
            merged: vec![0.0; cells * cells],
            answered: (first, CELL as f64 * step),
            scale,
            aspect,
            rotation,
            params: params.clone(),
            frames: 0,
            stagger: Stagger::ALONE,
        };
        // Areas of the largest target that there may be, and of one that is turned.
        let largest = step * stretch * scale::limits(size, frames.size).1;
        search.resampler.reserve(largest);
        if search.rotation.is_some() {
            search.resampler.reserve_turned(largest);
        }
        Ok(search)
    }

    /// Cuts the view at `pose` and writes its features to the filter; whether there is anything to see.
    fn take(&mut self, frame: &Frame<'_>, pose: Pose, watch: &mut Stopwatch) -> bool {
        watch.start();
        self.view.cut(frame, pose, &mut self.resampler);
        watch.lap(Stage::Crop);
        self.at_hand = true;
        let View { gray, bins, .. } = &self.view;
        self.feature.extract(gray, bins, &self.taper, &self.taper, self.filter.input(), watch)
    }

    /// The best place in the view that was taken last, or what is said of its middle. `None` where an odd setting has
    /// made a filter without numbers.
    fn answer(&mut self, frame: &Frame<'_>, place: Where, watch: &mut Stopwatch) -> Option<Answer> {
        self.filter.respond(watch);
        watch.start();
        let n = self.cells;
        let model = self.color.as_mut().filter(|_| frame.format() != PixelFormat::Gray8);
        let colors = model.map(|model| (self.params.color * model.trust(), model.respond(&self.view)));
        watch.lap(Stage::Color);
        let (share, colors) = colors.map_or((0.0, None), |(share, colors)| (share as f32, Some(colors)));
        let answers = self.filter.response();
        let wrapped = |i: usize| (i + n - n / 2) % n;
        for (r, line) in self.merged.chunks_exact_mut(n).enumerate() {
            let answers = &answers[wrapped(r) * n..][..n];
            for (c, merged) in line.iter_mut().enumerate() {
                *merged = (1.0 - share) * answers[wrapped(c)] + share * colors.map_or(color::NOTHING, |m| m[r * n + c]);
            }
        }
        self.answered = (self.view.pose, self.view.cell_step());
        // Where all is alike, the target has not moved.
        let middle = n / 2 * n + n / 2;
        let (mut best, mut highest) = (middle, self.merged[middle]);
        if place == Where::Anywhere {
            for (i, &merged) in self.merged.iter().enumerate() {
                if merged > highest {
                    (best, highest) = (i, merged);
                }
            }
        }
        let (row, col) = (best / n, best % n);
        let (dr, dc) = match place {
            Where::Anywhere => {
                let value = |r: usize, c: usize| f64::from(self.merged[r * n + c]);
                between_cells(value, (n, n), (row, col), ResponseLayout::Wrapped)
            }
            Where::InTheMiddle => (0.0, 0.0),
        };
        let Peak { value, psr, apce, .. } =
            Peak::at(answers, (n, n), (wrapped(row), wrapped(col)), LOBE, ResponseLayout::Wrapped);
        let shift = (row as f64 - (n / 2) as f64 + dr, col as f64 - (n / 2) as f64 + dc);
        let long_term = Some(self.filter.slow_score_at(shift) as f32);
        let color = colors.map(|colors| colors[best]);
        watch.lap(Stage::Peak);
        let evidence = Evidence { peak: value, psr, apce, long_term, color, ..Evidence::default() };
        value.is_finite().then_some(Answer { shift, merged: f64::from(highest), evidence })
    }

    /// What is said where there is nothing to see.
    fn nothing(&mut self, at: Pose) -> Sighting {
        self.at_hand = false;
        self.merged.fill(0.0);
        let evidence = Evidence { long_term: Some(0.0), ..Evidence::default() };
        Sighting { pose: at, evidence, seen: false }
    }

    /// Whether everything is learned every time, however targets are staggered.
    fn is_settling(&self) -> bool {
        self.frames <= self.params.settle
    }

    /// Learns the target at `pose`, `past` being how much the filter before counts of what it does otherwise; false
    /// where there is nothing to see: nothing is learned then.
    fn learn_at(&mut self, frame: &Frame<'_>, pose: Pose, past: f64, watch: &mut Stopwatch) -> bool {
        let shift = self.view.shift_of(pose.center);
        let near = shift.0.abs().max(shift.1.abs()) <= self.params.reuse_shift;
        let (center, zoom) = if self.at_hand && near && pose.angle == self.view.pose.angle {
            self.filter.forget(1.0 - past);
            self.filter.learn_again(shift, watch);
            (self.view.point(shift), pose.scale / self.view.pose.scale)
        } else {
            if !self.take(frame, pose, watch) {
                self.at_hand = false;
                return false;
            }
            self.filter.forget(1.0 - past);
            self.filter.learn(watch);
            (self.view.point((0.0, 0.0)), 1.0)
        };
        let stretch = pose.stretch();
        let zoom = (zoom * stretch.0, zoom * stretch.1);
        watch.start();
        if let Some(color) = self.color.as_mut().filter(|_| frame.format() != PixelFormat::Gray8) {
            color.learn(&self.view, center, zoom);
            watch.lap(Stage::Color);
        }
        // What is learned less often counts for more.
        let every = self.params.every;
        let times = if self.is_settling() { 1.0 } else { (every * self.stagger.lessons(every)) as f64 };
        if let Some(scale) = &mut self.scale {
            scale.learn(self.view.gray_patch(), center, zoom, times);
            watch.lap(Stage::Scale);
        }
        if let Some(aspect) = &mut self.aspect {
            aspect.learn(self.view.gray_patch(), center, zoom, times);
            watch.lap(Stage::Aspect);
        }
        if let Some(rotation) = &mut self.rotation {
            rotation.learn(self.view.gray_patch(), center, stretch, 0.0, times);
            watch.lap(Stage::Rotation);
        }
        true
    }
}

impl Search for BackgroundSearch {
    fn pose(&self) -> Pose {
        self.first
    }

    fn stagger(&mut self, stagger: Stagger) {
        self.stagger = stagger;
    }

    fn look(&mut self, frame: &Frame<'_>, at: Pose, watch: &mut Stopwatch) -> Sighting {
        self.frames += 1;
        let seen = self.take(frame, at, watch);
        match self.answer(frame, Where::Anywhere, watch).filter(|_| seen) {
            Some(best) => {
                let (pose, Answer { evidence, .. }) = self.settle(frame, at, best, watch);
                Sighting { pose, evidence, seen: true }
            }
            None => self.nothing(at),
        }
    }

    fn look_at(&mut self, frame: &Frame<'_>, at: Pose, watch: &mut Stopwatch) -> Sighting {
        let seen = self.take(frame, at, watch);
        match self.answer(frame, Where::InTheMiddle, watch).filter(|_| seen) {
            Some(Answer { evidence, .. }) => Sighting { pose: at, evidence, seen: true },
            None => self.nothing(at),
        }
    }

    fn learn(&mut self, frame: &Frame<'_>, at: Pose, rate: Option<f64>, watch: &mut Stopwatch) -> Learned {
        let due = self.is_settling() || self.stagger.learns(self.frames, self.params.every);
        match rate {
            None if due => self.learn_at(frame, at, 1.0, watch),
            // The filter has no rate: it is held less near the one before.
            Some(rate) if rate > 0.0 => {
                let past = (1.0 / rate - 1.0) / (1.0 / USUAL_RATE - 1.0);
                self.learn_at(frame, at, past.clamp(0.0, 1.0), watch)
            }
            _ => false,
        };
        Learned::Settled
    }

    fn judge(&self, evidence: &Evidence) -> State {
        let belief = self.params.belief;
        match belief::probability(evidence) {
            p if p >= belief.tracking_until => State::Tracking,
            p if p >= belief.lost_below => State::Uncertain,
            _ => State::Lost,
        }
    }

    fn confidence(&self, evidence: &Evidence) -> Option<f64> {
        Some(belief::probability(evidence))
    }

    fn response(&self) -> ResponseMap<'_> {
        let (pose, step) = self.answered;
        ResponseMap {
            values: ArrayView2::from_shape((self.cells, self.cells), &self.merged).expect("a square of cells"),
            layout: ResponseLayout::Centered,
            center: pose.center,
            step: (step, step),
            angle: pose.angle,
        }
    }

    fn boxed_clone(&self) -> Box<dyn Search> {
        Box::new(self.clone())
    }
}
