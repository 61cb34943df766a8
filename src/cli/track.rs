//! `kcf-track SRC`: targets through one source of frames.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{ArgAction, Args};

use super::Failure;
use super::control;
use super::detections;
use super::failure::watch_signals;
use super::outputs::OutputArgs;
use super::run::{self, Progress, RunConfig};
use super::settings::{self, Resolved, SettingsArgs};
use super::source::{self, RangeArgs, ReadArgs};
use super::targets::TargetArgs;
use super::view::pick;
use crate::Tracker;
use crate::cancel::CancelToken;
use crate::export::TargetRecord;
use crate::media::{Demand, Item, Latest, OpenOptions, Prefetch, Truth};
use crate::pipe;
use crate::run::DetectionParams;

/// The largest number of threads for `--jobs`.
pub const MAX_THREADS: u16 = 1024;

/// Bytes of rows that may wait for a slow reader of the newest frame: the smallest size of a pipe.
#[cfg(target_os = "linux")]
const WAITING_BYTES: usize = 4096;

/// Where frames come from, where results go, and how to track.
#[derive(Debug, Args)]
pub struct TrackArgs {
    /// Folder of images, video, camera (/dev/video0), address (rtsp, http), or - for a Y4M pipe
    #[arg(value_name = "SRC", required_unless_present_any = ["print_config", "seq"])]
    source: Option<PathBuf>,
    /// The same as SRC
    #[arg(long, value_name = "SRC", conflicts_with = "source", hide = true)]
    seq: Option<PathBuf>,
    #[command(flatten)]
    targets: TargetArgs,
    /// Draw the first box on a page in the browser
    #[arg(long, conflicts_with_all = ["init", "init_file"])]
    pick: bool,
    /// Port of the page of --pick; 0 for any that is free [default: 8787, or any]
    #[arg(long, hide_short_help = true, value_name = "N", requires = "pick")]
    port: Option<u16>,
    #[command(flatten)]
    pub range: RangeArgs,
    #[command(flatten)]
    read: ReadArgs,
    /// Ground truth, in place of the file beside the frames
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
    /// Which target of the truth, where it has several
    #[arg(long, hide_short_help = true, value_name = "N")]
    target: Option<u32>,
    /// Smooth the boxes by the frames around them: rows of a stream come two late
    #[arg(long)]
    pub smooth: bool,
    /// Track from both sides between two given boxes of a target
    #[arg(long, hide_short_help = true, conflicts_with_all = ["pick", "commands"])]
    pub both_sides: bool,
    /// Take the newest frame of a camera or a pipe, and leave out others
    #[arg(long, conflicts_with = "pick")]
    pub latest: bool,
    /// JSON lines that add, correct and end targets: - for the standard input, or a pipe
    #[arg(long, hide_short_help = true, value_name = "FILE|-", conflicts_with = "pick")]
    pub commands: Option<PathBuf>,
    /// Boxes of a detector: MOT det.txt, COCO results, JSON lines, a folder of YOLO texts
    #[arg(long, hide_short_help = true, value_name = "FILE|DIR", conflicts_with_all = ["pick", "both_sides"])]
    detections: Option<PathBuf>,
    /// Go on after a frame that cannot be read; its state is `missing`
    #[arg(long, hide_short_help = true)]
    pub skip_bad_frames: bool,
    /// Longest wait for the next frame of a video or a camera [default: 30]
    #[arg(long, hide_short_help = true, value_name = "SECONDS", default_value_t = 30.0, hide_default_value = true)]
    timeout: f64,
    /// Threads that follow several targets [default: one per core]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MAX_THREADS as i64))]
    pub jobs: Option<u16>,
    /// Print no progress and no summary; twice: no warnings either
    #[arg(long, short, action = ArgAction::Count)]
    quiet: u8,
    #[command(flatten)]
    output: OutputArgs,
    /// Preset to start from [default: robust]
    #[arg(long, short, value_name = "NAME", value_parser = settings::preset_names(), help_heading = "Settings")]
    preset: Option<String>,
    #[command(flatten)]
    settings: SettingsArgs,
}

