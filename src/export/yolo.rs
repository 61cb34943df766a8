//! YOLO datasets, and the frames as pictures.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde_json::json;

use super::clip::{By, Clip, Label, Picture, Wrong};
use super::labels::NO_IDS;
use super::output::{Destination, Folder};
use super::record::{Run, rounded};
use super::{Exporter, FrameRecord, FrameResult, Summary};
use crate::bbox::BBox;
use crate::encode;
use crate::error::{Error, Result};
use crate::media::annotation::{MAX_ROWS, text_files};
use crate::media::has_extension;
use crate::text::{csv_line, unquoted};
use crate::tracker::State;

/// The file beside the labels that says which line is which target, and what it was: YOLO itself has neither ids nor given
/// boxes.
pub(super) const TRACKS: &str = "tracks.csv";

/// The files beside the labels.
const FILES: [&str; 3] = ["data.yaml", "classes.txt", TRACKS];

/// Decimals of a share of the frame's size: less than a thousandth of a pixel.
const DIGITS: i32 = 8;

/// A YOLO dataset: `labels/NAME.txt` with a line `class x y w h` per visible target (centre and size as shares of the
/// frame's size, clipped to it), `data.yaml`, `classes.txt`, and [`TRACKS`]. [`Frames`] writes the pictures into `images`.
#[derive(Debug)]
pub struct Yolo {
    folder: Folder,
    labels: Folder,
    tracks: String,
}

impl Yolo {
    /// Opens the folder.
    ///
    /// # Errors
    /// [`Error::Output`] when it cannot be written, or has a dataset from elsewhere.
    pub fn create(to: &Destination) -> Result<Self> {
        let folder = Folder::create(to)?;
        FILES.iter().try_for_each(|name| folder.check(name))?;
        let labels = Folder::create(&to.join("labels"))?;
        Ok(Self { folder, labels, tracks: csv_line(&["file", "frame", "id", "given", "label"]) })
    }
}

/// Centre and size of a visible target as shares of the frame's size; `None` for one outside of the frame.
fn place(record: &FrameRecord, run: &Run) -> Option<[f64; 4]> {
    let BBox { x, y, w, h } = record.finite_box().filter(|_| record.is_visible())?;
    let share = |from: f64, length: f64, side: usize| {
        let [from, to] = [from, from + length].map(|at| (at / side as f64).clamp(0.0, 1.0));
        (rounded((from + to) / 2.0, DIGITS), rounded(to - from, DIGITS))
    };
    let ((x, w), (y, h)) = (share(x, w, run.source.width), share(y, h, run.source.height));
    (w > 0.0 && h > 0.0).then_some([x, y, w, h])
}

impl Exporter for Yolo {
    fn write(&mut self, frame: &FrameResult<'_>) -> Result<()> {
        // A picture without labels shows nothing, for YOLO too.
        if frame.records.is_empty() {
            return Ok(());
        }
        let picture = frame.picture_name();
        let name = self.labels.name_for(&picture, "txt");
        let stem = Path::new(&picture).file_stem().unwrap_or_default().to_string_lossy();
        if name != format!("{stem}.txt") {
            let reason = format!("YOLO does not tell {picture} from another picture {stem}: rename one of them");
            return Err(Error::output(name, reason));
        }
        let mut text = String::new();
        for record in frame.records {
            let Some([x, y, w, h]) = place(record, frame.run) else { continue };
            let label = format!("{} {x} {y} {w} {h}", frame.run.class_place(record.id));
            let (id, given) = (record.id.unwrap_or(1), record.state == State::Initial);
            let [index, id, given] = [record.index.to_string(), id.to_string(), given.to_string()];
            self.tracks += &csv_line(&[&*stem, &index, &id, &given, &label]);
            text += &(label + "\n");
        }
        self.labels.claim(&name)?.finish(text.as_bytes())
    }

    fn finish(mut self: Box<Self>, run: &Run, _: &Summary) -> Result<()> {
        let classes = run.classes();
        let mut data =
            "# Without `path`, folders lie beside this file.\ntrain: images\nval: images\nnames:\n".to_owned();
        (0..).zip(&classes).for_each(|(place, class)| data += &format!("  {place}: {}\n", json!(class)));
        let list = classes.iter().map(|class| class.replace(['\r', '\n'], " ") + "\n").collect();
        for (name, text) in FILES.into_iter().zip([data, list, std::mem::take(&mut self.tracks)]) {
            self.folder.claim(name)?.finish(text.as_bytes())?;
        }
        Ok(())
    }
}

/// Shares of the frame's size by which other programs round boxes that nobody has changed.
const WRITTEN_SHARE: f64 = 1e-5;

