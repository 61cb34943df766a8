//! What a scene is made of, before and after it is checked.

use serde::{Deserialize, Serialize};

use super::motion::Outline;
use crate::error::{Error, Result};

/// The sides that an image may have, in pixels.
const SIDE: std::ops::RangeInclusive<u32> = 16..=4096;
/// The smallest side of a target, in pixels.
const TARGET_SIDE: u32 = 8;
/// The longest sequence, in frames.
const MAX_FRAMES: usize = 100_000;
/// The largest number of distractors.
const MAX_CLUTTER: usize = 64;

/// What lies behind the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backdrop {
    /// Ground seen from above: fractal noise with roads, pavement, stones and bushes.
    #[default]
    Ground,
    /// One colour, red, green, blue.
    Flat([u8; 3]),
}

/// What the target looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// A toy car seen from above.
    #[default]
    Car,
    /// One colour, red, green, blue, within the same outline and without a shadow.
    Flat([u8; 3]),
}

/// Everything that decides a scene, unchecked: [`Scene::new`](super::Scene::new) checks it.
///
/// A strength of 0 switches its effect off. All effects are functions of the frame's index and the seed, not of the
/// number of frames: frame 7 is the same picture in a short sequence and in a long one. Effects do not draw from one
/// another's randomness, so one can be changed while the others stay (the path alone keeps the largest target in the
/// image, so that `scale` and `rotation` narrow it).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SceneParams {
    /// Number of frames, 1 to 100,000.
    pub frames: usize,
    /// Image width in pixels, 16 to 4096.
    pub width: u32,
    /// Image height in pixels, 16 to 4096.
    pub height: u32,
    /// Width of the target at scale 1 and angle 0, in pixels: 8 up to the image's.
    pub target_width: u32,
    /// Height of the target at scale 1 and angle 0, in pixels: 8 up to the image's.
    pub target_height: u32,
    /// Chooses the pictures, the paths and the times of the events.
    pub seed: u64,
    /// Root mean square speed of the target on its smooth path, in pixels per frame, 0 to 100.
    pub motion: f64,
    /// Length of a jump between two frames, in pixels, 0 to 4096: there, and back after a while, about every 24 frames.
    pub jump: f64,
    /// Root mean square speed of the background, in pixels per frame, 0 to 20.
    pub camera: f64,
    /// Scale change, 0 to 3: the scale swings between `1 / (1 + scale)` and `1 + scale`, by 1 in frame 0.
    pub scale: f64,
    /// In-plane rotation, 0 to 360: the angle swings between minus and plus that many degrees, by 0 in frame 0.
    pub rotation: f64,
    /// Share of the target that a passing beam hides at its closest, 0 to 1; about every 110 frames.
    pub occlusion: f64,
    /// Frames for which the beam stays over the target, 0 to 60.
    pub hold: f64,
    /// Strength of the changes of gain, offset, gamma and of the moving light, 0 to 1.
    pub illumination: f64,
    /// Motion blur: the share of the time between two frames for which the shutter is open, 0 to 1.
    pub shutter: f64,
    /// Defocus: the standard deviation of the largest Gaussian blur, in pixels, 0 to 16. Focus comes and goes.
    pub blur: f64,
    /// Number of moving distractors that look like the target, 0 to 64. They pass beneath it.
    pub clutter: usize,
    /// Whether the target leaves the image and comes back, about every 110 frames.
    pub out_of_view: bool,
    /// Standard deviation of the sensor's noise, in gray levels, 0 to 64.
    pub noise: f64,
    /// What lies behind the target.
    pub backdrop: Backdrop,
    /// What the target looks like.
    pub pattern: Pattern,
}

impl Default for SceneParams {
    fn default() -> Self {
        Preset::Easy.params()
    }
}

/// Named choices of all parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// Slow motion over still ground, a little sensor noise.
    Easy,
    /// Mild scale change, rotation and light, and a short partial occlusion: a plain correlation filter keeps up.
    Demo,
    /// As `demo`, stronger, with a moving camera, blur and two distractors.
    Medium,
    /// Everything at once: full occlusion, blur, distractors, the target leaves the image.
    Hard,
}

