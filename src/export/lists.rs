//! Lines of boxes: our `id,frame,x,y,w,h,class,name`, and the `frame,id,x,y,w,h,…` of MOT and of trackers.

use std::collections::btree_map::Entry as Slot;
use std::collections::{BTreeMap, BTreeSet};

use super::labels::{Clip, Label, LabelOptions, Wrong, check_box};
use super::record::{Given, TargetRecord};
use crate::bbox::BBox;
use crate::media::annotation::{Base, Entry, MAX_ROWS, numbers};
use crate::run::MAX_TARGETS;
use crate::text::unquoted;

/// The content of a list.
pub(super) enum List {
    /// Boxes that a person gave.
    Given(Vec<TargetRecord>),
    /// The rows of a MOT file.
    Mot(Clip),
}

const COLUMNS: &str = "id,frame,x,y,w,h,class,name";

/// Reads a list for a source of `frames`. A header line says the columns; without it they are known by their count, by
/// words, or because only one of the two orders fits. Blank lines and lines with `#` are skipped.
pub(super) fn read(text: &str, frames: Option<usize>, options: &LabelOptions) -> Wrong<List> {
    if text.lines().nth(MAX_ROWS).is_some() {
        return Err(format!("it has more than {MAX_ROWS} lines, the most that are read"));
    }
    let all = (1..).zip(text.lines().map(str::trim));
    let mut lines: Vec<(usize, &str)> = all.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).collect();
    let header = lines.first().filter(|(_, line)| line.starts_with(|c: char| c.is_ascii_alphabetic() || c == '"'));
    let header = header.map(|(number, line)| (*number, columns(line), line.to_string()));
    let is_mot = match &header {
        Some((number, names, line)) => {
            lines.remove(0);
            let is_or_ends = |place: usize, known: &str| names.get(place).is_none_or(|name| name == known);
            let begins = |first: &str, second: &str| names.starts_with(&[first.into(), second.into()]);
            let is_own = begins("id", "frame") && is_or_ends(6, "class") && is_or_ends(7, "name");
            if !is_own && !begins("frame", "id") {
                return Err(format!(
                    "line {number}: the columns must be {COLUMNS}, or frame,id,x,y,w,h of MOT, not {line}"
                ));
            }
            !is_own
        }
        None => is_mot(&lines, frames, options)?,
    };
    if lines.is_empty() {
        return Err("no target; a line is id,frame,x,y,w,h".into());
    }
    if is_mot { mot(&lines, options).map(List::Mot) } else { given(&lines, options.corners).map(List::Given) }
}

fn columns(line: &str) -> Vec<String> {
    line.split([',', ';', '\t']).map(|name| name.trim().trim_matches('"').to_ascii_lowercase()).collect()
}

fn table(line: &str) -> Wrong<Vec<f64>> {
    numbers(line, |count| (6..=10).contains(&count))
}

/// Whether lines without a header are those of MOT.
///
/// # Errors
/// Both orders of the columns fit.
fn is_mot(lines: &[(usize, &str)], frames: Option<usize>, options: &LabelOptions) -> Wrong<bool> {
    let Some((_, first)) = lines.first() else { return Ok(false) };
    match table(first) {
        Ok(first) if matches!(first.len(), 9 | 10) => return Ok(true),
        Err(reason) if reason.contains("decimal point") => return Err(format!("line 1: {reason}")),
        _ if options.corners => return Ok(false),
        _ => {}
    }
    let rows: Option<Vec<Vec<f64>>> = lines.iter().map(|(_, line)| table(line).ok()).collect();
    let Some(rows) = rows.filter(|rows| rows.iter().all(|row| matches!(row.len(), 6..=8))) else { return Ok(false) };
    let (own, other) = (Order::new(&rows, 0, 1), Order::new(&rows, 1, 0));
    let ids: BTreeSet<u64> = rows.iter().map(|row| row[1] as u64).collect();
    let is_one_frame = rows.iter().all(|row| row[0] == rows[0][0]);
    // Several targets of one frame are numbered from 0 or 1 on.
    let is_numbered = is_one_frame && ids.len() > 1 && ids.last().is_some_and(|&last| last <= ids.len() as u64);
    let has_scores = rows.iter().any(|row| row.get(6).is_some_and(|score| score.fract() != 0.0));
    let is_detected = rows.iter().all(|row| row[1] == -1.0);
    let first = options.base.map_or(1.0, |base| base as f64);
    let fits_own = own.counts(&rows, 1.0, frames) && !has_scores && (own.is_track() || !other.is_track());
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
        return Err(format!("{line} {what}; --labels-base 0 says that they count from 0"));
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
    let count = table(lines[0].1)?.len();
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
        if row[1] == -1.0 {
            detected += 1;
            continue;
        }
        if options.base == Some(0) {
            row[0] += 1.0;
        }
        let entry = Entry::of(&row).map_err(|reason| {
            let hint = if row[0] == 0.0 { "; --labels-base 0 says that they count from 0" } else { "" };
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
