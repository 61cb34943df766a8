//! The dense engine: the kernel between every window of a search map and every support, by FFT.
//!
//! Supports are real windows of the template's size, weighted by a soft mask `m`. For the window at offset `p` of the
//! map `Z`
//!
//! `‖m ∘ (s_j - z_p)‖² = n_j + E(p) - 2 X_j(p)`, `n_j = Σ m² s_j²`, `X_j = Σ m² s_j z_p`,
//! `E(p) = Σ m² z_p²`,
//!
//! where `X_j` and `E` are correlations of `m² s_j` with `Z` and of `m²` with `Σ_c Z_c²`. The map is at least as
//! large as what it is correlated with and only offsets of windows that lie in it are read: nothing wraps around, the
//! values are those of real windows.

use rustfft::num_complex::Complex32;

use crate::fft::{AlignedBuf, CHANNELS, Cell, ChannelPlan, LANES, PlanePlan, SupportSpectra};
use crate::kernels::{Kernel, exp_negative};
use crate::machines::Head;
use crate::simd::{leveled, tree_sum};

/// What a [`DenseKernel`] is made for.
#[derive(Clone, Copy, Debug)]
pub struct DenseSettings {
    /// The kernel.
    pub kernel: Kernel,
    /// Rows and columns of cells of a search map.
    pub size: (usize, usize),
    /// Rows and columns of cells of a template.
    pub template: (usize, usize),
    /// Channels of a cell, at most 31.
    pub channels: usize,
    /// Feature values of a cell that the kernel's width refers to: more than `channels` where they are projections.
    pub features: usize,
    /// Supports, rounded up to whole vectors.
    pub slots: usize,
}

/// Kernel maps of a bank of supports over all windows of a search map.
#[derive(Clone, Debug)]
pub struct DenseKernel {
    kernel: Kernel,
    /// 1 / D: D is the number of feature values that a masked window counts for.
    per_feature: f32,
    pub(super) size: (usize, usize),
    template: (usize, usize),
    /// The squared mask, `[row][column]` of the template.
    weights: Vec<f32>,
    plan: ChannelPlan,
    plane: PlanePlan,
    work: AlignedBuf,
    map: AlignedBuf,
    /// The spectra of the search map's channels.
    spectra: AlignedBuf,
    supports: SupportSpectra,
    norms: Vec<f32>,
    energy: Vec<f32>,
    energy_half: Vec<Complex32>,
    mask_half: Vec<Complex32>,
    /// For each 32 supports a map of correlations, then of kernel values: `[row][column][32]`.
    pub(super) maps: Vec<AlignedBuf>,
}

leveled! {
    /// Correlations to kernel values in place, for the windows at the first `width` columns of each row.
    avx2 fn kernel_rows(
        kernel: Kernel,
        map: &mut [Cell],
        energy: &[f32],
        cols: usize,
        width: usize,
        norms: &Cell,
        per_feature: f32,
        normalise: f32,
    ) {
        for (row, energy) in map.chunks_exact_mut(cols).zip(energy.chunks_exact(cols)) {
            for (cell, &e) in row.iter_mut().zip(energy).take(width) {
                match kernel {
                    Kernel::Gaussian { sigma } => {
                        let scale = per_feature * (1.0 / (sigma * sigma)) as f32;
                        for l in 0..CHANNELS {
                            let distance = norms[l] + e - 2.0 * (cell[l] * normalise);
                            let distance = if distance > 0.0 { distance } else { 0.0 };
                            cell[l] = exp_negative(-(distance * scale));
                        }
                    }
                    _ => {
                        for l in 0..CHANNELS {
                            cell[l] = kernel.eval(cell[l] * normalise, norms[l], e, per_feature);
                        }
                    }
                }
            }
        }
    }
}

leveled! {
    /// Adds `αᵀκ` of 32 supports to `out`, `[row][column]` of the windows.
    avx2 fn add_affine(map: &[Cell], cols: usize, width: usize, alpha: &Cell, out: &mut [f32]) {
        for (row, out) in map.chunks_exact(cols).zip(out.chunks_exact_mut(width)) {
            for (cell, out) in row.iter().zip(out) {
                *out += dot(cell, alpha);
            }
        }
    }
}

