//! The localizer by a background-aware filter and colour, which follows the target's size and angle.
//!
//! In each frame a square area around the target is cut at its size and angle and answered by three models:
//!
//! 1. the [filter](BackgroundAware) on gradients and colour names, at every shift;
//! 2. [colour histograms](ColorModel): the mean likelihood of the colours in the box, at every shift; merged with the
//!    first (Bertinetto et al., "Staple", CVPR 2016; not in gray frames);
//! 3. at the place found: a filter over [angles](RotationFilter), whose turn is accepted only if the search in the
//!    turned area answers better by a margin, and a filter over [scales](ScaleFilter).
//!
//! A verifier, the [appearance](Appearance), compares the place found with what was given. Its score enters the
//! probability. Where it denies the target, the filter follows slowly.
//!
//! All models learn at the place found. Where the target has hardly moved, the filter learns from the spectrum of the
//! detection.

use super::appearance::Appearance;
use super::calibration::by_filter_and_appearance;
use super::localizer::{Evidence, Extent, Learned, Likeness, Localizer, Located, Pose, Update, uniform};
use super::params::{BackgroundParams, IdentityParams, RotationParams, ScaleParams};
use super::redetection::MAX_SCALE;
use super::response::{evidence_at, highest_from_middle};
use super::scale_localizer::limits;
use super::verifier::{Sample, Verifier, ViewFeatures};
use super::{ResponseLayout, ResponseMap};
use crate::archive::Archive;
use crate::bbox::BBox;
use crate::error::Result;
use crate::features::color::{Area, BoxMean, ColorHistogram, HogColors, gray_and_bins};
use crate::features::hog::LANES;
use crate::features::{gaussian_labels, half_sample_hann};
use crate::filters::background::{BackgroundAware, BackgroundSettings};
use crate::filters::scale_rotation::{GrayPatch, RotationFilter, ScaleFilter};
use crate::frame::{Channels, Frame, PixelFormat, Region, Resampler};

/// Sides of the search area in cells: numbers that transform fast.
const SIDES: [usize; 14] = [16, 18, 20, 24, 30, 36, 40, 48, 50, 54, 60, 64, 72, 80];
/// The least number of cells of a search area, unless the settings allow fewer.
const MIN_CELLS: f64 = 1296.0;
/// Pixels per cell.
pub(super) const CELL: usize = 4;
/// Cells around the peak that do not count as sidelobe.
const PEAK_RADIUS: usize = 5;
/// The learning rate at which the filter is held near the one before as strongly as `temporal` says.
const NOMINAL_RATE: f64 = 0.02;
/// Share of the box that the target's colours are learned from: its border is background.
const CORE: f64 = 0.8;
/// Confidence above which a frame certainly shows the target, by the filter alone.
const CERTAIN: f64 = 0.9;
/// Frames between copies of the models.
const SAVE_INTERVAL: usize = 10;
/// A target is at rest while its mean motion is below this number of cells. Its centre then ignores motions below twice
/// the number: the response does not peak exactly where the filter has learned, and the box would drift by a twentieth of
/// its size in a minute.
const REST: f64 = 0.03;
/// Rate of the running mean.
const MOTION_RATE: f64 = 0.05;
/// Frames of which one is learned at rest.
const REST_INTERVAL: usize = 10;

/// One target's models and the memory that a frame needs.
#[derive(Clone, Debug)]
pub(super) struct BackgroundLocalizer {
    params: BackgroundParams,
    /// Width and height of the initial box.
    size: (f64, f64),
    /// Cells of a side of the search area.
    cells: usize,
    resampler: Resampler,
    view: View,
    /// The view that a turned or resized one is compared with.
    other: View,
    feature: HogColors,
    taper: Vec<f32>,
    filter: BackgroundAware,
    /// Whether the filter's spectrum is that of the view.
    view_is_current: bool,
    /// The shift of the view at which angle and scale were found.
    found: Option<(f64, f64)>,
    color: Option<ColorModel>,
    /// Response of filter and colour, no motion in the middle.
    merged: Vec<f32>,
    /// The pose of the merged response, and pixels of the frame per cell.
    answered: (Pose, f64),
    scale: Option<ScaleFilter>,
    rotation: Option<RotationFilter>,
    appearance: Option<Appearance>,
    /// The models of the last certain frame.
    saved: Option<Box<Saved>>,
    frames: usize,
    /// Frames by which this target learns and compares sizes ahead of other targets.
    turn: usize,
    /// Running mean of the motion from frame to frame, in cells.
    motion: f64,
    at_rest: bool,
}

