//! A run from its first frame to its files.

use std::cell::Cell;

use serde_json::Value;

use super::Failure;
use crate::error::Error;
use crate::export::{Exports, Journal, Summary, TargetRecord};
use crate::media::{Item, Source, Span};
use crate::profile::Profile;
use crate::run::{Cause, End, Halt, Session, Step, Watch};
use crate::tracker::{Evidence, Tracker, check_start};

/// All that a run needs to know.
#[derive(Debug)]
pub struct Plan<'a> {
    /// Where frames come from.
    pub source: &'a dyn Source,
    /// What it was called.
    pub path: String,
    /// The first and the last frame.
    pub span: Span,
    /// Whether it was said with which frame to begin (`--start`), besides the frames of boxes.
    pub started: bool,
    /// What is followed.
    pub targets: Vec<TargetRecord>,
    /// Whether targets are told apart by their ids.
    pub named: bool,
    /// Whether boxes were given, and not the truth's.
    pub given: bool,
    /// A tracker without a target, which every target gets a copy of.
    pub tracker: &'a Tracker,
    /// All its settings, as files have them.
    pub parameters: Value,
    /// Whether to go on after a frame that cannot be read.
    pub skip_bad_frames: bool,
    /// Whether several targets are followed at the same time, on the threads that rayon has.
    pub parallel: bool,
    /// Whether it is measured what the time is spent on.
    pub profile: bool,
}

/// Whoever looks on.
pub trait Watcher {
    /// Whether somebody wants the run to end.
    fn asked(&mut self) -> bool;

    /// A frame is done; `evidence` is that of the first target's box.
    fn frame(&mut self, evidence: Option<&Evidence>);

    /// Something is odd.
    fn warn(&mut self, warning: &str);
}

/// How a run came to its end.
#[derive(Debug)]
pub struct Done {
    /// Whether it did what was asked for, but for its files.
    pub result: Result<(), Failure>,
    /// Whether the files could be completed.
    pub finished: Result<(), Error>,
    /// What there is to say of it.
    pub summary: Summary,
    /// What the time was spent on, where that was to be measured.
    pub profile: Profile,
}

impl Done {
    /// Why the files are not all that they should be, where `result` is another failure and does not say so. That a
    /// reader has gone is none.
    pub fn lost(&self) -> Option<&Error> {
        self.finished.as_ref().err().filter(|error| self.result.is_err() && !error.is_broken_pipe())
    }

    /// Its summary, if all went well.
    ///
    /// # Errors
    /// What went wrong first.
    pub fn summary(self) -> Result<Summary, Failure> {
        self.result?;
        self.finished?;
        Ok(self.summary)
    }
}

