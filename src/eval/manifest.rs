//! The folder of an evaluation: what is computed in it, and whether it may be used.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::metrics::Toolkit;
use super::preset::Preset;
use super::protocol::Protocol;
use super::store::{from_bytes, write_whole};
use crate::error::{Error, Result};
use crate::media::annotation::Base;
use crate::media::layout::EVALUATION;

/// The document `evaluation.json` in the folder of an evaluation: what it was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// `kcf-track-evaluation/3`.
    pub schema: String,
    /// Version of the program.
    pub version: String,
    /// Folder of the sequences.
    pub data: PathBuf,
    /// Names of wanted sequences; empty for all.
    pub sequences: Vec<String>,
    /// Trackers that are run, with all their settings.
    pub trackers: Vec<Preset>,
    /// Names and folders of results that are read.
    pub results: Vec<(String, PathBuf)>,
    /// What the first pixel counts as in all truth files; null for what their names stand for.
    pub base: Option<Base>,
    /// The protocol.
    pub protocol: Protocol,
    /// The toolkit.
    pub toolkit: Toolkit,
}

impl Manifest {
    /// The identifier of this document's form.
    pub const SCHEMA: &'static str = "kcf-track-evaluation/3";
    const FILE: &'static str = EVALUATION;

    /// Reads that of an evaluation's folder.
    ///
    /// # Errors
    /// [`Error::Io`] when there is none, [`Error::Evaluation`] when it cannot be understood.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(Self::FILE);
        let text = fs::read(&path).map_err(|e| Error::io(&path, e))?;
        let wrong = |reason: String| Error::Evaluation { what: path.display().to_string(), reason };
        let manifest: Self = from_bytes(&text).map_err(wrong)?;
        if manifest.schema != Self::SCHEMA {
            return Err(wrong(format!("it is of form {}, not {}", manifest.schema, Self::SCHEMA)));
        }
        Ok(manifest)
    }

    /// Makes `folder` the one of this evaluation. A new or empty folder may be used; one that holds an evaluation only
    /// to `resume` it, which keeps its runs; any other is left alone.
    ///
    /// # Errors
    /// [`Error::Parameter`] when the folder may not be used, [`Error::Io`] when it cannot be written.
    pub fn claim(&self, folder: &Path, resume: bool) -> Result<()> {
        let refuse = |expected| Err(refused(folder, expected));
        match fs::read_dir(folder) {
            Ok(mut entries) => {
                let occupied = entries.next().is_some();
                let ours = folder.join(Self::FILE).is_file();
                match (occupied, ours, resume) {
                    (false, ..) | (true, true, true) => {}
                    (true, true, false) => {
                        return refuse("it holds an evaluation: resume it, or give another folder");
                    }
                    (true, false, _) => {
                        return refuse("it holds something else and is left as it is: give a new or empty folder");
                    }
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {
                return refuse("it is a file: give a folder");
            }
            Err(error) => return Err(Error::io(folder, error)),
        }
        let path = folder.join(Self::FILE);
        let mut text = serde_json::to_vec_pretty(self).map_err(|e| Error::io(&path, e.into()))?;
        text.push(b'\n');
        write_whole(&path, &text)
    }
}

fn refused(folder: &Path, expected: &str) -> Error {
    Error::Parameter { name: "out", value: folder.display().to_string(), expected: expected.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        Manifest {
            schema: Manifest::SCHEMA.into(),
            version: "0.1.0".into(),
            data: "data".into(),
            sequences: vec![],
            trackers: vec![Preset::named("paper").unwrap()],
            results: vec![],
            base: None,
            protocol: Protocol::Ope,
            toolkit: Toolkit::Otb,
        }
    }

    #[test]
    fn a_folder_with_other_content_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let (new, empty, other) = (dir.path().join("a/b"), dir.path().join("empty"), dir.path().join("other"));
        fs::create_dir(&empty).unwrap();
        fs::create_dir(&other).unwrap();
        fs::write(other.join("thesis.tex"), "years of work").unwrap();
        manifest().claim(&new, false).unwrap();
        manifest().claim(&empty, false).unwrap();
        assert_eq!(Manifest::read(&empty).unwrap(), manifest());
        assert!(manifest().claim(&empty, false).unwrap_err().to_string().contains("resume it"));
        manifest().claim(&empty, true).unwrap();
        for resume in [false, true] {
            assert!(manifest().claim(&other, resume).unwrap_err().to_string().contains("something else"));
            assert_eq!(fs::read_dir(&other).unwrap().count(), 1);
        }
        assert!(manifest().claim(&other.join("thesis.tex"), false).is_err());
        assert!(Manifest::read(&other).is_err());
    }
}
