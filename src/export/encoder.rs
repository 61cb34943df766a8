//! A running ffmpeg that makes a video: fed on a thread of its own, and ended when it does nothing any more.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use super::fed::{Fed, LAST_SHARE, cut_short, hung};
use super::patient::{Heed, LOOK_EVERY};
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
    heed: Heed,
    patience: Duration,
}

impl Encoder {
    /// Starts `command`, which writes `output` for what is called `path`; `write` gives it what it reads.
    ///
    /// # Errors
    /// [`Error::Sequence`] where ffmpeg is not installed; [`Error::Io`].
    pub fn start(
        command: Command,
        path: &Path,
        output: &Path,
        heed: &Heed,
        patience: Duration,
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
        Ok(Self { child, writer, complaints, output: output.into(), heed: heed.clone(), patience })
    }

    /// Whether it is given nothing more: it has taken all, or takes no more.
    pub fn is_fed(&self) -> bool {
        self.writer.is_finished()
    }

    /// Waits until all that it is given is written; what it says of why it could not.
    pub fn end(self, path: &Path) -> Result<()> {
        let Self { mut child, writer, complaints, output, heed, patience } = self;
        let mut written = writer.join().unwrap_or_else(|_| Err(io::Error::other("its thread ended")));
        let was_given_up = |error: &io::Error| error.kind() == ErrorKind::TimedOut;
        if !written.as_ref().is_err_and(was_given_up)
            && let Err(hung) = ended(&mut child, &output, &heed, patience)
        {
            written = Err(hung);
        }
        let given_up = written.as_ref().err().filter(|error| was_given_up(error)).map(ToString::to_string);
        if given_up.is_some() {
            ffmpeg::kill(&mut child);
        }
        let status = child.wait().map_err(|source| Error::io(path, source))?;
        let said = complaints.join().unwrap_or_default();
        let broken = said.lines().find(|line| UNWRITTEN.iter().any(|what| line.contains(what)));
        let first = || said.lines().next().or(Some("it did not say why")).filter(|_| !status.success());
        let said = broken.or(given_up.as_deref()).or_else(first);
        if let Some(said) = said {
            let reason = format!("ffmpeg could not encode it: {}", said.trim());
            return Err(Error::Output { path: path.into(), reason });
        }
        written.map_err(|source| Error::io(path, source))
    }
}

/// Waits for the end of a program that has all that it reads; an error where its `output` has not changed for as long
/// as it is waited for, which is less once the run shall end.
fn ended(child: &mut Child, output: &Path, heed: &Heed, patience: Duration) -> io::Result<()> {
    let (mut pause, mut waited, mut before) = (Duration::from_millis(1), Duration::ZERO, written_last(output));
    loop {
        // Where it cannot be asked for, it is waited for.
        if child.try_wait().or_else(|_| child.wait().map(Some))?.is_some() {
            return Ok(());
        }
        if waited >= patience {
            return Err(hung(patience));
        }
        if heed.is_told() && waited >= patience / LAST_SHARE {
            return Err(cut_short());
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
    use std::time::Instant;

    use super::*;
    use crate::cancel::CancelToken;

    fn encoder(script: &str, output: &Path, heed: &Heed, patience: Duration) -> Encoder {
        let mut command = ffmpeg::command("sh");
        command.args(["-c", script, "sh"]).arg(output).stdin(Stdio::piped()).stdout(Stdio::null());
        let write = |mut fed: Fed| fed.write_all(b"picture");
        Encoder::start(command, Path::new("seen.mp4"), output, heed, patience, write).unwrap()
    }

    /// What is said of an encoder that hangs behind a script, after it has complained of something else.
    fn said_of_one_that_hangs(heed: &Heed, patience: Duration) -> String {
        let folder = tempfile::tempdir().unwrap();
        let script = "cat > \"$1\"; echo 'times are odd' >&2; sleep 60; echo";
        let encoder = encoder(script, &folder.path().join("out"), heed, patience);
        let begun = Instant::now();
        let error = encoder.end(Path::new("seen.mp4")).unwrap_err().to_string();
        assert!(begun.elapsed() < Duration::from_secs(40), "what the script has started goes on");
        error
    }

    #[test]
    fn an_encoder_that_does_nothing_any_more_is_ended_and_said_to() {
        let error = said_of_one_that_hangs(&Heed::default(), Duration::from_millis(200));
        assert!(error.contains("seen.mp4") && error.contains("it did nothing for 0.2 s and was ended"), "{error}");
    }

    #[test]
    fn once_the_run_shall_end_an_encoder_that_hangs_is_ended_soon() {
        let (heed, stop) = (Heed::default(), CancelToken::default());
        heed.told_by(&stop);
        stop.cancel();
        let error = said_of_one_that_hangs(&heed, Duration::from_secs(1));
        assert!(error.contains("it did nothing, and the run was to end"), "{error}");
    }

    #[test]
    fn an_encoder_that_goes_on_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("out");
        let script = "cat > /dev/null; for i in 1 2 3 4 5 6 7 8; do sleep 0.3; echo $i >> \"$1\"; done";
        let encoder = encoder(script, &output, &Heed::default(), Duration::from_millis(1500));
        encoder.end(Path::new("seen.mp4")).unwrap();
        assert_eq!(fs::read_to_string(output).unwrap().lines().count(), 8);
    }
}
