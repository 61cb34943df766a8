//! The records of a run: of its source, its targets and each frame. Files keep the order of the fields.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::bbox::BBox;
use crate::media::{Info, Item, Span, without_user};
use crate::run::{Attributes, Outcome, Reach};
use crate::tracker::{Estimate, Evidence, State};

/// Name and version of the JSON format.
pub(super) const SCHEMA: &str = "kcf-track/3";

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
    /// The targets, which commands change while the run goes on.
    #[serde(skip)]
    pub targets: Vec<TargetRecord>,
    /// Whether the frames tell targets apart by their ids.
    #[serde(skip)]
    pub named: bool,
    /// Whether rows of JSON answer commands: there is one of the run, and one a frame also without targets.
    #[serde(skip)]
    pub answers: bool,
    /// The highest id of the ended targets that are no longer among `targets`; 0 for none.
    #[serde(skip)]
    pub forgotten: u32,
    /// The frame that was shown when a session of the view was saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<usize>,
}

impl Run {
    /// A run of these targets. `parameters` is a JSON object.
    pub fn new(source: SourceRecord, parameters: serde_json::Value, targets: Vec<TargetRecord>, named: bool) -> Self {
        let version = env!("CARGO_PKG_VERSION");
        Self {
            schema: SCHEMA,
            version,
            source,
            parameters,
            targets,
            named,
            position: None,
            answers: false,
            forgotten: 0,
        }
    }

    /// Whether a target has or had this id. Ids below that of a forgotten target count as used.
    pub fn is_used(&self, id: u32) -> bool {
        id <= self.forgotten || self.targets.iter().any(|target| target.id == id)
    }

    /// The target of a record.
    fn target(&self, id: Option<u32>) -> Option<&TargetRecord> {
        self.targets.iter().find(|target| id.is_none_or(|id| target.id == id))
    }

    /// The name of a record's target.
    pub(super) fn name(&self, id: Option<u32>) -> Option<&str> {
        self.target(id)?.name.as_deref()
    }

    /// The class of a record's target.
    pub(super) fn class(&self, id: Option<u32>) -> &str {
        self.target(id).map_or(CLASS, TargetRecord::class)
    }

    /// The classes of all targets; [`CLASS`] stands for none.
    pub(super) fn classes(&self) -> Vec<&str> {
        let mut classes = Vec::new();
        for class in self.targets.iter().map(TargetRecord::class) {
            if !classes.contains(&class) {
                classes.push(class);
            }
        }
        if classes.is_empty() { vec![CLASS] } else { classes }
    }

    /// The place of a record's class among [`Run::classes`].
    pub(super) fn class_place(&self, id: Option<u32>) -> usize {
        let class = self.class(id);
        self.classes().iter().position(|known| *known == class).unwrap_or(0)
    }

    /// The targets, if frames tell them apart.
    pub fn named_targets(&self) -> &[TargetRecord] {
        if self.named { &self.targets } else { &[] }
    }
}

/// A target, and what a person said about it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TargetRecord {
    /// Its id in every output.
    pub id: u32,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is, as in `car`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Free attributes.
    #[serde(default, skip_serializing_if = "Attributes::is_empty")]
    pub attributes: Attributes,
    /// What was given, in the order of the frames. The first one begins the target, each later one corrects it.
    pub given: Vec<Given>,
}

/// A box that a person gave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Given {
    /// 1-based position of the frame.
    pub frame: usize,
    /// The box `[x, y, w, h]` in pixels, the corner 0-based; null if the target is gone from this frame on.
    #[cfg_attr(test, schemars(with = "Option<[f64; 4]>"))]
    pub bbox: Option<BBox>,
    /// The corners of a turned box, as in `frames`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub polygon: Option<[f64; 8]>,
    /// How far it reaches in the view. A run tracks on from every given box.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub reach: Reach,
    /// The last frame of the path that begins here, if boxes of an earlier path follow it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<usize>,
    /// Whether something covers the target from here up to the next given box; absent if the tracker decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occluded: Option<bool>,
}

