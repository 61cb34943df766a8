//! Reads labels back: those that the exporters write, and those of other programs in the same formats.
//!
//! Labels that say which boxes a person gave give these, and those of COCO and YOLO that were changed since; all others
//! give every box. Each format says it in its own way:
//! JSON by `given` or the state `initial`, MOT by the confidence 1, COCO and CVAT by the attribute `given`, Label Studio
//! by `given` in a sequence, YOLO by the column `given` of [`TRACKS`].

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::document::Document;
use super::record::{FrameRecord, Given, TargetRecord};
use super::yolo::TRACKS;
use crate::bbox::BBox;
use crate::error::Error;
use crate::media::annotation::{Annotations, Base, Entry};
use crate::text::unquoted;
use crate::tracker::State;

/// Width and height.
type Size = (usize, usize);

/// Targets of a file.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    pub targets: Vec<TargetRecord>,
    /// The document that they are from.
    pub document: Option<Box<Document>>,
    /// Width and height of the frames, if COCO or CVAT say them.
    pub size: Option<Size>,
}

/// What is wrong with labels.
pub(super) type Wrong<T> = Result<T, String>;

impl Labels {
    /// Reads a file, or the folder of a YOLO dataset. A text that is none of the formats is given back, as a pipe can be
    /// read only once. `images` are the files of the frames, if they are files: labels that name them are theirs, whatever
    /// their number. `size` is asked for the width and height of the frames where boxes are shares of them.
    ///
    /// # Errors
    /// What cannot be read or understood.
    pub fn read(
        path: &Path,
        images: &[PathBuf],
        size: impl FnOnce() -> Option<(usize, usize)>,
    ) -> Wrong<Result<Self, String>> {
        let sized = |shares: &dyn Fn(f64) -> Wrong<Vec<Found>>| {
            let (width, height) =
                size().ok_or("its boxes are shares of the frame's size: give that size, width and height")?;
            let (width, height) = (width as f64, height as f64);
            let mut targets = gather(shares(width / height)?)?;
            targets.iter_mut().for_each(|target| target.scale(width, height));
            Ok(Ok(Self { targets, ..Self::default() }))
        };
        if path.is_dir() {
            return sized(&|_| yolo(path, images));
        }
        let whole = fs::read_to_string(path).map_err(|error| match error.kind() {
            ErrorKind::InvalidData => "it is not text; unpack a zip file first".into(),
            _ => error.to_string(),
        })?;
        let text = whole.trim_start_matches('\u{feff}').trim();
        let mut frame_size = None;
        let found = match text.chars().next() {
            Some('{' | '[') => {
                let values = serde_json::Deserializer::from_str(text).into_iter();
                let mut values = values.collect::<Result<Vec<Value>, _>>().map_err(|error| not_whole(&error))?;
                match values.first() {
                    Some(one) if values.len() == 1 && one.get("schema").is_some() => {
                        let document = Box::new(Document::parse(values.remove(0))?);
                        let targets = document.targets.clone();
                        return Ok(Ok(Self { targets, document: Some(document), size: None }));
                    }
                    Some(one) if one.get("images").is_some() => {
                        let image = &one["images"][0];
                        frame_size = number(&image["width"]).zip(number(&image["height"]));
                        coco(one, images)
                    }
                    Some(one) if one.pointer("/0/data").is_some() => {
                        return sized(&|aspect| label_studio(&one[0], aspect));
                    }
                    _ => lines(values),
                }
            }
            Some('<') => cvat_xml(text).map(|(found, size)| {
                frame_size = size;
                found
            }),
            _ => match mot(text) {
                Some(found) => found,
                None => return Ok(Err(whole)),
            },
        };
        Ok(Ok(Self { targets: gather(found?)?, document: None, size: frame_size }))
    }
}

pub(super) fn not_whole(error: &serde_json::Error) -> String {
    match error.is_eof() {
        true => format!("it is cut off in line {}: use an older copy", error.line()),
        false => format!("it is not JSON: {error}"),
    }
}

