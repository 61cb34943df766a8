//! Tables of one row per frame and target: CSV, OTB and MOT are written; our `id,frame,x,y,w,h,class,name`, and the
//! `frame,id,x,y,w,h,…` of MOT and of trackers, are read.

use std::collections::btree_map::Entry as Slot;
use std::collections::{BTreeMap, BTreeSet};

use super::labels::{Clip, Label, LabelOptions, Wrong, check_box};
use super::output::{Destination, Output};
use super::record::{BOX_DIGITS, Given, TargetRecord, rounded};
use super::{Exporter, FrameRecord, FrameResult, Run, Summary};
use crate::bbox::BBox;
use crate::error::{Error, Result};
use crate::media::annotation::{Base, Entry, MAX_ROWS, numbers};
use crate::run::MAX_TARGETS;
use crate::text::{cell, csv_line, unquoted};
use crate::tracker::State;

/// The cells of a record; none for a record without a row.
type Row = fn(&FrameRecord, &Run) -> Option<Vec<String>>;

/// A table that grows with each frame.
pub struct Table {
    output: Output,
    row: Row,
    has_header: bool,
    /// Whether rows count frames, so that a frame without a record has a row of `NaN`.
    counts: bool,
    /// The frame of the last row; 0 before the first.
    last: usize,
}

impl Table {
    fn create(to: &Destination, row: Row, has_header: bool) -> Result<Self> {
        Ok(Self { output: Output::create(to)?, row, has_header, counts: false, last: 0 })
    }

    /// CSV with a header: the fields of the JSON document's frames without `polygon`, `identity` and `captured`, the box in
    /// four columns (corner 0-based), an empty cell where there is no number.
    ///
    /// # Errors
    /// [`Error::Output`](crate::Error::Output) when `to` cannot be written.
    pub fn csv(to: &Destination) -> Result<Self> {
        Self::create(to, csv_row, true)
    }

    /// OTB text: `x,y,w,h` per frame, the corner **1-based**, at most four decimals. A frame without a box has a row of
    /// `NaN`, also one between two records of the target: readers count rows.
    ///
    /// # Errors
    /// [`Error::Output`](crate::Error::Output) when `to` cannot be written.
    pub fn otb(to: &Destination) -> Result<Self> {
        Ok(Self { counts: true, ..Self::create(to, otb_row, false)? })
    }

    /// MOT text: `frame,id,left,top,width,height,confidence,-1,-1,-1` per target and frame, frames and corners
    /// **1-based**. The confidence is 1 for a given box, below it for all others, and -1 for trackers without one. A lost
    /// target and an unreadable frame have no row.
    ///
    /// # Errors
    /// [`Error::Output`](crate::Error::Output) when `to` cannot be written.
    pub fn mot(to: &Destination) -> Result<Self> {
        Self::create(to, mot_row, false)
    }
}

impl Exporter for Table {
    fn lists_ended(&self) -> bool {
        false
    }

    fn write(&mut self, frame: &FrameResult<'_>) -> Result<()> {
        let mut text = String::new();
        for record in frame.records {
            if std::mem::take(&mut self.has_header) {
                text += &csv_line(&columns(record));
            }
            let between = if self.counts && self.last > 0 { self.last + 1..record.index } else { 0..0 };
            let gap = between.len();
            if gap > MAX_ROWS {
                let reason =
                    format!("there are {gap} frames without a box before frame {}, too many rows", record.index);
                return Err(Error::output(self.output.path(), reason));
            }
            text += &"NaN,NaN,NaN,NaN\n".repeat(gap);
            self.last = record.index;
            text += &(self.row)(record, frame.run).map_or(String::new(), |row| csv_line(&row));
        }
        if text.is_empty() {
            return Ok(());
        }
        self.output.append(text.as_bytes())?;
        self.output.publish()
    }

    fn finish(self: Box<Self>, _: &Run, _: &Summary) -> Result<()> {
        self.output.finish()
    }
}

fn otb_row(record: &FrameRecord, _: &Run) -> Option<Vec<String>> {
    // Moving a rounded box by one pixel adds digits, so rounding comes last.
    let numbers = record.finite_box().map_or([f64::NAN; 4], |bbox| Base::One.to_numbers(&bbox));
    Some(numbers.map(|number| rounded(number, BOX_DIGITS).to_string()).to_vec())
}

