//! One target: its search window's geometry, its filter, and the step from frame to frame
//! (Henriques et al., TPAMI 2015, algorithm 1 and section 8.1).

use super::confidence::{Peak, displacement};
use super::{DetectorKind, Estimate, FeatureKind, Params, ResponseLayout, ResponseMap, State};
use crate::detector::circulant::Form;
use crate::detector::kcf::Kcf;
use crate::error::{Error, Result};
use crate::feature::hog::{self, Hog};
use crate::feature::{gray, window};
use crate::frame::Frame;
use crate::frame::half::HalfSampler;
use crate::frame::patch::{self, PatchRect};
use crate::geometry::BBox;
use ndarray::ArrayView2;

/// A filter of more cells than this would need gigabytes.
const MAX_CELLS: f64 = (1 << 20) as f64;
/// Pixels of a search window, at the size that is searched, that are cut out of each frame at most.
const MAX_PIXELS: f64 = (1 << 26) as f64;
/// Fewer cells than this in a row or column leave nothing between the zeros of the cosine window.
const MIN_CELLS: usize = 3;

/// A narrower regression target is 1 at no shift and 0 elsewhere already; its square must not vanish.
const MIN_SIGMA: f64 = 1e-3;

/// A box of which less lies on the picture stays at the border when its target leaves: the filter then learns the border,
/// which the ratio of its peak does not show.
const MIN_VISIBLE: f64 = 0.5;

/// Feature values below this are rounding and nothing else.
const BLANK: f32 = 1e-6;

#[derive(Clone, Debug)]
pub(super) struct Target {
    frame_size: (usize, usize),
    initial: BBox,
    /// Centre `x, y` as the published code keeps it, but 0-based: the corner plus the rounded-down half of the size, on
    /// the frame that is searched (half size or not). Whole steps of cells are added to it.
    position: (f64, f64),
    half: Option<HalfSampler>,
    window: (usize, usize),
    patch: Vec<u8>,
    feature: Feature,
    row_window: Vec<f32>,
    col_window: Vec<f32>,
    filter: Kcf,
    /// Cells around the peak that are no sidelobe.
    peak_radius: usize,
}

#[derive(Clone, Debug)]
enum Feature {
    Hog(Box<Hog>),
    Gray,
}

/// How a detector learns cyclic shifts. Regression on them is the filter itself.
fn form(detector: DetectorKind) -> Form {
    match detector {
        DetectorKind::Svm => Form::Hinge,
        DetectorKind::Klda => Form::Fisher,
        DetectorKind::Slem => Form::Exemplar,
        DetectorKind::Kpca => Form::Components,
        // The last has no such form, and is refused by `Params::check`.
        DetectorKind::Kcf | DetectorKind::Krr | DetectorKind::Kdspe => Form::Ridge,
    }
}

impl Target {
    pub(super) fn new(params: &Params, frame: &Frame<'_>, bbox: BBox) -> Result<Self> {
        let refuse = |reason: String| Err(Error::Box { bbox, reason });
        if !bbox.is_valid() {
            return refuse("width and height must be above zero and all four numbers finite".into());
        }
        if bbox.w < 1.0 || bbox.h < 1.0 {
            return refuse("it is smaller than a pixel".into());
        }
        let (width, height) = (frame.width(), frame.height());
        if bbox.area() > MAX_PIXELS * 4.0 {
            return refuse(format!("it is far larger than the frame of {width}x{height} pixels"));
        }
        if bbox.visible_share(width, height) <= 0.0 {
            return refuse(format!("it lies outside the frame of {width}x{height} pixels"));
        }
        let halved = (bbox.w * bbox.h).sqrt() >= params.half_size_from;
        let scale = if halved { 2.0 } else { 1.0 };
        // A target of one pixel's width stays one.
        let half = |length: f64| (length / 2.0).floor().max(1.0);
        let target = if halved { (half(bbox.w), half(bbox.h)) } else { (bbox.w, bbox.h) };
        // In the published code's 1-based pixels, halved and rounded down there, then back to 0-based ones.
        let position = |corner: f64, length: f64| {
            let center = corner + 1.0 + (length / 2.0).floor();
            if halved { (center / 2.0).floor() - 1.0 } else { center - 1.0 }
        };
        let cell = params.cell_size as f64;
        let side = |length: f64| (length * (1.0 + params.padding)).floor().max(MIN_CELLS as f64 * cell);
        let (window_w, window_h) = (side(target.0), side(target.1));
        if (window_w / cell) * (window_h / cell) > MAX_CELLS || window_w * window_h > MAX_PIXELS {
            return refuse(format!(
                "its search window of {}x{} pixels is too large; a larger --cell-size or a smaller --padding shrinks the filter",
                window_w * scale,
                window_h * scale
            ));
        }
        let window = (window_w as usize, window_h as usize);
        let (rows, cols) = (window.1 / params.cell_size, window.0 / params.cell_size);
        let sigma = ((target.0 * target.1).sqrt() * params.output_sigma / cell).max(MIN_SIGMA);
        let (feature, channels) = match params.feature {
            FeatureKind::Hog => (Feature::Hog(Box::new(Hog::new(window.0, window.1, params.cell_size))), hog::CHANNELS),
            FeatureKind::Gray => (Feature::Gray, 1),
        };
        let labels = window::gaussian_target(rows, cols, sigma);
        let mut target = Self {
            frame_size: (width, height),
            initial: bbox,
            position: (position(bbox.x, bbox.w), position(bbox.y, bbox.h)),
            half: halved.then(|| HalfSampler::new(window.0, window.1)),
            window,
            patch: vec![0; window.0 * window.1],
            feature,
            row_window: window::hann(rows),
            col_window: window::hann(cols),
            filter: Kcf::with_form(rows, cols, channels, params.kernel, params.lambda, &labels, form(params.detector)),
            // Three standard deviations of the regression target: the peak that the filter was taught.
            peak_radius: (3.0 * sigma).ceil().max(1.0) as usize,
        };
        target.extract(frame);
        if target.is_blank() {
            return refuse(
                "the picture is uniform there, so that a filter finds nothing to follow; start at another frame".into(),
            );
        }
        target.filter.learn(params.learning_rate);
        // The filter used the map up; its answer to this frame is asked for next.
        target.extract(frame);
        Ok(target)
    }

