//! The report of an evaluation: a page, plots and tables.
//!
//! | file | what it is |
//! | --- | --- |
//! | `report.html` | everything on one page that needs no network |
//! | `report.json` | all numbers, [`Report`]; the same for the same boxes, to the byte |
//! | `timings.json` | frames per second, which differ from run to run |
//! | `success`, `precision`, `normalized_precision` as `.svg` | plots for papers |
//! | `scores.csv` | the scores by sequence and tracker, with the attributes of the sequence |
//! | `attributes.csv` | the mean scores by attribute and tracker |

mod failures;
mod html;
mod plot;

use std::path::Path;

use failures::failures;
use plot::{Axes, Series, plot};

use super::summary::{ATTRIBUTES, Aggregate, Interval, Origin, Report, Timings, TrackerReport};
use super::{Evaluated, Evaluation, Score};
use crate::atomic_file;
use crate::error::Result;
use crate::text::{csv_line, escape};

/// An attribute with fewer sequences has no plot of its own (as in the OTB toolkit).
const MIN_SEQUENCES: usize = 2;

/// All plots of a report.
struct Plots {
    /// Success, precision and normalised precision.
    overall: [String; 3],
    /// Success by attribute, with the plot's name.
    by_attribute: Vec<(String, String)>,
}

/// The colour and dash of each tracker of the report: our own first, which get the strongest, then the others, best
/// first.
fn styles(report: &Report) -> Vec<usize> {
    let own = report.trackers.iter().filter(|t| t.origin == Origin::Run).count();
    let (mut ours, mut others) = (0..own, own..);
    let next = |t: &TrackerReport| if t.origin == Origin::Run { ours.next() } else { others.next() };
    report.trackers.iter().map(next).map(Option::unwrap_or_default).collect()
}

impl Plots {
    fn draw(report: &Report) -> Result<Self> {
        let styles = styles(report);
        let mixed = report.trackers.iter().any(|t| t.origin == Origin::Results);
        let series = |score: fn(&Score) -> f64, values: fn(&Score) -> &Vec<f64>, attribute: Option<(&str, usize)>| {
            let of = |(t, &style): (&TrackerReport, &usize)| {
                let aggregate = attribute.map_or(Some(&t.overall), |(a, _)| t.attributes.get(a))?;
                let own = attribute.map_or(String::new(), |(_, n)| own_count(aggregate, n));
                Some(Series {
                    name: format!("{}{own}", t.name),
                    score: score(&aggregate.mean),
                    style,
                    emphasis: mixed && t.origin == Origin::Run,
                    values: values(&aggregate.mean).clone(),
                })
            };
            report.trackers.iter().zip(&styles).filter_map(of).collect::<Vec<_>>()
        };
        let axes = |title, x_label, y_label, x_max, x_decimals| Axes { title, x_label, y_label, x_max, x_decimals };
        let success_axes = |title: String| axes(title, "Overlap threshold", "Success rate", 1.0, 1);
        let mut by_attribute = Vec::new();
        for (short, long, n) in attributes(report).into_iter().filter(|(.., n)| *n >= MIN_SEQUENCES) {
            let title = format!("Success, {long} ({n})");
            let series = series(|s| s.auc, |s| &s.success, Some((short, n)));
            by_attribute.push((title.clone(), plot(&success_axes(title), series)?));
        }
        let title = |what: &str| format!("{what} plots of {}", report.protocol.to_string().to_uppercase());
        let overall = [
            plot(&success_axes(title("Success")), series(|s| s.auc, |s| &s.success, None))?,
            plot(
                &axes(title("Precision"), "Location error threshold (px)", "Precision", 50.0, 0),
                series(|s| s.precision_20, |s| &s.precision, None),
            )?,
            plot(
                &axes(title("Normalised precision"), "Normalised location error threshold", "Precision", 0.5, 2),
                series(|s| s.normalized_precision, |s| &s.normalized, None),
            )?,
        ];
        Ok(Self { overall, by_attribute })
    }
}

/// The tracker that the others are compared with: the best of our own, else the best.
fn focus(report: &Report) -> &str {
    let own = report.trackers.iter().find(|t| t.origin == Origin::Run);
    own.or(report.trackers.first()).map_or("", |t| t.name.as_str())
}