fn mot_row(record: &FrameRecord, _: &Run) -> Option<Vec<String>> {
    let bbox = record.finite_box().filter(|_| record.is_visible())?;
    let confidence = match record.state {
        State::Initial => 1.0,
        _ => record.confidence.map_or(-1.0, |confidence| confidence.min(0.9999)),
    };
    let mut row = vec![record.index.to_string(), record.id.unwrap_or(1).to_string()];
    row.extend(Base::One.to_numbers(&bbox).map(|number| rounded(number, BOX_DIGITS).to_string()));
    row.push(confidence.to_string());
    row.extend(["-1", "-1", "-1"].map(String::from));
    Some(row)
}

/// The columns of CSV. A run of one target has no `id`, `class` and `name`.
fn columns(record: &FrameRecord) -> Vec<&'static str> {
    let columns =
        "index,file,x,y,w,h,peak,psr,apce,decision,refit_kept,state,confidence,long_term,decode_ms,track_ms,time";
    columns.split(',').chain(record.id.iter().flat_map(|_| ["id", "class", "name"])).collect()
}

fn csv_row(record: &FrameRecord, run: &Run) -> Option<Vec<String>> {
    let corners = record.finite_box().map(<[f64; 4]>::from);
    let mut row = vec![record.index.to_string(), record.file.clone()];
    row.extend([0, 1, 2, 3].map(|side| cell(corners.map(|corners| corners[side]))));
    row.extend([record.peak, record.psr, record.apce, record.decision].map(cell));
    row.extend([record.refit_kept.to_string(), record.state.to_string()]);
    row.extend([record.confidence, record.long_term].map(cell));
    row.extend([Some(record.decode_ms), Some(record.track_ms), record.time].map(cell));
    if let Some(id) = record.id {
        row.extend([id.to_string(), run.class(record.id).into(), run.name(record.id).unwrap_or_default().into()]);
    }
    Some(row)
}

/// The content of a list.
pub(super) enum List {
    /// Boxes that a person gave.
    Given(Vec<TargetRecord>),
    /// The rows of a MOT file.
    Mot(Clip),
}

/// What to do about a frame 0.
pub(super) const FROM_0: &str = "--labels-base 0 says that they count from 0";

const COLUMNS: &str = "id,frame,x,y,w,h,class,name";

/// Reads a list for a source of `frames`. A header line says the columns; without it they are known by their count, by
/// words, or because only one of the two orders fits. Blank lines and lines with `#` are skipped.
pub(super) fn read(text: &str, frames: Option<usize>, options: &LabelOptions) -> Wrong<List> {
    if text.lines().nth(MAX_ROWS).is_some() {
        return Err(format!("it has more than {MAX_ROWS} lines, the most that are read"));
    }
    let Layout { lines, is_mot, corners } = layout(text, frames, options, false)?;
    if lines.is_empty() {
        return Err("no target; a line is id,frame,x,y,w,h".into());
    }
    if is_mot { mot(&lines, options).map(List::Mot) } else { given(&lines, corners).map(List::Given) }
}

/// Reads the MOT file of a detector for a source of `frames`.
pub(super) fn detections(text: &str, frames: Option<usize>, options: &LabelOptions) -> Wrong<Clip> {
    let Layout { lines, is_mot, .. } = layout(text, frames, options, true)?;
    let clip = detected(&lines, options)?;
    let what = "its lines are not for certain frame,id,x,y,w,h,score: write this above them if they are";
    if is_mot { Ok(clip) } else { Err(what.into()) }
}

/// The lines with numbers, each with its own number, and what these numbers are.
struct Layout<'a> {
    lines: Vec<(usize, &'a str)>,
    is_mot: bool,
    corners: bool,
}

/// The layout of a text; lines of a `detector` have scores.
fn layout<'a>(text: &'a str, frames: Option<usize>, options: &LabelOptions, detector: bool) -> Wrong<Layout<'a>> {
    let all = (1..).zip(text.lines().map(str::trim));
    let mut lines: Vec<(usize, &str)> = all.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).collect();
    let header = header(text, &lines)?;
    if header.as_ref().is_some_and(|header| !header.is_comment) {
        lines.remove(0);
    }
    let corners = header.as_ref().map_or(options.corners, |header| header.corners);
    if options.corners && !corners {
        return Err("its header says x,y,w,h, and --init-format says corners".into());
    }
    let is_mot = match &header {
        Some(header) => header.is_mot,
        None => is_mot(&lines[..lines.len().min(MAX_ROWS)], frames, options, detector)?,
    };
    if is_mot && corners {
        return Err("lines frame,id,… are those of MOT, x,y,w,h: for corners write id,frame,x1,y1,x2,y2".into());
    }
    Ok(Layout { lines, is_mot, corners })
}

