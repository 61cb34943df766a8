//! One run, from its first frame to its files, with its progress, warnings and summary.
//!
//! Progress is a bar on a terminal, nothing elsewhere. All of it goes to standard error.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use super::Failure;
use super::control::{self, Control, Input};
use super::settings::Resolved;
use super::source::no_frame;
use super::targets::Targets;
use super::track::TrackArgs;
use crate::cancel::CancelToken;
use crate::error::Error;
use crate::export::{
    Detections, Exports, Given, Journal, LISTED_TARGETS, LostSpan, Run, SourceRecord, StateCounts, Summary,
    TargetRecord,
};
use crate::media::{Demand, Info, Item, Prefetch, Source, Span, Stream};
use crate::run::{Cause, Halt, Outcome, Passes, Record, Session, Smoothing, Step, Watch, at_once};
use crate::text::shown;
use crate::tracker::{Evidence, Tracker, check_start};

/// How often the bar is drawn while frames are decoded on the way to the first.
const TICK: Duration = Duration::from_millis(200);

/// The inputs of a run, made from its arguments.
#[derive(Debug)]
pub struct RunConfig<'a> {
    pub args: &'a TrackArgs,
    /// The source, and the path that it was given by.
    pub source: Arc<dyn Source>,
    pub path: String,
    pub span: Span,
    pub demand: Demand,
    /// The targets that are given, and those of them that are tracked.
    pub wanted: Targets,
    pub targets: Vec<TargetRecord>,
    /// A tracker without a target, which every target gets a copy of, and its settings.
    pub tracker: Tracker,
    pub resolved: Resolved,
    /// The boxes of a detector by frame.
    pub detections: Option<Detections>,
    /// Warnings of the source as it was opened.
    pub warnings: Vec<String>,
    /// Ends the run after the current frame.
    pub cancel: CancelToken,
    /// Ends the run as if the frames had ended.
    pub quit: CancelToken,
}

