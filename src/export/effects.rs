//! Changes to a picture before boxes are drawn on it: areas are hidden, and it is cropped around the target.

use std::collections::VecDeque;

use image::imageops::{crop_imm, fast_blur, replace};
use image::{Rgb, RgbImage};

use super::{FrameRecord, FrameResult, TargetRecord};
use crate::bbox::BBox;

/// How pixels are hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Veil {
    /// By a blur.
    Blur,
    /// By a mosaic.
    Pixelate,
}

/// The hidden areas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Hidden {
    /// The targets
    Target,
    /// All but the targets
    Rest,
}

/// Share of a box's side that is hidden around it, and the least of it in pixels.
const HIDDEN_MARGIN: (f64, f64) = (0.05, 2.0);

/// Cells of a mosaic, and deviations of a blur, along the longer side of what is hidden.
const CELLS: u32 = 8;

/// Hides the boxes of `records`, or all but them. A box without finite numbers hides nothing, and shows nothing.
pub(super) fn hide<'a>(
    picture: &mut RgbImage,
    (veil, hidden): (Veil, Hidden),
    records: impl Iterator<Item = &'a FrameRecord>,
) {
    let areas: Vec<_> = records.filter_map(|record| area(record, picture.dimensions())).collect();
    match hidden {
        Hidden::Target => {
            for [left, top, width, height] in areas {
                let shown = crop_imm(picture, left, top, width, height).to_image();
                replace(picture, &veiled(&shown, veil, width.max(height)), left.into(), top.into());
            }
        }
        Hidden::Rest => {
            let size = areas.iter().map(|area| area[2].max(area[3])).max().unwrap_or(picture.width());
            let shown = std::mem::take(picture);
            *picture = veiled(&shown, veil, size);
            for [left, top, width, height] in areas {
                replace(picture, &*crop_imm(&shown, left, top, width, height), left.into(), top.into());
            }
        }
    }
}

/// The box around a record, and around its corners if it is turned.
fn extent(record: &FrameRecord) -> Option<BBox> {
    let bbox = record.finite_box()?;
    let Some(around) = record.polygon.and_then(|corners| BBox::around_polygon(&corners)) else { return Some(bbox) };
    let (left, top) = (bbox.x.min(around.x), bbox.y.min(around.y));
    let right = (bbox.x + bbox.w).max(around.x + around.w);
    Some(BBox::new(left, top, right - left, (bbox.y + bbox.h).max(around.y + around.h) - top))
}

/// Left, top, width and height of what a record hides in a picture of this size; `None` outside of it.
fn area(record: &FrameRecord, size: (u32, u32)) -> Option<[u32; 4]> {
    let BBox { x, y, w, h } = extent(record)?;
    let along = |from: f64, length: f64, side: u32| {
        let margin = (HIDDEN_MARGIN.0 * length).max(HIDDEN_MARGIN.1);
        let edges = [(from - margin).floor(), (from + length + margin).ceil()];
        let [low, high] = edges.map(|edge| edge.clamp(0.0, side.into()) as u32);
        (high > low).then_some((low, high - low))
    };
    let ((left, width), (top, height)) = (along(x, w, size.0)?, along(y, h, size.1)?);
    Some([left, top, width, height])
}

/// A picture in which an object of `size` pixels cannot be recognised.
fn veiled(picture: &RgbImage, veil: Veil, size: u32) -> RgbImage {
    let cell = size.div_ceil(CELLS).max(2);
    match veil {
        // Means of the cells alone would show stripes that are a little wider than they are.
        Veil::Pixelate => enlarged(&fast_blur(&means(picture, cell), 1.0), cell, picture.dimensions()),
        Veil::Blur => {
            // A blurred picture can be made from few pixels.
            let step = (cell / 2).max(1);
            let small = fast_blur(&means(picture, step), cell as f32 / step as f32);
            resampled(&small, (0.0, 0.0), 1.0 / f64::from(step), picture.dimensions())
        }
    }
}