impl Given {
    /// A box that the target is tracked from, or its end.
    pub fn new(frame: usize, bbox: Option<BBox>) -> Self {
        Self { frame, bbox, ..Self::default() }
    }
}

fn is_usual(reach: &Reach) -> bool {
    *reach == Reach::FromHere
}

/// The class of a target without one.
pub(super) const CLASS: &str = "target";

impl TargetRecord {
    /// What it is.
    pub(super) fn class(&self) -> &str {
        self.class.as_deref().unwrap_or(CLASS)
    }

    /// A target that begins in this box.
    pub fn new(id: u32, frame: usize, bbox: BBox) -> Self {
        Self { id, given: vec![Given::new(frame, Some(bbox))], ..Self::default() }
    }

    /// Adds what is given of the same target in other frames.
    ///
    /// # Errors
    /// When something is given twice in a frame.
    pub fn join(&mut self, other: Self) -> Result<(), String> {
        for given in other.given {
            match self.given.binary_search_by_key(&given.frame, |known| known.frame) {
                Ok(_) => return Err(format!("two boxes of target {} in frame {}", self.id, given.frame)),
                Err(place) => self.given.insert(place, given),
            }
        }
        self.name = self.name.take().or(other.name);
        self.class = self.class.take().or(other.class);
        Ok(())
    }

    /// Gives it a box, in place of what was given in this frame.
    pub fn give(&mut self, frame: usize, bbox: BBox) {
        self.given.retain(|given| given.frame != frame);
        self.given.push(Given::new(frame, Some(bbox)));
        self.given.sort_by_key(|given| given.frame);
    }

    /// Ends it for good, at least one frame after its beginning.
    pub fn end(&mut self, frame: usize) {
        let frame = frame.max(self.start().saturating_add(1));
        self.given.retain(|given| given.frame < frame);
        self.given.push(Given::new(frame, None));
    }

    /// Position of its first frame.
    pub fn start(&self) -> usize {
        self.given.first().map_or(usize::MAX, |given| given.frame)
    }

    /// All boxes with their frames.
    pub fn boxes(&self) -> impl Iterator<Item = (usize, BBox)> {
        self.given.iter().filter_map(|given| Some((given.frame, given.bbox?)))
    }
}

/// The source of the frames.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SourceRecord {
    /// The source as the user named it.
    pub path: String,
    /// 1-based position of the first frame.
    pub start: usize,
    /// 1-based position of the last frame; null if it is unknown when the run begins.
    pub end: Option<usize>,
    /// Frames of the whole source, exact or expected; null if it is unknown.
    pub frames: Option<usize>,
    /// Frames per second; null if the source states none.
    pub rate: Option<f64>,
    /// Width of the frames, in pixels.
    pub width: usize,
    /// Height of the frames, in pixels.
    pub height: usize,
    /// Black and white of samples with more than 8 bits, which are stretched between them; absent for 8 bits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub levels: Option<[u16; 2]>,
}

