//! `kcf-track SRC`: targets through one source of frames.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use crate::export::TargetRecord;
use crate::job::{self, Frames, MOST_THREADS, Opening, Plan, Position, Watcher};
use crate::media::{Demand, Prefetch, Source, VideoOptions};
use crate::{Evidence, Tracker};
use clap::{ArgAction, Args};

use super::interrupt::Interrupt;
use super::output::OutputArgs;
use super::pick::{Picked, pick};
use super::progress::Progress;
use super::settings::{self, SettingsArgs};
use super::targets::TargetArgs;
use super::{Failure, failure, inputs};

/// Where frames come from, where results go, and how to track.
#[derive(Debug, Args)]
pub struct TrackArgs {
    /// A folder of frames in natural order (an OTB, VOT or GOT-10k sequence, or any folder of images), a video that
    /// ffmpeg reads, a camera (/dev/video0), an address (rtsp, http), or -, a Y4M pipe
    #[arg(value_name = "SRC", required_unless_present_any = ["print-config", "seq"])]
    source: Option<PathBuf>,
    /// The same by a flag
    #[arg(long, value_name = "SRC", conflicts_with = "source")]
    seq: Option<PathBuf>,
    #[command(flatten)]
    targets: TargetArgs,
    /// Ask for the first box on a page in the browser, whose address is printed
    #[arg(long, conflicts_with_all = ["init", "init_file"])]
    pick: bool,
    /// First frame, its position from 1, or its time (80s, 00:01:20.5; a number with a point, as 0.5, is seconds)
    /// [default: the first with truth, else 1]
    #[arg(long, value_name = "N|TIME", allow_hyphen_values = true)]
    start: Option<Position>,
    /// Last frame, its position from 1, or its time [default: the last]
    #[arg(long, value_name = "N|TIME", allow_hyphen_values = true)]
    end: Option<Position>,
    /// Ground truth to compare with, in place of the file beside the frames
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
    /// Which target's truth, where there are several (groundtruth_rect.N.txt, or an id of MOT's gt.txt)
    #[arg(long, value_name = "N")]
    target: Option<u32>,
    /// Go on after a frame that cannot be read; it gets the box before it and the state `missing`. Of a damaged video
    /// take what can be decoded
    #[arg(long)]
    skip_bad_frames: bool,
    /// Longest time that the next frame of a video or a camera may take; the first one of an address, which ffmpeg
    /// looks at for about 5 s, twice, may take 8 s more
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0)]
    timeout: f64,
    /// Threads that follow several targets [default: as many as there are cores]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MOST_THREADS as i64))]
    jobs: Option<u16>,
    /// Print neither progress nor a summary; given twice, no warnings either
    #[arg(long, short, action = ArgAction::Count)]
    quiet: u8,
    /// Print a table of what the time was spent on, to the standard error
    #[arg(long)]
    profile: bool,
    #[command(flatten)]
    output: OutputArgs,
    /// Settings to start from, which all others change [default: robust]
    #[arg(long, short, value_name = "NAME", value_parser = settings::preset_names(), help_heading = "Settings")]
    preset: Option<String>,
    #[command(flatten)]
    params: SettingsArgs,
}

