//! An evaluation as a whole: trackers and results over a dataset, run in parallel and kept on disk. What they come to
//! is summed up in [`outcome`](super::outcome).

use rayon::iter::{ParallelBridge, ParallelIterator};

use super::dataset::{Dataset, LabelledSequence};
use super::protocol::{Protocol, Start};
use super::results::ResultFiles;
use super::rules::Toolkit;
use super::runner::{Runner, Trace, run_sequence};
use super::shard::Shard;
use super::store::{FramesKey, RunKey, Store, Stored};
use crate::error::{Error, Result};
use crate::source::{Channels, Images, decode};

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

/// How [`Evaluation::run`] goes about it.
#[derive(Clone, Copy, Debug)]
pub struct RunOptions {
    /// Sequences at the same time; at least 1.
    pub jobs: usize,
    /// Only this part.
    pub shard: Option<Shard>,
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
    /// done. Runs that failed before are tried again. A tracker that fails on a sequence is noted and the rest goes on.
    ///
    /// # Errors
    /// As [`Evaluation::check`], and when runs cannot be stored or no threads can be started.
    pub fn run(&self, store: &Store, options: &RunOptions, watch: &(dyn Fn(Event<'_>) + Sync)) -> Result<()> {
        self.check()?;
        store.clear();
        let members = match options.shard {
            Some(shard) => shard.members(&self.dataset.sequences),
            None => vec![true; self.dataset.sequences.len()],
        };
        let (mut frames, mut done) = (0, 0);
        let mut jobs = Vec::new();
        let sequences = self.dataset.sequences.iter().zip(members).filter(|(_, member)| *member);
        for (sequence, _) in sequences {
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
                jobs.push(Job { runner: runner.as_ref(), sequence, key });
            }
        }
        watch(Event::Planned { frames, done });
        // The longest first, so that no thread begins one when the others have nothing left.
        jobs.sort_by_key(|job| std::cmp::Reverse(job.sequence.frames.len() * job.key.starts.len()));
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(options.jobs.max(1))
            .build()
            .map_err(|e| Error::Evaluation { what: format!("{} runs at once", options.jobs), reason: e.to_string() })?;
        // A bridge hands out one job at a time in this order, unlike a slice that is split in halves.
        pool.install(|| jobs.iter().par_bridge().try_for_each(|job| job.run(store, watch)))
    }

    /// Puts the runs of this evaluation that `parts` have into `store`.
    ///
    /// # Errors
    /// [`Error::Io`] when a file cannot be read or written.
    pub fn gather(&self, store: &Store, parts: &[Store]) -> Result<()> {
        for sequence in &self.dataset.sequences {
            let Ok(starts) = self.starts(sequence) else { continue };
            for runner in &self.runners {
                store.absorb(&self.key(runner.as_ref(), sequence, &starts), parts)?;
            }
        }
        Ok(())
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
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::eval::dataset::tests::{rows, write_sequence};
    use crate::eval::runner::tests::Drift;
    use crate::eval::summary::Origin;
    use crate::run::Follower;

    fn dataset(dir: &Path) {
        for (name, n) in [("Crossing", 9), ("Deer", 25), ("Toy", 6)] {
            write_sequence(&dir.join(name), "img", n, "groundtruth_rect.txt", &rows(n));
        }
    }

    fn evaluation(dir: &Path, protocol: Protocol) -> Evaluation {
        let runners = [("exact", 1.0), ("slow", 0.5)]
            .map(|(name, speed)| Box::new(Drift { name: name.into(), speed }) as Box<dyn Runner>);
        Evaluation {
            dataset: Dataset::open(dir, &[]).unwrap(),
            runners: runners.into(),
            results: vec![],
            protocol,
            toolkit: Toolkit::Otb,
        }
    }

    fn run(evaluation: &Evaluation, out: &Path, jobs: usize, shard: Option<&str>) -> usize {
        let frames = AtomicUsize::new(0);
        let options = RunOptions { jobs, shard: shard.map(|s| s.parse().unwrap()) };
        let watch = |event: Event<'_>| {
            if matches!(event, Event::Frame) {
                frames.fetch_add(1, Ordering::Relaxed);
            }
        };
        evaluation.run(&Store::in_folder(out), &options, &watch).unwrap();
        frames.into_inner()
    }

    fn report(evaluation: &Evaluation, out: &Path) -> String {
        serde_json::to_string(&evaluation.report(&Store::in_folder(out)).unwrap().report).unwrap()
    }

    #[test]
    fn a_tracker_that_follows_exactly_is_best_under_every_protocol() {
        let data = tempfile::tempdir().unwrap();
        dataset(data.path());
        for protocol in [Protocol::Ope, Protocol::Tre, Protocol::Sre] {
            let out = tempfile::tempdir().unwrap();
            let evaluation = evaluation(data.path(), protocol);
            run(&evaluation, out.path(), 2, None);
            let evaluated = evaluation.report(&Store::in_folder(out.path())).unwrap();
            let best = &evaluated.report.trackers[0];
            assert_eq!(best.name, "exact", "{protocol}");
            assert_eq!(best.sequences.len(), 3);
            if protocol != Protocol::Sre {
                assert!((best.overall.auc - 20.0 / 21.0).abs() < 1e-12, "{protocol}");
            }
            let deer = best.sequences["Deer"].frames;
            // Frames that leave 20, their own included, are starts: six of 25.
            assert_eq!(
                deer,
                match protocol {
                    Protocol::Ope => 25,
                    Protocol::Tre => (20..=25).sum(),
                    Protocol::Sre => 12 * 25,
                }
            );
        }
    }

    #[test]
    fn jobs_resume_and_shards_do_not_change_a_byte() {
        let data = tempfile::tempdir().unwrap();
        dataset(data.path());
        let evaluation = evaluation(data.path(), Protocol::Ope);
        let one = tempfile::tempdir().unwrap();
        assert_eq!(run(&evaluation, one.path(), 1, None), 2 * 40);
        let expected = report(&evaluation, one.path());

        let three = tempfile::tempdir().unwrap();
        run(&evaluation, three.path(), 3, None);
        assert_eq!(report(&evaluation, three.path()), expected);

        // Killed after some sequences: those are not done again, a half-written file is.
        let killed = tempfile::tempdir().unwrap();
        run(&evaluation, killed.path(), 1, Some("1/2"));
        let first = evaluation.dataset.sequences.iter().find(|s| s.name == "Deer").unwrap();
        let starts = evaluation.starts(first).unwrap();
        let path =
            Store::in_folder(killed.path()).path(&evaluation.key(evaluation.runners[0].as_ref(), first, &starts));
        fs::write(&path, "{\"schema\":\"kcf").unwrap();
        assert_eq!(run(&evaluation, killed.path(), 2, None), 25 + 2 * 15);
        assert_eq!(report(&evaluation, killed.path()), expected);
        assert_eq!(run(&evaluation, killed.path(), 2, None), 0);

        let (a, b, merged) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        run(&evaluation, a.path(), 1, Some("1/2"));
        run(&evaluation, b.path(), 1, Some("2/2"));
        for part in [&a, &b] {
            assert!(evaluation.report(&Store::in_folder(merged.path())).is_err(), "not all parts are there yet");
            evaluation.gather(&Store::in_folder(merged.path()), &[Store::in_folder(part.path())]).unwrap();
        }
        assert_eq!(report(&evaluation, merged.path()), expected);
    }

    /// A tracker of which nobody knows what it is made of.
    struct Unknown(Drift);

    impl Runner for Unknown {
        fn name(&self) -> &str {
            self.0.name()
        }

        fn parameters(&self) -> serde_json::Value {
            serde_json::Value::Null
        }

        fn is_described(&self) -> bool {
            false
        }

        fn begin(&self) -> Result<Box<dyn Follower>> {
            self.0.begin()
        }
    }

    #[test]
    fn runs_of_a_tracker_that_is_not_described_are_made_anew() {
        let (data, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        dataset(data.path());
        let mut evaluation = evaluation(data.path(), Protocol::Ope);
        let with = |speed| Box::new(Unknown(Drift { name: "unknown".into(), speed })) as Box<dyn Runner>;
        evaluation.runners[0] = with(0.0);
        assert_eq!(run(&evaluation, out.path(), 1, None), 2 * 40);
        let first = report(&evaluation, out.path());
        evaluation.runners[0] = with(0.9);
        assert_eq!(run(&evaluation, out.path(), 1, None), 40, "the other one is taken up again");
        assert!(report(&evaluation, out.path()) != first);
    }

    #[test]
    fn an_unreadable_image_costs_its_sequence_only() {
        let data = tempfile::tempdir().unwrap();
        dataset(data.path());
        fs::write(data.path().join("Toy/img/0004.png"), "no picture").unwrap();
        let out = tempfile::tempdir().unwrap();
        let evaluation = evaluation(data.path(), Protocol::Ope);
        run(&evaluation, out.path(), 2, None);
        let report = evaluation.report(&Store::in_folder(out.path())).unwrap().report;
        assert_eq!(report.trackers[0].overall.sequences, 2);
        assert_eq!(report.left_out.len(), 2);
        assert!(report.left_out.iter().all(|l| l.sequence == "Toy" && l.reason.contains("0004.png")), "{report:?}");
        // Repaired, it is run, and the others are not run again.
        fs::copy(data.path().join("Toy/img/0003.png"), data.path().join("Toy/img/0004.png")).unwrap();
        assert_eq!(run(&evaluation, out.path(), 2, None), 12);
        assert!(evaluation.report(&Store::in_folder(out.path())).unwrap().report.left_out.is_empty());
    }

    #[test]
    fn results_of_one_pass_runs_are_refused_beside_other_protocols() {
        let (data, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        dataset(data.path());
        fs::write(out.path().join("Deer.txt"), rows(25).join("\n")).unwrap();
        let store = Store::in_folder(out.path());
        for protocol in [Protocol::Tre, Protocol::Sre] {
            let mut evaluation = evaluation(data.path(), protocol);
            evaluation.results.push(ResultFiles::open("theirs", out.path()).unwrap());
            let ran = evaluation.run(&store, &RunOptions { jobs: 1, shard: None }, &|_| ());
            for error in [ran.unwrap_err(), evaluation.report(&store).err().unwrap()] {
                assert!(matches!(error, Error::Parameter { name: "results", .. }), "{error}");
                assert!(error.to_string().contains(&format!("not of the protocol {protocol}")), "{error}");
            }
        }
    }

    #[test]
    fn results_of_others_stand_beside_ours() {
        let data = tempfile::tempdir().unwrap();
        dataset(data.path());
        let (out, theirs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for (name, n) in [("Crossing", 9), ("Deer", 20)] {
            fs::write(theirs.path().join(format!("{name}.txt")), rows(n).join("\n")).unwrap();
        }
        let mut evaluation = evaluation(data.path(), Protocol::Ope);
        evaluation.results.push(ResultFiles::open("theirs", theirs.path()).unwrap());
        run(&evaluation, out.path(), 2, None);
        let report = evaluation.report(&Store::in_folder(out.path())).unwrap().report;
        let them = report.trackers.iter().find(|t| t.name == "theirs").unwrap();
        assert_eq!((them.origin, them.sequences.len()), (Origin::Results, 2));
        assert!(report.left_out.iter().any(|l| l.sequence == "Toy" && l.tracker.as_deref() == Some("theirs")));
        assert!(report.warnings.iter().any(|w| w.contains("20 rows for 25 frames")), "{:?}", report.warnings);
    }
}
