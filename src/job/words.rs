//! The words at the beginning and at the end of a run.

use std::time::Duration;

use super::words_in_flags;
use crate::export::{StateCounts, Summary, TargetRecord};
use crate::source::Source;
use crate::tracker::{self, Params};

/// What to do after a run that wrote nothing.
pub const NEXT: &str = "  see it: --overlay DIR draws the boxes on the frames; keep it: --json FILE\n";

/// What to say of the frames and of the targets in them before they are followed.
pub fn oddities(source: &dyn Source, targets: &[TargetRecord]) -> Vec<String> {
    let of_frames = source.warnings().iter().map(|said| words_in_flags(said));
    let several = targets.len() > 1;
    of_frames.chain(targets.iter().filter_map(|target| too_small(target, several))).collect()
}

/// What to say of a target that is too small to be seen, which is named where there are several.
fn too_small(target: &TargetRecord, several: bool) -> Option<String> {
    let whose = if several { format!(" of target {}", target.id) } else { String::new() };
    tracker::too_small(&target.bbox).map(|said| format!("the box{whose} {said}; enlarge the images"))
}

/// What is said first: the preset, what was changed of it, and how to get the paper's tracker.
pub fn first_words(preset: &str, params: &Params) -> String {
    let what = Params::PRESETS.iter().find(|(name, _)| *name == preset).map_or("", |(_, what)| what);
    let base = Params::preset(preset).unwrap_or_default();
    let changed: Vec<String> =
        params.changes_from(&base).iter().map(|(path, value)| format!("{path} = {value}")).collect();
    let changed = if changed.is_empty() { String::new() } else { format!("; with {}", changed.join(", ")) };
    let paper = match preset.starts_with("paper") {
        true => String::new(),
        false => "; the paper's KCF: --preset paper".into(),
    };
    format!("preset {preset}: {what}{changed}{paper}")
}

/// A few lines for a person: how many frames, how fast, how sure, and how right where there is truth.
///
/// `given` says whether there is a truth of the first frame.
pub fn last_words(name: &str, summary: &Summary, took: Duration, given: bool) -> String {
    let rate = |fps: Option<f64>| fps.map_or("-".into(), |fps| format!("{fps:.0}"));
    let mut text = format!(
        "{name}: {} frames in {:.2} s; tracking alone {} frames/s, decoding alone {} frames/s\n",
        summary.frames,
        took.as_secs_f64(),
        rate(summary.fps),
        rate(summary.decode_fps)
    );
    let StateCounts { tracking, recovered, uncertain, lost, missing, .. } = summary.states;
    text += &format!("  states: {tracking} tracking, {uncertain} uncertain, {lost} lost");
    if recovered > 0 {
        text += &format!(", {recovered} recovered");
    }
    if missing > 0 {
        text += &format!(", {missing} missing");
    }
    if let Some(confidence) = summary.mean_confidence {
        text += &format!("; mean confidence {confidence:.2}");
    }
    if let Some(psr) = summary.mean_psr {
        text += &format!("; mean PSR {psr:.1}");
    }
    if let Some(decision) = summary.mean_decision {
        text += &format!("; mean decision {decision:.2}");
    }
    if summary.refits_kept > 0 {
        text += &format!("; {} refits did not settle and were left out", summary.refits_kept);
    }
    text.push('\n');
    for target in &summary.targets {
        let StateCounts { tracking, recovered, uncertain, lost, .. } = target.states;
        let found = tracking + recovered;
        text += &format!(
            "  target {}: {} frames, {found} tracking, {uncertain} uncertain, {lost} lost",
            target.id, target.frames
        );
        if let Some(confidence) = target.mean_confidence {
            text += &format!("; mean confidence {confidence:.2}");
        }
        text.push('\n');
    }
    if let Some(truth) = &summary.truth {
        text += &format!(
            "  against the truth of {} of them: precision at 20 px {:.3}, AUC {:.3}, mean overlap {:.3}, mean centre \
             error {:.1} px\n",
            truth.frames, truth.precision_20, truth.auc, truth.mean_overlap, truth.mean_center_error
        );
    } else if given {
        text += "  no truth beyond the start: nothing to compare with\n";
    }
    text
}
