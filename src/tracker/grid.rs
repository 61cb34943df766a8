//! Where the windows of a search map lie on the frame, and cutting them out: whole cells of one size, seen so coarsely
//! that the target has the template's size.

use super::params::WindowParams;
use super::pose::Pose;
use super::scale::limits;
use super::search::FrameKind;
use crate::bbox::BBox;
use crate::error::{Error, Result};
use crate::features::hog::{self, Hog};
use crate::fft::fast_length_of_parity;
use crate::frame::Resampler;
use crate::frame::{Channels, Frame};

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
    /// For a target at `bbox`.
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

/// Cuts search maps and templates of a [`WindowGrid`] out of frames.
#[derive(Clone, Debug)]
pub(super) struct WindowCutter {
    map: Cutter,
    /// A template with its margin.
    template: Cutter,
    margined: Vec<f32>,
    columns: usize,
}

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
    /// For patches of so many cells, around targets that become `largest` times as large.
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

    /// Writes the features of the patch around a target at `pose`, to whole pixels of the frame; where its middle
    /// really is.
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

impl WindowCutter {
    /// For the windows of `grid`, with memory for all sizes of its target that there may be in such `frames`.
    pub fn new(grid: &WindowGrid, frames: FrameKind) -> Self {
        let around = (grid.template.0 + 2 * MARGIN, grid.template.1 + 2 * MARGIN);
        let scale = grid.step / CELL as f64;
        let (_, largest) = limits(grid.size, frames.size);
        Self {
            map: Cutter::new(grid.map, scale, largest),
            template: Cutter::new(around, scale, largest),
            margined: vec![0.0; around.0 * around.1 * hog::LANES],
            columns: grid.template.1,
        }
    }

    /// Writes the search map around `pose` to `out`, `[row][column][hog::LANES]`, and moves the grid there.
    pub fn cut_map(&mut self, grid: &mut WindowGrid, frame: &Frame<'_>, pose: Pose, out: &mut [f32]) {
        grid.scale = pose.scale;
        grid.middle = self.map.cut(frame, pose, out);
    }

    /// Writes the template of a target at `pose` to `out`, `[row][column][hog::LANES]`.
    pub fn cut_template(&mut self, frame: &Frame<'_>, pose: Pose, out: &mut [f32]) {
        self.template.cut(frame, pose, &mut self.margined);
        let (cols, around) = (self.columns, self.columns + 2 * MARGIN);
        for (r, to) in out.chunks_exact_mut(cols * hog::LANES).enumerate() {
            let from = ((r + MARGIN) * around + MARGIN) * hog::LANES;
            to.copy_from_slice(&self.margined[from..][..cols * hog::LANES]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machines::MachineKind;

    #[test]
    fn places_and_centres_are_each_others_inverse() {
        let bbox = BBox::new(20.0, 30.0, 24.0, 40.0);
        let params = WindowParams::of(MachineKind::Svm);
        let grid = WindowGrid::new(&params, bbox).unwrap();
        let (height, width) = grid.windows();
        assert_eq!(grid.center_of(((height / 2) as f64, (width / 2) as f64)), bbox.center());
        let center = grid.center_of((1.0, 2.5));
        let (row, col) = grid.place_of(center);
        assert!((row - 1.0).abs() < 1e-9 && (col - 2.5).abs() < 1e-9);
        // A target can move by the reach, and its own window is labelled as such.
        assert!(grid.reach().0 >= 0.5 * 24.0 * params.reach - grid.step());
        assert_eq!(grid.label(0.0, 0.0), 1.0);
        assert!(grid.label(3.0, 3.0) < -0.99);
        assert!(!grid.apart(0.0, 0.0) && grid.apart(0.0, 24.0 / grid.step()));
    }
}
