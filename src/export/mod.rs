//! Outputs of a run: documents, rows and pictures, one [`Exporter`] each.
//!
//! | exporter | output | destination |
//! | --- | --- | --- |
//! | [`Json`] | one versioned document (`assets/result.schema.json`), which is a session of the view too | a file or `-` |
//! | [`JsonLines`], [`Table`] | JSON lines; CSV, OTB or MOT text | a file or `-` |
//! | [`Coco`], [`Cvat`], [`LabelStudio`] | documents for annotation tools | a file or `-` |
//! | [`Yolo`], [`Frames`] | a YOLO dataset, and the pictures that COCO and YOLO name | a folder |
//! | `ResponseMaps` | the response of each frame as `.npy` and as a heat map | a folder |
//! | `Overlays` | each frame with its boxes drawn on it | a folder or a video |
//!
//! An exporter opens its destination when it is created, so a wrong path fails before anything is tracked. A document is
//! written beside its place and renamed at the end of the run, also of a run that fails. JSON lines and tables replace the
//! old file with their first frame and grow with each one.
//!
//! A new format is a file here that implements [`Exporter`], its lines below, and its flag in `cli/outputs.rs`.

mod clip;
mod coco;
mod cvat;
mod detections;
mod document;
mod drawing;
mod effects;
mod explain;
mod journal;
mod label_studio;
mod labels;
mod list;
mod output;
mod overlay;
mod overlay_video;
mod record;
mod response;
mod table;
mod tracks;
#[cfg(test)]
#[path = "../../tests/support/schema.rs"]
mod validator;
mod yolo;

use std::path::Path;

use serde::Serialize;
use serde_json::Value;

pub use self::clip::LabelOptions;
pub use self::coco::Coco;
pub use self::cvat::Cvat;
pub use self::detections::{Detections, read_detections};
pub use self::document::{Document, Json, JsonLines};
pub use self::drawing::range;
pub use self::effects::{CropOptions, CropShape, Hidden, Veil};
pub use self::explain::Replay;
pub use self::journal::{Exports, Journal, LISTED_TARGETS, LostSpan, StateCounts, Summary, Tally};
pub use self::label_studio::LabelStudio;
pub use self::labels::Labels;
pub use self::output::{Destination, check_distinct, is_video, write_whole};
pub use self::overlay::{OverlayOptions, Overlays, Style};
pub use self::record::{FrameRecord, Given, Run, SourceRecord, TargetRecord};
pub use self::response::ResponseMaps;
pub use self::table::Table;
pub use self::tracks::TOLERANCE;
pub use self::yolo::{Frames, Yolo};

use crate::bbox::BBox;
use crate::error::Result;
use crate::frame::Frame;
use crate::media::Item;
use crate::tracker::ResponseMap;

/// The format of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Json,
    JsonLines,
    Otb,
    Csv,
    Mot,
    Coco,
    Cvat,
    LabelStudio,
    Yolo,
    Frames,
    Response,
    Overlay,
}

/// Facts that formats of boxes need besides the boxes.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Pixels by which the corners of interpolated frames may differ.
    pub tolerance: f64,
    /// Whether CVAT and Label Studio get the rotated boxes of rotated targets.
    pub turned: bool,
    /// Whether the frames are written as pictures too.
    pub with_frames: bool,
}

impl Default for Layout {
    fn default() -> Self {
        Self { tolerance: TOLERANCE, turned: false, with_frames: false }
    }
}

impl Form {
    /// The formats of boxes, by the names of their flags.
    pub const BOXES: [(&str, Self, Create); 9] = [
        ("json", Self::Json, |to, _| boxed(Json::create(to))),
        ("jsonl", Self::JsonLines, |to, _| boxed(JsonLines::create(to))),
        ("csv", Self::Csv, |to, _| boxed(Table::csv(to))),
        ("otb", Self::Otb, |to, _| boxed(Table::otb(to))),
        ("mot", Self::Mot, |to, _| boxed(Table::mot(to))),
        ("coco", Self::Coco, |to, layout| boxed(Coco::create(to, layout.with_frames))),
        ("cvat", Self::Cvat, |to, layout| boxed(Cvat::create(to, layout))),
        ("label-studio", Self::LabelStudio, |to, layout| boxed(LabelStudio::create(to, layout))),
        ("yolo", Self::Yolo, |to, _| boxed(Yolo::create(to))),
    ];

