//! The search for one target by a detector of real windows: where the windows lie on the frame, how they are cut, what they teach.

use super::WindowParams;
use super::confidence::vertex;
use super::target::{is_blank, uniform};
use crate::detector::windows::{WindowDetector, WindowSettings};
use crate::error::{Error, Result};
use crate::feature::hog::{self, Hog};
use crate::feature::window;
use crate::frame::Frame;
use crate::frame::scaled::ScaledSampler;
use crate::geometry::BBox;
use crate::profile::{Stage, Stopwatch};
use crate::spectrum::cost;

/// Pixels of a cell's side, at the size that is searched.
const CELL: usize = 4;

/// Cells around a template whose gradients and energies its border cells take in.
const MARGIN: usize = 1;

/// Cells of a template's side at least.
const MIN_CELLS: usize = 3;

/// Looks of the background that the first frame gives, at most.
const FIRST_NEGATIVES: usize = 32;

/// Cells that a target can move by at least, however small it is.
const MIN_REACH: usize = 2;

/// Longest side of a search area in cells, and pixels of the frame in it, that a detector is made for.
const MAX_CELLS: usize = 1 << 12;
const MAX_PIXELS: f64 = (1 << 28) as f64;

/// Scores all windows around a place of the frame, and learns from them.
#[derive(Clone, Debug)]
pub(super) struct Scanner {
    params: WindowParams,
    /// Believed frames since one was learned from.
    believed: usize,
    size: (f64, f64),
    /// Rows and columns of cells of a template and of a search map.
    template: (usize, usize),
    search: (usize, usize),
    /// Pixels of the frame from one cell to the next.
    step: f64,
    search_sampler: ScaledSampler,
    template_sampler: ScaledSampler,
    search_patch: Vec<u8>,
    template_patch: Vec<u8>,
    search_hog: Box<Hog>,
    template_hog: Box<Hog>,
    /// A window of ones: the features of real windows are not tapered.
    flat: Vec<f32>,
    template_map: Vec<f32>,
    template_inner: Vec<f32>,
    /// How much nearness to the middle counts, `[row][column]` of the response.
    prior: Vec<f32>,
    detector: WindowDetector,
    /// Width of the regression target in cells.
    sigma: f64,
    /// The target's centre on the frame that the middle of the last scan stands for.
    middle: (f64, f64),
    /// Local maxima of a response: score, row, column.
    peaks: Vec<(f32, usize, usize)>,
}

/// A window of the last scan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// The decision there.
    pub score: f64,
    /// The target's centre on the frame.
    pub center: (f64, f64),
}

impl Scanner {
    /// Learns the target at `bbox` and what is around it, by the machine of `params`.
    ///
    /// # Errors
    /// [`Error::Box`] when its search area is too large or there is nothing in it.
    pub fn new(params: &WindowParams, frame: &Frame<'_>, bbox: BBox) -> Result<Self> {
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
        let search = (cost::cheapest_centred_from(least.0), cost::cheapest_centred_from(least.1));
        let around = (template.0 + 2 * MARGIN, template.1 + 2 * MARGIN);
        let sampler = |(rows, cols): (usize, usize)| ScaledSampler::new(cols * CELL, rows * CELL, scale);
        let hog = |(rows, cols): (usize, usize)| Box::new(Hog::new(cols * CELL, rows * CELL, CELL));
        let (mut search_sampler, mut search_hog) = (sampler(search), hog(search));
        let mut search_patch = vec![0; search.0 * search.1 * CELL * CELL];
        let flat = vec![1.0; search.0.max(search.1).max(around.0).max(around.1)];
        let mut first = vec![0.0; search.0 * search.1 * hog::LANES];
        let middle = sample(&mut search_sampler, frame, bbox.center(), &mut search_patch);
        search_hog.extract(&search_patch, &flat[..search.0], &flat[..search.1], &mut first, &mut Stopwatch::default());
        if is_blank(&first) {
            return Err(uniform(bbox));
        }
        let settings = WindowSettings {
            kernel: params.kernel,
            size: search,
            template,
            channels: hog::CHANNELS,
            kept: params.channels,
            positives: params.positives,
            negatives: params.negatives,
        };
        let mut detector = WindowDetector::new(settings, params.machine.build()?, &first);
        detector.input().copy_from_slice(&first);
        detector.take_input();
        let (height, width) = detector.windows();
        // Zero just outside the response.
        let (by_row, by_col) = (window::hann(height + 2), window::hann(width + 2));
        let weight = |near: f32| (1.0 - params.prior + params.prior * f64::from(near)) as f32;
        let prior =
            by_row[1..=height].iter().flat_map(|r| by_col[1..=width].iter().map(move |c| weight(r * c))).collect();
        let mut scanner = Self {
            params: params.clone(),
            believed: 0,
            size: (bbox.w, bbox.h),
            template,
            search,
            step,
            template_sampler: sampler(around),
            search_sampler,
            search_patch,
            template_patch: vec![0; around.0 * around.1 * CELL * CELL],
            search_hog,
            template_hog: hog(around),
            flat,
            template_map: vec![0.0; around.0 * around.1 * hog::LANES],
            template_inner: vec![0.0; template.0 * template.1 * hog::LANES],
            prior,
            detector,
            // A tenth of the target's size, as KCF's.
            sigma: 0.1 * (bbox.w * bbox.h).sqrt() / step,
            middle,
            peaks: Vec::with_capacity(height * width),
        };
        scanner.learn_first(bbox)?;
        Ok(scanner)
    }

