//! The forks of the tree: what can be chosen at them, and the defaults that a choice brings.

use super::Need;
use crate::kernels::Kernel;
use crate::machines::MachineKind;
use crate::tracker::aspect::AspectSettings;
use crate::tracker::params::{
    AreaSize, AspectParams, BackgroundParams, BeliefParams, ColorWeighting, DecisionSettings, FeatureKind,
    FilterParams, GuardParams, KernelKind, MatchingSettings, Params, PyramidSettings, RotationParams, ScaleParams,
    SearchParams, SeparationSettings, StateParams, VerifyParams, WindowParams,
};
use crate::tracker::rotation::RotationSettings;
use crate::tracker::scale::ScaleSettings;

/// A fork of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// `search`.
    Search,
    /// `guard`.
    Guard,
    /// `search.filter.feature`.
    Feature,
    /// `search.filter.kernel`.
    Kernel,
    /// `search.filter.area`.
    Area,
    /// `search.filter.states`.
    States,
    /// `scale` below `search.` and this.
    Scale(&'static str),
    /// `search.background.color-weighting`.
    ColorWeighting,
    /// `search.background.aspect`.
    Aspect,
    /// `search.background.rotation`.
    Rotation,
    /// `belief.verify` below `search.` and this.
    Verify(&'static str),
    /// The machine of `search.windows`, or else of `guard.windows`.
    Machine(Of),
    /// The kernel of these.
    WindowKernel(Of),
}

/// Whose windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    Search,
    Guard,
}

impl Choice {
    /// All of them with their paths, a choice before those that need it.
    const ALL: [(&'static str, Self); 18] = [
        ("search", Self::Search),
        ("guard", Self::Guard),
        ("search.filter.feature", Self::Feature),
        ("search.filter.kernel", Self::Kernel),
        ("search.filter.area", Self::Area),
        ("search.filter.states", Self::States),
        ("search.filter.scale", Self::Scale("filter")),
        ("search.background.scale", Self::Scale("background")),
        ("search.windows.scale", Self::Scale("windows")),
        ("search.background.color-weighting", Self::ColorWeighting),
        ("search.background.aspect", Self::Aspect),
        ("search.background.rotation", Self::Rotation),
        ("search.filter.states.belief.verify", Self::Verify("filter")),
        ("search.background.belief.verify", Self::Verify("background")),
        ("search.windows.machine", Self::Machine(Of::Search)),
        ("guard.windows.machine", Self::Machine(Of::Guard)),
        ("search.windows.kernel", Self::WindowKernel(Of::Search)),
        ("guard.windows.kernel", Self::WindowKernel(Of::Guard)),
    ];

    /// The fork at that path.
    pub fn at(path: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == path).map(|(_, choice)| *choice)
    }

    /// What has to be chosen at `path` for the branch `part`.
    pub fn need(path: &str, part: &str) -> Option<Need> {
        let (choice, _) = Self::ALL.iter().find(|(known, _)| *known == path)?;
        let branches = [
            "gaussian",
            "polynomial",
            "linear",
            "published",
            "bounded",
            "filter",
            "pyramid",
            "psr",
            "belief",
            "decision",
            "matching",
            "separation",
        ];
        let name = match (*choice, part) {
            ("search", "filter") => "kcf",
            ("search", "background") => "background-aware",
            ("search" | "guard", _) => "",
            _ => branches
                .into_iter()
                .chain(FeatureKind::NAMES.iter().map(|(name, _)| *name))
                .chain(MachineKind::ALL.iter().map(|kind| kind.name()))
                .find(|name| *name == part)
                .unwrap_or_default(),
        };
        Some(Need { choice, name })
    }

