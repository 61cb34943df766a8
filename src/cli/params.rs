//! The tracker's settings on the command line: flags, `--set` and `--config`, all made from the one table of settings.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::Params;
use crate::machines::MachineKind;
use crate::setting::Kind;
use crate::tracker::settings::{self, Changes, Setting, Wording};
use crate::tracker::{GuardParams, WindowParams};
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use super::Failure;
use super::config::{self, Config};

/// What the help calls the value of a setting that is on or off.
pub const SWITCH: &str = "true|false";

/// What a preset is changed by.
#[derive(Clone, Debug, Default)]
pub struct ParamArgs {
    /// Flags without dashes and what they were given.
    flags: Vec<(&'static str, String)>,
    machine: Vec<String>,
    sets: Vec<String>,
    config: Option<PathBuf>,
    /// Whether the settings are to be printed, and nothing else.
    pub print_config: bool,
}

/// Settings and where they come from.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The preset.
    pub preset: String,
    /// The settings, checked.
    pub params: Params,
}

impl ParamArgs {
    /// The settings that start from `preset`, or else from the one of the configuration file, or else from the
    /// default.
    ///
    /// # Errors
    /// Wrong usage that names the flag, or the file and its line.
    pub fn resolve(&self, preset: Option<&str>) -> Result<Resolved, Failure> {
        let config = self.config.as_deref().map(Config::read).transpose()?.unwrap_or_default();
        let preset = preset.or(config.preset.as_deref()).unwrap_or(Params::DEFAULT_PRESET).to_owned();
        let mut params = Params::named(&preset)?;
        config.apply(&mut params)?;
        self.apply(&mut params)?;
        params.check()?;
        Ok(Resolved { preset, params })
    }

