//! The boxes of a detector from a file: MOT, COCO, YOLO and JSON lines. Their clip and their frames are found as those of
//! labels.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::clip::{Clip, Label, LabelOptions, Purpose, Wrong, check_names, check_sizes, numbers_of_names, placed};
use super::labels::json;
use super::list::{self, FROM_0};
use super::{coco, yolo};
use crate::media::Info;
use crate::run::Detection;

/// The largest file.
const MAX_MEGABYTES: u64 = 256;

/// Detections by the frame in which they arrive, each list with its own frame. A frame with an empty list was looked at, a
/// frame without one was not.
pub type Detections = BTreeMap<usize, Vec<(usize, Vec<Detection>)>>;

/// A line of JSON: all boxes of a frame, as in a command, or one.
#[derive(Deserialize)]
struct Line {
    frame: usize,
    /// The frame in which the boxes arrive; by default their own.
    comes: Option<usize>,
    boxes: Option<Vec<Detection>>,
    #[serde(flatten)]
    rest: Value,
}

/// Reads a file, or a folder of YOLO texts, and notes on what was left out or decided.
///
/// # Errors
/// What cannot be read or understood for certain.
pub fn read_detections(path: &Path, info: &Info, options: &LabelOptions) -> Wrong<(Detections, Vec<String>)> {
    let mut purpose = Purpose { info: Some(info), options, notes: Vec::new() };
    let found = match path.is_dir() {
        true => in_time(vec![yolo::detections(path)?], &mut purpose),
        false => {
            let text = crate::pipe::read_text_up_to(path, MAX_MEGABYTES).map_err(|error| error.to_string())?;
            parse(text.trim_start_matches('\u{feff}'), &mut purpose)
        }
    };
    let found = found?;
    for (frame, boxes) in found.values().flatten() {
        if let Some(Detection { score, .. }) = boxes.iter().find(|found| !(0.0..=1.0).contains(&found.score)) {
            return Err(format!("a score of frame {frame} is {score}: write scores from 0 to 1"));
        }
    }
    Ok((found, purpose.notes))
}

/// The detections of the source's clip, each in its own frame.
fn in_time(mut clips: Vec<Clip>, purpose: &mut Purpose<'_>) -> Wrong<Detections> {
    for clip in &mut clips {
        // A picture without boxes was looked at.
        clip.boxes.extend((0..clip.pictures.len()).map(|frame| Label { frame, ..Label::default() }));
    }
    let mut found = Detections::new();
    for Label { frame, bbox, score, class, .. } in placed(clips, None, purpose)?.1 {
        let of_frame = found.entry(frame).or_insert_with(|| vec![(frame, Vec::new())]);
        let class = class.map(|class| class.to_string());
        of_frame[0].1.extend(bbox.map(|bbox| Detection { bbox, score, class }));
    }
    Ok(found)
}

fn parse(text: &str, purpose: &mut Purpose<'_>) -> Wrong<Detections> {
    let clips = match text.trim_start().chars().next() {
        Some('{') if !text.contains("\"annotations\"") => {
            let found = json_lines(text, purpose)?;
            let frames = found.values().flatten().map(|(frame, _)| *frame);
            purpose.notes.extend(purpose.info.and_then(|info| numbers_of_names(frames, info)));
            return Ok(found);
        }
        Some('{' | '[') => match &mut json(text)?[..] {
            [document] => coco::detections(document.take(), purpose.info)?,
            documents => return Err(format!("it has {} documents: a file has one", documents.len())),
        },
        Some('<') => return Err("it is XML: boxes of a detector are MOT, COCO, YOLO or JSON lines".into()),
        Some(_) => {
            let clip = list::detections(text, purpose.info, purpose.options)?;
            check_names(clip.boxes.iter().map(|label| label.frame), purpose.info, purpose.options)?;
            vec![clip]
        }
        None => return Err("it is empty".into()),
    };
    in_time(clips, purpose)
}

