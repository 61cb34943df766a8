//! What is read, and what to say of it.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Failure, aside};
use crate::error::Error;
use crate::media::{OpenOptions, SequenceOptions, Source, Truth, VideoOptions, local, open};

/// How the source of a run is opened.
#[derive(Clone, Debug)]
pub struct Opening {
    /// The folder, video, camera or address.
    pub path: PathBuf,
    /// What stands before it in messages: a flag and a blank, or nothing.
    pub flag: &'static str,
    /// The truth, in place of what lies beside the frames.
    pub truth: Option<PathBuf>,
    /// Which target's truth.
    pub target: Option<u32>,
    /// How videos are read.
    pub video: VideoOptions,
    /// Whether the truth says what is followed.
    pub by_truth: bool,
    /// What a path that is not there may be meant for, as the end of a sentence.
    pub hint: fn(&Path) -> Option<String>,
}

impl Opening {
    /// The same unless `asked`, which is called again and again while it lasts, says that somebody wants the run to
    /// end: what was begun for it ends then.
    ///
    /// # Errors
    /// As [`Opening::open`], and [`Failure::Interrupted`].
    pub fn open_unless(self, asked: impl FnMut() -> bool) -> Result<(Box<dyn Source>, Vec<String>), Failure> {
        let stop = self.video.stop.clone();
        aside(move || self.open(), &stop, asked)?.ok_or(Failure::Interrupted)?
    }

    /// The source, and what is odd about it besides its own warnings.
    ///
    /// # Errors
    /// Wrong usage for what is not there, a failure for what cannot be read.
    pub fn open(&self) -> Result<(Box<dyn Source>, Vec<String>), Failure> {
        let options =
            |truth| OpenOptions { sequence: SequenceOptions { target: self.target, truth }, video: self.video.clone() };
        let mut warnings = Vec::new();
        let given = local(&self.path);
        let opened = match open(&self.path, &options(self.truth.clone().map_or(Truth::Beside, Truth::File))) {
            // The truth is only compared with: what is broken in it stops nobody who gives the box and did not ask for
            // it.
            Err(error @ Error::Annotation { .. }) if !self.by_truth && self.truth.is_none() => {
                warnings.push(format!("{error}; the truth is left out"));
                open(&self.path, &options(Truth::Ignore))
            }
            opened => opened,
        };
        match opened {
            Ok(_) if self.truth.is_some() && !given.is_dir() => {
                let said = "--truth is compared with a folder of images, and";
                Err(Failure::Usage(format!("{said} {} is none", self.path.display())))
            }
            Ok(source) => Ok((source, warnings)),
            Err(Error::Io { path, source }) if path == given && source.kind() == ErrorKind::NotFound => {
                let hint = (self.hint)(&path).map_or(String::new(), |hint| format!("; {hint}"));
                Err(Failure::Usage(format!("{}{}: there is no such folder or file{hint}", self.flag, path.display())))
            }
            Err(Error::Io { path, source }) if Some(&path) == self.truth.as_ref() => {
                Err(Failure::Usage(format!("--truth {}: {source}", path.display())))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Most threads that may be asked for: each takes memory and time to start, and no machine has so many cores.
pub const MOST_THREADS: usize = 1024;

/// `--jobs`: how many threads follow targets. Without it there are as many as the machine has cores.
///
/// # Errors
/// Wrong usage for more than [`MOST_THREADS`]; a failure where they cannot be started.
pub fn start_threads(jobs: usize) -> Result<(), Failure> {
    if !(1..=MOST_THREADS).contains(&jobs) {
        return Err(Failure::Usage(format!("--jobs {jobs}: from 1 to {MOST_THREADS} threads")));
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build_global();
    pool.map_err(|error| Failure::Failed(format!("--jobs {jobs}: {error}")))
}

/// `--timeout`, the longest time that the next frame may take.
///
/// # Errors
/// Wrong usage for seconds that are not above zero, or not finite.
pub fn seconds(timeout: f64) -> Result<Duration, Failure> {
    let patience = Duration::try_from_secs_f64(timeout).ok().filter(|patience| !patience.is_zero() && timeout <= 1e9);
    patience.ok_or_else(|| Failure::Usage(format!("--timeout {timeout}: seconds above zero, at most 1e9")))
}
