//! The program from outside: what it writes, what it says, and how it ends.
#![cfg(feature = "cli")]

#[path = "../support/npy.rs"]
mod npy;
#[path = "../support/pictures.rs"]
mod pictures;
#[path = "../support/schema.rs"]
mod schema;

mod bad_input;
mod detectors;
mod endings;
mod eval;
mod eval_data;
mod eval_page;
mod eval_ranks;
mod eval_rows;
mod export_safety;
mod helper;
mod outputs;
mod served;
mod stream;
mod stream_ends;
mod stream_overlay;
mod synth;
mod targets;
mod truth;
mod view;
