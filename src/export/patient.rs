//! Writing to whoever may not read.

use std::fs::File;
use std::io::{self, Write};
#[cfg(unix)]
use std::os::fd::AsFd;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::cancel::CancelToken;

/// How often it is looked at whether a reader goes on, or the run shall end.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Bytes that a pipe takes at once where it takes any.
#[cfg(unix)]
const ROOM: usize = 4096;

/// How long somebody who reads slowly is waited for once the run shall end.
#[cfg(unix)]
const LONGEST_LAST: Duration = Duration::from_secs(2);

/// What tells that the run shall end, once somebody has said by what it is told.
#[derive(Clone, Debug, Default)]
pub(super) struct Heed(Arc<OnceLock<CancelToken>>);

impl Heed {
    /// It is told by `stop`, as [`Export::heed`](super::Export::heed) has it; the first one counts.
    pub fn told_by(&self, stop: &CancelToken) {
        let _ = self.0.set(stop.clone());
    }

    pub(super) fn is_told(&self) -> bool {
        self.0.get().is_some_and(CancelToken::is_cancelled)
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
        let out = io::stdout().as_fd().try_clone_to_owned()?.into();
        #[cfg(not(unix))]
        let out = Box::new(io::stdout());
        Ok(Self { out, heed: heed.clone() })
    }
}

impl Write for Patient {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        #[cfg(unix)]
        let bytes = match wait_for_room(&self.out, &self.heed, Duration::MAX, LONGEST_LAST)? {
            Room::Some => &bytes[..bytes.len().min(ROOM)],
            _ => return Err(io::Error::other("nobody reads it, and the run was to end")),
        };
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// What came of waiting for room.
#[cfg(unix)]
pub(super) enum Room {
    /// There is some, or nobody reads any more, which the next write says.
    Some,
    /// There was none for as long as it was waited for.
    None,
    /// There was none, and the run shall end.
    NoneAtTheEnd,
}

/// Waits until `out` takes something, no longer than `patience`, nor longer than `last` once the run shall end. Time in
/// which this program was stopped is not waited: looks are counted.
#[cfg(unix)]
pub(super) fn wait_for_room(out: impl AsFd, heed: &Heed, patience: Duration, last: Duration) -> io::Result<Room> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::io::Errno;
    let pause = Timespec { tv_sec: 0, tv_nsec: LOOK_EVERY.subsec_nanos().into() };
    let (mut waited, mut told_for) = (Duration::ZERO, Duration::ZERO);
    loop {
        match poll(&mut [PollFd::new(&out, PollFlags::OUT)], Some(&pause)) {
            Ok(1..) => return Ok(Room::Some),
            Ok(0) => waited += LOOK_EVERY,
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        if heed.is_told() {
            told_for += LOOK_EVERY;
        }
        if waited >= patience {
            return Ok(Room::None);
        }
        if told_for >= last {
            return Ok(Room::NoneAtTheEnd);
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Read;
    use std::time::Instant;

    use super::*;

    #[test]
    fn once_the_run_shall_end_a_reader_that_reads_nothing_is_given_up() {
        let (reader, writer) = io::pipe().unwrap();
        let (heed, stop) = (Heed::default(), CancelToken::default());
        let mut patient = Patient::of(File::from(std::os::fd::OwnedFd::from(writer)), &heed);
        heed.told_by(&stop);
        let begun = Instant::now();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            stop.cancel();
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
        let (heed, stop) = (Heed::default(), CancelToken::default());
        stop.cancel();
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
