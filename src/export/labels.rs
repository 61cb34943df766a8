//! Reads labels: those that the exporters write, and those of other programs in the same formats.
//!
//! The reader of a format gives [`Clip`]s, the boxes as they stand in the file. [`placed`] takes the clip of the source and
//! finds the frame of each box, and this file makes targets. Only a file of this program marks the boxes that a person
//! gave: then these are taken, else all.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;

use serde_json::Value;

use super::clip::{
    Clip, Label, LabelOptions, Purpose, Size, Wrong, check_names, is_same_name, numbers_of_names, placed,
};
use super::document::Document;
use super::list::{self, List};
use super::record::{CLASS, FrameRecord, Given, SourceRecord, TargetRecord};
use super::{coco, cvat, label_studio, yolo};
use crate::bbox::BBox;
use crate::media::annotation::{Base, MAX_ROWS, is_within_reach};
use crate::media::{Info, Span};
use crate::run::MAX_TARGETS;

/// Maximum objects and values of a JSON document, which take 700 and 32 bytes of memory.
const MAX_OBJECTS: usize = 300_000;
const MAX_VALUES: usize = 4_000_000;

/// The refusal of formats of one picture a file.
pub(super) const NO_IDS: &str = "files of labelme, LabelImg and CVAT for images do not say which boxes are one target: \
                                 export CVAT for video 1.1, or write lines id,frame,x,y,w,h";

/// Targets of a file.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    pub targets: Vec<TargetRecord>,
    /// The document that they are from.
    pub document: Option<Box<Document>>,
    /// Notes on what was left out or decided.
    pub notes: Vec<String>,
    /// Width and height of the frames, if the file says them.
    pub size: Option<Size>,
    /// Id and frame of the boxes whose target is covered.
    pub occluded: BTreeSet<(u32, usize)>,
}

impl Labels {
    /// Reads a file, or the folder of a YOLO dataset. `info` are the facts of the source that the labels are for; `size`
    /// is the width and height of its frames, where `info` is unknown.
    ///
    /// # Errors
    /// What cannot be read or understood for certain.
    pub fn read(path: &Path, info: Option<&Info>, size: Option<Size>, options: &LabelOptions) -> Wrong<Self> {
        let of = |clips| Self::of_clips(clips, size, Purpose { info, options, notes: Vec::new() });
        let corners = || match options.corners {
            true => Err("--init-format is for lines id,frame,…: this format says what its numbers are".to_owned()),
            false => Ok(()),
        };
        if path.is_dir() {
            corners()?;
            return of(vec![yolo::read(path)?]);
        }
        let bytes = crate::pipe::read(path).map_err(|error| error.to_string())?;
        let no_text = "it is not text in UTF-8: unpack a zip file, export CSV from a spreadsheet";
        let whole = String::from_utf8(bytes).map_err(|_| no_text)?;
        // A list may begin with an empty cell.
        let untrimmed = whole.trim_start_matches('\u{feff}');
        let text = untrimmed.trim();
        if text.starts_with(['<', '{', '[']) {
            corners()?;
        }
        match text.chars().next() {
            Some('<') => of(cvat::read(text)?),
            Some('{' | '[') => {
                let mut values = json(text)?;
                match values.first() {
                    Some(one) if values.len() == 1 && one.get("schema").is_some() => {
                        Self::of_document(Document::parse(values.remove(0))?, info)
                    }
                    Some(one) if one.get("images").is_some() => match values.len() {
                        1 => of(coco::read(one, false)?),
                        count => Err(format!("it has {count} documents: a file has one")),
                    },
                    Some(one) if one.get("shapes").is_some() => Err(NO_IDS.into()),
                    Some(one) if values.len() == 1 && label_studio::is_of(one) => of(label_studio::read(one)?),
                    _ => of(vec![lines(values)?]),
                }
            }
            _ => match list::read(untrimmed, Base::of_mot_file(path), info, options)? {
                List::Given(targets) => {
                    check_count(&targets)?;
                    let frames = targets.iter().flat_map(|target| &target.given).map(|given| given.frame);
                    let notes = info.and_then(|info| numbers_of_names(frames, info)).into_iter().collect();
                    Ok(Self { targets, notes, ..Self::default() })
                }
                List::Mot(clip) => {
                    // MOT cannot say that it is ours.
                    let tracked = clip.boxes.iter().filter(|label| clip.marked && !label.given).count();
                    let frames = clip.boxes.iter().map(|label| label.frame);
                    if tracked == 0 {
                        check_names(frames, info, options)?;
                    }
                    let mut labels = of(vec![clip])?;
                    let left_out = || format!("{tracked} boxes with a confidence below 1 are left out as tracked");
                    labels.notes.extend((tracked > 0).then(left_out));
                    Ok(labels)
                }
            },
        }
    }

