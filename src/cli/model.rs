//! `kcf-track model`: the networks of `--preset expert`, fetched, listed and deleted.

use std::fs;
use std::io::Write;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};

use super::Failure;
use crate::Error;
use crate::models::Model;

/// Install the networks of --preset expert and --detector siamese
///
/// They are kept in KCF_TRACK_MODELS, else in kcf-track/models of XDG_DATA_HOME (by default ~/.local/share) or, on
/// Windows, of LOCALAPPDATA. Without --model, the newest installed one is used.
#[derive(Args, Debug)]
pub struct ModelArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Fetch a model's two files by curl, check their sums, and keep them
    Install {
        /// The model
        #[arg(value_parser = names())]
        name: String,
        /// Folder or address that has the two published files
        #[arg(long, value_name = "URL|DIR")]
        from: Option<String>,
    },
    /// Show all models, their size and where they are installed
    List,
    /// Print the folder of an installed model
    Path {
        /// The model
        #[arg(value_parser = names())]
        name: String,
    },
    /// Delete an installed model
    Remove {
        /// The model
        #[arg(value_parser = names())]
        name: String,
    },
}

fn names() -> PossibleValuesParser {
    Model::all().iter().map(Model::name).collect::<Vec<_>>().into()
}

/// Does what was asked, and prints it.
pub fn run(args: &ModelArgs) -> Result<(), Failure> {
    let mut out = std::io::stdout();
    match &args.action {
        Action::Install { name, from } => {
            let model = Model::named(name)?;
            writeln!(out, "{name}: {}", model.source())?;
            writeln!(out, "installed in {}", model.install(from.as_deref())?.display())?;
            if !cfg!(feature = "neural") {
                writeln!(out, "this program cannot run networks: it needs a build with --features neural")?;
            }
        }
        Action::List => {
            for model in Model::all() {
                let folder = model.folder()?;
                let place = match (model.is_in(&folder), folder.exists()) {
                    (true, _) => folder.display().to_string(),
                    (false, true) => format!("{} (damaged: install it again)", folder.display()),
                    (false, false) => "not installed".into(),
                };
                writeln!(out, "{}  {} bytes  {place}", model.name(), model.bytes())?;
            }
        }
        Action::Path { name } => writeln!(out, "{}", installed(name)?.display())?,
        Action::Remove { name } => {
            let folder = installed(name)?;
            fs::remove_dir_all(&folder).map_err(|error| Error::io(&folder, error))?;
        }
    }
    Ok(())
}

/// The folder of a model, which must be there.
fn installed(name: &str) -> Result<std::path::PathBuf, Failure> {
    let folder = Model::named(name)?.folder()?;
    let missing = || Failure::failed(format!("{name} is not installed: kcf-track model install {name}"));
    folder.exists().then_some(folder).ok_or_else(missing)
}
