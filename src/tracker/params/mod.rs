//! What a tracker can be set to, as a tree: what stands in it is used, and what cannot be used together cannot be
//! written.

mod background;
mod filter;
mod guard;
mod presets;
mod windows;

use serde::{Deserialize, Serialize};

pub use background::{
    AspectParams, BackgroundParams, BeliefParams, ColorWeighting, DecisionSettings, MatchingSettings, PyramidSettings,
    RotationParams, ScaleParams, SeparationSettings, VerifyParams,
};
pub use filter::{AreaSize, FeatureKind, FeatureParams, FilterParams, KernelKind, StateParams};
pub use guard::GuardParams;
pub use windows::{WindowParams, WindowSearchParams};

use crate::frame::Channels;

/// The settings of a [`Tracker`](crate::Tracker), unchecked: fill them in freely, [`Params::check`] judges them as a
/// whole.
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
#[allow(clippy::large_enum_variant, reason = "a tracker has one of them")]
pub enum SearchParams {
    /// A correlation filter.
    Filter(FilterParams),
    /// A background-aware filter with colour, scale and rotation.
    Background(BackgroundParams),
    /// A kernel machine over real windows.
    Windows(WindowSearchParams),
}

impl SearchParams {
    /// The settings of the filter; `None` where there is none.
    pub fn filter(&self) -> Option<&FilterParams> {
        match self {
            Self::Filter(filter) => Some(filter),
            Self::Background(_) | Self::Windows(_) => None,
        }
    }

    /// The settings of the filter, to be changed.
    pub fn filter_mut(&mut self) -> Option<&mut FilterParams> {
        match self {
            Self::Filter(filter) => Some(filter),
            Self::Background(_) | Self::Windows(_) => None,
        }
    }

    /// The settings of the machine over real windows, to be changed.
    pub fn windows_mut(&mut self) -> Option<&mut WindowParams> {
        match self {
            Self::Filter(_) | Self::Background(_) => None,
            Self::Windows(search) => Some(&mut search.windows),
        }
    }

    /// The settings of the machine over real windows; `None` where there is none.
    pub fn windows(&self) -> Option<&WindowParams> {
        match self {
            Self::Filter(_) | Self::Background(_) => None,
            Self::Windows(search) => Some(&search.windows),
        }
    }

    /// How the target's size is followed.
    pub fn scale(&self) -> &ScaleParams {
        match self {
            Self::Filter(filter) => &filter.scale,
            Self::Background(background) => &background.scale,
            Self::Windows(windows) => &windows.scale,
        }
    }

    /// How the target's size is followed, to be changed.
    pub fn scale_mut(&mut self) -> &mut ScaleParams {
        match self {
            Self::Filter(filter) => &mut filter.scale,
            Self::Background(background) => &mut background.scale,
            Self::Windows(windows) => &mut windows.scale,
        }
    }

    /// What a confidence is worth; `None` of a search whose states are not made of it.
    pub fn belief(&self) -> Option<BeliefParams> {
        match self {
            Self::Filter(FilterParams { states: StateParams::Belief(belief), .. }) => Some(*belief),
            Self::Background(background) => Some(background.belief),
            Self::Filter(_) | Self::Windows(_) => None,
        }
    }

    /// What must know a target that is found again.
    pub fn verify(&self) -> VerifyParams {
        self.belief().map_or(VerifyParams::None, |belief| belief.verify)
    }

    /// What a confidence is worth, to be changed.
    pub fn belief_mut(&mut self) -> Option<&mut BeliefParams> {
        match self {
            Self::Filter(FilterParams { states: StateParams::Belief(belief), .. }) => Some(belief),
            Self::Background(background) => Some(&mut background.belief),
            Self::Filter(_) | Self::Windows(_) => None,
        }
    }

    /// The settings of the background-aware filter; `None` where there is none.
    pub fn background(&self) -> Option<&BackgroundParams> {
        match self {
            Self::Background(background) => Some(background),
            Self::Filter(_) | Self::Windows(_) => None,
        }
    }

