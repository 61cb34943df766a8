//! Destinations of outputs, and the writer behind all of them.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::atomic_file::{AtomicFile, parent, real, remove, temporary_beside};
use crate::error::{Error, Result};
use crate::media::INDEX;

/// A file, or `-` for the standard output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination(PathBuf);

impl From<&Path> for Destination {
    fn from(path: &Path) -> Self {
        Self(if path == Path::new("/dev/stdout") { "-".into() } else { path.into() })
    }
}

/// Also for names that are not UTF-8.
impl From<OsString> for Destination {
    fn from(path: OsString) -> Self {
        Path::new(&path).into()
    }
}

impl std::fmt::Display for Destination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.display().fmt(f)
    }
}

impl Destination {
    /// The path as it was given.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Whether it is the standard output.
    pub fn is_stdout(&self) -> bool {
        self.0 == Path::new("-")
    }

    /// Whether both are one place.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.identity().is_some_and(|place| other.identity() == Some(place))
    }

    /// The same for two names of one file or folder; `None` for devices, which outputs may share.
    fn identity(&self) -> Option<PathBuf> {
        let is_device = fs::metadata(&self.0).is_ok_and(|there| !there.is_file() && !there.is_dir());
        match is_device {
            _ if self.is_stdout() => Some(self.0.clone()),
            true => None,
            false => real(&self.0),
        }
    }
}

/// Checks that no two outputs go to one place, and that no file lies in the folder of another output. Each output comes
/// with its flag and whether it is a folder.
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

/// Whether the ending of a path is that of a video.
pub fn is_video(path: &Path) -> bool {
    let ending = path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase);
    ending.is_some_and(|ending| VIDEOS.contains(&ending.as_str()))
}

/// An output under construction. A file replaces the old one at [`publish`](Self::publish) or [`finish`](Self::finish);
/// the standard output, pipes and devices are written at once.
pub(super) struct Output {
    path: PathBuf,
    to: To,
}

enum To {
    File(AtomicFile),
    Stream(Box<dyn Write + Send>),
}

impl Output {
    /// Opens a file or a stream.
    pub(super) fn create(destination: &Destination) -> Result<Self> {
        let path = destination.0.clone();
        let wrong = |reason: String| Error::Output { path: path.clone(), reason };
        let to = match fs::metadata(&path) {
            _ if destination.is_stdout() => To::Stream(Box::new(io::stdout())),
            Ok(old) if old.is_dir() => return Err(wrong("it is a folder; name a file".into())),
            // Opening for writing finds a read-only file before a rename replaces it.
            Ok(old) => match OpenOptions::new().append(true).open(&path) {
                Err(error) => return Err(wrong(error.to_string())),
                Ok(open) if !old.is_file() || is_open_file(&path) => To::Stream(Box::new(open)),
                Ok(_) => To::file(&path)?,
            },
            Err(_) => To::file(&path)?,
        };
        Ok(Self { path, to })
    }

    /// Path of the destination, for messages.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Path of the temporary file, for a program that writes it; `None` for a stream.
    pub(super) fn temporary_path(&self) -> Option<&Path> {
        match &self.to {
            To::File(file) => Some(file.temporary_path()),
            To::Stream(_) => None,
        }
    }

    /// Appends bytes.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let written = match &mut self.to {
            To::File(new) => new.file.write_all(bytes),
            To::Stream(out) => out.write_all(bytes).and_then(|()| out.flush()),
        };
        written.map_err(|source| Error::io(&self.path, source))
    }

    /// Puts a file in its place; it grows there from now on.
    pub(super) fn publish(&mut self) -> Result<()> {
        self.to = match std::mem::replace(&mut self.to, To::Stream(Box::new(io::sink()))) {
            To::File(file) => To::Stream(Box::new(file.commit().map_err(|source| Error::io(&self.path, source))?)),
            stream @ To::Stream(_) => stream,
        };
        Ok(())
    }

    /// Puts the file in its place.
    pub(super) fn finish(mut self) -> Result<()> {
        self.publish()
    }

    /// Writes a value as the whole document and finishes.
    pub(super) fn finish_json(mut self, value: &serde_json::Value) -> Result<()> {
        self.append(value.to_string().as_bytes())?;
        self.finish()
    }
}

