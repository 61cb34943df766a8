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

/// Sizes and kernel of a [`DenseKernel`].
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
    /// Spreads `head`, which was fitted to the supports in `places`, over a bank of `slots` places.
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
    /// Creates maps under the soft `mask` (`[row][column]` of the template).
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

    /// `1 / D` of [`Kernel`].
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

#[cfg(test)]
mod tests {
    //! The dense engine against brute force: every window cut out and compared with every support.

    use ndarray::{Array1, Array2};
    use rand::seq::SliceRandom;
    use rand::{RngExt, SeedableRng};
    use serde_json::{Value, json};

    use super::super::test_maps::{cells, masked_dot, noise};
    use super::*;
    use crate::machines::tests::vectors::{load, vector};
    use crate::machines::{Samples, from_name};
    use crate::simd::tests::assert_same_on_all_levels;

    const GAUSSIAN: Kernel = Kernel::Gaussian { sigma: 0.25 };
    const KERNELS: [Kernel; 3] = [GAUSSIAN, Kernel::Polynomial { a: 1.0, b: 3 }, Kernel::Linear];

    /// Sizes of a template and of a map: odd, even, prime, a single window, a single row.
    const SIZES: [[(usize, usize); 2]; 7] = [
        [(3, 3), (7, 8)],
        [(5, 4), (13, 11)],
        [(6, 9), (20, 27)],
        [(4, 3), (4, 3)],
        [(1, 2), (1, 9)],
        [(7, 5), (16, 31)],
        [(3, 8), (3, 17)],
    ];

    /// The kernel value of the support in `slot` with the window at `row`, `col`.
    fn value(dense: &DenseKernel, slot: usize, row: usize, col: usize) -> f32 {
        dense.maps[slot / CHANNELS][(row * dense.size.1 + col) * CHANNELS + slot % CHANNELS]
    }

    /// A search map and a bank of supports in random places, some of them windows of the map.
    struct Scene {
        settings: DenseSettings,
        mask: Vec<f32>,
        map: Vec<f32>,
        places: Vec<usize>,
        supports: Vec<Vec<f32>>,
    }

    impl Scene {
        fn new(settings: DenseSettings, supports: usize, seed: u64) -> Self {
            let DenseSettings { size, template, channels, .. } = settings;
            let mask: Vec<f32> = noise(template.0 * template.1, seed).iter().map(|v| 0.05 + 2.0 * v).collect();
            let stride = if channels <= 16 { 16 } else { 32 };
            let mut rng = rand_pcg::Pcg32::seed_from_u64(seed);
            let mut places: Vec<usize> = (0..settings.slots).collect();
            places.shuffle(&mut rng);
            places.truncate(supports);
            let mut scene = Self {
                mask,
                map: cells(size.0 * size.1, channels, stride, !seed),
                supports: Vec::new(),
                places,
                settings,
            };
            for i in 0..supports {
                let support = if i % 2 == 0 {
                    cells(template.0 * template.1, channels, stride, seed + 1000 + i as u64)
                } else {
                    // A window of the map, nearly: its distance is the difference of almost equal numbers.
                    let (row, col) =
                        (rng.random_range(0..=size.0 - template.0), rng.random_range(0..=size.1 - template.1));
                    let change = cells(template.0 * template.1, channels, stride, seed + i as u64);
                    scene.window(row, col).iter().zip(&change).map(|(v, c)| v + 0.01 * c).collect()
                };
                scene.supports.push(support);
            }
            scene
        }

        fn window(&self, row: usize, col: usize) -> Vec<f32> {
            let DenseSettings { size, template, .. } = self.settings;
            let stride = self.map.len() / (size.0 * size.1);
            let rows = (row..row + template.0).map(|r| &self.map[(r * size.1 + col) * stride..][..template.1 * stride]);
            rows.flatten().copied().collect()
        }

        fn squared_mask(&self) -> Vec<f32> {
            self.mask.iter().map(|m| m * m).collect()
        }