/// One box of a file; no box where the target is gone.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    id: u32,
    frame: usize,
    bbox: Option<BBox>,
    /// Whether the file says that a person gave it.
    given: bool,
    class: Option<String>,
    name: Option<String>,
}

impl From<&FrameRecord> for Found {
    fn from(record: &FrameRecord) -> Self {
        let (id, frame, given) = (record.id.unwrap_or(1), record.index, record.state == State::Initial);
        let bbox = record.finite_box().filter(|_| record.is_visible());
        Self { id, frame, bbox, given, ..Self::default() }
    }
}

/// The targets: of those with marked boxes the marked ones, of others all boxes.
pub(super) fn gather(found: Vec<Found>) -> Wrong<Vec<TargetRecord>> {
    let mut targets: BTreeMap<u32, Vec<Found>> = BTreeMap::new();
    for found in found {
        targets.entry(found.id).or_default().push(found);
    }
    let target = |(id, mut all): (u32, Vec<Found>)| {
        all.sort_by_key(|found| found.frame);
        let is_marked = all.iter().any(|found| found.given);
        let mut target = TargetRecord { id, ..TargetRecord::default() };
        // A target that somebody has ended is given where it is there again.
        for place in 1..all.len() {
            all[place].given |= all[place - 1].given && all[place - 1].bbox.is_none();
        }
        for found in all.into_iter().filter(|found| found.given || !is_marked) {
            if found.bbox.is_some_and(|bbox| !bbox.is_valid()) || found.frame == 0 {
                return Err(format!("target {id}, frame {}: frames count from 1, and boxes have a size", found.frame));
            }
            let given = vec![Given { frame: found.frame, bbox: found.bbox }];
            // A target that is gone, or has not begun, need not be told so once more.
            if found.bbox.is_some() || target.given.last().is_some_and(|given| given.bbox.is_some()) {
                let class = found.class.filter(|class| class != super::record::CLASS);
                let name = found.name.filter(|name| !name.is_empty());
                target.join(TargetRecord { id, class, name, given })?;
            }
        }
        Ok(Some(target).filter(|target| !target.given.is_empty()))
    };
    let targets = targets.into_iter().filter_map(|of| target(of).transpose()).collect::<Wrong<Vec<_>>>()?;
    if targets.is_empty() { Err("there is no box in it".into()) } else { Ok(targets) }
}

fn lines(values: Vec<Value>) -> Wrong<Vec<Found>> {
    let record = |(value, line): (Value, usize)| {
        let record = serde_json::from_value::<FrameRecord>(value);
        record.map(|record| Found::from(&record)).map_err(|error| {
            format!("line {line} is neither a frame of this program nor COCO or Label Studio: {error}")
        })
    };
    // Rows of the run, of frames without targets and of answers to commands have no box.
    let is_other = |row: &Value| ["schema", "answer"].iter().any(|name| row.get(name).is_some());
    let is_empty = |row: &Value| row.get("index").is_some() && row.get("bbox").is_none() && row.get("state").is_none();
    let rows = values.into_iter().zip(1..).filter(|(row, _)| !is_other(row) && !is_empty(row));
    rows.map(record).collect()
}

/// The rows of a MOT file; `None` if the first line is not its nine or ten numbers.
fn mot(text: &str) -> Option<Wrong<Vec<Found>>> {
    let words: Vec<_> = text.lines().next()?.split(',').collect();
    let is_mot = matches!(words.len(), 9 | 10) && words.iter().all(|word| word.trim().parse::<f64>().is_ok());
    let row = |entry: &Entry| {
        let &Entry { frame, target, numbers, confidence } = entry;
        // MOT marks boxes that do not count by 0.
        (confidence != 0.0).then(|| Found {
            id: target,
            frame: frame as usize,
            bbox: Some(Base::One.to_bbox(numbers)),
            given: confidence == 1.0,
            ..Found::default()
        })
    };
    is_mot.then(|| match Annotations::parse(text.as_bytes(), "", Base::One) {
        Ok(rows) => Ok(rows.entries().iter().filter_map(row).collect()),
        Err(Error::Annotation { line, reason, .. }) => Err(format!("line {line}: {reason}")),
        Err(error) => Err(error.to_string()),
    })
}

