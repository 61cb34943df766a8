//! `kcf-track SRC`: targets through one source of frames.

use std::io::{ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{ArgAction, Args};
use kcf_track::export::{Journal, TargetRecord};
use kcf_track::profile::Profile;
use kcf_track::run::{Cause, End, Halt, Session, Step, Watch};
use kcf_track::source::{Demand, OpenOptions, Prefetch, SequenceOptions, Source, Truth, VideoOptions, open};
use kcf_track::{Error, Tracker};

use super::failure::message;
use super::frames::Frames;
use super::interrupt::Interrupt;
use super::output::OutputArgs;
use super::params::{self, ParamArgs};
use super::pick::{Picked, pick};
use super::position::{self, Position};
use super::progress::Progress;
use super::targets::TargetArgs;
use super::{Failure, inputs, report};

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
    /// First frame, its position from 1, or its time (80.5s, 00:01:20.5) [default: the first with truth, else 1]
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
    /// Longest time that the next frame of a video or a camera may take
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0)]
    timeout: f64,
    /// Threads that follow several targets [default: as many as there are cores]
    #[arg(long, short, value_name = "N")]
    jobs: Option<std::num::NonZeroUsize>,
    /// Print neither progress nor a summary; given twice, no warnings either
    #[arg(long, short, action = ArgAction::Count)]
    quiet: u8,
    /// Print a table of what the time was spent on, to the standard error
    #[arg(long)]
    profile: bool,
    #[command(flatten)]
    output: OutputArgs,
    /// Settings to start from, which all others change [default: robust]
    #[arg(long, short, value_name = "NAME", value_parser = params::preset_names(), help_heading = "Settings")]
    preset: Option<String>,
    #[command(flatten)]
    params: ParamArgs,
}

/// Pixels of the shorter side of a box below which its features say nothing.
const SMALLEST: f64 = 6.0;

