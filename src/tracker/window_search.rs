//! The search by a kernel machine over a bank of real windows: all windows around the target are scored, nearness
//! counts, a gate stands before learning.

use ndarray::ArrayView2;

use super::calibration::Calibration;
use super::grid::{WindowCutter, WindowGrid};
use super::params::WindowParams;
use super::peak::{Peak, between_cells};
use super::pose::Pose;
use super::search::{Detection, Evidence, FrameKind, Learned, Search, check_box, is_blank, uniform};
use super::{ResponseLayout, ResponseMap, State};
use crate::bbox::BBox;
use crate::error::{Error, Result};
use crate::features::hog;
use crate::features::window::hann;
use crate::filters::windows::{WindowDetector, WindowSettings};
use crate::frame::Frame;

/// Samples of the background that the first frame gives, at most.
const FIRST_NEGATIVES: usize = 32;

/// Cells around a peak that do not count as sidelobe.
const PEAK_RADIUS: usize = 3;

/// Scores all windows around a place of the frame, and learns from them.
#[derive(Clone, Debug)]
pub(super) struct WindowSearch {
    params: WindowParams,
    /// Decisions below this are worth `lost`.
    lost: f64,
    /// Accepted frames since one was learned from.
    accepted: usize,
    pose: Pose,
    /// The decision that the last detection stands on.
    decision: f64,
    grid: WindowGrid,
    cutter: WindowCutter,
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

impl WindowSearch {
    /// Learns the target at `bbox` and what is around it; decisions below `lost`, or below the gate where that is
    /// lower, will be worth [`State::Lost`].
    ///
    /// # Errors
    /// [`Error::Box`] for a box that cannot be tracked, when its search area is too large or there is nothing in it;
    /// what the machine says of its first fit.
    pub fn new(params: &WindowParams, lost: f64, frame: &Frame<'_>, bbox: BBox) -> Result<Self> {
        let frames = FrameKind::of(frame);
        check_box(frames.size, bbox)?;
        let mut grid = WindowGrid::new(params, bbox)?;
        let mut cutter = WindowCutter::new(&grid, frames);
        let mut first = vec![0.0; grid.map.0 * grid.map.1 * hog::LANES];
        cutter.cut_map(&mut grid, frame, Pose::of(bbox), &mut first);
        if is_blank(&first) {
            return Err(uniform(bbox));
        }
        let (map, template) = (grid.map, grid.template);
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
            lost: lost.min(params.gate),
            calibration: Calibration::of_machine(params.machine.kind()),
            accepted: 0,
            pose: Pose::of(bbox),
            decision: f64::NEG_INFINITY,
            grid,
            cutter,
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
        self.cutter.cut_map(&mut self.grid, frame, at, self.detector.input());
        let seen = !is_blank(self.detector.input());
        self.detector.take_input();
        self.detector.respond();
        seen
    }

    /// How far from the middle the windows of a scan reach, in pixels (x, y).
    pub fn reach(&self) -> (f64, f64) {
        self.grid.reach()
    }

    /// The best window of the last scan; with `near`, nearness to the middle counts too.
    pub fn best(&self, near: bool) -> Found {
        let (response, (height, width)) = (self.detector.response(), self.grid.windows());
        // The background's mean is at -1: what scores less still is not weighed by nearness.
        let judged = |i: usize| if near { (response[i].max(-1.0) + 1.0) * self.prior[i] } else { response[i] };
        // Where all is alike, the target has not moved.
        let middle = height / 2 * width + width / 2;
        let (mut best, mut value) = (middle, Some(judged(middle)).filter(|v| !v.is_nan()).unwrap_or(f32::NEG_INFINITY));
        for i in 0..response.len() {
            let v = judged(i);
            if v > value {
                (best, value) = (i, v);
            }
        }
        let place = (best / width, best % width);
        let at = |r: usize, c: usize| f64::from(judged(r * width + c));
        let (dr, dc) = between_cells(at, (height, width), place, ResponseLayout::Centered);
        let center = self.grid.center_of((place.0 as f64 + dr, place.1 as f64 + dc));
        Found { score: f64::from(response[best]), center, place }
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
        self.learn_at(frame, at)
    }

    /// Learns the sample of the target at `at` with the share that a newest one has.
    pub fn learn_at(&mut self, frame: &Frame<'_>, at: Pose) -> Learned {
        self.learn_sample(frame, at, self.params.sample_share)
    }

    /// Learns the sample of the target at `at` with `share` of the weight of all of them, and those windows of the last
    /// scan that scored highest and lie elsewhere.
    fn learn_sample(&mut self, frame: &Frame<'_>, at: Pose, share: f64) -> Learned {
        self.cutter.cut_template(frame, at, &mut self.template);
        self.detector.add_positive(&self.template, share, 1.0);
        self.find_distractors(self.grid.place_of(at.center));
        for &(_, r, c) in &self.peaks {
            self.detector.add_negative_at(r, c);
        }
        let fitted = self.detector.fit();
        if fitted.is_ok() { Learned::Done } else { Learned::KeptModel }
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

    /// What the last scan says of the window at `place`, the target's pose being `pose`.
    fn detection(&mut self, pose: Pose, place: (usize, usize), seen: bool) -> Detection {
        let (response, size) = (self.detector.response(), self.grid.windows());
        let Peak { value, psr, apce, .. } = Peak::at(response, size, place, PEAK_RADIUS, ResponseLayout::Centered);
        (self.pose, self.decision) = (pose, f64::from(value));
        let evidence = Evidence { peak: value, psr, apce, decision: seen.then_some(value), ..Evidence::default() };
        Detection { pose, evidence, seen, guess: None }
    }
}

impl Search for WindowSearch {
    fn pose(&self) -> Pose {
        self.pose
    }

    fn detect(&mut self, frame: &Frame<'_>, at: Pose) -> Detection {
        if !self.scan(frame, at) {
            return self.detection(at, self.place_at_middle(), false);
        }
        let found = self.best(true);
        self.detection(at.at(found.center), found.place, true)
    }

    fn evaluate_at(&mut self, frame: &Frame<'_>, at: Pose) -> Detection {
        let seen = self.scan(frame, at);
        self.detection(at, self.place_at_middle(), seen)
    }

    fn learn(&mut self, frame: &Frame<'_>, at: Pose, _: &Evidence, rate: Option<f64>) -> Learned {
        match rate {
            None => self.learn_above_gate(frame, at, self.decision),
            Some(share) => self.learn_sample(frame, at, share),
        }
    }

    fn state(&self, evidence: &Evidence) -> State {
        let score = f64::from(evidence.decision.unwrap_or(f32::NEG_INFINITY));
        if score < self.lost {
            State::Lost
        } else if score <= self.params.gate {
            State::Uncertain
        } else {
            State::Tracking
        }
    }

    fn confidence(&self, evidence: &Evidence) -> Option<f64> {
        Some(self.calibration.probability(evidence))
    }

    fn response(&self) -> ResponseMap<'_> {
        let step = self.grid.step();
        ResponseMap {
            values: ArrayView2::from_shape(self.grid.windows(), self.detector.response())
                .expect("a response has the grid's size"),
            layout: ResponseLayout::Centered,
            center: self.grid.middle,
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
