//! The folder of an evaluation: what is computed in it, and whether it may be used.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::preset::Preset;
use super::protocol::Protocol;
use super::rules::Toolkit;
use super::store::{from_bytes, write_whole};
use crate::error::{Error, Result};
use crate::media::layout::EVALUATION;

/// The document `evaluation.json` in the folder of an evaluation: what it was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// `kcf-track-evaluation/2`.
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
    /// The protocol.
    pub protocol: Protocol,
    /// The toolkit.
    pub toolkit: Toolkit,
    /// The part `i/n` that is computed; null for all.
    pub shard: Option<String>,
}

impl Manifest {
    /// The identifier of this document's form.
    pub const SCHEMA: &'static str = "kcf-track-evaluation/2";
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

    /// As [`Manifest::claim`], for an evaluation that is put together of shards: a folder where it came to no report
    /// may be used again, also if sequences or results lay elsewhere.
    ///
    /// # Errors
    /// As [`Manifest::claim`].
    pub fn claim_to_merge(&self, folder: &Path) -> Result<()> {
        let alike = Self::read(folder).is_ok_and(|there| there.is_alike(self));
        let reported = folder.join("report.json").exists();
        match (folder.join(Self::FILE).is_file(), alike, reported) {
            (true, false, _) => Err(refused(folder, "it holds another evaluation: give a new or empty folder")),
            (true, true, true) => Err(refused(folder, "its report is there already: give a new or empty folder")),
            (there, ..) => self.claim(folder, there),
        }
    }

    /// Whether another one asks for the same, be it in other places: machines may keep the same data anywhere.
    fn is_alike(&self, other: &Self) -> bool {
        let names = |m: &Self| m.results.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        let there = Self { data: self.data.clone(), results: self.results.clone(), ..other.clone() };
        there == *self && names(self) == names(other)
    }

    /// Takes the results of these names from other folders.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a name that there are no results of.
    pub fn move_results(&mut self, folders: &[(String, PathBuf)]) -> Result<()> {
        for (name, folder) in folders {
            let Some((_, place)) = self.results.iter_mut().find(|(there, _)| there == name) else {
                let there: Vec<&str> = self.results.iter().map(|(name, _)| name.as_str()).collect();
                let there = if there.is_empty() { "none".into() } else { there.join(", ") };
                return Err(Error::Parameter {
                    name: "results",
                    value: name.clone(),
                    expected: format!("the name of results that the shards have: the shards have {there}"),
                });
            };
            place.clone_from(folder);
        }
        Ok(())
    }

    /// Checks that `parts` are all the shards of one evaluation, and gives that one.
    ///
    /// # Errors
    /// [`Error::Evaluation`] naming what is missing, doubled or different.
    pub fn of_shards(parts: &[(PathBuf, Self)]) -> Result<Self> {
        let wrong = |reason: String| Err(Error::Evaluation { what: "merge".into(), reason });
        let Some((first_folder, first)) = parts.first() else { return wrong("there is no shard".into()) };
        let whole = Self { shard: None, ..first.clone() };
        let mut count = None;
        let mut seen: Vec<(usize, &Path)> = Vec::new();
        for (folder, part) in parts {
            let shard: super::shard::Shard = match &part.shard {
                Some(shard) => shard.parse()?,
                None => return wrong(format!("{} is no shard but a whole evaluation", folder.display())),
            };
            let same = whole.is_alike(&Self { shard: None, ..part.clone() });
            if !same || *count.get_or_insert(shard.count()) != shard.count() {
                return wrong(format!("{} and {} are not of one evaluation", first_folder.display(), folder.display()));
            }
            if let Some((_, other)) = seen.iter().find(|(index, _)| *index == shard.index()) {
                return wrong(format!("{} and {} are both shard {shard}", other.display(), folder.display()));
            }
            seen.push((shard.index(), folder));
        }
        let count = count.unwrap_or(0);
        let missing: Vec<String> =
            (1..=count).filter(|i| !seen.iter().any(|(index, _)| index == i)).map(|i| format!("{i}/{count}")).collect();
        if !missing.is_empty() {
            return wrong(format!("shard {} is missing", missing.join(", ")));
        }
        Ok(whole)
    }
}

fn refused(folder: &Path, expected: &str) -> Error {
    Error::Parameter { name: "out", value: folder.display().to_string(), expected: expected.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(shard: Option<&str>) -> Manifest {
        Manifest {
            schema: Manifest::SCHEMA.into(),
            version: "0.1.0".into(),
            data: "data".into(),
            sequences: vec![],
            trackers: vec![Preset::named("paper").unwrap()],
            results: vec![],
            protocol: Protocol::Ope,
            toolkit: Toolkit::Otb,
            shard: shard.map(String::from),
        }
    }

    #[test]
    fn a_folder_with_other_content_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let (new, empty, other) = (dir.path().join("a/b"), dir.path().join("empty"), dir.path().join("other"));
        fs::create_dir(&empty).unwrap();
        fs::create_dir(&other).unwrap();
        fs::write(other.join("thesis.tex"), "years of work").unwrap();
        manifest(None).claim(&new, false).unwrap();
        manifest(None).claim(&empty, false).unwrap();
        assert_eq!(Manifest::read(&empty).unwrap(), manifest(None));
        assert!(manifest(None).claim(&empty, false).unwrap_err().to_string().contains("resume it"));
        manifest(None).claim(&empty, true).unwrap();
        for resume in [false, true] {
            assert!(manifest(None).claim(&other, resume).unwrap_err().to_string().contains("something else"));
            assert_eq!(fs::read_dir(&other).unwrap().count(), 1);
        }
        assert!(manifest(None).claim(&other.join("thesis.tex"), false).is_err());
        assert!(Manifest::read(&other).is_err());
    }

    #[test]
    fn shards_must_be_whole_and_alike() {
        let part = |shard: &str| (PathBuf::from(shard), manifest(Some(shard)));
        assert_eq!(Manifest::of_shards(&[part("2/2"), part("1/2")]).unwrap(), manifest(None));
        let message = |parts: &[(PathBuf, Manifest)]| Manifest::of_shards(parts).unwrap_err().to_string();
        assert!(message(&[part("1/3"), part("3/3")]).contains("2/3 is missing"));
        assert!(message(&[part("1/2"), part("1/2")]).contains("both shard 1/2"));
        assert!(message(&[part("1/2"), part("2/3")]).contains("not of one evaluation"));
        let mut other = part("2/2");
        other.1.toolkit = Toolkit::Matlab;
        assert!(message(&[part("1/2"), other]).contains("not of one evaluation"));
        assert!(message(&[("x".into(), manifest(None))]).contains("no shard"));
        assert!(message(&[]).contains("no shard"));
        let mut detector = part("2/2");
        detector.1.trackers = vec![Preset::named("fast").unwrap()];
        assert!(message(&[part("1/2"), detector]).contains("not of one evaluation"));
        let mut elsewhere = part("2/2");
        elsewhere.1.data = "/mnt/data".into();
        assert!(Manifest::of_shards(&[part("1/2"), elsewhere]).is_ok());
    }
}
