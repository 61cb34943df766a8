//! The JSON document of a run.

use std::io::{self, Write};

use serde::Serialize;
#[cfg(any(feature = "cli", test))]
use serde_json::ser::PrettyFormatter;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};

use super::output::{Destination, Document};
use super::{Export, FrameRecord, FrameView, Run, Summary};
use crate::error::{Error, Result};

/// The JSON document of a run, one line a frame and target; its form is `assets/result.schema.json`, that of several
/// targets `assets/results.schema.json`. It appears when it is
/// complete, also on the standard output. Memory does not grow with the run.
#[derive(Debug)]
pub struct Json {
    document: Document,
    line: Vec<u8>,
    begun: bool,
    frames: usize,
}

impl Json {
    /// Checks that `destination` can be written to.
    ///
    /// # Errors
    /// [`Error::Output`], which says why not and what to do.
    pub fn create(destination: &Destination) -> Result<Self> {
        Ok(Self { document: Document::create(destination)?, line: Vec::new(), begun: false, frames: 0 })
    }

    fn append(&mut self, value: &impl serde::Serialize) -> Result<()> {
        serde_json::to_writer(&mut self.line, value).map_err(|error| Error::io(self.document.path(), error.into()))
    }

    fn flush(&mut self) -> Result<()> {
        self.document.write(&self.line)?;
        self.line.clear();
        Ok(())
    }
}

impl Export for Json {
    fn begin(&mut self, run: &Run) -> Result<()> {
        // Every part of the document stands on a line of its own, so that a person finds a frame and `grep` does, too.
        let Run { schema, version, source, parameters, targets } = run;
        self.line.extend_from_slice(b"{\n\"schema\":");
        self.append(schema)?;
        self.line.extend_from_slice(b",\n\"version\":");
        self.append(version)?;
        self.line.extend_from_slice(b",\n\"source\":");
        self.append(source)?;
        self.line.extend_from_slice(b",\n\"parameters\":");
        self.append(parameters)?;
        if !targets.is_empty() {
            self.line.extend_from_slice(b",\n\"targets\":");
            self.append(targets)?;
        }
        self.line.extend_from_slice(b",\n\"frames\":[\n");
        self.begun = true;
        self.flush()
    }

    fn frame(&mut self, record: &FrameRecord, _: &FrameView<'_>) -> Result<()> {
        if self.frames > 0 {
            self.line.extend_from_slice(b",\n");
        }
        self.append(record)?;
        self.frames += 1;
        self.flush()
    }

    /// Without a `begin` there is nothing to write about: the old file stays.
    fn finish(mut self: Box<Self>, summary: &Summary) -> Result<()> {
        if !self.begun {
            return Ok(());
        }
        self.line.extend_from_slice(b"\n],\n\"summary\":");
        self.append(summary)?;
        self.line.extend_from_slice(b"\n}\n");
        self.flush()?;
        self.document.commit()
    }
}

/// Digits of a number that are kept: a ten-thousandth of a pixel in a picture of 99,999, and of a score more than
/// sequences can tell. Those behind them are what was rounded on the way (`25.000000000000004`).
const DIGITS: usize = 9;

/// The document in one line.
///
/// # Errors
/// When it cannot be a JSON document.
pub(crate) fn compact(document: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    with(document, CompactFormatter)
}

/// The document in indented lines.
///
/// # Errors
/// When it cannot be a JSON document.
#[cfg(any(feature = "cli", test))]
pub(crate) fn pretty(document: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    with(document, PrettyFormatter::new())
}

fn with(document: &impl Serialize, form: impl Formatter) -> serde_json::Result<Vec<u8>> {
    let mut text = Vec::new();
    document.serialize(&mut Serializer::with_formatter(&mut text, Rounded(form)))?;
    Ok(text)
}

fn rounded(value: f64) -> f64 {
    format!("{value:.*e}", DIGITS - 1).parse().unwrap_or(value)
}

/// Any form, with numbers rounded.
struct Rounded<F>(F);

