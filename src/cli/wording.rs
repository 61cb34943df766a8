//! What is wrong with a command line, in words for who wrote it.

use std::io::{IsTerminal, Write};

use clap::error::{ContextKind, ContextValue, ErrorKind};
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

/// What flags of other programs are called here. Those with similar letters would be the wrong advice.
const FLAGS: [(&[&str], &str); 4] = [
    (&["bbox", "box", "rect", "roi"], "the box of a target is given by --init X,Y,W,H"),
    (&["camera", "input", "source", "video"], "what is read needs no flag: kcf-track SRC"),
    (&["algorithm", "method", "tracker"], "how to track is chosen by --preset NAME or --detector NAME"),
    (&["format"], "the ending of --out says the form: .json, .jsonl, .csv, .txt, .mp4"),
];

/// Prints it.
pub fn print(error: &Error) {
    let rendered = error.render();
    let mut err = std::io::stderr();
    let colorful = err.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let said = match (extra_word(error), elsewhere(error)) {
        (Some(word), _) => one_source(&word),
        (None, Some((flag, tip))) => unknown(&flag, tip),
        (None, None) if colorful => rendered.ansi().to_string(),
        (None, None) => rendered.to_string(),
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

/// A flag that other programs have, and what it is called here.
fn elsewhere(error: &Error) -> Option<(String, &'static str)> {
    let flag = match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(flag))) => flag,
        _ => return None,
    };
    let name = flag.trim_start_matches('-');
    FLAGS.iter().find(|(theirs, _)| theirs.contains(&name)).map(|(_, tip)| (flag.clone(), *tip))
}

fn unknown(flag: &str, tip: &str) -> String {
    format!("error: unexpected argument '{flag}' found\n\n  tip: {tip}\n\nFor more information, try '--help'.\n")
}

fn one_source(word: &str) -> String {
    format!(
        "error: unexpected word '{word}': one folder, video or camera is followed at a time, and a box is four numbers \
         (-i 10,20,30,40)\n\nFor more information, try '--help'.\n"
    )
}
