//! `kcf-track --seq …`: one target through one sequence.

use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use kcf_track::eval::metrics;
use kcf_track::eval::rules::Toolkit;
use kcf_track::export::{
    self, Csv, Destination, Exports, FrameRecord, FrameView, Json, JsonLines, Otb, Overlays, ResponseMaps, Run, Source,
    Summary, Tally, TruthSummary,
};
use kcf_track::profile::{Stage, Stopwatch};
use kcf_track::source::{Channels, Decoded, Prefetch, Sequence, SequenceOptions, Truth};
use kcf_track::{BBox, Error, Estimate, State, Tracker};

use super::failure::message;
use super::interrupt::Interrupt;
use super::params::{self, ParamArgs, Resolved};
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
    let truth = args.truth.clone().map_or(Truth::Beside, Truth::File);
    let sequence =
        Sequence::open(folder, &SequenceOptions { target: args.target, truth }).map_err(|error| match error {
            Error::Io { path, source } if path == *folder && source.kind() == ErrorKind::NotFound => {
                Failure::Failed(anyhow::anyhow!("--seq {}: there is no such folder", path.display()))
            }
            error => error.into(),
        })?;
    let range = sequence.range(args.start, args.end)?;
    let initial = match args.init {
        Some(bbox) => bbox,
        None => sequence.initial_box(*range.start())?,
    };
    if !args.quiet {
        for warning in sequence.warnings() {
            let _ = writeln!(std::io::stderr(), "warning: {warning}");
        }
    }
    let exports = args.output.create(&sequence)?;
    // All features are of gray values; an overlay decodes its frame in colour by itself.
    let mut frames = sequence.prefetch(range.clone(), Channels::Luma)?;
    let mut session = Session {
        args,
        sequence: &sequence,
        range: (*range.start(), *range.end()),
        exports,
        tally: Tally::default(),
        boxes: Vec::new(),
        progress: Progress::new(range.count(), args.quiet),
        watch: Stopwatch::default(),
    };
    session.watch.switch(args.profile);
    tracker.switch_profile(args.profile);
    let interrupt = Interrupt::watch();
    let first = session.wait(&mut frames);
    let result = session.first(&mut tracker, &resolved, initial, first).and_then(|()| {
        while let Some(frame) = session.wait(&mut frames) {
            if interrupt.asked() {
                return Err(Failure::Interrupted);
            }
            session.next(&mut tracker, frame)?;
        }
        Ok(())
    });
    session.progress.finish();
    session.end(&tracker, result)
}

impl OutputArgs {
    /// Checks and opens all outputs before anything is computed.
    fn create(&self, sequence: &Sequence) -> Result<Exports, Failure> {
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
        inputs::refuse(sequence, &given)?;
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

/// One run: what it reads, what it writes and what it has counted.
struct Session<'a> {
    args: &'a TrackArgs,
    sequence: &'a Sequence,
    range: (usize, usize),
    exports: Exports,
    tally: Tally,
    boxes: Vec<BBox>,
    progress: Progress,
    watch: Stopwatch,
}

impl Session<'_> {
    fn wait(&mut self, frames: &mut Prefetch) -> Option<Decoded> {
        self.watch.start();
        let frame = frames.next()?;
        self.watch.lap(Stage::Wait);
        Some(frame)
    }

    /// The start frame: the tracker learns the target.
    fn first(
        &mut self,
        tracker: &mut Tracker,
        resolved: &Resolved,
        initial: BBox,
        first: Option<Decoded>,
    ) -> Result<(), Failure> {
        let decoded = first.ok_or_else(|| Failure::usage("the range holds no frame"))?;
        // Without this frame there is nothing to follow, whether bad frames are to be skipped or not.
        let frame = decoded.frame.as_ref().map_err(|error| Failure::Failed(at_frame(&decoded, error)))?;
        let begun = Instant::now();
        let estimate = tracker.init(frame, initial).map_err(|error| match self.args.init {
            Some(_) => Failure::usage(format!("--init: {error}")),
            None => Failure::Failed(at_frame(&decoded, &error)),
        })?;
        let track_ms = begun.elapsed().as_secs_f64() * 1e3;
        let view = frame.as_frame();
        let source = Source {
            path: self.args.seq.as_ref().map_or(String::new(), |path| path.to_string_lossy().into_owned()),
            start: self.range.0,
            end: self.range.1,
            width: view.width(),
            height: view.height(),
        };
        let parameters = resolved.params.document(&resolved.preset);
        let begun = self.exports.begin(&Run::new(source, parameters));
        self.survive(begun)?;
        self.write(&decoded, Some((estimate, tracker)), initial, track_ms)
    }

