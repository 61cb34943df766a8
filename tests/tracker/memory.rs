//! Memory does not grow with the length of a sequence: the resident set of this process, from `/proc` (skipped where
//! there is none). `allocation.rs` counts what the allocator is asked for.

use std::process::Command;

use kcf_track::synth::{Preset, SceneParams};
use kcf_track::{Params, Tracker};

use crate::scene::Clip;

/// Kibibytes that this process has in memory now.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Tracks there and back over a scene, `updates` frames long, and says how many kibibytes there were after the first
/// tenth and how many at the end.
fn tracked(clip: &Clip, preset: &str, updates: usize) -> Option<(u64, u64)> {
    let mut tracker = Tracker::new(Params::preset(preset).unwrap()).unwrap();
    tracker.init(clip.gray(0), clip.initial()).unwrap();
    let mut early = 0;
    let period = 2 * clip.gray.len() - 2;
    for update in 1..=updates {
        let at = (update % period).min(period - update % period);
        tracker.update(clip.gray(at)).unwrap();
        if update == updates / 10 {
            early = resident()?;
        }
    }
    Some((early, resident()?))
}

fn check(presets: &[&str], updates: usize) {
    let clip = Clip::render(SceneParams { frames: 40, ..Preset::Medium.params() });
    for preset in presets {
        let Some((early, late)) = tracked(&clip, preset, updates) else {
            println!("skipped: this system has no /proc/self/status");
            return;
        };
        println!("{preset}: {early} KiB after {} frames, {late} KiB after {updates}", updates / 10);
        // A single leaked box a frame would be 32 bytes: 2.7 MiB in 90,000 frames, 82 KiB in 2,700.
        let allowed = if updates >= 100_000 { 1024 } else { 64 };
        assert!(late <= early + allowed, "{preset}: {early} KiB grew to {late} KiB");
    }
}

/// Set for the process that measures: how many updates.
const UPDATES: &str = "KCF_TRACK_TEST_UPDATES";

/// Not a test of its own: what the tests below start as another process, where no other test takes memory meanwhile.
#[test]
fn measurement() {
    let Ok(updates) = std::env::var(UPDATES) else { return };
    leaks_are_seen();
    match updates.parse().unwrap() {
        updates @ 0..100_000 => check(&["paper", "fast"], updates),
        updates => check(&["paper", "paper-dcf", "paper-gray", "fast"], updates),
    }
}

fn measure(updates: usize) {
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "memory::measurement", "--nocapture"])
        .env(UPDATES, updates.to_string())
        .status();
    assert!(status.unwrap().success());
}

#[test]
fn three_thousand_frames_take_no_more_memory_than_three_hundred() {
    measure(3000);
}

#[test]
#[ignore = "takes minutes: cargo test --release --test tracker memory -- --ignored --nocapture"]
fn a_hundred_thousand_frames_take_no_more_memory_than_ten_thousand() {
    measure(100_000);
}

/// The measure moves when memory is taken.
fn leaks_are_seen() {
    let Some(before) = resident() else { return };
    // Written byte by byte: pages count once they are touched.
    let taken: Vec<u8> = (0..4 << 20).map(|i| std::hint::black_box(i) as u8).collect();
    assert!(resident().unwrap() >= before + 4000, "{before} KiB before {} bytes", std::hint::black_box(&taken).len());
}
