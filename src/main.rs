//! The `kcf-track` program.

fn main() -> std::process::ExitCode {
    // Each seek of a view decodes on a new thread. With one arena the next thread uses the memory that the last one has
    // freed. SAFETY: the call only sets a number of the allocator.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    if std::env::args_os().nth(1).is_some_and(|word| word == "view") {
        unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
    }
    kcf_track::cli::main()
}
