//! Evaluation: how well boxes follow a labelled target, by the rules of the tracking benchmarks.
//!
//! A [`Dataset`] holds labelled sequences. An [`Evaluation`] runs trackers over them, reads published results beside
//! them, and sums both up in a [`Report`].

/// Reads and writes an enum as the name that documents have for it.
macro_rules! named {
    ($type:ident, $what:literal) => {
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.serialize(f)
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::Error;

            fn from_str(name: &str) -> Result<Self> {
                let read = serde_json::from_value(name.into());
                read.map_err(|error| $crate::Error::parameter($what, name, error.to_string()))
            }
        }
    };
}

mod dataset;
mod metrics;
mod protocols;
mod reliability;
#[cfg(feature = "cli")]
pub(crate) mod report;
mod results;
mod runner;
mod summary;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rayon::iter::{ParallelBridge, ParallelIterator};
use serde_json::Value;

#[cfg(feature = "cli")]
pub(crate) use dataset::EVALUATION;
pub use dataset::{Dataset, LabelledSequence};
#[cfg(feature = "cli")]
pub(crate) use metrics::score_labelled;
pub use metrics::{Score, Toolkit, score};
pub use protocols::Protocol;
pub use reliability::{Bin, Reliability, StateShares};
#[cfg(feature = "cli")]
pub use report::{About, write as write_report};
pub use results::ResultFiles;
pub use runner::{Preset, Runner};
pub use summary::{
    Aggregate, Comparison, Difference, Interval, LeftOut, Origin, Report, SequenceFacts, Timings, TrackerReport,
    TrackerTiming,
};

use crate::bbox::BBox;
use crate::cancel::CancelToken;
use crate::error::{Error, Result};
use crate::frame::Channels;
use crate::media::{Images, decode, first_levels};
use metrics::{counts_for_otb, frame_errors};
use protocols::Start;
use reliability::{Judgement, judgements};
use runner::{RunKey, Trace, run_sequence};
use summary::{Notes, mean, summarize};

/// Trackers and published results over a dataset.
#[derive(Debug)]
pub struct Evaluation {
    /// The labelled sequences.
    pub dataset: Dataset,
    /// Trackers to run.
    pub runners: Vec<Box<dyn Runner>>,
    /// Trackers whose boxes are read from files.
    pub results: Vec<ResultFiles>,
    /// The tracker that all others are compared with: by default the best of the runners, else the best of all.
    pub baseline: Option<String>,
    /// The protocol, by which runs start.
    pub protocol: Protocol,
    /// The rules of the scores.
    pub toolkit: Toolkit,
}

/// The progress of [`Evaluation::run`].
#[derive(Debug)]
pub enum Event<'a> {
    /// Sent once, before the first frame.
    Planned {
        /// Frames of all runs.
        frames: u64,
        /// Frames of runs that are already stored.
        done: u64,
    },
    /// A frame is tracked.
    Frame,
    /// A tracker has finished a sequence.
    Finished {
        /// The tracker.
        tracker: &'a str,
        /// The sequence.
        sequence: &'a str,
    },
    /// A tracker has failed on a sequence, or a stored run cannot be used and is computed again.
    Note(String),
}

/// The outcome of an evaluation.
#[derive(Debug)]
pub struct Evaluated {
    /// All that follows from boxes alone.
    pub report: Report,
    /// The trackers' speed.
    pub timings: Timings,
    /// The first run of each tracker on each sequence.
    #[cfg_attr(not(feature = "cli"), allow(dead_code, reason = "pictures are of the report"))]
    traces: BTreeMap<String, BTreeMap<String, Trace>>,
}

/// Gets the events of a run.
pub type Watch<'a> = &'a (dyn Fn(Event<'_>) + Sync);

/// The runs of a tracker on a sequence, or why there are none.
type Runs = Result<Vec<Trace>, String>;

/// A sequence that can be run, with its starts.
type Usable<'a> = (&'a LabelledSequence, Vec<Start>);

/// Runs that are not stored yet.
struct Job<'a> {
    runner: &'a dyn Runner,
    sequence: &'a LabelledSequence,
    key: RunKey,
}

