//! `kcf-track --seq …`: one target through one sequence.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use kcf_track::export::{
    self, Csv, Destination, Exports, Journal, Json, JsonLines, Otb, Overlays, ResponseMaps, Summary,
};
use kcf_track::run::{Cause, End, Halt, Session, Step, Watch};
use kcf_track::source::{Demand, Prefetch, Sequence, SequenceOptions, Source, Truth};
use kcf_track::{BBox, Error, Tracker};

use super::failure::message;
use super::interrupt::Interrupt;
use super::params::{self, ParamArgs};
use super::progress::Progress;
use super::{Failure, init_box, inputs, report};

/// Where frames come from, where results go, and how to track.
#[derive(Debug, Args)]
pub struct TrackArgs {
    /// Folder of frames in natural order: an OTB, VOT or GOT-10k sequence, or any folder of images
    #[arg(long, value_name = "DIR", required_unless_present = "print-config")]
    seq: Option<PathBuf>,
    /// The target's box in the start frame: left, top (0-based), width, height in pixels
    /// [default: the ground truth's]
    #[arg(long, value_name = "X,Y,W,H", value_parser = init_box::parse, allow_hyphen_values = true)]
    init: Option<BBox>,
    /// First frame, its position in the sorted folder from 1 [default: the first with truth, else 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    start: Option<usize>,
    /// Last frame, its position in the sorted folder from 1 [default: the last]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    end: Option<usize>,
    /// Ground truth to compare with, in place of the file beside the frames
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
    /// Which target's truth, where there are several (groundtruth_rect.N.txt)
    #[arg(long, value_name = "N")]
    target: Option<u32>,
    /// Go on after a frame that cannot be read; it gets the box before it and the state `missing`
    #[arg(long)]
    skip_bad_frames: bool,
    /// Print neither progress nor a summary
    #[arg(long, short)]
    quiet: bool,
    /// Print a table of what the time was spent on, to the standard error
    #[arg(long)]
    profile: bool,
    #[command(flatten)]
    output: OutputArgs,
    /// Settings to start from, which all others change [default: paper]
    #[arg(long, value_name = "NAME", value_parser = params::preset_names(), help_heading = "Settings")]
    preset: Option<String>,
    #[command(flatten)]
    params: ParamArgs,
}

/// Any number of outputs at once; `-` is the standard output.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
struct OutputArgs {
    /// One JSON document, written when the run is over
    #[arg(long, value_name = "FILE|-")]
    json: Option<Destination>,
    /// One JSON object a line and frame, written as frames are tracked
    #[arg(long, value_name = "FILE|-")]
    jsonl: Option<Destination>,
    /// Boxes as OTB has them: x,y,w,h a line, 1-based
    #[arg(long, value_name = "FILE|-")]
    otb: Option<Destination>,
    /// A table with a header line
    #[arg(long, value_name = "FILE|-")]
    csv: Option<Destination>,
    /// A folder for the filter's response to each frame: raw floats (.npy) and a heat map (.png)
    #[arg(long, value_name = "DIR")]
    response: Option<PathBuf>,
    /// A folder for the frames with the box, its score and the truth drawn on them
    #[arg(long, value_name = "DIR")]
    overlay: Option<PathBuf>,
}

