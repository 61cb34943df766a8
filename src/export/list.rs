//! Reads lists of boxes: our lines `id,frame,x,y,w,h,class,name`, and the `frame,id,x,y,w,h,…` of MOT and of trackers.
//!
//! A header says the columns. Without a header nine or ten numbers are MOT, and six to eight cells are read if the boxes
//! follow each other in one order of the first two columns and not in the other.

use std::borrow::Cow;
use std::collections::btree_map::Entry as Slot;
use std::collections::{BTreeMap, BTreeSet};

use super::clip::{Clip, Label, LabelOptions, Wrong, base_of, check_sizes};
use super::labels::check_box;
use super::record::{Given, TargetRecord};
use crate::bbox::BBox;
use crate::media::Info;
use crate::media::annotation::{Base, Entry, MAX_ROWS, UNCLEAR_COMMA, may_be_decimals};
use crate::run::MAX_TARGETS;

/// The content of a list.
pub(super) enum List {
    /// Boxes that a person gave.
    Given(Vec<TargetRecord>),
    /// The rows of a MOT file.
    Mot(Clip),
}

/// What to do about a frame 0.
pub(super) const FROM_0: &str = "--labels-base 0 says that they count from 0";

/// Maximum cells of a line.
const MAX_CELLS: usize = 100;

/// The two layouts.
const OWN: &str = "id,frame,x,y,w,h,class,name";
const MOT: &str = "frame,id,x,y,w,h,confidence";

/// Reads a list for a source. Blank lines and lines with `#` are skipped. `pixels` is the base of those of MOT.
pub(super) fn read(text: &str, pixels: Base, info: Option<&Info>, options: &LabelOptions) -> Wrong<List> {
    let cells = Cells::of(text)?;
    let columns = Columns::of(&cells, info, options, false)?;
    if columns.is_mot {
        let clip = mot(&cells, &columns, pixels, info, options)?;
        if !clip.marked {
            columns.check_sizes(clip.boxes.iter().filter_map(|label| label.bbox), info)?;
        }
        return Ok(List::Mot(clip));
    }
    let targets = given(&cells, &columns, options)?;
    if targets.is_empty() {
        return Err("no target; a line is id,frame,x,y,w,h".into());
    }
    columns.check_sizes(targets.iter().flat_map(|target| &target.given).filter_map(|given| given.bbox), info)?;
    Ok(List::Given(targets))
}

/// Reads the MOT file of a detector for a source.
pub(super) fn detections(text: &str, info: Option<&Info>, options: &LabelOptions) -> Wrong<Clip> {
    let cells = Cells::of(text)?;
    let columns = Columns::of(&cells, info, options, true)?;
    if !columns.is_mot {
        return Err(
            "its lines are not for certain frame,id,x,y,w,h,score: write that as the first line if they are".into()
        );
    }
    let boxes = cells.lines().map(|line| line.and_then(|line| detected(&line, &columns, options)));
    let boxes = boxes.collect::<Wrong<Vec<_>>>()?;
    let is_class = columns.header.is_none() && !columns.is_full && boxes.iter().all(|label| label.score.fract() == 0.0);
    if is_class && boxes.iter().any(|label| label.score != 1.0) {
        return Err(
            "its seventh numbers are whole, as those of classes: write frame,id,x,y,w,h,score as the first line".into(),
        );
    }
    columns.check_sizes(boxes.iter().filter_map(|label| label.bbox), info)?;
    Ok(Clip { boxes, ..Clip::default() })
}

/// The lines of a text that have cells.
struct Cells<'a> {
    /// Their numbers, and what stands in them, without the names of columns.
    lines: Vec<(usize, &'a str)>,
    /// The names of columns, and the number of their line.
    names: Option<(usize, Vec<String>)>,
    /// What separates cells: a semicolon, a tab or a comma; otherwise blanks.
    delimiter: Option<char>,
}

/// The first character of a line that separates cells.
fn delimiter(line: &str) -> Option<char> {
    line.chars().find(|c| matches!(c, ';' | '\t' | ','))
}

