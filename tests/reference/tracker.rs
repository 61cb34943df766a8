//! The published tracker, step by step in its own 1-based pixels and double precision, for gray frames
//! (Henriques et al., TPAMI 2015, algorithm 1 and their published constants).

use kcf_track::tracker::{AreaParams, FeatureParams, FilterParams, PublishedArea};
use kcf_track::{BBox, Params};

use super::fhog;
use super::kcf::{ReferenceKcf, Size};

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
    /// Of the last frame.
    pub response: Vec<f64>,
}

impl ReferenceTracker {
    /// `bbox` is 0-based, as everywhere in the library.
    pub fn new(params: &Params, picture: &Picture, bbox: BBox) -> Self {
        let params = params.search.filter().unwrap();
        let AreaParams::Published(PublishedArea { half_size_from }) = params.area else { panic!("not of the paper") };
        let mut target = (bbox.h, bbox.w);
        let mut pos = (bbox.y + 1.0 + (target.0 / 2.0).floor(), bbox.x + 1.0 + (target.1 / 2.0).floor());
        let resized = (target.0 * target.1).sqrt() >= half_size_from;
        if resized {
            pos = ((pos.0 / 2.0).floor(), (pos.1 / 2.0).floor());
            target = ((target.0 / 2.0).floor(), (target.1 / 2.0).floor());
        }
        let window_of = |length: f64| (length * (1.0 + params.padding)).floor() as usize;
        let window = (window_of(target.0), window_of(target.1));
        let cell = params.feature.cell_size();
        let channels = if params.feature != FeatureParams::Gray { fhog::CHANNELS } else { 1 };
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
            FeatureParams::Hog(_) => fhog::fhog(&patch, width, height, self.params.feature.cell_size()),
            // Of the others, gray alone has a reference.
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
    (std::f64::consts::PI * i as f64 / (n as f64 - 1.0)).sin().powi(2)
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
