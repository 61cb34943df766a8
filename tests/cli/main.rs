//! The program from outside: what it writes, what it says, and how it ends.
#![cfg(feature = "cli")]

mod bad_input;
mod detectors;
mod endings;
mod helper;
mod outputs;
mod usage;
