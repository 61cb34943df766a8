//! What a detector sees of a patch: feature maps, tapered where cyclic shifts are learned, and the labels of those
//! shifts.
//!
//! A feature map is `[row][column][channel]` in `f32`, channel fastest: one channel alone, or blocks of 32 lanes
//! ([`Layout`](crate::fft::Layout)). An [`Extractor`] computes one feature, a [`Stack`] several side by side.

pub mod color_bins;
pub mod color_histogram;
pub mod color_names;
pub mod extractor;
pub mod gray;
pub mod hog;
pub mod labels;
pub mod stack;
pub mod taper;

pub use extractor::{Extractor, Lanes};
pub use stack::Stack;
pub use taper::Taper;
