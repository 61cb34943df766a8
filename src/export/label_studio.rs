//! Boxes as Label Studio has them, for tools that annotate videos.

use serde_json::{Value, json};

use super::output::{Destination, Document};
use super::record::{Shape, Track, Tracks, rounded};
use super::{Export, FrameRecord, FrameView, Run, Summary};
use crate::bbox::BBox;
use crate::error::Result;

/// Frames a second where nothing tells: what Label Studio's `Video` takes.
const RATE: f64 = 24.0;

/// Digits behind the point of a rate that is counted, and of a duration: the times behind it are rounded themselves.
const RATE_DIGITS: i32 = 4;
const DURATION_DIGITS: i32 = 6;

/// A list of one Label Studio task: the source as `video` with its rate as `fps`, and as its prediction a
/// `videorectangle` a target. Frames are **1-based**; places and sizes are percents of the frame's, of what of a box
/// lies within it. A target that has turned is whole: `x, y` is where its upper left corner has come to, about which it
/// has turned by `rotation` degrees clockwise. (One whose corner lies beyond the right or the lower border, which Label
/// Studio refuses, is what of the upright box around it lies within the frame.) A keyframe is drawn in its frame; one
/// that is not `enabled` is the last before the target is lost, beside the frame, or the run at its end. Where the
/// source states no rate it is that of the frames with a time, or 24 a second.
///
/// It fits a labelling page with `<Video name="video" value="$video" framerate="$fps"/>`, `<VideoRectangle name="box"
/// toName="video"/>` and a label `target`, as docs/use.md has it: without a rate Label Studio takes 24. It appears when
/// the run is over; it is kept in memory until then.
#[derive(Debug)]
pub struct LabelStudio {
    document: Document,
    tracks: Tracks,
    source: String,
    size: (usize, usize),
    /// Frames a second, as the source states them.
    stated: Option<f64>,
}

impl LabelStudio {
    /// Checks that `destination` can be written to.
    ///
    /// # Errors
    /// [`Error::Output`](crate::Error::Output), which says why not and what to do.
    pub fn create(destination: &Destination) -> Result<Self> {
        let document = Document::create(destination)?;
        Ok(Self { document, tracks: Tracks::default(), source: String::new(), size: (0, 0), stated: None })
    }

    /// Of a source that states so many frames a second.
    pub fn at_rate(self, rate: Option<f64>) -> Self {
        Self { stated: rate.filter(|rate| rate.is_finite() && *rate > 0.0), ..self }
    }

    /// What became of one target in so many `frames`, at so many of them a second.
    fn region(&self, track: &Track, frames: usize, rate: f64) -> Value {
        let shape = |shape: &Shape, goes_on: bool| {
            let ([x, y, width, height], rotation) = self.placed(shape);
            json!({
                "frame": shape.index,
                "time": shape.time.unwrap_or(shape.index.saturating_sub(1) as f64 / rate),
                "enabled": goes_on,
                "rotation": rotation,
                "x": x,
                "y": y,
                "width": width,
                "height": height,
            })
        };
        let shown = |shape: &Shape| {
            let [left, top, right, bottom] = self.within(shape);
            shape.seen && right > left && bottom > top
        };
        let next = track.shapes.iter().skip(1).map(Some).chain([None]);
        let pairs = track.shapes.iter().zip(next).filter(|(this, _)| shown(this));
        let sequence: Vec<Value> = pairs.map(|(this, next)| shape(this, next.is_some_and(shown))).collect();
        json!({
            "id": format!("target-{}", track.id),
            "type": "videorectangle",
            "from_name": "box",
            "to_name": "video",
            "origin": "prediction",
            "value": {
                "framesCount": frames,
                "duration": rounded(frames as f64 / rate, DURATION_DIGITS),
                "sequence": sequence,
                "labels": ["target"],
            },
        })
    }

    /// Where a target is drawn: x, y, width and height in percents, and by how many degrees it is turned.
    fn placed(&self, shape: &Shape) -> ([f64; 4], f64) {
        let (width, height) = self.sides();
        let BBox { w, h, .. } = shape.bbox;
        let [(x, y), ..] = shape.corners();
        let turned = [100.0 * x / width, 100.0 * y / height, 100.0 * w / width, 100.0 * h / height];
        if shape.turn != 0.0 && turned.iter().all(|percents| *percents <= 100.0) {
            return (turned, shape.turn);
        }
        let [left, top, right, bottom] = self.within(shape);
        ([left, top, right - left, bottom - top], 0.0)
    }

