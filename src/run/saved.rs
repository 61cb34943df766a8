//! Sessions as bytes: targets, ids, and what is kept for detections.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::detections::{DetectionParams, Detector, Life};
use super::session::{Session, Target};
use crate::archive::{opened, refused, sealed};
use crate::bbox::BBox;
use crate::error::{Error, Result};
use crate::frame::{FrameBuf, PixelFormat};
use crate::tracker::{Estimate, Tracker};

const WHAT: &str = "session";

#[derive(Serialize, Deserialize)]
struct SavedSession {
    targets: Vec<(usize, SavedTarget)>,
    next: usize,
    size: Option<(usize, usize)>,
    skip_bad_frames: bool,
    parallel: bool,
    detector: Option<SavedDetector>,
}

#[derive(Serialize, Deserialize)]
struct SavedTarget {
    follower: Vec<u8>,
    planned: BTreeMap<usize, Option<BBox>>,
    last: Option<Estimate>,
    ended: bool,
    learned: Option<(usize, Duration)>,
    life: Option<Life>,
}

/// Position, width and height, format and pixels of a frame.
type SavedFrame = (usize, (usize, usize), PixelFormat, Vec<u8>);

#[derive(Serialize, Deserialize)]
struct SavedDetector {
    params: DetectionParams,
    tracker: Vec<u8>,
    frames: Vec<SavedFrame>,
    doubles: BTreeMap<(usize, usize), usize>,
    ended: Vec<usize>,
    has_begun: bool,
}

impl Session<Tracker> {
    /// The session as bytes for [`Session::from_bytes`]: all targets, the ids that are used up, and the frames that are
    /// kept for late detections. Outcomes of the last frame are not among them.
    ///
    /// # Errors
    /// Those of [`Tracker::to_bytes`].
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let target = |(&id, target): (&usize, &Target<Tracker>)| {
            let follower = target.follower.to_bytes()?;
            let Target { planned, last, ended, learned, life, .. } = target.clone();
            Ok((id, SavedTarget { follower, planned, last, ended, learned, life }))
        };
        let detector = self.detector.as_ref().map(|detector| SavedDetector::of(detector)).transpose()?;
        let saved = SavedSession {
            targets: self.targets.iter().map(target).collect::<Result<_>>()?,
            next: self.next_id(),
            size: self.size,
            skip_bad_frames: self.skip_bad_frames,
            parallel: self.parallel,
            detector,
        };
        let content = postcard::to_stdvec(&saved).map_err(|error| refused(WHAT, &error.to_string()))?;
        Ok(sealed(WHAT, &content))
    }

    /// The session of [`Session::to_bytes`], which continues with equal results.
    ///
    /// # Errors
    /// [`Error::Saved`] for bytes of something else, of another version, or that were cut or changed.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let saved: SavedSession =
            postcard::from_bytes(opened(WHAT, bytes)?).map_err(|error| refused(WHAT, &error.to_string()))?;
        let mut session = Self::default();
        for (id, SavedTarget { follower, planned, last, ended, learned, life }) in saved.targets {
            let follower = Tracker::from_bytes(&follower)?;
            session.targets.insert(id, Target { follower, planned, last, ended, learned, life });
        }
        (session.next, session.size) = (saved.next, saved.size);
        (session.skip_bad_frames, session.parallel) = (saved.skip_bad_frames, saved.parallel);
        session.detector = saved.detector.map(SavedDetector::read).transpose()?.map(Box::new);
        Ok(session)
    }
}

impl SavedDetector {
    fn of(detector: &Detector<Tracker>) -> Result<Self> {
        let Detector { params, doubles, ended, has_begun, .. } = detector.clone();
        let frames = detector.frames.iter().map(|(position, frame)| {
            let frame = frame.as_frame();
            let pixels = (0..frame.height()).flat_map(|y| frame.row(y)).copied().collect();
            (*position, frame.size(), frame.format(), pixels)
        });
        let tracker = detector.tracker.to_bytes()?;
        Ok(Self { params, tracker, frames: frames.collect(), doubles, ended, has_begun })
    }

    fn read(self) -> Result<Detector<Tracker>> {
        self.params.check()?;
        let frame = |(position, (width, height), format, pixels)| -> Result<_, Error> {
            Ok((position, FrameBuf::new(pixels, width, height, format)?))
        };
        let frames = self.frames.into_iter().map(frame).collect::<Result<VecDeque<_>>>()?;
        let Self { params, doubles, ended, has_begun, .. } = self;
        Ok(Detector { params, tracker: Tracker::from_bytes(&self.tracker)?, frames, doubles, ended, has_begun })
    }
}
