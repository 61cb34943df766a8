//! What is exactly true of a frame.

use serde::{Deserialize, Serialize};

use super::motion::Motion;
use super::outline::Outline;
use crate::bbox::BBox;

/// Where the target is in one frame, as far as numbers go, and how much of it is seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Truth {
    /// 0-based number of the frame.
    pub index: usize,
    /// The smallest axis-aligned box around the whole target as it is scaled and turned, also where it is hidden or
    /// outside of the image. 0-based, in pixels; with an open shutter, in the middle of the exposure.
    pub bbox: BBox,
    /// The target's centre, which is the box's too: x and y in pixels, 0-based.
    pub center: [f64; 2],
    /// Size relative to the undistorted target.
    pub scale: f64,
    /// In-plane rotation in degrees, clockwise as seen on the screen.
    pub angle: f64,
    /// The share of the target's area that lies in the image and behind nothing, 0 to 1.
    pub visible: f64,
    /// Whether the box has an area in common with the image.
    pub in_view: bool,
}

/// Points per axis at which visibility is counted.
const GRID: u32 = 128;

/// The truth at frame `index` of an image of `size` pixels.
pub(super) fn truth(motion: &Motion, outline: Outline, size: (u32, u32), index: usize) -> Truth {
    let t = index as f64;
    let pose = motion.target(t);
    let bbox = pose.bbox(outline);
    let beam = motion.beam(t);
    let to_image = pose.to_image();
    let (width, height) = (f64::from(size.0), f64::from(size.1));
    let (mut all, mut seen) = (0_u32, 0_u32);
    for (u, v) in outline.points(GRID) {
        all += 1;
        let (x, y) = to_image(u, v);
        let inside = (0.0..width).contains(&x) && (0.0..height).contains(&y);
        seen += u32::from(inside && beam.is_none_or(|beam| beam.distance(x, y).abs() > beam.half));
    }
    Truth {
        index,
        bbox,
        center: [pose.x, pose.y],
        scale: pose.scale,
        angle: pose.degrees,
        visible: f64::from(seen) / f64::from(all.max(1)),
        in_view: bbox.visible_share(size.0 as usize, size.1 as usize) > 0.0,
    }
}