/// Maximum boxes of a picture, and targets of a dataset of ours.
const MAX_OF_PICTURE: usize = 1000;

/// Lists beside the labels, which are none.
const LISTS: [&str; 4] = ["classes.txt", "train.txt", "val.txt", "test.txt"];

/// Whether a number is a share of the frame's size, but for what is rounded.
fn is_share(number: &f64) -> bool {
    (-0.01..=1.01).contains(number)
}

/// A line of labels: class, and the middle and size of a box as shares of the frame's size.
#[derive(Clone, Debug)]
struct Line {
    class: u32,
    sides: [f64; 4],
    /// A confidence, an id, or both.
    more: Vec<f64>,
}

impl Line {
    /// `None` for a polygon.
    fn parse(row: &str) -> Wrong<Option<Self>> {
        let wrong = || format!("`{row}` is not class x y w h, or class x y w h id");
        let mut words = row.split_ascii_whitespace();
        let class = words.next().and_then(|word| word.parse().ok()).ok_or_else(wrong)?;
        let numbers = words.map(|word| word.parse().ok()).collect::<Option<Vec<f64>>>().ok_or_else(wrong)?;
        let Some((&sides, more)) = numbers.split_first_chunk() else { return Err(wrong()) };
        let has_id = more.last().is_none_or(|id| id.fract() == 0.0 && *id >= 0.0);
        if more.len() > 2 && more.len().is_multiple_of(2) || more.len() == 2 && !has_id {
            return Ok(None);
        }
        if more.len() > 2 || !numbers[..4].iter().all(is_share) {
            return Err(format!("{}: x, y, w and h are shares of the frame's size, from 0 to 1", wrong()));
        }
        let line = Self { class, sides, more: more.to_vec() };
        if more.len() < 2 && !line.is_inside(MAX_BEYOND) {
            return Err(format!("{}: the box reaches beyond the picture", wrong()));
        }
        Ok(Some(line))
    }

    fn is(&self, other: &Self) -> bool {
        let is_near = self.sides.iter().zip(other.sides).all(|(a, b)| (a - b).abs() <= WRITTEN_SHARE);
        self.class == other.class && is_near
    }

    fn distance(&self, other: &Self) -> f64 {
        (self.sides[0] - other.sides[0]).hypot(self.sides[1] - other.sides[1])
    }

    /// Whether the box is inside of the picture, or beyond it by at most this share.
    fn is_inside(&self, beyond: f64) -> bool {
        let [x, y, w, h] = self.sides;
        [x - w / 2.0, x + w / 2.0, y - h / 2.0, y + h / 2.0].iter().all(|side| (-beyond..=1.0 + beyond).contains(side))
    }

    fn bbox(&self) -> BBox {
        let [x, y, w, h] = self.sides;
        BBox::new(x - w / 2.0, y - h / 2.0, w, h)
    }
}

/// The box of a target with the position of its frame, and the line as it was written.
type Written = (Label, Line);

/// The rows of [`TRACKS`] by file; none without it.
fn tracks(folder: &Path) -> Wrong<BTreeMap<String, Vec<Written>>> {
    let text = match crate::pipe::read_text(&folder.join(TRACKS)) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        text => text.map_err(|error| format!("{TRACKS}: {error}"))?,
    };
    let mut tracks: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for row in text.lines().skip(1) {
        let wrong = || format!("{TRACKS}: `{row}` is not file,frame,id,given,label");
        let words: Vec<&str> = row.rsplitn(5, ',').collect();
        let [line, given, id, frame, file] = words[..] else { return Err(wrong()) };
        let (Ok(id), Ok(frame), Ok(Some(line))) = (id.parse(), frame.parse(), Line::parse(line)) else {
            return Err(wrong());
        };
        let label = Label { id, frame, given: given == "true", bbox: Some(line.bbox()), ..Label::default() };
        tracks.entry(unquoted(file)).or_default().push((label, line));
    }
    Ok(tracks)
}

/// Share of the picture's side by which a rounded box may reach beyond it.
const MAX_BEYOND: f64 = 0.02;

/// Levels of folders that are searched for labels.
const LEVELS: usize = 6;

