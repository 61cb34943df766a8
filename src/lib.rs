//! A kernelized correlation filter (KCF) tracker. Give it a box in one frame; it returns the box in every later frame and
//! how far to trust it. It learns the object while it tracks it, so there is no model to download and no class to choose.
//! One CPU core is enough.
//!
//! # Example
//! A `Scene` (feature `synth`) renders the frames of this example and knows the true boxes.
//!
//! ```
//! use kcf_track::synth::{Scene, SceneParams};
//! use kcf_track::{Frame, Params, State, Tracker};
//!
//! # fn main() -> kcf_track::Result<()> {
//! let scene = Scene::new(SceneParams { frames: 5, ..SceneParams::default() })?;
//! let mut frames = scene.iter();
//! let (first, truth) = frames.next().expect("a scene has frames");
//!
//! let mut tracker = Tracker::new(Params::default())?;
//! tracker.init(Frame::try_from(&first)?, truth.bbox)?;
//! for (picture, truth) in frames {
//!     let found = tracker.update(Frame::try_from(&picture)?)?;
//!     println!("{}  peak-to-sidelobe ratio {:.1}  {}", found.bbox, found.evidence.psr, found.state);
//!     assert_eq!(found.state, State::Tracking);
//!     assert!(found.bbox.overlap(&truth.bbox) > 0.8);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Frames
//! A [`Frame`] borrows pixels in gray, RGB or BGR, with or without a fourth byte and with any row stride; nothing is
//! copied. With the feature `files`, `Frame::try_from` takes the pictures of the crate `image`. A [`FrameBuf`] owns its
//! pixels.
//!
//! ```
//! use kcf_track::{BBox, Frame, PixelFormat, Tracker};
//!
//! # fn main() -> kcf_track::Result<()> {
//! // A camera's buffer: 64 x 48 pixels of blue, green and red, each row padded to 256 bytes.
//! let buffer: Vec<u8> = (0..48 * 256).map(|i| (i * i / 7 % 251) as u8).collect();
//! let frame = Frame::new(&buffer, 64, 48, 256, PixelFormat::Bgr8)?;
//! let mut tracker = Tracker::new(Default::default())?;
//! tracker.init(frame, BBox::new(20.0, 10.0, 24.0, 24.0))?;
//! let estimate = tracker.update(frame)?;
//! # assert!(estimate.bbox.is_valid());
//! # Ok(())
//! # }
//! ```
//!
//! A [`run::Session`] follows any number of targets: `add` begins one, and `feed` takes a frame in memory. With the feature
//! `files`, `media::Sequence` reads a folder of images with its truth; `media::Prefetch` decodes them ahead.
//!
//! # Boxes and states
//! A [`BBox`] is `x, y, w, h` in pixels: the top-left corner, counted from 0, and the size. Every [`Estimate`] has a box
//! of finite numbers and a [`State`] that says what the box is worth:
//!
//! | state | meaning |
//! | --- | --- |
//! | [`State::Initial`] | the box that was given |
//! | [`State::Tracking`] | found |
//! | [`State::Recovered`] | found again, after it was lost or occluded |
//! | [`State::Uncertain`] | a weak match, or most of the box has left the picture: the box is a guess |
//! | [`State::Occluded`] | something covers the target: the box follows on, or waits where the target was covered |
//! | [`State::Lost`] | nothing like the target is there, or it has left the picture; the box is the last guess |
//! | [`State::Missing`] | the source could not read the frame; [`Tracker::update`] never returns it |
//!
//! The tracker goes on in every state and may find the target again. By default, states come from
//! [`Evidence::confidence`], the probability that the box overlaps the target by more than half; while a target is lost,
//! the tracker learns nothing and searches the whole frame. In the paper's presets, states come from the peak-to-sidelobe
//! ratio; its thresholds are in [`Params`] and change no box. An invalid call (no target yet, a box outside of the frame,
//! a frame of another size) returns an [`Error`] and changes nothing.
//!
//! # The paper
//! [`Params::default`] is a background-aware filter with colour, size and angle. [`Params::paper`] is the tracker of
//! Henriques, Caseiro, Martins and Batista, *High-Speed Tracking with Kernelized Correlation Filters*, TPAMI 2015, with
//! 31-channel HOG and a Gaussian kernel; [`Params::preset`] names its variants: DCF (linear kernel), gray values and
//! polynomial kernels. These presets follow the published code to its rounding and its 1-based geometry: whole cells, no
//! change of scale, a box of odd size moved by half a pixel after the first frame. So their boxes can be compared with
//! the published ones.
//!
//! # Features
//! `cli` (default) is the command line program with its exports and the live view. Library users switch it off and choose
//! from `files` (sequences of images and videos, evaluation), `synth` (rendered sequences), `parallel` (several targets
//! on several threads), `neural` (networks) and `capi` (the C interface). Without features, a [`Tracker`] follows one
//! target and a [`Session`](run::Session) several, in frames in memory.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(missing_docs)]
#![warn(missing_debug_implementations)]

mod archive;
#[cfg(feature = "files")]
mod atomic_file;
mod bbox;
pub mod cancel;
#[cfg(feature = "capi")]
mod capi;
#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "synth")]
mod encode;
mod error;
#[cfg(feature = "files")]
pub mod eval;
#[cfg(feature = "cli")]
mod export;
mod features;
#[cfg(feature = "files")]
mod ffmpeg;
mod fft;
mod filters;
mod frame;
#[cfg(feature = "cli")]
mod http;
pub mod kernels;
pub mod machines;
#[cfg(feature = "files")]
#[cfg_attr(not(feature = "cli"), allow(dead_code, unused_imports, reason = "the program uses the rest"))]
pub mod media;
#[cfg(feature = "cli")]
pub mod models;
#[cfg(feature = "neural")]
mod network;
#[cfg(feature = "files")]
mod pipe;
pub mod run;
pub(crate) mod settings;
mod simd;
#[cfg(feature = "synth")]
pub mod synth;
#[cfg(feature = "cli")]
mod text;
pub mod tracker;
#[cfg(feature = "cli")]
mod view;

/// Entry points for fuzzing of the program's readers.
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod fuzzed {
    /// Reads a line of commands.
    pub fn command(line: &[u8]) {
        let _ = crate::run::Command::parse(line);
    }

    /// Reads the requests of a connection; returns their number.
    pub fn requests(bytes: &[u8]) -> usize {
        crate::http::requests(bytes)
    }

    /// Reads the networks of a folder and runs them once.
    #[cfg(feature = "neural")]
    pub fn networks(folder: &std::path::Path) -> bool {
        crate::network::Networks::load(folder).is_ok()
    }
}

pub use bbox::BBox;
pub use error::{Error, Result};
#[cfg(feature = "cli")]
pub use export::{Document, LabelOptions};
pub use frame::{Channels, Frame, FrameBuf, PixelFormat};

pub use kernels::Kernel;
pub use tracker::{Estimate, Evidence, Params, ResponseMap, State, Tracker};

#[cfg(test)]
extern crate self as kcf_track;
#[cfg(all(test, feature = "synth", feature = "files"))]
mod tests;

/// The README's example is compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
