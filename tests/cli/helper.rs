//! A small sequence on disk, and the program that runs on it.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use assert_cmd::Command;
use image::RgbImage;
use kcf_track::synth::{Format, Scene, SceneParams, write_sequence};
use serde_json::Value;
use tempfile::TempDir;

use crate::pictures;

/// The program with these arguments.
pub fn run<I: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = I>) -> Command {
    let mut command = Command::cargo_bin("kcf-track").unwrap();
    command.args(arguments);
    command
}

/// The program as a child process.
pub fn spawnable() -> std::process::Command {
    std::process::Command::new(env!("CARGO_BIN_EXE_kcf-track"))
}

/// The program with default signal handlers: a shell ignores SIGINT for background jobs, such as the tests.
pub fn interruptible() -> std::process::Command {
    if cfg!(target_os = "linux") {
        let mut command = std::process::Command::new("env");
        command.arg("--default-signal=INT,TERM,HUP").arg(env!("CARGO_BIN_EXE_kcf-track"));
        return command;
    }
    spawnable()
}

/// Sends a signal (INT, TERM, HUP) to a child.
pub fn signal(child: &Child, name: &str) {
    let sent = std::process::Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
}

/// Exit code and standard error of a child that ends within `most`.
pub fn ended(mut child: Child, most: Duration) -> (Option<i32>, String) {
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > most {
            child.kill().unwrap();
            panic!("the program still runs");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    (child.wait().unwrap().code(), said)
}

/// A temporary folder with a rendered sequence in `seq`.
pub struct Place {
    folder: TempDir,
    pub scene: Scene,
}

/// A sequence of `frames` PNG frames of 160x120 pixels with its truth.
pub fn place(frames: usize) -> Place {
    let folder = tempfile::tempdir().unwrap();
    let params =
        SceneParams { frames, width: 160, height: 120, target_width: 24, target_height: 32, ..SceneParams::default() };
    let scene = Scene::new(params).unwrap();
    write_sequence(&scene, &folder.path().join("seq"), Format::Png, None, || Ok(())).unwrap();
    Place { folder, scene }
}

impl Place {
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn seq(&self) -> PathBuf {
        self.path("seq")
    }

    /// The file of the frame at `position`, counted from 1.
    pub fn frame(&self, position: usize) -> PathBuf {
        self.seq().join(format!("img/{position:04}.png"))
    }

    /// Tracks the sequence with the flags in [`words`](Self::words).
    pub fn run(&self, line: &str) -> Command {
        let mut command = run([Path::new("--seq"), &self.seq()]);
        command.args(self.words(line));
        command
    }

    /// The words of a line; `@name` becomes a path in the folder.
    pub fn words(&self, line: &str) -> impl Iterator<Item = PathBuf> {
        line.split_whitespace().map(|word| word.strip_prefix('@').map_or_else(|| word.into(), |name| self.path(name)))
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// The names of the files in a folder that are not hidden, sorted.
    pub fn visible(&self, name: &str) -> Vec<String> {
        let names = fs::read_dir(self.path(name)).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| !name.starts_with('.')).collect();
        names.sort();
        names
    }

    pub fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    /// A folder that shows the first frame `frames` times.
    pub fn still(&self, frames: usize) -> PathBuf {
        let folder = self.path(&format!("still{frames}"));
        fs::create_dir(&folder).unwrap();
        for position in 0..frames {
            std::os::unix::fs::symlink(self.frame(1), folder.join(format!("{position:06}.png"))).unwrap();
        }
        folder
    }
}

/// The states of a document's frames.
pub fn states(document: &Value) -> Vec<&str> {
    document["frames"].as_array().unwrap().iter().map(|frame| frame["state"].as_str().unwrap()).collect()
}

/// The box of a frame of a document.
pub fn bbox(frame: &Value) -> [f64; 4] {
    serde_json::from_value(frame["bbox"].clone()).unwrap()
}

/// Stores a picture of one gray level.
pub fn store_flat(path: &Path, width: u32, height: u32, level: u8) {
    pictures::save(RgbImage::from_pixel(width, height, image::Rgb([level; 3])), path);
}
