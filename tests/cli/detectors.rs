//! Kernel machines over real windows on the command line.

use kcf_track::machines::MachineKind;
use ndarray::Array2;
use predicates::prelude::*;
use predicates::str::contains;

use crate::npy::read_npy;

use crate::helper::{bbox, place, run, states};

#[test]
fn every_detector_and_guard_follows_the_target() {
    let place = place(8);
    let detectors = MachineKind::ALL.iter().map(|&kind| ("--detector", "/search/windows/machine", kind));
    let guards = MachineKind::all_guards().map(|kind| ("--guard", "/guard/windows/machine", kind));
    for (flag, field, kind) in detectors.chain(guards) {
        place.run("--json @a.json").args([flag, kind.name()]).assert().success();
        let document = place.json("a.json");
        let machine = document["parameters"].pointer(field).unwrap();
        assert!(machine[kind.name()].is_object(), "{machine}");
        assert_eq!(states(&document)[1..], ["tracking"; 7], "{flag} {kind}");
        let decided = document["frames"].as_array().unwrap()[1..].iter().filter(|frame| frame["decision"].is_f64());
        assert_eq!(decided.count(), 7, "{flag} {kind}");
        assert!(document["summary"]["truth"]["mean_overlap"].as_f64().unwrap() > 0.7, "{flag} {kind}");
    }
}

/// The target of the demo turns and grows; a gate that is too high lets a machine learn none of it.
#[test]
fn no_detector_and_no_guard_calls_the_demo_lost() {
    let (demo, place) = (concat!(env!("CARGO_MANIFEST_DIR"), "/assets/demo"), place(2));
    let detectors = MachineKind::ALL.iter().map(|kind| ["--detector", kind.name()]);
    for flags in detectors.chain(MachineKind::all_guards().map(|kind| ["--guard", kind.name()])) {
        let json = place.path("demo.json");
        run(["--seq", demo, "--preset", "paper", "--json", json.to_str().unwrap()]).args(flags).assert().success();
        let document = place.json("demo.json");
        assert!(!states(&document).contains(&"lost"), "{flags:?}");
        assert!(document["summary"]["truth"]["mean_overlap"].as_f64().unwrap() > 0.5, "{flags:?}");
    }
}

#[test]
fn flags_reach_the_machine_the_bank_and_the_guard() {
    let place = place(3);
    let flags = "--detector svm --machine c=3 --window-sigma 0.3 --template-size 24 --context 0.75 \
                 --reach 3 --prior 0.25 --sample-share 0.1 --gate 0.4 --positives 8 --negatives 20 --hard-negatives 2 \
                 --channels 5 --learn-every 2 --json @a.json";
    place.run(flags).assert().success();
    let set = &place.json("a.json")["parameters"]["search"]["windows"];
    assert_eq!(set["machine"]["svm"]["c"], 3.0);
    let expected = serde_json::json!({
        "kernel": { "gaussian": { "sigma": 0.3 } }, "template-size": 24.0, "context": 0.75, "reach": 3.0, "prior": 0.25,
        "sample-share": 0.1, "gate": 0.4, "positives": 8, "negatives": 20, "hard-negatives": 2,
        "channels": 5, "every": 2,
    });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&set[name], value, "{name}");
    }
    let flags = "--guard krr --machine lambda=0.1 --guard-doubt 0.05 --guard-belief 0.2 --guard-margin 0.4 \
                 --guard-far 0.1 --guard-patience 4 --guard-tiles 6 --guard-relearn 0.5 --json @a.json";
    place.run(flags).assert().success();
    let set = &place.json("a.json")["parameters"]["guard"];
    assert_eq!(set["windows"]["machine"]["krr"]["lambda"], 0.1);
    let expected = serde_json::json!({
        "doubt": 0.05, "belief": 0.2, "margin": 0.4, "far": 0.1, "patience": 4, "tiles": 6, "relearn": 0.5,
    });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&set[name], value, "{name}");
    }
    // --kernel is that of the detector's windows, too.
    place.run("--detector svm --kernel polynomial --kernel-b 2 --json @a.json").assert().success();
    let set = &place.json("a.json")["parameters"]["search"]["windows"];
    assert_eq!(set["kernel"]["polynomial"]["b"], 2);
}

