//! Tracking: a box in the first frame, a box and how far to trust it in every later one.

mod bank;
pub mod confidence;
mod estimate;
mod follower;
mod guard;
pub mod params;
mod response;
mod scan;
mod state;
mod target;
mod window;

pub use estimate::{Estimate, Evidence};
pub use params::{
    AreaSize, FeatureKind, FeatureParams, FilterParams, GuardParams, KernelKind, Params, SearchParams, WindowParams,
};
pub use response::{ResponseLayout, ResponseMap};
pub use state::State;

use crate::error::{Error, Result};
use crate::frame::Frame;
use crate::geometry::BBox;
use crate::profile::{Profile, Stopwatch};
use follower::Follower;

/// Follows one target: by a correlation filter, by a kernel machine over real windows, or by the former under the eyes of the latter.
///
/// All memory is taken by [`Tracker::init`]; with a correlation filter [`Tracker::update`] allocates nothing. A machine over real windows, as detector
/// or as guard, is fitted anew in every frame that it learns from: the matrices of a fit are allocated and given back within that update, and memory
/// stays as it is however long the sequence.
#[derive(Clone, Debug)]
pub struct Tracker {
    params: Params,
    watch: Stopwatch,
    /// Width and height of the first frame.
    frame_size: (usize, usize),
    target: Option<Follower>,
}

impl Tracker {
    /// A tracker with these settings and no target yet.
    ///
    /// # Errors
    /// [`Error::Parameter`] with the name of a value outside its range.
    pub fn new(params: Params) -> Result<Self> {
        params.check()?;
        Ok(Self { params, watch: Stopwatch::default(), frame_size: (0, 0), target: None })
    }

    /// The settings.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Learns the target at `bbox` in `frame`, and forgets any earlier one. The box may reach over the frame's border.
    /// The estimate is what the new filter answers to this very frame: a measure of how distinct the target is.
    ///
    /// # Errors
    /// [`Error::Box`] for a box that is not finite, of no size, wholly outside the frame, too large to track or around nothing
    /// but uniform pixels. The
    /// earlier target, if any, is then kept.
    pub fn init<'f>(&mut self, frame: impl Into<Frame<'f>>, bbox: BBox) -> Result<Estimate> {
        let frame = frame.into();
        let target = Follower::new(&self.params, &frame, bbox)?;
        self.frame_size = (frame.width(), frame.height());
        self.watch.clear();
        Ok(self.target.insert(target).first_estimate(&mut self.watch))
    }

    /// Finds the target in the next frame and learns how it looks there.
    ///
    /// # Errors
    /// [`Error::NotInitialized`] before [`Tracker::init`]; [`Error::FrameSize`] for a frame of another size than the first
    /// one. Neither changes the tracker. [`Error::Samples`] and [`Error::Gram`] when a machine over real windows cannot be fitted to what it has
    /// seen by now, as with settings far off the default; its earlier decision then stays.
    pub fn update<'f>(&mut self, frame: impl Into<Frame<'f>>) -> Result<Estimate> {
        let target = self.target.as_mut().ok_or(Error::NotInitialized)?;
        let frame = frame.into();
        let got = (frame.width(), frame.height());
        if got != self.frame_size {
            return Err(Error::FrameSize { expected: self.frame_size, got });
        }
        target.update(&frame, &mut self.watch)
    }

    /// Measures from now on how long the stages of the updates take, or no longer does.
    pub fn switch_profile(&mut self, on: bool) {
        self.watch.switch(on);
    }

    /// The time of the stages since [`Tracker::init`], while that was switched on.
    pub fn profile(&self) -> Profile {
        *self.watch.profile()
    }

    /// The score of every translation that was considered in the last frame; `None` before [`Tracker::init`].
    pub fn response(&self) -> Option<ResponseMap<'_>> {
        self.target.as_ref().map(Follower::response)
    }

    /// Where the target was last; `None` before [`Tracker::init`].
    pub fn bbox(&self) -> Option<BBox> {
        self.target.as_ref().map(Follower::bbox)
    }
}
