//! The sequence in `assets/demo` is what its scene file says.

use std::path::{Path, PathBuf};

use image::RgbImage;
use kcf_track::Channels;
use kcf_track::media::decode;
use kcf_track::synth::{Preset, Scene, SceneFile};

use crate::video::bytes;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo")
}

fn scene_file() -> SceneFile {
    serde_json::from_slice(&std::fs::read(folder().join("scene.json")).unwrap()).unwrap()
}

fn stored(index: usize) -> RgbImage {
    let picture = decode(folder().join(format!("img/{:04}.jpg", index + 1)), Channels::Color).unwrap();
    let frame = picture.as_frame();
    RgbImage::from_raw(frame.width() as u32, frame.height() as u32, bytes(&picture)).unwrap()
}

/// Root mean square difference, in gray levels.
fn difference(a: &RgbImage, b: &RgbImage) -> f64 {
    assert_eq!(a.dimensions(), b.dimensions());
    let squares: f64 = a.as_raw().iter().zip(b.as_raw()).map(|(a, b)| f64::from(a.abs_diff(*b)).powi(2)).sum();
    (squares / a.as_raw().len() as f64).sqrt()
}

#[test]
fn the_truth_is_the_scenes_to_the_last_digit() {
    let file = scene_file();
    assert_eq!(file.params, Preset::Demo.params());
    let scene = Scene::new(file.params).unwrap();
    assert_eq!(file.frames.len(), scene.frames());
    for (index, truth) in file.frames.iter().enumerate() {
        assert_eq!(truth, &scene.truth(index));
    }
    let boxes = std::fs::read_to_string(folder().join("groundtruth_rect.txt")).unwrap();
    assert_eq!(boxes.lines().count(), scene.frames());
    for (line, index) in boxes.lines().zip(0..) {
        let b = scene.truth(index).bbox;
        // OTB counts from 1.
        assert_eq!(line, format!("{:.4},{:.4},{:.4},{:.4}", b.x + 1.0, b.y + 1.0, b.w, b.h));
    }
}

#[test]
fn the_pictures_are_the_scenes_but_for_jpegs_loss() {
    let scene = Scene::new(scene_file().params).unwrap();
    for index in [0, 39, 77, scene.frames() - 1] {
        let picture = scene.render(index).0;
        let own = difference(&stored(index), &picture);
        let neighbour = difference(&stored(index), &scene.render(index + 2).0);
        assert!(own < 9.0, "frame {index}: {own}");
        assert!(own < neighbour, "frame {index}: {own}, {neighbour}");
    }
}
