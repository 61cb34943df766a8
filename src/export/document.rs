//! The JSON document of a run: written, read again, written in other formats, and drawn. JSON lines of its frames.

use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::clip::{Label, LabelOptions, Wrong};
use super::labels::{Labels, check_box, check_count, gather, json};
use super::output::Output;
use super::overlay::{Style, drawn};
use super::record::{FrameRecord, Row, Run, SCHEMA, SourceRecord, TargetRecord};
use super::{Destination, Exporter, Form, FrameResult, Layout, Summary, Tally, write_all};
use crate::bbox::BBox;
use crate::error::{Error, Result};
use crate::frame::{Frame, FrameBuf, PixelFormat};
use crate::media::{Info, Item};
use crate::run::Outcome;
use crate::tracker::State;

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
            self.line(&frame.head)?;
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

/// The JSON document of a run, or a session of the view.
#[derive(Clone, Debug)]
pub struct Document {
    pub(crate) source: SourceRecord,
    pub(crate) parameters: Value,
    pub(crate) targets: Vec<TargetRecord>,
    pub(crate) frames: Vec<FrameRecord>,
    /// Whether targets have ids of their own.
    pub(crate) named: bool,
    /// The error that ended the run early.
    pub(crate) error: Option<String>,
    /// Whether every target is tracked to its end.
    pub(crate) completed: bool,
    /// The frame that was shown when the document was saved.
    pub(crate) position: Option<usize>,
}

/// The stored text of a document. Earlier versions have other `targets`, or none.
#[derive(Deserialize)]
struct Stored {
    source: SourceRecord,
    parameters: Value,
    #[serde(default)]
    targets: Value,
    frames: Vec<FrameRecord>,
    #[serde(default)]
    summary: Value,
    position: Option<usize>,
}

/// How two widths and heights of frames differ; 0 is unknown.
pub(super) fn other_size(own: (usize, usize), here: (usize, usize)) -> Option<String> {
    let differ = own != here && own != (0, 0) && here != (0, 0);
    differ.then(|| format!("its frames are {}x{} pixels, and those of the source {}x{}", own.0, own.1, here.0, here.1))
}

impl Document {
    /// A run without targets.
    pub(crate) fn blank(source: SourceRecord, parameters: Value) -> Self {
        let (targets, frames, error, position) = (Vec::new(), Vec::new(), None, None);
        Self { source, parameters, targets, frames, named: false, error, completed: false, position }
    }

    /// Reads a document of any version.
    ///
    /// # Errors
    /// A document that cannot be read, is cut off, is of a newer version, or contradicts itself.
    pub(crate) fn read(path: &Path) -> Wrong<Self> {
        let text = crate::pipe::read(path).map_err(|error| error.to_string())?;
        Self::from_json(&String::from_utf8_lossy(&text))
    }

    /// The record of a target in a frame, as an element of `frames`.
    ///
    /// # Errors
    /// The reason why it is no JSON.
    pub fn record(item: &Item, outcome: &Outcome, id: Option<u32>) -> Wrong<String> {
        serde_json::to_string(&FrameRecord::new(item, outcome, id)).map_err(|error| error.to_string())
    }

    /// Reads a document, or labels of any format that the program reads. Labels have a frame for each given box. `info` are
    /// the facts of the source that they are for, `size` is the width and height of its frames: without them, labels that
    /// name pictures, count frames at a rate, or have shares of a size, are an error. Also returns what was left out or
    /// decided.
    ///
    /// # Errors
    /// The reason why it cannot be read.
    pub fn open(
        path: &Path,
        info: Option<&Info>,
        size: Option<(usize, usize)>,
        options: &LabelOptions,
    ) -> Wrong<(Self, Vec<String>)> {
        let Labels { targets, document, size: said, occluded, notes } = Labels::read(path, info, size, options)?;
        if let Some(document) = document {
            return Ok((*document, notes));
        }
        let (width, height) = size.or_else(|| info?.frame_size()).or(said).unwrap_or_default();
        let (unknown, mut frames) = (Info::default(), Vec::new());
        for target in &targets {
            for (frame, bbox) in target.boxes() {
                let is_occluded = occluded.contains(&(target.id, frame));
                let state = if is_occluded { State::Occluded } else { State::Initial };
                let item = Item { timestamp: None, ..info.unwrap_or(&unknown).unread(frame) };
                frames.push(FrameRecord::said(&item, target.id, (bbox, None), state));
            }
        }
        frames.sort_by_key(|record| record.index);
        let path = path.to_string_lossy().into();
        let source = SourceRecord { path, start: 1, end: None, frames: None, rate: None, width, height, levels: None };
        Ok((Self { targets, frames, named: true, ..Self::blank(source, json!({})) }, notes))
    }