/// Writes all files of the report into the folder `out`.
///
/// # Errors
/// When a plot cannot be drawn or a file cannot be written.
pub fn write(evaluation: &Evaluation, evaluated: &Evaluated, out: &Path) -> Result<()> {
    let report = &evaluated.report;
    atomic_file::write_json(&out.join("report.json"), report)?;
    atomic_file::write_json(&out.join("timings.json"), &evaluated.timings)?;
    atomic_file::write(&out.join("scores.csv"), csv(report).as_bytes())?;
    atomic_file::write(&out.join("attributes.csv"), csv_by_attribute(report).as_bytes())?;
    let plots = Plots::draw(report)?;
    for (name, plot) in ["success", "precision", "normalized_precision"].into_iter().zip(&plots.overall) {
        atomic_file::write(&out.join(format!("{name}.svg")), plot.as_bytes())?;
    }
    let focus = focus(report);
    let mut failures = failures(evaluation, evaluated, focus);
    for tracker in report.trackers.iter().filter(|tracker| tracker.name != focus) {
        let text = self::failures::failures(evaluation, evaluated, &tracker.name);
        failures += &format!("<details><summary>{}</summary>\n{text}</details>\n", escape(&tracker.name));
    }
    let page = html::page(report, &evaluated.timings, &plots, focus, &failures);
    atomic_file::write(&out.join("report.html"), page.as_bytes())
}

/// The attributes that at least one tracker has a sequence of, with the largest number of sequences.
fn attributes(report: &Report) -> Vec<(&'static str, &'static str, usize)> {
    ATTRIBUTES
        .iter()
        .filter_map(|&(short, long)| {
            let n = report.trackers.iter().filter_map(|t| t.attributes.get(short)).map(|a| a.sequences).max()?;
            Some((short, long, n))
        })
        .collect()
}

/// The number of sequences behind a score by attribute where it is not `n`, that of the attribute's column: ` (2)`.
fn own_count(aggregate: &Aggregate, n: usize) -> String {
    if aggregate.sequences == n { String::new() } else { format!(" ({})", aggregate.sequences) }
}

fn fps(timings: &Timings, tracker: &TrackerReport) -> Option<f64> {
    timings.trackers.get(&tracker.name).map(|t| t.fps)
}

/// The scores by sequence and tracker as CSV.
pub fn csv(report: &Report) -> String {
    let mut text = String::from(
        "sequence,tracker,frames,labelled,auc,precision_20,normalized_precision,overlap_rate_50,mean_overlap,\
         mean_center_error,failures,attributes\n",
    );
    for sequence in &report.sequences {
        for tracker in &report.trackers {
            let Some(s) = tracker.sequences.get(&sequence.name) else { continue };
            let mut row = vec![sequence.name.clone(), tracker.name.clone()];
            row.extend([s.frames, s.labelled].map(|count| count.to_string()));
            row.extend(means(s));
            row.push(s.mean_center_error.map_or(String::new(), |error| error.to_string()));
            row.push(s.failures.to_string());
            row.push(sequence.attributes.join(";"));
            text += &csv_line(&row);
        }
    }
    text
}

/// The scores that both tables have.
fn means(s: &Score) -> [String; 5] {
    let all = [s.auc, s.precision_20, s.normalized_precision, s.overlap_rate_50, s.mean_overlap];
    all.map(|score| score.to_string())
}

/// The mean scores by attribute and tracker as CSV; `all` is over all sequences.
fn csv_by_attribute(report: &Report) -> String {
    let mut text = String::from(
        "attribute,tracker,sequences,auc,precision_20,normalized_precision,overlap_rate_50,mean_overlap,failures\n",
    );
    let attributes = attributes(report).into_iter().map(|(short, ..)| short);
    for attribute in std::iter::once("all").chain(attributes) {
        for tracker in &report.trackers {
            let aggregate = if attribute == "all" { Some(&tracker.overall) } else { tracker.attributes.get(attribute) };
            let Some(Aggregate { sequences, mean: s, .. }) = aggregate else { continue };
            let mut row = vec![attribute.to_owned(), tracker.name.clone(), sequences.to_string()];
            row.extend(means(s));
            row.push(s.failures.to_string());
            text += &csv_line(&row);
        }
    }
    text
}

