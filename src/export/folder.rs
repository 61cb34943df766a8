//! A folder of results.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::atomic_file::{remove, temporary_beside};
use crate::error::{Error, Result};
use crate::media::INDEX;

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

    /// Adds a file to the index and returns its path. The first one removes the files of an earlier run.
    ///
    /// # Errors
    /// [`Error::Output`] for a file that no run has put here; [`Error::Io`].
    pub(super) fn claim(&mut self, name: &str) -> Result<PathBuf> {
        let (path, at) = (self.path.join(name), self.path.join(INDEX));
        if !self.old.contains(name) && fs::symlink_metadata(&path).is_ok() {
            let reason = "this file is not from a run of this program; name another folder".into();
            return Err(Error::Output { path, reason });
        }
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
        let text = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
        let name = format!("{}.{extension}", text(source.file_stem()));
        if self.names.insert(name.clone()) { name } else { format!("{}.{extension}", text(source.file_name())) }
    }
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