    /// Reads the text of a document.
    ///
    /// # Errors
    /// As [`Document::open`].
    pub fn from_json(text: &str) -> Wrong<Self> {
        let [one] = <[Value; 1]>::try_from(json(text)?).map_err(|_| "it is not one JSON document")?;
        Self::parse(one)
    }

    /// The text of the document, without a summary.
    ///
    /// # Errors
    /// Never for a document that was read.
    pub fn to_json(&self) -> Wrong<String> {
        let wrong = |error: serde_json::Error| error.to_string();
        let mut document = serde_json::to_value(self.run()).map_err(wrong)?;
        document["targets"] = serde_json::to_value(&self.targets).map_err(wrong)?;
        document["frames"] = serde_json::to_value(&self.frames).map_err(wrong)?;
        Ok(document.to_string())
    }

    /// Writes the boxes in a format: `json`, `jsonl`, `csv`, `otb`, `mot`, `coco`, `cvat`, `label-studio` or `yolo`; by
    /// default that of the ending.
    ///
    /// # Errors
    /// [`Error::Parameter`] for another format, and for several targets as OTB text; [`Error::Io`] or [`Error::Output`]
    /// with the path.
    pub fn save(&self, to: &Path, format: Option<&str>) -> Result<()> {
        let names = || format!("one of {}", Form::BOXES.map(|(name, ..)| name).join(", "));
        let form = match format {
            Some(name) => {
                Form::named(name).ok_or_else(|| Error::parameter("format", name, format!("must be {}", names())))?
            }
            None => Form::of(to, self.named).unwrap_or(Form::Overlay),
        };
        if form == Form::Otb && self.targets.len() > 1 {
            return Err(Error::parameter("format", "otb", "it has no place for several targets: take mot"));
        }
        let unclear =
            || Error::parameter("path", to.display(), format!("its ending names no format: give {}", names()));
        let exporter = form.boxes(&Destination::replaced(to), &Layout::default()).ok_or_else(unclear)??;
        let mut document = Self { completed: self.error.is_none(), position: None, ..self.clone() };
        document.frames = document.frames.into_iter().map(FrameRecord::rounded).collect();
        document.write(exporter)
    }

    /// Writes the boxes and their summary.
    ///
    /// # Errors
    /// Those of the exporter.
    pub(crate) fn write(&self, exporter: Box<dyn Exporter>) -> Result<()> {
        let run = Run { position: self.position, ..self.run() };
        let summary = Tally::of(&self.frames).summary(run.named_targets(), None, self.error.as_deref());
        write_all(exporter, &run, &self.frames, &Summary { completed: self.completed, ..summary })
    }

    /// Draws the boxes of all its frames on a copy of `frame`, as RGB. `style` is `full`, with captions, or `box`.
    ///
    /// # Errors
    /// [`Error::Parameter`] for another style, [`Error::FrameLayout`] for a frame that is too large for a picture.
    pub fn draw(&self, frame: &Frame<'_>, style: &str) -> Result<FrameBuf> {
        let style = match style {
            "full" => Style::Full,
            "box" => Style::Box,
            other => return Err(Error::parameter("style", other, "must be full or box")),
        };
        let (width, height) = frame.size();
        FrameBuf::new(drawn(frame, &self.frames, &self.targets, style)?.into_raw(), width, height, PixelFormat::Rgb8)
    }

