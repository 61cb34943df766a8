//! Boxes as OTB's result files have them.

use super::lines::Lines;
use super::record::{BOX_DIGITS, rounded};
use super::{Destination, Export, FrameRecord, FrameView};
use crate::cancel::CancelToken;
use crate::error::Result;
use crate::media::annotation::Base;

/// OTB text: one row `x,y,w,h` a frame, the corner **1-based**, to four decimals at most. A frame without a box is a
/// row of `NaN`.
#[derive(Debug)]
pub struct Otb {
    lines: Lines,
}

impl Otb {
    /// Checks that `destination` can be written to.
    ///
    /// # Errors
    /// [`Error::Output`](crate::Error::Output), which says why not and what to do.
    pub fn create(destination: &Destination) -> Result<Self> {
        Ok(Self { lines: Lines::create(destination)? })
    }
}

impl Export for Otb {
    fn heed(&mut self, stop: &CancelToken) {
        self.lines.heed(stop);
    }

    fn frame(&mut self, record: &FrameRecord, _: &FrameView<'_>) -> Result<()> {
        // Rounded as they stand in the file: a box of four decimals has more when it is moved by a pixel.
        let numbers = record.finite_box().map_or([f64::NAN; 4], |bbox| Base::One.to_numbers(&bbox));
        let [x, y, w, h] = numbers.map(|number| rounded(number, BOX_DIGITS));
        self.lines.write(format!("{x},{y},{w},{h}\n").as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::record::tests::run;

    #[test]
    fn the_text_of_a_small_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.txt");
        let mut export = Otb::create(&path.as_path().into()).unwrap();
        let (_, mut records) = run();
        records.push(FrameRecord { bbox: crate::BBox::new(f64::NAN, 1.0, 2.0, 3.0), ..records[1].clone() });
        for record in &records {
            export.frame(record, &FrameView::default()).unwrap();
        }
        records.push(FrameRecord { bbox: crate::BBox::new(203.4567, 0.1234, 13.8, 7.0), ..records[1].clone() });
        for record in &records[3..] {
            export.frame(record, &FrameView::default()).unwrap();
        }
        let expected = "11,21.5,30,40.25\n0.5,22,30,40.25\nNaN,NaN,NaN,NaN\n204.4567,1.1234,13.8,7\n";
        assert_eq!(std::fs::read_to_string(path).unwrap(), expected);
    }
}
