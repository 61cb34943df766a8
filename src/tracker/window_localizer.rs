//! The localizer by a kernel machine over a bank of real windows: all windows around the target are scored, nearness
//! counts, a gate stands before learning.
//!
//! The windows are whole cells of one size, seen so coarsely that the target has the template's size.

use super::calibration::Calibration;
use super::localizer::{Extent, Learned, Localizer, Located, Pose, Update, is_blank, uniform};
use super::params::WindowParams;
use super::response::{evidence_at, highest_from_middle};
use super::scale_localizer::limits;
use super::{ResponseLayout, ResponseMap};
use crate::archive::Archive;
use crate::bbox::BBox;
use crate::error::{Error, Result};
use crate::features::hann;
use crate::features::hog::{self, Hog};
use crate::fft::fast_length_of_parity;
use crate::filters::windows::{WindowDetector, WindowSettings};
use crate::frame::{Channels, Frame, Resampler};

/// Pixels of a cell's side, at the size that is searched.
const CELL: usize = 4;

/// Cells around a template whose gradients and energies its border cells take in.
const MARGIN: usize = 1;

/// Cells of a template's side at least.
const MIN_CELLS: usize = 3;

/// Cells that a target can move by at least, however small it is.
const MIN_REACH: usize = 2;

/// Longest side of a search map in cells, and pixels of the frame in it, that a detector is made for.
const MAX_CELLS: usize = 1 << 12;
const MAX_PIXELS: f64 = (1 << 28) as f64;

/// The windows of a search map: one at every offset of whole cells. The middle one is that of a target at the map's
/// middle.
#[derive(Clone, Copy, Debug)]
pub(super) struct WindowGrid {
    /// Width and height of the target.
    size: (f64, f64),
    /// Rows and columns of cells of a template and of a search map.
    pub template: (usize, usize),
    pub map: (usize, usize),
    /// Pixels of the frame from one cell to the next, at the size of the initial box.
    step: f64,
    /// The target's size now, over that of the initial box.
    scale: f64,
    /// The target's centre on the frame that the middle window stands for.
    pub middle: (f64, f64),
}

impl WindowGrid {
    /// Creates the grid for a target at `bbox`.
    ///
    /// # Errors
    /// [`Error::Box`] when the search area is too large.
    pub fn new(params: &WindowParams, bbox: BBox) -> Result<Self> {
        let scale = ((bbox.w * bbox.h).sqrt() / params.template_size).max(1.0);
        let step = CELL as f64 * scale;
        let cells = |length: f64| ((length * (1.0 + params.context) / step).round() as usize).max(MIN_CELLS);
        let reach = |length: f64| ((length * params.reach / 2.0 / step).ceil() as usize).max(MIN_REACH);
        let template = (cells(bbox.h), cells(bbox.w));
        let least = (template.0 + 2 * reach(bbox.h), template.1 + 2 * reach(bbox.w));
        let in_frame = (least.1 as f64 * step, least.0 as f64 * step);
        if least.0.max(least.1) > MAX_CELLS || in_frame.0 * in_frame.1 > MAX_PIXELS {
            let reason = format!("its search area of {:.0}x{:.0} pixels is too large", in_frame.0, in_frame.1);
            return Err(Error::Box { bbox, reason });
        }
        let map = (fast_length_of_parity(least.0), fast_length_of_parity(least.1));
        Ok(Self { size: (bbox.w, bbox.h), template, map, step, scale: 1.0, middle: bbox.center() })
    }

    /// Rows and columns of windows.
    pub fn windows(&self) -> (usize, usize) {
        (self.map.0 - self.template.0 + 1, self.map.1 - self.template.1 + 1)
    }

    /// Pixels of the frame from one window to the next.
    pub fn step(&self) -> f64 {
        self.step * self.scale
    }

    /// How far from the middle the windows reach, in pixels (x, y).
    pub fn reach(&self) -> (f64, f64) {
        let (height, width) = self.windows();
        ((width / 2) as f64 * self.step(), (height / 2) as f64 * self.step())
    }

    /// The target's centre on the frame for a place (row, column) among the windows.
    pub fn center_of(&self, (row, col): (f64, f64)) -> (f64, f64) {
        let (height, width) = self.windows();
        (
            self.middle.0 + (col - (width / 2) as f64) * self.step(),
            self.middle.1 + (row - (height / 2) as f64) * self.step(),
        )
    }

    /// The place (row, column) among the windows of the target's centre `center`.
    pub fn place_of(&self, center: (f64, f64)) -> (f64, f64) {
        let (height, width) = self.windows();
        (
            (height / 2) as f64 + (center.1 - self.middle.1) / self.step(),
            (width / 2) as f64 + (center.0 - self.middle.0) / self.step(),
        )
    }

