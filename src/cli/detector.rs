//! The choice of a detector on the command line, the same for tracking and for evaluating.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use kcf_track::eval::preset::Changes;
use kcf_track::tracker::DetectorKind;

/// What finds the target.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Detector")]
pub struct DetectorArgs {
    /// Kernel machine that scores the translations [default: the preset's, kcf]
    #[arg(long, value_name = "NAME", value_parser = detectors())]
    detector: Option<DetectorKind>,
    /// Teach it all cyclic shifts of the window, as kcf is, in place of real windows around the target
    #[arg(long)]
    circulant: bool,
    /// Kernel machine over real windows that watches the filter, and finds the target again when it is lost
    #[arg(long, value_name = "NAME", value_parser = guards())]
    guard: Option<DetectorKind>,
}

impl DetectorArgs {
    /// What these flags change of a preset.
    pub fn changes(&self) -> Changes {
        Changes { detector: self.detector, circulant: self.circulant, guard: self.guard }
    }
}

fn detectors() -> impl TypedValueParser<Value = DetectorKind> {
    named(&DetectorKind::ALL)
}

fn guards() -> impl TypedValueParser<Value = DetectorKind> {
    named(&DetectorKind::GUARDS)
}

fn named(kinds: &[DetectorKind]) -> impl TypedValueParser<Value = DetectorKind> + use<> {
    let names: Vec<_> = kinds.iter().map(|kind| PossibleValue::new(kind.name()).help(kind.description())).collect();
    PossibleValuesParser::new(names).try_map(|name| name.parse::<DetectorKind>())
}
