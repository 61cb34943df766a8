//! A tracker's settings as keyword arguments: the one table of settings, with the names that the flags have.

use kcf_track::Params;
use kcf_track::setting::Kind;
use kcf_track::tracker::settings::{self, Setting};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};

use crate::error::{Raise, exception, wrong_type};

/// A preset and what was changed of it.
#[derive(Clone, Debug)]
pub struct Chosen {
    pub preset: String,
    pub params: Params,
}

/// A value and the places of the table that it may be meant for.
struct Given {
    name: String,
    paths: Vec<&'static str>,
    text: String,
}

/// The settings of a preset with keyword arguments on top: flags with underscores, `settings` (values by their paths)
/// and `machine` (values of the machine that is chosen).
///
/// # Errors
/// `SettingError` for an unknown preset, a value out of its range, or a setting that would have no effect; `TypeError`
/// for a keyword that is no setting.
pub fn resolve(py: Python<'_>, preset: &str, keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Chosen> {
    let mut params = Params::preset(preset).ok_or_else(|| {
        let names = Params::PRESETS.map(|(name, _)| name).join(", ");
        exception(py, "SettingError", format!("preset {preset}: must be one of {names}"))
    })?;
    let (mut given, mut machine) = (Vec::new(), Vec::new());
    for (key, value) in keywords.into_iter().flatten() {
        let key = key.extract::<String>()?;
        match key.as_str() {
            "settings" => by_path(py, &value, &mut given)?,
            "machine" => machine.extend(named_values(&value, "machine")?),
            _ => by_flag(&key, &value, &mut given)?,
        }
    }
    given.sort_by_key(rank);
    // Choices first: a machine's settings have their place once the machine is there.
    let values = given.iter().position(|given| rank(given).0).unwrap_or(given.len());
    let values = given.split_off(values);
    given.iter().try_for_each(|given| put(py, &mut params, given))?;
    for (key, text) in machine {
        let path = machine_path(py, &params, &key)?;
        put(py, &mut params, &Given { name: format!("machine[{key:?}]"), paths: vec![path], text })?;
    }
    values.iter().try_for_each(|given| put(py, &mut params, given))?;
    params.check().or_raise(py)?;
    Ok(Chosen { preset: preset.to_owned(), params })
}

fn rank(given: &Given) -> (bool, usize) {
    given.paths.first().and_then(|path| Some(settings::find(path).ok()?.rank())).unwrap_or_default()
}

fn by_path(py: Python<'_>, value: &Bound<'_, PyAny>, given: &mut Vec<Given>) -> PyResult<()> {
    for (path, text) in named_values(value, "settings")? {
        let path = settings::find(&path).or_raise(py)?.path;
        given.push(Given { name: path.into(), paths: vec![path], text });
    }
    Ok(())
}

fn by_flag(key: &str, value: &Bound<'_, PyAny>, given: &mut Vec<Given>) -> PyResult<()> {
    let flag = key.replace('_', "-");
    let text = text(value, key)?;
    let places: Vec<&Setting> =
        settings::table().iter().filter(|setting| setting.flags.contains(&flag.as_str())).collect();
    if places.is_empty() {
        let meant = settings::find(&flag).err().map_or(String::new(), |error| error.to_string());
        let meant = meant.split_once("; ").map_or(String::new(), |(_, meant)| format!(" ({meant})"));
        return Err(wrong_type(format!(
            "there is no setting {key:?}{meant}; kcf_track.settings() lists them, settings={{path: value}} sets any"
        )));
    }
    // How many cells there are at most says how the area's size is meant, too.
    if flag == "max-cells" {
        let bounded = text.trim() != "inf";
        let area = if bounded { "bounded" } else { "published" };
        given.push(Given { name: key.into(), paths: vec!["search.filter.area"], text: area.into() });
        if !bounded {
            return Ok(());
        }
    }
    given.push(Given { name: key.into(), paths: places.iter().map(|setting| setting.path).collect(), text });
    Ok(())
}

/// Sets a value at the first of its places that the tree has.
fn put(py: Python<'_>, params: &mut Params, given: &Given) -> PyResult<()> {
    // Other searches than the filter's have a number of cells and no such choice.
    if given.name == "max_cells" && given.paths == ["search.filter.area"] && params.unmet(given.paths[0]).is_some() {
        return Ok(());
    }
    let Some(path) = given.paths.iter().copied().find(|path| params.unmet(path).is_none()) else {
        let mut needs: Vec<String> =
            given.paths.iter().filter_map(|path| Some(params.unmet(path)?.to_string())).collect();
        needs.dedup();
        return Err(exception(py, "SettingError", format!("{} needs {}", given.name, needs.join(" or "))));
    };
    params.set(path, &given.text).map_err(|error| match error {
        kcf_track::Error::Parameter { expected, .. } => {
            exception(py, "SettingError", format!("{} {}: {expected}", given.name, given.text))
        }
        error => crate::error::raise(py, &error),
    })
}

/// The path of a setting of the machine that searches, or else of the one that guards.
fn machine_path(py: Python<'_>, params: &Params, key: &str) -> PyResult<&'static str> {
    let (below, kind) = match (params.search.windows(), &params.guard) {
        (Some(windows), _) => ("search", windows.machine.kind()),
        (None, Some(guard)) => ("guard", guard.windows.machine.kind()),
        (None, None) => {
            let message = "machine needs detector=\"svm\" (or another machine) or guard".to_owned();
            return Err(exception(py, "SettingError", message));
        }
    };
    let path = format!("{below}.windows.machine.{kind}.{}", key.replace('_', "-"));
    settings::find(&path).map(|setting| setting.path).map_err(|_| {
        let known: Vec<_> = kind.settings().iter().filter_map(|row| row.path.split('.').nth(1)).collect();
        exception(py, "SettingError", format!("machine {key:?}: {kind} has no such setting, but {}", known.join(", ")))
    })
}

fn named_values(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<(String, String)>> {
    let Ok(named) = value.cast::<PyDict>() else {
        return Err(wrong_type(format!("{what} must be a dict of names and values")));
    };
    named.iter().map(|(key, value)| Ok((key.extract::<String>()?, text(&value, what)?))).collect()
}

/// The value as the table reads it.
fn text(value: &Bound<'_, PyAny>, name: &str) -> PyResult<String> {
    if value.is_none() {
        return Ok("none".into());
    }
    if let Ok(switch) = value.cast::<PyBool>() {
        return Ok(switch.is_true().to_string());
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
        Kind::Whole(..) | Kind::WholeOr(..) => text.parse::<u64>()?.into_pyobject(py)?.into_any(),
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
