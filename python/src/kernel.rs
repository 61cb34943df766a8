//! Kernels between samples: Gram matrices of arrays.

use kcf_track::Error;
use kcf_track::kernels::{GramKernel, Kernel as Dot, cross_gram, gram, own_values};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::error::{Raise, exception, raise};

/// A kernel between the rows of arrays of float64.
///
/// ``gaussian`` has the bandwidth ``sigma``, ``polynomial`` the constant ``offset`` and the ``degree``, ``chi-squared``
/// the factor ``gamma``; ``linear`` and ``intersection`` have none. Distances and inner products are divided by the
/// number of features.
#[pyclass(frozen, module = "kcf_track._native")]
#[derive(Clone, Copy)]
pub struct Kernel(GramKernel);

#[pymethods]
impl Kernel {
    #[new]
    #[pyo3(signature = (name, *, sigma = 0.5, offset = 1.0, degree = 9, gamma = 1.0))]
    fn new(py: Python<'_>, name: &str, sigma: f64, offset: f64, degree: i64, gamma: f64) -> PyResult<Self> {
        let kernel = match name {
            "gaussian" => Dot::Gaussian { sigma }.into(),
            "polynomial" => Dot::Polynomial { a: offset, b: u32::try_from(degree).unwrap_or(u32::MAX) }.into(),
            "linear" => Dot::Linear.into(),
            "intersection" => GramKernel::Intersection,
            "chi-squared" => GramKernel::ChiSquared { gamma },
            _ => {
                let names = GramKernel::NAMES.join(", ");
                let message = format!("kernel {name:?}: must be one of {names}, precomputed");
                return Err(exception(py, "SettingError", message));
            }
        };
        match kernel.checked() {
            Ok(kernel) => Ok(Self(kernel)),
            Err(Error::Parameter { name, expected, .. }) => {
                let (name, value) = match name {
                    "kernel.gaussian.sigma" => ("sigma", sigma.to_string()),
                    "kernel.polynomial.a" => ("offset", offset.to_string()),
                    "kernel.polynomial.b" => ("degree", degree.to_string()),
                    name => (name, gamma.to_string()),
                };
                Err(exception(py, "SettingError", format!("{name} {value}: {expected}")))
            }
            Err(error) => Err(raise(py, &error)),
        }
    }

    /// The kernel values of all pairs of rows: (n, n).
    fn gram<'py>(&self, py: Python<'py>, samples: PyReadonlyArray2<'py, f64>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (kernel, samples) = (self.0, samples.as_array());
        Ok(py.detach(|| gram(kernel, samples)).or_raise(py)?.into_pyarray(py))
    }

    /// The kernel values of each row of ``test`` with each row of ``train``: (m, n).
    fn cross_gram<'py>(
        &self,
        py: Python<'py>,
        test: PyReadonlyArray2<'py, f64>,
        train: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (kernel, test, train) = (self.0, test.as_array(), train.as_array());
        Ok(py.detach(|| cross_gram(kernel, test, train)).or_raise(py)?.into_pyarray(py))
    }

    /// The kernel value of each row with itself: (m,); infinite where no number holds it.
    fn own<'py>(&self, py: Python<'py>, samples: PyReadonlyArray2<'py, f64>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (kernel, samples) = (self.0, samples.as_array());
        Ok(py.detach(|| own_values(kernel, samples)).or_raise(py)?.into_pyarray(py))
    }
}
