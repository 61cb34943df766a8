//! Runs on disk: one file a tracker and sequence, whole or not there, so that nothing computed is lost or done twice.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::names::file_name;
use super::protocol::{Protocol, Start};
use super::runner::Trace;
use crate::atomic_file::{parent, replace};
use crate::error::{Error, Result};

/// What the runs of a file were made from. Runs are taken up again only if all of it is the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunKey {
    /// Version of the program.
    pub version: String,
    /// The tracker.
    pub tracker: String,
    /// Its parameters.
    pub parameters: serde_json::Value,
    /// The sequence.
    pub sequence: String,
    /// The frames.
    pub frames: FramesKey,
    /// The protocol.
    pub protocol: Protocol,
    /// Its starts, which stand for the labels.
    pub starts: Vec<Start>,
}

/// Which pictures the frames of a sequence are, so far as can be known without reading all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FramesKey {
    /// How many there are.
    pub count: usize,
    /// Checksum of their file names and sizes, and of all bytes of the first and the last.
    pub content: u32,
    /// Checksum of where they lie and when they were last changed, which differs between copies.
    pub place: u32,
}

impl FramesKey {
    /// Of these files. One that cannot be read has no size and no time.
    pub fn of(files: &[PathBuf]) -> Self {
        let (mut content, mut place) = (crc32fast::Hasher::new(), crc32fast::Hasher::new());
        for file in files {
            let metadata = fs::metadata(file).ok();
            // Each name ends with a byte that is in no name.
            content.update(file.file_name().unwrap_or_default().as_encoded_bytes());
            content.update(&[0]);
            content.update(&metadata.as_ref().map_or(0, fs::Metadata::len).to_le_bytes());
            let absolute = std::path::absolute(file).unwrap_or_else(|_| file.clone());
            place.update(absolute.as_os_str().as_encoded_bytes());
            place.update(&[0]);
            let changed = metadata.and_then(|there| there.modified().ok()?.duration_since(UNIX_EPOCH).ok());
            place.update(&changed.map_or(0, |since| since.as_nanos()).to_le_bytes());
        }
        for file in files.first().into_iter().chain(files.last()) {
            content.update(&fs::read(file).unwrap_or_default());
        }
        Self { count: files.len(), content: content.finalize(), place: place.finalize() }
    }
}

impl RunKey {
    /// Whether runs of `other` are of the same pictures, wherever these lie.
    fn is_alike(&self, other: &Self) -> bool {
        let frames = FramesKey { place: other.frames.place, ..self.frames.clone() };
        Self { frames, ..self.clone() } == *other
    }
}

#[derive(Serialize, Deserialize)]
struct RunFile {
    schema: String,
    key: RunKey,
    runs: Vec<Trace>,
    /// Why there are no runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failed: Option<String>,
}

const SCHEMA: &str = "kcf-track-runs/2";

/// The folder `runs/` of an evaluation.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
}

/// What the store knows about some runs.
#[derive(Debug, PartialEq)]
pub enum Stored {
    /// They are there.
    Runs(Vec<Trace>),
    /// They were tried and failed, and why.
    Failed(String),
    /// There is no such file.
    Absent,
    /// There is a file that cannot be used, and why.
    Unusable(String),
}

impl Store {
    /// The store in the folder of an evaluation.
    pub fn in_folder(out: &Path) -> Self {
        Self { root: out.join("runs") }
    }

    /// Where the runs of a key are.
    pub fn path(&self, key: &RunKey) -> PathBuf {
        self.root
            .join(key.protocol.name())
            .join(file_name(&key.tracker))
            .join(format!("{}.json", file_name(&key.sequence)))
    }

    /// The runs of `key`, if they were stored and made from the same files.
    pub fn load(&self, key: &RunKey) -> Stored {
        self.load_if(key, |stored| stored == key)
    }

    /// The runs of `key`, if they were stored and made from the same pictures, be it from a copy of them: shards are
    /// put together on another machine than they were made on.
    pub fn load_alike(&self, key: &RunKey) -> Stored {
        self.load_if(key, |stored| stored.is_alike(key))
    }