/// The scores of a tracker by sequence, its judged frames, its speed, and its first runs.
#[derive(Default)]
struct Scored {
    scores: BTreeMap<String, Score>,
    judged: BTreeMap<String, Vec<Judgement>>,
    fps: BTreeMap<String, f64>,
    first: BTreeMap<String, Trace>,
}

/// The first name that occurs twice.
pub(crate) fn repeated<'a>(mut names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut seen = BTreeSet::new();
    names.find(|name| !seen.insert(*name))
}

impl Evaluation {
    /// Checks that the settings fit together.
    ///
    /// # Errors
    /// [`Error::Evaluation`] for two trackers of one name; [`Error::Parameter`] for results with another protocol than
    /// one-pass: their files hold one run.
    pub fn check(&self) -> Result<()> {
        let names = || {
            let runners = self.runners.iter().map(|runner| runner.name());
            runners.chain(self.results.iter().map(|files| &*files.name))
        };
        if let Some(name) = repeated(names()) {
            return Err(Error::evaluation("trackers", format!("two trackers are called {name}")));
        }
        if let Some(baseline) = self.baseline.as_ref().filter(|baseline| !names().any(|name| name == *baseline)) {
            return Err(Error::parameter("baseline", baseline, "must be the name of a tracker of this evaluation"));
        }
        match self.results.first() {
            Some(files) if self.protocol != Protocol::Ope => Err(Error::parameter(
                "results",
                &files.name,
                format!("needs the protocol ope, not {}: result files hold one run per sequence", self.protocol),
            )),
            _ => Ok(()),
        }
    }

