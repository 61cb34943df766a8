//! The rules by which benchmark toolkits score a frame, as data.
//!
//! The toolkits agree on the curves (success over the overlap thresholds 0, 0.05, …, 1 with a strict `>`, precision
//! over the centre errors 0, 1, …, 50 px with `<=`), and all but pysot set the first box to the label. They differ in
//! what they do with a frame that has no usable label, with a box that is none, and with a sequence that failed
//! altogether. Each difference is one field of [`Rules`], so that a score can be reproduced to the last digit.
//!
//! | toolkit | label is usable | frame without one | first box | box that is none | all-zero curve | centre error |
//! | --- | --- | --- | --- | --- | --- | --- |
//! | `otb` | x, y, w, h > 0 (1-based) | success: miss, precision: **hit** | label | previous box | counts | exact |
//! | `matlab` | as `otb` | as `otb` | label | previous box | **left out of the mean** | exact |
//! | `python` | as `otb` | as `otb` | label | as it is | counts | rounded to 4 digits |
//! | `got10k` | always | scored as it is | label | as it is | counts | exact |
//! | `pysot` | success: w, h > 0; precision: centre > 0 | as `otb` | **as it is** | as it is | counts | exact |
//! | `pytracking` | w, h > 0 | miss, miss; P_norm: **hit** | label | previous box when w or h is 0 | counts | exact |
//!
//! Sources: `calcSeqErrRobust.m`, `genPerfMat.m` and `plotDrawSave.m` of the OTB MATLAB toolkit;
//! `calc_seq_err_robust.py` and `eval_results.py` of jwlim/tracker_benchmark; `experiments/otb.py` of got10k;
//! `ope_benchmark.py` of pysot-toolkit; `extract_results.py` of pytracking.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::bbox::BBox;
use crate::error::Error;
use crate::media::annotation::Base;

/// Which toolkit's rules a score follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Toolkit {
    /// The OTB rules per frame, and the plain mean over sequences: what the benchmark's papers describe.
    #[default]
    Otb,
    /// The OTB MATLAB toolkit including its plots, which leave sequences with an all-zero curve out of the mean.
    Matlab,
    /// The OTB Python toolkit (jwlim/tracker_benchmark).
    Python,
    /// `ExperimentOTB` of the got10k package.
    Got10k,
    /// pysot-toolkit's one-pass evaluation.
    Pysot,
    /// pytracking's analysis.
    Pytracking,
}

impl Toolkit {
    /// All of them, in the order of the table above.
    pub const ALL: [Self; 6] = [Self::Otb, Self::Matlab, Self::Python, Self::Got10k, Self::Pysot, Self::Pytracking];

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Otb => "otb",
            Self::Matlab => "matlab",
            Self::Python => "python",
            Self::Got10k => "got10k",
            Self::Pysot => "pysot",
            Self::Pytracking => "pytracking",
        }
    }

    /// The row of the table above.
    pub const fn rules(self) -> Rules {
        let otb = Rules {
            overlap_needs: TruthValidity::AllPositive,
            center_needs: TruthValidity::AllPositive,
            invalid_truth: InvalidTruth::MissForSuccessHitForPrecision,
            first_is_label: true,
            invalid_prediction: InvalidPrediction::PreviousBox,
            drops_zero_curves: false,
            rounds_center_error: false,
            counts_end_pixels: true,
        };
        match self {
            Self::Otb => otb,
            Self::Matlab => Rules { drops_zero_curves: true, ..otb },
            Self::Python => Rules { invalid_prediction: InvalidPrediction::AsItIs, rounds_center_error: true, ..otb },
            Self::Got10k => Rules {
                overlap_needs: TruthValidity::Always,
                center_needs: TruthValidity::Always,
                invalid_prediction: InvalidPrediction::AsItIs,
                counts_end_pixels: false,
                ..otb
            },
            Self::Pysot => Rules {
                overlap_needs: TruthValidity::PositiveSize,
                center_needs: TruthValidity::PositiveCenter,
                first_is_label: false,
                invalid_prediction: InvalidPrediction::AsItIs,
                counts_end_pixels: false,
                ..otb
            },
            Self::Pytracking => Rules {
                overlap_needs: TruthValidity::PositiveSize,
                center_needs: TruthValidity::PositiveSize,
                invalid_truth: InvalidTruth::HitForNormalizedPrecision,
                invalid_prediction: InvalidPrediction::PreviousBoxWhenEmpty,
                ..otb
            },
        }
    }
}

impl fmt::Display for Toolkit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Toolkit {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|t| t.name() == name).ok_or_else(|| Error::Parameter {
            name: "toolkit",
            value: name.to_owned(),
            expected: format!("one of {}", Self::ALL.map(Self::name).join(", ")),
        })
    }
}

