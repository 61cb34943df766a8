//! The command line program: one file a subcommand. Nothing else prints.

mod control;
mod eval;
mod explain;
mod failure;
mod model;
mod outputs;
mod run;
mod settings;
mod source;
mod synth;
mod targets;
mod track;
mod view;

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

use crate::{Params, ffmpeg, simd};
use failure::Failure;

/// Follow an object through a sequence of images, in real time, on one CPU core.
///
/// Give a folder of frames and the object's box in the first one; get its box in every other one, and how far to trust
/// it. A ground-truth file beside the frames gives the first box by itself, and is compared with at the end.
#[derive(Debug, Parser)]
#[command(name = "kcf-track", version, max_term_width = 110)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, after_long_help = EXAMPLES)]
struct Cli {
    /// With --version: also commit, features, vector instructions and ffmpeg
    #[arg(long = "long", hide_short_help = true, requires = "version")]
    _long: bool,
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    track: track::TrackArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Render a sequence of frames with its exact truth
    Synth(Box<synth::SynthArgs>),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print a page of the manual
    Man {
        /// The subcommand [default: the program]
        command: Option<String>,
    },
    Eval(Box<eval::EvalArgs>),
    Explain(Box<explain::ExplainArgs>),
    Model(model::ModelArgs),
    View(Box<view::ViewArgs>),
}

const EXAMPLES: &str = "\
Examples:
  Follow the box at 197,213 of 34x81 pixels, write everything about it as JSON:
    kcf-track Basketball/img --init 197,213,34,81 --json boxes.json

  A benchmark sequence with its ground truth: no box needed, precision and AUC at the end:
    kcf-track OTB/Deer

  See it work: the box drawn on each frame, and the filter's response:
    kcf-track OTB/Deer --overlay out/boxes --response out/maps

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted by Ctrl-C. Outputs keep the frames until then,
except of files with --smooth or --both-sides.";

/// Runs the program with the arguments of the process.
pub fn main() -> ExitCode {
    run(std::env::args_os()).into()
}

/// Runs the program with `arguments`, the first of which is its name, and gives the exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if arguments.len() < 2 {
        let _ = Cli::command().print_help();
        return 0;
    }
    let long = arguments.iter().any(|argument| argument == "--long");
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) if long && error.kind() == ErrorKind::DisplayVersion => {
            let written = std::io::stdout().write_all(long_version().as_bytes());
            return written.map_or_else(|error| Failure::from(error).report(), |()| 0);
        }
        Err(mut error) => {
            let tip = setting_tip(&error, &arguments);
            if tip.is_some() {
                error.remove(ContextKind::SuggestedArg);
                error.remove(ContextKind::Suggested);
            }
            let _ = error.print();
            if let Some(tip) = tip {
                eprintln!("tip: a setting is given by its path: {tip}");
            }
            let is_number = |word: &OsString| word.to_str().is_some_and(|word| word.parse::<f64>().is_ok());
            if arguments.windows(3).any(|words| words[0] == "--init" && words[1..].iter().all(is_number)) {
                eprintln!("tip: a box is one word: --init 10,20,30,40");
            }
            // A shell has expanded `*.jpg` to several files.
            let is_image = |word: &OsString| crate::media::is_image(Path::new(word)) && Path::new(word).is_file();
            if error.use_stderr() && arguments[1..].windows(2).any(|words| words.iter().all(is_image)) {
                eprintln!("tip: give the folder that holds the images");
            }
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    let result = match &cli.command {
        Some(Command::Synth(args)) => synth::run(args),
        Some(Command::Completions { shell }) => completions(*shell),
        Some(Command::Man { command }) => man(command.as_deref()),
        Some(Command::Eval(args)) => eval::run(args),
        Some(Command::Explain(args)) => explain::run(args),
        Some(Command::Model(args)) => model::run(args),
        Some(Command::View(args)) => view::run(args),
        None => track::run(&cli.track),
    };
    result.map_or_else(Failure::report, |()| 0)
}

