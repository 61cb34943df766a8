//! The source of a run: opening it, its span of frames, and warnings about it.

use std::io::ErrorKind;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use clap::Args;

use super::Failure;
use super::targets::Targets;
use crate::cancel::CancelToken;
use crate::error::{Error, Result};
use crate::export::TargetRecord;
use crate::frame::Channels;
use crate::media::{self, Info, OpenOptions, RawFormat, Source, Span, Truth, local, without_user};
use crate::tracker;

/// Tolerance of `--start` and `--end` in seconds, since users write times with few digits.
const NEAR: f64 = 1e-3;

/// Opens the source that a user names, and adds warnings to its own. `needs_truth` says that the truth gives the first
/// box.
///
/// # Errors
/// Wrong usage for a missing source, a failure for one that cannot be read.
pub fn open(
    given: &Path,
    mut options: OpenOptions,
    needs_truth: bool,
    cancel: &CancelToken,
) -> Result<(Arc<dyn Source>, Vec<String>), Failure> {
    let mut warnings = Vec::new();
    let (path, is_beside) = (local(given), options.truth == Truth::Beside);
    let opened = match media::open(given, &options, cancel) {
        // A broken truth that is only compared with does not end the run.
        Err(error @ Error::Annotation { .. }) if !needs_truth && is_beside => {
            warnings.push(format!("{error}; the truth is ignored"));
            options.truth = Truth::Ignore;
            media::open(given, &options, cancel)
        }
        opened => opened,
    };
    match opened {
        Ok(_) if !is_beside && !path.is_dir() => Err(Failure::usage(format!(
            "--truth needs a folder of images, not {}",
            without_user(&given.to_string_lossy())
        ))),
        Ok(source) => Ok((source.into(), warnings)),
        Err(Error::Io { path: missing, source }) if missing == path && source.kind() == ErrorKind::NotFound => {
            let is_pattern = missing.file_name().is_some_and(|name| name.to_string_lossy().contains(['%', '*']));
            let hint = if is_pattern { ": give the folder that holds the images" } else { "" };
            Err(Failure::usage(format!("{}: no such folder or file{hint}", missing.display())))
        }
        Err(_) if cancel.is_cancelled() => Err(Failure::Interrupted),
        Err(error) => Err(error.into()),
    }
}

/// A frame by its number, or by the time at which it is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Position {
    /// Number of the frame, from 1.
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

/// How the frames of a source are read.
#[derive(Clone, Debug, Default, Args)]
pub struct ReadArgs {
    /// Video of a file that has several, from 1 [default: the one marked as default]
    #[arg(long, hide_short_help = true, value_name = "N")]
    stream: Option<usize>,
    /// Levels of black and white of 16-bit pictures [default: the range of the first frame]
    #[arg(long, hide_short_help = true, value_name = "LOW,HIGH", value_parser = levels)]
    levels: Option<(u16, u16)>,
    /// Frames of a pipe without a header: rgb24, bgr24, gray, nv12 or yuyv422
    #[arg(long, hide_short_help = true, value_name = "PIXELS:WxH@FPS")]
    raw: Option<RawFormat>,
}

impl ReadArgs {
    /// The options to open a source with.
    pub fn options(&self) -> OpenOptions {
        OpenOptions { stream: self.stream, levels: self.levels, raw: self.raw, ..OpenOptions::default() }
    }
}

/// Parses `29500,29700`.
fn levels(text: &str) -> Result<(u16, u16), String> {
    let levels = text.split_once(',').and_then(|(low, high)| low.parse().ok().zip(high.parse().ok()));
    let levels = levels.filter(|(low, high)| low < high);
    levels.ok_or_else(|| "expected two levels from 0 to 65535, the lower one first, such as 29500,29700".into())
}

/// A part of the frames.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct RangeArgs {
    /// First frame or its time, as in 0:01:20.5 [default: the first with a box, else 1]
    #[arg(long, value_name = "N|TIME", allow_hyphen_values = true)]
    pub start: Option<Position>,
    /// Last frame, from 1, or its time [default: the last]
    #[arg(long, value_name = "N|TIME", allow_hyphen_values = true)]
    pub end: Option<Position>,
}

