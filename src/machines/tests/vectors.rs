//! The machines against reference values of scikit-learn, cvxpy and dense NumPy (`tests/data/kernels/README.md`).

use std::path::PathBuf;

use nalgebra::{DMatrix, DVector};
use ndarray::{Array1, Array2, ArrayView2};
use serde_json::Value;

use crate::kernels::eigen::symmetric_eigen;
use crate::kernels::factor::PivotedCholesky;
use crate::kernels::gram::{Centring, from_matrix, to_matrix};
use crate::kernels::{Kernel, cross_gram, gram};
use crate::machines::kdspe::{self, Kdspe, discriminative, within_class};
use crate::machines::klda::{Klda, Ridge};
use crate::machines::kpca::Kpca;
use crate::machines::krr::Krr;
use crate::machines::slem::Slem;
use crate::machines::svm::Svm;
use crate::machines::*;

pub(crate) fn load(name: &str) -> Value {
    let folder = std::env::var_os("KCF_TRACK_KERNEL_VECTORS")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/kernels"), PathBuf::from);
    serde_json::from_str(&std::fs::read_to_string(folder.join(name).with_extension("json")).unwrap()).unwrap()
}

pub(crate) fn vector(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(items) => items.iter().flat_map(vector).collect(),
        other => vec![other.as_f64().unwrap()],
    }
}

pub(crate) fn matrix(value: &Value) -> Array2<f64> {
    let rows = value.as_array().unwrap();
    let values: Vec<f64> = vector(value);
    Array2::from_shape_vec((rows.len(), values.len() / rows.len()), values).unwrap()
}

#[track_caller]
pub(crate) fn close<'a>(a: impl IntoIterator<Item = &'a f64>, b: impl IntoIterator<Item = &'a f64>, tolerance: f64) {
    let (a, b): (Vec<&f64>, Vec<&f64>) = (a.into_iter().collect(), b.into_iter().collect());
    assert_eq!(a.len(), b.len());
    let worst = a.iter().zip(&b).map(|(a, b)| (*a - *b).abs()).fold(0.0, f64::max);
    assert!(worst <= tolerance, "{worst:e} > {tolerance:e}");
}

/// The points that most of the values belong to.
struct Points {
    x: Array2<f64>,
    t: Array2<f64>,
    y: Vec<f64>,
    kernel: Kernel,
}

impl Points {
    fn new() -> Self {
        let f = load("kernels");
        let kernel = Kernel::Gaussian { sigma: f["sigma"].as_f64().unwrap() };
        Self { x: matrix(&f["X"]), t: matrix(&f["T"]), y: vector(&f["y"]), kernel }
    }

    fn train(&self) -> Array2<f64> {
        gram(self.kernel, self.x.view()).unwrap()
    }

    fn test(&self) -> Array2<f64> {
        cross_gram(self.kernel, self.t.view(), self.x.view()).unwrap()
    }

    fn samples(&self, gram: ArrayView2<f64>) -> Samples {
        Samples::new(gram, &self.y).unwrap()
    }

    fn classes(&self) -> Vec<usize> {
        self.y.iter().map(|&y| usize::from(y > 0.0)).collect()
    }
}

/// `(a·b γ + c)^d` of unscaled inner products: the kernel of D features with its inner product stretched by `γ D`.
fn poly(gamma: f64, c: f64, d: u32, a: ArrayView2<f64>, b: ArrayView2<f64>) -> Array2<f64> {
    let stretch = (gamma * a.ncols() as f64).sqrt();
    cross_gram(Kernel::Polynomial { a: c, b: d }, (&a * stretch).view(), (&b * stretch).view()).unwrap()
}

fn decide(head: &Head, cross: &Array2<f64>) -> Array1<f64> {
    head.decision(cross.view(), Array1::ones(cross.nrows()).view()).unwrap()
}