/// Element (r, c) stands for the centre `origin + (c, r) * step`; the middle one for where the box was.
#[test]
fn response_maps_point_at_the_box() {
    let place = place(5);
    for detector in ["svm", "kpca"] {
        let maps = format!("maps-{detector}");
        place.run(&format!("--detector {detector} --json @a.json --response @{maps}")).assert().success();
        let document = place.json("a.json");
        let frames = document["frames"].as_array().unwrap();
        let center = |frame: &serde_json::Value| {
            let [x, y, w, h] = bbox(frame);
            (x + w / 2.0, y + h / 2.0)
        };
        let text = place.read(&format!("{maps}/geometry.csv"));
        let mut table = csv::Reader::from_reader(text.as_bytes());
        let header: Vec<String> = table.headers().unwrap().iter().map(String::from).collect();
        let column =
            |name: &str| header.iter().position(|column| column == name).unwrap_or_else(|| panic!("{header:?}"));
        let [x0, y0, dx, dy] = ["origin_x", "origin_y", "step_x", "step_y"].map(column);
        let rows: Vec<_> = table.records().map(Result::unwrap).collect();
        assert_eq!(rows.len(), 5);
        for (i, row) in rows.iter().enumerate() {
            let number = |column: usize| row[column].parse::<f64>().unwrap();
            let file = place.path(&format!("{maps}/{:04}.npy", i + 1));
            let map: Array2<f32> = read_npy(file);
            let (rows, cols) = map.dim();
            assert!(rows >= 5 && cols >= 5);
            let at = |r: f64, c: f64| (number(x0) + c * number(dx), number(y0) + r * number(dy));
            let from = at((rows / 2) as f64, (cols / 2) as f64);
            let before = center(&frames[i.saturating_sub(1)]);
            // The windows stand on whole pixels.
            assert!((from.0 - before.0).abs() <= 1.0 && (from.1 - before.1).abs() <= 1.0, "{from:?}, {before:?}");
            let best = map.indexed_iter().max_by(|a, b| a.1.total_cmp(b.1)).unwrap().0;
            let (peak, found) = (at(best.0 as f64, best.1 as f64), center(&frames[i]));
            // Half a cell, where the peak lies between two, and what the prior moves it.
            assert!(
                (peak.0 - found.0).abs() <= 4.5 && (peak.1 - found.1).abs() <= 4.5,
                "{detector}, {i}: {peak:?}, {found:?}"
            );
        }
    }
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let place = place(2);
    for (line, said) in [
        ("--guard kpca", "--guard"),
        ("--guard kcf", "--guard"),
        ("--detector svm --machine c=-1", "--machine c=-1: must be a number from"),
        ("--detector svm --machine c=none", "--machine c=none: must be a number from"),
        ("--detector svm --machine cost=1", "svm has no cost, but c, tolerance, max-steps"),
        ("--guard krr --machine c=1", "krr has no c, but lambda, bias"),
        ("--detector svm --machine c", "KEY=VALUE"),
        ("--machine c=1", "--machine needs --detector svm (or another machine) or --guard"),
        ("--detector svm --channels 20", "--channels 20: must be 1 to 15, or 31"),
        ("--channels 4", "--channels needs --detector svm (or another machine) or --guard"),
        ("--gate 0.1 --detector kcf", "--gate needs --detector svm (or another machine) or --guard"),
        ("--detector svm --guard-tiles 3", "--guard-tiles needs --guard"),
        ("--guard-doubt 0.3", "--guard-doubt needs --guard"),
        ("--detector svm --lambda 5", "--lambda needs --detector kcf"),
        ("--detector svm --feature gray", "--feature needs --detector kcf"),
        ("--detector svm --max-cells 500", "--max-cells needs --detector kcf"),
        ("--detector svm --loss hinge", "--loss needs --detector kcf"),
        ("--guard krr --lost-score 0", "--lost-score needs --detector svm (or another machine)"),
        ("--guard krr --window-kernel linear --window-sigma 1", "--window-sigma needs --window-kernel gaussian"),
        ("--detector svm --kernel-sigma 0.3 --window-sigma 0.2", "contradict each other"),
        ("--detector svm --circulant", "--loss hinge"),
    ] {
        place.run("--csv @a.csv").args(line.split(' ')).assert().code(2).stdout("").stderr(contains(said));
        assert!(!place.path("a.csv").exists(), "{line}");
    }
}

