//! The JSON document of a run, and JSON lines.

use serde::Serialize;
use serde_json::{Value, json};

use super::journal::FrameHead;
use super::output::{Destination, Output};
use super::record::Row;
use super::{Exporter, FrameResult, Run, Summary};
use crate::error::{Error, Result};

/// The JSON document of a run, one line per record: `assets/result.schema.json`. Memory does not grow with the run.
pub struct Json {
    output: Output,
    text: Vec<u8>,
    is_first: bool,
}

impl Json {
    /// Opens the output.
    ///
    /// # Errors
    /// [`Error::Output`] when `to` cannot be written.
    pub fn create(to: &Destination) -> Result<Self> {
        Ok(Self { output: Output::create(to)?, text: Vec::new(), is_first: true })
    }

    /// Writes the head, once.
    fn begin(&mut self, run: &Run) -> Result<()> {
        if std::mem::take(&mut self.is_first) {
            self.append("", run)?;
            self.text.pop();
            self.text.extend_from_slice(b",\n\"frames\":[");
        }
        Ok(())
    }

    fn append(&mut self, before: &str, value: &impl Serialize) -> Result<()> {
        self.text.extend_from_slice(before.as_bytes());
        serde_json::to_writer(&mut self.text, value).map_err(|error| Error::io(self.output.path(), error.into()))
    }
}

impl Exporter for Json {
    fn write(&mut self, frame: &FrameResult<'_>) -> Result<()> {
        self.text.clear();
        for record in frame.records {
            let is_first = self.is_first;
            self.begin(frame.run)?;
            self.append(if is_first { "\n" } else { ",\n" }, &Row::new(record, frame.run))?;
        }
        self.output.append(&self.text)
    }

    fn finish(mut self: Box<Self>, run: &Run, summary: &Summary) -> Result<()> {
        self.text.clear();
        self.begin(run)?;
        self.append("\n],\n\"targets\":", &run.targets)?;
        self.append(",\n\"summary\":", summary)?;
        self.text.extend_from_slice(b"}\n");
        self.output.append(&self.text)?;
        self.output.finish()
    }
}

/// JSON lines: one object per frame and target, with the fields of an element of `frames` in the JSON document. A run with
/// [answers](Run::answers) begins with a row of itself, and has one of each frame without targets.
pub struct JsonLines {
    output: Output,
    has_head: bool,
}

impl JsonLines {
    /// Opens the output.
    ///
    /// # Errors
    /// [`Error::Output`] when `to` cannot be written.
    pub fn create(to: &Destination) -> Result<Self> {
        Ok(Self { output: Output::create(to)?, has_head: false })
    }

    fn line(&mut self, value: &impl Serialize) -> Result<()> {
        let mut line = serde_json::to_vec(value).map_err(|error| Error::io(self.output.path(), error.into()))?;
        line.push(b'\n');
        self.output.append(&line)?;
        self.output.publish()
    }

    fn begin(&mut self, run: &Run) -> Result<()> {
        match std::mem::replace(&mut self.has_head, true) || !run.answers {
            true => Ok(()),
            false => self.line(&json!({ "schema": run.schema, "version": run.version, "source": run.source })),
        }
    }
}

impl Exporter for JsonLines {
    fn lists_ended(&self) -> bool {
        false
    }

    fn write(&mut self, frame: &FrameResult<'_>) -> Result<()> {
        self.begin(frame.run)?;
        if frame.records.is_empty() && frame.run.answers {
            self.line(&FrameHead::of_result(frame))?;
        }
        frame.records.iter().try_for_each(|record| self.line(&Row::new(record, frame.run)))
    }

    fn note(&mut self, run: &Run, note: &Value) -> Result<()> {
        self.begin(run)?;
        self.line(note)
    }

    fn finish(self: Box<Self>, _: &Run, _: &Summary) -> Result<()> {
        self.output.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::Tally;
    use crate::export::tests::{run, written};

    /// A line that ends with `>` goes on in the next one.
    const EXPECTED: &str = r#"{"schema":"kcf-track/3","version":"VERSION",>
"source":{"path":"seq/car","start":1,"end":2,"frames":2,"rate":null,"width":64,"height":48},>
"parameters":{"padding":1.5},
"frames":[
{"index":1,"file":"0001.jpg","bbox":[10.0,20.5,30.0,40.25],"peak":null,"psr":null,"apce":null,"decision":null,>
"refit_kept":false,"state":"initial","confidence":null,"long_term":null,"identity":null,"decode_ms":2.0,"track_ms":1.25},
{"index":2,"file":"0002.jpg","bbox":[-0.5,21.0,30.0,40.25],"peak":0.5,"psr":9.1,"apce":null,"decision":0.25,>
"refit_kept":true,"state":"tracking","confidence":0.75,"long_term":null,"identity":null,"decode_ms":2.0,"track_ms":0.75}
],
"targets":[{"id":1,"given":[{"frame":1,"bbox":[10.0,20.5,30.0,40.25]}]}],
"summary":{"frames":2,"states":{"initial":1,"tracking":1,"recovered":0,"uncertain":0,"occluded":0,"lost":0,"missing":0},>
"fps":1000.0,"decode_fps":500.0,"mean_psr":9.1,"mean_decision":0.25,"mean_confidence":0.75,"refits_kept":1,>
"dropped":0,"lost":[],"truth":null,"completed":true,"error":null}}
"#;

    #[test]
    fn text_of_a_small_run() {
        let (run, records) = run();
        let summary = Tally::of(&records).summary(&[], None, None);
        let text = written("run.json", Json::create, (&run, &records), &summary);
        assert_eq!(text, EXPECTED.replace(">\n", "").replace("VERSION", env!("CARGO_PKG_VERSION")));
    }
}
