//! The program from outside: what it writes, what it says, and how it ends.
#![cfg(feature = "cli")]

mod bad_input;
mod config;
mod detectors;
mod endings;
mod eval;
mod eval_data;
mod eval_page;
mod export_safety;
mod helper;
mod outputs;
mod synth;
mod usage;
