//! The losses against the same machines on the full Gram matrix of all shifts, in double precision.

use nalgebra::{DMatrix, DVector};
use ndarray::{Array1, Array2};

use super::*;
use crate::features::labels;
use crate::filters::kcf::Kcf;
use crate::kernels::correlation::KernelCorrelator;
use crate::kernels::{Kernel, cross_gram, gram};
use crate::machines::vectors::{close, load, vector};
use crate::machines::{Build, Machine, Samples, klda};
use crate::profile::Stopwatch;

const KERNELS: [Kernel; 3] = [Kernel::Gaussian { sigma: 0.6 }, Kernel::Polynomial { a: 1.0, b: 3 }, Kernel::Linear];

/// A feature map `[row][column][channel]`.
#[derive(Clone)]
struct Map {
    rows: usize,
    cols: usize,
    channels: usize,
    values: Vec<f64>,
}

impl Map {
    fn random(rows: usize, cols: usize, channels: usize, seed: u64) -> Self {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        };
        // What single precision holds: both sides then start from the same numbers.
        let values = (0..rows * cols * channels).map(|_| f64::from(next() as f32)).collect();
        Self { rows, cols, channels, values }
    }

    fn cells(&self) -> usize {
        self.rows * self.cols
    }

    /// All shifts, one a row: element (r, c) of number `i` is that at `(r + i / cols, c + i % cols)`.
    fn shifts(&self) -> Array2<f64> {
        let Self { rows, cols, channels, ref values } = *self;
        Array2::from_shape_fn((self.cells(), values.len()), |(i, at)| {
            let (cell, channel) = (at / channels, at % channels);
            let (r, c) = ((cell / cols + i / cols) % rows, (cell % cols + i % cols) % cols);
            values[(r * cols + c) * channels + channel]
        })
    }

    fn write(&self, out: &mut [f32]) {
        let stride = out.len() / self.cells();
        out.fill(0.0);
        for (cell, values) in out.chunks_mut(stride).zip(self.values.chunks(self.channels)) {
            cell.iter_mut().zip(values).for_each(|(out, &v)| *out = v as f32);
        }
    }

    fn filter(&self, kernel: Kernel, lambda: f64, labels: &[f32], loss: Loss) -> Kcf {
        Kcf::with_loss((self.rows, self.cols), self.channels, kernel, lambda, labels, loss)
    }
}

/// The response of a filter that learnt `x` to all shifts of `z`.
fn respond(mut filter: Kcf, x: &Map, z: &Map) -> Vec<f64> {
    x.write(filter.input());
    filter.learn(0.5, &mut Stopwatch::default());
    z.write(filter.input());
    filter.respond(&mut Stopwatch::default()).iter().map(|&v| v.into()).collect()
}

/// Maps of even and odd sizes and both layouts, with every kernel.
fn problems() -> Vec<(Map, Map, Kernel, Vec<f32>)> {
    let mut problems = Vec::new();
    for (seed, (rows, cols)) in [(5, 6), (7, 4), (6, 6), (3, 8), (9, 5)].into_iter().enumerate() {
        for channels in [1, 5] {
            for kernel in KERNELS {
                let x = Map::random(rows, cols, channels, seed as u64 + 1);
                let mut z = Map::random(rows, cols, channels, seed as u64 + 100);
                z.values.iter_mut().zip(&x.values).for_each(|(z, x)| *z = f64::from((0.4 * *z + x) as f32));
                problems.push((x, z, kernel, labels::gaussian(rows, cols, 1.0)));
            }
        }
    }
    problems
}

#[track_caller]
fn agree(got: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    let height = expected.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let worst = got.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst <= tolerance * height, "{what}: {worst:e} of {height}");
}

fn signs(labels: &[f32]) -> Vec<f64> {
    labels.iter().map(|&y| y.into()).collect()
}

/// `min ½ αᵀKα + 1/(2λ) Σ max(0, 1 - y f)²`, `f = Kα + b`, by Newton's method on the set of samples with a
/// loss: those of the minimiser solve `f + λα = y`, `1ᵀα = 0`; the others have no coefficient.
fn squared_hinge(k: &Array2<f64>, y: &[f64], lambda: f64) -> (DVector<f64>, f64) {
    let n = y.len();
    let mut lossy = vec![true; n];
    for _ in 0..100 {
        let at: Vec<usize> = (0..n).filter(|&i| lossy[i]).collect();
        let m = at.len();
        let system = DMatrix::from_fn(m + 1, m + 1, |i, j| match (i < m, j < m) {
            (true, true) => k[[at[i], at[j]]] + if i == j { lambda } else { 0.0 },
            (false, false) => 0.0,
            _ => 1.0,
        });
        let right = DVector::from_fn(m + 1, |i, _| if i < m { y[at[i]] } else { 0.0 });
        let solution = system.lu().solve(&right).unwrap();
        let mut alpha = DVector::zeros(n);
        at.iter().enumerate().for_each(|(i, &a)| alpha[a] = solution[i]);
        let f = |i: usize| (0..n).map(|j| k[[i, j]] * alpha[j]).sum::<f64>() + solution[m];
        let next: Vec<bool> = (0..n).map(|i| y[i] * f(i) < 1.0).collect();
        if next == lossy {
            return (alpha, solution[m]);
        }
        lossy = next;
    }
    panic!("the set of samples with a loss does not settle");
}

