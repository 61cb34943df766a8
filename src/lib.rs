//! A kernelized correlation filter tracker.
#![deny(missing_docs)]

pub mod error;
pub mod frame;
pub mod geometry;
pub mod kernel;
pub mod machine;

pub use error::{Error, Result};
pub use frame::{Frame, FrameBuf, PixelFormat};
pub use geometry::BBox;