        /// The kernel of two windows by its definition.
        fn kernel(&self, a: &[f32], b: &[f32]) -> f64 {
            let weights = self.squared_mask();
            let d = weights.iter().map(|&w| f64::from(w)).sum::<f64>() * self.settings.features as f64;
            let dot = |a: &[f32], b: &[f32]| masked_dot(a, b, &weights);
            match self.settings.kernel {
                Kernel::Gaussian { sigma } => {
                    let apart: Vec<f32> = a.iter().zip(b).map(|(a, b)| a - b).collect();
                    (-dot(&apart, &apart) / (d * sigma * sigma)).exp()
                }
                Kernel::Polynomial { a: constant, b: degree } => (dot(a, b) / d + constant).powi(degree as i32),
                Kernel::Linear => dot(a, b) / d,
            }
        }

        fn set(&self, dense: &mut DenseKernel, which: &[usize]) {
            let weights = self.squared_mask();
            let of = |i: usize| {
                let support = &self.supports[i];
                (self.places[i], &support[..], masked_dot(support, support, &weights) as f32)
            };
            match *which {
                [a, b] => dense.set(of(a), Some(of(b))),
                ref all => all.iter().for_each(|&i| dense.set(of(i), None)),
            }
        }

        /// The engine with all supports set, two by two and one by one, and the map searched.
        fn searched(&self) -> DenseKernel {
            let mut dense = DenseKernel::new(&self.settings, &self.mask);
            let all: Vec<usize> = (0..self.supports.len()).collect();
            let (pairs, singles) = all.split_at(all.len() / 2);
            pairs.chunks(2).chain(singles.chunks(1)).for_each(|which| self.set(&mut dense, which));
            dense.search(&self.map, |_| true);
            dense
        }

        fn windows(&self, dense: &DenseKernel) -> impl Iterator<Item = (usize, usize)> + use<> {
            let (height, width) = dense.windows();
            (0..height).flat_map(move |row| (0..width).map(move |col| (row, col)))
        }

        /// Largest difference from brute force over the largest value.
        fn error(&self, dense: &DenseKernel) -> f64 {
            let (mut worst, mut largest) = (0.0f64, 0.0f64);
            for (row, col) in self.windows(dense) {
                let window = self.window(row, col);
                for (support, &place) in self.supports.iter().zip(&self.places) {
                    let expected = self.kernel(support, &window);
                    let got = f64::from(value(dense, place, row, col));
                    assert!(got.is_finite());
                    worst = worst.max((got - expected).abs());
                    largest = largest.max(expected.abs());
                }
            }
            worst / largest
        }

        fn gram(&self) -> Array2<f64> {
            let n = self.supports.len();
            Array2::from_shape_fn((n, n), |(i, j)| self.kernel(&self.supports[i], &self.supports[j]))
        }

        /// The decisions of `head` for all windows, from brute-force kernel values.
        fn decisions(&self, dense: &DenseKernel, head: &Head) -> Array1<f64> {
            let windows: Vec<Vec<f32>> = self.windows(dense).map(|(row, col)| self.window(row, col)).collect();
            let cross = Array2::from_shape_fn((windows.len(), self.supports.len()), |(i, j)| {
                self.kernel(&windows[i], &self.supports[j])
            });
            let own: Array1<f64> = windows.iter().map(|window| self.kernel(window, window)).collect();
            head.decision(cross.view(), own.view()).unwrap()
        }

        /// The dense map of `head`.
        fn decide(&self, dense: &DenseKernel, head: &Head) -> Vec<f32> {
            let head = DenseHead::new(head, &self.places, dense.slots());
            let count = dense.windows().0 * dense.windows().1;
            let (mut out, mut scratch) = (vec![f32::NAN; count], vec![f32::NAN; count]);
            dense.decide(&head, &mut out, &mut scratch);
            out
        }
    }

    fn settings(kernel: Kernel, [template, size]: [(usize, usize); 2], channels: usize) -> DenseSettings {
        DenseSettings { kernel, size, template, channels, features: channels, slots: 45 }
    }