impl RunConfig<'_> {
    /// Facts about the source.
    pub fn info(&self) -> &Info {
        self.source.info()
    }

    /// Tracks all frames, writes the results, and completes the outputs whatever happens. Returns the counts and means
    /// of all frames.
    ///
    /// # Errors
    /// The first error that ends the run.
    pub fn run(
        &self,
        exports: Exports,
        mut frames: Stream,
        commands: Option<Input>,
        progress: &mut Progress,
    ) -> Result<Summary, Failure> {
        let mut session = self.session()?;
        let mut first_pass = None;
        if self.has_two_passes() {
            let (record, again, halt) = self.first_pass(&mut session, frames, progress)?;
            (frames, first_pass) = (Box::new(again), Some((record, halt)));
        }
        let mut writer = self.writer(exports, commands, progress)?;
        let ended = match first_pass {
            Some((record, halt)) => writer.repeat(frames, record).and(halt.map_or(Ok(()), Err)),
            None => session.run(frames, &mut writer),
        };
        writer.settle(&session, None);
        let written = writer.write_settled().and(writer.write_late(true));
        let ended =
            ended.and(written.map_err(|error| Halt { position: writer.last, path: None, cause: Cause::Watch(error) }));
        let result = self.result(ended, &session, &writer);
        let Writer { journal, progress, last, .. } = writer;
        if result.is_ok() {
            self.early_end(last).iter().for_each(|warning| progress.warn(warning));
            if journal.frames() == 0 {
                progress.warn("no target was given, so nothing is written");
            }
        }
        finish(journal, result)
    }

    /// The writer of all outputs, which also answers commands.
    fn writer<'w>(
        &'w self,
        exports: Exports,
        commands: Option<Input>,
        progress: &'w mut Progress,
    ) -> Result<Writer<'w>, Failure> {
        let source = SourceRecord::new(self.path.clone(), self.info(), self.span);
        let parameters = self.resolved.params.document(&self.resolved.preset);
        let mut run = Run::new(source, parameters, self.targets.clone(), self.wanted.named);
        run.answers = commands.is_some();
        let mut journal = Journal::new(exports, self.info(), run);
        journal.repeats = self.has_two_passes();
        let start = |input| Control::start(input, self.tracker.clone(), self.quit.clone());
        Ok(Writer {
            smoothing: (self.args.smooth && !journal.repeats).then(|| Smoothing::new(self.args.latest)),
            journal,
            waiting: VecDeque::new(),
            settled: 0,
            delays: self.resolved.detections.delay > 0 && self.args.comes_later(),
            progress,
            control: commands.map(start).transpose()?,
            detections: self.detections.as_ref(),
            unchecked: Some(&self.targets[..]),
            refused: None,
            last: 0,
            skipped: 0,
        })
    }

    /// Whether the run has succeeded, and why not.
    fn result(&self, ended: Result<(), Halt>, session: &Session<Tracker>, writer: &Writer<'_>) -> Result<(), Failure> {
        match (ended, &writer.refused) {
            (Err(Halt { cause: Cause::Target { error: Error::Cancelled, .. }, .. }), _) => Err(Failure::Interrupted),
            (Err(_), Some(refused)) => Err(Failure::usage(refused)),
            (Err(halt), None) => Err(self.failure(halt, writer.journal.frames() == 0)),
            (Ok(()), _) if self.cancel.is_cancelled() => Err(Failure::Interrupted),
            (Ok(()), _) if self.quit.is_cancelled() => Ok(()),
            (Ok(()), _) if writer.last == 0 => Err(no_frame(self.info(), self.span, self.args.range.start.is_some())),
            (Ok(()), _) => match session.waiting().next() {
                Some((target, start)) => {
                    Err(Failure::failed(format!("target {target} never began: the frames end before frame {start}")))
                }
                None => Ok(()),
            },
        }
    }

    /// A warning that the frames end with the one at `last`, where more are expected.
    fn early_end(&self, last: usize) -> Option<String> {
        let end = self.span.last.filter(|&end| last < end).map(|end| format!(", before --end {end}"));
        let detected = self.detections.iter().flat_map(BTreeMap::values).flatten();
        let detected = detected.filter(|(_, boxes)| !boxes.is_empty()).map(|(frame, _)| *frame).max();
        let given = self.wanted.last().max(detected).filter(|&frame| frame > last && self.args.range.end.is_none());
        let given = given.map(|frame| format!(", before the box of frame {frame}"));
        let is_lenient = self.args.skip_bad_frames && self.span.last.is_none();
        let expected = self.info().expected_length.filter(|expected| is_lenient && 10 * last < 9 * expected);
        let expected = expected.map(|expected| format!(" of about {expected}"));
        let missing = end.or(given).or(expected).filter(|_| !self.quit.is_cancelled())?;
        Some(format!("the frames end with {last}{missing}"))
    }

    /// Whether all frames are tracked before anything is written.
    fn has_two_passes(&self) -> bool {
        (self.args.smooth || self.args.both_sides) && !self.info().live && !self.args.comes_later()
    }

    /// Tracks all frames, and returns what the targets did, the frames again, and why the run ended early.
    fn first_pass(
        &self,
        session: &mut Session<Tracker>,
        frames: impl Iterator<Item = Item>,
        progress: &mut Progress,
    ) -> Result<(Record, Prefetch, Option<Halt>), Error> {
        let (source, cancel) = (self.source.as_ref(), &self.cancel);
        let passes = Passes { source, channels: self.demand.channels, cancel, smooth: self.args.smooth };
        let pair = |pair: &[Given]| Some([(pair[0].frame, pair[0].bbox?), (pair[1].frame, pair[1].bbox?)]);
        let pairs =
            |target: &TargetRecord| (target.id as usize, target.given.windows(2).filter_map(pair).collect::<Vec<_>>());
        let pairs: Vec<_> = self.targets.iter().map(pairs).collect();
        let backward = self.args.both_sides.then_some(&self.tracker);
        let mut skipped = 0;
        let mut tell = |message: Option<&str>| match message {
            Some(message) => progress.skipped(&mut skipped, &format!("{message} (skipped)")),
            None => progress.frame(None),
        };
        let (record, halt) = passes.run(session, frames, &pairs, backward, &mut tell);
        Ok((record, Prefetch::open(source, self.span, self.demand, &self.quit)?, halt))
    }

    /// A session of all targets.
    fn session(&self) -> Result<Session<Tracker>, Failure> {
        let mut session = Session::default();
        for target in &self.targets {
            let mut boxes = target.boxes();
            let Some((start, bbox)) = boxes.next() else { continue };
            let id = session.insert(target.id as usize, self.tracker.clone(), start, bbox);
            for given in target.given.iter().filter(|given| given.frame > start) {
                session.give(id, given.frame, given.bbox);
            }
        }
        session.skip_bad_frames(self.args.skip_bad_frames);
        let is_parallel = self.args.jobs.is_none_or(|jobs| jobs > 1);
        if let Some(jobs) = self.args.jobs.filter(|jobs| *jobs > 1) {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs.into()).build();
            session.use_pool(Arc::new(pool.map_err(|error| Failure::failed(format!("--jobs {jobs}: {error}")))?));
        }
        session.parallel(is_parallel && (self.targets.len() > 1 || self.args.comes_later()));
        if self.args.comes_later() {
            session.expect_detections(self.tracker.clone(), self.resolved.detections.clone())?;
        }
        Ok(session)
    }

    /// The failure for an error of the session; `first` where it happened at the first frame.
    fn failure(&self, halt: Halt, first: bool) -> Failure {
        let message = halt.to_string();
        match halt.cause {
            Cause::Watch(error) => error.into(),
            Cause::Target { target, error } if self.wanted.named => match first {
                true => Failure::usage(format!("target {target}: {error}")),
                false => Failure::failed(format!("frame {}: target {target}: {error}", halt.position)),
            },
            Cause::Target { error, .. } if first && self.wanted.last().is_some() => {
                Failure::usage(format!("--init: {error}"))
            }
            // No frame follows these errors, unless ffmpeg can go on with a file, whose sound it reads too.
            Cause::Frame(Error::Cancelled) => Failure::Interrupted,
            Cause::Frame(Error::Ended { .. }) if self.args.skip_bad_frames || self.info().sound.is_none() => {
                Failure::Failed(message)
            }
            Cause::Frame(_) if !first && self.args.skip_bad_frames => {
                Failure::failed(format!("{message}; a box is given in this frame: give it in another one"))
            }
            Cause::Frame(_) if !first => Failure::failed(format!("{message}; --skip-bad-frames goes on without it")),
            // A recording that begins between two keyframes.
            Cause::Frame(Error::Ended { .. }) => {
                Failure::failed(format!("{message}; --skip-bad-frames begins with the first frame that can be read"))
            }
            Cause::Frame(_) | Cause::Target { .. } => Failure::Failed(message),
        }
    }
}

