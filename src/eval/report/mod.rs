//! The report of an evaluation: a page, plots and tables.
//!
//! | file | what it is |
//! | --- | --- |
//! | `report.html` | everything on one page that needs no network |
//! | `report.json` | all numbers, [`Report`]; the same for the same boxes, to the byte |
//! | `timings.json` | frames per second, which differ from run to run |
//! | `success`, `precision`, `normalized_precision` as `.svg` | plots for papers |
//! | `overall.csv`, `overall.tex`, `common.csv`, `common.tex` | the two tables of means; `common` is over the sequences that all trackers have |
//! | `results` | the boxes of each tracker that ran once a sequence, as `--results` reads them |
//! | `scores.csv` | the scores by sequence and tracker, with the attributes of the sequence |
//! | `attributes.csv` | the mean scores by attribute and tracker |

mod html;
mod plot;
mod runs;
mod tables;

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use plot::{Axes, Series, plot, points};
use runs::{failures, overlaps};
use tables::{Over, reliability_columns};

use super::dataset::safe_file_name;
use super::reliability::Reliability;
use super::summary::{ATTRIBUTES, Aggregate, Interval, Origin, Report, Timings, TrackerReport};
use super::{Evaluated, Evaluation, Protocol, Score};
use crate::atomic_file;
use crate::error::Result;
use crate::text::{cell, csv_line, escape};

/// An attribute with fewer sequences has no plot of its own (as in the OTB toolkit).
const MIN_SEQUENCES: usize = 2;

/// All plots of a report.
struct Plots {
    /// Success, precision and normalised precision.
    overall: [String; 3],
    /// Confidence against the share of hits, of trackers with a confidence.
    reliability: Option<String>,
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
        let mut by_attribute = Vec::new();
        for (short, long, n) in attributes(report).into_iter().filter(|(.., n)| *n >= MIN_SEQUENCES) {
            let title = format!("Success, {long} ({n})");
            by_attribute.push((title.clone(), SUCCESS.draw(report, title, Some((short, n)))?));
        }
        let overall = |curve: &Curve| {
            let protocol = report.protocol.to_string().to_uppercase();
            curve.draw(report, format!("{} plots of {protocol}", curve.name), None)
        };
        let overall = [overall(&SUCCESS)?, overall(&PRECISION)?, overall(&NORMALIZED)?];
        Ok(Self { overall, reliability: reliability(report)?, by_attribute })
    }
}

/// A curve of a score over thresholds, and the axes of its plot.
struct Curve {
    name: &'static str,
    axes: Axes,
    score: fn(&Score) -> f64,
    values: fn(&Score) -> &Vec<f64>,
}

const SUCCESS: Curve = Curve {
    name: "Success",
    axes: Axes { x_label: "Overlap threshold", y_label: "Success rate", x_max: 1.0, x_decimals: 1 },
    score: |s| s.auc,
    values: |s| &s.success,
};

const PRECISION: Curve = Curve {
    name: "Precision",
    axes: Axes { x_label: "Location error threshold (px)", y_label: "Precision", x_max: 50.0, x_decimals: 0 },
    score: |s| s.precision_20,
    values: |s| &s.precision,
};

const NORMALIZED: Curve = Curve {
    name: "Normalised precision",
    axes: Axes { x_label: "Normalised location error threshold", y_label: "Precision", x_max: 0.5, x_decimals: 2 },
    score: |s| s.normalized_precision,
    values: |s| &s.normalized,
};

impl Curve {
    /// The plot of all trackers, over all sequences or over the `n` of an attribute.
    fn draw(&self, report: &Report, title: String, attribute: Option<(&str, usize)>) -> Result<String> {
        let mixed = report.trackers.iter().any(|t| t.origin == Origin::Results);
        let series = |(t, style): (&TrackerReport, usize)| {
            let aggregate = attribute.map_or(Some(&t.overall), |(a, _)| t.attributes.get(a))?;
            let own = attribute.map_or(String::new(), |(_, n)| own_count(aggregate, n));
            Some(Series {
                name: format!("{}{own}", t.name),
                score: (self.score)(&aggregate.mean),
                style,
                emphasis: mixed && t.origin == Origin::Run,
                points: points((self.values)(&aggregate.mean), self.axes.x_max),
            })
        };
        plot(&title, &self.axes, false, report.trackers.iter().zip(styles(report)).filter_map(series).collect())
    }
}

/// The plot of confidence against the share of hits; `None` if no tracker has a confidence.
fn reliability(report: &Report) -> Result<Option<String>> {
    let series = |(t, style): (&TrackerReport, usize)| {
        let found = t.reliability.as_ref()?;
        let points = found.bins.iter().map(|bin| (bin.confidence, bin.hits)).collect();
        Some(Series { name: t.name.clone(), score: found.calibration_error?, style, emphasis: false, points })
    };
    let all: Vec<_> = report.trackers.iter().zip(styles(report)).filter_map(series).collect();
    let y_label = "Share of frames with overlap above 0.5";
    let axes = Axes { x_label: "Mean confidence", y_label, x_max: 1.0, x_decimals: 1 };
    if all.is_empty() { Ok(None) } else { plot("Reliability [calibration error]", &axes, true, all).map(Some) }
}

/// How a report was made.
#[derive(Clone, Debug, Default, Serialize)]
pub struct About {
    /// The day and the minute, UTC.
    pub date: String,
    /// The program and its arguments.
    pub command: String,
    /// The folder of the sequences.
    pub data: String,
    /// The processor and its number of threads.
    pub cpu: String,
    /// Version and commit of the program.
    pub versions: String,
}

