//! Where frames come from.
//!
//! A [`Sequence`] is a folder of images and the ground truth beside it, [`decode()`] turns one image into a frame,
//! [`Prefetch`] decodes the next frames on another thread while the current one is tracked. [`synth`] renders sequences
//! whose truth is known exactly.

pub mod decode;
mod folder;
pub mod otb;
mod prefetch;
mod sequence;
#[cfg(feature = "synth")]
pub mod synth;
mod truth;

pub use crate::frame::Channels;
pub use decode::{decode, decode_bytes};
pub use prefetch::{Decoded, PREFETCH_DEPTH, Prefetch};
pub use sequence::Sequence;
pub use truth::{SequenceOptions, Truth};