#[test]
fn kernel_functions() {
    let (p, f) = (Points::new(), load("kernels"));
    close(&p.train(), &vector(&f["gauss_train"]), 1e-12);
    close(&p.test(), &vector(&f["gauss_test"]), 1e-12);
    // exp(-d² / 2s²) is the bandwidth s √(2 / D).
    let sigma = f["gauss_2s2"]["sigma"].as_f64().unwrap() * (2.0 / p.x.ncols() as f64).sqrt();
    let other = cross_gram(Kernel::Gaussian { sigma }, p.t.view(), p.x.view()).unwrap();
    close(&other, &vector(&f["gauss_2s2"]["test"]), 1e-12);
    let linear = cross_gram(Kernel::Linear, p.t.view(), p.x.view()).unwrap() * p.x.ncols() as f64;
    close(&linear, &vector(&f["linear_test"]), 1e-12);
    let cubic = cross_gram(Kernel::Polynomial { a: 1.0, b: 3 }, p.t.view(), p.x.view()).unwrap();
    close(&cubic, &vector(&f["poly"]["test"]), 1e-12);
    close(&poly(1.0, 1.0, 2, p.x.view(), p.x.view()), &vector(&f["poly_cov"]["train"]), 1e-12);
}

#[test]
fn centring() {
    let (p, f) = (Points::new(), load("centering"));
    let (k, t) = (to_matrix(p.train().view()), to_matrix(p.test().view()));
    let weights = vector(&f["weights"]);
    for (weights, train, test) in [(vec![1.0; weights.len()], "Kc", "Kt_c"), (weights, "Kc_weighted", "Kt_c_weighted")]
    {
        let centring = Centring::new(&k, &DVector::from_vec(weights));
        close(&from_matrix(&centring.train(&k)), &vector(&f[train]), 1e-12);
        close(&from_matrix(&centring.test(&t)), &vector(&f[test]), 1e-12);
    }
}

#[test]
fn kernel_principal_components() {
    let (p, f) = (Points::new(), load("kpca"));
    let rank = f["r"].as_u64().unwrap() as usize;
    let found = Kpca::new(kpca::Params { rank, two_class: false }).unwrap().embed(p.train().view()).unwrap();
    close(&(&found.embedding.values * p.y.len() as f64), &vector(&f["eigenvalues"]), 1e-9);
    for (cross, expected) in [(p.train(), "abs_projections_train"), (p.test(), "abs_projections_test")] {
        let projections = found.embedding.transform(cross.view()).unwrap();
        close(&projections.mapv(f64::abs), &vector(&f[expected]), 1e-9);
    }
    let novelty = found.novelty(p.test().view(), &vec![1.0; p.t.nrows()]).unwrap();
    close(&novelty, &vector(&f["novelty_test"]), 1e-9);
    // The head of the one-class detector is minus that novelty.
    let all = Samples::new(p.train().view(), &vec![1.0; p.y.len()]).unwrap();
    let head = Kpca::new(kpca::Params { rank, two_class: true }).unwrap().fit(&all).unwrap();
    close(&decide(&head, &p.test()), &novelty.mapv(|v| -v), 1e-9);
    // All cyclic shifts of a signal: Fourier modes.
    let x = vector(&f["circulant"]["x"]);
    let n = x.len();
    let shifts = Array2::from_shape_fn((n, n), |(i, j)| x[(j + n - i) % n]);
    let k = gram(Kernel::Gaussian { sigma: f["circulant"]["sigma"].as_f64().unwrap() }, shifts.view()).unwrap();
    let (values, _) = symmetric_eigen(to_matrix(k.view())).unwrap();
    close(values.as_slice(), &vector(&f["circulant"]["eigenvalues"]), 1e-9);
}

