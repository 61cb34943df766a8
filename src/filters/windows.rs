//! A kernel machine as a detector: fitted to a bank of real windows, it scores every window of a search map.

use std::sync::Arc;

use nalgebra::{DMatrix, SymmetricEigen};
use ndarray::Array2;

use super::bank::SampleBank;
use super::dense::{DenseHead, DenseKernel, DenseSettings};
use crate::error::Result;
use crate::fft::CHANNELS;
use crate::kernels::Kernel;
use crate::machines::{Machine, Samples};
use crate::simd::leveled;

/// Settings of a [`WindowDetector`].
#[derive(Clone, Debug)]
pub struct WindowSettings {
    /// The kernel.
    pub kernel: Kernel,
    /// Rows and columns of cells of the search map.
    pub size: (usize, usize),
    /// Rows and columns of cells of the template.
    pub template: (usize, usize),
    /// Channels of the features.
    pub channels: usize,
    /// Channels that are kept by a projection onto principal axes, at most 15; all of them if there are no more.
    pub kept: usize,
    /// Windows of the target that are remembered.
    pub positives: usize,
    /// Windows of the background that are remembered.
    pub negatives: usize,
}

/// A kernel machine over a bounded bank of windows.
#[derive(Clone, Debug)]
pub struct WindowDetector {
    settings: WindowSettings,
    machine: Arc<dyn Machine>,
    projection: Option<Projection>,
    pub(super) dense: DenseKernel,
    bank: SampleBank,
    head: DenseHead,
    /// Places whose windows the dense kernel has not seen yet.
    changed: Vec<usize>,
    /// Coefficients of the last fit by place.
    coefficients: Vec<f64>,
    input: Vec<f32>,
    map: Vec<f32>,
    template: Vec<f32>,
    /// The last response, `[row][column]`.
    pub(crate) response: Vec<f32>,
    scratch: Vec<f32>,
}

/// `sin(π (i + ½) / n)`: half a period, zero at the borders of the template.
fn sine(n: usize) -> Vec<f32> {
    (0..n).map(|i| (std::f64::consts::PI * (i as f64 + 0.5) / n as f64).sin() as f32).collect()
}

impl WindowDetector {
    /// Creates an untrained detector; `first` is the first search map, `[row][column][32]`, whose cells give the
    /// projection.
    pub fn new(settings: WindowSettings, machine: Arc<dyn Machine>, first: &[f32]) -> Self {
        let WindowSettings { kernel, size, template, channels, kept, positives, negatives } = settings;
        let projection = (kept < channels.min(16)).then(|| Projection::new(first, channels, kept));
        let kept = projection.as_ref().map_or(channels, Projection::kept);
        let (by_row, by_col) = (sine(template.0), sine(template.1));
        let mask: Vec<f32> = by_row.iter().flat_map(|r| by_col.iter().map(move |c| r * c)).collect();
        let slots = positives + negatives;
        let dense = DenseKernel::new(
            &DenseSettings { kernel, size, template, channels: kept, features: channels, slots },
            &mask,
        );
        let (height, width) = dense.windows();
        let stride = dense.stride();
        Self {
            bank: SampleBank::new(kernel, dense.per_feature(), &mask, stride, positives, negatives),
            head: DenseHead::default(),
            changed: Vec::with_capacity(positives + negatives),
            coefficients: vec![0.0; positives + negatives],
            input: vec![0.0; size.0 * size.1 * CHANNELS],
            map: vec![0.0; size.0 * size.1 * stride],
            template: vec![0.0; template.0 * template.1 * stride],
            response: vec![0.0; height * width],
            scratch: vec![0.0; height * width],
            settings,
            machine,
            projection,
            dense,
        }
    }

    /// The memory to write the next search map to, `[row][column][32]`.
    pub fn input(&mut self) -> &mut [f32] {
        &mut self.input
    }

    /// Takes the input in as the current search map: [`WindowDetector::add_negative_at`] and
    /// [`WindowDetector::respond`] look at it.
    pub fn take_input(&mut self) {
        match &self.projection {
            Some(projection) => projection.apply(&self.input, &mut self.map),
            None => self.map.copy_from_slice(&self.input),
        }
    }

