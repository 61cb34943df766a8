//! The settings of a tracker: a tree of structs and enums, and the presets.
//!
//! A value is set by its path, as text: `search.filter.padding`, `guard.windows.machine.svm.c`. Naming a variant at
//! the path of an enum selects it with its defaults: `search.background.scale=none`. `search` also takes the names of
//! detectors (`kcf`, `background-aware` and the machines), `guard` those of the machines that guard.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::features::Features;
use crate::features::hog::Hog;
use crate::filters::background::BackgroundSettings;
use crate::frame::Channels;
use crate::kernels::Kernel;
use crate::machines::{MachineKind, MachineParams};
#[cfg(test)]
use crate::settings::text_of;
use crate::settings::{Field, Setting, choice, settings};

/// The settings of a [`Tracker`](crate::Tracker).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Params {
    /// What finds the target from frame to frame.
    pub search: SearchParams,
    /// A kernel machine that watches the search.
    pub guard: Option<GuardParams>,
}

choice! {
    /// What finds the target from frame to frame.
    #[allow(clippy::large_enum_variant, reason = "a tracker has one of them")]
    pub enum SearchParams {
        /// A kernelized correlation filter.
        Filter(FilterParams),
        /// A background-aware filter with colour, scale and rotation.
        Background(BackgroundParams),
        /// A kernel machine over windows of the frame.
        Machine(MachineSearchParams),
        /// A siamese network.
        Siamese(SiameseParams),
        /// A background-aware filter and a siamese network together.
        Expert(ExpertParams),
    }
}

settings! {
    /// A siamese network that compares the search area with the first box.
    pub struct SiameseParams {
        /// Folder of the networks: backbone.onnx and head.onnx
        model: String = String::new();
        /// States and the search for a lost target
        confidence: ConfidenceParams =
            ConfidenceParams { lost_below: 0.2, tiles: 1, ..BackgroundParams::default().confidence };
    }
}

settings! {
    /// A background-aware filter and a siamese network. Where they agree, their boxes are averaged; where they do not, the
    /// comparison with what was given and both confidences decide.
    pub struct ExpertParams {
        /// Folder of the networks: backbone.onnx and head.onnx
        model: String = String::new();
        /// Ask the network in one of this many frames where the filter is sure; in others always
        every: usize = 4, Within(1.0, 1000.0);
        /// The filter
        filter: BackgroundParams = {
            // The box may be the network's, of which the filter's own evidence says nothing.
            let filter = BackgroundParams::default();
            let confidence = ConfidenceParams { hidden_share: 0.0, lost_below: 0.2, ..filter.confidence };
            let identity = IdentityParams::Krr(IdentityMachineParams { denied_hold: 0.0, ..Default::default() });
            BackgroundParams { confidence, identity, ..filter }
        };
    }
}

settings! {
    /// A kernelized correlation filter. The defaults are the published ones for HOG and a Gaussian kernel
    /// (Henriques et al., TPAMI 2015, table 2).
    pub struct FilterParams {
        /// What the filter sees
        feature: FeatureParams = FeatureParams::Hog(HogParams::default());
        /// How two patches are compared
        kernel: Kernel = Kernel::Gaussian { sigma: 0.5 };
        /// Targets with at least this root of width times height in pixels are tracked at half size
        half_size_from: f64 = 100.0, Within(0.0, 1e9);
        /// Area around the target that is searched, as a multiple of its size
        padding: f64 = 1.5, Within(0.0, 20.0);
        /// Regularisation of the filter
        lambda: f64 = 1e-4, Above(0.0, 1e6);
        /// Width of the regression labels, relative to the target's size
        output_sigma: f64 = 0.1, Above(0.0, 10.0);
        /// How fast the model follows the target's appearance, per frame
        learning_rate: f64 = 0.02, Within(0.0, 1.0);
        /// How the target's size is followed
        scale: ScaleParams = ScaleParams::None;
        /// What makes the state of a frame
        states: PsrParams = PsrParams::default();
    }
}

choice! {
    /// What a filter sees.
    #[derive(Copy, Eq)]
    pub enum FeatureParams {
        /// 31-channel histograms of oriented gradients.
        Hog(HogParams),
        /// Gray values less their mean.
        Gray,
    }
}

settings! {
    /// Histograms of oriented gradients.
    #[derive(Copy, Eq)]
    pub struct HogParams {
        /// Side of a cell in pixels
        cell_size: usize = 4, Within(1.0, 64.0);
    }
}

settings! {
    /// States by the peak-to-sidelobe ratio. Every frame is learned; boxes do not depend on the state.
    #[derive(Copy)]
    pub struct PsrParams {
        /// Peak-to-sidelobe ratio below which the state is `uncertain`
        uncertain_below: f64 = 8.0, Within(0.0, 1e6);
        /// Peak-to-sidelobe ratio below which the state is `lost`
        lost_below: f64 = 5.0, Within(0.0, 1e6);
    }
}

