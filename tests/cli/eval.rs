//! `kcf-track eval` from outside: what it writes, that it is the same every time, and what it says to bad input.

use std::fs;

use super::eval_data::{dataset, eval, read, report, results, sequence, text};

#[test]
fn jobs_and_resume_give_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    dataset(&data);
    results(&data, &dir.path().join("lag"), 1.5);
    let other = format!("lag={}", text(&dir.path().join("lag")));
    let base = ["--data", text(&data), "--preset", "paper", "--preset", "paper-gray", "--results", &other];
    let run = |name: &str, more: &[&str]| {
        let outcome = eval(&[&base[..], more, &["--out", text(&dir.path().join(name))]].concat());
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        outcome
    };
    let outcome = run("one", &["--jobs", "1"]);
    assert!(outcome.stdout.contains("labels are 1-based"), "{}", outcome.stdout);
    let one = dir.path().join("one");
    let scores = report(&one);
    assert_eq!(scores["trackers"].as_array().unwrap().len(), 3);
    assert_eq!(scores["sequences"][0]["base"], 1);
    assert!(scores["trackers"][0]["overall"]["auc"].as_f64().unwrap() > 0.6, "the tracker follows a textured square");
    for file in ["report.html", "timings.json", "normalized_precision.svg", "overall.tex", "common.csv"] {
        assert!(!read(&one, file).is_empty());
    }
    // The boxes that were run are read as results.
    let again = format!("again={}", text(&one.join("results/paper")));
    eval(&["--data", text(&data), "--results", &again, "--out", text(&dir.path().join("again"))]);
    let auc = |report: &serde_json::Value, name: &str| {
        let trackers = report["trackers"].as_array().unwrap();
        trackers.iter().find(|tracker| tracker["name"] == name).unwrap()["overall"]["auc"].as_f64().unwrap()
    };
    assert_eq!(auc(&report(&dir.path().join("again")), "again"), auc(&scores, "paper"));
    // Speed is that of runs alone.
    let fps = |name: &str| {
        let timings: serde_json::Value = serde_json::from_slice(&read(&dir.path().join(name), "timings.json")).unwrap();
        timings["trackers"].as_object().unwrap().len()
    };
    assert_eq!(fps("one"), 2);
    let same = |name: &str| {
        for file in ["report.json", "scores.csv", "success.svg", "precision.svg"] {
            assert_eq!(read(&dir.path().join(name), file), read(&one, file), "{name}/{file}");
        }
    };
    run("three", &["--jobs", "3"]);
    assert_eq!(fps("three"), 0);
    same("three");
    // After a kill: a run is missing, another one is cut.
    let runs = dir.path().join("three/runs/ope/paper");
    fs::remove_file(runs.join("plain.json")).unwrap();
    let cut = fs::read(runs.join("Deer.json")).unwrap();
    fs::write(runs.join("Deer.json"), &cut[..cut.len() / 3]).unwrap();
    let again = eval(&[&base[..], &["--out", text(&dir.path().join("three"))]].concat());
    assert!(again.code == 2 && again.stderr.contains("--resume"), "{}", again.stderr);
    let resumed = run("three", &["--resume", "--jobs", "2"]);
    for expected in ["57 of 86 frames were done before", "computed again"] {
        assert!(resumed.stderr.contains(expected), "{}", resumed.stderr);
    }
    same("three");
}

