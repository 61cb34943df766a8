//! The published tracker in slow, dense, double-precision form, written from the papers and without shared code: the
//! Fourier transform by its definition, HOG pixel by pixel, the kernelized filter as sums over cyclic shifts, and the
//! whole tracker (Henriques et al., TPAMI 2015, algorithm 1) in its 1-based pixels.

use std::f64::consts::{PI, TAU};

pub use rustfft::num_complex::Complex64 as Complex;

use crate::kernels::Kernel;
use crate::tracker::{FeatureParams, FilterParams};
use crate::{BBox, Params};

/// `Z[u][v] = Σ_rc z[r][c] exp(-2πi (ur/rows + vc/cols))`, unnormalised; the inverse with the other sign, divided by
/// the number of cells.
pub fn dft(values: &[Complex], rows: usize, cols: usize, inverse: bool) -> Vec<Complex> {
    let sign = if inverse { 1.0 } else { -1.0 };
    let root = |k: usize, n: usize| Complex::from_polar(1.0, sign * TAU * (k % n) as f64 / n as f64);
    let mut out = Vec::with_capacity(values.len());
    for u in 0..rows {
        for v in 0..cols {
            let mut sum = Complex::default();
            for r in 0..rows {
                for c in 0..cols {
                    sum += values[r * cols + c] * root(u * r, rows) * root(v * c, cols);
                }
            }
            out.push(if inverse { sum / (rows * cols) as f64 } else { sum });
        }
    }
    out
}

/// Channels of a cell: 18 signed orientations, 9 unsigned ones, 4 texture energies.
pub const CHANNELS: usize = 31;

/// The features of a gray patch (0 to 255, row-major), `[row][column][31]` on the grid of whole cells.
pub fn fhog(patch: &[u8], width: usize, height: usize, cell: usize) -> Vec<f64> {
    let (rows, cols) = (height / cell, width / cell);
    let gray = |x: usize, y: usize| f64::from(patch[y * width + x]) / 255.0;
    let mut histogram = vec![[0.0; 18]; rows * cols];
    // Pixels beyond the last whole cell are seen by the gradients beside them and have no histogram.
    for y in 0..rows * cell {
        for x in 0..cols * cell {
            let gx = derivative(width, x, |x| gray(x, y));
            let gy = derivative(height, y, |y| gray(x, y));
            let magnitude = (gx * gx + gy * gy).sqrt();
            let bin = nearest_orientation(gx, gy);
            // The centre of cell k lies at pixel coordinate k * cell + (cell - 1) / 2; shares fall off linearly over
            // one cell.
            for r in around(y, cell, rows) {
                for c in around(x, cell, cols) {
                    let share = tent(y, r, cell) * tent(x, c, cell);
                    histogram[r * cols + c][bin] += magnitude * share / (cell * cell) as f64;
                }
            }
        }
    }
    for r in 0..rows {
        for c in 0..cols {
            // A border cell lacks the shares of the pixels outside, one eighth on each side.
            let sides = [r == 0, r + 1 == rows, c == 0, c + 1 == cols].into_iter().filter(|&side| side).count();
            let gain = (8.0f64 / 7.0).powi(sides as i32);
            histogram[r * cols + c].iter_mut().for_each(|v| *v *= gain);
        }
    }
    let unsigned = |r: usize, c: usize, o: usize| histogram[r * cols + c][o] + histogram[r * cols + c][o + 9];
    let energy = |r: usize, c: usize| (0..9).map(|o| unsigned(r, c, o).powi(2)).sum::<f64>();
    // The norm of the 2x2 block whose upper left cell is (r, c). Blocks that stick out over the border do not exist:
    // their inner neighbour stands in. In a grid of one row or column, that one counts twice.
    let norm = |r: i64, c: i64| {
        let inner = |i: i64, n: usize| i.clamp(0, (n as i64 - 2).max(0)) as usize;
        let (r, c) = (inner(r, rows), inner(c, cols));
        let (below, right) = ((r + 1).min(rows - 1), (c + 1).min(cols - 1));
        let sum = energy(r, c) + energy(r, right) + energy(below, c) + energy(below, right);
        (sum + 1e-4 / 4.0 / (cell as f64).powi(4)).sqrt()
    };
    let mut features = Vec::with_capacity(rows * cols * CHANNELS);
    for r in 0..rows {
        for c in 0..cols {
            let (i, j) = (r as i64, c as i64);
            // The four blocks that the cell belongs to.
            let norms = [norm(i, j), norm(i, j - 1), norm(i - 1, j), norm(i - 1, j - 1)];
            let clipped = |value: f64| norms.map(|norm| (value / norm).min(0.2));
            let signed = histogram[r * cols + c];
            features.extend(signed.map(|v| clipped(v).iter().sum::<f64>() / 2.0));
            features.extend((0..9).map(|o| clipped(unsigned(r, c, o)).iter().sum::<f64>() / 2.0));
            features.extend((0..4).map(|block| 0.2357 * signed.iter().map(|&v| clipped(v)[block]).sum::<f64>()));
        }
    }
    features
}