settings! {
    /// States by the confidence, and the search for a lost target.
    #[derive(Copy)]
    pub struct ConfidenceParams {
        /// Confidence from which an uncertain target is `tracking` again
        tracking_from: f64 = 0.8, Within(0.0, 1.0);
        /// Confidence below which a tracked target is `uncertain`
        tracking_until: f64 = 0.5, Within(0.0, 1.0);
        /// Confidence below which a frame does not show the target
        lost_below: f64 = 0.2, Within(0.0, 1.0);
        /// Frames in a row without the target until it is `lost`
        lost_after: usize = 3, Within(1.0, 1e6);
        /// Share of its baseline below which the long-term response has dropped; 0 for never
        long_term_drop: f64 = 0.15, Within(0.0, 1.0);
        /// Frames in a row with a dropped long-term response until the target is `lost`
        long_term_frames: usize = 5, Within(1.0, 1e6);
        /// Share of its baseline below which the long-term response is that of a hidden target, where the identity has
        /// fallen too; 0 for never
        hidden_share: f64 = 0.0, Within(0.0, 1.0);
        /// Search areas per frame in the whole frame while the target is lost; 0 for none
        tiles: usize = 4, Within(0.0, 1000.0);
    }
}

settings! {
    /// A background-aware filter on gradients and colours, colour histograms, and 1-D filters for scale and rotation.
    /// The defaults are STRCF's objective with a hard mask; BACF has `temporal` 0 and a `learning_rate` of about .015.
    pub struct BackgroundParams {
        /// Area around the target that is searched, as a multiple of the geometric mean of its sides
        padding: f64 = 3.5, Within(0.0, 20.0);
        /// Largest number of cells of the search area: a larger one is cut at a coarser scale
        max_cells: f64 = 1296.0, Within(1296.0, 6400.0);
        /// Width of the regression labels, relative to the target's size
        output_sigma: f64 = 0.1, Above(0.0, 10.0);
        /// Allow filter values on the target only
        mask: bool = true;
        /// Weight of the filter's values in the objective
        weight: f64 = 1e-3, Within(1e-6, 1e6);
        /// Weight of the distance to the filter of the frame before
        temporal: f64 = 15.0, Within(0.0, 1e6);
        /// How far the learned sample moves towards the newest one; 1 learns the newest alone
        learning_rate: f64 = 1.0, Within(0.0, 1.0);
        /// Steps of the solver per frame
        solver_steps: usize = 2, Within(1.0, 1000.0);
        /// Weight of the colour histograms in the response; 0 for none
        color_weight: f64 = 0.2, Within(0.0, 1.0);
        /// How fast the colour histograms follow, per learned frame
        color_rate: f64 = 0.04, Within(0.0, 0.999);
        /// Learn each of this many first frames
        warmup_frames: usize = 40, Within(0.0, 1e6);
        /// After them, learn one of this many frames
        interval: usize = 2, Within(1.0, 1e6);
        /// Up to this motion in cells, learn from the search area of the detection
        reuse_shift: f64 = 1.0, Within(0.0, 1e6);
        /// How the target's size is followed
        scale: ScaleParams = ScaleParams::Filter(ScaleFilterParams::default());
        /// How the target's angle is followed
        rotation: RotationParams = RotationParams::Filter(RotationFilterParams::default());
        /// States and the search for a lost target
        confidence: ConfidenceParams = ConfidenceParams {
            tracking_from: 0.85,
            tracking_until: 0.7,
            lost_below: 0.1,
            lost_after: 8,
            hidden_share: 0.35,
            ..ConfidenceParams::default()
        };
        /// Whether what is followed is compared with what was given
        identity: IdentityParams = IdentityParams::Krr(IdentityMachineParams::default());
    }
}

choice! {
    /// Whether what is followed is compared with what was given.
    #[derive(Copy)]
    pub enum IdentityParams {
        /// No comparison.
        None,
        /// Kernel ridge regression over windows of the search area.
        Krr(IdentityMachineParams),
    }
}

settings! {
    /// A machine that compares what is followed with what was given. It answers about 1 for the target as it was given
    /// and -1 for its surroundings.
    #[derive(Copy)]
    pub struct IdentityMachineParams {
        /// Answer from which a later frame is a new sample of the target
        learn_from: f64 = 0.0, Within(-10.0, 10.0);
        /// Answer below which the place is denied
        deny_below: f64 = -0.3, Within(-10.0, 10.0);
        /// Factor of the temporal weight where a denied place is learned; 0 to learn nothing there
        denied_hold: f64 = 4.0, Within(0.0, 1e6);
        /// Answer from which a lost target may be found
        find_from: f64 = 0.2, Within(-10.0, 10.0);
        /// Frames in a row in which a lost target must be found until it is recovered
        find_frames: usize = 2, Within(1.0, 1e6);
    }
}

choice! {
    /// How the target's size is followed.
    #[derive(Copy)]
    pub enum ScaleParams {
        /// The box keeps its size.
        None,
        /// A 1-D filter over scales (DSST).
        Filter(ScaleFilterParams),
    }
}

settings! {
    /// A 1-D filter over scales.
    #[derive(Copy)]
    pub struct ScaleFilterParams {
        /// Scales that are compared
        count: usize = 21, Odd(3.0, 23.0);
        /// Ratio of one scale to the next
        step: f64 = 1.03, Within(1.001, 1.2);
        /// How fast the filter follows, per learned frame
        rate: f64 = 0.025, Within(0.0, 1.0);
        /// Regularisation of the filter
        lambda: f64 = 0.01, Above(0.0, 1e6);
        /// Largest number of pixels of a patch
        area: f64 = 576.0, Within(64.0, 16384.0);
    }
}

