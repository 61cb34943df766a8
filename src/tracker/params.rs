//! The settings of a tracker: a tree of structs and enums.
//!
//! A value is set by its path, as text: `search.filter.padding`, `guard.windows.machine.svm.c`. Naming a variant at
//! the path of an enum selects it with its defaults: `search.background.scale=none`. `search` also takes the names of
//! detectors (`kcf`, `background-aware` and the machines), `guard` those of the machines that guard.

use serde::{Deserialize, Serialize};

pub use crate::filters::scale_rotation::{RotationFilterParams, ScaleFilterParams};
use crate::kernels::Kernel;
use crate::machines::{MachineKind, MachineParams};
use crate::settings::{choice, settings};

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
            ConfidenceParams { hidden_share: 0.0, lost_below: 0.2, tiles: 1, ..BackgroundParams::default().confidence };
    }
}

settings! {
    /// A background-aware filter and a siamese network. Where they agree, their boxes are averaged; where they
    /// disagree, the comparison with the given target and both confidences decide.
    pub struct ExpertParams {
        /// Folder of the networks: backbone.onnx and head.onnx
        model: String = String::new();
        /// Ask the network in one of this many frames where the filter is sure; in others always
        every: usize = 4, Within(1.0, 1000.0);
        /// The filter
        filter: BackgroundParams = {
            // The box may be the network's, of which the filter's own evidence says nothing.
            let filter = BackgroundParams::default();
            let confidence =
                ConfidenceParams { tracking_from: 0.91, hidden_share: 0.0, lost_below: 0.2, ..filter.confidence };
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
        /// Confidence from which a target is `tracking`; below, the target is `uncertain`
        tracking_from: f64 = 0.8, Within(0.0, 1.0);
        /// Confidence of a frame by itself from which a lost target is found at its last place
        found_from: f64 = 0.5, Within(0.0, 1.0);
        /// Confidence of a frame by itself from which a lost target is found elsewhere in the frame
        redetected_from: f64 = 0.8, Within(0.0, 1.0);
        /// Confidence below which a frame by itself does not show the target
        lost_below: f64 = 0.2, Within(0.0, 1.0);
        /// Frames in a row without the target until it is `lost`
        lost_after: usize = 3, Within(1.0, 1e6);
        /// Share of its baseline below which the long-term response has dropped; 0 for never
        long_term_drop: f64 = 0.15, Within(0.0, 1.0);
        /// Frames in a row with a dropped long-term response until the target is `lost`
        long_term_frames: usize = 5, Within(1.0, 1e6);
        /// Share of its usual value below which the logarithm of the peak-to-sidelobe ratio is that of a covered target; 0
        /// for never
        hidden_share: f64 = 0.0, Within(0.0, 1.0);
        /// Search areas per frame in the whole frame while the target is lost; 0 for none
        tiles: usize = 4, Within(0.0, 1000.0);
    }
}

settings! {
    /// A background-aware filter on gradients and colours, colour histograms, and 1-D filters for scale and rotation.
    /// The defaults are STRCF's objective with a hard mask; BACF has `temporal` 0 and a `learning_rate` of .013.
    pub struct BackgroundParams {
        /// Area around the target that is searched, as a multiple of the geometric mean of its sides
        padding: f64 = 3.5, Within(0.0, 20.0);
        /// Largest number of cells of the search area: a larger one is cut at a coarser scale
        max_cells: f64 = 1296.0, Within(256.0, 6400.0);
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
        /// After them, compare sizes and angles in one of this many frames
        size_interval: usize = 1, Within(1.0, 1e6);
        /// Of several targets, each learns and compares sizes in other frames than the next one
        in_turn: bool = false;
        /// Up to this motion in cells, learn from the search area of the detection
        reuse_shift: f64 = 1.0, Within(0.0, 1e6);
        /// How the target's size is followed
        scale: ScaleParams = ScaleParams::Filter(ScaleFilterParams::default());
        /// How the target's angle is followed
        rotation: RotationParams = RotationParams::Filter(RotationFilterParams::default());
        /// States and the search for a lost target
        confidence: ConfidenceParams = ConfidenceParams {
            tracking_from: 0.81,
            found_from: 0.7,
            redetected_from: 0.85,
            lost_below: 0.1,
            lost_after: 8,
            hidden_share: 0.72,
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
    /// A kernel machine over windows of the frame that tracks by itself.
    pub struct MachineSearchParams {
        /// How the machine searches and learns
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
        /// How the machine searches and learns
        windows: WindowParams = WindowParams::default();
        /// Score at the place of the search below which the guard doubts it
        uncertain_below: f64 = 0.0, Within(-100.0, 100.0);
        /// Score above which a doubting guard accepts a window elsewhere
        accept_above: f64 = 0.3, Within(-100.0, 100.0);
        /// Least excess of that score over the score at the place of the search
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
        let is_hog = matches!(feature, FeatureParams::Hog(_));
        let (sigma, b, learning_rate) = if is_hog { (0.5, 9, 0.02) } else { (0.2, 7, 0.075) };
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

impl WindowParams {
    /// The default kernel between windows.
    pub const KERNEL: Kernel = Kernel::Gaussian { sigma: 0.25 };

    /// The defaults for a machine. The class means score +1 and -1, except for the support vector machine, which has
    /// them on its margins, and ridge regression, whose labels fall off so steeply that its scores are lower. Machines
    /// that solve eigenproblems take longest, and learn less often.
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
    /// The folder of the networks; `None` for a search without networks.
    pub fn model(&self) -> Option<&str> {
        match self {
            Self::Siamese(SiameseParams { model, .. }) | Self::Expert(ExpertParams { model, .. }) => Some(model),
            _ => None,
        }
    }

    /// The folder of the networks, to be changed.
    pub fn model_mut(&mut self) -> Option<&mut String> {
        match self {
            Self::Siamese(SiameseParams { model, .. }) | Self::Expert(ExpertParams { model, .. }) => Some(model),
            _ => None,
        }
    }

    /// The name of the detector.
    pub fn detector(&self) -> &'static str {
        match self {
            Self::Filter(_) => "kcf",
            Self::Background(_) => "background-aware",
            Self::Machine(machine) => machine.windows.machine.kind().name(),
            _ => self.name(),
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