/// The models of a certain frame.
#[derive(Clone, Debug)]
struct Saved {
    filter: BackgroundAware,
    histogram: Option<ColorHistogram>,
    pose: Pose,
    frame: usize,
}

/// The best place in a view.
#[derive(Clone, Copy, Debug)]
struct Answer {
    /// Rows and columns of cells from the middle.
    shift: (f64, f64),
    merged: f64,
    evidence: Evidence,
}

/// Which places of a view are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Anywhere,
    Middle,
}

impl BackgroundLocalizer {
    /// Learns the target at `bbox` in `frame`; `turn` is its place among others.
    ///
    /// # Errors
    /// [`Error::Box`](crate::Error::Box) when the search area shows nothing.
    pub fn new(params: &BackgroundParams, frame: &Frame<'_>, bbox: BBox, turn: usize) -> Result<Self> {
        let in_color = frame.format() != PixelFormat::Gray8;
        let size = (bbox.w, bbox.h);
        let (cells, step) = grid(params, size);
        let pixels = cells * CELL;
        let in_view = (size.0 / step, size.1 / step);
        let in_cells = (in_view.1 / CELL as f64, in_view.0 / CELL as f64);
        let first = Pose::of(bbox);
        let appearance = match params.identity {
            IdentityParams::Krr(params) => Some(Appearance::new(cells, in_cells, in_color, params)),
            IdentityParams::None => None,
        };
        let scale = match params.scale {
            ScaleParams::Filter(params) => Some(ScaleFilter::new(in_view, params)),
            ScaleParams::None => None,
        };
        let rotation = match params.rotation {
            RotationParams::Filter(params) => Some(RotationFilter::new(in_view, params)),
            RotationParams::None => None,
        };
        let view = View::new(cells, step, first, appearance.is_some());
        let mut localizer = Self {
            size,
            cells,
            resampler: Resampler::new(pixels, pixels, Channels::Color),
            other: view.clone(),
            view,
            feature: HogColors::new(pixels, pixels, CELL),
            taper: half_sample_hann(cells),
            filter: filter(params, cells, in_cells),
            view_is_current: false,
            found: None,
            color: (in_color && params.color_weight > 0.0).then(|| ColorModel::new(cells, in_view, params.color_rate)),
            merged: vec![0.0; cells * cells],
            answered: (first, CELL as f64 * step),
            scale,
            rotation,
            appearance,
            saved: None,
            params: params.clone(),
            frames: 0,
            turn: if params.in_turn { turn } else { 0 },
            motion: 1.0,
            at_rest: false,
        };
        // Areas of the largest target that there may be, of one that is searched for, and of a turned one.
        let largest = step * limits(size, frame.size()).1 * MAX_SCALE;
        localizer.resampler.reserve(largest);
        if localizer.rotation.is_some() {
            localizer.resampler.reserve_rotated(largest);
        }
        if !localizer.learn_at(frame, first, 1.0, Some(false)) {
            return Err(uniform(bbox));
        }
        localizer.saved = localizer.appearance.is_some().then(|| Box::new(localizer.saved_at(first)));
        Ok(localizer)
    }

    /// A copy of the models, with the target at `pose`.
    fn saved_at(&self, pose: Pose) -> Saved {
        let histogram = self.color.as_ref().map(|color| color.histogram.clone());
        Saved { filter: self.filter.clone(), histogram, pose, frame: self.frames }
    }

