//! Colour histograms of the target and of what surrounds it, and how well a place in the search area fits the first and
//! not the second (Bertinetto, Valmadre, Golodetz, Miksik & Torr, "Staple: Complementary Learners for Real-Time
//! Tracking", CVPR 2016, section 3.3, with the ratio of both in place of its ridge regression).

use std::ops::Range;

use super::color_bins::BINS;

/// Shares are brought down to their true size when the running gain has grown to this.
const LARGEST_GAIN: f32 = 1e12;

/// Histograms of the target's and of the surrounding colours, as running means.
#[derive(Clone, Debug)]
pub struct ColorHistogram {
    /// Shares of target and surroundings of each bin, times `gain`.
    shares: Vec<[f32; 2]>,
    /// A running mean forgets by a factor a frame: instead of all shares shrinking, what is added grows.
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
    /// The part of `size` (width, height) around `center` (x, y) of a patch of `side` x `side` pixels, cut off at the
    /// patch's border.
    pub fn around(side: usize, center: (f64, f64), size: (f64, f64)) -> Self {
        let span = |middle: f64, length: f64| {
            let half = length.max(0.0) / 2.0;
            let clamp = |v: f64| v.round().clamp(0.0, side as f64) as usize;
            clamp(middle - half)..clamp(middle + half)
        };
        Self { x: span(center.0, size.0), y: span(center.1, size.1) }
    }

    fn holds(&self, x: usize, y: usize) -> bool {
        self.x.contains(&x) && self.y.contains(&y)
    }
}

impl ColorHistogram {
    /// Means that move by `rate` towards each new patch.
    pub fn new(rate: f64) -> Self {
        Self { shares: vec![[0.0; 2]; BINS], gain: 1.0, rate: rate.clamp(0.0, 0.999) as f32, trained: false }
    }

