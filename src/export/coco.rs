//! Boxes as COCO has them, for tools that annotate images.

use serde_json::{Value, json};

use super::output::{Destination, Document};
use super::record::{BOX_DIGITS, CONFIDENCE_DIGITS, rounded};
use super::{Export, FrameRecord, FrameView, Run, Summary};
use crate::bbox::BBox;
use crate::error::Result;
use crate::tracker::State;

/// A COCO document: an image a frame, an annotation a target and frame, its box `[x, y, w, h]` with the corner
/// **0-based**. Of a target that has turned `segmentation` is the turned outline, `bbox` the upright box around that
/// and `area` the outline's, as COCO has it. `attributes` hold what COCO has no place for: `track_id`, `state`, `given`
/// (whether a person drew the box), `confidence` and, where the target has turned, the tracker's own `box`, which is
/// that of all other outputs. A target that is lost has no annotation.
///
/// It appears when the run is over; its annotations are kept in memory until then.
#[derive(Debug)]
pub struct Coco {
    document: Document,
    size: (usize, usize),
    images: Vec<Value>,
    annotations: Vec<Value>,
    /// Position of the last image.
    last: Option<usize>,
}

impl Coco {
    /// Checks that `destination` can be written to.
    ///
    /// # Errors
    /// [`Error::Output`](crate::Error::Output), which says why not and what to do.
    pub fn create(destination: &Destination) -> Result<Self> {
        let document = Document::create(destination)?;
        Ok(Self { document, size: (0, 0), images: Vec::new(), annotations: Vec::new(), last: None })
    }
}

/// What a turned rectangle covers.
fn area([ax, ay, bx, by, _, _, dx, dy]: [f64; 8]) -> f64 {
    ((bx - ax) * (dy - ay) - (by - ay) * (dx - ax)).abs()
}

impl Export for Coco {
    fn begin(&mut self, run: &Run) -> Result<()> {
        self.size = (run.source.width, run.source.height);
        Ok(())
    }

    fn frame(&mut self, record: &FrameRecord, _: &FrameView<'_>) -> Result<()> {
        if self.last != Some(record.index) {
            self.last = Some(record.index);
            let (width, height) = self.size;
            let (id, file_name) = (record.index, &record.file);
            self.images.push(json!({ "id": id, "file_name": file_name, "width": width, "height": height }));
        }
        let Some(bbox) = record.finite_box().filter(|_| record.is_visible()) else { return Ok(()) };
        let outline = record.polygon.and_then(|corners| Some((corners, BBox::around_polygon(&corners)?)));
        let around = outline.map_or(bbox, |(_, around)| around);
        let [x, y, w, h] = <[f64; 4]>::from(around).map(|number| rounded(number, BOX_DIGITS));
        let upright = [x, y, x + w, y, x + w, y + h, x, y + h];
        let mut attributes = json!({
            "track_id": record.id.unwrap_or(1),
            "state": record.state,
            "given": record.state == State::Initial,
            "confidence": record.confidence.map(|confidence| rounded(f64::from(confidence), CONFIDENCE_DIGITS)),
        });
        if outline.is_some() {
            attributes["box"] = json!(bbox);
        }
        self.annotations.push(json!({
            "id": self.annotations.len() + 1,
            "image_id": record.index,
            "category_id": 1,
            "bbox": [x, y, w, h],
            "area": outline.map_or(w * h, |(corners, _)| rounded(area(corners), BOX_DIGITS)),
            "segmentation": [outline.map_or(upright, |(corners, _)| corners)],
            "iscrowd": 0,
            "attributes": attributes,
        }));
        Ok(())
    }

    fn finish(self: Box<Self>, _: &Summary) -> Result<()> {
        let document = json!({
            "info": { "description": concat!("kcf-track ", env!("CARGO_PKG_VERSION")) },
            "images": self.images,
            "annotations": self.annotations,
            "categories": [{ "id": 1, "name": "target" }],
        });
        self.document.commit_json(&document)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::Tally;
    use crate::export::record::tests::{self, run};

    /// What is written of `records`.
    fn written(run: &Run, records: &[FrameRecord]) -> Value {
        let summary = Tally::default().completed(None);
        serde_json::from_str(&tests::written("run.json", Coco::create, (run, records), &summary)).unwrap()
    }

    #[test]
    fn an_image_a_frame_and_an_annotation_a_target() {
        let (run, records) = run();
        let of = |record: &FrameRecord, id| FrameRecord { id: Some(id), ..record.clone() };
        let lost = FrameRecord { state: State::Lost, ..of(&records[1], 9) };
        let sure = FrameRecord { confidence: Some(0.9994), ..of(&records[1], 3) };
        let document = written(&run, &[of(&records[0], 3), of(&records[0], 9), sure, lost]);
        assert_eq!(document["images"].as_array().unwrap().len(), 2);
        assert_eq!(document["images"][1], json!({"id": 2, "file_name": "0002.jpg", "width": 64, "height": 48}));
        let annotations = document["annotations"].as_array().unwrap();
        assert_eq!(annotations.len(), 3);
        let third = &annotations[2];
        assert_eq!(
            (&third["id"], &third["image_id"], &third["bbox"]),
            (&json!(3), &json!(2), &json!([-0.5, 21.0, 30.0, 40.25]))
        );
        assert_eq!(third["area"], 30.0 * 40.25);
        assert_eq!(
            third["attributes"],
            json!({"track_id": 3, "state": "tracking", "given": false, "confidence": 0.9994})
        );
        assert_eq!(annotations[0]["attributes"]["given"], true);
    }

    #[test]
    fn the_box_of_a_target_that_has_turned_bounds_its_outline() {
        let (run, records) = run();
        // 20 x 10 pixels around (30, 20), turned by 30 degrees.
        let polygon = [23.8397, 10.6699, 41.1603, 20.6699, 36.1603, 29.3301, 18.8397, 19.3301];
        let bbox = BBox::new(20.9861, 13.3856, 18.0278, 13.2288);
        let document = written(&run, &[FrameRecord { polygon: Some(polygon), bbox, ..records[1].clone() }]);
        let annotation = &document["annotations"][0];
        assert_eq!(annotation["segmentation"], json!([polygon]));
        assert_eq!(annotation["bbox"], json!([18.8397, 10.6699, 22.3206, 18.6602]));
        assert!((annotation["area"].as_f64().unwrap() - 200.0).abs() < 0.01, "{annotation}");
        assert_eq!(annotation["attributes"]["box"], json!(bbox));
    }
}
