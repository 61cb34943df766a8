//! A running `ffmpeg`: watched, so that one that hangs is ended, and ended with whoever started it.

use std::io::BufReader;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::input::Input;
use super::says::{Complaints, Shown, listen};
use crate::error::{Error, Result};
use crate::ffmpeg;

/// How often the watch looks, and with that how late it may be.
const WATCH_EVERY: Duration = Duration::from_millis(50);

/// How long a program may take to end after its output has ended.
const LAST_BREATH: Duration = Duration::from_secs(5);

/// Bytes that fit into the pipe: as many as Linux gives to anyone.
#[cfg(target_os = "linux")]
const PIPE: usize = 1 << 20;

/// A process, for those who may end it.
#[derive(Debug)]
pub(super) struct Process {
    child: Mutex<Child>,
    /// The number of the frame that is waited for, as frames are asked for; 0 while none is.
    asked: AtomicU64,
    hung: AtomicBool,
    killed: AtomicBool,
    ended: AtomicBool,
    complaints: Mutex<Complaints>,
}

/// What the end of the output means where ffmpeg says that all is well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The input is over; damage before that is a failure.
    Strict,
    /// The input is over, whatever was damaged.
    Lenient,
    /// The input has no end: something has happened to the camera.
    Never,
}

impl Ending {
    /// How `input` ends, where damage of files is suffered (`lenient`) or not.
    pub fn of(input: &Input, lenient: bool) -> Self {
        if input.is_endless() {
            Self::Never
        } else if lenient || input.is_live() {
            Self::Lenient
        } else {
            Self::Strict
        }
    }
}

/// A running ffmpeg that writes frames to its standard output.
#[derive(Debug)]
pub(super) struct Ffmpeg {
    pub process: Arc<Process>,
    shown: Receiver<Shown>,
    /// It has written a frame and said nothing of it: nothing is waited for any more.
    mute: bool,
    threads: Vec<JoinHandle<()>>,
    patience: Patience,
    /// How many frames were asked for.
    asks: AtomicU64,
}

/// How long a frame may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// The first one, before which ffmpeg finds out what it reads.
    pub first: Duration,
    pub next: Duration,
}

impl Patience {
    /// With the frame that was asked for as this one.
    fn with(&self, asked: u64) -> Duration {
        if asked <= 1 { self.first } else { self.next }
    }
}

/// Locks it, whoever has panicked with it.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How long a frame has been waited for, by one who looks again and again. Time in which nobody could look, while this
/// program was stopped (Ctrl-Z) or the machine slept, is none in which ffmpeg gave nothing.
#[derive(Default)]
struct Waiting {
    asked: u64,
    waited: Duration,
}

impl Waiting {
    /// The time by now: which frame is waited for, and how long ago it was looked the last time.
    fn look(&mut self, asked: u64, since: Duration) -> Duration {
        if asked == 0 || asked != self.asked {
            *self = Self { asked, waited: Duration::ZERO };
        } else {
            self.waited += since.min(2 * WATCH_EVERY);
        }
        self.waited
    }
}

impl Process {
    /// Ends the program.
    pub fn kill(&self) {
        self.killed.store(true, Ordering::Relaxed);
        ffmpeg::kill(&mut lock(&self.child));
    }

    /// Whether somebody wanted it to end, or had no patience with it.
    pub fn was_killed(&self) -> bool {
        self.killed.load(Ordering::Relaxed)
    }

