//! Files that appear whole or not at all: written beside their place, then renamed.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

use crate::error::{Error, Result};

/// A file under construction. [`commit`](Self::commit) renames it over its target; dropped before that, it leaves the
/// old file.
#[derive(Debug)]
pub(crate) struct AtomicFile {
    pub(crate) file: BufWriter<NamedTempFile>,
    target: PathBuf,
}

impl AtomicFile {
    /// Creates a temporary file in the folder of `path`. A link stays; the file behind it is replaced.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        Ok(Self { file: BufWriter::new(temporary_beside(&target)?), target })
    }

    /// Path of the temporary file, for a program that writes it.
    #[cfg(feature = "cli")]
    pub(crate) fn temporary_path(&self) -> &Path {
        self.file.get_ref().path()
    }

    /// Puts the file in its place and returns it, open.
    pub(crate) fn commit(self) -> io::Result<File> {
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.persist(&self.target).map_err(|error| error.error)
    }
}

/// Writes a file, and makes the folders above it.
///
/// # Errors
/// [`Error::Io`] with the path.
pub(crate) fn write(path: &Path, contents: &[u8]) -> Result<()> {
    let folder = parent(path);
    fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
    let replace = || {
        let mut file = AtomicFile::create(path)?;
        file.file.write_all(contents)?;
        file.commit()
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
    write(path, &text)
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

/// An empty temporary file in the folder of `path`, with the permissions that `path` has or would have.
pub(crate) fn temporary_beside(path: &Path) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    builder.prefix(".kcf-").suffix(".tmp");
    // tempfile's default is 0600; an output gets the usual permissions.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let folder = parent(path);
    // The error of a missing folder has no temporary name.
    let file = builder.tempfile_in(folder).map_err(|error| fs::metadata(folder).err().unwrap_or(error))?;
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