pub fn run(args: &TrackArgs) -> Result<(), Failure> {
    let resolved = args.params.resolve(args.preset.as_deref())?;
    if args.params.print_config {
        return params::print(&resolved);
    }
    let tracker = Tracker::new(resolved.params.clone())?;
    let wanted = args.targets.read()?;
    let given = args.source.as_ref().or(args.seq.as_ref()).ok_or_else(|| Failure::usage("--seq SRC is needed"))?;
    let (source, mut warnings) = open_source(args, given, wanted.is_empty() && !args.pick)?;
    let source = source.as_ref();
    let span = position::span(source, args.start, args.end, wanted.first())?;
    let interrupt = Interrupt::watch();
    let picked = args.pick.then(|| pick(source, span, &resolved, &interrupt)).transpose()?;
    let (targets, begun) = match picked {
        Some(Picked { bbox, begun }) => (vec![TargetRecord { id: 1, start: span.first, bbox }], begun),
        None => (wanted.within(span, source)?, None),
    };
    warnings.extend(source.warnings().iter().map(|said| params::words_in_flags(said)));
    warnings.extend(targets.iter().filter_map(too_small));
    let exports = args.output.create(source, wanted.named)?;
    let to_stdout = args.output.uses_stdout();
    // Rows that a person reads as they come are progress enough.
    let shown = args.quiet == 0 && !(to_stdout && std::io::stdout().is_terminal());
    let total = span.count().or(source.expected_length().map(|count| (count + 1).saturating_sub(span.first)));
    let progress = Progress::new(total, shown, args.quiet < 2);
    if args.quiet == 0 {
        let _ = writeln!(std::io::stderr(), "{}", report::first_words(&resolved));
    }
    warnings.iter().for_each(|warning| progress.warn(warning));
    let demand = Demand { channels: resolved.params.channels(), color: exports.draw() };
    let started = Instant::now();
    let (first, frames) = match begun {
        Some((first, frames)) => (Some(first), frames),
        None => (None, Prefetch::open(source, span, demand)?),
    };
    let frames = Frames { first, frames, source, interrupt: interrupt.clone() };
    let mut session = session(args, &tracker, &targets)?;
    let parameters = resolved.params.document(&resolved.preset);
    let mut journal = Journal::new(exports, source, given.to_string_lossy().into(), span, parameters);
    if wanted.named {
        journal.name_targets(targets.iter().copied());
    }
    journal.switch_profile(args.profile);
    let mut watcher = Watcher { journal, progress, interrupt };
    let ended = session.run(frames, &mut watcher);
    let Watcher { mut journal, progress, interrupt } = watcher;
    progress.finish();
    let result = match ended {
        Ok(_) if interrupt.asked() => Err(Failure::Interrupted { code: interrupt.code() }),
        Ok(End::Complete) if journal.frames() == 0 => Err(Failure::usage("the range holds no frame")),
        Ok(End::Complete | End::Stopped) => match session.waiting().next() {
            Some((target, start)) => Err(Failure::Failed(anyhow::anyhow!(
                "target {} never began: it waits for frame {start}, and there are no more frames",
                targets[target].id
            ))),
            None => Ok(()),
        },
        Err(halt) => Err(failure(halt, args, &targets, journal.frames() == 0)),
    };
    let (summary, finished) = journal.finish(result.as_ref().err().map(reason).as_deref());
    result?;
    finished?;
    if args.quiet == 0 {
        let has_start = !wanted.named && source.true_box(span.first).is_some();
        let mut text = report::text(source.name(), &summary, started.elapsed(), has_start);
        if args.output.is_empty() {
            text += report::NEXT;
        }
        print_summary(&text, to_stdout)?;
    }
    if args.profile {
        let trackers = (0..targets.len()).filter_map(|target| session.follower(target)).map(Tracker::profile);
        let trackers = trackers.fold(Profile::default(), |sum, each| sum.plus(&each));
        let profile = session.profile().plus(journal.profile()).plus(&trackers);
        let _ = std::io::stderr().write_all(profile.table(summary.frames as u64).as_bytes());
    }
    Ok(())
}

/// A session of all targets, each with a tracker of its own.
fn session(args: &TrackArgs, tracker: &Tracker, targets: &[TargetRecord]) -> Result<Session<Tracker>, Failure> {
    let mut session = Session::default();
    for target in targets {
        let mut tracker = tracker.clone();
        tracker.switch_profile(args.profile);
        session.add(tracker, target.start, target.bbox);
    }
    session.skip_bad_frames(args.skip_bad_frames);
    session.switch_profile(args.profile);
    session.parallel(targets.len() > 1 && args.jobs.is_none_or(|jobs| jobs.get() > 1));
    if let Some(jobs) = args.jobs {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs.get()).build_global();
        pool.map_err(|error| anyhow::anyhow!("--jobs {jobs}: {error}"))?;
    }
    Ok(session)
}

/// What to say of a target that is too small to be seen.
fn too_small(target: &TargetRecord) -> Option<String> {
    let (w, h) = (target.bbox.w, target.bbox.h);
    (w.min(h) < SMALLEST).then(|| {
        format!(
            "the box is {w}x{h} pixels: below about {SMALLEST} too little of a target is seen to follow it; enlarge \
             the images"
        )
    })
}

