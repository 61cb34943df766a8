//! Build script: tells the program the commit that it is built from, and where its sources are.
//!
//! A release sets `KCF_TRACK_COMMIT` and `KCF_TRACK_SOURCES` itself. In a clone both come from git. A development build
//! names none, because every commit would compile the whole crate again; nor does a build outside of a clone.

use std::path::Path;
use std::process::Command;

fn git(arguments: &[&str]) -> Option<String> {
    let done = Command::new("git").args(arguments).output().ok()?;
    let said = String::from_utf8(done.stdout).ok()?;
    (done.status.success() && !said.trim().is_empty()).then(|| said.trim().to_owned())
}

/// The address of the sources at a commit, if the clone is of a project on GitHub.
fn sources(commit: &str) -> Option<String> {
    let origin = git(&["remote", "get-url", "origin"])?;
    let project = origin.strip_prefix("https://github.com/").or(origin.strip_prefix("git@github.com:"))?;
    let project = project.trim_end_matches('/').trim_end_matches(".git");
    Some(format!("https://github.com/{project}/blob/{commit}"))
}

fn main() {
    println!("cargo:rerun-if-changed=scripts/commit.rs");
    println!("cargo:rerun-if-env-changed=KCF_TRACK_COMMIT");
    let released = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    // Git would also look for a repository in the folders above.
    let clone = Path::new(&std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join(".git").exists();
    if std::env::var_os("KCF_TRACK_COMMIT").is_some() || !released || !clone {
        return;
    }
    let Some(commit) = git(&["describe", "--always", "--dirty", "--abbrev=12"]) else { return };
    println!("cargo:rustc-env=KCF_TRACK_COMMIT={commit}");
    // The log grows with every commit and checkout; what is changed since is in the sources.
    for watched in ["src", "assets", "Cargo.toml", "Cargo.lock"] {
        println!("cargo:rerun-if-changed={watched}");
    }
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={log}");
    }
    let full = git(&["rev-parse", "HEAD"]).filter(|_| !commit.ends_with("-dirty"));
    if let Some(sources) = full.and_then(|full| sources(&full)) {
        println!("cargo:rustc-env=KCF_TRACK_SOURCES={sources}");
    }
}