    /// The settings of the background-aware filter, to be changed.
    pub fn background_mut(&mut self) -> Option<&mut BackgroundParams> {
        match self {
            Self::Background(background) => Some(background),
            Self::Filter(_) | Self::Windows(_) => None,
        }
    }
}

impl Params {
    /// What the features need of a frame.
    pub fn channels(&self) -> Channels {
        match &self.search {
            SearchParams::Filter(filter) => filter.feature.channels(),
            SearchParams::Background(_) => Channels::Color,
            SearchParams::Windows(_) => Channels::Luma,
        }
    }
}

impl From<FilterParams> for Params {
    /// A filter that nothing watches.
    fn from(filter: FilterParams) -> Self {
        Self { search: SearchParams::Filter(filter), guard: None }
    }
}

impl From<BackgroundParams> for Params {
    /// A background-aware filter that nothing watches.
    fn from(background: BackgroundParams) -> Self {
        Self { search: SearchParams::Background(background), guard: None }
    }
}

impl From<WindowParams> for Params {
    /// A machine that nothing watches.
    fn from(windows: WindowParams) -> Self {
        Self { search: SearchParams::Windows(windows.into()), guard: None }
    }
}

impl Params {
    /// The same search, watched by a guard.
    pub fn guarded(self, guard: GuardParams) -> Self {
        Self { guard: Some(guard), ..self }
    }
}

/// JSON has no infinity; what is no limit at all is kept as it is, to be refused.
mod infinite_as_null {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
        match *value {
            f64::INFINITY => to.serialize_none(),
            value if value.is_finite() => value.serialize(to),
            value => value.to_string().serialize(to),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        Ok(Option::deserialize(from)?.unwrap_or(f64::INFINITY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::kernels::Kernel;

    #[test]
    fn presets_are_valid_and_known() {
        for (name, _) in Params::PRESETS {
            Params::preset(name).expect("every listed preset exists").check().expect("and is valid");
        }
        assert!(Params::preset("no-such").is_none());
        assert_eq!(Params::preset(Params::DEFAULT_PRESET).unwrap(), Params::default());
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
        assert_eq!(name_of(|p| p.kernel = Kernel::Gaussian { sigma: 0.0 }), "search.filter.kernel.gaussian.sigma");
        assert_eq!(name_of(|p| p.kernel = Kernel::Gaussian { sigma: f64::NAN }), "search.filter.kernel.gaussian.sigma");
        assert_eq!(name_of(|p| p.kernel = Kernel::Polynomial { a: -1.0, b: 2 }), "search.filter.kernel.polynomial.a");
        assert_eq!(name_of(|p| p.kernel = Kernel::Polynomial { a: 1.0, b: 0 }), "search.filter.kernel.polynomial.b");
        assert_eq!(name_of(|p| p.padding = -0.1), "search.filter.padding");
        assert_eq!(name_of(|p| p.lambda = 0.0), "search.filter.lambda");
        assert_eq!(name_of(|p| p.output_sigma = f64::INFINITY), "search.filter.output-sigma");
        assert_eq!(name_of(|p| p.learning_rate = 1.5), "search.filter.learning-rate");
        assert_eq!(name_of(|p| p.feature = FeatureParams::Hog { cell_size: 0 }), "search.filter.feature.hog.cell-size");
        assert_eq!(
            name_of(|p| p.area = AreaSize::Published { half_size_from: f64::NAN }),
            "search.filter.area.published.half-size-from"
        );
        assert_eq!(name_of(|p| p.area = AreaSize::Bounded { max_cells: 15.0 }), "search.filter.area.bounded.max-cells");
        assert_eq!(name_of(|p| p.reuse_shift = f64::NAN), "search.filter.reuse-shift");
        fn psr(uncertain: f64, lost: f64) -> StateParams {
            StateParams::Psr { uncertain, lost }
        }
        assert_eq!(name_of(|p| p.states = psr(8.0, -1.0)), "search.filter.states.psr.lost");
        assert_eq!(name_of(|p| p.states = psr(8.0, 9.0)), "search.filter.states.psr.uncertain");
    }
}
