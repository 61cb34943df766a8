//! Generates `assets/result.schema.json` (one target) and `assets/results.schema.json` (several) from the record types,
//! and validates documents against them.

use std::path::Path;

use serde_json::{Value, json};

use super::record::tests::{self, run};
use super::record::{SCHEMA, SCHEMA_OF_MANY};
use super::summary::TruthSummary;
use super::{FrameRecord, Json, Run, Summary, Tally, TargetRecord};

#[path = "../../tests/support/schema.rs"]
mod validator;

use validator::errors;

/// The result of tracking one target, written by kcf-track --json.
#[derive(serde::Serialize, schemars::JsonSchema)]
#[schemars(title = "kcf-track result")]
struct Result {
    #[serde(flatten)]
    head: Run,
    /// One record per frame, in order; the first has the initial box.
    frames: Vec<FrameRecord>,
    /// Counts and means of the run.
    summary: Summary,
}

/// The result of tracking several targets, written by kcf-track --json.
#[derive(serde::Serialize, schemars::JsonSchema)]
#[schemars(title = "kcf-track results")]
struct Results {
    #[serde(flatten)]
    head: Run,
    /// One record per target and frame, in the order of the frames; the first of each target has the given box.
    frames: Vec<FrameRecord>,
    /// Counts and means of the run.
    summary: Summary,
}

/// `KCF_TRACK_BLESS=1 cargo test` rewrites the files.
fn schema() -> Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
    let mut schema = serde_json::to_value(settings.into_generator().into_root_schema_for::<Result>()).unwrap();
    // A run of one target has no ids.
    schema["properties"]["schema"]["const"] = json!(SCHEMA);
    schema["properties"].as_object_mut().unwrap().remove("targets");
    schema["$defs"].as_object_mut().unwrap().remove("TargetRecord");
    schema["$defs"].as_object_mut().unwrap().remove("TargetSummary");
    schema["$defs"]["FrameRecord"]["properties"].as_object_mut().unwrap().remove("id");
    schema["$defs"]["Summary"]["properties"].as_object_mut().unwrap().remove("targets");
    schema
}

/// The same for several targets, which all have ids.
fn schema_of_many() -> Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
    let mut schema = serde_json::to_value(settings.into_generator().into_root_schema_for::<Results>()).unwrap();
    schema["properties"]["schema"]["const"] = json!(SCHEMA_OF_MANY);
    for (place, name) in [("", "targets"), ("/$defs/FrameRecord", "id"), ("/$defs/Summary", "targets")] {
        let required = schema.pointer_mut(&format!("{place}/required")).unwrap();
        required.as_array_mut().unwrap().push(json!(name));
    }
    schema["$defs"]["FrameRecord"]["properties"]["id"]["type"] = json!("integer");
    schema
}

fn document(truth: Option<TruthSummary>) -> Value {
    let (run, records) = run();
    written(run, &records, truth, &[])
}

fn document_of_many() -> Value {
    let (run, records) = run();
    let targets = [3, 8].map(|id| TargetRecord { id, start: 1, bbox: records[0].bbox });
    let named = |record: &FrameRecord| targets.map(|target| FrameRecord { id: Some(target.id), ..record.clone() });
    let records: Vec<FrameRecord> = records.iter().flat_map(named).collect();
    written(Run::of_many(run.source, run.parameters, targets.to_vec()), &records, None, &[3, 8])
}

fn written(run: Run, records: &[FrameRecord], truth: Option<TruthSummary>, ids: &[u32]) -> Value {
    let mut tally = Tally::default();
    records.iter().for_each(|record| tally.add(record));
    let targets = ids.iter().map(|&id| tally.of_target(id)).collect();
    let summary = Summary { targets, ..tally.completed(truth) };
    serde_json::from_str(&tests::written("run.json", Json::create, (&run, records), &summary)).unwrap()
}

#[test]
fn the_schema_files_match_the_types() {
    for (name, schema) in [("result", schema()), ("results", schema_of_many())] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("assets/{name}.schema.json"));
        let generated = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        if std::env::var_os("KCF_TRACK_BLESS").is_some() {
            std::fs::write(&path, &generated).unwrap();
        }
        let stored = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(stored == generated, "{} is out of date: run this test with KCF_TRACK_BLESS=1", path.display());
    }
}

#[test]
fn several_targets_have_their_own_schema() {
    let (one, many) = (schema(), schema_of_many());
    assert_eq!(errors(&many, &document_of_many()), [""; 0]);
    assert!(!errors(&one, &document_of_many()).is_empty());
    assert!(!errors(&many, &document(None)).is_empty());
}

#[test]
fn documents_are_valid() {
    let schema = schema();
    let truth = TruthSummary { frames: 2, precision_20: 1.0, auc: 0.5, mean_overlap: f64::NAN, mean_center_error: 2.0 };
    for document in [document(None), document(Some(truth))] {
        assert_eq!(errors(&schema, &document), [""; 0]);
    }
}

#[test]
fn invalid_documents_are_refused() {
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
