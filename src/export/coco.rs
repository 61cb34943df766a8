//! COCO annotations.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

use serde_json::{Map, Value, json};

use super::clip::{By, Clip, Label, Picture, Wrong, check_sizes, numbered};
use super::labels::{number, text};
use super::output::{Destination, Output};
use super::record::{BOX_DIGITS, CONFIDENCE_DIGITS, rounded};
use super::tracks::upright;
use super::{Exporter, FrameRecord, FrameResult, Run, Summary};
use crate::bbox::BBox;
use crate::error::Result;
use crate::media::Info;
use crate::tracker::State;

/// A COCO document: an image per frame that has targets, or per frame where [`Frames`](super::Frames) writes them, and an
/// annotation per target and frame, its box `[x, y, w, h]` with the corner **0-based**. For a rotated target
/// `segmentation` is the rotated outline and `area` its area. `attributes` hold what COCO has no field for: `track_id`,
/// `name`, `state`, `given`, `confidence`, and the bbox as it was `written`. An occluded or lost target has no annotation.
///
/// The frames of a video are not image files, so its images name the video and the 0-based frame in it (`video_id`,
/// `frame_id`, as CocoVID does), and a `file_name` only if [`Frames`](super::Frames) writes them.
pub struct Coco {
    output: Output,
    images: Vec<Value>,
    annotations: Vec<Value>,
    is_video: bool,
    /// Whether the frames are written as pictures too.
    with_frames: bool,
}

impl Coco {
    /// Opens the output. `with_frames` says that the frames are written as pictures too.
    ///
    /// # Errors
    /// [`Error::Output`](crate::Error::Output) when `to` cannot be written.
    pub fn create(to: &Destination, with_frames: bool) -> Result<Self> {
        let (output, images, annotations) = (Output::create(to)?, Vec::new(), Vec::new());
        Ok(Self { output, images, annotations, is_video: false, with_frames })
    }

    fn annotation(&self, run: &Run, record: &FrameRecord) -> Option<Value> {
        let bbox = record.finite_box().filter(|_| record.is_visible())?;
        let outline = record.finite_polygon();
        let [x, y, w, h] = <[f64; 4]>::from(bbox).map(|number| rounded(number, BOX_DIGITS));
        let upright = [x, y, x + w, y, x + w, y + h, x, y + h].map(|number| rounded(number, BOX_DIGITS));
        let mut attributes = json!({
            "track_id": record.id.unwrap_or(1),
            "state": record.state,
            "given": record.state == State::Initial,
            "confidence": record.confidence.map(|confidence| rounded(f64::from(confidence), CONFIDENCE_DIGITS)),
            "written": [x, y, w, h],
        });
        if let Some(name) = run.name(record.id) {
            attributes["name"] = name.into();
        }
        Some(json!({
            "id": self.annotations.len() + 1,
            "image_id": record.index,
            "category_id": 1 + run.class_place(record.id),
            "bbox": [x, y, w, h],
            "area": rounded(outline.map_or(w * h, area), BOX_DIGITS),
            "segmentation": [outline.unwrap_or(upright)],
            "iscrowd": 0,
            "attributes": attributes,
        }))
    }
}

/// The area of a rotated rectangle.
fn area([ax, ay, bx, by, _, _, dx, dy]: [f64; 8]) -> f64 {
    ((bx - ax) * (dy - ay) - (by - ay) * (dx - ax)).abs()
}

/// Pixels by which other programs round boxes that nobody has changed.
const WRITTEN_PIXELS: f64 = 0.02;

