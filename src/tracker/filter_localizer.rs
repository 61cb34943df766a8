//! The localizer by a correlation filter: its area's geometry, its model, and the step from frame to frame
//! (Henriques et al., TPAMI 2015, algorithm 1 and section 8.1).

use super::calibration::Calibration;
use super::localizer::{Evidence, Extent, Learned, Localizer, Located, Pose, Update, is_blank, uniform};
use super::params::{FeatureParams, FilterParams, ScaleParams};
use super::response::{displacement, evidence_at, highest};
use super::scale_localizer::limits;
use super::{ResponseLayout, ResponseMap};
use crate::archive::Archive;
use crate::bbox::BBox;
use crate::error::{Error, Result};
use crate::features::hog::Hog;
use crate::features::{Features, Window, gaussian_labels};
use crate::filters::kcf::Kcf;
use crate::frame::{self, Channels, Frame, HalfSampler, PatchRect, Region, Resampler};

/// A filter of more cells than this would need gigabytes.
const MAX_CELLS: f64 = (1 << 20) as f64;
/// Pixels of a search area, at the size that is searched or in the frame, that are cut out of each frame at most.
const MAX_PIXELS: f64 = (1 << 26) as f64;
/// Fewer cells than this in a row or column leave nothing between the zeros of the taper.
const MIN_CELLS: usize = 3;
/// Narrower labels are 1 at no shift and 0 elsewhere already; its square must not vanish.
const MIN_SIGMA: f64 = 1e-3;

/// An area around a position, which is a point on the frame, or on the frame at half size.
#[derive(Clone, Debug)]
pub(super) struct SearchArea {
    sampler: Sampler,
    /// Width and height in pixels that are searched.
    pub size: (usize, usize),
    /// Rows and columns of cells.
    pub cells: (usize, usize),
    /// Standard deviation of the labels in cells.
    pub sigma: f64,
    /// Units of the position from one cell to the next.
    pub pitch: f64,
    patch: Vec<u8>,
}

#[derive(Clone, Debug)]
enum Sampler {
    Whole,
    Half(HalfSampler),
    /// An area around any point and at any size of the target, with the pixels of the frame per pixel at its first
    /// size.
    Free(Box<Resampler>, f64),
}

impl SearchArea {
    /// The area for a target at `bbox` that may become `largest` times as large.
    ///
    /// # Errors
    /// [`Error::Box`] when it is too large.
    pub fn new(params: &FilterParams, bbox: BBox, largest: f64) -> Result<Self> {
        let cell_size = params.feature.cell_size();
        let halved = (bbox.w * bbox.h).sqrt() >= params.half_size_from;
        // A target of one pixel's width stays one.
        let half = |length: f64| (length / 2.0).floor().max(1.0);
        let target = if halved { (half(bbox.w), half(bbox.h)) } else { (bbox.w, bbox.h) };
        let cell = cell_size as f64;
        let side = |length: f64| (length * (1.0 + params.padding)).floor().max(MIN_CELLS as f64 * cell);
        let (width, height) = (side(target.0), side(target.1));
        let in_frame = if halved { 2.0 } else { 1.0 };
        if (width / cell) * (height / cell) > MAX_CELLS || width * height > MAX_PIXELS {
            let reason = format!(
                "its search area of {}x{} pixels is too large for this detector: lower search.filter.padding, or take \
                 another preset",
                width * in_frame,
                height * in_frame
            );
            return Err(Error::Box { bbox, reason });
        }
        let size = (width as usize, height as usize);
        let (sampler, pitch) = match params.scale {
            ScaleParams::Filter(_) => {
                let mut resampler = Resampler::new(size.0, size.1, Channels::Luma);
                resampler.reserve(in_frame * largest);
                (Sampler::Free(Box::new(resampler), in_frame), cell * in_frame)
            }
            ScaleParams::None if halved => (Sampler::Half(HalfSampler::new(size.0, size.1)), cell),
            ScaleParams::None => (Sampler::Whole, cell),
        };
        Ok(Self {
            sampler,
            size,
            cells: (size.1 / cell_size, size.0 / cell_size),
            sigma: ((target.0 * target.1).sqrt() * params.output_sigma / cell).max(MIN_SIGMA),
            pitch,
            patch: vec![0; size.0 * size.1],
        })
    }

