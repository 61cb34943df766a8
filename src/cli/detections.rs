//! The boxes of a detector from a file: MOT, COCO, YOLO and JSON lines.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::Failure;
use crate::bbox::BBox;
use crate::export::yolo_detections;
use crate::media::Info;
use crate::media::annotation::{Base, numbers};
use crate::run::Detection;

/// Bytes of the largest file.
const MAX_BYTES: u64 = 256 << 20;

/// Detections by frame. A frame with an empty list was looked at, a frame without one was not.
type ByFrame = BTreeMap<usize, Vec<Detection>>;

/// Detections by the frame in which they arrive, each list with its own frame.
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

/// Reads a file, or a folder of YOLO texts.
///
/// # Errors
/// Wrong usage with the file and the line that is not understood.
pub fn read(path: &Path, info: &Info) -> Result<Detections, Failure> {
    let wrong = |reason: String| Failure::of_file("--detections", path, reason);
    let found = match path.is_dir() {
        true => yolo(path, info).map(in_time),
        false => text_of(path).and_then(|text| parse(text.trim_start_matches('\u{feff}').trim(), info)),
    };
    let found = found.map_err(wrong)?;
    match found.values().flatten().any(|(frame, _)| *frame == 0) {
        true => Err(wrong("a frame is 0, and frames count from 1".into())),
        false => Ok(found),
    }
}

fn in_time(found: ByFrame) -> Detections {
    found.into_iter().map(|(frame, boxes)| (frame, vec![(frame, boxes)])).collect()
}

fn text_of(path: &Path) -> Result<String, String> {
    let (mut text, file) = (String::new(), std::fs::File::open(path).map_err(|error| error.to_string())?);
    file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    match text.len() as u64 > MAX_BYTES {
        true => Err(format!("it is larger than {} MB", MAX_BYTES >> 20)),
        false => Ok(text),
    }
}

fn parse(text: &str, info: &Info) -> Result<Detections, String> {
    match text.chars().next() {
        Some('[') => {
            let list = serde_json::from_str(text).map_err(|error| error.to_string())?;
            coco(&list, &Value::Null, info).map(in_time)
        }
        Some('{') => match serde_json::from_str::<Value>(text) {
            Ok(document) if document["annotations"].is_array() => {
                coco(&document["annotations"], &document, info).map(in_time)
            }
            _ => json_lines(text),
        },
        Some(_) => mot(text).map(in_time),
        None => Err("it is empty".into()),
    }
}

fn json_lines(text: &str) -> Result<Detections, String> {
    let mut found = Detections::new();
    for (line, number) in text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty()) {
        let wrong = |error: serde_json::Error| {
            format!(
                "line {number} is not {{\"frame\": N, \"boxes\": [{{\"bbox\": [x, y, w, h], \"score\": S}}]}}: {error}"
            )
        };
        let Line { frame, comes, boxes, mut rest } = serde_json::from_str(line).map_err(wrong)?;
        let boxes = match boxes {
            Some(boxes) => boxes,
            None => {
                // Fields that any command may have.
                if let Some(rest) = rest.as_object_mut() {
                    rest.retain(|name, _| !["do", "tag", "version"].contains(&&**name));
                }
                vec![serde_json::from_value(rest).map_err(wrong)?]
            }
        };
        let come: &mut Vec<(usize, Vec<Detection>)> = found.entry(comes.unwrap_or(frame)).or_default();
        match come.iter_mut().find(|(known, _)| *known == frame) {
            Some((_, known)) => known.extend(boxes),
            None => come.push((frame, boxes)),
        }
    }
    Ok(found)
}

