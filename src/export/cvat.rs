//! Boxes as CVAT has them, for tools that annotate videos.

use serde_json::{Value, json};

use super::document::Document;
use super::tracks::{Track, Tracks};
use super::{Destination, Export, FrameRecord, FrameView, Summary};
use crate::error::Result;

/// A document as CVAT's interface takes it (`PUT /api/tasks/ID/annotations`, `annotations.json` of a task's backup): a
/// track a target, a rectangle `[left, top, right, bottom]` a frame, frames **0-based**, corners 0-based. Boxes that a
/// person drew are `manual`, all others `auto`; a target that is lost is `outside`. Every track has the label `target`.
///
/// It appears when the run is over; it is kept in memory until then.
pub struct Cvat {
    document: Document,
    tracks: Tracks,
}

impl Cvat {
    /// Checks that `destination` can be written to.
    ///
    /// # Errors
    /// [`Error::Output`](crate::Error::Output), which says why not and what to do.
    pub fn create(destination: &Destination) -> Result<Self> {
        Ok(Self { document: Document::create(destination)?, tracks: Tracks::default() })
    }
}

fn track(track: &Track) -> Value {
    let source = |given: bool| if given { "manual" } else { "auto" };
    let shape = |shape: &super::tracks::Shape| {
        let [x, y, w, h] = <[f64; 4]>::from(shape.bbox);
        json!({
            "type": "rectangle",
            "frame": shape.index - 1,
            "points": [x, y, x + w, y + h],
            "rotation": 0.0,
            "occluded": false,
            "outside": !shape.seen,
            "z_order": 0,
            "attributes": [],
            "source": source(shape.given),
        })
    };
    let shapes: Vec<Value> = track.shapes.iter().map(shape).collect();
    let frame = track.shapes.first().map_or(0, |shape| shape.index - 1);
    json!({
        "frame": frame,
        "label": "target",
        "group": track.id,
        "source": "auto",
        "attributes": [],
        "shapes": shapes,
    })
}

impl Export for Cvat {
    fn frame(&mut self, record: &FrameRecord, _: &FrameView<'_>) -> Result<()> {
        self.tracks.add(record);
        Ok(())
    }

    fn finish(self: Box<Self>, _: &Summary) -> Result<()> {
        let tracks: Vec<Value> = self.tracks.0.iter().map(track).collect();
        let document = json!({ "version": 0, "tags": [], "shapes": [], "tracks": tracks });
        self.document.commit_json(&document)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::Tally;
    use crate::export::record::tests::run;
    use crate::tracker::State;

    #[test]
    fn a_track_a_target() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        let (_, records) = run();
        let mut cvat = Box::new(Cvat::create(&path.as_path().into()).unwrap());
        let lost = FrameRecord { state: State::Lost, id: Some(9), ..records[1].clone() };
        for record in [&records[0], &records[1], &lost] {
            cvat.frame(record, &FrameView::default()).unwrap();
        }
        cvat.finish(&Tally::default().completed(None)).unwrap();
        let document: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let tracks = document["tracks"].as_array().unwrap();
        assert_eq!((tracks.len(), &tracks[1]["frame"], &tracks[1]["group"]), (2, &json!(1), &json!(9)));
        let shapes = tracks[0]["shapes"].as_array().unwrap();
        assert_eq!(shapes.len(), 2);
        assert_eq!((&shapes[0]["source"], &shapes[1]["source"]), (&json!("manual"), &json!("auto")));
        assert_eq!(shapes[1]["points"], json!([-0.5, 21.0, 29.5, 61.25]));
        assert_eq!((&shapes[1]["outside"], &tracks[1]["shapes"][0]["outside"]), (&json!(false), &json!(true)));
    }
}
