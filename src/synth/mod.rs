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
mod sequence;

use std::sync::OnceLock;

use image::RgbImage;

pub use motion::Truth;
pub use sequence::{Format, SceneFile, write_sequence};

use crate::error::{Error, Result};
use crate::media::Info;
use crate::settings::{Setting, settings};
use motion::{Outline, swing};
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
        let focus = swing(self.params.seed, "focus", 100.0, 160.0, t);
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

settings! {
    /// Everything that decides a scene. [`Scene::new`] checks it.
    ///
    /// A strength of 0 switches its effect off. All effects depend on the frame's index and the seed, not on the number
    /// of frames: frame 7 is the same picture in a short sequence and in a long one. Each effect has random numbers of
    /// its own, so one can be changed while the others stay. (The path keeps the largest target in the image, so
    /// `scale` and `rotation` narrow it.)
    pub struct SceneParams {
        /// Number of frames.
        frames: usize = 140, Within(1.0, 100_000.0);
        /// Width of the image in pixels.
        width: u32 = 320, Within(16.0, 4096.0);
        /// Height of the image in pixels.
        height: u32 = 240, Within(16.0, 4096.0);
        /// Width of the upright target at scale 1, in pixels.
        #[serde(rename = "target_width")]
        target_width: u32 = 38, Within(8.0, 4096.0);
        /// Height of the upright target at scale 1, in pixels.
        #[serde(rename = "target_height")]
        target_height: u32 = 60, Within(8.0, 4096.0);
        /// Selects the textures, the paths and the times of the events.
        seed: u32 = 1, Within(0.0, 4_294_967_295.0);
        /// Root mean square speed of the target, in pixels per frame.
        motion: f64 = 2.0, Within(0.0, 100.0);
        /// Length of the sudden jumps, there and back about every 24 frames, in pixels.
        jump: f64 = 0.0, Within(0.0, 4096.0);
        /// Root mean square speed of the background, in pixels per frame.
        camera: f64 = 0.0, Within(0.0, 20.0);
        /// Scale change: the scale swings between `1 / (1 + scale)` and `1 + scale`.
        scale: f64 = 0.0, Within(0.0, 3.0);
        /// In-plane rotation: the angle swings between minus and plus this many degrees.
        rotation: f64 = 0.0, Within(0.0, 360.0);
        /// Share of the target that a passing beam hides, about every 110 frames.
        occlusion: f64 = 0.0, Within(0.0, 1.0);
        /// Frames that each occlusion and each absence lasts longer.
        hold: f64 = 0.0, Within(0.0, 60.0);
        /// Strength of the changes of gain, offset and gamma and of the moving light.
        illumination: f64 = 0.0, Within(0.0, 1.0);
        /// Defocus that comes and goes: its largest standard deviation, in pixels.
        blur: f64 = 0.0, Within(0.0, 16.0);
        /// Number of moving look-alikes, which pass beneath the target.
        clutter: usize = 0, Within(0.0, 64.0);
        /// Whether the target leaves the image and comes back, about every 110 frames.
        #[serde(rename = "out_of_view")]
        out_of_view: bool = false;
        /// Standard deviation of the sensor's noise, in gray levels.
        noise: f64 = 1.5, Within(0.0, 64.0);
    }
}

/// Named sets of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Preset {
    /// Slow motion over still ground, a little sensor noise
    Easy,
    /// Mild scale change, rotation and light, a short partial occlusion
    Demo,
    /// Stronger, with a moving camera, defocus and two look-alikes
    Medium,
    /// Everything at once: full occlusion, jumps, look-alikes, the target leaves the image
    Hard,
}

impl Preset {
    /// The parameters that it stands for.
    pub fn params(self) -> SceneParams {
        let easy = SceneParams::default();
        match self {
            Self::Easy => easy,
            Self::Demo => {
                let moving = SceneParams { frames: 120, motion: 2.4, scale: 0.15, rotation: 12.0, ..easy };
                SceneParams { occlusion: 0.35, illumination: 0.4, noise: 0.5, ..moving }
            }
            Self::Medium => {
                let moving = SceneParams { motion: 3.5, camera: 0.8, scale: 0.35, rotation: 20.0, ..easy };
                let lit = SceneParams { frames: 200, occlusion: 0.6, illumination: 0.5, ..moving };
                SceneParams { blur: 0.8, clutter: 2, noise: 3.0, ..lit }
            }
            Self::Hard => {
                let moving = SceneParams { motion: 5.0, jump: 25.0, camera: 1.5, scale: 0.6, rotation: 40.0, ..easy };
                let lit = SceneParams { frames: 300, occlusion: 1.0, illumination: 0.8, ..moving };
                SceneParams { blur: 1.5, clutter: 5, out_of_view: true, noise: 6.0, ..lit }
            }
        }
    }
}

impl SceneParams {
    /// Checks every range, and that the target fits into the image at every scale and angle.
    ///
    /// # Errors
    /// [`Error::Setting`] with the name and the value.
    pub fn check(&self) -> Result<()> {
        self.check_ranges("")?;
        let (w, h) = self.largest_target();
        if w <= f64::from(self.width) && h <= f64::from(self.height) {
            return Ok(());
        }
        let (w, h) = (w.ceil(), h.ceil());
        Err(Error::setting(
            "target",
            format!("{}x{}", self.target_width, self.target_height),
            format!("grows to {w}x{h} pixels, more than the image of {}x{}", self.width, self.height),
        ))
    }

    /// How far the background moves along each axis at most, in pixels.
    pub(super) fn camera_reach(&self) -> f64 {
        if self.camera > 0.0 { 16.0 + 10.0 * self.camera } else { 0.0 }
    }

    /// Pixels that the background needs beyond the image on each side.
    pub(super) fn margin(&self) -> usize {
        if self.camera > 0.0 { self.camera_reach().ceil() as usize + 3 } else { 0 }
    }

    /// Width and height, in pixels, that no box of the target exceeds.
    pub(super) fn largest_target(&self) -> (f64, f64) {
        let outline = Outline::new(self.target_width, self.target_height);
        let most = self.rotation.min(90.0);
        let steps = most.ceil() as u32;
        let halves = (0..=steps).map(|step| outline.half_extent(1.0, f64::from(step).min(most)));
        let (w, h) = halves.fold((0.0_f64, 0.0_f64), |(w, h), half| (w.max(2.0 * half.0), h.max(2.0 * half.1)));
        // Between two whole degrees a box exceeds the larger of its neighbours by less than 1.0001.
        let most = (1.0 + self.scale) * if steps == 0 { 1.0 } else { 1.0001 };
        (w * most, h * most)
    }
}

#[cfg(test)]
mod tests;