    /// Cuts the area at `pose` and hands its features to the filter; false where they are blank.
    fn take(&mut self, frame: &Frame<'_>, pose: Pose) -> bool {
        self.view.cut(frame, pose, &mut self.resampler);
        (self.view_is_current, self.found) = (true, None);
        let View { gray, bins, map, .. } = &mut self.view;
        self.feature.extract((gray, bins), (&self.taper, &self.taper), self.filter.input(), map)
    }

    /// The result for the place at `shift` of the view, compared with the given target.
    fn concluded(&mut self, frame: &Frame<'_>, pose: Pose, mut evidence: Evidence, shift: (f64, f64)) -> Located {
        let sample = Sample { frame, pose, view: Some(self.view.features(shift)) };
        evidence.identity = self.appearance.as_mut().and_then(|appearance| appearance.score(&sample));
        let (by_response, probability) = by_filter_and_appearance(&evidence);
        let params = self.appearance.as_ref().map(|appearance| appearance.params);
        let likeness = match params.zip(evidence.identity.map(f64::from)) {
            None => Likeness::Unknown,
            Some((params, score)) if score < params.deny_below => Likeness::Denied,
            Some((params, score)) if score > params.learn_from && by_response > CERTAIN => Likeness::Certain,
            Some(_) => Likeness::Plausible,
        };
        Located { likeness, ..Located::new(pose, evidence, Some(probability), true) }
    }

    /// The best place in a view at `pose`; `None` where there is nothing to see, or the response is not finite.
    fn best_in_view(&mut self, frame: &Frame<'_>, pose: Pose, place: Place) -> Option<Answer> {
        self.at_rest = false;
        let seen = self.take(frame, pose);
        self.filter.respond();
        let n = self.cells;
        let model = self.color.as_mut().filter(|_| frame.format() != PixelFormat::Gray8);
        let colors = model.map(|model| model.respond(&self.view));
        let share = self.params.color_weight as f32;
        let answers = self.filter.response();
        let wrapped = |i: usize| (i + n - n / 2) % n;
        for (r, line) in self.merged.chunks_exact_mut(n).enumerate() {
            let (right, left) = answers[wrapped(r) * n..][..n].split_at(n - n / 2);
            line[..n / 2].copy_from_slice(left);
            line[n / 2..].copy_from_slice(right);
            if let Some(colors) = colors {
                for (merged, color) in line.iter_mut().zip(&colors[r * n..]) {
                    *merged = (1.0 - share) * *merged + share * color;
                }
            }
        }
        self.answered = (self.view.pose, self.view.cell_step());
        let ((row, col), (dr, dc)) = match place {
            Place::Anywhere => highest_from_middle(|i| self.merged[i], (n, n), ResponseLayout::Wrapped),
            Place::Middle => ((n / 2, n / 2), (0.0, 0.0)),
        };
        let shift = (row as f64 - (n / 2) as f64 + dr, col as f64 - (n / 2) as f64 + dc);
        let peak = (wrapped(row), wrapped(col));
        let mut evidence = evidence_at(answers, (n, n), peak, PEAK_RADIUS, ResponseLayout::Wrapped);
        evidence.long_term = Some(self.filter.slow_score_at(shift) as f32);
        evidence.color = colors.map(|colors| colors[row * n + col]);
        let merged = f64::from(self.merged[row * n + col]);
        (seen && evidence.peak.is_finite()).then_some(Answer { shift, merged, evidence })
    }

    /// The result for a frame without texture at `at`.
    fn nothing(&mut self, at: Pose) -> Located {
        self.view_is_current = false;
        self.merged.fill(0.0);
        let evidence = Evidence { long_term: Some(0.0), ..Evidence::default() };
        Located::new(at, evidence, Some(by_filter_and_appearance(&evidence).1), false)
    }

    /// Whether every frame is still learned.
    fn is_warming_up(&self) -> bool {
        self.frames <= self.params.warmup_frames
    }

    /// Whether this frame is one of `interval`.
    fn is_due(&self, interval: usize) -> bool {
        self.is_warming_up() || (self.frames + self.turn).is_multiple_of(interval)
    }

