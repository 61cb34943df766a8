//! The program `kcf-track`.

mod cli;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Synth(cli::synth::SynthArgs),
}

fn main() -> std::process::ExitCode {
    let Command::Synth(args) = Arguments::parse().command;
    match cli::synth::run(args) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            std::process::ExitCode::FAILURE
        }
    }
}
