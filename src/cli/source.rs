//! What is read: the source, the frames of it, and the warnings about it.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use super::Failure;
use super::targets::Targets;
use crate::cancel::CancelToken;
use crate::error::{Error, Result};
use crate::export::TargetRecord;
use crate::media::{
    Item, OpenOptions, Prefetch, SequenceOptions, Source, Span, Truth, VideoOptions, Wait, local, open,
};
use crate::tracker;

/// How often a wait for a frame looks at the cancel token.
const POLL: Duration = Duration::from_millis(100);
/// Times are written with fewer digits than frames have: a frame this close is meant.
const NEAR: f64 = 1e-3;

/// The source of a run as it is asked for.
#[derive(Clone, Debug)]
pub struct SourceRequest<'a> {
    /// A folder, a video, a camera, an address, or `-`.
    pub path: &'a Path,
    /// The truth, in place of the file beside the frames.
    pub truth: Option<PathBuf>,
    /// Which target's truth.
    pub target: Option<u32>,
    /// How videos are read.
    pub video: VideoOptions,
    /// Whether the truth gives the first box.
    pub needs_truth: bool,
}

impl SourceRequest<'_> {
    /// The source, and warnings besides its own.
    ///
    /// # Errors
    /// Wrong usage for a missing source, a failure for one that cannot be read.
    pub fn open(self) -> Result<(Box<dyn Source>, Vec<String>), Failure> {
        let options = |truth| OpenOptions {
            sequence: SequenceOptions { target: self.target, truth, base: None },
            video: self.video.clone(),
        };
        let mut warnings = Vec::new();
        let path = local(self.path);
        let opened = match open(self.path, &options(self.truth.clone().map_or(Truth::Beside, Truth::File))) {
            // A broken truth that is only compared with does not end the run.
            Err(error @ Error::Annotation { .. }) if !self.needs_truth && self.truth.is_none() => {
                warnings.push(format!("{error}; the truth is ignored"));
                open(self.path, &options(Truth::Ignore))
            }
            opened => opened,
        };
        match opened {
            Ok(_) if self.truth.is_some() && !path.is_dir() => {
                Err(Failure::usage(format!("--truth needs a folder of images, not {}", self.path.display())))
            }
            Ok(source) => Ok((source, warnings)),
            Err(Error::Io { path: missing, source }) if missing == path && source.kind() == ErrorKind::NotFound => {
                Err(Failure::usage(format!("{}: no such folder or file", missing.display())))
            }
            Err(_) if self.video.cancel.is_cancelled() => Err(Failure::Interrupted),
            Err(error) => Err(error.into()),
        }
    }
}

/// A frame by its number, or by the time at which it is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Position {
    /// From 1.
    Frame(usize),
    /// Seconds from the first frame.
    Time(f64),
}

impl FromStr for Position {
    type Err = String;

    /// `120` is a frame; `80.5`, `80.5s`, `1:20.5` and `00:01:20.5` are times.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is neither a frame such as 120 nor a time such as 80.5s or 00:01:20.5");
        if let Ok(frame) = text.parse() {
            return Ok(Self::Frame(frame));
        }
        let parts: Vec<&str> = text.strip_suffix('s').unwrap_or(text).split(':').collect();
        let (last, above) = parts.split_last().ok_or_else(wrong)?;
        if above.len() > 2 || !last.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(wrong());
        }
        let mut seconds = last.parse::<f64>().map_err(|_| wrong())?;
        if !above.is_empty() && seconds >= 60.0 {
            return Err(wrong());
        }
        for (part, unit) in above.iter().rev().zip([60.0, 3600.0]) {
            seconds += unit * f64::from(part.parse::<u32>().map_err(|_| wrong())?);
        }
        if seconds.is_finite() { Ok(Self::Time(seconds)) } else { Err(wrong()) }
    }
}