fn plural(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// The title of the page: `OPE on 24 sequences`.
fn heading(report: &Report) -> String {
    let sequences = plural(report.sequences.len(), "sequence", "sequences");
    format!("{} on {sequences}", report.protocol.to_string().to_uppercase())
}

/// A short table for a terminal.
pub fn plain(report: &Report, timings: &Timings) -> String {
    let width = report.trackers.iter().map(|t| t.name.chars().count()).max().unwrap_or(0).max(7);
    let mut text =
        format!("{:width$}  {:>5}  {:>15}  {:>5}  {:>15}  {:>8}\n", "tracker", "AUC", "95 %", "P@20", "95 %", "fps");
    let all = report.trackers.iter().map(|tracker| tracker.overall.sequences).max().unwrap_or(0);
    for tracker in &report.trackers {
        let a = &tracker.overall;
        let on = if a.sequences < all { format!("  on {} of {all} sequences", a.sequences) } else { String::new() };
        let interval = |i: Option<Interval>| i.map_or(String::new(), |i| format!("[{:.3}, {:.3}]", i.low, i.high));
        text += &format!(
            "{:width$}  {:.3}  {:>15}  {:.3}  {:>15}  {:>8}{on}\n",
            tracker.name,
            a.mean.auc,
            interval(a.auc_interval),
            a.mean.precision_20,
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
    fn the_page_escapes_names_and_loads_nothing() {
        let report = report();
        let plots = Plots::draw(&report).unwrap();
        let page = html::page(&report, &Timings::default(), &plots, focus(&report), "");
        assert!(!page.contains("<script>alert") && !page.contains("<b>broken"));
        assert!(page.contains("&lt;script&gt;alert(1)") && page.contains("odd &amp; even"));
        assert_eq!(page.matches("<script>").count(), 1);
        assert_eq!(page.matches("<svg").count(), 2 + 3, "success, precision, and three attributes");
        assert_eq!(page.matches("http://").count(), page.matches("http://www.w3.org/2000/svg").count());
        assert!(!page.contains("https://"));
        assert!(page.contains("labels are 1-based in 1 sequences and 0-based in 2"));
        assert!(page.contains("id=\"attributes-table\"") && page.contains("illumination variation"));
    }

    #[test]
    fn our_best_tracker_is_the_focus() {
        let mut report = report();
        report.trackers.rotate_left(1);
        assert_eq!(focus(&report), "good");
        report.trackers.iter_mut().for_each(|t| t.origin = Origin::Results);
        assert_eq!(focus(&report), report.trackers[0].name);
    }

    #[test]
    fn csv_has_a_row_per_sequence_and_tracker() {
        let mut report = report();
        report.trackers[0].name = "a, \"b\"".into();
        let text = csv(&report);
        assert_eq!(text.lines().count(), 1 + 3 * 3);
        let auc = report.trackers[0].sequences["A"].auc;
        assert!(text.contains(&format!("\nA,\"a, \"\"b\"\"\",20,20,{auc},")), "{text}");
        assert!(text.contains(",IV;SV;OCC\n"), "{text}");
        let means = csv_by_attribute(&report);
        assert_eq!(means.lines().count(), 1 + (1 + 3) * 3, "all and three attributes: {means}");
        assert!(
            means.contains(&format!("\nOCC,\"a, \"\"b\"\"\",3,{},", report.trackers[0].overall.mean.auc)),
            "{means}"
        );
    }

    #[test]
    fn the_table_tells_means_over_fewer_sequences() {
        let mut report = report();
        assert!(!plain(&report, &Timings::default()).contains("sequences\n"));
        report.trackers[1].overall.sequences = 1;
        let text = plain(&report, &Timings::default());
        assert_eq!(text.lines().count(), 2 + report.trackers.len());
        assert!(text.lines().nth(2).unwrap().ends_with("  on 1 of 3 sequences"), "{text}");
    }
}