impl<'a> Cells<'a> {
    /// The lines between ends of any kind.
    fn of(text: &'a str) -> Wrong<Self> {
        if text.split(['\n', '\r']).filter(|line| !line.is_empty()).nth(MAX_ROWS).is_some() {
            return Err(format!("it has more than {MAX_ROWS} lines, the most that are read"));
        }
        let mut cells = Self { lines: Vec::new(), names: None, delimiter: None };
        // CR LF is one end, CR alone another.
        let lines = text.split('\n').flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r'));
        for (number, line) in (1..).zip(lines).filter(|(_, line)| !line.trim().is_empty()) {
            // A tab at the beginning is an empty cell before it.
            let line = line.trim_matches(' ');
            let is_first = cells.lines.is_empty();
            match line.strip_prefix('#') {
                // A title may stand before the names.
                Some(comment) => {
                    let names = names_of(comment.rsplit(':').next().unwrap_or_default());
                    if is_first && are_columns(&names) {
                        cells.names = Some((number, names));
                    }
                }
                None if is_first
                    && line.starts_with(|c: char| c.is_alphabetic() || c == '"')
                    && cells.names.is_none() =>
                {
                    cells.names = Some((number, names_of(line)));
                }
                None => cells.lines.push((number, line)),
            }
        }
        cells.delimiter = cells.lines.first().and_then(|(_, line)| delimiter(line));
        Ok(cells)
    }

    /// The lines with a cell that is not empty, as spreadsheets have others at the end.
    fn lines(&self) -> impl Iterator<Item = Wrong<Line<'a>>> {
        let delimiter = self.delimiter;
        let lines = self.lines.iter().map(move |&(number, text)| Line::new(number, text, delimiter));
        lines.filter(|line| !line.as_ref().is_ok_and(|line| line.cells.is_empty()))
    }
}

/// The names in a line, in lower case and without quotes.
fn names_of(line: &str) -> Vec<String> {
    let name = |cell: &str| cell.trim().trim_matches('"').to_lowercase();
    match delimiter(line) {
        Some(delimiter) => line.split(delimiter).map(name).collect(),
        None => line.split_whitespace().map(name).collect(),
    }
}

/// Whether the words of a comment are names of columns, as `numpy.savetxt` writes them.
fn are_columns(names: &[String]) -> bool {
    let known = || SIDES.iter().flatten().copied().flatten().chain(&["cx", "cy", "id", "frame"]);
    names.len() > 5 && names.iter().filter(|name| known().any(|known| side_of(name) == *known)).count() > 2
}

/// A line with cells; those at its end are not empty.
struct Line<'a> {
    number: usize,
    text: &'a str,
    cells: Vec<Cow<'a, str>>,
    /// A comma is the decimal point.
    has_commas: bool,
}

impl<'a> Line<'a> {
    fn new(number: usize, text: &'a str, delimiter: Option<char>) -> Wrong<Self> {
        let has_commas = delimiter != Some(',');
        let mut line = Self { number, text, cells: Vec::new(), has_commas };
        let Some(delimiter) = delimiter else {
            line.cells = text.split_whitespace().take(MAX_CELLS).map(Cow::Borrowed).collect();
            return Ok(line);
        };
        let mut rest = Some(text);
        while let Some(cell) = rest.map(|rest| rest.trim_start_matches(' ')) {
            if line.cells.len() == MAX_CELLS {
                return Err(line.wrong(format!("it has more than {MAX_CELLS} cells")));
            }
            let end = match cell.strip_prefix('"') {
                // Two quotes are one in a cell between quotes.
                Some(quoted) => match quoted.replace("\"\"", "\0\0").find('"') {
                    Some(end) => end + 2,
                    None => return Err(line.wrong("a quote has no end")),
                },
                None => 0,
            };
            let (before, after) = cell[end..].split_once(delimiter).map_or((&cell[end..], None), |(a, b)| (a, Some(b)));
            rest = after;
            let cell = match end {
                0 => Cow::Borrowed(before.trim()),
                _ if before.trim().is_empty() => cell[1..end - 1].replace("\"\"", "\"").into(),
                _ => return Err(line.wrong("a cell goes on after its quotes")),
            };
            line.cells.push(cell);
        }
        while line.cells.last().is_some_and(|cell| cell.is_empty()) {
            line.cells.pop();
        }
        Ok(line)
    }

    fn wrong(&self, reason: impl std::fmt::Display) -> String {
        format!("line {}: `{:.60}`: {reason}", self.number, self.text)
    }

