//! Evaluation: how well boxes follow a labelled target, by the rules of the tracking benchmarks.

pub mod bootstrap;
pub mod metrics;
pub mod protocol;
#[cfg(feature = "cli")]
pub mod report;
pub mod rules;
pub mod runner;
pub mod store;
pub mod summary;

pub use metrics::{FrameErrors, Score, frame_errors, score};
pub use protocol::{Protocol, Start};
pub use rules::{InvalidPrediction, InvalidTruth, Rules, Toolkit, TruthValidity};