    /// The format of boxes of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::BOXES.into_iter().find(|(known, ..)| *known == name).map(|(_, form, _)| form)
    }

    /// The form that a path's ending stands for.
    ///
    /// # Errors
    /// What the ending must be.
    pub fn of(path: &Path, several: bool) -> Result<Self, String> {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
        match ending.as_deref() {
            Some("json") => Ok(Self::Json),
            Some("jsonl" | "ndjson") => Ok(Self::JsonLines),
            Some("csv") => Ok(Self::Csv),
            Some("txt") if several => Ok(Self::Mot),
            Some("txt") => Ok(Self::Otb),
            None => Ok(Self::Overlay),
            Some(_) if is_video(path) || path.is_dir() => Ok(Self::Overlay),
            Some(_) => {
                Err("the ending must be .json, .jsonl, .csv, .txt, that of a video, or none for a folder".into())
            }
        }
    }

    /// Opens a format of boxes; `None` for one of pictures.
    pub fn boxes(self, to: &Destination, layout: &Layout) -> Option<Result<Box<dyn Exporter>>> {
        let (.., create) = Self::BOXES.into_iter().find(|(_, form, _)| *form == self)?;
        Some(create(to, layout))
    }
}

/// Opens an exporter.
type Create = fn(&Destination, &Layout) -> Result<Box<dyn Exporter>>;

fn boxed(exporter: Result<impl Exporter + 'static>) -> Result<Box<dyn Exporter>> {
    exporter.map(|exporter| Box::new(exporter) as _)
}

/// Place, name and times of a frame: its row where it has no target.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct FrameHead<'a> {
    /// 1-based position of the frame.
    pub index: usize,
    /// Name of the image file; for a video, the position in six digits.
    pub file: &'a str,
    /// Seconds since the first frame of the source, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<f64>,
    /// Seconds since 1970 when a frame of a live source was decoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub captured: Option<f64>,
}

impl<'a> From<&'a Item> for FrameHead<'a> {
    fn from(item: &'a Item) -> Self {
        Self { index: item.position, file: &item.name, time: item.timestamp, captured: item.captured }
    }
}

impl<'a> From<&'a FrameRecord> for FrameHead<'a> {
    fn from(record: &'a FrameRecord) -> Self {
        Self { index: record.index, file: &record.file, time: record.time, captured: record.captured }
    }
}

/// One frame of a run, with everything that an output may show of it.
#[derive(Clone, Copy, Debug)]
pub struct FrameResult<'a> {
    /// The run, with the size of its frames.
    pub run: &'a Run,
    /// Its place.
    pub head: FrameHead<'a>,
    /// One record per target that is followed: none before the first begins and where all have ended.
    pub records: &'a [FrameRecord],
    /// The image file; `None` for a frame of a video.
    pub path: Option<&'a Path>,
    /// The pixels, in colour if an exporter [draws](Exporter::draws); `None` for an unreadable frame.
    pub pixels: Option<Frame<'a>>,
    /// The true box of the only target.
    pub truth: Option<BBox>,
    /// The response to each target, in the order of the records; may be shorter.
    pub responses: &'a [Option<ResponseMap<'a>>],
}

impl<'a> FrameResult<'a> {
    /// The name that [`Frames`] gives to the picture of this frame: that of its file, if it has one.
    fn picture_name(&self) -> String {
        if self.path.is_some() { self.head.file.into() } else { format!("{}.jpg", self.head.file) }
    }

    /// A frame of which only the records are known.
    pub fn new(run: &'a Run, records: &'a [FrameRecord]) -> Self {
        let head = records.first().map_or_else(FrameHead::default, FrameHead::from);
        Self { run, head, records, path: None, pixels: None, truth: None, responses: &[] }
    }
}