/// The central difference; at the ends of a line, the difference to the one neighbour.
fn derivative(len: usize, i: usize, value: impl Fn(usize) -> f64) -> f64 {
    match i {
        _ if len == 1 => 0.0,
        0 => value(1) - value(0),
        i if i == len - 1 => value(i) - value(i - 1),
        i => (value(i + 1) - value(i - 1)) / 2.0,
    }
}

/// The cells that can have a share of a pixel.
fn around(pixel: usize, side: usize, cells: usize) -> std::ops::Range<usize> {
    (pixel / side).saturating_sub(1)..(pixel / side + 2).min(cells)
}

/// The share of a pixel that a cell gets.
fn tent(pixel: usize, cell: usize, side: usize) -> f64 {
    let center = cell as f64 * side as f64 + (side as f64 - 1.0) / 2.0;
    (1.0 - (pixel as f64 - center).abs() / side as f64).max(0.0)
}

/// The nearest of 18 orientations; exactly between two (90 and 270 degrees in integer pictures) the higher one.
fn nearest_orientation(gx: f64, gy: f64) -> usize {
    let turn = gy.atan2(gx).rem_euclid(2.0 * PI) / (PI / 9.0);
    // The nudge is far below the distance of any other direction of 8-bit differences from a border.
    (turn + 0.5 + 1e-9).floor() as usize % 18
}

/// Feature maps of one size.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub rows: usize,
    pub cols: usize,
    pub channels: usize,
}

impl Size {
    pub fn cells(self) -> usize {
        self.rows * self.cols
    }

    pub fn len(self) -> usize {
        self.cells() * self.channels
    }

    /// The map moved up and left by `dr`, `dc`, wrapped around: what was at `(dr, dc)` stands at `(0, 0)`.
    pub fn shifted(self, map: &[f64], dr: usize, dc: usize) -> Vec<f64> {
        let mut out = Vec::with_capacity(map.len());
        for r in 0..self.rows {
            for c in 0..self.cols {
                let from = ((r + dr) % self.rows * self.cols + (c + dc) % self.cols) * self.channels;
                out.extend_from_slice(&map[from..from + self.channels]);
            }
        }
        out
    }

    /// [`Size::shifted`] by the element number `i` of a plane.
    pub fn shift(self, map: &[f64], i: usize) -> Vec<f64> {
        self.shifted(map, i / self.cols, i % self.cols)
    }
}

/// The kernel of two samples, from the formulas of Henriques et al. (TPAMI 2015, section 5), with norms and products
/// taken as means over the values, as the authors' code does.
pub fn kernel(kind: Kernel, a: &[f64], b: &[f64]) -> f64 {
    let n = a.len() as f64;
    let dot = a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    match kind {
        Kernel::Gaussian { sigma } => {
            let distance = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
            (-distance / n / sigma.powi(2)).exp()
        }
        Kernel::Polynomial { a, b } => (dot / n + a).powi(b as i32),
        Kernel::Linear => dot / n,
    }
}

/// `k[i]`: the kernel of `z` moved back by shift `i`, and `x`.
pub fn kernel_correlation(kind: Kernel, size: Size, z: &[f64], x: &[f64]) -> Vec<f64> {
    (0..size.cells()).map(|i| kernel(kind, &size.shift(z, i), x)).collect()
}

/// Model and learning; α and x stay in space.
pub struct ReferenceKcf {
    pub size: Size,
    pub kind: Kernel,
    pub lambda: f64,
    pub target: Vec<f64>,
    pub alpha: Vec<f64>,
    pub model: Vec<f64>,
}

impl ReferenceKcf {
    pub fn new(size: Size, kind: Kernel, lambda: f64, target: Vec<f64>) -> Self {
        Self { size, kind, lambda, target, alpha: Vec::new(), model: Vec::new() }
    }

    /// α of one sample, `F(α) = F(y) / (F(k) + lambda)`.
    pub fn dual(&self, x: &[f64]) -> Vec<f64> {
        let (rows, cols) = (self.size.rows, self.size.cols);
        let transform =
            |plane: &[f64]| dft(&plane.iter().map(|&v| Complex::new(v, 0.0)).collect::<Vec<_>>(), rows, cols, false);
        let (y, k) = (transform(&self.target), transform(&kernel_correlation(self.kind, self.size, x, x)));
        let alpha: Vec<_> = y.iter().zip(&k).map(|(y, k)| y / (k + self.lambda)).collect();
        dft(&alpha, rows, cols, true).iter().map(|v| v.re).collect()
    }

