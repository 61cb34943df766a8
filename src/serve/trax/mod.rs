//! A tracker as a server of the TraX protocol, which the VOT toolkit and other clients of `libtrax` speak (Čehovin,
//! *TraX: The visual Tracking eXchange protocol and library*, Neurocomputing 2017).
//!
//! A client writes lines, the server answers with lines: [`Message`] is one of them, [`Region`] and [`Picture`] are
//! what their arguments hold, [`serve`] is the server between any reader and any writer. Coordinates are pixels, the
//! first one being 0.
//!
//! ```
//! use kcf_track::Params;
//! use kcf_track::serve::trax::{Version, serve};
//!
//! # fn main() -> kcf_track::Result<()> {
//! // 32 x 24 gray pixels in Base64, and a box on them.
//! let picture = format!("image:32;24;gray8;{}", "AP8o".repeat(32 * 24 / 3));
//! let client = format!("@@TRAX:initialize \"{picture}\" \"8,6,12,12\"\n@@TRAX:frame \"{picture}\"\n@@TRAX:quit\n");
//! let mut answers = Vec::new();
//! serve(client.as_bytes(), &mut answers, &Params::default(), Version::new(1)?)?;
//! let answers = String::from_utf8_lossy(&answers);
//! assert!(answers.starts_with("@@TRAX:hello ") && answers.matches("\n@@TRAX:state ").count() == 2);
//! # Ok(())
//! # }
//! ```

mod lines;
mod message;
mod picture;
mod region;
mod server;
#[cfg(test)]
mod tests;
mod version;

pub use lines::MAX_LINE;
pub use message::{Kind, MAX_ARGUMENTS, Message};
pub use picture::Picture;
pub use region::{Form, MAX_CORNERS, Region};
pub use server::{MAX_OBJECTS, serve};
pub use version::Version;
