//! The parameters of a scene, their ranges and presets.

use super::motion::Outline;
use crate::error::{Error, Result};
use crate::settings::{Setting, settings};

settings! {
    /// Everything that decides a scene. [`Scene::new`](super::Scene::new) checks it.
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
            Self::Demo => SceneParams {
                frames: 120,
                motion: 2.4,
                scale: 0.15,
                rotation: 12.0,
                occlusion: 0.35,
                illumination: 0.4,
                noise: 0.5,
                ..easy
            },
            Self::Medium => SceneParams {
                frames: 200,
                motion: 3.5,
                camera: 0.8,
                scale: 0.35,
                rotation: 20.0,
                occlusion: 0.6,
                illumination: 0.5,
                blur: 0.8,
                clutter: 2,
                noise: 3.0,
                ..easy
            },
            Self::Hard => SceneParams {
                frames: 300,
                motion: 5.0,
                jump: 25.0,
                camera: 1.5,
                scale: 0.6,
                rotation: 40.0,
                occlusion: 1.0,
                illumination: 0.8,
                blur: 1.5,
                clutter: 5,
                out_of_view: true,
                noise: 6.0,
                ..easy
            },
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
        Err(Error::Setting {
            path: "target".into(),
            value: format!("{}x{}", self.target_width, self.target_height),
            expected: format!("grows to {w}x{h} pixels, more than the image of {}x{}", self.width, self.height),
        })
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
        let (w, h) = (0..=steps)
            .map(|step| outline.half_extent(1.0, f64::from(step).min(most)))
            .fold((0.0_f64, 0.0_f64), |(w, h), (half_w, half_h)| (w.max(2.0 * half_w), h.max(2.0 * half_h)));
        // Between two whole degrees a box exceeds the larger of its neighbours by less than 1.0001.
        let most = (1.0 + self.scale) * if steps == 0 { 1.0 } else { 1.0001 };
        (w * most, h * most)
    }
}
