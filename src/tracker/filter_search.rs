//! The search by a correlation filter: its area's geometry, its model, and the step from frame to frame
//! (Henriques et al., TPAMI 2015, algorithm 1 and section 8.1).

use ndarray::ArrayView2;

use super::area::SearchArea;
use super::calibration::Calibration;
use super::params::{FilterParams, PsrParams};
use super::peak::{Peak, displacement};
use super::pose::Pose;
use super::scale;
use super::search::{Detection, Evidence, FrameKind, Learned, Search, check_box, is_blank, uniform};
use super::{ResponseLayout, ResponseMap, State};
use crate::bbox::BBox;
use crate::error::Result;
use crate::features::{Features, Window, gaussian_labels};
use crate::filters::kcf::Kcf;
use crate::frame::Frame;

#[derive(Clone, Debug)]
pub(crate) struct FilterSearch {
    params: FilterParams,
    /// The pose of the position: where the target was found last, or was put.
    pose: Pose,
    /// Where the target is, in the area's units. Whole steps of cells are added to it, by the published code.
    position: (f64, f64),
    /// Pose of the area at the last detection.
    searched: Pose,
    /// How far from its middle the target then was, in rows and columns of cells.
    shift: (f64, f64),
    area: SearchArea,
    features: Features,
    window: Window,
    filter: Kcf,
    /// Cells around the peak that do not count as sidelobe.
    peak_radius: usize,
    calibration: Option<Calibration>,
}

impl FilterSearch {
    /// Learns the target at `bbox` in `frame`.
    ///
    /// # Errors
    /// [`Error::Box`](crate::Error::Box) for a box that cannot be tracked.
    pub fn new(params: &FilterParams, frame: &Frame<'_>, bbox: BBox) -> Result<Self> {
        let frames = FrameKind::of(frame);
        check_box(frames.size, bbox)?;
        let (_, largest) = scale::limits((bbox.w, bbox.h), frames.size);
        let area = SearchArea::new(params, bbox, largest)?;
        let ((rows, cols), (patch_w, patch_h)) = (area.cells, area.size);
        let features = params.feature.extractor(patch_w, patch_h);
        let labels = gaussian_labels(rows, cols, area.sigma);
        let position = area.position(bbox);
        let pose = Pose::of(bbox).at(area.center(position));
        let mut search = Self {
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
        search.extract(frame);
        if is_blank(search.filter.input()) {
            return Err(uniform(bbox));
        }
        search.filter.learn(params.learning_rate);
        Ok(search)
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

    /// Moves the position by the last shift.
    fn follow(&mut self) {
        let pitch = self.area.pitch * self.pose.scale;
        self.position.0 += pitch * self.shift.1;
        self.position.1 += pitch * self.shift.0;
        self.pose = self.pose.at(self.area.center(self.position));
    }

    /// Cuts the area at `at` and has the filter respond to it; whether there was any texture in it.
    fn respond(&mut self, frame: &Frame<'_>, at: Pose) -> bool {
        self.place(at);
        self.extract(frame);
        // Without texture all translations score the same, and rounding would move the box.
        let textured = !is_blank(self.filter.input());
        self.filter.respond();
        (self.searched, self.shift) = (self.pose, (0.0, 0.0));
        textured
    }

    /// The evidence of the current peak.
    fn detection(&self, peak: &Peak, seen: bool) -> Detection {
        let Peak { value, psr, apce, .. } = *peak;
        let evidence = Evidence { peak: value, psr, apce, ..Evidence::default() };
        Detection { pose: self.pose, evidence, seen, guess: None }
    }

    /// Cuts the area at the present position and hands its features to the filter.
    fn extract(&mut self, frame: &Frame<'_>) {
        let patch = self.area.cut(frame, self.position, self.pose.scale);
        self.features.extract(patch, &self.window, self.filter.input());
    }
}

/// What a step has used and found, to look at: planes `[row][column]` of cells.
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

/// A step at a time, to look at what lies between.
#[cfg(feature = "cli")]
impl FilterSearch {
    /// Finds the target in the next frame; returns whether there was anything to see.
    pub(crate) fn find(&mut self, frame: &Frame<'_>) -> bool {
        self.detect(frame, self.pose).seen
    }

    /// Learns the target where it was found.
    pub(crate) fn learn_here(&mut self, frame: &Frame<'_>) {
        self.learn(frame, self.pose, &Evidence::default(), None);
    }

    /// The box of a target whose first box has this size.
    pub(crate) fn bbox(&self, size: (f64, f64)) -> BBox {
        self.pose.bbox(size)
    }

    /// Where the published area around the present position lies on the frame.
    pub(crate) fn place_on_frame(&self) -> BBox {
        self.area.patch_and_place(self.position).1
    }

    /// The input and the result of the last detection.
    pub(crate) fn snapshot(&mut self) -> FilterSnapshot {
        let (cells, size) = (self.area.cells, self.area.size);
        let patch = self.area.patch_and_place(self.position).0.to_vec();
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

impl Search for FilterSearch {
    fn pose(&self) -> Pose {
        self.pose
    }

    fn detect(&mut self, frame: &Frame<'_>, at: Pose) -> Detection {
        let textured = self.respond(frame, at);
        let size = self.filter.size();
        let response = self.filter.response();
        let peak = Peak::find(response, size, self.peak_radius, ResponseLayout::Wrapped);
        let seen = textured && peak.value.is_finite();
        if seen {
            self.shift = (displacement(peak.row, size.0) as f64, displacement(peak.col, size.1) as f64);
            self.follow();
        }
        self.detection(&peak, seen)
    }

    fn evaluate_at(&mut self, frame: &Frame<'_>, at: Pose) -> Detection {
        let textured = self.respond(frame, at);
        let size = self.filter.size();
        let peak = Peak::at(self.filter.response(), size, (0, 0), self.peak_radius, ResponseLayout::Wrapped);
        self.detection(&peak, textured && peak.value.is_finite())
    }

    fn learn(&mut self, frame: &Frame<'_>, at: Pose, _: &Evidence, rate: Option<f64>) -> Learned {
        let rate = rate.unwrap_or(self.params.learning_rate);
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

    fn state(&self, evidence: &Evidence) -> State {
        let PsrParams { uncertain_below, lost_below } = self.params.states;
        match f64::from(evidence.psr) {
            psr if psr < lost_below => State::Lost,
            psr if psr < uncertain_below => State::Uncertain,
            _ => State::Tracking,
        }
    }

    fn confidence(&self, evidence: &Evidence) -> Option<f64> {
        Some(self.calibration?.probability(evidence))
    }

    fn response(&self) -> ResponseMap<'_> {
        let step = self.area.step() * self.searched.scale;
        ResponseMap {
            values: ArrayView2::from_shape(self.filter.size(), self.filter.response())
                .expect("a response has the filter's size"),
            layout: ResponseLayout::Wrapped,
            center: self.searched.center,
            step: (step, step),
            angle: 0.0,
        }
    }

    fn boxed_clone(&self) -> Box<dyn Search> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests;