/// `frame,id,x,y,w,h[,score,…]`, 1-based; a score of -1 is none.
fn mot(text: &str) -> Result<ByFrame, String> {
    let mut found = ByFrame::new();
    for (line, number) in text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty()) {
        let wrong = || format!("line {number}, `{line:.60}`, is not frame,id,x,y,w,h,score in numbers");
        let numbers = numbers(line, |count| (6..=10).contains(&count)).map_err(|_| wrong())?;
        let [frame, _, x, y, w, h, ref rest @ ..] = numbers[..] else { return Err(wrong()) };
        if frame.fract() != 0.0 || !(1.0..1e9).contains(&frame) || rest.len() > 4 {
            return Err(wrong());
        }
        let score = rest.first().copied().filter(|score| *score != -1.0).unwrap_or(1.0);
        let detection = Detection { bbox: Base::One.to_bbox([x, y, w, h]), score, class: None };
        found.entry(frame as usize).or_default().push(detection);
    }
    Ok(found)
}

/// The frame of each picture by its stem, and by the number that ends the stem.
fn frames_of(images: &[PathBuf]) -> (BTreeMap<String, usize>, BTreeMap<u64, usize>) {
    let stem = |image: &PathBuf| image.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let stems: BTreeMap<_, _> = (1..).zip(images).filter_map(|(frame, image)| Some((stem(image)?, frame))).collect();
    let numbers = stems.iter().filter_map(|(stem, frame)| Some((ending_number(stem)?, *frame))).collect();
    (stems, numbers)
}

fn ending_number(stem: &str) -> Option<u64> {
    stem[stem.len() - stem.bytes().rev().take_while(u8::is_ascii_digit).count()..].parse().ok()
}

/// Results or annotations of COCO. The image of a results file is the number in a picture's name, or a video's frame.
fn coco(list: &Value, document: &Value, info: &Info) -> Result<ByFrame, String> {
    let (stems, numbers) = frames_of(&info.images);
    let named = |name: &str| stems.get(&*Path::new(name).file_stem()?.to_string_lossy()).copied();
    let all = |name: &str| document[name].as_array().into_iter().flatten();
    let image = |image: &Value| {
        let frame_id = image["frame_id"].as_u64().and_then(|frame| usize::try_from(frame).ok()?.checked_add(1));
        (image["id"].to_string(), image["file_name"].as_str().and_then(named).or(frame_id))
    };
    let class = |class: &'_ Value| Some((class["id"].to_string(), class["name"].as_str()?.to_owned()));
    let images: BTreeMap<String, Option<usize>> = all("images").map(image).collect();
    let classes: BTreeMap<String, String> = all("categories").filter_map(class).collect();
    let mut found: ByFrame = images.values().flatten().map(|frame| (*frame, Vec::new())).collect();
    for (entry, place) in list.as_array().into_iter().flatten().zip(1..) {
        let id = &entry["image_id"];
        let number = id.as_u64().or_else(|| ending_number(id.as_str()?));
        let frame = match images.get(&id.to_string()) {
            Some(frame) => *frame,
            None if info.images.is_empty() => number.and_then(|number| usize::try_from(number).ok()),
            None => id.as_str().and_then(named).or_else(|| numbers.get(&number?).copied()),
        };
        let frame = frame.ok_or_else(|| format!("entry {place}: image_id {id} is no frame of {}", info.name))?;
        let bbox = serde_json::from_value(entry["bbox"].clone());
        let bbox: BBox = bbox.map_err(|error| format!("entry {place}: its bbox: {error}"))?;
        let category = &entry["category_id"];
        let class = (!category.is_null()).then(|| category.to_string());
        let class = class.map(|class| classes.get(&class).cloned().unwrap_or(class));
        let score = entry["score"].as_f64().unwrap_or(1.0);
        found.entry(frame).or_default().push(Detection { bbox, score, class });
    }
    Ok(found)
}

