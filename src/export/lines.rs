//! Text that is read while it is written: whole lines, one by one.

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use super::destination::{Destination, Target};
use super::patient::{Heed, Patient};
use crate::cancel::CancelToken;
use crate::error::{Error, Result};
use crate::replace::replace;

/// A file or a pipe that takes whole lines, each with one write.
#[derive(Debug)]
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
    /// A pipe, a terminal, a device, and whether it has taken a part of a line only.
    Stream { stream: Box<dyn Write + Send>, torn: bool },
}

impl Lines {
    /// Checks that `destination` can be written to.
    pub(super) fn create(destination: &Destination) -> Result<Self> {
        let heed = Heed::default();
        let stdout = || Patient::stdout(&heed).map_err(|source| Error::io(destination.path(), source));
        let sink = match destination.probe()? {
            Target::Stdout => Sink::stream(stdout()?),
            Target::File(path) => Sink::Waiting(path),
            Target::Special(file) => Sink::stream(Patient::of(file, &heed)),
        };
        Ok(Self { name: destination.path().to_path_buf(), sink, heed })
    }

    /// As [`Export::heed`](super::Export::heed).
    pub(super) fn heed(&mut self, stop: &CancelToken) {
        self.heed.told_by(stop);
    }

    /// Writes to anything; `name` is used in errors.
    pub(super) fn to_writer(name: impl Into<PathBuf>, writer: impl Write + Send + 'static) -> Self {
        Self { name: name.into(), sink: Sink::stream(writer), heed: Heed::default() }
    }

    /// Writes one line or several, each with its end of line, at once. None is glued to what was written of one that
    /// failed.
    pub(super) fn write(&mut self, lines: &[u8]) -> Result<()> {
        self.sink.write(lines).map_err(|source| Error::io(&self.name, source))
    }
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Waiting(path) => f.debug_tuple("Waiting").field(path).finish(),
            Self::File(file, whole) => f.debug_tuple("File").field(file).field(whole).finish(),
            Self::Stream { torn, .. } => f.debug_struct("Stream").field("torn", torn).finish_non_exhaustive(),
        }
    }
}

impl Sink {
    fn stream(stream: impl Write + Send + 'static) -> Self {
        Self::Stream { stream: Box::new(stream), torn: false }
    }

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
            Self::Stream { stream, torn } => {
                // What was torn ends here, so that this line is whole again.
                if *torn {
                    stream.write_all(b"\n")?;
                    *torn = false;
                }
                let mut left = lines;
                while !left.is_empty() {
                    match stream.write(left) {
                        Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                        Ok(taken) => left = &left[taken..],
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                        Err(error) => return Err(error),
                    }
                    *torn = !left.is_empty();
                }
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

    /// Takes so many bytes in all, and fails then; anything that comes later it takes again.
    struct Torn(Vec<u8>, usize, std::sync::mpsc::Sender<Vec<u8>>);

    impl Write for Torn {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.1 == 0 {
                self.1 = usize::MAX;
                return Err(io::Error::other("no more for now"));
            }
            let taken = bytes.len().min(self.1);
            self.1 -= taken;
            self.0.extend(&bytes[..taken]);
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Drop for Torn {
        fn drop(&mut self) {
            self.2.send(std::mem::take(&mut self.0)).unwrap();
        }
    }

    #[test]
    fn no_line_is_glued_to_one_that_was_torn() {
        for (fits, expected) in [(6, "one\ntw\nthree\nfour\n"), (4, "one\nthree\nfour\n"), (8, "one\ntwo\nfour\n")] {
            let (sender, written) = std::sync::mpsc::channel();
            let mut lines = Lines::to_writer("-", Torn(Vec::new(), fits, sender));
            let failed = ["one\n", "two\n", "three\n", "four\n"].map(|line| lines.write(line.as_bytes()).is_err());
            assert_eq!(failed.iter().filter(|failed| **failed).count(), 1);
            drop(lines);
            assert_eq!(String::from_utf8(written.recv().unwrap()).unwrap(), expected);
        }
    }
}
