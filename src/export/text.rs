//! Formats of one row per frame and target: JSON lines, CSV, OTB and MOT.

use std::io;

use super::output::{Destination, Output};
use super::record::{BOX_DIGITS, rounded, to_microseconds};
use super::{Exporter, FrameRecord, FrameResult, Run, Summary};
use crate::error::{Error, Result};
use crate::media::annotation::Base;
use crate::tracker::State;

/// Appends the row of a record; the flag is set for the first record.
type Row = fn(&FrameRecord, bool, &mut Vec<u8>) -> io::Result<()>;

/// An output of rows. A file appears when the run ends; JSON lines are readable while it grows.
#[derive(Debug)]
pub struct Rows {
    output: Output,
    row: Row,
    text: Vec<u8>,
    is_first: bool,
}

impl Rows {
    fn new(output: Output, row: Row) -> Self {
        Self { output, row, text: Vec::new(), is_first: true }
    }

    /// JSON lines: one object per frame and target, with the fields of an element of `frames` in the JSON document.
    ///
    /// # Errors
    /// [`Error::Output`] when `to` cannot be written.
    pub fn json_lines(to: &Destination) -> Result<Self> {
        Ok(Self::new(Output::live(to)?, json_line))
    }

    /// CSV with a header: the fields of the JSON document's frames without the polygon, the box in four columns (corner
    /// 0-based), an empty cell where there is no number.
    ///
    /// # Errors
    /// [`Error::Output`] when `to` cannot be written.
    pub fn csv(to: &Destination) -> Result<Self> {
        Ok(Self::new(Output::create(to)?, csv_row))
    }

    /// OTB text: `x,y,w,h` per frame, the corner **1-based**, at most four decimals. A frame without a box has a row of
    /// `NaN`.
    ///
    /// # Errors
    /// [`Error::Output`] when `to` cannot be written.
    pub fn otb(to: &Destination) -> Result<Self> {
        Ok(Self::new(Output::create(to)?, otb_row))
    }

    /// MOT text: `frame,id,left,top,width,height,confidence,-1,-1,-1` per target and frame, frames and corners
    /// **1-based**. The confidence is 1 for a given box and for trackers without one. A lost target and an unreadable
    /// frame have no row.
    ///
    /// # Errors
    /// [`Error::Output`] when `to` cannot be written.
    pub fn mot(to: &Destination) -> Result<Self> {
        Ok(Self::new(Output::create(to)?, mot_row))
    }

    /// Writes one record.
    ///
    /// # Errors
    /// [`Error::Io`] with the path.
    pub fn record(&mut self, record: &FrameRecord) -> Result<()> {
        self.text.clear();
        let row = (self.row)(record, std::mem::take(&mut self.is_first), &mut self.text);
        row.map_err(|source| Error::io(self.output.path(), source))?;
        if self.text.is_empty() { Ok(()) } else { self.output.write(&self.text) }
    }
}

impl Exporter for Rows {
    fn write(&mut self, frame: &FrameResult<'_>) -> Result<()> {
        frame.records.iter().try_for_each(|record| self.record(record))
    }

    fn finish(self: Box<Self>, _: &Run, _: &Summary) -> Result<()> {
        self.output.finish()
    }
}

fn json_line(record: &FrameRecord, _: bool, text: &mut Vec<u8>) -> io::Result<()> {
    serde_json::to_writer(&mut *text, record)?;
    text.push(b'\n');
    Ok(())
}

fn otb_row(record: &FrameRecord, _: bool, text: &mut Vec<u8>) -> io::Result<()> {
    // Moving a rounded box by one pixel adds digits, so rounding comes last.
    let numbers = record.finite_box().map_or([f64::NAN; 4], |bbox| Base::One.to_numbers(&bbox));
    let [x, y, w, h] = numbers.map(|number| rounded(number, BOX_DIGITS));
    io::Write::write_fmt(text, format_args!("{x},{y},{w},{h}\n"))
}

