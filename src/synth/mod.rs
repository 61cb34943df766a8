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

    /// The parameters of the scene.
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
    /// The parameters of the preset.
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
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::error::Error;

    /// A small quick scene.
    fn small() -> SceneParams {
        SceneParams {
            width: 120,
            height: 90,
            target_width: 20,
            target_height: 28,
            noise: 0.0,
            ..SceneParams::default()
        }
    }

    fn scene(params: SceneParams) -> Scene {
        Scene::new(params).unwrap()
    }

    /// A scene with a red target on black ground.
    fn red_on_black(params: SceneParams) -> Scene {
        let mut scene = scene(SceneParams { noise: 0.0, ..params });
        scene.ground.pixels.fill([0.0; 3]);
        scene.target.texture.pixels.fill([255.0, 0.0, 0.0]);
        scene
    }

    /// How red a pixel is, 0 to 1. Shadows and beams are nearly gray.
    fn red(pixel: &image::Rgb<u8>) -> f64 {
        f64::from(pixel[0].saturating_sub(pixel[1])) / 255.0
    }

    fn checksum(picture: &RgbImage) -> u64 {
        // FNV-1a.
        picture.as_raw().iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3))
    }

    #[test]
    fn a_seed_gives_the_same_bytes_on_any_number_of_threads_and_any_machine() {
        let params = SceneParams { width: 160, height: 120, ..Preset::Hard.params() };
        let pictures = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let scene = scene(params.clone());
                [0, 31, 77].map(|i| scene.render(i))
            })
        };
        let one = pictures(1);
        assert!(one == pictures(3));
        // Rendered on x86-64 Linux.
        assert_eq!(
            one.each_ref().map(|(picture, _)| checksum(picture)),
            [0x11bdf8bb72d0dd69, 0x00c0f1f057b7ee16, 0xcb8937c2a350e890]
        );
        let other = scene(SceneParams { seed: 2, ..params }).render(31);
        assert!(other.0 != one[1].0 && other.1 != one[1].1);
    }

    #[test]
    fn frames_do_not_depend_on_how_many_there_are() {
        let short = scene(SceneParams { frames: 3, ..Preset::Medium.params() });
        let long = scene(SceneParams { frames: 3000, ..Preset::Medium.params() });
        assert!(short.render(2) == long.render(2));
        assert_eq!(short.iter().len(), 3);
    }

    /// The points at which a profile crosses half of its level, from both ends.
    fn extent(profile: &[f64]) -> (f64, f64) {
        let edge = |values: &[f64]| {
            let first = values.iter().position(|v| *v >= 0.5).unwrap();
            let (before, after) = (values[first - 1], values[first]);
            first as f64 - 0.5 + (0.5 - before) / (after - before)
        };
        let back: Vec<f64> = profile.iter().rev().copied().collect();
        (edge(profile), profile.len() as f64 - edge(&back))
    }

    #[test]
    fn the_box_is_the_extent_of_the_pixels() {
        for (seed, (target_width, target_height)) in (0..).zip([(40, 60), (60, 30), (33, 33), (16, 90)]) {
            let (width, height) = (260, 240);
            let params = SceneParams { width, height, target_width, target_height, seed, ..SceneParams::default() };
            let scene = red_on_black(SceneParams { motion: 3.0, scale: 0.4, rotation: 100.0, ..params });
            for index in 0..20 {
                let (picture, truth) = scene.render(index * 10);
                let level = |x: u32, y: u32| red(picture.get_pixel(x, y));
                let columns: Vec<f64> = (0..260).map(|x| (0..240).map(|y| level(x, y)).fold(0.0, f64::max)).collect();
                let rows: Vec<f64> = (0..240).map(|y| (0..260).map(|x| level(x, y)).fold(0.0, f64::max)).collect();
                let ((left, right), (top, bottom)) = (extent(&columns), extent(&rows));
                let b = truth.bbox;
                let errors = [left - b.x, right - b.x - b.w, top - b.y, bottom - b.y - b.h];
                assert!(errors.iter().all(|e| e.abs() < 0.5), "frame {index}, {truth:?}: {errors:?}");
                // The centre of mass is the centre: the outline is symmetric.
                let mass: f64 = picture.pixels().map(red).sum();
                let middle = |axis: usize| {
                    let place = |x: u32, y: u32| f64::from(if axis == 0 { x } else { y }) + 0.5;
                    picture.enumerate_pixels().map(|(x, y, p)| place(x, y) * red(p)).sum::<f64>() / mass
                };
                assert!((middle(0) - truth.center[0]).abs() < 0.02 && (middle(1) - truth.center[1]).abs() < 0.02);
                let (x, y) = b.center();
                assert!((x - truth.center[0]).abs() < 1e-9 && (y - truth.center[1]).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn the_visible_share_is_the_share_of_the_pixels() {
        let params = SceneParams { scale: 0.3, rotation: 30.0, motion: 3.0, ..SceneParams::default() };
        let scene = red_on_black(SceneParams { occlusion: 0.6, out_of_view: true, ..params });
        let (mut least, mut partly_outside) = (1.0_f64, 0);
        for index in (0..120).step_by(2) {
            let (picture, truth) = scene.render(index);
            let seen: f64 = picture.pixels().map(red).filter(|red| *red > 0.15).sum();
            // Area of the superellipse of exponent 4: 4 a b Γ(5/4)² / Γ(3/2).
            let whole = 3.708_149_354_602_744 * 19.0 * 30.0 * truth.scale * truth.scale;
            assert!((seen / whole - truth.visible).abs() < 0.03, "frame {index}: {} {}", seen / whole, truth.visible);
            let share = truth.bbox.visible_share(320, 240);
            assert_eq!(truth.in_view, share > 0.0);
            if share == 1.0 {
                least = least.min(truth.visible);
            }
            partly_outside += usize::from(0.0 < share && share < 1.0);
        }
        assert!((least - 0.4).abs() < 0.05 && partly_outside > 1, "{least} {partly_outside}");
    }

    #[test]
    fn a_beam_hides_its_share() {
        for share in [0.1, 0.35, 0.8, 1.0] {
            let scene = scene(SceneParams { occlusion: share, motion: 3.0, rotation: 45.0, ..SceneParams::default() });
            let least = (0..80).map(|i| scene.truth(i).visible).fold(1.0, f64::min);
            assert!((least - (1.0 - share)).abs() < 0.01, "{share}: {least}");
        }
    }

    /// Frames from the first to the last without a visible pixel of the first event.
    fn gone(params: SceneParams) -> usize {
        let scene = scene(SceneParams { motion: 4.0, ..params });
        let seen: Vec<f64> = (0..170).map(|i| scene.truth(i).visible).collect();
        let first = seen.iter().position(|&seen| seen == 0.0).unwrap();
        assert_eq!(seen[0], 1.0, "the first frame shows the target");
        assert!(seen[first..].contains(&1.0), "it comes back");
        seen[first..].iter().take_while(|&&seen| seen < 0.01).count()
    }

    #[test]
    fn occlusions_and_absences_last_as_long_as_they_should() {
        for (hold, least) in [(0.0, 1), (20.0, 20), (60.0, 60)] {
            let hidden = gone(SceneParams { occlusion: 1.0, rotation: 30.0, hold, ..SceneParams::default() });
            assert!((least..least + 6).contains(&hidden), "{hold}: {hidden}");
            let away = gone(SceneParams { out_of_view: true, hold, ..SceneParams::default() });
            assert!((least + 9..least + 18).contains(&away), "{hold}: {away}");
        }
    }

    #[test]
    fn effects_on_the_picture_leave_the_truth_alone() {
        let base = SceneParams { scale: 0.1, rotation: 10.0, ..small() };
        let plain = scene(base.clone());
        let cases: [(&str, SceneParams); 5] = [
            ("illumination", SceneParams { illumination: 0.7, ..base.clone() }),
            ("blur", SceneParams { blur: 2.0, ..base.clone() }),
            ("noise", SceneParams { noise: 4.0, ..base.clone() }),
            ("clutter", SceneParams { clutter: 3, ..base.clone() }),
            ("camera", SceneParams { camera: 1.0, ..base.clone() }),
        ];
        for (name, params) in cases {
            let changed = scene(params);
            for index in [0, 9, 40] {
                let ((before, was), (after, is)) = (plain.render(index), changed.render(index));
                assert_eq!(was, is, "{name}");
                // Light and focus begin neutral.
                let neutral = index == 0 && ["illumination", "blur"].contains(&name);
                assert_eq!(before == after, neutral, "{name}, frame {index}");
            }
        }
    }

    #[test]
    fn effects_on_the_target_change_what_they_name() {
        let plain = scene(small());
        let growing = scene(SceneParams { scale: 0.3, ..small() });
        let turning = scene(SceneParams { rotation: 30.0, ..small() });
        let hidden = scene(SceneParams { occlusion: 0.7, ..small() });
        let leaving = scene(SceneParams { out_of_view: true, ..small() });
        let (mut scales, mut angles, mut path) = ((1.0_f64, 1.0_f64), (0.0_f64, 0.0_f64), 0.0);
        for index in 0..150 {
            let was = plain.truth(index);
            assert_eq!((was.scale, was.angle, was.visible, was.in_view), (1.0, 0.0, 1.0, true));
            assert_eq!((was.bbox.w, was.bbox.h), (20.0, 28.0));
            path += plain.truth(index + 1).bbox.center_error(&was.bbox).powi(2);
            let grown = growing.truth(index);
            assert_eq!((grown.angle, grown.visible), (0.0, 1.0));
            scales = (scales.0.min(grown.scale), scales.1.max(grown.scale));
            let turned = turning.truth(index);
            assert_eq!((turned.scale, turned.visible), (1.0, 1.0));
            angles = (angles.0.min(turned.angle), angles.1.max(turned.angle));
            assert_eq!(Truth { visible: 1.0, ..hidden.truth(index) }, was);
            let away = leaving.truth(index);
            assert_eq!((away.center[1], away.scale, away.angle), (was.center[1], 1.0, 0.0));
        }
        assert!(((path / 150.0).sqrt() - 2.0).abs() < 0.2, "{path}");
        assert!((scales.0 - 1.0 / 1.3).abs() < 0.01 && (scales.1 - 1.3).abs() < 0.01, "{scales:?}");
        assert!((angles.0 + 30.0).abs() < 0.1 && (angles.1 - 30.0).abs() < 0.1, "{angles:?}");
        // The first frame is the plain one, so that the first box starts a tracker on a clear view.
        let first = scene(Preset::Hard.params()).truth(0);
        assert_eq!((first.scale, first.angle, first.visible, first.bbox.w), (1.0, 0.0, 1.0, 38.0));
    }

    #[test]
    fn look_alikes_pass_beneath_the_target() {
        let clutter: Vec<Scene> = (1..9).map(|seed| scene(SceneParams { clutter: 20, seed, ..small() })).collect();
        for crowded in &clutter {
            let plain = scene(SceneParams { clutter: 0, ..crowded.params().clone() });
            let ((before, truth), (after, _)) = (plain.render(30), crowded.render(30));
            let (x, y) = (truth.center[0] as u32, truth.center[1] as u32);
            assert_eq!(before.get_pixel(x, y), after.get_pixel(x, y));
            assert!(before != after);
        }
    }

    #[test]
    fn an_error_names_the_parameter() {
        for (name, params) in [
            ("frames", SceneParams { frames: 0, ..small() }),
            ("width", SceneParams { width: 0, ..small() }),
            ("target-width", SceneParams { target_width: 0, ..small() }),
            ("target", SceneParams { target_height: 91, ..small() }),
            ("target", SceneParams { target_height: 80, scale: 0.5, ..small() }),
            ("target", SceneParams { target_width: 118, rotation: 90.0, ..small() }),
            ("motion", SceneParams { motion: f64::NAN, ..small() }),
            ("hold", SceneParams { hold: 61.0, ..small() }),
        ] {
            let error = Scene::new(params).unwrap_err();
            assert!(matches!(&error, Error::Setting { path, .. } if path == name), "{name}: {error}");
        }
    }

    fn strength() -> impl Strategy<Value = f64> {
        prop_oneof![4 => 0.0..=1.0_f64, 2 => 0.0..120.0_f64, 1 => proptest::num::f64::ANY]
    }

    fn side() -> impl Strategy<Value = u32> {
        prop_oneof![8 => 16..80_u32, 1 => Just(0), 1 => 4097..=u32::MAX]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn any_parameters_give_an_error_or_a_picture(
            sides in (side(), side(), 8..40_u32, 8..40_u32),
            moves in (strength(), strength(), strength(), strength(), strength(), strength()),
            looks in (strength(), strength(), strength()),
            rest in (any::<u32>(), 0..66_usize, any::<bool>()),
            index in prop_oneof![4 => 0..500_usize, 1 => any::<usize>()],
        ) {
            let params = SceneParams {
                frames: 10,
                width: sides.0,
                height: sides.1,
                target_width: sides.2,
                target_height: sides.3,
                seed: rest.0,
                motion: moves.0,
                jump: moves.1,
                camera: moves.2,
                scale: moves.3,
                rotation: moves.4,
                hold: moves.5,
                occlusion: looks.0,
                illumination: looks.1,
                blur: looks.2,
                clutter: rest.1,
                out_of_view: rest.2,
                noise: looks.0,
            };
            match Scene::new(params.clone()) {
                Err(error) => prop_assert!(matches!(error, Error::Setting { .. }), "{}", error),
                Ok(scene) => {
                    let (picture, truth) = scene.render(index);
                    prop_assert_eq!(picture.dimensions(), (params.width, params.height));
                    prop_assert!(truth.bbox.is_valid() && (0.0..=1.0).contains(&truth.visible));
                    let (w, h) = (params.width as usize, params.height as usize);
                    prop_assert!(params.out_of_view || truth.bbox.visible_share(w, h) > 1.0 - 1e-9, "{:?}", truth);
                }
            }
        }
    }
}