    /// Scores all windows of the current search map.
    pub fn respond(&mut self) -> &[f32] {
        let bank = &self.bank;
        self.dense.search(&self.map, |pair| bank.places().any(|slot| slot / CHANNELS == pair));
        self.dense.decide(&self.head, &mut self.response, &mut self.scratch);
        &self.response
    }

    /// The last response, `[row][column]`.
    pub fn response(&self) -> &[f32] {
        &self.response
    }

    /// Remembers the template `[row][column][32]` as a sample of the target, with `share` of the weight of all its
    /// samples.
    pub fn add_positive(&mut self, template: &[f32], share: f64, soft_label: f64) {
        match &self.projection {
            Some(projection) => projection.apply(template, &mut self.template),
            None => self.template.copy_from_slice(template),
        }
        self.store_positive(share, soft_label);
    }

    /// Remembers the window at `row`, `col` of the current search map as a sample of the target.
    pub fn add_positive_at(&mut self, row: usize, col: usize, share: f64, soft_label: f64) {
        self.cut(row, col);
        self.store_positive(share, soft_label);
    }

    fn store_positive(&mut self, share: f64, soft_label: f64) {
        let [first, second] = self.bank.add_positive(&self.template, share, soft_label);
        for slot in [first, second].into_iter().flatten() {
            self.changed(slot);
        }
    }

    /// Remembers the window at `row`, `col` of the current search map as background.
    pub fn add_negative_at(&mut self, row: usize, col: usize) {
        self.cut(row, col);
        let slot = self.bank.add_negative(&self.template);
        self.coefficients[slot] = 0.0;
        self.changed(slot);
    }

    fn changed(&mut self, slot: usize) {
        if !self.changed.contains(&slot) {
            self.changed.push(slot);
        }
    }

    /// Brings the dense kernel up to date with the bank: only ever with a head that was fitted to it, so that supports
    /// and coefficients belong together even where a fit failed.
    fn refresh(&mut self) {
        for pair in self.changed.chunks(2) {
            let of = |slot: usize| (slot, self.bank.sample(slot), self.bank.norm(slot));
            self.dense.set(of(pair[0]), pair.get(1).map(|&slot| of(slot)));
        }
        self.changed.clear();
    }

    fn cut(&mut self, row: usize, col: usize) {
        let (rows, cols) = self.settings.template;
        let stride = self.dense.stride();
        let width = self.settings.size.1;
        for r in 0..rows {
            let from = &self.map[((row + r) * width + col) * stride..][..cols * stride];
            self.template[r * cols * stride..][..cols * stride].copy_from_slice(from);
        }
    }

    /// Kernel values of all samples, those of the target first.
    pub fn gram(&self) -> Array2<f64> {
        let places: Vec<usize> = self.bank.places().collect();
        Array2::from_shape_fn((places.len(), places.len()), |(i, j)| self.bank.similarity(places[i], places[j]))
    }

    /// Fits the machine to the bank.
    ///
    /// # Errors
    /// The machine's error; the earlier decision then stays.
    pub fn fit(&mut self) -> Result<()> {
        let places: Vec<usize> = self.bank.places().collect();
        let gram = self.gram();
        let told: Vec<(f64, f64, f64)> = places.iter().filter_map(|&slot| self.bank.label(slot)).collect();
        let column = |pick: fn(&(f64, f64, f64)) -> f64| told.iter().map(pick).collect::<Vec<f64>>();
        let start: Vec<f64> = places.iter().map(|&slot| self.coefficients[slot]).collect();
        let samples = Samples::new(gram.view(), &column(|t| t.0))?
            .with_weights(&column(|t| t.1))?
            .with_soft_labels(&column(|t| t.2))?
            .with_start(&start)?;
        let head = self.machine.fit(&samples)?;
        for (&slot, &value) in places.iter().zip(&head.linear().alpha) {
            self.coefficients[slot] = value;
        }
        self.head = DenseHead::new(&head, &places, self.dense.slots());
        self.refresh();
        Ok(())
    }
}

