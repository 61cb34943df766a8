//! The library's errors as Python exceptions.

use std::io::ErrorKind;

use kcf_track::Error;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyType;

/// The exception that an error of the library becomes. The classes stand in `kcf_track/_errors.py`: each is a
/// `kcf_track.Error` and one of Python's own kinds as well.
pub fn raise(py: Python<'_>, error: &Error) -> PyErr {
    let class = match error {
        Error::Io { source, .. } if source.kind() == ErrorKind::NotFound => "MissingFileError",
        error if error.is_broken_pipe() => "ClosedPipeError",
        Error::Io { .. } | Error::Output { .. } => "FileError",
        Error::Decode { .. } | Error::Sequence { .. } | Error::Annotation { .. } => "FormatError",
        Error::Parameter { .. } => "SettingError",
        Error::Box { .. } => "BoxError",
        Error::FrameLayout { .. } | Error::FrameSize { .. } => "FrameError",
        Error::NotInitialized => "NotInitializedError",
        Error::Gram { .. } | Error::Samples { .. } => "FitError",
        Error::Evaluation { .. } => "EvaluationError",
        Error::Snapshot { .. } => "SnapshotError",
        _ => "Error",
    };
    exception(py, class, error.to_string())
}

/// An exception of one of the classes of `kcf_track/_errors.py`.
pub fn exception(py: Python<'_>, class: &str, message: String) -> PyErr {
    let found = py.import("kcf_track._errors").and_then(|module| module.getattr(class));
    match found.and_then(|class| Ok(class.cast_into::<PyType>()?)) {
        Ok(class) => PyErr::from_type(class, (message,)),
        Err(error) => error,
    }
}

/// A result of the library as one of Python.
pub trait Raise<T> {
    /// The value, or the exception that its error becomes.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> Raise<T> for kcf_track::Result<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| raise(py, &error))
    }
}

/// For a value of a type that has no meaning there.
pub fn wrong_type(message: String) -> PyErr {
    PyTypeError::new_err(message)
}

/// For an object that another thread is using.
pub fn in_use(what: &str) -> PyErr {
    let message = format!("this {what} is in use by another thread: give each thread its own, or a lock");
    Python::attach(|py| exception(py, "StateError", message))
}
