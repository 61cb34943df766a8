//! Saved trackers with the values that Python adds.

use kcf_track::Error;
use kcf_track::tracker::{opened, sealed};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Raise;

/// A value as bytes with a name, a version and a checksum.
pub fn write<'py>(py: Python<'py>, what: &str, value: &impl Serialize) -> PyResult<Bound<'py, PyBytes>> {
    let content = postcard::to_stdvec(value).map_err(|error| wrong(what, &error)).or_raise(py)?;
    Ok(PyBytes::new(py, &sealed(what, &content)))
}

/// The value of bytes that [`write`] made. Raises FormatError for others.
pub fn read<T: DeserializeOwned>(py: Python<'_>, what: &str, bytes: &[u8]) -> PyResult<T> {
    let content = opened(what, bytes).or_raise(py)?;
    postcard::from_bytes(content).map_err(|error| wrong(what, &error)).or_raise(py)
}

fn wrong(what: &str, error: &postcard::Error) -> Error {
    Error::Saved { what: what.to_owned(), reason: error.to_string() }
}
