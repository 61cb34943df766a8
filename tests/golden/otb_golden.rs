//! Not one box of the presets changes on the published sequences.
//!
//! A quick part runs unless `KCF_TRACK_FULL=1` asks for every sequence under every preset. The boxes are the outputs
//! of this tracker; how they compare with the authors' own is the matter of `otb_parity`.

use crate::golden;
use crate::otb;

/// Short sequences that a wrong feature, window or peak does not survive.
const QUICK: [&str; 6] = ["Couple", "Crossing", "Deer", "Football1", "Freeman1", "Skiing"];

fn check(preset: &str, in_quick: bool) {
    let (root, all) = (otb::root(), otb::full());
    if !all && !in_quick {
        return println!("{preset}: not asked for (KCF_TRACK_FULL=1)");
    }
    let runs = otb::track_all(&root, preset, if all { &[] } else { &QUICK });
    golden::check(&format!("otb-{preset}.txt"), runs.iter().map(|run| (run.name.as_str(), &run.boxes[..])));
    println!("{preset}: {} sequences, {} boxes", runs.len(), runs.iter().map(|run| run.boxes.len()).sum::<usize>());
}

#[test]
#[ignore = "needs the published sequences: KCF_TRACK_OTB=DIR cargo test --test golden -- --ignored"]
fn paper() {
    check("paper", true);
}

#[test]
#[ignore = "needs the published sequences: KCF_TRACK_OTB=DIR cargo test --test golden -- --ignored"]
fn paper_dcf() {
    check("paper-dcf", true);
}

#[test]
#[ignore = "needs the published sequences: KCF_TRACK_OTB=DIR cargo test --test golden -- --ignored"]
fn paper_gray() {
    check("paper-gray", false);
}