    fn load_if(&self, key: &RunKey, fits: impl Fn(&RunKey) -> bool) -> Stored {
        let path = self.path(key);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Stored::Absent,
            Err(error) => return Stored::Unusable(format!("{}: {error}", path.display())),
        };
        let complete = |runs: &[Trace]| {
            runs.len() == key.starts.len()
                && runs.iter().zip(&key.starts).all(|(run, start)| {
                    run.start == *start
                        && run.boxes.len() == key.frames.count - start.frame.min(key.frames.count)
                        && run.micros.len() == run.boxes.len()
                })
        };
        match from_bytes::<RunFile>(&bytes) {
            Err(error) => Stored::Unusable(format!("{}: {error}", path.display())),
            Ok(file) if file.schema != SCHEMA => Stored::Unusable(format!("{}: not of {SCHEMA}", path.display())),
            Ok(file) if !fits(&file.key) => Stored::Unusable(format!(
                "{}: made from other frames, labels, parameters or another version",
                path.display()
            )),
            Ok(RunFile { failed: Some(reason), .. }) => Stored::Failed(reason),
            Ok(file) if !complete(&file.runs) => Stored::Unusable(format!("{}: it is not complete", path.display())),
            Ok(file) => Stored::Runs(file.runs),
        }
    }

    /// Stores the runs of `key`.
    ///
    /// # Errors
    /// [`Error::Io`] when the file cannot be written.
    pub fn save(&self, key: &RunKey, runs: &[Trace]) -> Result<()> {
        self.write(key, runs.to_vec(), None)
    }

    /// Stores that the runs of `key` failed.
    ///
    /// # Errors
    /// As [`Store::save`].
    pub fn save_failure(&self, key: &RunKey, reason: &str) -> Result<()> {
        self.write(key, Vec::new(), Some(reason.to_owned()))
    }

    fn write(&self, key: &RunKey, runs: Vec<Trace>, failed: Option<String>) -> Result<()> {
        let file = RunFile { schema: SCHEMA.into(), key: key.clone(), runs, failed };
        let path = self.path(key);
        let text = serde_json::to_vec(&file).map_err(|e| Error::io(&path, e.into()))?;
        write_whole(&path, &text)
    }
}

/// Writes a file such that it is whole or, after a kill, the old one; folders on the way are made.
///
/// # Errors
/// [`Error::Io`] when it cannot be written.
pub fn write_whole(path: &Path, contents: &[u8]) -> Result<()> {
    let folder = parent(path);
    fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
    replace(path, |file| file.write_all(contents)).map_err(|e| Error::io(path, e))
}

