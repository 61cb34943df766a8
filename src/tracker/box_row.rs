//! A row of boxes around one place, each of another size or shape, all brought to one small size: their gradients are
//! what filters for the scale and the aspect are learned on.

use crate::features::hog::CHANNELS;
use crate::features::hog::batch::{HogBatch, Lanes, PATCHES};
use crate::simd::leveled;
use crate::tracker::small_patch::{CELL, GrayPatch, small_size, to_eighths};

/// Cuts such boxes out of a patch; owns the memory for it.
#[derive(Clone, Debug)]
pub(super) struct BoxRow {
    /// Width and height of the box in pixels of the patch.
    size: (f64, f64),
    /// Columns and rows of a small patch.
    small: (usize, usize),
    /// By what each box is wider and higher.
    factors: Vec<(f64, f64)>,
    /// By what a box may be wider, and higher, before the factors.
    most: (f64, f64),
    hog: HogBatch,
    /// `[row][column][box]`.
    patches: Vec<Lanes>,
    /// `[cell][channel][box]`.
    features: Vec<Lanes>,
    integral: Vec<f32>,
    line: Vec<f32>,
    edges: [Vec<f32>; 2],
    /// For each edge between columns, the pixel that it lies in and how far.
    columns: Vec<(usize, f32)>,
}

/// Pixels that an integral image of a line of `length` pixels is made of.
fn span(length: f64) -> usize {
    length.ceil() as usize + 3
}

impl BoxRow {
    /// For a box of `size` (width, height) pixels of a patch, made wider and higher by each of `factors`, which stand
    /// in growing order of one or the other; small patches have about `area` pixels at most. A target may be by the
    /// largest of the factors larger than the box, and its sides longer by `room` beside that.
    ///
    /// # Panics
    /// When there are more factors than [`PATCHES`].
    pub fn new(size: (f64, f64), factors: Vec<(f64, f64)>, area: f64, room: f64) -> Self {
        assert!(factors.len() <= PATCHES, "{PATCHES} boxes at most");
        let small = small_size(size, area);
        let hog = HogBatch::new(small.0, small.1, CELL);
        let values = hog.rows() * hog.cols() * CHANNELS;
        let largest = largest(&factors);
        let most = (largest.0 * room, largest.1 * room);
        let (width, rows) = (span(size.0 * most.0 * largest.0) + 1, span(size.1 * most.1 * largest.1) + 1);
        Self {
            size,
            small,
            factors,
            most,
            patches: vec![[0.0; PATCHES]; small.0 * small.1],
            features: vec![[0.0; PATCHES]; values],
            integral: vec![0.0; width * rows],
            line: vec![0.0; width],
            edges: [vec![0.0; small.0 + 1], vec![0.0; small.0 + 1]],
            columns: vec![(0, 0.0); small.0 + 1],
            hog,
        }
    }

    /// Features of a small patch.
    pub fn values(&self) -> usize {
        self.features.len()
    }

    /// The features `[cell][channel][box]` of all boxes around `center` (x, y) of `patch`, where the target is by
    /// `zoom` wider and higher than the box.
    pub fn take(&mut self, patch: GrayPatch<'_>, center: (f64, f64), zoom: (f64, f64)) -> &mut [Lanes] {
        self.cut(patch, center, zoom);
        self.hog.extract(&self.patches, &mut self.features);
        &mut self.features
    }