fn number<T: TryFrom<u64>>(value: &Value) -> Option<T> {
    T::try_from(value.as_u64().or_else(|| value.as_str()?.parse().ok())?).ok()
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(String::from)
}

/// The frames of files by a part of their names.
fn frames_of<'a>(images: &'a [PathBuf], part: fn(&Path) -> Option<&OsStr>) -> BTreeMap<Cow<'a, str>, usize> {
    images.iter().zip(1..).filter_map(|(image, frame)| Some((part(image)?.to_string_lossy(), frame))).collect()
}

/// Pixels, and shares of the frame's size, by which other programs round boxes that nobody has changed.
const WRITTEN_PIXELS: f64 = 0.02;
const WRITTEN_SHARE: f64 = 1e-5;

fn is_near(a: [f64; 4], b: [f64; 4], most: f64) -> bool {
    a.iter().zip(b).all(|(a, b)| (a - b).abs() <= most)
}

/// The ids of tracks: what each says, else its place in the list, else the next that is free.
fn ids(said: &[Option<u32>]) -> Vec<u32> {
    let mut used: BTreeSet<u32> = said.iter().flatten().copied().collect();
    let mut id = |(said, place): (&Option<u32>, u32)| {
        said.unwrap_or_else(|| (place..).find(|&id| used.insert(id)).unwrap_or(place))
    };
    said.iter().zip(1..).map(&mut id).collect()
}

fn coco(document: &Value, images: &[PathBuf]) -> Wrong<Vec<Found>> {
    let named = frames_of(images, Path::file_name);
    let by_name = |image: &Value| {
        let name = Path::new(image["file_name"].as_str()?).file_name()?.to_str()?;
        named.get(name).copied()
    };
    let list = |name: &str| document[name].as_array().ok_or_else(|| format!("COCO without `{name}`"));
    let frame = |image: &Value| {
        let given = number(&image["frame_id"]).map(|frame: usize| frame + 1);
        by_name(image).or(given).or_else(|| number(&image["id"]))
    };
    let frames: BTreeMap<u64, Option<usize>> =
        list("images")?.iter().filter_map(|image| Some((number(&image["id"])?, frame(image)))).collect();
    let classes: BTreeMap<u64, Option<String>> =
        list("categories")?.iter().filter_map(|class| Some((number(&class["id"])?, text(&class["name"])))).collect();
    let annotation = |annotation: &Value| {
        let extra = &annotation["attributes"];
        let id = number(&extra["track_id"]).or(number(&annotation["track_id"]));
        let frame = number(&annotation["image_id"]).and_then(|image: u64| frames.get(&image).copied().flatten());
        let bbox: Option<BBox> = serde_json::from_value(annotation["bbox"].clone()).ok();
        let (Some(id), Some(frame), Some(bbox)) = (id, frame, bbox) else {
            return Err(format!("annotation {}: it needs an image, a bbox and a track_id", annotation["id"]));
        };
        let class = number(&annotation["category_id"]).and_then(|class: u64| classes.get(&class).cloned().flatten());
        let written: Option<[f64; 4]> = serde_json::from_value(extra["written"].clone()).ok();
        let is_changed = written.is_some_and(|written| !is_near(written, bbox.into(), WRITTEN_PIXELS));
        let given = is_changed || extra["given"].as_bool().unwrap_or(false);
        Ok(Found { id, frame, bbox: Some(bbox), given, class, name: text(&extra["name"]) })
    };
    list("annotations")?.iter().map(annotation).collect()
}