/// The files of a dataset's labels, in `labels`, those of Darknet, or the folder itself, below the folder that their names
/// are told from; and the number of files of labels elsewhere.
fn labels_of(folder: &Path) -> Wrong<(PathBuf, Vec<PathBuf>, usize)> {
    let mut files = text_files(folder, LEVELS).map_err(|error| error.to_string())?;
    let is_readme = |file: &Path| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("README"));
    files.retain(|file| !LISTS.iter().any(|name| file.ends_with(name)) && !is_readme(file));
    let place = |file: &PathBuf| {
        let mut parts =
            file.strip_prefix(folder).unwrap_or(file).iter().map(|part| part.to_string_lossy().to_lowercase());
        match (parts.next().unwrap_or_default(), parts.next()) {
            (_, None) => 2,
            (first, _) if first == "labels" => 0,
            (first, _) if first.starts_with("obj_") && first.ends_with("_data") => 1,
            // A part for training or validation, as of Roboflow.
            (_, Some(second)) if second == "labels" => 3,
            _ => 4,
        }
    };
    let best = files.iter().map(place).min().unwrap_or(4);
    let (files, others): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| place(file) == best);
    let part = |file: &PathBuf| Some(file.strip_prefix(folder).ok()?.iter().next()?.to_owned());
    let parts: BTreeSet<_> = files.iter().filter_map(part).filter(|_| best == 3).collect();
    if let Some(part) = parts.first().filter(|_| parts.len() > 1) {
        return Err(format!("its labels are in several folders: give one of them, as {}", folder.join(part).display()));
    }
    if best < 4 {
        let first = |text: String| text.lines().find(|row| !row.trim().is_empty()).map(Line::parse);
        let is_labels =
            |file: &&PathBuf| crate::pipe::read_text(file).ok().and_then(first).is_some_and(|row| row.is_ok());
        let others = others.iter().filter(is_labels).count();
        let base = match (best, files.first().and_then(part)) {
            (0, Some(base)) => folder.join(base),
            (3, Some(part)) => folder.join(part).join("labels"),
            _ => folder.to_owned(),
        };
        return Ok((base, files, others));
    }
    let others = fs::read_dir(folder).map_err(|error| error.to_string())?.flatten().map(|entry| entry.path());
    let others: Vec<_> = others.filter(|path| has_extension(path, &["xml", "json"])).collect();
    match &others[..] {
        [] if folder.join("gt/gt.txt").is_file() => Err("it is a folder of MOT: give the file gt/gt.txt in it".into()),
        [] => Err("labels: there is no folder of this name with labels of YOLO".into()),
        [one] => Err(format!("it is a folder: give the file {} in it", one.display())),
        _ => Err(NO_IDS.into()),
    }
}

/// Whether the last number of lines is an id. In each line the number 1 says no more than none; in some, it is no
/// confidence.
fn have_ids<'a>(lines: impl Iterator<Item = &'a Line> + Clone) -> bool {
    let counts = || lines.clone().map(|line| line.more.len());
    let (least, most) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
    let mut last = lines.filter(|line| line.more.len() == most).filter_map(|line| line.more.last()).peekable();
    let is_any = last.peek().is_some();
    let (whole, ones) =
        last.fold((true, true), |(whole, ones), id| (whole && id.fract() == 0.0 && *id >= 0.0, ones && *id == 1.0));
    is_any && whole && (most == 2 || !ones || least < most)
}

/// The files with their lines.
#[derive(Default)]
struct Files {
    lines: Vec<(String, Vec<Line>)>,
    polygons: usize,
    /// Files of labels elsewhere.
    unread: usize,
}

fn read_files(folder: &Path) -> Wrong<Files> {
    let (place, paths, unread) = labels_of(folder)?;
    let (mut all, mut polygons, mut boxes) = (Vec::with_capacity(paths.len()), 0, 0);
    for path in paths {
        let name = path.strip_prefix(&place).unwrap_or(&path).with_extension("").to_string_lossy().into_owned();
        let wrong = |reason: String| format!("{name}.txt: {reason}");
        let text = crate::pipe::read_text(&path).map_err(|error| wrong(error.to_string()))?;
        let lines = text.lines().filter(|row| !row.trim().is_empty()).map(Line::parse);
        let lines = lines.collect::<Wrong<Vec<_>>>().map_err(wrong)?;
        let count = lines.len();
        let lines: Vec<_> = lines.into_iter().flatten().collect();
        polygons += count - lines.len();
        boxes += lines.len();
        if boxes > MAX_ROWS {
            return Err(format!("it has more than {MAX_ROWS} boxes, the most that are read"));
        }
        all.push((name, lines));
    }
    // A triangle has as many numbers as a box with a confidence and an id, and its last one is a share.
    let mut long = all.iter().flat_map(|(_, lines)| lines).filter(|line| line.more.len() == 2);
    let has_id = long.clone().any(|line| line.more[1] > 1.0);
    if polygons > 0 || !has_id && long.any(|line| !line.is_inside(0.0)) {
        for (_, lines) in &mut all {
            let count = lines.len();
            lines.retain(|line| line.more.len() < 2);
            polygons += count - lines.len();
        }
    }
    Ok(Files { lines: all, polygons, unread })
}

