//! Detectors: from feature maps to a response for every translation.

pub mod circulant;
pub mod kcf;
