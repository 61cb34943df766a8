//! Destinations of outputs, and the writer behind all of them.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::atomic_file::{AtomicFile, parent};
use crate::error::{Error, Result};

/// A file, or `-` for the standard output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// The standard output.
    Stdout,
    /// A file.
    File(PathBuf),
}

impl From<&Path> for Destination {
    fn from(path: &Path) -> Self {
        match ["-", "/dev/stdout"].iter().any(|name| path == Path::new(name)) {
            true => Self::Stdout,
            false => Self::File(path.to_path_buf()),
        }
    }
}

/// Also for names that are not UTF-8.
impl From<OsString> for Destination {
    fn from(path: OsString) -> Self {
        Path::new(&path).into()
    }
}

impl FromStr for Destination {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Path::new(text).into())
    }
}

impl std::fmt::Display for Destination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.path().display().fmt(f)
    }
}

impl Destination {
    /// The path as it was given.
    pub fn path(&self) -> &Path {
        match self {
            Self::Stdout => Path::new("-"),
            Self::File(path) => path,
        }
    }

    /// Whether both are one place.
    #[cfg(feature = "cli")]
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.identity().is_some_and(|place| other.identity() == Some(place))
    }

    /// The same for two names of one file or folder; `None` for devices, which outputs may share.
    fn identity(&self) -> Option<PathBuf> {
        let Self::File(path) = self else { return Some("-".into()) };
        match fs::metadata(path) {
            Ok(there) if there.is_file() || there.is_dir() => fs::canonicalize(path).ok(),
            Ok(_) => None,
            Err(_) => {
                let folder = fs::canonicalize(parent(path)).unwrap_or_else(|_| parent(path).to_path_buf());
                Some(folder.join(path.file_name().unwrap_or(OsStr::new(""))))
            }
        }
    }
}

/// Checks that no two outputs go to one place, and that no file lies in a folder that pictures go to. Each output has
/// its flag and whether it is a folder.
///
/// # Errors
/// [`Error::Output`] for the second of two.
pub fn check_distinct(outputs: &[(&str, bool, &Destination)]) -> Result<()> {
    for (i, (flag, is_folder, to)) in outputs.iter().enumerate() {
        let Some(place) = to.identity() else { continue };
        for (j, (other_flag, other_is_folder, other)) in outputs.iter().enumerate() {
            let Some(other) = other.identity().filter(|_| i != j) else { continue };
            let inside = *other_is_folder && !is_folder && place.starts_with(&other);
            if inside || i > j && place == other {
                let reason = format!("{other_flag} writes there already; name another place for {flag}");
                return Err(Error::Output { path: to.path().into(), reason });
            }
        }
    }
    Ok(())
}

/// The endings of videos that can be written.
pub(super) const VIDEOS: [&str; 8] = ["mp4", "m4v", "mov", "mkv", "avi", "webm", "gif", "webp"];

/// Whether a path is that of a video, by its ending.
pub fn is_video(path: &Path) -> bool {
    let ending = path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase);
    ending.is_some_and(|ending| VIDEOS.contains(&ending.as_str()))
}

/// An output under construction. A file appears at [`finish`](Self::finish), a live one with its first bytes; the
/// standard output, pipes and devices are written at once.
#[derive(Debug)]
pub(super) struct Output {
    path: PathBuf,
    to: To,
}

enum To {
    File { file: AtomicFile, live: bool },
    Stream(Box<dyn Write + Send>),
}

impl std::fmt::Debug for To {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if matches!(self, Self::File { .. }) { "File" } else { "Stream" })
    }
}

impl Output {
    /// Opens an output whose file appears when it is complete.
    pub(super) fn create(destination: &Destination) -> Result<Self> {
        Self::open(destination, false)
    }

    /// Opens an output that others read while it grows.
    pub(super) fn live(destination: &Destination) -> Result<Self> {
        Self::open(destination, true)
    }

    fn open(destination: &Destination, live: bool) -> Result<Self> {
        let path = destination.path().to_path_buf();
        let wrong = |reason: String| Error::Output { path: path.clone(), reason };
        let to = match destination {
            Destination::Stdout => To::Stream(Box::new(io::stdout())),
            Destination::File(path) => match fs::metadata(path) {
                Ok(old) if old.is_dir() => return Err(wrong("it is a folder; name a file".into())),
                // Opening for writing finds a read-only file before a rename replaces it.
                Ok(old) => match OpenOptions::new().append(true).open(path) {
                    Err(error) => return Err(wrong(error.to_string())),
                    Ok(open) if !old.is_file() || is_open_file(path) => To::Stream(Box::new(open)),
                    Ok(_) => To::file(path, live)?,
                },
                Err(_) => To::file(path, live)?,
            },
        };
        Ok(Self { path, to })
    }