/// Reads the boxes of a detector.
pub(super) fn detections(folder: &Path) -> Wrong<Clip> {
    let (classes, tracks) = (classes(folder), tracks(folder)?);
    let Files { lines: files, polygons, unread } = read_files(folder)?;
    if polygons > 0 {
        return Err(format!("{polygons} lines are polygons, not class x y w h score"));
    }
    if unread > 0 {
        return Err(format!(
            "{unread} files of labels are outside of the folder of labels: give a folder without them"
        ));
    }
    if have_ids(files.iter().flat_map(|(_, lines)| lines)) {
        return Err("the last numbers of its lines are ids, not scores".into());
    }
    let mut clip = Clip { by: By::Picture, shares: true, ..Clip::default() };
    clip.base = (!tracks.is_empty()).then_some(1);
    for (frame, (name, lines)) in files.into_iter().enumerate() {
        clip.boxes.extend(lines.into_iter().map(|line| {
            let class = classes.get(&line.class).cloned().unwrap_or_else(|| line.class.to_string().into());
            let score = line.more.first().copied().unwrap_or(1.0);
            Label { frame, class: Some(class), score, bbox: Some(line.bbox()), ..Label::default() }
        }));
        let stem = name.rsplit(['/', '\\']).next().unwrap_or_default();
        let number = tracks.get(stem).and_then(|known| Some(known.first()?.0.frame));
        clip.pictures.push(Picture { number, name: Some(name), size: None });
    }
    Ok(clip)
}

/// The names of classes by their numbers.
fn classes(folder: &Path) -> BTreeMap<u32, Rc<str>> {
    let read = |name: &str| crate::pipe::read_text(&folder.join(name)).ok();
    match read("classes.txt").or_else(|| read("obj.names")) {
        Some(list) => (0..).zip(list.lines().map(Rc::from)).collect(),
        None => {
            // The folder may be `labels/train` or `train` of a dataset.
            let data =
                folder.ancestors().take(3).find_map(|folder| crate::pipe::read_text(&folder.join("data.yaml")).ok());
            yaml_names(&data.unwrap_or_default()).into_iter().map(|(id, name)| (id, name.into())).collect()
        }
    }
}

/// The targets of lines that were changed or added: of each the nearest of the `known` ones, which is taken out, or the only
/// `absent` one of its class; `None` for a new target.
fn targets_of(changed: &[(Line, Label)], known: &mut Vec<Written>, absent: &[(u32, u32)]) -> Wrong<Vec<Option<u32>>> {
    let mut added = BTreeSet::new();
    let mut target = |(line, _): &(Line, Label)| {
        let near = |(place, (_, written)): (usize, &Written)| (line.distance(written), place);
        let near = known.iter().enumerate().map(near).min_by(|a, b| a.0.total_cmp(&b.0));
        let mut absent = absent.iter().filter(|(_, class)| *class == line.class).map(|(id, _)| *id);
        let id = match (near, absent.next(), absent.next()) {
            (Some((_, place)), ..) => Some(known.remove(place).0.id),
            (None, one, None) => one,
            _ => None,
        };
        let hint = "lines need an id, class x y w h id, where one class has several targets";
        let is_first = added.insert((id, line.class));
        is_first.then_some(id).ok_or_else(|| format!("two boxes of class {}: {hint}", line.class))
    };
    changed.iter().map(&mut target).collect()
}

