//! A table for spreadsheets and data frames.

use std::io;

use super::lines::Lines;
use super::record::to_microseconds;
use super::{Destination, Export, FrameRecord, FrameView};
use crate::cancel::CancelToken;
use crate::error::{Error, Result};

/// The last column is that of the target, which is there where there are several.
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

/// CSV with a header: the fields of the JSON document's frames but the polygon, the box in four columns (corner
/// 0-based), nothing where there is no number. Of several targets each has a row a frame.
#[derive(Debug)]
pub struct Csv {
    lines: Lines,
    begun: bool,
}

impl Csv {
    /// Checks that `destination` can be written to.
    ///
    /// # Errors
    /// [`Error::Output`], which says why not and what to do.
    pub fn create(destination: &Destination) -> Result<Self> {
        Ok(Self { lines: Lines::create(destination)?, begun: false })
    }
}

impl Export for Csv {
    fn heed(&mut self, stop: &CancelToken) {
        self.lines.heed(stop);
    }

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
        let text = table(&rows[usize::from(self.begun)..]).map_err(|source| Error::io(&record.file, source))?;
        self.lines.write(&text)?;
        self.begun = true;
        Ok(())
    }
}

/// Rows as CSV text, quoted where they must be.
pub(super) fn table<R: AsRef<[String]>>(rows: &[R]) -> io::Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.write_record(row.as_ref())?;
    }
    writer.into_inner().map_err(|error| io::Error::other(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::record::tests::run;

    #[test]
    fn the_text_of_a_small_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.csv");
        let mut export = Csv::create(&path.as_path().into()).unwrap();
        let (_, mut records) = run();
        records[1].file = "a \"b\", c.jpg".into();
        records.push(FrameRecord { bbox: crate::BBox::new(f64::NAN, 1.0, 2.0, 3.0), ..records[1].clone() });
        let (time, decode_ms, track_ms) = (Some(f64::NAN), f64::NAN, f64::INFINITY);
        records.push(FrameRecord { time, decode_ms, track_ms, ..records[0].clone() });
        for record in &records {
            export.frame(record, &FrameView::default()).unwrap();
        }
        let expected = "index,file,x,y,w,h,peak,psr,apce,decision,refit_kept,state,confidence,long_term,\
            decode_ms,track_ms,time\n\
            1,0001.jpg,10,20.5,30,40.25,,,,,false,initial,,,2,1.25,\n\
            2,\"a \"\"b\"\", c.jpg\",-0.5,21,30,40.25,0.5,9.1,,0.25,true,tracking,0.75,,2,0.75,\n\
            2,\"a \"\"b\"\", c.jpg\",,,,,0.5,9.1,,0.25,true,tracking,0.75,,2,0.75,\n\
            1,0001.jpg,10,20.5,30,40.25,,,,,false,initial,,,,,\n";
        assert_eq!(std::fs::read_to_string(path).unwrap(), expected);
    }
}