    fn of_document(document: Document, info: Option<&Info>) -> Wrong<Self> {
        let mut notes = Vec::new();
        if let Some(info) = info {
            let (width, height) = info.frame_size().unwrap_or_default();
            let here = SourceRecord::new(document.source.path.clone(), info, Span::default());
            document.check_frames(&SourceRecord { width, height, ..here })?;
            let (own, here) = (&document.source.path, &info.name);
            let is_named = own.contains(char::is_alphanumeric);
            if is_named && !own.split(['/', '\\']).any(|part| is_same_name(part, here)) {
                notes.push(format!("it is of {own}, and the source is {here}"));
            }
        }
        let targets = document.targets.clone();
        Ok(Self { targets, document: Some(Box::new(document)), notes, ..Self::default() })
    }

    fn of_clips(clips: Vec<Clip>, size: Option<Size>, mut purpose: Purpose<'_>) -> Wrong<Self> {
        let (clip, mut boxes) = placed(clips, size, &mut purpose)?;
        purpose.notes.extend(if clip.by_class { apart(&mut boxes) } else { changed_class(&boxes) });
        purpose.notes.extend(followed_on(&boxes).filter(|_| !clip.has_ends && !clip.marked));
        boxes.iter_mut().for_each(|label| label.given &= clip.marked);
        let occluded = boxes.iter().filter(|label| label.occluded).map(|label| (label.id, label.frame)).collect();
        Ok(Self { targets: gather(boxes)?, document: None, notes: purpose.notes, size: clip.size, occluded })
    }
}

/// A note on a target whose class changes.
fn changed_class(boxes: &[Label]) -> Option<String> {
    let mut first = BTreeMap::new();
    let (label, class, other) = boxes.iter().find_map(|label| {
        let class = label.class.as_ref()?;
        let known = *first.entry(label.id).or_insert(class);
        (known != class).then_some((label, known, class))
    })?;
    let (id, frame) = (label.id, label.frame);
    Some(format!("the class of a target is the first: target {id} is {class}, and {other} in frame {frame}"))
}

/// A note on targets whose boxes end before those of others, in a format that does not say where a target is gone.
fn followed_on(boxes: &[Label]) -> Option<String> {
    let last = boxes.iter().map(|label| label.frame).max()?;
    let mut targets = BTreeMap::new();
    for label in boxes {
        let (count, end) = targets.entry(label.id).or_insert((0, 0));
        (*count, *end) = (*count + 1, label.frame.max(*end));
    }
    let ended = targets.values().filter(|(count, end)| *count > 1 && *end < last).count();
    let what = "targets have no box up to the last frame with boxes, and are followed on";
    (ended > 0).then(|| format!("{ended} {what}: the format does not say where one is gone"))
}

/// A note on boxes of a class that may be of two targets, as they lie apart.
fn apart(boxes: &mut [Label]) -> Option<String> {
    boxes.sort_by_key(|label| (label.id, label.frame));
    let is_apart = |pair: &&[Label]| {
        let boxes = pair[0].bbox.zip(pair[1].bbox).filter(|_| pair[0].id == pair[1].id);
        boxes.is_some_and(|(a, b)| a.overlap(&b) == 0.0)
    };
    let (before, after) = boxes.windows(2).find(is_apart).map(|pair| (pair[0].frame, pair[1].frame))?;
    Some(format!(
        "its lines have no ids: boxes of a class are one target, also those of frames {before} and {after}, which lie apart"
    ))
}

/// The targets: of those with marked boxes the marked ones, of others all boxes.
pub(super) fn gather(mut boxes: Vec<Label>) -> Wrong<Vec<TargetRecord>> {
    if boxes.len() > MAX_ROWS {
        return Err(format!("it has {} boxes, of at most {MAX_ROWS}", boxes.len()));
    }
    boxes.sort_by_key(|label| (label.id, label.frame));
    let of_targets = |a: &Label, b: &Label| a.id == b.id;
    // Before they take the memory of targets.
    let at_end = boxes.chunk_by(of_targets).filter(|all| all.last().is_some_and(|last| last.bbox.is_some())).count();
    check_most(at_end)?;
    let target = |all: &mut [Label]| {
        let id = all[0].id;
        let is_marked = all.iter().any(|label| label.given);
        let mut target = TargetRecord { id, ..TargetRecord::default() };
        // A target that somebody has ended is given where it is there again.
        for place in 1..all.len() {
            all[place].given |= all[place - 1].given && all[place - 1].bbox.is_none();
        }
        for label in all.iter().filter(|label| label.given || !is_marked) {
            check_box(id, label.frame, label.bbox)?;
            let given = vec![Given::new(label.frame, label.bbox)];
            // A target that is gone, or has not begun, need not be told so once more.
            if label.bbox.is_some() || target.given.last().is_some_and(|given| given.bbox.is_some()) {
                let class = label.class.as_ref().filter(|class| ***class != *CLASS).map(|class| class.to_string());
                let name = label.name.as_ref().filter(|name| !name.is_empty()).map(|name| name.to_string());
                target.join(TargetRecord { id, class, name, given, ..TargetRecord::default() })?;
            }
        }
        Ok(Some(target).filter(|target| !target.given.is_empty()))
    };
    let targets =
        boxes.chunk_by_mut(of_targets).filter_map(|all| target(all).transpose()).collect::<Wrong<Vec<_>>>()?;
    check_count(&targets)?;
    if targets.is_empty() { Err("there is no box in it".into()) } else { Ok(targets) }
}