#[test]
fn hinge_is_the_minimiser_on_the_full_gram_matrix() {
    let lambda = 0.1;
    for (x, z, kernel, labels) in problems() {
        let y = signs(&classes(&labels));
        let k = gram(kernel, x.shifts().view()).unwrap();
        let (alpha, bias) = squared_hinge(&k, &y, lambda);
        let cross = cross_gram(kernel, z.shifts().view(), x.shifts().view()).unwrap();
        let expected = cross.dot(&Array1::from_iter(alpha.iter().copied())) + bias;
        let mut filter = x.filter(kernel, lambda, &labels, Loss::Hinge);
        filter.hinge_steps(2000);
        let what = format!("{kernel:?} {}x{}x{}", x.rows, x.cols, x.channels);
        agree(&respond(filter, &x, &z), expected.as_slice().unwrap(), 2e-3, &what);
    }
}

/// Ten steps on the first patch are not all the way; on a patch that stays as it is the next ones go on from there.
#[test]
fn hinge_goes_on_where_it_stopped() {
    let (x, z, kernel, labels) = problems().swap_remove(0);
    let reference = |steps| {
        let mut filter = x.filter(kernel, 0.1, &labels, Loss::Hinge);
        filter.hinge_steps(steps);
        respond(filter, &x, &z)
    };
    let mut filter = x.filter(kernel, 0.1, &labels, Loss::Hinge);
    for _ in 0..7 {
        x.write(filter.input());
        filter.learn(1.0, &mut Stopwatch::default());
    }
    z.write(filter.input());
    let got: Vec<f64> = filter.respond(&mut Stopwatch::default()).iter().map(|&v| v.into()).collect();
    agree(&got, &reference(70), 1e-4, "seven times ten steps");
}

#[test]
fn fisher_is_the_discriminant_on_the_full_gram_matrix() {
    let lambda = 0.1;
    for (x, z, kernel, labels) in problems() {
        let k = gram(kernel, x.shifts().view()).unwrap();
        let samples = Samples::new(k.view(), &signs(&classes(&labels))).unwrap();
        let params = klda::Params { eps: lambda, balance: false, ridge: klda::Ridge::Gram };
        let head = klda::Klda::new(params).unwrap().fit(&samples).unwrap();
        let cross = cross_gram(kernel, z.shifts().view(), x.shifts().view()).unwrap();
        let expected = head.decision(cross.view(), Array1::ones(x.cells()).view()).unwrap();
        let what = format!("{kernel:?} {}x{}x{}", x.rows, x.cols, x.channels);
        let got = respond(x.filter(kernel, lambda, &labels, Loss::Fisher), &x, &z);
        agree(&got, expected.as_slice().unwrap(), 1e-3, &what);
    }
}

#[test]
fn a_blank_patch_has_no_answer_but_finite_ones() {
    for loss in Loss::ALL {
        for kernel in KERNELS {
            let blank = Map { values: vec![0.0; 30], ..Map::random(5, 6, 1, 1) };
            let filter = blank.filter(kernel, 1e-4, &labels::gaussian(5, 6, 1.0), loss);
            let response = respond(filter, &blank, &Map::random(5, 6, 1, 2));
            assert!(response.iter().all(|v| v.is_finite()), "{loss} {kernel:?}");
        }
    }
}

/// The tolerance of reference values in double precision, for a path in single precision.
const SINGLE: f64 = 1e5;

struct Shifts {
    x: Map,
    z: Map,
    kernel: Kernel,
    plan: MapPlan,
    k_xx: Vec<Complex32>,
    scratch: Scratch,
}

impl Shifts {
    fn load(f: &serde_json::Value) -> Self {
        let shape: Vec<usize> = vector(&f["shape"]).iter().map(|&v| v as usize).collect();
        let map = |name: &str| Map { rows: shape[0], cols: shape[1], channels: shape[2], values: vector(&f[name]) };
        Self::new(map("x"), map("z"), f["sigma"].as_f64().unwrap())
    }

