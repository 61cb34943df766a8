//! What a session asks of something that follows a target.

use crate::bbox::BBox;
use crate::error::Result;
use crate::frame::Frame;
use crate::tracker::{Estimate, ResponseMap, Tracker};

/// Follows one target from frame to frame.
pub trait Follower: Send {
    /// Learns the target in `bbox` (0-based).
    ///
    /// # Errors
    /// When the box cannot be tracked.
    fn init(&mut self, frame: &Frame<'_>, bbox: BBox) -> Result<Estimate>;

    /// Finds the target in the next frame.
    ///
    /// # Errors
    /// When the frame cannot be used; [`Error::FrameSize`](crate::Error::FrameSize) where that is for its size.
    fn update(&mut self, frame: &Frame<'_>) -> Result<Estimate>;

    /// The scores behind the last estimate, where there are any.
    fn response(&self) -> Option<ResponseMap<'_>> {
        None
    }
}

impl Follower for Tracker {
    fn init(&mut self, frame: &Frame<'_>, bbox: BBox) -> Result<Estimate> {
        Self::init(self, frame, bbox)
    }

    fn update(&mut self, frame: &Frame<'_>) -> Result<Estimate> {
        Self::update(self, frame)
    }

    fn response(&self) -> Option<ResponseMap<'_>> {
        Self::response(self)
    }
}

impl<F: Follower + ?Sized> Follower for Box<F> {
    fn init(&mut self, frame: &Frame<'_>, bbox: BBox) -> Result<Estimate> {
        (**self).init(frame, bbox)
    }

    fn update(&mut self, frame: &Frame<'_>) -> Result<Estimate> {
        (**self).update(frame)
    }

    fn response(&self) -> Option<ResponseMap<'_>> {
        (**self).response()
    }
}
