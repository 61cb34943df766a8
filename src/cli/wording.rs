//! What is wrong with a command line, in words for who wrote it.

use std::io::{IsTerminal, Write};
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory, Error};

use super::{Cli, inputs};

/// What the standard library says of a word that is no number, and what that means.
const NUMBERS: [(&str, &str); 5] = [
    ("invalid digit found in string", "a whole number is needed"),
    ("invalid float literal", "a number is needed"),
    ("cannot parse integer from empty string", "a whole number is needed"),
    ("cannot parse float from empty string", "a number is needed"),
    ("number too large to fit in target type", "it is too large"),
];

/// What flags of other programs are called here, where a command has the argument that they lead to (the second).
/// Those with similar letters would be the wrong advice.
const FLAGS: [(&[&str], &str, &str); 12] = [
    (&["bbox", "box", "rect", "roi"], "init", "the box of a target is given by --init X,Y,W,H"),
    (&["camera", "input", "source", "video"], "source", "what is read needs no flag: kcf-track SRC"),
    (&["dataset", "input", "root", "source"], "data", "the folder of sequences is given by --data DIR"),
    (&["algorithm", "method", "tracker"], "detector", "how to track is chosen by --preset NAME or --detector NAME"),
    (&["format"], "otb", "the ending of --out says the form: .json, .jsonl, .csv, .txt, .mp4"),
    (&["threads"], "jobs", "the number of threads is given by --jobs N"),
    (&["ss"], "start", "the first frame, or its time, is given by --start: --start 80.5"),
    (&["show", "display"], "overlay", "kcf-track view SRC shows the boxes in a browser, --overlay draws them"),
    (&["fps"], "overlay", "no flag is needed: a video that is drawn keeps the times of its frames"),
    (&["y", "yes", "overwrite"], "otb", "no flag is needed: the outputs of tracking take the place of older files"),
    (&["y", "yes", "overwrite"], "force", "a folder that has content is written into with --force"),
    (&["y", "yes", "overwrite"], "resume", "--out is a new folder; --resume goes on with the evaluation that is in it"),
];

/// Presets by the names that other programs have for them.
const PRESETS: [(&str, &str); 2] = [("kcf", "KCF is --preset paper"), ("dcf", "DCF is --preset paper-dcf")];

/// Prints it.
pub fn print(mut error: Error) {
    let given: Vec<String> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    if error.kind() == ErrorKind::UnknownArgument {
        // That it could be a value behind `--` helps nobody who meant a flag.
        error.remove(ContextKind::Suggested);
    }
    let meant = misspelt(&given).filter(|_| error.kind() == ErrorKind::UnknownArgument);
    if let Some(tip) = preset(&error).map(String::from).or(meant) {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    let rendered = error.render();
    let mut err = std::io::stderr();
    let colorful = err.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let said = match (extra_word(&error), elsewhere(&error, &given)) {
        (Some(word), _) => unexpected(&word, &given),
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

/// The subcommand that the first word is meant for and is not: what stands behind it is no mistake of its own then.
fn misspelt(given: &[String]) -> Option<String> {
    let first = given.first()?;
    if Path::new(first).exists() || Cli::command().find_subcommand(first).is_some() {
        return None;
    }
    inputs::subcommand(first)
}

/// The command that the words are given to.
fn addressed(given: &[String]) -> Command {
    let mut command = Cli::command();
    for word in given {
        match command.find_subcommand(word) {
            Some(of) => command = of.clone(),
            None => break,
        }
    }
    command
}

/// A flag that other programs have, as it was given, and what it is called here.
fn elsewhere(error: &Error, given: &[String]) -> Option<(String, &'static str)> {
    let flag = match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(flag))) => flag,
        _ => return None,
    };
    // Of `-ss` the first letter alone was looked at.
    let whole = given.iter().find(|word| !flag.starts_with("--") && !word.starts_with("--") && word.starts_with(flag));
    let flag = whole.unwrap_or(flag);
    let name = flag.trim_start_matches('-');
    let command = addressed(given);
    let has = |wanted: &str| command.get_arguments().any(|argument| argument.get_id() == wanted);
    let known = FLAGS.iter().find(|(theirs, wanted, _)| theirs.contains(&name) && has(wanted));
    known.map(|(.., tip)| (flag.clone(), *tip))
}

/// The preset that a name is meant for which is none.
fn preset(error: &Error) -> Option<&'static str> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text),
        _ => None,
    };
    let value = text(ContextKind::InvalidArg).filter(|flag| flag.starts_with("--preset"));
    let name = value.and_then(|_| text(ContextKind::InvalidValue))?;
    PRESETS.iter().find(|(theirs, _)| theirs.eq_ignore_ascii_case(name)).map(|(_, tip)| *tip)
}

fn unknown(flag: &str, tip: &str) -> String {
    format!("error: unexpected argument '{flag}' found\n\n  tip: {tip}\n\nFor more information, try '--help'.\n")
}

/// What is said of a word too many, by the first one.
fn unexpected(word: &str, given: &[String]) -> String {
    let command = Cli::command();
    let (what, help) = match given.first().map_or("", String::as_str) {
        "eval" => {
            let meant = command.find_subcommand("eval").and_then(|eval| inputs::nearest(word, eval));
            let what = match meant {
                Some(name) => format!("is `kcf-track eval {name}` meant?"),
                None => format!("the folder of sequences is given by --data {word}"),
            };
            (what, "eval --help")
        }
        "help" => {
            let names: Vec<_> = command.get_subcommands().map(|command| command.get_name()).collect();
            (format!("there is help of {}", names.join(", ")), "--help")
        }
        "track" => (format!("tracking has no word of its own: kcf-track {word}"), "--help"),
        _ => {
            let one = "one folder, video or camera is followed at a time, and a box is four numbers (-i 10,20,30,40)";
            (misspelt(given).unwrap_or_else(|| one.into()), "--help")
        }
    };
    format!("error: unexpected word '{word}': {what}\n\nFor more information, try 'kcf-track {help}'.\n")
}