/// Writes a whole file, or to a device, a pipe or the standard output.
///
/// # Errors
/// [`Error::Output`] for a place that cannot be written to; [`Error::Io`].
pub fn write_whole(to: &Destination, bytes: &[u8]) -> Result<()> {
    let mut output = Output::create(to)?;
    output.append(bytes)?;
    output.finish()
}

impl To {
    fn file(path: &Path) -> Result<Self> {
        let wrong = |error: io::Error| Error::Output {
            path: path.into(),
            reason: format!("in the folder {}: {error}", parent(path).display()),
        };
        AtomicFile::create(path).map(Self::File).map_err(wrong)
    }
}

/// Whether a path names a file that this process has open, such as `/dev/stderr`: a rename would detach it.
fn is_open_file(path: &Path) -> bool {
    ["/dev", "/proc"].iter().any(|folder| path.starts_with(folder))
}

/// A folder that a run puts files into. An index lists them, so that the next run removes them and no other file.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// Names of this run.
    names: HashSet<String>,
    /// Names of an earlier run, until this one writes its first file.
    old: HashSet<String>,
    index: Option<File>,
}

impl Folder {
    /// Creates the folder if needed and checks that it can be written.
    pub(super) fn create(path: &Path) -> Result<Self> {
        let wrong = |error: io::Error| Error::Output { path: path.into(), reason: error.to_string() };
        fs::create_dir_all(path).map_err(wrong)?;
        temporary_beside(&path.join("probe")).map_err(wrong)?;
        let text = fs::read_to_string(path.join(INDEX)).unwrap_or_default();
        let is_plain = |name: &&str| Path::new(name).file_name() == Some(name.as_ref());
        let old = text.lines().filter(is_plain).map(String::from).collect();
        Ok(Self { path: path.into(), names: HashSet::new(), old, index: None })
    }

    /// Checks that a file may be written here.
    ///
    /// # Errors
    /// [`Error::Output`] for a file that no run has put here.
    pub(super) fn check(&self, name: &str) -> Result<()> {
        let path = self.path.join(name);
        if !self.old.contains(name) && fs::symlink_metadata(&path).is_ok() {
            let reason = "this file is not from a run of this program; name another folder".into();
            return Err(Error::Output { path, reason });
        }
        Ok(())
    }

    /// Adds a file to the index and returns its path. The first one removes the files of an earlier run.
    ///
    /// # Errors
    /// As [`check`](Self::check); [`Error::Io`].
    pub(super) fn claim(&mut self, name: &str) -> Result<PathBuf> {
        self.check(name)?;
        let (path, at) = (self.path.join(name), self.path.join(INDEX));
        for path in self.old.drain().map(|name| self.path.join(name)) {
            remove(&path).map_err(|source| Error::io(&path, source))?;
        }
        let wrong = |source| Error::io(&at, source);
        let index = match &mut self.index {
            Some(index) => index,
            None => self.index.insert(File::create(&at).map_err(wrong)?),
        };
        writeln!(index, "{name}").map_err(wrong)?;
        Ok(path)
    }

