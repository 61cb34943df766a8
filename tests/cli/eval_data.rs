//! A small dataset for the evaluation's tests: a textured square that moves over a textured ground.
#![allow(dead_code)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::pictures;

/// Gray value of the texture at a place: smooth noise without a period.
fn texture(x: f64, y: f64, phase: f64) -> f64 {
    let wave = |fx: f64, fy: f64, p: f64| (fx * x + fy * y + p + phase).sin();
    128.0 + 40.0 * wave(0.31, 0.17, 0.0) + 30.0 * wave(-0.11, 0.43, 1.7) + 25.0 * wave(0.73, -0.59, 0.4)
}

/// Writes a sequence of `n` frames in OTB's layout. The target moves `speed` pixels a frame.
pub fn sequence(folder: &Path, n: usize, speed: f64) {
    let images = folder.join("img");
    fs::create_dir_all(&images).unwrap();
    let mut rows = String::new();
    for t in 0..n {
        let (left, top) = (20.0 + speed * t as f64, 24.0 + (t as f64 / 3.0).sin() * 4.0);
        let (left, top) = (left.round(), top.round());
        let picture = image::GrayImage::from_fn(160, 100, |x, y| {
            let (x, y) = (f64::from(x), f64::from(y));
            let inside = (left..left + 28.0).contains(&x) && (top..top + 24.0).contains(&y);
            let value =
                if inside { texture(2.0 * (x - left), 2.0 * (y - top), 9.0) } else { texture(x / 2.0, y / 2.0, 3.0) };
            image::Luma([value.clamp(0.0, 255.0) as u8])
        });
        pictures::save(picture, &images.join(format!("{:04}.png", t + 1)));
        rows += &format!("{},{},28,24\n", left + 1.0, top + 1.0);
    }
    fs::write(folder.join("groundtruth_rect.txt"), rows).unwrap();
}

/// Three sequences: two with names and attributes of OTB, one without.
pub fn dataset(folder: &Path) {
    sequence(&folder.join("Crossing"), 14, 2.0);
    sequence(&folder.join("Deer"), 20, 3.0);
    sequence(&folder.join("plain"), 9, 1.0);
}

/// Published boxes of a tracker that lags behind.
pub fn results(data: &Path, folder: &Path, lag: f64) {
    fs::create_dir_all(folder).unwrap();
    for name in ["Crossing", "Deer", "plain"] {
        let text = fs::read_to_string(data.join(name).join("groundtruth_rect.txt")).unwrap();
        let rows = text.lines().enumerate().map(|(t, line)| {
            let numbers: Vec<f64> = line.split(',').map(|word| word.parse().unwrap()).collect();
            format!("{}\t{}\t{}\t{}\n", numbers[0] - lag * t as f64, numbers[1], numbers[2], numbers[3])
        });
        fs::write(folder.join(format!("{name}.txt")), rows.collect::<String>()).unwrap();
    }
}

/// Exit code and output of a run.
pub struct Outcome {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// Runs `kcf-track eval` with these arguments.
pub fn eval(args: &[&str]) -> Outcome {
    let output = Command::new(env!("CARGO_BIN_EXE_kcf-track")).arg("eval").args(args).output().unwrap();
    Outcome {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

pub fn read(folder: &Path, file: &str) -> Vec<u8> {
    let path: PathBuf = folder.join(file);
    fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

pub fn report(folder: &Path) -> serde_json::Value {
    serde_json::from_slice(&read(folder, "report.json")).unwrap()
}
