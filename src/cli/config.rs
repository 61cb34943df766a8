//! Configuration files: the table of settings as TOML, read and written.

use std::path::{Path, PathBuf};

use crate::Params;
use crate::tracker::settings;
use toml::de::{DeTable, DeValue};

use super::Failure;

/// What a configuration file says.
#[derive(Debug, Default)]
pub struct Config {
    /// The preset that it starts from.
    pub preset: Option<String>,
    file: PathBuf,
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    path: String,
    text: String,
    line: usize,
}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// Wrong usage that names the file and the line.
    pub fn read(file: &Path) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(file)
            .map_err(|error| Failure::usage(format!("--config {}: {error}", file.display())))?;
        Self::parse(&text, file)
    }

    /// Reads the text of `file`, which is named in errors.
    ///
    /// # Errors
    /// As [`Config::read`].
    pub fn parse(text: &str, file: &Path) -> Result<Self, Failure> {
        let line_of = |at: usize| text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1;
        let mut config = Self { preset: None, file: file.to_owned(), entries: Vec::new() };
        let table = DeTable::parse(text).map_err(|error| {
            let line = error.span().map_or(1, |span| line_of(span.start));
            config.wrong(line, error.message())
        })?;
        config.collect(table.get_ref(), "", &line_of)?;
        if let Some(place) = config.entries.iter().position(|entry| entry.path == "preset") {
            let entry = config.entries.remove(place);
            Params::named(&entry.text).map_err(|error| config.wrong(entry.line, error))?;
            config.preset = Some(entry.text);
        }
        Ok(config)
    }

    fn wrong(&self, line: usize, said: impl std::fmt::Display) -> Failure {
        Failure::usage(format!("--config {}, line {line}: {said}", self.file.display()))
    }

    /// All values of a table. A branch of the tree that is named is thereby chosen.
    fn collect(&mut self, table: &DeTable<'_>, below: &str, line_of: &dyn Fn(usize) -> usize) -> Result<(), Failure> {
        for (key, value) in table {
            let name = key.get_ref();
            let path = if below.is_empty() { name.to_string() } else { format!("{below}.{name}") };
            let line = line_of(key.span().start);
            let text = match value.get_ref() {
                DeValue::Table(inner) => {
                    let chosen = match path.as_str() {
                        "search.filter" => Some(("search", "kcf".to_owned())),
                        "search.background" => Some(("search", "background-aware".to_owned())),
                        "search.windows" => machine(inner).map(|name| ("search", name)),
                        "guard" => inner
                            .get("windows")
                            .and_then(|windows| machine(windows.get_ref().as_table()?))
                            .map(|name| ("guard", name)),
                        "guard.windows" => None,
                        _ => {
                            settings::find(below).ok().filter(|at| at.is_choice()).map(|at| (at.path, name.to_string()))
                        }
                    };
                    if let Some((path, text)) = chosen {
                        self.entries.push(Entry { path: path.into(), text, line });
                    }
                    self.collect(inner, &path, line_of)?;
                    continue;
                }
                DeValue::String(text) => text.to_string(),
                DeValue::Integer(number) if number.radix() == 10 => number.as_str().to_owned(),
                DeValue::Float(number) => number.as_str().to_owned(),
                DeValue::Boolean(value) => value.to_string(),
                _ => return Err(self.wrong(line, format!("{path}: must be a number, true, false or a name"))),
            };
            self.entries.push(Entry { path, text, line });
        }
        Ok(())
    }

    /// Changes `params` to what the file says.
    ///
    /// # Errors
    /// Wrong usage that names the file, the line, the setting and what is right.
    pub fn apply(&self, params: &mut Params) -> Result<(), Failure> {
        let mut found = Vec::new();
        for entry in &self.entries {
            let setting = settings::find(&entry.path).map_err(|error| self.wrong(entry.line, error))?;
            found.push((setting, entry));
        }
        found.sort_by_key(|(setting, entry)| (setting.rank(), entry.line));
        for pair in found.windows(2) {
            let [(one, a), (other, b)] = pair else { continue };
            if one.path == other.path && a.text != b.text {
                let said = format!("{} is {} here and {} in line {}", one.path, b.text, a.text, a.line);
                return Err(self.wrong(b.line, said));
            }
        }
        found.into_iter().try_for_each(|(setting, entry)| {
            params.set(setting.path, &entry.text).map_err(|error| self.wrong(entry.line, error))
        })
    }
}

/// The machine that a table of windows names.
fn machine(windows: &DeTable<'_>) -> Option<String> {
    match windows.get("machine")?.get_ref() {
        DeValue::String(name) => Some(name.to_string()),
        DeValue::Table(branches) => branches.keys().next().map(|name| name.get_ref().to_string()),
        _ => None,
    }
}

/// All settings as a file that [`Config::read`] reads.
pub fn write(preset: &str, params: &Params) -> String {
    let mut tables: Vec<(&str, String)> = vec![("", format!("preset = \"{preset}\"\n"))];
    for setting in settings::table() {
        let Ok(text) = params.get(setting.path) else { continue };
        let branch = format!("{}.{text}.", setting.path);
        // A choice whose branch has settings of its own is said by their table.
        let said_below = setting.is_choice()
            && (setting.path == "search" || setting.path == "guard" && text != "none" || {
                settings::table().iter().any(|other| other.path.starts_with(&branch))
            });
        if said_below {
            continue;
        }
        let (table, key) = setting.path.rsplit_once('.').unwrap_or(("", setting.path));
        let named = matches!(setting.kind, crate::setting::Kind::Choice(_));
        let value = if named { format!("\"{text}\"") } else { text };
        let line = format!("# {} ({})\n{key} = {value}\n", setting.help, setting.kind.range());
        match tables.iter_mut().find(|(known, _)| *known == table) {
            Some((_, lines)) => *lines += &line,
            None => tables.push((table, line)),
        }
    }
    let mut out = String::from(
        "# The settings in force, for --config FILE. What is left out there stays as the preset has it.\n",
    );
    for (table, lines) in tables {
        if !table.is_empty() {
            out += &format!("\n[{table}]\n");
        }
        out += &lines;
    }
    out
}
