//! The two tables of means, over all sequences of each tracker and over those that all trackers have, as CSV and LaTeX.

use super::means;
use crate::eval::reliability::{Reliability, STATES};
use crate::eval::summary::{Aggregate, Comparison, Interval, Report, TrackerReport};
use crate::text::{cell, csv_line};

/// Which sequences a table is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// All sequences of each tracker.
    All,
    /// The sequences that all trackers have.
    Common,
}

impl Over {
    /// The trackers with their means, best AUC first.
    pub fn rows<'a>(self, report: &'a Report) -> Vec<(&'a TrackerReport, &'a Aggregate)> {
        let of = |t: &'a TrackerReport| if self == Self::All { Some(&t.overall) } else { t.common.as_ref() };
        let mut rows: Vec<_> = report.trackers.iter().filter_map(|t| Some((t, of(t)?))).collect();
        rows.sort_by(|a, b| b.1.mean.auc.total_cmp(&a.1.mean.auc));
        rows
    }
}

/// The comparison of a tracker with the baseline; `None` for the baseline.
pub fn comparison<'a>(report: &'a Report, tracker: &TrackerReport) -> Option<&'a Comparison> {
    report.comparisons.iter().find(|comparison| comparison.tracker == tracker.name && comparison.sequences > 0)
}

/// The names of the columns of [`Reliability::columns`].
pub fn reliability_columns() -> Vec<String> {
    let on = |group: &'static str| STATES.map(|state| format!("{}_on_{group}", state.name()));
    [on("hits"), on("misses")].concat().into_iter().chain(["auroc", "calibration_error"].map(String::from)).collect()
}

pub fn csv(report: &Report, over: Over) -> String {
    let mut names = ["tracker", "sequences"].map(String::from).to_vec();
    let scores =
        "auc,precision_20,normalized_precision,overlap_rate_50,mean_overlap,auc_low,auc_high,failures,mean_rank";
    names.extend(scores.split(',').map(String::from));
    if over == Over::All {
        names.extend(["auc_difference", "p", "p_holm"].map(String::from));
        names.extend(reliability_columns());
    }
    let mut text = csv_line(&names);
    for (tracker, a) in over.rows(report) {
        let mut row = vec![tracker.name.clone(), a.sequences.to_string()];
        row.extend(means(&a.mean));
        row.extend([a.auc_interval.map(|i| i.low), a.auc_interval.map(|i| i.high)].map(cell));
        row.push(a.mean.failures.to_string());
        row.push(cell(tracker.mean_rank));
        if over == Over::All {
            let compared = comparison(report, tracker);
            row.extend(
                [compared.map(|c| c.auc), compared.and_then(|c| c.p), compared.and_then(|c| c.p_holm)].map(cell),
            );
            row.extend(Reliability::columns(tracker.reliability.as_ref()).into_iter().map(cell));
        }
        text += &csv_line(&row);
    }
    text
}

/// A `tabular` that needs no package; the best number of a column is bold.
pub fn latex(report: &Report, over: Over) -> String {
    let rows = over.rows(report);
    let scores: [fn(&Aggregate) -> f64; 4] =
        [|a| a.mean.auc, |a| a.mean.precision_20, |a| a.mean.normalized_precision, |a| a.mean.overlap_rate_50];
    let best = scores.map(|score| rows.iter().map(|(_, a)| score(a)).fold(f64::MIN, f64::max));
    let n = report.comparisons.len();
    let mut text = format!(
        "% AUC: difference from {}; p: paired bootstrap over sequences, Holm's correction for {n} comparisons.\n\
         \\begin{{tabular}}{{lrcrrrrrr}}\n\\hline\nTracker & AUC & 95\\,\\% & P@20 & P$_\\mathrm{{norm}}$ & OR@0.5 & Rank & \
         $\\Delta$AUC & $p$ \\\\\n\\hline\n",
        // A comment ends with its line.
        report.baseline.replace(['\n', '\r'], " ")
    );
    for (tracker, a) in rows {
        let interval = |i: Interval| format!("[{:.3}, {:.3}]", i.low, i.high);
        let bold = |i: usize| {
            let value = scores[i](a);
            if value == best[i] { format!("\\textbf{{{value:.3}}}") } else { format!("{value:.3}") }
        };
        let or_dash = |text: Option<String>| text.unwrap_or("--".into());
        // Differences are over the sequences of each pair: they stand in one table.
        let compared = comparison(report, tracker).filter(|_| over == Over::All);
        let cells = [
            escaped(&tracker.name),
            bold(0),
            or_dash(a.auc_interval.map(interval)),
            bold(1),
            bold(2),
            bold(3),
            or_dash(tracker.mean_rank.map(|rank| format!("{rank:.2}"))),
            or_dash(compared.map(|c| format!("${:+.3}$", c.auc))),
            or_dash(compared.and_then(|c| c.p_holm).map(|p| format!("{p:.4}"))),
        ];
        text += &format!("{} \\\\\n", cells.join(" & "));
    }
    text + "\\hline\n\\end{tabular}\n"
}

/// A name as LaTeX prints it.
fn escaped(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => text.extend(['\\', c]),
            '\\' => text += "\\textbackslash{}",
            '~' => text += "\\textasciitilde{}",
            '^' => text += "\\textasciicircum{}",
            '<' | '>' | '|' => text += &format!("${c}$"),
            '\n' | '\r' => text.push(' '),
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::summary::tests::report;

    #[test]
    fn latex_escapes_names_and_marks_the_best() {
        let text = latex(&report(), Over::All);
        assert!(text.contains("\na$|$b\\_$<$1$>$ & "), "{text}");
        let best = format!("good & \\textbf{{{:.3}}} & ", report().trackers[0].overall.mean.auc);
        assert!(text.contains(&best), "{text}");
        assert_eq!(text.matches("\\\\\n").count(), 1 + 3);
        let columns = |line: &str| line.matches(" & ").count();
        assert!(text.lines().filter(|line| line.ends_with("\\\\")).all(|line| columns(line) == 8), "{text}");
    }

    #[test]
    fn tables_of_results_leave_the_columns_of_states_empty() {
        let text = csv(&report(), Over::All);
        let commas = |line: &str| line.matches(',').count();
        assert!(text.lines().all(|line| commas(line) == 1 + 9 + 3 + 12), "{text}");
        assert!(text.lines().skip(1).all(|line| line.ends_with(&",".repeat(12))), "{text}");
        assert_eq!(commas(csv(&report(), Over::Common).lines().next().unwrap()), 1 + 9);
    }
}
