//! Feature maps and their spectra, of many channels or of one.
//!
//! Sums over channels are all that a correlation filter needs, and they are cheap in either layout:
//! - many channels ([`LanePlan`]): the 32 floats of a cell are read as 16 complex numbers, real parts first. One
//!   complex transform of 16 lanes then carries 32 real channels, and `Re F^-1(sum_k Z_k conj X_k)` is the sum of the
//!   cross-correlations of all of them (the cross terms of a pair are purely imaginary); more channels are more such
//!   maps, block after block;
//! - one channel ([`PlanePlan`]): a real transform and its half-spectrum.

use rustfft::num_complex::Complex32;

use super::cross::{add_cross_power, cross_power, fold};
use super::ramp::ramp;
use super::{AlignedBuf, CHANNELS, LanePlan, Layout, PlanePlan};
use crate::simd::leveled;

/// Memory that transforms work in; made once by [`MapPlan::scratch`].
#[derive(Clone, Debug)]
pub struct Scratch {
    work: AlignedBuf,
    full: Vec<Complex32>,
    /// Factors that displace a spectrum, one for each row and then one for each column.
    ramps: Vec<Complex32>,
}

/// A feature map, or its spectrum after [`MapPlan::transform`].
#[derive(Clone, Debug)]
pub enum FeatureMap {
    /// `[block][row][column][32]`, each block transformed in place as 16 complex lanes.
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
    /// The memory to write features to, before a transform.
    pub fn values_mut(&mut self) -> &mut [f32] {
        match self {
            Self::Lanes(map) | Self::Plane { map, .. } => map,
        }
    }
}

/// Transforms of maps of one size and layout, and of single planes of that size.
#[derive(Clone, Debug)]
pub struct MapPlan {
    rows: usize,
    cols: usize,
    layout: Layout,
    lanes: Option<LanePlan>,
    plane: PlanePlan,
}

impl MapPlan {
    /// For maps of `rows` x `cols` cells of so many channels: one, or any number of them in blocks of 32 floats a cell.
    pub fn new(rows: usize, cols: usize, layout: impl Into<Layout>) -> Self {
        let layout = layout.into();
        let lanes = (layout.blocks() > 0).then(|| LanePlan::new(rows, cols));
        Self { rows, cols, layout, lanes, plane: PlanePlan::new(rows, cols) }
    }

    /// Channels and how they are laid out.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Rows and columns of cells.
    pub fn size(&self) -> (usize, usize) {
        (self.rows, self.cols)
    }

    /// Numbers in a half-spectrum: `rows * (cols / 2 + 1)`.
    pub fn half_len(&self) -> usize {
        self.plane.half_len()
    }

    /// An empty map of this plan's layout.
    pub fn map(&self) -> FeatureMap {
        let cells = self.rows * self.cols;
        match self.lanes {
            Some(_) => FeatureMap::Lanes(AlignedBuf::zeroed(cells * self.layout.floats())),
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
            ramps: vec![Complex32::default(); self.rows + self.cols],
        }
    }

    /// Replaces a map by its unnormalised spectrum.
    pub fn transform(&self, map: &mut FeatureMap, scratch: &mut Scratch) {
        match (map, &self.lanes) {
            (FeatureMap::Lanes(map), Some(plan)) => {
                for block in map.chunks_exact_mut(self.block_len()) {
                    plan.forward(block, &mut scratch.work[..plan.scratch_len()]);
                }
            }
            (FeatureMap::Plane { map, spectrum }, _) => self.forward(map, spectrum, scratch),
            _ => unreachable!("the map was made by this plan"),
        }
    }

