//! Progress: a bar on a terminal, plain lines elsewhere, nothing when asked to be quiet. All of it on standard error.

use std::fmt::Write;
use std::io::{IsTerminal, Write as _};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use crate::Evidence;

/// Time between two plain lines: a log should not be flooded.
const LINE_EVERY: Duration = Duration::from_secs(2);

/// The progress of a run, and its warnings.
pub struct Progress {
    shape: Shape,
    /// Whether warnings are printed.
    warns: bool,
}

enum Shape {
    Bar(ProgressBar),
    Lines { done: usize, total: Option<usize>, begun: Instant, last: Instant },
    None,
}

impl Progress {
    /// Progress over `total` frames, if their number is known. `shown` switches the bar or the lines.
    pub fn new(total: Option<usize>, shown: bool, warns: bool) -> Self {
        let now = Instant::now();
        let shape = match (shown, std::io::stderr().is_terminal()) {
            (false, _) => Shape::None,
            (true, false) => Shape::Lines { done: 0, total, begun: now, last: now },
            (true, true) => Shape::Bar(bar(total)),
        };
        Self { shape, warns }
    }

    /// One more frame is done; `evidence` is that of its box.
    pub fn frame(&mut self, evidence: Option<&Evidence>) {
        let sure = || evidence.map_or(String::new(), how_sure);
        match &mut self.shape {
            Shape::Bar(bar) => {
                // The response to the training frame says nothing about tracking.
                if evidence.is_some() && bar.position() > 0 {
                    bar.set_message(sure());
                }
                bar.inc(1);
            }
            Shape::Lines { done, total, begun, last } => {
                *done += 1;
                if last.elapsed() >= LINE_EVERY {
                    *last = Instant::now();
                    let rate = *done as f64 / begun.elapsed().as_secs_f64();
                    let sure = sure();
                    let line = match total {
                        Some(total) => {
                            let left = total.saturating_sub(*done) as f64 / rate;
                            format!("{done}/{total} frames, {rate:.0} frames/s, {left:.0} s left{sure}")
                        }
                        None => format!("{done} frames, {rate:.0} frames/s{sure}"),
                    };
                    let _ = writeln!(std::io::stderr(), "{line}");
                }
            }
            Shape::None => {}
        }
    }

    /// Prints a warning on a line of its own, above the bar.
    pub fn warn(&self, warning: &str) {
        let say = || {
            let _ = writeln!(std::io::stderr(), "warning: {warning}");
        };
        match &self.shape {
            _ if !self.warns => {}
            Shape::Bar(bar) => bar.suspend(say),
            Shape::Lines { .. } | Shape::None => say(),
        }
    }

    /// Removes the bar, so that the next output begins on an empty line.
    pub fn finish(&self) {
        if let Shape::Bar(bar) = &self.shape {
            bar.finish_and_clear();
        }
    }
}

/// The confidence, or the peak-to-sidelobe ratio of a tracker that has none.
fn how_sure(evidence: &Evidence) -> String {
    match evidence.confidence {
        Some(confidence) => format!(", confidence {confidence:.2}"),
        None => format!(", PSR {:.1}", evidence.psr),
    }
}

fn bar(total: Option<usize>) -> ProgressBar {
    let style = match total {
        Some(_) => "{wide_bar} {pos}/{len} frames{speed}{msg}",
        None => "{spinner} {pos} frames{speed}{msg}",
    };
    // Before the first frame there is no speed and no remaining time.
    let speed = move |state: &ProgressState, out: &mut dyn Write| {
        let rate = state.per_sec();
        let _ = match total {
            _ if rate <= 0.0 => Ok(()),
            Some(_) => write!(out, ", {rate:.0} frames/s, {:.0} s left", state.eta().as_secs_f64()),
            None => write!(out, ", {rate:.0} frames/s"),
        };
    };
    let style = ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = total.map_or_else(ProgressBar::no_length, |total| ProgressBar::new(total as u64));
    bar.with_style(style.with_key("speed", speed))
}
