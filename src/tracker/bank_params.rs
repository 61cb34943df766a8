//! What a kernel machine over a bank of real windows can be set to.

use serde::{Deserialize, Serialize};

use super::params::{in_range, wrong};
use crate::error::{Error, Result};
use crate::feature::hog;
use crate::kernel::Kernel;

/// How a kernel machine over a bank of windows looks for the target and learns.
///
/// Supports are templates of HOG cells of 4 pixels, weighted by a cosine mask, cut from the picture at a size at which the target has about
/// [`BankParams::template_size`] pixels. The defaults were chosen on OTB's sequences, as means over machines, and are the same for every machine but where `None` says otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct BankParams {
    /// The kernel between two windows.
    pub kernel: Kernel,
    /// Targets larger than this, `sqrt(width * height)` in pixels, are looked at so coarsely that they have this size.
    pub template_size: f64,
    /// Extra area around the target in a template, relative to its size.
    pub context: f64,
    /// The target's centre may move by half of this, relative to its size, in each direction.
    pub search: f64,
    /// How much nearness to the last position counts, 0 to 1: the score of a window farthest away is lowered by this share.
    pub prior: f64,
    /// Share of the newest look of the target in the weight of all its looks.
    pub rate: f64,
    /// A frame is learned from if the decision is above this; `None` for the machine's own.
    pub gate: Option<f64>,
    /// Of so many believed frames in a row, one is learned from; `None` for the machine's own.
    pub every: Option<usize>,
    /// Looks of the target that are remembered, at most; the closest two are merged.
    pub positives: usize,
    /// Looks of the background that are remembered, at most; the one least like the target is forgotten.
    pub negatives: usize,
    /// Looks of the background that each frame adds: the highest wrong peaks of the response.
    pub hard_negatives: usize,
    /// Channels that the 31 of HOG are projected onto by a PCA of the first search area, 1 to 15; 31 for all of them.
    pub channels: usize,
}

impl Default for BankParams {
    fn default() -> Self {
        Self {
            kernel: Kernel::Gaussian { sigma: 0.25 },
            template_size: 32.0,
            context: 0.5,
            search: 2.5,
            prior: 0.5,
            rate: 0.05,
            gate: None,
            every: None,
            positives: 12,
            negatives: 40,
            hard_negatives: 3,
            channels: 8,
        }
    }
}

impl BankParams {
    /// Whether every value lies in its range.
    ///
    /// # Errors
    /// [`Error::Parameter`] with the name of the first that does not.
    pub fn check(&self) -> Result<()> {
        // The filter has a kernel of its own, whose flag is another.
        self.kernel.checked().map_err(|error| match error {
            Error::Parameter { name: "kernel-sigma", value, expected } => {
                Error::Parameter { name: "window-sigma", value, expected }
            }
            other => other,
        })?;
        let gate = self.gate.unwrap_or_default();
        let numbers = [
            ("template-size", self.template_size, 8.0..=1000.0),
            ("context", self.context, 0.0..=5.0),
            ("search", self.search, 0.0..=20.0),
            ("prior", self.prior, 0.0..=1.0),
            ("look-rate", self.rate, 0.0..=0.999),
            ("gate", gate, -100.0..=100.0),
            ("learn-every", self.every.unwrap_or(1) as f64, 1.0..=1e6),
            ("positives", self.positives as f64, 1.0..=256.0),
            ("negatives", self.negatives as f64, 1.0..=256.0),
            ("hard-negatives", self.hard_negatives as f64, 0.0..=32.0),
        ];
        for (name, value, range) in numbers {
            in_range(name, value, range)?;
        }
        if !(1..=15).contains(&self.channels) && self.channels != hog::CHANNELS {
            return wrong("channels", self.channels, format!("must be 1 to 15, or {} for all of them", hog::CHANNELS));
        }
        Ok(())
    }
}
