//! Files that may be pipes: opening, reading and writing them ends when the run is cancelled.

// Elsewhere nothing waits for a pipe.
#![cfg_attr(not(unix), allow(unused))]

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

#[cfg(unix)]
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::cancel;
#[cfg(feature = "cli")]
use crate::error::Error;

/// The largest file of labels, sessions or settings that is read.
const MAX_MEGABYTES: u64 = 64;

/// Interval at which a wait checks for cancellation.
const POLL: Duration = Duration::from_millis(20);

/// Time that the other end of a pipe has after the run was cancelled.
const GRACE: Duration = Duration::from_millis(300);

/// Bytes that a pipe with room takes at once.
const CHUNK: usize = 4096;

/// A file or pipe each read and write of which ends soon after the [scope](cancel::CancelToken::scope) is cancelled.
#[derive(Debug)]
pub(crate) struct Patient<T> {
    inner: T,
    /// Bytes of a write.
    chunk: usize,
    wait: Wait,
}

/// Reads a whole file of at most 64 MB.
///
/// # Errors
/// For a larger file, and when the run is cancelled while a pipe has no writer.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_up_to(path, MAX_MEGABYTES)
}

/// [Reads](read) a file of at most so many megabytes.
fn read_up_to(path: &Path, megabytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take((megabytes << 20) + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > megabytes << 20 {
        true => Err(io::Error::other(format!("it is larger than {megabytes} MB, the most that is read"))),
        false => Ok(bytes),
    }
}

/// [Reads](read) a text in UTF-8.
///
/// # Errors
/// As [`read`], and for another encoding.
#[cfg(feature = "cli")]
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    read_text_up_to(path, MAX_MEGABYTES)
}

/// [Reads](read_text) a text of at most so many megabytes.
#[cfg(feature = "cli")]
pub(crate) fn read_text_up_to(path: &Path, megabytes: u64) -> io::Result<String> {
    String::from_utf8(read_up_to(path, megabytes)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not text in UTF-8"))
}

/// Opens a file or a pipe to read it.
pub(crate) fn open(path: &Path) -> io::Result<Patient<File>> {
    let mut options = OpenOptions::new();
    options.read(true);
    without_waiting(&mut options, path);
    Ok(Patient { inner: options.open(path)?, chunk: CHUNK, wait: Wait::default() })
}

/// Opens a pipe or a device to write to it; waits for the reader of a pipe.
#[cfg(feature = "cli")]
pub(crate) fn append(path: &Path) -> io::Result<Patient<File>> {
    let mut options = OpenOptions::new();
    options.append(true);
    without_waiting(&mut options, path);
    let mut wait = Wait::default();
    loop {
        match options.open(path) {
            // A pipe without a reader.
            #[cfg(unix)]
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => {
                wait.check()?;
                std::thread::sleep(POLL);
            }
            opened => return Ok(Patient { inner: opened?, chunk: CHUNK, wait: Wait::default() }),
        }
    }
}

/// Lets a pipe be opened at once. Elsewhere than on Linux a pipe without a writer would then be empty.
fn without_waiting(options: &mut OpenOptions, path: &Path) {
    #[cfg(target_os = "linux")]
    if crate::media::is_pipe(path) {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    let _ = (options, path);
}

/// The standard output, without a buffer.
#[cfg(all(unix, feature = "cli"))]
pub(crate) fn stdout() -> io::Result<Patient<File>> {
    let stdout = std::os::fd::AsFd::as_fd(&io::stdout()).try_clone_to_owned()?;
    Ok(Patient { inner: stdout.into(), chunk: CHUNK, wait: Wait::default() })
}

/// The standard output.
#[cfg(all(not(unix), feature = "cli"))]
pub(crate) fn stdout() -> io::Result<Patient<io::Stdout>> {
    Ok(Patient { inner: io::stdout(), chunk: usize::MAX, wait: Wait::default() })
}

#[cfg(all(unix, feature = "cli"))]
impl Patient<std::process::ChildStdin> {
    /// The input of a child process, of which this process has the only writing end.
    pub(crate) fn child(stdin: std::process::ChildStdin) -> io::Result<Self> {
        rustix::fs::fcntl_setfl(&stdin, rustix::fs::fcntl_getfl(&stdin)? | rustix::fs::OFlags::NONBLOCK)?;
        Ok(Self { inner: stdin, chunk: usize::MAX, wait: Wait::default() })
    }
}

#[cfg(all(not(unix), feature = "cli"))]
impl Patient<std::process::ChildStdin> {
    pub(crate) fn child(stdin: std::process::ChildStdin) -> io::Result<Self> {
        Ok(Self { inner: stdin, chunk: usize::MAX, wait: Wait::default() })
    }
}

/// A wait that the end of the run cuts short.
#[derive(Debug, Default)]
struct Wait {
    cancelled: Option<Instant>,
}

impl Wait {
    /// Returns [`Error::Cancelled`] once the run has been cancelled for [`GRACE`].
    fn check(&mut self) -> io::Result<()> {
        let Err(error) = cancel::check() else { return Ok(()) };
        let since = *self.cancelled.get_or_insert_with(Instant::now);
        if since.elapsed() > GRACE { Err(io::Error::other(error)) } else { Ok(()) }
    }
}

/// Waits until a read or a write need not wait.
#[cfg(unix)]
fn ready(file: &impl std::os::fd::AsFd, event: PollFlags) -> io::Result<()> {
    let mut wait = Wait::default();
    let time = Timespec { tv_sec: 0, tv_nsec: POLL.subsec_nanos().into() };
    loop {
        match poll(&mut [PollFd::new(file, event)], Some(&time)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => wait.check()?,
            polled => return Ok(polled.map(drop)?),
        }
    }
}

#[cfg(unix)]
impl<T: Read + std::os::fd::AsFd> Read for Patient<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // The other end may write for ever.
        self.wait.check()?;
        loop {
            ready(&self.inner, PollFlags::IN)?;
            match self.inner.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read,
            }
        }
    }
}