/// How frames are scored, and which sequences count: one toolkit's conventions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// What a label needs for its frame to be scored by overlap.
    pub overlap_needs: TruthValidity,
    /// What a label needs for its frame to be scored by centre error.
    pub center_needs: TruthValidity,
    /// What a frame without a usable label counts as.
    pub invalid_truth: InvalidTruth,
    /// Whether the label stands in the place of the first box.
    pub first_is_label: bool,
    /// What a predicted box that is none is replaced with.
    pub invalid_prediction: InvalidPrediction,
    /// Whether a sequence whose curve is zero everywhere is left out of the mean curve.
    pub drops_zero_curves: bool,
    /// Whether centre errors are rounded to 4 decimals before they are compared.
    pub rounds_center_error: bool,
    /// Whether a box ends at `x + w - 1` and a length is the end less the start plus one, or it ends at `x + w`. The
    /// two cancel but for rounding, and that decides where an overlap is exactly on a threshold, as that of a box
    /// inside a larger label may be for many frames.
    pub counts_end_pixels: bool,
}

/// What a label must be to count as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TruthValidity {
    /// All four numbers of the file are above zero. The file is 1-based, so a target whose left edge lies on or beyond
    /// the image's border has no usable label, although it may be visible.
    AllPositive,
    /// Width and height are above zero.
    PositiveSize,
    /// Both coordinates of the centre are above zero in the file's own numbers: those of a row `0,0,0,0`, whose centre
    /// is half a pixel before the origin, are not, whatever the first pixel is called.
    PositiveCenter,
    /// Anything goes.
    Always,
}

impl TruthValidity {
    /// Whether `truth` (0-based, `None` for a row without numbers) is a usable label. `base` is that of its file.
    pub fn holds(self, truth: Option<&BBox>, base: Base) -> bool {
        let Some(b) = truth else { return self == Self::Always };
        let [file_x, file_y, ..] = base.to_numbers(b);
        match self {
            // The file's 1-based corner is one more than the corner in memory.
            Self::AllPositive => b.x + 1.0 > 0.0 && b.y + 1.0 > 0.0 && b.w > 0.0 && b.h > 0.0,
            Self::PositiveSize => b.w > 0.0 && b.h > 0.0,
            Self::PositiveCenter => file_x + (b.w - 1.0) / 2.0 > 0.0 && file_y + (b.h - 1.0) / 2.0 > 0.0,
            Self::Always => true,
        }
    }
}

/// What a frame without a usable label counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidTruth {
    /// Overlap and centre errors are set to −1: never above a threshold of success, always within one of precision.
    MissForSuccessHitForPrecision,
    /// Overlap −1, centre error in pixels infinite, but the normalised one −1: always within one of its thresholds.
    HitForNormalizedPrecision,
}

impl InvalidTruth {
    /// What stands for the centre error in pixels; for the normalised one −1 does, under all rules.
    pub fn center(self) -> f64 {
        match self {
            Self::MissForSuccessHitForPrecision => -1.0,
            Self::HitForNormalizedPrecision => f64::INFINITY,
        }
    }
}

/// What happens to a predicted box that is none, after the first frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidPrediction {
    /// A box with a number that is not finite, or of no size, repeats the one before it, where the label is a number.
    PreviousBox,
    /// A box with a width or height of exactly zero repeats the one before it; others are scored as they are.
    PreviousBoxWhenEmpty,
    /// It is scored as it is: nothing that is not a number passes a threshold.
    AsItIs,
}

impl InvalidPrediction {
    /// Whether `predicted` has to be replaced by the box before it.
    pub fn replaces(self, predicted: &BBox) -> bool {
        match self {
            Self::PreviousBox => !predicted.is_valid(),
            Self::PreviousBoxWhenEmpty => predicted.w == 0.0 || predicted.h == 0.0,
            Self::AsItIs => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for toolkit in Toolkit::ALL {
            assert_eq!(toolkit.name().parse::<Toolkit>().unwrap(), toolkit);
        }
        assert!("vot".parse::<Toolkit>().unwrap_err().to_string().contains("otb, matlab"));
    }

    #[test]
    fn a_label_at_the_border_is_none_for_otb() {
        // Row `0,5,10,10` of a 1-based file: x is not above zero.
        let at_border = BBox::new(-1.0, 4.0, 10.0, 10.0);
        let holds = |validity: TruthValidity, label: &BBox| validity.holds(Some(label), Base::One);
        assert!(!holds(TruthValidity::AllPositive, &at_border));
        assert!(holds(TruthValidity::PositiveSize, &at_border));
        assert!(holds(TruthValidity::PositiveCenter, &at_border));
        // Row `1,5,10,10` is usable.
        assert!(holds(TruthValidity::AllPositive, &at_border.translated(1.0, 0.0)));
        assert!(!TruthValidity::AllPositive.holds(None, Base::One));
    }

    #[test]
    fn centres_are_looked_at_in_the_numbers_of_the_file() {
        // Rows `0,0,0,0`, `0,0,1,1` and `1,1,1,1`: their centres are at −0.5, 0 and 1.
        let rows = [([0.0; 4], false), ([0.0, 0.0, 1.0, 1.0], false), ([1.0; 4], true)];
        for base in [Base::Zero, Base::One] {
            for (numbers, usable) in rows {
                let label = base.to_bbox(numbers);
                assert_eq!(TruthValidity::PositiveCenter.holds(Some(&label), base), usable, "{numbers:?}, {base:?}");
            }
        }
    }
}
