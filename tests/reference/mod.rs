//! Slow, plain and independent versions of what the library computes.

pub mod dft;
pub mod fhog;
pub mod kcf;
pub mod tracker;
