//! The search area of one frame: cut out at the target's size and angle, as colours and as gray values.

use crate::features::color_bins::take_colors_apart;
use crate::frame::Frame;
use crate::frame::resample::{Region, Resampler};
use crate::tracker::pose::Pose;
use crate::tracker::small_patch::GrayPatch;

/// Pixels of a cell.
pub(super) const CELL: usize = 4;

/// A square part of a frame.
#[derive(Clone, Debug)]
pub(super) struct View {
    rgb: Vec<u8>,
    pub gray: Vec<u8>,
    /// The colours' [bins](crate::features::color_bins).
    pub bins: Vec<u16>,
    /// The target's pose that it is cut for: its middle, and by how much its pixels are larger, and turned.
    pub pose: Pose,
    /// Cells on a side.
    cells: usize,
    /// Pixels of the frame per pixel at scale 1.
    step: f64,
}

impl View {
    /// Of `cells` on a side, `step` pixels of the frame a pixel at scale 1.
    pub fn new(cells: usize, step: f64, pose: Pose) -> Self {
        let pixels = (cells * CELL).pow(2);
        Self { rgb: vec![0; 3 * pixels], gray: vec![0; pixels], bins: vec![0; pixels], pose, cells, step }
    }

    /// Cuts the area around a target at `pose`.
    pub fn cut(&mut self, frame: &Frame<'_>, pose: Pose, resampler: &mut Resampler) {
        let region = Region::new(pose.center, self.step * pose.scale).turned(pose.angle);
        resampler.cut(frame, region, &mut self.rgb);
        take_colors_apart(&self.rgb, &mut self.gray, &mut self.bins);
        self.pose = pose;
    }

    /// Pixels on a side.
    pub fn side(&self) -> usize {
        self.cells * CELL
    }

    /// Pixels of the frame from one cell to the next.
    pub fn cell_step(&self) -> f64 {
        CELL as f64 * self.step * self.pose.scale
    }

    /// The gray values.
    pub fn gray_patch(&self) -> GrayPatch<'_> {
        GrayPatch { pixels: &self.gray, width: self.side() }
    }

    /// The point of the view that is `shift` (rows, columns of cells) off its middle: x, y.
    pub fn point(&self, shift: (f64, f64)) -> (f64, f64) {
        let middle = self.side() as f64 / 2.0;
        (middle + shift.1 * CELL as f64, middle + shift.0 * CELL as f64)
    }

    /// The point of the frame that is `shift` (rows, columns of cells) off the middle: x, y.
    pub fn in_frame(&self, shift: (f64, f64)) -> (f64, f64) {
        let Pose { center, angle, .. } = self.pose;
        let (sin, cos) = libm::sincos(angle);
        let (dx, dy) = (shift.1 * self.cell_step(), shift.0 * self.cell_step());
        (center.0 + cos * dx - sin * dy, center.1 + sin * dx + cos * dy)
    }

    /// How many cells (rows, columns) a point of the frame lies off the middle.
    pub fn shift_of(&self, point: (f64, f64)) -> (f64, f64) {
        let Pose { center, angle, .. } = self.pose;
        let (sin, cos) = libm::sincos(angle);
        let (dx, dy) = ((point.0 - center.0) / self.cell_step(), (point.1 - center.1) / self.cell_step());
        (cos * dy - sin * dx, cos * dx + sin * dy)
    }
}