/// Completes all outputs, and returns the summary.
fn finish(mut journal: Journal<'_>, result: Result<(), Failure>) -> Result<Summary, Failure> {
    let written = journal.frames() > 0;
    let (summary, finished) = journal.finish(result.as_ref().err().map(Failure::reason));
    let Err(failure) = result else { return Ok(finished.map(|()| summary)?) };
    if let Some(error) = finished.err().filter(|error| !error.is_broken_pipe()) {
        super::failure::print_error(error);
    } else if written && failure == Failure::Interrupted {
        let _ = writeln!(std::io::stderr(), "the outputs hold the frames until now");
    }
    Err(failure)
}

/// Maximum number of skipped frames and detections that warnings name.
const MAX_SKIPPED: usize = 10;

/// Writes the steps of the session.
struct Writer<'w> {
    journal: Journal<'w>,
    smoothing: Option<Smoothing>,
    /// The frames that wait for detections, how many of them need not wait any more, and whether any waits.
    waiting: VecDeque<(Arc<Item>, Vec<Outcome>)>,
    settled: usize,
    delays: bool,
    progress: &'w mut Progress,
    control: Option<Control>,
    detections: Option<&'w Detections>,
    /// Targets whose boxes were not yet compared with the frame's size.
    unchecked: Option<&'w [TargetRecord]>,
    /// The error of a box of a later frame.
    refused: Option<String>,
    /// Position of the last frame.
    last: usize,
    /// Frames that could not be read.
    skipped: usize,
}

