//! The report of an evaluation: a page, plots and tables.
//!
//! | file | what it is |
//! | --- | --- |
//! | `report.html` | everything on one page that needs no network |
//! | `report.json` | all numbers, [`Report`]; the same for the same boxes, to the byte |
//! | `timings.json` | frames per second, which differ from run to run |
//! | `success`, `precision`, `normalized_precision` as `.svg` and `.png` | plots for papers |
//! | `table.md`, `scores.csv` | the scores of trackers, and of each tracker on each sequence |

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

use super::evaluation::Evaluation;
use super::outcome::Evaluated;
use super::store::write_whole;
use super::summary::{Aggregate, Origin, Report, TrackerReport};
use crate::error::{Error, Result};
use crate::export::json;

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

    fn files(&self) -> [(&'static str, &Plot); 3] {
        let [success, precision, normalized] = PLOTS;
        [(success, &self.success), (precision, &self.precision), (normalized, &self.normalized)]
    }
}

/// The files of a report without its plots.
const DOCUMENTS: [&str; 5] = ["report.html", "report.json", "timings.json", "table.md", "scores.csv"];
/// The plots, each as `.svg` and as `.png`.
const PLOTS: [&str; 3] = ["success", "precision", "normalized_precision"];

/// Removes the files of an earlier report in the folder `out`.
///
/// # Errors
/// [`Error::Io`] when one cannot be removed.
pub fn remove(out: &Path) -> Result<()> {
    let plots = PLOTS.iter().flat_map(|name| ["svg", "png"].map(|form| format!("{name}.{form}")));
    plots
        .chain(DOCUMENTS.map(String::from))
        .map(|name| out.join(name))
        .try_for_each(|path| crate::atomic_file::remove(&path).map_err(|error| Error::io(&path, error)))
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
    write_json(&out.join("report.json"), report)?;
    write_json(&out.join("timings.json"), &evaluated.timings)?;
    write_whole(&out.join("table.md"), table::markdown(report).as_bytes())?;
    write_whole(&out.join("scores.csv"), table::csv(report).as_bytes())?;
    let plots = Plots::draw(report)?;
    for (name, plot) in plots.files() {
        write_whole(&out.join(format!("{name}.svg")), plot.svg.as_bytes())?;
        write_whole(&out.join(format!("{name}.png")), &plot.png()?)?;
    }
    let focus = focus(report);
    let strips = filmstrip::worst(evaluation, evaluated, focus);
    let page = html::page(report, &evaluated.timings, &plots, focus, &strips);
    write_whole(&out.join("report.html"), page.as_bytes())
}

