//! A toy format: the center of each target, a line per frame and target.

use super::output::{Destination, Output};
use super::{Exporter, FrameResult, Run, Summary};
use crate::error::Result;

/// Lines of `frame x y`, written as frames are tracked.
#[derive(Debug)]
pub struct Toy(Output);

impl Toy {
    /// Opens the output.
    ///
    /// # Errors
    /// [`Error::Output`](crate::Error::Output) when `to` cannot be written.
    pub fn create(to: &Destination) -> Result<Self> {
        Ok(Self(Output::create(to)?))
    }
}

impl Exporter for Toy {
    fn write(&mut self, frame: &FrameResult<'_>) -> Result<()> {
        for record in frame.records {
            if let Some(bbox) = record.finite_box() {
                let (x, y) = (bbox.x + bbox.w / 2.0, bbox.y + bbox.h / 2.0);
                self.0.append(format!("{} {x:.1} {y:.1}\n", record.index).as_bytes())?;
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>, _: &Run, _: &Summary) -> Result<()> {
        self.0.finish()
    }
}
