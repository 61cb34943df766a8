//! What a word that names nothing to read may be meant for.

use std::path::Path;

use clap::{Command, CommandFactory};

use super::Cli;

/// The source, or else the subcommand, that a word is meant for that was taken for a folder, as a question or an
/// advice.
pub fn meant(word: &Path) -> Option<String> {
    source(word).or_else(|| subcommand(word.to_str()?))
}

/// The source that a word is meant for which other programs have for one.
pub fn source(word: &Path) -> Option<String> {
    let text = word.to_str()?;
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(format!("is the camera /dev/video{text} meant?"));
    }
    let name = word.file_name()?.to_str()?;
    name.contains(['%', '*', '?']).then(|| match word.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => format!("give the folder {}, not a pattern", folder.display()),
        None => "give the folder, not a pattern".into(),
    })
}

/// The program's subcommand that is most like a word, as a question.
pub fn subcommand(word: &str) -> Option<String> {
    nearest(word, &Cli::command()).map(|command| format!("is `kcf-track {command}` meant?"))
}

/// The name of a command's subcommand that is most like a word.
pub fn nearest(word: &str, command: &Command) -> Option<String> {
    /// As alike as `evla` and `eval`.
    const ALIKE: f64 = 0.8;
    let alike = |name: &&str| strsim::jaro_winkler(name, word);
    let names = command.get_subcommands().map(Command::get_name).filter(|name| alike(name) >= ALIKE);
    names.max_by(|a, b| alike(a).total_cmp(&alike(b))).map(String::from)
}