impl Plan<'_> {
    /// Takes all frames, writes what becomes of the targets, and completes the files whatever happens. A frame behind
    /// the last one ends the run, and files may tell of it that there are more.
    pub fn run(
        &self,
        exports: Exports,
        frames: impl IntoIterator<Item = Item>,
        watcher: &mut (impl Watcher + ?Sized),
    ) -> Done {
        let mut session = self.session();
        let parameters = self.parameters.clone();
        let mut journal = Journal::new(exports, self.source, self.path.clone(), self.span, parameters);
        if self.named {
            journal.name_targets(self.targets.iter().copied());
        }
        journal.switch_profile(self.profile);
        let mut watch = Writing { journal, watcher, unseen: Some(&self.targets), refused: None, last: 0 };
        let seen = Cell::new(None);
        let wanted = frames.into_iter().take_while(|item| {
            if item.frame.is_ok() {
                seen.set(Some(item.position));
            }
            self.span.last.is_none_or(|last| item.position <= last)
        });
        let ended = session.run(wanted, &mut watch);
        let Writing { mut journal, watcher, refused, last, .. } = watch;
        if let Some(said) = self.source.warning_after() {
            watcher.warn(&said);
        }
        seen.take().into_iter().for_each(|position| journal.saw(position));
        let (ended, unread) = match ended {
            // An output that was given up as the run was to end.
            Err(Halt { cause: Cause::Watch(error), .. }) if refused.is_none() && watcher.asked() => {
                (Ok(End::Stopped), Some(error))
            }
            ended => (ended, None),
        };
        let result = match ended {
            Err(_) if refused.is_some() => Err(Failure::Usage(refused.unwrap_or_default())),
            Ok(_) if watcher.asked() => Err(Failure::Interrupted),
            Ok(End::Complete) if journal.frames() == 0 => Err(no_frame(self.source, self.span, self.started)),
            Ok(End::Complete | End::Stopped) => match session.waiting().next() {
                Some((target, start)) => Err(Failure::Failed(format!(
                    "target {} never began: it waits for frame {start}, and there are no more frames",
                    self.targets[target].id
                ))),
                None => Ok(()),
            },
            Err(halt) => Err(self.failure(halt, journal.frames() == 0)),
        };
        if let (Ok(()), Some(end)) = (&result, self.span.last.filter(|&end| last < end)) {
            watcher.warn(&format!("the frames end with {last}, before --end {end}"));
        }
        let (summary, finished) = journal.finish(result.as_ref().err().map(Failure::reason));
        let finished = unread.map_or(finished, Err);
        // Told to end while the last frame was done and somebody was waited for who reads.
        let late = result.is_ok() && finished.is_err() && watcher.asked();
        let result = if late { Err(Failure::Interrupted) } else { result };
        let trackers = (0..self.targets.len()).filter_map(|target| session.follower(target)).map(Tracker::profile);
        let trackers = trackers.fold(Profile::default(), |sum, each| sum.plus(&each));
        let profile = session.profile().plus(journal.profile()).plus(&trackers);
        Done { result, finished, summary, profile }
    }

    /// A session of all targets, each with a tracker of its own.
    fn session(&self) -> Session<Tracker> {
        let mut session = Session::default();
        for target in &self.targets {
            let mut tracker = self.tracker.clone();
            tracker.switch_profile(self.profile);
            session.add(tracker, target.start, target.bbox);
        }
        session.skip_bad_frames(self.skip_bad_frames);
        session.switch_profile(self.profile);
        session.parallel(self.parallel && self.targets.len() > 1);
        session
    }

    /// What is wrong with the only box that was given.
    fn beginning(&self, error: &Error) -> String {
        match self.targets.first().filter(|_| self.named) {
            Some(target) => format!("target {}: {error}", target.id),
            None => format!("--init: {error}"),
        }
    }

    /// What a session's halt is to whoever asked for it; `first` where it happened at the first frame.
    fn failure(&self, halt: Halt, first: bool) -> Failure {
        let said = halt.to_string();
        match halt.cause {
            Cause::Watch(error) => error.into(),
            Cause::Target { target, error } if self.targets.len() > 1 => {
                let said = format!("target {}: {error}", self.targets.get(target).map_or(0, |target| target.id));
                if first { Failure::Usage(said) } else { Failure::Failed(format!("frame {}: {said}", halt.position)) }
            }
            Cause::Target { error, .. } if first && self.given => Failure::Usage(self.beginning(&error)),
            // Without the first frame there is nothing to follow, whether bad frames are to be skipped or not.
            Cause::Frame(_) if !first && self.skip_bad_frames => {
                Failure::Failed(format!("{said}; a target begins in it: give its box of another frame"))
            }
            Cause::Frame(_) if !first => Failure::Failed(format!("{said}; --skip-bad-frames goes on without it")),
            Cause::Frame(_) | Cause::Target { .. } => Failure::Failed(said),
        }
    }
}

/// Why a run of these frames has none, which begins with the first of them as that was said (`started`), or as a box is
/// of it.
pub fn no_frame(source: &dyn Source, span: Span, started: bool) -> Failure {
    let there = source.expected_length().map_or(String::new(), |count| format!(" (about {count})"));
    match (span.first, started) {
        (..=1, _) => Failure::Failed(format!("{}: there is no frame in it", source.name())),
        (first, true) => {
            Failure::Usage(format!("the run begins with frame {first} (--start), and there are fewer{there}"))
        }
        (first, false) => Failure::Usage(format!("the first box is of frame {first}, and there are fewer{there}")),
    }
}

/// Writes what the session does, and tells whoever looks on.
struct Writing<'a, 'w, W: ?Sized> {
    journal: Journal<'a>,
    watcher: &'w mut W,
    /// Targets whose boxes no frame was held against yet.
    unseen: Option<&'w [TargetRecord]>,
    /// What is wrong with a box of a later frame.
    refused: Option<String>,
    /// Position of the last frame.
    last: usize,
}

impl<W: ?Sized> Writing<'_, '_, W> {
    /// Holds the boxes of later frames against the first frame, which is as large: one that cannot be followed is told
    /// now, and not after hours.
    fn foresee(&mut self, step: &Item) -> Result<(), Error> {
        let Ok(frame) = &step.frame else { return Ok(()) };
        for target in self.unseen.take().unwrap_or_default() {
            check_start(&frame.into(), target.bbox).inspect_err(|error| {
                self.refused = Some(format!("target {}, which begins in frame {}: {error}", target.id, target.start));
            })?;
        }
        Ok(())
    }
}

impl<W: Watcher + ?Sized> Watch<Tracker> for Writing<'_, '_, W> {
    fn wants_to_stop(&mut self) -> bool {
        self.watcher.asked()
    }

    fn step(&mut self, step: &Step<'_, Tracker>) -> Result<(), Error> {
        self.last = step.item.position;
        self.foresee(step.item)?;
        let written = self.journal.add(step);
        let estimate = step.outcomes.first().and_then(|outcome| outcome.estimate);
        self.watcher.frame(estimate.as_ref().map(|estimate| &estimate.evidence));
        written
    }

    fn skipped(&mut self, message: &str) {
        self.watcher.warn(&format!("{message} (skipped)"));
    }
}
