//! A place in a source: a frame, or a time.

use std::fmt;
use std::str::FromStr;

use super::Failure;
use crate::error::{Error, Result};
use crate::media::{Source, Span};

/// A frame by its number, or by when it is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Position {
    /// From 1.
    Frame(usize),
    /// Seconds from the first frame.
    Time(f64),
}

/// Times are written with fewer digits than frames have: a frame this much aside is meant.
const NEAR: f64 = 1e-3;

impl FromStr for Position {
    type Err = String;

    /// `120` is a frame; `80.5`, `80.5s`, `1:20.5` and `00:01:20.5` are times.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is neither a frame, as 120, nor a time, as 80.5s or 00:01:20.5");
        if let Ok(frame) = text.parse() {
            return Ok(Self::Frame(frame));
        }
        let parts: Vec<&str> = text.strip_suffix('s').unwrap_or(text).split(':').collect();
        let (last, above) = parts.split_last().ok_or_else(wrong)?;
        if above.len() > 2 {
            return Err(wrong());
        }
        let digits = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
        let mut seconds = last.parse::<f64>().ok().filter(|_| digits(last)).ok_or_else(wrong)?;
        if !above.is_empty() && seconds >= 60.0 {
            return Err(wrong());
        }
        for (part, unit) in above.iter().rev().zip([60.0, 3600.0]) {
            seconds += unit * f64::from(part.parse::<u32>().map_err(|_| wrong())?);
        }
        if seconds.is_finite() { Ok(Self::Time(seconds)) } else { Err(wrong()) }
    }
}

/// As it can be given.
impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Frame(frame) => write!(f, "{frame}"),
            Self::Time(seconds) => write!(f, "{seconds}s"),
        }
    }
}

impl Position {
    /// The first frame that is not before it.
    ///
    /// # Errors
    /// Where frames come at no rate that is known.
    pub fn begin(self, source: &dyn Source) -> Result<usize> {
        match self {
            Self::Frame(frame) => Ok(frame),
            Self::Time(seconds) => Ok(source.frames_before(seconds - NEAR)?.saturating_add(1)),
        }
    }

    /// The last frame that is not behind it; `None` of a time that is behind all frames.
    ///
    /// # Errors
    /// As [`Position::begin`].
    pub fn end(self, source: &dyn Source) -> Result<Option<usize>> {
        match self {
            Self::Frame(frame) => Ok(Some(frame)),
            Self::Time(seconds) => source.last_before(seconds + NEAR),
        }
    }
}

/// The frames from `--start` to `--end`. Without a start it is `first`; without that, what the source takes for one.
///
/// # Errors
/// A time where there are none; what the source says of frames that it does not have.
pub fn span(
    source: &dyn Source,
    start: Option<Position>,
    end: Option<Position>,
    first: Option<usize>,
) -> Result<Span, Failure> {
    let wrong = |flag: &'static str| move |error: Error| Failure::usage(format!("--{flag}: {error}"));
    let begin = start.map(|start| start.begin(source)).transpose().map_err(wrong("start"))?;
    let last = end.map(|end| end.end(source)).transpose().map_err(wrong("end"))?.flatten();
    if let (Some((start, begin)), Some((end, last))) = (start.zip(begin), end.zip(last))
        && last < begin
        && let Some(said) = nothing_between((start, begin), (end, last))
    {
        return Err(Failure::Usage(said));
    }
    match (first.filter(|_| begin.is_none()), source.length()) {
        (Some(first), Some(length)) if first > length => {
            Err(Failure::Usage(format!("the first box is of frame {first}, and there are {length} frames")))
        }
        _ => Ok(source.span(begin.or(first), last)?),
    }
}

/// Why there is no frame between two places, of which one is a time: in words of what was given.
fn nothing_between((start, begin): (Position, usize), (end, last): (Position, usize)) -> Option<String> {
    match (start, end) {
        (Position::Frame(_), Position::Frame(_)) => None,
        _ if last == 0 => Some(format!("--end {end}: no frame is shown until then: the first one comes later")),
        (Position::Time(from), Position::Time(to)) if from <= to => {
            Some(format!("--start {start} --end {end}: no frame is shown then: frame {last} is the last one before"))
        }
        _ => Some(format!("--end {end}: that is frame {last}, and lies before --start {start}, frame {begin}")),
    }
}

/// How many frames a run will take, where that can be told.
pub fn expected(source: &dyn Source, span: Span) -> Option<usize> {
    span.count().or(source.expected_length().map(|count| (count + 1).saturating_sub(span.first)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn that_no_frame_is_between_two_times_is_said_of_the_times() {
        let time = |text: &str| text.parse::<Position>().unwrap();
        let said = |start: &str, end: &str, begin, last| nothing_between((time(start), begin), (time(end), last));
        assert_eq!(
            said("00:01:20.5", "00:01:30", 61, 60).as_deref(),
            Some("--start 80.5s --end 90s: no frame is shown then: frame 60 is the last one before")
        );
        assert_eq!(
            said("1.5s", "1s", 39, 26).as_deref(),
            Some("--end 1s: that is frame 26, and lies before --start 1.5s, frame 39")
        );
        assert!(said("50", "1s", 50, 26).is_some_and(|said| said.contains("--start 50, frame 50")));
        for start in ["0s", "0.3s", "5"] {
            let said = said(start, "0.1s", 5, 0);
            assert!(said.is_some_and(|said| said.contains("until then: the first one comes later")), "{start}");
        }
        assert_eq!(said("50", "40", 50, 40), None);
        for text in ["120", "80.5s"] {
            assert_eq!(time(text).to_string(), text);
        }
    }

    #[test]
    fn frames_and_times() {
        let read = |text: &str| text.parse::<Position>();
        assert_eq!(read("120"), Ok(Position::Frame(120)));
        for (text, seconds) in
            [("80.5", 80.5), ("80s", 80.0), ("1:20.5", 80.5), ("00:01:20.5", 80.5), ("2:0:0", 7200.0)]
        {
            assert_eq!(read(text), Ok(Position::Time(seconds)), "{text}");
        }
        for wrong in ["", "-3", "-1.5", "a", "1:2:3:4", "1:60", "1:-2", "nan", "inf", "1e999", ":5", "s"] {
            assert!(read(wrong).is_err(), "{wrong}: {:?}", read(wrong));
        }
    }
}
