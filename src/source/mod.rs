//! Where frames come from.

pub mod synth;