pub fn run(args: &TrackArgs) -> Result<(), Failure> {
    let resolved = args.params.resolve(args.preset.as_deref())?;
    if args.params.print_config {
        return params::print(&resolved);
    }
    let mut tracker = Tracker::new(resolved.params.clone())?;
    let folder = args.seq.as_ref().ok_or_else(|| Failure::usage("--seq DIR is needed"))?;
    let source = open(args, folder)?;
    let span = source.span(args.start, args.end)?;
    let initial = match args.init {
        Some(bbox) => bbox,
        None => source.initial_box(span.first)?,
    };
    if !args.quiet {
        for warning in source.warnings() {
            let _ = writeln!(std::io::stderr(), "warning: {warning}");
        }
    }
    let exports = args.output.create(source.as_ref())?;
    let demand = Demand { channels: resolved.params.channels(), color: exports.draw() };
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
        progress: Progress::new(span.count(), args.quiet),
        interrupt: Interrupt::watch(),
    };
    watcher.journal.switch_profile(args.profile);
    let ended = session.run(frames, &mut watcher);
    let Watcher { mut journal, progress, .. } = watcher;
    progress.finish();
    let result = match ended {
        Ok(End::Complete) if journal.frames() == 0 => Err(Failure::usage("the range holds no frame")),
        Ok(End::Complete) => Ok(()),
        Ok(End::Stopped) => Err(Failure::Interrupted),
        Err(halt) => Err(failure(halt, args, journal.frames() == 0)),
    };
    let (summary, finished) = journal.finish(result.as_ref().err().map(reason).as_deref());
    result?;
    finished?;
    if !args.quiet {
        print_summary(source.name(), &summary, args.output.uses_stdout())?;
    }
    if args.profile {
        let tracker = session.follower(0).map(Tracker::profile).unwrap_or_default();
        let profile = session.profile().plus(journal.profile()).plus(&tracker);
        let _ = std::io::stderr().write_all(profile.table(summary.frames as u64).as_bytes());
    }
    Ok(())
}

/// What `--seq` names.
fn open(args: &TrackArgs, folder: &Path) -> Result<Box<dyn Source>, Failure> {
    let truth = args.truth.clone().map_or(Truth::Beside, Truth::File);
    match Sequence::open(folder, &SequenceOptions { target: args.target, truth }) {
        Ok(sequence) => Ok(Box::new(sequence)),
        Err(Error::Io { path, source }) if path == *folder && source.kind() == ErrorKind::NotFound => {
            Err(Failure::Failed(anyhow::anyhow!("--seq {}: there is no such folder", path.display())))
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
        Failure::Interrupted => "interrupted".into(),
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
        self.progress.frame(estimate.map(|estimate| estimate.evidence.psr));
        written
    }

    fn skipped(&mut self, message: &str) {
        self.progress.warn(&format!("{message} (skipped)"));
    }
}

impl OutputArgs {
    /// Checks and opens all outputs before anything is computed.
    fn create(&self, source: &dyn Source) -> Result<Exports, Failure> {
        let folders = [&self.response, &self.overlay].map(|path| path.as_deref().map(Destination::from));
        let files = [
            ("json", self.json.as_ref()),
            ("jsonl", self.jsonl.as_ref()),
            ("otb", self.otb.as_ref()),
            ("csv", self.csv.as_ref()),
        ];
        let folders = [("response", folders[0].as_ref()), ("overlay", folders[1].as_ref())];
        let given = |(name, to): (&'static str, Option<_>)| to.map(|to| (name, to));
        let files: Vec<(_, &Destination)> = files.into_iter().filter_map(given).collect();
        let folders: Vec<(_, &Destination)> = folders.into_iter().filter_map(given).collect();
        let given = [files.as_slice(), &folders].concat();
        export::check_distinct(&given)?;
        export::check_outside(&files, &folders)?;
        inputs::refuse(source, &given)?;
        let mut exports = Exports::default();
        self.json.as_ref().map(|to| Json::create(to).map(|e| exports.push(e))).transpose()?;
        self.jsonl.as_ref().map(|to| JsonLines::create(to).map(|e| exports.push(e))).transpose()?;
        self.otb.as_ref().map(|to| Otb::create(to).map(|e| exports.push(e))).transpose()?;
        self.csv.as_ref().map(|to| Csv::create(to).map(|e| exports.push(e))).transpose()?;
        self.response.as_ref().map(|to| ResponseMaps::create(to).map(|e| exports.push(e))).transpose()?;
        self.overlay.as_ref().map(|to| Overlays::create(to).map(|e| exports.push(e))).transpose()?;
        Ok(exports)
    }

    fn uses_stdout(&self) -> bool {
        let lines = [&self.json, &self.jsonl, &self.otb, &self.csv];
        lines.into_iter().any(|to| matches!(to, Some(Destination::Stdout)))
    }
}

fn print_summary(name: &str, summary: &Summary, to_stderr: bool) -> Result<(), Failure> {
    let text = report::text(name, summary);
    if to_stderr {
        let _ = std::io::stderr().write_all(text.as_bytes());
        return Ok(());
    }
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}
