//! Feature maps and their spectra, of many channels or of one.
//!
//! Sums over channels are all that a correlation filter needs, and they are cheap in either layout:
//! - many channels ([`LanePlan`]): the 32 floats of a cell are read as 16 complex numbers, real parts first. One complex
//!   transform of 16 lanes then carries 32 real channels, and `Re F^-1(sum_k Z_k conj X_k)` is the sum of the
//!   cross-correlations of all of them (the cross terms of a pair are purely imaginary);
//! - one channel ([`PlanePlan`]): a real transform and its half-spectrum.

use super::LanePlan;
use super::plane::PlanePlan;
use rustfft::num_complex::Complex32;

/// Memory that transforms work in; made once by [`MapPlan::scratch`].
#[derive(Clone, Debug)]
pub struct Scratch {
    lanes: Vec<f32>,
    full: Vec<Complex32>,
    plane: Vec<Complex32>,
}

/// A feature map, or its spectrum after [`MapPlan::transform`].
#[derive(Clone, Debug)]
pub enum FeatureMap {
    /// `[row][column][32]`, transformed in place as 16 complex lanes.
    Lanes(Vec<f32>),
    /// One channel `[row][column]` and its half-spectrum `[row][column / 2 + 1]`.
    Plane {
        /// The map itself; scratch after the transform.
        map: Vec<f32>,
        /// Its half-spectrum.
        spectrum: Vec<Complex32>,
    },
}

impl FeatureMap {
    /// The memory to write features to, before a transform.
    pub fn values_mut(&mut self) -> &mut [f32] {
        match self {
            Self::Lanes(map) | Self::Plane { map, .. } => map,
        }
    }

    /// Moves this spectrum towards `other`: `(1 - rate) self + rate other`.
    pub fn interpolate(&mut self, other: &Self, rate: f32) {
        let mix = |a: &mut f32, b: &f32| *a = (1.0 - rate) * *a + rate * b;
        match (self, other) {
            (Self::Lanes(a), Self::Lanes(b)) => a.iter_mut().zip(b).for_each(|(a, b)| mix(a, b)),
            (Self::Plane { spectrum: a, .. }, Self::Plane { spectrum: b, .. }) => {
                a.iter_mut().zip(b).for_each(|(a, b)| {
                    mix(&mut a.re, &b.re);
                    mix(&mut a.im, &b.im);
                });
            }
            _ => unreachable!("both maps were made by one plan"),
        }
    }
}

/// Transforms of maps of one size and channel count, and of single planes of that size.
#[derive(Clone, Debug)]
pub struct MapPlan {
    rows: usize,
    cols: usize,
    lanes: Option<LanePlan>,
    plane: PlanePlan,
}

impl MapPlan {
    /// For maps of `rows` x `cols` cells of one channel, or of up to 32 channels (then 32 floats a cell).
    pub fn new(rows: usize, cols: usize, channels: usize) -> Self {
        debug_assert!(channels <= 32);
        Self { rows, cols, lanes: (channels > 1).then(|| LanePlan::new(rows, cols)), plane: PlanePlan::new(rows, cols) }
    }

    /// Rows and columns of cells.
    pub fn size(&self) -> (usize, usize) {
        (self.rows, self.cols)
    }

    /// Numbers in a half-spectrum: `rows * (cols / 2 + 1)`.
    pub fn half_len(&self) -> usize {
        self.rows * self.plane.half_cols()
    }

    /// An empty map of this plan's layout.
    pub fn map(&self) -> FeatureMap {
        let cells = self.rows * self.cols;
        match self.lanes {
            Some(_) => FeatureMap::Lanes(vec![0.0; cells * 32]),
            None => FeatureMap::Plane { map: vec![0.0; cells], spectrum: vec![Complex32::default(); self.half_len()] },
        }
    }

    /// The memory that this plan's transforms need.
    pub fn scratch(&self) -> Scratch {
        Scratch {
            lanes: vec![0.0; self.lanes.as_ref().map_or(0, LanePlan::scratch_len)],
            full: vec![Complex32::default(); if self.lanes.is_some() { self.rows * self.cols } else { 0 }],
            plane: vec![Complex32::default(); self.plane.scratch_len()],
        }
    }

