//! `assets/result.schema.json` is generated from the types that write the document, and checked against what is written.

use std::path::Path;

use serde_json::{Value, json};

use super::record::tests::run;
use super::{Export, FrameRecord, FrameView, Json, Run, Summary, Tally, TruthSummary};

#[path = "../../tests/support/schema.rs"]
mod validator;

use validator::errors;

/// The result of tracking one target through one sequence, as kcf-track writes it with --json.
#[derive(serde::Serialize, schemars::JsonSchema)]
#[schemars(title = "kcf-track result")]
struct Result {
    #[serde(flatten)]
    head: Run,
    /// One record a frame, in order; the first holds the initial box.
    frames: Vec<FrameRecord>,
    /// What the run came to.
    summary: Summary,
}

/// `KCF_TRACK_BLESS=1 cargo test` writes the file anew.
fn schema() -> Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
    serde_json::to_value(settings.into_generator().into_root_schema_for::<Result>()).unwrap()
}

fn document(truth: Option<TruthSummary>) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.json");
    let (run, records) = run();
    let mut json = Box::new(Json::create(&path.as_path().into()).unwrap());
    let mut tally = Tally::default();
    json.begin(&run).unwrap();
    for record in &records {
        tally.add(record);
        json.frame(record, &FrameView::default()).unwrap();
    }
    json.finish(&tally.completed(truth)).unwrap();
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn the_file_is_what_the_types_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/result.schema.json");
    let generated = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    if std::env::var_os("KCF_TRACK_BLESS").is_some() {
        std::fs::write(&path, &generated).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(stored == generated, "{} is out of date: run this test with KCF_TRACK_BLESS=1", path.display());
}

#[test]
fn what_is_written_is_valid() {
    let schema = schema();
    let truth = TruthSummary { frames: 2, precision_20: 1.0, auc: 0.5, mean_overlap: f64::NAN, mean_center_error: 2.0 };
    for document in [document(None), document(Some(truth))] {
        assert_eq!(errors(&schema, &document), [""; 0]);
    }
}

#[test]
fn a_wrong_document_is_refused() {
    let schema = schema();
    let wrong: [(&str, Value); 9] = [
        ("/schema", json!("kcf-track/0")),
        ("/version", json!(1)),
        ("/source/width", json!(-1)),
        ("/parameters", json!([])),
        ("/frames", json!({})),
        ("/frames/0/bbox", json!([1, 2, 3])),
        ("/frames/0/state", json!("found")),
        ("/frames/1/psr", json!("high")),
        ("/summary/completed", json!(null)),
    ];
    for (pointer, value) in wrong {
        let mut document = document(None);
        *document.pointer_mut(pointer).unwrap() = value;
        let found = errors(&schema, &document);
        let named = found.iter().all(|wrong| wrong.starts_with(pointer));
        assert!(named && !found.is_empty(), "{pointer}: {found:?}");
    }
    let mut incomplete = document(None);
    incomplete.as_object_mut().unwrap().remove("summary");
    assert_eq!(errors(&schema, &incomplete), [": without summary"]);
}