choice! {
    /// How the target's angle is followed.
    #[derive(Copy)]
    pub enum RotationParams {
        /// The search area stays upright.
        None,
        /// A 1-D filter over angles.
        Filter(RotationFilterParams),
    }
}

settings! {
    /// A 1-D filter over angles.
    #[derive(Copy)]
    pub struct RotationFilterParams {
        /// Standard deviation of the expected turns, in degrees per frame
        prior: f64 = 30.0, Within(0.1, 1e6);
        /// How fast the filter follows, per learned frame
        rate: f64 = 0.02, Within(0.0, 1.0);
        /// Regularisation of the filter
        lambda: f64 = 0.01, Above(0.0, 1e6);
        /// Side of a patch over that of the target
        patch_scale: f64 = 1.1, Within(0.5, 3.0);
        /// Largest number of pixels of a patch
        area: f64 = 576.0, Within(64.0, 16384.0);
        /// Smallest turn in degrees
        min_turn: f64 = 4.0, Within(0.0, 180.0);
        /// Share by which the response at another angle is lowered before it is compared
        margin: f64 = 0.05, Within(0.0, 1.0);
    }
}

settings! {
    /// A kernel machine over windows of the frame that tracks by itself.
    pub struct MachineSearchParams {
        /// How it searches and learns
        windows: WindowParams = WindowParams::default();
        /// How the target's size is followed
        scale: ScaleParams = ScaleParams::None;
        /// Score below which the state is `lost`, or below the gate where that is lower
        lost_below: f64 = -0.3, Within(-100.0, 100.0);
    }
}

settings! {
    /// How a kernel machine over a bank of windows searches and learns. The defaults are those of `krr`.
    pub struct WindowParams {
        /// Which machine
        machine: MachineParams = MachineParams::default();
        /// How two windows are compared
        kernel: Kernel = Self::KERNEL;
        /// Targets with a larger root of width times height in pixels are cut at a coarser scale
        template_size: f64 = 32.0, Within(8.0, 1000.0);
        /// Area around the target in a template, as a multiple of its size
        context: f64 = 0.5, Within(0.0, 5.0);
        /// The target may move by half of this times its size per frame
        reach: f64 = 2.5, Within(0.0, 20.0);
        /// How much nearness to the last place counts
        prior: f64 = 0.5, Within(0.0, 1.0);
        /// Weight of the newest sample of the target among all its samples
        sample_share: f64 = 0.05, Within(0.0, 0.999);
        /// Score above which a frame is learned
        gate: f64 = 0.0, Within(-100.0, 100.0);
        /// Learn one of this many frames above the gate
        interval: usize = 1, Within(1.0, 1e6);
        /// Largest number of samples of the target; the closest two are merged
        positives: usize = 12, Within(1.0, 256.0);
        /// Largest number of samples of the background; the one least like the target is dropped
        negatives: usize = 40, Within(1.0, 256.0);
        /// Samples of the background that a frame adds
        hard_negatives: usize = 3, Within(0.0, 32.0);
        /// Principal components that the 31 channels of HOG are projected onto; 31 for none
        channels: usize = 8, WithinOr(1.0, 15.0, 31.0);
    }
}

settings! {
    /// A kernel machine over windows that watches another search.
    pub struct GuardParams {
        /// How it searches and learns
        windows: WindowParams = WindowParams::default();
        /// Score at the place of the search below which the guard doubts it
        uncertain_below: f64 = 0.0, Within(-100.0, 100.0);
        /// Score above which a doubting guard accepts a window elsewhere
        accept_above: f64 = 0.3, Within(-100.0, 100.0);
        /// By how much that score must exceed the one at the place of the search
        margin: f64 = 0.3, Within(0.0, 100.0);
        /// Added to `accept-above` for windows anywhere in the frame
        far_margin: f64 = 0.1, Within(0.0, 100.0);
        /// Doubtful frames in a row until the target is lost and the whole frame is searched
        lost_after: usize = 3, Within(1.0, 1e6);
        /// Search areas per frame in the whole frame; 0 for none
        tiles: usize = 2, Within(0.0, 1000.0);
        /// Weight of the new sample when the search is moved: 1 replaces its model, 0 keeps it
        relearn_rate: f64 = 0.2, Within(0.0, 1.0);
    }
}

impl FeatureParams {
    /// The extractor for patches of `width` x `height` pixels.
    pub(crate) fn extractor(&self, width: usize, height: usize) -> Features {
        match self {
            Self::Hog(hog) => Features::Hog(Box::new(Hog::new(width, height, hog.cell_size))),
            Self::Gray => Features::Gray,
        }
    }

    /// Side of a cell in pixels.
    pub fn cell_size(&self) -> usize {
        match self {
            Self::Hog(hog) => hog.cell_size,
            _ => 1,
        }
    }
}