fn write_json(path: &Path, document: &impl serde::Serialize) -> Result<()> {
    let mut text = json::pretty(document).map_err(|e| Error::io(path, e.into()))?;
    text.push(b'\n');
    write_whole(path, &text)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::bbox::BBox;
    use crate::eval::metrics::score;
    use crate::eval::summary::{LeftOut, Scored, SequenceFacts, summarize};
    use crate::eval::timings::Timings;
    use crate::eval::{Protocol, Toolkit};

    /// Three trackers on three sequences; names that have to be escaped.
    pub(crate) fn report() -> Report {
        let truth = vec![Some(BBox::new(10.0, 10.0, 40.0, 40.0)); 20];
        let scored =
            [("good", 1.0), ("a|b_<1>", 6.0), ("<script>alert(1)</script>", 15.0)].map(|(name, speed)| Scored {
                name: name.into(),
                origin: if name == "good" { Origin::Run } else { Origin::Results },
                parameters: serde_json::json!({"sigma": 0.5}),
                scores: ["A", "B", "C"]
                    .iter()
                    .enumerate()
                    .map(|(i, sequence)| {
                        let boxes: Vec<BBox> = (0..20)
                            .map(|t| BBox::new(10.0 + speed * t as f64 * (1 + i) as f64 / 2.0, 10.0, 40.0, 40.0))
                            .collect();
                        (sequence.to_string(), score(&truth, &boxes, Toolkit::Otb).unwrap())
                    })
                    .collect::<BTreeMap<_, _>>(),
            });
        let facts = ["A", "B", "C"]
            .map(|name| SequenceFacts {
                base: 1,
                name: name.into(),
                frames: 20,
                attributes: ["IV", "SV", "OCC"].map(String::from).to_vec(),
            })
            .to_vec();
        let left_out = vec![LeftOut { sequence: "D".into(), tracker: None, reason: "<b>broken</b>".into() }];
        summarize(Protocol::Ope, Toolkit::Otb, facts, scored.into(), left_out, vec!["odd & even".into()])
    }

    #[test]
    fn the_page_escapes_what_comes_from_outside() {
        let report = report();
        let plots = Plots::draw(&report).unwrap();
        let page = html::page(&report, &Timings::default(), &plots, focus(&report), &[]);
        assert!(!page.contains("<script>alert") && !page.contains("<b>broken"));
        assert!(page.contains("&lt;script&gt;alert(1)") && page.contains("odd &amp; even"));
        assert_eq!(page.matches("<script>").count(), 1);
        assert_eq!(page.matches("<svg").count(), 2 + 3, "success, precision, and three attributes");
        assert!(
            !page.contains("http://")
                || page.matches("http://").count() == page.matches("http://www.w3.org/2000/svg").count()
        );
        assert!(!page.contains("https://"));
    }

    #[test]
    fn attributes_have_their_table_and_plots() {
        let mut report = report();
        for tracker in &mut report.trackers {
            tracker.attributes.retain(|name, _| name != "SV");
        }
        let plots = Plots::draw(&report).unwrap();
        let page = html::page(&report, &Timings::default(), &plots, focus(&report), &[]);
        assert!(page.contains("id=\"attributes-table\"") && page.contains("illumination variation"));
        assert_eq!(page.matches("<svg").count(), 2 + 2, "success, precision, and two attributes");
        for tracker in &mut report.trackers {
            tracker.attributes.clear();
        }
        let plots = Plots::draw(&report).unwrap();
        let page = html::page(&report, &Timings::default(), &plots, focus(&report), &[]);
        assert!(!page.contains("attributes-table"));
    }

    #[test]
    fn a_tracker_without_bad_sequences_is_praised_for_those_that_it_was_scored_on() {
        let report = report();
        let page = html::page(&report, &Timings::default(), &Plots::draw(&report).unwrap(), "good", &[]);
        assert!(
            page.contains("good covers the target at least half of the time in every sequence that it was scored on")
        );
    }

    #[test]
    fn strips_say_which_run_their_pictures_are_of() {
        let mut report = report();
        let strip =
            filmstrip::Strip { sequence: "A".into(), auc: 0.25, lost_at: Some(7), frames: 20, pictures: vec![] };
        let strips = [strip];
        let plots = Plots::draw(&report).unwrap();
        let mut said = |protocol| {
            report.protocol = protocol;
            html::page(&report, &Timings::default(), &plots, focus(&report), &strips)
        };
        assert!(said(Protocol::Ope).contains("AUC 0.250, target lost at frame 7 of 20"));
        for protocol in [Protocol::Tre, Protocol::Sre] {
            assert!(said(protocol).contains("AUC of all runs 0.250; first run: target lost at frame 7 of 20"));
        }
    }

    #[test]
    fn a_tracker_with_fewer_sequences_of_an_attribute_says_so_on_the_page() {
        let mut report = report();
        let good = report.trackers.iter_mut().find(|t| t.name == "good").unwrap();
        good.attributes.get_mut("IV").unwrap().sequences = 1;
        let plots = Plots::draw(&report).unwrap();
        let page = html::page(&report, &Timings::default(), &plots, focus(&report), &[]);
        assert!(page.contains("<span class=\"ci\"> (1)</span>") && page.contains("good (1) ["), "{page}");
    }

    #[test]
    fn the_page_says_that_tre_starts_on_occluded_frames_as_well() {
        let mut report = report();
        let plots = Plots::draw(&report).unwrap();
        let mut said = |protocol| {
            report.protocol = protocol;
            html::page(&report, &Timings::default(), &plots, focus(&report), &[]).contains("lists of occluded frames")
        };
        assert!(said(Protocol::Tre) && !said(Protocol::Ope) && !said(Protocol::Sre));
    }

    #[test]
    fn ours_is_compared_with() {
        let mut report = report();
        assert_eq!(focus(&report), "good");
        report.trackers.rotate_left(1);
        assert_eq!(focus(&report), "good");
        report.trackers.iter_mut().for_each(|t| t.origin = Origin::Results);
        assert_eq!(focus(&report), report.trackers[0].name);
    }
}
