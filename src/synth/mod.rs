//! Rendered sequences whose truth is known exactly.
//!
//! A [`Scene`] is a toy car that drives over textured ground, painted with sub-pixel accuracy: the target is warped by
//! the inverse of its pose, with a soft, anti-aliased outline. Motion, scale, rotation, occlusion, light, blur,
//! distractors, leaving the image and noise are switched on one by one in [`SceneParams`]; for every frame [`Truth`]
//! says where the target is.
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
pub use params::{Backdrop, Pattern, Preset, SceneParams};
pub use sequence::{Format, SceneFile, WriteOptions, Written, write_sequence};

use crate::bbox::BBox;
use crate::error::Result;
use crate::media::Info;
use motion::{Beam, Motion};
use paint::{Canvas, Colour, Optics, Sprite, Texture, blend, paint_ground, shade, smooth_step};

/// A checked scene, ready to be rendered frame by frame, in any order and from many threads.
#[derive(Clone, Debug)]
pub struct Scene {
    params: SceneParams,
    motion: Motion,
    optics: Optics,
    backing: Backing,
    target: Sprite,
    others: Vec<Sprite>,
    /// Computed when the scene is first read as a source.
    info: OnceLock<Info>,
}

/// The backdrop, painted.
#[derive(Clone, Debug)]
enum Backing {
    Ground(Texture),
    Flat(Colour),
}

impl Scene {
    /// Checks the parameters and paints the textures.
    ///
    /// # Errors
    /// As [`SceneParams::check`].
    pub fn new(params: SceneParams) -> Result<Self> {
        params.check()?;
        let motion = Motion::new(&params);
        let margin = 2 * motion.margin();
        let backing = match params.backdrop {
            Backdrop::Ground => {
                let (width, height) = (params.width as usize + margin, params.height as usize + margin);
                Backing::Ground(paint_ground(params.seed, width, height, (params.width, params.height)))
            }
            Backdrop::Flat(colour) => Backing::Flat(colour.map(f32::from)),
        };
        let (w, h) = (f64::from(params.target_width), f64::from(params.target_height));
        let sprite = |likeness| Sprite::new(params.pattern, w, h, params.seed, likeness);
        let target = sprite(0);
        let others = (1..=params.clutter as u64).map(sprite).collect();
        Ok(Self { optics: Optics::new(&params), motion, backing, target, others, params, info: OnceLock::new() })
    }

    /// What the scene was made from.
    pub fn params(&self) -> &SceneParams {
        &self.params
    }

    /// Number of frames of the sequence.
    pub fn frames(&self) -> usize {
        self.params.frames
    }

    /// The truth of one frame, without painting it. Frames beyond [`Scene::frames`] exist too: the scene goes on.
    pub fn truth(&self, index: usize) -> Truth {
        motion::truth(&self.motion, self.target.outline, (self.params.width, self.params.height), index)
    }

    /// Paints one frame (0-based) of `width` x `height` pixels and tells its truth.
    pub fn render(&self, index: usize) -> (RgbImage, Truth) {
        let t = index as f64;
        let shutter = self.params.shutter;
        let mut canvas = if shutter > 0.0 {
            self.expose(t, shutter)
        } else {
            let mut canvas = self.paint_ground(t);
            self.lay_objects(&mut canvas, t);
            canvas
        };
        self.optics.apply(&mut canvas, index);
        (canvas.to_image(), self.truth(index))
    }

    /// The frames of the sequence, one after the other.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (RgbImage, Truth)> + '_ {
        (0..self.frames()).map(|index| self.render(index))
    }

    /// The mean of the moments for which the shutter is open, enough of them for an even smear.
    fn expose(&self, t: f64, shutter: f64) -> Canvas {
        let count = |travel: f64| (1.0 + 1.5 * travel).ceil().clamp(1.0, 24.0) as usize;
        let moments = count(self.motion.travel(t, shutter));
        // The ground is slower than what moves on it, and dearer to paint.
        let grounds = count(self.motion.camera_travel(t, shutter)).min(moments);
        let time = |part: usize, of: usize| t + shutter * ((part as f64 + 0.5) / of as f64 - 0.5);
        let mut exposure = Canvas::new(self.params.width as usize, self.params.height as usize);
        for part in 0..grounds {
            let mut ground = self.paint_ground(time(part, grounds));
            // A smear of many moments is smooth with fewer samples of each.
            ground.fineness = if moments < 4 { 4 } else { 2 };
            for moment in part * moments / grounds..(part + 1) * moments / grounds {
                let mut canvas = ground.clone();
                self.lay_objects(&mut canvas, time(moment, moments));
                exposure.add(&canvas, 1.0 / moments as f32);
            }
        }
        exposure
    }

    /// The backdrop at a moment.
    fn paint_ground(&self, t: f64) -> Canvas {
        let (width, height) = (self.params.width as usize, self.params.height as usize);
        match &self.backing {
            Backing::Ground(ground) => {
                let margin = self.motion.margin() as f64;
                let (dx, dy) = self.motion.camera(t);
                ground.cut(margin - dx, margin - dy, width, height)
            }
            Backing::Flat(colour) => {
                let mut plain = Canvas::new(width, height);
                plain.pixels.fill(*colour);
                plain
            }
        }
    }

    /// Lays what is on the ground over it: look-alikes, target, beam.
    fn lay_objects(&self, canvas: &mut Canvas, t: f64) {
        for (sprite, pose) in self.others.iter().zip(self.motion.others(t)) {
            sprite.lay(canvas, pose);
        }
        self.target.lay(canvas, self.motion.target(t));
        if let Some(beam) = self.motion.beam(t) {
            lay_beam(canvas, beam);
        }
    }
}

/// A round beam with slanted warning stripes.
fn lay_beam(canvas: &mut Canvas, beam: Beam) {
    const DARK: Colour = [52.0, 54.0, 60.0];
    const LIGHT: Colour = [214.0, 208.0, 196.0];
    let image = BBox::new(0.0, 0.0, canvas.width as f64, canvas.height as f64);
    let stripe = (1.6 * beam.half).clamp(8.0, 48.0);
    canvas.lay(
        image,
        |x, y| beam.distance(x, y).abs() < beam.half + 1.5,
        |x, y| {
            let distance = beam.distance(x, y);
            if distance.abs() > beam.half {
                return (0.0, DARK);
            }
            let across = distance / beam.half;
            let place = (beam.along(x, y) + distance) / stripe;
            let band = (place - place.round()).abs() * 2.0;
            let colour = blend(DARK, LIGHT, smooth_step(0.5 - 1.0 / stripe, 0.5 + 1.0 / stripe, band));
            (1.0, shade(colour, 1.08 - 0.45 * across * across - 0.1 * across))
        },
    );
}

#[cfg(test)]
mod tests;
