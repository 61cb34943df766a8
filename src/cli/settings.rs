//! The settings of a tracker on the command line.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use serde_json::Value;

use super::Failure;
use crate::run::DetectionParams;
use crate::settings::{Field, Setting, read_toml};
use crate::{Params, models};

/// Prefix of the paths of detection settings, and their table, the last of a file.
const DETECTIONS: &str = "detections.";
const DETECTIONS_TABLE: &str = "\n[detections]\n";

/// A preset and what changes it.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Settings")]
pub struct SettingsArgs {
    /// TOML file with settings, as --print-config writes it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Set any setting of --print-config by its path, as search.background.padding=4; repeatable
    #[arg(long, value_name = "PATH=VALUE", value_parser = pair)]
    set: Vec<(String, String)>,
    /// Print the settings in force as TOML, with meanings and ranges, and exit
    #[arg(long)]
    pub print_config: bool,
    /// What scores the translations of the search area
    #[arg(long, value_name = "NAME", value_parser = names(Params::detectors().chain(cfg!(feature = "neural").then_some("siamese"))), hide_possible_values = true)]
    detector: Option<String>,
    #[arg(long, value_name = "NAME", value_parser = names(Params::guards().iter().copied()), hide_possible_values = true)]
    #[arg(help = format!("Kernel machine that watches the detector: {}", Params::guards().join(", ")))]
    guard: Option<String>,
    /// Folder of networks, or name of an installed model [default: the newest]
    #[cfg(feature = "neural")]
    #[arg(long, hide_short_help = true, value_name = "DIR|NAME")]
    model: Option<String>,
}

fn names(names: impl Iterator<Item = &'static str>) -> PossibleValuesParser {
    names.map(PossibleValue::new).collect::<Vec<_>>().into()
}

/// The two parts of `NAME=VALUE`.
pub fn pair(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').map(|(name, value)| (name.trim(), value.trim()));
    let parts = parts.filter(|(name, value)| !name.is_empty() && !value.is_empty());
    parts.map(|(name, value)| (name.into(), value.into())).ok_or_else(|| "expected NAME=VALUE".into())
}

/// The parser of `--preset`.
pub fn preset_names() -> PossibleValuesParser {
    Params::presets().map(|(name, what)| PossibleValue::new(name).help(what)).collect::<Vec<_>>().into()
}

/// The paths of the settings and choices whose last part is that of `name`.
fn paths_called(params: &Params, name: &str) -> Vec<String> {
    let name = name.rsplit('.').next().unwrap_or(name).replace('_', "-");
    let cut = |(path, _): (String, Value)| {
        let parts: Vec<&str> = path.split('.').collect();
        Some(parts[..=parts.iter().position(|part| *part == name)?].join("."))
    };
    let mut paths: Vec<_> = params.values().into_iter().filter_map(cut).collect();
    paths.dedup();
    paths
}

/// The settings that `name` may mean, in `params` or, under its own name, in the preset of the paper.
fn meant(params: &Params, name: &str, shown: impl Fn(&str) -> String) -> Option<String> {
    let list = |params: &Params| {
        let paths: Vec<_> = paths_called(params, name).iter().map(|path| shown(path)).collect();
        paths.join(" or ")
    };
    let (own, paper) = (list(params), list(&Params::paper()));
    match (own.is_empty(), paper.is_empty() || own == paper) {
        (true, true) => None,
        (false, true) => Some(own),
        (true, false) => Some(format!("{paper}, with --preset paper")),
        (false, false) => Some(format!("{own}; with --preset paper {paper}")),
    }
}

/// The flags for a setting of `preset` or of the paper that a user took for the flag `name`.
pub fn tip(name: &str, preset: &str) -> Option<String> {
    let params = Params::preset(preset).unwrap_or_default();
    meant(&params, name, |path| format!("--set {path}=VALUE"))
}

/// Settings and the preset that they come from.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The preset.
    pub preset: String,
    /// The settings, checked.
    pub params: Params,
    /// How detections become targets: the settings whose paths begin with `detections`.
    pub detections: DetectionParams,
}

impl Resolved {
    /// The settings of a document; `None` of one without a preset, as of labels.
    ///
    /// # Errors
    /// The first setting that is unknown or out of range.
    pub fn of(parameters: &Value) -> Result<Option<Self>, String> {
        if !parameters["preset"].is_string() {
            return Ok(None);
        }
        let read = Params::read_document(parameters, None, Params::DEFAULT_PRESET);
        let read = read.and_then(|(preset, params)| {
            params.check()?;
            Ok(Self { preset, params, detections: DetectionParams::default() })
        });
        read.map(Some).map_err(|error| format!("its settings: {error}; --preset NAME tracks its targets by others"))
    }
}

