//! Fits a machine to the rows of one table and applies it to the rows of another.
//!
//! ```text
//! cargo run --release --example machines -- gram svm train.csv test.csv \
//!     --kernel '{"gaussian":{"sigma":0.3}}' --settings '{"c":10}'
//! ```
//!
//! A line of a table is a label (+1 or -1) and the feature values of a sample; the labels of the second are not looked
//! at. One line is printed per test sample: its decision value, or with `--embed` its coordinates (kpca, and klda and
//! kdspe with whole numbers as classes).

use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use clap::Args as Flags;
use kcf_track::kernels::{Kernel, cross_gram, gram};
use kcf_track::machines::{Samples, from_name, kdspe, klda, kpca};
use ndarray::{Array1, Array2, ArrayView2, Axis};
use serde_json::Value;

#[derive(Flags)]
pub struct Args {
    /// krr, svm, klda, kpca, slem or kdspe
    machine: String,
    /// The samples to learn from
    train: PathBuf,
    /// The samples to decide on
    test: PathBuf,
    /// The kernel, as JSON
    #[arg(long, default_value = r#"{"gaussian":{"sigma":0.5}}"#)]
    kernel: String,
    /// Parameters of the machine that are not the default, as JSON
    #[arg(long, default_value = "null")]
    settings: String,
    /// Print coordinates instead of decisions
    #[arg(long)]
    embed: bool,
}

fn table(path: &Path) -> anyhow::Result<(Vec<f64>, Array2<f64>)> {
    let place = || path.display().to_string();
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_path(path).with_context(place)?;
    let (mut labels, mut values) = (Vec::new(), Vec::new());
    for record in reader.records() {
        for (column, field) in record.with_context(place)?.iter().enumerate() {
            let value: f64 = field.trim().parse().with_context(|| format!("{}: {field:?} is not a number", place()))?;
            if column == 0 { labels.push(value) } else { values.push(value) }
        }
    }
    ensure!(!labels.is_empty(), "{}: no samples", place());
    let columns = values.len() / labels.len();
    Ok((labels.clone(), Array2::from_shape_vec((labels.len(), columns), values).with_context(place)?))
}

/// The kernel values of samples with themselves.
fn own(kernel: Kernel, samples: &Array2<f64>) -> anyhow::Result<Array1<f64>> {
    let each = samples.axis_chunks_iter(Axis(0), 1).map(|row| Ok(cross_gram(kernel, row, row)?[[0, 0]]));
    each.collect()
}

fn coordinates(
    args: &Args,
    settings: Value,
    k: ArrayView2<f64>,
    labels: &[f64],
) -> anyhow::Result<kcf_track::machines::Embedding> {
    let classes: Vec<usize> = labels.iter().map(|&label| (label + 1.0) as usize).collect();
    let settings = if settings.is_null() { serde_json::json!({}) } else { settings };
    Ok(match args.machine.as_str() {
        "kpca" => kpca::Kpca::new(serde_json::from_value(settings)?)?.embed(k)?.embedding,
        "klda" => klda::Klda::new(serde_json::from_value(settings)?)?.embed(k, &classes)?,
        "kdspe" => kdspe::Kdspe::new(serde_json::from_value(settings)?)?.embed(k, &classes)?,
        other => bail!("{other} has no coordinates: kpca, klda and kdspe have"),
    })
}

pub fn run(args: &Args) -> anyhow::Result<()> {
    let kernel: Kernel = serde_json::from_str(&args.kernel).context("--kernel")?;
    let settings: Value = serde_json::from_str(&args.settings).context("--settings")?;
    let (labels, train) = table(&args.train)?;
    let (_, test) = table(&args.test)?;
    let k = gram(kernel, train.view())?;
    let cross = cross_gram(kernel, test.view(), train.view())?;
    let rows = if args.embed {
        coordinates(args, settings, k.view(), &labels)?.transform(cross.view())?
    } else {
        let head = from_name(&args.machine, &settings)?.fit(&Samples::new(k.view(), &labels)?)?;
        head.decision(cross.view(), own(kernel, &test)?.view())?.insert_axis(Axis(1))
    };
    for row in rows.outer_iter() {
        // Seventeen digits: every bit.
        println!("{}", row.iter().map(|v| format!("{v:.16e}")).collect::<Vec<_>>().join(","));
    }
    Ok(())
}