/// Reads a clip for each video; of pictures alone one clip. Boxes of a `detector` need no ids and no categories.
pub(super) fn read(document: &Value, detector: bool) -> Wrong<Vec<Clip>> {
    let list = |name: &str| document[name].as_array().ok_or_else(|| format!("COCO without `{name}`"));
    let marked = document["info"]["description"].as_str().is_some_and(|text| text.starts_with("kcf-track"));
    let empty = Clip { by: By::Picture, marked, ..Clip::default() };
    let (mut clips, mut places) = (Vec::<Clip>::new(), BTreeMap::<Option<String>, usize>::new());
    let videos = document["videos"].as_array().map_or(&[][..], Vec::as_slice);
    for video in videos {
        let names = video["name"].as_str().or(video["file_name"].as_str()).map(String::from);
        places.insert(key(&video["id"]), clips.len());
        clips.push(Clip { names: names.into_iter().collect(), ..empty.clone() });
    }
    let mut images = BTreeMap::<u64, (usize, usize)>::new();
    for image in list("images")? {
        let place = *places.entry(key(&image["video_id"])).or_insert(clips.len());
        if place == clips.len() {
            if !videos.is_empty() && !image["video_id"].is_null() {
                return Err(format!("image {}: it has no video {}", image["id"], image["video_id"]));
            }
            clips.push(empty.clone());
        }
        let clip = &mut clips[place];
        let size = number(&image["width"]).zip(number(&image["height"]));
        // Pictures of several sizes belong to several clips.
        clip.size = if clip.pictures.is_empty() { size } else { clip.size.filter(|known| Some(*known) == size) };
        let name = image["file_name"].as_str().map(String::from);
        let id = number(&image["id"]);
        if let Some(id) = id
            && images.insert(id, (place, clip.pictures.len())).is_some()
        {
            return Err(format!("two images have the id {id}"));
        }
        let known = number(&image["frame_id"]).or(number(&image["frame_index"]));
        // Our images are numbered as their frames.
        clip.base = clip.base.or(marked.then(|| usize::from(known.is_none())));
        let own = id.and_then(|id| usize::try_from(id).ok()).filter(|_| marked);
        clip.pictures.push(Picture { name, number: known.or(own), size });
    }
    let class = |class: &Value| Some((number::<u64>(&class["id"])?, text(&class["name"])?));
    let categories = if detector { document["categories"].as_array() } else { Some(list("categories")?) };
    let classes: BTreeMap<u64, Rc<str>> = categories.into_iter().flatten().filter_map(class).collect();
    let annotations = list("annotations")?;
    if let Some(first) = annotations.first().filter(|_| !detector && annotations.iter().all(|one| id_of(one).is_none()))
    {
        return Err(format!("annotation {}: it needs a number as track_id, which says what target it is", first["id"]));
    }
    for annotation in annotations {
        let (clip, label) = label(annotation, &images, &classes, detector)?;
        // Single shapes beside tracks.
        match detector || id_of(annotation).is_some() {
            true => clips[clip].boxes.push(label),
            false => clips[clip].untracked += 1,
        }
    }
    clips.retain(|clip| !clip.pictures.is_empty());
    for clip in &clips {
        check_sizes(clip.boxes.iter().filter_map(|label| label.bbox), clip.size)?;
    }
    if clips.is_empty() { Err("there is no image in it".into()) } else { Ok(clips) }
}

/// The id of a video: a number, the same as a text, or a name.
fn key(id: &Value) -> Option<String> {
    let text_of = |id: &Value| number::<u64>(id).map_or_else(|| id.to_string(), |id| id.to_string());
    (!id.is_null()).then(|| text_of(id))
}

/// The score of a detection; 1 without one.
fn score(annotation: &Value) -> Wrong<f64> {
    match (&annotation["score"], ["confidence", "conf"].iter().find(|name| !annotation[name].is_null())) {
        (Value::Null, None) => Ok(1.0),
        (Value::Null, Some(name)) => Err(format!("annotation {}: `{name}` must be `score`", annotation["id"])),
        (score, _) => {
            score.as_f64().ok_or_else(|| format!("annotation {}: the score {score} is no number", annotation["id"]))
        }
    }
}

/// The target of an annotation.
fn id_of(annotation: &Value) -> Option<u32> {
    let ids = [&annotation["attributes"]["track_id"], &annotation["track_id"], &annotation["instance_id"]];
    ids.into_iter().find_map(number)
}

