//! Evaluation: how well boxes follow a labelled target, by the rules of the tracking benchmarks.
//!
//! A [`Dataset`] holds labelled sequences. An [`Evaluation`] runs trackers over them, reads published results beside
//! them, and sums both up in a [`Report`].

mod dataset;
mod metrics;
mod protocols;
#[cfg(feature = "cli")]
pub(crate) mod report;
mod results;
mod runner;
mod summary;

pub use dataset::{Dataset, LabelledSequence};
#[cfg(feature = "cli")]
pub(crate) use metrics::score_labelled;
pub use metrics::{Score, Toolkit, score};
pub use protocols::{Protocol, Start};
pub use results::ResultFiles;
#[cfg(feature = "cli")]
pub(crate) use results::{check_save_folder, save_results};
pub use runner::{Evaluation, Event, Preset, Runner, Store, Trace};
pub use summary::{
    Aggregate, Difference, Evaluated, Interval, LeftOut, Origin, Report, SequenceFacts, Timings, TrackerReport,
    TrackerTiming,
};
