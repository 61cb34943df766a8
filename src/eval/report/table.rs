//! The tables of a report, in Markdown and as plain text.

use crate::eval::bootstrap::Interval;
use crate::eval::summary::{ATTRIBUTES, Aggregate, Report, TrackerReport};
use crate::eval::timings::Timings;

/// One column of the table of all trackers.
struct Column {
    markdown: &'static str,
    decimals: usize,
    /// Whether more is better; `None` where no value is marked as the best.
    more_is_better: Option<bool>,
    value: fn(&Aggregate) -> Option<f64>,
    interval: fn(&Aggregate) -> Option<Interval>,
}

const COLUMNS: [Column; 8] = [
    Column {
        markdown: "AUC",
        decimals: 3,
        more_is_better: Some(true),
        value: |a| Some(a.auc),
        interval: |a| a.auc_interval,
    },
    Column {
        markdown: "P@20",
        decimals: 3,
        more_is_better: Some(true),
        value: |a| Some(a.precision_20),
        interval: |a| a.precision_20_interval,
    },
    Column {
        markdown: "P_norm",
        decimals: 3,
        more_is_better: Some(true),
        value: |a| Some(a.normalized_precision),
        interval: |_| None,
    },
    Column {
        markdown: "OR@0.5",
        decimals: 3,
        more_is_better: Some(true),
        value: |a| Some(a.overlap_rate_50),
        interval: |_| None,
    },
    Column {
        markdown: "Mean overlap",
        decimals: 3,
        more_is_better: Some(true),
        value: |a| Some(a.mean_overlap),
        interval: |_| None,
    },
    Column {
        markdown: "Centre error (px)",
        decimals: 1,
        more_is_better: Some(false),
        value: |a| a.mean_center_error,
        interval: |_| None,
    },
    Column {
        markdown: "Failures",
        decimals: 0,
        more_is_better: Some(false),
        value: |a| Some(a.failures as f64),
        interval: |_| None,
    },
    Column {
        markdown: "Sequences",
        decimals: 0,
        more_is_better: None,
        value: |a| Some(a.sequences as f64),
        interval: |_| None,
    },
];

/// The largest number of sequences that a tracker was scored on.
fn most_sequences(report: &Report) -> usize {
    report.trackers.iter().map(|t| t.overall.sequences).max().unwrap_or(0)
}

/// The place of a tracker's value among those of its column: 0 is the best. `None` beyond the second, for equal values
/// in all rows, no value, or a tracker that others have more sequences than: it may have been spared the hard ones.
fn place(column: &Column, report: &Report, tracker: &TrackerReport) -> Option<usize> {
    let more = column.more_is_better?;
    let most = most_sequences(report);
    let ranked = |t: &&TrackerReport| t.overall.sequences == most;
    let value = Some(tracker).filter(ranked).and_then(|t| (column.value)(&t.overall))?;
    let rounded = |v: f64| format!("{v:.*}", column.decimals);
    let mut all: Vec<f64> = report.trackers.iter().filter(ranked).filter_map(|t| (column.value)(&t.overall)).collect();
    all.sort_by(|a, b| if more { b.total_cmp(a) } else { a.total_cmp(b) });
    let mut distinct: Vec<String> = all.into_iter().map(rounded).collect();
    distinct.dedup();
    let place = distinct.iter().position(|d| *d == rounded(value))?;
    (distinct.len() > 1 && place < 2).then_some(place)
}

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

