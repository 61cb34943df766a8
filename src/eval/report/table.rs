//! The tables of a report: CSV, and a short one for a terminal.

use crate::eval::Interval;
use crate::eval::summary::{ATTRIBUTES, Aggregate, Report, Timings, TrackerReport};

/// The attributes that at least one tracker has a sequence of, with the largest number of sequences.
pub(super) fn attributes(report: &Report) -> Vec<(&'static str, &'static str, usize)> {
    ATTRIBUTES
        .iter()
        .filter_map(|&(short, long)| {
            let n = report.trackers.iter().filter_map(|t| t.attributes.get(short)).map(|a| a.sequences).max()?;
            Some((short, long, n))
        })
        .collect()
}

/// The number of sequences behind a score by attribute where it is not `n`, that of the attribute's column: ` (2)`.
pub(super) fn own_count(aggregate: &Aggregate, n: usize) -> String {
    if aggregate.sequences == n { String::new() } else { format!(" ({})", aggregate.sequences) }
}

fn fps(timings: &Timings, tracker: &TrackerReport) -> Option<f64> {
    timings.trackers.get(&tracker.name).map(|t| t.fps)
}

/// The scores by sequence and tracker as CSV.
pub fn csv(report: &Report) -> String {
    let quoted = |text: &str| match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    };
    let mut text = String::from(
        "sequence,tracker,frames,labelled,auc,precision_20,normalized_precision,overlap_rate_50,mean_overlap,\
         mean_center_error,failures\n",
    );
    for sequence in &report.sequences {
        for tracker in &report.trackers {
            let Some(s) = tracker.sequences.get(&sequence.name) else { continue };
            text += &format!(
                "{},{},{},{},{},{},{},{},{},{},{}\n",
                quoted(&sequence.name),
                quoted(&tracker.name),
                s.frames,
                s.labelled,
                s.auc,
                s.precision_20,
                s.normalized_precision,
                s.overlap_rate_50,
                s.mean_overlap,
                s.mean_center_error.map_or(String::new(), |error| error.to_string()),
                s.failures,
            );
        }
    }
    text
}

/// What was evaluated: `OPE on 24 sequences`.
pub(super) fn heading(report: &Report) -> String {
    let count = report.sequences.len();
    let sequences = if count == 1 { "sequence" } else { "sequences" };
    format!("{} on {count} {sequences}", report.protocol.name().to_uppercase())
}

/// A short table for a terminal.
pub fn plain(report: &Report, timings: &Timings) -> String {
    let width = report.trackers.iter().map(|t| t.name.chars().count()).max().unwrap_or(0).max(7);
    let mut text =
        format!("{:width$}  {:>5}  {:>15}  {:>5}  {:>15}  {:>8}\n", "tracker", "AUC", "95 %", "P@20", "95 %", "fps");
    for tracker in &report.trackers {
        let a = &tracker.overall;
        let interval = |i: Option<Interval>| i.map_or(String::new(), |i| format!("[{:.3}, {:.3}]", i.low, i.high));
        text += &format!(
            "{:width$}  {:.3}  {:>15}  {:.3}  {:>15}  {:>8}\n",
            tracker.name,
            a.auc,
            interval(a.auc_interval),
            a.precision_20,
            interval(a.precision_20_interval),
            fps(timings, tracker).map_or("–".into(), |f| format!("{f:.1}")),
        );
    }
    text += &format!("{}\n", report.bases());
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::summary::tests::report;

    #[test]
    fn csv_has_a_row_per_sequence_and_tracker() {
        let mut report = report();
        report.trackers[0].name = "a, \"b\"".into();
        let text = csv(&report);
        assert_eq!(text.lines().count(), 1 + 3 * 3);
        let auc = report.trackers[0].sequences["A"].auc;
        assert!(text.contains(&format!("\nA,\"a, \"\"b\"\"\",20,20,{auc},")), "{text}");
        assert_eq!(plain(&report, &Timings::default()).lines().count(), 2 + report.trackers.len());
    }
}
