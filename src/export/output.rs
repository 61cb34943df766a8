//! Where results go: a file or the standard output.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::atomic_file::{parent, replace};
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

    /// Checks that a file can be written here; the old content stays.
    ///
    /// # Errors
    /// [`Error::Output`] with the operating system's reason.
    pub(super) fn check(&self) -> Result<()> {
        let Self::File(path) = self else { return Ok(()) };
        let wrong = |reason: String| Error::Output { path: path.clone(), reason };
        match fs::metadata(path) {
            Ok(there) if there.is_dir() => Err(wrong("it is a folder; name a file".into())),
            Ok(there) if !there.is_file() => Ok(()),
            Ok(_) => OpenOptions::new().write(true).open(path).map(drop).map_err(|error| wrong(error.to_string())),
            Err(_) => {
                let folder = parent(path);
                let probe = tempfile::tempfile_in(folder);
                probe.map(drop).map_err(|error| wrong(format!("in the folder {}: {error}", folder.display())))
            }
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

/// A document: text that is collected in an unnamed temporary file and put in its place at the end.
#[derive(Debug)]
pub(super) struct Document {
    to: Destination,
    text: io::BufWriter<File>,
}

impl Document {
    /// Checks that `destination` can be written.
    pub(super) fn create(destination: &Destination) -> Result<Self> {
        destination.check()?;
        let text = tempfile::tempfile().map_err(|source| Error::io(std::env::temp_dir(), source))?;
        Ok(Self { to: destination.clone(), text: io::BufWriter::new(text) })
    }

    /// The destination, for messages.
    pub(super) fn path(&self) -> &Path {
        self.to.path()
    }

    /// Adds text to the end.
    pub(super) fn write(&mut self, text: &[u8]) -> Result<()> {
        self.text.write_all(text).map_err(|source| Error::io(self.to.path(), source))
    }

    /// Puts the document in its place.
    pub(super) fn commit(self) -> Result<()> {
        let Self { to, text } = self;
        let finished = (|| {
            let mut text = text.into_inner().map_err(io::IntoInnerError::into_error)?;
            text.rewind()?;
            match &to {
                Destination::Stdout => {
                    let mut out = io::stdout().lock();
                    io::copy(&mut text, &mut out)?;
                    out.flush()
                }
                Destination::File(path) if fs::metadata(path).is_ok_and(|there| !there.is_file()) => {
                    io::copy(&mut text, &mut OpenOptions::new().write(true).open(path)?).map(drop)
                }
                // The file behind a link is replaced, not the link. Synced before the rename, or a power cut could
                // leave an empty file under the new name.
                Destination::File(path) => {
                    let path = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
                    replace(&path, |file| {
                        io::copy(&mut text, file)?;
                        file.flush()?;
                        file.get_ref().sync_all()
                    })
                }
            }
        })();
        finished.map_err(|source| Error::io(to.path(), source))
    }

    /// Makes one value the whole document, and puts it in its place.
    pub(super) fn commit_json(mut self, value: &impl serde::Serialize) -> Result<()> {
        let text = super::json::compact(value).map_err(|error| Error::io(self.to.path(), error.into()))?;
        self.write(&text)?;
        self.commit()
    }
}

/// Text that is read while it is written: whole lines, each with one write. A file is emptied when the first line is
/// there.
pub(super) struct Lines {
    path: PathBuf,
    out: Option<Box<dyn Write + Send>>,
}

impl std::fmt::Debug for Lines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lines").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Lines {
    /// Checks that `destination` can be written.
    pub(super) fn create(destination: &Destination) -> Result<Self> {
        destination.check()?;
        let out = (*destination == Destination::Stdout).then(|| Box::new(io::stdout()) as Box<dyn Write + Send>);
        Ok(Self { path: destination.path().to_path_buf(), out })
    }

    /// Writes to anything that takes bytes.
    pub(super) fn to_writer(writer: impl Write + Send + 'static) -> Self {
        Self { path: "-".into(), out: Some(Box::new(writer)) }
    }

    /// Writes whole lines.
    pub(super) fn write(&mut self, lines: &[u8]) -> Result<()> {
        let wrong = |source| Error::io(&self.path, source);
        let out = match &mut self.out {
            Some(out) => out,
            None => self.out.insert(Box::new(File::create(&self.path).map_err(wrong)?)),
        };
        out.write_all(lines).and_then(|()| out.flush()).map_err(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_replaces_the_old_file_at_the_end_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.json");
        fs::write(&path, "old").unwrap();
        let to = Destination::File(path.clone());
        let mut document = Document::create(&to).unwrap();
        document.write(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        document.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        drop(Document::create(&to).unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"new", "a run without a frame changes nothing");
    }

    #[test]
    fn lines_are_there_as_soon_as_they_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.jsonl");
        fs::write(&path, "old").unwrap();
        let mut lines = Lines::create(&Destination::File(path.clone())).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        lines.write(b"1\n").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"1\n");
        lines.write(b"2\n").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"1\n2\n");
    }

    #[test]
    fn places_that_cannot_be_written_are_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        for wrong in [folder.path().to_path_buf(), folder.path().join("none/out.csv")] {
            let error = Lines::create(&Destination::File(wrong.clone())).unwrap_err().to_string();
            assert!(error.contains(wrong.to_str().unwrap()), "{error}");
        }
    }

    #[test]
    fn two_outputs_at_one_place_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = ["a.csv", "b.csv"].map(|name| Destination::File(folder.path().join(name)));
        let pictures = Destination::File(folder.path().to_path_buf());
        assert!(check_distinct(&[("--csv", false, &a), ("--mot", false, &b)]).is_ok());
        assert!(check_distinct(&[("--csv", false, &a), ("--mot", false, &a)]).is_err());
        assert!(
            check_distinct(&[("--csv", false, &Destination::Stdout), ("--mot", false, &Destination::Stdout)]).is_err()
        );
        let error = check_distinct(&[("--csv", false, &a), ("--overlay", true, &pictures)]).unwrap_err();
        assert!(error.to_string().contains("--overlay"), "{error}");
    }
}