    /// What lies in the frame of the upright box around a target: left, top, right, bottom in percents.
    fn within(&self, shape: &Shape) -> [f64; 4] {
        let (width, height) = self.sides();
        let corners = shape.corners().map(|(x, y)| [x, y]).concat();
        let around = BBox::around_polygon(&corners).filter(|_| shape.turn != 0.0);
        let BBox { x, y, w, h } = around.unwrap_or(shape.bbox);
        [percent(x, width), percent(y, height), percent(x + w, width), percent(y + h, height)]
    }

    fn sides(&self) -> (f64, f64) {
        (self.size.0.max(1) as f64, self.size.1.max(1) as f64)
    }

    /// Frames a second: as the source states them, or from the last one that has a time.
    fn rate(&self) -> f64 {
        if let Some(rate) = self.stated {
            return rate;
        }
        let timed = self.tracks.0.iter().flat_map(|track| &track.shapes).filter_map(|shape| Some((shape, shape.time?)));
        match timed.max_by_key(|(shape, _)| shape.index) {
            Some((shape, time)) if shape.index > 1 && time > 0.0 => {
                rounded((shape.index - 1) as f64 / time, RATE_DIGITS).max(f64::MIN_POSITIVE)
            }
            _ => RATE,
        }
    }
}

/// Where a coordinate lies along a side of the frame, or the end of the side that it lies beyond.
fn percent(at: f64, side: f64) -> f64 {
    (100.0 * at / side).clamp(0.0, 100.0)
}

impl Export for LabelStudio {
    fn begin(&mut self, run: &Run) -> Result<()> {
        self.source.clone_from(&run.source.path);
        self.size = (run.source.width, run.source.height);
        Ok(())
    }

    fn frame(&mut self, record: &FrameRecord, _: &FrameView<'_>) -> Result<()> {
        self.tracks.add(record);
        Ok(())
    }

