//! Evaluation: how well boxes follow a labelled target, by the rules of the tracking benchmarks.

pub mod metrics;
pub mod rules;

pub use metrics::{FrameErrors, Score, frame_errors, score};
pub use rules::{InvalidPrediction, InvalidTruth, Rules, Toolkit, TruthValidity};
