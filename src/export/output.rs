//! Destinations of outputs, the writer behind all of them, and the rule by which an old file is replaced: without `--force`
//! only a file that kcf-track has written, see [`Output::create`] and [`Folder`].

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::atomic_file::{AtomicFile, parent, real, remove, remove_leftovers, temporary_beside};
use crate::error::{Error, Result};
use crate::media::{INDEX, has_extension};
use crate::pipe;

/// A file, or `-` for the standard output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    path: PathBuf,
    /// Whether any old file is replaced.
    force: bool,
}

impl From<&Path> for Destination {
    fn from(path: &Path) -> Self {
        Self { path: if path == Path::new("/dev/stdout") { "-".into() } else { path.into() }, force: false }
    }
}

/// Converts names, also names that are not UTF-8.
impl From<OsString> for Destination {
    fn from(path: OsString) -> Self {
        Path::new(&path).into()
    }
}

impl std::fmt::Display for Destination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.path.display().fmt(f)
    }
}

impl Destination {
    /// A place whose old file is replaced, whatever it is.
    pub fn replaced(path: &Path) -> Self {
        Self { force: true, ..path.into() }
    }

    /// The same destination, which replaces any old file if `force` says so.
    #[must_use]
    pub fn forced(&self, force: bool) -> Self {
        Self { force, ..self.clone() }
    }

    /// A place in the folder.
    pub(super) fn join(&self, name: &str) -> Self {
        Self { path: self.path.join(name), force: self.force }
    }

    /// The path as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the destination is the standard output.
    pub fn is_stdout(&self) -> bool {
        self.path == Path::new("-")
    }

    /// Whether both destinations are one place.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.identity().is_some_and(|place| other.identity() == Some(place))
    }

    /// Key that is equal for two names of one file or folder; `None` for devices, which outputs may share.
    fn identity(&self) -> Option<PathBuf> {
        let is_device = fs::metadata(&self.path).is_ok_and(|there| !there.is_file() && !there.is_dir());
        match is_device {
            _ if self.is_stdout() => Some(self.path.clone()),
            true => None,
            false => real(&self.path),
        }
    }
}

/// Checks that no two outputs go to one place, and that no file lies in the folder of another output. Each output comes
/// with its flag and whether it is a folder.
///
/// # Errors
/// [`Error::Output`] for the second of two.
pub fn check_distinct(outputs: &[(&str, bool, &Destination)]) -> Result<()> {
    for (i, (flag, is_folder, to)) in outputs.iter().enumerate() {
        let Some(place) = to.identity() else { continue };
        for (j, (other_flag, other_is_folder, other)) in outputs.iter().enumerate() {
            let Some(other) = other.identity().filter(|_| i != j) else { continue };
            let inside = *other_is_folder && !is_folder && place.starts_with(&other);
            if inside || i > j && place == other {
                let reason = format!("{other_flag} writes there already; name another place for {flag}");
                return Err(Error::output(to.path(), reason));
            }
        }
    }
    Ok(())
}

/// The endings of videos that can be written.
pub(super) const VIDEOS: [&str; 8] = ["mp4", "m4v", "mov", "mkv", "avi", "webm", "gif", "webp"];

/// Whether the ending of a path is that of a video.
pub fn is_video(path: &Path) -> bool {
    has_extension(path, &VIDEOS)
}

/// An output under construction. A file replaces the old one at [`publish`](Self::publish) or [`finish`](Self::finish);
/// the standard output, pipes and devices are written at once.
pub(super) struct Output {
    path: PathBuf,
    to: To,
}

enum To {
    File(AtomicFile),
    Stream(Box<dyn Write + Send>),
}

/// First bytes of our JSON, CSV and JSON lines, and a mark in the first row of the latter.
const HEADS: [(&str, &str); 3] =
    [("{\"schema\":\"kcf-track/", ""), ("index,file,x,y,w,h,peak,psr,", ""), ("{\"index\":", "\"refit_kept\":")];

/// Marks near the beginning or the end of other files: COCO, Label Studio, CVAT and pages, videos.
const MARKS: [&str; 4] = [
    "\"description\":\"kcf-track ",
    "\"model_version\":\"kcf-track ",
    "<!-- kcf-track ",
    super::overlay_video::COMMENT,
];

