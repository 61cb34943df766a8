//! Boxes as Label Studio has them, for tools that annotate videos.

use serde_json::{Value, json};

use super::document::Document;
use super::tracks::{Shape, Track, Tracks};
use super::{Destination, Export, FrameRecord, FrameView, Run, Summary};
use crate::error::Result;
use crate::geometry::BBox;
use crate::source::Stop;

/// Frames a second where nothing tells: what Label Studio's `Video` takes.
const RATE: f64 = 24.0;

/// A list of one Label Studio task: the source as `video`, and as its prediction a `videorectangle` a target. Frames
/// are **1-based**; places and sizes are percents of the frame's, of what of a box lies within it. A keyframe is
/// drawn in its frame; one that is not `enabled` is the last before the target is lost, beside the frame, or the run at
/// its end. Frames without a time have the rate of those with one, or 24 a
/// second.
///
/// It fits a labelling page with `<Video name="video">`, `<VideoRectangle name="box" toName="video"/>` and a label
/// `target`. It appears when the run is over; it is kept in memory until then.
pub struct LabelStudio {
    document: Document,
    tracks: Tracks,
    source: String,
    size: (usize, usize),
}

impl LabelStudio {
    /// Checks that `destination` can be written to.
    ///
    /// # Errors
    /// [`Error::Output`](crate::Error::Output), which says why not and what to do.
    pub fn create(destination: &Destination) -> Result<Self> {
        let document = Document::create(destination)?;
        Ok(Self { document, tracks: Tracks::default(), source: String::new(), size: (0, 0) })
    }

    /// What became of one target in so many `frames`, at so many of them a second.
    fn region(&self, track: &Track, frames: usize, rate: f64) -> Value {
        let shape = |shape: &Shape, goes_on: bool| {
            let [left, top, right, bottom] = self.within(shape);
            json!({
                "frame": shape.index,
                "time": shape.time.unwrap_or(shape.index.saturating_sub(1) as f64 / rate),
                "enabled": goes_on,
                "rotation": 0,
                "x": left,
                "y": top,
                "width": right - left,
                "height": bottom - top,
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
                "duration": frames as f64 / rate,
                "sequence": sequence,
                "labels": ["target"],
            },
        })
    }

    /// What of a box lies in the frame: left, top, right, bottom in percents.
    fn within(&self, shape: &Shape) -> [f64; 4] {
        let (width, height) = (self.size.0.max(1) as f64, self.size.1.max(1) as f64);
        let BBox { x, y, w, h } = shape.bbox;
        [percent(x, width), percent(y, height), percent(x + w, width), percent(y + h, height)]
    }

    /// Frames a second, from the last one that has a time.
    fn rate(&self) -> f64 {
        let timed = self.tracks.0.iter().flat_map(|track| &track.shapes).filter_map(|shape| Some((shape, shape.time?)));
        match timed.max_by_key(|(shape, _)| shape.index) {
            Some((shape, time)) if shape.index > 1 && time > 0.0 => (shape.index - 1) as f64 / time,
            _ => RATE,
        }
    }
}

/// Where a coordinate lies along a side of the frame, or the end of the side that it lies beyond.
fn percent(at: f64, side: f64) -> f64 {
    (100.0 * at / side).clamp(0.0, 100.0)
}

impl Export for LabelStudio {
    fn heed(&mut self, stop: &Stop) {
        self.document.heed(stop);
    }

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
            "data": { "video": self.source },
            "predictions": [{ "model_version": version, "result": regions }],
        }]);
        self.document.commit_json(&document)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::Tally;
    use crate::export::record::tests::run;
    use crate::tracker::State;

    /// What is written of `records`.
    fn written(run: &Run, records: &[FrameRecord]) -> Value {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        let mut export = Box::new(LabelStudio::create(&path.as_path().into()).unwrap());
        export.begin(run).unwrap();
        for record in records {
            export.frame(record, &FrameView::default()).unwrap();
        }
        export.finish(&Tally::default().completed(None)).unwrap();
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
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
        assert_eq!(value["duration"], json!(0.166666667));
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
