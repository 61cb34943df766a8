//! Feature maps and their spectra, of up to 32 channels or of one.
//!
//! Correlation filters only need sums over channels, which are cheap in either layout:
//! - many channels ([`LanePlan`]): the 32 floats of a cell are 16 complex numbers, real parts first. One complex
//!   transform of 16 lanes carries 32 real channels, and `Re F^-1(sum_k Z_k conj X_k)` is the sum of their
//!   cross-correlations (the cross terms of a pair are purely imaginary);
//! - one channel ([`PlanePlan`]): a real transform and its half-spectrum.

use rustfft::num_complex::Complex32;

use super::line::{Cell, LANES};
use super::{AlignedBuf, CHANNELS, LanePlan, PlanePlan};
use crate::simd::leveled;

/// Writes the factors `exp(2πi k shift / n)` for the frequencies `k` nearest zero, which move a signal of `n` cells from
/// `shift` to 0. The highest frequency of an even length keeps the real part only, so maps stay real. `out` holds all
/// frequencies or the first half.
pub(crate) fn phase_shift(shift: f64, n: usize, out: &mut [Complex32]) {
    for (k, factor) in out.iter_mut().enumerate() {
        let frequency = if 2 * k > n { k as f64 - n as f64 } else { k as f64 };
        // libm gives the same bits on every system.
        let (sin, cos) = libm::sincos(std::f64::consts::TAU * frequency * shift / n as f64);
        *factor = Complex32::new(cos as f32, if 2 * k == n { 0.0 } else { sin as f32 });
    }
}

/// Cells whose lanes are summed together.
const BLOCK: usize = 64;

#[inline(always)]
fn pair_up<const FROM: usize, const TO: usize>(terms: &[f32; FROM], sums: &mut [f32; TO]) {
    for i in 0..TO {
        sums[i] = terms[2 * i] + terms[2 * i + 1];
    }
}

/// The sums of 16 numbers for each of 64 cells, as a tree of neighbours: a fixed order that is fast at any register
/// width.
#[inline(always)]
fn sum_lanes(terms: &[f32; LANES * BLOCK], sums: &mut [f32; BLOCK]) {
    let (mut eights, mut fours, mut twos) = ([0.0; 8 * BLOCK], [0.0; 4 * BLOCK], [0.0; 2 * BLOCK]);
    pair_up(terms, &mut eights);
    pair_up(&eights, &mut fours);
    pair_up(&fours, &mut twos);
    pair_up(&twos, sums);
}

/// The products of one cell, lane by lane, and its energy added to `energy`.
#[inline(always)]
fn products(x: &Cell, y: &Cell, re: &mut [f32; LANES], im: &mut [f32; LANES], energy: &mut [f32; LANES]) {
    for l in 0..LANES {
        let (xr, xi, yr, yi) = (x[l], x[LANES + l], y[l], y[LANES + l]);
        re[l] = xr * yr + xi * yi;
        im[l] = xi * yr - xr * yi;
        energy[l] += xr * xr + xi * xi;
    }
}

/// `Σ_k X_k conj Y_k` of at most 64 cells, written to `out`, and `Σ |X|²` of all of them.
#[inline(always)]
fn block(x: &[Cell], y: &[Cell], out: &mut [Complex32]) -> f32 {
    let (mut re, mut im, mut energy) = ([0.0; LANES * BLOCK], [0.0; LANES * BLOCK], [0.0; LANES]);
    let parts = re.as_chunks_mut().0.iter_mut().zip(im.as_chunks_mut().0);
    for ((x, y), (re, im)) in x.iter().zip(y).zip(parts) {
        products(x, y, re, im, &mut energy);
    }
    let mut sums = [[0.0; BLOCK]; 2];
    sum_lanes(&re, &mut sums[0]);
    sum_lanes(&im, &mut sums[1]);
    for (out, (&re, &im)) in out.iter_mut().zip(sums[0].iter().zip(&sums[1])) {
        *out = Complex32 { re, im };
    }
    let (mut eight, mut four) = ([0.0; 8], [0.0; 4]);
    pair_up(&energy, &mut eight);
    pair_up(&eight, &mut four);
    (four[0] + four[1]) + (four[2] + four[3])
}

leveled! {
    fn cross_cells(x: &[Cell], y: &[Cell], out: &mut [Complex32]) -> f64 {
        let mut energy = 0.0;
        for ((x, y), out) in x.chunks(BLOCK).zip(y.chunks(BLOCK)).zip(out.chunks_mut(BLOCK)) {
            energy += f64::from(block(x, y, out));
        }
        energy
    }
}