    fn new(x: Map, z: Map, sigma: f64) -> Self {
        let plan = MapPlan::new(x.rows, x.cols, x.channels);
        let (k_xx, scratch) = (vec![Complex32::default(); plan.half_len()], plan.scratch());
        let mut shifts = Self { x, z, kernel: Kernel::Gaussian { sigma }, plan, k_xx, scratch };
        shifts.k_xx = shifts.correlation(&shifts.x.clone(), &shifts.x.clone());
        shifts
    }

    fn correlation(&mut self, a: &Map, b: &Map) -> Vec<Complex32> {
        let mut maps = [a, b].map(|map| {
            let mut features = self.plan.map();
            map.write(features.values_mut());
            features
        });
        maps.iter_mut().for_each(|map| self.plan.transform(map, &mut self.scratch));
        let energy = b.values.iter().map(|v| v * v).sum::<f64>() as f32;
        let mut out = self.k_xx.clone();
        let mut correlator = KernelCorrelator::new(self.kernel, &self.plan, a.channels);
        let mut off = Stopwatch::default();
        correlator.correlate(&self.plan, &maps[0], &maps[1], Some(energy), &mut out, &mut self.scratch, &mut off);
        out
    }

    fn plane(&mut self, spectrum: &[Complex32]) -> Vec<f64> {
        let mut out = vec![0.0; self.x.cells()];
        plane(&self.plan, spectrum, &mut out, &mut self.scratch);
        out.iter().map(|&v| v.into()).collect()
    }
}

#[test]
fn reference_values_of_all_shifts() {
    let f = load("circulant");
    let number = |v: &serde_json::Value| v.as_f64().unwrap();
    let mut s = Shifts::load(&f);
    let (x, z, k_xx) = (s.x.clone(), s.z.clone(), s.k_xx.clone());
    let k_xz = s.correlation(&z, &x);
    close(&s.plane(&k_xx), &vector(&f["k_xx"]), 1e-8 * SINGLE);
    close(&s.plane(&k_xz), &vector(&f["k_xz"]), 1e-8 * SINGLE);
    let labels: Vec<f32> = vector(&f["labels"]).iter().map(|&v| v as f32).collect();
    let lambda = number(&f["lambda_"]);
    close(&respond(x.filter(s.kernel, lambda, &labels, Loss::Ridge), &x, &z), &vector(&f["response"]), 1e-8 * SINGLE);

    let hinge = &f["squared_hinge"];
    let (code, cost) = (vector(&hinge["y"]), number(&hinge["C"]));
    let mut solver = Hinge::new(&s.plan, (1.0 / cost) as f32, code.iter().map(|&v| v as f32).collect());
    solver.steps = 4000;
    let mut alpha = k_xx.clone();
    let bias = f64::from(solver.solve(&s.plan, &mut alpha, &mut s.scratch));
    let alpha = s.plane(&alpha);
    close(&alpha, &vector(&hinge["alpha"]), 1e-8 * SINGLE * cost);
    close([&bias], &vector(&hinge["bias"]), 1e-8 * SINGLE);
    let k = gram(s.kernel, x.shifts().view()).unwrap();
    let alpha = Array1::from(alpha);
    let margin = k.dot(&alpha);
    let loss = |i: usize| (1.0 - code[i] * (margin[i] + bias)).max(0.0).powi(2);
    let objective = 0.5 * alpha.dot(&margin) + cost / 2.0 * (0..code.len()).map(loss).sum::<f64>();
    let expected = number(&hinge["objective"]);
    assert!((objective - expected).abs() < 1e-4 * expected, "{objective} {expected}");
}

#[test]
fn eigenvalues_of_all_shifts_are_the_spectrum() {
    let f = &load("kpca")["circulant"];
    let values = vector(&f["x"]);
    let n = values.len();
    let x = Map { rows: 1, cols: n, channels: 1, values };
    let shifts = Shifts::new(x.clone(), x, f["sigma"].as_f64().unwrap());
    // The half that is kept stands for its mirror image too.
    let mirrored = shifts.k_xx[1..n.div_ceil(2)].iter();
    let mut spectrum: Vec<f64> = shifts.k_xx.iter().chain(mirrored).map(|v| v.re.into()).collect();
    spectrum.sort_by(|a, b| b.total_cmp(a));
    close(&spectrum, &vector(&f["eigenvalues"]), 1e-9 * SINGLE);
    let k = gram(shifts.kernel, shifts.x.shifts().view()).unwrap();
    let k = DMatrix::from_fn(n, n, |i, j| k[[i, j]]);
    let mut dense: Vec<f64> = k.symmetric_eigenvalues().iter().copied().collect();
    dense.sort_by(|a, b| b.total_cmp(a));
    close(&spectrum, &dense, 1e-9 * SINGLE);
}
