//! Kernels between samples, and kernel machines over Gram matrices, for the estimators of `kcf_track/machines`.

use std::time::Duration;

use kcf_track::Error;
use kcf_track::cancel::CancelToken;
use kcf_track::kernels::{Kernel as Dot, cross_gram, gram, own_values};
use kcf_track::machines::kdspe::Kdspe;
use kcf_track::machines::klda::Klda;
use kcf_track::machines::kpca::Kpca;
use kcf_track::machines::{
    Affine, Embedding as Map, Head as Function, MachineParams, Multiclass, Novelty, Samples, Subspace, fit_classes,
    preimage,
};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, ToPyArray};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::error::{Raise, exception, interruptible, raise};

type Vector<'py> = Bound<'py, PyArray1<f64>>;
type Matrix<'py> = Bound<'py, PyArray2<f64>>;

/// A kernel between the rows of arrays of float64.
///
/// ``gaussian`` has the bandwidth ``sigma``, ``polynomial`` the constant ``offset`` and the ``degree``; ``linear`` has
/// none. Distances and inner products are divided by the number of features.
#[pyclass(frozen, module = "kcf_track._native")]
#[derive(Clone, Copy)]
pub struct Kernel(Dot);

#[pymethods]
impl Kernel {
    #[new]
    #[pyo3(signature = (name, *, sigma = 0.5, offset = 1.0, degree = 9))]
    fn new(py: Python<'_>, name: &str, sigma: f64, offset: f64, degree: i64) -> PyResult<Self> {
        let kernel = match name {
            "gaussian" => Dot::Gaussian { sigma },
            "polynomial" => Dot::Polynomial { a: offset, b: u32::try_from(degree).unwrap_or(u32::MAX) },
            "linear" => Dot::Linear,
            _ => {
                let names = Dot::NAMES.join(", ");
                let message = format!("kernel {name:?}: must be one of {names}, precomputed");
                return Err(exception(py, "SettingError", message));
            }
        };
        kernel.checked().map(Self).map_err(|error| match &error {
            Error::Setting { path, value, expected } => {
                let name = match path.rsplit('.').next() {
                    Some("a") => "offset",
                    Some("b") => "degree",
                    _ => "sigma",
                };
                exception(py, "SettingError", format!("{name} = {value}: {expected}"))
            }
            error => raise(py, error),
        })
    }

    /// The kernel values of all pairs of rows: (n, n).
    fn gram<'py>(&self, py: Python<'py>, samples: PyReadonlyArray2<'py, f64>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (kernel, samples) = (self.0, samples.as_array().to_owned());
        Ok(fitted(py, move || gram(kernel, samples.view()))?.into_pyarray(py))
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

    /// The kernel value of each row with itself: (m,); infinite where it overflows.
    fn own<'py>(&self, py: Python<'py>, samples: PyReadonlyArray2<'py, f64>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (kernel, samples) = (self.0, samples.as_array());
        Ok(py.detach(|| own_values(kernel, samples)).or_raise(py)?.into_pyarray(py))
    }
}

/// The parts of a subspace form: the factor of a sample's own kernel value, directions, offsets, factors.
type Parts<'py> = (f64, PyReadonlyArray2<'py, f64>, PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>);

/// A fitted machine: a function of the kernel values with the training samples.
#[pyclass(frozen, module = "kcf_track._native")]
pub struct Head(Function);

#[pymethods]
impl Head {
    /// A head from its parts.
    #[new]
    #[pyo3(signature = (alpha, bias, subspace = None))]
    fn new(py: Python<'_>, alpha: PyReadonlyArray1<'_, f64>, bias: f64, subspace: Option<Parts<'_>>) -> PyResult<Self> {
        let affine = Affine { alpha: alpha.as_array().to_owned(), bias };
        let Some((own, directions, offsets, factors)) = subspace else { return Ok(Self(Function::Affine(affine))) };
        let directions = directions.as_array().to_owned();
        let (offsets, factors) = (offsets.as_array().to_owned(), factors.as_array().to_owned());
        if directions.dim() != (affine.alpha.len(), offsets.len()) || factors.len() != offsets.len() {
            let (n, d) = directions.dim();
            let message = format!(
                "a head of {} coefficients, directions ({n}, {d}), {} offsets and {} factors: the sizes differ",
                affine.alpha.len(),
                offsets.len(),
                factors.len()
            );
            return Err(exception(py, "FitError", message));
        }
        Ok(Self(Function::Subspace(Subspace { own, affine, directions, offsets, factors })))
    }