/// Refuses boxes that no frame can have.
pub(super) fn check_box(id: u32, frame: usize, bbox: Option<BBox>) -> Wrong<()> {
    match bbox {
        _ if frame == 0 => Err(format!("target {id}, frame 0: frames count from 1")),
        Some(bbox) if !bbox.is_valid() => Err(format!("target {id}, frame {frame}: boxes have a width and a height")),
        Some(bbox) if !is_within_reach(&bbox) => {
            Err(format!("target {id}, frame {frame}: {bbox} is not within a million pixels"))
        }
        _ => Ok(()),
    }
}

/// Refuses more targets at a time than a run may have.
pub(super) fn check_count(targets: &[TargetRecord]) -> Wrong<()> {
    let mut changes: Vec<(usize, i32)> = Vec::new();
    for TargetRecord { given, .. } in targets {
        let before = [false].into_iter().chain(given.iter().map(|given| given.bbox.is_some()));
        for (here, was) in given.iter().zip(before).filter(|(here, was)| here.bbox.is_some() != *was) {
            changes.push((here.frame, if was { -1 } else { 1 }));
        }
    }
    changes.sort_unstable();
    let mut alive = 0;
    let most = changes.iter().map(|(_, change)| {
        alive += change;
        alive
    });
    check_most(most.max().unwrap_or(0) as usize)
}

fn check_most(most: usize) -> Wrong<()> {
    let reason = || {
        let more = "without an end they are followed to the end of the source";
        format!("it has {most} targets at a time, of at most {MAX_TARGETS}: {more}")
    };
    if most > MAX_TARGETS { Err(reason()) } else { Ok(()) }
}

/// The values of a JSON document, or of each line.
pub(super) fn json(text: &str) -> Wrong<Vec<Value>> {
    let count = |of: &[u8]| text.bytes().filter(|byte| of.contains(byte)).count();
    if count(b"{") > MAX_OBJECTS || count(b",[:") > MAX_VALUES {
        return Err(format!("it has more than {MAX_OBJECTS} objects or {MAX_VALUES} values, the most that are read"));
    }
    let values = serde_json::Deserializer::from_str(text).into_iter();
    values.collect::<Result<_, _>>().map_err(|error| match error.is_eof() {
        true => format!("it is cut off in line {}: use an older copy", error.line()),
        false => format!("it is not JSON: {error}"),
    })
}

/// JSON lines of this program.
fn lines(values: Vec<Value>) -> Wrong<Clip> {
    let record = |(value, line): (Value, usize)| {
        let (class, name) = (text(&value["class"]), text(&value["name"]));
        let wrong = || format!("line {line} is neither a frame of this program nor COCO or Label Studio with tracks");
        if value[0].get("image_id").is_some() {
            return Err(wrong() + "; results of a detector are for --detections");
        }
        let record: FrameRecord = serde_json::from_value(value).map_err(|error| format!("{}: {error}", wrong()))?;
        Ok(Label { class, name, ..Label::from(&record) })
    };
    // Rows of the run, of frames without targets and of answers to commands have no box.
    let is_other = |row: &Value| ["schema", "answer"].iter().any(|name| row.get(name).is_some());
    let is_empty = |row: &Value| row.get("index").is_some() && row.get("bbox").is_none() && row.get("state").is_none();
    let rows = values.into_iter().zip(1..).filter(|(row, _)| !is_other(row) && !is_empty(row));
    let boxes = rows.map(record).collect::<Wrong<_>>()?;
    Ok(Clip { boxes, marked: true, ..Clip::default() })
}

/// A whole number, also as a text, or as pandas writes it in a column with gaps (`3.0`).
pub(super) fn number<T: TryFrom<u64>>(value: &Value) -> Option<T> {
    let whole = || value.as_f64().filter(|number| number.fract() == 0.0 && (0.0..1e15).contains(number));
    T::try_from(value.as_u64().or_else(|| value.as_str()?.parse().ok()).or_else(|| Some(whole()? as u64))?).ok()
}

pub(super) fn text(value: &Value) -> Option<Rc<str>> {
    value.as_str().map(Rc::from)
}

/// The ids of tracks: what each says if no two say the same, else its place in the list or the next that is free.
pub(super) fn ids(said: &[Option<u32>]) -> Vec<u32> {
    let used: BTreeSet<u32> = said.iter().flatten().copied().collect();
    let is_clear = used.len() == said.iter().flatten().count();
    let mut free = 0;
    let mut id = |(said, place): (&Option<u32>, u32)| {
        said.filter(|_| is_clear).unwrap_or_else(|| {
            free = place.max(free + 1);
            while is_clear && used.contains(&free) {
                free += 1;
            }
            free
        })
    };
    said.iter().zip(1..).map(&mut id).collect()
}

#[cfg(test)]
mod tests;
