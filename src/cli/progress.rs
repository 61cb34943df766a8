//! Progress: a bar on a terminal, plain lines elsewhere, nothing when asked to be quiet. All of it on standard error.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Time between two plain lines: a log should not be flooded.
const LINE_EVERY: Duration = Duration::from_secs(2);

/// How far a run is.
pub enum Progress {
    Bar(ProgressBar),
    Lines { done: usize, total: Option<usize>, begun: Instant, last: Instant },
    Quiet,
}

impl Progress {
    /// For `total` frames, where that is known.
    pub fn new(total: Option<usize>, quiet: bool) -> Self {
        if quiet {
            return Self::Quiet;
        }
        if !std::io::stderr().is_terminal() {
            let now = Instant::now();
            return Self::Lines { done: 0, total, begun: now, last: now };
        }
        let style = match total {
            Some(_) => "{bar:30} {pos}/{len} frames, {per_sec}, {eta} left{msg}",
            None => "{spinner} {pos} frames, {per_sec}{msg}",
        };
        let style = ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = total.map_or_else(ProgressBar::no_length, |total| ProgressBar::new(total as u64));
        Self::Bar(bar.with_style(style))
    }

    /// One more frame is done; `psr` is its peak-to-sidelobe ratio.
    pub fn frame(&mut self, psr: Option<f32>) {
        match self {
            Self::Bar(bar) => {
                if let Some(psr) = psr {
                    bar.set_message(format!(", PSR {psr:.1}"));
                }
                bar.inc(1);
            }
            Self::Lines { done, total, begun, last } => {
                *done += 1;
                if last.elapsed() >= LINE_EVERY {
                    *last = Instant::now();
                    let rate = *done as f64 / begun.elapsed().as_secs_f64();
                    let psr = psr.map_or(String::new(), |psr| format!(", PSR {psr:.1}"));
                    let line = match total {
                        Some(total) => {
                            let left = total.saturating_sub(*done) as f64 / rate;
                            format!("{done}/{total} frames, {rate:.0} frames/s, {left:.0} s left{psr}")
                        }
                        None => format!("{done} frames, {rate:.0} frames/s{psr}"),
                    };
                    let _ = writeln!(std::io::stderr(), "{line}");
                }
            }
            Self::Quiet => {}
        }
    }

    /// Says something on a line of its own, above the bar.
    pub fn warn(&self, warning: &str) {
        let say = || {
            let _ = writeln!(std::io::stderr(), "warning: {warning}");
        };
        match self {
            Self::Bar(bar) => bar.suspend(say),
            Self::Lines { .. } => say(),
            Self::Quiet => {}
        }
    }

    /// Takes the bar away; what is printed next begins on an empty line.
    pub fn finish(&self) {
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}
