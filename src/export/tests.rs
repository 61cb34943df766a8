//! A small run for the tests of all formats, the schemas, and outputs that fail.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::record::{SCHEMA, TruthSummary};
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
        time: None,
        id: None,
        bbox: BBox::new(-0.5, 21.0, 30.0, 40.25),
        polygon: None,
        peak: Some(0.5),
        psr: Some(9.1),
        apce: None,
        decision: Some(0.25),
        refit_kept: true,
        state: State::Tracking,
        confidence: Some(0.75),
        long_term: None,
        identity: None,
        decode_ms: 2.0,
        track_ms: 0.75,
        captured: None,
    };
    let targets = vec![TargetRecord::new(1, 1, first.bbox)];
    (Run::new(source, serde_json::json!({ "padding": 1.5 }), targets, false), vec![first, second])
}

struct Probe(&'static str, Arc<Mutex<Vec<String>>>, Option<ErrorKind>);

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
    let error = exports.write(&FrameResult::new(&run, &records[..1])).unwrap_err();
    assert!(!error.is_broken_pipe() && error.to_string().starts_with("full"), "{error}");
    exports.write(&FrameResult::new(&run, &records[1..])).unwrap();
    exports.finish(&run, &Summary::default()).unwrap();
    assert_eq!(*log.lock().unwrap(), ["pipe 1", "full 1", "good 1", "good 2", "good end"]);
}

#[path = "../../tests/support/schema.rs"]
mod validator;

use validator::check;

/// A document of kcf-track --json.
#[derive(serde::Serialize, schemars::JsonSchema)]
struct Document {
    #[serde(flatten)]
    head: Run,
    /// One record per target and frame, in the order of the frames; the first of each target has the given box.
    frames: Vec<FrameRecord>,
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
    let truth = TruthSummary { frames: 2, precision_20: 1.0, auc: 0.5, mean_overlap: 0.5, mean_center_error: f64::NAN };
    for document in [document(None), document(Some(truth)), document_of_many()] {
        check(&document);
    }
}