    /// The label of a window `rows` and `cols` from the target's: a Gaussian of a tenth of the target's size, as KCF's,
    /// from -1 to 1.
    pub fn label(&self, rows: f64, cols: f64) -> f64 {
        let sigma = 0.1 * (self.size.0 * self.size.1).sqrt() / self.step;
        2.0 * (-(rows * rows + cols * cols) / (2.0 * sigma * sigma)).exp() - 1.0
    }

    /// Whether the boxes of two windows, `rows` and `cols` apart, overlap by less than half.
    pub fn apart(&self, rows: f64, cols: f64) -> bool {
        let here = BBox::new(0.0, 0.0, self.size.0, self.size.1);
        here.overlap(&here.translated(cols * self.step, rows * self.step)) < 0.5
    }
}

/// Cuts patches of whole cells out of frames.
#[derive(Clone, Debug)]
struct Cutter {
    sampler: Resampler,
    /// Pixels of the frame per pixel of the patch, at the size of the initial box.
    scale: f64,
    patch: Vec<u8>,
    hog: Box<Hog>,
    /// A taper of ones: the features of real windows are not tapered.
    flat: [Vec<f32>; 2],
}

impl Cutter {
    /// Creates a cutter for patches of so many cells, around targets that become `largest` times as large.
    fn new((rows, cols): (usize, usize), scale: f64, largest: f64) -> Self {
        let mut sampler = Resampler::new(cols * CELL, rows * CELL, Channels::Luma);
        sampler.reserve(scale * largest);
        Self {
            sampler,
            scale,
            patch: vec![0; rows * cols * CELL * CELL],
            hog: Box::new(Hog::new(cols * CELL, rows * CELL, CELL)),
            flat: [vec![1.0; rows], vec![1.0; cols]],
        }
    }

    /// Writes the features of the patch around a target at `pose`, to whole pixels of the frame; returns the exact
    /// middle of the patch.
    fn cut(&mut self, frame: &Frame<'_>, pose: Pose, out: &mut [f32]) -> (f64, f64) {
        let scale = self.scale * pose.scale;
        let (width, height) = self.sampler.size();
        let (width, height) = (width as f64 * scale, height as f64 * scale);
        let (left, top) = ((pose.center.0 - width / 2.0).round(), (pose.center.1 - height / 2.0).round());
        self.sampler.cut_from(frame, (left, top), scale, &mut self.patch);
        self.hog.extract(&self.patch, &self.flat[0], &self.flat[1], out);
        (left + width / 2.0, top + height / 2.0)
    }
}

/// Samples of the background that the first frame gives, at most.
const FIRST_NEGATIVES: usize = 32;

/// Cells around a peak that do not count as sidelobe.
const PEAK_RADIUS: usize = 3;

/// Scores all windows around a place of the frame, and learns from them.
#[derive(Clone, Debug)]
pub(super) struct WindowLocalizer {
    params: WindowParams,
    /// Accepted frames since one was learned from.
    accepted: usize,
    pub grid: WindowGrid,
    map_cutter: Cutter,
    /// Cuts templates with a margin.
    template_cutter: Cutter,
    margined: Vec<f32>,
    template: Vec<f32>,
    /// How much nearness to the middle counts, `[row][column]` of the response.
    prior: Vec<f32>,
    detector: WindowDetector,
    /// Local maxima of a response: score, row, column.
    peaks: Vec<(f32, usize, usize)>,
    calibration: Calibration,
}

/// A window of the last scan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// The decision there.
    pub score: f64,
    /// The target's centre on the frame.
    pub center: (f64, f64),
    /// Row and column in the response.
    place: (usize, usize),
}

