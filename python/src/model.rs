//! Networks that others have published.

use std::path::PathBuf;
use std::time::Duration;

use kcf_track::cancel::CancelToken;
use kcf_track::models::Model;
use pyo3::prelude::*;

use crate::error::{Raise, interruptible};

/// Fetches the networks of ``Tracker("expert")``, checks them, keeps them in the user's data folder, and returns their
/// folder. ``source`` is another address, or a folder, with the published files.
///
/// Examples:
///     >>> import kcf_track
///     >>> kcf_track.install_model("nanotrack-v3")  # doctest: +SKIP
#[pyfunction]
#[pyo3(signature = (name = "nanotrack-v3", source = None))]
pub fn install_model(py: Python<'_>, name: &str, source: Option<PathBuf>) -> PyResult<PathBuf> {
    let model = Model::named(name).or_raise(py)?;
    let source = source.map(|source| source.to_string_lossy().into_owned());
    // Ctrl-C ends curl, too.
    let install = move || model.install(source.as_deref());
    interruptible(py, &CancelToken::default(), Duration::from_secs(1), |py| py.check_signals(), install)?.or_raise(py)
}