/// Reads a YOLO dataset. [`TRACKS`] says which target a line is; a line that was changed is a given box of the nearest
/// target of its file, one that was removed ends its target, and an added one is the only target of its class that the file
/// does not have, or a new one. Without it, the lines have ids, or each class is one target.
pub(super) fn read(folder: &Path) -> Wrong<Clip> {
    let classes = classes(folder);
    let Files { lines: files, polygons, unread } = read_files(folder)?;
    let mut tracks = tracks(folder)?;
    let targets: BTreeMap<u32, u32> = tracks.values().flatten().map(|(label, line)| (label.id, line.class)).collect();
    let newest = targets.keys().max().copied().unwrap_or(0);
    let has_ids = targets.is_empty() && have_ids(files.iter().flat_map(|(_, lines)| lines));
    let marked = !targets.is_empty();
    let most = files.iter().flat_map(|(_, lines)| lines).map(|line| line.more.len()).max().unwrap_or(0);
    let base = marked.then_some(1);
    let by_class = !marked && !has_ids;
    let mut clip = Clip { by: By::Picture, shares: true, marked, base, polygons, unread, by_class, ..Clip::default() };
    for (name, lines) in files {
        let frame = clip.pictures.len();
        let stem = name.rsplit(['/', '\\']).next().unwrap_or_default();
        let mut known = tracks.remove(stem).unwrap_or_default();
        if lines.len().max(known.len()).max(targets.len()) > MAX_OF_PICTURE {
            return Err(format!("{name}.txt: more than {MAX_OF_PICTURE} boxes or targets, the most that are read"));
        }
        let here: BTreeSet<u32> = known.iter().map(|(label, _)| label.id).collect();
        let number = known.first().map(|(label, _)| label.frame);
        clip.pictures.push(Picture { number, name: Some(name.clone()), size: None });
        let mut changed = Vec::new();
        for line in lines {
            let class = classes.get(&line.class).cloned();
            let label = Label { frame, class, bbox: Some(line.bbox()), ..Label::default() };
            match known.iter().position(|(_, written)| written.is(&line)) {
                Some(place) => {
                    let (written, _) = known.remove(place);
                    clip.boxes.push(Label { frame, class: label.class, ..written });
                }
                None if !has_ids => changed.push((line, label)),
                None if line.more.len() == most => {
                    let id = line.more.last().copied().unwrap_or_default();
                    if id > f64::from(u32::MAX) {
                        return Err(format!("{name}.txt: the id {id} is above {}, the highest", u32::MAX));
                    }
                    clip.boxes.push(Label { id: id as u32, ..label });
                }
                None => clip.untracked += 1,
            }
        }
        let absent: Vec<_> = targets.iter().filter(|(id, _)| !here.contains(id)).map(|(id, of)| (*id, *of)).collect();
        let ids = targets_of(&changed, &mut known, &absent).map_err(|reason| format!("{name}.txt: {reason}"))?;
        let given = changed.into_iter().zip(ids).map(|((line, label), id)| {
            let id = id.unwrap_or(newest.saturating_add(line.class).saturating_add(1));
            Label { id, given: true, ..label }
        });
        clip.boxes.extend(given);
        clip.boxes.extend(known.into_iter().map(|(label, _)| Label { frame, bbox: None, given: true, ..label }));
    }
    Ok(clip)
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
        let begins = || entry.is_empty() || entry.trim_end().ends_with([':', '-']);
        match letter {
            '"' | '\'' if quote == Some(letter) => quote = None,
            '"' | '\'' if quote.is_none() && begins() => quote = Some(letter),
            _ => {}
        }
        let splits = letter == '\n' || in_line && "[{,}]".contains(letter);
        if splits && quote.is_none() {
            entries.push(std::mem::take(&mut entry));
        } else if !entry.is_empty() || !letter.is_whitespace() {
            entry.push(letter);
        }
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

/// Quality of the JPEG, 1 to 100.
const QUALITY: u8 = 95;

/// The frames as pictures in a folder: copies of image files, JPEG of other frames.
#[derive(Debug)]
pub struct Frames(Folder);

impl Frames {
    /// Opens the folder.
    ///
    /// # Errors
    /// [`Error::Output`] when it cannot be written.
    pub fn create(to: &Destination) -> Result<Self> {
        Folder::create(to).map(Self)
    }
}

impl Exporter for Frames {
    fn write(&mut self, frame: &FrameResult<'_>) -> Result<()> {
        let Some(pixels) = &frame.pixels else { return Ok(()) };
        let name = frame.picture_name();
        let file = self.0.claim(&name)?;
        let bytes = match frame.path {
            Some(file) => fs::read(file),
            None => encode::jpeg(pixels, QUALITY, false),
        };
        file.finish(&bytes.map_err(|source| Error::io(&name, source))?)
    }

    fn finish(self: Box<Self>, _: &Run, _: &Summary) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::tests::run;

    #[test]
    fn a_box_across_the_border_ends_at_it() {
        let (run, records) = run();
        let at = |x, y| place(&FrameRecord { bbox: BBox::new(x, y, 32.0, 24.0), ..records[1].clone() }, &run);
        assert_eq!(at(16.0, 12.0), Some([0.5, 0.5, 0.5, 0.5]));
        assert_eq!(at(48.0, 36.0), Some([0.875, 0.875, 0.25, 0.25]));
        assert_eq!(at(-16.0, -12.0), Some([0.125, 0.125, 0.25, 0.25]));
        assert_eq!((at(64.0, 12.0), at(16.0, -24.0)), (None, None), "outside");
    }
}