    /// What the filter answers to the frame that it was taught.
    pub(super) fn first_estimate(&mut self, params: &Params) -> Estimate<'_> {
        let peak = self.respond();
        let bbox = self.bbox();
        Estimate { bbox: self.initial, state: State::Initial, ..self.estimate(params, peak, bbox) }
    }

    pub(super) fn update(&mut self, params: &Params, frame: &Frame<'_>) -> Result<Estimate<'_>> {
        let got = (frame.width(), frame.height());
        if got != self.frame_size {
            return Err(Error::FrameSize { expected: self.frame_size, got });
        }
        let searched_from = self.bbox();
        self.extract(frame);
        let (rows, cols) = self.filter.size();
        // Without texture all translations score the same, and rounding would move the box.
        let blank = self.is_blank();
        let peak = self.respond();
        if !blank && peak.value.is_finite() {
            let cell = params.cell_size as f64;
            self.position.0 += cell * displacement(peak.col, cols) as f64;
            self.position.1 += cell * displacement(peak.row, rows) as f64;
            self.extract(frame);
            self.filter.learn(params.learning_rate);
        }
        let state = self.judge(params, &peak, blank);
        Ok(Estimate { state, ..self.estimate(params, peak, searched_from) })
    }

    /// How far the box at the present position is to be believed.
    fn judge(&self, params: &Params, peak: &Peak, blank: bool) -> State {
        let psr = f64::from(peak.psr);
        let visible = self.bbox().visible_share(self.frame_size.0, self.frame_size.1);
        if blank || visible <= 0.0 || !peak.value.is_finite() || psr < params.lost_psr {
            State::Lost
        } else if psr < params.uncertain_psr || visible < MIN_VISIBLE {
            State::Uncertain
        } else {
            State::Tracking
        }
    }

    /// Whether the features at hand hold nothing at all: a uniform picture.
    fn is_blank(&mut self) -> bool {
        self.filter.input().iter().all(|v| v.abs() < BLANK)
    }

    fn respond(&mut self) -> Peak {
        let (rows, cols) = self.filter.size();
        Peak::find(self.filter.respond(), rows, cols, self.peak_radius)
    }

    /// What is said of the frame whose response is at hand; the window stood around `searched_from`.
    fn estimate(&self, params: &Params, peak: Peak, searched_from: BBox) -> Estimate<'_> {
        let step = params.cell_size as f64 * self.scale();
        Estimate {
            bbox: self.bbox(),
            peak: peak.value,
            psr: peak.psr,
            apce: peak.apce,
            state: State::Tracking,
            response: ResponseMap {
                values: ArrayView2::from_shape(self.filter.size(), self.filter.response())
                    .expect("a response has the filter's size"),
                layout: ResponseLayout::Wrapped,
                center: searched_from.center(),
                step: (step, step),
            },
        }
    }

    /// The box at the present position. The published boxes reach from the position back by *half* the size, while the
    /// position was the corner plus the half *rounded down*: odd sizes move by half a pixel, once.
    pub(super) fn bbox(&self) -> BBox {
        let full = |position: f64| if self.half.is_some() { 2.0 * (position + 1.0) - 1.0 } else { position };
        let (w, h) = (self.initial.w, self.initial.h);
        BBox::new(full(self.position.0) - w / 2.0, full(self.position.1) - h / 2.0, w, h)
    }

    /// Pixels of the frame for one pixel that is searched.
    fn scale(&self) -> f64 {
        if self.half.is_some() { 2.0 } else { 1.0 }
    }

    /// Cuts the window at the present position and hands its features to the filter.
    fn extract(&mut self, frame: &Frame<'_>) {
        let (width, height) = self.window;
        // The published window runs from `floor(position) - floor(size / 2) + 1` in 1-based pixels.
        let first = |position: f64, length: usize| (position.floor() as i64).saturating_sub(length as i64 / 2) + 1;
        let rect =
            PatchRect { left: first(self.position.0, width), top: first(self.position.1, height), width, height };
        match &mut self.half {
            Some(half) => half.sample(frame, rect, &mut self.patch),
            None => patch::sample(frame, rect, &mut self.patch),
        }
        let (rows, cols, out) = (&self.row_window, &self.col_window, self.filter.input());
        match &mut self.feature {
            Feature::Hog(hog) => hog.extract(&self.patch, rows, cols, out),
            Feature::Gray => gray::extract(&self.patch, rows, cols, out),
        }
    }
}