    fn wait(&self) -> Option<ExitStatus> {
        let begun = Instant::now();
        loop {
            if let Ok(Some(status)) = lock(&self.child).try_wait() {
                return Some(status);
            }
            if begun.elapsed() > LAST_BREATH {
                self.kill();
                return lock(&self.child).wait().ok();
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Ends the program once a frame is waited for longer than `patience`.
    fn watch(&self, patience: Patience) {
        let (mut waiting, mut looked) = (Waiting::default(), Instant::now());
        while !self.ended.load(Ordering::Relaxed) {
            std::thread::park_timeout(WATCH_EVERY);
            let asked = self.asked.load(Ordering::Relaxed);
            let waited = waiting.look(asked, looked.elapsed());
            looked = Instant::now();
            if waited > patience.with(asked) {
                self.hung.store(true, Ordering::Relaxed);
                self.kill();
                return;
            }
        }
    }
}

impl Ffmpeg {
    /// Starts it; `what` is read.
    ///
    /// # Errors
    /// [`Error::Sequence`] where it is not installed; [`Error::Io`].
    pub fn start(command: Command, what: &Path, patience: Patience) -> Result<(Self, BufReader<ChildStdout>)> {
        let mut child = ffmpeg::start(command, what)?;
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let process = Arc::new(Process {
            child: Mutex::new(child),
            asked: AtomicU64::new(0),
            hung: AtomicBool::new(false),
            killed: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            complaints: Mutex::default(),
        });
        let (sender, shown) = channel();
        let mut running = Self {
            process: Arc::clone(&process),
            shown,
            mute: false,
            threads: Vec::new(),
            patience,
            asks: AtomicU64::new(0),
        };
        let listener = Arc::clone(&process);
        running.spawn("ffmpeg says", move || {
            if let Some(err) = err {
                listen(err, &sender, &listener.complaints);
            }
        })?;
        running.spawn("ffmpeg watch", move || process.watch(patience))?;
        let out = out.ok_or_else(|| Error::io("ffmpeg", std::io::Error::other("it has no output")))?;
        // A frame of 1920 x 1080 would else go through in 32 pieces, with two processes in turns for each of them. What
        // the system does not grant only costs time.
        #[cfg(target_os = "linux")]
        let _ = rustix::pipe::fcntl_setpipe_size(&out, PIPE);
        Ok((running, BufReader::with_capacity(1 << 16, out)))
    }

    fn spawn(&mut self, name: &str, work: impl FnOnce() + Send + 'static) -> Result<()> {
        let thread = std::thread::Builder::new().name(name.into()).spawn(work);
        self.threads.push(thread.map_err(|source| Error::io("a thread for ffmpeg", source))?);
        Ok(())
    }

    /// Does something that waits for output, under the eyes of the watch.
    pub fn waiting<T>(&self, read: impl FnOnce() -> T) -> T {
        self.process.asked.store(self.asks.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
        let read = read();
        self.process.asked.store(0, Ordering::Relaxed);
        read
    }

    /// What it says of the frame that was read last.
    pub fn shown(&mut self) -> Option<Shown> {
        let patience = if self.mute { Duration::ZERO } else { LAST_BREATH.min(self.patience.next) };
        let shown = self.shown.recv_timeout(patience).ok();
        self.mute = shown.is_none();
        shown
    }

    /// Forgets what it complained of so far.
    pub fn forgive(&self) {
        let mut complaints = lock(&self.process.complaints);
        (complaints.early, complaints.late) = (Vec::new(), Vec::new());
    }

    /// What it said that tells why the input has ended, where it did.
    pub fn last_complaint(&self) -> Option<String> {
        lock(&self.process.complaints).of_the_end().cloned()
    }

    /// The first of what it complained of before it had a frame, where that was all.
    pub fn early_complaint(&self) -> Option<String> {
        let complaints = lock(&self.process.complaints);
        complaints.early.first().filter(|_| complaints.begun).cloned()
    }

    /// Why the output has ended, where it was not because there is no more; `after` frames.
    pub fn trouble(&self, after: usize, ending: Ending) -> Option<String> {
        let status = self.process.wait();
        // The listener ends with the standard error; what it has not read yet is the reason.
        let begun = Instant::now();
        while self.threads.first().is_some_and(|thread| !thread.is_finished()) && begun.elapsed() < LAST_BREATH {
            std::thread::sleep(Duration::from_millis(1));
        }
        let complaints = lock(&self.process.complaints);
        let said = complaints.late.first().or(complaints.early.first());
        let said = said.map_or(String::new(), |line| format!(": {line}"));
        if self.process.hung.load(Ordering::Relaxed) {
            let seconds = self.patience.with(self.asks.load(Ordering::Relaxed)).as_secs_f64();
            return Some(format!("ffmpeg gave no frame for {seconds} s after {after} frames and was ended{said}"));
        }
        let status = status?;
        match status.code() {
            None => Some(format!("ffmpeg was killed after {after} frames ({status})")),
            Some(0) if ending == Ending::Never => Some(format!("the camera gave no more after {after} frames{said}")),
            Some(0) if ending == Ending::Lenient || complaints.late.is_empty() && complaints.begun => None,
            Some(0) if complaints.early.is_empty() && complaints.late.is_empty() => None,
            Some(0) => Some(format!("it is damaged; all {after} frames that ffmpeg gives of it were read{said}")),
            Some(_) => Some(format!("ffmpeg stopped after {after} frames{said}")),
        }
    }
}

impl Drop for Ffmpeg {
    fn drop(&mut self) {
        self.process.ended.store(true, Ordering::Relaxed);
        self.process.kill();
        let _ = lock(&self.process.child).wait();
        for thread in self.threads.drain(..) {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