    #[test]
    fn kernel_maps_are_those_of_cut_out_windows() {
        for (i, sizes) in SIZES.into_iter().enumerate() {
            for (j, channels) in [1, 2, 8, 15, 16, 31].into_iter().enumerate() {
                for kernel in KERNELS {
                    // More than 32 supports take two vectors of maps; now and then there is a single support.
                    let supports = [38, 1, 17][(i + j) % 3];
                    let scene = Scene::new(settings(kernel, sizes, channels), supports, (10 * i + j) as u64);
                    let error = scene.error(&scene.searched());
                    assert!(error < 1e-4, "{sizes:?}, {channels} channels, {kernel:?}: {error:e}");
                }
            }
        }
    }

    /// A kernel's width refers to more feature values than there are channels, as with projections.
    #[test]
    fn the_number_of_features_scales_the_distances() {
        let few = settings(GAUSSIAN, SIZES[1], 8);
        let scene = Scene::new(DenseSettings { features: 31, ..few }, 5, 3);
        let dense = scene.searched();
        assert!(scene.error(&dense) < 1e-4);
        let weights: f64 = scene.squared_mask().iter().map(|&w| f64::from(w)).sum();
        assert!((f64::from(dense.per_feature()) * weights * 31.0 - 1.0).abs() < 1e-6);
    }

    #[test]
    fn heads_of_all_machines_decide_as_on_cut_out_windows() {
        let one_class = json!({ "two-class": false });
        for (number, (name, params)) in [
            ("krr", Value::Null),
            ("svm", Value::Null),
            ("klda", Value::Null),
            ("kpca", Value::Null),
            ("kpca", one_class),
            ("slem", Value::Null),
            ("kdspe", Value::Null),
        ]
        .into_iter()
        .enumerate()
        {
            for (kernel, channels) in [(GAUSSIAN, 8), (GAUSSIAN, 31), (KERNELS[1], 12)] {
                let scene = Scene::new(settings(kernel, SIZES[2], channels), 40, number as u64);
                let labels: Vec<f64> = (0..40).map(|i| if i < 12 { 1.0 } else { -1.0 }).collect();
                let weights: Vec<f64> = (0..40).map(|i| 0.5 + f64::from(i % 7) / 4.0).collect();
                let samples = Samples::new(scene.gram().view(), &labels).unwrap().with_weights(&weights).unwrap();
                let head = from_name(name, &params).unwrap().fit(&samples).unwrap();
                let dense = scene.searched();
                let expected = scene.decisions(&dense, &head);
                let got = scene.decide(&dense, &head);
                let largest = expected.iter().fold(0.0f64, |most, v| most.max(v.abs()));
                let error =
                    got.iter().zip(&expected).map(|(got, v)| (f64::from(*got) - v).abs()).fold(0.0, f64::max) / largest;
                assert!(error < 1e-4, "{name} {params}, {kernel:?}, {channels} channels: {error:e} of {largest}");
                // The decisions are not all alike.
                let (low, high) = expected.iter().fold((f64::MAX, f64::MIN), |(l, h), &v| (l.min(v), h.max(v)));
                assert!(high - low > 0.1 * largest, "{name}: {low} to {high}");
            }
        }
    }

    #[test]
    fn a_support_that_is_replaced_changes_its_map_and_no_other() {
        for channels in [8, 31] {
            let mut scene = Scene::new(settings(GAUSSIAN, SIZES[1], channels), 36, 5);
            let mut dense = scene.searched();
            let before = dense.clone();
            let changed = 30;
            scene.supports[changed] = scene.supports[3].iter().map(|v| 0.4 - v).collect();
            let stride = scene.map.len() / (13 * 11);
            scene.supports[changed].chunks_exact_mut(stride).for_each(|cell| cell[channels..].fill(0.0));
            scene.set(&mut dense, &[changed]);
            dense.search(&scene.map, |_| true);
            assert!(scene.error(&dense) < 1e-4);
            for (i, &place) in scene.places.iter().enumerate() {
                let change = |(row, col)| (value(&dense, place, row, col) - value(&before, place, row, col)).abs();
                let most = scene.windows(&dense).map(change).fold(0.0, f32::max);
                // Two maps share a complex transform, and with it the last bits.
                assert!(if i == changed { most > 0.01 } else { most < 1e-6 }, "support {i}: {most}");
            }
        }
    }

