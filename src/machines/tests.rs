//! Properties of every kernel machine for any samples: finite numbers or a typed error, and decisions that do not
//! depend on the order of the samples. Their bits are compared with a file.

use crate::Error;
use crate::kernels::{Kernel, cross_gram, gram, own_values};
use crate::machines::kdspe::{self, Kdspe};
use crate::machines::klda::{self, Klda};
use crate::machines::kpca::{self, Kpca};
use crate::machines::{Head, MachineKind, Samples, from_name, preimage, slem};
use ndarray::{Array1, Array2, ArrayView2, array};
use proptest::prelude::*;
use serde_json::{Value, json};

pub(crate) mod vectors;

/// The decisions of a head on its own training samples.
fn on_training(head: &Head, k: &Array2<f64>) -> Array1<f64> {
    head.decision(k.view(), k.diag()).unwrap()
}

fn machines() -> impl Iterator<Item = &'static str> {
    MachineKind::ALL.iter().map(|kind| kind.name())
}

fn fit(name: &str, k: &Array2<f64>, labels: &[f64]) -> Result<Head, Error> {
    from_name(name, &Value::Null).unwrap().fit(&Samples::new(k.view(), labels)?)
}

/// A positive semi-definite matrix of some rank and scale, with labels and weights.
#[derive(Clone, Debug)]
struct Problem {
    gram: Array2<f64>,
    labels: Vec<f64>,
    weights: Vec<f64>,
}