/// One target in one frame: its box, the evidence for it, and the time it took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FrameRecord {
    /// 1-based position of the frame.
    pub index: usize,
    /// Name of the image file; for a video, the position in six digits.
    pub file: String,
    /// Seconds since the first frame of the source; absent for frames without times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<f64>,
    /// The target; absent if there is only one and nobody gave it an id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u32>,
    /// The box `[x, y, w, h]` in pixels, the corner 0-based; null if it is unknown.
    #[serde(serialize_with = "finite_box", deserialize_with = "any_box")]
    #[cfg_attr(test, schemars(with = "Option<[f64; 4]>"))]
    pub bbox: BBox,
    /// The corners `[x1, y1, …, x4, y4]` of a rotated target, clockwise from its original top-left corner; absent for an
    /// upright one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub polygon: Option<[f64; 8]>,
    /// The response at the box, or a machine's decision: near 1 for a KCF that sees what it has learned, up to about 2
    /// for `robust`, whose response merges in colour. Null if nothing was searched for.
    pub peak: Option<f32>,
    /// Peak-to-sidelobe ratio of the response.
    pub psr: Option<f32>,
    /// Average peak-to-correlation energy of the response.
    pub apce: Option<f32>,
    /// The kernel machine's decision about the window at the box; null without one.
    pub decision: Option<f32>,
    /// Whether a refit of the machine did not converge in this frame, so the earlier model was kept.
    #[serde(default)]
    pub refit_kept: bool,
    /// The state of the target.
    pub state: State,
    /// The probability that the box overlaps the target by more than half; null for trackers without calibration and
    /// for `initial` and `missing` frames.
    pub confidence: Option<f32>,
    /// The response of a slowly learning filter at the box; null for trackers without one.
    pub long_term: Option<f32>,
    /// How much the box looks like what was given: about 1 for the target as it was, -1 for its surroundings; null for
    /// trackers that do not compare.
    pub identity: Option<f32>,
    /// Milliseconds of reading and decoding, to the microsecond.
    pub decode_ms: f64,
    /// Milliseconds of tracking, to the microsecond.
    pub track_ms: f64,
    /// When the frame was decoded, in seconds since 1970; absent for frames that do not come live.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub captured: Option<f64>,
}

/// A record with the words for its target.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Row<'a> {
    #[serde(flatten)]
    record: &'a FrameRecord,
    /// What the target is; absent if nobody said it.
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<&'a str>,
    /// Its name; absent if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
}

impl<'a> Row<'a> {
    pub fn new(record: &'a FrameRecord, run: &'a Run) -> Self {
        let target = run.target(record.id);
        let word = |word: fn(&TargetRecord) -> Option<&String>| target.and_then(word).map(String::as_str);
        let class = word(|target| target.class.as_ref()).filter(|class| *class != CLASS);
        Self { record, class, name: word(|target| target.name.as_ref()) }
    }
}

impl SourceRecord {
    /// The frames of a source in `span`, before the first of them is read. `path` is the source as the user named it; a
    /// password in it is left out.
    pub fn new(path: String, info: &Info, span: Span) -> Self {
        let (frames, (width, height)) = (info.likely_length(), info.size.unwrap_or_default());
        let rate = info.rate.filter(|rate| rate.is_finite());
        let levels = info.levels.map(|(black, white)| [black, white]);
        Self { path: without_user(&path), start: span.first, end: span.last, frames, rate, width, height, levels }
    }
}

impl FrameRecord {
    /// The outcome of a target in a frame, rounded to significant digits.
    pub fn new(item: &Item, outcome: &Outcome, id: Option<u32>) -> Self {
        Self::exact(item, outcome, id).rounded()
    }

    /// The outcome of a target in a frame, with all digits.
    pub(super) fn exact(item: &Item, outcome: &Outcome, id: Option<u32>) -> Self {
        let evidence = outcome.estimate.map(|estimate| estimate.evidence);
        Self {
            index: item.position,
            file: item.name.clone(),
            time: item.timestamp,
            id,
            bbox: outcome.bbox,
            polygon: outcome.estimate.and_then(|estimate| estimate.polygon),
            peak: evidence.map(|evidence| evidence.peak),
            psr: evidence.map(|evidence| evidence.psr),
            apce: evidence.map(|evidence| evidence.apce),
            decision: evidence.and_then(|evidence| evidence.decision),
            refit_kept: evidence.is_some_and(|evidence| evidence.refit_kept),
            state: outcome.estimate.map_or(State::Missing, |estimate| estimate.state),
            confidence: evidence.and_then(|evidence| evidence.confidence),
            long_term: evidence.and_then(|evidence| evidence.long_term),
            identity: evidence.and_then(|evidence| evidence.identity),
            decode_ms: item.decode_ms,
            track_ms: outcome.took.as_secs_f64() * 1e3,
            captured: item.captured,
        }
    }

