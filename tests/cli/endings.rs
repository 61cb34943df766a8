//! Runs that end early: signals, readers that go away, full disks.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::helper::{Place, ended, interruptible, place, signal, spawnable};

const BOX: [&str; 4] = ["--preset", "paper", "--init", "40,30,24,32"];
const LIMIT: Duration = Duration::from_secs(60);

/// A long run that replaces run.json and run.csv, after some lines of its standard output.
fn long_run(place: &Place) -> (Child, BufReader<ChildStdout>, usize) {
    for name in ["run.json", "run.csv"] {
        fs::write(place.path(name), "old\n").unwrap();
    }
    let mut command = interruptible();
    command
        .arg(place.still(3_000))
        .args(BOX)
        .args(["--quiet", "--force", "--jsonl", "-", "--json"])
        .arg(place.path("run.json"));
    command.arg("--csv").arg(place.path("run.csv"));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    for index in 1..=20 {
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap()["index"], index);
    }
    (child, lines, 20)
}

#[test]
fn a_kill_keeps_the_old_document_and_the_rows_so_far() {
    let place = place(1);
    let (mut child, ..) = long_run(&place);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(place.read("run.json"), "old\n");
    assert!(place.read("run.csv").starts_with("index,file,"));
}

#[test]
fn an_interrupt_completes_the_outputs_and_sets_the_exit_code() {
    for (name, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let place = place(1);
        let (child, lines, before) = long_run(&place);
        signal(&child, name);
        let rest: Vec<Value> = lines.lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
        let (ended, said) = ended(child, LIMIT);
        assert!(ended == Some(code) && said.contains("interrupted"), "{ended:?}: {said}");
        let document = place.json("run.json");
        let frames = document["frames"].as_array().unwrap().len();
        assert!(frames == before + rest.len() && frames < 3_000, "{frames}");
        assert_eq!(place.read("run.csv").lines().count(), frames + 1);
        let summary = &document["summary"];
        assert_eq!((&summary["completed"], &summary["error"]), (&false.into(), &"interrupted".into()));
    }
}

#[test]
fn an_interrupt_ends_an_evaluation() {
    let place = place(1);
    let still = place.still(3_000);
    fs::write(still.join("groundtruth.txt"), "40,30,24,32\n".repeat(3_000)).unwrap();
    let mut command = interruptible();
    command.args(["eval", "--preset", "paper", "--data"]).arg(still).arg("--out").arg(place.path("out"));
    let child = command.stderr(Stdio::piped()).spawn().unwrap();
    while !place.path("out/evaluation.json").exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    signal(&child, "INT");
    let (ended, said) = ended(child, LIMIT);
    assert!(ended == Some(130) && said.contains("interrupted"), "{ended:?}: {said}");
}

