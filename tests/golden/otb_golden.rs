//! Not one box of the presets changes on the published sequences (the folder in `KCF_TRACK_OTB`, by default
//! `../shared/otb`).
//!
//! A quick part runs by default; `KCF_TRACK_FULL=1` runs every sequence under every preset. The boxes are the outputs
//! of this tracker; how they compare with the authors' own is the matter of `otb_parity`.

use crate::golden;
use crate::otb;

/// Short sequences that a wrong feature, window or peak does not survive.
const QUICK: [&str; 6] = ["Couple", "Crossing", "Deer", "Football1", "Freeman1", "Skiing"];

fn check(preset: &str, in_quick: bool) {
    let Some(root) = otb::root() else { return };
    let all = otb::full();
    if !all && !in_quick {
        println!("skipped: KCF_TRACK_FULL=1 runs it");
        return;
    }
    let runs = otb::track_all(&root, preset, if all { &[] } else { &QUICK });
    golden::check(&format!("otb-{preset}.txt"), runs.iter().map(|run| (run.name.as_str(), &run.boxes[..])));
    println!("{preset}: {} sequences, {} boxes", runs.len(), runs.iter().map(|run| run.boxes.len()).sum::<usize>());
}

#[test]
fn paper() {
    check("paper", true);
}

#[test]
fn paper_dcf() {
    check("paper-dcf", true);
}

#[test]
fn paper_gray() {
    check("paper-gray", false);
}
