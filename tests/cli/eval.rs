//! `kcf-track eval` from outside: what it writes, that it is the same every time, and what it says to bad input.

use std::fs;

use predicates::prelude::*;
use predicates::str::contains;

use super::eval_data::{dataset, eval, read, report, results, sequence, text};
use crate::helper::run;
use crate::pictures;

#[test]
fn jobs_shards_and_resume_give_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    dataset(&data);
    results(&data, &dir.path().join("lag"), 1.5);
    let other = format!("lag={}", text(&dir.path().join("lag")));
    let base = ["--data", text(&data), "--preset", "paper", "--preset", "paper-gray", "--results", &other, "--quiet"];
    let run = |name: &str, more: &[&str]| {
        let out = dir.path().join(name);
        let outcome = eval(&[&base[..], more, &["--out", text(&out)]].concat());
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        out
    };
    let one = run("one", &["--jobs", "1"]);
    let expected = read(&one, "report.json");
    let scores = report(&one);
    let trackers: Vec<&str> =
        scores["trackers"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert_eq!(trackers.len(), 3, "{trackers:?}");
    assert!(scores["trackers"][0]["overall"]["auc"].as_f64().unwrap() > 0.6, "the tracker follows a textured square");
    for file in
        ["report.html", "timings.json", "table.tex", "table.md", "success.png", "precision.svg", "attributes.svg"]
    {
        assert!(!read(&one, file).is_empty());
    }

    let same =
        ["report.json", "success.svg", "success.png", "precision.svg", "attributes.svg", "table.md", "table.tex"];
    let check = |name: &str| {
        for file in same {
            assert_eq!(read(&dir.path().join(name), file), read(&one, file), "{name}/{file}");
        }
    };
    run("three", &["--jobs", "3"]);
    check("three");

    run("part1", &["--shard", "1/2"]);
    run("part2", &["--shard", "2/2"]);
    assert!(!dir.path().join("part1/report.json").exists());
    let (a, b, merged) = (dir.path().join("part1"), dir.path().join("part2"), dir.path().join("merged"));
    let half = eval(&["merge", text(&a), "--out", text(&merged)]);
    assert_eq!(half.code, 1);
    assert!(half.stderr.contains("shard 2/2 is missing"), "{}", half.stderr);
    let whole = eval(&["merge", text(&b), text(&a), "--out", text(&merged), "--quiet"]);
    assert_eq!(whole.code, 0, "{}", whole.stderr);
    check("merged");

    // A killed run: some runs are there, one is cut off, a temporary file lies about, the report was never written.
    let killed = run("killed", &["--shard", "1/2"]);
    let runs = killed.join("runs/ope/paper");
    let cut = fs::read_dir(&runs).unwrap().next().unwrap().unwrap().path();
    let kept = fs::read(&cut).unwrap();
    fs::write(&cut, &kept[..kept.len() / 3]).unwrap();
    fs::write(runs.join(".kcf-track-x1y2z3.tmp"), "{").unwrap();
    let again = eval(&[&base[..8], &["--out", text(&killed)]].concat());
    assert_eq!(again.code, 2, "an evaluation is gone on with only if asked to");
    assert!(again.stderr.contains("--resume"), "{}", again.stderr);
    let resumed = eval(&[&base[..8], &["--out", text(&killed), "--resume"]].concat());
    assert_eq!(resumed.code, 0, "{}", resumed.stderr);
    assert!(
        resumed.stderr.contains("were done before") && resumed.stderr.contains("computed again"),
        "{}",
        resumed.stderr
    );
    assert_eq!(read(&killed, "report.json"), expected);
    assert!(!runs.join(".kcf-track-x1y2z3.tmp").exists(), "what a kill leaves is gone after the next run");
}

