//! Committed boxes of the tracker itself, so that a change shows whether it changed any of them.
//!
//! A file has one line a run: name, number of frames, a checksum over all boxes to the last bit, the box's size, and
//! the corner of every tenth box, by which a difference is located. `KCF_TRACK_BLESS=1` writes the files anew.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use kcf_track::{BBox, Estimate};

/// One box in this many is written out.
const STEP: usize = 10;

/// Compares runs (name, boxes) with the lines of `tests/golden/<file>`, or writes those lines when that is asked for.
/// Lines of other runs are left alone.
pub fn check<'a>(file: &str, runs: impl IntoIterator<Item = (&'a str, &'a [BBox])>) {
    compare(file, runs.into_iter().map(|(name, boxes)| (name.to_string(), line(name, boxes))).collect(), difference);
}

/// As [`check`], of states and confidences: the states as runs, `tracking*12`, and a checksum over the confidences.
#[allow(dead_code)] // not every test has states
pub fn check_states<'a>(file: &str, runs: impl IntoIterator<Item = (&'a str, &'a [Estimate])>) {
    let line = |name: &str, estimates: &[Estimate]| {
        let confidence = |estimate: &Estimate| estimate.evidence.confidence.unwrap_or(-1.0).to_bits().to_le_bytes();
        let sum = fnv(estimates.iter().flat_map(confidence));
        let spans =
            estimates.chunk_by(|a, b| a.state == b.state).map(|span| format!("{}*{}", span[0].state, span.len()));
        format!("{name} {} {sum:016x} {}", estimates.len(), spans.collect::<Vec<_>>().join(" "))
    };
    let found = runs.into_iter().map(|(name, estimates)| (name.to_string(), line(name, estimates))).collect();
    compare(file, found, |name, golden, found| format!("{name}:\n    {golden}\n    {found}"));
}

/// Compares lines by name with those of a file, or writes them when that is asked for.
fn compare(file: &str, found: BTreeMap<String, String>, difference: impl Fn(&str, &str, &str) -> String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
    if std::env::var_os("KCF_TRACK_BLESS").is_some() {
        let mut lines = read(&path);
        lines.extend(found);
        let text: String = lines.into_values().map(|line| line + "\n").collect();
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        return;
    }
    let expected = read(&path);
    let mut wrong = Vec::new();
    for (name, line) in &found {
        match expected.get(name) {
            None => wrong.push(format!("{name}: no golden boxes yet")),
            Some(golden) if golden != line => wrong.push(difference(name, golden, line)),
            Some(_) => {}
        }
    }
    assert!(
        wrong.is_empty(),
        "{}:\n  {}\nIf the change is meant, KCF_TRACK_BLESS=1 writes the file anew.",
        path.display(),
        wrong.join("\n  ")
    );
}

fn read(path: &PathBuf) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(|line| (line.split(' ').next().unwrap_or_default().to_string(), line.to_string())).collect()
}

fn line(name: &str, boxes: &[BBox]) -> String {
    let size = boxes.first().map_or((0.0, 0.0), |b| (b.w, b.h));
    let mut line = format!("{name} {} {:016x} {}x{}", boxes.len(), checksum(boxes), size.0, size.1);
    for b in boxes.iter().step_by(STEP) {
        write!(line, " {},{}", b.x, b.y).unwrap();
    }
    line
}

/// Where two lines part.
fn difference(name: &str, golden: &str, found: &str) -> String {
    let place = golden.split(' ').zip(found.split(' ')).skip(4).position(|(a, b)| a != b);
    match place {
        Some(0) => format!("{name}: the first box differs"),
        Some(k) => {
            let at = k * STEP;
            let word = |line: &str| line.split(' ').nth(4 + k).unwrap_or("none").to_string();
            let (golden, found) = (word(golden), word(found));
            format!("{name}: boxes {} to {at} (from 0): box {at} lay at {golden}, now at {found}", at - STEP + 1)
        }
        None => {
            let head = |line: &str| line.split(' ').skip(1).take(3).collect::<Vec<_>>().join(" ");
            format!("{name}: was {}, is {}; every {STEP}th box is the same", head(golden), head(found))
        }
    }
}

/// Over the bits of all numbers.
fn checksum(boxes: &[BBox]) -> u64 {
    fnv(boxes.iter().flat_map(|b| <[f64; 4]>::from(*b)).flat_map(|v| v.to_bits().to_le_bytes()))
}

/// FNV-1a, 64 bits.
fn fnv(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