    /// Pixels of the frame from one cell to the next.
    pub fn step(&self) -> f64 {
        if self.halved() { 2.0 * self.pitch } else { self.pitch }
    }

    fn halved(&self) -> bool {
        matches!(self.sampler, Sampler::Half(_))
    }

    /// Whether the area lies around any point, of a target of any size: the position is then the target's centre
    /// itself, and not one that is kept on whole pixels.
    pub fn is_free(&self) -> bool {
        matches!(self.sampler, Sampler::Free(..))
    }

    /// The position for a target at `bbox` as the published code keeps it, but 0-based: the corner plus the
    /// rounded-down half of the size, on the frame that is searched (half size or not).
    pub fn position(&self, bbox: BBox) -> (f64, f64) {
        if self.is_free() {
            return bbox.center();
        }
        // In the published code's 1-based pixels, halved and rounded down there, then back to 0-based ones.
        let position = |corner: f64, length: f64| {
            let center = corner + 1.0 + (length / 2.0).floor();
            if self.halved() { (center / 2.0).floor() - 1.0 } else { center - 1.0 }
        };
        (position(bbox.x, bbox.w), position(bbox.y, bbox.h))
    }

    /// The target's centre on the frame at a position. The published boxes reach from the position back by *half* the
    /// size, while the position was the corner plus the half *rounded down*: odd sizes move by half a pixel, once.
    pub fn center(&self, position: (f64, f64)) -> (f64, f64) {
        if self.is_free() {
            return position;
        }
        let full = |position: f64| if self.halved() { 2.0 * (position + 1.0) - 1.0 } else { position };
        (full(position.0), full(position.1))
    }

    /// Cuts the area at `position`, rounded down, out of the frame; a free one just there, of a target `zoom` times as
    /// large as at first.
    pub fn cut(&mut self, frame: &Frame<'_>, position: (f64, f64), zoom: f64) -> &[u8] {
        let rect = rect(position, self.size);
        match &mut self.sampler {
            Sampler::Whole => frame::sample(frame, rect, &mut self.patch),
            Sampler::Half(half) => half.sample(frame, rect, &mut self.patch),
            Sampler::Free(free, scale) => free.cut(frame, Region::new(position, *scale * zoom), &mut self.patch),
        }
        &self.patch
    }
}

/// The area of this size around a position, as the published code has it: from `floor(position) - floor(size / 2) + 1` on
/// in 1-based pixels.
fn rect(position: (f64, f64), (width, height): (usize, usize)) -> PatchRect {
    let first = |position: f64, length: usize| (position.floor() as i64).saturating_sub(length as i64 / 2) + 1;
    let (left, top) = (first(position.0, width), first(position.1, height));
    PatchRect { left, top, width, height }
}

#[derive(Clone, Debug)]
pub(crate) struct FilterLocalizer {
    params: FilterParams,
    /// The pose of the position: where the target was found last, or was put.
    pose: Pose,
    /// The place of the target, in the area's units. Whole steps of cells are added to it, by the published code.
    position: (f64, f64),
    /// Pose of the area at the last detection.
    searched: Pose,
    /// Distance of the target from the area's middle then, in rows and columns of cells.
    shift: (f64, f64),
    area: SearchArea,
    features: Features,
    window: Window,
    filter: Kcf,
    /// Cells around the peak that do not count as sidelobe.
    peak_radius: usize,
    calibration: Option<Calibration>,
}

impl FilterLocalizer {
    /// The last pose of the target, in the filter's own rounding: at first, the initial box.
    pub fn pose(&self) -> Pose {
        self.pose
    }

