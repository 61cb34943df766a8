//! Detectors: from feature maps to a response for every translation.
//!
//! The filter, [`kcf`], learns all cyclic shifts of one patch. Its sibling [`background`], solved in the
//! primal, keeps to the target and takes every shift of the search area for background. A
//! [`WindowDetector`](windows::WindowDetector) learns real windows: a [`bank`] remembers them, a machine is fitted to
//! it, the [`dense`] engine scores all windows of a search map.

pub mod background;
pub mod bank;
pub(crate) mod correlation_1d;
pub mod dense;
pub mod kcf;
pub mod projection;
#[cfg(test)]
mod tests;
pub mod windows;
