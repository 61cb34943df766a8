//! Runs `ffmpeg` and `ffprobe` as child processes.
//!
//! A child never outlives its run: it is killed when its [`FfmpegProcess`] is dropped. If this process is killed, the child
//! ends at its next read or write.

use std::io::{BufRead, BufReader, ErrorKind};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::cancel::{CancelToken, lock, spawn};
use crate::error::{Error, Result};

const INSTALL: &str = "install ffmpeg (`apt install ffmpeg`, `brew install ffmpeg`, `winget install ffmpeg`) so that \
                       it is found in PATH, or use folders of images";

/// Keeps a Ctrl-C of the console from the child on Windows.
#[cfg(windows)]
const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;

/// How often a process is checked for cancellation and stalls.
const POLL: Duration = Duration::from_millis(20);

/// Error lines that are kept of a log.
const MAX_LOG_LINES: usize = 8;

/// Pipe size on Linux: a larger pipe means fewer context switches for each frame.
#[cfg(target_os = "linux")]
const PIPE_BYTES: usize = 1 << 20;

/// A command without standard input, in a process group of its own so that Ctrl-C does not reach it.
pub(crate) fn command(name: &str) -> Command {
    let mut command = Command::new(name);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    #[cfg(windows)]
    std::os::windows::process::CommandExt::creation_flags(&mut command, CREATE_NEW_PROCESS_GROUP);
    command
}

/// Starts `command`, which reads or writes `file`.
///
/// # Errors
/// [`Error::Sequence`] if the program is not installed, [`Error::Io`] if it cannot be started.
pub(crate) fn start(mut command: Command, file: &Path) -> Result<Child> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.spawn().map_err(|error| match error.kind() {
        ErrorKind::NotFound => Error::sequence(file, format!("{name} is needed for it: {INSTALL}")),
        _ => Error::io(name, error),
    })
}

/// Kills a child of [`start`]; on Unix with its process group, since `ffmpeg` may be a wrapper script.
pub(crate) fn kill(child: &mut Child) {
    // After a wait the id may belong to another process.
    #[cfg(unix)]
    if matches!(child.try_wait(), Ok(None)) {
        let group = rustix::process::Pid::from_child(child);
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
}

/// Major and minor number of a version such as `5.1.9-0+deb12u1` or `n7.0`.
pub(crate) fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.trim_start_matches('n').split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next().and_then(|minor| minor.parse().ok()).unwrap_or(0)))
}

/// The arguments that neither drop nor duplicate frames, for a program of this version.
pub(crate) fn passthrough(version: Option<(u32, u32)>) -> [&'static str; 2] {
    [if version.is_none_or(|version| version >= (5, 1)) { "-fps_mode" } else { "-vsync" }, "passthrough"]
}

/// Limits of every wait for a process.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    /// Longest wait for the next piece of output.
    pub timeout: Duration,
    /// Ends the process when it is cancelled.
    pub cancel: CancelToken,
}

/// A running `ffmpeg` or `ffprobe` whose output is read; dropping it kills the process.
#[derive(Debug)]
pub(crate) struct FfmpegProcess {
    name: String,
    pub limits: Limits,
    shared: Arc<Shared>,
    log: Option<JoinHandle<()>>,
    monitor: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    child: Mutex<Child>,
    /// Number of the current read; 0 between reads, the largest for the wait for the end.
    reading: AtomicU64,
    stalled: AtomicBool,
    ended: AtomicBool,
    errors: Mutex<Vec<String>>,
    /// Errors that were forgiven.
    forgiven: Mutex<Vec<String>>,
}

