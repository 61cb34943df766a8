use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::eval::dataset::tests::{rows, write_sequence};
use crate::eval::summary::Origin;
use crate::frame::{Frame, FrameBuf, PixelFormat};
use crate::tracker::{Estimate, Evidence, State};

/// A tracker that moves the initial box right by `speed` pixels a frame.
struct Drift {
    name: String,
    speed: f64,
    is_described: bool,
}

struct Drifting {
    speed: f64,
    bbox: BBox,
}

fn drift(name: &str, speed: f64) -> Drift {
    Drift { name: name.into(), speed, is_described: true }
}

impl Runner for Drift {
    fn name(&self) -> &str {
        &self.name
    }

    fn parameters(&self) -> serde_json::Value {
        if self.is_described { serde_json::json!({ "speed": self.speed }) } else { serde_json::Value::Null }
    }

    fn is_described(&self) -> bool {
        self.is_described
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

/// Runs the evaluation and returns the number of tracked frames.
fn run(evaluation: &Evaluation, out: &Path, jobs: usize) -> usize {
    let frames = AtomicUsize::new(0);
    let watch = |event: Event<'_>| {
        if matches!(event, Event::Frame) {
            frames.fetch_add(1, Ordering::Relaxed);
        }
    };
    evaluation.run(&Store::in_folder(out), jobs, &watch).unwrap();
    frames.into_inner()
}

fn report(evaluation: &Evaluation, out: &Path) -> String {
    serde_json::to_string(&evaluation.report(&Store::in_folder(out)).unwrap().report).unwrap()
}

#[test]
fn every_run_lasts_from_its_start_to_the_end_and_errors_name_the_frame() {
    let item = |position: usize, frame: Result<FrameBuf>| Item {
        position,
        name: String::new(),
        path: None,
        timestamp: None,
        frame,
        color: None,
        decode_ms: 0.0,
    };
    let frames = |n: usize| (1..=n).map(move |i| item(i, FrameBuf::new(vec![0; 12], 4, 3, PixelFormat::Gray8)));
    let init = BBox::new(0.0, 0.0, 2.0, 2.0);
    let starts = [Start { frame: 0, init }, Start { frame: 3, init: init.translated(1.0, 0.0) }];
    let traces = run_sequence(&drift("drift", 2.0), "s", &starts, frames(5), &|| ()).unwrap();
    assert_eq!((traces[0].boxes.len(), traces[0].boxes[4].x), (5, 8.0));
    assert_eq!(traces[1].boxes.iter().map(|b| b.x).collect::<Vec<_>>(), [1.0, 3.0]);

    struct Infinite;
    impl Runner for Infinite {
        fn name(&self) -> &str {
            "infinite"
        }
        fn parameters(&self) -> serde_json::Value {
            serde_json::Value::Null
        }
        fn begin(&self) -> Result<Box<dyn Follower>> {
            Ok(Box::new(Drifting { speed: f64::INFINITY, bbox: BBox::default() }))
        }
    }
    let error = run_sequence(&Infinite, "Deer", &starts[..1], frames(3), &|| ()).unwrap_err().to_string();
    assert!(error.contains("Deer, infinite, run from frame 1, at frame 2"), "{error}");
    let broken = frames(1).chain([item(2, Err(Error::Decode { path: "0002.jpg".into(), reason: "cut".into() }))]);
    let error = run_sequence(&drift("drift", 2.0), "Deer", &starts[..1], broken, &|| ()).unwrap_err().to_string();
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
    assert_eq!(named("fast", &[("search.filter.scale", "filter")]).name(), "fast+scale=filter");
    assert_eq!(named("paper", &[("search", "svm")]).name(), "paper+svm");
    assert!(Preset::named("papre").unwrap_err().to_string().contains("paper-dcf"));
}

#[test]
fn an_exact_tracker_is_best_under_every_protocol() {
    let data = tempfile::tempdir().unwrap();
    dataset(data.path());
    for (protocol, deer) in [(Protocol::Ope, 25), (Protocol::Tre, (20..=25).sum()), (Protocol::Sre, 12 * 25)] {
        let out = tempfile::tempdir().unwrap();
        let evaluation = evaluation(data.path(), protocol);
        run(&evaluation, out.path(), 2);
        let evaluated = evaluation.report(&Store::in_folder(out.path())).unwrap();
        let best = &evaluated.report.trackers[0];
        assert_eq!((best.name.as_str(), best.sequences.len()), ("exact", 3), "{protocol}");
        if protocol != Protocol::Sre {
            assert!((best.overall.auc - 20.0 / 21.0).abs() < 1e-12, "{protocol}");
        }
        assert_eq!(best.sequences["Deer"].frames, deer, "{protocol}");
    }
}

#[test]
fn jobs_and_resume_do_not_change_a_byte() {
    let (data, one, three) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    dataset(data.path());
    let evaluation = evaluation(data.path(), Protocol::Ope);
    assert_eq!(run(&evaluation, one.path(), 1), 2 * 40);
    let expected = report(&evaluation, one.path());
    run(&evaluation, three.path(), 3);
    assert_eq!(report(&evaluation, three.path()), expected);
    // After a kill: one file is missing, another one is cut.
    let runs = three.path().join("runs/ope/exact");
    fs::remove_file(runs.join("Toy.json")).unwrap();
    let cut = fs::read(runs.join("Deer.json")).unwrap();
    fs::write(runs.join("Deer.json"), &cut[..cut.len() / 3]).unwrap();
    assert!(evaluation.report(&Store::in_folder(three.path())).is_err(), "runs are missing");
    assert_eq!(run(&evaluation, three.path(), 2), 6 + 25);
    assert_eq!(report(&evaluation, three.path()), expected);
    assert_eq!(run(&evaluation, three.path(), 2), 0);
    // An image changes: only the runs of its sequence are computed again.
    fs::copy(data.path().join("Toy/img/0003.png"), data.path().join("Toy/img/0004.png")).unwrap();
    assert_eq!(run(&evaluation, three.path(), 2), 2 * 6);
}

#[test]
fn runs_of_an_undescribed_tracker_are_computed_again() {
    let (data, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    dataset(data.path());
    let mut evaluation = evaluation(data.path(), Protocol::Ope);
    let unknown = |speed| Box::new(Drift { is_described: false, ..drift("unknown", speed) }) as Box<dyn Runner>;
    evaluation.runners[0] = unknown(0.0);
    assert_eq!(run(&evaluation, out.path(), 1), 2 * 40);
    let first = report(&evaluation, out.path());
    evaluation.runners[0] = unknown(0.9);
    assert_eq!(run(&evaluation, out.path(), 1), 40);
    assert!(report(&evaluation, out.path()) != first);
}

#[test]
fn an_unreadable_image_costs_only_its_sequence() {
    let (data, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    dataset(data.path());
    fs::write(data.path().join("Toy/img/0004.png"), "no picture").unwrap();
    let evaluation = evaluation(data.path(), Protocol::Ope);
    run(&evaluation, out.path(), 2);
    let report = evaluation.report(&Store::in_folder(out.path())).unwrap().report;
    assert_eq!((report.trackers[0].overall.sequences, report.left_out.len()), (2, 2));
    assert!(report.left_out.iter().all(|l| l.sequence == "Toy" && l.reason.contains("0004.png")), "{report:?}");
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
    run(&evaluation, out.path(), 2);
    let store = Store::in_folder(out.path());
    let report = evaluation.report(&store).unwrap().report;
    let them = report.trackers.iter().find(|t| t.name == "theirs").unwrap();
    assert_eq!((them.origin, them.sequences.len()), (Origin::Results, 2));
    assert!(report.left_out.iter().any(|l| l.sequence == "Toy" && l.tracker.as_deref() == Some("theirs")));
    assert!(report.warnings.iter().any(|w| w.contains("20 rows for 25 frames")), "{:?}", report.warnings);
    for protocol in [Protocol::Tre, Protocol::Sre] {
        evaluation.protocol = protocol;
        for error in [evaluation.run(&store, 1, &|_| ()).unwrap_err(), evaluation.report(&store).err().unwrap()] {
            assert!(matches!(error, Error::Parameter { name: "results", .. }), "{error}");
        }
    }
}

#[test]
fn runs_are_stored_to_the_last_bit_and_used_only_for_the_same_key() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::in_folder(folder.path());
    let init = BBox::new(1.0, 2.0, 3.0, 4.0);
    let key = RunKey {
        version: "0.1.0".into(),
        tracker: "paper".into(),
        parameters: serde_json::json!({"sigma": 0.5}),
        sequence: "Deer".into(),
        frames: 2,
        checksum: 7,
        protocol: Protocol::Ope,
        starts: vec![Start { frame: 0, init }],
    };
    let boxes = vec![init, init.translated(0.1 + 0.2, 1.0 / 3.0)];
    let runs = vec![Trace { start: key.starts[0], boxes, micros: vec![10, 20] }];
    assert_eq!(store.load(&key), Stored::Absent);
    store.save(&key, &runs).unwrap();
    assert_eq!(store.load(&key), Stored::Runs(runs.clone()));
    let other = [
        RunKey { parameters: serde_json::json!({"sigma": 0.6}), ..key.clone() },
        RunKey { checksum: 8, ..key.clone() },
    ];
    for other in other {
        assert!(matches!(store.load(&other), Stored::Unusable(reason) if reason.contains("made from other frames")));
    }
    store.save_failure(&key, "truncated").unwrap();
    assert_eq!(store.load(&key), Stored::Failed("truncated".into()));
}