    #[test]
    fn maps_that_are_not_asked_for_are_left_alone() {
        let scene = Scene::new(settings(GAUSSIAN, SIZES[0], 4), 40, 6);
        let mut dense = scene.searched();
        let before = dense.clone();
        let other: Vec<f32> = scene.map.iter().map(|v| v * 0.5).collect();
        dense.search(&other, |pair| pair == 1);
        for &place in &scene.places {
            assert_eq!(value(&dense, place, 1, 2) == value(&before, place, 1, 2), place < 32, "{place}");
        }
    }

    #[test]
    fn every_level_gives_the_same_bits() {
        for channels in [8, 31] {
            for kernel in KERNELS {
                assert_same_on_all_levels(&format!("{kernel:?}, {channels} channels"), || {
                    let scene = Scene::new(settings(kernel, SIZES[2], channels), 40, 7);
                    let labels: Vec<f64> = (0..40).map(|i| if i < 12 { 1.0 } else { -1.0 }).collect();
                    let head = from_name("kpca", &json!({ "two-class": false }))
                        .unwrap()
                        .fit(&Samples::new(scene.gram().view(), &labels).unwrap())
                        .unwrap();
                    let dense = scene.searched();
                    let mut bits: Vec<u32> = scene.decide(&dense, &head).iter().map(|v| v.to_bits()).collect();
                    for (row, col) in scene.windows(&dense) {
                        bits.extend(scene.places.iter().map(|&place| value(&dense, place, row, col).to_bits()));
                    }
                    bits
                });
            }
        }
    }

    /// The reference values (`tests/data/kernels/README.md`).
    #[test]
    fn dense_vectors() {
        let f = load("dense");
        let shape = |value: &Value| -> Vec<usize> {
            let (mut sizes, mut inner) = (Vec::new(), value);
            while let Some(items) = inner.as_array() {
                sizes.push(items.len());
                inner = &items[0];
            }
            sizes
        };
        let (size, supports) = (shape(&f["Z"]), shape(&f["supports"]));
        let channels = size[2];
        let spread = |values: Vec<f64>| -> Vec<f32> {
            let cells = values.chunks_exact(channels);
            cells.flat_map(|cell| (0..16).map(|c| cell.get(c).map_or(0.0, |&v| v as f32))).collect()
        };
        let settings = DenseSettings {
            kernel: Kernel::Gaussian { sigma: f["sigma"].as_f64().unwrap() },
            size: (size[0], size[1]),
            template: (supports[1], supports[2]),
            channels,
            features: channels,
            slots: supports[0],
        };
        let scene = Scene {
            settings,
            mask: vector(&f["mask"]).iter().map(|&v| v as f32).collect(),
            map: spread(vector(&f["Z"])),
            places: (0..supports[0]).collect(),
            supports: f["supports"].as_array().unwrap().iter().map(|support| spread(vector(support))).collect(),
        };
        let dense = scene.searched();
        assert!((1.0 / f64::from(dense.per_feature()) / f["norm"].as_f64().unwrap() - 1.0).abs() < 1e-6);
        let expected = vector(&f["kernel_maps"]);
        let (height, width) = dense.windows();
        assert_eq!(shape(&f["kernel_maps"]), [supports[0], height, width]);
        for (i, expected) in expected.iter().enumerate() {
            let got = f64::from(value(&dense, i / (height * width), i / width % height, i % width));
            assert!((got - expected).abs() < 1e-5, "{i}: {got}, {expected}");
        }
    }
}