    /// Path of the destination, for messages.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Path of the temporary file, for a program that writes it; `None` for a stream.
    #[cfg(feature = "cli")]
    pub(super) fn temporary_path(&self) -> Option<&Path> {
        match &self.to {
            To::File { file, .. } => Some(file.temporary_path()),
            To::Stream(_) => None,
        }
    }

    /// Appends bytes.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.try_write(bytes).map_err(|source| Error::io(&self.path, source))
    }

    fn try_write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.to {
            To::File { file, live: false } => file.write_all(bytes),
            To::Stream(out) => out.write_all(bytes).and_then(|()| out.flush()),
            To::File { file, live: true } => {
                file.write_all(bytes)?;
                let to = std::mem::replace(&mut self.to, To::Stream(Box::new(io::sink())));
                if let To::File { file, .. } = to {
                    self.to = To::Stream(Box::new(file.commit()?));
                }
                Ok(())
            }
        }
    }

    /// Puts the file in its place.
    pub(super) fn finish(self) -> Result<()> {
        match self.to {
            To::File { file, .. } => file.commit().map(drop).map_err(|source| Error::io(self.path, source)),
            To::Stream(_) => Ok(()),
        }
    }

    /// Writes a value as the whole document and finishes.
    pub(super) fn finish_json(mut self, value: &serde_json::Value) -> Result<()> {
        self.write(value.to_string().as_bytes())?;
        self.finish()
    }
}

impl To {
    fn file(path: &Path, live: bool) -> Result<Self> {
        let wrong = |error: io::Error| Error::Output {
            path: path.into(),
            reason: format!("in the folder {}: {error}", parent(path).display()),
        };
        Ok(Self::File { file: AtomicFile::create(path).map_err(wrong)?, live })
    }
}

/// Whether a path names a file that this process has open, such as `/dev/stderr`: a rename would detach it.
fn is_open_file(path: &Path) -> bool {
    ["/dev", "/proc"].iter().any(|folder| path.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_at_the_end_and_a_live_one_with_its_first_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let to = Destination::File(path.clone());
        let read = || fs::read_to_string(&path).unwrap();
        fs::write(&path, "old").unwrap();
        let mut output = Output::create(&to).unwrap();
        output.write(b"1\n").unwrap();
        assert_eq!(read(), "old");
        output.finish().unwrap();
        assert_eq!(read(), "1\n");
        let mut output = Output::live(&to).unwrap();
        assert_eq!(read(), "1\n");
        output.write(b"2\n").unwrap();
        assert_eq!(read(), "2\n");
        output.write(b"3\n").unwrap();
        assert_eq!(read(), "2\n3\n");
        drop((output, Output::create(&to).unwrap()));
        assert_eq!(read(), "2\n3\n", "an output without frames changes nothing");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn destinations_that_cannot_be_written_are_errors_at_once() {
        let folder = tempfile::tempdir().unwrap();
        for wrong in [folder.path().to_path_buf(), folder.path().join("none/out.csv")] {
            let error = Output::create(&Destination::File(wrong.clone())).unwrap_err().to_string();
            assert!(error.contains(wrong.to_str().unwrap()), "{error}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_an_error_with_the_path() {
        let mut output = Output::create(&Path::new("/dev/full").into()).unwrap();
        let error = output.write(b"one\n").unwrap_err();
        assert!(error.to_string().starts_with("/dev/full: ") && !error.is_broken_pipe(), "{error}");
    }

    #[test]
    fn two_outputs_at_one_place_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = ["a.csv", "b.csv"].map(|name| Destination::File(folder.path().join(name)));
        let pictures = Destination::File(folder.path().to_path_buf());
        let stdout = Destination::Stdout;
        assert!(check_distinct(&[("--csv", false, &a), ("--mot", false, &b)]).is_ok());
        assert!(check_distinct(&[("--csv", false, &a), ("--mot", false, &a)]).is_err());
        assert!(check_distinct(&[("--csv", false, &stdout), ("--mot", false, &stdout)]).is_err());
        let error = check_distinct(&[("--csv", false, &a), ("--overlay", true, &pictures)]).unwrap_err();
        assert!(error.to_string().contains("--overlay"), "{error}");
    }
}