/// A text a frame, `class x y w h [score]` in shares of the frame's size.
fn yolo(folder: &Path, info: &Info) -> Result<ByFrame, String> {
    let size = info.frame_size().ok_or("its boxes are shares of the frame's size, which is not known")?;
    let (width, height) = (size.0 as f64, size.1 as f64);
    let (stems, _) = frames_of(&info.images);
    let mut found = ByFrame::new();
    for (name, boxes) in yolo_detections(folder)? {
        let stem = name.rsplit(['/', '\\']).next().unwrap_or_default();
        let numbered = || ending_number(stem).and_then(|number| usize::try_from(number).ok());
        let frame = if info.images.is_empty() { numbered() } else { stems.get(stem).copied() };
        let frame = frame.ok_or_else(|| format!("{name}.txt: no frame of {} has this name", info.name))?;
        found.entry(frame).or_default().extend(boxes.into_iter().map(|([x, y, w, h], score, class)| {
            let (w, h) = (w * width, h * height);
            let bbox = BBox::new(x * width - w / 2.0, y * height - h / 2.0, w, h);
            Detection { bbox, score, class: Some(class) }
        }));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn images() -> Info {
        let images = ["0003.jpg", "0004.jpg", "0007.jpg"].map(PathBuf::from).to_vec();
        Info { name: "clip".into(), images, size: Some((200, 100)), ..Info::default() }
    }

    fn first(found: &Detections, frame: usize) -> (f64, f64, f64, Option<&str>) {
        let Detection { bbox, score, class } = &found[&frame][0].1[0];
        (bbox.x, bbox.w, *score, class.as_deref())
    }

    #[test]
    fn each_format_gives_the_same_box() {
        let video = Info::default();
        let mot = parse("2,-1,11,21,30,40,0.5,-1,-1,-1\n3,-1,11,21,30,40,-1\n", &video).unwrap();
        assert_eq!((first(&mot, 2), first(&mot, 3)), ((10.0, 30.0, 0.5, None), (10.0, 30.0, 1.0, None)));
        let lines = "{\"frame\":2,\"boxes\":[{\"bbox\":[10,20,30,40],\"score\":0.5,\"class\":\"car\"}]}\n\
                     {\"do\":\"detect\",\"frame\":4,\"box\":[10,20,30,40]}\n{\"frame\":5,\"comes\":9,\"boxes\":[]}";
        let lines = parse(lines, &video).unwrap();
        assert_eq!((first(&lines, 2), first(&lines, 4).2), ((10.0, 30.0, 0.5, Some("car")), 1.0));
        assert_eq!(lines[&9], [(5, vec![])], "they come late");
        let results = r#"[{"image_id":7,"category_id":1,"bbox":[10,20,30,40],"score":0.5}]"#;
        assert_eq!(first(&parse(results, &images()).unwrap(), 3), (10.0, 30.0, 0.5, Some("1")));
        assert_eq!(first(&parse(results, &video).unwrap(), 7), (10.0, 30.0, 0.5, Some("1")));
        let whole = r#"{"images":[{"id":90,"file_name":"a/0004.jpg"},{"id":91,"file_name":"0007.jpg"}],
            "categories":[{"id":1,"name":"car"}],
            "annotations":[{"image_id":90,"category_id":1,"bbox":[10,20,30,40]}]}"#;
        let whole = parse(whole, &images()).unwrap();
        assert_eq!(first(&whole, 2), (10.0, 30.0, 1.0, Some("car")));
        assert!(whole[&3][0].1.is_empty(), "a picture without boxes was looked at");
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("0004.txt"), "0 0.125 0.4 0.15 0.4 0.5\n").unwrap();
        std::fs::write(folder.path().join("0007.txt"), "").unwrap();
        std::fs::write(folder.path().join("classes.txt"), "car\n").unwrap();
        let yolo = in_time(yolo(folder.path(), &images()).unwrap());
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
            (r#"[{"image_id":9,"bbox":[1,2,3,4]}]"#, "image_id 9 is no frame of clip"),
            (r#"[{"image_id":3,"bbox":[1,2,3]}]"#, "entry 1"),
        ] {
            let error = parse(text, &images()).expect_err(text);
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