    /// The file that settings are read from.
    pub fn file(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    /// Whether nothing but a preset was given.
    pub fn is_empty(&self) -> bool {
        self.flags.is_empty() && self.machine.is_empty() && self.sets.is_empty() && self.config.is_none()
    }

    /// Flags, `--set` and `--machine`.
    fn apply(&self, params: &mut Params) -> Result<(), Failure> {
        let mut changes = Changes::new(Wording::Flags);
        for (flag, text) in &self.flags {
            changes.flag(flag, text);
        }
        self.sets.iter().try_for_each(|pair| changes.path_pair(pair)).map_err(Failure::usage)?;
        self.machine.iter().try_for_each(|pair| changes.machine_pair(pair)).map_err(Failure::usage)?;
        changes.apply(params).map_err(Failure::usage)
    }
}

/// The settings printed, and why the run then ends.
pub fn print(resolved: &Resolved) -> Result<(), Failure> {
    use std::io::Write;
    Ok(std::io::stdout().write_all(config::write(&resolved.preset, &resolved.params).as_bytes())?)
}

const FILTERS: &str = "Filters (--detector kcf and background-aware)";
const FILTER: &str = "Correlation filter (--detector kcf)";
const BACKGROUND: &str = "Background-aware filter (--detector background-aware)";
const WINDOWS: &str = "Kernel machines over real windows (--detector with the name of one, --guard)";
const SIZE: &str = "Size of the target (--scale)";
const STATES: &str = "States and recovery";
const GUARD: &str = "Guard (--guard)";

impl Args for ParamArgs {
    fn augment_args(command: Command) -> Command {
        let own = |id: &'static str| Arg::new(id).long(id).help_heading("Settings");
        command
            .arg(
                own("config")
                    .value_name("FILE")
                    .value_parser(clap::value_parser!(PathBuf))
                    .help("Settings from a TOML file, as --print-config writes it; flags and --set change them"),
            )
            .arg(
                own("set")
                    .value_name("PATH=VALUE")
                    .action(ArgAction::Append)
                    .help("Set anything by its path, as often as needed: --set search.background.padding=2"),
            )
            .arg(
                own("print-config")
                    .action(ArgAction::SetTrue)
                    .help("Print the settings that are in force as a TOML file, and do nothing else"),
            )
            .args(FLAGS.iter().cloned())
            .arg(Arg::new("circulant").long("circulant").hide(true).action(ArgAction::SetTrue))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// A flag of each name that settings have. The program and three of its subcommands have them all, and a start of it
/// asks for those of each.
static FLAGS: LazyLock<Vec<Arg>> = LazyLock::new(|| {
    let mut known: Vec<&str> = Vec::new();
    let mut flags = Vec::new();
    for setting in settings::table() {
        for flag in &setting.flags {
            if !known.contains(flag) {
                known.push(flag);
                flags.push(argument(flag, setting));
            }
        }
    }
    flags.push(
        Arg::new("machine")
            .long("machine")
            .value_name("KEY=VALUE")
            .action(ArgAction::Append)
            .help_heading(WINDOWS)
            .help("Setting of the machine, as often as needed: --machine c=10; --help lists them")
            .long_help(machine_help()),
    );
    flags
});

/// The flag of a setting, and of those others that have it.
fn argument(flag: &'static str, setting: &'static Setting) -> Arg {
    let heading = match setting.path {
        "search" | "guard" => "Detector",
        path if path.contains(".scale") => SIZE,
        path if path.contains(".states") => STATES,
        path if path.starts_with("search.filter") => {
            match places(flag).any(|place| place.path.contains("background")) {
                true => FILTERS,
                false => FILTER,
            }
        }
        path if path.starts_with("search.background") => BACKGROUND,
        path if path.contains(".windows.") => WINDOWS,
        _ => GUARD,
    };
    let argument =
        Arg::new(flag).long(flag).help_heading(heading).hide_short_help(heading == GUARD || heading == BACKGROUND);
    let help = by_place(flag, |place| Some(place.help.to_owned()));
    let default = default_of(flag, setting);
    match setting.kind {
        Kind::Choice(names) => {
            let names = names.iter().map(|(name, what)| PossibleValue::new(*name).help(*what));
            argument
                .value_name("NAME")
                .value_parser(PossibleValuesParser::new(names.collect::<Vec<_>>()))
                .help(format!("{help} {default}"))
        }
        Kind::Switch => {
            argument.value_name(SWITCH).num_args(0..=1).default_missing_value("true").help(format!("{help} {default}"))
        }
        kind => argument
            .value_name(if matches!(kind, Kind::Whole(..) | Kind::Odd(..) | Kind::WholeOr(..)) { "N" } else { "X" })
            .allow_negative_numbers(true)
            .help(format!("{help} ({}) {default}", by_place(flag, |place| Some(place.kind.range())))),
    }
}

/// The settings that a flag may mean.
fn places(flag: &str) -> impl Iterator<Item = &'static Setting> {
    settings::table().iter().filter(move |setting| setting.flags.contains(&flag))
}

/// What is said of the settings that a flag may mean; where it differs, each with the branch of the tree it is of.
fn by_place(flag: &str, text: impl Fn(&Setting) -> Option<String>) -> String {
    let mut said: Vec<(&Setting, String)> = Vec::new();
    for place in places(flag) {
        if let Some(text) = text(place).filter(|text| said.iter().all(|(_, known)| known != text)) {
            said.push((place, text));
        }
    }
    let first = said.first().map_or("", |(place, _)| place.path);
    let branch = |path: &'static str| path.split('.').zip(first.split('.')).find(|(here, there)| here != there);
    let said = said.iter().map(|(place, text)| match branch(place.path) {
        None => text.clone(),
        Some(("background", _)) => format!("background-aware: {text}"),
        Some(("windows", _)) => format!("machines: {text}"),
        Some((name, _)) => format!("{name}: {text}"),
    });
    said.collect::<Vec<_>>().join("; ")
}

/// The values of all settings of a preset, or of a machine as search or guard, by its name.
type Named = (&'static str, HashMap<&'static str, String>);

/// All defaults: every start of the program asks for each of them, whatever it is started for.
struct Defaults {
    presets: Vec<Named>,
    searches: Vec<Named>,
    guards: Vec<Named>,
    /// Of trees with the branches that none of these has.
    branches: Vec<HashMap<&'static str, String>>,
}

static DEFAULTS: LazyLock<Defaults> = LazyLock::new(|| {
    let named = |name, params: Params| (name, params.values().into_iter().collect());
    let search = |kind: &MachineKind| named(kind.name(), WindowParams::of(*kind).into());
    let guard = |kind: MachineKind| named(kind.name(), Params::default().guarded(GuardParams::of(kind)));
    let branch = |choices: &[(&str, &str)]| {
        let mut params = Params::default();
        let chosen = choices.iter().try_for_each(|(path, name)| params.set(path, name));
        debug_assert!(chosen.is_ok(), "{chosen:?}");
        params.values().into_iter().collect()
    };
    let aspect = ("search.background.aspect", "filter");
    let colors = ("search.background.color-weighting", "separation");
    let verify = |name| ("search.background.belief.verify", name);
    Defaults {
        presets: Params::PRESETS.map(|(name, _)| named(name, Params::preset(name).unwrap_or_default())).to_vec(),
        searches: MachineKind::ALL.iter().map(search).collect(),
        guards: MachineKind::all_guards().map(guard).collect(),
        branches: vec![
            branch(&[aspect, colors, verify("decision")]),
            branch(&[verify("matching")]),
            branch(&[("search", "svm"), ("search.windows.kernel", "polynomial")]),
        ],
    }
});

/// The default, by preset or by machine where it depends on it, or else by the branch that has it.
fn default_of(flag: &str, setting: &Setting) -> String {
    let all = if setting.path.starts_with("search.windows") {
        &DEFAULTS.searches
    } else if setting.path.starts_with("guard.") {
        &DEFAULTS.guards
    } else {
        &DEFAULTS.presets
    };
    let places: Vec<&Setting> = settings::table()
        .iter()
        .filter(|other| {
            other.path == setting.path || other.flags.first().is_some_and(|flag| setting.flags.contains(flag))
        })
        .collect();
    let grouped = |all: &[Named]| {
        let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
        for (name, values) in all {
            // A flag with several places has the default of the one that is there.
            let Some(text) = places.iter().find_map(|place| values.get(place.path).cloned()) else { continue };
            match groups.iter_mut().find(|(known, _)| *known == text) {
                Some((_, names)) => names.push(name),
                None => groups.push((text, vec![name])),
            }
        }
        groups
    };
    let by_preset = all.first().is_some_and(|(name, _)| *name == Params::DEFAULT_PRESET);
    let mut said = Vec::new();
    match &grouped(all)[..] {
        [] => {
            let branches = &DEFAULTS.branches;
            let values = by_place(flag, |place| branches.iter().find_map(|values| values.get(place.path).cloned()));
            return format!("[default: {values}]");
        }
        [(text, _)] if !by_preset => return format!("[default: {text}]"),
        // The first preset of each value: those behind it start from that one.
        groups if by_preset => said.extend(groups.iter().map(|(text, names)| format!("{}: {text}", names[0]))),
        groups => said.extend(groups.iter().map(|(text, names)| format!("{}: {text}", names.join(" ")))),
    }
    // What is a setting of machines too has their defaults behind those of the presets.
    if by_preset && places.iter().any(|place| place.path.starts_with("search.windows")) {
        match &grouped(&DEFAULTS.searches)[..] {
            [(text, _)] => said.push(format!("machines: {text}")),
            groups => said.extend(groups.iter().map(|(text, names)| format!("{}: {text}", names.join(" ")))),
        }
    }
    // Without a bound there are any number of cells.
    if setting.path == "search.filter.area.bounded.max-cells" {
        said.insert(1.min(said.len()), "paper: inf".into());
    }
    format!("[{}]", said.join(", "))
}

fn machine_help() -> String {
    let mut text = String::from("Setting of the machine, as often as needed: --machine c=10\n");
    for (kind, (_, values)) in MachineKind::ALL.iter().zip(&DEFAULTS.searches) {
        text += &format!("\n{kind}, {}:\n", kind.description());
        for row in kind.settings() {
            let key = row.path.split('.').nth(1).unwrap_or(row.path);
            let default = values.get(&*format!("search.windows.machine.{}", row.path)).map_or("", String::as_str);
            text += &format!("  {key}: {} ({}) [default: {default}]\n", row.help, row.kind.range());
        }
    }
    text
}

impl FromArgMatches for ParamArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut args = Self::default();
        args.update_from_arg_matches(matches)?;
        Ok(args)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        if matches.get_flag("circulant") {
            let said = "--circulant is gone: filters have --loss hinge in the place of --detector svm --circulant, \
                and --loss \
                        fisher in that of klda\n";
            return Err(clap::Error::raw(clap::error::ErrorKind::UnknownArgument, said));
        }
        let all = |id: &str| matches.get_many::<String>(id).into_iter().flatten().cloned().collect::<Vec<_>>();
        (self.machine, self.sets) = (all("machine"), all("set"));
        self.config = matches.get_one::<PathBuf>("config").cloned();
        self.print_config = matches.get_flag("print-config");
        self.flags.clear();
        for flag in settings::table().iter().flat_map(|setting| &setting.flags) {
            if let (Some(text), false) = (matches.get_one::<String>(flag), self.flags.iter().any(|(f, _)| f == flag)) {
                self.flags.push((flag, text.clone()));
            }
        }
        Ok(())
    }
}

/// The flag `--preset` of one preset.
pub fn preset_names() -> PossibleValuesParser {
    Params::PRESETS.map(|(name, what)| PossibleValue::new(name).help(what)).into()
}
