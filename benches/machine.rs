//! How long a refit of each machine takes on the bank of a tracker: 12 windows of the target and 40 of the background.
//!
//! `cargo bench --bench machine`

use divan::Bencher;
use kcf_track::kernels::{Kernel, gram};
use kcf_track::machines::{Samples, from_name};
use ndarray::{Array2, ArrayView2};
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

fn main() {
    divan::main();
}

/// Windows of 400 feature values: the target's differ from each other by noise, the background's from everything.
fn windows(targets: usize, others: usize) -> (Array2<f64>, Vec<f64>) {
    let mut rng = rand_pcg::Pcg64Mcg::seed_from_u64(5);
    let model: Vec<f64> = (0..400).map(|_| rng.random_range(0.0..0.4)).collect();
    let rows = Array2::from_shape_fn((targets + others, 400), |(i, j)| {
        let share = if i < targets { 0.2 } else { 0.8 };
        (1.0 - share) * model[j] + share * rng.random_range(0.0..0.4)
    });
    let labels = (0..targets + others).map(|i| if i < targets { 1.0 } else { -1.0 }).collect();
    (rows, labels)
}

fn samples(rows: ArrayView2<f64>, labels: &[f64]) -> Samples {
    Samples::new(gram(Kernel::Gaussian { sigma: 0.3 }, rows).unwrap().view(), labels).unwrap()
}

fn refit(bencher: Bencher, name: &str, settings: &Value) {
    let (rows, labels) = windows(12, 40);
    let (samples, machine) = (samples(rows.view(), &labels), from_name(name, settings).unwrap());
    bencher.bench(|| machine.fit(divan::black_box(&samples)).unwrap());
}

#[divan::bench(args = ["krr", "svm", "klda", "kpca", "slem", "kdspe"])]
fn default(bencher: Bencher, name: &str) {
    refit(bencher, name, &Value::Null);
}

#[divan::bench]
fn svm_c_10(bencher: Bencher) {
    refit(bencher, "svm", &json!({ "c": 10.0 }));
}

/// From the last solution, after one window of the target has moved.
#[divan::bench]
fn svm_c_10_warm(bencher: Bencher) {
    let (mut rows, labels) = windows(12, 40);
    let machine = from_name("svm", &json!({ "c": 10.0 })).unwrap();
    let before = machine.fit(&samples(rows.view(), &labels)).unwrap();
    rows.row_mut(3).mapv_inplace(|v| 0.9 * v + 0.02);
    let after = samples(rows.view(), &labels).with_start(before.linear().alpha.as_slice().unwrap()).unwrap();
    bencher.bench(|| machine.fit(divan::black_box(&after)).unwrap());
}

/// With the l1 step over the other class.
#[divan::bench]
fn kdspe_sparse(bencher: Bencher) {
    refit(bencher, "kdspe", &json!({ "iterations": 20 }));
}

/// What comes before a refit when the whole Gram matrix is new.
#[divan::bench]
fn check_samples(bencher: Bencher) {
    let (rows, labels) = windows(12, 40);
    let k = gram(Kernel::Gaussian { sigma: 0.3 }, rows.view()).unwrap();
    bencher.bench(|| Samples::new(divan::black_box(k.view()), &labels).unwrap());
}
