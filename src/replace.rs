//! Files that are there whole or not at all: written beside their place, then renamed.

use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use tempfile::{Builder, NamedTempFile};

/// How the names of temporary files begin and end. Those that a killed run leaves behind are known by it.
const PREFIX: &str = ".kcf-";
const SUFFIX: &str = ".tmp";

/// How often a new temporary file may be taken for a leftover before it is used as it is.
const ATTEMPTS: usize = 8;

/// The folder that a path lies in.
pub(crate) fn parent(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// An empty temporary file in the folder of `path`, with the permissions that `path` has or would have.
pub(crate) fn temporary_beside(path: &Path) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX);
    // A temporary file is the owner's alone by default; a result is anybody's, less the umask.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let file = locked(&builder, parent(path))?;
    if let Some(old) = permissions(path) {
        file.as_file().set_permissions(old)?;
    }
    Ok(file)
}

/// A temporary file that bears a lock for as long as its process lives, so that [`sweep`] leaves it alone.
fn locked(builder: &Builder<'_, '_>, folder: &Path) -> io::Result<NamedTempFile> {
    let mut file = builder.tempfile_in(folder)?;
    for _ in 0..ATTEMPTS {
        // A sweep may have come before the lock. A file system without locks has no sweep either.
        if file.as_file().lock().is_err() || file.path().exists() {
            break;
        }
        file = builder.tempfile_in(folder)?;
    }
    Ok(file)
}

/// Removes a file; that there is none is as well.
#[cfg(feature = "synth")]
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Removes the temporary files in `folder` whose process was killed. What cannot be removed stays.
pub(crate) fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        if !name.starts_with(PREFIX.as_bytes()) || !name.ends_with(SUFFIX.as_bytes()) {
            continue;
        }
        if !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        // Its writer holds a lock while it lives. This one is held until the file is gone.
        if let Ok(file) = File::options().write(true).open(entry.path())
            && file.try_lock().is_ok()
        {
            let _ = fs::remove_file(entry.path());
        }
    }
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
    let file = file.persist(path).map_err(|error| error.error)?;
    let _ = file.unlock();
    Ok(file)
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
    fn a_sweep_removes_what_a_killed_run_left_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join(".kcf-Ab12.tmp");
        for name in [".kcf-Ab12.tmp", "kcf-x.tmp", ".kcf-files", "mine.tmp"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        fs::create_dir(folder.path().join(".kcf-folder.tmp")).unwrap();
        let alive = temporary_beside(&folder.path().join("result")).unwrap();
        sweep(folder.path());
        assert!(!left.exists() && alive.path().exists());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 5);
        alive.persist(folder.path().join("result")).unwrap();
        sweep(&folder.path().join("none"));
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
