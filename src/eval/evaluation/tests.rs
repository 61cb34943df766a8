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
fn a_tracker_that_follows_exactly_is_best_under_every_protocol() {
    let data = tempfile::tempdir().unwrap();
    dataset(data.path());
    for protocol in [Protocol::Ope, Protocol::Tre, Protocol::Sre] {
        let out = tempfile::tempdir().unwrap();
        let evaluation = evaluation(data.path(), protocol);
        run(&evaluation, out.path(), 2);
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
fn jobs_and_resume_do_not_change_a_byte() {
    let data = tempfile::tempdir().unwrap();
    dataset(data.path());
    let evaluation = evaluation(data.path(), Protocol::Ope);
    let one = tempfile::tempdir().unwrap();
    assert_eq!(run(&evaluation, one.path(), 1), 2 * 40);
    let expected = report(&evaluation, one.path());

    let three = tempfile::tempdir().unwrap();
    run(&evaluation, three.path(), 3);
    assert_eq!(report(&evaluation, three.path()), expected);

    // Killed after some sequences: those are not done again, a half-written file is.
    let killed = tempfile::tempdir().unwrap();
    let mut half = self::evaluation(data.path(), Protocol::Ope);
    half.dataset = Dataset::open(data.path(), &["Deer".into()]).unwrap();
    run(&half, killed.path(), 1);
    let first = evaluation.dataset.sequences.iter().find(|s| s.name == "Deer").unwrap();
    let starts = evaluation.starts(first).unwrap();
    let path = Store::in_folder(killed.path()).path(&evaluation.key(evaluation.runners[0].as_ref(), first, &starts));
    fs::write(&path, "{\"schema\":\"kcf").unwrap();
    assert_eq!(run(&evaluation, killed.path(), 2), 25 + 2 * 15);
    assert_eq!(report(&evaluation, killed.path()), expected);
    assert_eq!(run(&evaluation, killed.path(), 2), 0);
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
    assert_eq!(run(&evaluation, out.path(), 1), 2 * 40);
    let first = report(&evaluation, out.path());
    evaluation.runners[0] = with(0.9);
    assert_eq!(run(&evaluation, out.path(), 1), 40, "the other one is taken up again");
    assert!(report(&evaluation, out.path()) != first);
}

#[test]
fn an_unreadable_image_costs_its_sequence_only() {
    let data = tempfile::tempdir().unwrap();
    dataset(data.path());
    fs::write(data.path().join("Toy/img/0004.png"), "no picture").unwrap();
    let out = tempfile::tempdir().unwrap();
    let evaluation = evaluation(data.path(), Protocol::Ope);
    run(&evaluation, out.path(), 2);
    let report = evaluation.report(&Store::in_folder(out.path())).unwrap().report;
    assert_eq!(report.trackers[0].overall.sequences, 2);
    assert_eq!(report.left_out.len(), 2);
    assert!(report.left_out.iter().all(|l| l.sequence == "Toy" && l.reason.contains("0004.png")), "{report:?}");
    // Repaired, it is run, and the others are not run again.
    fs::copy(data.path().join("Toy/img/0003.png"), data.path().join("Toy/img/0004.png")).unwrap();
    assert_eq!(run(&evaluation, out.path(), 2), 12);
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
        let ran = evaluation.run(&store, 1, &|_| ());
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
    run(&evaluation, out.path(), 2);
    let report = evaluation.report(&Store::in_folder(out.path())).unwrap().report;
    let them = report.trackers.iter().find(|t| t.name == "theirs").unwrap();
    assert_eq!((them.origin, them.sequences.len()), (Origin::Results, 2));
    assert!(report.left_out.iter().any(|l| l.sequence == "Toy" && l.tracker.as_deref() == Some("theirs")));
    assert!(report.warnings.iter().any(|w| w.contains("20 rows for 25 frames")), "{:?}", report.warnings);
}