    /// The half-spectrum of the sum over channels of the cross-correlations of two maps,
    /// `sum_c z_c ⊙ conj(x_c)`, to `out`; both maps transformed. Returns the energy of `z`: the sum of the squares of
    /// its values before the transform (Parseval).
    pub fn cross_power(&self, z: &FeatureMap, x: &FeatureMap, out: &mut [Complex32], scratch: &mut Scratch) -> f32 {
        match (z, x) {
            (FeatureMap::Lanes(z), FeatureMap::Lanes(x)) => {
                let mut blocks = z.chunks_exact(self.block_len()).zip(x.chunks_exact(self.block_len()));
                let mut energy = blocks.next().map_or(0.0, |(z, x)| cross_power(z, x, &mut scratch.full));
                for (z, x) in blocks {
                    energy += add_cross_power(z, x, &mut scratch.full);
                }
                fold(self.rows, self.cols, &scratch.full, out);
                self.per_cell(energy)
            }
            (FeatureMap::Plane { spectrum: z, .. }, FeatureMap::Plane { spectrum: x, .. }) => {
                z.iter().zip(x).zip(out).for_each(|((z, x), out)| *out = z * x.conj());
                self.half_energy(z)
            }
            _ => unreachable!("both maps were made by one plan"),
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
            _ => unreachable!("both maps were made by one plan"),
        }
    }