    /// What is chosen; `None` where the tree has no such fork.
    pub fn get(self, params: &Params) -> Option<&'static str> {
        let filter = params.search.filter();
        Some(match self {
            Self::Search => match &params.search {
                SearchParams::Filter(_) => "kcf",
                SearchParams::Background(_) => "background-aware",
                SearchParams::Windows(search) => search.windows.machine.kind().name(),
            },
            Self::Guard => params.guard.as_ref().map_or("none", |guard| guard.windows.machine.kind().name()),
            Self::Feature => filter?.feature.kind().name(),
            Self::Kernel => kernel_name(&filter?.kernel),
            Self::Area => match filter?.area {
                AreaSize::Published { .. } => "published",
                AreaSize::Bounded { .. } => "bounded",
            },
            Self::States => match filter?.states {
                StateParams::Psr { .. } => "psr",
                StateParams::Belief(_) => "belief",
            },
            Self::Scale(below) if below != branch(&params.search) => return None,
            Self::Scale(_) => match params.search.scale() {
                ScaleParams::None => "none",
                ScaleParams::Filter(_) => "filter",
                ScaleParams::Pyramid { .. } => "pyramid",
            },
            Self::ColorWeighting => match params.search.background()?.color_weighting {
                ColorWeighting::Fixed => "fixed",
                ColorWeighting::Separation(_) => "separation",
            },
            Self::Aspect => match params.search.background()?.aspect {
                AspectParams::None => "none",
                AspectParams::Filter(_) => "filter",
            },
            Self::Rotation => match params.search.background()?.rotation {
                RotationParams::None => "none",
                RotationParams::Filter(_) => "filter",
            },
            Self::Verify(below) if below != branch(&params.search) => return None,
            Self::Verify(_) => match params.search.belief()?.verify {
                VerifyParams::None => "none",
                VerifyParams::Decision(_) => "decision",
                VerifyParams::Matching(_) => "matching",
            },
            Self::Machine(of) => of.windows(params)?.machine.kind().name(),
            Self::WindowKernel(of) => kernel_name(&of.windows(params)?.kernel),
        })
    }

    /// Chooses `name`, with its defaults; what is chosen already stays as it is. A name that is none changes nothing.
    pub fn set(self, params: &mut Params, name: &str) {
        if self.get(params) == Some(name) {
            return;
        }
        let machine: Option<MachineKind> = name.parse().ok();
        match self {
            Self::Search => {
                params.search = match machine {
                    Some(kind) => SearchParams::Windows(WindowParams::of(kind).into()),
                    None if name == "background-aware" => SearchParams::Background(BackgroundParams::default()),
                    None => SearchParams::Filter(FilterParams::paper(FeatureKind::Hog, KernelKind::Gaussian)),
                };
            }
            Self::Guard => params.guard = machine.map(GuardParams::of),
            Self::Feature | Self::Kernel | Self::Area | Self::States => {
                if let Some(filter) = params.search.filter_mut() {
                    self.set_filter(filter, name);
                }
            }
            Self::Scale(_) => {
                *params.search.scale_mut() = match name {
                    "filter" => ScaleParams::Filter(ScaleSettings::default()),
                    "pyramid" => ScaleParams::Pyramid(PyramidSettings::default()),
                    _ => ScaleParams::None,
                };
            }
            Self::ColorWeighting => {
                if let Some(background) = params.search.background_mut() {
                    background.color_weighting = match name {
                        "separation" => ColorWeighting::Separation(SeparationSettings::default()),
                        _ => ColorWeighting::Fixed,
                    };
                }
            }
            Self::Aspect => {
                if let Some(background) = params.search.background_mut() {
                    background.aspect = match name {
                        "filter" => AspectParams::Filter(AspectSettings::default()),
                        _ => AspectParams::None,
                    };
                }
            }
            Self::Rotation => {
                if let Some(background) = params.search.background_mut() {
                    background.rotation = match name {
                        "filter" => RotationParams::Filter(RotationSettings::default()),
                        _ => RotationParams::None,
                    };
                }
            }
            Self::Verify(_) => {
                if let Some(belief) = params.search.belief_mut() {
                    belief.verify = match name {
                        "decision" => VerifyParams::Decision(DecisionSettings::default()),
                        "matching" => VerifyParams::Matching(MatchingSettings::default()),
                        _ => VerifyParams::None,
                    };
                }
            }
            Self::Machine(of) => {
                let (Some(kind), Some(windows)) = (machine, of.windows_mut(params)) else { return };
                (windows.machine, windows.gate, windows.every) = (kind.params(), kind.gate(), kind.every());
                if let (Of::Guard, Some(guard)) = (of, &mut params.guard) {
                    guard.belief = kind.belief();
                }
            }
            Self::WindowKernel(of) => {
                if let (Some(windows), Ok(kernel)) = (of.windows_mut(params), Kernel::from_name(name)) {
                    windows.kernel = match kernel {
                        Kernel::Gaussian { .. } => WindowParams::KERNEL,
                        other => other,
                    };
                }
            }
        }
    }

    /// Puts in what was published for the feature and the kernel that there are then, where that differs between them.
    fn set_filter(self, filter: &mut FilterParams, name: &str) {
        let (mut feature, mut kernel) = (filter.feature.kind(), filter.kernel_kind());
        match (self, name) {
            (Self::Area, "published") => filter.area = AreaSize::default(),
            (Self::Area, _) => filter.area = AreaSize::Bounded { max_cells: AreaSize::MAX_CELLS },
            (Self::States, "belief") => filter.states = StateParams::Belief(BeliefParams::default()),
            (Self::States, _) => filter.states = FilterParams::paper(feature, kernel).states,
            (Self::Feature, name) => feature = FeatureKind::from_name(name).unwrap_or(feature),
            (_, "polynomial") => kernel = KernelKind::Polynomial,
            (_, "linear") => kernel = KernelKind::Linear,
            _ => kernel = KernelKind::Gaussian,
        }
        if matches!(self, Self::Area | Self::States) {
            return;
        }
        let published = FilterParams::paper(feature, kernel);
        filter.kernel = published.kernel;
        if let StateParams::Psr { .. } = filter.states {
            filter.states = published.states;
        }
        if self == Self::Feature {
            (filter.feature, filter.learning_rate) = (published.feature, published.learning_rate);
        }
    }
}

impl Of {
    fn windows(self, params: &Params) -> Option<&WindowParams> {
        match self {
            Self::Search => params.search.windows(),
            Self::Guard => params.guard.as_ref().map(|guard| &guard.windows),
        }
    }

    fn windows_mut(self, params: &mut Params) -> Option<&mut WindowParams> {
        match self {
            Self::Search => params.search.windows_mut(),
            Self::Guard => params.guard.as_mut().map(|guard| &mut guard.windows),
        }
    }
}

/// The part of a path below `search`.
fn branch(search: &SearchParams) -> &'static str {
    match search {
        SearchParams::Filter(_) => "filter",
        SearchParams::Background(_) => "background",
        SearchParams::Windows(_) => "windows",
    }
}

fn kernel_name(kernel: &Kernel) -> &'static str {
    match kernel {
        Kernel::Gaussian { .. } => "gaussian",
        Kernel::Polynomial { .. } => "polynomial",
        Kernel::Linear => "linear",
    }
}
