//! A program that is given what it shall read, with patience that ends.

use std::io::{self, Write};
use std::process::ChildStdin;
use std::time::Duration;

use super::patient::Heed;
#[cfg(unix)]
use super::patient::{Room, wait_for_room};

/// How long a program that encodes may do nothing.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// By how much that is shortened once the run shall end.
pub(super) const LAST_SHARE: u32 = 6;

/// The input of a program. A write waits until the program takes some of it, but no longer than its patience.
/// (Elsewhere than on Unix it cannot be told whether there is room.)
pub(super) struct Fed {
    input: ChildStdin,
    #[cfg_attr(not(unix), expect(dead_code, reason = "it cannot be told whether there is room"))]
    heed: Heed,
    #[cfg_attr(not(unix), expect(dead_code, reason = "it cannot be told whether there is room"))]
    patience: Duration,
}

impl Fed {
    /// Of a program that was just started.
    pub fn new(input: ChildStdin, heed: &Heed, patience: Duration) -> io::Result<Self> {
        // Only this end of the pipe: the program reads as it likes.
        #[cfg(unix)]
        rustix::io::ioctl_fionbio(&input, true)?;
        Ok(Self { input, heed: heed.clone(), patience })
    }

    /// Waits for room.
    #[cfg(unix)]
    fn room(&self) -> io::Result<()> {
        match wait_for_room(&self.input, &self.heed, self.patience, self.patience / LAST_SHARE)? {
            Room::Some => Ok(()),
            Room::None => Err(hung(self.patience)),
            Room::NoneAtTheEnd => Err(cut_short()),
        }
    }
}

impl Write for Fed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        #[cfg(unix)]
        loop {
            match self.input.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.room()?,
                written => return written,
            }
        }
        #[cfg(not(unix))]
        self.input.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.input.flush()
    }
}

/// That it had so little time as the run was to end.
pub(super) fn cut_short() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "it did nothing, and the run was to end")
}

/// That it has done nothing for so long.
pub(super) fn hung(patience: Duration) -> io::Error {
    let said = format!("it did nothing for {} s and was ended", patience.as_secs_f64());
    io::Error::new(io::ErrorKind::TimedOut, said)
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Read;
    use std::process::{Child, Command, Stdio};
    use std::time::Instant;

    use super::*;
    use crate::cancel::CancelToken;

    fn program(script: &str) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
    }

    #[test]
    fn a_program_that_takes_nothing_is_given_up() {
        let mut child = program("exec sleep 60");
        let patience = Duration::from_millis(150);
        let mut fed = Fed::new(child.stdin.take().unwrap(), &Heed::default(), patience).unwrap();
        let begun = Instant::now();
        let error = fed.write_all(&vec![b'x'; 1 << 22]).unwrap_err();
        assert!(error.to_string().contains("did nothing for 0.15 s"), "{error}");
        assert!((patience..Duration::from_secs(20)).contains(&begun.elapsed()));
        child.kill().and_then(|()| child.wait()).unwrap();
    }

    #[test]
    fn once_the_run_shall_end_a_program_that_takes_nothing_is_given_up_soon() {
        let mut child = program("exec sleep 60");
        let (heed, stop) = (Heed::default(), CancelToken::default());
        heed.told_by(&stop);
        let mut fed = Fed::new(child.stdin.take().unwrap(), &heed, Duration::from_secs(1)).unwrap();
        stop.cancel();
        let error = fed.write_all(&vec![b'x'; 1 << 22]).unwrap_err();
        assert!(error.to_string().contains("the run was to end"), "{error}");
        child.kill().and_then(|()| child.wait()).unwrap();
    }

    #[test]
    fn a_slow_program_gets_all_of_it() {
        let mut child = program("sleep 0.2; exec wc -c");
        let mut fed = Fed::new(child.stdin.take().unwrap(), &Heed::default(), Duration::from_secs(20)).unwrap();
        fed.write_all(&vec![b'x'; 1 << 20]).unwrap();
        drop(fed);
        let mut counted = String::new();
        child.stdout.take().unwrap().read_to_string(&mut counted).unwrap();
        assert_eq!(counted.trim(), (1 << 20).to_string());
        child.wait().unwrap();
    }
}
