//! The labels of one clip as a file has them, and where they belong: the clip of the source, and the frame of each box.
//!
//! What a file does not say for certain is an error that says what to pass.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::FrameRecord;
use super::document::other_size;
use super::output::VIDEOS;
use super::record::{BOX_DIGITS, rounded};
use crate::bbox::{BBox, Turned};
use crate::media::{Info, has_extension, is_image, number_of_another};
use crate::tracker::State;

/// Width and height.
pub(super) type Size = (usize, usize);

/// The defect of labels.
pub(super) type Wrong<T> = Result<T, String>;

/// The highest position of a frame where the source does not tell its last.
const MAX_FRAME: usize = 1_000_000_000;

/// Relative difference of two rates that are the same, rounded.
const SAME_RATE: f64 = 5e-4;

/// Endings of videos that are read only.
const OTHER_VIDEOS: [&str; 15] =
    ["3gp", "asf", "flv", "h264", "m2ts", "mjpeg", "mpeg", "mpg", "mts", "mxf", "ogv", "ts", "vob", "wmv", "y4m"];

/// Words in the names of folders that hold the pictures of any clip.
const COMMON: &str = ",data,default,frame,frames,image,images,img,imgs,jpegimages,obj,test,train,val,valid,validation";

/// Words before the numbers of frames that name no clip, as tools write them.
const GENERIC: &str = "color,extracted,out,output,rgb,scene,screenshot,snapshot,thumb,vlcsnap";

/// What Roboflow puts behind the name of a picture, before a checksum.
const ROBOFLOW: &str = ".rf.";

/// Names in an error.
const SHOWN: usize = 8;

/// Facts about labels that a user states.
#[derive(Clone, Debug, Default)]
pub struct LabelOptions {
    /// The clip, task or folder whose labels are read.
    pub clip: Option<String>,
    /// The number of the first frame, 0 or 1.
    pub base: Option<usize>,
    /// The numbers of lines `id,frame,…` are left, top, right and bottom.
    pub corners: bool,
}

/// The source that labels are read for, and the notes on them.
pub(super) struct Purpose<'a> {
    pub info: Option<&'a Info>,
    pub options: &'a LabelOptions,
    /// Notes on what was left out or decided.
    pub notes: Vec<String>,
}

impl Purpose<'_> {
    /// The number of frames, exact or expected.
    pub fn frames(&self) -> Option<usize> {
        self.info.and_then(Info::likely_length)
    }

    /// The highest frame that a box may have.
    fn last(&self) -> usize {
        let expected = self.frames().map_or(MAX_FRAME, |frames| frames + tolerance(frames));
        self.info.and_then(|info| info.length).unwrap_or(expected)
    }

    /// Refuses the highest frame of boxes if the source does not have it.
    pub fn check(&self, highest: Option<usize>) -> Wrong<()> {
        match highest.filter(|frame| *frame > self.last()) {
            Some(frame) => Err(format!("a box is of frame {frame}, and the last frame is {}", self.shown_last())),
            None => Ok(()),
        }
    }

    /// The number of the last frame, for a message.
    fn shown_last(&self) -> String {
        let about = self.frames().filter(|frames| *frames < self.last()).map(|frames| format!("about {frames}"));
        about.unwrap_or_else(|| self.last().to_string())
    }

    /// The name of the clip whose labels are read.
    fn name(&self) -> &str {
        self.options.clip.as_deref().or(self.info.map(|info| &*info.name)).unwrap_or_default()
    }
}

/// Frames by which an expected number of frames may be wrong.
fn tolerance(frames: usize) -> usize {
    2 + frames / 50
}

/// How the frames of boxes are known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum By {
    /// By their positions, from 1.
    #[default]
    Position,
    /// By their positions among frames at the rate of the clip.
    Time,
    /// By the places of their pictures in the clip's list.
    Picture,
}

/// A picture that labels name: its file, or its number among the frames.
#[derive(Clone, Debug)]
pub(super) struct Picture {
    pub name: Option<String>,
    pub number: Option<usize>,
    pub size: Option<Size>,
}

