//! The first eight kernel principal components of three clusters, after the figure of Schölkopf, Smola & Müller (1998).
//!
//! `cargo run --release --example machines -- kernel-pca [FOLDER]` writes `kernel-pca.png`. The first two components
//! tell the clusters apart, the next three split them one by one, and the last three split each again at a right angle.
//! Linear PCA would have two components, both ramps.

use std::f64::consts::TAU;
use std::path::Path;

use super::plot::{Figure, View};
use kcf_track::kernels::{Kernel, cross_gram, gram};
use kcf_track::machines::kpca;
use ndarray::Array2;
use rand::{RngExt, SeedableRng};

const PANEL: usize = 300;
const EACH: usize = 30;

pub fn run(folder: &Path) -> anyhow::Result<()> {
    // Of many draws, one whose clusters lie well apart: the components then separate as in the textbook figure.
    let mut rng = rand_pcg::Pcg64Mcg::seed_from_u64(187);
    let centres = [[-0.5, -0.2], [0.0, 0.6], [0.5, 0.0]];
    let mut points = Array2::zeros((3 * EACH, 2));
    for (i, mut point) in points.outer_iter_mut().enumerate() {
        for (value, centre) in point.iter_mut().zip(centres[i / EACH]) {
            let (u, v): (f64, f64) = (rng.random_range(f64::MIN_POSITIVE..1.0), rng.random_range(0.0..TAU));
            *value = centre + 0.1 * (-2.0 * u.ln()).sqrt() * v.cos();
        }
    }
    // exp(-‖x - y‖² / 0.1) in two dimensions.
    let kernel = Kernel::Gaussian { sigma: 0.05f64.sqrt() };
    let machine = kpca::Kpca::new(kpca::Params { rank: 8, two_class: false })?;
    let components = machine.embed(gram(kernel, points.view())?.view())?.embedding;

    let view = View { x: (-1.0, 1.0), y: (-0.75, 1.25) };
    let surfaces = components.transform(cross_gram(kernel, view.grid(PANEL).view(), points.view())?.view())?;
    let on_points = components.transform(gram(kernel, points.view())?.view())?;
    let mut figure = Figure::new(2, 4, PANEL, "Kernel PCA of three clusters, exp(-‖x - y‖² / 0.1)")?;
    for (index, surface) in surfaces.columns().into_iter().enumerate() {
        // The sign of an eigenvector is free: let the point furthest from zero be bright.
        let extreme =
            on_points.column(index).iter().copied().fold(0.0f64, |a, b| if b.abs() > a.abs() { b } else { a });
        let values: Vec<f64> = surface.iter().map(|v| v * extreme.signum()).collect();
        let (low, high) = values.iter().fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(*v), h.max(*v)));
        let bright = |value: f64| {
            let share = (value - low) / (high - low);
            [60.0 + 195.0 * share, 66.0 + 186.0 * share, 84.0 + 160.0 * share]
        };
        let levels: Vec<_> = (1..10).map(|i| (low + (high - low) * f64::from(i) / 10.0, 0.9, 0.75)).collect();
        let note = format!("eigenvalue {:.2}", components.values[index] * points.nrows() as f64);
        println!("component {}: {note}", index + 1);
        figure.surface(index, (&format!("{}", index + 1), &note), &values, bright, &levels);
        figure.points(index, view, &points, 1.6, |_| [255, 255, 255]);
    }
    figure.save(&folder.join("kernel-pca.png"))
}
