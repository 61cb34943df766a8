//! One table of all that a tracker can be set to: where it stands in [`Params`], its flag, its range, what it means.
//!
//! Values are set and read by their path, as text: `search.filter.padding`, `guard.windows.machine.krr.lambda`. Where
//! the tree forks, the fork itself is a choice with a path: `search` is `kcf`, `background-aware` or the name of a
//! machine, `search.filter.kernel` the name of a kernel, `guard` the name of a machine or `none`. Another choice puts
//! its own defaults into the tree; the same one changes nothing. A setting of a branch that the tree does not have
//! would have no effect: it is refused with the choice that it needs. So is, among [`Changes`], one that other values
//! leave without an effect; all values of a tree may be set as they are.

mod background;
mod changes;
mod choice;
mod idle;
mod rows;
mod shared;
#[cfg(test)]
mod tests;
mod together;

use std::sync::LazyLock;

use serde_json::Value;

pub use changes::{Changes, Wording};

use super::params::Params;
use crate::error::{Error, Result};
use crate::machines::MachineKind;
use crate::setting::{Kind, Row, at, refused};
use choice::Choice;

/// A setting at its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Where it stands in [`Params`].
    pub path: &'static str,
    /// Its flags without dashes, the first one its own; none for what has no flag.
    pub flags: Vec<&'static str>,
    /// The values that it takes.
    pub kind: Kind,
    /// What it means, in a line.
    pub help: &'static str,
}

impl Setting {
    /// Whether the tree forks here: another choice brings its own defaults.
    pub fn is_choice(&self) -> bool {
        Choice::at(self.path).is_some()
    }

    /// The place in an order in which settings can be set: choices first, each before those that need it.
    pub fn rank(&self) -> (bool, usize) {
        (!self.is_choice(), table().iter().position(|setting| setting.path == self.path).unwrap_or_default())
    }
}

/// What a setting needs that the tree does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// The path of the choice.
    pub choice: &'static str,
    /// What has to be chosen; empty for any machine.
    pub name: &'static str,
}

impl std::fmt::Display for Need {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.name {
            "" => write!(f, "{} = svm, or another machine", self.choice),
            name => write!(f, "{} = {name}", self.choice),
        }
    }
}

/// The table. A choice stands before the settings that need it.
pub fn table() -> &'static [Setting] {
    static TABLE: LazyLock<Vec<Setting>> = LazyLock::new(build);
    &TABLE
}

/// The setting at `path`.
///
/// # Errors
/// [`Error::Parameter`] when there is none, with the one that may be meant.
pub fn find(path: &str) -> Result<&'static Setting> {
    table().iter().find(|setting| setting.path == path).ok_or_else(|| {
        let last = |path: &str| path.rsplit('.').next().unwrap_or_default().replace('_', "-");
        let near = table().iter().map(|setting| (distance(&last(setting.path), &last(path)), setting.path));
        let near = near.filter(|(distance, _)| *distance <= 2);
        // Of those with the same end the one whose whole path is nearest, or, of an end alone, one of the default tree.
        let default = Params::default();
        let meant = near.min_by_key(|(end, near)| match path.contains('.') {
            true => (*end, distance(near, path)),
            false => (*end, usize::from(default.unmet(near).is_some())),
        });
        let meant = meant.map_or(String::new(), |(_, path)| format!("; {path} may be meant"));
        Error::Parameter { name: "setting", value: path.into(), expected: format!("there is no such setting{meant}") }
    })
}

/// Letters to be put in, left out or changed to get from one word to the other.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut corner = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.bytes().enumerate() {
            let changed = corner + usize::from(x != y);
            corner = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(corner + 1);
        }
    }
    row[b.len()]
}

