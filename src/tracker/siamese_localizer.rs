//! The localizer by a siamese network that compares the search area with the first box (Bertinetto et al., "Fully-Convolutional
//! Siamese Networks for Object Tracking", ECCVW 2016), as NanoTrack does: a score and a box at each cell, a penalty for a
//! change of size or shape, and a window around the middle.

use std::path::Path;
use std::sync::Arc;

use rten::ThreadPool;
use rten_tensor::prelude::*;

use super::calibration::by_network;
use super::localizer::{Evidence, Extent, Learned, Localizer, Located, Pose, Update};
use super::verifier::{Sample, Verifier};
use super::{ResponseLayout, ResponseMap};
use crate::archive::Archive;
use crate::bbox::BBox;
use crate::error::Result;
use crate::frame::{Frame, PixelFormat};
use crate::network::{Channels, Map, Networks, Recipe, pool};
use crate::simd::leveled;

/// Smallest side of a box in pixels.
const MIN_SIDE: f64 = 10.0;

/// The search of one target.
#[derive(Clone, Debug)]
pub(super) struct SiameseLocalizer {
    networks: Arc<Networks>,
    pool: Arc<ThreadPool>,
    first: Pose,
    /// Width and height of the initial box.
    size: (f64, f64),
    exemplar: Map,
    /// Mean feature of the given box.
    pub(super) given: Vec<f32>,
    /// The last search area.
    last_area: Option<SearchArea>,
    /// Mean of each channel of the first frame: what lies beyond the border.
    mean: [u8; 3],
    window: Vec<f64>,
    scores: Vec<f32>,
}

/// The features of a search area: its centre in the frame, and pixels of the frame per cell.
#[derive(Clone, Debug)]
struct SearchArea {
    map: Map,
    center: (f64, f64),
    cell: f64,
}

/// Mean over the cells of `map`, as far as they lie in a square of `side` cells around `middle` (column, row), counted
/// from the map's centre; `None` where less than half of it lies in the map.
fn pooled(map: &Map, middle: (f64, f64), side: f64) -> Option<Vec<f32>> {
    let [_, channels, rows, columns] = map.shape();
    let covered = |i: usize, n: usize, middle: f64| {
        let (from, to) = (middle - side / 2.0, middle + side / 2.0);
        let start = i as f64 - n as f64 / 2.0;
        ((start + 1.0).min(to) - start.max(from)).max(0.0)
    };
    let across: Vec<f64> = (0..columns).map(|c| covered(c, columns, middle.0)).collect();
    let down: Vec<f64> = (0..rows).map(|r| covered(r, rows, middle.1)).collect();
    let area = across.iter().sum::<f64>() * down.iter().sum::<f64>();
    if area < 0.5 * side * side {
        return None;
    }
    let mean = |k: usize| {
        let line = |r: usize| across.iter().enumerate().map(|(c, w)| w * f64::from(map[[0, k, r, c]])).sum::<f64>();
        (down.iter().enumerate().map(|(r, w)| w * line(r)).sum::<f64>() / area) as f32
    };
    Some((0..channels).map(mean).collect())
}

/// Mean feature of the middle of the square that the network sees of a target: with NanoTrack's context, of the box.
fn middle_mean(exemplar: &Map) -> Option<Vec<f32>> {
    let [_, _, rows, _] = exemplar.shape();
    pooled(exemplar, (0.0, 0.0), rows as f64 / 2.0)
}

/// The features of the square around a target of `size` at `center`.
fn exemplar_at(
    networks: &Networks,
    pool: &Arc<ThreadPool>,
    frame: &Frame<'_>,
    mean: [u8; 3],
    center: (f64, f64),
    size: (f64, f64),
) -> Result<Map> {
    let Recipe { channels, exemplar, .. } = networks.recipe;
    let per_pixel = context(size, &networks.recipe) / exemplar as f64;
    networks.exemplar(|side| cut(frame, channels, center, per_pixel * side as f64, side, mean), pool)
}

impl SiameseLocalizer {
    /// Learns the target at `bbox`.
    ///
    /// # Errors
    /// [`Error::Network`](crate::Error::Network) for networks that cannot be used.
    pub fn new(model: &str, frame: &Frame<'_>, bbox: BBox) -> Result<Self> {
        let networks = Networks::load(Path::new(model))?;
        let pool = pool();
        let side = networks.side();
        let hann = |i: usize| 0.5 - 0.5 * libm::cos(std::f64::consts::TAU * i as f64 / (side - 1) as f64);
        let window = (0..side * side).map(|i| hann(i / side) * hann(i % side)).collect();
        let mean = mean_of(frame, networks.recipe.channels);
        let (first, size) = (Pose::of(bbox), (bbox.w, bbox.h));
        let exemplar = exemplar_at(&networks, &pool, frame, mean, first.center, size)?;
        let given = middle_mean(&exemplar).unwrap_or_default();
        let scores = vec![0.0; side * side];
        Ok(Self { networks, pool, first, size, exemplar, given, last_area: None, mean, window, scores })
    }