/// The layout that a header says.
struct Header {
    /// Whether the line is a comment, as `numpy.savetxt` writes it.
    is_comment: bool,
    is_mot: bool,
    corners: bool,
}

/// Names of the four numbers of a box, by its size and by its corners. Words before an underscore do not count (`bb_left`).
const SIDES: [[&[&str]; 4]; 2] = [
    [&["x", "left"], &["y", "top"], &["w", "width"], &["h", "height"]],
    [&["x1", "xmin", "left"], &["y1", "ymin", "top"], &["x2", "xmax", "right"], &["y2", "ymax", "bottom"]],
];

/// The first line if it has words, or the last comment before the numbers that names a frame and an id.
///
/// # Errors
/// Other columns than those of the two layouts.
fn header(text: &str, lines: &[(usize, &str)]) -> Wrong<Option<Header>> {
    let names = |line: &str| -> Vec<String> {
        line.split([',', ';', '\t']).map(|name| name.trim().trim_matches('"').to_ascii_lowercase()).collect()
    };
    let ids = |names: &[String]| ["id", "frame"].iter().all(|id| names.iter().take(2).any(|name| name == id));
    let is_header = |line: &&str| line.starts_with(|c: char| c.is_ascii_alphabetic() || c == '"');
    let comment = || {
        let before =
            (1..).zip(text.lines()).take_while(|(number, _)| lines.first().is_none_or(|line| *number < line.0));
        let comments = before.filter_map(|(number, line)| Some((number, line.trim().strip_prefix('#')?)));
        comments.filter(|(_, line)| ids(&names(line))).last()
    };
    let first = lines.first().copied().filter(|(_, line)| is_header(line));
    let Some((number, line)) = first.or_else(comment) else { return Ok(None) };
    let names = names(line);
    let is = |place: usize, known: &[&str]| {
        names.get(place).is_some_and(|name| known.iter().any(|known| name.rsplit('_').next() == Some(known)))
    };
    let optional = |place: usize, known: &[&str]| names.len() <= place || is(place, known);
    let by = SIDES.iter().position(|sides| (2..).zip(sides).all(|(place, side)| is(place, side)));
    let is_mot = is(0, &["frame"]);
    let rest = match is_mot {
        true => optional(6, &["conf", "confidence", "score", "mark"]),
        false => optional(6, &["class"]) && optional(7, &["name"]),
    };
    match by {
        Some(by) if ids(&names) && rest => Ok(Some(Header { is_comment: first.is_none(), is_mot, corners: by == 1 })),
        _ => Err(format!(
            "line {number}: the columns must be {COLUMNS}, or frame,id,x,y,w,h,confidence of MOT, not {line}"
        )),
    }
}

fn table(line: &str) -> Wrong<Vec<f64>> {
    numbers(line, |count| (6..=10).contains(&count))
}

/// Whether lines without a header are those of MOT.
///
/// # Errors
/// Both orders of the columns fit.
fn is_mot(lines: &[(usize, &str)], frames: Option<usize>, options: &LabelOptions, detector: bool) -> Wrong<bool> {
    let Some((_, first)) = lines.first() else { return Ok(false) };
    match table(first) {
        Ok(first) if matches!(first.len(), 9 | 10) => return Ok(true),
        Err(reason) if reason.contains("decimal point") => return Err(format!("line 1: {reason}")),
        _ => {}
    }
    let mut rows: Option<Vec<Vec<f64>>> = lines.iter().map(|(_, line)| table(line).ok()).collect();
    for row in rows.iter_mut().flatten().filter(|_| options.corners) {
        (row[4], row[5]) = (row[4] - row[2], row[5] - row[3]);
    }
    let Some(rows) = rows.filter(|rows| rows.iter().all(|row| matches!(row.len(), 6..=8))) else { return Ok(false) };
    let (own, other) = (Order::new(&rows, 0, 1), Order::new(&rows, 1, 0));
    let ids: BTreeSet<u64> = rows.iter().map(|row| row[1] as u64).collect();
    let is_one_frame = rows.iter().all(|row| row[0] == rows[0][0]);
    // Several targets of one frame are numbered from 0 or 1 on.
    let is_numbered = is_one_frame && ids.len() > 1 && ids.last().is_some_and(|&last| last <= ids.len() as u64);
    let has_scores = rows.iter().any(|row| row.get(6).is_some_and(|score| score.fract() != 0.0));
    let is_detected = rows.iter().all(|row| row[1] == -1.0);
    let first = options.base.map_or(1.0, |base| base as f64);
    let fits_own = own.counts(&rows, 1.0, frames) && (detector || !has_scores) && (own.is_track() || !other.is_track());
    let may_be_other = other.counts(&rows, first, frames) && ids.len() <= MAX_TARGETS && !other.jumps();
    let is_several = other.repeats > 0 || is_numbered;
    let fits_other = is_detected || may_be_other && is_several && (other.is_track() || !own.is_track());
    let line = format!("line {}: `{}`", lines[0].0, lines[0].1);
    if fits_own && fits_other {
        let both = "may be id,frame,x,y,w,h or frame,id,x,y,w,h of MOT: write one of the two above it";
        return Err(format!("{line} {both}"));
    }
    if !fits_own && !fits_other && other.is_track() {
        let what = "looks like frame,id,x,y,w,h of MOT, but for frames that do not count from 1 to the last one";
        return Err(format!("{line} {what}; {FROM_0}"));
    }
    Ok(fits_other)
}

