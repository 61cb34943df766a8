//! Writing to whoever may not read.

use std::fs::File;
use std::io::{self, Write};
use std::sync::{Arc, OnceLock};

use crate::source::Stop;

/// What tells that the run shall end, once somebody has said by what it is told.
#[derive(Clone, Debug, Default)]
pub(super) struct Heed(Arc<OnceLock<Stop>>);

impl Heed {
    /// It is told by `stop`, as [`Export::heed`](super::Export::heed) has it; the first one counts.
    pub fn told_by(&self, stop: &Stop) {
        let _ = self.0.set(stop.clone());
    }

    #[cfg(unix)]
    pub(super) fn is_told(&self) -> bool {
        self.0.get().is_some_and(Stop::is_set)
    }
}

/// A device, a named pipe or the standard output. A write waits until there is room, but once the run shall end no
/// longer than two seconds. (Elsewhere than on Unix it cannot be told whether there is room.)
pub(super) struct Patient {
    #[cfg(unix)]
    out: File,
    #[cfg(not(unix))]
    out: Box<dyn Write + Send>,
    #[cfg_attr(not(unix), expect(dead_code, reason = "it cannot be told whether there is room"))]
    heed: Heed,
}

impl Patient {
    /// Of what is open.
    pub fn of(file: File, heed: &Heed) -> Self {
        #[cfg(not(unix))]
        let file = Box::new(file);
        Self { out: file, heed: heed.clone() }
    }

    /// Of the standard output.
    pub fn stdout(heed: &Heed) -> io::Result<Self> {
        #[cfg(unix)]
        let out = std::os::fd::AsFd::as_fd(&io::stdout()).try_clone_to_owned()?.into();
        #[cfg(not(unix))]
        let out = Box::new(io::stdout());
        Ok(Self { out, heed: heed.clone() })
    }
}

impl Write for Patient {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        #[cfg(unix)]
        let bytes = unix::what_fits(&self.out, bytes, &self.heed)?;
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(unix)]
mod unix {
    use std::fs::File;
    use std::io;
    use std::time::Duration;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::io::Errno;

    use super::Heed;

    /// Bytes that a pipe takes at once where it takes any.
    const ROOM: usize = 4096;

    /// How often it is looked at whether the run shall end.
    const LOOK_EVERY: Duration = Duration::from_millis(50);

    /// How long somebody who reads slowly is waited for then.
    const LONGEST_LAST: Duration = Duration::from_secs(2);

    /// Waits until `out` takes some of `bytes`, and says which.
    pub(super) fn what_fits<'a>(out: &File, bytes: &'a [u8], heed: &Heed) -> io::Result<&'a [u8]> {
        let pause = Timespec { tv_sec: 0, tv_nsec: LOOK_EVERY.subsec_nanos().into() };
        let mut waited = Duration::ZERO;
        loop {
            match poll(&mut [PollFd::new(out, PollFlags::OUT)], Some(&pause)) {
                // A reader that has gone is no room either, but the write says so.
                Ok(1..) => return Ok(&bytes[..bytes.len().min(ROOM)]),
                Ok(0) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            if heed.is_told() {
                if waited >= LONGEST_LAST {
                    return Err(io::Error::other("nobody reads it, and the run was to end"));
                }
                waited += LOOK_EVERY;
            }
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Read;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn once_the_run_shall_end_a_reader_that_reads_nothing_is_given_up() {
        let (reader, writer) = io::pipe().unwrap();
        let (heed, stop) = (Heed::default(), Stop::default());
        let mut patient = Patient::of(File::from(std::os::fd::OwnedFd::from(writer)), &heed);
        heed.told_by(&stop);
        let begun = Instant::now();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            stop.set();
        });
        // More than any pipe takes.
        let error = patient.write_all(&vec![b'x'; 1 << 22]).unwrap_err();
        assert!(error.to_string().contains("nobody reads it"), "{error}");
        assert!((Duration::from_millis(300)..Duration::from_secs(20)).contains(&begun.elapsed()));
        drop(reader);
        assert_eq!(patient.write_all(b"x").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn a_slow_reader_gets_all_of_it_also_when_the_run_shall_end() {
        let (mut reader, writer) = io::pipe().unwrap();
        let (heed, stop) = (Heed::default(), Stop::default());
        stop.set();
        heed.told_by(&stop);
        let mut patient = Patient::of(File::from(std::os::fd::OwnedFd::from(writer)), &heed);
        let reading = std::thread::spawn(move || {
            let mut read = vec![0; 1 << 16];
            let mut all = 0;
            while let Ok(got @ 1..) = reader.read(&mut read) {
                all += got;
                std::thread::sleep(Duration::from_millis(150));
            }
            all
        });
        patient.write_all(&vec![b'x'; 1 << 18]).unwrap();
        drop(patient);
        assert_eq!(reading.join().unwrap(), 1 << 18);
    }
}
