//! What is known of a run and of each of its frames; in files, every field keeps the order it has here.

use serde::{Serialize, Serializer};

use crate::bbox::BBox;
use crate::media::Item;
use crate::run::Outcome;
use crate::tracker::State;

/// Name and version of the form of the JSON document of one target.
pub const SCHEMA: &str = "kcf-track/1";

/// The same of a document of several targets.
pub const SCHEMA_OF_MANY: &str = "kcf-track/2";

/// What was run: the head of the JSON document.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Run {
    /// The form of the document.
    pub schema: &'static str,
    /// The version of kcf-track that wrote it.
    pub version: &'static str,
    /// Where the frames came from.
    pub source: SourceRecord,
    /// All parameters of the tracker, by name.
    #[cfg_attr(test, schemars(with = "serde_json::Map<String, serde_json::Value>"))]
    pub parameters: serde_json::Value,
    /// The targets, where there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<TargetRecord>,
}

impl Run {
    /// A run of this version of the library with one target. `parameters` is a JSON object.
    pub fn new(source: SourceRecord, parameters: serde_json::Value) -> Self {
        Self { schema: SCHEMA, version: env!("CARGO_PKG_VERSION"), source, parameters, targets: Vec::new() }
    }

    /// The same with several targets.
    pub fn of_many(source: SourceRecord, parameters: serde_json::Value, targets: Vec<TargetRecord>) -> Self {
        Self { schema: SCHEMA_OF_MANY, targets, ..Self::new(source, parameters) }
    }
}

/// One of several targets, as it was given.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TargetRecord {
    /// What it is called in every output.
    pub id: u32,
    /// 1-based position of the frame that it begins in.
    pub start: usize,
    /// Its box there, `[x, y, w, h]` in pixels, the corner 0-based.
    #[cfg_attr(test, schemars(with = "[f64; 4]"))]
    pub bbox: BBox,
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
    /// Name of the image file; of a video the position in six digits.
    pub file: String,
    /// Seconds from the first frame of the source; not there of frames that have no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<f64>,
    /// The target, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u32>,
    /// The target's box `[x, y, w, h]` in pixels, its corner 0-based; null where no box is known.
    #[serde(serialize_with = "finite_box")]
    #[cfg_attr(test, schemars(with = "Option<[f64; 4]>"))]
    pub bbox: BBox,
    /// The corners `[x1, y1, …, x4, y4]` of a target that has turned, clockwise from what was the upper left one; not
    /// there of one that stands upright.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub polygon: Option<[f64; 8]>,
    /// The filter's answer at the box, or a machine's decision: near 1 for a KCF that sees what it has learned, up to
    /// about 2 for `robust`, whose response map is this merged with colour. Null where nothing was searched for.
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
    /// The probability that the box overlaps the target by more than half; null of trackers that are not calibrated,
    /// and in frames that are `initial` or `missing`.
    #[serde(serialize_with = "finite")]
    #[cfg_attr(test, schemars(with = "Option<f32>"))]
    pub confidence: Option<f32>,
    /// What a filter that follows far more slowly answers at the box, or how like it is to a memory that does (`fast`);
    /// null of trackers without one.
    #[serde(serialize_with = "finite")]
    #[cfg_attr(test, schemars(with = "Option<f32>"))]
    pub long_term: Option<f32>,
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
    /// What became of a target in a frame, in numbers that are rounded to what they mean.
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

/// The number, or null when it is none: JSON knows neither NaN nor infinity.
fn finite<S: Serializer>(value: &Option<f32>, serializer: S) -> Result<S::Ok, S::Error> {
    value.filter(|v| v.is_finite()).serialize(serializer)
}

/// The box, or null: a box that is half numbers and half null helps nobody.
fn finite_box<S: Serializer>(bbox: &BBox, serializer: S) -> Result<S::Ok, S::Error> {
    Some(bbox).filter(|b| [b.x, b.y, b.w, b.h].iter().all(|v| v.is_finite())).serialize(serializer)
}

/// Decimals of a pixel: as many as a truth file has at most.
pub(crate) const BOX_DIGITS: i32 = 4;

/// Decimals of a confidence.
pub(crate) const CONFIDENCE_DIGITS: i32 = 4;

/// A number with so many decimals; one that is none, or too large to have any, stays as it is.
pub(crate) fn rounded(value: f64, digits: i32) -> f64 {
    let unit = 10f64.powi(digits);
    let scaled = value * unit;
    // Adding zero turns -0 into 0.
    if scaled.is_finite() { scaled.round() / unit + 0.0 } else { value }
}

fn rounded_f32(value: f32, digits: i32) -> f32 {
    rounded(f64::from(value), digits) as f32
}