impl WindowLocalizer {
    /// Learns the target at `bbox` and what is around it.
    ///
    /// # Errors
    /// [`Error::Box`] when the search area is too large or shows nothing; the machine's error in its first fit.
    pub fn new(params: &WindowParams, frame: &Frame<'_>, bbox: BBox) -> Result<Self> {
        let mut grid = WindowGrid::new(params, bbox)?;
        let (map, template) = (grid.map, grid.template);
        let margined = (template.0 + 2 * MARGIN, template.1 + 2 * MARGIN);
        let (scale, (_, largest)) = (grid.step / CELL as f64, limits(grid.size, frame.size()));
        let mut map_cutter = Cutter::new(map, scale, largest);
        let mut first = vec![0.0; map.0 * map.1 * hog::LANES];
        grid.middle = map_cutter.cut(frame, Pose::of(bbox), &mut first);
        if is_blank(&first) {
            return Err(uniform(bbox));
        }
        let settings = WindowSettings {
            kernel: params.kernel,
            size: map,
            template,
            channels: hog::CHANNELS,
            kept: params.channels,
            positives: params.positives,
            negatives: params.negatives,
        };
        // The first map gives the projection.
        let mut detector = WindowDetector::new(settings, params.machine.build()?, &first);
        detector.input().copy_from_slice(&first);
        detector.take_input();
        let (height, width) = grid.windows();
        // Zero just outside the response.
        let (by_row, by_col) = (hann(height + 2), hann(width + 2));
        let weight = |near: f32| (1.0 - params.prior + params.prior * f64::from(near)) as f32;
        let prior =
            by_row[1..=height].iter().flat_map(|r| by_col[1..=width].iter().map(move |c| weight(r * c))).collect();
        let mut search = Self {
            params: params.clone(),
            calibration: Calibration::of_machine(params.machine.kind()),
            accepted: 0,
            grid,
            map_cutter,
            template_cutter: Cutter::new(margined, scale, largest),
            margined: vec![0.0; margined.0 * margined.1 * hog::LANES],
            template: vec![0.0; template.0 * template.1 * hog::LANES],
            prior,
            detector,
            peaks: Vec::with_capacity(height * width),
        };
        search.learn_first(bbox)?;
        Ok(search)
    }

    /// Scores all windows around the target's place `at`; false where there is nothing to see in the whole area.
    pub fn scan(&mut self, frame: &Frame<'_>, at: Pose) -> bool {
        self.grid.scale = at.scale;
        self.grid.middle = self.map_cutter.cut(frame, at, self.detector.input());
        let seen = !is_blank(self.detector.input());
        self.detector.take_input();
        self.detector.respond();
        seen
    }

    /// The best window of the last scan; with `near`, nearness to the middle counts too.
    pub fn best(&self, near: bool) -> Found {
        let (response, (height, width)) = (self.detector.response(), self.grid.windows());
        // The background's mean is at -1: what scores less still is not weighed by nearness.
        let judged = |i: usize| if near { (response[i].max(-1.0) + 1.0) * self.prior[i] } else { response[i] };
        let (place, (dr, dc)) = highest_from_middle(judged, (height, width), ResponseLayout::Centered);
        let center = self.grid.center_of((place.0 as f64 + dr, place.1 as f64 + dc));
        Found { score: f64::from(response[place.0 * width + place.1]), center, place }
    }

    /// The best score within a cell of the middle of the last scan.
    pub fn score_at_middle(&self) -> f64 {
        let (row, col) = self.place_at_middle();
        f64::from(self.detector.response()[row * self.grid.windows().1 + col])
    }

    /// Row and column of the window of that score.
    fn place_at_middle(&self) -> (usize, usize) {
        let (response, (height, width)) = (self.detector.response(), self.grid.windows());
        let (mut best, mut value) = ((height / 2, width / 2), f32::NEG_INFINITY);
        for r in (height / 2).saturating_sub(1)..(height / 2 + 2).min(height) {
            for c in (width / 2).saturating_sub(1)..(width / 2 + 2).min(width) {
                if response[r * width + c] > value {
                    (best, value) = ((r, c), response[r * width + c]);
                }
            }
        }
        best
    }

    fn learn_first(&mut self, bbox: BBox) -> Result<()> {
        let (height, width) = self.grid.windows();
        let (r0, c0) = (height / 2, width / 2);
        for (n, (dr, dc)) in [(0i64, 0i64), (-1, 0), (1, 0), (0, -1), (0, 1)].into_iter().enumerate() {
            let (row, col) = ((r0 as i64 + dr) as usize, (c0 as i64 + dc) as usize);
            // A share of 1/n each time: all weigh the same in the end.
            self.detector.add_positive_at(row, col, 1.0 / (n + 1) as f64, self.grid.label(dr as f64, dc as f64));
        }
        let away: Vec<(usize, usize)> = (0..height * width)
            .map(|i| (i / width, i % width))
            .filter(|&(r, c)| self.grid.apart(r as f64 - r0 as f64, c as f64 - c0 as f64))
            .collect();
        if away.is_empty() {
            let reason = "the search area shows nothing but the target: a larger reach is needed to learn what is not";
            return Err(Error::Box { bbox, reason: reason.into() });
        }
        let wanted = self.params.negatives.min(FIRST_NEGATIVES).min(away.len());
        for i in 0..wanted {
            let (r, c) = away[(2 * i + 1) * away.len() / (2 * wanted)];
            self.detector.add_negative_at(r, c);
        }
        self.detector.fit()
    }

