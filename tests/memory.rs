//! Memory does not grow with the length of a sequence: the resident set of this process, from `/proc` (skipped where there is
//! none). `tests/allocation.rs` counts what the allocator is asked for.

use std::sync::Mutex;

use kcf_track::source::synth::{Preset, SceneParams};
use kcf_track::{Params, Tracker};

#[path = "support/scene.rs"]
mod scene;

use scene::Clip;

/// Kibibytes that this process has in memory now.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Tracks there and back over a scene, `updates` frames long, and says how many kibibytes there were after the first tenth
/// and how many at the end.
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

/// Another test in this process would add its memory.
static ALONE: Mutex<()> = Mutex::new(());

fn check(presets: &[&str], updates: usize) {
    let _alone = ALONE.lock();
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

#[test]
fn three_thousand_frames_take_no_more_memory_than_three_hundred() {
    leaks_are_seen();
    check(&["paper", "fast"], 3000);
}

#[test]
#[ignore = "takes minutes; run it alone: cargo test --release --test memory -- --ignored --nocapture"]
fn a_hundred_thousand_frames_take_no_more_memory_than_ten_thousand() {
    check(&["paper", "paper-dcf", "paper-gray", "fast"], 100_000);
}

/// The measure moves when memory is taken.
fn leaks_are_seen() {
    let Some(before) = resident() else { return };
    // Written byte by byte: pages count once they are touched.
    let taken: Vec<u8> = (0..4 << 20).map(|i| std::hint::black_box(i) as u8).collect();
    assert!(resident().unwrap() >= before + 4000, "{before} KiB before {} bytes", std::hint::black_box(&taken).len());
}
