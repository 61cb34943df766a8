//! Sources of frames.
//!
//! [`open()`] opens what a user names: a folder of images ([`Sequence`]), a video, a camera or an address that `ffmpeg`
//! reads, or a pipe of raw frames ([`Y4m`]). Each is a [`Source`]: its [`Info`], and its frames in order as [`Item`]s.
//! [`Prefetch`] reads any source ahead on other threads. [`decode()`] turns one image into a frame.

pub mod annotation;
mod images;
mod open;
mod order;
pub mod otb;
mod probe;
mod sequence;
mod source;
mod video;
mod y4m;

#[cfg(feature = "synth")]
pub(crate) use images::demanded;
pub(crate) use images::{INDEX, file_name, has_extension, is_image, list, number_of_another};
pub use images::{Images, decode, decode_bytes, first_levels};
pub use open::{OpenOptions, Truth, open};
pub(crate) use open::{is_pipe, local};
pub(crate) use probe::without_user;
pub use sequence::Sequence;
pub(crate) use sequence::{IMAGE_FOLDERS, TRUTH_FILES, numbered_truths, plain_truths};
pub(crate) use source::Latest;
pub use source::{Demand, Info, Item, Prefetch, Source, Span, Stream, Wait};
pub use y4m::{RawFormat, Y4m};