/// The means of squares of `cell` pixels, the last of which are cut.
fn means(picture: &RgbImage, cell: u32) -> RgbImage {
    let (width, height) = picture.dimensions();
    let mut small = RgbImage::new(width.div_ceil(cell), height.div_ceil(cell));
    let (row, square) = (3 * width as usize, 3 * cell as usize);
    let mut sums = vec![[0u64; 3]; small.width() as usize];
    let bands = picture.as_raw().chunks(row.max(1) * cell as usize);
    for (band, out) in bands.zip(small.chunks_mut(3 * sums.len().max(1))) {
        sums.fill([0; 3]);
        for (square, sum) in band.chunks(row).flat_map(|row| row.chunks(square)).zip((0..sums.len()).cycle()) {
            for pixel in square.as_chunks::<3>().0 {
                (0..3).for_each(|channel| sums[sum][channel] += u64::from(pixel[channel]));
            }
        }
        for (at, (mean, sum)) in out.chunks_mut(3).zip(&sums).enumerate() {
            let across = (square / 3).min(width as usize - at * square / 3) as u64;
            let count = across * (band.len() / row) as u64;
            mean.iter_mut().zip(sum).for_each(|(mean, sum)| *mean = (sum / count) as u8);
        }
    }
    small
}

/// A picture of this size in which each pixel of `small` is a square.
fn enlarged(small: &RgbImage, cell: u32, (width, height): (u32, u32)) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| *small.get_pixel(x / cell, y / cell))
}

/// A picture of this size, whose pixels are `scale` pixels of `picture` wide and begin at `left, top`; black beyond it.
fn resampled(picture: &RgbImage, (left, top): (f64, f64), scale: f64, (width, height): (u32, u32)) -> RgbImage {
    // Several points of each pixel are taken of a larger window.
    let taps = scale.ceil().clamp(1.0, 8.0) as u32;
    let places = |from: f64, length: u32, side: u32| -> Vec<Option<(usize, usize, f32)>> {
        let at = |tap: u32| from + (f64::from(tap) + 0.5) * scale / f64::from(taps) - 0.5;
        let last = f64::from(side) - 1.0;
        let place = |at: f64| {
            let inside = at.clamp(0.0, last);
            let near = inside.floor();
            let next = (near + 1.0).min(last);
            (at > -1.0 && at < last + 1.0).then_some((near as usize, next as usize, (inside - near) as f32))
        };
        (0..length * taps).map(|tap| place(at(tap))).collect()
    };
    let (columns, rows) = (places(left, width, picture.width()), places(top, height, picture.height()));
    let (line, raw) = (3 * picture.width() as usize, picture.as_raw());
    // A row of the picture, resampled; neighbours of an output row often share it.
    let across = |row: usize| -> Vec<f32> {
        let row = &raw[row * line..(row + 1) * line];
        let mix = |columns: &[Option<(usize, usize, f32)>], channel: usize| {
            let at = |&(near, next, right): &(usize, usize, f32)| {
                let [near, next] = [near, next].map(|column| f32::from(row[3 * column + channel]));
                near + right * (next - near)
            };
            columns.iter().flatten().map(at).sum::<f32>()
        };
        columns.chunks(taps as usize).flat_map(|columns| [0, 1, 2].map(|channel| mix(columns, channel))).collect()
    };
    let mut known: VecDeque<(usize, Vec<f32>)> = VecDeque::new();
    let mut out = RgbImage::new(width, height);
    let (share, mut sums) = (1.0 / (taps * taps) as f32, vec![0.0f32; 3 * width as usize]);
    for (rows, out) in rows.chunks(taps as usize).zip(out.chunks_mut(3 * width as usize)) {
        sums.fill(0.5);
        for &(above, below, down) in rows.iter().flatten() {
            for row in [above, below] {
                if known.iter().all(|(at, _)| *at != row) {
                    known.push_back((row, across(row)));
                }
            }
            known.retain(|(at, _)| *at == above || *at == below);
            let (Some((_, first)), Some((_, last))) = (known.front(), known.back()) else { continue };
            for (sum, (first, last)) in sums.iter_mut().zip(first.iter().zip(last)) {
                *sum += share * (first + down * (last - first));
            }
        }
        out.iter_mut().zip(&sums).for_each(|(out, sum)| *out = *sum as u8);
    }
    out
}