    /// Learns the target at `bbox` in `frame`.
    ///
    /// # Errors
    /// [`Error::Box`] when the search area is too large or shows nothing.
    pub fn new(params: &FilterParams, frame: &Frame<'_>, bbox: BBox) -> Result<Self> {
        let (_, largest) = limits((bbox.w, bbox.h), frame.size());
        let area = SearchArea::new(params, bbox, largest)?;
        let ((rows, cols), (patch_w, patch_h)) = (area.cells, area.size);
        let features = match params.feature {
            FeatureParams::Hog(hog) => Features::Hog(Box::new(Hog::new(patch_w, patch_h, hog.cell_size))),
            FeatureParams::Gray => Features::Gray,
        };
        let labels = gaussian_labels(rows, cols, area.sigma);
        let position = area.position(bbox);
        let pose = Pose::of(bbox).at(area.center(position));
        let mut localizer = Self {
            params: params.clone(),
            calibration: Calibration::of_filter(params),
            pose,
            position,
            searched: pose,
            shift: (0.0, 0.0),
            window: Window::hann(rows, cols),
            filter: Kcf::new(rows, cols, features.channels(), params.kernel, params.lambda, &labels),
            // Three standard deviations of the labels: the peak that the filter was taught.
            peak_radius: (3.0 * area.sigma).ceil().max(1.0) as usize,
            features,
            area,
        };
        localizer.extract(frame);
        if is_blank(localizer.filter.input()) {
            return Err(uniform(bbox));
        }
        localizer.filter.learn(params.learning_rate);
        Ok(localizer)
    }

    /// Puts the area to `at`, to the next whole pixel unless it is free; where it is already, nothing moves.
    fn place(&mut self, at: Pose) {
        if self.area.is_free() {
            (self.position, self.pose) = (at.center, at);
        } else if at.center != self.pose.center {
            let ratio = self.area.step() / self.area.pitch;
            self.position.0 += ((at.center.0 - self.pose.center.0) / ratio).round();
            self.position.1 += ((at.center.1 - self.pose.center.1) / ratio).round();
            self.pose = at.at(self.area.center(self.position));
        }
    }

    /// Cuts the area at `at` and has the filter respond to it; returns whether the area has texture.
    fn respond(&mut self, frame: &Frame<'_>, at: Pose) -> bool {
        self.place(at);
        self.extract(frame);
        // Without texture all translations score the same, and rounding would move the box.
        let textured = !is_blank(self.filter.input());
        self.filter.respond();
        (self.searched, self.shift) = (self.pose, (0.0, 0.0));
        textured
    }

    /// The evidence for the cell at `place` of the response.
    fn evidence_at(&self, place: (usize, usize)) -> Evidence {
        let response = self.filter.response();
        evidence_at(response, self.filter.size(), place, self.peak_radius, ResponseLayout::Wrapped)
    }

    /// The target at the present pose.
    fn located(&self, evidence: Evidence, seen: bool) -> Located {
        let probability = self.calibration.map(|calibration| calibration.probability(&evidence));
        Located::new(self.pose, evidence, probability, seen)
    }

    /// Cuts the area at the present position and hands its features to the filter.
    fn extract(&mut self, frame: &Frame<'_>) {
        let patch = self.area.cut(frame, self.position, self.pose.scale);
        self.features.extract(patch, &self.window, self.filter.input());
    }
}

/// The input and the result of one step, as planes `[row][column]` of cells, for a person to look at.
#[cfg(feature = "cli")]
#[derive(Debug)]
pub(crate) struct FilterSnapshot {
    /// The gray patch, and its width and height.
    pub patch: Vec<u8>,
    pub size: (usize, usize),
    /// Rows and columns of cells.
    pub cells: (usize, usize),
    pub window: Vec<f32>,
    pub labels: Vec<f32>,
    /// The features `[row][column][channel]`.
    pub features: Vec<f32>,
    /// Kernel correlation with the model, coefficients, and power of the model's spectrum: see [`Kcf::planes`].
    pub planes: [Vec<f32>; 3],
    pub response: Vec<f32>,
    /// Rows and columns that the target has moved by, and pixels of the frame from one cell to the next.
    pub shift: (f64, f64),
    pub step: f64,
}

