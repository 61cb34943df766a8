//! Files that appear whole or not at all: written beside their place, then renamed.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tempfile::{Builder, NamedTempFile};

use crate::error::{Error, Result};

/// A file under construction. [`commit`](Self::commit) renames it over its target; dropped before that, it leaves the
/// old file.
#[derive(Debug)]
pub(crate) struct AtomicFile {
    pub(crate) file: BufWriter<NamedTempFile>,
    target: PathBuf,
    /// The time of its last change that the finished file gets.
    pub(crate) changed: Option<SystemTime>,
}

impl AtomicFile {
    /// Creates a temporary file in the folder of `path`. A link stays; the file behind it is replaced.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        Ok(Self { file: BufWriter::new(temporary_beside(&target)?), target, changed: None })
    }

    /// Path of the finished file.
    #[cfg(feature = "cli")]
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Path of the temporary file, for a program that writes it.
    #[cfg(feature = "cli")]
    pub(crate) fn temporary_path(&self) -> &Path {
        self.file.get_ref().path()
    }

    /// Writes the whole file and puts it in its place.
    ///
    /// # Errors
    /// [`Error::Io`] with the path.
    #[cfg(feature = "cli")]
    pub(crate) fn finish(mut self, contents: &[u8]) -> Result<()> {
        let target = self.target.clone();
        let written = self.file.write_all(contents).and_then(|()| self.commit(false));
        written.map(drop).map_err(|source| Error::io(&target, source))
    }

    /// Puts the file in its place and returns it, open. If `durable`, its contents are on the disk before its name is,
    /// so that a crash of the machine leaves the old file or the new one.
    pub(crate) fn commit(self, durable: bool) -> io::Result<File> {
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        if let Some(changed) = self.changed {
            file.as_file().set_modified(changed)?;
        }
        if durable {
            file.as_file().sync_all()?;
        }
        file.persist(&self.target).map_err(|error| error.error)
    }
}

/// Writes a file, and makes the folders above it.
///
/// # Errors
/// [`Error::Io`] with the path.
pub(crate) fn write(path: &Path, contents: &[u8]) -> Result<()> {
    replace(path, contents, false)
}

fn replace(path: &Path, contents: &[u8], durable: bool) -> Result<()> {
    let folder = parent(path);
    fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
    let replace = || {
        let mut file = AtomicFile::create(path)?;
        file.file.write_all(contents)?;
        file.commit(durable)
    };
    replace().map(drop).map_err(|e| Error::io(path, e))
}

/// [Writes](write) a JSON document for people, indented and with a line end.
///
/// # Errors
/// As [`write`].
#[cfg(any(feature = "cli", feature = "synth"))]
pub(crate) fn write_json(path: &Path, document: &impl serde::Serialize) -> Result<()> {
    let mut text = serde_json::to_vec_pretty(document).map_err(|e| Error::io(path, e.into()))?;
    text.push(b'\n');
    replace(path, &text, true)
}

/// The folder that contains a path.
pub(crate) fn parent(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The same path for all names of a file, also of one that is not there yet; `None` if its folder is not there.
#[cfg(feature = "cli")]
pub(crate) fn real(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok().or_else(|| Some(parent(path).canonicalize().ok()?.join(path.file_name()?)))
}

/// Beginning and end of the names of temporary files.
const TEMPORARY: (&str, &str) = (".kcf-", ".tmp");

/// Removes the temporary files that killed runs have left in a folder; those of other runs are locked.
#[cfg(feature = "cli")]
pub(crate) fn remove_leftovers(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (name, is_file) = (entry.file_name(), entry.file_type().is_ok_and(|kind| kind.is_file()));
        let is_ours = name.to_str().is_some_and(|name| name.starts_with(TEMPORARY.0) && name.ends_with(TEMPORARY.1));
        // On a file system without locks nothing is removed.
        if is_ours && is_file && File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// An empty temporary file in the folder of `path`, with the permissions that `path` has or would have.
pub(crate) fn temporary_beside(path: &Path) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    builder.prefix(TEMPORARY.0).suffix(TEMPORARY.1);
    // tempfile's default is 0600; an output gets the usual permissions.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let folder = parent(path);
    // The error of a missing folder has no temporary name.
    let file = builder.tempfile_in(folder).map_err(|error| fs::metadata(folder).err().unwrap_or(error))?;
    let _ = file.as_file().try_lock();
    if let Ok(old) = fs::metadata(path) {
        file.as_file().set_permissions(old.permissions())?;
    }
    Ok(file)
}

/// Removes a file; a missing file is not an error.
#[cfg(feature = "cli")]
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// When a file was written; `None` if there is none.
#[cfg(feature = "cli")]
pub(crate) fn written(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|file| file.modified()).ok()
}

/// A name beside `path` that no file has: with `.why-1` or a higher number.
#[cfg(feature = "cli")]
pub(crate) fn free_beside(path: &Path, why: &str) -> PathBuf {
    let name = |n: usize| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{why}-{n}"));
        PathBuf::from(name)
    };
    (1..).map(name).find(|name| !name.exists()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_whole_or_stays_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        write(&path, b"old").unwrap();
        let mut failed = AtomicFile::create(&path).unwrap();
        failed.file.write_all(b"new").unwrap();
        drop(failed);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file stays");
    }

    #[test]
    #[cfg(feature = "cli")]
    fn leftovers_are_removed_and_files_in_use_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in [".kcf-abc.tmp", ".kcf-abc", "kcf-abc.tmp"] {
            fs::write(at(name), "").unwrap();
        }
        let in_use = AtomicFile::create(&at("out")).unwrap();
        remove_leftovers(folder.path());
        assert!(!at(".kcf-abc.tmp").exists() && at(".kcf-abc").exists() && at("kcf-abc.tmp").exists());
        in_use.commit(true).unwrap();
        assert!(at("out").exists());
    }

    #[test]
    #[cfg(unix)]
    fn permissions_and_links_of_the_old_file_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let folder = tempfile::tempdir().unwrap();
        let [usual, ours, link] = ["usual", "ours", "link"].map(|name| folder.path().join(name));
        fs::write(&usual, "").unwrap();
        write(&ours, b"1").unwrap();
        assert_eq!(mode(&ours), mode(&usual));
        fs::set_permissions(&ours, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&ours, &link).unwrap();
        write(&link, b"2").unwrap();
        assert_eq!((mode(&ours), fs::read(&ours).unwrap()), (0o640, b"2".to_vec()));
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }
}