/// Orthonormal axes in the space of a cell's channels.
#[derive(Clone, Debug)]
pub struct Projection {
    /// `[channel][axis]`, 16 axes a channel.
    axes: Vec<[f32; 16]>,
    kept: usize,
}

leveled! {
    fn project(cells: &[[f32; CHANNELS]], axes: &[[f32; 16]], out: &mut [[f32; 16]]) {
        for (cell, out) in cells.iter().zip(out) {
            let mut sums = [0.0f32; 16];
            for (value, axis) in cell.iter().zip(axes) {
                for l in 0..16 {
                    sums[l] += value * axis[l];
                }
            }
            *out = sums;
        }
    }
}

impl Projection {
    /// The `kept` (at most 16) axes of the largest mean square of the cells of `map`, `[cell][32]` of `channels`
    /// channels. They are not centred, so that distances between windows stay distances.
    pub fn new(map: &[f32], channels: usize, kept: usize) -> Self {
        let mut moments = DMatrix::<f64>::zeros(channels, channels);
        for cell in map.as_chunks::<CHANNELS>().0 {
            for i in 0..channels {
                for j in 0..=i {
                    moments[(i, j)] += f64::from(cell[i]) * f64::from(cell[j]);
                }
            }
        }
        moments.fill_upper_triangle_with_lower_triangle();
        let eigen = SymmetricEigen::new(moments);
        let mut order: Vec<usize> = (0..channels).collect();
        order.sort_by(|&a, &b| eigen.eigenvalues[b].total_cmp(&eigen.eigenvalues[a]));
        let mut axes = vec![[0.0; 16]; CHANNELS];
        for (to, &from) in order.iter().take(kept.min(16)).enumerate() {
            for (axis, value) in axes.iter_mut().zip(eigen.eigenvectors.column(from).iter()) {
                axis[to] = *value as f32;
            }
        }
        Self { axes, kept: kept.min(16) }
    }

    /// Number of axes.
    pub fn kept(&self) -> usize {
        self.kept
    }

    /// Projects the cells of `map` (32 floats each) to `out` (16 floats each, those beyond the axes zero).
    pub fn apply(&self, map: &[f32], out: &mut [f32]) {
        project(map.as_chunks().0, &self.axes, out.as_chunks_mut().0);
    }
}

#[cfg(test)]
mod tests {
    //! The window detector answers the labels that it was given.

    use std::sync::Mutex;

    use rand::{RngExt, SeedableRng};

    use super::super::test_maps::{cells, noise};
    use super::*;
    use crate::machines::{Affine, Head, klda, krr};

    const SIZE: (usize, usize) = (12, 14);
    const TEMPLATE: (usize, usize) = (4, 5);

    fn detector(machine: Arc<dyn Machine>, seed: u64) -> WindowDetector {
        let settings = WindowSettings {
            kernel: Kernel::Gaussian { sigma: 0.25 },
            size: SIZE,
            template: TEMPLATE,
            channels: 31,
            kept: 8,
            positives: 4,
            negatives: 6,
        };
        let mut map = noise(SIZE.0 * SIZE.1 * CHANNELS, seed);
        map.chunks_exact_mut(CHANNELS).for_each(|cell| cell[31..].fill(0.0));
        let mut detector = WindowDetector::new(settings, machine, &map);
        detector.input().copy_from_slice(&map);
        detector.take_input();
        detector
    }

    fn regression() -> Arc<dyn Machine> {
        Arc::new(krr::Krr::new(krr::Params { lambda: 1e-9, bias: true }).unwrap())
    }

    /// A regression with next to no ridge reproduces the soft labels at the windows that it was told.
    #[test]
    fn the_soft_labels_are_what_a_regression_answers() {
        let mut detector = detector(regression(), 3);
        let told = [((2, 2), 1.0), ((2, 3), 0.3), ((6, 7), -0.4)];
        for (n, &((row, col), label)) in told.iter().enumerate() {
            detector.add_positive_at(row, col, 1.0 / (n + 1) as f64, label);
        }
        for (row, col) in [(0, 9), (8, 0), (8, 9)] {
            detector.add_negative_at(row, col);
        }
        detector.fit().unwrap();
        let width = detector.dense.windows().1;
        let response = detector.respond().to_vec();
        let expected = told.into_iter().chain([((0, 9), -1.0), ((8, 0), -1.0), ((8, 9), -1.0)]);
        for ((row, col), label) in expected {
            let found = f64::from(response[row * width + col]);
            assert!((found - label).abs() < 1e-3, "{row}, {col}: {found}, not {label}");
        }
    }