/// The cross-power spectrum summed over the lanes, `S = Σ_k X_k conj Y_k`, cell by cell, of two
/// [`LanePlan`] spectra.
///
/// The real part of the inverse transform of `S` is the cyclic cross-correlation of the maps, summed over all 32 real
/// channels; [`fold`] gives the half-spectrum of that real part.
///
/// Returns the energy `Σ |X|²` of `x`. By Parseval it is `rows * cols` times the sum of the squares of the map.
fn cross_power(x: &[f32], y: &[f32], out: &mut [Complex32]) -> f64 {
    assert_eq!(x.len(), y.len(), "the spectra must have one size");
    assert_eq!(x.len(), out.len() * CHANNELS, "the plane must have a value for each cell");
    cross_cells(x.as_chunks().0, y.as_chunks().0, out)
}

/// The half-spectrum of the real part of the signal whose full spectrum is `full`:
/// `H(u, v) = (S(u, v) + conj S(-u, -v)) / 2` for `v = 0..=cols/2`.
fn fold(rows: usize, cols: usize, full: &[Complex32], half: &mut [Complex32]) {
    assert_eq!(full.len(), rows * cols, "the full spectrum must have rows * cols values");
    if full.is_empty() {
        return;
    }
    let width = cols / 2 + 1;
    assert_eq!(half.len(), rows * width, "the half-spectrum must have rows * (cols/2 + 1) values");
    for (u, to) in half.chunks_exact_mut(width).enumerate() {
        let row = &full[u * cols..][..cols];
        let mirror = &full[(rows - u) % rows * cols..][..cols];
        to[0] = (row[0] + mirror[0].conj()) * 0.5;
        for ((to, s), m) in to[1..].iter_mut().zip(&row[1..]).zip(mirror.iter().rev()) {
            *to = (*s + m.conj()) * 0.5;
        }
    }
}

/// Working memory of the transforms; see [`MapPlan::scratch`].
#[derive(Clone, Debug)]
pub struct Scratch {
    work: AlignedBuf,
    full: Vec<Complex32>,
}

/// A feature map, or its spectrum after [`MapPlan::transform`].
#[derive(Clone, Debug)]
pub enum FeatureMap {
    /// `[row][column][32]`, transformed in place as 16 complex lanes.
    Lanes(AlignedBuf),
    /// One channel `[row][column]` and its half-spectrum `[row][column / 2 + 1]`.
    Plane {
        /// The map itself.
        map: AlignedBuf,
        /// Its half-spectrum.
        spectrum: Vec<Complex32>,
    },
}

impl FeatureMap {
    /// The values to write before a transform.
    pub fn values_mut(&mut self) -> &mut [f32] {
        match self {
            Self::Lanes(map) | Self::Plane { map, .. } => map,
        }
    }
}

/// Transforms of maps of one size, and of single planes of that size.
#[derive(Clone, Debug)]
pub struct MapPlan {
    rows: usize,
    cols: usize,
    lanes: Option<LanePlan>,
    plane: PlanePlan,
}

impl MapPlan {
    /// For maps of `rows` x `cols` cells.
    pub fn new(rows: usize, cols: usize, channels: usize) -> Self {
        assert!((1..=CHANNELS).contains(&channels), "a map has 1 to {CHANNELS} channels");
        let lanes = (channels > 1).then(|| LanePlan::new(rows, cols));
        Self { rows, cols, lanes, plane: PlanePlan::new(rows, cols) }
    }

    /// Rows and columns of cells.
    pub fn size(&self) -> (usize, usize) {
        (self.rows, self.cols)
    }

    /// Length of a half-spectrum: `rows * (cols / 2 + 1)`.
    pub fn half_len(&self) -> usize {
        self.plane.half_len()
    }

    /// An empty map.
    pub fn map(&self) -> FeatureMap {
        let cells = self.rows * self.cols;
        match self.lanes {
            Some(_) => FeatureMap::Lanes(AlignedBuf::zeroed(cells * CHANNELS)),
            None => FeatureMap::Plane {
                map: AlignedBuf::zeroed(cells),
                spectrum: vec![Complex32::default(); self.half_len()],
            },
        }
    }

    /// The memory that this plan's transforms need.
    pub fn scratch(&self) -> Scratch {
        let lanes = self.lanes.as_ref().map_or(0, LanePlan::scratch_len);
        let full = if self.lanes.is_some() { self.rows * self.cols } else { 0 };
        Scratch {
            work: AlignedBuf::zeroed(lanes.max(self.plane.scratch_len())),
            full: vec![Complex32::default(); full],
        }
    }

