//! The record of a run and of each frame. Files keep the order of the fields.

use serde::{Serialize, Serializer};

use crate::bbox::BBox;
use crate::media::Item;
use crate::run::Outcome;
use crate::tracker::State;

/// Name and version of the JSON format of one target.
pub(super) const SCHEMA: &str = "kcf-track/1";

/// The same for several targets.
pub(super) const SCHEMA_OF_MANY: &str = "kcf-track/2";

/// The start of the JSON document.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Run {
    /// The format of the document.
    pub schema: &'static str,
    /// The version of kcf-track that wrote it.
    pub version: &'static str,
    /// The source of the frames.
    pub source: SourceRecord,
    /// All settings of the tracker.
    #[cfg_attr(test, schemars(with = "serde_json::Map<String, serde_json::Value>"))]
    pub parameters: serde_json::Value,
    /// The targets, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<TargetRecord>,
}

impl Run {
    /// A run of one target. `parameters` is a JSON object.
    pub fn new(source: SourceRecord, parameters: serde_json::Value) -> Self {
        Self { schema: SCHEMA, version: env!("CARGO_PKG_VERSION"), source, parameters, targets: Vec::new() }
    }

    /// A run of several targets.
    pub fn of_many(source: SourceRecord, parameters: serde_json::Value, targets: Vec<TargetRecord>) -> Self {
        Self { schema: SCHEMA_OF_MANY, targets, ..Self::new(source, parameters) }
    }
}

/// One of several targets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TargetRecord {
    /// Its id in every output.
    pub id: u32,
    /// 1-based position of its first frame.
    pub start: usize,
    /// Its box there, `[x, y, w, h]` in pixels, the corner 0-based.
    #[cfg_attr(test, schemars(with = "[f64; 4]"))]
    pub bbox: BBox,
}

/// The source of the frames.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SourceRecord {
    /// The source as the user named it.
    pub path: String,
    /// 1-based position of the first frame.
    pub start: usize,
    /// 1-based position of the last frame; null if it is unknown when the run begins.
    pub end: Option<usize>,
    /// Width of the frames, in pixels.
    pub width: usize,
    /// Height of the frames, in pixels.
    pub height: usize,
}

/// One target in one frame: its box, the evidence for it, and the time it took.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FrameRecord {
    /// 1-based position of the frame.
    pub index: usize,
    /// Name of the image file; for a video, the position in six digits.
    pub file: String,
    /// Seconds since the first frame of the source; absent for frames without times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<f64>,
    /// The target, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u32>,
    /// The box `[x, y, w, h]` in pixels, the corner 0-based; null if it is unknown.
    #[serde(serialize_with = "finite_box")]
    #[cfg_attr(test, schemars(with = "Option<[f64; 4]>"))]
    pub bbox: BBox,
    /// The corners `[x1, y1, …, x4, y4]` of a rotated target, clockwise from its original top-left corner; absent for an
    /// upright one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub polygon: Option<[f64; 8]>,
    /// The response at the box, or a machine's decision: near 1 for a KCF that sees what it has learned, up to about 2
    /// for `robust`, whose response merges in colour. Null if nothing was searched for.
    #[serde(serialize_with = "finite")]
    #[cfg_attr(test, schemars(with = "Option<f32>"))]
    pub peak: Option<f32>,
    /// Peak-to-sidelobe ratio of the response.
    #[serde(serialize_with = "finite")]
    #[cfg_attr(test, schemars(with = "Option<f32>"))]
    pub psr: Option<f32>,
    /// Average peak-to-correlation energy of the response.
    #[serde(serialize_with = "finite")]
    #[cfg_attr(test, schemars(with = "Option<f32>"))]
    pub apce: Option<f32>,
    /// The kernel machine's decision about the window at the box; null without one.
    #[serde(serialize_with = "finite")]
    #[cfg_attr(test, schemars(with = "Option<f32>"))]
    pub decision: Option<f32>,
    /// Whether a refit of the machine did not converge in this frame, so the earlier model was kept.
    pub refit_kept: bool,
    /// The state of the target.
    pub state: State,
    /// The probability that the box overlaps the target by more than half; null for trackers without calibration and
    /// for `initial` and `missing` frames.
    #[serde(serialize_with = "finite")]
    #[cfg_attr(test, schemars(with = "Option<f32>"))]
    pub confidence: Option<f32>,
    /// The response of a slowly learning filter at the box, or the similarity to a slowly learning memory (`fast`); null
    /// for trackers without one.
    #[serde(serialize_with = "finite")]
    #[cfg_attr(test, schemars(with = "Option<f32>"))]
    pub long_term: Option<f32>,
    /// Milliseconds of reading and decoding, to the microsecond.
    #[serde(serialize_with = "milliseconds")]
    #[cfg_attr(test, schemars(with = "f64"))]
    pub decode_ms: f64,
    /// Milliseconds of tracking, to the microsecond.
    #[serde(serialize_with = "milliseconds")]
    #[cfg_attr(test, schemars(with = "f64"))]
    pub track_ms: f64,
}

