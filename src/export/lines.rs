//! Text that is read while it is written: whole lines, one by one.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use super::destination::{Destination, Target};
use super::patient::{Heed, Patient};
use crate::error::{Error, Result};
use crate::replace::replace;
use crate::source::Stop;

/// A file or a pipe that takes whole lines, each with one write.
pub(super) struct Lines {
    name: PathBuf,
    sink: Sink,
    heed: Heed,
}

enum Sink {
    /// The old file stays as it is until the first line is there.
    Waiting(PathBuf),
    /// A file and the length of the whole lines in it.
    File(File, u64),
    /// A pipe, a terminal, a device.
    Stream(Box<dyn Write + Send>),
}

impl Lines {
    /// Checks that `destination` can be written to.
    pub(super) fn create(destination: &Destination) -> Result<Self> {
        let heed = Heed::default();
        let stdout = || Patient::stdout(&heed).map_err(|source| Error::io(destination.path(), source));
        let sink = match destination.probe()? {
            Target::Stdout => Sink::Stream(Box::new(stdout()?)),
            Target::File(path) => Sink::Waiting(path),
            Target::Special(file) => Sink::Stream(Box::new(Patient::of(file, &heed))),
        };
        Ok(Self { name: destination.path().to_path_buf(), sink, heed })
    }

    /// As [`Export::heed`](super::Export::heed).
    pub(super) fn heed(&mut self, stop: &Stop) {
        // The first one counts.
        let _ = self.heed.set(stop.clone());
    }

    /// Writes to anything; `name` is used in errors.
    pub(super) fn to_writer(name: impl Into<PathBuf>, writer: impl Write + Send + 'static) -> Self {
        Self { name: name.into(), sink: Sink::Stream(Box::new(writer)), heed: Heed::default() }
    }

    /// Writes one line or several, each with its end of line, at once.
    pub(super) fn write(&mut self, lines: &[u8]) -> Result<()> {
        self.sink.write(lines).map_err(|source| Error::io(&self.name, source))
    }
}

impl Sink {
    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        match self {
            Self::Waiting(path) => {
                let file = replace(path, |file| file.write_all(lines))?;
                *self = Self::File(file, lines.len() as u64);
                Ok(())
            }
            Self::File(file, whole) => {
                let written = file.write_all(lines);
                match written {
                    Ok(()) => *whole += lines.len() as u64,
                    // The disk is full: what fitted of the line is taken back.
                    Err(_) => file.set_len(*whole)?,
                }
                written
            }
            Self::Stream(stream) => {
                stream.write_all(lines)?;
                stream.flush()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_old_file_stays_until_the_first_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        fs::write(&path, "old\n").unwrap();
        let mut lines = Lines::create(&path.as_path().into()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old\n");
        lines.write(b"one\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\n");
        lines.write(b"two\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        drop(lines);
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    #[cfg(unix)]
    fn a_device_is_written_to_not_replaced() {
        use std::os::unix::fs::FileTypeExt;
        let mut lines = Lines::create(&std::path::Path::new("/dev/null").into()).unwrap();
        lines.write(b"one\n").unwrap();
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_an_error_that_names_the_file() {
        let mut lines = Lines::create(&std::path::Path::new("/dev/full").into()).unwrap();
        let error = lines.write(b"one\n").unwrap_err();
        assert!(
            matches!(&error, Error::Io { path, source }
            if path.ends_with("full") && source.kind() == io::ErrorKind::StorageFull),
            "{error}"
        );
        assert!(!error.is_broken_pipe());
    }

    #[test]
    fn a_broken_pipe_is_told_from_failures() {
        let (reader, writer) = io::pipe().unwrap();
        let mut lines = Lines::to_writer("-", writer);
        lines.write(b"one\n").unwrap();
        drop(reader);
        assert!(lines.write(b"two\n").unwrap_err().is_broken_pipe());
    }
}