/// An annotation, and the clip of its image. `images` are clips and pictures by the ids of images.
fn label(
    annotation: &Value,
    images: &BTreeMap<u64, (usize, usize)>,
    classes: &BTreeMap<u64, Rc<str>>,
    detector: bool,
) -> Wrong<(usize, Label)> {
    let extra = &annotation["attributes"];
    let place = number(&annotation["image_id"]).and_then(|image: u64| images.get(&image).copied());
    let bbox: Option<BBox> = serde_json::from_value(annotation["bbox"].clone()).ok();
    let Some(((clip, frame), bbox)) = place.zip(bbox) else {
        return Err(format!("annotation {}: it needs an image and a bbox", annotation["id"]));
    };
    // Detectron2 counts its layouts of boxes; 1 is x,y,w,h.
    let layout = &annotation["bbox_mode"];
    if !layout.is_null() && *layout != 1 {
        return Err(format!("annotation {}: with bbox_mode {layout} its box is not x,y,w,h", annotation["id"]));
    }
    let written: Option<[f64; 4]> = serde_json::from_value(extra["written"].clone()).ok();
    let is_same =
        |written: [f64; 4]| written.iter().zip(<[f64; 4]>::from(bbox)).all(|(a, b)| (a - b).abs() <= WRITTEN_PIXELS);
    let category = &annotation["category_id"];
    let known = number(category).and_then(|class: u64| classes.get(&class).cloned());
    let score = if detector { score(annotation)? } else { 1.0 };
    let label = Label {
        id: id_of(annotation).unwrap_or(1),
        frame,
        // CVAT's boxes are not turned yet.
        bbox: Some(extra["rotation"].as_f64().map_or(bbox, |turn| upright(bbox, turn))),
        given: written.is_some_and(|written| !is_same(written)) || extra["given"].as_bool().unwrap_or(false),
        occluded: extra["occluded"] == true,
        score,
        class: known.or_else(|| Some(category.to_string().into()).filter(|_| detector && !category.is_null())),
        name: text(&extra["name"]),
        ..Label::default()
    };
    Ok((clip, label))
}

/// Reads detections: a document, or results, which name their picture or frame.
pub(super) fn detections(mut document: Value, info: Option<&Info>) -> Wrong<Vec<Clip>> {
    if document.is_array() {
        document = Map::from_iter([("annotations".to_owned(), document)]).into();
    }
    if !document["images"].is_array() {
        let files = info.map_or(&[][..], |info| &info.images);
        let (width, height) = info.and_then(Info::frame_size).unzip();
        let name = |file: &PathBuf| Some(file.file_name()?.to_string_lossy().into_owned());
        let names = || files.iter().filter_map(name);
        let numbers: BTreeMap<usize, String> = names().filter_map(|name| Some((numbered(&name)?.1, name))).collect();
        // Ids that may be the numbers in names or count from 0.
        let count_on = [0, 1].iter().any(|first| numbers.keys().copied().eq(*first..first + files.len()));
        let (mut images, mut places) = (Vec::new(), BTreeMap::new());
        for (entry, place) in document["annotations"].as_array_mut().into_iter().flatten().zip(1..) {
            let id = entry.get_mut("image_id").map_or(Value::Null, Value::take);
            let wrong = || format!("entry {place}: image_id {id} is no frame of the source");
            let name = match (number::<usize>(&id), id.as_str()) {
                (Some(_), _) if files.is_empty() || count_on => None,
                (Some(number), _) => Some(&**numbers.get(&number).ok_or_else(wrong)?),
                (None, name) => Some(name.ok_or_else(wrong)?),
            };
            if entry["id"].is_null() {
                entry["id"] = place.into();
            }
            entry["image_id"] = (*places.entry(id.to_string()).or_insert_with(|| {
                let image = images.len();
                images.push(json!({
                    "id": image, "frame_id": id, "file_name": name, "width": width, "height": height
                }));
                image
            }))
            .into();
        }
        document["images"] = images.into();
    }
    read(&document, true)
}