    /// Learns the target at `pose`. The filter is held near the one before by `hold` times what it usually is.
    /// `certain` is for the appearance, which learns nothing if it is `None`.
    fn learn_at(&mut self, frame: &Frame<'_>, pose: Pose, hold: f64, certain: Option<bool>) -> bool {
        let shift = self.view.shift_of(pose.center);
        let near = shift.0.abs().max(shift.1.abs()) <= self.params.reuse_shift;
        self.filter.hold(hold);
        let (center, zoom) = if self.view_is_current && near && pose.angle == self.view.pose.angle {
            self.filter.learn_again(shift);
            (self.view.point(shift), pose.scale / self.view.pose.scale)
        } else {
            if !self.take(frame, pose) {
                self.view_is_current = false;
                return false;
            }
            self.filter.learn();
            (self.view.point((0.0, 0.0)), 1.0)
        };
        if let Some((appearance, certain)) = self.appearance.as_mut().zip(certain) {
            let view = Some(self.view.features(self.view.shift_at(center)));
            appearance.learn(&Sample { frame, pose, view }, certain);
        }
        if let Some(color) = self.color.as_mut().filter(|_| frame.format() != PixelFormat::Gray8) {
            color.learn(&self.view, center, zoom);
        }
        // Where only every n-th frame is learned, the rate is n times higher. Rest does not raise the rate.
        let times = if self.is_warming_up() { 1.0 } else { self.params.interval as f64 };
        let is_found = self.found.is_some_and(|(r, c)| (r - shift.0).abs().max((c - shift.1).abs()) < 1e-9);
        if let Some(scale) = &mut self.scale {
            match is_found && zoom == 1.0 {
                true => scale.learn_found(times),
                false => scale.learn(self.view.gray_patch(), center, zoom, times),
            }
        }
        if let Some(rotation) = &mut self.rotation {
            match is_found {
                true => rotation.learn_found(times),
                false => rotation.learn(self.view.gray_patch(), center, times),
            }
        }
        true
    }

    /// Refines the best place in the view to the target's pose, with its angle and its size there.
    fn refine_pose(&mut self, frame: &Frame<'_>, at: Pose, mut best: Answer) -> (Pose, Answer) {
        let mut is_turned = false;
        let is_due = self.is_due(self.params.size_interval);
        if let Some(rotation) = self.rotation.as_mut().filter(|_| is_due) {
            let params = rotation.params;
            let degrees = rotation.find(self.view.gray_patch(), self.view.point(best.shift));
            if degrees.abs() >= params.min_turn {
                let angle = self.view.pose.angle + degrees.to_radians();
                let turned = Pose { center: self.view.in_frame(best.shift), angle, ..self.view.pose };
                if let Some(better) = self.challenge(frame, turned, &best, params.margin) {
                    (best, is_turned) = (better, true);
                }
            }
        }
        let center = self.view.in_frame(best.shift);
        // The centre does not leave the frame, and from outside it does not go farther.
        let inside = |v: f64, before: f64, length: usize| v.clamp(before.min(0.0), before.max(length as f64));
        let before = at.center;
        let center = (inside(center.0, before.0, frame.width()), inside(center.1, before.1, frame.height()));
        let moved = (center.0 - before.0).abs().max((center.1 - before.1).abs()) / self.view.cell_step();
        self.motion += MOTION_RATE * (moved - self.motion);
        self.at_rest = !is_turned && self.motion < REST && moved < 2.0 * REST;
        let mut pose = self.view.pose.at(if self.at_rest { at.center } else { center });
        if let Some(scale) = self.scale.as_mut().filter(|_| is_due) {
            let (smallest, largest) = limits(self.size, (frame.width(), frame.height()));
            let factor = scale.find(self.view.gray_patch(), self.view.point(best.shift));
            pose.scale = (pose.scale * factor).clamp(smallest, largest);
        }
        self.found = (is_due && !is_turned).then_some(best.shift);
        (pose, best)
    }