    /// α and the sample are interpolated, each for itself; the first sample is taken as it is.
    pub fn learn(&mut self, x: &[f64], rate: f64) {
        let alpha = self.dual(x);
        if self.model.is_empty() {
            (self.alpha, self.model) = (alpha, x.to_vec());
            return;
        }
        let mix = |old: &mut Vec<f64>, new: &[f64]| {
            old.iter_mut().zip(new).for_each(|(old, new)| *old = (1.0 - rate) * *old + rate * new);
        };
        mix(&mut self.alpha, &alpha);
        mix(&mut self.model, x);
    }

    /// `f[i] = Σ_j α_j κ(z moved back by i, x moved back by j)`, where the kernel depends on `i - j` only.
    pub fn respond(&self, z: &[f64]) -> Vec<f64> {
        let (rows, cols) = (self.size.rows, self.size.cols);
        let k = kernel_correlation(self.kind, self.size, z, &self.model);
        (0..self.size.cells())
            .map(|i| {
                (0..self.size.cells())
                    .map(|j| {
                        let r = (rows + i / cols - j / cols) % rows;
                        let c = (cols + i % cols - j % cols) % cols;
                        self.alpha[j] * k[r * cols + c]
                    })
                    .sum()
            })
            .collect()
    }
}

/// A gray picture, row-major.
#[derive(Clone)]
pub struct Picture {
    pub pixels: Vec<u8>,
    pub width: usize,
    pub height: usize,
}

impl Picture {
    /// Row and column from 1, those outside replaced by the nearest inside.
    fn at(&self, row: i64, col: i64) -> u8 {
        let y = row.clamp(1, self.height as i64) - 1;
        let x = col.clamp(1, self.width as i64) - 1;
        self.pixels[y as usize * self.width + x as usize]
    }

    /// `imresize(picture, 0.5)`: the cubic kernel stretched to twice its width, the picture mirrored at its border,
    /// rows first, rounded after each direction.
    fn halved(&self) -> Self {
        let columns_done = self.shrunk_vertically();
        columns_done.transposed().shrunk_vertically().transposed()
    }

    fn transposed(&self) -> Self {
        let pixels = (0..self.width).flat_map(|x| (0..self.height).map(move |y| (x, y)));
        let pixels = pixels.map(|(x, y)| self.pixels[y * self.width + x]).collect();
        Self { pixels, width: self.height, height: self.width }
    }

    fn shrunk_vertically(&self) -> Self {
        let cubic = |x: f64| match x.abs() {
            x if x <= 1.0 => 1.5 * x.powi(3) - 2.5 * x.powi(2) + 1.0,
            x if x <= 2.0 => -0.5 * x.powi(3) + 2.5 * x.powi(2) - 4.0 * x + 2.0,
            _ => 0.0,
        };
        let n = self.height as i64;
        let height = self.height.div_ceil(2);
        let mut pixels = Vec::with_capacity(self.width * height);
        for row in 1..=height {
            let center = 2.0 * row as f64 - 0.5;
            for x in 0..self.width {
                let (mut sum, mut weights) = (0.0, 0.0);
                for source in (center as i64 - 5)..=(center as i64 + 5) {
                    let weight = cubic((center - source as f64) / 2.0);
                    let mirrored = (source - 1).rem_euclid(2 * n);
                    let y = if mirrored < n { mirrored } else { 2 * n - 1 - mirrored };
                    sum += weight * f64::from(self.pixels[y as usize * self.width + x]);
                    weights += weight;
                }
                pixels.push((sum / weights + 0.5).floor().clamp(0.0, 255.0) as u8);
            }
        }
        Self { pixels, width: self.width, height }
    }
}

/// Rows before columns, as in the published code.
pub struct ReferenceTracker {
    params: FilterParams,
    resized: bool,
    /// Row and column of the centre, 1-based.
    pos: (f64, f64),
    window: (usize, usize),
    full_size: (f64, f64),
    filter: ReferenceKcf,
    /// Response of the last frame.
    pub response: Vec<f64>,
}

