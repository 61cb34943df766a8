//! What a background-aware filter, and the search with it, can be set to.

use serde::{Deserialize, Serialize};

use crate::filters::background::BackgroundSettings;
use crate::machines::MachineKind;
use crate::tracker::aspect::AspectSettings;
use crate::tracker::rotation::RotationSettings;
use crate::tracker::scale::ScaleSettings;

/// A background-aware filter on gradients and colours, colour histograms, and filters for the target's size and angle.
///
/// The defaults are STRCF's objective with a hard mask. BACF is `temporal` 0 with a `learning_rate` of about .015;
/// SRDCF's weights are `mask` off with a `weight_growth`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct BackgroundParams {
    /// Extra area around the target, relative to the geometric mean of its sides: the search area is a square whose
    /// side is `1 + padding` times that mean.
    pub padding: f64,
    /// Cells of the search area at most, 1296 to 6400: a larger one is seen at a coarser scale.
    pub max_cells: f64,
    /// Width of the labels' peak, relative to the target's size.
    pub output_sigma: f64,
    /// Whether the filter has values on the target only.
    pub mask: bool,
    /// Weight of the filter's values in its objective, at the middle of the target.
    pub weight: f64,
    /// What is added to the weight at a distance of the target's size from its middle; it grows with the distance's
    /// square.
    pub weight_growth: f64,
    /// How strongly the filter is held near the one before.
    pub temporal: f64,
    /// How far the sample that is learned moves towards each new one: 1 learns the newest alone.
    pub learning_rate: f64,
    /// Steps of the solver a frame.
    pub steps: usize,
    /// The solver's penalty in the first step.
    pub penalty: f64,
    /// By what the penalty is multiplied from one step to the next.
    pub penalty_growth: f64,
    /// The penalty is not above this from the second step on.
    pub penalty_limit: f64,
    /// Weight of the colour histograms in the answer, 0 to 1; none in gray frames.
    pub color: f64,
    /// What that weight depends on.
    pub color_weighting: ColorWeighting,
    /// How far the histograms move towards each new frame that is learned.
    pub color_rate: f64,
    /// In so many frames after the first, everything is learned every time.
    pub settle: usize,
    /// After them, one of so many frames is learned from.
    pub every: usize,
    /// Up to so many cells of motion, a frame is learned from the area in which its target was found.
    pub reuse_shift: f64,
    /// How the target's size is followed.
    pub scale: ScaleParams,
    /// How the target's shape is followed.
    pub aspect: AspectParams,
    /// How the target's angle is followed.
    pub rotation: RotationParams,
    /// What a confidence is worth, and what is done about a target that is lost.
    pub belief: BeliefParams,
}

/// At which confidence a state begins and ends, and the search for a target that is lost. The first three thresholds
/// stand in their order: none lies above the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct BeliefParams {
    /// A doubtful target is tracked from this confidence on. What is found far from the last place must have it too.
    pub tracking_from: f64,
    /// A tracked target is until the confidence falls below this; a lost one is found again from here on.
    pub tracking_until: f64,
    /// Confidence below this is a frame without the target.
    pub lost_below: f64,
    /// So many of them in a row, and the target is lost: nothing is learned until it is found again.
    pub lost_after: usize,
    /// A long-term answer below this share of its usual height is a frame in which the target is faint, however sure a
    /// model is that has learned what stands in its place; 0 for none.
    pub faint_below: f64,
    /// So many of them in a row, and the target is lost too.
    pub faint_after: usize,
    /// Areas of the frame that are searched in each frame while it is lost; all of the frame in turn.
    pub tiles: usize,
    /// What else must know a target that is found again.
    pub verify: VerifyParams,
}

/// What must know a target that is found again: a kernel machine over real windows, which has seen it only while it was
/// tracked for sure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum VerifyParams {
    /// Nothing.
    #[default]
    None,
    /// The machine's decision.
    Decision(DecisionSettings),
    /// How like the machine of the exemplar that was found is to those of the target (the matching score of square-loss
    /// exemplar machines).
    Matching(MatchingSettings),
}

