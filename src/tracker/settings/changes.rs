//! Settings as people give them: by the name of a flag, by path, or as those of the machine at hand.
//!
//! A flag may have several places in the tree, and means the first that is there; choices are made before all else, so
//! that every value finds the tree that it is meant for.

use super::{Need, find, idle, table};
use crate::error::{Error, Result};
use crate::tracker::params::Params;

/// How messages name settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wording {
    /// As flags of the command line: `--kernel-sigma 0.5`.
    #[default]
    Flags,
    /// As keyword arguments: `kernel_sigma 0.5`.
    Keywords,
}

/// What settings are to be changed to. Errors are sentences for the person who gave them.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    wording: Wording,
    given: Vec<Given>,
    /// Settings of the machine at hand.
    machine: Vec<(String, String)>,
}

/// A value that was given, and the places that it may be meant for.
#[derive(Clone, Debug)]
struct Given {
    /// What messages call it.
    name: String,
    /// What stands between the name and the value.
    sign: char,
    paths: Vec<&'static str>,
    text: String,
    /// What is set at the first of the places, where that is not the text.
    first: Option<&'static str>,
    /// Whether another value implies it: where the tree has no place for it, nothing is said.
    implied: bool,
}

impl Changes {
    /// None yet.
    pub fn new(wording: Wording) -> Self {
        Self { wording, ..Self::default() }
    }

    /// Whether nothing is changed.
    pub fn is_empty(&self) -> bool {
        self.given.is_empty() && self.machine.is_empty()
    }

    /// A value by the name of its flag, without dashes. Whether there is such a flag.
    pub fn flag(&mut self, flag: &str, text: &str) -> bool {
        let paths: Vec<_> =
            table().iter().filter(|setting| setting.flags.contains(&flag)).map(|setting| setting.path).collect();
        if paths.is_empty() {
            return false;
        }
        let name = self.wording.flag(flag);
        let mut given = Given { name, sign: ' ', paths, text: text.into(), first: None, implied: false };
        // How many cells there are at most says how a filter's area is meant; others have no such choice.
        if flag == "max-cells" {
            let area = "search.filter.area";
            if text.trim() == "inf" {
                given.paths.retain(|path| !path.starts_with(area));
                given.paths.insert(0, area);
                given.first = Some("published");
            } else {
                self.given.push(Given { paths: vec![area], text: "bounded".into(), implied: true, ..given.clone() });
            }
        }
        self.given.push(given);
        true
    }

    /// A value by its path.
    ///
    /// # Errors
    /// Where there is no such path, with the one that may be meant.
    pub fn path(&mut self, path: &str, text: &str) -> Result<(), String> {
        let (before, name, sign) = match self.wording {
            Wording::Flags => ("--set: ", "--set ", '='),
            Wording::Keywords => ("", "", ' '),
        };
        let path = find(path).map_err(|error| format!("{before}{error}"))?.path;
        let (name, text) = (format!("{name}{path}"), text.into());
        self.given.push(Given { name, sign, paths: vec![path], text, first: None, implied: false });
        Ok(())
    }

    /// A value of the search's machine, or else of the guard's, by the machine's own name for it.
    pub fn machine(&mut self, key: &str, text: &str) {
        self.machine.push((key.replace('_', "-"), text.into()));
    }

    /// [`Self::path`] of a word `PATH=VALUE`.
    ///
    /// # Errors
    /// As [`Self::path`], and a word without a sign between the two.
    pub fn path_pair(&mut self, pair: &str) -> Result<(), String> {
        let (path, text) = halves(pair, "--set", "PATH=VALUE, such as search.background.padding=2")?;
        self.path(path, text)
    }

    /// [`Self::machine`] of a word `KEY=VALUE`.
    ///
    /// # Errors
    /// A word without a sign between the two.
    pub fn machine_pair(&mut self, pair: &str) -> Result<(), String> {
        let (key, text) = halves(pair, "--machine", "KEY=VALUE, such as c=10")?;
        self.machine(key, text);
        Ok(())
    }

    /// Changes `params`; they are not checked together.
    ///
    /// # Errors
    /// A value out of its range, one that would have no effect, or two that contradict each other.
    pub fn apply(&self, params: &mut Params) -> Result<(), String> {
        let rank =
            |given: &Given| given.paths.first().and_then(|path| Some(find(path).ok()?.rank())).unwrap_or_default();
        let before = params.clone();
        let mut all = self.given.clone();
        all.sort_by_key(rank);
        let values = all.split_off(all.partition_point(|given| !rank(given).0));
        let mut set = Vec::new();
        for given in all {
            self.put(params, &mut set, given)?;
        }
        // A machine's settings have their place once the machine is there.
        for (key, text) in &self.machine {
            let given = self.machine_setting(params, key, text)?;
            self.put(params, &mut set, given)?;
        }
        values.into_iter().try_for_each(|given| self.put(params, &mut set, given))?;
        // What has no effect is known once all values are there: any order is right. A value that was there before is
        // taken: whole trees are given again by who copies them.
        let changed = |path: &str| params.get(path).ok() != before.get(path).ok();
        let idle = set
            .iter()
            .filter(|(path, _)| changed(path))
            .find_map(|(path, given)| Some((given, idle::needs(params, path)?)));
        idle.map_or(Ok(()), |(given, needs)| {
            let said: Vec<String> = needs.iter().map(|(path, value)| self.wording.setting(path, value)).collect();
            Err(format!("{} needs {}", given.name, said.join(" or ")))
        })
    }