    /// The target's pose near `at` and the network's score of it; `None` where the network's answer is not finite.
    pub fn find(&mut self, frame: &Frame<'_>, at: Pose) -> Option<(Pose, f64)> {
        self.find_by(frame, at, self.networks.recipe.rate)
    }

    /// The network's own box of what it was given, in the frame of that. Networks have learned where an object ends, which
    /// is not where a person draws its box.
    pub fn find_given(&mut self, frame: &Frame<'_>) -> Option<Pose> {
        // The second search area is that of its own box.
        let (first, _) = self.find_by(frame, self.first, 1.0)?;
        self.find_by(frame, first, 1.0).map(|(pose, _)| pose)
    }

    /// Finds the target; the size follows at `rate`.
    fn find_by(&mut self, frame: &Frame<'_>, at: Pose, rate: f64) -> Option<(Pose, f64)> {
        let Recipe { channels, exemplar, search, stride, penalty: by_change, window, .. } = self.networks.recipe;
        let size = at.size(self.size);
        let exemplar_side = context(size, &self.networks.recipe);
        let zoom = exemplar as f64 / exemplar_side;
        let area = exemplar_side * search as f64 / exemplar as f64;
        let picture = cut(frame, channels, at.center, area, search, self.mean);
        let (map, answer) = self.networks.search(&self.exemplar, picture, &self.pool)?;
        self.last_area = Some(SearchArea { map, center: at.center, cell: stride / zoom });
        let (side, cells) = (self.networks.side(), answer.scores.len());
        let root = |w: f64, h: f64| ((w + (w + h) / 2.0) * (h + (w + h) / 2.0)).sqrt();
        let change = |ratio: f64| ratio.max(1.0 / ratio);
        let sides = |i: usize| [0, 1, 2, 3].map(|k| f64::from(answer.sides[k * cells + i]));
        let mut best: Option<(f64, usize, f64)> = None;
        for i in 0..cells {
            let [left, top, right, bottom] = sides(i);
            let (w, h) = (left + right, top + bottom);
            let by_size = change(root(w, h) / root(size.0 * zoom, size.1 * zoom));
            let by_shape = change((size.0 / size.1) / (w / h));
            let penalty = libm::exp(-(by_size * by_shape - 1.0) * by_change);
            let value = penalty * f64::from(answer.scores[i]) * (1.0 - window) + self.window[i] * window;
            // Boxes without an area are not better than any.
            if value > best.map_or(f64::NEG_INFINITY, |(value, ..)| value) {
                best = Some((value, i, penalty));
            }
        }
        let (_, i, penalty) = best?;
        let score = f64::from(answer.scores[i]);
        let [left, top, right, bottom] = sides(i);
        let cell = |i: usize| (i as f64 - (side / 2) as f64) * stride;
        let (dx, dy) = (cell(i % side) + (right - left) / 2.0, cell(i / side) + (bottom - top) / 2.0);
        let rate = penalty * score * rate;
        let follow = |now: f64, seen: f64, limit: usize| {
            (now * (1.0 - rate) + seen / zoom * rate).clamp(MIN_SIDE, (limit as f64).max(MIN_SIDE))
        };
        let (width, height) = (frame.width(), frame.height());
        let (w, h) = (follow(size.0, left + right, width), follow(size.1, top + bottom, height));
        let center =
            ((at.center.0 + dx / zoom).clamp(0.0, width as f64), (at.center.1 + dy / zoom).clamp(0.0, height as f64));
        self.scores = answer.scores;
        (center.0.is_finite() && w.is_finite() && h.is_finite()).then_some((self.pose_of(center, (w, h)), score))
    }

    /// Similarity of the box at `pose` to the given one, in the last search area: the cosine of their mean features.
    /// `None` for a box outside.
    pub fn similarity(&self, pose: Pose) -> Option<f32> {
        let SearchArea { map, center, cell } = self.last_area.as_ref()?;
        let middle = ((pose.center.0 - center.0) / cell, (pose.center.1 - center.1) / cell);
        // The side is as much as `middle_mean` takes of an exemplar.
        let side = context(pose.size(self.size), &self.networks.recipe) / 2.0 / cell;
        self.likeness(&pooled(map, middle, side)?)
    }

    /// The cosine of a mean feature and that of the given box.
    fn likeness(&self, here: &[f32]) -> Option<f32> {
        let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        let norm = (product(here, here) * product(&self.given, &self.given)).sqrt();
        (norm > 0.0).then(|| product(here, &self.given) / norm)
    }