    /// Runs every tracker on every sequence, `jobs` at a time, and scores the runs and the result files. Each run is
    /// stored in `folder` at once; stored runs are not computed again. A failure does not stop the others.
    ///
    /// # Errors
    /// As [`Evaluation::check`]; when runs cannot be stored or threads cannot be started; [`Error::Cancelled`] when
    /// `cancel` is; [`Error::Evaluation`] when no sequence can be scored.
    pub fn run(&self, folder: &Path, jobs: usize, cancel: &CancelToken, watch: Watch<'_>) -> Result<Evaluated> {
        self.check()?;
        let mut notes = Notes { left_out: self.dataset.left_out.clone(), warnings: self.dataset.warnings.clone() };
        let usable = self.usable(&mut notes);
        let mut runs = self.track(&usable, folder, jobs, cancel, watch)?.into_iter();
        let mut all: Vec<(String, Origin, Value, Vec<Runs>)> = Vec::new();
        for runner in &self.runners {
            let runs = runs.by_ref().take(usable.len()).collect();
            all.push((runner.name().to_owned(), Origin::Run, runner.parameters(), runs));
        }
        for files in &self.results {
            let read = |(sequence, _): &Usable<'_>| match cancel.scope(|| files.read(sequence, self.toolkit)) {
                Ok((trace, warning)) => {
                    notes.warnings.extend(warning);
                    Ok(vec![trace])
                }
                Err(error) => Err(error.to_string()),
            };
            all.push((files.name.clone(), Origin::Results, Value::Null, usable.iter().map(read).collect()));
            cancel.check()?;
        }
        let mut timings = Timings { schema: "kcf-track-timings/1".into(), jobs, ..Timings::default() };
        let (mut traces, mut reports) = (BTreeMap::new(), Vec::new());
        for (name, origin, parameters, runs) in all {
            let Scored { scores, judged, fps, first } = self.score(&usable, &name, runs, &mut notes);
            traces.insert(name.clone(), first);
            // A mean over some of the sequences would not compare.
            if !fps.is_empty() && fps.len() == scores.len() {
                let mean = mean(&fps.values().copied().collect::<Vec<_>>());
                timings.trackers.insert(name.clone(), TrackerTiming { fps: mean, sequences: fps });
            }
            // A tracker without any score has no rank.
            if !scores.is_empty() {
                reports.push(TrackerReport::new(name, origin, parameters, scores).judged(&judged));
            }
        }
        if reports.is_empty() {
            let first = notes.left_out.first().map(|l| format!(" ({}: {})", l.sequence, l.reason)).unwrap_or_default();
            return Err(Error::evaluation("report", format!("no sequence could be scored{first}")));
        }
        let sequences = usable.iter().map(|(sequence, _)| *sequence);
        let report = summarize(self.protocol, self.toolkit, sequences, reports, self.baseline.as_deref(), notes);
        Ok(Evaluated { report, timings, traces })
    }

    /// Scores the runs of a tracker on each of the sequences.
    fn score(&self, usable: &[Usable<'_>], tracker: &str, runs: Vec<Runs>, notes: &mut Notes) -> Scored {
        let mut scored = Scored::default();
        for ((sequence, _), runs) in usable.iter().zip(runs) {
            let name = &sequence.name;
            match runs.and_then(|runs| Ok((pooled_score(sequence, &runs, self.toolkit)?, runs))) {
                Ok(((score, judged), runs)) => {
                    if 2 * score.labelled < score.frames {
                        let (labelled, all) = (score.labelled, score.frames);
                        let what = format!("{name}: only {labelled} of {all} frames have a label that counts");
                        notes.warnings.push(what);
                    }
                    scored.scores.insert(name.clone(), score);
                    scored.judged.insert(name.clone(), judged);
                    scored.fps.extend(rate_of(&runs).map(|rate| (name.clone(), rate)));
                    scored.first.extend(runs.into_iter().next().map(|run| (name.clone(), run)));
                }
                Err(reason) => notes.leave_out(sequence, Some(tracker), reason),
            }
        }
        scored
    }

    /// The sequences that can be run, with their starts.
    fn usable(&self, notes: &mut Notes) -> Vec<Usable<'_>> {
        let mut usable = Vec::new();
        for sequence in &self.dataset.sequences {
            if self.toolkit == Toolkit::Otb {
                let beyond = |label: &&BBox| label.is_valid() && !counts_for_otb(label);
                let n = sequence.truth.iter().flatten().filter(beyond).count();
                if n > 0 {
                    notes.warnings.push(format!(
                        "{}: {n} labels begin left of the picture or above it; by OTB's rules such a frame is a miss for \
                         success and a hit for precision (--toolkit got10k takes them as they are)",
                        sequence.name
                    ));
                }
            }
            match self.starts(sequence) {
                Ok(starts) => usable.push((sequence, starts)),
                Err(error) => notes.leave_out(sequence, None, error.to_string()),
            }
        }
        usable
    }

    /// The runs of the first tracker on each of `sequences`, of the second, and so on: those stored in `folder`, and
    /// all others, computed now.
    fn track(
        &self,
        sequences: &[Usable<'_>],
        folder: &Path,
        jobs: usize,
        cancel: &CancelToken,
        watch: Watch<'_>,
    ) -> Result<Vec<Runs>> {
        let (mut frames, mut done) = (0, 0);
        let (mut all, mut todo) = (Vec::new(), Vec::new());
        for runner in &self.runners {
            for (sequence, starts) in sequences {
                let key = RunKey::new(runner.as_ref(), sequence, self.protocol, starts);
                let stored = key.load(folder).unwrap_or_else(|reason| {
                    watch(Event::Note(format!("computed again: {reason}")));
                    None
                });
                frames += sequence.frames.len() as u64;
                match stored {
                    Some(_) => done += sequence.frames.len() as u64,
                    None => todo.push((all.len(), Job { runner: runner.as_ref(), sequence, key })),
                }
                // The empty error stands for a run that is computed below.
                all.push(stored.ok_or_else(String::new));
            }
        }
        watch(Event::Planned { frames, done });
        // The longest first, so that no thread starts a long one when the others have finished.
        todo.sort_by_key(|(_, job)| Reverse(job.sequence.frames.len() * job.key.starts.len()));
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(jobs.max(1))
            .build()
            .map_err(|e| Error::evaluation(format!("{jobs} jobs"), e.to_string()))?;
        // A bridge keeps this order; a parallel slice does not.
        let run = |(at, job): &(usize, Job<'_>)| Ok((*at, job.run(folder, jobs, cancel, watch)?));
        for (at, runs) in pool.install(|| todo.iter().par_bridge().map(run).collect::<Result<Vec<_>>>())? {
            all[at] = runs;
        }
        Ok(all)
    }

    fn starts(&self, sequence: &LabelledSequence) -> Result<Vec<Start>> {
        let (width, height) = match (self.protocol, sequence.frames.first()) {
            // Only SRE clips boxes to the image.
            (Protocol::Sre, Some(path)) => decode(path, Channels::Luma)?.as_frame().size(),
            _ => (0, 0),
        };
        self.protocol.starts(&sequence.truth, width, height)
    }
}

impl Job<'_> {
    /// Computes and stores the runs. A failure of the tracker ends nothing but these runs.
    fn run(&self, folder: &Path, jobs: usize, cancel: &CancelToken, watch: Watch<'_>) -> Result<Runs> {
        let Self { runner, sequence, key } = self;
        let (tracker, name) = (runner.name(), sequence.name.as_str());
        let files = (1..).zip(sequence.frames.iter().cloned()).collect();
        let frames = Images::new(files, runner.channels(), first_levels(&sequence.frames));
        let tick = || {
            watch(Event::Frame);
            cancel.check()
        };
        let mut runs = cancel.scope(|| run_sequence(*runner, name, &key.starts, frames, &tick));
        if jobs > 1 {
            // Runs beside each other slow each other down.
            runs.iter_mut().flatten().for_each(|run| run.micros.clear());
        }
        match &runs {
            Err(_) if cancel.is_cancelled() => return Err(Error::Cancelled),
            Ok(traces) => {
                key.save(folder, traces)?;
                watch(Event::Finished { tracker, sequence: name });
            }
            Err(error) => watch(Event::Note(format!("{tracker}: {name} failed: {error}"))),
        }
        Ok(runs.map_err(|error| error.to_string()))
    }
}

