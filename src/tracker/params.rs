//! What a tracker can be set to, its published presets, and the one place where values are checked.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::{BankParams, DetectorKind, GuardParams};
use crate::error::{Error, Result};
use crate::kernel::Kernel;

/// What the filter sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FeatureKind {
    /// 31-channel histograms of oriented gradients, [`crate::feature::hog`].
    Hog,
    /// Gray values less their mean, [`crate::feature::gray`].
    Gray,
}

/// The shape of a kernel, without its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KernelKind {
    /// `exp(-‖x - z‖² / sigma²)`.
    Gaussian,
    /// `(xᵀz + a)^b`.
    Polynomial,
    /// `xᵀz`; the tracker is then the paper's DCF.
    Linear,
}

/// The settings of a [`Tracker`](crate::Tracker), unchecked: fill them in freely, [`Params::check`] judges them as a whole.
///
/// Sizes are in pixels of the frame, unless a target of [`Params::half_size_from`] or more halves the frame first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Params {
    /// What scores the translations of the search window.
    #[serde(default)]
    pub detector: DetectorKind,
    /// Whether the detector learns all cyclic shifts of one window, as [`DetectorKind::Kcf`] always does, and not real windows.
    #[serde(default)]
    pub circulant: bool,
    /// The machine that watches the filter and finds the target again; `None` for none.
    #[serde(default)]
    pub guard: Option<DetectorKind>,
    /// Settings of the detector's or the guard's machine that are not the default, a JSON object of the parameters that its module in
    /// [`crate::machine`] lists, or null.
    #[serde(default)]
    pub machine: serde_json::Value,
    /// How a machine over real windows looks for the target and learns.
    #[serde(default)]
    pub bank: BankParams,
    /// When the guard doubts the filter, and when it believes a window elsewhere.
    #[serde(default)]
    pub guarding: GuardParams,
    /// What the filter sees.
    pub feature: FeatureKind,
    /// The kernel and its parameters.
    pub kernel: Kernel,
    /// Extra area around the target, relative to its size: the window is `1 + padding` times the target.
    pub padding: f64,
    /// Regularisation of the ridge regression.
    pub lambda: f64,
    /// Width of the regression target, relative to the target's size.
    pub output_sigma: f64,
    /// Rate at which the model follows the target's looks, per frame, 0 to 1.
    pub learning_rate: f64,
    /// Side of a feature cell in pixels.
    pub cell_size: usize,
    /// Targets whose `sqrt(width * height)` is at least this many pixels are tracked at half size; infinite (in JSON: null)
    /// for never.
    #[serde(with = "infinite_as_null")]
    pub half_size_from: f64,
    /// Cells of a window at most, about: a larger one is looked at at a coarser scale, where it has so many, and
    /// [`Params::half_size_from`] says nothing; infinite (in JSON: null) for the published ways.
    #[serde(with = "infinite_as_null")]
    pub max_cells: f64,
    /// Whether a window's rows and columns of cells are rounded up to lengths that transform cheaply,
    /// [`crate::spectrum::cost`].
    pub smooth_window: bool,
    /// Whether the peak is looked for between cells, where a parabola through it and its neighbours has its top. The published
    /// code moves by whole cells.
    pub sub_cell: bool,
    /// Up to so many cells of motion, in either direction, a frame's target is learned from the window in which it was found, the
    /// features being shifted; beyond, and for any motion at 0, from a window of its own, as published.
    pub reuse_shift: f64,
    /// Below this peak-to-sidelobe ratio a match is [`State::Uncertain`](super::State::Uncertain). Boxes do not depend on it.
    pub uncertain_psr: f64,
    /// Below this peak-to-sidelobe ratio the target is [`State::Lost`](super::State::Lost). Boxes do not depend on it.
    pub lost_psr: f64,
}

impl Params {
    /// The names that [`Params::preset`] knows, each with what it is.
    pub const PRESETS: [(&'static str, &'static str); 6] = [
        ("paper", "KCF as published: HOG, Gaussian kernel"),
        ("fast", "KCF in windows of bounded size, twice as fast and more"),
        ("paper-dcf", "DCF as published: HOG, linear kernel"),
        ("paper-gray", "gray values, Gaussian kernel (CSK's features)"),
        ("paper-gray-linear", "gray values, linear kernel (MOSSE's regression)"),
        ("paper-polynomial", "HOG, polynomial kernel"),
    ];

    /// The settings of that name; `None` when there are none.
    pub fn preset(name: &str) -> Option<Self> {
        use {FeatureKind::*, KernelKind::*};
        let (feature, kernel) = match name {
            "fast" => return Some(Self::fast()),
            "paper" => (Hog, Gaussian),
            "paper-dcf" => (Hog, Linear),
            "paper-gray" => (Gray, Gaussian),
            "paper-gray-linear" => (Gray, Linear),
            "paper-polynomial" => (Hog, Polynomial),
            _ => return None,
        };
        Some(Self::paper(feature, kernel))
    }