    /// The answer in a view at `pose` if it is better than `best` by the share `margin`; the view is then that one.
    fn challenge(&mut self, frame: &Frame<'_>, pose: Pose, best: &Answer, margin: f64) -> Option<Answer> {
        std::mem::swap(&mut self.view, &mut self.other);
        let other = self.best_in_view(frame, pose, Place::Anywhere);
        let better = other.filter(|other| other.merged * (1.0 - margin) > best.merged);
        if better.is_none() {
            std::mem::swap(&mut self.view, &mut self.other);
            self.view_is_current = false;
        }
        better
    }
}

impl Localizer for BackgroundLocalizer {
    fn locate(&mut self, frame: &Frame<'_>, at: Pose, extent: Extent) -> Located {
        self.frames += usize::from(extent != Extent::Place);
        let Some(best) = self.best_in_view(frame, at, Place::Anywhere) else { return self.nothing(at) };
        let (pose, best) = match extent {
            Extent::Pose | Extent::Lost => self.refine_pose(frame, at, best),
            Extent::Place => (at.at(self.view.in_frame(best.shift)), best),
        };
        self.concluded(frame, pose, best.evidence, best.shift)
    }

    fn score_at(&mut self, frame: &Frame<'_>, at: Pose) -> Located {
        let Some(best) = self.best_in_view(frame, at, Place::Middle) else { return self.nothing(at) };
        self.concluded(frame, at, best.evidence, (0.0, 0.0))
    }

    fn learn(&mut self, frame: &Frame<'_>, located: &Located, update: Update) -> Learned {
        let interval = self.params.interval.max(if self.at_rest { REST_INTERVAL } else { 1 });
        let due = self.is_due(interval);
        // A denied place may be the background, or a target that has turned. The filter is held more strongly there, and
        // the appearance learns nothing: it would come to accept what covers the target.
        let is_denied = located.likeness == Likeness::Denied;
        let denied_hold =
            self.appearance.as_ref().filter(|_| is_denied).map_or(1.0, |appearance| appearance.params.denied_hold);
        let hold = match update {
            Update::Usual => Some(denied_hold).filter(|&hold| due && hold > 0.0),
            // The filter has no rate: it is held less or more near the one before.
            Update::Blend(share) => Some((1.0 / share - 1.0) / (1.0 / NOMINAL_RATE - 1.0)).filter(|_| share > 0.0),
            Update::Held(factor) => Some(factor),
        };
        let certain = (!is_denied).then_some(located.likeness == Likeness::Certain);
        if let Some(hold) = hold {
            self.learn_at(frame, located.pose, hold, certain);
        }
        Learned::Done
    }

    fn snapshot(&mut self, at: Pose) {
        if let Some(saved) = self.saved.as_mut().filter(|saved| self.frames >= saved.frame + SAVE_INTERVAL) {
            saved.filter.copy_model(&self.filter);
            if let Some((to, from)) = saved.histogram.as_mut().zip(self.color.as_ref()) {
                to.copy_model(&from.histogram);
            }
            (saved.pose, saved.frame) = (at, self.frames);
        }
    }

    fn restore(&mut self) -> Option<Pose> {
        let saved = self.saved.as_ref()?;
        self.filter.copy_model(&saved.filter);
        if let Some((from, to)) = saved.histogram.as_ref().zip(self.color.as_mut()) {
            to.histogram.copy_model(from);
        }
        (self.view_is_current, self.motion) = (false, 1.0);
        Some(saved.pose)
    }

    fn restart(&mut self, _: Pose) {}