/// The boxes, and width and height of the frames.
fn cvat_xml(text: &str) -> Wrong<(Vec<Found>, Option<Size>)> {
    let document = roxmltree::Document::parse(text).map_err(|error| format!("it is not XML of CVAT: {error}"))?;
    // In a file that CVAT has written, a person may have changed any keyframe.
    let by_cvat = document.descendants().any(|node| node.has_tag_name("dumped"));
    let original = document.descendants().find(|node| node.has_tag_name("original_size"));
    let side = |name: &str| {
        let node = original?.children().find(|node| node.has_tag_name(name));
        node?.text()?.trim().parse().ok()
    };
    let mut all = Vec::new();
    let tracks: Vec<_> = document.descendants().filter(|node| node.has_tag_name("track")).collect();
    if tracks.is_empty() && document.descendants().any(|node| node.has_tag_name("image")) {
        return Err("CVAT for images does not say which boxes are one target: export CVAT for video".into());
    }
    // The group if it has one, since CVAT numbers tracks itself.
    let group = |track: &roxmltree::Node<'_, '_>| track.attribute("group_id")?.parse().ok().filter(|&group| group > 0);
    let groups: Vec<_> = tracks.iter().map(group).collect();
    for (track, id) in tracks.iter().zip(ids(&groups)) {
        let class = track.attribute("label").map(String::from);
        for shape in track.children().filter(|node| node.has_tag_name("box")) {
            let number = |name: &str| {
                let number = shape.attribute(name).and_then(|text| text.parse::<f64>().ok());
                number.ok_or_else(|| format!("track {id}: a box without {name}"))
            };
            let extra = |name| {
                let mut extra = shape.children().filter(|node| node.has_tag_name("attribute"));
                extra.find(|node| node.attribute("name") == Some(name)).and_then(|node| node.text())
            };
            if shape.attribute("keyframe") == Some("0") {
                continue;
            }
            let (left, top) = (number("xtl")?, number("ytl")?);
            let bbox = BBox::new(left, top, number("xbr")? - left, number("ybr")? - top);
            let bbox = (shape.attribute("outside") != Some("1")).then_some(bbox);
            let (class, name) = (class.clone(), extra("name").map(String::from));
            let given = !by_cvat && extra("given") == Some("true");
            all.push(Found { id, frame: number("frame")? as usize + 1, bbox, given, class, name });
        }
    }
    Ok((all, side("width").zip(side("height"))))
}

/// The boxes of a task, as shares of frames whose width is `aspect` times their height.
fn label_studio(task: &Value, aspect: f64) -> Wrong<Vec<Found>> {
    let annotations = ["annotations", "predictions"].map(|name| &task[name][0]["result"]);
    let regions = annotations.iter().find_map(|regions| regions.as_array()).ok_or("a task without regions")?;
    let mut all = Vec::new();
    let regions: Vec<_> = regions.iter().filter(|region| region["type"] == "videorectangle").collect();
    let said = |region: &&Value| region["id"].as_str()?.strip_prefix("target-")?.parse().ok();
    let known: Vec<_> = regions.iter().map(said).collect();
    for (region, id) in regions.into_iter().zip(ids(&known)) {
        let value = &region["value"];
        let (class, name) = (text(&value["labels"][0]), text(&region["meta"]["text"][0]));
        let shapes = || value["sequence"].as_array().into_iter().flatten();
        let is_there = |at: usize| shapes().any(|shape| number(&shape["frame"]) == Some(at));
        for shape in shapes() {
            let sides = ["x", "y", "width", "height"].map(|name| shape[name].as_f64());
            let ([Some(x), Some(y), Some(w), Some(h)], Some(frame)) = (sides, number(&shape["frame"])) else {
                return Err(format!("region {}: a box needs frame, x, y, width and height", region["id"]));
            };
            let [x, y, w, h] = [x, y, w, h].map(|percents| percents / 100.0);
            // Turned about x, y; the box is the upright one with the same middle.
            let (sin, cos) = libm::sincos(shape["rotation"].as_f64().unwrap_or_default().to_radians());
            let (dx, dy) = (((cos - 1.0) * w - sin * h / aspect) / 2.0, ((cos - 1.0) * h + sin * w * aspect) / 2.0);
            let bbox = Some(BBox::new(x + dx, y + dy, w, h));
            let given = shape["given"] == true;
            let found = Found { id, frame, bbox, given, class: class.clone(), name: name.clone() };
            let gone = (shape["enabled"] == false).then(|| Found { frame: frame + 1, bbox: None, ..found.clone() });
            all.push(found);
            // A person may have set the next frame, too.
            all.extend(gone.filter(|gone| !is_there(gone.frame) && Some(gone.frame) <= number(&value["framesCount"])));
        }
    }
    Ok(all)
}