impl FilterParams {
    /// The published settings for a feature and a kernel, whose own parameters are replaced. A feature of single pixels
    /// takes those of gray values.
    pub fn paper(feature: FeatureParams, kernel: Kernel) -> Self {
        let (sigma, b, learning_rate) = match feature {
            FeatureParams::Hog(_) => (0.5, 9, 0.02),
            _ => (0.2, 7, 0.075),
        };
        // About one in fifty of the frames that overlap the truth by more than half (on OTB) is called uncertain, one
        // in five hundred lost. A linear filter of gray values answers with broad, low peaks.
        let (uncertain_below, lost_below) = match (feature, kernel) {
            (FeatureParams::Hog(_), _) => (8.0, 5.0),
            (_, Kernel::Gaussian { .. }) => (7.0, 5.0),
            _ => (3.0, 2.0),
        };
        let kernel = match kernel {
            Kernel::Gaussian { .. } => Kernel::Gaussian { sigma },
            Kernel::Polynomial { .. } => Kernel::Polynomial { a: 1.0, b },
            Kernel::Linear => Kernel::Linear,
        };
        let states = PsrParams { uncertain_below, lost_below };
        Self { feature, kernel, learning_rate, states, ..Self::default() }
    }
}

impl BackgroundParams {
    /// The settings of the filter alone.
    pub(crate) fn filter(&self) -> BackgroundSettings {
        BackgroundSettings {
            temporal: self.temporal,
            sample_rate: self.learning_rate,
            steps: self.solver_steps,
            ..BackgroundSettings::default()
        }
    }
}

impl WindowParams {
    /// The default kernel between windows.
    pub const KERNEL: Kernel = Kernel::Gaussian { sigma: 0.25 };

    /// The defaults for a machine. The class means score +1 and -1, except for ridge regression, whose labels fall off so
    /// steeply that its scores are lower. Machines that solve eigenproblems take longest, and learn less often.
    pub fn of(machine: MachineKind) -> Self {
        let default = Self::default();
        let (gate, interval) = match machine {
            MachineKind::Krr => (default.gate, default.interval),
            MachineKind::Svm => (0.1, 1),
            MachineKind::Klda | MachineKind::Slem => (0.2, 1),
            MachineKind::Kpca | MachineKind::Kdspe => (0.2, 2),
        };
        Self { machine: machine.params(), gate, interval, ..default }
    }

    /// Another machine than `before` comes with its gate and interval, another kind of kernel with its bandwidth.
    fn take_defaults(&mut self, before: &Self) {
        let kind = self.machine.kind();
        if kind != before.machine.kind() {
            Self { gate: self.gate, interval: self.interval, .. } = Self::of(kind);
        }
        if let (Kernel::Gaussian { .. }, false) = (self.kernel, self.kernel.name() == before.kernel.name()) {
            self.kernel = Self::KERNEL;
        }
    }
}

impl GuardParams {
    /// The defaults for a machine.
    pub fn of(machine: MachineKind) -> Self {
        let default = Self::default();
        let accept_above = if machine == MachineKind::Krr { default.accept_above } else { 0.5 };
        Self { windows: WindowParams::of(machine), accept_above, ..default }
    }
}

impl SearchParams {
    /// The folder of the networks; `None` of a search without.
    pub fn model(&self) -> Option<&str> {
        match self {
            Self::Siamese(SiameseParams { model, .. }) | Self::Expert(ExpertParams { model, .. }) => Some(model),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub fn model_mut(&mut self) -> Option<&mut String> {
        match self {
            Self::Siamese(SiameseParams { model, .. }) | Self::Expert(ExpertParams { model, .. }) => Some(model),
            _ => None,
        }
    }

    /// States by the confidence; `None` for a search with other states.
    pub fn confidence(&self) -> Option<ConfidenceParams> {
        match self {
            Self::Background(background) => Some(background.confidence),
            Self::Siamese(siamese) => Some(siamese.confidence),
            Self::Expert(expert) => Some(expert.filter.confidence),
            Self::Filter(_) | Self::Machine(_) => None,
        }
    }

    /// The name of the detector.
    pub fn detector(&self) -> &'static str {
        match self {
            Self::Filter(_) => "kcf",
            Self::Background(_) => "background-aware",
            Self::Machine(machine) => machine.windows.machine.kind().name(),
            Self::Siamese(_) => "siamese",
            Self::Expert(_) => "expert",
        }
    }
}

impl From<FilterParams> for Params {
    fn from(filter: FilterParams) -> Self {
        Self { search: SearchParams::Filter(filter), guard: None }
    }
}

impl From<BackgroundParams> for Params {
    fn from(background: BackgroundParams) -> Self {
        Self { search: SearchParams::Background(background), guard: None }
    }
}

impl From<WindowParams> for Params {
    fn from(windows: WindowParams) -> Self {
        let search = MachineSearchParams { windows, ..Default::default() };
        Self { search: SearchParams::Machine(search), guard: None }
    }
}

impl Default for Params {
    /// The preset `robust`.
    fn default() -> Self {
        BackgroundParams::default().into()
    }
}

impl Setting for Option<GuardParams> {
    fn visit(&self, field: &Field<'_>, visit: &mut dyn FnMut(&Field<'_>, Value)) {
        match self {
            None => visit(&Field { names: Params::guards(), ..*field }, "none".into()),
            Some(guard) => guard.visit(field, visit),
        }
    }
}

