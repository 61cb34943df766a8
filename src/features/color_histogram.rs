//! Colour histograms of the target and its surroundings, and the likelihood that a position in the search area shows the
//! target (Bertinetto, Valmadre, Golodetz, Miksik & Torr, "Staple: Complementary Learners for Real-Time
//! Tracking", CVPR 2016, section 3.3, with a ratio in place of their ridge regression).

use std::ops::Range;

use super::hog_colors::BINS;
use crate::simd::leveled;

/// Shares are rescaled when the running gain reaches this.
const MAX_GAIN: f32 = 1e12;

/// Running means of the colour histograms of the target and its surroundings.
#[derive(Clone, Debug)]
pub struct ColorHistogram {
    /// Shares of target and surroundings of each bin, times `gain`.
    pub(super) shares: Vec<[f32; 2]>,
    /// A running mean decays by a factor per frame; the gain of new shares grows instead.
    gain: f32,
    rate: f32,
    trained: bool,
}

/// A part of a patch: columns and rows of pixels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Area {
    /// Columns.
    pub x: Range<usize>,
    /// Rows.
    pub y: Range<usize>,
}

impl Area {
    /// The part of `size` (width, height) around `center` (x, y) of a patch of `side` x `side` pixels, clipped to it.
    pub fn around(side: usize, center: (f64, f64), size: (f64, f64)) -> Self {
        let span = |middle: f64, length: f64| {
            let half = length.max(0.0) / 2.0;
            let clamp = |v: f64| v.round().clamp(0.0, side as f64) as usize;
            clamp(middle - half)..clamp(middle + half)
        };
        Self { x: span(center.0, size.0), y: span(center.1, size.1) }
    }

    fn contains(&self, x: usize, y: usize) -> bool {
        self.x.contains(&x) && self.y.contains(&y)
    }
}

impl ColorHistogram {
    /// Means with the learning rate `rate`.
    pub fn new(rate: f64) -> Self {
        Self { shares: vec![[0.0; 2]; BINS], gain: 1.0, rate: rate.clamp(0.0, 0.999) as f32, trained: false }
    }

    /// Takes over what another histogram has learned.
    pub fn copy_model(&mut self, other: &Self) {
        self.shares.copy_from_slice(&other.shares);
        (self.gain, self.trained) = (other.gain, other.trained);
    }

    /// Learns from the colour bins of a patch of `width` pixels a row: the target's colours are in `inside`, those of its
    /// surroundings in `around` but not in `hole`. Uses every second pixel of every second row. Does nothing if either
    /// part is empty.
    pub fn learn(&mut self, bins: &[u16], width: usize, inside: &Area, around: &Area, hole: &Area) {
        let points = |area: &Area| {
            let (x, y) = (area.x.clone(), area.y.clone());
            y.step_by(2).flat_map(move |y| x.clone().step_by(2).map(move |x| (x, y)))
        };
        let surroundings = || points(around).filter(|&(x, y)| !hole.contains(x, y));
        let counts = [points(inside).count(), surroundings().count()];
        if counts.contains(&0) {
            return;
        }
        let rate = if self.trained { self.rate } else { 1.0 };
        if self.trained {
            self.gain /= 1.0 - rate;
            if self.gain > MAX_GAIN {
                let down = 1.0 / self.gain;
                self.shares.iter_mut().for_each(|share| *share = share.map(|v| v * down));
                self.gain = 1.0;
            }
        }
        let [one, other] = counts.map(|count| rate * self.gain / count as f32);
        for (x, y) in points(inside) {
            self.shares[usize::from(bins[y * width + x]) % BINS][0] += one;
        }
        for (x, y) in surroundings() {
            self.shares[usize::from(bins[y * width + x]) % BINS][1] += other;
        }
        self.trained = true;
    }

    /// The mean likelihood of each whole cell of four pixels a side of a patch of `width` pixels a row, to `out`
    /// (`[row][column]`). Uses every second pixel of every second row.
    pub fn likelihood_map(&self, bins: &[u16], width: usize, out: &mut [f32]) {
        assert_eq!(out.len(), width / 4 * (bins.len() / width / 4), "a value for each cell");
        likelihood_map(self.shares.first_chunk().expect("a share of each bin"), bins, width, out);
    }
}

/// The likelihood that a colour with these shares belongs to the target, 0 to 1; 0.5 for an unseen colour.
#[inline(always)]
pub(super) fn likelihood([target, around]: [f32; 2]) -> f32 {
    let sum = target + around;
    if sum > 0.0 { target / sum } else { 0.5 }
}