/// Bytes of a file's beginning and end in which a mark may stand.
const MARKED_BYTES: u64 = 1 << 16;

/// Whether a file says that this program has written it. OTB, MOT, GIF and WebP have no place for that.
fn is_ours(file: &mut File) -> io::Result<bool> {
    let length = file.metadata()?.len();
    let mut read = |from: u64| {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(from))?;
        file.take(MARKED_BYTES).read_to_end(&mut bytes)?;
        io::Result::Ok(bytes)
    };
    let (head, tail) = (read(0)?, read(length.saturating_sub(MARKED_BYTES))?);
    let has = |mark: &&str| [&head, &tail].iter().any(|text| text.windows(mark.len()).any(|at| at == mark.as_bytes()));
    let begins = |(begin, more): &(&str, &str)| head.starts_with(begin.as_bytes()) && (more.is_empty() || has(more));
    Ok(HEADS.iter().any(begins) || MARKS.iter().any(has))
}

impl Output {
    /// Opens a file or a stream.
    ///
    /// # Errors
    /// [`Error::Output`] for a place that cannot be written to, and for a file that is neither empty nor
    /// [ours](is_ours), unless the destination says to replace it.
    pub(super) fn create(destination: &Destination) -> Result<Self> {
        let path = destination.path.clone();
        let wrong = |reason: String| Error::output(&path, reason);
        let io = |source| Error::io(&path, source);
        let to = match fs::metadata(&path) {
            _ if destination.is_stdout() => To::Stream(Box::new(pipe::stdout().map_err(io)?)),
            Ok(old) if old.is_dir() => return Err(wrong("it is a folder; name a file".into())),
            Ok(old) if !old.is_file() => To::Stream(Box::new(pipe::append(&path).map_err(io)?)),
            // Opening for writing finds a read-only file before a rename replaces it.
            Ok(old) => match OpenOptions::new().append(true).open(&path) {
                Err(error) => return Err(wrong(error.to_string())),
                Ok(open) if is_open_file(&path) => To::Stream(Box::new(open)),
                Ok(_) if destination.force || old.len() == 0 => To::file(&path)?,
                Ok(_) => match is_ours(&mut File::open(&path).map_err(io)?).map_err(io)? {
                    true => To::file(&path)?,
                    false => return Err(wrong(FOREIGN.into())),
                },
            },
            Err(_) => To::file(&path)?,
        };
        Ok(Self { path, to })
    }

    /// Path of the destination, for messages.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Path of the temporary file, for a program that writes it; `None` for a stream.
    pub(super) fn temporary_path(&self) -> Option<&Path> {
        match &self.to {
            To::File(file) => Some(file.temporary_path()),
            To::Stream(_) => None,
        }
    }

    /// Appends bytes.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let written = match &mut self.to {
            To::File(new) => new.file.write_all(bytes),
            To::Stream(out) => out.write_all(bytes).and_then(|()| out.flush()),
        };
        written.map_err(|source| Error::io(&self.path, source))
    }

    /// Puts a file in its place; it grows there from now on.
    pub(super) fn publish(&mut self) -> Result<()> {
        self.to = match std::mem::replace(&mut self.to, To::Stream(Box::new(io::sink()))) {
            To::File(file) => To::Stream(Box::new(file.commit(true).map_err(|source| Error::io(&self.path, source))?)),
            stream @ To::Stream(_) => stream,
        };
        Ok(())
    }

    /// Puts the file in its place.
    pub(super) fn finish(mut self) -> Result<()> {
        self.publish()
    }

    /// Writes a value as the whole document and finishes.
    pub(super) fn finish_json(mut self, value: &serde_json::Value) -> Result<()> {
        self.append(value.to_string().as_bytes())?;
        self.finish()
    }
}

/// Writes a whole file, or to a device, a pipe or the standard output.
///
/// # Errors
/// [`Error::Output`] for a place that cannot be written to; [`Error::Io`].
pub fn write_whole(to: &Destination, bytes: &[u8]) -> Result<()> {
    let mut output = Output::create(to)?;
    output.append(bytes)?;
    output.finish()
}