    /// As [`MapPlan::interpolate`], towards `x` displaced against `shift` (rows, columns; in cells, fractions welcome):
    /// what lies at `shift` in `x` comes to lie at no shift. By the shift theorem that is a factor
    /// `exp(2πi (u shift_rows / rows + v shift_cols / cols))`, whose frequencies are those nearest zero; at the
    /// highest one of an even length, its real part, so that maps stay real.
    pub fn interpolate_shifted(
        &self,
        model: &mut FeatureMap,
        x: &FeatureMap,
        rate: f32,
        shift: (f64, f64),
        scratch: &mut Scratch,
    ) -> f32 {
        let (row_ramp, col_ramp) = scratch.ramps.split_at_mut(self.rows);
        ramp(shift.0, row_ramp.len(), row_ramp);
        ramp(shift.1, col_ramp.len(), col_ramp);
        match (model, x) {
            (FeatureMap::Lanes(model), FeatureMap::Lanes(x)) => {
                let blocks = model.chunks_exact_mut(self.block_len()).zip(x.chunks_exact(self.block_len()));
                let energy =
                    blocks.map(|(model, x)| interpolate_shifted_lanes(model, x, rate, row_ramp, col_ramp)).sum();
                self.per_cell(energy)
            }
            (FeatureMap::Plane { spectrum: model, .. }, FeatureMap::Plane { spectrum: x, .. }) => {
                let half = self.plane.half_cols();
                for ((model, x), row) in model.chunks_exact_mut(half).zip(x.chunks_exact(half)).zip(row_ramp) {
                    for ((model, x), col) in model.iter_mut().zip(x).zip(&*col_ramp) {
                        *model = *model * (1.0 - rate) + x * (*row * col) * rate;
                    }
                }
                self.half_energy(model)
            }
            _ => unreachable!("both maps were made by one plan"),
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

    /// The value of [`MapPlan::inverse`], divided by `rows * cols`, at one place (row, column), which may lie between
    /// cells.
    pub fn inverse_at(&self, spectrum: &[Complex32], place: (f64, f64), scratch: &mut Scratch) -> f64 {
        let (row_ramp, col_ramp) = scratch.ramps.split_at_mut(self.rows);
        ramp(place.0, row_ramp.len(), row_ramp);
        ramp(place.1, col_ramp.len(), col_ramp);
        let mut sum = 0.0;
        for (line, row) in spectrum.chunks_exact(self.plane.half_cols()).zip(row_ramp) {
            for (c, (value, col)) in line.iter().zip(&*col_ramp).enumerate() {
                // All columns but the first and, at an even width, the last stand for their mirror image too.
                let times = if c == 0 || 2 * c == self.cols { 1.0 } else { 2.0 };
                sum += times * f64::from((value * *row * col).re);
            }
        }
        sum / (self.rows * self.cols) as f64
    }

    /// Floats of a block of lanes.
    fn block_len(&self) -> usize {
        (self.rows * self.cols * CHANNELS).max(1)
    }

    fn per_cell(&self, energy: f64) -> f32 {
        (energy / (self.rows * self.cols) as f64) as f32
    }

    /// The energy of a map from its half-spectrum: every column but the first and, at an even width, the last stands
    /// for its mirror image too.
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
        // Sums of a few thousand squares stay exact enough in single precision, all of them together in double.
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

leveled! {
    fn interpolate_shifted_lanes(
        model: &mut [f32],
        x: &[f32],
        rate: f32,
        row_ramp: &[Complex32],
        col_ramp: &[Complex32],
    ) -> f64 {
        const HALF: usize = CHANNELS / 2;
        let keep = 1.0 - rate;
        let mut energy = 0.0;
        let line = col_ramp.len() * CHANNELS;
        for ((model, x), row) in model.chunks_exact_mut(line).zip(x.chunks_exact(line)).zip(row_ramp) {
            let mut sums = [0.0f32; HALF];
            let cells = model.as_chunks_mut::<CHANNELS>().0.iter_mut().zip(x.as_chunks::<CHANNELS>().0);
            for ((model, x), col) in cells.zip(col_ramp) {
                let factor = *row * *col * rate;
                for k in 0..HALF {
                    let (re, im) = (x[k], x[HALF + k]);
                    let re_now = keep * model[k] + (factor.re * re - factor.im * im);
                    let im_now = keep * model[HALF + k] + (factor.re * im + factor.im * re);
                    (model[k], model[HALF + k]) = (re_now, im_now);
                    sums[k] += re_now * re_now + im_now * im_now;
                }
            }
            energy += f64::from(sums.iter().sum::<f32>());
        }
        energy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_place_of_an_inverse_is_that_of_all() {
        for (rows, cols) in [(5, 6), (4, 7), (6, 8), (1, 1)] {
            let plan = MapPlan::new(rows, cols, 1);
            let mut scratch = plan.scratch();
            let plane: Vec<f32> = (0..rows * cols).map(|i| (i * 7919 % 1013) as f32 / 1013.0).collect();
            let mut spectrum = vec![Complex32::default(); plan.half_len()];
            plan.forward(&plane, &mut spectrum, &mut scratch);
            for (i, expected) in plane.iter().enumerate() {
                let value = plan.inverse_at(&spectrum, ((i / cols) as f64, (i % cols) as f64), &mut scratch);
                assert!((value - f64::from(*expected)).abs() < 1e-5, "{rows}x{cols}: {value}, not {expected}");
            }
        }
    }

    #[test]
    fn a_shifted_spectrum_is_that_of_the_shifted_map() {
        for (rows, cols, channels) in [(5, 6, 31), (4, 7, 31), (5, 6, 1), (4, 7, 1), (4, 7, 43)] {
            let plan = MapPlan::new(rows, cols, channels);
            let (mut x, mut shifted, mut scratch) = (plan.map(), plan.map(), plan.scratch());
            let (cells, lanes) = (rows * cols, if channels > 1 { CHANNELS } else { 1 });
            for (dr, dc) in [(0usize, 0usize), (1, 2), (3, 0), (2, 5)] {
                for i in 0..x.values_mut().len() {
                    let (cell, lane) = (i / lanes % cells, i % lanes + i / (cells * lanes) * lanes);
                    let from = ((cell / cols + dr) % rows) * cols + (cell % cols + dc) % cols;
                    let value = |cell: usize| ((cell * 3 * lanes + lane) * 7919 % 1013) as f32 / 1013.0;
                    (x.values_mut()[i], shifted.values_mut()[i]) = (value(cell), value(from));
                }
                plan.transform(&mut x, &mut scratch);
                plan.transform(&mut shifted, &mut scratch);
                let (mut model, mut expected) = (plan.map(), plan.map());
                let expected_energy = plan.interpolate(&mut expected, &shifted, 1.0);
                let shift = (dr as f64, dc as f64);
                let energy = plan.interpolate_shifted(&mut model, &x, 1.0, shift, &mut scratch);
                assert!((energy / expected_energy - 1.0).abs() < 1e-4, "{rows}x{cols}x{channels}, {shift:?}");
                // Alike when they correlate as much as their energies allow.
                let mut cross = vec![Complex32::default(); plan.half_len()];
                let mut plane = vec![0.0; rows * cols];
                plan.cross_power(&model, &expected, &mut cross, &mut scratch);
                plan.inverse(&cross, &mut plane, &mut scratch);
                let product = plane[0] / (rows * cols) as f32;
                // At the highest frequency of an even length only whole shifts keep the energy, as these do.
                assert!((product / energy - 1.0).abs() < 1e-4, "{rows}x{cols}x{channels}, {shift:?}");
            }
        }
    }

    #[test]
    fn energies_and_interpolation_agree_with_the_maps() {
        for (rows, cols, channels) in [(5, 6, 31), (4, 7, 31), (5, 6, 1), (4, 7, 1), (3, 1, 1), (9, 8, 70)] {
            let plan = MapPlan::new(rows, cols, channels);
            let (mut a, mut b, mut scratch) = (plan.map(), plan.map(), plan.scratch());
            let (mut mixed, mut energy_a) = (0.0f64, 0.0f64);
            for i in 0..a.values_mut().len() {
                let (va, vb) = ((i * 7 % 13) as f32 - 5.0, (i * 5 % 11) as f32 * 0.25);
                (a.values_mut()[i], b.values_mut()[i]) = (va, vb);
                mixed += f64::from(0.75 * va + 0.25 * vb).powi(2);
                energy_a += f64::from(va * va);
            }
            plan.transform(&mut a, &mut scratch);
            plan.transform(&mut b, &mut scratch);
            let mut out = vec![Complex32::default(); plan.half_len()];
            let close = |got: f32, expected: f64| (f64::from(got) - expected).abs() < 1e-4 * expected;
            assert!(close(plan.cross_power(&a, &b, &mut out, &mut scratch), energy_a), "{rows}x{cols}x{channels}");
            assert!(close(plan.interpolate(&mut a, &b, 0.25), mixed), "{rows}x{cols}x{channels}");
        }
    }
    /// Over all channels and shifts, by the definition.
    #[test]
    fn cross_power_is_the_correlation_over_all_blocks() {
        for (rows, cols, channels) in [(4, 5, 31), (4, 5, 32), (4, 5, 33), (9, 8, 43), (3, 7, 90)] {
            let plan = MapPlan::new(rows, cols, channels);
            assert_eq!(plan.layout().blocks(), channels.div_ceil(CHANNELS));
            let (mut z, mut x, mut scratch) = (plan.map(), plan.map(), plan.scratch());
            let cells = rows * cols;
            let value = |cell: usize, c: usize, seed: usize| ((cell * 97 + c) * seed % 101) as f64 / 101.0 - 0.5;
            for (i, c) in (0..cells).flat_map(|i| (0..channels).map(move |c| (i, c))) {
                let at = (c / CHANNELS * cells + i) * CHANNELS + c % CHANNELS;
                (z.values_mut()[at], x.values_mut()[at]) = (value(i, c, 31) as f32, value(i, c, 57) as f32);
            }
            plan.transform(&mut z, &mut scratch);
            plan.transform(&mut x, &mut scratch);
            let (mut cross, mut plane) = (vec![Complex32::default(); plan.half_len()], vec![0.0; cells]);
            let energy = plan.cross_power(&z, &x, &mut cross, &mut scratch);
            plan.inverse(&cross, &mut plane, &mut scratch);
            for (shift, got) in plane.iter().enumerate() {
                let shifted = |i: usize| (i / cols + shift / cols) % rows * cols + (i % cols + shift % cols) % cols;
                let pairs = (0..cells).flat_map(|i| (0..channels).map(move |c| (i, c)));
                let expected: f64 = pairs.map(|(i, c)| value(shifted(i), c, 31) * value(i, c, 57)).sum();
                assert!((f64::from(*got) / cells as f64 - expected).abs() < 1e-3, "{channels}, {shift}: {expected}");
            }
            let pairs = (0..cells).flat_map(|i| (0..channels).map(move |c| (i, c)));
            let expected: f64 = pairs.map(|(i, c)| value(i, c, 31).powi(2)).sum();
            assert!((f64::from(energy) / expected - 1.0).abs() < 1e-4);
        }
    }
}