/// The path of the setting that an unknown flag names.
fn setting_tip(error: &clap::Error, arguments: &[OsString]) -> Option<String> {
    let flag = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(flag)) if error.kind() == ErrorKind::UnknownArgument => flag,
        _ => return None,
    };
    let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
    let given = words.windows(2).find(|pair| ["--preset", "-p"].contains(&pair[0])).map(|pair| pair[1]);
    let explains = words.get(1) == Some(&"explain");
    let preset = given.unwrap_or(if explains { "paper" } else { Params::DEFAULT_PRESET });
    settings::tip(flag.strip_prefix("--")?, preset)
}

/// The facts about the program that a problem report needs.
fn long_version() -> String {
    use std::env::consts::{ARCH, OS};
    let optional = [("capi", cfg!(feature = "capi")), ("neural", cfg!(feature = "neural"))];
    let features = [("cli", true), ("files", true), ("synth", true)].into_iter().chain(optional);
    let features: Vec<_> = features.filter_map(|(name, on)| on.then_some(name)).collect();
    let ffmpeg = ffmpeg::command("ffmpeg").arg("-version").output();
    let ffmpeg = ffmpeg.map(|answer| String::from_utf8_lossy(&answer.stdout).lines().next().unwrap_or("").to_owned());
    format!(
        "kcf-track {}\ncommit: {}\nmachine: {ARCH} {OS}{}\nfeatures: {}\nvector instructions: {}\nffmpeg: {}\n",
        env!("CARGO_PKG_VERSION"),
        // Set by scripts/release.sh, or by scripts/commit.rs in a clone.
        option_env!("KCF_TRACK_COMMIT").unwrap_or("not recorded"),
        if cfg!(target_env = "musl") { ", static" } else { "" },
        features.join(" "),
        simd::level(),
        ffmpeg.unwrap_or_else(|_| "not found in PATH; videos and cameras need it".into()),
    )
}

fn completions(shell: Shell) -> Result<(), Failure> {
    // The generator panics when a write fails, as on a closed pipe.
    let mut script = Vec::new();
    let mut program = Cli::command();
    clap_complete::generate(shell, &mut program, "kcf-track", &mut script);
    if shell == Shell::Bash {
        // The generator names the cases of subcommands by another scheme than it looks for, because of the hyphen.
        let text = String::from_utf8_lossy(&script).replace("kcf__subcmd__track", "kcf__track");
        script = text.into_bytes();
    }
    if shell == Shell::Fish {
        // The generated functions take SRC for a subcommand.
        let names: Vec<_> = program.get_subcommands().map(|command| command.get_name()).collect();
        let names = names.join(" ");
        write!(
            script,
            "function __fish_kcf_track_needs_command\n    not __fish_seen_subcommand_from {names}\nend\n\
             function __fish_kcf_track_using_subcommand\n    __fish_seen_subcommand_from $argv\nend\n"
        )?;
    }
    Ok(std::io::stdout().write_all(&script)?)
}

fn man(command: Option<&str>) -> Result<(), Failure> {
    let mut program = Cli::command();
    program.build();
    let command = match command {
        None => program,
        Some(name) => {
            let known: Vec<_> = program.get_subcommands().map(|command| command.get_name()).collect();
            let unknown = || Failure::usage(format!("man {name}: there are pages of {}", known.join(", ")));
            program.find_subcommand(name).cloned().ok_or_else(unknown)?
        }
    };
    // The page has the flags that `-h` leaves out.
    let command = command.mut_args(|arg| arg.hide_short_help(false));
    let mut page = Vec::new();
    clap_mangen::Man::new(command).source(concat!("kcf-track ", env!("CARGO_PKG_VERSION"))).render(&mut page)?;
    std::io::stdout().write_all(&page)?;
    Ok(())
}