impl SettingsArgs {
    /// The settings that start from `preset`, else from the preset of the configuration file, else from the default.
    ///
    /// # Errors
    /// Wrong usage that names the setting, and the file that it comes from.
    pub fn resolve(&self, preset: Option<&str>) -> Result<Resolved, Failure> {
        self.resolve_with(preset, &[])
    }

    /// Resolves as [`SettingsArgs::resolve`], with more `settings`, paths and values, which count most.
    ///
    /// # Errors
    /// As [`SettingsArgs::resolve`].
    pub fn resolve_with(&self, preset: Option<&str>, settings: &[(String, String)]) -> Result<Resolved, Failure> {
        let default = preset.unwrap_or(Params::DEFAULT_PRESET);
        let (preset, mut params, mut detections) = match &self.config {
            Some(file) => {
                let wrong = |error: String| Failure::of_file("--config", file, error);
                let text = crate::pipe::read_text(file).map_err(|error| wrong(error.to_string()))?;
                let (own, table) = text.split_once(DETECTIONS_TABLE).unwrap_or((&text, ""));
                let (preset, params) =
                    Params::read_toml(own, preset, default).map_err(|error| wrong(error.to_string()))?;
                // A wrong line is counted from the start of the file.
                let lines = "\n".repeat(own.matches('\n').count() + 2);
                let detections: DetectionParams = read_toml(&(lines + table)).map_err(wrong)?;
                detections.check().map_err(|error| wrong(error.to_string()))?;
                (preset, params, detections)
            }
            None => (default.to_owned(), Params::preset(default)?, DetectionParams::default()),
        };
        for (name, value) in [("detector", &self.detector), ("guard", &self.guard)] {
            value.iter().try_for_each(|value| params.set(name, value))?;
        }
        #[cfg(feature = "neural")]
        if let Some(model) = &self.model {
            let place = params.search.model_mut();
            *place.ok_or_else(|| Failure::usage("--model: needs --preset expert or --detector siamese"))? =
                model.clone();
        }
        for (path, value) in self.set.iter().chain(settings) {
            if let Some(name) = path.strip_prefix(DETECTIONS) {
                detections.change(name, value).map_err(|error| Failure::usage(format!("--set {error}")))?;
                continue;
            }
            params.set(path, value).map_err(|error| {
                let is_known = params.values().iter().any(|(known, _)| known.starts_with(path));
                let meant = if is_known { None } else { meant(&params, path, str::to_owned) };
                let meant = meant.map_or_else(String::new, |meant| format!("; did you mean {meant}?"));
                Failure::usage(format!("--set {error}{meant}"))
            })?;
        }
        models::fill_in(&mut params)?;
        params.check()?;
        Ok(Resolved { preset, params, detections })
    }

    /// The settings of the document that `flag` names, unless flags give others.
    ///
    /// # Errors
    /// Wrong usage as [`Resolved::of`], with the flag.
    pub fn of_document(
        &self,
        preset: Option<&str>,
        flag: impl std::fmt::Display,
        parameters: &Value,
    ) -> Result<Option<Resolved>, Failure> {
        if preset.is_some() || !self.is_empty() {
            return Ok(None);
        }
        Resolved::of(parameters).map_err(|reason| Failure::usage(format!("{flag}: {reason}")))
    }

    /// Whether nothing changes the preset.
    pub fn is_empty(&self) -> bool {
        #[cfg(feature = "neural")]
        if self.model.is_some() {
            return false;
        }
        self.config.is_none() && self.set.is_empty() && self.detector.is_none() && self.guard.is_none()
    }
}

/// Prints the settings in force as a configuration file; `of_detections` are among them where there are detections.
///
/// # Errors
/// When nothing can be written to the standard output.
pub fn print(resolved: &Resolved, of_detections: bool) -> Result<(), Failure> {
    let mut text = resolved.params.to_toml(&resolved.preset);
    if of_detections {
        text += DETECTIONS_TABLE;
        resolved.detections.visit(&Field::ROOT, &mut |field, value| {
            text += &format!("# {} ({})\n{} = {value}\n", field.doc, field.expected(&value), field.path);
        });
    }
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}
