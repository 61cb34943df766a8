//! Files that are there whole or not at all: written beside their place, then renamed.

use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use tempfile::{Builder, NamedTempFile};

/// How the names of temporary files begin. Those that a killed run leaves behind are known by it.
pub(crate) const PREFIX: &str = ".kcf-";

/// The folder that a path lies in.
pub(crate) fn parent(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// An empty temporary file in the folder of `path`, with the permissions that `path` has or would have.
pub(crate) fn temporary_beside(path: &Path) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    builder.prefix(PREFIX).suffix(".tmp");
    // A temporary file is the owner's alone by default; a result is anybody's, less the umask.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let file = builder.tempfile_in(parent(path))?;
    if let Some(old) = permissions(path) {
        file.as_file().set_permissions(old)?;
    }
    Ok(file)
}

fn permissions(path: &Path) -> Option<Permissions> {
    fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|there| there.permissions())
}

/// Puts what `write` writes in the place of `path`, and gives the file, to be written on.
pub(crate) fn replace(path: &Path, write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>) -> io::Result<File> {
    let file = temporary_beside(path)?;
    let mut buffered = BufWriter::new(file.as_file());
    write(&mut buffered)?;
    buffered.flush()?;
    drop(buffered);
    file.persist(path).map_err(|error| error.error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_file_stays_until_the_new_one_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "old").unwrap();
        let failed = replace(&path, |file| {
            file.write_all(b"new, but")?;
            assert_eq!(fs::read_to_string(&path).unwrap(), "old");
            Err(io::ErrorKind::StorageFull.into())
        });
        assert!(failed.is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        replace(&path, |file| file.write_all(b"new")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    #[cfg(unix)]
    fn permissions_are_those_of_any_other_file() {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let folder = tempfile::tempdir().unwrap();
        let (usual, ours) = (folder.path().join("usual"), folder.path().join("ours"));
        fs::write(&usual, "").unwrap();
        replace(&ours, |file| file.write_all(b"1")).unwrap();
        assert_eq!(mode(&ours), mode(&usual));
        // Those of an old file are kept.
        fs::set_permissions(&ours, Permissions::from_mode(0o640)).unwrap();
        replace(&ours, |file| file.write_all(b"2")).unwrap();
        assert_eq!(mode(&ours), 0o640);
    }
}