    fn response(&self) -> ResponseMap<'_> {
        let (pose, step) = self.answered;
        let size = (self.cells, self.cells);
        let upright = ResponseMap::new(&self.merged, size, ResponseLayout::Centered, pose.center, step);
        ResponseMap { angle: pose.angle, ..upright }
    }

    fn transfer(&mut self, archive: &mut Archive<'_>) {
        self.filter.transfer(archive);
        archive.optional(&mut self.color, |color, archive| color.histogram.transfer(archive));
        archive.optional(&mut self.scale, ScaleFilter::transfer);
        archive.optional(&mut self.rotation, RotationFilter::transfer);
        archive.optional(&mut self.appearance, Appearance::transfer);
        if let Some(saved) = &mut self.saved {
            saved.filter.transfer(archive);
            archive.optional(&mut saved.histogram, ColorHistogram::transfer);
            archive.value(&mut saved.pose);
            archive.value(&mut saved.frame);
        }
        archive.floats(&mut self.merged);
        archive.value(&mut self.answered);
        archive.value(&mut self.frames);
        archive.value(&mut self.motion);
        archive.value(&mut self.at_rest);
    }
}

/// Cells of a side of the search area of a target of `size` (width, height), and pixels of the frame per pixel of it.
fn grid(params: &BackgroundParams, size: (f64, f64)) -> (usize, f64) {
    let side = (1.0 + params.padding) * (size.0 * size.1).sqrt();
    let cells = side_in_cells(side / CELL as f64, params.max_cells);
    (cells, side / (cells * CELL) as f64)
}

/// The side of a search area in cells, of which there are `wanted` on a side at full resolution.
fn side_in_cells(wanted: f64, max_cells: f64) -> usize {
    let below = |most: f64| SIDES.into_iter().filter(move |&n| (n * n) as f64 <= most);
    let least = below(max_cells.min(MIN_CELLS)).next_back().unwrap_or(SIDES[0]);
    let distance = |n: usize| (n as f64 - wanted).abs();
    let allowed = below(max_cells).filter(|&n| n >= least);
    allowed.min_by(|&a, &b| distance(a).total_cmp(&distance(b))).unwrap_or(least)
}

/// The filter for a target of (height, width) cells in a square of `cells`: the weights of its values are infinite off the
/// target where the filter is masked.
fn filter(params: &BackgroundParams, cells: usize, (height, width): (f64, f64)) -> BackgroundAware {
    let middle = cells as f64 / 2.0;
    let weight = |i: usize| {
        let (r, c) = ((i / cells) as f64 + 0.5 - middle, (i % cells) as f64 + 0.5 - middle);
        let inside = |d: f64, length: f64| d.abs() <= (length / 2.0).max(1.0);
        if params.mask && !(inside(r, height) && inside(c, width)) { f32::INFINITY } else { params.weight as f32 }
    };
    let weights: Vec<f32> = (0..cells * cells).map(weight).collect();
    let sigma = (params.output_sigma * (height * width).sqrt()).max(1e-3);
    let settings = BackgroundSettings {
        temporal: params.temporal,
        sample_rate: params.learning_rate,
        steps: params.solver_steps,
        ..BackgroundSettings::default()
    };
    BackgroundAware::new((cells, cells), &gaussian_labels(cells, cells, sigma), &weights, settings)
}

/// The search area of one frame, cut at the target's size and angle: gray values and colour bins.
#[derive(Clone, Debug)]
struct View {
    rgb: Vec<u8>,
    gray: Vec<u8>,
    bins: Vec<u16>,
    /// The features that the appearance compares; empty without one.
    map: Vec<f32>,
    pose: Pose,
    cells: usize,
    /// Pixels of the frame per pixel of the view, at scale 1.
    step: f64,
}

impl View {
    /// Creates a view of `cells` a side, with features to compare if `is_compared`.
    fn new(cells: usize, step: f64, pose: Pose, is_compared: bool) -> Self {
        let pixels = (cells * CELL).pow(2);
        let (rgb, gray, bins) = (vec![0; 4 * pixels], vec![0; pixels], vec![0; pixels]);
        let map = vec![0.0; if is_compared { cells * cells * LANES } else { 0 }];
        Self { rgb, gray, bins, map, pose, cells, step }
    }

    fn cut(&mut self, frame: &Frame<'_>, pose: Pose, resampler: &mut Resampler) {
        let region = Region::new(pose.center, self.step * pose.scale).turned(pose.angle);
        resampler.cut(frame, region, &mut self.rgb);
        gray_and_bins(&self.rgb, &mut self.gray, &mut self.bins);
        self.pose = pose;
    }

