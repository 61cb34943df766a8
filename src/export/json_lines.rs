//! One JSON object a frame, for pipes.

use std::io::Write;

use super::lines::Lines;
use super::{Destination, Export, FrameRecord, FrameView};
use crate::cancel::CancelToken;
use crate::error::{Error, Result};

/// JSON lines: each frame is one line, and out before the next frame is read. Every line has the same fields as an
/// element of `frames` in the JSON document; there is no line for anything else.
#[derive(Debug)]
pub struct JsonLines {
    lines: Lines,
    line: Vec<u8>,
}

impl JsonLines {
    /// Checks that `destination` can be written to.
    ///
    /// # Errors
    /// [`Error::Output`], which says why not and what to do.
    pub fn create(destination: &Destination) -> Result<Self> {
        Ok(Self { lines: Lines::create(destination)?, line: Vec::new() })
    }

    /// Writes to anything that takes bytes.
    pub fn to_writer(writer: impl Write + Send + 'static) -> Self {
        Self { lines: Lines::to_writer("-", writer), line: Vec::new() }
    }
}

impl Export for JsonLines {
    fn heed(&mut self, stop: &CancelToken) {
        self.lines.heed(stop);
    }

    fn frame(&mut self, record: &FrameRecord, _: &FrameView<'_>) -> Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, record).map_err(|error| Error::io(&record.file, error.into()))?;
        self.line.push(b'\n');
        self.lines.write(&self.line)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};

    use super::*;
    use crate::export::record::tests::run;

    #[test]
    fn each_frame_is_out_at_once() {
        let (reader, writer) = std::io::pipe().unwrap();
        let mut reader = BufReader::new(reader);
        let mut export = JsonLines::to_writer(writer);
        for record in run().1 {
            export.frame(&record, &FrameView::default()).unwrap();
            // Would wait for ever if the line were held back.
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            assert_eq!(line, serde_json::to_string(&record).unwrap() + "\n");
        }
    }
}
