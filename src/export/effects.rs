//! Changes to a picture before boxes are drawn on it: areas are hidden, and it is cropped around the target.

use std::collections::VecDeque;

use image::imageops::{FilterType, crop_imm, fast_blur, replace, resize};
use image::{Rgb, RgbImage};

use super::{FrameRecord, FrameResult, TargetRecord};

/// How pixels are hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Veil {
    /// By a blur.
    Blur,
    /// By a mosaic.
    Pixelate,
}

/// What is hidden.
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

/// Left, top, width and height of what a record hides in a picture of this size; `None` outside of it.
fn area(record: &FrameRecord, size: (u32, u32)) -> Option<[u32; 4]> {
    let bbox = record.finite_box()?;
    let corners = record.polygon.filter(|corners| corners.iter().all(|number| number.is_finite()));
    let along = |from: f64, length: f64, axis: usize, side: u32| {
        let turned = corners.iter().flatten().skip(axis).step_by(2);
        let low = turned.clone().fold(from, |low, &number| low.min(number));
        let high = turned.fold(from + length, |high, &number| high.max(number));
        let margin = (HIDDEN_MARGIN.0 * (high - low)).max(HIDDEN_MARGIN.1);
        let edges = [(low - margin).floor(), (high + margin).ceil()];
        let [low, high] = edges.map(|edge| edge.clamp(0.0, side.into()) as u32);
        (high > low).then_some((low, high - low))
    };
    let ((left, width), (top, height)) = (along(bbox.x, bbox.w, 0, size.0)?, along(bbox.y, bbox.h, 1, size.1)?);
    Some([left, top, width, height])
}

/// A picture in which an object of `size` pixels cannot be recognised.
fn veiled(picture: &RgbImage, veil: Veil, size: u32) -> RgbImage {
    let (width, height) = picture.dimensions();
    let cell = size.div_ceil(CELLS).max(2);
    match veil {
        Veil::Blur => fast_blur(picture, cell as f32),
        Veil::Pixelate => {
            let [across, down] = [width, height].map(|side| side.div_ceil(cell).max(1));
            let small = resize(picture, across, down, FilterType::Triangle);
            resize(&small, width, height, FilterType::Nearest)
        }
    }
}

/// Frames before and after a frame that its crop is smoothed over.
pub(super) const CROP_REACH: usize = 12;

/// The windows of a crop: of one size, the first target that has not ended in the middle, smoothed over the frames before
/// and after. While the target is lost the window stays.
#[derive(Clone, Debug)]
pub(super) struct Crop {
    size: (u32, u32),
    /// Centres of the target; the last belongs to the newest frame.
    centers: VecDeque<(f64, f64)>,
}

impl Crop {
    pub fn new(size: (u32, u32)) -> Self {
        Self { size, centers: VecDeque::new() }
    }

    /// Adds the newest frame.
    pub fn add(&mut self, frame: &FrameResult<'_>) {
        // The box in this frame, or else the next given one, and whether it shows the target.
        let followed = |target: &TargetRecord| {
            let record = frame.records.iter().find(|record| record.id.is_none_or(|id| id == target.id));
            let next = || target.boxes().find(|&(at, _)| at > frame.index).map(|(_, bbox)| (Some(bbox), false));
            record.map(|record| (record.finite_box(), record.is_visible())).or_else(next)
        };
        let (bbox, is_visible) = frame.run.targets.iter().find_map(followed).unwrap_or_default();
        let here = bbox.map(|bbox| bbox.center());
        let center = here.filter(|_| is_visible).or(self.centers.back().copied()).or(here);
        self.centers.push_back(center.unwrap_or_default());
        if self.centers.len() > 2 * CROP_REACH + 1 {
            self.centers.pop_front();
        }
    }

    /// Left and top of the window in the frame that `newer` frames follow.
    pub fn corner(&self, newer: usize) -> (i64, i64) {
        let at = self.centers.len().saturating_sub(newer + 1);
        let along = |get: fn(&(f64, f64)) -> f64, side: u32| {
            let values = self.centers.iter().enumerate().map(|(i, center)| (i as f64 - at as f64, get(center)));
            (local_fit(values, CROP_REACH as f64 / 2.0) - f64::from(side) / 2.0).round().clamp(-1e9, 1e9) as i64
        };
        (along(|center| center.0, self.size.0), along(|center| center.1, self.size.1))
    }

    /// The pixels of the window with this corner, black beyond the picture.
    pub fn cut(&self, picture: &RgbImage, (left, top): (i64, i64)) -> RgbImage {
        let mut window = RgbImage::from_pixel(self.size.0, self.size.1, Rgb([0; 3]));
        replace(&mut window, picture, -left, -top);
        window
    }
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