/// Reads a document by way of a tree of values, as settings are read everywhere: for each way, the code of all their
/// types is compiled once more. The reason why it cannot be read, for a person.
pub(super) fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let tree = serde_json::from_slice::<serde_json::Value>(bytes)
        .map_err(|error| format!("it is damaged: no JSON from line {}, column {} on", error.line(), error.column()))?;
    serde_json::from_value(tree).map_err(|_| "it is not what this version of kcf-track writes there".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bbox::BBox;

    fn key() -> RunKey {
        RunKey {
            version: "0.1.0".into(),
            tracker: "paper".into(),
            parameters: serde_json::json!({"sigma": 0.5}),
            sequence: "Deer".into(),
            frames: FramesKey { count: 2, content: 7, place: 8 },
            protocol: Protocol::Ope,
            starts: vec![Start { frame: 0, init: BBox::new(1.0, 2.0, 3.0, 4.0) }],
        }
    }

    fn runs() -> Vec<Trace> {
        let init = BBox::new(1.0, 2.0, 3.0, 4.0);
        // A number whose shortest decimal a sloppy reader does not give back.
        let moved = init.translated(0.1 + 0.2, 1.0 / 3.0);
        vec![Trace { start: key().starts[0], boxes: vec![init, moved], micros: vec![10, 20] }]
    }

    #[test]
    fn runs_are_given_back_to_the_last_bit() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::in_folder(folder.path());
        assert_eq!(store.load(&key()), Stored::Absent);
        store.save(&key(), &runs()).unwrap();
        assert_eq!(store.load(&key()), Stored::Runs(runs()));
        store.save_failure(&key(), "truncated").unwrap();
        assert_eq!(store.load(&key()), Stored::Failed("truncated".into()));
    }

    #[test]
    fn runs_of_something_else_are_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::in_folder(folder.path());
        store.save(&key(), &runs()).unwrap();
        let other = RunKey { parameters: serde_json::json!({"sigma": 0.6}), ..key() };
        assert!(matches!(store.load(&other), Stored::Unusable(why) if why.contains("parameters")));
    }

    #[test]
    fn runs_of_other_pictures_are_not_used_and_those_of_a_copy_only_to_report() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::in_folder(folder.path());
        store.save(&key(), &runs()).unwrap();
        let frames = |content, place| RunKey { frames: FramesKey { count: 2, content, place }, ..key() };
        assert!(matches!(store.load(&frames(7, 9)), Stored::Unusable(why) if why.contains("other frames")));
        assert_eq!(store.load_alike(&frames(7, 9)), Stored::Runs(runs()));
        assert!(matches!(store.load_alike(&frames(6, 8)), Stored::Unusable(_)));
    }

    #[test]
    fn the_key_of_frames_knows_their_path_size_time_and_ends() {
        let folder = tempfile::tempdir().unwrap();
        let files = ["1.png", "2.png", "3.png"].map(|name| folder.path().join(name));
        let write = |place: usize, text: &str| fs::write(&files[place], text).unwrap();
        let at = |place: usize, seconds| {
            let time = UNIX_EPOCH + std::time::Duration::from_secs(seconds);
            fs::File::options().write(true).open(&files[place]).unwrap().set_modified(time).unwrap();
        };
        let reset = || {
            (0..3).for_each(|place| {
                write(place, "abc");
                at(place, 1000);
            });
            FramesKey::of(&files)
        };
        let key = reset();
        assert_eq!(FramesKey::of(&files), key);
        // Other bytes at the ends, another size in between.
        for (place, text) in [(0, "xbc"), (2, "abx"), (1, "abcd")] {
            reset();
            write(place, text);
            at(place, 1000);
            assert_ne!(FramesKey::of(&files).content, key.content, "{place}");
            assert_eq!(FramesKey::of(&files).place, key.place, "{place}");
        }
        // Painted over, and as large as before.
        reset();
        write(1, "xyz");
        at(1, 1001);
        let painted = FramesKey::of(&files);
        assert!(painted.content == key.content && painted.place != key.place);
        reset();
        let copy = tempfile::tempdir().unwrap();
        let copies = files.clone().map(|file| copy.path().join(file.file_name().unwrap()));
        files.iter().zip(&copies).for_each(|(from, to)| assert!(fs::copy(from, to).is_ok()));
        let copied = FramesKey::of(&copies);
        assert!(copied.content == key.content && copied.place != key.place);
        assert_ne!(FramesKey::of(&files[..2]), key);
        assert_ne!(FramesKey::of(&[]), key);
    }

    #[test]
    fn the_leftovers_of_a_killed_run_are_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::in_folder(folder.path());
        store.save(&key(), &runs()).unwrap();
        let path = store.path(&key());
        let text = fs::read(&path).unwrap();
        fs::write(&path, &text[..text.len() / 2]).unwrap();
        assert!(matches!(store.load(&key()), Stored::Unusable(_)));
        let mut short = runs();
        short[0].boxes.pop();
        store.save(&key(), &short).unwrap();
        assert!(matches!(store.load(&key()), Stored::Unusable(why) if why.contains("complete")));
    }

    #[test]
    fn runs_of_names_of_any_length_are_stored() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::in_folder(folder.path());
        for long in ["paper+".to_owned() + &"padding=2.125+".repeat(40), "é".repeat(300), "點".repeat(300)] {
            let long_key = RunKey { tracker: long.clone(), sequence: long.clone(), ..key() };
            store.save(&long_key, &runs()).unwrap();
            assert_eq!(store.load(&long_key), Stored::Runs(runs()));
        }
    }
}
