//! Progress: a bar on a terminal, nothing elsewhere. All of it on standard error.

use std::fmt::Write;
use std::io::Write as _;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use crate::Evidence;

/// The progress of a run, and its warnings.
pub struct Progress {
    pub bar: ProgressBar,
    /// Whether warnings are printed.
    warns: bool,
}

impl Progress {
    /// Progress over `total` frames, if their number is known. `shown` switches the bar.
    pub fn new(total: Option<usize>, shown: bool, warns: bool) -> Self {
        Self { bar: bar(total, shown), warns }
    }

    /// One more frame is done; `evidence` is that of its box.
    pub fn frame(&mut self, evidence: Option<&Evidence>) {
        // The response to the training frame says nothing about tracking.
        if let Some(evidence) = evidence.filter(|_| !self.bar.is_hidden() && self.bar.position() > 0) {
            // The peak-to-sidelobe ratio of a tracker without a confidence.
            let psr = || format!(", PSR {:.1}", evidence.psr);
            let confidence = evidence.confidence.map(|confidence| format!(", confidence {confidence:.2}"));
            self.bar.set_message(confidence.unwrap_or_else(psr));
        }
        self.bar.inc(1);
    }

    /// Prints a warning on a line of its own, above the bar.
    pub fn warn(&self, warning: &str) {
        if self.warns {
            self.tell(&format!("warning: {warning}"));
        }
    }

    /// Prints a line above the bar.
    pub fn tell(&self, line: &str) {
        self.bar.suspend(|| drop(writeln!(std::io::stderr(), "{line}")));
    }

    /// Removes the bar, so that the next output begins on an empty line.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// A bar over `total` frames, if their number is known; elsewhere than on a terminal it hides itself.
pub fn bar(total: Option<usize>, shown: bool) -> ProgressBar {
    if !shown {
        return ProgressBar::hidden();
    }
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
