//! A kernelized correlation filter tracker.
#![deny(missing_docs)]

pub mod annotation;
pub mod detector;
pub mod error;
pub mod eval;
pub mod export;
pub mod feature;
pub mod frame;
pub mod geometry;
pub mod kernel;
pub mod simd;
pub mod source;
pub mod spectrum;
pub mod tracker;

pub use error::{Error, Result};
pub use frame::{Frame, FrameBuf, PixelFormat};
pub use geometry::BBox;
pub use tracker::{Estimate, Params, State, Tracker};