#[test]
fn support_vector_machines() {
    let (p, f) = (Points::new(), load("svm"));
    let problems = &f["problems"];
    let per_feature = p.x.ncols() as f64;
    let linear = |a: &Array2<f64>| cross_gram(Kernel::Linear, a.view(), p.x.view()).unwrap() * per_feature;
    let square = |a: &Array2<f64>| poly(0.2, 1.0, 2, a.view(), p.x.view());
    for (name, train, test) in [
        ("linear", linear(&p.x), linear(&p.t)),
        ("poly2", square(&p.x), square(&p.t)),
        ("gauss", p.train(), p.test()),
        ("gauss_weighted", p.train(), p.test()),
    ] {
        let problem = &problems[name];
        let samples = p.samples(train.view()).with_weights(&vector(&problem["C"])).unwrap();
        let params = svm::Params { c: 1.0, balance: false, tolerance: 1e-10, ..Default::default() };
        let machine = Svm::new(params).unwrap();
        let head = machine.fit(&samples).unwrap();
        let alpha = &head.linear().alpha;
        close(alpha, &vector(&problem["dual_coef"]), 1e-5);
        assert!((head.linear().bias - problem["bias"].as_f64().unwrap()).abs() < 1e-5, "{name}");
        close(&decide(&head, &test), &vector(&problem["decision_test"]), 1e-5);
        let objective = 0.5 * alpha.dot(&train.dot(alpha)) - alpha.mapv(f64::abs).sum();
        assert!((objective - problem["dual_objective"].as_f64().unwrap()).abs() < 1e-8, "{name}");
        assert_eq!(head.support().len() as u64, problem["n_sv"].as_u64().unwrap(), "{name}");
        // Started from its own solution it has a few steps to go for the rounding of the start, and stays.
        let again = Svm::new(svm::Params { max_steps: 20, ..params }).unwrap();
        let warm = again.fit(&samples.with_start(alpha.as_slice().unwrap()).unwrap()).unwrap();
        close(&warm.linear().alpha, alpha, 1e-7);
    }
}

#[test]
fn kernel_ridge_regression() {
    let (p, f) = (Points::new(), load("krr"));
    let lambda = f["lambda_"].as_f64().unwrap();
    let samples = p.samples(p.train().view());
    let head = Krr::new(krr::Params { lambda, bias: false }).unwrap().fit(&samples).unwrap();
    close(&head.linear().alpha, &vector(&f["alpha"]), 1e-9);
    close(&decide(&head, &p.test()), &vector(&f["pred_test"]), 1e-9);
    let weighted = &f["weighted"];
    let samples = samples.with_weights(&vector(&weighted["w"])).unwrap();
    let head = Krr::new(krr::Params { lambda, bias: true }).unwrap().fit(&samples).unwrap();
    close(&head.linear().alpha, &vector(&weighted["alpha"]), 1e-9);
    close([&head.linear().bias], &vector(&weighted["bias"]), 1e-9);
    close(&decide(&head, &p.test()), &vector(&weighted["pred_test"]), 1e-9);
}

#[test]
fn kernel_fisher_discriminants() {
    let (p, f) = (Points::new(), load("klda"));
    let eps = f["eps"].as_f64().unwrap();
    for (ridge, expected) in [(Ridge::Identity, &f["reg_I"]), (Ridge::Gram, &f["reg_K"])] {
        let machine = Klda::new(klda::Params { eps, ridge, balance: false }).unwrap();
        let head = machine.fit(&p.samples(p.train().view())).unwrap();
        close(&head.linear().alpha, &vector(&expected["alpha"]), 1e-7);
        close([&head.linear().bias], &vector(&expected["bias"]), 1e-7);
        close(&decide(&head, &p.test()), &vector(&expected["scores_test"]), 1e-7);
        // The embedding of two classes has one coordinate, which is the same up to scale and origin.
        let embedding = machine.embed(p.train().view(), &p.classes()).unwrap();
        assert_eq!(embedding.dims(), 1);
        let y = embedding.transform(p.test().view()).unwrap().column(0).to_owned();
        let scores = Array1::from(vector(&expected["scores_test"]));
        let (y, scores) = (&y - y.mean().unwrap(), &scores - scores.mean().unwrap());
        close(&(&y * (y.dot(&scores) / y.dot(&y))), &scores, 1e-7);
    }
    let linear = |a: &Array2<f64>| cross_gram(Kernel::Linear, a.view(), p.x.view()).unwrap() * p.x.ncols() as f64;
    let machine = Klda::new(klda::Params { eps: 1e-9, ridge: Ridge::Gram, balance: false }).unwrap();
    let head = machine.fit(&p.samples(linear(&p.x).view())).unwrap();
    close(&decide(&head, &linear(&p.t)), &vector(&f["linear_sklearn"]["scores_test"]), 1e-5);
}

