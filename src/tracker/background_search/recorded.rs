//! What of this search is carried over in a snapshot: its models, and the last response. The views are those of a
//! frame.

use super::BackgroundSearch;
use crate::error::Result;
use crate::tape::{Recorded, Tape};

impl Recorded for BackgroundSearch {
    fn record(&mut self, tape: &mut Tape<'_>) -> Result<()> {
        self.filter.record(tape)?;
        tape.part(&mut self.color)?;
        tape.part(&mut self.scale)?;
        tape.part(&mut self.aspect)?;
        tape.part(&mut self.rotation)?;
        tape.f32s(&mut self.merged)?;
        self.answered.0.record(tape)?;
        tape.place(&mut self.answered.1)?;
        tape.count(&mut self.frames, u32::MAX as usize)?;
        self.at_hand = false;
        Ok(())
    }
}
