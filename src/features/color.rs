//! Colours: names beside HOG, and histograms of the target and its surroundings.
//!
//! [`HogColors`] is the feature of `robust`: HOG and colour names in one block of 32 lanes. The 18 signed orientations
//! and 4 texture energies of [HOG](super::hog) keep their lanes; ten colour names replace the unsigned orientations and
//! fill the last lane. (The eleventh is one minus the others.)
//!
//! Each kind is scaled to a mean square of 1 over the map before the window, so neither outweighs the other.
//!
//! The colour names are the basic colour terms of Berlin and Kay ("Basic Color Terms", 1969), each given by a few named
//! colours of CSS Color Module Level 4 (section 6.1) and X11 (`rgb.txt`). The distance of a colour to a name is the
//! distance to the nearest of its centres in CIELAB (CIE 1976, white D65, two degrees). Memberships are a softmax over
//! the names, `m_k = exp(-d_k² / 2 s²) / Σ_j exp(-d_j² / 2 s²)` with `s` = [`WIDTH`], in the role of the learned table
//! of van de Weijer et al. (IEEE TIP 2009).
//!
//! [`ColorHistogram`] gives the likelihood that a position in the search area shows the target (Bertinetto, Valmadre,
//! Golodetz, Miksik & Torr, "Staple: Complementary Learners for Real-Time Tracking", CVPR 2016, section 3.3,
//! whose ridge regression has the ratio of shares as its solution; here without a ridge).

use std::ops::Range;
use std::sync::OnceLock;

use super::hog::{Hog, LANES, SIGNED, UNSIGNED};
use crate::archive::Archive;
use crate::frame::luma;
use crate::simd::leveled;

/// The number of colour bins: 32 levels each of red, green and blue.
pub const BINS: usize = 1 << 15;

/// The bin of a colour.
#[inline(always)]
pub fn bin_of(r: u8, g: u8, b: u8) -> u16 {
    (u16::from(r >> 3) << 10) | (u16::from(g >> 3) << 5) | u16::from(b >> 3)
}

/// The red, green and blue value in the middle of a bin, 0 to 255.
pub(super) fn middle_of(bin: usize) -> [f64; 3] {
    [10, 5, 0].map(|shift| ((bin >> shift & 31) * 8) as f64 + 3.5)
}

leveled! {
    /// Splits an RGB patch of four bytes a pixel into gray values and colour bins.
    pub fn gray_and_bins(rgb: &[u8], gray: &mut [u8], bins: &mut [u16]) {
        assert!(rgb.len() == 4 * bins.len() && gray.len() == bins.len(), "four bytes a pixel");
        for ((&pixel, gray), bin) in rgb.as_chunks().0.iter().zip(gray).zip(bins) {
            // The pixel is read as one number, because the compiler would take bytes apart one by one.
            let [r, g, b] = [0, 8, 16].map(|shift| (u32::from_le_bytes(pixel) >> shift) as u8);
            *gray = luma(r, g, b);
            *bin = bin_of(r, g, b);
        }
    }
}

/// Number of names.
pub(super) const NAMES: usize = 11;
/// The width of a name in CIELAB.
const WIDTH: f64 = 15.0;

/// Memberships of a bin in 255ths, padded to a vector.
type Entry = [u8; 16];