impl Writer<'_> {
    /// Checks the boxes of later frames in the first frame: a wrong box is an error now, not after hours.
    fn check_targets(&mut self, item: &Item) -> Result<(), Error> {
        let Ok(frame) = &item.frame else { return Ok(()) };
        let size = frame.as_frame().size();
        for target in self.unchecked.take().unwrap_or_default() {
            for (position, bbox) in target.boxes() {
                check_start(size, bbox).inspect_err(|error| {
                    self.refused = Some(format!("target {} of frame {position}: {error}", target.id));
                })?;
            }
        }
        Ok(())
    }

    /// Writes a step, or hands it on to be smoothed.
    fn write(&mut self, step: &Step<'_, Tracker>) -> Result<(), Error> {
        match &mut self.smoothing {
            Some(Smoothing::AtOnce(filters)) => self.journal.add(&step.with(&at_once(filters, step.outcomes))),
            // Nothing waits before the first target is known.
            Some(Smoothing::Late(late)) if !self.journal.run.targets.is_empty() => {
                late.add(step);
                self.write_late(false)
            }
            _ => self.journal.add(step),
        }
    }

    /// Revises the frames that need not wait for detections any more in the frame at `now`, or at the end.
    fn settle(&mut self, session: &Session<Tracker>, now: Option<usize>) {
        for (item, outcomes) in self.waiting.iter_mut().skip(self.settled) {
            if now.is_some_and(|now| !session.is_settled(item.position, now)) {
                break;
            }
            session.revise(item.position, outcomes);
            self.settled += 1;
        }
    }

    /// Writes the frames that have waited for detections, also after an error.
    fn write_settled(&mut self) -> Result<(), Error> {
        let settled: Vec<_> = self.waiting.drain(..std::mem::take(&mut self.settled)).collect();
        let mut written = Ok(());
        for (item, outcomes) in &settled {
            written = written.and(self.write(&Step::again(item, outcomes)));
        }
        written
    }

    /// Writes the steps that need not wait any more, also after an error: other outputs go on.
    fn write_late(&mut self, ended: bool) -> Result<(), Error> {
        let mut written = Ok(());
        while let Some(Smoothing::Late(late)) = &mut self.smoothing
            && let Some((item, outcomes)) = late.next(ended)
        {
            written = written.and(self.journal.add(&Step::<Tracker>::again(&item, &outcomes)));
        }
        written
    }

    /// Writes the outcomes of an earlier pass over the same frames.
    fn repeat(&mut self, frames: impl Iterator<Item = Item>, mut record: Record) -> Result<(), Halt> {
        let last = record.keys().next_back().copied().unwrap_or_default();
        for item in frames.take_while(|item| item.position <= last).map(Arc::new) {
            let outcomes = record.remove(&item.position).unwrap_or_default();
            let written = self.step(&Step::again(&item, &outcomes));
            written.map_err(|error| Halt { position: item.position, path: None, cause: Cause::Watch(error) })?;
        }
        Ok(())
    }

    /// Records the targets that detections have begun and ended.
    fn note_targets(&mut self, session: &mut Session<Tracker>, position: usize) {
        let ended = session.take_ended();
        let oldest = self.waiting.get(self.settled).map_or(position, |(item, _)| item.position);
        let targets = &mut self.journal.run.targets;
        for outcome in session.outcomes() {
            let id = u32::try_from(outcome.target).unwrap_or(u32::MAX);
            if !targets.iter().rev().any(|target| target.id == id) {
                let class = session.class(outcome.target).map(String::from);
                let first = session.first_since(outcome.target, oldest).unwrap_or((position, outcome.bbox));
                targets.push(TargetRecord { class, ..TargetRecord::new(id, first.0, first.1) });
            }
        }
        for target in targets.iter_mut().filter(|target| ended.contains(&(target.id as usize))) {
            target.end(position);
        }
    }
}

impl Watch<Tracker> for Writer<'_> {
    fn step(&mut self, step: &Step<'_, Tracker>) -> Result<(), Error> {
        self.last = step.item.position;
        self.check_targets(step.item)?;
        let answers = self.control.as_mut().map_or(Vec::new(), Control::answers);
        control::warnings(&answers).iter().for_each(|warning| self.progress.warn(warning));
        answers.iter().try_for_each(|answer| self.journal.note(answer))?;
        let mut written = self.write_settled();
        match self.delays {
            true => self.waiting.push_back((Arc::clone(step.item), step.outcomes.to_vec())),
            false => written = written.and(self.write(step)),
        }
        let estimate = step.outcomes.first().and_then(|outcome| outcome.estimate);
        self.progress.frame(estimate.as_ref().map(|estimate| &estimate.evidence));
        written
    }

    fn before(&mut self, session: &mut Session<Tracker>, item: &Item) {
        if let Some(control) = &mut self.control {
            control.apply(session, item, &mut self.journal.run);
        }
    }

    fn after(&mut self, session: &mut Session<Tracker>, item: &Item) {
        let come = self.detections.and_then(|all| all.get(&item.position)).filter(|_| item.frame.is_ok());
        for (frame, found) in come.into_iter().flatten() {
            let refused = match session.detect(*frame, found) {
                Ok(detected) => detected.refused,
                Err(error) => {
                    self.progress.skipped(&mut self.skipped, &error.to_string());
                    continue;
                }
            };
            for (place, reason) in refused {
                let what = format!("frame {frame}: detection {}: {reason} (left out)", place + 1);
                self.progress.skipped(&mut self.skipped, &what);
            }
        }
        if let Some(control) = &mut self.control {
            control.apply_later(session, item);
        }
        if self.detections.is_some() || self.control.is_some() {
            self.note_targets(session, item.position);
            self.settle(session, Some(item.position));
        }
    }

    fn skipped(&mut self, message: &str) {
        self.progress.skipped(&mut self.skipped, &format!("{message} (skipped)"));
    }
}