fn mot_row(record: &FrameRecord, _: bool, text: &mut Vec<u8>) -> io::Result<()> {
    let Some(bbox) = record.finite_box().filter(|_| record.is_visible()) else { return Ok(()) };
    let [x, y, w, h] = Base::One.to_numbers(&bbox).map(|number| rounded(number, BOX_DIGITS));
    let confidence = record.confidence.filter(|_| record.state != State::Initial).unwrap_or(1.0);
    let (frame, id) = (record.index, record.id.unwrap_or(1));
    io::Write::write_fmt(text, format_args!("{frame},{id},{x},{y},{w},{h},{confidence},-1,-1,-1\n"))
}

/// The columns of CSV. A run of one target has no `id`.
const COLUMNS: &str = "index,file,x,y,w,h,peak,psr,apce,decision,refit_kept,state,confidence,long_term,decode_ms,\
                       track_ms,time,id";

fn csv_row(record: &FrameRecord, is_first: bool, text: &mut Vec<u8>) -> io::Result<()> {
    let number = |value: Option<f64>| value.filter(|v| v.is_finite()).map_or(String::new(), |v| v.to_string());
    let single = |value: Option<f32>| value.filter(|v| v.is_finite()).map_or(String::new(), |v| v.to_string());
    let columns = COLUMNS.split(',').count() - usize::from(record.id.is_none());
    let [x, y, w, h] = match record.finite_box() {
        Some(bbox) => <[f64; 4]>::from(bbox).map(|v| v.to_string()),
        None => Default::default(),
    };
    let row = [
        record.index.to_string(),
        record.file.clone(),
        x,
        y,
        w,
        h,
        single(record.peak),
        single(record.psr),
        single(record.apce),
        single(record.decision),
        record.refit_kept.to_string(),
        record.state.to_string(),
        single(record.confidence),
        single(record.long_term),
        number(Some(to_microseconds(record.decode_ms))),
        number(Some(to_microseconds(record.track_ms))),
        number(record.time),
        record.id.map_or(String::new(), |id| id.to_string()),
    ];
    let mut writer = csv::Writer::from_writer(text);
    if is_first {
        writer.write_record(COLUMNS.split(',').take(columns))?;
    }
    writer.write_record(&row[..columns])?;
    writer.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bbox::BBox;
    use crate::export::record::tests::{run, written};

    #[test]
    fn rows_of_each_format() {
        let (run, mut records) = run();
        records[1].bbox = BBox::new(-0.1234, 21.0, 30.0, 40.25);
        records[1].file = "a,\"b\".jpg".into();
        let lost = FrameRecord {
            index: 3,
            state: State::Lost,
            bbox: BBox::new(f64::NAN, 0.0, 1.0, 1.0),
            ..records[1].clone()
        };
        records.push(lost);
        let text = |create: fn(&Destination) -> Result<Rows>, records: &[FrameRecord]| {
            written("out", create, (&run, records), &Summary::default())
        };
        assert_eq!(text(Rows::otb, &records), "11,21.5,30,40.25\n0.8766,22,30,40.25\nNaN,NaN,NaN,NaN\n");
        assert_eq!(
            text(Rows::mot, &records),
            "1,1,11,21.5,30,40.25,1,-1,-1,-1\n2,1,0.8766,22,30,40.25,0.75,-1,-1,-1\n"
        );
        assert_eq!(
            text(Rows::csv, &records[1..]),
            "index,file,x,y,w,h,peak,psr,apce,decision,refit_kept,state,confidence,long_term,decode_ms,track_ms,time\n\
             2,\"a,\"\"b\"\".jpg\",-0.1234,21,30,40.25,0.5,9.1,,0.25,true,tracking,0.75,,2,0.75,\n\
             3,\"a,\"\"b\"\".jpg\",,,,,0.5,9.1,,0.25,true,lost,0.75,,2,0.75,\n"
        );
        let named = FrameRecord { id: Some(7), time: Some(0.04), ..records[0].clone() };
        let rows = text(Rows::csv, std::slice::from_ref(&named));
        assert!(rows.contains(",time,id\n") && rows.ends_with(",0.04,7\n"), "{rows}");
        assert_eq!(text(Rows::json_lines, &records[..1]), serde_json::to_string(&records[0]).unwrap() + "\n");
    }
}
