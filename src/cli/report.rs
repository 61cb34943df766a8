//! The words at the end of a run.

use kcf_track::export::{StateCounts, Summary};

/// A few lines for a person: how many frames, how fast, how sure, and how right where there is truth.
pub fn text(name: &str, summary: &Summary) -> String {
    let rate = |fps: Option<f64>| fps.map_or("-".into(), |fps| format!("{fps:.0}"));
    let mut text = format!(
        "{name}: {} frames; tracking {} frames/s, decoding {} frames/s\n",
        summary.frames,
        rate(summary.fps),
        rate(summary.decode_fps)
    );
    let StateCounts { tracking, uncertain, lost, missing, .. } = summary.states;
    text += &format!("  states: {tracking} tracking, {uncertain} uncertain, {lost} lost");
    if missing > 0 {
        text += &format!(", {missing} missing");
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
    if let Some(truth) = &summary.truth {
        text += &format!(
            "  against the truth of {} frames: precision at 20 px {:.3}, AUC {:.3}, mean overlap {:.3}, mean centre \
             error {:.1} px\n",
            truth.frames, truth.precision_20, truth.auc, truth.mean_overlap, truth.mean_center_error
        );
    }
    text
}
