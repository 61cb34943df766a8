//! `kcf-track eval merge`: shards that were resumed, failed, moved or given other folders.

use std::fs;
use std::path::{Path, PathBuf};

use super::eval_data::{Outcome, dataset, eval, read, report, results, sequence, text};

fn merge(parts: &[PathBuf], out: &Path, more: &[&str]) -> Outcome {
    let parts: Vec<&str> = parts.iter().map(|part| text(part)).collect();
    eval(&[&["merge", "--quiet", "--out", text(out)], &parts[..], more].concat())
}

/// Runs both shards in the folders `one` and `two` below `dir`.
fn shards(dir: &Path, data: &Path, more: &[&str]) -> [PathBuf; 2] {
    [("one", "1/2"), ("two", "2/2")].map(|(name, shard)| {
        let out = dir.join(name);
        let base = ["--data", text(data), "-p", "paper", "--shard", shard, "--out", text(&out), "-qq"];
        let outcome = eval(&[&base[..], more].concat());
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        out
    })
}

/// A sequence grows between two runs of the shards, so that another shard has the other one now.
#[test]
fn shards_that_were_resumed_are_merged_in_any_order() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let lengths = |lengths: [usize; 3]| {
        for (name, n) in ["a", "b", "c"].into_iter().zip(lengths) {
            let _ = fs::remove_dir_all(data.join(name));
            sequence(&data.join(name), n, 1.0);
        }
    };
    lengths([20, 12, 6]);
    shards(dir.path(), &data, &[]);
    lengths([6, 13, 21]);
    let parts = shards(dir.path(), &data, &["--resume"]);
    let [one, two] = parts.clone();
    let expected = dir.path().join("alone");
    eval(&["--data", text(&data), "-p", "paper", "--out", text(&expected), "-qq"]);
    for (name, parts) in [("12", [one.clone(), two.clone()]), ("21", [two, one])] {
        let out = dir.path().join(name);
        let outcome = merge(&parts, &out, &[]);
        assert_eq!(outcome.code, 0, "{name}: {}", outcome.stderr);
        assert_eq!(read(&out, "report.json"), read(&expected, "report.json"), "{name}");
    }
}

#[test]
fn a_merge_that_failed_goes_on_in_its_folder_and_no_other_evaluation_does() {
    let dir = tempfile::tempdir().unwrap();
    let (data, out) = (dir.path().join("data"), dir.path().join("out"));
    dataset(&data);
    let parts = shards(dir.path(), &data, &[]);
    let runs = parts[0].join("runs");
    let aside = dir.path().join("aside");
    fs::rename(&runs, &aside).unwrap();
    let outcome = merge(&parts, &out, &[]);
    assert!(outcome.code == 1 && outcome.stderr.contains("its runs are missing"), "{}", outcome.stderr);
    fs::rename(&aside, &runs).unwrap();
    let outcome = merge(&parts, &out, &[]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let outcome = merge(&parts, &out, &[]);
    assert!(outcome.code == 2 && outcome.stderr.contains("its report is there already"), "{}", outcome.stderr);
    // A folder of something else stays as it is.
    for other in [&parts[0], &parts[1]] {
        let before = read(other, "evaluation.json");
        let outcome = merge(&parts, other, &[]);
        assert!(outcome.code == 2 && outcome.stderr.contains("another evaluation"), "{}", outcome.stderr);
        assert!(!outcome.stderr.contains("resume"), "{}", outcome.stderr);
        assert_eq!(read(other, "evaluation.json"), before);
    }
}

#[test]
fn a_merge_whose_folders_were_wrong_goes_on_with_the_right_ones() {
    let dir = tempfile::tempdir().unwrap();
    let (data, out) = (dir.path().join("data"), dir.path().join("out"));
    dataset(&data);
    let parts = shards(dir.path(), &data, &[]);
    let (wrong, moved) = (dir.path().join("wrong"), dir.path().join("moved"));
    dataset(&wrong);
    sequence(&wrong.join("Deer"), 7, 2.0);
    fs::rename(&data, &moved).unwrap();
    let outcome = merge(&parts, &out, &["--data", text(&wrong)]);
    assert!(outcome.code == 1 && !out.join("report.json").exists(), "{}", outcome.stderr);
    let outcome = merge(&parts, &out, &["--data", text(&moved)]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    // A report that is there is of the folders that it was made from.
    let outcome = merge(&parts, &out, &["--data", text(&wrong)]);
    assert!(outcome.code == 2 && outcome.stderr.contains("its report is there already"), "{}", outcome.stderr);
}

#[test]
fn a_merge_may_be_given_other_folders_of_results() {
    let dir = tempfile::tempdir().unwrap();
    let (data, out) = (dir.path().join("data"), dir.path().join("out"));
    dataset(&data);
    let (lag, moved) = (dir.path().join("lag"), dir.path().join("moved"));
    results(&data, &lag, 1.5);
    let parts = shards(dir.path(), &data, &["--results", &format!("lag={}", text(&lag))]);
    fs::rename(&lag, &moved).unwrap();
    let outcome = merge(&parts, &out, &[]);
    assert!(outcome.code == 2 && outcome.stderr.contains("there is no such folder"), "{}", outcome.stderr);
    let outcome = merge(&parts, &out, &["--results", &format!("lga={}", text(&moved))]);
    assert!(outcome.code == 2 && outcome.stderr.contains("the shards have lag"), "{}", outcome.stderr);
    let outcome = merge(&parts, &out, &["--results", &format!("lag={}", text(&moved))]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(report(&out)["trackers"].as_array().unwrap().iter().any(|t| t["name"] == "lag"));
}