    /// A name for the result of the image file `source`: its name with another `extension`, which is appended if the
    /// name is taken (`a.jpg`, `a.png`).
    pub(super) fn name_for(&mut self, source: &str, extension: &str) -> String {
        let source = Path::new(source);
        let text = |part: Option<&OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
        let name = format!("{}.{extension}", text(source.file_stem()));
        if self.names.insert(name.clone()) { name } else { format!("{}.{extension}", text(source.file_name())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_when_it_is_published_or_finished() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let to = Destination(path.clone());
        let read = || fs::read_to_string(&path).unwrap();
        fs::write(&path, "old").unwrap();
        let mut output = Output::create(&to).unwrap();
        output.append(b"1\n").unwrap();
        assert_eq!(read(), "old");
        output.finish().unwrap();
        assert_eq!(read(), "1\n");
        let mut output = Output::create(&to).unwrap();
        assert_eq!(read(), "1\n");
        output.append(b"2\n").unwrap();
        output.publish().unwrap();
        assert_eq!(read(), "2\n");
        output.append(b"3\n").unwrap();
        assert_eq!(read(), "2\n3\n");
        drop((output, Output::create(&to).unwrap()));
        assert_eq!(read(), "2\n3\n", "an output without frames changes nothing");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn destinations_that_cannot_be_written_are_errors_at_once() {
        let folder = tempfile::tempdir().unwrap();
        for wrong in [folder.path().to_path_buf(), folder.path().join("none/out.csv")] {
            let error = Output::create(&Destination(wrong.clone())).err().unwrap().to_string();
            assert!(error.contains(wrong.to_str().unwrap()), "{error}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_an_error_with_the_path() {
        let mut output = Output::create(&Path::new("/dev/full").into()).unwrap();
        let error = output.append(b"one\n").unwrap_err();
        assert!(error.to_string().starts_with("/dev/full: ") && !error.is_broken_pipe(), "{error}");
    }

    #[test]
    fn two_outputs_at_one_place_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = ["a.csv", "b.csv"].map(|name| Destination(folder.path().join(name)));
        let pictures = Destination(folder.path().to_path_buf());
        let stdout = Destination("-".into());
        assert!(check_distinct(&[("--csv", false, &a), ("--mot", false, &b)]).is_ok());
        assert!(check_distinct(&[("--csv", false, &a), ("--mot", false, &a)]).is_err());
        assert!(check_distinct(&[("--csv", false, &stdout), ("--mot", false, &stdout)]).is_err());
        let error = check_distinct(&[("--csv", false, &a), ("--overlay", true, &pictures)]).unwrap_err();
        assert!(error.to_string().contains("--overlay"), "{error}");
    }

    fn visible(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| !name.starts_with('.')).collect();
        names.sort();
        names
    }

    #[test]
    fn a_rerun_removes_the_files_of_the_run_before_and_no_others() {
        let parent = tempfile::tempdir().unwrap();
        let at = parent.path();
        let run = |names: &[&str]| -> Result<()> {
            let mut folder = Folder::create(at)?;
            for name in names {
                fs::write(folder.claim(name)?, "ours").unwrap();
            }
            Ok(())
        };
        fs::write(at.join("mine.png"), "mine").unwrap();
        run(&["1.png", "2.png", "3.png"]).unwrap();
        run(&["2.png"]).unwrap();
        assert_eq!(visible(at), ["2.png", "mine.png"]);
        assert!(run(&["2.png", "mine.png"]).unwrap_err().to_string().contains("not from a run"));
        assert_eq!(fs::read_to_string(at.join("mine.png")).unwrap(), "mine");
        run(&[]).unwrap();
        assert_eq!(visible(at), ["2.png", "mine.png"], "a run without files removes nothing");
        // Names in a modified index do not lead out of the folder.
        fs::create_dir(at.join("out")).unwrap();
        fs::write(at.join("out").join(INDEX), "../mine.png\n/mine.png\n..\n").unwrap();
        Folder::create(&at.join("out")).unwrap().claim("1.png").unwrap();
        assert_eq!(visible(at), ["2.png", "mine.png", "out"]);
    }

    #[test]
    fn names_do_not_collide() {
        let parent = tempfile::tempdir().unwrap();
        let mut folder = Folder::create(&parent.path().join("new/and/deep")).unwrap();
        assert_eq!(folder.name_for("0001.jpg", "npy"), "0001.npy");
        assert_eq!(folder.name_for("0001.png", "npy"), "0001.png.npy");
        assert_eq!(folder.name_for("../up/0003.png", "npy"), "0003.npy");
    }

    #[test]
    fn a_file_is_not_a_folder() {
        let parent = tempfile::tempdir().unwrap();
        let file = parent.path().join("file");
        fs::write(&file, "").unwrap();
        for wrong in [file.as_path(), &file.join("below")] {
            assert!(matches!(Folder::create(wrong), Err(Error::Output { path, .. }) if path == wrong));
        }
    }
}