    pub(crate) fn run(&self) -> Run {
        Run::new(self.source.clone(), self.parameters.clone(), self.targets.clone(), self.named)
    }

    pub(super) fn parse(value: Value) -> Wrong<Self> {
        let version = |name: &str| name.strip_prefix("kcf-track/")?.parse::<u32>().ok();
        let schema = value["schema"].as_str().unwrap_or_default().to_owned();
        let (Some(found), Some(known)) = (version(&schema), version(SCHEMA)) else {
            return Err(format!("its schema must be {SCHEMA}, not `{schema}`"));
        };
        if found > known {
            return Err(format!("it has the newer version {schema}; this program reads up to {SCHEMA}"));
        }
        let Stored { source, parameters, targets, frames, summary, position } =
            serde_json::from_value(value).map_err(|error| format!("it is not {schema}: {error}"))?;
        let targets = match found {
            ..3 => gather(frames.iter().map(Label::from).collect())?,
            _ => serde_json::from_value(targets).map_err(|error| format!("targets: {error}"))?,
        };
        let named = frames.first().map_or(targets.len() > 1, |frame| frame.id.is_some());
        let error = summary["error"].as_str().map(String::from);
        let completed = summary["completed"] == true;
        let document = Self { source, parameters, targets, frames, named, error, completed, position };
        document.check()?;
        Ok(document)
    }

    /// The last frame of the source, if the run was completed and reached the frame that the source announces as the last.
    pub(crate) fn known_end(&self) -> Option<usize> {
        let last = self.frames.iter().map(|record| record.index).max();
        last.filter(|_| self.completed && self.source.end.is_none() && last == self.source.frames)
    }

    /// Checks that the document may be of this source, by the number and the size of the frames.
    ///
    /// # Errors
    /// The first of them that differs.
    pub(super) fn check_frames(&self, source: &SourceRecord) -> Wrong<()> {
        let (own, other) = (&self.source, source);
        let differs = match own.frames.zip(other.frames).filter(|(own, other)| own != other) {
            Some((own, other)) => Some(format!("it has {own} frames, and the source {other}")),
            None => other_size((own.width, own.height), (other.width, other.height)),
        };
        differs.map_or(Ok(()), |reason| Err(format!("it is a session of another video, {}: {reason}", own.path)))
    }

    /// Checks that the document is of this source, by its name too.
    ///
    /// # Errors
    /// The first thing in which they differ.
    pub(crate) fn check_source(&self, source: &SourceRecord) -> Wrong<()> {
        let name = |path: &str| Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
        self.check_frames(source)?;
        if name(&self.source.path) == name(&source.path) {
            return Ok(());
        }
        let hint = "if it only has another name, change `source.path` in the session";
        Err(format!("it is a session of another video, {}: {hint}", self.source.path))
    }

    fn check(&self) -> Wrong<()> {
        let mut ids = BTreeSet::new();
        for TargetRecord { id, given, .. } in &self.targets {
            if !ids.insert(*id) {
                return Err(format!("two targets have the id {id}"));
            }
            if !given.is_sorted_by(|a, b| a.frame < b.frame) || given.first().is_none_or(|given| given.frame == 0) {
                return Err(format!("target {id}: the frames of `given` must ascend from 1 on"));
            }
            if given[0].bbox.is_none() {
                return Err(format!("target {id}: it must begin in a box"));
            }
            given.iter().try_for_each(|given| check_box(*id, given.frame, given.bbox))?;
        }
        check_count(&self.targets)?;
        let mut known = BTreeSet::new();
        for frame in &self.frames {
            let id = frame.id.unwrap_or(1);
            check_box(id, frame.index, frame.finite_box().filter(BBox::is_valid))?;
            if !ids.contains(&id) || !known.insert((id, frame.index)) {
                return Err(format!("frame {}: target {id} is unknown, or has two boxes", frame.index));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