    /// The number in a cell.
    fn number(&self, cell: &str) -> Option<f64> {
        match cell.split_once(',').filter(|_| self.has_commas) {
            Some((_, "")) => None,
            Some((whole, fraction)) => format!("{whole}.{fraction}").parse().ok(),
            None => cell.parse().ok(),
        }
    }

    /// The numbers of all cells, or of the first ones.
    fn numbers(&self, count: usize) -> Wrong<Vec<f64>> {
        let number = |(cell, place): (&Cow<'_, str>, usize)| {
            let reason = || if cell.is_empty() { "is empty".into() } else { format!("`{cell:.20}` is not a number") };
            self.number(cell).ok_or_else(|| self.wrong(format!("cell {place} {}", reason())))
        };
        self.cells.iter().take(count).zip(1..).map(number).collect()
    }

    /// The first six numbers: two of the target and the frame, four of the box.
    fn head(&self) -> Wrong<[f64; 6]> {
        self.numbers(6)?.try_into().map_err(|_| self.wrong("it is not id,frame,x,y,w,h"))
    }

    /// A class or a name.
    fn word(&self, place: usize) -> Option<String> {
        self.cells.get(place).filter(|word| !word.is_empty()).map(|word| word.to_string())
    }
}

/// What the columns are.
struct Columns {
    is_mot: bool,
    corners: bool,
    /// The number of columns of a header.
    header: Option<usize>,
    /// Nine or ten numbers a line, as MOT has them.
    is_full: bool,
}

/// Names of the four numbers of a box, by its size and by its corners.
const SIDES: [[&[&str]; 4]; 2] = [
    [&["x", "left"], &["y", "top"], &["w", "width"], &["h", "height"]],
    [&["x1", "xmin", "left"], &["y1", "ymin", "top"], &["x2", "xmax", "right"], &["y2", "ymax", "bottom"]],
];

/// The name of a column without what may stand before it (`bb_left`, `bbox_x1`) and without underscores (`x_min`).
fn side_of(name: &str) -> String {
    let name = ["bb_", "bbox_", "box_"].iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
    name.replace('_', "")
}

impl Columns {
    fn of(cells: &Cells<'_>, info: Option<&Info>, options: &LabelOptions, detector: bool) -> Wrong<Self> {
        let columns = match &cells.names {
            Some((line, names)) => Self::of_names(names).map_err(|reason| format!("line {line}: {reason}"))?,
            None => Self::of_numbers(cells, info.and_then(Info::likely_length), options, detector)?,
        };
        if options.corners && !columns.corners {
            return Err("its header says x,y,w,h, and --init-format says corners".into());
        }
        if columns.is_mot && columns.corners {
            return Err("lines frame,id,… are those of MOT, x,y,w,h: for corners write id,frame,x1,y1,x2,y2".into());
        }
        let Some(count) = columns.header else { return Ok(columns) };
        for line in cells.lines() {
            let line = line?;
            if line.cells.len() > count {
                return Err(line.wrong(format!("it has {} cells, and the header {count}", line.cells.len())));
            }
        }
        Ok(columns)
    }

    /// The columns of a header; others than those of the two layouts are an error.
    fn of_names(names: &[String]) -> Wrong<Self> {
        let is = |place: usize, known: &[&str]| names.get(place).is_some_and(|name| known.contains(&&*side_of(name)));
        let optional = |place: usize, known: &[&str]| names.len() <= place || is(place, known);
        let by = SIDES.iter().position(|sides| (2..).zip(sides).all(|(place, side)| is(place, side)));
        let id = ["id", "trackid"];
        let (is_own, is_mot) = (is(0, &id) && is(1, &["frame"]), is(0, &["frame"]) && is(1, &id));
        let rest = match is_mot {
            true => optional(6, &["conf", "confidence", "score", "mark"]),
            false => is_own && names.len() < 9 && optional(6, &["class"]) && optional(7, &["name"]),
        };
        match by.filter(|_| rest) {
            Some(by) => Ok(Self { is_mot, corners: by == 1, header: Some(names.len()), is_full: false }),
            None => Err(format!("the columns must be {OWN}, or {MOT} of MOT, not {}", names.join(","))),
        }
    }