/// Frames before and after a frame that its crop is smoothed over.
pub(super) const CROP_REACH: usize = 12;

/// Width and height of a crop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CropShape {
    /// Width and height in pixels.
    Size(u32, u32),
    /// The largest crop of this ratio in the frame.
    Ratio(u32, u32),
}

/// A crop that follows the first target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CropOptions {
    /// Width and height.
    pub shape: CropShape,
    /// Whether the target keeps its size in the picture.
    pub zoom: bool,
}

/// Least distance of the box from the border of the picture: a share of the picture's shorter side, and pixels.
const CROP_MARGIN: (f64, f64) = (0.03, 4.0);

/// Maximum share of the picture's side that a target fills in a zoomed crop of a given ratio.
const ZOOMED_SHARE: f64 = 1.0 / 3.0;

/// Maximum enlargement: pixels of the picture per pixel of the frame.
const MAX_ZOOM: f64 = 4.0;

/// The target in a frame.
#[derive(Clone, Copy, Debug)]
struct Shot {
    center: (f64, f64),
    /// The logarithm of the share of the picture that the target would fill without zoom.
    fill: f64,
    /// The box that the crop must contain; `None` while the target is lost.
    inside: Option<BBox>,
}

/// A part of a frame that becomes a picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Window {
    pub left: f64,
    pub top: f64,
    /// Pixels of the frame for one of the picture.
    pub scale: f64,
}

/// The windows of a crop, which follow the first target that has not ended: smooth over the frames before and after, with
/// the box inside, and inside the frame as far as that is large enough. While the target is lost the window stays.
#[derive(Clone, Debug)]
pub(super) struct Crop {
    options: CropOptions,
    /// Width and height of the pictures and of the frames, which the first frame tells.
    size: (u32, u32),
    frame: (f64, f64),
    /// The share of the picture that the target is to fill.
    share: f64,
    /// The shots, the newest frame's last.
    shots: VecDeque<Shot>,
}

impl Crop {
    pub fn new(options: CropOptions) -> Self {
        let (size, frame, share) = ((0, 0), (0.0, 0.0), ZOOMED_SHARE);
        Self { options, size, frame, share, shots: VecDeque::new() }
    }

    /// Adds the newest frame.
    pub fn add(&mut self, frame: &FrameResult<'_>) {
        let is_first = self.size == (0, 0);
        if is_first {
            self.measure(frame.run.source.width.max(1), frame.run.source.height.max(1));
        }
        // The box in this frame, or else the next given box, and whether the box shows the target.
        let followed = |target: &TargetRecord| {
            let record = frame.records.iter().find(|record| record.id.is_none_or(|id| id == target.id));
            let next = || target.boxes().find(|&(at, _)| at > frame.head.index).map(|(_, bbox)| (Some(bbox), false));
            record.map(|record| (extent(record), record.is_there())).or_else(next)
        };
        let (bbox, is_there) = frame.run.targets.iter().find_map(followed).unwrap_or_default();
        let here = bbox.map(|bbox| {
            let fill = (bbox.w / f64::from(self.size.0)).max(bbox.h / f64::from(self.size.1));
            Shot { center: bbox.center(), fill: fill.max(1e-6).ln(), inside: bbox_in(&bbox, self.frame) }
        });
        let stays = self.shots.back().map(|before| Shot { inside: None, ..*before });
        let nothing = Shot { center: (self.frame.0 / 2.0, self.frame.1 / 2.0), fill: self.share.ln(), inside: None };
        let shot = here.filter(|_| is_there).or(stays).or(here.map(|shot| Shot { inside: None, ..shot }));
        let shot = shot.unwrap_or(nothing);
        if is_first && matches!(self.options.shape, CropShape::Size(..)) {
            self.share = shot.fill.exp();
        }
        self.shots.push_back(shot);
        if self.shots.len() > 2 * CROP_REACH + 1 {
            self.shots.pop_front();
        }
    }

