//! What of maps and spectra is carried over in a snapshot: all of their numbers.

use super::{FeatureMap, SupportSpectra};
use crate::error::Result;
use crate::tape::{Recorded, Tape};

impl Recorded for FeatureMap {
    fn record(&mut self, tape: &mut Tape<'_>) -> Result<()> {
        match self {
            Self::Lanes(map) => tape.f32s(map),
            Self::Plane { map, spectrum } => {
                tape.f32s(map)?;
                tape.complex(spectrum)
            }
        }
    }
}

impl Recorded for SupportSpectra {
    fn record(&mut self, tape: &mut Tape<'_>) -> Result<()> {
        tape.f32s(self.cells_mut())
    }
}
