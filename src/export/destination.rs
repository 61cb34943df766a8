//! Where an output goes, checked before anything is computed.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::replace::{parent, sweep, temporary_beside};

/// A file, or `-` (`/dev/stdout`) for the standard output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// The standard output.
    Stdout,
    /// A file.
    File(PathBuf),
}

/// Other names of the standard output.
const STDOUT: [&str; 4] = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

/// Where names of what is open already begin: what lies behind them is written on, never replaced.
const OPEN: [&str; 3] = ["/dev/stderr", "/dev/fd/", "/proc/self/fd/"];

impl From<&Path> for Destination {
    fn from(path: &Path) -> Self {
        match STDOUT.iter().any(|name| path == Path::new(name)) {
            true => Self::Stdout,
            false => Self::File(path.to_path_buf()),
        }
    }
}

/// Also of a name that is no UTF-8.
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

    /// Checks that something can be written here, and removes what a killed run left of it.
    ///
    /// # Errors
    /// [`Error::Output`], which says why not and what to do.
    pub(super) fn probe(&self) -> Result<Target> {
        let Self::File(path) = self else { return Ok(Target::Stdout) };
        let wrong = |reason: String| Error::Output { path: path.clone(), reason };
        sweep(parent(path));
        if path.to_str().is_some_and(|path| OPEN.iter().any(|open| path.starts_with(open))) {
            let open = OpenOptions::new().append(true).open(path);
            return open.map(Target::Special).map_err(|error| wrong(format!("{error}; name a file")));
        }
        // The file behind a link is written, also when it is not there yet.
        if let Some(target) = dangling(path) {
            return Self::File(target).probe();
        }
        match fs::metadata(path) {
            Ok(there) if there.is_dir() => Err(wrong("it is a folder; name a file".into())),
            // Opened, but not emptied: the old content stays until there is something new.
            Ok(there) => match OpenOptions::new().write(true).open(path) {
                Err(error) => Err(wrong(format!("{error}; name another file or change its permissions"))),
                Ok(_) if there.is_file() => {
                    // The file behind a link is replaced, not the link.
                    let path = fs::canonicalize(path).map_err(|source| Error::io(path, source))?;
                    temporary_beside(&path).map_err(|error| wrong(folder_advice(&error)))?;
                    Ok(Target::File(path))
                }
                Ok(special) => Ok(Target::Special(special)),
            },
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if path.file_name().is_none() || ends_with_separator(path) {
                    return Err(wrong("it names no file; name a file in an existing folder".into()));
                }
                let folder = parent(path);
                match fs::metadata(folder) {
                    Ok(there) if !there.is_dir() => {
                        Err(wrong(format!("`{}` is no folder; name another one", folder.display())))
                    }
                    Ok(_) => {
                        temporary_beside(path).map_err(|error| wrong(folder_advice(&error)))?;
                        Ok(Target::File(path.clone()))
                    }
                    Err(_) => Err(wrong(format!("the folder `{}` does not exist; create it first", folder.display()))),
                }
            }
            Err(error) => Err(wrong(format!("{error}; name another file"))),
        }
    }

    /// Whether both are one place that only one may write to.
    #[cfg(feature = "eval")]
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.identity().is_some_and(|place| other.identity() == Some(place))
    }

    /// The same for two names of one place; none for devices, which any number of outputs may share.
    fn identity(&self) -> Option<PathBuf> {
        let Self::File(path) = self else { return Some("-".into()) };
        match fs::metadata(path) {
            Ok(there) if there.is_file() || there.is_dir() => fs::canonicalize(path).ok(),
            Ok(_) => None,
            Err(_) => {
                let target = dangling(path);
                let path = target.as_ref().unwrap_or(path);
                let folder = fs::canonicalize(parent(path)).unwrap_or_else(|_| parent(path).to_path_buf());
                Some(folder.join(path.file_name().unwrap_or(OsStr::new(""))))
            }
        }
    }
}

/// What a link leads to that leads to nothing.
fn dangling(path: &Path) -> Option<PathBuf> {
    /// Links that lead to links; a circle has no end.
    const MOST: usize = 8;
    let mut at = path.to_path_buf();
    for _ in 0..MOST {
        match fs::read_link(&at) {
            Ok(target) => at = parent(&at).join(target),
            Err(_) => return (at != path && !at.exists()).then_some(at),
        }
    }
    None
}

/// Endings of videos that can be written.
pub(super) const VIDEOS: [&str; 8] = ["mp4", "m4v", "mov", "mkv", "avi", "webm", "gif", "webp"];

/// Whether a path is one of a video, by its ending: mp4, m4v, mov, mkv, avi, webm, gif or webp.
pub fn is_video(path: &Path) -> bool {
    let ending = path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase);
    ending.is_some_and(|ending| VIDEOS.contains(&ending.as_str()))
}

/// What a path turned out to be.
#[derive(Debug)]
pub(super) enum Target {
    /// The standard output.
    Stdout,
    /// A regular file, there or to be, whose folder can be written to.
    File(PathBuf),
    /// A device or a named pipe, opened.
    Special(File),
}

fn ends_with_separator(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().last().is_some_and(|&byte| std::path::is_separator(byte.into()))
}

fn folder_advice(error: &io::Error) -> String {
    format!("{error}; it is first written beside its place, so its folder must be writable: name another one")
}