/// `robust` without what costs most: angles and the comparison with what was given. It learns less often and compares
/// fewer sizes.
fn fast() -> Params {
    let scale = ScaleFilterParams { count: 9, step: 1.06, area: 400.0, ..ScaleFilterParams::default() };
    let robust = BackgroundParams::default();
    let background = BackgroundParams {
        padding: 3.0,
        interval: 4,
        scale: ScaleParams::Filter(scale),
        rotation: RotationParams::None,
        identity: IdentityParams::None,
        confidence: ConfidenceParams { lost_after: 5, tiles: 3, ..robust.confidence },
        ..robust
    };
    background.into()
}

impl Params {
    /// The names of the presets, each with what it is.
    pub const PRESETS: [(&'static str, &'static str); 5] = [
        ("robust", "background-aware filter with colour, size, angle, identity and recovery"),
        ("fast", "the same with size alone, at more than twice the speed"),
        ("paper", "KCF as published: HOG, Gaussian kernel"),
        ("paper-dcf", "DCF as published: HOG, linear kernel"),
        ("paper-gray", "gray values, Gaussian kernel (CSK's features)"),
    ];

    /// The preset that is used by default.
    pub const DEFAULT_PRESET: &'static str = Self::PRESETS[0].0;

    /// The presets of this build: [`Self::PRESETS`], and with networks `expert`.
    pub fn presets() -> impl Iterator<Item = (&'static str, &'static str)> {
        let expert = ("expert", "robust and a network together; needs a model");
        Self::PRESETS.into_iter().chain(cfg!(feature = "neural").then_some(expert))
    }