/// Evidence for one order of the columns.
struct Order {
    time: usize,
    target: usize,
    /// Pairs of successive boxes of one target.
    repeats: usize,
    /// Pairs in adjacent frames, and the overlapping pairs among them.
    adjacent: usize,
    near: usize,
    /// Pairs that are farther apart than their size for each frame.
    far: usize,
}

impl Order {
    fn new(rows: &[Vec<f64>], target: usize, time: usize) -> Self {
        let mut sorted: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
        sorted.sort_by(|a, b| a[target].total_cmp(&b[target]).then(a[time].total_cmp(&b[time])));
        let mut order = Self { time, target, repeats: 0, adjacent: 0, near: 0, far: 0 };
        for pair in sorted.windows(2).filter(|pair| pair[0][target] == pair[1][target]) {
            let [a, b] = [0, 1].map(|at| BBox::new(pair[at][2], pair[at][3], pair[at][4], pair[at][5]));
            let gap = pair[1][time] - pair[0][time];
            order.repeats += usize::from(gap > 0.0);
            order.far += usize::from(a.center_error(&b) > gap * a.w.hypot(a.h));
            order.adjacent += usize::from(gap == 1.0);
            order.near += usize::from(gap == 1.0 && a.overlap(&b) > 0.5);
        }
        order
    }

    /// Whether frames and ids may be counted so.
    fn counts(&self, rows: &[Vec<f64>], first: f64, frames: Option<usize>) -> bool {
        let last = frames.map_or(f64::INFINITY, |frames| frames as f64 + first - 1.0);
        rows.iter().all(|row| {
            let (id, frame) = (row[self.target], row[self.time]);
            id.fract() == 0.0 && frame.fract() == 0.0 && id >= 0.0 && (first..=last).contains(&frame)
        })
    }

    /// Whether successive boxes follow each other as those of one target do, not as boxes side by side.
    fn is_track(&self) -> bool {
        self.adjacent > 1 && 2 * self.near > self.adjacent
    }

    /// Whether no box is near the box before.
    fn jumps(&self) -> bool {
        self.repeats > 0 && self.far == self.repeats
    }
}

/// A row of MOT that counts for each line.
fn mot(lines: &[(usize, &str)], options: &LabelOptions) -> Wrong<Clip> {
    let (mut boxes, mut detected) = (Vec::with_capacity(lines.len()), 0);
    let count = table(lines[0].1).map_err(|reason| format!("line {}: {reason}", lines[0].0))?.len();
    let is_full = |count: usize| matches!(count, 9 | 10);
    for (number, line) in lines {
        let wrong = |reason| format!("line {number}: {reason}");
        let mut row = table(line).map_err(wrong)?;
        if row.len() != count && !(is_full(count) && is_full(row.len())) {
            return Err(wrong(format!(
                "`{line}`: not frame,id,x,y,w,h as the others: {} numbers, not {count}",
                row.len()
            )));
        }
        if !is_full(count) && row.get(6).is_some_and(|&score| score > 1.0) {
            return Err(wrong(format!("`{line}`: {} is no confidence, which the seventh number is", row[6])));
        }
        if row[1] == -1.0 {
            detected += 1;
            continue;
        }
        if options.base == Some(0) {
            row[0] += 1.0;
        }
        let entry = Entry::of(&row).map_err(|reason| {
            let hint = if row[0] == 0.0 { format!("; {FROM_0}") } else { String::new() };
            wrong(format!("`{line}`: {reason}{hint}"))
        })?;
        let Entry { frame, target, numbers, confidence } = entry;
        let bbox = Some(Base::One.to_bbox(numbers));
        check_box(target, frame as usize, bbox).map_err(wrong)?;
        // MOT marks boxes that do not count by 0.
        if confidence != 0.0 || !is_full(count) {
            boxes.push(Label { id: target, frame: frame as usize, bbox, given: confidence == 1.0, ..Label::default() });
        }
    }
    if detected > 0 && boxes.is_empty() {
        return Err("its boxes have the id -1: they are detections of no target; --detections FILE tracks these".into());
    }
    Ok(Clip { boxes, untracked: detected, marked: is_own(lines), ..Clip::default() })
}