/// The table of all trackers and that of the attributes, in Markdown. Without times: what stands here is the same for
/// the same boxes.
pub fn markdown(report: &Report) -> String {
    let escape = |name: &str| name.replace('\\', "\\\\").replace('|', "\\|").replace(['\n', '\r'], " ");
    let mut text = format!("{}\n\n", caption(report));
    text += &format!("| Tracker | {} |\n", COLUMNS.map(|c| c.markdown).join(" | "));
    text += &format!("| --- |{}\n", " ---: |".repeat(COLUMNS.len()));
    for tracker in &report.trackers {
        text += &format!("| {} |", escape(&tracker.name));
        for column in &COLUMNS {
            let value = (column.value)(&tracker.overall);
            let mut cell = value.map_or("–".into(), |v| format!("{v:.*}", column.decimals));
            match place(column, report, tracker) {
                Some(0) => cell = format!("**{cell}**"),
                Some(1) => cell = format!("_{cell}_"),
                _ => {}
            }
            if let Some(Interval { low, high }) = (column.interval)(&tracker.overall) {
                cell += &format!(" [{low:.3}, {high:.3}]");
            }
            text += &format!(" {cell} |");
        }
        text += "\n";
    }
    let attributes = attributes(report);
    if !attributes.is_empty() {
        let head: Vec<String> = attributes.iter().map(|(short, _, n)| format!("{short} ({n})")).collect();
        text += &format!("\nAUC by attribute (number of sequences):\n\n| Tracker | {} |\n", head.join(" | "));
        text += &format!("| --- |{}\n", " ---: |".repeat(attributes.len()));
        for tracker in &report.trackers {
            let cells = attributes
                .iter()
                .map(|(short, _, n)| (tracker.attributes.get(*short), *n))
                .map(|(a, n)| a.map_or("–".into(), |a| format!("{:.3}{}", a.auc, own_count(a, n))));
            text += &format!("| {} | {} |\n", escape(&tracker.name), cells.collect::<Vec<_>>().join(" | "));
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

fn caption(report: &Report) -> String {
    let most = most_sequences(report);
    let ranked = match report.trackers.iter().all(|t| t.overall.sequences == most) {
        true => String::new(),
        false => format!(" Ranked are the trackers with {most} sequences."),
    };
    format!(
        "{}, mean over sequences with bootstrap 95 % intervals, rules of the {} toolkit.{ranked}",
        heading(report),
        report.toolkit
    )
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
    text
}

/// One row a tracker and sequence, and one of the means a tracker, whose sequence is `mean`. Without times, as
/// [`markdown`].
pub fn csv(report: &Report) -> String {
    let cell = |text: &str| match text.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    };
    let optional = |value: Option<f64>| value.map_or(String::new(), |v| format!("{v:.4}"));
    let mut text = String::from(
        "tracker,sequence,frames,auc,precision_20,normalized_precision,overlap_rate_50,mean_overlap,\
         mean_center_error,failures\n",
    );
    for tracker in &report.trackers {
        let a = &tracker.overall;
        let mean = [a.auc, a.precision_20, a.normalized_precision, a.overlap_rate_50, a.mean_overlap];
        let mut rows = vec![("mean", a.frames, mean, a.mean_center_error, a.failures)];
        rows.extend(tracker.sequences.iter().map(|(name, s)| {
            let scores = [s.auc, s.precision_20, s.normalized_precision, s.overlap_rate_50, s.mean_overlap];
            (name.as_str(), s.frames, scores, s.mean_center_error, s.failures)
        }));
        for (sequence, frames, scores, center, failures) in rows {
            let scores = scores.map(|v| format!("{v:.4}")).join(",");
            let (tracker, sequence, center) = (cell(&tracker.name), cell(sequence), optional(center));
            text += &format!("{tracker},{sequence},{frames},{scores},{center},{failures}\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bbox::BBox;
    use crate::eval::Toolkit;
    use crate::eval::metrics::score;
    use crate::eval::report::tests::report;
    use crate::eval::summary::aggregate;

    #[test]
    fn every_tracker_has_its_line() {
        let report = report();
        let md = markdown(&report);
        assert!(md.contains("| a\\|b_&lt | ") || md.contains("| a\\|b_<1> |"), "{md}");
        assert!(md.contains("**") && md.contains("IV (3)"));
        assert_eq!(md.lines().filter(|l| l.starts_with("| ")).count(), 2 * (2 + report.trackers.len()));
        assert!(plain(&report, &Timings::default()).lines().count() == 1 + report.trackers.len());
    }

    #[test]
    fn a_tracker_with_fewer_sequences_than_others_is_not_ranked() {
        let whole = report();
        let line = |report: &Report, name: &str| {
            let md = markdown(report);
            md.lines().find(|line| line.starts_with(&format!("| {name} "))).unwrap().to_owned()
        };
        assert!(line(&whole, "good").contains("**") && !markdown(&whole).contains("Ranked"));
        let mut partial = whole.clone();
        let good = partial.trackers.iter_mut().find(|t| t.name == "good").unwrap();
        good.overall.sequences = 2;
        assert!(!line(&partial, "good").contains(['*', '_']), "{}", line(&partial, "good"));
        assert!(line(&partial, "a\\|b_<1>").contains("**"), "{}", markdown(&partial));
        assert!(markdown(&partial).contains("Ranked are the trackers with 3 sequences."));
    }

    #[test]
    fn a_tracker_with_fewer_sequences_of_an_attribute_says_how_many() {
        let mut report = report();
        let good = report.trackers.iter_mut().find(|t| t.name == "good").unwrap();
        let auc = format!("{:.3}", good.attributes["IV"].auc);
        good.attributes.get_mut("IV").unwrap().sequences = 2;
        good.attributes.remove("OCC");
        let md = markdown(&report);
        assert!(md.contains("| Tracker | IV (3) | SV (3) | OCC (3) |"), "{md}");
        assert!(md.contains(&format!("| good | {auc} (2) | {auc} | – |")), "{md}");
    }

    #[test]
    fn a_tracker_without_a_mean_centre_error_is_not_ranked_by_it() {
        let mut report = report();
        let good = report.trackers.iter_mut().find(|t| t.name == "good").unwrap();
        // One good box, and none in the frames after it.
        let boxes = [&[BBox::new(10.0, 10.0, 40.0, 40.0)][..], &[BBox::new(f64::NAN, 0.0, 1.0, 1.0); 19]].concat();
        let truth = vec![Some(boxes[0]); 20];
        good.sequences.insert("B".into(), score(&truth, &boxes, Toolkit::Got10k).unwrap());
        good.overall = aggregate(good.sequences.values());
        let column = COLUMNS.iter().position(|c| c.markdown == "Centre error (px)").unwrap();
        let cell = |name: &str| {
            let md = markdown(&report);
            let line = md.lines().find(|line| line.starts_with(&format!("| {name} "))).unwrap().to_owned();
            line.replace("\\|", "/").split(" | ").nth(1 + column).unwrap().to_owned()
        };
        assert_eq!(cell("good"), "–");
        assert!(cell("a\\|b_<1>").starts_with("**"), "{}", markdown(&report));
    }

    #[test]
    fn the_csv_has_a_row_a_sequence_and_quotes_what_needs_it() {
        let mut report = report();
        report.trackers[0].name = "a, \"b\"".into();
        let csv = csv(&report);
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines.len(), 1 + 3 * (1 + 3));
        assert!(lines[1].starts_with("\"a, \"\"b\"\"\",mean,"), "{csv}");
        assert!(lines[4..8].iter().all(|line| line.rsplitn(10, ',').count() == 10), "{csv}");
    }

    #[test]
    fn one_sequence_is_no_sequences() {
        let mut report = report();
        report.sequences.truncate(1);
        assert!(markdown(&report).starts_with("OPE on 1 sequence, mean"));
        report.sequences.push(report.sequences[0].clone());
        assert!(markdown(&report).starts_with("OPE on 2 sequences, mean"));
    }
}