#[test]
fn exemplar_machines() {
    let f = load("slem");
    let kernel = Points::new().kernel;
    let number = |value: &Value| value.as_f64().unwrap();
    let machine =
        Slem::new(slem::Params { theta: number(&f["theta"]), lambda: number(&f["lambda_"]), ..Default::default() })
            .unwrap();
    for (name, case) in f["cases"].as_object().unwrap() {
        let negatives = matrix(&case["X_neg"]);
        let of = |a: ArrayView2<f64>| match name.as_str() {
            "gauss" => cross_gram(kernel, a, negatives.view()).unwrap(),
            _ => poly(0.3, 1.0, 2, a, negatives.view()),
        };
        let k = of(negatives.view());
        let encoder = machine.encoder(k.view()).unwrap();
        assert_eq!(encoder.rank() as u64, case["rank"].as_u64().unwrap(), "{name}");
        for exemplar in case["exemplars"].as_array().unwrap() {
            let (k0, own) = (vector(&exemplar["k0"]), number(&exemplar["k00"]));
            let encoding = encoder.encode(&k0, own).unwrap();
            close([&encoding.constant()], &vector(&exemplar["nu"]), 1e-7);
            close([&encoding.outside()], &vector(&exemplar["u"]), 1e-7);
            let (alpha0, alpha) = encoder.coefficients(&encoding);
            let (alpha, k0) = (Array1::from(alpha), Array1::from(k0));
            let mut decisions = vec![alpha0 * own + k0.dot(&alpha) + encoding.constant()];
            decisions.extend(k.dot(&alpha) + &k0 * alpha0 + encoding.constant());
            close(&decisions, &vector(&exemplar["f_train"]), 1e-6);
        }
    }
}

#[test]
fn reconstruction_weights_and_their_embedding() {
    let (p, f) = (Points::new(), load("dspe"));
    let per_feature = p.x.ncols() as f64;
    let linear = |a: &Array2<f64>| cross_gram(Kernel::Linear, a.view(), p.x.view()).unwrap() * per_feature;
    for (name, train, test) in [("linear", linear(&p.x), linear(&p.t)), ("gauss", p.train(), p.test())] {
        let expected = &f[name];
        let [ridge, tau, eps] = ["ridge", "l1", "eps"].map(|field| expected[field].as_f64().unwrap());
        let members = classes_of(&p.classes(), p.y.len()).unwrap();
        let params = kdspe::Params { tau, ridge, iterations: 5000, ..kdspe::Params::default() };
        let d = discriminative(&to_matrix(train.view()), &members, &params).unwrap();
        close(&from_matrix(&d), &vector(&expected["D_columns"]), 1e-4);
        let m = &d + d.transpose() - &d * d.transpose();
        close(&from_matrix(&m), &vector(&expected["M"]), 1e-3);
        // A constant is reconstructed perfectly: the direction that centring takes out.
        assert!((m * DMatrix::from_element(p.y.len(), 1, 1.0)).add_scalar(-1.0).amax() < 1e-9);
        let params = kdspe::Params { dims: 3, ridge, tau, iterations: 5000, eps, ..Default::default() };
        let machine = Kdspe::new(params).unwrap();
        let embedding = machine.embed(train.view(), &p.classes()).unwrap();
        close(&embedding.values, &vector(&expected["eigenvalues"]), 1e-4);
        let y = embedding.transform(test.view()).unwrap();
        close(&y.mapv(f64::abs), &vector(&expected["abs_embedding_test"]), 1e-3);
    }
}