/// A verification by a machine's decision.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DecisionSettings {
    /// Which machine, with its defaults.
    pub machine: MachineKind,
    /// The decision from which on a candidate is the target: the classes lie about +1 and -1 (their means do, those of
    /// `krr` are lower, `svm` has its margins there).
    pub least: f64,
    /// One of so many frames is learned in which the target is tracked for sure.
    pub every: usize,
}

/// A verification by the matching score.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MatchingSettings {
    /// The score from which on a candidate is the target: 1 for the same window, 0 for one that has nothing of it.
    pub least: f64,
    /// One of so many frames is learned in which the target is tracked for sure.
    pub every: usize,
}

impl Default for DecisionSettings {
    fn default() -> Self {
        Self { machine: MachineKind::Krr, least: -0.5, every: 10 }
    }
}

impl Default for MatchingSettings {
    fn default() -> Self {
        Self { least: 0.05, every: 10 }
    }
}

impl Default for BeliefParams {
    fn default() -> Self {
        Self {
            tracking_from: 0.8,
            tracking_until: 0.5,
            lost_below: 0.2,
            lost_after: 3,
            faint_below: 0.15,
            faint_after: 5,
            tiles: 4,
            verify: VerifyParams::None,
        }
    }
}

/// What the weight of the colour histograms depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ColorWeighting {
    /// Nothing.
    #[default]
    Fixed,
    /// How well colour tells the target from the whole search area.
    Separation(SeparationSettings),
}

/// How the weight of the colour histograms follows the separation: the probability that a box in the target's colours
/// answers more than one elsewhere in the search area.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SeparationSettings {
    /// Up to this separation colour has no weight.
    pub from: f64,
    /// From this one on it has its full weight; between the two it grows evenly.
    pub to: f64,
    /// How far the separation that counts moves towards that of each frame that is learned.
    pub rate: f64,
}

impl Default for SeparationSettings {
    fn default() -> Self {
        Self { from: 0.7, to: 0.95, rate: 0.1 }
    }
}

/// How the target's size is followed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum ScaleParams {
    /// It is not.
    #[default]
    None,
    /// By a filter along the scales.
    Filter(ScaleSettings),
    /// By the search itself in areas of three sizes.
    Pyramid(PyramidSettings),
}

/// How a search looks in areas of three sizes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PyramidSettings {
    /// From one size to the next.
    pub step: f64,
    /// By what share the answer at another size must be higher.
    pub margin: f64,
    /// In one of so many frames; in the others, in the area of the present size alone.
    pub every: usize,
}

impl Default for PyramidSettings {
    fn default() -> Self {
        Self { step: 1.04, margin: 0.01, every: 2 }
    }
}

/// How the target's shape is followed, which is its width over its height.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum AspectParams {
    /// It is not.
    #[default]
    None,
    /// By a filter along the shapes.
    Filter(AspectSettings),
}

/// How the target's angle is followed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum RotationParams {
    /// It is not.
    #[default]
    None,
    /// By a filter along the angles.
    Filter(RotationSettings),
}

impl Default for BackgroundParams {
    fn default() -> Self {
        let BackgroundSettings { temporal, sample_rate, steps, penalty, penalty_growth, penalty_limit, .. } =
            BackgroundSettings::default();
        Self {
            padding: 4.0,
            max_cells: 4096.0,
            output_sigma: 0.1,
            mask: true,
            weight: 1e-3,
            weight_growth: 0.0,
            temporal,
            learning_rate: sample_rate,
            steps,
            penalty,
            penalty_growth,
            penalty_limit,
            color: 0.2,
            color_weighting: ColorWeighting::Fixed,
            color_rate: 0.04,
            settle: 40,
            every: 2,
            reuse_shift: 1.0,
            scale: ScaleParams::Filter(ScaleSettings { area: 1024.0, ..ScaleSettings::default() }),
            aspect: AspectParams::None,
            rotation: RotationParams::Filter(RotationSettings::default()),
            belief: BeliefParams::default(),
        }
    }
}

impl BackgroundParams {
    /// The settings of the filter alone.
    pub fn filter(&self) -> BackgroundSettings {
        BackgroundSettings {
            temporal: self.temporal,
            sample_rate: self.learning_rate,
            steps: self.steps,
            penalty: self.penalty,
            penalty_growth: self.penalty_growth,
            penalty_limit: self.penalty_limit,
            ..BackgroundSettings::default()
        }
    }
}