/// The names of a `data.yaml` by their numbers: `names: [a, 'b']`, `names: {0: a}`, or below `names:` lines `- a` or
/// `0: a`. A name of another form is left out.
fn yaml_names(text: &str) -> BTreeMap<u32, String> {
    let is_inside = |line: &&str| line.trim().is_empty() || line.starts_with([' ', '\t', '-', '#', ']', '}']);
    let mut lines = text.lines().skip_while(|line| !line.starts_with("names:"));
    let first = lines.next().map_or("", |line| &line["names:".len()..]);
    let in_line = first.trim_start().starts_with(['[', '{']);
    let block: Vec<&str> = std::iter::once(first).chain(lines.take_while(is_inside)).collect();
    let (mut entry, mut quote, mut entries) = (String::new(), None, Vec::new());
    for letter in block.join("\n").chars().chain(['\n']) {
        let begins = entry.trim().is_empty() || entry.trim_end().ends_with([':', '-']);
        match letter {
            '"' | '\'' if quote == Some(letter) => quote = None,
            '"' | '\'' if quote.is_none() && begins => quote = Some(letter),
            _ => {}
        }
        let splits = letter == '\n' || in_line && "[{,}]".contains(letter);
        if splits && quote.is_none() { entries.push(std::mem::take(&mut entry)) } else { entry.push(letter) }
    }
    let entries = entries.iter().map(|entry| entry.trim().trim_start_matches("- ").trim());
    let named =
        entries.filter(|entry| !entry.is_empty() && !entry.starts_with('#')).zip(0..).filter_map(|(entry, place)| {
            let numbered =
                entry.split_once(':').and_then(|(number, name)| Some((number.trim().parse().ok()?, name.trim())));
            let (number, name) = numbered.unwrap_or((place, entry));
            let end = name.rfind(name.chars().next()?)?;
            let name = match name.as_bytes()[0] {
                b'"' => serde_json::from_str(&name[..=end]).ok()?,
                b'\'' => name.get(1..end)?.replace("''", "'"),
                _ => name.split(" #").next()?.trim_end().to_owned(),
            };
            Some((number, name))
        });
    named.collect()
}

/// A line of a file of YOLO's: class, and the middle and size of a box as shares of the frame's size.
#[derive(Clone, Copy, Debug)]
struct Label {
    class: u32,
    sides: [f64; 4],
}

impl Label {
    fn parse(row: &str) -> Option<Self> {
        let mut words = row.split_ascii_whitespace();
        let class = words.next()?.parse().ok()?;
        let numbers: Vec<f64> = words.map_while(|word| word.parse().ok()).collect();
        Some(Self { class, sides: numbers.try_into().ok()? })
    }

    fn is(&self, other: &Self) -> bool {
        self.class == other.class && is_near(self.sides, other.sides, WRITTEN_SHARE)
    }

    fn distance(&self, other: &Self) -> f64 {
        (self.sides[0] - other.sides[0]).hypot(self.sides[1] - other.sides[1])
    }

    fn bbox(&self) -> BBox {
        let [x, y, w, h] = self.sides;
        BBox::new(x - w / 2.0, y - h / 2.0, w, h)
    }
}

/// What [`TRACKS`] says of a file: the label of each target as it was written.
fn tracks(text: &str) -> Wrong<BTreeMap<String, Vec<(Found, Label)>>> {
    let mut tracks: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for row in text.lines().skip(1) {
        let wrong = || format!("{TRACKS}: `{row}` is not file,frame,id,given,label");
        let words: Vec<&str> = row.rsplitn(5, ',').collect();
        let [label, given, id, frame, file] = words[..] else { return Err(wrong()) };
        let numbers = (id.parse(), frame.parse(), Label::parse(label));
        let (Ok(id), Ok(frame), Some(label)) = numbers else { return Err(wrong()) };
        let found = Found { id, frame, given: given == "true", bbox: Some(label.bbox()), ..Found::default() };
        tracks.entry(unquoted(file)).or_default().push((found, label));
    }
    Ok(tracks)
}