    /// Learns a patch of `width` pixels a row, given as [bins](super::color_bins): the target's colours are those in
    /// `inside`, its surroundings' those in `around` but not in `hole`. Every second pixel of every second row counts.
    /// A patch in which either part is empty teaches nothing.
    pub fn learn(&mut self, bins: &[u16], width: usize, inside: &Area, around: &Area, hole: &Area) {
        let points = |area: &Area| {
            let (x, y) = (area.x.clone(), area.y.clone());
            y.step_by(2).flat_map(move |y| x.clone().step_by(2).map(move |x| (x, y)))
        };
        let surroundings = || points(around).filter(|&(x, y)| !hole.holds(x, y));
        let counts = [points(inside).count(), surroundings().count()];
        if counts.contains(&0) {
            return;
        }
        let rate = if self.trained { self.rate } else { 1.0 };
        if self.trained {
            self.gain /= 1.0 - rate;
            if self.gain > LARGEST_GAIN {
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

    /// The likelihood that a colour is the target's, 0 to 1; one half where it was never seen.
    #[inline(always)]
    pub fn likelihood(&self, bin: u16) -> f32 {
        let [target, around] = self.shares[usize::from(bin) % BINS];
        let sum = target + around;
        // What is left of one sighting long ago is still a sighting, unless nothing is left.
        if sum > 0.0 { target / sum } else { 0.5 }
    }

    /// The mean likelihood of each whole cell of `cell` x `cell` pixels of a patch of `width` pixels a row, to `out`
    /// (`[row][column]`); every second pixel of every second row counts.
    ///
    /// # Panics
    /// When `out` does not have a value for each cell.
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

/// Means over a box of a target's size at each shift from the middle of a map, in whole cells: what a likelihood says
/// of the shift.
#[derive(Clone, Debug)]
pub struct BoxMean {
    rows: usize,
    cols: usize,
    /// For each row, or column, of cells: where the box begins and ends, in cells.
    spans: [Vec<(f32, f32)>; 2],
    prefix: Vec<f32>,
    between: Vec<f32>,
}

impl BoxMean {
    /// For maps of `rows` x `cols` cells and a box of `height` x `width` cells, fractions welcome. A box that reaches
    /// over the map's border is cut off there.
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

    /// From here on the means of a box of `height` x `width` cells.
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

    /// The means of `map`, `[row][column]`, to `out`: element (r, c) is that of the box moved by `r - rows/2` rows and
    /// `c - cols/2` columns.
    ///
    /// # Panics
    /// When a length is not `rows * cols`.
    pub fn apply(&mut self, map: &[f32], out: &mut [f32]) {
        let (rows, cols) = (self.rows, self.cols);
        assert!(map.len() == rows * cols && out.len() == rows * cols, "maps of one size");
        // Along the rows to the transposed map, then along its rows back.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::color_bins::bin_of;

    const SIDE: usize = 24;

    /// A square of one colour in the middle of others.
    fn patch(target: u16, around: u16, size: usize) -> Vec<u16> {
        let inside = |v: usize| v >= (SIDE - size) / 2 && v < (SIDE + size) / 2;
        (0..SIDE * SIDE).map(|i| if inside(i / SIDE) && inside(i % SIDE) { target } else { around }).collect()
    }

    fn learn(histogram: &mut ColorHistogram, bins: &[u16]) {
        let area = |size: f64| Area::around(SIDE, (SIDE as f64 / 2.0, SIDE as f64 / 2.0), (size, size));
        histogram.learn(bins, SIDE, &area(6.0), &area(20.0), &area(10.0));
    }

    #[test]
    fn likelihoods_are_running_ratios() {
        let (red, blue, green) = (bin_of(255, 0, 0), bin_of(0, 0, 255), bin_of(0, 255, 0));
        let mut histogram = ColorHistogram::new(0.25);
        learn(&mut histogram, &patch(red, blue, 8));
        assert_eq!([red, blue, green].map(|bin| histogram.likelihood(bin)), [1.0, 0.0, 0.5]);
        // Three quarters of red remain, and one quarter of the surroundings has become red.
        learn(&mut histogram, &patch(green, red, 8));
        assert!((histogram.likelihood(red) - 0.75).abs() < 1e-6);
        assert_eq!(histogram.likelihood(green), 1.0);
        // Very long after, the means are those of the last colours, and nothing has overflown.
        for _ in 0..3000 {
            learn(&mut histogram, &patch(blue, green, 8));
        }
        assert!(histogram.likelihood(blue) > 0.999 && histogram.likelihood(green) < 1e-3);
        assert!(histogram.shares.iter().flatten().all(|v| v.is_finite()));
    }

    #[test]
    fn the_best_place_is_that_of_the_target() {
        let (red, blue) = (bin_of(200, 10, 10), bin_of(10, 10, 200));
        let mut histogram = ColorHistogram::new(0.04);
        learn(&mut histogram, &patch(red, blue, 8));
        // The same patch, its target moved by 4 pixels right and 8 up.
        let still = patch(red, blue, 8);
        let moved: Vec<u16> =
            (0..SIDE * SIDE).map(|i| still[(i / SIDE + 8) % SIDE * SIDE + (i % SIDE + SIDE - 4) % SIDE]).collect();
        let (mut map, mut means) = (vec![0.0; 36], vec![0.0; 36]);
        histogram.likelihood_map(&moved, SIDE, 4, &mut map);
        assert_eq!(map.iter().sum::<f32>(), 4.0);
        BoxMean::new((6, 6), (2.0, 2.0)).apply(&map, &mut means);
        let (best, value) = means.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).unwrap();
        assert_eq!((best / 6, best % 6), (3 - 2, 3 + 1));
        assert!((value - 1.0).abs() < 1e-6);
    }

    #[test]
    fn box_means_are_means_over_fractions_of_cells() {
        let (rows, cols) = (7, 6);
        let map: Vec<f32> = (0..rows * cols).map(|i| (i * 31 % 17) as f32).collect();
        for size in [(3.0, 3.0), (2.5, 1.75), (1.0, 4.0), (20.0, 20.0)] {
            let mut out = vec![0.0; rows * cols];
            let mut means = BoxMean::new((rows, cols), (5.0, 2.0));
            means.set_box(size);
            means.apply(&map, &mut out);
            let share = |at: usize, i: usize, n: usize, length: f64| {
                let middle = at as f64 + if n == 7 { 0.5 } else { 0.0 };
                let (start, end) = (middle - length / 2.0, middle + length / 2.0);
                let (start, end) = (start.max(0.0), end.min(n as f64));
                ((i as f64 + 1.0).min(end) - (i as f64).max(start)).max(0.0) / (end - start)
            };
            for (i, got) in out.iter().enumerate() {
                let mut mean = 0.0;
                for (j, v) in map.iter().enumerate() {
                    let weight = share(i / cols, j / cols, rows, size.0) * share(i % cols, j % cols, cols, size.1);
                    mean += weight * f64::from(*v);
                }
                assert!((f64::from(*got) - mean).abs() < 1e-4, "{size:?}: {got} for {mean}");
            }
        }
    }

    #[test]
    fn an_empty_area_teaches_nothing() {
        let mut histogram = ColorHistogram::new(0.1);
        let area = |w: f64, h: f64| Area::around(SIDE, (12.0, 12.0), (w, h));
        let all = area(100.0, 90.0);
        assert_eq!(all, Area { x: 0..SIDE, y: 0..SIDE });
        histogram.learn(&patch(3, 4, 8), SIDE, &all, &all, &all);
        histogram.learn(&patch(3, 4, 8), SIDE, &area(0.0, 5.0), &all, &area(2.0, 2.0));
        assert_eq!(histogram.likelihood(3), 0.5);
    }
}