    /// The published settings for a feature and a kernel (Henriques et al., TPAMI 2015, table 2).
    pub fn paper(feature: FeatureKind, kernel: KernelKind) -> Self {
        let (sigma, b, learning_rate, cell_size) = match feature {
            FeatureKind::Hog => (0.5, 9, 0.02, 4),
            FeatureKind::Gray => (0.2, 7, 0.075, 1),
        };
        // From the ratios of frames that overlap the truth by more than half (on OTB): about one of them in fifty is called
        // uncertain and one in five hundred lost. A linear filter of gray values answers with broad, low peaks.
        let (uncertain_psr, lost_psr) = match (feature, kernel) {
            (FeatureKind::Hog, _) => (8.0, 5.0),
            (FeatureKind::Gray, KernelKind::Gaussian) => (7.0, 5.0),
            (FeatureKind::Gray, _) => (3.0, 2.0),
        };
        let kernel = match kernel {
            KernelKind::Gaussian => Kernel::Gaussian { sigma },
            KernelKind::Polynomial => Kernel::Polynomial { a: 1.0, b },
            KernelKind::Linear => Kernel::Linear,
        };
        Self {
            detector: DetectorKind::Kcf,
            circulant: false,
            guard: None,
            machine: serde_json::Value::Null,
            bank: BankParams::default(),
            guarding: GuardParams::default(),
            feature,
            kernel,
            padding: 1.5,
            lambda: 1e-4,
            output_sigma: 0.1,
            learning_rate,
            cell_size,
            half_size_from: 100.0,
            max_cells: f64::INFINITY,
            smooth_window: false,
            sub_cell: false,
            reuse_shift: 0.0,
            uncertain_psr,
            lost_psr,
        }
    }

    /// The preset `fast`: the paper's filter in windows of bounded size, one feature extraction a frame. Peaks between cells make
    /// up for the coarser scale. Chosen on means over all sequences of the benchmark, on which it is as good as the paper's: single ones differ both ways.
    fn fast() -> Self {
        Self {
            max_cells: 1000.0,
            smooth_window: true,
            sub_cell: true,
            reuse_shift: 2.0,
            ..Self::paper(FeatureKind::Hog, KernelKind::Gaussian)
        }
    }

    /// The shape of the kernel.
    pub fn kernel_kind(&self) -> KernelKind {
        match self.kernel {
            Kernel::Gaussian { .. } => KernelKind::Gaussian,
            Kernel::Polynomial { .. } => KernelKind::Polynomial,
            Kernel::Linear => KernelKind::Linear,
        }
    }

    /// Whether every value lies in its range.
    ///
    /// # Errors
    /// [`Error::Parameter`] with the name of the first value that does not.
    pub fn check(&self) -> Result<()> {
        let finite_above = |name: &'static str, value: f64, above: f64, up_to: f64| {
            // Written so that NaN fails.
            if value > above && value <= up_to {
                return Ok(());
            }
            wrong(name, value, format!("must be a number above {above} and at most {up_to}"))
        };
        self.kernel.checked()?;
        self.check_detector()?;
        in_range("padding", self.padding, 0.0..=20.0)?;
        finite_above("lambda", self.lambda, 0.0, 1e6)?;
        finite_above("output-sigma", self.output_sigma, 0.0, 10.0)?;
        in_range("learning-rate", self.learning_rate, 0.0..=1.0)?;
        if !(1..=64).contains(&self.cell_size) {
            return wrong("cell-size", self.cell_size, "must be a whole number from 1 to 64");
        }
        if self.feature == FeatureKind::Gray && self.cell_size != 1 {
            return wrong("cell-size", self.cell_size, "must be 1 with gray features: each pixel is a cell");
        }
        if self.half_size_from.is_nan() || self.half_size_from < 0.0 {
            return wrong(
                "half-size-from",
                self.half_size_from,
                "must be a number of pixels from 0 on, or inf for never",
            );
        }
        if self.max_cells.is_nan() || self.max_cells < 16.0 {
            return wrong("max-cells", self.max_cells, "must be a number of cells from 16 on, or inf for any");
        }
        if !(0.0..=1e6).contains(&self.reuse_shift) {
            return wrong("reuse-shift", self.reuse_shift, "must be a number of cells from 0 to 1e6");
        }
        for (name, value) in [("lost-psr", self.lost_psr), ("uncertain-psr", self.uncertain_psr)] {
            if !(0.0..=1e6).contains(&value) {
                return wrong(name, value, "must be a number from 0 to 1e6");
            }
        }
        if self.uncertain_psr < self.lost_psr {
            return wrong(
                "uncertain-psr",
                self.uncertain_psr,
                format!("must not lie below --lost-psr {}", self.lost_psr),
            );
        }
        Ok(())
    }

    /// Whether the detector is a machine over a bank of real windows.
    pub fn has_bank(&self) -> bool {
        self.detector != DetectorKind::Kcf && !self.circulant
    }

    fn check_detector(&self) -> Result<()> {
        if self.circulant && self.detector == DetectorKind::Kdspe {
            return wrong(
                "detector",
                self.detector,
                "it has no circulant form: it writes each sample by the others of its class, and of all cyclic shifts only \
                 one is the target",
            );
        }
        if self.has_bank() && self.feature != FeatureKind::Hog {
            return wrong("feature", "gray", "must be hog for a kernel machine over real windows");
        }
        if let Some(guard) = self.guard {
            if !DetectorKind::GUARDS.contains(&guard) {
                let names = DetectorKind::GUARDS.map(DetectorKind::name).join(", ");
                return wrong("guard", guard, format!("must be one of {names}"));
            }
            if self.has_bank() {
                return wrong("guard", guard, "a guard watches a correlation filter: leave --detector out");
            }
        }
        self.bank.check()?;
        self.guarding.check()?;
        let machine = match self.guard {
            Some(guard) => guard,
            None if self.has_bank() => self.detector,
            None if self.machine.is_null() => return Ok(()),
            None => {
                return wrong("machine", &self.machine, "a correlation filter has none: give --detector or --guard");
            }
        };
        // A machine names the setting, which is a part of what one flag is given.
        let named = |error| match error {
            Error::Parameter { name, value, expected } if name == machine.name() => {
                Error::Parameter { name: "machine", value, expected }
            }
            Error::Parameter { name, value, expected } => {
                let setting = name.strip_prefix(machine.name()).map_or(name, |rest| rest.trim_start_matches('-'));
                Error::Parameter { name: "machine", value: format!("{}={value}", setting.replace('-', "_")), expected }
            }
            other => other,
        };
        crate::machine::from_name(machine.name(), &self.machine).map(|_| ()).map_err(named)
    }
}

