//! The page: one file that loads nothing.

use super::plot::color_of;
use super::{Plots, attributes, fps, heading, own_count, plural, styles};
use crate::eval::summary::{Difference, Interval, Origin, Report, Timings};
use crate::eval::{Protocol, Score, Toolkit};
use crate::text::{escape, fill};

/// The whole page. `focus` is the tracker that others are compared with; `failures` is that section.
pub fn page(report: &Report, timings: &Timings, plots: &Plots, focus: &str, failures: &str) -> String {
    let frames: usize = report.sequences.iter().map(|s| s.frames).sum();
    let left_out = plural(report.left_out.len(), "result was", "results were");
    let noted = format!("<p class=\"minus\">{left_out} left out: <a href=\"#method\">what and why</a>.</p>\n");
    let attributes = by_attribute(report, plots);
    let link = attributes.as_ref().map_or("", |_| "<a href=\"#attributes\">Attributes</a>\n");
    let protocol = match report.protocol {
        Protocol::Ope => "One-pass evaluation: each tracker runs once from the first label.",
        Protocol::Tre => {
            "Temporal robustness: runs from up to 20 labels spread over each sequence, pooled by frame. Among these \
             are frames that the OTB toolkit's lists of occluded frames leave out (in FaceOcc1, Girl and a few \
             more), so that scores are a little lower there than the toolkit's."
        }
        Protocol::Sre => "Spatial robustness: 12 runs from shifted and scaled first labels, pooled by frame.",
    };
    let rules = match report.toolkit {
        Toolkit::Otb => {
            "A label counts when all four of its numbers are above zero, 1-based. A frame without such a label is a \
             miss for success and a hit for precision. An invalid box repeats the one before."
        }
        Toolkit::Got10k => "Every label counts. An invalid box is scored as it is.",
    };
    let names: String = report.trackers.iter().map(|t| format!("<th>{}</th>", escape(&t.name))).collect();
    let [success, precision, _] = &plots.overall;
    let parts = [
        ("title", heading(report)),
        ("style", include_str!("style.css").into()),
        ("script", include_str!("script.js").into()),
        ("version", escape(&report.version)),
        ("trackers", plural(report.trackers.len(), "tracker", "trackers")),
        ("frames", frames.to_string()),
        ("toolkit", report.toolkit.to_string()),
        ("bases", report.bases()),
        ("noted", if report.left_out.is_empty() { String::new() } else { noted }),
        ("plots", figure(success, "Success plot") + &figure(precision, "Precision plot")),
        ("focus", escape(focus)),
        ("overall", overall(report, timings, focus)),
        ("attributes link", link.into()),
        ("attributes", attributes.unwrap_or_default()),
        ("names", names),
        ("sequences", by_sequence(report)),
        ("failures", failures.into()),
        ("protocol", protocol.into()),
        ("rules", rules.into()),
        ("remarks", remarks(report)),
    ];
    fill(include_str!("page.html"), &parts)
}

/// A plot inside a page: without the XML declaration, with a name for screen readers.
fn figure(plot: &str, name: &str) -> String {
    let svg = plot.find("<svg").map_or("", |at| &plot[at..]);
    let named = svg.replacen("<svg", &format!("<svg role=\"img\" aria-label=\"{}\"", escape(name)), 1);
    format!("<figure>{named}</figure>\n")
}

fn interval(interval: Option<Interval>) -> String {
    interval.map_or(String::new(), |Interval { low, high }| format!(" <span class=\"ci\">[{low:.3}, {high:.3}]</span>"))
}

fn signed(value: f64) -> String {
    // A true minus sign is as wide as the plus.
    format!("{value:+.3}").replace('-', "\u{2212}")
}

fn name_cell(report: &Report, name: &str) -> String {
    let of = report.trackers.iter().zip(styles(report)).find(|(t, _)| t.name == name);
    let color = color_of(of.map_or(0, |(_, style)| style));
    format!("<td><span class=\"swatch\" style=\"background:{color}\"></span>{}</td>", escape(name))
}