#[cfg(unix)]
impl<T: Write + std::os::fd::AsFd> Write for Patient<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            ready(&self.inner, PollFlags::OUT)?;
            match self.inner.write(&bytes[..bytes.len().min(self.chunk)]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return written,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(not(unix))]
impl<T: Read> Read for Patient<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer)
    }
}

#[cfg(not(unix))]
impl<T: Write> Write for Patient<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// True if an error is that of a cancelled wait.
#[cfg(feature = "cli")]
pub(crate) fn is_cancelled(error: &io::Error) -> bool {
    matches!(error.get_ref().and_then(|inner| inner.downcast_ref()), Some(Error::Cancelled))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::cancel::CancelToken;

    /// Result of `work`, if it comes within two seconds of a cancellation.
    fn cut_short<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Error {
        let token = CancelToken::default();
        let begun = Instant::now();
        let error = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| token.scope(work).err().expect("an error"));
            std::thread::sleep(Duration::from_millis(100));
            assert!(!waiting.is_finished());
            token.cancel();
            waiting.join().unwrap()
        });
        assert!(begun.elapsed() < Duration::from_secs(2));
        error
    }

    fn fifo(folder: &Path) -> std::path::PathBuf {
        let path = folder.join("fifo");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        path
    }

    #[test]
    fn a_pipe_without_another_end_waits_until_the_run_is_cancelled() {
        let folder = tempfile::tempdir().unwrap();
        let path = fifo(folder.path());
        assert!(is_cancelled(&cut_short(|| read(&path))));
        assert!(is_cancelled(&cut_short(|| append(&path))));
        // A reader that does not read.
        let _reader = open(&path).unwrap();
        assert!(is_cancelled(&cut_short(|| append(&path)?.write_all(&vec![0; 1 << 20]))));
    }

    #[test]
    fn a_pipe_whose_writer_never_ends_is_left_when_the_run_is_cancelled() {
        let folder = tempfile::tempdir().unwrap();
        let path = fifo(folder.path());
        std::thread::scope(|scope| {
            // Ends when the pipe has no reader.
            scope.spawn(|| {
                let mut writer = append(&path).unwrap();
                while writer.write_all(b"1,-1,10,10,40,40,.9\n").is_ok() {
                    std::thread::sleep(Duration::from_millis(5));
                }
            });
            assert!(is_cancelled(&cut_short(|| read(&path))));
        });
    }

    #[test]
    fn a_pipe_carries_all_bytes_and_a_file_has_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = fifo(folder.path());
        let sent: Vec<u8> = (0..1 << 20).map(|i| (i * 7 % 251) as u8).collect();
        let got = std::thread::scope(|scope| {
            let reader = scope.spawn(|| read(&path).unwrap());
            append(&path).unwrap().write_all(&sent).unwrap();
            reader.join().unwrap()
        });
        assert_eq!(got, sent);
        assert!(read(Path::new("/dev/zero")).unwrap_err().to_string().contains("64 MB"));
    }
}