/// Scores the pooled runs of one tracker on one sequence (OTB joins the errors of all runs), and judges its states and
/// confidences.
fn pooled_score(
    sequence: &LabelledSequence,
    runs: &[Trace],
    toolkit: Toolkit,
) -> Result<(Score, Vec<Judgement>), String> {
    let (mut errors, mut judged) = (Vec::new(), Vec::new());
    for run in runs {
        let labels = sequence.truth.get(run.start.frame..).unwrap_or_default();
        let of_run = frame_errors(labels, &run.boxes, toolkit).map_err(|error| error.to_string())?;
        judged.extend(judgements(labels, run, &of_run));
        errors.extend(of_run);
    }
    match Score::of(&errors) {
        Score { labelled: 0, .. } => Err("no frame has a label that counts by the rules of this toolkit".into()),
        score => Ok((score, judged)),
    }
}

/// Frames per second of all runs of a sequence together.
fn rate_of(runs: &[Trace]) -> Option<f64> {
    let micros: u64 = runs.iter().flat_map(|run| &run.micros).map(|&m| u64::from(m)).sum();
    let frames: usize = runs.iter().map(|run| run.micros.len()).sum();
    (micros > 0).then(|| frames as f64 * 1e6 / micros as f64)
}

#[cfg(test)]
mod tests {
    //! Evaluations of trackers that drift: runs, their storage, and broken input.