/// The centres of each name as `0xRRGGBB`: black, blue, brown, gray, green, orange, pink, purple, red, white, yellow.
const CENTRES: [&[u32]; NAMES] = [
    // black, gray11
    &[0x000000, 0x1c1c1c],
    // blue, navy, mediumblue, royalblue, dodgerblue, steelblue, deepskyblue, skyblue
    &[0x0000ff, 0x000080, 0x0000cd, 0x4169e1, 0x1e90ff, 0x4682b4, 0x00bfff, 0x87ceeb],
    // saddlebrown, sienna, chocolate, peru, tan4, sienna4
    &[0x8b4513, 0xa0522d, 0xd2691e, 0xcd853f, 0x8b5a2b, 0x8b4726],
    // gray31, dimgray, gray, darkgray
    &[0x4f4f4f, 0x696969, 0x808080, 0xa9a9a9],
    // green, lime, darkgreen, forestgreen, limegreen, seagreen, olivedrab, palegreen
    &[0x008000, 0x00ff00, 0x006400, 0x228b22, 0x32cd32, 0x2e8b57, 0x6b8e23, 0x98fb98],
    // orange, darkorange, orange2, darkorange2, coral
    &[0xffa500, 0xff8c00, 0xee9a00, 0xee7600, 0xff7f50],
    // pink, hotpink, deeppink, lightpink, palevioletred
    &[0xffc0cb, 0xff69b4, 0xff1493, 0xffb6c1, 0xdb7093],
    // purple, darkviolet, blueviolet, indigo, mediumorchid, mediumpurple
    &[0x800080, 0x9400d3, 0x8a2be2, 0x4b0082, 0xba55d3, 0x9370db],
    // red, firebrick, crimson, darkred, red3
    &[0xff0000, 0xb22222, 0xdc143c, 0x8b0000, 0xcd0000],
    // white, snow, ghostwhite, whitesmoke, gray90
    &[0xffffff, 0xfffafa, 0xf8f8ff, 0xf5f5f5, 0xe5e5e5],
    // yellow, gold, khaki, yellow3, yellow2
    &[0xffff00, 0xffd700, 0xf0e68c, 0xcdcd00, 0xeeee00],
];

/// CIELAB of an sRGB colour, 0 to 255 a channel.
pub(super) fn lab(rgb: [f64; 3]) -> [f64; 3] {
    // IEC 61966-2-1.
    let linear = rgb.map(|v| {
        let v = v / 255.0;
        if v <= 0.04045 { v / 12.92 } else { libm::pow((v + 0.055) / 1.055, 2.4) }
    });
    let row = |m: [f64; 3]| m[0] * linear[0] + m[1] * linear[1] + m[2] * linear[2];
    let xyz =
        [row([0.4124, 0.3576, 0.1805]) / 0.9505, row([0.2126, 0.7152, 0.0722]), row([0.0193, 0.1192, 0.9505]) / 1.089];
    let [x, y, z] = xyz.map(|t| {
        let edge: f64 = 6.0 / 29.0;
        if t > edge * edge * edge { libm::cbrt(t) } else { t / (3.0 * edge * edge) + 4.0 / 29.0 }
    });
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

/// Memberships of an sRGB colour, 0 to 255 a channel; they sum to one.
pub(super) fn memberships(rgb: [f64; 3]) -> [f64; NAMES] {
    let centres = centres();
    let here = lab(rgb);
    let mut distances = [f64::INFINITY; NAMES];
    for (name, centre) in centres {
        let d = (0..3).map(|i| (here[i] - centre[i]).powi(2)).sum();
        distances[*name] = distances[*name].min(d);
    }
    // Relative to the nearest name, so the sum never underflows.
    let least = distances.iter().copied().fold(f64::INFINITY, f64::min);
    let shares = distances.map(|d| libm::exp((least - d) / (2.0 * WIDTH * WIDTH)));
    let sum: f64 = shares.iter().sum();
    shares.map(|v| v / sum)
}

/// The name and CIELAB of all centres.
fn centres() -> &'static [(usize, [f64; 3])] {
    static ALL: OnceLock<Vec<(usize, [f64; 3])>> = OnceLock::new();
    ALL.get_or_init(|| {
        let named = CENTRES.iter().enumerate().flat_map(|(name, of)| of.iter().map(move |&rgb| (name, rgb)));
        named.map(|(name, rgb)| (name, lab([16, 8, 0].map(|shift| f64::from(rgb >> shift & 255))))).collect()
    })
}