    /// The upright pose of a box.
    pub fn pose_of(&self, center: (f64, f64), (w, h): (f64, f64)) -> Pose {
        let (x, y) = (w / self.size.0, h / self.size.1);
        Pose { center, scale: (x * y).sqrt(), aspect: (x / y).sqrt(), angle: 0.0 }
    }
}

/// The side in pixels of the square that the network sees of a target.
fn context((w, h): (f64, f64), recipe: &Recipe) -> f64 {
    let around = recipe.context * (w + h);
    ((w + around) * (h + around)).sqrt()
}

/// Offsets of the network's channels in a pixel's bytes.
fn offsets(format: PixelFormat, order: Channels) -> [usize; 3] {
    match (format, order) {
        (PixelFormat::Gray8, _) => [0; 3],
        (PixelFormat::Rgb8 | PixelFormat::Rgba8, Channels::Bgr) => [2, 1, 0],
        (PixelFormat::Bgr8 | PixelFormat::Bgra8, Channels::Rgb) => [2, 1, 0],
        _ => [0, 1, 2],
    }
}

/// Mean of each of the network's channels.
fn mean_of(frame: &Frame<'_>, channels: Channels) -> [u8; 3] {
    let (bytes, offsets) = (frame.format().bytes(), offsets(frame.format(), channels));
    let mut sums = [0u64; 3];
    for y in 0..frame.height() {
        for pixel in frame.row(y)[..frame.width() * bytes].chunks_exact(bytes) {
            (0..3).for_each(|k| sums[k] += u64::from(pixel[offsets[k]]));
        }
    }
    sums.map(|sum| (sum / (frame.width() * frame.height()) as u64) as u8)
}

/// A square of `side` pixels of the frame around `center`, resized to `out` pixels: `[channel][row][column]`.
///
/// Networks are trained on pictures that OpenCV resized. One gray level of difference changes which of two cells is
/// chosen, so this is its arithmetic: weights of 11 bits, those of columns without a fraction beyond the border.
fn cut(frame: &Frame<'_>, channels: Channels, center: (f64, f64), side: f64, out: usize, mean: [u8; 3]) -> Vec<f32> {
    let side = side.round().max(1.0);
    // The centre of a box in whole pixels, as the network was trained.
    let start = |center: f64| (center - 0.5 - (side + 1.0) / 2.0 + 0.5).floor();
    let weight = |share: f32| (share * 2048.0).round_ties_even() as i32;
    let point = |start: f64, i: usize, length: usize, fraction_beyond: bool| {
        let at = ((i as f64 + 0.5) * (side / out as f64) - 0.5) as f32;
        let beyond = at < 0.0 || f64::from(at) >= side - 1.0;
        let fraction = if beyond && !fraction_beyond { 0.0 } else { at - at.floor() };
        let place = |at: f64| {
            let at = start + at.clamp(0.0, side - 1.0);
            (at >= 0.0 && at < length as f64).then_some(at as usize)
        };
        let first = f64::from(at.floor());
        (place(first), place(first + 1.0), weight(1.0 - fraction), weight(fraction))
    };
    let (left, top) = (start(center.0), start(center.1));
    let columns: Vec<_> = (0..out).map(|i| point(left, i, frame.width(), false)).collect();
    let (bytes, offsets) = (frame.format().bytes(), offsets(frame.format(), channels));
    let value = |row: Option<&[u8]>, x: Option<usize>| match (row, x) {
        (Some(row), Some(x)) => offsets.map(|k| i32::from(row[x * bytes + k])),
        _ => mean.map(i32::from),
    };
    let across = |y: Option<usize>, line: &mut [i32]| {
        let row = y.map(|y| frame.row(y));
        for (c, &(before, after, first, second)) in columns.iter().enumerate() {
            let (before, after) = (value(row, before), value(row, after));
            (0..3).for_each(|k| line[k * out + c] = (before[k] * first + after[k] * second) >> 4);
        }
    };
    // Two rows of the frame across the columns: the lower one is often the next upper one.
    let mut lines = [(); 2].map(|()| (None, vec![0; 3 * out]));
    let mut picture = vec![0.0; 3 * out * out];
    for r in 0..out {
        let (above, below, upper, lower) = point(top, r, frame.height(), true);
        if lines[1].0 == Some(above) {
            lines.swap(0, 1);
        }
        for ((known, line), y) in lines.iter_mut().zip([above, below]) {
            if *known != Some(y) {
                across(y, line);
                *known = Some(y);
            }
        }
        for k in 0..3 {
            let part = k * out..(k + 1) * out;
            let to = &mut picture[(k * out + r) * out..][..out];
            down(&lines[0].1[part.clone()], &lines[1].1[part], upper, lower, to);
        }
    }
    picture
}

