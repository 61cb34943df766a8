//! `kcf-track SRC`: targets through one source of frames.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{ArgAction, Args};

use super::Failure;
use super::control;
use super::failure::{scoped, watch_signals};
use super::outputs::{OutputArgs, Outputs};
use super::run::{self, Progress, RunConfig};
use super::settings::{self, Resolved, SettingsArgs};
use super::source::{self, RangeArgs, ReadArgs};
use super::targets::TargetArgs;
use super::view::pick;
use crate::Tracker;
use crate::cancel::CancelToken;
use crate::export::{TargetRecord, read_detections};
use crate::media::{Info, Item, Latest, OpenOptions, Prefetch, Span, Stream, Truth};
use crate::pipe;

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
    #[arg(group = "labels")]
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
    if args.settings.print_config {
        return settings::print(&resolved, true);
    }
    let path = args.source.as_ref().or(args.seq.as_ref()).ok_or_else(|| Failure::usage("SRC is missing"))?;
    if args.commands.as_deref() == Some(Path::new("-")) && path == Path::new("-") {
        return Err(Failure::usage("--commands -: the frames come from the standard input; name a pipe"));
    }
    // Commands are opened before the frames: a program that opens this pipe first would otherwise wait and send none.
    let control = args.commands.as_deref().map(control::open).transpose()?;
    let cancel = watch_signals();
    cancel.scope(|| follow(args, path, control, resolved, &cancel))
}