/// Makes the tables that all targets share, which takes some time once in a process.
pub(crate) fn prepare() {
    table();
}

/// The table of all bins.
fn table() -> &'static [Entry] {
    static TABLE: OnceLock<Vec<Entry>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let entry = |bin| {
            let mut entry = [0; 16];
            for (to, m) in entry.iter_mut().zip(memberships(middle_of(bin))) {
                *to = (255.0 * m).round() as u8;
            }
            entry
        };
        (0..BINS).map(entry).collect()
    })
}

/// Mean memberships of cells of `cell` x `cell` pixels.
#[derive(Clone, Copy, Debug)]
pub(super) struct ColorNames {
    table: &'static [Entry],
    cell: usize,
    /// Turns the sum over every second pixel into a mean.
    gain: f32,
}

impl ColorNames {
    /// # Panics
    /// If a cell does not have 1 to 16 pixels a side.
    pub fn new(cell: usize) -> Self {
        assert!((1..=16).contains(&cell), "a cell has 1 to 16 pixels a side");
        let black: usize = (0..cell).map(|y| (cell - y % 2).div_ceil(2)).sum();
        Self { table: table(), cell, gain: 1.0 / (255 * black) as f32 }
    }

    /// The mean memberships of a cell of a patch of `width` pixels a row, less 1/11, the mean over all names: 16 values,
    /// the last five unused.
    #[inline(always)]
    pub fn of_cell(&self, bins: &[u16], width: usize, (row, col): (usize, usize)) -> [f32; 16] {
        let cell = self.cell;
        let mut sums = [0u16; 16];
        for y in 0..cell {
            // Every second pixel, in a checkerboard: half the time at almost the same result.
            for &bin in bins[(row * cell + y) * width + col * cell..][..cell].iter().skip(y % 2).step_by(2) {
                let entry = &self.table[usize::from(bin) % BINS];
                for k in 0..16 {
                    sums[k] += u16::from(entry[k]);
                }
            }
        }
        let mut means = [0.0; 16];
        for k in 0..16 {
            means[k] = f32::from(sums[k]) * self.gain - 1.0 / NAMES as f32;
        }
        means
    }
}

/// Lanes of the colour names: those of the unsigned orientations, and the last.
const COLORS: usize = UNSIGNED + 1;
/// Smallest mean square that counts as energy.
const MIN_ENERGY: f32 = 1e-12;

/// Extracts HOG and colour names from patches of one size.
#[derive(Clone, Debug)]
pub struct HogColors {
    hog: Hog,
    names: ColorNames,
    width: usize,
    flat: Vec<f32>,
}

impl HogColors {
    /// Creates an extractor for patches of `width` x `height` pixels and cells of `cell` pixels a side.
    ///
    /// # Panics
    /// If the patch is smaller than a cell, or a cell has more than 16 pixels a side.
    pub fn new(width: usize, height: usize, cell: usize) -> Self {
        let hog = Hog::new(width, height, cell).without_unsigned();
        let flat = vec![1.0; hog.rows().max(hog.cols())];
        Self { hog, names: ColorNames::new(cell), width, flat }
    }

    /// Rows and columns of cells.
    pub fn size(&self) -> (usize, usize) {
        (self.hog.rows(), self.hog.cols())
    }

    /// Writes the features of a patch, times the window `rows` x `cols`, to `out`: `[row][column][32]`; without the window
    /// also to `plain`, unless that is empty. `gray` are the gray values of the patch, `bins` its [colour bins](bin_of).
    /// Returns whether the patch has any gradient.
    ///
    /// # Panics
    /// If a slice does not have the length for the size of the patch.
    pub fn extract(
        &mut self,
        (gray, bins): (&[u8], &[u16]),
        (rows, cols): (&[f32], &[f32]),
        out: &mut [f32],
        plain: &mut [f32],
    ) -> bool {
        let (height, width) = self.size();
        assert_eq!((rows.len(), cols.len()), (height, width));
        assert_eq!(bins.len(), gray.len());
        self.hog.extract(gray, &self.flat[..height], &self.flat[..width], out);
        finish(self.names, bins, self.width, rows, cols, out.as_chunks_mut().0, plain.as_chunks_mut().0)
    }
}

