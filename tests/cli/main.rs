//! The command-line program: outputs, messages and exit codes.
#![cfg(feature = "cli")]

#[path = "../support/ffmpeg.rs"]
mod ffmpeg;
#[path = "../support/npy.rs"]
mod npy;
#[path = "../support/pictures.rs"]
mod pictures;
#[path = "../support/schema.rs"]
mod schema;

mod bad_input;
mod detections;
mod detectors;
mod documents;
mod endings;
mod eval;
mod eval_data;
mod helper;
mod label_files;
mod labels;
mod models;
mod outputs;
mod served;
mod stream;
mod stream_overlay;
mod synth;
mod targets;
mod truth;
mod usage;
mod view;