    /// The coefficients of the kernel values, (n,).
    #[getter]
    fn alpha<'py>(&self, py: Python<'py>) -> Vector<'py> {
        self.0.linear().alpha.to_pyarray(py)
    }

    /// The constant.
    #[getter]
    fn bias(&self) -> f64 {
        self.0.linear().bias
    }

    /// The indices of the training samples that decisions depend on.
    #[getter]
    fn support(&self) -> Vec<usize> {
        self.0.support()
    }

    /// Whether decisions need the kernel values of samples with themselves.
    #[getter]
    fn needs_own(&self) -> bool {
        matches!(&self.0, Function::Subspace(subspace) if subspace.own != 0.0)
    }

    /// The decisions of m samples: ``cross`` (m, n) holds their kernel values with the training samples, ``own`` (m,)
    /// those with themselves.
    fn decision<'py>(
        &self,
        py: Python<'py>,
        cross: PyReadonlyArray2<'py, f64>,
        own: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Vector<'py>> {
        let (head, cross, own) = (&self.0, cross.as_array(), own.as_array());
        Ok(py.detach(|| head.decision(cross, own)).or_raise(py)?.into_pyarray(py))
    }

    #[expect(clippy::type_complexity, reason = "the arguments of the constructor, for pickle")]
    fn __reduce__<'py>(
        this: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, (Vector<'py>, f64, Option<(f64, Matrix<'py>, Vector<'py>, Vector<'py>)>))> {
        let (py, head) = (this.py(), &this.get().0);
        let subspace = match head {
            Function::Affine(_) => None,
            Function::Subspace(Subspace { own, directions, offsets, factors, .. }) => {
                Some((*own, directions.to_pyarray(py), offsets.to_pyarray(py), factors.to_pyarray(py)))
            }
        };
        let Affine { alpha, bias } = head.linear();
        Ok((this.get_type().into_any(), (alpha.to_pyarray(py), *bias, subspace)))
    }
}

/// The machine of that name with settings in JSON.
fn machine(py: Python<'_>, name: &str, options: &str) -> PyResult<MachineParams> {
    let refuse = |error: serde_json::Error| exception(py, "SettingError", format!("{name}: {error}"));
    let options: Value = serde_json::from_str(options).map_err(refuse)?;
    serde_json::from_value(json!({ name: options })).map_err(refuse)
}

/// Runs a fit, or other long work, on another thread; Ctrl-C ends it.
fn fitted<T: Send + 'static>(
    py: Python<'_>,
    fit: impl FnOnce() -> kcf_track::Result<T> + Send + 'static,
) -> PyResult<T> {
    let cancel = CancelToken::default();
    let scoped = cancel.clone();
    let grace = Duration::from_millis(500);
    interruptible(py, &cancel, grace, |py| py.check_signals(), move || scoped.scope(fit))?.or_raise(py)
}

/// Fits the machine of that name, with settings in JSON, to samples (n, features), or without a ``kernel`` to their Gram
/// matrix (n, n), and the numbers of classes (n,): a head per class against the rest, one for two classes, or, with
/// ``pairs``, one per pair of classes.
#[pyfunction]
#[pyo3(signature = (name, options, kernel, samples, classes, weights, *, pairs = false))]
#[expect(clippy::too_many_arguments, reason = "they have names in Python")]
pub fn fit(
    py: Python<'_>,
    name: &str,
    options: &str,
    kernel: Option<&Kernel>,
    samples: PyReadonlyArray2<'_, f64>,
    classes: Vec<usize>,
    weights: Vec<f64>,
    pairs: bool,
) -> PyResult<Vec<Head>> {
    let machine = machine(py, name, options)?.build().or_raise(py)?;
    let multiclass = if pairs { Multiclass::OneVsOne } else { Multiclass::OneVsRest };
    let (values, labels) = (samples.as_array(), vec![1.0; classes.len()]);
    let fit = move |samples: Samples| fit_classes(&*machine, samples.with_weights(&weights)?, &classes, multiclass);
    let heads = if let Some(&Kernel(kernel)) = kernel {
        let rows = values.to_owned();
        fitted(py, move || fit(Samples::of_rows(kernel, rows.view(), &labels)?))?
    } else {
        let samples = py.detach(|| Samples::new(values, &labels)).or_raise(py)?;
        fitted(py, move || fit(samples))?
    };
    Ok(heads.into_iter().map(Head).collect())
}

/// Fits the machine of that name, with settings in JSON, to a Gram matrix (n, n) and numbers (n,).
#[pyfunction]
pub fn fit_numbers(
    py: Python<'_>,
    name: &str,
    options: &str,
    gram: PyReadonlyArray2<'_, f64>,
    numbers: Vec<f64>,
    weights: Vec<f64>,
) -> PyResult<Head> {
    let machine = machine(py, name, options)?.build().or_raise(py)?;
    let gram = gram.as_array();
    let samples =
        py.detach(|| Samples::new(gram, &vec![1.0; numbers.len()])?.with_weights(&weights)?.with_soft_labels(&numbers));
    let samples = samples.or_raise(py)?;
    Ok(Head(fitted(py, move || machine.fit(&samples))?))
}

/// A map from kernel values to a few coordinates.
#[pyclass(frozen, module = "kcf_track._native")]
pub struct Embedding(Made);

enum Made {
    Map(Map),
    Novelty(Novelty),
}

