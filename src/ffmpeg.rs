//! The programs of ffmpeg, which read and write videos and are run as they are installed.

use std::io::ErrorKind;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::error::{Error, Result};

/// How to get them.
const INSTALL: &str = "install ffmpeg (`apt install ffmpeg`, `brew install ffmpeg`, `winget install ffmpeg`) so that \
                       it is found in PATH, or use folders of images";

/// A command of this name that reads nothing from the terminal and gets no Ctrl-C: the run that started it ends it.
pub(crate) fn command(name: &str) -> Command {
    let mut command = Command::new(name);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command
}

/// Starts it for `what` is to be read or written.
///
/// # Errors
/// [`Error::Sequence`] where it is not installed, [`Error::Io`] where it cannot be started.
pub(crate) fn start(command: &mut Command, what: &Path) -> Result<Child> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.spawn().map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            Error::Sequence { path: what.into(), reason: format!("{name} is needed for it: {INSTALL}") }
        }
        _ => Error::io(name, error),
    })
}