/// The labels of one clip, as a file has them.
#[derive(Clone, Debug, Default)]
pub(super) struct Clip {
    /// The names of the clip, or of its task.
    pub names: Vec<String>,
    pub size: Option<Size>,
    /// Its number of frames.
    pub frames: Option<usize>,
    /// The last frame that the labels know of.
    pub last: Option<usize>,
    /// Frames per second, as they are counted here.
    pub rate: Option<f64>,
    pub by: By,
    pub pictures: Vec<Picture>,
    /// The number of the first frame in [`Picture::number`], if it is known.
    pub base: Option<usize>,
    pub boxes: Vec<Label>,
    /// Boxes are shares of the frame's size.
    pub shares: bool,
    /// Its frames are pictures in the order of their names as text, 10 before 2.
    pub by_text: bool,
    /// Boxes have no ids, and those of a class are one target.
    pub by_class: bool,
    /// The format says where a target is gone.
    pub has_ends: bool,
    /// This program has written the file, and its marks of given boxes count.
    pub marked: bool,
    /// Polygons and masks.
    pub polygons: usize,
    /// Boxes without an id among others that have one.
    pub untracked: usize,
    /// Files of labels in other folders.
    pub unread: usize,
    /// Boxes of MOT that do not count.
    pub ignored: usize,
    /// Why the clip cannot be read.
    pub wrong: Option<String>,
}

/// One box; no box where the target is gone.
#[derive(Clone, Debug, Default)]
pub(super) struct Label {
    pub id: u32,
    /// The frame, known as [`Clip::by`] says.
    pub frame: usize,
    pub bbox: Option<BBox>,
    /// Degrees by which the box is turned about its top-left corner.
    pub turn: f64,
    /// How sure a detector is.
    pub score: f64,
    /// Whether a person gave the box.
    pub given: bool,
    /// Whether the target is covered.
    pub occluded: bool,
    pub class: Option<Rc<str>>,
    pub name: Option<Rc<str>>,
}

impl From<&FrameRecord> for Label {
    fn from(record: &FrameRecord) -> Self {
        let (id, frame, given) = (record.id.unwrap_or(1), record.index, record.state == State::Initial);
        let bbox = record.finite_box().filter(|_| record.is_there());
        Self { id, frame, bbox, given, occluded: record.state == State::Occluded, ..Self::default() }
    }
}

/// The clip of the source, and its boxes in pixels and by frame.
pub(super) fn placed(clips: Vec<Clip>, size: Option<Size>, purpose: &mut Purpose<'_>) -> Wrong<(Clip, Vec<Label>)> {
    let mut clip = choose(clips, purpose)?;
    if let Some(reason) = clip.wrong {
        return Err(reason);
    }
    let says_size = clip.shares || clip.size.is_some() || clip.pictures.iter().any(|picture| picture.size.is_some());
    let size = size.or_else(|| purpose.info.filter(|_| says_size)?.frame_size());
    if let Some(reason) = clip.size.zip(size).and_then(|(own, here)| other_size(own, here)) {
        return Err(reason);
    }
    let unread = (clip.unread, "files of labels outside of the folder of labels");
    let ignored = (clip.ignored, "boxes with the confidence 0");
    let untracked = (clip.untracked, "boxes without an id");
    for (count, what) in [(clip.polygons, "polygons or masks"), untracked, ignored, unread] {
        if count > 0 {
            purpose.notes.push(format!("{count} {what} are left out"));
        }
    }
    let mut boxes = std::mem::take(&mut clip.boxes);
    clip.place(&mut boxes, size, purpose)?;
    if boxes.is_empty() && clip.polygons > 0 {
        return Err(format!("there is no box in it, but {} polygons or masks", clip.polygons));
    }
    if boxes.is_empty() && clip.ignored > 0 {
        return Err("all its boxes have the confidence 0, with which MOT marks what does not count".into());
    }
    if clip.shares {
        let size = size.ok_or("its boxes are shares of the frame's size: give that size, width and height")?;
        boxes.iter_mut().for_each(|label| label.scale(size));
    }
    Ok((clip, boxes))
}

impl Label {
    /// Pixels of shares of the frame's size; rounding restores the boxes that we wrote. A turned box becomes the upright
    /// one around its ellipse.
    pub fn scale(&mut self, (width, height): Size) {
        let Some(BBox { x, y, w, h }) = self.bbox else { return };
        let [x, y, w, h] = [x * width as f64, y * height as f64, w * width as f64, h * height as f64];
        let (sin, cos) = libm::sincos(self.turn.to_radians());
        let middle = (x + (cos * w - sin * h) / 2.0, y + (cos * h + sin * w) / 2.0);
        let around = Turned { center: middle, size: (w, h), angle: self.turn.to_radians() }.bbox();
        self.bbox = Some(<[f64; 4]>::from(around).map(|pixels| rounded(pixels, BOX_DIGITS)).into());
    }
}

/// A name without the ending of a video or a picture.
fn without_ending(name: &str) -> &str {
    let path = Path::new(name);
    let is_known = is_image(path) || has_extension(path, &VIDEOS) || has_extension(path, &OTHER_VIDEOS);
    name.rsplit_once('.').filter(|_| is_known).map_or(name, |(stem, _)| stem)
}

