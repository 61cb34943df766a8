//! A folder of results, one or more files a frame.

use std::collections::HashSet;
use std::fs::{self, File};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use image::ImageError;

use crate::error::{Error, Result};
use crate::media::layout::INDEX;
use crate::replace::{parent, remove, replace, sweep, temporary_beside};

/// A folder that files are put into, each whole or not at all. A run removes what an earlier one has put there, and no
/// other file.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    real_path: PathBuf,
    /// Hashes of the names given so far: eight bytes a frame.
    names: HashSet<u64>,
    /// What an earlier run has put here, until this one puts its first file.
    old: Option<HashSet<String>>,
    index: Option<File>,
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
        sweep(path);
        let text = fs::read_to_string(path.join(INDEX)).unwrap_or_default();
        // A name that leads out of the folder was not written by a run.
        let plain = |name: &&str| Path::new(name).file_name() == Some(name.as_ref());
        let old = text.lines().filter(plain).map(String::from).collect();
        Ok(Self { path: path.into(), real_path, names: HashSet::new(), old: Some(old), index: None })
    }

    /// Refuses a name under which a file lies that no run has put here.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub(super) fn refuse_foreign(&self, name: &str) -> Result<()> {
        let path = self.path.join(name);
        let ours = self.old.as_ref().is_some_and(|old| old.contains(name));
        if ours || fs::symlink_metadata(&path).is_err() {
            return Ok(());
        }
        Err(Error::Output {
            path,
            reason: "a file that no run has written here is not replaced; name another folder".into(),
        })
    }

    /// Notes that this run puts a file here. The first removes all files of an earlier run.
    ///
    /// # Errors
    /// As [`Folder::refuse_foreign`]; [`Error::Io`].
    pub(super) fn claim(&mut self, name: &str) -> Result<()> {
        self.refuse_foreign(name)?;
        let at = self.path.join(INDEX);
        let io = |source| Error::io(&at, source);
        if let Some(old) = self.old.take() {
            for path in old.iter().map(|name| self.path.join(name)) {
                remove(&path).map_err(|source| Error::io(&path, source))?;
            }
            self.index = Some(File::create(&at).map_err(io)?);
        }
        let line = format!("{name}\n");
        self.index.as_mut().map_or(Ok(()), |index| index.write_all(line.as_bytes())).map_err(io)
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

    /// The path of a file in the folder.
    pub(super) fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

/// Puts what `write` writes into the file at `path`.
pub(super) fn put(path: &Path, write: impl FnOnce(&mut BufWriter<&File>) -> Result<(), ImageError>) -> Result<()> {
    let written = replace(path, |file| {
        write(file).map_err(|error| match error {
            ImageError::IoError(error) => error,
            other => io::Error::other(other),
        })
    });
    written.map(drop).map_err(|source| Error::io(path, source))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visible(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| !name.starts_with('.')).collect();
        names.sort();
        names
    }

    #[test]
    fn a_rerun_leaves_no_file_of_the_run_before_and_replaces_none_of_others() {
        let parent = tempfile::tempdir().unwrap();
        let at = parent.path();
        let run = |names: &[&str]| -> Result<()> {
            let mut folder = Folder::create(at)?;
            for name in names {
                folder.claim(name)?;
                put(&folder.join(name), |file| Ok(file.write_all(b"ours")?))?;
            }
            Ok(())
        };
        fs::write(at.join("mine.png"), "mine").unwrap();
        run(&["1.png", "2.png", "3.png"]).unwrap();
        run(&["2.png"]).unwrap();
        assert_eq!(visible(at), ["2.png", "mine.png"]);
        assert!(run(&["2.png", "mine.png"]).unwrap_err().to_string().contains("no run has written here"));
        assert_eq!(fs::read_to_string(at.join("mine.png")).unwrap(), "mine");
        // A run that wrote nothing removes nothing.
        run(&[]).unwrap();
        assert_eq!(visible(at), ["2.png", "mine.png"]);
        // An index that was tampered with leads nowhere else.
        fs::create_dir(at.join("out")).unwrap();
        fs::write(at.join("out").join(INDEX), "../mine.png\n/mine.png\n..\n").unwrap();
        let mut folder = Folder::create(&at.join("out")).unwrap();
        folder.claim("1.png").unwrap();
        assert_eq!(visible(at), ["2.png", "mine.png", "out"]);
    }

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
