//! One target: its search window's geometry, its filter, and the step from frame to frame
//! (Henriques et al., TPAMI 2015, algorithm 1 and section 8.1).

use super::confidence::{Peak, displacement, sub_cell};
use super::window::SearchWindow;
use super::{Estimate, Evidence, FeatureParams, FilterParams, ResponseLayout, ResponseMap, State};
use crate::detector::kcf::Kcf;
use crate::error::{Error, Result};
use crate::feature::hog::{self, Hog};
use crate::feature::{gray, window};
use crate::frame::Frame;
use crate::geometry::BBox;
use crate::profile::{Stage, Stopwatch};
use ndarray::ArrayView2;

/// A box of which less lies on the picture stays at the border when its target leaves: the filter then learns the border,
/// which the ratio of its peak does not show.
pub(super) const MIN_VISIBLE: f64 = 0.5;

/// Feature values below this are rounding and nothing else.
const BLANK: f32 = 1e-6;

/// A bounded window can hold so many pixels of the frame at most.
const MAX_AREA: f64 = (1 << 28) as f64;

#[derive(Clone, Debug)]
pub(super) struct Target {
    params: FilterParams,
    frame_size: (usize, usize),
    initial: BBox,
    /// Where the target is, in the window's units. Whole steps of cells are added to it, by the published code.
    position: (f64, f64),
    /// What a window on whole pixels is behind that, where steps are no whole pixels.
    behind: (f64, f64),
    window: SearchWindow,
    feature: Feature,
    row_window: Vec<f32>,
    col_window: Vec<f32>,
    filter: Kcf,
    /// Cells around the peak that are no sidelobe.
    peak_radius: usize,
    last: Step,
}

/// What one step found.
#[derive(Clone, Copy, Debug)]
struct Step {
    peak: Peak,
    /// Where the window stood.
    searched_from: BBox,
    /// Whether there was no texture in it.
    blank: bool,
}

#[derive(Clone, Debug)]
enum Feature {
    Hog(Box<Hog>),
    Gray,
}