/// Whether a name in labels is that of a source: the same file or folder, with or without the ending of a video, and
/// without the eight digits that Label Studio puts before it.
pub(super) fn is_same_name(own: &str, source: &str) -> bool {
    // Behind a question mark an address has its signature, or Label Studio the path of a local file.
    let own = own.rsplit_once("?d=").map_or_else(|| own.split('?').next().unwrap_or_default(), |(_, path)| path);
    let file = |name: &str| {
        let name = name.replace("%20", " ").replace("%2F", "/").replace("%2f", "/");
        // Label Studio's uploads have no blanks.
        name.rsplit(['/', '\\']).next().unwrap_or_default().to_lowercase().replace(' ', "_")
    };
    let (own, source) = (file(own), file(source));
    let uploaded =
        own.split_once('-').filter(|(digits, _)| digits.len() == 8 && u32::from_str_radix(digits, 16).is_ok());
    let source = without_ending(&source);
    [&*own, uploaded.map_or("", |(_, name)| name)].iter().any(|own| !own.is_empty() && without_ending(own) == source)
}

/// The clip of the source: by its name, or by its number of frames.
fn choose(mut clips: Vec<Clip>, purpose: &mut Purpose<'_>) -> Wrong<Clip> {
    let (name, is_said) = (purpose.name(), purpose.options.clip.is_some());
    let of = |test: &dyn Fn(&Clip) -> bool| (0..clips.len()).filter(|&at| test(&clips[at])).collect::<Vec<_>>();
    let mut fitting = of(&|clip| clip.is_named(name));
    let frames = purpose.info.and_then(|info| info.length);
    if fitting.is_empty() && !is_said && clips.len() > 1 && frames.is_some() {
        fitting = of(&|clip| clip.frames == frames);
    }
    let others = clips.len() - 1;
    match fitting[..] {
        [at] => {
            let clip = clips.swap_remove(at);
            if others > 0 {
                let own = clip.shown_name();
                purpose.notes.push(format!("the labels of {own} are read, those of {others} other clips are left out"));
            }
            Ok(clip)
        }
        [] if others == 0 && (!is_said || clips[0].names.is_empty()) => {
            if let Some((own, info)) = clips[0].names.first().zip(purpose.info) {
                purpose.notes.push(format!("its labels are of {own}, and the source is {}", info.name));
            }
            Ok(clips.remove(0))
        }
        _ => {
            let unnamed = clips.iter().find(|clip| clip.own_name(&clips).is_none() && !clip.names.is_empty());
            if let Some(clip) = unnamed {
                return Err(format!(
                    "it has several tasks or annotations of {}, which --labels-clip cannot tell apart: leave out all but one",
                    clip.shown_name()
                ));
            }
            let names = listed(clips.iter().map(|clip| clip.own_name(&clips).unwrap_or(clip.shown_name())));
            Err(format!("it has labels of {names}: --labels-clip NAME says whose are read"))
        }
    }
}

/// Some names, for a message.
fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.take(SHOWN + 1).collect();
    let more = if names.len() > SHOWN { ", …" } else { "" };
    names[..names.len().min(SHOWN)].join(", ") + more
}

impl Clip {
    fn shown_name(&self) -> &str {
        self.names.first().map_or("a clip without a name", String::as_str)
    }

    /// The name that no other of all `clips` has.
    fn own_name(&self, clips: &[Self]) -> Option<&str> {
        let is_own = |name: &&String| clips.iter().filter(|clip| clip.names.contains(name)).count() < 2;
        self.names.iter().find(is_own).map(String::as_str)
    }

    /// Whether the clip has this name.
    fn is_named(&self, name: &str) -> bool {
        self.names.iter().any(|own| own == name || is_same_name(own, name))
    }

