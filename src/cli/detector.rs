//! The choice of a detector on the command line, the same for tracking and for evaluating.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use kcf_track::detector::Loss;
use kcf_track::eval::preset::Changes;
use kcf_track::machine::MachineKind;

/// What finds the target.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Detector")]
pub struct DetectorArgs {
    /// What scores the translations of the search area [default: the preset's, kcf]
    #[arg(long, value_name = "NAME", value_parser = detectors())]
    detector: Option<String>,
    /// What a wrong answer of the filter costs: ridge, hinge (an SVM of all cyclic shifts), fisher [default: ridge]
    #[arg(long, value_name = "NAME", value_parser = ["ridge", "hinge", "fisher"])]
    loss: Option<String>,
    /// Kernel machine over real windows that watches the filter, and finds the target again when it is lost
    #[arg(long, value_name = "NAME", value_parser = guards())]
    guard: Option<String>,
}

impl DetectorArgs {
    /// What these flags change of a preset.
    pub fn changes(&self) -> Changes {
        let loss = self.loss.as_deref().map(|name| match name {
            "hinge" => Loss::Hinge,
            "fisher" => Loss::Fisher,
            _ => Loss::Ridge,
        });
        Changes { detector: self.detector.clone(), loss, guard: self.guard.clone() }
    }
}

fn detectors() -> PossibleValuesParser {
    let kcf = PossibleValue::new("kcf").help("kernelized correlation filter: learns all cyclic shifts");
    std::iter::once(kcf).chain(named(MachineKind::ALL.iter().copied())).collect::<Vec<_>>().into()
}

fn guards() -> PossibleValuesParser {
    named(MachineKind::all_guards()).collect::<Vec<_>>().into()
}

fn named(kinds: impl Iterator<Item = MachineKind>) -> impl Iterator<Item = PossibleValue> {
    kinds.map(|kind| PossibleValue::new(kind.name()).help(kind.description()))
}