pub fn run(args: &TrackArgs) -> Result<(), Failure> {
    let resolved = args.params.resolve(args.preset.as_deref())?;
    if args.params.print_config {
        return settings::print(&resolved);
    }
    let tracker = Tracker::new(resolved.params.clone())?;
    let wanted = args.targets.read()?;
    let given = args.source.as_ref().or(args.seq.as_ref()).ok_or_else(|| Failure::usage("--seq SRC is needed"))?;
    let interrupt = Interrupt::watch();
    let by_truth = wanted.is_empty() && !args.pick;
    let (source, mut warnings) = open_source(args, given, by_truth, &interrupt)?;
    let whole: Arc<dyn Source> = source.into();
    let source = whole.as_ref();
    let span = job::span(source, args.start, args.end, wanted.first()).map_err(|failure| interrupt.or(failure))?;
    let known = if args.pick { None } else { Some(wanted.within(span, source)?) };
    let outputs = args.output.all(wanted.named)?;
    outputs.spare("--init-file", args.targets.file())?;
    outputs.spare("--config", args.params.file())?;
    // Before a box is asked for: whoever has drawn one shall not have done so in vain.
    let exports = outputs.open_unless(&whole, args.output.inset, &interrupt.stop(), || interrupt.asked());
    let exports = exports.map_err(|failure| interrupt.or(failure))?;
    let (targets, begun) = match known {
        Some(targets) => (targets, None),
        None => {
            let Picked { bbox, begun } = pick(source, span, &resolved, &interrupt)?;
            (vec![TargetRecord { id: 1, start: span.first, bbox }], begun)
        }
    };
    warnings.extend(job::oddities(source, &targets));
    warnings.extend(outputs.odd_ids(&targets));
    warnings.extend(job::left_out(source, span, &wanted, (args.start, args.end)));
    let to_stdout = outputs.uses_stdout();
    // Rows that a person reads as they come, perhaps by way of another program, are progress enough.
    let apart = !std::io::stderr().is_terminal() || std::fs::metadata("/dev/stdout").is_ok_and(|out| out.is_file());
    let shown = args.quiet == 0 && (!to_stdout || apart);
    let total = job::expected(source, span);
    let progress = Progress::new(total, shown, args.quiet < 2);
    warnings.iter().for_each(|warning| progress.warn(warning));
    args.jobs.map_or(Ok(()), |jobs| job::start_threads(jobs.into()))?;
    let demand = Demand { channels: resolved.params.channels(), color: exports.draw() };
    let started = Instant::now();
    let (first, frames) = match begun {
        Some((first, frames)) => (Some(first), frames),
        None => (None, Prefetch::open(source, outputs.to_be_read(source, span), demand)?),
    };
    let plan = Plan {
        source,
        path: given.to_string_lossy().into(),
        span,
        started: args.start.is_some(),
        targets,
        named: wanted.named,
        given: !wanted.is_empty(),
        tracker: &tracker,
        parameters: resolved.params.document(&resolved.preset),
        skip_bad_frames: args.skip_bad_frames,
        parallel: args.jobs.is_none_or(|jobs| jobs > 1),
        profile: args.profile,
    };
    let frames = Frames { first, frames, source, asked: || interrupt.asked() };
    let mut watcher = Watching { progress, interrupt: &interrupt };
    let done = plan.run(exports, frames, &mut watcher);
    watcher.progress.finish();
    let profile = done.profile;
    let lost = done.lost().map(ToString::to_string);
    if let Some(error) = &lost {
        failure::tell(error);
    }
    let summary = done.summary().map_err(|failure| match failure {
        job::Failure::Interrupted => {
            Failure::Interrupted { code: interrupt.code(), kept: lost.is_none() && !outputs.is_empty() }
        }
        failure => failure.into(),
    })?;
    if args.quiet == 0 {
        let has_start = !wanted.named && source.true_box(span.first).is_some();
        let mut text = job::last_words(source.name(), &summary, started.elapsed(), has_start);
        if outputs.is_empty() {
            text += job::NEXT;
        }
        print_summary(&text, to_stdout)?;
    }
    if args.profile {
        let _ = std::io::stderr().write_all(profile.table(summary.frames as u64).as_bytes());
    }
    Ok(())
}

/// What was given to be read, and what to say of it. `by_truth` where the truth says what is followed.
fn open_source(
    args: &TrackArgs,
    given: &Path,
    by_truth: bool,
    interrupt: &Interrupt,
) -> Result<(Box<dyn Source>, Vec<String>), Failure> {
    let by_flag = args.source.is_none();
    let opening = Opening {
        path: given.into(),
        flag: if by_flag { "--seq " } else { "" },
        truth: args.truth.clone(),
        target: args.target,
        video: VideoOptions {
            lenient: args.skip_bad_frames,
            patience: job::seconds(args.timeout)?,
            stop: interrupt.stop(),
            ..VideoOptions::default()
        },
        by_truth,
        hint: if by_flag { inputs::source } else { inputs::meant },
    };
    opening.open_unless(|| interrupt.asked()).map_err(|failure| interrupt.or(failure))
}

/// Shows how far the run is, and hears whether somebody wants it to end.
struct Watching<'a> {
    progress: Progress,
    interrupt: &'a Interrupt,
}

impl Watcher for Watching<'_> {
    fn asked(&mut self) -> bool {
        self.interrupt.asked()
    }

    fn frame(&mut self, evidence: Option<&Evidence>) {
        self.progress.frame(evidence);
    }

    fn warn(&mut self, warning: &str) {
        self.progress.warn(warning);
    }
}

fn print_summary(text: &str, to_stderr: bool) -> Result<(), Failure> {
    if to_stderr {
        let _ = std::io::stderr().write_all(text.as_bytes());
        return Ok(());
    }
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}
