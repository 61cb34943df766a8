//! Boxes as the MOT challenge has them.

use super::lines::Lines;
use super::record::{BOX_DIGITS, rounded};
use super::{Destination, Export, FrameRecord, FrameView};
use crate::cancel::CancelToken;
use crate::error::Result;
use crate::media::annotation::Base;
use crate::tracker::State;

/// MOT-challenge text: one row `frame,id,left,top,width,height,confidence,-1,-1,-1` a target and frame, frames and
/// corners **1-based**. The confidence is 1 for a box that was given and for trackers that have none. A target that is
/// lost, or whose frame could not be read, has no row there: its box is not to be believed.
#[derive(Debug)]
pub struct Mot {
    lines: Lines,
}

impl Mot {
    /// Checks that `destination` can be written to.
    ///
    /// # Errors
    /// [`Error::Output`](crate::Error::Output), which says why not and what to do.
    pub fn create(destination: &Destination) -> Result<Self> {
        Ok(Self { lines: Lines::create(destination)? })
    }
}

/// Whether the box of a record is one to be handed on.
pub(super) fn is_believed(record: &FrameRecord) -> bool {
    !matches!(record.state, State::Lost | State::Missing)
}

impl Export for Mot {
    fn heed(&mut self, stop: &CancelToken) {
        self.lines.heed(stop);
    }

    fn frame(&mut self, record: &FrameRecord, _: &FrameView<'_>) -> Result<()> {
        let Some(bbox) = record.finite_box().filter(|_| is_believed(record)) else {
            // The file is there even if it will have no row.
            return self.lines.write(b"");
        };
        let [x, y, w, h] = Base::One.to_numbers(&bbox).map(|number| rounded(number, BOX_DIGITS));
        let sure = record.confidence.filter(|_| record.state != State::Initial).unwrap_or(1.0);
        let (frame, id) = (record.index, record.id.unwrap_or(1));
        self.lines.write(format!("{frame},{id},{x},{y},{w},{h},{sure},-1,-1,-1\n").as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::record::tests::run;

    #[test]
    fn the_text_of_a_small_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.txt");
        let mut export = Mot::create(&path.as_path().into()).unwrap();
        let (_, records) = run();
        let lost = FrameRecord { state: State::Lost, index: 3, ..records[1].clone() };
        let back = FrameRecord { state: State::Recovered, index: 4, id: Some(7), ..records[1].clone() };
        for record in [&records[0], &records[1], &lost, &back] {
            export.frame(record, &FrameView::default()).unwrap();
        }
        let expected = "1,1,11,21.5,30,40.25,1,-1,-1,-1\n2,1,0.5,22,30,40.25,0.75,-1,-1,-1\n\
            4,7,0.5,22,30,40.25,0.75,-1,-1,-1\n";
        assert_eq!(std::fs::read_to_string(path).unwrap(), expected);
    }
}