/// The inner product of two cells, as a tree of fixed order.
#[inline(always)]
fn dot(a: &Cell, b: &Cell) -> f32 {
    tree_sum::<LANES>(std::array::from_fn(|l| a[l] * b[l] + a[LANES + l] * b[LANES + l]))
}

/// A fitted head, its coefficients at the places of the supports.
#[derive(Clone, Debug, Default)]
pub struct DenseHead {
    alpha: Vec<f32>,
    bias: f32,
    own: f32,
    /// `[direction][slot]`.
    directions: Vec<Vec<f32>>,
    offsets: Vec<f32>,
    factors: Vec<f32>,
}

impl DenseHead {
    /// `head`, fitted to the supports in `places`, for a bank of `slots` places.
    pub fn new(head: &Head, places: &[usize], slots: usize) -> Self {
        let spread = |values: &mut dyn Iterator<Item = f64>| {
            let mut out = vec![0.0; slots];
            places.iter().zip(values).for_each(|(&slot, value)| out[slot] = value as f32);
            out
        };
        let affine = head.linear();
        let mut dense =
            Self { alpha: spread(&mut affine.alpha.iter().copied()), bias: affine.bias as f32, ..Self::default() };
        if let Head::Subspace(subspace) = head {
            dense.own = subspace.own as f32;
            dense.directions =
                subspace.directions.columns().into_iter().map(|d| spread(&mut d.iter().copied())).collect();
            dense.offsets = subspace.offsets.iter().map(|&v| v as f32).collect();
            dense.factors = subspace.factors.iter().map(|&v| v as f32).collect();
        }
        dense
    }
}

impl DenseKernel {
    /// Maps under the soft `mask` (`[row][column]` of the template).
    ///
    /// # Panics
    /// When a template is larger than the search map, the mask has another size than the template, or there are more
    /// than 31 channels.
    pub fn new(settings: &DenseSettings, mask: &[f32]) -> Self {
        let DenseSettings { kernel, size, template, channels, features, slots } = *settings;
        assert!(template.0 <= size.0 && template.1 <= size.1, "a template lies in the search map");
        assert!(mask.len() == template.0 * template.1 && channels < CHANNELS);
        let (rows, cols) = size;
        let (plan, plane) = (ChannelPlan::new(rows, cols), PlanePlan::new(rows, cols));
        let supports = SupportSpectra::new(&plan, channels, slots);
        let slots = supports.slots();
        let half = plan.frequencies();
        let weights: Vec<f32> = mask.iter().map(|m| m * m).collect();
        let total: f64 = weights.iter().map(|&w| f64::from(w)).sum();
        let mut work = AlignedBuf::zeroed(plan.scratch_len().max(plane.scratch_len()));
        let mut padded = vec![0.0; rows * cols];
        for (row, weights) in padded.chunks_exact_mut(cols).zip(weights.chunks_exact(template.1)) {
            row[..template.1].copy_from_slice(weights);
        }
        let mut mask_half = vec![Complex32::default(); half];
        plane.forward(&padded, &mut mask_half, &mut work);
        Self {
            kernel,
            per_feature: (1.0 / (total * features as f64)) as f32,
            size,
            template,
            weights,
            map: AlignedBuf::zeroed(plan.map_len()),
            spectra: AlignedBuf::zeroed(plan.spectra_len()),
            supports,
            norms: vec![0.0; slots],
            energy: padded,
            energy_half: vec![Complex32::default(); half],
            mask_half,
            maps: vec![AlignedBuf::zeroed(plan.map_len()); slots / CHANNELS],
            work,
            plan,
            plane,
        }
    }

    /// Rows and columns of the windows of a search map: `size - template + 1`.
    pub fn windows(&self) -> (usize, usize) {
        (self.size.0 - self.template.0 + 1, self.size.1 - self.template.1 + 1)
    }

    /// Places for supports.
    pub fn slots(&self) -> usize {
        self.supports.slots()
    }

    /// What [`Kernel`] calls `1 / D`.
    pub fn per_feature(&self) -> f32 {
        self.per_feature
    }

    /// Floats a cell of a support holds: 16 up to 16 channels, else 32.
    pub fn stride(&self) -> usize {
        if self.supports.in_pairs() { LANES } else { CHANNELS }
    }

