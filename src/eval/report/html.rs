//! The page: one file that loads nothing.

use super::plot::color_of;
use super::tables::{Over, comparison};
use super::{About, Plots, attributes, fps, heading, own_count, plural, styles};
use crate::eval::reliability::{Reliability, STATES};
use crate::eval::summary::{Interval, Origin, Report, Timings};
use crate::eval::{Protocol, Score, Toolkit};
use crate::text::{cell, escape, fill};
use crate::tracker::State;

/// The whole page.
pub fn page(report: &Report, timings: &Timings, about: &About, plots: &Plots, runs: [String; 2]) -> String {
    let [failures, overlaps] = runs;
    let focus = report.baseline.as_str();
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
        ("overall", overall(report, timings)),
        ("attributes link", link.into()),
        ("attributes", attributes.unwrap_or_default()),
        ("names", names),
        ("sequences", by_sequence(report)),
        ("failures", failures),
        ("overlaps", overlaps),
        ("states", states(report, plots)),
        ("common", common(report)),
        ("about", about_list(about, timings.jobs)),
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

/// The metrics in the order of their columns.
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
fn overall(report: &Report, timings: &Timings) -> String {
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
        text += &match comparison(report, tracker) {
            Some(c) => {
                let certain = if c.p_holm.is_some_and(|p| p < 0.05) { " class=\"certain\"" } else { "" };
                let interval = interval(c.auc_interval).replace('-', "\u{2212}");
                format!("<td data-v=\"{}\"{certain}>{}{interval}</td>{}", c.auc, signed(c.auc), number(c.p_holm, 4, ""))
            }
            None => number(None, 0, "").repeat(2),
        };
        text += "</tr>\n";
    }
    text
}

/// The rows of the table over the sequences that all trackers have, and its head; empty if all trackers have the same
/// sequences.
fn common(report: &Report) -> String {
    let n = report.common.len();
    let mut rows = String::new();
    for (tracker, a) in Over::Common.rows(report) {
        rows += &format!("<tr>{}", name_cell(report, &tracker.name));
        for (_, decimals, value) in METRICS {
            rows += &number(value(&a.mean), decimals, "");
        }
        rows += &format!("{}</tr>\n", number(tracker.mean_rank, 2, ""));
    }
    if n == 0 {
        return "<p class=\"note\">No sequence is common to all trackers.</p>\n".into();
    }
    format!(
        "<h3>On the {} that all trackers have</h3>\n<div class=\"scroll\"><table class=\"sortable\" \
         id=\"common-table\"><thead><tr><th>Tracker</th><th>AUC</th><th>P@20</th><th>P<sub>norm</sub></th><th>OR@0.5</th>\
         <th>IoU</th><th>CLE</th><th title=\"mean rank by AUC, 1 is the best\">Rank</th></tr></thead>\n<tbody>\n\
         {rows}</tbody></table></div>\n",
        plural(n, "sequence", "sequences")
    )
}

/// The section on states and confidence.
fn states(report: &Report, plots: &Plots) -> String {
    let ours: Vec<_> = report.trackers.iter().filter(|tracker| tracker.reliability.is_some()).collect();
    if ours.is_empty() {
        return String::new();
    }
    let heads = |group: &str| {
        let head = |state: State| format!("<th title=\"share of the {group} with this state\">{}</th>", state.name());
        STATES.map(head).concat()
    };
    let mut text = format!(
        "<section id=\"states\"><h2>States and confidence</h2>\n<p>A hit is a frame with an overlap above 0.5. Frames are \
         pooled over all sequences; the given box and frames without a label do not count.</p>\n<div \
         class=\"scroll\"><table><thead><tr><th></th><th colspan=\"6\" class=\"group\">on hits</th><th colspan=\"6\" \
         class=\"group\">on misses</th><th colspan=\"2\" class=\"group\">confidence</th></tr>\n<tr><th>Tracker</th>\
         <th>frames</th>{}<th>frames</th>{}<th title=\"area under the ROC curve\">AUROC</th><th title=\"expected \
         calibration error, ten bins\">ECE</th></tr></thead>\n<tbody>\n",
        heads("hits"),
        heads("misses")
    );
    for tracker in ours {
        let columns = Reliability::columns(tracker.reliability.as_ref());
        let frames = tracker.reliability.as_ref().map_or([0; 2], |r| [r.hits.frames, r.misses.frames]);
        let cells = |columns: &[Option<f64>]| columns.iter().map(|value| number(*value, 3, "")).collect::<String>();
        let count = |i: usize| number(Some(frames[i] as f64), 0, "");
        let (hits, misses, confidence) = (cells(&columns[..5]), cells(&columns[5..10]), cells(&columns[10..]));
        let name = name_cell(report, &tracker.name);
        text += &format!("<tr>{name}{}{hits}{}{misses}{confidence}</tr>\n", count(0), count(1));
    }
    text += "</tbody></table></div>\n";
    if let Some(plot) = &plots.reliability {
        text += &format!("<div class=\"plots single\">{}</div>\n", figure(plot, "Reliability plot"));
    }
    text + "</section>\n"
}

/// How the report was made.
fn about_list(about: &About, jobs: usize) -> String {
    let speed = match jobs {
        0 | 1 => "each run alone".into(),
        jobs => format!("{jobs} runs at the same time, so frames per second are left out (--jobs 1 measures them)"),
    };
    let rows = [
        ("Date", &about.date),
        ("Command", &about.command),
        ("Data", &about.data),
        ("Processor", &about.cpu),
        ("Versions", &about.versions),
        ("Runs", &speed),
    ];
    rows.map(|(name, value)| format!("<dt>{name}</dt><dd>{}</dd>\n", escape(value))).concat()
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
                    let value = |of: fn(&Score) -> Option<f64>| cell(of(s));
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

/// Left-out sequences, warnings, and the parameters of trackers.
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