    /// Sets a value at the first of its places that the tree has.
    fn put(&self, params: &mut Params, set: &mut Vec<(&'static str, Given)>, given: Given) -> Result<(), String> {
        let Some(path) = given.paths.iter().copied().find(|path| params.unmet(path).is_none()) else {
            if given.implied {
                return Ok(());
            }
            let needs: Vec<Need> = given.paths.iter().filter_map(|path| params.unmet(path)).collect();
            let depth = |need: &Need| need.choice.split('.').count();
            let deepest = needs.iter().map(depth).max().unwrap_or_default();
            let nearest = needs.iter().filter(|need| depth(need) == deepest);
            let mut said: Vec<String> = nearest.map(|need| self.wording.needed(need)).collect();
            said.dedup();
            return Err(format!("{} needs {}", given.name, said.join(" or ")));
        };
        let text = given.value(path);
        if let Some((_, other)) = set.iter().find(|(known, other)| *known == path && other.value(path) != text) {
            return Err(format!(
                "{}{}{} and {}{}{} contradict each other: both are {path}",
                other.name, other.sign, other.text, given.name, given.sign, given.text
            ));
        }
        params.set(path, text).map_err(|error| match error {
            Error::Parameter { expected, .. } => format!("{}{}{}: {expected}", given.name, given.sign, given.text),
            other => other.to_string(),
        })?;
        set.push((path, given));
        Ok(())
    }

    fn machine_setting(&self, params: &Params, key: &str, text: &str) -> Result<Given, String> {
        let (at, kind) = match (params.search.windows(), &params.guard) {
            (Some(windows), _) => ("search", windows.machine.kind()),
            (None, Some(guard)) => ("guard", guard.windows.machine.kind()),
            (None, None) => {
                return Err(match self.wording {
                    Wording::Flags => "--machine needs --detector svm (or another machine) or --guard".into(),
                    Wording::Keywords => "machine needs detector=\"svm\" (or another machine) or guard".into(),
                });
            }
        };
        let path = format!("{at}.windows.machine.{kind}.{key}");
        let (name, sign) = match self.wording {
            Wording::Flags => (format!("--machine {key}"), '='),
            Wording::Keywords => (format!("machine[\"{key}\"]"), ' '),
        };
        let Ok(setting) = find(&path) else {
            let known: Vec<_> = kind.settings().iter().filter_map(|row| row.path.split('.').nth(1)).collect();
            return Err(format!("{name}{sign}{text}: {kind} has no {key}, but {}", known.join(", ")));
        };
        Ok(Given { name, sign, paths: vec![setting.path], text: text.into(), first: None, implied: false })
    }
}

impl Given {
    /// What is set at `path`.
    fn value(&self, path: &str) -> &str {
        self.first.filter(|_| self.paths.first() == Some(&path)).unwrap_or(&self.text)
    }
}

fn halves<'t>(pair: &'t str, flag: &str, form: &str) -> Result<(&'t str, &'t str), String> {
    let (key, value) = pair.split_once('=').ok_or_else(|| format!("{flag} {pair}: must be {form}"))?;
    Ok((key.trim(), value.trim()))
}

impl Wording {
    /// A flag as it is written.
    fn flag(self, flag: &str) -> String {
        match self {
            Self::Flags => format!("--{flag}"),
            Self::Keywords => flag.replace('-', "_"),
        }
    }

    /// A setting that must be so, as it is written.
    fn setting(self, path: &str, value: &str) -> String {
        let flag = find(path).ok().and_then(|setting| setting.flags.first().copied());
        format!("{} {value}", flag.map_or_else(|| path.to_owned(), |flag| self.flag(flag)))
    }

    /// What has to be chosen, as it is written.
    fn needed(self, need: &Need) -> String {
        let (choice, name) = match (need.choice, need.name) {
            ("search", "") => ("detector", "svm"),
            ("guard", _) => return self.flag("guard"),
            ("search.filter.area", "bounded") => return format!("{} with a number", self.flag("max-cells")),
            ("search.filter.area", _) => ("max-cells", "inf"),
            ("search.windows.machine", name) => ("detector", name),
            ("guard.windows.machine", name) => ("guard", name),
            (choice, name) => match find(choice).ok().and_then(|setting| setting.flags.first().copied()) {
                Some(flag) => (flag, name),
                None => return format!("{choice} = {name}"),
            },
        };
        let said = match self {
            Self::Flags => format!("--{choice} {name}"),
            Self::Keywords => format!("{}=\"{name}\"", self.flag(choice)),
        };
        if need.name.is_empty() { said + " (or another machine)" } else { said }
    }
}

#[cfg(test)]
mod tests;