/// The names and the number of the pictures are the same; only what they show is not.
#[test]
fn resume_does_not_take_over_boxes_of_other_pictures() {
    let dir = tempfile::tempdir().unwrap();
    let (data, out) = (dir.path().join("data"), dir.path().join("out"));
    sequence(&data.join("Deer"), 12, 2.0);
    sequence(&data.join("plain"), 9, 1.0);
    let run = |more: &[&str]| eval(&[&["--data", text(&data), "--out", text(&out)], more].concat());
    assert_eq!(run(&[]).code, 0);
    let first = report(&out);
    let again = run(&["--resume"]);
    assert!(again.stderr.contains("21 of 21 frames were done before"), "{}", again.stderr);
    // The last frames of one sequence now show something else.
    for position in 6..=12 {
        let path = data.join(format!("Deer/img/{position:04}.png"));
        let other = image::GrayImage::from_fn(160, 100, |x, y| image::Luma([(x * 7 + y * 13) as u8]));
        pictures::save(other, &path);
    }
    let resumed = run(&["--resume"]);
    assert_eq!(resumed.code, 0, "{}", resumed.stderr);
    let said = ["9 of 21 frames were done before", "computed again", "made from other frames"];
    assert!(said.iter().all(|said| resumed.stderr.contains(said)), "{}", resumed.stderr);
    let auc = |report: &serde_json::Value| report["trackers"][0]["sequences"]["Deer"]["auc"].as_f64().unwrap();
    assert_ne!(auc(&report(&out)), auc(&first));
    // A copy elsewhere is other files, but the same pictures: its runs are done anew, and shards of it fit together.
    let copied = dir.path().join("copied");
    assert!(std::process::Command::new("cp").arg("-r").arg(&data).arg(&copied).status().unwrap().success());
    let parts = ["one", "two"].map(|name| dir.path().join(name));
    for (part, (data, shard)) in parts.iter().zip([(&data, "1/2"), (&copied, "2/2")]) {
        assert_eq!(eval(&["--data", text(data), "--shard", shard, "--out", text(part)]).code, 0);
    }
    let merged = dir.path().join("merged");
    let outcome = eval(&["merge", text(&parts[0]), text(&parts[1]), "--out", text(&merged)]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert_eq!(auc(&report(&merged)), auc(&report(&out)));
}

#[test]
fn other_protocols_run_from_other_starts() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    sequence(&data.join("long"), 30, 2.0);
    for (protocol, frames) in [("tre", (20..=30).sum::<u64>()), ("sre", 12 * 30)] {
        let out = dir.path().join(protocol);
        let outcome = eval(&["--data", text(&data), "--protocol", protocol, "--out", text(&out)]);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        assert!(outcome.stdout.contains("robust"), "{}", outcome.stdout);
        assert_eq!(report(&out)["trackers"][0]["overall"]["frames"].as_u64(), Some(frames), "{protocol}");
    }
    let theirs = dir.path().join("theirs");
    fs::create_dir(&theirs).unwrap();
    fs::write(theirs.join("long.txt"), "1,1,2,2").unwrap();
    let given = format!("x={}", text(&theirs));
    let outcome =
        eval(&["--data", text(&data), "--protocol", "tre", "--results", &given, "--out", text(&dir.path().join("no"))]);
    assert_eq!(outcome.code, 2);
    let said = "--results x: results are of one-pass runs (ope), not of the protocol tre";
    assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
    assert!(!dir.path().join("no").exists());
}

#[test]
fn a_detector_is_another_tracker() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    sequence(&data.join("short"), 6, 1.0);
    let changed = ["--data", text(&data), "--preset", "paper", "--loss", "hinge", "--quiet"];
    let parts = ["1/2", "2/2"].map(|shard| {
        let out = dir.path().join(shard.replace('/', "of"));
        let outcome = eval(&[&changed[..], &["--shard", shard, "--out", text(&out)]].concat());
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        out
    });
    let out = dir.path().join("merged");
    let outcome = eval(&["merge", text(&parts[0]), text(&parts[1]), "--out", text(&out), "--quiet"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let tracker = &report(&out)["trackers"][0];
    assert_eq!(tracker["name"], "paper+hinge");
    assert_eq!(tracker["parameters"]["search"]["filter"]["loss"], "hinge");

    for (flags, name) in [(["--guard", "krr"], "paper+guard-krr"), (["--detector", "svm"], "paper+svm")] {
        let out = dir.path().join(name);
        let outcome =
            eval(&[&["--data", text(&data), "--preset", "paper", "-q", "--out", text(&out)], &flags[..]].concat());
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        let tracker = &report(&out)["trackers"][0];
        assert_eq!(tracker["name"], name);
        assert!(tracker["parameters"].to_string().contains(&format!("\"machine\":{{\"{}\"", flags[1])));
        assert!(tracker["overall"]["auc"].as_f64().unwrap() > 0.6, "{name}");
    }

    let refused = dir.path().join("refused");
    let outcome = eval(&["--data", text(&data), "--detector", "kdspe", "--loss", "hinge", "--out", text(&refused)]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains("needs --detector kcf") && !refused.exists(), "{}", outcome.stderr);
}

/// A report that is there is of what the folder was last asked for.
#[test]
fn resuming_leaves_no_file_of_another_report() {
    let dir = tempfile::tempdir().unwrap();
    let (data, out) = (dir.path().join("data"), dir.path().join("out"));
    dataset(&data);
    let run = |more: &[&str]| {
        let outcome = eval(&[&["--data", text(&data), "-p", "paper", "-q", "--out", text(&out)], more].concat());
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    };
    let written = || -> Vec<String> {
        let names = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| name != "evaluation.json" && name != "runs").collect();
        names.sort();
        names
    };
    run(&[]);
    let whole = written();
    assert!(whole.len() == 13 && whole.contains(&"attributes.svg".to_owned()), "{whole:?}");
    fs::write(out.join("notes.txt"), "mine").unwrap();
    // A sequence without attributes has no radar.
    run(&["--resume", "--sequences", "plain"]);
    let mut plain: Vec<_> = whole.into_iter().filter(|name| !name.starts_with("attributes")).collect();
    plain.push("notes.txt".into());
    plain.sort();
    assert_eq!(written(), plain);
    run(&["--resume", "--shard", "1/2"]);
    assert_eq!(written(), ["notes.txt"]);
}

