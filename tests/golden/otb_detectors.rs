//! Kernel machines on three short sequences of OTB, where they are: the folder in `KCF_TRACK_OTB`, by default
//! `../shared/otb`.

use kcf_track::Params;
use kcf_track::eval::metrics::score;
use kcf_track::eval::rules::Toolkit;
use kcf_track::machine::MachineKind;
use kcf_track::tracker::{GuardParams, WindowParams};

use crate::otb;

/// Crossing is easy; Deer and Jumping move faster than the filter's window reaches (KCF alone: 0.82 and 0.34 on them).
const SEQUENCES: [&str; 3] = ["Crossing", "Deer", "Jumping"];

#[test]
fn machines_follow_what_the_filter_loses() {
    let Some(root) = otb::root() else { return };
    if let Some(name) = SEQUENCES.iter().find(|name| !root.join(name).is_dir()) {
        println!("skipped: {} is not in {}", name, root.display());
        return;
    }
    let detector = |kind| Params::from(WindowParams::of(kind));
    let guard = |kind| Params::default().guarded(GuardParams::of(kind));
    for (name, params, bounds) in [
        ("svm", detector(MachineKind::Svm), [0.95, 0.9, 0.9]),
        ("guard krr", guard(MachineKind::Krr), [0.95, 0.8, 0.8]),
    ] {
        for (run, bound) in otb::track_all_with(&root, &params, &SEQUENCES).iter().zip(bounds) {
            let precision = score(&run.truth, &run.boxes, Toolkit::Otb).unwrap().precision_20;
            println!("{name}, {}: P@20 {precision:.3}", run.name);
            assert!(precision >= bound, "{name}, {}: {precision} < {bound}", run.name);
        }
    }
}