impl FrameRecord {
    /// The outcome of a target in a frame, rounded to significant digits.
    pub fn new(item: &Item, outcome: &Outcome, id: Option<u32>) -> Self {
        let evidence = outcome.estimate.map(|estimate| estimate.evidence);
        Self {
            index: item.position,
            file: item.name.clone(),
            time: item.timestamp.map(|seconds| rounded(seconds, 6)),
            id,
            bbox: <[f64; 4]>::from(outcome.bbox).map(|number| rounded(number, BOX_DIGITS)).into(),
            polygon: outcome
                .estimate
                .and_then(|estimate| estimate.polygon)
                .map(|corners| corners.map(|number| rounded(number, BOX_DIGITS))),
            peak: evidence.map(|evidence| rounded_f32(evidence.peak, 4)),
            psr: evidence.map(|evidence| rounded_f32(evidence.psr, 3)),
            apce: evidence.map(|evidence| rounded_f32(evidence.apce, 3)),
            decision: evidence.and_then(|evidence| evidence.decision).map(|decision| rounded_f32(decision, 4)),
            refit_kept: evidence.is_some_and(|evidence| evidence.refit_kept),
            state: outcome.estimate.map_or(State::Missing, |estimate| estimate.state),
            confidence: evidence.and_then(|evidence| evidence.confidence).map(|v| rounded_f32(v, CONFIDENCE_DIGITS)),
            long_term: evidence.and_then(|evidence| evidence.long_term).map(|v| rounded_f32(v, 4)),
            decode_ms: item.decode_ms,
            track_ms: outcome.took.as_secs_f64() * 1e3,
        }
    }

    /// Whether the target is there: neither lost nor in an unreadable frame.
    pub(super) fn is_visible(&self) -> bool {
        !matches!(self.state, State::Lost | State::Missing)
    }

    /// The box, unless one of its numbers is not finite.
    pub fn finite_box(&self) -> Option<BBox> {
        Some(self.bbox).filter(|b| [b.x, b.y, b.w, b.h].iter().all(|v| v.is_finite()))
    }
}

/// The number, or null: JSON has neither NaN nor infinity.
fn finite<S: Serializer>(value: &Option<f32>, serializer: S) -> Result<S::Ok, S::Error> {
    value.filter(|v| v.is_finite()).serialize(serializer)
}

/// The box, or null if one of its numbers is not finite.
fn finite_box<S: Serializer>(bbox: &BBox, serializer: S) -> Result<S::Ok, S::Error> {
    Some(bbox).filter(|b| [b.x, b.y, b.w, b.h].iter().all(|v| v.is_finite())).serialize(serializer)
}

/// Decimals of a pixel.
pub(crate) const BOX_DIGITS: i32 = 4;

/// Decimals of a confidence.
pub(crate) const CONFIDENCE_DIGITS: i32 = 4;

/// Rounds to `digits` decimals; NaN and huge numbers stay as they are.
pub(crate) fn rounded(value: f64, digits: i32) -> f64 {
    let unit = 10f64.powi(digits);
    let scaled = value * unit;
    // Adding zero turns -0 into 0.
    if scaled.is_finite() { scaled.round() / unit + 0.0 } else { value }
}

fn rounded_f32(value: f32, digits: i32) -> f32 {
    rounded(f64::from(value), digits) as f32
}