/// The two problems are said to share their minimum: with a constraint they do not, so the weights are solved for
/// exactly.
#[test]
fn least_squares_is_another_after_a_multiplication_by_the_gram_matrix() {
    let (p, f) = (Points::new(), &load("dspe")["counterexample"]);
    let own: Vec<usize> = (0..p.y.len()).filter(|&i| p.y[i] > 0.0).collect();
    let k = to_matrix(p.train().view()).select_rows(&own).select_columns(&own);
    let t: Vec<f64> = within_class(&k, 1e-13).unwrap().column(0).iter().skip(1).copied().collect();
    close(&t, &vector(&f["t_exact"]), 1e-6);
    let remains = |t: &[f64]| {
        let full = DVector::from_iterator(own.len(), [-1.0].into_iter().chain(t.iter().copied()));
        (&k * &full).dot(&full)
    };
    let multiplied = vector(&f["t_gram"]);
    close([&remains(&t)], &vector(&f["res_exact"]), 1e-9);
    close([&remains(&multiplied)], &vector(&f["res_gram"]), 1e-9);
    assert!(remains(&t) < remains(&multiplied));
}

#[test]
fn all_shifts_of_a_patch() {
    let f = load("circulant");
    let [rows, cols, channels]: [usize; 3] =
        vector(&f["shape"]).iter().map(|&v| v as usize).collect::<Vec<_>>().try_into().unwrap();
    let x = vector(&f["x"]);
    let value = |i: usize, j: usize, c: usize| x[(i % rows * cols + j % cols) * channels + c];
    let shifts = Array2::from_shape_fn((rows * cols, x.len()), |(shift, at)| {
        let (pixel, c) = (at / channels, at % channels);
        value(rows + pixel / cols - shift / cols, cols + pixel % cols - shift % cols, c)
    });
    let k = gram(Kernel::Gaussian { sigma: f["sigma"].as_f64().unwrap() }, shifts.view()).unwrap();
    let lambda = f["lambda_"].as_f64().unwrap();
    let labels = vec![1.0; rows * cols];
    let samples = Samples::new(k.view(), &labels).unwrap().with_soft_labels(&vector(&f["labels"])).unwrap();
    let head = Krr::new(krr::Params { lambda, bias: false }).unwrap().fit(&samples).unwrap();
    close(&head.linear().alpha, &vector(&f["alpha"]), 1e-8);
    let theta = f["slem"]["theta"].as_f64().unwrap();
    let machine = Slem::new(slem::Params { theta, lambda, tolerance: 1e-13 }).unwrap();
    let others = k.slice(ndarray::s![1.., 1..]);
    let encoder = machine.encoder(others).unwrap();
    let encoding = encoder.encode(&k.slice(ndarray::s![0, 1..]).to_vec(), k[[0, 0]]).unwrap();
    close([&encoding.constant()], &vector(&f["slem"]["nu"]), 1e-8);
    let (alpha0, alpha) = encoder.coefficients(&encoding);
    close([&alpha0].into_iter().chain(&alpha), &vector(&f["slem"]["alpha"]), 1e-7);
}

#[test]
fn pivoted_cholesky() {
    let f = load("pchol");
    let k = to_matrix(Points::new().train().view());
    let factored = PivotedCholesky::new(&k, f["tol"].as_f64().unwrap()).unwrap();
    assert_eq!(factored.rank() as u64, f["rank"].as_u64().unwrap());
    close(factored.pivots.iter().map(|&i| i as f64).collect::<Vec<_>>().iter(), &vector(&f["pivots"]), 0.0);
    close(&from_matrix(factored.factor()), &vector(&f["B"]), 1e-9);
    let error = (factored.factor() * factored.factor().transpose() - k).amax();
    close([&error], &vector(&f["max_err"]), 1e-9);
}
