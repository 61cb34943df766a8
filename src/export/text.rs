//! Lines of text: CSV, OTB, MOT and JSON lines.

use std::io::{self, Write};

use super::output::{Destination, Lines};
use super::record::{BOX_DIGITS, rounded, to_microseconds};
use super::{Export, FrameRecord, FrameView};
use crate::error::{Error, Result};
use crate::media::annotation::Base;
use crate::tracker::State;

/// JSON lines: one object per frame and target, with the fields of an element of `frames` in the JSON document.
#[derive(Debug)]
pub struct JsonLines {
    lines: Lines,
    line: Vec<u8>,
}

impl JsonLines {
    /// Checks that `destination` can be written.
    ///
    /// # Errors
    /// [`Error::Output`] with the reason.
    pub fn create(destination: &Destination) -> Result<Self> {
        Ok(Self { lines: Lines::create(destination)?, line: Vec::new() })
    }

    /// Writes to anything that takes bytes.
    pub fn to_writer(writer: impl Write + Send + 'static) -> Self {
        Self { lines: Lines::to_writer(writer), line: Vec::new() }
    }
}

impl Export for JsonLines {
    fn frame(&mut self, record: &FrameRecord, _: &FrameView<'_>) -> Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, record).map_err(|error| Error::io(&record.file, error.into()))?;
        self.line.push(b'\n');
        self.lines.write(&self.line)
    }
}

/// OTB text: one row `x,y,w,h` per frame, the corner **1-based**, with at most four decimals. A frame without a box is
/// a row of `NaN`.
#[derive(Debug)]
pub struct Otb(Lines);

impl Otb {
    /// Checks that `destination` can be written.
    ///
    /// # Errors
    /// [`Error::Output`] with the reason.
    pub fn create(destination: &Destination) -> Result<Self> {
        Ok(Self(Lines::create(destination)?))
    }
}

impl Export for Otb {
    fn frame(&mut self, record: &FrameRecord, _: &FrameView<'_>) -> Result<()> {
        // Rounded as they stand in the file: a box of four decimals has more when it is moved by a pixel.
        let numbers = record.finite_box().map_or([f64::NAN; 4], |bbox| Base::One.to_numbers(&bbox));
        let [x, y, w, h] = numbers.map(|number| rounded(number, BOX_DIGITS));
        self.0.write(format!("{x},{y},{w},{h}\n").as_bytes())
    }
}

/// MOT text: one row `frame,id,left,top,width,height,confidence,-1,-1,-1` per target and frame, frames and corners
/// **1-based**. The confidence is 1 for a given box and for trackers without one. A lost target and an unreadable frame
/// have no row.
#[derive(Debug)]
pub struct Mot(Lines);

impl Mot {
    /// Checks that `destination` can be written.
    ///
    /// # Errors
    /// [`Error::Output`] with the reason.
    pub fn create(destination: &Destination) -> Result<Self> {
        Ok(Self(Lines::create(destination)?))
    }
}

impl Export for Mot {
    fn frame(&mut self, record: &FrameRecord, _: &FrameView<'_>) -> Result<()> {
        let Some(bbox) = record.finite_box().filter(|_| record.is_visible()) else {
            // The file exists even if it has no row.
            return self.0.write(b"");
        };
        let [x, y, w, h] = Base::One.to_numbers(&bbox).map(|number| rounded(number, BOX_DIGITS));
        let confidence = record.confidence.filter(|_| record.state != State::Initial).unwrap_or(1.0);
        let (frame, id) = (record.index, record.id.unwrap_or(1));
        self.0.write(format!("{frame},{id},{x},{y},{w},{h},{confidence},-1,-1,-1\n").as_bytes())
    }
}

/// The columns of CSV. The last one is there where there are several targets.
const HEADER: [&str; 18] = [
    "index",
    "file",
    "x",
    "y",
    "w",
    "h",
    "peak",
    "psr",
    "apce",
    "decision",
    "refit_kept",
    "state",
    "confidence",
    "long_term",
    "decode_ms",
    "track_ms",
    "time",
    "id",
];

/// CSV with a header: the fields of the JSON document's frames without the polygon, the box in four columns (corner
/// 0-based), an empty cell where there is no number. Several targets have a row each per frame.
#[derive(Debug)]
pub struct Csv {
    lines: Lines,
    begun: bool,
}

impl Csv {
    /// Checks that `destination` can be written.
    ///
    /// # Errors
    /// [`Error::Output`] with the reason.
    pub fn create(destination: &Destination) -> Result<Self> {
        Ok(Self { lines: Lines::create(destination)?, begun: false })
    }
}

impl Export for Csv {
    fn frame(&mut self, record: &FrameRecord, _: &FrameView<'_>) -> Result<()> {
        let number = |value: Option<f32>| value.filter(|v| v.is_finite()).map_or(String::new(), |v| v.to_string());
        let seconds = |value: Option<f64>| value.filter(|v| v.is_finite()).map_or(String::new(), |v| v.to_string());
        let corner: [String; 4] = match record.finite_box() {
            Some(bbox) => <[f64; 4]>::from(bbox).map(|v| v.to_string()),
            None => Default::default(),
        };
        let [x, y, w, h] = corner;
        let row = [
            record.index.to_string(),
            record.file.clone(),
            x,
            y,
            w,
            h,
            number(record.peak),
            number(record.psr),
            number(record.apce),
            number(record.decision),
            record.refit_kept.to_string(),
            record.state.to_string(),
            number(record.confidence),
            number(record.long_term),
            seconds(Some(to_microseconds(record.decode_ms))),
            seconds(Some(to_microseconds(record.track_ms))),
            seconds(record.time),
            record.id.map_or(String::new(), |id| id.to_string()),
        ];
        let header = HEADER.map(String::from);
        let columns = HEADER.len() - usize::from(record.id.is_none());
        let rows: [&[String]; 2] = [&header[..columns], &row[..columns]];
        let text = csv_text(&rows[usize::from(self.begun)..]).map_err(|source| Error::io(&record.file, source))?;
        self.lines.write(&text)?;
        self.begun = true;
        Ok(())
    }
}

/// Rows as CSV text.
pub(super) fn csv_text<R: AsRef<[String]>>(rows: &[R]) -> io::Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.write_record(row.as_ref())?;
    }
    writer.into_inner().map_err(|error| io::Error::other(error.to_string()))
}