    /// Stores one or two supports, each as (slot, samples, masked squared norm). Samples are `[row][column][stride]` of
    /// the template; up to 16 channels, two supports cost as much as one.
    pub fn set(&mut self, first: (usize, &[f32], f32), second: Option<(usize, &[f32], f32)>) {
        let cols = self.size.1;
        let stride = self.stride();
        if let Some(second) = second.filter(|_| stride == CHANNELS) {
            self.set(first, None);
            return self.set(second, None);
        }
        let (t_rows, t_cols) = self.template;
        let cells: &mut [Cell] = self.map.as_chunks_mut().0;
        cells.fill([0.0; CHANNELS]);
        for (at, (_, sample, _)) in [Some(first), second].into_iter().flatten().enumerate() {
            let sample = &sample[..t_rows * t_cols * stride];
            for (i, (from, weight)) in sample.chunks_exact(stride).zip(&self.weights).enumerate() {
                let cell = &mut cells[i / t_cols * cols + i % t_cols][at * LANES..][..stride];
                cell.iter_mut().zip(from).for_each(|(to, v)| *to = v * weight);
            }
        }
        let slots = [Some(first.0), second.map(|(slot, ..)| slot)];
        self.supports.put(slots, &mut self.map, t_rows, &mut self.work);
        for (slot, _, norm) in [Some(first), second].into_iter().flatten() {
            self.norms[slot] = norm;
        }
    }

    /// Computes the kernel maps of the search map `z`, `[row][column][stride]`. Only groups of 32 slots that `used`
    /// accepts are computed.
    pub fn search(&mut self, z: &[f32], used: impl Fn(usize) -> bool) {
        let (rows, cols) = self.size;
        let stride = self.stride();
        assert_eq!(z.len(), rows * cols * stride);
        let cells: &mut [Cell] = self.map.as_chunks_mut().0;
        for ((cell, z), energy) in cells.iter_mut().zip(z.chunks_exact(stride)).zip(&mut self.energy) {
            cell[..stride].copy_from_slice(z);
            cell[stride..].fill(0.0);
            *energy = z.iter().map(|v| v * v).sum();
        }
        self.plan.forward(&mut self.map, &mut self.spectra, &mut self.work);
        let normalise = 1.0 / (rows * cols) as f32;
        self.plane.forward(&self.energy, &mut self.energy_half, &mut self.work);
        for (e, m) in self.energy_half.iter_mut().zip(&self.mask_half) {
            *e *= m.conj() * normalise;
        }
        self.plane.inverse(&self.energy_half, &mut self.energy, &mut self.work);
        let (height, width) = self.windows();
        for (pair, map) in self.maps.iter_mut().enumerate().filter(|(pair, _)| used(*pair)) {
            self.supports.correlate(&self.spectra, pair, map, height, &mut self.work);
            let norms = self.norms[pair * CHANNELS..].first_chunk().expect("whole cells of supports");
            kernel_rows(
                self.kernel,
                &mut map.as_chunks_mut().0[..height * cols],
                &self.energy,
                cols,
                width,
                norms,
                self.per_feature,
                normalise,
            );
        }
    }

    /// The decision of `head` for every window, `[row][column]`, to `out`.
    pub fn decide(&self, head: &DenseHead, out: &mut [f32], scratch: &mut [f32]) {
        let (height, width) = self.windows();
        let cols = self.size.1;
        out.fill(head.bias);
        let add = |coefficients: &[f32], out: &mut [f32]| {
            for (map, alpha) in self.maps.iter().zip(coefficients.as_chunks::<CHANNELS>().0) {
                if alpha.iter().any(|&a| a != 0.0) {
                    add_affine(&map.as_chunks().0[..height * cols], cols, width, alpha, out);
                }
            }
        };
        add(&head.alpha, out);
        if head.own != 0.0 {
            for (row, energy) in out.chunks_exact_mut(width).zip(self.energy.chunks_exact(cols)) {
                for (out, &e) in row.iter_mut().zip(energy) {
                    *out += head.own * self.kernel.eval(e, e, e, self.per_feature);
                }
            }
        }
        for ((direction, offset), factor) in head.directions.iter().zip(&head.offsets).zip(&head.factors) {
            let scratch = &mut scratch[..out.len()];
            scratch.fill(*offset);
            add(direction, scratch);
            out.iter_mut().zip(scratch).for_each(|(out, v)| *out += factor * *v * *v);
        }
    }
}