/// Whatever is wrong, the message names a flag that there is.
#[test]
fn a_bad_value_of_any_flag_is_named() {
    let place = place(2);
    for (with, flag, values) in [
        ("--detector svm", "--window-sigma", &["0", "-1", "NaN", "x"][..]),
        ("--guard krr", "--window-sigma", &["0"]),
        ("--detector svm", "--kernel-sigma", &["0"]),
        ("--detector svm", "--template-size", &["7", "NaN"]),
        ("--detector svm", "--context", &["-0.1", "6"]),
        ("--detector svm", "--reach", &["-1", "21"]),
        ("--detector svm", "--prior", &["-0.1", "1.1"]),
        ("--detector svm", "--sample-share", &["-0.1", "1"]),
        ("--detector svm", "--gate", &["inf", "x"]),
        ("--detector svm", "--learn-every", &["0", "1.5"]),
        ("--detector svm", "--positives", &["0", "300", "1.5"]),
        ("--detector svm", "--negatives", &["0", "300", "-1"]),
        ("--detector svm", "--hard-negatives", &["33"]),
        ("--detector svm", "--channels", &["0", "16", "32"]),
        ("--guard krr", "--guard-doubt", &["NaN", "101"]),
        ("--guard krr", "--guard-belief", &["NaN", "101"]),
        ("--guard krr", "--guard-margin", &["-1", "NaN"]),
        ("--guard krr", "--guard-far", &["-1", "NaN"]),
        ("--guard krr", "--guard-patience", &["0", "1.5"]),
        ("--guard krr", "--guard-tiles", &["1001", "-1"]),
        ("--guard krr", "--guard-relearn", &["-0.1", "1.1"]),
    ] {
        for value in values {
            place
                .run(with)
                .arg(format!("{flag}={value}"))
                .assert()
                .code(2)
                .stdout("")
                .stderr(contains(flag).and(contains("error:")));
        }
    }
}

#[test]
fn long_help_has_the_guards_flags_and_short_help_has_not() {
    let all =
        ["doubt", "belief", "margin", "far", "patience", "tiles", "relearn"].map(|name| format!("--guard-{name}"));
    let help = |flag: &str| String::from_utf8(run([flag]).assert().success().get_output().stdout.clone()).unwrap();
    let (long, short) = (help("--help"), help("-h"));
    for flag in &all {
        assert!(long.contains(flag) && !short.contains(flag), "{flag}");
    }
    assert!(short.contains("--guard <") && short.contains("--detector <"));
}

#[test]
fn a_refit_that_cannot_settle_ends_no_run() {
    let place = place(30);
    place.run("--guard svm --machine max-steps=40 --json @a.json").assert().success();
    let document = place.json("a.json");
    let frames = document["frames"].as_array().unwrap();
    assert_eq!(frames.len(), 30);
    assert!(frames.iter().any(|frame| frame["refit_kept"] == true), "every fit settled: the steps are too many");
    assert!(!states(&document).contains(&"missing"));
    assert!(document["summary"]["truth"]["mean_overlap"].as_f64().unwrap() > 0.7);
}