/// The summary of a run for a person. `has_truth` says whether the first frame has a true box.
pub fn text(info: &Info, summary: &Summary, took: Duration, has_truth: bool) -> String {
    let mut text = format!("{}: {} frames in {:.2} s", shown(&info.name), summary.frames, took.as_secs_f64());
    for (what, fps) in [("tracking", summary.fps), ("decoding", summary.decode_fps)] {
        text += &fps.map_or(String::new(), |fps| format!("; {what} alone {fps:.0} frames/s"));
    }
    text += &format!("\n  states: {}", states(&summary.states, summary.mean_confidence));
    text.extend(summary.mean_psr.map(|psr| format!("; mean PSR {psr:.1}")));
    text.extend(summary.mean_decision.map(|decision| format!("; mean decision {decision:.2}")));
    let counts = [
        (summary.refits_kept, "refits failed, the earlier model stayed"),
        (summary.dropped, "frames were left out for newer ones"),
    ];
    text.extend(counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("; {count} {what}")));
    text.push('\n');
    text.extend((!summary.lost.is_empty()).then(|| format!("  lost: {}\n", spans(&summary.lost))));
    for target in summary.targets.iter().take(LISTED_TARGETS) {
        let states = states(&target.states, target.mean_confidence);
        text += &format!("  target {}: {} frames, {states}\n", target.id, target.frames);
    }
    let more = summary.targets.len().saturating_sub(LISTED_TARGETS) + summary.more_targets;
    if more > 0 {
        text += &format!("  and {more} targets more (--json lists them)\n");
    }
    if let Some(truth) = &summary.truth {
        text += &format!(
            "  against the truth of {} of them: precision at 20 px {:.3}, AUC {:.3}, mean overlap {:.3}, mean centre \
             error {:.1} px\n",
            truth.frames, truth.precision_20, truth.auc, truth.mean_overlap, truth.mean_center_error
        );
    } else if has_truth {
        text += "  no truth beyond the start: nothing to compare with\n";
    }
    if let Some((black, white)) = info.levels {
        text += &format!("  levels {black} to {white} are stretched to 8 bits (--levels)\n");
    }
    if let (true, Some(base)) = (has_truth || summary.truth.is_some(), info.truth_base) {
        text += &format!("  labels are {base}\n");
    }
    text
}

/// Spans that the summary for a person lists.
const MAX_SPANS: usize = 8;

/// When targets were lost and found.
fn spans(lost: &[LostSpan]) -> String {
    let place = |frame: usize, time: Option<f64>| match time {
        Some(seconds) => {
            let tenths = (seconds * 10.0).round() as u64;
            format!("{}:{:02}.{}", tenths / 600, tenths / 10 % 60, tenths % 10)
        }
        None => format!("frame {frame}"),
    };
    let span = |span: &LostSpan| {
        let target = span.id.map_or(String::new(), |id| format!("target {id} "));
        let found = span.found.map_or("the end".into(), |found| place(found, span.found_time));
        format!("{target}{} to {found}", place(span.lost, span.lost_time))
    };
    let mut all: Vec<_> = lost.iter().take(MAX_SPANS).map(span).collect();
    if lost.len() > MAX_SPANS {
        all.push(format!("and {} times more (--json lists them)", lost.len() - MAX_SPANS));
    }
    all.join(", ")
}