/// The boxes of a detector, whatever their ids; a score of -1 is none.
fn detected(lines: &[(usize, &str)], options: &LabelOptions) -> Wrong<Clip> {
    let label = |&(number, line): &(usize, &str)| {
        let wrong = || format!("line {number}, `{line:.60}`, is not frame,id,x,y,w,h,score in numbers");
        let row = table(line).map_err(|_| wrong())?;
        let [frame, _, x, y, w, h, ref rest @ ..] = row[..] else { return Err(wrong()) };
        let frame = if options.base == Some(0) { frame + 1.0 } else { frame };
        if frame == 0.0 {
            return Err(format!("{}; {FROM_0}", wrong()));
        }
        if frame.fract() != 0.0 || !(1.0..1e9).contains(&frame) || rest.len() > 4 {
            return Err(wrong());
        }
        let score = rest.first().copied().filter(|score| *score != -1.0).unwrap_or(1.0);
        Ok(Label { frame: frame as usize, score, bbox: Some(Base::One.to_bbox([x, y, w, h])), ..Label::default() })
    };
    let boxes = lines.iter().map(label).collect::<Wrong<_>>()?;
    Ok(Clip { boxes, ..Clip::default() })
}

/// Whether this program has written the rows: each target begins with the confidence `1`, and decimals have no zero at
/// their end.
fn is_own(lines: &[(usize, &str)]) -> bool {
    let mut begun = BTreeSet::new();
    lines.iter().all(|(_, line)| {
        let cells: Vec<&str> = line.split(',').collect();
        let [_, id, .., confidence, "-1", "-1", "-1"] = cells[..] else { return false };
        let is_short = !confidence.contains('.') || !confidence.ends_with('0');
        confidence == "0" || is_short && (!begun.insert(id) || confidence == "1")
    })
}

/// The targets of our own lines, in the order in which they come.
fn given(lines: &[(usize, &str)], corners: bool) -> Wrong<Vec<TargetRecord>> {
    let mut places = BTreeMap::new();
    let mut targets: Vec<(TargetRecord, BTreeMap<usize, BBox>)> = Vec::new();
    for (number, line) in lines {
        let wrong = |reason| format!("line {number}: {reason}");
        let row = row(line, corners).map_err(wrong)?;
        let place = *places.entry(row.id).or_insert(targets.len());
        if place == targets.len() {
            if place == MAX_TARGETS {
                return Err(wrong(format!("it has more than {MAX_TARGETS} targets, the most of a run")));
            }
            targets.push((TargetRecord { id: row.id, ..TargetRecord::default() }, BTreeMap::new()));
        }
        let (target, boxes) = &mut targets[place];
        for (known, word) in [(&mut target.name, row.name), (&mut target.class, row.class)] {
            match (&known, word) {
                (Some(one), Some(other)) if **one != other => {
                    return Err(wrong(format!("target {} was {one} before and is {other} here", row.id)));
                }
                (None, word) => *known = word,
                _ => {}
            }
        }
        for (frame, bbox) in row.given.iter().filter_map(|given| Some((given.frame, given.bbox?))) {
            match boxes.entry(frame) {
                Slot::Occupied(_) => return Err(wrong(format!("two boxes of target {} in frame {frame}", row.id))),
                Slot::Vacant(slot) => _ = slot.insert(bbox),
            }
        }
    }
    let joined = targets.into_iter().map(|(target, boxes)| {
        let given = boxes.into_iter().map(|(frame, bbox)| Given::new(frame, Some(bbox))).collect();
        TargetRecord { given, ..target }
    });
    Ok(joined.collect())
}