/// Checks that no two outputs go to the same place. Each is given with its command line flag without the dashes.
///
/// # Errors
/// [`Error::Parameter`] for the second of two.
pub fn check_distinct(outputs: &[(&'static str, &Destination)]) -> Result<()> {
    for (position, (name, destination)) in outputs.iter().enumerate() {
        let Some(identity) = destination.identity() else { continue };
        let taken = outputs[..position].iter().find(|(_, earlier)| earlier.identity().as_ref() == Some(&identity));
        if let Some((earlier, _)) = taken {
            return Err(Error::Parameter {
                name,
                value: destination.to_string(),
                expected: format!("--{earlier} is written there already: name another place"),
            });
        }
    }
    Ok(())
}

/// Checks that none of `files` lies in one of `folders`, where a frame's result could take its name. Each is given with
/// its command line flag without the dashes.
///
/// # Errors
/// [`Error::Parameter`] for the first that does.
pub fn check_outside(files: &[(&'static str, &Destination)], folders: &[(&'static str, &Destination)]) -> Result<()> {
    for (name, file) in files {
        let Some(identity) = file.identity().and_then(|path| std::path::absolute(path).ok()) else { continue };
        let around = folders.iter().find(|(_, folder)| {
            let folder = folder.identity().and_then(|path| std::path::absolute(path).ok());
            folder.is_some_and(|folder| identity != folder && identity.starts_with(folder))
        });
        if let (Some((folder, _)), Destination::File(_)) = (around, file) {
            return Err(Error::Parameter {
                name,
                value: file.to_string(),
                expected: format!(
                    "it lies in the folder of --{folder}, where a frame's result could replace it: name another place"
                ),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(path: &Path) -> String {
        match Destination::from(path).probe() {
            Err(Error::Output { path: named, reason }) => {
                assert_eq!(named, path);
                reason
            }
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("{} was accepted", path.display()),
        }
    }

    #[test]
    fn what_cannot_be_written_is_refused_with_advice() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "old").unwrap();
        assert!(refused(folder.path()).contains("it is a folder"));
        assert!(refused(&folder.path().join("no/run.json")).contains("does not exist; create it first"));
        assert!(refused(&folder.path().join("run.json/")).contains("names no file"));
        assert!(refused(Path::new("")).contains("names no file"));
        // Below a file, and with a name longer than any file system takes.
        assert!(refused(&file.join("run.json")).contains("name another file"));
        assert!(refused(&folder.path().join("x".repeat(5000))).contains("name another"));
        // Nothing was left and nothing was changed.
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert_eq!(fs::read_to_string(file).unwrap(), "old");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_folder_that_takes_no_files_is_refused() {
        // Not even root may create files here.
        assert!(refused(Path::new("/proc/run.json")).contains("folder must be writable"));
    }

    #[test]
    fn two_names_of_one_place_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let here = Destination::from(folder.path().join("a.json").as_path());
        let again = Destination::from(folder.path().join("./a.json").as_path());
        let other = Destination::from(folder.path().join("b.json").as_path());
        let (pipe, same_pipe): (Destination, Destination) = ("-".parse().unwrap(), "-".parse().unwrap());
        check_distinct(&[("json", &here), ("csv", &other), ("jsonl", &pipe)]).unwrap();
        let error = check_distinct(&[("json", &here), ("csv", &other), ("otb", &again)]).unwrap_err().to_string();
        assert!(error.starts_with("otb ") && error.contains("--json is written there"), "{error}");
        assert!(check_distinct(&[("json", &pipe), ("jsonl", &same_pipe)]).is_err());
        let null = Destination::from(Path::new("/dev/null"));
        #[cfg(unix)]
        check_distinct(&[("json", &null), ("jsonl", &null)]).unwrap();
    }

    #[test]
    fn a_file_in_a_folder_of_results_is_found() {
        let parent = tempfile::tempdir().unwrap();
        let at = |path: &str| Destination::File(parent.path().join(path));
        fs::create_dir(parent.path().join("maps")).unwrap();
        for (file, folder) in [("maps/0001.npy", "maps"), ("maps/../maps/run.json", "maps/"), ("new/a.csv", "new")] {
            let error = check_outside(&[("json", &at(file))], &[("response", &at(folder))]).unwrap_err().to_string();
            assert!(error.starts_with("json ") && error.contains("folder of --response"), "{error}");
        }
        for (file, folder) in [("run.json", "maps"), ("maps.csv", "maps"), ("maps/../run.json", "maps")] {
            check_outside(&[("json", &at(file))], &[("response", &at(folder))]).unwrap();
        }
        check_outside(&[("csv", &Destination::Stdout)], &[("overlay", &at("new"))]).unwrap();
    }

    #[test]
    #[cfg(unix)]
    fn a_link_and_its_file_are_one_place() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        // Also when there is no file yet: the link stays, and leads to it.
        let (new, early) = (folder.path().join("new"), folder.path().join("early"));
        std::os::unix::fs::symlink("new", &early).unwrap();
        for (file, link) in [(file, link), (new.clone(), early.clone())] {
            let (file, link) = (Destination::File(file), Destination::File(link));
            assert!(check_distinct(&[("json", &file), ("csv", &link)]).is_err());
        }
        assert!(matches!(Destination::File(early).probe(), Ok(Target::File(path)) if path == new));
        // A circle is an error as any other.
        let circle = folder.path().join("circle");
        std::os::unix::fs::symlink("circle", &circle).unwrap();
        assert!(Destination::File(circle).probe().is_err());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_is_open_already_is_written_on() {
        for name in ["/dev/stdout", "/dev/fd/1", "-"] {
            assert_eq!(Destination::from(Path::new(name)), Destination::Stdout);
        }
        assert!(matches!(Destination::from(Path::new("/dev/fd/2")).probe(), Ok(Target::Special(_))));
    }
}