    use std::fs;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::dataset::tests::{rows, write_sequence};
    use super::*;
    use crate::bbox::BBox;
    use crate::frame::{Frame, FrameBuf, PixelFormat};
    use crate::media::Item;
    use crate::media::annotation::Base;
    use crate::run::Follower;
    use crate::tracker::{Estimate, Evidence, Params, State};

    /// A tracker that moves the initial box right by `speed` pixels a frame.
    struct Drift {
        name: String,
        speed: f64,
    }

    struct Drifting {
        speed: f64,
        bbox: BBox,
    }

    fn drift(name: &str, speed: f64) -> Drift {
        Drift { name: name.into(), speed }
    }

    impl Runner for Drift {
        fn name(&self) -> &str {
            &self.name
        }

        fn parameters(&self) -> Value {
            if self.name == "unknown" { Value::Null } else { serde_json::json!({ "speed": self.speed }) }
        }

        fn begin(&self) -> Result<Box<dyn Follower>> {
            Ok(Box::new(Drifting { speed: self.speed, bbox: BBox::default() }))
        }
    }

    impl Follower for Drifting {
        fn init(&mut self, _: &Frame<'_>, bbox: BBox) -> Result<Estimate> {
            std::thread::sleep(std::time::Duration::from_millis(1));
            self.bbox = bbox.translated(-self.speed, 0.0);
            self.update(&Frame::gray(&[0; 12], 4, 3)?)
        }

        fn update(&mut self, _: &Frame<'_>) -> Result<Estimate> {
            self.bbox = self.bbox.translated(self.speed, 0.0);
            let evidence = Evidence { peak: 1.0, psr: 0.0, apce: 0.0, ..Evidence::default() };
            Ok(Estimate { bbox: self.bbox, polygon: None, state: State::Tracking, evidence })
        }
    }

    fn dataset(dir: &Path) {
        for (name, n) in [("Crossing", 9), ("Deer", 25), ("Toy", 6)] {
            write_sequence(&dir.join(name), "img", n, "groundtruth_rect.txt", &rows(n));
        }
    }

    fn evaluation(dir: &Path, protocol: Protocol) -> Evaluation {
        Evaluation {
            dataset: Dataset::open(dir, &[], None).unwrap(),
            runners: vec![Box::new(drift("exact", 1.0)), Box::new(drift("slow", 0.5))],
            results: vec![],
            baseline: None,
            protocol,
            toolkit: Toolkit::Otb,
        }
    }

