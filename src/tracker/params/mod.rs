//! What a tracker can be set to, as a tree: what stands in it is used, and what cannot be used together cannot be written.

mod filter;
mod guard;
mod presets;
mod windows;

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

pub use filter::{AreaSize, FeatureKind, FeatureParams, FilterParams, KernelKind};
pub use guard::GuardParams;
pub use windows::WindowParams;

use crate::error::{Error, Result};
use crate::machine::MachineKind;

/// The settings of a [`Tracker`](crate::Tracker), unchecked: fill them in freely, [`Params::check`] judges them as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Params {
    /// What finds the target from frame to frame.
    pub search: SearchParams,
    /// What watches that search and finds the target again; `None` for nothing.
    pub guard: Option<GuardParams>,
}

/// What finds the target from frame to frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SearchParams {
    /// A correlation filter.
    Filter(FilterParams),
    /// A kernel machine over real windows.
    Windows(WindowParams),
}

impl SearchParams {
    /// The settings of the filter; `None` where there is none.
    pub fn filter(&self) -> Option<&FilterParams> {
        match self {
            Self::Filter(filter) => Some(filter),
            Self::Windows(_) => None,
        }
    }

    /// The settings of the filter, to be changed.
    pub fn filter_mut(&mut self) -> Option<&mut FilterParams> {
        match self {
            Self::Filter(filter) => Some(filter),
            Self::Windows(_) => None,
        }
    }

    /// The settings of the machine over real windows; `None` where there is none.
    pub fn windows(&self) -> Option<&WindowParams> {
        match self {
            Self::Filter(_) => None,
            Self::Windows(windows) => Some(windows),
        }
    }
}

impl From<FilterParams> for Params {
    /// A filter that nothing watches.
    fn from(filter: FilterParams) -> Self {
        Self { search: SearchParams::Filter(filter), guard: None }
    }
}

impl From<WindowParams> for Params {
    /// A machine that nothing watches.
    fn from(windows: WindowParams) -> Self {
        Self { search: SearchParams::Windows(windows), guard: None }
    }
}

impl Params {
    /// The same search, watched by a guard.
    pub fn guarded(self, guard: GuardParams) -> Self {
        Self { guard: Some(guard), ..self }
    }

    /// Puts the detector of that name, `kcf` or a machine's, in the place of another one, with its defaults. The one that is there already stays
    /// as it is.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a name that is none.
    pub fn set_detector(&mut self, name: &str) -> Result<()> {
        if name == "kcf" {
            if self.search.filter().is_none() {
                self.search = SearchParams::Filter(FilterParams::paper(FeatureKind::Hog, KernelKind::Gaussian));
            }
            return Ok(());
        }
        let kind: MachineKind = name.parse()?;
        if self.search.windows().is_none_or(|windows| windows.machine.kind() != kind) {
            self.search = SearchParams::Windows(WindowParams::of(kind));
        }
        Ok(())
    }

    /// Puts the guard of that name in the place of another one, with its defaults. The one that is there already stays as it is.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a name that is none.
    pub fn set_guard(&mut self, name: &str) -> Result<()> {
        let kind: MachineKind = name.parse()?;
        if self.guard.as_ref().is_none_or(|guard| guard.windows.machine.kind() != kind) {
            self.guard = Some(GuardParams::of(kind));
        }
        Ok(())
    }

    /// Whether every value lies in its range.
    ///
    /// # Errors
    /// [`Error::Parameter`] with the name of the first value that does not.
    pub fn check(&self) -> Result<()> {
        match &self.search {
            SearchParams::Filter(filter) => filter.check()?,
            SearchParams::Windows(windows) => windows.check()?,
        }
        if let Some(guard) = &self.guard {
            guard.check()?;
            if self.search.windows().is_some() {
                let expected = "a guard watches a correlation filter: leave --detector out";
                return wrong("guard", guard.windows.machine.kind(), expected);
            }
        }
        Ok(())
    }
}

/// A parameter's value must lie in its range.
fn in_range(name: &'static str, value: f64, range: RangeInclusive<f64>) -> Result<()> {
    if range.contains(&value) {
        return Ok(());
    }
    wrong(name, value, format!("must be a number from {} to {}", range.start(), range.end()))
}

fn wrong<T>(name: &'static str, value: impl ToString, expected: impl Into<String>) -> Result<T> {
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
    use crate::kernel::Kernel;

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
        let name_of = |change: fn(&mut FilterParams)| {
            let mut filter = FilterParams::paper(FeatureKind::Hog, KernelKind::Gaussian);
            change(&mut filter);
            match Params::from(filter).check() {
                Err(Error::Parameter { name, .. }) => name,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(name_of(|p| p.kernel = Kernel::Gaussian { sigma: 0.0 }), "kernel-sigma");
        assert_eq!(name_of(|p| p.kernel = Kernel::Gaussian { sigma: f64::NAN }), "kernel-sigma");
        assert_eq!(name_of(|p| p.kernel = Kernel::Polynomial { a: -1.0, b: 2 }), "kernel-a");
        assert_eq!(name_of(|p| p.kernel = Kernel::Polynomial { a: 1.0, b: 0 }), "kernel-b");
        assert_eq!(name_of(|p| p.padding = -0.1), "padding");
        assert_eq!(name_of(|p| p.lambda = 0.0), "lambda");
        assert_eq!(name_of(|p| p.output_sigma = f64::INFINITY), "output-sigma");
        assert_eq!(name_of(|p| p.learning_rate = 1.5), "learning-rate");
        assert_eq!(name_of(|p| p.feature = FeatureParams::Hog { cell_size: 0 }), "cell-size");
        assert_eq!(name_of(|p| p.area = AreaSize::Published { half_size_from: f64::NAN }), "half-size-from");
        assert_eq!(name_of(|p| p.area = AreaSize::Bounded { max_cells: 15.0 }), "max-cells");
        assert_eq!(name_of(|p| p.reuse_shift = f64::NAN), "reuse-shift");
        assert_eq!(name_of(|p| p.lost_psr = -1.0), "lost-psr");
        assert_eq!(name_of(|p| p.lost_psr = 9.0), "uncertain-psr");
    }
}