impl Preset {
    /// All presets, from easy to hard.
    pub const ALL: [Self; 4] = [Self::Easy, Self::Demo, Self::Medium, Self::Hard];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Easy => "easy",
            Self::Demo => "demo",
            Self::Medium => "medium",
            Self::Hard => "hard",
        }
    }

    /// The parameters that it stands for.
    pub fn params(self) -> SceneParams {
        let easy = SceneParams {
            frames: 140,
            width: 320,
            height: 240,
            target_width: 38,
            target_height: 60,
            seed: 1,
            motion: 2.0,
            jump: 0.0,
            camera: 0.0,
            scale: 0.0,
            rotation: 0.0,
            occlusion: 0.0,
            hold: 0.0,
            illumination: 0.0,
            shutter: 0.0,
            blur: 0.0,
            clutter: 0,
            out_of_view: false,
            noise: 1.5,
            backdrop: Backdrop::Ground,
            pattern: Pattern::Car,
        };
        match self {
            Self::Easy => easy,
            Self::Demo => SceneParams {
                frames: 120,
                seed: 1,
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
                shutter: 0.4,
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
                shutter: 0.6,
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
    /// Checks every parameter once; afterwards nothing can overflow or divide by zero.
    ///
    /// # Errors
    /// [`Error::Parameter`] with the flag, the value and what would be right.
    pub fn check(&self) -> Result<()> {
        if self.frames == 0 || self.frames > MAX_FRAMES {
            return wrong("frames", self.frames, format!("a sequence has 1 to {MAX_FRAMES} frames"));
        }
        if !SIDE.contains(&self.width) || !SIDE.contains(&self.height) {
            let sides = format!("both sides must be {} to {} pixels", SIDE.start(), SIDE.end());
            return wrong("size", format!("{}x{}", self.width, self.height), sides);
        }
        let target = format!("{}x{}", self.target_width, self.target_height);
        if self.target_width < TARGET_SIDE || self.target_height < TARGET_SIDE {
            return wrong("target", target, format!("both sides must be at least {TARGET_SIDE} pixels"));
        }
        if self.target_width > self.width || self.target_height > self.height {
            let image = format!("the target must fit into the image of {}x{} pixels", self.width, self.height);
            return wrong("target", target, image);
        }
        for (name, value, most, unit) in [
            ("motion", self.motion, 100.0, "pixels per frame"),
            ("jump", self.jump, 4096.0, "pixels"),
            ("camera", self.camera, 20.0, "pixels per frame"),
            ("scale", self.scale, 3.0, "(the scale stays within 1/(1+X) and 1+X)"),
            ("rotation", self.rotation, 360.0, "degrees"),
            ("occlusion", self.occlusion, 1.0, "(a share of the target)"),
            ("hold", self.hold, 60.0, "frames"),
            ("illumination", self.illumination, 1.0, "(a strength)"),
            ("shutter", self.shutter, 1.0, "(a share of the time between two frames)"),
            ("blur", self.blur, 16.0, "pixels"),
            ("noise", self.noise, 64.0, "gray levels"),
        ] {
            if !(0.0..=most).contains(&value) {
                return wrong(name, value, format!("must be a number from 0 to {most} {unit}"));
            }
        }
        if self.clutter > MAX_CLUTTER {
            return wrong("clutter", self.clutter, format!("at most {MAX_CLUTTER} distractors"));
        }
        let (w, h) = self.largest_target();
        if w > f64::from(self.width) || h > f64::from(self.height) {
            let grown = format!(
                "with scale {} and rotation {} it grows to {}x{} pixels, more than the image of {}x{}",
                self.scale,
                self.rotation,
                w.ceil(),
                h.ceil(),
                self.width,
                self.height
            );
            return wrong("target", target, grown);
        }
        Ok(())
    }

    /// Width and height, in pixels, that no box of the target exceeds.
    pub(super) fn largest_target(&self) -> (f64, f64) {
        let outline = Outline::new(f64::from(self.target_width) / 2.0, f64::from(self.target_height) / 2.0);
        let steps = self.rotation.min(90.0).ceil() as u32;
        let (mut w, mut h) = (0.0_f64, 0.0_f64);
        for step in 0..=steps {
            let degrees = if step == steps { self.rotation.min(90.0) } else { f64::from(step) };
            let (half_w, half_h) = outline.half_extent(1.0, degrees);
            w = w.max(2.0 * half_w);
            h = h.max(2.0 * half_h);
        }
        // Between two whole degrees a box exceeds the larger of its neighbours by less than 1.0001.
        let reserve = if steps == 0 { 1.0 } else { 1.0001 };
        let most = (1.0 + self.scale) * reserve;
        (w * most, h * most)
    }
}

fn wrong(name: &'static str, value: impl ToString, expected: String) -> Result<()> {
    Err(Error::Parameter { name, value: value.to_string(), expected })
}