/// `--timeout` as a duration.
fn seconds(timeout: f64) -> Result<Duration, Failure> {
    let duration = Duration::try_from_secs_f64(timeout).ok().filter(|time| !time.is_zero() && timeout <= 1e9);
    duration.ok_or_else(|| Failure::usage(format!("--timeout {timeout}: must be above 0, at most 1e9")))
}

pub fn run(args: &TrackArgs) -> Result<(), Failure> {
    let resolved = args.settings.resolve(args.preset.as_deref())?;
    let detection_params = args.settings.detections()?;
    if args.settings.print_config {
        return settings::print(&resolved, Some(&detection_params));
    }
    let path = args.source.as_ref().or(args.seq.as_ref()).ok_or_else(|| Failure::usage("SRC is missing"))?;
    if args.commands.as_deref() == Some(Path::new("-")) && path == Path::new("-") {
        return Err(Failure::usage("--commands -: the frames come from the standard input; name a pipe"));
    }
    // Commands are opened before the frames: a program that opens this pipe first would otherwise wait and send none.
    let control = args.commands.as_deref().map(control::open).transpose()?;
    let cancel = watch_signals();
    cancel.scope(|| follow(args, path, control, (resolved, detection_params), &cancel))
}

/// Tracks until the frames end or `cancel` is cancelled.
fn follow(
    args: &TrackArgs,
    path: &Path,
    control: Option<control::Input>,
    (mut resolved, detection_params): (Resolved, DetectionParams),
    cancel: &CancelToken,
) -> Result<(), Failure> {
    // A wait that was cut short has the message of its place.
    let interrupted = |failure| if cancel.is_cancelled() { Failure::Interrupted } else { failure };
    let options = OpenOptions {
        target: args.target,
        truth: args.truth.clone().map_or(Truth::Beside, Truth::File),
        lenient: args.skip_bad_frames,
        timeout: seconds(args.timeout)?,
        ..args.read.options()
    };
    let comes_later = args.commands.is_some() || args.detections.is_some();
    let needs_truth = args.targets.is_empty() && !args.pick && !comes_later;
    let (source, mut warnings) = source::open(path, options, needs_truth, cancel).map_err(interrupted)?;
    let info = source.info();
    let mut wanted = args.targets.read(info).map_err(interrupted)?;
    wanted.named |= comes_later;
    let detections =
        args.detections.as_deref().map(|path| detections::read(path, info)).transpose().map_err(interrupted)?;
    resolved = args.targets.settings(args.preset.as_deref(), &args.settings, &wanted)?.unwrap_or(resolved);
    let tracker = Tracker::new(resolved.params.clone())?;
    let span = source::span(source.as_ref(), args.range, wanted.first(), cancel).map_err(interrupted)?;
    if args.latest && (!info.live || wanted.first().is_some_and(|first| first != span.first)) {
        return Err(Failure::usage(match info.live {
            true => "--latest needs a target in the first frame, or --commands",
            false => "--latest is for cameras, addresses and pipes: leave it out",
        }));
    }
    let is_late = args.both_sides || args.smooth && !args.latest || detection_params.delay > 0;
    if is_late && args.output.shows_response() {
        let what = "boxes that wait (--smooth, --both-sides, detections.delay) have no response: leave out --response and --inset";
        return Err(Failure::usage(what));
    }
    if args.both_sides && info.live {
        return Err(Failure::usage("--both-sides is for files, whose frames can be read again: leave it out"));
    }
    // A truth begins no target beside those of a detector.
    let has_truth = args.detections.is_none() && info.true_box(span.first).is_some();
    let known = match (args.pick, comes_later && wanted.is_empty() && !has_truth) {
        (true, _) => None,
        (_, true) => Some(Vec::new()),
        _ => Some(wanted.within(span, info, ", draw it with --pick, or use `kcf-track view`")?),
    };
    let outputs = args.output.outputs(wanted.named)?;
    let commands = args.commands.as_deref().filter(|path| *path != Path::new("-"));
    let (boxes, config) = (args.targets.init_file.as_deref(), args.settings.config.as_deref());
    let inputs = [
        ("--init-file", boxes),
        ("--config", config),
        ("--commands", commands),
        ("--detections", args.detections.as_deref()),
    ];
    outputs.check_inputs(info, &inputs)?;
    // Opens outputs before it asks for a box, so a bad path fails first.
    let exports = outputs.open(info)?;
    let (targets, begun) = match known {
        Some(targets) => (targets, None),
        None => {
            let (bbox, begun) = pick(&source, span, &resolved.params, args.port, cancel)?;
            (vec![TargetRecord::new(1, span.first, bbox)], begun)
        }
    };
    warnings.extend(source::warnings(info, span, &wanted, &targets, args.range));
    warnings.extend(outputs.id_warning(&targets));
    let expected = source::expected(info, span);
    warnings.extend(outputs.gif_warning(expected.unwrap_or(0), false));
    let to_stdout = outputs.uses_stdout();
    // Rows on a terminal are progress enough.
    let separate = std::fs::metadata("/dev/stdout").is_ok_and(|out| out.is_file());
    let shown = args.quiet == 0 && (!to_stdout || separate);
    let mut progress = Progress::new(expected, shown, args.quiet < 2);
    warnings.iter().for_each(|warning| progress.warn(warning));
    progress.reach(span.first, Arc::clone(&info.skipped));
    let pool = args.jobs.filter(|jobs| *jobs > 1).map(|jobs| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs.into()).build();
        pool.map(Arc::new).map_err(|error| Failure::failed(format!("--jobs {jobs}: {error}")))
    });
    let pool = pool.transpose()?;
    let demand = Demand { color: exports.draws(), ..resolved.params.channels().into() };
    let started = Instant::now();
    let quit = cancel.child();
    let (first, frames): (_, Box<dyn Iterator<Item = Item>>) = match begun {
        Some((first, frames)) => (Some(first), Box::new(frames)),
        None if args.latest => {
            // Rows that wait in a pipe are late. The system's 64 KB are seconds of them.
            #[cfg(target_os = "linux")]
            let _ = rustix::pipe::fcntl_setpipe_size(std::io::stdout(), WAITING_BYTES);
            (None, Box::new(Latest::open(source.as_ref(), span, demand, &quit)?))
        }
        None => (None, Box::new(Prefetch::open(source.as_ref(), span, demand, &quit)?)),
    };
    let config = RunConfig {
        args,
        source: source.as_ref(),
        path: path.to_string_lossy().into(),
        span,
        demand,
        targets,
        named: wanted.named,
        last_given: wanted.last(),
        tracker: &tracker,
        parameters: resolved.params.document(&resolved.preset),
        detections,
        detection_params,
        pool,
        cancel: cancel.clone(),
        quit,
    };
    let frames = Box::new(first.into_iter().chain(frames));
    let ended = config.run(exports, frames, control, &mut progress);
    progress.finish();
    let summary = ended?;
    // An expected number of frames has had its warning.
    let unexpected = if expected.is_some() { 0 } else { summary.frames };
    outputs.gif_warning(unexpected, true).iter().for_each(|warning| progress.warn(warning));
    if args.quiet == 0 {
        let has_truth = !wanted.named && info.true_box(span.first).is_some();
        let mut text = run::text(info, &summary, started.elapsed(), has_truth);
        if outputs.is_empty() {
            text += "  see it: --overlay DIR draws the boxes on the frames; keep it: --json FILE\n";
        }
        match to_stdout {
            true => _ = std::io::stderr().write_all(text.as_bytes()),
            false => pipe::stdout()?.write_all(text.as_bytes())?,
        }
    }
    Ok(())
}
