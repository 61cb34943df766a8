//! An evaluation as a whole: trackers and results over a dataset, run in parallel and kept on disk. What they come to
//! is summed up in [`outcome`](super::outcome).

use rayon::iter::{ParallelBridge, ParallelIterator};

use super::dataset::{Dataset, LabelledSequence};
use super::metrics::Toolkit;
use super::protocol::{Protocol, Start};
use super::results::ResultFiles;
use super::runner::{Runner, Trace, run_sequence};
use super::store::{FramesKey, RunKey, Store, Stored};
use crate::error::{Error, Result};
use crate::media::{Channels, Images, decode};

/// What is evaluated, on what, and how.
#[derive(Debug)]
pub struct Evaluation {
    /// The labelled sequences.
    pub dataset: Dataset,
    /// Trackers that are run.
    pub runners: Vec<Box<dyn Runner>>,
    /// Trackers whose boxes are read.
    pub results: Vec<ResultFiles>,
    /// The protocol.
    pub protocol: Protocol,
    /// Whose rules the scores follow.
    pub toolkit: Toolkit,
}

/// What happens during [`Evaluation::run`], for whoever shows it.
#[derive(Debug)]
pub enum Event<'a> {
    /// Before the first frame: how many are to be decoded in all, and how many of those are already done.
    Planned {
        /// Frames in all.
        frames: u64,
        /// Frames of runs that were stored before.
        done: u64,
    },
    /// One more frame was tracked.
    Frame,
    /// A tracker has finished a sequence.
    Finished {
        /// The tracker.
        tracker: &'a str,
        /// The sequence.
        sequence: &'a str,
    },
    /// A tracker could not be run on a sequence.
    Failed {
        /// The tracker.
        tracker: &'a str,
        /// The sequence.
        sequence: &'a str,
        /// Why.
        reason: &'a str,
    },
    /// Something that was stored could not be used and is computed again.
    Again(&'a str),
}

struct Job<'a> {
    runner: &'a dyn Runner,
    sequence: &'a LabelledSequence,
    key: RunKey,
}

impl Evaluation {
    /// Whether the settings fit together. [`Evaluation::run`] and [`Evaluation::report`] ask by themselves; who makes
    /// folders before asks first.
    ///
    /// # Errors
    /// [`Error::Parameter`] for results beside a protocol of several runs a sequence: a file has the boxes of one.
    pub fn check(&self) -> Result<()> {
        match self.results.first() {
            Some(files) if self.protocol != Protocol::Ope => Err(Error::Parameter {
                name: "results",
                value: files.name.clone(),
                expected: format!("results are of one-pass runs (ope), not of the protocol {}", self.protocol),
            }),
            _ => Ok(()),
        }
    }

    /// Runs every tracker on every sequence whose runs `store` does not have yet, and stores each as soon as it is
    /// done, `jobs` sequences at the same time. Runs that failed before are tried again. A tracker that fails on a sequence is noted and the rest goes on.
    ///
    /// # Errors
    /// As [`Evaluation::check`], and when runs cannot be stored or no threads can be started.
    pub fn run(&self, store: &Store, jobs: usize, watch: &(dyn Fn(Event<'_>) + Sync)) -> Result<()> {
        self.check()?;
        let (mut frames, mut done) = (0, 0);
        let mut todo = Vec::new();
        for sequence in &self.dataset.sequences {
            // A sequence that no run can start on is told about when it comes to the report.
            let Ok(starts) = self.starts(sequence) else { continue };
            for runner in &self.runners {
                let key = self.key(runner.as_ref(), sequence, &starts);
                frames += sequence.frames.len() as u64;
                match store.load(&key) {
                    Stored::Runs(_) if runner.is_described() => {
                        done += sequence.frames.len() as u64;
                        continue;
                    }
                    Stored::Runs(_) | Stored::Absent | Stored::Failed(_) => {}
                    Stored::Unusable(why) => watch(Event::Again(&why)),
                }
                todo.push(Job { runner: runner.as_ref(), sequence, key });
            }
        }
        watch(Event::Planned { frames, done });
        // The longest first, so that no thread begins one when the others have nothing left.
        todo.sort_by_key(|job| std::cmp::Reverse(job.sequence.frames.len() * job.key.starts.len()));
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(jobs.max(1))
            .build()
            .map_err(|e| Error::Evaluation { what: format!("{} runs at once", jobs), reason: e.to_string() })?;
        // A bridge hands out one job at a time in this order, unlike a slice that is split in halves.
        pool.install(|| todo.iter().par_bridge().try_for_each(|job| job.run(store, watch)))
    }

    /// The runs of `runner` on `sequence`, if they are stored.
    pub fn traces(&self, store: &Store, runner: &dyn Runner, sequence: &LabelledSequence) -> Option<Vec<Trace>> {
        let starts = self.starts(sequence).ok()?;
        match store.load_alike(&self.key(runner, sequence, &starts)) {
            Stored::Runs(traces) => Some(traces),
            _ => None,
        }
    }

    pub(super) fn starts(&self, sequence: &LabelledSequence) -> Result<Vec<Start>> {
        let (width, height) = match (self.protocol, sequence.frames.first()) {
            // Only here boxes are kept on the image.
            (Protocol::Sre, Some(path)) => {
                let frame = decode(path, Channels::Luma)?;
                (frame.as_frame().width(), frame.as_frame().height())
            }
            _ => (0, 0),
        };
        self.protocol.starts(&sequence.truth, width, height)
    }

    pub(super) fn key(&self, runner: &dyn Runner, sequence: &LabelledSequence, starts: &[Start]) -> RunKey {
        RunKey {
            version: env!("CARGO_PKG_VERSION").into(),
            tracker: runner.name().into(),
            parameters: runner.parameters(),
            sequence: sequence.name.clone(),
            frames: FramesKey::of(&sequence.frames),
            protocol: self.protocol,
            starts: starts.to_vec(),
        }
    }
}

impl Job<'_> {
    fn run(&self, store: &Store, watch: &(dyn Fn(Event<'_>) + Sync)) -> Result<()> {
        // Decoded here and not ahead: with a sequence on each core there is no core to decode on.
        let frames = Images::new((1..).zip(self.sequence.frames.iter().cloned()).collect(), self.runner.channels());
        let (tracker, sequence) = (self.runner.name(), self.sequence.name.as_str());
        match run_sequence(self.runner, sequence, &self.key.starts, frames, &|| watch(Event::Frame)) {
            Ok(traces) => {
                store.save(&self.key, &traces)?;
                watch(Event::Finished { tracker, sequence });
            }
            Err(error) => {
                let reason = error.to_string();
                store.save_failure(&self.key, &reason)?;
                watch(Event::Failed { tracker, sequence, reason: &reason });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
