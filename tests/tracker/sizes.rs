//! The box follows the size of the target and stays within bounds.

use image::{Rgb, RgbImage};
use kcf_track::machines::MachineKind;
use kcf_track::synth::{Preset, Scene, SceneParams};
use kcf_track::tracker::{GuardParams, WindowParams};
use kcf_track::{BBox, Frame, Params, Tracker};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg32;

use crate::robustness::{sides, size_is_bounded};
use crate::scene::{self, Clip, with_scale};

fn by_filter(params: Params) -> Params {
    with_scale(params, "filter")
}

fn preset(name: &str) -> Params {
    Params::preset(name).unwrap()
}

fn track(params: &Params, clip: &Clip) -> Vec<BBox> {
    scene::track(params, clip.colour.iter().map(|frame| Frame::try_from(frame).unwrap()), clip.truth[0])
}

fn mean_overlap(boxes: &[BBox], clip: &Clip) -> f64 {
    boxes.iter().zip(&clip.truth).map(|(found, truth)| found.overlap(truth)).sum::<f64>() / boxes.len() as f64
}

#[test]
fn every_search_follows_a_target_that_grows_and_shrinks() {
    let clip = Clip::render(SceneParams { frames: 90, scale: 0.6, ..Preset::Easy.params() });
    let sizes = clip.truth.iter().map(|truth| truth.w / clip.truth[0].w);
    assert!(sizes.clone().fold(0.0, f64::max) > 1.3, "the target changes its size");
    let mut all: Vec<(String, Params)> = ["robust", "fast", "paper", "paper-gray", "paper-dcf"]
        .map(|name| (name.to_owned(), preset(name)))
        .into_iter()
        // kpca loses this target, with or without scale.
        .chain(MachineKind::ALL.iter().filter(|&&kind| kind != MachineKind::Kpca).map(|&kind| {
            let params: Params = WindowParams::of(kind).into();
            (kind.to_string(), params)
        }))
        .collect();
    for kind in MachineKind::all_guards() {
        all.push((format!("guard {kind}"), preset("fast").guarded(GuardParams::of(kind))));
    }
    for (name, params) in all {
        let frozen = mean_overlap(&track(&with_scale(params.clone(), "none"), &clip), &clip);
        let followed = mean_overlap(&track(&by_filter(params), &clip), &clip);
        assert!(followed > 0.85 && followed > frozen + 0.05, "{name}: {followed}, without {frozen}");
    }
}

/// Largest relative change of the sides and of the aspect ratio of a still target's box.
fn drift(params: &Params, frames: usize) -> f64 {
    let still = SceneParams {
        motion: 0.0,
        width: 160,
        height: 120,
        target_width: 28,
        target_height: 34,
        noise: 4.0,
        ..SceneParams::default()
    };
    let clip = Clip::render(SceneParams { frames: 25, ..still });
    let mut tracker = Tracker::new(params.clone()).unwrap();
    tracker.init(Frame::try_from(&clip.colour[0]).unwrap(), clip.truth[0]).unwrap();
    // In random order, so that a filter cannot learn the noise.
    let mut order = 12_345_u64;
    let mut largest = 0.0_f64;
    for _ in 0..frames {
        order = order.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let frame = &clip.colour[(order >> 33) as usize % clip.colour.len()];
        let found = tracker.update(Frame::try_from(frame).unwrap()).unwrap().bbox;
        assert!(found.overlap(&clip.truth[0]) > 0.8, "{found}");
        let (wider, higher) = (found.w / clip.truth[0].w, found.h / clip.truth[0].h);
        largest = [wider, higher, wider / higher].iter().fold(largest, |most, v| most.max((v - 1.0).abs()));
    }
    largest
}

fn sized() -> [(&'static str, Params); 4] {
    [
        ("robust", preset("robust")),
        ("fast", preset("fast")),
        ("paper by a filter", by_filter(preset("paper"))),
        ("krr", by_filter(WindowParams::of(MachineKind::Krr).into())),
    ]
}

#[test]
fn a_still_target_keeps_its_size() {
    for (name, params) in sized() {
        let frames = if name == "krr" { 100 } else { 300 };
        let drift = drift(&params, frames);
        assert!(drift < 0.01, "{name}: {drift}");
    }
}

/// A uniform target shows its size by its edge, or not at all.
#[test]
fn the_size_does_not_run_away_on_a_uniform_target() {
    let params = SceneParams { width: 200, height: 150, target_width: 60, target_height: 50, ..SceneParams::default() };
    let scene = Scene::new(params).unwrap();
    let mut rng = Pcg32::seed_from_u64(1);
    let mut picture = |b: BBox| {
        // The outline of a scene's target, softened over a pixel, and the noise of its sensor.
        RgbImage::from_fn(200, 150, |x, y| {
            let (u, v) = ((f64::from(x) + 0.5 - b.x) / b.w * 2.0 - 1.0, (f64::from(y) + 0.5 - b.y) / b.h * 2.0 - 1.0);
            let radius = (u.powi(4) + v.powi(4)).powf(0.25);
            let cover = (0.5 - (radius - 1.0) * 25.0).clamp(0.0, 1.0);
            Rgb([0; 3].map(|_: u8| (90.0 + 70.0 * cover + rng.random_range(-2.6..2.6)) as u8))
        })
    };
    let pictures: Vec<RgbImage> = (0..60).map(|index| picture(scene.truth(index).bbox)).collect();
    let truth = scene.truth(0).bbox;
    let inside = BBox::new(truth.x + 0.3 * truth.w, truth.y + 0.3 * truth.h, 0.4 * truth.w, 0.4 * truth.h);
    for (name, params) in sized() {
        for initial in [truth, inside] {
            let mut tracker = Tracker::new(params.clone()).unwrap();
            tracker.init(Frame::try_from(&pictures[0]).unwrap(), initial).unwrap();
            let mut grown = 1.0;
            for round in 0..3 {
                // Forwards and backwards, so that the target does not jump.
                for i in 0..pictures.len() {
                    let frame = &pictures[if round % 2 == 0 { i } else { pictures.len() - 1 - i }];
                    let found = tracker.update(Frame::try_from(frame).unwrap()).unwrap();
                    assert!(size_is_bounded(&params, (200, 150), &initial, &found), "{name}, {initial}: {found:?}");
                    grown = sides(&found).0 / initial.w;
                }
                assert!((0.5..2.0).contains(&grown), "{name}, {initial}, round {round}: {grown}");
            }
        }
    }
}