fn build() -> Vec<Setting> {
    let mut table = Vec::new();
    let mut add = |below: &str, flags: &[&str], row: Row| {
        let path = if below.is_empty() { row.path.to_owned() } else { format!("{below}.{}", row.path) };
        let leak = |text: String| -> &'static str { text.leak() };
        table.push(Setting {
            path: leak(path),
            flags: flags.iter().rev().filter(|flag| !flag.is_empty()).map(|flag| leak((*flag).to_owned())).collect(),
            kind: row.kind,
            help: row.help,
        });
    };
    let names = |first: &[(&'static str, &'static str)], guards| {
        Kind::Choice(first.iter().copied().chain(rows::machines(guards)).collect::<Vec<_>>().leak())
    };
    add(
        "",
        &["detector"],
        Row::new("search", names(&rows::FILTERS, false), "What scores the translations of the search area"),
    );
    let none = ("none", "nothing watches the search");
    let help = "Kernel machine over real windows that watches the search, and finds the target again when it is lost";
    add("", &["guard"], Row::new("guard", names(&[none], true), help));
    for (flag, row) in rows::FILTER {
        add("search.filter", &[flag], *row);
    }
    for (end, row) in rows::kernel() {
        add("search.filter.kernel", &[&format!("kernel-{end}")], row);
    }
    for (flag, row) in background::BACKGROUND {
        add("search.background", &[flag], *row);
    }
    for below in ["search.filter.states", "search.background"] {
        for (flag, row) in shared::BELIEF {
            add(below, &[flag], *row);
        }
    }
    for below in ["search.filter", "search.background", "search.windows"] {
        for (flag, row) in shared::SCALE {
            add(below, &[flag], *row);
        }
    }
    for below in ["search.windows", "guard.windows"] {
        let search = below == "search.windows";
        let machines = Kind::Choice(rows::machines(!search).collect::<Vec<_>>().leak());
        add(below, &[], Row::new("machine", machines, "Which machine, with the gate and the schedule that suit it"));
        // The search's kernel is the one of --kernel, whatever searches; the windows' own flag means it too.
        let mut add_kernel = |below: &str, end: &str, row: Row| {
            let [own, window] = ["kernel", "window"].map(|word| format!("{word}-{end}"));
            let own = if end == "kernel" { end.to_owned() } else { own };
            let flags = [window.as_str(), own.as_str()];
            add(below, if search { &flags } else { &flags[..1] }, row);
        };
        add_kernel(below, "kernel", rows::KERNEL);
        rows::kernel().for_each(|(end, row)| add_kernel(&format!("{below}.kernel"), end, row));
        let own: &[_] = if search { rows::SEARCH_WINDOWS } else { &[] };
        for (flag, row) in rows::WINDOWS.iter().chain(own) {
            add(below, &[flag], *row);
        }
        for kind in MachineKind::ALL.iter().filter(|kind| search || kind.guards()) {
            for row in kind.settings() {
                add(&format!("{below}.machine"), &[], *row);
            }
        }
    }
    for (flag, row) in rows::GUARD {
        add("guard", &[flag], *row);
    }
    table
}

impl Params {
    /// The value at `path`, as text.
    ///
    /// # Errors
    /// [`Error::Parameter`] when there is no such setting, or none in this tree.
    pub fn get(&self, path: &str) -> Result<String> {
        let setting = find(path)?;
        if let Some(choice) = Choice::at(setting.path) {
            return choice.get(self).map(String::from).ok_or_else(|| self.missing(setting, "?"));
        }
        let tree = self.tree();
        at(&tree, setting.path).map(|value| setting.kind.text(value)).ok_or_else(|| self.missing(setting, "?"))
    }

    /// The paths of all settings that there are in this tree, each with its value as text.
    pub fn values(&self) -> Vec<(&'static str, String)> {
        let tree = self.tree();
        let value = |setting: &Setting| match Choice::at(setting.path) {
            Some(choice) => choice.get(self).map(String::from),
            None => at(&tree, setting.path).map(|value| setting.kind.text(value)),
        };
        table().iter().filter_map(|setting| Some((setting.path, value(setting)?))).collect()
    }