fn problems() -> impl Strategy<Value = Problem> {
    (1usize..18, 0usize..8, -5i32..6).prop_flat_map(|(n, rank, scale)| {
        let features = prop::collection::vec(-1.0..1.0f64, n * rank);
        let labels = prop::collection::vec(prop::bool::ANY.prop_map(|b| if b { 1.0 } else { -1.0 }), n);
        let weights = prop::collection::vec(0.01..10.0f64, n);
        (features, labels, weights).prop_map(move |(features, labels, weights)| {
            let b = Array2::from_shape_vec((n, rank), features).unwrap() * 10f64.powi(scale);
            Problem { gram: b.dot(&b.t()), labels, weights }
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_gram_matrix_gives_finite_decisions_or_a_typed_error(problem in problems()) {
        let one_class = problem.labels.iter().all(|&l| l == problem.labels[0]);
        for name in machines() {
            let samples = Samples::new(problem.gram.view(), &problem.labels).unwrap();
            let samples = samples.with_weights(&problem.weights).unwrap();
            match from_name(name, &Value::Null).unwrap().fit(&samples) {
                Ok(head) => {
                    let values = on_training(&head, &problem.gram);
                    prop_assert!(values.iter().all(|v| v.is_finite()));
                    prop_assert!(head.support().len() <= problem.labels.len());
                }
                // An unscaled kernel can reach the maximum of steps.
                Err(Error::Samples { .. }) if name == "svm" && problem.gram.diag().sum() > 1e3 => {}
                Err(Error::Samples { .. }) => prop_assert!(one_class, "{}", name),
                Err(error) => prop_assert!(false, "{name}: {error}"),
            }
        }
    }

    #[test]
    fn calibrated_class_means_are_plus_and_minus_one(problem in problems()) {
        prop_assume!(problem.labels.iter().any(|&l| l != problem.labels[0]));
        for name in ["klda", "kpca", "slem", "kdspe"] {
            let samples = Samples::new(problem.gram.view(), &problem.labels).unwrap();
            let samples = samples.with_weights(&problem.weights).unwrap();
            let values = on_training(&from_name(name, &Value::Null).unwrap().fit(&samples).unwrap(), &problem.gram);
            let mean = |label: f64| {
                let of = || problem.labels.iter().enumerate().filter(move |(_, l)| **l == label).map(|(i, _)| i);
                let total: f64 = of().map(|i| problem.weights[i]).sum();
                of().map(|i| problem.weights[i] * values[i]).sum::<f64>() / total
            };
            let told_apart = (mean(1.0) - 1.0).abs() < 1e-5 && (mean(-1.0) + 1.0).abs() < 1e-5;
            let all_zero = values.iter().all(|&v| v == 0.0);
            prop_assert!(told_apart || all_zero, "{}: {} {}", name, mean(1.0), mean(-1.0));
        }
    }

    #[test]
    fn the_order_of_the_samples_does_not_matter(
        points in prop::collection::vec(-1.0..1.0f64, 24),
        order in Just((0..12).collect::<Vec<usize>>()).prop_shuffle(),
    ) {
        let x = Array2::from_shape_vec((12, 2), points).unwrap();
        let labels: Vec<f64> = (0..12).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
        let kernel = Kernel::Gaussian { sigma: 0.5 };
        let test = array![[0.3, -0.2], [-0.5, 0.9]];
        let decide = |x: ArrayView2<f64>, labels: &[f64], name: &str| {
            let settings = if name == "svm" { json!({"tolerance": 1e-10}) } else { Value::Null };
            let samples = Samples::new(gram(kernel, x).unwrap().view(), labels).unwrap();
            let head = from_name(name, &settings).unwrap().fit(&samples).unwrap();
            head.decision(cross_gram(kernel, test.view(), x).unwrap().view(), Array1::ones(2).view()).unwrap()
        };
        let shuffled = x.select(ndarray::Axis(0), &order);
        let shuffled_labels: Vec<f64> = order.iter().map(|&i| labels[i]).collect();
        for name in machines() {
            let (a, b) = (decide(x.view(), &labels, name), decide(shuffled.view(), &shuffled_labels, name));
            let apart = (&a - &b).mapv(f64::abs).sum();
            prop_assert!(apart < 1e-5 * (1.0 + a.mapv(f64::abs).sum()), "{}: {} {}", name, a, b);
        }
    }

    #[test]
    fn a_sample_twice_is_a_sample_of_weight_two(points in prop::collection::vec(-1.0..1.0f64, 20)) {
        let x = Array2::from_shape_vec((10, 2), points).unwrap();
        let twice = x.select(ndarray::Axis(0), &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 5]);
        let labels: Vec<f64> = (0..10).map(|i| if i < 4 { 1.0 } else { -1.0 }).collect();
        let labels_twice: Vec<f64> = labels.iter().copied().chain([1.0, -1.0]).collect();
        let weights: Vec<f64> = (0..10).map(|i| if i % 5 == 0 { 2.0 } else { 1.0 }).collect();
        let kernel = Kernel::Gaussian { sigma: 0.5 };
        let test = array![[0.3, -0.2], [-0.5, 0.9]];
        for (name, settings) in [
            ("krr", Value::Null),
            ("svm", json!({"tolerance": 1e-10, "balance": false})),
            ("klda", Value::Null),
            ("kpca", json!({"rank": 2})),
            ("slem", Value::Null),
        ] {
            let decide = |x: ArrayView2<f64>, samples: Samples| {
                let head = from_name(name, &settings).unwrap().fit(&samples).unwrap();
                head.decision(cross_gram(kernel, test.view(), x).unwrap().view(), Array1::ones(2).view()).unwrap()
            };
            let once = gram(kernel, x.view()).unwrap();
            let weighted = Samples::new(once.view(), &labels).unwrap().with_weights(&weights).unwrap();
            let repeated = Samples::new(gram(kernel, twice.view()).unwrap().view(), &labels_twice).unwrap();
            let (a, b) = (decide(x.view(), weighted), decide(twice.view(), repeated));
            let mut apart = &a - &b;
            if name == "svm" {
                // Where no coefficient is strictly between its bounds, any bias of an interval is optimal.
                apart -= apart.mean().unwrap();
            }
            let apart = apart.mapv(f64::abs).sum();
            prop_assert!(apart < 1e-5 * (1.0 + a.mapv(f64::abs).sum()), "{}: {} {}", name, a, b);
        }
    }

    #[test]
    fn every_kernel_satisfies_mercers_condition(
        points in prop::collection::vec(0.0..3.0f64, 30),
        c in prop::collection::vec(-1.0..1.0f64, 10),
    ) {
        let x = Array2::from_shape_vec((10, 3), points).unwrap();
        let c = Array1::from(c);
        for name in Kernel::NAMES {
            let k = gram(Kernel::from_name(name).unwrap(), x.view()).unwrap();
            prop_assert_eq!(&k, &k.t(), "{}", name);
            prop_assert!(c.dot(&k.dot(&c)) >= -1e-9 * k.diag().sum(), "{}", name);
        }
    }

    #[test]
    fn a_warm_start_does_not_change_the_solution(
        points in prop::collection::vec(-1.0..1.0f64, 40),
        start in prop::collection::vec(-3.0..3.0f64, 20),
    ) {
        let x = Array2::from_shape_vec((20, 2), points).unwrap();
        let labels: Vec<f64> = (0..20).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
        let k = gram(Kernel::Gaussian { sigma: 0.5 }, x.view()).unwrap();
        let samples = Samples::new(k.view(), &labels).unwrap();
        let machine = from_name("svm", &json!({"tolerance": 1e-9})).unwrap();
        let cold = on_training(&machine.fit(&samples).unwrap(), &k);
        let warm = on_training(&machine.fit(&samples.with_start(&start).unwrap()).unwrap(), &k);
        // Where no coefficient is strictly between its bounds, any bias of an interval is optimal.
        let apart = &cold - &warm;
        prop_assert!((&apart - apart.mean().unwrap()).mapv(f64::abs).sum() < 1e-5, "{} {}", cold, warm);
    }

    #[test]
    fn no_matrix_makes_a_machine_panic(
        n in 1usize..7,
        values in prop::collection::vec(prop_oneof![
            Just(f64::NAN), Just(f64::INFINITY), Just(0.0), Just(1e300), Just(-1.0), Just(1e-310),
            Just(1e59), -2.0..2.0f64
        ], 36),
        symmetric in prop::bool::ANY,
    ) {
        let at = |i: usize, j: usize| values[if symmetric { i.max(j) * 6 + i.min(j) } else { i * 6 + j }];
        let k = Array2::from_shape_fn((n, n), |(i, j)| at(i, j));
        let labels: Vec<f64> = (0..n).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
        for name in machines() {
            // An indefinite matrix may be an error; a result must be finite.
            if let Ok(head) = fit(name, &k, &labels) {
                prop_assert!(head.linear().alpha.iter().all(|v| v.is_finite()));
            }
        }
        let classes: Vec<usize> = (0..n).map(|i| i % 2).collect();
        let sparse = kdspe::Kdspe::new(kdspe::Params { iterations: 5, ..Default::default() }).unwrap();
        let found = [
            sparse.embed(k.view(), &classes),
            klda::Klda::new(Default::default()).unwrap().embed(k.view(), &classes),
            kpca::Kpca::new(Default::default()).unwrap().embed(k.view()).map(|novelty| novelty.embedding),
        ];
        for embedding in found.into_iter().flatten() {
            prop_assert!(embedding.coefficients.iter().all(|v| v.is_finite()));
        }
    }
}

#[test]
fn invalid_gram_matrices_are_errors() {
    let labels = [1.0, -1.0];
    for (k, says) in [
        (array![[1.0, 0.2, 0.1], [0.2, 1.0, 0.3]], "not square"),
        (array![[1.0, 0.2], [0.5, 1.0]], "not symmetric"),
        (array![[1.0, f64::NAN], [f64::NAN, 1.0]], "NaN"),
        (array![[f64::INFINITY, 0.0], [0.0, 1.0]], "inf"),
        (array![[1.0, 0.0], [0.0, -1.0]], "negative"),
        (Array2::zeros((0, 0)), "empty"),
    ] {
        for name in machines() {
            match fit(name, &k, &labels) {
                Err(error @ Error::Gram { .. }) => assert!(error.to_string().contains(says), "{name}: {error}"),
                other => panic!("{name}: {other:?}"),
            }
        }
        let classes = vec![0; k.nrows()];
        assert!(klda::Klda::new(Default::default()).unwrap().embed(k.view(), &classes).is_err());
        assert!(kpca::Kpca::new(Default::default()).unwrap().embed(k.view()).is_err());
        assert!(slem::Slem::new(Default::default()).unwrap().encoder(k.view()).is_err());
        let machine = kdspe::Kdspe::new(Default::default()).unwrap();
        assert!(machine.embed(k.view(), &classes).is_err());
    }
}

#[test]
fn equal_samples_are_inseparable() {
    for value in [0.0, 1.0, 1e6] {
        let k = Array2::from_elem((6, 6), value);
        let labels = [1.0, 1.0, -1.0, -1.0, -1.0, -1.0];
        for name in machines() {
            let values = on_training(&fit(name, &k, &labels).unwrap(), &k);
            match name {
                // The best constant for a square loss is the mean of the labels.
                "krr" => assert!(values.iter().all(|v| (v + 1.0 / 3.0).abs() < 1e-6), "{name} {value}: {values}"),
                "svm" => assert!(values.iter().all(|v| v.abs() <= 1.0), "{name} {value}: {values}"),
                _ => assert!(values.iter().all(|&v| v == 0.0), "{name} {value}: {values}"),
            }
        }
        let none = klda::Klda::new(Default::default()).unwrap().embed(k.view(), &[0, 0, 1, 1, 2, 2]).unwrap();
        assert!(none.transform(k.view()).unwrap().iter().all(|v| v.abs() < 1e-3), "{:?}", none);
        assert_eq!(kpca::Kpca::new(Default::default()).unwrap().embed(k.view()).unwrap().embedding.dims(), 0);
    }
    for n in [258, 261, 400] {
        let k = Array2::from_elem((n, n), 1.0);
        assert_eq!(kpca::Kpca::new(Default::default()).unwrap().embed(k.view()).unwrap().embedding.dims(), 0, "{n}");
    }
    // No variance is above zero.
    let negative = Array2::from_elem((300, 300), 1.0) - Array2::<f64>::eye(300);
    assert!(kpca::Kpca::new(Default::default()).unwrap().embed(negative.view()).is_ok());
}

#[test]
fn denormal_kernel_values_give_finite_decisions() {
    // Denormal numbers, whose products are zero.
    for k in [Array2::eye(6) * 1e-310, Array2::from_elem((6, 6), 1e-310), Array2::eye(6) * f64::MIN_POSITIVE] {
        for name in machines() {
            let values = on_training(&fit(name, &k, &[1.0, 1.0, 1.0, -1.0, -1.0, -1.0]).unwrap(), &k);
            assert!(values.iter().all(|v| v.is_finite()), "{name}: {values}");
        }
        let machine = kdspe::Kdspe::new(kdspe::Params { iterations: 5, ..Default::default() }).unwrap();
        if let Ok(embedding) = machine.embed(k.view(), &[0, 0, 1, 1, 2, 2]) {
            assert!(embedding.coefficients.iter().all(|v| v.is_finite()));
        }
    }
}

#[test]
fn one_class_or_one_sample_is_an_error_or_the_documented_limit() {
    for (k, labels) in [(Array2::eye(3), vec![1.0; 3]), (Array2::eye(3), vec![-1.0; 3]), (array![[2.0]], vec![1.0])] {
        for name in machines() {
            let result = fit(name, &k, &labels);
            match (name, labels[0] > 0.0) {
                // A regression on equal labels is that label.
                ("krr", _) => {
                    let values = on_training(&result.unwrap(), &k);
                    assert!(values.iter().all(|v| (v - labels[0]).abs() < 1e-9), "{values}");
                }
                // A subspace of the target alone has a novelty, which is the least at the target.
                ("kpca", true) => {
                    let head = result.unwrap();
                    assert!(on_training(&head, &k).iter().all(|v| v.abs() < 1e-9));
                    let far = head.decision(Array2::zeros((1, k.nrows())).view(), array![5.0].view()).unwrap();
                    assert!(far[0] < -4.9, "{far}");
                }
                _ => assert!(matches!(result, Err(Error::Samples { .. })), "{name}: {result:?}"),
            }
        }
    }
    // One sample of each class is the minimum.
    for name in machines() {
        let k = array![[1.0, 0.3], [0.3, 1.0]];
        let values = on_training(&fit(name, &k, &[1.0, -1.0]).unwrap(), &k);
        // The embedding of sparse weights needs two of a kind.
        assert!(name == "kdspe" || (values[0] > 0.5 && values[1] < -0.5), "{name}: {values}");
    }
}

#[test]
fn an_exemplar_in_the_span_of_the_negatives_has_no_own_weight() {
    // Four negatives span the plane in which the exemplar lies.
    let x = array![[0.1, 0.2], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.5], [0.5, -1.0]];
    let k = gram(Kernel::Linear, x.view()).unwrap();
    let head = fit("slem", &k, &[1.0, -1.0, -1.0, -1.0, -1.0]).unwrap();
    assert_eq!(head.linear().alpha[0], 0.0);
    let values = on_training(&head, &k);
    assert!((values[0] - 1.0).abs() < 1e-9 && values.iter().all(|v| v.is_finite()), "{values}");
    let encoder = slem::Slem::new(Default::default()).unwrap().encoder(k.slice(ndarray::s![1.., 1..])).unwrap();
    let encoding = encoder.encode(&k.slice(ndarray::s![0, 1..]).to_vec(), k[[0, 0]]).unwrap();
    assert_eq!((encoder.rank(), encoding.outside()), (2, 0.0));
    assert_eq!(encoder.coefficients(&encoding).0, 0.0);
    assert!(encoder.encode(&[1.0], 1.0).is_err());
    assert!(encoder.encode(&[f64::NAN; 4], 1.0).is_err());
    assert!(encoder.encode(&[0.0; 4], -1.0).is_err());
    // Squares that overflow would have put it into the span.
    assert!(encoder.encode(&[1e200; 4], 1e300).is_err());
}

#[test]
fn parameters_are_checked_and_named() {
    for (name, settings, says) in [
        ("svm", json!({"c": 0.0}), "svm.c"),
        ("svm", json!({"c": -1.0}), "svm.c"),
        ("svm", json!({"tolerance": 0.0}), "svm.tolerance"),
        ("svm", json!({"max-steps": 0}), "svm.max-steps"),
        ("krr", json!({"lambda": 0.0}), "krr.lambda"),
        ("klda", json!({"eps": -0.1}), "klda.eps"),
        ("klda", json!({"ridge": "none"}), "gram"),
        ("kpca", json!({"rank": 0}), "kpca.rank"),
        ("slem", json!({"theta": 0.0}), "slem.theta"),
        ("slem", json!({"lambda": 0.0}), "slem.lambda"),
        ("kdspe", json!({"dims": 0}), "kdspe.dims"),
        ("kdspe", json!({"eps": 0.0}), "kdspe.eps"),
        ("kdspe", json!({"gamma": 1.0}), "gamma"),
        ("krr", json!({"lambda": "much"}), "lambda"),
        ("krr", json!([1, 2, 3]), "krr"),
        ("svm", json!([]), "an object of settings"),
        ("rvm", Value::Null, "krr, svm, klda, kpca, slem, kdspe"),
    ] {
        let error = from_name(name, &settings).unwrap_err();
        assert!(matches!(error, Error::Parameter { .. } | Error::Setting { .. }), "{error:?}");
        assert!(error.to_string().contains(says), "{name}: {error}");
    }
}

#[test]
fn decisions_check_their_input() {
    let k = Array2::eye(3);
    for name in machines() {
        let head = fit(name, &k, &[1.0, 1.0, -1.0]).unwrap();
        assert!(head.decision(Array2::zeros((2, 4)).view(), array![1.0, 1.0].view()).is_err());
        assert!(head.decision(Array2::zeros((2, 3)).view(), array![1.0].view()).is_err());
        assert!(head.decision(Array2::from_elem((1, 3), f64::NAN).view(), array![1.0].view()).is_err());
        // Unused kernel values of samples with themselves may be anything.
        let own = head.decision(Array2::zeros((1, 3)).view(), array![f64::NAN].view());
        assert_eq!(own.is_err(), matches!(&head, Head::Subspace(subspace) if subspace.own != 0.0), "{name}");
        assert!(head.decision(Array2::zeros((0, 3)).view(), array![].view()).unwrap().is_empty());
    }
    let novelty = kpca::Kpca::new(Default::default()).unwrap().embed(k.view()).unwrap();
    let said = |own: &[f64]| novelty.novelty(k.view(), own).unwrap_err().to_string();
    assert!(said(&[1.0]).contains("1 kernel values of samples with themselves for"), "{}", said(&[1.0]));
    let mut own = vec![1.0; k.nrows()];
    own[2] = f64::INFINITY;
    assert!(said(&own).contains("sample 2 with itself is inf"), "{}", said(&own));
    assert!(novelty.embedding.transform(Array2::zeros((1, 2)).view()).is_err());
    let x = array![[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]];
    assert!(preimage::denoise(&novelty, 0.5, x.view(), array![[1.0]].view()).is_err());
    assert!(preimage::denoise(&novelty, -0.5, x.view(), x.view()).is_err());
    assert!(preimage::denoise(&novelty, 0.5, x.slice(ndarray::s![..2, ..]), x.view()).is_err());
}

/// `1e200 · 1e200` overflows, and an affine form does not need it.
#[test]
fn an_affine_decision_needs_no_kernel_values_of_samples_with_themselves() {
    let train = array![[0.0, 1.0], [0.2, 0.9], [1.0, 0.0], [0.9, 0.1]];
    let k = gram(Kernel::Linear, train.view()).unwrap();
    let far = array![[1e200, 0.0], [0.0, 1e200]];
    let cross = cross_gram(Kernel::Linear, far.view(), train.view()).unwrap();
    let own = own_values(Kernel::Linear, far.view()).unwrap();
    assert_eq!(own, array![f64::INFINITY, f64::INFINITY]);
    for name in ["krr", "svm", "klda", "slem", "kdspe"] {
        let head = fit(name, &k, &[1.0, 1.0, -1.0, -1.0]).unwrap();
        let values = head.decision(cross.view(), own.view()).unwrap();
        assert!(values.iter().all(|v| v.is_finite() && v.abs() > 1e190), "{name}: {values}");
    }
    let novelty = fit("kpca", &k, &[1.0; 4]).unwrap();
    let error = novelty.decision(cross.view(), own.view()).unwrap_err();
    assert!(error.to_string().contains("sample 0 with itself is inf"), "{error}");
}

/// Decisions and embeddings of the machines, bit by bit: other languages' bindings are held to the same file.
/// `KCF_TRACK_BLESS=1` writes it anew.
const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/machines.json");
const SIGMA: f64 = 0.7;

fn bits<'v>(values: impl IntoIterator<Item = &'v f64>) -> Vec<String> {
    values.into_iter().map(|value| format!("{:016x}", value.to_bits())).collect()
}

/// Two moons of `n` samples with some noise, and their labels.
fn samples(n: usize, turn: f64) -> (Array2<f64>, Vec<f64>) {
    let label = |i: usize| if i.is_multiple_of(2) { 1.0 } else { -1.0 };
    let x = Array2::from_shape_fn((n, 3), |(i, j)| {
        let angle = 3.2 * (i as f64 + turn) / n as f64;
        let noise = 0.1 * libm::sin((i * 3 + j) as f64 * 12.9898 + turn);
        [libm::cos(angle) * label(i) + 0.5 * (1.0 - label(i)) / 2.0, libm::sin(angle) * label(i), 0.3 * angle][j]
            + noise
    });
    (x, (0..n).map(label).collect())
}

fn made() -> crate::Result<Value> {
    let kernel = Kernel::Gaussian { sigma: SIGMA };
    let ((train, labels), (test, _)) = (samples(24, 0.0), samples(11, 0.4));
    let (k, cross) = (gram(kernel, train.view())?, cross_gram(kernel, test.view(), train.view())?);
    let own = Array1::ones(test.nrows());
    // The classes as a language that sorts its labels numbers them.
    let classes: Vec<usize> = labels.iter().map(|label| usize::from(*label > 0.0)).collect();
    let mut cases = Vec::new();
    for (name, settings) in [
        ("krr", json!({ "lambda": 0.05 })),
        ("svm", json!({ "c": 2.0, "balance": false })),
        ("klda", json!({ "eps": 1e-3 })),
        ("kpca", json!({ "rank": 3 })),
        ("slem", json!({ "theta": 2.0 })),
        ("kdspe", json!({ "dims": 3 })),
    ] {
        let head = from_name(name, &settings)?.fit(&Samples::new(k.view(), &labels)?)?;
        let mut case = json!({ "name": name, "decision": bits(&head.decision(cross.view(), own.view())?) });
        let embedding = match name {
            "klda" => Some(Klda::new(klda::Params { eps: 1e-3, ..Default::default() })?.embed(k.view(), &classes)?),
            "kpca" => Some(Kpca::new(kpca::Params { rank: 3, ..Default::default() })?.embed(k.view())?.embedding),
            "kdspe" => {
                let params = kdspe::Params { dims: 3, ..Default::default() };
                Some(Kdspe::new(params)?.embed(k.view(), &classes)?)
            }
            _ => None,
        };
        if let Some(embedding) = embedding {
            case["embedding"] = bits(&embedding.transform(cross.view())?).into();
        }
        cases.push(case);
    }
    let rows = |x: &Array2<f64>| x.outer_iter().map(|row| row.to_vec()).collect::<Vec<_>>();
    Ok(json!({ "sigma": SIGMA, "train": rows(&train), "labels": labels, "test": rows(&test), "cases": cases }))
}

/// The matrix products of processors that cannot fuse a product and a sum are rounded once more.
#[test]
fn decisions_match_the_file_bit_by_bit() {
    let now = made().unwrap();
    if std::env::var_os("KCF_TRACK_BLESS").is_some() {
        std::fs::write(PATH, serde_json::to_string(&now).unwrap() + "\n").unwrap();
    }
    let file: Value = serde_json::from_str(&std::fs::read_to_string(PATH).unwrap()).unwrap();
    assert_eq!(file["train"], now["train"]);
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("fma") {
        assert_eq!(file, now);
    }
}

#[test]
fn names_are_read_back() {
    for &kind in MachineKind::ALL {
        assert_eq!(kind.name().parse::<MachineKind>().unwrap(), kind);
        assert_eq!(serde_json::to_value(kind).unwrap(), kind.to_string());
        assert_eq!(kind.params().kind(), kind);
        assert!(serde_json::to_value(kind.params()).unwrap()[kind.name()].is_object());
        kind.params().build().unwrap();
    }
    assert!("rbf".parse::<MachineKind>().unwrap_err().to_string().contains("krr, svm"));
}