/// Digits below the microsecond are noise.
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
    use crate::export::{Destination, Export, FrameView, Summary};
    use crate::tracker::{Estimate, Evidence};

    /// What an export writes of `records` into a file of that name.
    pub(in crate::export) fn written<E: Export>(
        name: &str,
        create: impl FnOnce(&Destination) -> Result<E>,
        (run, records): (&Run, &[FrameRecord]),
        summary: &Summary,
    ) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        let mut export = Box::new(create(&path.as_path().into()).unwrap());
        export.begin(run).unwrap();
        records.iter().for_each(|record| export.frame(record, &FrameView::default()).unwrap());
        export.finish(summary).unwrap();
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
    fn a_record_is_one_object_in_the_order_of_the_fields() {
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
    fn numbers_are_rounded_to_what_they_mean() {
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
    fn numbers_that_are_none_become_null() {
        let (_, mut records) = run();
        records[1].bbox.w = f64::NAN;
        records[1].peak = Some(f32::NAN);
        let text = serde_json::to_string(&records[1]).unwrap();
        assert!(text.contains(r#""bbox":null,"peak":null,"psr":9.1,"#), "{text}");
        assert_eq!(records[1].finite_box(), None);
    }
}

/// One target in one frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shape {
    /// 1-based position of the frame.
    pub index: usize,
    /// Seconds from the first frame of the source.
    pub time: Option<f64>,
    /// Its box; of a target that has turned, as it would stand if it were turned back about its centre.
    pub bbox: BBox,
    /// By how many degrees it has turned, clockwise, from 0 to 360.
    pub turn: f64,
    /// Whether a person drew the box.
    pub given: bool,
    /// Whether the target is there at all.
    pub seen: bool,
}

impl Shape {
    /// The corners `x, y` of the target where it is, clockwise from what was the upper left one.
    pub fn corners(&self) -> [(f64, f64); 4] {
        let BBox { w, h, .. } = self.bbox;
        let (x, y) = self.bbox.center();
        let (sin, cos) = self.turn.to_radians().sin_cos();
        let corner = |(w, h): (f64, f64)| (x + cos * w - sin * h, y + sin * w + cos * h);
        let (w, h) = (w / 2.0, h / 2.0);
        [(-w, -h), (w, -h), (w, h), (-w, h)].map(corner)
    }
}

/// The box of a polygon of four corners as it would stand if it were turned back, and by how much that is.
fn turned_back([ax, ay, bx, by, cx, cy, dx, dy]: [f64; 8]) -> (BBox, f64) {
    let (w, h) = ((bx - ax).hypot(by - ay), (dx - ax).hypot(dy - ay));
    let (x, y) = ((ax + bx + cx + dx) / 4.0, (ay + by + cy + dy) / 4.0);
    let bbox = [x - w / 2.0, y - h / 2.0, w, h].map(|number| rounded(number, BOX_DIGITS));
    let turn = rounded((by - ay).atan2(bx - ax).to_degrees(), TURN_DIGITS);
    // What is a hair below 0 is none below 360.
    (bbox.into(), rounded(turn.rem_euclid(360.0), TURN_DIGITS) % 360.0)
}

/// Digits behind the point of an angle: a corner that is a thousand pixels away is a hundredth of one aside.
const TURN_DIGITS: i32 = 4;

/// One target, and where it was.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Track {
    pub id: u32,
    pub shapes: Vec<Shape>,
}

/// The tracks of a run, in the order in which they begin.
#[derive(Clone, Debug, Default)]
pub(super) struct Tracks(pub Vec<Track>);

impl Tracks {
    /// Notes a record. A box that is no number, or that lasts while nothing is believed, stays the last one.
    pub fn add(&mut self, record: &FrameRecord) {
        let id = record.id.unwrap_or(1);
        let track = match self.0.iter().position(|track| track.id == id) {
            Some(place) => &mut self.0[place],
            None => {
                self.0.push(Track { id, shapes: Vec::new() });
                let last = self.0.len() - 1;
                &mut self.0[last]
            }
        };
        let turned = record.polygon.filter(|corners| corners.iter().all(|number| number.is_finite())).map(turned_back);
        let here = record.finite_box().map(|bbox| turned.unwrap_or((bbox, 0.0)));
        let Some((bbox, turn)) = here.or(track.shapes.last().map(|shape| (shape.bbox, shape.turn))) else { return };
        let (given, seen) = (record.state == State::Initial, record.is_visible());
        track.shapes.push(Shape { index: record.index, time: record.time, bbox, turn, given, seen });
    }

    /// Position of the last frame.
    pub fn last(&self) -> usize {
        self.0.iter().filter_map(|track| track.shapes.last()).map(|shape| shape.index).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tracks_tests {
    use super::*;
    use crate::export::record::tests::run;

    #[test]
    fn a_target_that_has_turned_is_turned_back_and_by_how_much() {
        let (_, records) = run();
        for degrees in [0.5_f64, 30.0, 90.0, 179.0, 200.0, 359.9] {
            let (sin, cos) = degrees.to_radians().sin_cos();
            let corner = |(x, y): (f64, f64)| [40.0 + cos * x - sin * y, 30.0 + sin * x + cos * y];
            let corners = [(-10.0, -5.0), (10.0, -5.0), (10.0, 5.0), (-10.0, 5.0)].map(corner);
            let polygon: [f64; 8] = corners.concat().try_into().unwrap();
            let mut tracks = Tracks::default();
            tracks.add(&FrameRecord { polygon: Some(polygon), ..records[1].clone() });
            let shape = tracks.0[0].shapes[0];
            assert!((shape.turn - degrees).abs() < 1e-3, "{degrees}: {shape:?}");
            assert_eq!((shape.bbox.w, shape.bbox.h, shape.bbox.center()), (20.0, 10.0, (40.0, 30.0)));
            let found = shape.corners().map(|(x, y)| [x, y]).concat();
            assert!(found.iter().zip(polygon).all(|(found, at)| (found - at).abs() < 0.001), "{found:?} {polygon:?}");
        }
        // An upright one stays as it is, to the bit.
        let mut tracks = Tracks::default();
        tracks.add(&records[1]);
        assert_eq!((tracks.0[0].shapes[0].bbox, tracks.0[0].shapes[0].turn), (records[1].bbox, 0.0));
    }
}
