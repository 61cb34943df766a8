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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
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
        let _ = lock(&self.child).kill();
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
    pub fn start(command: &mut Command, what: &Path, patience: Patience) -> Result<(Self, BufReader<ChildStdout>)> {
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
mod tests {
    use std::io::Read;

    use super::*;

    #[cfg(unix)]
    fn shell(script: &str, patience: Duration) -> (Ffmpeg, BufReader<ChildStdout>) {
        patient(script, Patience { first: patience, next: patience })
    }

    #[cfg(unix)]
    fn patient(script: &str, patience: Patience) -> (Ffmpeg, BufReader<ChildStdout>) {
        let mut command = ffmpeg::command("sh");
        command.args(["-c", script]);
        Ffmpeg::start(&mut command, Path::new("clip"), patience).unwrap()
    }

    #[cfg(unix)]
    fn read_all(ffmpeg: &Ffmpeg, out: &mut BufReader<ChildStdout>) -> Vec<u8> {
        let mut bytes = Vec::new();
        ffmpeg.waiting(|| out.read_to_end(&mut bytes)).unwrap();
        bytes
    }

    #[test]
    fn time_in_which_the_program_was_stopped_is_not_waited() {
        let mut waiting = Waiting::default();
        let looks = [(0, 1), (1, 50), (1, 50), (1, 60_000), (1, 50), (2, 50), (2, 60), (0, 50), (3, 50)];
        let waited = looks.map(|(asked, since)| waiting.look(asked, Duration::from_millis(since)).as_millis());
        assert_eq!(waited, [0, 0, 50, 150, 200, 0, 60, 0, 0]);
    }

    #[test]
    #[cfg(unix)]
    fn one_that_hangs_is_ended_and_said_to() {
        let (ffmpeg, mut out) = shell("echo begun; exec sleep 60", Duration::from_millis(200));
        let begun = Instant::now();
        assert_eq!(read_all(&ffmpeg, &mut out), b"begun\n");
        assert!(begun.elapsed() < Duration::from_secs(20));
        let said = ffmpeg.trouble(3, Ending::Strict).unwrap();
        assert!(said.contains("no frame for 0.2 s after 3 frames"), "{said}");
    }

    #[test]
    #[cfg(unix)]
    fn the_first_frame_may_take_longer_than_the_next() {
        let patience = Patience { first: Duration::from_secs(30), next: Duration::from_millis(200) };
        let (ffmpeg, mut out) = patient("sleep 0.6; echo begun; exec sleep 60", patience);
        let mut line = String::new();
        ffmpeg.waiting(|| std::io::BufRead::read_line(&mut out, &mut line)).unwrap();
        assert_eq!((line.as_str(), read_all(&ffmpeg, &mut out)), ("begun\n", Vec::new()));
        let said = ffmpeg.trouble(1, Ending::Lenient).unwrap();
        assert!(said.contains("no frame for 0.2 s after 1 frames"), "{said}");
    }

    #[test]
    #[cfg(unix)]
    fn a_slow_reader_is_no_hanging_writer() {
        let (ffmpeg, mut out) = shell("echo begun", Duration::from_millis(100));
        std::thread::sleep(Duration::from_millis(400));
        assert_eq!(read_all(&ffmpeg, &mut out), b"begun\n");
        assert_eq!(ffmpeg.trouble(1, Ending::Strict), None);
    }

    #[test]
    fn cameras_never_end_and_only_files_are_read_strictly() {
        for (given, lenient, ending) in [
            ("clip.mp4", false, Ending::Strict),
            ("clip.mp4", true, Ending::Lenient),
            ("rtsp://host/clip", false, Ending::Lenient),
            ("/dev/video0", false, Ending::Never),
            ("/dev/video0", true, Ending::Never),
        ] {
            assert_eq!(Ending::of(&Input::new(Path::new(given)), lenient), ending, "{given}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn an_end_is_told_from_a_failure() {
        let patience = Duration::from_secs(30);
        for (script, ending, said) in [
            ("exit 0", Ending::Strict, None),
            ("echo '[error] bad slice' >&2; exit 0", Ending::Lenient, None),
            (
                "echo '[error] bad slice' >&2; exit 0",
                Ending::Strict,
                Some("it is damaged; all 7 frames that ffmpeg gives of it were read: bad slice"),
            ),
            ("exit 1", Ending::Lenient, Some("ffmpeg stopped after 7 frames")),
            ("kill -9 $$", Ending::Lenient, Some("ffmpeg was killed after 7 frames")),
        ] {
            let (ffmpeg, mut out) = shell(script, patience);
            read_all(&ffmpeg, &mut out);
            let trouble = ffmpeg.trouble(7, ending);
            assert!(trouble.as_deref().unwrap_or("").starts_with(said.unwrap_or("")), "{script}: {trouble:?}");
            assert_eq!(trouble.is_some(), said.is_some(), "{script}: {trouble:?}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_camera_that_vanishes_is_no_end() {
        for (script, said) in [
            ("exit 0", "the camera gave no more after 7 frames"),
            ("echo '[error] No such device' >&2", "the camera gave no more after 7 frames: No such device"),
            ("exit 1", "ffmpeg stopped after 7 frames"),
        ] {
            let (ffmpeg, mut out) = shell(script, Duration::from_secs(30));
            read_all(&ffmpeg, &mut out);
            assert_eq!(ffmpeg.trouble(7, Ending::Never).as_deref(), Some(said), "{script}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn one_that_says_nothing_of_its_frames_is_waited_for_once() {
        let patience = Duration::from_millis(300);
        let (mut ffmpeg, _out) = shell("exec sleep 60", patience);
        let begun = Instant::now();
        assert_eq!(ffmpeg.shown(), None);
        let waited = begun.elapsed();
        assert!((0..100).all(|_| ffmpeg.shown().is_none()));
        assert!(waited >= patience && begun.elapsed() < 10 * patience);
    }

    #[test]
    #[cfg(unix)]
    fn dropping_ends_it() {
        let (ffmpeg, _out) = shell("exec sleep 60", Duration::from_secs(60));
        let process = Arc::clone(&ffmpeg.process);
        drop(ffmpeg);
        assert!(process.child.lock().unwrap().try_wait().unwrap().is_some());
    }
}