    /// Runs the evaluation; gives the number of tracked frames and the report.
    fn run(evaluation: &Evaluation, out: &Path, jobs: usize) -> (usize, Report) {
        let frames = AtomicUsize::new(0);
        let watch = |event: Event<'_>| {
            if matches!(event, Event::Frame) {
                frames.fetch_add(1, Ordering::Relaxed);
            }
        };
        let evaluated = evaluation.run(out, jobs, &CancelToken::default(), &watch).unwrap();
        (frames.into_inner(), evaluated.report)
    }

    #[test]
    fn two_trackers_of_one_name_are_refused() {
        let data = tempfile::tempdir().unwrap();
        dataset(data.path());
        let mut evaluation = evaluation(data.path(), Protocol::Ope);
        evaluation.check().unwrap();
        evaluation.runners.push(Box::new(drift("slow", 0.2)));
        assert!(evaluation.check().unwrap_err().to_string().contains("slow"));
    }

    #[test]
    fn every_run_lasts_from_its_start_to_the_end_and_errors_name_the_frame() {
        let item = |position: usize, frame: Result<FrameBuf>| Item {
            name: String::new(),
            ..Item::numbered(position, None, frame.map(|frame| (frame, None)), 0.0)
        };
        let frames = |n: usize| (1..=n).map(move |i| item(i, FrameBuf::new(vec![0; 12], 4, 3, PixelFormat::Gray8)));
        let init = BBox::new(0.0, 0.0, 2.0, 2.0);
        let starts = [Start { frame: 0, init }, Start { frame: 3, init: init.translated(1.0, 0.0) }];
        let traces = run_sequence(&drift("drift", 2.0), "s", &starts, frames(5), &|| Ok(())).unwrap();
        assert_eq!((traces[0].boxes.len(), traces[0].boxes[4].x), (5, 8.0));
        assert_eq!(traces[1].boxes.iter().map(|b| b.x).collect::<Vec<_>>(), [1.0, 3.0]);
        assert!(traces[0].micros[0] >= 1000, "it slept for a millisecond: {:?}", traces[0].micros);

        let infinite = drift("infinite", f64::INFINITY);
        let error = run_sequence(&infinite, "Deer", &starts[..1], frames(3), &|| Ok(())).unwrap_err().to_string();
        assert!(error.contains("Deer, infinite, run from frame 1, at frame 1"), "{error}");
        let broken = frames(1).chain([item(2, Err(Error::Decode { path: "0002.jpg".into(), reason: "cut".into() }))]);
        let error =
            run_sequence(&drift("drift", 2.0), "Deer", &starts[..1], broken, &|| Ok(())).unwrap_err().to_string();
        assert!(error.contains("0002.jpg"), "{error}");
    }

    #[test]
    fn names_presets_after_their_changes() {
        let named = |preset: &str, changes: &[(&str, &str)]| {
            let mut params = Params::preset(preset).unwrap();
            changes.iter().try_for_each(|(path, value)| params.set(path, value)).unwrap();
            Preset::changed(preset, params).unwrap()
        };
        let paper = Preset::named("paper").unwrap();
        assert_eq!((paper.name(), paper.parameters()), ("paper", named("paper", &[]).parameters()));
        let changed = named("paper", &[("search.filter.padding", "2")]);
        assert_eq!(changed.name(), "paper+padding=2.0");
        assert_eq!(changed.parameters()["changed"], serde_json::json!(["search.filter.padding"]));
        assert_eq!(named("paper", &[("guard", "svm")]).name(), "paper+guard-svm");
        assert_eq!(named("paper", &[("search.filter.kernel", "linear")]).name(), "paper+kernel=linear");
        assert_eq!(named("paper", &[("search.filter.scale", "filter")]).name(), "paper+scale=filter");
        assert_eq!(named("fast", &[("search.background.padding", "2")]).name(), "fast+padding=2.0");
        assert_eq!(named("paper", &[("search", "svm")]).name(), "paper+svm");
        let [scale, rotation] = ["scale", "rotation"].map(|of| format!("search.background.{of}.filter.lambda"));
        let both = named("robust", &[(&scale, "0.02"), (&rotation, "0.02")]);
        assert_eq!(both.name(), format!("robust+{scale}=0.02+{rotation}=0.02"));
        assert!(Preset::named("papre").unwrap_err().to_string().contains("paper-dcf"));
    }

    #[test]
    fn an_exact_tracker_is_best_under_every_protocol() {
        let data = tempfile::tempdir().unwrap();
        dataset(data.path());
        for (protocol, deer) in [(Protocol::Ope, 25), (Protocol::Tre, (20..=25).sum()), (Protocol::Sre, 12 * 25)] {
            let out = tempfile::tempdir().unwrap();
            let (_, report) = run(&evaluation(data.path(), protocol), out.path(), 2);
            let best = &report.trackers[0];
            assert_eq!((best.name.as_str(), best.sequences.len()), ("exact", 3), "{protocol}");
            if protocol != Protocol::Sre {
                assert!((best.overall.mean.auc - 20.0 / 21.0).abs() < 1e-12, "{protocol}");
            }
            assert_eq!(best.sequences["Deer"].frames, deer, "{protocol}");
            assert!(report.warnings.is_empty(), "{protocol}: {:?}", report.warnings);
        }
    }

    #[test]
    fn only_equal_runs_are_taken_up_again() {
        let (data, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        dataset(data.path());
        let mut evaluation = evaluation(data.path(), Protocol::Ope);
        assert_eq!([2 * 40, 0], [1, 3].map(|jobs| run(&evaluation, out.path(), jobs).0));
        // An image changes: only the runs of its sequence are computed again.
        fs::copy(data.path().join("Toy/img/0003.png"), data.path().join("Toy/img/0004.png")).unwrap();
        assert_eq!(run(&evaluation, out.path(), 2).0, 2 * 6);
        for (name, speed) in [("exact", 0.9), ("unknown", 0.0), ("unknown", 0.9)] {
            evaluation.runners[0] = Box::new(drift(name, speed));
            assert_eq!(run(&evaluation, out.path(), 1).0, 40, "{name}, {speed}");
        }
    }

    #[test]
    fn results_stand_beside_runs_and_need_the_one_pass_protocol() {
        let (data, out, theirs) =
            (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        dataset(data.path());
        for (name, n) in [("Crossing", 9), ("Deer", 20)] {
            fs::write(theirs.path().join(format!("{name}.txt")), rows(n).join("\n")).unwrap();
        }
        let mut evaluation = evaluation(data.path(), Protocol::Ope);
        let files = ResultFiles::open("theirs", theirs.path()).unwrap();
        evaluation.results.push(files.allowing_short(true));
        let (_, report) = run(&evaluation, out.path(), 2);
        let them = report.trackers.iter().find(|t| t.name == "theirs").unwrap();
        assert_eq!((them.origin, them.sequences.len()), (Origin::Results, 2));
        assert!(report.left_out.iter().any(|l| l.sequence == "Toy" && l.tracker.as_deref() == Some("theirs")));
        assert!(report.warnings.iter().any(|w| w.contains("20 rows for 25 frames")), "{:?}", report.warnings);
        for protocol in [Protocol::Tre, Protocol::Sre] {
            evaluation.protocol = protocol;
            let error = evaluation.run(out.path(), 1, &CancelToken::default(), &|_| ()).unwrap_err();
            assert!(matches!(error, Error::Parameter { name: "results", .. }), "{error}");
        }
    }

    #[test]
    fn a_cancelled_evaluation_keeps_the_finished_runs() {
        let (data, out, cancel) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), CancelToken::default());
        dataset(data.path());
        let evaluation = evaluation(data.path(), Protocol::Ope);
        let watch = |event: Event<'_>| {
            if matches!(event, Event::Finished { .. }) {
                cancel.cancel();
            }
        };
        assert!(matches!(evaluation.run(out.path(), 1, &cancel, &watch), Err(Error::Cancelled)));
        // The first run, of the longest sequence, is stored.
        assert_eq!(run(&evaluation, out.path(), 1).0, 2 * (9 + 25 + 6) - 25);
    }

    #[test]
    fn runs_are_pooled_by_frame() {
        let b = BBox::new(0.0, 0.0, 20.0, 20.0);
        let trace = |frame: usize, boxes: Vec<BBox>| Trace::of_boxes(Start { frame, init: b }, boxes);
        let far = b.translated(400.0, 0.0);
        let traces = [trace(0, vec![b, far, far, far]), trace(2, vec![b, b])];
        let sequence = LabelledSequence { truth: vec![Some(b); 4], ..results::tests::sequence("toy", 4, Base::One) };
        let (score, _) = pooled_score(&sequence, &traces, Toolkit::Otb).unwrap();
        assert_eq!((score.frames, score.precision_20), (6, 0.5));
        let timed = Trace { micros: vec![500; 4], ..trace(0, vec![b; 4]) };
        assert_eq!((rate_of(&[timed.clone(), timed]), rate_of(&traces)), (Some(2000.0), None));
    }
}
