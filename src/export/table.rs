//! Tables of one row per frame and target: CSV, OTB and MOT.

use super::output::{Destination, Output};
use super::record::{BOX_DIGITS, rounded};
use super::{Exporter, FrameRecord, FrameResult, Run, Summary};
use crate::error::{Error, Result};
use crate::media::annotation::{Base, MAX_ROWS};
use crate::text::{cell, csv_line};
use crate::tracker::State;

/// The cells of a record; none for a record without a row.
type Row = fn(&FrameRecord, &Run) -> Option<Vec<String>>;

/// A table that grows with each frame.
pub struct Table {
    output: Output,
    row: Row,
    has_header: bool,
    /// Whether rows count frames, so that a frame without a record has a row of `NaN`.
    counts: bool,
    /// The frame of the last row; 0 before the first.
    last: usize,
}

impl Table {
    fn create(to: &Destination, row: Row, has_header: bool) -> Result<Self> {
        Ok(Self { output: Output::create(to)?, row, has_header, counts: false, last: 0 })
    }

    /// CSV with a header: the fields of the JSON document's frames without `polygon`, `identity` and `captured`, the box in
    /// four columns (corner 0-based), an empty cell where there is no number.
    ///
    /// # Errors
    /// [`Error::Output`](crate::Error::Output) when `to` cannot be written.
    pub fn csv(to: &Destination) -> Result<Self> {
        Self::create(to, csv_row, true)
    }

    /// OTB text: `x,y,w,h` per frame, the corner **1-based**, at most four decimals. A frame without a box has a row of
    /// `NaN`, also one between two records of the target: readers count rows.
    ///
    /// # Errors
    /// [`Error::Output`](crate::Error::Output) when `to` cannot be written.
    pub fn otb(to: &Destination) -> Result<Self> {
        Ok(Self { counts: true, ..Self::create(to, otb_row, false)? })
    }

    /// MOT text: `frame,id,left,top,width,height,confidence,-1,-1,-1` per target and frame, frames and corners
    /// **1-based**. The confidence is 1 for a given box, below it for all others, and -1 for trackers without one. A lost
    /// target and an unreadable frame have no row.
    ///
    /// # Errors
    /// [`Error::Output`](crate::Error::Output) when `to` cannot be written.
    pub fn mot(to: &Destination) -> Result<Self> {
        Self::create(to, mot_row, false)
    }
}

impl Exporter for Table {
    fn lists_ended(&self) -> bool {
        false
    }

    fn write(&mut self, frame: &FrameResult<'_>) -> Result<()> {
        let mut text = String::new();
        for record in frame.records {
            if std::mem::take(&mut self.has_header) {
                text += &csv_line(&columns(record));
            }
            let between = if self.counts && self.last > 0 { self.last + 1..record.index } else { 0..0 };
            let gap = between.len();
            if gap > MAX_ROWS {
                let reason =
                    format!("there are {gap} frames without a box before frame {}, too many rows", record.index);
                return Err(Error::output(self.output.path(), reason));
            }
            text += &"NaN,NaN,NaN,NaN\n".repeat(gap);
            self.last = record.index;
            text += &(self.row)(record, frame.run).map_or(String::new(), |row| csv_line(&row));
        }
        if text.is_empty() {
            return Ok(());
        }
        self.output.append(text.as_bytes())?;
        self.output.publish()
    }

    fn finish(self: Box<Self>, _: &Run, _: &Summary) -> Result<()> {
        self.output.finish()
    }
}

fn otb_row(record: &FrameRecord, _: &Run) -> Option<Vec<String>> {
    // Moving a rounded box by one pixel adds digits, so rounding comes last.
    let numbers = record.finite_box().map_or([f64::NAN; 4], |bbox| Base::One.to_numbers(&bbox));
    Some(numbers.map(|number| rounded(number, BOX_DIGITS).to_string()).to_vec())
}