impl Exporter for Coco {
    fn write(&mut self, frame: &FrameResult<'_>) -> Result<()> {
        // An image without a picture of its own is listed only for its boxes.
        if frame.records.is_empty() && !self.with_frames {
            return Ok(());
        }
        let source = &frame.run.source;
        let mut image = json!({ "id": frame.head.index, "width": source.width, "height": source.height });
        self.is_video = frame.path.is_none();
        if self.is_video {
            image["video_id"] = 1.into();
            image["frame_id"] = frame.head.index.saturating_sub(1).into();
        }
        if self.with_frames || !self.is_video {
            image["file_name"] = frame.picture_name().into();
        }
        self.images.push(image);
        for record in frame.records {
            let annotation = self.annotation(frame.run, record);
            self.annotations.extend(annotation);
        }
        Ok(())
    }

    fn finish(self: Box<Self>, run: &Run, _: &Summary) -> Result<()> {
        let category = |(id, class): (usize, &str)| json!({ "id": id, "name": class });
        let categories: Vec<_> = (1..).zip(run.classes()).map(category).collect();
        let mut document = json!({
            "info": { "description": concat!("kcf-track ", env!("CARGO_PKG_VERSION")) },
            "images": self.images,
            "annotations": self.annotations,
            "categories": categories,
        });
        if self.is_video {
            document["videos"] = json!([{ "id": 1, "name": run.source.path }]);
        }
        self.output.finish_json(&document)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::tests::{run, written};

    fn document(records: &[FrameRecord]) -> Value {
        let create = |to: &Destination| Coco::create(to, false);
        serde_json::from_str(&written("run.json", create, (&run().0, records), &Summary::default())).unwrap()
    }

    #[test]
    fn an_image_per_frame_and_an_annotation_per_visible_target() {
        let (_, records) = run();
        let of = |record: &FrameRecord, id| FrameRecord { id: Some(id), ..record.clone() };
        let lost = FrameRecord { state: State::Lost, ..of(&records[1], 9) };
        let records = [of(&records[0], 3), of(&records[0], 9), of(&records[1], 3), lost];
        let document = document(&records);
        assert_eq!(document["images"].as_array().unwrap().len(), 2);
        assert_eq!(document["images"][1], json!({"id": 2, "file_name": "0002.jpg", "width": 64, "height": 48}));
        assert_eq!(document.get("videos"), None);
        let annotations = document["annotations"].as_array().unwrap();
        assert_eq!(annotations.len(), 3);
        let third = &annotations[2];
        assert_eq!(
            (&third["id"], &third["image_id"], &third["bbox"], &third["area"]),
            (&json!(3), &json!(2), &json!([-0.5, 21.0, 30.0, 40.25]), &json!(30.0 * 40.25))
        );
        let written = &third["bbox"];
        let attributes =
            json!({"track_id": 3, "state": "tracking", "given": false, "confidence": 0.75, "written": written});
        assert_eq!((&third["attributes"], &annotations[0]["attributes"]["given"]), (&attributes, &json!(true)));
    }

    #[test]
    fn images_of_a_video_name_no_files() {
        let records = run().1.into_iter().map(|record| FrameRecord { file: format!("{:06}", record.index), ..record });
        let document = document(&records.collect::<Vec<_>>());
        assert_eq!(document["images"][1], json!({"id": 2, "video_id": 1, "frame_id": 1, "width": 64, "height": 48}));
        assert_eq!(document["videos"], json!([{"id": 1, "name": "seq/car"}]));
    }

    #[test]
    fn a_rotated_target_has_its_outline_and_the_upright_box() {
        // 20 x 10 pixels around (30, 20), rotated by 30 degrees.
        let polygon = [23.8397, 10.6699, 41.1603, 20.6699, 36.1603, 29.3301, 18.8397, 19.3301];
        let bbox = BBox::new(20.9861, 13.3856, 18.0278, 13.2288);
        let document = document(&[FrameRecord { polygon: Some(polygon), bbox, ..run().1[1].clone() }]);
        let annotation = &document["annotations"][0];
        assert_eq!(annotation["segmentation"], json!([polygon]));
        assert_eq!(annotation["bbox"], json!(bbox));
        assert!((annotation["area"].as_f64().unwrap() - 200.0).abs() < 0.01, "{annotation}");
    }
}