    /// Gives each box the position of its frame.
    fn place(&self, boxes: &mut Vec<Label>, size: Option<Size>, purpose: &mut Purpose<'_>) -> Wrong<()> {
        let ratio = if self.by == By::Time { self.ratio(purpose)? } else { 1.0 };
        if let Some((own, here)) = self.frames.zip(purpose.frames()) {
            let is_exact = purpose.info.is_some_and(|info| match self.by {
                By::Time => info.rate.is_none() || self.rate.is_none(),
                _ => info.length.is_some(),
            });
            let (own_here, allowed) =
                ((own as f64 * ratio).round() as usize, if is_exact { 0 } else { tolerance(here) });
            let is_part = self.by != By::Time && purpose.info.is_some_and(|info| self.is_named(&info.name));
            if own_here.abs_diff(here) > allowed && !(self.marked && own_here <= here) {
                let reason = format!("its clip has {own} frames, and the source has {here}");
                match own_here < here && is_part {
                    true if purpose.options.clip.is_some() => purpose.notes.push(reason),
                    true => return Err(reason + ": --labels-clip NAME says that it is the beginning of the source"),
                    false => return Err(reason),
                }
            }
        }
        if let Some(own) = self.last.filter(|&own| own > purpose.last()) {
            return Err(format!("its clip goes to frame {own}, and the source to {}", purpose.shown_last()));
        }
        let images = purpose.info.map_or(&[][..], |info| &info.images);
        if self.by_text && !images.is_sorted() {
            return Err("its pictures are in the order of text, 10 before 2: export COCO, which names them".into());
        }
        match self.by {
            By::Position => {}
            By::Time => by_time(boxes, ratio, purpose.info.and_then(|info| info.rate).unwrap_or(0.0)),
            By::Picture => {
                let frames = self.frames_of_pictures(purpose)?;
                let (left, mut missing) = boxes.drain(..).partition::<Vec<_>, _>(|label| frames[label.frame].is_some());
                missing.retain(|label| label.bbox.is_some());
                let sizes = left.iter().filter_map(|label| self.pictures[label.frame].size.zip(size));
                if let Some(reason) = sizes.into_iter().find_map(|(own, here)| other_size(own, here)) {
                    return Err(reason);
                }
                let pictures: BTreeSet<usize> = missing.iter().map(|label| label.frame).collect();
                if let Some(name) = pictures.first().and_then(|&first| self.pictures[first].name.as_deref()) {
                    let (boxes, count) = (missing.len(), pictures.len());
                    let what = format!("{boxes} boxes of {count} pictures that are not the source's, as {name}");
                    purpose.notes.push(what + ", are left out");
                }
                boxes.extend(left.into_iter().map(|label| Label { frame: frames[label.frame].unwrap_or(0), ..label }));
            }
        }
        let last = purpose.last();
        boxes.retain(|label| label.bbox.is_some() || label.frame <= last);
        purpose.check(boxes.iter().map(|label| label.frame).max())
    }

    /// Frames of the source for each frame of the labels.
    fn ratio(&self, purpose: &mut Purpose<'_>) -> Wrong<f64> {
        let Some(info) = purpose.info else {
            let unknown = "its frames have a rate of their own: give the source";
            return if self.marked { Ok(1.0) } else { Err(unknown.into()) };
        };
        let (Some(own), Some(here)) = (self.rate, info.rate) else { return Ok(1.0) };
        let ratio = here / own;
        let (own, rate) = (rounded(own, 3), rounded(here, 3));
        if !ratio.is_finite() || !self.marked && info.base_rate.is_some_and(|base| base > here * 1.01) {
            return Err(format!("it counts {own} frames a second, and those of the source come at no constant rate"));
        }
        if (ratio - 1.0).abs() < SAME_RATE || self.frames.is_some() && self.frames == purpose.frames() {
            return Ok(1.0);
        }
        let what = format!("it counts {own} frames a second, and the source has {rate}: boxes are placed by time");
        purpose.notes.push(what);
        Ok(ratio)
    }

    /// The frame of each picture, if it is one of the source.
    fn frames_of_pictures(&self, purpose: &mut Purpose<'_>) -> Wrong<Vec<Option<usize>>> {
        let first = self.pictures.iter().find_map(|picture| picture.name.as_deref());
        let image = purpose.info.and_then(|info| info.images.first());
        if let (Some(info), Some(name), Some(image)) = (purpose.info, first, image) {
            let found = self.by_name(info, purpose.options, &mut purpose.notes)?;
            if found.iter().any(Option::is_some) {
                if purpose.options.base.is_some() {
                    purpose.notes.push("--labels-base is not used: names of pictures tell their frames".into());
                }
                return Ok(found);
            }
            if purpose.options.base.is_none() && !name.contains(ROBOFLOW) {
                let image = image.file_name().unwrap_or_default().to_string_lossy();
                return Err(format!(
                    "it names no picture of the source: its first is {name}, and the source's {image}; if the numbers in \
                     its names are those of frames, give the first one's by --labels-base 0 or 1"
                ));
            }
        }
        if purpose.info.is_none() && self.base.or(purpose.options.base).is_none() {
            let name = first.unwrap_or_default();
            return Err(format!("it names pictures, as {name}: give the source, whose frames they are"));
        }
        self.by_number(purpose)
    }

