//! What is read: outputs must not replace it, and a word that names none of it may be meant for something else.

use std::path::Path;

use clap::CommandFactory;
use kcf_track::export::Destination;
use kcf_track::source::Source;

use super::{Cli, Failure};

/// Refuses an output, given with its flag without the dashes, that is a part of `source`.
pub fn refuse<'a>(
    source: &dyn Source,
    outputs: impl IntoIterator<Item = &'a (&'static str, &'a Destination)>,
) -> Result<(), Failure> {
    for (flag, destination) in outputs {
        let Destination::File(path) = destination else { continue };
        if let Some(what) = source.occupies(path) {
            return Err(Failure::usage(format!("--{flag} {}: this {what}; name another place", path.display())));
        }
    }
    Ok(())
}

/// The subcommand that a word is meant for that was taken for a folder.
pub fn meant(word: &Path) -> Option<String> {
    /// As alike as `evla` and `eval`.
    const ALIKE: f64 = 0.8;
    let word = word.to_str()?;
    let command = Cli::command();
    let names = command.get_subcommands().map(|command| command.get_name().to_owned());
    let alike = |name: &String| strsim::jaro_winkler(name, word);
    names.filter(|name| alike(name) >= ALIKE).max_by(|a, b| alike(a).total_cmp(&alike(b)))
}
