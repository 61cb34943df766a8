//! The words at the beginning and at the end of a run.

use std::time::Duration;

use super::{Position, Targets};
use crate::export::{StateCounts, Summary, TargetRecord};
use crate::media::{Source, Span};
use crate::tracker;

/// What to do after a run that wrote nothing.
pub const NEXT: &str = "  see it: --overlay DIR draws the boxes on the frames; keep it: --json FILE\n";

/// What to say of the frames and of the targets in them before they are followed.
pub fn oddities(source: &dyn Source, targets: &[TargetRecord]) -> Vec<String> {
    let of_frames = source.warnings().iter().cloned();
    let several = targets.len() > 1;
    of_frames.chain(targets.iter().filter_map(|target| too_small(target, several))).collect()
}

/// What to say of frames that nobody asked to be left out, in a run of given boxes from `--start` to `--end`.
pub fn left_out(
    source: &dyn Source,
    span: Span,
    wanted: &Targets,
    (start, end): (Option<Position>, Option<Position>),
) -> Vec<String> {
    let (first, mut said) = (span.first, Vec::new());
    if wanted.is_empty() {
        return said;
    }
    if start.is_none() && wanted.first().is_none() && first > 1 {
        said.push(format!("the box is of frame {first}, the first with truth; --start 1 begins with the first"));
    }
    if let (None, Some(last), Some(count)) = (end, span.last, source.length())
        && last < count
    {
        said.push(format!("frame {last} is the last that the benchmark uses; --end {count} ends with the last"));
    }
    said
}

/// What to say of a target that is too small to be seen, which is named where there are several.
fn too_small(target: &TargetRecord, several: bool) -> Option<String> {
    let whose = if several { format!(" of target {}", target.id) } else { String::new() };
    tracker::too_small(&target.bbox).map(|said| format!("the box{whose} {said}; enlarge the images"))
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
    text += &format!("  states: {}", states(&summary.states, summary.mean_confidence));
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
        let states = states(&target.states, target.mean_confidence);
        text += &format!("  target {}: {} frames, {states}\n", target.id, target.frames);
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

/// How many frames are in which state, the given one aside, and how sure they are.
fn states(counts: &StateCounts, confidence: Option<f64>) -> String {
    let StateCounts { initial: _, tracking, recovered, uncertain, lost, missing } = *counts;
    let mut text = format!("{tracking} tracking, {uncertain} uncertain, {lost} lost");
    for (count, state) in [(recovered, "recovered"), (missing, "missing")] {
        if count > 0 {
            text += &format!(", {count} {state}");
        }
    }
    if let Some(confidence) = confidence {
        text += &format!("; mean confidence {confidence:.2}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Result;
    use crate::export::TargetSummary;
    use crate::media::{Demand, Stream};

    /// A person adds them up: all lines count in the same way, and leave no frame out.
    #[test]
    fn each_targets_states_are_counted_as_those_of_the_run() {
        let states = StateCounts { initial: 1, tracking: 5, recovered: 3, uncertain: 2, lost: 4, missing: 6 };
        let target = TargetSummary { id: 7, frames: 21, states, mean_confidence: Some(0.5) };
        let summary = Summary { frames: 21, states, targets: vec![target], ..Summary::default() };
        let said = last_words("clip", &summary, Duration::from_secs(1), false);
        let counted = "5 tracking, 2 uncertain, 4 lost, 3 recovered, 6 missing";
        assert!(said.contains(&format!("  states: {counted}\n")), "{said}");
        assert!(said.contains(&format!("  target 7: 21 frames, {counted}; mean confidence 0.50\n")), "{said}");
    }

    /// Ten frames.
    struct Ten;

    impl Source for Ten {
        fn name(&self) -> &str {
            "ten"
        }

        fn length(&self) -> Option<usize> {
            Some(10)
        }

        fn stream(&self, _: Span, _: Demand) -> Result<Stream> {
            Ok(Box::new(std::iter::empty()))
        }
    }

    #[test]
    fn frames_that_a_benchmark_leaves_out_are_said_to_be() {
        let targets = |init: &[&str]| {
            let init: Vec<_> = init.iter().map(|text| text.parse().unwrap()).collect();
            Targets::read(&init, None, None).unwrap()
        };
        let (one, later, by_truth) = (targets(&["1,2,3,4"]), targets(&["5:1,2,3,4"]), targets(&[]));
        let said = |first, last, wanted: &Targets, range| {
            left_out(&Ten, Span { first, last: Some(last) }, wanted, range).join("; ")
        };
        let all = (None, None);
        assert_eq!(said(1, 10, &one, all), "");
        assert!(said(3, 10, &one, all).contains("of frame 3, the first with truth; --start 1"));
        assert!(said(1, 7, &one, all).contains("frame 7 is the last that the benchmark uses; --end 10"));
        let (third, seventh) = (Some(Position::Frame(3)), Some(Position::Frame(7)));
        assert_eq!(said(3, 7, &one, (third, seventh)), "");
        assert_eq!(said(5, 10, &later, all), "");
        assert_eq!(said(3, 7, &by_truth, all), "");
    }
}