/// Single steps, for a page that shows the planes between them.
#[cfg(feature = "cli")]
impl FilterLocalizer {
    /// Finds the target in the next frame; returns whether the area has texture.
    pub(crate) fn find(&mut self, frame: &Frame<'_>) -> bool {
        self.locate(frame, self.pose, Extent::Pose).seen
    }

    /// Learns the target where it was found.
    pub(crate) fn learn_here(&mut self, frame: &Frame<'_>) {
        let here = Located::new(self.pose, Evidence::default(), None, true);
        self.learn(frame, &here, Update::Usual);
    }

    /// The published area around the present position, on the frame.
    pub(crate) fn place_on_frame(&self) -> BBox {
        let (area, factor) = (rect(self.position, self.area.size), if self.area.halved() { 2.0 } else { 1.0 });
        let [left, top] = [area.left, area.top].map(|edge| edge as f64 * factor);
        BBox::new(left, top, area.width as f64 * factor, area.height as f64 * factor)
    }

    /// The input and the result of the last detection.
    pub(crate) fn snapshot(&mut self) -> FilterSnapshot {
        let (cells, size) = (self.area.cells, self.area.size);
        let patch = self.area.patch.clone();
        // The filter's own copy has become a spectrum.
        let mut features = vec![0.0; self.filter.input().len()];
        self.features.extract(&patch, &self.window, &mut features);
        let Window { rows, cols } = &self.window;
        FilterSnapshot {
            window: rows.iter().flat_map(|row| cols.iter().map(move |col| row * col)).collect(),
            labels: gaussian_labels(cells.0, cells.1, self.area.sigma),
            features,
            planes: self.filter.planes(),
            response: self.filter.response().to_vec(),
            shift: self.shift,
            step: self.area.step(),
            patch,
            size,
            cells,
        }
    }
}

impl Localizer for FilterLocalizer {
    fn locate(&mut self, frame: &Frame<'_>, at: Pose, _: Extent) -> Located {
        let textured = self.respond(frame, at);
        let (rows, cols) = self.filter.size();
        let (row, col) = highest(self.filter.response(), (rows, cols));
        let evidence = self.evidence_at((row, col));
        let seen = textured && evidence.peak.is_finite();
        if seen {
            self.shift = (displacement(row, rows) as f64, displacement(col, cols) as f64);
            let pitch = self.area.pitch * self.pose.scale;
            self.position.0 += pitch * self.shift.1;
            self.position.1 += pitch * self.shift.0;
            self.pose = self.pose.at(self.area.center(self.position));
        }
        self.located(evidence, seen)
    }

    fn score_at(&mut self, frame: &Frame<'_>, at: Pose) -> Located {
        let textured = self.respond(frame, at);
        let evidence = self.evidence_at((0, 0));
        self.located(evidence, textured && evidence.peak.is_finite())
    }

    fn learn(&mut self, frame: &Frame<'_>, located: &Located, update: Update) -> Learned {
        let rate = match update {
            Update::Usual => self.params.learning_rate,
            Update::Blend(share) => share,
            Update::Held(factor) => self.params.learning_rate / factor,
        };
        let at = located.pose;
        let stands = at.center == self.pose.center && at.scale == self.pose.scale;
        if stands && self.shift == (0.0, 0.0) {
            // A new area would hold the same pixels.
            self.filter.learn_again(rate);
        } else {
            self.place(at);
            self.extract(frame);
            self.filter.learn(rate);
        }
        Learned::Done
    }

    fn snapshot(&mut self, _: Pose) {}

    fn restore(&mut self) -> Option<Pose> {
        None
    }

    fn restart(&mut self, _: Pose) {}

    fn response(&self) -> ResponseMap<'_> {
        let step = self.area.step() * self.searched.scale;
        let (values, size) = (self.filter.response(), self.filter.size());
        ResponseMap::new(values, size, ResponseLayout::Wrapped, self.searched.center, step)
    }

    fn transfer(&mut self, archive: &mut Archive<'_>) {
        archive.value(&mut self.pose);
        archive.value(&mut self.position);
        archive.value(&mut self.searched);
        archive.value(&mut self.shift);
        self.filter.transfer(archive);
    }
}

