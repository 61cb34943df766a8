//! What a correlation filter can be set to.

use serde::{Deserialize, Serialize};

use super::{BeliefParams, ScaleParams, infinite_as_null};
use crate::features::Extractor;
use crate::features::gray::Gray;
use crate::features::hog::Hog;
use crate::filters::Loss;
use crate::frame::Channels;
use crate::kernels::Kernel;

/// What the filter sees, without its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureKind {
    /// 31-channel histograms of oriented gradients, [`crate::features::hog`].
    Hog,
    /// Gray values less their mean, [`crate::features::gray`].
    Gray,
}

impl FeatureKind {
    const ALL: [Self; 2] = [Self::Hog, Self::Gray];

    /// Their names, in the same order, each with what it is.
    pub const NAMES: [(&str, &str); 2] =
        [("hog", "histograms of oriented gradients, 31 channels"), ("gray", "gray values")];

    /// The name as flags and files have it.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize].0
    }

    /// The feature of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// The shape of a kernel, without its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelKind {
    /// `exp(-‖x - z‖² / (D sigma²))`, `D` being the number of feature values here and below.
    Gaussian,
    /// `(xᵀz / D + a)^b`.
    Polynomial,
    /// `xᵀz / D`; the tracker is then the paper's DCF.
    Linear,
}

/// What the filter sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum FeatureParams {
    /// 31-channel histograms of oriented gradients, [`crate::features::hog`].
    Hog {
        /// Side of a feature cell in pixels, 1 to 64.
        cell_size: usize,
    },
    /// Gray values less their mean, [`crate::features::gray`]; each pixel is a cell.
    Gray,
}

impl FeatureParams {
    /// A feature with its published settings.
    pub fn of(kind: FeatureKind) -> Self {
        match kind {
            FeatureKind::Hog => Self::Hog { cell_size: 4 },
            FeatureKind::Gray => Self::Gray,
        }
    }

    /// What computes it of patches of `width` x `height` pixels.
    ///
    /// # Panics
    /// When a patch does not hold a single cell of [`cell_size`](Self::cell_size) pixels a side, or that is zero.
    pub fn extractor(&self, width: usize, height: usize) -> Box<dyn Extractor> {
        match *self {
            Self::Hog { cell_size } => Box::new(Hog::new(width, height, cell_size)),
            Self::Gray => Box::new(Gray::new(width, height, 1)),
        }
    }

    /// What it needs of a frame.
    pub fn channels(&self) -> Channels {
        match self {
            Self::Hog { .. } | Self::Gray => Channels::Luma,
        }
    }

    /// Which feature it is.
    pub fn kind(&self) -> FeatureKind {
        match self {
            Self::Hog { .. } => FeatureKind::Hog,
            Self::Gray => FeatureKind::Gray,
        }
    }

    /// Side of a feature cell in pixels.
    pub fn cell_size(&self) -> usize {
        match self {
            Self::Hog { cell_size } => *cell_size,
            Self::Gray => 1,
        }
    }
}

/// At which scale the search area is seen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum AreaSize {
    /// As published: large targets at half size, others at the frame's own.
    Published {
        /// Targets whose `sqrt(width * height)` is at least this many pixels are tracked at half size; infinite (in
        /// JSON: null) for never.
        #[serde(with = "infinite_as_null")]
        half_size_from: f64,
    },
    /// Of bounded size: a larger area is seen at a coarser scale.
    Bounded {
        /// Cells of the search area at most, about; at least 16.
        max_cells: f64,
    },
}

impl AreaSize {
    /// So many cells a bounded area has at most, if nothing else is said.
    pub const MAX_CELLS: f64 = 1000.0;
}

impl Default for AreaSize {
    fn default() -> Self {
        Self::Published { half_size_from: 100.0 }
    }
}

/// A correlation filter: one search area around the target, of which all cyclic shifts are learned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FilterParams {
    /// What the filter sees.
    pub feature: FeatureParams,
    /// The kernel and its parameters.
    pub kernel: Kernel,
    /// What a wrong answer of the filter costs.
    pub loss: Loss,
    /// At which scale the search area is seen.
    pub area: AreaSize,
    /// Whether the area's rows and columns of cells are rounded up to lengths that transform cheaply,
    /// [`crate::fft::cost`].
    pub smooth_area: bool,
    /// Extra area around the target, relative to its size: the search area is `1 + padding` times the target.
    pub padding: f64,
    /// Regularisation of the regression.
    pub lambda: f64,
    /// Width of the labels' peak, relative to the target's size.
    pub output_sigma: f64,
    /// Rate at which the model follows the target's appearance, per frame, 0 to 1.
    pub learning_rate: f64,
    /// Whether the peak is searched for between cells, where a parabola through it and its neighbours has its top. The
    /// published code moves by whole cells.
    pub sub_cell: bool,
    /// Up to so many cells of motion, in either direction, a frame's target is learned from the area in which it was
    /// found, the features being shifted; beyond, and for any motion at 0, from an area of its own, as published.
    pub reuse_shift: f64,
    /// How the target's size is followed.
    pub scale: ScaleParams,
    /// What makes the state of a frame.
    pub states: StateParams,
}

/// What makes the state of a frame of the match that was found in it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum StateParams {
    /// Limits of its peak-to-sidelobe ratio. Every frame is learned from, and boxes do not depend on them.
    Psr {
        /// Below this a match is [`State::Uncertain`](crate::State::Uncertain).
        uncertain: f64,
        /// Below this the target is [`State::Lost`](crate::State::Lost).
        lost: f64,
    },
    /// Its confidence, with a memory; nothing is learned of a target that is lost, and all of the frame is searched for
    /// it.
    Belief(BeliefParams),
}

impl FilterParams {
    /// The published settings for a feature and a kernel (Henriques et al., TPAMI 2015, table 2).
    pub fn paper(feature: FeatureKind, kernel: KernelKind) -> Self {
        let (sigma, b, learning_rate) = match feature {
            FeatureKind::Hog => (0.5, 9, 0.02),
            FeatureKind::Gray => (0.2, 7, 0.075),
        };
        // From the ratios of frames that overlap the truth by more than half (on OTB): about one of them in fifty is
        // called uncertain and one in five hundred lost. A linear filter of gray values answers with broad, low peaks.
        let (uncertain, lost) = match (feature, kernel) {
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
            feature: FeatureParams::of(feature),
            kernel,
            loss: Loss::Ridge,
            area: AreaSize::default(),
            smooth_area: false,
            padding: 1.5,
            lambda: 1e-4,
            output_sigma: 0.1,
            learning_rate,
            sub_cell: false,
            reuse_shift: 0.0,
            scale: ScaleParams::None,
            states: StateParams::Psr { uncertain, lost },
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
}
