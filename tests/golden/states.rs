//! Boxes, states and confidences of a scene in colour, in which the target is covered, do not change.

use std::path::Path;

use kcf_track::synth::{Preset, SceneParams};
use kcf_track::{BBox, Estimate, Frame, Params, Tracker};

use crate::golden;
use crate::scene::{Clip, presets};

fn track<'f>(params: &Params, frames: impl IntoIterator<Item = Frame<'f>>, initial: BBox) -> Vec<Estimate> {
    let mut tracker = Tracker::new(params.clone()).unwrap();
    let mut begun = false;
    let step = |frame: Frame<'f>| match std::mem::replace(&mut begun, true) {
        false => tracker.init(frame, initial).unwrap(),
        true => tracker.update(frame).unwrap(),
    };
    frames.into_iter().map(step).collect()
}

/// Boxes too: colours have a say in these.
#[test]
fn states_of_a_scene_in_colour() {
    let clip = Clip::render(SceneParams { frames: 90, seed: 7, ..Preset::Hard.params() });
    let frames = || clip.colour.iter().map(|picture| Frame::try_from(picture).unwrap());
    let mut all: Vec<(&str, Params)> = presets().collect();
    if let Some(expert) = expert() {
        all.push(("expert", expert));
    }
    let runs: Vec<_> = all.iter().map(|(name, params)| (*name, track(params, frames(), clip.initial()))).collect();
    golden::check_states("scene-states.txt", runs.iter().map(|(name, estimates)| (*name, &estimates[..])));
    let boxes: Vec<(&str, Vec<BBox>)> = runs
        .iter()
        .map(|(name, estimates)| (*name, estimates.iter().map(|estimate| estimate.bbox).collect()))
        .collect();
    golden::check("scene-colour.txt", boxes.iter().map(|(name, boxes)| (*name, &boxes[..])));
}

/// The preset with the smallest networks there are.
fn expert() -> Option<Params> {
    let mut params = Params::default();
    if !cfg!(feature = "neural") {
        return None;
    }
    params.set("search", "expert").unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/networks");
    *params.search.model_mut().unwrap() = folder.to_str().unwrap().into();
    Some(params)
}