impl Default for Params {
    /// The preset `paper`.
    fn default() -> Self {
        Self::paper(FeatureKind::Hog, KernelKind::Gaussian)
    }
}

/// A parameter's value must lie in its range.
pub(super) fn in_range(name: &'static str, value: f64, range: RangeInclusive<f64>) -> Result<()> {
    if range.contains(&value) {
        return Ok(());
    }
    wrong(name, value, format!("must be a number from {} to {}", range.start(), range.end()))
}

pub(super) fn wrong<T>(name: &'static str, value: impl ToString, expected: impl Into<String>) -> Result<T> {
    Err(Error::Parameter { name, value: value.to_string(), expected: expected.into() })
}

/// JSON has no infinity.
mod infinite_as_null {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
        value.is_finite().then_some(*value).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        Ok(Option::deserialize(from)?.unwrap_or(f64::INFINITY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_valid_and_known() {
        for (name, _) in Params::PRESETS {
            Params::preset(name).expect("every listed preset exists").check().expect("and is valid");
        }
        assert!(Params::preset("no-such").is_none());
        assert_eq!(Params::preset("paper").unwrap(), Params::default());
    }

    #[test]
    fn each_bad_value_is_named() {
        let name_of = |change: fn(&mut Params)| {
            let mut params = Params::default();
            change(&mut params);
            match params.check() {
                Err(Error::Parameter { name, .. }) => name,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(name_of(|p| (p.detector, p.circulant) = (DetectorKind::Kdspe, true)), "detector");
        assert_eq!(name_of(|p| p.kernel = Kernel::Gaussian { sigma: 0.0 }), "kernel-sigma");
        assert_eq!(name_of(|p| p.kernel = Kernel::Gaussian { sigma: f64::NAN }), "kernel-sigma");
        assert_eq!(name_of(|p| p.kernel = Kernel::Polynomial { a: -1.0, b: 2 }), "kernel-a");
        assert_eq!(name_of(|p| p.kernel = Kernel::Polynomial { a: 1.0, b: 0 }), "kernel-b");
        assert_eq!(name_of(|p| p.padding = -0.1), "padding");
        assert_eq!(name_of(|p| p.lambda = 0.0), "lambda");
        assert_eq!(name_of(|p| p.output_sigma = f64::INFINITY), "output-sigma");
        assert_eq!(name_of(|p| p.learning_rate = 1.5), "learning-rate");
        assert_eq!(name_of(|p| p.cell_size = 0), "cell-size");
        assert_eq!(name_of(|p| p.half_size_from = f64::NAN), "half-size-from");
        assert_eq!(name_of(|p| p.max_cells = 15.0), "max-cells");
        assert_eq!(name_of(|p| p.reuse_shift = f64::NAN), "reuse-shift");
        assert_eq!(name_of(|p| p.lost_psr = -1.0), "lost-psr");
        assert_eq!(name_of(|p| p.lost_psr = 9.0), "uncertain-psr");
    }
}
