//! Rendered scenes, held in memory.

#![allow(dead_code)] // not every test needs all of them

use image::RgbImage;
use kcf_track::run::Session;
use kcf_track::synth::{Scene, SceneParams};
use kcf_track::tracker::{FilterParams, SearchParams};
use kcf_track::{BBox, Frame, Params, Tracker};

/// Frames of one scene, in colour and gray, and the true boxes.
pub struct Clip {
    pub colour: Vec<RgbImage>,
    pub gray: Vec<Vec<u8>>,
    pub truth: Vec<BBox>,
    pub width: usize,
    pub height: usize,
}

impl Clip {
    pub fn render(params: SceneParams) -> Self {
        let (width, height) = (params.width as usize, params.height as usize);
        let (colour, truth): (Vec<_>, Vec<_>) = Scene::new(params).unwrap().iter().unzip();
        let gray = colour.iter().map(gray_of).collect();
        Self { colour, gray, truth: truth.into_iter().map(|truth| truth.bbox).collect(), width, height }
    }

    pub fn gray(&self, index: usize) -> Frame<'_> {
        Frame::gray(&self.gray[index], self.width, self.height).unwrap()
    }

    /// The first true box on whole pixels, as published labels are.
    pub fn initial(&self) -> BBox {
        let b = self.truth[0];
        BBox::new(b.x.round(), b.y.round(), b.w.round(), b.h.round())
    }
}

/// The gray values that the library sees in a picture.
pub fn gray_of(picture: &RgbImage) -> Vec<u8> {
    let frame = Frame::try_from(picture).unwrap();
    (0..frame.height()).flat_map(|y| (0..frame.width()).map(move |x| frame.gray_at(x, y))).collect()
}

/// The boxes of all frames, the first being the given one.
pub fn track<'f>(params: &Params, frames: impl IntoIterator<Item = Frame<'f>>, initial: BBox) -> Vec<BBox> {
    let mut session = Session::of(Tracker::new(params.clone()).unwrap(), 1, initial);
    (1..).zip(frames).map(|(position, frame)| session.feed(position, frame).unwrap()[0].bbox).collect()
}

/// All presets, by name.
pub fn presets() -> impl Iterator<Item = (&'static str, Params)> {
    Params::PRESETS.into_iter().map(|(name, _)| (name, Params::preset(name).unwrap()))
}

/// All presets of the paper, by name.
pub fn paper_presets() -> impl Iterator<Item = (&'static str, Params)> {
    presets().filter(|(name, _)| name.starts_with("paper"))
}

/// The settings of a correlation filter.
pub fn filter_of(params: &Params) -> &FilterParams {
    let SearchParams::Filter(filter) = &params.search else { panic!("not a correlation filter: {params:?}") };
    filter
}

/// The same settings with targets tracked at half size from `pixels` on, where there is such a thing.
pub fn half_from(params: &Params, pixels: f64) -> Params {
    let mut params = params.clone();
    if let SearchParams::Filter(filter) = &mut params.search {
        filter.half_size_from = pixels;
    }
    params
}

/// The same settings with another way to follow the size.
pub fn with_scale(mut params: Params, scale: &str) -> Params {
    params.set(&format!("search.{}.scale", params.search.name()), scale).unwrap();
    params
}

/// Whether a box keeps its size.
pub fn keeps_size(params: &Params) -> bool {
    params.values().iter().any(|(path, value)| path.ends_with(".scale") && value == "none")
}