/// What was given to be read, and what to say of it. `by_truth` where the truth says what is followed.
fn open_source(args: &TrackArgs, given: &Path, by_truth: bool) -> Result<(Box<dyn Source>, Vec<String>), Failure> {
    let patience = Duration::try_from_secs_f64(args.timeout).ok().filter(|patience| !patience.is_zero());
    let patience = patience.ok_or_else(|| Failure::usage(format!("--timeout {}: seconds above zero", args.timeout)))?;
    let video = VideoOptions { lenient: args.skip_bad_frames, patience };
    let options = |truth| OpenOptions { sequence: SequenceOptions { target: args.target, truth }, video };
    let mut warnings = Vec::new();
    let opened = match open(given, &options(args.truth.clone().map_or(Truth::Beside, Truth::File))) {
        // The truth is only compared with: what is broken in it stops nobody who gives the box and did not ask for it.
        Err(error @ Error::Annotation { .. }) if !by_truth && args.truth.is_none() => {
            warnings.push(format!("{error}; the truth is left out"));
            open(given, &options(Truth::Ignore))
        }
        opened => opened,
    };
    match opened {
        Ok(source) if args.truth.is_some() && !given.is_dir() => {
            let said = format!("--truth is compared with a folder of images, and {} is none", source.name());
            Err(Failure::usage(said))
        }
        Ok(source) => Ok((source, warnings)),
        Err(Error::Io { path, source }) if path == *given && source.kind() == ErrorKind::NotFound => {
            let said = match args.source.as_ref().and_then(|given| inputs::meant(given)) {
                Some(command) => {
                    format!("{}: there is no such folder or file; is `kcf-track {command}` meant?", path.display())
                }
                None if args.source.is_some() => format!("{}: there is no such folder or file", path.display()),
                None => format!("--seq {}: there is no such folder or file", path.display()),
            };
            Err(Failure::usage(said))
        }
        Err(Error::Io { path, source }) if Some(&path) == args.truth.as_ref() => {
            Err(Failure::usage(format!("--truth {}: {source}", path.display())))
        }
        Err(error) => Err(error.into()),
    }
}

/// What a session's halt is on the command line; `first` where it happened at the first frame.
fn failure(halt: Halt, args: &TrackArgs, targets: &[TargetRecord], first: bool) -> Failure {
    let said = halt.to_string();
    match halt.cause {
        Cause::Watch(error) => error.into(),
        Cause::Target { target, error } if targets.len() > 1 => {
            let said = format!("target {}: {error}", targets.get(target).map_or(0, |target| target.id));
            if first {
                Failure::usage(said)
            } else {
                Failure::Failed(anyhow::anyhow!("frame {}: {said}", halt.position))
            }
        }
        Cause::Target { error, .. } if first && !args.targets.init.is_empty() => {
            Failure::usage(format!("--init: {error}"))
        }
        // Without the first frame there is nothing to follow, whether bad frames are to be skipped or not.
        Cause::Frame(_) if !first => Failure::Failed(anyhow::anyhow!("{said}; --skip-bad-frames goes on without it")),
        Cause::Frame(_) | Cause::Target { .. } => Failure::Failed(anyhow::anyhow!(said)),
    }
}

/// Why a run ended early, for its summary.
fn reason(failure: &Failure) -> String {
    match failure {
        Failure::Failed(error) | Failure::Usage(error) | Failure::Told(error) => message(error),
        Failure::Interrupted { .. } => "interrupted".into(),
        Failure::ReaderGone => "the reader of the output has gone".into(),
    }
}

/// Writes what the session does, shows how far it is, and hears whether somebody wants it to end.
struct Watcher<'a> {
    journal: Journal<'a>,
    progress: Progress,
    interrupt: Interrupt,
}

impl Watch<Tracker> for Watcher<'_> {
    fn wants_to_stop(&mut self) -> bool {
        self.interrupt.asked()
    }

    fn step(&mut self, step: &Step<'_, Tracker>) -> Result<(), Error> {
        let written = self.journal.add(step);
        let estimate = step.outcomes.first().and_then(|outcome| outcome.estimate);
        self.progress.frame(estimate.as_ref().map(|estimate| &estimate.evidence));
        written
    }

    fn skipped(&mut self, message: &str) {
        self.progress.warn(&format!("{message} (skipped)"));
    }
}

fn print_summary(text: &str, to_stderr: bool) -> Result<(), Failure> {
    if to_stderr {
        let _ = std::io::stderr().write_all(text.as_bytes());
        return Ok(());
    }
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}