    /// Pictures by the names of the source's files. Folders count where they tell the clips of a file apart.
    fn by_name(&self, info: &Info, options: &LabelOptions, notes: &mut Vec<String>) -> Wrong<Vec<Option<usize>>> {
        let mut known = BTreeMap::new();
        for (image, frame) in info.images.iter().zip(1..) {
            for part in [image.file_stem(), image.file_name()].into_iter().flatten() {
                known.insert(part.to_string_lossy(), frame);
            }
        }
        let folder = info.images[0].parent().and_then(|folder| std::path::absolute(folder).ok()).unwrap_or_default();
        let found: Vec<Option<(usize, &str)>> = (self.pictures.iter())
            .map(|picture| {
                let (dir, file) = split(picture.name.as_deref()?);
                // A picture may be stored in another format; Roboflow writes a.png as a_png.rf.HASH.
                let uploaded = || Some(file.split_once(ROBOFLOW)?.0.rsplit_once('_')?.0);
                let found = known.get(file).or_else(|| known.get(without_ending(file)));
                Some((*found.or_else(|| known.get(uploaded()?))?, dir))
            })
            .collect();
        let is_own = |dir: &str| match &options.clip {
            Some(name) => names_clip(dir, name),
            None => !dir.is_empty() && (folder.ends_with(dir) || names_clip(dir, &info.name)),
        };
        let has_own = found.iter().flatten().any(|(_, dir)| is_own(dir));
        let others: BTreeSet<&str> =
            found.iter().flatten().map(|(_, dir)| *dir).filter(|dir| !is_common(dir)).collect();
        if !has_own && others.len() > 1 {
            let names = listed(others.into_iter());
            return Err(format!("it has pictures of several folders, {names}: --labels-clip NAME says whose are read"));
        }
        if let Some(other) = others.first().filter(|_| !has_own) {
            notes.push(format!("its pictures are of {other}, and the source is {}", info.name));
        }
        // A clip that is asked for has its own folder, or the whole of these labels.
        let is_clip = options.clip.as_ref().is_none_or(|name| self.is_named(name));
        let is_read = |dir: &str| if has_own { is_own(dir) } else { is_clip };
        let frames: Vec<_> = found.iter().map(|found| Some(found.filter(|(_, dir)| is_read(dir))?.0)).collect();
        self.check_twice(&frames)?;
        Ok(frames)
    }

    /// Pictures by their numbers, or by those at the end of their names.
    fn by_number(&self, purpose: &mut Purpose<'_>) -> Wrong<Vec<Option<usize>>> {
        let numbered = |picture: &Picture| {
            let (dir, file) = split(picture.name.as_deref().unwrap_or_default());
            let (prefix, number) = picture.number.map(|number| ("", number)).or_else(|| numbered(file))?;
            Some((dir.to_owned(), prefix.to_owned(), number))
        };
        self.check_numbers()?;
        let mut names =
            self.pictures.iter().filter(|picture| picture.number.is_none()).filter_map(|one| one.name.as_deref());
        if let Some(name) = names.find(|name| name.contains(ROBOFLOW)) {
            let what = "Roboflow counts the pictures that it has taken of a video, not its frames, as in";
            return Err(format!("{what} {name}: give the folder of these pictures as the source"));
        }
        let all: Vec<_> = self.pictures.iter().map(numbered).collect();
        let distinct: BTreeSet<_> = all.iter().flatten().map(|(_, prefix, number)| (prefix, number)).collect();
        // Folders as of training and validation belong to one clip if they share no frame.
        let with_dir = distinct.len() < all.iter().flatten().count();
        let key = |dir: &str, prefix: &str| if with_dir { format!("{dir}/{prefix}") } else { prefix.to_owned() };
        let groups: BTreeSet<String> = all.iter().flatten().map(|(dir, prefix, _)| key(dir, prefix)).collect();
        let (wanted, is_said) = (purpose.name(), purpose.options.clip.is_some() && !self.is_named(purpose.name()));
        let own: Vec<&String> = groups.iter().filter(|group| names_clip(group, wanted)).collect();
        let group = match (&own[..], groups.first()) {
            ([one], _) => *one,
            ([], Some(one)) if groups.len() == 1 && !is_said => one,
            (_, None) => return Err("no name in it ends with the number of a frame".into()),
            _ => {
                let names = listed(groups.iter().map(|group| if group.is_empty() { "\"\"" } else { group }));
                let what = "--labels-clip NAME says whose are read";
                return Err(format!("it has labels of several clips, named {names}: {what}"));
            }
        };
        let is_other = |(dir, prefix, _): &&(String, String, usize)| {
            let last = dir.rsplit(['/', '\\']).next().unwrap_or_default();
            !begins_with(&format!("{dir}/{prefix}"), wanted)
                && [prefix, last].iter().any(|part| !is_common(part) && !is_generic(part))
        };
        if let Some(((dir, prefix, _), info)) = all.iter().flatten().find(is_other).zip(purpose.info) {
            let name = format!("{dir}/{prefix}");
            let name = name.trim_start_matches('/');
            purpose.notes.push(format!("its pictures are named {name}…, and the source {}", info.name));
        }
        let is_own = |(dir, prefix, _): &&(String, String, usize)| key(dir, prefix) == *group;
        let numbers: Vec<Option<usize>> = all.iter().map(|of| Some(of.as_ref().filter(is_own)?.2)).collect();
        let base = match purpose.options.base.or(self.base) {
            Some(base) => base,
            None => {
                let base = base_of(numbers.iter().flatten().copied(), purpose.info.and_then(Info::certain_length))?;
                purpose.notes.push(format!("the frames in it are numbered from {base} on"));
                base
            }
        };
        if let Some(first) = numbers.iter().flatten().min().filter(|first| **first < base) {
            return Err(format!("it has a frame {first}, and the first frame is {base}"));
        }
        let frames: Vec<_> = numbers.iter().map(|number| number.map(|at| at.saturating_add(1) - base)).collect();
        self.check_twice(&frames).map(|()| frames)
    }