    /// Scores all windows around the target's centre `center`; false where there is nothing to see in the whole area.
    pub fn scan(&mut self, frame: &Frame<'_>, center: (f64, f64), watch: &mut Stopwatch) -> bool {
        watch.start();
        self.middle = sample(&mut self.search_sampler, frame, center, &mut self.search_patch);
        watch.lap(Stage::Crop);
        let (rows, cols) = self.search;
        self.search_hog.extract(
            &self.search_patch,
            &self.flat[..rows],
            &self.flat[..cols],
            self.detector.input(),
            watch,
        );
        let seen = !is_blank(self.detector.input());
        watch.start();
        self.detector.take_input();
        self.detector.respond();
        watch.lap(Stage::Windows);
        seen
    }

    /// The last response, `[row][column]`, its rows and columns.
    pub fn response(&self) -> (&[f32], (usize, usize)) {
        (self.detector.response(), self.detector.windows())
    }

    /// The target's centre that the middle of the last response stands for.
    pub fn middle(&self) -> (f64, f64) {
        self.middle
    }

    /// Pixels of the frame from one window to the next.
    pub fn step(&self) -> f64 {
        self.step
    }

    /// How far from the middle the windows of a scan reach, in pixels (x, y).
    pub fn reach(&self) -> (f64, f64) {
        let (height, width) = self.detector.windows();
        ((width / 2) as f64 * self.step, (height / 2) as f64 * self.step)
    }

    /// The best window of the last scan; with `near`, nearness to the middle counts too.
    pub fn best(&self, near: bool) -> Found {
        let (response, (height, width)) = self.response();
        // The background's mean is at -1: what scores less still is not weighed by nearness.
        let judged = |i: usize| if near { (response[i].max(-1.0) + 1.0) * self.prior[i] } else { response[i] };
        let (mut best, mut value) = (height / 2 * width + width / 2, f32::NEG_INFINITY);
        for i in 0..response.len() {
            let v = judged(i);
            if v > value {
                (best, value) = (i, v);
            }
        }
        let (row, col) = (best / width, best % width);
        let between =
            |before: usize, after: usize| vertex(f64::from(judged(before)), f64::from(value), f64::from(judged(after)));
        let dr = if row > 0 && row + 1 < height { between(best - width, best + width) } else { 0.0 };
        let dc = if col > 0 && col + 1 < width { between(best - 1, best + 1) } else { 0.0 };
        let at = (row as f64 + dr, col as f64 + dc);
        Found { score: f64::from(response[best]), center: self.center_of(at) }
    }

    /// The best score within a cell of the middle.
    pub fn score_at_middle(&self) -> f64 {
        let (response, (height, width)) = self.response();
        let mut best = f32::NEG_INFINITY;
        for r in (height / 2).saturating_sub(1)..(height / 2 + 2).min(height) {
            for c in (width / 2).saturating_sub(1)..(width / 2 + 2).min(width) {
                best = best.max(response[r * width + c]);
            }
        }
        f64::from(best)
    }

    fn center_of(&self, at: (f64, f64)) -> (f64, f64) {
        let (height, width) = self.detector.windows();
        (
            self.middle.0 + (at.1 - (width / 2) as f64) * self.step,
            self.middle.1 + (at.0 - (height / 2) as f64) * self.step,
        )
    }

    /// The place in the response of the target's centre `center`.
    fn at(&self, center: (f64, f64)) -> (f64, f64) {
        let (height, width) = self.detector.windows();
        (
            (height / 2) as f64 + (center.1 - self.middle.1) / self.step,
            (width / 2) as f64 + (center.0 - self.middle.0) / self.step,
        )
    }

    fn label(&self, rows: f64, cols: f64) -> f64 {
        2.0 * (-(rows * rows + cols * cols) / (2.0 * self.sigma * self.sigma)).exp() - 1.0
    }

    /// Whether the boxes of two windows, `rows` and `cols` apart, overlap by less than half.
    fn apart(&self, rows: f64, cols: f64) -> bool {
        let here = BBox::new(0.0, 0.0, self.size.0, self.size.1);
        here.overlap(&here.translated(cols * self.step, rows * self.step)) < 0.5
    }