/// The files of a folder and of the folders in it, by their order.
fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)?.flatten().map(|entry| entry.path()) {
        match entry.is_dir() {
            true => files.extend(fs::read_dir(&entry)?.flatten().map(|entry| entry.path())),
            false => files.push(entry),
        }
    }
    files.sort();
    Ok(files)
}

/// The boxes of a YOLO dataset. [`TRACKS`] says which target a line is; a line that was changed is a given box of the
/// nearest target of its file, one that was removed ends its target, and an added one is the only target of its class that
/// the file does not have, or a new one. Without it, each class is one target. A file has the name of one of the `images`,
/// or ends with the number of its frame.
fn yolo(folder: &Path, images: &[PathBuf]) -> Wrong<Vec<Found>> {
    let named = frames_of(images, Path::file_stem);
    let read = |name: &str| fs::read_to_string(folder.join(name)).map_err(|error| format!("{name}: {error}"));
    let classes: BTreeMap<u32, String> = match read("classes.txt") {
        Ok(list) => (0..).zip(list.lines().map(String::from)).collect(),
        Err(_) => yaml_names(&read("data.yaml").unwrap_or_default()),
    };
    let mut tracks = tracks(&read(TRACKS).unwrap_or_default())?;
    let targets: BTreeMap<u32, u32> = tracks.values().flatten().map(|(found, label)| (found.id, label.class)).collect();
    let newest = targets.keys().max().copied().unwrap_or(0);
    let mut all = Vec::new();
    for file in files(&folder.join("labels")).map_err(|error| format!("labels: {error}"))? {
        let Some(stem) = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()) else { continue };
        if file.extension().is_none_or(|ending| ending != "txt") {
            continue;
        }
        let text = fs::read_to_string(&file).map_err(|error| format!("labels/{stem}.txt: {error}"))?;
        let mut known = tracks.remove(&stem).unwrap_or_default();
        let here: BTreeSet<u32> = known.iter().map(|(found, _)| found.id).collect();
        let of_known = known.first().map(|(found, _)| found.frame);
        let digits = stem.len() - stem.bytes().rev().take_while(u8::is_ascii_digit).count();
        let frame = of_known.or_else(|| named.get(&*stem).copied()).or_else(|| stem[digits..].parse().ok());
        let mut changed = Vec::new();
        for row in text.lines().filter(|row| !row.trim().is_empty()) {
            let wrong = || format!("labels/{stem}.txt: `{row}` is not class x y w h");
            let (label, frame) = Label::parse(row).zip(frame).ok_or_else(wrong)?;
            let class = classes.get(&label.class).cloned();
            match known.iter().position(|(_, written)| written.is(&label)) {
                Some(place) => all.push(Found { class, ..known.remove(place).0 }),
                None => changed.push((label, Found { frame, class, bbox: Some(label.bbox()), ..Found::default() })),
            }
        }
        for (label, found) in changed {
            let near = |(place, (_, written)): (usize, &(Found, Label))| (label.distance(written), place);
            let near = known.iter().enumerate().map(near).min_by(|a, b| a.0.total_cmp(&b.0));
            let mut absent = targets.iter().filter(|(id, class)| **class == label.class && !here.contains(id));
            let id = match (near, absent.next(), absent.next()) {
                (Some((_, place)), ..) => known.remove(place).0.id,
                (None, Some((&id, _)), None) => id,
                _ => newest.saturating_add(label.class).saturating_add(1),
            };
            all.push(Found { id, given: !targets.is_empty(), ..found });
        }
        all.extend(known.into_iter().map(|(found, _)| Found { bbox: None, given: true, ..found }));
    }
    Ok(all)
}
