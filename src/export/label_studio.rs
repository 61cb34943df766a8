//! Label Studio annotations.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::clip::{By, Clip, Label, Wrong};
use super::labels::{ids, number, text};
use super::output::{Destination, Output, is_video};
use super::record::rounded;
use super::tracks::{Shape, Track, Tracks, corners, keyframes, upright};
use super::{Exporter, FrameResult, Layout, Run, Summary};
use crate::bbox::BBox;
use crate::error::Result;

/// Frames per second if neither the source nor the times tell: the default of Label Studio's `Video`.
const RATE: f64 = 24.0;

/// Decimals of seconds and rates.
const DIGITS: i32 = 5;

/// Decimals of percentages, which tell pixels to the decimals of a box.
const PLACE_DIGITS: i32 = 7;

/// A Label Studio task: the source as `video` with its rate as `fps`, and as its prediction a `videorectangle` per
/// target. Frames are **1-based**; places and sizes are percentages of the frame, clipped to it. If asked for, `x, y` of a
/// rotated target is its rotated top-left corner and `rotation` the angle about it, in degrees clockwise; if that corner
/// lies beyond the right or bottom border, which Label Studio refuses, the clipped upright box stands in.
/// A keyframe that is not `enabled` is the last one before the target is lost or the run ends; a given box is `given`.
/// The label is the class of the target, its name stands in `meta`. Without a stated rate, the
/// times of the frames give it, or 24 per second.
///
/// It fits a labelling page with `<Video name="video" value="$video" framerate="$fps"/>`, `<VideoRectangle name="box"
/// toName="video"/>` and a label for each class, as in docs/formats.md.
pub struct LabelStudio {
    output: Output,
    tracks: Tracks,
    size: (f64, f64),
    /// Pixels by which interpolated frames may differ.
    tolerance: f64,
}

impl LabelStudio {
    /// Opens the output.
    ///
    /// # Errors
    /// [`Error::Output`](crate::Error::Output) when `to` cannot be written.
    pub fn create(to: &Destination, layout: &Layout) -> Result<Self> {
        let Layout { tolerance, turned, .. } = *layout;
        Ok(Self { output: Output::create(to)?, tracks: Tracks::new(turned), size: (1.0, 1.0), tolerance })
    }

    /// The region of one target in a run of `frames` at `rate` per second.
    fn region(&self, track: &Track, run: &Run, frames: usize, rate: f64) -> Value {
        let shape = |shape: &Shape, goes_on: bool| {
            let (place, rotation) = self.placed(shape);
            let [x, y, width, height] = place.map(|percents| rounded(percents, PLACE_DIGITS));
            json!({
                "frame": shape.index,
                "time": rounded(shape.time.unwrap_or(shape.index.saturating_sub(1) as f64 / rate), DIGITS),
                "enabled": goes_on,
                "rotation": rotation,
                "x": x,
                "y": y,
                "width": width,
                "height": height,
                "given": shape.given,
            })
        };
        let shown = |shape: &Shape| {
            let [left, top, right, bottom] = self.within(shape);
            shape.visible && right > left && bottom > top
        };
        // A shape beyond the border is not shown either.
        let shapes: Vec<_> = track.shapes.iter().map(|shape| Shape { visible: shown(shape), ..*shape }).collect();
        let (width, height) = self.size;
        let value = |shape: &Shape| {
            let ([x, y, w, h], turn) = self.placed(shape);
            [x * width / 100.0, y * height / 100.0, w * width / 100.0, h * height / 100.0, turn]
        };
        let values: Vec<_> = shapes.iter().map(value).collect();
        let keep = keyframes(&shapes, &values, 0.0, self.tolerance);
        let goes_on = |place: usize| shapes.get(place + 1).is_some_and(|next| next.visible);
        let kept = (0..shapes.len()).filter(|&place| keep[place] && shapes[place].visible);
        let sequence: Vec<Value> = kept.map(|place| shape(&shapes[place], goes_on(place))).collect();
        json!({
            "id": format!("target-{}", track.id),
            "type": "videorectangle",
            "from_name": "box",
            "to_name": "video",
            "origin": "prediction",
            "meta": { "text": run.name(Some(track.id)).into_iter().collect::<Vec<_>>() },
            "value": {
                "framesCount": frames,
                "duration": rounded(frames as f64 / rate, DIGITS),
                "sequence": sequence,
                "labels": [run.class(Some(track.id))],
            },
        })
    }

