//! The library's errors as Python exceptions.

use std::io::ErrorKind;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use kcf_track::Error;
use kcf_track::cancel::CancelToken;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyType;

/// The exception for an error of the library, of a class of `kcf_track/_errors.py`.
pub fn raise(py: Python<'_>, error: &Error) -> PyErr {
    let class = match error {
        Error::Io { source, .. } if source.kind() == ErrorKind::NotFound => "MissingFileError",
        error if error.is_broken_pipe() => "ClosedPipeError",
        Error::Io { .. } | Error::Output { .. } => "FileError",
        Error::Decode { .. }
        | Error::Sequence { .. }
        | Error::Ended { .. }
        | Error::Annotation { .. }
        | Error::Saved { .. } => "FormatError",
        Error::Parameter { .. } | Error::Setting { .. } => "SettingError",
        Error::Box { .. } => "BoxError",
        Error::FrameLayout { .. } | Error::FrameSize { .. } => "FrameError",
        Error::NotInitialized => "NotInitializedError",
        Error::Gram { .. } | Error::Samples { .. } => "FitError",
        Error::Evaluation { .. } => "EvaluationError",
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

/// Turns results of the library into those of Python.
pub trait Raise<T> {
    /// The value, or the exception for its error.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> Raise<T> for kcf_track::Result<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| raise(py, &error))
    }
}

/// Runs `work` on another thread, and `poll` on this one every 100 ms. An exception of `poll`, such as Ctrl-C, sets
/// `cancel`; work that has not ended after `grace` is left to itself.
pub fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    cancel: &CancelToken,
    grace: Duration,
    mut poll: impl FnMut(Python<'_>) -> PyResult<()> + Send,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    py.detach(|| {
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || sender.send(work()));
        loop {
            match receiver.recv_timeout(Duration::from_millis(100)) {
                Ok(done) => return Ok(done),
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(raised) = Python::attach(&mut poll) {
                        cancel.cancel();
                        let _ = receiver.recv_timeout(grace);
                        return Err(raised);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Python::attach(|py| exception(py, "Error", "a thread panicked".into())));
                }
            }
        }
    })
}

/// A `TypeError`.
pub fn wrong_type(message: String) -> PyErr {
    PyTypeError::new_err(message)
}

/// Locks `mutex` without waiting.
///
/// # Errors
/// `StateError` while another thread uses it.
pub fn try_lock<'a, T>(mutex: &'a Mutex<T>, what: &str) -> PyResult<MutexGuard<'a, T>> {
    match mutex.try_lock() {
        Ok(held) => Ok(held),
        Err(TryLockError::Poisoned(held)) => Ok(held.into_inner()),
        Err(TryLockError::WouldBlock) => {
            let message = format!("this {what} is in use by another thread: give each thread its own, or a lock");
            Err(Python::attach(|py| exception(py, "StateError", message)))
        }
    }
}