    /// The columns of lines without a header.
    fn of_numbers(cells: &Cells<'_>, frames: Option<usize>, options: &LabelOptions, detector: bool) -> Wrong<Self> {
        let columns = |is_mot, is_full| Self { is_mot, corners: options.corners, header: None, is_full };
        let (mut facts, mut first) = (Facts { least: usize::MAX, ..Facts::default() }, None);
        for line in cells.lines() {
            let line = line?;
            facts.add(&line, options)?;
            first.get_or_insert(line);
        }
        let both = "id,frame,x,y,w,h or frame,id,x,y,w,h of MOT: write the right one as its first line";
        match (first, facts.least, facts.most) {
            (None, ..) => Ok(columns(false, false)),
            (_, 9..=10, _) => Ok(columns(true, true)),
            (_, least, most @ 9..=10) => {
                Err(format!("it has lines of {least} and of {most} numbers, which are not those of MOT"))
            }
            (Some(first), ..) => match facts.fit(frames, options, detector) {
                (true, false) => Ok(columns(false, false)),
                (false, true) => Ok(columns(true, false)),
                (true, true) => Err(first.wrong(format!("may be {both}"))),
                (false, false) => Err(first.wrong(format!("is not for certain {both}{}", facts.hint()))),
            },
        }
    }

    /// Refuses sizes that seem to be corners, unless a header says what they are.
    fn check_sizes(&self, boxes: impl Iterator<Item = BBox> + Clone, info: Option<&Info>) -> Wrong<()> {
        let size = info.filter(|_| self.header.is_none() && !self.corners).and_then(Info::frame_size);
        let header = if self.is_mot { "frame,id,x,y,w,h" } else { "id,frame,x1,y1,x2,y2 or id,frame,x,y,w,h" };
        check_sizes(boxes, size).map_err(|reason| format!("{reason}: write {header} above them"))
    }
}

/// Lines without a header.
#[derive(Default)]
struct Facts {
    /// The first six numbers of each line, the box by its size.
    rows: Vec<[f64; 6]>,
    /// The least and the largest number of cells.
    least: usize,
    most: usize,
    /// A cell behind the box is no number.
    has_words: bool,
    /// The number behind the box is a fraction.
    has_scores: bool,
    /// There is a number behind the box, which is no class in words.
    has_numbers: bool,
}

impl Facts {
    fn add(&mut self, line: &Line<'_>, options: &LabelOptions) -> Wrong<()> {
        let [id, frame, x, y, mut w, mut h] = line.head()?;
        if options.corners {
            (w, h) = (w - x, h - y);
        }
        self.rows.push([id, frame, x, y, w, h]);
        let number = |cell: &Cow<'_, str>| line.number(cell).filter(|number| number.is_finite());
        let mut rest = line.cells[6..].iter().map(number);
        let behind = rest.clone().next().flatten();
        self.has_scores |= behind.is_some_and(|score| score.fract() != 0.0);
        self.has_numbers |= behind.is_some();
        self.has_words |= rest.any(|number| number.is_none());
        let count = line.cells.len();
        if !line.has_commas
            && matches!(count, 8 | 10)
            && may_be_decimals(&line.cells.iter().map(|cell| &**cell).collect::<Vec<_>>())
        {
            return Err(line.wrong(UNCLEAR_COMMA));
        }
        (self.least, self.most) = (self.least.min(count), self.most.max(count));
        match !matches!(count, 6..=10) || self.has_words && count > 8 {
            true => Err(line.wrong(format!("it has {count} cells, and is neither {OWN} nor MOT"))),
            false => Ok(()),
        }
    }

