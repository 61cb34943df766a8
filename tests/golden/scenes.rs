//! The boxes of every preset on the demo and on rendered scenes do not change (`tests/golden`).

use std::path::Path;

use kcf_track::BBox;
use kcf_track::media::{OpenOptions, Sequence, Source};
use kcf_track::synth::{Preset, SceneParams};

use crate::golden;
use crate::otb;
use crate::scene::{self, Clip, presets};

#[test]
fn the_demo() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo");
    let sequence = Sequence::open(folder, &OpenOptions::default()).unwrap();
    let runs: Vec<_> = presets().map(|(name, params)| (name, otb::track(&sequence, &params))).collect();
    golden::check("demo.txt", runs.iter().map(|(name, boxes)| (*name, &boxes[..])));
    // What is kept is worth keeping: the presets of HOG follow the target to the end.
    let last = sequence.info().truth.last().copied().flatten().unwrap();
    for (name, boxes) in &runs {
        let overlap = boxes.last().unwrap().overlap(&last);
        assert!(name.contains("gray") || overlap > 0.5, "{name}: {overlap}");
    }
}

/// All that a scene has, a target tracked at half size, and one whose window reaches over the border.
#[test]
fn rendered_scenes() {
    let scenes = [
        ("hard", SceneParams { frames: 60, seed: 7, ..Preset::Hard.params() }, None),
        ("large", SceneParams { frames: 30, target_width: 111, target_height: 101, ..Preset::Medium.params() }, None),
        (
            "border",
            SceneParams { frames: 30, camera: 2.0, ..Preset::Medium.params() },
            Some(BBox::new(-11.5, 190.0, 41.5, 60.0)),
        ),
    ];
    let mut runs: Vec<(String, Vec<BBox>)> = Vec::new();
    for (scene, params, initial) in scenes {
        let clip = Clip::render(params);
        let initial = initial.unwrap_or(clip.initial());
        for (name, params) in presets() {
            let frames = (0..clip.gray.len()).map(|i| clip.gray(i));
            runs.push((format!("{scene}/{name}"), scene::track(&params, frames, initial)));
        }
    }
    golden::check("scenes.txt", runs.iter().map(|(name, boxes)| (name.as_str(), &boxes[..])));
}
