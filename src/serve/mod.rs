//! Trackers that answer to other programs and to people.

#[cfg(feature = "view")]
pub mod http;
pub mod trax;
#[cfg(feature = "view")]
pub mod view;