impl To {
    fn file(path: &Path) -> Result<Self> {
        remove_leftovers(parent(path));
        let wrong =
            |error: io::Error| Error::output(path, format!("in the folder {}: {error}", parent(path).display()));
        AtomicFile::create(path).map(Self::File).map_err(wrong)
    }
}

/// Whether a path names a file that this process has open, such as `/dev/stderr`, which a rename would detach.
fn is_open_file(path: &Path) -> bool {
    ["/dev", "/proc"].iter().any(|folder| path.starts_with(folder))
}

/// A folder that a run puts files into. An index lists them, so that the next run removes them and no other file: a line is
/// a name and a [`stamp`], since a name alone may be that of anybody's file.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// Names of this run.
    names: HashSet<String>,
    /// Names of an earlier run, until this one writes its first file.
    old: HashSet<String>,
    index: Option<File>,
    /// Whether files of others are replaced, too.
    force: bool,
}

/// The refusal of a file that is not ours.
const FOREIGN: &str =
    "the file there does not say that it is from kcf-track: name another place, or --force replaces it";

/// The refusal of a file that somebody has changed.
const CHANGED: &str = "it is not as kcf-track has written it: name another folder, or --force replaces it";

impl Folder {
    /// Creates the folder if needed and checks that it can be written.
    pub(super) fn create(to: &Destination) -> Result<Self> {
        let path = to.path();
        let wrong = |error: io::Error| Error::output(path, error.to_string());
        fs::create_dir_all(path).map_err(wrong)?;
        temporary_beside(&path.join("probe")).map_err(wrong)?;
        remove_leftovers(path);
        let index = path.join(INDEX);
        let text = match fs::symlink_metadata(&index) {
            Ok(there) if there.is_file() => pipe::read_text(&index).map_err(|source| Error::io(&index, source))?,
            Ok(_) => {
                return Err(Error::output(index, "it is no file of this program: remove it"));
            }
            Err(_) => String::new(),
        };
        // The last line of a name counts.
        let (mut old, mut listed) = (HashSet::new(), HashMap::new());
        listed.extend(text.lines().filter_map(|line| line.rsplit_once('\t')));
        for (name, written) in listed {
            let is_plain = Path::new(name).file_name() == Some(name.as_ref()) && name != INDEX;
            let Some(there) = fs::symlink_metadata(path.join(name)).ok().filter(|_| is_plain) else { continue };
            let known = [stamp(&there, None), stamp(&there, there.modified().ok())];
            match there.is_file() && known.iter().any(|known| known == written) {
                true => _ = old.insert(name.to_owned()),
                false if to.force => {}
                false => return Err(Error::output(path.join(name), CHANGED)),
            }
        }
        Ok(Self { path: path.into(), names: HashSet::new(), old, index: None, force: to.force })
    }

    /// Checks that a file may be written here.
    ///
    /// # Errors
    /// [`Error::Output`] for a file that no run has put here.
    pub(super) fn check(&self, name: &str) -> Result<()> {
        let path = self.path.join(name);
        match self.force || self.old.contains(name) || fs::symlink_metadata(&path).is_err() {
            true => Ok(()),
            false => Err(Error::output(path, FOREIGN)),
        }
    }

    /// Begins a file and adds it to the index. The first one removes the files of an earlier run.
    ///
    /// # Errors
    /// As [`check`](Self::check); [`Error::Io`].
    pub(super) fn claim(&mut self, name: &str) -> Result<AtomicFile> {
        self.check(name)?;
        self.clear()?;
        let path = self.path.join(name);
        let mut file = AtomicFile::create(&path).map_err(|source| Error::io(&path, source))?;
        file.changed = Some(even_second());
        self.record(name, &file)?;
        Ok(file)
    }

    /// Adds an output, which lies in this folder under the name, to the index.
    ///
    /// # Errors
    /// As [`claim`](Self::claim).
    pub(super) fn adopt(&mut self, name: &str, output: &Output) -> Result<()> {
        self.check(name)?;
        self.clear()?;
        match &output.to {
            To::File(file) => self.record(name, file),
            To::Stream(_) => Ok(()),
        }
    }

