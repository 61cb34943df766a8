//! From boxes to lines of a file.

use std::io::{self, Write};

use super::Base;
use crate::bbox::BBox;

/// One line `x,y,w,h` without its end, each number as the shortest decimal that reads back as the same value;
/// `NaN,NaN,NaN,NaN` where there is no box. OTB's files take [`Base::One`].
pub fn format_row(bbox: Option<BBox>, base: Base) -> String {
    let [x, y, w, h] = bbox.map_or([f64::NAN; 4], |bbox| base.to_numbers(&bbox));
    format!("{x},{y},{w},{h}")
}

/// Writes one line for each box, ended by LF.
///
/// # Errors
/// What `out` says.
pub fn write_rows(mut out: impl Write, boxes: impl IntoIterator<Item = Option<BBox>>, base: Base) -> io::Result<()> {
    for bbox in boxes {
        writeln!(out, "{}", format_row(bbox, base))?;
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn otb_rows_are_1_based_and_short() {
        assert_eq!(format_row(Some(BBox::new(203.5, 150.0, 17.0, 50.0)), Base::One), "204.5,151,17,50");
        assert_eq!(format_row(Some(BBox::new(203.5, 150.0, 17.0, 50.25)), Base::Zero), "203.5,150,17,50.25");
        assert_eq!(format_row(None, Base::One), "NaN,NaN,NaN,NaN");
    }

    #[test]
    fn a_file_has_a_line_for_each_box() {
        let mut file = Vec::new();
        write_rows(&mut file, [Some(BBox::new(0.0, 0.0, 2.0, 3.0)), None], Base::One).unwrap();
        assert_eq!(file, b"1,1,2,3\nNaN,NaN,NaN,NaN\n");
    }
}