    /// A template that was cut from elsewhere is the same sample as the window at its place.
    #[test]
    fn a_template_and_the_window_at_its_place_are_one_sample() {
        let (mut by_place, mut by_template) = (detector(regression(), 5), detector(regression(), 5));
        by_place.add_positive_at(3, 4, 1.0, 1.0);
        let map = by_template.input().to_vec();
        let template: Vec<f32> = (0..TEMPLATE.0)
            .flat_map(|r| map[((3 + r) * SIZE.1 + 4) * CHANNELS..][..TEMPLATE.1 * CHANNELS].to_vec())
            .collect();
        by_template.add_positive(&template, 1.0, 1.0);
        for detector in [&mut by_place, &mut by_template] {
            detector.add_negative_at(0, 0);
            detector.fit().unwrap();
        }
        assert_eq!(by_place.respond(), by_template.respond());
    }

    /// A failed fit changes nothing: the earlier decision stays, with the supports it was fitted to.
    #[test]
    fn a_fit_that_fails_keeps_the_earlier_decision() {
        let machine = Arc::new(klda::Klda::new(klda::Params::default()).unwrap());
        let mut detector = detector(machine, 7);
        detector.add_positive_at(3, 4, 1.0, 1.0);
        assert!(detector.fit().is_err(), "one class cannot be told from nothing");
        assert!(detector.respond().iter().all(|&v| v == 0.0));
        detector.add_negative_at(8, 9);
        detector.fit().unwrap();
        let width = detector.dense.windows().1;
        let before = detector.respond().to_vec();
        assert!((before[3 * width + 4] - 1.0).abs() < 1e-3 && (before[8 * width + 9] + 1.0).abs() < 1e-3);
        // These windows are added, but not fitted yet.
        detector.add_negative_at(0, 0);
        assert_eq!(detector.respond(), before);
        detector.fit().unwrap();
        assert!((detector.respond()[0] + 1.0).abs() < 0.2);
    }

    /// Fits coefficients that grow with the place, and remembers which ones each fit was to start from.
    #[derive(Debug, Default)]
    struct Starts(Mutex<Vec<Vec<f64>>>);

    impl Machine for Starts {
        fn solve(&self, samples: &Samples) -> Result<Head> {
            let start = samples.start.as_ref().expect("a start is given");
            self.0.lock().unwrap().push(start.iter().copied().collect());
            Ok(Head::Affine(Affine { alpha: (1..=samples.len()).map(|i| i as f64).collect(), bias: 0.0 }))
        }
    }