/// The frames from `--start` to `--end`. Without `--start` the span begins at `first`, else at the source's own start.
///
/// # Errors
/// Wrong usage for times of a source whose frames have none, and for frames that do not exist.
pub fn span(
    source: &dyn Source,
    RangeArgs { start, end }: RangeArgs,
    first: Option<usize>,
    cancel: &CancelToken,
) -> Result<Span, Failure> {
    let info = source.info();
    let by_time = [start, end].into_iter().flatten().filter_map(|place| match place {
        Position::Time(seconds) => Some(seconds),
        Position::Frame(_) => None,
    });
    let latest = by_time.reduce(f64::max);
    let times = latest.map_or(Ok(Vec::new()), |latest| times(source, latest + NEAR, cancel))?;
    let before = |seconds: f64| match info.rate.filter(|_| info.constant_rate) {
        Some(rate) => (seconds * rate).ceil().max(0.0) as usize,
        None => times.partition_point(|&time| time < seconds),
    };
    let begin = start.map(|place| match place {
        Position::Time(seconds) => before(seconds - NEAR).saturating_add(1),
        Position::Frame(frame) => frame,
    });
    let last = end.and_then(|place| match place {
        // A video that ends before that time is read to its end.
        Position::Time(seconds) => {
            Some(before(seconds + NEAR)).filter(|&last| info.constant_rate || last < times.len())
        }
        Position::Frame(frame) => Some(frame),
    });
    if let (Some(_), Some(last)) = (latest, last)
        && last < begin.unwrap_or(1)
    {
        return Err(Failure::usage("no frame is shown between --start and --end"));
    }
    match (first.filter(|_| begin.is_none()), info.length) {
        (Some(first), Some(length)) if first > length => {
            Err(Failure::usage(format!("the first box is of frame {first}, and there are {length} frames")))
        }
        _ => Ok(info.span(begin.or(first), last)?),
    }
}

/// The times of the frames up to the first at or after `until`, from the first frame; none at a constant rate.
fn times(source: &dyn Source, until: f64, cancel: &CancelToken) -> Result<Vec<f64>, Failure> {
    let info = source.info();
    let wrong = |reason| Failure::usage(format!("{}: {reason}: give frame numbers", info.name));
    let mut times = Vec::new();
    if info.constant_rate {
        return Ok(times);
    }
    if info.live {
        return Err(wrong("the times of its frames are not known in advance"));
    }
    if let Some(known) = source.times(until, cancel) {
        return Ok(known);
    }
    for item in source.stream(Span::default(), Channels::Luma.into(), cancel)? {
        if matches!(item.frame, Err(Error::Ended { .. } | Error::Cancelled)) {
            break;
        }
        let skipped = times.last().copied().filter(|_| item.frame.is_err());
        let time = item.timestamp.or(skipped).ok_or_else(|| wrong("its frames have no times"))?;
        times.push(time);
        if time >= until {
            break;
        }
    }
    Ok(times)
}

/// How many frames a run will take, if known.
pub fn expected(info: &Info, span: Span) -> Option<usize> {
    span.count().or(info.likely_length().map(|count| (count + 1).saturating_sub(span.first)))
}

/// Warnings about the frames, the targets in them, and frames that are left out without being asked.
pub fn warnings(
    info: &Info,
    span: Span,
    wanted: &Targets,
    targets: &[TargetRecord],
    RangeArgs { start, end }: RangeArgs,
) -> Vec<String> {
    let mut all = info.warnings.clone();
    for target in targets {
        let name = if targets.len() > 1 { format!(" of target {}", target.id) } else { String::new() };
        let small = target.boxes().find_map(|(_, bbox)| tracker::too_small(&bbox));
        all.extend(small.map(|text| format!("the box{name} {text}; enlarge the images")));
    }
    all.extend(wanted.warnings.iter().cloned());
    if let left @ [_, ..] = &wanted.left_out(targets)[..] {
        let ids: Vec<_> = left.iter().map(u32::to_string).collect();
        all.push(format!("no box is given in these frames to target {}, which is left out", ids.join(", ")));
    }
    if !wanted.is_empty() {
        if start.is_none() && wanted.first().is_none() && span.first > 1 {
            let first = span.first;
            all.push(format!("the box is of frame {first}, the first with truth; --start 1 begins with the first"));
        }
        if let (None, Some(last), Some(count)) = (end, span.last, info.length)
            && last < count
        {
            all.push(format!("frame {last} is the last that the benchmark uses; --end {count} ends with the last"));
        }
    }
    all
}

/// Why a run has no frame. `by_start` says that `--start` gave the first one.
pub fn no_frame(info: &Info, span: Span, by_start: bool) -> Failure {
    let count = info.likely_length().map_or(String::new(), |count| format!(" (about {count})"));
    match (span.first, by_start) {
        (..=1, _) => Failure::failed(format!("{}: it has no frame", info.name)),
        (first, true) => Failure::usage(format!("--start is frame {first}, and there are fewer{count}")),
        (first, false) => Failure::usage(format!("the first box is of frame {first}, and there are fewer{count}")),
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