/// The number of frames in each state but `initial`.
fn states(counts: &StateCounts, confidence: Option<f64>) -> String {
    let StateCounts { initial: _, tracking, recovered, uncertain, occluded, lost, missing } = *counts;
    let mut text = format!("{tracking} tracking, {uncertain} uncertain, {lost} lost");
    for (count, state) in [(occluded, "occluded"), (recovered, "recovered"), (missing, "missing")] {
        if count > 0 {
            text += &format!(", {count} {state}");
        }
    }
    if let Some(confidence) = confidence {
        text += &format!("; mean confidence {confidence:.2}");
    }
    text
}

/// The progress of a run, and its warnings.
pub struct Progress {
    pub bar: ProgressBar,
    /// Whether warnings are printed.
    warns: bool,
}

impl Progress {
    /// Progress over `total` frames, if their number is known. `shown` switches the bar.
    pub fn new(total: Option<usize>, shown: bool, warns: bool) -> Self {
        Self { bar: bar(total, shown), warns }
    }

    /// Shows on the bar how many of the frames before `first` are decoded, where it cannot be sought.
    pub fn reach(&self, first: usize, skipped: Arc<AtomicUsize>) {
        if self.bar.is_hidden() || first <= 1 {
            return;
        }
        let reach = move |state: &ProgressState, out: &mut dyn Write| {
            let done = skipped.load(Ordering::Relaxed);
            if done > 0 && state.pos() == 0 {
                let _ = write!(out, ", {done} of the {} before them decoded", first - 1);
            }
        };
        self.bar.set_style(self.bar.style().with_key("reach", reach));
        self.bar.enable_steady_tick(TICK);
    }

    /// Counts a frame; `evidence` is that of its box.
    pub fn frame(&mut self, evidence: Option<&Evidence>) {
        // The response to the training frame says nothing about tracking.
        if let Some(evidence) = evidence.filter(|_| !self.bar.is_hidden() && self.bar.position() > 0) {
            // The peak-to-sidelobe ratio of a tracker without a confidence.
            let psr = || format!(", PSR {:.1}", evidence.psr);
            let confidence = evidence.confidence.map(|confidence| format!(", confidence {confidence:.2}"));
            self.bar.set_message(confidence.unwrap_or_else(psr));
        }
        self.bar.inc(1);
    }

    /// Prints a warning on a line of its own, above the bar.
    pub fn warn(&self, warning: &str) {
        if self.warns {
            self.tell(&format!("warning: {warning}"));
        }
    }

    /// Warns of a skipped frame or detection; after the first few they are only counted.
    fn skipped(&self, count: &mut usize, message: &str) {
        *count += 1;
        match *count {
            ..=MAX_SKIPPED => self.warn(message),
            _ if *count == MAX_SKIPPED + 1 => {
                self.warn("further ones are not named; the state of a skipped frame is `missing`");
            }
            _ => {}
        }
    }

    /// Prints a line above the bar.
    pub fn tell(&self, line: &str) {
        self.bar.suspend(|| drop(writeln!(std::io::stderr(), "{}", shown(line))));
    }

    /// Removes the bar, so that the next output begins on an empty line.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// A bar over `total` frames, if their number is known; elsewhere than on a terminal it hides itself.
pub fn bar(total: Option<usize>, shown: bool) -> ProgressBar {
    if !shown {
        return ProgressBar::hidden();
    }
    let style = match total {
        Some(_) => "{wide_bar} {pos}/{len} frames{reach}{speed}{msg}",
        None => "{spinner} {pos} frames{reach}{speed}{msg}",
    };
    // Before the first frame there is no speed and no remaining time.
    let speed = move |state: &ProgressState, out: &mut dyn Write| {
        let rate = state.per_sec();
        let _ = match total {
            _ if rate <= 0.0 => Ok(()),
            Some(_) => write!(out, ", {rate:.0} frames/s, {:.0} s left", state.eta().as_secs_f64()),
            None => write!(out, ", {rate:.0} frames/s"),
        };
    };
    let style = ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = total.map_or_else(ProgressBar::no_length, |total| ProgressBar::new(total as u64));
    bar.with_style(style.with_key("speed", speed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_is_told_in_minutes_and_seconds() {
        let timed =
            LostSpan { id: Some(2), lost: 9, found: Some(12), lost_time: Some(59.96), found_time: Some(754.25) };
        let open = LostSpan { id: None, lost: 20, found: None, lost_time: None, found_time: None };
        assert_eq!(spans(&[timed, open]), "target 2 1:00.0 to 12:34.3, frame 20 to the end");
    }
}