/// Rounds milliseconds to the microsecond.
pub(super) fn to_microseconds(ms: f64) -> f64 {
    rounded(ms, 3)
}

fn milliseconds<S: Serializer>(ms: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    to_microseconds(*ms).serialize(serializer)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::error::Result;
    use crate::export::{Destination, Exporter, FrameResult, Summary};
    use crate::tracker::{Estimate, Evidence};

    /// The text that an exporter writes for `records` into a file of this name.
    pub(in crate::export) fn written<E: Exporter>(
        name: &str,
        create: impl FnOnce(&Destination) -> Result<E>,
        (run, records): (&Run, &[FrameRecord]),
        summary: &Summary,
    ) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        let mut export = Box::new(create(&path.as_path().into()).unwrap());
        for records in records.chunk_by(|a, b| a.index == b.index) {
            export.write(&FrameResult::new(run, records)).unwrap();
        }
        export.finish(run, summary).unwrap();
        std::fs::read_to_string(path).unwrap()
    }

    /// A small run of two frames for the tests of the formats.
    pub(in crate::export) fn run() -> (Run, Vec<FrameRecord>) {
        let source = SourceRecord { path: "seq/car".into(), start: 1, end: Some(2), width: 64, height: 48 };
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
            decode_ms: 2.000_4,
            track_ms: 1.25,
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
            apce: Some(f32::INFINITY),
            decision: Some(0.25),
            refit_kept: true,
            state: State::Tracking,
            confidence: Some(0.75),
            long_term: None,
            decode_ms: 2.0,
            track_ms: 0.75,
        };
        (Run::new(source, serde_json::json!({ "padding": 1.5 })), vec![first, second])
    }

    #[test]
    fn a_record_keeps_the_order_of_its_fields() {
        let (_, records) = run();
        assert_eq!(
            serde_json::to_string(&records[1]).unwrap(),
            concat!(
                r#"{"index":2,"file":"0002.jpg","bbox":[-0.5,21.0,30.0,40.25],"#,
                r#""peak":0.5,"psr":9.1,"apce":null,"decision":0.25,"refit_kept":true,"#,
                r#""state":"tracking","confidence":0.75,"long_term":null,"decode_ms":2.0,"track_ms":0.75}"#
            )
        );
    }

    #[test]
    fn numbers_are_rounded_to_significant_digits() {
        let item = Item {
            position: 2,
            name: "0002.jpg".into(),
            path: None,
            timestamp: None,
            frame: Err(crate::error::Error::NotInitialized),
            color: None,
            decode_ms: 1.0 / 3.0,
        };
        let bbox = BBox::new(13.799999999999997, -0.00001, 1.0 / 3.0, 1e300);
        let evidence = Evidence {
            peak: 2.0 / 3.0,
            psr: 30.123456,
            apce: f32::NAN,
            decision: Some(-0.123456),
            long_term: Some(0.654321),
            confidence: Some(0.99999),
            ..Evidence::default()
        };
        let polygon = Some([1.0 / 3.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, -8.00001]);
        let estimate = Some(Estimate { bbox, polygon, state: State::Tracking, evidence });
        let outcome = Outcome { target: 0, bbox, estimate, took: std::time::Duration::from_nanos(1_234_567) };
        let text = serde_json::to_string(&FrameRecord::new(&item, &outcome, None)).unwrap();
        let expected = concat!(
            r#"{"index":2,"file":"0002.jpg","bbox":[13.8,0.0,0.3333,1e+300],"#,
            r#""polygon":[0.3333,2.0,3.0,4.0,5.0,6.0,7.0,-8.0],"peak":0.6667,"psr":30.123,"apce":null,"#,
            r#""decision":-0.1235,"refit_kept":false,"state":"tracking","confidence":1.0,"#,
            r#""long_term":0.6543,"decode_ms":0.333,"track_ms":1.235}"#
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn nonfinite_numbers_become_null() {
        let (_, mut records) = run();
        records[1].bbox.w = f64::NAN;
        records[1].peak = Some(f32::NAN);
        let text = serde_json::to_string(&records[1]).unwrap();
        assert!(text.contains(r#""bbox":null,"peak":null,"psr":9.1,"#), "{text}");
        assert_eq!(records[1].finite_box(), None);
    }
}
