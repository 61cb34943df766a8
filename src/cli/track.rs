//! `kcf-track --seq …`: one target through one sequence.

use std::io::{ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{ArgAction, Args};
use kcf_track::export::Journal;
use kcf_track::run::{Cause, End, Halt, Session, Step, Watch};
use kcf_track::source::{Demand, Prefetch, Sequence, SequenceOptions, Source, Truth};
use kcf_track::{Error, Tracker};

use super::failure::message;
use super::init_box::{self, BoxFormat};
use super::interrupt::Interrupt;
use super::output::OutputArgs;
use super::params::{self, ParamArgs};
use super::progress::Progress;
use super::{Failure, inputs, report};

/// Where frames come from, where results go, and how to track.
#[derive(Debug, Args)]
pub struct TrackArgs {
    /// Folder of frames in natural order: an OTB, VOT or GOT-10k sequence, or any folder of images
    #[arg(value_name = "DIR", required_unless_present_any = ["print-config", "seq"])]
    folder: Option<PathBuf>,
    /// The same by a flag
    #[arg(long, value_name = "DIR", conflicts_with = "folder")]
    seq: Option<PathBuf>,
    /// The target's box in the start frame: left, top (0-based), width, height in pixels
    /// [default: the ground truth's]
    #[arg(long, short, value_name = "X,Y,W,H", value_parser = init_box::parse, allow_hyphen_values = true)]
    init: Option<[f64; 4]>,
    /// What the four numbers of --init are
    #[arg(long, value_name = "FORM", value_enum, default_value_t, requires = "init")]
    init_format: BoxFormat,
    /// First frame, its position in the sorted folder from 1 [default: the first with truth, else 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    start: Option<usize>,
    /// Last frame, its position in the sorted folder from 1 [default: the last]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    end: Option<usize>,
    /// Ground truth to compare with, in place of the file beside the frames
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
    /// Which target's truth, where there are several (groundtruth_rect.N.txt, or an id of MOT's gt.txt)
    #[arg(long, value_name = "N")]
    target: Option<u32>,
    /// Go on after a frame that cannot be read; it gets the box before it and the state `missing`
    #[arg(long)]
    skip_bad_frames: bool,
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
    let mut tracker = Tracker::new(resolved.params.clone())?;
    let given = args.init.map(|numbers| args.init_format.to_bbox(numbers)).transpose();
    let given = given.map_err(|said| Failure::usage(format!("--init: {said}")))?;
    let folder = args.folder.as_ref().or(args.seq.as_ref()).ok_or_else(|| Failure::usage("--seq DIR is needed"))?;
    let (source, mut warnings) = open(args, folder)?;
    let span = source.span(args.start, args.end)?;
    let initial = match given {
        Some(bbox) => bbox,
        None => {
            let box_of_truth = source.initial_box(span.first);
            box_of_truth.map_err(|error| anyhow::anyhow!("{error}: give the first box by --init x,y,w,h"))?
        }
    };
    warnings.extend(source.warnings().iter().map(|said| params::words_in_flags(said)));
    if initial.w.min(initial.h) < SMALLEST {
        warnings.push(format!(
            "the box is {}x{} pixels: below about {SMALLEST} too little of a target is seen to follow it; enlarge the \
             images",
            initial.w, initial.h
        ));
    }
    let exports = args.output.create(source.as_ref())?;
    let to_stdout = args.output.uses_stdout();
    // Rows that a person reads as they come are progress enough.
    let shown = args.quiet == 0 && !(to_stdout && std::io::stdout().is_terminal());
    let progress = Progress::new(span.count(), shown, args.quiet < 2);
    if args.quiet == 0 {
        let _ = writeln!(std::io::stderr(), "{}", report::first_words(&resolved));
    }
    warnings.iter().for_each(|warning| progress.warn(warning));
    let demand = Demand { channels: resolved.params.channels(), color: exports.draw() };
    let begun = Instant::now();
    let frames = Prefetch::open(source.as_ref(), span, demand)?;
    tracker.switch_profile(args.profile);
    let mut session = Session::of(tracker, span.first, initial);
    session.skip_bad_frames(args.skip_bad_frames);
    session.switch_profile(args.profile);
    let mut watcher = Watcher {
        journal: Journal::new(
            exports,
            source.as_ref(),
            folder.to_string_lossy().into(),
            span,
            resolved.params.document(&resolved.preset),
        ),
        progress,
        interrupt: Interrupt::watch(),
    };
    watcher.journal.switch_profile(args.profile);
    let ended = session.run(frames, &mut watcher);
    let Watcher { mut journal, progress, interrupt } = watcher;
    progress.finish();
    let result = match ended {
        Ok(End::Complete) if journal.frames() == 0 => Err(Failure::usage("the range holds no frame")),
        Ok(End::Complete) => Ok(()),
        Ok(End::Stopped) => Err(Failure::Interrupted { code: interrupt.code() }),
        Err(halt) => Err(failure(halt, args, journal.frames() == 0)),
    };
    let (summary, finished) = journal.finish(result.as_ref().err().map(reason).as_deref());
    result?;
    finished?;
    if args.quiet == 0 {
        let has_start = source.true_box(span.first).is_some();
        let mut text = report::text(source.name(), &summary, begun.elapsed(), has_start);
        if args.output.is_empty() {
            text += report::NEXT;
        }
        print_summary(&text, to_stdout)?;
    }
    if args.profile {
        let tracker = session.follower(0).map(Tracker::profile).unwrap_or_default();
        let profile = session.profile().plus(journal.profile()).plus(&tracker);
        let _ = std::io::stderr().write_all(profile.table(summary.frames as u64).as_bytes());
    }
    Ok(())
}

/// What was given as the folder of frames, and what to say of it.
fn open(args: &TrackArgs, folder: &Path) -> Result<(Box<dyn Source>, Vec<String>), Failure> {
    let open = |truth| Sequence::open(folder, &SequenceOptions { target: args.target, truth });
    let mut warnings = Vec::new();
    let opened = match open(args.truth.clone().map_or(Truth::Beside, Truth::File)) {
        // The truth is only compared with: what is broken in it stops nobody who gives the box and did not ask for it.
        Err(error @ Error::Annotation { .. }) if args.init.is_some() && args.truth.is_none() => {
            warnings.push(format!("{error}; the truth is left out"));
            open(Truth::Ignore)
        }
        opened => opened,
    };
    match opened {
        Ok(sequence) => Ok((Box::new(sequence), warnings)),
        Err(Error::Io { path, source }) if path == *folder && source.kind() == ErrorKind::NotFound => {
            let said = match args.folder.as_ref().and_then(|given| inputs::meant(given)) {
                Some(command) => {
                    format!("{}: there is no such folder; is `kcf-track {command}` meant?", path.display())
                }
                None if args.folder.is_some() => format!("{}: there is no such folder", path.display()),
                None => format!("--seq {}: there is no such folder", path.display()),
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
fn failure(halt: Halt, args: &TrackArgs, first: bool) -> Failure {
    let said = halt.to_string();
    match halt.cause {
        Cause::Watch(error) => error.into(),
        Cause::Target { error, .. } if first && args.init.is_some() => Failure::usage(format!("--init: {error}")),
        // Without the first frame there is nothing to follow, whether bad frames are to be skipped or not.
        Cause::Frame(_) if !first => Failure::Failed(anyhow::anyhow!("{said}; --skip-bad-frames goes on without it")),
        Cause::Frame(_) | Cause::Target { .. } => Failure::Failed(anyhow::anyhow!(said)),
    }
}

/// Why a run ended early, for its summary.
fn reason(failure: &Failure) -> String {
    match failure {
        Failure::Failed(error) | Failure::Usage(error) => message(error),
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