#[test]
fn unusable_sequences_and_results_are_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    dataset(&data);
    // An unreadable image in one sequence, a sequence of the same name elsewhere, one without labels, and a known one
    // that is not there.
    fs::write(data.join("Deer/img/0007.png"), "not a picture").unwrap();
    sequence(&data.join("more/plain"), 5, 1.0);
    fs::create_dir_all(data.join("hollow/img")).unwrap();
    let theirs = dir.path().join("theirs");
    fs::create_dir(&theirs).unwrap();
    // Too short; NaN in the middle; empty.
    fs::write(theirs.join("Crossing.txt"), "21,25,28,24\nNaN,NaN,NaN,NaN\n25,26,28,24\n").unwrap();
    fs::write(theirs.join("plain.txt"), "").unwrap();
    let given = format!("theirs={}", text(&theirs));
    let out = dir.path().join("out");
    let given = ["--data", text(&data), "--preset", "paper", "--results", &given];
    let strict = eval(&[&given[..], &["--out", text(&dir.path().join("strict"))]].concat());
    assert!(strict.code == 1 && strict.stderr.contains("--allow-short"), "{}", strict.stderr);
    let outcome = eval(&[&given[..], &["--allow-short", "--out", text(&out)]].concat());
    assert_eq!(outcome.code, 1, "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("paper has scores of"), "{}", outcome.stderr);
    for part in [
        "Deer (paper)",
        "0007.png",
        "left out: plain: two sequences have this name",
        "left out: hollow",
        "left out: plain (theirs)",
        "is empty",
        "3 rows for 14 frames",
        "theirs has scores of 1 of 2 sequences",
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
fn a_failed_evaluation_leaves_no_report_of_other_settings() {
    let dir = tempfile::tempdir().unwrap();
    let (data, out) = (dir.path().join("data"), dir.path().join("out"));
    sequence(&data.join("plain"), 5, 1.0);
    let run = |more: &[&str]| eval(&[&["--data", text(&data), "--out", text(&out)], more].concat());
    let picture = data.join("plain/img/0003.png");
    let good = fs::read(&picture).unwrap();
    fs::write(&picture, "not a picture").unwrap();
    assert_eq!(run(&["--preset", "paper"]).code, 1);
    fs::write(&picture, good).unwrap();
    let again = run(&["--preset", "paper"]);
    assert_eq!(again.code, 0, "a folder without a run is new: {}", again.stderr);
    fs::write(&picture, "not a picture").unwrap();
    assert_eq!(run(&["--preset", "paper-gray", "--resume"]).code, 1);
    assert!(!out.join("report.html").exists() && !out.join("scores.csv").exists(), "the numbers of paper");
    assert!(out.join("runs/ope/paper/plain.json").exists());
}

#[test]
fn wrong_usage_writes_nothing() {
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
    wrong(&["--base", "2"], "--base");
    wrong(&["--sequences", "Deer,Tyger"], "Tyger");
    wrong(&["--preset", "papre"], "paper-dcf");
    wrong(&["--toolkit", "vot"], "got10k");
    wrong(&["--protocol", "all"], "sre");
    wrong(&["--jobs", "0"], "--jobs");
    wrong(&["--results", "no-folder"], "NAME=DIR");
    wrong(&["--preset", "paper", "--preset", "paper"], "two trackers are called paper: give each --preset");
    let same = format!("paper={}", text(&data));
    wrong(&["--preset", "paper", "--results", &same], "two trackers are called paper: give another name by --results");

    let mine = dir.path().join("mine");
    fs::create_dir(&mine).unwrap();
    fs::write(mine.join("notes.txt"), "years of work").unwrap();
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
    assert!(outcome.stderr.contains("no sequence"), "{}", outcome.stderr);
}

/// The colour frames of the demo: both ways must decode them alike.
#[test]
fn eval_and_track_give_the_same_scores() {
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

#[test]
fn settings_of_one_preset_stand_in_one_report() {
    let dir = tempfile::tempdir().unwrap();
    let (data, out, list) = (dir.path().join("data"), dir.path().join("out"), dir.path().join("mine.toml"));
    dataset(&data);
    fs::write(&list, "linear = \"paper, search.filter.kernel=linear\"\n").unwrap();
    let base = ["--data", text(&data), "--sequences", "plain", "--out", text(&out), "-p", "paper"];
    let settings = ["--trackers", text(&list), "--tracker", "wide=paper,search.filter.padding=2"];
    let done = eval(&[&base[..], &settings].concat());
    assert_eq!(done.code, 0, "{}", done.stderr);
    let mut names: Vec<_> = report(&out)["trackers"].as_array().unwrap().iter().map(|t| t["name"].clone()).collect();
    names.sort_by_key(ToString::to_string);
    assert_eq!(names, ["linear", "paper", "wide"]);
    let page = String::from_utf8(read(&out, "report.html")).unwrap();
    assert_eq!(page.matches("at least half of the time in each of its").count(), 3, "failures of every tracker");
    assert!(!read(&out, "attributes.csv").is_empty());
    for (settings, said) in [
        ("a=nothing", "tracker a"),
        ("a=fast,x=1", "tracker a"),
        ("a", "NAME=PRESET"),
        ("paper=fast", "each name once"),
    ] {
        let refused = eval(&[&base[..], &["--tracker", settings]].concat());
        assert!(refused.code == 2 && refused.stderr.contains(said), "{settings}: {}", refused.stderr);
    }
}

#[test]
fn a_tracker_without_any_score_has_no_rank() {
    let dir = tempfile::tempdir().unwrap();
    let (data, out) = (dir.path().join("data"), dir.path().join("out"));
    dataset(&data);
    let folders = ["lag", "none"].map(|name| dir.path().join(name));
    results(&data, &folders[0], 2.5);
    fs::create_dir(&folders[1]).unwrap();
    fs::write(folders[1].join("elsewhere.txt"), "1,1,2,2\n").unwrap();
    let given = folders.clone().map(|folder| format!("{}={}", folder.file_name().unwrap().display(), folder.display()));
    let outcome = eval(&["--data", text(&data), "--results", &given[0], "--results", &given[1], "--out", text(&out)]);
    assert_eq!(outcome.code, 1);
    assert_eq!(outcome.stderr.matches("(none): ").count(), 3, "{}", outcome.stderr);
    assert!(!outcome.stdout.contains("none"), "{}", outcome.stdout);
    let names: Vec<_> = report(&out)["trackers"].as_array().unwrap().iter().map(|t| t["name"].clone()).collect();
    assert_eq!(names, ["lag"]);
    // Nothing but such trackers: no report.
    let nothing = dir.path().join("nothing");
    let outcome = eval(&["--data", text(&data), "--results", &given[1], "--out", text(&nothing)]);
    assert!(outcome.code == 1 && outcome.stderr.contains("no sequence could be scored"), "{}", outcome.stderr);
    assert!(!nothing.join("report.html").exists());
}
