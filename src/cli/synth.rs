//! `kcf-track synth`: renders a labelled sequence.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::Failure;
use super::failure::watch_signals;
use super::outputs::size;
use super::run::bar;
use super::settings::pair;
use crate::Error;
use crate::pipe;
use crate::settings::{Field, Setting};
use crate::synth::{Format, Preset, Scene, SceneParams, write_sequence};
use crate::text::shown;

/// Render a labelled sequence: a toy car over textured ground, with exact truth
///
/// The folder gets img/0001.jpg and so on, groundtruth_rect.txt (OTB: 1-based x,y,w,h; 0,0,0,0 where the target is out
/// of view) and scene.json (all parameters; each frame's exact 0-based box, centre, scale, angle and visible share).
/// The same seed gives the same frames everywhere.
#[derive(Args, Debug)]
#[command(after_long_help = parameters())]
pub struct SynthArgs {
    /// Folder to write into; it must be new or empty
    #[arg(long, short, value_name = "DIR")]
    out: PathBuf,
    /// What the parameters start from
    #[arg(long, value_enum, value_name = "NAME", default_value = "easy")]
    preset: Preset,
    /// Number of frames
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    frames: Option<String>,
    /// Size of the images, in pixels
    #[arg(long, value_name = "WxH", value_parser = size)]
    size: Option<(u32, u32)>,
    /// Size of the upright target at scale 1, in pixels
    #[arg(long, value_name = "WxH", value_parser = size)]
    target: Option<(u32, u32)>,
    /// Selects the textures, the paths and the times of the events
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    seed: Option<String>,
    /// Set any parameter by its name; repeatable
    ///
    /// As in --set occlusion=1 --set hold=20.
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    set: Vec<(String, String)>,
    /// How frames are stored
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "jpg")]
    format: Format,
}

/// The parameters with their defaults, ranges and meanings, a line each.
fn parameters() -> String {
    let mut lines = "Parameters for --set:".to_owned();
    SceneParams::default().visit(&Field::ROOT, &mut |field, value| {
        lines += &format!("\n  {} = {value} ({}): {}", field.path, field.expected(&value), field.doc);
    });
    lines
}

impl SynthArgs {
    /// The preset's parameters with those that were given.
    fn params(&self) -> Result<SceneParams, Failure> {
        let mut params = self.preset.params();
        (params.width, params.height) = self.size.unwrap_or((params.width, params.height));
        (params.target_width, params.target_height) =
            self.target.unwrap_or((params.target_width, params.target_height));
        for (name, value) in [("frames", &self.frames), ("seed", &self.seed)] {
            value.iter().try_for_each(|value| params.set("", name, value, false))?;
        }
        self.set.iter().try_for_each(|(name, value)| params.set("", name, value, false))?;
        Ok(params)
    }
}

/// Renders the sequence and prints what was written.
pub fn run(args: &SynthArgs) -> Result<(), Failure> {
    if args.out.as_os_str() == "-" {
        return Err(Error::parameter("out", "-", "pictures do not go to the standard output: name a folder").into());
    }
    let scene = Scene::new(args.params()?)?;
    let arguments = std::env::args_os().skip_while(|argument| argument != "synth");
    let arguments = arguments.map(|argument| argument.to_string_lossy().into_owned());
    let command = std::iter::once("kcf-track".to_owned()).chain(arguments).collect::<Vec<_>>().join(" ");
    let bar = bar(Some(scene.frames()), true);
    let cancel = watch_signals();
    let written = write_sequence(&scene, &args.out, args.format, Some(command), || {
        bar.inc(1);
        cancel.check()
    });
    bar.finish_and_clear();
    written?;
    let SceneParams { frames, width, height, .. } = scene.params();
    let files = "groundtruth_rect.txt (1-based) and scene.json";
    let out = shown(&args.out.to_string_lossy());
    writeln!(pipe::stdout()?, "{out}: {frames} frames of {width}x{height} pixels, {files}")?;
    Ok(())
}
