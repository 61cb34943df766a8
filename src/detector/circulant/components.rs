//! Kernel principal components of cyclic shifts, and the novelty of every shift of another patch.
//!
//! The components of *all* shifts, equally weighted, are the Fourier modes with variances `k̂^xx / n`; the
//! projections of `z` are `k̂^zx`, whose magnitudes do not change when `z` is shifted. A subspace that all shifts lie in alike has the same
//! distance to all of them: it says what `z` is, and nothing of where. For a detector the shifts must count by how much they are the target: here
//! those next to zero, weighted by the regression target. A component is then a plane of few coefficients, and the
//! projections of all shifts of `z` on it are one product of spectra.

use nalgebra::{SMatrix, SVector, SymmetricEigen};

use super::plane;
use crate::spectrum::{MapPlan, Scratch};
use rustfft::num_complex::Complex32;

/// Shifts to each side of zero that are samples of the target.
pub(super) const REACH: usize = 1;
const SIDE: usize = 2 * REACH + 1;
const SAMPLES: usize = SIDE * SIDE;
/// The largest number of components. Each takes in a displacement, which is what a detector has to tell apart: more of them blur the peak.
pub(super) const RANK: usize = 1;
/// Components of less variance, relative to the first, are rounding.
const RANK_TOLERANCE: f64 = 1e-6;

type Gram = SMatrix<f64, SAMPLES, SAMPLES>;

#[derive(Clone, Debug)]
pub(in crate::detector) struct Components {
    /// Where the samples' shifts stand in a plane.
    places: [usize; SAMPLES],
    weights: SVector<f64, SAMPLES>,
    /// Half-spectra of the coefficients of the mean and of each component, and the components' constants.
    mean: Vec<Complex32>,
    components: [Vec<Complex32>; RANK],
    offsets: [f32; RANK],
    rank: usize,
    /// `‖mean‖²` in feature space.
    norm: f32,
    plane: Vec<f32>,
    spectrum: Vec<Complex32>,
}

impl Components {
    /// `target` is the regression target, its peak at no shift.
    pub(super) fn new(plan: &MapPlan, target: &[f32], scratch: &mut Scratch) -> Self {
        let (rows, cols) = plan.size();
        let wrapped = |offset: usize, length: usize| (offset + length * REACH - REACH) % length;
        let places = std::array::from_fn(|i| wrapped(i / SIDE, rows) * cols + wrapped(i % SIDE, cols));
        let weights: SVector<f64, SAMPLES> =
            SVector::from_iterator(places.iter().map(|&at: &usize| f64::from(target[at].max(0.0))));
        let weights = weights / weights.sum().max(f64::MIN_POSITIVE);
        let empty = vec![Complex32::default(); plan.half_len()];
        let mut components = Self {
            places,
            weights,
            mean: empty.clone(),
            components: [(); RANK].map(|()| empty.clone()),
            offsets: [0.0; RANK],
            rank: 0,
            norm: 0.0,
            plane: vec![0.0; rows * cols],
            spectrum: empty,
        };
        components.place(&weights);
        plan.forward(&components.plane, &mut components.mean, scratch);
        components
    }

    /// Writes one number per sample to the plane. Where the shifts of two samples are the same, as in a map of one row, they add up.
    fn place(&mut self, values: &SVector<f64, SAMPLES>) {
        self.plane.fill(0.0);
        for (&at, value) in self.places.iter().zip(values) {
            self.plane[at] += *value as f32;
        }
    }

    /// The components for a patch whose kernel correlation with itself is `kernel`.
    pub(in crate::detector) fn learn(&mut self, plan: &MapPlan, kernel: &[Complex32], scratch: &mut Scratch) {
        plane(plan, kernel, &mut self.plane, scratch);
        let (rows, cols) = plan.size();
        let gram = Gram::from_fn(|i, j| {
            let (a, b) = (self.places[i], self.places[j]);
            let (r, c) = ((a / cols + rows - b / cols) % rows, (a % cols + cols - b % cols) % cols);
            // The kernel is symmetric; rounding is not.
            let mirrored = (rows - r) % rows * cols + (cols - c) % cols;
            0.5 * (f64::from(self.plane[r * cols + c]) + f64::from(self.plane[mirrored]))
        });
        let mean = gram * self.weights;
        let norm = self.weights.dot(&mean);
        self.norm = norm as f32;
        self.rank = 0;
        let roots = self.weights.map(f64::sqrt);
        let scatter = Gram::from_fn(|i, j| roots[i] * (gram[(i, j)] - mean[i] - mean[j] + norm) * roots[j]);
        if scatter.iter().any(|v| !v.is_finite()) {
            return;
        }
        let Some(eigen) = SymmetricEigen::try_new(scatter, f64::EPSILON, 1000) else { return };
        let mut order: [usize; SAMPLES] = std::array::from_fn(|i| i);
        order.sort_unstable_by(|&a, &b| eigen.eigenvalues[b].total_cmp(&eigen.eigenvalues[a]));
        let least = eigen.eigenvalues[order[0]].max(f64::MIN_POSITIVE) * RANK_TOLERANCE;
        for at in order.into_iter().take(RANK).take_while(|&at| eigen.eigenvalues[at] > least) {
            let direction = roots.component_mul(&eigen.eigenvectors.column(at)) / eigen.eigenvalues[at].sqrt();
            // Centring, folded into the coefficients: projections are then of raw kernel values.
            let folded = direction - self.weights * direction.sum();
            self.offsets[self.rank] = -folded.dot(&mean) as f32;
            self.place(&folded);
            plan.forward(&self.plane, &mut self.components[self.rank], scratch);
            self.rank += 1;
        }
    }

    /// How much every shift of a patch `z` is like the target: 1 without any novelty, 0 for what has nothing in common with it.
    /// `kernel` is the kernel correlation with the model, `own` is `k(z, z)`.
    ///
    /// The novelty is `‖φ(z) - mean‖²` less the squares of the projections (Hoffmann, "Kernel PCA for novelty detection", 2007).
    pub(in crate::detector) fn respond(
        &mut self,
        plan: &MapPlan,
        kernel: &[Complex32],
        own: f32,
        response: &mut [f32],
        scratch: &mut Scratch,
    ) {
        let farthest = own + self.norm;
        let gain = if farthest.is_normal() { 1.0 / farthest } else { 0.0 };
        self.filtered(plan, kernel, None, scratch);
        for (score, mean) in response.iter_mut().zip(&self.plane) {
            *score = 2.0 * gain * mean;
        }
        for r in 0..self.rank {
            self.filtered(plan, kernel, Some(r), scratch);
            for (score, value) in response.iter_mut().zip(&self.plane) {
                let projection = value + self.offsets[r];
                *score += gain * projection * projection;
            }
        }
    }

    /// The sum of the kernel values by the coefficients of a component, or of the mean, at every shift, to the plane.
    fn filtered(&mut self, plan: &MapPlan, kernel: &[Complex32], component: Option<usize>, scratch: &mut Scratch) {
        let coefficients = component.map_or(&self.mean, |r| &self.components[r]);
        for ((out, k), a) in self.spectrum.iter_mut().zip(kernel).zip(coefficients) {
            *out = k * a;
        }
        plane(plan, &self.spectrum, &mut self.plane, scratch);
    }
}