    /// Every later frame.
    fn next(&mut self, tracker: &mut Tracker, decoded: Decoded) -> Result<(), Failure> {
        let last = self.boxes.last().copied().unwrap_or_default();
        let mut refused = None;
        let begun = Instant::now();
        let found =
            decoded.frame.as_ref().and_then(|frame| tracker.update(frame).map_err(|error| &*refused.insert(error)));
        let track_ms = begun.elapsed().as_secs_f64() * 1e3;
        match found {
            Ok(estimate) => self.write(&decoded, Some((estimate, tracker)), estimate.bbox, track_ms),
            Err(error) if self.args.skip_bad_frames => {
                self.progress.warn(&format!("{} (skipped)", at_frame(&decoded, error)));
                self.write(&decoded, None, last, 0.0)
            }
            Err(error) => {
                let error = at_frame(&decoded, error);
                Err(Failure::Failed(anyhow::anyhow!("{error}; --skip-bad-frames goes on without it")))
            }
        }
    }

    fn write(
        &mut self,
        decoded: &Decoded,
        found: Option<(Estimate, &Tracker)>,
        bbox: BBox,
        track_ms: f64,
    ) -> Result<(), Failure> {
        let evidence = found.map(|(estimate, _)| estimate.evidence);
        let record = FrameRecord {
            index: decoded.position,
            file: decoded.path.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned()),
            bbox,
            peak: evidence.map(|e| e.peak),
            psr: evidence.map(|e| e.psr),
            apce: evidence.map(|e| e.apce),
            decision: evidence.and_then(|e| e.decision),
            refit_kept: evidence.is_some_and(|e| e.refit_kept),
            state: found.map_or(State::Missing, |(estimate, _)| estimate.state),
            decode_ms: decoded.decode_ms,
            track_ms,
        };
        let view = FrameView {
            path: Some(&decoded.path),
            pixels: None,
            truth: self.sequence.truth().get(decoded.position - 1).copied().flatten(),
            response: found.and_then(|(_, tracker)| tracker.response()),
        };
        self.boxes.push(bbox);
        self.tally.add(&record);
        self.watch.start();
        let written = self.exports.frame(&record, &view);
        self.watch.lap(Stage::Export);
        self.progress.frame(record.psr);
        self.survive(written)
    }

    /// An output whose reader has gone is no reason to stop while others are left.
    fn survive(&self, result: Result<(), Error>) -> Result<(), Failure> {
        match result {
            Err(error) if error.is_broken_pipe() && !self.exports.is_empty() => Ok(()),
            result => Ok(result?),
        }
    }

    /// Completes all outputs, of a run that failed too, and prints the summary.
    fn end(mut self, tracker: &Tracker, result: Result<(), Failure>) -> Result<(), Failure> {
        let truth = self.truth_summary();
        let summary = match &result {
            Ok(()) => self.tally.completed(truth),
            Err(Failure::Failed(error) | Failure::Usage(error)) => self.tally.failed(truth, message(error)),
            Err(Failure::Interrupted) => self.tally.failed(truth, "interrupted"),
            Err(Failure::ReaderGone) => self.tally.failed(truth, "the reader of the output has gone"),
        };
        // Nothing was begun when not even the first frame was there: old files stay.
        let frames = self.boxes.len() as u64;
        self.watch.start();
        let finished = if self.boxes.is_empty() { Ok(()) } else { self.exports.finish(&summary) };
        self.watch.lap(Stage::Export);
        result?;
        finished?;
        if !self.args.quiet {
            print_summary(self.sequence.name(), &summary, self.args.output.uses_stdout())?;
        }
        if self.args.profile {
            let table = self.watch.profile().plus(&tracker.profile()).table(frames);
            let _ = std::io::stderr().write_all(table.as_bytes());
        }
        Ok(())
    }

    /// The benchmark's scores over the frames that the truth has a row for.
    fn truth_summary(&self) -> Option<TruthSummary> {
        let first = self.range.0 - 1;
        let rows = self.sequence.rows().get(first..).unwrap_or_default();
        let truth = self.sequence.truth().get(first..).unwrap_or_default();
        let covered = rows.iter().zip(truth).zip(&self.boxes).filter(|((row, _), _)| row.is_some());
        let (truth, boxes): (Vec<_>, Vec<_>) = covered.map(|((_, truth), bbox)| (*truth, *bbox)).unzip();
        truth.iter().flatten().next()?;
        let score = metrics::score(&truth, &boxes, Toolkit::Otb).ok()?;
        Some(TruthSummary {
            frames: truth.len(),
            precision_20: score.precision_20,
            auc: score.auc,
            mean_overlap: score.mean_overlap,
            mean_center_error: score.mean_center_error.unwrap_or(f64::NAN),
        })
    }
}

/// An error with the frame that it happened at.
fn at_frame(decoded: &Decoded, error: &Error) -> anyhow::Error {
    let path = decoded.path.display().to_string();
    let message = error.to_string();
    let file = if message.contains(&path) { String::new() } else { format!(" ({path})") };
    anyhow::anyhow!("frame {}{file}: {message}", decoded.position)
}

fn print_summary(name: &str, summary: &Summary, to_stderr: bool) -> Result<(), Failure> {
    let text = report::text(name, summary);
    if to_stderr {
        let _ = std::io::stderr().write_all(text.as_bytes());
        return Ok(());
    }
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}
