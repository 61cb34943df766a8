//! The Python module `kcf_track._native`: the library as Python objects over NumPy arrays.
//!
//! What is written here only turns arrays, keywords and errors of one language into those of the other. What needs
//! Python itself (progress, iterators of frames, scikit-learn's conventions) is Python, in `kcf_track/`.
#![deny(unsafe_code)]

mod error;
mod estimate;
mod evaluate;
mod guest;
mod job;
mod kernel;
mod machine;
mod multi;
mod pixels;
mod settings;
mod source;
mod tracker;
mod whole;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use super::estimate::Estimate;
    #[pymodule_export]
    use super::evaluate::evaluate;
    #[pymodule_export]
    use super::job::{follow, joined};
    #[pymodule_export]
    use super::kernel::Kernel;
    #[pymodule_export]
    use super::machine::{Embedding, Head, embed, fit};
    #[pymodule_export]
    use super::multi::MultiTracker;
    #[pymodule_export]
    use super::settings::{presets, table};
    #[pymodule_export]
    use super::source::{Frames, Source};
    #[pymodule_export]
    use super::tracker::Tracker;

    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