impl FfmpegProcess {
    /// Starts `command` on `file`. `on_line` gets each line of the log and returns whether it used it; of the others
    /// those of level error are kept. The command needs `-loglevel level+…`.
    ///
    /// # Errors
    /// As [`start`].
    pub fn start(
        command: Command,
        file: &Path,
        limits: Limits,
        mut on_line: impl FnMut(&str) -> bool + Send + 'static,
    ) -> Result<(Self, BufReader<ChildStdout>)> {
        let name = command.get_program().to_string_lossy().into_owned();
        let mut child = start(command, file)?;
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let shared = Arc::new(Shared {
            child: Mutex::new(child),
            reading: AtomicU64::new(0),
            stalled: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            errors: Mutex::default(),
            forgiven: Mutex::default(),
        });
        let mut process = Self { name, limits: limits.clone(), shared: Arc::clone(&shared), log: None, monitor: None };
        let log = Arc::clone(&shared);
        process.log = Some(spawn("ffmpeg log", move || {
            let (Some(err), mut line) = (err, Vec::new()) else { return };
            let mut lines = BufReader::new(err);
            while lines.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                let text = String::from_utf8_lossy(&line);
                if !on_line(&text)
                    && let Some(error) = error_of(&text)
                {
                    let mut errors = lock(&log.errors);
                    if errors.len() == MAX_LOG_LINES {
                        errors.remove(0);
                    }
                    errors.push(error);
                }
                line.clear();
            }
        })?);
        process.monitor = Some(spawn("ffmpeg monitor", move || shared.monitor(&limits))?);
        let out = out.ok_or_else(|| Error::io("ffmpeg", std::io::Error::other("it has no output")))?;
        // The default size is enough if the system refuses.
        #[cfg(target_os = "linux")]
        let _ = rustix::pipe::fcntl_setpipe_size(&out, PIPE_BYTES);
        Ok((process, BufReader::with_capacity(1 << 16, out)))
    }

    /// Runs a read of the output; the process is killed when it takes longer than the timeout.
    pub fn reading<T>(&mut self, count: u64, read: impl FnOnce() -> T) -> T {
        self.shared.reading.store(count, Ordering::Relaxed);
        let value = read();
        self.shared.reading.store(0, Ordering::Relaxed);
        value
    }

    /// Sets the errors logged so far aside: they are the reason of a failure only where no others are.
    pub fn forgive_errors(&self) {
        lock(&self.shared.forgiven).append(&mut lock(&self.shared.errors));
    }

    /// Waits for the process after its output has ended.
    ///
    /// # Errors
    /// The reason: cancelled, stalled, or its own message.
    pub fn finish(&mut self) -> Result<(), String> {
        // The monitor kills a process that does not exit.
        self.shared.reading.store(u64::MAX, Ordering::Relaxed);
        let status = loop {
            // The lock is free during the sleep, for the monitor.
            let exited = lock(&self.shared.child).try_wait();
            match exited {
                Ok(Some(status)) => break status,
                Err(error) => return Err(error.to_string()),
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        self.join();
        let name = &self.name;
        if self.limits.cancel.is_cancelled() {
            return Err("interrupted".into());
        }
        if self.shared.stalled.load(Ordering::Relaxed) {
            return Err(format!("{name} gave no output within {} s", self.limits.timeout.as_secs_f64()));
        }
        match status.success() {
            true => Ok(()),
            false => {
                let errors = self.errors().or_else(|| summary(&self.shared.forgiven));
                Err(errors.map_or_else(|| format!("{name} failed: {status}"), |errors| format!("{name}: {errors}")))
            }
        }
    }

    /// The errors that were logged and not forgiven, the first two in one line.
    pub fn errors(&self) -> Option<String> {
        summary(&self.shared.errors)
    }

    fn join(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        for thread in [self.monitor.take(), self.log.take()].into_iter().flatten() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

impl Drop for FfmpegProcess {
    fn drop(&mut self) {
        let mut child = lock(&self.shared.child);
        if !matches!(child.try_wait(), Ok(Some(_))) {
            kill(&mut child);
            let _ = child.wait();
        }
        drop(child);
        self.join();
    }
}

impl Shared {
    /// Kills the process when it is cancelled or stalls. Polls are counted, so time in which this process was suspended
    /// does not count.
    fn monitor(&self, limits: &Limits) {
        let (mut last, mut waited) = (0, Duration::ZERO);
        while !self.ended.load(Ordering::Relaxed) {
            std::thread::park_timeout(POLL);
            let reading = self.reading.load(Ordering::Relaxed);
            waited = if reading != 0 && reading == last { waited + POLL } else { Duration::ZERO };
            last = reading;
            let stalled = waited > limits.timeout;
            if stalled || limits.cancel.is_cancelled() {
                self.stalled.store(stalled, Ordering::Relaxed);
                return kill(&mut lock(&self.child));
            }
        }
    }
}

/// The first two errors in one line.
fn summary(errors: &Mutex<Vec<String>>) -> Option<String> {
    let mut errors = lock(errors).clone();
    errors.dedup();
    errors.truncate(2);
    (!errors.is_empty()).then(|| errors.join("; "))
}

/// The message of a line of level error; a closed pipe is our own doing.
fn error_of(line: &str) -> Option<String> {
    let (_, message) = ["[error] ", "[fatal] ", "[panic] "].iter().find_map(|level| line.split_once(level))?;
    let message = message.trim();
    (!message.is_empty() && !message.contains("Broken pipe")).then(|| message.into())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn parses_versions() {
        assert_eq!(version("n7.0"), Some((7, 0)));
        assert_eq!(version("8"), Some((8, 0)));
        assert_eq!(version("N-113007-g8d24a28d06"), None);
        assert_eq!((passthrough(Some((4, 4)))[0], passthrough(Some((5, 1)))[0]), ("-vsync", "-fps_mode"));
    }

    #[test]
    fn takes_errors_from_the_log() {
        assert_eq!(error_of("[h264 @ 0x1] [error] no frame!\n").as_deref(), Some("no frame!"));
        assert_eq!(error_of("[info] n: 3"), None);
        assert_eq!(error_of("[error] av_interleaved_write_frame(): Broken pipe"), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_failure_has_the_forgiven_errors_where_there_are_no_others() {
        for (later, reason) in [("", "sh: early"), ("echo '[error] late' >&2;", "sh: late")] {
            let mut shell = command("sh");
            shell.args(["-c", &format!("echo '[error] early' >&2; echo; read line; {later} exit 1")]);
            let (read, mut write) = std::io::pipe().unwrap();
            shell.stdin(read);
            let limits = Limits { timeout: Duration::from_secs(10), cancel: CancelToken::default() };
            let (mut process, mut out) = FfmpegProcess::start(shell, Path::new("x"), limits, |_| false).unwrap();
            process.reading(1, || out.read(&mut [0])).unwrap();
            while process.errors().is_none() {
                std::thread::sleep(Duration::from_millis(1));
            }
            process.forgive_errors();
            assert_eq!(process.errors(), None);
            write.write_all(b"\n").unwrap();
            assert_eq!(process.finish().unwrap_err(), reason);
        }
    }

    #[cfg(unix)]
    #[test]
    fn kills_a_process_that_stalls_or_is_cancelled() {
        // The first two keep their output open, the last ends it and stays.
        for (cancelled, script) in [(false, "exec sleep 60"), (true, "exec sleep 60"), (false, "exec >&-; sleep 60")] {
            let mut shell = command("sh");
            shell.args(["-c", script]);
            let limits = Limits { timeout: Duration::from_millis(100), cancel: CancelToken::default() };
            if cancelled {
                limits.cancel.cancel();
            }
            let (mut process, mut out) = FfmpegProcess::start(shell, Path::new("x"), limits, |_| false).unwrap();
            assert_eq!(process.reading(1, || out.read(&mut [0]).unwrap()), 0);
            let reason = process.finish().unwrap_err();
            assert_eq!(reason, if cancelled { "interrupted" } else { "sh gave no output within 0.1 s" });
        }
    }
}
