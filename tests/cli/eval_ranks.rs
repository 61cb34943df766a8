//! `kcf-track eval`: whom the report ranks, and what it says of those that it does not.

use std::fs;

use super::eval_data::{dataset, eval, read, report, results, text};

#[test]
fn a_tracker_that_was_scored_on_nothing_is_named_and_not_ranked() {
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
    for file in ["table.md", "scores.csv", "success.svg"] {
        assert!(!String::from_utf8(read(&out, file)).unwrap().contains("none ["), "{file}");
    }
    assert!(!String::from_utf8(read(&out, "table.md")).unwrap().contains("| none |"));
    // Nothing but such trackers: no report.
    let nothing = dir.path().join("nothing");
    let outcome = eval(&["--data", text(&data), "--results", &given[1], "--out", text(&nothing)]);
    assert!(outcome.code == 1 && outcome.stderr.contains("no sequence could be scored"), "{}", outcome.stderr);
    assert!(!nothing.join("report.html").exists());
}

#[test]
fn a_tracker_that_lacks_a_sequence_is_not_the_best() {
    let dir = tempfile::tempdir().unwrap();
    let (data, out) = (dir.path().join("data"), dir.path().join("out"));
    dataset(&data);
    let folders = ["whole", "part"].map(|name| dir.path().join(name));
    results(&data, &folders[0], 2.5);
    results(&data, &folders[1], 0.0);
    fs::remove_file(folders[1].join("Deer.txt")).unwrap();
    let given = folders.clone().map(|folder| format!("{}={}", folder.file_name().unwrap().display(), folder.display()));
    eval(&["--data", text(&data), "--results", &given[0], "--results", &given[1], "--out", text(&out), "-q"]);
    let table = String::from_utf8(read(&out, "table.md")).unwrap();
    let line = |name: &str| table.lines().find(|line| line.starts_with(&format!("| {name} |"))).unwrap();
    assert!(line("part").contains("0.952") && !line("part").contains(['*', '_']), "{table}");
    assert!(table.contains("Ranked are the trackers with 3 sequences."), "{table}");
}