#[test]
fn any_number_of_settings_may_be_changed() {
    let dir = tempfile::tempdir().unwrap();
    let (data, out, saved) = (dir.path().join("data"), dir.path().join("out"), dir.path().join("saved"));
    sequence(&data.join("short"), 4, 1.0);
    let mut args = vec!["--data", text(&data), "--preset", "paper", "-q", "--out", text(&out)];
    args.extend(["--save-results", text(&saved)]);
    let changes = "--lambda 0.00012345678912 --padding 1.52345678901234 --output-sigma 0.112345678912 --cell-size 5 \
                   --learning-rate 0.02123456789123 --kernel-sigma 0.51234567891234 --max-cells 3000.51234567 \
                   --states psr --uncertain-psr 5.12345678912345 --lost-psr 3.12345678912345 \
                   --reuse-shift 0.1123456789123";
    args.extend(changes.split_whitespace());
    let outcome = eval(&args);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let name = report(&out)["trackers"][0]["name"].as_str().unwrap().to_owned();
    assert!(name.len() > 255, "{name}");
    args.push("--resume");
    let outcome = eval(&args);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
}

#[test]
fn our_boxes_are_saved_for_other_tools_and_score_the_same_there() {
    let dir = tempfile::tempdir().unwrap();
    let (data, saved) = (dir.path().join("data"), dir.path().join("saved"));
    dataset(&data);
    let first = dir.path().join("first");
    let outcome =
        eval(&["--data", text(&data), "-p", "paper", "--out", text(&first), "--save-results", text(&saved), "-q"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let second = dir.path().join("second");
    let pysot = format!("pysot={}", text(&saved.join("pysot/paper")));
    let got10k = format!("got10k={}", text(&saved.join("got10k/OTB2015/paper")));
    let outcome =
        eval(&["--data", text(&data), "--out", text(&second), "--results", &pysot, "--results", &got10k, "--quiet"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let (ours, theirs) = (report(&first), report(&second));
    for tracker in theirs["trackers"].as_array().unwrap() {
        assert_eq!(tracker["overall"], ours["trackers"][0]["overall"], "{}", tracker["name"]);
    }
    let timings: serde_json::Value = serde_json::from_slice(&read(&second, "timings.json")).unwrap();
    assert!(timings["trackers"]["got10k"]["fps"].as_f64().unwrap() > 0.0);
}

#[test]
fn what_cannot_be_used_is_named_and_the_rest_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    dataset(&data);
    // An unreadable image in one sequence, a sequence of the same name elsewhere, one without labels, and a known one
    // that is not there.
    fs::write(data.join("Deer/img/0007.png"), "this is no picture").unwrap();
    sequence(&data.join("more/plain"), 5, 1.0);
    fs::create_dir_all(data.join("hollow/img")).unwrap();
    let theirs = dir.path().join("theirs");
    fs::create_dir(&theirs).unwrap();
    // Too short; NaN in the middle; empty.
    fs::write(theirs.join("Crossing.txt"), "21,25,28,24\nNaN,NaN,NaN,NaN\n25,26,28,24\n").unwrap();
    fs::write(theirs.join("plain.txt"), "").unwrap();
    let given = format!("theirs={}", text(&theirs));
    let out = dir.path().join("out");
    let outcome = eval(&["--data", text(&data), "--preset", "paper", "--results", &given, "--out", text(&out)]);
    assert_eq!(outcome.code, 1, "{}", outcome.stderr);
    for part in [
        "Deer (paper)",
        "0007.png",
        "left out: plain: two sequences have this name",
        "left out: hollow",
        "left out: plain (theirs)",
        "is empty",
        "3 rows for 14 frames",
    ] {
        assert!(outcome.stderr.contains(part), "{part} is not in:\n{}", outcome.stderr);
    }
    let scores = report(&out);
    let paper = scores["trackers"].as_array().unwrap().iter().find(|t| t["name"] == "paper").unwrap();
    assert_eq!(paper["sequences"].as_object().unwrap().keys().collect::<Vec<_>>(), ["Crossing", "plain"]);
    let page = String::from_utf8(read(&out, "report.html")).unwrap();
    assert!(page.contains("0007.png") && page.contains("3 rows for 14 frames"));
    // Repaired, only that sequence is run.
    fs::copy(data.join("Deer/img/0006.png"), data.join("Deer/img/0007.png")).unwrap();
    let outcome = eval(&["--data", text(&data), "--preset", "paper", "--out", text(&out), "--resume"]);
    assert!(outcome.stderr.contains("23 of 43 frames were done before"), "{}", outcome.stderr);
}

#[test]
fn documents_that_are_damaged_are_said_to_be_in_plain_words() {
    let folder = tempfile::tempdir().unwrap();
    for (text, words) in [
        ("{", "it is damaged: no JSON from line 1"),
        ("x", "it is damaged: no JSON from line 1"),
        ("[]", "it is not what this version of kcf-track writes there"),
        (r#"{"schema": 1}"#, "it is not what this version of kcf-track writes there"),
    ] {
        std::fs::write(folder.path().join("evaluation.json"), text).unwrap();
        let parts = [folder.path().as_os_str(), folder.path().as_os_str()];
        let out = folder.path().join("out");
        let mut command = run(["eval", "merge"]);
        command
            .args(parts)
            .arg("--out")
            .arg(out)
            .assert()
            .failure()
            .stderr(contains(words).and(contains("struct").not()));
    }
}

#[test]
fn wrong_usage_touches_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    dataset(&data);
    let out = dir.path().join("out");
    let wrong = |args: &[&str], part: &str| {
        let outcome = eval(&[&["--data", text(&data), "--out", text(&out)], args].concat());
        assert_eq!(outcome.code, 2, "{args:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(part), "{args:?}: {}", outcome.stderr);
        assert!(!out.exists(), "{args:?}");
    };
    wrong(&["--shard", "3/2"], "i from 1 to n");
    wrong(&["--sequences", "Deer,Tyger"], "Tyger");
    wrong(&["--preset", "papre"], "paper-dcf");
    wrong(&["--toolkit", "vot"], "pytracking");
    wrong(&["--protocol", "all"], "sre");
    wrong(&["--jobs", "0"], "--jobs");
    wrong(&["--results", "no-folder"], "NAME=DIR");
    wrong(&["--preset", "paper", "--preset", "paper"], "two trackers are called paper: give each --preset once");
    let same = format!("paper={}", text(&data));
    wrong(&["--preset", "paper", "--results", &same], "two trackers are called paper: give another name by --results");

    let mine = dir.path().join("mine");
    fs::create_dir(&mine).unwrap();
    fs::write(mine.join("thesis.tex"), "years of work").unwrap();
    for resume in [&[][..], &["--resume"]] {
        let outcome = eval(&[&["--data", text(&data), "--out", text(&mine)], resume].concat());
        assert_eq!(outcome.code, 2, "{}", outcome.stderr);
        assert!(outcome.stderr.contains("something else"), "{}", outcome.stderr);
    }
    assert_eq!(fs::read_dir(&mine).unwrap().count(), 1);
    let nothing = dir.path().join("nothing");
    fs::create_dir(&nothing).unwrap();
    let outcome = eval(&["--data", text(&nothing), "--out", text(&out)]);
    assert_eq!(outcome.code, 1);
    assert!(outcome.stderr.contains("no sequence here"), "{}", outcome.stderr);
}

/// The colour frames of the demo: both ways must decode them alike.
#[test]
fn a_preset_scores_as_it_does_when_it_tracks() {
    let dir = tempfile::tempdir().unwrap();
    let (data, out, json) = (dir.path().join("data"), dir.path().join("out"), dir.path().join("run.json"));
    let demo = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo");
    fs::create_dir_all(data.join("demo/img")).unwrap();
    fs::copy(demo.join("groundtruth_rect.txt"), data.join("demo/groundtruth_rect.txt")).unwrap();
    for image in fs::read_dir(demo.join("img")).unwrap() {
        let image = image.unwrap();
        fs::copy(image.path(), data.join("demo/img").join(image.file_name())).unwrap();
    }
    let outcome = eval(&["--data", text(&data), "--preset", "paper", "--out", text(&out), "--quiet"]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let status = std::process::Command::new(env!("CARGO_BIN_EXE_kcf-track"))
        .args(["--seq", text(&data.join("demo")), "--preset", "paper", "--quiet", "--json", text(&json)])
        .status()
        .unwrap();
    assert!(status.success());
    let run: serde_json::Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    let evaluated = &report(&out)["trackers"][0]["overall"];
    for score in ["auc", "precision_20"] {
        let [evaluated, ran] = [&evaluated[score], &run["summary"]["truth"][score]].map(|v| v.as_f64().unwrap());
        // To four decimals, as the run's are written.
        assert!((evaluated - ran).abs() < 0.51e-4, "{score}: {evaluated} {ran}");
    }
}