    /// Whether the lines may be ours, and whether they may be those of MOT.
    fn fit(&self, frames: Option<usize>, options: &LabelOptions, detector: bool) -> (bool, bool) {
        let Self { rows, has_words, has_scores, has_numbers, .. } = self;
        // A number of the frame behind the box.
        if rows.len() > 2 && rows.windows(2).all(|pair| pair[1][5] == pair[0][5] + 1.0) {
            return (false, false);
        }
        let (own, other) = (Order::new(rows, 0, 1), Order::new(rows, 1, 0));
        // Frames beyond the last are left out, unless they may be ids.
        let within = frames.filter(|_| other.repeats > 0);
        let [first_own, first_other] = [1.0 - shift(options), options.base.unwrap_or(1) as f64];
        let may_be_own = own.counts(rows, first_own, within) && (detector || !has_numbers);
        let may_be_other = other.counts(rows, first_other, frames) && other.targets <= MAX_TARGETS && !has_words;
        // Rows with a target each may be those of one target, if these follow each other. Several targets may begin in one
        // frame, with ids that count on.
        let chains = other.repeats > 1 && other.far == 0;
        let may_follow = may_be_other && other.repeats > 0 && !other.jumps() && !own.is_numbered(rows);
        // An index before the frame counts with it.
        let is_index = rows.len() > 2 && rows.iter().all(|row| row[1] - row[0] == rows[0][1] - rows[0][0]);
        // One target after the other in the place of the one before may be one target.
        let pairs = rows.windows(2).filter(|pair| box_of(&pair[0]).overlap(&box_of(&pair[1])) > 0.5).count();
        let is_one = 2 * pairs > rows.len() - 1;
        let is_alone = own.repeats == 0 && (other.is_near() || chains || may_follow || is_index || is_one);
        let leaps = may_be_other
            && (other.repeats > 0 && 2 * own.far > own.repeats || other.repeats > 2 && other.far == 0 && own.near == 0);
        let are_equal = may_be_other && own.repeats.min(other.repeats) > 0 && own.near <= other.near && other.far == 0;
        let fits_own = may_be_own && (own.is_track() || !other.is_track() && !is_alone && !leaps && !are_equal);
        let is_one_frame = other.is_one_frame && other.is_numbered(rows) && !own.is_track();
        // A coordinate in the place of the id makes many short tracks, or several with one box in each frame.
        let are_ids = other.targets == 1 || own.targets < rows.len() && 4 * other.repeats >= 3 * rows.len();
        let is_other = are_ids && (other.is_track() || *has_scores && other.is_near()) || is_one_frame;
        // No frame is 0, and none behind the last one.
        let is_no_frame = !own.counts(rows, first_own, frames) && (other.targets == 1 || detector && self.least > 6);
        let is_detected = !has_words && rows.iter().all(|row| row[1] == -1.0);
        let fits_other = is_detected || may_be_other && (is_other || is_no_frame || fits_own && other.is_track());
        (fits_own, fits_other)
    }

    /// What to do if some numbers are 0.
    fn hint(&self) -> String {
        let zeros = |at: usize| self.rows.iter().filter(|row| row[at] == 0.0).count();
        let is_any = [0, 1].iter().any(|&at| (1..self.rows.len()).contains(&zeros(at)));
        if is_any { format!("; {FROM_0}") } else { String::new() }
    }
}

/// The box of a row.
fn box_of(row: &[f64; 6]) -> BBox {
    BBox::new(row[2], row[3], row[4], row[5])
}

/// Evidence for one order of the first two columns.
struct Order {
    target: usize,
    time: usize,
    /// The number of targets.
    targets: usize,
    is_one_frame: bool,
    /// Pairs of successive boxes of one target.
    repeats: usize,
    /// Such pairs that overlap by more than half.
    near: usize,
    /// Such pairs that are farther apart than their size for each frame.
    far: usize,
}

impl Order {
    fn new(rows: &[[f64; 6]], target: usize, time: usize) -> Self {
        let mut sorted: Vec<&[f64; 6]> = rows.iter().collect();
        sorted.sort_by(|a, b| a[target].total_cmp(&b[target]).then(a[time].total_cmp(&b[time])));
        let is_one_frame = rows.iter().all(|row| row[time] == rows[0][time]);
        let mut order = Self { target, time, targets: 1, is_one_frame, repeats: 0, near: 0, far: 0 };
        for pair in sorted.windows(2) {
            if pair[0][target] != pair[1][target] {
                order.targets += 1;
                continue;
            }
            let [a, b] = [0, 1].map(|at| box_of(pair[at]));
            let gap = pair[1][time] - pair[0][time];
            order.repeats += usize::from(gap > 0.0);
            order.near += usize::from(gap > 0.0 && a.overlap(&b) > 0.5);
            order.far += usize::from(a.center_error(&b) > gap * a.w.hypot(a.h));
        }
        order
    }