    fn measure(&mut self, width: usize, height: usize) {
        self.frame = (width as f64, height as f64);
        self.size = match self.options.shape {
            CropShape::Size(width, height) => (width, height),
            CropShape::Ratio(a, b) => {
                let unit = (self.frame.0 / f64::from(a)).min(self.frame.1 / f64::from(b));
                // Videos have sides of even numbers of pixels.
                let side = |of: u32| (((unit * f64::from(of) + 1e-9) as u32) & !1).max(2);
                (side(a), side(b))
            }
        };
    }

    /// The window in the frame that `newer` frames follow.
    pub fn window(&self, newer: usize) -> Window {
        let at = self.shots.len().saturating_sub(newer + 1);
        let smooth = |get: fn(&Shot) -> f64| {
            let values = self.shots.iter().enumerate().map(|(i, shot)| (i as f64 - at as f64, get(shot)));
            local_fit(values, CROP_REACH as f64 / 2.0)
        };
        let (width, height) = (f64::from(self.size.0), f64::from(self.size.1));
        let margin = (CROP_MARGIN.0 * width.min(height)).max(CROP_MARGIN.1).min(width.min(height) / 4.0);
        let inside = self.shots.get(at).and_then(|shot| shot.inside);
        let most = (self.frame.0 / width).min(self.frame.1 / height);
        let scale = match self.options.zoom {
            true => (smooth(|shot| shot.fill).exp() / self.share).clamp((1.0 / MAX_ZOOM).min(most), most),
            false => 1.0,
        };
        let needed = |bbox: BBox| (bbox.w / (width - 2.0 * margin)).max(bbox.h / (height - 2.0 * margin));
        let scale = inside.map_or(scale, |bbox| scale.max(needed(bbox)));
        let along = |center: f64, side: f64, frame: f64, inside: Option<(f64, f64)>| {
            let (length, margin) = (side * scale, margin * scale);
            let mut from = center - length / 2.0;
            if let Some((low, length_inside)) = inside {
                from = from.max(low + length_inside + margin - length).min(low - margin);
            }
            let from = if length >= frame { (frame - length) / 2.0 } else { from.clamp(0.0, frame - length) };
            if scale == 1.0 { from.round() } else { from }
        };
        Window {
            left: along(smooth(|shot| shot.center.0), width, self.frame.0, inside.map(|bbox| (bbox.x, bbox.w))),
            top: along(smooth(|shot| shot.center.1), height, self.frame.1, inside.map(|bbox| (bbox.y, bbox.h))),
            scale,
        }
    }

    /// The pixels of a window, black beyond the picture.
    pub fn cut(&self, picture: &RgbImage, window: &Window) -> RgbImage {
        if window.scale != 1.0 {
            return resampled(picture, (window.left, window.top), window.scale, self.size);
        }
        let mut cut = RgbImage::from_pixel(self.size.0, self.size.1, Rgb([0; 3]));
        replace(&mut cut, picture, -(window.left as i64), -(window.top as i64));
        cut
    }
}

/// The part of a box that lies in a frame.
fn bbox_in(bbox: &BBox, frame: (f64, f64)) -> Option<BBox> {
    let along = |from: f64, length: f64, side: f64| (from.clamp(0.0, side), (from + length).clamp(0.0, side));
    let ((left, right), (top, bottom)) = (along(bbox.x, bbox.w, frame.0), along(bbox.y, bbox.h, frame.1));
    (right > left && bottom > top).then(|| BBox::new(left, top, right - left, bottom - top))
}

/// The value at 0 of a line that is fitted to `(place, value)` pairs with Gaussian weights. Values from one side only
/// give a value without delay.
fn local_fit(values: impl Iterator<Item = (f64, f64)>, sigma: f64) -> f64 {
    let [mut weights, mut places, mut squares, mut sum, mut product] = [0.0; 5];
    for (place, value) in values {
        let weight = (-0.5 * (place / sigma).powi(2)).exp();
        weights += weight;
        places += weight * place;
        squares += weight * place * place;
        sum += weight * value;
        product += weight * place * value;
    }
    let determinant = weights * squares - places * places;
    if determinant > 1e-9 * weights * weights {
        (squares * sum - places * product) / determinant
    } else {
        sum / weights
    }
}
