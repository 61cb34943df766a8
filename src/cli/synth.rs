//! `kcf-track synth`: renders a labelled sequence.

use std::io::{ErrorKind, IsTerminal, Write};
use std::path::PathBuf;
use std::str::FromStr;

use super::Failure;
use crate::Error;
use crate::synth::{Format, Preset, Scene, SceneParams, WriteOptions, write_sequence};
use clap::{Args, ValueEnum};

/// Render a labelled sequence: a toy car over textured ground, with exact truth
///
/// The folder gets img/0001.jpg and so on, groundtruth_rect.txt (OTB: 1-based x,y,w,h; 0,0,0,0 where the target is out
/// of view) and scene.json (all parameters; each frame's exact 0-based box, centre, scale, angle and visible share).
/// The same seed gives the same frames everywhere.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  kcf-track synth --out hard --preset hard --seed 7 --clutter 3\n  \
                        kcf-track --seq hard --overlay hard-overlay")]
pub struct SynthArgs {
    /// Folder to write into; it must be new or empty
    #[arg(long, short, value_name = "DIR")]
    out: PathBuf,
    /// What the other flags start from
    #[arg(long, value_enum, value_name = "NAME", default_value = "easy")]
    preset: PresetName,
    /// Number of frames
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    frames: Option<usize>,
    /// Size of the images, in pixels
    #[arg(long, value_name = "WxH")]
    size: Option<Size>,
    /// Size of the upright target at scale 1, in pixels
    #[arg(long, value_name = "WxH")]
    target: Option<Size>,
    /// Chooses the pictures, the paths and the times of the events
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    seed: Option<u64>,
    /// Speed of the target, in pixels per frame (root mean square)
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    motion: Option<f64>,
    /// Length of sudden jumps, in pixels, about every 24 frames
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    jump: Option<f64>,
    /// Speed of the background, in pixels per frame (root mean square)
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    camera: Option<f64>,
    /// Scale change: the target's size swings between 1/(1+X) and 1+X times
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    scale: Option<f64>,
    /// In-plane rotation: the angle swings between -X and X degrees
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    rotation: Option<f64>,
    /// Share of the target that a passing beam hides, 0 to 1
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    occlusion: Option<f64>,
    /// Frames for which that beam stays over the target
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    hold: Option<f64>,
    /// Changes of brightness, contrast and gamma and a moving light, 0 to 1
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    illumination: Option<f64>,
    /// Defocus that comes and goes: its largest standard deviation, in pixels
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    blur: Option<f64>,
    /// Motion blur: share of the time between two frames with an open shutter, 0 to 1
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    shutter: Option<f64>,
    /// Number of moving distractors that look like the target
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    clutter: Option<usize>,
    /// Let the target leave the image and come back, about every 110 frames [true or false]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    out_of_view: Option<bool>,
    /// Standard deviation of the sensor's noise, in gray levels
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    noise: Option<f64>,
    /// How frames are stored; png is lossless
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "jpg")]
    format: FormatName,
    /// Quality of JPEG images, 1 (small) to 100 (good)
    #[arg(long, value_name = "Q", default_value_t = 90, allow_negative_numbers = true)]
    quality: u8,
    /// Write into a folder that has content; a sequence that was rendered into it before is removed first
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum PresetName {
    /// Slow motion over still ground
    Easy,
    /// Mild scale change, rotation and light, a short partial occlusion
    Demo,
    /// Stronger, with a moving camera, blur and two distractors
    Medium,
    /// Everything at once: full occlusion, distractors, the target leaves the image
    Hard,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FormatName {
    Jpg,
    Png,
}

/// Width and height, as in `320x240`.
#[derive(Clone, Copy, Debug)]
struct Size(u32, u32);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts =
            text.split_once(['x', 'X']).and_then(|(w, h)| Some((w.trim().parse().ok()?, h.trim().parse().ok()?)));
        parts.map(|(w, h)| Self(w, h)).ok_or_else(|| "expected WIDTHxHEIGHT in pixels, as in 320x240".into())
    }
}

impl SynthArgs {
    /// The preset's parameters with those that were given.
    fn params(&self) -> SceneParams {
        let preset = match self.preset {
            PresetName::Easy => Preset::Easy,
            PresetName::Demo => Preset::Demo,
            PresetName::Medium => Preset::Medium,
            PresetName::Hard => Preset::Hard,
        }
        .params();
        SceneParams {
            frames: self.frames.unwrap_or(preset.frames),
            width: self.size.map_or(preset.width, |s| s.0),
            height: self.size.map_or(preset.height, |s| s.1),
            target_width: self.target.map_or(preset.target_width, |s| s.0),
            target_height: self.target.map_or(preset.target_height, |s| s.1),
            seed: self.seed.unwrap_or(preset.seed),
            motion: self.motion.unwrap_or(preset.motion),
            jump: self.jump.unwrap_or(preset.jump),
            camera: self.camera.unwrap_or(preset.camera),
            scale: self.scale.unwrap_or(preset.scale),
            rotation: self.rotation.unwrap_or(preset.rotation),
            occlusion: self.occlusion.unwrap_or(preset.occlusion),
            hold: self.hold.unwrap_or(preset.hold),
            illumination: self.illumination.unwrap_or(preset.illumination),
            shutter: self.shutter.unwrap_or(preset.shutter),
            blur: self.blur.unwrap_or(preset.blur),
            clutter: self.clutter.unwrap_or(preset.clutter),
            out_of_view: self.out_of_view.unwrap_or(preset.out_of_view),
            noise: self.noise.unwrap_or(preset.noise),
            ..preset
        }
    }
}

/// Renders the sequence and says what was written.
pub fn run(args: &SynthArgs) -> Result<(), Failure> {
    let out = |expected: &str| Error::Parameter {
        name: "out",
        value: args.out.display().to_string(),
        expected: expected.into(),
    };
    if args.out.as_os_str() == "-" {
        return Err(out("pictures do not go to the standard output: name a folder").into());
    }
    let format = match args.format {
        FormatName::Jpg => Format::jpg(args.quality)?,
        FormatName::Png => Format::Png,
    };
    let scene = Scene::new(args.params())?;
    let arguments = std::env::args_os()
        .skip_while(|argument| argument != "synth")
        .map(|argument| argument.to_string_lossy().into_owned());
    let command = std::iter::once("kcf-track".to_owned()).chain(arguments).collect::<Vec<_>>().join(" ");
    let options = WriteOptions { format, force: args.force, command: Some(command) };
    let bar = if std::io::stderr().is_terminal() {
        let style = indicatif::ProgressStyle::with_template("rendering {wide_bar} {pos}/{len} frames, {eta} left");
        let style = style.unwrap_or_else(|_| indicatif::ProgressStyle::default_bar());
        indicatif::ProgressBar::new(scene.frames() as u64).with_style(style)
    } else {
        indicatif::ProgressBar::hidden()
    };
    let written = write_sequence(&scene, &args.out, &options, |done| bar.set_position(done as u64));
    bar.finish_and_clear();
    let written = written.map_err(|error| match error {
        Error::Io { source, .. } if source.kind() == ErrorKind::NotADirectory => out("it is a file: give a folder"),
        error => error,
    });
    let written = written?;
    let (w, h) = (scene.params().width, scene.params().height);
    let mega = written.bytes as f64 / 1e6;
    writeln!(
        std::io::stdout(),
        "{}: {} frames of {w}x{h} pixels, {mega:.2} MB, with groundtruth_rect.txt (1-based) and scene.json",
        args.out.display(),
        written.frames
    )?;
    Ok(())
}