/// True if a lane holds a colour name.
#[inline(always)]
pub(crate) fn is_color(lane: usize) -> bool {
    lane == LANES - 1 || (SIGNED..SIGNED + UNSIGNED).contains(&lane)
}

leveled! {
    /// Writes the colour names, scales both kinds to one energy and applies the window.
    avx2 fn finish(
        names: ColorNames,
        bins: &[u16],
        width: usize,
        rows: &[f32],
        cols: &[f32],
        cells: &mut [[f32; LANES]],
        plain: &mut [[f32; LANES]],
    ) -> bool {
        let (mut squares, mut color_squares) = ([0.0f32; LANES], [0.0f32; 16]);
        for (r, cells) in cells.chunks_exact_mut(cols.len()).enumerate() {
            for (c, cell) in cells.iter_mut().enumerate() {
                let names = names.of_cell(bins, width, (r, c));
                // The lanes of the colours hold nothing yet: read after they are written, the cell would have to wait.
                for l in 0..LANES {
                    squares[l] += cell[l] * cell[l];
                }
                for k in 0..16 {
                    color_squares[k] += names[k] * names[k];
                }
                cell[SIGNED..SIGNED + UNSIGNED].copy_from_slice(&names[..UNSIGNED]);
                cell[LANES - 1] = names[UNSIGNED];
            }
        }
        let gain = |sum: f32, lanes: usize| {
            let mean = sum / (rows.len() * cols.len() * lanes) as f32;
            if mean > MIN_ENERGY { 1.0 / mean.sqrt() } else { 0.0 }
        };
        let gradients = (0..LANES).filter(|&l| !is_color(l)).map(|l| squares[l]).sum();
        let (gradients, colors) = (gain(gradients, LANES - COLORS), gain(color_squares[..COLORS].iter().sum(), COLORS));
        let mut gains = [0.0; LANES];
        for (l, gain) in gains.iter_mut().enumerate() {
            *gain = if is_color(l) { colors } else { gradients };
        }
        for (plain, cell) in plain.iter_mut().zip(&*cells) {
            for l in 0..LANES {
                plain[l] = cell[l] * gains[l];
            }
        }
        for (cells, row) in cells.chunks_exact_mut(cols.len()).zip(rows) {
            for (cell, col) in cells.iter_mut().zip(cols) {
                let taper = row * col;
                for l in 0..LANES {
                    cell[l] *= gains[l] * taper;
                }
            }
        }
        gradients > 0.0
    }
}

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

    /// Writes or reads what was learned.
    pub fn transfer(&mut self, archive: &mut Archive<'_>) {
        archive.floats(self.shares.as_flattened_mut());
        archive.value(&mut self.gain);
        archive.value(&mut self.trained);
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
    /// Creates the means for maps of `rows` x `cols` cells and a box of `height` x `width` cells, also fractional. The
    /// box is clipped to the map.
    pub fn new((rows, cols): (usize, usize), (height, width): (f64, f64)) -> Self {
        let span = |n: usize, length: f64| {
            // The middle of an even number of cells lies between two of them.
            let (middle, half) = (0.5 * (n % 2) as f64, length.max(1.0) / 2.0);
            let ends = |i: usize| (i as f64 + middle - half, i as f64 + middle + half);
            (0..n).map(ends).map(|(start, end)| (start.max(0.0) as f32, end.min(n as f64) as f32)).collect()
        };
        Self {
            rows,
            cols,
            spans: [span(rows, height), span(cols, width)],
            prefix: vec![0.0; (rows.max(cols) + 2) * rows.max(cols)],
            between: [vec![0.0; rows * cols], vec![0.0; rows * cols]],
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