impl ReferenceTracker {
    /// `bbox` is 0-based, as everywhere in the library.
    pub fn new(params: &Params, picture: &Picture, bbox: BBox) -> Self {
        let params = super::scene::filter_of(params);
        let mut target = (bbox.h, bbox.w);
        let mut pos = (bbox.y + 1.0 + (target.0 / 2.0).floor(), bbox.x + 1.0 + (target.1 / 2.0).floor());
        let resized = (target.0 * target.1).sqrt() >= params.half_size_from;
        if resized {
            pos = ((pos.0 / 2.0).floor(), (pos.1 / 2.0).floor());
            target = ((target.0 / 2.0).floor(), (target.1 / 2.0).floor());
        }
        let window_of = |length: f64| (length * (1.0 + params.padding)).floor() as usize;
        let window = (window_of(target.0), window_of(target.1));
        let cell = params.feature.cell_size();
        let channels = if params.feature != FeatureParams::Gray { CHANNELS } else { 1 };
        let size = Size { rows: window.0 / cell, cols: window.1 / cell, channels };
        let sigma = (target.0 * target.1).sqrt() * params.output_sigma / cell as f64;
        let filter = ReferenceKcf::new(size, params.kernel, params.lambda, labels(size.rows, size.cols, sigma));
        let full_size = (bbox.h, bbox.w);
        let mut tracker =
            Self { params: params.clone(), resized, pos, window, full_size, filter, response: Vec::new() };
        let features = tracker.features(&tracker.searched(picture));
        tracker.filter.learn(&features, params.learning_rate);
        tracker
    }

    /// The box in the next frame, 0-based.
    pub fn update(&mut self, picture: &Picture) -> BBox {
        let picture = self.searched(picture);
        self.response = self.filter.respond(&self.features(&picture));
        let Size { rows, cols, .. } = self.filter.size;
        // [vert_delta, horiz_delta] = find(response == max(response(:)), 1), which goes down the columns.
        let highest = self.response.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let places = (1..=cols).flat_map(|c| (1..=rows).map(move |r| (r, c)));
        let (mut vertical, mut horizontal) = places
            .map(|(r, c)| (r as f64, c as f64))
            .find(|&(r, c)| self.response[(r as usize - 1) * cols + c as usize - 1] == highest)
            .unwrap();
        if vertical > rows as f64 / 2.0 {
            vertical -= rows as f64;
        }
        if horizontal > cols as f64 / 2.0 {
            horizontal -= cols as f64;
        }
        let cell = self.params.feature.cell_size() as f64;
        self.pos.0 += cell * (vertical - 1.0);
        self.pos.1 += cell * (horizontal - 1.0);
        let features = self.features(&picture);
        self.filter.learn(&features, self.params.learning_rate);
        self.bbox()
    }

    /// `[pos - target_sz / 2, target_sz]` at full size, less the 1 of its pixels.
    fn bbox(&self) -> BBox {
        let gain = if self.resized { 2.0 } else { 1.0 };
        let (h, w) = self.full_size;
        BBox::new(gain * self.pos.1 - w / 2.0 - 1.0, gain * self.pos.0 - h / 2.0 - 1.0, w, h)
    }

    fn searched(&self, picture: &Picture) -> Picture {
        if self.resized { picture.halved() } else { picture.clone() }
    }

    fn features(&self, picture: &Picture) -> Vec<f64> {
        let (height, width) = self.window;
        let mut patch = Vec::with_capacity(width * height);
        for r in 1..=height as i64 {
            for c in 1..=width as i64 {
                let row = self.pos.0.floor() as i64 + r - height as i64 / 2;
                let col = self.pos.1.floor() as i64 + c - width as i64 / 2;
                patch.push(picture.at(row, col));
            }
        }
        let Size { rows, cols, channels } = self.filter.size;
        let mut features = match self.params.feature {
            FeatureParams::Hog(_) => fhog(&patch, width, height, self.params.feature.cell_size()),
            // Gray is the only other feature with a reference.
            _ => {
                let gray: Vec<_> = patch.iter().map(|&v| f64::from(v) / 255.0).collect();
                let mean = gray.iter().sum::<f64>() / gray.len() as f64;
                gray.iter().map(|v| v - mean).collect()
            }
        };
        for (i, v) in features.iter_mut().enumerate() {
            let cell = i / channels;
            *v *= hann(cell / cols, rows) * hann(cell % cols, cols);
        }
        features
    }
}

/// MATLAB's `hann(n)`, element `i` from 0.
pub fn hann(i: usize, n: usize) -> f64 {
    (PI * i as f64 / (n as f64 - 1.0)).sin().powi(2)
}

/// `[rs, cs] = ndgrid((1:h) - floor(h/2), (1:w) - floor(w/2))`, a Gaussian of it, then `circshift(., -floor([h w] / 2)
/// + 1)`.
pub fn labels(rows: usize, cols: usize, sigma: f64) -> Vec<f64> {
    let mut out = vec![0.0; rows * cols];
    for r in 1..=rows {
        for c in 1..=cols {
            let (dr, dc) = (r as f64 - (rows / 2) as f64, c as f64 - (cols / 2) as f64);
            let to = |i: usize, n: usize| (i as i64 - 1 + 1 - (n / 2) as i64).rem_euclid(n as i64) as usize;
            out[to(r, rows) * cols + to(c, cols)] = (-0.5 / sigma.powi(2) * (dr * dr + dc * dc)).exp();
        }
    }
    out
}
