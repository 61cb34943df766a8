//! A folder of results, one or more files a frame.

use std::collections::HashSet;
use std::fs::{self, File};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use image::ImageError;

use crate::error::{Error, Result};
use crate::replace::{parent, replace, temporary_beside};

/// A folder that files are put into, each whole or not at all.
pub(super) struct Folder {
    path: PathBuf,
    real_path: PathBuf,
    /// Hashes of the names given so far: eight bytes a frame.
    names: HashSet<u64>,
}

impl Folder {
    /// Makes the folder, with those above it, and checks that it can be written to.
    ///
    /// # Errors
    /// [`Error::Output`], which says why not and what to do.
    pub(super) fn create(path: &Path) -> Result<Self> {
        let wrong = |advice: &str| {
            let advice = advice.to_owned();
            move |error: io::Error| Error::Output { path: path.into(), reason: format!("{error}; {advice}") }
        };
        if fs::metadata(path).is_ok_and(|there| !there.is_dir()) {
            return Err(Error::Output {
                path: path.into(),
                reason: "it is no folder; name a folder, new or old".into(),
            });
        }
        fs::create_dir_all(path).map_err(wrong("name a folder that can be made"))?;
        let real_path = fs::canonicalize(path).map_err(wrong("name another folder"))?;
        temporary_beside(&path.join("probe")).map_err(wrong("name a folder that can be written to"))?;
        Ok(Self { path: path.into(), real_path, names: HashSet::new() })
    }

    /// A name for the result of the image file `source`: the same name, with `extension` in place of its own. Where
    /// that was given before (`a.jpg`, `a.png`), `extension` is added to the full name.
    pub(super) fn name_for(&mut self, source: &str, extension: &str) -> String {
        let source = Path::new(source);
        let of = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
        let name = format!("{}.{extension}", of(source.file_stem()));
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(&name);
        if self.names.insert(hash) { name } else { format!("{}.{extension}", of(source.file_name())) }
    }

    /// Refuses to write where the frames are read from: a result could take the name of a frame and replace it.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub(super) fn refuse_frames(&self, frame: Option<&Path>) -> Result<()> {
        let folder = frame.and_then(|frame| fs::canonicalize(parent(frame)).ok());
        if folder.as_ref() == Some(&self.real_path) {
            let reason = "the frames are read from here, and one of them could be replaced; name another folder";
            return Err(Error::Output { path: self.path.clone(), reason: reason.into() });
        }
        Ok(())
    }

    /// Puts what `write` writes into the file `name`.
    pub(super) fn put(
        &self,
        name: &str,
        write: impl FnOnce(&mut BufWriter<&File>) -> Result<(), ImageError>,
    ) -> Result<()> {
        let path = self.path.join(name);
        let written = replace(&path, |file| {
            write(file).map_err(|error| match error {
                ImageError::IoError(error) => error,
                other => io::Error::other(other),
            })
        });
        written.map(drop).map_err(|source| Error::io(path, source))
    }

    /// The path of a file in the folder.
    pub(super) fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_collide() {
        let parent = tempfile::tempdir().unwrap();
        let mut folder = Folder::create(&parent.path().join("new/and/deep")).unwrap();
        assert_eq!(folder.name_for("0001.jpg", "npy"), "0001.npy");
        assert_eq!(folder.name_for("0002.jpg", "npy"), "0002.npy");
        assert_eq!(folder.name_for("0001.png", "npy"), "0001.png.npy");
        assert_eq!(folder.name_for("../up/0003.png", "npy"), "0003.npy");
    }

    #[test]
    fn what_is_no_folder_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let file = parent.path().join("file");
        fs::write(&file, "").unwrap();
        for wrong in [file.as_path(), &file.join("below"), Path::new("")] {
            assert!(matches!(Folder::create(wrong), Err(Error::Output { path, .. }) if path == wrong));
        }
        #[cfg(target_os = "linux")]
        assert!(matches!(Folder::create(Path::new("/proc/maps")), Err(Error::Output { .. })));
        #[cfg(target_os = "linux")]
        assert!(matches!(Folder::create(Path::new("/proc")), Err(Error::Output { .. })));
    }

    #[test]
    fn the_folder_of_the_frames_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let folder = Folder::create(&parent.path().join("out")).unwrap();
        folder.refuse_frames(Some(&parent.path().join("0001.jpg"))).unwrap();
        folder.refuse_frames(None).unwrap();
        assert!(folder.refuse_frames(Some(&parent.path().join("out/../out/0001.jpg"))).is_err());
    }
}