    /// Replaces a map by its unnormalised spectrum.
    pub fn transform(&self, map: &mut FeatureMap, scratch: &mut Scratch) {
        match (map, &self.lanes) {
            (FeatureMap::Lanes(map), Some(plan)) => {
                plan.forward(map, &mut scratch.work[..plan.scratch_len()]);
            }
            (FeatureMap::Plane { map, spectrum }, _) => self.forward(map, spectrum, scratch),
            _ => unreachable!("a map of this plan"),
        }
    }

    /// The half-spectrum of the sum over channels of the cross-correlations of two maps,
    /// `sum_c z_c ⊙ conj(x_c)`, to `out`; both maps transformed. Returns the energy of `z`: the sum of the squares of
    /// its values before the transform (Parseval).
    pub fn cross_power(&self, z: &FeatureMap, x: &FeatureMap, out: &mut [Complex32], scratch: &mut Scratch) -> f32 {
        match (z, x) {
            (FeatureMap::Lanes(z), FeatureMap::Lanes(x)) => {
                let energy = cross_power(z, x, &mut scratch.full);
                fold(self.rows, self.cols, &scratch.full, out);
                self.per_cell(energy)
            }
            (FeatureMap::Plane { spectrum: z, .. }, FeatureMap::Plane { spectrum: x, .. }) => {
                z.iter().zip(x).zip(out).for_each(|((z, x), out)| *out = z * x.conj());
                self.half_energy(z)
            }
            _ => unreachable!("maps of this plan"),
        }
    }

    /// Moves the spectrum `model` towards `x`, `(1 - rate) model + rate x`, and returns its new energy as
    /// [`MapPlan::cross_power`] does.
    pub fn interpolate(&self, model: &mut FeatureMap, x: &FeatureMap, rate: f32) -> f32 {
        match (model, x) {
            (FeatureMap::Lanes(model), FeatureMap::Lanes(x)) => self.per_cell(interpolate_lanes(model, x, rate)),
            (FeatureMap::Plane { spectrum: model, .. }, FeatureMap::Plane { spectrum: x, .. }) => {
                model.iter_mut().zip(x).for_each(|(model, x)| *model = *model * (1.0 - rate) + x * rate);
                self.half_energy(model)
            }
            _ => unreachable!("maps of this plan"),
        }
    }

    /// The half-spectrum of a real plane `[row][column]`.
    pub fn forward(&self, plane: &[f32], out: &mut [Complex32], scratch: &mut Scratch) {
        self.plane.forward(plane, out, &mut scratch.work[..self.plane.scratch_len()]);
    }

    /// The real plane of a half-spectrum; `inverse(forward(x)) = rows * cols * x`.
    pub fn inverse(&self, spectrum: &[Complex32], out: &mut [f32], scratch: &mut Scratch) {
        self.plane.inverse(spectrum, out, &mut scratch.work[..self.plane.scratch_len()]);
    }

    fn per_cell(&self, energy: f64) -> f32 {
        (energy / (self.rows * self.cols) as f64) as f32
    }

    /// The energy of a map from its half-spectrum.
    fn half_energy(&self, spectrum: &[Complex32]) -> f32 {
        let half = self.plane.half_cols();
        let single = |c: usize| c == 0 || 2 * c == self.cols;
        let row_energy = |row: &[Complex32]| -> f64 {
            let weighed =
                row.iter().enumerate().map(|(c, v)| if single(c) { v.norm_sqr() } else { 2.0 * v.norm_sqr() });
            f64::from(weighed.sum::<f32>())
        };
        self.per_cell(spectrum.chunks(half).map(row_energy).sum())
    }
}

leveled! {
    fn interpolate_lanes(model: &mut [f32], x: &[f32], rate: f32) -> f64 {
        let keep = 1.0 - rate;
        let mut energy = 0.0;
        // Single precision is exact enough for a few thousand squares; the total is double.
        for (model, x) in model.chunks_mut(64 * CHANNELS).zip(x.chunks(64 * CHANNELS)) {
            let mut sums = [0.0f32; CHANNELS];
            for (model, x) in model.as_chunks_mut::<CHANNELS>().0.iter_mut().zip(x.as_chunks::<CHANNELS>().0) {
                for k in 0..CHANNELS {
                    model[k] = keep * model[k] + rate * x[k];
                    sums[k] += model[k] * model[k];
                }
            }
            energy += f64::from(sums.iter().sum::<f32>());
        }
        energy
    }
}