    /// The names that `search` takes as detectors.
    pub fn detectors() -> impl Iterator<Item = &'static str> {
        ["background-aware", "kcf"].into_iter().chain(MachineKind::ALL.iter().map(|kind| kind.name()))
    }

    /// The names that `guard` takes: `none`, and the machines that guard.
    pub(crate) fn guards() -> &'static [&'static str] {
        static NAMES: std::sync::LazyLock<Vec<&'static str>> = std::sync::LazyLock::new(|| {
            std::iter::once("none").chain(MachineKind::all_guards().map(MachineKind::name)).collect()
        });
        &NAMES
    }

    /// The settings of a preset.
    ///
    /// # Errors
    /// [`Error::Setting`] with the names of the presets.
    pub fn preset(name: &str) -> Result<Self> {
        Ok(match name {
            "robust" => Self::default(),
            "fast" => fast(),
            "paper" => Self::paper(),
            "paper-dcf" => FilterParams::paper(FeatureParams::default(), Kernel::Linear).into(),
            "paper-gray" => FilterParams::paper(FeatureParams::Gray, Kernel::Gaussian { sigma: 0.2 }).into(),
            "expert" => Self { search: SearchParams::Expert(ExpertParams::default()), guard: None },
            _ => {
                let names = Self::presets().map(|(name, _)| name).collect::<Vec<_>>().join(", ");
                let expected = format!("must be one of {names}");
                return Err(Error::setting("preset", name, expected));
            }
        })
    }

    /// KCF as published, the preset `paper`.
    pub fn paper() -> Self {
        FilterParams::default().into()
    }

    /// The same search, watched by a guard.
    pub fn guarded(self, guard: GuardParams) -> Self {
        Self { guard: Some(guard), ..self }
    }

    /// What the features need of a frame.
    pub fn channels(&self) -> Channels {
        match &self.search {
            SearchParams::Background(_) | SearchParams::Siamese(_) | SearchParams::Expert(_) => Channels::Color,
            SearchParams::Filter(_) | SearchParams::Machine(_) => Channels::Luma,
        }
    }

    /// Calls `visit` with every setting and its value.
    pub(crate) fn visit(&self, visit: &mut dyn FnMut(&Field<'_>, Value)) {
        let field = |path, doc| Field { path, doc, ..Field::ROOT };
        self.guard.visit(&field("guard", "Kernel machine that watches the search"), visit);
        self.search.visit(&field("search", "What finds the target"), visit);
    }

    /// All settings by their paths.
    pub fn values(&self) -> Vec<(String, Value)> {
        let mut values = Vec::new();
        self.visit(&mut |field, value| values.push((field.path.to_owned(), value)));
        values
    }

    /// The settings that `base` has not, or has with other values.
    pub(crate) fn changes(&self, base: &Self) -> Vec<(String, Value)> {
        let base = base.values();
        self.values().into_iter().filter(|value| !base.contains(value)).collect()
    }

    /// Sets the value at `path` to what `text` says. Another variant of an enum brings its defaults; the same one
    /// changes nothing.
    ///
    /// # Errors
    /// [`Error::Setting`] for an unknown path, a path of a branch that is not selected, and a value that is refused.
    pub fn set(&mut self, path: &str, text: &str) -> Result<()> {
        self.set_at(path, text, false)
    }

    /// As [`Params::set`]; with `choose`, a path selects the branches that it goes through.
    pub(crate) fn set_at(&mut self, path: &str, text: &str, choose: bool) -> Result<()> {
        let path = path.replace('_', "-");
        let (first, rest) = path.split_once('.').unwrap_or((&path, ""));
        let before = self.clone();
        match (first, rest) {
            ("search" | "detector", "") => return self.set_detector(text.trim()),
            ("search", rest) => self.search.set("search", rest, text, choose)?,
            ("guard", "") => return self.set_guard(text.trim()),
            ("guard", rest) => {
                if choose {
                    self.guard.get_or_insert_default();
                }
                let needed = || Error::setting(&path, text, "needs a guard, such as guard = krr");
                self.guard.as_mut().ok_or_else(needed)?.set("guard", rest, text, choose)?;
            }
            _ => return Err(Error::setting(&path, "", "unknown setting: it begins with search or guard")),
        }
        match (&mut self.search, before.search) {
            (SearchParams::Filter(filter), SearchParams::Filter(before)) => filter.take_published(&before),
            (SearchParams::Filter(filter), _) => filter.take_published(&FilterParams::default()),
            (SearchParams::Machine(search), SearchParams::Machine(before)) => {
                search.windows.take_defaults(&before.windows);
            }
            (SearchParams::Machine(search), _) => search.windows.take_defaults(&WindowParams::default()),
            _ => {}
        }
        if let Some(guard) = &mut self.guard {
            let before = before.guard.unwrap_or_default().windows;
            guard.windows.take_defaults(&before);
            if guard.windows.machine.kind() != before.machine.kind() {
                guard.accept_above = GuardParams::of(guard.windows.machine.kind()).accept_above;
            }
        }
        Ok(())
    }

    fn set_guard(&mut self, name: &str) -> Result<()> {
        let kind = name.parse::<MachineKind>().ok().filter(|kind| kind.guards());
        match kind {
            None if name == "none" => self.guard = None,
            None => {
                return Err(Error::setting("guard", name, format!("must be one of {}", Self::guards().join(", "))));
            }
            Some(kind) if self.guard.as_ref().is_none_or(|guard| guard.windows.machine.kind() != kind) => {
                self.guard = Some(GuardParams::of(kind));
            }
            Some(_) => {}
        }
        Ok(())
    }

    fn set_detector(&mut self, name: &str) -> Result<()> {
        if name == self.search.detector() || name == self.search.name() {
            return Ok(());
        }
        self.search = match name {
            "kcf" | "filter" => SearchParams::Filter(FilterParams::default()),
            "background-aware" | "background" => SearchParams::Background(BackgroundParams::default()),
            "machine" => SearchParams::Machine(MachineSearchParams::default()),
            "siamese" => SearchParams::Siamese(SiameseParams::default()),
            "expert" => SearchParams::Expert(ExpertParams::default()),
            name => match name.parse::<MachineKind>() {
                Ok(kind) => Self::from(WindowParams::of(kind)).search,
                Err(_) => {
                    let names: Vec<_> = Self::detectors().collect();
                    let expected = format!("must be one of {}", names.join(", "));
                    return Err(Error::setting("search", name, expected));
                }
            },
        };
        Ok(())
    }

    /// These settings as a document: the preset, the paths that differ from it, and the whole tree.
    pub fn document(&self, preset: &str) -> Value {
        let base = Self::preset(preset).unwrap_or_default();
        let changed = self.changes(&base).into_iter().map(|(path, _)| path);
        let mut document = serde_json::json!({ "preset": preset, "changed": changed.collect::<Vec<_>>() });
        // Plain numbers, names and options serialise.
        if let (Some(all), Ok(Value::Object(tree))) = (document.as_object_mut(), serde_json::to_value(self)) {
            all.extend(tree);
        }
        document
    }

    /// Whether every value is in its range and goes with the others.
    ///
    /// # Errors
    /// [`Error::Setting`] with the path of the first value that does not.
    pub fn check(&self) -> Result<()> {
        self.search.check_ranges("search")?;
        self.guard.check_ranges("guard")?;
        let refuse = |path: &str, value: String, expected: String| Err(Error::setting(path, value, expected));
        let confidence_path = match &self.search {
            SearchParams::Filter(FilterParams { states, .. }) if states.uncertain_below < states.lost_below => {
                let expected = format!("must not be below search.filter.states.lost-below {}", states.lost_below);
                return refuse("search.filter.states.uncertain-below", states.uncertain_below.to_string(), expected);
            }
            SearchParams::Siamese(_) => "search.siamese.confidence",
            SearchParams::Expert(_) => "search.expert.filter.confidence",
            _ => "search.background.confidence",
        };
        if let Some(model) = self.search.model() {
            let path = format!("search.{}.model", self.search.name());
            if !cfg!(feature = "neural") {
                return refuse(&path, model.into(), "needs a build with networks: --features neural".into());
            }
            if model.is_empty() {
                return refuse(&path, "\"\"".into(), "must be the folder of backbone.onnx and head.onnx".into());
            }
        }
        if let Some(confidence) = self.search.confidence() {
            let ConfidenceParams { tracking_from, tracking_until, lost_below, .. } = confidence;
            if tracking_until > tracking_from || lost_below > tracking_until {
                let expected = "must be in order: lost-below, tracking-until, tracking-from".to_owned();
                return refuse(confidence_path, format!("{lost_below}, {tracking_until}, {tracking_from}"), expected);
            }
        }
        let search = match &self.search {
            SearchParams::Machine(search) => Some(("search.machine.windows", &search.windows)),
            _ => None,
        };
        let guard = self.guard.as_ref().map(|guard| ("guard.windows", &guard.windows));
        if let Some((_, windows)) = guard.filter(|(_, windows)| !windows.machine.kind().guards()) {
            let expected = format!("must be one of {}", Params::guards()[1..].join(", "));
            return refuse("guard.windows.machine", windows.machine.kind().to_string(), expected);
        }
        for (path, windows) in search.into_iter().chain(guard) {
            if let Err(error) = windows.machine.build() {
                return refuse(&format!("{path}.machine"), windows.machine.kind().to_string(), error.to_string());
            }
        }
        Ok(())
    }

    /// The settings in force as TOML that [`Params::read_toml`] reads, each with its meaning and range.
    #[cfg(feature = "cli")]
    pub(crate) fn to_toml(&self, preset: &str) -> String {
        let mut tables: Vec<(String, String)> = vec![(String::new(), format!("preset = \"{preset}\"\n"))];
        // JSON writes text, numbers and switches as TOML does.
        self.visit(&mut |field, value| {
            let (table, key) = field.path.rsplit_once('.').unwrap_or(("", field.path));
            let line = format!("# {} ({})\n{key} = {value}\n", field.doc, field.expected(&value));
            match tables.iter_mut().find(|(known, _)| known == table) {
                Some((_, lines)) => lines.push_str(&line),
                None => tables.push((table.to_owned(), line)),
            }
        });
        let mut out = String::from("# Settings for --config FILE; what is left out keeps the preset's value.\n");
        for (table, lines) in tables {
            if !table.is_empty() {
                out += &format!("\n[{table}]\n");
            }
            out += &lines;
        }
        out
    }

    /// The preset and the settings of a TOML document. They start from `preset`, else from the document's preset, else
    /// from `default`.
    ///
    /// # Errors
    /// [`Error::Setting`] for a document that is not TOML (with the parser's message) and as [`Params::set`].
    #[cfg(feature = "cli")]
    pub(crate) fn read_toml(text: &str, preset: Option<&str>, default: &str) -> Result<(String, Self)> {
        fn values(table: &toml::Table, below: &str, all: &mut Vec<(String, String)>) {
            for (key, value) in table {
                let path = if below.is_empty() { key.clone() } else { format!("{below}.{key}") };
                match value {
                    toml::Value::Table(table) => values(table, &path, all),
                    toml::Value::String(text) => all.push((path, text.clone())),
                    toml::Value::Float(number) => all.push((path, number.to_string())),
                    toml::Value::Integer(number) => all.push((path, number.to_string())),
                    value => all.push((path, value.as_bool().map_or("not a setting".into(), |on| on.to_string()))),
                }
            }
        }
        let table: toml::Table = text
            .parse()
            .map_err(|error: toml::de::Error| Error::setting("TOML", String::new(), error.to_string().trim_end()))?;
        let mut all = Vec::new();
        values(&table, "", &mut all);
        let of_document = all.iter().find(|(path, _)| path == "preset").map(|(_, name)| name.as_str());
        let preset = preset.or(of_document).unwrap_or(default).to_owned();
        let mut params = Self::preset(&preset)?;
        all.retain(|(path, _)| path != "preset");
        // The first pass selects all branches, which bring defaults; the second one has the last word on values.
        for (path, text) in &all {
            params.set_at(path, text, true)?;
        }
        for (path, text) in &all {
            params.set(path, text)?;
        }
        Ok((preset, params))
    }
}

