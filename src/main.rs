//! The `kcf-track` program.

fn main() -> std::process::ExitCode {
    kcf_track::cli::main()
}
