//! Decisions and embeddings of the machines, bit by bit, in `tests/data/machines.json`: other languages' bindings are
//! held to the same file. `KCF_TRACK_BLESS=1` writes it anew.

use crate::kernels::{Kernel, cross_gram, gram};
use crate::machines::kdspe::{self, Kdspe};
use crate::machines::klda::{self, Klda};
use crate::machines::kpca::{self, Kpca};
use crate::machines::{Samples, from_name};
use ndarray::{Array1, Array2};
use serde_json::{Value, json};

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