impl<F: Formatter> Formatter for Rounded<F> {
    fn write_f64<W: ?Sized + Write>(&mut self, out: &mut W, value: f64) -> io::Result<()> {
        self.0.write_f64(out, rounded(value))
    }

    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_array(out)
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array(out)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(out, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array_value(out)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object(out)
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object(out)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(out, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object_value(out)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object_value(out)
    }
}

#[cfg(test)]
mod json_tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::export::Tally;
    use crate::export::record::tests::run;

    /// A line a frame; cut here after `>`.
    const EXPECTED: &str = r#"{
"schema":"kcf-track/1",
"version":"VERSION",
"source":{"path":"seq/car","start":1,"end":2,"width":64,"height":48},
"parameters":{"padding":1.5},
"frames":[
{"index":1,"file":"0001.jpg","bbox":[10.0,20.5,30.0,40.25],"peak":null,"psr":null,"apce":null,"decision":null,>
"refit_kept":false,"state":"initial","confidence":null,"long_term":null,"decode_ms":2.0,"track_ms":1.25},
{"index":2,"file":"0002.jpg","bbox":[-0.5,21.0,30.0,40.25],"peak":0.5,"psr":9.1,"apce":null,"decision":0.25,>
"refit_kept":true,"state":"tracking","confidence":0.75,"long_term":null,"decode_ms":2.0,"track_ms":0.75}
],
"summary":{"frames":2,"states":{"initial":1,"tracking":1,"recovered":0,"uncertain":0,"lost":0,"missing":0},>
"fps":1000.0,"decode_fps":499.95,"mean_psr":9.1,"mean_decision":0.25,"mean_confidence":0.75,"refits_kept":1,>
"truth":null,"completed":true,"error":null}
}
"#;

    fn write(path: &Path, finish: bool) -> Result<()> {
        let (run, records) = run();
        let mut json = Box::new(Json::create(&path.into())?);
        json.begin(&run)?;
        let mut tally = Tally::default();
        for record in &records {
            tally.add(record);
            json.frame(record, &FrameView::default())?;
        }
        if finish { json.finish(&tally.completed(None)) } else { Ok(()) }
    }

    #[test]
    fn the_text_of_a_small_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        write(&path, true).unwrap();
        let expected = EXPECTED.replace(">\n", "").replace("VERSION", env!("CARGO_PKG_VERSION"));
        assert_eq!(fs::read_to_string(path).unwrap(), expected);
    }

    #[test]
    fn an_unfinished_run_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        fs::write(&path, "old").unwrap();
        write(&path, false).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_run_that_fails_before_its_first_frame_is_a_document_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        Box::new(Json::create(&path.as_path().into()).unwrap()).finish(&Summary::default()).unwrap();
        assert!(!path.exists());
        let mut json = Box::new(Json::create(&path.as_path().into()).unwrap());
        json.begin(&run().0).unwrap();
        json.finish(&Tally::default().failed(None, "no \"frame\"")).unwrap();
        let document: serde_json::Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(document["frames"], serde_json::json!([]));
        assert_eq!(document["summary"]["error"], "no \"frame\"");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_is_an_error_that_names_the_file() {
        let error = write(Path::new("/dev/full"), true).unwrap_err();
        assert!(matches!(&error, Error::Io { source, .. } if source.kind() == std::io::ErrorKind::StorageFull));
        assert!(error.to_string().starts_with("/dev/full: "), "{error}");
    }

    #[test]
    #[cfg(unix)]
    fn the_file_behind_a_link_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("run.json"), folder.path().join("link"));
        fs::write(&path, "old").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        write(&link, true).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(fs::read_to_string(path).unwrap().starts_with('{'));
    }
}

#[cfg(test)]
mod rounded_json_tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_end_where_they_mean_nothing_more() {
        let document = json!({ "a": [25.000000000000004, 47.548700000000004, 2117.5890876000003, 1e-7, -0.1, 3] });
        let expected = json!({ "a": [25.0, 47.5487, 2117.58909, 1e-7, -0.1, 3] });
        assert_eq!(compact(&document).unwrap(), serde_json::to_vec(&expected).unwrap());
        assert_eq!(pretty(&document).unwrap(), serde_json::to_vec_pretty(&expected).unwrap());
        assert_eq!((rounded(f64::MAX).is_finite(), rounded(f64::NAN).is_nan()), (true, true));
    }
}