    /// x, y, width and height in percent, and the rotation in degrees.
    fn placed(&self, shape: &Shape) -> ([f64; 4], f64) {
        let (width, height) = self.size;
        let BBox { w, h, .. } = shape.bbox;
        let [(x, y), ..] = corners(&shape.bbox, shape.bbox.center(), shape.turn);
        let turned = [100.0 * x / width, 100.0 * y / height, 100.0 * w / width, 100.0 * h / height];
        if shape.turn != 0.0 && turned.iter().all(|percents| *percents <= 100.0) {
            return (turned, shape.turn);
        }
        let [left, top, right, bottom] = self.within(shape);
        ([left, top, right - left, bottom - top], 0.0)
    }

    /// The upright box, clipped to the frame: left, top, right, bottom in percent.
    fn within(&self, shape: &Shape) -> [f64; 4] {
        let (width, height) = self.size;
        let BBox { x, y, w, h } = upright(shape.bbox, shape.turn);
        [percent(x, width), percent(y, height), percent(x + w, width), percent(y + h, height)]
    }

    /// Frames per second: stated by the source, or given by the last frame with a time.
    fn rate(&self, run: &Run) -> f64 {
        if let Some(rate) = run.source.rate.filter(|rate| rate.is_finite() && *rate > 0.0) {
            return rate;
        }
        let timed =
            self.tracks.all.iter().flat_map(|track| &track.shapes).filter_map(|shape| Some((shape, shape.time?)));
        match timed.max_by_key(|(shape, _)| shape.index) {
            Some((shape, time)) if shape.index > 1 && time > 0.0 => {
                ((shape.index - 1) as f64 / time).max(f64::MIN_POSITIVE)
            }
            _ => RATE,
        }
    }
}

/// A coordinate in percent of a side, clipped to it.
fn percent(at: f64, side: f64) -> f64 {
    (100.0 * at / side).clamp(0.0, 100.0)
}

/// The tasks of a document: a list of them, or one alone.
fn tasks(document: &Value) -> &[Value] {
    document.as_array().map_or(std::slice::from_ref(document), Vec::as_slice)
}

/// The videorectangles of a task in JSON_MIN, which has them beside its data.
fn minimal(task: &Value) -> impl Iterator<Item = &Value> {
    let lists = task.as_object().into_iter().flat_map(|task| task.values()).filter_map(Value::as_array);
    lists.flatten().filter(|value| value["sequence"].is_array())
}

/// Whether a document is one of Label Studio.
pub(super) fn is_of(document: &Value) -> bool {
    let is_task = |task: &Value| task["data"].is_object() || minimal(task).next().is_some();
    tasks(document).iter().any(is_task)
}

/// Reads a clip for each task.
pub(super) fn read(document: &Value) -> Wrong<Vec<Clip>> {
    let clips: Vec<Clip> = tasks(document).iter().map(clip).collect::<Wrong<_>>()?;
    let is_empty = |clip: &Clip| clip.names.is_empty() && clip.boxes.is_empty() && clip.wrong.is_none();
    if clips.iter().all(is_empty) { Err("its tasks have no video".into()) } else { Ok(clips) }
}

