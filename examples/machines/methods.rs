//! The tools around the machines on one problem: two elongated classes under different distances.
//!
//! Chooses the bandwidth and C of a support vector machine by cross-validation, repeats it under the Mahalanobis metric
//! of the samples, solves ridge regression on the explicit map of the polynomial kernel, and classifies by sparse
//! representation. Prints the accuracy of each on new samples.

use std::f64::consts::TAU;

use kcf_track::kernels::{Kernel, Mahalanobis, PolynomialMap, cross_gram, gram, own_values};
use kcf_track::machines::selection::{cross_validate, gaussian_svms};
use kcf_track::machines::sparse::{self, SparseClassifier};
use kcf_track::machines::{Samples, from_name};
use ndarray::{Array1, Array2};
use rand::{RngExt, SeedableRng};
use serde_json::json;

const SIGMAS: [f64; 4] = [0.1, 0.3, 1.0, 3.0];
const PRICES: [f64; 3] = [0.1, 1.0, 10.0];

/// Two classes that differ by 1 along the first axis and spread over 20 along the second.
fn samples(n: usize, seed: u64) -> (Array2<f64>, Vec<f64>) {
    let mut rng = rand_pcg::Pcg64Mcg::seed_from_u64(seed);
    let labels: Vec<f64> = (0..n).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
    let rows = Array2::from_shape_fn((n, 2), |(i, axis)| {
        let (u, v): (f64, f64) = (rng.random_range(f64::MIN_POSITIVE..1.0), rng.random_range(0.0..TAU));
        let normal = (-2.0 * u.ln()).sqrt() * v.cos();
        if axis == 0 { 0.5 * labels[i] + 0.3 * normal } else { 20.0 * normal }
    });
    (rows, labels)
}

fn report(name: &str, decisions: &Array1<f64>, labels: &[f64]) {
    let right = decisions.iter().zip(labels).filter(|(decision, label)| *decision * *label > 0.0).count();
    println!("{name:<45} {:5.1} %", 100.0 * right as f64 / labels.len() as f64);
}

pub fn run() -> anyhow::Result<()> {
    let ((train, labels), (test, truth)) = (samples(80, 1), samples(400, 2));
    let best = |rows: &Array2<f64>| {
        anyhow::Ok(cross_validate(&gaussian_svms(&SIGMAS, &PRICES), rows.view(), &labels, 5)?[0].candidate)
    };

    let plain = best(&train)?;
    let head = plain.machine.build()?.fit(&Samples::new(gram(plain.kernel, train.view())?.view(), &labels)?)?;
    let cross = cross_gram(plain.kernel, test.view(), train.view())?;
    let own = own_values(plain.kernel, test.view())?;
    report("SVM, plain distance", &head.decision(cross.view(), own.view())?, &truth);

    let metric = Mahalanobis::of_samples(train.view(), 1e-6)?;
    let chosen = best(&metric.transform(train.view())?)?;
    let k = metric.gram(chosen.kernel, train.view())?;
    let cross = metric.cross_gram(chosen.kernel, test.view(), train.view())?;
    let head = chosen.machine.build()?.fit(&Samples::new(k.view(), &labels)?)?;
    report("SVM, Mahalanobis distance", &head.decision(cross.view(), own.view())?, &truth);

    let map = PolynomialMap::new(2, 1.0, 2)?;
    let (mapped, mapped_test) = (map.transform(train.view())?, map.transform(test.view())?);
    // `Kernel::Linear` divides by the number of values, so lambda is relative to it.
    let ridge = from_name("krr", &json!({ "lambda": 1e-2 }))?;
    let head = ridge.fit(&Samples::new(gram(Kernel::Linear, mapped.view())?.view(), &labels)?)?;
    let cross = cross_gram(Kernel::Linear, mapped_test.view(), mapped.view())?;
    report("ridge regression, explicit polynomial map", &head.decision(cross.view(), own.view())?, &truth);

    let kernel = Kernel::Gaussian { sigma: 0.3 };
    let classes: Vec<usize> = labels.iter().map(|label| usize::from(*label > 0.0)).collect();
    let classifier =
        SparseClassifier::new(sparse::Params::default(), metric.gram(kernel, train.view())?.view(), &classes)?;
    let cross = metric.cross_gram(kernel, test.view(), train.view())?;
    let found = classifier.classify(cross.view(), &vec![1.0; truth.len()])?;
    let signs = found.into_iter().map(|class| if class == 1 { 1.0 } else { -1.0 }).collect();
    report("sparse representation, Mahalanobis distance", &signs, &truth);
    Ok(())
}
