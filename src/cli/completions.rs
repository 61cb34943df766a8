//! `kcf-track completions` and `kcf-track man`.

use std::io::Write;

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;

use super::{Cli, Failure};

/// Print a completion script for a shell.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Print a page of the manual.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// The subcommand [default: the program]
    command: Option<String>,
}

pub fn run(args: &CompletionsArgs) -> Result<(), Failure> {
    // The generator panics when a write fails, as on a closed pipe.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "kcf-track", &mut script);
    Ok(std::io::stdout().write_all(&script)?)
}

pub fn man(args: &ManArgs) -> Result<(), Failure> {
    let mut program = Cli::command();
    program.build();
    let command = match &args.command {
        None => program,
        Some(name) => {
            let known: Vec<_> = program.get_subcommands().map(|command| command.get_name()).collect();
            let unknown = || Failure::usage(format!("man {name}: there are pages of {}", known.join(", ")));
            program.find_subcommand(name).cloned().ok_or_else(unknown)?
        }
    };
    // The page has the flags that `-h` leaves out.
    let command = command.mut_args(|arg| arg.hide_short_help(false));
    let mut page = Vec::new();
    Man::new(command).source(concat!("kcf-track ", env!("CARGO_PKG_VERSION"))).render(&mut page)?;
    std::io::stdout().write_all(&page)?;
    Ok(())
}