    fn learn_first(&mut self, bbox: BBox) -> Result<()> {
        let (height, width) = self.detector.windows();
        let (r0, c0) = (height / 2, width / 2);
        for (n, (dr, dc)) in [(0i64, 0i64), (-1, 0), (1, 0), (0, -1), (0, 1)].into_iter().enumerate() {
            let (row, col) = ((r0 as i64 + dr) as usize, (c0 as i64 + dc) as usize);
            // A share of 1/n each time: all weigh the same in the end.
            self.detector.add_positive_at(row, col, 1.0 / (n + 1) as f64, self.label(dr as f64, dc as f64));
        }
        let away: Vec<(usize, usize)> = (0..height * width)
            .map(|i| (i / width, i % width))
            .filter(|&(r, c)| self.apart(r as f64 - r0 as f64, c as f64 - c0 as f64))
            .collect();
        if away.is_empty() {
            let reason =
                "the search area shows nothing but the target: a larger reach is needed to learn what is not".into();
            return Err(Error::Box { bbox, reason });
        }
        let wanted = self.params.negatives.min(FIRST_NEGATIVES).min(away.len());
        for i in 0..wanted {
            let (r, c) = away[(2 * i + 1) * away.len() / (2 * wanted)];
            self.detector.add_negative_at(r, c);
        }
        self.detector.fit()
    }

    /// Decisions above this are believed.
    pub fn gate(&self) -> f64 {
        self.params.gate
    }

    /// Learns the target at `center` if its `score` is believed, and it is the turn of this frame.
    ///
    /// # Errors
    /// What the machine says; its earlier decision then stays.
    pub fn learn_if_believed(
        &mut self,
        frame: &Frame<'_>,
        center: (f64, f64),
        score: f64,
        watch: &mut Stopwatch,
    ) -> Result<()> {
        self.believed += usize::from(score > self.params.gate);
        if self.believed < self.params.every {
            return Ok(());
        }
        self.believed = 0;
        self.learn(frame, center, watch)
    }

    /// Learns the look of the target at `center`, and those windows of the last scan that looked most like it and lie elsewhere.
    fn learn(&mut self, frame: &Frame<'_>, center: (f64, f64), watch: &mut Stopwatch) -> Result<()> {
        let (rows, cols) = self.template;
        let (around_rows, around_cols) = (rows + 2 * MARGIN, cols + 2 * MARGIN);
        watch.start();
        sample(&mut self.template_sampler, frame, center, &mut self.template_patch);
        watch.lap(Stage::Crop);
        let map = &mut self.template_map;
        self.template_hog.extract(
            &self.template_patch,
            &self.flat[..around_rows],
            &self.flat[..around_cols],
            map,
            watch,
        );
        watch.start();
        for (r, to) in self.template_inner.chunks_exact_mut(cols * hog::LANES).enumerate() {
            to.copy_from_slice(&map[((r + MARGIN) * around_cols + MARGIN) * hog::LANES..][..cols * hog::LANES]);
        }
        self.detector.add_positive(&self.template_inner, self.params.sample_share, 1.0);
        self.find_distractors(self.at(center));
        for &(_, r, c) in &self.peaks {
            self.detector.add_negative_at(r, c);
        }
        let fitted = self.detector.fit();
        watch.lap(Stage::Refit);
        fitted
    }

    /// The highest local maxima of the last response that lie apart from the target at `at`, to `peaks`.
    fn find_distractors(&mut self, at: (f64, f64)) {
        self.peaks.clear();
        let (height, width) = self.detector.windows();
        let response = self.detector.response();
        for r in 0..height {
            for c in 0..width {
                let value = response[r * width + c];
                let mut around = (r.saturating_sub(1)..(r + 2).min(height))
                    .flat_map(|y| (c.saturating_sub(1)..(c + 2).min(width)).map(move |x| response[y * width + x]));
                if around.all(|other| other <= value) && self.apart(r as f64 - at.0, c as f64 - at.1) {
                    self.peaks.push((value, r, c));
                }
            }
        }
        // Equal ones in the order of their places, as the sort without allocation leaves them anywhere.
        self.peaks.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        self.peaks.truncate(self.params.hard_negatives);
    }
}

/// Cuts the patch around `center`, to whole pixels of the frame; where its middle really is.
fn sample(sampler: &mut ScaledSampler, frame: &Frame<'_>, center: (f64, f64), out: &mut [u8]) -> (f64, f64) {
    let (width, height) = sampler.covered();
    let (left, top) = ((center.0 - width / 2.0).round(), (center.1 - height / 2.0).round());
    sampler.sample(frame, left as i64, top as i64, out);
    (left + width / 2.0, top + height / 2.0)
}