fn row(line: &str, corners: bool) -> Wrong<TargetRecord> {
    let cells = line.splitn(8, ',').map(str::trim);
    if cells.clone().any(|word| word.starts_with('"') && (word.len() < 2 || !word.ends_with('"'))) {
        return Err(format!("`{line}`: a class or name in quotes must have no comma"));
    }
    // Blanks or semicolons may separate numbers.
    let cells: Vec<String> = match table(line) {
        Ok(numbers) if !line.contains(',') => numbers.iter().map(f64::to_string).collect(),
        _ => cells.map(unquoted).collect(),
    };
    let [id, frame, x, y, a, b, words @ ..] = &cells[..] else {
        return Err(format!("`{line}` is not id,frame,x,y,w,h"));
    };
    let id = id.parse().map_err(|_| format!("the id `{id}` is not a non-negative integer"))?;
    let at = frame.parse().ok().filter(|&frame| frame > 0);
    let frame = at.ok_or_else(|| format!("the frame `{frame}` is not a positive integer"))?;
    let number = |cell: &String| cell.parse::<f64>().map_err(|_| format!("`{cell}` is not a number"));
    let [x, y, a, b] = [number(x)?, number(y)?, number(a)?, number(b)?];
    let bbox = if corners { BBox::new(x, y, a - x, b - y) } else { BBox::new(x, y, a, b) };
    check_box(id, frame, Some(bbox))?;
    let word = |place: usize| words.get(place).filter(|word| !word.is_empty()).cloned();
    Ok(TargetRecord { class: word(0), name: word(1), ..TargetRecord::new(id, frame, bbox) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::JsonLines;
    use crate::export::tests::{run, written};

    #[test]
    fn rows_of_each_format() {
        let (run, mut records) = run();
        records[1].bbox = BBox::new(-0.1234, 21.0, 30.0, 40.25);
        records[1].file = "a,\"b\".jpg".into();
        let lost = FrameRecord {
            index: 3,
            state: State::Lost,
            bbox: BBox::new(f64::NAN, 0.0, 1.0, 1.0),
            ..records[1].clone()
        };
        records.push(lost);
        let text = |create: fn(&Destination) -> Result<Table>, records: &[FrameRecord]| {
            written("out", create, (&run, records), &Summary::default())
        };
        assert_eq!(text(Table::otb, &records), "11,21.5,30,40.25\n0.8766,22,30,40.25\nNaN,NaN,NaN,NaN\n");
        // Frames after an end and before the next box.
        let apart = [records[0].clone(), FrameRecord { index: 4, ..records[1].clone() }];
        assert_eq!(
            text(Table::otb, &apart),
            "11,21.5,30,40.25\nNaN,NaN,NaN,NaN\nNaN,NaN,NaN,NaN\n0.8766,22,30,40.25\n"
        );
        assert_eq!(
            text(Table::mot, &records),
            "1,1,11,21.5,30,40.25,1,-1,-1,-1\n2,1,0.8766,22,30,40.25,0.75,-1,-1,-1\n"
        );
        assert_eq!(
            text(Table::csv, &records[1..]),
            "index,file,x,y,w,h,peak,psr,apce,decision,refit_kept,state,confidence,long_term,decode_ms,track_ms,time\n\
             2,\"a,\"\"b\"\".jpg\",-0.1234,21,30,40.25,0.5,9.1,,0.25,true,tracking,0.75,,2,0.75,\n\
             3,\"a,\"\"b\"\".jpg\",,,,,0.5,9.1,,0.25,true,lost,0.75,,2,0.75,\n"
        );
        assert_eq!(
            written("out", JsonLines::create, (&run, &records[..1]), &Summary::default()),
            serde_json::to_string(&records[0]).unwrap() + "\n"
        );
        // The confidence 1 would make it a given box.
        let sure = FrameRecord { confidence: Some(1.0), ..records[1].clone() };
        assert_eq!(text(Table::mot, &[sure]), "2,1,0.8766,22,30,40.25,0.9999,-1,-1,-1\n");
        let named = FrameRecord { id: Some(7), time: Some(0.04), ..records[0].clone() };
        let rows = text(Table::csv, std::slice::from_ref(&named));
        assert!(rows.contains(",time,id,class,name\n") && rows.ends_with(",0.04,7,target,\n"), "{rows}");
    }
}