/// Writes a run in one format.
pub trait Exporter: Send {
    /// Whether the output is made of targets that have ended, too.
    fn lists_ended(&self) -> bool {
        true
    }

    /// Writes one frame. Frames come in order.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) or [`Error::Output`](crate::Error::Output) with the path.
    fn write(&mut self, frame: &FrameResult<'_>) -> Result<()>;

    /// Writes a row that is of no target, if the output has such rows.
    ///
    /// # Errors
    /// As [`Exporter::write`].
    fn note(&mut self, _run: &Run, _note: &Value) -> Result<()> {
        Ok(())
    }

    /// Completes the output, also of a run that failed. Not called for a run without frames; its old files stay.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) or [`Error::Output`](crate::Error::Output) with the path.
    fn finish(self: Box<Self>, run: &Run, summary: &Summary) -> Result<()>;
}

/// Writes the records of a run, in the order of their frames, and completes the output.
///
/// # Errors
/// Those of the exporter.
pub fn write_all(mut exporter: Box<dyn Exporter>, run: &Run, records: &[FrameRecord], summary: &Summary) -> Result<()> {
    for records in records.chunk_by(|a, b| a.index == b.index) {
        // Frames of a video are named by their position.
        let path = Some(Path::new(&records[0].file)).filter(|path| path.extension().is_some());
        exporter.write(&FrameResult { path, ..FrameResult::new(run, records) })?;
    }
    exporter.finish(run, summary)
}

#[cfg(test)]
mod tests {
    //! A small run for the tests of all formats, the schemas, and outputs that fail.

    use std::io::ErrorKind;
    use std::path::Path;
    use std::sync::{Arc, Mutex};

    use serde_json::json;

    use super::journal::TruthSummary;
    use super::record::SCHEMA;
    use super::validator::check;
    use super::*;
    use crate::error::Error;
    use crate::tracker::State;

