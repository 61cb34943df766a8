//! A tracker's settings as keyword arguments: the one table of settings, with the names that the flags have.

use kcf_track::Params;
use kcf_track::job::MOST_THREADS;
use kcf_track::setting::Kind;
use kcf_track::tracker::settings::{self, Changes, Wording};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};

use crate::error::{Raise, exception, wrong_type};
use crate::whole::Whole;

/// A preset and what was changed of it.
#[derive(Clone, Debug)]
pub struct Chosen {
    pub preset: String,
    pub params: Params,
}

/// The settings of a preset with keyword arguments on top: flags with underscores, `settings` (values by their paths)
/// and `machine` (values of the machine that is chosen).
///
/// # Errors
/// `SettingError` for an unknown preset, a value out of its range, or a setting that would have no effect; `TypeError`
/// for a keyword that is no setting.
pub fn resolve(py: Python<'_>, preset: &str, keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Chosen> {
    let params = changed(py, Params::named(preset).or_raise(py)?, keywords)?;
    Ok(Chosen { preset: preset.to_owned(), params })
}

/// Settings with keyword arguments on top.
///
/// # Errors
/// As of [`resolve`].
pub fn changed(py: Python<'_>, mut params: Params, keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Params> {
    let refused = |said: String| exception(py, "SettingError", said);
    let mut changes = Changes::new(Wording::Keywords);
    for (key, value) in keywords.into_iter().flatten() {
        let key = key.extract::<String>()?;
        match key.as_str() {
            "settings" => {
                for (path, text) in named_values(&value, "settings")? {
                    changes.path(&path, &text).map_err(refused)?;
                }
            }
            "machine" => {
                for (key, text) in named_values(&value, "machine")? {
                    changes.machine(&key, &text);
                }
            }
            flag => by_flag(flag, &value, &mut changes)?,
        }
    }
    changes.apply(&mut params).map_err(refused)?;
    params.check().or_raise(py)?;
    Ok(params)
}

fn by_flag(key: &str, value: &Bound<'_, PyAny>, changes: &mut Changes) -> PyResult<()> {
    let flag = key.replace('_', "-");
    if changes.flag(&flag, &text(value, key)?) {
        return Ok(());
    }
    let meant = settings::find(&flag).err().map_or(String::new(), |error| error.to_string());
    let meant = meant.split_once("; ").map_or(String::new(), |(_, meant)| format!(" ({meant})"));
    Err(wrong_type(format!(
        "there is no setting {key:?}{meant}; kcf_track.settings() lists them, settings={{path: value}} sets any"
    )))
}

fn named_values(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<(String, String)>> {
    let Ok(named) = value.cast::<PyDict>() else {
        return Err(wrong_type(format!("{what} must be a dict of names and values")));
    };
    named.iter().map(|(key, value)| Ok((key.extract::<String>()?, text(&value, what)?))).collect()
}

/// A number of threads, the argument `name`, that some machine has.
///
/// # Errors
/// `SettingError` for another one.
pub fn threads(py: Python<'_>, name: &str, threads: Whole) -> PyResult<usize> {
    let expected = format!("must be a whole number from 1 to {MOST_THREADS}");
    let threads = threads.named(py, name, &expected)?;
    match (1..=MOST_THREADS).contains(&threads) {
        true => Ok(threads),
        false => Err(exception(py, "SettingError", format!("{name} {threads}: {expected}"))),
    }
}

/// The value as the table reads it.
fn text(value: &Bound<'_, PyAny>, name: &str) -> PyResult<String> {
    if value.is_none() {
        return Ok("none".into());
    }
    // Python's, and NumPy's.
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
    let kind = value.get_type().name()?;
    Err(wrong_type(format!("{name}: a setting is a number, True, False, None or a name, not {kind}")))
}

/// All settings that these have, by path.
pub fn as_dict<'py>(py: Python<'py>, params: &Params) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    for setting in settings::table() {
        let Ok(text) = params.get(setting.path) else { continue };
        all.set_item(setting.path, native(py, setting.kind, &text)?)?;
    }
    Ok(all)
}

/// A value of the table as Python has it.
fn native<'py>(py: Python<'py>, kind: Kind, text: &str) -> PyResult<Bound<'py, PyAny>> {
    Ok(match kind {
        Kind::Number(..) | Kind::Above(..) | Kind::Limit(_) => {
            PyFloat::new(py, text.parse().unwrap_or(f64::NAN)).into_any()
        }
        Kind::Whole(..) | Kind::Odd(..) | Kind::WholeOr(..) => text.parse::<u64>()?.into_pyobject(py)?.into_any(),
        Kind::Switch => PyBool::new(py, text == "true").to_owned().into_any(),
        Kind::Choice(_) => PyString::new(py, text).into_any(),
    })
}

/// What a tracker can be set to.
///
/// A dict of all settings, by path: the keyword arguments that set it, the values that it takes, and what it means.
///
/// Examples:
///     >>> import kcf_track
///     >>> kcf_track.settings()["search.filter.padding"]["keywords"]
///     ['padding']
#[pyfunction]
#[pyo3(name = "settings")]
pub fn table(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let all = PyDict::new(py);
    for setting in settings::table() {
        let row = PyDict::new(py);
        let keywords: Vec<String> = setting.flags.iter().map(|flag| flag.replace('-', "_")).collect();
        row.set_item("keywords", keywords)?;
        row.set_item("values", setting.kind.range())?;
        row.set_item("help", setting.help)?;
        all.set_item(setting.path, row)?;
    }
    Ok(all)
}

/// The presets, by name, and what each is.
///
/// Examples:
///     >>> import kcf_track
///     >>> list(kcf_track.presets())[:3]
///     ['robust', 'paper', 'fast']
#[pyfunction]
pub fn presets(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let all = PyDict::new(py);
    Params::PRESETS.iter().try_for_each(|(name, what)| all.set_item(name, what))?;
    Ok(all)
}