    /// A window that takes the place of another one has not its coefficient.
    #[test]
    fn a_fit_starts_from_the_last_one_and_new_windows_from_nothing() {
        let machine = Arc::new(Starts::default());
        let mut detector = detector(machine.clone(), 13);
        detector.add_positive_at(3, 4, 1.0, 1.0);
        let fit = |detector: &mut WindowDetector| {
            detector.fit().unwrap();
            machine.0.lock().unwrap().pop().unwrap()
        };
        for (row, col) in [(0, 0), (0, 9), (8, 0), (8, 9), (6, 1)] {
            detector.add_negative_at(row, col);
        }
        assert_eq!(fit(&mut detector), [0.0; 6]);
        detector.add_negative_at(1, 8);
        assert_eq!(fit(&mut detector), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.0]);
        // The bank has no room for a seventh window.
        detector.add_negative_at(7, 2);
        let start = fit(&mut detector);
        let new = start.iter().position(|&coefficient| coefficient == 0.0).expect("one is new");
        let mut expected = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
        expected[new] = 0.0;
        assert!(new > 0 && start == expected, "{start:?}");
    }

    fn projected(projection: &Projection, map: &[f32]) -> Vec<f32> {
        let mut out = vec![f32::NAN; map.len() / 2];
        projection.apply(map, &mut out);
        out
    }

    /// `[channel][axis]`: the images of the unit vectors.
    fn axes(projection: &Projection, channels: usize) -> Vec<f32> {
        let mut units = vec![0.0; channels * CHANNELS];
        (0..channels).for_each(|c| units[c * CHANNELS + c] = 1.0);
        projected(projection, &units)
    }

    fn energy(map: &[f32], axis: usize) -> f64 {
        map.chunks_exact(16).map(|cell| f64::from(cell[axis]).powi(2)).sum()
    }

    #[test]
    fn axes_are_orthonormal_and_those_beyond_are_zero() {
        let map = cells(200, 31, CHANNELS, 1);
        for kept in [1, 8, 15] {
            let projection = Projection::new(&map, 31, kept);
            assert_eq!(projection.kept(), kept);
            let axes = axes(&projection, 31);
            for a in 0..16 {
                for b in 0..16 {
                    let dot: f64 = axes.chunks_exact(16).map(|row| f64::from(row[a]) * f64::from(row[b])).sum();
                    let expected = f64::from(u8::from(a == b && a < kept));
                    assert!((dot - expected).abs() < 1e-5, "axes {a} and {b} of {kept}: {dot}");
                }
            }
        }
    }

    #[test]
    fn energy_falls_from_axis_to_axis_and_no_direction_has_more_than_the_first() {
        let mut map = cells(300, 31, CHANNELS, 2);
        // Channels of different strength, so that there is an order.
        map.chunks_exact_mut(CHANNELS)
            .for_each(|cell| (0..31).for_each(|c| cell[c] *= 1.0 + ((7 * c) % 31) as f32 / 10.0));
        let out = projected(&Projection::new(&map, 31, 15), &map);
        let energies: Vec<f64> = (0..15).map(|axis| energy(&out, axis)).collect();
        assert!(energies.windows(2).all(|pair| pair[0] > pair[1]), "{energies:?}");
        let mut rng = rand_pcg::Pcg32::seed_from_u64(3);
        for _ in 0..200 {
            let direction: Vec<f64> = (0..31).map(|_| rng.random_range(-0.2..1.0)).collect();
            let norm: f64 = direction.iter().map(|v| v * v).sum();
            let along = |cell: &[f32]| cell.iter().zip(&direction).map(|(v, d)| f64::from(*v) * d).sum::<f64>();
            let found = map.chunks_exact(CHANNELS).map(|cell| along(cell).powi(2)).sum::<f64>() / norm;
            assert!(found <= energies[0] * (1.0 + 1e-6), "{found}, {}", energies[0]);
        }
    }

    #[test]
    fn distances_are_kept_where_all_that_varies_is() {
        // 12 channels on 12 axes, and 31 channels that are mixtures of 6.
        let full = cells(60, 12, CHANNELS, 4);
        let sources = cells(60, 6, CHANNELS, 5);
        let mixing = cells(31, 6, CHANNELS, 6);
        let mixed: Vec<f32> = sources
            .chunks_exact(CHANNELS)
            .flat_map(|cell| {
                let mix = |c: usize| cell.iter().zip(&mixing[c * CHANNELS..]).map(|(v, m)| v * m).sum::<f32>();
                (0..CHANNELS).map(|c| if c < 31 { mix(c) } else { 0.0 }).collect::<Vec<_>>()
            })
            .collect();
        let apart = |map: &[f32], stride: usize, a: usize, b: usize| -> f64 {
            (0..stride).map(|l| f64::from(map[a * stride + l] - map[b * stride + l]).powi(2)).sum()
        };
        for (map, channels, kept) in [(full, 12, 12), (mixed, 31, 6)] {
            let out = projected(&Projection::new(&map, channels, kept), &map);
            for a in 0..60 {
                for b in 0..a {
                    let (expected, got) = (apart(&map, CHANNELS, a, b), apart(&out, 16, a, b));
                    assert!((got - expected).abs() < 1e-5 * expected, "{kept} axes: {got}, {expected}");
                }
            }
        }
    }
}