    /// The record of a box that no tracker has found.
    pub fn said(item: &Item, id: u32, (bbox, polygon): (BBox, Option<[f64; 8]>), state: State) -> Self {
        let estimate = Some(Estimate { bbox, polygon, state, evidence: Evidence::default() });
        Self::new(item, &Outcome { target: 0, bbox, estimate, took: Duration::ZERO }, Some(id))
    }

    /// The record, rounded to significant digits.
    pub(super) fn rounded(self) -> Self {
        let single = |value: Option<f32>, digits| {
            value.map(|value| rounded(f64::from(value), digits) as f32).filter(|value| value.is_finite())
        };
        Self {
            time: self.time.map(|seconds| rounded(seconds, 6)),
            bbox: <[f64; 4]>::from(self.bbox).map(|number| rounded(number, BOX_DIGITS)).into(),
            polygon: self.polygon.map(|corners| corners.map(|number| rounded(number, BOX_DIGITS))),
            peak: single(self.peak, 4),
            psr: single(self.psr, 3),
            apce: single(self.apce, 3),
            decision: single(self.decision, 4),
            confidence: single(self.confidence, CONFIDENCE_DIGITS),
            long_term: single(self.long_term, 4),
            identity: single(self.identity, 4),
            decode_ms: rounded(self.decode_ms, 3),
            track_ms: rounded(self.track_ms, 3),
            captured: self.captured.map(|seconds| rounded(seconds, 4)),
            ..self
        }
    }

    /// Whether the target is visible: there, and not occluded.
    pub(super) fn is_visible(&self) -> bool {
        self.is_there() && self.state != State::Occluded
    }

    /// Whether the target is there, seen or occluded: not lost, and the frame was readable.
    pub(super) fn is_there(&self) -> bool {
        !matches!(self.state, State::Lost | State::Missing)
    }

    /// The corners of a rotated target, unless one of their numbers is not finite.
    pub(super) fn finite_polygon(&self) -> Option<[f64; 8]> {
        self.polygon.filter(|corners| corners.iter().all(|number| number.is_finite()))
    }

    /// The box, unless one of its numbers is not finite.
    pub fn finite_box(&self) -> Option<BBox> {
        Some(self.bbox).filter(BBox::is_finite)
    }
}

/// The box, or null if one of its numbers is not finite.
fn finite_box<S: Serializer>(bbox: &BBox, serializer: S) -> Result<S::Ok, S::Error> {
    Some(bbox).filter(|bbox| bbox.is_finite()).serialize(serializer)
}

/// The box; null is one without a finite number.
fn any_box<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BBox, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or([f64::NAN; 4].into()))
}

/// Decimals of a pixel.
pub(super) const BOX_DIGITS: i32 = 4;

/// Decimals of a confidence.
pub(super) const CONFIDENCE_DIGITS: i32 = 4;

/// Rounds to `digits` decimals; NaN and huge numbers stay as they are.
pub(super) fn rounded(value: f64, digits: i32) -> f64 {
    let unit = 10f64.powi(digits);
    let scaled = value * unit;
    // Adding zero turns -0 into 0.
    if scaled.is_finite() { scaled.round() / unit + 0.0 } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::tests::run;

    #[test]
    fn numbers_are_rounded_to_significant_digits() {
        let item = Item {
            name: "0002.jpg".into(),
            captured: Some(1.0 / 3.0),
            ..Item::numbered(2, None, Err(crate::error::Error::NotInitialized), 1.0 / 3.0)
        };
        let bbox = BBox::new(13.799999999999997, -0.00001, 1.0 / 3.0, 1e300);
        let evidence = Evidence {
            peak: 2.0 / 3.0,
            psr: 30.123456,
            apce: f32::NAN,
            decision: Some(-0.123456),
            long_term: Some(0.654321),
            identity: Some(-0.5),
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
            r#""long_term":0.6543,"identity":-0.5,"decode_ms":0.333,"track_ms":1.235,"captured":0.3333}"#
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
