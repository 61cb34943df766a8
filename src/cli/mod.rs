//! The command line.

pub mod synth;