    /// Whether frames and ids may be counted so.
    fn counts(&self, rows: &[[f64; 6]], first: f64, frames: Option<usize>) -> bool {
        let last = frames.map_or(f64::INFINITY, |frames| frames as f64 + first - 1.0);
        rows.iter().all(|row| {
            let (id, frame) = (row[self.target], row[self.time]);
            id.fract() == 0.0 && frame.fract() == 0.0 && id >= 0.0 && (first..=last).contains(&frame)
        })
    }

    /// Whether the ids count on from 0 or 1, one a row.
    fn is_numbered(&self, rows: &[[f64; 6]]) -> bool {
        let last = rows.iter().map(|row| row[self.target]).fold(0.0, f64::max);
        self.targets == rows.len() && self.targets > 1 && last <= self.targets as f64
    }

    /// Whether most boxes overlap the one before of their target, as boxes side by side do not.
    fn is_near(&self) -> bool {
        2 * self.near > self.repeats
    }

    /// The same, for more than one pair.
    fn is_track(&self) -> bool {
        self.repeats > 1 && self.is_near()
    }

    /// Whether no box is near the box before.
    fn jumps(&self) -> bool {
        self.repeats > 0 && self.far == self.repeats
    }
}

/// What to add to a frame so that it counts from 1.
fn shift(options: &LabelOptions) -> f64 {
    if options.base == Some(0) { 1.0 } else { 0.0 }
}

/// What to do about this frame, which counts from 1.
fn hint(frame: f64) -> String {
    if frame == 0.0 { format!("; {FROM_0}") } else { String::new() }
}

/// The number of the first frame in rows of MOT.
fn base(cells: &Cells<'_>, columns: &Columns, info: Option<&Info>, options: &LabelOptions) -> Wrong<usize> {
    // MOT counts from 1, and so do rows with its header.
    if let Some(base) = options.base.or((columns.is_full || columns.header.is_some()).then_some(1)) {
        return Ok(base);
    }
    let heads = cells.lines().map(|line| line?.head()).collect::<Wrong<Vec<_>>>()?;
    let frames = || heads.iter().filter(|head| head[1] != -1.0).map(|head| head[0] as usize);
    // Rows that begin there count from it, too.
    if frames().min().is_none_or(|first| first <= 1) {
        Ok(1)
    } else {
        base_of(frames(), info.and_then(Info::certain_length))
    }
}

/// Rows of MOT.
fn mot(cells: &Cells<'_>, columns: &Columns, pixels: Base, info: Option<&Info>, options: &LabelOptions) -> Wrong<Clip> {
    let mut clip = Clip { marked: is_own(cells), ..Clip::default() };
    let (base, mut count) = (base(cells, columns, info, options)?, None);
    for line in cells.lines() {
        let line = line?;
        let mut row = line.numbers(usize::MAX)?;
        let (count, is_full) = (*count.get_or_insert(row.len()), matches!(row.len(), 9 | 10));
        if row.len() != count && !columns.is_full {
            return Err(line.wrong(format!("not frame,id,x,y,w,h as the others: {} numbers, not {count}", row.len())));
        }
        if row.len() == 9 && (row[6] > 1.0 || !(-1.0..=1.0).contains(&row[8])) {
            return Err(line.wrong("it is not frame,id,x,y,w,h,confidence,class,visibility"));
        }
        if !is_full && row.get(6).is_some_and(|&score| score > 1.0) {
            return Err(line.wrong(format!("{} is no confidence, which the seventh number is", row[6])));
        }
        if row[1] == -1.0 {
            clip.untracked += 1;
            continue;
        }
        row[0] += 1.0 - base as f64;
        let entry = Entry::of(&row).map_err(|reason| line.wrong(reason + &hint(row[0])))?;
        let Entry { frame, target, numbers, confidence } = entry;
        let bbox = Some(pixels.to_bbox(numbers));
        check_box(target, frame as usize, bbox).map_err(|reason| line.wrong(reason))?;
        // MOT marks boxes that do not count by 0.
        match confidence == 0.0 && is_full {
            true => clip.ignored += 1,
            false => {
                let (frame, given) = (frame as usize, confidence == 1.0);
                clip.boxes.push(Label { id: target, frame, bbox, given, ..Label::default() });
            }
        }
    }
    if clip.untracked > 0 && clip.boxes.is_empty() && clip.ignored == 0 {
        return Err("its boxes have the id -1: they are detections of no target; --detections FILE tracks these".into());
    }
    Ok(clip)
}

