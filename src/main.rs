//! The `kcf-track` program: reads its arguments, runs, and turns an error into a message and an exit code.

mod cli;

fn main() -> std::process::ExitCode {
    cli::run()
}