fn json_lines(text: &str, purpose: &Purpose<'_>) -> Wrong<Detections> {
    let first = purpose.options.base.unwrap_or(1);
    let mut found = Detections::new();
    for (line, number) in text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty()) {
        let wrong = |error: serde_json::Error| {
            format!(
                "line {number} is not {{\"frame\": N, \"boxes\": [{{\"bbox\": [x, y, w, h], \"score\": S}}]}}: {error}"
            )
        };
        let Line { frame, comes, boxes, mut rest } = serde_json::from_str(line).map_err(wrong)?;
        // Fields that any command may have.
        if let Some(rest) = rest.as_object_mut() {
            rest.retain(|name, _| !["do", "tag", "version"].contains(&&**name));
        }
        let boxes = match (boxes, rest.as_object().and_then(|rest| rest.keys().next())) {
            (Some(_), Some(name)) => return Err(format!("line {number}: `{name}` is no field of a list of boxes")),
            (Some(boxes), None) => boxes,
            _ => vec![serde_json::from_value(rest).map_err(wrong)?],
        };
        let [frame, comes] = [frame, comes.unwrap_or(frame)].map(|frame| frame.saturating_add(1) - first);
        if frame.min(comes) == 0 {
            return Err(format!("line {number}: a frame is 0; {FROM_0}"));
        }
        purpose.check(Some(frame)).map_err(|reason| format!("line {number}: {reason}"))?;
        let come = found.entry(comes).or_default();
        match come.iter_mut().find(|(known, _)| *known == frame) {
            Some((_, known)) => known.extend(boxes),
            None => come.push((frame, boxes)),
        }
    }
    let boxes = found.values().flatten().flat_map(|(_, boxes)| boxes).map(|found| found.bbox);
    check_sizes(boxes, purpose.info.and_then(Info::frame_size))?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn images() -> Info {
        let images = ["0003.jpg", "0004.jpg", "0007.jpg"].map(PathBuf::from).to_vec();
        Info { name: "clip".into(), images, length: Some(3), size: Some((200, 100)), ..Info::default() }
    }

    fn read(text: &str, info: &Info) -> Wrong<Detections> {
        parse(text, &mut Purpose { info: Some(info), options: &LabelOptions::default(), notes: Vec::new() })
    }

    fn first(found: &Detections, frame: usize) -> (f64, f64, f64, Option<&str>) {
        let Detection { bbox, score, class } = &found[&frame][0].1[0];
        (bbox.x, bbox.w, *score, class.as_deref())
    }

    #[test]
    fn each_format_gives_the_same_box() {
        let video = Info::default();
        let mot = read("2,-1,11,21,30,40,0.5\n3,-1,11,21,30,40,-1\n", &video).unwrap();
        assert_eq!((first(&mot, 2), first(&mot, 3)), ((10.0, 30.0, 0.5, None), (10.0, 30.0, 1.0, None)));
        let lines = "{\"frame\":2,\"boxes\":[{\"bbox\":[10,20,30,40],\"score\":0.5,\"class\":\"car\"}]}\n\
                     {\"do\":\"detect\",\"frame\":4,\"box\":[10,20,30,40]}\n{\"frame\":5,\"comes\":9,\"boxes\":[]}";
        let lines = read(lines, &video).unwrap();
        assert_eq!((first(&lines, 2), first(&lines, 4).2), ((10.0, 30.0, 0.5, Some("car")), 1.0));
        assert_eq!(lines[&9], [(5, vec![])], "they come late");
        let results = r#"[{"image_id":7,"category_id":1,"bbox":[10,20,30,40],"score":0.5}]"#;
        assert_eq!(first(&read(results, &images()).unwrap(), 3), (10.0, 30.0, 0.5, Some("1")));
        let video = Info { announced_length: Some(7), ..video };
        assert_eq!(first(&read(results, &video).unwrap(), 7), (10.0, 30.0, 0.5, Some("1")));
        let whole = r#"{"images":[{"id":90,"file_name":"a/0004.jpg"},{"id":91,"file_name":"0007.jpg"}],
            "categories":[{"id":1,"name":"car"}],
            "annotations":[{"image_id":90,"category_id":1,"bbox":[10,20,30,40]}]}"#;
        let whole = read(whole, &images()).unwrap();
        assert_eq!(first(&whole, 2), (10.0, 30.0, 1.0, Some("car")));
        assert!(whole[&3][0].1.is_empty(), "a picture without boxes was looked at");
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("0004.txt"), "0 0.125 0.4 0.15 0.4 0.5\n").unwrap();
        std::fs::write(folder.path().join("0007.txt"), "").unwrap();
        std::fs::write(folder.path().join("classes.txt"), "car\n").unwrap();
        let yolo = read_detections(folder.path(), &images(), &LabelOptions::default()).unwrap().0;
        assert_eq!((first(&yolo, 2), yolo[&3][0].1.len()), ((10.0, 30.0, 0.5, Some("car")), 0));
    }

    #[test]
    fn what_is_not_understood_is_refused_with_its_place() {
        for (text, reason) in [
            ("", "empty"),
            ("1,-1,10,20,30\n", "line 1"),
            ("1,-1,10,20,30,40\nx,-1,10,20,30,40", "line 2"),
            ("1.5,-1,10,20,30,40", "line 1"),
            ("{\"frame\":1}", "line 1"),
            ("{\"frame\":1,\"boxes\":[{\"bbox\":[1,2,3]}]}", "line 1"),
            (r#"[{"image_id":9,"bbox":[1,2,3,4]}]"#, "entry 1: image_id 9 is no frame"),
            (r#"[{"image_id":3,"bbox":[1,2,3]}]"#, "annotation 1"),
            (r#"[{"image_id":3,"bbox":[1,2,3,4],"bbox_mode":0}]"#, "bbox_mode 0"),
            (r#"[{"image_id":3,"bbox":[101,52,141,98]}]"#, "as corners"),
            (r#"{"frame":1,"boxes":[{"bbox":[10,52,40,80]},{"bbox":[130,52,150,80]}]}"#, "as corners"),
            ("3,-1,10,20,30,40,0.5", "its frames, as 3,"),
            ("1,-1,10,20,30,40,0\n2,-1,10,20,30,40,1", "those of classes"),
            ("<annotations/>", "XML"),
            (r#"{"frame":1,"format":"xyxy","boxes":[]}"#, "format"),
            ("1,-1,10,52,40,80,0.5\n2,-1,130,52,150,80,0.5", "as corners"),
        ] {
            let error = read(text, &images()).expect_err(text);
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
