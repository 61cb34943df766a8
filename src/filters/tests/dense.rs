//! The dense engine against brute force: every window cut out and compared with every support.

use ndarray::{Array1, Array2};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use super::{cells, masked_dot, noise};
use crate::fft::CHANNELS;
use crate::filters::dense::{DenseHead, DenseKernel, DenseSettings};
use crate::kernels::Kernel;
use crate::machines::tests::vectors::{load, vector};
use crate::machines::{Head, Samples, from_name};
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
        let mut scene =
            Self { mask, map: cells(size.0 * size.1, channels, stride, !seed), supports: Vec::new(), places, settings };
        for i in 0..supports {
            let support = if i % 2 == 0 {
                cells(template.0 * template.1, channels, stride, seed + 1000 + i as u64)
            } else {
                // A window of the map, nearly: its distance is the difference of almost equal numbers.
                let (row, col) = (rng.random_range(0..=size.0 - template.0), rng.random_range(0..=size.1 - template.1));
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
                // More than 32 of them, so that there are two vectors of maps; now and then a single one.
                let supports = [38, 1, 17][(i + j) % 3];
                let scene = Scene::new(settings(kernel, sizes, channels), supports, (10 * i + j) as u64);
                let error = scene.error(&scene.searched());
                assert!(error < 1e-4, "{sizes:?}, {channels} channels, {kernel:?}: {error:e}");
            }
        }
    }
}

/// As with projections: the kernel's width refers to more feature values than there are channels.
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
            // There is something to decide.
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
