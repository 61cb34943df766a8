//! The Python module `kcf_track._native`: the library as Python objects over NumPy arrays.
//!
//! It converts arrays, keywords and errors. Progress, iteration over frames and scikit-learn's conventions are written
//! in Python, in `kcf_track/`.
#![deny(unsafe_code)]

mod document;
mod error;
mod estimate;
mod evaluate;
mod machine;
mod model;
mod multi;
mod pixels;
mod saved;
mod settings;
mod source;
mod tracker;

use std::ffi::OsString;
use std::io::Write;

use pyo3::prelude::*;

/// Runs the program `kcf-track` with ``arguments``, the first of which is its name, and gives the exit code.
#[pyfunction]
fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| {
        let code = kcf_track::cli::run(arguments);
        // Rust flushes the standard output at the end of its own `main` only.
        let _ = std::io::stdout().flush();
        code
    })
}

#[pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use super::document::{draw_document, frame_record, read_document, save_document};
    #[pymodule_export]
    use super::estimate::Estimate;
    #[pymodule_export]
    use super::evaluate::evaluate;
    #[pymodule_export]
    use super::machine::{Embedding, Head, Kernel, embed, fit, fit_numbers};
    #[pymodule_export]
    use super::main;
    #[pymodule_export]
    use super::model::install_model;
    #[pymodule_export]
    use super::multi::MultiTracker;
    #[pymodule_export]
    use super::settings::presets;
    #[pymodule_export]
    use super::source::{Frames, Source, read_image};
    #[pymodule_export]
    use super::tracker::Tracker;

    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