impl About {
    /// This moment on this machine.
    pub fn now(command: String, data: &Path) -> Self {
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let cpu = cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            date: date(seconds),
            command,
            data: data.canonicalize().unwrap_or(data.to_path_buf()).display().to_string(),
            cpu: format!("{}, {threads} threads", cpu.map_or(std::env::consts::ARCH, |(_, name)| name)),
            versions: format!(
                "kcf-track {}, commit {}",
                env!("CARGO_PKG_VERSION"),
                option_env!("KCF_TRACK_COMMIT").unwrap_or("not recorded")
            ),
        }
    }
}

/// Seconds since 1970 as `2026-11-28 20:46 UTC`, by the civil calendar (Hinnant, `civil_from_days`).
fn date(seconds: u64) -> String {
    let time = rawzip::time::UtcDateTime::from_unix(seconds as i64);
    let [month, day, hour, minute] = [time.month(), time.day(), time.hour(), time.minute()];
    format!("{}-{month:02}-{day:02} {hour:02}:{minute:02} UTC", time.year())
}

/// The boxes of each tracker that ran once a sequence, as result files.
fn write_results(evaluation: &Evaluation, evaluated: &Evaluated, out: &Path) -> Result<()> {
    let own = evaluated.report.trackers.iter().filter(|tracker| tracker.origin == Origin::Run);
    for tracker in own.filter(|_| evaluation.protocol == Protocol::Ope) {
        for (name, run) in evaluated.traces.get(&tracker.name).into_iter().flatten() {
            let Some(sequence) = evaluation.dataset.sequences.iter().find(|s| s.name == *name) else { continue };
            let row = |bbox| sequence.base.to_numbers(bbox).map(|number| number.to_string()).join(",") + "\n";
            let text: String = run.boxes.iter().map(row).collect();
            let file = out.join("results").join(safe_file_name(&tracker.name));
            atomic_file::write(&file.join(format!("{}.txt", safe_file_name(name))), text.as_bytes())?;
        }
    }
    Ok(())
}

/// The files of a report with its numbers.
pub(crate) const TABLES: &str =
    "report.html report.json scores.csv attributes.csv overall.csv common.csv overall.tex common.tex";

/// Writes all files of the report into the folder `out`.
///
/// # Errors
/// When a plot cannot be drawn or a file cannot be written.
pub fn write(evaluation: &Evaluation, evaluated: &Evaluated, about: &About, out: &Path) -> Result<()> {
    let report = &evaluated.report;
    atomic_file::write_json(&out.join("report.json"), report)?;
    let timings = serde_json::json!({ "schema": evaluated.timings.schema, "about": about, "jobs": evaluated.timings.jobs,
        "trackers": evaluated.timings.trackers });
    atomic_file::write_json(&out.join("timings.json"), &timings)?;
    for (name, over) in [("overall", Over::All), ("common", Over::Common)] {
        atomic_file::write(&out.join(format!("{name}.csv")), tables::csv(report, over).as_bytes())?;
        atomic_file::write(&out.join(format!("{name}.tex")), tables::latex(report, over).as_bytes())?;
    }
    write_results(evaluation, evaluated, out)?;
    atomic_file::write(&out.join("scores.csv"), csv(report).as_bytes())?;
    atomic_file::write(&out.join("attributes.csv"), csv_by_attribute(report).as_bytes())?;
    let plots = Plots::draw(report)?;
    for (name, plot) in ["success", "precision", "normalized_precision"].into_iter().zip(&plots.overall) {
        atomic_file::write(&out.join(format!("{name}.svg")), plot.as_bytes())?;
    }
    if let Some(plot) = &plots.reliability {
        atomic_file::write(&out.join("reliability.svg"), plot.as_bytes())?;
    }
    let focus = report.baseline.as_str();
    let mut failures = failures(evaluation, evaluated, focus);
    for tracker in report.trackers.iter().filter(|tracker| tracker.name != focus) {
        let text = self::failures(evaluation, evaluated, &tracker.name);
        failures += &format!("<details><summary>{}</summary>\n{text}</details>\n", escape(&tracker.name));
    }
    let page = html::page(report, &evaluated.timings, about, &plots, [failures, overlaps(evaluation, evaluated)]);
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
         mean_center_error,failures,attributes,",
    );
    text += &csv_line(&reliability_columns());
    for sequence in &report.sequences {
        for tracker in &report.trackers {
            let Some(s) = tracker.sequences.get(&sequence.name) else { continue };
            let mut row = vec![sequence.name.clone(), tracker.name.clone()];
            row.extend([s.frames, s.labelled].map(|count| count.to_string()));
            row.extend(means(s));
            row.push(cell(s.mean_center_error));
            row.push(s.failures.to_string());
            row.push(sequence.attributes.join(";"));
            let said = tracker.reliability_by_sequence.get(&sequence.name);
            row.extend(Reliability::columns(said).into_iter().map(cell));
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
        let page = html::page(&report, &Timings::default(), &About::default(), &plots, Default::default());
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
    fn dates_follow_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_400 + 3661), "2000-02-29 01:01 UTC");
        assert_eq!(date(1_798_761_599), "2026-12-31 23:59 UTC");
    }

    #[test]
    fn csv_has_a_row_per_sequence_and_tracker() {
        let mut report = report();
        report.trackers[0].name = "a, \"b\"".into();
        let text = csv(&report);
        assert_eq!(text.lines().count(), 1 + 3 * 3);
        let auc = report.trackers[0].sequences["A"].auc;
        assert!(text.contains(&format!("\nA,\"a, \"\"b\"\"\",20,20,{auc},")), "{text}");
        assert!(text.contains(&format!(",IV;SV;OCC,{}\n", ",".repeat(11))), "{text}");
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
