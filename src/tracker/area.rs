//! The search area of a filter: how large it is, at which scale it is seen, and cutting it out of a frame.
//!
//! By the paper (Henriques et al., TPAMI 2015, section 8.1) it is the padded target, at half size for large targets.

use super::params::{FilterParams, ScaleParams};
use crate::bbox::BBox;
use crate::error::{Error, Result};
use crate::frame::HalfSampler;
use crate::frame::{self, PatchRect};
use crate::frame::{Channels, Frame};
use crate::frame::{Region, Resampler};

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
    /// Around any point and at any size of the target, with the pixels of the frame per pixel at its first size.
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
                "its search area of {}x{} pixels is too large; a larger cell size or a smaller padding shrinks the \
                 filter",
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

    /// What was cut last, and where a published area at `position` lies on the frame.
    #[cfg(feature = "cli")]
    pub fn patch_and_place(&self, position: (f64, f64)) -> (&[u8], BBox) {
        let (area, factor) = (rect(position, self.size), if self.halved() { 2.0 } else { 1.0 });
        let [left, top] = [area.left, area.top].map(|edge| edge as f64 * factor);
        (&self.patch, BBox::new(left, top, area.width as f64 * factor, area.height as f64 * factor))
    }

    fn halved(&self) -> bool {
        matches!(self.sampler, Sampler::Half(_))
    }

    /// Whether it lies around any point, of a target of any size: the position is then the target's centre itself, and
    /// not one that is kept on whole pixels.
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