fn mot_row(record: &FrameRecord, _: &Run) -> Option<Vec<String>> {
    let bbox = record.finite_box().filter(|_| record.is_visible())?;
    let confidence = match record.state {
        State::Initial => 1.0,
        _ => record.confidence.map_or(-1.0, |confidence| confidence.min(0.9999)),
    };
    let mut row = vec![record.index.to_string(), record.id.unwrap_or(1).to_string()];
    row.extend(Base::One.to_numbers(&bbox).map(|number| rounded(number, BOX_DIGITS).to_string()));
    row.push(confidence.to_string());
    row.extend(["-1", "-1", "-1"].map(String::from));
    Some(row)
}

/// The columns of CSV. A run of one target has no `id`, `class` and `name`.
fn columns(record: &FrameRecord) -> Vec<&'static str> {
    let columns =
        "index,file,x,y,w,h,peak,psr,apce,decision,refit_kept,state,confidence,long_term,decode_ms,track_ms,time";
    columns.split(',').chain(record.id.iter().flat_map(|_| ["id", "class", "name"])).collect()
}

fn csv_row(record: &FrameRecord, run: &Run) -> Option<Vec<String>> {
    let corners = record.finite_box().map(<[f64; 4]>::from);
    let mut row = vec![record.index.to_string(), record.file.clone()];
    row.extend([0, 1, 2, 3].map(|side| cell(corners.map(|corners| corners[side]))));
    row.extend([record.peak, record.psr, record.apce, record.decision].map(cell));
    row.extend([record.refit_kept.to_string(), record.state.to_string()]);
    row.extend([record.confidence, record.long_term].map(cell));
    row.extend([Some(record.decode_ms), Some(record.track_ms), record.time].map(cell));
    if let Some(id) = record.id {
        row.extend([id.to_string(), run.class(record.id).into(), run.name(record.id).unwrap_or_default().into()]);
    }
    Some(row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bbox::BBox;
    use crate::export::JsonLines;
    use crate::export::tests::{run, written};

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
        let text = |create: fn(&Destination) -> Result<Table>, records: &[FrameRecord]| {
            written("out", create, (&run, records), &Summary::default())
        };
        assert_eq!(text(Table::otb, &records), "11,21.5,30,40.25\n0.8766,22,30,40.25\nNaN,NaN,NaN,NaN\n");
        // Frames after an end and before the next box.
        let apart = [records[0].clone(), FrameRecord { index: 4, ..records[1].clone() }];
        assert_eq!(
            text(Table::otb, &apart),
            "11,21.5,30,40.25\nNaN,NaN,NaN,NaN\nNaN,NaN,NaN,NaN\n0.8766,22,30,40.25\n"
        );
        assert_eq!(
            text(Table::mot, &records),
            "1,1,11,21.5,30,40.25,1,-1,-1,-1\n2,1,0.8766,22,30,40.25,0.75,-1,-1,-1\n"
        );
        assert_eq!(
            text(Table::csv, &records[1..]),
            "index,file,x,y,w,h,peak,psr,apce,decision,refit_kept,state,confidence,long_term,decode_ms,track_ms,time\n\
             2,\"a,\"\"b\"\".jpg\",-0.1234,21,30,40.25,0.5,9.1,,0.25,true,tracking,0.75,,2,0.75,\n\
             3,\"a,\"\"b\"\".jpg\",,,,,0.5,9.1,,0.25,true,lost,0.75,,2,0.75,\n"
        );
        assert_eq!(
            written("out", JsonLines::create, (&run, &records[..1]), &Summary::default()),
            serde_json::to_string(&records[0]).unwrap() + "\n"
        );
        // The confidence 1 would make it a given box.
        let sure = FrameRecord { confidence: Some(1.0), ..records[1].clone() };
        assert_eq!(text(Table::mot, &[sure]), "2,1,0.8766,22,30,40.25,0.9999,-1,-1,-1\n");
        let named = FrameRecord { id: Some(7), time: Some(0.04), ..records[0].clone() };
        let rows = text(Table::csv, std::slice::from_ref(&named));
        assert!(rows.contains(",time,id,class,name\n") && rows.ends_with(",0.04,7,target,\n"), "{rows}");
    }
}
