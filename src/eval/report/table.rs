//! The tables of a report for papers and pages: LaTeX (booktabs) and Markdown.

use crate::eval::bootstrap::Interval;
use crate::eval::summary::{ATTRIBUTES, Aggregate, Report, TrackerReport};
use crate::eval::timings::Timings;

/// One column of the table of all trackers.
struct Column {
    markdown: &'static str,
    latex: &'static str,
    decimals: usize,
    /// Whether more is better; `None` where no value is marked as the best.
    more_is_better: Option<bool>,
    value: fn(&Aggregate) -> Option<f64>,
    interval: fn(&Aggregate) -> Option<Interval>,
}

const COLUMNS: [Column; 8] = [
    Column {
        markdown: "AUC",
        latex: "AUC",
        decimals: 3,
        more_is_better: Some(true),
        value: |a| Some(a.auc),
        interval: |a| a.auc_interval,
    },
    Column {
        markdown: "P@20",
        latex: "P@20",
        decimals: 3,
        more_is_better: Some(true),
        value: |a| Some(a.precision_20),
        interval: |a| a.precision_20_interval,
    },
    Column {
        markdown: "P_norm",
        latex: "$P_\\mathrm{norm}$",
        decimals: 3,
        more_is_better: Some(true),
        value: |a| Some(a.normalized_precision),
        interval: |_| None,
    },
    Column {
        markdown: "OR@0.5",
        latex: "OR$_{0.5}$",
        decimals: 3,
        more_is_better: Some(true),
        value: |a| Some(a.overlap_rate_50),
        interval: |_| None,
    },
    Column {
        markdown: "Mean overlap",
        latex: "IoU",
        decimals: 3,
        more_is_better: Some(true),
        value: |a| Some(a.mean_overlap),
        interval: |_| None,
    },
    Column {
        markdown: "Centre error (px)",
        latex: "CLE (px)",
        decimals: 1,
        more_is_better: Some(false),
        value: |a| a.mean_center_error,
        interval: |_| None,
    },
    Column {
        markdown: "Failures",
        latex: "Failures",
        decimals: 0,
        more_is_better: Some(false),
        value: |a| Some(a.failures as f64),
        interval: |_| None,
    },
    Column {
        markdown: "Sequences",
        latex: "Seq.",
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

/// The table of all trackers and that of the attributes in LaTeX; needs the package `booktabs`. Best bold, second
/// underlined.
pub fn latex(report: &Report) -> String {
    let mut text = String::from("% needs \\usepackage{booktabs}\n");
    let caption = escape_latex(&caption(report));
    text += &format!("\\begin{{table}}\n  \\centering\n  \\caption{{{caption} Best bold, second underlined.}}\n");
    text += &format!("  \\begin{{tabular}}{{l{}}}\n    \\toprule\n", "r".repeat(COLUMNS.len()));
    text += &format!("    Tracker & {} \\\\\n    \\midrule\n", COLUMNS.map(|c| c.latex).join(" & "));
    for tracker in &report.trackers {
        text += &format!("    {}", escape_latex(&tracker.name));
        for column in &COLUMNS {
            let value = (column.value)(&tracker.overall);
            let mut cell = value.map_or("--".into(), |v| format!("{v:.*}", column.decimals));
            match place(column, report, tracker) {
                Some(0) => cell = format!("\\textbf{{{cell}}}"),
                Some(1) => cell = format!("\\underline{{{cell}}}"),
                _ => {}
            }
            if let Some(Interval { low, high }) = (column.interval)(&tracker.overall) {
                cell += &format!(" {{\\scriptsize [{low:.3}, {high:.3}]}}");
            }
            text += &format!(" & {cell}");
        }
        text += " \\\\\n";
    }
    text += "    \\bottomrule\n  \\end{tabular}\n\\end{table}\n";
    let attributes = attributes(report);
    if !attributes.is_empty() {
        text += "\n\\begin{table}\n  \\centering\n  \\caption{AUC by attribute, with the number of sequences.}\n";
        text += &format!("  \\begin{{tabular}}{{l{}}}\n    \\toprule\n    Tracker", "r".repeat(attributes.len()));
        for (short, _, n) in &attributes {
            text += &format!(" & {short} ({n})");
        }
        text += " \\\\\n    \\midrule\n";
        for tracker in &report.trackers {
            text += &format!("    {}", escape_latex(&tracker.name));
            for (short, _, n) in &attributes {
                let cell = tracker.attributes.get(*short);
                let cell = cell.map_or("--".into(), |a| format!("{:.3}{}", a.auc, own_count(a, *n)));
                text += &format!(" & {cell}");
            }
            text += " \\\\\n";
        }
        text += "    \\bottomrule\n  \\end{tabular}\n\\end{table}\n";
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

fn escape_latex(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '\\' => escaped += "\\textbackslash{}",
            '~' => escaped += "\\textasciitilde{}",
            '^' => escaped += "\\textasciicircum{}",
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                escaped.push('\\');
                escaped.push(c);
            }
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bbox::BBox;
    use crate::eval::Toolkit;
    use crate::eval::metrics::score;
    use crate::eval::report::tests::report;
    use crate::eval::summary::aggregate;

    #[test]
    fn every_tracker_has_its_line_in_both() {
        let report = report();
        let (md, tex) = (markdown(&report), latex(&report));
        assert!(md.contains("| a\\|b_&lt | ") || md.contains("| a\\|b_<1> |"), "{md}");
        assert!(md.contains("**") && md.contains("IV (3)"));
        assert_eq!(md.lines().filter(|l| l.starts_with("| ")).count(), 2 * (2 + report.trackers.len()));
        assert!(tex.contains("a|b\\_<1> & ") && tex.contains("\\textbf{") && tex.contains("95 \\% intervals"), "{tex}");
        assert_eq!(tex.matches("\\toprule").count(), 2);
        // As many cells in every row of a table.
        for table in tex.split("\\begin{tabular}").skip(1) {
            let cells: Vec<usize> =
                table.lines().filter(|l| l.ends_with("\\\\")).map(|l| l.matches(" & ").count()).collect();
            assert!(cells.windows(2).all(|w| w[0] == w[1]), "{cells:?}");
        }
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
        assert!(latex(&partial).contains("\\textbf{"));
    }

    #[test]
    fn a_tracker_with_fewer_sequences_of_an_attribute_says_how_many() {
        let mut report = report();
        let good = report.trackers.iter_mut().find(|t| t.name == "good").unwrap();
        let auc = format!("{:.3}", good.attributes["IV"].auc);
        good.attributes.get_mut("IV").unwrap().sequences = 2;
        good.attributes.remove("OCC");
        let (md, tex) = (markdown(&report), latex(&report));
        assert!(md.contains("| Tracker | IV (3) | SV (3) | OCC (3) |"), "{md}");
        assert!(md.contains(&format!("| good | {auc} (2) | {auc} | – |")), "{md}");
        assert!(tex.contains(&format!("good & {auc} (2) & {auc} & -- ")), "{tex}");
    }

    #[test]
    fn a_tracker_without_a_mean_centre_error_is_not_ranked_by_it() {
        let mut report = report();
        let good = report.trackers.iter_mut().find(|t| t.name == "good").unwrap();
        // One good box, and none in the frames after it.
        let boxes = [&[BBox::new(10.0, 10.0, 40.0, 40.0)][..], &[BBox::new(f64::NAN, 0.0, 1.0, 1.0); 19]].concat();
        let truth = vec![Some(boxes[0]); 20];
        good.sequences.insert("B".into(), score(&truth, &boxes, Toolkit::Got10k).unwrap());
        good.overall = aggregate(good.sequences.values(), Toolkit::Got10k);
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
    fn one_sequence_is_no_sequences() {
        let mut report = report();
        report.sequences.truncate(1);
        assert!(markdown(&report).starts_with("OPE on 1 sequence, mean"));
        report.sequences.push(report.sequences[0].clone());
        assert!(markdown(&report).starts_with("OPE on 2 sequences, mean"));
    }
}