impl FilterParams {
    /// Another kind of feature or kernel than `before` comes with its published settings.
    fn take_published(&mut self, before: &Self) {
        let kind = |params: &Self| (params.feature.name(), std::mem::discriminant(&params.kernel));
        if kind(self) == kind(before) {
            return;
        }
        let published = Self::paper(self.feature, self.kernel);
        (self.kernel, self.states) = (published.kernel, published.states);
        if self.feature.name() != before.feature.name() {
            (self.feature, self.learning_rate) = (published.feature, published.learning_rate);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All presets, machines as detectors, and guards.
    fn all() -> Vec<Params> {
        let presets = Params::PRESETS.map(|(name, _)| Params::preset(name).unwrap());
        let detectors = MachineKind::ALL.iter().map(|&kind| WindowParams::of(kind).into());
        let guards = MachineKind::ALL.iter().filter(|kind| kind.guards());
        presets
            .into_iter()
            .chain(detectors)
            .chain(guards.map(|&kind| Params::paper().guarded(GuardParams::of(kind))))
            .collect()
    }

    /// The same with each number and switch off its default, where that goes with the others.
    fn moved(params: &Params) -> Params {
        let mut moved = params.clone();
        for (path, value) in params.values() {
            let others = match value {
                Value::Bool(on) => vec![(!on).to_string()],
                Value::Number(number) => {
                    let number = number.as_f64().unwrap();
                    [number + 0.05, number + 2.0, number * 0.9, number - 1.0].map(|other| other.to_string()).to_vec()
                }
                _ => vec![],
            };
            assert!(others.is_empty() || others.iter().any(|text| moved.set(&path, text).is_ok()), "{path}");
        }
        moved.check().unwrap();
        moved
    }

    fn refused(result: Result<()>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn every_value_can_be_set_to_itself_and_survives_json() {
        for params in all() {
            params.check().unwrap();
            let mut again = params.clone();
            for (path, value) in params.values() {
                again.set(&path, &text_of(&value)).unwrap_or_else(|error| panic!("{error}"));
            }
            assert_eq!(again, params);
            let json = serde_json::to_value(&params).unwrap();
            assert_eq!(serde_json::from_value::<Params>(json).unwrap(), params);
        }
    }

    #[test]
    fn every_number_out_of_its_range_is_refused_with_its_path() {
        for params in all() {
            for (path, value) in params.values().into_iter().filter(|(_, value)| value.is_number()) {
                for wrong in ["-1e9", "1e300", "nan", "many", ""] {
                    let said = refused(params.clone().set(&path, wrong));
                    assert!(said.starts_with(&path), "{said}");
                }
                let (parent, name) = path.rsplit_once('.').unwrap();
                let said = refused(params.clone().set(&format!("{parent}.{name}x"), &text_of(&value)));
                assert!(said.contains(name), "{said}");
            }
        }
        let mut params = Params::default();
        if let SearchParams::Background(background) = &mut params.search {
            background.scale = ScaleParams::Filter(ScaleFilterParams { count: 4, ..Default::default() });
        }
        assert!(refused(params.check()).starts_with("search.background.scale.filter.count = 4: must be odd"));
    }

    #[test]
    fn another_variant_brings_its_defaults_and_the_same_one_changes_nothing() {
        let mut params = Params::preset("fast").unwrap();
        params.set("search.background.scale", "filter").unwrap();
        assert_eq!(params, Params::preset("fast").unwrap());
        params.set("search.background.scale", "none").unwrap();
        assert!(refused(params.set("search.background.scale.filter.step", "1.1")).contains("scale = filter"));
        params.set("search.background.scale", "filter").unwrap();
        let SearchParams::Background(background) = &params.search else { panic!("{params:?}") };
        assert_eq!(background.scale, ScaleParams::Filter(ScaleFilterParams::default()));
        assert!(refused(params.set("guard.margin", "1")).contains("guard = krr"));
        params.set("detector", "svm").unwrap();
        assert_eq!(params.search, Params::from(WindowParams::of(MachineKind::Svm)).search);
        params.set("search.machine.windows.machine", "slem").unwrap();
        assert_eq!(params.search, Params::from(WindowParams::of(MachineKind::Slem)).search);
        params.set("guard", "klda").unwrap();
        assert_eq!(params.guard, Some(GuardParams::of(MachineKind::Klda)));
        assert!(refused(params.set("guard", "kpca")).contains("none, krr"));
        params.set("guard.windows.kernel.gaussian.sigma", "0.4").unwrap();
        let before = params.clone();
        params.set("guard.windows.kernel", "gaussian").unwrap();
        refused(params.set("guard", "typo"));
        assert_eq!(params, before);
        params.set("guard", "none").unwrap();
        assert_eq!(params.guard, None);
    }

    #[test]
    fn a_feature_or_a_kernel_comes_with_its_published_settings() {
        let mut params = Params::paper();
        params.set("search.filter.feature", "gray").unwrap();
        assert_eq!(params, Params::preset("paper-gray").unwrap());
        let mut params = Params::paper();
        params.set("search.filter.kernel", "linear").unwrap();
        assert_eq!(params, Params::preset("paper-dcf").unwrap());
    }

    #[test]
    fn settings_that_contradict_each_other_are_refused() {
        for (preset, changes) in [
            ("robust", &[("search.background.confidence.lost-below", "0.75")][..]),
            ("paper", &[("search.filter.states.lost-below", "9")]),
        ] {
            let mut params = Params::preset(preset).unwrap();
            changes.iter().for_each(|(path, value)| params.set(path, value).unwrap());
            assert!(refused(params.check()).contains("search."), "{changes:?}");
        }
    }

    #[test]
    fn a_document_names_what_differs_from_its_preset() {
        let mut params = Params::paper();
        params.set("search.filter.padding", "2").unwrap();
        let document = params.document("paper");
        assert_eq!(document["changed"], serde_json::json!(["search.filter.padding"]));
        assert_eq!(document["search"]["filter"]["padding"], 2.0);
    }

    #[cfg(feature = "cli")]
    #[test]
    fn toml_is_read_back_and_may_be_partial() {
        let expert = ExpertParams { model: "C:\\nets \"new\"".into(), ..ExpertParams::default() };
        let expert = Params { search: SearchParams::Expert(expert), guard: None };
        let moved = all().iter().map(moved).collect::<Vec<_>>();
        for params in all().into_iter().chain(moved).chain([expert]) {
            let text = params.to_toml("robust");
            assert_eq!(Params::read_toml(&text, None, "paper").unwrap(), ("robust".into(), params), "{text}");
        }
        let text = "preset = \"paper\"\n[guard.windows.machine.svm]\nc = 3\n[search.filter]\nscale = \"filter\"\n";
        let (_, params) = Params::read_toml(text, None, "robust").unwrap();
        let mut expected = Params::paper().guarded(GuardParams::of(MachineKind::Svm));
        expected.set("guard.windows.machine.svm.c", "3").unwrap();
        expected.set("search.filter.scale", "filter").unwrap();
        assert_eq!(params, expected);
        assert_eq!(Params::read_toml(text, Some("fast"), "robust").unwrap().0, "fast");
        for wrong in ["padding = 2", "[search.filter]\npading = 2", "search = [1]", "x = ", "preset = \"fats\""] {
            assert!(Params::read_toml(wrong, None, "paper").is_err(), "{wrong}");
        }
    }
}