#[cfg(test)]
mod tests {
    //! The places where the filter searches and learns.

    use super::*;
    use crate::kernels::Kernel;
    use crate::tracker::params::ScaleFilterParams;
    use crate::tracker::scenes::{Picture, target_at};

    const START: (f64, f64) = (70.0, 60.0);
    /// A place two cells further.
    const NEAR: (f64, f64) = (78.0, 60.0);
    const WRAPPED: ResponseLayout = ResponseLayout::Wrapped;

    fn picture(corner: (f64, f64)) -> Picture {
        Picture::ground(180, 150).with_target(corner)
    }

    fn search(change: impl FnOnce(&mut FilterParams)) -> FilterLocalizer {
        let mut params = FilterParams::default();
        change(&mut params);
        FilterLocalizer::new(&params, &picture(START).frame(), target_at(START)).unwrap()
    }

    /// Whether learning cuts the area anew: only then are there other features than those of the detection.
    fn cut_anew(search: &mut FilterLocalizer, frame: &Picture, at: Pose) -> bool {
        let before = search.filter.input().to_vec();
        let there = Located::new(at, Evidence::default(), None, true);
        search.learn(&frame.frame(), &there, Update::Usual);
        search.filter.input() != before
    }

    /// An area is cut anew from a cell, four pixels, of motion on.
    #[test]
    fn an_area_is_cut_anew_for_a_target_that_has_moved_or_changed_its_size() {
        for (by, scale, anew) in
            [((0.0, 0.0), 1.0, false), ((4.0, 0.0), 1.0, true), ((0.0, -8.0), 1.0, true), ((0.0, 0.0), 1.1, true)]
        {
            let next = picture((START.0 + by.0, START.1 + by.1));
            let mut search = search(|p| p.scale = ScaleParams::Filter(ScaleFilterParams::default()));
            let at = search.pose();
            let found = search.locate(&next.frame(), at, Extent::Pose).pose;
            let moved = (found.center.0 - search.searched.center.0, found.center.1 - search.searched.center.1);
            assert_eq!(moved, by, "found where it is");
            assert_eq!(cut_anew(&mut search, &next, Pose { scale, ..found }), anew, "{by:?}, {scale}");
        }
    }

    /// The cells of an area for a target of twice the size are twice as large in the frame.
    #[test]
    fn a_step_is_as_large_as_the_cells_that_are_searched() {
        for scale in [1.0, 2.0] {
            let frame = picture((START.0 + 16.0 * scale, START.1 - 8.0 * scale));
            let mut search = search(|p| p.scale = ScaleParams::Filter(ScaleFilterParams::default()));
            let at = Pose { scale, ..search.pose() };
            let found = search.locate(&frame.frame(), at, Extent::Pose).pose;
            let (step, (rows, cols)) = (4.0 * scale, search.shift);
            assert_eq!(search.response().step, (step, step));
            assert_ne!((rows, cols), (0.0, 0.0));
            assert_eq!(found, at.at((at.center.0 + step * cols, at.center.1 + step * rows)), "{scale}");
        }
    }

    /// The peak reaches as far as the labels do, three standard deviations: none of it counts as sidelobe.
    #[test]
    fn a_ratio_leaves_out_three_standard_deviations_around_the_peak() {
        for (feature, radius) in [(FeatureParams::default(), 2), (FeatureParams::Gray, 8)] {
            let mut search = search(|p| *p = FilterParams::paper(feature, Kernel::Gaussian { sigma: 1.0 }));
            let at = search.pose();
            let found = search.locate(&picture(NEAR).frame(), at, Extent::Pose).evidence;
            let (response, size) = (search.filter.response(), search.filter.size());
            let of = |radius: usize| evidence_at(response, size, highest(response, size), radius, WRAPPED).psr;
            assert_eq!(found.psr, of(radius), "{feature:?}");
            assert_ne!(found.psr, of(radius - 1), "{feature:?}");
        }
    }
}