leveled! {
    avx2 fn likelihood_map(shares: &[[f32; 2]; BINS], bins: &[u16], width: usize, out: &mut [f32]) {
        for (out, rows) in out.chunks_exact_mut((width / 4).max(1)).zip(bins.chunks(4 * width)) {
            let (first, second) = (rows[..width].as_chunks::<4>().0, rows[2 * width..][..width].as_chunks::<4>().0);
            for (out, (a, b)) in out.iter_mut().zip(first.iter().zip(second)) {
                let four = [a[0], a[2], b[0], b[2]].map(|bin| likelihood(shares[usize::from(bin) % BINS]));
                *out = (four[0] + four[1] + four[2] + four[3]) * 0.25;
            }
        }
    }
}

/// Means of a map over the target's box at each shift from the middle, in whole cells.
#[derive(Clone, Debug)]
pub struct BoxMean {
    rows: usize,
    cols: usize,
    /// For each row and column of cells: start and end of the box, in cells.
    spans: [Vec<(f32, f32)>; 2],
    prefix: Vec<f32>,
    between: [Vec<f32>; 2],
}

impl BoxMean {
    /// For maps of `rows` x `cols` cells and a box of `height` x `width` cells, also fractional. The box is clipped to
    /// the map.
    pub fn new((rows, cols): (usize, usize), (height, width): (f64, f64)) -> Self {
        let mut means = Self {
            rows,
            cols,
            spans: [vec![(0.0, 0.0); rows], vec![(0.0, 0.0); cols]],
            prefix: vec![0.0; (rows.max(cols) + 2) * rows.max(cols)],
            between: [vec![0.0; rows * cols], vec![0.0; rows * cols]],
        };
        means.set_box((height, width));
        means
    }

    /// Sets the box to `height` x `width` cells.
    pub fn set_box(&mut self, (height, width): (f64, f64)) {
        for (spans, length) in self.spans.iter_mut().zip([height, width]) {
            let (n, half) = (spans.len(), length.max(1.0) / 2.0);
            for (i, span) in spans.iter_mut().enumerate() {
                // The middle of an even number of cells lies between two of them.
                let middle = i as f64 + 0.5 * (n % 2) as f64;
                *span = ((middle - half).max(0.0) as f32, (middle + half).min(n as f64) as f32);
            }
        }
    }

    /// The means of `map`, `[row][column]`, to `out`: element (r, c) is the mean over the box moved by `r - rows/2` rows
    /// and `c - cols/2` columns.
    pub fn apply(&mut self, map: &[f32], out: &mut [f32]) {
        let (rows, cols) = (self.rows, self.cols);
        assert!(map.len() == rows * cols && out.len() == rows * cols, "maps of one size");
        let [turned, between] = &mut self.between;
        transpose(map, cols, turned);
        means(turned, &self.spans[1], &mut self.prefix, between);
        transpose(between, rows, turned);
        means(turned, &self.spans[0], &mut self.prefix, out);
    }
}

/// Turns the rows of a map, of `cols` values each, to columns.
fn transpose(map: &[f32], cols: usize, out: &mut [f32]) {
    let rows = map.len() / cols.max(1);
    for (c, out) in out.chunks_exact_mut(rows.max(1)).enumerate() {
        out.iter_mut().zip(map[c..].iter().step_by(cols)).for_each(|(to, v)| *to = *v);
    }
}

leveled! {
    /// Means of the lines of a map over spans of lines.
    avx2 fn means(map: &[f32], spans: &[(f32, f32)], prefix: &mut [f32], out: &mut [f32]) {
        let (count, len) = (spans.len(), map.len() / spans.len().max(1));
        prefix[..len].fill(0.0);
        for (i, line) in map.chunks_exact(len.max(1)).enumerate() {
            let (before, to) = prefix[i * len..][..2 * len].split_at_mut(len);
            for x in 0..len {
                to[x] = before[x] + line[x];
            }
        }
        prefix.copy_within(count * len..(count + 1) * len, (count + 1) * len);
        for (out, &(start, end)) in out.chunks_exact_mut(len.max(1)).zip(spans) {
            let until = |at: f32| {
                let (first, second) = prefix[at as usize * len..][..2 * len].split_at(len);
                (first, second, at - (at as usize) as f32)
            };
            let (from, to) = (until(start), until(end));
            for x in 0..len {
                let until = |(first, second, share): (&[f32], &[f32], f32)| first[x] + (second[x] - first[x]) * share;
                out[x] = (until(to) - until(from)) / (end - start);
            }
        }
    }
}