    /// Replaces a map by its unnormalised spectrum.
    pub fn transform(&self, map: &mut FeatureMap, scratch: &mut Scratch) {
        match (map, &self.lanes) {
            (FeatureMap::Lanes(map), Some(plan)) => plan.forward(map, &mut scratch.lanes),
            (FeatureMap::Plane { map, spectrum }, _) => self.plane.forward(map, spectrum, &mut scratch.plane),
            _ => unreachable!("the map was made by this plan"),
        }
    }

    /// The half-spectrum of the sum over channels of the cross-correlations of two maps,
    /// `sum_c z_c ⊙ conj(x_c)`, to `out`; both maps transformed.
    pub fn cross_power(&self, z: &FeatureMap, x: &FeatureMap, out: &mut [Complex32], scratch: &mut Scratch) {
        match (z, x) {
            (FeatureMap::Lanes(z), FeatureMap::Lanes(x)) => {
                cross_power(z, x, &mut scratch.full);
                fold(&scratch.full, self.rows, self.cols, out);
            }
            (FeatureMap::Plane { spectrum: z, .. }, FeatureMap::Plane { spectrum: x, .. }) => {
                z.iter().zip(x).zip(out).for_each(|((z, x), out)| *out = z * x.conj());
            }
            _ => unreachable!("both maps were made by this plan"),
        }
    }

    /// The sum of squares of all values of a transformed map, in the map's own domain (Parseval).
    pub fn energy(&self, x: &FeatureMap) -> f32 {
        let n = (self.rows * self.cols) as f64;
        let sum = match x {
            FeatureMap::Lanes(x) => {
                x.chunks(4096).map(|c| f64::from(c.iter().map(|v| v * v).sum::<f32>())).sum::<f64>()
            }
            FeatureMap::Plane { spectrum, .. } => {
                let half = self.plane.half_cols();
                let row_sum = |row: &[Complex32]| -> f64 {
                    // Every column but the first and, at an even width, the last stands for its mirror image too.
                    let twice = &row[1..(self.cols.div_ceil(2)).max(1)];
                    let once = &row[(self.cols.div_ceil(2)).max(1)..];
                    let sum = |part: &[Complex32]| part.iter().map(|v| f64::from(v.norm_sqr())).sum::<f64>();
                    f64::from(row[0].norm_sqr()) + 2.0 * sum(twice) + sum(once)
                };
                spectrum.chunks(half).map(row_sum).sum()
            }
        };
        (sum / n) as f32
    }

    /// The half-spectrum of a real plane `[row][column]`, which is used up.
    pub fn forward(&self, plane: &mut [f32], out: &mut [Complex32], scratch: &mut Scratch) {
        self.plane.forward(plane, out, &mut scratch.plane);
    }

    /// The real plane of a half-spectrum, which is used up; `inverse(forward(x)) = x`.
    pub fn inverse(&self, spectrum: &mut [Complex32], out: &mut [f32], scratch: &mut Scratch) {
        self.plane.inverse(spectrum, out, &mut scratch.plane);
    }
}

/// placeholder
fn cross_power(z: &[f32], x: &[f32], out: &mut [Complex32]) {
    for ((z, x), out) in z.as_chunks::<32>().0.iter().zip(x.as_chunks::<32>().0).zip(out) {
        let (mut re, mut im) = (0.0, 0.0);
        for k in 0..16 {
            re += z[k] * x[k] + z[k + 16] * x[k + 16];
            im += z[k + 16] * x[k] - z[k] * x[k + 16];
        }
        *out = Complex32::new(re, im);
    }
}

/// placeholder
fn fold(full: &[Complex32], rows: usize, cols: usize, half: &mut [Complex32]) {
    let hc = cols / 2 + 1;
    for r in 0..rows {
        let m = (rows - r) % rows;
        for c in 0..hc {
            let k = (cols - c) % cols;
            half[r * hc + c] = (full[r * cols + c] + full[m * cols + k].conj()) * 0.5;
        }
    }
}
