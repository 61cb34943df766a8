//! Outputs that lead to other programs, and to what is read.

use std::fs;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use predicates::str::contains;

use crate::helper::{Place, interruptible, place, run, spawnable};
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
