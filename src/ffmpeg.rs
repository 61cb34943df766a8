//! The programs of ffmpeg, which read and write videos and are run as they are installed.

#[cfg(target_os = "linux")]
mod bound;

use std::io::{ErrorKind, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::error::{Error, Result};

/// How to get them.
const INSTALL: &str = "install ffmpeg (`apt install ffmpeg`, `brew install ffmpeg`, `winget install ffmpeg`) so that \
                       it is found in PATH, or use folders of images";

/// What keeps a Ctrl-C of the console from a process on Windows.
#[cfg(windows)]
const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;

/// A command of this name that reads nothing from the terminal and gets no Ctrl-C: the run that started it ends it.
pub(crate) fn command(name: &str) -> Command {
    let mut command = Command::new(name);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    #[cfg(windows)]
    std::os::windows::process::CommandExt::creation_flags(&mut command, CREATE_NEW_PROCESS_GROUP);
    command
}

/// Starts it for `what` is to be read or written. On Linux it ends with this program, even where that is killed; what
/// it starts itself, and all of it elsewhere, only when it next reads or writes.
///
/// # Errors
/// [`Error::Sequence`] where it is not installed, [`Error::Io`] where it cannot be started.
pub(crate) fn start(command: Command, what: &Path) -> Result<Child> {
    let name = command.get_program().to_string_lossy().into_owned();
    #[cfg(target_os = "linux")]
    let started = bound::spawn(command);
    #[cfg(not(target_os = "linux"))]
    let started = { command }.spawn();
    started.map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            Error::Sequence { path: what.into(), reason: format!("{name} is needed for it: {INSTALL}") }
        }
        _ => Error::io(name, error),
    })
}

/// Ends a program that [`start`] has started; on Unix also what that has started, where ffmpeg is a script.
pub(crate) fn kill(child: &mut Child) {
    // Once it has been waited for, its number may be another's.
    #[cfg(unix)]
    if matches!(child.try_wait(), Ok(None)) {
        let _ =
            rustix::process::kill_process_group(rustix::process::Pid::from_child(child), rustix::process::Signal::KILL);
    }
    let _ = child.kill();
}

/// All that comes, of which the first `most` bytes are kept; what is not read would stop the program. `come` hears of
/// every piece.
pub(crate) fn drained(mut from: impl Read, most: usize, come: impl Fn(usize)) -> String {
    let (mut kept, mut piece) = (Vec::new(), vec![0; 1 << 16]);
    while let Ok(read @ 1..) = from.read(&mut piece) {
        come(read);
        kept.extend_from_slice(&piece[..read.min(most.saturating_sub(kept.len()))]);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

/// The two numbers that a version such as `5.1.9-0+deb12u1` or `n7.0` begins with.
pub(crate) fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.trim_start_matches('n').split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next().and_then(|minor| minor.parse().ok()).unwrap_or(0)))
}

/// The arguments by which no frame is left out and none doubled, of a program of this version.
pub(crate) fn passthrough(version: Option<(u32, u32)>) -> [&'static str; 2] {
    [if version.is_none_or(|version| version >= (5, 1)) { "-fps_mode" } else { "-vsync" }, "passthrough"]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_every_kind() {
        assert_eq!(version("n7.0"), Some((7, 0)));
        assert_eq!(version("8"), Some((8, 0)));
        assert_eq!(version("N-113007-g8d24a28d06"), None);
        assert_eq!((passthrough(Some((4, 4)))[0], passthrough(Some((5, 1)))[0]), ("-vsync", "-fps_mode"));
    }
}
