//! Detectors: from feature maps to a response for every translation.
//!
//! [`kcf`] and the other machines in its place ([`circulant`]) learn all cyclic shifts of one window. A [`WindowDetector`](windows::WindowDetector) learns real windows: a
//! [`bank`] remembers them, a machine is fitted to it, the [`dense`] engine scores all windows of a search map.

pub mod bank;
pub mod circulant;
pub mod dense;
pub mod kcf;
mod loss;
pub mod projection;
#[cfg(test)]
mod tests;
pub mod windows;

pub use loss::Loss;