    /// Refuses numbers of frames beside names that count in another way.
    fn check_numbers(&self) -> Wrong<()> {
        let named = |picture: &Picture| {
            let name = picture.name.as_deref()?;
            let (prefix, number) = numbered(split(name).1)?;
            Some((prefix.to_owned(), number as i64 - picture.number? as i64, name.to_owned()))
        };
        let known: Vec<_> = self.pictures.iter().filter_map(named).collect();
        let count_on = known.iter().all(|(prefix, ..)| *prefix == known[0].0);
        let differs = |(_, by, _): &&(String, i64, String)| by.abs() > 1 || *by != known[0].1;
        match known.iter().find(differs).filter(|_| count_on && !self.marked) {
            Some((.., name)) => {
                Err(format!("its frame_id differs from the numbers in names, as {name}: leave one out"))
            }
            None => Ok(()),
        }
    }

    /// Refuses two names of one frame.
    fn check_twice(&self, frames: &[Option<usize>]) -> Wrong<()> {
        let mut names = BTreeMap::new();
        for (frame, Picture { name, .. }) in frames.iter().zip(&self.pictures) {
            let (Some(frame), Some(name)) = (frame, name) else { continue };
            if let Some(other) = names.insert(frame, name) {
                return Err(format!("{other} and {name} are both frame {frame}: --labels-clip NAME names the folder"));
            }
        }
        Ok(())
    }
}

/// Folder and file of a name.
fn split(name: &str) -> (&str, &str) {
    name.rfind(['/', '\\']).map_or(("", name), |at| (&name[..at], &name[at + 1..]))
}

/// The text before the number at the end of a file's name, and that number; `None` for a time.
pub(super) fn numbered(file: &str) -> Option<(&str, usize)> {
    let has_ending = |(_, ending): &(&str, &str)| {
        ending.contains(|c: char| c.is_ascii_alphabetic()) && ending.chars().all(char::is_alphanumeric)
    };
    let stem = file.rsplit_once('.').filter(has_ending).map_or(file, |(stem, _)| stem);
    let (prefix, digits) = stem.split_at(stem.trim_end_matches(|c: char| c.is_ascii_digit()).len());
    // Decimals, or a time as VoTT writes it.
    let is_time = prefix.strip_suffix(['.', ',']).is_some_and(|whole| whole.ends_with(|c: char| c.is_ascii_digit()));
    if is_time || prefix.ends_with("#t=") { None } else { Some((prefix, digits.parse().ok()?)) }
}

/// Whether the folders of a picture have names that tell nothing of its clip.
fn is_common(dir: &str) -> bool {
    let is_common = |word: &str| COMMON.split(',').any(|common| common == word.trim_end_matches(char::is_numeric));
    // A number alone is the name of a clip.
    let is_number = |part: &str| !part.is_empty() && part.chars().all(char::is_numeric);
    let mut parts = dir.split(['/', '\\']);
    parts.all(|part| !is_number(part) && part.to_lowercase().split(['_', '-', ' ']).all(is_common))
}

/// Whether a word is one that tools put before the numbers of frames of any clip.
fn is_generic(word: &str) -> bool {
    let word = word.to_lowercase();
    GENERIC.split(',').any(|generic| generic == word.trim_end_matches(|c: char| !c.is_alphabetic()))
}