/// Whether a target can be at `bbox` in `frame` at all.
///
/// # Errors
/// [`Error::Box`] with the reason why not.
pub(super) fn check_box(frame: &Frame<'_>, bbox: BBox) -> Result<()> {
    let refuse = |reason: String| Err(Error::Box { bbox, reason });
    if !bbox.is_valid() {
        return refuse("width and height must be above zero and all four numbers finite".into());
    }
    if bbox.w < 1.0 || bbox.h < 1.0 {
        return refuse("it is smaller than a pixel".into());
    }
    let (width, height) = (frame.width(), frame.height());
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

impl Target {
    pub(super) fn new(params: &FilterParams, frame: &Frame<'_>, bbox: BBox) -> Result<Self> {
        check_box(frame, bbox)?;
        let (width, height) = (frame.width(), frame.height());
        let window = SearchWindow::new(params, bbox)?;
        let ((rows, cols), (patch_w, patch_h)) = (window.cells(), window.size());
        let (feature, channels) = match params.feature {
            FeatureParams::Hog { cell_size } => {
                (Feature::Hog(Box::new(Hog::new(patch_w, patch_h, cell_size))), hog::CHANNELS)
            }
            FeatureParams::Gray => (Feature::Gray, 1),
        };
        let labels = window::gaussian_target(rows, cols, window.sigma());
        let mut target = Self {
            params: params.clone(),
            frame_size: (width, height),
            initial: bbox,
            position: window.position(bbox),
            behind: (0.0, 0.0),
            feature,
            row_window: window::hann(rows),
            col_window: window::hann(cols),
            filter: Kcf::with_loss((rows, cols), channels, params.kernel, params.lambda, &labels, params.loss),
            // Three standard deviations of the regression target: the peak that the filter was taught.
            peak_radius: (3.0 * window.sigma()).ceil().max(1.0) as usize,
            window,
            last: Step { peak: Peak::NONE, searched_from: bbox, blank: false },
        };
        let off = &mut Stopwatch::default();
        target.extract(frame, off);
        if target.is_blank() {
            return Err(uniform(bbox));
        }
        target.filter.learn(params.learning_rate, off);
        // The filter used the map up; its answer to this frame is asked for next.
        target.extract(frame, off);
        Ok(target)
    }

    /// What the filter answers to the frame that it was taught.
    pub(super) fn first_estimate(&mut self, watch: &mut Stopwatch) -> Estimate {
        let peak = self.respond(watch);
        self.last = Step { peak, searched_from: self.bbox(), blank: false };
        Estimate { bbox: self.initial, state: State::Initial, evidence: evidence(&peak) }
    }

    /// One step: finds the target in `frame`, of the first one's size, and learns how it looks there.
    pub(super) fn step(&mut self, frame: &Frame<'_>, watch: &mut Stopwatch) {
        let searched_from = self.bbox();
        self.extract(frame, watch);
        // Without texture all translations score the same, and rounding would move the box.
        let blank = self.is_blank();
        let peak = self.respond(watch);
        if !blank && peak.value.is_finite() {
            self.follow(frame, &peak, watch);
        }
        self.last = Step { peak, searched_from, blank };
    }

    /// What is to be said of the last step, at the place where the target is now.
    pub(super) fn last_estimate(&self) -> Estimate {
        let Step { peak, blank, .. } = self.last;
        let state = self.judge(&peak, blank);
        Estimate { bbox: self.bbox(), state, evidence: evidence(&peak) }
    }

    /// Puts the target to `center` on the frame, to the next whole pixel, and learns how it looks there at the rate `rate`.
    pub(super) fn move_to(&mut self, frame: &Frame<'_>, center: (f64, f64), rate: f64, watch: &mut Stopwatch) {
        let now = self.bbox().center();
        let scale = self.window.step() / self.window.pitch();
        self.position.0 += ((center.0 - now.0) / scale).round();
        self.position.1 += ((center.1 - now.1) / scale).round();
        self.extract(frame, watch);
        if !self.is_blank() {
            self.filter.learn(rate, watch);
        }
    }

    /// Moves to the peak and learns the target there.
    fn follow(&mut self, frame: &Frame<'_>, peak: &Peak, watch: &mut Stopwatch) {
        let (rows, cols) = self.filter.size();
        let mut shift = (displacement(peak.row, rows) as f64, displacement(peak.col, cols) as f64);
        if self.params.sub_cell {
            let (row, col) = sub_cell(self.filter.response(), (rows, cols), (peak.row, peak.col));
            shift = (shift.0 + row, shift.1 + col);
        }
        let pitch = self.window.pitch();
        self.position.0 += pitch * shift.1 - self.behind.0;
        self.position.1 += pitch * shift.0 - self.behind.1;
        if pitch.fract() != 0.0 || self.params.sub_cell {
            // The window stands on whole pixels, as far from the initial position as it is.
            let start = self.window.position(self.initial);
            let rest = |now: f64, start: f64| now - start - (now - start).round();
            self.behind = (rest(self.position.0, start.0), rest(self.position.1, start.1));
        }
        if shift.0.abs().max(shift.1.abs()) <= self.params.reuse_shift {
            // The window at hand holds the target still; where it did not move, another one would hold the same pixels.
            self.filter.learn_again(self.params.learning_rate, shift, watch);
        } else {
            self.extract(frame, watch);
            self.filter.learn(self.params.learning_rate, watch);
        }
    }

    /// How far the box at the present position is to be believed.
    fn judge(&self, peak: &Peak, blank: bool) -> State {
        let psr = f64::from(peak.psr);
        let visible = self.bbox().visible_share(self.frame_size.0, self.frame_size.1);
        if blank || visible <= 0.0 || !peak.value.is_finite() || psr < self.params.lost_psr {
            State::Lost
        } else if psr < self.params.uncertain_psr || visible < MIN_VISIBLE {
            State::Uncertain
        } else {
            State::Tracking
        }
    }

    /// Whether the features at hand hold nothing at all: a uniform picture.
    fn is_blank(&mut self) -> bool {
        is_blank(self.filter.input())
    }

    fn respond(&mut self, watch: &mut Stopwatch) -> Peak {
        let (rows, cols) = self.filter.size();
        let response = self.filter.respond(watch);
        watch.start();
        let peak = Peak::find(response, rows, cols, self.peak_radius);
        watch.lap(Stage::Peak);
        peak
    }

    /// The last response.
    pub(super) fn response(&self) -> ResponseMap<'_> {
        let step = self.window.step();
        ResponseMap {
            values: ArrayView2::from_shape(self.filter.size(), self.filter.response())
                .expect("a response has the filter's size"),
            layout: ResponseLayout::Wrapped,
            center: self.last.searched_from.center(),
            step: (step, step),
        }
    }

    /// The box at the present position.
    pub(super) fn bbox(&self) -> BBox {
        self.window.bbox(self.position, self.initial.w, self.initial.h)
    }

    /// Cuts the window at the present position and hands its features to the filter.
    fn extract(&mut self, frame: &Frame<'_>, watch: &mut Stopwatch) {
        watch.start();
        let patch = self.window.cut(frame, (self.position.0 - self.behind.0, self.position.1 - self.behind.1));
        watch.lap(Stage::Crop);
        let (rows, cols, out) = (&self.row_window, &self.col_window, self.filter.input());
        match &mut self.feature {
            Feature::Hog(hog) => hog.extract(patch, rows, cols, out, watch),
            Feature::Gray => {
                gray::extract(patch, rows, cols, out);
                watch.lap(Stage::Normalise);
            }
        }
    }
}

/// What a filter's peak says of the box there.
fn evidence(peak: &Peak) -> Evidence {
    Evidence { peak: peak.value, psr: peak.psr, apce: peak.apce, decision: None, refit_kept: false }
}