fn clip(task: &Value) -> Wrong<Clip> {
    let data = if task["data"].is_object() { &task["data"] } else { task };
    let names = data.as_object().into_iter().flatten().filter_map(|(key, value)| Some((key, value.as_str()?)));
    let names = names.filter(|(key, name)| *key == "video" || is_video(name.as_ref())).map(|(_, name)| name.to_owned());
    let mut clip = Clip { names: names.collect(), by: By::Time, shares: true, has_ends: true, ..Clip::default() };
    if !task["data"].is_object() {
        let regions: Vec<_> = minimal(task).map(|value| (&Value::Null, value)).collect();
        return clip.with(&regions, None).map(|()| clip);
    }
    let result = match annotation(task) {
        Ok(result) => result,
        Err(reason) => return Ok(Clip { wrong: Some(reason), ..clip }),
    };
    let model = result["model_version"].as_str().unwrap_or_default();
    clip.marked = model.starts_with("kcf-track");
    let all = result["result"].as_array().map_or(&[][..], Vec::as_slice);
    let (boxes, others): (Vec<_>, Vec<_>) = all.iter().partition(|region| region["type"] == "videorectangle");
    let regions: Vec<_> = boxes.iter().map(|region| (*region, &region["value"])).collect();
    // What somebody has said of a box has its shape, too.
    let is_shape = |region: &&&Value| {
        let has_shape = ["points", "rle", "sequence"].iter().any(|name| !region["value"][name].is_null());
        has_shape && !boxes.iter().any(|known| !known["id"].is_null() && known["id"] == region["id"])
    };
    clip.polygons = others.iter().filter(is_shape).count();
    // Our own files say the rate of their frames, which may come at various times.
    let rate = task["data"]["fps"].as_f64().filter(|_| clip.marked);
    clip.with(&regions, rate).map(|()| clip)
}

/// The annotation that counts: the only one that was not cancelled, or that is marked as the ground truth; without any, the
/// only prediction.
fn annotation(task: &Value) -> Wrong<&Value> {
    let list = |name: &str| task[name].as_array().map_or(&[][..], Vec::as_slice);
    let mut counting: Vec<&Value> = list("annotations").iter().filter(|one| one["was_cancelled"] != true).collect();
    if counting.len() > 1 && counting.iter().any(|one| one["ground_truth"] == true) {
        counting.retain(|one| one["ground_truth"] == true);
    }
    if list("annotations").is_empty() {
        counting.extend(list("predictions"));
    }
    match counting[..] {
        [one] => Ok(one),
        [] if list("annotations").is_empty() => Err("its task has no submitted annotation".into()),
        [] => Err("the annotation of its task was cancelled".into()),
        _ => {
            let count = counting.len();
            Err(format!("its task has {count} annotations: mark one as the ground truth, or leave the others out"))
        }
    }
}

impl Clip {
    /// Adds regions and their values.
    fn with(&mut self, regions: &[(&Value, &Value)], rate: Option<f64>) -> Wrong<()> {
        let said = |region: &Value| region["id"].as_str()?.strip_prefix("target-")?.parse().ok();
        let known: Vec<_> = regions.iter().map(|(region, _)| said(region)).collect();
        let mut times = Vec::new();
        let frames = |value: &Value| number::<usize>(&value["framesCount"]);
        let videos: BTreeSet<&str> = regions.iter().filter_map(|(region, _)| region["to_name"].as_str()).collect();
        if videos.len() > 1 {
            let names: Vec<&str> = videos.into_iter().collect();
            self.wrong = Some(format!("the regions of its task are of several videos, {}", names.join(", ")));
        }
        for ((region, value), id) in regions.iter().zip(ids(&known)) {
            let (class, name) = (text(&value["labels"][0]), text(&region["meta"]["text"][0]));
            let shapes = value["sequence"].as_array().map_or(&[][..], Vec::as_slice);
            let known: BTreeSet<Option<usize>> = shapes.iter().map(|shape| number(&shape["frame"])).collect();
            for shape in shapes {
                let sides = ["x", "y", "width", "height"].map(|name| shape[name].as_f64());
                let ([Some(x), Some(y), Some(w), Some(h)], Some(frame)) = (sides, number(&shape["frame"])) else {
                    return Err(format!("region {}: a box needs frame, x, y, width and height", region["id"]));
                };
                let label = Label {
                    id,
                    frame,
                    bbox: Some([x, y, w, h].map(|percents| percents / 100.0).into()),
                    turn: shape["rotation"].as_f64().unwrap_or_default(),
                    given: shape["given"] == true,
                    class: class.clone(),
                    name: name.clone(),
                    ..Label::default()
                };
                let next = frame.saturating_add(1);
                let gone = (shape["enabled"] == false).then(|| Label { frame: next, bbox: None, ..label.clone() });
                self.boxes.push(label);
                // A person may have set the next frame, too.
                let is_there = frames(value).is_none_or(|last| next <= last);
                self.boxes.extend(gone.filter(|_| is_there && !known.contains(&Some(next))));
                times.extend(shape["time"].as_f64().map(|time| (frame, time)));
            }
        }
        let first = regions.iter().map(|(_, value)| *value).find(|value| frames(value).is_some());
        self.frames = first.and_then(frames);
        let duration = first.and_then(|value| value["duration"].as_f64());
        let about = self.frames.zip(duration).map(|(frames, duration)| frames as f64 / duration);
        self.rate = rate.or_else(|| rate_of(&times, about)).filter(|rate| rate.is_finite() && *rate > 0.0);
        Ok(())
    }
}

