//! What is wrong with a command line, in words for who wrote it.

use std::io::{IsTerminal, Write};

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, Error};

use super::Cli;

/// What the standard library says of a word that is no number, and what that means.
const NUMBERS: [(&str, &str); 6] = [
    ("invalid digit found in string", "a whole number is needed"),
    ("invalid float literal", "a number is needed"),
    ("cannot parse integer from empty string", "a whole number is needed"),
    ("cannot parse float from empty string", "a number is needed"),
    ("number would be zero for non-zero type", "it must be 1 or more"),
    ("number too large to fit in target type", "it is too large"),
];

/// Prints it.
pub fn print(error: &Error) {
    let rendered = error.render();
    let mut err = std::io::stderr();
    let colorful = err.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let said = match extra_word(error) {
        Some(word) => one_source(&word),
        None if colorful => rendered.ansi().to_string(),
        None => rendered.to_string(),
    };
    let _ = err.write_all(plain(said).as_bytes());
}

fn plain(said: String) -> String {
    NUMBERS.iter().fold(said, |said, (theirs, ours)| said.replace(theirs, ours))
}

/// The word behind the source that was taken for a subcommand and is none.
fn extra_word(error: &Error) -> Option<String> {
    let word = error.context().find_map(|(kind, value)| match (kind, value) {
        (ContextKind::InvalidSubcommand, ContextValue::String(word)) => Some(word.clone()),
        _ => None,
    })?;
    Cli::command().find_subcommand(&word).is_none().then_some(word)
}

fn one_source(word: &str) -> String {
    format!(
        "error: unexpected word '{word}': one folder, video or camera is followed at a time, and a box is four numbers \
         (-i 10,20,30,40)\n\nFor more information, try '--help'.\n"
    )
}
