//! Whole numbers as arguments.

use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;

use crate::error::exception;

/// A whole number that has yet to be given its name: below zero, or beyond 64 bits, it is an `OverflowError` of PyO3's,
/// which is no error of the library and says neither which argument it was nor what would be right.
pub struct Whole(Result<u64, String>);

impl<'py> FromPyObject<'_, 'py> for Whole {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match given.extract::<u64>() {
            Err(error) if error.is_instance_of::<PyOverflowError>(given.py()) => {
                Ok(Self(Err(given.str()?.extract()?)))
            }
            number => Ok(Self(Ok(number?))),
        }
    }
}

impl Whole {
    /// The number, as the argument `name`.
    ///
    /// # Errors
    /// `SettingError` where the type cannot hold it, with what would be right.
    pub fn named<T: TryFrom<u64>>(self, py: Python<'_>, name: &str, expected: &str) -> PyResult<T> {
        let number = self.0.and_then(|number| T::try_from(number).map_err(|_| number.to_string()));
        number.map_err(|given| exception(py, "SettingError", format!("{name} {given}: {expected}")))
    }
}