/// Tracks until the frames end or `cancel` is cancelled.
fn follow(
    args: &TrackArgs,
    path: &Path,
    control: Option<control::Input>,
    resolved: Resolved,
    cancel: &CancelToken,
) -> Result<(), Failure> {
    let (mut config, known, outputs, exports) = scoped(cancel, || {
        let config = RunConfig::open(args, path, resolved, cancel)?;
        let known = config.known()?;
        let outputs = args.output.outputs(config.wanted.named)?;
        outputs.check_inputs(config.info(), &args.inputs())?;
        // Opens outputs before it asks for a box, so a bad path fails first.
        let exports = outputs.open(config.info())?;
        Ok((config, known, outputs, exports))
    })?;
    let (targets, begun) = match known {
        Some(targets) => (targets, None),
        None => {
            let (bbox, begun) = pick(&config.source, config.span, &config.resolved.params, args.port, cancel)?;
            (vec![TargetRecord::new(1, config.span.first, bbox)], begun)
        }
    };
    (config.targets, config.demand.color) = (targets, outputs.draws());
    let expected = source::expected(config.info(), config.span);
    let to_stdout = outputs.uses_stdout();
    // Rows on a terminal are progress enough.
    let separate = std::fs::metadata("/dev/stdout").is_ok_and(|out| out.is_file());
    let shown = args.quiet == 0 && (!to_stdout || separate);
    let mut progress = Progress::new(expected, shown, args.quiet < 2);
    config.warnings(&outputs, expected).iter().for_each(|warning| progress.warn(warning));
    progress.reach(config.span.first, Arc::clone(&config.info().skipped));
    let started = Instant::now();
    let frames = config.frames(begun)?;
    let ended = config.run(exports, frames, control, &mut progress);
    progress.finish();
    let summary = ended?;
    // An expected number of frames has had its warning.
    let unexpected = if expected.is_some() { 0 } else { summary.frames };
    outputs.gif_warning(unexpected, true).iter().for_each(|warning| progress.warn(warning));
    if args.quiet == 0 {
        let has_truth = !config.wanted.named && config.info().true_box(config.span.first).is_some();
        let mut text = run::text(config.info(), &summary, started.elapsed(), has_truth);
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

impl TrackArgs {
    /// Whether targets may begin while the frames are tracked.
    pub fn comes_later(&self) -> bool {
        self.commands.is_some() || self.detections.is_some()
    }

    /// The files that are read besides the source, with their flags.
    fn inputs(&self) -> [(&str, Option<&Path>); 4] {
        [
            ("--init-file", self.targets.init_file.as_deref()),
            ("--config", self.settings.config.as_deref()),
            ("--commands", self.commands.as_deref().filter(|path| *path != Path::new("-"))),
            ("--detections", self.detections.as_deref()),
        ]
    }

    /// Refuses flags that do not fit the source, the targets or each other.
    fn check(&self, info: &Info, span: Span, first: Option<usize>, delay: usize) -> Result<(), Failure> {
        let is_late = self.both_sides || self.smooth && !self.latest || delay > 0;
        let wrong = match () {
            () if self.latest && !info.live => "--latest is for cameras, addresses and pipes: leave it out",
            () if self.latest && first.is_some_and(|first| first != span.first) => {
                "--latest needs a target in the first frame, or --commands"
            }
            () if is_late && self.output.shows_response() => {
                "boxes that wait (--smooth, --both-sides, detections.delay) have no response: leave out --response and \
                 --inset"
            }
            () if self.both_sides && info.live => {
                "--both-sides is for files, whose frames can be read again: leave it out"
            }
            () => return Ok(()),
        };
        Err(Failure::usage(wrong))
    }
}

impl<'a> RunConfig<'a> {
    /// Opens the source, and reads all that is given for it. The targets are not chosen yet.
    fn open(args: &'a TrackArgs, path: &Path, resolved: Resolved, cancel: &CancelToken) -> Result<Self, Failure> {
        let options = OpenOptions {
            target: args.target,
            truth: args.truth.clone().map_or(Truth::Beside, Truth::File),
            lenient: args.skip_bad_frames,
            timeout: seconds(args.timeout)?,
            ..args.read.options()
        };
        let needs_truth = args.targets.is_empty() && !args.pick && !args.comes_later();
        let (source, warnings) = source::open(path, options, needs_truth, cancel)?;
        let info = source.info();
        let mut wanted = args.targets.read(info)?;
        wanted.named |= args.comes_later();
        let mut detections = None;
        if let Some(path) = &args.detections {
            let read = read_detections(path, info, &args.targets.labels());
            let (found, notes) = read.map_err(|reason| Failure::of_file("--detections", path, reason))?;
            wanted.warnings.extend(notes.iter().map(|note| format!("--detections {}: {note}", path.display())));
            detections = Some(found);
        }
        let resolved = args.targets.settings(args.preset.as_deref(), &args.settings, &wanted)?.unwrap_or(resolved);
        let tracker = Tracker::new(resolved.params.clone())?;
        let span = source::span(source.as_ref(), args.range, wanted.first(), cancel)?;
        args.check(info, span, wanted.first(), resolved.detections.delay)?;
        Ok(Self {
            args,
            path: path.to_string_lossy().into(),
            span,
            demand: resolved.params.channels().into(),
            targets: Vec::new(),
            wanted,
            tracker,
            resolved,
            detections,
            warnings,
            cancel: cancel.clone(),
            quit: cancel.child(),
            source,
        })
    }

    /// The targets that are known before the first frame; `None` if a page asks for the box.
    fn known(&self) -> Result<Option<Vec<TargetRecord>>, Failure> {
        // A truth begins no target beside those of a detector.
        let has_truth = self.args.detections.is_none() && self.info().true_box(self.span.first).is_some();
        match (self.args.pick, self.args.comes_later() && self.wanted.is_empty() && !has_truth) {
            (true, _) => Ok(None),
            (_, true) => Ok(Some(Vec::new())),
            _ => self.wanted.within(self.span, self.info(), ", draw it with --pick, or use `kcf-track view`").map(Some),
        }
    }

    /// Warnings that are known before the first frame.
    fn warnings(&self, outputs: &Outputs, expected: Option<usize>) -> Vec<String> {
        let mut all = self.warnings.clone();
        all.extend(source::warnings(self.info(), self.span, &self.wanted, &self.targets, self.args.range));
        all.extend(outputs.id_warning(&self.targets));
        all.extend(outputs.gif_warning(expected.unwrap_or(0), false));
        all
    }

    /// The frames to track; `begun` are those of a page that has shown the first one.
    fn frames(&self, begun: Option<(Item, Prefetch)>) -> Result<Stream, Failure> {
        let (source, span, demand) = (self.source.as_ref(), self.span, self.demand);
        Ok(match begun {
            Some((first, frames)) => Box::new(std::iter::once(first).chain(frames)),
            None if self.args.latest => {
                // Rows that wait in a pipe are late. The system's 64 KB are seconds of them.
                #[cfg(target_os = "linux")]
                let _ = rustix::pipe::fcntl_setpipe_size(std::io::stdout(), WAITING_BYTES);
                Box::new(Latest::open(source, span, demand, &self.quit)?)
            }
            None => Box::new(Prefetch::open(source, span, demand, &self.quit)?),
        })
    }
}