/// Whether a part of a path begins with the name of a clip.
fn begins_with(path: &str, clip: &str) -> bool {
    let plain = |text: &str| text.to_lowercase().replace([' ', '-'], "_");
    path.split(['/', '\\']).any(|part| plain(part).starts_with(&plain(without_ending(clip))))
}

/// The first of `frames` that is the number in the name of another picture, if all are numbers in names.
fn number_of_name(frames: impl Iterator<Item = usize>, info: &Info) -> Option<usize> {
    let number = |image: &PathBuf| Some(numbered(image.file_name()?.to_str()?)?.1);
    number_of_another(&info.images.iter().map(number).collect::<Vec<_>>(), frames)
}

/// A note that numbers of frames are also those in names of pictures at other places of the list.
pub(super) fn numbers_of_names(frames: impl Iterator<Item = usize>, info: &Info) -> Option<String> {
    let other = number_of_name(frames, info)?;
    let name = info.images.get(other - 1)?.file_name()?.to_string_lossy();
    Some(format!("frames count from 1 in the list of pictures: frame {other} is {name}"))
}

/// Refuses numbers of frames that may be those in names of pictures.
pub(super) fn check_names(
    frames: impl Iterator<Item = usize>,
    info: Option<&Info>,
    options: &LabelOptions,
) -> Wrong<()> {
    match info.filter(|_| options.base.is_none()).and_then(|info| number_of_name(frames, info)) {
        Some(frame) => Err(format!(
            "its frames, as {frame}, may be the numbers in names of pictures: --labels-base 1 if they are places in the list \
             of pictures, 0 if these count from 0, else write the places"
        )),
        None => Ok(()),
    }
}

/// Whether a folder, or a name before a number, is that of a clip.
fn names_clip(group: &str, clip: &str) -> bool {
    let mut parts = group.split(['/', '\\']).map(|part| part.trim_end_matches(|c: char| !c.is_alphanumeric()));
    parts.any(|part| !part.is_empty() && is_same_name(part, clip)) || group == clip
}

/// The number of the first of `frames`, which all numbers tell together.
pub(super) fn base_of(numbers: impl Iterator<Item = usize>, frames: Option<usize>) -> Wrong<usize> {
    let (low, high) = numbers.fold((usize::MAX, 0), |(low, high), number| (low.min(number), high.max(number)));
    match frames {
        _ if low == 0 => Ok(0),
        Some(frames) if high == frames => Ok(1),
        Some(frames) if high > frames => {
            Err(format!("the numbers of its frames go from {low} to {high}, and the source has {frames} frames"))
        }
        _ => Err(format!(
            "the numbers of its frames go from {low} to {high}, and may count from 0 or from 1 (as Ultralytics): \
             give --labels-base 0 or 1"
        )),
    }
}

/// Seconds behind the beginning of a frame at which Label Studio shows it.
const BEHIND: f64 = 0.002;

/// Positions in the source, at `rate`, of frames at another rate: those that a browser shows at their times. Of several
/// boxes in one frame the first counts.
fn by_time(boxes: &mut Vec<Label>, ratio: f64, rate: f64) {
    if ratio == 1.0 || boxes.iter().any(|label| label.frame == 0) {
        return;
    }
    boxes.sort_by_key(|label| (label.id, label.frame));
    for label in &mut *boxes {
        // A target is gone behind the last frame that shows it.
        let gone = usize::from(label.bbox.is_none());
        label.frame = ((label.frame - 1).saturating_sub(gone) as f64 * ratio + BEHIND * rate) as usize + 1 + gone;
    }
    boxes.sort_by_key(|label| (label.id, label.frame, label.bbox.is_none()));
    boxes.dedup_by_key(|label| (label.id, label.frame));
}