    /// Notes that an [adopted](Self::adopt) output is complete: a later change is somebody's.
    pub(super) fn settle(&mut self, name: &str) -> Result<()> {
        let path = self.path.join(name);
        let mut settle = || {
            let (file, changed) = (OpenOptions::new().append(true).open(&path)?, even_second());
            file.set_modified(changed)?;
            let stamp = stamp(&file.metadata()?, Some(changed));
            self.index.as_mut().map_or(Ok(()), |index| writeln!(index, "{name}\t{stamp}"))
        };
        settle().map_err(|source| Error::io(&path, source))
    }

    /// Removes the files of an earlier run.
    fn clear(&mut self) -> Result<()> {
        for path in self.old.drain().map(|name| self.path.join(name)) {
            remove(&path).map_err(|source| Error::io(&path, source))?;
        }
        Ok(())
    }

    fn record(&mut self, name: &str, file: &AtomicFile) -> Result<()> {
        let at = self.path.join(INDEX);
        let wrong = |source| Error::io(&at, source);
        let index = match &mut self.index {
            Some(index) => index,
            None => {
                remove(&at).map_err(wrong)?;
                self.index.insert(File::create_new(&at).map_err(wrong)?)
            }
        };
        let stamp = stamp(&file.file.get_ref().as_file().metadata().map_err(wrong)?, file.changed);
        writeln!(index, "{name}\t{stamp}").map_err(wrong)
    }

    /// A name for the result of the image file `source`: its name with another `extension`, which is appended if the
    /// name is taken (`a.jpg`, `a.png`).
    pub(super) fn name_for(&mut self, source: &str, extension: &str) -> String {
        let source = Path::new(source);
        let text = |part: Option<&OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
        let name = format!("{}.{extension}", text(source.file_stem()));
        if self.names.insert(name.clone()) { name } else { format!("{}.{extension}", text(source.file_name())) }
    }
}

/// The time, in even seconds, which every file system keeps: a later change by somebody else has another.
fn even_second() -> SystemTime {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    UNIX_EPOCH + Duration::from_secs(seconds / 2 * 2)
}