    /// The text that an exporter writes for `records` into a file of this name.
    pub(super) fn written<E: Exporter + 'static>(
        name: &str,
        create: impl FnOnce(&Destination) -> Result<E>,
        (run, records): (&Run, &[FrameRecord]),
        summary: &Summary,
    ) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        write_all(Box::new(create(&path.as_path().into()).unwrap()), run, records, summary).unwrap();
        std::fs::read_to_string(path).unwrap()
    }

    /// A small run of two frames for the tests of the formats.
    pub(super) fn run() -> (Run, Vec<FrameRecord>) {
        let source = SourceRecord {
            path: "seq/car".into(),
            start: 1,
            end: Some(2),
            frames: Some(2),
            rate: None,
            width: 64,
            height: 48,
            levels: None,
        };
        let first = FrameRecord {
            index: 1,
            file: "0001.jpg".into(),
            time: None,
            id: None,
            bbox: BBox::new(10.0, 20.5, 30.0, 40.25),
            polygon: None,
            peak: None,
            psr: None,
            apce: None,
            decision: None,
            refit_kept: false,
            state: State::Initial,
            confidence: None,
            long_term: None,
            identity: None,
            decode_ms: 2.0,
            track_ms: 1.25,
            captured: None,
        };
        let second = FrameRecord {
            index: 2,
            file: "0002.jpg".into(),
            bbox: BBox::new(-0.5, 21.0, 30.0, 40.25),
            peak: Some(0.5),
            psr: Some(9.1),
            decision: Some(0.25),
            refit_kept: true,
            state: State::Tracking,
            confidence: Some(0.75),
            track_ms: 0.75,
            ..first.clone()
        };
        let targets = vec![TargetRecord::new(1, 1, first.bbox)];
        (Run::new(source, serde_json::json!({ "padding": 1.5 }), targets, false), vec![first, second])
    }

    pub(super) struct Probe(pub(super) &'static str, pub(super) Arc<Mutex<Vec<String>>>, pub(super) Option<ErrorKind>);

    impl Exporter for Probe {
        fn write(&mut self, frame: &FrameResult<'_>) -> Result<()> {
            self.1.lock().unwrap().push(format!("{} {}", self.0, frame.records[0].index));
            self.2.map_or(Ok(()), |kind| Err(Error::io(self.0, kind.into())))
        }

        fn finish(self: Box<Self>, _: &Run, _: &Summary) -> Result<()> {
            self.1.lock().unwrap().push(format!("{} end", self.0));
            Ok(())
        }
    }

    #[test]
    fn a_failing_exporter_does_not_stop_the_others() {
        let (run, records) = run();
        let log = Arc::default();
        let mut exports = Exports::default();
        exports.0.push(Box::new(Probe("pipe", Arc::clone(&log), Some(ErrorKind::BrokenPipe))));
        exports.0.push(Box::new(Probe("full", Arc::clone(&log), Some(ErrorKind::StorageFull))));
        exports.0.push(Box::new(Probe("good", Arc::clone(&log), None)));
        let error = exports.each(|exporter| exporter.write(&FrameResult::new(&run, &records[..1]))).unwrap_err();
        assert!(!error.is_broken_pipe() && error.to_string().starts_with("full"), "{error}");
        exports.each(|exporter| exporter.write(&FrameResult::new(&run, &records[1..]))).unwrap();
        exports.finish(&run, &Summary::default()).unwrap();
        assert_eq!(*log.lock().unwrap(), ["pipe 1", "full 1", "good 1", "good 2", "good end"]);
    }

    /// A document of kcf-track --json.
    #[derive(serde::Serialize, schemars::JsonSchema)]
    struct Document {
        #[serde(flatten)]
        head: Run,
        /// One record per target and frame, in the order of the frames; the first of each target has the given box.
        frames: Vec<record::Row<'static>>,
        /// The targets.
        targets: Vec<TargetRecord>,
        /// Counts and means of the run.
        summary: Summary,
    }

    fn schema() -> Value {
        let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
        let mut schema = serde_json::to_value(settings.into_generator().into_root_schema_for::<Document>()).unwrap();
        schema["title"] = json!("kcf-track result");
        schema["description"] = json!("Targets in a video: what a person gave, and what was tracked.");
        schema["properties"]["schema"]["const"] = json!(SCHEMA);
        schema
    }

    fn document(truth: Option<TruthSummary>) -> Value {
        let (run, records) = run();
        as_json(run, &records, truth)
    }

    fn document_of_many() -> Value {
        let (run, records) = run();
        let targets = [3, 8].map(|id| TargetRecord::new(id, 1, records[0].bbox));
        let named = |record: &FrameRecord| targets.clone().map(|of| FrameRecord { id: Some(of.id), ..record.clone() });
        let records: Vec<FrameRecord> = records.iter().flat_map(named).collect();
        as_json(Run::new(run.source, run.parameters, targets.to_vec(), true), &records, None)
    }

    fn as_json(run: Run, records: &[FrameRecord], truth: Option<TruthSummary>) -> Value {
        let summary = Tally::of(records).summary(run.named_targets(), truth, None);
        serde_json::from_str(&written("run.json", Json::create, (&run, records), &summary)).unwrap()
    }

    /// `KCF_TRACK_BLESS=1 cargo test` rewrites the file.
    #[test]
    fn the_schema_file_matches_the_types() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/result.schema.json");
        let generated = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
        if std::env::var_os("KCF_TRACK_BLESS").is_some() {
            std::fs::write(&path, &generated).unwrap();
        }
        let stored = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(stored == generated, "{} is out of date: run this test with KCF_TRACK_BLESS=1", path.display());
    }

    #[test]
    fn documents_match_their_schema() {
        let truth =
            TruthSummary { frames: 2, precision_20: 1.0, auc: 0.5, mean_overlap: 0.5, mean_center_error: f64::NAN };
        for document in [document(None), document(Some(truth)), document_of_many()] {
            check(&document);
        }
    }
}
