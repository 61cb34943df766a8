//! The section on overlap over time: a small plot for each sequence, a line for each tracker.

use super::plot::color_of;
use super::styles;
use crate::eval::metrics::frame_errors;
use crate::eval::{Evaluated, Evaluation};
use crate::text::escape;

/// Most points of a line. Of several frames the smallest overlap is drawn, so that a loss is seen.
const POINTS: usize = 400;
const HEIGHT: f64 = 100.0;

/// The plots of the first run of each tracker.
pub(super) fn overlaps(evaluation: &Evaluation, evaluated: &Evaluated) -> String {
    let report = &evaluated.report;
    let mut text = String::new();
    for facts in &report.sequences {
        let Some(sequence) = evaluation.dataset.sequences.iter().find(|s| s.name == facts.name) else { continue };
        let lines = report.trackers.iter().zip(styles(report)).filter_map(|(tracker, style)| {
            let run = evaluated.traces.get(&tracker.name)?.get(&sequence.name)?;
            let truth = sequence.truth.get(run.start.frame..)?;
            let errors = frame_errors(truth, &run.boxes, evaluation.toolkit).ok()?;
            let labelled = errors.overlap.iter().zip(&errors.labelled);
            let overlap: Vec<_> = labelled.map(|(&overlap, &counts)| counts.then_some(overlap)).collect();
            let path = path(&overlap, run.start.frame);
            let (color, name) = (color_of(style), escape(&tracker.name));
            Some(format!("<path d=\"{path}\" stroke=\"{color}\"><title>{name}</title></path>"))
        });
        let lines: String = lines.collect();
        let (name, frames) = (escape(&facts.name), facts.frames);
        text += &format!(
            "<figure class=\"overlap\"><figcaption><b>{name}</b> 1 to {frames}</figcaption><svg viewBox=\"0 0 {frames} \
             {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"overlap over time, {name}\"><path \
             class=\"half\" d=\"M0 50H{frames}\"/>{lines}</svg></figure>\n"
        );
    }
    text
}

/// The line of these overlaps, whose first is of frame `from`; it is broken where there is no label.
fn path(overlap: &[Option<f64>], from: usize) -> String {
    let step = overlap.len().div_ceil(POINTS).max(1);
    let (mut text, mut is_drawn) = (String::new(), false);
    for (i, some) in overlap.chunks(step).enumerate() {
        let least = some.iter().flatten().map(|o| if o.is_finite() { *o } else { 0.0 }).reduce(f64::min);
        if let Some(least) = least {
            let command = if is_drawn { 'L' } else { 'M' };
            text += &format!("{command}{} {:.0}", from + i * step, HEIGHT * (1.0 - least.clamp(0.0, 1.0)));
        }
        is_drawn = least.is_some();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_breaks_without_a_label_and_keeps_losses() {
        assert_eq!(path(&[Some(1.0), Some(0.5), None, Some(f64::NAN)], 2), "M2 0L3 50M5 100");
        let mut long = vec![Some(1.0); 2 * POINTS];
        long[7] = Some(0.0);
        assert!(path(&long, 0).starts_with("M0 0L2 0L4 0L6 100L8 0"));
    }
}