    fn features(&self, shift: (f64, f64)) -> ViewFeatures<'_> {
        ViewFeatures { map: &self.map, bins: &self.bins, shift }
    }

    /// Pixels of a side.
    fn side(&self) -> usize {
        self.cells * CELL
    }

    /// Pixels of the frame per cell.
    fn cell_step(&self) -> f64 {
        CELL as f64 * self.step * self.pose.scale
    }

    fn gray_patch(&self) -> GrayPatch<'_> {
        GrayPatch { pixels: &self.gray, width: self.side() }
    }

    /// The pixel (x, y) of the view at a shift of (rows, columns) of cells from the middle.
    fn point(&self, shift: (f64, f64)) -> (f64, f64) {
        let middle = self.side() as f64 / 2.0;
        (middle + shift.1 * CELL as f64, middle + shift.0 * CELL as f64)
    }

    /// The shift of a pixel (x, y) of the view.
    fn shift_at(&self, point: (f64, f64)) -> (f64, f64) {
        let middle = self.side() as f64 / 2.0;
        ((point.1 - middle) / CELL as f64, (point.0 - middle) / CELL as f64)
    }

    /// The point (x, y) of the frame at a shift.
    fn in_frame(&self, shift: (f64, f64)) -> (f64, f64) {
        let Pose { center, angle, .. } = self.pose;
        let (sin, cos) = libm::sincos(angle);
        let (dx, dy) = (shift.1 * self.cell_step(), shift.0 * self.cell_step());
        (center.0 + cos * dx - sin * dy, center.1 + sin * dx + cos * dy)
    }

    /// The shift of a point (x, y) of the frame.
    fn shift_of(&self, point: (f64, f64)) -> (f64, f64) {
        let Pose { center, angle, .. } = self.pose;
        let (sin, cos) = libm::sincos(angle);
        let (dx, dy) = ((point.0 - center.0) / self.cell_step(), (point.1 - center.1) / self.cell_step());
        (cos * dy - sin * dx, cos * dx + sin * dy)
    }
}

/// Colour histograms of the target and of the ring around it, and the mean likelihood of the colours in a box at every
/// shift.
#[derive(Clone, Debug)]
struct ColorModel {
    histogram: ColorHistogram,
    /// Width and height of the target in pixels of the view.
    size: (f64, f64),
    likelihood: Vec<f32>,
    box_mean: BoxMean,
    answers: Vec<f32>,
}

impl ColorModel {
    fn new(cells: usize, size: (f64, f64), rate: f64) -> Self {
        let in_cells = (size.1 / CELL as f64, size.0 / CELL as f64);
        Self {
            histogram: ColorHistogram::new(rate),
            size,
            likelihood: vec![0.0; cells * cells],
            box_mean: BoxMean::new((cells, cells), in_cells),
            answers: vec![0.0; cells * cells],
        }
    }

    /// The mean likelihood of the box at every shift, no motion in the middle.
    fn respond(&mut self, view: &View) -> &[f32] {
        self.histogram.likelihood_map(&view.bins, view.side(), &mut self.likelihood);
        self.box_mean.apply(&self.likelihood, &mut self.answers);
        &self.answers
    }

    /// Learns the target around `center` (x, y) of the view, where it is `zoom` times as large as at first.
    fn learn(&mut self, view: &View, center: (f64, f64), zoom: f64) {
        let (w, h) = (self.size.0 * zoom, self.size.1 * zoom);
        let (ring, gap) = ((w + h) / 2.0, CELL as f64);
        let side = view.side();
        let area = |w: f64, h: f64| Area::around(side, center, (w, h));
        let (inside, around) = (area(CORE * w, CORE * h), area(w + ring, h + ring));
        self.histogram.learn(&view.bins, side, &inside, &around, &area(w + gap, h + gap));
    }
}

#[cfg(test)]
mod tests;
