//! Kernel machines over Gram matrices, for the estimators of `kcf_track/machines.py`.

use kcf_track::machines::kdspe::{self, Kdspe, Preserved};
use kcf_track::machines::klda::{self, Klda};
use kcf_track::machines::kpca::{self, Kpca};
use kcf_track::machines::{
    Affine, Build, Embedding as Map, Head as Function, MachineKind, Novelty, Samples, Subspace, from_name, preimage,
};
use kcf_track::setting::check;
use ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, ToPyArray};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::error::{Raise, exception};

type Vector<'py> = Bound<'py, PyArray1<f64>>;
type Matrix<'py> = Bound<'py, PyArray2<f64>>;

/// What a form in subspaces has besides: the factor of a sample's own kernel value, directions, offsets, factors.
type Parts<'py> = (f64, PyReadonlyArray2<'py, f64>, PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>);

/// What a fitted machine leaves behind: a function of kernel values with the training samples.
#[pyclass(frozen, module = "kcf_track._native")]
pub struct Head(Function);

#[pymethods]
impl Head {
    /// A head of its parts, as ``parts`` gives them.
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
                "a head of {} coefficients, directions ({n}, {d}), {} offsets and {} factors: they do not belong together",
                affine.alpha.len(),
                offsets.len(),
                factors.len()
            );
            return Err(exception(py, "SnapshotError", message));
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

    #[expect(clippy::type_complexity, reason = "a tuple of Python's, for pickle")]
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

/// The settings, as JSON, of a machine or an embedding of that name.
fn settings(py: Python<'_>, name: &str, text: &str) -> PyResult<Value> {
    let read: Value = serde_json::from_str(text).map_err(|error| exception(py, "SettingError", error.to_string()))?;
    let name = if name == "spp" { "kdspe" } else { name };
    // Ahead of the types: what these refuse is said in words of Rust.
    check(&json!({ name: &read }), name.parse::<MachineKind>().or_raise(py)?.settings()).or_raise(py)?;
    Ok(read)
}

/// Fits the machine of that name, with settings in JSON, to a Gram matrix (n, n) and labels of +1 and -1 (n,).
#[pyfunction]
#[pyo3(signature = (name, options, gram, labels, *, weights = None, soft_labels = None))]
pub fn fit(
    py: Python<'_>,
    name: &str,
    options: &str,
    gram: PyReadonlyArray2<'_, f64>,
    labels: Vec<f64>,
    weights: Option<Vec<f64>>,
    soft_labels: Option<Vec<f64>>,
) -> PyResult<Head> {
    let machine = from_name(name, &settings(py, name, options)?).or_raise(py)?;
    let gram = gram.as_array();
    let fitted = py.detach(|| {
        let mut samples = Samples::new(gram, &labels)?;
        if let Some(weights) = &weights {
            samples = samples.with_weights(weights)?;
        }
        if let Some(soft_labels) = &soft_labels {
            samples = samples.with_soft_labels(soft_labels)?;
        }
        machine.fit(&samples)
    });
    fitted.map(Head).or_raise(py)
}

/// A map from kernel values to a few coordinates.
#[pyclass(frozen, module = "kcf_track._native")]
pub struct Embedding {
    made: Made,
    /// What it was fitted to: enough to make it again.
    recipe: Recipe,
}

enum Made {
    Map(Map),
    Novelty(Novelty),
}

#[derive(Clone)]
struct Recipe {
    name: String,
    options: String,
    gram: Array2<f64>,
    classes: Vec<usize>,
}

impl Recipe {
    fn make(&self, options: Value) -> kcf_track::Result<Made> {
        let gram = self.gram.view();
        let wrong = |error: serde_json::Error| kcf_track::Error::Parameter {
            name: "settings",
            value: self.options.clone(),
            expected: error.to_string(),
        };
        match self.name.as_str() {
            "kpca" => {
                let params: kpca::Params = serde_json::from_value(options).map_err(wrong)?;
                Ok(Made::Novelty(Kpca::new(params)?.embed(gram)?))
            }
            "klda" => {
                let params: klda::Params = serde_json::from_value(options).map_err(wrong)?;
                Ok(Made::Map(Klda::new(params)?.embed(gram, &self.classes)?))
            }
            name => {
                let params: kdspe::Params = serde_json::from_value(options).map_err(wrong)?;
                let preserved = if name == "spp" { Preserved::Neighbours } else { Preserved::Classes };
                Ok(Made::Map(Kdspe::new(params)?.embed(gram, &self.classes, preserved)?))
            }
        }
    }
}

/// Fits the embedding of that name (``kpca``, ``klda``, ``kdspe`` or ``spp``), with settings in JSON, to a Gram matrix
/// (n, n) and the numbers of classes (n,).
#[pyfunction]
pub fn embed(
    py: Python<'_>,
    name: String,
    options: String,
    gram: PyReadonlyArray2<'_, f64>,
    classes: Vec<usize>,
) -> PyResult<Embedding> {
    if !["kpca", "klda", "kdspe", "spp"].contains(&name.as_str()) {
        return Err(exception(py, "SettingError", format!("embedding {name:?}: must be kpca, klda, kdspe or spp")));
    }
    let read = settings(py, &name, &options)?;
    let recipe = Recipe { name, options, gram: gram.as_array().to_owned(), classes };
    let made = py.detach(|| recipe.make(read)).or_raise(py)?;
    Ok(Embedding { made, recipe })
}

impl Embedding {
    fn map(&self) -> &Map {
        match &self.made {
            Made::Map(map) => map,
            Made::Novelty(novelty) => &novelty.embedding,
        }
    }

    fn subspace(&self, py: Python<'_>) -> PyResult<&Novelty> {
        match &self.made {
            Made::Novelty(novelty) => Ok(novelty),
            Made::Map(_) => Err(exception(py, "FitError", "only kernel principal components have novelties".into())),
        }
    }
}

#[pymethods]
impl Embedding {
    /// What each coordinate was chosen for, largest first: a variance, or a generalised eigenvalue.
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
        let (subspace, train, noisy) = (self.subspace(py)?, train.as_array(), noisy.as_array());
        Ok(py.detach(|| preimage::denoise(subspace, sigma, train, noisy)).or_raise(py)?.into_pyarray(py))
    }

    #[expect(clippy::type_complexity, reason = "a tuple of Python's, for pickle")]
    fn __reduce__<'py>(
        this: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, (String, String, Matrix<'py>, Vec<usize>))> {
        let (py, Recipe { name, options, gram, classes }) = (this.py(), this.get().recipe.clone());
        let made_by = py.import("kcf_track._native")?.getattr("embed")?;
        Ok((made_by, (name, options, gram.into_pyarray(py), classes)))
    }
}