/// Refuses boxes `x,y,w,h` of which one reaches beyond the frame while all lie in it if they are taken for corners.
pub(super) fn check_sizes(boxes: impl Iterator<Item = BBox> + Clone, size: Option<Size>) -> Wrong<()> {
    let Some((width, height)) = size else { return Ok(()) };
    // A pixel more, for corners that count from 1.
    let (width, height) = (width as f64 + 1.0, height as f64 + 1.0);
    let are_corners = |BBox { x, y, w, h }| w > x && h > y && x >= -1.0 && y >= -1.0 && w <= width && h <= height;
    let is_beyond = |bbox: &BBox| bbox.x + 0.9 * bbox.w > width || bbox.y + 0.9 * bbox.h > height;
    match boxes.clone().find(is_beyond).filter(|_| boxes.clone().all(are_corners)) {
        Some(bbox) => Err(format!("its box {bbox} reaches beyond the frame, and as corners all boxes lie in it")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_clip() {
        for own in [
            "clip",
            "clip.mp4",
            "CLIP.MKV",
            "/data/upload/3/0a1b2c3d-clip.mp4",
            r"C:\videos\clip.mp4",
            "?d=x/clip.mp4",
            "?d=x%2Fclip.mp4",
            "s3://b/clip.mp4?X-Amz-Date=1&sign=a/b",
        ] {
            assert!(is_same_name(own, "clip") && is_same_name(own, "clip.avi"), "{own}");
        }
        for other in ["", "clips", "my-clip.mp4", "0a1b2c3-clip.mp4", "clip/other.mp4"] {
            assert!(!is_same_name(other, "clip"), "{other}");
        }
        assert!(is_same_name("a.v2.mp4", "a.v2") && is_same_name("a.v2", "a.v2.mp4"));
        assert!(is_same_name("cam.one.mp4", "cam.one") && !is_same_name("cam.mp4", "cam.one"));
        assert!(is_same_name("a%20b.mp4", "a b") && is_same_name("0a1b2c3d-a_b.mp4", "a b.mp4"));
        assert!(!is_same_name("run.dusk", "run.day") && is_same_name("run.day", "run.day"));
    }

    #[test]
    fn names_of_pictures_that_are_of_a_clip_or_of_none() {
        for path in ["train/clip_frame_", "my-clip_/1", "clip_mp4_"] {
            assert!(begins_with(path, if path.starts_with("my") { "my clip.mp4" } else { "clip" }), "{path}");
        }
        assert!(
            !begins_with("other/frame_", "clip") && is_generic("vlcsnap-") && is_generic("out") && !is_generic("cam")
        );
    }

    #[test]
    fn times_in_names_are_no_numbers_of_frames() {
        for (name, number) in [
            ("clip_000036.txt", Some(("clip_", 36))),
            ("7", Some(("", 7))),
            ("v1.mp4_12", Some(("v1.mp4_", 12))),
            ("clip_0.36", None),
            ("clip_0,36.txt", None),
            ("clip.mp4#t=1.jpg", None),
            ("00_00_00.040", None),
        ] {
            assert_eq!(numbered(name), number, "{name}");
        }
    }

    #[test]
    fn the_first_number_of_frames() {
        for (numbers, frames, base) in [
            (&[0, 7][..], Some(20), Some(0)),
            (&[0, 7], None, Some(0)),
            (&[3, 20], Some(20), Some(1)),
            (&[3, 19], Some(20), None),
            (&[1, 19], Some(20), None),
            (&[1, 20], None, None),
            (&[1, 30], Some(20), None),
        ] {
            assert_eq!(base_of(numbers.iter().copied(), frames).ok(), base, "{numbers:?} of {frames:?}");
        }
    }

    #[test]
    fn a_box_is_in_the_frame_that_a_browser_shows() {
        let bbox = Some(BBox::new(0.0, 0.0, 1.0, 1.0));
        let label = |frame| Label { id: 1, frame, turn: frame as f64, bbox, ..Label::default() };
        let placed = |frames: &[usize], own: f64, here: f64| -> Vec<_> {
            let mut boxes: Vec<Label> = frames.iter().copied().map(label).collect();
            by_time(&mut boxes, here / own, here);
            boxes.iter().map(|label| (label.frame, label.turn)).collect()
        };
        let frames_of = |placed: Vec<(usize, f64)>| placed.into_iter().map(|(frame, _)| frame).collect::<Vec<_>>();
        assert_eq!(placed(&[1, 2, 3, 4, 7], 50.0, 25.0), [(1, 1.0), (2, 3.0), (4, 7.0)]);
        // The last frame with a box is the last of the target.
        let mut ended =
            vec![label(10), Label { bbox: None, ..label(11) }, label(14), Label { bbox: None, ..label(15) }];
        by_time(&mut ended, 0.5, 25.0);
        let ended: Vec<_> = ended.iter().map(|label| (label.frame, label.bbox.is_some())).collect();
        assert_eq!(ended, [(5, true), (6, false), (7, true), (8, false)]);
        assert_eq!(frames_of(placed(&[1, 2, 3, 4, 7], 12.5, 25.0)), [1, 3, 5, 7, 13]);
        let frames: Vec<usize> = (1..=8).chain(50..=52).collect();
        assert_eq!(frames_of(placed(&frames, 24.0, 30.0)), [1, 2, 3, 4, 6, 7, 8, 9, 62, 63, 64]);
    }
}
