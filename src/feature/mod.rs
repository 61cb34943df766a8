//! What a filter sees of a patch: feature maps, tapered by a cosine window, and the regression target.
//!
//! A feature map is `[row][column][channel]` in `f32`, channel fastest.

pub mod gray;
pub mod hog;
pub mod window;