/// The frames from `--start` to `--end`. Without a start it is `first`; without that, the source's own.
///
/// # Errors
/// Wrong usage for times where frames have none, and for frames that the source has not got.
pub fn span(
    source: &dyn Source,
    start: Option<Position>,
    end: Option<Position>,
    first: Option<usize>,
) -> Result<Span, Failure> {
    let wrong = |flag: &'static str| move |error: Error| Failure::usage(format!("--{flag}: {error}"));
    let begin = match start {
        Some(Position::Time(seconds)) => {
            Some(source.frames_before(seconds - NEAR).map_err(wrong("start"))?.saturating_add(1))
        }
        Some(Position::Frame(frame)) => Some(frame),
        None => None,
    };
    let last = match end {
        Some(Position::Time(seconds)) => source.last_before(seconds + NEAR).map_err(wrong("end"))?,
        Some(Position::Frame(frame)) => Some(frame),
        None => None,
    };
    let by_time = [start, end].iter().any(|place| matches!(place, Some(Position::Time(_))));
    if let (true, Some(last)) = (by_time, last)
        && last < begin.unwrap_or(1)
    {
        return Err(Failure::usage("no frame is shown between --start and --end"));
    }
    match (first.filter(|_| begin.is_none()), source.length()) {
        (Some(first), Some(length)) if first > length => {
            Err(Failure::usage(format!("the first box is of frame {first}, and there are {length} frames")))
        }
        _ => Ok(source.span(begin.or(first), last)?),
    }
}

/// How many frames a run will take, where that is known.
pub fn expected(source: &dyn Source, span: Span) -> Option<usize> {
    span.count().or(source.expected_length().map(|count| (count + 1).saturating_sub(span.first)))
}

/// Warnings about the frames, the targets in them, and frames that are left out without being asked.
pub fn warnings(
    source: &dyn Source,
    span: Span,
    wanted: &Targets,
    targets: &[TargetRecord],
    (start, end): (Option<Position>, Option<Position>),
) -> Vec<String> {
    let mut all = source.warnings().to_vec();
    for target in targets {
        let name = if targets.len() > 1 { format!(" of target {}", target.id) } else { String::new() };
        all.extend(tracker::too_small(&target.bbox).map(|text| format!("the box{name} {text}; enlarge the images")));
    }
    if !wanted.is_empty() {
        if start.is_none() && wanted.first().is_none() && span.first > 1 {
            let first = span.first;
            all.push(format!("the box is of frame {first}, the first with truth; --start 1 begins with the first"));
        }
        if let (None, Some(last), Some(count)) = (end, span.last, source.length())
            && last < count
        {
            all.push(format!("frame {last} is the last that the benchmark uses; --end {count} ends with the last"));
        }
    }
    all
}

/// Why a run has no frame. `by_start` says that `--start` gave the first one.
pub fn no_frame(source: &dyn Source, span: Span, by_start: bool) -> Failure {
    let count = source.expected_length().map_or(String::new(), |count| format!(" (about {count})"));
    match (span.first, by_start) {
        (..=1, _) => Failure::failed(format!("{}: it has no frame", source.name())),
        (first, true) => Failure::usage(format!("--start is frame {first}, and there are fewer{count}")),
        (first, false) => Failure::usage(format!("the first box is of frame {first}, and there are fewer{count}")),
    }
}

/// The frames of a source, read ahead, until the token is cancelled.
#[derive(Debug)]
pub struct Frames<'a> {
    /// A frame that was taken before, which comes first.
    pub first: Option<Item>,
    /// The frames after it.
    pub frames: Prefetch,
    /// The source.
    pub source: &'a dyn Source,
    /// Ends a wait.
    pub cancel: CancelToken,
}

impl Iterator for Frames<'_> {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        loop {
            match self.frames.next_within(POLL) {
                Wait::Item(item) => return Some(item),
                Wait::End => return None,
                Wait::NotYet if self.cancel.is_cancelled() => {
                    self.source.cancel();
                    return None;
                }
                Wait::NotYet => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_frames_or_times() {
        for (text, position) in [
            ("120", Position::Frame(120)),
            ("80.5", Position::Time(80.5)),
            ("80s", Position::Time(80.0)),
            ("1:20.5", Position::Time(80.5)),
            ("00:01:20.5", Position::Time(80.5)),
            ("01:00:00", Position::Time(3600.0)),
        ] {
            assert_eq!(text.parse(), Ok(position), "{text}");
        }
        for wrong in ["", "-3", "1:60", "1:2:3:4", "x", "inf", "nan", "1:x", "s"] {
            assert!(wrong.parse::<Position>().is_err(), "{wrong}");
        }
    }
}