/// A box of a detector, whatever its id; a score of -1 is none.
fn detected(line: &Line<'_>, columns: &Columns, options: &LabelOptions) -> Wrong<Label> {
    let row = line.numbers(usize::MAX)?;
    let is_right = columns.header.is_some() || columns.is_full == matches!(row.len(), 9 | 10);
    let [frame, _, x, y, w, h, ref rest @ ..] = row[..] else {
        return Err(line.wrong("is not frame,id,x,y,w,h,score"));
    };
    let frame = frame + shift(options);
    if frame == 0.0 {
        return Err(line.wrong(format!("a frame 0{}", hint(frame))));
    }
    if frame.fract() != 0.0 || !(1.0..1e9).contains(&frame) || !is_right {
        return Err(line.wrong("is not frame,id,x,y,w,h,score"));
    }
    let score = rest.first().copied().filter(|score| *score != -1.0).unwrap_or(1.0);
    Ok(Label { frame: frame as usize, score, bbox: Some(Base::One.to_bbox([x, y, w, h])), ..Label::default() })
}

/// Whether this program has written the rows: each target begins with the confidence `1`, and decimals have no zero at
/// their end.
fn is_own(cells: &Cells<'_>) -> bool {
    let mut begun = BTreeSet::new();
    cells.lines().all(|line| {
        let Ok(Line { cells, .. }) = line else { return false };
        let cells: Vec<&str> = cells.iter().map(|cell| &**cell).collect();
        let [_, id, .., confidence, "-1", "-1", "-1"] = cells[..] else { return false };
        let is_short = !confidence.contains('.') || !confidence.ends_with('0');
        confidence == "0" || is_short && (!begun.insert(id.to_owned()) || confidence == "1")
    })
}

/// The targets of our own lines, in the order in which they come.
fn given(cells: &Cells<'_>, columns: &Columns, options: &LabelOptions) -> Wrong<Vec<TargetRecord>> {
    let mut places = BTreeMap::new();
    let mut targets: Vec<(TargetRecord, BTreeMap<usize, BBox>)> = Vec::new();
    for line in cells.lines() {
        let line = line?;
        let [id, frame, x, y, a, b] = line.head()?;
        let whole = |value: f64, least: f64| value.fract() == 0.0 && (least..=f64::from(u32::MAX)).contains(&value);
        let frame = frame + shift(options);
        if !whole(id, 0.0) {
            return Err(line.wrong(format!("the id {id} is not a non-negative integer")));
        }
        if !whole(frame, 1.0) {
            return Err(line.wrong(format!("the frame {frame} is not a positive integer{}", hint(frame))));
        }
        let (id, frame) = (id as u32, frame as usize);
        let bbox = if columns.corners { BBox::new(x, y, a - x, b - y) } else { BBox::new(x, y, a, b) };
        check_box(id, frame, Some(bbox)).map_err(|reason| line.wrong(reason))?;
        let place = *places.entry(id).or_insert(targets.len());
        if place == targets.len() {
            if place == MAX_TARGETS {
                return Err(line.wrong(format!("it has more than {MAX_TARGETS} targets, the most of a run")));
            }
            targets.push((TargetRecord { id, ..TargetRecord::default() }, BTreeMap::new()));
        }
        let (target, boxes) = &mut targets[place];
        for (known, word) in [(&mut target.class, line.word(6)), (&mut target.name, line.word(7))] {
            match (&known, word) {
                (Some(one), Some(other)) if **one != other => {
                    return Err(line.wrong(format!("target {id} was {one} before and is {other} here")));
                }
                (None, word) => *known = word,
                _ => {}
            }
        }
        match boxes.entry(frame) {
            Slot::Occupied(_) => return Err(line.wrong(format!("two boxes of target {id} in frame {frame}"))),
            Slot::Vacant(slot) => _ = slot.insert(bbox),
        }
    }
    let joined = targets.into_iter().map(|(target, boxes)| {
        let given = boxes.into_iter().map(|(frame, bbox)| Given::new(frame, Some(bbox))).collect();
        TargetRecord { given, ..target }
    });
    Ok(joined.collect())
}
