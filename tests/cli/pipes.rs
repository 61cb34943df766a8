//! Outputs that lead to other programs, and to what is read.

use std::fs;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use predicates::str::contains;

use crate::helper::{Place, ended, interruptible, place, run, spawnable};
use crate::stream::frames;

/// A file of Y4M in the place.
fn y4m(place: &Place) -> std::path::PathBuf {
    let (header, frames) = frames(place, 3);
    let path = place.path("clip.y4m");
    fs::write(&path, [header, frames.concat()].concat()).unwrap();
    path
}

#[test]
fn a_y4m_file_that_is_read_is_never_written_over() {
    let place = place(3);
    let clip = y4m(&place);
    let bytes = fs::read(&clip).unwrap();
    let flags = ["-q", "--preset", "paper", "--init", "40,30,24,32", "--csv"];
    let words = contains("clip.y4m: this is the video that is read; name another place");
    run([&clip]).args(flags).arg(&clip).assert().code(2).stderr(words.clone());
    std::os::unix::fs::symlink(&clip, place.path("link")).unwrap();
    run([place.path("link")]).args(flags).arg(&clip).assert().code(2).stderr(words);
    let mut piped = spawnable();
    let piped = piped.arg("-").args(flags).arg(&clip).stdin(fs::File::open(&clip).unwrap()).output().unwrap();
    let said = String::from_utf8(piped.stderr).unwrap();
    assert!(piped.status.code() == Some(2) && said.contains("this is the video that is read"), "{said}");
    assert!(fs::read(&clip).unwrap() == bytes, "the video was written over");
    // Any other place is one.
    run([&clip]).args(flags).arg(place.path("run.csv")).assert().success();
}

/// Interrupts a run; its exit code and what it said, and that it did not take long.
fn interrupted(child: Child) -> (Option<i32>, String) {
    let sent = Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status().unwrap();
    assert!(sent.success());
    ended(child, Duration::from_secs(10))
}

#[test]
fn an_interrupt_ends_the_wait_for_the_reader_of_a_named_pipe() {
    let place = place(2);
    let pipe = place.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for flag in ["--jsonl", "--json"] {
        let mut command = interruptible();
        command.arg(place.seq()).args(["--preset", "paper", flag]).arg(&pipe).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        std::thread::sleep(Duration::from_millis(1500));
        let (code, said) = interrupted(child);
        assert_eq!(code, Some(130), "{said}");
    }
    // Whoever comes late to read it gets all of it.
    let mut command = interruptible();
    command.arg(place.seq()).args(["-q", "--preset", "paper", "--jsonl"]).arg(&pipe);
    let mut child = command.spawn().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(fs::read_to_string(&pipe).unwrap().lines().count(), 2);
    assert!(child.wait().unwrap().success());
}

#[test]
fn an_interrupt_ends_a_write_that_nobody_reads() {
    let place = place(1);
    let still = place.still(2_000);
    for flag in ["--jsonl", "--csv"] {
        let mut command = interruptible();
        command.arg(&still).args(["-q", "--preset", "paper", "--init", "40,30,24,32", flag, "-", "--json"]);
        command.arg(place.path("run.json")).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut out = child.stdout.take().unwrap();
        // The pipe is full before that.
        std::thread::sleep(Duration::from_millis(4000));
        assert!(child.try_wait().unwrap().is_none());
        let (code, said) = interrupted(child);
        assert_eq!(code, Some(130), "{said}");
        let mut text = String::new();
        out.read_to_string(&mut text).unwrap();
        let document = place.json("run.json");
        let frames = document["frames"].as_array().unwrap().len();
        assert!(frames > 100 && frames < 2_000, "{frames}");
        assert_eq!(document["summary"]["error"], "interrupted");
    }
}

#[test]
fn an_interrupt_ends_the_wait_for_the_reader_of_a_document() {
    let place = place(1);
    let mut command = interruptible();
    command.arg(place.still(600)).args(["-q", "--preset", "paper", "--init", "40,30,24,32", "--json", "-", "--csv"]);
    let csv = place.path("run.csv");
    let mut child = command.arg(&csv).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while fs::read_to_string(&csv).unwrap_or_default().lines().count() < 601 {
        assert!(begun.elapsed() < Duration::from_secs(60) && child.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(500));
    let (code, said) = interrupted(child);
    assert_eq!(code, Some(130), "{said}");
    assert!(said.contains("error: -: nobody reads it") && !said.contains("is kept"), "{said}");
}
