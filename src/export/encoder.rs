//! A running ffmpeg that makes a video: fed on a thread of its own, and ended when it does nothing any more.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use super::fed::{Fed, LOOK_EVERY, hung};
use super::patient::Heed;
use crate::error::{Error, Result};
use crate::ffmpeg;

/// Bytes of what ffmpeg says that are kept.
const MOST_SAID: usize = 1 << 16;

/// What ffmpeg complains of when the end of a file could not be written, and still succeeds.
const UNWRITTEN: [&str; 7] = [
    "No space left",
    "Input/output error",
    "Disk quota exceeded",
    "File too large",
    "Error writing trailer",
    "Error closing file",
    "Stale file handle",
];

/// The process, and the thread that writes to it.
#[derive(Debug)]
pub(super) struct Encoder {
    child: Child,
    writer: JoinHandle<io::Result<()>>,
    complaints: JoinHandle<String>,
    /// The file that it writes.
    output: PathBuf,
    patience: Duration,
}

impl Encoder {
    /// Starts `command`, which writes `output` for what is called `path`; `write` gives it what it reads.
    ///
    /// # Errors
    /// [`Error::Sequence`] where ffmpeg is not installed; [`Error::Io`].
    pub fn start(
        command: Command,
        (path, output): (&Path, &Path),
        (heed, patience): (&Heed, Duration),
        write: impl FnOnce(Fed) -> io::Result<()> + Send + 'static,
    ) -> Result<Self> {
        let mut child = ffmpeg::start(command, path)?;
        let wrong = |source| Error::io("a thread for ffmpeg", source);
        let input = child.stdin.take().map(|input| Fed::new(input, heed, patience)).transpose().map_err(wrong)?;
        let err = child.stderr.take();
        let listen = move || err.map(|err| ffmpeg::drained(err, MOST_SAID, |_| ())).unwrap_or_default();
        let complaints = std::thread::Builder::new().name("ffmpeg says".into()).spawn(listen).map_err(wrong)?;
        let write = move || input.map_or(Ok(()), write);
        let writer = std::thread::Builder::new().name("encode".into()).spawn(write).map_err(wrong)?;
        Ok(Self { child, writer, complaints, output: output.into(), patience })
    }

    /// Whether it is given nothing more: it has taken all, or takes no more.
    pub fn is_fed(&self) -> bool {
        self.writer.is_finished()
    }

    /// Waits until all that it is given is written; what it says of why it could not.
    pub fn end(self, path: &Path) -> Result<()> {
        let Self { mut child, writer, complaints, output, patience } = self;
        let mut written = writer.join().unwrap_or_else(|_| Err(io::Error::other("its thread ended")));
        let given_up = |written: &io::Result<()>| {
            written.as_ref().err().filter(|error| error.kind() == ErrorKind::TimedOut).map(ToString::to_string)
        };
        if given_up(&written).is_none() && ended(&mut child, &output, patience).is_none() {
            written = Err(hung(patience));
        }
        let given_up = given_up(&written);
        if given_up.is_some() {
            let _ = child.kill();
        }
        let status = child.wait().map_err(|source| Error::io(path, source))?;
        let said = complaints.join().unwrap_or_default();
        let broken = said.lines().find(|line| UNWRITTEN.iter().any(|what| line.contains(what)));
        let silent = given_up.as_deref().unwrap_or("it did not say why");
        let said = broken.or(said.lines().next().or(Some(silent)).filter(|_| !status.success()));
        if let Some(said) = said {
            let reason = format!("ffmpeg could not encode it: {}", said.trim());
            return Err(Error::Output { path: path.into(), reason });
        }
        written.map_err(|source| Error::io(path, source))
    }
}

/// Waits for the end of a program that has all that it reads; `None` where its `output` has not changed for as long as
/// it is waited for.
fn ended(child: &mut Child, output: &Path, patience: Duration) -> Option<ExitStatus> {
    let (mut pause, mut waited, mut before) = (Duration::from_millis(1), Duration::ZERO, written_last(output));
    loop {
        // Where it cannot be asked for, it is waited for.
        let Ok(status) = child.try_wait() else { return child.wait().ok() };
        if status.is_some() || waited >= patience {
            return status;
        }
        std::thread::sleep(pause);
        let now = written_last(output);
        waited = if now == before { waited + pause } else { Duration::ZERO };
        before = now;
        pause = LOOK_EVERY.min(2 * pause);
    }
}

/// How long a file is, and when it was written to.
fn written_last(file: &Path) -> Option<(u64, SystemTime)> {
    let known = fs::metadata(file).ok()?;
    Some((known.len(), known.modified().ok()?))
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Write;
    use std::process::Stdio;

    use super::*;

    fn encoder(script: &str, output: &Path, patience: Duration) -> Encoder {
        let mut command = ffmpeg::command("sh");
        command.args(["-c", script, "sh"]).arg(output).stdin(Stdio::piped()).stdout(Stdio::null());
        let write = |mut fed: Fed| fed.write_all(b"picture");
        let path = Path::new("seen.mp4");
        Encoder::start(command, (path, output), (&Heed::default(), patience), write).unwrap()
    }

    #[test]
    fn an_encoder_that_does_nothing_any_more_is_ended_and_said_to() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("out");
        let encoder = encoder("cat > \"$1\"; exec sleep 60", &output, Duration::from_millis(200));
        let error = encoder.end(Path::new("seen.mp4")).unwrap_err().to_string();
        assert!(error.contains("seen.mp4") && error.contains("it did nothing for 0.2 s and was ended"), "{error}");
    }

    #[test]
    fn an_encoder_that_goes_on_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("out");
        let script = "cat > /dev/null; for i in 1 2 3 4 5 6; do sleep 0.1; echo $i >> \"$1\"; done";
        encoder(script, &output, Duration::from_millis(400)).end(Path::new("seen.mp4")).unwrap();
        assert_eq!(fs::read_to_string(output).unwrap().lines().count(), 6);
    }
}
