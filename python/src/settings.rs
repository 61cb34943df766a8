//! Settings as keyword arguments, and integers as arguments.

use std::path::PathBuf;

use kcf_track::{Params, models};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyString};
use serde_json::Value;

use crate::error::{Raise, exception, wrong_type};

/// The largest number of threads.
pub const MAX_THREADS: usize = 1024;

/// Settings and the preset that they come from.
#[derive(Clone, Debug)]
pub struct Resolved {
    pub preset: String,
    pub params: Params,
}

/// The settings of a preset, changed by keyword arguments.
///
/// # Errors
/// `SettingError` for an unknown preset and a value that is refused; `TypeError` for an unknown keyword.
pub fn resolve(py: Python<'_>, preset: &str, keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Resolved> {
    let params = change(py, Params::preset(preset).or_raise(py)?, keywords)?;
    Ok(Resolved { preset: preset.to_owned(), params })
}

/// Settings changed by keyword arguments: `detector`, `guard`, names of settings of the search, then `settings` (values
/// by path) and `machine` (values of the guard's machine, else of the detector's).
///
/// # Errors
/// As of [`resolve`].
pub fn change(py: Python<'_>, mut params: Params, keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Params> {
    let (mut named, mut paths, mut machine) = (Vec::new(), Vec::new(), Vec::new());
    for (key, value) in keywords.into_iter().flatten() {
        let key: String = key.extract()?;
        match key.as_str() {
            "settings" => paths = values_by_name(&value, "settings")?,
            "machine" => machine = values_by_name(&value, "machine")?,
            _ => named.push((text(&value, &key)?, key)),
        }
    }
    // These keywords bring defaults that the others change.
    let first = ["detector", "guard", "feature", "kernel", "scale"];
    named.sort_by_key(|(_, key)| first.iter().position(|name| name == key).unwrap_or(first.len()));
    for (text, key) in &named {
        params.set(&path_of(&params, key)?, text).or_raise(py)?;
    }
    for (path, text) in &paths {
        params.set(path, text).or_raise(py)?;
    }
    if !machine.is_empty() {
        let place = match &params.guard {
            Some(guard) => format!("guard.windows.machine.{}", guard.windows.machine.kind()),
            None if params.search.name() == "machine" => {
                format!("search.machine.windows.machine.{}", params.search.detector())
            }
            None => {
                return Err(exception(py, "SettingError", "machine needs a detector or a guard that is one".into()));
            }
        };
        for (name, text) in &machine {
            params.set(&format!("{place}.{name}"), text).or_raise(py)?;
        }
    }
    models::fill_in(&mut params).or_raise(py)?;
    params.check().or_raise(py)?;
    Ok(params)
}

/// The path of the setting that a keyword names.
fn path_of(params: &Params, key: &str) -> PyResult<String> {
    let name = key.replace('_', "-");
    if ["detector", "guard"].contains(&key) {
        return Ok(name);
    }
    let search = format!("search.{}.", params.search.name());
    let values = params.values();
    let mut known = Vec::new();
    for prefix in [format!("{search}windows."), search] {
        for (path, _) in &values {
            let Some(found) = path.strip_prefix(&prefix).and_then(|rest| rest.split('.').next()) else { continue };
            if found == name {
                return Ok(prefix + &name);
            }
            if !known.contains(&found) {
                known.push(found);
            }
        }
    }
    Err(wrong_type(format!(
        "unknown setting {key:?}: detector {} has {}; settings={{path: value}} sets any",
        params.search.detector(),
        known.join(", ").replace('-', "_")
    )))
}

fn values_by_name(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<(String, String)>> {
    let Ok(named) = value.cast::<PyDict>() else {
        return Err(wrong_type(format!("{what} must be a dict of names and values")));
    };
    named.iter().map(|(key, value)| Ok((key.extract::<String>()?, text(&value, what)?))).collect()
}

/// The value as [`Params::set`] reads it.
fn text(value: &Bound<'_, PyAny>, name: &str) -> PyResult<String> {
    if value.is_none() {
        return Ok("none".into());
    }
    // Booleans of Python and of NumPy.
    if let Ok(switch) = value.extract::<bool>() {
        return Ok(switch.to_string());
    }
    if let Ok(name) = value.cast::<PyString>() {
        return name.extract();
    }
    if value.is_instance_of::<PyInt>() {
        return value.str()?.extract();
    }
    if value.is_instance_of::<PyFloat>() || value.hasattr("__float__")? {
        return Ok(value.extract::<f64>()?.to_string());
    }
    // A path is the folder of a network.
    if value.hasattr("__fspath__")? {
        return Ok(value.extract::<PathBuf>()?.to_string_lossy().into_owned());
    }
    let kind = value.get_type().name()?;
    Err(wrong_type(format!("{name}: a setting is a number, True, False, None or a name, not {kind}")))
}

/// All settings by path.
pub fn as_dict<'py>(py: Python<'py>, params: &Params) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    for (path, value) in params.values() {
        match value {
            Value::Bool(switch) => all.set_item(path, switch)?,
            Value::String(name) => all.set_item(path, name)?,
            value => match value.as_u64() {
                Some(number) => all.set_item(path, number)?,
                // JSON has no infinity: it is null.
                None => all.set_item(path, value.as_f64().unwrap_or(f64::INFINITY))?,
            },
        }
    }
    Ok(all)
}

/// The presets by name, and what each is.
///
/// Examples:
///     >>> import kcf_track
///     >>> list(kcf_track.presets())[:3]
///     ['robust', 'fast', 'crowd']
#[pyfunction]
pub fn presets(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let all = PyDict::new(py);
    Params::presets().try_for_each(|(name, what)| all.set_item(name, what))?;
    Ok(all)
}

/// A non-negative integer whose argument is not known yet. PyO3's `OverflowError` would name no argument.
pub struct UInt(Result<u64, String>);

impl<'py> FromPyObject<'_, 'py> for UInt {
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

impl UInt {
    /// The number, as the argument `name`.
    ///
    /// # Errors
    /// `SettingError` where the type cannot hold it.
    pub fn named<T: TryFrom<u64>>(self, py: Python<'_>, name: &str, expected: &str) -> PyResult<T> {
        let number = self.0.and_then(|number| T::try_from(number).map_err(|_| number.to_string()));
        number.map_err(|given| exception(py, "SettingError", format!("{name} {given}: {expected}")))
    }

    /// A number of threads, as the argument `name`.
    ///
    /// # Errors
    /// `SettingError` for 0 and more than [`MAX_THREADS`].
    pub fn threads(self, py: Python<'_>, name: &str) -> PyResult<usize> {
        let expected = format!("must be an integer from 1 to {MAX_THREADS}");
        let threads: usize = self.named(py, name, &expected)?;
        match (1..=MAX_THREADS).contains(&threads) {
            true => Ok(threads),
            false => Err(exception(py, "SettingError", format!("{name} {threads}: {expected}"))),
        }
    }
}
