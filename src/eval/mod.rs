//! Evaluation: how well boxes follow a labelled target, by the rules of the tracking benchmarks.

pub mod bootstrap;
pub mod dataset;
pub mod evaluation;
mod labelled;
pub mod manifest;
pub mod metrics;
mod names;
pub mod outcome;
pub mod preset;
pub mod protocol;
#[cfg(feature = "cli")]
pub mod report;
pub mod results;
mod rows;
pub mod runner;
pub mod saving;
pub mod store;
pub mod summary;
pub mod timings;

pub use metrics::{FrameErrors, Score, Toolkit, frame_errors, score};
pub use protocol::{Protocol, Start};
