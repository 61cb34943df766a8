//! What a word that names nothing to read may be meant for.

use std::path::Path;

use clap::CommandFactory;

use super::Cli;

/// The subcommand that a word is meant for that was taken for a folder, as a question.
pub fn meant(word: &Path) -> Option<String> {
    /// As alike as `evla` and `eval`.
    const ALIKE: f64 = 0.8;
    let word = word.to_str()?;
    let command = Cli::command();
    let names = command.get_subcommands().map(|command| command.get_name().to_owned());
    let alike = |name: &String| strsim::jaro_winkler(name, word);
    let nearest = names.filter(|name| alike(name) >= ALIKE).max_by(|a, b| alike(a).total_cmp(&alike(b)));
    nearest.map(|command| format!("is `kcf-track {command}` meant?"))
}
