//! What is known of a run and of each of its frames; in files, every field keeps the order it has here.

use serde::{Serialize, Serializer};

use crate::geometry::BBox;
use crate::run::Outcome;
use crate::source::Item;
use crate::tracker::State;

/// Name and version of the form of the JSON document.
pub const SCHEMA: &str = "kcf-track/1";

/// What was run: the head of the JSON document.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Run {
    /// The form of the document.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    pub schema: &'static str,
    /// The version of kcf-track that wrote it.
    pub version: &'static str,
    /// Where the frames came from.
    pub source: SourceRecord,
    /// All parameters of the tracker, by name.
    #[cfg_attr(test, schemars(with = "serde_json::Map<String, serde_json::Value>"))]
    pub parameters: serde_json::Value,
}

impl Run {
    /// A run of this version of the library. `parameters` is a JSON object.
    pub fn new(source: SourceRecord, parameters: serde_json::Value) -> Self {
        Self { schema: SCHEMA, version: env!("CARGO_PKG_VERSION"), source, parameters }
    }
}

/// Where the frames came from.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SourceRecord {
    /// The folder of frames, as it was given.
    pub path: String,
    /// 1-based position of the first frame in the sorted folder.
    pub start: usize,
    /// 1-based position of the last frame in the sorted folder; null where it is not known when the run begins.
    pub end: Option<usize>,
    /// Width of the frames, in pixels.
    pub width: usize,
    /// Height of the frames, in pixels.
    pub height: usize,
}

/// One frame: where the target is, how sure that is, and what it cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FrameRecord {
    /// 1-based position in the sorted folder.
    pub index: usize,
    /// Name of the image file.
    pub file: String,
    /// The target's box `[x, y, w, h]` in pixels, its corner 0-based; null where no box is known.
    #[serde(serialize_with = "finite_box")]
    #[cfg_attr(test, schemars(with = "Option<[f64; 4]>"))]
    pub bbox: BBox,
    /// The highest response; null where nothing was searched for.
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
    /// What the kernel machine decides of the window at the box; null where no machine looked at one.
    #[serde(serialize_with = "finite")]
    #[cfg_attr(test, schemars(with = "Option<f32>"))]
    pub decision: Option<f32>,
    /// Whether a refit of the machine could not settle in this frame, so that its earlier decision was kept.
    pub refit_kept: bool,
    /// How far the box can be trusted.
    pub state: State,
    /// Milliseconds that reading and decoding took, to the microsecond.
    #[serde(serialize_with = "milliseconds")]
    #[cfg_attr(test, schemars(with = "f64"))]
    pub decode_ms: f64,
    /// Milliseconds that the tracker took, to the microsecond.
    #[serde(serialize_with = "milliseconds")]
    #[cfg_attr(test, schemars(with = "f64"))]
    pub track_ms: f64,
}

impl FrameRecord {
    /// What became of a target in a frame.
    pub fn new(item: &Item, outcome: &Outcome) -> Self {
        let evidence = outcome.estimate.map(|estimate| estimate.evidence);
        Self {
            index: item.position,
            file: item.name.clone(),
            bbox: outcome.bbox,
            peak: evidence.map(|evidence| evidence.peak),
            psr: evidence.map(|evidence| evidence.psr),
            apce: evidence.map(|evidence| evidence.apce),
            decision: evidence.and_then(|evidence| evidence.decision),
            refit_kept: evidence.is_some_and(|evidence| evidence.refit_kept),
            state: outcome.estimate.map_or(State::Missing, |estimate| estimate.state),
            decode_ms: item.decode_ms,
            track_ms: outcome.took.as_secs_f64() * 1e3,
        }
    }

    /// The box, unless one of its numbers is not finite.
    pub fn finite_box(&self) -> Option<BBox> {
        Some(self.bbox).filter(|b| [b.x, b.y, b.w, b.h].iter().all(|v| v.is_finite()))
    }
}

/// The number, or null when it is none: JSON knows neither NaN nor infinity.
fn finite<S: Serializer>(value: &Option<f32>, serializer: S) -> Result<S::Ok, S::Error> {
    value.filter(|v| v.is_finite()).serialize(serializer)
}

/// The box, or null: a box that is half numbers and half null helps nobody.
fn finite_box<S: Serializer>(bbox: &BBox, serializer: S) -> Result<S::Ok, S::Error> {
    Some(bbox).filter(|b| [b.x, b.y, b.w, b.h].iter().all(|v| v.is_finite())).serialize(serializer)
}

/// Digits below the microsecond are noise.
pub(super) fn to_microseconds(ms: f64) -> f64 {
    (ms * 1000.0).round() / 1000.0
}

fn milliseconds<S: Serializer>(ms: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    to_microseconds(*ms).serialize(serializer)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A small run of two frames for the tests of the formats.
    pub(in crate::export) fn run() -> (Run, Vec<FrameRecord>) {
        let source = SourceRecord { path: "seq/car".into(), start: 1, end: Some(2), width: 64, height: 48 };
        let first = FrameRecord {
            index: 1,
            file: "0001.jpg".into(),
            bbox: BBox::new(10.0, 20.5, 30.0, 40.25),
            peak: None,
            psr: None,
            apce: None,
            decision: None,
            refit_kept: false,
            state: State::Initial,
            decode_ms: 2.000_4,
            track_ms: 1.25,
        };
        let second = FrameRecord {
            index: 2,
            file: "0002.jpg".into(),
            bbox: BBox::new(-0.5, 21.0, 30.0, 40.25),
            peak: Some(0.5),
            psr: Some(9.1),
            apce: Some(f32::INFINITY),
            decision: Some(0.25),
            refit_kept: true,
            state: State::Tracking,
            decode_ms: 2.0,
            track_ms: 0.75,
        };
        (Run::new(source, serde_json::json!({ "padding": 1.5 })), vec![first, second])
    }

    #[test]
    fn a_record_is_one_object_in_the_order_of_the_fields() {
        let (_, records) = run();
        assert_eq!(
            serde_json::to_string(&records[1]).unwrap(),
            concat!(
                r#"{"index":2,"file":"0002.jpg","bbox":[-0.5,21.0,30.0,40.25],"#,
                r#""peak":0.5,"psr":9.1,"apce":null,"decision":0.25,"refit_kept":true,"#,
                r#""state":"tracking","decode_ms":2.0,"track_ms":0.75}"#
            )
        );
    }

    #[test]
    fn numbers_that_are_none_become_null() {
        let (_, mut records) = run();
        records[1].bbox.w = f64::NAN;
        records[1].peak = Some(f32::NAN);
        let text = serde_json::to_string(&records[1]).unwrap();
        assert!(text.contains(r#""bbox":null,"peak":null,"psr":9.1,"#), "{text}");
        assert_eq!(records[1].finite_box(), None);
    }
}