    /// Cuts all boxes: each pixel is the mean of its part of the patch, from differences of the integral image between
    /// pixels; beyond the patch its border is repeated.
    fn cut(&mut self, patch: GrayPatch<'_>, center: (f64, f64), zoom: (f64, f64)) {
        let height = patch.pixels.len() / patch.width;
        let (largest, most) = (largest(&self.factors), self.most);
        let size = (self.size.0 * zoom.0.clamp(1.0 / most.0, most.0), self.size.1 * zoom.1.clamp(1.0 / most.1, most.1));
        let first = |middle: f64, length: f64| (middle - length / 2.0).floor() as i64 - 1;
        let (left, top) = (first(center.0, size.0 * largest.0), first(center.1, size.1 * largest.1));
        let (width, rows) = (span(size.0 * largest.0) + 1, span(size.1 * largest.1) + 1);
        self.integral[..width].fill(0.0);
        for r in 1..rows {
            let y = (top + r as i64 - 1).clamp(0, height as i64 - 1) as usize;
            let pixels = &patch.pixels[y * patch.width..][..patch.width];
            let (above, here) = self.integral[(r - 1) * width..][..2 * width].split_at_mut(width);
            let mut sum = 0.0;
            here[0] = 0.0;
            for c in 1..width {
                let x = (left + c as i64 - 1).clamp(0, patch.width as i64 - 1) as usize;
                sum += f32::from(pixels[x]);
                here[c] = above[c] + sum;
            }
        }
        let (columns, lines) = self.small;
        for (k, &(wider, higher)) in self.factors.iter().enumerate() {
            let (w, h) = (size.0 * wider, size.1 * higher);
            let step = (w / columns as f64, h / lines as f64);
            let start = (center.0 - w / 2.0 - left as f64, center.1 - h / 2.0 - top as f64);
            let gain = (1.0 / (step.0 * step.1)) as f32;
            let split = |x: f64| (x as usize, (x - (x as usize) as f64) as f32);
            for (j, column) in self.columns.iter_mut().enumerate() {
                *column = split(start.0 + j as f64 * step.0);
            }
            for i in 0..=lines {
                let (r, share) = split(start.1 + i as f64 * step.1);
                mix_rows(&self.integral[r * width..][..2 * width], share, &mut self.line[..width]);
                let [above, below] = &mut self.edges;
                std::mem::swap(above, below);
                for (edge, &(c, share)) in below.iter_mut().zip(&self.columns) {
                    *edge = self.line[c] + (self.line[c + 1] - self.line[c]) * share;
                }
                if i > 0 {
                    let to = &mut self.patches[(i - 1) * columns..][..columns];
                    let differences = below.windows(2).zip(above.windows(2));
                    for (to, (below, above)) in to.iter_mut().zip(differences) {
                        to[k] = to_eighths(((below[1] - below[0]) - (above[1] - above[0])) * gain);
                    }
                }
            }
        }
    }
}

/// The largest width and the largest height among factors.
fn largest(factors: &[(f64, f64)]) -> (f64, f64) {
    factors.iter().fold((1.0, 1.0), |(w, h): (f64, f64), factor| (w.max(factor.0), h.max(factor.1)))
}

leveled! {
    /// The first of two rows mixed with a share of the second.
    fn mix_rows(rows: &[f32], share: f32, out: &mut [f32]) {
        let (first, second) = rows.split_at(out.len());
        for ((out, a), b) in out.iter_mut().zip(first).zip(second) {
            *out = a + (b - a) * share;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracker::small_patch::testing::{WIDTH, patch, texture};

    #[test]
    fn boxes_are_means_of_their_parts_of_the_patch() {
        let pixels = texture((80.0, 80.0), 0.0, 1.0);
        let factors = vec![(0.5, 2.0), (1.0, 1.0), (2.0, 0.5)];
        let mut row = BoxRow::new((16.0, 16.0), factors.clone(), 64.0, 1.0);
        row.cut(patch(&pixels), (80.0, 76.0), (1.0, 1.0));
        for (k, (wider, higher)) in factors.into_iter().enumerate() {
            let (w, h) = ((2.0 * wider) as usize, (2.0 * higher) as usize);
            for (i, lanes) in row.patches.iter().enumerate() {
                let (left, top) = (80 - 4 * w + i % 8 * w, 76 - 4 * h + i / 8 * h);
                let part = (0..w * h).map(|j| f32::from(pixels[(top + j / w) * WIDTH + left + j % w]));
                let mean = part.sum::<f32>() / (w * h) as f32;
                assert!((lanes[k] - mean).abs() <= 0.07, "box {k}, pixel {i}: {} for {mean}", lanes[k]);
            }
        }
    }
}
