//! Runs ffmpeg, where there is one.

use std::path::Path;
use std::process::{Command, Stdio};

/// Runs ffmpeg in a folder; `false` where ffmpeg is not installed.
pub fn ffmpeg(folder: &Path, arguments: &str) -> bool {
    let mut command = Command::new("ffmpeg");
    command.current_dir(folder).args(["-v", "error", "-y"]).args(arguments.split_whitespace());
    let ran = command.stdin(Stdio::null()).stdout(Stdio::null()).status();
    match &ran {
        Ok(status) => assert!(status.success(), "{arguments}"),
        Err(_) => eprintln!("SKIPPED: ffmpeg is not installed"),
    }
    ran.is_ok()
}
