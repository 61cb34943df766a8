//! Runs that end before their last frame, and what they leave.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::helper::{Place, interruptible, place, spawnable};

/// How a run ends is the same for all trackers: the quickest one.
const BOX: [&str; 4] = ["--preset", "paper", "--init", "40,30,24,32"];

/// Starts a long run with all line outputs and a document, over old files.
fn long_run(place: &Place) -> Child {
    let frames = place.still(3_000);
    for name in ["run.json", "run.jsonl", "run.txt", "run.csv"] {
        fs::write(place.path(name), "old\n").unwrap();
    }
    let mut command = interruptible();
    command.args(BOX).arg("--quiet").arg("--seq").arg(frames).stderr(Stdio::piped());
    for (flag, name) in [("--json", "run.json"), ("--jsonl", "run.jsonl"), ("--otb", "run.txt"), ("--csv", "run.csv")] {
        command.arg(flag).arg(place.path(name));
    }
    let mut child = command.spawn().unwrap();
    wait_for(&mut child, &place.path("run.csv"), 4_000);
    child
}

fn wait_for(child: &mut Child, file: &Path, bytes: u64) {
    let begun = Instant::now();
    while fs::metadata(file).unwrap().len() <= bytes {
        assert!(begun.elapsed() < Duration::from_secs(60), "nothing is written");
        assert!(child.try_wait().unwrap().is_none(), "the run ended by itself");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Checks that all files of lines hold whole ones, and gives how many.
fn whole_lines(place: &Place) -> usize {
    let read = |name: &str| {
        let mut text = place.read(name);
        // The operating system copies a write page by page and looks for a kill in between.
        if text.len().is_multiple_of(4096) {
            text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
        }
        assert!(text.ends_with('\n'), "{name}");
        text
    };
    let lines = read("run.jsonl");
    for (line, index) in lines.lines().zip(1..) {
        assert_eq!(serde_json::from_str::<Value>(line).unwrap()["index"], index);
    }
    assert!(read("run.txt").lines().all(|line| line.split(',').count() == 4));
    assert!(read("run.csv").lines().all(|line| line.split(',').count() == 17));
    lines.lines().count()
}

#[test]
fn a_kill_leaves_whole_lines_and_the_old_document() {
    let place = place(1);
    let mut child = long_run(&place);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(whole_lines(&place) > 10);
    assert_eq!(place.read("run.json"), "old\n");
    let left: Vec<_> = fs::read_dir(place.path("")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 6, "{left:?}");
}

#[test]
fn an_interrupt_finishes_what_was_begun_and_its_signal_is_the_exit_code() {
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let place = place(1);
        let mut child = long_run(&place);
        let sent = Command::new("sh").args(["-c", &format!("kill -{signal} {}", child.id())]).status().unwrap();
        assert!(sent.success());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(code), "{said}");
        assert!(said.contains("interrupted"), "{said}");
        let lines = whole_lines(&place);
        let document = place.json("run.json");
        assert_eq!(document["frames"].as_array().unwrap().len(), lines);
        assert_eq!(
            (&document["summary"]["completed"], &document["summary"]["error"]),
            (&Value::Bool(false), &"interrupted".into())
        );
        assert_eq!(document["summary"]["frames"], lines);
        assert!(lines < 3_000);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn an_output_that_fails_at_the_end_is_said_whatever_else_ended_the_run() {
    let place = place(3);
    let still = place.still(3_000);
    let csv = place.path("run.csv");
    fs::write(&csv, "").unwrap();
    let mut command = interruptible();
    command.args(BOX).args(["-q", "--json", "/dev/full", "--csv"]).arg(&csv).arg(&still).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    wait_for(&mut child, &csv, 2_000);
    let sent = Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status().unwrap();
    assert!(sent.success());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said}");
    assert!(said.contains("error: /dev/full: ") && said.contains("space") && said.contains("interrupted"), "{said}");
    assert!(!said.contains("is kept"), "{said}");
    // A frame that cannot be read.
    fs::write(place.frame(2), "no picture").unwrap();
    let both = contains("0002.png").and(contains("error: /dev/full: "));
    place.run("-q --json /dev/full").assert().code(1).stderr(both);
}

/// `nohup` is for runs that shall go on.
#[test]
#[cfg(unix)]
fn a_signal_that_is_ignored_stays_so() {
    let place = place(1);
    let frames = place.still(1_200);
    let script = r#"trap '' HUP; exec "$@""#;
    let mut child = Command::new("sh")
        .args(["-c", script, "sh", env!("CARGO_BIN_EXE_kcf-track"), "-q", "--csv"])
        .arg(place.path("run.csv"))
        .args(BOX)
        .arg(frames)
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while fs::metadata(place.path("run.csv")).map_or(0, |file| file.len()) < 2_000 {
        assert!(begun.elapsed() < Duration::from_secs(60), "nothing is written");
        std::thread::sleep(Duration::from_millis(1));
    }
    let sent = Command::new("sh").args(["-c", &format!("kill -HUP {}", child.id())]).status().unwrap();
    assert!(sent.success() && child.wait().unwrap().success());
    assert_eq!(place.read("run.csv").lines().count(), 1_201);
}

#[test]
fn a_reader_that_goes_ends_the_run_quietly() {
    let place = place(1);
    let frames = place.still(1_000);
    for flag in ["--jsonl", "--csv", "--otb"] {
        let mut child = spawnable()
            .args(BOX)
            .args([flag, "-"])
            .arg("--seq")
            .arg(&frames)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut reader = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        assert!(line.ends_with('\n'));
        drop(reader);
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{said}");
        assert!(!said.contains("error") && !said.contains("panic"), "{said}");
    }
}

#[test]
fn a_reader_that_goes_stops_no_other_output() {
    let place = place(1);
    let mut child = spawnable()
        .args(BOX)
        .args(["-q", "--jsonl", "-", "--seq"])
        .arg(place.still(1_000))
        .arg("--json")
        .arg(place.path("run.json"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let document = place.json("run.json");
    assert_eq!(document["frames"].as_array().unwrap().len(), 1_000);
    assert_eq!(document["summary"]["completed"], true);
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error_and_the_other_outputs_are_finished() {
    let place = place(3);
    for flag in ["--json", "--jsonl", "--otb", "--csv"] {
        let other = if flag == "--json" { "--csv" } else { "--json" };
        place
            .run("")
            .args([flag, "/dev/full", other])
            .arg(place.path(flag))
            .assert()
            .code(1)
            .stderr(contains("/dev/full: ").and(contains("space").count(1)));
        let text = place.read(flag);
        match other {
            "--csv" => assert_eq!(text.lines().count(), 4),
            _ => {
                let document: Value = serde_json::from_str(&text).unwrap();
                assert_eq!(document["summary"]["completed"], false);
                assert!(document["summary"]["error"].as_str().unwrap().starts_with("/dev/full"));
            }
        }
    }
    let full = || fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    for arguments in [&["completions", "bash"][..], &["--csv", "-"], &[]] {
        let mut command = spawnable();
        if arguments.first() != Some(&"completions") {
            command.arg("--seq").arg(place.seq());
        }
        let ended = command.args(arguments).stdout(full()).stderr(Stdio::piped()).output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(said.contains("error: ") && said.contains("space"), "{said}");
    }
}

#[test]
fn a_place_that_cannot_be_written_to_is_told_before_tracking() {
    let place = place(2);
    fs::write(place.path("file"), "old").unwrap();
    for flag in ["--json", "--jsonl", "--otb", "--csv", "--response", "--overlay"] {
        let below = place.path("file/a");
        place.run("").arg(flag).arg(&below).assert().code(1).stdout("").stderr(contains("file/a"));
        #[cfg(target_os = "linux")]
        place.run("").args([flag, "/proc/kcf"]).assert().code(1).stdout("").stderr(contains("/proc/kcf"));
    }
    for flag in ["--json", "--jsonl", "--otb", "--csv"] {
        place.run("").arg(flag).arg(place.path("no/a")).assert().code(1).stderr(contains("create it first"));
    }
    assert_eq!(place.read("file"), "old");
}

/// Peak resident memory of a run, in kilobytes.
#[cfg(target_os = "linux")]
fn peak_memory(frames: &Path) -> u64 {
    let mut child = spawnable().args(BOX).args(["-q", "--jsonl", "/dev/null", "--seq"]).arg(frames).spawn().unwrap();
    let mut most = 0;
    while child.try_wait().unwrap().is_none() {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        most = most.max(kilobytes.unwrap_or(0));
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(child.wait().unwrap().success());
    most
}

#[test]
#[cfg(target_os = "linux")]
fn memory_does_not_grow_with_the_sequence() {
    let place = place(1);
    let (short, long) = (peak_memory(&place.still(200)), peak_memory(&place.still(4_000)));
    // 3,800 frames of 57,600 bytes would be 200 MB; the names of the files are one.
    assert!(short > 0 && long < short + 6_000, "{short} kB, {long} kB");
}