    /// Sets the value at `path` to what `text` says. A choice that is another one than before brings its own defaults.
    ///
    /// # Errors
    /// [`Error::Parameter`] when there is no such setting, when this tree has no place for it, with what it needs, and
    /// when the value is out of its range.
    pub fn set(&mut self, path: &str, text: &str) -> Result<()> {
        let setting = find(path)?;
        if self.unmet(setting.path).is_some() {
            return Err(self.missing(setting, text));
        }
        let Some(value) = setting.kind.parse(text) else {
            return Err(refused(setting.path, text.into(), &setting.kind));
        };
        if let Some(choice) = Choice::at(setting.path) {
            choice.set(self, text.trim());
            return Ok(());
        }
        let mut tree = self.tree();
        let place = setting.path.split('.').try_fold(&mut tree, |tree, part| tree.get_mut(part));
        if let Some(place) = place {
            *place = value;
        }
        *self = serde_json::from_value(tree).map_err(|error| Error::Parameter {
            name: setting.path,
            value: text.into(),
            expected: error.to_string(),
        })?;
        Ok(())
    }

    /// What the setting at `path` needs that this tree does not have; `None` when it is there, and for a path that is
    /// no setting.
    pub fn unmet(&self, path: &str) -> Option<Need> {
        let setting = table().iter().find(|setting| setting.path == path)?;
        let tree = self.tree();
        let mut here = &tree;
        let parts: Vec<&str> = setting.path.split('.').collect();
        for (depth, part) in parts.iter().enumerate() {
            match here.get(part) {
                Some(below) => here = below,
                None => return Choice::need(&setting.path[..parts[..depth].join(".").len()], part),
            }
        }
        None
    }

    fn missing(&self, setting: &Setting, text: &str) -> Error {
        let need = self.unmet(setting.path).map_or(String::new(), |need| need.to_string());
        Error::Parameter { name: setting.path, value: text.into(), expected: format!("needs {need}") }
    }

    fn tree(&self) -> Value {
        // Plain numbers, names and options are never refused.
        serde_json::to_value(self).unwrap_or_default()
    }

    /// The shortest list of settings that makes these of `base`, in an order in which they can be set.
    pub fn changes_from(&self, base: &Self) -> Vec<(&'static str, String)> {
        let (choices, values): (Vec<&Setting>, Vec<_>) =
            table().iter().partition(|setting| Choice::at(setting.path).is_some());
        let mut base = base.clone();
        let mut changes = Vec::new();
        for setting in choices.into_iter().chain(values) {
            let Ok(wanted) = self.get(setting.path) else { continue };
            if base.get(setting.path).ok().as_ref() != Some(&wanted) && base.set(setting.path, &wanted).is_ok() {
                changes.push((setting.path, wanted));
            }
        }
        changes
    }

    /// Sets all of `changes`, choices first.
    ///
    /// # Errors
    /// As [`Params::set`].
    pub fn apply<P: AsRef<str>, T: AsRef<str>>(&mut self, changes: &[(P, T)]) -> Result<()> {
        let mut sorted = Vec::new();
        for (path, text) in changes {
            sorted.push((find(path.as_ref())?, text.as_ref()));
        }
        sorted.sort_by_key(|(setting, _)| setting.rank());
        sorted.into_iter().try_for_each(|(setting, text)| self.set(setting.path, text))
    }

    /// These settings as a document: the preset that they came from, the paths of what was changed since, and the whole
    /// tree.
    pub fn document(&self, preset: &str) -> Value {
        let base = Self::preset(preset).unwrap_or_default();
        let changed: Vec<&str> = self.changes_from(&base).into_iter().map(|(path, _)| path).collect();
        let mut document = serde_json::json!({ "preset": preset, "changed": changed });
        if let (Some(all), Value::Object(tree)) = (document.as_object_mut(), self.tree()) {
            all.extend(tree);
        }
        document
    }

    /// Whether every value lies in its range.
    ///
    /// # Errors
    /// [`Error::Parameter`] with the path of the first value that does not.
    pub fn check(&self) -> Result<()> {
        let tree = self.tree();
        for setting in table().iter().filter(|setting| Choice::at(setting.path).is_none()) {
            if let Some(value) = at(&tree, setting.path).filter(|value| !setting.kind.takes(value)) {
                return Err(refused(setting.path, setting.kind.text(value), &setting.kind));
            }
        }
        together::check(self)
    }
}
