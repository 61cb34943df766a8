//! The decisions of each kernel machine on two problems that are not linearly separable: two moons, and a clump in an annulus.
//!
//! `cargo run --release --example machines -- decision-surfaces [FOLDER]` writes `two-moons.png` and
//! `clump-and-annulus.png`. Orange is the target, blue the background; the thick line is where the decision is zero,
//! the thin ones where it is ±1. Large points are the samples that the decision depends on.

use std::f64::consts::{PI, TAU};
use std::path::Path;

use super::plot::{Figure, View, diverging};
use kcf_track::kernels::{Kernel, cross_gram, gram};
use kcf_track::machines::{Samples, from_name};
use ndarray::{Array1, Array2, Axis};
use rand::{Rng, RngExt, SeedableRng};
use serde_json::json;

const PANEL: usize = 380;

pub fn run(folder: &Path) -> anyhow::Result<()> {
    let moons = View { x: (-1.7, 2.7), y: (-2.0, 2.4) };
    draw(&folder.join("two-moons.png"), "Two moons", two_moons, moons, 0.35)?;
    let annulus = View { x: (-2.2, 2.2), y: (-2.2, 2.2) };
    draw(&folder.join("clump-and-annulus.png"), "Clump and annulus", clump_and_annulus, annulus, 0.5)
}

type Problem = fn(usize, u64) -> (Array2<f64>, Vec<f64>);

/// A normal number.
fn normal(rng: &mut impl Rng) -> f64 {
    let (u, v): (f64, f64) = (rng.random_range(f64::MIN_POSITIVE..1.0), rng.random_range(0.0..TAU));
    (-2.0 * u.ln()).sqrt() * v.cos()
}

fn two_moons(n: usize, seed: u64) -> (Array2<f64>, Vec<f64>) {
    let mut rng = rand_pcg::Pcg64Mcg::seed_from_u64(seed);
    let mut points = Array2::zeros((n, 2));
    for (i, mut point) in points.outer_iter_mut().enumerate() {
        let angle = rng.random_range(0.0..PI);
        let upper = i % 2 == 0;
        let (x, y) = if upper { (angle.cos(), angle.sin()) } else { (1.0 - angle.cos(), 0.5 - angle.sin()) };
        point[0] = x + 0.18 * normal(&mut rng);
        point[1] = y + 0.18 * normal(&mut rng);
    }
    (points, (0..n).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect())
}

fn clump_and_annulus(n: usize, seed: u64) -> (Array2<f64>, Vec<f64>) {
    let mut rng = rand_pcg::Pcg64Mcg::seed_from_u64(seed);
    let labels: Vec<f64> = (0..n).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
    let mut points = Array2::zeros((n, 2));
    for (mut point, label) in points.outer_iter_mut().zip(&labels) {
        let (angle, radius) = (rng.random_range(0.0..TAU), 1.35 + 0.18 * normal(&mut rng));
        let (x, y) = (normal(&mut rng), normal(&mut rng));
        point[0] = if *label > 0.0 { 0.38 * x } else { radius * angle.cos() };
        point[1] = if *label > 0.0 { 0.38 * y } else { radius * angle.sin() };
    }
    (points, labels)
}

fn draw(path: &Path, heading: &str, problem: Problem, view: View, sigma: f64) -> anyhow::Result<()> {
    let kernel = Kernel::Gaussian { sigma };
    let (train, labels) = problem(120, 3);
    let (test, truth) = problem(2000, 4);
    let samples = Samples::new(gram(kernel, train.view())?.view(), &labels)?;
    let heading = format!("{heading}: 120 samples, Gaussian kernel, σ = {sigma}");
    let mut figure = Figure::new(2, 3, PANEL, &heading)?;
    let machines = [
        ("krr", json!({ "lambda": 0.1 })),
        ("svm", json!({ "c": 1.0 })),
        ("klda", json!({ "eps": 0.01 })),
        ("kpca", json!({ "rank": 5 })),
        ("slem", json!({ "lambda": 0.05 })),
        ("kdspe", json!({ "dims": 12, "eps": 0.1, "iterations": 50 })),
    ];
    for (index, (name, settings)) in machines.iter().enumerate() {
        let head = from_name(name, settings)?.fit(&samples)?;
        let decide = |points: &Array2<f64>| -> anyhow::Result<Array1<f64>> {
            let cross = cross_gram(kernel, points.view(), train.view())?;
            Ok(head.decision(cross.view(), Array1::ones(points.nrows()).view())?)
        };
        let wrong = decide(&test)?.iter().zip(&truth).filter(|(value, label)| **value * **label <= 0.0).count();
        let surface = decide(&view.grid(PANEL))?;
        let share = 100.0 * wrong as f64 / truth.len() as f64;
        let note = format!("error {share:.1} %, {} of {} samples in use", head.support().len(), labels.len());
        println!("{name}: {note}");
        let levels = [(0.0, 2.2, 0.9), (1.0, 0.8, 0.4), (-1.0, 0.8, 0.4)];
        figure.surface(index, (name, &note), surface.as_slice().unwrap_or(&[]), |v| diverging(v, 1.6), &levels);
        let colour = |label: f64| if label > 0.0 { [250, 160, 60] } else { [100, 160, 235] };
        let support = head.support();
        let idle: Vec<usize> = (0..labels.len()).filter(|i| !support.contains(i)).collect();
        for (of, radius) in [(idle, 2.2), (support, 3.6)] {
            figure.points(index, view, &train.select(Axis(0), &of), radius, |i| colour(labels[of[i]]));
        }
    }
    figure.save(path)
}
