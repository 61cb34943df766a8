//! Detectors: from feature maps to a response for every translation.

pub mod kcf;