    fn finish(self: Box<Self>, _: &Summary) -> Result<()> {
        let seen = self.tracks.0.iter().filter(|track| !track.shapes.is_empty());
        let (frames, rate) = (self.tracks.last(), self.rate());
        let regions: Vec<Value> = seen.map(|track| self.region(track, frames, rate)).collect();
        let version = concat!("kcf-track ", env!("CARGO_PKG_VERSION"));
        let document = json!([{
            "data": { "video": self.source, "fps": rate },
            "predictions": [{ "model_version": version, "result": regions }],
        }]);
        self.document.commit_json(&document)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::Tally;
    use crate::export::record::tests::{self, run};
    use crate::tracker::State;

    /// What is written of `records`.
    fn written(run: &Run, records: &[FrameRecord]) -> Value {
        written_at(run, records, None)
    }

    /// The same of a source that states its rate.
    fn written_at(run: &Run, records: &[FrameRecord], rate: Option<f64>) -> Value {
        let create = |to: &Destination| Ok(LabelStudio::create(to)?.at_rate(rate));
        let summary = Tally::default().completed(None);
        serde_json::from_str(&tests::written("run.json", create, (run, records), &summary)).unwrap()
    }

    #[test]
    fn a_region_a_target_in_percents() {
        let (run, records) = run();
        let bbox = BBox::new(-8.0, 0.0, 16.0, 1e4);
        let lost = FrameRecord { state: State::Lost, index: 3, ..records[1].clone() };
        let again = FrameRecord { index: 4, bbox, ..records[1].clone() };
        let document = written(&run, &[records[0].clone(), records[1].clone(), lost, again]);
        assert_eq!(document[0]["data"]["video"], "seq/car");
        let value = &document[0]["predictions"][0]["result"][0]["value"];
        assert_eq!(value["framesCount"], 4);
        let shapes = value["sequence"].as_array().unwrap();
        assert_eq!((&shapes[0]["x"], &shapes[0]["time"]), (&json!(15.625), &json!(0.0)));
        assert_eq!((&value["duration"], &document[0]["data"]["fps"]), (&json!(0.166667), &json!(24.0)));
        // Label Studio refuses places and sizes above 100 percent.
        assert_eq!(
            (&shapes[2]["x"], &shapes[2]["width"], &shapes[2]["height"]),
            (&json!(0.0), &json!(12.5), &json!(100.0))
        );
        // Its timeline draws each keyframe, and goes on behind those that are enabled.
        let life: Vec<_> = shapes.iter().map(|shape| (shape["frame"].as_u64(), shape["enabled"].as_bool())).collect();
        assert_eq!(life, [(Some(1), Some(true)), (Some(2), Some(false)), (Some(4), Some(false))]);
    }

    #[test]
    fn times_are_those_of_the_video_where_it_has_any() {
        let (run, records) = run();
        let at = |index: usize, time: Option<f64>| FrameRecord { index, time, ..records[1].clone() };
        let value = written(&run, &[at(1, Some(0.0)), at(2, Some(0.04)), at(3, None)])[0]["predictions"][0]["result"]
            [0]["value"]
            .clone();
        assert_eq!((&value["duration"], &value["sequence"][2]["time"]), (&json!(3.0 / 25.0), &json!(2.0 / 25.0)));
    }

    #[test]
    fn the_rate_of_a_task_is_the_one_that_the_source_states() {
        let (run, records) = run();
        // The last of 120 frames at 30 a second, its time rounded to a microsecond.
        let last = FrameRecord { index: 120, time: Some(3.966667), ..records[1].clone() };
        let told = |rate| {
            let document = written_at(&run, &[records[0].clone(), last.clone()], rate);
            let value = document[0]["predictions"][0]["result"][0]["value"].clone();
            (document[0]["data"]["fps"].clone(), value["duration"].clone())
        };
        assert_eq!(told(Some(30.0)), (json!(30.0), json!(4.0)));
        assert_eq!(told(Some(30000.0 / 1001.0)), (json!(29.97003), json!(4.004)));
        // A source that states none, or nonsense.
        for rate in [None, Some(0.0), Some(f64::NAN)] {
            assert_eq!(told(rate), (json!(30.0), json!(4.0)));
        }
    }

    #[test]
    fn a_target_that_has_turned_is_turned_about_its_upper_left_corner() {
        let (run, records) = run();
        let (width, height) = (run.source.width as f64, run.source.height as f64);
        // 20 x 10 pixels, turned by 30 degrees: in the frame, over its left border and over its right one.
        let corners = [23.8397, 10.6699, 41.1603, 20.6699, 36.1603, 29.3301, 18.8397, 19.3301];
        let at = |index: usize, aside: f64| {
            let mut polygon = corners;
            polygon.iter_mut().step_by(2).for_each(|x| *x += aside);
            FrameRecord { index, polygon: Some(polygon), ..records[1].clone() }
        };
        let document = written(&run, &[at(1, 0.0), at(2, -25.0), at(3, 30.0), at(4, 41.0)]);
        let shapes = document[0]["predictions"][0]["result"][0]["value"]["sequence"].as_array().unwrap().clone();
        let number = |shape: &Value, name: &str| shape[name].as_f64().unwrap();
        for (shape, aside) in shapes.iter().zip([0.0, -25.0, 30.0]) {
            let (x, y) = (number(shape, "x") / 100.0 * width, number(shape, "y") / 100.0 * height);
            let (w, h) = (number(shape, "width") / 100.0 * width, number(shape, "height") / 100.0 * height);
            let (sin, cos) = number(shape, "rotation").to_radians().sin_cos();
            let turned =
                [(0.0, 0.0), (w, 0.0), (w, h), (0.0, h)].map(|(a, b)| [x + cos * a - sin * b, y + sin * a + cos * b]);
            let polygon = at(1, aside).polygon.unwrap();
            let found = turned.concat();
            assert!(found.iter().zip(polygon).all(|(found, at)| (found - at).abs() < 0.01), "{found:?} {polygon:?}");
        }
        // Its upper left corner lies beyond the right border, where Label Studio has no place for it.
        let last = &shapes[3];
        assert_eq!(number(last, "rotation"), 0.0);
        let found = [number(last, "x"), number(last, "x") + number(last, "width")];
        assert!((found[0] - 59.8397 / 0.64).abs() < 1e-3 && (found[1] - 100.0).abs() < 1e-6, "{last}");
    }

    #[test]
    fn what_lies_beside_the_picture_is_not_drawn() {
        let (run, records) = run();
        let beside = FrameRecord { bbox: BBox::new(-20.0, 3.0, 10.0, 10.0), ..records[1].clone() };
        let nowhere = FrameRecord { id: Some(2), bbox: BBox::new(f64::NAN, 3.0, 10.0, 10.0), ..records[1].clone() };
        let document = written(&run, &[records[0].clone(), beside, nowhere]);
        let regions = document[0]["predictions"][0]["result"].as_array().unwrap();
        assert_eq!(regions.len(), 1);
        let shapes = regions[0]["value"]["sequence"].as_array().unwrap();
        assert_eq!((shapes.len(), &shapes[0]["enabled"]), (1, &json!(false)));
    }
}
