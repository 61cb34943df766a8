//! Colour histograms of the target and its surroundings, and the likelihood that a position in the search area shows the
//! target (Bertinetto, Valmadre, Golodetz, Miksik & Torr, "Staple: Complementary Learners for Real-Time
//! Tracking", CVPR 2016, section 3.3, with a ratio in place of their ridge regression).

use std::ops::Range;

use super::hog_colors::BINS;

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

    /// The likelihood that a colour belongs to the target, 0 to 1; 0.5 for an unseen colour.
    #[inline(always)]
    pub fn likelihood(&self, bin: u16) -> f32 {
        let [target, around] = self.shares[usize::from(bin) % BINS];
        let sum = target + around;
        if sum > 0.0 { target / sum } else { 0.5 }
    }

    /// The mean likelihood of each whole cell of `cell` x `cell` pixels of a patch of `width` pixels a row, to `out`
    /// (`[row][column]`). Uses every second pixel of every second row.
    pub fn likelihood_map(&self, bins: &[u16], width: usize, cell: usize, out: &mut [f32]) {
        let cols = width / cell;
        assert_eq!(out.len(), cols * (bins.len() / width / cell), "a value for each cell");
        let gain = 1.0 / (cell.div_ceil(2) * cell.div_ceil(2)) as f32;
        for (r, out) in out.chunks_exact_mut(cols.max(1)).enumerate() {
            for (c, out) in out.iter_mut().enumerate() {
                let mut sum = 0.0;
                for y in (0..cell).step_by(2) {
                    for &bin in bins[(r * cell + y) * width + c * cell..][..cell].iter().step_by(2) {
                        sum += self.likelihood(bin);
                    }
                }
                *out = sum * gain;
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
    between: Vec<f32>,
}

impl BoxMean {
    /// For maps of `rows` x `cols` cells and a box of `height` x `width` cells, also fractional. The box is clipped to
    /// the map.
    pub fn new((rows, cols): (usize, usize), (height, width): (f64, f64)) -> Self {
        let mut means = Self {
            rows,
            cols,
            spans: [vec![(0.0, 0.0); rows], vec![(0.0, 0.0); cols]],
            prefix: vec![0.0; rows.max(cols) + 2],
            between: vec![0.0; rows * cols],
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
        // Along the rows into the transposed map, then along its rows back.
        means(map, (rows, cols), &self.spans[1], &mut self.prefix, &mut self.between);
        means(&self.between, (cols, rows), &self.spans[0], &mut self.prefix, out);
    }
}

/// Means along each row over its spans, transposed.
fn means(map: &[f32], (rows, cols): (usize, usize), spans: &[(f32, f32)], prefix: &mut [f32], out: &mut [f32]) {
    for r in 0..rows {
        let mut sum = 0.0;
        for (to, v) in prefix[1..].iter_mut().zip(&map[r * cols..][..cols]) {
            sum += v;
            *to = sum;
        }
        prefix[0] = 0.0;
        prefix[cols + 1] = sum;
        let until = |x: f32| {
            let whole = x as usize;
            prefix[whole] + (prefix[whole + 1] - prefix[whole]) * (x - whole as f32)
        };
        for (c, &(start, end)) in spans.iter().enumerate() {
            out[c * rows + r] = (until(end) - until(start)) / (end - start);
        }
    }
}