    /// Learns the target at `at` if its `score` passes the gate, and it is the turn of this frame.
    pub fn learn_above_gate(&mut self, frame: &Frame<'_>, at: Pose, score: f64) -> Learned {
        self.accepted += usize::from(score > self.params.gate);
        if self.accepted < self.params.interval {
            return Learned::Done;
        }
        self.accepted = 0;
        self.learn_sample(frame, at, self.params.sample_share)
    }

    /// Learns the sample of the target at `at` with `share` of the weight of all of them, and those windows of the last
    /// scan that scored highest and lie elsewhere.
    fn learn_sample(&mut self, frame: &Frame<'_>, at: Pose, share: f64) -> Learned {
        self.cut_template(frame, at);
        self.detector.add_positive(&self.template, share, 1.0);
        self.find_distractors(self.grid.place_of(at.center));
        for &(_, r, c) in &self.peaks {
            self.detector.add_negative_at(r, c);
        }
        let fitted = self.detector.fit();
        if fitted.is_ok() { Learned::Done } else { Learned::KeptModel }
    }

    /// Cuts the template of a target at `at`.
    fn cut_template(&mut self, frame: &Frame<'_>, at: Pose) {
        self.template_cutter.cut(frame, at, &mut self.margined);
        let (cols, margined) = (self.grid.template.1, self.grid.template.1 + 2 * MARGIN);
        for (r, to) in self.template.chunks_exact_mut(cols * hog::LANES).enumerate() {
            let from = ((r + MARGIN) * margined + MARGIN) * hog::LANES;
            to.copy_from_slice(&self.margined[from..][..cols * hog::LANES]);
        }
    }

    /// The highest local maxima of the last response that lie apart from the target at `at` (row, column), to `peaks`.
    fn find_distractors(&mut self, at: (f64, f64)) {
        self.peaks.clear();
        let (height, width) = self.grid.windows();
        let response = self.detector.response();
        for r in 0..height {
            for c in 0..width {
                let value = response[r * width + c];
                let mut around = (r.saturating_sub(1)..(r + 2).min(height))
                    .flat_map(|y| (c.saturating_sub(1)..(c + 2).min(width)).map(move |x| response[y * width + x]));
                if around.all(|other| other <= value) && self.grid.apart(r as f64 - at.0, c as f64 - at.1) {
                    self.peaks.push((value, r, c));
                }
            }
        }
        // Equal ones in the order of their places, as the sort without allocation leaves them anywhere.
        self.peaks.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        self.peaks.truncate(self.params.hard_negatives);
    }

    /// The result of the last scan for the window at `place`, with the target's pose `pose`.
    fn located(&self, pose: Pose, place: (usize, usize), seen: bool) -> Located {
        let (response, size) = (self.detector.response(), self.grid.windows());
        let mut evidence = evidence_at(response, size, place, PEAK_RADIUS, ResponseLayout::Centered);
        evidence.decision = seen.then_some(evidence.peak);
        Located::new(pose, evidence, Some(self.calibration.probability(&evidence)), seen)
    }
}

impl Localizer for WindowLocalizer {
    fn locate(&mut self, frame: &Frame<'_>, at: Pose, _: Extent) -> Located {
        if !self.scan(frame, at) {
            return self.located(at, self.place_at_middle(), false);
        }
        let found = self.best(true);
        self.located(at.at(found.center), found.place, true)
    }

    fn score_at(&mut self, frame: &Frame<'_>, at: Pose) -> Located {
        let seen = self.scan(frame, at);
        self.located(at, self.place_at_middle(), seen)
    }

    fn learn(&mut self, frame: &Frame<'_>, located: &Located, update: Update) -> Learned {
        let at = located.pose;
        match update {
            Update::Usual => self.learn_above_gate(frame, at, f64::from(located.evidence.peak)),
            Update::Blend(share) => self.learn_sample(frame, at, share),
            Update::Held(factor) => self.learn_sample(frame, at, self.params.sample_share / factor),
        }
    }

    fn snapshot(&mut self, _: Pose) {}

    fn restore(&mut self) -> Option<Pose> {
        None
    }

    fn restart(&mut self, _: Pose) {}

    fn response(&self) -> ResponseMap<'_> {
        let (values, size) = (self.detector.response(), self.grid.windows());
        ResponseMap::new(values, size, ResponseLayout::Centered, self.grid.middle, self.grid.step())
    }

    fn transfer(&mut self, archive: &mut Archive<'_>) {
        archive.refuse("a search by a machine over windows cannot be saved");
    }
}

#[cfg(test)]
mod tests;
