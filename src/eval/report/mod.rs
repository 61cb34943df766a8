//! The report of an evaluation: a page, plots and tables.
//!
//! | file | what it is |
//! | --- | --- |
//! | `report.html` | everything on one page that needs no network |
//! | `report.json` | all numbers, [`Report`]; the same for the same boxes, to the byte |
//! | `timings.json` | frames per second, which differ from run to run |
//! | `success`, `precision`, `normalized_precision` as `.svg` and `.png` | plots for papers |
//! | `scores.csv` | the scores by sequence and tracker |

mod failures;
mod filmstrip;
mod html;
pub mod plot;
pub mod series;
mod table;

use std::path::Path;

use plot::{Axes, Plot, curves};
use series::Series;
pub use table::plain;

use super::runner::Evaluation;
use super::summary::{Aggregate, Evaluated, Origin, Report, TrackerReport};
use crate::atomic_file;
use crate::error::{Error, Result};

/// An attribute with fewer sequences has no plot of its own (as in the OTB toolkit).
const MIN_SEQUENCES: usize = 2;

/// All plots of a report.
struct Plots {
    success: Plot,
    precision: Plot,
    normalized: Plot,
    by_attribute: Vec<(String, Plot)>,
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
        let protocol = report.protocol.name().to_uppercase();
        let styles = styles(report);
        let mixed = report.trackers.iter().any(|t| t.origin == Origin::Results);
        let series =
            |score: fn(&Aggregate) -> f64, values: fn(&Aggregate) -> &Vec<f64>, attribute: Option<(&str, usize)>| {
                let of = |(t, &style): (&TrackerReport, &usize)| {
                    let aggregate = attribute.map_or(Some(&t.overall), |(a, _)| t.attributes.get(a))?;
                    let own = attribute.map_or(String::new(), |(_, n)| table::own_count(aggregate, n));
                    let emphasis = mixed && t.origin == Origin::Run;
                    Some(Series {
                        name: format!("{}{own}", t.name),
                        score: score(aggregate),
                        style,
                        emphasis,
                        values: values(aggregate).clone(),
                    })
                };
                report.trackers.iter().zip(&styles).filter_map(of).collect::<Vec<_>>()
            };
        let success_axes = |title: String| Axes {
            title,
            x_label: "Overlap threshold",
            y_label: "Success rate",
            x_max: 1.0,
            x_decimals: 1,
        };
        let spokes: Vec<_> = table::attributes(report);
        let by_attribute = spokes
            .iter()
            .filter(|(.., n)| *n >= MIN_SEQUENCES)
            .map(|(short, long, n)| {
                let title = format!("Success, {long} ({n})");
                let plot = curves(success_axes(title.clone()), &series(|a| a.auc, |a| &a.success, Some((short, *n))))?;
                Ok((title, plot))
            })
            .collect::<Result<_>>()?;
        Ok(Self {
            success: curves(
                success_axes(format!("Success plots of {protocol}")),
                &series(|a| a.auc, |a| &a.success, None),
            )?,
            precision: curves(
                Axes {
                    title: format!("Precision plots of {protocol}"),
                    x_label: "Location error threshold (px)",
                    y_label: "Precision",
                    x_max: 50.0,
                    x_decimals: 0,
                },
                &series(|a| a.precision_20, |a| &a.precision, None),
            )?,
            normalized: curves(
                Axes {
                    title: format!("Normalised precision plots of {protocol}"),
                    x_label: "Normalised location error threshold",
                    y_label: "Precision",
                    x_max: 0.5,
                    x_decimals: 2,
                },
                &series(|a| a.normalized_precision, |a| &a.normalized, None),
            )?,
            by_attribute,
        })
    }
}

/// The files of a report but for its plots.
const DOCUMENTS: [&str; 4] = ["report.html", "report.json", "timings.json", "scores.csv"];
/// The plots, each as SVG and PNG.
const PLOTS: [&str; 3] = ["success", "precision", "normalized_precision"];

/// Removes the files of the report in the folder `out`, if there are any: those of another evaluation say nothing of
/// the one that the folder is used for now.
///
/// # Errors
/// [`Error::Io`] when one cannot be removed.
pub fn remove(out: &Path) -> Result<()> {
    PLOTS.iter().try_for_each(|name| remove_plot(out, name))?;
    DOCUMENTS.iter().try_for_each(|name| remove_file(&out.join(name)))
}

fn remove_plot(out: &Path, name: &str) -> Result<()> {
    ["svg", "png"].iter().try_for_each(|form| remove_file(&out.join(format!("{name}.{form}"))))
}

fn remove_file(path: &Path) -> Result<()> {
    crate::atomic_file::remove(path).map_err(|error| Error::io(path, error))
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
    atomic_file::write(&out.join("scores.csv"), table::csv(report).as_bytes())?;
    let plots = Plots::draw(report)?;
    for (name, plot) in PLOTS.into_iter().zip([&plots.success, &plots.precision, &plots.normalized]) {
        atomic_file::write(&out.join(format!("{name}.svg")), plot.svg.as_bytes())?;
        atomic_file::write(&out.join(format!("{name}.png")), &plot.png()?)?;
    }
    let focus = focus(report);
    let strips = filmstrip::worst(evaluation, evaluated, focus);
    let page = html::page(report, &evaluated.timings, &plots, focus, &strips);
    atomic_file::write(&out.join("report.html"), page.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::Protocol;
    use crate::eval::summary::Timings;
    use crate::eval::summary::tests::report;

    #[test]
    fn the_page_escapes_names_and_loads_nothing() {
        let report = report();
        let plots = Plots::draw(&report).unwrap();
        let page = html::page(&report, &Timings::default(), &plots, focus(&report), &[]);
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
    fn strips_say_which_run_they_show() {
        let mut report = report();
        let strips =
            [filmstrip::Strip { sequence: "A".into(), auc: 0.25, lost_at: Some(7), frames: 20, pictures: vec![] }];
        let plots = Plots::draw(&report).unwrap();
        for (protocol, expected) in [
            (Protocol::Ope, "AUC 0.250, target lost at frame 7 of 20"),
            (Protocol::Tre, "AUC of all runs 0.250; first run: target lost at frame 7 of 20"),
        ] {
            report.protocol = protocol;
            assert!(html::page(&report, &Timings::default(), &plots, focus(&report), &strips).contains(expected));
        }
    }

    #[test]
    fn our_best_tracker_is_the_focus() {
        let mut report = report();
        report.trackers.rotate_left(1);
        assert_eq!(focus(&report), "good");
        report.trackers.iter_mut().for_each(|t| t.origin = Origin::Results);
        assert_eq!(focus(&report), report.trackers[0].name);
    }
}