/// Stamp that tells a file from a later file of its name, and from one that somebody has changed: the number that the file
/// system gave it, when, and the time of its last change, unless that is to come.
fn stamp(there: &Metadata, changed: Option<SystemTime>) -> String {
    #[cfg(unix)]
    let number = std::os::unix::fs::MetadataExt::ino(there);
    #[cfg(not(unix))]
    let number = 0;
    let nanos = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let changed = changed.map_or(String::new(), |time| format!(".{}", nanos(time)));
    format!("{number}.{}{changed}", there.created().map_or(0, nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_when_it_is_published_or_finished() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let to = Destination::from(path.as_path());
        let read = || fs::read_to_string(&path).unwrap();
        fs::write(&path, "old").unwrap();
        assert!(Output::create(&to).err().unwrap().to_string().contains("--force"));
        let mut output = Output::create(&Destination::replaced(&path)).unwrap();
        output.append(b"1\n").unwrap();
        assert_eq!(read(), "old");
        output.finish().unwrap();
        assert_eq!(read(), "1\n");
        let mut output = Output::create(&Destination::replaced(&path)).unwrap();
        assert_eq!(read(), "1\n");
        output.append(b"2\n").unwrap();
        output.publish().unwrap();
        assert_eq!(read(), "2\n");
        output.append(b"3\n").unwrap();
        assert_eq!(read(), "2\n3\n");
        drop((output, Output::create(&Destination::replaced(&path)).unwrap()));
        assert_eq!(read(), "2\n3\n", "an output without frames changes nothing");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn destinations_that_cannot_be_written_are_errors_at_once() {
        let folder = tempfile::tempdir().unwrap();
        for wrong in [folder.path().to_path_buf(), folder.path().join("none/out.csv")] {
            let error = Output::create(&wrong.as_path().into()).err().unwrap().to_string();
            assert!(error.contains(wrong.to_str().unwrap()), "{error}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_an_error_with_the_path() {
        let mut output = Output::create(&Path::new("/dev/full").into()).unwrap();
        let error = output.append(b"one\n").unwrap_err();
        assert!(error.to_string().starts_with("/dev/full: ") && !error.is_broken_pipe(), "{error}");
    }

    #[test]
    fn two_outputs_at_one_place_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = ["a.csv", "b.csv"].map(|name| Destination::from(folder.path().join(name).as_path()));
        let pictures = Destination::from(folder.path());
        let stdout = Destination::from(Path::new("-"));
        assert!(check_distinct(&[("--csv", false, &a), ("--mot", false, &b)]).is_ok());
        assert!(check_distinct(&[("--csv", false, &a), ("--mot", false, &a)]).is_err());
        assert!(check_distinct(&[("--csv", false, &stdout), ("--mot", false, &stdout)]).is_err());
        let error = check_distinct(&[("--csv", false, &a), ("--overlay", true, &pictures)]).unwrap_err();
        assert!(error.to_string().contains("--overlay"), "{error}");
    }

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
            let mut folder = Folder::create(&at.into())?;
            for name in names {
                folder.claim(name)?.finish(b"ours")?;
            }
            Ok(())
        };
        fs::write(at.join("mine.png"), "mine").unwrap();
        run(&["1.png", "2.png", "3.png"]).unwrap();
        run(&["2.png"]).unwrap();
        assert_eq!(visible(at), ["2.png", "mine.png"]);
        assert!(run(&["2.png", "mine.png"]).unwrap_err().to_string().contains("--force"));
        assert_eq!(fs::read_to_string(at.join("mine.png")).unwrap(), "mine");
        run(&[]).unwrap();
        assert_eq!(visible(at), ["2.png", "mine.png"], "a run without files removes nothing");
        // A file that took the place of ours, or that somebody has changed, is refused before anything is removed.
        run(&["2.png", "3.png"]).unwrap();
        fs::remove_file(at.join("2.png")).unwrap();
        fs::write(at.join("other"), "other").unwrap();
        fs::rename(at.join("other"), at.join("2.png")).unwrap();
        assert!(run(&["2.png"]).is_err() && run(&["3.png"]).is_err());
        fs::remove_file(at.join("2.png")).unwrap();
        run(&["2.png", "3.png"]).unwrap();
        fs::write(at.join("3.png"), "edited").unwrap();
        assert!(run(&["3.png"]).is_err() && run(&["4.png"]).is_err());
        assert_eq!(visible(at), ["2.png", "3.png", "mine.png"]);
        assert_eq!(fs::read_to_string(at.join("3.png")).unwrap(), "edited");
    }

    #[test]
    #[cfg(unix)]
    fn an_index_from_elsewhere_deletes_and_overwrites_nothing() {
        let parent = tempfile::tempdir().unwrap();
        let (mine, out) = (parent.path().join("mine.png"), parent.path().join("out"));
        fs::write(&mine, "mine").unwrap();
        fs::create_dir(&out).unwrap();
        fs::write(out.join("1.png"), "mine").unwrap();
        let stamp = stamp(&fs::metadata(&mine).unwrap(), None);
        fs::write(out.join(INDEX), format!("../mine.png\t{stamp}\n1.png\n1.png\t{stamp}\n")).unwrap();
        assert!(Folder::create(&out.as_path().into()).is_err());
        fs::write(out.join(INDEX), format!("../mine.png\t{stamp}\n1.png\n")).unwrap();
        let mut folder = Folder::create(&out.as_path().into()).unwrap();
        assert!(folder.claim("1.png").is_err());
        folder.claim("2.png").unwrap().finish(b"ours").unwrap();
        assert_eq!(visible(&out), ["1.png", "2.png"]);
        fs::remove_file(out.join(INDEX)).unwrap();
        std::os::unix::fs::symlink(&mine, out.join(INDEX)).unwrap();
        assert!(Folder::create(&out.as_path().into()).is_err());
        assert_eq!(fs::read_to_string(mine).unwrap(), "mine");
    }

    #[test]
    fn names_do_not_collide() {
        let parent = tempfile::tempdir().unwrap();
        let mut folder = Folder::create(&parent.path().join("new/and/deep").as_path().into()).unwrap();
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
            assert!(matches!(Folder::create(&wrong.into()), Err(Error::Output { path, .. }) if path == wrong));
        }
    }
}