/// Fits the embedding of that name (``kpca``, ``klda`` or ``kdspe``), with settings in JSON, to a Gram matrix (n, n)
/// and the numbers of classes (n,).
#[pyfunction]
pub fn embed(
    py: Python<'_>,
    name: &str,
    options: &str,
    gram: PyReadonlyArray2<'_, f64>,
    classes: Vec<usize>,
) -> PyResult<Embedding> {
    let (machine, gram) = (machine(py, name, options)?, gram.as_array().to_owned());
    fitted(py, move || {
        Ok(match machine {
            MachineParams::Kpca(params) => Embedding(Made::Novelty(Kpca::new(params)?.embed(gram.view())?)),
            MachineParams::Klda(params) => Embedding(Made::Map(Klda::new(params)?.embed(gram.view(), &classes)?)),
            MachineParams::Kdspe(params) => Embedding(Made::Map(Kdspe::new(params)?.embed(gram.view(), &classes)?)),
            other => return Err(Error::Samples { reason: format!("{} has no embedding", other.kind()) }),
        })
    })
}

impl Embedding {
    fn map(&self) -> &Map {
        match &self.0 {
            Made::Map(map) => map,
            Made::Novelty(novelty) => &novelty.embedding,
        }
    }

    fn subspace(&self, py: Python<'_>) -> PyResult<&Novelty> {
        match &self.0 {
            Made::Novelty(novelty) => Ok(novelty),
            Made::Map(_) => Err(exception(py, "FitError", "only kernel principal components have novelties".into())),
        }
    }
}

#[pymethods]
impl Embedding {
    /// An embedding from its parts; principal components have the squared ``norm`` of the samples' mean.
    #[new]
    #[pyo3(signature = (values, coefficients, constant, norm = None))]
    fn new(
        py: Python<'_>,
        values: PyReadonlyArray1<'_, f64>,
        coefficients: PyReadonlyArray2<'_, f64>,
        constant: PyReadonlyArray1<'_, f64>,
        norm: Option<f64>,
    ) -> PyResult<Self> {
        let (values, constant) = (values.as_array().to_owned(), constant.as_array().to_owned());
        let map = Map { coefficients: coefficients.as_array().to_owned(), constant, values };
        if map.values.len() != map.dims() || map.coefficients.ncols() != map.dims() {
            return Err(exception(py, "FitError", "an embedding has one value and one constant a coordinate".into()));
        }
        Ok(Self(match norm {
            Some(norm) => Made::Novelty(Novelty { embedding: map, norm }),
            None => Made::Map(map),
        }))
    }

    /// The value that each coordinate was chosen by, largest first: a variance, or a generalised eigenvalue.
    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> Vector<'py> {
        self.map().values.to_pyarray(py)
    }

    /// The coefficients of the kernel values, (n, d).
    #[getter]
    fn coefficients<'py>(&self, py: Python<'py>) -> Matrix<'py> {
        self.map().coefficients.to_pyarray(py)
    }

    /// The constant of each coordinate, (d,).
    #[getter]
    fn constant<'py>(&self, py: Python<'py>) -> Vector<'py> {
        self.map().constant.to_pyarray(py)
    }

    /// The coordinates (m, d) of m samples from their kernel values with the training samples (m, n).
    fn transform<'py>(&self, py: Python<'py>, cross: PyReadonlyArray2<'py, f64>) -> PyResult<Matrix<'py>> {
        let cross = cross.as_array();
        Ok(py.detach(|| self.map().transform(cross)).or_raise(py)?.into_pyarray(py))
    }

    /// The squared distances (m,) of m samples to the subspace of the components.
    fn novelty<'py>(&self, py: Python<'py>, cross: PyReadonlyArray2<'py, f64>, own: Vec<f64>) -> PyResult<Vector<'py>> {
        let (subspace, cross) = (self.subspace(py)?, cross.as_array());
        Ok(py.detach(|| subspace.novelty(cross, &own)).or_raise(py)?.into_pyarray(py))
    }

    /// The samples whose images under a Gaussian kernel are nearest to the projections of the rows of ``noisy``.
    fn denoise<'py>(
        &self,
        py: Python<'py>,
        sigma: f64,
        train: PyReadonlyArray2<'py, f64>,
        noisy: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Matrix<'py>> {
        let (subspace, train) = (self.subspace(py)?.clone(), train.as_array().to_owned());
        let noisy = noisy.as_array().to_owned();
        Ok(fitted(py, move || preimage::denoise(&subspace, sigma, train.view(), noisy.view()))?.into_pyarray(py))
    }

    fn __reduce__<'py>(
        this: &Bound<'py, Self>,
    ) -> (Bound<'py, PyAny>, (Vector<'py>, Matrix<'py>, Vector<'py>, Option<f64>)) {
        let (py, made) = (this.py(), this.get());
        let norm = made.subspace(py).ok().map(|novelty| novelty.norm);
        (this.get_type().into_any(), (made.values(py), made.coefficients(py), made.constant(py), norm))
    }
}