/// A score in the tables: its key, its decimals, its value.
type Metric = (&'static str, usize, fn(&Score) -> Option<f64>);

/// In the order of their columns.
const METRICS: [Metric; 6] = [
    ("auc", 3, |s| Some(s.auc)),
    ("p20", 3, |s| Some(s.precision_20)),
    ("pn", 3, |s| Some(s.normalized_precision)),
    ("or", 3, |s| Some(s.overlap_rate_50)),
    ("iou", 3, |s| Some(s.mean_overlap)),
    ("cle", 1, |s| s.mean_center_error),
];

/// A cell with a number that a click on its column sorts by.
fn number(value: Option<f64>, decimals: usize, more: &str) -> String {
    match value {
        Some(v) => format!("<td data-v=\"{v}\">{v:.decimals$}{more}</td>"),
        None => "<td data-v=\"\">–</td>".into(),
    }
}

/// The rows of the table of all trackers.
fn overall(report: &Report, timings: &Timings, focus: &str) -> String {
    let mut text = String::new();
    for tracker in &report.trackers {
        let a = &tracker.overall;
        let own = if tracker.origin == Origin::Run { " class=\"own\"" } else { "" };
        text += &format!("<tr{own}>{}", name_cell(report, &tracker.name));
        for (key, decimals, value) in METRICS {
            let of = match key {
                "auc" => interval(a.auc_interval),
                "p20" => interval(a.precision_20_interval),
                _ => String::new(),
            };
            text += &number(value(&a.mean), decimals, &of);
        }
        text += &number(Some(a.mean.failures as f64), 0, "");
        text += &number(fps(timings, tracker), 1, "");
        text += &number(Some(a.sequences as f64), 0, "");
        text += &match difference(report, &tracker.name, focus) {
            Some((d, ci)) => {
                let certain = if ci.is_some_and(|ci| ci.excludes_zero()) { " class=\"certain\"" } else { "" };
                format!("<td data-v=\"{d}\"{certain}>{}{}</td>", signed(d), interval(ci).replace('-', "\u{2212}"))
            }
            None => number(None, 0, ""),
        };
        text += "</tr>\n";
    }
    text
}

/// AUC of `a` less that of `b`, with its interval.
fn difference(report: &Report, a: &str, b: &str) -> Option<(f64, Option<Interval>)> {
    let of = |x: &str, y: &str| -> Option<&Difference> {
        report.differences.iter().find(|d| d.better == x && d.worse == y && d.sequences > 0)
    };
    of(a, b)
        .map(|d| (d.auc, d.auc_interval))
        .or_else(|| of(b, a).map(|d| (-d.auc, d.auc_interval.map(|i| Interval { low: -i.high, high: -i.low }))))
}

/// The section on attributes; `None` without any.
fn by_attribute(report: &Report, plots: &Plots) -> Option<String> {
    let attributes = Some(attributes(report)).filter(|attributes| !attributes.is_empty())?;
    let mut text = "<section id=\"attributes\"><h2>Attributes</h2>\n<div class=\"scroll\"><table \
                    class=\"sortable heat\" id=\"attributes-table\"><thead><tr><th>Tracker (AUC)</th>"
        .to_owned();
    for (short, long, n) in &attributes {
        text += &format!("<th title=\"{long}\">{short} ({n})</th>");
    }
    text += "</tr></thead>\n<tbody>\n";
    for tracker in &report.trackers {
        text += &format!("<tr>{}", name_cell(report, &tracker.name));
        for (short, _, n) in &attributes {
            text += &match tracker.attributes.get(*short) {
                Some(a) => {
                    let own = own_count(a, *n);
                    let own = if own.is_empty() { own } else { format!("<span class=\"ci\">{own}</span>") };
                    format!("<td data-v=\"{0}\" style=\"--v:{0:.3}\">{0:.3}{own}</td>", a.mean.auc)
                }
                None => "<td data-v=\"\">–</td>".into(),
            };
        }
        text += "</tr>\n";
    }
    text += "</tbody></table></div>\n";
    let names: Vec<String> = attributes.iter().map(|(short, long, _)| format!("{short} {long}")).collect();
    text += &format!(
        "<p class=\"note\">{}. In brackets: number of sequences, in a cell where the tracker has fewer.</p>\n",
        names.join(" · ")
    );
    if !plots.by_attribute.is_empty() {
        text += "<details><summary>Success plots by attribute</summary><div class=\"plots small\">\n";
        for (name, plot) in &plots.by_attribute {
            text += &figure(plot, name);
        }
        text += "</div></details>\n";
    }
    Some(text + "</section>\n")
}

/// The rows of the table of all sequences.
fn by_sequence(report: &Report) -> String {
    let mut text = String::new();
    for sequence in &report.sequences {
        text += &format!("<tr><td>{}</td><td data-v=\"{1}\">{1}</td>", escape(&sequence.name), sequence.frames);
        for tracker in &report.trackers {
            text += &match tracker.sequences.get(&sequence.name) {
                Some(s) => {
                    let value = |of: fn(&Score) -> Option<f64>| of(s).map_or(String::new(), |v| v.to_string());
                    let all: String =
                        METRICS.iter().map(|(key, .., of)| format!(" data-{key}=\"{}\"", value(*of))).collect();
                    format!("<td class=\"score\" data-v=\"{0}\"{all} style=\"--v:{0:.3}\">{0:.3}</td>", s.auc)
                }
                None => "<td class=\"score\" data-v=\"\" style=\"--v:0\">–</td>".into(),
            };
        }
        text += &format!("<td class=\"left soft\">{}</td></tr>\n", escape(&sequence.attributes.join(" ")));
    }
    text
}

/// What was left out, warnings, and the parameters of trackers.
fn remarks(report: &Report) -> String {
    let mut text = String::new();
    if !report.left_out.is_empty() {
        text += "<h3>Left out</h3>\n<ul>\n";
        for l in &report.left_out {
            let tracker = l.tracker.as_ref().map_or(String::new(), |t| format!(" ({})", escape(t)));
            text += &format!("<li><b>{}</b>{tracker}: {}</li>\n", escape(&l.sequence), escape(&l.reason));
        }
        text += "</ul>\n";
    }
    if !report.warnings.is_empty() {
        text += "<h3>Warnings</h3>\n<ul>\n";
        text.extend(report.warnings.iter().map(|w| format!("<li>{}</li>\n", escape(w))));
        text += "</ul>\n";
    }
    for tracker in report.trackers.iter().filter(|t| t.origin == Origin::Run) {
        let parameters = serde_json::to_string_pretty(&tracker.parameters).unwrap_or_default();
        text += &format!(
            "<details><summary>Parameters of {}</summary><pre>{}</pre></details>\n",
            escape(&tracker.name),
            escape(&parameters)
        );
    }
    text
}
