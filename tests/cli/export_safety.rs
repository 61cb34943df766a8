//! What is left of the outputs when the process is killed or the disk is full.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use kcf_track::export::{Csv, Exports, FrameRecord, FrameView, Json, JsonLines, Otb, Run, SourceRecord, Tally};
use kcf_track::tracker::State;
use kcf_track::{BBox, Result};

/// Set for the process that writes; names its folder.
const FOLDER: &str = "KCF_TRACK_TEST_EXPORT_FOLDER";

/// The test that is this process, by its whole name.
const WRITER: &str = "export_safety::writer";

fn record(index: usize) -> FrameRecord {
    FrameRecord {
        index,
        file: format!("{index:08}.jpg"),
        time: None,
        id: None,
        bbox: BBox::new(index as f64 / 3.0, -0.1, 30.0, 40.5),
        polygon: None,
        peak: Some(0.25),
        psr: Some(7.5),
        apce: None,
        decision: None,
        refit_kept: false,
        state: State::Tracking,
        confidence: None,
        long_term: None,
        decode_ms: 1.0 / 3.0,
        track_ms: 2.0,
    }
}

fn open(folder: &Path) -> Result<Exports> {
    let place = |name: &str| folder.join(name).as_path().into();
    let mut exports = Exports::default();
    exports.push(Json::create(&place("run.json"))?);
    exports.push(JsonLines::create(&place("run.jsonl"))?);
    exports.push(Otb::create(&place("run.txt"))?);
    exports.push(Csv::create(&place("run.csv"))?);
    let source = SourceRecord { path: "car".into(), start: 1, end: Some(1_000_000), width: 64, height: 48 };
    exports.begin(&Run::new(source, serde_json::json!({})))?;
    Ok(exports)
}

/// Not a test of its own: what the tests below start as another process.
#[test]
fn writer() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let mut exports = open(Path::new(&folder)).unwrap();
    for index in 1..1_000_000 {
        // An export that fails is left out from then on.
        let _ = exports.frame(&record(index), &FrameView::default());
        if exports.is_empty() {
            return;
        }
    }
    exports.finish(&Tally::default().completed(None)).unwrap();
}

fn check_lines(folder: &Path) -> usize {
    let read = |name: &str| {
        let mut text = fs::read_to_string(folder.join(name)).unwrap();
        // The operating system copies a write page by page and looks for a kill in between.
        if text.len().is_multiple_of(4096) {
            text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
        }
        assert!(text.ends_with('\n'), "{name} ends with {:?}", &text[text.len().saturating_sub(80)..]);
        text
    };
    let lines = read("run.jsonl");
    for (position, line) in lines.lines().enumerate() {
        assert_eq!(line, serde_json::to_string(&record(position + 1)).unwrap());
    }
    assert!(read("run.txt").lines().all(|line| line.split(',').filter(|v| v.parse::<f64>().is_ok()).count() == 4));
    assert!(read("run.csv").lines().all(|line| line.split(',').count() == 17));
    // Documents of a run that did not end: the old ones, and nothing half-done beside them.
    assert_eq!(read("run.json"), "old\n");
    assert_eq!(fs::read_dir(folder).unwrap().count(), 4);
    lines.lines().count()
}

fn prepare() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["run.json", "run.jsonl", "run.txt", "run.csv"] {
        fs::write(folder.path().join(name), "old\n").unwrap();
    }
    folder
}

/// Waits until the last of the outputs is longer than `bytes`.
fn wait_for(child: &mut Child, folder: &Path, bytes: u64) {
    let start = Instant::now();
    while fs::metadata(folder.join("run.csv")).unwrap().len() <= bytes {
        assert!(start.elapsed() < Duration::from_secs(60), "nothing is written");
        assert!(child.try_wait().unwrap().is_none(), "the writer ended by itself");
        std::thread::sleep(Duration::from_micros(200));
    }
}

#[test]
fn a_kill_leaves_whole_lines_and_old_documents() {
    for round in 0..8 {
        let folder = prepare();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", WRITER])
            .env(FOLDER, folder.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        wait_for(&mut child, folder.path(), 100 + 5_000 * round);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(check_lines(folder.path()) > 0);
    }
}

/// A limit on the length of files stands for a full disk: it, too, cuts a write off in the middle.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_leaves_whole_lines_and_old_documents() {
    let folder = prepare();
    let script = r#"trap '' XFSZ; ulimit -f 9; exec "$0" --exact "$1""#;
    let status = Command::new("sh")
        .args(["-c", script])
        .arg(std::env::current_exe().unwrap())
        .arg(WRITER)
        .env(FOLDER, folder.path())
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    let lines = check_lines(folder.path());
    assert!((10..100).contains(&lines), "{lines} lines");
}

#[test]
fn a_finished_run_leaves_all_of_it() {
    let folder = prepare();
    let mut exports = open(folder.path()).unwrap();
    let mut tally = Tally::default();
    for index in 1..=100 {
        tally.add(&record(index));
        exports.frame(&record(index), &FrameView::default()).unwrap();
    }
    exports.finish(&tally.failed(None, "the camera was taken away")).unwrap();
    let document = fs::read_to_string(folder.path().join("run.json")).unwrap();
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["frames"].as_array().unwrap().len(), 100);
    assert_eq!(document["summary"]["completed"], false);
    assert_eq!(document["summary"]["error"], "the camera was taken away");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4);
}
