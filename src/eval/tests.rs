//! Evaluations of trackers that drift: runs, their storage, and what becomes of broken input.

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

    let infinite = drift("infinite", f64::INFINITY);
    let error = run_sequence(&infinite, "Deer", &starts[..1], frames(3), &|| Ok(())).unwrap_err().to_string();
    assert!(error.contains("Deer, infinite, run from frame 1, at frame 2"), "{error}");
    let broken = frames(1).chain([item(2, Err(Error::Decode { path: "0002.jpg".into(), reason: "cut".into() }))]);
    let error = run_sequence(&drift("drift", 2.0), "Deer", &starts[..1], broken, &|| Ok(())).unwrap_err().to_string();
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
    evaluation.results.push(ResultFiles::open("theirs", theirs.path()).unwrap());
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
    // Of the longest sequence, which is the first.
    assert_eq!(run(&evaluation, out.path(), 1).0, 2 * (9 + 25 + 6) - 25);
}

#[test]
fn runs_are_pooled_by_frame() {
    let b = BBox::new(0.0, 0.0, 20.0, 20.0);
    let trace = |frame: usize, boxes: Vec<BBox>| Trace { start: Start { frame, init: b }, micros: vec![], boxes };
    let far = b.translated(400.0, 0.0);
    let traces = [trace(0, vec![b, far, far, far]), trace(2, vec![b, b])];
    let sequence = LabelledSequence { truth: vec![Some(b); 4], ..results::tests::sequence("toy", 4, Base::One) };
    let score = pooled_score(&sequence, &traces, Toolkit::Otb).unwrap();
    assert_eq!((score.frames, score.precision_20), (6, 0.5));
}