/// `nohup` keeps a run going.
#[test]
fn an_ignored_signal_stays_ignored() {
    let place = place(1);
    let mut command = Command::new("sh");
    command.args(["-c", r#"trap '' HUP; exec "$@""#, "sh", env!("CARGO_BIN_EXE_kcf-track")]);
    command.arg(place.still(600)).args(BOX).args(["-q", "--jsonl", "-"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.next().unwrap().unwrap();
    signal(&child, "HUP");
    assert_eq!(lines.count(), 599);
    assert!(child.wait().unwrap().success());
}

/// How long a program that waits for others may take to end.
const SOON: Duration = Duration::from_secs(2);

fn fifo(place: &Place, name: &str) {
    assert!(Command::new("mkfifo").arg(place.path(name)).status().unwrap().success());
}

/// Starts a run, and signals it once it waits.
fn ends_soon(place: &Place, line: &str) {
    for (name, code) in [("TERM", 143), ("HUP", 129)] {
        let mut command = interruptible();
        command.args(place.words(line)).stdout(Stdio::null()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        std::thread::sleep(Duration::from_millis(1500));
        signal(&child, name);
        let (ended, said) = ended(child, SOON);
        assert_eq!(ended, Some(code), "{line}: {said}");
    }
}

#[test]
fn a_signal_ends_every_wait_for_a_pipe() {
    let place = place(3);
    fifo(&place, "pipe");
    let run = "@seq --preset paper -q";
    for wait in ["--init-file @pipe", "--truth @pipe", "--jsonl @pipe", "--csv @pipe"] {
        ends_soon(&place, &format!("{run} {wait}"));
    }
    ends_soon(&place, "view @seq --port 0 --init-file @pipe");
    ends_soon(&place, "view @seq --port 0 --session @pipe");
    ends_soon(&place, "explain @seq --out @page.html --frame 2 --init-file @pipe");
}

#[test]
fn a_pipe_among_the_frames_is_no_picture() {
    let place = place(3);
    fs::remove_file(place.frame(2)).unwrap();
    fifo(&place, "seq/img/0002.png");
    place.run("-q").timeout(LIMIT).assert().code(1).stderr(contains("0002.png").and(contains("a pipe")));
}

#[test]
fn a_signal_ends_a_run_whose_encoder_stands_still() {
    let place = place(1);
    if Command::new("ffmpeg").arg("-version").stdout(Stdio::null()).status().is_err() {
        return;
    }
    let mut command = interruptible();
    command.arg(place.still(3_000)).args(BOX).arg("--overlay").arg(place.path("out.mp4"));
    command.arg("--jsonl").arg(place.path("rows")).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let encoder = loop {
        let children = Command::new("pgrep").args(["-P", &child.id().to_string()]).output().unwrap().stdout;
        if place.path("rows").exists() && !children.is_empty() {
            break String::from_utf8(children).unwrap().trim().to_owned();
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(Command::new("kill").args(["-STOP", &encoder]).status().unwrap().success());
    std::thread::sleep(Duration::from_millis(1500));
    signal(&child, "TERM");
    assert_eq!(ended(child, SOON).0, Some(143));
    assert!(place.read("rows").lines().count() > 0);
}

#[test]
fn the_next_run_removes_what_a_killed_one_left() {
    let place = place(1);
    let (mut child, ..) = long_run(&place);
    let leftovers = || {
        let names =
            fs::read_dir(place.path("")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with(".kcf-")).count()
    };
    assert_eq!(leftovers(), 1);
    // Those of a run that goes on stay.
    place.run("-q --json @other.json").assert().success();
    assert_eq!(leftovers(), 1);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(leftovers(), 1);
    place.run("-q --json @other.json").assert().success();
    assert_eq!(leftovers(), 0);
}

#[test]
fn names_move_no_cursor() {
    let place = place(2);
    let odd = place.path("a\u{1b}[2Jb\nc");
    fs::rename(place.seq(), &odd).unwrap();
    let said = crate::helper::run([&odd]).assert().success();
    let outputs = [&said.get_output().stdout, &said.get_output().stderr];
    assert!(outputs.iter().all(|text| !text.contains(&0x1b)));
    crate::helper::run([odd.join("none")]).assert().code(2).stderr(contains("\\u{1b}[2Jb\\nc"));
}

#[test]
fn an_interrupt_ends_a_write_that_nobody_reads() {
    let place = place(1);
    let mut command = interruptible();
    command.arg(place.still(2_000)).args(BOX).args(["-q", "--jsonl", "-"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Longer than it takes to fill the pipe.
    std::thread::sleep(Duration::from_secs(4));
    assert!(child.try_wait().unwrap().is_none());
    let _open = child.stdout.take();
    signal(&child, "INT");
    assert_eq!(ended(child, SOON).0, Some(130));
}

#[test]
fn a_reader_that_goes_away_ends_the_run_quietly() {
    let place = place(1);
    let frames = place.still(1_000);
    for flag in ["--jsonl", "--csv", "--otb"] {
        let mut command = spawnable();
        command.arg(&frames).args(BOX).args([flag, "-"]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.ends_with('\n'));
        let (code, said) = ended(child, LIMIT);
        assert!(code == Some(0) && !said.contains("error") && !said.contains("panic"), "{flag}: {said}");
    }
    // One that is away before the first word.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let child = spawnable().arg("--print-config").stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
    assert_eq!(ended(child, LIMIT), (Some(0), String::new()));
}

#[test]
fn a_reader_that_goes_away_stops_no_other_output() {
    let place = place(1);
    let mut command = spawnable();
    command.arg(place.still(500)).args(BOX).args(["-q", "--jsonl", "-", "--json"]).arg(place.path("run.json"));
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let document = place.json("run.json");
    assert_eq!(document["frames"].as_array().unwrap().len(), 500);
    assert_eq!(document["summary"]["completed"], true);
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error_and_the_other_outputs_are_complete() {
    let place = place(3);
    for flag in ["--json", "--jsonl", "--otb", "--csv"] {
        let other = if flag == "--json" { "--csv" } else { "--json" };
        let mut command = place.run("");
        command.args([flag, "/dev/full", other]).arg(place.path(flag));
        command.assert().code(1).stderr(contains("/dev/full: ").and(contains("space").count(1)));
        match other {
            // The document fails with its head.
            "--csv" => assert_eq!(place.read(flag).lines().count(), 2),
            _ => assert_eq!(place.json(flag)["summary"]["completed"], false),
        }
    }
    let page = place.path("page.html");
    let explain = ["explain", "assets/demo", "--frame", "3", "--out", page.to_str().unwrap()];
    let mut on_stdout = explain;
    on_stdout[5] = "-";
    for arguments in [&["completions", "bash"][..], &["assets/demo", "--end", "3"], &explain, &on_stdout] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = spawnable();
        command.current_dir(env!("CARGO_MANIFEST_DIR")).args(arguments).stdout(full).stderr(Stdio::piped());
        let (code, said) = ended(command.spawn().unwrap(), LIMIT);
        assert!(code == Some(1) && said.contains("error: ") && said.contains("space"), "{arguments:?}: {said}");
    }
}

#[test]
fn an_output_that_cannot_be_written_fails_before_tracking() {
    let place = place(2);
    fs::write(place.path("file"), "old").unwrap();
    for flag in ["--json", "--jsonl", "--otb", "--csv", "--response", "--overlay"] {
        place.run("").arg(flag).arg(place.path("file/a")).assert().code(1).stdout("").stderr(contains("file/a"));
    }
    place.run("--json @no/a.json").assert().code(1).stdout("").stderr(contains("no/a.json"));
    assert_eq!(place.read("file"), "old");
}

/// Peak resident memory of a run, in kilobytes.
#[cfg(target_os = "linux")]
fn peak_memory(frames: &Path) -> u64 {
    let mut command = spawnable();
    let mut child = command.arg(frames).args(BOX).args(["-q", "--jsonl", "-"]).stdout(Stdio::piped()).spawn().unwrap();
    let (mut output, mut most) = (child.stdout.take().unwrap(), 0);
    let mut buffer = [0; 4096];
    while output.read(&mut buffer).unwrap() > 0 {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        most = most.max(line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0));
    }
    assert!(child.wait().unwrap().success());
    most
}

#[test]
#[cfg(target_os = "linux")]
fn memory_does_not_grow_with_the_sequence() {
    let place = place(1);
    let (short, long) = (peak_memory(&place.still(200)), peak_memory(&place.still(1_500)));
    // 1,300 frames of 57,600 bytes are 75 MB.
    assert!(short > 0 && long < short + 6_000, "{short} kB, {long} kB");
}