/// The rate of frames with these times, which begin with 0 or with the length of a frame. `about` is their number by the
/// duration, rounded.
fn rate_of(times: &[(usize, f64)], about: Option<f64>) -> Option<f64> {
    let (first, last) = (times.iter().min_by_key(|at| at.0)?, times.iter().max_by_key(|at| at.0)?);
    if last.0 > first.0 && last.1 > first.1 {
        return Some((last.0 - first.0) as f64 / (last.1 - first.1));
    }
    let near = |rate: &f64| (rate - about.unwrap_or(*rate)).abs();
    let rates = [last.0 as f64 / last.1, last.0.saturating_sub(1) as f64 / last.1];
    let exact = rates.into_iter().filter(|rate| rate.is_finite() && *rate > 0.0);
    exact.min_by(|a, b| near(a).total_cmp(&near(b))).or(about)
}

impl Exporter for LabelStudio {
    fn write(&mut self, frame: &FrameResult<'_>) -> Result<()> {
        frame.records.iter().for_each(|record| self.tracks.add(record));
        Ok(())
    }

    fn finish(mut self: Box<Self>, run: &Run, _: &Summary) -> Result<()> {
        self.size = (run.source.width.max(1) as f64, run.source.height.max(1) as f64);
        let tracks = self.tracks.all.iter().filter(|track| !track.shapes.is_empty());
        let (frames, rate) = (self.tracks.last(run), self.rate(run));
        let regions: Vec<Value> = tracks.map(|track| self.region(track, run, frames, rate)).collect();
        let document = json!([{
            "data": { "video": run.source.path, "fps": rounded(rate, DIGITS) },
            "predictions": [{ "model_version": concat!("kcf-track ", env!("CARGO_PKG_VERSION")), "result": regions }],
        }]);
        self.output.finish_json(&document)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::FrameRecord;
    use crate::export::tests::{run, written};
    use crate::tracker::State;

    fn document(records: &[FrameRecord], rate: Option<f64>) -> Value {
        let layout = Layout { tolerance: 0.0, turned: true, with_frames: false };
        let (create, mut run) = (|to: &Destination| LabelStudio::create(to, &layout), run().0);
        run.source.rate = rate;
        serde_json::from_str(&written("run.json", create, (&run, records), &Summary::default())).unwrap()
    }

    fn value(document: &Value) -> &Value {
        &document[0]["predictions"][0]["result"][0]["value"]
    }

    #[test]
    fn a_region_per_target_in_percent() {
        let (_, records) = run();
        let bbox = BBox::new(-8.0, 0.0, 16.0, 1e4);
        let lost = FrameRecord { state: State::Lost, index: 3, ..records[1].clone() };
        let again = FrameRecord { index: 4, bbox, ..records[1].clone() };
        let document = document(&[records[0].clone(), records[1].clone(), lost, again], None);
        assert_eq!((&document[0]["data"]["video"], &document[0]["data"]["fps"]), (&json!("seq/car"), &json!(24.0)));
        let value = value(&document);
        assert_eq!((&value["framesCount"], &value["duration"]), (&json!(4), &json!(0.16667)));
        let shapes = value["sequence"].as_array().unwrap();
        assert_eq!((&shapes[0]["x"], &shapes[0]["time"]), (&json!(15.625), &json!(0.0)));
        // Label Studio refuses places and sizes above 100 percent.
        let place = ["x", "width", "height"].map(|name| shapes[2][name].as_f64().unwrap());
        assert_eq!(place, [0.0, 12.5, 100.0]);
        let life: Vec<_> = shapes.iter().map(|shape| (shape["frame"].as_u64(), shape["enabled"].as_bool())).collect();
        assert_eq!(life, [(Some(1), Some(true)), (Some(2), Some(false)), (Some(4), Some(false))]);
    }

    #[test]
    fn the_rate_is_stated_or_follows_from_the_times() {
        let (_, records) = run();
        // The last of 120 frames at 30 per second.
        let last = FrameRecord { index: 120, time: Some(3.966667), ..records[1].clone() };
        for (stated, rate, duration) in [
            (Some(30.0), 30.0, 4.0),
            (Some(30000.0 / 1001.0), 29.97003, 4.004),
            (None, 30.0, 4.0),
            (Some(0.0), 30.0, 4.0),
            (Some(f64::NAN), 30.0, 4.0),
        ] {
            let document = document(&[records[0].clone(), last.clone()], stated);
            let found = (&document[0]["data"]["fps"], &value(&document)["duration"]);
            assert_eq!(found, (&json!(rate), &json!(duration)), "{stated:?}");
        }
    }

    #[test]
    fn percentages_give_back_the_pixels() {
        for (side, at) in [(704.0, 305.0), (3840.0, 1234.5678)] {
            let share = rounded(percent(at, side), PLACE_DIGITS) / 100.0;
            let mut label = Label { bbox: Some(BBox::new(share, share, share, share)), ..Label::default() };
            label.scale((side as usize, side as usize));
            assert_eq!(label.bbox, Some(BBox::new(at, at, at, at)));
        }
    }

    #[test]
    fn a_rotated_target_turns_about_its_top_left_corner() {
        let (run, records) = run();
        let size = [run.source.width as f64, run.source.height as f64];
        // 20 x 10 pixels, rotated by 30 degrees: within the frame, and across its left and right borders.
        let corners = [23.8397, 10.6699, 41.1603, 20.6699, 36.1603, 29.3301, 18.8397, 19.3301];
        let at = |index: usize, shift: f64| {
            let mut polygon = corners;
            polygon.iter_mut().step_by(2).for_each(|x| *x += shift);
            FrameRecord { index, polygon: Some(polygon), ..records[1].clone() }
        };
        let document = document(&[at(1, 0.0), at(2, -25.0), at(3, 30.0), at(4, 41.0)], None);
        let shapes = value(&document)["sequence"].as_array().unwrap();
        let number = |shape: &Value, name: &str| shape[name].as_f64().unwrap();
        for (shape, shift) in shapes.iter().zip([0.0, -25.0, 30.0]) {
            let [x, w] = ["x", "width"].map(|name| number(shape, name) / 100.0 * size[0]);
            let [y, h] = ["y", "height"].map(|name| number(shape, name) / 100.0 * size[1]);
            assert!((x - corners[0] - shift).abs() < 0.01 && (y - corners[1]).abs() < 0.01, "{shape}");
            assert!((w - 20.0).abs() < 0.01 && (h - 10.0).abs() < 0.01, "{shape}");
            assert!((number(shape, "rotation") - 30.0).abs() < 0.01, "{shape}");
        }
        // The corner lies beyond the right border: the upright box around the ellipse, whose middle is at 71.
        let last = &shapes[3];
        let (right, left) = (number(last, "x") + number(last, "width"), 71.0 - (20.0 * 0.866_025_f64).hypot(5.0) / 2.0);
        assert!((number(last, "x") - left / 0.64).abs() < 0.01 && (right - 100.0).abs() < 1e-3, "{last}");
        assert_eq!(number(last, "rotation"), 0.0);
    }

    #[test]
    fn boxes_outside_of_the_frame_are_left_out() {
        let (_, records) = run();
        let outside = FrameRecord { bbox: BBox::new(-20.0, 3.0, 10.0, 10.0), ..records[1].clone() };
        let unknown = FrameRecord { id: Some(2), bbox: BBox::new(f64::NAN, 3.0, 10.0, 10.0), ..records[1].clone() };
        let document = document(&[records[0].clone(), outside, unknown], None);
        assert_eq!(document[0]["predictions"][0]["result"].as_array().unwrap().len(), 1);
        let shapes = value(&document)["sequence"].as_array().unwrap();
        assert_eq!((shapes.len(), &shapes[0]["enabled"]), (1, &json!(false)));
    }
}