leveled! {
    /// The weighted sum of two lines.
    fn down(above: &[i32], below: &[i32], upper: i32, lower: i32, to: &mut [f32]) {
        for ((to, above), below) in to.iter_mut().zip(above).zip(below) {
            *to = ((((above * upper) >> 16) + ((below * lower) >> 16) + 2) >> 2) as f32;
        }
    }
}

impl Verifier for SiameseLocalizer {
    /// Similarity like [`SiameseLocalizer::similarity`], also outside the last search area.
    fn score(&mut self, &Sample { frame, pose, .. }: &Sample<'_>) -> Option<f32> {
        self.similarity(pose).or_else(|| {
            let size = pose.size(self.size);
            let map = exemplar_at(&self.networks, &self.pool, frame, self.mean, pose.center, size).ok()?;
            self.likeness(&middle_mean(&map)?)
        })
    }

    /// The network learns nothing after the first frame.
    fn learn(&mut self, _: &Sample<'_>, _: bool) -> Learned {
        Learned::Done
    }
}

impl Localizer for SiameseLocalizer {
    fn locate(&mut self, frame: &Frame<'_>, at: Pose, _: Extent) -> Located {
        let Some((pose, score)) = self.find(frame, at) else {
            return Located::new(at, Evidence::default(), Some(0.0), false);
        };
        let similarity = self.similarity(pose);
        let evidence = Evidence { peak: score as f32, network: Some(score as f32), similarity, ..Evidence::default() };
        Located::new(pose, evidence, Some(by_network(f64::from(score as f32))), true)
    }

    fn score_at(&mut self, frame: &Frame<'_>, at: Pose) -> Located {
        Located { pose: at, ..self.locate(frame, at, Extent::Place) }
    }

    fn learn(&mut self, _: &Frame<'_>, _: &Located, _: Update) -> Learned {
        Learned::Done
    }

    fn snapshot(&mut self, _: Pose) {}

    fn restore(&mut self) -> Option<Pose> {
        None
    }

    fn restart(&mut self, _: Pose) {}

    fn response(&self) -> ResponseMap<'_> {
        let side = self.networks.side();
        let (center, step) = self.last_area.as_ref().map_or((self.first.center, 1.0), |area| (area.center, area.cell));
        ResponseMap::new(&self.scores, (side, side), ResponseLayout::Centered, center, step)
    }

    fn transfer(&mut self, archive: &mut Archive<'_>) {
        archive.refuse("a search by a network cannot be saved");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_averaged_over_parts_of_cells() {
        // The first channel counts columns, the second rows.
        let map = Map::from_fn([1, 2, 6, 8], |[_, k, r, c]| if k == 0 { c as f32 } else { r as f32 });
        let close = |found: Option<Vec<f32>>, expected: [f32; 2]| {
            let found = found.unwrap();
            assert!(
                (found[0] - expected[0]).abs() + (found[1] - expected[1]).abs() < 1e-5,
                "{found:?} for {expected:?}"
            );
        };
        close(pooled(&map, (0.0, 0.0), 4.0), [3.5, 2.5]);
        close(pooled(&map, (0.75, -0.5), 2.0), [4.25, 2.0]);
        // A third lies outside.
        close(pooled(&map, (3.75, 0.0), 1.5), [7.0, 2.5]);
        assert_eq!(pooled(&map, (4.5, 0.0), 1.5), None);
    }

    /// The expected values are those of `cv2.resize` of the square with the mean of the frame around it.
    #[test]
    fn a_square_is_resized_as_opencv_does() {
        let gray: Vec<u8> =
            (0..120).map(|i| (i % 12, i / 12)).map(|(x, y)| (37 * x + 91 * y + 5 * x * y) as u8).collect();
        let frame = Frame::gray(&gray, 12, 10).unwrap();
        let inside = [
            152, 90, 68, 128, 148, 91, 161, 77, 147, 135, 182, 57, 137, 217, 92, 120, 148, 197, 133, 141, 58, 127, 206,
            100, 159,
        ];
        let beyond = [
            124, 124, 103, 80, 144, 175, 124, 124, 137, 78, 105, 148, 124, 124, 107, 108, 146, 105, 124, 124, 141, 106,
            108, 77, 124, 124, 110, 115, 160, 108, 124, 124, 124, 124, 124, 124,
        ];
        for (center, side, expected) in [((6.0, 5.0), 7.0, &inside[..]), ((1.2, 8.7), 9.0, &beyond)] {
            let out = expected.len().isqrt();
            let found = cut(&frame, Channels::Rgb, center, side, out, mean_of(&frame, Channels::Rgb));
            let expected: Vec<f32> = expected.iter().map(|&v| v as f32).collect();
            assert_eq!(found, expected.repeat(3), "{center:?}");
        }
    }
}
