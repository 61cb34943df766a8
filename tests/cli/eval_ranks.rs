//! `kcf-track eval`: ranks.

use std::fs;

use super::eval_data::{dataset, eval, report, results, text};

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
