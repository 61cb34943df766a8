//! Rendered sequences whose truth is known exactly.
//!
//! A [`Scene`] is a toy car that drives over textured ground, painted with sub-pixel accuracy: the target is warped by
//! the inverse of its pose, with a soft, anti-aliased outline. [`SceneParams`] switch motion, scale, rotation,
//! occlusion, light, defocus, look-alikes, absence and noise on one by one. [`Truth`] is where the target is in a
//! frame.
//!
//! ```
//! use kcf_track::synth::{Scene, SceneParams};
//!
//! let scene = Scene::new(SceneParams { frames: 2, rotation: 20.0, ..SceneParams::default() })?;
//! for (picture, truth) in scene.iter() {
//!     assert_eq!(picture.dimensions(), (320, 240));
//!     assert!(truth.in_view && truth.visible == 1.0);
//! }
//! # Ok::<(), kcf_track::Error>(())
//! ```
//!
//! The same parameters give the same bytes, on any number of threads and on any machine: random numbers and noise are
//! integer arithmetic, transcendental functions come from the `libm` crate and not from the platform, and sums have a
//! fixed order. (JPEG files depend on the encoder as well; compare pixels or use PNG.) Colours are mixed as display
//! values, without a gamma.

mod motion;
mod paint;
mod params;
mod sequence;

use std::sync::OnceLock;

use image::RgbImage;

pub use motion::Truth;
pub use params::{Preset, SceneParams};
pub use sequence::{Format, SceneFile, write_sequence};

use crate::error::Result;
use crate::media::Info;
use motion::swing;
use paint::{Canvas, Sprite, add_noise, defocus, light, paint_ground};

/// A checked scene, ready to be rendered frame by frame, in any order and from many threads.
#[derive(Clone, Debug)]
pub struct Scene {
    params: SceneParams,
    /// Width and height that no box of the target exceeds.
    largest: (f64, f64),
    ground: Canvas,
    target: Sprite,
    clutter: Vec<Sprite>,
    /// Computed when the scene is first read as a source.
    info: OnceLock<Info>,
}

impl Scene {
    /// Checks the parameters and paints the textures.
    ///
    /// # Errors
    /// As [`SceneParams::check`].
    pub fn new(params: SceneParams) -> Result<Self> {
        params.check()?;
        let target = Sprite::new(&params, 0);
        let clutter = (1..=params.clutter as u64).map(|likeness| Sprite::new(&params, likeness)).collect();
        let ground = paint_ground(&params, params.margin());
        Ok(Self { largest: params.largest_target(), ground, target, clutter, params, info: OnceLock::new() })
    }

    /// What the scene was made from.
    pub fn params(&self) -> &SceneParams {
        &self.params
    }

    /// Number of frames of the sequence.
    pub fn frames(&self) -> usize {
        self.params.frames
    }

    /// Paints frame `index` (0-based) and gives its truth.
    pub fn render(&self, index: usize) -> (RgbImage, Truth) {
        let (params, t) = (&self.params, index as f64);
        let ((dx, dy), margin) = (self.camera(t), params.margin() as f64);
        let mut canvas = self.ground.cut(margin - dx, margin - dy, params.width as usize, params.height as usize);
        for (sprite, pose) in self.clutter.iter().zip(self.clutter_poses(t)) {
            sprite.lay(&mut canvas, pose);
        }
        self.target.lay(&mut canvas, self.target_pose(t));
        if let Some(beam) = self.beam(t) {
            canvas.lay_beam(beam);
        }
        // In the order of nature: light on the scene, defocus in the lens, noise on the sensor.
        if params.illumination > 0.0 {
            light(&mut canvas, params, t);
        }
        // From sharp to blurred and back, sharp in frame 0.
        let focus = swing(self.seed(), "focus", 100.0, 160.0, t);
        let sigma = params.blur * focus * focus;
        if sigma > 0.05 {
            defocus(&mut canvas, sigma);
        }
        if params.noise > 0.0 {
            add_noise(&mut canvas, params, index);
        }
        (canvas.to_image(), self.truth(index))
    }

    /// The frames of the sequence in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (RgbImage, Truth)> + '_ {
        (0..self.frames()).map(|index| self.render(index))
    }
}

#[cfg(test)]
mod tests;
